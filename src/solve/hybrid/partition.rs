//! Which bodies are solved together: Lacoursière's heuristic (2007, section 4).

use crate::problem::Problem;
use crate::problem::islands::{Grouped, NO_ISLAND};

/// Marks a body that is in no part: it is fixed, or nothing touches it.
pub const NO_PART: u32 = u32::MAX;

/// Marks a body of a chain that is being looked at, and the largest number of a group.
const SEEN: u32 = u32::MAX - 1;
const MOST: u32 = u32::MAX - 2;

/// How parts are made.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    /// Depth to which a part takes in bodies of other groups.
    pub depth: usize,
    /// Most bodies of a segment of a chain.
    pub segment: usize,
}

/// The parts of all bodies. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    /// The part of each body, or [`NO_PART`].
    pub of_body: Vec<u32>,
    /// Of each part: its group.
    pub group: Vec<u32>,
    /// Of each island: whether it has more than one part.
    pub is_cut: Vec<bool>,
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
        self.find_groups(problem, cuts);
        self.collect(cuts.depth);
        self.cut_chains(cuts.segment);
        self.is_cut.clear();
        self.is_cut.resize(problem.islands.len(), false);
        for island in 0..problem.islands.len() {
            let bodies = problem.islands.bodies.of(island);
            let parts = bodies.iter().map(|b| self.of_body[*b as usize]);
            self.is_cut[island] = !parts.clone().all(|p| parts.clone().next() == Some(p));
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
    pub fn largest(&self) -> usize {
        let mut bodies = vec![0; self.len()];
        let own = self.of_body.iter().filter(|part| **part != NO_PART);
        own.for_each(|part| bodies[*part as usize] += 1);
        bodies.into_iter().max().unwrap_or(0)
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

    /// Groups that somebody has named are as they are, in all of an island where one is.
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
        let groups = islands
            .of_body
            .iter()
            .enumerate()
            .map(|(body, island)| match *island {
                NO_ISLAND => NO_PART,
                island if self.is_named[island as usize] => named(body as u32).min(MOST),
                _ => 0,
            });
        self.groups.extend(groups);
    }

    /// Chains of joints are a group of their own, behind everything else: runs of bodies that have two neighbours by joints
    /// at most, where they are too long for both ends of them to be taken in by what they hang on.
    fn find_groups(&mut self, problem: &Problem, cuts: Cuts) {
        const CHAIN: u32 = 1;
        let is_link = |jointed: &Grouped, body: usize| (1..=2).contains(&jointed.of(body).len());
        for body in 0..self.groups.len() {
            let island = problem.islands.of_body[body];
            let is_open = self.groups[body] == 0 && !self.is_named[island as usize];
            if !is_open || !is_link(&self.jointed, body) {
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
                    if self.groups[o] == 0 && is_link(&self.jointed, o) {
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
            *group = 0;
        }
    }

    /// From the first body of the lowest group that is in no part: all that are coupled with it by bodies of its group, and
    /// the links of chains of higher groups down to a depth. Machines of higher groups are not torn apart: their wheels
    /// would stand alone on the ground.
    fn collect(&mut self, depth: usize) {
        self.group.clear();
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
            self.spread(0, part, |g, _| g == group);
            let mut begin = 0;
            for _ in 0..depth {
                let end = self.queue.len();
                self.spread_once(begin..end, part, |g, links| g > group && links <= 2);
                begin = end;
            }
        }
    }

    /// Takes in what is coupled with the queue from `next` on, and with that.
    fn spread(&mut self, mut next: usize, part: u32, is_wanted: impl Fn(u32, usize) -> bool) {
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
        is_wanted: impl Fn(u32, usize) -> bool,
    ) {
        for k in from {
            let body = self.queue[k] as usize;
            for other in self.coupled.of(body) {
                let o = *other as usize;
                let is_open = self.of_body[o] == NO_PART && self.groups[o] != NO_PART;
                if is_open && is_wanted(self.groups[o], self.jointed.of(o).len()) {
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
            if part == NO_PART || seen[body] || self.links(body).count() == 0 {
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
