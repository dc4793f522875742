//! Coulomb–Contensou friction, with spin: (‖Λ_T‖/(μΛ_N))² + (Λ_τ/(⅔ μΛ_N))² ≤ 1.
//! The limit surface is taken as an ellipsoid; Λ_τ is the spin moment over the contact radius R_c.

use super::{
    ContactMaterial, Friction, FrictionLaw, FrictionRow, Law, Slope, TANGENTS, projection,
};
use crate::math::Vec3;

/// The law.
#[derive(Clone, Copy, Debug)]
pub struct Contensou;

/// The share of μ that bounds the spin impulse: that of a uniformly loaded disc-shaped contact of
/// radius R_c.
pub const SPIN_SHARE: f64 = 2.0 / 3.0;

const ROWS: [FrictionRow; 3] = [TANGENTS[0], TANGENTS[1], FrictionRow::Turn { axis: 0 }];

impl Law for Contensou {
    fn rows(self) -> &'static [FrictionRow] {
        &ROWS
    }

    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        let a = mu[0] * normal;
        // The ellipsoid is round in the tangential plane: project in (‖Λ_T‖, Λ_τ).
        let t = friction[0].hypot(friction[1]);
        let p = projection::ellipse([t, friction[2]], [a, SPIN_SHARE * a]);
        let scale = if t > 0.0 { p[0] / t } else { 0.0 };
        friction[0] *= scale;
        friction[1] *= scale;
        friction[2] = p[1];
    }

    fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope) {
        let a = mu[0] * normal;
        let axes = [a, a, SPIN_SHARE * a];
        projection::ellipsoid_slope([friction[0], friction[1], friction[2]], axes, slope);
    }

    fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64 {
        let slide = velocity[0].hypot(velocity[1]);
        mu[0] * slide.hypot(SPIN_SHARE * velocity[2])
    }

    fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]) {
        let mu = mu[0];
        projection::length_gradient(velocity, &[mu, mu, SPIN_SHARE * mu], gradient);
    }

    fn row_bound(self, row: usize, mu: [f64; 2]) -> f64 {
        if row == 2 { SPIN_SHARE * mu[0] } else { mu[0] }
    }

    fn is_of_materials(self) -> bool {
        true
    }

    fn asked_by(self, material: &ContactMaterial, _arms: &[Vec3; 2]) -> Option<Friction> {
        (material.spin_radius > 0.0).then_some(Friction {
            law: FrictionLaw::Contensou,
            mu: material.friction,
            length: material.spin_radius,
        })
    }
}
