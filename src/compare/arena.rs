//! A comparison beside a simulation that runs: solvers on threads of their own, which take the latest problem
//! whenever they are through with the one before.
//!
//! Nobody waits for them: a solver that cannot keep up leaves out steps, and its [`Standing`] says which step it
//! is of.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use thread_priority::{ThreadPriority, set_current_thread_priority};

use super::{Answer, Contest, Contestant, Outcome, Rounds, Task, distances};
use crate::math::Twist;
use crate::problem::StoredProblem;
use crate::problem::residual::{JudgedLaw, ResidualWorkspace, of_contacts};
use crate::solve::{ConfigError, SolveReport, SolverConfig, Status};

/// With more contacts than this a problem waits until all are through with the one before: copies of ever more
/// problems would fill the memory. A problem of so many takes about 10 MB.
const LARGE: usize = 20_000;

/// What a solver may take for one problem at most, whatever its budget says (s): one that nobody waits for any more is
/// then through with it, and gives its memory back.
const PATIENCE: f64 = 20.0;

/// The problem of a step, which is given to all solvers.
#[derive(Clone, Debug, Default)]
pub struct Posed {
    /// The run that it belongs to, so that a restart's steps are not taken for those before it.
    pub run: u64,
    /// Its step.
    pub step: u64,
    /// Problem, warm start and the bodies' radii.
    pub stated: StoredProblem,
    /// Where the contacts are, in their order (m).
    pub points: Vec<[f32; 3]>,
    /// What it took to copy all this out of the simulation.
    pub copy_time: Duration,
}

/// What all solvers are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether they begin at Λ = 0 instead of the step's warm start.
    pub cold: bool,
    /// Whether one more solve records the residual after every iteration.
    pub history: bool,
    /// Whether one more solve estimates the error of the velocities.
    pub estimate: bool,
    /// Threads of each.
    pub threads: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            cold: false,
            history: true,
            estimate: false,
            threads: 1,
        }
    }
}

/// What a solver made of the last problem that it is through with.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The solver's parameters.
    pub config: SolverConfig,
    /// What was asked for.
    pub terms: Terms,
    /// The problem.
    pub posed: Arc<Posed>,
    /// What is reported of its solution, without the solution itself and its distance to others'.
    pub outcome: Outcome,
    /// The bodies' velocities after it; empty if the solver failed.
    pub velocity: Vec<Twist>,
    /// The residual of every contact, under the contacts' own laws (m/s); empty if the solver failed.
    pub errors: Vec<f32>,
}

/// Solvers that compete beside a simulation.
#[derive(Default)]
pub struct Arena {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    runners: Vec<Runner>,
    terms: Terms,
    /// Counts the changes, after each of which a problem is worth solving again.
    generation: u64,
    /// Runners that have been started.
    started: u64,
    last: Option<(u64, u64, u64)>,
}

/// A solver on its thread, which ends when this is dropped.
struct Runner {
    /// No other one has ever had it, nor one near to it.
    number: u64,
    label: String,
    config: SolverConfig,
    desk: Arc<Desk>,
}

/// Where problems are put down and solutions are picked up.
#[derive(Default)]
struct Desk {
    papers: Mutex<Papers>,
    change: Condvar,
}

#[derive(Default)]
struct Papers {
    next: Option<(Arc<Posed>, Terms)>,
    busy: bool,
    closed: bool,
    solves: u64,
    latest: Option<Arc<Standing>>,
}

