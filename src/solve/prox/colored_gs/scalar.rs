//! Edges that fill no lane: contacts of other laws or with compliance, joints' rows, and the members
//! of an unsafe colour. Swept one by one in f64, on the same bodies as the lanes.

use std::ops::Range;

use super::edges::Members;
use super::lanes::Real;
use super::layout::Layout;
use super::shared::Shared;
use super::wide::{Body, Start};
use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::prox::block::{
    Change, Extra, PackedBody, PackedContact, PackedEntry, PackedRow, Sweep,
};
use crate::solve::prox::color::NO_BODY;
use crate::solve::prox::pack::{packed_contact, packed_extra, packed_row};

/// How members of an unsafe colour, which may share bodies, are solved together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsafeColor {
    /// Each edge sees the velocities from before and its own work.
    Jacobi,
    /// In so many parts, Gauss–Seidel within each.
    Naive {
        /// Number of parts.
        parts: usize,
    },
}

/// A scalar edge, packed.
#[derive(Clone, Copy, Debug, Default)]
struct PackedEdge {
    contacts: [u32; 2],
    rows: [u32; 2],
    /// Where its impulses begin.
    first: u32,
    /// The bodies that impulses move.
    bodies: [u32; 4],
    /// ω in an unsafe colour.
    omega: f64,
}

/// A part of an unsafe colour, with its own copies of the bodies.
#[derive(Clone, Debug, Default)]
struct Part {
    edges: [u32; 2],
    bodies: Vec<u32>,
    copies: Vec<PackedBody>,
}

/// All scalar edges, in the order of the layout. Keeps its memory.
#[derive(Default)]
pub struct ScalarEdges {
    edges: Vec<PackedEdge>,
    contacts: Vec<PackedContact>,
    extra: Vec<Extra>,
    rows: Vec<PackedRow>,
    entries: Vec<PackedEntry>,
    /// First problem row in Λ of each run of impulses.
    place: Vec<u32>,
    lambda: Vec<f64>,
    start: Vec<f64>,
    checkpoint: Vec<f64>,
    /// Changes of velocity that an unsafe colour collects before they are applied.
    pending: Vec<(u32, Twist)>,
    parts: Vec<Vec<Part>>,
}

/// Bodies as an edge reads and changes them.
trait Access {
    fn read(&self, body: u32) -> PackedBody;
    fn write(&mut self, body: u32, after: &PackedBody);
}

/// The bodies themselves: what the edge does is seen at once.
struct Direct<R>(Shared<Body<R>>);

impl<R: Real> Access for Direct<R> {
    fn read(&self, body: u32) -> PackedBody {
        // SAFETY: edges of one colour share no body that moves, and those that do not are never
        // written; an unsafe colour runs alone.
        unsafe { self.0.read(body as usize).unpack() }
    }

    fn write(&mut self, body: u32, after: &PackedBody) {
        // SAFETY: as above; only bodies that move are written.
        unsafe { self.0.get(body as usize).set_velocity(&after.velocity) };
    }
}

/// Copies of the bodies of one edge, as they were before the colour: what other edges do is not seen.
struct Private<R> {
    bodies: Shared<Body<R>>,
    copies: [(u32, PackedBody); 4],
}

impl<R: Real> Access for Private<R> {
    fn read(&self, body: u32) -> PackedBody {
        match self.copies.iter().find(|(b, _)| *b == body) {
            Some((_, copy)) => *copy,
            // SAFETY: one that impulses do not move; nobody writes it.
            None => unsafe { self.bodies.read(body as usize).unpack() },
        }
    }

    fn write(&mut self, body: u32, after: &PackedBody) {
        if let Some((_, copy)) = self.copies.iter_mut().find(|(b, _)| *b == body) {
            copy.velocity = after.velocity;
        }
    }
}

/// A part's own copies.
impl Access for Part {
    fn read(&self, body: u32) -> PackedBody {
        match self.bodies.binary_search(&body) {
            Ok(k) => self.copies[k],
            // A body that impulses do not move is in no part.
            Err(_) => PackedBody::default(),
        }
    }

