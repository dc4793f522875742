//! The operator of an island of bodies: A = J M⁻¹ Jᵀ + C.
//!
//! Its systems are [M + Jᵀ D J, J_rᵀ; J_r, −E] ([`System`]), with D = (C + R + η)⁻¹ over the contacts for alternating
//! directions, and D = K for Newton's steps, whose σ follows the velocities of sliding contacts ([`Sliding`]).

use std::ops::Range;

use super::packed::{Island, add};
use super::sliding::Sliding;
use super::system::System;
use super::{Block, Linear, Linearisation, Operator, Tally};
use crate::linalg::supernodal::Breakdown;
use crate::problem::law::Slope;
use crate::problem::{FrictionLaw, Problem};

const N: usize = FrictionLaw::MAX_ROWS;
/// Multiplications of a linearisation and its matrix, per row of a contact (-).
pub(in crate::solve) const WORK_PER_SYSTEM_ROW: f64 = 120.0;

/// An island of bodies. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Bodies {
    pub island: Island,
    pub system: System,
    /// Whether the system is that of the island.
    is_ready: bool,
    pub sliding: Sliding,
    /// What is left over, and then a step, of velocities and of general rows; what the step does to J u, row by row.
    pub dv: Vec<f64>,
    pub dy: Vec<f64>,
    pub dw: Vec<f64>,
    pub momentum: Vec<f64>,
    /// M⁻¹ Jᵀ x of the last product.
    pub velocity: Vec<f64>,
    /// J v of the contacts, and what general rows are solved for.
    pulled: Vec<f64>,
    general: Vec<f64>,
}

impl Bodies {
    /// Takes an island of a problem; `local` has the number of every body within its island.
    pub fn refill(&mut self, problem: &Problem, island: usize, local: &[u32]) {
        self.island.refill(problem, island, local);
        self.is_ready = false;
        let (first, general) = (self.island.contact_rows(), self.island.rows.len());
        let velocities = self.island.velocities();
        for (vector, n) in [
            (&mut self.dv, velocities),
            (&mut self.momentum, velocities),
            (&mut self.velocity, velocities),
            (&mut self.dy, general),
            (&mut self.general, general),
            (&mut self.dw, first + general),
            (&mut self.pulled, first),
        ] {
            vector.clear();
            vector.resize(n, 0.0);
        }
    }

    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.island.contacts.len()
    }

    /// Makes the system that of the island.
    pub fn make_ready(&mut self) {
        if !self.is_ready {
            self.system.refill(&self.island);
            self.is_ready = true;
        }
    }

    /// Begins the matrix of a Newton step.
    pub fn begin_matrix(&mut self) {
        self.make_ready();
        self.system.begin();
        self.sliding.clear();
    }

    /// Sets E of general row `r`, or takes the row out.
    pub fn set_row(&mut self, r: usize, e: Option<f64>) {
        self.system.set_row(&self.island, r, e);
    }

    /// Turns what is left over in `dv` and `dy` into a step, and finds what it does to J u; `follows` says whether σ
    /// follows the velocities.
    pub fn find_step(&mut self, follows: bool, tally: &mut Tally) -> Result<(), Breakdown> {
        if !self.system.is_factored() {
            tally.factors += 1;
            tally.work += self.system.work();
            self.system.factor(&self.island)?;
        }
        self.system.count_solve(tally);
        self.system.solve(&mut self.dv, &mut self.dy);
        if follows {
            let contacts = &self.island.contacts;
            let step = [&mut self.dv[..], &mut self.dy[..]];
            (self.sliding).correct(contacts, &mut self.system, step, tally);
        }
        for dy in &mut self.dy {
            // The matrix has −dy.
            *dy = -*dy;
        }
        self.island.product(&self.dv, &mut self.dw);
        Ok(())
    }
}

impl Operator for Bodies {
    const ROUNDING: f64 = 0.0;

    fn blocks(&self) -> &[Block] {
        &self.island.blocks
    }

    fn offset(&self) -> &[f64] {
        &self.island.free
    }

    fn diagonal(&self) -> &[f64] {
        &self.island.diagonal
    }

    fn compliance(&self, rows: Range<usize>) -> &[f64] {
        &self.island.compliance[rows]
    }

