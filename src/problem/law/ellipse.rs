//! Anisotropic friction: (Λ_T1/μ₁)² + (Λ_T2/μ₂)² ≤ Λ_N², for surfaces that slide more easily one way.

use super::{
    ContactMaterial, Friction, FrictionLaw, FrictionRow, Law, Slope, TANGENTS, projection,
};
use crate::math::Vec3;

/// The law.
#[derive(Clone, Copy, Debug)]
pub struct Ellipse;

impl Law for Ellipse {
    fn rows(self) -> &'static [FrictionRow] {
        &TANGENTS
    }

    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        let p = projection::ellipse([friction[0], friction[1]], mu.map(|mu| mu * normal));
        friction[..2].copy_from_slice(&p);
    }

    fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope) {
        let axes = mu.map(|mu| mu * normal);
        projection::ellipsoid_slope([friction[0], friction[1]], axes, slope);
    }

    fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64 {
        (mu[0] * velocity[0]).hypot(mu[1] * velocity[1])
    }

    fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]) {
        projection::length_gradient(velocity, &mu, gradient);
    }

    fn row_bound(self, row: usize, mu: [f64; 2]) -> f64 {
        mu[row]
    }

    fn is_of_materials(self) -> bool {
        true
    }

    fn asked_by(self, material: &ContactMaterial, _arms: &[Vec3; 2]) -> Option<Friction> {
        material.is_anisotropic.then_some(Friction {
            law: FrictionLaw::Ellipse,
            mu: material.friction,
            length: 0.0,
        })
    }
}
