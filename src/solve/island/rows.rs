//! The operator of an island without bodies: the blocks of A.
//!
//! Alternating directions solve with ½(A + Aᵀ) + R + η; what is not symmetric in A follows the last solution. Newton's
//! steps solve with the matrix of [`System`].

use std::mem::take;
use std::ops::Range;

use super::blocks::{Blocks, ROWS};
use super::matrix::System;
use super::{Block, Linear, Linearisation, Operator, Tally};
use crate::linalg::supernodal::Breakdown;
use crate::problem::MatrixProblem;

/// An island of A.
pub(in crate::solve) struct Rows<'a> {
    pub of: Blocks<'a>,
    /// The systems of Newton's steps, and of alternating directions, whose factor stays while steps come in between.
    newton: Option<System>,
    directions: Option<System>,
    change: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// Takes an island.
    pub fn new(problem: &'a MatrixProblem, island: usize) -> Self {
        let of = Blocks::new(problem, island);
        Self {
            newton: None,
            directions: None,
            change: vec![0.0; of.rows],
            of,
        }
    }

    /// What a Newton step takes, about (multiplications).
    pub fn work_of_a_step(&mut self) -> f64 {
        let of = &self.of;
        let system = self.newton.get_or_insert_with(|| System::new(of));
        system.work_of_a_step(of)
    }
}

impl Operator for Rows<'_> {
    /// local_problem_test takes 27 million multiplications with it and more than 30 without; islands with bodies take
    /// fewer without.
    const ROUNDING: f64 = 0.03;

    fn blocks(&self) -> &[Block] {
        &self.of.blocks
    }

    fn offset(&self) -> &[f64] {
        &self.of.b
    }

    fn diagonal(&self) -> &[f64] {
        &self.of.diagonal
    }

    fn compliance(&self, _rows: Range<usize>) -> &[f64] {
        // It is part of A.
        &[]
    }

    fn product(&mut self, x: &[f64], w: &mut [f64]) {
        self.of.product(x, w);
        w.iter_mut().zip(&self.of.b).for_each(|(w, b)| *w += b);
    }

    fn factor(&mut self, shift: &[f64], tally: &mut Tally) -> Result<(), Breakdown> {
        let of = &self.of;
        let system = self.directions.get_or_insert_with(|| System::new(of));
        system.begin();
        for block in &of.blocks {
            system.push_plain(&shift[block.span()]);
        }
        tally.factors += 1;
        tally.work += system.cost[1];
        system.factor(of)
    }

    fn solve(&mut self, shift: &[f64], r: &[f64], x: &mut [f64]) {
        let system = self.directions.as_mut().expect("a factor");
        self.of.product(x, &mut self.change);
        for (k, change) in self.change.iter_mut().enumerate() {
            *change = r[k] - self.of.b[k] - *change - shift[k] * x[k];
        }
        system.substitute(&mut self.change);
        x.iter_mut().zip(&self.change).for_each(|(x, c)| *x += c);
    }

    fn newton_step(
        &mut self,
        at: &Linearisation,
        step: &mut [f64],
        tally: &mut Tally,
    ) -> Result<(), Breakdown> {
        let of = &self.of;
        let system = self.newton.get_or_insert_with(|| System::new(of));
        system.begin();
        for (c, (k, gradient)) in at.k.iter().zip(&at.gradient).enumerate() {
            let gradient = gradient.map(|g| *g.first_chunk::<ROWS>().expect("three rows"));
            system.push_contact(k, &at.g[of.rows(c)], gradient);
        }
        for row in &at.general {
            system.push_row(match row {
                Linear::Inside(row) => Ok(*row),
                Linear::AtBound(g) => Err(*g),
            });
        }
        tally.factors += 1;
        let result = system.factor(of);
        if result.is_ok() {
            system.solve(of, step);
        }
        tally.solves += take(&mut system.solves);
        tally.work += take(&mut system.work);
        result
    }

    fn cost(&self) -> [f64; 2] {
        let system = self.newton.as_ref().or(self.directions.as_ref());
        system.map_or([0.0; 2], |system| system.cost)
    }

    fn work_of_a_product(&self) -> f64 {
        self.of.entries()
    }

    fn work_of_a_solve(&self) -> f64 {
        2.0 * (self.cost()[0] + self.of.entries())
    }
}
