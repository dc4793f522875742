//! One block at a time: its velocity, its prox step, and its impulse on the bodies.

use std::ops::Range;

use super::contact_block::solve_contact;
use crate::math::{SymMat3, Twist, Vec3};
use crate::problem::law::{COUPLES, FrictionRow, Law, projection};
use crate::problem::{ContactFrame, Friction, FrictionLaw};

/// A run of things in an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span([u32; 2]);

impl Span {
    /// From `start` up to `end`, which is left out.
    pub fn new(start: usize, end: usize) -> Self {
        Self([start as u32, end as u32])
    }

    /// The indices.
    #[inline(always)]
    pub fn range(self) -> Range<usize> {
        self.0[0] as usize..self.0[1] as usize
    }

    /// How many.
    pub fn len(self) -> u32 {
        self.0[1] - self.0[0]
    }
}

/// A body as a sweep sees it: velocity and M⁻¹ side by side.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct PackedBody {
    pub velocity: Twist,
    pub inverse_inertia: SymMat3,
    pub inverse_mass: f64,
}

impl PackedBody {
    /// Adds M⁻¹ times an impulse `p` at offset `arm`.
    #[inline(always)]
    pub fn push(&mut self, p: Vec3, arm: Vec3) {
        self.velocity.linear += p * self.inverse_mass;
        self.velocity.angular += self.inverse_inertia.mul_vec(arm.cross(&p));
    }

    /// Adds M⁻¹ times a moment.
    #[inline(always)]
    pub fn twist(&mut self, moment: Vec3) {
        self.velocity.angular += self.inverse_inertia.mul_vec(moment);
    }
}

/// What every contact has: all that a disc without compliance needs. 184 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PackedContact {
    /// Bodies, counted within the island.
    pub bodies: [u32; 2],
    pub frame: ContactFrame,
    /// Bias of N, T1, T2, the velocities of bodies that impulses do not move included.
    pub bias: [f64; 3],
    /// R_N and R_T.
    pub r: [f64; 2],
    /// 1/R_N and 1/R_T.
    pub inverse_r: [f64; 2],
    /// A_T1N and A_T2N: what the normal impulse does to the tangential velocity.
    pub coupling: [f64; 2],
    pub mu: f64,
}

/// What the other laws need besides.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    pub friction: Friction,
    /// C of the normal and of the friction rows.
    pub compliance: [f64; 2],
    /// Where the contact's impulses begin in the island's Λ.
    pub offset: u32,
    /// The relative angular velocity about n, t₁ and t₂ of what [`PackedContact::bias`] includes.
    pub turning: [f64; 3],
    /// Biases of the couples.
    pub couple_bias: [f64; COUPLES],
    /// A_T1T1, A_T1T2, A_T2T2 without compliance: redundant rows are swept one after the other.
    pub tangential: [f64; 3],
    /// The relative angular velocity about n, t₁ and t₂ that a unit normal impulse makes.
    pub turning_coupling: [f64; 3],
}

impl Extra {
    /// The contact's impulses in the island's Λ.
    #[inline]
    pub fn rows(&self) -> Range<usize> {
        let first = self.offset as usize;
        first..first + self.friction.law.row_count()
    }

    /// Whether every number that a sweep reads is finite.
    pub fn is_finite(&self) -> bool {
        let Friction { mu, length, .. } = self.friction;
        let sum = mu[1] + length + self.compliance.iter().sum::<f64>();
        let couples = self.turning.iter().chain(&self.couple_bias).sum::<f64>();
        (sum + couples).is_finite()
    }
}

/// What a sweep changed, for the stopping and divergence tests.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// ‖ΔΛ‖∞ (N s).
    pub delta: f64,
    /// Largest ‖ΔΛ‖²/R² of a block (m²/s²).
    pub speed_squared: f64,
    /// Σ |ΔΛ|: not finite as soon as anything is not.
    pub sum: f64,
    /// The smallest change that the sweep's arithmetic resolves (m/s).
    pub rounding: f64,
    /// Largest of |ΔΛ_i| − |Λ_i^k| T_rel (N s), for Nützi 4.49.
    pub beyond: f64,
    /// Σ ΔΛ² and Σ (Λ^k)², for Nützi 4.50.
    pub squares: [f64; 2],
}

