//! Contacts of two convex polyhedra by the theorem of the separating axis.
//!
//! The distance of two convex polyhedra along a unit axis n is s(n) = min over B of n·x − max over A of n·x; the
//! best axis is a face's normal or the cross product of two edges, unless two corners or a corner and an edge are
//! nearest to each other, which only happens between bodies apart. Gradients of s are no part of this, so that
//! faces that lie on each other exactly, where a search by simplices has no direction to go, are nothing special.
//! A reference face's polygon is then clipped against the face that it meets.

use crate::math::{Mat3, Pose, Vec3};
use crate::world::hull::{Cuboid, Hull, Plane};

/// Lengths below this share of the smaller hull's size are rounding: a face stays the reference until another axis
/// is better by more, and what lies on a side's plane as nearly as this is neither inside nor outside of it. The
/// depth is at most so much too large. Poses keep 1e-16 of the distance from the origin, 1e9 sizes of a hull.
const ROUNDING: f64 = 1e-7;
/// Sine of the angle below which two edges are parallel: where they are, a face's normal is as good an axis.
const PARALLEL: f64 = 1e-7;
/// Cosine of the angle to the axis beyond which a face is no ground to project points onto.
const STEEP: f64 = 0.1;

/// A point where two hulls touch, in the first one's frame.
#[derive(Clone, Copy, Debug)]
pub struct HullPoint {
    /// Half way between the two surfaces (m).
    pub point: Vec3,
    /// Distance along the normal (m).
    pub gap: f64,
    /// The two edges that meet here, whichever face was the reference; each twice the index, plus one if it is
    /// the second hull's. On a plane, the corner.
    pub feature: [u32; 2],
}

/// Sine of the angle up to which two edges that touch do so along a length, and the least angle that their common normals
/// span there (rad).
const ALONG: f64 = 1e-3;
const LEAST_ARC: f64 = 0.02;
/// How much less than the best distance theirs may be along the middle of these normals, as a share of the smaller hull's
/// size (-): overlaps that are deeper have the least depth.
const SHALLOW: f64 = 1e-4;

/// What names a point that no edges make.
pub const NO_EDGE: u32 = u32::MAX;

/// A corner of a polygon, with the edge that leads to the next one.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    /// Where it is.
    pub at: Vec3,
    /// The edge's name.
    pub edge: u32,
}

/// Reusable memory, and what the last search found.
#[derive(Default)]
pub struct HullSearch {
    /// Where the hulls touch.
    pub points: Vec<HullPoint>,
    /// Unit normal from the first hull to the second, in the first one's frame.
    pub normal: Vec3,
    vertices: Vec<Vec3>,
    planes: Vec<Plane>,
    edges: [Vec<usize>; 2],
    polygon: Vec<Corner>,
    clipped: Vec<Corner>,
}

/// A hull in the first one's frame.
#[derive(Clone, Copy)]
struct Placed<'a> {
    hull: &'a Hull,
    vertices: &'a [Vec3],
    planes: &'a [Plane],
    turn: Mat3,
    /// Where its origin is.
    origin: Vec3,
    /// 0 for the first hull, 1 for the second.
    index: u32,
}

impl Placed<'_> {
    /// Smallest coordinate along an axis.
    fn lowest(&self, axis: &Vec3) -> f64 {
        if let Some(cuboid) = &self.hull.cuboid {
            let local = self.turn.tr_mul(axis).abs();
            return axis.dot(&self.origin) - local.dot(&cuboid.half_extents);
        }
        let along = self.vertices.iter().map(|v| axis.dot(v));
        along.fold(f64::INFINITY, f64::min)
    }

    fn direction(&self, edge: usize) -> Vec3 {
        self.turn * self.hull.edges[edge].direction
    }

    fn ends(&self, edge: usize) -> [Vec3; 2] {
        self.hull.edges[edge]
            .ends
            .map(|v| self.vertices[v as usize])
    }

    fn normals(&self, edge: usize) -> [Vec3; 2] {
        self.hull.edges[edge]
            .faces
            .map(|f| self.planes[f as usize].normal)
    }

    /// The face that lies farthest along an axis: of those with the most corners there, the one that faces it most.
    fn face_toward(&self, axis: &Vec3, rounding: f64) -> usize {
        if let Some(cuboid) = &self.hull.cuboid {
            return cuboid.face(&self.turn.tr_mul(axis));
        }
        let highest = -self.lowest(&-axis);
        let is_there =
            |vertex: u32| axis.dot(&self.vertices[vertex as usize]) >= highest - rounding;
        let mut best = (0, 0, f64::NEG_INFINITY);
        for (face, plane) in self.planes.iter().enumerate() {
            let sides = self.hull.sides(face).iter();
            let corners = sides.filter(|s| is_there(s.vertex)).count();
            let cos = plane.normal.dot(axis);
            if corners > best.1 || (corners == best.1 && cos > best.2) {
                best = (face, corners, cos);
            }
        }
        best.0
    }
}

