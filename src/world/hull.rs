//! Convex polyhedra as collision detection reads them: corners, flat faces and the edges between two of them.

use std::collections::BTreeMap;

use parry3d_f64::shape::ConvexPolyhedron;

use crate::math::Vec3;

/// A half-space {x : n·x ≤ offset} that a face bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Unit outward normal.
    pub normal: Vec3,
    /// Distance from the origin along the normal (m).
    pub offset: f64,
}

/// A corner of a face, and the edge that leads from it to the next corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Index of the corner.
    pub vertex: u32,
    /// Index of the edge.
    pub edge: u32,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Its two corners.
    pub ends: [u32; 2],
    /// The two faces that meet in it; twice the same one where a hull is not closed.
    pub faces: [u32; 2],
    /// Unit vector along it, turned as the cross product of the two faces' normals is.
    pub direction: Vec3,
}

/// What else is known of a polyhedron that is a box around its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuboid {
    /// Half of its sides (m).
    pub half_extents: Vec3,
    /// Its edges along each axis, by the lower one of their two corners.
    edges: [[u32; 8]; 3],
}

impl Cuboid {
    /// The edge along an axis that lies on the given side of the other two.
    pub fn edge(&self, axis: usize, is_positive: [bool; 3]) -> usize {
        let bit = |k: usize| usize::from(k != axis && is_positive[k]) << k;
        self.edges[axis][bit(0) | bit(1) | bit(2)] as usize
    }

    /// The face that faces a direction most.
    pub fn face(&self, toward: &Vec3) -> usize {
        let axis = toward.iamax();
        2 * axis + usize::from(toward[axis] > 0.0)
    }
}

/// A convex polyhedron in its shape's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// Corners (m).
    pub vertices: Vec<Vec3>,
    /// Faces; each has all corners on its inner side.
    pub planes: Vec<Plane>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Largest distance of a corner from the mean of all (m).
    pub size: f64,
    /// Of a box.
    pub cuboid: Option<Cuboid>,
    sides: Vec<Side>,
    /// Where each face's sides begin; one more than there are faces.
    first: Vec<usize>,
}

impl Hull {
    /// From corners and, per face, its corners counter-clockwise as seen from outside.
    fn new<'a>(vertices: Vec<Vec3>, faces: impl Iterator<Item = &'a [u32]>) -> Self {
        let mean = vertices.iter().sum::<Vec3>() / vertices.len() as f64;
        let size = vertices.iter().map(|v| (v - mean).norm());
        let mut hull = Self {
            size: size.fold(0.0, f64::max),
            vertices,
            planes: Vec::new(),
            edges: Vec::new(),
            cuboid: None,
            sides: Vec::new(),
            first: vec![0],
        };
        // Edges by their two corners, in the order in which faces name them.
        let mut known = BTreeMap::new();
        for corners in faces {
            let Some(plane) = hull.plane(corners) else {
                continue;
            };
            let face = hull.planes.len() as u32;
            hull.planes.push(plane);
            let next = corners.iter().cycle().skip(1);
            for (&vertex, &to) in corners.iter().zip(next) {
                let ends = [vertex.min(to), vertex.max(to)];
                let edge = *known.entry(ends).or_insert_with(|| {
                    hull.edges.push(Edge {
                        ends,
                        faces: [face; 2],
                        direction: Vec3::zeros(),
                    });
                    hull.edges.len() as u32 - 1
                });
                hull.edges[edge as usize].faces[1] = face;
                hull.sides.push(Side { vertex, edge });
            }
            hull.first.push(hull.sides.len());
        }
        for edge in &mut hull.edges {
            let [p, q] = edge.ends.map(|v| hull.vertices[v as usize]);
            let [a, b] = edge.faces.map(|f| hull.planes[f as usize].normal);
            let along = (q - p).normalize();
            edge.direction = along * a.cross(&b).dot(&along).signum();
        }
        hull
    }

    /// The plane of a face, by Newell's sum over its corners, moved out to the outermost corner of the hull;
    /// none where the face has no area.
    fn plane(&self, corners: &[u32]) -> Option<Plane> {
        let at = |k: usize| self.vertices[corners[k % corners.len()] as usize];
        let origin = at(0);
        let normal: Vec3 = (1..corners.len())
            .map(|k| (at(k) - origin).cross(&(at(k + 1) - origin)))
            .sum();
        let normal = normal.try_normalize(0.0)?;
        let along = self.vertices.iter().map(|v| normal.dot(v));
        Some(Plane {
            normal,
            offset: along.fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// A box.
    pub fn cuboid(half_extents: Vec3) -> Self {
        let corner = |k: usize| {
            let sign = |bit: usize| if k & bit == 0 { -1.0 } else { 1.0 };
            half_extents.component_mul(&Vec3::new(sign(1), sign(2), sign(4)))
        };
        let faces: [[u32; 4]; 6] = [
            [0, 4, 6, 2],
            [1, 3, 7, 5],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 2, 3, 1],
            [4, 5, 7, 6],
        ];
        let mut hull = Self::new(
            (0..8).map(corner).collect(),
            faces.iter().map(<[u32; 4]>::as_slice),
        );
        if hull.planes.len() < 6 {
            // Sides so short that their faces have no area.
            return hull;
        }
        let mut edges = [[0; 8]; 3];
        for (k, edge) in hull.edges.iter().enumerate() {
            let [low, high] = edge.ends;
            edges[(high - low).trailing_zeros() as usize][low as usize] = k as u32;
        }
        hull.cuboid = Some(Cuboid {
            half_extents,
            edges,
        });
        hull
    }

    /// The polyhedron that parry made of a set of points.
    pub fn of_polyhedron(polyhedron: &ConvexPolyhedron) -> Self {
        let corners = polyhedron.vertices_adj_to_face();
        let faces = polyhedron.faces().iter().map(|face| {
            let first = face.first_vertex_or_edge as usize;
            &corners[first..first + face.num_vertices_or_edges as usize]
        });
        let vertices = polyhedron.points().iter().map(|p| (*p).into());
        Self::new(vertices.collect(), faces)
    }

    /// The sides of a face, counter-clockwise as seen from outside.
    pub fn sides(&self, face: usize) -> &[Side] {
        &self.sides[self.first[face]..self.first[face + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_closed_and_faces_outwards() {
        let hull = Hull::cuboid(Vec3::new(1.0, 2.0, 3.0));
        assert_eq!((hull.planes.len(), hull.edges.len()), (6, 12));
        for plane in &hull.planes {
            let expected = plane.normal.abs().dot(&Vec3::new(1.0, 2.0, 3.0));
            assert!((plane.offset - expected).abs() < 1e-15, "{plane:?}");
            assert!((plane.normal.norm() - 1.0).abs() < 1e-15);
        }
        for edge in &hull.edges {
            let [a, b] = edge.faces.map(|f| hull.planes[f as usize].normal);
            assert!((a.cross(&b) - edge.direction).norm() < 1e-15, "{edge:?}");
        }
    }
}
