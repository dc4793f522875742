//! The matrix of a Newton step, [H Jᵀ; J −E]: H = M + Σ J_cᵀ D_c J_c over the velocities, contacts taken in by their
//! D, and below it the general rows with their own J and E, so that minimum degree decides for each part of a
//! machine whether it is factored in the velocities or in the rows.

use std::time::Instant;

use super::packed::{DOF, Island, NONE};
use super::{PER_NODE, SIDE_BY_SIDE, Tally};
use crate::linalg::supernodal::{Breakdown, SparseLdl};
use crate::problem::FrictionLaw;
use crate::problem::law::Slope;

/// Pattern, numbers and factor. Keeps its memory, and the pattern as long as it fits.
#[derive(Clone, Debug, Default)]
pub struct System {
    start: Vec<u32>,
    row: Vec<u32>,
    value: Vec<f64>,
    /// M and J, without contacts and E.
    constant: Vec<f64>,
    /// Where the 6×6 block of each contact's bodies begins in each column of the first one, or none.
    pair_at: Vec<[u32; DOF]>,
    /// Pairs of bodies that contacts couple, ascending.
    pairs: Vec<[u32; 2]>,
    /// Where each entry of a general row stands in the six columns of its body.
    entry_at: Vec<[u32; DOF]>,
    /// What the pattern was found for: pairs, number of bodies, and the general rows' entries.
    known: Known,
    tight: Vec<bool>,
    /// What the factor is of, values and rows that are out; empty where there is none.
    factored: (Vec<f64>, Vec<bool>),
    ldl: SparseLdl,
    /// Entries of the factor, and multiplications of a factorisation.
    cost: [f64; 2],
    /// What a factorisation may take at most (multiplications), if there is a limit.
    most: Option<f64>,
    /// The order of the unknowns is that of velocities and then rows.
    rhs: Vec<f64>,
}

/// What a pattern follows from.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    bodies: usize,
    pairs: Vec<[u32; 2]>,
    rows: [Vec<u32>; 2],
}

impl System {
    /// Finds the pattern, where it is not that of the last island, and writes what contacts do not change.
    pub fn refill(&mut self, island: &Island) {
        self.find_pairs(island);
        let (bodies, rows) = (island.bodies.len(), &island.rows);
        let known = &mut self.known;
        if known.bodies != bodies
            || known.pairs != self.pairs
            || known.rows[0] != rows.start
            || known.rows[1] != rows.body
        {
            known.bodies = bodies;
            known.pairs.clone_from(&self.pairs);
            known.rows[0].clone_from(&rows.start);
            known.rows[1].clone_from(&rows.body);
            self.find_pattern(island);
        }
        self.place_contacts(island);
        for (body, mass) in island.mass.iter().enumerate() {
            for k in 0..DOF {
                let begin = self.start[DOF * body + k] as usize;
                for i in k..DOF {
                    self.constant[begin + i - k] = mass_entry(mass, i, k);
                }
            }
        }
        for (at, j) in self.entry_at.iter().zip(&rows.jacobian) {
            for (at, j) in at.iter().zip(j) {
                self.constant[*at as usize] = *j;
            }
        }
    }

