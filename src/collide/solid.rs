//! Convex solids as the narrow phase reads them: supports, flat sides, and the corners of what faces an axis.

use parry3d_f64::shape::{Shape as ParryShape, TypedShape};

use super::hulls::Corner;
use crate::math::{Mat3, Pose, Vec3};
use crate::world::hull::Hull;

/// Corners of the polygon that stands for a disc.
const DISC: usize = 12;
/// Cosine of the angle within which a face of a hull is what faces an axis, and sine of that within which an edge is: on
/// both sides of it the corners are the same but for those that are farther away than a step goes.
const FACING: f64 = 0.996;
const ALONG: f64 = 0.09;
/// Sine of the angle to an axis within which a line may be exactly across it.
const ACROSS: f64 = 1e-2;
/// Sine of that within which a line or a flat side is highest along an axis: as nearly as axes are found.
const LEVEL: f64 = 1e-4;

/// What a solid is.
#[derive(Clone, Copy)]
enum Form<'a> {
    /// The centre of a ball.
    Point,
    /// The middle line of a capsule, from −y to y.
    Segment {
        half: f64,
    },
    Cylinder {
        half: f64,
        radius: f64,
    },
    /// With its apex at +y.
    Cone {
        half: f64,
        radius: f64,
    },
    Hull(&'a Hull),
}

/// A convex solid where it is. Balls and capsules are a point and a line, `radius` thick.
#[derive(Clone, Copy)]
pub struct Solid<'a> {
    form: Form<'a>,
    /// What lies around the core (m).
    pub radius: f64,
    /// Half the diagonal of the box around the solid (m).
    pub size: f64,
    at: Vec3,
    turn: Mat3,
}

/// What faces an axis: a polygon with its plane's normal, or a line or a point without.
#[derive(Default)]
pub struct Facing {
    /// Counter-clockwise as seen from outside; of a line or a point, what is its edge's name names the corner.
    pub corners: Vec<Corner>,
    /// Unit outward normal of a polygon.
    pub normal: Option<Vec3>,
}

/// What lies highest along an axis.
#[derive(Clone, Copy, Debug)]
pub enum Top {
    /// One point.
    Point(Vec3),
    /// A line between two.
    Line([Vec3; 2]),
    /// A flat side.
    Flat,
}

/// A line, or a point, of which the solid's surface keeps a distance around an axis.
#[derive(Clone, Copy, Debug)]
pub struct Spine {
    /// Some point of it.
    pub at: Vec3,
    /// Unit vector along it, of a line.
    pub along: Option<Vec3>,
}

impl<'a> Solid<'a> {
    /// A shape of parry's, with its hull if it is a polyhedron, in a frame in which it has this pose; none where it is no
    /// convex solid.
    pub fn new(shape: &dyn ParryShape, hull: Option<&'a Hull>, pose: &Pose) -> Option<Self> {
        let mut radius = 0.0;
        let (form, size) = match (hull, shape.as_typed_shape()) {
            (Some(hull), _) => (Form::Hull(hull), hull.size),
            (None, TypedShape::Ball(ball)) => {
                radius = ball.radius;
                (Form::Point, ball.radius)
            }
            (None, TypedShape::Capsule(capsule)) => {
                radius = capsule.radius;
                let half = capsule.half_height();
                (Form::Segment { half }, (half + radius).hypot(radius))
            }
            (None, TypedShape::Cylinder(c)) => {
                let (half, radius) = (c.half_height, c.radius);
                (Form::Cylinder { half, radius }, half.hypot(radius))
            }
            (None, TypedShape::Cone(c)) => {
                let (half, radius) = (c.half_height, c.radius);
                (Form::Cone { half, radius }, half.hypot(radius))
            }
            _ => return None,
        };
        Some(Self {
            form,
            radius,
            size,
            at: pose.position,
            turn: pose.rotation.to_rotation_matrix().into_inner(),
        })
    }

    /// Its middle, or near it.
    pub fn middle(&self) -> Vec3 {
        self.at
    }

    /// The radius of its surface across a line of it, 0 where that is sharp or differs along it (m).
    pub fn curvature(&self) -> f64 {
        match self.form {
            Form::Cylinder { radius, .. } => radius,
            _ => self.radius,
        }
    }

    fn axis(&self) -> Vec3 {
        self.turn.column(1).into()
    }

    fn point(&self, local: Vec3) -> Vec3 {
        self.at + self.turn * local
    }

    /// The unit vector from the axis of revolution towards n; any across the axis where n is along it.
    fn outward(&self, n: &Vec3) -> Vec3 {
        let local = self.turn.tr_mul(n);
        let across = Vec3::new(local.x, 0.0, local.z);
        self.turn * across.try_normalize(1e-150).unwrap_or_else(Vec3::x)
    }

