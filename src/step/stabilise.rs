//! Stabilisation by projection: a position-level pass after the step.
//!
//! Overlaps beyond the slop, and errors of rigid joints, are corrected by displacements δ = h u'
//! that solve a problem of the same form with frictionless contacts, γ' + (g + slop)/h ≥ 0, from
//! zero velocities; compliant joints, motors and joint friction hold against them. No velocity changes,
//! so no energy enters.

use rayon::prelude::*;

use super::joints;
use crate::math::{Twist, rotate_by};
use crate::problem::{Friction, FrictionLaw, Problem};
use crate::solve::{Budget, Request, Solver, Status};
use crate::world::{BodyKind, Stabilisation, World};

/// Iterations of the pass. It runs again in every step as long as an error is left, so that it need
/// not converge in one.
const ITERATIONS: u32 = 10;

/// Error of a rigid joint that is left alone (m).
const JOINT_SLOP: f64 = 1e-9;

/// Contacts, or bodies, per unit of parallel work.
const CHUNK: usize = 1024;

const FRICTIONLESS: Friction = Friction {
    law: FrictionLaw::Disc,
    mu: [0.0; 2],
    spin_radius: 0.0,
};

/// Reusable memory of the pass.
#[derive(Default)]
pub struct Workspace {
    problem: Problem,
    gap: Vec<f64>,
    bias: Vec<f64>,
    joint_errors: Vec<Option<f64>>,
    active: Vec<bool>,
    contacts: Vec<u32>,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
}

/// A problem and what solves it.
#[derive(Clone, Copy)]
pub struct Solved<'a> {
    /// The step's problem.
    pub problem: &'a Problem,
    /// Its impulses.
    pub lambda: &'a [f64],
    /// The velocities at E.
    pub velocity: &'a [Twist],
}

impl Workspace {
    /// Corrects the poses at E where the scene asks for it. `packed` is the step's own solver if it
    /// solved `problem`: it may still have what the pass needs; otherwise `solver` starts anew.
    pub fn project(
        &mut self,
        world: &mut World,
        joints: &joints::Workspace,
        solved: Solved<'_>,
        packed: Option<&mut dyn Solver>,
        solver: &mut dyn Solver,
    ) {
        let Stabilisation::Projection {
            fraction,
            slop,
            max_speed,
        } = world.settings.stabilisation
        else {
            return;
        };
        let Solved {
            problem, velocity, ..
        } = solved;
        let h = problem.h;
        joints.errors_now(world, &mut self.joint_errors);
        if !self.find_errors(solved, slop) {
            return;
        }
        let budget = Budget {
            iterations: ITERATIONS,
            tolerance: 0.01 * slop.max(1e-6) / h,
            ..Budget::default()
        };
        let bias = |gap: f64| {
            let error = gap + slop;
            if error < 0.0 {
                (fraction * error / h).max(-max_speed)
            } else {
                error / h
            }
        };
        self.gap
            .par_iter()
            .with_min_len(CHUNK)
            .map(|gap| bias(*gap))
            .collect_into_vec(&mut self.bias);
        let corrected = packed.is_some_and(|solver| {
            problem.rows.is_empty()
                && solver.correct(problem, &self.bias, &budget, &mut self.velocity)
        });
        if !corrected && !self.solve(problem, velocity, fraction, max_speed, budget, solver) {
            return;
        }
        let bodies = &mut world.bodies;
        let kind = &bodies.kind;
        bodies
            .position
            .par_iter_mut()
            .with_min_len(CHUNK)
            .zip(bodies.rotation.par_iter_mut())
            .zip(self.velocity.par_iter())
            .zip(kind.par_iter())
            .filter(|((_, u), kind)| **kind == BodyKind::Dynamic && **u != Twist::ZERO)
            .for_each(|(((x, q), u), _)| {
                *x += u.linear * h;
                *q = rotate_by(q, u.angular, h);
            });
    }

    /// Sets the problem up from nothing, for the islands that hold an error, and solves it.
    fn solve(
        &mut self,
        problem: &Problem,
        velocity: &[Twist],
        fraction: f64,
        max_speed: f64,
        budget: Budget,
        solver: &mut dyn Solver,
    ) -> bool {
        self.build(problem, velocity, fraction, max_speed);
        let request = Request {
            budget,
            history: false,
        };
        self.lambda.clear();
        self.lambda.resize(self.problem.row_count(), 0.0);
        let report = solver.solve(
            &self.problem,
            &request,
            &mut self.lambda,
            &mut self.velocity,
        );
        !matches!(report.status, Status::Failed(_))
    }

