//! The kernels of a variant, and which of them an iteration runs one after the other.

use std::fmt::Write;

use super::{Kind, Order, Parts, Precision, Variant};

/// Most workgroups along one axis of a grid.
const MOST_GROUPS: u32 = 65_535;
/// Invocations of the workgroups that multiply T with Λ, but for those of the combined kernels.
const PRODUCT: u32 = 128;
/// Impulses that an invocation of JOR and of Relaxed SOR loads at a time.
const X_ELEMENTS: u32 = 4;
/// Bytes from the parameters of one dispatch to those of the next.
pub const PARAMS_STRIDE: u64 = 256;

/// The text of a kernel, after what all of them share.
macro_rules! source {
    ($($name:literal)+) => {
        concat!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/variants/common.wgsl")),
            $(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/variants/", $name, ".wgsl")),)+
        )
    };
}

/// A buffer that a kernel binds; its number is that of the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// T.
    Matrix = 1,
    /// d.
    Offset = 2,
    /// μ.
    Friction = 3,
    /// Λ before the iteration; with SOR it is the same buffer as the new one.
    Old = 4,
    /// Λ after the iteration.
    New = 5,
    /// The vector t that SOR accumulates.
    Sums = 6,
}

impl Slot {
    /// Whether kernels write it.
    pub const fn is_written(self) -> bool {
        matches!(self, Self::New | Self::Sums)
    }
}

/// A kernel to be compiled.
pub struct Kernel {
    /// Its text in WGSL.
    pub source: String,
    /// The buffers that it binds.
    pub slots: &'static [Slot],
}

/// What a dispatch is about, as its shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Params {
    /// Rows of T.
    pub rows: u32,
    /// Numbers from one column or row of T to the next.
    pub stride: u32,
    /// First row of the diagonal block.
    pub first: u32,
    /// Rows of the diagonal block.
    pub count: u32,
}

/// A dispatch: which kernel, with which parameters, on which grid.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    /// The place of its kernel in the plan.
    pub kernel: usize,
    /// The place of its parameters in the plan.
    pub params: usize,
    /// Workgroups along x and y.
    pub grid: [u32; 2],
}

/// All that a variant does in one iteration.
pub struct Plan {
    /// Its kernels.
    pub kernels: Vec<Kernel>,
    /// The parameters of its dispatches.
    pub params: Vec<Params>,
    /// Its dispatches.
    pub dispatches: Vec<Dispatch>,
    /// Whether the next iteration reads what this one writes from another buffer.
    pub swaps: bool,
}

/// A grid of so many workgroups or a few more, folded where one axis is too short.
const fn folded(groups: u32) -> [u32; 2] {
    let height = groups.div_ceil(MOST_GROUPS);
    match height {
        0 => [0, 0],
        _ => [groups.div_ceil(height), height],
    }
}

/// Numbers from one column or row of T to the next.
pub const fn stride(order: Order, rows: u32) -> u32 {
    match order {
        Order::ColumnsUnaligned => rows,
        Order::Rows | Order::Columns => rows.next_multiple_of(64),
    }
}

/// What stands before the text of a kernel: its number type and its settings.
fn header(precision: Precision, numbers: &[(&str, u32)], switches: &[(&str, bool)]) -> String {
    // The reciprocal root of hardware has the digits of a single number only.
    let (real, root) = match precision {
        Precision::Single => ("f32", "inverseSqrt(x)"),
        Precision::Double => ("f64", "real(1) / sqrt(x)"),
    };
    let mut text =
        format!("alias real = {real};\nfn rsqrt(x: real) -> real {{ return {root}; }}\n");
    // Writing to a string does not fail.
    for (name, value) in numbers {
        let _ = writeln!(text, "const {name}: u32 = {value}u;");
    }
    for (name, value) in switches {
        let _ = writeln!(text, "const {name}: bool = {value};");
    }
    text
}

impl Plan {
    /// The plan of a variant for a matrix of so many rows.
    pub fn new(variant: &Variant, precision: Precision, rows: u32) -> Self {
        let whole = Params {
            rows,
            stride: stride(variant.order(), rows),
            first: 0,
            count: rows,
        };
        let mut plan = Self {
            kernels: Vec::new(),
            params: Vec::new(),
            dispatches: Vec::new(),
            swaps: true,
        };
        match variant.kind {
            Kind::Library { add, prox } => plan.library(precision, whole, add, prox),
            Kind::Combined { threads, rows } => plan.combined(precision, whole, threads, rows),
            Kind::Split { .. } => plan.split(precision, whole),
            Kind::Full {
                contacts,
                x_elements,
                parts,
            } => plan.full(precision, whole, 3 * contacts, x_elements, parts),
            Kind::Relaxed { contacts } => plan.relaxed(precision, whole, 3 * contacts),
        }
        plan
    }

    fn kernel(&mut self, header: &str, source: &str, slots: &'static [Slot]) -> usize {
        let source = format!("{header}{source}");
        self.kernels.push(Kernel { source, slots });
        self.kernels.len() - 1
    }

