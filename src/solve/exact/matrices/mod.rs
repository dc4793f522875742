//! Problems without bodies: A alone, or M and J that make it.
//!
//! Per island of A (`island`) Newton's method on the laws themselves ([`semismooth_newton`]) leads to the end
//! in a few steps where it is known which contacts stick, slide and part. Sweeps with conjugate directions ([`nncg`]) and
//! alternating directions ([`alternating_directions`]) find that out, in turns, for they fail on different problems.
//!
//! [`semismooth_newton`]: crate::solve::method::semismooth_newton
//! [`alternating_directions`]: crate::solve::method::alternating_directions

mod island;

use std::time::Instant;

use rayon::prelude::*;

use self::island::Engine;
use super::budget::{AIM, FINEST, NEED, WorkBudget, count};
use crate::problem::MatrixProblem;
use crate::solve::island::Operator;
use crate::solve::method::{Limits, write_history};
use crate::solve::sweeps::nncg;
use crate::solve::{Budget, Over, Request, SolveReport, Solver, Status};

/// A start whose residual is at most this share of the tolerance is a solution (-).
const ACCEPTED: f64 = 0.1;
/// Rounds of Newton's method, and sweeps, or so many times as many alternating directions, after the first one, each
/// time twice as many. Of the published problems in `docs/exact.md` the hardest takes six rounds.
const ROUNDS: u32 = 10;
const SWEEPS: u32 = 50;
const CHEAPER: u32 = 2;

/// Solves a problem within the work budget, from `lambda`, which becomes the best that was found; none where not even a
/// few steps fit into it.
pub fn solve(
    problem: &MatrixProblem,
    request: &Request,
    budget: &WorkBudget,
    lambda: &mut [f64],
) -> Option<SolveReport> {
    let start = Instant::now();
    // A few looks at every entry, of which a factor has more.
    if NEED * problem.a().value.len() as f64 > budget.work {
        return None;
    }
    let islands = problem.a().islands();
    let engines = (0..islands).into_par_iter();
    let engines = engines.map(|island| Engine::new(problem, island, lambda));
    let mut rounds = Rounds {
        problem,
        engines: engines.collect(),
        limits: limits(problem, request, budget, start),
        sweeps: 0,
    };
    if !rounds.share_work() {
        return None;
    }
    let mut report = SolveReport {
        prepare_time: start.elapsed().as_secs_f64(),
        ..SolveReport::default()
    };
    rounds.run(lambda);
    rounds.engines.iter_mut().for_each(|e| e.state.take_best());
    rounds.store(lambda, |engine| &engine.state.best);
    report.solve_time = start.elapsed().as_secs_f64() - report.prepare_time;
    report.status = rounds.status();
    let engines = rounds.engines.iter();
    count(engines.map(|e| (e.state.tally, e.rows.cost())), &mut report);
    let sweeps = f64::from(rounds.sweeps);
    let summary = "There and back, where steps led nowhere. The most of any island.";
    report.note("sweeps", summary, "-", Over::Max, sweeps);
    if request.history && report.status.is_usable() {
        let states = rounds.engines.iter().map(|engine| &engine.state);
        let store = |k: usize, lambda: &mut [f64]| {
            rounds.store(lambda, |engine| engine.state.at_point(k));
        };
        write_history(problem, states, store, lambda, &mut report);
    }
    Some(report)
}

fn limits(
    problem: &MatrixProblem,
    request: &Request,
    budget: &WorkBudget,
    start: Instant,
) -> Limits {
    let speed = problem.offset().iter();
    let speed = speed.fold(0.0, |a: f64, b| a.max(b.abs()));
    // These problems have units of their own.
    let finest = FINEST * speed.min(1.0);
    Limits {
        tolerance: budget.tolerance.max(finest),
        aim: AIM * budget.tolerance.max(finest),
        work: budget.work,
        steps: request.budget.iterations as usize,
        patience: usize::MAX,
        deadline: request.budget.time_limit().map(|limit| start + limit),
        history: request.history,
    }
}

/// The islands of a problem while they are solved.
struct Rounds<'a> {
    problem: &'a MatrixProblem,
    engines: Vec<Engine<'a>>,
    limits: Limits,
    /// Sweeps so far.
    sweeps: u32,
}

