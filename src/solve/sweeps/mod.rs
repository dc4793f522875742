//! The prox solvers: Λ ← prox(Λ − R(A Λ + b)), swept as Jacobi or Gauss–Seidel (Poulsen 2010,
//! chapter 3; Nützi 2011, section 4.6).
//!
//! By default w stays factorized: every block reads and writes the velocities u = u_free + M⁻¹ Jᵀ Λ in
//! place of A. The parameter `scheme` asks for A itself, or for T = 1 − R A.

pub mod apgd;
pub(in crate::solve) mod block;
mod by_island;
pub mod color;
pub mod colored_gs;
pub(in crate::solve) mod contact_block;
mod fill;
mod form;
pub mod gauss_seidel;
pub mod jacobi;
mod lanczos;
pub(in crate::solve) mod matrix;
pub(in crate::solve) mod monitor;
pub mod nncg;
pub(in crate::solve) mod pack;
pub mod papers;
pub(in crate::solve) mod parameters;
mod r_factors;
mod row;
mod sweep;

use std::time::{Duration, Instant};

use form::Packs;
use monitor::{Monitor, State};
use pack::Packed;

use crate::math::Twist;
use crate::problem::residual::{JudgedLaw, ResidualWorkspace};
use crate::problem::{FrictionLaw, MatrixProblem, Problem};
use crate::solve::{
    Budget, HistoryPoint, NeedsBodies, Over, Parameter, ParameterKind, Request, SolveReport,
    Solver, SolverInfo, Status,
};

/// Most times that R is halved before a solve counts as failed.
pub const MAX_HALVINGS: u32 = 5;
/// ν: what R is multiplied by on divergence (Poulsen 2010, 3.5).
pub const NU: f64 = 0.5;

/// Name of the statistic: times that R was halved after divergence, the most of any part.
pub const HALVINGS: &str = "halvings of R";
/// Name of the statistic: limit cycles that were found, the most of any part.
pub const CYCLES: &str = "limit cycles";
/// Name of the statistic: bytes that one iteration reads, data gathered from bodies included.
pub const BYTES_READ: &str = "read per iteration";
/// Name of the statistic: bytes that one iteration writes.
pub const BYTES_WRITTEN: &str = "written per iteration";

/// Iterations after which velocities are computed afresh: a Λ that grows and shrinks again would leave
/// its rounding errors in them for good.
const REBUILD: u32 = 256;

const fn alpha(default: f64, summary: &'static str) -> Parameter {
    Parameter {
        name: "alpha",
        unit: "-",
        summary,
        source: "Nützi 2011, 4.40 and 4.48",
        kind: ParameterKind::Number {
            default,
            range: [0.001, 1.999],
        },
    }
}

/// What a prox solver does differently from the others, with a problem of form `P`; [`iterate`] does the rest.
pub(super) trait ProxIteration<P: Packs = Problem> {
    /// Packs the problem and starts from `lambda`; `u` is room for velocities until they are asked for.
    fn prepare(&mut self, problem: &P, lambda: &[f64], u: &mut Vec<Twist>);

    /// Whether everything that an iteration reads is finite; a projection would hide a NaN.
    fn is_finite(&self) -> bool;

    /// One iteration of every part that still runs: Λ ← prox(Λ − R(A Λ + b)), and its monitor.
    fn iterate(&mut self, problem: &P, budget: &Budget);

    /// As many iterations as it does in one go, `most` at most; how many they were. With `with_impulses` it is one, after
    /// which Λ is wanted; this must change nothing else.
    fn iterate_some(
        &mut self,
        problem: &P,
        budget: &Budget,
        _most: u32,
        _with_impulses: bool,
    ) -> u32 {
        self.iterate(problem, budget);
        1
    }

    /// One monitor per part that stops, and rolls back, by itself: an island, or a few.
    fn monitors(&self) -> &[Monitor];

    /// Parts whose budget ran out on the way to divergence return to their checkpoints.
    fn return_to_checkpoints(&mut self);

    /// Copies Λ to the problem's order.
    fn store(&self, problem: &P, lambda: &mut [f64]);

    /// The law that the iteration solves.
    fn judged_law(&self) -> JudgedLaw {
        JudgedLaw::Own
    }

    /// Bytes that one iteration reads and writes; 0 where not counted.
    fn traffic(&self) -> [u64; 2] {
        [0; 2]
    }

    /// The precision in which it ends where no smaller changes are resolved.
    fn precision(&self) -> &'static str {
        "single"
    }

    /// Adds its own numbers and remarks to the report on a solve.
    fn describe(&self, _report: &mut SolveReport) {}

    /// u = u_free + M⁻¹ Jᵀ Λ of the result, where there are bodies.
    fn velocities(&self, problem: &P, lambda: &[f64], u: &mut Vec<Twist>) {
        problem.body_velocities(lambda, u);
    }
}

