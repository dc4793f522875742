//! Cholesky factors in panels of four columns, dense or within an envelope, and the inner loops on them:
//! factorisation, substitutions, and the removal of a row (Lefebvre 2020, algorithms 2.3 to 2.6, corrected).
//!
//! A panel holds four columns from its own first row down to the envelope's last row of any of them,
//! column after column. Rows are padded to a multiple of four with rows of the unit matrix.
//!
//! The inner loops run along contiguous memory in SIMD registers, each entry by itself in a fixed order, sums
//! in eight lanes, and no multiply-add is fused: every processor computes the same to the last bit. There
//! are no closures in them: they would be compiled for the plain processor, and only called.

mod factor;
mod remove;
mod solve;

use pulp::{Arch, Simd, WithSimd};

use self::factor::Factor;
use self::remove::Remove;
use self::solve::Solve;
pub use self::solve::total;

/// Columns of a panel, and rows of a tile.
pub const TILE: usize = 4;

/// Share of the diagonal (1, after scaling) below which a pivot counts as broken down: what is left of
/// it is rounding noise.
pub const BREAKDOWN: f64 = 1e-13;
/// What a broken pivot is raised to, as a share of the diagonal.
pub const RAISED: f64 = 1e-9;

/// A factorisation that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breakdown {
    /// The matrix holds a number that is not finite.
    #[error("the matrix of an island holds a number that is not finite")]
    NotFinite,
}

/// The shape of a lower triangle in panels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Last tile row of each panel; never falls.
    pub last: Vec<u32>,
    /// First panel that reaches each tile row.
    pub first: Vec<u32>,
    /// First value of each panel, and one past the last.
    pub start: Vec<usize>,
}

impl Envelope {
    /// The shape for the last row of each column; `n` columns.
    pub fn set(&mut self, n: usize, last_row: impl Fn(usize) -> usize) {
        let panels = n.div_ceil(TILE);
        self.last.clear();
        self.start.clear();
        self.start.push(0);
        self.first.clear();
        let mut reach = 0;
        let mut at = 0;
        for panel in 0..panels {
            for column in panel * TILE..((panel + 1) * TILE).min(n) {
                reach = reach.max(last_row(column) / TILE).max(panel);
            }
            self.last.push(reach as u32);
            at += (reach - panel + 1) * TILE * TILE;
            self.start.push(at);
            while self.first.len() <= reach {
                self.first.push(panel as u32);
            }
        }
    }

    /// Number of panels.
    pub fn panels(&self) -> usize {
        self.last.len()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.start.last().copied().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of a panel.
    #[inline(always)]
    pub fn height(&self, panel: usize) -> usize {
        (self.last[panel] as usize - panel + 1) * TILE
    }

    /// The values of column `k` from the first row of its panel on.
    #[inline(always)]
    pub fn column(&self, k: usize) -> std::ops::Range<usize> {
        let panel = k / TILE;
        let height = self.height(panel);
        let at = self.start[panel] + (k % TILE) * height;
        at..at + height
    }

    /// Where the value of row `i` and column `k` ≤ i is; the row must be within the envelope.
    #[inline(always)]
    pub fn at(&self, i: usize, k: usize) -> usize {
        let panel = k / TILE;
        self.start[panel] + (k % TILE) * self.height(panel) + i - panel * TILE
    }

    /// Makes the rows beyond `n` those of the unit matrix.
    pub fn pad(&self, n: usize, value: &mut [f64]) {
        for i in n..self.panels() * TILE {
            value[self.at(i, i)] = 1.0;
        }
    }

    /// Multiplications of a factorisation from a panel on.
    pub fn factor_cost(&self, from: usize) -> u64 {
        (from..self.panels())
            .map(|panel| {
                let height = self.height(panel) as u64;
                TILE as u64 * height * height / 2
            })
            .sum()
    }

    /// Multiplications of removing row `i` by a rank-one modification, counted in the time that one of
    /// a factorisation takes.
    pub fn removal_cost(&self, i: usize) -> u64 {
        (i / TILE..self.panels())
            .map(|panel| TILE as u64 * (2 * self.height(panel) as u64 + 24))
            .sum()
    }
}

/// A factor L of A_FF. The column of a tight row is that of the unit matrix, and 1/L_kk is kept as 0: a
/// substitution then leaves zero there, and carries nothing on. The rows of L go on as if all were
/// free, since a row says nothing to the columns before its own; so that columns behind the first
/// change of the set are all that must be factored again.
#[derive(Clone, Debug, Default)]
pub struct Panels {
    /// The lower triangle.
    pub value: Vec<f64>,
    /// 1/L_kk; 0 for tight rows.
    pub inverse: Vec<f64>,
    /// Largest number that was added to a diagonal.
    pub raised: f64,
}

impl Panels {
    /// Factors A_FF from panel `from` on: the panels before must be those of the same A, with the same
    /// of their columns tight. Rows beyond the end of `tight` are free.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn factor(
        &mut self,
        envelope: &Envelope,
        a: &[f64],
        tight: &[bool],
        from: usize,
    ) -> Result<(), Breakdown> {
        let begin = envelope.start[from.min(envelope.panels())];
        self.value.resize(envelope.len(), 0.0);
        self.inverse.resize(envelope.panels() * TILE, 1.0);
        self.value[begin..].copy_from_slice(&a[begin..envelope.len()]);
        if from == 0 {
            self.raised = 0.0;
        }
        narrow(Factor {
            envelope,
            panels: self,
            tight,
            from,
        });
        let pivots = &self.inverse[from * TILE..];
        if pivots.iter().all(|p| p.is_finite()) {
            Ok(())
        } else {
            Err(Breakdown::NotFinite)
        }
    }

