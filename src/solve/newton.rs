//! `newton`: exact laws, directly, for every friction law, at any ratio of masses and with redundant contacts. Every island
//! is solved exactly (`exact`), with its share of the work.

use std::time::Instant;

use crate::math::Twist;
use crate::problem::{MatrixProblem, Problem};
use crate::solve::exact::stages::{WITHOUT, left_out};
use crate::solve::exact::{Ask, ExactPass, WorkBudget, matrices};
use crate::solve::{NeedsBodies, Request, SolveReport, Solver, SolverInfo, Traits, work};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "newton",
    summary: "exact laws, directly: Newton's method, proximal points and sweeps in turn, for every friction law and redundant contacts",
    source: "Rockafellar 1976; De Saxcé & Feng 1998; Yamashita & Fukushima 2001; Hintermüller, Ito & Kunisch 2002",
    least_iterations: 500,
    traits: Traits {
        is_exact: true,
        ..Traits::NONE
    },
    parameters: &[WITHOUT, work::parameter(work::DIRECT)],
    make: |parameters| {
        Box::new(Newton {
            work: work::limit(parameters),
            pass: ExactPass::without(left_out(parameters)),
        })
    },
};

/// The solver.
struct Newton {
    /// What a solve may take (multiplications).
    work: f64,
    pass: ExactPass,
}

impl Solver for Newton {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        let budget = WorkBudget::to_all(request.bounded(self.work), request.budget.tolerance);
        self.pass.plan(problem, lambda, u, &budget, |_| Ask::Solve);
        let planning = start.elapsed().as_secs_f64();
        let mut report = self.pass.solve(problem, request, lambda);
        report.prepare_time = planning;
        self.pass.conclude(problem, lambda, u, &mut report);
        if request.history && report.status.is_usable() {
            self.pass.write_history(problem, lambda, &mut report);
        }
        report
    }

    fn tries(&self) -> bool {
        true
    }

    fn step_work(&self) -> f64 {
        self.work
    }

    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let budget = WorkBudget::to_all(f64::INFINITY, request.budget.tolerance);
        let report = matrices::solve(problem, request, &budget, lambda);
        Ok(report.expect("work without limit"))
    }
}
