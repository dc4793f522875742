//! The rows of positions, linear about a next midpoint q₊ = q + h u.

use super::entry::number;
use super::loops::Loops;
use super::positions::Positions;
use super::rows::{Table, diagonal};
use crate::math::Twist;
use crate::problem::Problem;
use crate::world::World;
use crate::world::joint::{Joint, JointKind};

/// The share of J(q₋) and of J(q₊) in a row's direction (-): Newmark's β, which makes taut cables stable at every step
/// length and dampens nothing.
pub const SHARE: f64 = 0.25;

/// The same of a rigid distance, in the mean of its lengths d there: along J̄ = (d₋ J(q₋) + d₊ J(q₊))/(d₋ + d₊) its impulse does the
/// work Λ (d₊ − d₋)/(2h) to the last digit, however far it turns. What catches a rope gives it nothing.
pub const ROPE_SHARE: f64 = 0.5;

/// Directions and biases of all general rows about some velocities u.
#[derive(Default)]
pub struct Linearisation {
    /// J̄ = ¼J(q₋) + ½J(q) + ¼J(q₊), per entry of the problem's rows.
    pub jacobian: Vec<Twist>,
    /// Biases, per row (m/s).
    bias: Vec<f64>,
    /// w of the rows at q₊, without C Λ (m/s).
    velocity: Vec<f64>,
}

