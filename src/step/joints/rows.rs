//! From joints to general rows: coordinates at the midpoint, Jacobians, biases, bounds (section 6 of docs/method.md, the
//! table of laws), and the impulses to start from.

use super::entry::{Entry, number, row_scale, scaled};
use super::positions::position_row;
use super::spring::Spring;
use crate::math::{Twist, Vec3, tangent};
use crate::problem::Problem;
use crate::world::joint::{
    GearTerm, Joint, JointKind, Motion, RowMemory, Target, WORLD, have_effect,
};
use crate::world::snapshot::is_memorable;
use crate::world::{Bodies, JointGeometry, World, joint_geometry};

/// A limit gets a row when the coordinate is this near to it (m, or rad times the joint's length) …
const LIMIT_REACH: f64 = 0.02;
/// … or could get there within this many steps.
const LIMIT_STEPS: f64 = 4.0;

/// The rows that the joints wrote, and what is known of them besides what the problem has. Keeps its memory.
#[derive(Default)]
pub struct Table {
    /// Joint and number of every general row of the problem.
    pub rows: Vec<(u32, u8)>,
    /// Impulse to start from, per row.
    pub start: Vec<f64>,
    /// β of the rows of positions: those that hold a coordinate, limits, gears and servos; else 0.
    pub beta: Vec<f64>,
    /// What gives way, and its force of the last (sub)step (N), if there was one.
    pub spring: Vec<Option<Spring>>,
    pub last_force: Vec<Option<f64>>,
    /// The damper's force of the last (sub)step (N).
    pub last_damper: Vec<f64>,
    /// How fast moves what a servo aims at, since the last midpoint and until the next one (m/s).
    pub target_rates: Vec<[f64; 2]>,
    /// How far the worst held coordinate of every joint is from where the last (sub)step aimed (m).
    pub error: Vec<f64>,
    /// The geometry of every joint at this midpoint.
    pub geometry: Vec<JointGeometry>,
    /// Limits that are too far away to have a row, and those that have one all the same, since what the (sub)step's solution
    /// leads to overruns them: joint and number.
    pub beyond: Vec<(u32, u8)>,
    pub reached: Vec<(u32, u8)>,
    /// Whether nothing of this (sub)step was assembled yet.
    pub is_new: bool,
}

impl Table {
    /// Fills the general rows of the problem, which has its bodies already, and remembers the joints' angles.
    pub fn fill(&mut self, world: &mut World, problem: &mut Problem) {
        problem.rows.clear();
        self.rows.clear();
        self.start.clear();
        self.beta.clear();
        self.spring.clear();
        self.last_force.clear();
        self.target_rates.clear();
        self.last_damper.clear();
        self.error.clear();
        self.beyond.clear();
        let scale = world.memory_scale(problem.h);
        let last = world.time_since_midpoint();
        let World {
            joints,
            bodies,
            joint_memory,
            ..
        } = world;
        let mut geometries = std::mem::take(&mut self.geometry);
        geometries.clear();
        // At first since the last midpoint, and then since this one.
        let since = match std::mem::take(&mut self.is_new) {
            true => last + 0.5 * problem.h,
            false => 0.0,
        };
        for joint in joints.iter_mut() {
            let geometry = joint_geometry(joint, bodies, since);
            joint.angles = [3, 4, 5].map(|k| geometry.value[k]);
            geometries.push(geometry);
        }
        let mut memory = joint_memory.as_slice();
        let h = problem.h;
        for (index, joint) in joints.iter().enumerate() {
            let own = memory.partition_point(|m| m.joint as usize <= index);
            let (own, rest) = memory.split_at(own);
            memory = rest;
            let mut rows = Rows {
                problem,
                out: self,
                geometry: &geometries,
                joints,
                bodies,
                index,
                memory: own,
                scale,
                h,
                error: 0.0,
            };
            if joint.enabled {
                rows.add();
            }
            let error = rows.error;
            self.error.push(error);
        }
        self.geometry = geometries;
    }

    /// The rows of positions, each with its β.
    pub fn positions(&self) -> impl Iterator<Item = (usize, f64)> {
        let all = self.beta.iter().copied().enumerate();
        all.filter(|(_, beta)| *beta > 0.0)
    }

