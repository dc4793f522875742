//! `gpu-jor` and `gpu-sor`: JOR and SOR Prox on the graphics processor (Nützi 2011, chapter 5; Munksgaard & Kaiser),
//! through wgpu, in single precision or in double.
//!
//! A solve packs the problem once (`layout`), uploads it, and dispatches batches of iterations (`program`); what the
//! last iteration of a batch changed is reduced on the device, and only that is read back. Every kernel has a twin on the
//! CPU (`host`), which also takes over where no device can be used. docs/gpu.md has the buffers and the dispatches.

#[cfg(feature = "gpu")]
pub(crate) mod clock;
#[cfg(feature = "gpu")]
pub(crate) mod device;
mod host;
#[cfg(feature = "gpu")]
mod kernels;
mod layout;
mod matrices;
mod program;
pub(crate) mod real;
mod records;
#[cfg(all(test, feature = "gpu"))]
pub(crate) mod tests;

use std::ops::RangeInclusive;

use host::Host;
use layout::{Layout, Product};
use program::{Batch, MOST_ROWS, Program, Sweep, WORKGROUP};
use real::Real;

use super::sweeps::block::Change;
use super::sweeps::colored_gs::edges::MOST_POINTS;
use super::sweeps::matrix::Matrix;
use super::sweeps::monitor::{Monitor, State, Verdict, relative};
use super::sweeps::pack::Packed;
use super::sweeps::papers::relaxed_sor;
use super::sweeps::parameters::{
    ALPHA, FIXED_BODIES, Packing, RFactors, Scheme, r_factors_by_degree,
};
use super::sweeps::{Iterated, ProxIteration, colored_gs, jacobi};
use super::{
    Budget, Over, Parameter, ParameterKind, Parameters, Request, SolveReport, Solver, SolverInfo,
    Traits, Value,
};
use crate::math::Twist;
use crate::problem::Problem;

/// The entry of `gpu-jor` in the list.
pub static JOR: SolverInfo = SolverInfo {
    name: "gpu-jor",
    summary: "JOR Prox on the graphics processor: every contact sees the impulses of the last iteration",
    source: "Nützi 2011, 5.2 and 5.4; Munksgaard & Kaiser, section 4 (degree)",
    least_iterations: 1,
    traits: TRAITS,
    parameters: &[
        SCHEME,
        PRECISION,
        DEVICE,
        r_factors_by_degree("degree"),
        EVERY,
        ALPHA,
    ],
    make: |parameters| boxed(&JOR, Sweep::Jor, parameters),
};

/// The entry of `gpu-sor` in the list.
pub static SOR: SolverInfo = SolverInfo {
    name: "gpu-sor",
    summary: "SOR Prox on the graphics processor, one dispatch for each colour of contacts",
    source: "Nützi 2011, 5.3 and 5.4",
    least_iterations: 1,
    traits: TRAITS,
    parameters: &[
        SCHEME,
        PRECISION,
        DEVICE,
        GROUP,
        DIAGONAL,
        EVERY,
        FIXED_BODIES,
        ALPHA,
    ],
    make: |parameters| boxed(&SOR, sweep_of(parameters), parameters),
};

/// How the product with A is formed.
const SCHEME: Parameter = Parameter {
    name: "scheme",
    unit: "-",
    summary: "matrix-free: through the velocities of bodies. sparse: T = 1 − R A stored in block rows. dense: T as a \
              whole, of small problems",
    source: "Nützi 2011, 5.2 to 5.4",
    kind: ParameterKind::Choice {
        default: "matrix-free",
        options: &["matrix-free", "sparse", "dense"],
    },
};

/// The numbers of kernels.
const PRECISION: Parameter = Parameter {
    name: "precision",
    unit: "-",
    summary: "single: numbers of 32 bits, which end at about 1e-6 m/s. double: of 64 bits, where the device has them",
    source: "Nützi 2011, 6.1",
    kind: ParameterKind::Choice {
        default: "single",
        options: &["single", "double"],
    },
};

/// Who solves.
const DEVICE: Parameter = Parameter {
    name: "device",
    unit: "-",
    summary: "gpu: the graphics processor. cpu: jacobi, colored-gs or relaxed-sor in its place. best: the graphics processor \
              where it is one, and for so many contacts as it was measured to pay for (docs/gpu.md: gpu-jor from 576 on, \
              gpu-sor from 11,776 to 40,320), else the CPU",
    source: "Nützi 2011, 6.1",
    kind: ParameterKind::Choice {
        default: "gpu",
        options: &["gpu", "cpu", "best"],
    },
};

