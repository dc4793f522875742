//! Friction bounded row by row: |Λ_T1| ≤ μ₁ Λ_N, |Λ_T2| ≤ μ₂ Λ_N, the box that a linear
//! complementarity problem can hold (Lefebvre 2020, 1.13).

use super::{FrictionRow, Law, Slope, TANGENTS, projection};

/// The law.
#[derive(Clone, Copy, Debug)]
pub struct Square;

impl Law for Square {
    fn rows(self) -> &'static [FrictionRow] {
        &TANGENTS
    }

    #[inline(always)]
    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        friction[0] = projection::within(friction[0], mu[0] * normal);
        friction[1] = projection::within(friction[1], mu[1] * normal);
    }

    /// The squared distance has the slope n − n₀ − Σ μ max(|f₀| − μ n, 0), which is concave, so that Newton's steps from
    /// its line next to zero stop short of the root, and rows that are inside stay there.
    fn project_cone(self, impulse: &mut [f64], mu: [f64; 2]) {
        let [normal, friction @ ..] = impulse else {
            return;
        };
        let mut is_outside = [true; 2];
        let mut next = 0.0;
        for _ in 0..=is_outside.len() {
            let (mut sum, mut squares) = (*normal, 1.0);
            for (k, f) in friction.iter().enumerate().filter(|(k, _)| is_outside[*k]) {
                sum += mu[k] * f.abs();
                squares += mu[k] * mu[k];
            }
            // What is no number must not hide.
            next = if sum > 0.0 { sum / squares } else { 0.0 * sum };
            for (k, f) in friction.iter().enumerate() {
                is_outside[k] &= f.abs() > mu[k] * next;
            }
        }
        *normal = next;
        self.project(friction, mu, next);
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

    fn row_bound(self, row: usize, mu: [f64; 2]) -> f64 {
        mu[row]
    }

    fn is_polyhedral(self) -> bool {
        true
    }
}
