//! `colored-gs` with A or T stored, in f64 (Poulsen 2010, 7.2.3 and 7.3).
//!
//! Every contact is an edge of its own here: those of a manifold depend on each other, and nothing but Λ leads from one
//! product to the next. Small islands in a row are a batch with one monitor, as in the lanes. Contacts stand by batch and
//! by colour, and A in that order, so that a colour goes straight through memory. A merged colour is solved by Jacobi on
//! all its contacts, from the newest impulses of the others (as in the thesis with OpenMP) or from the last iteration's.

use rayon::prelude::*;

use super::edges::{Edges, Kind};
use super::layout::batches_of;
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::islands::Grouped;
use crate::solve::sweeps::ProxIteration;
use crate::solve::sweeps::color::{Coloring, NO_BODY, Strategy};
use crate::solve::sweeps::jacobi::Jacobi;
use crate::solve::sweeps::monitor::Monitor;
use crate::solve::sweeps::parameters::{Packing, Scheme, SchemeChoice};
use crate::solve::{Budget, NO_COLOR};

/// How contacts are coloured.
#[derive(Clone, Copy, Debug)]
pub struct Treatment {
    pub strategy: Strategy,
    /// Colours with fewer contacts are merged into one.
    pub threshold: u32,
    pub counts_fixed: bool,
    /// Whether the merged colour is relaxed by what touches the same bodies in it.
    pub damped: bool,
    /// Whether it reads the impulses of the last iteration, those of the other colours too.
    pub reads_last: bool,
}

/// The solver with a stored matrix.
pub struct Stored {
    jacobi: Jacobi,
    edges: Edges,
    batch_of_island: Vec<u32>,
    /// Bodies, contacts and rows by batch; contacts and rows by colour within it.
    bodies: Grouped,
    contacts: Grouped,
    rows: Grouped,
    /// The blocks in the order of A, and the first of each batch.
    sources: Vec<u32>,
    starts: Vec<u32>,
    /// Edges, sorted.
    order: Vec<u32>,
    /// Contacts and rows of each colour, and of the merged one behind them.
    pub counts: Vec<u32>,
    /// Colour of every contact of the problem.
    pub color_of_contact: Vec<u32>,
}

impl Stored {
    /// One with these R-factors.
    pub fn new(packing: Packing) -> Self {
        Self {
            jacobi: Jacobi::colored(packing, SchemeChoice::of(Scheme::T)),
            edges: Edges::default(),
            batch_of_island: Vec::new(),
            bodies: Grouped::default(),
            contacts: Grouped::default(),
            rows: Grouped::default(),
            sources: Vec::new(),
            starts: Vec::new(),
            order: Vec::new(),
            counts: Vec::new(),
            color_of_contact: Vec::new(),
        }
    }

    /// Colours a problem, and stores its A or T in the order of batches and colours.
    pub fn prepare(
        &mut self,
        problem: &Problem,
        scheme: Scheme,
        treatment: Treatment,
        coloring: &mut Coloring,
        lambda: &[f64],
    ) {
        let kind = Kind {
            counts_fixed: treatment.counts_fixed,
            one_by_one: true,
        };
        self.edges.update(problem, kind);
        let colored = self.edges.colored();
        let bodies = problem.bodies.len();
        coloring.update(bodies, &self.edges.name, colored, treatment.strategy);
        let merged = coloring.counts().len() as u32;
        // Every edge is one contact or one row.
        let color: Vec<u32> = coloring
            .colors()
            .iter()
            .map(
                |c| match coloring.counts()[*c as usize] >= treatment.threshold {
                    true => *c,
                    false => merged,
                },
            )
            .collect();
        self.sort(problem, &color);
        let groups = [&self.bodies, &self.contacts, &self.rows];
        let sources = [&self.sources[..], &self.starts[..]];
        self.jacobi
            .prepare_in_order(problem, scheme, groups, sources, lambda);
        let first_row = problem.contacts.len();
        let of = |items: &[u32], first: usize| -> Vec<u32> {
            let edges = items.iter().map(|item| first + *item as usize);
            edges.map(|edge| color[edge]).collect()
        };
        let colors = [of(&self.contacts.items, 0), of(&self.rows.items, first_row)];
        let late = treatment.reads_last.then_some(merged);
        self.jacobi.use_colors([&colors[0], &colors[1]], late);
        if treatment.damped {
            self.relax(problem, colors, merged);
        }
    }

