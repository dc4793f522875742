//! Which bodies are solved together: Lacoursière's heuristic (2007, section 4), or a cut of the graph of bodies where
//! their constraints depend least on each other.

use super::graph::{Graph, Order, cut};
use crate::math::Vec3;
use crate::problem::Problem;
use crate::problem::islands::{Grouped, NO_ISLAND};
pub use crate::solve::NO_PART;
use crate::solve::{PartView, PartsView};

/// Marks a body of a chain that is being looked at. Groups behind all that are named: of what nobody has named in an
/// island where somebody has named others, and of chains.
const SEEN: u32 = u32::MAX - 1;
const CHAIN: u32 = u32::MAX - 2;
const UNNAMED: u32 = u32::MAX - 3;
const MOST: u32 = u32::MAX - 4;

/// Where islands are cut in which nobody has named groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// At chains of joints.
    Chains,
    /// Where constraints depend least on each other, in this order.
    Strength(Order),
}

/// What a part takes in of higher groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imports {
    /// Links of chains, but of chains that would be taken whole.
    Links,
    /// All bodies, whatever is joined with them, as the paper has it.
    All,
}

/// How parts are made.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    /// Depth to which a part takes in bodies of other groups, and which ones.
    pub depth: usize,
    pub imports: Imports,
    /// Most bodies of a segment of a chain.
    pub segment: usize,
    /// Where else islands are cut.
    pub method: Method,
    /// Most bodies of a part that is cut by strength.
    pub bodies: usize,
}

