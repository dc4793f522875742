//! The bodies that joints hold: each balances exp(h/2 ω) I ω = exp(−h/2 ω_S) I ω_S + h τ + (J̄ᵀΛ)_ω with the rows' impulses.

use super::linear::{Linearisation, SHARE};
use super::rows::Table;
use super::stiffness;
use crate::math::{Quat, SymMat3, Twist, Vec3};
use crate::problem::Problem;
use crate::step::integrate;
use crate::world::World;

/// A step resolves changes of how far a body turns in it up to half a turn (rad): poses repeat after a whole one, so that
/// rounds may end where they are right but for whole turns.
const RESOLVED_TURN: f64 = std::f64::consts::PI;

/// A body that joints hold.
pub struct Held {
    pub slot: usize,
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

/// The bodies of a (sub)step that joints hold. Keeps its memory.
#[derive(Default)]
pub struct HeldBodies {
    held: Vec<Held>,
    marks: Vec<bool>,
    /// The momenta of impulses, or what they change by (N s, N m s).
    change: Vec<Twist>,
    stiffness: stiffness::Workspace,
    /// Islands, and where the bodies of each are in `held`.
    pub islands: Vec<(usize, std::ops::Range<usize>)>,
}

impl HeldBodies {
    /// Finds the bodies that rows of positions hold, of a problem that has its rows and free velocities. `about` becomes the
    /// velocities that the first round is linear about.
    pub fn begin(
        &mut self,
        world: &World,
        problem: &Problem,
        table: &Table,
        about: &mut Vec<Twist>,
    ) {
        self.marks.clear();
        self.marks.resize(problem.bodies.len(), false);
        for (r, _) in table.positions() {
            for body in problem.rows.bodies(r) {
                self.marks[*body as usize] = problem.bodies.is_dynamic(*body as usize);
            }
        }
        self.held.clear();
        about.clone_from(&world.bodies.velocity);
        about.resize(problem.bodies.len(), Twist::ZERO);
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
                    about[slot].angular = free;
                }
            }
            self.held.push(held);
        }
        let island = |held: &Held| problem.islands.of_body[held.slot];
        self.held.sort_by_key(island);
        self.islands.clear();
        let mut first = 0;
        for chunk in self.held.chunk_by(|a, b| island(a) == island(b)) {
            let bodies = first..first + chunk.len();
            first = bodies.end;
            self.islands.push((island(&chunk[0]) as usize, bodies));
        }
    }

    /// There are none in this (sub)step.
    pub fn clear(&mut self) {
        self.held.clear();
        self.islands.clear();
        self.marks.clear();
    }

    /// Whether joints hold a body, so that its momenta at the ends of the (sub)step balance.
    pub fn holds(&self, slot: usize) -> bool {
        self.marks.get(slot) == Some(&true)
    }

    /// Some of them.
    pub fn of(&self, bodies: &std::ops::Range<usize>) -> &[Held] {
        &self.held[bodies.clone()]
    }

    /// The bodies of a new linearisation: M̃⁻¹ by the joints' last forces, and free velocities about `about`.
    pub fn set(&mut self, world: &World, problem: &mut Problem, about: &[Twist]) {
        let h = problem.h;
        self.stiffness.gather_joints(world);
        for held in &self.held {
            let stiff = self.stiffness.take(held.slot);
            let matrix = stiffness::sum(&held.inertia, &stiff, SHARE * h * h);
            if let Some(inverse) = matrix.inverse() {
                problem.bodies.inverse_inertia[held.slot] = inverse;
            }
        }
        self.change.clear();
        self.change.resize(problem.bodies.len(), Twist::ZERO);
        self.set_free(problem, about);
    }

    /// What a chord leaves of the bodies: all but their right-hand side, which is that of a linearisation about these
    /// velocities and the general rows' impulses.
    pub fn shift(
        &mut self,
        problem: &mut Problem,
        table: &Table,
        next: &Linearisation,
        about: &[Twist],
        impulses: &[f64],
    ) {
        next.shift(problem, table, about, impulses, &mut self.change);
        self.set_free(problem, about);
    }

    /// The bodies' velocities without impulses, and what they are moved by: stiffness that only a round's matrix has would
    /// be mass that comes and goes.
    pub fn restore(&self, problem: &mut Problem) {
        for held in &self.held {
            problem.bodies.free_velocity[held.slot] = held.without_impulses();
            if let Some(inverse) = held.inertia.inverse() {
                problem.bodies.inverse_inertia[held.slot] = inverse;
            }
        }
    }

    /// Free velocities about `about`. `change` has what its impulses give along its own directions, and not along
    /// those of the problem (N s, N m s).
    fn set_free(&self, problem: &mut Problem, about: &[Twist]) {
        for held in &self.held {
            let slot = held.slot;
            let omega = about[slot].angular;
            let (b, more) = (&mut problem.bodies, &self.change[slot]);
            let lacks = held.spin(&omega, problem.h) - held.momentum - more.angular;
            b.free_velocity[slot] = Twist::new(
                held.free + more.linear * b.inverse_mass[slot],
                omega - b.inverse_inertia[slot].mul_vec(lacks),
            );
        }
    }

    /// How far the velocities are from the momentum of the impulses along such directions (m/s).
    pub fn momentum_left(
        &mut self,
        problem: &Problem,
        directions: &[Twist],
        lambda: &[f64],
        velocity: &[Twist],
    ) -> f64 {
        problem.momenta_along(directions, lambda, &mut self.change);
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

    /// Whether no body's turning changes by more than the step resolves.
    pub fn are_resolved(&self, h: f64, velocity: &[Twist]) -> bool {
        are_resolved(&self.held, h, velocity)
    }

    /// Gives the bodies of islands the velocities of exactly the momentum of the impulses along `directions`, where these are the
    /// round's but for `tolerance` (m/s at a radius of gyration): momentum is then kept to rounding. On a taut cable, whose
    /// turning forces exceed its links' inertia by far, it is kept as well as the rounds are solved.
    pub fn balance(
        &mut self,
        problem: &Problem,
        directions: &[Twist],
        lambda: &[f64],
        tolerance: f64,
        velocity: &mut [Twist],
    ) {
        let h = problem.h;
        problem.momenta_along(directions, lambda, &mut self.change);
        for (_, bodies) in &self.islands {
            let held = &self.held[bodies.clone()];
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

/// The same of some of them.
pub fn are_resolved(held: &[Held], h: f64, velocity: &[Twist]) -> bool {
    held.iter()
        .all(|held| (velocity[held.slot].angular - held.before).norm() * h <= RESOLVED_TURN)
}

impl Held {
    /// Its velocity without impulses.
    pub fn without_impulses(&self) -> Twist {
        Twist::new(self.free, self.turn)
    }

    /// Roots of its mass and of its mean moment of inertia, by which changes of its velocity count.
    pub fn weights(&self, problem: &Problem) -> [f64; 2] {
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