impl Drop for Runner {
    fn drop(&mut self) {
        lock(&self.desk.papers).closed = true;
        self.desk.change.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Standing {
    /// Whether it is of a solver of that name, with such parameters, under such terms.
    pub fn is_of(&self, label: &str, config: &SolverConfig, terms: &Terms) -> bool {
        self.outcome.label == label && self.config == *config && self.terms == *terms
    }
}

impl Arena {
    /// Lets these solvers compete. Those that did so already, with the same parameters, go on.
    ///
    /// # Errors
    /// A solver that is not there or cannot have such parameters, or a thread that cannot be started; then nothing
    /// has changed.
    pub fn enter(&self, contestants: &[(String, SolverConfig)]) -> Result<(), ArenaError> {
        let mut inner = lock(&self.inner);
        let is_same = |runner: &Runner, (label, config): &(String, SolverConfig)| {
            runner.label == *label && runner.config == *config
        };
        let mut fresh = Vec::new();
        for contestant in contestants {
            if !inner
                .runners
                .iter()
                .any(|runner| is_same(runner, contestant))
            {
                inner.started += 1;
                fresh.push(Runner::start(inner.started << 32, contestant)?);
            }
        }
        if fresh.is_empty() && inner.runners.len() == contestants.len() {
            return Ok(());
        }
        let mut old = std::mem::take(&mut inner.runners);
        old.append(&mut fresh);
        for contestant in contestants {
            if let Some(k) = old.iter().position(|runner| is_same(runner, contestant)) {
                inner.runners.push(old.swap_remove(k));
            }
        }
        inner.generation += 1;
        Ok(())
    }

    /// Asks for something else from now on.
    pub fn set_terms(&self, terms: Terms) {
        let mut inner = lock(&self.inner);
        if inner.terms != terms {
            inner.terms = terms;
            inner.generation += 1;
        }
    }

    /// Whether nobody competes.
    pub fn is_empty(&self) -> bool {
        lock(&self.inner).runners.is_empty()
    }

    /// Whether a problem of so many contacts would be taken up: someone is through with the last one; where it is
    /// large, everyone.
    pub fn is_waiting(&self, contacts: usize) -> bool {
        let inner = lock(&self.inner);
        let mut idle = inner.runners.iter().map(|runner| {
            let papers = lock(&runner.desk.papers);
            !papers.busy && papers.next.is_none()
        });
        match contacts > LARGE {
            true => !inner.runners.is_empty() && idle.all(|idle| idle),
            false => idle.any(|idle| idle),
        }
    }

    /// Whether the problem of this step has been given to all those who compete now, under the present terms.
    pub fn has_been_given(&self, run: u64, step: u64) -> bool {
        let inner = lock(&self.inner);
        inner.last == Some((run, step, inner.generation))
    }

    /// Gives everybody a problem; who has not begun with the one before will not.
    pub fn pose(&self, posed: Posed) {
        let mut inner = lock(&self.inner);
        let mark = (posed.run, posed.step, inner.generation);
        let posed = Arc::new(posed);
        for runner in &inner.runners {
            lock(&runner.desk.papers).next = Some((posed.clone(), inner.terms));
            runner.desk.change.notify_all();
        }
        inner.last = Some(mark);
    }

    /// What each has made of the last problem that it is through with, in the order in which they entered.
    pub fn standings(&self) -> Vec<Option<Arc<Standing>>> {
        let inner = lock(&self.inner);
        let latest = |runner: &Runner| lock(&runner.desk.papers).latest.clone();
        inner.runners.iter().map(latest).collect()
    }

    /// What changes whenever a standing does: the number of solves that each has done.
    pub fn progress(&self) -> Vec<u64> {
        let inner = lock(&self.inner);
        let of = |runner: &Runner| runner.number + lock(&runner.desk.papers).solves;
        inner.runners.iter().map(of).collect()
    }
}

/// The outcomes of standings, each with the distance of its velocities from those of the most accurate one on the
/// same problem.
pub fn outcomes(standings: &[Option<Arc<Standing>>]) -> Vec<Option<Outcome>> {
    let copy = |standing: &Option<Arc<Standing>>| Some(standing.as_ref()?.outcome.clone());
    let mut outcomes: Vec<Option<Outcome>> = standings.iter().map(copy).collect();
    for first in standings.iter().flatten() {
        let is_on_it = |s: &Arc<Standing>| Arc::ptr_eq(&s.posed, &first.posed);
        let mut on_it = Vec::new();
        for (k, standing) in standings.iter().enumerate() {
            on_it.extend(standing.as_ref().filter(|s| is_on_it(s)).map(|s| (k, s)));
        }
        let answers = on_it.iter().map(|(_, s)| s.outcome.answer(&s.velocity));
        let answers: Vec<Answer<'_>> = answers.collect();
        let found = distances(&answers, &task(&first.posed, Terms::default()));
        for ((k, _), found) in on_it.iter().zip(found) {
            if let Some(outcome) = &mut outcomes[*k] {
                [outcome.distance, outcome.velocity_error] = found;
            }
        }
    }
    outcomes
}

/// Why a solver cannot compete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// It cannot be made.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It gets no thread.
    #[error("no thread for another solver: {0}")]
    Thread(#[from] std::io::Error),
}

fn task(posed: &Posed, terms: Terms) -> Task<'_> {
    let stated = &posed.stated;
    Task {
        problem: (&stated.problem).into(),
        start: (!terms.cold).then_some(&stated.start),
        reach: &stated.reach,
    }
}

/// A solver whose time for each problem is limited.
fn limited(label: &str, config: &SolverConfig) -> Result<Contestant, ConfigError> {
    let mut config = config.clone();
    let time = &mut config.budget.time;
    *time = match *time > 0.0 {
        true => time.min(PATIENCE),
        false => PATIENCE,
    };
    Contestant::new(label, config)
}

impl Runner {
    fn start(number: u64, (label, config): &(String, SolverConfig)) -> Result<Self, ArenaError> {
        let contestant = limited(label, config)?;
        let desk = Arc::new(Desk::default());
        let bench = desk.clone();
        let thread = std::thread::Builder::new().name(format!("compare {label}"));
        thread.spawn(move || work(contestant, &bench))?;
        Ok(Self {
            number,
            label: label.clone(),
            config: config.clone(),
            desk,
        })
    }
}

/// A solver's life: it waits for a problem, solves it, and puts down what came out.
fn work(contestant: Contestant, desk: &Desk) {
    // Whoever watches and what is simulated come first.
    lower_priority();
    let (label, config) = (contestant.label.clone(), contestant.config.clone());
    let mut contest = Contest::new(vec![contestant]);
    let mut workspace = ResidualWorkspace::default();
    let mut pool = None;
    loop {
        let mut papers = lock(&desk.papers);
        papers.busy = false;
        while papers.next.is_none() && !papers.closed {
            papers = desk
                .change
                .wait(papers)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let next = papers.next.take().filter(|_| !papers.closed);
        let Some((posed, terms)) = next else { return };
        papers.busy = true;
        drop(papers);

        let threads = terms.threads.max(1);
        if pool.as_ref().is_none_or(|(n, _)| *n != threads) {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let made = builder.start_handler(|_| lower_priority()).build();
            // Without a pool of its own it works in everybody's.
            pool = made.ok().map(|pool| (threads, pool));
        }
        let mut solve = || solve(&mut contest, &config, &posed, terms, &mut workspace);
        let solved = catch_unwind(AssertUnwindSafe(|| match &pool {
            Some((_, pool)) => pool.install(solve),
            None => solve(),
        }));
        let standing = solved.unwrap_or_else(|_| {
            // What it has left behind is not to be trusted.
            contest.contestants.clear();
            contest.contestants.extend(limited(&label, &config).ok());
            panicked(&label, &config, posed, terms)
        });
        let mut papers = lock(&desk.papers);
        papers.latest = Some(Arc::new(standing));
        papers.solves += 1;
    }
}

fn lower_priority() {
    // It is a courtesy: where the system refuses, the thread works on all the same.
    let _ = set_current_thread_priority(ThreadPriority::Min);
}

fn solve(
    contest: &mut Contest,
    config: &SolverConfig,
    posed: &Arc<Posed>,
    terms: Terms,
    workspace: &mut ResidualWorkspace,
) -> Standing {
    let rounds = Rounds {
        count: 1,
        history: terms.history,
        estimate: terms.estimate,
    };
    let mut outcome = contest.run(&task(posed, terms), rounds).remove(0);
    let lambda = std::mem::take(&mut outcome.lambda);
    let errors = match outcome.report.status.is_usable() {
        true => of_contacts(&posed.stated.problem, &lambda, JudgedLaw::Own, workspace),
        false => Vec::new(),
    };
    Standing {
        config: config.clone(),
        terms,
        posed: posed.clone(),
        velocity: std::mem::take(&mut outcome.velocity),
        outcome,
        errors,
    }
}

/// What is said of a solver that panicked.
fn panicked(label: &str, config: &SolverConfig, posed: Arc<Posed>, terms: Terms) -> Standing {
    let solver = crate::solve::find(&config.name).map_or("", |info| info.name);
    let report = SolveReport {
        status: Status::Failed("internal error".into()),
        ..SolveReport::default()
    };
    Standing {
        config: config.clone(),
        terms,
        posed,
        outcome: Outcome::without_solution(label, solver, report),
        velocity: Vec::new(),
        errors: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::scene::library;
    use crate::step::Simulation;

    fn simulation(name: &str, steps: usize) -> Simulation {
        let scene = library::shipped(name).expect("a shipped scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        for _ in 0..steps {
            simulation.step().expect("a step");
        }
        simulation
    }

    fn posed(simulation: &Simulation, run: u64) -> Posed {
        Posed {
            run,
            step: simulation.world().step_index,
            stated: StoredProblem {
                problem: simulation.problem().clone(),
                start: simulation.warm_start().to_vec(),
                reach: simulation.world().bodies.reach(),
                ..StoredProblem::default()
            },
            ..Posed::default()
        }
    }

    fn contestant(name: &str, iterations: u32) -> (String, SolverConfig) {
        let mut config = SolverConfig::default();
        config.switch(name);
        config.budget.iterations = iterations;
        (name.to_owned(), config)
    }

    /// Waits until all have solved the problem of a step.
    fn wait(arena: &Arena, step: u64) -> Vec<Arc<Standing>> {
        let begin = Instant::now();
        loop {
            let standings = arena.standings();
            let done = |s: &Option<Arc<Standing>>| s.as_ref().is_some_and(|s| s.posed.step == step);
            if standings.iter().all(done) {
                return standings.into_iter().flatten().collect();
            }
            assert!(begin.elapsed().as_secs() < 60, "nobody solves step {step}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the numbers of solves are so.
    fn wait_for(arena: &Arena, is_so: impl Fn(&[u64]) -> bool) {
        let begin = Instant::now();
        while !is_so(&arena.progress()) {
            assert!(begin.elapsed().as_secs() < 60, "nobody solves it");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What is solved beside the simulation is what `Contest` finds on the same problem, to the last bit.
    #[test]
    fn all_solve_the_very_problem_of_the_step() {
        let simulation = simulation("box_stack", 30);
        let contestants = [
            contestant("nncg", 40),
            contestant("jacobi", 10),
            contestant("bpp", 2000),
        ];
        let arena = Arena::default();
        assert!(arena.is_empty() && !arena.is_waiting(1));
        arena.enter(&contestants).expect("three solvers");
        assert!(arena.is_waiting(1) && !arena.has_been_given(7, 30));
        arena.pose(posed(&simulation, 7));
        assert!(arena.has_been_given(7, 30) && !arena.has_been_given(8, 30));
        let found = wait(&arena, 30);

        let of = |(label, config): &(String, SolverConfig)| {
            Contestant::new(label.as_str(), config.clone()).expect("a solver")
        };
        let mut contest = Contest::new(contestants.iter().map(of).collect());
        let posed = posed(&simulation, 7);
        let rounds = Rounds {
            count: 1,
            history: false,
            estimate: false,
        };
        let expected = contest.run(&task(&posed, Terms::default()), rounds);
        let latest: Vec<_> = found.iter().cloned().map(Some).collect();
        let outcomes = outcomes(&latest);
        for ((standing, outcome), expected) in found.iter().zip(&outcomes).zip(&expected) {
            let outcome = outcome.as_ref().expect("it is solved");
            assert_eq!(outcome.residual, expected.residual, "{}", outcome.label);
            assert_eq!(outcome.distance, expected.distance);
            assert_eq!(outcome.report.iterations, expected.report.iterations);
            assert!(!outcome.report.history.is_empty());
            let worst = standing.errors.iter().copied().fold(0.0, f32::max);
            let own = expected.error as f32;
            assert!(
                worst <= own * 1.000_001,
                "no contact is worse than the worst block"
            );
            assert!(worst > 0.0);
        }
    }

    #[test]
    fn who_stays_goes_on_and_other_terms_ask_for_the_problem_again() {
        let simulation = simulation("box_stack", 40);
        let arena = Arena::default();
        let [first, second] = [contestant("jacobi", 5), contestant("nncg", 5)];
        arena.enter(std::slice::from_ref(&first)).expect("a solver");
        arena.pose(posed(&simulation, 0));
        let before = wait(&arena, 40);
        arena.enter(&[second.clone(), first.clone()]).expect("two");
        assert!(!arena.has_been_given(0, 40), "one has not seen it");
        let standings = arena.standings();
        assert!(standings[0].is_none());
        let kept = standings[1].as_ref().expect("it has not been forgotten");
        assert!(Arc::ptr_eq(kept, &before[0]));
        let progress = arena.progress();
        arena.pose(posed(&simulation, 0));
        wait_for(&arena, |now| {
            now.iter().all(|solves| !progress.contains(solves))
        });
        let progress = arena.progress();
        arena.set_terms(Terms {
            cold: true,
            ..Terms::default()
        });
        assert!(!arena.has_been_given(0, 40));
        arena.pose(posed(&simulation, 0));
        wait_for(&arena, |now| now.iter().zip(&progress).all(|(a, b)| a != b));
        let warm = before[0].outcome.residual.expect("it is usable");
        let cold = arena.standings()[1].clone().expect("it is solved again");
        assert_ne!(cold.outcome.residual, Some(warm));
        let unknown = (
            "x".to_owned(),
            SolverConfig {
                name: "x".into(),
                ..first.1.clone()
            },
        );
        let error = arena
            .enter(&[unknown])
            .expect_err("there is no such solver");
        assert!(error.to_string().contains("there is no solver \"x\""));
        assert_eq!(arena.standings().len(), 2, "nothing has changed");
        arena.enter(&[]).expect("nobody");
        assert!(arena.is_empty());
    }
}
