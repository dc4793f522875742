//! The Delassus matrix A = J M⁻¹ Jᵀ + C as block compressed rows, for whoever asks for it, and the
//! number of its blocks for whoever only wants to know whether asking pays.
//!
//! A block is a contact or a general row; two blocks couple when they share a body that impulses
//! move. Fixed bodies couple nothing. Blocks stand island by island, and within an island contacts
//! come before general rows, each in the problem's order: A is block diagonal over the islands.

use std::ops::Range;

use rayon::prelude::*;

use super::islands::{Grouped, find_root, join, span};
use super::law::{FrictionRow, Law};
use super::{FrictionLaw, Problem};
use crate::linalg::csr::Sparse;
use crate::math::{Twist, Vec3};

/// Block rows per unit of parallel work.
const CHUNK: usize = 256;
/// Most bodies of a block.
const SIDES: usize = 4;
/// The rows of one block of J for one body.
pub(crate) type Jacobian = [Twist; FrictionLaw::MAX_ROWS];

/// A in block-CSR form. Block sizes differ from row to row where friction laws do. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Delassus {
    /// What each block is: contact `k`, or general row `k − contacts`.
    pub source: Vec<u32>,
    /// First block of each island, and one past the last.
    pub island_start: Vec<u32>,
    /// First row of each block in Λ ordered by blocks, and one past the last.
    pub block_row: Vec<u32>,
    /// First entry of each block row in `column`, and one past the last.
    pub start: Vec<usize>,
    /// Block column of each entry, ascending within a block row.
    pub column: Vec<u32>,
    /// First value of each block row in `value`, and one past the last.
    pub value_start: Vec<usize>,
    /// The values (1/kg), block row by block row, block by block, each row-major.
    pub value: Vec<f64>,
    /// Whether every block of a block row is 3×3, which is by far the most common.
    pub threes: Vec<bool>,
    /// The blocks of every body of the problem, ascending.
    touch: Grouped,
}

impl Delassus {
    /// Assembles A for a finished problem.
    pub fn assemble(problem: &Problem) -> Self {
        let mut a = Self::default();
        a.refill(problem);
        a
    }

    /// Assembles A for a finished problem, in the memory of the last one. Parallel; the same to the
    /// last bit for every number of threads.
    pub fn refill(&mut self, problem: &Problem) {
        self.number_blocks(problem);
        self.fill_numbered(problem);
    }

    /// The same with its blocks in another order: `sources` as in [`Delassus::source`], and the first of each island, or
    /// of each run of islands, and one past the last; contacts before general rows in each.
    pub(crate) fn refill_in_order(&mut self, problem: &Problem, sources: &[u32], starts: &[u32]) {
        self.source.clear();
        self.source.extend_from_slice(sources);
        self.island_start.clear();
        self.island_start.extend_from_slice(starts);
        self.number_rows(problem);
        self.fill_numbered(problem);
    }

    fn fill_numbered(&mut self, problem: &Problem) {
        self.find_touches(problem);
        self.count_entries(problem);
        let blocks = self.blocks();
        // Resizing keeps what is there; every value is written below.
        self.column.resize(self.start[blocks], 0);
        self.value.resize(self.value_start[blocks], 0.0);
        let mut column = std::mem::take(&mut self.column);
        let mut value = std::mem::take(&mut self.value);
        slices(&self.start, &mut column)
            .into_par_iter()
            .zip(slices(&self.value_start, &mut value))
            .with_min_len(CHUNK)
            .enumerate()
            .for_each(|(b, (columns, values))| self.fill(problem, b, columns, values));
        self.column = column;
        self.value = value;
    }

