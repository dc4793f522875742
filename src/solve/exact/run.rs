//! One island of a pass: what was decided, and where it has ended.

use super::budget::{FINEST, RESERVED_FOR_SWEEPS, Refusal, WorkBudget, need, work_of_a_sweep};
use super::engine::Engine;
use super::stages;
use crate::problem::Problem;
use crate::solve::method::{Limits, Site};
use crate::solve::{Choice, Method, Reason};

/// What becomes of an island.
pub enum IslandRun {
    /// Its impulses solve it already, with this residual (m/s), and stay.
    Accepted(f64),
    /// It is solved exactly.
    Exact(ExactRun),
    /// It is left to sweeps, and why.
    Swept(Refusal),
    /// Nobody has asked for it.
    Left,
}

impl IslandRun {
    /// The residual that the pass leaves it with (m/s); none where the pass does not answer for it.
    pub fn residual(&self) -> Option<f64> {
        match self {
            Self::Accepted(residual) => Some(*residual),
            Self::Exact(run) => Some(run.residual),
            Self::Swept(_) | Self::Left => None,
        }
    }

    /// Whether it is left to sweeps.
    pub fn is_swept(&self) -> bool {
        matches!(self, Self::Swept(_))
    }

    /// Its solution, if it is solved exactly.
    pub fn exact(&self) -> Option<&ExactRun> {
        match self {
            Self::Exact(run) => Some(run),
            _ => None,
        }
    }

    /// The same, to go on with it.
    pub fn exact_mut(&mut self) -> Option<&mut ExactRun> {
        match self {
            Self::Exact(run) => Some(run),
            _ => None,
        }
    }

    /// How it was solved, and why.
    pub fn choice(&self, problem: &Problem, island: usize) -> Choice {
        let of = |reason| Choice::of(problem, island, reason);
        match self {
            Self::Accepted(_) | Self::Left => Choice {
                residual: self.residual(),
                ..of(Reason::Solved)
            },
            Self::Exact(run) => Choice {
                need: run.need,
                work_budget: run.engine.budget,
                spent: run.engine.state.tally.work + run.taken_by_sweeps,
                residual: self.residual(),
                ..of(run.end)
            },
            Self::Swept(refusal) => Choice {
                need: refusal.need,
                work_budget: refusal.work_budget,
                ..of(refusal.reason)
            },
        }
    }
}

/// An exact solution of an island: what it may take, and where it has ended.
#[derive(Default)]
pub struct ExactRun {
    /// What it takes at least, as counted; 0 where nobody asked (multiplications).
    pub need: f64,
    /// How many times its share of the work it may take (-).
    pub multiple: f64,
    /// What it may take at most, whatever others leave (multiplications).
    pub most: f64,
    /// What of its work budget is reserved for sweeps, and what these took (multiplications).
    pub reserved: f64,
    pub taken_by_sweeps: f64,
    /// The residual of its impulses, and of those that sweeps have offered, infinite where none have (m/s).
    pub residual: f64,
    pub offered: f64,
    /// Why it has ended.
    pub end: Reason,
    /// Its problem, its impulses and the methods' memory: kilobytes before it holds anything.
    pub engine: Box<Engine>,
}

impl ExactRun {
    /// One that has not begun.
    pub fn with(engine: Box<Engine>) -> Self {
        Self {
            offered: f64::INFINITY,
            engine,
            ..Self::default()
        }
    }

    /// Takes the island and its impulses, and counts what it needs; `local` has the number of every body within its island.
    pub fn begin(
        &mut self,
        problem: &Problem,
        island: usize,
        local: &[u32],
        lambda: &[f64],
        budget: &WorkBudget,
    ) {
        let engine = &mut *self.engine;
        self.residual = engine.begin(problem, island, local, lambda);
        let is_solved = engine.accepts(self.residual, budget.tolerance);
        self.multiple = budget.multiple(engine.alternates(), engine.is_held());
        self.need = match () {
            () if is_solved || budget.work == f64::INFINITY => 0.0,
            () if budget.admits_all => engine.state.x.len() as f64,
            () => need(engine),
        };
    }

    /// What it takes of the step's work: all of it where the step may have further rounds, else no more than its share
    /// (multiplications).
    pub fn charge(&self) -> f64 {
        let taken = self.engine.state.tally.work + self.taken_by_sweeps;
        match self.has_rows() {
            true => taken,
            false => taken / self.multiple,
        }
    }

    /// Lets it take so much work, of which so many sweeps are reserved, and what others leave of theirs.
    pub fn set_budget(&mut self, work: f64, most: f64, sweeps: u32) {
        self.most = most;
        let sweeps = f64::from(sweeps) * work_of_a_sweep(&self.engine);
        self.engine.budget = work;
        self.reserved = sweeps.min(RESERVED_FOR_SWEEPS * work);
    }

    /// Solves it with the methods in their order.
    pub fn solve(&mut self, site: &Site<'_>, limits: &Limits) {
        let engine = &mut *self.engine;
        let limits = limits.with(engine.budget - self.reserved);
        self.residual = stages::solve(engine, site, self.residual, &limits);
        self.end = engine.end(self.residual, &limits);
    }

    /// Whether it has spent its work, and may have more.
    pub fn may_go_on(&self) -> bool {
        self.end == Reason::Work && self.engine.budget < self.most
    }

    /// Goes on where it has spent its work, with so much more.
    pub fn go_on(&mut self, site: &Site<'_>, limits: &Limits, more: f64) {
        let engine = &mut *self.engine;
        engine.budget += more;
        engine.bodies.system.set_most(engine.budget);
        let limits = limits.with(engine.budget - self.reserved);
        self.residual = stages::go_on(engine, site, &limits);
        self.end = engine.end(self.residual, &limits);
    }

    /// Whether its island has general rows.
    pub fn has_rows(&self) -> bool {
        self.engine.bodies.island.rows.len() > 0
    }

    /// Whether its island has contacts.
    pub fn has_contacts(&self) -> bool {
        self.engine.bodies.contacts() > 0
    }

    /// Whether it has ended above the tolerance (m/s).
    pub fn is_unfinished(&self, tolerance: f64) -> bool {
        self.residual > tolerance.max(FINEST)
    }

    /// Books so many sweeps, and lets it take for them what others have left.
    pub fn book_sweeps(&mut self, sweeps: u32) {
        let left = (self.engine.budget - self.engine.state.tally.work).max(0.0);
        self.taken_by_sweeps = f64::from(sweeps) * work_of_a_sweep(&self.engine);
        self.engine.budget += (self.taken_by_sweeps - left).max(0.0);
    }

    /// Takes what so many sweeps have found where it is better.
    pub fn offer(&mut self, problem: &Problem, lambda: &[f64], sweeps: u32, limits: &Limits) {
        self.offered = (self.engine).offer(problem, lambda, (sweeps, 0.0), limits);
        self.residual = self.engine.state.least;
        if self.residual <= limits.tolerance && self.end.method() == Method::Unfinished {
            self.end = Reason::Sweeps;
        }
    }
}
