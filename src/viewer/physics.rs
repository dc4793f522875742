//! The physics thread: it owns the simulation, takes commands, and publishes frames.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::frame::{
    BodyNumbers, BodyPose, BodyTable, Counters, DriveView, Exchange, Frame, JointMark,
    JointNumbers, Notice, Severity, StepSample,
};
use crate::math::{Pose, Quat, Twist, Vec3};
use crate::problem::islands::NO_ISLAND;
use crate::solve::bpp::MatrixView;
use crate::solve::{SolverConfig, Status};
use crate::step::{Simulation, Snapshot, joint_geometry};
use crate::world::joint::{Axis, Joint, JointKind, Motion, WORLD};
use crate::world::{Bodies, BodyId, BodyKind, BodySpec, Geometry, Settings, Shape};

/// Makes a simulation on the physics thread, so that a large scene does not hold up the window.
pub type Build = Box<dyn FnOnce() -> Result<Simulation, String> + Send>;

/// What the physics thread can be told.
pub enum Command {
    /// Replace the simulation.
    Load {
        /// Makes the new one.
        build: Build,
        /// Whether it runs at once.
        play: bool,
    },
    /// Let time run.
    Play(bool),
    /// Take some steps, whether time runs or not.
    Step(u32),
    /// Return to the beginning.
    Restart,
    /// Simulated seconds per real second; infinite for as fast as possible.
    Speed(f64),
    /// Change solver, parameters or budget.
    Solver(SolverConfig),
    /// Change the parameters of the time step.
    Settings(Settings),
    /// Change the number of threads; 0 means all.
    Threads(usize),
    /// Take a drive over, or give it back to its script.
    Drive {
        /// Which one.
        index: usize,
        /// Where it should go; none for the script.
        value: Option<f64>,
    },
    /// Pull at a body, or let go.
    Drag(Option<Drag>),
    /// Add a ball.
    Throw {
        /// Where it starts.
        position: Vec3,
        /// How fast.
        velocity: Vec3,
        /// How large \[m\].
        radius: f64,
    },
    /// What to put into the frames.
    Observe(Observe),
}

/// A spring between a point of a body and a point in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// The body.
    pub body: BodyId,
    /// The grabbed point in the frame of its centre of mass.
    pub anchor: Vec3,
    /// Where it is pulled to.
    pub target: Vec3,
}

/// What the frames hold besides poses and counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// The contacts.
    pub contacts: bool,
    /// The joints.
    pub joints: bool,
    /// The solver's matrices.
    pub matrix: bool,
    /// The islands.
    pub islands: bool,
    /// The solver's convergence history.
    pub history: bool,
    /// One body.
    pub body: Option<BodyId>,
}

/// Most contacts that a frame holds; of more, every second, third, … is taken.
const MOST_CONTACTS: usize = 20_000;
/// Frames closer than this to each other are not worth their copying.
const FRAME_INTERVAL: Duration = Duration::from_millis(5);
/// Matrices are copied at most this often, and for at most a tenth of the time.
const MATRIX_INTERVAL: Duration = Duration::from_millis(100);
/// The real-time factor is measured over this time.
const FACTOR_INTERVAL: Duration = Duration::from_millis(400);

/// The window's end of the physics thread.
#[derive(Resource)]
pub struct Physics {
    commands: Sender<Command>,
    exchange: Arc<Exchange>,
    _thread: JoinHandle<()>,
}

impl Physics {
    /// Starts the thread, without a simulation.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let exchange = Arc::new(Exchange::default());
        let worker = Worker {
            inbox,
            exchange: exchange.clone(),
            simulation: None,
            start: None,
            table: Arc::default(),
            table_revision: None,
            matrices: Matrices::default(),
            state: State::default(),
        };
        let thread = std::thread::Builder::new()
            .name("physics".into())
            .spawn(move || worker.run())?;
        Ok(Self {
            commands,
            exchange,
            _thread: thread,
        })
    }

    /// Sends a command.
    pub fn send(&self, command: Command) {
        // The thread ends only after this end is dropped.
        let _ = self.commands.send(command);
    }
}

