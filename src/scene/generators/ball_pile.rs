use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::random::Random;
use super::super::schema::Style;
use super::Generate;
use crate::math::Pose;
use crate::world::{BodySpec, Geometry};

/// Planes of spheres at pseudo-random distances and velocities (Poulsen 2010, 3.8.2).
///
/// Planes and the rows within a plane are evenly spaced. Along a row each sphere is, by chance,
/// either close enough to the one before to touch it, or well away from it. What touches within the
/// first step depends on the velocities, so that there are fewer contacts than chances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BallPile {
    /// Planes, rows in a plane, and spheres in a row.
    pub size: u32,
    /// Radius (m).
    pub radius: f64,
    /// Mass of a sphere (kg).
    pub mass: f64,
    /// The chance that a sphere is close to the one before it in its row (-), from 0 to 1.
    pub contact_chance: f64,
    /// Largest gap of a close pair (m).
    pub close_gap: f64,
    /// Smallest and largest gap of the other pairs (m).
    pub wide_gap: [f64; 2],
    /// Gap between rows and between planes (m).
    pub row_gap: f64,
    /// Speed of the fastest sphere (m/s).
    pub random_velocity: f64,
    /// Seed (`Pcg64`).
    pub seed: u64,
    /// Centre of the lowest plane (m).
    pub at: [f64; 3],
    /// Look and feel; colours follow the planes.
    pub style: Style,
}

impl Default for BallPile {
    fn default() -> Self {
        Self {
            size: 40,
            radius: 0.5,
            mass: 1.0,
            contact_chance: 0.25,
            close_gap: 0.0064,
            wide_gap: [0.5, 1.5],
            row_gap: 0.5,
            random_velocity: 1.0,
            seed: 1,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for BallPile {
    fn count(&self) -> u64 {
        u64::from(self.size).saturating_pow(3)
    }

    fn check(&self) -> Check {
        check::at_least("size", self.size, 1)?;
        check::positive("radius", self.radius)?;
        check::positive("mass", self.mass)?;
        check::in_range("contact_chance", self.contact_chance, 0.0, 1.0)?;
        check::not_negative("close_gap", self.close_gap)?;
        let [lo, hi] = self.wide_gap;
        check::not_negative("wide_gap", lo)?;
        check::not_negative("wide_gap", hi)?;
        if lo > hi {
            let message = format!("wide_gap must be (smallest, largest), not ({lo}, {hi})");
            return Err(FieldError::new("wide_gap", message));
        }
        check::not_negative("row_gap", self.row_gap)?;
        check::not_negative("random_velocity", self.random_velocity)?;
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let shape = build.solid(Geometry::Ball {
            radius: self.radius,
        })?;
        let template = build.template(&self.style, Some(self.mass));
        let mut random = Random::new(self.seed);
        let n = self.size;
        let diameter = 2.0 * self.radius;
        let pitch = diameter + self.row_gap;
        let middle = 0.5 * f64::from(n - 1);
        let mean_gap = self.contact_chance * 0.5 * self.close_gap
            + (1.0 - self.contact_chance) * 0.5 * (self.wide_gap[0] + self.wide_gap[1]);
        for j in 0..n {
            let color = self.style.color(j as usize);
            for k in 0..n {
                // Rows have random lengths; they are centred as they would be on average.
                let mut x = -middle * (diameter + mean_gap);
                for i in 0..n {
                    if i > 0 {
                        let close = random.unit() < self.contact_chance;
                        let gap = if close {
                            random.range(0.0, self.close_gap)
                        } else {
                            random.range(self.wide_gap[0], self.wide_gap[1])
                        };
                        x += diameter + gap;
                    }
                    build.add(BodySpec {
                        pose: Pose::translation(
                            self.at[0] + x,
                            self.at[1] + f64::from(j) * pitch,
                            self.at[2] + (f64::from(k) - middle) * pitch,
                        ),
                        linear_velocity: random.in_ball(self.random_velocity),
                        shape: Some(shape.clone()),
                        color,
                        ..template.clone()
                    })?;
                }
            }
        }
        Ok(())
    }
}
