//! Contacts of every two convex shapes, against a distance that is found without any of the code under test.
//!
//! The signed distance of two convex bodies is the maximum over unit n of s(n) = min over B of n·x − max over A of
//! n·x: positive apart, negative by the least depth otherwise. Every shape here is the hull of a few points and
//! circles, grown by a radius, so that s has a closed form; its maximum is sought from exact axes and from all sides.
//!
//! No s(n) exceeds the distance, whatever n is. A contact whose gap is less than what the search has found is thus
//! wrong for sure; and the contacts' own normals are among the axes tried before a failure counts, so that a gap
//! above what was found is not what its own normal says either.

use std::collections::BTreeMap;
use std::f64::consts::{FRAC_PI_2, PI};

use moreau::collide::FoundContact;
use moreau::math::random::Random;
use moreau::math::{Mat3, Pose, Quat, Vec3};
use moreau::world::Geometry;
use rayon::prelude::*;

use crate::common::contacts;

/// Rounds per pair of kinds; each tries every configuration a few times.
const ROUNDS: usize = 8;
/// Rounds of the long test.
const MANY_ROUNDS: usize = 100;
/// How far apart bodies may be and still have contacts, as a share of the smaller one's half diagonal.
const PREDICTION: f64 = 0.05;
/// What gaps and normals may be off by, in the same unit.
const EXACT: f64 = 1e-6;
/// How far a contact's two ends may be outside of their bodies, in the same unit: points as near to each other as
/// this are one contact. Of deep overlaps also as a share of the depth: lines that are level to so much are parallel.
const POINT: f64 = 1e-3;
const LEVEL: f64 = 0.05;
/// Between edges of boxes and hulls that are parallel the axis is the middle of their common normals, which may be worse
/// than the best by this share of the smaller body's half diagonal.
const MIDDLE: f64 = 1e-4;
/// A hull may be larger than its points by this share of its half diagonal: nearly flat corners are one face.
const MERGED: f64 = 2e-5;
/// Gaps between features that lie on each other, in the same unit.
const GAPS: [f64; 7] = [0.0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3];
/// Angles between features that are nearly parallel (rad).
const TILTS: [f64; 4] = [0.0, 1e-9, 1e-6, 1e-3];

/// Kinds of shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Plane,
    Ball,
    Cuboid,
    Capsule,
    Cylinder,
    Cone,
    Hull,
}

const SOLIDS: [Kind; 6] = [
    Kind::Ball,
    Kind::Cuboid,
    Kind::Capsule,
    Kind::Cylinder,
    Kind::Cone,
    Kind::Hull,
];

/// A shape of a kind about as large as `scale`; the origin is inside.
fn geometry(kind: Kind, random: &mut Random, scale: f64) -> Geometry {
    let mut length = || scale * random.range(0.2, 1.0);
    match kind {
        Kind::Plane => Geometry::HalfSpace { normal: Vec3::y() },
        Kind::Ball => Geometry::Ball { radius: length() },
        Kind::Cuboid => Geometry::Cuboid {
            half_extents: Vec3::from_fn(|_, _| length()),
        },
        Kind::Capsule => Geometry::Capsule {
            half_height: length(),
            radius: length(),
        },
        Kind::Cylinder => Geometry::Cylinder {
            half_height: length(),
            radius: length(),
        },
        Kind::Cone => Geometry::Cone {
            half_height: length(),
            radius: length(),
        },
        Kind::Hull => {
            let axes = Vec3::from_fn(|_, _| scale * random.range(0.3, 1.0));
            let count = 8 + random.below(13);
            let mut points: Vec<Vec3> = (0..count)
                .map(|_| direction(random).component_mul(&axes))
                .collect();
            let mean = points.iter().sum::<Vec3>() / count as f64;
            points.iter_mut().for_each(|p| *p -= mean);
            Geometry::ConvexHull { points }
        }
    }
}

/// Half the diagonal of a shape's box; a ball's radius.
fn half_diagonal(geometry: &Geometry) -> f64 {
    match geometry {
        Geometry::Ball { radius } => *radius,
        Geometry::Cuboid { half_extents } => half_extents.norm(),
        Geometry::Capsule {
            half_height,
            radius,
        } => Vec3::new(*radius, half_height + radius, *radius).norm(),
        Geometry::Cylinder {
            half_height,
            radius,
        }
        | Geometry::Cone {
            half_height,
            radius,
        } => Vec3::new(*radius, *half_height, *radius).norm(),
        Geometry::ConvexHull { points } => {
            let least = points.iter().fold(points[0], |a, b| a.inf(b));
            let most = points.iter().fold(points[0], |a, b| a.sup(b));
            0.5 * (most - least).norm()
        }
        _ => f64::INFINITY,
    }
}

/// The smaller one's half diagonal.
fn smaller(shapes: &[Geometry; 2]) -> f64 {
    half_diagonal(&shapes[0]).min(half_diagonal(&shapes[1]))
}

fn direction(random: &mut Random) -> Vec3 {
    loop {
        if let Some(n) = random.in_ball(1.0).try_normalize(0.1) {
            return n;
        }
    }
}

/// A unit vector across another one.
fn across(n: &Vec3) -> Vec3 {
    let axis = Vec3::ith(n.iamin(), 1.0);
    n.cross(&axis).normalize()
}

/// The faces of a hull in general position, three corners each, with their outward normals.
fn triangles(points: &[Vec3]) -> Vec<([Vec3; 3], Vec3)> {
    let mut found = Vec::new();
    for (i, p) in points.iter().enumerate() {
        for (j, q) in points[..i].iter().enumerate() {
            for r in &points[..j] {
                let Some(normal) = (q - p).cross(&(r - p)).try_normalize(1e-12) else {
                    continue;
                };
                let over = |n: Vec3| {
                    let beyond = points.iter().map(|x| n.dot(&(x - p)));
                    beyond.fold(f64::MIN, f64::max)
                };
                let slack = 1e-12 * p.norm();
                if over(normal) <= slack {
                    found.push(([*p, *q, *r], normal));
                } else if over(-normal) <= slack {
                    found.push(([*p, *r, *q], -normal));
                }
            }
        }
    }
    found
}

/// A flat circle with all that it encloses; a point where the radius is 0.
#[derive(Clone, Copy)]
struct Disc {
    center: Vec3,
    axis: Vec3,
    radius: f64,
}