/// Relaxed dependencies.
const GROUP: Parameter = Parameter {
    name: "group",
    unit: "-",
    summary: "blocks that are projected together, from the same velocities, one such group after the other (relaxed \
              dependencies); 1: full dependencies, by colours or by diagonal blocks",
    source: "Nützi 2011, 5.3.2",
    kind: ParameterKind::Integer {
        default: 1,
        range: [1, 1_000_000_000],
    },
};

/// The diagonal blocks of full dependencies.
const DIAGONAL: Parameter = Parameter {
    name: "block",
    unit: "-",
    summary: "rows of a diagonal block that one workgroup sweeps, with T as a whole and full dependencies; his had 96 and 192",
    source: "Nützi 2011, 5.3.1 and 6.1.1",
    kind: ParameterKind::Integer {
        default: WORKGROUP as i64,
        range: [3, MOST_ROWS as i64],
    },
};

/// Contacts for which the graphics processor was faster than the CPU's solver, fifty iterations with all transfers: against
/// `jacobi` and `colored-gs` (docs/gpu.md, "What it is good for"; `moreau bench gpu --only contacts`).
const PAYS_JOR: RangeInclusive<usize> = 576..=usize::MAX;
const PAYS_SOR: RangeInclusive<usize> = 11_776..=40_320;

/// Most bytes of T as a whole: 16,000 rows; Nützi could keep 13,500 (2011, 6.1).
const MOST_DENSE: u64 = 1 << 30;

/// How often the host looks.
const EVERY: Parameter = Parameter {
    name: "every",
    unit: "-",
    summary: "iterations of a batch: convergence and divergence are looked at after each",
    source: "Nützi 2011, 5.2.1",
    kind: ParameterKind::Integer {
        default: 10,
        range: [1, 1_000],
    },
};

/// What is special about both.
const TRAITS: Traits = Traits {
    needs_device: true,
    obstacle,
    ..Traits::NONE
};

/// Why the solvers cannot use a device here, if they cannot.
pub fn obstacle() -> Option<String> {
    #[cfg(feature = "gpu")]
    return device::Gpu::shared().err();
    #[cfg(not(feature = "gpu"))]
    Some("built without the feature gpu".into())
}

/// The device that solves, if there is one.
pub fn device_name() -> Option<String> {
    #[cfg(feature = "gpu")]
    return device::Gpu::shared().ok().map(|gpu| gpu.name().to_owned());
    #[cfg(not(feature = "gpu"))]
    None
}

/// Whether it is a program that stands for a device, whose times say nothing about devices.
pub fn is_software() -> bool {
    #[cfg(feature = "gpu")]
    return device::Gpu::shared().is_ok_and(|gpu| gpu.is_software());
    #[cfg(not(feature = "gpu"))]
    false
}

/// Bytes per second that the device reads and writes where it copies a buffer of so many bytes (as many as one binding has
/// room for, at most): by its command for that, and by a kernel.
///
/// # Errors
/// Why it cannot be used.
pub fn copy_bandwidth(bytes: u64) -> Result<[f64; 2], String> {
    #[cfg(feature = "gpu")]
    return clock::copy_bandwidth(&*device::Gpu::shared()?, bytes).map_err(|trouble| trouble.0);
    #[cfg(not(feature = "gpu"))]
    Err(format!(
        "built without the feature gpu, which would copy {bytes} bytes"
    ))
}

/// Why a device did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Trouble(pub(crate) String);

/// What kernels are told in every dispatch: halves, and a tolerance, for which 32 bits are enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tuning {
    /// What R is multiplied by.
    scale: f32,
    /// T_rel.
    relative: f32,
    /// Whether friction rows see the change of their normal row at once.
    coupled: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            scale: 1.0,
            relative: 0.0,
            coupled: false,
        }
    }
}

impl Tuning {
    fn scale<R: Real>(&self) -> R {
        R::of(self.scale.into())
    }

    fn relative<R: Real>(&self) -> R {
        R::of(self.relative.into())
    }

