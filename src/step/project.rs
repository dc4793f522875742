//! Stabilisation by projection: a position-level pass after the step.
//!
//! Overlaps beyond the slop are corrected by displacements δ = h u' that solve a problem of the same form with
//! frictionless contacts, γ' + (g + slop)/h ≥ 0, from zero velocities; joints, motors and joint friction hold against
//! them, J δ = 0. No velocity changes, so no energy enters; the last midpoint is moved along with the state, from which it
//! is found.

use rayon::prelude::*;

use super::context::Context;
use crate::math::{Twist, rotate_by};
use crate::problem::{Friction, Numbering, Problem};
use crate::solve::{Budget, Request, Solver};
use crate::world::{BodyKind, GAP_ACCURACY, Stabilisation, World};

/// Iterations of the pass. It runs again in every step as long as an error is left, so that it need
/// not converge in one.
const ITERATIONS: u32 = 10;

/// Contacts, or bodies, per unit of parallel work.
const CHUNK: usize = 1024;

/// Reusable memory of the pass.
#[derive(Default)]
pub struct Workspace {
    problem: Problem,
    gap: Vec<f64>,
    bias: Vec<f64>,
    active: Vec<bool>,
    contacts: Vec<u32>,
    rows: Vec<u32>,
    /// The bodies of the problem, where it is not of all.
    numbering: Numbering,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
}

impl Workspace {
    /// Corrects the poses at E where the scene asks for it. `packed` is the step's own solver if it
    /// solved the problem: it may still have what the pass needs; otherwise `solver` starts anew.
    pub fn project(
        &mut self,
        world: &mut World,
        c: &mut Context,
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
        let rule = Rule {
            fraction,
            slop,
            max_speed,
        };
        if !self.find_errors(c, slop) {
            return;
        }
        // The residual has been judged: its memory serves.
        self.velocity = std::mem::take(c.residual_workspace.velocities_mut());
        self.correct(world, c, packed, solver, &rule);
        *c.residual_workspace.velocities_mut() = std::mem::take(&mut self.velocity);
    }

    fn correct(
        &mut self,
        world: &mut World,
        c: &mut Context,
        packed: Option<&mut dyn Solver>,
        solver: &mut dyn Solver,
        rule: &Rule,
    ) {
        let (h, slop) = (c.problem.h, rule.slop);
        let budget = Budget {
            iterations: ITERATIONS,
            tolerance: GAP_ACCURACY * slop.max(1e-6) / h,
            ..Budget::default()
        };
        self.gap
            .par_iter()
            .with_min_len(CHUNK)
            .map(|gap| rule.bias(gap + rule.slop, h))
            .collect_into_vec(&mut self.bias);
        let corrected = packed.is_some_and(|solver| {
            c.problem.rows.is_empty()
                && solver.correct(&c.problem, &self.bias, &budget, &mut self.velocity)
        });
        let has_all = corrected || self.needs_all(&c.problem);
        if !corrected && !self.solve(c, rule, budget, solver) {
            return;
        }
        let bodies = &mut world.bodies;
        let kind = &bodies.kind;
        let (velocity, numbering) = (&self.velocity, &self.numbering);
        let place = |slot: usize| match has_all {
            true => Some(slot),
            false => numbering.find_local(slot),
        };
        bodies
            .position
            .par_iter_mut()
            .with_min_len(CHUNK)
            .zip(bodies.rotation.par_iter_mut())
            .zip(kind.par_iter())
            .enumerate()
            .filter_map(|(slot, (moved, kind))| Some((moved, kind, velocity[place(slot)?])))
            .filter(|(_, kind, u)| **kind == BodyKind::Dynamic && *u != Twist::ZERO)
            .for_each(|((x, q), _, u)| {
                *x += u.linear * h;
                *q = rotate_by(q, u.angular, h);
            });
    }

    /// Whether the pass is about all contacts, and nothing but contacts: then it has the step's bodies.
    fn needs_all(&self, problem: &Problem) -> bool {
        problem.rows.is_empty() && self.active.iter().all(|a| *a)
    }

    /// Sets the problem up from nothing, for the islands that hold an error, and solves it.
    fn solve(
        &mut self,
        c: &mut Context,
        rule: &Rule,
        budget: Budget,
        solver: &mut dyn Solver,
    ) -> bool {
        let has_all = self.needs_all(&c.problem);
        self.problem.clear();
        self.select(&c.problem, has_all);
        if has_all {
            // The masses are the step's, and are lent.
            self.swap_masses(c);
        } else {
            let (contacts, rows) = (&self.contacts, &self.rows);
            self.numbering.find(&c.problem, contacts, rows);
            self.numbering.copy_masses(&c.problem, &mut self.problem);
        }
        self.build(&c.problem, &c.velocity, rule, has_all);
        let request = Request {
            budget,
            history: false,
            ..Request::default()
        };
        self.lambda.clear();
        self.lambda.resize(self.problem.row_count(), 0.0);
        let report = solver.solve(
            &self.problem,
            &request,
            &mut self.lambda,
            &mut self.velocity,
        );
        if has_all {
            self.swap_masses(c);
        }
        report.status.is_usable()
    }

