//! Collision shapes: the geometry as a scene describes it, and the parry shape that collides.

use std::cell::Cell;
use std::sync::Arc;

use parry3d_f64::math::Vector;
use parry3d_f64::shape::{HeightField, SharedShape, TriMeshFlags};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::hull::Hull;
use crate::check::{Invalid, demand, finite};
use crate::math::{Mat3, Pose, Rotation, SymMat3, Vec3};

/// A collision shape, in metres, in its own frame; scene files call it `Shape`. Axes of revolution lie
/// along y.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Shape", deny_unknown_fields)]
#[non_exhaustive]
pub enum Geometry {
    /// A solid sphere.
    Ball {
        /// Radius (m).
        radius: f64,
    },
    /// A box.
    Cuboid {
        /// Half of the edge lengths along x, y and z (m).
        #[serde(deserialize_with = "vector")]
        half_extents: Vec3,
    },
    /// A cylinder with hemispherical ends.
    Capsule {
        /// Half of the distance between the centres of the two hemispheres (m).
        half_height: f64,
        /// Radius (m).
        radius: f64,
    },
    /// A solid cylinder.
    Cylinder {
        /// Half of the height (m).
        half_height: f64,
        /// Radius (m).
        radius: f64,
    },
    /// A solid cone; the apex points along +y, the origin is at half height.
    Cone {
        /// Half of the height (m).
        half_height: f64,
        /// Radius of the base (m).
        radius: f64,
    },
    /// The convex hull of a set of points.
    ConvexHull {
        /// The points (m); those inside the hull are dropped.
        #[serde(deserialize_with = "vectors")]
        points: Vec<Vec3>,
    },
    /// The convex hull of the vertices of an OBJ file, which the scene that names it reads.
    ConvexHullFile {
        /// The file, relative to the scene file.
        file: String,
        /// What its coordinates are multiplied by to become metres.
        #[serde(default = "one")]
        scale: f64,
    },
    /// A triangle mesh, one-sided: what comes from behind passes it; for bodies that do not move freely.
    TriMesh {
        /// Vertices (m).
        #[serde(deserialize_with = "vectors")]
        vertices: Vec<Vec3>,
        /// Three vertex indices per triangle, counter-clockwise seen from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// The triangle mesh of an OBJ file, likewise; for bodies that do not move freely.
    TriMeshFile {
        /// The file, relative to the scene file.
        file: String,
        /// What its coordinates are multiplied by to become metres.
        #[serde(default = "one")]
        scale: f64,
    },
    /// A one-sided height field over the x-z plane, centred on the origin; for bodies that do not move freely.
    HeightField {
        /// Extent along x and z (m).
        size: [f64; 2],
        /// Heights (m): one list per sample along z, each with the samples along x.
        heights: Vec<Vec<f64>>,
    },
    /// Everything below the plane through the origin; never dynamic.
    HalfSpace {
        /// Outward normal; need not be of unit length.
        #[serde(default = "Vec3::y", deserialize_with = "vector")]
        normal: Vec3,
    },
    /// Several convex solids, rigidly joined.
    Compound {
        /// The parts.
        parts: Vec<Part>,
    },
}

/// A part of a compound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its shape.
    #[serde(deserialize_with = "convex_solid")]
    pub shape: Geometry,
    /// Where it is in the body's frame (m).
    #[serde(default, deserialize_with = "vector")]
    pub position: Vec3,
    /// How it is turned.
    #[serde(default)]
    pub rotation: Rotation,
}

impl Part {
    /// Where it is and how it is turned.
    pub fn pose(&self) -> Pose {
        Pose::new(self.position, self.rotation.quaternion())
    }
}

thread_local! {
    /// Whether a compound is being read.
    static IN_COMPOUND: Cell<bool> = const { Cell::new(false) };
}

