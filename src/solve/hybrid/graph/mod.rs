//! Balanced cuts of weighted graphs.
//!
//! A graph is cut by recursive bisection. Each bisection orders the vertices, takes the
//! cheapest cut position that is balanced enough, and refines it by Fiduccia–Mattheyses
//! passes. Inside, weights are whole numbers, so that sums are exact, ties are ties, and the
//! outcome depends on nothing but the graph.

mod fiedler;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use self::fiedler::spectral;

/// What all weights add up to about once they are whole numbers (-).
const SCALE: f64 = (1_u64 << 50) as f64;
/// The most Fiduccia–Mattheyses passes over one bisection.
const PASSES: usize = 8;

/// An undirected weighted graph in compressed rows, where each edge is stored both ways.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The row of vertex `v` is `start[v]..start[v + 1]` in the other two lists (-).
    pub start: Vec<u32>,
    /// The vertex at the far end of each edge (-).
    pub other: Vec<u32>,
    /// The weight of each edge (-).
    pub weight: Vec<f64>,
}

impl Graph {
    /// Builds the graph of `n` vertices from edges given once each. Parallel edges are summed,
    /// loops and edges that leave the graph are ignored, and a weight (-) that is negative or
    /// not finite counts as 0.
    pub fn from_edges(n: usize, edges: &[(u32, u32, f64)]) -> Self {
        let inside = |v: u32| (v as usize) < n;
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
        for &(a, b, weight) in edges {
            if a != b && inside(a) && inside(b) {
                rows[a as usize].push((b, clean(weight)));
                rows[b as usize].push((a, clean(weight)));
            }
        }
        let mut graph = Graph {
            start: vec![0],
            ..Self::default()
        };
        for mut row in rows {
            row.sort_by_key(|edge| edge.0);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                graph.other.push(same[0].0);
                graph
                    .weight
                    .push(same.iter().map(|edge| edge.1).sum::<f64>().min(f64::MAX));
            }
            graph.start.push(graph.other.len() as u32);
        }
        graph
    }

    /// Returns the number of vertices (-).
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Iterates over the neighbours of vertex `v` with the weights (-) of the edges to them. A
    /// vertex outside the graph has none.
    pub fn neighbours(&self, v: usize) -> impl Iterator<Item = (u32, f64)> {
        let row = if v < self.len() {
            self.start[v] as usize..self.start[v + 1] as usize
        } else {
            0..0
        };
        row.map(|e| (self.other[e], self.weight[e]))
    }
}

/// How a bisection puts the vertices in order before it chooses where to cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The vertices are taken from a far vertex on, the one with the largest share of its weight
    /// to those already taken first (greedy graph growing), or by their distances to two far
    /// vertices, whichever cuts less.
    Grown,
    /// The vertices are ordered by the Fiedler vector of the weighted Laplacian, or by one out of
    /// the plane of it and the next, whichever cuts less.
    Spectral,
}

/// Cuts `vertices` into parts of at most `most` vertices each (-), about equal in size and with
/// as little weight between parts as found. Returns the number of parts and, for each given
/// vertex, the number of its part; parts are numbered by their first appearance in `vertices`.
pub fn cut(graph: &Graph, vertices: &[u32], most: usize, order: Order) -> (usize, Vec<u32>) {
    let mut names = vertices.to_vec();
    names.sort_unstable();
    names.dedup();
    let n = names.len();
    if n <= most {
        return (n.min(1), vec![0; vertices.len()]);
    }
    let most = most.max(1);
    let local = Local::new(graph, &names);
    let mut part = split(&local, n.div_ceil(most), most, order);
    join_scraps(&local, &mut part, most);
    let mut number = BTreeMap::new();
    let found = vertices.iter().filter_map(|v| names.binary_search(v).ok());
    let parts = found.map(|at| {
        let next = number.len() as u32;
        *number.entry(part[at]).or_insert(next)
    });
    let parts = parts.collect();
    (number.len(), parts)
}

