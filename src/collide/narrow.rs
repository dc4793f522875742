//! Narrow phase: searches of our own for two balls and for convex solids, parry's manifolds for the rest.

use std::f64::consts::PI;

use parry3d_f64::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use parry3d_f64::shape::{Shape as ParryShape, TypedShape};
use rayon::prelude::*;

use super::Ahead;
use super::broad::arm;
use super::convex::{self, ConvexSearch};
use super::hulls::{HullPoint, HullSearch};
use super::parts::PartPairs;
use super::solid::Solid;
use super::{FoundContact, reduce};
use crate::math::{Mat3, Pose, Quat, Vec3};
use crate::problem::{Contacts, ProblemBodies};
use crate::world::hull::Plane;
use crate::world::manifolds::{ManifoldMemory, ManifoldPoint, Manifolds};
use crate::world::{Bodies, Geometry, Shape, World};

/// Pairs per unit of parallel work.
const CHUNK: usize = 128;

/// How far two boxes may move against each other with the same contact points, as a share of the
/// smallest half extent; the gap itself is always that of the moved points.
const MOVED: f64 = 2e-3;
/// How far they may turn (rad). Corners on a face stay exact; other gaps are off by the square of it.
const TURNED: f64 = 1e-3;
/// Points of one pair that are nearer to each other than this, as a share of the smaller body's bounding
/// radius, are one: two would only make the problem singular.
const SAME: f64 = 1e-3;
/// Cosine of the angle up to which their normals are one.
const ALIGNED: f64 = 1.0 - 1e-6;
/// How much farther than needed points are looked for, as a share of the smallest half extent.
const REACH_SHARE: f64 = 0.02;

/// Reusable memory of one unit of work.
#[derive(Default)]
struct Worker {
    found: Vec<FoundContact>,
    manifolds: Vec<ContactManifold<(), ()>>,
    manifold: ContactManifold<(), ()>,
    parts: PartPairs,
    hulls: HullSearch,
    convex: ConvexSearch,
    kept: Manifolds,
    /// The first box of the last pair of boxes, where it is.
    first: Option<(usize, Pose, Mat3)>,
    /// The points of one manifold, all with one normal.
    candidates: Vec<FoundContact>,
    chosen: Vec<usize>,
    sorted: Vec<usize>,
    place: Vec<usize>,
    is_double: Vec<bool>,
}

/// Chunks that are searched together: what is found is kept twice only for so many.
const WAVE: usize = 128;

/// The workers, one per chunk of a wave; kept from step to step.
#[derive(Default)]
pub struct NarrowPhase {
    workers: Vec<Worker>,
    /// Contacts when they were too many.
    crowd: Option<u64>,
}

/// The most contacts of a step: each takes some 700 bytes from here to the solver.
pub const MOST_CONTACTS: usize = 4_000_000;

impl NarrowPhase {
    /// How many contacts there were of a part of the pairs, where those of all are too many.
    pub fn crowd(&self) -> Option<u64> {
        self.crowd
    }

    /// Finds the contacts of all pairs, in the order of the pairs; those of some where there are too many.
    pub fn find(
        &mut self,
        world: &World,
        ahead: Ahead<'_>,
        pairs: &[[u32; 2]],
        out: &mut Contacts,
        manifolds: &mut Manifolds,
    ) {
        let chunks = pairs.len().div_ceil(CHUNK).min(WAVE);
        if self.workers.len() < chunks {
            self.workers.resize_with(chunks, Worker::default);
        }
        out.clear_found();
        manifolds.clear();
        self.crowd = None;
        for wave in pairs.chunks(CHUNK * WAVE) {
            let chunks = wave.par_chunks(CHUNK);
            let workers = &mut self.workers[..chunks.len()];
            workers
                .par_iter_mut()
                .zip(chunks)
                .for_each(|(worker, pairs)| worker.run(world, ahead, pairs));
            let found: usize = workers.iter().map(|worker| worker.found.len()).sum();
            if out.len() + found > MOST_CONTACTS {
                self.crowd = Some((out.len() + found) as u64);
                return;
            }
            out.reserve_found(found);
            for worker in workers.iter() {
                out.extend_found(&world.bodies, &worker.found);
                manifolds.append(&worker.kept);
            }
        }
    }
}

