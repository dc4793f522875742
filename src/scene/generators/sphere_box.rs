use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::random::Random;
use super::super::schema::{Color, Style};
use super::Generate;
use crate::math::{Pose, Vec3};
use crate::world::{BodyKind, BodySpec, Geometry};

/// Spheres that fall into an open box of fixed walls (Nützi 2011, 6.2).
///
/// The spheres start in loose layers, each a little off its place so that nothing is symmetric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SphereBox {
    /// Number of spheres.
    pub count: u32,
    /// Radius (m).
    pub radius: f64,
    /// Inner length of the box along x and z (m).
    pub width: f64,
    /// Height of the walls (m).
    pub wall_height: f64,
    /// Thickness of floor and walls (m).
    pub wall_thickness: f64,
    /// Gap between the starting places of neighbours, in radii (-).
    pub gap: f64,
    /// Height of the lowest spheres above the floor (m).
    pub drop_height: f64,
    /// Seed of the displacements (`Pcg64`).
    pub seed: u64,
    /// Centre of the inside of the floor (m).
    pub at: [f64; 3],
    /// Colour of floor and walls.
    pub wall_color: Option<Color>,
    /// Look and feel; colours go from sphere to sphere.
    pub style: Style,
}

impl Default for SphereBox {
    fn default() -> Self {
        Self {
            count: 300,
            radius: 0.1,
            width: 1.6,
            wall_height: 1.6,
            wall_thickness: 0.2,
            gap: 0.25,
            drop_height: 0.2,
            seed: 1,
            at: [0.0; 3],
            wall_color: None,
            style: Style::default(),
        }
    }
}

impl SphereBox {
    fn pitch(&self) -> f64 {
        self.radius * (2.0 + self.gap)
    }

    /// Spheres along one edge of a layer.
    fn per_edge(&self) -> u32 {
        // At most as many as there are spheres, so that the cast cannot overflow.
        ((self.width / self.pitch()).floor()).clamp(0.0, f64::from(self.count)) as u32
    }
}

impl Generate for SphereBox {
    fn count(&self) -> u64 {
        u64::from(self.count) + 5
    }

    fn check(&self) -> Check {
        check::at_least("count", self.count, 1)?;
        check::positive("radius", self.radius)?;
        check::positive("width", self.width)?;
        check::positive("wall_height", self.wall_height)?;
        check::positive("wall_thickness", self.wall_thickness)?;
        check::not_negative("gap", self.gap)?;
        check::not_negative("drop_height", self.drop_height)?;
        check::finite("at", &self.at)?;
        if self.per_edge() == 0 {
            let message = format!(
                "width must hold at least one sphere and its gap ({} m), not {}",
                self.pitch(),
                self.width
            );
            return Err(FieldError::new("width", message));
        }
        Ok(())
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let at = Vec3::from(self.at);
        let (t, inner, height) = (
            0.5 * self.wall_thickness,
            0.5 * self.width,
            0.5 * self.wall_height,
        );
        let outer = inner + 2.0 * t;
        // Floor below everything; the walls along x reach over the ends of those along z.
        let walls = [
            ("floor", [0.0, -t, 0.0], [outer, t, outer]),
            ("wall +x", [inner + t, height, 0.0], [t, height, outer]),
            ("wall -x", [-inner - t, height, 0.0], [t, height, outer]),
            ("wall +z", [0.0, height, inner + t], [inner, height, t]),
            ("wall -z", [0.0, height, -inner - t], [inner, height, t]),
        ];
        for (name, center, half) in walls {
            let shape = build.solid(Geometry::Cuboid {
                half_extents: Vec3::from(half),
            })?;
            build.add(BodySpec {
                name: name.into(),
                kind: BodyKind::Fixed,
                pose: Pose::new(at + Vec3::from(center), Pose::IDENTITY.rotation),
                shape: Some(shape),
                color: self.wall_color.map(Color::linear),
                ..build.template(&self.style, None)
            })?;
        }

        let shape = build.solid(Geometry::Ball {
            radius: self.radius,
        })?;
        let template = build.template(&self.style, None);
        let mut random = Random::new(self.seed);
        let n = self.per_edge();
        let middle = 0.5 * f64::from(n - 1);
        let jitter = 0.45 * self.gap * self.radius;
        for s in 0..self.count {
            let (i, k, j) = (s % n, s / n % n, s / n / n);
            let place = Vec3::new(
                (f64::from(i) - middle) * self.pitch(),
                self.drop_height + self.radius + f64::from(j) * self.pitch(),
                (f64::from(k) - middle) * self.pitch(),
            );
            let off = Vec3::new(
                random.range(-jitter, jitter),
                random.range(-jitter, jitter),
                random.range(-jitter, jitter),
            );
            build.add(BodySpec {
                pose: Pose::new(at + place + off, Pose::IDENTITY.rotation),
                shape: Some(shape.clone()),
                color: self.style.color(s as usize),
                ..template.clone()
            })?;
        }
        Ok(())
    }
}
