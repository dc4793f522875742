//! Contacts that give way, with every solver: springs of stiffness 1/α, along the normal and in the
//! tangential plane.

use crate::common::*;
use moreau::math::{Pose, Vec3};
use moreau::problem::FrictionLaw;
use moreau::solve::SOLVERS;
use moreau::step::Simulation;
use moreau::world::{BodyId, BodySpec, Settings, Stabilisation, World};

/// Of each of the two surfaces (m/N).
const ALPHA: f64 = 2e-5;

fn settings() -> Settings {
    Settings {
        friction_law: FrictionLaw::Box,
        ..Settings::default()
    }
}

fn soft(settings: Settings, mu: f64) -> World {
    let mut w = world(settings, mu, 0.0);
    w.materials[0].compliance = ALPHA;
    ground(&mut w);
    w
}

/// Half the height of the plate (m): too low to lean when it is pulled at.
const HALF: f64 = 0.02;

/// A plate of 10 kg that touches the ground.
fn plate(w: &mut World) -> BodyId {
    add(
        w,
        BodySpec {
            pose: Pose::translation(0.0, HALF, 0.0),
            shape: cuboid(0.2, HALF, 0.2),
            mass: Some(10.0),
            ..BodySpec::default()
        },
    )
}

/// A ball of 2 kg, 1 m above the ground.
fn falling_ball(w: &mut World) -> BodyId {
    add(
        w,
        BodySpec {
            pose: Pose::translation(0.0, 1.3, 0.0),
            shape: ball(0.3),
            mass: Some(2.0),
            ..BodySpec::default()
        },
    )
}

fn position(s: &Simulation, id: BodyId) -> Vec3 {
    s.world().bodies.position[id.index()]
}

fn run(s: &mut Simulation, steps: u32) {
    for _ in 0..steps {
        s.step().unwrap();
        let residual = s.report().residual.unwrap_or_default().residual;
        assert!(residual < 1e-6, "{residual:e} m/s left");
    }
}

/// Four springs in parallel, of two in series each: a plate sinks by 2 α m g/4, whatever stabilises the
/// rigid contacts. Within 1 %: the spring comes to rest, but over many steps.
#[test]
fn a_plate_sinks_as_deep_as_its_springs_give_way() {
    let projection = Settings::default().stabilisation;
    let baumgarte = Stabilisation::Baumgarte {
        beta: 0.2,
        slop: 0.0,
        max_speed: 1.0,
    };
    let expected = 0.5 * ALPHA * 10.0 * G;
    for solver in SOLVERS.iter().map(|info| info.name) {
        for stabilisation in [projection, baumgarte, Stabilisation::None] {
            let mut w = soft(
                Settings {
                    stabilisation,
                    ..settings()
                },
                0.5,
            );
            let id = plate(&mut w);
            let mut s = simulation(w, exact(solver));
            run(&mut s, 200);
            let sunk = HALF - position(&s, id).y;
            assert!(
                (sunk - expected).abs() < 0.01 * expected,
                "{solver}, {stabilisation:?}: {sunk:e} m instead of {expected:e} m"
            );
        }
    }
}

/// A spring that is compressed over several steps rebounds by itself. Restitution, which is about the velocity
/// before a step, must not damp it further.
#[test]
fn a_soft_spring_rebounds_with_and_without_restitution() {
    let rebound = |restitution: f64| {
        let mut w = world(settings(), 0.5, restitution);
        w.materials[0].compliance = 7e-4;
        ground(&mut w);
        let id = falling_ball(&mut w);
        let mut s = simulation(w, exact("gauss-seidel"));
        let (mut fastest, mut impact) = (0.0f64, 0.0f64);
        for _ in 0..60 {
            s.step().unwrap();
            let v = s.world().bodies.velocity[id.index()].linear.y;
            impact = impact.min(v);
            fastest = fastest.max(v);
        }
        assert!(impact < -4.0, "it fell with {impact} m/s");
        fastest / -impact
    };
    let without = rebound(0.0);
    assert!(without > 0.5 && without < 1.0, "{without}");
    for restitution in [0.3, 0.6, 0.9] {
        let with = rebound(restitution);
        assert!(
            with > 0.75 * without && with < 1.0,
            "{restitution}: {with} instead of {without} of the velocity"
        );
    }
}

/// An overlap that was there before is no spring: it is stabilised away, down to what the springs hold.
#[test]
fn an_overlap_from_before_goes() {
    let expected = 0.5 * ALPHA * 10.0 * G;
    let mut w = soft(settings(), 0.5);
    let id = plate(&mut w);
    w.bodies.position[id.index()].y -= 5e-3;
    let mut s = simulation(w, exact("gauss-seidel"));
    let mut fastest = 0.0f64;
    for _ in 0..240 {
        s.step().unwrap();
        fastest = fastest.max(s.world().bodies.velocity[id.index()].linear.y);
    }
    assert!(fastest < 1e-2, "thrown up at {fastest} m/s");
    let sunk = HALF - position(&s, id).y;
    // Up to the slop of the projection.
    assert!((sunk - expected).abs() < 1.1e-4, "{sunk:e} m");
}

