//! Some of a problem's contacts and rows as a problem of its own.

use crate::problem::Problem;
use crate::problem::islands::NO_ISLAND;

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
        let part = &mut self.problem;
        part.clear();
        part.h = whole.h;
        part.bodies.clone_from(&whole.bodies);
        self.contacts.clear();
        let contacts = &whole.contacts;
        for (c, bodies) in contacts.bodies.iter().enumerate() {
            if is_wanted(bodies) {
                self.contacts.push(c as u32);
                let out = &mut part.contacts;
                out.bodies.push(*bodies);
                out.frame.push(contacts.frame[c]);
                out.friction.push(contacts.friction[c]);
                out.bias.push(contacts.bias[c]);
                out.compliance.push(contacts.compliance[c]);
                out.gap.push(contacts.gap[c]);
            }
        }
        self.rows.clear();
        let rows = &whole.rows;
        for r in 0..rows.len() {
            if is_wanted(rows.bodies(r)) {
                self.rows.push(r as u32);
                let span = rows.start[r] as usize..rows.start[r + 1] as usize;
                let entries = span.map(|e| (rows.body[e], rows.jacobian[e]));
                part.push_row(
                    entries,
                    rows.bounds[r],
                    rows.bias[r],
                    rows.compliance[r],
                    rows.position_error[r],
                );
            }
        }
        part.finish();
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