    /// A from its numbers, whose first rows are those of `contacts` contacts, three each, and whose others are
    /// general rows. Islands are what its blocks connect, in whichever direction.
    ///
    /// # Panics
    /// If it is not square, or has fewer rows.
    pub fn from_sparse(a: &Sparse, contacts: usize) -> Self {
        let first = 3 * contacts;
        assert!(a.rows() == a.columns && first <= a.columns, "a square A");
        let source_of = |row: usize| {
            if row < first {
                row / 3
            } else {
                contacts + row - first
            }
        };
        let rows_of = |source: usize| {
            let at = if source < contacts {
                3 * source
            } else {
                first + source - contacts
            };
            at..at + if source < contacts { 3 } else { 1 }
        };
        let blocks = contacts + a.columns - first;
        // Which blocks each one's rows hold, itself always.
        let mut pattern: Vec<Vec<u32>> = Vec::with_capacity(blocks);
        let mut parent: Vec<u32> = (0..blocks as u32).collect();
        for b in 0..blocks {
            let entries = rows_of(b).flat_map(|r| a.row(r).map(|(c, _)| source_of(c) as u32));
            let mut columns: Vec<u32> = entries.chain([b as u32]).collect();
            columns.sort_unstable();
            columns.dedup();
            for c in &columns {
                join(&mut parent, b as u32, *c);
            }
            pattern.push(columns);
        }
        let mut out = Self::default();
        let place = out.order_by_island(&mut parent);
        out.block_row.push(0);
        out.start.push(0);
        out.value_start.push(0);
        for s in out.source.clone() {
            let rows = rows_of(s as usize);
            out.block_row
                .push(out.block_row[out.block_row.len() - 1] + rows.len() as u32);
            let columns = &pattern[s as usize];
            out.threes
                .push(rows.len() == 3 && columns.iter().all(|c| (*c as usize) < contacts));
            for c in columns {
                out.column.push(place[*c as usize]);
                let columns = rows_of(*c as usize);
                out.value.extend(
                    rows.clone()
                        .flat_map(|r| columns.clone().map(move |c| a.at(r, c))),
                );
            }
            out.start.push(out.column.len());
            out.value_start.push(out.value.len());
        }
        out
    }

    /// Orders blocks by the islands that `parent` joins them to; the place of each.
    fn order_by_island(&mut self, parent: &mut [u32]) -> Vec<u32> {
        let blocks = parent.len();
        let mut key = vec![0; blocks];
        let mut islands = 0;
        for b in 0..blocks {
            // Roots are the first blocks of their islands.
            let root = find_root(parent, b as u32) as usize;
            key[b] = if root == b { islands } else { key[root] };
            islands += u32::from(root == b);
        }
        let mut grouped = Grouped::default();
        grouped.fill_by_key(islands as usize, &key);
        self.source = grouped.items;
        self.island_start = grouped.start;
        let mut place = vec![0; blocks];
        for (k, source) in self.source.iter().enumerate() {
            place[*source as usize] = k as u32;
        }
        place
    }

    /// The same A with its blocks in another order: the block row that each becomes, within its island, contacts
    /// before general rows.
    pub(crate) fn reordered(&self, order: &[u32]) -> Self {
        let mut out = Self {
            island_start: self.island_start.clone(),
            block_row: vec![0],
            start: vec![0],
            value_start: vec![0],
            ..Self::default()
        };
        let mut place = vec![0; order.len()];
        for (k, b) in (0..).zip(order) {
            place[*b as usize] = k;
        }
        for &b in order {
            let b = b as usize;
            let height = self.rows(b).len();
            let mut at = self.value_start[b];
            let mut entries: Vec<(u32, Range<usize>)> = Vec::new();
            for c in &self.column[self.start[b]..self.start[b + 1]] {
                let size = height * self.rows(*c as usize).len();
                entries.push((place[*c as usize], at..at + size));
                at += size;
            }
            entries.sort_unstable_by_key(|(c, _)| *c);
            for (c, values) in entries {
                out.column.push(c);
                out.value.extend_from_slice(&self.value[values]);
            }
            out.source.push(self.source[b]);
            out.threes.push(self.threes[b]);
            out.block_row
                .push(out.block_row[out.block_row.len() - 1] + height as u32);
            out.start.push(out.column.len());
            out.value_start.push(out.value.len());
        }
        out
    }

