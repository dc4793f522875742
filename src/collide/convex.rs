//! Contacts of two convex solids of which one is round: the best axis of all, and what faces it clipped against each other.

use super::expand::{Best, Polytope};
use super::hulls::{Corner, HullPoint, NO_EDGE, clip};
use super::solid::{Facing, Solid, Spine, Top};
use crate::math::Vec3;
use crate::world::hull::Plane;

/// How far the axis may be from the best, as a share of the smaller solid's size (-).
const TOLERANCE: f64 = 1e-9;
/// What the solids are widened by beyond the reach, as a share of that size (-): less makes thinner polytopes, more makes
/// sharp corners rounder, which takes more points.
const MARGIN: f64 = 0.01;
/// Axes that may tell that two solids are apart before a polytope is built.
const AXES: u32 = 8;
/// Lengths below this share of the size are rounding (-).
const ROUNDING: f64 = 1e-7;
/// Sine of the angle between two lines below which they are parallel.
const PARALLEL: f64 = 1e-7;
/// How far beside each other two lines of round surfaces may be and still meet, as a share of the smaller radius, and of
/// the smaller solid's size (-).
const BESIDE: f64 = 0.03;
/// Sine of the angle between an axis and a plane across it in which lines meet along a length.
const LEVEL: f64 = 0.05;
/// The same for two sharp edges, as a share of the smaller solid's size (-).
const BESIDE_EDGES: f64 = 1e-3;
/// Cosine of the angle to the axis beyond which a polygon is no ground to project points onto.
const STEEP: f64 = 0.1;

/// Reusable memory, and what the last search found.
#[derive(Default)]
pub struct ConvexSearch {
    /// Where the solids touch, in the frame that both were given in.
    pub points: Vec<HullPoint>,
    /// Unit normal from the first solid to the second.
    pub normal: Vec3,
    polytope: Polytope,
    facing: [Facing; 2],
    clipped: Vec<Corner>,
    flats: Vec<Vec3>,
    spines: [Vec<Spine>; 2],
}

/// The origin's distance from a convex set, from below and from above, as far as a few of Frank and Wolfe's steps tell or
/// `is_enough`: `start` is a point of the set, and `lowest` gives one that is lowest along an axis.
fn distance(
    start: Vec3,
    lowest: impl Fn(&Vec3) -> Vec3,
    is_enough: impl Fn(f64, f64) -> bool,
) -> [f64; 2] {
    let mut nearest = start;
    let mut least = 0.0_f64;
    for _ in 0..AXES {
        let most = nearest.norm();
        if is_enough(least, most) || most == 0.0 {
            break;
        }
        let n = nearest / most;
        let point = lowest(&n);
        least = least.max(n.dot(&point));
        let step = point - nearest;
        let along = -nearest.dot(&step);
        if along <= 0.0 {
            break;
        }
        nearest += step * (along / step.norm_squared()).min(1.0);
    }
    [least, nearest.norm()]
}

/// Whether a convex set is farther from the origin than `reach`, as far as a few axes tell.
fn is_away(start: Vec3, reach: f64, lowest: impl Fn(&Vec3) -> Vec3) -> bool {
    distance(start, lowest, |least, most| least > reach || most <= reach)[0] > reach
}

/// Whether some axis keeps two solids farther apart than `reach` all the `way` that B goes (m).
pub fn are_apart([a, b]: &[Solid; 2], way: Vec3, reach: f64) -> bool {
    let lowest = |n: &Vec3| {
        let point = b.support(&-n) - a.support(n);
        if n.dot(&way) < 0.0 {
            point + way
        } else {
            point
        }
    };
    let reach = reach + a.radius + b.radius;
    is_away(b.middle() - a.middle(), reach, lowest)
}

/// Whether some axis keeps two solids apart now, by more than `prediction`, and then, by more than `slack` (m).
pub fn pass(now: &[Solid; 2], then: &[Solid; 2], prediction: f64, slack: f64) -> bool {
    let apart = |[a, b]: &[Solid; 2], n: &Vec3| b.support(&-n) - a.support(n);
    let lowest = |n: &Vec3| {
        let (p, q) = (apart(now, n) - n * prediction, apart(then, n));
        if n.dot(&p) < n.dot(&q) { p } else { q }
    };
    let reach = slack + now[0].radius + now[1].radius;
    is_away(then[1].middle() - then[0].middle(), reach, lowest)
}

