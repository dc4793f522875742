//! A simulation and the hands on it: what somebody does between steps is data, so that it can be recorded, replayed
//! bit for bit, and given to several worlds alike.

mod drag;
mod falls;
mod input;
mod parallel;
mod recording;
mod ring;

pub use drag::Drag;
pub use input::{Input, InputError, Throw};
pub use parallel::{ParallelWorld, approach, distance, step_all};
pub use recording::{Divergence, Recording, Replay, Replayed};
pub use ring::{DEFAULT_LIMIT, Kept, Spacing};

use std::sync::Arc;

use crate::math::Vec3;
use crate::measure::Stage;
use crate::solve::ConfigError;
use crate::step::{Simulation, Snapshot, StepError, StepReport};
use crate::world::Edit;
use drag::Pulled;
use falls::Falls;
use recording::Tape;
use ring::{Ring, State};

/// A simulation that somebody plays with.
pub struct Session {
    simulation: Simulation,
    /// The spring that pulls at a body.
    drag: Option<Drag>,
    /// What it pulls at during a step.
    pulled: Option<Pulled>,
    /// The force that it had in the last step (N).
    force: Vec3,
    /// What has been done since the last step.
    inputs: Vec<Input>,
    recording: Option<Recording>,
    ring: Option<Ring>,
    /// The edits up to now, each with the number of the step before it.
    edits: Arc<Vec<(u64, Edit)>>,
    /// What is replayed.
    tape: Option<Tape>,
    /// What stood, if somebody watches it.
    falls: Option<Falls>,
}

impl Session {
    /// Takes a simulation over.
    pub fn new(simulation: Simulation) -> Self {
        Self {
            simulation,
            drag: None,
            pulled: None,
            force: Vec3::zeros(),
            inputs: Vec::new(),
            recording: None,
            ring: None,
            edits: Arc::default(),
            tape: None,
            falls: None,
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

    /// Does something between two steps. Done in the past, it is the beginning of another future: the one that
    /// was kept is forgotten.
    ///
    /// # Errors
    /// It cannot be done; then nothing has changed, and nothing is recorded.
    pub fn apply(&mut self, input: Input) -> Result<(), InputError> {
        // To let go of nothing is to do nothing.
        if input == Input::Drag(None) && self.drag.is_none() {
            return Ok(());
        }
        let step = self.simulation.world().step_index;
        // Who does something else in the past has let go of what was held then.
        let lets_go = self.is_past() && self.drag.is_some() && !matches!(input, Input::Drag(_));
        self.perform(&input)?;
        self.tape = None;
        if self.is_past()
            && let Some(recording) = &mut self.recording
        {
            recording.cut(step);
        }
        if let Some(ring) = &mut self.ring {
            ring.add_input(step, &input);
        }
        if lets_go {
            self.apply(Input::Drag(None))?;
        }
        let begins = self.kept().steps.map(|[first, _]| first);
        if matches!(input, Input::Edit(_)) && begins == Some(step) {
            // The beginning itself is another one now.
            self.begin_keeping();
        }
        Ok(())
    }

    /// The edits so far, in order; those before what [`Session::restore`] returned to among them.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().map(|(_, edit)| edit)
    }

    fn perform(&mut self, input: &Input) -> Result<(), InputError> {
        if self.recording.is_some() {
            recording::check(input)?;
        }
        match input {
            Input::Drag(drag) => self.drag = drag.filter(Drag::is_finite),
            input => input.apply(&mut self.simulation)?,
        }
        if let Input::Edit(edit) = input {
            let step = self.simulation.world().step_index;
            Arc::make_mut(&mut self.edits).push((step, edit.clone()));
        }
        if self.recording.is_some() {
            self.inputs.push(input.clone());
        }
        Ok(())
    }

    /// Takes a step, with the drag pulling. In the past, what was done then is done again before it.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub fn step(&mut self) -> Result<&StepReport, StepError> {
        self.do_again();
        self.advance()
    }

    /// Watches what stands now, for [`Session::fallen`].
    pub fn watch_falls(&mut self) {
        self.falls = Some(Falls::of(self.simulation.world()));
    }