impl Rounds<'_> {
    /// Divides the work by what a step of each island takes. Returns whether a few fit in.
    fn share_work(&mut self) -> bool {
        let all = self.limits.work;
        if all == f64::INFINITY {
            return true;
        }
        let engines = self.engines.iter_mut();
        let needs: Vec<f64> = engines.map(|e| e.rows.work_of_a_step()).collect();
        let sum: f64 = needs.iter().sum();
        for (engine, need) in self.engines.iter_mut().zip(needs) {
            engine.work = all * need / sum;
        }
        NEED * sum <= all
    }

    fn run(&mut self, lambda: &mut [f64]) {
        let limits = self.limits;
        if self.engines.iter().any(|e| !e.state.least.is_finite()) {
            return;
        }
        let start = Instant::now();
        let engines = self.engines.iter_mut();
        engines.for_each(|e| e.state.clock = Some(start));
        let mut sweeps = None;
        for round in 0..ROUNDS {
            let accepted = if round == 0 { ACCEPTED } else { 1.0 } * limits.tolerance;
            let open = self
                .engines
                .par_iter_mut()
                .filter(|e| e.state.least > accepted);
            open.for_each(|engine| engine.semismooth_newton(&limits));
            if round + 1 == ROUNDS || !self.open().any(|_| true) {
                break;
            }
            if round % 2 == 1 {
                let most = (CHEAPER * SWEEPS) << round;
                let open = self.engines.par_iter_mut();
                let open = open.filter(|e| e.state.least > limits.tolerance && !e.is_over(&limits));
                let aim = ACCEPTED * limits.tolerance;
                open.for_each(|engine| engine.alternate(most, aim, &limits));
                continue;
            }
            let sweeps = sweeps.get_or_insert_with(|| nncg::INFO.with_defaults());
            self.sweep(&mut **sweeps, SWEEPS << round, lambda);
        }
    }

    /// The islands that are not solved and may go on.
    fn open(&self) -> impl Iterator<Item = &Engine<'_>> {
        let limits = &self.limits;
        let engines = self.engines.iter();
        engines.filter(|e| e.state.least > limits.tolerance && !e.is_over(limits))
    }

    /// Sweeps all islands and takes what becomes of the open ones. Those that are solved cost next to nothing.
    fn sweep(&mut self, sweeps: &mut dyn Solver, most: u32, lambda: &mut [f64]) {
        let limits = self.limits;
        // What the open islands may still work, there and back.
        let affordable = self
            .open()
            .map(|e| (e.work - e.state.tally.work) / (2.0 * e.rows.of.entries()));
        let most = affordable.fold(f64::from(most), f64::min).max(1.0) as u32;
        let mut budget = Budget {
            iterations: most,
            tolerance: ACCEPTED * limits.tolerance,
            ..Budget::default()
        };
        if let Some(deadline) = limits.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            budget.time = left.as_secs_f64().max(1e-9);
        }
        let request = Request {
            budget,
            history: false,
            ..Request::default()
        };
        self.store(lambda, |engine| &engine.state.best);
        let Ok(report) = sweeps.solve_matrices(self.problem, &request, lambda) else {
            return;
        };
        self.sweeps += report.iterations;
        if !report.status.is_usable() {
            return;
        }
        for engine in &mut self.engines {
            if engine.state.least > limits.tolerance && !engine.is_over(&limits) {
                engine.follow(lambda, report.iterations, &limits);
            }
        }
    }

    fn store(&self, lambda: &mut [f64], impulses: impl for<'e> Fn(&'e Engine<'_>) -> &'e [f64]) {
        for engine in &self.engines {
            engine.rows.of.store(impulses(engine), lambda);
        }
    }

    fn status(&self) -> Status {
        let mut worst: f64 = 0.0;
        for engine in &self.engines {
            if !engine.state.least.is_finite() {
                return Status::Failed("a number that is not finite".into());
            }
            worst = worst.max(engine.state.least);
        }
        let limits = &self.limits;
        let is_over = |e: &Engine<'_>| e.state.least > limits.tolerance && e.is_over(limits);
        if worst <= limits.tolerance {
            Status::Converged
        } else if self.engines.iter().any(is_over) {
            Status::Budget
        } else {
            Status::Stalled(format!("no method gets below {worst:.1e} m/s"))
        }
    }
}