/// Whether two bodies are near enough to each other to meet within the step by these velocities.
pub fn may_meet(world: &World, ahead: Ahead<'_>, pair: [u32; 2]) -> bool {
    let [i, j] = pair.map(|b| b as usize);
    let [Some(a), Some(b)] = [i, j].map(|slot| world.bodies.shape[slot].as_ref()) else {
        return false;
    };
    Search::new(world, ahead).reach([i, j], [a, b]).is_some()
}

/// What a pair's search needs to know.
struct Search<'a> {
    bodies: &'a Bodies,
    free: &'a ProblemBodies,
    h: f64,
    prediction: f64,
}

/// How near to each other two bodies must be now to meet within the step.
#[derive(Clone, Copy, Default)]
struct Reach {
    /// Farther apart than this they do not meet, wherever they go (m).
    far: f64,
    /// What the second one goes, seen from the first (m).
    way: Vec3,
    /// Nor do they where they are farther apart than this all along the way, turned as they are now (m).
    near: f64,
    /// How far points of each are from what it turns about (m), and how far it turns (rad).
    levers: [f64; 2],
    turn: [f64; 2],
}

impl Reach {
    /// How far the ways of points of both bend (m).
    fn arc(&self) -> f64 {
        let bend = |k: usize| self.levers[k] * (1.0 - (0.5 * self.turn[k]).min(PI).cos());
        bend(0) + bend(1)
    }
}

impl<'a> Search<'a> {
    fn new(world: &'a World, ahead: Ahead<'a>) -> Self {
        Self {
            bodies: &world.bodies,
            free: ahead.free,
            h: ahead.horizon,
            prediction: world.settings.prediction,
        }
    }

    /// How far apart two bodies may be and still meet within the step; none where they are farther apart.
    fn reach(&self, [i, j]: [usize; 2], [a, b]: [&Shape; 2]) -> Option<Reach> {
        let apart = (self.bodies.position[i] - self.bodies.position[j]).norm();
        let arms = [(i, a), (j, b)].map(|(k, s)| arm(self.bodies, k, s.bounding_radius()));
        let mut reach = Reach::default();
        if self.prediction > 0.0 {
            let (a, b) = (&self.free.free_velocity[i], &self.free.free_velocity[j]);
            // A half-space is infinitely large: what counts is how far away the other body is.
            let lever = |own: f64, other: f64| own.min(apart + other);
            let levers = [lever(arms[0], arms[1]), lever(arms[1], arms[0])];
            let turn = [a, b].map(|u| self.h * u.angular.norm());
            let turning = turn[0] * levers[0] + turn[1] * levers[1];
            (reach.levers, reach.turn) = (levers, turn);
            reach.way = (b.linear - a.linear) * self.h;
            reach.near = self.prediction + turning;
            reach.far = reach.near + reach.way.norm();
        }
        (apart <= arms[0] + arms[1] + reach.far).then_some(reach)
    }

    /// Where something that is fixed to a body would be when the step has passed.
    fn later(&self, slot: usize, place: &Pose) -> Pose {
        let (u, center) = (&self.free.free_velocity[slot], self.bodies.position[slot]);
        let turn = Quat::from_scaled_axis(u.angular * self.h);
        let position = center + u.linear * self.h + turn * (place.position - center);
        Pose::new(position, turn * place.rotation)
    }

    /// Whether a gap counts as a contact: within the prediction distance, or closing within the step.
    fn counts(&self, i: usize, j: usize, point: Vec3, normal: Vec3, gap: f64) -> bool {
        if gap <= self.prediction {
            return true;
        }
        if self.prediction <= 0.0 {
            return false;
        }
        let velocity =
            |slot: usize| self.free.free_velocity[slot].at(point - self.bodies.position[slot]);
        let approach = normal.dot(&(velocity(i) - velocity(j)));
        gap <= self.prediction + self.h * approach.max(0.0)
    }
}

