//! Triangle meshes of the collision shapes, built once per distinct shape and shared by all bodies.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bevy::mesh::{Indices, MeshBuilder, PrimitiveTopology, SphereKind};
use bevy::prelude::*;

use crate::math::Pose;
use crate::viewer::frame::{isometry, vec3};
use crate::world::{Geometry, Part, Shape};

pub type MeshId = usize;

/// Points on each edge of the icosahedron that a sphere is made of, from the coarsest sphere (far away) to
/// the finest (close up).
const BALL_SUBDIVISIONS: [u32; 4] = [0, 1, 3, 15];
const SEGMENTS: u32 = 48;
/// The same where edges alone are drawn.
const WIRE_SEGMENTS: u32 = 12;
/// A cylinder or capsule whose half height is this many times its radius is a rod (-).
const ROD: f64 = 2.0;
/// Faces that meet at less than this angle have no edge between them.
const FLAT_DEGREES: f32 = 1.0;
/// Vertices closer than this share of the mesh's size are one.
const WELD: f32 = 1e-6;
/// Faces that meet at less than this angle are shaded as one smooth surface.
const CREASE_DEGREES: f32 = 35.0;
/// The same for height fields, which stand for smooth ground.
const GROUND_CREASE_DEGREES: f32 = 80.0;
/// A half-space is drawn as a square of this half width (m).
pub const PLANE_EXTENT: f32 = 2000.0;

/// The unit meshes, and those that belong to the shapes of the current scene.
#[derive(Debug)]
pub struct MeshLibrary {
    meshes: Vec<Handle<Mesh>>,
    keys: HashMap<Key, MeshId>,
    /// Their edges; those of the scene's meshes once somebody wants to see them.
    wires: HashMap<MeshId, Handle<Mesh>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Capsule([u64; 2]),
    Shared(usize),
}

/// One drawn piece of a body: a mesh with its place in the shape's frame.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub mesh: MeshId,
    pub place: Isometry3d,
    pub scale: Vec3,
    /// Whether it is a sphere, which takes the level of detail that its distance asks for.
    pub ball: bool,
    /// Radius about its y axis where it is much longer than wide: it is drawn no thinner than a line (m).
    pub rod: Option<f32>,
}

impl MeshLibrary {
    /// The coarsest unit sphere; the next [`MeshLibrary::BALL_LEVELS`] − 1 are finer.
    pub const BALL: MeshId = 0;
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

    pub fn id(&self, mesh: MeshId) -> AssetId<Mesh> {
        self.meshes[mesh].id()
    }

    /// The edges of a mesh, one mesh for all levels of detail; none before [`Self::make_wires`].
    pub fn wires(&self, mesh: MeshId) -> Option<AssetId<Mesh>> {
        self.wires.get(&mesh).map(Handle::id)
    }

    pub fn forget_scene(&mut self) {
        self.meshes.truncate(Self::UNIT_MESHES);
        self.keys.clear();
        self.wires.retain(|mesh, _| *mesh < Self::UNIT_MESHES);
    }

    /// Makes the edges of the scene's meshes, where they are not there yet.
    pub fn make_wires(&mut self, assets: &mut Assets<Mesh>) {
        for (key, mesh) in &self.keys {
            if self.wires.contains_key(mesh) {
                continue;
            }
            let made = match key {
                Key::Capsule(size) => {
                    let [half_height, radius] = size.map(|bits| f64::from_bits(bits) as f32);
                    Some(capsule(half_height, radius, WIRE_SEGMENTS))
                }
                Key::Shared(_) => assets.get(&self.meshes[*mesh]).cloned(),
            };
            if let Some(mesh_wires) = made.as_ref().map(edges) {
                self.wires.insert(*mesh, assets.add(mesh_wires));
            }
        }
    }

    /// The pieces that draw a shape.
    pub fn pieces(&mut self, shape: &Shape, assets: &mut Assets<Mesh>) -> Vec<Piece> {
        let Geometry::Compound { parts } = shape.geometry() else {
            let key = Arc::as_ptr(shape.shared_geometry()) as usize;
            let piece = self.simple(shape, &Pose::IDENTITY, key, assets);
            return piece.into_iter().collect();
        };
        let piece = |part: &Part| {
            // Its own shape, so that hulls go through parry's hull as well.
            let shape = Shape::new(part.shape.clone()).ok()?;
            let key = std::ptr::from_ref(&part.shape).addr();
            self.simple(&shape, &part.pose(), key, assets)
        };
        parts.iter().filter_map(piece).collect()
    }

