//! Impacts: what a rope, a stop or a contact catches faster than a step resolves how rigid joints turn.

use super::bodies::are_resolved;
use super::closing::{Closing, Joints};
use super::ropes;
use super::rounds::Iterate;
use crate::math::Twist;
use crate::problem::Problem;
use crate::world::World;

/// Of the kinetic energy of an island, that which rigid joints and stops may give in a (sub)step (-). They give and take by turns
/// where a step does not resolve how they turn: 0.036 of it where a link turns by 3.3 rad a step
/// (`stops_stop_what_is_struck`, the ball joint at 50 m/s, without this). The price is what changes of h take:
/// a double pendulum loses 1.1 % of what its energy varies by in a minute, in place of 0.1 %
/// (`moreau verify double-pendulum-energy`); with 1e-2 it does not, and chains of 1 : 1000 open by 1.1e-3 of a link.
const GAIN: f64 = 1e-3;
/// Where nothing turns by so much in a whole step (rad), what they give is due to something else, which finer steps do not mend.
const TURN: f64 = 0.5;

impl Joints {
    /// Whether closed joints are as a step is that resolves how they turn: marks the bodies of islands whose rigid joints and
    /// stops give more.
    pub(super) fn judge(&mut self, world: &World, at: &Iterate<'_>, tolerance: f64) -> Closing {
        let (problem, b) = (&*at.problem, &world.bodies);
        let first = problem.contact_rows();
        self.are_open.clear();
        self.are_open.resize(problem.bodies.len(), false);
        let mut any = false;
        for (island, held) in &self.bodies.islands {
            let (mut work, mut unknown) = (0.0, 0.0);
            for r in problem.islands.rows.of(*island).iter().map(|r| *r as usize) {
                if !self.table.is_rigid(r) {
                    continue;
                }
                let entries = problem.rows.entries_along(r, &self.next.jacobian);
                let rates = entries.map(|(slot, j)| {
                    let sum = b.velocity[slot] + at.velocity[slot];
                    0.5 * (j.linear.dot(&sum.linear) + j.angular.dot(&sum.angular))
                });
                let lambda = at.lambda[first + r];
                work += lambda * rates.sum::<f64>();
                unknown += lambda.abs() * tolerance;
            }
            let held = self.bodies.of(held).iter();
            let turns = held.clone().map(|held| {
                let [before, after] = [&b.velocity, &*at.velocity].map(|u| u[held.slot].angular);
                before.norm().max(after.norm())
            });
            let turn = world.settings.step * turns.fold(0.0, f64::max);
            let moving: f64 = held
                .map(|held| {
                    let of = |u: &Twist| b.kinetic_energy_at(held.slot, u);
                    let [before, after] = [&b.velocity, &*at.velocity].map(|u| of(&u[held.slot]));
                    before.max(after).max(of(&held.without_impulses()))
                })
                .sum();
            if turn > TURN && work > GAIN * moving + unknown {
                any = true;
                for slot in problem.islands.bodies.of(*island) {
                    self.are_open[*slot as usize] = true;
                }
            }
        }
        match any {
            true => Closing::Gaining,
            false => Closing::Closed,
        }
    }

    /// Marks the bodies of the islands that the last round has left open.
    pub(super) fn find_open(&mut self, at: &Iterate<'_>, tolerance: f64) {
        let problem = &*at.problem;
        self.has_caught = false;
        self.are_open.clear();
        self.are_open.resize(problem.bodies.len(), false);
        for (island, held) in &self.bodies.islands {
            let held = self.bodies.of(held);
            let rows = problem.islands.rows.of(*island).iter();
            let rows = rows.map(|r| *r as usize);
            let loops = (&self.loops, self.contacts.are_held());
            let gap = (self.next).gap(problem, &self.table, loops, at.lambda, rows);
            if gap.is_nan() || gap > tolerance || !are_resolved(held, problem.h, at.velocity) {
                let first = problem.contact_rows();
                self.has_caught |= problem.islands.rows.of(*island).iter().any(|r| {
                    let r = *r as usize;
                    let is_stop = problem.rows.bounds[r] == [0.0, f64::INFINITY];
                    is_stop && self.table.start[r] == 0.0 && at.lambda[first + r] > 0.0
                });
                for slot in problem.islands.bodies.of(*island) {
                    self.are_open[*slot as usize] = true;
                }
            }
        }
    }

    /// Makes an assembled problem that of an impact at the midpoint: what rigid joints, stops and contacts make of the
    /// velocities at once, without forces.
    pub fn strike(&self, world: &World, problem: &mut Problem) {
        for (free, u) in (problem.bodies.free_velocity.iter_mut()).zip(&world.bodies.velocity) {
            *free = *u;
        }
        for r in 0..problem.rows.len() {
            let [lo, hi] = problem.rows.bounds[r];
            let is_stop = [lo, hi] == [0.0, f64::INFINITY];
            if self.table.is_rigid(r) {
                let left = problem.rows.position_error[r].max(0.0);
                problem.rows.bias[r] = if is_stop { left / problem.h } else { 0.0 };
            } else if self.table.spring[r].is_some() || lo.is_finite() || hi.is_finite() {
                problem.rows.bounds[r] = [0.0; 2];
            }
        }
        ropes::release(problem, &self.table);
    }

    /// Gives the bodies of the islands that are open the velocities after an impact; the energy that they gain (J).
    pub fn struck(&mut self, world: &mut World, h: f64, velocity: &[Twist]) -> f64 {
        let gravity = world.settings.gravity;
        let b = &mut world.bodies;
        let mut gained = 0.0;
        self.struck.add(&self.are_open, &b.velocity);
        for (slot, u) in velocity.iter().enumerate() {
            if b.is_dynamic(slot) && self.are_open.get(slot) == Some(&true) {
                gained += b.kinetic_energy_at(slot, u) - b.kinetic_energy_of(slot);
                // It has fallen by the old velocity for half a step, which counts as by the new one.
                let fell = (u.linear - b.velocity[slot].linear) * (0.5 * h);
                gained += gravity.dot(&fell) / b.inverse_mass[slot];
                b.velocity[slot] = *u;
            }
        }
        gained
    }
}
