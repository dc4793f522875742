//! One island: its problem, its impulses, and the methods' memory.

use std::time::Instant;

use crate::problem::Problem;
use crate::solve::Reason;
use crate::solve::island::bodies::{Bodies, WORK_PER_SYSTEM_ROW};
use crate::solve::island::packed::DOF;
use crate::solve::method::alternating_directions::AlternatingDirections;
use crate::solve::method::conjugate_sweeps::ConjugateSweeps;
use crate::solve::method::pivoting::Pivoting;
use crate::solve::method::proximal_point::ProximalPoint;
use crate::solve::method::semismooth_newton::SemismoothNewton;
use crate::solve::method::{Limits, Site, State};

/// A start whose residual is at most this share of the tolerance is a solution (-), and where directions alternate this
/// one. Impulses that are held set bodies in motion, and those that stop them are the next step's start, so that residuals
/// at rest double from step to step. With 0.1 and 1e-2 of the tolerance to iterate to, the walls of 250 and 410 bricks and
/// the pyramid take 1.3, 3.7 and 1.0 ms a step; with 0.015 and 3e-3 they take 0.9, 2.3 and 0.8 ms, and p95 falls as much.
pub const ACCEPTED: f64 = 0.1;
const ACCEPTED_ALTERNATING: f64 = 0.015;
/// Contacts with so many rows per velocity are redundant (-), and alternating directions come first. The wall has 3.7.
/// Spheres in a box, 1.5, took 1.5 times the work where they came first.
const REDUNDANT: f64 = 2.0;
/// Rows from which on redundant contacts are solved by alternating directions at first (-): with fewer, sweeps and Newton's
/// steps cost next to nothing, and need less work than 30 iterations that lead nowhere.
const WORTHWHILE: usize = 100;
/// Entries of the factor that the solves of a step read, over those that there are (-): GMRES makes a few of them.
const SOLVES: f64 = 12.0;

/// A method in its place in the solution of an island.
pub struct Stage {
    pub name: &'static str,
    /// Whether it may lead on.
    pub applies: fn(&Engine) -> bool,
    /// Goes on from the state's impulses, whose residual is given, and returns that of those that it leaves (m/s).
    pub run: fn(&mut Engine, &Site<'_>, f64, &Limits) -> f64,
}

/// One island's solver. Keeps its memory.
#[derive(Default)]
pub struct Engine {
    pub bodies: Bodies,
    pub state: State,
    /// The name of the stage that is left out.
    pub without: Option<&'static str>,
    /// What it may take (multiplications).
    pub budget: f64,
    pub directions: AlternatingDirections,
    pub newton: SemismoothNewton,
    pub points: ProximalPoint,
    pub sweeps: ConjugateSweeps,
    pub pivoting: Option<Box<Pivoting>>,
}

impl Engine {
    /// Takes an island of a problem and its impulses, whose residual it returns (m/s); `local` has the number of every body
    /// within its island.
    pub fn begin(
        &mut self,
        problem: &Problem,
        island: usize,
        local: &[u32],
        lambda: &[f64],
    ) -> f64 {
        self.bodies.system.set_most(f64::INFINITY);
        self.bodies.refill(problem, island, local);
        let island = &self.bodies.island;
        island.load(problem, lambda, &mut self.state.x);
        self.state.begin(&mut self.bodies)
    }

    /// Takes other impulses of the problem where their residual, which it returns, is smaller (m/s). Those of sweeps are
    /// bounded by what sweeps can move, and need not be worth their size.
    pub fn offer(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        spent: (u32, f64),
        limits: &Limits,
    ) -> f64 {
        let island = &self.bodies.island;
        island.load(problem, lambda, &mut self.state.x);
        self.state.wanted = f64::INFINITY;
        self.compare(spent, limits)
    }

    /// Takes the state's impulses, which took so many iterations and so much work, where they are better than those that
    /// there were. Returns the residual of the best (m/s).
    pub fn judge(&mut self, spent: (u32, f64), limits: &Limits) -> f64 {
        self.compare(spent, limits);
        self.state.least
    }

    /// The same, but returns their own residual (m/s).
    fn compare(&mut self, (iterations, work): (u32, f64), limits: &Limits) -> f64 {
        let state = &mut self.state;
        state.tally.steps += iterations as usize;
        state.tally.work += work;
        let error = state.measure(&mut self.bodies);
        state.record(limits);
        if error < state.least {
            state.keep(error);
        }
        if state.x != state.best {
            state.return_to_best(&mut self.bodies);
        }
        error
    }

    /// Whether any impulse acts.
    pub fn is_held(&self) -> bool {
        self.state.x.iter().any(|impulse| *impulse != 0.0)
    }

    /// Whether alternating directions come first.
    pub fn alternates(&self) -> bool {
        let island = &self.bodies.island;
        alternates(island.contact_rows(), island.velocities())
    }

    /// Whether a stage is not left out.
    pub fn has(&self, stage: &Stage) -> bool {
        self.without != Some(stage.name)
    }

    /// Multiplications of a Newton step, about, once the system is ready.
    pub fn work_of_a_step(&self) -> f64 {
        let rows = self.bodies.island.contact_rows() as f64;
        let solves = SOLVES * self.bodies.system.entries();
        self.bodies.system.work() + solves + WORK_PER_SYSTEM_ROW * rows
    }

    /// Whether a start of that residual is a solution, or no start at all.
    pub fn accepts(&self, error: f64, tolerance: f64) -> bool {
        error <= accepted(self.alternates(), tolerance) || !error.is_finite()
    }

    /// Begins a solution to the residual that is asked for.
    pub fn start(&mut self, limits: &Limits) {
        self.state.clock.get_or_insert_with(Instant::now);
        self.state.wanted = limits.tolerance;
        self.bodies.system.set_deadline(limits.deadline);
        self.bodies.system.set_most(self.budget);
    }

    /// Why a solve has ended with this residual.
    pub fn end(&self, error: f64, limits: &Limits) -> Reason {
        let state = &self.state;
        match () {
            () if state.tally.steps == 0 && self.accepts(error, limits.tolerance) => Reason::Solved,
            () if error <= limits.tolerance => Reason::Fits,
            () if state.tally.work >= limits.work => Reason::Work,
            () if state.is_over(limits) && !state.is_out_of_time(limits) => Reason::Iterations,
            () if state.is_out_of_time(limits) => Reason::Time,
            () => Reason::NoNearer,
        }
    }
}

/// The residual up to which a start is a solution, where directions alternate or not (m/s).
pub fn accepted(alternates: bool, tolerance: f64) -> f64 {
    let share = if alternates {
        ACCEPTED_ALTERNATING
    } else {
        ACCEPTED
    };
    share * tolerance
}

/// The rows of an island's contacts, and its unknown velocities.
pub fn size(problem: &Problem, island: usize) -> [usize; 2] {
    let contacts = problem.islands.contacts.of(island).iter();
    let rows = contacts.map(|c| problem.contacts.rows(*c as usize).len());
    [rows.sum(), DOF * problem.islands.bodies.of(island).len()]
}

/// Whether an island is one for alternating directions, by the rows of its contacts and its unknown velocities.
pub fn alternates(rows: usize, velocities: usize) -> bool {
    rows >= WORTHWHILE && rows as f64 > REDUNDANT * velocities as f64
}