    fn simple(
        &mut self,
        shape: &Shape,
        pose: &Pose,
        key: usize,
        assets: &mut Assets<Mesh>,
    ) -> Option<Piece> {
        let mut shared = |key, make: &dyn Fn() -> Mesh| {
            let meshes = &mut self.meshes;
            *self.keys.entry(key).or_insert_with(|| {
                meshes.push(assets.add(make()));
                meshes.len() - 1
            })
        };
        let mut piece = Piece {
            mesh: Self::CUBE,
            place: isometry(pose),
            scale: Vec3::ONE,
            ball: false,
            rod: None,
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
                piece.mesh = shared(key, &|| {
                    capsule(half_height as f32, radius as f32, SEGMENTS)
                });
            }
            Geometry::HalfSpace { normal } => {
                piece.mesh = Self::SQUARE;
                piece.scale = Vec3::new(PLANE_EXTENT, 1.0, PLANE_EXTENT);
                let up = Quat::from_rotation_arc(Vec3::Y, vec3(normal).normalize_or(Vec3::Y));
                piece.place.rotation *= up;
            }
            Geometry::ConvexHull { .. }
            | Geometry::TriMesh { .. }
            | Geometry::HeightField { .. } => {
                piece.mesh = shared(Key::Shared(key), &|| triangulated(shape));
            }
            // What is made of others, and no shape has a geometry that is still in a file.
            Geometry::Compound { .. }
            | Geometry::ConvexHullFile { .. }
            | Geometry::TriMeshFile { .. } => return None,
        }
        if let Geometry::Cylinder {
            half_height,
            radius,
        }
        | Geometry::Capsule {
            half_height,
            radius,
        } = *shape.geometry()
        {
            piece.rod = (half_height > ROD * radius).then_some(radius as f32);
        }
        Some(piece)
    }
}

impl FromWorld for MeshLibrary {
    fn from_world(world: &mut World) -> Self {
        let mut assets = world.resource_mut::<Assets<Mesh>>();
        Self {
            meshes: unit_meshes().map(|mesh| assets.add(mesh)).collect(),
            keys: HashMap::new(),
            wires: unit_wires()
                .map(|(mesh, wires)| (mesh, assets.add(wires)))
                .collect(),
        }
    }
}

/// In the order of the constants of [`MeshLibrary`].
fn unit_meshes() -> impl Iterator<Item = Mesh> {
    let ball = |subdivisions| {
        Sphere::new(1.0)
            .mesh()
            .kind(SphereKind::Ico { subdivisions })
    };
    let round = |resolution| Cylinder::new(1.0, 2.0).mesh().resolution(resolution);
    let pointed = |resolution| Cone::new(1.0, 2.0).mesh().resolution(resolution);
    let others = [
        Cuboid::from_length(2.0).mesh().build(),
        round(SEGMENTS).build(),
        pointed(SEGMENTS).build(),
        Plane3d::default().mesh().size(2.0, 2.0).build(),
        round(6).build(),
        pointed(8).build(),
    ];
    let balls = BALL_SUBDIVISIONS.map(|subdivisions| ball(subdivisions).build());
    balls.into_iter().chain(others).map(untextured)
}

/// Edges of the unit shapes: round ones as coarse polyhedra, since a smooth surface has none.
fn unit_wires() -> impl Iterator<Item = (MeshId, Mesh)> {
    let solids = [
        (
            MeshLibrary::BALL,
            Sphere::new(1.0).mesh().uv(WIRE_SEGMENTS, WIRE_SEGMENTS / 2),
        ),
        (MeshLibrary::CUBE, Cuboid::from_length(2.0).mesh().build()),
        (
            MeshLibrary::CYLINDER,
            Cylinder::new(1.0, 2.0)
                .mesh()
                .resolution(WIRE_SEGMENTS)
                .build(),
        ),
        (
            MeshLibrary::CONE,
            Cone::new(1.0, 2.0).mesh().resolution(WIRE_SEGMENTS).build(),
        ),
    ];
    solids
        .into_iter()
        .map(|(mesh, solid)| (mesh, edges(&solid)))
}