    fn product(&mut self, x: &[f64], w: &mut [f64]) {
        let island = &self.island;
        self.momentum.fill(0.0);
        island.add_transposed(x, &mut self.momentum);
        island.inverse_product(&self.momentum, &mut self.velocity);
        island.product(&self.velocity, w);
        let own = island.free.iter().zip(&island.compliance);
        for ((w, (b, compliance)), x) in w.iter_mut().zip(own).zip(x) {
            *w = *w + b + compliance * x;
        }
    }

    fn factor(&mut self, shift: &[f64], tally: &mut Tally) -> Result<(), Breakdown> {
        self.make_ready();
        self.system.begin();
        let island = &self.island;
        for c in 0..island.contacts.len() {
            let mut slope: Slope = [[0.0; N]; N];
            for (k, row) in island.contacts.rows(c).enumerate() {
                slope[k][k] = 1.0 / (island.compliance[row] + shift[row]);
            }
            self.system.add_contact(island, c, &slope);
        }
        let first = island.contact_rows();
        for r in 0..island.rows.len() {
            let e = island.compliance[first + r] + shift[first + r];
            self.system.set_row(island, r, Some(e));
        }
        tally.factors += 1;
        tally.work += self.system.work() + WORK_PER_SYSTEM_ROW * first as f64;
        self.system.factor(island)
    }

    fn solve(&mut self, shift: &[f64], r: &[f64], x: &mut [f64]) {
        let island = &self.island;
        for ((x, r), b) in x.iter_mut().zip(r).zip(&island.free) {
            *x = r - b;
        }
        let (contacts, rows) = x.split_at_mut(island.contact_rows());
        let softness = |k: usize| island.compliance[k] + shift[k];
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

    fn newton_step(
        &mut self,
        at: &Linearisation,
        step: &mut [f64],
        tally: &mut Tally,
    ) -> Result<(), Breakdown> {
        let first = self.island.contact_rows();
        tally.work += WORK_PER_SYSTEM_ROW * first as f64;
        self.begin_matrix();
        for (c, k) in at.k.iter().enumerate() {
            if k[0][0] > 0.0 {
                let n = self.island.contacts.rows(c).len();
                self.system.add_contact(&self.island, c, k);
                self.sliding.note(c, n, k, at.gradient[c].as_ref());
            }
        }
        self.momentum.fill(0.0);
        for (r, row) in at.general.iter().enumerate() {
            match row {
                Linear::Inside([e, w]) => {
                    self.set_row(r, Some(self.island.compliance[first + r] + e));
                    self.dy[r] = -w;
                }
                Linear::AtBound(g) => {
                    self.set_row(r, None);
                    self.dy[r] = 0.0;
                    for (body, j) in self.island.rows.entries(r) {
                        add(body, &mut self.momentum, j, *g);
                    }
                }
            }
        }
        let contacts = &self.island.contacts;
        contacts.add_transposed(&at.g, &mut self.momentum);
        for (dv, p) in self.dv.iter_mut().zip(&self.momentum) {
            *dv = -p;
        }
        self.find_step(true, tally)?;
        for (c, (k, gradient)) in at.k.iter().zip(&at.gradient).enumerate() {
            let rows = self.island.contacts.rows(c);
            let mut dw = [0.0; N];
            dw[..rows.len()].copy_from_slice(&self.dw[rows.clone()]);
            if let Some(gradient) = gradient {
                dw[0] += gradient.iter().zip(&dw).map(|(g, w)| g * w).sum::<f64>();
            }
            for (k, row) in k.iter().zip(rows) {
                let pull: f64 = k.iter().zip(&dw).map(|(k, w)| k * w).sum();
                step[row] = -at.g[row] - pull;
            }
        }
        let general = at.general.iter().zip(&self.dy);
        for (step, (row, dy)) in step[first..].iter_mut().zip(general) {
            *step = match row {
                Linear::Inside(_) => *dy,
                Linear::AtBound(g) => dy - g,
            };
        }
        Ok(())
    }

    fn cost(&self) -> [f64; 2] {
        [self.system.entries(), self.system.multiplications()]
    }

    fn work_of_a_product(&self) -> f64 {
        // It is counted with a linearisation.
        0.0
    }

    fn work_of_a_solve(&self) -> f64 {
        2.0 * self.system.entries()
    }
}