impl Worker {
    fn run(&mut self, world: &World, ahead: Ahead<'_>, pairs: &[[u32; 2]]) {
        let search = Search::new(world, ahead);
        self.found.clear();
        self.kept.clear();
        self.first = None;
        let old = &world.manifolds.of_pair;
        let mut at = pairs
            .first()
            .map_or(0, |first| old.partition_point(|m| m.bodies < *first));
        for pair in pairs {
            let [i, j] = pair.map(|b| b as usize);
            let (Some(a), Some(b)) = (&world.bodies.shape[i], &world.bodies.shape[j]) else {
                continue;
            };
            let Some(reach) = search.reach([i, j], [a, b]) else {
                continue;
            };
            let meeting = Meeting {
                search: &search,
                pair: *pair,
                reach,
                same: SAME * a.half_diagonal().min(b.half_diagonal()),
            };
            match (a.geometry(), b.geometry()) {
                (Geometry::Ball { radius: r }, Geometry::Ball { radius: s }) => {
                    self.balls(&search, *pair, [*r, *s], reach.far);
                }
                (Geometry::Cuboid { .. }, Geometry::Cuboid { .. }) => {
                    while old.get(at).is_some_and(|m| m.bodies < *pair) {
                        at += 1;
                    }
                    let old = old.get(at).filter(|m| m.bodies == *pair);
                    self.cuboids(&meeting, [a, b], old, &world.manifolds);
                }
                _ => {
                    let poses = [i, j].map(|slot| world.bodies.shape_pose(slot));
                    if self.parts.find([a, b], &poses, reach.far) {
                        self.compounds(&meeting, [a, b], &poses);
                    } else if !self.solids(&meeting, [a, b], [0, 0], &poses) {
                        self.general(&meeting, [a, b], &poses);
                    }
                }
            }
        }
    }

    /// Two balls, in world coordinates: exact on the axes, whatever the rotations are.
    fn balls(&mut self, search: &Search, pair: [u32; 2], radii: [f64; 2], reach: f64) {
        let [i, j] = pair.map(|b| b as usize);
        // A ball's centre is its centre of mass.
        let (x, y) = (search.bodies.position[i], search.bodies.position[j]);
        let between = y - x;
        let square = between.norm_squared();
        let touch = radii[0] + radii[1];
        if square > (touch + reach) * (touch + reach) {
            return;
        }
        let distance = square.sqrt();
        let normal = if distance > 0.0 {
            between / distance
        } else {
            Vec3::y()
        };
        let gap = distance - touch;
        let point = x + normal * (radii[0] + 0.5 * gap);
        if search.counts(i, j, point, normal, gap) {
            self.found.push(FoundContact {
                bodies: pair,
                parts: [0; 2],
                feature: 0,
                point,
                normal,
                gap,
            });
        }
    }

    /// Two boxes: the points of an earlier step while they have hardly moved against each other,
    /// else by the search for hulls.
    fn cuboids(
        &mut self,
        meeting: &Meeting,
        [a, b]: [&Shape; 2],
        old: Option<&ManifoldMemory>,
        manifolds: &Manifolds,
    ) {
        let (search, pair) = (meeting.search, meeting.pair);
        let [i, j] = pair.map(|b| b as usize);
        let extents = [a, b].map(|s| s.parry().as_cuboid().map(|c| Vec3::from(c.half_extents)));
        let [Some(first), Some(second)] = extents else {
            return;
        };
        let half_extents = [first, second];
        let (poses, turn) = self.places(search.bodies, [i, j]);
        if old.is_none() && are_apart(&poses, &turn, &half_extents, &meeting.reach) {
            return;
        }
        let reach = meeting.reach.far;
        let relative = poses[0].inverse().compose(&poses[1]);
        // How far two points may have moved against each other while the manifold was kept.
        let smallest = half_extents[0].min().min(half_extents[1].min());
        let slack = MOVED * smallest + TURNED * (half_extents[0].norm() + half_extents[1].norm());
        let first = self.kept.point.len() as u32;
        let kept = match old {
            Some(old)
                if old.half_extents == half_extents
                    && old.reach >= reach + slack
                    && has_hardly_moved(&old.relative, &relative, &half_extents) =>
            {
                self.kept.point.extend_from_slice(manifolds.points(old));
                *old
            }
            _ => {
                // Somewhat farther than asked for, to be of use while the boxes gain speed.
                let far = reach + 2.0 * slack + REACH_SHARE * smallest;
                ManifoldMemory {
                    bodies: pair,
                    points: [0; 2],
                    half_extents,
                    relative,
                    normal: self.find_cuboids(meeting, [a, b], &poses, &relative, [reach, far]),
                    reach: far,
                }
            }
        };
        let last = self.kept.point.len() as u32;
        if first == last {
            return;
        }
        let span = first as usize..last as usize;
        self.meet_cuboids(search, pair, &poses, &turn, kept.normal, span);
        if self.candidates.is_empty() {
            // How long a pair without contacts has been on the list is the broad phase's secret.
            self.kept.point.truncate(first as usize);
            return;
        }
        self.kept.of_pair.push(ManifoldMemory {
            points: [first, last],
            ..kept
        });
        let parts = Parts {
            shapes: [a, b],
            index: [0; 2],
            places: &poses,
        };
        self.keep_polygon(search, pair, &parts);
    }

