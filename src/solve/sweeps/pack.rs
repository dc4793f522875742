//! The problem, packed for sweeps in f64: islands one after the other, each with its own bodies, contacts
//! and rows side by side, so that islands can be swept in parallel without sharing anything.
//!
//! Why a packing of its own: [`Problem`] keeps one array per quantity, as assembly fills it, and bodies in
//! the world's order; a sweep visits one contact after the other, wants all of it in a few cache lines
//! beside its R-factors, and bodies that no other island touches. `colored-gs` packs the same contacts and
//! rows ([`packed_contact`], [`packed_extra`], [`packed_row`]) where they fill no SIMD lane, and in lanes
//! otherwise (`colored_gs::wide`); `bpp` needs A itself and packs scaled Jacobians (`bpp::island`).

use std::ops::Range;

use rayon::prelude::*;

use super::block::{
    Change, Extra, PackedBody, PackedContact, PackedEntry, PackedRow, Push, Span, Sweep,
};
use crate::math::{SymMat3, Twist, Vec3};
use crate::problem::delassus::Delassus;
use crate::problem::islands::{Grouped, span};
use crate::problem::{Form, FrictionLaw, Problem};

/// Contacts per unit of parallel work.
const CHUNK: usize = 512;

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
    contact_index: Vec<u32>,
    row_index: Vec<u32>,
}

/// A block of an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Packed contact.
    Contact(usize),
    /// Packed general row.
    Row(usize),
}