/// The edges of a mesh of triangles as lines: those of one face alone, and those at which two faces meet
/// that are not in one plane.
fn edges(mesh: &Mesh) -> Mesh {
    let positions = mesh.attribute(Mesh::ATTRIBUTE_POSITION);
    let positions = positions.and_then(|p| p.as_float3()).unwrap_or(&[]);
    let points: Vec<Vec3> = positions.iter().map(|p| Vec3::from(*p)).collect();
    let size = points.iter().map(|p| p.abs().max_element());
    let grain = WELD * size.fold(0.0, f32::max).max(f32::MIN_POSITIVE);
    // Vertices are there once per face, with its normal.
    let mut places = HashMap::new();
    let place = |p: &Vec3| {
        let next = places.len() as u32;
        *places
            .entry((*p / grain).round().as_i64vec3().to_array())
            .or_insert(next)
    };
    let welded: Vec<u32> = points.iter().map(place).collect();
    let corners: Vec<usize> = mesh.indices().map_or_else(Vec::new, |i| i.iter().collect());
    // By its two ends: where they are, and the normals of the faces.
    let mut faces: BTreeMap<[u32; 2], ([Vec3; 2], Vec<Vec3>)> = BTreeMap::new();
    for triangle in corners.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|k| points[triangle[k]]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        if normal == Vec3::ZERO {
            continue;
        }
        for k in 0..3 {
            let ends = [triangle[k], triangle[(k + 1) % 3]];
            let mut names = ends.map(|i| welded[i]);
            names.sort_unstable();
            let entry = faces.entry(names).or_default();
            entry.0 = ends.map(|i| points[i]);
            entry.1.push(normal);
        }
    }
    let flat = FLAT_DEGREES.to_radians().cos();
    let is_edge = |normals: &[Vec3]| match normals {
        [one, other] => one.dot(*other) < flat,
        _ => true,
    };
    let lines = faces.into_values().filter(|(_, normals)| is_edge(normals));
    let ends: Vec<Vec3> = lines.flat_map(|(ends, _)| ends).collect();
    let indices = Indices::U32((0..ends.len() as u32).collect());
    Mesh::new(PrimitiveTopology::LineList, default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, vec![Vec3::ZERO; ends.len()])
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, ends)
        .with_inserted_indices(indices)
}

/// The shader reads positions and normals alone.
fn untextured(mesh: Mesh) -> Mesh {
    mesh.with_removed_attribute(Mesh::ATTRIBUTE_UV_0)
}

fn capsule(half_height: f32, radius: f32, segments: u32) -> Mesh {
    let capsule = Capsule3d::new(radius, 2.0 * half_height).mesh();
    let divided = capsule.longitudes(segments).latitudes(segments / 2);
    untextured(divided.build())
}

/// Hulls, meshes and height fields as parry triangulates them.
fn triangulated(shape: &Shape) -> Mesh {
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
        (Vec::new(), Vec::new())
    };
    let single = |v: &_| vec3(crate::math::Vec3::from(*v));
    let points: Vec<Vec3> = vertices.iter().map(single).collect();
    creased(&points, &triangles, crease)
}

/// Normals averaged over the neighbouring faces that meet at less than the crease angle.
fn creased(points: &[Vec3], triangles: &[[u32; 3]], crease: f32) -> Mesh {
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
    let normal = |f: usize, i: u32| {
        let own = faces[f].normalize_or_zero();
        let near = around[i as usize].iter().map(|f| faces[*f as usize]);
        let sum: Vec3 = near
            .filter(|n| n.normalize_or_zero().dot(own) >= smooth)
            .sum();
        sum.normalize_or(own)
    };
    let corners = triangles.iter().enumerate();
    let corners = corners.flat_map(|(f, triangle)| triangle.map(|i| (f, i)));
    let (positions, normals): (Vec<Vec3>, Vec<Vec3>) = corners
        .map(|(f, i)| (points[i as usize], normal(f, i)))
        .unzip();
    let indices = Indices::U32((0..positions.len() as u32).collect());
    Mesh::new(PrimitiveTopology::TriangleList, default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, normals)
        .with_inserted_indices(indices)
}