    /// Where the shapes of two boxes are, and their axes. Pairs come in the order of their first body, which is kept.
    fn places(&mut self, bodies: &Bodies, [i, j]: [usize; 2]) -> ([Pose; 2], [Mat3; 2]) {
        let place = |slot: usize| {
            let pose = bodies.shape_pose(slot);
            (slot, pose, pose.rotation.to_rotation_matrix().into_inner())
        };
        let (_, first, turn) = match self.first {
            Some(known) if known.0 == i => known,
            _ => *self.first.insert(place(i)),
        };
        let (_, second, other_turn) = place(j);
        ([first, second], [turn, other_turn])
    }

    /// Candidates from kept points of two boxes, where these are now, and their normal in the frame of the first one.
    fn meet_cuboids(
        &mut self,
        search: &Search,
        pair: [u32; 2],
        poses: &[Pose; 2],
        turn: &[Mat3; 2],
        normal: Vec3,
        points: std::ops::Range<usize>,
    ) {
        let [i, j] = pair.map(|b| b as usize);
        self.candidates.clear();
        let Some(normal) = unit(poses[0].rotation * normal) else {
            return;
        };
        for p in &self.kept.point[points] {
            let on_first = poses[0].position + turn[0] * p.local[0];
            let on_second = poses[1].position + turn[1] * p.local[1];
            let gap = normal.dot(&(on_second - on_first));
            let point = (on_first + on_second) * 0.5;
            if gap.is_finite() && search.counts(i, j, point, normal, gap) {
                self.candidates.push(FoundContact {
                    bodies: pair,
                    parts: [0; 2],
                    feature: p.feature,
                    point,
                    normal,
                    gap,
                });
            }
        }
    }

    /// Adds the points of two boxes that are no farther apart than `reaches[0]` to those that are kept, as far as these are
    /// not farther apart than `reaches[1]`, and returns their normal, in the frame of the first one.
    fn find_cuboids(
        &mut self,
        meeting: &Meeting,
        boxes: [&Shape; 2],
        poses: &[Pose; 2],
        relative: &Pose,
        reaches: [f64; 2],
    ) -> Vec3 {
        let (points, normal) = find_hulls(
            &mut self.hulls,
            &mut self.convex,
            boxes,
            [0, 0],
            relative,
            reaches,
            |solids| meeting.pass(solids, boxes, [0, 0], poses),
        );
        let back = relative.inverse();
        let points = points.iter().map(|p| {
            let half = normal * (0.5 * p.gap);
            let on_second = back.transform_point(p.point + half);
            ManifoldPoint {
                local: [p.point - half, on_second],
                feature: feature_key([0, 0, p.feature[0], p.feature[1]]),
            }
        });
        self.kept.point.extend(points);
        normal
    }

    /// Of the candidates, keeps those that carry the support polygon; none where the parts are apart and pass each other.
    fn keep_polygon(&mut self, search: &Search, pair: [u32; 2], parts: &Parts) {
        let are_apart = self.candidates.iter().all(|c| c.gap > search.prediction);
        if are_apart && (self.candidates.is_empty() || parts.pass(search, pair)) {
            return;
        }
        reduce::choose(&self.candidates, &mut self.chosen);
        let chosen = self.chosen.iter().map(|k| self.candidates[*k]);
        self.found.extend(chosen);
    }

