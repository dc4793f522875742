//! Broad phase: parry's bounding volume hierarchy over fattened bounds.
//!
//! Every body has a fat box and a fat sphere around it. As long as it stays inside both, its pairs
//! stand; a body that leaves gets new ones. Pairs are kept sorted, so that their order tells nothing
//! about the tree. The sphere matters in dense packings: in a cubic grid of balls the boxes of 26
//! neighbours touch, the spheres of 6.

use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};
use rayon::prelude::*;

use crate::math::Vec3;
use crate::problem::ProblemBodies;
use crate::world::{Bodies, BodyKind, Geometry, World};

/// Bounds grow by this share of a body's bounding radius, so that a body at rest, or a slow one,
/// keeps its pairs for many steps.
const MARGIN: f64 = 0.05;
/// And by this many steps of its motion.
const STEPS_AHEAD: f64 = 3.0;
/// Above this share of changed bodies all pairs are found anew: cheaper than many single queries.
const FULL_SEARCH: f64 = 0.1;
/// Bodies per unit of parallel work.
const CHUNK: usize = 512;

/// The bounds that a body's pairs are good for.
#[derive(Clone, Copy, Debug)]
struct Fat {
    aabb: Aabb,
    center: Vec3,
    radius: f64,
}

impl Default for Fat {
    fn default() -> Self {
        Self {
            aabb: Aabb::new_invalid(),
            center: Vec3::zeros(),
            radius: -1.0,
        }
    }
}

impl Fat {
    fn overlaps(&self, other: &Fat) -> bool {
        let reach = self.radius + other.radius;
        self.aabb.intersects(&other.aabb)
            && (self.center - other.center).norm_squared() <= reach * reach
    }
}

/// The tree, the fat bounds and the pairs.
#[derive(Default)]
pub struct BroadPhase {
    bvh: Bvh,
    workspace: BvhWorkspace,
    fat: Vec<Fat>,
    changed: Vec<bool>,
    /// Bodies without bounds: half-spaces. They stay out of the tree.
    unbounded: Vec<u32>,
    pairs: Vec<[u32; 2]>,
    merged: Vec<[u32; 2]>,
    revision: Option<u64>,
}

impl BroadPhase {
    /// The pairs, sorted; the lower slot first.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// Brings the pairs up to date.
    pub fn update(&mut self, world: &World, free: &ProblemBodies) {
        let fresh = self.revision != Some(world.revision);
        if fresh {
            self.forget(world);
        }
        let changed = self.refatten(world, free, fresh);
        if fresh {
            self.rebuild(world);
            self.find_all(world);
        } else if changed > 0 {
            self.refit();
            if changed as f64 > FULL_SEARCH * self.fat.len() as f64 {
                self.find_all(world);
            } else {
                self.find_changed(world);
            }
        }
    }

    fn forget(&mut self, world: &World) {
        self.revision = Some(world.revision);
        self.fat.clear();
        self.fat.resize(world.bodies.slots(), Fat::default());
        self.changed.clear();
        self.changed.resize(world.bodies.slots(), false);
        self.unbounded.clear();
        self.unbounded.extend(
            (0..world.bodies.slots())
                .filter(|slot| is_unbounded(&world.bodies, *slot))
                .map(|slot| slot as u32),
        );
    }

