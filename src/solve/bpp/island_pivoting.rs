//! Pivoting on one island, for other solvers.

use std::time::Instant;

use super::INFO;
use super::factor;
use super::lcp::{Limits, Tally};
use super::parameters::Settings;
use super::strategy::IslandSolver;
use crate::problem::Problem;
use crate::solve::Parameters;

/// Pivots that it is worth beginning for, and that may be made: on machines in motion an island takes 10 in the median and
/// 28 at most (winch), 134 where a tower of logs falls.
const LEAST_PIVOTS: f64 = 8.0;
const MOST_PIVOTS: f64 = 200.0;

/// The solver of one island with default parameters. Keeps its memory.
pub(in crate::solve) struct IslandPivoting {
    settings: Settings,
    solver: IslandSolver,
    /// Number of each body within its island.
    local: Vec<u32>,
}

impl Default for IslandPivoting {
    fn default() -> Self {
        let settings = Settings::new(&Parameters::defaults(INFO.parameters));
        let (share, memory) = (settings.refactor_share, settings.memory);
        let factor = factor::make(&settings.factorization, share, memory);
        Self {
            settings,
            solver: IslandSolver::new(factor),
            local: Vec::new(),
        }
    }
}

impl IslandPivoting {
    /// Solves a problem of one island, from `lambda`, which becomes the result, with at most so many multiplications in all
    /// and for a pivot. `transverse_compliance` is added to that of each contact's second tangent (1/kg). Returns the
    /// multiplications that were spent, or nothing where no pivot was made.
    pub fn solve(
        &mut self,
        problem: &Problem,
        lambda: &mut [f64],
        transverse_compliance: &[f64],
        [all, each]: [f64; 2],
        deadline: Option<Instant>,
    ) -> Option<f64> {
        if problem.islands.len() != 1 {
            return None;
        }
        problem.islands.number_within(&mut self.local);
        let (solver, settings) = (&mut self.solver, &self.settings);
        solver.lcp.tally = Tally::default();
        solver.assemble(problem, 0, &self.local, settings, transverse_compliance);
        let pivot = solver.lcp.island.work_of_a_pivot();
        let pivots = all / pivot;
        if solver.outcome.is_err() || pivots < LEAST_PIVOTS || pivot > each {
            return None;
        }
        let limits = Limits {
            budget: pivots.min(MOST_PIVOTS) as u32,
            deadline,
        };
        solver.solve(lambda, settings, limits, false);
        let pivots = solver.lcp.tally.pivots;
        if pivots == 0 {
            return None;
        }
        solver.store(lambda);
        Some(f64::from(pivots) * pivot)
    }
}
