//! Sparse LDLᵀ of symmetric positive definite matrices of 50 to 2000 rows in real time, with rows
//! taken out and put back between solves.
//!
//! - `order`: rows with the same pattern, and approximate minimum degree on the groups of them;
//! - `symbolic`: elimination tree, supernodes and the layout of their panels;
//! - `factor`: the numbers, panel by panel, and the triangular solves;
//! - `delete`: rows out and in by rank-one updates along a path of the tree.

mod delete;
mod factor;
mod order;
mod symbolic;
#[cfg(test)]
mod tests;

use pulp::Arch;

use delete::{Add, Delete};
use factor::{Factor, Numeric, Solve, holders, numbers, numbers_mut, parent};
use symbolic::Symbolic;

/// A pivot at or below this part of its diagonal is rounding and nothing else: a few hundred rows
/// leave that much of a singular matrix.
const PIVOT_FLOOR: f64 = 1e-14;
/// Rows that are taken out and put back on top of each other before rounding is cleared by computing
/// the supernodes that carry it anew.
const DRIFT: u32 = 200;

/// The matrix is not positive definite, or not by enough.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("pivot {pivot:e} of row {row} is not positive enough")]
pub struct Breakdown {
    /// The row, as the matrix was given.
    pub row: usize,
    /// Its pivot; may be NaN.
    pub pivot: f64,
}

/// What was done since the object was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Patterns analysed.
    pub analyses: u64,
    /// Factorisations of all supernodes.
    pub refactorisations: u64,
    /// Factorisations of the supernodes that a change affects.
    pub partial_refactorisations: u64,
    /// Rows taken out by an update.
    pub deletions: u64,
    /// Rows put back by an update.
    pub additions: u64,
}

/// The pattern of L, for pictures. Positions count rows in the order of elimination.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    /// The original row at each position.
    pub order: &'a [u32],
    symbolic: &'a Symbolic,
}

impl<'a> Pattern<'a> {
    /// Positions of the stored entries of column `k` below the diagonal, ascending; with the zeros
    /// that supernodes store.
    pub fn column(&self, k: usize) -> &'a [u32] {
        let s = self.symbolic.node[k] as usize;
        let own = k - self.symbolic.columns(s).start;
        &self.symbolic.rows(s)[own + 1..]
    }

    /// First column of each supernode, and one past the last.
    pub fn supernodes(&self) -> &'a [u32] {
        &self.symbolic.first
    }
}

/// The factor P A Pᵀ = L D Lᵀ of a sparse symmetric positive definite matrix, and of what is left of
/// it without some rows and columns. Keeps its memory; nothing is allocated once the sizes have been
/// seen. Results are the same to the last bit on every processor.
#[derive(Clone, Debug)]
pub struct SparseLdl {
    symbolic: Symbolic,
    numeric: Numeric,
    /// The pattern that was analysed.
    rows: usize,
    col_start: Vec<u32>,
    row: Vec<u32>,
    /// Whether `numeric` is a factor for its tight set.
    valid: bool,
    /// Updates since rounding was last cleared.
    drift: u32,
    counters: Counters,
    arch: Arch,
    removed: Vec<u32>,
    returned: Vec<u32>,
    affected: Vec<bool>,
}

impl Default for SparseLdl {
    fn default() -> Self {
        Self {
            symbolic: Symbolic::default(),
            numeric: Numeric::default(),
            rows: 0,
            col_start: vec![0],
            row: Vec::new(),
            valid: true,
            drift: 0,
            counters: Counters::default(),
            arch: Arch::new(),
            removed: Vec::new(),
            returned: Vec::new(),
            affected: Vec::new(),
        }
        .analysed()
    }
}

impl SparseLdl {
    /// The factor of the matrix without rows.
    pub fn new() -> Self {
        Self::default()
    }

    fn analysed(mut self) -> Self {
        self.symbolic.analyse(self.rows, &self.col_start, &self.row);
        self
    }

