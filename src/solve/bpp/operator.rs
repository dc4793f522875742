//! A = J M⁻¹ Jᵀ + C of an island as the product of its parts, for products with vectors.
//!
//! A packing of its own beside those of the iterative solvers: rows are scaled to a unit diagonal, of any
//! kind, and in the order of the envelope, and the same entries fill the matrix.

use crate::math::Twist;
use crate::problem::ProblemBodies;

/// What A is made of.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// First entry of each row, and one past the last.
    pub start: Vec<u32>,
    /// Body of each entry.
    pub body: Vec<u32>,
    /// Scaled J of each entry.
    pub jacobian: Vec<[f64; 6]>,
    /// Scaled M⁻¹ Jᵀ of each entry.
    pub response: Vec<[f64; 6]>,
    /// Scaled compliance of each row.
    pub compliance: Vec<f64>,
    /// Velocity of each body.
    pub velocity: Vec<[f64; 6]>,
}

impl Operator {
    /// M⁻¹ Jᵀ x.
    pub fn set_velocities(&mut self, x: &[f64]) {
        self.velocity.fill([0.0; 6]);
        for (row, x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.add_impulse(row, *x);
        }
    }

    /// Adds what an impulse of one row does to the velocities.
    #[inline(always)]
    pub fn add_impulse(&mut self, row: usize, x: f64) {
        for entry in self.start[row] as usize..self.start[row + 1] as usize {
            let u = &mut self.velocity[self.body[entry] as usize];
            for (u, r) in u.iter_mut().zip(&self.response[entry]) {
                *u += r * x;
            }
        }
    }

    /// J u of a row.
    #[inline(always)]
    pub fn velocity_of(&self, row: usize) -> f64 {
        let mut sum = 0.0;
        for entry in self.start[row] as usize..self.start[row + 1] as usize {
            let u = &self.velocity[self.body[entry] as usize];
            sum += dot(u, &self.jacobian[entry]);
        }
        sum
    }

    /// No rows.
    pub fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.body.clear();
        self.jacobian.clear();
        self.response.clear();
        self.compliance.clear();
    }

    /// Adds a row, scaled to a unit diagonal; returns its scale s = 1/√A_ii, zero for a row that moves nothing,
    /// which gets no impulse. None where a number is not finite.
    pub fn add_row<'a>(
        &mut self,
        bodies: &ProblemBodies,
        jacobian: impl Iterator<Item = (&'a Twist, u32)>,
        local: &[u32],
        compliance: f64,
    ) -> Option<f64> {
        let begin = self.body.len();
        let mut diagonal = compliance;
        for (j, body) in jacobian {
            let linear = j.linear * bodies.inverse_mass[body as usize];
            let angular = bodies.inverse_inertia[body as usize].mul_vec(j.angular);
            diagonal += j.linear.dot(&linear) + j.angular.dot(&angular);
            let [l, a] = [j.linear, j.angular];
            self.body.push(local[body as usize]);
            self.jacobian.push([l.x, l.y, l.z, a.x, a.y, a.z]);
            let [l, a] = [linear, angular];
            self.response.push([l.x, l.y, l.z, a.x, a.y, a.z]);
        }
        let scale = if diagonal > 0.0 {
            1.0 / diagonal.sqrt()
        } else {
            0.0
        };
        for k in begin..self.body.len() {
            for c in 0..6 {
                self.jacobian[k][c] *= scale;
                self.response[k][c] *= scale;
            }
        }
        self.start.push(self.body.len() as u32);
        self.compliance.push(if scale > 0.0 {
            compliance * scale * scale
        } else {
            1.0
        });
        diagonal.is_finite().then_some(scale)
    }
}

/// The product of a twist and a row of a Jacobian.
#[inline(always)]
pub fn dot(u: &[f64; 6], j: &[f64; 6]) -> f64 {
    (u[0] * j[0] + u[1] * j[1] + u[2] * j[2]) + (u[3] * j[3] + u[4] * j[4] + u[5] * j[5])
}