    /// Contacts and rows by batch and by colour; blocks of A in the same order.
    fn sort(&mut self, problem: &Problem, color: &[u32]) {
        let batches = batches_of(problem, &mut self.batch_of_island);
        let of_island = &self.batch_of_island;
        let batch = |edge: usize| of_island.get(self.edges.island[edge] as usize).copied();
        let contacts = problem.contacts.len();
        self.order.clear();
        self.order.extend(0..self.edges.members.len() as u32);
        self.order.par_sort_by_key(|e| color[*e as usize]);
        let sorted = self
            .order
            .iter()
            .filter_map(|e| Some((batch(*e as usize)?, *e)));
        let of_contacts = sorted.clone().filter(|(_, e)| (*e as usize) < contacts);
        let of_rows = sorted.filter(|(_, e)| *e as usize >= contacts);
        let of_rows = of_rows.map(|(batch, e)| (batch, e - contacts as u32));
        self.contacts.fill(batches, of_contacts);
        self.rows.fill(batches, of_rows);
        let of_bodies = problem.islands.of_body.iter().zip(0..);
        let of_bodies =
            of_bodies.filter_map(|(island, body)| Some((*of_island.get(*island as usize)?, body)));
        self.bodies.fill(batches, of_bodies);

        self.sources.clear();
        self.starts.clear();
        self.starts.push(0);
        for batch in 0..batches {
            self.sources.extend_from_slice(self.contacts.of(batch));
            let rows = self.rows.of(batch).iter();
            self.sources.extend(rows.map(|r| r + contacts as u32));
            self.starts.push(self.sources.len() as u32);
        }
        let colors = color.iter().max().map_or(0, |c| *c as usize + 1);
        self.counts.clear();
        self.counts.resize(colors, 0);
        self.color_of_contact.clear();
        self.color_of_contact.resize(contacts, NO_COLOR);
        for source in &self.sources {
            let own = color[*source as usize];
            self.counts[own as usize] += 1;
            if let Some(of_contact) = self.color_of_contact.get_mut(*source as usize) {
                *of_contact = own;
            }
        }
    }

    /// ω = 1/(1 + others on the same bodies) in the merged colour: each by itself would solve the whole.
    fn relax(&mut self, problem: &Problem, colors: [Vec<u32>; 2], merged: u32) {
        let contacts = self.contacts.items.iter().map(|c| *c as usize);
        let rows = self.rows.items.iter();
        let rows = rows.map(|r| problem.contacts.len() + *r as usize);
        let edges = [contacts.collect::<Vec<_>>(), rows.collect()];
        let bodies = |edge: usize| {
            let bodies = self.edges.bodies[edge].into_iter();
            bodies.take_while(|b| *b != NO_BODY).map(|b| b as usize)
        };
        let mut touches = vec![0u32; problem.bodies.len()];
        let is_merged = edges.iter().flatten().zip(colors.iter().flatten());
        for (edge, _) in is_merged.filter(|(_, color)| **color == merged) {
            bodies(*edge).for_each(|b| touches[b] += 1);
        }
        let omega = [0, 1].map(|kind| {
            let own = edges[kind].iter().zip(&colors[kind]);
            let omega = own.map(|(edge, color)| match *color == merged {
                true => 1.0 / f64::from(1 + bodies(*edge).map(|b| touches[b] - 1).sum::<u32>()),
                false => 1.0,
            });
            omega.collect()
        });
        self.jacobi.use_omega(omega);
    }
}

impl ProxIteration for Stored {
    /// [`Stored::prepare`] has done it: it needs colours.
    fn prepare(&mut self, _problem: &Problem, _lambda: &[f64], _u: &mut Vec<Twist>) {}

    fn is_finite(&self) -> bool {
        ProxIteration::<Problem>::is_finite(&self.jacobi)
    }

    fn iterate(&mut self, problem: &Problem, budget: &Budget) {
        self.jacobi.iterate(problem, budget);
    }

    fn monitors(&self) -> &[Monitor] {
        ProxIteration::<Problem>::monitors(&self.jacobi)
    }

    fn return_to_checkpoints(&mut self) {
        ProxIteration::<Problem>::return_to_checkpoints(&mut self.jacobi);
    }

    fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        self.jacobi.store(problem, lambda);
    }
}
