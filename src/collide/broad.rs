//! Broad phase: parry's bounding volume hierarchy over fattened bounds.
//!
//! Every body has a fat box and a fat sphere around it. As long as it stays inside both, its pairs
//! stand; a body that leaves gets new ones. Pairs are kept sorted, so that their order tells nothing
//! about the tree. The sphere matters in dense packings: in a cubic grid of balls the boxes of 26
//! neighbours touch, the spheres of 6.

use std::sync::Arc;

use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhNode, BvhWorkspace};
use rayon::prelude::*;

use super::Ahead;
use crate::math::{Pose, Twist, Vec3};
use crate::problem::ProblemBodies;
use crate::world::{Bodies, BodyKind, Geometry, Groups, World};

/// Bounds grow by this share of a body's bounding radius, so that a body at rest, or a slow one,
/// keeps its pairs for many steps.
const MARGIN: f64 = 0.05;
/// And by this many steps of its motion.
const STEPS_AHEAD: f64 = 3.0;
/// Above this share of changed bodies all pairs are found anew: cheaper than many single queries.
const FULL_SEARCH: f64 = 0.1;
/// Bodies per unit of parallel work.
const CHUNK: usize = 512;

/// The bounds that a body's pairs are good for: a box and a sphere, in single precision, rounded outwards. A coarser box
/// makes more pairs, and no other contacts.
#[derive(Clone, Copy, Debug)]
struct Fat {
    mins: [f32; 3],
    maxs: [f32; 3],
    center: [f32; 3],
    radius: f32,
}

/// What the tree and the pairs assume of a body besides its place; where it no longer holds,
/// everything is built anew.
#[derive(Clone, Debug)]
struct Stamp {
    kind: BodyKind,
    groups: Groups,
    /// Kept alive, so that no other geometry takes its address, which is its identity.
    geometry: Option<Arc<Geometry>>,
}

impl Stamp {
    fn of(bodies: &Bodies, slot: usize) -> Self {
        Self {
            kind: bodies.kind[slot],
            groups: bodies.groups[slot],
            geometry: bodies.shape[slot]
                .as_ref()
                .map(|s| s.shared_geometry().clone()),
        }
    }

    /// Whether all of it still holds.
    fn is_of(&self, bodies: &Bodies, slot: usize) -> bool {
        let now = bodies.shape[slot].as_ref().map(|s| s.shared_geometry());
        let is_same = match (&self.geometry, now) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        is_same && self.kind == bodies.kind[slot] && self.groups == bodies.groups[slot]
    }
}

/// A body without bounds, and where it was when its pairs were found.
#[derive(Clone, Copy, Debug)]
struct Plane {
    slot: u32,
    pose: Option<Pose>,
}

impl Default for Fat {
    fn default() -> Self {
        Self {
            mins: [f32::INFINITY; 3],
            maxs: [f32::NEG_INFINITY; 3],
            center: [0.0; 3],
            radius: -1.0,
        }
    }
}

/// The next number that is not below, in single precision.
fn up(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) < x {
        near.next_up()
    } else {
        near
    }
}

impl Fat {
    /// The least bounds that hold a box, and a sphere about a point.
    fn new(aabb: &Aabb, center: Vec3, radius: f64) -> Self {
        let near = std::array::from_fn(|k| center[k] as f32);
        Self {
            mins: std::array::from_fn(|k| -up(-aabb.mins[k])),
            maxs: std::array::from_fn(|k| up(aabb.maxs[k])),
            center: near,
            radius: up(radius + (center - wide(&near)).norm()),
        }
    }

    fn aabb(&self) -> Aabb {
        Aabb::new(wide(&self.mins).into(), wide(&self.maxs).into())
    }

    /// Where its sphere is.
    fn center(&self) -> Vec3 {
        wide(&self.center)
    }

    /// Whether it holds a box, and a sphere about a point.
    fn contains(&self, aabb: &Aabb, center: Vec3, radius: f64) -> bool {
        self.aabb().contains(aabb)
            && (center - self.center()).norm() + radius <= f64::from(self.radius)
    }

    fn overlaps(&self, other: &Fat) -> bool {
        let reach = f64::from(self.radius) + f64::from(other.radius);
        let is_apart = |k: usize| self.mins[k] > other.maxs[k] || other.mins[k] > self.maxs[k];
        !(0..3).any(is_apart) && (self.center() - other.center()).norm_squared() <= reach * reach
    }
}

