//! What a pattern alone decides: the order, the elimination tree (Liu 1990), and the supernodes, runs
//! of columns of L with the same rows below them, stored as dense panels.

use super::order::{Graph, MinimumDegree};

/// No supernode.
pub const NONE: u32 = u32::MAX;
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
    pub place: Vec<u32>,
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
    /// The supernode of the first row below each, or [`NONE`].
    pub parent: Vec<u32>,
    /// First source of each supernode in `source`, and one past the last.
    pub source_start: Vec<u32>,
    /// What updates each supernode, ascending.
    pub source: Vec<Source>,
    /// Where in the panels, counted in numbers, each entry of the given triangle goes.
    pub target: Vec<u32>,
    graph: Graph,
    degree: MinimumDegree,
    tree: Tree,
    map: Vec<u32>,
}

/// The elimination tree of the groups, in positions of groups.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// The group at each position.
    order: Vec<u32>,
    place: Vec<u32>,
    parent: Vec<u32>,
    /// Rows of each group, and rows below it in L.
    weight: Vec<u32>,
    below: Vec<u32>,
    /// Whether the group is the last of its supernode, and where its rows below go.
    top: Vec<bool>,
    cursor: Vec<u32>,
    /// First position of each group among the rows.
    begin: Vec<u32>,
    mark: Vec<u32>,
    ancestor: Vec<u32>,
    child: Vec<u32>,
    sibling: Vec<u32>,
    stack: Vec<u32>,
    reordered: Vec<u32>,
    /// Merged runs: first column, one past the last, and the top group.
    runs: Vec<(u32, u32, u32)>,
    /// Groups below each top group.
    list: Vec<u32>,
    list_start: Vec<u32>,
}

impl Symbolic {
    /// Number of supernodes.
    pub fn nodes(&self) -> usize {
        self.parent.len()
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
        let mut node = self.node[i];
        for source in self.sources(node as usize) {
            let run = source.begin as usize..source.end as usize;
            if self.rows(source.node as usize)[run].contains(&(i as u32)) {
                affected[source.node as usize] = true;
            }
        }
        while node != NONE && !std::mem::replace(&mut affected[node as usize], true) {
            node = self.parent[node as usize];
        }
    }

    /// Analyses the lower triangle, diagonal included, in compressed columns with ascending rows.
    ///
    /// # Panics
    /// When that is not what it gets.
    pub fn analyse(&mut self, n: usize, col_start: &[u32], row: &[u32]) {
        self.graph.refill(n, col_start, row);
        self.degree.order(&self.graph, &mut self.tree.order);
        self.tree.grow(&self.graph);
        self.tree.count(&self.graph);
        self.place_rows(n);
        self.tree.merge();
        self.tree.list_rows(&self.graph);
        self.cut(n);
        self.find_sources();
        self.find_targets(row.len());
    }

    fn place_rows(&mut self, n: usize) {
        self.order.clear();
        self.place.resize(n, 0);
        self.tree.begin.clear();
        for &g in &self.tree.order {
            self.tree.begin.push(self.order.len() as u32);
            for &i in self.graph.members(g as usize) {
                self.place[i as usize] = self.order.len() as u32;
                self.order.push(i);
            }
        }
        self.tree.begin.push(n as u32);
    }

    /// Supernodes of even width from the merged runs.
    fn cut(&mut self, n: usize) {
        self.first.clear();
        self.node.clear();
        self.node.resize(n, 0);
        self.row_start.clear();
        self.row_start.push(0);
        self.rows.clear();
        self.panel.clear();
        self.panel.push(0);
        self.stride.clear();
        let mut end = 0;
        for &(begin, stop, top) in &self.tree.runs {
            let pieces = (stop - begin).div_ceil(WIDEST as u32);
            for piece in 0..pieces {
                let first = begin + (stop - begin) * piece / pieces;
                let last = begin + (stop - begin) * (piece + 1) / pieces;
                let s = self.first.len() as u32;
                self.first.push(first);
                self.node[first as usize..last as usize].fill(s);
                let from = self.rows.len();
                self.rows.extend(first..stop);
                for &k in self.tree.rows_below(top as usize) {
                    let k = k as usize;
                    self.rows.extend(self.tree.begin[k]..self.tree.begin[k + 1]);
                }
                let stride = (self.rows.len() - from).div_ceil(LANES);
                self.row_start.push(self.rows.len() as u32);
                self.stride.push(stride as u32);
                end += stride * (last - first) as usize;
                self.panel.push(end);
            }
        }
        let nodes = self.first.len();
        self.first.push(n as u32);
        self.parent.clear();
        for s in 0..nodes {
            let below = self.rows(s).get(self.columns(s).len());
            let parent = below.map_or(NONE, |r| self.node[*r as usize]);
            self.parent.push(parent);
        }
    }

