//! `colored-gs` where A is all that is known: two blocks meet where A has an entry for them, and no two of a colour do.
//!
//! Without bodies there are no manifolds to fill lanes with, so that this is `jacobi` colour by colour, in f64: every
//! colour sees the impulses of those before.

use crate::math::Twist;
use crate::problem::delassus::Delassus;
use crate::problem::{Form, MatrixProblem};
use crate::solve::Budget;
use crate::solve::sweeps::ProxIteration;
use crate::solve::sweeps::jacobi::Jacobi;
use crate::solve::sweeps::monitor::Monitor;
use crate::solve::sweeps::parameters::{Packing, Scheme, SchemeChoice};

/// The solver without bodies.
pub struct ColoredMatrices {
    jacobi: Jacobi,
    /// The problem with the blocks of each island ordered by colour.
    ordered: MatrixProblem,
    /// Blocks of each colour.
    pub counts: Vec<u32>,
}

impl ColoredMatrices {
    /// One with these R-factors, and with A or T.
    pub fn new(packing: Packing, scheme: Scheme) -> Self {
        Self {
            jacobi: Jacobi::colored(packing, SchemeChoice::of(scheme)),
            ordered: MatrixProblem::default(),
            counts: Vec::new(),
        }
    }
}

/// The lowest colour that no neighbour has, block by block.
fn colors(a: &Delassus) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let blocks = a.blocks();
    let columns = |b: usize| {
        a.column[a.start[b]..a.start[b + 1]]
            .iter()
            .map(|c| *c as usize)
    };
    // A need not be symmetric.
    let mut mirrored: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    for b in 0..blocks {
        columns(b).for_each(|c| mirrored[c].push(b as u32));
    }
    let mut color = vec![NONE; blocks];
    let mut taken_by = vec![NONE; blocks + 1];
    for b in 0..blocks {
        let others = mirrored[b].iter().map(|c| *c as usize);
        for c in columns(b).chain(others) {
            if color[c] != NONE {
                taken_by[color[c] as usize] = b as u32;
            }
        }
        let free = taken_by.iter().position(|by| *by != b as u32);
        color[b] = free.unwrap_or(blocks) as u32;
    }
    color
}

impl ProxIteration<MatrixProblem> for ColoredMatrices {
    fn prepare(&mut self, problem: &MatrixProblem, lambda: &[f64], u: &mut Vec<Twist>) {
        let (a, contacts) = (problem.a(), problem.contact_count());
        let color = colors(a);
        let is_row = |b: u32| a.source[b as usize] as usize >= contacts;
        let mut order: Vec<u32> = (0..a.blocks() as u32).collect();
        for island in a.island_start.windows(2) {
            let blocks = &mut order[island[0] as usize..island[1] as usize];
            blocks.sort_by_key(|b| (is_row(*b), color[*b as usize]));
        }
        self.counts.clear();
        for c in &color {
            let colors = self.counts.len().max(*c as usize + 1);
            self.counts.resize(colors, 0);
            self.counts[*c as usize] += 1;
        }
        self.ordered = problem.reordered(&order);
        self.jacobi.prepare(&self.ordered, lambda, u);
        let (rows, of_contacts): (Vec<u32>, Vec<u32>) = order.iter().partition(|b| is_row(**b));
        let colored =
            |blocks: Vec<u32>| -> Vec<u32> { blocks.iter().map(|b| color[*b as usize]).collect() };
        self.jacobi
            .use_colors([&colored(of_contacts), &colored(rows)], None);
    }

    fn is_finite(&self) -> bool {
        ProxIteration::<MatrixProblem>::is_finite(&self.jacobi)
    }

    fn iterate(&mut self, _problem: &MatrixProblem, budget: &Budget) {
        self.jacobi.iterate(&self.ordered, budget);
    }

    fn monitors(&self) -> &[Monitor] {
        ProxIteration::<MatrixProblem>::monitors(&self.jacobi)
    }

    fn return_to_checkpoints(&mut self) {
        ProxIteration::<MatrixProblem>::return_to_checkpoints(&mut self.jacobi);
    }

    fn store(&self, _problem: &MatrixProblem, lambda: &mut [f64]) {
        self.jacobi.store(&self.ordered, lambda);
    }

    fn velocities(&self, _problem: &MatrixProblem, _lambda: &[f64], _u: &mut Vec<Twist>) {}
}