    /// A (sub)step begins.
    pub fn begin(&mut self) {
        self.reached.clear();
        self.is_new = true;
    }

    /// The rows that stand for how stiff a taut rope is across.
    pub fn across(&self) -> impl Iterator<Item = usize> {
        let all = self.rows.iter().enumerate();
        all.filter(|(_, (_, number))| *number >= number::ACROSS)
            .map(|(r, _)| r)
    }

    /// Stores the joints' forces.
    pub fn remember_forces(&self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        let first = problem.contact_rows();
        for joint in &mut world.joints {
            joint.force = Vec3::zeros();
        }
        for (r, (index, number)) in self.rows.iter().enumerate() {
            let joint = &mut world.joints[*index as usize];
            if matches!(joint.kind, JointKind::Gear(_)) || *number >= number::ACROSS {
                continue;
            }
            // On the second body; where that is the world, the opposite of what is on the first.
            let (body, sign) = match joint.bodies {
                [a, WORLD] => (a, -1.0),
                [_, b] => (b, 1.0),
            };
            for (other, jacobian) in problem.rows.entries(r) {
                if other == body as usize {
                    joint.force += jacobian.linear * (sign * lambda[first + r] / problem.h);
                }
            }
        }
        let wild = |joint: &&mut Joint| !is_memorable(joint.force.iter());
        for joint in world.joints.iter_mut().filter(wild) {
            joint.force = Vec3::zeros();
        }
    }

    /// Whether some joint has rigid stops, near or far.
    pub fn have_stops(&self) -> bool {
        let is_stop = |number: u8| (number::LOWER..number::MOTOR).contains(&number);
        let mut rows = self.rows.iter().enumerate();
        !self.beyond.is_empty() || rows.any(|(r, (_, n))| is_stop(*n) && self.is_rigid(r))
    }

    /// Whether a row is one of positions that gives way by nothing.
    pub fn is_rigid(&self, r: usize) -> bool {
        self.beta[r] > 0.0 && self.spring[r].is_none()
    }
}

/// J M̃⁻¹ Jᵀ of a general row (1/kg).
pub fn diagonal(problem: &Problem, r: usize) -> f64 {
    let b = &problem.bodies;
    let mut diagonal = 0.0;
    for (body, j) in problem.rows.entries(r) {
        diagonal += j.linear.norm_squared() * b.inverse_mass[body]
            + j.angular.dot(&b.inverse_inertia[body].mul_vec(j.angular));
    }
    diagonal
}

/// The rows of one joint in the making.
struct Rows<'a> {
    problem: &'a mut Problem,
    out: &'a mut Table,
    geometry: &'a [JointGeometry],
    joints: &'a [Joint],
    bodies: &'a Bodies,
    index: usize,
    /// The joint's impulses of the last (sub)step.
    memory: &'a [RowMemory],
    /// By what these are multiplied to become those of this length of step (-).
    scale: f64,
    h: f64,
    /// The largest error so far (m).
    error: f64,
}

