//! `nncg`: nonsmooth nonlinear conjugate gradients around projected Gauss–Seidel (Silcowitz, Niebe &
//! Erleben 2010, "A nonsmooth nonlinear conjugate gradient method for interactive contact force
//! problems").
//!
//! One iteration takes Λ to PGS(Λ). What it changes stands for the negative gradient of a merit
//! function, and Fletcher and Reeves' conjugate directions are built of that.
//!
//! The paper sweeps forward only. Conjugate directions ask for a symmetric preconditioner, so that
//! PGS(Λ) is a sweep forward and one back here: twice the work, and on stacks and walls several times
//! fewer sweeps altogether.
//!
//! Contacts are swept in their order, which on stacks leads from the ground up. By the colours of
//! [`colored-gs`](crate::solve::sweeps::colored_gs), sixteen at a time, an iteration on the wall takes 0.6 of the time, but
//! 150 of them leave 1.5e-4 m/s where 69 in this order leave 1e-6; over lanes in this order it takes 1.15 of the time in
//! double precision, and 0.6 in single precision, whose rounding leaves 8e-5 m/s after 150.

use super::block::{Change, Sweep};
use super::by_island::{IslandView, Method, Prepare, by_island_of_any_form};
use super::form::Packs;
use super::matrix::Matrix;
use super::pack::Packed;
use super::parameters::{ALPHA, BLOCK, Packing, Scheme, SchemeChoice, r_factors_by_degree};
use super::sweep;
use crate::problem::law::Law;
use crate::solve::{SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "nncg",
    summary: "conjugate gradients around Gauss–Seidel sweeps: far fewer iterations on stacks and heavy loads",
    source: "Silcowitz, Niebe & Erleben 2010",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[r_factors_by_degree("local"), BLOCK, ALPHA],
    make: |parameters| {
        let packing = Packing::new(parameters);
        by_island_of_any_form(
            &INFO,
            Nncg {
                packing,
                ..Nncg::default()
            },
        )
    },
};

/// What the solver does to an island.
#[derive(Default)]
pub struct Nncg {
    packing: Packing,
    /// Without bodies A is stored.
    matrix: Option<Matrix>,
}

/// An island's directions.
#[derive(Default)]
pub struct Direction {
    /// Λ^k, before the sweep.
    before: Vec<f64>,
    /// p^{k−1}.
    p: Vec<f64>,
    /// ‖∇f^{k−1}‖²; 0 before the first iteration.
    square: f64,
}

impl<P: Packs> Prepare<P> for Nncg {
    fn prepare(&mut self, problem: &P, packed: &mut Packed) {
        self.packing.pack(problem, packed, usize::MAX);
        let scheme = problem.scheme(&mut SchemeChoice::factorized());
        if scheme == Scheme::Factorized {
            self.matrix = None;
        } else {
            let matrix = self.matrix.get_or_insert_default();
            problem.refill(matrix, packed, scheme);
        }
    }
}

impl Method for Nncg {
    type State = Direction;

    fn rebuild(&self, packed: &Packed, island: usize, view: &mut IslandView<Direction>) {
        if self.matrix.is_none() {
            packed.velocities(island, view.lambda, view.bodies);
        }
    }

    fn start(&self, packed: &Packed, island: usize, view: &mut IslandView<Direction>) {
        self.rebuild(packed, island, view);
        view.state.square = 0.0;
        view.state.p.clear();
        view.state.p.resize(view.lambda.len(), 0.0);
    }

    fn iterate(
        &self,
        packed: &Packed,
        island: usize,
        view: &mut IslandView<Direction>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        // Λ^{k+1} = PGS(Λ^k), symmetric.
        view.state.before.clear();
        view.state.before.extend_from_slice(view.lambda);
        if let Some(matrix) = &self.matrix {
            sweep::stored(packed, matrix, island, view.lambda, sweep, change);
            sweep::stored_backward(packed, matrix, island, view.lambda, sweep, change);
        } else {
            sweep::factorized(packed, island, view.bodies, view.lambda, sweep, change);
            sweep::backward(packed, island, view.bodies, view.lambda, sweep, change);
        }
    }

    fn go_on(&self, packed: &Packed, island: usize, view: &mut IslandView<Direction>) {
        let Direction { before, p, square } = view.state;
        // ∇f^k = −(Λ^{k+1} − Λ^k)
        let gradient = |k: usize, lambda: &[f64]| before[k] - lambda[k];
        let squared: f64 = (0..before.len())
            .map(|k| gradient(k, view.lambda).powi(2))
            .sum();
        // β^k = ‖∇f^k‖²/‖∇f^{k−1}‖²
        let beta = squared / *square;
        *square = squared;
        // Restart where the gradient grows: the active set has changed.
        if beta.is_nan() || beta > 1.0 {
            for (k, p) in p.iter_mut().enumerate() {
                *p = -gradient(k, view.lambda);
            }
            return;
        }
        for (k, p) in p.iter_mut().enumerate() {
            // p^k = β^k p^{k−1} − ∇f^k and Λ^{k+1} ← Λ^{k+1} + β^k p^{k−1}
            let along = beta * *p;
            *p = along - gradient(k, view.lambda);
            view.lambda[k] += along;
        }
        // The step may leave the sets, and friction bounds have moved with Λ_N.
        packed.project(island, view.lambda, |law, mu, block| {
            block[0] = block[0].max(0.0);
            let normal = block[0];
            law.project(&mut block[1..], mu, normal);
        });
        self.rebuild(packed, island, view);
    }
}
