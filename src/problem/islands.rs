//! Islands: the connected components of the graph of dynamic bodies under contacts and rows.

use super::{Contacts, ProblemBodies, Rows};

use std::ops::Range;

/// Marks a body that belongs to no island: it is fixed, or nothing touches it.
pub const NO_ISLAND: u32 = u32::MAX;

/// Range `k` of compressed form, where `start` holds the first of each and one past the last.
#[inline(always)]
pub(crate) fn span(start: &[u32], k: usize) -> Range<usize> {
    start[k] as usize..start[k + 1] as usize
}

/// The components, in the order of their first body; within each, bodies, contacts and rows keep
/// the order that they have in the problem.
#[derive(Clone, Debug, Default)]
pub struct Islands {
    /// Island of each body, or [`NO_ISLAND`].
    pub of_body: Vec<u32>,
    /// Bodies by island.
    pub bodies: Grouped,
    /// Contacts by island. Contacts between two bodies that impulses do not move are in none.
    pub contacts: Grouped,
    /// General rows by island.
    pub rows: Grouped,
    parent: Vec<u32>,
    key: Vec<u32>,
    /// Which bodies impulses moved, and the bodies of the rows, when they were found.
    moved: Vec<bool>,
    of_rows: [Vec<u32>; 2],
}

/// Items grouped by island, or by anything else, in compressed form. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Grouped<T = u32> {
    /// First item of each group in `items`, and one past the last.
    pub start: Vec<u32>,
    /// The items.
    pub items: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// The items of one group.
    pub fn of(&self, group: usize) -> &[T] {
        &self.items[span(&self.start, group)]
    }

    /// Counting sort of (group, item), stable.
    pub(crate) fn fill(&mut self, groups: usize, keyed: impl Iterator<Item = (u32, T)> + Clone) {
        let Self { start, items } = self;
        start.clear();
        start.resize(groups + 2, 0);
        keyed.clone().for_each(|(g, _)| start[g as usize + 2] += 1);
        for g in 2..start.len() {
            start[g] += start[g - 1];
        }
        items.clear();
        items.resize(start[groups + 1] as usize, T::default());
        // Each slot moves on to the start of the next group.
        keyed.for_each(|(g, item)| {
            let slot = &mut start[g as usize + 1];
            items[*slot as usize] = item;
            *slot += 1;
        });
        start.pop();
    }
}

impl Grouped {
    /// 0..keys.len() by key; keys of [`NO_ISLAND`] are left out.
    pub(crate) fn fill_by_key(&mut self, groups: usize, keys: &[u32]) {
        let keyed = keys.iter().copied().zip(0..);
        self.fill(groups, keyed.filter(|(key, _)| *key != NO_ISLAND));
    }
}

impl Islands {
    /// Number of islands.
    pub fn len(&self) -> usize {
        self.bodies.start.len().saturating_sub(1)
    }

    /// Finds the number of every body within its island.
    pub(crate) fn number_within(&self, local: &mut Vec<u32>) {
        local.clear();
        local.resize(self.of_body.len(), 0);
        for island in 0..self.len() {
            for (k, body) in self.bodies.of(island).iter().enumerate() {
                local[*body as usize] = k as u32;
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes over another problem's islands, in the memory that is there.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.of_body.clone_from(&other.of_body);
        for (to, from) in [
            (&mut self.bodies, &other.bodies),
            (&mut self.contacts, &other.contacts),
            (&mut self.rows, &other.rows),
        ] {
            to.start.clone_from(&from.start);
            to.items.clone_from(&from.items);
        }
    }

    /// Finds them again, unless nothing has changed since, where the contacts are between the same bodies as then.
    pub(super) fn renew(&mut self, bodies: &ProblemBodies, contacts: &Contacts, rows: &Rows) {
        let moved = (0..bodies.len()).map(|body| bodies.is_dynamic(body));
        let is_same = self.of_rows == [rows.start.as_slice(), rows.body.as_slice()]
            && moved.eq(self.moved.iter().copied());
        if !is_same {
            self.find(bodies, contacts, rows);
        }
    }

    pub(super) fn find(&mut self, bodies: &ProblemBodies, contacts: &Contacts, rows: &Rows) {
        let n = bodies.len();
        self.moved.clear();
        self.moved
            .extend((0..n).map(|body| bodies.is_dynamic(body)));
        self.of_rows[0].clone_from(&rows.start);
        self.of_rows[1].clone_from(&rows.body);
        self.parent.clear();
        self.parent.extend(0..n as u32);
        self.of_body.clear();
        self.of_body.resize(n, NO_ISLAND);

        // A body that a constraint names is touched; mark it with any other number first.
        const TOUCHED: u32 = 0;
        for pair in &contacts.bodies {
            self.join(bodies, pair.iter().copied(), TOUCHED);
        }
        for r in 0..rows.len() {
            self.join(bodies, rows.bodies(r).iter().copied(), TOUCHED);
        }

        // Roots are the smallest body of their component, so islands are numbered by first body.
        let mut count = 0;
        for b in 0..n {
            if self.of_body[b] == NO_ISLAND {
                continue;
            }
            let root = find_root(&mut self.parent, b as u32) as usize;
            if root == b {
                self.of_body[b] = count;
                count += 1;
            } else {
                self.of_body[b] = self.of_body[root];
            }
        }
        let count = count as usize;
        self.bodies.fill_by_key(count, &self.of_body);

        let of_body = &self.of_body;
        let island_of = |bodies: &[u32]| {
            let mut islands = bodies.iter().map(|b| of_body[*b as usize]);
            islands.find(|i| *i != NO_ISLAND).unwrap_or(NO_ISLAND)
        };
        self.key.clear();
        self.key
            .extend(contacts.bodies.iter().map(|pair| island_of(pair)));
        self.contacts.fill_by_key(count, &self.key);
        self.key.clear();
        self.key
            .extend((0..rows.len()).map(|r| island_of(rows.bodies(r))));
        self.rows.fill_by_key(count, &self.key);
    }

    fn join(&mut self, bodies: &ProblemBodies, of: impl Iterator<Item = u32>, touched: u32) {
        let mut first = None;
        for b in of.filter(|b| bodies.is_dynamic(*b as usize)) {
            self.of_body[b as usize] = touched;
            let root = find_root(&mut self.parent, b);
            match first {
                None => first = Some(root),
                Some(other) => first = Some(join(&mut self.parent, other, root)),
            }
        }
    }
}

/// Joins the components of `a` and `b`; the root of both, which is the smaller of theirs.
pub(super) fn join(parent: &mut [u32], a: u32, b: u32) -> u32 {
    let (a, b) = (find_root(parent, a), find_root(parent, b));
    let (low, high) = (a.min(b), a.max(b));
    parent[high as usize] = low;
    low
}

/// The root of what `b` is joined to.
pub(super) fn find_root(parent: &mut [u32], mut b: u32) -> u32 {
    while parent[b as usize] != b {
        let grand = parent[parent[b as usize] as usize];
        parent[b as usize] = grand;
        b = grand;
    }
    b
}
