//! Collision detection: which bodies may touch (broad phase), and where they do (narrow phase).
//!
//! Contacts are a function of the world alone: nothing in them depends on the shape of the tree or on
//! the number of threads. Persistence lives in the features' names, by which the last step's impulses
//! are matched, and in the manifolds of boxes, which the world remembers from step to step.

mod broad;
mod hulls;
mod narrow;
mod reduce;

use crate::math::Vec3;
use crate::problem::ProblemBodies;
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
}

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
}