struct State {
    playing: bool,
    pending_steps: u32,
    speed: f64,
    due: Instant,
    drag: Option<Drag>,
    observe: Observe,
    notice: Option<Notice>,
    epoch: u64,
    load: u64,
    samples: Vec<StepSample>,
    dirty: bool,
    published: Instant,
    factor: f64,
    factor_since: (Instant, f64),
    /// A failing solver stops the simulation once, not on every step that its fallback takes.
    failure_shown: bool,
}

impl Default for State {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            playing: false,
            pending_steps: 0,
            speed: 1.0,
            due: now,
            drag: None,
            observe: Observe::default(),
            notice: None,
            epoch: 0,
            load: 0,
            samples: Vec::new(),
            dirty: false,
            published: now,
            factor: 0.0,
            factor_since: (now, 0.0),
            failure_shown: false,
        }
    }
}

struct Worker {
    inbox: Receiver<Command>,
    exchange: Arc<Exchange>,
    simulation: Option<Simulation>,
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

impl Worker {
    fn run(mut self) {
        while self.obey() {
            if self.step_is_due() {
                self.step();
            }
            let waiting = !self.step_is_due();
            if self.state.dirty && (waiting || self.state.published.elapsed() >= FRAME_INTERVAL) {
                self.publish();
            }
        }
    }

    /// Follows the commands that have come, waiting for one while there is nothing else to do;
    /// false when the window is gone.
    fn obey(&mut self) -> bool {
        let wait = if self.step_is_due() {
            Duration::ZERO
        } else if self.runs() {
            self.state.due.saturating_duration_since(Instant::now())
        } else {
            Duration::from_secs(3600)
        };
        let first = if wait.is_zero() {
            match self.inbox.try_recv() {
                Ok(command) => Some(command),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return false,
            }
        } else {
            match self.inbox.recv_timeout(wait) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        };
        let mut next = first;
        while let Some(command) = next {
            self.follow(command);
            self.state.dirty = true;
            next = self.inbox.try_recv().ok();
        }
        true
    }

    fn runs(&self) -> bool {
        self.simulation.is_some() && self.state.playing
    }