/// The parts of all bodies. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    /// The part of each body, or [`NO_PART`].
    pub of_body: Vec<u32>,
    /// Of each part: its group.
    pub group: Vec<u32>,
    /// Of each part: its bodies and rows; and the rows that couple parts.
    bodies: Vec<u32>,
    rows: Vec<u32>,
    coupling_rows: u32,
    /// Of each part: whether all its bodies are links of chains of joints, and something else of its island comes first.
    is_chain: Vec<bool>,
    /// Of each island: whether it has more than one part.
    pub is_cut: Vec<bool>,
    /// Parts that are cut by strength, which are the first ones.
    balanced: usize,
    /// The group of each body: of those with the lowest number a part is made first.
    groups: Vec<u32>,
    /// Of each island: whether somebody has named groups.
    is_named: Vec<bool>,
    /// The bodies that impulses move, and that each is coupled with by anything, and by general rows.
    coupled: Grouped,
    jointed: Grouped,
    /// The bodies of a search.
    queue: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Partition {
    /// Makes the parts of a finished problem.
    pub fn find(&mut self, problem: &Problem, cuts: Cuts) {
        self.find_neighbours(problem);
        self.name_groups(problem);
        self.group.clear();
        if let Method::Strength(order) = cuts.method {
            self.cut_by_strength(problem, cuts.bodies, order);
        }
        self.balanced = self.group.len();
        self.find_chains(cuts);
        self.collect(cuts.depth, cuts.imports);
        self.cut_chains(cuts.segment);
        self.is_cut.clear();
        self.is_cut.resize(problem.islands.len(), false);
        for island in 0..problem.islands.len() {
            let bodies = problem.islands.bodies.of(island);
            let parts = bodies.iter().map(|b| self.of_body[*b as usize]);
            self.is_cut[island] = !parts.clone().all(|p| parts.clone().next() == Some(p));
        }
        self.count(problem);
    }

    /// Whether a part is of a chain of joints, or of a piece of one, that hangs on something else.
    pub fn is_chain(&self, part: usize) -> bool {
        self.is_chain[part]
    }

    fn count(&mut self, problem: &Problem) {
        self.bodies.clear();
        self.bodies.resize(self.len(), 0);
        self.is_chain.clear();
        self.is_chain.resize(self.len(), true);
        let parts = self.of_body.iter().enumerate();
        for (body, part) in parts.filter(|(_, part)| **part != NO_PART) {
            self.bodies[*part as usize] += 1;
            let is_link = (1..=2).contains(&self.jointed.of(body).len());
            self.is_chain[*part as usize] &= is_link && *part as usize >= self.balanced;
        }
        for island in 0..problem.islands.len() {
            let bodies = problem.islands.bodies.of(island);
            let parts = bodies.iter().map(|body| self.of_body[*body as usize]);
            let group = |part: u32| self.group[part as usize];
            let lowest = parts.clone().map(group).min();
            for part in parts.filter(|part| Some(group(*part)) == lowest) {
                self.is_chain[part as usize] = false;
            }
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        rows.resize(self.len(), 0);
        let mut couplings = 0;
        let mut add = |bodies: &[u32], count: usize| match self.of(bodies) {
            Some(part) => rows[part as usize] += count as u32,
            None if bodies.iter().any(|b| self.of_body[*b as usize] != NO_PART) => {
                couplings += count as u32;
            }
            None => {}
        };
        for (c, bodies) in problem.contacts.bodies.iter().enumerate() {
            add(bodies, problem.contacts.rows(c).len());
        }
        for r in 0..problem.rows.len() {
            add(problem.rows.bodies(r), 1);
        }
        (self.rows, self.coupling_rows) = (rows, couplings);
    }

    /// The parts, each of which was solved so often, and what couples them.
    pub fn view(&self, iterations: u32) -> PartsView {
        let parts = self.group.iter().zip(&self.bodies).zip(&self.rows);
        PartsView {
            of_body: self.of_body.clone(),
            parts: parts
                .map(|((group, bodies), rows)| PartView {
                    group: (*group <= MOST).then_some(*group),
                    bodies: *bodies,
                    rows: *rows,
                    iterations,
                    time: None,
                })
                .collect(),
            couplings: PartView {
                rows: self.coupling_rows,
                iterations,
                ..PartView::default()
            },
            coupling_units: u32::from(self.coupling_rows > 0),
        }
    }

    /// The part in which all bodies are that impulses move; none where they are in several.
    pub fn of(&self, bodies: &[u32]) -> Option<u32> {
        let parts = bodies.iter().map(|b| self.of_body[*b as usize]);
        let mut parts = parts.filter(|p| *p != NO_PART);
        let first = parts.next()?;
        parts.all(|p| p == first).then_some(first)
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Finds the number of every body within its part.
    pub fn number_within(&self, within: &mut Vec<u32>) {
        let mut bodies = vec![0; self.len()];
        within.clear();
        within.extend(self.of_body.iter().map(|part| {
            let next = bodies.get_mut(*part as usize);
            next.map_or(0, |next| std::mem::replace(next, *next + 1))
        }));
    }

    /// Bodies of the largest part.
    pub fn largest(&self) -> u32 {
        self.bodies.iter().max().copied().unwrap_or(0)
    }

    /// Rows that couple parts.
    pub fn coupling_rows(&self) -> u32 {
        self.coupling_rows
    }

    fn find_neighbours(&mut self, problem: &Problem) {
        let n = problem.bodies.len();
        self.of_body.clear();
        self.of_body.resize(n, NO_PART);
        let pairs = &mut self.pairs;
        let mut note = |bodies: &[u32]| {
            for a in bodies {
                for b in bodies.iter().filter(|b| *b != a) {
                    let moves = |body: u32| problem.bodies.is_dynamic(body as usize);
                    if moves(*a) && moves(*b) {
                        pairs.push((*a, *b));
                    }
                }
            }
        };
        for r in 0..problem.rows.len() {
            note(problem.rows.bodies(r));
        }
        fill(&mut self.jointed, n, pairs);
        let mut note = |bodies: &[u32]| {
            let [a, b] = [bodies[0], bodies[1]];
            let moves = |body: u32| problem.bodies.is_dynamic(body as usize);
            if a != b && moves(a) && moves(b) {
                pairs.extend([(a, b), (b, a)]);
            }
        };
        problem.contacts.bodies.iter().for_each(|pair| note(pair));
        fill(&mut self.coupled, n, pairs);
        pairs.clear();
    }

    /// Groups that somebody has named are as they are, before all that nobody has.
    fn name_groups(&mut self, problem: &Problem) {
        let part = &problem.bodies.part;
        let islands = &problem.islands;
        let named = |body: u32| part.get(body as usize).copied().unwrap_or(0);
        self.is_named.clear();
        self.is_named.extend(
            (0..islands.len()).map(|i| islands.bodies.of(i).iter().any(|body| named(*body) > 0)),
        );
        self.groups.clear();
        // What no group is asked of is in no part.
        let groups = islands.of_body.iter().zip(0..);
        self.groups
            .extend(groups.map(|(island, body)| match *island {
                NO_ISLAND => NO_PART,
                _ if named(body) > 0 => named(body).min(MOST),
                _ => UNNAMED,
            }));
    }

    /// Cuts islands in which nobody has named groups into parts of so many bodies at most.
    fn cut_by_strength(&mut self, problem: &Problem, most: usize, order: Order) {
        let islands = &problem.islands;
        let open =
            |island: &usize| !self.is_named[*island] && islands.bodies.of(*island).len() > most;
        let open: Vec<usize> = (0..islands.len()).filter(open).collect();
        if open.is_empty() {
            return;
        }
        let graph = Graph::from_edges(problem.bodies.len(), &strengths(problem));
        for island in open {
            let bodies = islands.bodies.of(island);
            let (parts, of) = cut(&graph, bodies, most, order);
            let first = self.group.len() as u32;
            self.group.extend(std::iter::repeat_n(UNNAMED, parts));
            for (body, part) in bodies.iter().zip(of) {
                self.of_body[*body as usize] = first + part;
            }
        }
    }

    /// Chains of joints are a group of their own, behind everything else: runs of bodies that nobody has named, which have
    /// two neighbours by joints at most, where they are too long for both ends of them to be taken in by what they hang on.
    fn find_chains(&mut self, cuts: Cuts) {
        let is_link = |jointed: &Grouped, body: usize| (1..=2).contains(&jointed.of(body).len());
        for body in 0..self.groups.len() {
            if self.groups[body] != UNNAMED || !is_link(&self.jointed, body) {
                continue;
            }
            self.queue.clear();
            self.queue.push(body as u32);
            self.groups[body] = SEEN;
            let mut next = 0;
            while let Some(link) = self.queue.get(next) {
                next += 1;
                for other in self.jointed.of(*link as usize) {
                    let o = *other as usize;
                    if self.groups[o] == UNNAMED && is_link(&self.jointed, o) {
                        self.groups[o] = SEEN;
                        self.queue.push(*other);
                    }
                }
            }
            if self.queue.len() > 2 * cuts.depth.max(1) {
                for link in &self.queue {
                    self.groups[*link as usize] = CHAIN;
                }
            }
        }
        for group in self.groups.iter_mut().filter(|g| **g == SEEN) {
            *group = UNNAMED;
        }
    }

    /// Whether so few bodies of each body's group hang together with it.
    fn is_small(&mut self, few: usize) -> Vec<bool> {
        let mut small = vec![false; self.groups.len()];
        let mut seen = vec![false; self.groups.len()];
        for body in 0..self.groups.len() {
            let group = self.groups[body];
            if group == NO_PART || std::mem::replace(&mut seen[body], true) {
                continue;
            }
            self.queue.clear();
            self.queue.push(body as u32);
            let mut next = 0;
            while let Some(own) = self.queue.get(next) {
                next += 1;
                for other in self.coupled.of(*own as usize) {
                    let o = *other as usize;
                    if self.groups[o] == group && !std::mem::replace(&mut seen[o], true) {
                        self.queue.push(*other);
                    }
                }
            }
            if self.queue.len() <= few {
                (self.queue.iter()).for_each(|b| small[*b as usize] = true);
            }
        }
        small
    }

    /// From the first body of the lowest group that is in no part: all that are coupled with it by bodies of its group, and
    /// bodies of higher groups down to a depth. These are links of chains only, but of those that it would take whole from
    /// both ends, unless all are asked for: machines of higher groups are torn apart then, so that wheels may stand alone.
    fn collect(&mut self, depth: usize, imports: Imports) {
        let is_small = self.is_small(2 * depth);
        let n = self.groups.len() as u32;
        let mut order: Vec<u32> = (0..n)
            .filter(|b| self.groups[*b as usize] != NO_PART)
            .collect();
        order.sort_by_key(|b| self.groups[*b as usize]);
        for first in order {
            if self.of_body[first as usize] != NO_PART {
                continue;
            }
            let group = self.groups[first as usize];
            let part = self.group.len() as u32;
            self.group.push(group);
            self.queue.clear();
            self.queue.push(first);
            self.of_body[first as usize] = part;
            self.spread(0, part, |o, groups, _| groups[o] == group);
            let mut begin = 0;
            for _ in 0..depth {
                let end = self.queue.len();
                self.spread_once(begin..end, part, |o, groups, links| {
                    let is_link = (1..=2).contains(&links) && !is_small[o];
                    groups[o] > group && (is_link || imports == Imports::All)
                });
                begin = end;
            }
        }
    }

    /// Takes in what is coupled with the queue from `next` on, and with that.
    fn spread(
        &mut self,
        mut next: usize,
        part: u32,
        is_wanted: impl Fn(usize, &[u32], usize) -> bool,
    ) {
        while next < self.queue.len() {
            let end = self.queue.len();
            self.spread_once(next..end, part, &is_wanted);
            next = end;
        }
    }

    fn spread_once(
        &mut self,
        from: std::ops::Range<usize>,
        part: u32,
        is_wanted: impl Fn(usize, &[u32], usize) -> bool,
    ) {
        for k in from {
            let body = self.queue[k] as usize;
            for other in self.coupled.of(body) {
                let o = *other as usize;
                let is_open = self.of_body[o] == NO_PART && self.groups[o] != NO_PART;
                if is_open && is_wanted(o, &self.groups, self.jointed.of(o).len()) {
                    self.of_body[o] = part;
                    self.queue.push(*other);
                }
            }
        }
    }

    /// Cuts what hangs together by joints in a part, and is a chain of more bodies than a segment may have, into segments of
    /// as equal lengths as may be. The first one remains in the part.
    fn cut_chains(&mut self, most: usize) {
        let mut seen = vec![false; self.of_body.len()];
        for body in 0..self.of_body.len() {
            let part = self.of_body[body];
            let is_whole = part == NO_PART || (part as usize) < self.balanced;
            if is_whole || seen[body] || self.links(body).count() == 0 {
                continue;
            }
            // An end of the chain, if it has one; else where it begins does not matter.
            self.walk(body, &mut seen);
            let is_chain = self
                .queue
                .iter()
                .all(|b| self.links(*b as usize).count() <= 2);
            if !is_chain || self.queue.len() <= most {
                continue;
            }
            let is_end = |b: &&u32| self.links(**b as usize).count() == 1;
            let first = self.queue.iter().filter(is_end).min().copied();
            for b in &self.queue {
                seen[*b as usize] = false;
            }
            self.walk(first.unwrap_or(body as u32) as usize, &mut seen);
            let (bodies, pieces) = (self.queue.len(), self.queue.len().div_ceil(most));
            for piece in 1..pieces {
                let new = self.group.len() as u32;
                self.group.push(self.group[part as usize]);
                for b in &self.queue[bodies * piece / pieces..bodies * (piece + 1) / pieces] {
                    self.of_body[*b as usize] = new;
                }
            }
        }
    }

    /// The bodies of its own part that a body is joined with.
    fn links(&self, body: usize) -> impl Iterator<Item = u32> {
        let part = self.of_body[body];
        let jointed = self.jointed.of(body).iter().copied();
        jointed.filter(move |o| self.of_body[*o as usize] == part)
    }

    /// All that hangs together with a body by joints within its part, in the queue, along the chain if it is one.
    fn walk(&mut self, body: usize, seen: &mut [bool]) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        let mut open = vec![body as u32];
        seen[body] = true;
        while let Some(next) = open.pop() {
            queue.push(next);
            for other in self.links(next as usize) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    open.push(other);
                }
            }
        }
        self.queue = queue;
    }
}

