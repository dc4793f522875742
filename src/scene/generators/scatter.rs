use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::random::Random;
use super::super::schema::{Shape, Style};
use super::Generate;
use crate::math::{Pose, Quat, Vec3};
use crate::world::BodySpec;

/// Bodies of any shapes, one shape after the other, turned at random, in a loose lattice that fills
/// up layer by layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scatter {
    /// Number of bodies.
    pub count: u32,
    /// The shapes; needed. Their masses come from the material's density.
    pub shapes: Vec<Shape>,
    /// Bodies along x and z in a layer.
    pub layer: [u32; 2],
    /// Distance between neighbouring places (m).
    pub pitch: f64,
    /// How far a body may be off its place along each axis (m).
    pub jitter: f64,
    /// Whether bodies are turned at random.
    pub turned: bool,
    /// Speed of the fastest random velocity (m/s).
    pub random_velocity: f64,
    /// Seed (`Pcg64`).
    pub seed: u64,
    /// Middle of the lowest layer (m).
    pub at: [f64; 3],
    /// Look and feel; colours go from shape to shape.
    pub style: Style,
}

impl Default for Scatter {
    fn default() -> Self {
        Self {
            count: 50,
            shapes: Vec::new(),
            layer: [5, 5],
            pitch: 1.5,
            jitter: 0.2,
            turned: true,
            random_velocity: 0.0,
            seed: 1,
            at: [0.0, 3.0, 0.0],
            style: Style::default(),
        }
    }
}

impl Generate for Scatter {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn check(&self) -> Check {
        check::at_least("count", self.count, 1)?;
        if self.shapes.is_empty() {
            return Err(FieldError::new(
                "shapes",
                "shapes must hold at least one shape",
            ));
        }
        for (k, shape) in self.shapes.iter().enumerate() {
            shape
                .check()
                .map_err(|e| e.inside(&format!("shapes.{k}")))?;
        }
        for n in self.layer {
            check::at_least("layer", n, 1)?;
        }
        check::positive("pitch", self.pitch)?;
        check::not_negative("jitter", self.jitter)?;
        check::not_negative("random_velocity", self.random_velocity)?;
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let mut shapes = Vec::with_capacity(self.shapes.len());
        for (k, shape) in self.shapes.iter().enumerate() {
            let inside = format!("shapes.{k}");
            let made = build.shape(shape).map_err(|e| e.inside(&inside))?;
            if !made.is_solid() {
                return Err(FieldError::new(
                    inside,
                    "the bodies of Scatter are dynamic and need solid shapes",
                ));
            }
            shapes.push(made);
        }
        let template = build.template(&self.style, None);
        let mut random = Random::new(self.seed);
        let [nx, nz] = self.layer;
        for k in 0..self.count {
            let layer = u64::from(nx) * u64::from(nz);
            let within = u64::from(k) % layer;
            let (i, row, j) = (
                within % u64::from(nx),
                within / u64::from(nx),
                u64::from(k) / layer,
            );
            let place = Vec3::new(
                (i as f64 - 0.5 * f64::from(nx - 1)) * self.pitch,
                j as f64 * self.pitch,
                (row as f64 - 0.5 * f64::from(nz - 1)) * self.pitch,
            );
            let mut off = || random.range(-self.jitter, self.jitter);
            let off = Vec3::new(off(), off(), off());
            let which = k as usize % shapes.len();
            let turn = if self.turned {
                random.rotation()
            } else {
                Quat::identity()
            };
            build.add(BodySpec {
                pose: Pose::new(Vec3::from(self.at) + place + off, turn),
                linear_velocity: random.in_ball(self.random_velocity),
                shape: Some(shapes[which].clone()),
                color: self.style.color(which),
                ..template.clone()
            })?;
        }
        Ok(())
    }
}
