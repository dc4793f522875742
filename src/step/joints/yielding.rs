//! What gives way since it cannot have its way: motors and servos without a limit of force, and loops (section 6 of docs/method.md).

use super::entry::number;
use super::laws::Laws;
use super::rows::{Table, diagonal};
use crate::problem::Problem;

/// How far such a drive gives way, as a share of its row's diagonal (-): one that is stopped from a speed v pushes with
/// v/(SHARE A) in every (sub)step, what would give it the speed at once 1/SHARE times over.
const SHARE: f64 = 0.1;

/// The rows of drives that give way, joint and number. Keeps its memory.
#[derive(Default)]
pub struct Yielding {
    pub rows: Vec<(u32, u8)>,
    /// Joints of loops that give way.
    pub joints: Vec<u32>,
}

impl Yielding {
    /// There are none.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.joints.clear();
    }

    /// Makes them give way.
    pub fn give_way(&self, problem: &mut Problem, table: &Table, laws: &mut Laws) {
        if self.rows.is_empty() {
            return;
        }
        for (r, row) in table.rows.iter().enumerate() {
            if self.rows.contains(row) && is_unbounded(problem, table, r) {
                let gives = SHARE * diagonal(problem, r);
                problem.rows.compliance[r] += gives;
                laws.give(r, gives);
            }
        }
    }
}

/// Whether a row is that of a drive without a limit of force.
pub fn is_unbounded(problem: &Problem, table: &Table, r: usize) -> bool {
    let (_, number) = table.rows[r];
    (number::MOTOR..number::FRICTION).contains(&number) && problem.rows.is_bilateral(r)
}