    fn step_is_due(&self) -> bool {
        self.simulation.is_some()
            && (self.state.pending_steps > 0
                || self.state.playing && Instant::now() >= self.state.due)
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
                if let (Some(simulation), Some(start)) = (&mut self.simulation, &self.start) {
                    simulation.restore(start);
                }
                self.begin_epoch();
            }
            Command::Speed(speed) => {
                self.state.speed = if speed > 0.0 { speed } else { 1.0 };
                self.begin_pacing();
            }
            Command::Solver(config) => {
                self.state.failure_shown = false;
                if let Some(Err(error)) = self.simulation.as_mut().map(|s| s.set_solver(config)) {
                    self.warn(error.to_string());
                }
            }
            Command::Settings(settings) => match settings.check() {
                Err(invalid) => self.warn(invalid.to_string()),
                Ok(()) => {
                    if let Some(simulation) = &mut self.simulation {
                        simulation.world_mut().settings = settings;
                    }
                }
            },
            Command::Threads(threads) => {
                if let Some(simulation) = &mut self.simulation {
                    simulation.set_threads(threads);
                }
            }
            Command::Drive { index, value } => {
                if let Some(simulation) = &mut self.simulation {
                    simulation.world_mut().set_drive(index, value);
                }
            }
            Command::Drag(drag) => {
                let finite = |v: &Vec3| v.iter().all(|c| c.is_finite());
                self.state.drag = drag.filter(|d| finite(&d.anchor) && finite(&d.target));
            }
            Command::Throw {
                position,
                velocity,
                radius,
            } => self.throw(position, velocity, radius),
            Command::Observe(observe) => {
                self.state.observe = observe;
                if let Some(simulation) = &mut self.simulation {
                    simulation.set_record_history(observe.history);
                }
            }
        }
    }

    fn load(&mut self, build: Build, play: bool) {
        // A scene that does not load leaves the old one running.
        let built = guarded(build).and_then(|result| result);
        match built {
            Err(error) => {
                self.state.playing = false;
                self.say(Severity::Error, error);
            }
            Ok(mut simulation) => {
                simulation.set_record_history(self.state.observe.history);
                self.start = Some(simulation.snapshot());
                self.simulation = Some(simulation);
                self.table_revision = None;
                self.state.load += 1;
                self.state.playing = play;
                self.begin_epoch();
            }
        }
    }

    fn begin_epoch(&mut self) {
        self.state.epoch += 1;
        self.state.samples.clear();
        self.state.pending_steps = 0;
        self.state.drag = None;
        self.state.notice = None;
        self.state.failure_shown = false;
        self.begin_pacing();
    }

    fn begin_pacing(&mut self) {
        let now = Instant::now();
        self.state.due = now;
        self.state.factor_since = (now, self.time());
        if !self.state.playing {
            self.state.factor = 0.0;
        }
    }

    fn time(&self) -> f64 {
        self.simulation.as_ref().map_or(0.0, |s| s.world().time)
    }

    fn warn(&mut self, text: String) {
        self.say(Severity::Warning, text);
    }

    fn say(&mut self, severity: Severity, text: String) {
        self.state.notice = Some(Notice { severity, text });
    }

    fn throw(&mut self, position: Vec3, velocity: Vec3, radius: f64) {
        let Some(simulation) = &mut self.simulation else {
            return;
        };
        // Heavy enough to be felt, not so heavy that it is all there is.
        let masses = simulation
            .world()
            .bodies
            .inverse_mass
            .iter()
            .filter(|m| **m > 0.0);
        let (sum, count) = masses.fold((0.0, 0.0), |(sum, n), m| (sum + 1.0 / m, n + 1.0));
        let mass = if count > 0.0 { 5.0 * sum / count } else { 1.0 };
        let ball = Shape::new(Geometry::Ball { radius }).map_err(|e| e.to_string());
        let thrown = ball.and_then(|shape| {
            let spec = BodySpec {
                name: "thrown".into(),
                pose: Pose::new(position, Quat::identity()),
                linear_velocity: velocity,
                shape: Some(shape),
                mass: Some(mass),
                color: Some([0.9, 0.9, 0.92]),
                ..BodySpec::default()
            };
            simulation
                .world_mut()
                .add_body(spec)
                .map_err(|e| e.to_string())
        });
        if let Err(error) = thrown {
            self.warn(format!("nothing was thrown: {error}"));
        }
    }

    fn step(&mut self) {
        let Some(mut simulation) = self.simulation.take() else {
            return;
        };
        let single = self.state.pending_steps > 0;
        self.state.pending_steps = self.state.pending_steps.saturating_sub(1);

        let pulled = self
            .state
            .drag
            .and_then(|drag| pull(&mut simulation, &drag));
        let result = guarded(|| simulation.step().map(|_| ()).map_err(|e| e.to_string()));
        if let Some((slot, before)) = pulled {
            simulation.world_mut().bodies.force[slot] = before;
        }
        self.state.dirty = true;
        match result.and_then(|result| result) {
            Ok(()) => self.note(&simulation),
            Err(error) => {
                self.state.playing = false;
                self.state.pending_steps = 0;
                self.say(Severity::Error, error);
            }
        }
        if !single {
            let h = simulation.world().settings.step / self.state.speed;
            self.state.due += Duration::from_secs_f64(h.min(3600.0));
            // Time lost to slow steps is not made up for by a burst of fast ones.
            let now = Instant::now();
            if now > self.state.due + Duration::from_millis(50) {
                self.state.due = now;
            }
        }
        self.simulation = Some(simulation);
        self.measure_factor();
    }

    fn note(&mut self, simulation: &Simulation) {
        let report = simulation.report();
        self.state.samples.push(StepSample {
            time: report.time,
            timings: report.timings,
            iterations: report.solve.iterations,
            residual: report.residual.residual,
            penetration: report.penetration,
            contacts: report.contacts,
            residual_coulomb: report.residual_coulomb.map(|r| r.residual),
            pivoting: report.solve.pivoting,
        });
        if let Status::Failed(reason) = &report.solve.status
            && !self.state.failure_shown
        {
            self.state.failure_shown = true;
            self.state.playing = false;
            let solver = &simulation.solver_config().name;
            let text = format!(
                "step {}: {solver} failed ({reason}). The plain Gauss–Seidel solver took the step \
                 instead; press play to go on like that.",
                report.step
            );
            self.say(Severity::Error, text);
        }
    }

    fn measure_factor(&mut self) {
        let (since, time) = self.state.factor_since;
        let elapsed = since.elapsed();
        if self.state.playing && elapsed >= FACTOR_INTERVAL {
            let now = self.time();
            self.state.factor = (now - time) / elapsed.as_secs_f64();
            self.state.factor_since = (Instant::now(), now);
        }
    }

    fn publish(&mut self) {
        self.state.dirty = false;
        self.state.published = Instant::now();
        let mut frame = self.exchange.blank();
        let state = &mut self.state;
        frame.epoch = state.epoch;
        frame.load = state.load;
        frame.playing = state.playing;
        frame.real_time_factor = if state.playing { state.factor } else { 0.0 };
        frame.notice.clone_from(&state.notice);
        frame.samples.clear();
        frame.samples.append(&mut state.samples);
        if let Some(simulation) = &self.simulation {
            let revision = simulation.world().revision;
            if self.table_revision != Some(revision) {
                self.table = Arc::new(BodyTable::of(&simulation.world().bodies));
                self.table_revision = Some(revision);
            }
            frame.table = self.table.clone();
            fill(&mut frame, simulation, &state.observe);
            frame.matrix = self.matrices.follow(simulation, state);
        }
        self.exchange.publish(frame);
    }
}