/// An axis, from the first hull to the second, and how far apart they are along it.
#[derive(Clone, Copy)]
struct Axis {
    normal: Vec3,
    distance: f64,
    /// Whose face is clipped against.
    reference: usize,
    /// The two edges that the axis is perpendicular to, if it is no face's normal.
    edges: Option<[usize; 2]>,
}

impl HullSearch {
    /// Finds where two hulls touch or are no farther apart than `reach`, if they are no farther apart than `needed`;
    /// `relative` is the second one's pose in the first one's frame. False where no face's normal and no two edges are what is nearest: two corners, or a corner and an edge,
    /// or edges that hardly cross.
    pub fn find(&mut self, hulls: [&Hull; 2], relative: &Pose, [needed, reach]: [f64; 2]) -> bool {
        self.points.clear();
        let turn = relative.rotation.to_rotation_matrix().into_inner();
        let mut vertices = std::mem::take(&mut self.vertices);
        let mut planes = std::mem::take(&mut self.planes);
        vertices.clear();
        vertices.extend(
            hulls[1]
                .vertices
                .iter()
                .map(|v| relative.position + turn * v),
        );
        planes.clear();
        planes.extend(hulls[1].planes.iter().map(|p| {
            let normal = turn * p.normal;
            let offset = p.offset + normal.dot(&relative.position);
            Plane { normal, offset }
        }));
        let placed = [
            Placed {
                hull: hulls[0],
                vertices: &hulls[0].vertices,
                planes: &hulls[0].planes,
                turn: Mat3::identity(),
                origin: Vec3::zeros(),
                index: 0,
            },
            Placed {
                hull: hulls[1],
                vertices: &vertices,
                planes: &planes,
                turn,
                origin: relative.position,
                index: 1,
            },
        ];
        let rounding = ROUNDING * hulls[0].size.min(hulls[1].size);
        let cuboids = [0, 1].map(|k| hulls[k].cuboid.as_ref());
        let axis = match cuboids {
            [Some(a), Some(b)] => best_axis_of_cuboids([a, b], &turn, relative, reach, rounding),
            _ => self.best_axis(&placed, reach, rounding),
        };
        let axis = axis.filter(|axis| axis.distance <= needed);
        let is_found = axis.is_none_or(|axis| self.touch(&placed, &axis, reach, rounding));
        self.vertices = vertices;
        self.planes = planes;
        is_found
    }

    /// Finds the corners of the face of a hull that lies lowest over a plane through `at` that faces `up`, in the
    /// hull's frame, as far as they are no more than `reach` above it.
    pub fn find_on_ground(&mut self, hull: &Hull, at: Vec3, up: Vec3, reach: f64) {
        self.points.clear();
        let placed = Placed {
            hull,
            vertices: &hull.vertices,
            planes: &hull.planes,
            turn: Mat3::identity(),
            origin: Vec3::zeros(),
            index: 0,
        };
        let face = placed.face_toward(&-up, ROUNDING * hull.size);
        for side in hull.sides(face) {
            let vertex = hull.vertices[side.vertex as usize];
            let gap = up.dot(&(vertex - at));
            if gap <= reach {
                self.points.push(HullPoint {
                    point: vertex - up * (0.5 * gap),
                    gap,
                    feature: [side.vertex, NO_EDGE],
                });
            }
        }
    }

