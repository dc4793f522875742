//! `full`: the whole matrix factored anew at every pivot (Lefebvre 2020, algorithm 2.1).

use super::factor::{Breakdown, Counters, Factorization};
use super::island::IslandMatrix;
use super::panels::{Envelope, Panels, TILE};

/// A dense factorisation of A_FF, gathered without gaps, at every pivot.
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
        self.envelope.pad(n, &mut self.a);
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
