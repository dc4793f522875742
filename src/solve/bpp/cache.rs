//! `cached`: intermediate factors by their ordered tight set (Lefebvre 2020, algorithms 3.1 and 3.2),
//! with a bound on their memory.

use std::collections::HashMap;

use super::factor::{Breakdown, Counters, Factorization};
use super::island::IslandMatrix;
use super::panels::{Envelope, Panels, TILE, each_entry};

/// Tight rows are removed in ascending order; the factor after every removal is kept, and the longest
/// known beginning of a tight set is where the next one starts. Only within a step: the next has
/// another matrix.
#[derive(Clone, Debug, Default)]
pub struct Cached {
    most: usize,
    share: f64,
    /// Node of the trie by its parent and its row; node 0 is the whole factor.
    child: HashMap<[u32; 2], u32>,
    nodes: Vec<Panels>,
    used: usize,
    work: Panels,
    envelope: Envelope,
    tight: Vec<bool>,
    sigma: Vec<f64>,
    counters: Counters,
}

impl Cached {
    /// Makes one that keeps at most so many bytes of factors. `share`: when more than this share of the
    /// rows is tight, A_FF is factored instead.
    pub fn new(most: usize, share: f64) -> Self {
        Self {
            most,
            share,
            ..Self::default()
        }
    }

    fn bytes(&self) -> usize {
        (self.envelope.len() + self.envelope.panels() * TILE) * size_of::<f64>()
    }

    /// Keeps the present factor, if there is room.
    fn keep(&mut self) -> Option<u32> {
        if (self.used + 1) * self.bytes() > self.most {
            return None;
        }
        if self.nodes.len() == self.used {
            self.nodes.push(Panels::default());
        }
        self.nodes[self.used].copy_from(&self.work);
        self.used += 1;
        self.counters.cache_entries = self.used as u64;
        self.counters.cache_bytes = (self.used * self.bytes()) as u64;
        Some(self.used as u32 - 1)
    }
}

impl Factorization for Cached {
    fn prepare(&mut self, a: &IslandMatrix) {
        self.envelope.clone_from(&a.envelope);
        self.child.clear();
        self.used = 0;
        self.tight.clear();
        self.sigma.clear();
        self.sigma.resize(a.envelope.panels() * TILE, 0.0);
        self.counters = Counters::default();
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        if self.tight == tight {
            return Ok(());
        }
        tight.clone_into(&mut self.tight);
        let count = tight.iter().filter(|t| **t).count();
        if count as f64 > self.share * a.n as f64 {
            self.counters.refactorizations += 1;
            self.work.factor(&self.envelope, &a.value, tight, 0)?;
            self.counters.raised = self.counters.raised.max(self.work.raised);
            return Ok(());
        }
        // The longest beginning that is known.
        let mut node = (self.used > 0).then_some(0);
        let mut rows = (0..tight.len()).filter(|i| tight[*i]).peekable();
        while let (Some(at), Some(row)) = (node, rows.peek()) {
            let Some(next) = self.child.get(&[at, *row as u32]) else {
                break;
            };
            node = Some(*next);
            rows.next();
        }
        if let Some(node) = node {
            self.work.copy_from(&self.nodes[node as usize]);
            self.counters.cache_hits += 1;
        } else {
            self.counters.refactorizations += 1;
            self.work.factor(&self.envelope, &a.value, &[], 0)?;
            self.counters.raised = self.counters.raised.max(self.work.raised);
            node = self.keep();
        }
        for row in rows {
            self.work.remove(&self.envelope, row, &mut self.sigma);
            self.counters.downdates += 1;
            let kept = node.and_then(|node| self.keep().map(|next| (node, next)));
            node = kept.map(|(parent, next)| {
                self.child.insert([parent, row as u32], next);
                next
            });
        }
        Ok(())
    }

    fn solve(&mut self, x: &mut [f64]) {
        self.work.solve(&self.envelope, x);
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn extremes(&self, tight: &[bool]) -> [f64; 2] {
        self.work.extremes(&self.envelope, tight)
    }

    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        each_entry(&self.envelope, &self.work.value, &self.tight, visit);
    }
}
