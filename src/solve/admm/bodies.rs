//! The iteration's matrix for an island of bodies: with D = (C + R + η)⁻¹ over the contacts,
//! [M + Jᵀ D J, J_rᵀ; J_r, −(C_r + R_r + η)], which is [`newton`](crate::solve::newton)'s.

use super::engine::{Block, Form, Set};
use crate::problem::law::Slope;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::linalg::sparse::Breakdown;
use crate::solve::newton::island::Island;
use crate::solve::newton::system::System;

const N: usize = FrictionLaw::MAX_ROWS;

/// An island of bodies. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    pub island: Island,
    pub system: System,
    blocks: Vec<Block>,
    diagonal: Vec<f64>,
    offset: Vec<f64>,
    pub compliance: Vec<f64>,
    momentum: Vec<f64>,
    velocity: Vec<f64>,
    /// Whether the system is that of the island.
    pub is_ready: bool,
    /// J v of the contacts, and what general rows are solved for.
    pulled: Vec<f64>,
    general: Vec<f64>,
}

impl Bodies {
    /// Takes an island of a problem; `local` has the number of every body within its island.
    pub fn refill(&mut self, problem: &Problem, island: usize, local: &[u32]) {
        self.island.refill(problem, island, local);
        self.is_ready = false;
        self.prepare();
    }

    /// Everything that follows from the island.
    pub fn prepare(&mut self) {
        let (contacts, rows) = (&self.island.contacts, &self.island.rows);
        self.blocks.clear();
        for c in 0..contacts.len() {
            let span = contacts.rows(c);
            self.blocks.push(Block {
                set: Set::Cone(contacts.friction[c]),
                first: span.start,
                rows: span.len(),
                scale: contacts.scale[c],
            });
        }
        let first = contacts.free.len();
        for r in 0..rows.len() {
            self.blocks.push(Block {
                set: Set::Interval(rows.bounds[r]),
                first: first + r,
                rows: 1,
                scale: rows.diagonal[r],
            });
        }
        for (out, parts) in [
            (&mut self.diagonal, [&contacts.diagonal, &rows.diagonal]),
            (&mut self.offset, [&contacts.free, &rows.free]),
            (
                &mut self.compliance,
                [&contacts.compliance, &rows.compliance],
            ),
        ] {
            out.clear();
            parts
                .into_iter()
                .for_each(|part| out.extend_from_slice(part));
        }
        for v in [&mut self.momentum, &mut self.velocity] {
            v.clear();
            v.resize(self.island.velocities(), 0.0);
        }
        self.pulled.resize(first, 0.0);
        self.general.resize(rows.len(), 0.0);
    }

    /// Copies the impulses of the problem.
    pub fn load(&self, problem: &Problem, lambda: &[f64], y: &mut Vec<f64>) {
        y.clear();
        for c in &self.island.contacts.source {
            y.extend_from_slice(&lambda[problem.contacts.rows(*c as usize)]);
        }
        let first = problem.contact_rows();
        let rows = self.island.rows.source.iter();
        y.extend(rows.map(|r| lambda[first + *r as usize]));
    }

    /// Copies impulses to those of the problem.
    pub fn store(&self, problem: &Problem, y: &[f64], lambda: &mut [f64]) {
        let contacts = &self.island.contacts;
        for (k, c) in contacts.source.iter().enumerate() {
            lambda[problem.contacts.rows(*c as usize)].copy_from_slice(&y[contacts.rows(k)]);
        }
        let (from, to) = (contacts.free.len(), problem.contact_rows());
        for (k, r) in self.island.rows.source.iter().enumerate() {
            lambda[to + *r as usize] = y[from + k];
        }
    }
}

impl Form for Bodies {
    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    fn product(&mut self, x: &[f64], w: &mut [f64]) {
        let island = &self.island;
        let (contacts, rows) = x.split_at(island.contacts.free.len());
        self.momentum.fill(0.0);
        island.contacts.add_transposed(contacts, &mut self.momentum);
        island.rows.add_transposed(rows, &mut self.momentum);
        island.inverse_product(&self.momentum, &mut self.velocity);
        let (of_contacts, of_rows) = w.split_at_mut(contacts.len());
        island.contacts.product(&self.velocity, of_contacts);
        island.rows.product(&self.velocity, of_rows);
        for (k, w) in w.iter_mut().enumerate() {
            *w += self.offset[k] + self.compliance[k] * x[k];
        }
    }

    fn factor(&mut self, shift: &[f64]) -> Result<(), Breakdown> {
        if !self.is_ready {
            self.system.refill(&self.island);
            self.is_ready = true;
        }
        self.system.begin();
        let contacts = &self.island.contacts;
        for c in 0..contacts.len() {
            let mut slope: Slope = [[0.0; N]; N];
            for (k, row) in contacts.rows(c).enumerate() {
                slope[k][k] = 1.0 / (self.compliance[row] + shift[row]);
            }
            self.system.add_contact(&self.island, c, &slope);
        }
        let first = contacts.free.len();
        for r in 0..self.island.rows.len() {
            let e = self.compliance[first + r] + shift[first + r];
            self.system.set_row(&self.island, r, Some(e));
        }
        self.system.factor(&self.island)
    }

    fn solve(&mut self, shift: &[f64], r: &[f64], x: &mut [f64]) {
        let island = &self.island;
        for (k, x) in x.iter_mut().enumerate() {
            *x = r[k] - self.offset[k];
        }
        let (contacts, rows) = x.split_at_mut(island.contacts.free.len());
        let softness = |k: usize| self.compliance[k] + shift[k];
        for (k, (out, x)) in self.pulled.iter_mut().zip(&*contacts).enumerate() {
            *out = x / softness(k);
        }
        self.velocity.fill(0.0);
        island
            .contacts
            .add_transposed(&self.pulled, &mut self.velocity);
        self.general.copy_from_slice(rows);
        self.system.solve(&mut self.velocity, &mut self.general);
        island.contacts.product(&self.velocity, &mut self.pulled);
        for (k, (x, pulled)) in contacts.iter_mut().zip(&self.pulled).enumerate() {
            *x = (*x - pulled) / softness(k);
        }
        for (x, y) in rows.iter_mut().zip(&self.general) {
            // The system has −x.
            *x = -y;
        }
    }

    fn entries(&self) -> f64 {
        self.system.entries()
    }
}