/// Pulled sideways by less than μ m g, the plate follows the spring by 2 α F/4 and comes back; it does
/// not creep meanwhile. Pulled by more, it slides.
#[test]
fn friction_holds_like_a_spring_and_does_not_creep() {
    let pull = 20.0;
    let expected = 0.5 * ALPHA * pull;
    for solver in SOLVERS.iter().map(|info| info.name) {
        let mut w = soft(settings(), 0.5);
        let id = plate(&mut w);
        let mut s = simulation(w, exact(solver));
        run(&mut s, 60);
        let start = position(&s, id).x;
        let lean = |s: &mut Simulation, force: f64| {
            s.world_mut().settings.gravity = Vec3::new(force / 10.0, -G, 0.0);
        };
        lean(&mut s, pull);
        run(&mut s, 60);
        let early = position(&s, id).x - start;
        run(&mut s, 240);
        let late = position(&s, id).x - start;
        for moved in [early, late] {
            assert!(
                (moved - expected).abs() < 0.05 * expected,
                "{solver}: {moved:e} m instead of {expected:e} m"
            );
        }
        assert!((late - early).abs() < 1e-3 * expected, "{solver} creeps");
        lean(&mut s, 0.0);
        run(&mut s, 120);
        let back = position(&s, id).x - start;
        assert!(back.abs() < 0.05 * expected, "{solver}: {back:e} m left");
        lean(&mut s, 0.7 * 10.0 * G);
        run(&mut s, 60);
        assert!(
            position(&s, id).x > 0.5,
            "{solver} holds more than friction can"
        );
    }
}

/// A ball that falls on soft ground hardly rebounds: the implicit spring gives back next to nothing of
/// what it took, here less than 1 % of the height. Then it rests as deep as the spring gives way.
#[test]
fn a_soft_landing_hardly_rebounds() {
    let mut w = soft(settings(), 0.5);
    let id = falling_ball(&mut w);
    let mut s = simulation(w, exact("gauss-seidel"));
    let mut touched = false;
    for _ in 0..240 {
        s.step().unwrap();
        let y = position(&s, id).y;
        touched |= y < 0.3005;
        assert!(!touched || y < 0.31, "up again, to {y} m");
    }
    assert!(touched);
    let depth = 0.3 - position(&s, id).y;
    let expected = 2.0 * ALPHA * 2.0 * G;
    assert!((depth - expected).abs() < 0.01 * expected, "{depth:e} m");
}

/// With restitution it bounces as a rigid one does: ε² of the height.
#[test]
fn restitution_is_that_of_the_material() {
    let height = |alpha: f64| {
        let mut w = world(settings(), 0.5, 0.6);
        w.materials[0].compliance = alpha;
        ground(&mut w);
        let id = falling_ball(&mut w);
        let mut s = simulation(w, exact("gauss-seidel"));
        let (mut up, mut highest) = (false, 0.0f64);
        for _ in 0..60 {
            s.step().unwrap();
            let bodies = &s.world().bodies;
            up |= bodies.velocity[id.index()].linear.y > 0.0;
            if up {
                highest = highest.max(bodies.position[id.index()].y);
            }
        }
        highest - 0.3
    };
    let [rigid, soft] = [0.0, 1e-7].map(height);
    assert!((rigid - soft).abs() < 0.02, "{soft} m instead of {rigid} m");
}

/// What a contact without restitution gives back of the speed that a mass of 1 kg meets it with, by its stiffness: never more
/// than it got. With `--nocapture` it prints the share.
#[test]
fn a_contact_gives_back_no_more_than_it_got() {
    for decade in 2..=7 {
        let stiffness = 10.0_f64.powi(decade);
        let mut shares = Vec::new();
        for phase in 0..60 {
            let gravity = Vec3::zeros();
            let mut w = world(
                Settings {
                    gravity,
                    ..settings()
                },
                0.5,
                0.0,
            );
            w.materials[0].compliance = 0.5 / stiffness;
            ground(&mut w);
            let id = add(
                &mut w,
                BodySpec {
                    pose: Pose::translation(0.0, 0.4 + f64::from(phase) / 3600.0, 0.0),
                    linear_velocity: -Vec3::y(),
                    shape: ball(0.3),
                    mass: Some(1.0),
                    ..BodySpec::default()
                },
            );
            let mut s = simulation(w, exact("gauss-seidel"));
            run(&mut s, 90);
            shares.push(s.world().bodies.velocity[id.index()].linear.y);
        }
        let mean = shares.iter().sum::<f64>() / 60.0;
        let most = shares.iter().copied().fold(f64::MIN, f64::max);
        println!("{stiffness:e} N/m: {mean:.3} of the speed, at most {most:.3}");
        assert!((-1e-6..=1.0).contains(&mean) && most <= 1.0);
    }
}