    /// Takes over another factor of the same shape.
    pub fn copy_from(&mut self, other: &Self) {
        self.value.clone_from(&other.value);
        self.inverse.clone_from(&other.inverse);
        self.raised = other.raised;
    }

    /// L_kk.
    #[inline]
    pub fn diagonal(&self, envelope: &Envelope, k: usize) -> f64 {
        self.value[envelope.at(k, k)]
    }

    /// Solves L Lᵀ x = r in place (algorithms 2.4 and 2.6; the back substitution from the last row to
    /// the first).
    pub fn solve(&self, envelope: &Envelope, x: &mut [f64]) {
        narrow(Solve {
            envelope,
            panels: self,
            x,
        });
    }

    /// Removes row `i` by a rank-one modification of the trailing block. `sigma` is scratch,
    /// zero before and after.
    pub fn remove(&mut self, envelope: &Envelope, i: usize, sigma: &mut [f64]) {
        let column = envelope.column(i);
        let below = column.start + i % TILE + 1..column.end;
        sigma[i + 1..i + 1 + below.len()].copy_from_slice(&self.value[below]);
        narrow(Remove {
            envelope,
            panels: self,
            i,
            sigma,
        });
        self.value[column.start + i % TILE..column.end].fill(0.0);
        self.value[column.start + i % TILE] = 1.0;
        self.inverse[i] = 0.0;
    }

    /// Smallest and largest L_kk over the free rows.
    pub fn extremes(&self, envelope: &Envelope, tight: &[bool]) -> [f64; 2] {
        let mut out = [f64::INFINITY, 0.0];
        if self.value.len() < envelope.len() {
            // Time was over before there was a factor.
            return out;
        }
        for (k, _) in tight.iter().enumerate().filter(|(_, t)| !**t) {
            let d = self.diagonal(envelope, k);
            out = [out[0].min(d), out[1].max(d)];
        }
        out
    }
}

/// The entries of the free rows of L.
pub fn each_entry(
    envelope: &Envelope,
    value: &[f64],
    tight: &[bool],
    visit: &mut dyn FnMut(usize, usize, f64),
) {
    let n = tight.len();
    for k in (0..n).filter(|k| !tight[*k]) {
        let column = &value[envelope.column(k)];
        let first = k - k % TILE;
        for i in (k..(first + column.len()).min(n)).filter(|i| !tight[*i]) {
            visit(i, k, column[i - first]);
        }
    }
}