/// Sorts pairs by their first body, each once.
fn fill(out: &mut Grouped, bodies: usize, pairs: &mut Vec<(u32, u32)>) {
    pairs.sort_unstable();
    pairs.dedup();
    out.fill(bodies, pairs.iter().copied());
}

/// How much the constraints between two bodies depend on others at these bodies: for each row the sum of the bounds of
/// ‖S_cd‖ / √(‖S_cc‖ ‖S_dd‖) over the other rows d, by the share of a row's own inverse mass that is one body's.
fn strengths(problem: &Problem) -> Vec<(u32, u32, f64)> {
    // Of every row and body: the root of the share of the row's S that comes from that body.
    let mut shares: Vec<(u32, u32, f64)> = Vec::new();
    let mut add = |row: u32, all: &[(u32, f64)]| {
        let own: f64 = all.iter().map(|(_, s)| s).sum();
        let moved = all.iter().filter(|(_, s)| *s > 0.0);
        shares.extend(moved.map(|(body, s)| (row, *body, (s / own).sqrt())));
    };
    let own = |body: u32, linear: Vec3, angular: Vec3| {
        let turned = problem.bodies.inverse_inertia[body as usize].mul_vec(angular);
        problem.bodies.inverse_mass[body as usize] * linear.norm_squared() + angular.dot(&turned)
    };
    let contacts = &problem.contacts;
    let mut row = 0;
    for (frame, bodies) in contacts.frame.iter().zip(&contacts.bodies) {
        for axis in frame.axes() {
            let sides =
                [0, 1].map(|k| (bodies[k], own(bodies[k], axis, frame.arms[k].cross(&axis))));
            add(row, &sides);
            row += 1;
        }
    }
    for r in 0..problem.rows.len() {
        let entries = problem.rows.entries(r);
        let all = entries.map(|(body, j)| (body as u32, own(body as u32, j.linear, j.angular)));
        add(row, &all.collect::<Vec<_>>());
        row += 1;
    }
    let mut of_body = vec![0.0; problem.bodies.len()];
    (shares.iter()).for_each(|(_, body, share)| of_body[*body as usize] += share);
    let mut edges = Vec::new();
    for row in shares.chunk_by(|a, b| a.0 == b.0) {
        let others = |(_, body, share): &(u32, u32, f64)| share * (of_body[*body as usize] - share);
        let weight: f64 = row.iter().map(others).sum();
        let pairs = row.len() * row.len().saturating_sub(1) / 2;
        for (k, (_, a, _)) in row.iter().enumerate() {
            let rest = row[k + 1..].iter();
            edges.extend(rest.map(|(_, b, _)| (*a, *b, weight / pairs as f64)));
        }
    }
    edges
}
