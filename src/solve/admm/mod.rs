//! `admm`: the alternating direction method of multipliers on the cones, with one factor for many iterations.
//!
//! An exact method of another kind than [`newton`](crate::solve::newton) and the sweeps, and a check on both: no step
//! depends on which contacts stick or slide, and an iteration is two substitutions and a projection per contact. Islands
//! iterate side by side, each with a penalty of its own; the result is the best iterate of each.

use std::time::Instant;

use rayon::prelude::*;

use crate::math::Twist;
use crate::problem::residual::{JudgedLaw, ResidualWorkspace};
use crate::problem::{Form, MatrixProblem, Problem};
use crate::solve::conclude::conclude;
use crate::solve::island::bodies::Bodies;
use crate::solve::island::rows::Rows;
use crate::solve::island::{Operator, Tally};
use crate::solve::method::alternating_directions::{
    AlternatingDirections, Options, PENALTY, RELAXATION, work_of_an_iteration,
};
use crate::solve::{
    HistoryPoint, NeedsBodies, Over, Parameter, ParameterKind, Parameters, Request, SolveReport,
    Solver, SolverInfo, Status, Traits, work,
};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "admm",
    summary: "exact laws by alternating directions on the cones: one sparse factor, many cheap iterations",
    source: "Boyd et al. 2010; Stellato et al. 2020; Carpentier, Le Lidec & Montaut 2024",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[
        Parameter {
            name: "penalty",
            unit: "-",
            summary: "the first penalty, as a multiple of each contact's A_cc",
            source: "Boyd et al. 2010, 3.4.1",
            kind: ParameterKind::Number {
                default: PENALTY,
                range: [1e-3, 1e3],
            },
        },
        Parameter {
            name: "adapt",
            unit: "-",
            summary: "whether the penalty follows the ratio of the primal and the dual gap",
            source: "Stellato et al. 2020, 5.2",
            kind: ParameterKind::Flag { default: true },
        },
        Parameter {
            name: "relaxation",
            unit: "-",
            summary: "how far beyond the solution of the linear system the projection begins; 1 is plain",
            source: "Boyd et al. 2010, 3.4.3",
            kind: ParameterKind::Number {
                default: RELAXATION,
                range: [0.1, 1.9],
            },
        },
        work::parameter(work::DIRECT),
    ],
    make: |parameters| Box::new(Admm::new(parameters)),
};

/// An island and its iteration.
#[derive(Default)]
struct Engine<I> {
    island: I,
    directions: AlternatingDirections,
    tally: Tally,
}

impl<I: Operator> Engine<I> {
    /// Begins at the impulses in `directions.y`.
    fn begin(&mut self, options: Options, tolerance: f64) {
        self.tally = Tally::default();
        (self.directions).begin(&mut self.island, options, tolerance, &mut self.tally);
    }
}

/// The solver. It carries no state from step to step, only memory.
struct Admm {
    options: Options,
    /// Most multiplications of a solve of islands with bodies.
    work: f64,
    islands: Vec<Engine<Bodies>>,
    /// Number of each body within its island.
    local: Vec<u32>,
}

impl Admm {
    fn new(parameters: &Parameters) -> Self {
        let options = Options {
            penalty: parameters.number("penalty"),
            adapts: parameters.flag("adapt"),
            relaxation: parameters.number("relaxation"),
        };
        Self {
            options,
            work: work::limit(parameters),
            islands: Vec::new(),
            local: Vec::new(),
        }
    }
}

impl Solver for Admm {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        let islands = problem.islands.len();
        problem.islands.number_within(&mut self.local);
        let local = &self.local;
        if self.islands.len() < islands {
            self.islands.resize_with(islands, Engine::default);
        }
        let engines = &mut self.islands[..islands];
        let (options, tolerance) = (self.options, request.budget.tolerance);
        let deadline = request.budget.time_limit().map(|limit| start + limit);
        let share = self.work / lambda.len().max(1) as f64;
        let each = engines.par_iter_mut().enumerate();
        each.for_each(|(island, engine)| {
            let bodies = &mut engine.island;
            bodies.refill(problem, island, local);
            bodies.system.set_deadline(deadline);
            (bodies.island).load(problem, lambda, &mut engine.directions.y);
            bodies
                .system
                .set_most(share * engine.directions.y.len() as f64);
            engine.begin(options, tolerance);
        });
        // What belongs to no island moves nothing.
        lambda.fill(0.0);
        let prepare_time = start.elapsed().as_secs_f64();
        let store = |engine: &Engine<Bodies>, y: &[f64], lambda: &mut [f64]| {
            engine.island.island.store(problem, y, lambda);
        };
        let mut run = Run {
            problem,
            store,
            lambda,
            workspace: ResidualWorkspace::default(),
            work: self.work,
        };
        let mut report = run.run(engines, request);
        report.prepare_time = prepare_time;
        conclude(problem, lambda, u, &mut report);
        end_history(problem, lambda, &mut report);
        report
    }

    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let start = Instant::now();
        let islands = (0..problem.a().islands()).into_par_iter();
        let engines = islands.map(|island| {
            let mut engine = Engine {
                island: Rows::new(problem, island),
                directions: AlternatingDirections::default(),
                tally: Tally::default(),
            };
            let rows = &engine.island.of;
            engine.directions.y.resize(rows.rows, 0.0);
            rows.load(lambda, &mut engine.directions.y);
            engine.begin(self.options, request.budget.tolerance);
            engine
        });
        let mut engines: Vec<_> = engines.collect();
        let prepare_time = start.elapsed().as_secs_f64();
        let store = |engine: &Engine<Rows<'_>>, y: &[f64], lambda: &mut [f64]| {
            engine.island.of.store(y, lambda);
        };
        let mut run = Run {
            problem,
            store,
            lambda,
            workspace: ResidualWorkspace::default(),
            work: f64::INFINITY,
        };
        let mut report = run.run(&mut engines, request);
        report.prepare_time = prepare_time;
        end_history(problem, lambda, &mut report);
        Ok(report)
    }
}

