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
use crate::solve::sweeps::block::{Change, Extra, PackedBody, PackedContact, Span, Sweep};
use crate::solve::sweeps::color::{Edge, NO_BODY};
use crate::solve::sweeps::fill::{packed_contact, packed_extra, packed_row};
use crate::solve::sweeps::pack::append_set;
use crate::solve::sweeps::r_factors::{give_r, smaller_r};
use crate::solve::sweeps::row::{PackedEntry, PackedRow};

/// How members of an unsafe colour, which may share bodies, are solved together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnsafeColor {
    /// Each edge sees the velocities from before and its own work.
    #[default]
    Jacobi,
    /// In so many parts, Gauss–Seidel within each.
    Naive {
        /// Number of parts.
        parts: usize,
    },
}

/// An unsafe colour, and whether it is relaxed by what solves the same bodies at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsafe {
    pub color: UnsafeColor,
    pub damped: bool,
}

/// A scalar edge, packed.
#[derive(Clone, Copy, Debug)]
struct PackedEdge {
    contacts: Span,
    rows: Span,
    /// Where its impulses begin.
    first: u32,
    /// The bodies that impulses move.
    bodies: Edge,
    /// ω in an unsafe colour.
    omega: f64,
}

/// A part of an unsafe colour: its edges, and the copies of their bodies.
#[derive(Clone, Copy, Debug)]
struct Part {
    edges: Span,
    copies: Span,
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
    mark: Vec<f64>,
    /// The parts of the unsafe colours, and those of each batch.
    parts: Vec<Part>,
    parts_of: Vec<Span>,
    /// Bodies of parts, ascending within each.
    copies: Vec<(u32, PackedBody)>,
    /// The bodies of the parts of one unsafe colour.
    sharing: Vec<u32>,
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

/// A part's own copies of its bodies, as they were before the colour: what other parts do is not seen.
struct Copies<'a>(&'a mut [(u32, PackedBody)]);

impl Access for Copies<'_> {
    fn read(&self, body: u32) -> PackedBody {
        match self.0.binary_search_by_key(&body, |copy| copy.0) {
            Ok(k) => self.0[k].1,
            // A body that impulses do not move is in no part.
            Err(_) => PackedBody::default(),
        }
    }

    fn write(&mut self, body: u32, after: &PackedBody) {
        if let Ok(k) = self.0.binary_search_by_key(&body, |copy| copy.0) {
            self.0[k].1.velocity = after.velocity;
        }
    }
}

impl PackedEdge {
    /// The bodies that impulses move.
    fn moving(&self) -> impl Iterator<Item = u32> + use<> {
        self.bodies.into_iter().filter(|b| *b != NO_BODY)
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
        treatment: Unsafe,
    ) -> bool {
        self.edges.clear();
        self.contacts.clear();
        self.extra.clear();
        self.rows.clear();
        self.entries.clear();
        self.place.clear();
        self.lambda.clear();
        for edge in &layout.scalar {
            let edge = *edge as usize;
            let (members, bodies) = (&layout.edges.members[edge], layout.edges.bodies[edge]);
            self.push(problem, members, bodies, alpha, start);
        }
        self.start.clone_from(&self.lambda);
        if !start.keeps_checkpoint {
            self.checkpoint.clone_from(&self.lambda);
        }
        self.parts.clear();
        self.parts_of.clear();
        self.copies.clear();
        for batch in &layout.batches {
            let first = self.parts.len();
            self.divide(batch.unsafe_edges.range(), treatment);
            self.parts_of.push(Span::new(first, self.parts.len()));
        }
        self.is_finite()
    }

    fn push(
        &mut self,
        problem: &Problem,
        members: &Members,
        bodies: Edge,
        alpha: f64,
        Start { lambda, u, .. }: Start,
    ) {
        let (contacts, rows) = (self.contacts.len(), self.rows.len());
        let first = self.lambda.len() as u32;
        if members.are_rows {
            let first = problem.contact_rows();
            for r in members.span.range() {
                self.push_row(problem, r, alpha, u, &bodies);
                self.place.push((first + r) as u32);
                self.lambda.push(lambda[first + r]);
            }
        } else {
            for c in members.span.range() {
                let rows = problem.contacts.rows(c);
                let mut contact = packed_contact(problem, c, alpha);
                let [i, j] = contact.bodies.map(|b| b as usize);
                let turning = u[j].angular - u[i].angular;
                let offset = self.lambda.len() as u32;
                self.extra.push(packed_extra(problem, c, offset, turning));
                let relative = u[j].at(contact.frame.arms[1]) - u[i].at(contact.frame.arms[0]);
                let axes = contact.frame.axes();
                for (bias, e) in contact.bias.iter_mut().zip(axes) {
                    *bias += e.dot(&relative);
                }
                self.contacts.push(contact);
                self.lambda.extend_from_slice(&lambda[rows.clone()]);
                self.place.extend(rows.map(|r| r as u32));
            }
        }
        self.edges.push(PackedEdge {
            contacts: Span::new(contacts, self.contacts.len()),
            rows: Span::new(rows, self.rows.len()),
            first,
            bodies,
            omega: 1.0,
        });
    }