/// Runs what may panic, and turns a panic into words.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        format!("internal error: {words}")
    })
}

/// Puts the spring's force on a body; returns the slot and the force to put back after the step.
///
/// The force is the one that would bring the grabbed point, by its own inverse inertia alone, part
/// of the way to the velocity that closes the distance: stable for every mass and step.
fn pull(simulation: &mut Simulation, drag: &Drag) -> Option<(usize, Twist)> {
    /// Share of the distance closed per second \[1/s\].
    const RATE: f64 = 12.0;
    /// Share of the missing velocity made up for per step.
    const SHARE: f64 = 0.35;
    /// Fastest pull \[m/s\].
    const SPEED: f64 = 30.0;
    /// Largest force in terms of the body's mass \[m/s²\].
    const LIMIT: f64 = 300.0;

    let world = simulation.world_mut();
    let h = world.settings.step;
    let bodies = &mut world.bodies;
    let slot = bodies.slot(drag.body)?;
    if !bodies.is_dynamic(slot) {
        return None;
    }
    let rotation = bodies.rotation[slot];
    let arm = rotation * drag.anchor;
    let point = bodies.position[slot] + arm;
    let mut wanted = (drag.target - point) * RATE;
    let speed = wanted.norm();
    if speed > SPEED {
        wanted *= SPEED / speed;
    }
    let inverse_mass = bodies.inverse_mass[slot];
    let inverse_inertia = bodies.inverse_inertia[slot].rotated(&rotation).to_matrix();
    let lever = crate::math::cross_matrix(arm);
    let response = crate::math::Mat3::identity() * inverse_mass - lever * inverse_inertia * lever;
    let missing = wanted - bodies.velocity[slot].at(arm);
    let mut force = response.try_inverse()? * missing * (SHARE / h);
    let size = force.norm();
    let limit = LIMIT / inverse_mass;
    if !size.is_finite() {
        return None;
    }
    if size > limit {
        force *= limit / size;
    }
    let before = bodies.force[slot];
    bodies.force[slot].linear += force;
    bodies.force[slot].angular += arm.cross(&force);
    Some((slot, before))
}

