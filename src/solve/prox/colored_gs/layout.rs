//! The order of a coloured sweep: which contacts fill which lanes of which group.
//!
//! Islands are collected into batches, each with a monitor of its own; a large island is a batch by
//! itself and its colours are swept in parallel, small batches are swept as a whole beside each
//! other. Within a colour, sixteen edges with the same number of points form a group, one per lane;
//! a group's layers are the first, second … point of its edges.

use std::ops::Range;

use super::LANES;
use crate::problem::Problem;
use crate::solve::prox::color::{Coloring, Edge, NO_BODY, Strategy};

/// Stands for no contact in a lane.
pub const EMPTY: u32 = u32::MAX;

/// Most points of one edge; more between the same two bodies make more edges.
const MOST_POINTS: u32 = 4;
/// Islands with together fewer edges than this share a batch.
const SMALL: usize = 512;
/// Batches with at least this many edges are swept colour by colour in parallel.
const LARGE: usize = 4096;
/// Layers per unit of parallel work.
const UNIT_LAYERS: u32 = 96;
/// Loose edges per unit of parallel work.
const UNIT_LOOSE: usize = 128;

/// How small colours are treated (Poulsen 2010, 4.3 and 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// Colours with fewer contacts are merged into one unsafe colour; 0 keeps every colour.
    pub threshold: u32,
}

/// Sixteen edges of one colour.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// First and second body of each lane; bodies that impulses do not move, and lanes without an
    /// edge, name the dummy of the unit.
    pub bodies: [[u32; LANES]; 2],
    /// First layer and one past the last.
    pub layers: [u32; 2],
}

/// An edge that is swept by itself, one number at a time: a contact of another law or with
/// compliance, a joint's rows, or a member of an unsafe colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loose {
    /// First contact of the problem, or first general row, and one past the last.
    pub span: [u32; 2],
    pub rows: bool,
}

/// What one task sweeps: groups, then loose edges, of one colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unit {
    pub groups: [u32; 2],
    pub loose: [u32; 2],
}

/// One colour of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub units: [u32; 2],
}

/// Islands that are iterated together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch {
    pub spans: [u32; 2],
    /// Loose edges of the unsafe colour, solved last.
    pub unsafe_loose: [u32; 2],
    /// Whether its colours are swept in parallel.
    pub is_large: bool,
}

/// The whole order. Keeps its memory, and itself where nothing changed.
#[derive(Default)]
pub struct Layout {
    pub batches: Vec<Batch>,
    pub spans: Vec<Span>,
    pub units: Vec<Unit>,
    pub groups: Vec<Group>,
    /// The problem's contact in each lane of each layer, or [`EMPTY`].
    pub layers: Vec<[u32; LANES]>,
    pub loose: Vec<Loose>,
    /// Contacts that are in no lane.
    pub loose_contacts: Vec<u32>,
    /// Place of each contact: layer × 16 + lane, or [`EMPTY`].
    pub place: Vec<u32>,
    /// Dummies behind the bodies: one for each unit that may run beside others.
    pub dummies: usize,
    /// Contacts and rows of each colour, and of the unsafe colour behind them.
    pub counts: Vec<u32>,
    total: Vec<u32>,
    edges: Edges,
    old_edges: Edges,
    /// Number of bodies of the last call; none before the first.
    of_bodies: Option<usize>,
    key: Vec<u32>,
    order: Vec<u32>,
    start: Vec<u32>,
    points: Vec<u32>,
}

/// The edges of the body graph, in the order of the problem.
#[derive(Default, PartialEq)]
struct Edges {
    bodies: Vec<Edge>,
    key: Vec<u64>,
    loose: Vec<Loose>,
    /// Whether it can fill a lane.
    plain: Vec<bool>,
    /// First body's island.
    island: Vec<u32>,
}

fn range(of: [u32; 2]) -> Range<usize> {
    of[0] as usize..of[1] as usize
}

impl Batch {
    pub fn spans(&self) -> Range<usize> {
        range(self.spans)
    }
    pub fn unsafe_loose(&self) -> Range<usize> {
        range(self.unsafe_loose)
    }
}

impl Span {
    pub fn units(&self) -> Range<usize> {
        range(self.units)
    }
}

impl Unit {
    pub fn groups(&self) -> Range<usize> {
        range(self.groups)
    }
    pub fn loose(&self) -> Range<usize> {
        range(self.loose)
    }
}

impl Group {
    pub fn layers(&self) -> Range<usize> {
        range(self.layers)
    }
}

impl Loose {
    pub fn span(&self) -> Range<usize> {
        range(self.span)
    }
    fn len(&self) -> u32 {
        self.span[1] - self.span[0]
    }
}

