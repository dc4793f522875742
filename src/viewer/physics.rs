//! The physics thread: it owns the simulation, takes commands, and publishes frames.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use bevy::prelude::Resource;

use super::frame::{BodyTable, Energy, Exchange, Notice, StepSample};
use super::observe::{Observe, ResidualRate, fill, is_solved};
use super::worlds::{Wanted, Worlds};
use crate::compare::{Arena, Posed};
use crate::math::Vec3;
use crate::problem::StoredProblem;
use crate::session::{Input, Session, step_all};
use crate::solve::{MatrixView, Status};
use crate::step::{ResidualSchedule, Simulation, Snapshot};

/// Makes a simulation on the physics thread, so that a large scene does not hold up the window.
pub type Build = Box<dyn FnOnce() -> Result<Simulation, String> + Send>;

pub enum Command {
    Load {
        build: Build,
        /// Whether time runs then; as before if it is not said.
        play: Option<bool>,
    },
    Play(bool),
    /// Take some steps, whether time runs or not.
    Step(u32),
    Restart,
    /// Simulated seconds per real second; infinite for as fast as possible.
    Speed(f64),
    /// What hands and panels do to the world.
    Act(Input),
    /// Number of threads; 0 means all.
    Threads(usize),
    Observe(Observe),
    /// Other solvers get the problem of every so manieth step from now on.
    Compare {
        every: u64,
    },
    /// These worlds live beside the simulation's own from now on.
    Worlds(Vec<Wanted>),
}

/// Frames closer than this to each other are not worth their copying.
const FRAME_INTERVAL: Duration = Duration::from_millis(5);
/// Matrices are copied at most this often, and for at most a tenth of the time.
const MATRIX_INTERVAL: Duration = Duration::from_millis(100);
/// Problems are copied for other solvers for at most this share of the time that the simulation takes (-).
const COPY_SHARE: f64 = 0.05;
/// The residual is evaluated at most this often where it is not of every step.
const RESIDUAL_INTERVAL: Duration = Duration::from_millis(50);
/// The real-time factor is measured over this time.
const FACTOR_INTERVAL: Duration = Duration::from_millis(400);

/// The window's end of the physics thread.
#[derive(Resource)]
pub struct Physics {
    commands: Sender<Command>,
    exchange: Arc<Exchange>,
    arena: Arc<Arena>,
}

impl Physics {
    /// Starts the thread, without a simulation.
    pub fn start() -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let exchange = Arc::new(Exchange::default());
        let arena = Arc::new(Arena::default());
        let worker = Worker {
            clock: Instant::now(),
            inbox,
            exchange: exchange.clone(),
            challenge: Challenge::new(arena.clone()),
            worlds: Worlds::default(),
            session: None,
            start: None,
            table: Arc::default(),
            table_revision: None,
            matrices: Matrices::default(),
            state: State {
                speed: 1.0,
                ..State::default()
            },
        };
        let thread = std::thread::Builder::new().name("physics".into());
        thread.spawn(move || worker.run())?;
        Ok(Self {
            commands,
            exchange,
            arena,
        })
    }

    /// The other solvers, which get the simulation's problems.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    pub fn frames(&self) -> &Exchange {
        &self.exchange
    }

    pub fn send(&self, command: Command) {
        // The thread ends only after this end is dropped.
        let _ = self.commands.send(command);
    }

    /// Does something between two steps.
    pub fn act(&self, input: Input) {
        self.send(Command::Act(input));
    }
}

/// Times are those since the thread was started.
#[derive(Default)]
struct State {
    playing: bool,
    pending_steps: u32,
    /// Above 0: the default's 0 has to be replaced.
    speed: f64,
    due: Duration,
    observe: Observe,
    residual_due: Duration,
    notice: Option<Notice>,
    epoch: u64,
    load: u64,
    samples: Vec<StepSample>,
    dirty: bool,
    published: Duration,
    factor: f64,
    factor_since: (Duration, f64),
    /// A failing solver stops the simulation once, not on every step that its fallback takes.
    failure_shown: bool,
}

