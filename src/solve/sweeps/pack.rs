//! The problem, packed for sweeps in f64: islands one after the other, each with its own bodies, contacts
//! and rows side by side, so that islands can be swept in parallel without sharing anything.
//!
//! Why a packing of its own: [`Problem`] keeps one array per quantity, as assembly fills it, and bodies in
//! the world's order; a sweep visits one contact after the other, wants all of it in a few cache lines
//! beside its R-factors, and bodies that no other island touches. `colored-gs` packs the same contacts and
//! rows ([`super::fill`]) where they fill no SIMD lane, and in lanes
//! otherwise (`colored_gs::wide`); `bpp` needs A itself and packs scaled Jacobians (`bpp::island`).

use std::ops::Range;

use rayon::prelude::*;

use super::block::{Change, Extra, PackedBody, PackedContact, Push, Sweep};
use super::row::{PackedEntry, PackedRow};
use crate::math::{SymMat3, Twist, Vec3};
use crate::problem::islands::span;
use crate::problem::{Form, FrictionLaw, Problem};

/// Contacts per unit of parallel work.
pub(super) const CHUNK: usize = 512;

/// Marks a dummy, which `Grouped::fill_by_key` leaves out.
pub use crate::problem::islands::NO_ISLAND as NO_BODY;

/// Appends `values`, ascending and each once.
pub fn append_set(list: &mut Vec<u32>, values: impl Iterator<Item = u32>) {
    let first = list.len();
    list.extend(values);
    list[first..].sort_unstable();
    let mut end = first;
    for k in first..list.len() {
        if k == first || list[k] != list[end - 1] {
            list[end] = list[k];
            end += 1;
        }
    }
    list.truncate(end);
}

/// A packed problem: what does not change while it is solved. Keeps its memory.
#[derive(Default)]
pub struct Packed {
    pub contacts: Vec<PackedContact>,
    /// Empty where every contact is a disc without compliance.
    pub extra: Vec<Extra>,
    pub rows: Vec<PackedRow>,
    pub entries: Vec<PackedEntry>,
    /// Whether no contact has friction; then friction rows and their R are zero and not swept.
    pub frictionless: bool,
    /// u_free of every packed body.
    pub free: Vec<Twist>,
    /// M⁻¹ of every packed body, with the velocity zero.
    pub template: Vec<PackedBody>,
    /// First packed body, contact, row and impulse of each island, and one past the last. The last
    /// body of an island is a dummy without mass: it stands for all bodies that impulses do not move.
    pub body_start: Vec<u32>,
    pub contact_start: Vec<u32>,
    pub row_start: Vec<u32>,
    pub lambda_start: Vec<u32>,
    /// ω of every contact and of every row; empty where it is 1.
    pub omega: [Vec<f64>; 2],
    /// A_kk of every contact, compliance included; empty unless asked for with [`Packed::find_contact_blocks`].
    pub contact_blocks: Vec<SymMat3>,
    /// The problem's body of each packed one; [`NO_BODY`] for dummies.
    pub body_index: Vec<u32>,
    /// The problem's contact and row of each packed one.
    pub(super) contact_index: Vec<u32>,
    pub(super) row_index: Vec<u32>,
}

/// A block of an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Packed contact.
    Contact(usize),
    /// Packed general row.
    Row(usize),
}

impl Packed {
    /// Number of islands.
    pub fn islands(&self) -> usize {
        self.body_start.len().saturating_sub(1)
    }

    /// The packed contacts of an island.
    #[inline(always)]
    pub fn contacts_of(&self, island: usize) -> Range<usize> {
        span(&self.contact_start, island)
    }

    /// The packed general rows of an island.
    #[inline(always)]
    pub fn rows_of(&self, island: usize) -> Range<usize> {
        span(&self.row_start, island)
    }

    /// The packed bodies of an island, the dummy last.
    #[inline(always)]
    pub fn bodies_of(&self, island: usize) -> Range<usize> {
        span(&self.body_start, island)
    }

