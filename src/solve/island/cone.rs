//! The cones K = {Λ_N ≥ 0, Λ_T ∈ Λ_N 𝒞} of the friction laws: projection, and its derivative.

use crate::problem::law::{Law, Slope, projection};
use crate::problem::{Friction, FrictionLaw};

/// Projects `z` onto the cone, in place, and writes the derivative of the projection to `slope` if it is asked for.
///
/// With ν the new normal impulse, p the projection of z_T onto ν𝒞, D = ∂p/∂z_T and d = ∂p/∂ν, the projection minimises
/// ½(ν − z_N)² + G(z_T, ν) with G = ½ dist²(z_T, ν𝒞). p is homogeneous of degree 1 in (z_T, ν), and so is
/// ∂G/∂ν = −(z_T − p)·p/ν, so that Euler's theorem gives d = (p − D z_T)/ν and g = ∂²G/∂ν² = (∂G/∂ν + d·z_T)/ν. Then
/// ∂ν/∂(z_N, z_T) = (1, dᵀ)/(1 + g), and ∂Λ_T = D ∂z_T + d ∂ν.
pub fn project(friction: &Friction, z: &mut [f64], slope: Option<&mut Slope>) {
    let n = z.len();
    let mut from = [0.0; FrictionLaw::MAX_ROWS];
    from[..n].copy_from_slice(z);
    friction.law.project_cone(z, friction.mu);
    let Some(slope) = slope else { return };
    for row in &mut slope[..n] {
        row[..n].fill(0.0);
    }
    if z[0] <= 0.0 {
        return;
    }
    if z == &from[..n] {
        for (k, row) in slope[..n].iter_mut().enumerate() {
            row[k] = 1.0;
        }
        return;
    }
    let normal = z[0];
    let mut inner: Slope = [[0.0; FrictionLaw::MAX_ROWS]; FrictionLaw::MAX_ROWS];
    friction
        .law
        .slope(&from[1..n], friction.mu, normal, &mut inner);
    let (p, t) = (&z[1..], &from[1..n]);
    let mut d = [0.0; FrictionLaw::MAX_ROWS];
    for (k, d) in d[..n - 1].iter_mut().enumerate() {
        let image: f64 = inner[k].iter().zip(t).map(|(a, b)| a * b).sum();
        *d = (p[k] - image) / normal;
    }
    let pull: f64 = t.iter().zip(p).map(|(t, p)| (t - p) * p).sum();
    let along: f64 = d.iter().zip(t).map(|(d, t)| d * t).sum();
    let g = ((along - pull / normal) / normal).max(0.0);
    let share = 1.0 / (1.0 + g);
    slope[0][0] = share;
    for i in 1..n {
        slope[0][i] = d[i - 1] * share;
        slope[i][0] = slope[0][i];
        for j in 1..n {
            slope[i][j] = inner[i - 1][j - 1] + d[i - 1] * d[j - 1] * share;
        }
    }
}

/// The errors of a contact's normal row and friction block, as [`crate::problem::residual`] defines them (m/s), with
/// its diagonal of A.
pub fn errors(friction: &Friction, x: &[f64], w: &[f64], diagonal: &[f64]) -> [f64; 2] {
    // Where no impulse moves anything nothing is owed.
    let step = |d: f64| if d == 0.0 { 0.0 } else { 1.0 / d };
    let largest = diagonal[1..].iter().copied().fold(0.0, f64::max);
    if let (FrictionLaw::Disc, [n, a, b], [v, s, t]) = (friction.law, x, w) {
        // What follows, without loops: it is most of what is asked for.
        let normal = (n - step(diagonal[0]) * v).max(0.0);
        let step = step(largest);
        let [p, q] = projection::disc([a - step * s, b - step * t], friction.mu[0] * normal);
        let missed = ((p - a) * (p - a) + (q - b) * (q - b)).sqrt();
        return [(normal - n).abs() * diagonal[0], missed * largest];
    }
    let mut next = [0.0; FrictionLaw::MAX_ROWS];
    let next = &mut next[..x.len()];
    for (k, next) in next.iter_mut().enumerate() {
        *next = x[k] - step(if k == 0 { diagonal[0] } else { largest }) * w[k];
    }
    next[0] = next[0].max(0.0);
    let normal = next[0];
    friction.project(&mut next[1..], normal);
    let pairs = next[1..].iter().zip(&x[1..]);
    let square: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
    [(normal - x[0]).abs() * diagonal[0], square.sqrt() * largest]
}

/// The error of a general row (m/s).
pub fn row_error([lo, hi]: [f64; 2], x: f64, w: f64, diagonal: f64) -> f64 {
    let step = if diagonal == 0.0 { 0.0 } else { 1.0 / diagonal };
    ((x - step * w).max(lo).min(hi) - x).abs() * diagonal
}
