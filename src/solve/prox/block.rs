//! One block at a time: its velocity, its prox step, and its impulse on the bodies.

use crate::math::{SymMat3, Twist, Vec3};
use crate::problem::FrictionLaw;

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
    pub normal: Vec3,
    pub tangent: Vec3,
    pub arms: [Vec3; 2],
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
    pub law: FrictionLaw,
    pub mu: [f64; 2],
    /// C of the normal and of the friction rows.
    pub compliance: [f64; 2],
    /// Where the contact's impulses begin in the island's Λ.
    pub offset: u32,
    pub spin_radius: f64,
    /// Bias of the spin row.
    pub spin_bias: f64,
    /// A_T1T1, A_T1T2, A_T2T2 without compliance: pyramids are swept row by row.
    pub tangential: [f64; 3],
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
        self.delta = self.delta.max(size);
        self.sum += size;
        if relative >= 0.0 {
            self.beyond = self.beyond.max(size - old.abs() * relative);
            self.squares[0] += change * change;
            self.squares[1] += old * old;
        }
    }

    /// Notes ‖ΔΛ‖²/R² of one block.
    #[inline(always)]
    pub fn note_speed(&mut self, squared: f64) {
        self.speed_squared = self.speed_squared.max(squared);
    }
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

/// A change of impulse on the second body: in the world frame, and the spin moment about n.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    pub force: Vec3,
    pub moment: f64,
}

impl PackedContact {
    /// n, t₁, t₂.
    #[inline(always)]
    pub fn axes(&self) -> [Vec3; 3] {
        [self.normal, self.tangent, self.normal.cross(&self.tangent)]
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
        let relative = bodies[1].velocity.at(self.arms[1]) - bodies[0].velocity.at(self.arms[0]);
        let [n, t1, t2] = self.axes();
        let w = [
            n.dot(&relative) + self.bias[0],
            t1.dot(&relative) + self.bias[1],
            t2.dot(&relative) + self.bias[2],
        ];
        let (rn, rt) = (self.r[0] * sweep.scale, self.r[1] * sweep.scale);
        let normal = (lambda[0] - rn * w[0]).max(0.0);
        let dn = normal - lambda[0];
        let seen = if sweep.coupled { dn } else { 0.0 };
        let z1 = lambda[1] - rt * (w[1] + self.coupling[0] * seen);
        let z2 = lambda[2] - rt * (w[2] + self.coupling[1] * seen);
        let [f1, f2] = crate::problem::law::disc([z1, z2], self.mu * normal);
        let (d1, d2) = (f1 - lambda[1], f2 - lambda[2]);
        let (sn, st) = (dn * self.inverse_r[0], self.inverse_r[1]);
        change.note_speed((sn * sn).max((d1 * d1 + d2 * d2) * st * st));
        let d = [dn, d1, d2].map(|d| d * sweep.omega);
        for (old, d) in lambda.iter().zip(d) {
            change.note(*old, d, sweep.relative);
        }
        *lambda = if sweep.omega == 1.0 {
            // Without a rounding that could leave the cone.
            [normal, f1, f2]
        } else {
            [lambda[0] + d[0], lambda[1] + d[1], lambda[2] + d[2]]
        };
        n * d[0] + t1 * d[1] + t2 * d[2]
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
        let relative = bodies[1].velocity.at(self.arms[1]) - bodies[0].velocity.at(self.arms[0]);
        let w = self.normal.dot(&relative) + self.bias[0];
        let normal = (*lambda - self.r[0] * sweep.scale * w).max(0.0);
        let dn = normal - *lambda;
        change.note(*lambda, dn, sweep.relative);
        *lambda = normal;
        let speed = dn * self.inverse_r[0];
        change.note_speed(speed * speed);
        self.normal * dn
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
        let relative = bodies[1].velocity.at(self.arms[1]) - bodies[0].velocity.at(self.arms[0]);
        let [n, t1, t2] = self.axes();
        let [cn, ct] = extra.compliance;
        let (rn, rt) = (self.r[0] * sweep.scale, self.r[1] * sweep.scale);
        let wn = n.dot(&relative) + self.bias[0] + cn * lambda[0];
        let normal = (lambda[0] - rn * wn).max(0.0);
        let dn = normal - lambda[0];
        let seen = if sweep.coupled { dn } else { 0.0 };
        let mut wt = [
            t1.dot(&relative) + self.bias[1] + self.coupling[0] * seen,
            t2.dot(&relative) + self.bias[2] + self.coupling[1] * seen,
        ];
        let rows = lambda.len();
        let mut local = [0.0; FrictionLaw::MAX_ROWS];
        let local = &mut local[..rows];
        local.copy_from_slice(lambda);
        local[0] = normal;
        let new = &mut local[1..];
        match extra.law {
            FrictionLaw::Pyramid { sides } => {
                let bound = FrictionLaw::pyramid_share(sides) * extra.mu[0] * normal;
                let [k11, k12, k22] = extra.tangential;
                for (k, f) in new.iter_mut().enumerate() {
                    let d = FrictionLaw::pyramid_direction(sides, k);
                    let w = d[0] * wt[0] + d[1] * wt[1] + ct * *f;
                    let next = crate::problem::law::within(*f - rt * w, bound);
                    let change = next - *f;
                    *f = next;
                    if sweep.coupled {
                        wt[0] += (k11 * d[0] + k12 * d[1]) * change;
                        wt[1] += (k12 * d[0] + k22 * d[1]) * change;
                    }
                }
            }
            FrictionLaw::Contensou => {
                let spin = n.dot(&(bodies[1].velocity.angular - bodies[0].velocity.angular));
                let ws = extra.spin_radius * spin + extra.spin_bias;
                for (f, w) in new.iter_mut().zip([wt[0], wt[1], ws]) {
                    *f -= rt * (w + ct * *f);
                }
                extra.law.project(new, extra.mu, normal);
            }
            _ => {
                for (f, w) in new.iter_mut().zip(wt) {
                    *f -= rt * (w + ct * *f);
                }
                extra.law.project(new, extra.mu, normal);
            }
        }
        let mut square = 0.0;
        let mut step = [0.0; FrictionLaw::MAX_ROWS];
        let step = &mut step[..rows];
        for k in 0..rows {
            let d = local[k] - lambda[k];
            if k > 0 {
                square += d * d;
            }
            step[k] = sweep.omega * d;
            change.note(lambda[k], step[k], sweep.relative);
            lambda[k] = if sweep.omega == 1.0 {
                local[k]
            } else {
                lambda[k] + step[k]
            };
        }
        let (sn, st) = (dn * self.inverse_r[0], self.inverse_r[1]);
        change.note_speed((sn * sn).max(square * st * st));
        self.impulse(Some(extra), step)
    }