    /// The blocks of an island in the order of a sweep: general rows, which hold the bodies together, come
    /// before contacts.
    pub fn sequence(&self, island: usize) -> impl Iterator<Item = Block> + Clone + use<> {
        let rows = self.rows_of(island).map(Block::Row);
        rows.chain(self.contacts_of(island).map(Block::Contact))
    }

    /// The bodies of a block, counted within its island.
    pub fn bodies(&self, block: Block) -> impl Iterator<Item = u32> {
        let (pair, entries) = match block {
            Block::Contact(c) => (Some(self.contacts[c].bodies), &[][..]),
            Block::Row(r) => (None, self.entries(&self.rows[r])),
        };
        let pair = pair.into_iter().flatten();
        pair.chain(entries.iter().map(|entry| entry.body))
    }

    /// What block `block` of A is, if this is packed by islands.
    pub fn block_of(&self, island: usize, block: usize) -> Block {
        let contact = block - self.row_start[island] as usize;
        if contact < self.contact_start[island + 1] as usize {
            Block::Contact(contact)
        } else {
            Block::Row(block - self.contact_start[island + 1] as usize)
        }
    }

    /// Number of impulses.
    pub fn lambda_len(&self) -> usize {
        self.lambda_start.last().map_or(0, |n| *n as usize)
    }

    /// The impulses of an island.
    pub fn impulses(&self, island: usize) -> Range<usize> {
        span(&self.lambda_start, island)
    }

    /// Whether every contact is a disc without compliance.
    pub fn is_uniform(&self) -> bool {
        self.extra.is_empty()
    }

    /// The rows of packed contact `c` of `island` within the island's Λ.
    #[inline]
    pub fn block(&self, island: usize, c: usize) -> Range<usize> {
        if self.is_uniform() {
            let k = c - self.contact_start[island] as usize;
            3 * k..3 * k + 3
        } else {
            self.extra[c].rows()
        }
    }

    /// Where an island's general rows begin within its Λ.
    #[inline]
    pub fn first_row(&self, island: usize) -> usize {
        self.impulses(island).len() - self.rows_of(island).len()
    }

    /// Bytes that one factorized Gauss–Seidel sweep reads and writes: every contact and row once, its
    /// impulses, its bodies, and their velocities back. Bodies count each time they are gathered, as
    /// if nothing stayed in a cache between two contacts.
    pub fn sweep_traffic(&self) -> [u64; 2] {
        let lambda = size_of::<f64>() * self.lambda_len();
        let gathered = 2 * self.contacts.len() + self.entries.len();
        let read = size_of_val(self.contacts.as_slice())
            + size_of_val(self.extra.as_slice())
            + size_of_val(self.rows.as_slice())
            + size_of_val(self.entries.as_slice())
            + lambda
            + gathered * size_of::<PackedBody>();
        let written = lambda + gathered * size_of::<Twist>();
        [read as u64, written as u64]
    }

    /// Whether every number that a sweep reads is finite. A projection would hide a NaN.
    pub fn is_finite(&self) -> bool {
        let body = |u: &Twist| u.linear.sum() + u.angular.sum();
        self.contacts.iter().all(PackedContact::is_finite)
            && self.extra.iter().all(Extra::is_finite)
            && self.rows.iter().all(PackedRow::is_finite)
            && self.free.iter().all(|u| body(u).is_finite())
    }

    /// The problem's contacts and rows of an island, in packed order.
    fn indices(&self, island: usize) -> (&[u32], &[u32]) {
        (
            &self.contact_index[self.contacts_of(island)],
            &self.row_index[self.rows_of(island)],
        )
    }

    /// Copies Λ from the problem's order.
    pub fn load(&self, problem: &impl Form, lambda: &[f64], packed: &mut Vec<f64>) {
        packed.clear();
        packed.reserve(self.lambda_len());
        let first = problem.general_rows().start;
        for island in 0..self.islands() {
            let (contacts, rows) = self.indices(island);
            for &c in contacts {
                let block = &lambda[problem.rows_of(c as usize)];
                if self.frictionless {
                    // Friction left over from a step that had some would never be projected away.
                    packed.extend_from_slice(&[block[0], 0.0, 0.0]);
                } else {
                    packed.extend_from_slice(block);
                }
            }
            packed.extend(rows.iter().map(|r| lambda[first + *r as usize]));
        }
    }

