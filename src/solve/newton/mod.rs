//! `newton`: exact laws, directly, for every friction law, at any ratio of masses and with redundant contacts.
//!
//! Per island a proximal outer loop (`engine`) around Newton's method (`inner`, and `sliding` for what makes its matrix
//! unsymmetric), whose matrix (`system`) is factored partly in the velocities and partly in the rows, as minimum
//! degree finds it cheaper. Its result is judged by the exact law, and is never worse than its start.

mod cone;
mod engine;
mod inner;
mod island;
mod sliding;
mod system;
#[cfg(test)]
mod tests;

use std::time::Instant;

use rayon::prelude::*;

use self::engine::{Engine, Limits, Tally};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::solve::prox::shorten;
use crate::solve::{
    HistoryPoint, Over, Parameters, Request, SolveReport, Solver, SolverInfo, Status,
};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "newton",
    summary: "exact laws, directly: Newton's method on proximal problems, for every friction law and redundant contacts",
    source: "Rockafellar 1976; De Saxcé & Feng 1998; Hintermüller, Ito & Kunisch 2002",
    least_iterations: 500,
    parameters: &[],
    make: |parameters| Box::new(Newton::new(parameters)),
};

/// The finest residual that is asked of an island, whatever the budget says (m/s).
const FINEST: f64 = 1e-13;

/// The solver. It carries no state from step to step, only memory.
#[derive(Default)]
struct Newton {
    islands: Vec<Engine>,
    /// Number of each body within its island.
    local: Vec<u32>,
    errors: Vec<f64>,
}

impl Newton {
    fn new(_parameters: &Parameters) -> Self {
        Self::default()
    }

    /// Numbers the bodies within their islands, and takes the islands and where they begin.
    fn prepare(&mut self, problem: &Problem, lambda: &[f64]) {
        let islands = problem.islands.len();
        self.local.clear();
        self.local.resize(problem.bodies.len(), 0);
        for island in 0..islands {
            for (k, body) in problem.islands.bodies.of(island).iter().enumerate() {
                self.local[*body as usize] = k as u32;
            }
        }
        if self.islands.len() < islands {
            self.islands.resize_with(islands, Engine::default);
        }
        let (local, first) = (&self.local, problem.contact_rows());
        let engines = self.islands[..islands].par_iter_mut().enumerate();
        engines.for_each(|(island, engine)| {
            engine.island.refill(problem, island, local);
            engine.prepare();
            let contacts = &engine.island.contacts;
            for (k, c) in contacts.source.iter().enumerate() {
                let block = &lambda[problem.contacts.rows(*c as usize)];
                engine.x[contacts.rows(k)].copy_from_slice(block);
            }
            for (y, r) in engine.y.iter_mut().zip(&engine.island.rows.source) {
                *y = lambda[first + *r as usize];
            }
        });
    }

