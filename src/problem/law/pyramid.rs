//! Polyhedral friction: `sides`/2 directions, evenly spread over the tangential plane, each with
//! |Λ_d| ≤ tan(π/sides) μ Λ_N. Their sum fills the regular polygon around the disc.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{FrictionRow, Law, Slope, TANGENTS, projection};
use crate::check::{Invalid, demand};

/// Most sides a polyhedral friction law may have.
pub const MAX_SIDES: u8 = 16;

const HALF: usize = MAX_SIDES as usize / 2;

/// The law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pyramid {
    /// Number of sides: even, 4 to 16. Four is the box.
    pub sides: u8,
}

/// A pyramid's rows and the share of μ Λ_N that bounds each: half an edge of the regular polygon
/// around the unit circle.
#[derive(Clone, Copy)]
struct Table {
    rows: [FrictionRow; HALF],
    share: f64,
}

/// The pyramids by half their number of sides; sweeps ask for them row by row.
static TABLES: LazyLock<[Table; 1 + HALF]> = LazyLock::new(|| {
    std::array::from_fn(|half| {
        let sides = 2 * half;
        let direction = |k: usize| {
            // The axes are exact, so that four sides are the box to the last bit.
            if k == 0 {
                TANGENTS[0]
            } else if sides.is_multiple_of(4) && k == sides / 4 {
                TANGENTS[1]
            } else {
                let angle = std::f64::consts::TAU * k as f64 / sides.max(1) as f64;
                FrictionRow::Slide {
                    direction: [angle.cos(), angle.sin()],
                }
            }
        };
        Table {
            rows: std::array::from_fn(direction),
            share: if sides == 4 {
                1.0
            } else {
                (std::f64::consts::PI / sides as f64).tan()
            },
        }
    })
});

impl Pyramid {
    fn table(self) -> &'static Table {
        &TABLES[self.sides as usize / 2]
    }
}

impl Law for Pyramid {
    fn rows(self) -> &'static [FrictionRow] {
        &self.table().rows[..self.sides as usize / 2]
    }

    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        let bound = self.row_bound(0, mu) * normal;
        for f in friction {
            *f = projection::within(*f, bound);
        }
    }

    fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope) {
        projection::rows_slope(friction, |row| self.row_bound(row, mu) * normal, slope);
    }

    fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64 {
        projection::rows_support(velocity, |row| self.row_bound(row, mu))
    }

    fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]) {
        projection::rows_support_gradient(velocity, |row| self.row_bound(row, mu), gradient);
    }

    #[inline]
    fn row_bound(self, _row: usize, mu: [f64; 2]) -> f64 {
        self.table().share * mu[0]
    }

    fn is_polyhedral(self) -> bool {
        true
    }

    fn is_redundant(self) -> bool {
        true
    }

    fn check(self) -> Result<(), Invalid> {
        let is_fine = (4..=MAX_SIDES).contains(&self.sides) && self.sides.is_multiple_of(2);
        let expected = "a pyramid with an even number of sides from 4 to 16";
        demand(is_fine, "friction_law", expected, format_args!("{self:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directions(sides: u8) -> impl Iterator<Item = [f64; 2]> {
        Pyramid { sides }.rows().iter().map(|row| match row {
            FrictionRow::Slide { direction } => *direction,
            FrictionRow::Turn { .. } => panic!("a pyramid only slides"),
        })
    }

    #[test]
    fn pyramids_hold_between_the_disc_and_its_corners() {
        // The largest tangential impulse in any direction lies between the in- and circumradius.
        for sides in [4u8, 6, 8, 12, 16] {
            let share = Pyramid { sides }.row_bound(0, [1.0; 2]);
            for k in 0..360 {
                let (s, c) = f64::from(k).to_radians().sin_cos();
                let support: f64 = directions(sides)
                    .map(|d| share * (d[0] * c + d[1] * s).abs())
                    .sum();
                let corner = 1.0 / (std::f64::consts::PI / f64::from(sides)).cos();
                assert!(
                    support > 1.0 - 1e-12 && support < corner + 1e-12,
                    "{sides}: {support}"
                );
            }
        }
    }

    #[test]
    fn four_sided_pyramid_is_the_box() {
        assert_eq!(Pyramid { sides: 4 }.rows(), TANGENTS);
        assert_eq!(Pyramid { sides: 4 }.row_bound(1, [0.7; 2]), 0.7);
    }
}
