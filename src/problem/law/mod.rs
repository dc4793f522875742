//! The friction laws: one file each, one line each in the list below.
//!
//! Every law of the discrete problem says Λ = prox_𝒞(Λ − ρ w) for a closed convex set 𝒞
//! (Nützi 2011, 4.33; Poulsen 2010, 2.78). A friction law says along which directions its rows act, and
//! which friction impulses a normal impulse allows; Jacobian, velocities, diagonals, packing and the
//! memory of a contact follow from its rows, here and in [`super::Problem`].

mod contensou;
mod disc;
mod ellipse;
pub mod projection;
mod pyramid;
mod rolling;
mod square;

use serde::{Deserialize, Serialize};

use crate::check::Invalid;
use crate::material::ContactMaterial;
use crate::math::Vec3;
pub use pyramid::{MAX_SIDES, Pyramid};

/// What one friction row of a contact acts along, in the contact's frame (n, t₁, t₂).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrictionRow {
    /// A force along `direction` in (t₁, t₂), and the relative velocity along it.
    Slide {
        /// Unit vector in (t₁, t₂).
        direction: [f64; 2],
    },
    /// A couple about an axis of the frame, over [`Friction::length`], and the relative angular
    /// velocity about it, times that length: N s and m/s like every other row. A law has at most
    /// [`COUPLES`] of them, behind its sliding rows.
    Turn {
        /// 0, 1 or 2 for n, t₁ or t₂.
        axis: usize,
    },
}

/// Most couples of a friction law.
pub const COUPLES: usize = 2;

/// The rows of a law that acts along t₁ and t₂.
pub const TANGENTS: [FrictionRow; 2] = [
    FrictionRow::Slide {
        direction: [1.0, 0.0],
    },
    FrictionRow::Slide {
        direction: [0.0, 1.0],
    },
];

/// The derivative of a projection: rows and columns are the friction rows.
pub type Slope = [[f64; FrictionLaw::MAX_ROWS]; FrictionLaw::MAX_ROWS];

/// One friction law. `mu` are its two coefficients as [`Friction::mu`] has them, `normal` is Λ_N ≥ 0,
/// and `friction` are the impulses of the rows after the normal one (N s).
pub trait Law: Copy {
    /// What its rows act along, in their order. Two rows are [`TANGENTS`].
    fn rows(self) -> &'static [FrictionRow];

    /// Projects a friction impulse onto the set that the normal impulse allows, in place.
    fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64);

    /// Projects a whole impulse (Λ_N, Λ_T) onto the cone {Λ_N ≥ 0, Λ_T ∈ 𝒞(Λ_N)}, in place: what a
    /// relaxation to cone complementarity asks for.
    fn project_cone(self, impulse: &mut [f64], mu: [f64; 2]) {
        projection::cone(impulse, |friction, normal| {
            self.project(friction, mu, normal);
        });
    }

    /// What the projection of a friction impulse onto the set that the normal impulse allows does to small changes
    /// of the friction impulse: its derivative, symmetric, written to `slope`.
    fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope);

    /// The most power that friction impulses at a unit normal impulse take out of a velocity: the support function
    /// of the set, μ‖w_T‖ for the disc (m/s).
    fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64;

    /// The gradient of the support function, written to `gradient` (-); zero at rest.
    fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]);

    /// The bound of one row by itself, as a multiple of Λ_N: half a side of the box around the set, or
    /// of the set itself where that is a box or a pyramid.
    fn row_bound(self, row: usize, mu: [f64; 2]) -> f64;

    /// Whether the set is bounded row by row, in place of the disc of exact Coulomb friction.
    fn is_polyhedral(self) -> bool {
        false
    }

    /// Whether it has more sliding rows than directions: they then are swept one after the other.
    fn is_redundant(self) -> bool {
        false
    }

    /// Whether the first two rows are one disc, so that sliding has a direction to compare.
    fn has_direction(self) -> bool {
        false
    }

    /// Checks its parameters.
    ///
    /// # Errors
    /// The first one out of range.
    fn check(self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Whether only a material has its parameters, so that a world cannot choose it for all contacts.
    fn is_of_materials(self) -> bool {
        false
    }

    /// The friction of a contact whose material asks for this law; `arms` lead from the bodies' centres
    /// of mass to the contact (m). Which law it is must follow from the material alone.
    fn asked_by(self, _material: &ContactMaterial, _arms: &[Vec3; 2]) -> Option<Friction> {
        None
    }
}

