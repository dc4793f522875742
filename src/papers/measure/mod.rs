//! How the experiments measure: problems set up once, solvers raced in turns, medians taken.

pub mod bandwidth;
pub mod method;
pub mod race;
pub mod table;

use std::collections::BTreeMap;
use std::time::Instant;

use indicatif::ProgressBar;
use rayon::ThreadPool;

use super::{Error, Findings, Result};
use crate::measure::{Summary, report};
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, Residual, ResidualWorkspace};
use crate::scene::library;
use crate::solve::{Budget, Status};
use crate::step::{Simulation, StepReport};
use method::Method;
use race::{Racer, Timing};
use table::Columns;

/// Last-level caches that an array of the triad is to be as large as, which is what STREAM asks for.
const CACHES: usize = 4;

/// One contact problem, assembled.
pub struct Case {
    /// The problem.
    pub problem: Problem,
    /// Number of bodies, fixed ones included.
    pub bodies: usize,
}

/// The means of measuring.
pub struct Bench {
    /// Whether the run is to be short.
    pub quick: bool,
    /// Numbers of threads to measure with, ascending from 1.
    pub threads: Vec<usize>,
    /// What a suite is restricted to, by the names that it has for its scenes or parts; everything where this is empty.
    pub only: Vec<String>,
    pools: BTreeMap<usize, ThreadPool>,
    /// Triad bandwidth of each number of threads (bytes/s).
    triad: BTreeMap<usize, f64>,
    progress: ProgressBar,
}