impl ConvexSearch {
    /// Finds where two solids touch or are no farther apart than `reach`.
    pub fn find(&mut self, solids: &[Solid; 2], reach: f64) {
        self.points.clear();
        let [a, b] = solids;
        let size = a.size.min(b.size);
        let radii = a.radius + b.radius;
        let support = |n: &Vec3| [a.support(n), b.support(&-n)];
        let (margin, tolerance) = (MARGIN * size, TOLERANCE * size);
        let apart = |n: &Vec3| b.support(&-n) - a.support(n);
        let is_enough = |least: f64, most: f64| most <= margin + least;
        let [_, most] = distance(b.middle() - a.middle(), apart, is_enough);
        let near = (most + margin).min(reach + radii);
        let polytope = &mut self.polytope;
        let Some(best) = polytope.best_axis(support, near, margin, tolerance) else {
            return;
        };
        let best = self.sharpen(solids, best, tolerance);
        self.normal = best.normal;
        self.touch(solids, best, reach, ROUNDING * size);
    }

    /// Finds the corners of what a solid turns to a plane through `at` that faces `up`, as far as they are no more than
    /// `reach` above it; the plane is the second body.
    pub fn find_on_ground(&mut self, solid: &Solid, at: Vec3, up: Vec3, reach: f64) {
        self.points.clear();
        self.normal = -up;
        let lowest = solid.support(&-up) - up * solid.radius;
        let least = up.dot(&(lowest - at));
        if least > reach {
            return;
        }
        solid.find_facing(&-up, &mut self.facing[0]);
        let rounding = ROUNDING * solid.size;
        let mut is_found = false;
        for corner in &self.facing[0].corners {
            let corner_at = corner.at - up * solid.radius;
            let gap = up.dot(&(corner_at - at));
            is_found |= gap <= least + rounding;
            if gap <= reach {
                self.points.push(HullPoint {
                    point: corner_at - up * (0.5 * gap),
                    gap,
                    feature: [corner.edge, NO_EDGE],
                });
            }
        }
        if !is_found {
            self.points.push(HullPoint {
                point: lowest - up * (0.5 * least),
                gap: least,
                feature: [NO_EDGE; 2],
            });
        }
    }

    /// Of the axes near one that are exactly what solids of these kinds touch along, the best; a flat side's as soon as it is
    /// as good within the tolerance.
    fn sharpen(&mut self, [a, b]: &[Solid; 2], found: Best, tolerance: f64) -> Best {
        /// Cosine of the angle within which an axis is the one that was found.
        const SAME: f64 = 0.999;
        let n = found.normal;
        let mut best = found;
        let distance = |n: &Vec3| n.dot(&(b.support(&-n) - a.support(n)));
        let [of_a, of_b] = &mut self.spines;
        of_a.clear();
        of_b.clear();
        a.each_spine(&n, |spine| of_a.push(spine));
        b.each_spine(&-n, |spine| of_b.push(spine));
        for p in &*of_a {
            for q in &*of_b {
                let Some(axis) = between(p, q) else {
                    continue;
                };
                let axis = axis * axis.dot(&n).signum();
                if axis.dot(&n) > SAME {
                    let distance = distance(&axis);
                    if distance > best.distance {
                        (best.normal, best.distance) = (axis, distance);
                    }
                }
            }
        }
        self.flats.clear();
        a.each_flat(&n, |flat| self.flats.push(flat));
        b.each_flat(&-n, |flat| self.flats.push(-flat));
        let mut least = best.distance - tolerance;
        for flat in &self.flats {
            let distance = distance(flat);
            if distance >= least {
                least = distance;
                (best.normal, best.distance) = (*flat, distance);
            }
        }
        best
    }