    /// The axis along which the hulls are farthest apart; none where that is farther than `reach`.
    fn best_axis(&mut self, hulls: &[Placed; 2], reach: f64, rounding: f64) -> Option<Axis> {
        let first = farthest_face(&hulls[0], &hulls[1], reach)?;
        let second = farthest_face(&hulls[1], &hulls[0], reach)?;
        let mut best = if second.1 > first.1 + rounding {
            Axis {
                normal: -hulls[1].planes[second.0].normal,
                distance: second.1,
                reference: 1,
                edges: None,
            }
        } else {
            Axis {
                normal: hulls[0].planes[first.0].normal,
                distance: first.1,
                reference: 0,
                edges: None,
            }
        };
        // Two edges that are nearest to each other come as near as the hulls do: where they overlap, as near as
        // the best face says they can be parted, and else within the reach.
        self.find_near_edges(hulls, reach.max(-best.distance) + rounding);
        let least = best.distance + rounding;
        if let Some(axis) = farthest_edges(hulls, &self.edges, least) {
            best = axis;
        }
        (best.distance <= reach).then_some(best)
    }

    fn find_near_edges(&mut self, hulls: &[Placed; 2], near: f64) {
        near_edges(&hulls[0], &hulls[1], near, &mut self.edges[0]);
        near_edges(&hulls[1], &hulls[0], near, &mut self.edges[1]);
    }

    /// Fills in the points, once the best axis is known. False where some other axis may be better.
    fn touch(&mut self, hulls: &[Placed; 2], axis: &Axis, reach: f64, rounding: f64) -> bool {
        self.normal = axis.normal;
        self.meet(hulls, axis, reach, rounding);
        if self.touch_edges(hulls, axis, reach, rounding) {
            return true;
        }
        let least = self.points.iter().map(|p| p.gap);
        let least = least.fold(f64::INFINITY, f64::min);
        if least <= axis.distance + rounding {
            // Two points as near to each other as the axis keeps the hulls apart: no axis is better.
            return true;
        }
        // Edges may cross on faces too steep to project onto.
        let crossing = axis.edges.and_then(|e| crossing(hulls, e, axis, rounding));
        self.points.extend(crossing);
        crossing.is_some() || (axis.distance <= rounding && !self.points.is_empty())
    }

    /// Two edges that touch along a length, in the place of points that lie on a line: no face's normal is better than
    /// another there, so that the axis is the middle of the normals that both have. False where there are none.
    fn touch_edges(&mut self, hulls: &[Placed; 2], best: &Axis, reach: f64, rounding: f64) -> bool {
        let size = rounding / ROUNDING;
        if self.width() > ALONG * size || !may_be_parallel(hulls) {
            return false;
        }
        self.find_near_edges(hulls, reach.max(-best.distance) + rounding);
        let [a, b] = hulls;
        let mut found = None;
        let mut most = best.distance - SHALLOW * size;
        for &i in &self.edges[0] {
            for &j in &self.edges[1] {
                let Some(normal) = common_normal(hulls, [i, j]) else {
                    continue;
                };
                let distance = b.lowest(&normal) + a.lowest(&-normal);
                // Edges that are apart are so by this, along no normal that faces tell.
                let between = b.ends(j)[0] - a.ends(i)[0];
                let apart = between.cross(&a.direction(i)).norm();
                let is_best = distance <= 0.0 || apart - distance <= SHALLOW * size;
                if distance >= most && distance <= reach && is_best {
                    most = distance;
                    found = Some((normal, [i, j]));
                }
            }
        }
        let Some((normal, [i, j])) = found else {
            return false;
        };
        let ([p, p_end], [q, q_end]) = (a.ends(i), b.ends(j));
        let along = (p_end - p).normalize();
        let place = |v: &Vec3| along.dot(&(v - p));
        let (start, end) = (place(&q), place(&q_end));
        let from = start.min(end).max(0.0);
        let to = start.max(end).min(place(&p_end));
        if to < from - rounding {
            return false;
        }
        self.normal = normal;
        self.points.clear();
        let names = [2 * i as u32, 2 * j as u32 + 1];
        for (at, feature) in [(from, names), (to, [names[1], names[0]])] {
            let (on_a, on_b) = (
                p + along * at,
                q + (q_end - q) * ((at - start) / (end - start)),
            );
            self.points.push(HullPoint {
                point: (on_a + on_b) * 0.5,
                gap: normal.dot(&(on_b - on_a)),
                feature,
            });
        }
        true
    }

