//! Packs the rows of an island, scaled to a unit diagonal, with their bounds.

use super::island::{Island, NONE, Refusal, Setup};
use crate::math::Twist;
use crate::problem::delassus::{block_bodies, block_compliance, block_jacobian};
use crate::problem::law::Law;
use crate::problem::{FrictionLaw, Problem};

impl Island {
    pub(super) fn pack_rows(
        &mut self,
        problem: &Problem,
        local: &[u32],
        setup: &Setup<'_>,
    ) -> Result<(), Refusal> {
        let contacts = problem.contacts.len();
        let free = &problem.bodies.free_velocity;
        self.clear_rows();
        let mut jacobian = [[Twist::ZERO; FrictionLaw::MAX_ROWS]; 4];
        let zero = [0.0; FrictionLaw::MAX_ROWS];
        for block in 0..self.block_order.len() {
            let block = self.block_order[block] as usize;
            let source = self.block_source[block] as usize;
            let rows = self.block_rows[block] as usize;
            let bodies = block_bodies(problem, source);
            for (jacobian, body) in jacobian.iter_mut().zip(bodies.clone()) {
                block_jacobian(problem, source, body, jacobian);
            }
            let mut b = zero;
            if source < contacts {
                problem.contact_velocity(source, free, &zero[..rows], &mut b);
            } else {
                b[0] = problem.row_velocity(source - contacts, free, 0.0);
            }
            let first = self.scale.len() as u32;
            for (row, b) in b[..rows].iter().enumerate() {
                let of_bodies = jacobian.iter().map(|j| &j[row]).zip(bodies.clone());
                let transverse_compliance =
                    setup.transverse_compliance.get(source).filter(|_| row == 2);
                let compliance =
                    block_compliance(problem, source, row) + transverse_compliance.unwrap_or(&0.0);
                let operator = &mut self.operator;
                let scale = operator.add_row(&problem.bodies, of_bodies, local, compliance);
                let scale = scale.filter(|_| b.is_finite()).ok_or(Refusal::NotFinite)?;
                self.scale.push(scale);
                self.b.push(b * scale);
                if source < contacts {
                    self.add_contact_row(problem, source, first, row, setup.compliance)?;
                } else {
                    self.add_joint_row(problem, source - contacts)?;
                }
            }
        }
        self.matrix.n = self.scale.len();
        Ok(())
    }

    /// Packs b of an island whose matrix is that of the last problem, and only its free velocities and its general rows'
    /// biases are new.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn renew(&mut self, problem: &Problem) -> Result<(), Refusal> {
        let contacts = problem.contacts.len();
        let free = &problem.bodies.free_velocity;
        let zero = [0.0; FrictionLaw::MAX_ROWS];
        let mut at = 0;
        for block in &self.block_order {
            let block = *block as usize;
            let source = self.block_source[block] as usize;
            let rows = self.block_rows[block] as usize;
            let mut b = zero;
            if source < contacts {
                problem.contact_velocity(source, free, &zero[..rows], &mut b);
            } else {
                b[0] = problem.row_velocity(source - contacts, free, 0.0);
            }
            for b in &b[..rows] {
                if !b.is_finite() {
                    return Err(Refusal::NotFinite);
                }
                self.b[at] = b * self.scale[at];
                at += 1;
            }
        }
        Ok(())
    }

    fn clear_rows(&mut self) {
        for v in [
            &mut self.scale,
            &mut self.b,
            &mut self.friction_coefficient,
            &mut self.epsilon,
        ] {
            v.clear();
        }
        self.bounds.clear();
        self.normal_row.clear();
        self.problem_row.clear();
        self.operator.clear();
    }

    /// Bounds of row `row` of a contact whose normal row is `first`.
    fn add_contact_row(
        &mut self,
        problem: &Problem,
        contact: usize,
        first: u32,
        row: usize,
        epsilon: f64,
    ) -> Result<(), Refusal> {
        let friction = &problem.contacts.friction[contact];
        self.epsilon.push(epsilon);
        self.problem_row
            .push(problem.contacts.row_start[contact] + row as u32);
        if row == 0 {
            self.bounds.push([0.0, f64::INFINITY]);
            self.normal_row.push(NONE);
            self.friction_coefficient.push(0.0);
            return Ok(());
        }
        let share = friction.law.row_bound(row - 1, friction.mu);
        let scale = self.scale[first as usize + row];
        self.bounds.push([0.0; 2]);
        self.normal_row.push(first);
        self.friction_coefficient.push(if scale > 0.0 {
            share * self.scale[first as usize] / scale
        } else {
            0.0
        });
        if share.is_finite() {
            Ok(())
        } else {
            Err(Refusal::NotFinite)
        }
    }

    /// Bounds of a joint's row.
    fn add_joint_row(&mut self, problem: &Problem, row: usize) -> Result<(), Refusal> {
        let [lo, hi] = problem.rows.bounds[row];
        if lo.is_nan() || hi.is_nan() {
            return Err(Refusal::NotFinite);
        }
        let scale = self.scale[self.scale.len() - 1];
        self.epsilon.push(0.0);
        self.problem_row.push((problem.contact_rows() + row) as u32);
        self.bounds.push(if scale > 0.0 {
            [lo / scale, hi / scale]
        } else {
            [f64::NEG_INFINITY, f64::INFINITY]
        });
        self.normal_row.push(NONE);
        self.friction_coefficient.push(0.0);
        Ok(())
    }
}
