//! From joints to general rows: coordinates at the midpoint, Jacobians, biases, bounds (section 2's
//! table of laws), and the impulses to start from.

use crate::math::{Pose, Twist, Vec3, rotate_by};
use crate::problem::Problem;
use crate::world::joint::{GearTerm, Joint, JointKind, Motion, RowMemory, Target, WORLD};
use crate::world::snapshot::is_memorable;
use crate::world::{
    Bodies, JointGeometry, Stabilisation, World, joint_geometry, joint_geometry_at,
};

/// A limit gets a row when the coordinate is this near to it (m, or rad times the joint's length) …
const LIMIT_REACH: f64 = 0.02;
/// … or could get there within this many steps.
const LIMIT_STEPS: f64 = 4.0;
/// β of rigid limits where the joint names none.
const LIMIT_BETA: f64 = 0.2;
/// Numbers of the rows of a joint: six that lock a coordinate or couple some, then per coordinate a lower and an upper
/// limit, a motor and friction.
mod number {
    pub const LOCK: u8 = 0;
    pub const LOWER: u8 = 6;
    pub const UPPER: u8 = 12;
    pub const MOTOR: u8 = 18;
    pub const FRICTION: u8 = 24;
}

/// Which rows the joints wrote, for the warm start and for reports.
#[derive(Default)]
struct Written {
    /// Joint and number of every row of the problem.
    rows: Vec<(u32, u8)>,
    /// Impulse to start from, per row.
    start: Vec<f64>,
    /// β of the rows that hold a coordinate, else 0.
    beta: Vec<f64>,
}

/// Reusable memory, and what is known of the joints besides the problem's rows.
#[derive(Default)]
pub struct Workspace {
    written: Written,
    /// |φ + α Λ/h| of the worst held coordinate of every joint (m): φ as it was found at this midpoint,
    /// Λ from the (sub)step before, which aimed at it.
    error: Vec<f64>,
    /// The geometry of every joint.
    geometry: Vec<JointGeometry>,
}

impl Workspace {
    /// The joints' errors (m).
    pub fn errors(&self) -> &[f64] {
        &self.error
    }

    /// The joints at the midpoint of the last (sub)step.
    pub fn geometry(&self) -> &[JointGeometry] {
        &self.geometry
    }

    /// Fills the general rows of the problem, which has its bodies already, and remembers the joints'
    /// angles.
    pub fn assemble(&mut self, world: &mut World, problem: &mut Problem) {
        problem.rows.clear();
        self.written.rows.clear();
        self.written.start.clear();
        self.written.beta.clear();
        self.error.clear();
        self.geometry.clear();
        let World {
            joints,
            bodies,
            joint_memory,
            settings,
            ..
        } = world;
        for joint in joints.iter_mut() {
            let geometry = joint_geometry(joint, bodies);
            joint.angles = [3, 4, 5].map(|k| geometry.value[k]);
            self.geometry.push(geometry);
        }
        let beta = match settings.stabilisation {
            Stabilisation::None | Stabilisation::Projection { .. } => 0.0,
            Stabilisation::Baumgarte { beta, .. } => beta,
        };
        let mut memory = joint_memory.as_slice();
        for (index, joint) in joints.iter().enumerate() {
            let own = memory.partition_point(|m| m.joint as usize <= index);
            let (own, rest) = memory.split_at(own);
            memory = rest;
            let mut rows = Rows {
                problem,
                out: &mut self.written,
                geometry: &self.geometry,
                joints,
                bodies,
                index,
                memory: own,
                h: settings.substep(),
                beta: joint.softness.stabilisation.unwrap_or(beta),
                error: 0.0,
            };
            if joint.enabled {
                rows.add();
            }
            self.error.push(rows.error);
        }
    }

    /// Corrects the biases of rows that hold a coordinate for what the linear φ + hγ misses of the
    /// coordinate at the next midpoint, where the velocities `u` lead: a Newton step on φ itself, whose
    /// matrix stays the same. False where there is nothing to correct.
    pub fn refine(&mut self, world: &World, problem: &mut Problem, u: &[Twist]) -> bool {
        let h = problem.h;
        let bodies = &world.bodies;
        let ahead = |slot: usize| {
            Pose::new(
                bodies.position[slot] + u[slot].linear * h,
                rotate_by(&bodies.rotation[slot], u[slot].angular, h),
            )
        };
        let mut any = false;
        let is_corrected = |r: usize| self.written.beta[r] > 0.0;
        let errors_ahead = self.held_errors(world, ahead, is_corrected);
        for (r, error_ahead) in errors_ahead.enumerate() {
            let Some(error_ahead) = error_ahead else {
                continue;
            };
            let error = problem.rows.position_error[r];
            let linear = error + h * problem.row_jacobian_velocity(r, u);
            let missed = error_ahead - linear;
            problem.rows.bias[r] = self.written.beta[r] * (error + missed) / h;
            any = true;
        }
        any
    }