    fn find_sources(&mut self) {
        let nodes = self.nodes();
        let mut start = std::mem::take(&mut self.source_start);
        start.clear();
        start.resize(nodes + 1, 0);
        for s in 0..nodes {
            self.for_each_run(s, |target, _| start[target + 1] += 1);
        }
        for s in 0..nodes {
            start[s + 1] += start[s];
        }
        let mut source = std::mem::take(&mut self.source);
        let unset = Source {
            node: NONE,
            begin: 0,
            end: 0,
        };
        source.clear();
        source.resize(start[nodes] as usize, unset);
        self.map.clear();
        self.map.extend_from_slice(&start[..nodes]);
        let mut cursor = std::mem::take(&mut self.map);
        for s in 0..nodes {
            self.for_each_run(s, |target, run| {
                source[cursor[target] as usize] = run;
                cursor[target] += 1;
            });
        }
        self.map = cursor;
        self.source_start = start;
        self.source = source;
    }

    /// The rows below supernode `s` in runs of one target.
    fn for_each_run(&self, s: usize, mut f: impl FnMut(usize, Source)) {
        let rows = self.rows(s);
        let mut begin = self.columns(s).len();
        while begin < rows.len() {
            let target = self.node[rows[begin] as usize] as usize;
            let last = self.first[target + 1];
            let length = rows[begin..].iter().take_while(|r| **r < last).count();
            let run = Source {
                node: s as u32,
                begin: begin as u32,
                end: (begin + length) as u32,
            };
            f(target, run);
            begin += length;
        }
    }

    fn find_targets(&mut self, entries: usize) {
        self.target.resize(entries, 0);
        self.map.clear();
        self.map.resize(self.order.len(), 0);
        for s in 0..self.nodes() {
            let rows = self.row_start[s] as usize..self.row_start[s + 1] as usize;
            for (k, r) in self.rows[rows].iter().enumerate() {
                self.map[*r as usize] = k as u32;
            }
            let mut at = (self.panel[s] * LANES) as u32;
            for column in self.columns(s) {
                let i = self.order[column] as usize;
                for e in self.graph.start[i] as usize..self.graph.start[i + 1] as usize {
                    let position = self.place[self.graph.neighbour[e] as usize];
                    if position as usize >= column {
                        self.target[self.graph.entry[e] as usize] =
                            at + self.map[position as usize];
                    }
                }
                at += self.stride[s] * LANES as u32;
            }
        }
    }
}

impl Tree {
    fn groups(&self) -> usize {
        self.order.len()
    }

    /// The elimination tree in the given order, and then that order made a postorder.
    fn grow(&mut self, graph: &Graph) {
        let groups = self.groups();
        self.renumber();
        for unset in [&mut self.parent, &mut self.ancestor] {
            unset.clear();
            unset.resize(groups, NONE);
        }
        for k in 0..groups {
            for h in graph.group_neighbours(self.order[k] as usize) {
                let mut i = self.place[*h as usize] as usize;
                while i < k {
                    let up = std::mem::replace(&mut self.ancestor[i], k as u32);
                    if up == NONE {
                        self.parent[i] = k as u32;
                        break;
                    }
                    i = up as usize;
                }
            }
        }
        self.postorder();
        self.renumber();
    }

    fn renumber(&mut self) {
        self.place.resize(self.order.len(), 0);
        for (k, g) in self.order.iter().enumerate() {
            self.place[*g as usize] = k as u32;
        }
    }

