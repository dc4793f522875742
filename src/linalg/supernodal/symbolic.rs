//! What a pattern alone decides: the order, the elimination tree (Liu 1990), and the supernodes, runs
//! of columns of L with the same rows below them, stored as dense panels.

use super::order::Graph;

/// Numbers that the kernels take at once; the columns of a panel are padded to a multiple.
pub const LANES: usize = 8;
/// Most columns of a supernode. Wider ones are cut, since a change computes whole supernodes anew and
/// their triangles are worked on column by column.
const WIDEST: usize = 32;
/// Supernodes are merged while the zeros that this stores are at most this share of the panel.
const PADDING: f64 = 0.3;

/// Rows of a supernode's panel that are columns of a later supernode.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The supernode that holds the rows.
    pub node: u32,
    /// First of these rows in its panel.
    pub begin: u32,
    /// One past the last.
    pub end: u32,
}

/// The analysed pattern. Positions count rows in the order of elimination.
#[derive(Clone, Debug, Default)]
pub struct Symbolic {
    /// The original row at each position.
    pub order: Vec<u32>,
    /// The position of each original row.
    place: Vec<u32>,
    /// First column of each supernode, and one past the last.
    pub first: Vec<u32>,
    /// The supernode of each column.
    pub node: Vec<u32>,
    /// First row of each supernode in `rows`, and one past the last.
    pub row_start: Vec<u32>,
    /// Positions of the rows of each supernode, its own columns first, ascending.
    pub rows: Vec<u32>,
    /// Where each panel begins, in octets, and one past the last.
    pub panel: Vec<usize>,
    /// Octets of a panel's column.
    pub stride: Vec<u32>,
    /// First source of each supernode in `source`, and one past the last.
    pub source_start: Vec<u32>,
    /// What updates each supernode, ascending.
    pub source: Vec<Source>,
    /// Where in the panels, counted in numbers, each entry of the given triangle goes.
    pub target: Vec<u32>,
    graph: Graph,
    tree: Tree,
}

/// The elimination tree of the groups, numbered in the order of elimination.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// First position of each group among the rows, and one past the last.
    begin: Vec<u32>,
    /// The later groups that each group's columns of L reach, ascending; the first is its parent.
    below: Vec<Vec<u32>>,
    place: Vec<u32>,
    mark: Vec<u32>,
}

impl Symbolic {
    /// Number of supernodes.
    pub fn nodes(&self) -> usize {
        self.stride.len()
    }

    /// Columns of supernode `s`.
    #[inline(always)]
    pub fn columns(&self, s: usize) -> std::ops::Range<usize> {
        self.first[s] as usize..self.first[s + 1] as usize
    }

    /// Rows of supernode `s`.
    #[inline(always)]
    pub fn rows(&self, s: usize) -> &[u32] {
        &self.rows[self.row_start[s] as usize..self.row_start[s + 1] as usize]
    }

    /// Octets of supernode `s`.
    #[inline(always)]
    pub fn octets(&self, s: usize) -> std::ops::Range<usize> {
        self.panel[s]..self.panel[s + 1]
    }

    /// What updates supernode `s`.
    #[inline(always)]
    pub fn sources(&self, s: usize) -> &[Source] {
        &self.source[self.source_start[s] as usize..self.source_start[s + 1] as usize]
    }

    /// Marks the supernodes that change where the row at position `i` goes out or comes back: those that hold
    /// it, and all from its own to the root.
    pub fn mark_affected(&self, i: usize, affected: &mut [bool]) {
        let mut s = self.node[i] as usize;
        for source in self.sources(s) {
            let run = source.begin as usize..source.end as usize;
            if self.rows(source.node as usize)[run].contains(&(i as u32)) {
                affected[source.node as usize] = true;
            }
        }
        while !std::mem::replace(&mut affected[s], true) {
            let Some(below) = self.rows(s).get(self.columns(s).len()) else {
                break;
            };
            s = self.node[*below as usize] as usize;
        }
    }

    /// Analyses the lower triangle, diagonal included, in compressed columns with ascending rows. Rows from
    /// `positive` on have negative pivots. Returns whether the factor has at most `most` entries; else there is nothing to
    /// use.
    ///
    /// # Panics
    /// When that is not what it gets.
    pub fn analyse(
        &mut self,
        n: usize,
        positive: usize,
        col_start: &[u32],
        row: &[u32],
        most: u64,
    ) -> bool {
        self.graph.refill(n, col_start, row);
        if !self.tree.grow(&self.graph, positive, most) {
            return false;
        }
        self.place_rows(n);
        self.cut(n);
        self.find_sources();
        self.find_targets(col_start, row);
        self.panel[self.nodes()] as u64 * LANES as u64 <= 2 * most
    }

    fn place_rows(&mut self, n: usize) {
        self.order.resize(n, 0);
        self.place.resize(n, 0);
        let mut next = self.tree.begin.clone();
        for (i, g) in self.graph.group.iter().enumerate() {
            let at = &mut next[self.tree.place[*g as usize] as usize];
            self.order[*at as usize] = i as u32;
            self.place[i] = *at;
            *at += 1;
        }
    }

