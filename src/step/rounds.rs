//! Rounds: joints that are closed at the next midpoint (section 2).
//!
//! A row of positions asks for φ(q₊) = 0 at the next midpoint q₊ = q + h u, with an impulse along
//! J̄ = ¼J(q₋) + ½J(q) + ¼J(q₊), and a body for exp(h/2 ω) I ω = exp(−h/2 ω_S) I ω_S + h τ + (J̄ᵀΛ)_ω. Both are solved by
//! Newton's method: each round is a problem w = A Λ + b like any other, linear about the velocities and impulses that the
//! last round found, with the bodies' turning forces as stiffness in its mass matrix alone. What the rounds end at does not
//! depend on that matrix: it stays from round to round as long as they lead nearer (chords), so that its factor serves again.

use super::joints::{self, SHARE};
use super::{integrate, stiffness};
use crate::math::{Quat, SymMat3, Twist, Vec3};
use crate::problem::Problem;
use crate::solve::Budget;
use crate::world::World;

/// Most rounds of a (sub)step. Where they are not enough it does not resolve how its joints turn.
const MAX_ROUNDS: u32 = 15;

/// Rounds in which the least error must become half of what it was.
const PATIENCE: u32 = 5;

/// A step resolves changes of how far a body turns in it up to half a turn (rad): poses repeat after a whole one, so that
/// rounds may end where they are right but for whole turns.
const RESOLVED_TURN: f64 = std::f64::consts::PI;

/// Rounds where the solver itself ends above its tolerance, so that more of them lead nowhere.
pub const ROUGH_ROUNDS: u32 = 3;

/// What the last of these closes of what is open, where joints are rigid to the step (-): what a step closes becomes motion,
/// which a solver that lags behind does not take back in time. Baumgarte's usual share.
pub const ROUGH_SHARE: f64 = 0.2;

/// Least error that rounds are asked for (m/s): at 1/60 s it is 2e-11 m, some last digits of a place 10 km away.
const LEAST_TOLERANCE: f64 = 1e-9;

/// The error at which the joints are closed (m/s): the solver's tolerance, or the usual one where it has none.
pub fn tolerance(budget: &Budget) -> f64 {
    match budget.tolerance {
        0.0 => Budget::default().tolerance,
        tolerance => tolerance.max(LEAST_TOLERANCE),
    }
}

/// How the rounds of a (sub)step go.
#[derive(Default)]
pub struct Progress {
    /// Rounds so far.
    pub rounds: u32,
    /// The error that has to be halved (m/s), and the round that had it.
    best: Option<(f64, u32)>,
    /// The last round's error (m/s), and whether it was less than the one before.
    last: Option<f64>,
    pub is_nearer: bool,
}

impl Progress {
    /// Counts a round that ended at this error; false where more of them lead nowhere.
    pub fn goes_on(&mut self, error: f64) -> bool {
        self.rounds += 1;
        self.is_nearer = self.last.is_none_or(|last| error < last);
        self.last = Some(error);
        match self.best {
            Some((best, round)) if error.is_nan() || error > 0.5 * best => {
                self.rounds < round + PATIENCE && self.rounds < MAX_ROUNDS
            }
            _ => {
                self.best = Some((error, self.rounds));
                self.rounds < MAX_ROUNDS
            }
        }
    }
}

/// A body that joints hold.
struct Held {
    slot: usize,
    /// Inertia at the midpoint, world axes (kg m²).
    inertia: SymMat3,
    /// u_S + h f/m (m/s).
    free: Vec3,
    /// exp(−h/2 ω_S) I ω_S + h τ (N m s).
    momentum: Vec3,
    /// ω_S, and ω without impulses (rad/s).
    before: Vec3,
    turn: Vec3,
    /// Whether its turning forces are left out: more than half a turn a step, which nothing resolves.
    is_wild: bool,
}

/// Reusable memory of the rounds.
#[derive(Default)]
pub struct Rounds {
    held: Vec<Held>,
    marks: Vec<bool>,
    /// u and Λ of the general rows that the round is linear about.
    about: Vec<Twist>,
    impulses: Vec<f64>,
    change: Vec<Twist>,
    /// The held bodies by island: `held` is sorted by it, and this is where each begins.
    groups: Vec<Group>,
}