    /// Two convex solids, or one and a half-space, by searches of our own; these may be parts of compounds. False where
    /// they are left to parry.
    fn solids(
        &mut self,
        meeting: &Meeting,
        shapes: [&Shape; 2],
        parts: [u32; 2],
        places: &[Pose; 2],
    ) -> bool {
        let index = parts.map(|part| part as usize);
        let back = places[0].inverse();
        let relative = back.compose(&places[1]);
        let reach = meeting.reach.far;
        let colliders = [0, 1].map(|k| shapes[k].part(index[k]));
        let pass = |solids: &[Solid; 2]| meeting.pass(solids, shapes, index, places);
        let found = if are_round(colliders) {
            let solids = solids_of(shapes, index, [&Pose::IDENTITY, &relative]);
            if let [Some(a), Some(b)] = solids
                && pass(&[a, b])
            {
                return true;
            }
            round(&mut self.convex, colliders, solids, &relative, reach)
        } else {
            let (hulls, convex) = (&mut self.hulls, &mut self.convex);
            flat(hulls, convex, shapes, index, &relative, reach, pass)
        };
        let Some((points, normal)) = found else {
            return false;
        };
        self.candidates.clear();
        if let Some(normal) = unit(places[0].rotation * normal) {
            for p in points {
                let point = places[0].transform_point(p.point);
                let feature = [parts[0], parts[1], p.feature[0], p.feature[1]];
                meeting.add(&mut self.candidates, feature, point, normal, p.gap);
            }
        }
        let parts = Parts {
            shapes,
            index,
            places,
        };
        self.keep_polygon(meeting.search, meeting.pair, &parts);
        true
    }

    /// Compounds, part by part, as they were found.
    fn compounds(&mut self, meeting: &Meeting, shapes: [&Shape; 2], poses: &[Pose; 2]) {
        let first = self.found.len();
        let parts = std::mem::take(&mut self.parts);
        for &pair in &parts.pairs {
            let place = |k: usize| poses[k].compose(&shapes[k].part_pose(pair[k] as usize));
            let places = [place(0), place(1)];
            if self.solids(meeting, shapes, pair, &places) {
                continue;
            }
            let relative = places[0].to_parry().inv_mul(&places[1].to_parry());
            let [a, b] = [0, 1].map(|k| shapes[k].part(pair[k] as usize));
            let mut manifold = std::mem::take(&mut self.manifold);
            manifold.clear();
            let supported = DefaultQueryDispatcher.contact_manifold_convex_convex(
                &relative,
                a,
                b,
                None,
                None,
                meeting.reach.far,
                &mut manifold,
            );
            [manifold.subshape1, manifold.subshape2] = pair;
            if supported.is_ok() && !manifold.points.is_empty() {
                self.manifold(meeting, shapes, &places, &manifold);
            }
            self.manifold = manifold;
        }
        self.parts = parts;
        self.unite(first, meeting.same);
    }

    /// Any two shapes, through parry; the convex polyhedra among their parts on their own.
    fn general(&mut self, meeting: &Meeting, shapes: [&Shape; 2], poses: &[Pose; 2]) {
        let [a, b] = shapes.map(Shape::parry);
        let relative = poses[0].to_parry().inv_mul(&poses[1].to_parry());
        // Nothing of the last step or pair may remain: the contacts depend on the poses alone.
        self.manifolds.clear();
        let supported = DefaultQueryDispatcher.contact_manifolds(
            &relative,
            a.as_ref(),
            b.as_ref(),
            meeting.reach.far,
            &mut self.manifolds,
            &mut None,
        );
        if supported.is_err() {
            // Two shapes that parry has no manifold for (two half-spaces, say) do not collide.
            return;
        }
        if self.manifolds.len() > 1 {
            self.manifolds.sort_by_key(|m| (m.subshape1, m.subshape2));
        }
        let manifolds = std::mem::take(&mut self.manifolds);
        let first = self.found.len();
        for manifold in &manifolds {
            let place = |pose: &Pose, sub: Option<&parry3d_f64::math::Pose>| match sub {
                None => *pose,
                Some(sub) => pose.compose(&Pose::new(sub.translation.into(), sub.rotation.into())),
            };
            let places = [
                place(&poses[0], manifold.subshape_pos1()),
                place(&poses[1], manifold.subshape_pos2()),
            ];
            let parts = [manifold.subshape1, manifold.subshape2];
            if !self.solids(meeting, shapes, parts, &places) && !manifold.points.is_empty() {
                self.manifold(meeting, shapes, &places, manifold);
            }
        }
        self.manifolds = manifolds;
        self.unite(first, meeting.same);
    }

