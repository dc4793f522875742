//! Collision detection: which bodies may touch (broad phase), and where they do (narrow phase).
//!
//! Contacts are a function of the world alone: nothing in them depends on the shape of the tree or on
//! the number of threads. Persistence lives in the features' names, by which the last step's impulses
//! are matched, and in the manifolds of boxes, which the world remembers from step to step.

mod broad;
mod convex;
mod covered;
mod expand;
mod hulls;
mod narrow;
mod parts;
mod reduce;
mod solid;

use rayon::prelude::*;

use crate::math::{Quat, Twist, Vec3};
use crate::problem::{ContactFrame, ProblemBodies};
use crate::world::manifolds::Manifolds;
use crate::world::{Bodies, World};

pub use broad::BroadPhase;

/// A contact as the narrow phase finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundContact {
    /// First and second body, the lower slot first.
    pub bodies: [u32; 2],
    /// Parts of theirs: of a compound, triangles of a mesh or a height field, else 0.
    pub parts: [u32; 2],
    /// Which features touch; the same from step to step.
    pub feature: u64,
    /// World position, half way between the two surfaces (m).
    pub point: Vec3,
    /// Unit normal from the first body to the second.
    pub normal: Vec3,
    /// Signed distance of the surfaces (m).
    pub gap: f64,
}

impl FoundContact {
    /// How fast the two bodies part along the normal by given velocities (m/s).
    pub fn speed(&self, bodies: &Bodies, velocity: &[Twist]) -> f64 {
        let at = |slot: u32| {
            let slot = slot as usize;
            velocity[slot].at(self.point - bodies.position[slot])
        };
        self.normal.dot(&(at(self.bodies[1]) - at(self.bodies[0])))
    }
}

/// Both phases with their memory.
#[derive(Default)]
pub struct Collider {
    broad: BroadPhase,
    narrow: narrow::NarrowPhase,
    covered: covered::Covered,
    /// What the last call of [`Collider::find_contacts`] found, ordered by the bodies' slots.
    pub contacts: Vec<FoundContact>,
    /// The manifolds of boxes among it, for the next step to start from.
    pub manifolds: Manifolds,
    found_at: FoundAt,
    /// What other velocities lead to.
    seen: Seen,
}

/// A second look at some bodies.
#[derive(Default)]
struct Seen {
    pairs: Vec<[u32; 2]>,
    contacts: Vec<FoundContact>,
    /// Those and the ones that were found before.
    all: Vec<FoundContact>,
    manifolds: Manifolds,
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
        self.covered.remove(world, &mut self.contacts);
    }

    /// Looks what contacts the pairs that are asked for have where they are, by other velocities.
    pub fn look(&mut self, world: &World, bodies: &ProblemBodies, asks: impl Fn([u32; 2]) -> bool) {
        self.look_at_pairs(world, bodies, asks, |_| false);
        self.covered.remove(world, &mut self.seen.contacts);
    }

    /// Fills `seen` with the contacts of pairs that are asked for and not known, by these velocities.
    fn look_at_pairs(
        &mut self,
        world: &World,
        bodies: &ProblemBodies,
        asks: impl Fn([u32; 2]) -> bool,
        is_known: impl Fn(&[FoundContact]) -> bool,
    ) {
        self.broad.update(world, bodies);
        let Self {
            seen,
            narrow,
            contacts,
            ..
        } = self;
        seen.pairs.clear();
        let mut rest = contacts.as_slice();
        seen.pairs.extend(self.broad.pairs().iter().filter(|pair| {
            if !asks(**pair) || !narrow::may_meet(world, bodies, **pair) {
                return false;
            }
            rest = &rest[rest.partition_point(|c| c.bodies < **pair)..];
            let own = rest.iter().take_while(|c| c.bodies == **pair).count();
            !is_known(&rest[..own])
        }));
        let (contacts, manifolds) = (&mut seen.contacts, &mut seen.manifolds);
        narrow.find(world, bodies, &seen.pairs, contacts, manifolds);
    }

    /// What [`Collider::look`] saw.
    pub fn seen(&self) -> &[FoundContact] {
        &self.seen.contacts
    }

    /// Adds the contacts that bodies have by their solved velocities, between parts that have none; all of them, if one
    /// would overlap at the end of the step by more than `is_too_far` allows the two bodies (m). True if it would.
    pub fn add_struck(
        &mut self,
        world: &World,
        bodies: &ProblemBodies,
        asks: impl Fn([u32; 2]) -> bool,
        is_too_far: impl Fn([u32; 2], f64) -> bool,
    ) -> bool {
        // Two solids that have a contact have all that they need.
        let is_one = |slot: u32| {
            let shape = world.bodies.shape[slot as usize].as_ref();
            shape.is_none_or(|shape| shape.parry().as_composite_shape().is_none())
        };
        self.look_at_pairs(world, bodies, asks, |own| {
            own.first()
                .is_some_and(|c| c.bodies.into_iter().all(is_one))
        });
        let Self { seen, contacts, .. } = self;
        let is_known = |c: &FoundContact| {
            let first = contacts.partition_point(|k| k.bodies < c.bodies);
            let mut own = contacts[first..]
                .iter()
                .take_while(|k| k.bodies == c.bodies);
            own.any(|k| k.parts == c.parts)
        };
        seen.contacts.retain(|c| !is_known(c));
        if seen.contacts.is_empty() {
            return false;
        }
        seen.all.clear();
        seen.all.extend_from_slice(contacts);
        seen.all.extend_from_slice(&seen.contacts);
        seen.all.sort_by_key(|c| c.bodies);
        self.covered.remove(world, &mut seen.all);
        let h = world.settings.horizon();
        let overlaps = |c: &FoundContact| {
            let gap = c.gap + h * c.speed(&world.bodies, &bodies.free_velocity);
            is_too_far(c.bodies, -gap)
        };
        let is_any = seen.all.iter().any(|c| !is_known(c) && overlaps(c));
        if is_any {
            std::mem::swap(contacts, &mut seen.all);
        }
        is_any
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
