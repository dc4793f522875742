//! Islands come to rest.
//!
//! Impulses that are kept, because they still solve an island to a small share of the tolerance, leave its bodies moving
//! by what they lack. Impulses that do not follow it make a body under a load N an inverted pendulum: one of height l and
//! moment of inertia I tips by a factor exp(h √(N l / I)) a step, about 5 for the lowest brick under 40 courses at 60 steps
//! a second. What was 1e-12 m/s then is at the tolerance after ten steps, and what corrects it leaves waves that are small
//! at each contact and large at the top. A wall of 40 courses fell after 25 s of steps that were solved to 1e-6 m/s each.
//!
//! Where bodies stand is a solution, too. So those of an island stop where they move by less than is known of their
//! velocities, and by less than forces that nothing carries would make of them in a step. They stand until something
//! about their problem changes.

use rayon::prelude::*;

use super::context::Context;
use crate::math::Twist;
use crate::solve::exact::{accepted, residual_within};
use crate::world::World;

/// The share of the velocities that forces would lead to in a step, up to which bodies stop (-): a slope so much too steep
/// goes unseen.
const UNSEEN: f64 = 1e-6;

impl Context {
    /// Stops the islands of contacts that began with the impulses that solve them, and whose bodies move, in the root of the
    /// mean square by mass, by less than impulses that are kept may lack at a `tolerance` (m/s). Where not everything
    /// `is_solved`, they are asked.
    pub fn come_to_rest(&mut self, world: &World, tolerance: f64, is_solved: bool) {
        let islands = &self.problem.islands;
        let all = (0..islands.len()).into_par_iter();
        let resting = all.filter(|island| {
            let limit = accepted(&self.problem, *island, tolerance);
            let (lambda, u) = (&self.lambda, &self.velocity);
            self.is_slow(world, *island, limit)
                && (is_solved
                    || residual_within(&self.problem, *island, lambda, u, limit).is_some())
        });
        let resting: Vec<usize> = resting.collect();
        for b in resting.iter().flat_map(|island| islands.bodies.of(*island)) {
            self.velocity[*b as usize] = Twist::ZERO;
        }
    }

    fn is_slow(&self, world: &World, island: usize, limit: f64) -> bool {
        let problem = &self.problem;
        let islands = &problem.islands;
        let contacts = islands.contacts.of(island);
        if contacts.is_empty() || !islands.rows.of(island).is_empty() {
            return false;
        }
        let stands = contacts.iter().all(|c| {
            let c = *c as usize;
            let rows = problem.contacts.rows(c);
            // The impulses of springs say how far these are bent.
            self.lambda[rows.clone()] == self.start[rows]
                && problem.contacts.compliance[c] == [0.0; 2]
                && problem.contacts.bodies[c]
                    .into_iter()
                    .all(|b| self.is_dynamic_or_still(b))
        });
        if !stands {
            return false;
        }
        let [mut moving, mut forced, mut mass] = [0.0; 3];
        for b in islands.bodies.of(island).iter().map(|b| *b as usize) {
            let [before, after] = [&world.bodies.velocity[b], &self.velocity[b]];
            let free = problem.bodies.free_velocity[b] - *before;
            moving += 2.0 * world.bodies.kinetic_energy_at(b, after);
            forced += 2.0 * world.bodies.kinetic_energy_at(b, &free);
            mass += 1.0 / problem.bodies.inverse_mass[b];
        }
        moving <= limit.powi(2) * mass && moving <= UNSEEN.powi(2) * forced
    }

    /// A support that moves carries what is on it with it.
    fn is_dynamic_or_still(&self, body: u32) -> bool {
        let body = body as usize;
        self.problem.bodies.is_dynamic(body) || self.velocity[body] == Twist::ZERO
    }
}