/// Writes the present state of a simulation into a frame.
pub fn fill(frame: &mut Frame, simulation: &Simulation, observe: &Observe) {
    let world = simulation.world();
    let bodies = &world.bodies;
    frame.time = world.time;
    frame.step = world.step_index;
    frame.substep = world.settings.substep();
    frame.poses.clear();
    frame.poses.extend(
        bodies
            .position
            .iter()
            .zip(&bodies.rotation)
            .map(|(x, q)| BodyPose {
                position: [x.x as f32, x.y as f32, x.z as f32],
                rotation: [q.i as f32, q.j as f32, q.k as f32, q.w as f32],
            }),
    );

    let solved = is_solved(simulation);
    frame.islands.clear();
    frame.contacts.clear();
    frame.contact_stride = 1;
    frame.history.clear();
    if solved {
        let report = simulation.report();
        if observe.islands {
            frame
                .islands
                .extend_from_slice(&simulation.problem().islands.of_body);
        }
        if observe.contacts {
            frame.contact_stride = simulation
                .problem()
                .contacts
                .len()
                .div_ceil(MOST_CONTACTS)
                .max(1);
            frame
                .contacts
                .extend(simulation.contacts().step_by(frame.contact_stride));
        }
        if observe.history {
            frame.history.extend_from_slice(&report.solve.history);
        }
    }
    frame.joints.clear();
    let errors = if observe.joints {
        joint_errors(simulation, solved)
    } else {
        Vec::new()
    };
    let marks = world.joints().iter().enumerate();
    let marks = marks.filter_map(|(k, joint)| JointMark::of(joint, errors.get(k).copied()));
    let marks = marks.filter(|mark| observe.joints || mark.is_rope);
    frame.joints.extend(marks);
    frame.drives.clear();
    let drives = world.drives().iter();
    frame
        .drives
        .extend(drives.map(|drive| DriveView::of(drive, world.time)));
    frame.matrix = None;
    frame.counters = counters(simulation, solved);
    frame.selected = observe.body.and_then(|id| numbers(simulation, id, solved));
}

/// Whether the last problem is of the present state; not so before the first step and after a restart.
fn is_solved(simulation: &Simulation) -> bool {
    let step = simulation.world().step_index;
    simulation.report().step == step && step > 0
}

/// The errors of all joints \[m\]; empty where they are not of the present state.
fn joint_errors(simulation: &Simulation, solved: bool) -> Vec<f64> {
    let errors: Vec<f64> = simulation.joints().map(|(_, error)| error).collect();
    if solved && errors.len() == simulation.world().joints().len() {
        errors
    } else {
        Vec::new()
    }
}

fn counters(simulation: &Simulation, solved: bool) -> Counters {
    let world = simulation.world();
    let mut counters = Counters {
        bodies: world.bodies.len(),
        dynamic_bodies: world
            .bodies
            .iter()
            .filter(|b| world.bodies.is_dynamic(*b))
            .count(),
        kinetic_energy: world.bodies.kinetic_energy(),
        potential_energy: world.potential_energy(),
        momentum: world.bodies.momentum(),
        ..Counters::default()
    };
    if solved {
        let report = simulation.report();
        let r = &report.residual;
        counters.contacts = report.contacts;
        counters.dynamic_contacts = report.dynamic_contacts;
        counters.joint_rows = report.rows;
        counters.islands = report.islands;
        counters.penetration = report.penetration;
        counters.joint_error = report.joint_error;
        counters.status = report.solve.status.clone();
        counters.halvings = report.solve.halvings;
        counters.residual = r.residual;
        counters.residual_coulomb = report.residual_coulomb.map(|r| r.residual);
        counters.pivoting = report.solve.pivoting;
        counters.residual_parts = [
            ("root mean square", r.residual_rms, "m/s"),
            ("penetration velocity", r.penetration_velocity, "m/s"),
            ("complementarity", r.complementarity, "J"),
            ("cone", r.cone, "N s"),
            ("sliding direction", r.sliding_direction, "-"),
            ("bilateral", r.bilateral, "m/s"),
        ];
    }
    counters
}

