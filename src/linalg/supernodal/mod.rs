//! Sparse LDLᵀ of symmetric positive definite matrices of 50 to 2000 rows in real time, with rows
//! taken out and put back between solves; and of quasi-definite ones, [H Jᵀ; J −C] with positive definite H and
//! C, which have such a factor in every order too (Vanderbei 1995).
//!
//! - `order`: rows with the same pattern, and approximate minimum degree on the groups of them;
//! - `symbolic`: elimination tree, supernodes and the layout of their panels;
//! - `factor`: the numbers, panel by panel, and the triangular solves.
//!
//! Where rows go out or come back, the supernodes that they affect are factored anew.

mod factor;
mod kernel;
mod order;
mod symbolic;
#[cfg(test)]
mod tests;

use std::time::Instant;

use pulp::Arch;

use factor::{Factor, Numeric, Solve};
use kernel::{numbers, numbers_mut};
use symbolic::{LANES, Symbolic};

/// A pivot at or below this part of its diagonal is rounding and nothing else: a few hundred rows
/// leave that much of a singular matrix.
const PIVOT_FLOOR: f64 = 1e-14;

/// Entries of L that are stored at most: a gigabyte, and as much for A, which lies in the same places.
const MOST_ENTRIES: u64 = 1 << 27;

/// Why there is no factor.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Breakdown {
    /// The matrix is not positive definite, or not by enough.
    #[error("pivot {pivot:e} of row {row} is not of its sign, or too small")]
    Pivot {
        /// The row, as the matrix was given.
        row: usize,
        /// Its pivot; may be NaN.
        pivot: f64,
    },
    /// It would have more entries than are stored.
    #[error("the factor has more than {MOST_ENTRIES} entries")]
    TooLarge,
    /// The deadline has passed.
    #[error("the time is over")]
    Late,
}

/// The factor P A Pᵀ = L D Lᵀ of a sparse symmetric positive definite matrix, and of what is left of
/// it without some rows and columns. Keeps its memory, unless that is large and most of it unused; only a new pattern
/// allocates, at its first factorisation. Results are the same
/// to the last bit on every processor.
#[derive(Clone, Debug, Default)]
pub struct SparseLdl {
    symbolic: Symbolic,
    numeric: Numeric,
    rows: usize,
    /// The pattern that was analysed.
    col_start: Vec<u32>,
    row: Vec<u32>,
    /// Rows from this one on have negative pivots.
    positive: usize,
    /// Whether the factor has more entries than are stored.
    is_too_large: bool,
    /// Whether `numeric` has room for this pattern.
    has_room: bool,
    /// Whether `numeric` is a factor for its tight set.
    valid: bool,
    /// When a factorisation is given up.
    deadline: Option<Instant>,
    /// Patterns analysed.
    analyses: u64,
    arch: Arch,
    /// The supernodes that were last factored.
    affected: Vec<bool>,
}

impl SparseLdl {
    /// Factors what is left of the matrix of `n` rows without those where `tight` is set. The lower triangle,
    /// diagonal included, is given in compressed columns with ascending rows: `row` and `value` from
    /// `col_start[j]` to `col_start[j + 1]`. The pattern is analysed only when it differs from the last
    /// one. The result is the same to the last bit whatever was done before.
    ///
    /// # Errors
    /// At the first pivot that is not positive enough, or is no number; [`SparseLdl::restrict`] may
    /// still succeed with other tight rows. Where it is too large, or the deadline has passed.
    ///
    /// # Panics
    /// When the arrays do not describe such a triangle, or `tight` has another length than `n`.
    pub fn factor(
        &mut self,
        n: usize,
        col_start: &[u32],
        row: &[u32],
        value: &[f64],
        tight: &[bool],
    ) -> Result<(), Breakdown> {
        assert_eq!(tight.len(), n, "one flag per row");
        self.load(n, n, col_start, row, value)?;
        self.factor_all(tight)
    }

