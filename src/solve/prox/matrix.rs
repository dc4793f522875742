//! A or T = 1 − R A, stored, for the schemes that multiply by it.

use std::ops::Range;

use super::block::PackedBody;
use super::pack::{Block, Packed};
use super::parameters::Scheme;
use crate::problem::delassus::Delassus;
use crate::problem::{FrictionLaw, Problem};

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
}

impl Matrix {
    /// Assembles A, or T, for a problem packed by islands.
    pub fn refill(&mut self, problem: &Problem, packed: &Packed, scheme: Scheme) {
        self.a.refill(problem);
        self.is_t = scheme == Scheme::T;
        self.offset.resize(packed.lambda_len(), 0.0);
        let mut value = std::mem::take(&mut self.a.value);
        let mut offset = std::mem::take(&mut self.offset);
        let blocks = 0..self.a.blocks();
        self.finish(packed, blocks, &mut value, &mut offset);
        self.a.value = value;
        self.offset = offset;
    }

    /// b for a range of blocks, and R times everything for T; the slices hold just theirs.
    fn finish(&self, packed: &Packed, blocks: Range<usize>, value: &mut [f64], offset: &mut [f64]) {
        let a = &self.a;
        if blocks.len() > CHUNK {
            let middle = blocks.start + blocks.len() / 2;
            let (v0, v1) = value.split_at_mut(a.value_start[middle] - a.value_start[blocks.start]);
            let rows = a.block_row[middle] - a.block_row[blocks.start];
            let (o0, o1) = offset.split_at_mut(rows as usize);
            rayon::join(
                || self.finish(packed, blocks.start..middle, v0, o0),
                || self.finish(packed, middle..blocks.end, v1, o1),
            );
            return;
        }
        let (first, first_row) = (a.value_start[blocks.start], a.block_row[blocks.start]);
        for b in blocks {
            let rows = a.rows(b);
            let offset =
                &mut offset[rows.start - first_row as usize..rows.end - first_row as usize];
            let island = a.island_start.partition_point(|start| *start as usize <= b) - 1;
            free_velocity(packed, island, b, offset);
            if !self.is_t {
                continue;
            }
            let mut r = [0.0; FrictionLaw::MAX_ROWS];
            let r = &mut r[..rows.len()];
            r_factors(packed, island, b, r);
            let mut values = &mut value[a.value_start[b] - first..a.value_start[b + 1] - first];
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
            for (b, r) in offset.iter_mut().zip(r) {
                *b *= *r;
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

/// b = J u_free + bias of a block.
fn free_velocity(packed: &Packed, island: usize, block: usize, b: &mut [f64]) {
    let first = packed.body_start[island] as usize;
    let body = |k: u32| PackedBody {
        velocity: packed.free[first + k as usize],
        ..PackedBody::default()
    };
    match packed.block_of(island, block) {
        Block::Contact(c) => {
            let contact = &packed.contacts[c];
            let [i, j] = contact.bodies.map(body);
            let zero = [0.0; FrictionLaw::MAX_ROWS];
            contact.rows_velocity(packed.extra.get(c), [&i, &j], &zero[..b.len()], b);
        }
        Block::Row(r) => {
            let row = &packed.rows[r];
            let entries = packed.entries(row).iter();
            b[0] = row.bias
                + entries
                    .map(|e| {
                        let u = packed.free[first + e.body as usize];
                        e.jacobian.linear.dot(&u.linear) + e.jacobian.angular.dot(&u.angular)
                    })
                    .sum::<f64>();
        }
    }
}

/// R of the rows of a block.
fn r_factors(packed: &Packed, island: usize, block: usize, r: &mut [f64]) {
    match packed.block_of(island, block) {
        Block::Contact(c) => {
            let [normal, friction] = packed.contacts[c].r;
            r.fill(friction);
            r[0] = normal;
        }
        Block::Row(row) => r[0] = packed.rows[row].r,
    }
}
