//! Triangle meshes of the collision shapes, built once per distinct shape and shared by all bodies.

use std::collections::HashMap;
use std::f32::consts::{PI, TAU};
use std::sync::Arc;

use bevy::math::{Quat, Vec3};
use bytemuck::{Pod, Zeroable};

use crate::math::Pose;
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

/// How finely spheres are divided, from the coarsest (far away) to the finest (close up).
const BALL_SUBDIVISIONS: [u32; 4] = [0, 1, 2, 4];
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
                for (pose, part) in parts {
                    // Its own shape, so that hulls go through parry's hull as well.
                    if let Ok(shape) = Shape::new(part.clone()) {
                        self.simple(&shape, pose, part as *const Geometry as usize, out);
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
            } => {
                piece.mesh = Self::CYLINDER;
                piece.scale = Vec3::new(radius as f32, half_height as f32, radius as f32);
            }
            Geometry::Cone {
                half_height,
                radius,
            } => {
                piece.mesh = Self::CONE;
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
            Geometry::Compound { .. } => return,
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
        let mut meshes: Vec<_> = BALL_SUBDIVISIONS.iter().map(|n| sphere(*n)).collect();
        let round = |profile: &[[f32; 2]], segments| lathe(profile, segments);
        meshes.push(cube());
        meshes.push(round(
            &[[0.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 1.0]],
            SEGMENTS,
        ));
        meshes.push(round(&[[0.0, -1.0], [1.0, -1.0], [0.0, 1.0]], SEGMENTS));
        meshes.push(square());
        meshes.push(round(
            &[[0.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 1.0]],
            6,
        ));
        meshes.push(round(&[[0.0, -1.0], [1.0, -1.0], [0.0, 1.0]], 8));
        Self {
            meshes: meshes.into_iter().map(Arc::new).collect(),
            keys: HashMap::new(),
        }
    }
}

/// A vector of the engine in single precision.
pub fn vec3(v: crate::math::Vec3) -> Vec3 {
    Vec3::new(v.x as f32, v.y as f32, v.z as f32)
}

/// A rotation of the engine in single precision.
pub fn quat(q: crate::math::Quat) -> Quat {
    Quat::from_xyzw(q.i as f32, q.j as f32, q.k as f32, q.w as f32)
}

/// The unit sphere: an icosahedron whose triangles are split `levels` times.
fn sphere(levels: u32) -> MeshData {
    let t = (1.0 + 5.0f32.sqrt()) / 2.0;
    let mut points: Vec<Vec3> = [
        [-1.0, t, 0.0],
        [1.0, t, 0.0],
        [-1.0, -t, 0.0],
        [1.0, -t, 0.0],
        [0.0, -1.0, t],
        [0.0, 1.0, t],
        [0.0, -1.0, -t],
        [0.0, 1.0, -t],
        [t, 0.0, -1.0],
        [t, 0.0, 1.0],
        [-t, 0.0, -1.0],
        [-t, 0.0, 1.0],
    ]
    .into_iter()
    .map(|p| Vec3::from(p).normalize())
    .collect();
    let mut triangles: Vec<[u32; 3]> = vec![
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    for _ in 0..levels {
        let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
        let mut split = Vec::with_capacity(4 * triangles.len());
        for [a, b, c] in triangles {
            let mut middle = |i: u32, j: u32| {
                *middles.entry([i.min(j), i.max(j)]).or_insert_with(|| {
                    points.push((points[i as usize] + points[j as usize]).normalize());
                    points.len() as u32 - 1
                })
            };
            let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
            split.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        triangles = split;
    }
    MeshData {
        vertices: points
            .iter()
            .map(|p| Vertex {
                position: p.to_array(),
                normal: p.to_array(),
            })
            .collect(),
        indices: triangles.into_iter().flatten().collect(),
    }
}

fn cube() -> MeshData {
    let mut mesh = MeshData::default();
    for axis in 0..3 {
        for sign in [-1.0f32, 1.0] {
            let mut n = Vec3::ZERO;
            n[axis] = sign;
            let mut u = Vec3::ZERO;
            u[(axis + 1) % 3] = 1.0;
            let v = n.cross(u);
            quad(&mut mesh, n, [n - u - v, n + u - v, n + u + v, n - u + v]);
        }
    }
    mesh
}

fn square() -> MeshData {
    let mut mesh = MeshData::default();
    let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]];
    quad(
        &mut mesh,
        Vec3::Y,
        corners.map(|[x, z]| Vec3::new(x, 0.0, z)),
    );
    mesh
}

