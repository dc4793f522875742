//! Rolling resistance: beside Coulomb friction a couple about the tangents of at most k Λ_N, where the arm
//! k is in metres (Chrono's rolling friction, Siconos' RollingFrictionContact in its separable form):
//! ‖Λ_T‖ ≤ μ Λ_N and ‖Λ_R‖ ≤ (k/ℓ) Λ_N, where Λ_R is the couple over the length ℓ of its rows.

use super::{
    ContactMaterial, Friction, FrictionLaw, FrictionRow, Law, Slope, TANGENTS, projection,
};
use crate::math::Vec3;

/// The law. Its coefficients are μ and k/ℓ.
#[derive(Clone, Copy, Debug)]
pub struct Rolling;

const ROWS: [FrictionRow; 4] = [
    TANGENTS[0],
    TANGENTS[1],
    FrictionRow::Turn { axis: 1 },
    FrictionRow::Turn { axis: 2 },
];

impl Law for Rolling {
    fn rows(self) -> &'static [FrictionRow] {
        &ROWS
    }

    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        for (pair, mu) in friction.chunks_exact_mut(2).zip(mu) {
            let p = projection::disc([pair[0], pair[1]], mu * normal);
            pair.copy_from_slice(&p);
        }
    }

    fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope) {
        for row in &mut slope[..4] {
            row[..4].fill(0.0);
        }
        for (k, mu) in mu.into_iter().enumerate() {
            let pair = [friction[2 * k], friction[2 * k + 1]];
            projection::disc_slope(pair, mu * normal, 2 * k, slope);
        }
    }

    fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64 {
        let pairs = velocity.chunks_exact(2).zip(mu);
        pairs.map(|(pair, mu)| mu * pair[0].hypot(pair[1])).sum()
    }

    fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]) {
        let pairs = velocity.chunks_exact(2).zip(gradient.chunks_exact_mut(2));
        for ((velocity, gradient), mu) in pairs.zip(mu) {
            projection::length_gradient(velocity, &[mu, mu], gradient);
        }
    }

    fn row_bound(self, row: usize, mu: [f64; 2]) -> f64 {
        mu[row / 2]
    }

    fn has_direction(self) -> bool {
        true
    }

    fn is_of_materials(self) -> bool {
        true
    }

    /// ℓ is the shorter of the arms, for a ball its radius: its couple then moves the contact as much as a
    /// tangential impulse does.
    fn asked_by(self, material: &ContactMaterial, arms: &[Vec3; 2]) -> Option<Friction> {
        let arm = material.rolling;
        let length = arms[0].norm().min(arms[1].norm()).max(arm);
        (arm > 0.0).then(|| Friction {
            law: FrictionLaw::Rolling,
            mu: [material.friction[0], arm / length],
            length,
        })
    }
}
