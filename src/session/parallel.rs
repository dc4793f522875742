//! Worlds side by side: the same beginning and the same inputs under other solvers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Input, Session, Spacing};
use crate::solve::{ConfigError, SolverConfig};
use crate::step::{Simulation, StepError};
use crate::world::World;

/// A world that lives through what another one does, with a solver of its own.
pub struct ParallelWorld {
    /// How it is called.
    pub label: String,
    session: Session,
    /// Why it takes no more steps, and the last step that it took.
    stop: Option<(u64, String)>,
}

impl ParallelWorld {
    /// A parallel world that begins in the state of another world, with what pulls at a body there.
    ///
    /// # Errors
    /// A solver that is not there or cannot have such parameters.
    pub fn new(
        label: impl Into<String>,
        first: &Session,
        config: SolverConfig,
        threads: usize,
    ) -> Result<Self, ConfigError> {
        let start = first.simulation().snapshot();
        let mut simulation = Simulation::new(start.world().clone(), config, threads)?;
        simulation.restore(&start);
        let mut session = Session::new(simulation);
        session.drag = first.drag;
        if first.falls.is_some() {
            session.watch_falls();
        }
        Ok(Self {
            label: label.into(),
            session,
            stop: None,
        })
    }

    /// Its simulation.
    pub fn simulation(&self) -> &Simulation {
        self.session.simulation()
    }

    /// How many of its bodies have fallen, see [`Session::fallen`].
    pub fn fallen(&self) -> usize {
        self.session.fallen()
    }

    /// The same, for what is no input: threads, residuals.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        self.session.simulation_mut()
    }

    /// Why it takes no more steps, if something has gone wrong.
    pub fn error(&self) -> Option<&str> {
        let stop = self.stop.as_ref();
        // Before that step, where somebody may have returned to, nothing has.
        let (_, error) = stop.filter(|(step, _)| self.step_index() >= *step)?;
        Some(error)
    }

    fn step_index(&self) -> u64 {
        self.simulation().world().step_index
    }

    /// Keeps past states from now on, to go back to, in so many bytes.
    pub fn keep(&mut self, limit: usize, spacing: Spacing) {
        self.session.keep(limit, spacing);
    }

    /// Begins to return to the state after a step; [`approach`] takes the steps that are still to be taken. False where
    /// it is not kept, since this world began later: then nothing has changed.
    pub fn seek(&mut self, step: u64) -> bool {
        let kept = self.session.kept().steps;
        kept.is_some_and(|[first, _]| step >= first) && self.session.seek(step).is_ok()
    }

    /// Does what is done to the first world; another solver there is none of its business.
    pub fn apply(&mut self, input: &Input) {
        if matches!(input, Input::Solver(_)) {
            return;
        }
        if self.error().is_none() {
            // Another future begins.
            self.stop = None;
        }
        if let Err(error) = self.session.apply(input.clone()) {
            self.stop = Some((self.step_index(), error.to_string()));
        }
    }

    /// Begins a step: in its own past it does what was done then, else these.
    fn begin_step(&mut self, inputs: &[Input]) {
        if self.error().is_some() {
            return;
        }
        let (_, is_new) = self.session.do_again();
        if is_new {
            inputs.iter().for_each(|input| self.apply(input));
        }
    }

    fn step(&mut self) {
        if self.error().is_some() {
            return;
        }
        let step = || {
            self.session
                .advance()
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        let taken = catch_unwind(AssertUnwindSafe(step));
        let taken = taken.unwrap_or_else(|_| Err("internal error".into()));
        if let Err(error) = taken {
            self.stop = Some((self.step_index(), error));
        }
    }
}

/// A step in all worlds, at once. In the past, what was done then is done again in all of them.
///
/// # Errors
/// The first one's; what goes wrong in a parallel world's, [`ParallelWorld::error`] says.
pub fn step_all(
    first: &mut Session,
    parallel_worlds: &mut [ParallelWorld],
) -> Result<(), StepError> {
    let (inputs, is_new) = first.do_again();
    for parallel in &mut *parallel_worlds {
        if is_new {
            parallel.session.forget_future();
        }
        parallel.begin_step(&inputs);
    }
    std::thread::scope(|scope| {
        for parallel in parallel_worlds {
            scope.spawn(|| parallel.step());
        }
        first.advance().map(|_| ())
    })
}