    /// Fills in the points, once the best axis is known.
    fn touch(&mut self, solids: &[Solid; 2], axis: Best, reach: f64, rounding: f64) {
        let [a, b] = solids;
        let n = axis.normal;
        a.find_facing(&n, &mut self.facing[0]);
        b.find_facing(&-n, &mut self.facing[1]);
        let slope = |k: usize, n: &Vec3| self.facing[k].normal.map_or(0.0, |flat| flat.dot(n));
        let slopes = [slope(0, &n), slope(1, &-n)];
        let gap = axis.distance - a.radius - b.radius;
        if slopes.iter().any(|slope| *slope > STEEP) {
            let ground = usize::from(slopes[1] > slopes[0]);
            self.meet(solids, ground, reach, rounding);
        } else if self.facing.iter().all(|f| f.corners.len() == 2) {
            self.meet_along(solids, reach);
        }
        let least = self.points.iter().map(|p| p.gap);
        if least.fold(f64::INFINITY, f64::min) > gap + rounding {
            self.points.push(HullPoint {
                point: Self::nearest(solids, &axis),
                gap,
                feature: [NO_EDGE; 2],
            });
        }
    }

    /// Half way between the two points that are nearest to each other along the axis.
    fn nearest([a, b]: &[Solid; 2], axis: &Best) -> Vec3 {
        let n = axis.normal;
        let gap = axis.distance - a.radius - b.radius;
        let from_first = |p: Vec3| p + n * (a.radius + 0.5 * gap);
        let from_second = |q: Vec3| q - n * (b.radius + 0.5 * gap);
        match (a.top(&n), b.top(&-n)) {
            (Top::Point(p), Top::Point(q)) => (from_first(p) + from_second(q)) * 0.5,
            (Top::Point(p), _) => from_first(p),
            (_, Top::Point(q)) => from_second(q),
            (Top::Line(p), Top::Line(q)) => {
                let [p, q] = closest(p, q, &n);
                (from_first(p) + from_second(q)) * 0.5
            }
            (Top::Line(p), Top::Flat) => from_first(nearest_on(p, &axis.at[0])),
            (Top::Flat, Top::Line(q)) => from_second(nearest_on(q, &axis.at[1])),
            (Top::Flat, Top::Flat) => (from_first(axis.at[0]) + from_second(axis.at[1])) * 0.5,
        }
    }

    /// What faces the polygon of one solid, clipped against it.
    fn meet(&mut self, solids: &[Solid; 2], ground: usize, reach: f64, rounding: f64) {
        let outward = if ground == 0 {
            self.normal
        } else {
            -self.normal
        };
        let [first, second] = &mut self.facing;
        let (side, other) = match ground {
            0 => (&*first, &mut second.corners),
            _ => (&*second, &mut first.corners),
        };
        let Some(flat) = side.normal else {
            return;
        };
        let (slope, thickness) = (flat.dot(&outward), solids[1 - ground].radius);
        for corner in &mut *other {
            corner.edge = 2 * corner.edge + 1 - ground as u32;
            corner.at -= outward * thickness;
        }
        let sides = &side.corners;
        for (k, from) in sides.iter().enumerate() {
            let to = sides[(k + 1) % sides.len()].at;
            let Some(normal) = (to - from.at).cross(&outward).try_normalize(0.0) else {
                continue;
            };
            let offset = normal.dot(&from.at);
            let plane = Plane { normal, offset };
            let edge = 2 * from.edge + ground as u32;
            clip(other, &plane, edge, rounding, &mut self.clipped);
            std::mem::swap(other, &mut self.clipped);
        }
        let height = flat.dot(&sides[0].at);
        let count = other.len();
        for (k, corner) in other.iter().enumerate() {
            let gap = (flat.dot(&corner.at) - height) / slope;
            if gap <= reach {
                let before = other[(k + count - 1) % count].edge;
                self.points.push(HullPoint {
                    point: corner.at - outward * (0.5 * gap),
                    gap,
                    feature: [before.min(corner.edge), before.max(corner.edge)],
                });
            }
        }
    }

