//! Colouring the edges of the body graph, so that edges of one colour share no body that moves and
//! can be solved at the same time (Poulsen 2010, 4.3; Nützi 2011, 7).
//!
//! An edge is what is solved in one piece: all points between two bodies, or the rows of a joint on
//! up to four bodies. Fixed bodies take no colour: impulses do not move them, so that they couple
//! nothing. A hub that moves needs as many colours as it has edges; the caller may merge the small
//! ones.
//!
//! Colours are kept from step to step. Where edges came or went only those are coloured anew, so
//! that they cost a walk over two sorted lists. They are part of what the next step depends on.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Stands for no body in an [`Edge`].
pub use crate::problem::islands::NO_ISLAND as NO_BODY;

/// The moving bodies of one edge, ascending, [`NO_BODY`] behind them.
pub type Edge = [u32; 4];

/// How a colour is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// The lowest that is free: few colours, large first ones.
    #[default]
    Greedy,
    /// The one in least use, of as many as the highest edge degree: even colours.
    Balanced,
}

/// Which colours each body has on its edges.
#[derive(Clone, Debug, Default)]
struct Used {
    /// Colours 0 to 63 of each body.
    low: Vec<u64>,
    /// Those from 64 on, for the few bodies with more.
    high: HashMap<u32, Vec<u64>>,
}

impl Used {
    fn reset(&mut self, bodies: usize) {
        self.low.clear();
        self.low.resize(bodies, 0);
        self.high.values_mut().for_each(Vec::clear);
    }

    fn mark(&mut self, edge: &Edge, color: u32) {
        let (word, bit) = (color as usize / 64, 1 << (color % 64));
        for b in bodies(edge) {
            let colors = match word {
                0 => &mut self.low[b as usize],
                _ => {
                    let high = self.high.entry(b).or_default();
                    high.resize(high.len().max(word), 0);
                    &mut high[word - 1]
                }
            };
            *colors |= bit;
        }
    }

    /// The colours below 64 that any body of the edge has.
    fn low_of(&self, edge: &Edge) -> u64 {
        bodies(edge).fold(0, |used, b| used | self.low[b as usize])
    }

    /// Words of the colours that any body of the edge has, by their numbers.
    fn words(&self, edge: &Edge) -> impl Fn(usize) -> u64 {
        let low = self.low_of(edge);
        let high = edge.map(|b| self.high.get(&b).map_or(&[][..], Vec::as_slice));
        move |word| match word {
            0 => low,
            _ => {
                let words = high.iter().filter_map(|words| words.get(word - 1));
                words.fold(0, |used, word| used | word)
            }
        }
    }

    fn is_free(&self, edge: &Edge, color: u32) -> bool {
        let used = match color / 64 {
            0 => self.low_of(edge),
            word => self.words(edge)(word as usize),
        };
        !has(used, color)
    }

    fn lowest_free(&self, edge: &Edge) -> u32 {
        let low = self.low_of(edge);
        if low != u64::MAX {
            return low.trailing_ones();
        }
        let used = self.words(edge);
        let mut word = 1;
        while used(word) == u64::MAX {
            word += 1;
        }
        word as u32 * 64 + used(word).trailing_ones()
    }
}

/// Whether a colour is in its word.
fn has(word: u64, color: u32) -> bool {
    word & (1 << (color % 64)) != 0
}

fn bodies(edge: &Edge) -> impl Iterator<Item = u32> + '_ {
    edge.iter().copied().take_while(|b| *b != NO_BODY)
}

/// The colours of all edges, kept from step to step.
#[derive(Clone, Debug, Default)]
pub struct Coloring {
    kept: Kept,
    used: Used,
    old_keys: Vec<u64>,
    old_color: Vec<u32>,
    degree: Vec<u32>,
}