impl Disc {
    fn reach(&self, n: &Vec3) -> f64 {
        let center = n.dot(&self.center);
        if self.radius > 0.0 {
            center + self.radius * n.cross(&self.axis).norm()
        } else {
            center
        }
    }
}

/// A body for the reference, in the world: the hull of discs, grown by a radius.
struct Body {
    discs: Vec<Disc>,
    round: f64,
    center: Vec3,
    /// Outward normals of flat faces.
    faces: Vec<Vec3>,
    /// Axes u and values c: normals of edges and of curved sides have n·u = c.
    rings: Vec<(Vec3, f64)>,
    /// Whether it is all that lies below its only face.
    is_half_space: bool,
}

impl Body {
    fn new(geometry: &Geometry, pose: &Pose) -> Self {
        let mut body = Self {
            discs: Vec::new(),
            round: 0.0,
            center: pose.position,
            faces: Vec::new(),
            rings: Vec::new(),
            is_half_space: false,
        };
        body.describe(geometry);
        for disc in &mut body.discs {
            disc.center = pose.transform_point(disc.center);
            disc.axis = pose.rotation * disc.axis;
        }
        let axes = body.rings.iter_mut().map(|(axis, _)| axis);
        for n in body.faces.iter_mut().chain(axes) {
            *n = pose.rotation * *n;
        }
        body
    }

    fn point(&mut self, center: Vec3) {
        self.disc(center, 0.0);
    }

    fn disc(&mut self, center: Vec3, radius: f64) {
        let axis = Vec3::y();
        self.discs.push(Disc {
            center,
            axis,
            radius,
        });
    }

    /// Takes over a shape, in its own frame.
    fn describe(&mut self, geometry: &Geometry) {
        let y = Vec3::y();
        match geometry {
            Geometry::Ball { radius } => {
                self.point(Vec3::zeros());
                self.round = *radius;
            }
            Geometry::Cuboid { half_extents } => {
                for k in 0..8 {
                    let sign = |axis: usize| if k >> axis & 1 == 0 { -1.0 } else { 1.0 };
                    self.point(Vec3::from_fn(|axis, _| sign(axis) * half_extents[axis]));
                }
                for axis in [Vec3::x(), y, Vec3::z()] {
                    self.faces.extend([axis, -axis]);
                    self.rings.push((axis, 0.0));
                }
            }
            Geometry::Capsule {
                half_height,
                radius,
            } => {
                self.point(y * *half_height);
                self.point(-y * *half_height);
                self.round = *radius;
                self.rings.push((y, 0.0));
            }
            Geometry::Cylinder {
                half_height,
                radius,
            } => {
                self.disc(y * *half_height, *radius);
                self.disc(-y * *half_height, *radius);
                self.faces.extend([y, -y]);
                self.rings.push((y, 0.0));
            }
            Geometry::Cone {
                half_height,
                radius,
            } => {
                self.point(y * *half_height);
                self.disc(-y * *half_height, *radius);
                self.faces.push(-y);
                self.rings
                    .push((y, radius / radius.hypot(2.0 * half_height)));
            }
            Geometry::ConvexHull { points } => {
                points.iter().for_each(|p| self.point(*p));
                for ([p, q, r], normal) in triangles(points) {
                    self.faces.push(normal);
                    for (from, to) in [(p, q), (q, r), (r, p)] {
                        // Each edge once, of the two faces that share it.
                        if from.x < to.x {
                            self.rings.push(((to - from).normalize(), 0.0));
                        }
                    }
                }
            }
            Geometry::HalfSpace { normal } => {
                self.point(Vec3::zeros());
                self.faces.push(normal.normalize());
                self.is_half_space = true;
            }
            _ => panic!("{geometry:?} is not convex"),
        }
    }

    /// max n·x over the body.
    fn reach(&self, n: &Vec3) -> f64 {
        let reach = self.discs.iter().map(|disc| disc.reach(n));
        reach.fold(f64::MIN, f64::max) + self.round
    }
}

/// s(n): how far apart two bodies are along a unit vector.
fn separation(a: &Body, b: &Body, n: &Vec3) -> f64 {
    if a.is_half_space && (a.faces[0] - n).norm() > 1e-6 {
        return f64::NEG_INFINITY;
    }
    -b.reach(&-n) - a.reach(n)
}

/// How hard the reference looks.
#[derive(Clone, Copy)]
struct Effort {
    /// Directions all around.
    around: usize,
    /// Directions from which it climbs.
    starts: usize,
    /// Tops that it finds exactly.
    tops: usize,
}

const QUICK: Effort = Effort {
    around: 200,
    starts: 8,
    tops: 3,
};
const THOROUGH: Effort = Effort {
    around: 4000,
    starts: 40,
    tops: 12,
};

/// An axis and s of it.
type Top = (f64, Vec3);

/// The signed distance of two bodies with its axis, also looking from the axes given.
fn distance(a: &Body, b: &Body, effort: Effort, more: &[Vec3]) -> Top {
    let rate = |n: Vec3| (separation(a, b, &n), n);
    if a.is_half_space {
        return rate(a.faces[0]);
    }
    let mut axes = exact_axes(a, b);
    axes.extend_from_slice(more);
    axes.extend((0..effort.around).map(|k| {
        let y = 1.0 - (2.0 * k as f64 + 1.0) / effort.around as f64;
        let angle = k as f64 * PI * (3.0 - 5.0_f64.sqrt());
        let radius = (1.0 - y * y).sqrt();
        Vec3::new(radius * angle.cos(), y, radius * angle.sin())
    }));
    let mut rated: Vec<Top> = axes.into_iter().map(rate).collect();
    let best = rated[..].iter().copied().fold(rated[0], higher);
    let starts = spread(&mut rated, effort.starts, 0.995);
    let mut tops: Vec<Top> = starts.into_iter().map(|top| climb(a, b, top)).collect();
    // Apart, s has only one top.
    let is_apart = tops.iter().any(|top| top.0 > 0.0);
    let count = if is_apart { 1 } else { effort.tops };
    let tops = spread(&mut tops, count, 1.0 - 1e-5);
    let polished = tops.into_iter().map(|top| polish(a, b, top));
    polished.fold(best, higher)
}

