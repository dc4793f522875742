//! Races: solvers that solve the same problem in turns.

use std::time::Instant;

use super::method::Method;
use super::{Bench, Result};
use crate::math::Twist;
use crate::measure::Summary;
use crate::problem::Problem;
use crate::solve::sweeps::{BYTES_READ, BYTES_WRITTEN};
use crate::solve::{Budget, Request, SolveReport, Solver, Status};

/// A solver in a race, with its memory and its last result.
pub struct Racer {
    /// How it is made.
    pub method: Method,
    /// Threads that it runs on.
    pub threads: usize,
    /// When it stops.
    pub budget: Budget,
    /// What it did last.
    pub report: SolveReport,
    /// The impulses that it found last (N s).
    pub lambda: Vec<f64>,
    solver: Box<dyn Solver>,
    velocity: Vec<Twist>,
}

impl Racer {
    /// Makes the solver.
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn new(method: Method, threads: usize, budget: Budget) -> Result<Self> {
        Ok(Self {
            method,
            threads,
            budget,
            report: SolveReport::default(),
            lambda: Vec::new(),
            solver: method.config(budget).build()?,
            velocity: Vec::new(),
        })
    }

    /// Solves from the impulses `start`, or from Λ = 0.
    pub fn solve(
        &mut self,
        bench: &Bench,
        problem: &Problem,
        start: Option<&[f64]>,
        history: bool,
    ) {
        self.lambda.clear();
        match start {
            Some(start) => self.lambda.extend_from_slice(start),
            None => self.lambda.resize(problem.row_count(), 0.0),
        }
        let request = Request {
            budget: self.budget,
            history,
            ..Request::default()
        };
        let (solver, lambda, velocity) = (&mut self.solver, &mut self.lambda, &mut self.velocity);
        let pool = bench.pool(self.threads);
        self.report = pool.install(|| solver.solve(problem, &request, lambda, velocity));
    }

    /// The solver.
    pub fn solver(&self) -> &dyn Solver {
        self.solver.as_ref()
    }
}

/// What a race found for one solver: medians over the rounds.
#[derive(Clone, Debug)]
pub struct Timing {
    /// How it is made.
    pub method: Method,
    /// Threads that it ran on.
    pub threads: usize,
    /// Time before the first iteration (s).
    pub prepare: f64,
    /// Time of all iterations (s).
    pub solve: f64,
    /// Both together (s).
    pub whole: f64,
    /// Standard deviation of the time of all iterations (s), Poulsen 3.33.
    pub sigma: f64,
    /// The last round's report.
    pub report: SolveReport,
}

impl Timing {
    /// Time of one iteration (s).
    pub fn per_iteration(&self) -> f64 {
        self.solve / f64::from(self.report.iterations.max(1))
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        match &self.report.status {
            Status::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// Bytes that one iteration reads and writes; `None` where the solver does not count them.
    pub fn bytes(&self) -> Option<[f64; 2]> {
        let read = self.report.statistic(BYTES_READ)?;
        Some([read, self.report.statistic(BYTES_WRITTEN)?])
    }

    /// The solver's own number of this name; 0 where it has none.
    pub fn count(&self, name: &str) -> f64 {
        self.report.statistic(name).unwrap_or(0.0)
    }
}

/// The timing of a method on so many threads, unless it failed.
pub fn of(timings: &[Timing], method: Method, threads: usize) -> Option<&Timing> {
    let same = |t: &&Timing| t.method == method && t.threads == threads;
    timings.iter().find(same).filter(|t| t.failure().is_none())
}

/// Its time per iteration (s).
pub fn sweep(timings: &[Timing], method: Method, threads: usize) -> Option<f64> {
    of(timings, method, threads).map(Timing::per_iteration)
}

/// Lets solvers solve one problem from the impulses `start`, or from Λ = 0. Every round runs each of them
/// once, so that a disturbance hits all; there are so many, but none but the first begins after so many seconds.
pub fn in_turns(
    bench: &Bench,
    racers: &mut [Racer],
    problem: &Problem,
    start: Option<&[f64]>,
    (most, seconds): (usize, f64),
) -> Vec<Timing> {
    let mut reports: Vec<Vec<SolveReport>> = vec![Vec::new(); racers.len()];
    let begin = Instant::now();
    for round in 0..most {
        if round > 0 && begin.elapsed().as_secs_f64() > seconds {
            break;
        }
        for (racer, reports) in racers.iter_mut().zip(&mut reports) {
            bench.say(format!("{}, threads: {}", racer.method, racer.threads));
            racer.solve(bench, problem, start, false);
            reports.push(racer.report.clone());
        }
    }
    let racers = racers.iter().zip(&reports);
    racers
        .map(|(racer, reports)| timing(racer, reports))
        .collect()
}

fn timing(racer: &Racer, reports: &[SolveReport]) -> Timing {
    let series = |of: fn(&SolveReport) -> f64| reports.iter().map(of).collect::<Vec<f64>>();
    let solve = series(|r| r.solve_time);
    Timing {
        method: racer.method,
        threads: racer.threads,
        prepare: Summary::of(&series(|r| r.prepare_time)).median,
        solve: Summary::of(&solve).median,
        whole: Summary::of(&series(|r| r.prepare_time + r.solve_time)).median,
        sigma: deviation(&solve),
        report: racer.report.clone(),
    }
}

/// Poulsen 3.33.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_thesis() {
        assert_eq!(deviation(&[1.0, 3.0]), 1.0);
        assert_eq!(deviation(&[]), 0.0);
    }
}