    /// Two lines that are nearly parallel, over the length that they share.
    fn meet_along(&mut self, solids: &[Solid; 2], reach: f64) {
        let n = self.normal;
        let [p, q] = [0, 1].map(|k| &self.facing[k].corners);
        let (u, v) = (p[1].at - p[0].at, q[1].at - q[0].at);
        let (long, other) = (u.norm(), v.norm());
        let is_level = u.dot(&n).abs() <= LEVEL * long && v.dot(&n).abs() <= LEVEL * other;
        if !is_level || u.dot(&v).abs() <= STEEP * long * other {
            return;
        }
        let along = u / long;
        let place = |at: Vec3| along.dot(&(at - p[0].at));
        let (begin, end) = (place(q[0].at), place(q[1].at));
        for (at, name) in [
            (0.0, 2 * p[0].edge),
            (long, 2 * p[1].edge),
            (begin, 2 * q[0].edge + 1),
            (end, 2 * q[1].edge + 1),
        ] {
            let share = (at - begin) / (end - begin);
            if !(-1e-9..=1.0 + 1e-9).contains(&share)
                || at < -1e-9 * long
                || at > long * (1.0 + 1e-9)
            {
                continue;
            }
            let on_first = p[0].at + along * at;
            let between = q[0].at + v * share - on_first;
            if let Some((gap, shift)) = apart_at(solids, &between, &n)
                && gap <= reach
            {
                self.points.push(HullPoint {
                    point: on_first + shift + n * (solids[0].radius + 0.5 * gap),
                    gap,
                    feature: [name, NO_EDGE],
                });
            }
        }
    }
}

/// The point of a line between two that is nearest to another one.
fn nearest_on([p, q]: [Vec3; 2], at: &Vec3) -> Vec3 {
    let along = q - p;
    p + along * (along.dot(&(at - p)) / along.norm_squared()).clamp(0.0, 1.0)
}

/// The points of two lines that are nearest to each other as seen along n.
fn closest(p: [Vec3; 2], q: [Vec3; 2], n: &Vec3) -> [Vec3; 2] {
    let across = |v: Vec3| v - n * n.dot(&v);
    let (u, v, w) = (
        across(p[1] - p[0]),
        across(q[1] - q[0]),
        across(q[0] - p[0]),
    );
    let (uu, uv, vv) = (u.norm_squared(), u.dot(&v), v.norm_squared());
    let share = |of: f64, all: f64| {
        if all > 0.0 {
            (of / all).clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    let sine = uu * vv - uv * uv;
    let first = if sine > PARALLEL * uu * vv {
        (u.dot(&w) * vv - v.dot(&w) * uv) / sine
    } else {
        0.0
    };
    let second = share(first.clamp(0.0, 1.0) * uv - v.dot(&w), vv);
    let first = share(u.dot(&w) + second * uv, uu);
    [p[0] + (p[1] - p[0]) * first, q[0] + (q[1] - q[0]) * second]
}

/// How far two solids' surfaces are apart along n where points of their lines are apart by this (m), and how far from the
/// first one's line they are nearest; none where the lines are too far beside each other for it to say much.
fn apart_at(solids: &[Solid; 2], between: &Vec3, n: &Vec3) -> Option<(f64, Vec3)> {
    let along = n.dot(between);
    let beside = between - n * along;
    let square = beside.norm_squared();
    let [first, second] = solids.map(|s| s.curvature());
    let (all, round) = (
        first + second,
        |r: f64| if r > 0.0 { r } else { f64::INFINITY },
    );
    let size = solids[0].size.min(solids[1].size);
    // A surface of radius r falls away by x²/2r, a sharp edge by about x.
    let (most, falls, share) = if all > 0.0 {
        let least = round(first).min(round(second)).min(size);
        (BESIDE * least, 0.5 * square / all, first / all)
    } else {
        (BESIDE_EDGES * size, square.sqrt(), 0.5)
    };
    let gap = along - solids[0].radius - solids[1].radius + falls;
    (square <= most * most).then_some((gap, beside * share))
}

/// The axis on which two spines are exactly across each other, either way.
fn between(p: &Spine, q: &Spine) -> Option<Vec3> {
    let apart = q.at - p.at;
    let across = |along: &Vec3| apart - along * along.dot(&apart);
    let axis = match (p.along, q.along) {
        (None, None) => apart,
        (Some(along), None) | (None, Some(along)) => across(&along),
        (Some(u), Some(v)) => {
            let cross = u.cross(&v);
            if cross.norm() > PARALLEL {
                cross
            } else {
                across(&u)
            }
        }
    };
    axis.try_normalize(0.0)
}
