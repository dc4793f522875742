//! The solvers as the experiments compare them: a name for people, and the parameters that make them.

use std::fmt;

use crate::solve::{Budget, SolverConfig, Value};

/// A solver with the parameters that matter; all others take their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// "name for people: solver parameter=value …"
    base: &'static str,
    /// What a variant adds to both: "more of the name: parameter=value …"
    variant: &'static str,
}

impl fmt::Display for Method {
    /// The name in tables and plots.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = |text: &'static str| text.split_once(": ").map_or("", |(name, _)| name);
        write!(f, "{}{}", name(self.base), name(self.variant))
    }
}

impl Method {
    /// Of "name for people: solver parameter=value …".
    pub const fn new(base: &'static str) -> Self {
        Self { base, variant: "" }
    }

    /// With "more of the name: parameter=value …" added.
    pub const fn with(self, variant: &'static str) -> Self {
        Self { variant, ..self }
    }

    /// The solver's name, and what it is given as name=value.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let given = |text: &'static str| text.split_once(": ").map_or("", |(_, given)| given);
        [self.base, self.variant]
            .into_iter()
            .flat_map(move |t| given(t).split(' '))
    }

    /// The solver's name.
    pub fn solver(&self) -> &'static str {
        self.words().next().unwrap_or_default()
    }

    /// Whether both make the same iterates, up to rounding: all but the scheme is the same.
    pub fn iterates_as(&self, other: &Self) -> bool {
        let but_scheme = |m: &Self| m.words().filter(|p| !p.starts_with("scheme="));
        but_scheme(self).eq(but_scheme(other))
    }

    /// The solver's configuration.
    pub fn config(&self, budget: Budget) -> SolverConfig {
        let parameters = self.words().filter_map(|p| p.split_once('='));
        SolverConfig {
            name: self.solver().to_owned(),
            budget,
            parameters: parameters
                .map(|(k, v)| (k.to_owned(), Value::read(v)))
                .collect(),
        }
    }
}

/// Sequential Gauss–Seidel, factorized, local R-factors.
pub const GAUSS_SEIDEL: Method =
    Method::new("gauss-seidel: gauss-seidel scheme=factorized r_factors=local alpha=1");
/// The same with T stored.
pub const GAUSS_SEIDEL_T: Method =
    Method::new("gauss-seidel T: gauss-seidel scheme=t r_factors=local alpha=1");
/// Each contact's own Coulomb problem solved exactly.
pub const GAUSS_SEIDEL_BLOCK: Method =
    Method::new("gauss-seidel, contact blocks: gauss-seidel scheme=factorized block=contact");
/// Jacobi as Poulsen has it: factorized, R = 1/A_ii.
pub const JACOBI: Method = Method::new("jacobi: jacobi scheme=factorized r_factors=local alpha=1");
/// The same with T stored.
pub const JACOBI_T: Method = Method::new("jacobi T: jacobi scheme=t r_factors=local alpha=1");
/// The same with A stored.
pub const JACOBI_DELASSUS: Method =
    Method::new("jacobi A: jacobi scheme=delassus r_factors=local alpha=1");
/// Factorized Jacobi, relaxed by 1/degree (Munksgaard & Kaiser).
pub const JACOBI_DEGREE: Method =
    Method::new("jacobi 1/degree: jacobi scheme=factorized r_factors=degree alpha=1");
/// Factorized Jacobi with one R for all rows, from the eigenvalues of A.
pub const JACOBI_GLOBAL: Method =
    Method::new("jacobi global R: jacobi scheme=factorized r_factors=global alpha=1");
/// Nützi's JOR: α = 0.35.
pub const JOR: Method =
    Method::new("jacobi α = 0.35 (JOR): jacobi scheme=factorized r_factors=local alpha=0.35");
/// Gauss–Seidel by colours in f32, every colour as it is: the fastest sweep.
pub const COLORED_F32: Method =
    Method::new("colored-gs f32: colored-gs precision=f32 coloring=greedy treatment=rigid");
/// The same in double precision.
pub const COLORED_F64: Method =
    Method::new("colored-gs f64: colored-gs precision=f64 coloring=greedy treatment=rigid");
/// Nonsmooth nonlinear conjugate gradients.
pub const NNCG: Method = Method::new("nncg: nncg");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_by_their_kind() {
        let read = ["true", "8", "0.35", "f64"].map(Value::read);
        let choice = Value::Choice("f64".into());
        let expected = [
            Value::Flag(true),
            Value::Integer(8),
            Value::Number(0.35),
            choice,
        ];
        assert_eq!(read, expected);
        assert_eq!(JOR.solver(), "jacobi");
        assert!(JACOBI.iterates_as(&JACOBI_T) && !JACOBI.iterates_as(&JOR));
    }
}
