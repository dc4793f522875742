//! More than a step can hold: it is refused with a reason, in bounded time and memory.

use moreau::math::Vec3;
use moreau::scene::library;
use moreau::solve::{Budget, SolverConfig, Status, Value};
use moreau::step::{Simulation, StepError};
use moreau::world::joint::JointKind;
use moreau::world::{BodySpec, Geometry, JointSpec, Shape, World};

/// A ball of a metre in a world, so many times.
fn balls(count: usize, place: impl Fn(usize) -> Vec3) -> World {
    let mut world = World::default();
    let shape = Shape::new(Geometry::Ball { radius: 0.5 }).expect("a ball");
    for k in 0..count {
        let mut spec = BodySpec {
            shape: Some(shape.clone()),
            ..BodySpec::default()
        };
        spec.pose.position = place(k);
        world.add_body(spec).expect("a body");
    }
    world
}

/// 30,000 balls in one place are 450 million pairs; apart they are stepped, and together again they are refused again.
#[test]
fn bodies_in_one_place_are_refused_and_come_apart() {
    let world = balls(30_000, |_| Vec3::zeros());
    let config = SolverConfig::default();
    let mut simulation = Simulation::new(world, config, 0).expect("a solver");
    let refused = |simulation: &mut Simulation| {
        let before = simulation.world().state_hash();
        match simulation.step() {
            Err(StepError::TooMany { count, most, .. }) => assert!(count > most as u64),
            other => panic!("it should be refused: {other:?}"),
        }
        assert_eq!(simulation.world().state_hash(), before);
    };
    refused(&mut simulation);
    refused(&mut simulation);
    let place = |k: usize| {
        2.0 * Vec3::new(
            (k % 100) as f64,
            (k / 100 % 100) as f64,
            (k / 10_000) as f64,
        )
    };
    let bodies = &mut simulation.world_mut().bodies;
    for (k, position) in bodies.position.iter_mut().enumerate() {
        *position = place(k);
    }
    simulation.step().expect("nothing meets");
    assert_eq!(simulation.report().contacts, 0);
    simulation.world_mut().bodies.position.fill(Vec3::zeros());
    refused(&mut simulation);
}

/// A joint more costs as much as the one before, or these take a minute and more: 40 s when each sorted the pairs of all.
#[test]
fn a_hundred_thousand_joints_of_one_pair_are_added_and_removed() {
    let mut world = balls(2, |k| Vec3::x() * 3.0 * k as f64);
    let bodies = [0, 1].map(|slot| world.bodies.id(slot));
    for _ in 0..100_000 {
        let spec = JointSpec::new(JointKind::Spherical, bodies, world.bodies.pose(0));
        world.add_joint(spec).expect("a joint");
    }
    world.remove_body(bodies[0].expect("a body"));
    assert!(world.joints().is_empty());
}

/// What a direct solver may do is counted, and where it does not suffice the report says so. It is looked at between two
/// iterations, the last of which may go beyond it.
#[test]
fn direct_solvers_end_within_their_work() {
    let scene = library::shipped("wall").expect("the scene");
    for (name, work) in [
        ("bpp", 500.0),
        ("newton", 5.0),
        ("admm", 5.0),
        ("hybrid", 500.0),
        ("reference", 20.0),
    ] {
        let solve = |work: f64| {
            let mut config = SolverConfig::default();
            config.switch(name);
            config.budget = Budget {
                iterations: 50_000,
                ..Budget::default()
            };
            config.parameters.insert("work".into(), Value::Number(work));
            let world = scene.build().expect("a world");
            let mut simulation = Simulation::new(world, config, 0).expect("a solver");
            let report = simulation.step().expect("a step").solve.clone();
            (report.statistic("work").expect("counted"), report.status)
        };
        let (spent, status) = solve(work);
        let last = if name == "bpp" { 1.0 } else { 1.5 };
        println!("{name}: {spent} of {work}: {status:?}");
        assert!(
            spent > 0.2 * work && spent <= last * work,
            "{name}: {spent}"
        );
        assert_eq!(status, Status::Budget, "{name}");
        let (needed, status) = solve(0.0);
        println!("{name}: {needed}: {status:?}");
        assert!(needed > last * work, "{name}: {needed}");
        assert_eq!(status, Status::Converged, "{name}");
    }
}

/// A factorisation that takes more than there is is not begun: one of this grid takes six times as much.
#[test]
fn newton_begins_no_factorisation_beyond_its_work() {
    let mut scene = library::shipped("ball_grid_8").expect("the scene");
    let mut config = SolverConfig::default();
    config.switch("newton");
    config.parameters.insert("work".into(), Value::Number(10.0));
    scene.solver = config;
    let mut simulation = scene.simulation(0).expect("a good scene");
    let report = simulation.step().expect("a step").solve.clone();
    let spent = report.statistic("work").expect("counted");
    println!("{spent}: {:?}", report.status);
    assert!(spent <= 15.0, "{spent}");
    assert_ne!(report.status, Status::Converged);
}
