//! What is open of rigid joints is closed by positions, where velocities would throw the bodies about: after a change of
//! the step's length, and after steps whose rounds have not closed them.

use super::entry::number;
use super::positions::Positions;
use super::rows::diagonal;
use crate::math::{Pose, SymMat3, Twist, rotate_by};
use crate::problem::Problem;
use crate::solve::{Request, Solver};
use crate::world::World;
use crate::world::joint::{Joint, JointKind, Motion};

/// Newton steps in which the joints are to be closed.
const MOST_STEPS: u32 = 20;

/// The least share of a Newton step (-).
const LEAST_SHARE: f64 = 1.0 / 32.0;

/// What keeps redundant rows apart, as a share of their own diagonal (-). What it leaves open the next Newton step closes.
const LEAST_COMPLIANCE: f64 = 1e-9;

/// What is to be closed, and how.
pub struct Mend {
    /// Length of the step whose midpoint is ahead (s).
    pub h: f64,
    /// How far that is ahead, and how long after the midpoint at which the joints' angles were noted (s).
    pub ahead: [f64; 2],
    /// What may stay open of a row (m), and by how much one is closed at most, beyond what it has opened since (m).
    pub accuracy: f64,
    pub most: f64,
    /// Whether stops alone are closed, and the rest stays as it is.
    pub only_stops: bool,
}

/// Closes the rigid rows of all joints at the next midpoint by the displacements of least Σ ½ δᵀ M δ; contacts are not asked.
/// Keeps its memory.
#[derive(Default)]
pub struct Mending {
    ahead: Positions,
    /// The last midpoint.
    behind: Positions,
    problem: Problem,
    /// What stays open, per row of the problem (m).
    left: Vec<f64>,
    /// Where the bodies are before a Newton step.
    place: Vec<Pose>,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
}

impl Mending {
    /// Moves the bodies of joints that are open.
    pub fn close(&mut self, world: &mut World, mend: &Mend, solver: &mut dyn Solver) {
        if mend.only_stops && !self.are_overrun(world, mend) {
            return;
        }
        let mut last = self.find(world, mend, true);
        for _ in 0..MOST_STEPS {
            if last <= mend.accuracy || !self.solve(solver) {
                return;
            }
            self.place.clear();
            let b = &world.bodies;
            self.place.extend((0..b.slots()).map(|slot| b.pose(slot)));
            // A step that leads no nearer is halved: light links turn far.
            let mut share = 1.0;
            let open = loop {
                self.go(world, share * mend.h);
                let open = self.find(world, mend, false);
                if open <= (1.0 - 0.5 * share) * last || share <= LEAST_SHARE {
                    break open;
                }
                share *= 0.5;
            };
            if open.is_nan() || open >= last {
                self.go(world, 0.0);
                return;
            }
            last = open;
        }
    }

    /// Whether some rigid stop is overrun at the next midpoint.
    fn are_overrun(&mut self, world: &World, mend: &Mend) -> bool {
        let velocity = &world.bodies.velocity;
        self.ahead.find_at(world, velocity, mend.ahead);
        let joints = &world.joints;
        joints.iter().enumerate().any(|(index, joint)| {
            let mut stops = rigid_rows(joint).filter(|number| *number >= number::LOWER);
            stops.any(|number| {
                let left = self.ahead.visit_row(joints, index, number, |_, _| {});
                left.is_some_and(|left| left < -mend.accuracy)
            })
        })
    }

    /// Solves the problem; whether that has led to anything.
    fn solve(&mut self, solver: &mut dyn Solver) -> bool {
        self.lambda.clear();
        self.lambda.resize(self.problem.row_count(), 0.0);
        let mut request = Request::default();
        let iterations = &mut request.budget.iterations;
        *iterations = (*iterations).max(solver.info().least_iterations);
        let (lambda, velocity) = (&mut self.lambda, &mut self.velocity);
        let report = solver.solve(&self.problem, &request, lambda, velocity);
        report.status.is_usable()
    }