    /// Λ + ν (z − Λ) for R that is halved, where z was formed with the whole R.
    fn towards<R: Real, const N: usize>(&self, z: [R; N], old: [R; N]) -> [R; N] {
        if self.scale == 1.0 {
            return z;
        }
        std::array::from_fn(|k| old[k] + self.scale::<R>() * (z[k] - old[k]))
    }
}

/// What an iteration changed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured<R> {
    /// ‖ΔΛ‖∞ (N s).
    delta: R,
    /// Largest ‖ΔΛ‖/R of a block (m/s).
    speed: R,
    /// Largest Λ_N/R_N (m/s).
    level: R,
    /// Largest |ΔΛ| − |Λ| T_rel (N s).
    beyond: R,
    /// Σ|ΔΛ|, Σ ΔΛ², Σ Λ².
    sums: [R; 3],
}

impl<R: Real> Default for Measured<R> {
    fn default() -> Self {
        Self {
            delta: R::ZERO,
            speed: R::ZERO,
            level: R::ZERO,
            beyond: -R::MAX,
            sums: [R::ZERO; 3],
        }
    }
}

impl<R: Real> Measured<R> {
    fn note(&mut self, old: &[R], step: &[R], speed: R, level: R, relative: R) {
        self.speed = self.speed.max(speed);
        self.level = self.level.max(level);
        for (old, step) in old.iter().zip(step) {
            let (old, step) = (*old, *step);
            self.delta = self.delta.max(step.abs());
            self.beyond = self.beyond.max(step.abs() - old.abs() * relative);
            let squares = [step.abs(), step * step, old * old];
            self.sums
                .iter_mut()
                .zip(squares)
                .for_each(|(sum, x)| *sum += x);
        }
    }

    /// As the monitor of the CPU's solvers takes it.
    fn change(&self) -> Change {
        let rounding = 0.5 * R::EPSILON * self.level.wide();
        let speed = self.speed.wide().max(rounding);
        let sums = self.sums.map(R::wide);
        Change {
            delta: self.delta.wide(),
            speed_squared: speed * speed,
            // NaN, which a maximum would hide, stays in a sum.
            sum: sums.iter().sum(),
            rounding,
            beyond: self.beyond.wide(),
            squares: [sums[1], sums[2]],
        }
    }
}

/// What one binding has room for.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Values of T.
    values: usize,
    /// Contacts.
    contacts: usize,
}

impl Room {
    const ENDLESS: Self = Self {
        values: usize::MAX,
        contacts: usize::MAX,
    };
}

/// What runs programs: a device, or its CPU twin.
trait Engine<R: Real>: Send {
    /// Takes in a problem, with its start.
    fn load(
        &mut self,
        layout: &Layout<R>,
        product: Product,
        program: &Program,
    ) -> Result<(), Trouble>;

    /// Iterations of a batch, and what the last one changed.
    fn run(
        &mut self,
        layout: &Layout<R>,
        program: &Program,
        batch: Batch,
        tuning: &Tuning,
    ) -> Result<Measured<R>, Trouble>;

    /// Keeps Λ as the checkpoint.
    fn keep(&mut self, layout: &Layout<R>, program: &Program) -> Result<(), Trouble>;

    /// Returns to the checkpoint.
    fn go_back(&mut self, layout: &Layout<R>, program: &Program) -> Result<(), Trouble>;

    /// Λ.
    fn read(&mut self, lambda: &mut Vec<R>) -> Result<(), Trouble>;
}

/// The iteration of both solvers.
struct Sweeps<R: Real> {
    sweep: Sweep,
    packing: Packing,
    /// The form of the product that was asked for, and the one that there is room for.
    asked: Product,
    product: Product,
    every: u32,
    /// Most rows of a diagonal block of T as a whole.
    block: u32,
    packed: Packed,
    matrix: Matrix,
    layout: Layout<R>,
    program: Program,
    start: Vec<f64>,
    lambda: Vec<f64>,
    read: Vec<R>,
    monitors: Vec<Monitor>,
    #[cfg(feature = "gpu")]
    device: Option<device::Device>,
    /// Another device than the one that all share.
    #[cfg(all(test, feature = "gpu"))]
    opened: Option<Result<std::sync::Arc<device::Gpu>, String>>,
    host: Host<R>,
    /// Why the twin solves, where it does.
    reason: Option<String>,
    /// Iterations so far, those left of a batch that is done one by one, and what they are asked for.
    done: u32,
    left: u32,
    budget: Budget,
    /// Whether the problem has numbers that single precision has not.
    is_beyond_single: bool,
}