    fn write(&mut self, body: u32, after: &PackedBody) {
        if let Ok(k) = self.bodies.binary_search(&body) {
            self.copies[k].velocity = after.velocity;
        }
    }
}

impl ScalarEdges {
    /// Packs the layout's scalar edges. Returns whether all is finite.
    pub fn pack(
        &mut self,
        problem: &Problem,
        layout: &Layout,
        alpha: f64,
        start: Start,
        treatment: UnsafeColor,
    ) -> bool {
        self.edges.clear();
        self.contacts.clear();
        self.extra.clear();
        self.rows.clear();
        self.entries.clear();
        self.place.clear();
        self.lambda.clear();
        for members in &layout.scalar {
            self.push(problem, members, alpha, start.lambda, start.u);
        }
        self.start.clone_from(&self.lambda);
        if !start.keeps_checkpoint {
            self.checkpoint.clone_from(&self.lambda);
        }
        self.parts.resize(layout.batches.len(), Vec::new());
        for (batch, of) in layout.batches.iter().enumerate() {
            self.relax(batch, of.unsafe_edges(), treatment);
        }
        self.is_finite()
    }

    fn push(
        &mut self,
        problem: &Problem,
        members: &Members,
        alpha: f64,
        lambda: &[f64],
        u: &[Twist],
    ) {
        let mut edge = PackedEdge {
            contacts: [self.contacts.len() as u32; 2],
            rows: [self.rows.len() as u32; 2],
            first: self.lambda.len() as u32,
            bodies: [NO_BODY; 4],
            omega: 1.0,
        };
        if members.are_rows {
            let first = problem.contact_rows();
            for r in members.range() {
                self.push_row(problem, r, alpha, u, &mut edge);
                self.place.push((first + r) as u32);
                self.lambda.push(lambda[first + r]);
            }
        } else {
            for c in members.range() {
                let rows = problem.contacts.rows(c);
                let mut contact = packed_contact(problem, c, alpha);
                let [i, j] = contact.bodies.map(|b| b as usize);
                let turning = u[j].angular - u[i].angular;
                let offset = self.lambda.len() as u32;
                self.extra.push(packed_extra(problem, c, offset, turning));
                let relative = u[j].at(contact.arms[1]) - u[i].at(contact.arms[0]);
                let axes = contact.axes();
                for (bias, e) in contact.bias.iter_mut().zip(axes) {
                    *bias += e.dot(&relative);
                }
                self.contacts.push(contact);
                self.lambda.extend_from_slice(&lambda[rows.clone()]);
                self.place.extend(rows.map(|r| r as u32));
                let mut n = 0;
                for b in contact.bodies {
                    if problem.bodies.is_dynamic(b as usize) {
                        edge.bodies[n] = b;
                        n += 1;
                    }
                }
            }
        }
        edge.contacts[1] = self.contacts.len() as u32;
        edge.rows[1] = self.rows.len() as u32;
        self.edges.push(edge);
    }

    /// One general row; its entries count the edge's bodies.
    fn push_row(
        &mut self,
        problem: &Problem,
        r: usize,
        alpha: f64,
        u: &[Twist],
        edge: &mut PackedEdge,
    ) {
        let first = self.entries.len() as u32;
        let mut bias = problem.rows.bias[r];
        for (body, jacobian) in problem.rows.entries(r) {
            let velocity = &u[body];
            bias += jacobian.linear.dot(&velocity.linear) + jacobian.angular.dot(&velocity.angular);
            if problem.bodies.is_dynamic(body) {
                let known = edge.bodies.iter().position(|b| *b == body as u32);
                let free = edge.bodies.iter().position(|b| *b == NO_BODY);
                if let Some(k) = known.or(free) {
                    edge.bodies[k] = body as u32;
                    self.entries.push(PackedEntry {
                        body: k as u32,
                        jacobian: *jacobian,
                    });
                }
            }
        }
        let entries = [first, self.entries.len() as u32];
        self.rows.push(packed_row(problem, r, alpha, bias, entries));
    }