    /// Dispatches a kernel with the parameters that were added last.
    fn dispatch(&mut self, kernel: usize, groups: u32) {
        self.dispatches.push(Dispatch {
            kernel,
            params: self.params.len().saturating_sub(1),
            grid: folded(groups),
        });
    }

    /// Adds a projection of all contacts.
    fn prox(&mut self, precision: Precision, whole: Params, threads: u32, adds: bool) {
        let header = header(precision, &[("THREADS", threads)], &[("ADD", adds)]);
        let slots: &[Slot] = &[Slot::Offset, Slot::Friction, Slot::New];
        let prox = self.kernel(&header, source!("prox"), slots);
        self.dispatch(prox, (whole.rows / 3).div_ceil(threads));
    }

    fn library(&mut self, precision: Precision, whole: Params, add: Option<u32>, prox: u32) {
        self.params.push(whole);
        let of_product = header(precision, &[("THREADS", PRODUCT)], &[]);
        let slots: &[Slot] = &[Slot::Matrix, Slot::Old, Slot::New];
        let product = self.kernel(&of_product, source!("row_product"), slots);
        self.dispatch(product, whole.rows);
        if let Some(threads) = add {
            let header = header(precision, &[("THREADS", threads)], &[]);
            let add = self.kernel(&header, source!("add"), &[Slot::Offset, Slot::New]);
            self.dispatch(add, whole.rows.div_ceil(threads));
        }
        self.prox(precision, whole, prox, add.is_none());
    }

    fn combined(&mut self, precision: Precision, whole: Params, threads: u32, rows: u32) {
        self.params.push(whole);
        let numbers = [
            ("THREADS", threads),
            ("ROWS", rows),
            ("X_ELEMENTS", X_ELEMENTS),
        ];
        let header = header(precision, &numbers, &[]);
        let slots: &[Slot] = &[
            Slot::Matrix,
            Slot::Offset,
            Slot::Friction,
            Slot::Old,
            Slot::New,
        ];
        let kernel = self.kernel(&header, source!("column_product" "combined"), slots);
        self.dispatch(kernel, whole.rows.div_ceil(rows));
    }

    fn split(&mut self, precision: Precision, whole: Params) {
        self.params.push(whole);
        let numbers = [
            ("THREADS", PRODUCT),
            ("ROWS", PRODUCT),
            ("X_ELEMENTS", X_ELEMENTS),
        ];
        let header = header(precision, &numbers, &[]);
        let slots: &[Slot] = &[Slot::Matrix, Slot::Offset, Slot::Old, Slot::New];
        let product = self.kernel(&header, source!("column_product" "split"), slots);
        self.dispatch(product, whole.rows.div_ceil(PRODUCT));
        self.prox(precision, whole, PRODUCT, false);
    }

    /// Adds step B of both kinds of SOR.
    fn step_b(&mut self, precision: Precision, x_elements: u32, skips_block: bool) -> usize {
        let numbers = [("THREADS", PRODUCT), ("X_ELEMENTS", x_elements)];
        let header = header(precision, &numbers, &[("SKIPS_BLOCK", skips_block)]);
        let slots: &[Slot] = &[Slot::Matrix, Slot::Old, Slot::Sums];
        self.kernel(&header, source!("column_product" "sor_b"), slots)
    }

    fn full(
        &mut self,
        precision: Precision,
        whole: Params,
        block: u32,
        x_elements: u32,
        parts: Parts,
    ) {
        self.swaps = false;
        let switches = [
            ("PROPAGATE", parts.propagate),
            ("NORMAL", parts.normal),
            ("TANGENTIAL", parts.tangential),
            ("WRITES", parts.writes),
            ("BARRIERS", parts.barriers),
        ];
        let header = header(precision, &[("THREADS", block)], &switches);
        let slots: &[Slot] = &[
            Slot::Matrix,
            Slot::Offset,
            Slot::Friction,
            Slot::New,
            Slot::Sums,
        ];
        let a = self.kernel(&header, source!("sor_a"), slots);
        let b = self.step_b(precision, x_elements, true);
        for first in (0..whole.rows).step_by(block as usize) {
            let count = block.min(whole.rows - first);
            self.params.push(Params {
                first,
                count,
                ..whole
            });
            if parts.step_a {
                self.dispatch(a, 1);
            }
            if parts.step_b && count < whole.rows {
                self.dispatch(b, (whole.rows - count).div_ceil(PRODUCT));
            }
        }
    }

    fn relaxed(&mut self, precision: Precision, whole: Params, block: u32) {
        self.swaps = false;
        let header = header(precision, &[("THREADS", PRODUCT)], &[]);
        let slots: &[Slot] = &[Slot::Offset, Slot::Friction, Slot::New, Slot::Sums];
        let a = self.kernel(&header, source!("relaxed_a"), slots);
        let b = self.step_b(precision, X_ELEMENTS, false);
        for first in (0..whole.rows).step_by(block as usize) {
            let count = block.min(whole.rows - first);
            self.params.push(Params {
                first,
                count,
                ..whole
            });
            self.dispatch(a, 1);
            self.dispatch(b, whole.rows.div_ceil(PRODUCT));
        }
    }
}