/// Where a body of the problem is packed, within its island.
fn local(packed: &Packed, island: usize, body: u32) -> u32 {
    let first = packed.body_start[island] as usize;
    let dummy = packed.body_start[island + 1] as usize - 1;
    let place = packed.body_index[first..dummy].binary_search(&body);
    place.unwrap_or(dummy - first) as u32
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

    /// Packs a problem by islands. R = α/diagonal (the local R-factors of Nützi 4.4.2), ω = 1.
    pub fn pack(&mut self, problem: &Problem, alpha: f64) {
        let islands = &problem.islands;
        let groups = [&islands.bodies, &islands.contacts, &islands.rows];
        self.pack_groups(problem, groups, alpha);
    }

    /// Packs a problem by any groups of bodies, which ascend, contacts and rows: the islands, or parts of
    /// them that each have their own copies of the bodies they touch. They then take the place of the
    /// islands everywhere here.
    pub fn pack_groups(
        &mut self,
        problem: &Problem,
        [of_bodies, of_contacts, of_rows]: [&Grouped; 3],
        alpha: f64,
    ) {
        let count = of_bodies.start.len().saturating_sub(1);
        let contacts = &problem.contacts;
        let uniform = contacts.are_plain();
        self.frictionless = contacts.are_frictionless();
        self.omega.iter_mut().for_each(Vec::clear);
        self.contact_blocks.clear();
        self.contact_index.clone_from(&of_contacts.items);
        self.row_index.clone_from(&of_rows.items);

        // Bodies, with a dummy behind each group.
        self.free.clear();
        self.template.clear();
        self.body_index.clear();
        self.body_start.clear();
        self.body_start.push(0);
        for group in 0..count {
            for &b in of_bodies.of(group) {
                self.body_index.push(b);
                let b = b as usize;
                self.free.push(problem.bodies.free_velocity[b]);
                self.template.push(PackedBody {
                    velocity: Twist::ZERO,
                    inverse_inertia: problem.bodies.inverse_inertia[b],
                    inverse_mass: problem.bodies.inverse_mass[b],
                });
            }
            self.body_index.push(NO_BODY);
            self.free.push(Twist::ZERO);
            self.template.push(PackedBody::default());
            self.body_start.push(self.free.len() as u32);
        }

        // Rows of Λ.
        self.contact_start.clone_from(&of_contacts.start);
        self.row_start.clone_from(&of_rows.start);
        self.lambda_start.clear();
        self.lambda_start.push(0);
        let mut length = 0;
        for group in 0..count {
            let of = of_contacts.of(group);
            length += if uniform {
                3 * of.len()
            } else {
                of.iter().map(|c| contacts.rows(*c as usize).len()).sum()
            };
            length += of_rows.of(group).len();
            self.lambda_start.push(length as u32);
        }

        self.pack_contacts(problem, alpha, uniform);
        self.pack_rows(problem, alpha);
    }

    /// Empties the packing and numbers islands, contacts and rows as `a` has them, whose first sources are
    /// `contacts` contacts of three rows: contacts and rows are to be pushed in that order. There are no bodies.
    pub fn begin_matrix(&mut self, a: &Delassus, contacts: usize) {
        *self = Self::default();
        let islands = a.islands();
        self.body_start.resize(islands + 1, 0);
        let starts = [
            &mut self.contact_start,
            &mut self.row_start,
            &mut self.lambda_start,
        ];
        starts.into_iter().for_each(|start| start.push(0));
        for island in 0..islands {
            for source in &a.source[span(&a.island_start, island)] {
                match (*source as usize).checked_sub(contacts) {
                    None => self.contact_index.push(*source),
                    Some(r) => self.row_index.push(r as u32),
                }
            }
            let [of_contacts, of_rows] = [self.contact_index.len(), self.row_index.len()];
            self.contact_start.push(of_contacts as u32);
            self.row_start.push(of_rows as u32);
            self.lambda_start.push((3 * of_contacts + of_rows) as u32);
        }
    }

    fn pack_contacts(&mut self, problem: &Problem, alpha: f64, uniform: bool) {
        let mut packed = std::mem::take(&mut self.contacts);
        packed.clear();
        self.contact_index
            .par_iter()
            .with_min_len(CHUNK)
            .enumerate()
            .map(|(k, c)| self.contact(problem, k, *c as usize, alpha))
            .collect_into_vec(&mut packed);
        self.contacts = packed;
        self.extra.clear();
        if uniform {
            return;
        }
        for island in 0..self.islands() {
            let mut offset = 0;
            for &c in &self.contact_index[self.contacts_of(island)] {
                let c = c as usize;
                let (_, turning) = immovable_velocity(problem, c);
                let extra = packed_extra(problem, c, offset, turning);
                self.extra.push(extra);
                offset += extra.friction.law.row_count() as u32;
            }
        }
    }

    /// Contact `c` of the problem, which is packed as number `k`.
    fn contact(&self, problem: &Problem, k: usize, c: usize, alpha: f64) -> PackedContact {
        let contacts = &problem.contacts;
        let pair = contacts.bodies[c];
        let island = self
            .contact_start
            .partition_point(|start| *start as usize <= k)
            - 1;
        let axes = contacts.frame[c].axes();
        let (outside, _) = immovable_velocity(problem, c);
        let mut packed = if self.frictionless {
            let diagonal = problem.contact_coupling(c, axes[0], axes[0]);
            PackedContact {
                bodies: pair,
                frame: contacts.frame[c],
                bias: [contacts.bias[c][0], 0.0, 0.0],
                r: [alpha / diagonal, 0.0],
                inverse_r: [diagonal / alpha, 0.0],
                coupling: [0.0; 2],
                mu: 0.0,
            }
        } else {
            packed_contact(problem, c, alpha)
        };
        packed.bodies = pair.map(|b| local(self, island, b));
        let rows = if self.frictionless { 1 } else { 3 };
        for (b, e) in packed.bias[..rows].iter_mut().zip(axes) {
            *b += e.dot(&outside);
        }
        packed
    }

    fn pack_rows(&mut self, problem: &Problem, alpha: f64) {
        self.rows.clear();
        self.entries.clear();
        for island in 0..self.islands() {
            for k in self.rows_of(island) {
                let r = self.row_index[k] as usize;
                let first = self.entries.len();
                let mut bias = problem.rows.bias[r];
                for (body, jacobian) in problem.rows.entries(r) {
                    if problem.bodies.is_dynamic(body) {
                        let body = local(self, island, body as u32);
                        self.entries.push(PackedEntry {
                            body,
                            jacobian: *jacobian,
                        });
                    } else {
                        let u = &problem.bodies.free_velocity[body];
                        bias += jacobian.linear.dot(&u.linear) + jacobian.angular.dot(&u.angular);
                    }
                }
                let entries = Span::new(first, self.entries.len());
                self.rows.push(packed_row(problem, r, alpha, bias, entries));
            }
        }
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

/// Contact `c` with its bodies as the problem numbers them and the bias that the problem has.
pub fn packed_contact(problem: &Problem, c: usize, alpha: f64) -> PackedContact {
    let contacts = &problem.contacts;
    let friction = &contacts.friction[c];
    let [nn, t1t1, t2t2, t1n, t2n] = problem.contact_block(c);
    let [cn, ct] = contacts.compliance[c];
    let normal = nn + cn;
    let largest = match friction.law.row_count() {
        3 => t1t1.max(t2t2) + ct,
        rows => {
            let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_diagonal(c, &mut diagonal);
            diagonal[1..rows].iter().copied().fold(0.0, f64::max)
        }
    };
    PackedContact {
        bodies: contacts.bodies[c],
        frame: contacts.frame[c],
        bias: contacts.bias[c],
        r: [alpha / normal, alpha / largest],
        inverse_r: [normal / alpha, largest / alpha],
        coupling: [t1n, t2n],
        mu: friction.mu[0],
    }
}

/// General row `r` with a bias and the span of its entries.
pub fn packed_row(problem: &Problem, r: usize, alpha: f64, bias: f64, entries: Span) -> PackedRow {
    let diagonal = problem.row_diagonal(r);
    PackedRow {
        entries,
        bounds: problem.rows.bounds[r],
        bias,
        compliance: problem.rows.compliance[r],
        r: alpha / diagonal,
        inverse_r: diagonal / alpha,
    }
}

/// What contact `c` has besides; its impulses begin at `offset`. `turning` is the relative angular
/// velocity that its biases include (world frame, rad/s).
pub fn packed_extra(problem: &Problem, c: usize, offset: u32, turning: Vec3) -> Extra {
    let contacts = &problem.contacts;
    let axes = contacts.frame[c].axes();
    let [n, t1, t2] = axes;
    let turned = turning_of_push(problem, c, n);
    Extra {
        friction: contacts.friction[c],
        compliance: contacts.compliance[c],
        offset,
        turning: axes.map(|e| e.dot(&turning)),
        couple_bias: contacts.couple_bias(c),
        tangential: [
            problem.contact_coupling(c, t1, t1),
            problem.contact_coupling(c, t1, t2),
            problem.contact_coupling(c, t2, t2),
        ],
        turning_coupling: axes.map(|e| e.dot(&turned)),
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

/// The relative angular velocity that a unit impulse along `direction` makes at contact `c`.
fn turning_of_push(problem: &Problem, c: usize, direction: Vec3) -> Vec3 {
    let contacts = &problem.contacts;
    let pair = contacts.bodies[c].iter().zip(&contacts.frame[c].arms);
    pair.map(|(body, arm)| {
        problem.bodies.inverse_inertia[*body as usize].mul_vec(arm.cross(&direction))
    })
    .sum()
}

/// The share of the relative velocity at contact `c`, and of the relative angular velocity, that comes
/// from bodies that impulses do not move.
fn immovable_velocity(problem: &Problem, c: usize) -> (Vec3, Vec3) {
    let (mut velocity, mut turning) = (Vec3::zeros(), Vec3::zeros());
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let body = problem.contacts.bodies[c][side] as usize;
        if !problem.bodies.is_dynamic(body) {
            let u = &problem.bodies.free_velocity[body];
            velocity += u.at(problem.contacts.frame[c].arms[side]) * sign;
            turning += u.angular * sign;
        }
    }
    (velocity, turning)
}