/// Returns the weight, or 0 in place of one that is negative or not finite.
fn clean(weight: f64) -> f64 {
    if weight.is_finite() {
        weight.max(0.0)
    } else {
        0.0
    }
}

/// A graph on the vertices `0..len()` whose weights are whole numbers of at least 1, so that
/// edges without weight still tell what hangs together.
struct Local {
    start: Vec<usize>,
    edges: Vec<(u32, i64)>,
}

/// How many vertices a bisection may put to the left.
#[derive(Clone, Copy)]
struct Window {
    low: usize,
    ideal: usize,
    high: usize,
}

impl Window {
    /// Returns the window for cutting `n` vertices into `k` parts of at most `most`, `k / 2` of
    /// them to the left: at most a quarter of a part from the ideal, which adds up to half a
    /// part at most over all the bisections above a part.
    fn new(n: usize, k: usize, most: usize) -> Self {
        let (left, right) = (k / 2, k - k / 2);
        let ideal = (n * left + k / 2) / k;
        let slack = (n / k / 4).max(1);
        Self {
            low: n
                .saturating_sub(right * most)
                .max(left)
                .max(ideal.saturating_sub(slack)),
            ideal,
            high: (left * most).min(n - right).min(ideal + slack),
        }
    }
}

impl Local {
    /// Takes the subgraph of the vertices `names`, which are sorted and distinct.
    fn new(graph: &Graph, names: &[u32]) -> Self {
        let (mut start, mut found) = (vec![0], Vec::new());
        for &name in names {
            let row = graph
                .neighbours(name as usize)
                .filter(|edge| edge.0 != name);
            found.extend(
                row.filter_map(|(u, w)| Some((names.binary_search(&u).ok()? as u32, clean(w)))),
            );
            start.push(found.len());
        }
        let largest = found
            .iter()
            .map(|edge| edge.1)
            .fold(f64::MIN_POSITIVE, f64::max);
        let total: f64 = found.iter().map(|edge| edge.1 / largest).sum();
        let whole = |w: f64| ((w / largest) * (SCALE / total.max(1.0))) as i64;
        let edges = found.iter().map(|&(u, w)| (u, whole(w).max(1))).collect();
        Self { start, edges }
    }

    /// Takes the subgraph of `members`, which are sorted and distinct.
    fn induced(&self, members: &[u32]) -> Self {
        let mut place = vec![u32::MAX; self.len()];
        for (at, &v) in members.iter().enumerate() {
            place[v as usize] = at as u32;
        }
        let (mut start, mut edges) = (vec![0], Vec::new());
        for &v in members {
            let row = self.row(v).iter().map(|&(u, w)| (place[u as usize], w));
            edges.extend(row.filter(|edge| edge.0 != u32::MAX));
            start.push(edges.len());
        }
        Self { start, edges }
    }

    fn len(&self) -> usize {
        self.start.len() - 1
    }

    fn row(&self, v: u32) -> &[(u32, i64)] {
        &self.edges[self.start[v as usize]..self.start[v as usize + 1]]
    }

    /// Returns the weight at `v` to vertices that `inside` holds of, less the weight to others.
    fn gain(&self, v: u32, inside: impl Fn(usize) -> bool) -> i64 {
        let signed = |&(u, w): &(u32, i64)| if inside(u as usize) { w } else { -w };
        self.row(v).iter().map(signed).sum()
    }

    /// Returns the pieces, each sorted, in which the vertices of equal label hang together.
    fn pieces(&self, label: &[u32]) -> Vec<Vec<u32>> {
        let mut seen = vec![false; self.len()];
        let mut pieces = Vec::new();
        for first in 0..self.len() as u32 {
            if std::mem::replace(&mut seen[first as usize], true) {
                continue;
            }
            let (mut piece, mut at) = (vec![first], 0);
            while let Some(&v) = piece.get(at) {
                at += 1;
                for &(u, _) in self.row(v) {
                    let u_at = u as usize;
                    if label[u_at] == label[v as usize] && !std::mem::replace(&mut seen[u_at], true)
                    {
                        piece.push(u);
                    }
                }
            }
            piece.sort_unstable();
            pieces.push(piece);
        }
        pieces
    }

