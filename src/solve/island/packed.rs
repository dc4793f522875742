//! One island of bodies: masses, Jacobians and laws, numbered within the island.
//!
//! A velocity is 6 numbers per body (v, ω), and so is a momentum. Constraints are the contacts, each a block of
//! rows, and behind them the general rows, each a block by itself.

use super::Block;
use super::frame::Frame;
use crate::problem::Problem;

/// Numbers per body.
pub const DOF: usize = 6;
/// Marks a side of a contact that impulses do not move.
pub const NONE: u32 = u32::MAX;

/// A row of J for one body, or its velocity.
pub type Row = [f64; DOF];

/// The velocity of what impulses do not move: what it has by itself is part of `free`.
const AT_REST: Row = [0.0; DOF];

/// The contacts of an island; rows of all contacts are counted through.
#[derive(Clone, Debug, Default)]
pub struct Contacts {
    /// The problem's number of each.
    pub source: Vec<u32>,
    /// First row of each, and one past the last.
    pub start: Vec<u32>,
    /// The bodies that impulses move, within the island.
    pub bodies: Vec<[u32; 2]>,
    /// J of each, where all have three rows.
    pub(super) frames: Vec<Frame>,
    /// Per row: J on both bodies, where not.
    pub(super) jacobian: Vec<[Row; 2]>,
}

/// The general rows of an island.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The problem's number of each.
    pub source: Vec<u32>,
    /// First entry of each, and one past the last.
    pub start: Vec<u32>,
    /// Body of each entry.
    pub body: Vec<u32>,
    /// J of each entry.
    pub jacobian: Vec<Row>,
}

/// An island. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Island {
    /// The problem's number of each body.
    pub bodies: Vec<u32>,
    /// 1/m and the inverse inertia's lower triangle, row by row.
    pub inverse_mass: Vec<[f64; 7]>,
    /// m and the inertia's lower triangle, row by row.
    pub mass: Vec<[f64; 7]>,
    pub contacts: Contacts,
    pub rows: Rows,
    /// The laws of the contacts, and of the general rows behind them.
    pub blocks: Vec<Block>,
    /// Per row of both: J u_free + bias (m/s), C (1/kg), and the diagonal of A (1/kg).
    pub free: Vec<f64>,
    pub compliance: Vec<f64>,
    pub diagonal: Vec<f64>,
}

/// The sum is taken in three parts, which processors add side by side.
#[inline(always)]
pub fn dot(a: &Row, b: &[f64]) -> f64 {
    let b: &Row = b.first_chunk().expect("six numbers of a body");
    let part = |k: usize| a[k] * b[k] + a[k + 3] * b[k + 3];
    (part(0) + part(1)) + part(2)
}

/// A sum and what rounding took from it (Ogita, Rump & Oishi 2005, Dot2).
struct Twofold(f64, f64);

impl From<f64> for Twofold {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

impl Twofold {
    fn add_dot(&mut self, a: &Row, b: &[f64]) {
        for (a, b) in a.iter().zip(b) {
            let product = a * b;
            let sum = self.0 + product;
            let added = sum - self.0;
            let lost = (self.0 - (sum - added)) + (product - added);
            self.0 = sum;
            self.1 += lost + a.mul_add(*b, -product);
        }
    }

    fn value(&self) -> f64 {
        self.0 + self.1
    }
}

/// The six numbers of a body.
#[inline(always)]
pub fn of(body: u32, v: &[f64]) -> &[f64] {
    &v[DOF * body as usize..][..DOF]
}

/// v ← v + j `by` for the six numbers of a body.
#[inline(always)]
pub fn add(body: u32, v: &mut [f64], j: &Row, by: f64) {
    for (v, j) in v[DOF * body as usize..][..DOF].iter_mut().zip(j) {
        *v += j * by;
    }
}

/// The product of a block diagonal matrix of [`Island::mass`]'s kind with a vector.
pub fn multiply(blocks: &[[f64; 7]], x: &[f64], y: &mut [f64]) {
    for ((b, x), y) in blocks.iter().zip(x.as_chunks().0).zip(y.as_chunks_mut().0) {
        let x: &Row = x;
        *y = [
            b[0] * x[0],
            b[0] * x[1],
            b[0] * x[2],
            b[1] * x[3] + b[2] * x[4] + b[4] * x[5],
            b[2] * x[3] + b[3] * x[4] + b[5] * x[5],
            b[4] * x[3] + b[5] * x[4] + b[6] * x[5],
        ];
    }
}

impl Contacts {
    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Number of their rows.
    pub fn row_count(&self) -> usize {
        self.start.last().map_or(0, |end| *end as usize)
    }