impl Default for Change {
    fn default() -> Self {
        Self {
            delta: 0.0,
            speed_squared: 0.0,
            sum: 0.0,
            rounding: 0.0,
            beyond: f64::NEG_INFINITY,
            squares: [0.0; 2],
        }
    }
}

impl Change {
    /// The change of two parts together.
    pub fn merge(&mut self, other: &Change) {
        self.delta = self.delta.max(other.delta);
        self.speed_squared = self.speed_squared.max(other.speed_squared);
        self.sum += other.sum;
        self.rounding = self.rounding.max(other.rounding);
        self.beyond = self.beyond.max(other.beyond);
        self.squares[0] += other.squares[0];
        self.squares[1] += other.squares[1];
    }

    /// Notes the old value and the change of one component.
    #[inline(always)]
    pub fn note(&mut self, old: f64, change: f64, relative: f64) {
        let size = change.abs();
        self.delta = larger(self.delta, size);
        self.sum += size;
        if relative >= 0.0 {
            self.beyond = larger(self.beyond, size - old.abs() * relative);
            self.squares[0] += change * change;
            self.squares[1] += old * old;
        }
    }

    /// Notes ‖ΔΛ‖²/R² of one block.
    #[inline(always)]
    pub fn note_speed(&mut self, squared: f64) {
        self.speed_squared = larger(self.speed_squared, squared);
    }
}

/// [`f64::max`] where `a` is a number, in one instruction instead of five: a NaN of `b` is passed over.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// How a sweep runs.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// What R is multiplied by: 1, or a power of ν after divergence.
    pub scale: f64,
    /// T_rel for [`Change::note`]; negative when Nützi's tests are off.
    pub relative: f64,
    /// ω: Λ ← (1 − ω)Λ + ω Λ_local. The sets are convex, so that a mean of feasible impulses is
    /// feasible. Speeds are noted of the local change, everything else of the real one.
    pub omega: f64,
    /// Whether the friction rows see the change of the normal impulse at once (Gauss–Seidel) or
    /// only in the next iteration (Jacobi).
    pub coupled: bool,
}

/// A change of impulse on the second body in the world frame (N s, N m s).
#[derive(Clone, Copy, Debug)]
pub struct Push {
    pub force: Vec3,
    pub couple: Vec3,
}

/// Λ ← (1 − ω)Λ + ω Λ_local for one block: notes it, and returns the change.
#[inline(always)]
pub(super) fn relax<const N: usize>(
    local: [f64; N],
    lambda: &mut [f64; N],
    inverse_r: [f64; 2],
    sweep: &Sweep,
    change: &mut Change,
) -> [f64; N] {
    let mut step = [0.0; N];
    relax_into(&local, lambda, &mut step, inverse_r, sweep, change);
    step
}

/// The same, where the change goes to `step`.
#[inline(always)]
fn relax_into(
    local: &[f64],
    lambda: &mut [f64],
    step: &mut [f64],
    inverse_r: [f64; 2],
    sweep: &Sweep,
    change: &mut Change,
) {
    let speed = (local[0] - lambda[0]) * inverse_r[0];
    let mut square = 0.0;
    for (k, ((local, lambda), step)) in local.iter().zip(lambda).zip(step).enumerate() {
        let d = local - *lambda;
        if k > 0 {
            square += d * d;
        }
        *step = sweep.omega * d;
        change.note(*lambda, *step, sweep.relative);
        // With ω = 1 without a rounding that could leave the set.
        *lambda = if sweep.omega == 1.0 {
            *local
        } else {
            *lambda + *step
        };
    }
    change.note_speed(speed * speed);
    change.note_speed(square * inverse_r[1] * inverse_r[1]);
}

impl PackedContact {
    /// Whether every number that a sweep reads is finite.
    pub fn is_finite(&self) -> bool {
        // A sum is finite only if every term is.
        let numbers = self.bias.iter().chain(&self.r).chain(&self.coupling);
        let ContactFrame {
            normal,
            tangent,
            arms: [a, b],
        } = self.frame;
        let vectors = [normal, tangent, a, b];
        let sum = numbers.sum::<f64>() + vectors.iter().map(Vec3::sum).sum::<f64>();
        (sum + self.mu).is_finite()
    }

