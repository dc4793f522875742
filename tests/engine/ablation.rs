//! What each method of an exact solution is worth: the steps of shipped scenes, solved without it.

use crate::common::problems::residual_of;
use moreau::problem::Problem;
use moreau::scene::library;
use moreau::solve::{ParameterKind, Request, SolveReport, SolverConfig, Status, Value, find};

/// The methods that may be left out.
fn methods() -> Vec<&'static str> {
    let newton = find("newton").expect("a solver of the list");
    let parameter = newton.parameters.iter().find(|p| p.name == "without");
    match parameter.expect("a parameter").kind {
        ParameterKind::Choice { options, .. } => options.to_vec(),
        _ => panic!("a choice"),
    }
}

/// A step's problem, and the impulses that it starts from.
struct Step {
    problem: Problem,
    start: Vec<f64>,
}

impl Step {
    /// Solves it without a method. Returns the residual, too.
    fn solve(&self, solver: &str, without: &str) -> (SolveReport, f64) {
        let mut config = SolverConfig::default();
        config.switch(solver);
        let without = Value::Choice(without.to_owned());
        config.parameters.insert("without".to_owned(), without);
        let request = Request {
            budget: config.budget,
            history: false,
        };
        let mut lambda = self.start.clone();
        let mut solver = config.build().expect("a solver of the list");
        let report = solver.solve(&self.problem, &request, &mut lambda, &mut Vec::new());
        let residual = residual_of(&self.problem, &lambda);
        (report, residual)
    }
}

/// The problems of some steps of a scene.
fn steps(scene: &str, wanted: &[u64]) -> Vec<Step> {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a good scene");
    let mut steps = Vec::new();
    for step in 1..=wanted.last().copied().unwrap_or(0) {
        simulation.step().expect("a good step");
        if wanted.contains(&step) && simulation.problem().row_count() > 0 {
            steps.push(Step {
                problem: simulation.problem().clone(),
                start: simulation.warm_start().to_vec(),
            });
        }
    }
    steps
}

#[test]
fn without_a_method_nothing_is_worse_than_the_start() {
    for scene in ["box_stack", "arch", "domino_spiral", "simple_winch"] {
        for step in steps(scene, &[2, 20]) {
            let before = residual_of(&step.problem, &step.start);
            for without in methods() {
                let (report, residual) = step.solve("newton", without);
                let what = format!("{scene} without {without}: {residual}, {before}");
                assert!(report.status.is_usable(), "{what}");
                assert!(residual <= before * (1.0 + 1e-9) + 1e-12, "{what}");
                if report.status == Status::Converged {
                    assert!(residual <= 1e-6, "{what}");
                }
            }
        }
    }
}

/// The table of docs/exact.md.
#[test]
#[ignore = "takes minutes"]
fn measure_what_each_method_is_worth() {
    let mut wanted = vec![1, 2, 4, 8, 16, 32];
    wanted.extend((1..=12).map(|k| 20 * k));
    wanted.sort_unstable();
    wanted.dedup();
    let is_small = |scene: &&str| {
        !scene.starts_with("ball_pile") && !["ball_grid_24", "ball_grid_40"].contains(scene)
    };
    let scenes = library::shipped_names().filter(is_small);
    let problems: Vec<Step> = scenes.flat_map(|scene| steps(scene, &wanted)).collect();
    println!("{} steps", problems.len());
    for solver in ["auto", "newton"] {
        let mut whole: Vec<(bool, f64)> = Vec::new();
        println!("| `{solver}` without | solved | lost | won | work of what both solve |");
        println!("|---|---|---|---|---|");
        for without in methods() {
            let solved: Vec<(bool, f64)> = (problems.iter())
                .map(|step| {
                    let (report, _) = step.solve(solver, without);
                    let work = report.statistic("work").unwrap_or(0.0);
                    (report.status == Status::Converged, work)
                })
                .collect();
            if whole.is_empty() {
                whole.clone_from(&solved);
            }
            let pairs = || whole.iter().zip(&solved);
            let lost = pairs().filter(|(a, b)| a.0 && !b.0).count();
            let won = pairs().filter(|(a, b)| !a.0 && b.0).count();
            let both = || pairs().filter(|(a, b)| a.0 && b.0);
            let [before, after] = both().fold([0.0; 2], |[x, y], (a, b)| [x + a.1, y + b.1]);
            let count = solved.iter().filter(|(is_solved, _)| *is_solved).count();
            let work = after / before;
            println!("| {without} | {count} | {lost} | {won} | {work:.2} |");
        }
    }
}