    /// The rows of contact `c`.
    #[inline(always)]
    pub fn rows(&self, c: usize) -> std::ops::Range<usize> {
        self.start[c] as usize..self.start[c + 1] as usize
    }

    /// J of one row on both bodies.
    #[inline(always)]
    pub fn jacobian(&self, c: usize, row: usize) -> [Row; 2] {
        match self.frames.get(c) {
            Some(frame) => frame.row(row - self.start[c] as usize),
            None => self.jacobian[row],
        }
    }

    /// The velocities of the bodies of contact `c`.
    #[inline(always)]
    fn pair<'a>(&self, c: usize, v: &'a [f64]) -> [&'a Row; 2] {
        self.bodies[c].map(|body| match body {
            NONE => &AT_REST,
            body => of(body, v).first_chunk().expect("six numbers of a body"),
        })
    }

    /// J v of one row.
    #[inline(always)]
    pub fn row_product(&self, c: usize, row: usize, v: &[f64]) -> f64 {
        let pair = self.pair(c, v);
        match self.frames.get(c) {
            Some(frame) => frame.row_product(row - self.start[c] as usize, pair),
            None => {
                let [j, k] = &self.jacobian[row];
                dot(j, pair[0]) + dot(k, pair[1])
            }
        }
    }

    /// J v of contact `c`.
    #[inline(always)]
    pub fn contact_product(&self, c: usize, v: &[f64], y: &mut [f64]) {
        let pair = self.pair(c, v);
        if let Some(frame) = self.frames.get(c) {
            y.copy_from_slice(&frame.product(pair));
            return;
        }
        for (y, [j, k]) in y.iter_mut().zip(&self.jacobian[self.rows(c)]) {
            *y = dot(j, pair[0]) + dot(k, pair[1]);
        }
    }

    /// y ← J v.
    pub fn product(&self, v: &[f64], y: &mut [f64]) {
        if self.frames.is_empty() {
            for c in 0..self.len() {
                self.contact_product(c, v, &mut y[self.rows(c)]);
            }
            return;
        }
        let rows = y.as_chunks_mut().0;
        for (c, (frame, y)) in self.frames.iter().zip(rows).enumerate() {
            *y = frame.product(self.pair(c, v));
        }
    }

    /// y ← free + J v, as if in twice the digits.
    pub fn add_product(&self, v: &[f64], free: &[f64], y: &mut [f64]) {
        for c in 0..self.len() {
            for row in self.rows(c) {
                let mut sum = Twofold::from(free[row]);
                for (body, j) in self.bodies[c].iter().zip(&self.jacobian(c, row)) {
                    if *body != NONE {
                        sum.add_dot(j, of(*body, v));
                    }
                }
                y[row] = sum.value();
            }
        }
    }

    /// v ← v + Jᵀ x.
    pub fn add_transposed(&self, x: &[f64], v: &mut [f64]) {
        let momentum = |body: u32| DOF * body as usize..DOF * (body as usize + 1);
        let pairs = self.bodies.iter();
        for ((frame, x), bodies) in self.frames.iter().zip(x.as_chunks().0).zip(pairs) {
            let force = frame.force(x);
            for (side, body) in bodies.iter().enumerate().filter(|(_, b)| **b != NONE) {
                let v = v[momentum(*body)].first_chunk_mut().expect("a body");
                frame.add_momentum(side, &force, v);
            }
        }
        if !self.frames.is_empty() {
            return;
        }
        for (c, bodies) in self.bodies.iter().enumerate() {
            let rows = self.rows(c);
            let (jacobian, x) = (&self.jacobian[rows.clone()], &x[rows]);
            for (side, body) in bodies.iter().enumerate().filter(|(_, b)| **b != NONE) {
                let v: &mut Row = v[momentum(*body)].first_chunk_mut().expect("a body");
                let mut sum = *v;
                for (j, x) in jacobian.iter().zip(x) {
                    for (sum, j) in sum.iter_mut().zip(&j[side]) {
                        *sum += j * x;
                    }
                }
                *v = sum;
            }
        }
    }
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Entries (body, J) of row `r`.
    #[inline(always)]
    pub fn entries(&self, r: usize) -> impl Iterator<Item = (u32, &Row)> {
        let span = self.start[r] as usize..self.start[r + 1] as usize;
        self.body[span.clone()]
            .iter()
            .copied()
            .zip(&self.jacobian[span])
    }

