//! Every number stands under its own name: while somebody ticks, unticks, reorders and changes solvers, all that is shown
//! is compared with what is computed apart.

use bevy::prelude::{App, KeyCode};

use super::plots::Curve;
use super::theme;
use super::worlds::{Numbers, lines, numbers, worlds};
use crate::compare::{Contest, Contestant, Rounds, Task};
use crate::scene::library;
use crate::session::{Input, distance};
use crate::solve::{SolverConfig, Status};
use crate::step::Simulation;
use crate::viewer::comparison::{Comparison, Mode};
use crate::viewer::flow::{frame, press, wait, window};
use crate::viewer::history::History;
use crate::viewer::observe::ResidualRate;
use crate::viewer::physics::Physics;
use crate::viewer::playback::Playback;
use crate::viewer::setup::Setup;

const SCENE: &str = "box_stack";

/// What the table of worlds shows.
fn shown(app: &App) -> Vec<(String, Numbers)> {
    let history = app.world().resource::<History>();
    let frame = app.world().resource::<Playback>().frame.as_ref();
    let worlds = worlds(history, frame).into_iter();
    worlds
        .map(|who| (who.name.clone(), numbers(history, &who)))
        .collect()
}

fn curves(app: &App) -> Vec<Curve> {
    let history = app.world().resource::<History>();
    let frame = app.world().resource::<Playback>().frame.as_ref();
    lines(history, frame, &theme::DARK, true, |s| s.energy.total())
}

fn tick(app: &mut App, label: &str, on: bool) {
    let mut comparison = app.world_mut().resource_mut::<Comparison>();
    let mut contestants = comparison.contestants.iter_mut();
    contestants.find(|e| e.label == label).expect("a solver").on = on;
}

/// The parameters of a solver as they stand in the panel.
fn config(app: &App, label: &str) -> SolverConfig {
    let comparison = app.world().resource::<Comparison>();
    let mut contestants = comparison.contestants.iter();
    let contestant = contestants.find(|e| e.label == label).expect("a solver");
    contestant.config.clone()
}

/// A window that is paused at the beginning.
fn paused() -> App {
    let mut app = window(SCENE);
    wait(&mut app, "the scene", |_, frame| frame.playing);
    press(&mut app, KeyCode::Space);
    wait(&mut app, "the pause", |_, frame| !frame.playing);
    press(&mut app, KeyCode::KeyR);
    wait(&mut app, "the beginning", |_, frame| frame.step == 0);
    app
}

fn step_to(app: &mut App, step: u64) {
    while frame(app).step < step {
        let next = frame(app).step + 1;
        press(app, KeyCode::KeyN);
        wait(app, "a step", |_, frame| frame.step == next);
    }
}

/// The simulation's own steps, apart from the window: solvers, each with the step up to which it is used.
fn apart(solvers: &[(SolverConfig, u64)]) -> Simulation {
    let scene = library::shipped(SCENE).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for (solver, until) in solvers {
        if simulation.solver_config() != solver {
            simulation.set_solver(solver.clone()).expect("a solver");
        }
        while simulation.world().step_index < *until {
            simulation.step().expect("a step");
        }
    }
    simulation
}

/// The same for a world that begins somewhere in it.
fn branched(from: &Simulation, solver: SolverConfig, until: u64) -> Simulation {
    let start = from.snapshot();
    let mut simulation = Simulation::new(start.world().clone(), solver, 1).expect("a solver");
    simulation.restore(&start);
    while simulation.world().step_index < until {
        simulation.step().expect("a step");
    }
    simulation
}

