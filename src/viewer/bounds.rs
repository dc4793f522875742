//! How much there is to see: what moves, but for what has escaped.
//!
//! Principle: the middle of the bodies is the median of each coordinate, which few bodies cannot move
//! far. At most one body of four or more, or 2 % of many, may have escaped; such a body has escaped if
//! it is more than [`FAR`] times as far from the middle as all the others are. Everything else is seen.

use bevy::prelude::*;

/// One of so many bodies may have escaped; of fewer, but at least [`FEWEST`], one (-).
const ESCAPING: usize = 50;
/// Of fewer bodies than this all are seen.
const FEWEST: usize = 4;
/// How much farther than the others a body is that has escaped (-): with four times the distance the
/// others would fill a quarter of the picture.
const FAR: f32 = 4.0;
/// Of more bodies than this, every second, third, … tells where the middle is and how far the others are.
const MOST_SAMPLES: usize = 2048;

/// A sphere around what moves. Shadows are fitted to it, and "frame all" shows it.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Centre (m).
    pub center: Vec3,
    /// Radius (m).
    pub radius: f32,
    /// Typical size of a body, for the grid and for arrows (m).
    pub body_size: f32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            center: Vec3::ZERO,
            radius: 5.0,
            body_size: 0.5,
        }
    }
}

/// Finds [`Bounds`], and keeps its memory.
#[derive(Default)]
pub struct Surveyor {
    samples: Vec<Vec3>,
    numbers: Vec<f32>,
}

impl Surveyor {
    /// The bounds of bodies with these centres and radii (m); bodies whose place is not finite are left
    /// out, and without any the sphere is that of [`Bounds::default`].
    pub fn survey(
        &mut self,
        bodies: impl Iterator<Item = (Vec3, f32)> + Clone,
        body_size: f32,
    ) -> Bounds {
        let bodies = bodies.filter(|(place, _)| place.is_finite());
        let count = bodies.clone().count();
        let stride = count.div_ceil(MOST_SAMPLES).max(1);
        self.samples.clear();
        let sampled = bodies.clone().map(|(place, _)| place).step_by(stride);
        self.samples.extend(sampled);
        if self.samples.is_empty() {
            return Bounds {
                body_size,
                ..Bounds::default()
            };
        }
        let n = self.samples.len();
        let middle = Vec3::from([0, 1, 2].map(|k| self.nth(n / 2, |p| p[k])));
        let escaping = if n < FEWEST { 0 } else { (n / ESCAPING).max(1) };
        let others = self.nth(n - 1 - escaping, |p| p.distance(middle));
        let reach = if escaping == 0 {
            f32::INFINITY
        } else {
            FAR * (others + body_size)
        };
        let seen = bodies.filter(|(place, _)| place.distance(middle) <= reach);
        let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let (low, high) = seen.fold(start, |(low, high), (place, radius)| {
            (low.min(place - radius), high.max(place + radius))
        });
        Bounds {
            center: 0.5 * (low + high),
            radius: 0.5 * low.distance(high),
            body_size,
        }
    }

    /// The k-th smallest of a number of each sample.
    fn nth(&mut self, k: usize, of: impl Fn(&Vec3) -> f32) -> f32 {
        self.numbers.clear();
        self.numbers.extend(self.samples.iter().map(of));
        *self.numbers.select_nth_unstable_by(k, f32::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &[Vec3]) -> Bounds {
        let bodies = places.iter().map(|place| (*place, 0.5));
        Surveyor::default().survey(bodies, 0.5)
    }

    fn row(count: usize, from: f32) -> Vec<Vec3> {
        (0..count).map(|k| Vec3::X * (from + k as f32)).collect()
    }

    #[test]
    fn a_body_that_has_escaped_changes_nothing() {
        for count in [4, 9, 60, 5000] {
            let mut places = row(count, 0.0);
            let before = of(&places);
            for k in 0..(count / 100).max(1) {
                places.push(Vec3::new(0.0, -1e5, 1e4 * k as f32));
            }
            assert_eq!(of(&places), before, "of {count}");
        }
    }

    #[test]
    fn both_of_two_clusters_are_seen() {
        for count in [2, 5, 100] {
            let places = [row(count, -1000.0), row(count, 1000.0)].concat();
            let bounds = of(&places);
            let width = 1000.0 + count as f32 / 2.0;
            assert!((bounds.radius - width).abs() < 2.0, "{count}: {bounds:?}");
        }
    }

    #[test]
    fn one_body_none_and_bodies_that_are_nowhere() {
        let alone = of(&[Vec3::ONE]);
        assert_eq!(alone.center, Vec3::ONE);
        assert!((alone.radius - 0.75f32.sqrt()).abs() < 1e-6);
        assert_eq!(of(&[]), Bounds::default());
        assert_eq!(of(&[Vec3::NAN; 3]), Bounds::default());
        assert_eq!(of(&[Vec3::ONE, Vec3::NAN, Vec3::INFINITY]), alone);
    }

    #[test]
    fn nobody_of_three_has_escaped() {
        let bounds = of(&[Vec3::ZERO, Vec3::X, Vec3::X * 1000.0]);
        assert!(bounds.radius > 500.0);
    }
}