/// A part's shape. A compound among the parts is refused before it is read: a file that nests them without end
/// would otherwise overflow the stack.
fn convex_solid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Geometry, D::Error> {
    if IN_COMPOUND.replace(true) {
        return Err(de::Error::custom(NO_PART));
    }
    let shape = Geometry::deserialize(deserializer);
    IN_COMPOUND.set(false);
    shape
}

/// What is said of a part that cannot be one.
const NO_PART: &str =
    "the parts of a compound must be convex solids (no mesh, height field, half-space or compound)";

/// A vector as three numbers and no more.
fn vector<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec3, D::Error> {
    <[f64; 3]>::deserialize(deserializer).map(Vec3::from)
}

fn vectors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec3>, D::Error> {
    let points: Vec<[f64; 3]> = Deserialize::deserialize(deserializer)?;
    Ok(points.into_iter().map(Vec3::from).collect())
}

fn one() -> f64 {
    1.0
}

/// Why a geometry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A length that is not positive, or a coordinate that is not finite.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The points or triangles do not make a usable shape.
    #[error("{0}")]
    Degenerate(String),
}

/// Mass, centre of mass and inertia of a shape of some density.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MassProperties {
    /// Mass (kg).
    pub mass: f64,
    /// Centre of mass in the shape's frame (m).
    pub center: Vec3,
    /// Inertia about the centre of mass, along the shape's axes (kg m²).
    pub inertia: SymMat3,
}

/// A checked geometry with the parry shape made of it. Cheap to clone: all of it is shared.
#[derive(Clone)]
pub struct Shape(Arc<Built>);

struct Built {
    geometry: Arc<Geometry>,
    parry: SharedShape,
    /// One per part, or the shape's only one.
    hulls: Box<[Option<Hull>]>,
    bounding_radius: f64,
    half_diagonal: f64,
    half_thickness: f64,
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.geometry.fmt(f)
    }
}

impl Shape {
    /// Checks a geometry and builds its collision shape.
    ///
    /// # Errors
    /// A length that is not positive and finite, coordinates that are not finite, or points and
    /// triangles that span no volume (hull) or no surface (mesh, height field).
    pub fn new(geometry: Geometry) -> Result<Self, ShapeError> {
        let parry = build(&geometry)?;
        let aabb = parry.compute_local_aabb();
        // The farthest corner of the local box bounds the distance of any point from the origin.
        let corner = aabb.mins.abs().max(aabb.maxs.abs());
        let bounding_radius = match geometry {
            Geometry::Ball { radius } => radius,
            Geometry::HalfSpace { .. } => f64::INFINITY,
            _ => corner.length(),
        };
        let half_diagonal = match geometry {
            Geometry::Ball { .. } | Geometry::HalfSpace { .. } => bounding_radius,
            _ => aabb.half_extents().length(),
        };
        let half_thickness = match (&geometry, parry.as_compound()) {
            (Geometry::HalfSpace { .. }, _) => f64::INFINITY,
            (_, Some(compound)) => {
                let parts = compound.shapes().iter();
                let extents = parts.map(|(_, part)| part.compute_local_aabb().half_extents());
                extents
                    .map(|e| e.min_element())
                    .fold(f64::INFINITY, f64::min)
            }
            _ => aabb.half_extents().min_element(),
        };
        let hulls = match parry.as_compound() {
            Some(compound) => compound
                .shapes()
                .iter()
                .map(|(_, part)| hull(part))
                .collect(),
            None => Box::from([hull(&parry)]),
        };
        Ok(Self(Arc::new(Built {
            geometry: Arc::new(geometry),
            parry,
            hulls,
            bounding_radius,
            half_diagonal,
            half_thickness,
        })))
    }

    /// The geometry it was made from.
    pub fn geometry(&self) -> &Geometry {
        &self.0.geometry
    }

    /// The same geometry, shared; two bodies made from one shape return the same pointer.
    pub fn shared_geometry(&self) -> &Arc<Geometry> {
        &self.0.geometry
    }

    /// The parry shape, in the shape's own frame.
    pub fn parry(&self) -> &SharedShape {
        &self.0.parry
    }