struct Worker {
    clock: Instant,
    inbox: Receiver<Command>,
    exchange: Arc<Exchange>,
    challenge: Challenge,
    worlds: Worlds,
    session: Option<Session>,
    start: Option<Snapshot>,
    table: Arc<BodyTable>,
    table_revision: Option<u64>,
    matrices: Matrices,
    state: State,
}

/// The solver's matrices as they were a moment ago: copying them takes longer than many a step.
#[derive(Default)]
struct Matrices {
    view: Option<Arc<MatrixView>>,
    /// Epoch and step that they are of.
    of: Option<(u64, u64)>,
    due: Option<Instant>,
}

impl Matrices {
    /// The matrices of a simulation; those of now if it stands still, else the last ones for a while.
    fn follow(&mut self, simulation: &Simulation, state: &State) -> Option<Arc<MatrixView>> {
        let step = simulation.world().step_index;
        if !state.observe.matrix || !is_solved(simulation) {
            *self = Self::default();
            return None;
        }
        let still = !state.playing && state.pending_steps == 0;
        let now = Instant::now();
        let same_run = self.of.is_some_and(|of| of.0 == state.epoch);
        if self.of != Some((state.epoch, step))
            && (still || !same_run || self.due.is_none_or(|due| now >= due))
        {
            self.view = simulation.matrix_view().map(Arc::new);
            self.of = Some((state.epoch, step));
            self.due = Some(Instant::now() + MATRIX_INTERVAL.max(9 * now.elapsed()));
        }
        self.view.clone()
    }
}

/// Gives the steps' problems to other solvers.
struct Challenge {
    arena: Arc<Arena>,
    every: u64,
    due: Instant,
}

impl Challenge {
    fn new(arena: Arc<Arena>) -> Self {
        Self {
            arena,
            every: 1,
            due: Instant::now(),
        }
    }

    /// Poses the present step's problem if somebody waits for one; while time stands still, in any case.
    fn follow(&mut self, simulation: &Simulation, state: &State) {
        let (run, step) = (state.epoch, simulation.world().step_index);
        let arena = &*self.arena;
        if arena.is_empty() || !is_solved(simulation) || arena.has_been_given(run, step) {
            return;
        }
        let begin = Instant::now();
        let still = !state.playing && state.pending_steps == 0;
        let is_wanted = || step.is_multiple_of(self.every) && begin >= self.due;
        if !still && !(is_wanted() && arena.is_waiting(simulation.problem().contacts.len())) {
            return;
        }
        let point = |point: Vec3| [point.x as f32, point.y as f32, point.z as f32];
        let mut posed = Posed {
            run,
            step,
            stated: StoredProblem {
                origin: String::new(),
                problem: simulation.problem().clone(),
                start: simulation.warm_start().to_vec(),
                reach: simulation.world().bodies.reach(),
            },
            points: simulation.contacts().map(|c| point(c.point)).collect(),
            copy_time: Duration::ZERO,
        };
        posed.copy_time = begin.elapsed();
        self.due = Instant::now() + posed.copy_time.mul_f64(1.0 / COPY_SHARE - 1.0);
        arena.pose(posed);
    }
}

impl Worker {
    fn run(mut self) {
        while self.obey() {
            if self.step_is_due() {
                self.step();
            }
            if let Some(session) = &self.session {
                self.challenge.follow(session.simulation(), &self.state);
            }
            let waiting = !self.step_is_due();
            let age = self.now() - self.state.published;
            if self.state.dirty && (waiting || age >= FRAME_INTERVAL) {
                self.publish();
            }
        }
    }

    /// Follows the commands that have come, waiting for one while there is nothing else to do;
    /// false when the window is gone.
    fn obey(&mut self) -> bool {
        let wait = if self.step_is_due() {
            Duration::ZERO
        } else if self.session.is_some() && self.state.playing {
            self.state.due.saturating_sub(self.now())
        } else {
            Duration::from_secs(3600)
        };
        let mut next = match self.inbox.recv_timeout(wait) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        while let Some(command) = next {
            self.follow(command);
            self.state.dirty = true;
            next = self.inbox.try_recv().ok();
        }
        true
    }

    fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    fn step_is_due(&self) -> bool {
        self.session.is_some()
            && (self.state.pending_steps > 0 || self.state.playing && self.now() >= self.state.due)
    }

    fn follow(&mut self, command: Command) {
        match command {
            Command::Load { build, play } => self.load(build, play),
            Command::Play(play) => {
                self.state.playing = play;
                self.begin_pacing();
            }
            Command::Step(n) => self.state.pending_steps += n,
            Command::Restart => {
                if let (Some(session), Some(start)) = (&mut self.session, &self.start) {
                    session.restore(start);
                }
                self.begin_epoch();
            }
            Command::Speed(speed) => {
                self.state.speed = if speed > 0.0 { speed } else { 1.0 };
                self.begin_pacing();
            }
            Command::Act(input) => self.act(input),
            Command::Threads(threads) => {
                if let Some(session) = &mut self.session {
                    session.simulation_mut().set_threads(threads);
                }
            }
            Command::Observe(observe) => self.state.observe = observe,
            Command::Worlds(wanted) => self.with_worlds(|worlds, now| worlds.want(wanted, now)),
            Command::Compare { every } => self.challenge.every = every.max(1),
        }
    }

    fn load(&mut self, build: Build, play: Option<bool>) {
        // A scene that does not load leaves the old one running.
        match guarded(build) {
            Err(error) => self.stop(error),
            Ok(simulation) => {
                self.start = Some(simulation.snapshot());
                self.session = Some(Session::new(simulation));
                self.table_revision = None;
                self.state.load += 1;
                self.state.playing = play.unwrap_or(self.state.playing);
                self.begin_epoch();
            }
        }
    }

    fn with_worlds(&mut self, act: impl FnOnce(&mut Worlds, &Simulation) -> Result<(), String>) {
        if let Some(session) = &self.session
            && let Err(text) = act(&mut self.worlds, session.simulation())
        {
            self.state.notice = Some(Notice {
                is_error: true,
                text,
            });
        }
    }

    fn begin_epoch(&mut self) {
        self.state.epoch += 1;
        self.state.samples.clear();
        self.state.pending_steps = 0;
        self.state.notice = None;
        self.state.failure_shown = false;
        self.begin_pacing();
        self.with_worlds(Worlds::begin);
    }

    fn begin_pacing(&mut self) {
        let now = self.now();
        self.state.due = now;
        self.state.factor_since = (now, self.time());
        if !self.state.playing {
            self.state.factor = 0.0;
        }
    }

    fn time(&self) -> f64 {
        self.session
            .as_ref()
            .map_or(0.0, |s| s.simulation().world().time)
    }

    fn stop(&mut self, text: String) {
        self.state.playing = false;
        self.state.pending_steps = 0;
        self.state.notice = Some(Notice {
            is_error: true,
            text,
        });
    }

    fn act(&mut self, input: Input) {
        let Some(session) = &mut self.session else {
            return;
        };
        let is_solver = matches!(input, Input::Solver(_));
        let done = guarded(|| session.apply(input.clone()).map_err(|e| e.to_string()));
        if done.is_ok() {
            self.worlds.apply(&input);
        }
        if is_solver && done.is_ok() {
            self.state.failure_shown = false;
        }
        if let Err(text) = done {
            self.state.notice = Some(Notice {
                is_error: false,
                text,
            });
        }
    }

