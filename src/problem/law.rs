//! The convex sets of the contact laws and their proximal maps.
//!
//! Every law of the discrete problem says Λ = prox_𝒞(Λ − ρ w) for a closed convex set 𝒞
//! (Nützi 2011, 4.36; Poulsen 2010, 2.78). Here are the maps, one function per kind of set.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Most sides a polyhedral friction law may have.
pub const MAX_SIDES: u8 = 16;

/// The friction law of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrictionLaw {
    /// ‖Λ_T‖ ≤ μ Λ_N: isotropic Coulomb friction.
    #[default]
    Disc,
    /// |Λ_T1|, |Λ_T2| ≤ μ Λ_N.
    Box,
    /// `sides`/2 directions, evenly spread over the tangential plane, each with
    /// |Λ_d| ≤ tan(π/sides) μ Λ_N: their sum fills the regular polygon around the disc.
    Pyramid {
        /// Number of sides: even, 4 to 16. Four is the box.
        sides: u8,
    },
    /// (Λ_T1/μ₁)² + (Λ_T2/μ₂)² ≤ Λ_N²: anisotropic friction.
    Ellipse,
    /// (‖Λ_T‖/(μΛ_N))² + (Λ_τ/(⅔ μΛ_N))² ≤ 1: Coulomb–Contensou friction, with spin.
    Contensou,
}

/// The share of μ that bounds the spin impulse of Coulomb–Contensou friction: that of a uniformly
/// loaded disc-shaped contact of radius R_c.
pub const SPIN_SHARE: f64 = 2.0 / 3.0;

/// A pyramid's directions and the share of μ Λ_N that bounds each.
#[derive(Clone, Copy, Default)]
struct Pyramid {
    directions: [[f64; 2]; MAX_SIDES as usize / 2],
    share: f64,
}

/// The pyramids by half their number of sides; sweeps ask for them row by row.
static PYRAMIDS: LazyLock<[Pyramid; 1 + MAX_SIDES as usize / 2]> = LazyLock::new(|| {
    let mut all = [Pyramid::default(); 1 + MAX_SIDES as usize / 2];
    for (half, pyramid) in all.iter_mut().enumerate().skip(2) {
        let sides = 2 * half;
        for (k, direction) in pyramid.directions[..half].iter_mut().enumerate() {
            // The axes are exact, so that four sides are the box to the last bit.
            *direction = if k == 0 {
                [1.0, 0.0]
            } else if sides % 4 == 0 && k == sides / 4 {
                [0.0, 1.0]
            } else {
                let angle = std::f64::consts::TAU * k as f64 / sides as f64;
                [angle.cos(), angle.sin()]
            };
        }
        pyramid.share = if sides == 4 {
            1.0
        } else {
            (std::f64::consts::PI / sides as f64).tan()
        };
    }
    all
});

impl FrictionLaw {
    /// Number of impulse components of a contact with this law, the normal one included.
    pub const fn rows(self) -> usize {
        match self {
            Self::Disc | Self::Box | Self::Ellipse => 3,
            Self::Pyramid { sides } => 1 + sides as usize / 2,
            Self::Contensou => 4,
        }
    }

    /// Most rows that any law has.
    pub const MAX_ROWS: usize = 1 + MAX_SIDES as usize / 2;

    /// Whether the parameters are in range.
    pub const fn is_valid(self) -> bool {
        match self {
            Self::Pyramid { sides } => sides >= 4 && sides <= MAX_SIDES && sides.is_multiple_of(2),
            _ => true,
        }
    }

    /// The direction (cos, sin) in (t₁, t₂) of friction row `k` (from 0) of a pyramid.
    #[inline]
    pub fn pyramid_direction(sides: u8, k: usize) -> [f64; 2] {
        PYRAMIDS[sides as usize / 2].directions[k]
    }

    /// The bound of one direction of a pyramid, as a share of μ Λ_N: half an edge of the regular
    /// polygon around the unit circle.
    #[inline]
    pub fn pyramid_share(sides: u8) -> f64 {
        PYRAMIDS[sides as usize / 2].share
    }