impl Linearisation {
    /// How far rows of positions among these are from their laws at the next midpoint, with these impulses (m/s). What holds those of
    /// loops to a centre is a part of the laws where that `stays`.
    pub fn gap(
        &self,
        problem: &Problem,
        table: &Table,
        (loops, stays): (&Loops, bool),
        lambda: &[f64],
        rows: impl Iterator<Item = usize>,
    ) -> f64 {
        let first = problem.contact_rows();
        let mut worst = 0.0_f64;
        for r in rows.filter(|r| table.beta[*r] > 0.0) {
            let lambda = lambda[first + r];
            let compliance = problem.rows.compliance[r];
            let gives = match stays || loops.give[r] {
                true => compliance * lambda - loops.pull(r),
                false => (compliance - loops.hold[r]) * lambda,
            };
            let w = self.velocity[r] + gives;
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

    /// Puts it into the problem, but for the rows across ropes, and keeps the directions and biases that were there.
    pub fn exchange(&mut self, problem: &mut Problem, table: &Table) {
        let rows = &mut problem.rows;
        for r in table.across() {
            let entries = rows.start[r] as usize..rows.start[r + 1] as usize;
            self.jacobian[entries.clone()].copy_from_slice(&rows.jacobian[entries]);
        }
        std::mem::swap(&mut rows.jacobian, &mut self.jacobian);
        std::mem::swap(&mut rows.bias, &mut self.bias);
    }

    /// The problem's directions stay, and its biases become those of this linearisation, about `u` and the general rows'
    /// `impulses`. `change` becomes what these give along these directions and not along the problem's (N s, N m s).
    pub fn shift(
        &self,
        problem: &mut Problem,
        table: &Table,
        u: &[Twist],
        impulses: &[f64],
        change: &mut Vec<Twist>,
    ) {
        change.clear();
        change.resize(problem.bodies.len(), Twist::ZERO);
        let rows = &mut problem.rows;
        for (r, _) in table.positions() {
            let mut along = 0.0;
            for at in rows.start[r] as usize..rows.start[r + 1] as usize {
                let (old, new) = (&rows.jacobian[at], &self.jacobian[at]);
                let body = rows.body[at] as usize;
                along += old.linear.dot(&u[body].linear) + old.angular.dot(&u[body].angular);
                change[body].linear += (new.linear - old.linear) * impulses[r];
                change[body].angular += (new.angular - old.angular) * impulses[r];
            }
            rows.bias[r] = self.velocity[r] - along;
        }
    }
}

/// Bodies that had an impact at this midpoint, before the (sub)step goes on: their velocities lead to no midpoint behind, and it
/// is as if they had begun at this one, which takes what motion their impulses do not agree with, and gives none.
#[derive(Default)]
pub struct Struck {
    /// By slot.
    pub are_struck: Vec<bool>,
    /// The velocities of all bodies before; none where there was no impact.
    pub came: Vec<Twist>,
}

impl Struck {
    fn is_struck(&self, body: u32) -> bool {
        self.are_struck.get(body as usize) == Some(&true)
    }

    /// Adds those of an impact, before which all bodies had these velocities.
    pub fn add(&mut self, are_struck: &[bool], velocity: &[Twist]) {
        if self.came.is_empty() {
            self.came.extend_from_slice(velocity);
        }
        self.are_struck.resize(are_struck.len(), false);
        for (known, now) in self.are_struck.iter_mut().zip(are_struck) {
            *known |= now;
        }
    }

    /// There are none.
    pub fn clear(&mut self) {
        self.are_struck.clear();
        self.came.clear();
    }
}

/// The joints at the last midpoint, at this one, and where the next one is expected. Keeps its memory.
#[derive(Default)]
pub struct Midpoints {
    pub behind: Positions,
    pub ahead: Positions,
    /// ¼J(q₋) + ½J(q), per entry of the problem's rows; zero for rows of velocities.
    settled: Vec<Twist>,
    /// The rows as they were assembled: J(q), and their biases.
    here: Vec<Twist>,
    bias: Vec<f64>,
    /// Which bodies touch something.
    touches: Vec<bool>,
    /// The lengths at the last midpoint of rows that are distances (m).
    lengths: Vec<Option<f64>>,
}

impl Midpoints {
    /// What does not change over a (sub)step's rounds: the directions behind and here.
    pub fn begin(&mut self, world: &World, problem: &Problem, table: &Table, struck: &Struck) {
        self.touches.clear();
        self.touches.resize(problem.bodies.len(), false);
        for body in problem.contacts.bodies.iter().flatten() {
            self.touches[*body as usize] = problem.bodies.is_dynamic(*body as usize);
        }
        let came = match struck.came.is_empty() {
            true => &world.bodies.velocity,
            false => &struck.came,
        };
        self.behind.find(world, came, -problem.h);
        self.here.clone_from(&problem.rows.jacobian);
        self.bias.clone_from(&problem.rows.bias);
        self.settled.clear();
        self.settled.resize(self.here.len(), Twist::ZERO);
        self.lengths.clear();
        self.lengths.resize(table.rows.len(), None);
        // After a step of another length the last midpoint is none of this one's, and positions were mended; and where a rope
        // was too long there, it would give what it never took.
        let accuracy = (world.settings.stabilisation.gap_accuracy()).max(1e-6 * problem.h);
        let is_new = world.memory_scale(problem.h) != 1.0;
        for (r, (index, number)) in table.rows.iter().enumerate() {
            let mut at = problem.rows.start[r] as usize;
            let bodies = problem.rows.bodies(r);
            let (joints, index) = (&world.joints, *index as usize);
            let is_rigid = table.is_rigid(r);
            let is_rope = is_rigid && joints[index].kind == JointKind::Distance;
            let behind = (self.behind).visit_row(joints, index, *number, |_, _| {});
            let is_open = |left: f64| match problem.rows.is_bilateral(r) {
                true => left.abs() > accuracy,
                false => left < -accuracy,
            };
            let is_first = is_rigid
                && (is_new || bodies.iter().any(|body| struck.is_struck(*body)))
                || is_rope && behind.is_some_and(is_open);
            let length = match is_first {
                true => table.geometry[index].length(&joints[index]),
                false => self.behind.length(joints, index),
            };
            let length = length.filter(|_| is_rigid);
            self.lengths[r] = length;
            let shares = match length {
                Some(length) => [length, 0.0],
                None => [SHARE, 1.0 - 2.0 * SHARE],
            };
            (self.behind).visit_row(joints, index, *number, |_, j| {
                let here = &self.here[at];
                let behind = if is_first { here } else { j };
                self.settled[at] = weighted([behind, here], shares);
                at += 1;
            });
        }
    }

    /// Linearises the rows of positions about the next midpoint, where the velocities `u` lead; of what is open of each,
    /// so much is `left` (m).
    ///
    /// Angles of what touches something are linear in u. A wheel that rolls at s and yaws at ω ends along an axis that has
    /// turned by h ω, so that its u_E turns about the axis halfway: at this midpoint, where contacts are, it seems to roll
    /// over by ½ h s ω, and they would bear against that.
    pub fn linearise(
        &mut self,
        world: &World,
        problem: &Problem,
        table: &Table,
        left: &[f64],
        u: &[Twist],
        next: &mut Linearisation,
    ) {
        let h = problem.h;
        self.ahead.find(world, u, h);
        next.jacobian.clear();
        next.jacobian.extend_from_slice(&problem.rows.jacobian);
        next.bias.clear();
        next.bias.extend_from_slice(&problem.rows.bias);
        next.velocity.clear();
        next.velocity.resize(problem.rows.len(), 0.0);
        for (r, (index, number)) in table.rows.iter().enumerate() {
            let beta = table.beta[r];
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
            let ahead = self.ahead.length(joints, *index as usize);
            let shares = match self.lengths[r].zip(ahead) {
                Some((behind, ahead)) => {
                    let all = (behind + ahead).max(f64::MIN_POSITIVE);
                    [1.0 / all, ahead / all]
                }
                None => [1.0, SHARE],
            };
            let value = (self.ahead).visit_row(joints, *index as usize, *number, |body, j| {
                let u = &u[body as usize];
                let mean = weighted([&self.settled[at], j], shares);
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
                    let [_, target] = table.target_rates[r];
                    problem.rows.position_error[r] + h * (along - target)
                }
                false => value,
            };
            next.bias[r] = beta * ((error - left[r]) / h - along);
            next.velocity[r] = next.bias[r] + along;
        }
    }

    /// The rows as they were assembled. What is open of rigid ones stays.
    pub fn restore(&self, problem: &mut Problem, table: &Table, left: &[f64]) {
        let h = problem.h;
        let rows = &mut problem.rows;
        rows.jacobian.copy_from_slice(&self.here);
        for (r, beta) in table.beta.iter().enumerate() {
            let open = match table.is_rigid(r) {
                true if rows.is_bilateral(r) => rows.position_error[r],
                true => rows.position_error[r].min(0.0),
                false => left[r] * beta,
            };
            rows.bias[r] = self.bias[r] - open / h;
        }
    }
}

fn weighted([a, b]: [&Twist; 2], [x, y]: [f64; 2]) -> Twist {
    Twist::new(a.linear * x + b.linear * y, a.angular * x + b.angular * y)
}
