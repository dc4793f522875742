//! The order of a coloured sweep: which contacts fill which lanes.
//!
//! Its levels, from the outside: a *batch* of islands has a monitor of its own; a large island is a batch
//! by itself and its colours are swept in parallel, small batches are swept as a whole beside each other.
//! A *colour* of a batch is divided into *work blocks*, one task each. A work block holds *wide manifolds*,
//! sixteen manifolds with the same number of points, one per lane, and then *scalar edges*, which fill no
//! lane. A wide manifold's *wide points* are the first, second … contact of its manifolds.

use std::ops::Range;

use super::LANES;
use super::edges::{Edges, MOST_POINTS, Members};
use crate::problem::Problem;
use crate::problem::islands::{Grouped, span};
use crate::solve::prox::color::{Coloring, Strategy};

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

/// How small colours are treated (Poulsen 2010, 4.3 and 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// Colours with fewer contacts are merged into one unsafe colour; 0 keeps every colour.
    pub threshold: u32,
}

/// Sixteen manifolds of one colour.
#[derive(Clone, Copy, Debug)]
pub struct WideManifold {
    /// First and second body of each lane; bodies that impulses do not move, and lanes without a
    /// manifold, name the dummy of the work block.
    pub bodies: [[u32; LANES]; 2],
    points: [u32; 2],
}

/// What one task sweeps: wide manifolds, then scalar edges, of one colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkBlock {
    manifolds: [u32; 2],
    scalar: [u32; 2],
}

/// One colour of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchColor {
    work: [u32; 2],
}

/// Islands that are iterated together.
#[derive(Clone, Copy, Debug, Default)]
pub struct IslandBatch {
    colors: [u32; 2],
    unsafe_edges: [u32; 2],
    /// Whether its colours are swept in parallel.
    pub is_large: bool,
}

/// The whole order. Keeps its memory, and itself where nothing changed.
#[derive(Default)]
pub struct Layout {
    pub batches: Vec<IslandBatch>,
    pub colors: Vec<BatchColor>,
    pub work: Vec<WorkBlock>,
    pub manifolds: Vec<WideManifold>,
    /// The problem's contact in each lane of each wide point, or [`EMPTY`].
    pub points: Vec<[u32; LANES]>,
    /// The scalar edges.
    pub scalar: Vec<Members>,
    /// Contacts of scalar edges.
    pub scalar_contacts: Vec<u32>,
    /// Place of each contact: wide point × 16 + lane, or [`EMPTY`].
    pub place: Vec<u32>,
    /// Dummies behind the bodies: one for each work block that may run beside others.
    pub dummies: usize,
    /// Contacts and rows of each colour, and of the unsafe colour behind them.
    pub counts: Vec<u32>,
    /// The same with every colour as it is, of all batches together.
    total: Vec<u32>,
    edges: Edges,
    old_edges: Edges,
    /// Number of bodies of the last call; none before the first.
    of_bodies: Option<usize>,
    batch_of_island: Vec<u32>,
    /// The edges by batch × number of colours + colour, without those that are in no island.
    sorted: Grouped,
}

fn range(of: [u32; 2]) -> Range<usize> {
    of[0] as usize..of[1] as usize
}

impl IslandBatch {
    /// Its colours.
    pub fn colors(&self) -> Range<usize> {
        range(self.colors)
    }

    /// The scalar edges of its unsafe colour, solved last.
    pub fn unsafe_edges(&self) -> Range<usize> {
        range(self.unsafe_edges)
    }
}

impl BatchColor {
    /// Its work blocks.
    pub fn work(&self) -> Range<usize> {
        range(self.work)
    }
}

impl WorkBlock {
    /// Its wide manifolds.
    pub fn manifolds(&self) -> Range<usize> {
        range(self.manifolds)
    }

    /// Its scalar edges.
    pub fn scalar(&self) -> Range<usize> {
        range(self.scalar)
    }
}

impl WideManifold {
    /// Its wide points.
    pub fn points(&self) -> Range<usize> {
        range(self.points)
    }
}