impl<R: Real> Sweeps<R> {
    fn new(sweep: Sweep, parameters: &Parameters) -> Self {
        let r_factors = match sweep {
            Sweep::Jor => RFactors::from_parameters(parameters),
            Sweep::Sor | Sweep::Relaxed(_) => RFactors::Local,
        };
        let is_sor = sweep != Sweep::Jor;
        Self {
            sweep,
            packing: Packing {
                alpha: parameters.number("alpha"),
                r_factors,
                exact: false,
            },
            asked: match parameters.choice("scheme") {
                "sparse" => Product::Sparse,
                "dense" => Product::Dense,
                _ => Product::MatrixFree,
            },
            every: parameters.integer("every") as u32,
            product: Product::default(),
            packed: Packed::default(),
            matrix: Matrix::default(),
            block: if is_sor {
                parameters.integer("block") as u32
            } else {
                WORKGROUP
            },
            layout: Layout::new(is_sor && parameters.choice("fixed_bodies") == "as-poulsen"),
            program: Program::default(),
            start: Vec::new(),
            lambda: Vec::new(),
            read: Vec::new(),
            monitors: Vec::new(),
            #[cfg(feature = "gpu")]
            device: None,
            #[cfg(all(test, feature = "gpu"))]
            opened: None,
            host: Host::default(),
            reason: None,
            done: 0,
            left: 0,
            budget: Budget::default(),
            is_beyond_single: false,
        }
    }

    fn tuning(&self, budget: &Budget) -> Tuning {
        Tuning {
            scale: self.monitors.first().map_or(1.0, |m| m.scale as f32),
            relative: relative(budget).max(0.0) as f32,
            coupled: self.sweep == Sweep::Sor,
        }
    }

    /// Does something on the device, or on the twin where that solves. None where the device failed: the twin has then
    /// done all iterations so far, from the start.
    fn on_engine<T>(
        &mut self,
        action: impl FnOnce(&mut dyn Engine<R>, &Layout<R>, &Program) -> Result<T, Trouble>,
    ) -> Option<T> {
        #[cfg(feature = "gpu")]
        if self.reason.is_none()
            && let Some(device) = &mut self.device
        {
            match action(device, &self.layout, &self.program) {
                Ok(done) => return Some(done),
                Err(trouble) => {
                    self.device = None;
                    self.catch_up(trouble.0);
                    return None;
                }
            }
        }
        action(&mut self.host, &self.layout, &self.program).ok()
    }

    /// The twin solves from here on, from the start.
    fn use_host(&mut self, reason: String) {
        self.reason = Some(reason);
        // It cannot fail: it only copies.
        let _ = self.host.load(&self.layout, self.product, &self.program);
        self.left = 0;
        self.monitors.clear();
        self.monitors.resize(1, Monitor::default());
    }

    /// The twin does what the device has done so far, and solves from here on.
    #[cfg(feature = "gpu")]
    fn catch_up(&mut self, reason: String) {
        self.use_host(reason);
        let (done, budget) = (std::mem::take(&mut self.done), self.budget);
        while self.done < done && self.monitors[0].state == State::Running {
            self.batch(&budget, done - self.done, false);
        }
    }

