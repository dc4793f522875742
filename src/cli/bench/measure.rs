//! How the suites measure: problems set up once, solvers raced in turns, medians taken.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use moreau::math::Twist;
use moreau::measure::Summary;
use moreau::measure::bandwidth::{self, Effort};
use moreau::measure::table::{Layout, Table};
use moreau::problem::Problem;
use moreau::problem::residual::{self, Residual, ResidualWorkspace, Under};
use moreau::scene::library;
use moreau::solve::{Budget, Request, SolveReport, Solver, Status};
use rayon::ThreadPool;

use super::methods::Method;
use super::{Failure, Findings};

/// One contact problem, assembled; solved from Λ = 0.
pub struct Case {
    pub problem: Problem,
    pub bodies: usize,
}

/// One solve and its result.
pub struct Solved {
    pub report: SolveReport,
    pub lambda: Vec<f64>,
}

/// A solver to race: on how many threads, for how many iterations.
#[derive(Clone, Debug)]
pub struct Job {
    pub method: Method,
    pub threads: usize,
    pub iterations: u32,
}

/// What a race found for one job.
#[derive(Clone, Debug)]
pub struct Timing {
    pub job: Job,
    /// Iterations done; fewer than asked for only after a failure.
    pub iterations: u32,
    /// Median time before the first iteration (s).
    pub prepare: f64,
    /// Median time of all iterations (s).
    pub solve: f64,
    /// Standard deviation of the latter (s), Poulsen 3.33.
    pub sigma: f64,
    /// Bytes that one iteration reads and writes; `None` where the solver does not count them.
    pub bytes: Option<[f64; 2]>,
    pub colors: Vec<u32>,
    /// Why it failed, or empty.
    pub failure: String,
}

impl Timing {
    /// Median time of one iteration (s).
    pub fn per_iteration(&self) -> f64 {
        self.solve / f64::from(self.iterations.max(1))
    }
}

/// The means of measuring.
pub struct Bench {
    pub quick: bool,
    /// Numbers of threads to measure with, ascending from 1.
    pub threads: Vec<usize>,
    pools: BTreeMap<usize, ThreadPool>,
    /// Triad bandwidth of each number of threads (bytes/s).
    triad: BTreeMap<usize, f64>,
    progress: ProgressBar,
    missing: BTreeSet<String>,
    workspace: ResidualWorkspace,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
}

