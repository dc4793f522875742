//! What each method of an exact solution is worth: the steps of shipped scenes, solved without it.

use crate::common::ablation::{Step, methods, steps};
use moreau::scene::library;
use moreau::solve::Status;

/// The table of docs/exact.md.
pub fn measure() {
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