    /// The polyhedron that a box or a hull is; of a compound, that of the part with this index.
    pub fn hull(&self, part: usize) -> Option<&Hull> {
        self.0.hulls.get(part)?.as_ref()
    }

    /// The parry shape of a compound's part with this index; of any other shape, its own.
    pub fn part(&self, part: usize) -> &dyn parry3d_f64::shape::Shape {
        let compound = self.0.parry.as_compound();
        compound.map_or(self.0.parry.as_ref(), |c| c.shapes()[part].1.as_ref())
    }

    /// Where that part is, in the shape's frame.
    pub fn part_pose(&self, part: usize) -> Pose {
        let compound = self.0.parry.as_compound();
        compound.map_or(Pose::IDENTITY, |c| {
            let place = &c.shapes()[part].0;
            Pose::new(place.translation.into(), place.rotation.into())
        })
    }

    /// Largest distance of a point of the shape from the shape's origin (m); infinite for a half-space.
    pub fn bounding_radius(&self) -> f64 {
        self.0.bounding_radius
    }

    /// Half the diagonal of its box (m), wherever its origin is: a ball's radius, and infinite for half-spaces.
    pub fn half_diagonal(&self) -> f64 {
        self.0.half_diagonal
    }

    /// Half the least extent of its box (m), of a compound that of its thinnest part; infinite for half-spaces.
    pub fn half_thickness(&self) -> f64 {
        self.0.half_thickness
    }

    /// Whether a dynamic body can have this shape: it must enclose a volume.
    pub fn is_solid(&self) -> bool {
        is_solid(&self.0.geometry)
    }

    /// Mass properties at a density (kg/m³). All zero for shapes that are not solid.
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        if !self.is_solid() {
            return MassProperties::default();
        }
        mass_properties(&self.0.geometry, &self.0.parry, density)
    }
}

fn is_solid(geometry: &Geometry) -> bool {
    match geometry {
        Geometry::TriMesh { .. }
        | Geometry::TriMeshFile { .. }
        | Geometry::HeightField { .. }
        | Geometry::HalfSpace { .. } => false,
        Geometry::Compound { parts } => parts.iter().all(|part| is_solid(&part.shape)),
        _ => true,
    }
}

fn mass_properties(geometry: &Geometry, parry: &SharedShape, density: f64) -> MassProperties {
    if let Geometry::Compound { parts } = geometry {
        let compound = parry.as_compound().expect("a compound is built as one");
        let children: Vec<_> = parts
            .iter()
            .zip(compound.shapes())
            .map(|(part, (_, shape))| {
                let own = mass_properties(&part.shape, shape, density);
                let pose = part.pose();
                MassProperties {
                    center: pose.transform_point(own.center),
                    inertia: own.inertia.rotated(&pose.rotation),
                    ..own
                }
            })
            .collect();
        return combine(&children);
    }
    let own = parry.mass_properties(density);
    let m = own.reconstruct_inertia_matrix();
    let mut inertia = SymMat3::from_matrix(&Mat3::from(m));
    // parry stores inverses and square roots; the closed forms are exact where symmetry matters.
    let mass = match *geometry {
        Geometry::Ball { radius } => {
            let mass = density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
            let i = 0.4 * mass * radius * radius;
            inertia = SymMat3::diagonal(i, i, i);
            mass
        }
        Geometry::Cuboid { half_extents: h } => {
            let mass = density * 8.0 * h.x * h.y * h.z;
            let third = mass / 3.0;
            inertia = SymMat3::diagonal(
                third * (h.y * h.y + h.z * h.z),
                third * (h.x * h.x + h.z * h.z),
                third * (h.x * h.x + h.y * h.y),
            );
            mass
        }
        _ => own.mass(),
    };
    MassProperties {
        mass,
        center: own.local_com.into(),
        inertia,
    }
}

