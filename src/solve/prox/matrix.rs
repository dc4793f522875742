//! A or T = 1 − R A, stored, for the schemes that multiply by it.

use std::ops::Range;

use rayon::prelude::*;

use super::block::PackedBody;
use super::pack::{Block, Packed};
use super::parameters::Scheme;
use crate::problem::Problem;
use crate::problem::delassus::{Delassus, slices};
use crate::problem::islands::span;

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
        // b = J u_free + bias.
        let zero = vec![0.0; packed.lambda_len()];
        self.offset.resize(zero.len(), 0.0);
        let bodies = packed.free.iter().zip(&packed.template);
        let free: Vec<PackedBody> = bodies
            .map(|(u, body)| PackedBody {
                velocity: *u,
                ..*body
            })
            .collect();
        for island in 0..packed.islands() {
            let (own, bodies) = (packed.impulses(island), packed.bodies_of(island));
            let b = &mut self.offset[own.clone()];
            packed.constraint_velocities(island, &zero[own], &free[bodies], b);
        }
        if self.is_t {
            self.multiply_by_r(packed);
        }
    }

    /// A becomes T = 1 − R A, and b becomes R b.
    fn multiply_by_r(&mut self, packed: &Packed) {
        let mut r = vec![0.0; self.offset.len()];
        for island in 0..packed.islands() {
            for block in span(&self.a.island_start, island) {
                r_factors(packed, island, block, &mut r[self.a.rows(block)]);
            }
        }
        for (b, r) in self.offset.iter_mut().zip(&r) {
            *b *= r;
        }
        let mut value = std::mem::take(&mut self.a.value);
        let a = &self.a;
        slices(&a.value_start, &mut value)
            .into_par_iter()
            .with_min_len(CHUNK)
            .enumerate()
            .for_each(|(b, mut values)| {
                let r = &r[a.rows(b)];
                for c in &a.column[a.start[b]..a.start[b + 1]] {
                    let n = a.rows(*c as usize).len();
                    let (block, rest) = values.split_at_mut(n * r.len());
                    values = rest;
                    for (k, (line, r)) in block.chunks_exact_mut(n).zip(r).enumerate() {
                        for (l, v) in line.iter_mut().enumerate() {
                            let one = if *c as usize == b && k == l { 1.0 } else { 0.0 };
                            *v = one - r * *v;
                        }
                    }
                }
            });
        self.a.value = value;
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