fn quad(mesh: &mut MeshData, normal: Vec3, corners: [Vec3; 4]) {
    let first = mesh.vertices.len() as u32;
    mesh.vertices.extend(corners.map(|p| Vertex {
        position: p.to_array(),
        normal: normal.to_array(),
    }));
    mesh.indices
        .extend([0, 1, 2, 0, 2, 3].map(|k: u32| first + k));
}

/// A surface of revolution about y: each segment of the profile (radius, height), listed upwards,
/// is a band with its own normals, so that edges stay sharp.
fn lathe(profile: &[[f32; 2]], segments: u32) -> MeshData {
    let mut mesh = MeshData::default();
    for pair in profile.windows(2) {
        let [[r0, y0], [r1, y1]] = [pair[0], pair[1]];
        let slope = Vec3::new(y1 - y0, r0 - r1, 0.0).normalize_or(Vec3::Y);
        band(&mut mesh, segments, [(r0, y0, slope), (r1, y1, slope)]);
    }
    mesh
}

/// One band of a surface of revolution: radius, height and (radial, axial) normal at both rims.
fn band(mesh: &mut MeshData, segments: u32, rims: [(f32, f32, Vec3); 2]) {
    let first = mesh.vertices.len() as u32;
    for k in 0..=segments {
        let angle = TAU * k as f32 / segments as f32;
        let (sin, cos) = angle.sin_cos();
        for (r, y, n) in rims {
            mesh.vertices.push(Vertex {
                position: [r * cos, y, -r * sin],
                normal: [n.x * cos, n.y, -n.x * sin],
            });
        }
    }
    for k in 0..segments {
        let a = first + 2 * k;
        mesh.indices.extend([a, a + 2, a + 3, a, a + 3, a + 1]);
    }
}

fn capsule(half_height: f32, radius: f32) -> MeshData {
    let mut mesh = MeshData::default();
    const RINGS: u32 = 12;
    let rim = |latitude: f32, centre: f32| {
        let (sin, cos) = latitude.sin_cos();
        (
            radius * cos,
            centre + radius * sin,
            Vec3::new(cos, sin, 0.0),
        )
    };
    for (start, centre) in [(-PI / 2.0, -half_height), (0.0, half_height)] {
        for k in 0..RINGS {
            let at = |k: u32| start + PI / 2.0 * k as f32 / RINGS as f32;
            band(
                &mut mesh,
                SEGMENTS,
                [rim(at(k), centre), rim(at(k + 1), centre)],
            );
        }
    }
    band(
        &mut mesh,
        SEGMENTS,
        [rim(0.0, -half_height), rim(0.0, half_height)],
    );
    mesh
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
    let points: Vec<Vec3> = vertices
        .iter()
        .map(|v| Vec3::new(v.x as f32, v.y as f32, v.z as f32))
        .collect();
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
                let [a, b, c] =
                    [t[0], t[1], t[2]].map(|i| Vec3::from(mesh.vertices[i as usize].position));
                let face = (b - a).cross(c - a);
                // The two triangles of a band that ends in a point: one of them has no area.
                if face.length() > 1e-6 {
                    let n = Vec3::from(mesh.vertices[t[0] as usize].normal);
                    assert!(face.dot(n) > 0.0);
                }
            }
        }
    }
}
