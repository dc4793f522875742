//! How far the rows of positions are to be closed, and how their springs give way.

use super::entry::number;
use super::positions::Positions;
use super::rows::{Table, diagonal};
use super::spring::{self, Lagged, Spring};
use crate::problem::Problem;
use crate::world::joint::RowMemory;
use crate::world::snapshot::is_memorable;
use crate::world::{Stabilisation, World};

/// What a row's work counts as.
pub enum RowKind {
    /// What holds rigidly.
    Rigid,
    /// A rigid limit.
    Stop,
    /// Dry friction.
    Friction,
    /// A motor for a speed.
    Motor,
    /// A spring and its damper's share of the impulse (N s), whose far end moves (m/s).
    Spring {
        /// The damper's share (N s).
        damper: f64,
        /// Mean speed of the far end (m/s).
        target: f64,
    },
}

/// The laws of a (sub)step's rows. Keeps its memory.
#[derive(Default)]
pub struct Laws {
    /// The rule of springs' rows.
    lagged: Vec<Lagged>,
    /// What this (sub)step leaves of each row's error, or where a spring would rest, per row (m).
    pub left: Vec<f64>,
    /// The same as the rows' laws ask for (m).
    asked: Vec<f64>,
}

impl Laws {
    /// How much of the errors that are found here is to be closed, `share`, and what springs do. Errors are those of a new
    /// state, or of a step of another length: the ends of steps gap by h²a/8 where a joint's bodies accelerate relative to
    /// each other by a.
    pub fn begin(
        &mut self,
        world: &World,
        problem: &mut Problem,
        table: &Table,
        behind: &Positions,
        share: f64,
    ) {
        let h = problem.h;
        let settings = &world.settings.stabilisation;
        let (most, accuracy) = (settings.most_speed() * h, settings.gap_accuracy());
        let overrun = match *settings {
            Stabilisation::Baumgarte { beta, .. } => beta,
            _ => 0.0,
        };
        self.left.clear();
        self.lagged.clear();
        self.lagged.resize(problem.rows.len(), Lagged::default());
        for r in 0..problem.rows.len() {
            let left = match table.spring[r] {
                Some(spring) => {
                    let (index, number) = table.rows[r];
                    let joints = &world.joints;
                    let behind = behind.visit_row(joints, index as usize, number, |_, _| {});
                    self.give_way(problem, table, r, &spring, behind)
                }
                None if problem.rows.is_bilateral(r) => {
                    let error = problem.rows.position_error[r];
                    error - (error * share).clamp(-most, most)
                }
                // What a limit is overrun by would become motion that nothing takes back.
                None => {
                    let error = problem.rows.position_error[r].min(0.0);
                    (error - (error * overrun).max(-most) + accuracy).min(0.0)
                }
            };
            self.left.push(left);
        }
        self.asked.clone_from(&self.left);
    }

    /// Sets C of a spring's row, whose error was `behind` at the last midpoint, and says where it would rest (m).
    fn give_way(
        &mut self,
        problem: &mut Problem,
        table: &Table,
        r: usize,
        spring: &Spring,
        behind: Option<f64>,
    ) -> f64 {
        let here = problem.rows.position_error[r];
        let behind = behind.unwrap_or(here);
        let row = spring.row(&spring::At {
            h: problem.h,
            inverse_mass: diagonal(problem, r),
            is_bounded: !problem.rows.is_bilateral(r),
            errors: [here, behind],
            last: table.last_force[r]
                .map(|force| [force, table.last_damper[r]].map(|force| force * problem.h)),
        });
        problem.rows.compliance[r] = row.compliance;
        self.lagged[r] = row;
        -row.lag
    }

    /// A row gives way by more than its law says (1/kg).
    pub fn give(&mut self, r: usize, compliance: f64) {
        self.lagged[r].compliance += compliance;
    }

    /// Closes only a share of what is open of rows that are rigid to the step, for a solver that leaves much open: what the
    /// step resolves of springs stays as it is. All with 1. `hold` is what of their compliance only the rounds know (1/kg).
    pub fn relax(&mut self, problem: &mut Problem, table: &Table, hold: &[f64], share: f64) {
        let rows = &mut problem.rows;
        for (r, _) in table.positions() {
            let law = &self.lagged[r];
            let is_held = rows.is_bilateral(r) || table.spring[r].is_some();
            let share = match is_held {
                true => 1.0 - (1.0 - share) * law.rigidity,
                false => 1.0,
            };
            let open = rows.position_error[r];
            self.left[r] = open + (self.asked[r] - open) * share;
            rows.compliance[r] = law.compliance * share + hold[r];
        }
    }

    /// What a row's work is, where its impulse is `lambda` (N s).
    pub fn kind(&self, problem: &Problem, table: &Table, r: usize, lambda: f64) -> RowKind {
        let (_, number) = table.rows[r];
        let group = number - number % 6;
        let [past, next] = table.target_rates[r];
        match (group, table.spring[r]) {
            (number::FRICTION, _) => RowKind::Friction,
            (number::MOTOR, None) => RowKind::Motor,
            (number::LOWER | number::UPPER, None) => RowKind::Stop,
            (_, Some(spring)) => RowKind::Spring {
                damper: self.damper(problem, r, &spring, lambda),
                target: 0.5 * (past + next),
            },
            (_, None) => RowKind::Rigid,
        }
    }

    /// The damper's share of the impulse `lambda` of a spring's row (N s). Where a bound cuts it off, what the spring alone
    /// does not account for.
    fn damper(&self, problem: &Problem, r: usize, spring: &Spring, lambda: f64) -> f64 {
        let [lo, hi] = problem.rows.bounds[r];
        if lambda > lo && lambda < hi {
            let row = &self.lagged[r];
            let ahead = self.left[r] - problem.rows.compliance[r] * problem.h * lambda;
            return row.damper[0] - row.damper[1] * ahead;
        }
        let force = -spring.stiffness * problem.rows.position_error[r] * problem.h;
        lambda - force.clamp(lo, hi)
    }

    /// Stores impulses and forces for the next step.
    pub fn remember(&self, world: &mut World, problem: &Problem, table: &Table, lambda: &[f64]) {
        let first = problem.contact_rows();
        world.joint_memory.clear();
        for (r, (joint, row)) in table.rows.iter().enumerate() {
            if *row >= number::ACROSS {
                continue;
            }
            let impulse = lambda[first + r];
            let force = impulse / problem.h;
            let [aim, damper] = match &table.spring[r] {
                Some(spring) => {
                    let law = &self.lagged[r];
                    // Where its law has φ₊, w = 0.
                    let aim = -law.lag - law.compliance * problem.h * impulse;
                    [aim, self.damper(problem, r, spring, impulse)]
                }
                None => [0.0; 2],
            };
            let memorable = |x: f64| if is_memorable([&x]) { x } else { 0.0 };
            world.joint_memory.push(RowMemory {
                joint: *joint,
                row: *row,
                impulse: memorable(impulse),
                force: memorable(force),
                aim: memorable(aim),
                damper: memorable(damper / problem.h),
            });
        }
    }
}
