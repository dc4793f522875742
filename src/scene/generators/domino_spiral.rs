use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::Generate;
use crate::math::{Pose, Quat, Vec3};
use crate::world::{BodySpec, Geometry};

/// Dominoes along an Archimedean spiral, from the outside in; the first one is falling already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DominoSpiral {
    /// Number of dominoes.
    pub count: u32,
    /// Thickness (along the spiral), height and width of a domino (m).
    pub domino: [f64; 3],
    /// Distance between the middles of neighbours along the spiral (m).
    pub pitch: f64,
    /// Radius at the innermost domino (m).
    pub inner_radius: f64,
    /// Distance between neighbouring turns (m).
    pub turn_distance: f64,
    /// Angular velocity with which the first domino tips over (rad/s).
    pub push: f64,
    /// Centre of the spiral on the ground (m).
    pub at: [f64; 3],
    /// Look and feel; colours go from domino to domino.
    pub style: Style,
}

impl Default for DominoSpiral {
    fn default() -> Self {
        Self {
            count: 200,
            domino: [0.08, 0.5, 0.25],
            pitch: 0.25,
            inner_radius: 1.0,
            turn_distance: 0.6,
            push: 2.5,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for DominoSpiral {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn check(&self) -> Check {
        check::at_least("count", self.count, 1)?;
        for edge in self.domino {
            check::positive("domino", edge)?;
        }
        check::positive("pitch", self.pitch)?;
        if self.pitch <= self.domino[0] {
            let message = format!(
                "pitch must be more than the thickness of a domino ({} m), not {}",
                self.domino[0], self.pitch
            );
            return Err(FieldError::new("pitch", message));
        }
        check::positive("inner_radius", self.inner_radius)?;
        check::positive("turn_distance", self.turn_distance)?;
        check::finite("push", &[self.push])?;
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let [thickness, height, width] = self.domino;
        let half_extents = 0.5 * Vec3::new(thickness, height, width);
        let shape = build.solid(Geometry::Cuboid { half_extents })?;
        let template = build.template(&self.style, None);

        // r = a + b θ, walked outwards in steps of equal arc length: dθ = ds / √(r² + b²).
        let b = self.turn_distance / std::f64::consts::TAU;
        let radius = |angle: f64| self.inner_radius + b * angle;
        let rate = |angle: f64| 1.0 / radius(angle).hypot(b);
        let mut angles = Vec::with_capacity(self.count as usize);
        let mut angle = 0.0;
        for _ in 0..self.count {
            angles.push(angle);
            // The midpoint rule keeps the pitch to a few parts in ten thousand.
            let middle = angle + 0.5 * self.pitch * rate(angle);
            angle += self.pitch * rate(middle);
        }

        for (k, angle) in angles.into_iter().rev().enumerate() {
            let (sin, cos) = angle.sin_cos();
            let r = radius(angle);
            let place = Vec3::new(r * cos, 0.5 * height, r * sin);
            // Inwards along the spiral, against growing θ.
            let along = -Vec3::new(b * cos - r * sin, 0.0, b * sin + r * cos).normalize();
            let heading = Quat::from_axis_angle(&Vec3::y_axis(), (-along.z).atan2(along.x));
            let mut spec = BodySpec {
                pose: Pose::new(Vec3::from(self.at) + place, heading),
                shape: Some(shape.clone()),
                color: self.style.color(k),
                ..template.clone()
            };
            if k == 0 {
                // It turns about its lower front edge.
                spec.name = "first domino".into();
                spec.angular_velocity = Vec3::y().cross(&along) * self.push;
                let edge = along * (0.5 * thickness) - Vec3::y() * (0.5 * height);
                spec.linear_velocity = spec.angular_velocity.cross(&-edge);
            }
            build.add(spec)?;
        }
        Ok(())
    }
}