    /// Takes the bodies from where they were to where the solution leads in such a time (s).
    fn go(&self, world: &mut World, time: f64) {
        let b = &mut world.bodies;
        for (slot, (u, place)) in self.velocity.iter().zip(&self.place).enumerate() {
            if b.is_dynamic(slot) && *u != Twist::ZERO {
                b.position[slot] = place.position + u.linear * time;
                b.rotation[slot] = rotate_by(&place.rotation, u.angular, time);
            }
        }
    }

    /// Sets up the problem of the next midpoint, and says how far the worst row is open beyond what is left of it (m).
    fn find(&mut self, world: &World, mend: &Mend, is_first: bool) -> f64 {
        let velocity = &world.bodies.velocity;
        self.ahead.find_at(world, velocity, mend.ahead);
        if is_first {
            self.left.clear();
            let [ahead, since] = mend.ahead;
            self.behind.find_at(world, velocity, [ahead - since, 0.0]);
        }
        self.set_bodies(world, mend.h);
        let mut worst = 0.0_f64;
        let mut entries = Vec::with_capacity(4);
        for (index, joint) in world.joints.iter().enumerate() {
            for number in rigid_rows(joint) {
                entries.clear();
                let all = &mut entries;
                let value = self
                    .ahead
                    .visit_row(&world.joints, index, number, |body, j| all.push((body, *j)));
                let Some(value) = value.filter(|value| value.is_finite()) else {
                    continue;
                };
                let problem = &mut self.problem;
                let is_limit = number >= number::LOWER;
                let bounds = match is_limit {
                    true => [0.0, f64::INFINITY],
                    false => [f64::NEG_INFINITY, f64::INFINITY],
                };
                let at = problem.rows.len();
                if is_first {
                    let open = |value: f64| if is_limit { value.min(0.0) } else { value };
                    let before = self
                        .behind
                        .visit_row(&world.joints, index, number, |_, _| {})
                        .map_or(0.0, open);
                    let open = open(value);
                    let most = match mend.only_stops && !is_limit {
                        true => 0.0,
                        false => mend.most + (open.abs() - before.abs()).max(0.0),
                    };
                    self.left.push(open - open.clamp(-most, most));
                }
                // A limit may be approached as far as there is room.
                let open = value - self.left[at];
                problem.push_row(entries.iter(), bounds, open / mend.h, 0.0, value);
                let diagonal = diagonal(problem, at);
                problem.rows.compliance[at] = LEAST_COMPLIANCE * diagonal;
                if diagonal > 0.0 {
                    worst = worst.max(if is_limit { -open } else { open.abs() });
                } else {
                    // Nothing moves it.
                    problem.rows.bias[at] = 0.0;
                }
            }
        }
        self.problem.finish();
        worst
    }

    fn set_bodies(&mut self, world: &World, h: f64) {
        let (b, problem) = (&world.bodies, &mut self.problem);
        problem.clear();
        problem.h = h;
        for slot in 0..b.slots() {
            let (mass, inertia) = match b.is_dynamic(slot) {
                true => {
                    let inertia = b.inverse_inertia(slot).rotated(&b.rotation[slot]);
                    (b.inverse_mass[slot], inertia)
                }
                false => (0.0, SymMat3::ZERO),
            };
            problem.push_body(mass, inertia, Twist::ZERO);
        }
    }
}

/// The numbers of the rows of positions of a joint that give way by nothing, however far away limits are.
fn rigid_rows(joint: &Joint) -> impl Iterator<Item = u8> {
    let softness = &joint.softness;
    let is_rigid = |k: usize| match Joint::is_length(k) && !is_gear(joint) {
        true => softness.compliance == 0.0,
        false => softness.angular_compliance == 0.0,
    };
    let all = (0..6).filter(move |k| joint.enabled && is_rigid(*k));
    all.flat_map(|k| {
        let row = |number: u8| number + k as u8;
        let motion = joint.axes[k].motion;
        match motion {
            _ if is_gear(joint) => [(k == 0).then_some(number::LOCK), None],
            _ if motion.held().is_some() => [Some(row(number::LOCK)), None],
            Motion::Limited(_) => [Some(row(number::LOWER)), Some(row(number::UPPER))],
            _ => [None; 2],
        }
    })
    .flatten()
}

fn is_gear(joint: &Joint) -> bool {
    matches!(joint.kind, JointKind::Gear(_))
}