fn higher(a: Top, b: Top) -> Top {
    if b.0 > a.0 { b } else { a }
}

/// The highest of some axes that have no larger cosine with each other than `near`.
fn spread(axes: &mut [Top], count: usize, near: f64) -> Vec<Top> {
    axes.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut chosen: Vec<Top> = Vec::new();
    for top in axes {
        if chosen.len() == count {
            break;
        }
        if chosen.iter().all(|c| c.1.dot(&top.1) < near) {
            chosen.push(*top);
        }
    }
    chosen
}

/// Axes that may be best exactly: normals of faces, common normals of edges and curved sides, and those that lead
/// from a point or the centre of a circle to another, straight or as far as a curved side has them.
fn exact_axes(a: &Body, b: &Body) -> Vec<Vec3> {
    let mut axes = a.faces.clone();
    axes.extend(b.faces.iter().map(|n| -n));
    let flipped = b.rings.iter().map(|(axis, c)| (*axis, -c));
    let flipped: Vec<(Vec3, f64)> = flipped.collect();
    for (u, p) in &a.rings {
        for (v, q) in &flipped {
            common_normals((u, *p), (v, *q), &mut axes);
        }
    }
    let mut ways: Vec<Vec3> = vec![b.center - a.center];
    for p in &a.discs {
        ways.extend(b.discs.iter().map(|q| q.center - p.center));
    }
    let few = |rings: &[(Vec3, f64)]| if rings.len() < 4 { rings.len() } else { 0 };
    let few_of_b = &flipped[..few(&flipped)];
    let rings: Vec<_> = a.rings[..few(&a.rings)].iter().chain(few_of_b).collect();
    let axis_of = |body: &Body| body.rings.first().map(|ring| ring.0);
    let aside = [a, b].into_iter().filter_map(axis_of);
    ways.extend(aside.flat_map(|axis| [axis, -axis]));
    for way in ways {
        for (axis, c) in &rings {
            let radial = way - axis * axis.dot(&way);
            if let Some(radial) = radial.try_normalize(1e-12) {
                axes.push(radial * (1.0 - c * c).sqrt() + axis * *c);
            }
        }
        axes.extend(way.try_normalize(1e-12));
    }
    axes
}

/// The unit vectors with n·u = p and n·v = q.
fn common_normals((u, p): (&Vec3, f64), (v, q): (&Vec3, f64), out: &mut Vec<Vec3>) {
    let cross = u.cross(v);
    let sine2 = cross.norm_squared();
    if sine2 < 1e-20 {
        return;
    }
    let cosine = u.dot(v);
    let flat = (u * (p - q * cosine) + v * (q - p * cosine)) / sine2;
    let rest = 1.0 - flat.norm_squared();
    if rest >= 0.0 {
        let up = cross * (rest / sine2).sqrt();
        out.extend([flat + up, flat - up].map(|n| n.normalize()));
    }
}

/// Climbs to within a hundredth of a radian or so of a top.
fn climb(a: &Body, b: &Body, (mut s, mut n): Top) -> Top {
    let mut step = 0.05;
    let mut turn = 0.0_f64;
    while step > 5e-3 {
        let u = across(&n);
        let v = n.cross(&u);
        let mut best = (s, n);
        for k in 0..12 {
            let (sin, cos) = (turn + f64::from(k) * PI / 6.0).sin_cos();
            let next = (n + (u * cos + v * sin) * step).normalize();
            best = higher(best, (separation(a, b, &next), next));
        }
        turn += 1.0;
        if best.0 > s {
            (s, n) = best;
        } else {
            step *= 0.7;
        }
    }
    (s, n)
}

/// Finds a top exactly by golden sections in a window of two angles, one within the other, which ridges at any
/// angle do not mislead as they do a descent. The window moves until the top is well inside, then shrinks and turns.
fn polish(a: &Body, b: &Body, mut top: Top) -> Top {
    const WINDOWS: [(f64, usize, f64); 4] = [
        (3e-2, 14, 0.3),
        (1e-3, 20, 1.0),
        (1e-6, 20, 1.9),
        (1e-9, 16, 2.6),
    ];
    for (window, steps, turn) in WINDOWS {
        for k in 0..20 {
            let next = best_in_window(a, b, top.1, window, steps, turn + f64::from(k));
            let moved = (next.1 - top.1).norm();
            top = higher(top, next);
            if moved < 0.5 * window {
                break;
            }
        }
    }
    top
}

fn best_in_window(a: &Body, b: &Body, n: Vec3, window: f64, steps: usize, turn: f64) -> Top {
    let (u, (sin, cos)) = (across(&n), turn.sin_cos());
    let v = n.cross(&u);
    let (u, v) = (u * cos + v * sin, v * cos - u * sin);
    golden(window, steps, |x| {
        golden(window, steps, |y| {
            let n = (n + u * x + v * y).normalize();
            (separation(a, b, &n), n)
        })
    })
}

/// The largest value in [−window, window], of a function with one top there.
fn golden(window: f64, steps: usize, mut f: impl FnMut(f64) -> Top) -> Top {
    const SHARE: f64 = 0.618_033_988_749_894_9;
    let (mut from, mut to) = (-window, window);
    let mut x = [to - SHARE * (to - from), from + SHARE * (to - from)];
    let mut y = x.map(&mut f);
    for _ in 0..steps {
        if y[0].0 > y[1].0 {
            to = x[1];
            (x[1], y[1]) = (x[0], y[0]);
            x[0] = to - SHARE * (to - from);
            y[0] = f(x[0]);
        } else {
            from = x[0];
            (x[0], y[0]) = (x[1], y[1]);
            x[1] = from + SHARE * (to - from);
            y[1] = f(x[1]);
        }
    }
    higher(y[0], y[1])
}