    /// The core's point farthest along n.
    pub fn support(&self, n: &Vec3) -> Vec3 {
        match self.form {
            Form::Point => self.at,
            Form::Segment { half } => {
                let axis = self.axis();
                self.at + axis * half.copysign(axis.dot(n))
            }
            Form::Cylinder { half, radius } => {
                let axis = self.axis();
                self.at + axis * half.copysign(axis.dot(n)) + self.outward(n) * radius
            }
            Form::Cone { half, radius } => {
                let axis = self.axis();
                let apex = axis * half;
                let rim = self.outward(n) * radius - apex;
                self.at
                    + if n.dot(&apex) >= n.dot(&rim) {
                        apex
                    } else {
                        rim
                    }
            }
            Form::Hull(hull) => {
                let local = self.turn.tr_mul(n);
                let mut best = (f64::NEG_INFINITY, Vec3::zeros());
                for v in &hull.vertices {
                    let height = local.dot(v);
                    if height > best.0 {
                        best = (height, *v);
                    }
                }
                self.point(best.1)
            }
        }
    }

    /// Calls `look` with the unit outward normals of its flat sides that face n to within about eight degrees.
    pub fn each_flat(&self, n: &Vec3, mut look: impl FnMut(Vec3)) {
        const NEAR: f64 = 0.99;
        match self.form {
            Form::Point | Form::Segment { .. } => {}
            Form::Cylinder { .. } => {
                let axis = self.axis();
                if axis.dot(n).abs() > NEAR {
                    look(axis * axis.dot(n).signum());
                }
            }
            Form::Cone { .. } => {
                let base = -self.axis();
                if base.dot(n) > NEAR {
                    look(base);
                }
            }
            Form::Hull(hull) => {
                let local = self.turn.tr_mul(n);
                let near = hull.planes.iter().filter(|p| p.normal.dot(&local) > NEAR);
                near.for_each(|p| look(self.turn * p.normal));
            }
        }
    }

    /// Calls `look` with the points and lines around which its surface is curved where it faces n, if it is round there,
    /// or sharp.
    pub fn each_spine(&self, n: &Vec3, mut look: impl FnMut(Spine)) {
        let along = |axis: Vec3| (axis.dot(n).abs() < ACROSS).then_some(axis);
        let mut line = |at: Vec3, axis: Vec3| {
            let along = along(axis);
            if along.is_some() {
                look(Spine { at, along });
            }
        };
        match self.form {
            Form::Point => look(Spine {
                at: self.at,
                along: None,
            }),
            Form::Segment { .. } => {
                line(self.at, self.axis());
                look(Spine {
                    at: self.support(n),
                    along: None,
                });
            }
            Form::Cylinder { .. } => line(self.at, self.axis()),
            Form::Cone { half, .. } => {
                let apex = self.at + self.axis() * half;
                let rim = self.rim(n, -1.0);
                if let Some(along) = (rim - apex).try_normalize(0.0) {
                    line(apex, along);
                }
                look(Spine {
                    at: apex,
                    along: None,
                });
            }
            Form::Hull(hull) => {
                let local = self.turn.tr_mul(n);
                let height = |v: u32| local.dot(&hull.vertices[v as usize]);
                let most = (0..hull.vertices.len() as u32)
                    .map(height)
                    .fold(f64::NEG_INFINITY, f64::max);
                let slack = ACROSS * hull.size;
                for edge in &hull.edges {
                    if edge.ends.iter().any(|v| height(*v) >= most - slack) {
                        let at = self.point(hull.vertices[edge.ends[0] as usize]);
                        line(at, self.turn * edge.direction);
                    }
                }
                look(Spine {
                    at: self.support(n),
                    along: None,
                });
            }
        }
    }

    /// The point of a rim towards n, at the end ±1 of the axis.
    fn rim(&self, n: &Vec3, end: f64) -> Vec3 {
        match self.form {
            Form::Cylinder { half, radius } | Form::Cone { half, radius } => {
                self.at + self.axis() * (end * half) + self.outward(n) * radius
            }
            _ => self.at,
        }
    }

