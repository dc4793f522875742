//! Past states: whatever somebody does, going back and on again gives the same states, bit for bit.

use moreau::math::Vec3;
use moreau::scene::{Scene, library};
use moreau::session::{DEFAULT_LIMIT, Drag, Input, Recording, Replay, Session, Spacing, Throw};
use moreau::solve::SolverConfig;
use moreau::world::{BodyId, Edit, Geometry};

fn session(scene: &str) -> Session {
    let scene = library::shipped(scene).expect("a shipped scene");
    Session::new(scene.simulation(1).expect("a good scene"))
}

fn solver(name: &str) -> SolverConfig {
    let mut config = SolverConfig::default();
    config.switch(name);
    config
}

fn throw(from: Vec3) -> Input {
    Input::Throw(Throw {
        start: from,
        velocity: Vec3::new(9.0, 0.0, 0.0),
        radius: 0.2,
    })
}

fn step(session: &mut Session) -> u64 {
    session.step().expect("a step");
    session.simulation().world().state_hash()
}

/// What somebody does before step `k + 1`.
fn act(session: &mut Session, k: usize) {
    let bodies = &session.simulation().world().bodies;
    let slot = (0..bodies.slots())
        .find(|s| bodies.is_dynamic(*s))
        .expect("a body");
    let place = bodies.position[slot];
    let drag = |x: f64| Drag {
        body: bodies.id(slot).expect("a body"),
        anchor: Vec3::new(0.05, 0.0, 0.0),
        target: place + Vec3::new(x, 1.0, 0.0),
    };
    let input = match k {
        6 | 9 => Input::Drag(Some(drag(k as f64))),
        17 => Input::Drag(None),
        21 => throw(place - Vec3::new(3.0, -1.0, 0.0)),
        29 => Input::Drive {
            index: 0,
            value: Some(0.3),
        },
        33 => Input::Solver(solver("nncg")),
        38 => {
            let mut settings = Box::new(session.simulation().world().settings);
            settings.substeps = 2;
            Input::Settings(settings)
        }
        44 => Input::Solver(solver("bpp")),
        _ => return,
    };
    session.apply(input).expect("a good input");
}

/// Plays for so many steps; answers the hash after each, that of the start first.
fn play(session: &mut Session, steps: usize) -> Vec<u64> {
    let mut hashes = vec![session.simulation().world().state_hash()];
    for k in 0..steps {
        act(session, k);
        hashes.push(step(session));
    }
    hashes
}

/// Memory of one state of a scene (bytes).
fn one(scene: &str) -> usize {
    session(scene).simulation().snapshot().memory()
}

#[test]
fn states_that_are_returned_to_are_the_same() {
    for scene in ["box_stack", "crane"] {
        for (spacing, limit) in [(1, 1000), (7, 1000), (2, 6)] {
            let mut session = session(scene);
            session.keep(limit * one(scene), Spacing::Steps(spacing));
            let hashes = play(&mut session, 60);
            let [first, last] = session.kept().steps.expect("states");
            assert_eq!(last, 60);
            assert_eq!(
                first > 0,
                limit == 6,
                "{scene}: the oldest ones are forgotten"
            );
            assert!(session.kept().is_gapless);
            // There and back, in an order that visits all of them from many directions.
            let count = last - first + 1;
            for k in 0..count {
                let wanted = first + k * 37 % count;
                let found = session.go_to(wanted).expect("a kept state");
                let world = session.simulation().world();
                assert_eq!((found, world.step_index), (wanted, wanted));
                let hash = world.state_hash();
                assert_eq!(
                    hash, hashes[wanted as usize],
                    "{scene} {spacing}: step {wanted}"
                );
                let now = &session.simulation().solver_config().name;
                let then = match wanted {
                    45.. => "bpp",
                    34.. => "nncg",
                    _ => &session_solver(scene),
                };
                assert_eq!(now, then, "the solver of step {wanted}");
                assert_eq!(session.kept().steps, Some([first, last]));
                assert!(session.kept().memory <= limit * one(scene) * 2);
                // Forces are known, but of the first state.
                let is_solved = session.simulation().report().step == wanted;
                assert!(is_solved || wanted == first);
            }
            // Forward again, step by step, over the end.
            session.go_to(first).expect("a kept state");
            for wanted in first + 1..=last {
                assert_eq!(
                    step(&mut session),
                    hashes[wanted as usize],
                    "{scene}: step {wanted}"
                );
            }
            let on = step(&mut session);
            let mut straight = self::session(scene);
            play(&mut straight, 60);
            assert_eq!(on, step(&mut straight), "{scene}: going on");
        }
    }
}

