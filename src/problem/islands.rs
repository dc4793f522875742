//! Islands: the connected components of the graph of dynamic bodies under contacts and rows.

use super::{Contacts, ProblemBodies, Rows};

/// Marks a body that belongs to no island: it is fixed, or nothing touches it.
pub const NO_ISLAND: u32 = u32::MAX;

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
}

/// Indices grouped by island, in compressed form.
#[derive(Clone, Debug, Default)]
pub struct Grouped {
    /// First entry of each island in `index`, and one past the last.
    pub start: Vec<u32>,
    /// The indices.
    pub index: Vec<u32>,
}

impl Grouped {
    /// The indices of one island.
    pub fn of(&self, island: usize) -> &[u32] {
        &self.index[self.start[island] as usize..self.start[island + 1] as usize]
    }

    /// Counting sort of 0..keys.len() by key, stable; keys of [`NO_ISLAND`] are left out.
    fn fill(&mut self, groups: usize, keys: &[u32]) {
        self.start.clear();
        self.start.resize(groups + 2, 0);
        for k in keys.iter().filter(|k| **k != NO_ISLAND) {
            self.start[*k as usize + 2] += 1;
        }
        for g in 2..self.start.len() {
            self.start[g] += self.start[g - 1];
        }
        self.index.clear();
        self.index
            .resize(self.start.last().map_or(0, |n| *n as usize), 0);
        for (i, k) in keys.iter().enumerate().filter(|(_, k)| **k != NO_ISLAND) {
            let slot = &mut self.start[*k as usize + 1];
            self.index[*slot as usize] = i as u32;
            *slot += 1;
        }
        self.start.pop();
    }
}

impl Islands {
    /// Number of islands.
    pub fn len(&self) -> usize {
        self.bodies.start.len().saturating_sub(1)
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
            to.index.clone_from(&from.index);
        }
    }

    pub(super) fn find(&mut self, bodies: &ProblemBodies, contacts: &Contacts, rows: &Rows) {
        let n = bodies.len();
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
            let span = rows.start[r] as usize..rows.start[r + 1] as usize;
            self.join(bodies, rows.body[span].iter().copied(), TOUCHED);
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
        self.bodies.fill(count, &self.of_body);

        let island_of = |of_body: &[u32], bodies_of: &mut dyn Iterator<Item = u32>| {
            bodies_of
                .map(|b| of_body[b as usize])
                .find(|i| *i != NO_ISLAND)
                .unwrap_or(NO_ISLAND)
        };
        self.key.clear();
        for pair in &contacts.bodies {
            self.key
                .push(island_of(&self.of_body, &mut pair.iter().copied()));
        }
        self.contacts.fill(count, &self.key);
        self.key.clear();
        for r in 0..rows.len() {
            let span = rows.start[r] as usize..rows.start[r + 1] as usize;
            self.key.push(island_of(
                &self.of_body,
                &mut rows.body[span].iter().copied(),
            ));
        }
        self.rows.fill(count, &self.key);
    }

    fn join(&mut self, bodies: &ProblemBodies, of: impl Iterator<Item = u32>, touched: u32) {
        let mut first = None;
        for b in of.filter(|b| bodies.is_dynamic(*b as usize)) {
            self.of_body[b as usize] = touched;
            let root = find_root(&mut self.parent, b);
            match first {
                None => first = Some(root),
                Some(other) if other != root => {
                    let (low, high) = (other.min(root), other.max(root));
                    self.parent[high as usize] = low;
                    first = Some(low);
                }
                Some(_) => {}
            }
        }
    }
}

fn find_root(parent: &mut [u32], mut b: u32) -> u32 {
    while parent[b as usize] != b {
        let grand = parent[parent[b as usize] as usize];
        parent[b as usize] = grand;
        b = grand;
    }
    b
}
