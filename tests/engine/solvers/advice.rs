//! What is said where the tolerance is missed is true: the bodies, the island and the reason are those, and who follows
//! the advice gets what it promises.

use crate::common::simulation;
use moreau::problem::residual::Block;
use moreau::scene::library;
use moreau::solve::SolverConfig;
use moreau::solve::advice::{Shortfall, Tried};
use moreau::step::Simulation;

/// A shipped scene with these values, under a solver with its defaults or under the scene's own.
fn scene(name: &str, values: &[(&str, &str)], solver: Option<&str>) -> Simulation {
    let mut scene = library::shipped(name).expect("a shipped scene");
    scene.set_all(values).expect("values of the scene");
    let mut config = scene.solver.clone();
    config.switch(solver.unwrap_or("auto"));
    simulation(scene.build().expect("it builds"), config)
}

fn residual(s: &Simulation) -> f64 {
    s.report().residual.map_or(f64::NAN, |r| r.residual)
}

/// What is said of the worst of some steps.
struct Said {
    step: u64,
    residual: f64,
    shortfall: Shortfall,
    tried: Tried,
    wrong: String,
}

impl Said {
    fn of(s: &mut Simulation, steps: u64) -> Option<Self> {
        let mut worst = None;
        let mut most = 0.0;
        for _ in 0..steps {
            s.step().expect("a step");
            // Of a step that was taken in several, what is said is of the last one.
            if residual(s) > most && s.report().halvings == 0 {
                most = residual(s);
                let problem = (s.problem().clone(), s.warm_start().to_vec());
                worst = s.shortfall().map(|found| (s.report().step, found, problem));
            }
        }
        let (step, shortfall, (problem, start)) = worst?;
        let names = |body: u32| s.world().bodies.label(body as usize);
        Some(Self {
            step,
            residual: most,
            wrong: shortfall.words(&names),
            tried: shortfall.try_settings(&problem, &start),
            shortfall,
        })
    }
}

/// What is said of a scene's worst step, and what becomes of who follows it.
fn check(mut said_of: impl FnMut(Option<&SolverConfig>) -> Simulation, steps: u64) -> Said {
    let mut s = said_of(None);
    let said = Said::of(&mut s, steps).expect("the tolerance is missed");
    let (wrong, help) = (&said.wrong, said.tried.words());
    println!("step {}: {wrong} {help}", said.step);
    let error = format!("{:.1e} m/s", said.residual);
    assert!(wrong.contains(&error), "{wrong}");
    let best = said.tried.best.as_ref().expect("something helps");
    assert!(help.contains(&best.change), "{help}");
    let mut followed = said_of(Some(&best.config));
    let mut most: f64 = 0.0;
    for _ in 0..steps {
        followed.step().expect("a step");
        most = most.max(residual(&followed));
    }
    let asked = best.left.max(said.tried.tolerance);
    println!("who follows it gets {most:.1e} m/s");
    assert!(
        most <= 1.1 * asked || most < 0.5 * said.residual,
        "{most:e} m/s after {wrong} {help}"
    );
    said
}

fn advised(config: Option<&SolverConfig>, mut s: Simulation) -> Simulation {
    if let Some(config) = config {
        s.set_solver(config.clone()).expect("a solver of the list");
    }
    s
}

/// 512 balls fall: their factorisation does not fit, and 50 sweeps do not do.
#[test]
fn a_grid_that_is_swept_needs_more_iterations() {
    let larger = [("generators.0.size", "13")];
    let said = check(|c| advised(c, scene("ball_grid_8", &larger, None)), 10);
    for words in [
        "auto swept its island of 2197 bodies",
        "it may take",
        "up to 50 sweeps do not do",
        "all equally heavy",
    ] {
        assert!(said.wrong.contains(words), "{words}: {}", said.wrong);
    }
    assert!(said.tried.words().starts_with("With work 1000"));
    assert!(matches!(said.shortfall.block, Block::Contact(_)));
}

/// A house of cards of seven storeys that may take a tenth of the default.
#[test]
fn cards_that_ran_out_of_work_need_more_of_it() {
    let little = [
        ("generators.0.storeys", "7"),
        ("solver.parameters", "{\"work\": 3}"),
    ];
    let said = check(|c| advised(c, scene("house_of_cards", &little, None)), 3);
    let words = "began to solve its island of 77 bodies";
    assert!(said.wrong.contains(words), "{}", said.wrong);
    assert!(
        said.wrong.contains("that it may take are spent"),
        "{}",
        said.wrong
    );
    let help = said.tried.words();
    assert!(
        help.starts_with("With work ") && help.contains("is solved"),
        "{help}"
    );
}

/// Sweeps on a stack of ten cubes whose top one is a thousand times as heavy.
#[test]
fn a_heavy_stack_that_is_swept_needs_an_exact_solver() {
    let heavy = [("generators.0.top_mass_ratio", "1000")];
    let make = || scene("box_stack", &heavy, Some("colored-gs"));
    let said = check(|c| advised(c, make()), 60);
    assert!(said.wrong.contains("mass ratio 1000"), "{}", said.wrong);
    assert!(said.wrong.contains("colored-gs stopped"), "{}", said.wrong);
    let help = said.tried.words();
    assert!(help.contains("With solver auto the same"), "{help}");
}

/// A crane's joints under sweeps.
#[test]
fn a_crane_that_is_swept_needs_an_exact_solver() {
    let make = || scene("simple_crane", &[], Some("colored-gs"));
    let said = check(|c| advised(c, make()), 60);
    assert!(said.wrong.starts_with("A joint's row"), "{}", said.wrong);
    assert!(said.wrong.contains("joint rows"), "{}", said.wrong);
    let help = said.tried.words();
    assert!(help.contains("With solver auto the same"), "{help}");
}

/// Nothing is said of what is solved.
#[test]
fn nothing_is_said_of_solved_steps() {
    assert!(Said::of(&mut scene("box_stack", &[], None), 30).is_none());
}