    /// A batch of iterations, `most` at most, or the next one of it; how many they were. A batch has only one at first, and
    /// after a roll back: what is then kept has not had the time to diverge.
    fn batch(&mut self, budget: &Budget, most: u32, one_by_one: bool) -> u32 {
        let begins = self.left == 0;
        let size = match (begins, self.monitors[0].goes_on()) {
            (false, _) => self.left,
            (true, true) => most.min(self.every),
            (true, false) => 1,
        };
        let count = if one_by_one { 1 } else { size };
        let batch = Batch {
            iterations: count,
            begins,
        };
        let tuning = self.tuning(budget);
        let run =
            self.on_engine(|engine, layout, program| engine.run(layout, program, batch, &tuning));
        let Some(measured) = run else {
            // This batch is to be done still, unless the twin has stopped on its way.
            return match self.monitors[0].state {
                State::Running => self.batch(budget, most, one_by_one),
                _ => count,
            };
        };
        self.done += count;
        self.left = size - count;
        if self.left > 0 {
            self.monitors[0].change = measured.change();
            return count;
        }
        // Where the device fails in these the twin has done them.
        // Λ stays on the device, so that limit cycles are not looked for.
        let unknown = || f64::INFINITY;
        match self.monitors[0].observe(measured.change(), budget, unknown) {
            Verdict::Checkpoint => {
                self.on_engine(|engine, layout, program| engine.keep(layout, program));
            }
            Verdict::RollBack => {
                self.on_engine(|engine, layout, program| engine.go_back(layout, program));
            }
            Verdict::Continue | Verdict::Stop => {}
        }
        let monitor = &mut self.monitors[0];
        if monitor.state == State::Running && monitor.is_stuck(budget) {
            monitor.state = State::Stalled;
        }
        count
    }

    /// Opens the device, unless it is open.
    #[cfg(feature = "gpu")]
    fn open(&mut self) -> Result<(), String> {
        if self.device.as_ref().is_none_or(device::Device::is_lost) {
            self.device = None;
            #[cfg(test)]
            if let Some(opened) = &self.opened {
                self.device = Some(device::Device::new(opened.clone()?, R::BITS, self.block)?);
                return Ok(());
            }
            self.device = Some(device::Device::new(
                device::Gpu::shared()?,
                R::BITS,
                self.block,
            )?);
        }
        Ok(())
    }

    #[cfg(not(feature = "gpu"))]
    fn open(&mut self) -> Result<(), String> {
        obstacle().map_or(Ok(()), Err)
    }

    /// What one binding has room for.
    fn room(&self) -> Room {
        #[cfg(feature = "gpu")]
        if let Some(device) = &self.device {
            return Room {
                values: device.most_values(),
                contacts: device.most_contacts(),
            };
        }
        Room::ENDLESS
    }

    /// Bytes of T as a whole.
    fn dense_bytes(&self, problem: &Problem) -> u64 {
        let rows = problem.row_count() as u64;
        size_of::<R>() as u64 * rows * rows
    }

    /// Packs a problem and its start, cut where a binding has no room.
    fn lay_out(&mut self, problem: &Problem, lambda: &[f64], room: Room) {
        self.product = self.asked;
        if self.asked == Product::Dense && self.dense_bytes(problem) > MOST_DENSE {
            self.product = Product::Sparse;
        }
        self.packing.pack(problem, &mut self.packed, usize::MAX);
        self.packed.load(problem, lambda, &mut self.start);
        self.layout.fill(&self.packed, &self.start);
        self.layout.cut_contacts(room.contacts);
        let by_colors = self.sweep == Sweep::Sor && self.product != Product::Dense;
        match self.product {
            Product::MatrixFree => {
                if by_colors {
                    self.layout.find_colors(MOST_POINTS);
                    self.layout.sort_by_colors();
                }
                if let Sweep::Relaxed(blocks) = self.sweep {
                    self.layout.find_groups(blocks);
                }
                self.layout.number_impulses();
                self.layout.find_touches();
            }
            Product::Sparse => {
                self.matrix.refill(problem, &self.packed, Scheme::T);
                self.layout.sparse.take(&self.matrix, room.values);
                if by_colors {
                    self.layout.find_colors(MOST_POINTS);
                }
                if let Sweep::Relaxed(blocks) = self.sweep {
                    self.layout.find_groups(blocks);
                }
            }
            Product::Dense => {
                self.matrix.refill(problem, &self.packed, Scheme::T);
                let layout = &mut self.layout;
                layout.find_diagonal_blocks(self.block);
                let cuts: Vec<u32> = layout
                    .colors
                    .iter()
                    .map(|units| layout.rows_of(units).end)
                    .collect();
                let by_rows = self.sweep == Sweep::Jor;
                let cuts = cuts.into_iter();
                layout.dense.take(&self.matrix, room.values, by_rows, cuts);
                // A group may lie in several segments of T, as long as no segment cuts a block.
                if let Sweep::Relaxed(blocks) = self.sweep {
                    layout.find_groups(blocks);
                    layout.start_with_groups();
                }
            }
        }
        self.program = Program::new(&self.layout, self.sweep, self.product);
    }

