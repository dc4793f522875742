//! Steps that repeat the one before.
//!
//! A step is a function of the state that it begins in. Where it ends in that very state, to the last bit, the next one
//! does the same, and need not be taken: a world that rests costs nothing, and every number is the one that the step would
//! find. Whatever can change the world from outside, [`Simulation::world_mut`] above all, wakes it.

use super::Simulation;
use crate::math::{Twist, Vec3};
use crate::measure::Timings;
use crate::world::ContactMemory;
use crate::world::manifolds::Manifolds;

/// Whether steps repeat each other.
#[derive(Default)]
pub struct Repeats {
    /// Whether they may be left out.
    pub are_left_out: bool,
    /// Whether the last step has ended where it began, and nothing has touched the world since.
    is_still: bool,
    /// What else the world and the solver carry from step to step, after the last step that left all bodies where they were.
    memory: Vec<ContactMemory>,
    couples: Vec<Vec3>,
    manifolds: Manifolds,
    solver: Vec<u8>,
}

impl Repeats {
    /// Something may have changed the world, or how it is stepped.
    pub fn end(&mut self) {
        self.is_still = false;
    }
}

impl Simulation {
    /// Whether steps that repeat the one before, to the last bit, are not taken again, but counted only; off at first. State
    /// and reports are the same but for timings, and a world without joints and drives that rests costs nothing. The
    /// solver has to be a function of its problem, its start and its own state.
    pub fn set_sleeping(&mut self, sleeps: bool) {
        if sleeps != self.repeats.are_left_out {
            self.repeats = Repeats {
                are_left_out: sleeps,
                ..Repeats::default()
            };
        }
    }

    /// Whether the next step repeats the last one, and is left out, unless something changes the world first.
    pub fn is_asleep(&self) -> bool {
        let report = &self.report;
        let says_enough = (report.residual.is_some() || !self.residuals.asks_for(true))
            && (report.energy.is_some() || self.energy.is_none())
            && (!report.solve.history.is_empty() || !self.solvers.record_history);
        self.repeats.is_still && says_enough
    }

    /// The next step, where it is the last one again.
    pub(super) fn repeat(&mut self) {
        self.world.step_index += 1;
        self.world.time += self.world.settings.step;
        self.report.step = self.world.step_index;
        self.report.time = self.world.time;
        self.report.timings = Timings::default();
        self.report.is_repeated = true;
    }

    /// Notes whether the step that was just taken has ended where it began.
    pub(super) fn note_repeats(&mut self) {
        let repeats = &mut self.repeats;
        let (world, c) = (&self.world, &self.context);
        repeats.is_still = false;
        let stands = repeats.are_left_out
            && world.joints.is_empty()
            && world.drives.is_empty()
            && self.report.solve.status.is_usable()
            && c.velocity.iter().all(|u| *u == Twist::ZERO)
            && self.before.is_same(world);
        if !stands {
            return;
        }
        let solver = self.solvers.chosen().state();
        repeats.is_still = repeats.memory == world.memory
            && repeats.couples == world.couples
            && repeats.manifolds == world.manifolds
            && repeats.solver == solver;
        if !repeats.is_still {
            repeats.memory.clone_from(&world.memory);
            repeats.couples.clone_from(&world.couples);
            repeats.manifolds.clone_from(&world.manifolds);
            repeats.solver = solver;
        }
    }
}
