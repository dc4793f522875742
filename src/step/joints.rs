//! From joints to general rows: coordinates at the midpoint, Jacobians, biases, bounds (section 2's
//! table of laws), and the impulses to start from.

use crate::math::{Pose, Twist, Vec3, rotate_by};
use crate::problem::Problem;
use crate::world::joint::{Axis, GearTerm, Joint, JointKind, Motion, RowMemory, Target, WORLD};
use crate::world::{Bodies, Stabilisation, World};

/// A limit gets a row when the coordinate is this near to it (m, or rad times the joint's length) …
const LIMIT_REACH: f64 = 0.02;
/// … or could get there within this many steps.
const LIMIT_STEPS: f64 = 4.0;
/// β of rigid limits where the joint names none.
const LIMIT_BETA: f64 = 0.2;
/// Below this |cos| of the middle angle the three angles of a joint are not told apart.
const GIMBAL: f64 = 0.05;

/// Numbers of the rows of a joint: six that hold or couple, then per coordinate a lower and an upper
/// limit, a motor and friction.
mod number {
    pub const HOLD: u8 = 0;
    pub const LOWER: u8 = 6;
    pub const UPPER: u8 = 12;
    pub const MOTOR: u8 = 18;
    pub const FRICTION: u8 = 24;
}

/// A joint as it is at the midpoint.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Its frames in the world.
    pub frames: [Pose; 2],
    /// The coordinates (m, rad).
    pub value: [f64; 6],
    /// The share of each body in each coordinate's velocity.
    pub jacobian: [[Twist; 2]; 6],
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
    geometry: Vec<Geometry>,
}

impl Workspace {
    /// The joints' errors (m).
    pub fn errors(&self) -> &[f64] {
        &self.error
    }

    /// The joints at the midpoint of the last (sub)step.
    pub fn geometry(&self) -> &[Geometry] {
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
            let geometry = geometry(joint, bodies);
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
        let mut found: Option<(u32, Geometry)> = None;
        for (r, (index, row)) in self.written.rows.iter().enumerate() {
            let beta = self.written.beta[r];
            let joint = &world.joints[*index as usize];
            let k = *row as usize;
            let held = joint.axes.get(k).and_then(|axis| axis.motion.held());
            let (Some(at), true) = (held, beta > 0.0) else {
                continue;
            };
            let geometry = match found {
                Some((i, geometry)) if i == *index => geometry,
                _ => geometry_at(joint, ahead),
            };
            found = Some((*index, geometry));
            let scale = row_scale(joint, k);
            let error = problem.rows.position_error[r];
            let linear = error + h * problem.row_jacobian_velocity(r, u);
            let missed = scale * (geometry.value[k] - at) - linear;
            problem.rows.bias[r] = beta * (error + missed) / h;
            any = true;
        }
        any
    }

    /// The errors of the rows that hold a coordinate at the bodies' present poses (m), one per row; `None`
    /// for all others.
    pub fn errors_now(&self, world: &World, errors: &mut Vec<Option<f64>>) {
        errors.clear();
        let mut found: Option<(u32, Geometry)> = None;
        for (index, row) in &self.written.rows {
            let joint = &world.joints[*index as usize];
            let k = *row as usize;
            let held = joint.axes.get(k).and_then(|axis| axis.motion.held());
            errors.push(held.map(|at| {
                let geometry = match found {
                    Some((i, geometry)) if i == *index => geometry,
                    _ => geometry(joint, &world.bodies),
                };
                found = Some((*index, geometry));
                row_scale(joint, k) * (geometry.value[k] - at)
            }));
        }
    }

    /// The impulses to start from, in the order of the rows.
    pub fn start(&self) -> &[f64] {
        &self.written.start
    }

    /// Stores impulses and forces for the next step.
    pub fn remember(&self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        let first = problem.contact_rows();
        world.joint_memory.clear();
        for (r, (joint, row)) in self.written.rows.iter().enumerate() {
            world.joint_memory.push(RowMemory {
                joint: *joint,
                row: *row,
                impulse: lambda[first + r],
            });
        }
        self.remember_forces(world, problem, lambda);
    }

