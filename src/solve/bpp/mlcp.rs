//! The inner problem by itself, for tests and benches: a dense mixed linear complementarity problem.

use super::factor::{self, Breakdown, FACTORIZATIONS, Factorization};
use super::friction::{Ending, Friction};
use super::island::IslandMatrix;
use super::lcp::{Lcp, Limits};
use super::panels::{Envelope, Panels, TILE};
use super::tuning::Tuning;

/// How [`solve_mlcp`] solves.
#[derive(Clone, Debug, PartialEq)]
pub struct MlcpOptions {
    /// One of [`FACTORIZATIONS`].
    pub factorization: &'static str,
    /// Most block pivots.
    pub pivots: u32,
    /// Most single pivots.
    pub single_pivots: u32,
    /// Most projected Newton steps after those.
    pub descent_steps: u32,
    /// Block pivots without fewer violations than before, until single pivots take over.
    pub patience: u32,
    /// Compliance added to every row, as a share of the diagonal.
    pub compliance: f64,
    /// Most proximal steps that take it back out.
    pub refinements: u32,
}

impl Default for MlcpOptions {
    fn default() -> Self {
        let tuning = Tuning::default();
        Self {
            factorization: FACTORIZATIONS[0],
            pivots: tuning.pivots,
            single_pivots: tuning.single_pivots,
            descent_steps: tuning.descent_steps,
            patience: tuning.patience,
            compliance: 0.0,
            refinements: tuning.refinements,
        }
    }
}

/// What [`solve_mlcp`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MlcpStats {
    /// Whether no row violates anything.
    pub solved: bool,
    /// Sets of free rows that were solved for.
    pub pivots: u32,
    /// Of these, single ones.
    pub single_pivots: u32,
    /// Of these, projected Newton steps.
    pub descents: u32,
    /// ‖L Lᵀ − A_FF‖/‖A_FF‖ of the last factor (Frobenius).
    pub factor_error: f64,
    /// ‖L − L_fresh‖/‖L_fresh‖ of the last factor.
    pub downdate_error: f64,
}

/// Solves lo ≤ x ≤ hi ⟂ w = A x + b for a symmetric positive semidefinite `a`, given by rows. Returns
/// x and w, and what was done.
///
/// # Errors
/// Numbers that are not finite.
///
/// # Panics
/// If the lengths do not fit.
pub fn solve_mlcp(
    a: &[f64],
    b: &[f64],
    lo: &[f64],
    hi: &[f64],
    options: &MlcpOptions,
) -> Result<(Vec<f64>, Vec<f64>, MlcpStats), Breakdown> {
    let n = b.len();
    assert!(a.len() == n * n && lo.len() == n && hi.len() == n);
    if n == 0 {
        return Ok(Default::default());
    }
    let mut lcp = Lcp::new(factor::make(options.factorization, 0.15, 1 << 28));
    lcp.island.set_dense(a, b, lo, hi, options.compliance);
    lcp.factor.prepare(&lcp.island.matrix);
    lcp.reset(Limits::NONE);
    lcp.guess_sets(false);
    let tuning = Tuning {
        pivots: options.pivots,
        single_pivots: options.single_pivots,
        descent_steps: options.descent_steps,
        patience: options.patience,
        outer_iterations: 100,
        refinements: options.refinements,
        ..Tuning::default()
    };
    let ending = Friction::default().solve(&mut lcp, &tuning)?;
    lcp.project();
    let [factor_error, downdate_error] =
        compare(&lcp.island.matrix, lcp.factor.as_ref(), &lcp.tight);
    let scaled = lcp.x.iter().zip(&lcp.island.scale);
    let x: Vec<f64> = scaled.map(|(x, s)| x * s).collect();
    let rows = a.chunks_exact(n).zip(b);
    let w = rows.map(|(row, b)| row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>() + b);
    let stats = MlcpStats {
        solved: ending == Ending::Settled,
        pivots: lcp.tally.pivots,
        single_pivots: lcp.tally.single,
        descents: lcp.tally.descents,
        factor_error,
        downdate_error,
    };
    let w = w.collect();
    Ok((x, w, stats))
}

/// ‖L Lᵀ − A_FF‖/‖A_FF‖ and ‖L − L_fresh‖/‖L_fresh‖ (Frobenius) of a factorisation that was restricted
/// to these rows; the fresh factor is a dense one.
pub fn compare(matrix: &IslandMatrix, factor: &dyn Factorization, tight: &[bool]) -> [f64; 2] {
    let n = matrix.n;
    let mut dense = Envelope::default();
    dense.set(n, |_| n - 1);
    let mut a = vec![0.0; dense.len()];
    for k in 0..n {
        let from = &matrix.value[matrix.envelope.column(k)];
        let to = dense.column(k);
        // Both begin at the panel's first row; the envelope may end beyond the padded matrix's rows.
        let count = from.len().min(to.len());
        a[to][..count].copy_from_slice(&from[..count]);
    }
    for i in n..dense.panels() * TILE {
        a[dense.at(i, i)] = 1.0;
    }
    let mut fresh = Panels::default();
    if fresh.factor(&dense, &a, tight, 0).is_err() {
        return [f64::NAN; 2];
    }
    let mut l = vec![0.0; n * n];
    factor.each_entry(&mut |i, k, value| l[i * n + k] = value);
    let free: Vec<usize> = (0..n).filter(|i| !tight[*i]).collect();
    let [mut error, mut size, mut apart, mut length] = [0.0; 4];
    for (row, i) in free.iter().enumerate() {
        for k in &free[..=row] {
            // The columns are the pivots, in whatever order they were.
            let product: f64 = l[i * n..(i + 1) * n]
                .iter()
                .zip(&l[k * n..(k + 1) * n])
                .map(|(a, b)| a * b)
                .sum();
            let entry = a[dense.at(*i, *k)];
            let twice = if i == k { 1.0 } else { 2.0 };
            error += twice * (product - entry) * (product - entry);
            size += twice * entry * entry;
            let exact = fresh.value[dense.at(*i, *k)];
            let difference = l[i * n + k] - exact;
            apart += difference * difference;
            length += exact * exact;
        }
    }
    let ratio = |a: f64, b: f64| if b > 0.0 { (a / b).sqrt() } else { 0.0 };
    [ratio(error, size), ratio(apart, length)]
}