fn numbers(simulation: &Simulation, id: BodyId, solved: bool) -> Option<BodyNumbers> {
    let world = simulation.world();
    let bodies = &world.bodies;
    let slot = bodies.slot(id)?;
    let velocity = bodies.velocity[slot];
    let spin = bodies.rotation[slot].inverse() * velocity.angular;
    let moving = bodies.kind[slot] == BodyKind::Dynamic;
    let mass = 1.0 / bodies.inverse_mass[slot];
    let mut numbers = BodyNumbers {
        id,
        label: bodies.label(slot),
        kind: bodies.kind[slot],
        mass,
        position: bodies.position[slot],
        rotation: bodies.rotation[slot].scaled_axis(),
        velocity,
        kinetic_energy: if moving {
            0.5 * (mass * velocity.linear.norm_squared()
                + spin.dot(&bodies.inertia[slot].mul_vec(spin)))
        } else {
            0.0
        },
        contacts: 0,
        contact_force: Vec3::zeros(),
        largest_normal_force: 0.0,
        island: None,
        joints: joints_of(simulation, slot, solved),
    };
    if solved {
        let h = world.settings.substep();
        for contact in simulation.contacts() {
            let sign = match contact.bodies.map(|b| b as usize == slot) {
                [true, _] => -1.0,
                [_, true] => 1.0,
                _ => continue,
            };
            let impulse = contact.normal * contact.normal_impulse + contact.friction_impulse;
            numbers.contacts += 1;
            numbers.contact_force += impulse * (sign / h);
            numbers.largest_normal_force =
                numbers.largest_normal_force.max(contact.normal_impulse / h);
        }
        let island = simulation.problem().islands.of_body.get(slot).copied();
        numbers.island = island.filter(|i| *i != NO_ISLAND);
    }
    Some(numbers)
}

/// Everything about the joints of a body.
fn joints_of(simulation: &Simulation, slot: usize, solved: bool) -> Vec<JointNumbers> {
    let world = simulation.world();
    let errors = joint_errors(simulation, solved);
    let at_body = |joint: &Joint| joint.bodies.iter().position(|b| *b as usize == slot);
    world
        .joints()
        .iter()
        .enumerate()
        .filter_map(|(k, joint)| {
            let other = joint.bodies[1 - at_body(joint)?];
            Some(JointNumbers {
                label: joint.label(k),
                kind: joint.kind.name(),
                other: match other {
                    WORLD => "the world".into(),
                    slot => world.bodies.label(slot as usize),
                },
                coordinates: coordinates(joint, &world.bodies),
                error: errors.get(k).copied(),
                force: joint.force().norm(),
            })
        })
        .collect()
}