    fn load(&mut self) {
        #[cfg(feature = "gpu")]
        if self.reason.is_none()
            && let Some(device) = &mut self.device
        {
            match device.load(&self.layout, self.product, &self.program) {
                Ok(()) => return,
                Err(trouble) => {
                    self.device = None;
                    self.reason = Some(trouble.0);
                }
            }
        }
        let reason = self.reason.take().unwrap_or_default();
        self.use_host(reason);
    }

    fn read_back(&mut self) {
        let mut read = std::mem::take(&mut self.read);
        if self
            .on_engine(|engine, _, _| engine.read(&mut read))
            .is_none()
        {
            self.on_engine(|engine, _, _| engine.read(&mut read));
        }
        let order = &self.layout.order;
        self.lambda.clear();
        if order.is_empty() {
            self.lambda.extend(read.iter().map(|x| x.wide()));
        } else {
            self.lambda.resize(read.len(), 0.0);
            for (at, x) in order.iter().zip(&read) {
                self.lambda[*at as usize] = x.wide();
            }
        }
        self.read = read;
    }
}

impl<R: Real> ProxIteration for Sweeps<R> {
    fn prepare(&mut self, problem: &Problem, lambda: &[f64], _: &mut Vec<Twist>) {
        self.reason = self.open().err();
        self.lay_out(problem, lambda, self.room());
        (self.done, self.left) = (0, 0);
        self.monitors.clear();
        self.monitors.resize(1, Monitor::default());
        let is_finite = self.layout.is_finite();
        self.is_beyond_single = self.packed.is_finite() && !is_finite;
        if self.layout.blocks() == 0 {
            self.monitors[0].state = State::Converged;
        } else if is_finite {
            self.load();
        }
        self.lambda.clone_from(&self.start);
    }

    fn is_finite(&self) -> bool {
        self.packed.is_finite() && self.layout.is_finite()
    }

    fn iterate(&mut self, problem: &Problem, budget: &Budget) {
        self.iterate_some(problem, budget, 1, false);
    }

    fn iterate_some(
        &mut self,
        _problem: &Problem,
        budget: &Budget,
        most: u32,
        with_impulses: bool,
    ) -> u32 {
        self.budget = *budget;
        let count = self.batch(budget, most, with_impulses);
        if with_impulses {
            self.read_back();
        }
        count
    }

    fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    fn precision(&self) -> &'static str {
        if R::EPSILON < f64::from(f32::EPSILON) {
            "double"
        } else {
            "single"
        }
    }

    fn return_to_checkpoints(&mut self) {
        if self.layout.blocks() == 0 {
            return;
        }
        if self.monitors[0].is_worse_than_checkpoint() {
            let _ = self.on_engine(|engine, layout, program| engine.go_back(layout, program));
        }
        self.read_back();
    }

    fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        self.packed.store(problem, &self.lambda, lambda);
    }

    fn describe(&self, report: &mut SolveReport) {
        if self.product != self.asked {
            report
                .remarks
                .push("solved with T in block rows: as a whole there is no room for it".into());
        }
        if let Some(reason) = &self.reason {
            report.remarks.push(format!("solved on the CPU: {reason}"));
        }
        report.note(
            "dispatches per iteration",
            "Kernels that one iteration starts.",
            "-",
            Over::Last,
            self.program.iteration.len() as f64,
        );
        #[cfg(feature = "gpu")]
        if let (Some(device), None) = (&self.device, &self.reason) {
            report.remarks.push(format!("solved on {}", device.name()));
            report.note(
                "device memory",
                "All buffers of the solver, staging included.",
                "B",
                Over::Max,
                device.memory() as f64,
            );
            let spent = device.spent();
            let mut note = |name, summary, seconds: f64| {
                report.note(name, summary, "ms", Over::Sum, 1e3 * seconds);
            };
            note(
                "upload",
                "Bringing the problem to the device.",
                spent.upload,
            );
            if let Some(seconds) = spent.iterating {
                let summary = "Iterations by the device's own clock.";
                note("on the device", summary, seconds);
            }
            note("read back", "Bringing the impulses back.", spent.read_back);
        }
    }
}

