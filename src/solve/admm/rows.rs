//! The iteration's matrix without bodies: ½(A + Aᵀ) + R + η. What is not symmetric in A follows the last solution.

use super::engine::{Block, Form, Set};
use crate::solve::linalg::sparse::Breakdown;
use crate::solve::newton::matrix::blocks::Blocks;
use crate::solve::newton::matrix::system::System;

/// An island of A.
pub struct Rows<'a> {
    pub of: Blocks<'a>,
    system: System,
    blocks: Vec<Block>,
    change: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// Takes an island.
    pub fn new(of: Blocks<'a>) -> Self {
        let blocks = (0..of.len()).map(|k| Block {
            set: if k < of.contacts() {
                Set::Cone(of.friction(k))
            } else {
                Set::Interval(of.bounds(k))
            },
            first: of.rows(k).start,
            rows: of.rows(k).len(),
            scale: of.scale[k],
        });
        Self {
            blocks: blocks.collect(),
            system: System::new(&of),
            change: vec![0.0; of.rows],
            of,
        }
    }

    /// Entries of the factor, and multiplications of a factorisation.
    pub fn cost(&self) -> [f64; 2] {
        self.system.cost
    }
}

impl Form for Rows<'_> {
    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn diagonal(&self) -> &[f64] {
        &self.of.diagonal
    }

    fn product(&mut self, x: &[f64], w: &mut [f64]) {
        self.of.product(x, w);
        w.iter_mut().zip(&self.of.b).for_each(|(w, b)| *w += b);
    }

    fn factor(&mut self, shift: &[f64]) -> Result<(), Breakdown> {
        self.system.begin();
        for block in &self.blocks {
            self.system.push_plain(&shift[block.first..][..block.rows]);
        }
        self.system.factor(&self.of)
    }

    fn solve(&mut self, shift: &[f64], r: &[f64], x: &mut [f64]) {
        self.of.product(x, &mut self.change);
        for (k, change) in self.change.iter_mut().enumerate() {
            *change = r[k] - self.of.b[k] - *change - shift[k] * x[k];
        }
        self.system.substitute(&mut self.change);
        x.iter_mut().zip(&self.change).for_each(|(x, c)| *x += c);
    }

    fn entries(&self) -> f64 {
        self.system.cost[0]
    }
}
