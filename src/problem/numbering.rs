//! The bodies that a part of a problem needs, numbered anew.

use super::Problem;

/// Stands for no body.
const NONE: u32 = u32::MAX;

/// Bodies of a part of a problem in their order, so that nothing that follows the numbers changes. Keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    /// The whole's number of each body of the part.
    pub bodies: Vec<u32>,
    /// The part's number of each body of the whole, or [`NONE`].
    local: Vec<u32>,
}

impl Numbering {
    /// Finds the bodies of these contacts and rows.
    pub fn find(&mut self, whole: &Problem, contacts: &[u32], rows: &[u32]) {
        self.local.clear();
        self.local.resize(whole.bodies.len(), NONE);
        let pairs = contacts.iter().map(|c| &whole.contacts.bodies[*c as usize]);
        let of_rows = rows.iter().flat_map(|r| whole.rows.bodies(*r as usize));
        for body in pairs.flatten().chain(of_rows) {
            self.local[*body as usize] = 0;
        }
        self.bodies.clear();
        for (body, local) in self.local.iter_mut().enumerate() {
            if *local != NONE {
                *local = self.bodies.len() as u32;
                self.bodies.push(body as u32);
            }
        }
    }

    /// Finds the bodies of a few contacts and rows of a large problem, for [`Numbering::local_of_few`].
    pub fn find_few(&mut self, whole: &Problem, contacts: &[u32], rows: &[u32]) {
        self.bodies.clear();
        for c in contacts {
            self.bodies.extend(whole.contacts.bodies[*c as usize]);
        }
        for r in rows {
            self.bodies
                .extend_from_slice(whole.rows.bodies(*r as usize));
        }
        self.bodies.sort_unstable();
        self.bodies.dedup();
    }

    /// The part's number of a body that [`Numbering::find_few`] has found.
    pub fn local_of_few(&self, body: u32) -> u32 {
        self.bodies.partition_point(|b| *b < body) as u32
    }

    /// The part's number of a body of the whole, if it has one.
    pub fn find_local(&self, body: usize) -> Option<usize> {
        let local = self.local[body];
        (local != NONE).then_some(local as usize)
    }

    /// The part's number of a body that it has.
    pub fn local(&self, body: u32) -> u32 {
        self.local[body as usize]
    }

    /// Gives a problem the bodies of the part with their masses, and names them; without velocities.
    pub fn copy_masses(&self, whole: &Problem, part: &mut Problem) {
        let (from, to) = (&whole.bodies, &mut part.bodies);
        let bodies = self.bodies.iter().map(|b| *b as usize);
        let masses = bodies.clone().map(|b| from.inverse_mass[b]);
        refill(&mut to.inverse_mass, masses);
        let inertias = bodies.map(|b| from.inverse_inertia[b]);
        refill(&mut to.inverse_inertia, inertias);
        let names = self.bodies.iter().map(|b| from.name(*b));
        refill(&mut to.name, names);
    }
}

/// Fills a list anew, with room for a few more where it has to grow: parts of large problems differ a little from step to
/// step, and twice as much is too much.
pub(crate) fn refill<T>(list: &mut Vec<T>, items: impl ExactSizeIterator<Item = T>) {
    list.clear();
    make_room(list, items.len());
    list.extend(items);
}

/// Makes room in a list that is empty.
pub(crate) fn make_room<T>(list: &mut Vec<T>, count: usize) {
    if list.capacity() < count {
        *list = Vec::new();
        list.reserve_exact(count + count / 8);
    }
}
