//! Sessions: what somebody does is recorded, and taken again bit for bit.

use std::ops::RangeInclusive;
use std::time::Instant;

use moreau::math::Vec3;
use moreau::scene::library;
use moreau::session::{Drag, Input, Recording, Replay, Session, Throw};
use moreau::solve::SolverConfig;

fn session(scene: &str, threads: usize) -> Session {
    let scene = library::shipped(scene).expect("a shipped scene");
    Session::new(scene.simulation(threads).expect("a good scene"))
}

fn solver(name: &str) -> SolverConfig {
    let mut config = SolverConfig::default();
    config.switch(name);
    config
}

/// Somebody plays with a scene: every kind of input, from the middle of the run on.
fn played(scene: &str, steps: u64) -> Recording {
    let mut session = session(scene, 2);
    for _ in 0..7 {
        session.step().expect("a step");
    }
    let bodies = &session.simulation().world().bodies;
    let slot = (0..bodies.slots())
        .rfind(|s| bodies.is_dynamic(*s))
        .expect("a body");
    let body = bodies.id(slot).expect("a body");
    let place = bodies.position[slot];
    session.record(scene).expect("a recording");
    for step in 0..steps {
        let drag = |by: Vec3| {
            Input::Drag(Some(Drag {
                body,
                anchor: Vec3::new(0.05, 0.0, 0.0),
                target: place + by,
            }))
        };
        match step {
            3 => session.apply(drag(Vec3::new(0.0, 2.0, 0.0))),
            5 => session.apply(drag(Vec3::new(1.0, 2.0, -1.0))),
            12 => session.apply(Input::Drag(None)),
            14 => session.apply(Input::Throw(Throw {
                start: place + Vec3::new(-3.0, 1.0, 0.0),
                velocity: Vec3::new(12.0, 0.0, 0.0),
                radius: 0.2,
            })),
            18 => session.apply(Input::Solver(solver("nncg"))),
            21 => session.apply(Input::Drive {
                index: 0,
                value: Some(0.3),
            }),
            25 => {
                let mut settings = Box::new(session.simulation().world().settings);
                settings.substeps = 2;
                settings.gravity.y *= 0.5;
                session.apply(Input::Settings(settings))
            }
            _ => Ok(()),
        }
        .expect("a good input");
        session.step().expect("a step");
    }
    session.stop_recording().expect("a recording")
}

#[test]
fn everything_that_was_done_is_done_again() {
    for scene in ["box_stack", "crane", "ball_grid_8", "mixed_shapes"] {
        let recording = played(scene, 40);
        assert_eq!(recording.len(), 40);
        let mut alone = session(scene, 1);
        for _ in 0..47 {
            alone.step().expect("a step");
        }
        let untouched = alone.simulation().world().state_hash();
        let bytes = recording.to_bytes();
        let read = Recording::from_bytes(&bytes).expect("what was written");
        assert_eq!(read.to_bytes(), bytes, "{scene}");
        for threads in [1, 2, 3] {
            let mut replay = Replay::new(&read, threads).expect("a replay");
            while let Some(step) = replay.step() {
                step.expect("a step");
            }
            assert_eq!(replay.divergence(), None, "{scene} on {threads} threads");
            let world = replay.session().simulation().world();
            assert_eq!(world.step_index, 47);
            let solver = &replay.session().simulation().solver_config().name;
            assert_eq!(solver, "nncg");
            // What was done matters: left alone, the scene is elsewhere by now.
            assert_ne!(world.state_hash(), untouched, "{scene}");
        }
    }
}

#[test]
fn the_first_step_that_differs_is_named() {
    let mut other = played("box_stack", 30);
    // The same run, but for the friction of one material: it differs where contacts first slide.
    let start = other.to_bytes();
    let bits = 0.5f64.to_le_bytes();
    let at = start
        .windows(8)
        .position(|w| w == bits)
        .expect("a friction of ½");
    let mut changed = start[28..].to_vec();
    changed[at - 28..at - 20].copy_from_slice(&0.1f64.to_le_bytes());
    // The inner snapshot has a checksum of its own, which notices.
    let mut bytes = start[..28].to_vec();
    bytes[20..28].copy_from_slice(&xxhash_rust::xxh3::xxh3_64(&changed).to_le_bytes());
    bytes.extend(&changed);
    let error = Recording::from_bytes(&bytes).expect_err("a damaged snapshot");
    assert!(
        error.to_string().contains("the checksum differs"),
        "{error}"
    );

    // A replay of another solver's run differs from the first step on that it takes differently.
    other.solver = solver("jacobi");
    let mut replay = Replay::new(&other, 1).expect("a replay");
    while let Some(step) = replay.step() {
        step.expect("a step");
    }
    let divergence = replay.divergence().expect("another solver");
    assert_eq!(divergence.step, 8, "the first recorded step");
    assert!(
        divergence
            .to_string()
            .starts_with("diverged at step 8: the state's hash is ")
    );
}