    fn find_pattern(&mut self, island: &Island) {
        self.factored.0.clear();
        let bodies = island.bodies.len();
        let rows = &island.rows;
        // The entries of general rows on each body, and their rows.
        let mut of_body: Vec<Vec<[u32; 2]>> = vec![Vec::new(); bodies];
        for r in 0..rows.len() {
            for entry in rows.start[r]..rows.start[r + 1] {
                of_body[rows.body[entry as usize] as usize].push([entry, r as u32]);
            }
        }
        self.entry_at.clear();
        self.entry_at.resize(rows.body.len(), [0; DOF]);
        self.start.clear();
        self.row.clear();
        self.start.push(0);
        let mut pair = 0;
        for (body, of_body) in of_body.iter().enumerate() {
            let first = pair;
            while pair < self.pairs.len() && self.pairs[pair][0] as usize == body {
                pair += 1;
            }
            for k in 0..DOF {
                self.row
                    .extend((DOF * body + k) as u32..(DOF * (body + 1)) as u32);
                for [_, other] in &self.pairs[first..pair] {
                    let rows = DOF as u32 * other..DOF as u32 * (other + 1);
                    self.row.extend(rows);
                }
                for [entry, r] in of_body {
                    self.entry_at[*entry as usize][k] = self.row.len() as u32;
                    self.row.push((DOF * bodies) as u32 + r);
                }
                self.start.push(self.row.len() as u32);
            }
        }
        self.add_row_columns(island);
        self.constant.clear();
        self.constant.resize(self.row.len(), 0.0);
        self.tight.clear();
        self.tight.resize(self.start.len() - 1, false);
        self.rhs.resize(self.start.len() - 1, 0.0);
        let n = self.start.len() - 1;
        self.ldl
            .analyse(n, island.velocities(), &self.start, &self.row);
        self.cost = self.ldl.cost();
    }

    /// The columns of the general rows. Those of the same bodies that follow each other are coupled by zeros, so
    /// that they stand together in the order of elimination.
    fn add_row_columns(&mut self, island: &Island) {
        let rows = &island.rows;
        let first = DOF * island.bodies.len();
        for r in 0..rows.len() {
            let mut end = r + 1;
            while end < rows.len() && rows.bodies(end) == rows.bodies(r) {
                end += 1;
            }
            self.row.extend((first + r) as u32..(first + end) as u32);
            self.start.push(self.row.len() as u32);
        }
    }

    fn find_pairs(&mut self, island: &Island) {
        self.pairs.clear();
        let pairs = island.contacts.bodies.iter().filter(|b| !b.contains(&NONE));
        self.pairs
            .extend(pairs.map(|[a, b]| [*a.min(b), *a.max(b)]));
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }

    fn place_contacts(&mut self, island: &Island) {
        self.pair_at.clear();
        for [a, b] in &island.contacts.bodies {
            let mut at = [NONE; DOF];
            if *a != NONE && *b != NONE {
                let (low, high) = (*a.min(b), *a.max(b));
                let first = self.pairs.partition_point(|p| p[0] < low);
                let place = self.pairs.partition_point(|p| *p < [low, high]) - first;
                for (k, at) in at.iter_mut().enumerate() {
                    let column = self.start[DOF * low as usize + k];
                    *at = column + (DOF - k + DOF * place) as u32;
                }
            }
            self.pair_at.push(at);
        }
    }

    /// Begins a matrix without contacts.
    pub fn begin(&mut self) {
        self.value.clone_from(&self.constant);
    }

    /// Adds J_cᵀ D J_c of contact `c`.
    pub fn add_contact(&mut self, island: &Island, c: usize, slope: &Slope) {
        let contacts = &island.contacts;
        let mut jacobian = [[[0.0; DOF]; 2]; FrictionLaw::MAX_ROWS];
        let rows = contacts.rows(c);
        let jacobian = &mut jacobian[..rows.len()];
        for (out, row) in jacobian.iter_mut().zip(rows) {
            *out = contacts.jacobian(c, row);
        }
        let bodies = contacts.bodies[c];
        for side in 0..2 {
            if bodies[side] == NONE {
                continue;
            }
            // D J of this side.
            let mut weighted = [[0.0; DOF]; FrictionLaw::MAX_ROWS];
            for (weighted, d) in weighted.iter_mut().zip(&slope[..jacobian.len()]) {
                for (d, j) in d.iter().zip(&*jacobian) {
                    for (w, j) in weighted.iter_mut().zip(&j[side]) {
                        *w += d * j;
                    }
                }
            }
            for k in 0..DOF {
                let begin = self.start[DOF * bodies[side] as usize + k] as usize;
                let column = &mut self.value[begin..begin + DOF - k];
                for (w, j) in weighted.iter().zip(&*jacobian) {
                    for (v, j) in column.iter_mut().zip(&j[side][k..]) {
                        *v += j * w[k];
                    }
                }
            }
            let other = 1 - side;
            if bodies[other] != NONE && bodies[side] < bodies[other] {
                for (k, at) in self.pair_at[c].iter().enumerate() {
                    let column = &mut self.value[*at as usize..][..DOF];
                    for (w, j) in weighted.iter().zip(&*jacobian) {
                        for (v, j) in column.iter_mut().zip(&j[other]) {
                            *v += j * w[k];
                        }
                    }
                }
            }
        }
    }

