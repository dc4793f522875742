//! What each number of the pivoting solver's tuning is good for: one at a time is taken away, on the problems
//! of every shipped scene that this solver solves.

use std::time::Instant;

use super::record::{self, BUDGET, Kept};
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::scene::library;
use crate::solve::bpp::{Bpp, Tuning};
use crate::solve::{Request, Solver, SolverConfig, Status};

/// A tuning with one thing changed.
type Change = (&'static str, fn(&mut Tuning));

#[rustfmt::skip]
const CHANGES: &[Change] = &[
    ("as it is", |_| {}),
    ("patience 1", |t| t.patience = 1),
    ("patience 10", |t| t.patience = 10),
    ("no single pivots", |t| t.single_pivots = 0),
    ("bounds from solve to solve", |t| t.newton = false),
    ("no halvings", |t| t.halvings = [0, 0]),
    ("halvings of Newton steps only", |t| t.halvings = [4, 4]),
    ("any progress", |t| t.progress = 1.0),
    ("settled_compliance 0", |t| t.settled_compliance = 0.0),
    ("all outer iterations first", |t| t.quick_outer_iterations = u32::MAX),
    ("2 outer iterations first", |t| t.quick_outer_iterations = 2),
    ("no contact compliance", |t| t.contact_compliance = 0.0),
    ("no refinements", |t| t.refinements = 0),
    ("no coupled method", |t| t.coupled_steps = 0),
    ("no sweeps before it", |t| t.sweeps = [0; 3]),
    ("first_weight 0.01", |t| t.first_weight = 0.01),
    ("first_weight 1", |t| t.first_weight = 1.0),
    ("fast 0.2", |t| t.fast = 0.2),
    ("slow 0.03", |t| t.slow = 0.03),
    ("after_failure 0.03", |t| t.after_failure = 0.03),
    ("newton_steps 8", |t| t.newton_steps = 8),
    ("newton_patience 0", |t| t.newton_patience = 0),
    ("useful 0", |t| t.useful = 0.0),
    ("linear_accuracy 1", |t| t.linear_accuracy = 1.0),
];

/// What a tuning did on all problems.
#[derive(Clone, Default)]
struct Outcome {
    label: &'static str,
    seconds: f64,
    pivots: f64,
    unsolved: usize,
    worst: f64,
    /// Scenes whose number of pivots is another than as it is.
    scenes: Vec<&'static str>,
}

/// Mechanisms, machines and heavy stacks.
const SCENES: [&str; 16] = [
    "heavy_stack",
    "log_tower",
    "pendulum",
    "double_pendulum",
    "slider_crank",
    "four_bar",
    "chain",
    "bridge",
    "simple_crane",
    "crane",
    "offshore",
    "simple_winch",
    "winch",
    "forklift",
    "vehicle_parkour",
    "forwarder",
];

/// Adds the table.
///
/// # Errors
/// A scene that cannot be used.
pub fn report(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let mut outcomes = vec![Outcome::default(); CHANGES.len()];
    let (mut scenes, mut problems) = (0, 0);
    for scene in SCENES {
        let mut config = library::shipped(scene)?.solver.clone();
        if config.name != "bpp" {
            config = Method::new("bpp: bpp").config(BUDGET);
        }
        let recording = record::record(bench, scene)?;
        (scenes, problems) = (scenes + 1, problems + recording.kept.len());
        let mut pivots = None;
        for (change, outcome) in CHANGES.iter().zip(&mut outcomes) {
            let before = outcome.pivots;
            solve(&config, change, &recording.kept, outcome)?;
            let now = outcome.pivots - before;
            if *pivots.get_or_insert(now) != now {
                outcome.scenes.push(scene);
            }
        }
    }
    let [seconds, pivots] = [outcomes[0].seconds, outcomes[0].pivots];
    let title = format!("Tuning, one change at a time: {problems} problems of {scenes} scenes");
    findings.table(
        Columns::new("lefebvre-tuning", title, "", &outcomes)
            .key("change", |o| o.label)
            .column("time over that as it is", |o| o.seconds / seconds)
            .column("pivots over those as it is", |o| o.pivots / pivots)
            .column("unsolved problems", |o| o.unsolved as f64)
            .column("largest residual [m/s]", |o| o.worst)
            .remark(|o| match o.scenes.len() {
                0 => "idle".to_owned(),
                _ => o.scenes.join(", "),
            })
            .note("One thread; scenes are named where the number of pivots changes."),
    );
    Ok(())
}

fn solve(
    config: &SolverConfig,
    (label, change): &Change,
    problems: &[Kept],
    outcome: &mut Outcome,
) -> Result<()> {
    let (_, parameters) = config.check()?;
    let mut solver = Bpp::new(&parameters);
    solver.tune(change);
    let request = Request {
        budget: BUDGET,
        history: false,
        ..Request::default()
    };
    let (mut lambda, mut u) = (Vec::new(), Vec::new());
    let mut workspace = ResidualWorkspace::default();
    outcome.label = label;
    for kept in problems {
        lambda.clone_from(&kept.start);
        let start = Instant::now();
        let report = solver.solve(&kept.problem, &request, &mut lambda, &mut u);
        outcome.seconds += start.elapsed().as_secs_f64();
        outcome.pivots += report.statistic("pivots of all islands").unwrap_or(0.0);
        outcome.unsolved += usize::from(report.status != Status::Converged);
        let law = JudgedLaw::Intervals;
        let residual = residual::evaluate(&kept.problem, &lambda, law, &mut workspace);
        outcome.worst = outcome.worst.max(residual.residual);
    }
    Ok(())
}
