//! What is wrong with steps that miss their tolerance, and what would help: found beside the simulation, and shown
//! quietly.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;
use thread_priority::{ThreadPriority, set_current_thread_priority};

use crate::problem::Problem;
use crate::solve::advice::Shortfall;
use crate::step::Simulation;

/// The worst step of so long is the one that is diagnosed.
const WINDOW: Duration = Duration::from_secs(1);
/// A diagnosis stays for so long after the last step that missed its tolerance.
const HOLD: Duration = Duration::from_secs(3);
/// Between two tries of settings passes so long at least, and this many times as long as the last ones took.
const REST: Duration = Duration::from_secs(5);
const REST_SHARE: u32 = 9;
/// Problems are copied for at most this share of the time (-).
const COPY_SHARE: f64 = 0.02;

/// A step that missed its tolerance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Its number.
    pub step: u64,
    /// What is wrong.
    pub wrong: String,
    /// What would help, once that was tried.
    pub help: Option<String>,
}

/// The present diagnosis, for whoever shows it.
pub type Board = Arc<Mutex<Option<Arc<Diagnosis>>>>;

/// What a board says.
pub fn read(board: &Board) -> Option<Arc<Diagnosis>> {
    board.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn write(board: &Board, diagnosis: Option<Diagnosis>) {
    *board.lock().unwrap_or_else(PoisonError::into_inner) = diagnosis.map(Arc::new);
}

/// A solve that missed its tolerance, to be taken again.
struct Case {
    step: u64,
    wrong: String,
    shortfall: Shortfall,
    problem: Problem,
    start: Vec<f64>,
}

/// The physics thread's end of it. Times are those since that thread was started.
#[derive(Default)]
pub struct Adviser {
    board: Board,
    /// The worst step of this window, and when the window began.
    worst: Option<(Case, Duration)>,
    missed: Option<Duration>,
    copy_due: Duration,
    work: Option<JoinHandle<Duration>>,
    rest_until: Duration,
}

impl Adviser {
    /// One that writes there.
    pub fn new(board: Board) -> Self {
        Self {
            board,
            ..Self::default()
        }
    }

    /// Forgets what was, since another simulation, solver or past begins.
    pub fn forget(&mut self) {
        // What is still being tried is of then, and writes where nobody reads.
        self.worst = None;
        self.missed = None;
        self.rest_until = Duration::ZERO;
        write(&self.board, None);
    }

    /// Looks at the step that was taken last. While time stands still nothing is waited for.
    pub fn follow(&mut self, simulation: &mut Simulation, now: Duration, is_still: bool) {
        self.look(simulation, now);
        let is_old = |since: Duration| now.saturating_sub(since) > HOLD;
        if self.missed.is_none_or(is_old) {
            self.worst = None;
            write(&self.board, None);
        }
        if self.work.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(took) = self.work.take().and_then(|work| work.join().ok())
        {
            self.rest_until = now + REST.max(REST_SHARE * took);
        }
        let is_over = |begun: &Duration| is_still || now.saturating_sub(*begun) >= WINDOW;
        let is_free = self.work.is_none() && (is_still || now >= self.rest_until);
        if is_free && self.worst.as_ref().is_some_and(|(_, begun)| is_over(begun)) {
            self.work = self.worst.take().and_then(|(case, _)| self.begin(case));
        }
    }

    /// Keeps the step if it is the worst of its window.
    fn look(&mut self, simulation: &mut Simulation, now: Duration) {
        let step = simulation.report().step;
        let tolerance = simulation.solver_config().budget.tolerance;
        let Some(residual) = simulation.report().residual.map(|r| r.residual) else {
            return;
        };
        let known = self.worst.as_ref().map(|(case, _)| case.shortfall.error);
        if residual <= tolerance || tolerance <= 0.0 {
            return;
        }
        if known.is_some_and(|known| residual <= known) || known.is_some() && now < self.copy_due {
            self.missed = Some(now);
            return;
        }
        let begin = Instant::now();
        let Some(shortfall) = simulation.shortfall() else {
            return;
        };
        self.missed = Some(now);
        let names = |body: u32| simulation.world().bodies.label(body as usize);
        let case = Case {
            step,
            wrong: shortfall.words(&names),
            shortfall,
            problem: simulation.problem().clone(),
            start: simulation.warm_start().to_vec(),
        };
        let since = self.worst.take().map_or(now, |(_, begun)| begun);
        self.worst = Some((case, since));
        self.copy_due = now + begin.elapsed().mul_f64(1.0 / COPY_SHARE - 1.0);
    }

    /// Tells what is wrong, and begins to try what would help. Returns how long that took, once it is done.
    fn begin(&self, case: Case) -> Option<JoinHandle<Duration>> {
        let diagnosis = Diagnosis {
            step: case.step,
            wrong: case.wrong.clone(),
            help: None,
        };
        write(&self.board, Some(diagnosis.clone()));
        let board = self.board.clone();
        let work = move || {
            let begin = Instant::now();
            let help = catch_unwind(AssertUnwindSafe(|| try_settings(&case)));
            // Unless there is another diagnosis by now.
            if read(&board).is_some_and(|now| *now == diagnosis) {
                let help = help.ok();
                write(&board, Some(Diagnosis { help, ..diagnosis }));
            }
            begin.elapsed()
        };
        let thread = std::thread::Builder::new().name("advice".into());
        thread.spawn(work).ok()
    }
}

/// On one thread, after everything that is watched.
fn try_settings(case: &Case) -> String {
    let lower = || {
        // It is a courtesy: where the system refuses, the thread works on all the same.
        let _ = set_current_thread_priority(ThreadPriority::Min);
    };
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.start_handler(move |_| lower()).build();
    let again = || {
        case.shortfall
            .try_settings(&case.problem, &case.start)
            .words()
    };
    match pool {
        Ok(pool) => pool.install(again),
        Err(_) => again(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::library;

    /// The diagnosis once something was tried.
    fn diagnosis(board: &Board) -> Arc<Diagnosis> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(diagnosis) = read(board).filter(|diagnosis| diagnosis.help.is_some()) {
                return diagnosis;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("there is no diagnosis: {:?}", read(board));
    }

    #[test]
    fn a_step_that_misses_its_tolerance_is_told_of_until_that_is_long_ago() {
        let mut scene = library::open("ball_grid_8").expect("a shipped scene");
        let larger = scene.set_all(&[("generators.0.size", "13")]);
        larger.expect("a grid that is beyond the work budget");
        let mut simulation = scene.simulation(1).expect("a simulation");
        simulation.step().expect("a step");
        let board = Board::default();
        let mut adviser = Adviser::new(board.clone());
        adviser.follow(&mut simulation, Duration::ZERO, true);
        let first = diagnosis(&board);
        assert_eq!(first.step, 1);
        assert!(first.wrong.contains("auto swept its island"), "{first:?}");
        let help = first.help.as_deref().unwrap_or_default();
        assert!(help.contains("With work 1000"), "{first:?}");
        // It does not change with every step.
        simulation.step().expect("a step");
        adviser.follow(&mut simulation, WINDOW, false);
        assert_eq!(read(&board), Some(first));
        adviser.forget();
        assert_eq!(read(&board), None);
    }

    #[test]
    fn nothing_is_told_of_steps_that_are_solved() {
        let scene = library::open("box_stack").expect("a shipped scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        let board = Board::default();
        let mut adviser = Adviser::new(board.clone());
        for step in 0..3 {
            simulation.step().expect("a step");
            adviser.follow(&mut simulation, Duration::from_secs(step), true);
            assert_eq!(read(&board), None);
        }
    }
}
