//! A pass over the islands of a problem: what is asked of each, what it may take, and what became of it.

use std::time::Instant;

use rayon::prelude::*;

use super::budget::{AIM, FINEST, Refusal, WorkBudget, count, work_of_a_sweep};
use super::engine::Engine;
use super::run::{ExactRun, IslandRun};
use super::standing::{accepted, residual_within};
use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::conclude::{clear_idle, conclude, copy_island};
use crate::solve::island::Operator;
use crate::solve::method::{self, Limits, Site};
use crate::solve::subproblem::Subproblem;
use crate::solve::{Reason, Request, SolveReport, Solver, Status};

/// What is asked of an island.
pub enum Ask {
    /// To solve it exactly, if the work allows it.
    Solve,
    /// To sweep it unless its impulses solve it, and why.
    Sweep(Refusal),
    /// Nothing.
    Leave,
}

impl Ask {
    /// Whether its impulses are looked at before it is swept: of very many small islands they are not.
    fn is_looked_at(&self) -> bool {
        match self {
            Self::Solve => true,
            Self::Sweep(refusal) => refusal.reason != Reason::Many,
            Self::Leave => false,
        }
    }
}

/// What sweeps islands whose exact solution has ended above the tolerance.
pub struct Sweeper<'a, F> {
    pub solver: &'a mut dyn Solver,
    /// The impulses that the step began with, and the islands whose sweeps begin there, and not at the best so far.
    pub start: &'a [f64],
    pub begins_there: F,
}

/// An engine, which moves between islands without being copied.
type Held = Box<Engine>;

/// The islands of a problem. It carries no state from step to step, only memory.
#[derive(Default)]
pub struct ExactPass {
    /// The name of the stage that is left out.
    without: Option<&'static str>,
    runs: Vec<IslandRun>,
    /// What was asked of each, and the residuals of those that the impulses solve.
    asked: Vec<Ask>,
    solved: Vec<Option<f64>>,
    /// Engines with memory that fewer islands had no need of.
    spare: Vec<Held>,
    /// Number of each body within its island.
    local: Vec<u32>,
    /// What islands that impulses hold may take together; those that none holds yet may take it once more
    /// (multiplications).
    work: f64,
    /// The islands that sweeps are to lead nearer, and the impulses that these begin with and have found.
    unfinished: Subproblem,
    impulses: Vec<f64>,
}

impl ExactPass {
    /// One that leaves a stage out.
    pub fn without(without: Option<&'static str>) -> Self {
        Self {
            without,
            ..Self::default()
        }
    }

    /// The islands, in the problem's order.
    pub fn runs(&self) -> &[IslandRun] {
        &self.runs
    }

    /// Decides about all islands: what the impulses solve already stays; of what may be solved, the cheapest first, as much
    /// as the work allows is. `u` is overwritten; where all islands stand, with their velocities.
    pub fn plan(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        u: &mut Vec<Twist>,
        budget: &WorkBudget,
        ask: impl Fn(usize) -> Ask + Sync + Send,
    ) {
        let islands = (0..problem.islands.len()).into_par_iter();
        islands.map(ask).collect_into_vec(&mut self.asked);
        if self.asked.iter().any(Ask::is_looked_at) {
            problem.velocities(lambda, u);
        }
        let u = u.as_slice();
        let asked = self.asked.par_iter().enumerate();
        let solved = asked.map(|(island, ask)| {
            let limit = accepted(problem, island, budget.tolerance);
            let residual = || residual_within(problem, island, lambda, u, limit);
            ask.is_looked_at().then(residual).flatten()
        });
        solved.collect_into_vec(&mut self.solved);
        self.decide();
        if self.engines().next().is_some() {
            problem.islands.number_within(&mut self.local);
        }
        let local = &self.local;
        let runs = self.runs.par_iter_mut().enumerate();
        let exact = runs.filter_map(|(island, run)| Some((island, run.exact_mut()?)));
        exact.for_each(|(island, run)| run.begin(problem, island, local, lambda, budget));
        self.admit(budget);
    }

