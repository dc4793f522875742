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

/// A body while it is pulled at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pulled {
    slot: usize,
    /// What else acts on it, to put back after the step.
    before: Twist,
    /// The spring's force (N).
    pub force: Vec3,
}

impl Pulled {
    /// Takes the spring's force off the body.
    pub(super) fn put_back(&self, simulation: &mut Simulation) {
        let bodies = &mut simulation.world_mut().bodies;
        bodies.set_force(self.slot, self.before);
    }
}

/// Share of the distance closed per second (1/s).
const RATE: f64 = 12.0;
/// Share of the missing velocity made up for per step (-).
const SHARE: f64 = 0.35;
/// Fastest pull (m/s).
const SPEED: f64 = 30.0;
/// Largest force in terms of the body's mass (m/s²): five times its weight lifts it out of any pile.
const LIMIT: f64 = 50.0;
/// Largest force on any body (N): what it hangs on, or is pressed against, has to bear it too. With five times its weight
/// alone, a hand tore joints of the crane 6 m apart (`moreau bench hands --only crane`).
const STRONGEST: f64 = 20_000.0;
/// Share of that for a body that does not follow (-): twice its weight still lifts it.
const HELD: f64 = 0.4;

impl Drag {
    /// Whether all its numbers are.
    pub fn is_finite(&self) -> bool {
        let all = self.anchor.iter().chain(self.target.iter());
        all.copied().all(f64::is_finite)
    }

    /// Puts the spring's force on the body. None where the body is gone or does not move.
    ///
    /// The force is the one that would bring the grabbed point, by its own inverse inertia alone, part
    /// of the way to the velocity that closes the distance: stable for every mass and step.
    pub(super) fn pull(&self, simulation: &mut Simulation) -> Option<Pulled> {
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
        // How much of the wanted speed it has: who pulls in vain pulls less.
        let velocity = bodies.velocity[slot].at(arm);
        let follows = match wanted.norm_squared() {
            0.0 => 1.0,
            square => (velocity.dot(&wanted) / square).clamp(0.0, 1.0),
        };
        let inverse_mass = bodies.inverse_mass[slot];
        let inverse_inertia = bodies.inverse_inertia(slot).rotated(&rotation).to_matrix();
        let lever = arm.cross_matrix();
        let response = Mat3::identity() * inverse_mass - lever * inverse_inertia * lever;
        let missing = wanted - velocity;
        let mut force = response.try_inverse()? * missing * (SHARE / h);
        let size = force.norm();
        let limit = (LIMIT / inverse_mass).min(STRONGEST) * (HELD + (1.0 - HELD) * follows);
        if !size.is_finite() {
            return None;
        }
        if size > limit {
            force *= limit / size;
        }
        let before = bodies.force(slot);
        let pulled = Twist::new(before.linear + force, before.angular + arm.cross(&force));
        bodies.set_force(slot, pulled);
        Some(Pulled {
            slot,
            before,
            force,
        })
    }
}