/// Runs a kernel in registers of four numbers at most. Panels begin four rows apart, so that what one
/// stores in wider ones the next could only load once it has reached the cache.
#[cfg(target_arch = "x86_64")]
fn narrow<Op: WithSimd>(op: Op) -> Op::Output {
    match Arch::new() {
        Arch::V4(simd) => Simd::vectorize(*simd, op),
        Arch::V3(simd) => Simd::vectorize(simd, op),
        _ => Simd::vectorize(pulp::Scalar, op),
    }
}

/// Runs a kernel; registers have no more than four numbers anyhow.
#[cfg(not(target_arch = "x86_64"))]
fn narrow<Op: WithSimd>(op: Op) -> Op::Output {
    Arch::new().dispatch(op)
}

/// `R` registers from the beginning of a slice, zero beyond its end. Slices end with a tile.
#[inline(always)]
fn load<S: Simd, const R: usize>(simd: S, from: &[f64]) -> [S::f64s; R] {
    let mut out = [simd.splat_f64s(0.0); R];
    let all = R * S::F64_LANES;
    // With a length that the compiler knows.
    let (full, _) = S::as_simd_f64s(if from.len() >= all {
        &from[..all]
    } else {
        from
    });
    for (out, full) in out.iter_mut().zip(full) {
        *out = *full;
    }
    out
}

