//! Thirteen machines that touch things, by default: what a step takes, and how well it is solved.

use std::path::Path;

use moreau::measure::Stage;
use moreau::measure::energy::{Account, Balance, Flow};
use moreau::scene::Scene;

/// How long each runs (s).
const LENGTH: f64 = 10.0;

/// The mean, the 95th percentile and the largest.
fn spread(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len().max(1);
    let at = |share: f64| sorted.get((share * n as f64) as usize).or(sorted.last());
    let mean = sorted.iter().sum::<f64>() / n as f64;
    [
        mean,
        at(0.95).copied().unwrap_or(0.0),
        at(1.0).copied().unwrap_or(0.0),
    ]
}

/// Runs the files of `tests/engine/machines/thirteen`, or of the folder in `MOREAU_MACHINES`, on one thread.
pub fn measure() {
    let ours = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/engine/machines/thirteen"
    );
    let folder = std::env::var("MOREAU_MACHINES").unwrap_or_else(|_| ours.to_owned());
    let files = std::fs::read_dir(Path::new(&folder)).expect("a folder of scenes");
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "ron"));
    files.sort();
    println!(
        "| machine | bodies | ms: mean, p95, worst | work of the worst step [1e6] | above tolerance [%] | residual [m/s] | \
         joints [mm] | numerical energy over what moved |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for file in files {
        run(&file);
    }
}

fn run(file: &Path) {
    let name = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let scene = Scene::load(file).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = scene
        .simulation(1)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    simulation.set_energy(true);
    let tolerance = simulation.solver_config().budget.tolerance;
    let steps = (LENGTH / simulation.world().settings.step).round() as usize;
    let (mut times, mut balances) = (Vec::new(), Vec::<Balance>::new());
    let (mut work, mut missed, mut residual, mut apart) = (0.0_f64, 0, 0.0_f64, 0.0_f64);
    let mut stopped = String::new();
    for step in 0..steps {
        let report = match simulation.step() {
            Ok(report) => report,
            Err(error) => {
                stopped = format!(", stopped at step {step}: {error}");
                break;
            }
        };
        let timings = &report.timings;
        times.push(1e3 * timings.get(Stage::Step));
        work = work.max(report.solve.statistic("work").unwrap_or(0.0));
        let reached = report.residual.as_ref().map_or(0.0, |r| r.residual);
        missed += usize::from(reached > tolerance);
        residual = residual.max(reached);
        apart = apart.max(report.joint_error);
        balances.extend(report.energy);
    }
    let numerical = Account::of(&balances).map_or(0.0, |account| {
        let flows = Flow::ALL.into_iter().filter(|flow| flow.is_numerical());
        let sum: f64 = flows.map(|flow| account.whole[flow].abs()).sum();
        sum / account.throughput.max(f64::MIN_POSITIVE)
    });
    let [mean, p95, worst] = spread(&times);
    println!(
        "| {name}{stopped} | {} | {mean:.2}, {p95:.1}, {worst:.1} | {work:.1} | {:.1} | {residual:.1e} | {:.2e} | {numerical:.1e} |",
        simulation.world().bodies.len(),
        100.0 * missed as f64 / times.len().max(1) as f64,
        1e3 * apart,
    );
}