#[cfg(test)]
mod tests {
    use std::f32::consts::PI;

    use super::*;

    /// Corners of the triangles: position and normal.
    fn triangles(mesh: &Mesh) -> Vec<[(Vec3, Vec3); 3]> {
        let read = |attribute| {
            let values = mesh.attribute(attribute).and_then(|v| v.as_float3());
            values.expect("three numbers per vertex")
        };
        let (positions, normals) = (read(Mesh::ATTRIBUTE_POSITION), read(Mesh::ATTRIBUTE_NORMAL));
        let Some(Indices::U32(indices)) = mesh.indices() else {
            panic!("indices of 32 bits, as they are drawn");
        };
        let corner = |i: u32| {
            let i = i as usize;
            (Vec3::from(positions[i]), Vec3::from(normals[i]))
        };
        let triangles = indices.chunks(3);
        triangles.map(|t| [t[0], t[1], t[2]].map(corner)).collect()
    }

    fn volume(mesh: &Mesh) -> f32 {
        let of = |[(a, _), (b, _), (c, _)]: [(Vec3, Vec3); 3]| a.dot(b.cross(c)) / 6.0;
        triangles(mesh).into_iter().map(of).sum()
    }

    /// The divergence theorem finds every face that is missing or turned inside out.
    #[test]
    fn closed_meshes_enclose_their_volume() {
        let meshes: Vec<Mesh> = unit_meshes().collect();
        let of = |id: MeshId| volume(&meshes[id]);
        let ball = MeshLibrary::BALL + MeshLibrary::BALL_LEVELS - 1;
        for (name, found, exact, tolerance) in [
            ("sphere", of(ball), 4.0 / 3.0 * PI, 0.01),
            ("cube", of(MeshLibrary::CUBE), 8.0, 1e-6),
            ("cylinder", of(MeshLibrary::CYLINDER), 2.0 * PI, 0.01),
            ("cone", of(MeshLibrary::CONE), 2.0 / 3.0 * PI, 0.01),
            (
                "capsule",
                volume(&capsule(1.0, 0.5, SEGMENTS)),
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

    /// The layout that the pipelines are made for.
    #[test]
    fn vertices_are_positions_and_normals() {
        let hull = Geometry::ConvexHull {
            points: [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
                .map(Into::into)
                .to_vec(),
        };
        let hull = Shape::new(hull).expect("a hull");
        for mesh in unit_meshes().chain([capsule(1.0, 0.5, SEGMENTS), triangulated(&hull)]) {
            assert_eq!(mesh.get_vertex_size(), 24);
            assert!(matches!(mesh.indices(), Some(Indices::U32(_))));
        }
    }

    /// A cube has 12 edges and no diagonals, a tetrahedron 6, and a cylinder of n sides 3n.
    #[test]
    fn edges_are_those_of_the_solid() {
        let count = |mesh: &Mesh| mesh.indices().map_or(0, Indices::len) / 2;
        let unit: HashMap<MeshId, Mesh> = unit_wires().collect();
        assert_eq!(count(&unit[&MeshLibrary::CUBE]), 12);
        let sides = 3 * WIRE_SEGMENTS as usize;
        assert_eq!(count(&unit[&MeshLibrary::CYLINDER]), sides);
        let corners = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        assert_eq!(count(&edges(&creased(&corners, &faces, CREASE_DEGREES))), 6);
    }

    #[test]
    fn normals_point_outwards() {
        for corners in unit_meshes().flat_map(|mesh| triangles(&mesh)) {
            let [a, b, c] = corners.map(|(position, _)| position);
            // The tip of a cone has no normal of its own.
            let normal: Vec3 = corners.iter().map(|(_, normal)| normal).sum();
            let face = (b - a).cross(c - a);
            if face.length() > 1e-6 {
                assert!(face.dot(normal) > 0.0);
            }
        }
    }
}
