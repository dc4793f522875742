//! A machine's script, run once, and the problems of its steps.

use moreau::measure::{Stage, Summary};
use moreau::problem::Problem;
use moreau::scene::library;
use moreau::solve::{Budget, SolverConfig, Status};

use super::super::measure::Bench;
use super::super::{Failure, paper};

/// Pivots that no problem should need.
pub const BUDGET: Budget = Budget {
    iterations: 20_000,
    tolerance: 0.0,
    absolute: 0.0,
    relative: 0.0,
    norm: moreau::solve::ToleranceNorm::Component,
    time: 0.0,
};

/// One step.
pub struct Step {
    pub time: f64,
    pub rows: f64,
    /// Share of rows that are tight in the end (%).
    pub tight: f64,
    /// The largest such share on the way (%).
    pub most_tight: f64,
    /// Wall-clock time of the whole step (s).
    pub seconds: f64,
    pub residual: f64,
    pub joint_error: f64,
    pub settled: bool,
}

/// A problem as its step solved it.
pub struct Kept {
    pub problem: Problem,
    /// The impulses that the step started from.
    pub start: Vec<f64>,
    pub time: f64,
}

/// A run.
pub struct Recording {
    pub scene: &'static str,
    /// Mass of the heaviest dynamic body over that of the lightest.
    pub mass_ratio: f64,
    pub steps: Vec<Step>,
    /// Every so manieth problem.
    pub kept: Vec<Kept>,
    /// Why it ended early, or empty.
    pub remark: String,
}

impl Recording {
    /// The thesis's numbers, where it is one of its machines.
    pub fn machine(&self) -> Option<&'static paper::Machine> {
        paper::MACHINES.iter().find(|m| m.scene == self.scene)
    }

    /// A series of its steps, in brief.
    pub fn summary(&self, of: impl Fn(&Step) -> f64) -> Summary {
        Summary::of(&self.steps.iter().map(of).collect::<Vec<f64>>())
    }

    /// The kept problem with the most rows.
    pub fn largest(&self) -> Option<&Kept> {
        self.kept.iter().max_by_key(|k| k.problem.row_count())
    }
}

/// Runs a scene's script on one thread with the solver's defaults.
pub fn record(bench: &Bench, scene: &'static str) -> Result<Recording, Failure> {
    let seconds = bench.either(2.0, 20.0);
    let most = bench.either(12, 300);
    bench.say(format!("running {scene}"));
    let mut simulation = library::shipped(scene)?.simulation(1)?;
    if simulation.solver_config().name != "bpp" {
        simulation.set_solver(SolverConfig {
            name: "bpp".into(),
            budget: BUDGET,
            ..SolverConfig::default()
        })?;
    }
    let steps = (seconds / simulation.world().settings.step).round() as usize;
    let every = steps.div_ceil(most);
    let mut recording = Recording {
        scene,
        mass_ratio: 1.0,
        steps: Vec::new(),
        kept: Vec::new(),
        remark: String::new(),
    };
    for k in 0..steps {
        let report = match simulation.step() {
            Ok(report) => report,
            Err(error) => {
                recording.remark = error.to_string();
                break;
            }
        };
        let pivoting = report.solve.pivoting.unwrap_or_default();
        let share = |rows: u64| 100.0 * rows as f64 / pivoting.rows.max(1) as f64;
        recording.steps.push(Step {
            time: report.time,
            rows: pivoting.rows as f64,
            tight: share(pivoting.tight),
            most_tight: share(pivoting.most_tight),
            seconds: report.timings.get(Stage::Step),
            residual: report.residual.residual,
            joint_error: report.joint_error,
            settled: report.solve.status == Status::Converged,
        });
        let time = report.time;
        if (k + 1) % every == 0 {
            recording.kept.push(Kept {
                problem: simulation.problem().clone(),
                start: simulation.warm_start().to_vec(),
                time,
            });
        }
    }
    recording.mass_ratio = mass_ratio(simulation.problem());
    Ok(recording)
}

fn mass_ratio(problem: &Problem) -> f64 {
    let dynamic = problem.bodies.inverse_mass.iter().filter(|m| **m > 0.0);
    let range = dynamic.fold([f64::INFINITY, 0.0f64], |r, m| [r[0].min(*m), r[1].max(*m)]);
    if range[1] > 0.0 {
        range[1] / range[0]
    } else {
        1.0
    }
}