/// The held bodies of one island, and how its last rounds went.
#[derive(Default)]
struct Group {
    held: std::ops::Range<usize>,
    island: usize,
    past: Vec<Past>,
}

/// A round that is past.
struct Past {
    /// What it was linear about, and how far it led from it, by √mass.
    from: Vec<f64>,
    led: Vec<f64>,
    /// The impulses of the island's general rows that it found.
    impulses: Vec<f64>,
}

/// Rounds that a mix is made of. Mixing more has not made fewer rounds.
const MEMORY: usize = 5;

impl Rounds {
    /// Begins a (sub)step whose problem has its rows and free velocities: the bodies that joints hold are found.
    pub fn begin(&mut self, world: &World, problem: &Problem, held_by: &joints::Workspace) {
        held_by.held_bodies(problem, &mut self.marks);
        self.held.clear();
        self.about.clone_from(&world.bodies.velocity);
        self.about.resize(problem.bodies.len(), Twist::ZERO);
        let (h, b) = (problem.h, &world.bodies);
        for slot in (0..self.marks.len()).filter(|slot| self.marks[*slot]) {
            let inertia = b.inertia[slot].rotated(&b.rotation[slot]);
            let omega = b.velocity[slot].angular;
            let free = problem.bodies.free_velocity[slot].angular;
            let mut held = Held {
                slot,
                inertia,
                free: problem.bodies.free_velocity[slot].linear,
                momentum: Vec3::zeros(),
                before: omega,
                turn: free,
                is_wild: false,
            };
            let torque = b.force(slot).angular * h;
            held.momentum = held.turned(&omega, inertia.mul_vec(omega), h) + torque;
            if !inertia.is_isotropic() {
                let lacks = inertia.mul_vec(free) - held.turned(&free, held.momentum, h);
                if lacks.norm() > 1e-9 * held.momentum.norm() {
                    held.is_wild = true;
                    held.momentum = inertia.mul_vec(omega) + torque;
                } else {
                    self.about[slot].angular = free;
                }
            }
            self.held.push(held);
        }
        let island = |held: &Held| problem.islands.of_body[held.slot];
        self.held.sort_by_key(island);
        self.groups.clear();
        let mut first = 0;
        for chunk in self.held.chunk_by(|a, b| island(a) == island(b)) {
            self.groups.push(Group {
                held: first..first + chunk.len(),
                island: island(&chunk[0]) as usize,
                past: Vec::new(),
            });
            first += chunk.len();
        }
    }

    /// There are none in this (sub)step.
    pub fn clear(&mut self) {
        self.held.clear();
        self.groups.clear();
        self.marks.clear();
    }

    /// Whether joints hold a body, so that its momenta at the ends of the (sub)step balance.
    pub fn holds(&self, slot: usize) -> bool {
        self.marks.get(slot) == Some(&true)
    }

    /// u that the next round is linear about.
    pub fn about(&self) -> &[Twist] {
        &self.about
    }

    /// The bodies of a new linearisation: M̃⁻¹ about the last round's velocities, and free velocities.
    pub fn set_bodies(
        &mut self,
        world: &World,
        problem: &mut Problem,
        stiffness: &mut stiffness::Workspace,
    ) {
        let h = problem.h;
        stiffness.gather_joints(world);
        for held in &self.held {
            let stiff = stiffness.take(held.slot);
            let matrix = stiffness::sum(&held.inertia, &stiff, SHARE * h * h);
            if let Some(inverse) = matrix.inverse() {
                problem.bodies.inverse_inertia[held.slot] = inverse;
            }
        }
        self.change.clear();
        self.change.resize(problem.bodies.len(), Twist::ZERO);
        self.set_free(problem);
    }

    /// What a chord leaves of the present linearisation: all but its right-hand side, which is that of `about`.
    pub fn keep_bodies(&mut self, problem: &mut Problem, joints: &joints::Workspace) {
        joints.shift(problem, &self.about, &self.impulses, &mut self.change);
        self.set_free(problem);
    }