/// How far a point is outside of a shape, in the shape's frame; negative inside. Beyond edges of hulls and cones
/// it is how far the point is beyond the farthest face.
fn outside(geometry: &Geometry, p: Vec3) -> f64 {
    let radial = p.x.hypot(p.z);
    match geometry {
        Geometry::Ball { radius } => p.norm() - radius,
        Geometry::Cuboid { half_extents } => box_distance(p.abs() - half_extents),
        Geometry::Capsule {
            half_height,
            radius,
        } => (p - Vec3::y() * p.y.clamp(-half_height, *half_height)).norm() - radius,
        Geometry::Cylinder {
            half_height,
            radius,
        } => box_distance(Vec3::new(
            radial - radius,
            p.y.abs() - half_height,
            f64::MIN,
        )),
        Geometry::Cone {
            half_height,
            radius,
        } => {
            let height = 2.0 * half_height;
            let side = (height * radial + radius * (p.y - half_height)) / height.hypot(*radius);
            side.max(-half_height - p.y)
        }
        Geometry::ConvexHull { points } => {
            let planes = triangles(points);
            let over = planes.iter().map(|([q, ..], n)| n.dot(&(p - q)));
            over.fold(f64::MIN, f64::max)
        }
        Geometry::HalfSpace { normal } => normal.normalize().dot(&p),
        _ => panic!("{geometry:?} is not convex"),
    }
}

/// How far something is outside of a box, by how far it is beyond each pair of faces.
fn box_distance(beyond: Vec3) -> f64 {
    let outside = beyond.map(|c| c.max(0.0)).norm();
    if outside > 0.0 { outside } else { beyond.max() }
}

/// A place on a shape's surface, in the shape's frame: a tangent plane of the whole shape touches it there.
#[derive(Clone, Copy)]
struct Spot {
    at: Vec3,
    normal: Vec3,
    /// A direction in the plane, that of the line where the plane touches in one.
    along: Vec3,
    /// How far the shape touches the plane to each side: along, and across.
    room: [f64; 2],
}

impl Spot {
    fn new(at: Vec3, normal: Vec3, room: f64) -> Self {
        Self {
            at,
            normal,
            along: across(&normal),
            room: [room; 2],
        }
    }

    fn on_line(from: Vec3, to: Vec3, normal: Vec3) -> Self {
        Self {
            at: (from + to) * 0.5,
            normal: normal.normalize(),
            along: (to - from).normalize(),
            room: [0.5 * (to - from).norm(), 0.0],
        }
    }

    /// A place that is as good nearby.
    fn moved(self, random: &mut Random, share: f64) -> Self {
        let aside = self.normal.cross(&self.along);
        let shift = self.along * (self.room[0] * random.signed())
            + aside * (self.room[1] * random.signed());
        Self {
            at: self.at + shift * share,
            ..self
        }
    }
}

/// The middle of a flat face; `room` is that of a circle in it.
fn face(geometry: &Geometry, random: &mut Random) -> Option<Spot> {
    let side = if random.below(2) == 0 { -1.0 } else { 1.0 };
    let y = Vec3::y();
    Some(match geometry {
        Geometry::Cuboid { half_extents: h } => {
            let k = random.below(3);
            let normal = Vec3::ith(k, side);
            let room = h[(k + 1) % 3].min(h[(k + 2) % 3]);
            Spot {
                along: Vec3::ith((k + 1) % 3, 1.0),
                ..Spot::new(normal * h[k], normal, room)
            }
        }
        Geometry::Cylinder {
            half_height,
            radius,
        } => Spot::new(y * (side * half_height), y * side, radius * 0.7),
        Geometry::Cone {
            half_height,
            radius,
        } => Spot::new(-y * *half_height, -y, radius * 0.7),
        Geometry::ConvexHull { points } => {
            let all = triangles(points);
            let ([p, q, r], normal) = all[random.below(all.len())];
            let middle = (p + q + r) / 3.0;
            let room = [(p, q), (q, r), (r, p)]
                .map(|(from, to)| (middle - from).cross(&(to - from).normalize()).norm());
            let room = room[0].min(room[1]).min(room[2]);
            Spot {
                along: (q - p).normalize(),
                ..Spot::new(middle, normal, room * 0.7)
            }
        }
        Geometry::HalfSpace { .. } => Spot {
            along: Vec3::x(),
            ..Spot::new(Vec3::zeros(), y, 1.0)
        },
        _ => return None,
    })
}

/// The middle of a straight line on the surface, an edge or a line of a curved side.
fn line(geometry: &Geometry, random: &mut Random) -> Option<Spot> {
    let y = Vec3::y();
    let angle = if random.below(2) == 0 {
        0.0
    } else {
        random.range(0.0, 2.0 * PI)
    };
    let radial = Vec3::new(angle.cos(), 0.0, angle.sin());
    let share = random.range(0.1, 0.9);
    Some(match geometry {
        Geometry::Cuboid { half_extents: h } => {
            let k = random.below(3);
            let (u, v) = (Vec3::ith((k + 1) % 3, 1.0), Vec3::ith((k + 2) % 3, 1.0));
            let middle = u * h[(k + 1) % 3] + v * h[(k + 2) % 3];
            let half = Vec3::ith(k, h[k]);
            Spot::on_line(middle - half, middle + half, u * share + v * (1.0 - share))
        }
        Geometry::Capsule {
            half_height,
            radius,
        }
        | Geometry::Cylinder {
            half_height,
            radius,
        } => {
            let (middle, half) = (radial * *radius, y * *half_height);
            Spot::on_line(middle - half, middle + half, radial)
        }
        Geometry::Cone {
            half_height,
            radius,
        } => {
            let half = y * *half_height;
            let normal = radial * (2.0 * half_height) + y * *radius;
            Spot::on_line(radial * *radius - half, half, normal)
        }
        Geometry::ConvexHull { points } => {
            let all = triangles(points);
            let ([p, q, _], normal) = all[random.below(all.len())];
            let beside = |(corners, _): &&([Vec3; 3], Vec3)| {
                (0..3).any(|k| corners[k] == q && corners[(k + 1) % 3] == p)
            };
            let other = all.iter().find(beside).map_or(normal, |t| t.1);
            Spot::on_line(p, q, normal * share + other * (1.0 - share))
        }
        _ => return None,
    })
}

