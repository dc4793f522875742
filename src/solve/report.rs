//! What a solve did.

use serde::{Deserialize, Serialize};

use super::choice::Choices;
use super::work;

/// Why a solver stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Status {
    /// A tolerance was met.
    #[default]
    Converged,
    /// Iterations or time ran out.
    Budget,
    /// It stopped above the tolerance because it could not get nearer; why, in words.
    Stalled(String),
    /// It diverged, met a NaN or broke down; the result must not be used.
    Failed(String),
}

/// One point of a convergence history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// Iterations done.
    pub iteration: u32,
    /// Solver time so far, what recording costs left out (s).
    pub time: f64,
    /// The residual of section 3 at this Λ (m/s).
    pub residual: f64,
    /// ‖ΔΛ‖∞ of the iteration (N s).
    pub delta: f64,
}

/// A number of a solver's own. Every table and panel shows it as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// What it is.
    pub name: &'static str,
    /// The same in a sentence or two, and how several islands' become one.
    pub summary: &'static str,
    /// Its unit, "-" for none.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
    /// How those of a step's several solves become one.
    pub over: Over,
}

/// How a number of several solves becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Over {
    /// They are added.
    Sum,
    /// The largest.
    Max,
    /// The last.
    Last,
}

/// A distribution of a solver's own, such as the sizes of its colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// What is counted, by what.
    pub name: &'static str,
    /// The counts.
    pub counts: Vec<u32>,
}

/// What a solve did.
#[derive(Clone, Debug, Default)]
pub struct SolveReport {
    /// Why it stopped.
    pub status: Status,
    /// Iterations of the island that took most, and not of all islands together; those of a step's several solves are
    /// added.
    pub iterations: u32,
    /// Time before the first iteration (packing, colouring, factorisation) (s).
    pub prepare_time: f64,
    /// Time of the iterations (s).
    pub solve_time: f64,
    /// Time that recording the history took; in neither of the others (s).
    pub record_time: f64,
    /// ‖Λ^{k+1} − Λ^k‖∞ of the last iteration (N s).
    pub delta: f64,
    /// One point per iteration, when asked for. The last one is the result, unless the budget ran out
    /// on the way to divergence: then the result is an earlier, better point.
    pub history: Vec<HistoryPoint>,
    /// The solver's own numbers.
    pub statistics: Vec<Statistic>,
    /// The solver's own distributions.
    pub distributions: Vec<Distribution>,
    /// What a user should know besides, in sentences.
    pub remarks: Vec<String>,
    /// How the islands were solved, and why, where the solver chooses; of a step's several solves the last one's.
    pub choices: Choices,
    /// What a solve takes of the step's work where that is less than it has taken, because more was granted to what nothing had
    /// held yet; of a step's several solves the last one's (multiplications).
    pub charge: Option<f64>,
    /// What islands with general rows need at least, where that is counted; of a step's several solves the last one's
    /// (multiplications).
    pub need: f64,
}

impl SolveReport {
    /// The solver's own number of this name.
    pub fn statistic(&self, name: &str) -> Option<f64> {
        let found = self.statistics.iter().find(|s| s.name == name);
        found.map(|s| s.value)
    }

    /// What the solve takes of the step's work (multiplications).
    pub fn charged(&self) -> f64 {
        let work = || 1e6 * self.statistic(work::NAME).unwrap_or(0.0);
        self.charge.unwrap_or_else(work)
    }

    /// The solver's own distribution of this name.
    pub fn distribution(&self, name: &str) -> Option<&[u32]> {
        let found = self.distributions.iter().find(|d| d.name == name);
        found.map(|d| d.counts.as_slice())
    }

    /// Adds to a number of the solver's own that is there.
    pub(super) fn add_to(&mut self, name: &str, value: f64) {
        if let Some(statistic) = self.statistics.iter_mut().find(|s| s.name == name) {
            statistic.value += value;
        }
    }

    /// Adds a number of the solver's own.
    pub fn note(
        &mut self,
        name: &'static str,
        summary: &'static str,
        unit: &'static str,
        over: Over,
        value: f64,
    ) {
        self.statistics.push(Statistic {
            name,
            summary,
            unit,
            value,
            over,
        });
    }

    /// The report on a solve that followed this one in the same step: what was done is summed, the worse
    /// outcome stands, and the rest is the last one's.
    pub fn followed_by(self, mut last: Self) -> Self {
        for earlier in self.statistics {
            match last.statistics.iter_mut().find(|s| s.name == earlier.name) {
                Some(s) if s.over == Over::Sum => s.value += earlier.value,
                Some(s) if s.over == Over::Max => s.value = s.value.max(earlier.value),
                Some(_) => {}
                None => last.statistics.push(earlier),
            }
        }
        last.remarks = united(self.remarks, last.remarks);
        Self {
            status: self.status.or_worse(last.status),
            iterations: self.iterations + last.iterations,
            prepare_time: self.prepare_time + last.prepare_time,
            solve_time: self.solve_time + last.solve_time,
            record_time: self.record_time + last.record_time,
            ..last
        }
    }
}

impl SolveReport {
    /// The report on two solves of parts of one problem, one after the other: times are summed, the larger number of
    /// iterations and the worse outcome stand, and each keeps its own numbers.
    pub(super) fn beside(mut self, mut other: Self) -> Self {
        self.statistics.append(&mut other.statistics);
        self.distributions.append(&mut other.distributions);
        Self {
            status: self.status.or_worse(other.status),
            iterations: self.iterations.max(other.iterations),
            prepare_time: self.prepare_time + other.prepare_time,
            solve_time: self.solve_time + other.solve_time,
            record_time: self.record_time + other.record_time,
            delta: self.delta.max(other.delta),
            history: Vec::new(),
            statistics: self.statistics,
            distributions: self.distributions,
            remarks: united(self.remarks, other.remarks),
            choices: self.choices,
            charge: self.charge,
            need: self.need,
        }
    }
}

/// All remarks, each once.
fn united(mut remarks: Vec<String>, others: Vec<String>) -> Vec<String> {
    for remark in others {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

impl Status {
    /// Whether the result may be used.
    pub fn is_usable(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// The worse of two outcomes; of equal ones the later.
    pub fn or_worse(self, later: Self) -> Self {
        if self.severity() > later.severity() {
            self
        } else {
            later
        }
    }

    /// 0 if it converged, 1 if it stopped before, 2 if it failed.
    pub fn severity(&self) -> u8 {
        match self {
            Self::Converged => 0,
            Self::Budget | Self::Stalled(_) => 1,
            Self::Failed(_) => 2,
        }
    }
}