/// Declares [`FrictionLaw`] and sends every call of [`Law`] to the law's own file.
macro_rules! laws {
    ($($(#[$meta:meta])* $name:ident $(($parameters:ident: $type:ty))? => $law:expr,)*) => {
        /// The friction law of a contact.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum FrictionLaw {
            $($(#[$meta])* $name $(($type))?,)*
        }

        impl Law for FrictionLaw {
            #[inline]
            fn rows(self) -> &'static [FrictionRow] {
                match self { $(Self::$name $(($parameters))? => $law.rows(),)* }
            }
            #[inline]
            fn project(self, friction: &mut [f64], mu: [f64; 2], normal: f64) {
                match self { $(Self::$name $(($parameters))? => $law.project(friction, mu, normal),)* }
            }
            #[inline]
            fn project_cone(self, impulse: &mut [f64], mu: [f64; 2]) {
                match self { $(Self::$name $(($parameters))? => $law.project_cone(impulse, mu),)* }
            }
            #[inline]
            fn slope(self, friction: &[f64], mu: [f64; 2], normal: f64, slope: &mut Slope) {
                match self { $(Self::$name $(($parameters))? => $law.slope(friction, mu, normal, slope),)* }
            }
            #[inline]
            fn support(self, velocity: &[f64], mu: [f64; 2]) -> f64 {
                match self { $(Self::$name $(($parameters))? => $law.support(velocity, mu),)* }
            }
            #[inline]
            fn support_gradient(self, velocity: &[f64], mu: [f64; 2], gradient: &mut [f64]) {
                match self { $(Self::$name $(($parameters))? => $law.support_gradient(velocity, mu, gradient),)* }
            }
            #[inline]
            fn row_bound(self, row: usize, mu: [f64; 2]) -> f64 {
                match self { $(Self::$name $(($parameters))? => $law.row_bound(row, mu),)* }
            }
            fn is_polyhedral(self) -> bool {
                match self { $(Self::$name $(($parameters))? => $law.is_polyhedral(),)* }
            }
            #[inline]
            fn is_redundant(self) -> bool {
                match self { $(Self::$name $(($parameters))? => $law.is_redundant(),)* }
            }
            fn has_direction(self) -> bool {
                match self { $(Self::$name $(($parameters))? => $law.has_direction(),)* }
            }
            fn check(self) -> Result<(), Invalid> {
                match self { $(Self::$name $(($parameters))? => $law.check(),)* }
            }
            fn is_of_materials(self) -> bool {
                match self { $(Self::$name $(($parameters))? => $law.is_of_materials(),)* }
            }
            #[inline]
            fn asked_by(self, material: &ContactMaterial, arms: &[Vec3; 2]) -> Option<Friction> {
                match self { $(Self::$name $(($parameters))? => $law.asked_by(material, arms),)* }
            }
        }

        impl FrictionLaw {
            /// The laws without parameters of their own, in the order of the list.
            const PLAIN: &[Option<Self>] = &[$(laws!(@plain $name $($parameters)?)),*];
        }
    };
    (@plain $name:ident) => { Some(Self::$name) };
    (@plain $name:ident $parameters:ident) => { None };
}

// A contact takes the first of these that its material asks for.

laws! {
    /// ‖Λ_T‖ ≤ μ Λ_N: isotropic Coulomb friction.
    #[default]
    Disc => disc::Disc,
    /// |Λ_T1|, |Λ_T2| ≤ μ Λ_N.
    Box => square::Square,
    /// An even number of sides around the disc: sums of impulses along half as many directions.
    Pyramid(law: Pyramid) => law,
    /// ‖Λ_T‖ ≤ μ Λ_N and a couple about the tangents of at most k Λ_N: rolling resistance.
    Rolling => rolling::Rolling,
    /// (‖Λ_T‖/(μΛ_N))² + (Λ_τ/(⅔ μΛ_N))² ≤ 1: Coulomb–Contensou friction, with spin.
    Contensou => contensou::Contensou,
    /// (Λ_T1/μ₁)² + (Λ_T2/μ₂)² ≤ Λ_N²: anisotropic friction.
    Ellipse => ellipse::Ellipse,
}

impl FrictionLaw {
    /// Most rows that any law has, the normal one included.
    pub const MAX_ROWS: usize = 1 + MAX_SIDES as usize / 2;

    /// Every law, with the pyramids of a few sides.
    pub fn all() -> impl Iterator<Item = Self> {
        let pyramids = [4, 6, 8, 12, 16].map(Self::pyramid);
        Self::PLAIN.iter().copied().flatten().chain(pyramids)
    }

    /// The laws that a world may set for all contacts whose materials ask for none.
    pub fn of_worlds() -> impl Iterator<Item = Self> {
        Self::all().filter(|law| !law.is_of_materials())
    }

    /// A pyramid with so many sides.
    pub const fn pyramid(sides: u8) -> Self {
        Self::Pyramid(Pyramid { sides })
    }

    /// Number of rows of a contact with this law, the normal one included.
    #[inline]
    pub fn row_count(self) -> usize {
        1 + self.rows().len()
    }

    /// How far a friction impulse is outside of its set (N s); 0 inside.
    pub fn violation(self, friction: &[f64], mu: [f64; 2], normal: f64) -> f64 {
        projection::distance(friction, |inside| self.project(inside, mu, normal.max(0.0)))
    }
}

impl std::fmt::Display for FrictionLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pyramid(Pyramid { sides }) => write!(f, "{sides}-sided pyramid"),
            law => f.write_str(&format!("{law:?}").to_lowercase()),
        }
    }
}