    /// The own block of block row `b`, row-major.
    pub fn own(&self, b: usize) -> &[f64] {
        let rows = self.rows(b).len();
        let mut at = self.value_start[b];
        for c in &self.column[self.start[b]..self.start[b + 1]] {
            if *c as usize == b {
                return &self.value[at..at + rows * rows];
            }
            at += rows * self.rows(*c as usize).len();
        }
        &[]
    }

    /// Number of block rows.
    pub fn blocks(&self) -> usize {
        self.source.len()
    }

    /// Number of islands.
    pub fn islands(&self) -> usize {
        self.island_start.len().saturating_sub(1)
    }

    /// Number of non-zero blocks.
    pub fn block_count(&self) -> usize {
        self.column.len()
    }

    /// The rows of block `b` in Λ ordered by blocks.
    #[inline(always)]
    pub fn rows(&self, b: usize) -> Range<usize> {
        span(&self.block_row, b)
    }

    fn number_blocks(&mut self, problem: &Problem) {
        let contacts = problem.contacts.len() as u32;
        self.source.clear();
        self.island_start.clear();
        self.island_start.push(0);
        for island in 0..problem.islands.len() {
            self.source
                .extend_from_slice(problem.islands.contacts.of(island));
            let rows = problem.islands.rows.of(island);
            self.source.extend(rows.iter().map(|r| contacts + r));
            self.island_start.push(self.source.len() as u32);
        }
        self.number_rows(problem);
    }

    fn number_rows(&mut self, problem: &Problem) {
        self.block_row.clear();
        self.block_row.push(0);
        let mut row = 0;
        for source in &self.source {
            row += block_rows(problem, *source as usize) as u32;
            self.block_row.push(row);
        }
    }

    fn find_touches(&mut self, problem: &Problem) {
        let blocks = self.source.iter().zip(0..);
        let touches = blocks.flat_map(|(source, b)| {
            block_bodies(problem, *source as usize).map(move |body| (body, b))
        });
        self.touch.fill(problem.bodies.len(), touches);
    }