/// An iteration and its entry in the list.
pub(super) struct Iterated<T> {
    pub info: &'static SolverInfo,
    pub iteration: T,
}

/// A solver made of an iteration.
fn solver(
    info: &'static SolverInfo,
    iteration: impl ProxIteration + Send + 'static,
) -> Box<dyn Solver> {
    Box::new(Iterated { info, iteration })
}

impl<T: ProxIteration + Send> Solver for Iterated<T> {
    fn info(&self) -> &'static SolverInfo {
        self.info
    }

    fn judged_law(&self) -> JudgedLaw {
        self.iteration.judged_law()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        iterate(&mut self.iteration, problem, request, lambda, u)
    }
}

/// An iteration that can do without bodies, too.
struct OfAnyForm<T>(Iterated<T>);

/// A solver made of an iteration, for problems of any form.
fn solver_of_any_form<T>(info: &'static SolverInfo, iteration: T) -> Box<dyn Solver>
where
    T: ProxIteration<Problem> + ProxIteration<MatrixProblem> + Send + 'static,
{
    Box::new(OfAnyForm(Iterated { info, iteration }))
}

impl<T> Solver for OfAnyForm<T>
where
    T: ProxIteration<Problem> + ProxIteration<MatrixProblem> + Send,
{
    fn info(&self) -> &'static SolverInfo {
        self.0.info
    }

    fn judged_law(&self) -> JudgedLaw {
        self.0.judged_law()
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        self.0.solve(problem, request, lambda, u)
    }

    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let iteration = &mut self.0.iteration;
        Ok(iterate(
            iteration,
            problem,
            request,
            lambda,
            &mut Vec::new(),
        ))
    }
}

/// [`ProxIteration::return_to_checkpoints`] for Λ that is packed by islands.
fn return_to_checkpoints(
    packed: &Packed,
    monitors: &[Monitor],
    checkpoint: &[f64],
    lambda: &mut [f64],
) {
    for (island, monitor) in monitors.iter().enumerate() {
        if monitor.is_worse_than_checkpoint() {
            let span = packed.impulses(island);
            lambda[span.clone()].copy_from_slice(&checkpoint[span]);
        }
    }
}

/// The loop of every prox solver: iterate until all islands have stopped or the budget is spent.
fn iterate<P: Packs>(
    solver: &mut impl ProxIteration<P>,
    problem: &P,
    request: &Request,
    lambda: &mut [f64],
    u: &mut Vec<Twist>,
) -> SolveReport {
    let start = Instant::now();
    solver.prepare(problem, lambda, u);
    let mut report = SolveReport {
        prepare_time: start.elapsed().as_secs_f64(),
        ..SolveReport::default()
    };
    if !solver.is_finite() {
        report.status = not_finite();
        return report;
    }
    let mut clock = IterationClock::start(request);
    let mut workspace = ResidualWorkspace::default();
    while report.iterations < request.budget.iterations && is_running(solver.monitors()) {
        let left = request.budget.iterations - report.iterations;
        report.iterations += solver.iterate_some(problem, &request.budget, left, request.history);
        clock.record(&mut report, delta(solver.monitors()), || {
            solver.store(problem, lambda);
            let law = solver.judged_law();
            problem.residual(lambda, law, &mut workspace).residual
        });
        if clock.is_over() {
            break;
        }
    }
    solver.return_to_checkpoints();
    report.delta = delta(solver.monitors());
    report.status = status(solver.monitors(), solver.precision());
    solver.store(problem, lambda);
    solver.velocities(problem, lambda, u);
    if solver.monitors().iter().any(Monitor::made_no_progress) && problem.shorten(lambda, u) {
        solver.velocities(problem, lambda, u);
    }
    report.solve_time = clock.elapsed();
    report.record_time = clock.recording.as_secs_f64();
    let halvings = solver.monitors().iter().map(|m| m.halvings).max();
    report.note(
        HALVINGS,
        "After divergence; the most of any part that is watched by itself.",
        "-",
        Over::Sum,
        halvings.unwrap_or(0).into(),
    );
    let cycles = solver.monitors().iter().map(|m| m.cycles).max();
    if let Some(cycles) = cycles.filter(|cycles| *cycles > 0) {
        report.note(
            CYCLES,
            "Found where Λ went round; R was then halved from the best impulses kept. The most of any part.",
            "-",
            Over::Sum,
            cycles.into(),
        );
    }
    solver.describe(&mut report);
    if let [read, written] = solver.traffic()
        && read > 0
    {
        let all = "All islands together.";
        report.note(BYTES_READ, all, "B", Over::Last, read as f64);
        report.note(BYTES_WRITTEN, all, "B", Over::Last, written as f64);
    }
    report
}

