//! Parts and couplings against whole solutions.

use super::*;
use crate::problem::residual::velocity_distance;
use crate::scene::library;
use crate::solve::{Budget, SolverConfig, Value};

/// The problem of a shipped scene after so many steps, and the reach of its bodies.
fn posed(scene: &str, steps: usize) -> (Problem, Vec<f64>) {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    let reach = simulation.world().bodies.reach();
    (simulation.problem().clone(), reach)
}

/// A solver with some parameters.
fn solver(name: &str, parameters: &[(&str, Value)]) -> Box<dyn Solver> {
    let mut config = SolverConfig {
        name: name.into(),
        ..SolverConfig::default()
    };
    for (name, value) in parameters {
        config.parameters.insert((*name).into(), value.clone());
    }
    config.build().expect("a solver")
}

fn word(word: &str) -> Value {
    Value::Choice(word.into())
}

fn request(iterations: u32, tolerance: f64) -> Request {
    Request {
        budget: Budget {
            iterations,
            tolerance,
            ..Budget::default()
        },
        history: true,
    }
}

/// Velocities after a cold solve, and the report.
fn solved(
    solver: &mut dyn Solver,
    problem: &Problem,
    request: &Request,
) -> (Vec<Twist>, SolveReport) {
    let mut lambda = vec![0.0; problem.row_count()];
    let mut u = Vec::new();
    let report = solver.solve(problem, request, &mut lambda, &mut u);
    (u, report)
}

fn residuals(report: &SolveReport) -> Vec<f64> {
    report.history.iter().map(|p| p.residual).collect()
}