    /// ω of the members of an unsafe colour, and its parts.
    fn relax(&mut self, batch: usize, edges: Range<usize>, treatment: UnsafeColor) {
        let parts = match treatment {
            UnsafeColor::Jacobi => edges.len(),
            UnsafeColor::Naive { parts } => parts.min(edges.len()),
        };
        let own = &mut self.parts[batch];
        own.clear();
        if edges.is_empty() {
            return;
        }
        // (body, part) for all parts that a body is in.
        let part_of = |k: usize| k * parts / edges.len();
        let mut shares: Vec<(u32, u32)> = Vec::new();
        for (k, e) in edges.clone().enumerate() {
            for b in self.edges[e].bodies.iter().filter(|b| **b != NO_BODY) {
                shares.push((*b, part_of(k) as u32));
            }
        }
        shares.sort_unstable();
        shares.dedup();
        let sharing = |b: u32| {
            let first = shares.partition_point(|s| s.0 < b);
            shares[first..].iter().take_while(|s| s.0 == b).count()
        };
        for e in edges.clone() {
            let edge = &mut self.edges[e];
            let bodies = edge.bodies.iter().filter(|b| **b != NO_BODY);
            edge.omega = match treatment {
                // ω = 1/(1 + other edges on the same bodies): each by itself would solve the whole.
                UnsafeColor::Jacobi => {
                    1.0 / (1 + bodies.map(|b| sharing(*b) - 1).sum::<usize>()) as f64
                }
                UnsafeColor::Naive { .. } => {
                    1.0 / bodies.map(|b| sharing(*b)).max().unwrap_or(1) as f64
                }
            };
        }
        if let UnsafeColor::Naive { .. } = treatment {
            let mut first = edges.start;
            for part in 0..parts {
                let last =
                    edges.start + (0..edges.len()).take_while(|k| part_of(*k) <= part).count();
                let mut bodies: Vec<u32> = self.edges[first..last]
                    .iter()
                    .flat_map(|e| e.bodies)
                    .filter(|b| *b != NO_BODY)
                    .collect();
                bodies.sort_unstable();
                bodies.dedup();
                own.push(Part {
                    edges: [first as u32, last as u32],
                    copies: vec![PackedBody::default(); bodies.len()],
                    bodies,
                });
                first = last;
            }
        }
    }

    fn is_finite(&self) -> bool {
        let contact = |c: &PackedContact| c.bias.iter().sum::<f64>() + c.r[0] + c.r[1] + c.mu;
        let row = |r: &PackedRow| r.bias + r.compliance + r.r;
        self.contacts.iter().all(|c| contact(c).is_finite())
            && self.extra.iter().all(Extra::is_finite)
            && self
                .rows
                .iter()
                .all(|r| row(r).is_finite() && !r.bounds[0].is_nan() && !r.bounds[1].is_nan())
            && self.lambda.iter().all(|x| x.is_finite())
    }

    /// A pointer through which the work blocks of a colour sweep their edges.
    pub fn share(&mut self) -> SharedLambda {
        SharedLambda(Shared::new(&mut self.lambda))
    }

    /// Sweeps edges of one colour.
    ///
    /// # Safety
    /// The edges are of one colour, and nobody else sweeps them, or anything on their bodies,
    /// meanwhile; `lambda` came from [`ScalarEdges::share`].
    pub unsafe fn sweep<R: Real>(
        &self,
        edges: Range<usize>,
        bodies: Shared<Body<R>>,
        lambda: SharedLambda,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        for edge in &self.edges[edges] {
            // SAFETY: the caller's promise; an edge has its impulses for itself.
            unsafe { self.step(edge, lambda, sweep, change, &mut Direct(bodies)) };
        }
    }

