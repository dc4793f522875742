use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::{Generate, triangular};
use crate::math::{Pose, Quat, Vec3};
use crate::world::{BodySpec, Geometry};

/// A house of cards: on every storey pairs of leaning cards, one pair less than on the storey below,
/// and planks from pair to pair. Every card just touches what it leans on or stands on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CardHouse {
    /// Number of storeys, and of pairs on the lowest one.
    pub storeys: u32,
    /// Thickness, length and width of a leaning card (m).
    pub card: [f64; 3],
    /// Angle between a leaning card and the vertical (degrees), from 5 to 40.
    pub lean: f64,
    /// Middle of the underside (m).
    pub at: [f64; 3],
    /// Look and feel; colours follow the storeys, planks in between.
    pub style: Style,
}

impl Default for CardHouse {
    fn default() -> Self {
        Self {
            storeys: 4,
            card: [0.05, 1.0, 0.7],
            lean: 18.0,
            at: [0.0; 3],
            style: Style::default(),
        }
    }
}

impl Generate for CardHouse {
    fn count(&self) -> u64 {
        // Two cards per pair, and a plank between any two neighbours of a storey.
        let n = u64::from(self.storeys);
        triangular(n)
            .saturating_mul(2)
            .saturating_add(triangular(n.saturating_sub(1)))
    }

    fn check(&self) -> Check {
        check::at_least("storeys", self.storeys, 1)?;
        for edge in self.card {
            check::positive("card", edge)?;
        }
        let [thickness, length, _] = self.card;
        if thickness * 4.0 > length {
            let message = "card must be at least four times as long as it is thick";
            return Err(FieldError::new("card", message));
        }
        check::in_range("lean", self.lean, 5.0, 40.0)?;
        check::finite("at", &self.at)
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let [t, l, w] = self.card;
        let lean = self.lean.to_radians();
        let (sin, cos) = lean.sin_cos();
        // Half extents of a leaning card's bounding box, and how far its middle is from the plane
        // in which the two cards of a pair touch: the upper inner edge is at (t cos + l sin)/2.
        let half_height = 0.5 * (t * sin + l * cos);
        let inset = 0.5 * (t * cos + l * sin);
        // Feet stand l sin from the middle of the pair; a thickness of plank remains beyond them.
        let pitch = 2.0 * (l * sin + t);
        let plank = pitch - 0.2 * t;

        let at = Vec3::from(self.at);
        let cuboid = |x: f64, y: f64| {
            build.solid(Geometry::Cuboid {
                half_extents: 0.5 * Vec3::new(x, y, w),
            })
        };
        let (card, board) = (cuboid(t, l)?, cuboid(plank, t)?);
        let template = build.template(&self.style, None);
        let mut base = 0.0;
        for storey in 0..self.storeys {
            let pairs = self.storeys - storey;
            let left = -0.5 * f64::from(pairs - 1) * pitch;
            let color = 2 * storey as usize;
            for k in 0..pairs {
                let middle = left + f64::from(k) * pitch;
                for side in [-1.0, 1.0] {
                    let place = Vec3::new(middle + side * inset, base + half_height, 0.0);
                    // The left card leans to the right: a negative turn about z.
                    let turn = Quat::from_axis_angle(&Vec3::z_axis(), side * lean);
                    build.add(BodySpec {
                        pose: Pose::new(at + place, turn),
                        shape: Some(card.clone()),
                        color: self.style.color(color),
                        ..template.clone()
                    })?;
                }
            }
            base += 2.0 * half_height;
            for k in 1..pairs {
                let middle = left + (f64::from(k) - 0.5) * pitch;
                build.add(BodySpec {
                    pose: Pose::new(
                        at + Vec3::new(middle, base + 0.5 * t, 0.0),
                        Quat::identity(),
                    ),
                    shape: Some(board.clone()),
                    color: self.style.color(color + 1),
                    ..template.clone()
                })?;
            }
            base += t;
        }
        Ok(())
    }
}