    /// How far from one line the points are (m).
    fn width(&self) -> f64 {
        let Some(first) = self.points.first() else {
            return 0.0;
        };
        let from = |p: &HullPoint| p.point - first.point;
        let longest = self.points.iter().map(from);
        let longest = longest.max_by(|a, b| a.norm_squared().total_cmp(&b.norm_squared()));
        let along = longest.and_then(|v| v.try_normalize(0.0));
        let along = along.unwrap_or_default();
        let beside = self.points.iter().map(|p| from(p).cross(&along).norm());
        beside.fold(0.0, f64::max)
    }

    /// Where the two faces that face each other along an axis do so: the corners of what their projections along
    /// the axis have in common.
    fn meet(&mut self, hulls: &[Placed; 2], axis: &Axis, reach: f64, rounding: f64) {
        let (ground, other) = (&hulls[axis.reference], &hulls[1 - axis.reference]);
        let outward = if axis.reference == 0 {
            axis.normal
        } else {
            -axis.normal
        };
        let face = ground.face_toward(&outward, rounding);
        let plane = ground.planes[face];
        let slope = plane.normal.dot(&outward);
        if slope < STEEP {
            return;
        }
        let facing = other.face_toward(&-outward, rounding);
        let tag = |hull: &Placed, edge: u32| 2 * edge + hull.index;
        self.polygon.clear();
        self.polygon
            .extend(other.hull.sides(facing).iter().map(|s| Corner {
                at: other.vertices[s.vertex as usize],
                edge: tag(other, s.edge),
            }));
        let sides = ground.hull.sides(face);
        for (k, side) in sides.iter().enumerate() {
            let from = ground.vertices[side.vertex as usize];
            let to = ground.vertices[sides[(k + 1) % sides.len()].vertex as usize];
            let Some(normal) = (to - from).cross(&outward).try_normalize(0.0) else {
                continue;
            };
            let plane = Plane {
                normal,
                offset: normal.dot(&from),
            };
            clip(
                &self.polygon,
                &plane,
                tag(ground, side.edge),
                rounding,
                &mut self.clipped,
            );
            std::mem::swap(&mut self.polygon, &mut self.clipped);
        }
        let count = self.polygon.len();
        for (k, corner) in self.polygon.iter().enumerate() {
            let gap = (plane.normal.dot(&corner.at) - plane.offset) / slope;
            if gap <= reach {
                let before = self.polygon[(k + count - 1) % count].edge;
                self.points.push(HullPoint {
                    point: corner.at - outward * (0.5 * gap),
                    gap,
                    feature: [before.min(corner.edge), before.max(corner.edge)],
                });
            }
        }
    }
}

/// The axis along which two boxes are farthest apart; none where that is farther than `reach`. Of two edges only those count
/// that are in front along their cross product, which are those that may make a face of the Minkowski difference.
fn best_axis_of_cuboids(
    cuboids: [&Cuboid; 2],
    turn: &Mat3,
    relative: &Pose,
    reach: f64,
    rounding: f64,
) -> Option<Axis> {
    let [a, b] = cuboids.map(|cuboid| cuboid.half_extents);
    let t = relative.position;
    let (cross, local) = (turn.abs(), turn.tr_mul(&t));
    let first = t.abs() - a - cross * b;
    let second = local.abs() - b - cross.tr_mul(&a);
    if first.max() > reach || second.max() > reach {
        return None;
    }
    let (k, l) = (first.imax(), second.imax());
    let toward = |axis: Vec3, along: f64| if along < 0.0 { -axis } else { axis };
    let face = |normal, distance, reference| Axis {
        normal,
        distance,
        reference,
        edges: None,
    };
    let mut best = if second[l] > first[k] + rounding {
        face(toward(turn.column(l).into(), local[l]), second[l], 1)
    } else {
        face(toward(Vec3::ith(k, 1.0), t[k]), first[k], 0)
    };
    let mut most = best.distance + rounding;
    for i in 0..3 {
        for j in 0..3 {
            let across: Vec3 = turn.column(j).into();
            let axis = Vec3::ith(i, 1.0).cross(&across);
            let sine = axis.norm();
            if sine < PARALLEL {
                continue;
            }
            let of_second = turn.tr_mul(&axis);
            let along = axis.dot(&t);
            // Exact zeros along the edges themselves, or large boxes would lose by rounding.
            let mut reaches = 0.0;
            for k in 0..3 {
                reaches += if k == i { 0.0 } else { a[k] * axis[k].abs() };
                reaches += if k == j {
                    0.0
                } else {
                    b[k] * of_second[k].abs()
                };
            }
            let distance = (along.abs() - reaches) / sine;
            if distance > reach {
                return None;
            }
            if distance > most {
                most = distance;
                let sign = if along < 0.0 { -1.0 } else { 1.0 };
                let ahead =
                    [axis * sign, of_second * -sign].map(|v| [v.x, v.y, v.z].map(|c| c > 0.0));
                best = Axis {
                    normal: axis * (sign / sine),
                    distance,
                    reference: 0,
                    edges: Some([cuboids[0].edge(i, ahead[0]), cuboids[1].edge(j, ahead[1])]),
                };
            }
        }
    }
    Some(best)
}