impl Layout {
    /// The work blocks of a batch.
    pub fn work_of(&self, batch: &IslandBatch) -> Range<usize> {
        let first = |k: usize| {
            let color = self.colors.get(k);
            color.map_or(self.work.len(), |color| color.work().start)
        };
        first(batch.colors().start)..first(batch.colors().end)
    }

    /// The wide manifolds of a batch.
    pub fn manifolds_of(&self, batch: &IslandBatch) -> Range<usize> {
        let work = self.work_of(batch);
        let first = |k: usize| {
            let block = self.work.get(k);
            block.map_or(self.manifolds.len(), |block| block.manifolds().start)
        };
        first(work.start)..first(work.end)
    }

    /// The wide points of a batch.
    pub fn points_of(&self, batch: &IslandBatch) -> Range<usize> {
        let manifolds = self.manifolds_of(batch);
        let first = |k: usize| {
            let manifold = self.manifolds.get(k);
            manifold.map_or(self.points.len(), |manifold| manifold.points().start)
        };
        first(manifolds.start)..first(manifolds.end)
    }

    /// The scalar edges of a batch, those of its unsafe colour behind the others.
    pub fn scalar_of(&self, batch: &IslandBatch) -> Range<usize> {
        let first = self.work[self.work_of(batch)].first();
        let unsafe_edges = batch.unsafe_edges();
        first.map_or(unsafe_edges.start, |block| block.scalar().start)..unsafe_edges.end
    }

    /// Colours the problem's edges, with colours `kept` from the last time or from nothing, and lays
    /// them out. Where the edges are those of the last time, everything stays.
    pub fn update(
        &mut self,
        problem: &Problem,
        coloring: &mut Coloring,
        kept: bool,
        strategy: Strategy,
        treatment: Treatment,
    ) {
        std::mem::swap(&mut self.edges, &mut self.old_edges);
        self.edges.find(problem);
        let bodies = problem.bodies.len();
        if self.of_bodies == Some(bodies) && self.edges == self.old_edges {
            return;
        }
        self.of_bodies = Some(bodies);
        if !kept {
            coloring.clear();
        }
        coloring.update(bodies, &self.edges.name, &self.edges.bodies, strategy);
        self.find_batches(problem);
        self.sort_edges(coloring);
        self.fill(problem, treatment);
    }

    /// Lays everything out anew the next time.
    pub fn forget(&mut self) {
        self.of_bodies = None;
    }

    /// Islands in a row until there are enough edges.
    fn find_batches(&mut self, problem: &Problem) {
        let islands = &problem.islands;
        self.batches.clear();
        self.batch_of_island.clear();
        let mut edges = 0;
        for island in 0..islands.len() {
            let of_island = islands.contacts.of(island).len() + islands.rows.of(island).len();
            if of_island >= SMALL && edges > 0 {
                self.batches.push(IslandBatch::default());
                edges = 0;
            }
            edges += of_island;
            self.batch_of_island.push(self.batches.len() as u32);
            if edges >= SMALL {
                self.batches.push(IslandBatch::default());
                edges = 0;
            }
        }
        if edges > 0 {
            self.batches.push(IslandBatch::default());
        }
    }