/// The coordinates that a joint leaves free, with their units.
fn coordinates(joint: &Joint, bodies: &Bodies) -> Vec<(&'static str, f64, &'static str)> {
    let names = match joint.kind {
        JointKind::Spherical => ["x", "y", "z", "twist", "swing", ""],
        JointKind::Distance => ["distance", "", "", "", "", ""],
        JointKind::Universal => ["x", "y", "z", "first", "second", ""],
        _ => ["x", "y", "z", "rx", "ry", "rz"],
    };
    let value = joint_geometry(joint, bodies).value;
    // A distance is of interest though it is held.
    let shown = |k: usize| match joint.kind {
        JointKind::Distance => k == 0,
        // A plain ball joint's angles are of no use to anybody, and not worked out.
        JointKind::Spherical if joint.axes[3..] == [Axis::default(); 3] => false,
        _ => joint.axes[k].motion != Motion::Locked && !names[k].is_empty(),
    };
    (0..6)
        .filter(|k| shown(*k))
        .map(|k| {
            if Joint::is_length(k) {
                (names[k], value[k], "m")
            } else {
                (names[k], value[k].to_degrees(), "°")
            }
        })
        .collect()
}

/// The last two frames, and where between them the picture is.
#[derive(Resource, Default)]
pub struct Playback {
    /// The latest frame.
    pub frame: Option<Frame>,
    before: Vec<BodyPose>,
    arrived: Option<Instant>,
    interval: f32,
    /// Whether bodies glide between two frames. It costs one frame of delay.
    pub smooth: bool,
    blend: f32,
}

impl Playback {
    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.frame.is_none()
    }

    /// The pose of a body now, between the last two frames.
    #[inline]
    pub fn pose(&self, slot: usize) -> BodyPose {
        let Some(new) = self.frame.as_ref().and_then(|f| f.poses.get(slot)) else {
            return BodyPose {
                position: [0.0; 3],
                rotation: [0.0, 0.0, 0.0, 1.0],
            };
        };
        match self.before.get(slot) {
            Some(old) if self.blend < 1.0 => mix(old, new, self.blend),
            _ => *new,
        }
    }
}

fn mix(a: &BodyPose, b: &BodyPose, t: f32) -> BodyPose {
    let p = |k: usize| a.position[k] + t * (b.position[k] - a.position[k]);
    let dot: f32 = (0..4).map(|k| a.rotation[k] * b.rotation[k]).sum();
    let s = if dot < 0.0 { -1.0 } else { 1.0 };
    let q: [f32; 4] =
        std::array::from_fn(|k| a.rotation[k] * s + t * (b.rotation[k] - a.rotation[k] * s));
    let scale = q
        .iter()
        .map(|c| c * c)
        .sum::<f32>()
        .sqrt()
        .max(1e-6)
        .recip();
    BodyPose {
        position: [p(0), p(1), p(2)],
        rotation: q.map(|c| c * scale),
    }
}

/// Runs the physics thread and brings its frames into the window.
pub struct PhysicsPlugin;

/// Sent when another scene, or the same one afresh, has begun.
#[derive(Message, Clone, Copy, Debug)]
pub struct Begun {
    /// Whether the bodies are others than before.
    pub loaded: bool,
}

impl Plugin for PhysicsPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(Playback {
            smooth: true,
            ..Playback::default()
        })
        .add_message::<Begun>()
        .add_systems(PreUpdate, receive);
    }
}