/// Whether an edge of one hull may be parallel to one of the other: of boxes, which have three directions each, it is known.
fn may_be_parallel([a, b]: &[Placed; 2]) -> bool {
    let are_boxes = a.hull.cuboid.is_some() && b.hull.cuboid.is_some();
    !are_boxes || b.turn.amax() > 1.0 - ALONG * ALONG
}

/// The middle of the normals that two parallel edges have in common; none where they are not parallel, or share hardly any.
fn common_normal([a, b]: &[Placed; 2], edges: [usize; 2]) -> Option<Vec3> {
    use std::f64::consts::{PI, TAU};
    let along = a.direction(edges[0]);
    if along.cross(&b.direction(edges[1])).norm() > ALONG {
        return None;
    }
    let [first, last] = a.normals(edges[0]);
    let across = along.cross(&first);
    let angle = |n: &Vec3| across.dot(n).atan2(first.dot(n));
    // An arc as its middle and its half, the shorter way around.
    let arc = |from: f64, to: f64| {
        let half = 0.5 * (to - from - TAU * ((to - from) / TAU).round());
        (from + half, half.abs())
    };
    let own = arc(0.0, angle(&last));
    let [p, q] = b.normals(edges[1]).map(|n| angle(&-n));
    let other = arc(p, q);
    let shift = other.0 - own.0;
    let middle = own.0 + shift - TAU * (shift / TAU).round();
    let lowest = (own.0 - own.1).max(middle - other.1);
    let highest = (own.0 + own.1).min(middle + other.1);
    if highest - lowest < LEAST_ARC || highest - lowest > PI {
        return None;
    }
    let (sin, cos) = (0.5 * (lowest + highest)).sin_cos();
    (first * cos + across * sin).try_normalize(0.5)
}

/// Where two edges pass each other, if they do so between their ends.
fn crossing(
    hulls: &[Placed; 2],
    edges: [usize; 2],
    axis: &Axis,
    rounding: f64,
) -> Option<HullPoint> {
    let [a, b] = hulls;
    let ([p, p_end], [q, q_end]) = (a.ends(edges[0]), b.ends(edges[1]));
    let (u, v) = (p_end - p, q_end - q);
    // (p + t u − q)·(v × n) = 0, and (q + r v − p)·(u × n) = 0.
    let (to_v, to_u) = (v.cross(&axis.normal), u.cross(&axis.normal));
    let t = (q - p).dot(&to_v) / u.dot(&to_v);
    let r = (p - q).dot(&to_u) / v.dot(&to_u);
    let is_on = |share: f64, length: f64| {
        let beyond = (share - 0.5).abs() - 0.5;
        beyond * length <= rounding
    };
    (is_on(t, u.norm()) && is_on(r, v.norm())).then(|| HullPoint {
        point: p + u * t + axis.normal * (0.5 * axis.distance),
        gap: axis.distance,
        feature: [2 * edges[0] as u32, 2 * edges[1] as u32 + 1],
    })
}

/// The face of one hull from which the other is farthest, and how far; none where some face is farther than `reach`.
fn farthest_face(hull: &Placed, other: &Placed, reach: f64) -> Option<(usize, f64)> {
    let mut best = (0, f64::NEG_INFINITY);
    // Corners that lie lowest over the best face and over the last one looked at: no face is farther from the hull
    // than from one of its corners, so that few faces need all of them.
    let mut lowest = [0; 2];
    for (face, plane) in hull.planes.iter().enumerate() {
        let over = |corner: usize| plane.normal.dot(&other.vertices[corner]) - plane.offset;
        if lowest.into_iter().any(|corner| over(corner) <= best.1) {
            continue;
        }
        let mut distance = f64::INFINITY;
        for corner in 0..other.vertices.len() {
            if over(corner) < distance {
                distance = over(corner);
                lowest[1] = corner;
            }
        }
        if distance > reach {
            return None;
        }
        if distance > best.1 {
            best = (face, distance);
            lowest[0] = lowest[1];
        }
    }
    Some(best)
}