    fn sort_edges(&mut self, coloring: &Coloring) {
        let colors = coloring.counts().len();
        let edges = &self.edges;
        self.total.clear();
        self.total.resize(colors, 0);
        for (members, color) in edges.members.iter().zip(coloring.colors()) {
            self.total[*color as usize] += members.len();
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
    fn fill(&mut self, problem: &Problem, treatment: Treatment) {
        let colors = self.total.len();
        self.counts.clear();
        self.counts.resize(colors + 1, 0);
        self.colors.clear();
        self.work.clear();
        self.manifolds.clear();
        self.points.clear();
        self.scalar.clear();
        self.scalar_contacts.clear();
        self.place.clear();
        self.place.resize(problem.contacts.len(), EMPTY);
        self.dummies = self.batches.len();
        let mut order = std::mem::take(&mut self.sorted.items);
        for batch in 0..self.batches.len() {
            let first = batch * colors;
            let edges = self.sorted.start[first + colors] - self.sorted.start[first];
            let is_large = edges as usize >= LARGE;
            let is_safe = |layout: &Self, color: usize| layout.total[color] >= treatment.threshold;
            let first_color = self.colors.len() as u32;
            for color in 0..colors {
                if is_safe(self, color) {
                    let members = &mut order[span(&self.sorted.start, first + color)];
                    self.push_color(problem, color, members, (!is_large).then_some(batch));
                }
            }
            let first_unsafe = self.scalar.len() as u32;
            for color in 0..colors {
                if !is_safe(self, color) {
                    for e in &order[span(&self.sorted.start, first + color)] {
                        self.counts[colors] += self.edges.members[*e as usize].len();
                        self.push_scalar(*e);
                    }
                }
            }
            self.batches[batch] = IslandBatch {
                colors: [first_color, self.colors.len() as u32],
                unsafe_edges: [first_unsafe, self.scalar.len() as u32],
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
            .map(|e| edges.members[*e as usize].len())
            .sum();
        if size == 0 {
            return;
        }
        self.counts[color] += size;
        // Edges that fill lanes first, those with many points before those with few.
        members.sort_by_key(|e| {
            let e = *e as usize;
            let points = edges.members[e].len().min(MOST_POINTS);
            (!edges.is_plain[e], MOST_POINTS - points)
        });
        let plain = members.partition_point(|e| edges.is_plain[*e as usize]);
        let (lanes, scalar) = members.split_at(plain);
        let is_large = small_batch.is_none();
        let first_block = self.work.len();
        let mut block = self.open_block();
        let mut points = 0;
        for chunk in lanes.chunks(LANES) {
            if is_large && points >= BLOCK_POINTS {
                self.close_block(block);
                block = self.open_block();
                points = 0;
            }
            let dummy = small_batch.unwrap_or(self.work.len() - first_block);
            points += self.push_manifold(problem, chunk, (problem.bodies.len() + dummy) as u32);
        }
        for chunk in scalar.chunks(BLOCK_EDGES) {
            if is_large && points >= BLOCK_POINTS / 2 {
                self.close_block(block);
                block = self.open_block();
            }
            points = BLOCK_POINTS;
            for e in chunk {
                self.push_scalar(*e);
            }
        }
        self.close_block(block);
        self.dummies = self.dummies.max(self.work.len() - first_block);
        self.colors.push(BatchColor {
            work: [first_block as u32, self.work.len() as u32],
        });
    }

    fn open_block(&self) -> WorkBlock {
        WorkBlock {
            manifolds: [self.manifolds.len() as u32; 2],
            scalar: [self.scalar.len() as u32; 2],
        }
    }

    fn close_block(&mut self, mut block: WorkBlock) {
        block.manifolds[1] = self.manifolds.len() as u32;
        block.scalar[1] = self.scalar.len() as u32;
        self.work.push(block);
    }

    /// One wide manifold from up to sixteen edges, the one with most points first. Returns its points.
    fn push_manifold(&mut self, problem: &Problem, members: &[u32], dummy: u32) -> u32 {
        let first_point = self.points.len();
        let points = self.edges.members[members[0] as usize].len();
        self.points
            .resize(first_point + points as usize, [EMPTY; LANES]);
        let mut bodies = [[dummy; LANES]; 2];
        for (lane, e) in members.iter().enumerate() {
            let contacts = self.edges.members[*e as usize].range();
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
            points: [first_point as u32, self.points.len() as u32],
        });
        points
    }

    fn push_scalar(&mut self, edge: u32) {
        let members = self.edges.members[edge as usize];
        if !members.are_rows {
            let [first, last] = members.range;
            self.scalar_contacts.extend(first..last);
        }
        self.scalar.push(members);
    }
}