fn session_solver(scene: &str) -> String {
    library::shipped(scene).expect("a scene").solver.name
}

#[test]
fn what_is_done_in_the_past_is_the_beginning_of_another_future() {
    let mut session = session("box_stack");
    session.keep(DEFAULT_LIMIT, Spacing::Steps(5));
    let hashes = play(&mut session, 40);
    // Something that is done at the end, and has not been followed by a step.
    session
        .apply(throw(Vec3::new(0.0, 5.0, 0.0)))
        .expect("a ball");
    let bodies = |s: &Session| s.simulation().world().bodies.len();
    let with_ball = bodies(&session);
    let mut straight = session_at(&hashes);
    straight
        .apply(throw(Vec3::new(0.0, 5.0, 0.0)))
        .expect("a ball");
    let after = step(&mut straight);
    session.go_to(39).expect("a kept state");
    assert_eq!(step(&mut session), hashes[40]);
    assert_eq!(
        bodies(&session),
        with_ball - 1,
        "it is thrown again before the next step"
    );
    assert_eq!(step(&mut session), after);

    session.go_to(23).expect("a kept state");
    session.apply(Input::Drag(None)).expect("nothing is held");
    assert_eq!(session.kept().steps, Some([0, 41]), "nothing was done");
    session
        .apply(throw(Vec3::new(0.0, 9.0, 0.0)))
        .expect("a ball");
    assert_eq!(session.kept().steps, Some([0, 23]), "the future is gone");
    let other: Vec<u64> = (0..12).map(|_| step(&mut session)).collect();
    assert!(other.iter().all(|hash| !hashes.contains(hash)));
    for wanted in [30, 24, 12, 35] {
        session.go_to(wanted).expect("a kept state");
        let expected = match wanted {
            ..24 => hashes[wanted as usize],
            _ => other[wanted as usize - 24],
        };
        assert_eq!(session.simulation().world().state_hash(), expected);
    }
}

/// Going back to when something was held, and doing something else there, lets go of it.
#[test]
fn nothing_is_held_for_ever() {
    let mut session = session("box_stack");
    session.keep(DEFAULT_LIMIT, Spacing::Steps(5));
    let moving = dynamic(&session);
    let body = *moving.last().expect("a body");
    let drag = Drag {
        body,
        anchor: Vec3::zeros(),
        target: Vec3::new(0.0, 30.0, 0.0),
    };
    session.apply(Input::Drag(Some(drag))).expect("a drag");
    for _ in 0..6 {
        step(&mut session);
    }
    session.apply(Input::Drag(None)).expect("let go");
    step(&mut session);
    session.go_to(3).expect("a kept state");
    session
        .apply(throw(Vec3::new(9.0, 9.0, 0.0)))
        .expect("a ball");
    step(&mut session);
    let speed = |s: &Session| {
        s.simulation().world().bodies.velocity[body.index()]
            .linear
            .y
    };
    let before = speed(&session);
    step(&mut session);
    let h = session.simulation().world().settings.step;
    assert!(
        (speed(&session) - before + 9.81 * h).abs() < 1e-9,
        "it falls freely"
    );
}