/// Shortens the impulses of every island whose objective ½ Λᵀ A Λ + bᵀ Λ they raise above that of no
/// impulses at all, to the best point on the ray from zero. At a solution it is −½ Λᵀ A Λ + Λᵀ w ≤ 0,
/// and the sets are cones or hold zero, so that a solution is never shortened; what is on its way to
/// infinity is, and so gains no energy from step to step. Returns whether anything was.
pub(super) fn shorten(problem: &Problem, lambda: &mut [f64], u: &[Twist]) -> bool {
    let free = &problem.bodies.free_velocity;
    let contacts = &problem.contacts;
    let first = problem.contact_rows();
    let mut any = false;
    for island in 0..problem.islands.len() {
        // Λᵀ w and Λᵀ b.
        let (mut with, mut without) = (0.0, 0.0);
        let mut add = |block: &[f64], w: &[f64], b: &[f64]| {
            for (x, (w, b)) in block.iter().zip(w.iter().zip(b)) {
                with += x * w;
                without += x * b;
            }
        };
        for &c in problem.islands.contacts.of(island) {
            let c = c as usize;
            let block = &lambda[contacts.rows(c)];
            let [mut w, mut b] = [[0.0; FrictionLaw::MAX_ROWS]; 2];
            let zero = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_velocity(c, u, block, &mut w);
            problem.contact_velocity(c, free, &zero[..block.len()], &mut b);
            add(block, &w, &b);
        }
        for &r in problem.islands.rows.of(island) {
            let r = r as usize;
            let x = lambda[first + r];
            let w = problem.row_velocity(r, u, x);
            let b = problem.row_velocity(r, free, 0.0);
            add(&[x], &[w], &[b]);
        }
        let curvature = with - without;
        if 0.5 * (with + without) <= 0.0 {
            continue;
        }
        let length = if curvature > 0.0 && without < 0.0 {
            -without / curvature
        } else {
            0.0
        };
        any = true;
        for &c in problem.islands.contacts.of(island) {
            for x in &mut lambda[contacts.rows(c as usize)] {
                *x *= length;
            }
        }
        for &r in problem.islands.rows.of(island) {
            lambda[first + r as usize] *= length;
        }
    }
    any
}

/// The clock of an iteration: stops while a history is recorded, and knows the time limit.
struct IterationClock {
    start: Instant,
    limit: Option<Duration>,
    history: bool,
    recording: Duration,
}

impl IterationClock {
    fn start(request: &Request) -> Self {
        Self {
            start: Instant::now(),
            limit: request.budget.time_limit(),
            history: request.history,
            recording: Duration::ZERO,
        }
    }

    /// Time of the iterations so far (s), what recording cost left out.
    fn elapsed(&self) -> f64 {
        (self.start.elapsed() - self.recording).as_secs_f64()
    }

    fn is_over(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.start.elapsed() - self.recording >= limit)
    }

    /// Adds a point to the history, if one is asked for.
    fn record(&mut self, report: &mut SolveReport, delta: f64, residual: impl FnOnce() -> f64) {
        if !self.history {
            return;
        }
        // One reading of the clock: what passed between two would count in this point and not in the next.
        let pause = Instant::now();
        let time = pause - self.start - self.recording;
        report.history.push(HistoryPoint {
            iteration: report.iterations,
            time: time.as_secs_f64(),
            residual: residual(),
            delta,
        });
        self.recording += pause.elapsed();
    }
}

/// The outcome for a problem that cannot be solved.
fn not_finite() -> Status {
    Status::Failed("the problem holds a number that is not finite".into())
}

/// The outcome of all islands together.
fn status(monitors: &[Monitor], precision: &str) -> Status {
    let failed = monitors.iter().filter(|m| m.state == State::Failed).count();
    if failed > 0 {
        return Status::Failed(format!(
            "{failed} of {} parts still diverged after R was halved {MAX_HALVINGS} times",
            monitors.len()
        ));
    }
    let went_round = monitors
        .iter()
        .filter(|m| m.state == State::Running && m.cycles > 0)
        .count();
    if monitors.iter().all(|m| m.state == State::Converged) {
        Status::Converged
    } else if went_round > 0 {
        Status::Stalled(format!(
            "limit cycle: {went_round} of {} parts went round in circles until R was halved",
            monitors.len()
        ))
    } else if is_running(monitors) {
        Status::Budget
    } else {
        Status::Stalled(format!(
            "{precision} precision resolves no smaller changes than these"
        ))
    }
}

fn is_running(monitors: &[Monitor]) -> bool {
    monitors.iter().any(|m| m.state == State::Running)
}

/// ‖ΔΛ‖∞ of every part's last iteration.
fn delta(monitors: &[Monitor]) -> f64 {
    let deltas = monitors.iter().map(|m| m.change.delta);
    deltas.fold(0.0, f64::max)
}