    /// Sets E of general row `r`, or takes it out.
    pub fn set_row(&mut self, island: &Island, r: usize, e: Option<f64>) {
        let row = island.velocities() + r;
        self.tight[row] = e.is_none();
        self.value[self.start[row] as usize] = -e.unwrap_or(1.0);
    }

    /// Whether the factor is that of the matrix already: chords leave the matrix of joints as it is.
    pub fn is_factored(&self) -> bool {
        self.factored.0 == self.value && self.factored.1 == self.tight
    }

    /// Factors the matrix.
    ///
    /// # Errors
    /// At a pivot of the wrong sign, or not finite; where it is too large, or time is over.
    pub fn factor(&mut self, island: &Island) -> Result<(), Breakdown> {
        if self.is_too_large() {
            return Err(Breakdown::TooLarge);
        }
        let n = self.start.len() - 1;
        self.factored.0.clear();
        self.ldl.factor_quasi_definite(
            n,
            island.velocities(),
            &self.start,
            &self.row,
            &self.value,
            &self.tight,
        )?;
        self.factored.0.clone_from(&self.value);
        self.factored.1.clone_from(&self.tight);
        Ok(())
    }

    /// Solves with the last factor: `x` are the velocities and `y` the rows. Entries of rows that are out become 0.
    pub fn solve(&mut self, x: &mut [f64], y: &mut [f64]) {
        let n = x.len();
        self.rhs[..n].copy_from_slice(x);
        self.rhs[n..].copy_from_slice(y);
        self.ldl.solve(&mut self.rhs);
        x.copy_from_slice(&self.rhs[..n]);
        for (k, y) in y.iter_mut().enumerate() {
            *y = if self.tight[n + k] {
                0.0
            } else {
                self.rhs[n + k]
            };
        }
    }

    /// Counts a solve with the factor.
    pub fn count_solve(&self, tally: &mut Tally) {
        tally.solves += 1;
        tally.work += 2.0 * self.entries();
    }

    /// From when on factorisations are given up.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.ldl.set_deadline(deadline);
    }

    /// What a factorisation may take at most (multiplications).
    pub fn set_most(&mut self, most: f64) {
        self.most = Some(most);
    }

    /// Whether the factor is too large to be stored, or takes more than it may.
    pub fn is_too_large(&self) -> bool {
        self.ldl.is_too_large() || self.most.is_some_and(|most| self.cost_of_factor() > most)
    }

    /// Entries of the factor.
    pub fn entries(&self) -> f64 {
        self.cost[0]
    }

    /// Multiplications of a factorisation.
    pub fn multiplications(&self) -> f64 {
        self.cost[1]
    }

    /// What a factorisation counts as work; nothing where it is too large, since none is made.
    pub fn work(&self) -> f64 {
        if self.is_too_large() {
            return 0.0;
        }
        self.cost_of_factor()
    }

    fn cost_of_factor(&self) -> f64 {
        SIDE_BY_SIDE * self.cost[1] + PER_NODE * self.ldl.nodes() as f64
    }
}

/// Entry (i, k), i ≥ k, of a body's mass matrix.
fn mass_entry(m: &[f64; 7], i: usize, k: usize) -> f64 {
    match (i, k) {
        (0..3, _) if i == k => m[0],
        (3.., 3..) => m[1 + (i - 3) * (i - 2) / 2 + (k - 3)],
        _ => 0.0,
    }
}