impl Edges {
    /// Contacts of the same two bodies in a row, a few at most, and rows on the same bodies.
    fn find(&mut self, problem: &Problem) {
        self.bodies.clear();
        self.key.clear();
        self.loose.clear();
        self.plain.clear();
        self.island.clear();
        let contacts = &problem.contacts;
        let mut first = 0;
        while first < contacts.len() {
            let pair = contacts.bodies[first];
            let plain = contacts.is_plain(first);
            let mut last = first + 1;
            while last < contacts.len()
                && last - first < MOST_POINTS as usize
                && contacts.bodies[last] == pair
                && contacts.is_plain(last) == plain
            {
                last += 1;
            }
            let key = u64::from(pair[0]) << 32 | u64::from(pair[1]);
            self.push(problem, &pair, key, first as u32, last as u32, false);
            self.plain.push(plain);
            first = last;
        }
        let rows = &problem.rows;
        let of = |r: usize| &rows.body[rows.start[r] as usize..rows.start[r + 1] as usize];
        let mut first = 0;
        while first < rows.len() {
            let mut last = first + 1;
            while last < rows.len() && of(last) == of(first) {
                last += 1;
            }
            let key = 1 << 63 | first as u64;
            self.push(problem, of(first), key, first as u32, last as u32, true);
            self.plain.push(false);
            first = last;
        }
    }

    fn push(&mut self, problem: &Problem, of: &[u32], key: u64, first: u32, last: u32, rows: bool) {
        let mut edge = [NO_BODY; 4];
        let mut n = 0;
        for b in of {
            if problem.bodies.is_dynamic(*b as usize) && !edge[..n].contains(b) {
                edge[n] = *b;
                n += 1;
            }
        }
        edge[..n].sort_unstable();
        self.bodies.push(edge);
        self.key.push(key);
        self.loose.push(Loose {
            span: [first, last],
            rows,
        });
        let island = edge[..n]
            .first()
            .map_or(u32::MAX, |b| problem.islands.of_body[*b as usize]);
        self.island.push(island);
    }
}

/// Sorts the edges `order` points to by `key`, stably; `start` receives where each key begins.
fn counting_sort(keys: usize, key: &[u32], order: &mut Vec<u32>, start: &mut Vec<u32>) {
    start.clear();
    start.resize(keys + 1, 0);
    for k in key.iter().filter(|k| **k != u32::MAX) {
        start[*k as usize + 1] += 1;
    }
    for k in 0..keys {
        start[k + 1] += start[k];
    }
    order.clear();
    order.resize(start[keys] as usize, 0);
    for (edge, k) in key.iter().enumerate().filter(|(_, k)| **k != u32::MAX) {
        let at = &mut start[*k as usize];
        order[*at as usize] = edge as u32;
        *at += 1;
    }
    // Every start has moved on to the next one's place.
    start.rotate_right(1);
    start[0] = 0;
}