/// A corner, an apex, or a point of a rim, of a ball or of a capsule's end.
fn corner(geometry: &Geometry, random: &mut Random) -> Spot {
    let y = Vec3::y();
    let normal = direction(random);
    let radial = Vec3::new(normal.x, 0.0, normal.z).normalize();
    let share = random.range(0.1, 0.9);
    let (at, normal) = match geometry {
        Geometry::Ball { radius } => (normal * *radius, normal),
        Geometry::Cuboid { half_extents } => {
            let at = Vec3::from_fn(|k, _| half_extents[k].copysign(normal[k]));
            (at, normal)
        }
        Geometry::Capsule {
            half_height,
            radius,
        } => (
            y * half_height.copysign(normal.y) + normal * *radius,
            normal,
        ),
        Geometry::Cylinder {
            half_height,
            radius,
        } => (
            radial * *radius + y * half_height.copysign(normal.y),
            normal,
        ),
        Geometry::Cone {
            half_height,
            radius,
        } => {
            let side = radial * (2.0 * half_height) + y * *radius;
            if normal.y > 0.0 {
                let normal = side.normalize() * share + y * (1.0 - share);
                (y * *half_height, normal)
            } else {
                let normal = side.normalize() * share - y * (1.0 - share);
                (radial * *radius - y * *half_height, normal)
            }
        }
        Geometry::ConvexHull { points } => {
            let all = triangles(points);
            let ([p, ..], first) = all[random.below(all.len())];
            let around = all.iter().filter(|(corners, _)| corners.contains(&p));
            let sum = around.map(|(_, n)| n).sum::<Vec3>();
            (p, sum + first * share)
        }
        _ => (Vec3::zeros(), y),
    };
    Spot::new(at, normal.normalize(), 0.0)
}

/// The pose of the second body, in the first one's frame, with a spot on the other's: `gap` apart, turned by `angle`
/// in the common plane and by `tilt` out of it.
fn on_spot(spots: [Spot; 2], gap: f64, angle: f64, tilt: f64) -> Pose {
    let [a, b] = spots;
    let (sin, cos) = angle.sin_cos();
    let along = a.along * cos + a.normal.cross(&a.along) * sin;
    let frame =
        |along: Vec3, normal: Vec3| Mat3::from_columns(&[along, normal, along.cross(&normal)]);
    let turn = frame(along, -a.normal) * frame(b.along, b.normal).transpose();
    let turn = nalgebra::Rotation3::from_matrix_unchecked(turn);
    let tilted = Quat::from_scaled_axis(a.normal.cross(&along) * tilt);
    let rotation = tilted * Quat::from_rotation_matrix(&turn);
    Pose::new(a.at + a.normal * gap - rotation * b.at, rotation)
}

/// The pose of the second body, in the first one's frame, turned anyhow and `gap` from the plane that touches the
/// first one at a spot.
fn over_spot(spot: Spot, other: &Geometry, gap: f64, random: &mut Random) -> Pose {
    let rotation = random.rotation();
    let turned = Body::new(other, &Pose::new(Vec3::zeros(), rotation));
    let reach = turned.reach(&-spot.normal);
    Pose::new(spot.at + spot.normal * (gap + reach), rotation)
}

/// A pose of the second body near the first one, with about the distance wanted where that is possible.
fn near(shapes: &[Geometry; 2], wanted: f64, random: &mut Random) -> Pose {
    let first = Body::new(&shapes[0], &Pose::IDENTITY);
    let n = if first.is_half_space {
        Vec3::y()
    } else {
        direction(random)
    };
    let size = smaller(shapes);
    let spot = Spot::new(n * first.reach(&n), n, 0.0);
    let mut pose = over_spot(spot, &shapes[1], wanted, random);
    pose.position += random.in_ball(0.5 * size);
    for _ in 0..2 {
        let (d, n) = distance(&first, &Body::new(&shapes[1], &pose), QUICK, &[]);
        pose.position += n * (wanted - d);
    }
    pose
}

/// Two bodies, and what they are a case of.
struct Case {
    configuration: &'static str,
    note: String,
    shapes: [Geometry; 2],
    poses: [Pose; 2],
}

impl Case {
    /// Half the diagonal of the smaller body.
    fn size(&self) -> f64 {
        smaller(&self.shapes)
    }

    /// What hulls may be larger than their points by (m).
    fn merged(&self) -> f64 {
        let hulls = self.shapes.iter();
        let hulls = hulls.filter(|s| matches!(s, Geometry::ConvexHull { .. }));
        hulls.map(|s| MERGED * half_diagonal(s)).sum()
    }

    fn bodies(&self) -> [Body; 2] {
        [0, 1].map(|k| Body::new(&self.shapes[k], &self.poses[k]))
    }
}

/// What makes the cases of one pair of kinds.
struct Maker {
    kinds: [Kind; 2],
    random: Random,
    cases: Vec<Case>,
}

impl Maker {
    fn shapes(&mut self) -> ([Geometry; 2], f64) {
        let shapes = self.kinds.map(|kind| geometry(kind, &mut self.random, 1.0));
        let size = smaller(&shapes);
        (shapes, size)
    }

    /// Adds a case with the second body placed in the first one's frame, which is anywhere in every other case.
    fn push(
        &mut self,
        configuration: &'static str,
        mut shapes: [Geometry; 2],
        relative: Pose,
        note: String,
    ) {
        let random = &mut self.random;
        let at = if random.below(2) == 0 {
            Pose::IDENTITY
        } else {
            Pose::new(random.in_ball(3.0), random.rotation())
        };
        let mut poses = [at, at.compose(&relative)];
        // Reference distances take half-spaces first.
        if self.kinds[0] != Kind::Plane && random.below(2) == 0 {
            poses.reverse();
            shapes.reverse();
        }
        self.cases.push(Case {
            configuration,
            note,
            shapes,
            poses,
        });
    }

    /// The flattest spot that a shape has.
    fn flattest(&mut self, geometry: &Geometry) -> Spot {
        let random = &mut self.random;
        face(geometry, random)
            .or_else(|| line(geometry, random))
            .unwrap_or_else(|| corner(geometry, random))
    }

    /// Any spot that a shape has.
    fn any(&mut self, geometry: &Geometry) -> Spot {
        let random = &mut self.random;
        let spot = match random.below(3) {
            0 => face(geometry, random),
            1 => line(geometry, random),
            _ => None,
        };
        spot.unwrap_or_else(|| corner(geometry, random))
            .moved(random, 0.8)
    }

