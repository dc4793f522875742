//! One island as methods see it: blocks of rows with their laws, and an operator A, with bodies ([`bodies`]) or without
//! ([`rows`]).
//!
//! With K the cone of a block's law, or its interval, and σ the support function of a friction set, every method solves
//! Λ ∈ K, w = A Λ + b, Λ ⟂ w + σ(w_T) e_N ∈ K* (De Saxcé & Feng 1998).

mod blocks;
pub(in crate::solve) mod bodies;
pub(in crate::solve) mod cone;
mod fill;
mod frame;
mod matrix;
pub(in crate::solve) mod packed;
pub(in crate::solve) mod rows;
mod sliding;
pub(in crate::solve) mod system;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::linalg::supernodal::Breakdown;
use crate::problem::law::{Law, Slope};
use crate::problem::{Friction, FrictionLaw};

/// 1/ρ of a bilateral row over its A_rr (-): it only keeps redundant rows apart, and is taken back out step by step.
pub(in crate::solve) const BILATERAL: f64 = 1e-10;

/// What a multiplication of a factorisation counts beside others (-), since four to eight are made side by side, and what
/// a supernode counts (multiplications). Measured: 22 µs for 51 supernodes and 1.8e4 multiplications (the winch), 0.73 ms
/// for 136 and 2.5e6 (the wall), 1.8 ms for 170 and 1.1e7 (a wall of 410 bricks), where other multiplications take 0.8 ns.
pub(in crate::solve) const SIDE_BY_SIDE: f64 = 0.25;
const PER_NODE: f64 = 400.0;

/// The law of a block.
#[derive(Clone, Copy, Debug)]
pub(in crate::solve) enum Set {
    /// A contact.
    Cone(Friction),
    /// A general row with its interval (N s).
    Interval([f64; 2]),
}

/// One block: its law and its rows.
#[derive(Clone, Debug)]
pub(in crate::solve) struct Block {
    pub set: Set,
    pub first: usize,
    pub rows: usize,
    /// The largest of its diagonal entries of A (1/kg).
    pub scale: f64,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::solve) struct Tally {
    /// Proximal points.
    pub points: usize,
    /// Newton steps and rounds of sweeps.
    pub steps: usize,
    /// Factorisations.
    pub factors: usize,
    /// Solves with a factor.
    pub solves: usize,
    /// Multiplications, about.
    pub work: f64,
}

/// The laws of all blocks, linearised: ΔΛ = −G − K N ΔJu per contact, with N = 1 + e_N ∇σᵀ.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Linearisation {
    /// K of each contact, symmetric and positive semidefinite.
    pub k: Vec<Slope>,
    /// ∇σ in the contact's rows, where it slides.
    pub gradient: Vec<Option<[f64; FrictionLaw::MAX_ROWS]>>,
    /// G, row by row of the contacts (N s).
    pub g: Vec<f64>,
    pub general: Vec<Linear>,
}

/// A general row, linearised.
#[derive(Clone, Copy, Debug)]
pub(in crate::solve) enum Linear {
    /// Within its bounds, where e ΔΛ + Δw = −w, with e (1/kg) beside A and w (m/s).
    Inside([f64; 2]),
    /// At a bound, to which ΔΛ = −G leads (N s).
    AtBound(f64),
}

/// What methods ask of an island.
pub(in crate::solve) trait Operator {
    /// The radius in which the kink of σ at rest is rounded, as a share of the residual (-).
    const ROUNDING: f64;

    /// The blocks: contacts, and general rows behind them. Their rows follow each other.
    fn blocks(&self) -> &[Block];

    /// Per row: b (m/s).
    fn offset(&self) -> &[f64];

    /// Per row: the diagonal of A (1/kg).
    fn diagonal(&self) -> &[f64];

    /// Per row: what of A's diagonal is compliance, and treated beside it (1/kg); nothing where that is not known.
    fn compliance(&self, rows: Range<usize>) -> &[f64];

    /// w ← A x + b.
    fn product(&mut self, x: &[f64], w: &mut [f64]);

    /// Factors A + `shift`, a diagonal matrix.
    ///
    /// # Errors
    /// It is not positive definite, or too large.
    fn factor(&mut self, shift: &[f64], tally: &mut Tally) -> Result<(), Breakdown>;

