//! The edges of the body graph: the manifolds, and the general rows on the same bodies.

use rayon::prelude::*;

use crate::problem::{Problem, make_room};
use crate::solve::sweeps::block::Span;
use crate::solve::sweeps::color::{Edge, NO_BODY};

/// Most points of one edge; more between the same two bodies make more edges.
pub const MOST_POINTS: u32 = 4;

/// The contacts, or the general rows, of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Contacts of the problem, or general rows.
    pub span: Span,
    /// Whether they are general rows.
    pub are_rows: bool,
}

/// One edge.
#[derive(Clone, Copy, PartialEq)]
struct One {
    bodies: Edge,
    colored: Edge,
    name: u64,
    members: Members,
    is_plain: bool,
    island: u32,
}

/// Which edges there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Whether bodies that impulses do not move count for the colours, as in the thesis.
    pub counts_fixed: bool,
    /// Whether every contact and every row is an edge of its own.
    pub one_by_one: bool,
}

/// Edges per unit of parallel work.
const CHUNK: usize = 1024;

/// All edges, in the order of the problem. Keeps its memory.
#[derive(Default)]
pub struct Edges {
    /// The bodies that impulses move.
    pub bodies: Vec<Edge>,
    kind: Kind,
    /// All its bodies, where those that impulses do not move count; else nothing.
    colored: Vec<Edge>,
    /// What names an edge from step to step.
    pub name: Vec<u64>,
    /// What belongs to it.
    pub members: Vec<Members>,
    /// Whether it can fill a lane: disc contacts without compliance.
    pub is_plain: Vec<bool>,
    /// First body's island.
    pub island: Vec<u32>,
}

impl Edges {
    /// Contacts of the same two bodies in a row, a few at most, and rows on the same bodies. False where these are the
    /// edges that are there.
    pub fn update(&mut self, problem: &Problem, kind: Kind) -> bool {
        if self.kind == kind && self.are_of(problem) {
            return false;
        }
        self.kind = kind;
        self.bodies.clear();
        self.colored.clear();
        self.name.clear();
        self.members.clear();
        self.is_plain.clear();
        self.island.clear();
        self.make_room(problem);
        for (are_rows, count) in [(false, problem.contacts.len()), (true, problem.rows.len())] {
            let mut first = 0;
            while first < count {
                let one = One::new(problem, first, are_rows, kind);
                first = one.members.span.range().end;
                self.bodies.push(one.bodies);
                if kind.counts_fixed {
                    self.colored.push(one.colored);
                }
                self.name.push(one.name);
                self.members.push(one.members);
                self.is_plain.push(one.is_plain);
                self.island.push(one.island);
            }
        }
        true
    }

    /// The bodies of each edge that no other one of its colour has.
    pub fn colored(&self) -> &[Edge] {
        match self.kind.counts_fixed {
            true => &self.colored,
            false => &self.bodies,
        }
    }

    /// Makes room for one edge per pair and row at least, and not for twice as many.
    fn make_room(&mut self, problem: &Problem) {
        let pairs = problem.contacts.bodies.chunk_by(|a, b| a == b).count();
        let count = pairs + problem.rows.len();
        make_room(&mut self.bodies, count);
        make_room(&mut self.name, count);
        make_room(&mut self.members, count);
        make_room(&mut self.is_plain, count);
        make_room(&mut self.island, count);
    }

    /// Whether they are the problem's: those that begin where these do are the same, and no other begins behind them.
    fn are_of(&self, problem: &Problem) -> bool {
        let first_rows = self.members.partition_point(|m| !m.are_rows);
        let (of_contacts, of_rows) = self.members.split_at(first_rows);
        let end = |members: &[Members]| members.last().map_or(0, |m| m.span.range().end);
        let is_there = |k: usize| {
            let Members { span, are_rows } = self.members[k];
            let one = One {
                bodies: self.bodies[k],
                colored: self.colored()[k],
                name: self.name[k],
                members: self.members[k],
                is_plain: self.is_plain[k],
                island: self.island[k],
            };
            one == One::new(problem, span.range().start, are_rows, self.kind)
        };
        end(of_contacts) == problem.contacts.len()
            && end(of_rows) == problem.rows.len()
            && (0..self.members.len())
                .into_par_iter()
                .with_min_len(CHUNK)
                .all(is_there)
    }
}

impl One {
    /// The edge that begins with a contact, or with a general row.
    fn new(problem: &Problem, first: usize, are_rows: bool, kind: Kind) -> Self {
        let contacts = &problem.contacts;
        let rows = &problem.rows;
        let (end, name, is_plain) = if are_rows {
            let is_other = |r: &usize| rows.bodies(*r) != rows.bodies(first);
            let others = first + 1..rows.len();
            let end = match kind.one_by_one {
                true => first + 1,
                false => others.clone().find(is_other).unwrap_or(others.end),
            };
            (end, 1 << 63 | first as u64, false)
        } else {
            let (pair, plain) = (contacts.bodies[first], contacts.is_plain(first));
            let points = if kind.one_by_one { 1 } else { MOST_POINTS };
            let most = contacts.len().min(first + points as usize);
            let is_other =
                |c: &usize| contacts.bodies[*c] != pair || contacts.is_plain(*c) != plain;
            let end = (first + 1..most).find(is_other).unwrap_or(most);
            let [a, b] = pair.map(|body| u64::from(problem.bodies.name(body)));
            (end, a << 32 | b, plain)
        };
        let of: &[u32] = match are_rows {
            true => rows.bodies(first),
            false => &contacts.bodies[first],
        };
        let set = |counts: fn(&Problem, usize) -> bool| {
            let mut bodies = [NO_BODY; 4];
            let mut n = 0;
            for b in of {
                if counts(problem, *b as usize) && !bodies[..n].contains(b) {
                    bodies[n] = *b;
                    n += 1;
                }
            }
            bodies[..n].sort_unstable();
            bodies
        };
        let bodies = set(|problem, b| problem.bodies.is_dynamic(b));
        let colored = match kind.counts_fixed {
            true => set(|_, _| true),
            false => bodies,
        };
        let island = match bodies[0] {
            NO_BODY => u32::MAX,
            b => problem.islands.of_body[b as usize],
        };
        let span = Span::new(first, end);
        Self {
            bodies,
            colored,
            name,
            members: Members { span, are_rows },
            is_plain,
            island,
        }
    }
}