    fn round(&mut self) {
        for k in 0..6 {
            let (shapes, size) = self.shapes();
            let wanted = self.random.range(-0.2, 0.06) * size;
            let pose = near(&shapes, wanted, &mut self.random);
            self.push("near", shapes, pose, format!("wanted {wanted:.3}"));
            let (shapes, size) = self.shapes();
            let wanted = -self.random.range(0.4, 0.6) * size;
            let pose = near(&shapes, wanted, &mut self.random);
            self.push("deep", shapes, pose, format!("wanted {wanted:.3}"));
            let (shapes, _) = self.shapes();
            let spots = [self.any(&shapes[0]), self.any(&shapes[1])];
            let angle = self.random.range(0.0, PI);
            let pose = on_spot(spots, 0.0, angle, 0.0);
            self.push("touching", shapes, pose, format!("try {k}"));
        }
        for (k, gap) in GAPS.into_iter().enumerate() {
            self.flush(gap, TILTS[(k + 1) % 4]);
            self.flush(gap, 0.0);
            self.lines("parallel", gap, 0.0, TILTS[k % 4]);
            self.lines("crossed", gap, FRAC_PI_2, 0.0);
        }
        if self.kinds == [Kind::Cuboid, Kind::Cylinder] {
            self.disc_on_plate();
        }
        if self.kinds[0] != Kind::Plane {
            for ratio in [1.0, 10.0, 100.0, 1000.0] {
                for swapped in [false, true] {
                    for flat in [false, true] {
                        self.sizes(ratio, swapped, flat);
                    }
                }
            }
        }
    }

    /// The flattest spots of both on each other.
    fn flush(&mut self, gap: f64, tilt: f64) {
        let (shapes, size) = self.shapes();
        let spots = [0, 1].map(|k| self.flattest(&shapes[k]));
        let spots = spots.map(|spot| spot.moved(&mut self.random, 0.8));
        let angle = match self.random.below(3) {
            0 => 0.0,
            1 => FRAC_PI_2,
            _ => self.random.range(0.0, PI),
        };
        let pose = on_spot(spots, gap * size, angle, tilt);
        let note = format!("gap {gap:e}, turned by {angle:.3}, tilted by {tilt:e}");
        let name = if tilt == 0.0 { "flush" } else { "tilted" };
        self.push(name, shapes, pose, note);
    }

    /// A disc in the middle of a plate, on its cap and on its side.
    fn disc_on_plate(&mut self) {
        for gap in GAPS {
            for lies in [true, false] {
                let half_extents = Vec3::new(12.0, 0.5, 2.0);
                let disc = Geometry::Cylinder {
                    half_height: 0.05,
                    radius: 0.1,
                };
                let (gap, y) = (gap * half_diagonal(&disc), Vec3::y());
                let spot = if lies {
                    Spot::new(y * -0.05, -y, 0.0)
                } else {
                    Spot::new(Vec3::x() * 0.1, Vec3::x(), 0.0)
                };
                let pose = on_spot([Spot::new(y * 0.5, y, 0.0), spot], gap, 0.0, 0.0);
                let shapes = [Geometry::Cuboid { half_extents }, disc];
                let note = format!("gap {gap:e}, lies {lies}");
                self.push("disc on plate", shapes, pose, note);
            }
        }
    }

    /// Two straight lines on each other, if both have any.
    fn lines(&mut self, name: &'static str, gap: f64, angle: f64, tilt: f64) {
        let (shapes, size) = self.shapes();
        let random = &mut self.random;
        let [Some(a), Some(b)] = [0, 1].map(|k| line(&shapes[k], random)) else {
            return;
        };
        // Parallel but for the angle in the plane or out of it.
        let (angle, tilt) = if random.below(2) == 0 {
            (angle + tilt, 0.0)
        } else {
            (angle, tilt)
        };
        let spots = [a, b].map(|spot| spot.moved(random, 0.8));
        let pose = on_spot(spots, gap * size, angle, tilt);
        let note = format!("gap {gap:e}, turned by {angle:e}, tilted by {tilt:e}");
        self.push(name, shapes, pose, note);
    }

    /// A small body on the flattest spot of a large one, away from its border.
    fn sizes(&mut self, ratio: f64, swapped: bool, flat: bool) {
        let mut kinds = self.kinds;
        if swapped {
            kinds.reverse();
        }
        let random = &mut self.random;
        let shapes = [ratio, 1.0].map(|scale| scale * random.range(0.1, 0.3));
        let shapes = [0, 1].map(|k| geometry(kinds[k], random, shapes[k]));
        let size = half_diagonal(&shapes[1]);
        let gap = match random.below(2) {
            0 => GAPS[random.below(GAPS.len())],
            _ => random.range(-0.2, 0.04),
        };
        let spot = self.flattest(&shapes[0]);
        let spot = spot.moved(&mut self.random, 0.3);
        let pose = if flat {
            let own = self.any(&shapes[1]);
            let angle = self.random.range(0.0, PI);
            on_spot([spot, own], gap * size, angle, 0.0)
        } else {
            over_spot(spot, &shapes[1], gap * size, &mut self.random)
        };
        let name = match ratio as u32 {
            1 => "1 : 1",
            10 => "1 : 10",
            100 => "1 : 100",
            _ => "1 : 1000",
        };
        let note = format!("gap {gap:.3e}, large {:?}, flat {flat}", kinds[0]);
        self.push(name, shapes, pose, note);
    }
}

/// What can be wrong with a pair's contacts, with how much it is wrong by, as a share of the smaller size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// There are none within the prediction distance.
    Missed,
    /// There are some beyond the prediction distance.
    Beyond,
    /// The least gap is not the distance.
    Gap,
    /// The bodies are not as far apart along the normal as they are along another axis.
    Normal,
    /// An end of a contact is outside of its body.
    Point,
}