/// A problem whose islands iterate, and how impulses of an island are stored.
struct Run<'a, P, S> {
    problem: &'a P,
    store: S,
    lambda: &'a mut [f64],
    workspace: ResidualWorkspace,
    /// Most multiplications.
    work: f64,
}

impl<P: Form, S> Run<'_, P, S> {
    /// Iterates until all islands have stopped or the budget is spent; the best impulses are stored.
    fn run<I>(&mut self, engines: &mut [Engine<I>], request: &Request) -> SolveReport
    where
        I: Operator + Send,
        S: Fn(&Engine<I>, &[f64], &mut [f64]),
    {
        let start = Instant::now();
        let budget = &request.budget;
        let mut report = SolveReport::default();
        if engines.iter().any(|e| e.directions.least.is_nan()) {
            report.status = Status::Failed("the problem holds a number that is not finite".into());
            return report;
        }
        let is_late = |report: &SolveReport| {
            let spent = start.elapsed().as_secs_f64() - report.record_time;
            let limit = budget.time_limit();
            limit.is_some_and(|limit| spent >= limit.as_secs_f64())
        };
        while report.iterations < budget.iterations
            && engines.iter().any(|e| e.directions.is_running)
        {
            let running = engines.par_iter_mut().filter(|e| e.directions.is_running);
            running.for_each(|engine| {
                let (island, tally) = (&mut engine.island, &mut engine.tally);
                (engine.directions).iterate(island, budget.tolerance, tally);
                tally.work += work_of_an_iteration(island, island.offset().len());
            });
            report.iterations += 1;
            report.delta = engines
                .iter()
                .map(|e| e.directions.delta)
                .fold(0.0, f64::max);
            if request.history {
                let pause = Instant::now();
                let time = (pause - start).as_secs_f64() - report.record_time;
                for engine in &*engines {
                    let directions = &engine.directions;
                    let y = match directions.is_running {
                        true => &directions.y,
                        false => &directions.best,
                    };
                    (self.store)(engine, y, self.lambda);
                }
                report.history.push(HistoryPoint {
                    iteration: report.iterations,
                    time,
                    residual: self.judge(),
                    delta: report.delta,
                });
                report.record_time += pause.elapsed().as_secs_f64();
            }
            if is_late(&report) || work(engines) >= self.work {
                break;
            }
        }
        for engine in &*engines {
            (self.store)(engine, &engine.directions.best, self.lambda);
        }
        report.solve_time = start.elapsed().as_secs_f64() - report.record_time;
        report.status = status(engines, budget.tolerance, is_late(&report));
        note(engines, &mut report);
        report
    }

    fn judge(&mut self) -> f64 {
        let law = JudgedLaw::Own;
        let judged = self.problem.residual(self.lambda, law, &mut self.workspace);
        judged.residual
    }
}

/// Multiplications of all islands.
fn work<I>(engines: &[Engine<I>]) -> f64 {
    engines.iter().map(|e| e.tally.work).sum()
}

fn status<I>(engines: &[Engine<I>], tolerance: f64, is_late: bool) -> Status {
    if engines.iter().all(|e| e.directions.least <= tolerance) {
        Status::Converged
    } else if is_late || engines.iter().any(|e| e.directions.is_running) {
        Status::Budget
    } else {
        let broken = engines.iter().filter(|e| e.directions.is_broken).count();
        Status::Stalled(format!(
            "{broken} islands have matrices that cannot be factored, or are too large"
        ))
    }
}

fn note<I: Operator>(engines: &[Engine<I>], report: &mut SolveReport) {
    let factors: usize = engines.iter().map(|e| e.tally.factors).sum();
    let factored = engines.iter().filter(|e| e.tally.factors > 0);
    let entries: f64 = factored.clone().map(|e| e.island.cost()[0]).sum();
    let penalties = factored.map(|e| e.directions.penalty);
    let numbers = [
        (
            "factorisations",
            "One per penalty. All islands together.",
            Over::Sum,
            factors as f64,
        ),
        (
            "entries of the factors",
            "Below the diagonal, stored zeros included. All islands together.",
            Over::Max,
            entries,
        ),
        (
            "penalty",
            "As a multiple of each contact's A_cc, at the end. The largest of any island.",
            Over::Last,
            penalties.fold(0.0, f64::max),
        ),
    ];
    for (name, summary, over, value) in numbers {
        report.note(name, summary, "-", over, value);
    }
    report.note(
        work::NAME,
        work::SUMMARY,
        "1e6",
        Over::Sum,
        1e-6 * work(engines),
    );
}

/// The last point of a history is the result.
fn end_history(problem: &impl Form, lambda: &[f64], report: &mut SolveReport) {
    let begin = Instant::now();
    if let Some(last) = report.history.last_mut() {
        let mut workspace = ResidualWorkspace::default();
        let judged = problem.residual(lambda, JudgedLaw::Own, &mut workspace);
        last.residual = judged.residual;
        report.record_time += begin.elapsed().as_secs_f64();
    }
}