#[test]
fn exact_couplings_lead_to_the_whole_solution() {
    let cut = [("segment", Value::Integer(2)), ("depth", Value::Integer(0))];
    let mut missed = Vec::new();
    for (scene, steps, parameters, rounds) in [
        ("simple_crane", 60, &cut[..], 5),
        ("simple_crane", 60, &[], 5),
        ("chain", 60, &cut[..], 5),
        ("chain", 60, &[], 5),
        ("crane", 60, &[], 5),
        ("offshore", 60, &[], 5),
        ("bridge", 60, &cut[..], 5),
        ("two_cranes_one_load", 150, &[], 5),
        ("train", 250, &[], 5),
        ("winch", 200, &[], 20),
    ] {
        let (problem, reach) = posed(scene, steps);
        for primary in ["bpp", "newton"] {
            let given = [("primary", word(primary))];
            let given: Vec<_> = parameters.iter().cloned().chain(given).collect();
            let mut hybrid = solver("hybrid", &given);
            let (u, report) = solved(&mut *hybrid, &problem, &request(rounds, 1e-9));
            let (whole, _) = solved(
                &mut *solver(primary, &[]),
                &problem,
                &request(50_000, 1e-12),
            );
            let distance = velocity_distance(&problem, &u, &whole, &reach);
            if report.status != Status::Converged || distance > 1e-6 {
                missed.push(format!(
                    "{scene} {steps} {given:?}: {:?}, {distance:e} m/s, {:?}",
                    report.status,
                    residuals(&report)
                ));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn plain_couplings_lead_nearer_and_conjugate_directions_faster() {
    let (problem, _) = posed("simple_crane", 60);
    let residual = |coupling: &str, rounds: u32| {
        let mut hybrid = solver("hybrid", &[("coupling", word(coupling))]);
        let (_, report) = solved(&mut *hybrid, &problem, &request(rounds, 0.0));
        *residuals(&report).last().expect("a history")
    };
    let plain = [5, 50, 500].map(|rounds| residual("plain", rounds));
    assert!(plain.is_sorted_by(|a, b| a > b), "{plain:?}");
    let conjugate = residual("conjugate", 500);
    assert!(conjugate < 0.01 * plain[2], "{conjugate:e} {plain:?}");
}

#[test]
fn what_is_solved_again_is_as_what_is_solved_anew() {
    let (mut problem, reach) = posed("crane", 60);
    for coupling in ["exact", "plain"] {
        let mut again = solver("hybrid", &[("coupling", word(coupling))]);
        solved(&mut *again, &problem, &request(50, 1e-9));
        for (bias, k) in problem.rows.bias.iter_mut().zip(0..) {
            *bias += 0.01 * f64::from(k % 7);
        }
        let mut lambda = vec![0.0; problem.row_count()];
        let mut u = Vec::new();
        again.solve_again(&problem, &request(50, 1e-9), &mut lambda, &mut u);
        let mut anew = solver("hybrid", &[("coupling", word(coupling))]);
        let (fresh, _) = solved(&mut *anew, &problem, &request(50, 1e-9));
        let distance = velocity_distance(&problem, &u, &fresh, &reach);
        assert!(distance < 1e-8, "{coupling}: {distance:e}");
    }
}

#[test]
fn a_vehicle_with_a_cable_is_cut_as_the_paper_has_it() {
    for (links, parts) in [(60, 7), (80, 9), (140, 15)] {
        let mut scene = library::shipped("tethered_vehicle").expect("a shipped scene");
        (scene.set("generators.0.links", &links.to_string())).expect("a number of links");
        let mut simulation = scene.simulation(1).expect("a simulation");
        simulation.step().expect("a step");
        let problem = simulation.problem();
        let mut partition = Partition::default();
        let cuts = Cuts {
            depth: 2,
            segment: 10,
        };
        partition.find(problem, cuts);
        assert_eq!(partition.len(), parts, "{links} links");
        let bodies = &simulation.world().bodies;
        let of = |name: &str| {
            let slot = (0..bodies.slots()).find(|slot| bodies.name[*slot] == name);
            partition.of_body[slot.expect("a body")]
        };
        // Its wheels and two links.
        for name in ["rear left", "front right", "cable 0", "cable 1"] {
            assert_eq!(of(name), of("chassis"), "{name}");
        }
        assert_ne!(of("cable 2"), of("chassis"));
        assert_eq!(of("ground"), partition::NO_PART);
        for part in 1..partition.len() as u32 {
            let links = partition.of_body.iter().filter(|p| **p == part).count();
            assert!((9..=10).contains(&links), "{links} links in part {part}");
        }
    }
}

/// How many parts a shipped scene has after so many steps, and the part of each body by its name.
fn named_parts(scene: &str, steps: usize) -> (usize, impl Fn(&str) -> u32) {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    let mut partition = Partition::default();
    let cuts = Cuts {
        depth: 2,
        segment: 10,
    };
    partition.find(simulation.problem(), cuts);
    let names = simulation.world().bodies.name.clone();
    (partition.len(), move |name| {
        let slot = names.iter().position(|n| n == name);
        partition.of_body[slot.expect("a body")]
    })
}

#[test]
fn parts_that_a_scene_names_stay_whole() {
    let (parts, of) = named_parts("train", 30);
    assert_eq!(parts, 10);
    assert_eq!(of("wagon 3"), of("wagon 3 inner"));
    assert_eq!(of("wagon 3"), of("dolly 3 outer"));
    assert_ne!(of("wagon 3"), of("wagon 4"));
    let (parts, of) = named_parts("two_cranes_one_load", 1);
    assert_eq!(parts, 7);
    // The first two links of a cable go with the jib that they hang on.
    assert_eq!(of("jib left"), of("cable left 1"));
    assert_ne!(of("jib left"), of("cable left 5"));
    assert_ne!(of("jib left"), of("jib right"));
}

#[test]
fn the_vehicle_tows_its_cable_in_parts() {
    let scene = library::shipped("tethered_vehicle").expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    let config = SolverConfig {
        name: "hybrid".into(),
        ..SolverConfig::default()
    };
    simulation.set_solver(config).expect("a solver");
    for step in 0..120 {
        let report = simulation.step().expect("a step");
        assert!(report.solve.status.is_usable(), "step {step}");
        assert!(report.joint_error < 5e-3, "step {step}: {report:?}");
        assert_eq!(report.solve.statistic("parts"), Some(7.0), "step {step}");
    }
    let bodies = &simulation.world().bodies;
    let speeds = bodies.velocity.iter().map(|v| v.linear.norm());
    let fastest = speeds.fold(0.0, f64::max);
    assert!((1.0..3.0).contains(&fastest), "{fastest} m/s");
}