/// The friction law of one contact with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Friction {
    /// Which set.
    pub law: FrictionLaw,
    /// Two coefficients (-): μ along t₁ and along t₂, equal unless the law says otherwise.
    pub mu: [f64; 2],
    /// The length that makes couples impulses and angular velocities velocities (m); 0 for laws
    /// without couples.
    pub length: f64,
}

impl Friction {
    /// No friction at all.
    pub const NONE: Self = Self {
        law: FrictionLaw::Disc,
        mu: [0.0; 2],
        length: 0.0,
    };

    /// The friction of a contact: what its material asks for, else the world's law.
    #[inline]
    pub fn of(material: &ContactMaterial, world: FrictionLaw, arms: &[Vec3; 2]) -> Self {
        let plain = FrictionLaw::PLAIN.iter().flatten();
        let mut asked = plain.map(|law| law.asked_by(material, arms));
        asked.find_map(|friction| friction).unwrap_or(Self {
            law: world,
            mu: material.friction,
            length: 0.0,
        })
    }

    /// The velocity of every friction row (m/s), from the relative tangential velocity in (t₁, t₂) with
    /// its bias (m/s), the relative angular velocity about (n, t₁, t₂) (rad/s), and the biases of couples
    /// (m/s).
    #[inline(always)]
    pub fn velocities(
        &self,
        tangential: [f64; 2],
        turning: [f64; 3],
        couple_bias: [f64; COUPLES],
        w: &mut [f64],
    ) {
        if let [w1, w2] = w {
            [*w1, *w2] = tangential;
            return;
        }
        let mut couple_bias = couple_bias.into_iter();
        for (w, row) in w.iter_mut().zip(self.law.rows()) {
            *w = match row {
                FrictionRow::Slide { direction: [x, y] } => x * tangential[0] + y * tangential[1],
                FrictionRow::Turn { axis } => {
                    self.length * turning[*axis] + couple_bias.next().unwrap_or(0.0)
                }
            };
        }
    }

    /// The force in (t₁, t₂) (N s) and the couple about (n, t₁, t₂) (N m s) that the friction rows make
    /// together.
    #[inline(always)]
    pub fn impulse(&self, friction: &[f64]) -> ([f64; 2], [f64; 3]) {
        if let [f1, f2] = friction {
            return ([*f1, *f2], [0.0; 3]);
        }
        let (mut force, mut couple) = ([0.0; 2], [0.0; 3]);
        for (x, row) in friction.iter().zip(self.law.rows()) {
            match row {
                FrictionRow::Slide { direction: d } => {
                    force[0] += d[0] * x;
                    force[1] += d[1] * x;
                }
                FrictionRow::Turn { axis } => couple[*axis] += x * self.length,
            }
        }
        (force, couple)
    }

    /// The share of a tangential impulse that each sliding row takes, as far as it points along it:
    /// Σ d dᵀ over s directions spread evenly is s/2 times the identity.
    pub fn share(&self) -> f64 {
        let rows = self.law.rows().iter();
        let slides = rows.filter(|row| matches!(row, FrictionRow::Slide { .. }));
        2.0 / slides.count() as f64
    }

