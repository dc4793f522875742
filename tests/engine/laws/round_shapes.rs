//! Cylinders, discs and capsules as a user tries them first: they lie still, stand, and roll as they should.

use crate::common::*;
use moreau::math::{Pose, Quat, Vec3};
use moreau::solve::SolverConfig;
use moreau::step::Simulation;
use moreau::world::{BodyId, BodyKind, BodySpec, Geometry, Settings, World};

/// Solvers whose answer is exact, and the default.
const SOLVERS: [&str; 4] = ["auto", "newton", "admm", "reference"];

fn simulation(world: World, solver: &str) -> Simulation {
    let config = SolverConfig {
        name: solver.into(),
        ..SolverConfig::default()
    };
    Simulation::new(world, config, 1).expect("a solver of the list")
}

fn step_for(simulation: &mut Simulation, seconds: f64) {
    let steps = (seconds / simulation.world().settings.step).round() as u32;
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
}

/// A plate of 24 m × 4 m, half a metre thick on both sides of y = −½.
fn plate(world: &mut World) {
    let spec = BodySpec {
        kind: BodyKind::Fixed,
        shape: cuboid(12.0, 0.5, 2.0),
        pose: Pose::translation(0.0, -0.5, 0.0),
        ..BodySpec::default()
    };
    add(world, spec);
}

fn round(geometry: Geometry, pose: Pose) -> BodySpec {
    BodySpec {
        shape: shape(geometry),
        pose,
        mass: Some(1.0),
        ..BodySpec::default()
    }
}

fn disc(half_height: f64, radius: f64) -> Geometry {
    Geometry::Cylinder {
        half_height,
        radius,
    }
}

fn position(simulation: &Simulation, id: BodyId) -> Vec3 {
    let slot = simulation.world().bodies.slot(id).expect("a body");
    simulation.world().bodies.position[slot]
}

/// A disc of 0.1 m and coins lie on a large plate, and on each other, and do not creep.
#[test]
fn discs_lie_still() {
    for (half_height, radius, at) in [
        (0.05, 0.1, 0.0),
        (1e-3, 0.012, 3.3),
        (0.05, 0.1, 7.77),
        (0.5, 0.1, -1.0),
    ] {
        let mut world = world(Settings::default(), 0.3, 0.0);
        plate(&mut world);
        let stack: Vec<BodyId> = (0..3)
            .map(|k| {
                let y = half_height * f64::from(1 + 2 * k);
                let turn = Quat::from_scaled_axis(Vec3::y() * f64::from(k));
                let pose = Pose::new(Vec3::new(at, y, 0.3), turn);
                add(&mut world, round(disc(half_height, radius), pose))
            })
            .collect();
        let mut simulation = simulation(world, "auto");
        let before: Vec<Vec3> = stack.iter().map(|id| position(&simulation, *id)).collect();
        step_for(&mut simulation, 2.0);
        for (id, before) in stack.iter().zip(before) {
            let moved = (position(&simulation, *id) - before).norm();
            assert!(moved < 1e-6, "{radius} m at {at}: {moved} m");
        }
    }
}

/// Two gears whose rims just touch hold each other nowhere.
#[test]
fn discs_that_touch_rim_to_rim_do_not_overlap() {
    let settings = Settings {
        gravity: Vec3::zeros(),
        ..Settings::default()
    };
    let mut world = world(settings, 0.5, 0.0);
    let ids = [0.0, 0.4].map(|x| {
        let pose = Pose::new(Vec3::new(x, 0.0, 0.0), Quat::identity());
        add(&mut world, round(disc(0.02, 0.2), pose))
    });
    let mut simulation = simulation(world, "auto");
    step_for(&mut simulation, 0.5);
    let overlap = simulation.contacts().map(|c| -c.gap).fold(0.0, f64::max);
    assert!(overlap < 1e-9, "{overlap} m");
    let apart = (position(&simulation, ids[1]) - position(&simulation, ids[0])).norm();
    assert!((apart - 0.4).abs() < 1e-9, "{apart} m");
}