    /// One general row; its entries count the edge's bodies.
    fn push_row(&mut self, problem: &Problem, r: usize, alpha: f64, u: &[Twist], bodies: &Edge) {
        let first = self.entries.len();
        let mut bias = problem.rows.bias[r];
        for (body, jacobian) in problem.rows.entries(r) {
            let velocity = &u[body];
            bias += jacobian.linear.dot(&velocity.linear) + jacobian.angular.dot(&velocity.angular);
            if let Some(k) = bodies.iter().position(|b| *b == body as u32) {
                self.entries.push(PackedEntry {
                    body: k as u32,
                    jacobian: *jacobian,
                });
            }
        }
        let entries = Span::new(first, self.entries.len());
        self.rows.push(packed_row(problem, r, alpha, bias, entries));
    }

    /// Divides an unsafe colour into its parts, and finds ω of its edges.
    fn divide(&mut self, edges: Range<usize>, treatment: Unsafe) {
        let parts = match treatment.color {
            UnsafeColor::Jacobi => edges.len(),
            UnsafeColor::Naive { parts } => parts.min(edges.len()),
        };
        let sharing = &mut self.sharing;
        sharing.clear();
        for part in 0..parts {
            let first = |part: usize| edges.start + (part * edges.len()).div_ceil(parts);
            let edges = first(part)..first(part + 1);
            let all = self.edges[edges.clone()].iter();
            let bodies = sharing.len();
            append_set(sharing, all.flat_map(PackedEdge::moving));
            let copies = self.copies.len();
            let unread = sharing[bodies..]
                .iter()
                .map(|b| (*b, PackedBody::default()));
            self.copies.extend(unread);
            self.parts.push(Part {
                edges: Span::new(edges.start, edges.end),
                copies: Span::new(copies, self.copies.len()),
            });
        }
        if !treatment.damped {
            return;
        }
        sharing.sort_unstable();
        // How many parts have a copy of a body.
        let parts_on = |body: u32| {
            let first = sharing.partition_point(|b| *b < body);
            sharing[first..].iter().take_while(|b| **b == body).count()
        };
        for edge in &mut self.edges[edges] {
            let parts = edge.moving().map(parts_on);
            edge.omega = match treatment.color {
                // ω = 1/(1 + other edges on the same bodies): each by itself would solve the whole.
                UnsafeColor::Jacobi => 1.0 / (1 + parts.map(|n| n - 1).sum::<usize>()) as f64,
                UnsafeColor::Naive { .. } => 1.0 / parts.max().unwrap_or(1) as f64,
            };
        }
    }

    /// The smallest R_N and R_T of the contacts of some edges (kg); infinite where there are none.
    pub fn smallest_r(&self, edges: Range<usize>) -> [f64; 2] {
        let contacts = self.edges[edges].iter().flat_map(|e| e.contacts.range());
        let each = contacts.map(|c| self.contacts[c].r);
        each.fold([f64::INFINITY; 2], smaller_r)
    }

    /// Gives the contacts of some edges the same R_N and R_T (kg).
    pub fn use_r(&mut self, edges: Range<usize>, r: [f64; 2]) {
        for edge in &self.edges[edges] {
            let contacts = &mut self.contacts[edge.contacts.range()];
            contacts.iter_mut().for_each(|contact| give_r(contact, r));
        }
    }

    fn is_finite(&self) -> bool {
        self.contacts.iter().all(PackedContact::is_finite)
            && self.extra.iter().all(Extra::is_finite)
            && self.rows.iter().all(PackedRow::is_finite)
            && self.lambda.iter().all(|x| x.is_finite())
    }

    /// A pointer to the impulses through which the work blocks of a colour sweep their edges.
    pub fn share(&mut self) -> Shared<f64> {
        Shared::new(&mut self.lambda)
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
        lambda: Shared<f64>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        for edge in &self.edges[edges] {
            // SAFETY: the caller's promise; an edge has its impulses for itself.
            unsafe { self.step(edge, lambda, sweep, change, &mut Direct(bodies)) };
        }
    }