    /// [`SparseLdl::factor`] of a quasi-definite matrix: the rows from `positive` on have negative pivots. Such a
    /// row is eliminated after one at least of the other rows that it couples with, since its own diagonal may be
    /// next to nothing.
    ///
    /// # Errors
    /// At the first pivot that is too small or not of its sign, or is no number. Where it is too large, or the deadline has
    /// passed.
    ///
    /// # Panics
    /// As [`SparseLdl::factor`].
    pub fn factor_quasi_definite(
        &mut self,
        n: usize,
        positive: usize,
        col_start: &[u32],
        row: &[u32],
        value: &[f64],
        tight: &[bool],
    ) -> Result<(), Breakdown> {
        assert_eq!(tight.len(), n, "one flag per row");
        self.load(n, positive, col_start, row, value)?;
        self.factor_all(tight)
    }

    fn load(
        &mut self,
        n: usize,
        positive: usize,
        col_start: &[u32],
        row: &[u32],
        value: &[f64],
    ) -> Result<(), Breakdown> {
        assert_eq!(row.len(), value.len(), "one number per entry");
        self.analyse(n, positive, col_start, row);
        if self.is_too_large {
            return Err(Breakdown::TooLarge);
        }
        if !self.has_room {
            self.numeric.resize(&self.symbolic);
            for (negative, i) in self.numeric.negative.iter_mut().zip(&self.symbolic.order) {
                *negative = *i as usize >= positive;
            }
            self.has_room = true;
        }
        let a = numbers_mut(&mut self.numeric.a);
        for (target, v) in self.symbolic.target.iter().zip(value) {
            a[*target as usize] = *v;
        }
        Ok(())
    }

    /// From when on factorisations are given up, between two supernodes.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Whether the factor of the analysed pattern has more entries than are stored.
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// Analyses a pattern, unless it is that of the last matrix. The arguments are those of
    /// [`SparseLdl::factor_quasi_definite`]; [`SparseLdl::cost`] then says what factoring takes.
    ///
    /// # Panics
    /// When the arrays do not describe a lower triangle.
    pub fn analyse(&mut self, n: usize, positive: usize, col_start: &[u32], row: &[u32]) {
        assert!(
            col_start.len() == n + 1 && col_start[0] == 0 && col_start[n] as usize == row.len(),
            "a compressed lower triangle of {n} rows"
        );
        if positive != self.positive || col_start != self.col_start || row != self.row {
            self.rows = n;
            self.positive = positive;
            col_start.clone_into(&mut self.col_start);
            row.clone_into(&mut self.row);
            let analysed = (self.symbolic).analyse(n, positive, col_start, row, MOST_ENTRIES);
            self.is_too_large = !analysed;
            self.affected.resize(self.symbolic.nodes(), false);
            self.has_room = false;
            self.valid = false;
            self.analyses += 1;
        }
    }

    fn factor_all(&mut self, tight: &[bool]) -> Result<(), Breakdown> {
        if self.is_too_large {
            return Err(Breakdown::TooLarge);
        }
        for (t, i) in self.numeric.tight.iter_mut().zip(&self.symbolic.order) {
            *t = tight[*i as usize];
        }
        self.affected.fill(true);
        self.factor_affected()
    }

    /// Factors the supernodes marked in `affected`; all others must be up to date.
    fn factor_affected(&mut self) -> Result<(), Breakdown> {
        let result = self.arch.dispatch(Factor {
            symbolic: &self.symbolic,
            numeric: &mut self.numeric,
            wanted: &self.affected,
            deadline: self.deadline,
        });
        self.valid = result.is_ok();
        result
    }