/// A solid cylinder rolls down an incline of 30° at ⅔ g sin 30°, a capsule at g sin 30°/(1 + I/mr²), whatever the step.
#[test]
fn cylinders_and_capsules_roll_down_an_incline() {
    let angle = std::f64::consts::FRAC_PI_6;
    for (step, yaw) in [(1.0 / 60.0, 0.0), (1.0 / 60.0, 0.7), (1e-3, 2.0)] {
        for solver in SOLVERS {
            for geometry in [
                disc(0.3, 0.2),
                disc(0.02, 0.2),
                Geometry::Capsule {
                    half_height: 0.2,
                    radius: 0.1,
                },
            ] {
                let radius = match geometry {
                    Geometry::Capsule { radius, .. } | Geometry::Cylinder { radius, .. } => radius,
                    _ => unreachable!(),
                };
                let settings = Settings {
                    step,
                    ..Settings::default()
                };
                let mut world = world(settings, 0.6, 0.0);
                // Turned about its own z, so that the way down is −x; the cylinder's axis is z.
                let heading = Quat::from_scaled_axis(Vec3::y() * yaw);
                let incline = heading * Quat::from_scaled_axis(Vec3::z() * angle);
                let spec = BodySpec {
                    kind: BodyKind::Fixed,
                    shape: cuboid(12.0, 0.5, 2.0),
                    pose: Pose::new(incline * Vec3::new(0.0, -0.5, 0.0), incline),
                    ..BodySpec::default()
                };
                add(&mut world, spec);
                let lying = Quat::from_scaled_axis(Vec3::x() * std::f64::consts::FRAC_PI_2);
                let pose = Pose::new(incline * Vec3::new(5.0, radius, 0.1), incline * lying);
                let id = add(&mut world, round(geometry.clone(), pose));
                let slot = world.bodies.slot(id).expect("a body");
                let inertia = world.bodies.inertia[slot].yy;
                let expected = G * angle.sin() / (1.0 + inertia / (radius * radius));
                let mut simulation = simulation(world, solver);
                let time = 0.5;
                step_for(&mut simulation, time);
                let along = incline.inverse() * position(&simulation, id);
                let found = 2.0 * (5.0 - along.x) / (time * time);
                assert!(
                    (found / expected - 1.0).abs() < 0.01,
                    "{geometry:?}, {solver}, step {step}: {found} instead of {expected} m/s²"
                );
                assert!((along.y - radius).abs() < 1e-4 && (along.z - 0.1).abs() < 1e-4);
            }
        }
    }
}

/// A half-space that takes the place of a body that was removed carries what falls onto it.
#[test]
fn a_half_space_in_a_removed_bodys_slot_is_not_fallen_through() {
    for _ in 0..10 {
        let mut world = world(Settings::default(), 0.5, 0.0);
        let ball_id = add(
            &mut world,
            BodySpec {
                shape: ball(0.5),
                pose: Pose::translation(0.0, 0.6, 0.0),
                mass: Some(1.0),
                ..BodySpec::default()
            },
        );
        let gone = add(
            &mut world,
            BodySpec {
                kind: BodyKind::Fixed,
                shape: cuboid(0.1, 0.1, 0.1),
                pose: Pose::translation(9.0, 0.0, 0.0),
                ..BodySpec::default()
            },
        );
        let mut simulation = simulation(world, "auto");
        step_for(&mut simulation, 0.05);
        let world = simulation.world_mut();
        assert!(world.remove_body(gone));
        let spec = BodySpec {
            kind: BodyKind::Fixed,
            shape: shape(Geometry::HalfSpace { normal: Vec3::y() }),
            ..BodySpec::default()
        };
        add(world, spec);
        step_for(&mut simulation, 1.0);
        let y = position(&simulation, ball_id).y;
        assert!((y - 0.5).abs() < 1e-3, "{y} m");
    }
}

/// Two cards that lean against each other at an angle from the vertical, their edges parallel, on ground of this friction:
/// how far the apex has sunk after a second (m).
fn sink(angle: f64, friction: f64, yaw: f64, solver: &str) -> f64 {
    let (length, thickness) = (1.0, 0.01);
    let mut world = world(Settings::default(), friction, 0.0);
    add(
        &mut world,
        BodySpec {
            kind: BodyKind::Fixed,
            shape: shape(Geometry::HalfSpace { normal: Vec3::y() }),
            ..BodySpec::default()
        },
    );
    let heading = Quat::from_scaled_axis(Vec3::y() * yaw);
    let mut first = None;
    for side in [-1.0, 1.0] {
        let turn = Quat::from_scaled_axis(Vec3::z() * (side * angle));
        // The edge that touches the other card lies on x = 0, the lowest one on the ground.
        let top = turn * Vec3::new(-side * 0.5 * thickness, 0.5 * length, 0.0);
        let foot = turn * Vec3::new(-side * 0.5 * thickness, -0.5 * length, 0.0);
        let at = Vec3::new(-top.x, -foot.y, 0.0);
        let spec = BodySpec {
            shape: cuboid(0.5 * thickness, 0.5 * length, 0.3),
            pose: Pose::new(heading * at, heading * turn),
            mass: Some(1.0),
            ..BodySpec::default()
        };
        first.get_or_insert(add(&mut world, spec));
    }
    let id = first.expect("a card");
    let mut simulation = simulation(world, solver);
    let before = position(&simulation, id).y;
    step_for(&mut simulation, 1.0);
    before - position(&simulation, id).y
}

/// An A-frame of two cards stands where friction on the ground is more than half the tangent of the angle from the vertical,
/// less half of what the thickness is of the length.
#[test]
fn cards_lean_against_each_other() {
    for degrees in [20.0_f64, 35.0] {
        let threshold = 0.5 * degrees.to_radians().tan() - 0.005;
        for solver in SOLVERS {
            for yaw in [0.0, 0.4] {
                let sunk = |share: f64| sink(degrees.to_radians(), share * threshold, yaw, solver);
                let (below, above) = (sunk(0.98), sunk(1.02));
                let case = format!("{degrees}°, {solver}, turned by {yaw}");
                assert!(
                    below > 0.01,
                    "{case}: below the threshold it sank {below} m"
                );
                assert!(
                    above < 1e-4,
                    "{case}: above the threshold it sank {above} m"
                );
            }
        }
    }
}
