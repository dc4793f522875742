//! One island: its memory, and the methods one after the other.

use std::time::Instant;

use super::stage::Stage;
use super::{ITERATIONS, NEED};
use crate::problem::Problem;
use crate::problem::law::Law;
use crate::solve::Reason;
use crate::solve::island::Operator;
use crate::solve::island::bodies::{Bodies, PER_ROW};
use crate::solve::method::alternating_directions::AlternatingDirections;
use crate::solve::method::conjugate_sweeps::ConjugateSweeps;
use crate::solve::method::proximal_point::ProximalPoint;
use crate::solve::method::semismooth_newton::SemismoothNewton;
use crate::solve::method::{Limits, State};

/// A start whose residual is at most this share of the tolerance is a solution (-), and where directions alternate this
/// one. Impulses that are held set bodies in motion, and those that stop them are the next step's start, so that residuals
/// at rest double from step to step. With 0.1 and 1e-2 of the tolerance to iterate to, the walls of 250 and 410 bricks and
/// the pyramid take 1.3, 3.7 and 1.0 ms a step; with 0.015 and 3e-3 they take 0.9, 2.3 and 0.8 ms, and p95 falls as much.
const ACCEPTED: f64 = 0.1;
const ACCEPTED_ALTERNATING: f64 = 0.015;
/// Sweeps that a solve begins with where they need no factor, and how far so many of them must bring the residual
/// down for more to follow (-): four find the walls and pyramids that stand and save most factors.
const FIRST: usize = 4;
const QUICK: f64 = 0.2;
/// Contacts with so many rows per velocity are redundant (-), and alternating directions come first. The wall has 3.7.
/// Spheres in a box, 1.5, took 1.5 times the work where they came first.
const REDUNDANT: f64 = 2.0;
/// Rows from which on redundant contacts are solved by alternating directions at first (-): with fewer, sweeps and Newton's
/// steps cost next to nothing, and need less work than 30 iterations that lead nowhere.
const WORTHWHILE: usize = 100;
/// Rounds of all methods, and the least and the most sweeps of a round, which ends when they have taken as much work as
/// everything before. On machines in motion the hardest problems need some hundred sweeps.
const ROUNDS: usize = 5;
const SWEEPS: [usize; 2] = [50, 10_000];
/// Proximal points in turn that bring nothing before it gives up, where sweeps cannot follow and where they can.
const PATIENCE: [u32; 2] = [24, 4];
/// Entries of the factor that the solves of a step read, over those that there are (-): GMRES makes a few of them.
const SOLVES: f64 = 12.0;
/// One island's solver. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    pub bodies: Bodies,
    pub state: State,
    /// The method that is left out.
    pub without: Option<Stage>,
    pub(super) directions: AlternatingDirections,
    newton: SemismoothNewton,
    points: ProximalPoint,
    sweeps: ConjugateSweeps,
}

impl Engine {
    /// Takes an island of a problem and its impulses, whose residual it returns (m/s), and where [`Engine::solve_first`]
    /// begins; `local` has the number of every body within its island.
    pub fn begin(
        &mut self,
        problem: &Problem,
        island: usize,
        local: &[u32],
        lambda: &[f64],
    ) -> f64 {
        self.bodies.refill(problem, island, local);
        let island = &self.bodies.island;
        island.load(problem, lambda, &mut self.state.x);
        self.state.begin(&mut self.bodies)
    }

    /// Takes other impulses of the problem, which took so many iterations and so much work, where they are better than those
    /// that there are. Returns the residual of the best (m/s).
    pub fn offer(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        (iterations, work): (u32, f64),
        limits: &Limits,
    ) -> f64 {
        let state = &mut self.state;
        self.bodies.island.load(problem, lambda, &mut state.x);
        state.wanted = limits.tolerance;
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
        state.least
    }

