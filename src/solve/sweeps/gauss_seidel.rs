//! `gauss-seidel`: SOR Prox, sequential within an island, islands in parallel.

use super::block::{Change, Sweep};
use super::by_island::{IslandView, Method, Prepare, by_island_of_any_form};
use super::form::Packs;
use super::matrix::Matrix;
use super::pack::Packed;
use super::parameters::{ALPHA, BLOCK, Packing, SCHEME, Scheme, SchemeChoice, r_factors_by_degree};
use super::sweep;
use crate::solve::{Parameters, SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "gauss-seidel",
    summary: "SOR Prox: every contact sees the newest impulses; sequential within an island",
    source: "Poulsen 2010, 3.5; Nützi 2011, 4.48",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[SCHEME, r_factors_by_degree("local"), BLOCK, ALPHA],
    make: |parameters| by_island_of_any_form(&INFO, GaussSeidel::new(parameters)),
};

/// What the solver does to an island.
#[derive(Default)]
pub struct GaussSeidel {
    packing: Packing,
    choice: SchemeChoice,
    scheme: Scheme,
    matrix: Matrix,
}

impl GaussSeidel {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            packing: Packing::new(parameters),
            choice: SchemeChoice::new(parameters),
            ..Self::default()
        }
    }
}

impl<P: Packs> Prepare<P> for GaussSeidel {
    fn prepare(&mut self, problem: &P, packed: &mut Packed) {
        self.packing.pack(problem, packed, usize::MAX);
        self.scheme = problem.scheme(&mut self.choice);
        if self.scheme != Scheme::Factorized {
            problem.refill(&mut self.matrix, packed, self.scheme);
        }
    }
}

impl Method for GaussSeidel {
    type State = ();

    fn traffic(&self, packed: &Packed) -> [u64; 2] {
        match self.scheme {
            Scheme::Factorized => packed.sweep_traffic(),
            _ => [0; 2],
        }
    }

    fn rebuild(&self, packed: &Packed, island: usize, view: &mut IslandView<()>) {
        if self.scheme == Scheme::Factorized {
            packed.velocities(island, view.lambda, view.bodies);
        }
    }

    fn iterate(
        &self,
        packed: &Packed,
        island: usize,
        view: &mut IslandView<()>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        if self.scheme == Scheme::Factorized {
            sweep::factorized(packed, island, view.bodies, view.lambda, sweep, change);
        } else {
            sweep::stored(packed, &self.matrix, island, view.lambda, sweep, change);
        }
    }
}