impl Layout {
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
        coloring.update(bodies, &self.edges.key, &self.edges.bodies, strategy);
        self.find_batches(problem);
        self.fill(problem, coloring, treatment);
    }

    /// Lays everything out anew the next time.
    pub fn forget(&mut self) {
        self.of_bodies = None;
    }

    /// Islands in a row until there are enough edges; `key` becomes the batch of each edge.
    fn find_batches(&mut self, problem: &Problem) {
        let islands = &problem.islands;
        self.batches.clear();
        self.key.clear();
        self.key.resize(islands.len(), 0);
        let mut edges = 0;
        for island in 0..islands.len() {
            let own = islands.contacts.of(island).len() + islands.rows.of(island).len();
            if own >= SMALL && edges > 0 {
                self.batches.push(Batch::default());
                edges = 0;
            }
            edges += own;
            self.key[island] = self.batches.len() as u32;
            if edges >= SMALL {
                self.batches.push(Batch::default());
                edges = 0;
            }
        }
        if edges > 0 {
            self.batches.push(Batch::default());
        }
    }

    /// Edges by batch, colour and number of points into groups of lanes.
    fn fill(&mut self, problem: &Problem, coloring: &Coloring, treatment: Treatment) {
        let edges = &self.edges;
        let colors = coloring.counts().len();
        let color = coloring.colors();
        self.counts.clear();
        self.counts.resize(colors + 1, 0);
        // Contacts and rows of each colour, of all batches together.
        self.total.clear();
        self.total.resize(colors, 0);
        for (loose, color) in edges.loose.iter().zip(color) {
            self.total[*color as usize] += loose.len();
        }

        // Batch and colour in one key; bodies' dummies and places are set on the way.
        let batches = self.batches.len();
        let batch_of_island = std::mem::take(&mut self.key);
        let mut key = std::mem::take(&mut self.points);
        key.clear();
        key.extend(edges.island.iter().zip(color).map(|(island, color)| {
            match batch_of_island.get(*island as usize) {
                Some(batch) => batch * colors as u32 + color,
                None => u32::MAX,
            }
        }));
        let mut order = std::mem::take(&mut self.order);
        let mut start = std::mem::take(&mut self.start);
        counting_sort(batches * colors, &key, &mut order, &mut start);
        self.key = batch_of_island;
        self.points = key;

        self.spans.clear();
        self.units.clear();
        self.groups.clear();
        self.layers.clear();
        self.loose.clear();
        self.loose_contacts.clear();
        self.place.clear();
        self.place.resize(problem.contacts.len(), EMPTY);
        self.dummies = batches;
        let dynamic = problem.bodies.len() as u32;

        for batch in 0..batches {
            let of = |color: usize| {
                let at = batch * colors + color;
                start[at] as usize..start[at + 1] as usize
            };
            let is_large = of(0).start + LARGE <= of(colors.max(1) - 1).end;
            let first_span = self.spans.len();
            let mut small = 0;
            for color in 0..colors {
                let members = &mut order[of(color)];
                let edges = &self.edges;
                let size: u32 = members.iter().map(|e| edges.loose[*e as usize].len()).sum();
                if size == 0 {
                    continue;
                }
                if self.total[color] < treatment.threshold {
                    small += 1;
                    continue;
                }
                self.counts[color] += size;
                // Edges that fill lanes first, those with many points before those with few.
                members.sort_by_key(|e| {
                    let e = *e as usize;
                    (
                        !edges.plain[e],
                        MOST_POINTS - edges.loose[e].len().min(MOST_POINTS),
                    )
                });
                let plain = members.partition_point(|e| edges.plain[*e as usize]);
                let first_unit = self.units.len();
                let dummy = |units: usize| {
                    let own = if is_large { units - first_unit } else { batch };
                    (dynamic as usize + own) as u32
                };
                let (lanes, loose) = members.split_at(plain);
                let mut unit = self.open_unit();
                let mut layers = 0;
                for chunk in lanes.chunks(LANES) {
                    if is_large && layers >= UNIT_LAYERS {
                        self.close_unit(unit);
                        unit = self.open_unit();
                        layers = 0;
                    }
                    layers += self.push_group(problem, chunk, dummy(self.units.len()));
                }
                for chunk in loose.chunks(UNIT_LOOSE) {
                    if is_large && layers + UNIT_LAYERS / 2 >= UNIT_LAYERS {
                        self.close_unit(unit);
                        unit = self.open_unit();
                    }
                    layers = UNIT_LAYERS;
                    for e in chunk {
                        self.push_loose(*e);
                    }
                }
                self.close_unit(unit);
                self.dummies = self.dummies.max(self.units.len() - first_unit);
                self.spans.push(Span {
                    units: [first_unit as u32, self.units.len() as u32],
                });
            }
            let first_unsafe = self.loose.len();
            if small > 0 {
                for color in 0..colors {
                    if self.total[color] < treatment.threshold {
                        for e in &order[of(color)] {
                            self.counts[colors] += self.edges.loose[*e as usize].len();
                            self.push_loose(*e);
                        }
                    }
                }
            }
            let own = &mut self.batches[batch];
            own.spans = [first_span as u32, self.spans.len() as u32];
            own.unsafe_loose = [first_unsafe as u32, self.loose.len() as u32];
            own.is_large = is_large;
        }
        while self.counts.last() == Some(&0) {
            self.counts.pop();
        }
        self.order = order;
        self.start = start;
    }

    fn open_unit(&self) -> Unit {
        let (groups, loose) = (self.groups.len() as u32, self.loose.len() as u32);
        Unit {
            groups: [groups; 2],
            loose: [loose; 2],
        }
    }

    fn close_unit(&mut self, mut unit: Unit) {
        unit.groups[1] = self.groups.len() as u32;
        unit.loose[1] = self.loose.len() as u32;
        self.units.push(unit);
    }

    /// One group from up to sixteen edges, the one with most points first. Returns its layers.
    fn push_group(&mut self, problem: &Problem, members: &[u32], dummy: u32) -> u32 {
        let first_layer = self.layers.len();
        let points = self.edges.loose[members[0] as usize].len();
        self.layers
            .resize(first_layer + points as usize, [EMPTY; LANES]);
        let mut bodies = [[dummy; LANES]; 2];
        for (lane, e) in members.iter().enumerate() {
            let span = self.edges.loose[*e as usize].span;
            let pair = problem.contacts.bodies[span[0] as usize];
            for (side, b) in pair.into_iter().enumerate() {
                if problem.bodies.is_dynamic(b as usize) {
                    bodies[side][lane] = b;
                }
            }
            for (k, c) in (span[0]..span[1]).enumerate() {
                self.layers[first_layer + k][lane] = c;
                self.place[c as usize] = ((first_layer + k) * LANES + lane) as u32;
            }
        }
        self.groups.push(Group {
            bodies,
            layers: [first_layer as u32, self.layers.len() as u32],
        });
        points
    }

    fn push_loose(&mut self, edge: u32) {
        let loose = self.edges.loose[edge as usize];
        if !loose.rows {
            self.loose_contacts.extend(loose.span[0]..loose.span[1]);
        }
        self.loose.push(loose);
    }
}
