//! From joints to general rows: coordinates at the midpoint, Jacobians, biases, bounds (section 2's
//! table of laws), and the impulses to start from.

use super::elsewhere::{Elsewhere, position_row};
use super::loops::Loops;
use super::spring::{self, Lagged, Spring};
use crate::math::{Twist, Vec3, tangent};
use crate::problem::Problem;
use crate::world::joint::{
    GearTerm, Joint, JointKind, Motion, RowMemory, Target, WORLD, have_effect,
};
use crate::world::snapshot::is_memorable;
use crate::world::{Bodies, JointGeometry, Stabilisation, World, joint_geometry};

/// A limit gets a row when the coordinate is this near to it (m, or rad times the joint's length) …
const LIMIT_REACH: f64 = 0.02;
/// … or could get there within this many steps.
const LIMIT_STEPS: f64 = 4.0;
/// β of rigid limits: the share of what they are overrun by that a step takes back through the velocities.
const LIMIT_BETA: f64 = 0.2;
/// The share of J(q₋) and of J(q₊) in a row's direction (-): Newmark's β, which makes taut cables stable at every step
/// length and dampens nothing.
pub const SHARE: f64 = 0.25;

/// What holds the rows of loops to the last round's impulses, as a share of their own diagonal (-).
const HOLD: f64 = 1e-5;
/// A slack rope counts as so stiff across, as a share of its bodies' inertia (-), so that its rows' diagonal stays finite.
const LEAST_ACROSS: f64 = 1e-6;

/// Numbers of the rows of a joint: six that lock a coordinate or couple some, then per coordinate a lower and an upper
/// limit, a motor and friction, and what only the rounds' matrix knows.
pub mod number {
    pub const LOCK: u8 = 0;
    pub const LOWER: u8 = 6;
    pub const UPPER: u8 = 12;
    pub const MOTOR: u8 = 18;
    pub const FRICTION: u8 = 24;
    /// Two that stand for how stiff a taut rope is across. They are none of its laws.
    pub const ACROSS: u8 = 30;
}

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

/// Which rows the joints wrote, for the warm start and for reports.
#[derive(Default)]
struct Written {
    /// Joint and number of every row of the problem.
    rows: Vec<(u32, u8)>,
    /// Impulse to start from, per row.
    start: Vec<f64>,
    /// β of the rows of positions: those that hold a coordinate, limits, gears and servos; else 0.
    beta: Vec<f64>,
    /// What gives way, and its force of the last (sub)step (N), if there was one.
    spring: Vec<Option<Spring>>,
    last_force: Vec<Option<f64>>,
    /// The damper's force of the last (sub)step (N).
    last_damper: Vec<f64>,
    /// How fast moves what a servo aims at, since the last midpoint and until the next one (m/s).
    target_rates: Vec<[f64; 2]>,
}

/// Reusable memory, and what is known of the joints besides the problem's rows.
#[derive(Default)]
pub struct Workspace {
    written: Written,
    /// How far the worst held coordinate of every joint is from where the last (sub)step aimed (m).
    error: Vec<f64>,
    /// The geometry of every joint at this midpoint, at the last one, and where the next one is expected.
    geometry: Vec<JointGeometry>,
    behind: Elsewhere,
    ahead: Elsewhere,
    /// ¼J(q₋) + ½J(q), per entry of the problem's rows; zero for rows of velocities.
    settled: Vec<Twist>,
    /// The rule of springs' rows.
    lagged: Vec<Lagged>,
    /// What this (sub)step leaves of each row's error, or where a spring would rest, per row (m).
    left: Vec<f64>,
    /// The same as the rows' laws ask for (m).
    asked: Vec<f64>,
    /// The rows as they were assembled: J(q), and their biases.
    here: Vec<Twist>,
    bias: Vec<f64>,
    /// Which bodies touch something.
    touches: Vec<bool>,
    /// The linearisation at a next midpoint.
    next: Linear,
    /// Which joints close loops, and what holds their rows to the last round's impulses, per row (1/kg).
    loops: Loops,
    hold: Vec<f64>,
}

