//! A or T = 1 − R A, stored, for the schemes that multiply by it.

use std::ops::Range;

use rayon::prelude::*;

use super::block::PackedBody;
use super::pack::{Block, Packed};
use super::parameters::Scheme;
use crate::problem::delassus::Delassus;
use crate::problem::{FrictionLaw, MatrixProblem, Problem};

/// Blocks per unit of parallel work.
const CHUNK: usize = 256;

/// w = A Λ + b through a stored matrix. Keeps its memory.
#[derive(Default)]
pub struct Matrix {
    /// A, or T in its place.
    pub a: Delassus,
    /// b, or R b.
    offset: Vec<f64>,
    is_t: bool,
    /// The packed bodies with the velocities u_free.
    free: Vec<PackedBody>,
}

impl Matrix {
    /// Assembles A, or T, for a problem packed by islands.
    pub fn refill(&mut self, problem: &Problem, packed: &Packed, scheme: Scheme) {
        self.a.refill(problem);
        self.use_packed(packed, scheme);
    }

    /// The same for a problem packed in the order of `sources`, with the first one of each group and one past the last.
    pub fn refill_in_order(
        &mut self,
        problem: &Problem,
        packed: &Packed,
        scheme: Scheme,
        [sources, starts]: [&[u32]; 2],
    ) {
        self.a.refill_in_order(problem, sources, starts);
        self.use_packed(packed, scheme);
    }

    /// b for what is packed; where that is asked for T in place of A, and R b.
    fn use_packed(&mut self, packed: &Packed, scheme: Scheme) {
        self.is_t = scheme == Scheme::T;
        let bodies = packed.free.par_iter().zip(&packed.template);
        bodies
            .with_min_len(CHUNK)
            .map(|(u, body)| PackedBody {
                velocity: *u,
                ..*body
            })
            .collect_into_vec(&mut self.free);
        self.offset.resize(packed.lambda_len(), 0.0);
        let mut value = std::mem::take(&mut self.a.value);
        let mut offset = std::mem::take(&mut self.offset);
        self.finish(packed, 0..self.a.blocks(), &mut value, &mut offset);
        self.a.value = value;
        self.offset = offset;
    }

    /// Copies A, or makes T of it, and b of a problem without bodies that is packed in A's order.
    pub fn copy(&mut self, problem: &MatrixProblem, packed: &Packed, scheme: Scheme) {
        self.a.clone_from(problem.a());
        self.is_t = scheme == Scheme::T;
        self.offset.clear();
        for source in &self.a.source {
            let rows = problem.rows_of_block(*source as usize);
            self.offset.extend_from_slice(&problem.offset()[rows]);
        }
        if !self.is_t {
            return;
        }
        let mut value = std::mem::take(&mut self.a.value);
        let mut offset = std::mem::take(&mut self.offset);
        for island in 0..packed.islands() {
            for b in self.a.island_start[island]..self.a.island_start[island + 1] {
                let b = b as usize;
                let values = &mut value[self.a.value_start[b]..];
                let block = packed.block_of(island, b);
                self.multiply_by_r(packed, b, block, values, &mut offset[self.a.rows(b)]);
            }
        }
        self.a.value = value;
        self.offset = offset;
    }

    /// b, or R b for T.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// b = J u_free + bias of a range of blocks. For T, b becomes R b and A becomes T = 1 − R A. The slices
    /// hold just what belongs to the range.
    fn finish(&self, packed: &Packed, blocks: Range<usize>, value: &mut [f64], offset: &mut [f64]) {
        let a = &self.a;
        let first = blocks.start;
        let values_to = |b: usize| a.value_start[b] - a.value_start[first];
        let rows_to = |b: usize| (a.block_row[b] - a.block_row[first]) as usize;
        if blocks.len() > CHUNK {
            let middle = first + blocks.len() / 2;
            let values = value.split_at_mut(values_to(middle));
            let offsets = offset.split_at_mut(rows_to(middle));
            rayon::join(
                || self.finish(packed, first..middle, values.0, offsets.0),
                || self.finish(packed, middle..blocks.end, values.1, offsets.1),
            );
            return;
        }
        for b in blocks {
            let offset = &mut offset[rows_to(b)..rows_to(b + 1)];
            let island = a.island_start.partition_point(|start| *start as usize <= b) - 1;
            let block = packed.block_of(island, b);
            let free = &self.free[packed.bodies_of(island)];
            free_velocity(packed, block, free, offset);
            if self.is_t {
                self.multiply_by_r(packed, b, block, &mut value[values_to(b)..], offset);
            }
        }
    }