    /// Returns the number of edges from `from` to each vertex of a connected graph, and the
    /// first of the vertices that are farthest.
    fn distances(&self, from: u32) -> (Vec<u32>, u32) {
        let mut distance = vec![u32::MAX; self.len()];
        distance[from as usize] = 0;
        let (mut queue, mut at) = (vec![from], 0);
        while let Some(&v) = queue.get(at) {
            at += 1;
            for &(u, _) in self.row(v) {
                if distance[u as usize] == u32::MAX {
                    distance[u as usize] = distance[v as usize] + 1;
                    queue.push(u);
                }
            }
        }
        let far = queue
            .iter()
            .copied()
            .max_by_key(|&v| (distance[v as usize], Reverse(v)));
        (distance, far.unwrap_or(from))
    }

    /// Returns two vertices of a connected graph that are about as far apart as any.
    fn ends(&self) -> (u32, u32) {
        let (mut a, mut reach) = (0, 0);
        loop {
            let (distance, b) = self.distances(a);
            if distance[b as usize] <= reach {
                return (a, b);
            }
            (a, reach) = (b, distance[b as usize]);
        }
    }
}

/// Cuts a graph into `k` parts of at most `most` vertices and returns the part of each vertex.
fn split(graph: &Local, k: usize, most: usize, order: Order) -> Vec<u32> {
    let mut part = vec![0; graph.len()];
    if k < 2 {
        return part;
    }
    let right = bisect(graph, Window::new(graph.len(), k, most), order);
    for (side, count, base) in [(false, k / 2, 0), (true, k - k / 2, k / 2)] {
        let members: Vec<u32> = (0..graph.len() as u32)
            .filter(|&v| right[v as usize] == side)
            .collect();
        let inner = split(&graph.induced(&members), count, most, order);
        for (&v, inner) in members.iter().zip(inner) {
            part[v as usize] = base as u32 + inner;
        }
    }
    part
}

/// Cuts a graph in two and says of each vertex whether it is to the right. Whole components go
/// to the left by falling size while they fit, and one is cut only where that is not enough.
fn bisect(graph: &Local, window: Window, order: Order) -> Vec<bool> {
    let mut pieces = graph.pieces(&vec![0; graph.len()]);
    if pieces.len() == 1 {
        return bisect_connected(graph, window, order);
    }
    pieces.sort_by_key(|piece| Reverse(piece.len()));
    let mut right = vec![true; graph.len()];
    let (mut taken, mut last) = (0, None);
    for piece in &pieces {
        if taken + piece.len() <= window.ideal {
            taken += piece.len();
            piece.iter().for_each(|&v| right[v as usize] = false);
        } else {
            last = Some(piece);
        }
    }
    if let Some(piece) = last.filter(|_| taken < window.low) {
        let inner = if taken + piece.len() <= window.high {
            vec![false; piece.len()]
        } else {
            let rest = Window {
                low: window.low - taken,
                ideal: window.ideal - taken,
                high: window.high - taken,
            };
            bisect_connected(&graph.induced(piece), rest, order)
        };
        piece
            .iter()
            .zip(inner)
            .for_each(|(&v, side)| right[v as usize] = side);
    }
    right
}

/// Cuts a connected graph in two and says of each vertex whether it is to the right.
fn bisect_connected(graph: &Local, window: Window, order: Order) -> Vec<bool> {
    let orders = match order {
        Order::Grown => {
            let (a, b) = graph.ends();
            vec![grow(graph, a), grow(graph, b), between(graph, a, b)]
        }
        Order::Spectral => spectral(graph),
    };
    let both_ways = orders.into_iter().flat_map(|order| {
        let back = order.iter().rev().copied().collect();
        [order, back]
    });
    let cuts = both_ways.map(|order| {
        let mut right = sweep(graph, &order, window);
        let cost = refine(graph, &mut right, window);
        (cost, right)
    });
    cuts.min_by_key(|cut| cut.0)
        .map_or_else(Vec::new, |cut| cut.1)
}