    /// How many of the bodies that stood at [`Session::watch_falls`], touching something, are now lower by 0.3 of their
    /// bounding radius: a tower that has fallen. None in a world with joints, which lower what they carry.
    pub fn fallen(&self) -> usize {
        let falls = self.falls.as_ref();
        falls.map_or(0, |falls| falls.count(self.simulation.world()))
    }

    /// What pulls at a body.
    pub fn drag(&self) -> Option<Drag> {
        self.drag
    }

    /// The force with which it pulled in the last step (N).
    pub fn drag_force(&self) -> Vec3 {
        self.force
    }

    /// Does what was done before the next step the first time, in the past and in a replay, and says what that was, and
    /// whether that step has never been taken.
    fn do_again(&mut self) -> (Vec<Input>, bool) {
        let step = self.simulation.world().step_index;
        let was_past = self.is_past();
        let again = self.ring.as_mut().and_then(|ring| ring.begin_step(step));
        let is_new = again.is_none();
        if let Some(recording) = &mut self.recording
            && was_past
            && is_new
        {
            recording.cut(step);
        }
        let taped = self.tape.as_ref().and_then(|tape| tape.inputs(step));
        let inputs = again.or(taped).unwrap_or_default();
        for input in &inputs {
            // What was refused was not recorded: it is refused only where states differ already.
            let done = self.perform(input);
            if let (Ok(()), true, Some(ring)) = (done, is_new, &mut self.ring) {
                ring.add_input(step, input);
            }
        }
        (inputs, is_new)
    }

    /// The step itself.
    fn advance(&mut self) -> Result<&StepReport, StepError> {
        let step = self.simulation.world().step_index;
        // A step that panicked, and was caught outside, has not put it back.
        self.put_back();
        self.pulled = self.drag.and_then(|drag| drag.pull(&mut self.simulation));
        self.force = self.pulled.map_or(Vec3::zeros(), |pulled| pulled.force);
        let result = self.simulation.step().map(|_| ());
        self.put_back();
        result?;
        let inputs = std::mem::take(&mut self.inputs);
        if let Some(recording) = &mut self.recording
            && recording.next_step() == step + 1
        {
            recording.add(inputs, &self.simulation);
        }
        if let Some(tape) = &mut self.tape {
            tape.compare(self.simulation.world());
        }
        self.note_step();
        Ok(self.simulation.report())
    }

    fn note_step(&mut self) {
        if let Some(falls) = &mut self.falls {
            falls.note(&self.simulation);
        }
        let Some(mut ring) = self.ring.take() else {
            return;
        };
        let simulation = &self.simulation;
        let seconds = simulation.report().timings.get(Stage::Step);
        let is_exact = simulation.solver_config().timing().is_none();
        let step = simulation.world().step_index;
        let memory = || simulation.world().memory();
        ring.note(step, (seconds, is_exact), || self.state(), memory);
        self.ring = Some(ring);
    }

    fn state(&self) -> State {
        State {
            snapshot: self.simulation.snapshot(),
            solver: self.simulation.solver_config().clone(),
            drag: self.drag,
            edits: self.edits.clone(),
        }
    }

    /// Keeps past states from now on, to go back to, in so many bytes.
    pub fn keep(&mut self, limit: usize, spacing: Spacing) {
        self.ring = Some(Ring::new(limit, spacing));
        self.begin_keeping();
    }

    fn begin_keeping(&mut self) {
        let Some(mut ring) = self.ring.take() else {
            return;
        };
        let world = self.simulation.world();
        ring.begin(world.step_index, || self.state(), world.memory());
        self.ring = Some(ring);
    }

    /// Whether a past state was returned to, whose future is still kept.
    fn is_past(&self) -> bool {
        self.ring.as_ref().is_some_and(Ring::is_past)
    }

    /// What was done after a step, as far as it is kept.
    fn done_after(&self, step: u64) -> &[Input] {
        self.ring.as_ref().map_or(&[], |ring| ring.done_after(step))
    }

    /// Goes on from here as from the present.
    fn forget_future(&mut self) {
        let step = self.simulation.world().step_index;
        if let Some(ring) = &mut self.ring {
            ring.cut(step);
        }
    }