/// The box stack after the same forty steps.
fn session_at(hashes: &[u64]) -> Session {
    let mut session = session("box_stack");
    assert_eq!(play(&mut session, hashes.len() - 1), hashes);
    session
}

/// Steps under a wall-time budget depend on the speed of the machine: of those only kept states come back.
#[test]
fn under_a_time_budget_only_kept_states_can_be_returned_to() {
    let mut session = session("box_stack");
    session.keep(DEFAULT_LIMIT, Spacing::Steps(10));
    let mut hashes = play(&mut session, 5);
    let mut timed = session.simulation().solver_config().clone();
    timed.budget.time = 0.5;
    session.apply(Input::Solver(timed)).expect("a budget");
    for _ in 5..28 {
        hashes.push(step(&mut session));
    }
    assert!(!session.kept().is_gapless);
    for (wanted, found) in [(28, 20), (13, 10), (10, 10), (9, 5), (3, 3)] {
        assert_eq!(session.go_to(wanted).expect("a kept state"), found);
        let hash = session.simulation().world().state_hash();
        assert_eq!(hash, hashes[found as usize]);
    }
    // What comes after such a state is new.
    session.go_to(10).expect("a kept state");
    assert_eq!(session.kept().steps, Some([0, 28]));
    step(&mut session);
    assert_eq!(session.kept().steps, Some([0, 11]));
}

#[test]
fn where_no_state_fits_nothing_is_kept_and_it_is_said() {
    let mut session = session("box_stack");
    session.keep(1000, Spacing::Steps(1));
    step(&mut session);
    let kept = session.kept();
    assert_eq!((kept.steps, kept.states, kept.memory), (None, 0, 0));
    assert_eq!(kept.too_large, Some(session.simulation().world().memory()));
    let error = session.seek(0).expect_err("nothing is kept");
    assert_eq!(
        error.to_string(),
        "time stays where it is: no past state is kept"
    );
    step(&mut session);
}

/// A recording goes back with what it records, and no farther than its beginning.
#[test]
fn a_recording_goes_back_too() {
    let mut session = session("box_stack");
    session.keep(DEFAULT_LIMIT, Spacing::Steps(4));
    play(&mut session, 10);
    session
        .apply(throw(Vec3::new(0.0, 6.0, 0.0)))
        .expect("a ball");
    session.record("box_stack").expect("a recording");
    for _ in 10..30 {
        step(&mut session);
    }
    for early in [3, 10] {
        let error = session.seek(early).expect_err("it is before the recording");
        assert!(error.to_string().contains("the recording began"), "{error}");
    }
    assert_eq!(session.simulation().world().step_index, 30);
    session.go_to(11).expect("a kept state");
    session.go_to(20).expect("a kept state");
    session
        .apply(throw(Vec3::new(1.0, 7.0, 0.0)))
        .expect("a ball");
    for _ in 20..27 {
        step(&mut session);
    }
    let hash = session.simulation().world().state_hash();
    let recording = session.stop_recording().expect("a recording");
    assert_eq!(recording.len(), 17);
    let read = Recording::from_bytes(&recording.to_bytes()).expect("what was written");
    let mut replay = Replay::new(&read, 1).expect("a replay");
    while let Some(step) = replay.step() {
        step.expect("a step");
    }
    assert_eq!(replay.divergence(), None);
    assert_eq!(replay.session().simulation().world().state_hash(), hash);
}

/// Measured times decide how far apart states are kept; whatever they are, memory is bounded.
#[test]
fn memory_is_bounded() {
    let mut session = session("crane");
    let limit = 3 * one("crane") + 200_000;
    session.keep(limit, Spacing::Steps(3));
    for k in 0..400 {
        let drag = (k % 2 == 0).then(|| Drag {
            body: session.simulation().world().bodies.id(1).expect("a body"),
            anchor: Vec3::zeros(),
            target: Vec3::new(0.0, 1.0, 0.0),
        });
        session.apply(Input::Drag(drag)).expect("a drag");
        step(&mut session);
        let kept = session.kept();
        // What is done between two kept states comes on top.
        assert!(
            kept.memory <= limit + 4000,
            "{} bytes after step {k}",
            kept.memory
        );
        assert!(k < 10 || kept.states >= 2);
    }
}