    /// The values of block row `b` of A become those of T, and its b becomes R b.
    fn multiply_by_r(
        &self,
        packed: &Packed,
        b: usize,
        block: Block,
        mut values: &mut [f64],
        offset: &mut [f64],
    ) {
        let a = &self.a;
        let mut r = [0.0; FrictionLaw::MAX_ROWS];
        let r = &mut r[..offset.len()];
        r_factors(packed, block, r);
        for (b, r) in offset.iter_mut().zip(&*r) {
            *b *= r;
        }
        for c in &a.column[a.start[b]..a.start[b + 1]] {
            let n = a.rows(*c as usize).len();
            let (block, rest) = values.split_at_mut(n * r.len());
            values = rest;
            for (k, (line, r)) in block.chunks_exact_mut(n).zip(&*r).enumerate() {
                for (l, v) in line.iter_mut().enumerate() {
                    let one = if *c as usize == b && k == l { 1.0 } else { 0.0 };
                    *v = one - r * *v;
                }
            }
        }
    }

    /// w of packed contact `c` at the Λ of its island (m/s).
    #[inline(always)]
    pub fn contact_velocity(
        &self,
        packed: &Packed,
        island: usize,
        c: usize,
        lambda: &[f64],
        w: &mut [f64],
    ) {
        let block = c + packed.row_start[island] as usize;
        let rows = self.multiply(packed, island, block, lambda, w);
        if self.is_t {
            // w = R⁻¹(Λ − (T Λ − R b)): what T saves is the product with A, not this.
            let [normal, friction] = packed.contacts[c].inverse_r;
            for (k, (w, old)) in w.iter_mut().zip(&lambda[rows]).enumerate() {
                *w = (old - *w) * if k == 0 { normal } else { friction };
            }
        }
    }

    /// w of packed row `r` at the Λ of its island (m/s).
    #[inline(always)]
    pub fn row_velocity(&self, packed: &Packed, island: usize, r: usize, lambda: &[f64]) -> f64 {
        let block = r + packed.contact_start[island + 1] as usize;
        let mut w = [0.0];
        let rows = self.multiply(packed, island, block, lambda, &mut w);
        if self.is_t {
            (lambda[rows.start] - w[0]) * packed.rows[r].inverse_r
        } else {
            w[0]
        }
    }

    /// A Λ + b, or T Λ − R b, of one block; its rows within the island.
    #[inline(always)]
    pub fn multiply(
        &self,
        packed: &Packed,
        island: usize,
        block: usize,
        lambda: &[f64],
        out: &mut [f64],
    ) -> Range<usize> {
        let first = packed.lambda_start[island] as usize;
        let rows = self.a.rows(block);
        self.a.multiply_row(block, lambda, first, out);
        let sign = if self.is_t { -1.0 } else { 1.0 };
        for (w, b) in out.iter_mut().zip(&self.offset[rows.clone()]) {
            *w += sign * b;
        }
        rows.start - first..rows.end - first
    }
}

/// J u_free + bias of a block, whose island's bodies have the velocities u_free.
fn free_velocity(packed: &Packed, block: Block, free: &[PackedBody], b: &mut [f64]) {
    match block {
        Block::Contact(c) => {
            let contact = &packed.contacts[c];
            let pair = contact.bodies.map(|body| &free[body as usize]);
            let zero = [0.0; FrictionLaw::MAX_ROWS];
            contact.rows_velocity(packed.extra.get(c), pair, &zero[..b.len()], b);
        }
        Block::Row(r) => {
            let row = &packed.rows[r];
            b[0] = row.velocity(packed.entries(row), free, 0.0);
        }
    }
}

/// R of the rows of a block.
fn r_factors(packed: &Packed, block: Block, r: &mut [f64]) {
    match block {
        Block::Contact(c) => {
            let [normal, friction] = packed.contacts[c].r;
            r.fill(friction);
            r[0] = normal;
        }
        Block::Row(row) => r[0] = packed.rows[row].r,
    }
}
