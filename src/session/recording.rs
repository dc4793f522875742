//! Recordings: a state, what was done to it, and the hash of the state after every step.

use std::error::Error;

use serde::{Deserialize, Serialize};

use super::{Drag, Input, InputError, Session};
use crate::check::{demand, finite};
use crate::file::{FileError, FileKind};
use crate::solve::{ConfigError, SolverConfig};
use crate::step::{Simulation, Snapshot, StepError, StepReport};
use crate::world::World;

/// A recording as a file.
const KIND: FileKind = FileKind {
    name: "recording",
    magic: b"MOREAURC",
    version: 2,
};

/// A solver's configuration; its values are of several kinds, which only text can tell apart.
#[derive(Serialize, Deserialize)]
struct Solver(#[serde(with = "super::input::as_text")] SolverConfig);

/// A run that can be taken again, bit for bit.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What it is of, for people.
    pub origin: String,
    /// The solver at the start.
    pub solver: SolverConfig,
    pub(super) start: Snapshot,
    /// What was held at the start.
    pub(super) held: Option<Drag>,
    pub(super) steps: Vec<RecordedStep>,
    /// Number of their inputs.
    inputs: usize,
}

/// A step of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedStep {
    /// What was done before it, in this order.
    pub inputs: Vec<Input>,
    /// The state's hash after it.
    pub hash: u64,
}

/// Refuses what would make a recording depend on the speed of the machine.
pub(super) fn check(input: &Input) -> Result<(), InputError> {
    match input {
        Input::Solver(config) => check_solver(config),
        _ => Ok(()),
    }
}

fn check_solver(config: &SolverConfig) -> Result<(), InputError> {
    if let Some(why) = config.timing() {
        return Err(InputError::new("this cannot be recorded", why));
    }
    Ok(())
}

/// Whether an input can have been recorded: what cannot be done is not. A drag or a drive to what is no number can,
/// since it is ignored.
fn check_recorded(input: &Input) -> Result<(), Box<dyn Error>> {
    match input {
        Input::Solver(config) => {
            config.check()?;
            check_solver(config)?;
        }
        Input::Settings(settings) => settings.check()?,
        Input::Throw(throw) => {
            finite("start", throw.start.iter())?;
            finite("velocity", throw.velocity.iter())?;
            let is_radius = throw.radius > 0.0 && throw.radius.is_finite();
            demand(is_radius, "radius", "above 0 and finite", throw.radius)?;
        }
        // The world checks an edit when it is made, and a body may be gone by then.
        Input::Edit(_) | Input::Drag(_) | Input::Drive { .. } => {}
    }
    Ok(())
}

impl Recording {
    /// A recording that begins with the present state; `origin` says of what.
    ///
    /// # Errors
    /// A solver whose result depends on the speed of the machine.
    pub fn new(origin: String, simulation: &Simulation) -> Result<Self, InputError> {
        let solver = simulation.solver_config().clone();
        check_solver(&solver)?;
        Ok(Self {
            origin,
            solver,
            start: simulation.snapshot(),
            held: None,
            steps: Vec::new(),
            inputs: 0,
        })
    }

    /// The memory that the steps of one take at most (bytes); what comes later is not recorded.
    pub const MOST_BYTES: u64 = 640 << 20;
    /// The most steps that one has where nothing is done before them: 93 hours of 60 a second.
    pub const MOST_STEPS: u64 = Self::MOST_BYTES / size_of::<RecordedStep>() as u64;

    /// Whether it takes no more steps.
    pub fn is_full(&self) -> bool {
        self.bytes() >= Self::MOST_BYTES
    }

    /// Memory of its steps (bytes).
    fn bytes(&self) -> u64 {
        (self.steps.len() * size_of::<RecordedStep>() + self.inputs * size_of::<Input>()) as u64
    }

    /// The number of the step after which it begins.
    pub(super) fn first_step(&self) -> u64 {
        self.start.world().step_index
    }

    /// The number of the step to be added next.
    pub(super) fn next_step(&self) -> u64 {
        self.first_step() + self.steps.len() as u64 + 1
    }

    /// Takes back what came after a step.
    pub(super) fn cut(&mut self, step: u64) {
        let kept = step.saturating_sub(self.first_step());
        self.steps
            .truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        self.inputs = self.steps.iter().map(|step| step.inputs.len()).sum();
    }