/// The bodies that forces move.
fn dynamic(session: &Session) -> Vec<BodyId> {
    let bodies = &session.simulation().world().bodies;
    let moving = bodies.iter().filter(|slot| bodies.is_dynamic(*slot));
    moving.filter_map(|slot| bodies.id(slot)).collect()
}

/// One edit of every kind; the last body comes where the first one was.
fn edits(session: &Session) -> Vec<Edit> {
    let moving = dynamic(session);
    let place = session.simulation().world().bodies.position[moving[0].index()];
    let (mass, friction) = (7.5, 0.1);
    let radius = 0.123_456_789_012_345_6;
    let reused = BodyId {
        generation: 1,
        ..moving[0]
    };
    vec![
        Edit::Friction {
            body: moving[1],
            friction,
        },
        Edit::Mass {
            body: moving[1],
            mass,
        },
        Edit::Remove { body: moving[0] },
        Edit::Add {
            shape: Geometry::Capsule {
                half_height: 0.2,
                radius,
            },
            position: place + Vec3::new(0.01, 0.02, 0.0),
        },
        Edit::Mass { body: reused, mass },
        Edit::Shape {
            body: moving[2],
            shape: Geometry::Ball { radius: 0.3 },
        },
        Edit::Part {
            body: moving[1],
            part: 3,
        },
    ]
}

#[test]
fn an_edited_scene_that_is_saved_loads_to_the_same_state() {
    for name in ["box_stack", "crane", "ball_grid_8"] {
        let mut scene = library::shipped(name).expect("a shipped scene");
        let mut edited = session(name);
        edited.keep(DEFAULT_LIMIT, Spacing::Steps(20));
        let untouched = edited.simulation().world().bodies.len();
        for edit in edits(&edited) {
            edited.apply(Input::Edit(edit)).expect("a good edit");
        }
        let world = edited.simulation().world();
        assert_eq!(world.bodies.len(), untouched, "one went, one came");
        assert_eq!(edited.edits().count(), 7);

        scene.edits.extend(edited.edits().cloned());
        let text = scene.to_ron();
        let read = Scene::parse(&text, "saved").unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(read, scene);
        assert_eq!(read.body_count(), untouched as u64 + 1, "at most");
        let mut loaded = Session::new(read.simulation(1).expect("a good scene"));
        let hash = |s: &Session| s.simulation().world().state_hash();
        assert_eq!(hash(&loaded), hash(&edited), "{name}");
        let parts = |s: &Session| s.simulation().world().bodies.part.clone();
        assert_eq!(parts(&loaded), parts(&edited), "{name}");
        assert!(parts(&loaded).contains(&3), "{name}");
        let mut alone = session(name);
        for k in 1..=100 {
            assert_eq!(step(&mut loaded), step(&mut edited), "{name}: step {k}");
            step(&mut alone);
        }
        assert_ne!(hash(&loaded), hash(&alone), "{name}: the edits matter");

        // What was edited at the beginning is edited there still.
        edited.go_to(0).expect("a kept state");
        assert_eq!(edited.edits().count(), 7);
        edited.go_to(100).expect("a kept state");
        assert_eq!(hash(&edited), hash(&loaded));
    }
}