/// Mass properties of several bodies as one, given in a common frame.
pub fn combine(parts: &[MassProperties]) -> MassProperties {
    let mass: f64 = parts.iter().map(|p| p.mass).sum();
    let center = parts.iter().map(|p| p.center * p.mass).sum::<Vec3>() / mass;
    let inertia = parts
        .iter()
        .map(|p| {
            let d = p.center - center;
            p.inertia.to_matrix()
                + (Mat3::identity() * d.norm_squared() - d * d.transpose()) * p.mass
        })
        .sum::<Mat3>();
    MassProperties {
        mass,
        center,
        inertia: SymMat3::from_matrix(&inertia),
    }
}

fn length(field: &str, value: f64) -> Result<f64, Invalid> {
    let is_length = value.is_finite() && value > 0.0;
    demand(is_length, field, "a positive, finite length", value).map(|()| value)
}

fn coordinates(field: &str, points: &[Vec3]) -> Result<Vec<Vector>, Invalid> {
    finite(field, points.iter().flatten())?;
    Ok(points.iter().map(|p| (*p).into()).collect())
}

fn build(geometry: &Geometry) -> Result<SharedShape, ShapeError> {
    Ok(match geometry {
        Geometry::Ball { radius } => SharedShape::ball(length("radius", *radius)?),
        Geometry::Cuboid { half_extents: h } => SharedShape::cuboid(
            length("half_extents.x", h.x)?,
            length("half_extents.y", h.y)?,
            length("half_extents.z", h.z)?,
        ),
        Geometry::Capsule {
            half_height,
            radius,
        } => SharedShape::capsule_y(
            length("half_height", *half_height)?,
            length("radius", *radius)?,
        ),
        Geometry::Cylinder {
            half_height,
            radius,
        } => SharedShape::cylinder(
            length("half_height", *half_height)?,
            length("radius", *radius)?,
        ),
        Geometry::Cone {
            half_height,
            radius,
        } => SharedShape::cone(
            length("half_height", *half_height)?,
            length("radius", *radius)?,
        ),
        Geometry::ConvexHull { points } => convex_hull(points)?,
        Geometry::TriMesh {
            vertices,
            triangles,
        } => trimesh(vertices, triangles)?,
        Geometry::ConvexHullFile { file, .. } | Geometry::TriMeshFile { file, .. } => {
            let message = format!("the mesh file \"{file}\" must be read first, as scenes do");
            return Err(ShapeError::Degenerate(message));
        }
        Geometry::HeightField { size, heights } => height_field(*size, heights)?,
        Geometry::HalfSpace { normal } => {
            let norm = normal.norm();
            if !norm.is_finite() || norm <= 0.0 {
                return Err(ShapeError::Degenerate(
                    "the normal of a half-space must be finite and not zero".into(),
                ));
            }
            SharedShape::halfspace((normal / norm).into())
        }
        Geometry::Compound { parts } => {
            if parts.is_empty() {
                return Err(ShapeError::Degenerate("a compound needs a part".into()));
            }
            let mut children = Vec::with_capacity(parts.len());
            for part in parts {
                if !is_solid(&part.shape) || matches!(part.shape, Geometry::Compound { .. }) {
                    return Err(ShapeError::Degenerate(NO_PART.into()));
                }
                finite("position", &part.position)?;
                children.push((part.pose().to_parry(), build(&part.shape)?));
            }
            SharedShape::compound(children)
        }
    })
}

/// The polyhedron that a shape is, if it is one that has not lost too many faces to rounding to enclose anything.
fn hull(parry: &SharedShape) -> Option<Hull> {
    const FEWEST_FACES: usize = 4;
    let hull = match parry.as_cuboid() {
        Some(cuboid) => Hull::cuboid(cuboid.half_extents.into()),
        None => Hull::of_polyhedron(parry.as_convex_polyhedron()?),
    };
    (hull.planes.len() >= FEWEST_FACES).then_some(hull)
}

/// Least ratio of a hull's extents: below about 1e-3 the hull loses faces, and with them mass.
const THINNEST_HULL: f64 = 3e-3;