fn wide(v: &[f32; 3]) -> Vec3 {
    Vec3::from(v.map(f64::from))
}

/// The tree, the fat bounds and the pairs.
#[derive(Default)]
pub struct BroadPhase {
    bvh: Bvh,
    workspace: BvhWorkspace,
    fat: Vec<Fat>,
    changed: Vec<bool>,
    stamps: Vec<Stamp>,
    /// Bodies without bounds: half-spaces. They stay out of the tree.
    planes: Vec<Plane>,
    /// Pairs that joints keep from colliding.
    joined: Vec<[u32; 2]>,
    pairs: Vec<[u32; 2]>,
    /// About how many pairs there are, where they are too many to be found.
    crowd: Option<u64>,
}

/// The most pairs whose bounds overlap, of all bodies: 20 for each of a million bodies. They take 16 bytes each while they
/// are found.
pub const MOST_PAIRS: usize = 20_000_000;

/// Bodies whose pairs are counted to estimate those of all.
const SAMPLE: usize = 256;

impl BroadPhase {
    /// The pairs, sorted; the lower slot first.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// About how many pairs there are, where they are too many and were not found.
    pub fn crowd(&self) -> Option<u64> {
        self.crowd
    }

    /// Brings the pairs up to date; there are none where they are too many.
    pub fn update(&mut self, world: &World, ahead: Ahead<'_>) {
        let bodies = &world.bodies;
        let fresh = self.stamps.len() != bodies.slots()
            || self.joined != world.joined
            || (0..bodies.slots()).any(|slot| !self.stamps[slot].is_of(bodies, slot));
        if fresh {
            self.forget(world);
        }
        let changed = self.refatten(world, ahead, fresh);
        let was_crowded = self.crowd.take().is_some();
        let planes_moved = self.move_planes(world, ahead.free);
        if fresh {
            self.rebuild(world);
            self.find_all(world, ahead);
        } else if changed > 0 {
            self.refit();
            if was_crowded || planes_moved || changed as f64 > FULL_SEARCH * self.fat.len() as f64 {
                self.find_all(world, ahead);
            } else {
                self.find_changed(world, ahead);
            }
        } else if planes_moved || was_crowded {
            self.find_all(world, ahead);
        }
        if self.pairs.len() > MOST_PAIRS {
            self.give_up(self.pairs.len() as u64);
        }
    }

    fn give_up(&mut self, pairs: u64) {
        self.crowd = Some(pairs);
        self.pairs = Vec::new();
    }

    /// About how many pairs there are, from those of every so manieth body; none where they cannot be too many.
    fn estimate(&self, world: &World) -> Option<u64> {
        let n = self.fat.len();
        if n * n / 2 <= MOST_PAIRS {
            return None;
        }
        let every = n.div_ceil(SAMPLE);
        let of = |slot: usize| match self.in_tree(world, slot) {
            true => {
                let own = BvhNode::leaf(self.fat[slot].aabb(), 0);
                let met = self.bvh.leaves(move |node| node.intersects(&own)).count();
                // It meets itself.
                met.saturating_sub(1) as u64
            }
            false => 0,
        };
        let sum: u64 = (0..n).into_par_iter().step_by(every).map(of).sum();
        Some(sum * every as u64 / 2)
    }

    fn forget(&mut self, world: &World) {
        let bodies = &world.bodies;
        let slots = 0..bodies.slots();
        self.joined.clone_from(&world.joined);
        self.stamps.clear();
        self.stamps
            .extend(slots.clone().map(|slot| Stamp::of(bodies, slot)));
        self.fat.clear();
        self.fat.resize(bodies.slots(), Fat::default());
        self.changed.clear();
        self.changed.resize(bodies.slots(), false);
        self.planes.clear();
        self.planes.extend(
            slots
                .filter(|slot| is_unbounded(bodies, *slot))
                .map(|slot| Plane {
                    slot: slot as u32,
                    pose: None,
                }),
        );
    }

    /// Notes where the half-spaces are; true if one is not where its pairs were found, or moves.
    fn move_planes(&mut self, world: &World, free: &ProblemBodies) -> bool {
        let mut moved = false;
        for plane in &mut self.planes {
            let slot = plane.slot as usize;
            let pose = Some(world.bodies.shape_pose(slot));
            moved |= plane.pose != pose || free.free_velocity[slot] != Twist::ZERO;
            plane.pose = pose;
        }
        moved
    }

