//! The axis along which two convex solids are farthest apart, or overlap least.
//!
//! Along a unit axis n two solids A and B are s(n) = min over B of n·x − max over A of n·x apart. The largest s is their
//! distance, or if negative their depth. The set of all a − b, widened by a ball of radius m, has the support m − s(n):
//! where m is larger than the distance it holds the origin, and the face of its boundary nearest to the origin faces along
//! the best axis, whether the solids are apart, touch or overlap. So a polytope of support points grows around the origin
//! where it is nearest (van den Bergen's expanding polytopes), until a support is no farther than the nearest face. Both
//! bound the depth, from above and from below, so that what is found is the best axis of all, within the tolerance.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::math::Vec3;

/// Most support points; what was found until then is an axis too, but may not be the best.
const MOST: usize = 250;
/// A face sees a point that is so far above it, as a share of the polytope's size (-): rounding.
const ROUNDING: f64 = 1e-14;
const NO_FACE: u32 = u32::MAX;

/// The best axis.
#[derive(Clone, Copy, Debug)]
pub struct Best {
    /// Unit vector from A to B.
    pub normal: Vec3,
    /// s along it (m).
    pub distance: f64,
    /// Points of A and of B that face each other along it, as nearly as the tolerance has it.
    pub at: [Vec3; 2],
}

/// A triangle of the polytope.
#[derive(Clone, Copy)]
struct Face {
    corners: [u32; 3],
    /// Behind the edge from each corner to the next.
    neighbours: [u32; 3],
    normal: Vec3,
    /// Distance of its plane from the origin, negative if the origin is outside (m).
    distance: f64,
    is_there: bool,
}

/// A face in the order of distances, the older one first where these are equal.
#[derive(Clone, Copy, PartialEq)]
struct Near {
    distance: f64,
    face: u32,
}

impl Eq for Near {}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_distance = self.distance.total_cmp(&other.distance);
        by_distance.then(self.face.cmp(&other.face))
    }
}

/// The polytope. Keeps its memory.
#[derive(Default)]
pub struct Polytope {
    points: Vec<Vec3>,
    /// The points of A and B that each is the difference of.
    ends: Vec<[Vec3; 2]>,
    faces: Vec<Face>,
    /// The faces, nearest first, and some that are gone.
    order: BinaryHeap<Reverse<Near>>,
    visible: Vec<u32>,
    /// Edges around what is visible: from, to, and the face behind.
    horizon: Vec<(u32, u32, u32)>,
    /// The new face that begins at a point.
    begins: Vec<u32>,
}

impl Polytope {
    /// The best axis of two solids that are at most `reach` apart, none where they are farther apart. `support` gives
    /// the points where n·x is most in A and least in B; `margin` is what `reach` is exceeded by, and `tolerance`
    /// how far the result may be from the best (m).
    pub fn best_axis(
        &mut self,
        support: impl Fn(&Vec3) -> [Vec3; 2],
        reach: f64,
        margin: f64,
        tolerance: f64,
    ) -> Option<Best> {
        let wide = reach + margin;
        let widened = |n: &Vec3| {
            let [a, b] = support(n);
            (a - b + n * wide, [a, b])
        };
        let mut best = Best {
            normal: Vec3::y(),
            distance: f64::NEG_INFINITY,
            at: [Vec3::zeros(); 2],
        };
        self.begin(&widened)?;
        let mut face = self.nearest()?;
        while self.points.len() < MOST {
            let Face {
                normal, distance, ..
            } = self.faces[face as usize];
            let (point, ends) = widened(&normal);
            let height = normal.dot(&point);
            if wide - height > best.distance {
                best.normal = normal;
                best.distance = wide - height;
            }
            if best.distance > reach {
                return None;
            }
            let is_done = wide - best.distance - distance <= tolerance;
            if is_done || !self.add(face, point, ends) {
                break;
            }
            face = self.nearest()?;
        }
        best.at = self.facing(face);
        best.distance.is_finite().then_some(best)
    }

    /// A tetrahedron of support points, none of whose corners is nearer than the margin to the face across.
    fn begin(&mut self, support: &impl Fn(&Vec3) -> (Vec3, [Vec3; 2])) -> Option<()> {
        self.points.clear();
        self.ends.clear();
        self.faces.clear();
        self.order.clear();
        let (a, b) = (support(&Vec3::x()), support(&-Vec3::x()));
        let along = b.0 - a.0;
        let least = [Vec3::x(), Vec3::y(), Vec3::z()]
            .into_iter()
            .min_by(|p, q| along.dot(p).abs().total_cmp(&along.dot(q).abs()))?;
        let across = along.cross(&least).try_normalize(0.0)?;
        let farther = |axis: &Vec3| {
            let (p, q) = (support(axis), support(&-axis));
            let height = |p: &Vec3| axis.dot(&(p - a.0)).abs();
            if height(&p.0) >= height(&q.0) { p } else { q }
        };
        let c = farther(&across);
        let normal = along.cross(&(c.0 - a.0)).try_normalize(0.0)?;
        let d = farther(&normal);
        for (point, ends) in [a, b, c, d] {
            self.points.push(point);
            self.ends.push(ends);
        }
        // Its first face is to see the last corner from below.
        let corners = if normal.dot(&(d.0 - a.0)) < 0.0 {
            [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]]
        } else {
            [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
        };
        for own in corners {
            let edge = |k: usize| [own[k], own[(k + 1) % 3]];
            let behind = |[from, to]: [u32; 2]| {
                let has = |of: &[u32; 3]| (0..3).any(|k| [of[(k + 1) % 3], of[k]] == [from, to]);
                corners.iter().position(has).map_or(NO_FACE, |f| f as u32)
            };
            self.push(own, [0, 1, 2].map(|k| behind(edge(k))));
        }
        Some(())
    }

