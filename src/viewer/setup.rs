//! The window's copy of what the physics thread is set to, and the keys that change it.

use bevy::prelude::*;

use super::keys::Action;
use super::observe::ResidualRate;
use super::physics::{Command, Physics};
use super::playback::Playback;
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
    app.insert_resource(setup).add_systems(Update, press_keys);
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
