//! What a sweep over lanes changed.

use pulp::Simd;

use super::LANES;
use super::lanes::{Real, Wide};
use crate::solve::sweeps::block::Change;

/// What the lanes changed.
pub(super) struct Noted<R: Real, S: Simd> {
    delta: R::Register<S>,
    speed: R::Register<S>,
    /// Largest Λ_N/R_N: what impulses amount to as velocities.
    level: R::Register<S>,
    sum: R::Register<S>,
    t_rel: f64,
    beyond: R::Register<S>,
    squares: [Wide<R>; 2],
}

impl<R: Real, S: Simd> Noted<R, S> {
    #[inline(always)]
    pub(super) fn new(s: S, t_rel: f64) -> Self {
        let zero = R::splat(s, R::default());
        Self {
            delta: zero,
            speed: zero,
            level: zero,
            sum: zero,
            t_rel,
            beyond: R::splat(s, R::from_f64(-1e30)),
            squares: [Wide([R::default(); LANES]); 2],
        }
    }

    #[inline(always)]
    pub(super) fn normal(
        &mut self,
        s: S,
        dn: R::Register<S>,
        new: R::Register<S>,
        inverse_r: R::Register<S>,
    ) {
        let size = R::abs(s, dn);
        self.delta = R::max(s, self.delta, size);
        self.speed = R::max(s, self.speed, R::mul(s, size, inverse_r));
        self.level = R::max(s, self.level, R::mul(s, new, inverse_r));
        self.sum = R::add(s, self.sum, size);
    }

    #[inline(always)]
    pub(super) fn friction(&mut self, s: S, size: R::Register<S>, speed: R::Register<S>) {
        self.delta = R::max(s, self.delta, size);
        self.speed = R::max(s, self.speed, speed);
        self.sum = R::add(s, self.sum, size);
    }

    /// For Nützi 4.49 and 4.50: an old value and its change.
    #[inline(always)]
    pub(super) fn relative(
        &mut self,
        s: S,
        at: usize,
        old: R::Register<S>,
        change: R::Register<S>,
    ) {
        let t_rel = R::splat(s, R::from_f64(self.t_rel));
        let allowed = R::mul(s, R::abs(s, old), t_rel);
        let beyond = R::sub(s, R::abs(s, change), allowed);
        self.beyond = R::max(s, self.beyond, beyond);
        // One sum per lane, so that it does not depend on the width of the registers.
        for (sum, x) in self.squares.iter_mut().zip([change, old]) {
            let total = R::add(s, R::load::<S>(sum, at), R::mul(s, x, x));
            R::store::<S>(sum, at, total);
        }
    }

    #[inline(always)]
    pub(super) fn finish<const RELATIVE: bool>(self, s: S) -> Change {
        let speed = R::largest(s, self.speed);
        let level = R::largest(s, self.level);
        let sum = R::total(s, self.sum);
        // Smaller changes are lost in the rounding of the impulses themselves.
        let resolved = speed.max(R::ROUNDING * level);
        let mut change = Change {
            delta: R::largest(s, self.delta),
            speed_squared: resolved * resolved,
            sum,
            rounding: R::ROUNDING * level,
            ..Change::default()
        };
        if RELATIVE {
            change.beyond = R::largest(s, self.beyond);
            for (total, lanes) in change.squares.iter_mut().zip(&self.squares) {
                *total = lanes.0.iter().map(|x| x.to_f64()).sum();
            }
        }
        change
    }
}