fn expect(shown: &[(String, Numbers)], name: &str, of: &Simulation, first: &Simulation) {
    let mut named = shown.iter().filter(|(n, _)| n == name);
    let (_, found) = named
        .next()
        .unwrap_or_else(|| panic!("{name} is not shown: {shown:?}"));
    assert!(named.next().is_none(), "{name} is shown twice");
    let (world, report) = (of.world(), of.report());
    let expected = Numbers {
        time: found.time,
        residual: report.residual.map(|r| r.residual),
        is_solved: Some(report.solve.status == Status::Converged),
        // Nothing counts as a fall where there are joints.
        fallen: Some(0),
        joint_error: Some(report.joint_error),
        penetration: Some(report.penetration),
        energy: Some(world.energy().total()),
        distance: Some(distance(world, first.world())),
    };
    assert_eq!(*found, expected, "{name}");
}

fn is_blank(shown: &[(String, Numbers)], name: &str) {
    let found = shown.iter().find(|(n, _)| n == name).expect("it is shown");
    assert_eq!(found.1, Numbers::default(), "{name} has taken no step yet");
}

/// Compares what is shown of the worlds that began at such steps, where `main` took the simulation's own.
fn check(app: &App, main: &SolverConfig, first: &Simulation, begun: &[(&str, u64)], until: u64) {
    let shown = shown(app);
    assert_eq!(shown.len(), 1 + begun.len());
    for (label, begin) in begun {
        let from = apart(&[(main.clone(), *begin)]);
        let world = branched(&from, config(app, label), until);
        expect(&shown, label, &world, first);
    }
}

#[test]
fn worlds_keep_their_names_numbers_and_curves() {
    let app = &mut paused();
    app.world_mut().resource_mut::<Setup>().residual = ResidualRate::EveryStep;
    let main = app.world().resource::<Setup>().solver.clone();
    step_to(app, 3);
    for label in ["jacobi", "apgd", "nncg"] {
        tick(app, label, true);
    }
    app.world_mut().resource_mut::<Comparison>().mode = Mode::Worlds;
    wait(app, "three worlds", |_, frame| {
        frame.parallel_worlds.len() == 3
    });
    is_blank(&shown(app), "nncg");
    step_to(app, 9);

    // The first one goes while time stands still, another one comes.
    tick(app, "jacobi", false);
    tick(app, "bpp", true);
    wait(app, "the others", |_, frame| {
        let labels: Vec<&str> = frame
            .parallel_worlds
            .iter()
            .map(|r| r.label.as_str())
            .collect();
        labels.len() == 3 && !labels.contains(&"jacobi")
    });
    let main_name = format!("{} (main)", main.name);
    let nine = apart(&[(main.clone(), 9)]);
    expect(&shown(app), &main_name, &nine, &nine);
    is_blank(&shown(app), "bpp");
    step_to(app, 12);
    let twelve = apart(&[(main.clone(), 12)]);
    check(
        app,
        &main,
        &twelve,
        &[("apgd", 3), ("nncg", 3), ("bpp", 9)],
        12,
    );

    // Another solver takes the next steps: what was shown stays what it was.
    let (before, lines_before) = (shown(app), curves(app));
    let other = config(app, "nncg");
    app.world_mut().resource_mut::<Setup>().solver = other.clone();
    let physics = app.world().resource::<Physics>();
    physics.act(Input::Solver(other.clone()));
    wait(app, "the other solver", |_, frame| {
        frame.charge.solver.name == "nncg"
    });
    assert_eq!(shown(app), before);
    assert_eq!(curves(app), lines_before);
    // Their order is that of the list, and nothing else.
    let mut comparison = app.world_mut().resource_mut::<Comparison>();
    comparison.contestants.reverse();
    wait(app, "the other order", |_, frame| {
        frame
            .parallel_worlds
            .first()
            .is_some_and(|r| r.label == "bpp")
    });
    let mut after = shown(app);
    after[1..].reverse();
    assert_eq!(after, before);
    step_to(app, 15);
    let fifteen = apart(&[(main.clone(), 12), (other.clone(), 15)]);
    expect(&shown(app), "nncg (main)", &fifteen, &fifteen);
    check(
        app,
        &main,
        &fifteen,
        &[("apgd", 3), ("nncg", 3), ("bpp", 9)],
        15,
    );
    let curves = curves(app);
    let of = |name: &str| {
        let mut found = curves.iter().filter(|c| c.name == name);
        found.next().expect("a curve").points.len()
    };
    assert_eq!(of("nncg (main)"), 3);
    assert_eq!(of(&format!("main before: {}", main.name)), 12);
    assert_eq!((of("apgd"), of("bpp")), (12, 6));

    // All go back together, and on again to the same.
    let before = shown(app);
    for _ in 0..4 {
        press(app, KeyCode::ArrowLeft);
    }
    wait(app, "four steps back", |_, frame| frame.step == 11);
    let eleven = apart(&[(main.clone(), 11)]);
    expect(&shown(app), &main_name, &eleven, &eleven);
    check(
        app,
        &main,
        &eleven,
        &[("apgd", 3), ("nncg", 3), ("bpp", 9)],
        11,
    );
    step_to(app, 15);
    let times = |shown: Vec<(String, Numbers)>| {
        let without = |(name, numbers)| {
            (
                name,
                Numbers {
                    time: None,
                    ..numbers
                },
            )
        };
        shown.into_iter().map(without).collect::<Vec<_>>()
    };
    assert_eq!(times(shown(app)), times(before));
}

