//! What somebody does to a simulation between two steps.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::Drag;
use crate::math::{Pose, Quat, Vec3};
use crate::solve::SolverConfig;
use crate::step::Simulation;
use crate::world::{BodySpec, Edit, Geometry, Settings, Shape, World};

/// One of the things that somebody does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Input {
    /// Pulls at a body from now on, or lets go.
    Drag(Option<Drag>),
    /// Throws a ball.
    Throw(Throw),
    /// Takes a drive over, by its number, or gives it back to its script.
    Drive {
        /// Its number.
        index: u32,
        /// Where it is to go.
        value: Option<f64>,
    },
    /// Another solver, or other parameters.
    Solver(#[serde(with = "as_text")] SolverConfig),
    /// Other settings of the world.
    Settings(Box<Settings>),
    /// Changes the bodies.
    Edit(Edit),
}

/// A solver's configuration as text: its values are of several kinds, which only text can tell apart.
pub(super) mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    use crate::solve::SolverConfig;

    pub fn serialize<S: Serializer>(config: &SolverConfig, to: S) -> Result<S::Ok, S::Error> {
        let text = ron::to_string(config).map_err(ser::Error::custom)?;
        to.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SolverConfig, D::Error> {
        let text = String::deserialize(from)?;
        ron::from_str(&text).map_err(de::Error::custom)
    }
}

/// A ball that is thrown: five times as heavy as bodies are on average, enough to be felt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throw {
    /// Where it begins (m).
    pub start: Vec3,
    /// How fast it is (m/s).
    pub velocity: Vec3,
    /// Its radius (m).
    pub radius: f64,
}

/// Why an input cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct InputError {
    /// What was not done.
    pub what: &'static str,
    /// Why not.
    pub why: String,
}

impl InputError {
    pub(super) fn new(what: &'static str, why: impl Display) -> Self {
        Self {
            what,
            why: why.to_string(),
        }
    }
}

impl Input {
    /// Does it; a drag has to be done by whoever takes the steps.
    pub(super) fn apply(&self, simulation: &mut Simulation) -> Result<(), InputError> {
        match self {
            Self::Drag(_) => Ok(()),
            Self::Throw(throw) => throw
                .apply(simulation.world_mut())
                .map_err(|why| InputError::new("nothing was thrown", why)),
            Self::Drive { index, value } => {
                simulation.world_mut().set_drive(*index as usize, *value);
                Ok(())
            }
            Self::Solver(config) => simulation
                .set_solver(config.clone())
                .map_err(|why| InputError::new("the solver stays as it is", why)),
            Self::Edit(edit) => simulation
                .world_mut()
                .edit(edit)
                .map_err(|why| InputError::new("the scene stays as it is", why)),
            Self::Settings(settings) => {
                let check = settings.check();
                check.map_err(|why| InputError::new("the settings stay as they are", why))?;
                simulation.world_mut().settings = **settings;
                Ok(())
            }
        }
    }
}

impl Throw {
    fn apply(&self, world: &mut World) -> Result<(), Box<dyn std::error::Error>> {
        let bodies = &world.bodies;
        let dynamic = bodies.iter().filter(|slot| bodies.is_dynamic(*slot));
        let masses = dynamic.map(|slot| bodies.inverse_mass[slot]);
        let (sum, count) = masses.fold((0.0, 0.0), |(sum, n), m| (sum + 1.0 / m, n + 1.0));
        let radius = self.radius;
        world.add_body(BodySpec {
            name: "thrown".into(),
            pose: Pose::new(self.start, Quat::identity()),
            linear_velocity: self.velocity,
            shape: Some(Shape::new(Geometry::Ball { radius })?),
            mass: Some(if count > 0.0 { 5.0 * sum / count } else { 1.0 }),
            color: Some([0.9, 0.9, 0.92]),
            ..BodySpec::default()
        })?;
        Ok(())
    }
}