    /// Supernodes of even width from the merged runs.
    fn cut(&mut self, n: usize) {
        self.first.clear();
        self.node.resize(n, 0);
        self.row_start.clear();
        self.row_start.push(0);
        self.rows.clear();
        self.panel.clear();
        self.panel.push(0);
        self.stride.clear();
        let mut end = 0;
        for (first, top) in self.tree.runs() {
            let [begin, stop] = [first, top + 1].map(|k| self.tree.begin[k]);
            let pieces = (stop - begin).div_ceil(WIDEST as u32);
            for piece in 0..pieces {
                let first = begin + (stop - begin) * piece / pieces;
                let last = begin + (stop - begin) * (piece + 1) / pieces;
                let s = self.first.len() as u32;
                self.first.push(first);
                self.node[first as usize..last as usize].fill(s);
                let from = self.rows.len();
                self.rows.extend(first..stop);
                for k in &self.tree.below[top] {
                    self.rows.extend(self.tree.rows(*k as usize));
                }
                let stride = (self.rows.len() - from).div_ceil(LANES);
                self.row_start.push(self.rows.len() as u32);
                self.stride.push(stride as u32);
                end += stride * (last - first) as usize;
                self.panel.push(end);
            }
        }
        self.first.push(n as u32);
    }

    /// The rows below each supernode in runs of one target.
    fn find_sources(&mut self) {
        let node = |row: u32| self.node[row as usize];
        let mut all = Vec::new();
        for s in 0..self.nodes() {
            let mut begin = self.columns(s).len();
            for run in self.rows(s)[begin..].chunk_by(|a, b| node(*a) == node(*b)) {
                let end = begin + run.len();
                let source = Source {
                    node: s as u32,
                    begin: begin as u32,
                    end: end as u32,
                };
                all.push((node(run[0]), source));
                begin = end;
            }
        }
        all.sort_by_key(|(target, _)| *target);
        let targets = 0..=self.nodes() as u32;
        self.source_start.clear();
        self.source_start
            .extend(targets.map(|s| all.partition_point(|(target, _)| *target < s) as u32));
        self.source.clear();
        self.source.extend(all.iter().map(|(_, source)| *source));
    }

    fn find_targets(&mut self, col_start: &[u32], row: &[u32]) {
        self.target.clear();
        for (j, entries) in col_start.windows(2).enumerate() {
            for i in &row[entries[0] as usize..entries[1] as usize] {
                let [p, q] = [self.place[j], self.place[*i as usize]];
                let (column, below) = (p.min(q), p.max(q));
                let s = self.node[column as usize] as usize;
                let stride = self.stride[s] * LANES as u32;
                let rows = self.rows(s);
                let at = rows.partition_point(|r| *r < below) as u32;
                let begin = (self.panel[s] * LANES) as u32;
                self.target
                    .push(begin + (column - self.first[s]) * stride + at);
            }
        }
    }
}

impl Tree {
    fn groups(&self) -> usize {
        self.place.len()
    }

    /// Positions of the rows of group `k`.
    fn rows(&self, k: usize) -> std::ops::Range<u32> {
        self.begin[k]..self.begin[k + 1]
    }

    /// Orders the groups, and finds what each reaches from the subtree of every row. Ends where the factor has more than so
    /// many entries, and returns whether it has not.
    fn grow(&mut self, graph: &Graph, positive: usize, most: u64) -> bool {
        let order = graph.minimum_degree(positive as u32);
        let groups = order.len();
        self.place.resize(groups, 0);
        self.begin.clear();
        self.begin.push(0);
        for (k, g) in order.iter().enumerate() {
            self.place[*g as usize] = k as u32;
            self.begin.push(self.begin[k] + graph.weight[*g as usize]);
        }
        self.below.resize_with(groups, Vec::new);
        for below in &mut self.below {
            below.clear();
        }
        self.mark.clear();
        self.mark.resize(groups, u32::MAX);
        let mut entries = 0;
        for (k, group) in order.iter().enumerate() {
            for h in graph.neighbours(*group) {
                let mut j = self.place[*h as usize] as usize;
                while j < k && self.mark[j] != k as u32 {
                    self.mark[j] = k as u32;
                    self.below[j].push(k as u32);
                    entries += self.rows(j).len() as u64 * self.rows(k).len() as u64;
                    j = self.below[j][0] as usize;
                }
            }
            if entries > most {
                self.below.clear();
                return false;
            }
        }
        true
    }

    /// Runs of groups that form supernodes, the first and the last of each: a group and its parent next to
    /// it, when they have the same rows or nearly so.
    fn runs(&self) -> Vec<(usize, usize)> {
        let rows_below = |k: usize| -> u32 {
            let groups = self.below[k].iter();
            groups.map(|h| self.rows(*h as usize).len() as u32).sum()
        };
        let mut runs = Vec::new();
        let mut k = 0;
        while k < self.groups() {
            let first = k;
            let mut below = rows_below(k);
            let mut zeros = 0;
            while self.below[k].first() == Some(&(k as u32 + 1)) {
                let width = self.begin[k + 1] - self.begin[first];
                let weight = self.rows(k + 1).len() as u32;
                let before = std::mem::replace(&mut below, rows_below(k + 1));
                let new = width * (weight + below - before);
                let size = (width + weight) * (width + weight + 2 * below) / 2;
                if new > 0 && f64::from(zeros + new) > PADDING * f64::from(size) {
                    break;
                }
                zeros += new;
                k += 1;
            }
            runs.push((first, k));
            k += 1;
        }
        runs
    }
}