    /// The bodies' velocities without impulses.
    pub fn restore_free(&self, problem: &mut Problem) {
        for held in &self.held {
            problem.bodies.free_velocity[held.slot] = Twist::new(held.free, held.turn);
        }
    }

    /// Free velocities about the last round's. `change` has what its impulses give along its own directions, and not along
    /// those of the problem (N s, N m s).
    fn set_free(&self, problem: &mut Problem) {
        for held in &self.held {
            let slot = held.slot;
            let omega = self.about[slot].angular;
            let (b, more) = (&mut problem.bodies, &self.change[slot]);
            let lacks = held.spin(&omega, problem.h) - held.momentum - more.angular;
            b.free_velocity[slot] = Twist::new(
                held.free + more.linear * b.inverse_mass[slot],
                omega - b.inverse_inertia[slot].mul_vec(lacks),
            );
        }
    }

    /// How far the velocities are from the momentum of the impulses (m/s), along the problem's directions.
    pub fn momentum_left(&mut self, problem: &Problem, lambda: &[f64], velocity: &[Twist]) -> f64 {
        problem.momenta(lambda, &mut self.change);
        let b = &problem.bodies;
        let left = self.held.iter().map(|held| {
            let (u, p) = (&velocity[held.slot], &self.change[held.slot]);
            let inverse = b.inverse_mass[held.slot];
            let linear = u.linear - held.free - p.linear * inverse;
            let angular = held.spin(&u.angular, problem.h) - held.momentum - p.angular;
            let turned = b.inverse_inertia[held.slot].mul_vec(angular);
            (linear.norm_squared() + angular.dot(&turned) * inverse).sqrt()
        });
        left.fold(0.0, f64::max)
    }

    /// Mixes what the last rounds have found such that what is left of their changes is least (Anderson 1965): a secant
    /// method that makes up for what the matrix leaves out. Rounds of an earlier matrix count as well, since what they end at
    /// is the same. The next one is linear about it. False where that is what the last round has found.
    pub fn mix(&mut self, problem: &Problem, lambda: &[f64], velocity: &[Twist]) -> bool {
        let found = &lambda[problem.contact_rows()..];
        let mut is_mixed = false;
        self.impulses.clear();
        self.impulses.extend_from_slice(found);
        for group in &mut self.groups {
            let held = &self.held[group.held.clone()];
            let rows = problem.islands.rows.of(group.island);
            let mut from = Vec::with_capacity(6 * held.len());
            let mut led = Vec::with_capacity(6 * held.len());
            for body in held {
                let [mass, inertia] = body.weights(problem);
                let (x, g) = (&self.about[body.slot], &velocity[body.slot]);
                for k in 0..3 {
                    from.push(mass * x.linear[k]);
                    led.push(mass * (g.linear[k] - x.linear[k]));
                }
                for k in 0..3 {
                    from.push(inertia * x.angular[k]);
                    led.push(inertia * (g.angular[k] - x.angular[k]));
                }
            }
            if group.past.len() > MEMORY {
                group.past.remove(0);
            }
            let n = group.past.len();
            let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
            let minus = |a: &[f64], b: &[f64]| -> Vec<f64> {
                a.iter().zip(b).map(|(a, b)| a - b).collect()
            };
            let differences: Vec<[Vec<f64>; 2]> = group
                .past
                .iter()
                .map(|past| [minus(&from, &past.from), minus(&led, &past.led)])
                .collect();
            let mut matrix = nalgebra::DMatrix::zeros(n, n);
            let mut right = nalgebra::DVector::zeros(n);
            for i in 0..n {
                for j in 0..n {
                    matrix[(i, j)] = dot(&differences[i][1], &differences[j][1]);
                }
                right[i] = dot(&differences[i][1], &led);
            }
            for i in 0..n {
                matrix[(i, i)] *= 1.0 + 1e-12;
            }
            let gamma = matrix.cholesky().map(|c| c.solve(&right));
            let gamma = gamma.filter(|_| n > 0);
            let mut next: Vec<f64> = from.iter().zip(&led).map(|(x, f)| x + f).collect();
            if let Some(gamma) = &gamma {
                is_mixed = true;
                for ((gamma, [dx, df]), past) in gamma.iter().zip(&differences).zip(&group.past) {
                    for ((next, dx), df) in next.iter_mut().zip(dx).zip(df) {
                        *next -= gamma * (dx + df);
                    }
                    for (row, past) in rows.iter().zip(&past.impulses) {
                        self.impulses[*row as usize] -= gamma * (found[*row as usize] - past);
                    }
                }
            }
            for (body, next) in held.iter().zip(next.chunks(6)) {
                if gamma.is_none() {
                    self.about[body.slot] = velocity[body.slot];
                    continue;
                }
                let [mass, inertia] = body.weights(problem);
                self.about[body.slot] = Twist::new(
                    Vec3::new(next[0], next[1], next[2]) / mass,
                    Vec3::new(next[3], next[4], next[5]) / inertia,
                );
            }
            let impulses = rows.iter().map(|row| found[*row as usize]);
            group.past.push(Past {
                from,
                led,
                impulses: impulses.collect(),
            });
        }
        is_mixed
    }

