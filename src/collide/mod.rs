//! Collision detection: which bodies may touch (broad phase), and where they do (narrow phase).
//!
//! Contacts are a function of the world alone: nothing in them depends on the shape of the tree or on
//! the number of threads. Persistence lives in the features' names, by which the last step's impulses
//! are matched, and in the manifolds of boxes, which the world remembers from step to step.

mod broad;
mod convex;
mod covered;
mod expand;
mod found;
mod hulls;
mod narrow;
mod parts;
mod reduce;
mod solid;

use rayon::prelude::*;

use crate::math::{Quat, Vec3};
use crate::problem::{Contacts, ProblemBodies};
use crate::world::World;
use crate::world::manifolds::Manifolds;

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

/// Both phases with their memory.
#[derive(Default)]
pub struct Collider {
    broad: BroadPhase,
    narrow: narrow::NarrowPhase,
    covered: covered::Covered,
    /// The manifolds of boxes among the contacts that were found, for the next step to start from.
    pub manifolds: Manifolds,
    /// The bodies of the contacts of before.
    before: Vec<[u32; 2]>,
    /// Whether the contacts that were found last are between the same bodies as those of before.
    pub are_same_pairs: bool,
    found_at: FoundAt,
    /// What other velocities lead to.
    seen: Seen,
}

/// Where bodies go.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<'a> {
    /// The velocities of the bodies without impulses.
    pub free: &'a ProblemBodies,
    /// How long what is found is good for (s).
    pub horizon: f64,
}

/// More of something than a step can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// How much there is at least, or about.
    pub count: u64,
    /// Of what.
    pub what: &'static str,
    /// How much there may be.
    pub most: usize,
}

/// A second look at some bodies.
#[derive(Default)]
struct Seen {
    pairs: Vec<[u32; 2]>,
    contacts: Contacts,
    /// Those and the ones that were found before.
    all: Contacts,
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
    /// Broad phase: brings the list of pairs up to date with the poses. `ahead` says how
    /// far to look.
    pub fn update_pairs(&mut self, world: &World, ahead: Ahead<'_>) {
        self.broad.update(world, ahead);
    }

    /// Pairs of bodies that may touch, sorted, after [`Collider::update_pairs`].
    pub fn pairs(&self) -> &[[u32; 2]] {
        self.broad.pairs()
    }

    /// What is too much of the pairs or contacts that were looked for last, if anything is; these are then incomplete.
    pub fn crowd(&self) -> Option<Crowd> {
        let of = |count, what, most| Crowd { count, what, most };
        let pairs = self.broad.crowd();
        let pairs = pairs.map(|n| of(n, "pairs of bodies that may touch", broad::MOST_PAIRS));
        let contacts = self.narrow.crowd();
        pairs.or(contacts.map(|n| of(n, "contacts", narrow::MOST_CONTACTS)))
    }

    /// Narrow phase: finds the contacts of all pairs, ordered by the bodies' slots. Of each its bodies, parts, feature, gap,
    /// normal and arms are written; the rest is theirs who assemble the problem.
    pub fn find_contacts(&mut self, world: &World, ahead: Ahead<'_>, contacts: &mut Contacts) {
        std::mem::swap(&mut self.before, &mut contacts.bodies);
        let manifolds = &mut self.manifolds;
        (self.narrow).find(world, ahead, self.broad.pairs(), contacts, manifolds);
        self.covered.remove(world, contacts);
        self.are_same_pairs = self.before == contacts.bodies;
    }

    /// Looks what contacts the pairs that are asked for have where they are, by other velocities, for so long (s).
    pub fn look(&mut self, world: &World, ahead: Ahead<'_>, asks: impl Fn([u32; 2]) -> bool) {
        self.look_at_pairs(world, ahead, asks);
        self.covered.remove(world, &mut self.seen.contacts);
    }