    /// Whether friction is bounded row by row at every contact, which is what pivoting solves exactly.
    pub fn is_of_boxes(&self) -> bool {
        let mut friction = self.bodies.blocks().iter().filter_map(|b| b.friction());
        friction.all(|friction| friction.law.is_polyhedral() || friction.mu == [0.0; 2])
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

    /// Whether a method takes its turn.
    pub fn has(&self, stage: Stage) -> bool {
        self.without != Some(stage)
    }

    /// Multiplications that a solution takes at least, about; infinite where its factor is too large.
    pub fn need(&mut self) -> f64 {
        self.bodies.make_ready();
        if self.bodies.system.is_too_large() {
            return f64::INFINITY;
        }
        if self.alternates() {
            return self.work_of_alternating(ITERATIONS);
        }
        NEED * self.work_of_a_step()
    }

    /// Multiplications of a Newton step, about, once the system is ready.
    pub fn work_of_a_step(&self) -> f64 {
        let rows = self.bodies.island.contact_rows() as f64;
        let solves = SOLVES * self.bodies.system.entries();
        self.bodies.system.work() + solves + PER_ROW * rows
    }

    /// Whether a start of that residual is a solution, or no start at all.
    pub fn accepts(&self, error: f64, tolerance: f64) -> bool {
        error <= accepted(self.alternates(), tolerance) || !error.is_finite()
    }

    /// Begins at the impulses of the state, whose residual is `error`, with what is quick, unless that is accepted. Leaves
    /// the best impulses there and returns their residual (m/s).
    pub fn solve_first(&mut self, error: f64, limits: &Limits) -> f64 {
        if self.accepts(error, limits.tolerance) {
            return error;
        }
        self.state.clock.get_or_insert_with(Instant::now);
        self.bodies.system.set_deadline(limits.deadline);
        self.state.wanted = limits.tolerance;
        if self.alternates() && self.has(Stage::AlternatingDirections) {
            let least = self.alternate(error, limits);
            if least <= ACCEPTED * limits.tolerance {
                return least;
            }
            self.state.go_back(&mut self.bodies)
        } else {
            self.sweep_first(error, limits)
        }
    }

    /// Goes on after [`Engine::solve_first`] until the residual is at most the tolerance, or the limits are reached. Leaves
    /// the best impulses there and returns their residual (m/s).
    pub fn solve_on(&mut self, error: f64, limits: &Limits) -> f64 {
        if self.accepts(error, limits.tolerance) {
            return error;
        }
        // What is hardly brought down are waves through many bodies, which the next step has again, twice as high.
        let mut limits = *limits;
        if self.state.tally.steps > 0 {
            limits.tolerance *= ACCEPTED;
        }
        if error > limits.tolerance && !self.state.is_over(&limits) {
            self.bodies.make_ready();
            self.take_turns(error, &limits);
        }
        let state = &mut self.state;
        state.x.clone_from(&state.best);
        if let Some(last) = state.points.last_mut() {
            last.impulses.clone_from(&state.best);
        }
        state.least
    }

    /// Sweeps, where they need no factor, as long as they lead on quickly. Returns the residual of the best (m/s).
    fn sweep_first(&mut self, start: f64, limits: &Limits) -> f64 {
        let can_sweep = ConjugateSweeps::can_sweep(&self.bodies);
        if self.alternates() || !can_sweep || !self.has(Stage::FirstSweeps) {
            return start;
        }
        let (bodies, state) = (&mut self.bodies, &mut self.state);
        self.sweeps.prepare(bodies, state);
        while !state.is_over(limits) {
            let before = state.least;
            let error = self.sweeps.run(bodies, state, [FIRST; 2], limits);
            if error < state.least {
                state.keep(error);
            }
            let is_enough = state.least <= ACCEPTED * limits.tolerance;
            if is_enough || error.is_nan() || error > QUICK * before {
                break;
            }
        }
        state.go_back(bodies)
    }

    /// The methods one after the other until one gets there. One whose matrix cannot be factored has led nowhere.
    fn take_turns(&mut self, mut error: f64, limits: &Limits) {
        let can_sweep = ConjugateSweeps::can_sweep(&self.bodies) && self.has(Stage::Sweeps);
        let patience = PATIENCE[usize::from(can_sweep)];
        let has = [Stage::SemismoothNewton, Stage::ProximalPoints].map(|stage| self.has(stage));
        let (bodies, state) = (&mut self.bodies, &mut self.state);
        for _ in 0..ROUNDS {
            if has[0] {
                error = match self.newton.run(bodies, state, error, limits) {
                    Ok(error) => error,
                    Err(_) => state.go_back(bodies),
                };
            }
            if state.least <= limits.tolerance || state.is_over(limits) {
                break;
            }
            if has[1] {
                let _ = self.points.run(bodies, state, error, patience, limits);
            }
            if state.least <= state.wanted || state.is_over(limits) || !can_sweep {
                break;
            }
            state.return_to_best(bodies);
            self.sweeps.prepare(bodies, state);
            error = self.sweeps.run(bodies, state, SWEEPS, limits);
            state.keep(error);
        }
    }

    /// Why a solve has ended with this residual.
    pub fn end(&self, error: f64, limits: &Limits) -> Reason {
        let state = &self.state;
        match () {
            () if state.tally.steps == 0 && self.accepts(error, limits.tolerance) => Reason::Solved,
            () if error <= limits.tolerance => Reason::Fits,
            () if state.tally.work >= limits.work => Reason::Work,
            () if state.tally.steps >= limits.steps => Reason::Iterations,
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

/// Whether an island is one for alternating directions, by the rows of its contacts and its unknown velocities.
pub fn alternates(rows: usize, velocities: usize) -> bool {
    rows >= WORTHWHILE && rows as f64 > REDUNDANT * velocities as f64
}