    fn store<'a>(
        &'a self,
        problem: &Problem,
        lambda: &mut [f64],
        impulses: impl Fn(&'a Engine) -> [&'a [f64]; 2],
    ) {
        lambda.fill(0.0);
        let first = problem.contact_rows();
        for engine in &self.islands[..problem.islands.len()] {
            let [x, y] = impulses(engine);
            let contacts = &engine.island.contacts;
            for (k, c) in contacts.source.iter().enumerate() {
                let block = &mut lambda[problem.contacts.rows(*c as usize)];
                block.copy_from_slice(&x[contacts.rows(k)]);
            }
            for (y, r) in y.iter().zip(&engine.island.rows.source) {
                lambda[first + *r as usize] = *y;
            }
        }
    }

    /// One point per proximal point: every island at its best of that number, or at its last.
    fn write_history(&self, problem: &Problem, lambda: &[f64], report: &mut SolveReport) {
        let engines = &self.islands[..problem.islands.len()];
        let most = engines.iter().map(|e| e.points.len()).max().unwrap_or(0);
        let mut workspace = ResidualWorkspace::default();
        let mut before = vec![0.0; lambda.len()];
        let mut now = before.clone();
        for k in 0..most {
            self.store(problem, &mut now, |engine| match engine.points.get(k) {
                Some(point) => [&point.impulses[0], &point.impulses[1]],
                None => [&engine.x, &engine.y],
            });
            let points = || engines.iter().filter_map(|e| e.points.get(k));
            let difference = now.iter().zip(&before).map(|(a, b)| (a - b).abs());
            report.delta = difference.fold(0.0, f64::max);
            report.history.push(HistoryPoint {
                iteration: points().map(|p| p.steps).max().unwrap_or(0) as u32,
                time: points().map(|p| p.time).fold(0.0, f64::max),
                residual: residual::evaluate(problem, &now, JudgedLaw::Own, &mut workspace)
                    .residual,
                delta: report.delta,
            });
            std::mem::swap(&mut now, &mut before);
        }
    }

    fn count(&self, islands: usize, report: &mut SolveReport) {
        let engines = &self.islands[..islands];
        let most = |of: fn(&Tally) -> usize| engines.iter().map(|e| of(&e.tally)).max();
        let sum = |of: fn(&Tally) -> usize| engines.iter().map(|e| of(&e.tally)).sum::<usize>();
        report.iterations = most(|t| t.steps).unwrap_or(0) as u32;
        let cost = engines.iter().map(|e| e.system.cost());
        let [entries, work] = cost.fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        let numbers = [
            (
                "proximal points",
                "Problems with a penalty of their own. The most of any island.",
                "-",
                Over::Max,
                most(|t| t.points).unwrap_or(0) as f64,
            ),
            (
                "factorisations",
                "Of Newton's matrix. All islands together.",
                "-",
                Over::Sum,
                sum(|t| t.factors) as f64,
            ),
            (
                "solves with a factor",
                "Two substitutions each. All islands together.",
                "-",
                Over::Sum,
                sum(|t| t.solves) as f64,
            ),
            (
                "entries of the factors",
                "Below the diagonal, stored zeros included. All islands together.",
                "-",
                Over::Max,
                entries,
            ),
            (
                "work of a factorisation",
                "Multiplications, in millions. All islands together.",
                "1e6",
                Over::Max,
                1e-6 * work,
            ),
        ];
        for (name, summary, unit, over, value) in numbers {
            report.note(name, summary, unit, over, value);
        }
    }
}

impl Solver for Newton {
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
        self.prepare(problem, lambda);
        let mut report = SolveReport {
            prepare_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        let solving = Instant::now();
        let tolerance = request.budget.tolerance;
        let limits = Limits {
            tolerance: tolerance.max(FINEST),
            steps: request.budget.iterations as usize,
            deadline: request.budget.time_limit().map(|limit| solving + limit),
            history: request.history,
        };
        self.islands[..islands]
            .par_iter_mut()
            .map(|engine| engine.solve(&limits))
            .collect_into_vec(&mut self.errors);
        self.store(problem, lambda, |engine| [&engine.x, &engine.y]);
        problem.velocities(lambda, u);
        report.solve_time = solving.elapsed().as_secs_f64();
        if request.history {
            let recording = self.islands[..islands].iter().map(|e| e.recording);
            report.record_time = recording.sum();
            report.solve_time = (report.solve_time - report.record_time).max(0.0);
        }
        self.count(islands, &mut report);
        report.status = self.status(islands, &limits);
        if matches!(report.status, Status::Failed(_)) {
            return report;
        }
        // What did not get to its end may hold more energy than no impulses at all.
        if report.status != Status::Converged && shorten(problem, lambda, u) {
            problem.velocities(lambda, u);
        }
        if request.history {
            let recording = Instant::now();
            self.write_history(problem, lambda, &mut report);
            report.record_time += recording.elapsed().as_secs_f64();
        }
        report
    }
}

impl Newton {
    fn status(&self, islands: usize, limits: &Limits) -> Status {
        let mut worst: f64 = 0.0;
        let mut is_over = false;
        for (engine, error) in self.islands[..islands].iter().zip(&self.errors) {
            if !error.is_finite() {
                return Status::Failed("a number that is not finite".into());
            }
            worst = worst.max(*error);
            is_over |= *error > limits.tolerance && engine.is_over(limits);
        }
        if worst <= limits.tolerance {
            Status::Converged
        } else if is_over {
            Status::Budget
        } else {
            Status::Stalled(format!("no proximal point gets below {worst:.1e} m/s"))
        }
    }
}