    /// The blocks on each dynamic body of block `b`.
    fn neighbours(&self, problem: &Problem, b: usize) -> Neighbours<'_> {
        let mut lists: [&[u32]; SIDES] = [&[]; SIDES];
        let bodies = block_bodies(problem, self.source[b] as usize);
        for (list, body) in lists.iter_mut().zip(bodies) {
            *list = self.touch.of(body as usize);
        }
        Neighbours { lists }
    }

    /// Number of entries and of values of each block row, and then where they begin.
    fn count_entries(&mut self, problem: &Problem) {
        let blocks = self.blocks();
        let mut start = std::mem::take(&mut self.start);
        let mut value_start = std::mem::take(&mut self.value_start);
        start.clear();
        start.resize(blocks + 1, 0);
        value_start.clear();
        value_start.resize(blocks + 1, 0);
        let mut threes = std::mem::take(&mut self.threes);
        threes.resize(blocks, false);
        let this = &*self;
        start[1..]
            .par_iter_mut()
            .zip(&mut value_start[1..])
            .zip(&mut threes)
            .with_min_len(CHUNK)
            .enumerate()
            .for_each(|(b, ((entries, values), threes))| {
                let rows = this.rows(b).len();
                *threes = rows == 3;
                for (c, _) in this.neighbours(problem, b) {
                    let columns = this.rows(c as usize).len();
                    *entries += 1;
                    *values += rows * columns;
                    *threes &= columns == 3;
                }
            });
        for b in 0..blocks {
            start[b + 1] += start[b];
            value_start[b + 1] += value_start[b];
        }
        self.start = start;
        self.value_start = value_start;
        self.threes = threes;
    }

    /// Columns and values of one block row.
    fn fill(&self, problem: &Problem, b: usize, columns: &mut [u32], mut values: &mut [f64]) {
        let own = OwnSides::of(problem, self.source[b] as usize);
        debug_assert_eq!(columns.len(), self.neighbours(problem, b).count());
        for (column, (c, sides)) in columns.iter_mut().zip(self.neighbours(problem, b)) {
            let width = self.rows(c as usize).len();
            let (block, rest) = values.split_at_mut(own.rows * width);
            values = rest;
            own.couple(problem, self.source[c as usize] as usize, sides, block);
            if c as usize == b {
                add_compliance(problem, own.source, block);
            }
            *column = c;
        }
    }

    /// y_b = (A x)_b for one block row. `x` holds Λ from row `first` on, which must reach over the
    /// block's island.
    #[inline(always)]
    pub fn multiply_row(&self, b: usize, x: &[f64], first: usize, y: &mut [f64]) {
        y.fill(0.0);
        let entries = self.start[b]..self.start[b + 1];
        self.add_product(b, entries, self.value_start[b], x, first, y);
    }

    /// y_b ← y_b + (A x)_b over some entries of one block row, whose values begin at `value`.
    #[inline(always)]
    pub fn add_product(
        &self,
        b: usize,
        entries: Range<usize>,
        value: usize,
        x: &[f64],
        first: usize,
        y: &mut [f64],
    ) {
        let mut values = &self.value[value..];
        if self.threes[b]
            && let ([y], []) = y.as_chunks_mut::<3>()
        {
            let mut sum = *y;
            let (blocks, _) = values.as_chunks::<9>();
            for (c, v) in self.column[entries].iter().zip(blocks) {
                let at = self.block_row[*c as usize] as usize - first;
                let x = &x[at..at + 3];
                for k in 0..3 {
                    sum[k] += v[3 * k] * x[0] + v[3 * k + 1] * x[1] + v[3 * k + 2] * x[2];
                }
            }
            *y = sum;
            return;
        }
        for c in &self.column[entries] {
            let columns = self.rows(*c as usize);
            let x = &x[columns.start - first..columns.end - first];
            let (block, rest) = values.split_at(y.len() * x.len());
            values = rest;
            for (y, line) in y.iter_mut().zip(block.chunks_exact(x.len())) {
                *y += line.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
            }
        }
    }
}

/// The own block of A of a block of the problem, row-major (1/kg), written to `block`.
pub(super) fn own_block(problem: &Problem, source: usize, block: &mut [f64]) {
    let own = OwnSides::of(problem, source);
    let sides = (1 << block_bodies(problem, source).count()) - 1;
    own.couple(problem, source, sides, block);
    add_compliance(problem, source, block);
}

fn add_compliance(problem: &Problem, source: usize, block: &mut [f64]) {
    let width = block_rows(problem, source);
    for k in 0..width {
        block[k * width + k] += block_compliance(problem, source, k);
    }
}

/// The part of each block row, given where each begins and the last ends.
fn slices<'a, T>(start: &[usize], mut all: &'a mut [T]) -> Vec<&'a mut [T]> {
    let mut next = |length: usize| {
        let (first, rest) = std::mem::take(&mut all).split_at_mut(length);
        all = rest;
        first
    };
    start.windows(2).map(|s| next(s[1] - s[0])).collect()
}

/// The union of sorted lists of blocks, ascending, with the lists that each is in (bit k: list k).
struct Neighbours<'a> {
    lists: [&'a [u32]; SIDES],
}

impl Iterator for Neighbours<'_> {
    type Item = (u32, u8);

    #[inline]
    fn next(&mut self) -> Option<(u32, u8)> {
        let smallest = self.lists.iter().filter_map(|l| l.first()).min().copied()?;
        let mut sides = 0;
        for (k, list) in self.lists.iter_mut().enumerate() {
            if let Some((first, rest)) = list.split_first()
                && *first == smallest
            {
                *list = rest;
                sides |= 1 << k;
            }
        }
        Some((smallest, sides))
    }
}

/// J M⁻¹ of one block, body by body.
struct OwnSides {
    source: usize,
    rows: usize,
    body: [u32; SIDES],
    jacobian: [Jacobian; SIDES],
}

