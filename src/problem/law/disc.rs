//! Isotropic Coulomb friction: ‖Λ_T‖ ≤ μ Λ_N (Nützi 2011, 4.16).

use super::{FrictionRow, Law, Slope, TANGENTS, projection};

/// The law.
#[derive(Clone, Copy, Debug)]
pub struct Disc;

/// √(x² + y²), which overflows beyond 1e154. `hypot`, which does not, took 4 % of a step of the wall of 410 bricks.
#[inline(always)]
fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}

impl Law for Disc {
    fn rows(self) -> &'static [FrictionRow] {
        &TANGENTS
    }

    #[inline(always)]
    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        let p = projection::disc([friction[0], friction[1]], mu[0] * normal);
        friction[..2].copy_from_slice(&p);
    }

    /// The second-order cone's projection (Mazhar et al. 2015, section 3): inside, below its polar cone,
    /// or on its surface.
    fn project_cone(self, impulse: &mut [f64], mu: [f64; 2]) {
        let (normal, mu) = (impulse[0], mu[0]);
        let tangent = length([impulse[1], impulse[2]]);
        if tangent <= mu * normal {
            return;
        }
        let on_surface = (normal + mu * tangent) / (1.0 + mu * mu);
        if on_surface <= 0.0 {
            impulse.fill(0.0);
        } else {
            let scale = mu * on_surface / tangent;
            impulse[0] = on_surface;
            impulse[1] *= scale;
            impulse[2] *= scale;
        }
    }

    fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope) {
        projection::disc_slope([friction[0], friction[1]], mu[0] * normal, 0, slope);
    }

    fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64 {
        mu[0] * length([velocity[0], velocity[1]])
    }

    fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]) {
        projection::length_gradient(velocity, &[mu[0], mu[0]], gradient);
    }

    fn row_bound(self, _row: usize, mu: [f64; 2]) -> f64 {
        mu[0]
    }

    fn has_direction(self) -> bool {
        true
    }
}
