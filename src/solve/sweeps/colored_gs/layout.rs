//! The order of a coloured sweep: which contacts fill which lanes.
//!
//! Its levels, from the outside: a *batch* of islands has a monitor of its own; a large island is a batch
//! by itself and its colours are swept in parallel, small batches are swept as a whole beside each other.
//! A *colour* of a batch is divided into *work blocks*, one task each. A work block holds *wide manifolds*,
//! sixteen manifolds with the same number of points, one per lane, and then *scalar edges*, which fill no
//! lane. A wide manifold's *wide points* are the first, second … contact of its manifolds.

use std::ops::Range;

use rayon::prelude::*;

use super::LANES;
use super::edges::{Edges, Kind, MOST_POINTS};
use crate::problem::Problem;
use crate::problem::islands::{Grouped, span};
use crate::solve::NO_COLOR;
use crate::solve::sweeps::block::Span;
use crate::solve::sweeps::color::{Coloring, Strategy};

/// Stands for no contact in a lane.
pub const EMPTY: u32 = u32::MAX;

/// Islands with together fewer edges than this share a batch.
const SMALL: usize = 512;
/// Batches with at least this many edges are swept colour by colour in parallel.
pub const LARGE: usize = 4096;
/// Wide points per work block.
const BLOCK_POINTS: u32 = 96;
/// Scalar edges per work block.
const BLOCK_EDGES: usize = 128;

/// Sixteen manifolds of one colour.
#[derive(Clone, Copy, Debug)]
pub struct WideManifold {
    /// First and second body of each lane; bodies that impulses do not move, and lanes without a
    /// manifold, name the dummy of the work block.
    pub bodies: [[u32; LANES]; 2],
    /// Its wide points.
    pub points: Span,
}

/// What one task sweeps: wide manifolds, then scalar edges, of one colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkBlock {
    pub manifolds: Span,
    pub scalar: Span,
}

/// Islands that are iterated together.
#[derive(Clone, Copy, Debug, Default)]
pub struct IslandBatch {
    pub colors: Span,
    /// The scalar edges of its unsafe colour, solved last.
    pub unsafe_edges: Span,
    /// Whether its colours are swept in parallel.
    pub is_large: bool,
}

/// The whole order. Keeps its memory, and itself where nothing changed.
#[derive(Default)]
pub struct Layout {
    pub batches: Vec<IslandBatch>,
    /// The work blocks of each colour of each batch.
    pub colors: Vec<Span>,
    pub work: Vec<WorkBlock>,
    pub manifolds: Vec<WideManifold>,
    /// The problem's contact in each lane of each wide point, or [`EMPTY`].
    pub points: Vec<[u32; LANES]>,
    /// The scalar edges.
    pub scalar: Vec<u32>,
    /// Place of each contact: wide point × 16 + lane, or [`EMPTY`].
    pub place: Vec<u32>,
    /// Dummies behind the bodies: one for each work block that may run beside others.
    pub dummies: usize,
    /// Contacts and rows of each colour, and of the unsafe colour behind them.
    pub counts: Vec<u32>,
    /// The same with every colour as it is, of all batches together.
    total: Vec<u32>,
    pub edges: Edges,
    /// Number of bodies of the last call; none before the first.
    of_bodies: Option<usize>,
    batch_of_island: Vec<u32>,
    /// The edges by batch × number of colours + colour, without those that are in no island.
    sorted: Grouped,
}

/// The inner parts that a run of outer parts holds: from where the first of them begins to where the one
/// behind begins, or to the end of all `inner` ones. Where three outer parts hold 0..2, 2..5 and 5..9, the
/// run 1..3 holds 2..9.
fn parts_between<T>(
    run: Range<usize>,
    outer: &[T],
    inner: usize,
    of: fn(&T) -> Span,
) -> Range<usize> {
    let first = |k: usize| outer.get(k).map_or(inner, |part| of(part).range().start);
    first(run.start)..first(run.end)
}

/// Finds the batch of each island, islands in a row until there are enough edges, and returns how many there are.
pub fn batches_of(problem: &Problem, batch_of_island: &mut Vec<u32>) -> usize {
    let islands = &problem.islands;
    batch_of_island.clear();
    let (mut batches, mut edges) = (0, 0);
    for island in 0..islands.len() {
        let of_island = islands.contacts.of(island).len() + islands.rows.of(island).len();
        if of_island >= SMALL && edges > 0 {
            (batches, edges) = (batches + 1, 0);
        }
        edges += of_island;
        batch_of_island.push(batches);
        if edges >= SMALL {
            (batches, edges) = (batches + 1, 0);
        }
    }
    batches as usize + usize::from(edges > 0)
}

impl Layout {
    /// The work blocks of a batch.
    pub fn work_of(&self, batch: &IslandBatch) -> Range<usize> {
        let colors = batch.colors.range();
        parts_between(colors, &self.colors, self.work.len(), |color| *color)
    }

