//! Some of a problem's islands as a problem of its own.

use crate::problem::Problem;
use crate::problem::islands::NO_ISLAND;

/// A part of a problem, and where its rows stand in the whole. Keeps its memory.
#[derive(Debug, Default)]
pub struct Part {
    /// The same bodies, and the contacts and rows of some islands.
    pub problem: Problem,
    /// Its impulses.
    pub lambda: Vec<f64>,
    contacts: Vec<u32>,
    rows: Vec<u32>,
}

impl Part {
    /// Takes the islands that are `wanted`, and their impulses, in the order of the whole.
    pub fn take(&mut self, whole: &Problem, wanted: &[bool], lambda: &[f64]) {
        let part = &mut self.problem;
        part.clear();
        part.h = whole.h;
        part.bodies.clone_from(&whole.bodies);
        let is_wanted = |body: u32| {
            let island = whole.islands.of_body[body as usize];
            island != NO_ISLAND && wanted[island as usize]
        };
        self.contacts.clear();
        let contacts = &whole.contacts;
        for (c, bodies) in contacts.bodies.iter().enumerate() {
            if bodies.iter().any(|body| is_wanted(*body)) {
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
            if rows.bodies(r).iter().any(|body| is_wanted(*body)) {
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
        self.lambda.clear();
        for c in &self.contacts {
            let block = &lambda[contacts.rows(*c as usize)];
            self.lambda.extend_from_slice(block);
        }
        let first = whole.contact_rows();
        let rows = self.rows.iter().map(|r| lambda[first + *r as usize]);
        self.lambda.extend(rows);
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