    /// Estimates every gap at E, how far its spring has given way left out, and marks the islands that
    /// hold an error; false if there is none.
    fn find_errors(&mut self, solved: Solved<'_>, slop: f64) -> bool {
        let Solved {
            problem,
            lambda,
            velocity,
        } = solved;
        let half = 0.5 * problem.h;
        let contacts = &problem.contacts;
        (0..contacts.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|k| {
                let frame = &contacts.frame[k];
                let [i, j] = contacts.bodies[k].map(|b| b as usize);
                let relative = velocity[j].at(frame.arms[1]) - velocity[i].at(frame.arms[0]);
                let moved = half * frame.normal.dot(&relative);
                let [compliance, _] = contacts.compliance[k];
                let first = contacts.row_start[k] as usize;
                contacts.gap[k] + moved + problem.h * compliance * lambda[first]
            })
            .collect_into_vec(&mut self.gap);
        self.active.clear();
        self.active.resize(problem.islands.len(), false);
        let mut any = false;
        for (k, _) in self.gap.iter().enumerate().filter(|(_, g)| **g < -slop) {
            if let Some(active) = self.active.get_mut(island_of(problem, k)) {
                *active = true;
                any = true;
            }
        }
        for island in 0..problem.islands.len() {
            for &r in problem.islands.rows.of(island) {
                let r = r as usize;
                let error = self.joint_errors[r].unwrap_or(0.0);
                if problem.rows.compliance[r] == 0.0 && error.abs() > JOINT_SLOP {
                    self.active[island] = true;
                    any = true;
                }
            }
        }
        any
    }

    fn build(&mut self, from: &Problem, velocity: &[Twist], fraction: f64, max_speed: f64) {
        let h = from.h;
        let (to, gap, bias) = (&mut self.problem, &self.gap, &self.bias);
        to.clear();
        to.h = h;
        to.bodies
            .inverse_mass
            .extend_from_slice(&from.bodies.inverse_mass);
        to.bodies
            .inverse_inertia
            .extend_from_slice(&from.bodies.inverse_inertia);
        to.bodies
            .free_velocity
            .resize(from.bodies.len(), Twist::ZERO);

        let all = self.active.iter().all(|a| *a);
        self.contacts.clear();
        self.contacts
            .extend((0..from.contacts.len() as u32).filter(|k| {
                all || self
                    .active
                    .get(island_of(from, *k as usize))
                    .is_some_and(|a| *a)
            }));
        let chosen = self.contacts.par_iter().with_min_len(CHUNK);
        let (source, target) = (&from.contacts, &mut to.contacts);
        chosen
            .clone()
            .map(|k| source.bodies[*k as usize])
            .collect_into_vec(&mut target.bodies);
        chosen
            .clone()
            .map(|k| source.frame[*k as usize])
            .collect_into_vec(&mut target.frame);
        chosen
            .clone()
            .map(|k| gap[*k as usize])
            .collect_into_vec(&mut target.gap);
        chosen
            .map(|k| [bias[*k as usize], 0.0, 0.0, 0.0])
            .collect_into_vec(&mut target.bias);
        target.friction.resize(self.contacts.len(), FRICTIONLESS);
        target.compliance.resize(self.contacts.len(), [0.0; 2]);

        for island in (0..from.islands.len()).filter(|i| self.active[*i]) {
            for &r in from.islands.rows.of(island) {
                let r = r as usize;
                // How far the row moves over the second half step, to where φ is at E.
                let moved = 0.5 * h * from.row_jacobian_velocity(r, velocity);
                let is_rigid = from.rows.compliance[r] == 0.0;
                let bias = match from.rows.bounds[r] {
                    // Nobody sees a joint being pushed together: all of it at once.
                    [f64::NEG_INFINITY, f64::INFINITY] if is_rigid => {
                        let error = self.joint_errors[r];
                        let error = error.unwrap_or(from.rows.position_error[r] + moved);
                        (error / h).clamp(-max_speed, max_speed)
                    }
                    // A limit may be approached as far as there is room.
                    [0.0, f64::INFINITY] => {
                        let left = from.rows.position_error[r] + moved;
                        if left < 0.0 {
                            (fraction * left / h).max(-max_speed)
                        } else {
                            left / h
                        }
                    }
                    // Springs, motors and friction hold what they hold.
                    _ => 0.0,
                };
                let span = from.rows.start[r] as usize..from.rows.start[r + 1] as usize;
                let mut entries = [(0, Twist::ZERO); 4];
                let count = span.len().min(4);
                for (entry, at) in entries.iter_mut().zip(span) {
                    *entry = (from.rows.body[at], from.rows.jacobian[at]);
                }
                to.push_row(
                    &entries[..count],
                    from.rows.bounds[r],
                    bias,
                    from.rows.compliance[r],
                    from.rows.position_error[r],
                );
            }
        }
        if all && from.rows.is_empty() {
            to.finish_like(from);
        } else {
            to.finish();
        }
    }
}

/// The island of contact `k`, or none.
fn island_of(problem: &Problem, k: usize) -> usize {
    let of = &problem.islands.of_body;
    let [i, j] = problem.contacts.bodies[k].map(|b| b as usize);
    of[i].min(of[j]) as usize
}