/// What the next coloring depends on, as stored in snapshots.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// What each of the edges coloured last is recognised by.
    keys: Vec<u64>,
    /// Their colours.
    color: Vec<u32>,
    /// Edges per colour.
    count: Vec<u32>,
    /// Colours there were after the last coloring from nothing.
    fresh: u32,
}

/// Marks an edge that has no colour yet.
const NONE: u32 = u32::MAX;

impl Coloring {
    /// The colour of each edge.
    pub fn colors(&self) -> &[u32] {
        &self.kept.color
    }

    /// Number of edges of each colour; no colour beyond these is in use.
    pub fn counts(&self) -> &[u32] {
        &self.kept.count
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.kept.keys.clear();
        self.kept.color.clear();
        self.kept.count.clear();
        self.kept.fresh = 0;
    }

    /// Colours `edges`, keeping what can be kept of the last call's colours: an edge keeps its colour
    /// if its key was there. Keys in ascending order are matched; others are coloured from nothing.
    pub fn update(&mut self, bodies: usize, keys: &[u64], edges: &[Edge], strategy: Strategy) {
        debug_assert_eq!(keys.len(), edges.len());
        std::mem::swap(&mut self.kept.keys, &mut self.old_keys);
        std::mem::swap(&mut self.kept.color, &mut self.old_color);
        self.kept.keys.clear();
        self.kept.keys.extend_from_slice(keys);
        if !self.old_keys.is_empty() && self.old_keys.is_sorted() && keys.is_sorted() {
            self.begin(bodies, edges);
            self.keep(edges);
            self.choose(edges, strategy);
            // New edges fill gaps, so that colours seldom grow; but never let them pile up.
            let fresh = self.kept.fresh;
            let most = fresh.saturating_add(fresh / 2).saturating_add(2);
            if self.kept.count.len() as u32 <= most {
                return;
            }
        }
        self.begin(bodies, edges);
        self.choose(edges, strategy);
        self.kept.fresh = self.kept.count.len() as u32;
    }

    fn begin(&mut self, bodies: usize, edges: &[Edge]) {
        self.used.reset(bodies);
        self.kept.count.clear();
        self.kept.color.clear();
        self.kept.color.resize(edges.len(), NONE);
    }

    /// Edges that were there the last time keep their colours. A body may have become free to move,
    /// so that even then a colour may be taken.
    fn keep(&mut self, edges: &[Edge]) {
        let mut at = 0;
        for (k, (key, edge)) in self.kept.keys.iter().zip(edges).enumerate() {
            while at < self.old_keys.len() && self.old_keys[at] < *key {
                at += 1;
            }
            if at == self.old_keys.len() {
                break;
            }
            if self.old_keys[at] == *key {
                let color = self.old_color[at];
                at += 1;
                if self.used.is_free(edge, color) {
                    self.used.mark(edge, color);
                    note(&mut self.kept.count, color);
                    self.kept.color[k] = color;
                }
            }
        }
    }

    /// Colours for the edges that have none.
    fn choose(&mut self, edges: &[Edge], strategy: Strategy) {
        let most = match strategy {
            Strategy::Greedy => 0,
            Strategy::Balanced => self.highest_edge_degree(edges),
        };
        if most > self.kept.count.len() {
            self.kept.count.resize(most, 0);
        }
        for (edge, color) in edges.iter().zip(&mut self.kept.color) {
            if *color != NONE {
                continue;
            }
            *color = match strategy {
                Strategy::Greedy => self.used.lowest_free(edge),
                Strategy::Balanced => {
                    let used = self.used.words(edge);
                    (0..self.kept.count.len() as u32)
                        .filter(|c| !has(used(*c as usize / 64), *c))
                        .min_by_key(|c| self.kept.count[*c as usize])
                        .unwrap_or_else(|| self.used.lowest_free(edge))
                }
            };
            self.used.mark(edge, *color);
            note(&mut self.kept.count, *color);
        }
        while self.kept.count.last() == Some(&0) {
            self.kept.count.pop();
        }
    }

