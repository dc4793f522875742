//! The one source of randomness in scenes, experiments and tests: PCG XSL RR 128/64 (`Pcg64`), seeded by a whole number.
//! It gives the same numbers on every platform, and so do the maps below, which use nothing that a
//! platform's mathematics library could round differently.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use crate::math::{Quat, Vec3};

/// A seeded `Pcg64`.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// Evenly from [0, 1), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Evenly from [lo, hi).
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    /// Evenly from [−1, 1).
    pub fn signed(&mut self) -> f64 {
        self.range(-1.0, 1.0)
    }

    /// A whole number below `n`, each as likely.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n - 1)
    }

    /// Evenly from the ball of this radius.
    pub fn in_ball(&mut self, radius: f64) -> Vec3 {
        loop {
            let v = Vec3::new(self.signed(), self.signed(), self.signed());
            if v.norm_squared() <= 1.0 {
                return v * radius;
            }
        }
    }

    /// Evenly from all rotations.
    pub fn rotation(&mut self) -> Quat {
        loop {
            let [x, y, z, w] = std::array::from_fn(|_| self.signed());
            let norm: f64 = x * x + y * y + z * z + w * w;
            if norm > 1e-4 && norm <= 1.0 {
                return Quat::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        let mut random = Random::new(1);
        let first: [f64; 3] = std::array::from_fn(|_| random.unit());
        let mut again = Random::new(1);
        assert_eq!(first, std::array::from_fn(|_| again.unit()));
        assert!(first.iter().all(|x| (0.0..1.0).contains(x)));
        assert_ne!(first[0], Random::new(2).unit());
    }

    #[test]
    fn balls_and_rotations_stay_where_they_should() {
        let mut random = Random::new(7);
        for _ in 0..1000 {
            assert!(random.in_ball(2.0).norm() <= 2.0);
            assert!((random.rotation().norm() - 1.0).abs() < 1e-14);
        }
    }
}