    /// Stores the joints' forces alone.
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

/// The coordinates of a joint and their Jacobians at the bodies' present poses.
pub fn geometry(joint: &Joint, bodies: &Bodies) -> Geometry {
    geometry_at(joint, |slot| bodies.pose(slot))
}

fn geometry_at(joint: &Joint, pose: impl Fn(usize) -> Pose) -> Geometry {
    let frames = joint.frames_at(&pose);
    let mut out = Geometry {
        frames,
        value: [0.0; 6],
        jacobian: [[Twist::ZERO; 2]; 6],
    };
    if let JointKind::Gear(_) = joint.kind {
        return out;
    }
    let [a, b] = frames;
    let center = joint.bodies.map(|slot| match slot {
        WORLD => Vec3::zeros(),
        slot => pose(slot as usize).position,
    });
    let apart = b.position - a.position;
    let arm_b = b.position - center[1];
    let mut lengthwise = |k: usize, e: Vec3, value: f64, arm_a: Vec3| {
        out.value[k] = value;
        out.jacobian[k] = [
            Twist {
                linear: -e,
                angular: -arm_a.cross(&e),
            },
            Twist {
                linear: e,
                angular: arm_b.cross(&e),
            },
        ];
    };
    if let JointKind::Distance = joint.kind {
        let distance = apart.norm();
        let e = apart.try_normalize(1e-12).unwrap_or_else(Vec3::y);
        lengthwise(0, e, distance, a.position - center[0]);
        return out;
    }
    let all_held = joint.axes[..3].iter().all(|x| x.motion == Motion::Locked);
    let axes_a = axes(&a);
    for k in 0..3 {
        if all_held {
            // The frames' origins coincide: any axes will do, and the world's never turn.
            let e = Vec3::ith(k, 1.0);
            lengthwise(k, e, apart[k], a.position - center[0]);
        } else {
            // Along an axis that turns with the first body, the force acts on it at the second's place.
            let e = axes_a[k];
            lengthwise(k, e, e.dot(&apart), b.position - center[0]);
        }
    }
    if joint.kind == JointKind::Spherical && joint.axes[3..] == [Axis::default(); 3] {
        return out;
    }
    let (angles, turns) = angles(joint, &a, &b);
    for k in 0..3 {
        out.value[3 + k] = match joint.kind {
            JointKind::Spherical => angles[k],
            _ => unwrap(angles[k], joint.angles[k]),
        };
        out.jacobian[3 + k] = [-turns[k], turns[k]].map(|angular| Twist {
            linear: Vec3::zeros(),
            angular,
        });
    }
    out
}

fn axes(frame: &Pose) -> [Vec3; 3] {
    [Vec3::x(), Vec3::y(), Vec3::z()].map(|e| frame.rotation * e)
}

/// The angle nearest to the last one that is the same but for whole turns.
fn unwrap(angle: f64, last: f64) -> f64 {
    use std::f64::consts::TAU;
    angle + ((last - angle) / TAU).round() * TAU
}

/// The three angles of a joint, and the axes that the relative angular velocity is taken along to get
/// their rates.
fn angles(joint: &Joint, a: &Pose, b: &Pose) -> ([f64; 3], [Vec3; 3]) {
    let [ax, ay, az] = axes(a);
    let [bx, by, bz] = axes(b);
    let held = |k: usize| joint.axes[3 + k].motion == Motion::Locked;
    match joint.kind {
        JointKind::Spherical => {
            let swing = ax.dot(&bx).clamp(-1.0, 1.0).acos();
            let across = ax.cross(&bx).try_normalize(1e-9).unwrap_or(ay);
            // The shortest turn that takes x to its place, taken back, leaves the twist.
            let relative = a.rotation.inverse() * b.rotation;
            let twist = 2.0 * relative.i.atan2(relative.w);
            let middle = (ax + bx).try_normalize(1e-6).unwrap_or(ax);
            let slope = middle.dot(&ax).max(GIMBAL);
            (
                [half_turn(twist), swing, 0.0],
                [middle / slope, across, Vec3::zeros()],
            )
        }
        JointKind::Universal => {
            // The two axes are held at a right angle: coordinate 2 is their scalar product.
            let first = by.dot(&az).atan2(by.dot(&ay));
            let second = bz.dot(&ax).atan2(bx.dot(&ax));
            ([first, second, -ax.dot(&by)], [ax, by, ax.cross(&by)])
        }
        _ if held(0) && held(1) && held(2) => {
            let error = (a.rotation.inverse() * b.rotation).scaled_axis();
            ([error.x, error.y, error.z], [ax, ay, az])
        }
        _ if (0..3).filter(|k| held(*k)).count() == 2 => {
            // A hinge about the one axis i that is free; j and k follow it.
            let i = (0..3).find(|i| !held(*i)).unwrap_or(0);
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let (a, b) = ([ax, ay, az], [bx, by, bz]);
            let mut angles = [0.0; 3];
            let mut turns = [Vec3::zeros(); 3];
            (angles[i], turns[i]) = (b[j].dot(&a[k]).atan2(b[j].dot(&a[j])), a[i]);
            (angles[j], turns[j]) = (-b[i].dot(&a[k]), a[k].cross(&b[i]));
            (angles[k], turns[k]) = (b[i].dot(&a[j]), b[i].cross(&a[j]));
            (angles, turns)
        }
        _ => {
            // R = Rx(α) Ry(β) Rz(γ); the axes of the three rates are x_a, n and z_b.
            let first = (-bz.dot(&ay)).atan2(bz.dot(&az));
            let sine = bz.dot(&ax).clamp(-1.0, 1.0);
            let third = (-by.dot(&ax)).atan2(bx.dot(&ax));
            let middle = ay * first.cos() + az * first.sin();
            let cos_squared = (1.0 - sine * sine).max(GIMBAL * GIMBAL);
            (
                [first, sine.asin(), third],
                [
                    (ax - bz * sine) / cos_squared,
                    middle,
                    (bz - ax * sine) / cos_squared,
                ],
            )
        }
    }
}

/// The same angle from −π to π.
fn half_turn(angle: f64) -> f64 {
    use std::f64::consts::TAU;
    angle - (angle / TAU).round() * TAU
}

/// The rows of one joint in the making.
struct Rows<'a> {
    problem: &'a mut Problem,
    out: &'a mut Written,
    geometry: &'a [Geometry],
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

/// C and β of a row.
struct Give {
    compliance: f64,
    beta: f64,
}

/// A spring and a damper, implicitly: C = 1/(h²k + hc), β = hk/(hk + c).
fn spring(stiffness: f64, damping: f64, h: f64) -> Give {
    let whole = h * stiffness + damping;
    Give {
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
            self.hold(row(number::HOLD), &entries, value - scale * at, length);
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
                let give = self.give(length, joint.softness.stabilisation.unwrap_or(LIMIT_BETA));
                let share = if left > 0.0 { 1.0 } else { give.beta };
                let bounds = [0.0, f64::INFINITY];
                let bias = share * left / h;
                self.push(row(number), entries, bounds, bias, give.compliance, left);
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
                    let give = spring(stiffness / square, damping / square, h);
                    let error = value - scale * position;
                    (give.beta * error / h - scale * rate, give.compliance)
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
            let turn = Twist {
                linear: Vec3::zeros(),
                angular: Vec3::ith(k, scale),
            };
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
        self.hold(number::HOLD, &entries[..count], scale * sum, false);
    }

    /// A bilateral row that holds `error` at zero.
    fn hold(&mut self, row: u8, entries: &[Entry], error: f64, length: bool) {
        let give = self.give(length, self.beta);
        let (alpha, damping) = self.softness(length);
        if damping == 0.0 {
            let found = (error + alpha * self.remembered(row) / self.h).abs();
            self.error = self.error.max(found);
        }
        let bounds = [f64::NEG_INFINITY, f64::INFINITY];
        let bias = give.beta * error / self.h;
        let pushed = self.push(row, entries, bounds, bias, give.compliance, error);
        if let (true, Some(beta)) = (pushed, self.out.beta.last_mut()) {
            *beta = give.beta;
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

    fn give(&self, length: bool, beta: f64) -> Give {
        match self.softness(length) {
            (0.0, _) => Give {
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
        let mut kept = [(0, Twist::ZERO); 4];
        let mut count = 0;
        for entry in entries.iter().filter(|(body, _)| *body != WORLD) {
            kept[count] = *entry;
            count += 1;
        }
        // Nothing to act on: all of its bodies are fixed.
        let moves = |(body, _): &Entry| self.problem.bodies.is_dynamic(*body as usize);
        if !kept[..count].iter().any(moves) {
            return false;
        }
        self.problem
            .push_row(&kept[..count], bounds, bias, compliance, position_error);
        self.out.rows.push((self.index as u32, row));
        let start = self.remembered(row).clamp(bounds[0], bounds[1]);
        self.out.start.push(start);
        self.out.beta.push(0.0);
        true
    }
}

fn scaled(j: &Twist, factor: f64) -> Twist {
    Twist {
        linear: j.linear * factor,
        angular: j.angular * factor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;
    use crate::world::{BodySpec, JointSpec, Settings};

    fn body(world: &mut World, position: Vec3, turn: Vec3) -> crate::world::BodyId {
        world
            .add_body(BodySpec {
                pose: Pose::new(position, Quat::from_scaled_axis(turn)),
                mass: Some(1.0),
                inertia: Some(crate::math::SymMat3::diagonal(1.0, 1.0, 1.0)),
                ..BodySpec::default()
            })
            .unwrap()
    }

    /// Every coordinate's velocity is its Jacobian times the bodies' velocities.
    #[test]
    fn jacobians_are_the_derivatives_of_the_coordinates() {
        use JointKind::*;
        // The held angles are exact at zero error alone, and free ones everywhere.
        let cases: [(JointKind, &[Motion], &[usize], Vec3); 8] = [
            (Spherical, &[], &[0, 1, 2, 3, 4], Vec3::new(0.0, 0.3, -0.8)),
            (Hinge, &[], &[0, 1, 2, 3, 4, 5], Vec3::new(2.5, 0.0, 0.0)),
            (
                Cylindrical,
                &[],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(-1.2, 0.0, 0.0),
            ),
            (Slider, &[], &[0, 1, 2, 3, 4, 5], Vec3::zeros()),
            (Fixed, &[], &[0, 1, 2, 3, 4, 5], Vec3::zeros()),
            (
                Universal,
                &[],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(0.7, 0.0, 0.0),
            ),
            (
                SixDof,
                &[Motion::Free; 6],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(0.4, -0.9, 1.3),
            ),
            (Distance, &[], &[0], Vec3::new(0.4, -0.9, 1.3)),
        ];
        for (kind, motions, coordinates, turned) in cases {
            let mut world = World::new(Settings::default());
            let a = body(
                &mut world,
                Vec3::new(0.1, -0.2, 0.3),
                Vec3::new(0.5, 0.2, -0.4),
            );
            let b = body(
                &mut world,
                Vec3::new(1.0, 0.5, -0.3),
                Vec3::new(-0.3, 0.9, 0.1),
            );
            let at = Vec3::new(0.4, 0.3, 0.2);
            let frame = Pose::new(at, Quat::from_scaled_axis(Vec3::new(0.2, 0.4, -0.5)));
            let mut second = frame;
            second.rotation *= Quat::from_scaled_axis(turned);
            if kind == Universal {
                second.rotation *= Quat::from_scaled_axis(Vec3::new(0.0, -0.6, 0.0));
            }
            let slides = matches!(kind, Slider | Cylindrical | SixDof | Distance);
            if slides {
                second.position += frame.rotation * Vec3::new(0.3, 0.0, 0.0);
            }
            if matches!(kind, SixDof | Distance) {
                second.position += Vec3::new(0.1, 0.2, -0.3);
            }
            let mut spec = JointSpec::new(kind.clone(), [Some(a), Some(b)], frame);
            spec.frames[1] = second;
            for (axis, motion) in spec.axes.iter_mut().zip(motions) {
                axis.motion = *motion;
            }
            // Somebody must want to know the angles of a ball joint.
            spec.axes[3].friction = 1.0;
            world.add_joint(spec).unwrap();
            let u = [
                Twist {
                    linear: Vec3::new(0.3, -0.1, 0.7),
                    angular: Vec3::new(-0.5, 0.8, 0.2),
                },
                Twist {
                    linear: Vec3::new(-0.2, 0.4, 0.1),
                    angular: Vec3::new(0.9, -0.3, 0.6),
                },
            ];
            let at_time = |t: f64| {
                let mut moved = world.bodies.clone();
                for (slot, u) in u.iter().enumerate() {
                    moved.position[slot] += u.linear * t;
                    moved.rotation[slot] = rotate_by(&moved.rotation[slot], u.angular, t);
                }
                geometry(&world.joints[0], &moved)
            };
            let (dt, now) = (1e-6, at_time(0.0));
            let (after, before) = (at_time(dt), at_time(-dt));
            for &k in coordinates {
                let slope = (after.value[k] - before.value[k]) / (2.0 * dt);
                let [first, second] = now.jacobian[k];
                let rate = first.linear.dot(&u[0].linear)
                    + first.angular.dot(&u[0].angular)
                    + second.linear.dot(&u[1].linear)
                    + second.angular.dot(&u[1].angular);
                assert!(
                    (slope - rate).abs() < 1e-7,
                    "{kind:?}, coordinate {k}: {slope} and {rate}"
                );
            }
        }
    }

    #[test]
    fn angles_count_whole_turns() {
        let mut world = World::new(Settings::default());
        let b = body(&mut world, Vec3::zeros(), Vec3::zeros());
        let spec = JointSpec::new(JointKind::Hinge, [None, Some(b)], Pose::IDENTITY);
        world.add_joint(spec).unwrap();
        for k in 1..100 {
            let angle = 0.3 * f64::from(k);
            world.bodies.rotation[0] = Quat::from_scaled_axis(Vec3::x() * angle);
            let found = geometry(&world.joints[0], &world.bodies).value[3];
            assert!((found - angle).abs() < 1e-9, "{found} for {angle}");
            world.joints[0].angles[0] = found;
        }
    }
}