/// Registers to the beginning of a slice, as far as it goes.
#[inline(always)]
fn store<S: Simd, const R: usize>(to: &mut [f64], x: &[S::f64s; R]) {
    let all = (R * S::F64_LANES).min(to.len());
    let (full, _) = S::as_mut_simd_f64s(&mut to[..all]);
    for (full, x) in full.iter_mut().zip(x) {
        *full = *x;
    }
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;
    use crate::math::random::Random;

    /// The lower triangle of a matrix in an envelope.
    #[derive(Default)]
    struct Matrix {
        n: usize,
        envelope: Envelope,
        value: Vec<f64>,
    }

    /// Numbers from −1 to 1 in a fixed sequence.
    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Random::new(seed);
        move || random.signed()
    }

    /// A random positive definite matrix with unit diagonal in an envelope: column `k` reaches as far as
    /// `last(k)`.
    fn banded(n: usize, seed: u64, last: impl Fn(usize) -> usize) -> Matrix {
        let mut random = random(seed);
        let mut matrix = Matrix {
            n,
            ..Matrix::default()
        };
        matrix.envelope.set(n, &last);
        matrix.value.resize(matrix.envelope.len(), 0.0);
        let width = (0..n).map(|k| last(k) - k).max().unwrap_or(0);
        for k in 0..n {
            let at = matrix.envelope.at(k, k);
            matrix.value[at] = 1.0;
            for i in k + 1..=last(k).max(k) {
                let at = matrix.envelope.at(i, k);
                matrix.value[at] = 0.4 * random() / (width as f64).sqrt();
            }
        }
        matrix.envelope.pad(n, &mut matrix.value);
        matrix
    }
    /// What the kernels make of a matrix, by any way of running them.
    fn everything<S: Simd>(simd: S, matrix: &Matrix) -> (Panels, Vec<f64>) {
        let envelope = &matrix.envelope;
        let mut panels = Panels {
            value: matrix.value.clone(),
            inverse: vec![1.0; envelope.panels() * TILE],
            raised: 0.0,
        };
        let tight: Vec<bool> = (0..matrix.n).map(|i| i % 5 == 2).collect();
        simd.vectorize(Factor {
            envelope,
            panels: &mut panels,
            tight: &tight,
            from: 0,
        });
        let mut next = random(3);
        let mut sigma = vec![0.0; envelope.panels() * TILE];
        let end = envelope.last[0] as usize * TILE + TILE;
        sigma[2..end].fill_with(&mut next);
        simd.vectorize(Remove {
            envelope,
            panels: &mut panels,
            i: 1,
            sigma: &mut sigma,
        });
        assert!(sigma.iter().all(|s| *s == 0.0), "it is left zero");
        let mut x: Vec<f64> = (0..envelope.panels() * TILE).map(|_| next()).collect();
        simd.vectorize(Solve {
            envelope,
            panels: &panels,
            x: &mut x,
        });
        (panels, x)
    }

    #[test]
    fn every_width_of_registers_computes_the_same() {
        for (n, width) in [(3, 2), (17, 5), (61, 20), (64, 63), (90, 33)] {
            let matrix = banded(n, n as u64, |k| (k + width - k % 3).min(n - 1));
            let (plain, x) = everything(Scalar, &matrix);
            assert!(x.iter().any(|x| *x != 0.0));
            struct All<'a>(&'a Matrix);
            impl WithSimd for All<'_> {
                type Output = (Panels, Vec<f64>);
                fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
                    everything(simd, self.0)
                }
            }
            let mut others = vec![narrow(All(&matrix))];
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                others.push(everything(pulp::x86::V3_128b(simd), &matrix));
            }
            for (panels, y) in others {
                assert_eq!(panels.value, plain.value, "n {n}, width {width}");
                assert_eq!(panels.inverse, plain.inverse);
                assert_eq!(x, y);
            }
        }
    }

    /// Two rows that are nearly the same leave a pivot of 2e-11. With rows removed, what is left must be the
    /// factor of the rest to rounding.
    #[test]
    fn small_pivots_cost_no_digits() {
        let n = 40;
        let mut matrix = banded(n, 5, |_| n - 1);
        let mut next = random(9);
        let (a, b) = (4, 5);
        for i in (0..n).filter(|i| ![a, b].contains(i)) {
            let at = |r: usize| matrix.envelope.at(r.max(i), r.min(i));
            let (from, to) = (at(a), at(b));
            matrix.value[to] = matrix.value[from] + 3e-7 * next();
        }
        let at = matrix.envelope.at(b, a);
        matrix.value[at] = 1.0 - 1e-11;
        let mut panels = Panels::default();
        panels
            .factor(&matrix.envelope, &matrix.value, &[], 0)
            .unwrap();
        assert!(panels.raised == 0.0 && panels.diagonal(&matrix.envelope, b) < 1e-5);
        let mut sigma = vec![0.0; n];
        let removed = [0, a, 13, 20];
        for i in removed {
            panels.remove(&matrix.envelope, i, &mut sigma);
        }
        let l = |i: usize, k: usize| panels.value[matrix.envelope.at(i, k)];
        for i in (0..n).filter(|i| !removed.contains(i)) {
            for j in (0..=i).filter(|j| !removed.contains(j)) {
                let product: f64 = (0..=j).map(|k| l(i, k) * l(j, k)).sum();
                let error = product - matrix.value[matrix.envelope.at(i, j)];
                assert!(error.abs() < 2e-15, "({i}, {j}): {error:e}");
            }
        }
    }

    #[test]
    fn factors_of_any_envelope_are_those_of_the_dense_matrix() {
        for n in [1, 3, 4, 5, 17, 36, 61] {
            for width in [0, 1, 3, 6, 11, 60] {
                let matrix = banded(n, (n * 100 + width) as u64, |k| {
                    (k + (width * (3 + k % 5)) / 7).min(n - 1)
                });
                let tight: Vec<bool> = (0..n).map(|i| i % 7 == 3).collect();
                let mut panels = Panels::default();
                panels
                    .factor(&matrix.envelope, &matrix.value, &tight, 0)
                    .unwrap();
                assert_eq!(panels.raised, 0.0);
                let mut x = vec![0.0; matrix.envelope.panels() * TILE];
                let mut next = random(7);
                for x in &mut x[..n] {
                    *x = next();
                }
                let rhs = x.clone();
                panels.solve(&matrix.envelope, &mut x);
                for i in 0..n {
                    if tight[i] {
                        assert_eq!(x[i], 0.0);
                        continue;
                    }
                    let mut sum = -rhs[i];
                    for (k, x) in x[..n].iter().enumerate() {
                        let (row, column) = (i.max(k), i.min(k));
                        let inside = row / TILE <= matrix.envelope.last[column / TILE] as usize;
                        if inside {
                            sum += matrix.value[matrix.envelope.at(row, column)] * x;
                        }
                    }
                    assert!(sum.abs() < 1e-13, "n {n}, width {width}, row {i}: {sum:e}");
                }
            }
        }
    }
}
