use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::{Generate, triangular};
use crate::math::{Pose, Vec3};
use crate::world::{BodySpec, Geometry};

/// Boxes in a triangle: each layer has one box less than the one below. It stands in the plane z = 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoxPyramid {
    /// Number of layers, and of boxes in the lowest one.
    pub layers: u32,
    /// Length, height and depth of a box (m).
    pub size: [f64; 3],
    /// Gap between the boxes of a layer (m).
    pub gap: f64,
    /// Mass of a box (kg); without it the material's density decides.
    pub mass: Option<f64>,
    /// Middle of the underside (m).
    pub at: [f64; 3],
    /// Look and feel; colours follow the layers.
    pub style: Style,
}

impl Default for BoxPyramid {
    fn default() -> Self {
        Self {
            layers: 20,
            size: [1.0; 3],
            gap: 0.1,
            mass: Some(1.0),
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for BoxPyramid {
    fn count(&self) -> u64 {
        triangular(u64::from(self.layers))
    }

    fn check(&self) -> Check {
        check::at_least("layers", self.layers, 1)?;
        for edge in self.size {
            check::positive("size", edge)?;
        }
        check::not_negative("gap", self.gap)?;
        if let Some(mass) = self.mass {
            check::positive("mass", mass)?;
        }
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let [length, height, depth] = self.size;
        let half_extents = 0.5 * Vec3::new(length, height, depth);
        let shape = build.solid(Geometry::Cuboid { half_extents })?;
        let template = build.template(&self.style, self.mass);
        let pitch = length + self.gap;
        for j in 0..self.layers {
            let n = self.layers - j;
            let y = (f64::from(j) + 0.5) * height;
            for k in 0..n {
                let x = (f64::from(k) - 0.5 * f64::from(n - 1)) * pitch;
                build.add(BodySpec {
                    pose: Pose::translation(self.at[0] + x, self.at[1] + y, self.at[2]),
                    shape: Some(shape.clone()),
                    color: self.style.color(j as usize),
                    ..template.clone()
                })?;
            }
        }
        Ok(())
    }
}
