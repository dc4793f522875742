//! One island of a pass: what was decided, what it may take, and where it has ended.

use super::budget::{FINEST, Grants, KEPT_FOR_SWEEPS, Refusal, multiple, need, work_of_a_sweep};
use super::engine::Engine;
use super::stages;
use crate::problem::Problem;
use crate::solve::method::{Limits, Site};
use crate::solve::{Choice, Method, Reason};

/// What becomes of an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its impulses solve it already, and stay.
    Accepted,
    /// It is solved exactly.
    Exact,
    /// It is left to sweeps, and why.
    Swept(Reason),
    /// Nobody has asked for it.
    Left,
}

/// An island of a pass.
pub struct IslandRun {
    pub state: State,
    /// What an exact solution takes at least, counted or estimated; 0 where nobody asked (multiplications).
    pub need: f64,
    /// What it may take, what of that is reserved for sweeps, and what these took (multiplications).
    pub granted: f64,
    pub reserved: f64,
    taken_by_sweeps: f64,
    /// The residual of its impulses, and of those that sweeps have offered (m/s); infinite where there are none.
    pub residual: f64,
    pub offered: f64,
    /// Why its exact solution has ended.
    pub end: Reason,
    /// Only of what is to be solved exactly: one takes kilobytes before it holds anything.
    pub engine: Option<Box<Engine>>,
}

impl IslandRun {
    /// One that nothing has been granted.
    pub fn new(state: State) -> Self {
        Self {
            state,
            need: 0.0,
            granted: 0.0,
            reserved: 0.0,
            taken_by_sweeps: 0.0,
            residual: f64::INFINITY,
            offered: f64::INFINITY,
            end: Reason::Solved,
            engine: None,
        }
    }

    /// One that is left to sweeps unless its impulses solve it.
    pub fn refused(refusal: &Refusal) -> Self {
        Self {
            need: refusal.need,
            granted: refusal.granted,
            ..Self::new(State::Swept(refusal.reason))
        }
    }

    /// Whether the pass answers for it: what it is left with, and why.
    pub fn is_taken(&self) -> bool {
        matches!(self.state, State::Accepted | State::Exact)
    }

    /// Whether it is left to sweeps.
    pub fn is_swept(&self) -> bool {
        matches!(self.state, State::Swept(_))
    }

    /// Whether its impulses are looked at before it is swept: of very many small islands they are not.
    pub fn is_looked_at(&self) -> bool {
        !matches!(self.state, State::Left | State::Swept(Reason::Many))
    }

    /// Leaves its impulses as they are, whose residual is given (m/s).
    pub fn accept(&mut self, residual: f64) {
        *self = Self {
            residual,
            ..Self::new(State::Accepted)
        };
    }

    /// The engine, if the island is solved exactly.
    pub fn exact(&self) -> Option<&Engine> {
        self.engine
            .as_deref()
            .filter(|_| self.state == State::Exact)
    }

    fn exact_mut(&mut self) -> Option<&mut Engine> {
        self.engine
            .as_deref_mut()
            .filter(|_| self.state == State::Exact)
    }

    /// Takes the island into its engine, and counts what it needs.
    pub fn begin(
        &mut self,
        (problem, island): (&Problem, usize),
        local: &[u32],
        lambda: &[f64],
        grants: &Grants,
    ) {
        let Some(engine) = self.engine.as_deref_mut() else {
            return;
        };
        self.residual = engine.begin(problem, island, local, lambda);
        let is_solved = engine.accepts(self.residual, grants.tolerance);
        self.need = match () {
            () if is_solved || grants.work == f64::INFINITY => 0.0,
            () if grants.admits_all => engine.state.x.len() as f64,
            () => need(engine),
        };
    }

    /// How many times its share of the work it is granted (-).
    pub fn multiple(&self, grants: &Grants) -> f64 {
        match self.exact() {
            Some(engine) if !grants.admits_all => multiple(engine.alternates(), engine.is_held()),
            _ => 1.0,
        }
    }

    /// Grants it so much work.
    pub fn grant(&mut self, granted: f64, grants: &Grants) {
        self.granted = granted;
        let Some(engine) = self.engine.as_deref_mut() else {
            return;
        };
        engine.granted = granted;
        let sweeps = f64::from(grants.sweeps) * work_of_a_sweep(engine);
        self.reserved = sweeps.min(KEPT_FOR_SWEEPS * granted);
    }

    /// Leaves it to sweeps after all, since what is granted to all does not suffice.
    pub fn sweep(&mut self, granted: f64) {
        self.state = State::Swept(Reason::Grant);
        self.granted = granted;
    }

    /// Solves it with the methods in their order.
    pub fn solve(&mut self, site: &Site<'_>, limits: &Limits) {
        let limits = limits.with(self.granted - self.reserved);
        let residual = self.residual;
        if let Some(engine) = self.exact_mut() {
            let residual = stages::solve(engine, site, residual, &limits);
            self.end_at(residual, &limits);
        }
    }

    /// Goes on where it has spent its work, with so much more.
    pub fn go_on(&mut self, site: &Site<'_>, limits: &Limits, more: f64) {
        self.granted += more;
        let granted = self.granted;
        let limits = limits.with(granted - self.reserved);
        if let Some(engine) = self.exact_mut() {
            engine.granted = granted;
            engine.bodies.system.set_most(granted);
            let residual = stages::go_on(engine, site, &limits);
            self.end_at(residual, &limits);
        }
    }

    fn end_at(&mut self, residual: f64, limits: &Limits) {
        self.residual = residual;
        if let Some(engine) = self.exact() {
            self.end = engine.end(residual, limits);
        }
    }

    /// Whether its solution has ended above the tolerance.
    pub fn is_unfinished(&self, tolerance: f64) -> bool {
        self.is_taken() && self.residual > tolerance.max(FINEST)
    }

    /// What its exact solution has taken (multiplications).
    pub fn spent(&self) -> f64 {
        self.exact().map_or(0.0, |engine| engine.state.tally.work)
    }

    /// Books so many sweeps, and grants what others have left for them.
    pub fn book_sweeps(&mut self, sweeps: u32) {
        let work = f64::from(sweeps) * self.exact().map_or(0.0, work_of_a_sweep);
        let left = (self.granted - self.spent()).max(0.0);
        self.taken_by_sweeps = work;
        self.granted += (work - left).max(0.0);
    }

    /// What sweeps have taken (multiplications).
    pub fn taken_by_sweeps(&self) -> f64 {
        self.taken_by_sweeps
    }

    /// Takes what so many sweeps have found where it is better.
    pub fn offer(&mut self, problem: &Problem, lambda: &[f64], sweeps: u32, limits: &Limits) {
        let Some(engine) = self.exact_mut() else {
            return;
        };
        let offered = engine.offer(problem, lambda, (sweeps, 0.0), limits);
        let residual = engine.state.least;
        (self.offered, self.residual) = (offered, residual);
    }

    /// Sums up after sweeps whether these have led to the tolerance (m/s).
    pub fn end_sweeps(&mut self, tolerance: f64) {
        if self.residual <= tolerance && self.end.method() == Method::Unfinished {
            self.end = Reason::Sweeps;
        }
    }

    /// How it was solved, and why.
    pub fn choice(&self, problem: &Problem, island: usize) -> Choice {
        let reason = match self.state {
            State::Swept(reason) => reason,
            _ => self.end,
        };
        Choice {
            need: self.need,
            granted: self.granted,
            spent: self.spent() + self.taken_by_sweeps,
            residual: self.is_taken().then_some(self.residual),
            ..Choice::of(problem, island, reason)
        }
    }
}