    /// The smallest impulses of the friction rows that together make a force in (t₁, t₂) (N s) and a
    /// couple about (n, t₁, t₂) (N m s).
    pub fn rows_for(&self, force: [f64; 2], couple: [f64; 3], friction: &mut [f64]) {
        if let [f1, f2] = friction {
            [*f1, *f2] = force;
            return;
        }
        let share = self.share();
        for (x, row) in friction.iter_mut().zip(self.law.rows()) {
            *x = match row {
                FrictionRow::Slide { direction: d } => share * (d[0] * force[0] + d[1] * force[1]),
                FrictionRow::Turn { axis } => couple[*axis] / self.length,
            };
        }
    }

    /// Projects friction impulses onto the set that the normal impulse allows, in place.
    #[inline]
    pub fn project(&self, friction: &mut [f64], normal: f64) {
        self.law.project(friction, self.mu, normal);
    }

    /// Projects every friction row by itself onto ± its own bound, in place.
    pub fn project_rows(&self, friction: &mut [f64], normal: f64) {
        for (row, f) in friction.iter_mut().enumerate() {
            *f = projection::within(*f, self.law.row_bound(row, self.mu) * normal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    #[test]
    fn projections_are_idempotent_and_land_inside() {
        for law in FrictionLaw::all() {
            let mut f = [3.0, -2.0, 1.5, 0.7, 0.0, 0.0, 0.0, 0.0];
            let f = &mut f[..law.rows().len()];
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

    /// The nearest point of a cone leaves a rest in its polar cone: at right angles to it, and to no point of
    /// the cone nearer.
    #[test]
    fn cones_are_projected_to_their_nearest_points() {
        let mut random = Random::new(11);
        for law in FrictionLaw::all() {
            let mu = [
                0.6,
                if law == FrictionLaw::Ellipse {
                    0.2
                } else {
                    0.6
                },
            ];
            for _ in 0..200 {
                let from: Vec<f64> = (0..law.row_count()).map(|_| random.signed()).collect();
                let mut to = from.clone();
                law.project_cone(&mut to, mu);
                assert!(
                    to[0] >= 0.0 && law.violation(&to[1..], mu, to[0]) < 1e-9,
                    "{law:?}"
                );
                let dot = |a: &[f64]| -> f64 {
                    a.iter()
                        .zip(&from)
                        .zip(&to)
                        .map(|((a, f), t)| a * (f - t))
                        .sum()
                };
                assert!(dot(&to).abs() < 1e-9, "{law:?}: {from:?} {to:?}");
                let mut other: Vec<f64> = from.iter().map(|_| 3.0 * random.signed()).collect();
                other[0] = other[0].abs();
                let normal = other[0];
                law.project(&mut other[1..], mu, normal);
                assert!(dot(&other) < 1e-9, "{law:?}: {from:?} {to:?} {other:?}");
            }
        }
    }

    /// What rows make of an impulse is that impulse, and power is the same in both.
    #[test]
    fn rows_and_impulses_are_dual() {
        for law in FrictionLaw::all() {
            let friction = Friction {
                law,
                mu: [0.5; 2],
                length: 0.3,
            };
            let n = law.rows().len();
            let turns = |axis: usize| law.rows().contains(&FrictionRow::Turn { axis });
            let force = [1.5, -0.7];
            let couple = [0, 1, 2].map(|axis| if turns(axis) { 0.2 + axis as f64 } else { 0.0 });
            let mut rows = [0.0; FrictionLaw::MAX_ROWS];
            friction.rows_for(force, couple, &mut rows[..n]);
            let (f, c) = friction.impulse(&rows[..n]);
            for (a, b) in f.iter().chain(&c).zip(force.iter().chain(&couple)) {
                assert!((a - b).abs() < 1e-15, "{law:?}: {f:?} {c:?}");
            }
            let (u, omega) = ([0.4, 1.1], [-0.6, 0.9, 0.25]);
            let mut w = [0.0; FrictionLaw::MAX_ROWS];
            friction.velocities(u, omega, [0.0; COUPLES], &mut w[..n]);
            let by_rows: f64 = rows.iter().zip(&w).take(n).map(|(x, w)| x * w).sum();
            let directly = force[0] * u[0]
                + force[1] * u[1]
                + (0..3).map(|k| couple[k] * omega[k]).sum::<f64>();
            assert!((by_rows - directly).abs() < 1e-14, "{law:?}");
        }
    }
}