    /// Gives new fat bounds to the bodies that left theirs, and says how many did.
    fn refatten(&mut self, world: &World, ahead: Ahead<'_>, all: bool) -> usize {
        let Ahead { free, horizon: h } = ahead;
        let looks_ahead = world.settings.prediction > 0.0;
        let base = 0.5 * world.settings.prediction;
        let bodies = &world.bodies;
        self.fat
            .par_chunks_mut(CHUNK)
            .zip(self.changed.par_chunks_mut(CHUNK))
            .enumerate()
            .map(|(chunk, (fat, changed))| {
                let mut count = 0;
                for (k, (fat, changed)) in fat.iter_mut().zip(changed).enumerate() {
                    let slot = chunk * CHUNK + k;
                    *changed = false;
                    let Some(shape) = bodies.shape[slot].as_ref() else {
                        continue;
                    };
                    let bounding = shape.bounding_radius();
                    if bounding.is_infinite() {
                        continue;
                    }
                    let way = |u: &Twist| {
                        h * (u.linear.norm() + u.angular.norm() * arm(bodies, slot, bounding))
                    };
                    let travel = way(&free.free_velocity[slot]);
                    let ahead = base + if looks_ahead { travel } else { 0.0 };
                    let pose = bodies.shape_pose(slot);
                    // Balls are many and simple: no dynamic call for them.
                    let tight = match shape.geometry() {
                        Geometry::Ball { radius } => {
                            let (c, r) = (pose.position, Vec3::repeat(*radius));
                            Aabb::new((c - r).into(), (c + r).into())
                        }
                        _ => shape.parry().compute_aabb(&pose.to_parry()),
                    };
                    let needed = (tight.loosened(ahead), bounding + ahead);
                    if !all && fat.contains(&needed.0, pose.position, needed.1) {
                        continue;
                    }
                    // What never moves needs no room; a ground is large, and so its margin would be.
                    let room = match bodies.kind[slot] {
                        BodyKind::Fixed => 0.0,
                        // A look along half a step asks for less than the next one will.
                        _ => {
                            let usual = way(&bodies.velocity[slot]);
                            MARGIN * bounding + STEPS_AHEAD * travel.max(usual)
                        }
                    };
                    let margin = ahead + room;
                    let aabb = tight.loosened(margin);
                    *fat = Fat::new(&aabb, pose.position, bounding + margin);
                    *changed = true;
                    count += 1;
                }
                count
            })
            .sum()
    }

    fn rebuild(&mut self, world: &World) {
        let slots = (0..self.fat.len()).filter(|slot| self.in_tree(world, *slot));
        let leaves = slots.map(|slot| (slot, self.fat[slot].aabb()));
        // Building at once wants leaves 0 and 1 where there are only one or two.
        self.bvh = if leaves.clone().nth(2).is_some() {
            Bvh::from_iter(BvhBuildStrategy::Binned, leaves)
        } else {
            let mut small = Bvh::new();
            for (slot, aabb) in leaves {
                small.insert(aabb, slot as u32);
            }
            small
        };
    }

    fn in_tree(&self, world: &World, slot: usize) -> bool {
        world.bodies.shape[slot].is_some() && !is_unbounded(&world.bodies, slot)
    }

    fn refit(&mut self) {
        for (slot, _) in self.changed.iter().enumerate().filter(|(_, c)| **c) {
            self.bvh
                .insert_or_update_partially(self.fat[slot].aabb(), slot as u32, 0.0);
        }
        self.bvh.refit_parallel(&mut self.workspace);
        self.bvh.optimize_incremental(&mut self.workspace);
    }

    fn find_all(&mut self, world: &World, ahead: Ahead<'_>) {
        // The tree gives all pairs at once: those that overlap in a corner alone, or may not collide, are in it too.
        let most = 4 * MOST_PAIRS as u64;
        if let Some(pairs) = self.estimate(world).filter(|pairs| *pairs > most) {
            return self.give_up(pairs);
        }
        let found = self.bvh.traverse_bvtt_single_tree_parallel::<false>();
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        let kept = found.par_iter();
        pairs.par_extend(kept.filter_map(|(a, b)| self.keep(world, *a, *b)));
        pairs.extend(self.plane_pairs(world, ahead, |_| true));
        pairs.par_sort_unstable();
        self.pairs = pairs;
    }

