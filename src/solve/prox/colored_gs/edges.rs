//! The edges of the body graph: the manifolds, and the general rows on the same bodies.

use crate::problem::Problem;
use crate::solve::prox::block::Span;
use crate::solve::prox::color::{Edge, NO_BODY};

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

/// All edges, in the order of the problem. Keeps its memory.
#[derive(Default, PartialEq)]
pub struct Edges {
    /// The bodies that impulses move.
    pub bodies: Vec<Edge>,
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
    /// Contacts of the same two bodies in a row, a few at most, and rows on the same bodies.
    pub fn find(&mut self, problem: &Problem) {
        self.bodies.clear();
        self.name.clear();
        self.members.clear();
        self.is_plain.clear();
        self.island.clear();
        let contacts = &problem.contacts;
        let mut first = 0;
        while first < contacts.len() {
            let pair = contacts.bodies[first];
            let plain = contacts.is_plain(first);
            let end = contacts.len().min(first + MOST_POINTS as usize);
            let is_other =
                |c: &usize| contacts.bodies[*c] != pair || contacts.is_plain(*c) != plain;
            let last = (first + 1..end).find(is_other).unwrap_or(end);
            let name = u64::from(pair[0]) << 32 | u64::from(pair[1]);
            let members = Members {
                span: Span::new(first, last),
                are_rows: false,
            };
            self.push(problem, &pair, name, members, plain);
            first = last;
        }
        let rows = &problem.rows;
        let mut first = 0;
        while first < rows.len() {
            let is_other = |r: &usize| rows.bodies(*r) != rows.bodies(first);
            let last = (first + 1..rows.len()).find(is_other);
            let last = last.unwrap_or(rows.len());
            let name = 1 << 63 | first as u64;
            let members = Members {
                span: Span::new(first, last),
                are_rows: true,
            };
            self.push(problem, rows.bodies(first), name, members, false);
            first = last;
        }
    }

    fn push(&mut self, problem: &Problem, of: &[u32], name: u64, members: Members, plain: bool) {
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
        self.name.push(name);
        self.members.push(members);
        self.is_plain.push(plain);
        let island = edge[..n]
            .first()
            .map_or(u32::MAX, |b| problem.islands.of_body[*b as usize]);
        self.island.push(island);
    }
}