    /// Projects a friction impulse onto the set that the normal impulse allows, in place.
    ///
    /// `friction` holds the rows after the normal one; `mu` are μ₁ and μ₂; `normal` is Λ_N ≥ 0.
    #[inline]
    pub fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        match self {
            Self::Disc => {
                let p = disc([friction[0], friction[1]], mu[0] * normal);
                friction[0] = p[0];
                friction[1] = p[1];
            }
            Self::Box => {
                friction[0] = within(friction[0], mu[0] * normal);
                friction[1] = within(friction[1], mu[1] * normal);
            }
            Self::Pyramid { sides } => {
                let bound = Self::pyramid_share(sides) * mu[0] * normal;
                for f in friction {
                    *f = within(*f, bound);
                }
            }
            Self::Ellipse => {
                let p = ellipse([friction[0], friction[1]], [mu[0] * normal, mu[1] * normal]);
                friction[0] = p[0];
                friction[1] = p[1];
            }
            Self::Contensou => {
                let a = mu[0] * normal;
                // The ellipsoid is round in the tangential plane: project in (‖Λ_T‖, Λ_τ).
                let t = friction[0].hypot(friction[1]);
                let p = ellipse([t, friction[2]], [a, SPIN_SHARE * a]);
                let scale = if t > 0.0 { p[0] / t } else { 0.0 };
                friction[0] *= scale;
                friction[1] *= scale;
                friction[2] = p[1];
            }
        }
    }

    /// The bound of friction row `row` (from 0) by itself, as a multiple of Λ_N: half a side of the box
    /// around the set, or of the set itself where that is a box or a pyramid.
    #[inline]
    pub fn row_bound(self, row: usize, mu: [f64; 2]) -> f64 {
        match self {
            Self::Pyramid { sides } => Self::pyramid_share(sides) * mu[0],
            Self::Contensou if row == 2 => SPIN_SHARE * mu[0],
            Self::Contensou | Self::Disc => mu[0],
            Self::Box | Self::Ellipse => mu[row],
        }
    }

    /// Projects every friction row by itself onto ± its own bound, in place.
    pub fn project_rows(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
        for (row, f) in friction.iter_mut().enumerate() {
            *f = within(*f, self.row_bound(row, mu) * normal);
        }
    }

    /// How far a friction impulse is outside of its set (N s); 0 inside.
    pub fn violation(self, friction: &[f64], mu: [f64; 2], normal: f64) -> f64 {
        distance(friction, |inside| self.project(inside, mu, normal.max(0.0)))
    }
}