/// The first thing that is wrong.
fn fault(case: &Case, found: &[FoundContact], bodies: &[Body; 2], d: f64) -> Option<(Fault, f64)> {
    let size = case.size();
    let prediction = PREDICTION * size;
    let are_hulls = case
        .shapes
        .iter()
        .all(|s| matches!(s, Geometry::Cuboid { .. } | Geometry::ConvexHull { .. }));
    let middle = if are_hulls { MIDDLE } else { 0.0 };
    let exact = EXACT + middle + case.merged() / size;
    if found.is_empty() {
        let is_missed = d < prediction * (1.0 - 1e-6);
        return is_missed.then_some((Fault::Missed, (prediction - d) / size));
    }
    if d > prediction * (1.0 + 1e-6) {
        return Some((Fault::Beyond, (d - prediction) / size));
    }
    let gap = found.iter().map(|c| c.gap).fold(f64::MAX, f64::min);
    let off = (gap - d).abs() / size;
    if off.is_nan() || off > exact {
        return Some((Fault::Gap, off));
    }
    let [a, b] = bodies;
    for c in found {
        let off = (d - separation(a, b, &c.normal)) / size;
        let is_unit = (c.normal.norm() - 1.0).abs() < 1e-9;
        if !is_unit || off.is_nan() || off > exact {
            return Some((Fault::Normal, off));
        }
    }
    for c in found {
        for (k, side) in [-0.5, 0.5].into_iter().enumerate() {
            let end = c.point + c.normal * (side * c.gap);
            let local = case.poses[k].inverse_transform_point(end);
            let off = outside(&case.shapes[k], local) / size;
            if off.is_nan() || off > POINT + LEVEL * c.gap.abs() / size {
                return Some((Fault::Point, off));
            }
        }
    }
    None
}

/// What is wrong with a case, and the distance; what fails at first is looked at thoroughly.
fn judge(case: &Case) -> Option<(Fault, f64, f64)> {
    let size = case.size();
    let [first, second] = &case.shapes;
    let of = [(first, case.poses[0]), (second, case.poses[1])];
    let found = contacts(of, PREDICTION * size);
    let bodies = case.bodies();
    let [a, b] = &bodies;
    let (d, _) = distance(a, b, QUICK, &[]);
    fault(case, &found, &bodies, d)?;
    let unit = found.iter().filter_map(|c| c.normal.try_normalize(0.5));
    let normals: Vec<Vec3> = unit.filter(|n| n.norm().is_finite()).collect();
    let (d, _) = distance(a, b, THOROUGH, &normals);
    let (fault, off) = fault(case, &found, &bodies, d)?;
    Some((fault, off, d / size))
}

/// Every two kinds, half-spaces only with solids.
fn pairs() -> Vec<[Kind; 2]> {
    let mut pairs: Vec<[Kind; 2]> = SOLIDS.map(|kind| [Kind::Plane, kind]).into();
    for (k, first) in SOLIDS.into_iter().enumerate() {
        pairs.extend(SOLIDS[k..].iter().map(|second| [first, *second]));
    }
    pairs
}

/// All cases of two kinds.
fn cases(kinds: [Kind; 2], seed: u64, rounds: usize) -> Vec<Case> {
    let mut maker = Maker {
        kinds,
        random: Random::new(seed),
        cases: Vec::new(),
    };
    for _ in 0..rounds {
        maker.round();
    }
    maker.cases
}

/// What became of one configuration of two kinds.
#[derive(Default)]
struct Tally {
    tries: usize,
    faults: BTreeMap<Fault, usize>,
    worst: Option<(f64, String)>,
}

/// Tries all pairs, prints what failed, and fails if anything did.
fn try_all(rounds: usize) {
    let (mut tries, mut failures) = (0, 0);
    for (seed, kinds) in pairs().into_iter().enumerate() {
        let all = cases(kinds, seed as u64, rounds);
        let judged: Vec<_> = all.par_iter().map(judge).collect();
        let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
        for (k, (case, verdict)) in all.iter().zip(judged).enumerate() {
            let tally = tallies.entry(case.configuration).or_default();
            tally.tries += 1;
            let Some((fault, off, d)) = verdict else {
                continue;
            };
            *tally.faults.entry(fault).or_default() += 1;
            if tally.worst.as_ref().is_none_or(|worst| worst.0 < off) {
                let text = format!(
                    "{fault:?} by {off:.1e}, d {d:.2e}, seed {seed} case {k}, {}",
                    case.note
                );
                tally.worst = Some((off, text));
            }
        }
        for (configuration, tally) in tallies {
            tries += tally.tries;
            let Some((_, worst)) = tally.worst else {
                continue;
            };
            let count: usize = tally.faults.values().sum();
            failures += count;
            let [a, b] = kinds;
            println!(
                "{a:?}-{b:?}, {configuration}: {count} of {} {:?}; worst {worst}",
                tally.tries, tally.faults
            );
        }
    }
    println!("{failures} of {tries} failed");
    assert_eq!(failures, 0, "of {tries} pairs of bodies");
}

/// Every two convex shapes, and each on a half-space: contacts are found where there should be some, as deep as the
/// bodies are, along an axis on which they are so, and on the surfaces.
#[test]
fn contacts_are_where_bodies_are_nearest() {
    try_all(ROUNDS);
}

/// The same, many more times.
#[test]
#[ignore = "takes minutes"]
fn many_contacts_are_where_bodies_are_nearest() {
    try_all(MANY_ROUNDS);
}

/// What the reference says of two shapes.
fn distance_of(shapes: [&Geometry; 2], poses: [Pose; 2]) -> f64 {
    let [a, b] = [0, 1].map(|k| Body::new(shapes[k], &poses[k]));
    distance(&a, &b, QUICK, &[]).0
}

/// A ball next to shapes whose distance from a point has a closed form: itself a ball, a cuboid, a capsule and a
/// cylinder, next to faces, sides, edges and rims; and as deep in them as its centre is still outside.
#[test]
fn the_reference_is_right_about_balls() {
    let mut random = Random::new(1);
    let mut seen = 0;
    for k in 0..400 {
        let kinds = [Kind::Ball, Kind::Cuboid, Kind::Capsule, Kind::Cylinder];
        let other = geometry(kinds[k % 4], &mut random, 1.0);
        let radius = random.range(0.1, 1.0);
        let center = random.in_ball(3.0);
        let away = outside(&other, center);
        if away < 1e-3 {
            continue;
        }
        seen += 1;
        let at = Pose::new(random.in_ball(3.0), random.rotation());
        let ball = Pose::new(at.transform_point(center), random.rotation());
        let d = distance_of([&Geometry::Ball { radius }, &other], [ball, at]);
        let expected = away - radius;
        assert!((d - expected).abs() < 1e-10, "{other:?}: {d}, {expected}");
    }
    assert!(seen > 200);
}