    fn find_changed(&mut self, world: &World, ahead: Ahead<'_>) {
        let this = &*self;
        let changed = &this.changed;
        let mut new: Vec<[u32; 2]> = (0..this.fat.len())
            .into_par_iter()
            .filter(|slot| changed[*slot] && this.in_tree(world, *slot))
            .flat_map_iter(|slot| {
                let (mine, own) = (slot as u32, BvhNode::leaf(this.fat[slot].aabb(), 0));
                this.bvh
                    .leaves(move |node| node.intersects(&own))
                    // Two changed bodies find each other: the lower one reports.
                    .filter(move |o| *o != mine && (!changed[*o as usize] || mine < *o))
                    .filter_map(move |other| this.keep(world, mine, other))
            })
            .collect();
        new.extend(this.plane_pairs(world, ahead, |slot| changed[slot]));
        new.par_sort_unstable();

        // What stands is sorted already, and so is what is new: a stable sort only merges them.
        let Self { changed, pairs, .. } = self;
        pairs.retain(|pair| pair.iter().all(|b| !changed[*b as usize]));
        if !new.is_empty() {
            pairs.extend(new);
            pairs.sort();
        }
    }

    /// Pairs of half-spaces with those bodies of a selection that reach below them.
    fn plane_pairs(
        &self,
        world: &World,
        Ahead { free, horizon: h }: Ahead<'_>,
        select: impl Fn(usize) -> bool,
    ) -> Vec<[u32; 2]> {
        let bodies = &world.bodies;
        let mut out = Vec::new();
        for plane in &self.planes {
            let slot = plane.slot as usize;
            let Some(Geometry::HalfSpace { normal }) =
                bodies.shape[slot].as_ref().map(|s| s.geometry())
            else {
                continue;
            };
            let pose = bodies.shape_pose(slot);
            let normal = pose.rotation * normal.normalize();
            let u = &free.free_velocity[slot];
            for other in (0..self.fat.len()).filter(|o| select(*o) && self.in_tree(world, *o)) {
                let fat = &self.fat[other];
                let from = fat.center() - pose.position;
                let travel = h * (u.linear.norm() + u.angular.norm() * from.norm());
                if normal.dot(&from) <= f64::from(fat.radius) + travel
                    && let Some(pair) = admissible(world, plane.slot, other as u32)
                {
                    out.push(pair);
                }
            }
        }
        out
    }

    fn keep(&self, world: &World, a: u32, b: u32) -> Option<[u32; 2]> {
        if self.fat[a as usize].overlaps(&self.fat[b as usize]) {
            admissible(world, a, b)
        } else {
            None
        }
    }
}

/// The pair in order, if the two bodies may collide at all.
fn admissible(world: &World, a: u32, b: u32) -> Option<[u32; 2]> {
    let bodies = &world.bodies;
    let (i, j) = (a as usize, b as usize);
    let pair = [a.min(b), a.max(b)];
    let moves = bodies.kind[i] == BodyKind::Dynamic || bodies.kind[j] == BodyKind::Dynamic;
    let may = moves
        && bodies.groups[i].collide(bodies.groups[j])
        && world.joined.binary_search(&pair).is_err();
    may.then_some(pair)
}

fn is_unbounded(bodies: &Bodies, slot: usize) -> bool {
    bodies.shape[slot]
        .as_ref()
        .is_some_and(|s| s.bounding_radius().is_infinite())
}

/// Farthest point of the shape from the centre of mass, an upper bound (m).
pub(super) fn arm(bodies: &Bodies, slot: usize, bounding: f64) -> f64 {
    bounding + bodies.shape_offset[slot].norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_what_they_were_made_of_wherever_it_is() {
        for far in [0.0, 0.1, -7.3, 1e3, -1e5, 9.9e7] {
            for size in [1e-9, 0.3, 1e6] {
                let center = Vec3::new(far, -far / 3.0, far / 7.0 + size);
                let half = Vec3::repeat(size);
                let aabb = Aabb::new((center - half).into(), (center + half).into());
                let fat = Fat::new(&aabb, center, size);
                assert!(fat.contains(&aabb, center, size), "{far} {size}: {fat:?}");
                assert!(fat.overlaps(&fat));
            }
        }
    }
}
