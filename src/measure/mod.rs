//! Measuring: the clock of a step, stage timings and their statistics, where energy goes, trajectories, and how the
//! command line shows them.

pub mod clock;
pub mod energy;
#[cfg(feature = "viewer")]
pub mod picture;
pub mod plot;
#[cfg(feature = "cli")]
pub mod report;
pub mod series;
pub mod trajectory;

use serde::Serialize;

pub use series::Series;

/// The stages of a step, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// The whole step: all of the below but `Measure`.
    Step,
    /// Which pairs of bodies may touch.
    Broadphase,
    /// Where they touch.
    Narrowphase,
    /// Building the problem.
    Assemble,
    /// What the solver does before its first iteration.
    Prepare,
    /// The iterations.
    Solve,
    /// Moving the bodies, and keeping what the next step starts from.
    Integrate,
    /// Correcting the positions after the step.
    Project,
    /// Until threads run that do all this, and until whoever has asked for the step runs again.
    Wait,
    /// Evaluating residuals, recording histories and counting: measuring, so not a part of the step.
    Measure,
}

impl Stage {
    /// All stages; first the whole step and last what is no part of it, as [`Stage::PARTS`] needs it.
    pub const ALL: [Stage; 10] = [
        Stage::Step,
        Stage::Broadphase,
        Stage::Narrowphase,
        Stage::Assemble,
        Stage::Prepare,
        Stage::Solve,
        Stage::Integrate,
        Stage::Project,
        Stage::Wait,
        Stage::Measure,
    ];

    /// The stages that make up a step.
    pub const PARTS: [Stage; 8] = {
        let [_, parts @ .., _] = Self::ALL;
        parts
    };

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Step => "step",
            Stage::Broadphase => "broadphase",
            Stage::Narrowphase => "narrowphase",
            Stage::Assemble => "assemble",
            Stage::Prepare => "prepare",
            Stage::Solve => "solve",
            Stage::Integrate => "integrate",
            Stage::Project => "project",
            Stage::Wait => "wait",
            Stage::Measure => "measure",
        }
    }
}

/// Time spent per stage in one step, all substeps together (s).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings([f64; Stage::ALL.len()]);

impl Timings {
    /// The time of one stage (s); that of the step is the sum of its parts.
    pub fn get(&self, stage: Stage) -> f64 {
        match stage {
            Stage::Step => Stage::PARTS.iter().map(|part| self.get(*part)).sum(),
            part => self.0[part as usize],
        }
    }

    /// Adds to the time of one stage (s).
    pub fn add(&mut self, stage: Stage, seconds: f64) {
        self.0[stage as usize] += seconds;
    }
}

/// Mean, median, 95th percentile and maximum of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle value.
    pub median: f64,
    /// The value that 95 % stay at or below.
    pub p95: f64,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// Of a series; `None` when it is empty.
    pub fn some(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        (!values.is_empty()).then(|| Self::of(&values))
    }

    /// Of a series in any order; all zero when it is empty.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        // Nearest rank: the smallest value with at least this share at or below it.
        let rank = |share: f64| sorted[((share * n as f64).ceil() as usize).clamp(1, n) - 1];
        Self {
            mean: values.iter().sum::<f64>() / n as f64,
            median: 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]),
            p95: rank(0.95),
            max: sorted[n - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_one_to_hundred() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let s = Summary::of(&values);
        assert_eq!((s.mean, s.median, s.p95, s.max), (50.5, 50.5, 95.0, 100.0));
        assert_eq!(Summary::of(&[]), Summary::default());
    }
}