/// Orders a connected graph from `seed` on by the share of a vertex's weight that goes to
/// vertices taken before it.
fn grow(graph: &Local, seed: u32) -> Vec<u32> {
    let mut inside = vec![0; graph.len()];
    let whole: Vec<i64> = (0..graph.len() as u32)
        .map(|v| graph.gain(v, |_| true))
        .collect();
    let mut taken = vec![false; graph.len()];
    let mut heap = BinaryHeap::from([(0, Reverse(seed))]);
    let mut order = Vec::with_capacity(graph.len());
    while let Some((_, Reverse(v))) = heap.pop() {
        if std::mem::replace(&mut taken[v as usize], true) {
            continue;
        }
        order.push(v);
        for &(u, w) in graph.row(v) {
            let at = u as usize;
            if !taken[at] {
                inside[at] += w;
                let share = SCALE * inside[at] as f64 / whole[at] as f64;
                heap.push((share as i64, Reverse(u)));
            }
        }
    }
    order
}

/// Orders a connected graph by how much nearer its vertices are to `a` than to `b`.
fn between(graph: &Local, a: u32, b: u32) -> Vec<u32> {
    let (from_a, from_b) = (graph.distances(a).0, graph.distances(b).0);
    let mut order: Vec<u32> = (0..graph.len() as u32).collect();
    order.sort_by_key(|&v| i64::from(from_a[v as usize]) - i64::from(from_b[v as usize]));
    order
}

/// Returns the best cut of `order` within the window: who is to the right.
fn sweep(graph: &Local, order: &[u32], window: Window) -> Vec<bool> {
    let mut right = vec![true; graph.len()];
    let (mut cost, mut best) = (0, (i64::MAX, 0, window.ideal));
    for (at, &v) in order.iter().enumerate().take(window.high) {
        cost += graph.gain(v, |u| right[u]);
        right[v as usize] = false;
        if at + 1 >= window.low {
            best = best.min((cost, window.ideal.abs_diff(at + 1), at + 1));
        }
    }
    order
        .iter()
        .enumerate()
        .for_each(|(at, &v)| right[v as usize] = at >= best.2);
    right
}

/// Moves vertices across a cut while that makes it cheaper, or as cheap and nearer to ideal;
/// returns the weight it cuts and how far it is from ideal.
fn refine(graph: &Local, right: &mut [bool], window: Window) -> (i64, usize) {
    let outer = |v: u32| graph.row(v).iter().filter(|edge| right[edge.0 as usize]);
    let left = (0..graph.len() as u32).filter(|&v| !right[v as usize]);
    let weight = left.clone().flat_map(outer).map(|edge| edge.1).sum();
    let mut best = (weight, left.count().abs_diff(window.ideal));
    for _ in 0..PASSES {
        let found = pass(graph, right, window, best);
        if found >= best {
            break;
        }
        best = found;
    }
    best
}

/// Makes one Fiduccia–Mattheyses pass: moves each vertex at most once, best gain first, even at
/// a loss and one vertex beyond the window, and goes back to the best cut seen.
fn pass(graph: &Local, right: &mut [bool], window: Window, from: (i64, usize)) -> (i64, usize) {
    let mut queues = Queues::new(graph, right);
    let mut left = queues.heaps[0].len();
    let (mut cost, mut best, mut keep, mut moves) = (from.0, from, 0, Vec::new());
    let patience = 50 + graph.len() / 50;
    while moves.len() < keep + patience {
        let leave = queues.top(0).filter(|_| left > 1 && left >= window.low);
        let enter = queues
            .top(1)
            .filter(|_| left + 1 < graph.len() && left <= window.high);
        let (gain, v) = match (leave, enter) {
            (Some(a), Some(b)) if a.0 > b.0 || (a.0 == b.0 && left > window.ideal) => a,
            (_, Some(b)) => b,
            (Some(a), None) => a,
            (None, None) => break,
        };
        left = if right[v as usize] {
            left + 1
        } else {
            left - 1
        };
        queues.shift(graph, right, v);
        moves.push(v);
        cost -= gain;
        let now = (cost, left.abs_diff(window.ideal));
        if now < best && (window.low..=window.high).contains(&left) {
            (best, keep) = (now, moves.len());
        }
    }
    moves[keep..]
        .iter()
        .for_each(|&v| right[v as usize] = !right[v as usize]);
    best
}