    /// The wide manifolds of a batch.
    pub fn manifolds_of(&self, batch: &IslandBatch) -> Range<usize> {
        let (work, count) = (self.work_of(batch), self.manifolds.len());
        parts_between(work, &self.work, count, |block| block.manifolds)
    }

    /// The wide points of a batch.
    pub fn points_of(&self, batch: &IslandBatch) -> Range<usize> {
        let (manifolds, count) = (self.manifolds_of(batch), self.points.len());
        parts_between(manifolds, &self.manifolds, count, |manifold| {
            manifold.points
        })
    }

    /// The scalar edges of a batch, those of its unsafe colour behind the others.
    pub fn scalar_of(&self, batch: &IslandBatch) -> Range<usize> {
        let first = self.work[self.work_of(batch)].first();
        let unsafe_edges = batch.unsafe_edges.range();
        first.map_or(unsafe_edges.start, |block| block.scalar.range().start)..unsafe_edges.end
    }

    /// Colours the problem's edges, with colours `kept` from the last time or from nothing, and lays
    /// them out; those with fewer contacts than `threshold` merged into one unsafe colour (Poulsen 2010,
    /// 4.3 and 7.2). Where the edges are those of the last time, everything stays.
    pub fn update(
        &mut self,
        problem: &Problem,
        coloring: &mut Coloring,
        kept: bool,
        strategy: Strategy,
        threshold: u32,
        kind: Kind,
    ) {
        let is_new = self.edges.update(problem, kind);
        let bodies = problem.bodies.len();
        if self.of_bodies == Some(bodies) && !is_new {
            return;
        }
        self.of_bodies = Some(bodies);
        if !kept {
            coloring.clear();
        }
        coloring.update(bodies, &self.edges.name, self.edges.colored(), strategy);
        self.find_batches(problem);
        self.sort_edges(coloring);
        self.fill(problem, threshold);
    }

    /// Calls `step` with every work block of the batches that run, and its batch: those of large batches
    /// colour by colour, each colour on all threads; small batches beside each other, each on one thread.
    pub fn each_block(
        &self,
        runs: impl Fn(usize) -> bool + Sync,
        step: impl Fn(usize, usize) + Sync,
    ) {
        let batches = self.batches.iter().enumerate();
        for (b, batch) in batches.filter(|(b, batch)| batch.is_large && runs(*b)) {
            for color in &self.colors[batch.colors.range()] {
                let work = color.range();
                if work.len() == 1 {
                    step(b, work.start);
                } else {
                    work.into_par_iter().for_each(|block| step(b, block));
                }
            }
        }
        let small = |b: usize| {
            let batch = &self.batches[b];
            if !batch.is_large && runs(b) {
                self.work_of(batch).for_each(|block| step(b, block));
            }
        };
        match self.batches.len() {
            1 => small(0),
            n => (0..n).into_par_iter().for_each(small),
        }
    }

    /// The colour in which each contact is swept, as [`Layout::counts`] counts them; none before there is a problem.
    /// Those with fewer contacts than `threshold` are the one behind the others.
    pub fn contact_colors(&self, threshold: u32) -> Option<Vec<u32>> {
        self.of_bodies?;
        let mut found = vec![NO_COLOR; self.place.len()];
        let colors = self.total.len();
        for (key, edges) in (0..self.batches.len() * colors).map(|key| (key, self.sorted.of(key))) {
            let own = key % colors;
            let color = if self.total[own] >= threshold {
                own
            } else {
                colors
            };
            let members = edges.iter().map(|e| self.edges.members[*e as usize]);
            for members in members.filter(|members| !members.are_rows) {
                found[members.span.range()].fill(color as u32);
            }
        }
        Some(found)
    }

    /// Lays everything out anew the next time.
    pub fn forget(&mut self) {
        self.of_bodies = None;
    }

    fn find_batches(&mut self, problem: &Problem) {
        let count = batches_of(problem, &mut self.batch_of_island);
        self.batches.clear();
        self.batches.resize(count, IslandBatch::default());
    }

    fn sort_edges(&mut self, coloring: &Coloring) {
        let colors = coloring.counts().len();
        let edges = &self.edges;
        self.total.clear();
        self.total.resize(colors, 0);
        for (members, color) in edges.members.iter().zip(coloring.colors()) {
            self.total[*color as usize] += members.span.len();
        }
        let batch_of_island = &self.batch_of_island;
        let keyed = edges.island.iter().zip(coloring.colors()).zip(0..);
        let keyed = keyed.filter_map(|((island, color), edge)| {
            let batch = batch_of_island.get(*island as usize)?;
            Some((batch * colors as u32 + color, edge))
        });
        self.sorted.fill(self.batches.len() * colors, keyed);
    }

