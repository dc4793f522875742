//! Methods that bring the impulses of one island nearer to its solution. Each goes on from the impulses of a [`State`],
//! whatever the island's [`Operator`] is, within [`Limits`]; which comes when is a strategy's.

pub(in crate::solve) mod alternating_directions;
pub(in crate::solve) mod conjugate_sweeps;
pub(in crate::solve) mod pivoting;
pub(in crate::solve) mod proximal_point;
pub(in crate::solve) mod semismooth_newton;
#[cfg(test)]
mod tests;

use std::time::Instant;

use super::island::{Operator, Tally};
use super::{HistoryPoint, SolveReport};
use crate::problem::residual::{JudgedLaw, ResidualWorkspace};
use crate::problem::{Form, Problem};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(in crate::solve) struct Limits {
    /// The residual that is asked for (m/s).
    pub tolerance: f64,
    /// The residual that it goes on to as long as every point gets nearer (m/s).
    pub aim: f64,
    /// Most Newton steps and rounds of sweeps.
    pub steps: usize,
    /// Steps in which the residual has to become half of what it was.
    pub patience: usize,
    /// Most multiplications.
    pub work: f64,
    /// When time is over.
    pub deadline: Option<Instant>,
    /// Whether to keep every point.
    pub history: bool,
}

impl Limits {
    /// The same with other work.
    pub fn with(self, work: f64) -> Self {
        Self { work, ..self }
    }
}

/// Where an island is, and the impulses that its step begins with, which tell what stuck and slid in the last one.
#[derive(Clone, Copy)]
pub(in crate::solve) struct Site<'a> {
    pub problem: &'a Problem,
    pub island: usize,
    /// Λ of the whole problem (N s).
    pub start: &'a [f64],
}

/// Where a step or a round of sweeps led, for histories.
#[derive(Clone, Debug)]
pub(in crate::solve) struct Point {
    /// Λ (N s).
    pub impulses: Vec<f64>,
    /// Steps so far.
    pub steps: usize,
    /// Time so far (s).
    pub time: f64,
}

/// The impulses of an island while it is solved. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct State {
    /// Λ (N s), and w = A Λ + b (m/s) as [`State::measure`] has found it.
    pub x: Vec<f64>,
    pub w: Vec<f64>,
    /// The impulses to go back to, and the best of all with their residual (m/s).
    base: Vec<f64>,
    pub best: Vec<f64>,
    pub least: f64,
    /// The residual that has to be halved (m/s), and the step that had it.
    halved: (f64, usize),
    /// The largest of the best impulses (N s), and the residual that is worth any (m/s).
    largest: f64,
    pub wanted: f64,
    pub tally: Tally,
    pub points: Vec<Point>,
    /// When the solve began, and what recording has taken since (s).
    pub clock: Option<Instant>,
    pub recording: f64,
}

impl State {
    /// Forgets all but the impulses in `x`, which are measured and kept. Returns their residual (m/s).
    pub fn begin(&mut self, island: &mut impl Operator) -> f64 {
        self.w.clear();
        self.w.resize(self.x.len(), 0.0);
        self.tally = Tally::default();
        self.points.clear();
        self.clock = None;
        self.recording = 0.0;
        self.best.clone_from(&self.x);
        self.least = f64::INFINITY;
        self.halved = (f64::INFINITY, 0);
        self.wanted = 0.0;
        let error = self.measure(island);
        self.keep(error);
        error
    }

    /// w at Λ, and the residual (m/s).
    pub fn measure(&mut self, island: &mut impl Operator) -> f64 {
        island.product(&self.x, &mut self.w);
        self.tally.work += island.work_of_a_product();
        island.residual(&self.x, &self.w)
    }