impl OwnSides {
    fn of(problem: &Problem, source: usize) -> Self {
        let mut own = Self {
            source,
            rows: block_rows(problem, source),
            body: [0; SIDES],
            jacobian: [[Twist::ZERO; FrictionLaw::MAX_ROWS]; SIDES],
        };
        for (side, body) in block_bodies(problem, source).enumerate() {
            own.body[side] = body;
            let jacobian = &mut own.jacobian[side];
            block_jacobian(problem, source, body, jacobian);
            for row in &mut jacobian[..own.rows] {
                row.linear *= problem.bodies.inverse_mass[body as usize];
                row.angular = problem.bodies.inverse_inertia[body as usize].mul_vec(row.angular);
            }
        }
        own
    }

    /// J_b M⁻¹ J_cᵀ over the bodies that `sides` names, row-major, into `block`.
    #[inline]
    fn couple(&self, problem: &Problem, other: usize, sides: u8, block: &mut [f64]) {
        block.fill(0.0);
        for side in (0..SIDES).filter(|k| sides & (1 << k) != 0) {
            let own = &self.jacobian[side][..self.rows];
            if self.rows == 3 && block.len() == 9 && other < problem.contacts.len() {
                // e_l and r × e_l are never formed: (r × e_l) · y = e_l · (y × r).
                let second = problem.contacts.bodies[other][1] == self.body[side];
                let frame = &problem.contacts.frame[other];
                let arm = frame.arms[usize::from(second)];
                let sign = if second { 1.0 } else { -1.0 };
                let axes = frame.axes();
                for (line, own) in block.chunks_exact_mut(3).zip(own) {
                    let push = (own.linear + own.angular.cross(&arm)) * sign;
                    for (v, e) in line.iter_mut().zip(&axes) {
                        *v += e.dot(&push);
                    }
                }
                continue;
            }
            let mut jacobian = [Twist::ZERO; FrictionLaw::MAX_ROWS];
            let n = block.len() / self.rows;
            block_jacobian(problem, other, self.body[side], &mut jacobian);
            for (line, own) in block.chunks_exact_mut(n).zip(own) {
                for (v, j) in line.iter_mut().zip(&jacobian) {
                    *v += own.linear.dot(&j.linear) + own.angular.dot(&j.angular);
                }
            }
        }
    }
}

/// Rows of a block.
pub(crate) fn block_rows(problem: &Problem, source: usize) -> usize {
    match problem.contacts.friction.get(source) {
        Some(friction) => friction.law.row_count(),
        None => 1,
    }
}

/// The bodies of a block, in its order, each once, without those that impulses do not move.
#[inline]
pub(crate) fn block_bodies(problem: &Problem, source: usize) -> impl Iterator<Item = u32> + Clone {
    all_bodies(problem, source).filter(|body| problem.bodies.is_dynamic(*body as usize))
}

/// The bodies of a block, in its order, each once.
#[inline]
pub(super) fn all_bodies(problem: &Problem, source: usize) -> impl Iterator<Item = u32> + Clone {
    let bodies = match problem.contacts.bodies.get(source) {
        Some(pair) => &pair[..],
        None => problem.rows.bodies(source - problem.contacts.len()),
    };
    let firsts = bodies.iter().enumerate();
    let firsts = firsts.filter(|(k, body)| !bodies[..*k].contains(body));
    firsts.map(|(_, body)| *body)
}

/// C of one row of a block (1/kg).
pub(crate) fn block_compliance(problem: &Problem, source: usize, row: usize) -> f64 {
    let contacts = problem.contacts.len();
    if source < contacts {
        problem.contacts.compliance[source][row.min(1)]
    } else {
        problem.rows.compliance[source - contacts]
    }
}