    /// What of the core lies highest along n, to within a small angle.
    pub fn top(&self, n: &Vec3) -> Top {
        let (axis, point) = (self.axis(), Top::Point(self.support(n)));
        let is_level = |along: &Vec3| along.dot(n).abs() < LEVEL;
        let is_flat = |normal: &Vec3| normal.dot(n) > 0.0 && normal.cross(n).norm() < LEVEL;
        match self.form {
            Form::Point => point,
            Form::Segment { half } if is_level(&axis) => {
                Top::Line([-half, half].map(|end| self.at + axis * end))
            }
            Form::Segment { .. } => point,
            Form::Cylinder { .. } if is_level(&axis) => {
                Top::Line([-1.0, 1.0].map(|end| self.rim(n, end)))
            }
            Form::Cylinder { .. } if is_flat(&(axis * axis.dot(n).signum())) => Top::Flat,
            Form::Cylinder { .. } => point,
            Form::Cone { half, .. } => {
                let (rim, apex) = (self.rim(n, -1.0), self.at + axis * half);
                if is_flat(&-axis) {
                    Top::Flat
                } else if is_level(&(apex - rim).normalize()) {
                    Top::Line([rim, apex])
                } else {
                    point
                }
            }
            Form::Hull(hull) => {
                let local = self.turn.tr_mul(n);
                let is_flat = |normal: &Vec3| normal.dot(&local) > 1.0 - 0.5 * LEVEL * LEVEL;
                if hull.planes.iter().any(|p| is_flat(&p.normal)) {
                    return Top::Flat;
                }
                let level = |k: &usize| hull.edges[*k].direction.dot(&local).abs() < LEVEL;
                match highest_edge(hull, &local).filter(level) {
                    Some(edge) => {
                        let ends = hull.edges[edge].ends;
                        Top::Line(ends.map(|v| self.point(hull.vertices[v as usize])))
                    }
                    None => point,
                }
            }
        }
    }

    /// Finds the side that faces n most.
    pub fn find_facing(&self, n: &Vec3, facing: &mut Facing) {
        facing.corners.clear();
        facing.normal = None;
        let axis = self.axis();
        match self.form {
            Form::Point => facing.push(self.at, 0),
            Form::Segment { half } => {
                for (name, end) in [(0, -half), (1, half)] {
                    facing.push(self.at + axis * end, name);
                }
            }
            Form::Cylinder { half, radius } => {
                let cos = axis.dot(n);
                if cos.abs() > std::f64::consts::FRAC_1_SQRT_2 {
                    self.find_disc(cos.signum(), half, radius, facing);
                } else {
                    facing.push(self.rim(n, -1.0), 2 * DISC as u32);
                    facing.push(self.rim(n, 1.0), 2 * DISC as u32 + 1);
                }
            }
            Form::Cone { half, radius } => {
                // The normal of the side towards n.
                let side = (self.outward(n) * (2.0 * half) + axis * radius).normalize();
                if -axis.dot(n) > side.dot(n) {
                    self.find_disc(-1.0, half, radius, facing);
                } else {
                    facing.push(self.rim(n, -1.0), 2 * DISC as u32);
                    facing.push(self.at + axis * half, 2 * DISC as u32 + 1);
                }
            }
            Form::Hull(hull) => self.find_side(hull, n, facing),
        }
    }

    /// The disc at the end ±1 of the axis.
    fn find_disc(&self, end: f64, half: f64, radius: f64, facing: &mut Facing) {
        let axis = self.axis() * end;
        let middle = self.at + axis * half;
        let (x, z): (Vec3, Vec3) = (self.turn.column(0).into(), self.turn.column(2).into());
        let first = if end > 0.0 { 0 } else { DISC as u32 };
        for k in 0..DISC as u32 {
            // Counter-clockwise as seen from outside, by the same places on the body for both ends.
            let angle = std::f64::consts::TAU * f64::from(k) / DISC as f64;
            let (sin, cos) = angle.sin_cos();
            let at = middle + (x * cos - z * (end * sin)) * radius;
            facing.push(at, first + k);
        }
        facing.normal = Some(axis);
    }

    fn find_side(&self, hull: &Hull, n: &Vec3, facing: &mut Facing) {
        let local = self.turn.tr_mul(n);
        let (face, cos) = hull.planes.iter().enumerate().fold(
            (0, f64::NEG_INFINITY),
            |(at, most), (face, plane)| {
                let cos = plane.normal.dot(&local);
                if cos > most { (face, cos) } else { (at, most) }
            },
        );
        if cos < FACING
            && let Some(edge) = highest_edge(hull, &local)
        {
            let ends = hull.edges[edge].ends;
            for v in ends {
                facing.push(self.point(hull.vertices[v as usize]), v);
            }
            return;
        }
        for side in hull.sides(face) {
            facing.push(self.point(hull.vertices[side.vertex as usize]), side.edge);
        }
        facing.normal = Some(self.turn * hull.planes[face].normal);
    }
}

/// The edge of a hull whose middle is highest along n, if it is nearly across n.
fn highest_edge(hull: &Hull, n: &Vec3) -> Option<usize> {
    let mut highest = (None, f64::NEG_INFINITY);
    for (k, edge) in hull.edges.iter().enumerate() {
        let [a, b] = edge.ends.map(|v| n.dot(&hull.vertices[v as usize]));
        if a + b > highest.1 {
            highest = (Some(k), a + b);
        }
    }
    let along = |k: &usize| hull.edges[*k].direction.dot(n).abs() < ALONG;
    highest.0.filter(along)
}

impl Facing {
    fn push(&mut self, at: Vec3, name: u32) {
        self.corners.push(Corner { at, edge: name });
    }
}
