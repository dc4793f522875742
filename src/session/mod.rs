//! A simulation and the hands on it: what somebody does between steps is data, so that it can be recorded, replayed
//! bit for bit, and given to several worlds alike.

mod drag;
mod input;
mod recording;
mod rivals;

pub use drag::Drag;
pub use input::{Input, InputError, Throw};
pub use recording::{Divergence, Recording, Replay};
pub use rivals::{Rival, distance, step_all};

use crate::math::Twist;
use crate::solve::ConfigError;
use crate::step::{Simulation, Snapshot, StepError, StepReport};

/// A simulation that somebody plays with.
pub struct Session {
    simulation: Simulation,
    /// The spring that pulls at a body.
    drag: Option<Drag>,
    /// The slot that it pulls at during a step, and the force to put back after it.
    pulled: Option<(usize, Twist)>,
    /// What has been done since the last step.
    inputs: Vec<Input>,
    recording: Option<Recording>,
}

impl Session {
    /// Takes a simulation over.
    pub fn new(simulation: Simulation) -> Self {
        Self {
            simulation,
            drag: None,
            pulled: None,
            inputs: Vec::new(),
            recording: None,
        }
    }

    /// The simulation.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The simulation, for what is no input: threads, residuals, histories. What changes its state would not be
    /// in a recording.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Does something between two steps.
    ///
    /// # Errors
    /// It cannot be done; then nothing has changed, and nothing is recorded.
    pub fn apply(&mut self, input: Input) -> Result<(), InputError> {
        if self.recording.is_some() {
            recording::check(&input)?;
        }
        match &input {
            Input::Drag(drag) => self.drag = drag.filter(Drag::is_finite),
            input => input.apply(&mut self.simulation)?,
        }
        if self.recording.is_some() {
            self.inputs.push(input);
        }
        Ok(())
    }

    /// Takes a step, with the drag pulling.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub fn step(&mut self) -> Result<&StepReport, StepError> {
        // A step that panicked, and was caught outside, has not put it back.
        self.put_back();
        self.pulled = self.drag.and_then(|drag| drag.pull(&mut self.simulation));
        let result = self.simulation.step().map(|_| ());
        self.put_back();
        result?;
        if let Some(recording) = &mut self.recording {
            recording.add(std::mem::take(&mut self.inputs), &self.simulation);
        }
        Ok(self.simulation.report())
    }

    fn put_back(&mut self) {
        if let Some((slot, before)) = self.pulled.take() {
            self.simulation.world_mut().bodies.force[slot] = before;
        }
    }

    /// Takes the state of a snapshot, and lets go of what is dragged. A recording ends here.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.recording = None;
        self.inputs.clear();
        self.drag = None;
        self.pulled = None;
        self.simulation.restore(snapshot);
    }

    /// Records from now on; `origin` says of what.
    ///
    /// # Errors
    /// A solver whose result depends on the speed of the machine.
    pub fn record(&mut self, origin: impl Into<String>) -> Result<(), InputError> {
        self.inputs.clear();
        let mut recording = Recording::new(origin.into(), &self.simulation)?;
        // What is held already is held in the replay too.
        recording.held = self.drag;
        self.recording = Some(recording);
        Ok(())
    }

    /// The recording so far.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Ends the recording.
    pub fn stop_recording(&mut self) -> Option<Recording> {
        self.inputs.clear();
        self.recording.take()
    }

    /// A simulation in the state in which a recording begins.
    fn of(recording: &Recording, threads: usize) -> Result<Self, ConfigError> {
        let start = &recording.start;
        let config = recording.solver.clone();
        let mut simulation = Simulation::new(start.world().clone(), config, threads)?;
        simulation.restore(start);
        Ok(Self {
            drag: recording.held,
            ..Self::new(simulation)
        })
    }
}