/// The rows of J of one block for one of its bodies.
pub(crate) fn block_jacobian(problem: &Problem, source: usize, body: u32, out: &mut Jacobian) {
    let contacts = problem.contacts.len();
    if source >= contacts {
        // A body may stand twice in a row; its entries add up.
        out[0] = Twist::ZERO;
        for (_, j) in problem
            .rows
            .entries(source - contacts)
            .filter(|(b, _)| *b == body as usize)
        {
            out[0].linear += j.linear;
            out[0].angular += j.angular;
        }
        return;
    }
    let frame = &problem.contacts.frame[source];
    let friction = &problem.contacts.friction[source];
    let second = problem.contacts.bodies[source][1] == body;
    let sign = if second { 1.0 } else { -1.0 };
    let arm = frame.arms[usize::from(second)];
    let [n, t1, t2] = frame.axes();
    out[0] = Twist {
        linear: n * sign,
        angular: arm.cross(&n) * sign,
    };
    for (out, row) in out[1..].iter_mut().zip(friction.law.rows()) {
        *out = match row {
            FrictionRow::Slide { direction: [x, y] } => {
                let e = t1 * *x + t2 * *y;
                Twist {
                    linear: e * sign,
                    angular: arm.cross(&e) * sign,
                }
            }
            FrictionRow::Turn { axis } => Twist {
                linear: Vec3::zeros(),
                angular: [n, t1, t2][*axis] * (sign * friction.length),
            },
        };
    }
}

/// Which bodies couple the blocks that touch them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// Those that impulses move: the blocks that [`Delassus`] stores.
    Dynamic,
    /// Every body, the fixed ground included, as Poulsen's thesis counts (2010, table 3.2).
    EveryBody,
}

/// Counts the non-zero blocks of A without assembling it. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct BlockCounter {
    /// Number of blocks on each body.
    degree: Vec<u32>,
    /// The other bodies of every set of two to four bodies of a block, by the smallest.
    sets: Grouped<[u32; SIDES - 1]>,
}

/// Fills up a set of bodies; no body has this number.
const NO_BODY: u32 = u32::MAX;

impl BlockCounter {
    /// Number of non-zero blocks of A.
    ///
    /// Two blocks couple if they share a body, so this is Σ over non-empty sets S of bodies of
    /// (−1)^(|S|+1) n_S², where n_S blocks touch every body of S: blocks that share several bodies
    /// are counted once. For contacts of two bodies it is Poulsen's corollary 3.2. Linear in the
    /// number of blocks, as long as few blocks share their smallest body.
    pub fn count(&mut self, problem: &Problem, coupling: Coupling) -> u64 {
        let blocks = problem.contacts.len() + problem.rows.len();
        let bodies = |source| {
            all_bodies(problem, source).filter(|body| {
                coupling == Coupling::EveryBody || problem.bodies.is_dynamic(*body as usize)
            })
        };
        self.degree.clear();
        self.degree.resize(problem.bodies.len(), 0);
        for body in (0..blocks).flat_map(bodies) {
            self.degree[body as usize] += 1;
        }
        let sets = (0..blocks).flat_map(|source| sets(bodies(source)));
        self.sets.fill(problem.bodies.len(), sets);
        let square = |n: usize| (n * n) as i64;
        let mut count: i64 = self.degree.iter().map(|d| square(*d as usize)).sum();
        for b in 0..problem.bodies.len() {
            let sets = &mut self.sets.items[span(&self.sets.start, b)];
            sets.sort_unstable();
            for same in sets.chunk_by(|a, b| a == b) {
                let size = 1 + same[0].iter().filter(|b| **b != NO_BODY).count();
                count += square(same.len()) * if size % 2 == 0 { -1 } else { 1 };
            }
        }
        count.unsigned_abs()
    }
}

