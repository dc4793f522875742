use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::Generate;
use crate::math::{Pose, Vec3};
use crate::world::{BodySpec, Geometry};

/// A tower of cubes, the top one heavier or lighter than the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoxStack {
    /// Number of cubes.
    pub count: u32,
    /// Edge length (m).
    pub edge: f64,
    /// Mass of a cube (kg).
    pub mass: f64,
    /// Mass of the top cube as a multiple of `mass` (-).
    pub top_mass_ratio: f64,
    /// Middle of the underside (m).
    pub at: [f64; 3],
    /// Look and feel; colours go from cube to cube.
    pub style: Style,
}

impl Default for BoxStack {
    fn default() -> Self {
        Self {
            count: 10,
            edge: 1.0,
            mass: 1.0,
            top_mass_ratio: 1.0,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for BoxStack {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn check(&self) -> Check {
        check::at_least("count", self.count, 1)?;
        check::positive("edge", self.edge)?;
        check::positive("mass", self.mass)?;
        check::positive("top_mass_ratio", self.top_mass_ratio)?;
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let half = 0.5 * self.edge;
        let shape = build.solid(Geometry::Cuboid {
            half_extents: Vec3::repeat(half),
        })?;
        let template = build.template(&self.style, Some(self.mass));
        for k in 0..self.count {
            let is_top = k + 1 == self.count;
            let y = half + f64::from(k) * self.edge;
            build.add(BodySpec {
                pose: Pose::translation(self.at[0], self.at[1] + y, self.at[2]),
                shape: Some(shape.clone()),
                mass: Some(if is_top {
                    self.mass * self.top_mass_ratio
                } else {
                    self.mass
                }),
                color: self.style.color(k as usize),
                ..template.clone()
            })?;
        }
        Ok(())
    }
}
