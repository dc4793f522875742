//! Some of a problem's contacts and rows as a problem of its own.

use crate::problem::islands::{NO_ISLAND, span};
use crate::problem::{NewContact, Numbering, Problem, refill};

/// A part of a problem, and where its rows stand in the whole. Keeps its memory.
#[derive(Debug, Default)]
pub struct Subproblem {
    /// Some of the contacts and rows, and their bodies or all.
    pub problem: Problem,
    /// Its impulses.
    pub lambda: Vec<f64>,
    contacts: Vec<u32>,
    rows: Vec<u32>,
    numbering: Numbering,
}

impl Subproblem {
    /// Takes the islands that are `wanted` with their bodies alone, and their impulses, in the order of the whole.
    pub fn take(&mut self, whole: &Problem, is_wanted: impl Fn(usize) -> bool, lambda: &[f64]) {
        let is_of_one = |bodies: &[u32]| {
            let mut islands = bodies.iter().map(|b| whole.islands.of_body[*b as usize]);
            islands.any(|island| island != NO_ISLAND && is_wanted(island as usize))
        };
        self.begin(whole);
        self.select(whole, is_of_one);
        let mut numbering = std::mem::take(&mut self.numbering);
        numbering.find(whole, &self.contacts, &self.rows);
        self.copy_between(whole, &numbering, |body| numbering.local(body));
        self.numbering = numbering;
        self.load(whole, lambda);
    }

    /// Takes an island with its bodies, and what they touch, alone, and its impulses, in the order of the whole.
    pub fn take_island(&mut self, whole: &Problem, island: usize, lambda: &[f64]) {
        self.begin(whole);
        let islands = &whole.islands;
        self.contacts.extend_from_slice(islands.contacts.of(island));
        self.rows.extend_from_slice(islands.rows.of(island));
        let mut numbering = std::mem::take(&mut self.numbering);
        numbering.find_few(whole, &self.contacts, &self.rows);
        self.copy_between(whole, &numbering, |body| numbering.local_of_few(body));
        self.numbering = numbering;
        self.load(whole, lambda);
    }

    /// Copies the selected contacts and rows, and the bodies that are numbered.
    fn copy_between(&mut self, whole: &Problem, bodies: &Numbering, here: impl Fn(u32) -> u32) {
        bodies.copy_masses(whole, &mut self.problem);
        let free = bodies.bodies.iter();
        let free = free.map(|b| whole.bodies.free_velocity[*b as usize]);
        refill(&mut self.problem.bodies.free_velocity, free);
        self.copy(whole, here);
    }

    /// Takes the contacts and rows whose bodies are such, in the order of the whole with all its bodies, and none of their
    /// impulses.
    pub fn take_those(&mut self, whole: &Problem, is_wanted: impl Fn(&[u32]) -> bool) {
        self.begin(whole);
        self.problem.bodies.clone_from(&whole.bodies);
        self.select(whole, is_wanted);
        self.copy(whole, |body| body);
    }

    /// Takes these contacts and rows, and none of their impulses, between these bodies alone: `local` has the number that
    /// each has here.
    pub fn take_between(
        &mut self,
        whole: &Problem,
        [contacts, rows]: [&[u32]; 2],
        bodies: &[u32],
        local: &[u32],
    ) {
        self.begin(whole);
        for body in bodies.iter().map(|b| *b as usize) {
            let own = &whole.bodies;
            let (inverse_mass, inertia) = (own.inverse_mass[body], own.inverse_inertia[body]);
            (self.problem).push_body(inverse_mass, inertia, own.free_velocity[body]);
        }
        let here = |body: u32| local[body as usize];
        self.contacts.extend_from_slice(contacts);
        self.rows.extend_from_slice(rows);
        self.copy(whole, here);
    }

    fn begin(&mut self, whole: &Problem) {
        self.problem.clear();
        self.problem.bodies.part.clear();
        self.problem.h = whole.h;
        self.contacts.clear();
        self.rows.clear();
    }

    /// Selects the contacts and rows whose bodies are such.
    fn select(&mut self, whole: &Problem, is_wanted: impl Fn(&[u32]) -> bool) {
        let pairs = whole.contacts.bodies.iter().zip(0..);
        let contacts = pairs.filter(|(pair, _)| is_wanted(*pair));
        self.contacts.extend(contacts.map(|(_, c)| c));
        let rows =
            (0..whole.rows.len() as u32).filter(|r| is_wanted(whole.rows.bodies(*r as usize)));
        self.rows.extend(rows);
    }

    /// Copies the selected contacts and rows; `here` has the number of each body in the part.
    fn copy(&mut self, whole: &Problem, here: impl Fn(u32) -> u32) {
        let from = &whole.contacts;
        for c in self.contacts.iter().map(|c| *c as usize) {
            self.problem.push_contact(NewContact {
                bodies: from.bodies[c].map(&here),
                frame: from.frame[c],
                friction: from.friction[c],
                bias: from.biases(c),
                compliance: from.compliance[c],
                gap: from.gap[c],
            });
        }
        let from = &whole.rows;
        for r in self.rows.iter().map(|r| *r as usize) {
            let entries = span(&from.start, r).map(|e| (here(from.body[e]), from.jacobian[e]));
            self.problem.push_row(
                entries,
                from.bounds[r],
                from.bias[r],
                from.compliance[r],
                from.position_error[r],
            );
        }
        self.problem.finish();
    }

    /// Takes the impulses of the whole.
    pub fn load(&mut self, whole: &Problem, lambda: &[f64]) {
        self.lambda.clear();
        for c in &self.contacts {
            let block = &lambda[whole.contacts.rows(*c as usize)];
            self.lambda.extend_from_slice(block);
        }
        let first = whole.contact_rows();
        let rows = self.rows.iter().map(|r| lambda[first + *r as usize]);
        self.lambda.extend(rows);
    }

    /// Takes the biases of the general rows of the whole, where nothing else has changed.
    pub fn renew(&mut self, whole: &Problem) {
        for (bias, r) in self.problem.rows.bias.iter_mut().zip(&self.rows) {
            *bias = whole.rows.bias[*r as usize];
        }
    }

    /// Whether there is no contact and no row.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty() && self.rows.is_empty()
    }

    /// The whole's number of each row.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The whole's number of each contact.
    pub fn contacts(&self) -> &[u32] {
        &self.contacts
    }

    /// Writes the impulses to their places in the whole.
    pub fn store(&self, whole: &Problem, lambda: &mut [f64]) {
        for (k, c) in self.contacts.iter().enumerate() {
            let block = &self.lambda[self.problem.contacts.rows(k)];
            lambda[whole.contacts.rows(*c as usize)].copy_from_slice(block);
        }
        let (from, to) = (self.problem.contact_rows(), whole.contact_rows());
        for (k, r) in self.rows.iter().enumerate() {
            lambda[to + *r as usize] = self.lambda[from + k];
        }
    }
}