    /// Λ of the general rows that the next round is linear about.
    pub fn impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// Whether no body's turning changes by more than the step resolves.
    pub fn are_resolved(&self, h: f64, velocity: &[Twist]) -> bool {
        self.held
            .iter()
            .all(|held| (velocity[held.slot].angular - held.before).norm() * h <= RESOLVED_TURN)
    }

    /// Gives the bodies of islands the velocities of exactly the momentum of the impulses, where these are the
    /// round's but for `tolerance` (m/s at a radius of gyration): momentum is then kept to rounding. On a taut cable, whose
    /// turning forces exceed its links' inertia by far, it is kept as well as the rounds are solved.
    pub fn balance(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        tolerance: f64,
        velocity: &mut [Twist],
    ) {
        let h = problem.h;
        problem.momenta(lambda, &mut self.change);
        for group in &self.groups {
            let held = &self.held[group.held.clone()];
            let exact = held.iter().map(|held| {
                let found = velocity[held.slot].angular;
                let momentum = held.momentum + self.change[held.slot].angular;
                let exact = match held.is_wild || held.inertia.is_isotropic() {
                    true => held.inertia.inverse()?.mul_vec(momentum),
                    false => integrate::spin_of(&held.inertia, momentum, found, h)?,
                };
                let change = exact - found;
                let energy = change.dot(&held.inertia.mul_vec(change));
                let size = (energy * problem.bodies.inverse_mass[held.slot]).sqrt();
                (size <= tolerance).then_some(exact)
            });
            if let Some(exact) = exact.collect::<Option<Vec<Vec3>>>() {
                for (held, exact) in held.iter().zip(exact) {
                    let slot = held.slot;
                    let push = self.change[slot].linear * problem.bodies.inverse_mass[slot];
                    let linear = held.free + push;
                    velocity[slot] = Twist::new(linear, exact);
                }
            }
        }
    }
}

impl Held {
    /// Roots of its mass and of its mean moment of inertia, by which changes of its velocity count.
    fn weights(&self, problem: &Problem) -> [f64; 2] {
        let i = &self.inertia;
        let mean = (i.xx + i.yy + i.zz) / 3.0;
        [1.0 / problem.bodies.inverse_mass[self.slot], mean].map(f64::sqrt)
    }

    /// exp(h/2 ω) I ω.
    fn spin(&self, omega: &Vec3, h: f64) -> Vec3 {
        self.turned(omega, self.inertia.mul_vec(*omega), -h)
    }

    /// exp(−h/2 ω) L.
    fn turned(&self, omega: &Vec3, momentum: Vec3, h: f64) -> Vec3 {
        match self.is_wild || self.inertia.is_isotropic() {
            true => momentum,
            false => Quat::from_scaled_axis(omega * (-0.5 * h)) * momentum,
        }
    }
}
