//! Pulling at a body with a spring.

use serde::{Deserialize, Serialize};

use crate::math::{Mat3, Twist, Vec3};
use crate::step::Simulation;
use crate::world::BodyId;

/// A spring between a point of a body and a point in space.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drag {
    /// The body.
    pub body: BodyId,
    /// The grabbed point in the frame of its centre of mass (m).
    pub anchor: Vec3,
    /// Where that point is to go (m).
    pub target: Vec3,
}

/// Share of the distance closed per second (1/s).
const RATE: f64 = 12.0;
/// Share of the missing velocity made up for per step (-).
const SHARE: f64 = 0.35;
/// Fastest pull (m/s).
const SPEED: f64 = 30.0;
/// Largest force in terms of the body's mass (m/s²): five times its weight lifts it out of any pile. What it hangs on
/// has to bear it too: on the crane's pipe 300 tore the cable apart (1.9 m at 1/60 s, with an exact solver), 100 and
/// 50 did not (0.5 mm).
const LIMIT: f64 = 50.0;

impl Drag {
    /// Whether all its numbers are.
    pub fn is_finite(&self) -> bool {
        let all = self.anchor.iter().chain(self.target.iter());
        all.copied().all(f64::is_finite)
    }

    /// Puts the spring's force on the body; returns the slot and the force to put back after the step. None where
    /// the body is gone or does not move.
    ///
    /// The force is the one that would bring the grabbed point, by its own inverse inertia alone, part
    /// of the way to the velocity that closes the distance: stable for every mass and step.
    pub(super) fn pull(&self, simulation: &mut Simulation) -> Option<(usize, Twist)> {
        let world = simulation.world_mut();
        let h = world.settings.step;
        let bodies = &mut world.bodies;
        let slot = bodies.slot(self.body)?;
        if !bodies.is_dynamic(slot) {
            return None;
        }
        let rotation = bodies.rotation[slot];
        let arm = rotation * self.anchor;
        let point = bodies.position[slot] + arm;
        let mut wanted = (self.target - point) * RATE;
        let speed = wanted.norm();
        if speed > SPEED {
            wanted *= SPEED / speed;
        }
        let inverse_mass = bodies.inverse_mass[slot];
        let inverse_inertia = bodies.inverse_inertia[slot].rotated(&rotation).to_matrix();
        let lever = arm.cross_matrix();
        let response = Mat3::identity() * inverse_mass - lever * inverse_inertia * lever;
        let missing = wanted - bodies.velocity[slot].at(arm);
        let mut force = response.try_inverse()? * missing * (SHARE / h);
        let size = force.norm();
        let limit = LIMIT / inverse_mass;
        if !size.is_finite() {
            return None;
        }
        if size > limit {
            force *= limit / size;
        }
        let before = bodies.force[slot];
        bodies.force[slot].linear += force;
        bodies.force[slot].angular += arm.cross(&force);
        Some((slot, before))
    }
}
