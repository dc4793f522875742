//! General rows, packed for sweeps.

use super::block::{Change, PackedBody, Span, Sweep, relax};
use crate::math::Twist;

/// A general row; its bodies are entries of [`PackedEntry`].
#[derive(Clone, Copy, Debug)]
pub struct PackedRow {
    pub entries: Span,
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
    /// Whether every number that a sweep reads is finite, or a bound that is infinite.
    pub fn is_finite(&self) -> bool {
        let has_bounds = !self.bounds.iter().any(|bound| bound.is_nan());
        has_bounds && (self.bias + self.compliance + self.r).is_finite()
    }

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
        let (lambda, inverse_r) = (std::array::from_mut(lambda), [self.inverse_r, 0.0]);
        let [step] = relax([local], lambda, inverse_r, sweep, change);
        step
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