    fn postorder(&mut self) {
        let groups = self.groups();
        for unset in [&mut self.child, &mut self.sibling] {
            unset.clear();
            unset.resize(groups, NONE);
        }
        self.stack.clear();
        // The child that is eliminated last comes right before its parent, so that they can merge.
        for k in (0..groups).rev() {
            let parent = self.parent[k];
            if parent == NONE {
                continue;
            }
            self.sibling[k] = std::mem::replace(&mut self.child[parent as usize], k as u32);
        }
        // New number of each group, in `ancestor`.
        self.reordered.clear();
        for root in 0..groups {
            if self.parent[root] != NONE {
                continue;
            }
            self.stack.push(root as u32);
            while let Some(&k) = self.stack.last() {
                let child = std::mem::replace(&mut self.child[k as usize], NONE);
                if child == NONE {
                    self.stack.pop();
                    self.ancestor[k as usize] = self.reordered.len() as u32;
                    self.reordered.push(self.order[k as usize]);
                } else {
                    self.child[k as usize] = self.sibling[child as usize];
                    self.stack.push(child);
                }
            }
        }
        std::mem::swap(&mut self.order, &mut self.reordered);
        self.mark.resize(groups, 0);
        for k in 0..groups {
            let parent = match self.parent[k] {
                NONE => NONE,
                p => self.ancestor[p as usize],
            };
            self.mark[self.ancestor[k] as usize] = parent;
        }
        std::mem::swap(&mut self.parent, &mut self.mark);
    }

    /// Rows below each group in L, from the subtree of every row.
    fn count(&mut self, graph: &Graph) {
        let groups = self.groups();
        self.weight.clear();
        self.weight
            .extend(self.order.iter().map(|g| graph.weight(*g as usize)));
        self.below.clear();
        self.below.resize(groups, 0);
        self.mark.clear();
        self.mark.resize(groups, NONE);
        for k in 0..groups {
            self.mark[k] = k as u32;
            for h in graph.group_neighbours(self.order[k] as usize) {
                let mut j = self.place[*h as usize] as usize;
                while j < k && self.mark[j] != k as u32 {
                    self.mark[j] = k as u32;
                    self.below[j] += self.weight[k];
                    j = self.parent[j] as usize;
                }
            }
        }
    }

    /// Runs of groups that form supernodes: a group and its parent next to it, when they have the same
    /// rows or nearly so.
    fn merge(&mut self) {
        let groups = self.groups();
        self.runs.clear();
        self.top.clear();
        self.top.resize(groups, false);
        let mut k = 0;
        while k < groups {
            let begin = self.begin[k];
            let mut width = self.weight[k];
            let mut zeros = 0;
            while self.parent[k] == k as u32 + 1 {
                let (weight, below) = (self.weight[k + 1], self.below[k + 1]);
                let new = width * (weight + below - self.below[k]);
                let size = (width + weight) * (width + weight + 2 * below) / 2;
                if new > 0 && f64::from(zeros + new) > PADDING * f64::from(size) {
                    break;
                }
                zeros += new;
                width += weight;
                k += 1;
            }
            self.top[k] = true;
            self.runs.push((begin, begin + width, k as u32));
            k += 1;
        }
    }

    /// The groups below each top group, ascending.
    fn list_rows(&mut self, graph: &Graph) {
        let groups = self.groups();
        // Each top group has room for its rows; groups are no more than these.
        self.list_start.clear();
        self.cursor.clear();
        let mut room = 0;
        for k in 0..groups {
            self.list_start.push(room);
            self.cursor.push(room);
            room += if self.top[k] { self.below[k] } else { 0 };
        }
        self.list.resize(room as usize, 0);
        self.mark.clear();
        self.mark.resize(groups, NONE);
        for k in 0..groups {
            self.mark[k] = k as u32;
            for h in graph.group_neighbours(self.order[k] as usize) {
                let mut j = self.place[*h as usize] as usize;
                while j < k && self.mark[j] != k as u32 {
                    self.mark[j] = k as u32;
                    if self.top[j] {
                        self.list[self.cursor[j] as usize] = k as u32;
                        self.cursor[j] += 1;
                    }
                    j = self.parent[j] as usize;
                }
            }
        }
    }

    fn rows_below(&self, top: usize) -> &[u32] {
        &self.list[self.list_start[top] as usize..self.cursor[top] as usize]
    }
}