    /// The largest number of other edges that meet in one edge: as many colours as the thesis takes
    /// for the balanced strategy (Poulsen 2010, 4.3). Seldom one more is needed.
    fn highest_edge_degree(&mut self, edges: &[Edge]) -> usize {
        self.degree.clear();
        self.degree.resize(self.used.low.len(), 0);
        for b in edges.iter().flat_map(bodies) {
            self.degree[b as usize] += 1;
        }
        let degree = |e: &Edge| -> u32 { bodies(e).map(|b| self.degree[b as usize] - 1).sum() };
        edges.iter().map(degree).max().map_or(0, |d| d.max(1)) as usize
    }

    /// What the next call depends on.
    pub fn state(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.kept).unwrap_or_default()
    }

    /// Takes back what [`Coloring::state`] gave; anything else forgets all.
    pub fn set_state(&mut self, state: &[u8]) {
        self.clear();
        if let Ok(kept) = postcard::from_bytes::<Kept>(state)
            && kept.keys.len() == kept.color.len()
            && kept.color.iter().all(|c| (*c as usize) < kept.count.len())
            && kept.count.len() <= kept.keys.len()
        {
            self.kept = kept;
        }
    }
}

fn note(count: &mut Vec<u32>, color: u32) {
    let color = color as usize;
    if color >= count.len() {
        count.resize(color + 1, 0);
    }
    count[color] += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// Whether no two edges of one colour share a body.
    fn is_proper(edges: &[Edge], color: &[u32]) -> bool {
        if edges.len() != color.len() {
            return false;
        }
        let mut seen: Vec<(u32, u32)> = edges
            .iter()
            .zip(color)
            .flat_map(|(edge, c)| bodies(edge).map(move |b| (*c, b)))
            .collect();
        seen.sort_unstable();
        seen.windows(2).all(|w| w[0] != w[1])
    }

    /// The contacts of a ball grid with n³ balls, in the order x, y, z, ground.
    fn grid(n: u32, ground: bool) -> Vec<Edge> {
        let id = |x: u32, y: u32, z: u32| 1 + x + n * (y + n * z);
        let mut edges = Vec::new();
        for axis in 0..3 {
            for z in 0..n {
                for y in 0..n {
                    for x in 0..n {
                        let mut next = [x, y, z];
                        next[axis] += 1;
                        if next[axis] < n {
                            let [a, b, c] = next;
                            edges.push([id(x, y, z), id(a, b, c), NO_BODY, NO_BODY]);
                        }
                    }
                }
            }
        }
        for z in 0..n {
            for x in 0..n {
                let ball = id(x, 0, z);
                edges.push(if ground {
                    [0, ball, NO_BODY, NO_BODY]
                } else {
                    [ball, NO_BODY, NO_BODY, NO_BODY]
                });
            }
        }
        edges
    }

    /// A key from the edge itself, ascending where the edges are.
    fn keys(edges: &[Edge]) -> Vec<u64> {
        let digit = |b: u32| u64::from(b.min(255));
        edges
            .iter()
            .map(|e| e.iter().fold(0, |key, b| key << 8 | digit(*b)))
            .collect()
    }

    #[test]
    fn greedy_needs_six_colors_for_the_grid_without_the_ground() {
        let edges = grid(24, false);
        assert_eq!(edges.len(), 40_320);
        let mut coloring = Coloring::default();
        coloring.update(24 * 24 * 24 + 1, &keys(&edges), &edges, Strategy::Greedy);
        assert!(is_proper(&edges, coloring.colors()));
        assert_eq!(coloring.counts().len(), 6, "{:?}", coloring.counts());
    }

    /// Poulsen 2010, 7.2.4: six large colours of 6,912 to 5,329 contacts, 570 contacts in the merged
    /// one; 580 colours of 69 or 70 when balanced.
    #[test]
    fn the_grid_with_the_ground_is_the_picture_of_the_thesis() {
        let edges = grid(24, true);
        let bodies = 24 * 24 * 24 + 1;
        let mut coloring = Coloring::default();
        coloring.update(bodies, &keys(&edges), &edges, Strategy::Greedy);
        assert!(is_proper(&edges, coloring.colors()));
        let (large, small): (Vec<u32>, Vec<u32>) =
            coloring.counts().iter().partition(|c| **c >= 100);
        assert_eq!(large.len(), 6);
        assert_eq!(large[0], 6_912);
        // Four contacts end up elsewhere than in the thesis, which does not say the order exactly.
        assert_eq!(large, [6_912, 6_912, 6_912, 6_909, 6_777, 5_325]);
        let merged: u32 = small.iter().sum();
        assert!((565..=575).contains(&merged), "{merged} contacts");

        let mut balanced = Coloring::default();
        balanced.update(bodies, &keys(&edges), &edges, Strategy::Balanced);
        assert!(is_proper(&edges, balanced.colors()));
        assert_eq!(balanced.counts().len(), 580);
        let (low, high) = (
            balanced.counts().iter().min(),
            balanced.counts().iter().max(),
        );
        assert_eq!((low, high), (Some(&69), Some(&70)));
    }

    #[test]
    fn colors_are_repaired_where_edges_come_and_go() {
        let mut random = Random::new(7);
        let mut pick = |below: u32| random.below(below as usize) as u32;
        let mut coloring = Coloring::default();
        let mut edges: Vec<Edge> = Vec::new();
        for step in 0..200 {
            let before: Vec<(Edge, u32)> = edges
                .iter()
                .copied()
                .zip(coloring.colors().iter().copied())
                .collect();
            edges.retain(|_| pick(20) > 0);
            while edges.len() < 300 {
                // A hub among them, fixed partners, and joints of up to four bodies.
                let mut of: Vec<u32> = match pick(5) {
                    0 => vec![0, 1 + pick(99)],
                    1 => vec![pick(100)],
                    2 => (0..4).map(|_| pick(100)).collect(),
                    _ => vec![pick(100), pick(100)],
                };
                of.sort_unstable();
                of.dedup();
                of.resize(4, NO_BODY);
                edges.push([of[0], of[1], of[2], of[3]]);
            }
            edges.sort_unstable();
            edges.dedup();
            let strategy = [Strategy::Greedy, Strategy::Balanced][step / 100];
            coloring.update(100, &keys(&edges), &edges, strategy);
            assert!(is_proper(&edges, coloring.colors()), "step {step}");
            let total: u32 = coloring.counts().iter().sum();
            assert_eq!(total as usize, edges.len());
            // Most of those that stayed kept their colours.
            let kept = before
                .iter()
                .filter(|(e, c)| {
                    edges
                        .binary_search(e)
                        .is_ok_and(|k| coloring.colors()[k] == *c)
                })
                .count();
            if step % 100 > 0 && coloring.kept.fresh as usize != coloring.counts().len() {
                assert!(kept * 10 >= before.len() * 8, "step {step}: {kept} kept");
            }
            // What a snapshot keeps gives the same colours again.
            let mut other = Coloring::default();
            other.set_state(&coloring.state());
            let mut more = edges.clone();
            more.remove(pick(edges.len() as u32) as usize);
            let mut same = coloring.clone();
            same.update(100, &keys(&more), &more, strategy);
            other.update(100, &keys(&more), &more, strategy);
            assert_eq!(same.colors(), other.colors());
        }
    }

    #[test]
    fn a_hub_gets_as_many_colors_as_edges() {
        let edges: Vec<Edge> = (1..=1000).map(|b| [0, b, NO_BODY, NO_BODY]).collect();
        let mut coloring = Coloring::default();
        coloring.update(1001, &keys(&edges), &edges, Strategy::Greedy);
        assert_eq!(coloring.counts(), vec![1; 1000]);
        assert!(is_proper(&edges, coloring.colors()));
    }
}