    /// Adds a step that was taken, with what was done before it, unless [`Recording::is_full`].
    pub fn add(&mut self, inputs: Vec<Input>, simulation: &Simulation) {
        if self.is_full() {
            return;
        }
        self.inputs += inputs.len();
        self.steps.push(RecordedStep {
            inputs,
            hash: simulation.world().state_hash(),
        });
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Writes it as bytes: magic, version, length, checksum, data.
    pub fn to_bytes(&self) -> Vec<u8> {
        let start = self.start.to_bytes();
        let solver = Solver(self.solver.clone());
        KIND.write(&(&self.origin, solver, start, self.held, &self.steps))
    }

    /// Reads what [`Recording::to_bytes`] wrote.
    ///
    /// # Errors
    /// Bytes of another kind or version, or damaged ones; a solver that is not there, or an input that cannot be.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        type Data = (String, Solver, Vec<u8>, Option<Drag>, Vec<RecordedStep>);
        let (origin, Solver(solver), start, held, steps): Data = KIND.read(bytes)?;
        solver.check().map_err(|e| KIND.damaged(e))?;
        check_solver(&solver).map_err(|e| KIND.damaged(e))?;
        for (k, step) in steps.iter().enumerate() {
            let wrong = |e| KIND.damaged(format!("before its step {}: {e}", k + 1));
            step.inputs
                .iter()
                .try_for_each(check_recorded)
                .map_err(wrong)?;
        }
        Ok(Self {
            origin,
            solver,
            start: Snapshot::from_bytes(&start)?,
            held: held.filter(Drag::is_finite),
            inputs: steps.iter().map(|step| step.inputs.len()).sum(),
            steps,
        })
    }
}

/// Where a replay leaves its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("diverged at step {step}: the state's hash is {found:016x}, recorded was {recorded:016x}")]
pub struct Divergence {
    /// The world's number of the first step that differs.
    pub step: u64,
    /// The hash that was recorded.
    pub recorded: u64,
    /// The hash that was found.
    pub found: u64,
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The world's numbers of the steps where the recording begins and ends.
    pub steps: [u64; 2],
    /// The last step that was compared.
    pub compared: u64,
    /// Where it first left the recording, if it did.
    pub divergence: Option<Divergence>,
}

/// A recording while it is replayed.
pub(super) struct Tape {
    steps: Vec<RecordedStep>,
    replayed: Replayed,
}

impl Tape {
    pub fn new(recording: Recording) -> Self {
        let first = recording.first_step();
        let last = first + recording.steps.len() as u64;
        Self {
            steps: recording.steps,
            replayed: Replayed {
                steps: [first, last],
                compared: first,
                divergence: None,
            },
        }
    }

    fn at(&self, step: u64) -> Option<&RecordedStep> {
        let index = step.checked_sub(self.replayed.steps[0])?;
        self.steps.get(usize::try_from(index).ok()?)
    }

    /// What was done at the state after a step.
    pub fn inputs(&self, step: u64) -> Option<Vec<Input>> {
        self.at(step).map(|recorded| recorded.inputs.clone())
    }

    /// Compares the state after a step, unless it has been before.
    pub fn compare(&mut self, world: &World) {
        let step = world.step_index;
        if step <= self.replayed.compared {
            return;
        }
        let Some(recorded) = self.at(step - 1).map(|recorded| recorded.hash) else {
            return;
        };
        self.replayed.compared = step;
        let found = world.state_hash();
        if self.replayed.divergence.is_none() && found != recorded {
            self.replayed.divergence = Some(Divergence {
                step,
                recorded,
                found,
            });
        }
    }

    pub fn replayed(&self) -> Replayed {
        self.replayed
    }
}

/// A recording that is taken again, to its end.
pub struct Replay {
    session: Session,
    left: usize,
}

impl Replay {
    /// Begins a replay on so many threads; 0 means all.
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn new(recording: &Recording, threads: usize) -> Result<Self, ConfigError> {
        Ok(Self {
            session: Session::replay(recording.clone(), threads)?,
            left: recording.len(),
        })
    }

    /// Takes the next step; none at the end.
    ///
    /// # Errors
    /// A step that is not taken.
    pub fn step(&mut self) -> Option<Result<&StepReport, StepError>> {
        self.left = self.left.checked_sub(1)?;
        Some(self.session.step())
    }

    /// Where it first left the recording, if it did.
    pub fn divergence(&self) -> Option<Divergence> {
        self.session.replayed().and_then(|r| r.divergence)
    }

    /// The simulation.
    pub fn session(&self) -> &Session {
        &self.session
    }
}
