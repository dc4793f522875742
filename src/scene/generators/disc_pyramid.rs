use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::{Generate, triangular};
use crate::math::{Pose, SymMat3, Twist, Vec3};
use crate::world::{BodyKind, BodySpec, Geometry};

/// Planar discs in a triangle (Munksgaard & Kaiser).
///
/// The discs are spheres in the plane z = 0 with the inertia ½ m r² of a disc, so that every pair
/// touches in one point and nothing leaves the plane. With n layers there are 3n/2·(n − 1) contacts
/// between discs. Bodies follow each other layer by layer from below, and along x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiscPyramid {
    /// Number of layers.
    pub layers: u32,
    /// Radius (m).
    pub radius: f64,
    /// Mass of a disc (kg).
    pub mass: f64,
    /// Constant force that pushes the top disc down (N).
    pub load: f64,
    /// Whether a fixed stop on either side touches the outer discs of the lowest layer. Discs roll,
    /// and more than a few layers would push them apart. The stops come first.
    pub stops: bool,
    /// Middle of the underside (m).
    pub at: [f64; 3],
    /// Look and feel; colours follow the layers.
    pub style: Style,
}

impl Default for DiscPyramid {
    fn default() -> Self {
        Self {
            layers: 10,
            radius: 1.0,
            mass: 1.0,
            load: 0.0,
            stops: true,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for DiscPyramid {
    fn count(&self) -> u64 {
        triangular(u64::from(self.layers)).saturating_add(if self.stops { 2 } else { 0 })
    }

    fn check(&self) -> Check {
        check::at_least("layers", self.layers, 1)?;
        check::positive("radius", self.radius)?;
        check::positive("mass", self.mass)?;
        check::finite("load", &[self.load])?;
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
        let i = 0.5 * self.mass * self.radius * self.radius;
        let rise = self.radius * 3.0_f64.sqrt();
        if self.stops {
            let r = self.radius;
            let half_extents = Vec3::new(0.25 * r, 0.6 * r, r);
            let block = build.solid(Geometry::Cuboid { half_extents })?;
            for side in [-1.0, 1.0] {
                let x = side * (f64::from(self.layers) * r + half_extents.x);
                build.add(BodySpec {
                    kind: BodyKind::Fixed,
                    pose: Pose::translation(
                        self.at[0] + x,
                        self.at[1] + half_extents.y,
                        self.at[2],
                    ),
                    shape: Some(block.clone()),
                    ..build.template(&self.style, None)
                })?;
            }
        }
        let mut top = None;
        for j in 0..self.layers {
            let n = self.layers - j;
            for k in 0..n {
                let x = (2.0 * f64::from(k) - f64::from(n - 1)) * self.radius;
                let y = self.radius + f64::from(j) * rise;
                top = Some(build.add(BodySpec {
                    pose: Pose::translation(self.at[0] + x, self.at[1] + y, self.at[2]),
                    shape: Some(shape.clone()),
                    inertia: Some(SymMat3::diagonal(i, i, i)),
                    color: self.style.color(j as usize),
                    ..template.clone()
                })?);
            }
        }
        if let Some(top) = top {
            build.world.bodies.force[top.index()] = Twist {
                linear: Vec3::new(0.0, -self.load, 0.0),
                angular: Vec3::zeros(),
            };
        }
        Ok(())
    }
}