    /// Fills `seen` with the contacts of pairs that are asked for, by these velocities, for so long (s).
    fn look_at_pairs(&mut self, world: &World, ahead: Ahead<'_>, asks: impl Fn([u32; 2]) -> bool) {
        self.broad.update(world, ahead);
        let (seen, pairs) = (&mut self.seen, self.broad.pairs().iter());
        seen.pairs.clear();
        let may_meet = |pair: &&[u32; 2]| asks(**pair) && narrow::may_meet(world, ahead, **pair);
        seen.pairs.extend(pairs.filter(may_meet));
        let (contacts, manifolds) = (&mut seen.contacts, &mut seen.manifolds);
        (self.narrow).find(world, ahead, &seen.pairs, contacts, manifolds);
    }

    /// What [`Collider::look`] saw.
    pub fn seen(&self) -> &Contacts {
        &self.seen.contacts
    }

    /// Adds the contacts that bodies have by their solved velocities, between parts that have none; all of them, if one
    /// would overlap at the end of the step by more than `is_too_far` allows the two bodies (m). True if it would.
    pub fn add_struck(
        &mut self,
        world: &World,
        ahead: Ahead<'_>,
        contacts: &mut Contacts,
        asks: impl Fn([u32; 2]) -> bool,
        is_too_far: impl Fn([u32; 2], f64) -> bool,
    ) -> bool {
        // Two solids that have a contact have all that they need.
        let is_one = |slot: u32| {
            let shape = world.bodies.shape[slot as usize].as_ref();
            shape.is_none_or(|shape| shape.parry().as_composite_shape().is_none())
        };
        let has_all =
            |pair: [u32; 2]| !contacts.of_pair(pair).is_empty() && pair.into_iter().all(is_one);
        self.look_at_pairs(world, ahead, |pair| asks(pair) && !has_all(pair));
        let Seen {
            contacts: seen,
            all,
            ..
        } = &mut self.seen;
        let is_known = |of: &Contacts, k: usize| {
            let mut own = contacts.of_pair(of.bodies[k]);
            own.any(|known| contacts.parts[known] == of.parts[k])
        };
        let known = (0..seen.len()).filter(|k| is_known(seen, *k));
        let known: Vec<u32> = known.map(|k| k as u32).collect();
        seen.remove(&known);
        if seen.is_empty() {
            return false;
        }
        all.merge(contacts, seen);
        self.covered.remove(world, all);
        let overlaps = |k: usize| {
            let gap = all.gap[k] + ahead.horizon * all.speed(k, &ahead.free.free_velocity);
            is_too_far(all.bodies[k], -gap)
        };
        let is_any = (0..all.len()).any(|k| !is_known(all, k) && overlaps(k));
        if is_any {
            contacts.swap_found(all);
            self.are_same_pairs = false;
        }
        is_any
    }

    /// Notes where the contacts were found, for [`Collider::carry`].
    pub fn note(&mut self, world: &World, contacts: &Contacts) {
        let at = &mut self.found_at;
        at.position.clone_from(&world.bodies.position);
        at.rotation.clone_from(&world.bodies.rotation);
        at.gap.clone_from(&contacts.gap);
    }

    /// Moves the contacts along with their bodies since [`Collider::note`]: normals n and arms r stay, as they do where a
    /// ball rolls, and gaps grow by n·(Δx₂ + Δθ₂ × r₂ − Δx₁ − Δθ₁ × r₁).
    pub fn carry(&mut self, world: &World, contacts: &mut Contacts) {
        let (bodies, at) = (&world.bodies, &self.found_at);
        let frames = contacts.frame.par_iter().zip(&contacts.bodies);
        let gaps = contacts.gap.par_iter_mut().with_min_len(CHUNK);
        gaps.zip(frames)
            .zip(&at.gap)
            .for_each(|((gap, (frame, pair)), found)| {
                let moved = |side: usize| {
                    let slot = pair[side] as usize;
                    let turned = bodies.rotation[slot] * at.rotation[slot].inverse();
                    let shift = bodies.position[slot] - at.position[slot];
                    shift + turned.scaled_axis().cross(&frame.arms[side])
                };
                *gap = found + frame.normal.dot(&(moved(1) - moved(0)));
            });
        self.are_same_pairs = true;
    }
}