    /// Solves (A + `shift`) x = r − b with the last factor; `x` holds the last solution.
    fn solve(&mut self, shift: &[f64], r: &[f64], x: &mut [f64]);

    /// ΔΛ of linearised laws.
    ///
    /// # Errors
    /// The matrix cannot be factored, or is too large.
    fn newton_step(
        &mut self,
        at: &Linearisation,
        step: &mut [f64],
        tally: &mut Tally,
    ) -> Result<(), Breakdown>;

    /// Entries of the factor, and multiplications of a factorisation; zero where there was none.
    fn cost(&self) -> [f64; 2];

    /// What a measurement of the residual counts as work, where it is not counted with what follows (multiplications).
    fn work_of_a_product(&self) -> f64;

    /// What [`Operator::solve`] counts as work (multiplications).
    fn work_of_a_solve(&self) -> f64;

    /// The largest velocity without impulses (m/s).
    fn speed(&self) -> f64 {
        self.offset().iter().fold(0.0, |a: f64, b| a.max(b.abs()))
    }

    /// The residual of Λ, whose w is given, as [`crate::problem::residual`] defines it (m/s).
    fn residual(&self, x: &[f64], w: &[f64]) -> f64 {
        // Projections may hide what is no number.
        if w.iter().any(|w| !w.is_finite()) {
            return f64::NAN;
        }
        let diagonal = self.diagonal();
        let mut worst: f64 = 0.0;
        for block in self.blocks() {
            let rows = block.span();
            for error in block.errors(&x[rows.clone()], &w[rows.clone()], &diagonal[rows]) {
                if error > worst || error.is_nan() {
                    worst = error;
                }
            }
        }
        worst
    }
}

impl Block {
    /// Its rows.
    #[inline(always)]
    pub fn span(&self) -> Range<usize> {
        self.first..self.first + self.rows
    }

    /// Whether any impulse is allowed.
    pub fn is_bilateral(&self) -> bool {
        matches!(self.set, Set::Interval([f64::NEG_INFINITY, f64::INFINITY]))
    }

    /// The friction of a contact; none of a general row.
    #[inline(always)]
    pub fn friction(&self) -> Option<&Friction> {
        match &self.set {
            Set::Cone(friction) => Some(friction),
            Set::Interval(_) => None,
        }
    }

    /// Its interval (N s): of a contact, that of its normal impulse.
    #[inline(always)]
    pub fn bounds(&self) -> [f64; 2] {
        match self.set {
            Set::Cone(_) => [0.0, f64::INFINITY],
            Set::Interval(bounds) => bounds,
        }
    }

    /// Projects onto its set, in place.
    pub fn project(&self, z: &mut [f64]) {
        match &self.set {
            Set::Cone(friction) => friction.law.project_cone(z, friction.mu),
            Set::Interval([lo, hi]) => z[0] = z[0].max(*lo).min(*hi),
        }
    }

    /// σ at the velocities `w` of its rows (m/s).
    pub fn support(&self, w: &[f64]) -> f64 {
        match &self.set {
            Set::Cone(friction) => friction.law.support(&w[1..], friction.mu),
            Set::Interval(_) => 0.0,
        }
    }

    /// ∇σ in its rows, where it slides with the velocities `w`.
    pub fn support_gradient(&self, w: &[f64]) -> Option<[f64; FrictionLaw::MAX_ROWS]> {
        let friction = self.friction()?;
        let sliding = &w[1..];
        if friction.law.support(sliding, friction.mu) == 0.0 {
            return None;
        }
        let mut gradient = [0.0; FrictionLaw::MAX_ROWS];
        let out = &mut gradient[1..w.len()];
        friction.law.support_gradient(sliding, friction.mu, out);
        Some(gradient)
    }

    /// The errors of its normal row and friction block, or of its row (m/s).
    fn errors(&self, x: &[f64], w: &[f64], diagonal: &[f64]) -> [f64; 2] {
        match &self.set {
            Set::Cone(friction) => cone::errors(friction, x, w, diagonal),
            Set::Interval(bounds) => [cone::row_error(*bounds, x[0], w[0], self.scale), 0.0],
        }
    }
}