    /// Gives new fat bounds to the bodies that left theirs, and says how many did.
    fn refatten(&mut self, world: &World, free: &ProblemBodies, all: bool) -> usize {
        let h = world.settings.substep();
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
                    if bounding.is_infinite()
                        || (bodies.kind[slot] == BodyKind::Fixed && !all && fat.radius >= 0.0)
                    {
                        continue;
                    }
                    let velocity = &free.free_velocity[slot];
                    let travel = h
                        * (velocity.linear.norm()
                            + velocity.angular.norm() * arm(bodies, slot, bounding));
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
                    let inside = fat.aabb.contains(&tight.loosened(ahead))
                        && (pose.position - fat.center).norm() + bounding + ahead <= fat.radius;
                    if inside && !all {
                        continue;
                    }
                    let margin = ahead + MARGIN * bounding + STEPS_AHEAD * travel;
                    *fat = Fat {
                        aabb: tight.loosened(margin),
                        center: pose.position,
                        radius: bounding + margin,
                    };
                    *changed = true;
                    count += 1;
                }
                count
            })
            .sum()
    }

    fn rebuild(&mut self, world: &World) {
        let leaves: Vec<(usize, Aabb)> = (0..self.fat.len())
            .filter(|slot| self.in_tree(world, *slot))
            .map(|slot| (slot, self.fat[slot].aabb))
            .collect();
        // Building at once wants leaves 0 and 1 where there are only one or two.
        self.bvh = if leaves.len() > 2 {
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
                .insert_or_update_partially(self.fat[slot].aabb, slot as u32, 0.0);
        }
        self.bvh.refit_parallel(&mut self.workspace);
        self.bvh.optimize_incremental(&mut self.workspace);
    }

    fn find_all(&mut self, world: &World) {
        let found = self.bvh.traverse_bvtt_single_tree_parallel::<false>();
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        pairs.par_extend(
            found
                .par_iter()
                .filter_map(|(a, b)| self.keep(world, *a, *b)),
        );
        self.pairs = pairs;
        let unbounded = self.unbounded_pairs(world, |_| true);
        self.pairs.extend(unbounded);
        self.pairs.par_sort_unstable();
    }

    fn find_changed(&mut self, world: &World) {
        let this = &*self;
        let changed = &this.changed;
        let mut new: Vec<[u32; 2]> = (0..this.fat.len())
            .into_par_iter()
            .filter(|slot| changed[*slot] && this.in_tree(world, *slot))
            .flat_map_iter(|slot| {
                let mine = slot as u32;
                this.bvh
                    .intersect_aabb(&this.fat[slot].aabb)
                    // Two changed bodies find each other: the lower one reports.
                    .filter(move |o| *o != mine && (!changed[*o as usize] || mine < *o))
                    .filter_map(move |other| this.keep(world, mine, other))
            })
            .collect();
        new.extend(this.unbounded_pairs(world, |slot| changed[slot]));
        new.par_sort_unstable();

        // Merge with the pairs that stand, which are sorted already.
        let Self {
            changed,
            pairs,
            merged,
            ..
        } = self;
        let standing = pairs
            .iter()
            .filter(|[a, b]| !changed[*a as usize] && !changed[*b as usize]);
        let mut new = new.iter().peekable();
        merged.clear();
        for pair in standing {
            while let Some(first) = new.next_if(|n| *n < pair) {
                merged.push(*first);
            }
            merged.push(*pair);
        }
        merged.extend(new);
        std::mem::swap(pairs, merged);
    }

    /// Pairs of half-spaces with those bodies of a selection that reach below them.
    fn unbounded_pairs(&self, world: &World, select: impl Fn(usize) -> bool) -> Vec<[u32; 2]> {
        let bodies = &world.bodies;
        let mut out = Vec::new();
        for &plane in &self.unbounded {
            let slot = plane as usize;
            let Some(Geometry::HalfSpace { normal }) =
                bodies.shape[slot].as_ref().map(|s| s.geometry())
            else {
                continue;
            };
            let pose = bodies.shape_pose(slot);
            let normal = pose.rotation * normal.normalize();
            for other in (0..self.fat.len()).filter(|o| select(*o) && self.in_tree(world, *o)) {
                let fat = &self.fat[other];
                if normal.dot(&(fat.center - pose.position)) <= fat.radius
                    && let Some(pair) = admissible(bodies, plane, other as u32)
                {
                    out.push(pair);
                }
            }
        }
        out
    }

    fn keep(&self, world: &World, a: u32, b: u32) -> Option<[u32; 2]> {
        if self.fat[a as usize].overlaps(&self.fat[b as usize]) {
            admissible(&world.bodies, a, b)
        } else {
            None
        }
    }
}

/// The pair in order, if the two bodies may collide at all.
fn admissible(bodies: &Bodies, a: u32, b: u32) -> Option<[u32; 2]> {
    let (i, j) = (a as usize, b as usize);
    let moves = bodies.kind[i] == BodyKind::Dynamic || bodies.kind[j] == BodyKind::Dynamic;
    (moves && bodies.groups[i].collide(bodies.groups[j])).then(|| [a.min(b), a.max(b)])
}

fn is_unbounded(bodies: &Bodies, slot: usize) -> bool {
    bodies.shape[slot]
        .as_ref()
        .is_some_and(|s| s.bounding_radius().is_infinite())
}

/// Farthest point of the shape from the centre of mass, an upper bound (m).
pub(super) fn arm(bodies: &Bodies, slot: usize, bounding: f64) -> f64 {
    bounding + bodies.shape_offset[slot].position.norm()
}