/// The rows of positions, linear about a next midpoint q₊ = q + h u.
#[derive(Default)]
struct Linear {
    /// Directions J̄ = ¼J(q₋) + ½J(q) + ¼J(q₊), per entry of the problem's rows.
    jacobian: Vec<Twist>,
    /// Biases, per row (m/s).
    bias: Vec<f64>,
    /// w of the rows at q₊, without C Λ (m/s).
    velocity: Vec<f64>,
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
        self.written.spring.clear();
        self.written.last_force.clear();
        self.written.target_rates.clear();
        self.written.last_damper.clear();
        self.error.clear();
        self.geometry.clear();
        let scale = world.memory_scale();
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
                scale,
                h: settings.substep(),
                error: 0.0,
            };
            if joint.enabled {
                rows.add();
            }
            self.error.push(rows.error);
        }
    }

    /// Whether some row is one of positions.
    pub fn have_positions(&self) -> bool {
        self.written.beta.iter().any(|beta| *beta > 0.0)
    }

    /// What does not change over a step's rounds: the directions behind and here, and how much of the errors that are
    /// found here is to be closed, `share`. They are those of a new state, or of a step of another length: the ends of
    /// steps gap by h²a/8 where a joint's bodies accelerate relative to each other by a.
    pub fn begin(&mut self, world: &World, problem: &mut Problem, share: f64) {
        let (h, bodies) = (problem.h, &world.bodies);
        let most = match world.settings.stabilisation {
            Stabilisation::None => f64::INFINITY,
            Stabilisation::Baumgarte { max_speed, .. }
            | Stabilisation::Projection { max_speed, .. } => max_speed * h,
        };
        self.touches.clear();
        self.touches.resize(problem.bodies.len(), false);
        for body in problem.contacts.bodies.iter().flatten() {
            self.touches[*body as usize] = problem.bodies.is_dynamic(*body as usize);
        }
        self.behind.find(world, &bodies.velocity, -h);
        self.left.clear();
        self.lagged.clear();
        self.lagged.resize(problem.rows.len(), Lagged::default());
        for r in 0..problem.rows.len() {
            let left = match self.written.spring[r] {
                Some(spring) => self.give_way(world, problem, r, &spring),
                None if problem.rows.is_bilateral(r) => {
                    let error = problem.rows.position_error[r];
                    error - (error * share).clamp(-most, most)
                }
                None => 0.0,
            };
            self.left.push(left);
        }
        self.asked.clone_from(&self.left);
        self.here.clone_from(&problem.rows.jacobian);
        self.bias.clone_from(&problem.rows.bias);
        self.settled.clear();
        self.settled
            .resize(problem.rows.jacobian.len(), Twist::ZERO);
        let rows = self.written.rows.iter().zip(&problem.rows.start);
        for ((index, number), start) in rows {
            let mut at = *start as usize;
            let joints = &world.joints;
            (self.behind).visit_row(joints, *index as usize, *number, |_, j| {
                let here = &problem.rows.jacobian[at];
                self.settled[at] = Twist::new(
                    j.linear * SHARE + here.linear * (1.0 - 2.0 * SHARE),
                    j.angular * SHARE + here.angular * (1.0 - 2.0 * SHARE),
                );
                at += 1;
            });
        }
    }

    /// Closes only a share of what is open of rows that are rigid to the step, for a solver that leaves much open: what the
    /// step resolves of springs stays as it is. All with 1.
    pub fn relax(&mut self, problem: &mut Problem, share: f64) {
        let rows = &mut problem.rows;
        for r in (0..rows.len()).filter(|r| self.written.beta[*r] > 0.0) {
            let law = &self.lagged[r];
            let is_held = rows.is_bilateral(r) || self.written.spring[r].is_some();
            let share = match is_held {
                true => 1.0 - (1.0 - share) * law.rigidity,
                false => 1.0,
            };
            let open = rows.position_error[r];
            self.left[r] = open + (self.asked[r] - open) * share;
            rows.compliance[r] = law.compliance * share + self.hold[r];
        }
    }

    /// Sets C of a spring's row, and says where it would rest (m).
    fn give_way(&mut self, world: &World, problem: &mut Problem, r: usize, spring: &Spring) -> f64 {
        let (index, number) = self.written.rows[r];
        let behind = self
            .behind
            .visit_row(&world.joints, index as usize, number, |_, _| {});
        let here = problem.rows.position_error[r];
        let behind = behind.unwrap_or(here);
        let row = spring.row(&spring::At {
            h: problem.h,
            inverse_mass: diagonal(problem, r),
            is_bounded: !problem.rows.is_bilateral(r),
            errors: [here, behind],
            last: self.written.last_force[r]
                .map(|force| [force, self.written.last_damper[r]].map(|force| force * problem.h)),
        });
        problem.rows.compliance[r] = row.compliance;
        self.lagged[r] = row;
        -row.lag
    }

    /// Linearises the rows of positions about the next midpoint, where the velocities `u` lead.
    ///
    /// Angles of what touches something are linear in u. A wheel that rolls at s and yaws at ω ends along an axis that has
    /// turned by h ω, so that its u_E turns about the axis halfway: at this midpoint, where contacts are, it seems to roll
    /// over by ½ h s ω, and they would bear against that.
    pub fn linearise(&mut self, world: &World, problem: &Problem, u: &[Twist]) {
        let h = problem.h;
        self.ahead.find(world, u, h);
        let next = &mut self.next;
        next.jacobian.clear();
        next.jacobian.extend_from_slice(&problem.rows.jacobian);
        next.bias.clear();
        next.bias.extend_from_slice(&problem.rows.bias);
        next.velocity.clear();
        next.velocity.resize(problem.rows.len(), 0.0);
        for (r, (index, number)) in self.written.rows.iter().enumerate() {
            let beta = self.written.beta[r];
            if *number >= number::ACROSS {
                let entries = problem.rows.start[r] as usize..problem.rows.start[r + 1] as usize;
                next.jacobian[entries].fill(Twist::ZERO);
            }
            if beta == 0.0 {
                continue;
            }
            let mut at = problem.rows.start[r] as usize;
            let mut along = 0.0;
            let joints = &world.joints;
            let value = (self.ahead).visit_row(joints, *index as usize, *number, |body, j| {
                let u = &u[body as usize];
                let settled = &self.settled[at];
                let mean = Twist::new(
                    settled.linear + j.linear * SHARE,
                    settled.angular + j.angular * SHARE,
                );
                along += mean.linear.dot(&u.linear) + mean.angular.dot(&u.angular);
                next.jacobian[at] = mean;
                at += 1;
            });
            let Some(value) = value else {
                continue;
            };
            let is_angle = !Joint::is_length(*number as usize % 6);
            let touches = |body: &u32| self.touches[*body as usize];
            let error = match is_angle && problem.rows.bodies(r).iter().any(touches) {
                true => {
                    let [_, target] = self.written.target_rates[r];
                    problem.rows.position_error[r] + h * (along - target)
                }
                false => value,
            };
            next.bias[r] = beta * ((error - self.left[r]) / h - along);
            next.velocity[r] = next.bias[r] + along;
        }
    }

    /// How far the rows of positions are from their laws at the next midpoint that was last linearised about, with these
    /// impulses (m/s).
    pub fn gap_ahead(&self, problem: &Problem, lambda: &[f64]) -> f64 {
        let first = problem.contact_rows();
        let mut worst = 0.0_f64;
        for (r, beta) in self.written.beta.iter().enumerate() {
            if *beta == 0.0 {
                continue;
            }
            let lambda = lambda[first + r];
            let compliance = problem.rows.compliance[r] - self.hold[r];
            let w = self.next.velocity[r] + compliance * lambda;
            let [lo, hi] = problem.rows.bounds[r];
            // As the residual has it: an impulse that is next to nothing may still press.
            let error = match problem.rows.is_bilateral(r) {
                true => w,
                false => {
                    let inertia = 1.0 / (diagonal(problem, r) + problem.rows.compliance[r]);
                    (lambda - (lambda - inertia * w).clamp(lo, hi)) / inertia
                }
            };
            worst = worst.max(error.abs());
        }
        worst
    }

    /// Ropes pull across as much as they turn. A rope of length d and tension T resists a displacement x across with T/d x, of
    /// which the rounds' matrix has ¼h² (section 7): as two rows w = J (u − u′) + C Λ, with u′ what the round is linear
    /// about, C = 4d/(h²T), and impulses that vanish as the rounds come to their end. T is that of `impulses`, of the general
    /// rows.
    pub fn stiffen_ropes(&mut self, problem: &mut Problem, impulses: &[f64]) {
        let mut tension = 0.0;
        let rows = self.written.rows.iter().enumerate();
        for (r, (index, number)) in rows {
            if *number < number::ACROSS {
                // The row that pulls stands before them.
                match *number {
                    number::LOCK => tension = -impulses[r] / problem.h,
                    number::LOWER => tension = 0.0,
                    number::UPPER => tension = impulses[r] / problem.h,
                    _ => {}
                }
                continue;
            }
            let length = self.geometry[*index as usize].value[0];
            let diagonal = diagonal(problem, r);
            let stiffness = SHARE * problem.h * problem.h * tension / length;
            problem.rows.compliance[r] = 1.0 / stiffness.max(LEAST_ACROSS / diagonal);
        }
    }

    /// Aims the ropes' rows across at the velocities that the round is linear about.
    pub fn aim_ropes(&self, problem: &mut Problem, u: &[Twist]) {
        for (r, _) in (self.written.rows.iter().enumerate())
            .filter(|(_, (_, number))| *number >= number::ACROSS)
        {
            let rows = problem.rows.entries(r);
            let along = rows.map(|(body, j)| {
                let u = &u[body];
                j.linear.dot(&u.linear) + j.angular.dot(&u.angular)
            });
            problem.rows.bias[r] = -along.sum::<f64>();
        }
    }

    /// The problem's directions stay, and its biases become those of the last linearisation, about `u` and the general
    /// rows' `impulses`. `change` becomes what these give along the new directions and not along the problem's (N s,
    /// N m s).
    pub fn shift(
        &self,
        problem: &mut Problem,
        u: &[Twist],
        impulses: &[f64],
        change: &mut Vec<Twist>,
    ) {
        change.clear();
        change.resize(problem.bodies.len(), Twist::ZERO);
        let rows = &mut problem.rows;
        for (r, beta) in self.written.beta.iter().enumerate() {
            if *beta == 0.0 {
                continue;
            }
            let mut along = 0.0;
            for at in rows.start[r] as usize..rows.start[r + 1] as usize {
                let (old, new) = (&rows.jacobian[at], &self.next.jacobian[at]);
                let body = rows.body[at] as usize;
                along += old.linear.dot(&u[body].linear) + old.angular.dot(&u[body].angular);
                change[body].linear += (new.linear - old.linear) * impulses[r];
                change[body].angular += (new.angular - old.angular) * impulses[r];
            }
            rows.bias[r] = self.next.velocity[r] - along;
        }
    }

    /// Rigid rows of joints that close loops may be redundant, and their directions nearly so: in the first round their
    /// impulses are the least ones …
    pub fn soften_loops(&mut self, world: &World, problem: &mut Problem) {
        self.loops.find(world, problem);
        self.hold.clear();
        self.hold.resize(problem.rows.len(), 0.0);
        for (r, (index, _)) in self.written.rows.iter().enumerate() {
            let is_rigid = self.written.beta[r] > 0.0 && self.written.spring[r].is_none();
            if is_rigid && self.loops.closes[*index as usize] {
                self.hold[r] = HOLD * diagonal(problem, r);
                problem.rows.compliance[r] += self.hold[r];
            }
        }
    }

    /// … and in later ones they change as little as they can from what the last one found: at the end nothing
    /// of this is left. They are those of the general rows.
    pub fn hold_on(&self, problem: &mut Problem, impulses: &[f64]) {
        for (r, hold) in self
            .hold
            .iter()
            .enumerate()
            .filter(|(_, hold)| **hold > 0.0)
        {
            problem.rows.bias[r] -= hold * impulses[r];
        }
    }

    /// The rows as they were assembled, which take back of what is open here what is not left.
    pub fn restore_rows(&self, problem: &mut Problem) {
        let rows = &mut problem.rows;
        rows.jacobian.copy_from_slice(&self.here);
        for (r, beta) in self.written.beta.iter().enumerate() {
            let open = self.left[r] * beta / problem.h;
            rows.bias[r] = self.bias[r] - open;
        }
    }

    /// Exchanges the problem's directions and those of the last linearisation.
    pub fn exchange_directions(&mut self, problem: &mut Problem) {
        std::mem::swap(&mut problem.rows.jacobian, &mut self.next.jacobian);
    }

    /// Puts the last linearisation into the problem.
    pub fn relinearise(&mut self, problem: &mut Problem) {
        for (r, _) in (self.written.rows.iter().enumerate())
            .filter(|(_, (_, number))| *number >= number::ACROSS)
        {
            let entries = problem.rows.start[r] as usize..problem.rows.start[r + 1] as usize;
            self.next.jacobian[entries.clone()].copy_from_slice(&problem.rows.jacobian[entries]);
        }
        std::mem::swap(&mut problem.rows.jacobian, &mut self.next.jacobian);
        std::mem::swap(&mut problem.rows.bias, &mut self.next.bias);
    }

    /// Marks the bodies that rows of positions hold.
    pub fn held_bodies(&self, problem: &Problem, held: &mut Vec<bool>) {
        held.clear();
        held.resize(problem.bodies.len(), false);
        for (r, _) in self
            .written
            .beta
            .iter()
            .enumerate()
            .filter(|(_, beta)| **beta > 0.0)
        {
            for body in problem.rows.bodies(r) {
                held[*body as usize] = problem.bodies.is_dynamic(*body as usize);
            }
        }
    }

    /// The impulses to start from, in the order of the rows.
    pub fn start(&self) -> &[f64] {
        &self.written.start
    }

    /// What a row's work is, where its impulse is `lambda` (N s).
    pub fn kind(&self, problem: &Problem, r: usize, lambda: f64) -> RowKind {
        let (_, number) = self.written.rows[r];
        let group = number - number % 6;
        let [past, next] = self.written.target_rates[r];
        match (group, self.written.spring[r]) {
            (number::FRICTION, _) => RowKind::Friction,
            (number::MOTOR, None) => RowKind::Motor,
            (number::LOWER | number::UPPER, None) => RowKind::Stop,
            (_, Some(_)) => RowKind::Spring {
                damper: self.damper(problem, r, lambda),
                target: 0.5 * (past + next),
            },
            (_, None) => RowKind::Rigid,
        }
    }

    /// The damper's share of the impulse `lambda` of a spring's row (N s). Where a bound cuts it off, what the spring alone
    /// does not account for.
    fn damper(&self, problem: &Problem, r: usize, lambda: f64) -> f64 {
        let Some(spring) = self.written.spring[r] else {
            return 0.0;
        };
        let [lo, hi] = problem.rows.bounds[r];
        if lambda > lo && lambda < hi {
            let row = &self.lagged[r];
            let ahead = self.left[r] - problem.rows.compliance[r] * problem.h * lambda;
            return row.damper[0] - row.damper[1] * ahead;
        }
        let force = -spring.stiffness * problem.rows.position_error[r] * problem.h;
        lambda - force.clamp(lo, hi)
    }

    /// Where a spring's law has the next midpoint (m).
    fn aim(&self, problem: &Problem, r: usize, lambda: f64) -> f64 {
        let row = &self.lagged[r];
        -row.lag - row.compliance * problem.h * lambda
    }

    /// Stores impulses and forces for the next step.
    pub fn remember(&self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        let first = problem.contact_rows();
        world.joint_memory.clear();
        for (r, (joint, row)) in self.written.rows.iter().enumerate() {
            if *row >= number::ACROSS {
                continue;
            }
            let impulse = lambda[first + r];
            let force = impulse / problem.h;
            // Where its law has φ₊, w = 0.
            let [aim, damper] = match self.written.spring[r] {
                Some(_) => {
                    [Self::aim, Self::damper].map(|of| of(self, problem, r, lambda[first + r]))
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

    /// Stores the joints' forces.
    pub fn remember_forces(&self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        let first = problem.contact_rows();
        for joint in &mut world.joints {
            joint.force = Vec3::zeros();
        }
        for (r, (index, number)) in self.written.rows.iter().enumerate() {
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
}

/// J M̃⁻¹ Jᵀ of a general row (1/kg).
fn diagonal(problem: &Problem, r: usize) -> f64 {
    let b = &problem.bodies;
    let mut diagonal = 0.0;
    for (body, j) in problem.rows.entries(r) {
        diagonal += j.linear.norm_squared() * b.inverse_mass[body]
            + j.angular.dot(&b.inverse_inertia[body].mul_vec(j.angular));
    }
    diagonal
}

/// What coordinate `k` of a joint is multiplied with to become a length (m).
pub fn row_scale(joint: &Joint, k: usize) -> f64 {
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
    /// By what these are multiplied to become those of this length of step (-).
    scale: f64,
    h: f64,
    /// The largest error so far (m).
    error: f64,
}

pub type Entry = (u32, Twist);

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
                if left > reach {
                    continue;
                }
                let spring = self.spring(length);
                let is_overrun = left < 0.0 && spring.is_none();
                let beta = if is_overrun { LIMIT_BETA } else { 1.0 };
                let bounds = [0.0, f64::INFINITY];
                if spring.is_none() {
                    self.error = self.error.max(-left);
                }
                self.hold(row(number), entries, bounds, left, beta, spring);
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

    /// The rows across a rope that its bounds hold, see [`Workspace::stiffen_ropes`].
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

pub fn scaled(j: &Twist, factor: f64) -> Twist {
    Twist::new(j.linear * factor, j.angular * factor)
}
