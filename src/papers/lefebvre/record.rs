//! A machine's script, run once; the problems of its steps, and how they are solved again.

use std::time::Instant;

use super::figures::{MACHINES, Machine};
use crate::measure::{Stage, Summary};
use crate::papers::Result;
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::race::{self, Racer, Rounds, Timing};
use crate::problem::Problem;
use crate::scene::library;
use crate::solve::{Budget, SolverConfig, Status, ToleranceNorm};

/// Pivots that no problem should need.
pub const BUDGET: Budget = Budget {
    iterations: 20_000,
    tolerance: 0.0,
    absolute: 0.0,
    relative: 0.0,
    norm: ToleranceNorm::Component,
    time: 0.0,
};

/// One step.
pub struct Step {
    /// Simulated time at its end (s).
    pub time: f64,
    /// Number of rows.
    pub rows: f64,
    /// Share of rows that are tight in the end (%).
    pub tight: f64,
    /// The largest such share on the way (%).
    pub most_tight: f64,
    /// Wall-clock time of the whole step (s).
    pub seconds: f64,
    /// Residual (m/s).
    pub residual: f64,
    /// Largest error of a joint (m).
    pub joint_error: f64,
    /// Whether the solver settled.
    pub settled: bool,
}

/// A problem as its step solved it.
pub struct Kept {
    /// The problem.
    pub problem: Problem,
    /// The impulses that the step started from.
    pub start: Vec<f64>,
    /// Simulated time at the end of its step (s).
    pub time: f64,
}

/// A run.
pub struct Recording {
    /// The scene.
    pub scene: &'static str,
    /// Mass of the heaviest dynamic body over that of the lightest.
    pub mass_ratio: f64,
    /// Condition number of the largest problem's A: as it is, and scaled to a unit diagonal.
    pub condition: Option<[f64; 2]>,
    /// All steps.
    pub steps: Vec<Step>,
    /// Every so manieth problem.
    pub kept: Vec<Kept>,
    /// Why it ended early, or empty.
    pub remark: String,
}

impl Recording {
    /// The thesis's numbers, where it is one of its machines.
    pub fn machine(&self) -> Option<&'static Machine> {
        MACHINES.iter().find(|m| m.scene == self.scene)
    }

    /// A series of its steps, in brief.
    pub fn summary(&self, of: impl Fn(&Step) -> f64) -> Summary {
        Summary::some(self.steps.iter().map(of)).unwrap_or_default()
    }

    /// The kept problem with the most rows.
    pub fn largest(&self) -> Option<&Kept> {
        self.kept.iter().max_by_key(|k| k.problem.row_count())
    }
}

/// Runs a scene's script on one thread with the solver's defaults.
pub fn record(bench: &Bench, scene: &'static str) -> Result<Recording> {
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
        condition: None,
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
        let count = |name: &str| report.solve.statistic(name).unwrap_or(0.0);
        let share = |name: &str| 100.0 * count(name) / count("rows").max(1.0);
        let time = report.time;
        recording.steps.push(Step {
            time,
            rows: count("rows"),
            tight: share("tight rows"),
            most_tight: share("most tight rows"),
            seconds: report.timings.get(Stage::Step),
            residual: report.residual.unwrap_or_default().residual,
            joint_error: report.joint_error,
            settled: report.solve.status == Status::Converged,
        });
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

/// Makes solvers for the kept problems: on one thread, with all the pivots that they need.
pub fn racers(methods: &[Method]) -> Result<Vec<Racer>> {
    let racer = |method: &Method| Racer::new(*method, 1, BUDGET);
    methods.iter().map(racer).collect()
}

/// What every method did on the kept problems of a recording.
pub struct Replay {
    /// The scene.
    pub scene: &'static str,
    /// Each problem's time (s), ascending, and what the methods did on it.
    problems: Vec<(f64, Vec<Timing>)>,
}

impl Replay {
    /// Problems that were solved.
    pub fn len(&self) -> usize {
        self.problems.len()
    }

    /// The solves by a method of problems with a tight row, each with its problem's time (s).
    pub fn with_tight_rows(&self, method: &Method) -> Vec<(f64, &Timing)> {
        // Whether a row is ever tight is asked of the first method.
        let tight = self.problems.iter();
        let tight = tight.filter(|(_, of)| of[0].count("most tight rows") > 0.0);
        let own = |of: &'_ [Timing]| of.iter().position(|t| t.method == *method);
        tight
            .filter_map(|(time, of)| Some((*time, &of[own(of)?])))
            .collect()
    }

    /// The mean over those problems; none where there are none.
    pub fn mean(&self, method: &Method, of: impl Fn(&Timing) -> f64) -> Option<f64> {
        let solves = self.with_tight_rows(method);
        Summary::some(solves.into_iter().map(|(_, t)| of(t))).map(|s| s.mean)
    }

    /// Those solves that did not settle.
    pub fn unsettled(&self, method: &Method) -> usize {
        let solves = self.with_tight_rows(method).into_iter();
        solves
            .filter(|(_, t)| t.report.status != Status::Converged)
            .count()
    }
}

/// Solves a recording's problems by several methods. A problem's rounds follow each other, with all methods
/// in turn. When the time is over, the problems so far are spread over the run.
pub fn replay(
    bench: &Bench,
    recording: &Recording,
    methods: &[Method],
    (most, seconds): (usize, f64),
) -> Result<Replay> {
    let mut racers = racers(methods)?;
    let mut problems = Vec::new();
    let start = Instant::now();
    for problem in spread(recording.kept.len()) {
        if start.elapsed().as_secs_f64() > seconds && !problems.is_empty() {
            break;
        }
        let kept = &recording.kept[problem];
        let rounds = Rounds {
            // The first problem's first round makes room in memory.
            warm_up: usize::from(problems.is_empty()),
            most,
            seconds: f64::INFINITY,
        };
        let from = Some(kept.start.as_slice());
        let timings = race::in_turns(bench, &mut racers, &kept.problem, from, rounds);
        problems.push((kept.time, timings));
    }
    problems.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Replay {
        scene: recording.scene,
        problems,
    })
}

/// 0..n, such that every beginning is spread over the whole.
fn spread(n: usize) -> Vec<usize> {
    const STRIDE: usize = 8;
    (0..STRIDE).flat_map(|k| (k..n).step_by(STRIDE)).collect()
}

/// At most a few hundred points of a line, the highest of each stretch.
pub fn thinned(line: impl IntoIterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    const MOST: usize = 300;
    let line: Vec<[f64; 2]> = line.into_iter().collect();
    let stretch = line.len().div_ceil(MOST).max(1);
    let highest = |points: &[[f64; 2]]| points.iter().copied().max_by(|a, b| a[1].total_cmp(&b[1]));
    line.chunks(stretch).filter_map(highest).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn problems_are_visited_once_and_spread() {
        let mut order = spread(19);
        assert_eq!(order[..4], [0, 8, 16, 1]);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..19));
    }
}