fn convex_hull(points: &[Vec3]) -> Result<SharedShape, ShapeError> {
    let points = coordinates("points", points)?;
    let degenerate = || {
        ShapeError::Degenerate(format!(
            "the {} points of the convex hull span no volume",
            points.len()
        ))
    };
    if points.len() < 4 {
        return Err(degenerate());
    }
    // parry's hull refuses some degenerate inputs by an error and some by a panic, and of very thin
    // ones it loses faces; rule them out by the spread of the points along their principal axes.
    let mean = points.iter().copied().sum::<Vector>() / points.len() as f64;
    let mut covariance = Mat3::zeros();
    for p in &points {
        let d: Vec3 = (*p - mean).into();
        covariance += d * d.transpose();
    }
    let spread = covariance.symmetric_eigenvalues();
    let thickness = (spread.min().max(0.0) / spread.max()).sqrt();
    if spread.max() <= 0.0 || !spread.max().is_finite() || thickness < 1e-6 {
        return Err(degenerate());
    }
    if thickness < THINNEST_HULL {
        return Err(ShapeError::Degenerate(format!(
            "the convex hull is too thin: its points spread {thickness:.1e} times as far along one axis as along another, {THINNEST_HULL} is the least; use a cuboid for a plate"
        )));
    }
    let (vertices, triangles) =
        parry3d_f64::transformation::try_convex_hull(&points).map_err(|_| degenerate())?;
    SharedShape::convex_mesh(vertices, &triangles).ok_or_else(degenerate)
}

fn trimesh(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Result<SharedShape, ShapeError> {
    let points = coordinates("vertices", vertices)?;
    if triangles.is_empty() {
        return Err(ShapeError::Degenerate("the mesh has no triangle".into()));
    }
    for (k, t) in triangles.iter().enumerate() {
        if let Some(bad) = t.iter().find(|i| **i as usize >= points.len()) {
            return Err(ShapeError::Degenerate(format!(
                "triangle {k} names vertex {bad}, but the mesh has {}",
                points.len()
            )));
        }
    }
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| points[i as usize]);
        (b - a).cross(c - a).length()
    };
    if !triangles.iter().any(|t| area(t) > 0.0) {
        return Err(ShapeError::Degenerate(
            "no triangle of the mesh has an area".into(),
        ));
    }
    let flags = TriMeshFlags::FIX_INTERNAL_EDGES
        | TriMeshFlags::DELETE_DEGENERATE_TRIANGLES
        | TriMeshFlags::DELETE_DUPLICATE_TRIANGLES;
    SharedShape::trimesh_with_flags(points, triangles.to_vec(), flags)
        .map_err(|e| ShapeError::Degenerate(format!("the triangle mesh cannot be used: {e}")))
}

fn height_field(size: [f64; 2], heights: &[Vec<f64>]) -> Result<SharedShape, ShapeError> {
    let (rows, columns) = (heights.len(), heights.first().map_or(0, Vec::len));
    if columns < 2 || rows < 2 {
        return Err(ShapeError::Degenerate(
            "a height field needs at least 2 columns and 2 rows".into(),
        ));
    }
    if let Some(row) = heights.iter().find(|row| row.len() != columns) {
        return Err(ShapeError::Degenerate(format!(
            "every row of a height field needs the {columns} heights of the first one, not {}",
            row.len()
        )));
    }
    finite("heights", heights.iter().flatten())?;
    let scale = Vector::new(length("size.0", size[0])?, 1.0, length("size.1", size[1])?);
    // parry wants column-major data, indexed (z, x).
    let data = (0..columns).flat_map(|x| heights.iter().map(move |row| row[x]));
    let array = parry3d_f64::utils::Array2::new(rows, columns, data.collect());
    Ok(SharedShape::new(HeightField::with_flags(
        array,
        scale,
        parry3d_f64::shape::HeightFieldFlags::FIX_INTERNAL_EDGES,
    )))
}
