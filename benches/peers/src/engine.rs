//! What the comparison asks of an engine.

use moreau::math::{Quat, Vec3};
use serde::Serialize;

/// A body's state.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Its centre [m].
    pub position: Vec3,
    /// Its orientation, body to world.
    pub rotation: Quat,
    /// The velocity of its centre [m/s].
    pub velocity: Vec3,
}

#[cfg(test)]
impl State {
    /// Still, at a place.
    pub fn at(position: Vec3) -> Self {
        Self {
            position,
            rotation: Quat::identity(),
            velocity: Vec3::zeros(),
        }
    }
}

/// Where a step's time went [s].
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Times {
    /// Wall time of the whole step.
    pub step: f64,
    /// Which pairs may touch.
    pub broad: f64,
    /// Where they touch.
    pub narrow: f64,
    /// From contacts to what the solver starts on: assembly, islands, preparation.
    pub prepare: f64,
    /// The iterations (Rapier: substeps, constraint initialisation included).
    pub solve: f64,
    /// Moving the bodies and stabilisation (Rapier's solver moves them itself).
    pub integrate: f64,
}

impl Times {
    /// Broad and narrow phase together [s].
    pub fn collision(&self) -> f64 {
        self.broad + self.narrow
    }

    /// What no stage accounts for [s].
    pub fn other(&self) -> f64 {
        self.step - self.collision() - self.prepare - self.solve - self.integrate
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Where the time went.
    pub times: Times,
    /// Processor time of the whole step, all threads together [s].
    pub cpu: f64,
    /// Contact points that the solver saw.
    pub contacts: usize,
    /// Iterations of the solver; zero where the engine does not say.
    pub iterations: u32,
}

/// A simulation of a scene.
pub trait Engine {
    /// Takes one step.
    ///
    /// # Errors
    /// The engine's own words when it could not.
    fn step(&mut self) -> Result<Sample, String>;

    /// The bodies' states, in the order of the scene.
    fn states(&self) -> Vec<State>;
}