/// Parallel cylinders, disks on plates, cones on boxes either way up, and balls in cones' sides, apart and
/// overlapping.
#[test]
fn the_reference_is_right_about_closed_forms() {
    let mut random = Random::new(2);
    for _ in 0..100 {
        let at = Pose::new(random.in_ball(3.0), random.rotation());
        let (r, s, h) = (0.3, random.range(0.1, 0.5), random.range(0.3, 1.0));
        let gap = random.range(-0.1, 0.1);
        let check = |shapes: [&Geometry; 2], local: Pose| {
            let d = distance_of(shapes, [at, at.compose(&local)]);
            assert!((d - gap).abs() < 1e-10, "{shapes:?}: {d}, {gap}");
        };
        let cylinder = |radius| Geometry::Cylinder {
            half_height: h,
            radius,
        };
        let turn = |axis: Vec3, angle: f64| Quat::from_scaled_axis(axis * angle);
        let angle = random.range(0.0, 2.0 * PI);
        let sideways = Vec3::new(angle.cos(), 0.0, angle.sin()) * (r + s + gap);
        let shift = sideways + Vec3::y() * random.range(-h, h);
        let spin = turn(Vec3::y(), angle);
        check([&cylinder(r), &cylinder(s)], Pose::new(shift, spin));
        let plate = Geometry::Cuboid {
            half_extents: Vec3::new(2.0, 0.5, 2.0),
        };
        let over = |height: f64| Vec3::new(0.4, 0.5 + height + gap, -0.3);
        check([&plate, &cylinder(s)], Pose::new(over(h), spin));
        let cone = Geometry::Cone {
            half_height: h,
            radius: s,
        };
        check([&plate, &cone], Pose::new(over(h), spin));
        let down = turn(Vec3::x(), PI) * spin;
        check([&plate, &cone], Pose::new(over(h), down));
        // A ball on the middle of the cone's side.
        let side = Vec3::new(2.0 * h, s, 0.0).normalize();
        let middle = spin * (Vec3::x() * (0.5 * s) + side * (r + gap));
        let ball = Geometry::Ball { radius: r };
        check([&cone, &ball], Pose::new(middle, Quat::identity()));
    }
}

/// The point of the hull of at most five points that is nearest to the origin; drops the points that it needs not.
fn nearest(points: &mut Vec<Vec3>) -> Vec3 {
    let mut best: Option<(f64, Vec3, usize)> = None;
    for subset in 1..1_usize << points.len() {
        let chosen: Vec<Vec3> = (0..points.len())
            .filter(|k| subset >> k & 1 == 1)
            .map(|k| points[k])
            .collect();
        let Some((p, rest)) = chosen.split_first().filter(|(_, rest)| rest.len() < 4) else {
            continue;
        };
        // Weights of the other points: the foot of the perpendicular on what they span.
        let n = rest.len();
        let along = |k: usize| rest[k] - p;
        let mut gram = Mat3::identity();
        let mut side = Vec3::zeros();
        for i in 0..n {
            side[i] = -along(i).dot(p);
            for j in 0..n {
                gram[(i, j)] = along(i).dot(&along(j));
            }
        }
        let Some(inverse) = gram.try_inverse() else {
            continue;
        };
        let weights = inverse * side;
        if weights.iter().any(|w| *w < 0.0) || weights.sum() > 1.0 {
            continue;
        }
        let foot = (0..n).fold(*p, |sum, k| sum + along(k) * weights[k]);
        if best.is_none_or(|b| foot.norm() < b.0) {
            best = Some((foot.norm(), foot, subset));
        }
    }
    let (_, foot, subset) = best.expect("one point is a subset");
    let mut k = 0;
    points.retain(|_| {
        k += 1;
        subset >> (k - 1) & 1 == 1
    });
    foot
}

/// The point of a body that lies farthest along an axis, before the body is grown by its radius.
fn farthest(body: &Body, n: &Vec3) -> Vec3 {
    let by_reach = |x: &&Disc, y: &&Disc| x.reach(n).total_cmp(&y.reach(n));
    let disc = body.discs.iter().max_by(by_reach).expect("a disc");
    let flat = n - disc.axis * disc.axis.dot(n);
    let rim = flat.try_normalize(0.0).unwrap_or_default() * disc.radius;
    disc.center + rim
}

/// How far two points of two bodies apart are from each other that Gilbert, Johnson and Keerthi's iteration finds:
/// an upper bound of the distance.
fn distance_of_points(a: &Body, b: &Body) -> f64 {
    let mut points = vec![b.center - a.center];
    let mut v = points[0];
    for _ in 0..1000 {
        let n = -v.normalize();
        let next = farthest(b, &n) - farthest(a, &-n);
        if v.norm() + n.dot(&next) < 1e-12 {
            break;
        }
        points.push(next);
        v = nearest(&mut points);
        if v.norm() < 1e-9 {
            break;
        }
    }
    v.norm() - a.round - b.round
}

/// Of bodies apart, s of the best axis is as much as two of their points are apart, which proves both. Of bodies that
/// overlap, a search from many times as many axes finds nothing better.
#[test]
fn the_reference_finds_the_best_axis() {
    let (mut tries, mut apart, mut missed) = (0, 0, Vec::new());
    let pairs = pairs();
    for kinds in pairs.iter().filter(|kinds| kinds[0] != Kind::Plane) {
        let all = cases(*kinds, 1000, 1);
        let off = all.par_iter().map(|case| {
            let size = case.size();
            let [a, b] = &case.bodies();
            let (d, _) = distance(a, b, QUICK, &[]);
            if d > 1e-4 * size {
                // Simplices hardly do better where a body is a thousand times as large.
                let off = distance_of_points(a, b) - d;
                (true, off / size, off > EXACT * size)
            } else {
                let off = distance(a, b, THOROUGH, &[]).0 - d;
                (false, off / size, off > 0.1 * EXACT * size)
            }
        });
        let off: Vec<_> = off.collect();
        for (case, (is_apart, off, is_missed)) in all.iter().zip(off) {
            tries += 1;
            apart += usize::from(is_apart);
            if is_missed {
                let Case {
                    configuration,
                    note,
                    ..
                } = case;
                missed.push(format!(
                    "{kinds:?}, {configuration}, {note}, apart {is_apart}: off by {off:.1e}"
                ));
            }
        }
    }
    assert!(apart * 10 > tries, "{apart} of {tries} apart");
    assert!(
        missed.is_empty(),
        "{} of {tries}: {missed:#?}",
        missed.len()
    );
}
