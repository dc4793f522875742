//! Problems and what solvers make of them.

use moreau::math::Twist;
use moreau::problem::Problem;
use moreau::problem::residual::{self, JudgedLaw, Residual, ResidualWorkspace};
use moreau::solve::{Budget, Request, SolveReport, SolverConfig};
use moreau::step::Simulation;
use moreau::world::World;

/// A solver with the defaults of its parameters.
pub fn config(name: &str, budget: Budget) -> SolverConfig {
    SolverConfig {
        name: name.into(),
        budget,
        ..SolverConfig::default()
    }
}

/// Λ, u and the report of a solve from zero.
pub fn solve(
    config: &SolverConfig,
    problem: &Problem,
    history: bool,
) -> (Vec<f64>, Vec<Twist>, SolveReport) {
    let mut solver = config.build().expect("a valid solver");
    let mut lambda = vec![0.0; problem.row_count()];
    let mut u = Vec::new();
    let request = Request {
        budget: config.budget,
        history,
        ..Request::default()
    };
    let report = solver.solve(problem, &request, &mut lambda, &mut u);
    (lambda, u, report)
}

/// All measures of Λ under a law.
pub fn judge(problem: &Problem, lambda: &[f64], law: JudgedLaw) -> Residual {
    residual::evaluate(problem, lambda, law, &mut ResidualWorkspace::default())
}

/// The residual under the contacts' own laws (m/s).
pub fn residual_of(problem: &Problem, lambda: &[f64]) -> f64 {
    judge(problem, lambda, JudgedLaw::Own).residual
}

/// Largest difference of two sets of velocities (m/s, rad/s).
pub fn difference(a: &[Twist], b: &[Twist]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a.linear - b.linear).norm() + (a.angular - b.angular).norm())
        .fold(0.0, f64::max)
}

/// The problem of a world's first step.
pub fn first_problem(world: World) -> Problem {
    let simulation = Simulation::new(world, SolverConfig::default(), 1);
    let mut simulation = simulation.expect("a valid solver");
    simulation.step().expect("a step");
    simulation.problem().clone()
}