    /// The bodies of row `r`.
    pub fn bodies(&self, r: usize) -> &[u32] {
        &self.body[self.start[r] as usize..self.start[r + 1] as usize]
    }

    /// y ← J v.
    pub fn product(&self, v: &[f64], y: &mut [f64]) {
        for (r, y) in y.iter_mut().enumerate() {
            *y = self.entries(r).map(|(b, j)| dot(j, of(b, v))).sum();
        }
    }

    /// y ← free + J v, as if in twice the digits.
    pub fn add_product(&self, v: &[f64], free: &[f64], y: &mut [f64]) {
        for (r, y) in y.iter_mut().enumerate() {
            let mut sum = Twofold::from(free[r]);
            for (b, j) in self.entries(r) {
                sum.add_dot(j, of(b, v));
            }
            *y = sum.value();
        }
    }

    /// v ← v + Jᵀ x.
    pub fn add_transposed(&self, x: &[f64], v: &mut [f64]) {
        for (r, x) in x.iter().enumerate() {
            for (body, j) in self.entries(r) {
                add(body, v, j, *x);
            }
        }
    }
}

impl Island {
    /// The rows of the contacts, which are the first.
    pub fn contact_rows(&self) -> usize {
        self.contacts.row_count()
    }

    /// The block of general row `r`.
    pub fn row(&self, r: usize) -> &Block {
        &self.blocks[self.contacts.len() + r]
    }

    /// y ← J v.
    pub fn product(&self, v: &[f64], y: &mut [f64]) {
        let (contacts, rows) = y.split_at_mut(self.contact_rows());
        self.contacts.product(v, contacts);
        self.rows.product(v, rows);
    }

    /// y ← `free` + J v, as if in twice the digits.
    pub fn add_product(&self, v: &[f64], y: &mut [f64]) {
        let first = self.contact_rows();
        let (contacts, rows) = y.split_at_mut(first);
        self.contacts.add_product(v, &self.free[..first], contacts);
        self.rows.add_product(v, &self.free[first..], rows);
    }

    /// v ← v + Jᵀ x.
    pub fn add_transposed(&self, x: &[f64], v: &mut [f64]) {
        let (contacts, rows) = x.split_at(self.contact_rows());
        self.contacts.add_transposed(contacts, v);
        self.rows.add_transposed(rows, v);
    }

    /// Unknown velocities.
    pub fn velocities(&self) -> usize {
        DOF * self.bodies.len()
    }

    /// Copies the impulses of the problem.
    pub fn load(&self, problem: &Problem, lambda: &[f64], x: &mut Vec<f64>) {
        x.clear();
        for c in &self.contacts.source {
            x.extend_from_slice(&lambda[problem.contacts.rows(*c as usize)]);
        }
        let first = problem.contact_rows();
        let rows = self.rows.source.iter();
        x.extend(rows.map(|r| lambda[first + *r as usize]));
    }

    /// Copies impulses to those of the problem.
    pub fn store(&self, problem: &Problem, x: &[f64], lambda: &mut [f64]) {
        let contacts = &self.contacts;
        for (k, c) in contacts.source.iter().enumerate() {
            lambda[problem.contacts.rows(*c as usize)].copy_from_slice(&x[contacts.rows(k)]);
        }
        let (from, to) = (self.contact_rows(), problem.contact_rows());
        for (k, r) in self.rows.source.iter().enumerate() {
            lambda[to + *r as usize] = x[from + k];
        }
    }

    /// y ← M x.
    pub fn mass_product(&self, x: &[f64], y: &mut [f64]) {
        multiply(&self.mass, x, y);
    }

    /// y ← M⁻¹ x.
    pub fn inverse_product(&self, x: &[f64], y: &mut [f64]) {
        multiply(&self.inverse_mass, x, y);
    }
}