/// The edges of one hull of which a point is within `near` of every face's inner side of the other.
fn near_edges(hull: &Placed, other: &Placed, near: f64, found: &mut Vec<usize>) {
    found.clear();
    // The face that an edge is too far from is often that of the edge before it.
    let mut far = 0;
    'edges: for edge in 0..hull.hull.edges.len() {
        let [p, q] = hull.ends(edge);
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        for face in std::iter::once(far).chain(0..other.planes.len()) {
            let plane = &other.planes[face];
            let offset = plane.offset + near;
            let (a, b) = (plane.normal.dot(&p) - offset, plane.normal.dot(&q) - offset);
            if a > 0.0 && b > 0.0 {
                far = face;
                continue 'edges;
            }
            if a > 0.0 {
                from = from.max(a / (a - b));
            } else if b > 0.0 {
                to = to.min(a / (a - b));
            }
            if from > to {
                far = face;
                continue 'edges;
            }
        }
        found.push(edge);
    }
}

/// The cross product of two edges along which the hulls are farthest apart, if that is more than `least`. Only
/// those count that make a face of the Minkowski difference: the arcs between their faces' normals cross on the
/// sphere of directions (Gregorius, "The Separating Axis Test between Convex Polyhedra", 2013).
fn farthest_edges(hulls: &[Placed; 2], edges: &[Vec<usize>; 2], least: f64) -> Option<Axis> {
    let [a, b] = hulls;
    let mut best = None;
    let mut most = least;
    for &i in &edges[0] {
        let (along, [a0, a1]) = (a.direction(i), a.normals(i));
        for &j in &edges[1] {
            let [b0, b1] = b.normals(j);
            let (x, y) = (b0.dot(&along), b1.dot(&along));
            if x * y >= 0.0 {
                continue;
            }
            let across = b.direction(j);
            let (u, v) = (a0.dot(&across), a1.dot(&across));
            if u * v >= 0.0 || x * v >= 0.0 {
                continue;
            }
            let cross = along.cross(&across);
            let sine = cross.norm();
            if sine < PARALLEL {
                continue;
            }
            let normal = cross * (cross.dot(&(a0 + a1)).signum() / sine);
            let (p, q) = (a.ends(i)[0], b.ends(j)[0]);
            if normal.dot(&(q - p)) > most {
                // Rounding may take two arcs that hardly meet for crossing ones: the hulls have the last word.
                let distance = b.lowest(&normal) + a.lowest(&-normal);
                if distance > most {
                    most = distance;
                    best = Some(Axis {
                        normal,
                        distance,
                        reference: 0,
                        edges: Some([i, j]),
                    });
                }
            }
        }
    }
    best
}

/// The part of a polygon on the inner side of a plane; the new edge along the plane is `edge`.
pub fn clip(polygon: &[Corner], plane: &Plane, edge: u32, rounding: f64, out: &mut Vec<Corner>) {
    out.clear();
    for (k, corner) in polygon.iter().enumerate() {
        let next = polygon[(k + 1) % polygon.len()];
        let beyond = |c: &Corner| plane.normal.dot(&c.at) - plane.offset;
        let (here, there) = (beyond(corner), beyond(&next));
        let (is_in, is_next_in) = (here <= rounding, there <= rounding);
        let crossing = || corner.at + (next.at - corner.at) * (here / (here - there));
        if is_in {
            let leaves_here = !is_next_in && here >= -rounding;
            let own = if leaves_here { edge } else { corner.edge };
            out.push(Corner {
                at: corner.at,
                edge: own,
            });
            if !is_next_in && !leaves_here {
                out.push(Corner {
                    at: crossing(),
                    edge,
                });
            }
        } else if is_next_in && there < -rounding {
            out.push(Corner {
                at: crossing(),
                edge: corner.edge,
            });
        }
    }
}