    /// The sorted edges into lanes, colour by colour.
    fn fill(&mut self, problem: &Problem, threshold: u32) {
        let colors = self.total.len();
        self.counts.clear();
        self.counts.resize(colors + 1, 0);
        self.colors.clear();
        self.work.clear();
        self.manifolds.clear();
        self.points.clear();
        self.scalar.clear();
        self.place.clear();
        self.place.resize(problem.contacts.len(), EMPTY);
        self.dummies = self.batches.len();
        let mut order = std::mem::take(&mut self.sorted.items);
        for batch in 0..self.batches.len() {
            let first = batch * colors;
            let edges = self.sorted.start[first + colors] - self.sorted.start[first];
            let is_large = edges as usize >= LARGE;
            let is_safe = |layout: &Self, color: usize| layout.total[color] >= threshold;
            let first_color = self.colors.len();
            for color in 0..colors {
                if is_safe(self, color) {
                    let members = &mut order[span(&self.sorted.start, first + color)];
                    self.push_color(problem, color, members, (!is_large).then_some(batch));
                }
            }
            let first_unsafe = self.scalar.len();
            for color in 0..colors {
                if !is_safe(self, color) {
                    for e in &order[span(&self.sorted.start, first + color)] {
                        self.counts[colors] += self.edges.members[*e as usize].span.len();
                        self.scalar.push(*e);
                    }
                }
            }
            self.batches[batch] = IslandBatch {
                colors: Span::new(first_color, self.colors.len()),
                unsafe_edges: Span::new(first_unsafe, self.scalar.len()),
                is_large,
            };
        }
        while self.counts.last() == Some(&0) {
            self.counts.pop();
        }
        self.sorted.items = order;
    }

    /// One colour of a batch, in work blocks. Those of a small batch share its dummy; those of a large one,
    /// `small_batch` is none, run beside each other.
    fn push_color(
        &mut self,
        problem: &Problem,
        color: usize,
        members: &mut [u32],
        small_batch: Option<usize>,
    ) {
        let edges = &self.edges;
        let size: u32 = members
            .iter()
            .map(|e| edges.members[*e as usize].span.len())
            .sum();
        if size == 0 {
            return;
        }
        self.counts[color] += size;
        // Edges that fill lanes first, those with many points before those with few.
        members.sort_by_key(|e| {
            let e = *e as usize;
            let points = edges.members[e].span.len().min(MOST_POINTS);
            (!edges.is_plain[e], MOST_POINTS - points)
        });
        let plain = members.partition_point(|e| edges.is_plain[*e as usize]);
        let (lanes, scalar) = members.split_at(plain);
        let is_large = small_batch.is_none();
        let first_block = self.work.len();
        let mut open = self.packed();
        let mut points = 0;
        for chunk in lanes.chunks(LANES) {
            if is_large && points >= BLOCK_POINTS {
                open = self.close_block(open);
                points = 0;
            }
            let dummy = small_batch.unwrap_or(self.work.len() - first_block);
            points += self.push_manifold(problem, chunk, (problem.bodies.len() + dummy) as u32);
        }
        for chunk in scalar.chunks(BLOCK_EDGES) {
            if is_large && points >= BLOCK_POINTS / 2 {
                open = self.close_block(open);
            }
            points = BLOCK_POINTS;
            self.scalar.extend_from_slice(chunk);
        }
        self.close_block(open);
        self.dummies = self.dummies.max(self.work.len() - first_block);
        self.colors.push(Span::new(first_block, self.work.len()));
    }

    /// How many manifolds and scalar edges there are so far.
    fn packed(&self) -> [usize; 2] {
        [self.manifolds.len(), self.scalar.len()]
    }

    /// Makes a work block of what came since `open`; the next one begins at what it returns.
    fn close_block(&mut self, open: [usize; 2]) -> [usize; 2] {
        let end = self.packed();
        self.work.push(WorkBlock {
            manifolds: Span::new(open[0], end[0]),
            scalar: Span::new(open[1], end[1]),
        });
        end
    }

    /// One wide manifold from up to sixteen edges, the one with most points first. Returns its points.
    fn push_manifold(&mut self, problem: &Problem, members: &[u32], dummy: u32) -> u32 {
        let first_point = self.points.len();
        let points = self.edges.members[members[0] as usize].span.len();
        self.points
            .resize(first_point + points as usize, [EMPTY; LANES]);
        let mut bodies = [[dummy; LANES]; 2];
        for (lane, e) in members.iter().enumerate() {
            let contacts = self.edges.members[*e as usize].span.range();
            let pair = problem.contacts.bodies[contacts.start];
            for (side, b) in pair.into_iter().enumerate() {
                if problem.bodies.is_dynamic(b as usize) {
                    bodies[side][lane] = b;
                }
            }
            for (k, c) in contacts.enumerate() {
                self.points[first_point + k][lane] = c as u32;
                self.place[c] = ((first_point + k) * LANES + lane) as u32;
            }
        }
        self.manifolds.push(WideManifold {
            bodies,
            points: Span::new(first_point, self.points.len()),
        });
        points
    }
}