/// A solver on the device, and the one that has the laws that it has not.
struct GpuSolver<R: Real> {
    device: Iterated<Sweeps<R>>,
    twin: Box<dyn Solver>,
    choice: Choice,
}

/// Who was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Gpu,
    Cpu,
    Best,
}

/// Full dependencies, or relaxed ones.
fn sweep_of(parameters: &Parameters) -> Sweep {
    match parameters.integer("group") {
        0 | 1 => Sweep::Sor,
        group => Sweep::Relaxed(group as u32),
    }
}

/// A solver with the numbers that were asked for.
fn boxed(info: &'static SolverInfo, sweep: Sweep, parameters: &Parameters) -> Box<dyn Solver> {
    match parameters.choice("precision") {
        "double" => Box::new(GpuSolver::<f64>::new(info, sweep, parameters)),
        _ => Box::new(GpuSolver::<f32>::new(info, sweep, parameters)),
    }
}

/// Why the CPU takes a problem of so many contacts where the better of both is asked for.
fn better_on_cpu(sweep: Sweep, contacts: usize, has_device: bool) -> Option<String> {
    if !has_device {
        return Some("there is no graphics processor".into());
    }
    let pays = match sweep {
        Sweep::Jor => PAYS_JOR,
        Sweep::Sor | Sweep::Relaxed(_) => PAYS_SOR,
    };
    (!pays.contains(&contacts)).then(|| format!("with {contacts} contacts it is faster"))
}

impl<R: Real> GpuSolver<R> {
    fn new(info: &'static SolverInfo, sweep: Sweep, parameters: &Parameters) -> Self {
        let twin = match sweep {
            Sweep::Jor => &jacobi::INFO,
            Sweep::Sor => &colored_gs::INFO,
            Sweep::Relaxed(_) => &relaxed_sor::INFO,
        };
        let mut of_twin = Parameters::defaults(twin.parameters)
            .with("alpha", Value::Number(parameters.number("alpha")));
        match sweep {
            Sweep::Jor => {
                let r_factors = parameters.choice("r_factors").to_owned();
                of_twin = of_twin.with("r_factors", Value::Choice(r_factors));
            }
            Sweep::Sor => {}
            Sweep::Relaxed(blocks) => {
                of_twin = of_twin
                    .with("size", Value::Integer(blocks.into()))
                    .with("r_factors", Value::Choice("local".into()));
            }
        }
        Self {
            device: Iterated {
                info,
                iteration: Sweeps::new(sweep, parameters),
            },
            twin: (twin.make)(&of_twin),
            choice: match parameters.choice("device") {
                "cpu" => Choice::Cpu,
                "best" => Choice::Best,
                _ => Choice::Gpu,
            },
        }
    }

    /// Why the CPU's solver takes a problem from the start on.
    fn why_on_cpu(&self, problem: &Problem) -> Option<String> {
        let asked = match self.choice {
            Choice::Gpu => None,
            Choice::Cpu => Some("device = cpu".into()),
            Choice::Best => {
                let has_device = obstacle().is_none() && !is_software();
                better_on_cpu(
                    self.device.iteration.sweep,
                    problem.contacts.len(),
                    has_device,
                )
            }
        };
        let mut laws = problem.contacts.friction.iter().map(|f| f.law);
        asked.or_else(|| {
            let law = laws.find(|law| !layout::has_law(*law))?;
            Some(format!("no kernel has the friction law {law}"))
        })
    }

    fn solve_on_cpu(
        &mut self,
        why: &str,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let mut report = self.twin.solve(problem, request, lambda, u);
        let name = self.twin.info().name;
        report
            .remarks
            .push(format!("solved on the CPU by {name}: {why}"));
        report
    }
}

impl<R: Real> Solver for GpuSolver<R> {
    fn info(&self) -> &'static SolverInfo {
        self.device.info
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        if let Some(why) = self.why_on_cpu(problem) {
            return self.solve_on_cpu(&why, problem, request, lambda, u);
        }
        let report = self.device.solve(problem, request, lambda, u);
        if self.device.iteration.is_beyond_single {
            let why = "single precision has no such numbers";
            return self.solve_on_cpu(why, problem, request, lambda, u);
        }
        report
    }

    fn state(&self) -> Vec<u8> {
        self.twin.state()
    }

    fn set_state(&mut self, state: &[u8]) {
        self.twin.set_state(state);
    }
}