impl Bench {
    /// Makes the thread pools; 0 threads means all that there are.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn new(quick: bool, threads: usize) -> Result<Self> {
        let most = match threads {
            0 => std::thread::available_parallelism().map_or(1, Into::into),
            n => n,
        };
        let pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|e| Error::Threads(threads, e))?;
            Ok((threads, pool))
        };
        let threads = thread_counts(most);
        Ok(Self {
            quick,
            pools: threads.iter().copied().map(pool).collect::<Result<_>>()?,
            threads,
            only: Vec::new(),
            triad: BTreeMap::new(),
            progress: report::progress(None, "{spinner} {elapsed} {msg}"),
        })
    }

    /// Refuses what a suite is restricted to where it has nothing of that name.
    ///
    /// # Errors
    /// The first such name, with those that there are.
    pub fn check_only<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut known: Vec<&str> = names.into_iter().collect();
        known.dedup();
        match self.only.iter().find(|o| !known.contains(&o.as_str())) {
            Some(unknown) => Err(Error::NoScene(unknown.clone(), known.join(", "))),
            None => Ok(()),
        }
    }

    /// Whether a scene or part is among those that are asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|o| o == name)
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
        name.map_or(std::env::consts::ARCH, |(_, name)| name.trim())
            .to_owned()
    }

    /// Measures what the memory can do.
    pub fn machine(&mut self, findings: &mut Findings) {
        self.say("triad bandwidth");
        let pools: Vec<&ThreadPool> = self.pools.values().collect();
        let found = bandwidth::triad(&pools, CACHES, self.either(10, 40));
        self.triad = self.pools.keys().copied().zip(found).collect();
        let of = match bandwidth::caveat(CACHES) {
            Some(caveat) => format!(", best of many passes ({caveat})"),
            None => " over arrays that no cache holds, best of many passes".into(),
        };
        let title = format!("Memory: triad a = b + s c{of}");
        findings.table(
            Columns::new("machine", &title, "", &self.threads)
                .key("threads", |n| *n)
                .column("triad [GB/s]", |n| self.triad(*n) / 1e9)
                .column("scaling", |n| self.triad(*n) / self.triad(1)),
        );
    }

    /// Triad bandwidth of so many threads (bytes/s).
    pub fn triad(&self, threads: usize) -> f64 {
        self.triad.get(&threads).copied().unwrap_or(f64::NAN)
    }

    /// The pool of so many threads, which must be among [`Bench::threads`].
    pub fn pool(&self, threads: usize) -> &ThreadPool {
        &self.pools[&threads]
    }

    /// The problem of a scene's first step.
    ///
    /// # Errors
    /// No such scene, or values that do not fit it.
    pub fn case(&self, scene: &str, set: &[(&str, &str)]) -> Result<Case> {
        self.say(format!("setting up {scene}"));
        let mut scene = library::shipped(scene)?;
        scene.set_all(set)?;
        // The solution is of no interest here.
        scene.set("solver.budget.iterations", "1")?;
        let mut simulation = scene.simulation(self.most_threads())?;
        step(&mut simulation, scene.origin())?;
        Ok(Case {
            problem: simulation.problem().clone(),
            bodies: simulation.world().bodies.len(),
        })
    }

    /// Solves from Λ = 0 on all threads.
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn solve(
        &self,
        problem: &Problem,
        method: Method,
        budget: Budget,
        history: bool,
    ) -> Result<Racer> {
        let mut racer = Racer::new(method, self.most_threads(), budget)?;
        racer.solve(self, problem, None, history);
        Ok(racer)
    }

    /// The measures of a solution.
    pub fn residual(&self, problem: &Problem, lambda: &[f64]) -> Residual {
        let mut workspace = ResidualWorkspace::default();
        let pool = self.pool(self.most_threads());
        pool.install(|| residual::evaluate(problem, lambda, JudgedLaw::Own, &mut workspace))
    }

    /// γ after so many iterations from Λ = 0; `None` when the solver fails.
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn gamma(&self, case: &Case, method: Method, iterations: u32) -> Result<Option<f64>> {
        let solved = self.solve(&case.problem, method, fixed(iterations), false)?;
        let failed = matches!(solved.report.status, Status::Failed(_));
        Ok((!failed).then(|| self.residual(&case.problem, &solved.lambda).gamma))
    }

    /// Races methods on one problem from Λ = 0, each on each number of threads for its number of
    /// iterations; see [`race::in_turns`].
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn race(
        &self,
        problem: &Problem,
        methods: &[(Method, u32)],
        threads: &[usize],
        rounds: (usize, f64),
    ) -> Result<Vec<Timing>> {
        let each = methods
            .iter()
            .flat_map(|m| threads.iter().map(move |n| (*m, *n)));
        let racers = each.map(|((method, n), threads)| Racer::new(method, threads, fixed(n)));
        let mut racers = racers.collect::<Result<Vec<Racer>>>()?;
        // The first round makes room in memory.
        race::in_turns(self, &mut racers, problem, None, (1, 0.0));
        Ok(race::in_turns(self, &mut racers, problem, None, rounds))
    }
}

/// Takes a step of a scene.
///
/// # Errors
/// The step was not taken.
pub fn step<'a>(simulation: &'a mut Simulation, scene: &str) -> Result<&'a StepReport> {
    let taken = simulation.step();
    taken.map_err(|e| Error::Step(scene.to_owned(), e))
}

/// A budget of just so many iterations.
pub fn fixed(iterations: u32) -> Budget {
    Budget {
        iterations,
        tolerance: 0.0,
        ..Budget::default()
    }
}

/// Medians of the times of `N` pieces of work (s), each of which says how long it took. They take turns,
/// so that a disturbance hits all: at least so many rounds, and for so many seconds, after one to warm up.
///
/// # Errors
/// Those of the work.
pub fn in_turns<const N: usize>(
    (fewest, seconds): (usize, f64),
    mut work: impl FnMut(usize) -> Result<f64>,
) -> Result<[f64; N]> {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let start = Instant::now();
    while times[0].len() <= fewest || start.elapsed().as_secs_f64() < seconds {
        for (k, times) in times.iter_mut().enumerate() {
            times.push(work(k)?);
        }
    }
    Ok(times.map(|t| Summary::of(&t[1..]).median))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_from_one() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(3), [1, 2, 3]);
        assert_eq!(thread_counts(24), [1, 2, 4, 8, 16, 24]);
    }
}