/// How far a friction impulse is from what `project` makes of it (N s).
pub fn distance(friction: &[f64], project: impl FnOnce(&mut [f64])) -> f64 {
    let mut inside = [0.0; FrictionLaw::MAX_ROWS];
    let inside = &mut inside[..friction.len()];
    inside.copy_from_slice(friction);
    project(inside);
    let squares = friction.iter().zip(inside.iter());
    squares.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Projection onto [−bound, bound]; zero where the bound is negative, NaN where either is NaN.
#[inline(always)]
pub fn within(x: f64, bound: f64) -> f64 {
    if bound > 0.0 {
        x.clamp(-bound, bound)
    } else if bound <= 0.0 {
        0.0 * x
    } else {
        f64::NAN
    }
}

/// Projection onto the disc of the given radius.
#[inline(always)]
pub fn disc(v: [f64; 2], radius: f64) -> [f64; 2] {
    let square = v[0] * v[0] + v[1] * v[1];
    if square <= radius * radius {
        v
    } else {
        let scale = radius / square.sqrt();
        [v[0] * scale, v[1] * scale]
    }
}

/// Euclidean projection onto the ellipse with half axes `a`, by Newton's method on the multiplier.
///
/// The nearest point is x_i = a_i² v_i/(a_i² + t) for the t ≥ 0 with Σ (a_i v_i/(a_i² + t))² = 1;
/// the left side is convex and falling in t, so that Newton from a lower bound of the root never
/// overshoots.
pub fn ellipse(v: [f64; 2], a: [f64; 2]) -> [f64; 2] {
    if a[0] <= 0.0 || a[1] <= 0.0 {
        // A degenerate ellipse is a segment or a point.
        return [within(v[0], a[0]), within(v[1], a[1])];
    }
    if a[0] == a[1] {
        return disc(v, a[0]);
    }
    let (x, y) = (v[0] / a[0], v[1] / a[1]);
    if x * x + y * y <= 1.0 {
        return v;
    }
    let p = [a[0] * v[0].abs(), a[1] * v[1].abs()];
    let s = [a[0] * a[0], a[1] * a[1]];
    let value = |t: f64| {
        let (q0, q1) = (p[0] / (s[0] + t), p[1] / (s[1] + t));
        (q0, q1, q0 * q0 + q1 * q1 - 1.0)
    };
    // Each term alone must be at most 1 at the root: a lower bound.
    let mut t = (p[0] - s[0]).max(p[1] - s[1]).max(0.0);
    for _ in 0..60 {
        let (q0, q1, f) = value(t);
        if f <= 0.0 {
            break;
        }
        let slope = -2.0 * (q0 * q0 / (s[0] + t) + q1 * q1 / (s[1] + t));
        let next = t - f / slope;
        if next <= t {
            break;
        }
        t = next;
    }
    [v[0] * s[0] / (s[0] + t), v[1] * s[1] / (s[1] + t)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest point of an ellipse by brute force over its boundary.
    fn nearest(v: [f64; 2], a: [f64; 2]) -> f64 {
        (0..200_000)
            .map(|k| {
                let t = std::f64::consts::TAU * f64::from(k) / 200_000.0;
                (v[0] - a[0] * t.cos()).hypot(v[1] - a[1] * t.sin())
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn ellipse_projection_is_the_nearest_point() {
        for (v, a) in [
            ([3.0, 1.0], [1.0, 0.5]),
            ([-0.1, 2.0], [1.0, 0.01]),
            ([1e-3, -5.0], [0.2, 3.0]),
            ([4.0, 0.0], [2.0, 1.0]),
            ([0.0, -4.0], [2.0, 1.0]),
        ] {
            let p = ellipse(v, a);
            let on = (p[0] / a[0]).powi(2) + (p[1] / a[1]).powi(2);
            assert!(
                (on - 1.0).abs() < 1e-10,
                "{v:?} {a:?}: not on the ellipse, {on}"
            );
            let distance = (v[0] - p[0]).hypot(v[1] - p[1]);
            assert!(distance <= nearest(v, a) + 1e-8, "{v:?} {a:?} -> {p:?}");
        }
        assert_eq!(ellipse([0.1, 0.1], [1.0, 0.5]), [0.1, 0.1]);
    }

    #[test]
    fn projections_are_idempotent_and_land_inside() {
        let laws = [
            FrictionLaw::Disc,
            FrictionLaw::Box,
            FrictionLaw::Pyramid { sides: 8 },
            FrictionLaw::Ellipse,
            FrictionLaw::Contensou,
        ];
        for law in laws {
            let mut f = [3.0, -2.0, 1.5, 0.7, 0.0, 0.0, 0.0, 0.0];
            let f = &mut f[..law.rows() - 1];
            let mu = [
                0.5,
                if law == FrictionLaw::Ellipse {
                    0.2
                } else {
                    0.5
                },
            ];
            law.project(f, mu, 2.0);
            assert!(law.violation(f, mu, 2.0) < 1e-12, "{law:?}");
            assert!(
                law.violation(f, mu, 1.0) > 0.1,
                "{law:?} must shrink with the normal impulse"
            );
            law.project(f, mu, 0.0);
            assert!(
                f.iter().all(|x| *x == 0.0),
                "{law:?} with no normal impulse"
            );
        }
    }

    #[test]
    fn pyramids_hold_between_the_disc_and_its_corners() {
        // The largest tangential impulse in any direction lies between the in- and circumradius.
        for sides in [4u8, 6, 8, 12, 16] {
            let share = FrictionLaw::pyramid_share(sides);
            for k in 0..360 {
                let (s, c) = f64::from(k).to_radians().sin_cos();
                let support: f64 = (0..sides as usize / 2)
                    .map(|k| FrictionLaw::pyramid_direction(sides, k))
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
        assert_eq!(FrictionLaw::pyramid_direction(4, 0), [1.0, 0.0]);
        assert_eq!(FrictionLaw::pyramid_direction(4, 1), [0.0, 1.0]);
        assert_eq!(FrictionLaw::Pyramid { sides: 4 }.rows(), 3);
    }
}