    /// Makes this the factor of A without the rows and columns where `tight` is set; factors anew the
    /// supernodes that the change affects. The result is the same to the last bit as [`SparseLdl::factor`]'s.
    ///
    /// # Errors
    /// When what is left is not positive definite; another tight set may still succeed. Where it is too large, or the
    /// deadline has passed.
    ///
    /// # Panics
    /// When `tight` has not one flag per row, or nothing was ever factored.
    pub fn restrict(&mut self, tight: &[bool]) -> Result<(), Breakdown> {
        assert_eq!(tight.len(), self.rows, "one flag per row");
        if !self.valid {
            return self.factor_all(tight);
        }
        self.affected.fill(false);
        let mut changed = false;
        for (k, i) in self.symbolic.order.iter().enumerate() {
            let now = tight[*i as usize];
            if std::mem::replace(&mut self.numeric.tight[k], now) != now {
                self.symbolic.mark_affected(k, &mut self.affected);
                changed = true;
            }
        }
        if changed {
            self.factor_affected()
        } else {
            Ok(())
        }
    }

    /// Solves A_FF x_F = r_F in place, F being the rows that are not tight. Entries of tight rows are
    /// neither read nor changed.
    ///
    /// # Panics
    /// When `x` has not one entry per row, or the last factorisation failed.
    pub fn solve(&mut self, x: &mut [f64]) {
        assert_eq!(x.len(), self.rows, "one entry per row");
        assert!(self.valid, "the last factorisation failed");
        let (order, numeric) = (&self.symbolic.order, &mut self.numeric);
        for (k, i) in order.iter().enumerate() {
            numeric.dense[k] = if numeric.tight[k] {
                0.0
            } else {
                x[*i as usize]
            };
        }
        self.arch.dispatch(Solve {
            symbolic: &self.symbolic,
            numeric,
        });
        for (k, i) in order.iter().enumerate() {
            let solved = std::mem::take(&mut numeric.dense[k]);
            if !numeric.tight[k] {
                x[*i as usize] = solved;
            }
        }
    }

    /// Entries of L below its diagonal, the stored zeros included, and multiplications of one factorisation with all
    /// rows; nothing where it is too large.
    pub fn cost(&self) -> [f64; 2] {
        if self.is_too_large {
            return [0.0; 2];
        }
        let [mut entries, mut work] = [0.0; 2];
        for s in 0..self.symbolic.nodes() {
            let [width, height] = [self.symbolic.columns(s).len(), self.symbolic.rows(s).len()];
            for k in 1..=width {
                let below = (height - k) as f64;
                entries += below;
                work += 0.5 * below * (below + 3.0);
            }
        }
        [entries, work]
    }

    /// Supernodes of the factor.
    pub fn nodes(&self) -> usize {
        self.symbolic.nodes()
    }

    /// The original row at each position of the order of elimination.
    pub fn order(&self) -> &[u32] {
        &self.symbolic.order
    }

    /// Calls `visit(row, pivot, value)` with the entries of L √D of the free rows, rows and pivots as the
    /// matrix was given.
    pub fn each_entry(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let (symbolic, numeric) = (&self.symbolic, &self.numeric);
        for s in 0..symbolic.nodes() {
            let stride = LANES * symbolic.stride[s] as usize;
            let panel = numbers(&numeric.l[symbolic.octets(s)]);
            for (k, column) in symbolic.columns(s).enumerate() {
                if numeric.tight[column] {
                    continue;
                }
                let root = numeric.d[column].sqrt();
                let pivot = symbolic.order[column] as usize;
                visit(pivot, pivot, root);
                for (r, row) in symbolic.rows(s).iter().enumerate() {
                    let row = *row as usize;
                    if row > column && !numeric.tight[row] {
                        let value = panel[k * stride + r] * root;
                        visit(symbolic.order[row] as usize, pivot, value);
                    }
                }
            }
        }
    }

    /// Smallest and largest √D over the free rows; infinite and 0 without any.
    pub fn extremes(&self) -> [f64; 2] {
        let numeric = &self.numeric;
        let free = numeric.d.iter().zip(&numeric.tight);
        free.filter(|(_, tight)| !**tight)
            .fold([f64::INFINITY, 0.0], |[low, high], (d, _)| {
                [low.min(d.sqrt()), high.max(d.sqrt())]
            })
    }
}