    /// Solves an unsafe colour, on the calling thread.
    pub fn sweep_unsafe<R: Real>(
        &mut self,
        batch: usize,
        edges: Range<usize>,
        bodies: Shared<Body<R>>,
        treatment: UnsafeColor,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let lambda = self.share();
        let mut pending = std::mem::take(&mut self.pending);
        let mut parts = std::mem::take(&mut self.parts[batch]);
        pending.clear();
        match treatment {
            UnsafeColor::Jacobi => {
                for edge in &self.edges[edges] {
                    let copies = edge.bodies.map(|b| match b {
                        NO_BODY => (b, PackedBody::default()),
                        // SAFETY: an unsafe colour runs alone, on one thread.
                        b => (b, unsafe { bodies.read(b as usize).unpack() }),
                    });
                    let mut access = Private { bodies, copies };
                    // SAFETY: one thread, one edge after the other.
                    unsafe { self.step(edge, lambda, sweep, change, &mut access) };
                    for (before, after) in copies.iter().zip(&access.copies) {
                        if before.0 != NO_BODY {
                            let (old, new) = (&before.1.velocity, &after.1.velocity);
                            pending.push((
                                before.0,
                                Twist {
                                    linear: new.linear - old.linear,
                                    angular: new.angular - old.angular,
                                },
                            ));
                        }
                    }
                }
            }
            UnsafeColor::Naive { .. } => {
                for part in &mut parts {
                    for (b, copy) in part.bodies.iter().zip(&mut part.copies) {
                        // SAFETY: an unsafe colour runs alone.
                        *copy = unsafe { bodies.read(*b as usize).unpack() };
                    }
                    for e in part.edges[0] as usize..part.edges[1] as usize {
                        // SAFETY: one thread, one edge after the other.
                        unsafe { self.step(&self.edges[e], lambda, sweep, change, part) };
                    }
                }
                for part in &parts {
                    for (b, copy) in part.bodies.iter().zip(&part.copies) {
                        // SAFETY: an unsafe colour runs alone.
                        let before = unsafe { bodies.read(*b as usize).unpack() };
                        pending.push((
                            *b,
                            Twist {
                                linear: copy.velocity.linear - before.velocity.linear,
                                angular: copy.velocity.angular - before.velocity.angular,
                            },
                        ));
                    }
                }
            }
        }
        for (b, change) in &pending {
            // SAFETY: an unsafe colour runs alone.
            let body = unsafe { bodies.get(*b as usize) };
            let mut u = body.unpack().velocity;
            u.linear += change.linear;
            u.angular += change.angular;
            body.set_velocity(&u);
        }
        self.pending = pending;
        self.parts[batch] = parts;
    }

    /// One prox step of every block of an edge in turn.
    ///
    /// # Safety
    /// Nobody else uses this edge's impulses meanwhile.
    unsafe fn step(
        &self,
        edge: &PackedEdge,
        lambda: SharedLambda,
        sweep: &Sweep,
        change: &mut Change,
        access: &mut impl Access,
    ) {
        let sweep = Sweep {
            omega: sweep.omega * edge.omega,
            ..*sweep
        };
        for c in edge.contacts[0] as usize..edge.contacts[1] as usize {
            let (contact, extra) = (&self.contacts[c], &self.extra[c]);
            let before = contact.bodies.map(|b| access.read(b));
            let first = extra.offset as usize;
            // SAFETY: the caller's promise.
            let block = unsafe {
                lambda
                    .0
                    .slice(first..first + extra.friction.law.row_count())
            };
            let pair = [&before[0], &before[1]];
            let push = contact.general_step(extra, pair, block, &sweep, change);
            for (side, before) in before.iter().enumerate() {
                if before.inverse_mass > 0.0 {
                    let mut after = *before;
                    contact.apply(side, &push, &mut after);
                    access.write(contact.bodies[side], &after);
                }
            }
        }
        if edge.rows[0] == edge.rows[1] {
            return;
        }
        let before = edge.bodies.map(|b| match b {
            NO_BODY => PackedBody::default(),
            b => access.read(b),
        });
        let mut after = before;
        for (k, row) in self.rows[edge.rows[0] as usize..edge.rows[1] as usize]
            .iter()
            .enumerate()
        {
            let entries = &self.entries[row.entries[0] as usize..row.entries[1] as usize];
            // SAFETY: the caller's promise.
            let lambda = unsafe { lambda.0.get(edge.first as usize + k) };
            let seen = if sweep.coupled { &after } else { &before };
            let w = row.velocity(entries, seen, *lambda);
            let step = row.step(w, lambda, &sweep, change);
            for entry in entries {
                entry.push(step, &mut after[entry.body as usize]);
            }
        }
        for (k, b) in edge.bodies.iter().enumerate() {
            if *b != NO_BODY {
                access.write(*b, &after[k]);
            }
        }
    }

