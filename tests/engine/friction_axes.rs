//! Friction on discs does not depend on how the axes across a normal lie, and on boxes and pyramids not on where slopes face.

use crate::common::*;
use moreau::math::{Pose, Quat, Vec3};
use moreau::problem::Problem;
use moreau::problem::law::FrictionLaw;
use moreau::solve::{Request, SolverConfig};
use moreau::step::Simulation;
use moreau::world::{BodyKind, BodySpec, Settings, World};

/// Solvers, and the law of a world, by which friction has corners.
const WITH_CORNERS: [(&str, FrictionLaw); 4] = [
    ("bpp", FrictionLaw::Disc),
    ("newton", FrictionLaw::Box),
    ("newton", FrictionLaw::pyramid(4)),
    ("auto", FrictionLaw::pyramid(6)),
];

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

/// On an incline of 30° with μ = 0.2 a brick gains g (sin − μ cos) t, whichever way the incline faces; with μ just above tan 30°
/// it stays.
#[test]
fn inclines_are_alike_whichever_way_they_face() {
    let angle = std::f64::consts::FRAC_PI_6;
    for (solver, law) in WITH_CORNERS {
        for heading in [0.0, 1e-14, -1e-14, 0.3, 1.0, 2.5] {
            for friction in [0.2, 1.02 * angle.tan()] {
                let mut world = with(law, friction);
                let turn = Quat::from_scaled_axis(Vec3::y() * heading)
                    * Quat::from_scaled_axis(Vec3::z() * angle);
                let slope = BodySpec {
                    kind: BodyKind::Fixed,
                    shape: cuboid(10.0, 0.5, 3.0),
                    pose: Pose::new(turn * Vec3::new(0.0, -0.5, 0.0), turn),
                    ..BodySpec::default()
                };
                add(&mut world, slope);
                let brick = BodySpec {
                    shape: cuboid(0.1, 0.05, 0.1),
                    pose: Pose::new(turn * Vec3::new(2.0, 0.05, 0.0), turn),
                    mass: Some(1.0),
                    ..BodySpec::default()
                };
                let id = add(&mut world, brick);
                let slot = world.bodies.slot(id).expect("a body");
                let mut simulation = simulation(world, solver);
                for _ in 0..30 {
                    simulation.step().expect("a step");
                }
                let u = turn.inverse() * simulation.world().bodies.velocity[slot].linear;
                let expected = 0.5 * G * (angle.sin() - friction * angle.cos()).max(0.0);
                assert!(
                    (u.x + expected).abs() < 0.01 * expected + 1e-4 && u.z.abs() < 1e-3,
                    "{solver}, {law:?}, facing {heading}, μ = {friction}: {u:?} of {expected} m/s"
                );
            }
        }
    }
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
    };
    let (mut lambda, mut velocity) = (vec![0.0; problem.row_count()], Vec::new());
    let report = solver.solve(problem, &request, &mut lambda, &mut velocity);
    assert!(report.status.is_usable(), "{:?}", report.status);
    velocity.iter().map(|u| u.linear).collect()
}