#[test]
fn what_cannot_be_done_changes_nothing_and_is_not_recorded() {
    let mut session = session("box_stack", 1);
    session.record("box_stack").expect("a recording");
    let mut slow = solver("colored-gs");
    slow.budget.time = 0.01;
    let error = session
        .apply(Input::Solver(slow.clone()))
        .expect_err("a wall-time budget");
    assert!(
        error.to_string().contains("speed of the machine"),
        "{error}"
    );
    session
        .apply(Input::Solver(solver("magic")))
        .expect_err("no such solver");
    let mut settings = Box::new(session.simulation().world().settings);
    settings.step = -1.0;
    session
        .apply(Input::Settings(settings))
        .expect_err("a negative step");
    let throw = |radius: f64, speed: f64| {
        Input::Throw(Throw {
            start: Vec3::new(0.0, 5.0, 0.0),
            velocity: Vec3::new(speed, 0.0, 0.0),
            radius,
        })
    };
    session.apply(throw(-1.0, 1.0)).expect_err("no radius");
    session.apply(throw(0.1, f64::NAN)).expect_err("no speed");
    // To infinity: it is ignored, as if nothing were held.
    let body = session.simulation().world().bodies.id(1).expect("a body");
    session
        .apply(Input::Drag(Some(Drag {
            body,
            anchor: Vec3::zeros(),
            target: Vec3::new(f64::INFINITY, 0.0, 0.0),
        })))
        .expect("it is ignored");
    session.step().expect("a step");
    let mut untouched = self::session("box_stack", 1);
    untouched.step().expect("a step");
    let hash = |s: &Session| s.simulation().world().state_hash();
    assert_eq!(hash(&session), hash(&untouched));
    let recording = session.stop_recording().expect("a recording");
    let mut replay = Replay::new(&recording, 1).expect("a replay");
    replay.step().expect("one step").expect("a good one");
    assert!(replay.step().is_none() && replay.divergence().is_none());
}

/// Without a recording a wall-time budget is fine.
#[test]
fn a_time_budget_is_refused_only_where_it_is_recorded() {
    let mut session = session("box_stack", 1);
    let mut slow = solver("colored-gs");
    slow.budget.time = 0.01;
    session
        .apply(Input::Solver(slow))
        .expect("nothing is recorded");
    session.record("box_stack").expect_err("a wall-time budget");
}

/// Records every shipped scene of so many bodies on all threads, and takes the recording again from its bytes on
/// one thread and on two. Returns how many there were.
fn record_and_replay(bodies: RangeInclusive<u64>, steps: usize) -> usize {
    let mut scenes = 0;
    for id in library::shipped_names() {
        let count = library::shipped(id).expect("a shipped scene").body_count();
        if !bodies.contains(&count) {
            continue;
        }
        scenes += 1;
        let begin = Instant::now();
        let mut session = session(id, 0);
        session.record(id).expect("a recording");
        for _ in 0..steps {
            session.step().unwrap_or_else(|e| panic!("{id}: {e}"));
        }
        let hash = session.simulation().world().state_hash();
        let bytes = session.stop_recording().expect("a recording").to_bytes();
        drop(session);
        let read = Recording::from_bytes(&bytes).expect("what was written");
        for threads in [1, 2] {
            let mut replay = Replay::new(&read, threads).expect("a replay");
            while let Some(step) = replay.step() {
                step.unwrap_or_else(|e| panic!("{id} on {threads} threads: {e}"));
            }
            assert_eq!(replay.divergence(), None, "{id} on {threads} threads");
            let world = replay.session().simulation().world();
            assert_eq!(world.step_index, steps as u64, "{id}");
            assert_eq!(world.state_hash(), hash, "{id} on {threads} threads");
        }
        let time = begin.elapsed().as_secs_f64();
        println!("{id}: {count} bodies, {steps} steps, {hash:016x}, {time:.1} s");
    }
    scenes
}

#[test]
fn small_scenes_are_replayed_bit_for_bit() {
    assert!(record_and_replay(0..=130, 20) > 10);
}

/// Every shipped scene, 300 steps of those of up to 14,000 bodies and 20 of the others. It takes minutes:
/// `cargo test --release --no-default-features --test engine recordings:: -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn every_scene_is_replayed_bit_for_bit() {
    let scenes = record_and_replay(0..=14_000, 300) + record_and_replay(14_001..=u64::MAX, 20);
    assert_eq!(scenes, library::shipped_names().count());
}

/// Two tonnes on links of 3.5 kg are pulled aside by hand, and swing back.
#[test]
fn a_hand_leaves_a_cable_whole() {
    let scene = library::shipped("crane").expect("a shipped scene");
    let mut session = Session::new(scene.simulation(1).expect("a simulation"));
    for _ in 0..700 {
        session.step().expect("a step");
    }
    let bodies = &session.simulation().world().bodies;
    let pipe = (0..bodies.slots()).find(|slot| bodies.label(*slot).contains("pipe"));
    let pipe = pipe.expect("the load");
    let (body, begin) = (bodies.id(pipe).expect("a body"), bodies.position[pipe]);
    let mut worst = 0.0_f64;
    for step in 0..120 {
        let share = (f64::from(step) / 40.0).min(1.0);
        let drag = Drag {
            body,
            anchor: Vec3::zeros(),
            target: begin + Vec3::new(-4.0, -0.5, 2.0) * share,
        };
        session.apply(Input::Drag(Some(drag))).expect("a drag");
        worst = worst.max(session.step().expect("a step").joint_error);
    }
    let moved = (session.simulation().world().bodies.position[pipe] - begin).norm();
    assert!(moved > 1.0, "it was moved by {moved} m alone");
    assert!(worst < 1e-2, "joints were {worst} m apart");
}
