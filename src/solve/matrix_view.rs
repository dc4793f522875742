//! A view of a solver's matrices, for pictures.

use serde::{Deserialize, Serialize};

/// The matrices of the largest island of the last solve, for pictures (Lefebvre 2020, figures 2.5 and
/// 2.6). All rows count from 0 in the order that the factor has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixView {
    /// Number of rows.
    pub n: usize,
    /// Row and column of the non-zero blocks' entries in the lower triangle of A.
    pub a: Vec<[u32; 2]>,
    /// Row and column of the non-zero entries of L, tight rows left out.
    pub l: Vec<[u32; 2]>,
    /// Last row of each column's envelope.
    pub envelope: Vec<u32>,
    /// Place of each row in the problem's own order, from 0 within the island.
    pub natural: Vec<u32>,
    /// Row of the problem's Λ.
    pub row: Vec<u32>,
    /// Which rows are tight.
    pub tight: Vec<bool>,
}

impl MatrixView {
    /// Counts all rows in another order: `order` holds the present row at each new place.
    pub fn reorder(&mut self, order: &[u32]) {
        let mut place = vec![0; order.len()];
        for (k, i) in order.iter().enumerate() {
            place[*i as usize] = k as u32;
        }
        for entries in [&mut self.a, &mut self.l] {
            for [i, k] in entries.iter_mut() {
                let (p, q) = (place[*i as usize], place[*k as usize]);
                (*i, *k) = (p.max(q), p.min(q));
            }
        }
        let at = |v: &[u32]| order.iter().map(|i| v[*i as usize]).collect();
        self.natural = at(&self.natural);
        self.row = at(&self.row);
        self.tight = order.iter().map(|i| self.tight[*i as usize]).collect();
        self.envelope = (0..order.len() as u32).collect();
        for [i, k] in &self.l {
            let last = &mut self.envelope[*k as usize];
            *last = (*last).max(*i);
        }
    }
}
