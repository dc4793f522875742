//! Ropes pull across as much as they turn. A rope of length d and tension T resists a displacement x across with T/d x, of
//! which the rounds' matrix has ½h², or ¼h² where it gives way (section 7 of docs/method.md): as two rows w = J (u − u′) + C Λ,
//! with u′ what the round is linear about, C = 2d/(h²T) or twice that, and impulses that vanish as the rounds come to their end.

use super::entry::number;
use super::linear::{ROPE_SHARE, SHARE};
use super::rows::{Table, diagonal};
use crate::math::Twist;
use crate::problem::Problem;

/// A slack rope counts as so stiff across, as a share of its bodies' inertia (-), so that its rows' diagonal stays finite.
const LEAST_ACROSS: f64 = 1e-6;

/// Makes the rows across as stiff as the tensions are that `impulses` of the general rows are (N s).
pub fn stiffen(problem: &mut Problem, table: &Table, impulses: &[f64]) {
    let (mut tension, mut share) = (0.0, SHARE);
    for (r, (index, number)) in table.rows.iter().enumerate() {
        if *number < number::ACROSS {
            // The row that pulls stands before them.
            match *number {
                number::LOCK => tension = -impulses[r] / problem.h,
                number::LOWER => tension = 0.0,
                number::UPPER => tension = impulses[r] / problem.h,
                _ => {}
            }
            if *number < number::MOTOR {
                share = if table.is_rigid(r) { ROPE_SHARE } else { SHARE };
            }
            continue;
        }
        let length = table.geometry[*index as usize].value[0];
        let diagonal = diagonal(problem, r);
        let stiffness = share * problem.h * problem.h * tension / length;
        problem.rows.compliance[r] = 1.0 / stiffness.max(LEAST_ACROSS / diagonal);
    }
}

/// Takes the rows across out: they are none of the joints' laws.
pub fn release(problem: &mut Problem, table: &Table) {
    for r in table.across() {
        problem.rows.bounds[r] = [0.0; 2];
    }
}

/// Aims the rows across at the velocities that the round is linear about.
pub fn aim(problem: &mut Problem, table: &Table, u: &[Twist]) {
    for r in table.across() {
        let rows = problem.rows.entries(r);
        let along = rows.map(|(body, j)| {
            let u = &u[body];
            j.linear.dot(&u.linear) + j.angular.dot(&u.angular)
        });
        problem.rows.bias[r] = -along.sum::<f64>();
    }
}