/// Every set of two or more of the bodies: the smallest, and the others ascending.
fn sets(
    bodies: impl Iterator<Item = u32>,
) -> impl Iterator<Item = (u32, [u32; SIDES - 1])> + Clone {
    let mut sorted = [NO_BODY; SIDES];
    sorted.iter_mut().zip(bodies).for_each(|(to, b)| *to = b);
    sorted.sort_unstable();
    let count = sorted.partition_point(|b| *b != NO_BODY);
    let sets = (0u32..1 << count).filter(|set| set.count_ones() >= 2);
    sets.map(move |set| {
        let members = (0..count).filter(|k| set & (1 << k) != 0);
        let mut members = members.map(|k| sorted[k]);
        let smallest = members.next().unwrap_or(NO_BODY);
        let mut others = [NO_BODY; SIDES - 1];
        others.iter_mut().zip(members).for_each(|(to, b)| *to = b);
        (smallest, others)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::math::{SymMat3, Vec3, tangent};
    use crate::problem::{ContactFrame, Friction, NewContact};

    impl Delassus {
        /// y = A x, both ordered by blocks.
        pub(crate) fn multiply(&self, x: &[f64], y: &mut [f64]) {
            for b in 0..self.blocks() {
                self.multiply_row(b, x, 0, &mut y[self.rows(b)]);
            }
        }
    }

    /// A small tangle: three bodies, contacts of every law, a row over three bodies.
    pub(crate) fn tangle() -> Problem {
        let mut p = Problem {
            h: 0.01,
            ..Problem::default()
        };
        p.push_body(0.0, SymMat3::ZERO, Twist::ZERO);
        for k in 1..4 {
            let k = f64::from(k);
            let free = Twist {
                linear: Vec3::new(0.1 * k, -0.2, 0.3),
                angular: Vec3::new(0.5, -k, 0.2),
            };
            let i = SymMat3 {
                xx: 1.0,
                xy: 0.1,
                xz: 0.05,
                yy: 2.0,
                yz: -0.1,
                zz: 1.5,
            };
            p.push_body(1.0 / k, i, free);
        }
        let laws = [
            FrictionLaw::Disc,
            FrictionLaw::Box,
            FrictionLaw::pyramid(6),
            FrictionLaw::Contensou,
            FrictionLaw::Ellipse,
        ];
        for (k, law) in laws.into_iter().enumerate() {
            let normal = Vec3::new(0.2 * k as f64 - 0.3, 1.0, 0.1).normalize();
            p.push_contact(NewContact {
                bodies: [k as u32 % 3, 3 - (k as u32 % 2)],
                frame: ContactFrame {
                    normal,
                    tangent: tangent(normal),
                    arms: [Vec3::new(0.1, 0.5, 0.0), Vec3::new(0.0, -0.4, 0.2)],
                },
                friction: Friction {
                    law,
                    mu: [0.5, 0.3],
                    length: 0.2,
                },
                bias: [0.1, 0.2, -0.1, 0.3, 0.0],
                compliance: [0.01, 0.02],
                gap: 0.0,
            });
        }
        let j = |x: f64| Twist {
            linear: Vec3::new(x, 0.2, 0.0),
            angular: Vec3::new(0.0, x, 1.0),
        };
        p.push_row(
            [(1, j(1.0)), (2, j(-2.0)), (3, j(0.5))],
            [-1.0, 1.0],
            0.3,
            0.05,
            0.0,
        );
        p.finish();
        p
    }

    #[test]
    fn the_matrix_is_what_velocities_do() {
        // w(Λ) − w(0) through J and M⁻¹ must be A Λ through the assembled blocks.
        let p = tangle();
        let a = Delassus::assemble(&p);
        let n = p.row_count();
        let x: Vec<f64> = (0..n).map(|k| (k as f64 * 0.7).sin()).collect();
        let w = |lambda: &[f64]| {
            let mut u = Vec::new();
            p.velocities(lambda, &mut u);
            let mut w = vec![0.0; n];
            for c in 0..p.contacts.len() {
                let rows = p.contacts.rows(c);
                p.contact_velocity(c, &u, &lambda[rows.clone()], &mut w[rows]);
            }
            let first = p.contact_rows();
            for r in 0..p.rows.len() {
                w[first + r] = p.row_velocity(r, &u, lambda[first + r]);
            }
            w
        };
        let (with, without) = (w(&x), w(&vec![0.0; n]));
        let mut y = vec![0.0; n];
        a.multiply(&x, &mut y);
        for k in 0..n {
            assert!((with[k] - without[k] - y[k]).abs() < 1e-12, "row {k}");
        }
    }

    #[test]
    fn its_diagonal_is_the_one_the_solvers_use() {
        let p = tangle();
        let a = Delassus::assemble(&p);
        let n = p.row_count();
        for k in 0..n {
            let mut e = vec![0.0; n];
            e[k] = 1.0;
            let mut column = vec![0.0; n];
            a.multiply(&e, &mut column);
            let first = p.contact_rows();
            let expected = if k >= first {
                p.row_diagonal(k - first)
            } else {
                let c = (0..p.contacts.len())
                    .find(|c| p.contacts.rows(*c).contains(&k))
                    .unwrap();
                let mut d = [0.0; FrictionLaw::MAX_ROWS];
                p.contact_diagonal(c, &mut d);
                d[k - p.contacts.rows(c).start]
            };
            assert!((column[k] - expected).abs() < 1e-13, "row {k}");
        }
    }

    #[test]
    fn fixed_bodies_couple_nothing() {
        let p = tangle();
        let a = Delassus::assemble(&p);
        // Contacts 0 ([0, 3]) and 3 ([0, 2]) share the fixed body 0 and nothing else.
        assert_eq!(p.contacts.bodies[0], [0, 3]);
        assert_eq!(p.contacts.bodies[3], [0, 2]);
        let columns = &a.column[a.start[0]..a.start[1]];
        assert!(!columns.contains(&3), "{columns:?}");
        assert!(columns.contains(&2), "contact 2 is [2, 3]: {columns:?}");
    }

    #[test]
    fn counting_is_assembling() {
        // Contacts that share both bodies, and rows of three and four bodies over them.
        let mut p = tangle();
        for k in 0..40u32 {
            let again = NewContact {
                bodies: [k % 3, 1 + (k + k / 5) % 3],
                frame: p.contacts.frame[0],
                friction: p.contacts.friction[0],
                bias: [0.0; 5],
                compliance: [0.0; 2],
                gap: 0.0,
            };
            if again.bodies[0] != again.bodies[1] {
                p.push_contact(again);
            }
        }
        for _ in 0..3 {
            p.push_body(1.0, SymMat3::diagonal(1.0, 1.0, 1.0), Twist::ZERO);
        }
        let j = Twist {
            linear: Vec3::x(),
            angular: Vec3::y(),
        };
        for set in [
            &[4, 5][..],
            &[4, 5, 6],
            &[1, 2, 4, 5],
            &[0, 4, 5, 5],
            &[6, 5, 4, 0],
        ] {
            let entries: Vec<(u32, Twist)> = set.iter().map(|b| (*b, j)).collect();
            p.push_row(&entries, [-1.0, 1.0], 0.0, 0.0, 0.0);
        }
        p.finish();
        let mut counter = BlockCounter::default();
        let assembled = Delassus::assemble(&p).block_count() as u64;
        assert_eq!(counter.count(&p, Coupling::Dynamic), assembled);
        // With mass, the ground couples what touches it.
        let everything = counter.count(&p, Coupling::EveryBody);
        p.bodies.inverse_mass[0] = 1.0;
        p.finish();
        let assembled = Delassus::assemble(&p).block_count() as u64;
        assert_eq!(everything, assembled);
        assert_eq!(counter.count(&p, Coupling::Dynamic), assembled);
    }

    #[test]
    fn refilling_forgets_the_last_problem() {
        let p = tangle();
        let fresh = Delassus::assemble(&p);
        let mut a = fresh.clone();
        let mut smaller = p.clone();
        smaller.contacts.bodies[1] = [0, 1];
        smaller.finish();
        a.refill(&smaller);
        a.refill(&p);
        assert_eq!(a.column, fresh.column);
        assert_eq!(a.value, fresh.value);
        assert_eq!(a.start, fresh.start);
    }
}
