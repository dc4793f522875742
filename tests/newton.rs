//! `newton` on exact laws: what it reaches on stacks, walls, cards and machines, how far things slide, and that it
//! never makes anything worse.

mod common;

use common::problems::{config, residual_of, solve};
use moreau::problem::Problem;
use moreau::scene::{Scene, library};
use moreau::solve::{Budget, Status};
use moreau::step::Simulation;

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

/// From nothing, on redundant contacts and heavy machines: the residual of the exact laws.
#[test]
fn hard_problems_are_solved_exactly_from_nothing() {
    for (scene, step) in [
        ("heavy_stack", 60),
        ("box_stack", 60),
        ("arch", 60),
        ("house_of_cards", 60),
        ("crane", 60),
        ("offshore", 60),
        ("forklift", 60),
        ("vehicle_parkour", 60),
    ] {
        let problem = problem(scene, step);
        let (lambda, _, report) = solve(&config("newton", budget(1e-9)), &problem, false);
        assert_eq!(report.status, Status::Converged, "{scene}");
        let residual = residual_of(&problem, &lambda);
        assert!(residual <= 1e-9, "{scene}: {residual:e}");
        // Where it has been, it stays.
        let mut solver = config("newton", budget(1e-9)).build().expect("a solver");
        let mut again = lambda.clone();
        let request = moreau::solve::Request {
            budget: budget(1e-9),
            history: false,
        };
        let report = solver.solve(&problem, &request, &mut again, &mut Vec::new());
        assert_eq!((report.iterations, &again), (0, &lambda), "{scene}");
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
        let (lambda, ..) = solve(&config("newton", budget), &problem, false);
        let residual = residual_of(&problem, &lambda);
        assert!(
            residual <= least,
            "{iterations} steps: {residual:e} after {least:e}"
        );
        least = residual;
    }
}

/// A cube that slides with 2.2361 m/s on friction 0.5 stops after v²/(2 μ g) in the direction that it slides in,
/// whichever that is.
#[test]
fn a_slide_stops_where_coulomb_says_and_stays_straight() {
    let speed: f64 = 2.2361;
    let wanted = speed * speed / (2.0 * 0.5 * 9.81);
    for degrees in [0.0f64, 10.0, 22.5, 45.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let scene = format!(
            "(name: \"slide\", settings: (step: 0.005), materials: {{\"default\": (friction: 0.5)}}, \
             solver: (name: \"newton\", budget: (iterations: 500, tolerance: 1e-10)), bodies: [\
             (name: \"ground\", kind: Fixed, shape: Cuboid(half_extents: (9, 1, 9)), position: (0, -1, 0)),\
             (name: \"cube\", shape: Cuboid(half_extents: (0.2, 0.05, 0.2)), position: (0, 0.05, 0), \
             velocity: ({}, 0, {}))])",
            speed * cos,
            speed * sin
        );
        let scene = Scene::parse(&scene, "slide").expect("a scene");
        let world = scene.build().expect("it builds");
        let mut simulation = Simulation::new(world, scene.solver.clone(), 1).expect("newton");
        for _ in 0..200 {
            simulation.step().expect("a step");
        }
        let bodies = &simulation.world().bodies;
        let at = bodies.position[1];
        let along = at.x * cos + at.z * sin;
        let across = at.z * cos - at.x * sin;
        assert!(
            (along / wanted - 1.0).abs() < 1e-3 && across.abs() < 1e-6,
            "{degrees}°: {along} along, {across} across, {wanted} wanted"
        );
    }
}