    fn step(&mut self) {
        let Some(mut session) = self.session.take() else {
            return;
        };
        let single = self.state.pending_steps > 0;
        self.state.pending_steps = self.state.pending_steps.saturating_sub(1);

        let due = match self.state.observe.residual {
            ResidualRate::EveryStep => true,
            ResidualRate::Sometimes => single || self.now() >= self.state.residual_due,
            ResidualRate::Never => false,
        };
        if due {
            self.state.residual_due = self.now() + RESIDUAL_INTERVAL;
        }
        let simulation = session.simulation_mut();
        let schedule = if due {
            ResidualSchedule::Every
        } else {
            ResidualSchedule::Never
        };
        simulation.set_residuals(schedule);
        self.worlds.set_residuals(schedule);
        simulation.set_record_history(self.state.observe.history);
        let result = guarded(|| {
            let stepped = step_all(&mut session, &mut self.worlds.rivals);
            stepped.map_err(|e| e.to_string())
        });
        self.state.dirty = true;
        match result {
            Ok(()) => self.note(session.simulation()),
            Err(error) => self.stop(error),
        }
        if !single {
            let h = session.simulation().world().settings.step / self.state.speed;
            self.state.due += Duration::from_secs_f64(h.min(3600.0));
            // Time lost to slow steps is not made up for by a burst of fast ones.
            let now = self.now();
            if now > self.state.due + Duration::from_millis(50) {
                self.state.due = now;
            }
        }
        self.session = Some(session);
        self.measure_factor();
    }

    fn note(&mut self, simulation: &Simulation) {
        let report = simulation.report();
        self.state.samples.push(StepSample {
            report: report.clone(),
            energy: Energy::of(simulation.world()),
            rivals: self.worlds.samples(simulation.world()),
        });
        if let Status::Failed(reason) = &report.solve.status
            && !self.state.failure_shown
        {
            self.state.failure_shown = true;
            let solver = &simulation.solver_config().name;
            let text = format!(
                "step {}: {solver} failed ({reason}). The plain Gauss–Seidel solver took the step \
                 instead; press play to go on like that.",
                report.step
            );
            self.stop(text);
        }
    }

    fn measure_factor(&mut self) {
        let (since, time) = self.state.factor_since;
        let elapsed = self.now() - since;
        if self.state.playing && elapsed >= FACTOR_INTERVAL {
            let now = self.time();
            self.state.factor = (now - time) / elapsed.as_secs_f64();
            self.state.factor_since = (self.now(), now);
        }
    }

    fn publish(&mut self) {
        self.state.dirty = false;
        self.state.published = self.now();
        let mut frame = self.exchange.blank();
        let state = &mut self.state;
        frame.epoch = state.epoch;
        frame.load = state.load;
        frame.playing = state.playing;
        frame.real_time_factor = if state.playing { state.factor } else { 0.0 };
        frame.notice.clone_from(&state.notice);
        frame.samples.clear();
        frame.samples.append(&mut state.samples);
        if let Some(session) = &self.session {
            let simulation = session.simulation();
            let revision = simulation.world().revision;
            if self.table_revision != Some(revision) {
                self.table = Arc::new(BodyTable::of(&simulation.world().bodies));
                self.table_revision = Some(revision);
            }
            frame.table = self.table.clone();
            fill(&mut frame, simulation, &state.observe);
            self.worlds.fill(&mut frame);
            frame.matrix = self.matrices.follow(simulation, state);
        }
        self.exchange.publish(frame);
    }
}

/// Runs what may panic, and turns a panic into words.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(format!("internal error: {words}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::library;

    #[test]
    fn matrices_are_copied_once_while_time_stands_still() {
        let scene = library::open("crane").expect("a shipped scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        simulation.step().expect("a step");
        let (mut matrices, mut state) = (Matrices::default(), State::default());
        assert!(matrices.follow(&simulation, &state).is_none());
        state.observe.matrix = true;
        let view = matrices.follow(&simulation, &state).expect("matrices");
        let rows = simulation
            .report()
            .solve
            .statistic("rows of the largest island");
        assert_eq!(Some(view.n as f64), rows);
        let again = matrices.follow(&simulation, &state).expect("matrices");
        assert!(Arc::ptr_eq(&view, &again), "nothing has changed");
    }
}
