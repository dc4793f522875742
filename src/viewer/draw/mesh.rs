//! Triangle meshes of the collision shapes, built once per distinct shape and shared by all bodies.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::mesh::{Indices, MeshBuilder, SphereKind, VertexAttributeValues};
use bevy::prelude::*;
use bytemuck::{Pod, Zeroable};

use crate::math::Pose;
use crate::viewer::frame::{quat, vec3};
use crate::world::{Geometry, Shape};

/// A vertex as the shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Vertex {
    /// Position in the mesh's frame.
    pub position: [f32; 3],
    /// Unit normal.
    pub normal: [f32; 3],
}

/// An indexed triangle mesh.
#[derive(Clone, Debug, Default)]
pub struct MeshData {
    /// The vertices.
    pub vertices: Vec<Vertex>,
    /// Three indices per triangle, counter-clockwise seen from outside.
    pub indices: Vec<u32>,
}

/// Index of a mesh in a [`MeshLibrary`].
pub type MeshId = usize;

/// Points on each edge of the icosahedron that a sphere is made of, from the coarsest sphere (far away) to
/// the finest (close up).
const BALL_SUBDIVISIONS: [u32; 4] = [0, 1, 3, 15];
const SEGMENTS: u32 = 48;
/// Faces that meet at less than this angle are shaded as one smooth surface.
const CREASE_DEGREES: f32 = 35.0;
/// The same for height fields, which stand for smooth ground.
const GROUND_CREASE_DEGREES: f32 = 80.0;
/// A half-space is drawn as a square of this half width \[m\].
pub const PLANE_EXTENT: f32 = 2000.0;

/// The unit meshes, and those that belong to the shapes of the current scene.
#[derive(Debug)]
pub struct MeshLibrary {
    meshes: Vec<Arc<MeshData>>,
    keys: HashMap<Key, MeshId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Capsule([u64; 2]),
    Shared(usize),
}

/// One drawn piece of a body: a mesh with its place in the shape's frame.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// What is drawn.
    pub mesh: MeshId,
    /// Position in the shape's frame.
    pub position: Vec3,
    /// Rotation in the shape's frame.
    pub rotation: Quat,
    /// Scale along the mesh's axes.
    pub scale: Vec3,
    /// Whether it is a sphere, which takes the level of detail that its distance asks for.
    pub ball: bool,
}

impl MeshLibrary {
    /// The coarsest unit sphere; the next [`MeshLibrary::BALL_LEVELS`] − 1 are finer.
    pub const BALL: MeshId = 0;
    /// Number of levels of detail of the sphere.
    pub const BALL_LEVELS: usize = BALL_SUBDIVISIONS.len();
    /// The cube from −1 to 1.
    pub const CUBE: MeshId = Self::BALL_LEVELS;
    /// The cylinder of radius 1 from y = −1 to 1.
    pub const CYLINDER: MeshId = Self::CUBE + 1;
    /// The cone of base radius 1 from y = −1 to its apex at 1.
    pub const CONE: MeshId = Self::CUBE + 2;
    /// The square from −1 to 1 in the plane y = 0.
    pub const SQUARE: MeshId = Self::CUBE + 3;
    /// A coarse cylinder for arrows.
    pub const SHAFT: MeshId = Self::CUBE + 4;
    /// A coarse cone for arrows.
    pub const TIP: MeshId = Self::CUBE + 5;
    const UNIT_MESHES: usize = Self::CUBE + 6;

    /// All meshes, addressed by [`MeshId`].
    pub fn meshes(&self) -> &[Arc<MeshData>] {
        &self.meshes
    }

    /// Forgets the meshes that belong to a scene.
    pub fn forget_scene(&mut self) {
        self.meshes.truncate(Self::UNIT_MESHES);
        self.keys.clear();
    }

    /// Appends the pieces that draw a shape.
    pub fn pieces(&mut self, shape: &Shape, out: &mut Vec<Piece>) {
        match shape.geometry() {
            Geometry::Compound { parts } => {
                for part in parts {
                    // Its own shape, so that hulls go through parry's hull as well.
                    if let Ok(shape) = Shape::new(part.shape.clone()) {
                        let key = std::ptr::from_ref(&part.shape).addr();
                        self.simple(&shape, &part.pose(), key, out);
                    }
                }
            }
            _ => {
                let key = Arc::as_ptr(shape.shared_geometry()) as usize;
                self.simple(shape, &Pose::IDENTITY, key, out);
            }
        }
    }