    fn impulses(&self, edges: Range<usize>) -> Range<usize> {
        let first = |e: usize| {
            self.edges
                .get(e)
                .map_or(self.lambda.len(), |edge| edge.first as usize)
        };
        first(edges.start)..first(edges.end)
    }

    /// Keeps the impulses of some edges as those to return to.
    pub fn keep(&mut self, edges: Range<usize>) {
        let span = self.impulses(edges);
        self.checkpoint[span.clone()].copy_from_slice(&self.lambda[span]);
    }

    /// Returns to the impulses kept last.
    pub fn return_to_kept(&mut self, edges: Range<usize>) {
        let span = self.impulses(edges);
        self.lambda[span.clone()].copy_from_slice(&self.checkpoint[span]);
    }

    /// Adds M⁻¹ Jᵀ times the change of impulse since the start to the bodies.
    pub fn push_changes<R: Real>(&self, edges: Range<usize>, bodies: &mut [Body<R>]) {
        for edge in &self.edges[edges] {
            for c in edge.contacts[0] as usize..edge.contacts[1] as usize {
                let (contact, extra) = (&self.contacts[c], &self.extra[c]);
                let first = extra.offset as usize;
                let mut block = [0.0; crate::problem::FrictionLaw::MAX_ROWS];
                let block = &mut block[..extra.friction.law.row_count()];
                for (k, x) in block.iter_mut().enumerate() {
                    *x = self.lambda[first + k] - self.start[first + k];
                }
                let push = contact.impulse(Some(extra), block);
                for (side, b) in contact.bodies.iter().enumerate() {
                    let body = &mut bodies[*b as usize];
                    let mut packed = body.unpack();
                    contact.apply(side, &push, &mut packed);
                    body.set_velocity(&packed.velocity);
                }
            }
            for (k, r) in (edge.rows[0] as usize..edge.rows[1] as usize).enumerate() {
                let row = &self.rows[r];
                let at = edge.first as usize + k;
                for entry in &self.entries[row.entries[0] as usize..row.entries[1] as usize] {
                    let body = &mut bodies[edge.bodies[entry.body as usize] as usize];
                    let mut packed = body.unpack();
                    entry.push(self.lambda[at] - self.start[at], &mut packed);
                    body.set_velocity(&packed.velocity);
                }
            }
        }
    }

    /// Calls `f` with every body that some edges move.
    pub fn each_body(&self, edges: Range<usize>, mut f: impl FnMut(u32)) {
        for b in self.edges[edges].iter().flat_map(|e| e.bodies) {
            if b != NO_BODY {
                f(b);
            }
        }
    }

    /// Copies the impulses to the problem's order.
    pub fn store(&self, lambda: &mut [f64]) {
        for (place, x) in self.place.iter().zip(&self.lambda) {
            lambda[*place as usize] = *x;
        }
    }

    /// Bytes that one sweep reads and writes.
    pub fn bytes(&self, body: usize) -> [u64; 2] {
        let contacts = self.contacts.len() * (size_of::<PackedContact>() + size_of::<Extra>());
        let rows = self.rows.len() * size_of::<PackedRow>()
            + self.entries.len() * size_of::<PackedEntry>();
        let lambda = self.lambda.len() * size_of::<f64>();
        let bodies = (2 * self.contacts.len() + self.entries.len()) * body;
        [
            (contacts + rows + lambda + bodies) as u64,
            (lambda + bodies / 2) as u64,
        ]
    }
}

/// Impulses of scalar edges, shared by the work blocks of one colour.
#[derive(Clone, Copy, Debug)]
pub struct SharedLambda(Shared<f64>);

impl SharedLambda {
    /// For a sweep without scalar edges.
    pub fn none() -> Self {
        Self(Shared::new(&mut []))
    }
}