    /// Of points found from `first` on that are one, keeps the first, with the smallest gap.
    fn unite(&mut self, first: usize, same: f64) {
        let found = &mut self.found[first..];
        if found.len() < 2 {
            return;
        }
        // Only neighbours along one axis need a look.
        let along = |f: &FoundContact| f.point.x;
        self.sorted.clear();
        self.sorted.extend(0..found.len());
        self.sorted
            .sort_unstable_by(|a, b| along(&found[*a]).total_cmp(&along(&found[*b])));
        self.place.clear();
        self.place.resize(found.len(), 0);
        for (place, k) in self.sorted.iter().enumerate() {
            self.place[*k] = place;
        }
        self.is_double.clear();
        self.is_double.resize(found.len(), false);
        for k in 0..found.len() {
            if self.is_double[k] {
                continue;
            }
            let FoundContact {
                point,
                normal,
                mut gap,
                ..
            } = found[k];
            let is_near = |other: &&usize| (along(&found[**other]) - point.x).abs() <= same;
            let (before, after) = self.sorted.split_at(self.place[k]);
            let before = before.iter().rev().take_while(is_near);
            let after = after[1..].iter().take_while(is_near);
            for &other in before.chain(after).filter(|other| **other > k) {
                let f = &found[other];
                if (f.point - point).norm_squared() <= same * same
                    && f.normal.dot(&normal) >= ALIGNED
                    && !self.is_double[other]
                {
                    self.is_double[other] = true;
                    gap = gap.min(f.gap);
                }
            }
            found[k].gap = gap;
        }
        let mut kept = 0;
        for k in 0..found.len() {
            if !self.is_double[k] {
                found[kept] = found[k];
                kept += 1;
            }
        }
        self.found.truncate(first + kept);
    }

    /// What parry found for two parts.
    fn manifold(
        &mut self,
        meeting: &Meeting,
        shapes: [&Shape; 2],
        places: &[Pose; 2],
        manifold: &ContactManifold<(), ()>,
    ) {
        let [first, second] = places;
        let Some(normal) = unit(first.rotation * Vec3::from(manifold.local_n1)) else {
            return;
        };
        self.candidates.clear();
        for p in &manifold.points {
            let on_first = first.transform_point(p.local_p1.into());
            let on_second = second.transform_point(p.local_p2.into());
            let [a, b] = [manifold.subshape1, manifold.subshape2];
            let feature = [a, b, p.fid1.0, p.fid2.0];
            let point = (on_first + on_second) * 0.5;
            meeting.add(&mut self.candidates, feature, point, normal, p.dist);
        }
        let parts = Parts {
            shapes,
            index: [manifold.subshape1, manifold.subshape2].map(|part| part as usize),
            places,
        };
        self.keep_polygon(meeting.search, meeting.pair, &parts);
    }
}

/// Whether two shapes are for [`ConvexSearch`]: one is round. Parry's distance from a ball's centre is exact, but where the
/// other shape is a hull.
fn are_round(shapes: [&dyn ParryShape; 2]) -> bool {
    use TypedShape::{Ball, Capsule, Cone, ConvexPolyhedron, Cylinder};
    match shapes.map(|s| s.as_typed_shape()) {
        [Ball(_), other] | [other, Ball(_)] => matches!(other, ConvexPolyhedron(_)),
        both => both
            .iter()
            .any(|s| matches!(s, Capsule(_) | Cylinder(_) | Cone(_))),
    }
}

/// Where two hulls touch, by their faces and edges; by the search for all convex solids where these leave the axis open, or
/// edges that are nearly parallel share no point, unless the two `pass` each other.
fn find_hulls<'s>(
    hulls: &'s mut HullSearch,
    convex: &'s mut ConvexSearch,
    shapes: [&Shape; 2],
    parts: [usize; 2],
    relative: &Pose,
    [needed, reach]: [f64; 2],
    pass: impl Fn(&[Solid; 2]) -> bool,
) -> Found<'s> {
    let [Some(a), Some(b)] = [0, 1].map(|k| shapes[k].hull(parts[k])) else {
        return (&[], Vec3::zeros());
    };
    if hulls.find([a, b], relative, [needed, reach]) {
        return (&hulls.points, hulls.normal);
    }
    let frames = [&Pose::IDENTITY, relative];
    let [Some(a), Some(b)] = solids_of(shapes, parts, frames) else {
        return (&[], Vec3::zeros());
    };
    if pass(&[a, b]) {
        return (&[], Vec3::zeros());
    }
    convex.find(&[a, b], reach);
    (&convex.points, convex.normal)
}