    fn simple(&mut self, shape: &Shape, pose: &Pose, key: usize, out: &mut Vec<Piece>) {
        let mut piece = Piece {
            mesh: Self::CUBE,
            position: vec3(pose.position),
            rotation: quat(pose.rotation),
            scale: Vec3::ONE,
            ball: false,
        };
        match *shape.geometry() {
            Geometry::Ball { radius } => {
                piece.mesh = Self::BALL;
                piece.scale = Vec3::splat(radius as f32);
                piece.ball = true;
            }
            Geometry::Cuboid { half_extents } => piece.scale = vec3(half_extents),
            Geometry::Cylinder {
                half_height,
                radius,
            }
            | Geometry::Cone {
                half_height,
                radius,
            } => {
                let is_cone = matches!(shape.geometry(), Geometry::Cone { .. });
                piece.mesh = if is_cone { Self::CONE } else { Self::CYLINDER };
                piece.scale = Vec3::new(radius as f32, half_height as f32, radius as f32);
            }
            Geometry::Capsule {
                half_height,
                radius,
            } => {
                let key = Key::Capsule([half_height.to_bits(), radius.to_bits()]);
                piece.mesh = self.shared(key, || capsule(half_height as f32, radius as f32));
            }
            Geometry::HalfSpace { normal } => {
                piece.mesh = Self::SQUARE;
                piece.scale = Vec3::new(PLANE_EXTENT, 1.0, PLANE_EXTENT);
                let up = Quat::from_rotation_arc(Vec3::Y, vec3(normal).normalize_or(Vec3::Y));
                piece.rotation *= up;
            }
            Geometry::ConvexHull { .. }
            | Geometry::TriMesh { .. }
            | Geometry::HeightField { .. } => {
                piece.mesh = self.shared(Key::Shared(key), || triangulated(shape));
            }
            // What is made of others, and no shape has a geometry that is still in a file.
            Geometry::Compound { .. }
            | Geometry::ConvexHullFile { .. }
            | Geometry::TriMeshFile { .. } => return,
        }
        out.push(piece);
    }

    fn shared(&mut self, key: Key, make: impl FnOnce() -> MeshData) -> MeshId {
        let meshes = &mut self.meshes;
        *self.keys.entry(key).or_insert_with(|| {
            meshes.push(Arc::new(make()));
            meshes.len() - 1
        })
    }
}

impl Default for MeshLibrary {
    fn default() -> Self {
        let sphere = |kind| Sphere::new(1.0).mesh().kind(kind).build();
        let balls = BALL_SUBDIVISIONS.map(|subdivisions| sphere(SphereKind::Ico { subdivisions }));
        let round = |resolution| {
            Cylinder::new(1.0, 2.0)
                .mesh()
                .resolution(resolution)
                .build()
        };
        let pointed = |resolution| Cone::new(1.0, 2.0).mesh().resolution(resolution).build();
        let others = [
            Cuboid::from_length(2.0).mesh().build(),
            round(SEGMENTS),
            pointed(SEGMENTS),
            Plane3d::default().mesh().size(2.0, 2.0).build(),
            round(6),
            pointed(8),
        ];
        let meshes = balls.into_iter().chain(others);
        Self {
            meshes: meshes.map(|mesh| Arc::new(mesh.into())).collect(),
            keys: HashMap::new(),
        }
    }
}

impl From<Mesh> for MeshData {
    fn from(mesh: Mesh) -> Self {
        let read = |attribute| {
            mesh.attribute(attribute)
                .and_then(VertexAttributeValues::as_float3)
        };
        let positions = read(Mesh::ATTRIBUTE_POSITION).unwrap_or_default();
        let normals = read(Mesh::ATTRIBUTE_NORMAL).unwrap_or_default();
        let vertices = positions.iter().zip(normals);
        let vertex = |(position, normal): (&[f32; 3], &[f32; 3])| Vertex {
            position: *position,
            normal: *normal,
        };
        let indices = mesh.indices().into_iter().flat_map(Indices::iter);
        Self {
            vertices: vertices.map(vertex).collect(),
            indices: indices.map(|i| i as u32).collect(),
        }
    }
}

