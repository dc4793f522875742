//! Collision detection: which bodies may touch (broad phase), and where they do (narrow phase).
//!
//! Contacts are a function of the world alone: nothing in them depends on the shape of the tree or on
//! the number of threads. Persistence lives in the features' names, by which the last step's impulses
//! are matched, and in the manifolds of boxes, which the world remembers from step to step.

mod broad;
mod convex;
mod expand;
mod hulls;
mod narrow;
mod reduce;
mod solid;

use rayon::prelude::*;

use crate::math::{Quat, Vec3};
use crate::problem::{ContactFrame, ProblemBodies};
use crate::world::World;
use crate::world::manifolds::Manifolds;

pub use broad::BroadPhase;

/// A contact as the narrow phase finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundContact {
    /// First and second body, the lower slot first.
    pub bodies: [u32; 2],
    /// Which features touch; the same from step to step.
    pub feature: u64,
    /// World position, half way between the two surfaces (m).
    pub point: Vec3,
    /// Unit normal from the first body to the second.
    pub normal: Vec3,
    /// Signed distance of the surfaces (m).
    pub gap: f64,
}

/// Both phases with their memory.
#[derive(Default)]
pub struct Collider {
    broad: BroadPhase,
    narrow: narrow::NarrowPhase,
    /// What the last call of [`Collider::find_contacts`] found, ordered by the bodies' slots.
    pub contacts: Vec<FoundContact>,
    /// The manifolds of boxes among it, for the next step to start from.
    pub manifolds: Manifolds,
    found_at: FoundAt,
}

/// Where bodies were, and gaps, when contacts were found.
#[derive(Default)]
struct FoundAt {
    position: Vec<Vec3>,
    rotation: Vec<Quat>,
    gap: Vec<f64>,
}

/// Contacts per unit of parallel work.
const CHUNK: usize = 1024;

impl Collider {
    /// Broad phase: brings the list of pairs up to date with the poses. `bodies` are the step's free
    /// velocities, which say how far ahead to look.
    pub fn update_pairs(&mut self, world: &World, bodies: &ProblemBodies) {
        self.broad.update(world, bodies);
    }

    /// Pairs of bodies that may touch, sorted, after [`Collider::update_pairs`].
    pub fn pairs(&self) -> &[[u32; 2]] {
        self.broad.pairs()
    }

    /// Narrow phase: finds the contacts of all pairs.
    pub fn find_contacts(&mut self, world: &World, bodies: &ProblemBodies) {
        self.narrow.find(
            world,
            bodies,
            self.broad.pairs(),
            &mut self.contacts,
            &mut self.manifolds,
        );
    }

    /// Notes where the contacts were found, for [`Collider::carry`].
    pub fn note(&mut self, world: &World) {
        let at = &mut self.found_at;
        at.position.clone_from(&world.bodies.position);
        at.rotation.clone_from(&world.bodies.rotation);
        at.gap.clear();
        at.gap.extend(self.contacts.iter().map(|c| c.gap));
    }

    /// Moves the contacts along with their bodies since [`Collider::note`]: normals n and arms r in `frames` stay, as
    /// they do where a ball rolls, and gaps grow by n·(Δx₂ + Δθ₂ × r₂ − Δx₁ − Δθ₁ × r₁).
    pub fn carry(&mut self, world: &World, frames: &[ContactFrame]) {
        let (bodies, at) = (&world.bodies, &self.found_at);
        self.contacts
            .par_iter_mut()
            .with_min_len(CHUNK)
            .zip(frames)
            .zip(&at.gap)
            .for_each(|((contact, frame), gap)| {
                let moved = |side: usize| {
                    let slot = contact.bodies[side] as usize;
                    let turned = bodies.rotation[slot] * at.rotation[slot].inverse();
                    let shift = bodies.position[slot] - at.position[slot];
                    shift + turned.scaled_axis().cross(&frame.arms[side])
                };
                contact.gap = gap + contact.normal.dot(&(moved(1) - moved(0)));
                let first = contact.bodies[0] as usize;
                contact.point = bodies.position[first] + frame.arms[0];
            });
    }
}