    /// Factors what is left of the matrix of `n` rows without those where `tight` is set. The lower triangle,
    /// diagonal included, is given in compressed columns with ascending rows: `row` and `value` from
    /// `col_start[j]` to `col_start[j + 1]`. The pattern is analysed only when it differs from the last
    /// one. The result is the same to the last bit whatever was done before.
    ///
    /// # Errors
    /// At the first pivot that is not positive enough, or is no number. [`SparseLdl::restrict`] may
    /// still succeed with other tight rows.
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
        self.load(n, col_start, row, value);
        self.take_tight(tight);
        self.factor_all()
    }

    fn load(&mut self, n: usize, col_start: &[u32], row: &[u32], value: &[f64]) {
        assert!(
            col_start.len() == n + 1
                && col_start[0] == 0
                && col_start[n] as usize == row.len()
                && row.len() == value.len(),
            "a compressed lower triangle of {n} rows"
        );
        if n != self.rows || col_start != self.col_start || row != self.row {
            self.rows = n;
            self.col_start.clear();
            self.col_start.extend_from_slice(col_start);
            self.row.clear();
            self.row.extend_from_slice(row);
            self.symbolic.analyse(n, col_start, row);
            self.numeric.resize(&self.symbolic);
            self.affected.resize(self.symbolic.nodes(), false);
            self.counters.analyses += 1;
        }
        let a = numbers_mut(&mut self.numeric.a);
        for (target, v) in self.symbolic.target.iter().zip(value) {
            a[*target as usize] = *v;
        }
        self.numeric.tight.fill(false);
    }

    fn factor_all(&mut self) -> Result<(), Breakdown> {
        self.counters.refactorisations += 1;
        self.affected.fill(true);
        self.factor_affected()
    }

    /// Factors the supernodes marked in `affected`; all others must be up to date.
    fn factor_affected(&mut self) -> Result<(), Breakdown> {
        self.drift = 0;
        let result = self.arch.dispatch(Factor {
            symbolic: &self.symbolic,
            numeric: &mut self.numeric,
            wanted: &self.affected,
        });
        self.valid = result.is_ok();
        result
    }

    fn take_tight(&mut self, tight: &[bool]) {
        for (t, i) in self.numeric.tight.iter_mut().zip(&self.symbolic.order) {
            *t = tight[*i as usize];
        }
    }

    /// Makes this the factor of A without the rows and columns where `tight` is set. Takes the
    /// cheapest way by an estimate of the operations: rows out and in by updates of the present
    /// factor, or anew the supernodes that the change affects.
    ///
    /// # Errors
    /// When what is left is not positive definite. Another tight set may still succeed.
    ///
    /// # Panics
    /// When `tight` has not one flag per row.
    pub fn restrict(&mut self, tight: &[bool]) -> Result<(), Breakdown> {
        self.find_changes(tight);
        if !self.valid {
            self.take_tight(tight);
            return self.factor_all();
        }
        if self.removed.is_empty() && self.returned.is_empty() {
            return Ok(());
        }
        let anew = self.find_affected();
        let changes = (self.removed.len() + self.returned.len()) as u32;
        let update = if self.drift + changes > DRIFT {
            f64::INFINITY
        } else {
            self.update_cost()
        };
        if anew <= update {
            self.take_tight(tight);
            return self.factor_changed();
        }
        if self.update() {
            return Ok(());
        }
        self.find_affected();
        self.take_tight(tight);
        self.factor_changed()
    }

    fn factor_changed(&mut self) -> Result<(), Breakdown> {
        self.counters.partial_refactorisations += 1;
        self.factor_affected()
    }

    /// The positions that become tight and free.
    fn find_changes(&mut self, tight: &[bool]) {
        assert_eq!(tight.len(), self.rows, "one flag per row");
        self.removed.clear();
        self.returned.clear();
        let pairs = self.symbolic.order.iter().zip(&self.numeric.tight);
        for (k, (i, before)) in pairs.enumerate() {
            match (*before, tight[*i as usize]) {
                (false, true) => self.removed.push(k as u32),
                (true, false) => self.returned.push(k as u32),
                _ => {}
            }
        }
    }

    /// Marks the supernodes that must be computed anew after the change, with all that carry the
    /// rounding of updates. Returns their cost.
    fn find_affected(&mut self) -> f64 {
        let symbolic = &self.symbolic;
        self.affected.copy_from_slice(&self.numeric.updated);
        for i in self.removed.iter().chain(&self.returned) {
            let i = *i as usize;
            for (d, _) in holders(symbolic, i) {
                self.affected[d] = true;
            }
            let mut s = Some(symbolic.node[i] as usize);
            while let Some(node) = s {
                if std::mem::replace(&mut self.affected[node], true) {
                    break;
                }
                s = parent(symbolic, node);
            }
        }
        let costs = symbolic.factor_cost.iter().zip(&self.affected);
        costs.map(|(c, a)| if *a { *c } else { 0.0 }).sum()
    }

    fn path_cost(&self, position: usize) -> f64 {
        self.symbolic.path_cost[self.symbolic.node[position] as usize]
    }

    fn update_cost(&self) -> f64 {
        let path = |i: &u32| self.path_cost(*i as usize);
        let row = |i: &u32| self.symbolic.row_cost[self.symbolic.node[*i as usize] as usize];
        self.removed.iter().map(path).sum::<f64>()
            + self.returned.iter().map(|i| path(i) + row(i)).sum::<f64>()
    }

    /// Takes rows out and puts rows back. False where a row could not come back.
    fn update(&mut self) -> bool {
        let (symbolic, numeric) = (&self.symbolic, &mut self.numeric);
        for row in &self.removed {
            let row = *row as usize;
            self.arch.dispatch(Delete {
                symbolic,
                numeric,
                row,
            });
        }
        for row in &self.returned {
            let row = *row as usize;
            let add = Add {
                symbolic,
                numeric,
                row,
            };
            if !self.arch.dispatch(add) {
                return false;
            }
        }
        let (removed, returned) = (self.removed.len(), self.returned.len());
        self.drift += (removed + returned) as u32;
        self.counters.deletions += removed as u64;
        self.counters.additions += returned as u64;
        true
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

    /// The pattern of L.
    pub fn pattern(&self) -> Pattern<'_> {
        Pattern {
            order: &self.symbolic.order,
            symbolic: &self.symbolic,
        }
    }

    /// Calls `visit(row, pivot, value)` with the entries of L √D of the free rows, rows and pivots as the
    /// matrix was given.
    pub fn each_entry(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let (symbolic, numeric) = (&self.symbolic, &self.numeric);
        for s in 0..symbolic.nodes() {
            let stride = symbolic::LANES * symbolic.stride[s] as usize;
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

    /// What was done since the object was made.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
