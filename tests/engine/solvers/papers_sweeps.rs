//! What the papers' solvers do under their own names: limit cycles, coloured sweeps with a stored matrix, fixed bodies
//! that take colours, and the R-factors that Poulsen's table 3.3 comes out with.

use std::collections::BTreeMap;

use crate::common::problems::solve;
use moreau::problem::Problem;
use moreau::scene::library;
use moreau::solve::sweeps::CYCLES;
use moreau::solve::sweeps::colored_gs::COLORS;
use moreau::solve::{Budget, SolveReport, SolverConfig, Status, Value};

/// A solver of "name parameter=value …" with a fixed number of iterations, or to a tolerance.
fn solver(words: &str, iterations: u32, tolerance: f64) -> SolverConfig {
    let mut words = words.split(' ');
    let name = words.next().expect("a name").to_owned();
    let given = words.filter_map(|word| word.split_once('='));
    let parameters: BTreeMap<String, Value> = given
        .map(|(name, value)| (name.to_owned(), Value::read(value)))
        .collect();
    let budget = Budget {
        iterations,
        tolerance,
        ..Budget::default()
    };
    SolverConfig {
        name,
        budget,
        parameters,
    }
}

/// The problem of a scene after so many steps.
fn problem(scene: &str, set: &[(&str, &str)], steps: usize) -> Problem {
    let mut scene = library::shipped(scene).expect("a scene");
    scene.set_all(set).expect("values that fit");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    simulation.problem().clone()
}

fn cycles(report: &SolveReport) -> f64 {
    report.statistic(CYCLES).unwrap_or(0.0)
}

/// The smallest residual of all iterations, and that of the last one (m/s).
fn best_and_last(report: &SolveReport) -> (f64, f64) {
    let residuals = report.history.iter().map(|point| point.residual);
    let last = report.history.last().expect("a history").residual;
    (residuals.fold(f64::INFINITY, f64::min), last)
}

/// γ after 50 iterations from nothing.
fn gamma(words: &str, problem: &Problem) -> f64 {
    let (lambda, ..) = solve(&solver(words, 50, 0.0), problem, false);
    moreau::problem::residual::evaluate(
        problem,
        &lambda,
        moreau::problem::residual::JudgedLaw::Own,
        &mut Default::default(),
    )
    .gamma
}

/// Munksgaard & Kaiser's pyramid with its top pushed down, without relaxation: it went round for ever within 0.054 m/s.
#[test]
fn jacobi_without_relaxation_finds_its_limit_cycle_within_a_scenes_budget() {
    for layers in ["4", "5", "6"] {
        let problem = problem("disc_pyramid_loaded", &[("generators.0.layers", layers)], 1);
        let words = "jacobi r_factors=local";
        let (_, _, report) = solve(&solver(words, 50, 1e-6), &problem, true);
        let Status::Stalled(why) = &report.status else {
            panic!("{layers} layers: {:?}", report.status);
        };
        assert!(why.starts_with("limit cycle"), "{layers} layers: {why}");
        assert_eq!(cycles(&report), 1.0, "{layers} layers");
        let (best, last) = best_and_last(&report);
        // Of the iterations before it was found, and of all: R was halved, and the rest leads on.
        assert!(
            last <= best && last < 0.003,
            "{layers} layers: {last} after {best}"
        );
        let (_, _, report) = solve(&solver(words, 500, 1e-6), &problem, false);
        assert_eq!(
            report.status,
            Status::Converged,
            "{layers} layers: {report:?}"
        );
    }
}

/// Over-relaxed sweeps over 300 spheres in a box ended 3,000 iterations in a cycle of 0.0104 m/s.
#[test]
fn over_relaxed_sweeps_end_their_limit_cycle() {
    let problem = problem("sphere_box_300", &[], 400);
    let words = "gauss-seidel alpha=1.9";
    // The cycle begins after 60 iterations; until then they lead on, so that the last of 50 is the best.
    let (_, _, report) = solve(&solver(words, 50, 1e-6), &problem, true);
    let (best, last) = best_and_last(&report);
    assert_eq!(last, best, "{:?}", report.status);
    let (_, _, report) = solve(&solver(words, 500, 1e-6), &problem, false);
    assert_eq!(report.status, Status::Converged, "{report:?}");
    assert_eq!(cycles(&report), 1.0);
}

/// Slow convergence leads on, and is no cycle: a stack with a heavy top, whose changes fall by less than a tenth in a
/// hundred sweeps.
#[test]
fn slow_convergence_is_no_limit_cycle() {
    for scene in ["heavy_stack", "wall", "pyramid", "ball_grid_8"] {
        let problem = problem(scene, &[], 1);
        for words in [
            "gauss-seidel",
            "colored-gs precision=f64",
            "colored-gs",
            "jacobi",
        ] {
            let (_, _, report) = solve(&solver(words, 2000, 1e-9), &problem, false);
            assert_eq!(
                cycles(&report),
                0.0,
                "{scene}, {words}: {:?}",
                report.status
            );
        }
    }
}

/// Table 3.3: γ of 50 sequential sweeps on the small and on the medium grid, and ‖ΔΛ‖∞ of the last one, to all digits that
/// the thesis has, with one R for all contacts, m/4. And 7.1: one part is the same, and eight are little worse.
#[test]
fn the_thesis_comes_out_with_one_r_for_all_contacts() {
    let set = [("settings.step", "0.01"), ("generators.0.mass", "20")];
    let his = "r_factors=uniform alpha=0.5";
    for (scene, quality, change) in [
        ("ball_grid_8", 247.0, 0.088),
        ("ball_grid_24", 2850.0, 0.090),
    ] {
        let problem = problem(scene, &set, 1);
        let found = gamma(&format!("gauss-seidel scheme=factorized {his}"), &problem);
        assert!((found / quality - 1.0).abs() < 1e-3, "{scene}: {found}");
        let words = format!("gauss-seidel scheme=t {his}");
        let (_, _, report) = solve(&solver(&words, 50, 0.0), &problem, false);
        assert!(
            (report.delta - change).abs() < 5e-4,
            "{scene}: {}",
            report.delta
        );
    }
    let small = problem("ball_grid_8", &set, 1);
    let parts = [1, 8].map(|parts| gamma(&format!("naive-gs parts={parts} {his}"), &small));
    assert!(
        (parts[0] - 246.9).abs() < 0.1 && (290.0..310.0).contains(&parts[1]),
        "{parts:?}"
    );
}