/// A step in those worlds that have not come to the goal of [`Session::seek`] and [`ParallelWorld::seek`]; true when all have.
///
/// # Errors
/// As [`step_all`].
pub fn approach(
    first: &mut Session,
    parallel_worlds: &mut [&mut ParallelWorld],
    goal: u64,
) -> Result<bool, StepError> {
    let is_there =
        |parallel: &ParallelWorld| parallel.step_index() >= goal || parallel.error().is_some();
    for parallel in parallel_worlds
        .iter_mut()
        .filter(|parallel| !is_there(parallel))
    {
        let inputs = first.done_after(parallel.step_index());
        parallel.begin_step(inputs);
    }
    let arrives = |session: &Session| session.simulation.world().step_index >= goal;
    std::thread::scope(|scope| {
        for parallel in parallel_worlds
            .iter_mut()
            .filter(|parallel| !is_there(parallel))
        {
            scope.spawn(|| parallel.step());
        }
        match arrives(first) {
            true => Ok(()),
            false => first.step().map(|_| ()),
        }
    })?;
    Ok(arrives(first) && parallel_worlds.iter().all(|parallel| is_there(parallel)))
}

/// How far the bodies that forces move are from each other in two worlds, at most (m).
pub fn distance(a: &World, b: &World) -> f64 {
    let (a, b) = (&a.bodies, &b.bodies);
    let slots = 0..a.slots().min(b.slots());
    let moved = slots.filter(|k| a.is_dynamic(*k) && a.id(*k).is_some() && a.id(*k) == b.id(*k));
    let apart = moved.map(|k| (a.position[k] - b.position[k]).norm());
    apart.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::scene::library;
    use crate::session::{Drag, Spacing, Throw};

    fn first() -> Session {
        let scene = library::shipped("box_stack").expect("a shipped scene");
        Session::new(scene.simulation(1).expect("a simulation"))
    }

    /// With the same solver and the same inputs nothing tells two worlds apart; with another one they part.
    #[test]
    fn worlds_live_through_the_same() {
        let mut first = first();
        let same = first.simulation().solver_config().clone();
        let mut other = same.clone();
        other.switch("jacobi");
        other.budget.iterations = 3;
        let parallel =
            |label, config| ParallelWorld::new(label, &first, config, 1).expect("a parallel world");
        let mut parallel_worlds = [parallel("same", same.clone()), parallel("other", other)];
        for step in 0..60 {
            if step == 10 {
                let throw = Input::Throw(Throw {
                    start: Vec3::new(-3.0, 1.0, 0.0),
                    velocity: Vec3::new(8.0, 1.0, 0.0),
                    radius: 0.2,
                });
                first.apply(throw.clone()).expect("a throw");
                parallel_worlds
                    .iter_mut()
                    .for_each(|parallel| parallel.apply(&throw));
            }
            if step == 20 {
                let mut config = same.clone();
                config.switch("nncg");
                // The first world's solver is not the parallel worlds'.
                parallel_worlds[1].apply(&Input::Solver(config));
            }
            step_all(&mut first, &mut parallel_worlds).expect("a step");
        }
        let world = first.simulation().world();
        let [same, other] = &parallel_worlds;
        assert_eq!(same.simulation().world().state_hash(), world.state_hash());
        assert_eq!(distance(same.simulation().world(), world), 0.0);
        assert_eq!(other.simulation().solver_config().name, "jacobi");
        let apart = distance(other.simulation().world(), world);
        assert!(apart > 1e-6 && apart.is_finite(), "{apart} m apart");
        assert!(
            parallel_worlds
                .iter()
                .all(|parallel| parallel.error().is_none())
        );
    }

    /// All worlds go back together, each to its own state of then, and on again to the same; another future begins in all
    /// of them at once, and a world that began later says so.
    #[test]
    fn every_world_has_a_past_of_its_own() {
        let mut first = first();
        first.keep(crate::session::DEFAULT_LIMIT, Spacing::Steps(8));
        let mut config = first.simulation().solver_config().clone();
        config.switch("jacobi");
        config.budget.iterations = 3;
        for _ in 0..5 {
            first.step().expect("a step");
        }
        let mut parallel_worlds =
            [ParallelWorld::new("jacobi", &first, config, 1).expect("a parallel world")];
        parallel_worlds[0].keep(crate::session::DEFAULT_LIMIT, Spacing::Steps(7));
        let throw = Input::Throw(Throw {
            start: Vec3::new(-3.0, 1.0, 0.0),
            velocity: Vec3::new(8.0, 1.0, 0.0),
            radius: 0.2,
        });
        let travel = |first: &mut Session, parallel: &mut ParallelWorld, goal| {
            while !approach(first, &mut [parallel], goal).expect("a step") {}
        };
        let hash = |session: &Session| session.simulation().world().state_hash();
        let mut hashes = Vec::new();
        for step in 5..40 {
            if step == 20 {
                first.apply(throw.clone()).expect("a throw");
                parallel_worlds[0].apply(&throw);
            }
            step_all(&mut first, &mut parallel_worlds).expect("a step");
            hashes.push([hash(&first), hash(&parallel_worlds[0].session)]);
        }
        for goal in [13_u64, 30, 7, 20, 39] {
            assert!(parallel_worlds[0].seek(goal));
            assert_eq!(first.seek(goal).expect("it is kept"), goal);
            travel(&mut first, &mut parallel_worlds[0], goal);
            let here = [hash(&first), hash(&parallel_worlds[0].session)];
            assert_eq!(here, hashes[goal as usize - 6], "step {goal}");
            while first.simulation().world().step_index < 40 {
                step_all(&mut first, &mut parallel_worlds).expect("a step");
            }
            let here = [hash(&first), hash(&parallel_worlds[0].session)];
            assert_eq!(Some(&here), hashes.last(), "from step {goal}");
        }
        assert!(!parallel_worlds[0].seek(4), "it began at step 5");
        // Without the ball everything is another future, for both.
        assert!(parallel_worlds[0].seek(15));
        first.seek(15).expect("it is kept");
        travel(&mut first, &mut parallel_worlds[0], 15);
        first.apply(Input::Drag(None)).expect("nothing");
        let mut settings = first.simulation().world().settings;
        settings.gravity *= 0.5;
        let settings = Input::Settings(Box::new(settings));
        first.apply(settings.clone()).expect("settings");
        parallel_worlds[0].apply(&settings);
        for _ in 15..40 {
            step_all(&mut first, &mut parallel_worlds).expect("a step");
        }
        let bodies = |session: &Session| session.simulation().world().bodies.len();
        assert_eq!(bodies(&first), bodies(&parallel_worlds[0].session));
        let before = hashes.last().expect("steps");
        assert_ne!(before[0], hash(&first));
        assert_ne!(before[1], hash(&parallel_worlds[0].session));
        assert!(parallel_worlds[0].error().is_none());
    }

    /// Who goes back in time and on again does what was done then: in worlds that begin there too, also where
    /// something was held at that moment.
    #[test]
    fn what_was_done_after_a_past_moment_reaches_worlds_that_begin_there() {
        let mut first = first();
        first.keep(crate::session::DEFAULT_LIMIT, Spacing::Steps(8));
        let bodies = &first.simulation().world().bodies;
        let slot = (0..bodies.slots()).rfind(|slot| bodies.is_dynamic(*slot));
        let body = slot.and_then(|slot| bodies.id(slot)).expect("a body");
        let throw = Input::Throw(Throw {
            start: Vec3::new(-3.0, 1.0, 0.0),
            velocity: Vec3::new(8.0, 1.0, 0.0),
            radius: 0.2,
        });
        let drag = Drag {
            body,
            anchor: Vec3::zeros(),
            target: Vec3::new(1.0, 12.0, 0.0),
        };
        for step in 0..40 {
            match step {
                5 => first.apply(Input::Drag(Some(drag))).expect("a drag"),
                20 => first.apply(throw.clone()).expect("a throw"),
                25 => first.apply(Input::Drag(None)).expect("let go"),
                _ => {}
            }
            first.step().expect("a step");
        }
        let after = first.simulation().world().state_hash();
        for moment in [3, 12, 20] {
            first.go_to(moment).expect("a kept state");
            let config = first.simulation().solver_config().clone();
            let parallel = ParallelWorld::new("same", &first, config, 1).expect("a parallel world");
            let mut parallel_worlds = [parallel];
            while first.simulation().world().step_index < 40 {
                step_all(&mut first, &mut parallel_worlds).expect("a step");
            }
            assert_eq!(first.simulation().world().state_hash(), after);
            let found = parallel_worlds[0].simulation().world().state_hash();
            assert_eq!(found, after, "begun after step {moment}");
        }
    }
}