impl Rows<'_> {
    fn joint(&self) -> &Joint {
        &self.joints[self.index]
    }

    fn add(&mut self) {
        let joints = self.joints;
        if let JointKind::Gear(terms) = &joints[self.index].kind {
            self.gear(terms);
            return;
        }
        for k in 0..6 {
            self.axis(k);
        }
        if self.joint().kind == JointKind::Distance {
            self.across();
        }
        let joint = self.joint();
        if joint.kind == JointKind::Spherical && joint.axes[3].friction > 0.0 {
            self.ball_friction();
        }
    }

    /// All rows of coordinate `k`.
    fn axis(&mut self, k: usize) {
        let joint = &self.joints[self.index];
        let axis = &joint.axes[k];
        let length = Joint::is_length(k);
        // Angles become lengths, and torques forces.
        let scale = row_scale(joint, k);
        let value = scale * self.geometry[self.index].value[k];
        let [first, second] = self.geometry[self.index].jacobian[k];
        let [a, b] = joint.bodies;
        let entries = [(a, scaled(&first, scale)), (b, scaled(&second, scale))];
        let h = self.h;
        let row = |number: u8| number + k as u8;
        if let Some(at) = axis.motion.held() {
            self.lock(row(number::LOCK), &entries, value - scale * at, length);
        } else if let Motion::Limited([lo, hi]) = axis.motion {
            let reach = LIMIT_REACH + LIMIT_STEPS * h * self.velocity(&entries).abs();
            let opposite = entries.map(|(body, j)| (body, scaled(&j, -1.0)));
            for (number, entries, left) in [
                (number::LOWER, &entries, value - scale * lo),
                (number::UPPER, &opposite, scale * hi - value),
            ] {
                let limit = (self.index as u32, row(number));
                if left > reach && !self.out.reached.contains(&limit) {
                    self.out.beyond.push(limit);
                    continue;
                }
                let spring = self.spring(length);
                let bounds = [0.0, f64::INFINITY];
                if spring.is_none() {
                    self.error = self.error.max(-left);
                }
                self.hold(row(number), entries, bounds, left, 1.0, spring);
            }
        }
        if let Some(motor) = axis.motor.filter(|m| m.max_force > 0.0) {
            let most = motor.max_force / scale * h;
            let bounds = [-most, most];
            let number = row(number::MOTOR);
            match motor.target {
                Target::Velocity(speed) => {
                    self.push(number, &entries, bounds, -scale * speed, 0.0);
                }
                Target::Position {
                    position,
                    rates,
                    stiffness,
                    damping,
                } => {
                    let square = scale * scale;
                    let spring = Spring {
                        stiffness: stiffness / square,
                        damping: damping / square,
                    };
                    let error = value - scale * position;
                    let is_held = self.hold(number, &entries, bounds, error, 1.0, Some(spring));
                    if let (true, Some(target)) = (is_held, self.out.target_rates.last_mut()) {
                        *target = rates.map(|rate| scale * rate);
                    }
                }
            }
        }
        if axis.friction > 0.0 && joint.kind != JointKind::Spherical {
            let most = axis.friction / scale * h;
            let number = row(number::FRICTION);
            self.push(number, &entries, [-most, most], 0.0, 0.0);
        }
    }

    /// The rows across a rope that its bounds hold, see `ropes`.
    fn across(&mut self) {
        let rows = self.out.rows.iter().zip(&self.out.beta).rev();
        let mut own = rows.take_while(|((joint, _), _)| *joint as usize == self.index);
        let is_held = own.any(|(_, beta)| *beta > 0.0);
        let geometry = &self.geometry[self.index];
        let [a, b] = geometry.frames;
        let Some(along) = (b.position - a.position)
            .try_normalize(1e-12)
            .filter(|_| is_held)
        else {
            return;
        };
        let bodies = self.joint().bodies;
        let arms = [0, 1].map(|side| match bodies[side] {
            WORLD => Vec3::zeros(),
            slot => geometry.frames[side].position - self.bodies.position[slot as usize],
        });
        let first = tangent(along);
        for (k, e) in [first, along.cross(&first)].into_iter().enumerate() {
            let entries = [0, 1].map(|side| {
                let e = if side == 0 { -e } else { e };
                (bodies[side], Twist::new(e, arms[side].cross(&e)))
            });
            let free = [f64::NEG_INFINITY, f64::INFINITY];
            self.push(number::ACROSS + k as u8, &entries, free, 0.0, 0.0);
        }
    }

    /// Dry friction against every rotation of a ball joint.
    fn ball_friction(&mut self) {
        let joint = self.joint();
        let scale = joint.softness.length;
        let most = joint.axes[3].friction / scale * self.h;
        let [a, b] = joint.bodies;
        for k in 0..3 {
            let turn = Twist::new(Vec3::zeros(), Vec3::ith(k, scale));
            let entries = [(a, scaled(&turn, -1.0)), (b, turn)];
            let number = number::FRICTION + 3 + k as u8;
            self.push(number, &entries, [-most, most], 0.0, 0.0);
        }
    }

    /// Σ coefficient · coordinate stays what it was. Where an edit has made the terms cancel there is nothing to hold.
    fn gear(&mut self, terms: &[GearTerm]) {
        let Some(row) = position_row(self.joints, self.geometry, self.index, number::LOCK) else {
            return;
        };
        let unscale = 1.0 / self.joint().softness.length;
        let rates = row.entries().iter().map(|(_, j)| scaled(j, unscale));
        if have_effect(terms, rates) {
            self.lock(number::LOCK, row.entries(), row.value, false);
        }
    }

    /// A bilateral row that locks `error` at zero.
    fn lock(&mut self, row: u8, entries: &[Entry], error: f64, length: bool) {
        let spring = self.spring(length);
        let aim = match spring {
            // One that is new aims at nothing yet, and after a step of another length nothing is where it was aimed at.
            Some(_) if self.scale != 1.0 => error,
            Some(_) => self.remembered(row).map_or(error, |last| last.aim),
            None => 0.0,
        };
        self.error = self.error.max((error - aim).abs());
        let free = [f64::NEG_INFINITY, f64::INFINITY];
        self.hold(row, entries, free, error, 1.0, spring);
    }

    /// Adds a row of positions, whose compliance is that of the rounds, unless there is nothing for it to act on; whether
    /// it did.
    fn hold(
        &mut self,
        row: u8,
        entries: &[Entry],
        bounds: [f64; 2],
        error: f64,
        beta: f64,
        spring: Option<Spring>,
    ) -> bool {
        let is_added = self.push(row, entries, bounds, beta * error / self.h, error);
        if is_added {
            let at = self.out.rows.len() - 1;
            self.out.beta[at] = beta;
            self.out.spring[at] = spring;
        }
        is_added
    }

    /// What is remembered of one of the joint's rows.
    fn remembered(&self, row: u8) -> Option<RowMemory> {
        self.memory.iter().find(|m| m.row == row).copied()
    }

    /// How rows of lengths give way, or of angles that have become lengths.
    fn spring(&self, length: bool) -> Option<Spring> {
        let s = &self.joint().softness;
        let (compliance, damping) = if length {
            (s.compliance, s.damping)
        } else {
            let square = s.length * s.length;
            (s.angular_compliance * square, s.angular_damping / square)
        };
        (compliance > 0.0).then(|| Spring {
            stiffness: 1.0 / compliance,
            damping,
        })
    }

    /// The velocity of a row at the start of the step (m/s).
    fn velocity(&self, entries: &[Entry]) -> f64 {
        entries
            .iter()
            .filter(|(body, _)| *body != WORLD)
            .map(|(body, j)| {
                let u = &self.bodies.velocity[*body as usize];
                j.linear.dot(&u.linear) + j.angular.dot(&u.angular)
            })
            .sum()
    }

    /// Adds a row, unless there is nothing for it to act on; whether it did.
    fn push(
        &mut self,
        row: u8,
        entries: &[Entry],
        bounds: [f64; 2],
        bias: f64,
        error: f64,
    ) -> bool {
        let acts_on = entries.iter().filter(|(body, _)| *body != WORLD);
        // Nothing to act on: all of its bodies are fixed, or a gear's terms cancel.
        let moves =
            |(body, j): &Entry| self.problem.bodies.is_dynamic(*body as usize) && *j != Twist::ZERO;
        if !acts_on.clone().any(moves) {
            return false;
        }
        self.problem.push_row(acts_on, bounds, bias, 0.0, error);
        self.out.rows.push((self.index as u32, row));
        let last = self.remembered(row);
        let start = last.map_or(0.0, |last| last.impulse * self.scale);
        self.out.start.push(start.clamp(bounds[0], bounds[1]));
        self.out.beta.push(0.0);
        self.out.spring.push(None);
        self.out.target_rates.push([0.0; 2]);
        self.out
            .last_damper
            .push(last.map_or(0.0, |last| last.damper));
        // What a stop pressed before is known: nothing.
        let is_stop = bounds[0] == 0.0;
        let force = last.map(|last| last.force);
        self.out.last_force.push(force.or(is_stop.then_some(0.0)));
        true
    }
}