/// What a search has found, in the frame of the first shape: points, and the unit normal from the first to the second.
type Found<'s> = (&'s [HullPoint], Vec3);

/// Where two hulls, or one and a half-space, touch; none where they are left to parry.
fn flat<'s>(
    hulls: &'s mut HullSearch,
    convex: &'s mut ConvexSearch,
    shapes: [&Shape; 2],
    parts: [usize; 2],
    relative: &Pose,
    reach: f64,
    pass: impl Fn(&[Solid; 2]) -> bool,
) -> Option<Found<'s>> {
    let colliders = [0, 1].map(|k| shapes[k].part(parts[k]));
    match [0, 1].map(|k| shapes[k].hull(parts[k])) {
        [Some(_), Some(_)] => {
            let reaches = [reach; 2];
            return Some(find_hulls(
                hulls, convex, shapes, parts, relative, reaches, pass,
            ));
        }
        [Some(hull), None] => {
            let ground = colliders[1].as_halfspace()?;
            let up = relative.rotation * Vec3::from(ground.normal);
            hulls.find_on_ground(hull, relative.position, up, reach);
            hulls.normal = -up;
        }
        [None, Some(hull)] => {
            let ground = colliders[0].as_halfspace()?;
            let (up, back) = (Vec3::from(ground.normal), relative.inverse());
            hulls.find_on_ground(hull, back.position, back.rotation * up, reach);
            for p in &mut hulls.points {
                p.point = relative.transform_point(p.point);
            }
            hulls.normal = up;
        }
        [None, None] => return None,
    }
    Some((&hulls.points, hulls.normal))
}

/// Where two convex solids, or one and a half-space, touch, of which one is round; none where they are left to parry.
fn round<'s>(
    convex: &'s mut ConvexSearch,
    colliders: [&dyn ParryShape; 2],
    solids: [Option<Solid>; 2],
    relative: &Pose,
    reach: f64,
) -> Option<Found<'s>> {
    match solids {
        [Some(a), Some(b)] => convex.find(&[a, b], reach),
        [Some(solid), None] => {
            let ground = colliders[1].as_halfspace()?;
            let up = relative.rotation * Vec3::from(ground.normal);
            convex.find_on_ground(&solid, relative.position, up, reach);
        }
        [None, Some(solid)] => {
            let up = Vec3::from(colliders[0].as_halfspace()?.normal);
            convex.find_on_ground(&solid, Vec3::zeros(), up, reach);
            convex.normal = up;
        }
        [None, None] => return None,
    }
    Some((&convex.points, convex.normal))
}

/// The convex solids among two parts in these places.
fn solids_of<'a>(
    shapes: [&'a Shape; 2],
    parts: [usize; 2],
    places: [&Pose; 2],
) -> [Option<Solid<'a>>; 2] {
    [0, 1].map(|k| {
        let (shape, hull) = (shapes[k].part(parts[k]), shapes[k].hull(parts[k]));
        Solid::new(shape, hull, places[k])
    })
}

/// Two parts that are looked at, where they are.
struct Parts<'a> {
    shapes: [&'a Shape; 2],
    index: [usize; 2],
    places: &'a [Pose; 2],
}

impl Parts<'_> {
    /// Whether a flat side of one has the other in front of it now and when the step has passed. A contact says less: beyond
    /// a corner, what goes past it comes nearer to it, too.
    fn pass(&self, search: &Search, pair: [u32; 2]) -> bool {
        let later = [0, 1].map(|k| search.later(pair[k] as usize, &self.places[k]));
        (0..2).any(|side| {
            let (own, other) = (self.shapes[side], 1 - side);
            let Some(hull) = own.hull(self.index[side]) else {
                return false;
            };
            let at = [&self.places[other], &later[other]];
            let part = self.index[other];
            let solid = at.map(|at| {
                let other = self.shapes[other];
                Solid::new(other.part(part), other.hull(part), at)
            });
            let [Some(now), Some(then)] = solid else {
                return false;
            };
            let is_in_front = |solid: &Solid, place: &Pose, plane: &Plane| {
                let n = place.rotation * plane.normal;
                let lowest = n.dot(&(solid.support(&-n) - place.position)) - solid.radius;
                lowest > plane.offset
            };
            hull.planes.iter().any(|plane| {
                is_in_front(&now, &self.places[side], plane)
                    && is_in_front(&then, &later[side], plane)
            })
        })
    }
}