    /// What becomes of every island by what was asked of it. Most get the engine that they had.
    fn decide(&mut self) {
        let used = self.runs.drain(..).filter_map(|run| match run {
            IslandRun::Exact(run) => Some(run.engine),
            _ => None,
        });
        let engines: Vec<Held> = used.chain(self.spare.drain(..)).collect();
        let mut engines = engines.into_iter();
        for (ask, solved) in self.asked.drain(..).zip(&self.solved) {
            self.runs.push(match (solved, ask) {
                (Some(residual), _) => IslandRun::Accepted(*residual),
                (None, Ask::Solve) => {
                    let mut engine = engines.next().unwrap_or_default();
                    engine.without = self.without;
                    IslandRun::Exact(ExactRun::with(engine))
                }
                (None, Ask::Sweep(refusal)) => IslandRun::Swept(refusal),
                (None, Ask::Leave) => IslandRun::Left,
            });
        }
        self.spare.extend(engines);
    }

    /// Admits islands, the cheapest first, as far as the work goes, and gives each its share: those that impulses hold, and
    /// apart from them those that are solved from nothing, once.
    fn admit(&mut self, budget: &WorkBudget) {
        let engines = self.engines();
        let rows = engines.map(|(_, engine)| engine.state.x.len()).sum();
        let most = budget.in_place_of_sweeps(budget.work, rows);
        self.work = budget.in_place_of_sweeps(budget.left, rows);
        let runs = self.runs.iter_mut();
        // What each needs, how many times its share it may take, and the island.
        let asked = runs.filter_map(|run| {
            let exact = run.exact()?;
            Some((exact.need, exact.multiple, run))
        });
        let mut asked: Vec<(f64, f64, &mut IslandRun)> = asked.collect();
        asked.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let (new, held): (Vec<_>, Vec<_>) = asked
            .into_iter()
            .partition(|(_, multiple, _)| *multiple > 1.0);
        for islands in [new, held] {
            let mut sum = 0.0;
            let fits = |(need, multiple, _): &&(f64, f64, &mut IslandRun)| {
                sum += need / multiple;
                budget.admits_all || sum <= most
            };
            let admitted = islands.iter().take_while(fits).count();
            let of = islands[..admitted].iter();
            let all: f64 = of.map(|(need, multiple, _)| need / multiple).sum();
            for (k, (need, _, run)) in islands.into_iter().enumerate() {
                if k >= admitted {
                    let refused = IslandRun::Swept(Refusal {
                        reason: Reason::Count,
                        need,
                        work_budget: budget.work,
                    });
                    if let IslandRun::Exact(run) = std::mem::replace(run, refused) {
                        self.spare.push(run.engine);
                    }
                } else if let Some(run) = run.exact_mut() {
                    let is_shared = all > 0.0 && self.work < f64::INFINITY;
                    let share = if is_shared { need / all } else { 1.0 };
                    let least = if budget.admits_all { 0.0 } else { need };
                    let most = match run.has_rows() {
                        true => least.max(budget.step),
                        false => f64::INFINITY,
                    };
                    let work = least.max(self.work * share).min(most);
                    run.set_budget(work, most, budget.sweeps);
                }
            }
        }
    }

