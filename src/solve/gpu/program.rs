//! What is dispatched in an iteration, on the device and by the CPU twin alike.

use super::layout::{Layout, Product};

/// A kernel, with the buffers that it is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// JOR Prox without a matrix: Λ from velocities.
    JorProject,
    /// Velocities from Λ.
    Gather,
    /// SOR Prox without a matrix: the units of a colour.
    SorSweep,
    /// z = T Λ + d.
    Product,
    /// Λ ← prox(z).
    Prox,
    /// SOR Prox with T: the units of a colour.
    SorSparse,
    /// z = T Λ + d with T as a whole.
    DenseProduct,
    /// What each row will have summed up before its first sweep.
    DenseStart,
    /// A diagonal block, row by row (step A).
    DenseA,
    /// All other rows see it (step B).
    DenseB,
    /// Λ is noted for the criterion.
    Note,
    /// Λ becomes the checkpoint.
    Keep,
    /// The checkpoint becomes Λ.
    Return,
    /// What each workgroup's blocks changed.
    Criterion,
    /// What all changed.
    Total,
}

/// One dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    pub kernel: Kernel,
    /// What it works on: blocks, bodies, units, impulses or workgroups.
    pub first: u32,
    pub count: u32,
    /// The segment of T that it reads.
    pub segment: u32,
    /// First row of that segment, and how many it has, where T is whole.
    pub rows: [u32; 2],
}

impl Step {
    /// A dispatch of `count` things from `first` on.
    pub fn new(kernel: Kernel, first: u32, count: u32) -> Self {
        Self {
            kernel,
            first,
            count,
            segment: 0,
            rows: [0; 2],
        }
    }

    /// The same with another segment.
    pub fn with(self, segment: u32) -> Self {
        Self { segment, ..self }
    }

    /// Its grid of workgroups.
    #[cfg(feature = "gpu")]
    pub fn grid(&self) -> [u32; 2] {
        match self.kernel {
            Kernel::Total | Kernel::DenseA => [1, 1],
            Kernel::DenseProduct | Kernel::DenseStart | Kernel::DenseB => grid(self.rows[1]),
            _ => grid(self.count),
        }
    }
}

/// How impulses are swept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// All at once (Nützi 2011, 5.2).
    #[default]
    Jor,
    /// Colour by colour (Nützi 2011, 5.3, with colours in the place of an atomic counter).
    Sor,
}

/// Iterations that are dispatched together.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub iterations: u32,
    /// Whether a batch begins with them, and with what goes before it.
    pub begins: bool,
}

/// The dispatches of a solve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Before the iterations of a batch.
    pub begin: Vec<Step>,
    /// Those of one iteration.
    pub iteration: Vec<Step>,
    /// Before the last iteration of a batch.
    pub note: Vec<Step>,
    /// After the last one.
    pub end: Vec<Step>,
    pub keep: Vec<Step>,
    pub back: Vec<Step>,
}

/// Invocations of a workgroup; the shaders say the same.
pub const WORKGROUP: u32 = 64;
/// Most workgroups along one axis of a grid.
const MOST_GROUPS: u32 = 65_535;

/// The grid of workgroups for so many invocations.
pub fn grid(count: u32) -> [u32; 2] {
    let groups = count.div_ceil(WORKGROUP).max(1);
    let x = groups.min(MOST_GROUPS);
    [x, groups.div_ceil(x)]
}

/// A dispatch for each segment of a dense T.
fn in_segments(layout: &Layout, step: Step) -> impl Iterator<Item = Step> + '_ {
    let segments = layout.dense.segments.iter().zip(0..);
    segments.map(move |((rows, _), segment)| Step {
        segment,
        rows: [rows.start, rows.len() as u32],
        ..step
    })
}

impl Program {
    /// The dispatches for a problem.
    pub fn new(layout: &Layout, sweep: Sweep, product: Product) -> Self {
        let whole = |kernel, count| Step::new(kernel, 0, count);
        let blocks = layout.blocks();
        let impulses = layout.lambda.len() as u32;
        let gather = whole(Kernel::Gather, layout.bodies.len() as u32);
        let groups = grid(blocks).iter().product();
        let mut program = Self {
            note: vec![whole(Kernel::Note, impulses)],
            end: vec![
                whole(Kernel::Criterion, blocks),
                whole(Kernel::Total, groups),
            ],
            keep: vec![whole(Kernel::Keep, impulses)],
            back: vec![whole(Kernel::Return, impulses)],
            ..Self::default()
        };
        match (sweep, product) {
            (Sweep::Jor, Product::MatrixFree) => {
                program.begin.push(gather);
                program.iteration = vec![whole(Kernel::JorProject, blocks), gather];
            }
            // Afresh in every batch, so that single precision gathers no errors.
            (Sweep::Sor, Product::MatrixFree) => {
                program.begin.push(gather);
                let colors = layout.colors.iter();
                program.iteration = colors
                    .map(|units| Step::new(Kernel::SorSweep, units.start, units.len() as u32))
                    .collect();
            }
            (Sweep::Jor, Product::Sparse) => {
                let segments = layout.sparse.segments.iter().zip(0..);
                program.iteration = segments
                    .map(|((blocks, _), segment)| {
                        Step::new(Kernel::Product, blocks.start, blocks.len() as u32).with(segment)
                    })
                    .collect();
                program.iteration.push(whole(Kernel::Prox, blocks));
            }
            (Sweep::Sor, Product::Sparse) => {
                for color in &layout.colors {
                    program.iteration.extend(layout.sparse_steps(color.clone()));
                }
            }
            (Sweep::Jor, Product::Dense) => {
                program.iteration =
                    in_segments(layout, whole(Kernel::DenseProduct, impulses)).collect();
                program.iteration.push(whole(Kernel::Prox, blocks));
            }
            (Sweep::Sor, Product::Dense) => {
                program.begin = in_segments(layout, whole(Kernel::DenseStart, impulses)).collect();
                for units in &layout.colors {
                    let [first, count] = [units.start, units.len() as u32];
                    let own = layout.dense.segment_of(layout.rows_of(units).start);
                    let step = in_segments(layout, Step::new(Kernel::DenseA, first, count));
                    program
                        .iteration
                        .extend(step.filter(|step| step.segment == own));
                    let step = Step::new(Kernel::DenseB, first, count);
                    program.iteration.extend(in_segments(layout, step));
                }
            }
        }
        program
    }

    /// The dispatches of iterations, one after the other.
    pub fn in_batch(&self, batch: Batch, mut dispatch: impl FnMut(&Step)) {
        let Batch { iterations, begins } = batch;
        if begins {
            self.begin.iter().for_each(&mut dispatch);
        }
        for k in 0..iterations {
            if k + 1 == iterations {
                self.note.iter().for_each(&mut dispatch);
            }
            self.iteration.iter().for_each(&mut dispatch);
        }
        self.end.iter().for_each(&mut dispatch);
    }

    /// All dispatches.
    #[cfg(feature = "gpu")]
    pub fn all(&self) -> impl Iterator<Item = &Step> {
        let parts = [
            &self.begin,
            &self.iteration,
            &self.note,
            &self.end,
            &self.keep,
            &self.back,
        ];
        parts.into_iter().flatten()
    }
}
