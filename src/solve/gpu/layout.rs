//! A problem as the kernels read it: in numbers of one precision, in records of whole vectors of four, islands one after
//! the other as [`Packed`] has them. `shaders/solve/common.wgsl` declares the same records.

use std::ops::Range;

use rayon::prelude::*;

use super::matrices::{Dense, Sparse};
use super::program::{Kernel, Step, WORKGROUP};
use super::real::Real;
use super::records::{Body, Entry, Frame, Prox, Row};
use crate::math::{Twist, Vec3};
use crate::problem::FrictionLaw;
use crate::solve::sweeps::color::{Coloring, Edge, NO_BODY, Strategy};
use crate::solve::sweeps::pack::Packed;

/// Bit of a touch or a unit that says that it names general rows.
pub const ROWS: u32 = 1 << 31;
/// Contacts of one piece of parallel work.
const CHUNK: usize = 1 << 12;
/// Where a contact's law stands in [`Prox::block`].
pub const LAW_SHIFT: u32 = 30;

/// A problem as the kernels read it. Keeps its memory.
#[derive(Default)]
pub struct Layout<R: Real> {
    pub prox: Vec<Prox<R>>,
    pub frames: Vec<Frame<R>>,
    pub rows: Vec<Row<R>>,
    pub entries: Vec<Entry<R>>,
    /// M⁻¹, with the velocities u_free.
    pub bodies: Vec<Body<R>>,
    /// u_free.
    pub free: Vec<[R; 8]>,
    /// For each body where its touches begin in this array, one past the last, and the touches: block, and side of a
    /// contact or entry of a row.
    pub touches: Vec<u32>,
    /// Blocks that are swept in one piece, since they share their bodies and lie in one segment of T: the first one and how
    /// many, by colour. With T as a whole: the blocks one by one, with the first impulse of each.
    pub units: Vec<[u32; 2]>,
    /// The units of each colour, or of each diagonal block.
    pub colors: Vec<Range<u32>>,
    /// Contacts that are bound together: all of them, where bindings have room for them.
    pub pieces: Vec<Range<u32>>,
    /// Where each impulse lies among those of [`Packed`]; nothing where they are the same.
    pub order: Vec<u32>,
    pub sparse: Sparse<R>,
    pub dense: Dense<R>,
    pub lambda: Vec<R>,
    /// Whether the body that stands in an island for all that impulses do not move takes colours.
    counts_fixed: bool,
    places: Vec<u32>,
    sorted_prox: Vec<Prox<R>>,
    sorted_frames: Vec<Frame<R>>,
    sorted_lambda: Vec<R>,
    /// Of rows, and of contacts.
    colorings: [Colors; 2],
    edges: Vec<Edge>,
    keys: Vec<u64>,
    found: Vec<[u32; 2]>,
}

/// The colours of units, and what they were found for.
#[derive(Default)]
struct Colors {
    coloring: Coloring,
    bodies: usize,
    edges: Vec<Edge>,
}

/// Which form of the product a sweep uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Product {
    /// Through the velocities of bodies.
    #[default]
    MatrixFree,
    /// Through T in block rows.
    Sparse,
    /// Through T as a whole.
    Dense,
}

/// Whether the kernels have a law.
pub fn has_law(law: FrictionLaw) -> bool {
    law_number(law).is_some()
}

fn law_number(law: FrictionLaw) -> Option<u32> {
    match law {
        FrictionLaw::Disc => Some(0),
        FrictionLaw::Box => Some(1),
        FrictionLaw::Ellipse => Some(2),
        _ => None,
    }
}

fn narrow<R: Real>(v: Vec3) -> [R; 3] {
    [R::of(v.x), R::of(v.y), R::of(v.z)]
}

/// A bound: without one as far away as numbers go, since shaders need not know infinity.
fn bound<R: Real>(x: f64) -> R {
    R::of(x).max(-R::MAX).min(R::MAX)
}

impl<R: Real> Layout<R> {
    /// One whose colours count what impulses do not move, or not.
    pub fn new(counts_fixed: bool) -> Self {
        Self {
            counts_fixed,
            ..Self::default()
        }
    }

    /// Takes over a packed problem whose laws the kernels all have, with its start.
    pub fn fill(&mut self, packed: &Packed, lambda: &[f64]) {
        self.fill_contacts(packed);
        self.fill_rows(packed);
        self.fill_bodies(packed);
        self.sparse.clear();
        self.dense.clear();
        self.units.clear();
        self.colors.clear();
        self.order.clear();
        self.lambda.clear();
        self.lambda.extend(lambda.iter().map(|x| R::of(*x)));
    }