    /// Solves the unsafe colour of a batch, on the calling thread: every part on its own copies of the
    /// bodies, and then what all of them changed.
    pub fn sweep_unsafe<R: Real>(
        &mut self,
        batch: usize,
        bodies: Shared<Body<R>>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let lambda = self.share();
        let mut copies = std::mem::take(&mut self.copies);
        let parts = &self.parts[self.parts_of[batch].range()];
        for part in parts {
            let own = &mut copies[part.copies.range()];
            for (b, copy) in &mut *own {
                // SAFETY: an unsafe colour runs alone.
                *copy = unsafe { bodies.read(*b as usize).unpack() };
            }
            for edge in &self.edges[part.edges.range()] {
                // SAFETY: one thread, one edge after the other.
                unsafe { self.step(edge, lambda, sweep, change, &mut Copies(own)) };
            }
        }
        let used = parts.iter().flat_map(|part| part.copies.range());
        for k in used.clone() {
            let (b, copy) = &mut copies[k];
            // SAFETY: an unsafe colour runs alone.
            let before = unsafe { bodies.read(*b as usize).unpack() };
            copy.velocity.linear -= before.velocity.linear;
            copy.velocity.angular -= before.velocity.angular;
        }
        for k in used {
            let (b, Twist { linear, angular }) = (copies[k].0, copies[k].1.velocity);
            // SAFETY: an unsafe colour runs alone.
            let body = unsafe { bodies.get(b as usize) };
            let mut u = body.unpack().velocity;
            u.linear += linear;
            u.angular += angular;
            body.set_velocity(&u);
        }
        self.copies = copies;
    }

    /// One prox step of every block of an edge in turn.
    ///
    /// # Safety
    /// Nobody else uses this edge's impulses meanwhile.
    unsafe fn step(
        &self,
        edge: &PackedEdge,
        lambda: Shared<f64>,
        sweep: &Sweep,
        change: &mut Change,
        access: &mut impl Access,
    ) {
        let sweep = Sweep {
            omega: sweep.omega * edge.omega,
            ..*sweep
        };
        for c in edge.contacts.range() {
            let (contact, extra) = (&self.contacts[c], &self.extra[c]);
            let before = contact.bodies.map(|b| access.read(b));
            // SAFETY: the caller's promise.
            let block = unsafe { lambda.slice(extra.rows()) };
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
        if edge.rows.range().is_empty() {
            return;
        }
        let before = edge.bodies.map(|b| match b {
            NO_BODY => PackedBody::default(),
            b => access.read(b),
        });
        let mut after = before;
        for (k, row) in self.rows[edge.rows.range()].iter().enumerate() {
            let entries = &self.entries[row.entries.range()];
            // SAFETY: the caller's promise.
            let lambda = unsafe { lambda.get(edge.first as usize + k) };
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

    /// Marks the impulses of some edges.
    pub fn mark(&mut self, edges: Range<usize>) {
        let span = self.impulses(edges);
        self.mark.resize(self.lambda.len(), 0.0);
        self.mark[span.clone()].copy_from_slice(&self.lambda[span]);
    }

    /// The largest change of an impulse of some edges since they were marked (N s).
    pub fn distance(&self, edges: Range<usize>) -> f64 {
        let span = self.impulses(edges);
        let pairs = self.lambda[span.clone()].iter().zip(&self.mark[span]);
        let apart = pairs.map(|(x, y)| (x - y).abs());
        apart.fold(0.0, f64::max)
    }

    /// Returns to the impulses kept last.
    pub fn return_to_kept(&mut self, edges: Range<usize>) {
        let span = self.impulses(edges);
        self.lambda[span.clone()].copy_from_slice(&self.checkpoint[span]);
    }

    /// Adds M⁻¹ Jᵀ times the change of impulse since the start to the bodies.
    pub fn push_changes<R: Real>(&self, edges: Range<usize>, bodies: &mut [Body<R>]) {
        let span = self.impulses(edges.clone());
        let changes = self.lambda[span.clone()]
            .iter()
            .zip(&self.start[span.clone()]);
        let changes: Vec<f64> = changes.map(|(now, start)| now - start).collect();
        let within = |rows: Range<usize>| rows.start - span.start..rows.end - span.start;
        for edge in &self.edges[edges] {
            for c in edge.contacts.range() {
                let (contact, extra) = (&self.contacts[c], &self.extra[c]);
                let push = contact.impulse(Some(extra), &changes[within(extra.rows())]);
                for (side, b) in contact.bodies.iter().enumerate() {
                    let body = &mut bodies[*b as usize];
                    let mut packed = body.unpack();
                    contact.apply(side, &push, &mut packed);
                    body.set_velocity(&packed.velocity);
                }
            }
            let changes = &changes[edge.first as usize - span.start..];
            for (row, change) in self.rows[edge.rows.range()].iter().zip(changes) {
                for entry in &self.entries[row.entries.range()] {
                    let body = &mut bodies[edge.bodies[entry.body as usize] as usize];
                    let mut packed = body.unpack();
                    entry.push(*change, &mut packed);
                    body.set_velocity(&packed.velocity);
                }
            }
        }
    }

    /// The bodies that some edges move.
    pub fn bodies(&self, edges: Range<usize>) -> impl Iterator<Item = u32> {
        self.edges[edges].iter().flat_map(PackedEdge::moving)
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