    fn swap_masses(&mut self, c: &mut Context) {
        let (own, other) = (&mut self.problem.bodies, &mut c.problem.bodies);
        std::mem::swap(&mut own.inverse_mass, &mut other.inverse_mass);
        std::mem::swap(&mut own.inverse_inertia, &mut other.inverse_inertia);
        std::mem::swap(&mut own.part, &mut other.part);
    }

    /// Estimates every gap at E, how far its spring has given way left out, and marks the islands that
    /// hold an error; false if there is none.
    fn find_errors(&mut self, c: &Context, slop: f64) -> bool {
        let (problem, lambda, velocity) = (&c.problem, &c.lambda, &c.velocity);
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
        any
    }

    /// Selects the contacts and rows of the islands that hold an error, or of all.
    fn select(&mut self, from: &Problem, has_all: bool) {
        let is_active = |k: u32| self.active.get(island_of(from, k as usize)) == Some(&true);
        self.contacts.clear();
        self.contacts
            .extend((0..from.contacts.len() as u32).filter(|k| has_all || is_active(*k)));
        self.rows.clear();
        for island in (0..from.islands.len()).filter(|i| self.active[*i]) {
            self.rows.extend(from.islands.rows.of(island));
        }
    }

    /// The position-level problem of what is selected; the masses are there.
    fn build(&mut self, from: &Problem, velocity: &[Twist], rule: &Rule, has_all: bool) {
        let to = &mut self.problem;
        to.h = from.h;
        let bodies = to.bodies.len();
        to.bodies.free_velocity.resize(bodies, Twist::ZERO);
        self.build_contacts(from, has_all);
        self.build_rows(from, velocity, rule);
        if has_all {
            self.problem.finish_like(from);
        } else {
            self.problem.finish();
        }
    }

    /// The normal rows of the contacts.
    fn build_contacts(&mut self, from: &Problem, has_all: bool) {
        let numbering = &self.numbering;
        let here = |body: u32| match has_all {
            true => body,
            false => numbering.local(body),
        };
        let (gap, bias) = (&self.gap, &self.bias);
        let chosen = self.contacts.par_iter().with_min_len(CHUNK);
        let chosen = chosen.map(|k| *k as usize);
        let (source, target) = (&from.contacts, &mut self.problem.contacts);
        let bodies = chosen.clone().map(|k| source.bodies[k].map(here));
        bodies.collect_into_vec(&mut target.bodies);
        let frames = chosen.clone().map(|k| source.frame[k]);
        frames.collect_into_vec(&mut target.frame);
        let gaps = chosen.clone().map(|k| gap[k]);
        gaps.collect_into_vec(&mut target.gap);
        let normal_only = |k: usize| [bias[k], 0.0, 0.0];
        chosen.map(normal_only).collect_into_vec(&mut target.bias);
        target.friction.fill(self.contacts.len(), Friction::NONE);
        target.compliance.fill(self.contacts.len(), [0.0; 2]);
    }

    /// The general rows, whose bodies are numbered anew.
    fn build_rows(&mut self, from: &Problem, velocity: &[Twist], rule: &Rule) {
        let rows = &from.rows;
        let numbering = &self.numbering;
        for r in self.rows.iter().map(|r| *r as usize) {
            // How far the row moves over the second half step, to where φ is at E.
            let moved = 0.5 * from.h * from.row_jacobian_velocity(r, velocity);
            let ahead = rows.position_error[r] + moved;
            let bias = match rows.bounds[r] {
                // A limit may be approached as far as there is room.
                [0.0, f64::INFINITY] => rule.bias(ahead, from.h),
                // Joints, springs, motors and friction keep what they have.
                _ => 0.0,
            };
            let entries = rows.entries(r);
            let entries = entries.map(|(body, j)| (numbering.local(body as u32), *j));
            let (bounds, error) = (rows.bounds[r], rows.position_error[r]);
            self.problem
                .push_row(entries, bounds, bias, rows.compliance[r], error);
        }
    }
}

/// The parameters of [`Stabilisation::Projection`].
struct Rule {
    fraction: f64,
    slop: f64,
    max_speed: f64,
}

impl Rule {
    /// The bias of a row with so much distance left (m): a share of an overlap per step, and no more than
    /// the room there is.
    fn bias(&self, left: f64, h: f64) -> f64 {
        if left < 0.0 {
            (self.fraction * left / h).max(-self.max_speed)
        } else {
            left / h
        }
    }
}

/// The island of contact `k`, or none.
fn island_of(problem: &Problem, k: usize) -> usize {
    let of = &problem.islands.of_body;
    let [i, j] = problem.contacts.bodies[k].map(|b| b as usize);
    of[i].min(of[j]) as usize
}
