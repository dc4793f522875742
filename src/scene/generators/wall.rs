use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::Generate;
use crate::math::{Pose, Vec3};
use crate::world::{BodySpec, Geometry};

/// A wall of bricks in running bond: every course is half a brick off the one below, and every
/// second one ends in half bricks. It stands in the plane z = 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wall {
    /// Number of courses.
    pub courses: u32,
    /// Bricks along a course.
    pub bricks: u32,
    /// Length, height and depth of a brick (m).
    pub brick: [f64; 3],
    /// Width of the open joints between the bricks of a course (m).
    pub joint: f64,
    /// Middle of the underside (m).
    pub at: [f64; 3],
    /// Look and feel; colours go from brick to brick.
    pub style: Style,
}

impl Default for Wall {
    fn default() -> Self {
        Self {
            courses: 20,
            bricks: 10,
            brick: [0.5, 0.25, 0.25],
            joint: 0.005,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for Wall {
    fn count(&self) -> u64 {
        let [courses, bricks] = [self.courses, self.bricks].map(u64::from);
        // Odd courses have one brick less and two halves.
        courses.saturating_mul(bricks).saturating_add(courses / 2)
    }

    fn check(&self) -> Check {
        check::at_least("courses", self.courses, 1)?;
        check::at_least("bricks", self.bricks, 1)?;
        for edge in self.brick {
            check::positive("brick", edge)?;
        }
        check::not_negative("joint", self.joint)?;
        if self.joint >= 0.5 * self.brick[0] {
            let message = format!(
                "joint must be below half of a brick's length, not {}",
                self.joint
            );
            return Err(FieldError::new("joint", message));
        }
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let [length, height, depth] = self.brick;
        let pitch = length + self.joint;
        // Two halves and the joint between them are as long as one brick.
        let half_length = 0.5 * (length - self.joint);
        let cuboid = |length: f64| {
            build.solid(Geometry::Cuboid {
                half_extents: Vec3::new(0.5 * length, 0.5 * height, 0.5 * depth),
            })
        };
        let (whole, half) = (cuboid(length)?, cuboid(half_length)?);
        let template = build.template(&self.style, None);
        let left = -0.5 * (f64::from(self.bricks) * pitch - self.joint);
        let mut made = 0;
        for course in 0..self.courses {
            let y = (f64::from(course) + 0.5) * height;
            let halves = course % 2 == 1;
            let pieces = self.bricks + u32::from(halves);
            let mut start = left;
            for piece in 0..pieces {
                let is_half = halves && (piece == 0 || piece + 1 == pieces);
                let (shape, length) = if is_half {
                    (&half, half_length)
                } else {
                    (&whole, length)
                };
                build.add(BodySpec {
                    pose: Pose::translation(
                        self.at[0] + start + 0.5 * length,
                        self.at[1] + y,
                        self.at[2],
                    ),
                    shape: Some(shape.clone()),
                    color: self.style.color(made),
                    ..template.clone()
                })?;
                made += 1;
                start += length + self.joint;
            }
        }
        Ok(())
    }
}