/// The vertices that a pass has yet to move, by side and gain; outdated entries stay in the
/// heaps until they come up.
struct Queues {
    gain: Vec<i64>,
    moved: Vec<bool>,
    heaps: [BinaryHeap<(i64, Reverse<u32>)>; 2],
}

impl Queues {
    fn new(graph: &Local, right: &[bool]) -> Self {
        let gain = |v: u32| graph.gain(v, |u| right[u] != right[v as usize]);
        let gain: Vec<i64> = (0..graph.len() as u32).map(gain).collect();
        let mut sides = [Vec::new(), Vec::new()];
        for (v, &side) in right.iter().enumerate() {
            sides[usize::from(side)].push((gain[v], Reverse(v as u32)));
        }
        Self {
            gain,
            moved: vec![false; right.len()],
            heaps: sides.map(BinaryHeap::from),
        }
    }

    /// Returns the vertex of a side that is best to move, after its gain.
    fn top(&mut self, side: usize) -> Option<(i64, u32)> {
        while let Some(&(gain, Reverse(v))) = self.heaps[side].peek() {
            if gain == self.gain[v as usize] && !self.moved[v as usize] {
                return Some((gain, v));
            }
            self.heaps[side].pop();
        }
        None
    }

    /// Moves vertex `v` to the other side for the rest of the pass.
    fn shift(&mut self, graph: &Local, right: &mut [bool], v: u32) {
        let side = !right[v as usize];
        right[v as usize] = side;
        self.moved[v as usize] = true;
        for &(u, w) in graph.row(v) {
            let at = u as usize;
            if !self.moved[at] {
                self.gain[at] += if right[at] == side { -2 * w } else { 2 * w };
                self.heaps[usize::from(right[at])].push((self.gain[at], Reverse(u)));
            }
        }
    }
}

/// Gives the lesser pieces of a part that does not hang together to the parts they are bound to
/// most strongly, as far as these stay within `most` vertices.
fn join_scraps(graph: &Local, part: &mut [u32], most: usize) {
    for _ in 0..PASSES {
        let pieces = graph.pieces(part);
        let (mut size, mut main) = (BTreeMap::new(), BTreeMap::new());
        for (at, piece) in pieces.iter().enumerate() {
            let home = part[piece[0] as usize];
            *size.entry(home).or_insert(0) += piece.len();
            let largest = main.entry(home).or_insert(at);
            if pieces[*largest].len() < piece.len() {
                *largest = at;
            }
        }
        let mut changed = false;
        for (at, piece) in pieces.iter().enumerate() {
            let home = part[piece[0] as usize];
            if main.get(&home) == Some(&at) {
                continue;
            }
            let mut pull = BTreeMap::new();
            let rows = piece.iter().flat_map(|&v| graph.row(v));
            for &(u, w) in rows.filter(|edge| piece.binary_search(&edge.0).is_err()) {
                *pull.entry(part[u as usize]).or_insert(0) += w;
            }
            if pull.contains_key(&home) {
                continue;
            }
            pull.retain(|to, _| size[to] + piece.len() <= most);
            if let Some((&to, _)) = pull.iter().max_by_key(|(to, w)| (**w, Reverse(**to))) {
                piece.iter().for_each(|&v| part[v as usize] = to);
                *size.entry(to).or_insert(0) += piece.len();
                *size.entry(home).or_insert(0) -= piece.len();
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}
