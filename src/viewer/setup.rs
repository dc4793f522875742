//! The window's copy of what the physics thread is set to, and the keys that change it.

use bevy::prelude::*;

use super::keep::Keep;
use super::keys::Action;
use super::observe::ResidualRate;
use super::physics::{Command, Physics};
use super::playback::Playback;
use crate::scene::Scene;
use crate::solve::SolverConfig;
use crate::world::Settings;

/// Solver, time step, threads and speed as the panels show them.
#[derive(Resource)]
pub struct Setup {
    pub solver: SolverConfig,
    pub settings: Settings,
    /// Number of threads; 0 means all.
    pub threads: usize,
    pub residual: ResidualRate,
    /// Simulated over real time; infinite for as fast as possible.
    pub speed: f64,
}

impl Setup {
    /// Takes solver and settings from a scene. What somebody has chosen stays where the same scene is built
    /// again (`before` is how it was), unless the scene itself says something else now.
    pub fn take(&mut self, scene: &Scene, before: Option<&Scene>) {
        let (to, new) = (&mut self.solver, &scene.solver);
        let is_other =
            |s: &Scene| (&s.solver.name, &s.solver.parameters) != (&new.name, &new.parameters);
        if before.is_none_or(is_other) {
            to.name.clone_from(&new.name);
            to.parameters.clone_from(&new.parameters);
        }
        if before.is_none_or(|before| before.solver.budget != new.budget) {
            to.budget = new.budget;
        }
        if before.is_none_or(|before| before.settings != scene.settings) {
            self.settings = scene.settings;
        }
    }
}

/// Slowest and fastest that the keys go.
const SPEEDS: [f64; 2] = [1.0 / 64.0, 8.0];

pub fn plugin(app: &mut App) {
    let setup = Setup {
        solver: SolverConfig::default(),
        settings: Settings::default(),
        threads: 0,
        residual: ResidualRate::default(),
        speed: 1.0,
    };
    app.insert_resource(setup)
        .add_systems(Update, (follow, press_keys).chain());
}

/// Takes over the solver and the settings that going back, or a file, has brought.
fn follow(mut setup: ResMut<Setup>, playback: Res<Playback>, mut seen: Local<u64>) {
    if let Some(frame) = &playback.frame
        && frame.charge.number != *seen
    {
        *seen = frame.charge.number;
        setup.solver.clone_from(&frame.charge.solver);
        setup.settings = frame.charge.settings;
    }
}

fn press_keys(
    mut actions: MessageReader<Action>,
    mut setup: ResMut<Setup>,
    physics: Res<Physics>,
    playback: Res<Playback>,
) {
    for action in actions.read() {
        let speed = if setup.speed.is_finite() {
            setup.speed
        } else {
            1.0
        };
        let [slowest, fastest] = SPEEDS;
        let speed = match action {
            Action::PlayPause => {
                let playing = playback.frame.as_ref().is_some_and(|f| f.playing);
                physics.send(Command::Play(!playing));
                continue;
            }
            Action::Step => {
                physics.send(Command::Play(false));
                physics.send(Command::Step(1));
                continue;
            }
            Action::StepBack => {
                physics.send(Command::Keep(Keep::StepBack(1)));
                continue;
            }
            Action::Restart => {
                physics.send(Command::Restart);
                continue;
            }
            Action::Slower => (0.5 * speed).max(slowest),
            Action::Faster => (2.0 * speed).min(fastest),
            Action::RealTime => 1.0,
            _ => continue,
        };
        setup.speed = speed;
        physics.send(Command::Speed(speed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::library;

    #[test]
    fn what_is_chosen_stays_when_the_scene_is_built_again() {
        let scene = library::shipped("box_stack").expect("a shipped scene");
        let mut setup = Setup {
            solver: SolverConfig::default(),
            settings: Settings::default(),
            threads: 0,
            residual: ResidualRate::default(),
            speed: 1.0,
        };
        setup.take(&scene, None);
        assert_eq!(setup.solver, scene.solver);
        let mut chosen = scene.solver.clone();
        chosen.switch("nncg");
        setup.solver = chosen.clone();
        setup.settings.substeps = 4;
        // A slider of the scene.
        let mut moved = scene.clone();
        moved.set("generators.0.count", "7").expect("a slider");
        setup.take(&moved, Some(&scene));
        assert_eq!((&setup.solver, setup.settings.substeps), (&chosen, 4));
        // A slider of its budget, which is asked of whatever solver there is.
        let mut edited = scene.clone();
        let path = "solver.budget.iterations";
        edited.set(path, "77").expect("a slider");
        setup.take(&edited, Some(&scene));
        let solver = &setup.solver;
        assert_eq!((&solver.name, solver.budget.iterations), (&chosen.name, 77));
        // The file itself names another solver now.
        edited.solver.switch("jacobi");
        setup.take(&edited, Some(&scene));
        let found = (&setup.solver, setup.settings.substeps);
        assert_eq!(found, (&edited.solver, 4));
        // Another scene.
        setup.take(&scene, None);
        assert_eq!(
            (&setup.solver, setup.settings),
            (&scene.solver, scene.settings)
        );
    }
}