#[test]
fn edits_are_recorded_and_undone_by_going_back() {
    let mut session = session("box_stack");
    session.keep(DEFAULT_LIMIT, Spacing::Steps(6));
    session.record("box_stack").expect("a recording");
    let before: Vec<u64> = (0..10).map(|_| step(&mut session)).collect();
    for edit in edits(&session) {
        session.apply(Input::Edit(edit)).expect("a good edit");
    }
    let after: Vec<u64> = (0..10).map(|_| step(&mut session)).collect();
    let recording = session.recording().expect("a recording").clone();
    let mut replay = Replay::new(&recording, 1).expect("a replay");
    while let Some(step) = replay.step() {
        step.expect("a step");
    }
    assert_eq!(replay.divergence(), None);
    session.go_to(9).expect("a kept state");
    assert_eq!(
        (session.edits().count(), before[8]),
        (0, session.simulation().world().state_hash())
    );
    session.go_to(17).expect("a kept state");
    assert_eq!(
        (session.edits().count(), after[6]),
        (7, session.simulation().world().state_hash())
    );
}

#[test]
fn edits_that_make_no_sense_change_nothing_and_say_why() {
    let mut session = session("box_stack");
    let before = session.simulation().world().to_bytes();
    let moving = dynamic(&session);
    let body = moving[0];
    let ground = session
        .simulation()
        .world()
        .bodies
        .id(0)
        .expect("the ground");
    let gone = BodyId {
        generation: 3,
        ..body
    };
    let ball = |radius: f64| Geometry::Ball { radius };
    let place = Vec3::new(0.0, 20.0, 0.0);
    let add = |shape: Geometry, position: Vec3| Edit::Add { shape, position };
    let mut bad = vec![
        (Edit::Remove { body: gone }, "the body was removed"),
        (
            Edit::Part {
                body: gone,
                part: 3,
            },
            "the body was removed",
        ),
        (
            Edit::Mass {
                body: ground,
                mass: 1.0,
            },
            "that forces move",
        ),
        (add(ball(1.0), Vec3::new(f64::NAN, 0.0, 0.0)), "position"),
        (add(ball(1.0), Vec3::new(0.0, 1e9, 0.0)), "position"),
        (
            add(Geometry::HalfSpace { normal: Vec3::y() }, place),
            "solid",
        ),
        (
            Edit::Shape {
                body,
                shape: Geometry::HalfSpace { normal: Vec3::y() },
            },
            "solid",
        ),
    ];
    for wrong in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-12, 1e12] {
        bad.push((
            Edit::Mass { body, mass: wrong },
            "mass must be from 1e-9 to 1e9",
        ));
        bad.push((
            Edit::Shape {
                body,
                shape: ball(wrong),
            },
            "",
        ));
        bad.push((add(ball(wrong), place), ""));
        if !(0.0..1.0).contains(&wrong) {
            bad.push((
                Edit::Friction {
                    body,
                    friction: wrong,
                },
                "friction must be",
            ));
        }
    }
    for (edit, words) in bad {
        let error = session
            .apply(Input::Edit(edit.clone()))
            .expect_err("nonsense");
        let text = error.to_string();
        assert!(
            text.starts_with("the scene stays as it is: ") && text.contains(words),
            "{edit:?}: {text}"
        );
        assert!(
            session.simulation().world().to_bytes() == before,
            "{edit:?}"
        );
    }
    assert_eq!(session.edits().count(), 0);
}

/// The mass of an edited body is what was asked for, its inertia that of its shape (2/5 m r² for a ball).
#[test]
fn an_edited_body_weighs_what_it_should() {
    let mut session = session("box_stack");
    let body = dynamic(&session)[3];
    for edit in [
        Edit::Mass { body, mass: 4.0 },
        Edit::Shape {
            body,
            shape: Geometry::Ball { radius: 0.5 },
        },
        Edit::Mass { body, mass: 8.0 },
    ] {
        session.apply(Input::Edit(edit)).expect("a good edit");
    }
    let bodies = &session.simulation().world().bodies;
    let slot = body.index();
    assert!((1.0 / bodies.inverse_mass[slot] - 8.0).abs() < 1e-12);
    let inertia = bodies.inertia[slot];
    for moment in [inertia.xx, inertia.yy, inertia.zz] {
        assert!((moment - 0.4 * 8.0 * 0.25).abs() < 1e-12, "{inertia:?}");
    }
}
