use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::random::Random;
use super::super::schema::Style;
use super::Generate;
use crate::math::{Pose, Quat, Vec3};
use crate::world::{BodySpec, Geometry};

/// A tower of logs, crosswise from layer to layer, more or less in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogTower {
    /// Layers.
    pub layers: u32,
    /// Logs per layer.
    pub logs: u32,
    /// Length of a log (m).
    pub length: f64,
    /// Radius of a log (m).
    pub radius: f64,
    /// How much thicker and thinner logs are, as a share of the radius; from 0 to 0.5. Thin ones may
    /// carry nothing.
    pub variation: f64,
    /// How far logs are turned at random, to either side (degrees).
    pub turn: f64,
    /// How far logs are shifted at random, as a share of the free width between them; from 0 to 1.
    pub shift: f64,
    /// Gap left between the layers (m).
    pub gap: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Middle of its foot (m).
    pub at: [f64; 3],
    /// Look and feel; colours go from log to log.
    pub style: Style,
}

impl Default for LogTower {
    fn default() -> Self {
        Self {
            layers: 10,
            logs: 3,
            length: 3.0,
            radius: 0.15,
            variation: 0.0,
            turn: 0.0,
            shift: 0.0,
            gap: 0.0,
            seed: 1,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for LogTower {
    fn count(&self) -> u64 {
        u64::from(self.layers) * u64::from(self.logs)
    }

    fn check(&self) -> Check {
        check::at_least("layers", self.layers, 1)?;
        check::at_least("logs", self.logs, 1)?;
        check::positive("length", self.length)?;
        check::positive("radius", self.radius)?;
        check::in_range("variation", self.variation, 0.0, 0.5)?;
        check::in_range("turn", self.turn, 0.0, 45.0)?;
        check::in_range("shift", self.shift, 0.0, 1.0)?;
        check::not_negative("gap", self.gap)?;
        check::finite("at", &self.at)?;
        let thickest = 2.0 * self.radius * (1.0 + self.variation) * f64::from(self.logs);
        if thickest > self.length {
            let message = format!(
                "{} logs side by side need {thickest} m, more than their length of {} m",
                self.logs, self.length
            );
            return Err(FieldError::new("logs", message));
        }
        Ok(())
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        use std::f64::consts::FRAC_PI_2;
        let template = build.template(&self.style, None);
        let mut random = Random::new(self.seed);
        let thickest = self.radius * (1.0 + self.variation);
        // The outermost logs are as far out as the crosswise ones below them reach safely.
        let span = 0.8 * self.length - 2.0 * thickest;
        let pitch = span / f64::from(self.logs.max(2) - 1);
        let free = 0.5 * (pitch - 2.0 * thickest).max(0.0);
        let mut foot = 0.0;
        let mut made = 0;
        for layer in 0..self.layers {
            let crosswise = layer % 2 == 1;
            for log in 0..self.logs {
                let radius = self.radius * (1.0 + random.range(-self.variation, self.variation));
                let angle = random.range(-self.turn, self.turn).to_radians();
                let aside = if self.logs == 1 {
                    0.0
                } else {
                    f64::from(log) * pitch - 0.5 * span
                } + random.range(-self.shift, self.shift) * free;
                let along = random.range(-self.shift, self.shift) * 0.05 * self.length;
                let (x, z) = if crosswise {
                    (along, aside)
                } else {
                    (aside, along)
                };
                // The log's axis y goes along z, or along x.
                let lying = if crosswise {
                    Quat::from_axis_angle(&Vec3::z_axis(), FRAC_PI_2)
                } else {
                    Quat::from_axis_angle(&Vec3::x_axis(), FRAC_PI_2)
                };
                let turned = Quat::from_axis_angle(&Vec3::y_axis(), angle) * lying;
                let place = Vec3::from(self.at) + Vec3::new(x, foot + radius, z);
                build.add(BodySpec {
                    pose: Pose::new(place, turned),
                    shape: Some(build.solid(Geometry::Cylinder {
                        half_height: 0.5 * self.length,
                        radius,
                    })?),
                    color: self.style.color(made),
                    ..template.clone()
                })?;
                made += 1;
            }
            foot += 2.0 * thickest + self.gap;
        }
        Ok(())
    }
}
