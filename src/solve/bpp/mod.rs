//! `bpp`: block principal pivoting, a direct solver (Lefebvre 2020; Júdice & Pires 1994).
//!
//! Per island the mixed linear complementarity problem lo ≤ Λ ≤ hi ⟂ w = A Λ + b is solved exactly, by
//! three strategies:
//!
//! - `pivot`: algorithm 2.1 for fixed bounds; guesses which rows are free, solves for them, and moves every
//!   row that the result contradicts;
//! - `friction`: bounds ±μ Λ_N that follow the normal impulses, in a loop around it;
//! - `coupled`: both at once, by Newton's method on proximal problems.
//!
//! `strategy` says which is tried after which, and `tuning` for how long.
//!
//! Contacts with redundant points make A singular, so contact rows get a declared compliance, and
//! proximal steps, one substitution each, take what it does to w back out.

mod branched;
mod cache;
mod coupled;
mod factor;
mod friction;
mod full;
mod island;
mod island_pivoting;
mod lcp;
mod operator;
mod order;
pub mod panels;
mod parameters;
mod pivot;
mod report;
mod rows;
mod skyline;
mod slipping;
mod strategy;
#[cfg(test)]
mod tests;
mod tuning;
mod verify;

use std::time::Instant;

use rayon::prelude::*;

pub use self::factor::{Breakdown, Counters, FACTORIZATIONS, Factorization, make as factorization};
use self::friction::Ending;
pub use self::island::{IslandMatrix, Pattern};
pub(in crate::solve) use self::island_pivoting::IslandPivoting;
use self::lcp::Limits;
use self::panels::TILE;
pub use self::parameters::INFO;
use self::parameters::Settings;
use self::report::PivotReport;
use self::strategy::IslandSolver;
pub use self::tuning::Tuning;
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::solve::sweeps::shorten;
use crate::solve::{
    HistoryPoint, MatrixView, Parameters, Request, SolveReport, Solver, SolverInfo, SolverView,
    Status,
};

type MakeFactor = Box<dyn Fn() -> Box<dyn Factorization> + Send>;

/// The solver. It carries no state from step to step, only memory.
pub struct Bpp {
    settings: Settings,
    make_factor: MakeFactor,
    islands: Vec<IslandSolver>,
    /// Number of each body within its island.
    local: Vec<u32>,
    largest: Option<usize>,
}

impl Bpp {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let settings = Settings::new(parameters);
        let (name, share) = (settings.factorization.clone(), settings.refactor_share);
        let memory = settings.memory;
        Self {
            settings,
            make_factor: Box::new(move || factorization(&name, share, memory)),
            islands: Vec::new(),
            local: Vec::new(),
            largest: None,
        }
    }

    /// Changes what is no parameter: for measurements, and for who needs less than all it can.
    pub fn tune(&mut self, change: impl Fn(&mut Tuning)) {
        change(&mut self.settings.tuning);
    }

    /// Factors by what `make` gives, one for each island, instead of the parameter's factorisation, whose
    /// layout of the matrix stays. For measurements, and for factorisations of one's own.
    pub fn factor_by(&mut self, make: impl Fn() -> Box<dyn Factorization> + Send + 'static) {
        self.make_factor = Box::new(make);
        self.islands.clear();
    }

    /// Numbers the bodies within their islands and makes room.
    fn prepare(&mut self, problem: &Problem) {
        problem.islands.number_within(&mut self.local);
        while self.islands.len() < problem.islands.len() {
            self.islands.push(IslandSolver::new((self.make_factor)()));
        }
    }

    /// Λ of every island, within its bounds, and zero where no impulse moves anything.
    fn store(&self, islands: usize, lambda: &mut [f64], x: impl Fn(&IslandSolver) -> &[f64]) {
        lambda.fill(0.0);
        for solver in &self.islands[..islands] {
            let island = &solver.lcp.island;
            let scaled = x(solver).iter().zip(&island.scale);
            for ((x, s), row) in scaled.zip(&island.problem_row) {
                lambda[*row as usize] = x * s;
            }
        }
    }

    /// Pivots that every island can make within the work of all of them; one in any case.
    fn pivots_within_work(&self, islands: usize) -> u32 {
        let solvers = self.islands[..islands].iter();
        let solvers = solvers.filter(|solver| solver.outcome.is_ok());
        let each: f64 = solvers.map(|s| s.lcp.island.work_of_a_pivot()).sum();
        // Where there is nothing to do, or no limit, it is infinite.
        ((self.settings.work / each) as u32).max(1)
    }

    /// Solves the islands that are assembled, since `start`.
    fn solve_assembled(
        &mut self,
        problem: &Problem,
        request: &Request,
        start: Instant,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let islands = problem.islands.len();
        let settings = &self.settings;
        let mut report = SolveReport {
            prepare_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        let solving = Instant::now();
        let limits = Limits {
            budget: request
                .budget
                .iterations
                .min(self.pivots_within_work(islands)),
            deadline: request.budget.time_limit().map(|limit| solving + limit),
        };
        if self.islands[..islands]
            .iter()
            .all(|solver| solver.outcome.is_ok())
        {
            let from = &*lambda;
            self.islands[..islands]
                .par_iter_mut()
                .for_each(|solver| solver.solve(from, settings, limits, request.history));
            self.store(islands, lambda, |solver| &solver.lcp.x);
            problem.velocities(lambda, u);
        }
        report.solve_time = solving.elapsed().as_secs_f64();
        if request.history {
            let cost = self.islands[..islands].iter();
            let cost: f64 = cost.map(|solver| solver.lcp.recorder.cost).sum();
            report.solve_time = (report.solve_time - cost).max(0.0);
            report.record_time += cost;
        }
        report.status = status(&self.islands[..islands]);
        if matches!(report.status, Status::Failed(_)) {
            return report;
        }
        // What did not get to its end may hold more energy than no impulses at all.
        if report.status != Status::Converged && shorten(problem, lambda, u) {
            problem.velocities(lambda, u);
        }
        let measuring = Instant::now();
        if settings.verify {
            self.islands[..islands]
                .par_iter_mut()
                .for_each(IslandSolver::verify);
        }
        let mut pivoting = PivotReport::default();
        for solver in &self.islands[..islands] {
            pivoting.add(&solver.report);
        }
        report.iterations = pivoting.most_pivots as u32;
        report.statistics = pivoting.statistics();
        self.largest = (0..islands).max_by_key(|i| (self.islands[*i].lcp.island.n(), islands - i));
        if request.history {
            self.write_history(problem, lambda, &mut report);
        }
        report.record_time += measuring.elapsed().as_secs_f64();
        report
    }

    /// One point per pivot: every island at its solver pivot of that number, or at its last.
    fn write_history(&self, problem: &Problem, lambda: &[f64], report: &mut SolveReport) {
        let islands = problem.islands.len();
        let mut workspace = ResidualWorkspace::default();
        let mut before = vec![0.0; lambda.len()];
        let mut now = vec![0.0; lambda.len()];
        let mut time: f64 = 0.0;
        for pivot in 0..report.iterations as usize {
            let done = pivot + 1 == report.iterations as usize;
            if done {
                now.copy_from_slice(lambda);
                time = time.max(report.solve_time);
            } else {
                self.store(islands, &mut now, |solver| {
                    match solver.lcp.recorder.candidates.get(pivot) {
                        Some(candidate) => &candidate.x,
                        None => &solver.lcp.x,
                    }
                });
                for solver in &self.islands[..islands] {
                    if let Some(candidate) = solver.lcp.recorder.candidates.get(pivot) {
                        time = time.max(candidate.time);
                    }
                }
            }
            let difference = now.iter().zip(&before).map(|(a, b)| (a - b).abs());
            let delta = difference.fold(0.0, f64::max);
            report.delta = delta;
            report.history.push(HistoryPoint {
                iteration: pivot as u32 + 1,
                time,
                residual: residual::evaluate(problem, &now, JudgedLaw::Intervals, &mut workspace)
                    .residual,
                delta,
            });
            std::mem::swap(&mut now, &mut before);
        }
    }
}