    /// Cuts the contacts into pieces of at most `most`, whole workgroups each. A unit lies in the piece of its first contact,
    /// and reaches beyond it by a few.
    pub fn cut_contacts(&mut self, most: usize) {
        let contacts = self.prox.len() as u32;
        let size = u32::try_from(most).unwrap_or(u32::MAX) & !(WORKGROUP - 1);
        self.pieces.clear();
        let mut first = 0u32;
        loop {
            let end = contacts.min(first.saturating_add(size.max(WORKGROUP)));
            self.pieces.push(first..end);
            first = end;
            if first == contacts {
                return;
            }
        }
    }

    /// Brings contacts into the order of colours, so that a colour reads them one after the other.
    pub fn sort_by_colors(&mut self) {
        self.places.clear();
        for unit in self.units.iter_mut().filter(|unit| unit[0] & ROWS == 0) {
            let [first, count] = *unit;
            unit[0] = self.places.len() as u32;
            self.places.extend(first..first + count);
        }
        let places = self.places.par_iter().map(|c| *c as usize);
        let prox = places.clone().map(|c| self.prox[c]);
        prox.collect_into_vec(&mut self.sorted_prox);
        let frames = places.map(|c| self.frames[c]);
        frames.collect_into_vec(&mut self.sorted_frames);
        std::mem::swap(&mut self.prox, &mut self.sorted_prox);
        std::mem::swap(&mut self.frames, &mut self.sorted_frames);
    }

    /// Impulses in the order of contacts, three each, and those of general rows behind them.
    pub fn number_impulses(&mut self) {
        let contacts = self.prox.par_iter_mut().enumerate();
        let old = contacts.map(|(c, contact)| {
            let old = contact.at;
            contact.at = 3 * c as u32;
            [old, old + 1, old + 2]
        });
        self.order.clear();
        self.order.par_extend(old.flatten_iter());
        for row in &mut self.rows {
            let at = self.order.len() as u32;
            self.order.push(row.at);
            row.at = at;
        }
        let order = self.order.par_iter();
        let lambda = order.map(|at| self.lambda[*at as usize]);
        lambda.collect_into_vec(&mut self.sorted_lambda);
        std::mem::swap(&mut self.lambda, &mut self.sorted_lambda);
    }

