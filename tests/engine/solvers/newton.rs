//! `newton` on exact laws: what it reaches on stacks, cards, arches and machines, and that it never makes anything
//! worse.

use crate::common::problems::residual_of;
use moreau::math::Twist;
use moreau::problem::Problem;
use moreau::scene::library;
use moreau::solve::newton::INFO;
use moreau::solve::{Budget, Request, SolveReport, Solver, Status};
use moreau::step::Simulation;

/// Five cubes under one of a hundred million times their mass, asked for more than rounding allows: what was found on the
/// way is kept, though its impulses are many times those of the start.
#[test]
fn the_best_is_kept_where_rounding_ends_it() {
    let mut scene = library::shipped("box_stack").expect("a shipped scene");
    let values = [
        ("generators.0.count", "6"),
        ("generators.0.top_mass_ratio", "1e8"),
        ("solver.name", "\"newton\""),
        ("solver.budget.tolerance", "1e-9"),
    ];
    scene.set_all(&values).expect("values of the scene");
    let world = scene.build().expect("it builds");
    let mut simulation = Simulation::new(world, scene.solver.clone(), 1).expect("its solver");
    for step in 1..=100 {
        let report = simulation.step().expect("a step");
        let residual = report.residual.as_ref().expect("it is measured").residual;
        assert!(residual < 1e-5, "step {step}: {residual:e} m/s");
    }
}

/// The problem of a shipped scene's step.
fn problem(scene: &str, steps: u64) -> Problem {
    let scene = library::shipped(scene).expect("a shipped scene");
    let world = scene.build().expect("it builds");
    let mut simulation = Simulation::new(world, scene.solver.clone(), 1).expect("its solver");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    simulation.problem().clone()
}

fn budget(tolerance: f64) -> Budget {
    Budget {
        iterations: 500,
        tolerance,
        ..Budget::default()
    }
}

/// A solve from where `lambda` is.
fn solve(
    solver: &mut dyn Solver,
    budget: Budget,
    problem: &Problem,
    lambda: &mut [f64],
) -> SolveReport {
    let request = Request {
        budget,
        history: false,
        ..Request::default()
    };
    let mut u: Vec<Twist> = Vec::new();
    solver.solve(problem, &request, lambda, &mut u)
}

/// From nothing, on redundant contacts and heavy machines: the residual of the exact laws.
#[test]
fn hard_problems_are_solved_exactly_from_nothing() {
    for (scene, step) in [
        ("heavy_stack", 60),
        ("box_stack", 20),
        ("box_stack", 60),
        ("arch", 20),
        ("arch", 60),
        ("house_of_cards", 60),
        ("crane", 60),
        ("offshore", 60),
        ("forklift", 60),
        ("vehicle_parkour", 60),
    ] {
        let problem = problem(scene, step);
        let mut solver = INFO.with_defaults();
        let mut lambda = vec![0.0; problem.row_count()];
        let report = solve(&mut *solver, budget(1e-9), &problem, &mut lambda);
        assert_eq!(report.status, Status::Converged, "{scene}");
        let residual = residual_of(&problem, &lambda);
        assert!(residual <= 1e-9, "{scene}: {residual:e}");
        // A solution is left as it is.
        let mut again = lambda.clone();
        let report = solve(&mut *solver, budget(1e-8), &problem, &mut again);
        assert_eq!((report.iterations, again), (0, lambda), "{scene}");
    }
}

/// Few steps, or none: what it returns is no worse than where it began.
#[test]
fn a_short_budget_makes_nothing_worse() {
    let problem = problem("box_stack", 60);
    let mut least = residual_of(&problem, &vec![0.0; problem.row_count()]);
    for iterations in [1, 5, 10, 20, 40, 80] {
        let budget = Budget {
            iterations,
            ..budget(1e-12)
        };
        let mut solver = INFO.with_defaults();
        let mut lambda = vec![0.0; problem.row_count()];
        solve(&mut *solver, budget, &problem, &mut lambda);
        let residual = residual_of(&problem, &lambda);
        assert!(
            residual <= least,
            "{iterations} steps: {residual:e} after {least:e}"
        );
        least = residual;
    }
}

/// A row that moves nothing, as a gear at a dead point, is left out, and the island around it solved.
#[test]
fn a_row_without_effect_is_left_out() {
    let mut problem = problem("crane", 20);
    let pair = [1, 2].map(|body| (body, Twist::ZERO));
    let free = [f64::NEG_INFINITY, f64::INFINITY];
    problem.push_row(pair, free, 0.01, 0.0, 0.0);
    problem.push_row(pair, [-1.0, 1.0], 0.01, 0.0, 0.0);
    problem.finish();
    for name in ["newton", "auto", "admm", "bpp"] {
        let info = moreau::solve::find(name).expect("a solver");
        let mut solver = info.with_defaults();
        let mut lambda = vec![0.0; problem.row_count()];
        let tolerance = budget(1e-8);
        let report = solve(&mut *solver, tolerance, &problem, &mut lambda);
        assert_eq!(report.status, Status::Converged, "{name}");
        assert!(residual_of(&problem, &lambda) <= 1e-8, "{name}");
    }
}