impl Solver for Bpp {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn judged_law(&self) -> JudgedLaw {
        JudgedLaw::Intervals
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        self.prepare(problem);
        let (settings, local) = (&self.settings, &self.local);
        self.islands[..problem.islands.len()]
            .par_iter_mut()
            .enumerate()
            .for_each(|(island, solver)| solver.assemble(problem, island, local, settings, &[]));
        self.solve_assembled(problem, request, start, lambda, u)
    }

    fn solve_again(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        self.islands[..problem.islands.len()]
            .par_iter_mut()
            .for_each(|solver| solver.assemble_again(problem));
        self.solve_assembled(problem, request, start, lambda, u)
    }

    fn view(&self) -> &dyn SolverView {
        self
    }
}

impl SolverView for Bpp {
    fn matrix(&self) -> Option<MatrixView> {
        let solver = self.islands.get(self.largest?)?;
        let n = solver.lcp.island.n();
        let mut view = MatrixView {
            n,
            row: solver.lcp.island.problem_row.clone(),
            tight: solver.lcp.tight.clone(),
            ..MatrixView::default()
        };
        let mut by_row: Vec<u32> = (0..n as u32).collect();
        by_row.sort_unstable_by_key(|i| view.row[*i as usize]);
        view.natural = vec![0; n];
        for (place, i) in by_row.iter().enumerate() {
            view.natural[*i as usize] = place as u32;
        }
        let envelope = &solver.lcp.island.matrix.envelope;
        for k in 0..n {
            let last = (k - k % TILE + envelope.height(k / TILE)).min(n) - 1;
            view.envelope.push(last as u32);
            let rows = (k..=last).filter(|i| solver.lcp.island.couples(*i, k));
            view.a.extend(rows.map(|i| [i as u32, k as u32]));
        }
        solver.lcp.factor.each_entry(&mut |i, k, value| {
            if value != 0.0 {
                view.l.push([i as u32, k as u32]);
            }
        });
        if let Some(order) = solver.lcp.factor.order() {
            view.reorder(order);
        }
        Some(view)
    }
}

/// The outcome of all islands together.
fn status(islands: &[IslandSolver]) -> Status {
    let refused = islands.iter().find_map(|s| s.outcome.as_ref().err());
    if let Some(refusal) = refused {
        return Status::Failed(refusal.to_string());
    }
    let count = |ending| islands.iter().filter(|s| s.outcome == Ok(ending)).count();
    match (count(Ending::OutOfBudget), count(Ending::Unsettled)) {
        (0, 0) => Status::Converged,
        (0, unsettled) => Status::Stalled(format!(
            "the sets or friction bounds of {unsettled} of {} islands did not settle",
            islands.len()
        )),
        _ => Status::Budget,
    }
}