    /// w of N, T1 and T2 without compliance (m/s).
    #[inline(always)]
    fn velocity(&self, bodies: [&PackedBody; 2], [n, t1, t2]: &[Vec3; 3]) -> [f64; 3] {
        let relative =
            bodies[1].velocity.at(self.frame.arms[1]) - bodies[0].velocity.at(self.frame.arms[0]);
        [
            n.dot(&relative) + self.bias[0],
            t1.dot(&relative) + self.bias[1],
            t2.dot(&relative) + self.bias[2],
        ]
    }

    /// w of every row, compliance and bias included (m/s), written to `w`.
    pub fn rows_velocity(
        &self,
        extra: Option<&Extra>,
        bodies: [&PackedBody; 2],
        lambda: &[f64],
        w: &mut [f64],
    ) {
        let axes = self.frame.axes();
        let plain = self.velocity(bodies, &axes);
        let Some(extra) = extra else {
            w.copy_from_slice(&plain);
            return;
        };
        let [cn, ct] = extra.compliance;
        w[0] = plain[0] + cn * lambda[0];
        let w = &mut w[1..];
        let mut turning = [0.0; 3];
        if w.len() > 2 {
            let [first, second] = bodies.map(|b| b.velocity.angular);
            for (k, turning) in turning.iter_mut().enumerate() {
                *turning = axes[k].dot(&(second - first)) + extra.turning[k];
            }
        }
        let tangential = [plain[1], plain[2]];
        let friction = &extra.friction;
        friction.velocities(tangential, turning, extra.couple_bias, w);
        for (w, x) in w.iter_mut().zip(&lambda[1..]) {
            *w += ct * x;
        }
    }

    /// One prox step of a disc contact without compliance (Poulsen 2010, 3.9, in factorized form).
    #[inline(always)]
    pub fn disc_step(
        &self,
        bodies: [&PackedBody; 2],
        lambda: &mut [f64; 3],
        sweep: &Sweep,
        change: &mut Change,
    ) -> Vec3 {
        let axes = self.frame.axes();
        let [n, t1, t2] = axes;
        let d = self.disc_prox(self.velocity(bodies, &axes), lambda, sweep, change);
        n * d[0] + t1 * d[1] + t2 * d[2]
    }

    /// The same from the contact's velocities; the change of its impulses.
    #[inline(always)]
    pub fn disc_prox(
        &self,
        w: [f64; 3],
        lambda: &mut [f64; 3],
        sweep: &Sweep,
        change: &mut Change,
    ) -> [f64; 3] {
        let (rn, rt) = (self.r[0] * sweep.scale, self.r[1] * sweep.scale);
        let normal = larger(0.0, lambda[0] - rn * w[0]);
        let dn = normal - lambda[0];
        let seen = if sweep.coupled { dn } else { 0.0 };
        let z1 = lambda[1] - rt * (w[1] + self.coupling[0] * seen);
        let z2 = lambda[2] - rt * (w[2] + self.coupling[1] * seen);
        let [f1, f2] = projection::disc([z1, z2], self.mu * normal);
        relax([normal, f1, f2], lambda, self.inverse_r, sweep, change)
    }

    /// One prox step of a contact without friction and compliance.
    #[inline(always)]
    pub fn normal_step(
        &self,
        bodies: [&PackedBody; 2],
        lambda: &mut f64,
        sweep: &Sweep,
        change: &mut Change,
    ) -> Vec3 {
        let relative =
            bodies[1].velocity.at(self.frame.arms[1]) - bodies[0].velocity.at(self.frame.arms[0]);
        let w = self.frame.normal.dot(&relative) + self.bias[0];
        let normal = larger(0.0, *lambda - self.r[0] * sweep.scale * w);
        let lambda = std::array::from_mut(lambda);
        let [step] = relax([normal], lambda, self.inverse_r, sweep, change);
        self.frame.normal * step
    }

    /// One prox step of a contact with any law and compliance.
    pub fn general_step(
        &self,
        extra: &Extra,
        bodies: [&PackedBody; 2],
        lambda: &mut [f64],
        sweep: &Sweep,
        change: &mut Change,
    ) -> Push {
        let (mut w, mut step) = ([0.0; FrictionLaw::MAX_ROWS], [0.0; FrictionLaw::MAX_ROWS]);
        let (w, step) = (&mut w[..lambda.len()], &mut step[..lambda.len()]);
        self.rows_velocity(Some(extra), bodies, lambda, w);
        self.general_prox(extra, w, lambda, step, sweep, change);
        self.impulse(Some(extra), step)
    }