    /// What is kept; nothing before [`Session::keep`].
    pub fn kept(&self) -> Kept {
        self.ring.as_ref().map(Ring::kept).unwrap_or_default()
    }

    /// Begins to return to the state after a step, or to the last one before it that can be returned to, with
    /// the solver, its parameters and the settings of then. The steps up to the one that is answered are still
    /// to be taken; their future is kept until something else is done. A recording goes back too.
    ///
    /// # Errors
    /// Nothing is kept, or the state is not after the beginning of the recording. Nothing has changed then.
    pub fn seek(&mut self, step: u64) -> Result<u64, InputError> {
        let refuse = |why| Err(InputError::new("time stays where it is", why));
        let ring = self.ring.as_mut();
        let Some((ring, found)) = ring.and_then(|ring| ring.find(step).map(|found| (ring, found)))
        else {
            return refuse("no past state is kept".to_owned());
        };
        let goal = found.1;
        if let Some(recording) = &mut self.recording {
            // What was done at its first state has been done already where it begins.
            let first = recording.first_step();
            if goal <= first {
                let why =
                    format!("step {goal} is not after step {first}, where the recording began");
                return refuse(why);
            }
        }
        let here = self.simulation.world().step_index;
        let was_past = ring.is_past();
        let state = ring.seek(found);
        self.inputs.clear();
        let begin = state.snapshot.world().step_index;
        // On the way already.
        if was_past && (begin..goal).contains(&here) {
            return Ok(goal);
        }
        self.drag = state.drag;
        self.pulled = None;
        if *self.simulation.solver_config() != state.solver {
            let chosen = self.simulation.set_solver(state.solver.clone());
            chosen.map_err(|why| InputError::new("the solver stays as it is", why))?;
        }
        self.simulation.restore(&state.snapshot);
        self.edits = state.edits.clone();
        Ok(goal)
    }

    /// Returns to the state after a step, or to the last one before it that can be returned to.
    ///
    /// # Errors
    /// As [`Session::seek`], and as [`Session::step`].
    pub fn go_to(&mut self, step: u64) -> Result<u64, Box<dyn std::error::Error>> {
        let goal = self.seek(step)?;
        while self.simulation.world().step_index < goal {
            self.step()?;
        }
        Ok(goal)
    }

    fn put_back(&mut self) {
        if let Some(pulled) = self.pulled.take() {
            pulled.put_back(&mut self.simulation);
        }
    }

    /// Takes the state of a snapshot, and lets go of what is dragged. A recording ends here, and what was kept
    /// is forgotten.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.recording = None;
        self.inputs.clear();
        self.drag = None;
        (self.pulled, self.force) = (None, Vec3::zeros());
        self.tape = None;
        self.simulation.restore(snapshot);
        if self.falls.is_some() {
            self.watch_falls();
        }
        let begin = snapshot.world().step_index;
        Arc::make_mut(&mut self.edits).retain(|(step, _)| *step <= begin);
        self.begin_keeping();
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

    /// Ends the recording at the present state.
    pub fn stop_recording(&mut self) -> Option<Recording> {
        self.inputs.clear();
        let mut recording = self.recording.take()?;
        recording.cut(self.simulation.world().step_index);
        Some(recording)
    }

    /// A simulation in the state in which a recording begins, whose steps then do what was recorded until
    /// something else is done; on so many threads, 0 means all.
    ///
    /// # Errors
    /// A solver that cannot be made.
    pub fn replay(recording: Recording, threads: usize) -> Result<Self, ConfigError> {
        let start = &recording.start;
        let config = recording.solver.clone();
        let mut simulation = Simulation::new(start.world().clone(), config, threads)?;
        simulation.restore(start);
        Ok(Self {
            drag: recording.held,
            tape: Some(Tape::new(recording)),
            ..Self::new(simulation)
        })
    }

    /// What is replayed, and how it compares; none when something else has been done.
    pub fn replayed(&self) -> Option<Replayed> {
        self.tape.as_ref().map(Tape::replayed)
    }
}