    /// The impulse of a whole block on the second body.
    pub fn impulse(&self, extra: Option<&Extra>, block: &[f64]) -> Push {
        let [n, t1, t2] = self.axes();
        let law = extra.map_or(FrictionLaw::Disc, |e| e.law);
        let [f1, f2] = crate::problem::tangential(law, &block[1..]);
        let moment = match (law, extra) {
            (FrictionLaw::Contensou, Some(e)) => block[3] * e.spin_radius,
            _ => 0.0,
        };
        Push {
            force: n * block[0] + t1 * f1 + t2 * f2,
            moment,
        }
    }

    /// Applies an impulse to one of the two bodies (`side` 0 or 1).
    #[inline(always)]
    pub fn apply(&self, side: usize, push: &Push, body: &mut PackedBody) {
        let sign = if side == 0 { -1.0 } else { 1.0 };
        body.push(push.force * sign, self.arms[side]);
        if push.moment != 0.0 {
            body.twist(self.normal * (push.moment * sign));
        }
    }
}

/// A general row; its bodies are entries of [`PackedEntry`].
#[derive(Clone, Copy, Debug)]
pub struct PackedRow {
    /// First entry and one past the last.
    pub entries: [u32; 2],
    pub bounds: [f64; 2],
    pub bias: f64,
    pub compliance: f64,
    pub r: f64,
    pub inverse_r: f64,
}

/// A body of a general row.
#[derive(Clone, Copy, Debug)]
pub struct PackedEntry {
    /// Counted within the island.
    pub body: u32,
    pub jacobian: Twist,
}

impl PackedRow {
    /// The row's velocity from its bodies' ones, plus C Λ and bias.
    #[inline]
    pub fn velocity(&self, entries: &[PackedEntry], bodies: &[PackedBody], lambda: f64) -> f64 {
        let velocity: f64 = entries
            .iter()
            .map(|e| {
                let u = &bodies[e.body as usize].velocity;
                e.jacobian.linear.dot(&u.linear) + e.jacobian.angular.dot(&u.angular)
            })
            .sum();
        velocity + self.compliance * lambda + self.bias
    }

    /// One prox step: the new impulse and its change.
    #[inline]
    pub fn step(&self, w: f64, lambda: &mut f64, sweep: &Sweep, change: &mut Change) -> f64 {
        let [lo, hi] = self.bounds;
        let local = (*lambda - self.r * sweep.scale * w).max(lo).min(hi);
        let speed = (local - *lambda) * self.inverse_r;
        change.note_speed(speed * speed);
        let delta = sweep.omega * (local - *lambda);
        change.note(*lambda, delta, sweep.relative);
        *lambda = if sweep.omega == 1.0 {
            local
        } else {
            *lambda + delta
        };
        delta
    }
}

impl PackedEntry {
    /// Adds M⁻¹ Jᵀ times an impulse to the entry's body.
    #[inline]
    pub fn push(&self, impulse: f64, body: &mut PackedBody) {
        body.velocity.linear += self.jacobian.linear * (impulse * body.inverse_mass);
        body.twist(self.jacobian.angular * impulse);
    }
}