    /// Copies Λ back. Contacts that belong to no island carry nothing.
    pub fn store(&self, problem: &impl Form, packed: &[f64], lambda: &mut [f64]) {
        lambda.fill(0.0);
        let first = problem.general_rows().start;
        let mut at = 0;
        for island in 0..self.islands() {
            let (contacts, rows) = self.indices(island);
            for &c in contacts {
                let rows = problem.rows_of(c as usize);
                let n = rows.len();
                lambda[rows].copy_from_slice(&packed[at..at + n]);
                at += n;
            }
            for &r in rows {
                lambda[first + r as usize] = packed[at];
                at += 1;
            }
        }
    }

    /// Finds A_kk of every disc contact, for its exact solution; zero for other laws.
    pub fn find_contact_blocks(&mut self, problem: &Problem) {
        let mut blocks = std::mem::take(&mut self.contact_blocks);
        self.contact_index
            .par_iter()
            .with_min_len(CHUNK)
            .map(|c| {
                let c = *c as usize;
                let friction = &problem.contacts.friction[c];
                if friction.law != FrictionLaw::Disc {
                    return SymMat3::ZERO;
                }
                let [_, t1, t2] = problem.contacts.frame[c].axes();
                let [nn, t1t1, t2t2, t1n, t2n] = problem.contact_block(c);
                let [cn, ct] = problem.contacts.compliance[c];
                SymMat3 {
                    xx: nn + cn,
                    xy: t1n,
                    xz: t2n,
                    yy: t1t1 + ct,
                    yz: problem.contact_coupling(c, t1, t2),
                    zz: t2t2 + ct,
                }
            })
            .collect_into_vec(&mut blocks);
        self.contact_blocks = blocks;
    }

    /// Every impulse of one island back into its set: the rows into their bounds, and the contacts as
    /// `project` does it by their laws and coefficients.
    #[inline]
    pub fn project(
        &self,
        island: usize,
        lambda: &mut [f64],
        project: impl Fn(FrictionLaw, [f64; 2], &mut [f64]),
    ) {
        for c in self.contacts_of(island) {
            let (law, mu) = match self.extra.get(c) {
                Some(extra) => (extra.friction.law, extra.friction.mu),
                None => (FrictionLaw::Disc, [self.contacts[c].mu; 2]),
            };
            project(law, mu, &mut lambda[self.block(island, c)]);
        }
        let first = self.first_row(island);
        for (row, lambda) in self.rows[self.rows_of(island)]
            .iter()
            .zip(&mut lambda[first..])
        {
            *lambda = lambda.max(row.bounds[0]).min(row.bounds[1]);
        }
    }

    /// `sweep` with the ω of a contact.
    #[inline(always)]
    pub fn contact_sweep(&self, c: usize, sweep: &Sweep) -> Sweep {
        with_omega(&self.omega[0], c, sweep)
    }

    /// `sweep` with the ω of a row.
    #[inline(always)]
    pub fn row_sweep(&self, r: usize, sweep: &Sweep) -> Sweep {
        with_omega(&self.omega[1], r, sweep)
    }

    /// The bodies of a row.
    #[inline(always)]
    pub fn entries(&self, row: &PackedRow) -> &[PackedEntry] {
        &self.entries[row.entries.range()]
    }

    /// One prox step of packed contact `c`, whatever its law, from the velocities of its bodies: the
    /// change of its impulse on the second body.
    #[inline(always)]
    pub fn step(
        &self,
        c: usize,
        bodies: [&PackedBody; 2],
        lambda: &mut [f64],
        sweep: &Sweep,
        change: &mut Change,
    ) -> Push {
        let contact = &self.contacts[c];
        let extra = self.extra.get(c);
        if self.contact_blocks.is_empty() {
            if let Some(extra) = extra {
                return contact.general_step(extra, bodies, lambda, sweep, change);
            }
            if let ([block], []) = lambda.as_chunks_mut::<3>() {
                return Push {
                    force: contact.disc_step(bodies, block, sweep, change),
                    couple: Vec3::zeros(),
                };
            }
        }
        let (mut w, mut step) = ([0.0; FrictionLaw::MAX_ROWS], [0.0; FrictionLaw::MAX_ROWS]);
        let (w, step) = (&mut w[..lambda.len()], &mut step[..lambda.len()]);
        contact.rows_velocity(extra, bodies, lambda, w);
        self.prox(c, w, lambda, step, sweep, change);
        contact.impulse(extra, step)
    }