fn capsule(half_height: f32, radius: f32) -> MeshData {
    let capsule = Capsule3d::new(radius, 2.0 * half_height).mesh();
    let fine = capsule.longitudes(SEGMENTS).latitudes(SEGMENTS / 2);
    fine.build().into()
}

/// Hulls, meshes and height fields as parry triangulates them.
fn triangulated(shape: &Shape) -> MeshData {
    let parry = shape.parry();
    let mut crease = CREASE_DEGREES;
    let (vertices, triangles) = if let Some(hull) = parry.as_convex_polyhedron() {
        hull.to_trimesh()
    } else if let Some(field) = parry.as_heightfield() {
        crease = GROUND_CREASE_DEGREES;
        field.to_trimesh()
    } else if let Some(mesh) = parry.as_trimesh() {
        (mesh.vertices().to_vec(), mesh.indices().to_vec())
    } else {
        return MeshData::default();
    };
    let single = |v: &_| vec3(crate::math::Vec3::from(*v));
    let points: Vec<Vec3> = vertices.iter().map(single).collect();
    creased(&points, &triangles, crease)
}

/// Normals averaged over the neighbouring faces that meet at less than the crease angle.
fn creased(points: &[Vec3], triangles: &[[u32; 3]], crease: f32) -> MeshData {
    // Weighted by area: the cross product's length is twice that.
    let faces: Vec<Vec3> = triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|i| points[i as usize]);
            (b - a).cross(c - a)
        })
        .collect();
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); points.len()];
    for (f, t) in triangles.iter().enumerate() {
        for i in t {
            around[*i as usize].push(f as u32);
        }
    }
    let smooth = crease.to_radians().cos();
    let mut mesh = MeshData::default();
    for (f, t) in triangles.iter().enumerate() {
        let own = faces[f].normalize_or_zero();
        for i in t {
            let sum: Vec3 = around[*i as usize]
                .iter()
                .map(|other| faces[*other as usize])
                .filter(|n| n.normalize_or_zero().dot(own) >= smooth)
                .sum();
            mesh.indices.push(mesh.vertices.len() as u32);
            mesh.vertices.push(Vertex {
                position: points[*i as usize].to_array(),
                normal: sum.normalize_or(own).to_array(),
            });
        }
    }
    mesh
}

#[cfg(test)]
mod tests {
    use std::f32::consts::PI;

    use super::*;

    fn volume(mesh: &MeshData) -> f32 {
        let at = |i: u32| Vec3::from(mesh.vertices[i as usize].position);
        mesh.indices
            .chunks(3)
            .map(|t| at(t[0]).dot(at(t[1]).cross(at(t[2]))) / 6.0)
            .sum()
    }

    /// The divergence theorem finds every face that is missing or turned inside out.
    #[test]
    fn closed_meshes_enclose_their_volume() {
        let library = MeshLibrary::default();
        let of = |id: MeshId| volume(&library.meshes()[id]);
        let ball = MeshLibrary::BALL + MeshLibrary::BALL_LEVELS - 1;
        for (name, found, exact, tolerance) in [
            ("sphere", of(ball), 4.0 / 3.0 * PI, 0.01),
            ("cube", of(MeshLibrary::CUBE), 8.0, 1e-6),
            ("cylinder", of(MeshLibrary::CYLINDER), 2.0 * PI, 0.01),
            ("cone", of(MeshLibrary::CONE), 2.0 / 3.0 * PI, 0.01),
            (
                "capsule",
                volume(&capsule(1.0, 0.5)),
                PI * (0.5 + 0.5 / 3.0),
                0.02,
            ),
        ] {
            assert!(
                (found / exact - 1.0).abs() < tolerance,
                "{name}: {found} for {exact}"
            );
        }
    }

    #[test]
    fn normals_point_outwards() {
        for mesh in MeshLibrary::default().meshes() {
            for t in mesh.indices.chunks(3) {
                let corners = [t[0], t[1], t[2]].map(|i| mesh.vertices[i as usize]);
                let [a, b, c] = corners.map(|v| Vec3::from(v.position));
                // The tip of a cone has no normal of its own.
                let normal: Vec3 = corners.iter().map(|v| Vec3::from(v.normal)).sum();
                let face = (b - a).cross(c - a);
                if face.length() > 1e-6 {
                    assert!(face.dot(normal) > 0.0);
                }
            }
        }
    }
}