    fn push(&mut self, corners: [u32; 3], neighbours: [u32; 3]) {
        let [a, b, c] = corners.map(|k| self.points[k as usize]);
        // What has no area faces nowhere, and is nearest to nothing.
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0);
        let distance = normal.map_or(f64::INFINITY, |n| n.dot(&a));
        let face = self.faces.len() as u32;
        self.order.push(Reverse(Near { distance, face }));
        self.faces.push(Face {
            corners,
            neighbours,
            normal: normal.unwrap_or_default(),
            distance,
            is_there: true,
        });
    }

    /// What of A and B the point of a face that is nearest to the origin is the difference of.
    fn facing(&self, face: u32) -> [Vec3; 2] {
        let Face {
            corners,
            normal,
            distance,
            ..
        } = self.faces[face as usize];
        let corner = corners.map(|k| self.points[k as usize]);
        let at = normal * distance;
        let share = [0, 1, 2].map(|k| {
            let (p, q) = (corner[(k + 1) % 3], corner[(k + 2) % 3]);
            normal.dot(&(p - at).cross(&(q - at))).max(0.0)
        });
        let all = share.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        [0, 1].map(|side| {
            let ends = corners.map(|k| self.ends[k as usize][side]);
            (ends[0] * share[0] + ends[1] * share[1] + ends[2] * share[2]) / all
        })
    }

    fn nearest(&mut self) -> Option<u32> {
        while let Some(Reverse(Near { distance, face })) = self.order.peek() {
            if self.faces[*face as usize].is_there {
                return (*distance < f64::INFINITY).then_some(*face);
            }
            self.order.pop();
        }
        None
    }

    /// Takes a face away; those behind it keep its number.
    fn take(&mut self, face: u32) {
        self.faces[face as usize].is_there = false;
    }

    /// Puts cones to a point in the place of what it sees, `first` among it. False where rounding leaves no clear edge
    /// around that.
    fn add(&mut self, first: u32, point: Vec3, ends: [Vec3; 2]) -> bool {
        let size = self.points[0].norm().max(point.norm());
        let rounding = ROUNDING * size;
        self.horizon.clear();
        self.visible.clear();
        self.visible.push(first);
        self.take(first);
        let mut next = 0;
        while let Some(face) = self.visible.get(next) {
            next += 1;
            let neighbours = self.faces[*face as usize].neighbours;
            for behind in neighbours {
                let Some(other) = self.faces.get(behind as usize) else {
                    return false;
                };
                if !other.is_there {
                    continue;
                }
                if other.normal.dot(&point) - other.distance > rounding {
                    self.take(behind);
                    self.visible.push(behind);
                }
            }
        }
        for face in &self.visible {
            let Face {
                corners,
                neighbours,
                ..
            } = self.faces[*face as usize];
            for (k, behind) in neighbours.into_iter().enumerate() {
                if self.faces[behind as usize].is_there {
                    self.horizon
                        .push((corners[k], corners[(k + 1) % 3], behind));
                }
            }
        }
        self.ends.push(ends);
        self.close(point)
    }

    /// New faces from the edges around what was visible to a point.
    fn close(&mut self, point: Vec3) -> bool {
        let tip = self.points.len() as u32;
        self.points.push(point);
        self.begins.clear();
        self.begins.resize(tip as usize, NO_FACE);
        let first = self.faces.len() as u32;
        for (face, (from, ..)) in (first..).zip(&self.horizon) {
            if std::mem::replace(&mut self.begins[*from as usize], face) != NO_FACE {
                return false;
            }
        }
        for k in 0..self.horizon.len() {
            let (from, to, behind) = self.horizon[k];
            let own = first + k as u32;
            let after = self.begins[to as usize];
            if after == NO_FACE {
                return false;
            }
            self.push([from, to, tip], [behind, after, NO_FACE]);
            let other = &mut self.faces[behind as usize];
            for e in 0..3 {
                if [other.corners[(e + 1) % 3], other.corners[e]] == [from, to] {
                    other.neighbours[e] = own;
                }
            }
        }
        for k in 0..self.horizon.len() as u32 {
            let after = self.faces[(first + k) as usize].neighbours[1];
            self.faces[after as usize].neighbours[2] = first + k;
        }
        true
    }
}
