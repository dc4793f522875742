//! Manifolds that outlive a step: the contact points of two boxes that hardly move against each
//! other are found once, and carried with them from then on.

use serde::{Deserialize, Serialize};

use crate::math::{Pose, Vec3};

/// The manifold of two boxes, as it was found at some step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifoldMemory {
    /// The two bodies' slots, lower first.
    pub bodies: [u32; 2],
    /// First point and one past the last.
    pub points: [u32; 2],
    /// Half extents of the two boxes (m): a manifold of other boxes is worth nothing.
    pub half_extents: [Vec3; 2],
    /// The second box in the frame of the first.
    pub relative: Pose,
    /// Unit normal in the frame of the first box.
    pub normal: Vec3,
    /// Points farther apart than this were not looked for (m).
    pub reach: f64,
}

/// A pair of points that face each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifoldPoint {
    /// The point on each box, in the frame of that box (m).
    pub local: [Vec3; 2],
    /// Which features touch.
    pub feature: u64,
}

/// The remembered manifolds, ordered by bodies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifolds {
    /// One entry per pair of boxes with a contact.
    pub of_pair: Vec<ManifoldMemory>,
    /// Their points.
    pub point: Vec<ManifoldPoint>,
}

impl Manifolds {
    /// Empties the list and keeps its memory.
    pub fn clear(&mut self) {
        self.of_pair.clear();
        self.point.clear();
    }

    /// Forgets the manifolds of one body.
    pub fn forget(&mut self, slot: u32) {
        let old = std::mem::take(self);
        for m in old.of_pair.iter().filter(|m| !m.bodies.contains(&slot)) {
            let first = self.point.len() as u32;
            self.point.extend_from_slice(old.points(m));
            self.of_pair.push(ManifoldMemory {
                points: [first, self.point.len() as u32],
                ..*m
            });
        }
    }

    /// Appends another list.
    pub fn append(&mut self, other: &Self) {
        let first = self.point.len() as u32;
        self.of_pair
            .extend(other.of_pair.iter().map(|m| ManifoldMemory {
                points: m.points.map(|p| p + first),
                ..*m
            }));
        self.point.extend_from_slice(&other.point);
    }

    /// The points of one manifold.
    pub fn points(&self, of: &ManifoldMemory) -> &[ManifoldPoint] {
        &self.point[of.points[0] as usize..of.points[1] as usize]
    }

    /// Whether the manifolds are in order, and each has points of its own, one manifold's after the other's.
    pub fn is_sound(&self) -> bool {
        let mut next = 0;
        let mut points = self.of_pair.iter().map(|m| m.points);
        points.all(|[first, end]| first == std::mem::replace(&mut next, end) && first <= end)
            && next as usize == self.point.len()
            && self.of_pair.is_sorted_by(|a, b| a.bodies < b.bodies)
    }

    /// Every number of them, but for the boxes' sizes, which are only compared.
    pub fn numbers(&self) -> impl Iterator<Item = &f64> {
        let of_pair = self.of_pair.iter().flat_map(|m| {
            let place = m.relative.position.iter().chain(m.normal.iter());
            place
                .chain(m.relative.rotation.coords.iter())
                .chain([&m.reach])
        });
        let local = self.point.iter().flat_map(|p| &p.local);
        of_pair.chain(local.flat_map(|local| local.iter()))
    }
}