    /// The same from the velocities of the contact's rows; the change goes to `step`.
    pub fn general_prox(
        &self,
        extra: &Extra,
        w: &[f64],
        lambda: &mut [f64],
        step: &mut [f64],
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let (rn, rt) = (self.r[0] * sweep.scale, self.r[1] * sweep.scale);
        let mut local = [0.0; FrictionLaw::MAX_ROWS];
        let local = &mut local[..lambda.len()];
        local.copy_from_slice(lambda);
        let normal = larger(0.0, lambda[0] - rn * w[0]);
        local[0] = normal;
        let seen = if sweep.coupled {
            normal - lambda[0]
        } else {
            0.0
        };
        // What the impulses of this step have added to the velocities so far.
        let mut added = [self.coupling[0] * seen, self.coupling[1] * seen];
        let friction = &extra.friction;
        let (new, w) = (&mut local[1..], &w[1..]);
        let [k11, k12, k22] = extra.tangential;
        for (k, ((f, w), row)) in new.iter_mut().zip(w).zip(friction.law.rows()).enumerate() {
            match row {
                FrictionRow::Slide { direction: d } if friction.law.is_redundant() => {
                    let w = w + d[0] * added[0] + d[1] * added[1];
                    let bound = friction.law.row_bound(k, friction.mu) * normal;
                    let next = projection::within(*f - rt * w, bound);
                    let change = next - *f;
                    *f = next;
                    if sweep.coupled {
                        added[0] += (k11 * d[0] + k12 * d[1]) * change;
                        added[1] += (k12 * d[0] + k22 * d[1]) * change;
                    }
                }
                FrictionRow::Slide { direction: d } => {
                    *f -= rt * (w + (d[0] * added[0] + d[1] * added[1]));
                }
                FrictionRow::Turn { axis } => {
                    let turned = extra.turning_coupling[*axis] * seen;
                    *f -= rt * (w + friction.length * turned);
                }
            }
        }
        friction.project(new, normal);
        relax_into(local, lambda, step, self.inverse_r, sweep, change);
    }

    /// The exact solution of a disc contact's own problem instead of a prox step, from the velocities
    /// of its rows and its own block `k` of A; the change. It falls back to the prox step where no
    /// solution is found.
    pub fn exact_prox(
        &self,
        k: &SymMat3,
        w: [f64; 3],
        lambda: &mut [f64; 3],
        sweep: &Sweep,
        change: &mut Change,
    ) -> [f64; 3] {
        let own = k.mul_vec(Vec3::from(*lambda));
        let b = [w[0] - own.x, w[1] - own.y, w[2] - own.z];
        let Some(solved) = solve_contact(k, b, self.mu, *lambda) else {
            return self.disc_prox(w, lambda, sweep, change);
        };
        // The cone is convex: a part of the way is feasible.
        let mut local = solved;
        for (x, old) in local.iter_mut().zip(*lambda) {
            if sweep.scale != 1.0 {
                *x = old + sweep.scale * (*x - old);
            }
        }
        relax(local, lambda, self.inverse_r, sweep, change)
    }

    /// The impulse of a whole block on the second body.
    pub fn impulse(&self, extra: Option<&Extra>, block: &[f64]) -> Push {
        let [n, t1, t2] = self.frame.axes();
        let ([f1, f2], [m0, m1, m2]) = match extra {
            Some(extra) => extra.friction.impulse(&block[1..]),
            None => ([block[1], block[2]], [0.0; 3]),
        };
        Push {
            force: n * block[0] + t1 * f1 + t2 * f2,
            couple: n * m0 + t1 * m1 + t2 * m2,
        }
    }

    /// Applies an impulse to one of the two bodies (`side` 0 or 1).
    #[inline(always)]
    pub fn apply(&self, side: usize, push: &Push, body: &mut PackedBody) {
        let sign = if side == 0 { -1.0 } else { 1.0 };
        body.push(push.force * sign, self.frame.arms[side]);
        if push.couple != Vec3::zeros() {
            body.twist(push.couple * sign);
        }
    }
}
