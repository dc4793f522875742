//! One island of a problem without bodies: contacts and general rows are blocks of A, numbered within the island,
//! contacts first.

use std::ops::Range;

use super::{Block, Set};
use crate::problem::delassus::Delassus;
use crate::problem::{Form, MatrixProblem};

/// Rows of a contact: N, T1, T2.
pub const ROWS: usize = 3;
/// The blocks of an island, and where they stand in the problem.
#[derive(Clone)]
pub(in crate::solve) struct Blocks<'a> {
    problem: &'a MatrixProblem,
    /// The first block of A, and its first row there.
    first: usize,
    first_row: usize,
    /// Number of rows.
    pub rows: usize,
    /// Per row: b (m/s) and the diagonal of A (1/kg).
    pub b: Vec<f64>,
    pub diagonal: Vec<f64>,
    /// The laws.
    pub blocks: Vec<Block>,
}

impl<'a> Blocks<'a> {
    /// The blocks of an island of A.
    pub fn new(problem: &'a MatrixProblem, island: usize) -> Self {
        let a = problem.a();
        let [first, end] = [0, 1].map(|k| a.island_start[island + k] as usize);
        let all = problem.contact_count();
        let sources = &a.source[first..end];
        let contacts = sources.partition_point(|s| (*s as usize) < all);
        let first_row = a.block_row[first] as usize;
        let mut out = Self {
            problem,
            first,
            first_row,
            rows: a.block_row[end] as usize - first_row,
            b: Vec::new(),
            diagonal: Vec::new(),
            blocks: Vec::new(),
        };
        for (k, source) in sources.iter().map(|s| *s as usize).enumerate() {
            let own = a.own(first + k);
            let rows = out.rows(k);
            let diagonal = (0..rows.len()).map(|i| own[i * (rows.len() + 1)]);
            out.blocks.push(Block {
                set: if k < contacts {
                    Set::Cone(problem.friction_of(source))
                } else {
                    Set::Interval(problem.bounds_of(source - all))
                },
                first: rows.start,
                rows: rows.len(),
                scale: diagonal.clone().fold(0.0, f64::max),
            });
            out.diagonal.extend(diagonal);
            out.b.extend_from_slice(&problem.offset()[out.source(k)]);
        }
        out
    }

    /// A, and the number of the island's first block there.
    pub fn matrix(&self) -> (&'a Delassus, usize) {
        (self.problem.a(), self.first)
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The rows of block `k`.
    #[inline(always)]
    pub fn rows(&self, k: usize) -> Range<usize> {
        let rows = self.problem.a().rows(self.first + k);
        rows.start - self.first_row..rows.end - self.first_row
    }

    /// The rows of block `k` in the problem's Λ.
    fn source(&self, k: usize) -> Range<usize> {
        let source = self.problem.a().source[self.first + k];
        self.problem.rows_of_block(source as usize)
    }

    /// Takes the island's impulses from those of the problem.
    pub fn load(&self, lambda: &[f64], x: &mut [f64]) {
        for k in 0..self.len() {
            x[self.rows(k)].copy_from_slice(&lambda[self.source(k)]);
        }
    }

    /// Writes the island's impulses to those of the problem.
    pub fn store(&self, x: &[f64], lambda: &mut [f64]) {
        for k in 0..self.len() {
            lambda[self.source(k)].copy_from_slice(&x[self.rows(k)]);
        }
    }

    /// y ← A x.
    pub fn product(&self, x: &[f64], y: &mut [f64]) {
        let a = self.problem.a();
        for k in 0..self.len() {
            let rows = self.rows(k);
            a.multiply_row(self.first + k, x, self.first_row, &mut y[rows]);
        }
    }

    /// Multiplications of a product with A.
    pub fn entries(&self) -> f64 {
        let at = &self.problem.a().value_start;
        (at[self.first + self.len()] - at[self.first]) as f64
    }
}
