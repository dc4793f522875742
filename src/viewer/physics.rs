//! The physics thread: it owns the simulation, takes commands, and publishes frames.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bevy::prelude::Resource;
use thread_priority::{ThreadPriority, set_current_thread_priority};

use super::adviser::{self, Adviser, Board, Diagnosis};
use super::frame::{BodyTable, Exchange, Notice, StepSample};
use super::keep::{self, Charge, Keep, News};
use super::observe::{Observe, ResidualRate, fill, is_solved};
use super::verdicts::{Judged, Verdicts};
use super::worlds::{Wanted, Worlds};
use crate::compare::{Arena, Posed};
use crate::math::Vec3;
use crate::problem::StoredProblem;
use crate::session::{Input, Recording, Session, Spacing, approach, step_all};
use crate::solve::{MatrixView, SolverConfig, Status};
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
    /// Whoever watches comes first from now on.
    StandBack,
    Observe(Observe),
    /// Other solvers get the problem of every so manieth step from now on.
    Compare {
        every: u64,
    },
    /// These worlds live beside the simulation's own from now on.
    Worlds(Vec<Wanted>),
    /// The past, and files.
    Keep(Keep),
}

/// Frames closer than this to each other are not worth their copying.
const FRAME_INTERVAL: Duration = Duration::from_millis(5);
/// Matrices are copied at most this often, and for at most a tenth of the time.
const MATRIX_INTERVAL: Duration = Duration::from_millis(100);
/// Problems are copied for other solvers for at most this share of the time that the simulation takes (-).
const COPY_SHARE: f64 = 0.02;
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
    advice: Board,
    ended: Ended,
}

/// Tells when the physics thread has ended, which it does once the window is gone and what it recorded is saved.
#[derive(Clone)]
pub struct Ended(Arc<Mutex<Receiver<News>>>);

/// A program that is closed must end, whatever step is being taken.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl Ended {
    /// Waits for it, and says what was saved meanwhile.
    pub fn wait(&self) {
        let begin = Instant::now();
        while let Ok(news) = self.0.lock()
            && let Ok(news) = news.recv_timeout(LONGEST_WAIT.saturating_sub(begin.elapsed()))
        {
            let (Ok(text) | Err(text)) = news;
            eprintln!("moreau: {text}");
        }
    }
}

impl Physics {
    /// Starts the thread, without a simulation. Past states may take so many bytes, and those of worlds beside it as many
    /// again.
    pub fn start(past: usize) -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let exchange = Arc::new(Exchange::default());
        let arena = Arc::new(Arena::default());
        let advice = Board::default();
        let (last_news, heard) = channel();
        let worker = Worker {
            clock: Instant::now(),
            inbox,
            exchange: exchange.clone(),
            challenge: Challenge::new(arena.clone()),
            adviser: Adviser::new(advice.clone()),
            worlds: Worlds::new(past),
            past,
            verdicts: Verdicts::default(),
            session: None,
            start: None,
            solver: Arc::default(),
            table: Arc::default(),
            table_revision: None,
            matrices: Matrices::default(),
            state: State {
                speed: 1.0,
                ..State::default()
            },
        };
        let thread = std::thread::Builder::new().name("physics".into());
        thread.spawn(move || {
            // Nobody hears of it where the window was not waited for.
            worker
                .run()
                .into_iter()
                .for_each(|news| _ = last_news.send(news));
        })?;
        Ok(Self {
            commands,
            exchange,
            arena,
            advice,
            ended: Ended(Arc::new(Mutex::new(heard))),
        })
    }

    /// Tells when the thread has ended.
    pub fn ended(&self) -> Ended {
        self.ended.clone()
    }

    /// The other solvers, which get the simulation's problems.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// What is wrong with the simulation's steps and what would help, if they miss their tolerance.
    pub fn advice(&self) -> Option<Arc<Diagnosis>> {
        adviser::read(&self.advice)
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
    /// Scenes that were to be built, whether they could be or not.
    builds: u64,
    samples: Vec<StepSample>,
    dirty: bool,
    published: Duration,
    factor: f64,
    factor_since: (Duration, f64),
    /// A failing solver stops the simulation once, not on every step that its fallback takes.
    failure_shown: bool,
    /// The step that somebody wishes to go to.
    wish: Option<u64>,
    /// The step that is on the way to be returned to; nothing in between is shown.
    goal: Option<u64>,
    /// Where the recording goes when it ends.
    recording_path: PathBuf,
    /// The state that was saved last.
    saved: Option<PathBuf>,
    news: Vec<News>,
    charge: Arc<Charge>,
    /// Whether a recording or a state is open, and not a scene.
    has_no_scene: bool,
}

