//! J of a contact of three rows, one along the normal and one along each tangent, as 15 numbers in the place of 36: its
//! axes e and its arms r, with e·(v + ω × r) of the second body less that of the first. What an iteration reads is then
//! 0.6 MB in the place of 1.3 for 4,680 contacts, and stays in the cache.

use super::packed::{DOF, Row};
use crate::problem::ContactFrame;

/// Rows of such a contact.
pub const ROWS: usize = 3;

type Vector = [f64; 3];

/// Axes and arms.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    axes: [Vector; ROWS],
    arms: [Vector; 2],
}

impl From<&ContactFrame> for Frame {
    fn from(frame: &ContactFrame) -> Self {
        Self {
            axes: frame.axes().map(Into::into),
            arms: frame.arms.map(Into::into),
        }
    }
}

#[inline(always)]
fn cross(a: &Vector, b: &Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[inline(always)]
fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Frame {
    /// A row of J on both bodies.
    #[inline]
    pub fn row(&self, k: usize) -> [Row; 2] {
        let e = &self.axes[k];
        let [r, s] = self.arms.map(|arm| cross(&arm, e));
        [
            [-e[0], -e[1], -e[2], -r[0], -r[1], -r[2]],
            [e[0], e[1], e[2], s[0], s[1], s[2]],
        ]
    }

    /// J u for the velocities of both bodies.
    #[inline(always)]
    pub fn product(&self, [a, b]: [&Row; 2]) -> [f64; ROWS] {
        let relative = self.relative([a, b]);
        self.axes.map(|e| dot(&e, &relative))
    }

    /// One row of J u.
    #[inline(always)]
    pub fn row_product(&self, k: usize, bodies: [&Row; 2]) -> f64 {
        dot(&self.axes[k], &self.relative(bodies))
    }

    /// The velocity of the second body at the point, less that of the first.
    #[inline(always)]
    fn relative(&self, [a, b]: [&Row; 2]) -> Vector {
        let at = |u: &Row, arm: &Vector| {
            let turn = cross(&[u[3], u[4], u[5]], arm);
            [u[0] + turn[0], u[1] + turn[1], u[2] + turn[2]]
        };
        let (a, b) = (at(a, &self.arms[0]), at(b, &self.arms[1]));
        [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
    }

    /// The force (N s) of impulses on the second body.
    #[inline(always)]
    pub fn force(&self, x: &[f64; ROWS]) -> Vector {
        let [n, t, s] = &self.axes;
        [0, 1, 2].map(|k| n[k] * x[0] + t[k] * x[1] + s[k] * x[2])
    }

    /// Adds the momentum of a force on the first or the second body.
    #[inline(always)]
    pub fn add_momentum(&self, side: usize, force: &Vector, p: &mut [f64; DOF]) {
        let sign = if side == 0 { -1.0 } else { 1.0 };
        let turn = cross(&self.arms[side], force);
        for k in 0..3 {
            p[k] += sign * force[k];
            p[3 + k] += sign * turn[k];
        }
    }
}
