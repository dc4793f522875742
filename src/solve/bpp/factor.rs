//! Cholesky factors in panels of four columns, dense or within an envelope, and what a pivoting
//! solver asks of a factorisation.
//!
//! A panel holds four columns from its own first row down to the envelope's last row of any of them,
//! column after column. Rows are padded to a multiple of four with rows of the unit matrix.

use super::island::IslandMatrix;
use super::kernels::{Factor, Remove, Solve, narrow};

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

/// What a factorisation has done since [`Factorization::prepare`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Rows removed from a factor by a rank-one modification.
    pub downdates: u64,
    /// Factorisations of A_FF, whole or from some column on.
    pub refactorizations: u64,
    /// Factors found in the cache.
    pub cache_hits: u64,
    /// Factors in the cache.
    pub cache_entries: u64,
    /// Bytes of the factors in the cache.
    pub cache_bytes: u64,
    /// Largest number that was added to a diagonal because its pivot broke down (-, of the scaled
    /// diagonal).
    pub raised: f64,
}

impl Counters {
    /// Adds what was done before the present matrix was prepared.
    pub fn add(&mut self, earlier: &Self) {
        self.downdates += earlier.downdates;
        self.refactorizations += earlier.refactorizations;
        self.cache_hits += earlier.cache_hits;
        self.raised = self.raised.max(earlier.raised);
    }
}

/// A factorisation of A_FF for changing sets F of free rows.
pub trait Factorization: Send {
    /// A new matrix; memory is kept.
    fn prepare(&mut self, a: &IslandMatrix);

    /// Makes the factor that of A_FF, where F is what is not tight. The rows of the last set may be
    /// used.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown>;

    /// Solves A_FF x_F = r_F in place; the tight entries of `x` become zero.
    fn solve(&mut self, x: &mut [f64]);

    /// What has been done.
    fn counters(&self) -> Counters;

    /// Smallest and largest diagonal entry of L over the free rows.
    fn extremes(&self, tight: &[bool]) -> [f64; 2];

    /// The island's row at each place of the factor's own order; `None` where it is the island's.
    fn order(&self) -> Option<&[u32]> {
        None
    }

    /// The entries of L, for whoever wants to see them; calls `visit(row, column, value)` with rows and
    /// columns in the island's order.
    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64));
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

/// `full`: a dense factorisation of A_FF, gathered without gaps, at every pivot.
#[derive(Clone, Debug, Default)]
pub struct Full {
    envelope: Envelope,
    a: Vec<f64>,
    free: Vec<u32>,
    rhs: Vec<f64>,
    factor: Panels,
    counters: Counters,
}

impl Factorization for Full {
    fn prepare(&mut self, _a: &IslandMatrix) {
        self.counters = Counters::default();
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        self.free.clear();
        let free = (0..a.n).filter(|i| !tight[*i]).map(|i| i as u32);
        self.free.extend(free);
        let n = self.free.len();
        self.envelope.set(n, |_| n.saturating_sub(1));
        self.a.clear();
        self.a.resize(self.envelope.len(), 0.0);
        for (to, k) in self.free.iter().enumerate() {
            let k = *k as usize;
            let from = &a.value[a.envelope.column(k)];
            let first = k - k % TILE;
            let column = &mut self.a[self.envelope.column(to)];
            let skip = to - to % TILE;
            for (to, i) in self.free.iter().enumerate().skip(to) {
                let Some(value) = from.get(*i as usize - first) else {
                    break;
                };
                column[to - skip] = *value;
            }
        }
        for i in n..self.envelope.panels() * TILE {
            let at = self.envelope.at(i, i);
            self.a[at] = 1.0;
        }
        self.counters.refactorizations += 1;
        self.factor.factor(&self.envelope, &self.a, &[], 0)?;
        self.counters.raised = self.counters.raised.max(self.factor.raised);
        Ok(())
    }

    fn solve(&mut self, x: &mut [f64]) {
        self.rhs.clear();
        self.rhs.resize(self.envelope.panels() * TILE, 0.0);
        for (to, i) in self.rhs.iter_mut().zip(&self.free) {
            *to = x[*i as usize];
        }
        self.factor.solve(&self.envelope, &mut self.rhs);
        for (from, i) in self.rhs.iter().zip(&self.free) {
            x[*i as usize] = *from;
        }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn extremes(&self, _tight: &[bool]) -> [f64; 2] {
        let all = vec![false; self.free.len()];
        self.factor.extremes(&self.envelope, &all)
    }

    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        for (k, column) in self.free.iter().enumerate() {
            for (i, row) in self.free.iter().enumerate().skip(k) {
                let value = self.factor.value[self.envelope.at(i, k)];
                visit(*row as usize, *column as usize, value);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::scene::random::Random;

    /// Numbers from −1 to 1 in a fixed sequence.
    pub(crate) fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Random::new(seed);
        move || random.signed()
    }

    /// A random positive definite matrix with unit diagonal in an envelope: column `k` reaches as far as
    /// `last(k)`.
    pub(crate) fn banded(n: usize, seed: u64, last: impl Fn(usize) -> usize) -> IslandMatrix {
        let mut random = random(seed);
        let mut matrix = IslandMatrix {
            n,
            ..IslandMatrix::default()
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
        for i in n..matrix.envelope.panels() * TILE {
            let at = matrix.envelope.at(i, i);
            matrix.value[at] = 1.0;
        }
        matrix
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