    /// One prox step of packed contact `c`, whatever its law, from the velocities `w` of its rows at
    /// `lambda`; the change goes to `step`. With [`Packed::contact_blocks`] a disc contact takes the exact
    /// solution of its own problem.
    #[inline(always)]
    pub fn prox(
        &self,
        c: usize,
        w: &[f64],
        lambda: &mut [f64],
        step: &mut [f64],
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let contact = &self.contacts[c];
        let extra = self.extra.get(c);
        if extra.is_none_or(|e| e.friction.law == FrictionLaw::Disc)
            && let ([w], []) = w.as_chunks::<3>()
            && let ([block], []) = lambda.as_chunks_mut::<3>()
            && let ([step], []) = step.as_chunks_mut::<3>()
        {
            *step = match self.contact_blocks.get(c) {
                Some(block_of_a) => contact.exact_prox(block_of_a, *w, block, sweep, change),
                None => contact.disc_prox(*w, block, sweep, change),
            };
        } else if let Some(extra) = extra {
            contact.general_prox(extra, w, lambda, step, sweep, change);
        }
    }

    /// w = J u + C Λ + bias of one island, with the velocities that its bodies have.
    pub fn constraint_velocities(
        &self,
        island: usize,
        lambda: &[f64],
        bodies: &[PackedBody],
        w: &mut [f64],
    ) {
        for c in self.contacts_of(island) {
            let contact = &self.contacts[c];
            let rows = self.block(island, c);
            let pair = contact.bodies.map(|b| &bodies[b as usize]);
            contact.rows_velocity(self.extra.get(c), pair, &lambda[rows.clone()], &mut w[rows]);
        }
        let first = self.first_row(island);
        let rows = self.rows_of(island);
        let of_rows = w[first..].iter_mut().zip(&lambda[first..]);
        for (row, (w, x)) in self.rows[rows].iter().zip(of_rows) {
            *w = row.velocity(self.entries(row), bodies, *x);
        }
    }

    /// u = u_free + M⁻¹ Jᵀ Λ for the bodies of one island, in the order of its blocks.
    pub fn velocities(&self, island: usize, lambda: &[f64], bodies: &mut [PackedBody]) {
        let first = self.body_start[island] as usize;
        for (b, body) in bodies.iter_mut().enumerate() {
            *body = self.template[first + b];
            body.velocity = self.free[first + b];
        }
        self.accumulate(island, lambda, bodies);
    }

    /// u ← u + M⁻¹ Jᵀ Λ for the bodies of one island, in the order of its blocks.
    pub fn accumulate(&self, island: usize, lambda: &[f64], bodies: &mut [PackedBody]) {
        for c in self.contacts_of(island) {
            let contact = &self.contacts[c];
            let push = contact.impulse(self.extra.get(c), &lambda[self.block(island, c)]);
            for side in 0..2 {
                contact.apply(side, &push, &mut bodies[contact.bodies[side] as usize]);
            }
        }
        let offset = self.first_row(island);
        for (k, row) in self.rows[self.rows_of(island)].iter().enumerate() {
            for entry in self.entries(row) {
                entry.push(lambda[offset + k], &mut bodies[entry.body as usize]);
            }
        }
    }
}

#[inline(always)]
fn with_omega(omega: &[f64], k: usize, sweep: &Sweep) -> Sweep {
    match omega.get(k) {
        Some(omega) => Sweep {
            omega: *omega,
            ..*sweep
        },
        None => *sweep,
    }
}