/// On the same problem: each has the outcome that is found apart, whoever is ticked, unticked or changed around it.
#[test]
fn solvers_keep_their_outcomes() {
    let app = &mut paused();
    step_to(app, 30);
    let main = app.world().resource::<Setup>().solver.clone();
    let simulation = apart(&[(main, 30)]);
    let reach = simulation.world().bodies.reach();
    let task = Task {
        problem: simulation.problem().into(),
        start: Some(simulation.warm_start()),
        reach: &reach,
    };
    let rounds = Rounds {
        count: 1,
        history: false,
        estimate: false,
    };
    // Never anybody else's, in no picture on the way; and in the end everybody's own.
    let follow = |app: &mut App, labels: &[&str]| {
        let mut expected = Vec::new();
        for label in labels {
            let contestant = Contestant::new(*label, config(app, label)).expect("a solver");
            let outcome = Contest::new(vec![contestant]).run(&task, rounds).remove(0);
            let residual = outcome.residual.expect("it is usable").residual;
            expected.push((*label, residual, outcome.report.iterations));
        }
        wait(app, "their outcomes", |world, _| {
            let comparison = world.resource::<Comparison>();
            for (contestant, outcome, _) in comparison.shown() {
                let of = expected
                    .iter()
                    .find(|(label, ..)| *label == contestant.label);
                let found = outcome.residual.expect("it is usable").residual;
                let found = (contestant.label.as_str(), found, outcome.report.iterations);
                assert_eq!(of, Some(&found));
            }
            comparison.shown().count() == expected.len()
        });
    };
    for label in ["jacobi", "gauss-seidel", "bpp"] {
        tick(app, label, true);
    }
    follow(app, &["jacobi", "gauss-seidel", "bpp"]);
    tick(app, "jacobi", false);
    follow(app, &["gauss-seidel", "bpp"]);
    tick(app, "apgd", true);
    follow(app, &["gauss-seidel", "apgd", "bpp"]);
    let mut comparison = app.world_mut().resource_mut::<Comparison>();
    let k = comparison
        .contestants
        .iter()
        .position(|e| e.label == "apgd");
    comparison.duplicate(k.expect("it is there"));
    let copy = comparison
        .contestants
        .iter_mut()
        .find(|e| e.label == "apgd 2");
    copy.expect("a copy").config.budget.iterations = 2;
    comparison.contestants.reverse();
    follow(app, &["gauss-seidel", "apgd", "apgd 2", "bpp"]);
    let mut series: Vec<usize> = {
        let comparison = app.world().resource::<Comparison>();
        comparison.contestants.iter().map(|e| e.series).collect()
    };
    series.sort_unstable();
    series.dedup();
    let comparison = app.world().resource::<Comparison>();
    assert_eq!(series.len(), comparison.contestants.len(), "a colour each");
}