    /// The dispatches of one colour without T: contacts ascend within it, so that each piece has a run of its units.
    pub fn sweep_steps(&self, color: Range<u32>) -> impl Iterator<Item = Step> + '_ {
        let units = &self.units[color.start as usize..color.end as usize];
        let is_of_rows = units.first().is_some_and(|unit| unit[0] & ROWS != 0);
        let to = move |contact: u32| units.partition_point(|unit| unit[0] < contact) as u32;
        let pieces = self
            .pieces
            .iter()
            .take(if is_of_rows { 1 } else { usize::MAX });
        let steps = pieces.map(move |piece| {
            let [begin, end] = match is_of_rows {
                true => [0, units.len() as u32],
                false => [to(piece.start), to(piece.end)],
            };
            let step = Step::new(Kernel::SorSweep, color.start + begin, end - begin).of(piece);
            let own = &units[begin as usize..end as usize];
            match own.first() {
                Some([first, _]) if own.iter().all(|[c, n]| c & ROWS == 0 && *n == 1) => Step {
                    others: first + 1,
                    ..step
                },
                _ => step,
            }
        });
        steps.filter(|step| step.count > 0)
    }

    /// Contacts and general rows.
    pub fn blocks(&self) -> u32 {
        (self.prox.len() + self.rows.len()) as u32
    }

    fn fill_contacts(&mut self, packed: &Packed) {
        let read = |c: usize, island: &mut usize| -> (Prox<R>, Frame<R>) {
            // The island of the last one, most often.
            if !packed.contacts_of(*island).contains(&c) {
                *island = packed
                    .contact_start
                    .partition_point(|start| *start as usize <= c)
                    - 1;
            }
            let island = *island;
            let base = packed.body_start[island];
            let first = packed.lambda_start[island];
            let contact = &packed.contacts[c];
            let extra = packed.extra.get(c);
            let law = extra.and_then(|e| law_number(e.friction.law)).unwrap_or(0);
            let block = c as u32 + packed.row_start[island];
            let prox = Prox {
                mu: extra.map_or([contact.mu; 2], |e| e.friction.mu).map(R::of),
                r: contact.r.map(R::of),
                coupling: contact.coupling.map(R::of),
                omega: packed.omega[0].get(c).map_or(R::ONE, |x| R::of(*x)),
                bias: R::of(contact.bias[2]),
                compliance: extra.map_or([R::ZERO; 2], |e| e.compliance.map(R::of)),
                at: first + packed.block(island, c).start as u32,
                block: block | law << LAW_SHIFT,
                ..Prox::default()
            };
            let frame = Frame {
                normal: narrow(contact.frame.normal),
                first: base + contact.bodies[0],
                tangent: narrow(contact.frame.tangent),
                second: base + contact.bodies[1],
                first_arm: narrow(contact.frame.arms[0]),
                normal_bias: R::of(contact.bias[0]),
                second_arm: narrow(contact.frame.arms[1]),
                tangent_bias: R::of(contact.bias[1]),
                ..Frame::default()
            };
            (prox, frame)
        };
        let count = packed.contacts.len();
        self.prox.resize(count, Prox::default());
        self.frames.resize(count, Frame::default());
        let chunks = self.prox.par_chunks_mut(CHUNK);
        let chunks = chunks.zip(self.frames.par_chunks_mut(CHUNK)).enumerate();
        chunks.for_each(|(k, (prox, frames))| {
            let mut island = 0;
            for (c, (prox, frame)) in (k * CHUNK..).zip(prox.iter_mut().zip(frames)) {
                (*prox, *frame) = read(c, &mut island);
            }
        });
    }

    fn fill_rows(&mut self, packed: &Packed) {
        self.rows.clear();
        self.entries.clear();
        for island in 0..packed.islands() {
            let base = packed.body_start[island];
            let first = packed.lambda_start[island] + packed.first_row(island) as u32;
            let rows = packed.rows_of(island);
            for r in rows.clone() {
                let row = &packed.rows[r];
                let begin = self.entries.len() as u32;
                for entry in packed.entries(row) {
                    self.entries.push(Entry {
                        linear: narrow(entry.jacobian.linear),
                        body: base + entry.body,
                        angular: narrow(entry.jacobian.angular),
                        ..Entry::default()
                    });
                }
                self.rows.push(Row {
                    bounds: row.bounds.map(bound),
                    bias: R::of(row.bias),
                    compliance: R::of(row.compliance),
                    r: R::of(row.r),
                    omega: packed.omega[1].get(r).map_or(R::ONE, |x| R::of(*x)),
                    at: first + (r - rows.start) as u32,
                    block: r as u32 + packed.contact_start[island + 1],
                    entries: [begin, self.entries.len() as u32],
                    spare: [R::ZERO; 2],
                });
            }
        }
    }

    fn fill_bodies(&mut self, packed: &Packed) {
        let read = |k: usize| -> Body<R> {
            let Twist { linear, angular } = packed.free[k];
            let inertia = &packed.template[k].inverse_inertia;
            Body {
                linear: narrow(linear),
                inverse_mass: R::of(packed.template[k].inverse_mass),
                angular: narrow(angular),
                moves: R::ONE,
                diagonal: [inertia.xx, inertia.yy, inertia.zz].map(R::of),
                spare: R::ZERO,
                across: [inertia.xy, inertia.xz, inertia.yz].map(R::of),
                spare_too: R::ZERO,
            }
        };
        let bodies = (0..packed.template.len()).into_par_iter();
        bodies.map(read).collect_into_vec(&mut self.bodies);
        let free = self.bodies.par_iter().map(|body| {
            let [u, w] = [body.linear, body.angular];
            [u[0], u[1], u[2], R::ZERO, w[0], w[1], w[2], R::ZERO]
        });
        free.collect_into_vec(&mut self.free);
        for end in packed.body_start.iter().skip(1) {
            self.bodies[*end as usize - 1].moves = R::ZERO;
        }
    }

    /// What acts on each body, for sums over bodies in a fixed order.
    pub fn find_touches(&mut self) {
        let bodies = self.bodies.len();
        let mut next = vec![0u32; bodies + 1];
        let sides = |frame: &Frame<R>| [frame.first, frame.second];
        let all = self.frames.iter().flat_map(sides);
        for body in all.chain(self.entries.iter().map(|e| e.body)) {
            next[body as usize + 1] += 1;
        }
        // Two words each, behind the starts.
        next[0] = bodies as u32 + 1;
        for b in 0..bodies {
            let moves = self.bodies[b].moves();
            next[b + 1] = next[b] + if moves { 2 * next[b + 1] } else { 0 };
        }
        self.touches.clear();
        self.touches.extend_from_slice(&next);
        self.touches.resize(next[bodies] as usize, 0);
        let (bodies, touches) = (&self.bodies, &mut self.touches);
        let mut push = |body: u32, block: u32, side: u32| {
            if bodies[body as usize].moves() {
                let at = next[body as usize] as usize;
                touches[at..at + 2].copy_from_slice(&[block, side]);
                next[body as usize] += 2;
            }
        };
        for (c, frame) in self.frames.iter().enumerate() {
            push(frame.first, c as u32, 0);
            push(frame.second, c as u32, 1);
        }
        for (r, row) in self.rows.iter().enumerate() {
            for entry in row.entries[0]..row.entries[1] {
                push(self.entries[entry as usize].body, r as u32 | ROWS, entry);
            }
        }
    }

    /// Colours contacts of the same two bodies, and rows on the same bodies, as one unit each; rows come first.
    pub fn find_colors(&mut self, most_points: u32) {
        self.units.clear();
        self.colors.clear();
        for of_rows in [true, false] {
            self.find_edges(of_rows, most_points);
            let known = &mut self.colorings[usize::from(!of_rows)];
            // They follow from the edges alone, so that those of the last solve may serve.
            if known.edges != self.edges || known.bodies != self.bodies.len() {
                known.bodies = self.bodies.len();
                known.coloring.clear();
                known
                    .coloring
                    .update(known.bodies, &self.keys, &self.edges, Strategy::Greedy);
                std::mem::swap(&mut known.edges, &mut self.edges);
            }
            let coloring = &known.coloring;
            let colors = coloring.colors();
            let mut next = Vec::with_capacity(coloring.counts().len());
            let mut end = self.units.len() as u32;
            for count in coloring.counts() {
                next.push(end);
                if *count > 0 {
                    self.colors.push(end..end + count);
                }
                end += count;
            }
            self.units.resize(end as usize, [0; 2]);
            for (unit, color) in self.found.iter().zip(colors) {
                let at = &mut next[*color as usize];
                self.units[*at as usize] = *unit;
                *at += 1;
            }
        }
    }

    fn find_edges(&mut self, of_rows: bool, most_points: u32) {
        self.edges.clear();
        self.keys.clear();
        self.found.clear();
        let count = if of_rows {
            self.rows.len()
        } else {
            self.frames.len()
        };
        let mut last = [NO_BODY; 4];
        let mut last_segment = 0;
        for k in 0..count {
            let mut edge = [NO_BODY; 4];
            let mut n = 0;
            let mut add = |body: u32| {
                let counts = self.counts_fixed || self.bodies[body as usize].moves();
                if counts && !edge[..n].contains(&body) {
                    edge[n] = body;
                    n += 1;
                }
            };
            if of_rows {
                let [begin, end] = self.rows[k].entries;
                let entries = &self.entries[begin as usize..end as usize];
                entries.iter().for_each(|e| add(e.body));
            } else {
                add(self.frames[k].first);
                add(self.frames[k].second);
            }
            // Points of one unit name their two bodies in the same order; rows of one unit, the same bodies.
            edge.sort_unstable();
            let same = if of_rows {
                edge
            } else {
                let frame = &self.frames[k];
                [frame.first, frame.second, NO_BODY, NO_BODY]
            };
            let flag = if of_rows { ROWS } else { 0 };
            let segment = self.segment_of(self.block_of([k as u32 | flag, 1]));
            let goes_on = same == last && segment == last_segment;
            last_segment = segment;
            match self.found.last_mut() {
                Some([_, many]) if goes_on && (of_rows || *many < most_points) => *many += 1,
                _ => {
                    self.found.push([k as u32 | flag, 1]);
                    self.edges.push(edge);
                    self.keys.push(k as u64);
                }
            }
            last = same;
        }
    }

    /// The blocks as they follow each other in A, with the first impulse of each, and the diagonal blocks of a dense sweep:
    /// runs of them of at most `most` rows, which none of the segments of T cuts.
    pub fn find_diagonal_blocks(&mut self, most: u32) {
        self.find_blocks();
        let (mut first, mut begin) = (0, 0);
        for (k, [unit, at]) in self.units.iter().enumerate() {
            let end = at + if unit & ROWS == 0 { 3 } else { 1 };
            if end - begin > most {
                self.colors.push(first..k as u32);
                (first, begin) = (k as u32, *at);
            }
        }
        if !self.units.is_empty() {
            self.colors.push(first..self.units.len() as u32);
        }
    }

    fn find_blocks(&mut self) {
        let contacts = self.prox.iter().zip(0..).map(|(c, k)| [k, c.at]);
        let rows = self.rows.iter().zip(0..).map(|(r, k)| [k | ROWS, r.at]);
        self.units.clear();
        self.units.extend(contacts.chain(rows));
        self.units.sort_unstable_by_key(|[_, at]| *at);
        self.colors.clear();
    }

    /// The blocks as they follow each other in A, in groups of at most `most` that are projected together.
    pub fn find_groups(&mut self, most: u32) {
        self.find_blocks();
        let blocks = self.units.len() as u32;
        let groups = (0..blocks).step_by(most.max(1) as usize);
        let groups = groups.map(|first| first..blocks.min(first.saturating_add(most.max(1))));
        self.colors.extend(groups);
    }

    /// Each row of T as a whole begins with its group, of which no block sees another.
    pub fn start_with_groups(&mut self) {
        for units in &self.colors {
            let rows = self.rows_of(units);
            self.dense.column[rows.start as usize..rows.end as usize].fill(rows.start);
        }
    }

    /// The contacts and the general rows among some blocks as they follow each other in A.
    pub fn members(&self, units: &Range<u32>) -> [Range<u32>; 2] {
        let units = &self.units[units.start as usize..units.end as usize];
        [0, ROWS].map(|kind| {
            // They follow each other, in groups as in A.
            let mut of_kind = units.iter().filter(|[unit, _]| unit & ROWS == kind);
            let count = of_kind.clone().count() as u32;
            let first = of_kind.next().map_or(0, |[unit, _]| unit & !ROWS);
            first..first + count
        })
    }

    /// The rows of a diagonal block.
    pub fn rows_of(&self, units: &Range<u32>) -> Range<u32> {
        let begin = self.units[units.start as usize][1];
        let [unit, at] = self.units[units.end as usize - 1];
        begin..at + if unit & ROWS == 0 { 3 } else { 1 }
    }

    /// The block of A of a unit's first member.
    fn block_of(&self, unit: [u32; 2]) -> u32 {
        let k = (unit[0] & !ROWS) as usize;
        if unit[0] & ROWS == 0 {
            self.prox[k].block & !(3 << LAW_SHIFT)
        } else {
            self.rows[k].block
        }
    }

    /// The segment of T that holds a block row: none where there is no T.
    fn segment_of(&self, block: u32) -> usize {
        let segments = &self.sparse.segments;
        segments.partition_point(|(blocks, _)| blocks.end <= block)
    }

    /// The dispatches of one colour with T: units ascend within it, so that each segment has a run of them.
    pub fn sparse_steps(&self, color: Range<u32>) -> impl Iterator<Item = Step> + '_ {
        let units = &self.units[color.start as usize..color.end as usize];
        let to = |block: u32| units.partition_point(|unit| self.block_of(*unit) < block) as u32;
        let segments = self.sparse.segments.iter().zip(0..);
        let steps = segments.map(move |((blocks, _), segment)| {
            let [begin, end] = [to(blocks.start), to(blocks.end)];
            Step::new(Kernel::SorSparse, color.start + begin, end - begin).with(segment)
        });
        steps.filter(|step| step.count > 0)
    }

    /// Whether every number fits into single precision, in which kernels tell numbers from none; a projection would hide one
    /// that does not.
    pub fn is_finite(&self) -> bool {
        fn all<R: Real>(words: &[R]) -> bool {
            words.iter().all(|x| (x.wide() as f32).is_finite())
        }
        let contacts = self.prox.par_iter().all(|p| {
            let ([a, b], [c, d]) = ([p.mu, p.r], [p.coupling, p.compliance]);
            all(&[a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1], p.bias])
        });
        let frames = self.frames.par_iter().all(|f| {
            let [a, b, c, d] = [f.normal, f.tangent, f.first_arm, f.second_arm];
            all(&a) && all(&b) && all(&c) && all(&d) && all(&[f.normal_bias + f.tangent_bias])
        });
        let rows = self.rows.iter();
        let rows = rows.map(|r| [r.bias, r.compliance, r.r]).all(|r| all(&r));
        let entries = self.entries.iter();
        let entries = entries
            .map(|e| [e.linear, e.angular])
            .all(|e| all(&e[0]) && all(&e[1]));
        let bodies = self.bodies.iter().all(|body| {
            let [a, b, c, d] = [body.linear, body.angular, body.diagonal, body.across];
            all(&a) && all(&b) && all(&c) && all(&d) && all(&[body.inverse_mass])
        });
        let sparse = all(&self.sparse.value) && all(&self.sparse.offset);
        let matrices = sparse && all(&self.dense.value) && all(&self.dense.offset);
        contacts && frames && rows && entries && bodies && matrices && all(&self.lambda)
    }
}
