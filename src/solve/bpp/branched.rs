//! `sparse`: L D Lᵀ in an order of little fill, for islands that branch; beyond the thesis.

use super::factor::{Breakdown, Counters, Factorization};
use super::island::IslandMatrix;
use super::panels::{BREAKDOWN, RAISED};
use crate::linalg::supernodal::{self, SparseLdl};

/// Broken pivots that are raised one by one; from then on the whole diagonal is.
const MOST_RAISED: usize = 32;

/// A sparse factor of an island's matrix.
#[derive(Default)]
pub struct Branched {
    ldl: SparseLdl,
    value: Vec<f64>,
    /// Whether the matrix has been factored.
    fresh: bool,
    tight: Vec<bool>,
    counters: Counters,
}

impl Branched {
    fn factor(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), supernodal::Breakdown> {
        let pattern = &a.pattern;
        self.counters.refactorizations += 1;
        self.ldl
            .factor(a.n, &pattern.start, &pattern.row, &self.value, tight)
    }

    /// Raises a pivot that broke down, or all of them.
    fn raise(&mut self, a: &IslandMatrix, row: Option<usize>) {
        for k in 0..a.n {
            if row.is_none_or(|r| r == k) {
                // The diagonal is the first of its column.
                self.value[a.pattern.start[k] as usize] += RAISED;
            }
        }
        self.counters.raised = RAISED;
    }
}

impl Factorization for Branched {
    fn prepare(&mut self, a: &IslandMatrix) {
        let pattern = &a.pattern;
        self.value.clear();
        for k in 0..a.n {
            let rows = &pattern.row[pattern.start[k] as usize..pattern.start[k + 1] as usize];
            let values = rows.iter().map(|i| a.value[a.envelope.at(*i as usize, k)]);
            self.value.extend(values);
        }
        self.fresh = true;
        self.tight.clear();
        self.counters = Counters::default();
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        if !self.fresh && self.tight == tight {
            return Ok(());
        }
        let mut result = if self.fresh {
            self.factor(a, tight)
        } else {
            self.counters.refactorizations += 1;
            self.ldl.restrict(tight)
        };
        self.fresh = false;
        let mut tries = 0;
        while let Err(broken) = result {
            let row = match broken {
                supernodal::Breakdown::Pivot { row, pivot } if pivot.is_finite() => row,
                _ => return Err(Breakdown::NotFinite),
            };
            if tries > MOST_RAISED + 4 {
                return Err(Breakdown::NotFinite);
            }
            self.raise(a, (tries < MOST_RAISED).then_some(row));
            result = self.factor(a, tight);
            tries += 1;
        }
        // What is above the floor of the factor may still be noise.
        let [low, _] = self.ldl.extremes();
        if low * low < BREAKDOWN {
            self.raise(a, None);
            self.factor(a, tight).map_err(|_| Breakdown::NotFinite)?;
        }
        tight.clone_into(&mut self.tight);
        Ok(())
    }

    fn solve(&mut self, x: &mut [f64]) {
        for (x, tight) in x.iter_mut().zip(&self.tight) {
            if *tight {
                *x = 0.0;
            }
        }
        let n = self.tight.len();
        self.ldl.solve(&mut x[..n]);
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn extremes(&self, _tight: &[bool]) -> [f64; 2] {
        self.ldl.extremes()
    }

    fn order(&self) -> Option<&[u32]> {
        Some(self.ldl.order())
    }

    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        self.ldl.each_entry(visit);
    }
}