struct Worker {
    clock: Instant,
    inbox: Receiver<Command>,
    exchange: Arc<Exchange>,
    challenge: Challenge,
    adviser: Adviser,
    worlds: Worlds,
    /// What past states may take (bytes).
    past: usize,
    verdicts: Verdicts,
    session: Option<Session>,
    start: Option<Snapshot>,
    /// What took the last step.
    solver: Arc<SolverConfig>,
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
            self.view = simulation.view().matrix().map(Arc::new);
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
        let is_due = || step.is_multiple_of(self.every) && begin >= self.due;
        let is_wanted = || is_due() && arena.is_waiting(simulation.problem().contacts.len());
        if !(still || is_wanted()) {
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
    /// Works until the window is gone; returns what was saved then.
    fn run(mut self) -> Vec<News> {
        while self.obey() {
            if let Some(step) = self.state.wish.take() {
                self.seek(step);
            }
            if self.step_is_due() {
                self.step();
            }
            if let Some(session) = &self.session {
                self.challenge.follow(session.simulation(), &self.state);
            }
            let waiting = !self.step_is_due();
            let age = self.now() - self.state.published;
            let there = self.state.goal.is_none();
            if self.state.dirty && there && (waiting || age >= FRAME_INTERVAL) {
                self.publish();
            }
        }
        self.state.news.clear();
        self.stop_recording();
        self.state.news
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

    /// Arrives where somebody wishes to go before anything is done there.
    fn arrive(&mut self) {
        if let Some(step) = self.state.wish.take() {
            self.seek(step);
        }
        while self.state.goal.is_some() && self.session.is_some() {
            self.step();
        }
    }

    fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    fn step_is_due(&self) -> bool {
        let state = &self.state;
        let is_asked = state.pending_steps > 0 || state.goal.is_some();
        self.session.is_some() && (is_asked || state.playing && self.now() >= state.due)
    }

    fn follow(&mut self, command: Command) {
        match command {
            Command::Load { build, play } => self.load(build, play),
            Command::Play(play) => {
                self.state.playing = play;
                self.begin_pacing();
            }
            Command::Step(n) => {
                self.arrive();
                self.state.pending_steps += n;
            }
            Command::Restart => self.restart(),
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
            // A courtesy, which some systems refuse. Threads that are started later inherit it.
            Command::StandBack => _ = set_current_thread_priority(low_priority()),
            Command::Observe(observe) => self.state.observe = observe,
            Command::Worlds(wanted) => self.with_worlds(|worlds, now| worlds.want(wanted, now)),
            Command::Compare { every } => self.challenge.every = every.max(1),
            Command::Keep(keep) => self.keep(keep),
        }
    }

    fn load(&mut self, build: Build, play: Option<bool>) {
        self.state.builds += 1;
        // A scene that does not load leaves the old one running.
        match guarded(build) {
            Err(error) => self.stop(error),
            Ok(simulation) => {
                self.begin(Session::new(simulation), play);
                self.state.has_no_scene = false;
                self.take_charge(false);
                give_memory_back();
            }
        }
    }

    fn with_worlds(&mut self, act: impl FnOnce(&mut Worlds, &Session) -> Result<(), String>) {
        if let Some(session) = &self.session
            && let Err(text) = act(&mut self.worlds, session)
        {
            self.state.notice = Some(Notice {
                is_error: true,
                text,
            });
        }
        let numbers: Vec<u64> = self.worlds.views().map(|view| view.world).collect();
        self.verdicts.keep(|world| numbers.contains(&world));
    }

    /// Takes a session over in place of the one that there is.
    fn begin(&mut self, mut session: Session, play: Option<bool>) {
        self.stop_recording();
        session.keep(self.past, Spacing::Measured);
        session.watch_falls();
        self.start = Some(session.simulation().snapshot());
        self.session = Some(session);
        self.table_revision = None;
        self.state.load += 1;
        self.state.playing = play.unwrap_or(self.state.playing);
        self.begin_epoch();
    }

    fn restart(&mut self) {
        self.stop_recording();
        let replayed = self.session.as_ref().and_then(Session::replayed);
        if let Some(replayed) = replayed {
            self.state.wish = Some(replayed.steps[0]);
            return;
        }
        if let (Some(session), Some(start)) = (&mut self.session, &self.start) {
            session.restore(start);
        }
        self.begin_epoch();
    }

    fn keep(&mut self, keep: Keep) {
        match keep {
            Keep::StepBack(n) => {
                let here = self.state.wish.or(self.state.goal);
                let here = here.unwrap_or_else(|| self.step_index());
                self.wish(here.saturating_sub(n));
            }
            Keep::ScrubTo(step) => self.wish(step),
            Keep::Open { path, threads } => self.open(PathBuf::as_path(&path), threads),
            Keep::OpenSaved { threads } => match self.state.saved.clone() {
                Some(path) => self.open(&path, threads),
                None => {
                    let text = "no state has been saved yet; F6 saves one";
                    self.state.news.push(Err(text.into()));
                }
            },
            Keep::StopRecording => self.stop_recording(),
            other => {
                self.arrive();
                self.save(other);
            }
        }
    }

    /// Saves, or begins what will be saved.
    fn save(&mut self, keep: Keep) {
        let Some(session) = &mut self.session else {
            return self.state.news.push(Err("there is no scene yet".into()));
        };
        let news = match keep {
            Keep::Record { origin, path } => match session.record(origin) {
                Ok(()) => {
                    self.state.recording_path = path;
                    return;
                }
                Err(error) => Err(error.to_string()),
            },
            Keep::SaveState(path) => {
                let saved = guarded(|| keep::save_state(session.simulation(), &path));
                if saved.is_ok() {
                    self.state.saved = Some(path);
                }
                saved
            }
            Keep::SaveScene { .. } if self.state.has_no_scene => Err(
                "this came from a file that holds a state, and not a scene: save the state".into(),
            ),
            Keep::SaveScene { scene, path } => guarded(|| keep::save_scene(*scene, session, &path)),
            _ => return,
        };
        self.state.news.push(news);
    }

    /// Ends the recording, and saves it.
    fn stop_recording(&mut self) {
        let session = self.session.as_mut();
        if let Some(recording) = session.and_then(Session::stop_recording) {
            let path = &self.state.recording_path;
            self.state.news.push(keep::save_recording(&recording, path));
        }
    }

    /// Opens a recording or a state; what cannot be opened leaves everything as it is.
    fn open(&mut self, path: &std::path::Path, threads: usize) {
        let session = self.session.as_ref();
        let solver = session.map(|s| s.simulation().solver_config().clone());
        match guarded(|| keep::open(path, threads, solver)) {
            Err(error) => self.state.news.push(Err(error)),
            Ok(session) => {
                let is_replay = session.replayed().is_some();
                self.begin(session, is_replay.then_some(true));
                self.state.has_no_scene = true;
                self.take_charge(true);
                let what = if is_replay { "replaying" } else { "loaded" };
                let path = keep::full(path);
                self.state.news.push(Ok(format!("{what} {path}")));
            }
        }
    }

    /// Wishes to go to a step, and to stay there.
    fn wish(&mut self, step: u64) {
        self.state.wish = Some(step);
        self.state.playing = false;
        self.state.pending_steps = 0;
    }

    /// Begins to go to a step, in place of where it was going.
    fn seek(&mut self, step: u64) {
        let Some(session) = &mut self.session else {
            return;
        };
        match session.seek(step) {
            Err(error) => self.state.news.push(Err(error.to_string())),
            Ok(goal) => {
                let here = session.simulation().world().step_index;
                let is_replay = session.replayed().is_some();
                let are_on_the_way = self.worlds.seek(goal, is_replay);
                self.state.goal = (here < goal || are_on_the_way).then_some(goal);
                if self.state.goal.is_none() {
                    self.with_worlds(Worlds::arrive);
                }
                // A step of the same number may have been another one.
                self.matrices = Matrices::default();
                self.take_charge(true);
            }
        }
        self.state.dirty = true;
        self.begin_pacing();
    }

    /// Notes what is in charge; the window takes it over where it was brought back.
    fn take_charge(&mut self, is_brought: bool) {
        if let Some(session) = &self.session {
            let (simulation, charge) = (session.simulation(), &self.state.charge);
            if !charge.fits(simulation) {
                let number = charge.number + u64::from(is_brought);
                self.state.charge = Arc::new(Charge::of(simulation, number));
            }
        }
    }

    fn step_index(&self) -> u64 {
        let session = self.session.as_ref();
        session.map_or(0, |s| s.simulation().world().step_index)
    }

    fn begin_epoch(&mut self) {
        self.state.epoch += 1;
        self.adviser.forget();
        self.verdicts = Verdicts::default();
        self.state.samples.clear();
        self.state.pending_steps = 0;
        (self.state.wish, self.state.goal) = (None, None);
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
        self.state.goal = None;
        self.state.notice = Some(Notice {
            is_error: true,
            text,
        });
    }

    fn act(&mut self, input: Input) {
        self.arrive();
        let Some(session) = &mut self.session else {
            return;
        };
        let is_solver = matches!(input, Input::Solver(_));
        let is_edit = matches!(input, Input::Edit(_));
        let was_replay = session.replayed().is_some();
        let done = guarded(|| session.apply(input.clone()).map_err(|e| e.to_string()));
        if done.is_ok() && !was_replay {
            self.worlds.apply(&input);
            // What was held in the past has been let go of there too.
            if session.drag().is_none() {
                self.worlds.apply(&Input::Drag(None));
            }
        }
        if is_solver && done.is_ok() {
            self.adviser.forget();
            self.state.failure_shown = false;
        }
        match done {
            Err(text) => self.state.news.push(Err(text)),
            Ok(()) => {
                let simulation = session.simulation();
                let step = simulation.world().step_index;
                self.verdicts.forget_after(step);
                let begins = self.start.as_ref().map(|s| s.world().step_index);
                if is_edit && begins == Some(step) {
                    // The beginning, which restarting returns to, is another one now.
                    self.start = Some(simulation.snapshot());
                }
            }
        }
        if was_replay {
            // They stood still in the meantime.
            self.with_worlds(Worlds::begin);
        }
        self.take_charge(false);
    }

    fn step(&mut self) {
        let Some(mut session) = self.session.take() else {
            return;
        };
        let goal = self.state.goal;
        let single = self.state.pending_steps > 0 || goal.is_some();
        if goal.is_none() {
            self.state.pending_steps = self.state.pending_steps.saturating_sub(1);
        }

        let due = match self.state.observe.residual {
            ResidualRate::EveryStep => true,
            ResidualRate::Sometimes => single || self.now() >= self.state.residual_due,
            ResidualRate::Never => false,
        };
        if due {
            self.state.residual_due = self.now() + RESIDUAL_INTERVAL;
        }
        // On the way nobody looks.
        let schedule = |simulation: &Simulation| {
            let next = simulation.world().step_index + 1;
            match due && goal.is_none_or(|goal| next >= goal) {
                true => ResidualSchedule::Every,
                false => ResidualSchedule::Never,
            }
        };
        self.worlds.set_residuals(schedule);
        let simulation = session.simulation_mut();
        simulation.set_residuals(schedule(simulation));
        simulation.set_record_history(self.state.observe.history);
        simulation.set_energy(self.state.observe.energy);
        // Worlds side by side are there to be timed.
        simulation.set_sleeping(self.worlds.parallel_worlds.is_empty());
        let before = session.replayed();
        let result = guarded(|| {
            let taken = match goal {
                Some(goal) => approach(&mut session, &mut self.worlds.travellers(), goal),
                // What a recording does is not done to other worlds.
                None if before.is_some() => step_all(&mut session, &mut []).map(|()| true),
                None => step_all(&mut session, &mut self.worlds.parallel_worlds).map(|()| true),
            };
            taken.map_err(|e| e.to_string())
        });
        self.state.dirty = true;
        let has_arrived = result.as_ref().is_ok_and(|arrived| *arrived);
        if has_arrived {
            self.note(&mut session);
        }
        let arrives = goal.is_some() && result != Ok(false);
        if arrives {
            self.state.goal = None;
        }
        if let Err(error) = result {
            self.stop(error);
        }
        let after = session.replayed();
        self.state.news.extend(keep::news_of(before, after));
        if before != after && after.is_some_and(|r| r.compared == r.steps[1]) {
            self.state.playing = false;
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
        let is_full = session.recording().is_some_and(Recording::is_full);
        self.session = Some(session);
        if is_full {
            self.stop_recording();
        }
        if arrives {
            self.with_worlds(Worlds::arrive);
        }
        self.take_charge(true);
        self.measure_factor();
    }

    /// Judges all worlds by a step.
    fn judge(&mut self, sample: &StepSample) {
        let at = (sample.report.step, sample.report.time);
        let own = Judged {
            world: None,
            name: &sample.solver.name,
            series: None,
            has_stopped: false,
            sample: Some(sample.own()),
        };
        self.verdicts.note(at, &own);
        for view in self.worlds.views() {
            let mut samples = sample.parallel_worlds.iter();
            let judged = Judged {
                world: Some(view.world),
                name: &view.label,
                series: Some(view.series),
                has_stopped: view.error.is_some(),
                sample: samples.find(|s| s.world == view.world).copied(),
            };
            self.verdicts.note(at, &judged);
        }
    }

    fn note(&mut self, session: &mut Session) {
        let simulation = session.simulation();
        let report = simulation.report();
        if *self.solver != *simulation.solver_config() {
            self.solver = Arc::new(simulation.solver_config().clone());
        }
        let sample = StepSample {
            report: report.clone(),
            energy: simulation.world().energy(),
            fallen: session.fallen(),
            solver: self.solver.clone(),
            parallel_worlds: self.worlds.samples(simulation.world()),
        };
        self.judge(&sample);
        self.state.samples.push(sample);
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
        let is_still = !self.state.playing && self.state.pending_steps == 0;
        let now = self.now();
        self.adviser.follow(session.simulation_mut(), now, is_still);
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
        frame.builds = state.builds;
        frame.playing = state.playing;
        frame.real_time_factor = if state.playing { state.factor } else { 0.0 };
        frame.notice.clone_from(&state.notice);
        frame.samples.clear();
        frame.samples.append(&mut state.samples);
        frame.news = std::mem::take(&mut state.news);
        frame.charge = state.charge.clone();
        if let Some(session) = &self.session {
            let simulation = session.simulation();
            frame.kept = session.kept();
            frame.drag_force = session.drag_force().norm();
            frame.marks.clone_from(&self.verdicts.marks);
            frame.recording = session.recording().map(Recording::len);
            frame.replayed = session.replayed();
            let revision = simulation.world().revision;
            if self.table_revision != Some(revision) {
                let table = BodyTable::of(&simulation.world().bodies);
                // Going back is a revision too, mostly of the same bodies; tables are dear to draw anew.
                if self.table_revision.is_none() || !table.is_like(&self.table) {
                    self.table = Arc::new(table);
                }
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

/// Gives the memory of what there was before a scene back to the system: glibc's allocator keeps for good what lies between
/// small pieces that are still in use, a gigabyte and more after large scenes.
fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "there is no safe way to ask for it")]
    // SAFETY: it has no preconditions, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Below the window's, above that of solvers that are compared.
fn low_priority() -> ThreadPriority {
    let share = 25u8.try_into();
    share.map_or(ThreadPriority::Min, ThreadPriority::Crossplatform)
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
    use crate::session::DEFAULT_LIMIT;
    use crate::viewer::frame::Frame;
    use crate::world::{Edit, Geometry};

    /// The first frame for which `is_it` holds, and what was said until then.
    fn wait(physics: &Physics, is_it: impl Fn(&Frame, &[News]) -> bool) -> (Frame, Vec<News>) {
        let mut news = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(mut frame) = physics.frames().take() {
                news.append(&mut frame.news);
                if is_it(&frame, &news) {
                    return (frame, news);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("it never came; what was said: {news:?}");
    }

    fn load(physics: &Physics, name: &'static str) {
        let build = || {
            let scene = library::shipped(name).map_err(|e| e.to_string())?;
            scene.simulation(1).map_err(|e| e.to_string())
        };
        physics.send(Command::Load {
            build: Box::new(build),
            play: Some(false),
        });
    }

    #[test]
    fn somebody_goes_back_and_does_something_else() {
        let physics = Physics::start(DEFAULT_LIMIT).expect("a thread");
        load(&physics, "rolling_ball");
        physics.send(Command::Step(40));
        let (frame, _) = wait(&physics, |f, _| f.step == 40);
        assert_eq!(frame.kept.steps, Some([0, 40]));
        let at_40 = frame.poses;
        // Of many wishes the last one counts; steps back count from it.
        for step in [3, 30, 12, 17] {
            physics.send(Command::Keep(Keep::ScrubTo(step)));
        }
        physics.send(Command::Keep(Keep::StepBack(2)));
        let (frame, _) = wait(&physics, |f, _| f.step == 15);
        assert_eq!((frame.kept.steps, frame.playing), (Some([0, 40]), false));
        assert_ne!(frame.poses, at_40);
        let last = frame.samples.last().map(|s| s.report.step);
        assert_eq!(last, Some(15), "plots end where the picture is");
        physics.send(Command::Step(25));
        let (frame, _) = wait(&physics, |f, _| f.step == 40);
        assert_eq!(frame.poses, at_40, "the same again");

        physics.send(Command::Keep(Keep::ScrubTo(20)));
        physics.act(Input::Solver(SolverConfig {
            name: "nncg".into(),
            ..SolverConfig::default()
        }));
        physics.send(Command::Step(1));
        let (frame, _) = wait(&physics, |f, _| f.step == 21);
        assert_eq!(frame.kept.steps, Some([0, 21]), "the future is gone");
        let told = frame.charge.number;
        physics.send(Command::Keep(Keep::StepBack(5)));
        let (frame, _) = wait(&physics, |f, _| f.step == 16);
        assert_ne!(frame.charge.solver.name, "nncg", "the solver of then");
        assert_eq!(frame.charge.number, told + 1, "the window is told");
    }

    #[test]
    fn recordings_states_and_scenes_go_through_files() {
        let folder = std::env::temp_dir().join(format!("moreau-keep-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = |name: &str| folder.join(name);
        let physics = Physics::start(DEFAULT_LIMIT).expect("a thread");
        let keep = |keep| physics.send(Command::Keep(keep));
        let open = |name: &str| {
            let (path, threads) = (path(name), 1);
            keep(Keep::Open { path, threads });
        };
        let scene = library::shipped("crane").expect("a shipped scene");
        load(&physics, "crane");
        let ball = Geometry::Ball { radius: 0.3 };
        physics.act(Input::Edit(Edit::Add {
            shape: ball,
            position: crate::math::Vec3::new(0.0, 9.0, 0.0),
        }));
        let file = path("crane.ron");
        let (boxed, bodies) = (
            Box::new(scene.clone()),
            scene.build().expect("a world").bodies.len(),
        );
        keep(Keep::SaveScene {
            scene: boxed,
            path: file.clone(),
        });
        keep(Keep::Record {
            origin: "crane".into(),
            path: path("a.rec"),
        });
        physics.send(Command::Step(12));
        let (_, news) = wait(&physics, |f, _| f.step == 12 && f.recording == Some(12));
        let says = |news: &[News], words: &str| {
            let found = news
                .iter()
                .any(|n| n.as_ref().is_ok_and(|text| text.contains(words)));
            assert!(found, "{words}: {news:?}");
        };
        says(&news, "crane.ron");
        let saved = crate::scene::Scene::load(&file).expect("what was saved");
        assert_eq!(saved.build().expect("a world").bodies.len(), bodies + 1);
        keep(Keep::StopRecording);
        keep(Keep::SaveState(path("a.snap")));
        let (before, news) = wait(&physics, |_, news| news.len() == 2);
        says(&news, "a.rec");
        says(&news, "a.snap");

        // A damaged file leaves everything as it is.
        let mut bytes = std::fs::read(path("a.rec")).expect("the recording");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path("bad.rec"), bytes).expect("a file");
        open("bad.rec");
        let (frame, news) = wait(&physics, |_, news| !news.is_empty());
        let words = news[0].as_ref().expect_err("it is damaged");
        assert!(
            words.contains("bad.rec") && words.contains("the checksum differs"),
            "{words}"
        );
        assert_eq!((frame.load, frame.step), (before.load, 12));

        open("a.rec");
        let done = |f: &Frame, news: &[News]| f.replayed.is_some() && news.len() == 2;
        let (frame, news) = wait(&physics, done);
        says(
            &news,
            "replayed 12 steps: the same as recorded, bit for bit",
        );
        assert_eq!(
            (frame.step, frame.playing, frame.poses),
            (12, false, before.poses.clone())
        );
        physics.send(Command::Restart);
        physics.send(Command::Play(true));
        wait(&physics, |f, _| f.step > 12);
        physics.send(Command::Play(false));

        open("a.snap");
        let (frame, _) = wait(&physics, |f, _| f.load == before.load + 2);
        assert_eq!((frame.step, &frame.poses), (12, &before.poses));
        // What could not be saved is not what was saved last.
        keep(Keep::SaveState(path("no folder/b.snap")));
        keep(Keep::OpenSaved { threads: 1 });
        let (frame, news) = wait(&physics, |f, _| f.load == before.load + 3);
        assert!(news[0].is_err(), "{news:?}");
        says(&news, "a.snap");
        assert_eq!((frame.step, frame.poses), (12, before.poses));
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

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
