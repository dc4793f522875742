//! Rolling resistance: beside Coulomb friction a couple about the tangents of at most k Λ_N, where the arm
//! k is in metres (Chrono's rolling friction, Siconos' RollingFrictionContact in its separable form):
//! ‖Λ_T‖ ≤ μ Λ_N and ‖Λ_R‖ ≤ (k/ℓ) Λ_N, where Λ_R is the couple over the length ℓ of its rows.

use super::{ContactMaterial, Friction, FrictionLaw, FrictionRow, Law, TANGENTS, projection};
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
