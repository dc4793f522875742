//! The kept problems of a recording, solved by several factorisations.

use std::time::Instant;

use moreau::measure::Summary;
use moreau::solve::bpp::PivotReport;
use moreau::solve::{Request, Status};

use super::super::Failure;
use super::super::measure::Bench;
use super::super::methods::Method;
use super::record::{BUDGET, Recording};

/// One solve: the medians of its times over the rounds.
pub struct Solve {
    /// Ordering and assembling A (s).
    pub assemble: f64,
    /// All of it (s).
    pub whole: f64,
    pub report: PivotReport,
    pub settled: bool,
}

/// What every method did on every problem.
pub struct Replay {
    pub methods: Vec<Method>,
    /// Which of the kept problems, ascending.
    pub problems: Vec<usize>,
    /// By problem, then by method.
    solves: Vec<Vec<Solve>>,
}

impl Replay {
    /// The solves of a method on problems with a tight row, each with its problem.
    pub fn with_tight_rows(&self, label: &str) -> Vec<(usize, &Solve)> {
        let Some(method) = self.methods.iter().position(|m| m.label == label) else {
            return Vec::new();
        };
        // Whether a row is ever tight is asked of the first method.
        let solves = self.problems.iter().zip(&self.solves);
        solves
            .filter(|(_, of)| of[0].report.most_tight > 0)
            .map(|(problem, of)| (*problem, &of[method]))
            .collect()
    }

    /// The mean over those problems; none where there are none.
    pub fn mean(&self, label: &str, of: impl Fn(&Solve) -> f64) -> Option<f64> {
        let values: Vec<f64> = self
            .with_tight_rows(label)
            .iter()
            .map(|s| of(s.1))
            .collect();
        (!values.is_empty()).then(|| Summary::of(&values).mean)
    }

    /// Solves that did not settle.
    pub fn unsettled(&self, label: &str) -> usize {
        let solves = self.with_tight_rows(label);
        solves.iter().filter(|s| !s.1.settled).count()
    }
}

/// Solves on one thread. A problem's rounds follow each other, with all methods in turn, so that a
/// disturbance hits all of them. When the time is over, the problems so far are spread over the run.
pub fn replay(
    bench: &Bench,
    recording: &Recording,
    methods: Vec<Method>,
    rounds: usize,
    seconds: f64,
) -> Result<Replay, Failure> {
    let mut solvers = Vec::new();
    for method in &methods {
        solvers.push(Bench::build(method, BUDGET)?);
    }
    let request = Request {
        budget: BUDGET,
        history: false,
    };
    let mut velocity = Vec::new();
    let mut lambda = Vec::new();
    let mut done = Vec::new();
    let start = Instant::now();
    for problem in spread(recording.kept.len()) {
        if start.elapsed().as_secs_f64() > seconds && !done.is_empty() {
            break;
        }
        let kept = &recording.kept[problem];
        let mut times = vec![[Vec::new(), Vec::new()]; methods.len()];
        let mut last = Vec::new();
        // The first problem's first round makes room in memory.
        let warm_up = usize::from(done.is_empty());
        for round in 0..rounds + warm_up {
            last.clear();
            for ((method, solver), times) in methods.iter().zip(&mut solvers).zip(&mut times) {
                bench.say(format!("{}: {}", recording.scene, method.label));
                lambda.clone_from(&kept.start);
                let (lambda, velocity) = (&mut lambda, &mut velocity);
                let report = bench
                    .pool(1)
                    .install(|| solver.solve(&kept.problem, &request, lambda, velocity));
                if round >= warm_up {
                    times[0].push(report.prepare_time);
                    times[1].push(report.prepare_time + report.solve_time);
                }
                last.push(report);
            }
        }
        let solves = last.into_iter().zip(times);
        let solves = solves.map(|(report, [assemble, whole])| Solve {
            assemble: Summary::of(&assemble).median,
            whole: Summary::of(&whole).median,
            report: report.pivoting.unwrap_or_default(),
            settled: report.status == Status::Converged,
        });
        done.push((problem, solves.collect::<Vec<Solve>>()));
    }
    done.sort_by_key(|d| d.0);
    let (problems, solves) = done.into_iter().unzip();
    Ok(Replay {
        methods,
        problems,
        solves,
    })
}

/// 0..n, such that every beginning is spread over the whole.
fn spread(n: usize) -> Vec<usize> {
    const STRIDE: usize = 8;
    (0..STRIDE).flat_map(|k| (k..n).step_by(STRIDE)).collect()
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
