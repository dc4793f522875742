//! Recordings: a state, what was done to it, and the hash of the state after every step.

use std::error::Error;

use serde::{Deserialize, Serialize};

use super::{Drag, Input, InputError, Session};
use crate::check::{demand, finite};
use crate::file::{FileError, FileKind};
use crate::solve::{ConfigError, SolverConfig};
use crate::step::{Simulation, Snapshot, StepError, StepReport};

/// A recording as a file.
const KIND: FileKind = FileKind {
    name: "recording",
    magic: b"MOREAURC",
    version: 1,
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
    if config.budget.time > 0.0 {
        let why = format!(
            "solver.budget.time is {} s, and a wall-time budget makes the result depend on the speed of the \
             machine; expected 0",
            config.budget.time
        );
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
        Input::Drag(_) | Input::Drive { .. } => {}
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
        })
    }

    /// Adds a step that was taken, with what was done before it.
    pub fn add(&mut self, inputs: Vec<Input>, simulation: &Simulation) {
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

/// A recording that is taken again.
pub struct Replay {
    session: Session,
    steps: std::vec::IntoIter<RecordedStep>,
    divergence: Option<Divergence>,
}

impl Replay {
    /// Begins a replay on so many threads; 0 means all.
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn new(recording: &Recording, threads: usize) -> Result<Self, ConfigError> {
        Ok(Self {
            session: Session::of(recording, threads)?,
            steps: recording.steps.clone().into_iter(),
            divergence: None,
        })
    }

    /// Takes the next step; none at the end.
    ///
    /// # Errors
    /// A step that is not taken.
    pub fn step(&mut self) -> Option<Result<&StepReport, StepError>> {
        let recorded = self.steps.next()?;
        for input in recorded.inputs {
            // What was refused was not recorded: it is refused only where states differ already.
            let _ = self.session.apply(input);
        }
        if let Err(error) = self.session.step() {
            return Some(Err(error));
        }
        let world = self.session.simulation().world();
        let found = world.state_hash();
        if self.divergence.is_none() && found != recorded.hash {
            self.divergence = Some(Divergence {
                step: world.step_index,
                recorded: recorded.hash,
                found,
            });
        }
        Some(Ok(self.session.simulation().report()))
    }

    /// Where it first left the recording, if it did.
    pub fn divergence(&self) -> Option<Divergence> {
        self.divergence
    }

    /// The simulation.
    pub fn session(&self) -> &Session {
        &self.session
    }
}
