//! Friction on discs does not depend on how the axes across a normal lie.

use crate::common::*;
use moreau::math::{Pose, Quat, Vec3};
use moreau::problem::Problem;
use moreau::problem::law::FrictionLaw;
use moreau::solve::{Request, SolverConfig};
use moreau::step::Simulation;
use moreau::world::{BodySpec, Settings, World};

fn simulation(world: World, solver: &str) -> Simulation {
    let config = SolverConfig {
        name: solver.into(),
        ..SolverConfig::default()
    };
    Simulation::new(world, config, 1).expect("a solver of the list")
}

fn with(law: FrictionLaw, friction: f64) -> World {
    let settings = Settings {
        friction_law: law,
        ..Settings::default()
    };
    world(settings, friction, 0.0)
}

/// What is solved on discs is the same for every turn of the tangents.
#[test]
fn discs_have_no_axes() {
    let mut world = with(FrictionLaw::Disc, 0.4);
    ground(&mut world);
    // Three balls that slide and spin on the ground, and a fourth one on top of them.
    let low = [0.0, 2.1, 4.2].map(|a: f64| Vec3::new(0.06 * a.cos(), 0.05, 0.06 * a.sin()));
    let all = low.into_iter().chain([Vec3::new(0.0, 0.13, 0.0)]);
    for (k, at) in all.enumerate() {
        let speed = 0.4 * k as f64;
        let spec = BodySpec {
            shape: ball(0.05),
            pose: Pose::new(at, Quat::identity()),
            linear_velocity: Vec3::new(speed, 0.0, 0.3),
            angular_velocity: Vec3::new(7.0, 2.0, -5.0) * speed,
            mass: Some(1.0),
            ..BodySpec::default()
        };
        add(&mut world, spec);
    }
    let mut simulation = simulation(world, "auto");
    for _ in 0..3 {
        simulation.step().expect("a step");
    }
    let problem = simulation.problem();
    assert!(problem.contacts.len() > 3, "{}", problem.contacts.len());
    let turned = |angle: f64| {
        let mut problem = problem.clone();
        let contacts = &mut problem.contacts;
        for (k, (frame, bias)) in contacts
            .frame
            .iter_mut()
            .zip(&mut contacts.bias)
            .enumerate()
        {
            let [normal, t1, t2] = frame.axes();
            let aim = t1 * bias[1] + t2 * bias[2];
            let tangent = Quat::from_scaled_axis(normal * (angle * (1.0 + k as f64))) * t1;
            frame.tangent = (tangent - normal * normal.dot(&tangent)).normalize();
            let [_, t1, t2] = frame.axes();
            (bias[1], bias[2]) = (t1.dot(&aim), t2.dot(&aim));
        }
        solved(&problem)
    };
    let expected = solved(problem);
    assert!(expected.iter().any(|u| u.norm() > 0.1), "nothing slides");
    for angle in [1e-6, 0.2, 1.0, 3.0] {
        let off = expected
            .iter()
            .zip(turned(angle))
            .map(|(u, v)| (u - v).norm());
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-9, "turned by {angle}: {off} m/s");
    }
}

/// Velocities of the exact solution from nothing.
fn solved(problem: &Problem) -> Vec<Vec3> {
    let config = exact("newton");
    let mut solver = config.build().expect("a solver of the list");
    let request = Request {
        budget: config.budget,
        history: false,
        ..Request::default()
    };
    let (mut lambda, mut velocity) = (vec![0.0; problem.row_count()], Vec::new());
    let report = solver.solve(problem, &request, &mut lambda, &mut velocity);
    assert!(report.status.is_usable(), "{:?}", report.status);
    velocity.iter().map(|u| u.linear).collect()
}
