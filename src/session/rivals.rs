//! Worlds side by side: the same beginning and the same inputs under other solvers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Input, Session};
use crate::solve::{ConfigError, SolverConfig};
use crate::step::{Simulation, StepError};
use crate::world::World;

/// A world that lives through what another one does, with a solver of its own.
pub struct Rival {
    /// How it is called.
    pub label: String,
    session: Session,
    /// Why it takes no more steps.
    error: Option<String>,
}

impl Rival {
    /// A rival that begins in the state of another world, with what pulls at a body there.
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
        Ok(Self {
            label: label.into(),
            session,
            error: None,
        })
    }

    /// Its simulation.
    pub fn simulation(&self) -> &Simulation {
        self.session.simulation()
    }

    /// The same, for what is no input: threads, residuals.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        self.session.simulation_mut()
    }

    /// Why it takes no more steps, if something has gone wrong.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Does what is done to the first world; another solver there is none of its business.
    pub fn apply(&mut self, input: &Input) {
        if !matches!(input, Input::Solver(_))
            && let Err(error) = self.session.apply(input.clone())
        {
            self.error = Some(error.to_string());
        }
    }

    fn step(&mut self) {
        if self.error.is_some() {
            return;
        }
        let step = || self.session.step().map(|_| ()).map_err(|e| e.to_string());
        let taken = catch_unwind(AssertUnwindSafe(step));
        self.error = taken.unwrap_or_else(|_| Err("internal error".into())).err();
    }
}

/// A step in all worlds, at once. In the past, what was done then is done again in all of them.
///
/// # Errors
/// The first one's; what goes wrong in a rival's, [`Rival::error`] says.
pub fn step_all(first: &mut Session, rivals: &mut [Rival]) -> Result<(), StepError> {
    for input in first.do_again() {
        rivals.iter_mut().for_each(|rival| rival.apply(&input));
    }
    std::thread::scope(|scope| {
        for rival in rivals {
            scope.spawn(|| rival.step());
        }
        first.advance().map(|_| ())
    })
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
        let rival = |label, config| Rival::new(label, &first, config, 1).expect("a rival");
        let mut rivals = [rival("same", same.clone()), rival("other", other)];
        for step in 0..60 {
            if step == 10 {
                let throw = Input::Throw(Throw {
                    start: Vec3::new(-3.0, 1.0, 0.0),
                    velocity: Vec3::new(8.0, 1.0, 0.0),
                    radius: 0.2,
                });
                first.apply(throw.clone()).expect("a throw");
                rivals.iter_mut().for_each(|rival| rival.apply(&throw));
            }
            if step == 20 {
                let mut config = same.clone();
                config.switch("nncg");
                // The first world's solver is not the rivals'.
                rivals[1].apply(&Input::Solver(config));
            }
            step_all(&mut first, &mut rivals).expect("a step");
        }
        let world = first.simulation().world();
        let [same, other] = &rivals;
        assert_eq!(same.simulation().world().state_hash(), world.state_hash());
        assert_eq!(distance(same.simulation().world(), world), 0.0);
        assert_eq!(other.simulation().solver_config().name, "jacobi");
        let apart = distance(other.simulation().world(), world);
        assert!(apart > 1e-6 && apart.is_finite(), "{apart} m apart");
        assert!(rivals.iter().all(|rival| rival.error().is_none()));
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
            let rival = Rival::new("same", &first, config, 1).expect("a rival");
            let mut rivals = [rival];
            while first.simulation().world().step_index < 40 {
                step_all(&mut first, &mut rivals).expect("a step");
            }
            assert_eq!(first.simulation().world().state_hash(), after);
            let found = rivals[0].simulation().world().state_hash();
            assert_eq!(found, after, "begun after step {moment}");
        }
    }
}