    /// The errors of the rows that hold a coordinate at the bodies' present poses (m), one per row; `None`
    /// for all others.
    pub fn errors_now(&self, world: &World, errors: &mut Vec<Option<f64>>) {
        errors.clear();
        let pose = |slot| world.bodies.pose(slot);
        errors.extend(self.held_errors(world, pose, |_| true));
    }

    /// The same where the bodies have the poses that `pose` says, of the rows that are `wanted`.
    fn held_errors(
        &self,
        world: &World,
        pose: impl Fn(usize) -> Pose,
        wanted: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = Option<f64>> {
        // A joint's rows follow each other and share its geometry.
        let mut last: Option<(u32, JointGeometry)> = None;
        let rows = self.written.rows.iter().enumerate();
        rows.map(move |(r, (index, row))| {
            if !wanted(r) {
                return None;
            }
            let joint = &world.joints[*index as usize];
            let k = *row as usize;
            let at = joint.axes.get(k)?.motion.held()?;
            let geometry = match last {
                Some((of, geometry)) if of == *index => geometry,
                _ => joint_geometry_at(joint, &pose),
            };
            last = Some((*index, geometry));
            Some(row_scale(joint, k) * (geometry.value[k] - at))
        })
    }

    /// The impulses to start from, in the order of the rows.
    pub fn start(&self) -> &[f64] {
        &self.written.start
    }

    /// Stores impulses and forces for the next step.
    pub fn remember(&self, world: &mut World, problem: &Problem, start: &[f64]) {
        let first = problem.contact_rows();
        world.joint_memory.clear();
        for (r, (joint, row)) in self.written.rows.iter().enumerate() {
            let impulse = start[first + r];
            world.joint_memory.push(RowMemory {
                joint: *joint,
                row: *row,
                impulse: if is_memorable([&impulse]) {
                    impulse
                } else {
                    0.0
                },
            });
        }
    }

    /// Stores the joints' forces.
    pub fn remember_forces(&self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        let first = problem.contact_rows();
        for joint in &mut world.joints {
            joint.force = Vec3::zeros();
        }
        for (r, (index, _)) in self.written.rows.iter().enumerate() {
            let joint = &mut world.joints[*index as usize];
            if matches!(joint.kind, JointKind::Gear(_)) {
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
}

/// What coordinate `k` of a joint is multiplied with to become a length (m).
fn row_scale(joint: &Joint, k: usize) -> f64 {
    if Joint::is_length(k) {
        1.0
    } else {
        joint.softness.length
    }
}

/// The rows of one joint in the making.
struct Rows<'a> {
    problem: &'a mut Problem,
    out: &'a mut Written,
    geometry: &'a [JointGeometry],
    joints: &'a [Joint],
    bodies: &'a Bodies,
    index: usize,
    /// The joint's impulses of the last (sub)step.
    memory: &'a [RowMemory],
    h: f64,
    /// β of rigid rows.
    beta: f64,
    /// The largest error so far (m).
    error: f64,
}

/// C and β of a row that stands for a spring and a damper, or for a rigid coordinate.
struct SpringTerms {
    compliance: f64,
    beta: f64,
}

/// A spring and a damper, implicitly: C = 1/(h²k + hc), β = hk/(hk + c).
fn spring(stiffness: f64, damping: f64, h: f64) -> SpringTerms {
    let whole = h * stiffness + damping;
    SpringTerms {
        compliance: 1.0 / (h * whole),
        beta: h * stiffness / whole,
    }
}

type Entry = (u32, Twist);

impl Rows<'_> {
    fn joint(&self) -> &Joint {
        &self.joints[self.index]
    }

    fn add(&mut self) {
        if let JointKind::Gear(terms) = &self.joints[self.index].kind {
            self.gear(terms);
            return;
        }
        for k in 0..6 {
            self.axis(k);
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
                if left > reach {
                    continue;
                }
                let terms =
                    self.spring_terms(length, joint.softness.stabilisation.unwrap_or(LIMIT_BETA));
                let share = if left > 0.0 { 1.0 } else { terms.beta };
                let bounds = [0.0, f64::INFINITY];
                let bias = share * left / h;
                self.push(row(number), entries, bounds, bias, terms.compliance, left);
            }
        }
        if let Some(motor) = axis.motor.filter(|m| m.max_force > 0.0) {
            let most = motor.max_force / scale * h;
            let (bias, compliance) = match motor.target {
                Target::Velocity(speed) => (-scale * speed, 0.0),
                Target::Position {
                    position,
                    rate,
                    stiffness,
                    damping,
                } => {
                    let square = scale * scale;
                    let terms = spring(stiffness / square, damping / square, h);
                    let error = value - scale * position;
                    (terms.beta * error / h - scale * rate, terms.compliance)
                }
            };
            let number = row(number::MOTOR);
            self.push(number, &entries, [-most, most], bias, compliance, 0.0);
        }
        if axis.friction > 0.0 && joint.kind != JointKind::Spherical {
            let most = axis.friction / scale * h;
            let number = row(number::FRICTION);
            self.push(number, &entries, [-most, most], 0.0, 0.0, 0.0);
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
            self.push(number, &entries, [-most, most], 0.0, 0.0, 0.0);
        }
    }

    /// Σ coefficient · coordinate stays what it was.
    fn gear(&mut self, terms: &[GearTerm]) {
        let joint = self.joint();
        let scale = joint.softness.length;
        let mut sum = -joint.gear_offset;
        let mut entries = [(WORLD, Twist::ZERO); 4];
        let mut count = 0;
        for term in terms {
            let (of, k) = (term.joint as usize, term.axis as usize);
            sum += term.coefficient * self.geometry[of].value[k];
            let bodies = self.joints[of].bodies;
            for (body, jacobian) in bodies.into_iter().zip(&self.geometry[of].jacobian[k]) {
                let share = scaled(jacobian, term.coefficient * scale);
                let known = entries[..count].iter().position(|(b, _)| *b == body);
                if let Some(at) = known {
                    let (_, sum) = &mut entries[at];
                    sum.linear += share.linear;
                    sum.angular += share.angular;
                } else if body != WORLD && count < entries.len() {
                    entries[count] = (body, share);
                    count += 1;
                }
            }
        }
        self.lock(number::LOCK, &entries[..count], scale * sum, false);
    }

    /// A bilateral row that locks `error` at zero.
    fn lock(&mut self, row: u8, entries: &[Entry], error: f64, length: bool) {
        let terms = self.spring_terms(length, self.beta);
        let (alpha, damping) = self.softness(length);
        if damping == 0.0 {
            let found = (error + alpha * self.remembered(row) / self.h).abs();
            self.error = self.error.max(found);
        }
        let bounds = [f64::NEG_INFINITY, f64::INFINITY];
        let bias = terms.beta * error / self.h;
        let pushed = self.push(row, entries, bounds, bias, terms.compliance, error);
        if let (true, Some(beta)) = (pushed, self.out.beta.last_mut()) {
            *beta = terms.beta;
        }
    }

    /// α and damping of rows of lengths (m/N, N s/m), or of angles that have become lengths.
    fn softness(&self, length: bool) -> (f64, f64) {
        let s = &self.joint().softness;
        if length {
            (s.compliance, s.damping)
        } else {
            let square = s.length * s.length;
            (s.angular_compliance * square, s.angular_damping / square)
        }
    }

    fn spring_terms(&self, length: bool, beta: f64) -> SpringTerms {
        match self.softness(length) {
            (0.0, _) => SpringTerms {
                compliance: 0.0,
                beta,
            },
            (alpha, damping) => spring(1.0 / alpha, damping, self.h),
        }
    }

    /// The last impulse of one of the joint's rows (N s).
    fn remembered(&self, row: u8) -> f64 {
        let found = self.memory.iter().find(|m| m.row == row);
        found.map_or(0.0, |m| m.impulse)
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
        compliance: f64,
        position_error: f64,
    ) -> bool {
        let acts_on = entries.iter().filter(|(body, _)| *body != WORLD);
        // Nothing to act on: all of its bodies are fixed.
        let moves = |(body, _): &Entry| self.problem.bodies.is_dynamic(*body as usize);
        if !acts_on.clone().any(moves) {
            return false;
        }
        self.problem
            .push_row(acts_on, bounds, bias, compliance, position_error);
        self.out.rows.push((self.index as u32, row));
        let start = self.remembered(row).clamp(bounds[0], bounds[1]);
        self.out.start.push(start);
        self.out.beta.push(0.0);
        true
    }
}

fn scaled(j: &Twist, factor: f64) -> Twist {
    Twist::new(j.linear * factor, j.angular * factor)
}
