//! A machine's script, run once; the problems of its steps, and how they are solved again.

use std::time::Instant;

use super::figures::{MACHINES, Machine};
use super::machines::Condition;
use super::models;
use crate::measure::{Stage, Summary};
use crate::papers::Result;
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::race::{self, Racer, Timing};
use crate::problem::{FrictionLaw, Problem};
use crate::solve::{Budget, Status, ToleranceNorm};
use crate::step::{Simulation, StepReport};

/// Pivots that no problem should need.
pub const BUDGET: Budget = Budget {
    iterations: 20_000,
    tolerance: 0.0,
    absolute: 0.0,
    relative: 0.0,
    norm: ToleranceNorm::Component,
    time: 0.0,
};

/// A problem as its step solved it.
pub struct Kept {
    /// The problem.
    pub problem: Problem,
    /// The impulses that the step started from.
    pub start: Vec<f64>,
    /// Simulated time at the end of its step (s).
    pub time: f64,
}

/// Takes so many steps, unless one fails or it takes too long (s), and looks at each. With the steps comes why
/// they ended early, or nothing.
pub fn run(
    simulation: &mut Simulation,
    count: usize,
    limit: f64,
    mut look: impl FnMut(&Simulation, usize),
) -> (Vec<StepReport>, String) {
    let mut steps = Vec::new();
    let start = Instant::now();
    while steps.len() < count {
        if start.elapsed().as_secs_f64() > limit {
            let remark = format!("{} of {count} steps: time was over", steps.len());
            return (steps, remark);
        }
        match simulation.step() {
            Ok(report) => steps.push(report.clone()),
            Err(error) => return (steps, error.to_string()),
        }
        look(simulation, steps.len());
    }
    (steps, String::new())
}

/// A number of a step's solver; 0 where it has none.
pub fn count(step: &StepReport, name: &str) -> f64 {
    step.solve.statistic(name).unwrap_or(0.0)
}

/// The same as share of all rows (%).
pub fn share(step: &StepReport, name: &str) -> f64 {
    100.0 * count(step, name) / count(step, "rows").max(1.0)
}

/// A step's residual (m/s).
pub fn residual(step: &StepReport) -> f64 {
    step.residual.unwrap_or_default().residual
}

/// Wall-clock time of a whole step (ms).
pub fn milliseconds(step: &StepReport) -> f64 {
    1e3 * step.timings.get(Stage::Step)
}

/// A run of a scene.
pub struct Recording {
    /// The scene.
    pub scene: &'static str,
    /// Mass of the heaviest dynamic body over that of the lightest.
    pub mass_ratio: f64,
    /// How near to singular the largest problem's A is.
    pub condition: Option<Condition>,
    /// Length of its steps (s).
    pub step: f64,
    /// All steps.
    pub steps: Vec<StepReport>,
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
    pub fn summary(&self, of: impl Fn(&StepReport) -> f64) -> Summary {
        Summary::some(self.steps.iter().map(of)).unwrap_or_default()
    }

    /// The kept problem with the most rows.
    pub fn largest(&self) -> Option<&Kept> {
        self.kept.iter().max_by_key(|k| k.problem.row_count())
    }
}

/// Runs a scene's script on one thread with the solver's defaults.
pub fn record(bench: &Bench, scene: &'static str) -> Result<Recording> {
    bench.say(format!("running {scene}"));
    let mut simulation = models::scene(scene)?.simulation(1)?;
    if simulation.solver_config().name != "bpp" {
        simulation.set_solver(Method::new("bpp: bpp").config(BUDGET))?;
        simulation.world_mut().settings.friction_law = FrictionLaw::Box;
    }
    let seconds: f64 = bench.either(2.0, 20.0);
    let length = simulation.world().settings.step;
    let steps = (seconds / length).round() as usize;
    let every = steps.div_ceil(bench.either(12, 300));
    let mut kept = Vec::new();
    let (steps, remark) = run(
        &mut simulation,
        steps,
        f64::INFINITY,
        |simulation, taken| {
            if taken % every == 0 {
                kept.push(Kept {
                    problem: simulation.problem().clone(),
                    start: simulation.warm_start().to_vec(),
                    time: simulation.world().time,
                });
            }
        },
    );
    Ok(Recording {
        scene,
        mass_ratio: mass_ratio(simulation.problem()),
        condition: None,
        step: length,
        steps,
        kept,
        remark,
    })
}

fn mass_ratio(problem: &Problem) -> f64 {
    let masses = problem.bodies.inverse_mass.iter().copied();
    let dynamic = || masses.clone().filter(|m| *m > 0.0);
    let ratio = dynamic().reduce(f64::max).zip(dynamic().reduce(f64::min));
    ratio.map_or(1.0, |(lightest, heaviest)| lightest / heaviest)
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

    /// The mean of the solver's own number of this name.
    pub fn count(&self, method: &Method, name: &str) -> Option<f64> {
        self.mean(method, |t| t.count(name))
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
        let mut race = |rounds| {
            let from = Some(kept.start.as_slice());
            race::in_turns(bench, &mut racers, &kept.problem, from, rounds)
        };
        if problems.is_empty() {
            // The first problem's first round makes room in memory.
            race((1, 0.0));
        }
        let timings = race((most, f64::INFINITY));
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