/// 7.2.4 and 7.3: the colours of the medium grid when the ground takes some, and 57 sweeps to equal quality.
#[test]
fn colors_are_the_thesis_s_when_the_ground_takes_some() {
    let set = [("settings.step", "0.01"), ("generators.0.mass", "20")];
    let problem = problem("ball_grid_24", &set, 1);
    let his = "fixed_bodies=as-poulsen r_factors=uniform alpha=0.5";
    let run = |words: &str, iterations| {
        let words = format!("colored-gs {words} {his}");
        let (lambda, _, report) = solve(&solver(&words, iterations, 0.0), &problem, false);
        let colors = report.distribution(COLORS).expect("colours").to_vec();
        let law = moreau::problem::residual::JudgedLaw::Own;
        let residual =
            moreau::problem::residual::evaluate(&problem, &lambda, law, &mut Default::default());
        (colors, residual.gamma)
    };
    let used = |colors: &[u32]| {
        colors
            .iter()
            .copied()
            .filter(|n| *n > 0)
            .collect::<Vec<u32>>()
    };
    for scheme in ["precision=f64", "scheme=t"] {
        let (colors, before) = run(&format!("{scheme} treatment=relaxed damping=none"), 56);
        let used = used(&colors);
        assert_eq!(
            (used.len(), used[0], used[6]),
            (7, 6912, 570),
            "{scheme}: {used:?}"
        );
        assert!(
            used[..6].iter().all(|n| (5328..=6912).contains(n)),
            "{used:?}"
        );
        let (_, after) = run(&format!("{scheme} treatment=relaxed damping=none"), 57);
        assert!(
            after <= 2851.8 && before > 2851.8,
            "{scheme}: {before}, {after}"
        );
    }
    // The ground's contacts, which it does not couple, are swept last in colours of their own as in a merged one. Where the
    // merged one reads the impulses of the last iteration, that costs sweeps (65 in the thesis).
    let (rigid, quality) = run("precision=f64 treatment=rigid", 57);
    assert_eq!(used(&rigid).len(), 576);
    let (_, merged) = run("precision=f64 treatment=relaxed unsafe=naive", 57);
    assert!(
        (quality / merged - 1.0).abs() < 1e-9,
        "{quality} and {merged}"
    );
    let late = |iterations| {
        run(
            "scheme=t treatment=relaxed unsafe=last damping=none",
            iterations,
        )
        .1
    };
    let (before, after) = (late(59), late(65));
    assert!(before > 2851.8 && after <= 2851.8, "{before}, {after}");
    let (balanced, _) = run("precision=f64 coloring=balanced", 1);
    let used = used(&balanced);
    assert_eq!(used.len(), 580);
    assert!(used.iter().all(|n| (69..=70).contains(n)), "{used:?}");
}

/// With A or T stored, coloured sweeps are those without, where every pair of bodies has one contact; and the same for
/// every number of threads.
#[test]
fn colored_sweeps_with_a_stored_matrix_are_those_without() {
    for (scene, set, steps) in [
        ("ball_grid_8", &[("settings.step", "0.01")][..], 1),
        ("ball_pile_40", &[("generators.0.size", "12")][..], 1),
        (
            "sphere_box_300",
            &[("materials.default.spin_radius", "0.01")][..],
            400,
        ),
    ] {
        let problem = problem(scene, set, steps);
        let lambda = |words: &str, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.expect("a thread pool");
            pool.install(|| solve(&solver(words, 40, 0.0), &problem, false).0)
        };
        let expected = lambda("colored-gs precision=f64", 1);
        let largest = expected.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(largest > 0.0, "{scene}");
        for scheme in ["t", "delassus"] {
            let words = format!("colored-gs scheme={scheme}");
            let found = lambda(&words, 1);
            let apart = found.iter().zip(&expected).map(|(x, y)| (x - y).abs());
            let worst = apart.fold(0.0, f64::max);
            assert!(
                worst < 1e-9 * largest,
                "{scene}, {scheme}: {worst:e} of {largest:e}"
            );
            assert_eq!(found, lambda(&words, 2), "{scene}, {scheme}: threads");
        }
    }
}

/// Contacts of one manifold depend on each other: stored, each has a colour of its own, and boxes and chains are solved.
#[test]
fn colored_sweeps_with_a_stored_matrix_solve_boxes_and_machines() {
    for (scene, steps) in [
        ("box_stack", 1),
        ("mixed_shapes", 30),
        ("double_pendulum", 30),
    ] {
        let problem = problem(scene, &[], steps);
        let tight = |words: &str| solve(&solver(words, 200_000, 1e-7), &problem, false);
        for words in [
            "colored-gs scheme=t",
            "colored-gs scheme=t treatment=relaxed",
        ] {
            let (lambda, _, report) = tight(words);
            assert_eq!(
                report.status,
                Status::Converged,
                "{scene}, {words}: {report:?}"
            );
            let residual = crate::common::problems::residual_of(&problem, &lambda);
            assert!(residual < 1e-5, "{scene}, {words}: {residual:e}");
        }
    }
}