/// Two bodies that are looked at.
struct Meeting<'a> {
    search: &'a Search<'a>,
    pair: [u32; 2],
    reach: Reach,
    /// Points nearer to each other than this are one (m).
    same: f64,
}

impl Meeting<'_> {
    /// Whether two solids, in the frame of the first one, do not meet within the step, as far as a few axes tell.
    fn pass(
        &self,
        solids: &[Solid; 2],
        shapes: [&Shape; 2],
        parts: [usize; 2],
        places: &[Pose; 2],
    ) -> bool {
        let (back, reach) = (places[0].inverse(), &self.reach);
        if convex::are_apart(solids, back.rotation * reach.way, reach.near) {
            return true;
        }
        let later = [0, 1].map(|k| {
            let slot = self.pair[k] as usize;
            back.compose(&self.search.later(slot, &places[k]))
        });
        let [Some(a), Some(b)] = solids_of(shapes, parts, [&later[0], &later[1]]) else {
            return false;
        };
        convex::pass(solids, &[a, b], self.search.prediction, reach.arc())
    }

    /// Adds a point of a manifold to its candidates, unless it is one of them or too far away to count.
    fn add(
        &self,
        candidates: &mut Vec<FoundContact>,
        feature: [u32; 4],
        point: Vec3,
        normal: Vec3,
        gap: f64,
    ) {
        let [i, j] = self.pair.map(|b| b as usize);
        let finite = gap.is_finite() && point.iter().all(|c| c.is_finite());
        let same = self.same * self.same;
        let is_at = |f: &&mut FoundContact| (f.point - point).norm_squared() <= same;
        if let Some(known) = candidates.iter_mut().find(is_at) {
            known.gap = known.gap.min(gap);
            return;
        }
        // Choose among those that count, or the support polygon would lose points for nothing.
        if finite && self.search.counts(i, j, point, normal, gap) {
            candidates.push(FoundContact {
                bodies: self.pair,
                parts: [feature[0], feature[1]],
                feature: feature_key(feature),
                point,
                normal,
                gap,
            });
        }
    }
}

/// A normal as long as it should be; none where there is hardly one.
fn unit(normal: Vec3) -> Option<Vec3> {
    let norm = normal.norm();
    let is_fine = norm > 0.5 && norm.is_finite();
    is_fine.then(|| if norm == 1.0 { normal } else { normal / norm })
}

/// Whether one of the six faces' normals separates two boxes all their way.
fn are_apart(poses: &[Pose; 2], turn: &[Mat3; 2], half_extents: &[Vec3; 2], reach: &Reach) -> bool {
    let between = poses[1].position - poses[0].position;
    let cross = (turn[0].transpose() * turn[1]).abs();
    let least = |side: usize, extents: Vec3| {
        let (now, way) = (turn[side].tr_mul(&between), turn[side].tr_mul(&reach.way));
        let then = (now + way).component_mul(&now.map(f64::signum));
        now.abs().inf(&then) - half_extents[side] - extents
    };
    let first = least(0, cross * half_extents[1]);
    let second = least(1, cross.tr_mul(&half_extents[0]));
    first.max() > reach.near || second.max() > reach.near
}

/// Whether the points of a manifold still face each other: the boxes have moved against each other
/// by a small share of the smaller one's size, and turned by a small angle.
fn has_hardly_moved(old: &Pose, new: &Pose, half_extents: &[Vec3; 2]) -> bool {
    let size = half_extents[0].min().min(half_extents[1].min());
    let allowed = MOVED * size;
    // For unit quaternions |a·b| = cos(angle/2) ≈ 1 − angle²/8.
    let turned = 8.0 * (1.0 - old.rotation.coords.dot(&new.rotation.coords).abs());
    (new.position - old.position).norm_squared() <= allowed * allowed && turned <= TURNED * TURNED
}

/// One number for the two sub-shapes and the two features that touch.
fn feature_key(parts: [u32; 4]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(&parts))
}
