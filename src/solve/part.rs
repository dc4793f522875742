//! Some of a problem's contacts and rows as a problem of its own.

use crate::problem::islands::{NO_ISLAND, span};
use crate::problem::{NewContact, Problem};

/// A part of a problem, and where its rows stand in the whole. Keeps its memory.
#[derive(Debug, Default)]
pub struct Part {
    /// The same bodies, and some of the contacts and rows.
    pub problem: Problem,
    /// Its impulses.
    pub lambda: Vec<f64>,
    contacts: Vec<u32>,
    rows: Vec<u32>,
}

impl Part {
    /// Takes the islands that are `wanted`, and their impulses, in the order of the whole.
    pub fn take(&mut self, whole: &Problem, wanted: &[bool], lambda: &[f64]) {
        let is_wanted = |body: &u32| {
            let island = whole.islands.of_body[*body as usize];
            island != NO_ISLAND && wanted[island as usize]
        };
        self.take_those(whole, |bodies| bodies.iter().any(is_wanted));
        self.load(whole, lambda);
    }

    /// Takes the contacts and rows whose bodies are such, in the order of the whole, and none of their impulses.
    pub fn take_those(&mut self, whole: &Problem, is_wanted: impl Fn(&[u32]) -> bool) {
        self.begin(whole);
        self.problem.bodies.clone_from(&whole.bodies);
        for (c, bodies) in whole.contacts.bodies.iter().enumerate() {
            if is_wanted(bodies) {
                self.take_contact(whole, c, *bodies);
            }
        }
        for r in 0..whole.rows.len() {
            if is_wanted(whole.rows.bodies(r)) {
                self.take_row(whole, r, |body| body);
            }
        }
        self.problem.finish();
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
        for c in contacts.iter().map(|c| *c as usize) {
            self.take_contact(whole, c, whole.contacts.bodies[c].map(here));
        }
        for r in rows {
            self.take_row(whole, *r as usize, here);
        }
        self.problem.finish();
    }

    fn begin(&mut self, whole: &Problem) {
        self.problem.clear();
        self.problem.bodies.part.clear();
        self.problem.h = whole.h;
        self.contacts.clear();
        self.rows.clear();
    }

    fn take_contact(&mut self, whole: &Problem, c: usize, bodies: [u32; 2]) {
        self.contacts.push(c as u32);
        let contacts = &whole.contacts;
        self.problem.push_contact(NewContact {
            bodies,
            frame: contacts.frame[c],
            friction: contacts.friction[c],
            bias: contacts.bias[c],
            compliance: contacts.compliance[c],
            gap: contacts.gap[c],
        });
    }

    fn take_row(&mut self, whole: &Problem, r: usize, here: impl Fn(u32) -> u32) {
        self.rows.push(r as u32);
        let rows = &whole.rows;
        let entries = span(&rows.start, r).map(|e| (here(rows.body[e]), rows.jacobian[e]));
        self.problem.push_row(
            entries,
            rows.bounds[r],
            rows.bias[r],
            rows.compliance[r],
            rows.position_error[r],
        );
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