    /// Keeps the impulses as those to go back to, and as the best of all if they are: where they are not there yet,
    /// impulses n times as large must leave an n-th of the residual, or less than half of it. Where a body that is moved
    /// by nobody crushes others none fit, and each push that is twice as large comes a last digit nearer: those of 1,000
    /// shapes below the turnstile went to 1e12 N s in 30 steps, and threw the next step's bodies with 50 m/s.
    pub fn keep(&mut self, error: f64) {
        self.base.clone_from(&self.x);
        let largest = self.x.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let is_worth_it = error < 0.5 * self.least || error * largest <= self.least * self.largest;
        let is_start = self.least == f64::INFINITY || self.largest == 0.0;
        if error < self.least && (is_start || error <= self.wanted || is_worth_it) {
            self.least = error;
            self.largest = largest;
            self.best.clone_from(&self.x);
        }
        if self.least <= 0.5 * self.halved.0 {
            self.halved = (self.least, self.tally.steps);
        }
    }

    /// Goes back to the impulses that were kept last, and to their w.
    pub fn go_back(&mut self, island: &mut impl Operator) -> f64 {
        self.x.clone_from(&self.base);
        self.measure(island)
    }

    /// Goes back to the best.
    pub fn return_to_best(&mut self, island: &mut impl Operator) -> f64 {
        self.base.clone_from(&self.best);
        self.go_back(island)
    }

    /// Ends with the best impulses, without their w.
    pub fn take_best(&mut self) {
        self.x.clone_from(&self.best);
        if let Some(last) = self.points.last_mut() {
            last.impulses.clone_from(&self.best);
        }
    }

    /// The impulses at a point of the history, or those that there are.
    pub fn at_point(&self, k: usize) -> &[f64] {
        self.points.get(k).map_or(&self.x, |point| &point.impulses)
    }

    /// Whether a limit is reached.
    pub fn is_over(&self, limits: &Limits) -> bool {
        let in_vain = self.tally.steps - self.halved.1;
        self.tally.steps >= limits.steps
            || in_vain >= limits.patience
            || self.is_out_of_time(limits)
    }

    /// Whether work or time are used up.
    pub fn is_out_of_time(&self, limits: &Limits) -> bool {
        self.tally.work >= limits.work || limits.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Keeps the impulses as a point of the history, if there is one.
    pub fn record(&mut self, limits: &Limits) {
        if !limits.history {
            return;
        }
        let now = Instant::now();
        let begin = self.clock.unwrap_or(now);
        self.points.push(Point {
            impulses: self.x.clone(),
            steps: self.tally.steps,
            time: (now - begin).as_secs_f64() - self.recording,
        });
        self.recording += now.elapsed().as_secs_f64();
    }
}

/// One point per step or round of sweeps: every island at its impulses of that number, which `store` writes, or at its
/// last. The last point is the result, and the only one where its start was.
pub(in crate::solve) fn write_history<'a>(
    problem: &impl Form,
    states: impl Iterator<Item = &'a State> + Clone,
    store: impl Fn(usize, &mut [f64]),
    lambda: &[f64],
    report: &mut SolveReport,
) {
    let recording = Instant::now();
    let most = states.clone().map(|state| state.points.len()).max();
    let most = most.unwrap_or(0).max(1);
    let mut workspace = ResidualWorkspace::default();
    let mut before = vec![0.0; lambda.len()];
    let mut now = lambda.to_vec();
    for k in 0..most {
        if k + 1 == most {
            now.copy_from_slice(lambda);
        } else {
            store(k, &mut now);
        }
        let points = states.clone().filter_map(|state| state.points.get(k));
        let difference = now.iter().zip(&before).map(|(a, b)| (a - b).abs());
        let delta = difference.fold(0.0, f64::max);
        let is_start = points.clone().next().is_none();
        let judged = problem.residual(&now, JudgedLaw::Own, &mut workspace);
        report.history.push(HistoryPoint {
            iteration: points.clone().map(|p| p.steps).max().unwrap_or(0) as u32,
            time: points.map(|p| p.time).fold(0.0, f64::max),
            residual: judged.residual,
            delta: if is_start { 0.0 } else { delta },
        });
        if !is_start {
            report.delta = delta;
        }
        before.copy_from_slice(&now);
    }
    report.record_time += recording.elapsed().as_secs_f64();
}