impl Bench {
    /// Makes the thread pools; 0 threads means all that there are.
    pub fn new(quick: bool, threads: usize) -> Result<Self, Failure> {
        let most = match threads {
            0 => std::thread::available_parallelism().map_or(1, Into::into),
            n => n,
        };
        let threads = thread_counts(most);
        let mut pools = BTreeMap::new();
        for &n in &threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
            pools.insert(
                n,
                pool.map_err(|e| Failure::Work(format!("{n} threads cannot be started: {e}")))?,
            );
        }
        Ok(Self {
            quick,
            threads,
            pools,
            triad: BTreeMap::new(),
            progress: progress(),
            missing: BTreeSet::new(),
            workspace: ResidualWorkspace::default(),
            lambda: Vec::new(),
            velocity: Vec::new(),
        })
    }

    /// The largest number of threads.
    pub fn most_threads(&self) -> usize {
        self.threads.last().copied().unwrap_or(1)
    }

    /// One of two values: for a quick run, and for a full one.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Tells a user on a terminal what is going on.
    pub fn say(&self, what: impl Into<String>) {
        self.progress.set_message(what.into());
        self.progress.tick();
    }

    /// Takes the progress line away.
    pub fn finish(&self) {
        self.progress.finish_and_clear();
    }

    /// The processor's name, as far as the system tells.
    pub fn processor(&self) -> String {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with("model name"));
        let name = line.and_then(|l| l.split_once(':'));
        name.map_or_else(
            || std::env::consts::ARCH.to_owned(),
            |(_, name)| name.trim().to_owned(),
        )
    }

    /// Measures what the memory can do.
    pub fn machine(&mut self, findings: &mut Findings) {
        self.say("triad bandwidth");
        let effort = Effort {
            caches: 4,
            passes: self.either(10, 40),
        };
        let pools: Vec<&ThreadPool> = self.pools.values().collect();
        let found = bandwidth::triad(&pools, effort);
        self.triad = self.pools.keys().copied().zip(found).collect();
        let quantities = [("triad", "GB/s"), ("scaling", "-")];
        let mut table = Table::new("machine", Layout::Columns, &["threads"], &quantities).titled(
            "Memory: triad a = b + s c over arrays that no cache holds, best of many passes",
            "",
        );
        for (threads, found) in &self.triad {
            table.row(
                [threads.to_string()],
                [(found / 1e9).into(), (found / self.triad[&1]).into()],
                "",
            );
        }
        findings.table(table);
    }

    /// Triad bandwidth of so many threads (bytes/s).
    pub fn triad(&self, threads: usize) -> f64 {
        self.triad.get(&threads).copied().unwrap_or(f64::NAN)
    }

    /// The pool of so many threads, which must be among [`Bench::threads`].
    pub fn pool(&self, threads: usize) -> &ThreadPool {
        &self.pools[&threads]
    }

    /// Those of the methods that this build has; the others are noted as missing.
    pub fn offer(&mut self, methods: impl IntoIterator<Item = Method>) -> Vec<Method> {
        let mut present = Vec::new();
        for method in methods {
            match method.config(Budget::default()) {
                Ok(_) => present.push(method),
                Err(lacking) => {
                    self.missing.insert(lacking);
                }
            }
        }
        present
    }

    /// Notes something that this build lacks.
    pub fn lack(&mut self, what: String) {
        self.missing.insert(what);
    }

    /// What was asked for and this build lacks.
    pub fn missing_names(&self) -> Vec<&str> {
        self.missing.iter().map(String::as_str).collect()
    }

    /// The same as a line for people, if there is anything.
    pub fn missing(&self) -> Option<String> {
        (!self.missing.is_empty()).then(|| {
            format!(
                "not in this build, and so left out: {}",
                self.missing_names().join(", ")
            )
        })
    }

    /// The problem of a scene's first step.
    pub fn case(&self, scene: &str, set: &[(&str, &str)]) -> Result<Case, Failure> {
        self.say(format!("setting up {scene}"));
        let mut scene = library::shipped(scene)?;
        scene.set_all(set)?;
        // The solution is of no interest here.
        scene.set("solver.budget.iterations", "1")?;
        let mut simulation = scene.simulation(self.most_threads())?;
        let step = simulation.step().map(|_| ());
        step.map_err(|e| Failure::Work(format!("{}: {e}", scene.origin())))?;
        Ok(Case {
            problem: simulation.problem().clone(),
            bodies: simulation.world().bodies.len(),
        })
    }

    /// Makes the solver of a method that [`Bench::offer`] let through.
    pub fn build(method: &Method, budget: Budget) -> Result<Box<dyn Solver>, Failure> {
        let config = method.config(budget);
        let config = config.map_err(|lacking| Failure::Work(format!("{lacking} is missing")))?;
        Ok(config.build()?)
    }

    /// Solves from Λ = 0 on all threads.
    pub fn solve(
        &mut self,
        problem: &Problem,
        method: &Method,
        budget: Budget,
        history: bool,
    ) -> Result<Solved, Failure> {
        let mut solver = Self::build(method, budget)?;
        let mut lambda = vec![0.0; problem.row_count()];
        let request = Request { budget, history };
        let pool = &self.pools[&self.most_threads()];
        let report =
            pool.install(|| solver.solve(problem, &request, &mut lambda, &mut self.velocity));
        Ok(Solved { report, lambda })
    }

    /// The measures of a solution.
    pub fn residual(&mut self, problem: &Problem, lambda: &[f64]) -> Residual {
        let pool = &self.pools[&self.most_threads()];
        pool.install(|| residual::evaluate(problem, lambda, Under::OwnLaw, &mut self.workspace))
    }

    /// γ after so many iterations from Λ = 0; `None` when the solver fails.
    pub fn gamma(
        &mut self,
        case: &Case,
        method: &Method,
        iterations: u32,
    ) -> Result<Option<f64>, Failure> {
        let solved = self.solve(&case.problem, method, fixed(iterations), false)?;
        if let Status::Failed(_) = solved.report.status {
            return Ok(None);
        }
        Ok(Some(self.residual(&case.problem, &solved.lambda).gamma))
    }

    /// The least number of iterations after which γ is no larger than `target`: the thesis's "equal
    /// quality". Found by bisection, for γ falls almost always; `None` above `most` iterations.
    pub fn iterations_to(
        &mut self,
        case: &Case,
        method: &Method,
        target: f64,
        most: u32,
    ) -> Result<Option<u32>, Failure> {
        let (mut low, mut high) = (0, 32.min(most));
        let reached = |gamma: Option<f64>| gamma.is_some_and(|g| g <= target);
        while !reached(self.gamma(case, method, high)?) {
            if high == most {
                return Ok(None);
            }
            low = high;
            high = (2 * high).min(most);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if reached(self.gamma(case, method, middle)?) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Some(high))
    }

    /// Races jobs on one problem: every round runs each of them once, so that a disturbance hits
    /// all. A round to warm up is not counted, and no round begins after `seconds`, but one is
    /// always measured.
    pub fn race(
        &mut self,
        problem: &Problem,
        jobs: &[Job],
        rounds: usize,
        seconds: f64,
    ) -> Result<Vec<Timing>, Failure> {
        struct Runner {
            solver: Box<dyn Solver>,
            prepare: Vec<f64>,
            solve: Vec<f64>,
            last: SolveReport,
        }
        let mut runners = Vec::new();
        for job in jobs {
            runners.push(Runner {
                solver: Self::build(&job.method, fixed(job.iterations))?,
                prepare: Vec::new(),
                solve: Vec::new(),
                last: SolveReport::default(),
            });
        }
        let start = Instant::now();
        for round in 0..=rounds {
            if round > 1 && start.elapsed().as_secs_f64() > seconds {
                break;
            }
            for (job, runner) in jobs.iter().zip(&mut runners) {
                let what = format!("{} on {} threads", job.method.label, job.threads);
                self.progress.set_message(what);
                let request = Request {
                    budget: fixed(job.iterations),
                    history: false,
                };
                self.lambda.clear();
                self.lambda.resize(problem.row_count(), 0.0);
                let (lambda, velocity) = (&mut self.lambda, &mut self.velocity);
                let pool = &self.pools[&job.threads];
                let report =
                    pool.install(|| runner.solver.solve(problem, &request, lambda, velocity));
                if round > 0 {
                    runner.prepare.push(report.prepare_time);
                    runner.solve.push(report.solve_time);
                }
                runner.last = report;
            }
        }
        Ok(jobs
            .iter()
            .zip(runners)
            .map(|(job, runner)| Timing {
                job: job.clone(),
                iterations: runner.last.iterations,
                prepare: Summary::of(&runner.prepare).median,
                solve: Summary::of(&runner.solve).median,
                sigma: deviation(&runner.solve),
                bytes: bytes(&runner.last),
                colors: runner.last.colors,
                failure: match runner.last.status {
                    Status::Failed(reason) => reason,
                    _ => String::new(),
                },
            })
            .collect())
    }
}

fn bytes(report: &SolveReport) -> Option<[f64; 2]> {
    let bytes = [report.bytes_read, report.bytes_written];
    (bytes[0] > 0).then(|| bytes.map(|b| b as f64))
}

/// A budget of just so many iterations.
pub fn fixed(iterations: u32) -> Budget {
    Budget {
        iterations,
        tolerance: 0.0,
        ..Budget::default()
    }
}

/// 1, 2, 3, … for few threads; powers of two and all of them for many.
fn thread_counts(most: usize) -> Vec<usize> {
    if most <= 8 {
        return (1..=most).collect();
    }
    let powers = std::iter::successors(Some(1), |n| Some(2 * n));
    let mut counts: Vec<usize> = powers.take_while(|n| *n < most).collect();
    counts.push(most);
    counts
}

/// Poulsen 3.33.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / n).sqrt()
}

/// Shown on a terminal only.
fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_from_one() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(3), [1, 2, 3]);
        assert_eq!(thread_counts(24), [1, 2, 4, 8, 16, 24]);
    }

    #[test]
    fn the_deviation_is_that_of_the_thesis() {
        assert_eq!(deviation(&[1.0, 3.0]), 1.0);
        assert_eq!(deviation(&[]), 0.0);
    }
}
