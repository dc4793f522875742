//! The Delassus matrix of the shipped scenes: how many blocks it has, ours and as Poulsen counted,
//! and that counting agrees with assembling.

use moreau::problem::Problem;
use moreau::problem::delassus::{BlockCounter, Coupling, Delassus};
use moreau::scene::library;
use moreau::solve::{Budget, SolverConfig};

/// The problem of a shipped scene's first step; nobody cares how well it is solved.
fn first_problem(id: &str) -> Problem {
    let mut scene = library::shipped(id).expect("a valid scene");
    scene.solver = SolverConfig {
        budget: Budget {
            iterations: 1,
            ..Budget::default()
        },
        ..SolverConfig::default()
    };
    let mut simulation = scene.simulation(2).expect("a valid scene");
    simulation.step().expect("a step");
    simulation.problem().clone()
}

fn check(id: &str, contacts: usize, dynamic: u64, every_body: u64) {
    let problem = first_problem(id);
    assert_eq!(problem.contacts.len(), contacts, "{id}");
    let mut counter = BlockCounter::default();
    assert_eq!(counter.count(&problem, Coupling::Dynamic), dynamic, "{id}");
    assert_eq!(
        counter.count(&problem, Coupling::EveryBody),
        every_body,
        "{id}, counted as the thesis does"
    );
    let a = Delassus::assemble(&problem);
    assert_eq!(a.block_count() as u64, dynamic, "{id}, assembled");
}

#[test]
fn ball_grids_have_the_known_numbers_of_blocks() {
    check("ball_grid_8", 1_408, 13_696, 17_728);
    check("ball_grid_24", 40_320, 426_624, 757_824);
}

#[test]
#[ignore = "large: run it in release"]
fn the_largest_ball_grid_has_the_known_number_of_blocks() {
    check("ball_grid_40", 188_800, 2_029_440, 4_587_840);
}

/// Poulsen's random numbers are lost, so that his piles' counts are met within a per cent only.
fn check_pile(id: &str, contacts: f64, blocks: f64) {
    let problem = first_problem(id);
    let close = |ours: f64, his: f64| (ours / his - 1.0).abs() < 0.01;
    assert!(close(problem.contacts.len() as f64, contacts), "{id}");
    let mut counter = BlockCounter::default();
    let count = counter.count(&problem, Coupling::Dynamic);
    assert!(close(count as f64, blocks), "{id}: {count}");
    // Nothing lies on the ground, so that both ways of counting are one.
    assert_eq!(counter.count(&problem, Coupling::EveryBody), count, "{id}");
    assert_eq!(
        Delassus::assemble(&problem).block_count() as u64,
        count,
        "{id}"
    );
}

#[test]
fn the_smaller_ball_pile_has_about_as_many_blocks_as_poulsens() {
    check_pile("ball_pile_40", 6_605.0, 7_415.0);
}

#[test]
#[ignore = "large: run it in release"]
fn the_larger_ball_pile_has_about_as_many_blocks_as_poulsens() {
    check_pile("ball_pile_80", 52_909.0, 58_631.0);
}