    /// Solves the islands that were taken, from the impulses in `lambda`, with at most as many Newton steps as the budget
    /// has iterations. Those of other islands stay, and what belongs to none becomes zero. [`ExactPass::conclude`] comes
    /// last.
    pub fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
    ) -> SolveReport {
        let start = Instant::now();
        let limits = limits(request, start);
        let site = |island| Site {
            problem,
            island,
            start: &*lambda,
        };
        let runs = self.runs.par_iter_mut().enumerate();
        let exact = runs.filter_map(|(island, run)| Some((island, run.exact_mut()?)));
        let tries = request.is_try;
        exact.for_each(|(island, run)| {
            run.solve(
                &site(island),
                &limits.of(tries && run.has_rows() && run.has_contacts()),
            )
        });
        while self.go_on(site, &limits) {}
        clear_idle(problem, lambda);
        self.store(problem, lambda, |state| &state.x);
        let mut report = SolveReport {
            solve_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        if request.history {
            let recording = self.engines().map(|(_, engine)| engine.state.recording);
            report.record_time = recording.sum();
            report.solve_time = (report.solve_time - report.record_time).max(0.0);
        }
        let engines = self.engines().map(|(_, engine)| engine);
        count(
            engines.map(|e| (e.state.tally, e.bodies.cost())),
            &mut report,
        );
        report.status = self.status(limits.tolerance);
        report
    }

    /// Gives what is left of the step's work to islands that have spent theirs, each as much again as it had, the cheapest
    /// first, as far as it goes, and goes on with them: with twice as much each time, all that was in vain before takes no
    /// more than the last. Returns whether any got more.
    fn go_on<'a>(&mut self, site: impl Fn(usize) -> Site<'a> + Sync, limits: &Limits) -> bool {
        let spent: f64 = self.engines().map(|(_, e)| e.state.tally.work).sum();
        let runs = self.runs.iter_mut().enumerate();
        let exact = runs.filter_map(|(island, run)| Some((island, run.exact_mut()?)));
        let mut open: Vec<(usize, &mut ExactRun)> =
            exact.filter(|(_, run)| run.may_go_on()).collect();
        open.sort_by(|(_, a), (_, b)| a.engine.budget.total_cmp(&b.engine.budget));
        let reserved: f64 = open.iter().map(|(_, run)| run.reserved).sum();
        let mut left = self.work - spent - reserved;
        if left == f64::INFINITY {
            return false;
        }
        let given = open.into_iter().map_while(|(island, run)| {
            let budget = run.engine.budget;
            let more = budget.min(run.most - budget).min(left);
            left -= more;
            (more > 0.0).then_some((island, run, more))
        });
        let given: Vec<_> = given.collect();
        let goes_on = !given.is_empty();
        let given = given.into_par_iter();
        given.for_each(|(island, run, more)| run.go_on(&site(island), limits, more));
        goes_on
    }

    /// Sweeps the islands whose exact solution has ended above the tolerance, which stand where sweeps lead nearer: a wall
    /// for which four alternating directions a step fit into the work, and six are needed, else keeps its impulses, and what is
    /// wrong with them doubles from step to step until it falls.
    pub fn improve(
        &mut self,
        problem: &Problem,
        request: &Request,
        sweeper: Sweeper<'_, impl Fn(usize) -> bool>,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
        report: &mut SolveReport,
    ) {
        let start = Instant::now();
        let tolerance = request.budget.tolerance;
        let exact = self.exact();
        // What a try has left open is solved in another way.
        let is_open =
            |run: &ExactRun| run.is_unfinished(tolerance) && !(request.is_try && run.has_rows());
        let unfinished = exact.filter(|(_, run)| is_open(run));
        let unfinished: Vec<usize> = unfinished.map(|(island, _)| island).collect();
        if unfinished.is_empty() || !report.status.is_usable() {
            return;
        }
        let sweeps = self.affordable_sweeps(&unfinished);
        if sweeps == 0 {
            return;
        }
        let mut each = Request {
            history: false,
            ..*request
        };
        each.budget.iterations = each.budget.iterations.min(sweeps);
        let impulses = &mut self.impulses;
        impulses.clear();
        impulses.extend_from_slice(lambda);
        for island in unfinished.iter().filter(|k| (sweeper.begins_there)(**k)) {
            copy_island(problem, *island, sweeper.start, impulses);
        }
        let part = &mut self.unfinished;
        let is_taken = |island: usize| unfinished.binary_search(&island).is_ok();
        part.take(problem, is_taken, impulses);
        let swept = (sweeper.solver).solve(&part.problem, &each, &mut part.lambda, u);
        let sweeps = swept.iterations;
        let exact = self.runs.iter_mut().filter_map(IslandRun::exact_mut);
        let open = exact.filter(|run| is_open(run));
        let mut open: Vec<&mut ExactRun> = open.collect();
        open.iter_mut().for_each(|run| run.book_sweeps(sweeps));
        let work: f64 = open.iter().map(|run| run.taken_by_sweeps).sum();
        report.add_to("work", 1e-6 * work);
        if swept.status.is_usable() {
            impulses.copy_from_slice(lambda);
            part.store(problem, impulses);
            let limits = limits(request, Instant::now());
            let open = open.into_par_iter();
            open.for_each(|run| run.offer(problem, impulses, sweeps, &limits));
            self.store(problem, lambda, |state| &state.x);
            report.status = self.status(limits.tolerance);
        }
        report.solve_time += start.elapsed().as_secs_f64();
    }

    /// What the islands have taken of the step's work (multiplications).
    pub fn charge(&self) -> f64 {
        self.exact().map(|(_, run)| run.charge()).sum()
    }

    /// What islands with general rows need at least (multiplications).
    pub fn need_of_machines(&self) -> f64 {
        let machines = self.exact().filter(|(_, run)| run.has_rows());
        machines.map(|(_, run)| run.need).sum()
    }

    /// How many sweeps of some islands what is left of all islands' work pays for.
    fn affordable_sweeps(&self, islands: &[usize]) -> u32 {
        let engines = self.engines();
        let left: f64 = engines.map(|(_, e)| e.budget - e.state.tally.work).sum();
        let exact = islands.iter().filter_map(|k| self.runs[*k].exact());
        let each: f64 = exact.map(|run| work_of_a_sweep(&run.engine)).sum();
        if each > 0.0 { (left / each) as u32 } else { 0 }
    }

    /// The islands that are solved exactly.
    fn exact(&self) -> impl Iterator<Item = (usize, &ExactRun)> + Clone {
        let runs = self.runs.iter().enumerate();
        runs.filter_map(|(island, run)| Some((island, run.exact()?)))
    }

    /// Their engines.
    fn engines(&self) -> impl Iterator<Item = (usize, &Engine)> + Clone {
        self.exact().map(|(island, run)| (island, &*run.engine))
    }

    fn store<'a>(
        &'a self,
        problem: &Problem,
        lambda: &mut [f64],
        impulses: impl Fn(&'a method::State) -> &'a [f64],
    ) {
        let first = problem.contact_rows();
        for (island, engine) in self.engines() {
            // What moves nothing is not among the engine's rows.
            for r in problem.islands.rows.of(island) {
                lambda[first + *r as usize] = 0.0;
            }
            let of = &engine.bodies.island;
            of.store(problem, impulses(&engine.state), lambda);
        }
    }

    /// The history of the last solution, whose result is `lambda`.
    pub fn write_history(&self, problem: &Problem, lambda: &[f64], report: &mut SolveReport) {
        let states = self.engines().map(|(_, engine)| &engine.state);
        let store = |k: usize, lambda: &mut [f64]| {
            self.store(problem, lambda, |state| state.at_point(k));
        };
        method::write_history(problem, states, store, lambda, report);
    }

    /// As the function of this name, which has nothing to do where all islands stand: `u` is what [`ExactPass::plan`] made
    /// it.
    pub fn conclude(
        &self,
        problem: &Problem,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
        report: &mut SolveReport,
    ) {
        let stands = |run: &IslandRun| matches!(run, IslandRun::Accepted(_));
        if self.runs.is_empty() || !self.runs.iter().all(stands) {
            conclude(problem, lambda, u, report);
        }
    }

    fn status(&self, tolerance: f64) -> Status {
        let mut worst: f64 = 0.0;
        let mut is_over = false;
        let mut large = 0;
        for (_, run) in self.exact() {
            if !run.residual.is_finite() {
                return Status::Failed("a number that is not finite".into());
            }
            worst = worst.max(run.residual);
            let is_open = run.residual > tolerance;
            is_over |= is_open && run.end != Reason::NoNearer;
            large += usize::from(is_open && run.engine.bodies.system.is_too_large());
        }
        if worst <= tolerance {
            Status::Converged
        } else if is_over {
            Status::Budget
        } else {
            let why = match large {
                0 => String::new(),
                n => format!(
                    ", with {n} islands whose matrices are too large to be factored within the work"
                ),
            };
            Status::Stalled(format!("no method gets below {worst:.1e} m/s{why}"))
        }
    }
}

/// Steps of a try in which the residual of an island with general rows and contacts has to become half of what it was (-). A belt
/// of 16 links takes twice the work with 20, and half of it with 10, with which tries of a crane on discs of friction are given
/// up that get there, and what follows takes twice as much.
const PATIENCE: usize = 16;

impl Limits {
    /// Those of a try, if it is one.
    fn of(mut self, is_try: bool) -> Self {
        if is_try {
            self.patience = PATIENCE;
        }
        self
    }
}

/// The limits of a request, without one to the work.
fn limits(request: &Request, start: Instant) -> Limits {
    let tolerance = request.budget.tolerance;
    Limits {
        tolerance: tolerance.max(FINEST),
        aim: (AIM * tolerance).max(FINEST),
        work: f64::INFINITY,
        steps: request.budget.iterations as usize,
        patience: usize::MAX,
        deadline: request.budget.time_limit().map(|limit| start + limit),
        history: request.history,
    }
}