fn receive(physics: Res<Physics>, mut playback: ResMut<Playback>, mut begun: MessageWriter<Begun>) {
    let playback = &mut *playback;
    let now = Instant::now();
    let old_epoch = playback
        .frame
        .as_ref()
        .map_or((0, 0, 0), |f| (f.epoch, f.load, f.step));
    if let Some(new) = physics.exchange.take() {
        let (epoch, load, step) = (new.epoch, new.load, new.step);
        let old = playback.frame.replace(new);
        if let Some(mut old) = old {
            if step != old_epoch.2 || epoch != old_epoch.0 {
                std::mem::swap(&mut playback.before, &mut old.poses);
                let gap = playback.arrived.map_or(0.0, |t| (now - t).as_secs_f32());
                // Smoothed, so that one late frame does not make the next ones jump.
                playback.interval = 0.8 * playback.interval + 0.2 * gap.min(0.5);
                playback.arrived = Some(now);
            }
            physics.exchange.recycle(old);
        }
        if epoch != old_epoch.0 {
            playback.before.clear();
            playback.interval = 0.0;
            begun.write(Begun {
                loaded: load != old_epoch.1,
            });
        }
    }
    let since = playback.arrived.map_or(1.0, |t| (now - t).as_secs_f32());
    playback.blend = if playback.smooth && playback.interval > 0.0 {
        (since / playback.interval).min(1.0)
    } else {
        1.0
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    const MACHINE: &str = r#"(
        solver: (name: "bpp"),
        bodies: [
            (name: "post", kind: Fixed, shape: Ball(radius: 0.1)),
            (name: "arm", shape: Ball(radius: 0.1), position: (1, 0, 0)),
            (name: "cog", shape: Ball(radius: 0.1), position: (0, 1, 0)),
        ],
        joints: [
            (name: "pin", kind: Hinge(motor: Velocity(max_force: 50)), bodies: ("post", "arm"), axis: (0, 1, 0)),
            (name: "cog", kind: Hinge(), bodies: ("post", "cog"), axis: (0, 1, 0)),
            (name: "rope", kind: Distance(max: 3), bodies: ("arm", "cog"), at: (1, 0, 0), at_second: (0, 1, 0)),
            (name: "gear", kind: Gear(terms: [(joint: "pin", coefficient: 2), (joint: "cog", coefficient: 1)])),
        ],
        drives: [(name: "turn", unit: "rad/s", motors: [(joint: "pin")], keys: ("A", "D"), script: [(0, 0), (1, 1)])],
    )"#;

    #[test]
    fn frames_hold_joints_drives_and_matrices_where_asked_for() {
        let scene = Scene::parse(MACHINE, "test").expect("a scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        let arm = simulation.world().bodies.id(1);
        let mut frame = Frame::default();
        fill(&mut frame, &simulation, &Observe::default());
        assert_eq!(frame.drives.len(), 1);
        assert_eq!(frame.joints.len(), 1, "a rope is seen always");
        assert!(frame.joints[0].is_rope && frame.joints[0].error.is_none());

        let observe = Observe {
            joints: true,
            body: arm,
            ..Observe::default()
        };
        fill(&mut frame, &simulation, &observe);
        assert_eq!(frame.joints.len(), 3, "nothing is drawn of a gear");
        assert_eq!(frame.joints[0].error, None, "no step, no error");
        let y = frame.joints[0].axes[0].expect("a hinge has an axis");
        assert!((y[1] - 1.0).abs() < 1e-6);

        simulation.world_mut().set_drive(0, Some(0.5));
        simulation.step().expect("a step");
        fill(&mut frame, &simulation, &observe);
        assert!(frame.joints[0].error.is_some());
        let drive = &frame.drives[0];
        assert_eq!((drive.live, drive.value), (Some(0.5), 0.5));
        assert!(drive.scripted && drive.keys == ["A", "D"]);
        let joints = &frame.selected.as_ref().expect("the arm").joints;
        let [pin, _] = joints.as_slice() else {
            panic!("the arm has a pin and a rope, not {joints:?}");
        };
        let [(name, angle, unit)] = pin.coordinates[..] else {
            panic!("a hinge has one coordinate, not {:?}", pin.coordinates);
        };
        assert_eq!((name, unit), ("rx", "°"));
        assert!(angle > 0.0, "{angle} after a step of 0.5 rad/s");

        let mut matrices = Matrices::default();
        let mut state = State::default();
        assert!(matrices.follow(&simulation, &state).is_none());
        state.observe.matrix = true;
        let view = matrices.follow(&simulation, &state).expect("matrices");
        let rows = frame.counters.pivoting.map_or(0, |p| p.largest_island);
        assert_eq!(view.n as u64, rows);
        let again = matrices.follow(&simulation, &state).expect("matrices");
        assert!(Arc::ptr_eq(&view, &again), "nothing has changed");
    }
}
