//! The solvers as the suites compare them: a name for people, and the parameters that make them.

use moreau::solve::{self, Budget, SolverConfig, SolverInfo, Value};

/// A solver with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Its name in tables and plots.
    pub label: &'static str,
    /// The solver's name.
    pub solver: &'static str,
    /// The parameters that matter; all others take their defaults.
    pub parameters: Vec<(&'static str, Value)>,
}

fn choice(name: &'static str, value: &str) -> (&'static str, Value) {
    (name, Value::Choice(value.to_owned()))
}

fn method(
    label: &'static str,
    solver: &'static str,
    parameters: impl IntoIterator<Item = (&'static str, Value)>,
) -> Method {
    Method {
        label,
        solver,
        parameters: parameters.into_iter().collect(),
    }
}

/// Sequential Gauss–Seidel, factorized, local R-factors.
pub fn gauss_seidel() -> Method {
    method(
        "gauss-seidel",
        "gauss-seidel",
        [
            choice("scheme", "factorized"),
            choice("r_factors", "local"),
            ("alpha", Value::Number(1.0)),
        ],
    )
}

/// The same with T stored.
pub fn gauss_seidel_t() -> Method {
    method(
        "gauss-seidel T",
        "gauss-seidel",
        [
            choice("scheme", "t"),
            choice("r_factors", "local"),
            ("alpha", Value::Number(1.0)),
        ],
    )
}

/// Each contact's own Coulomb problem solved exactly.
pub fn gauss_seidel_block() -> Method {
    method(
        "gauss-seidel, contact blocks",
        "gauss-seidel",
        [choice("scheme", "factorized"), choice("block", "contact")],
    )
}

/// Jacobi with a scheme, R-factors and α.
pub fn jacobi(label: &'static str, scheme: &str, r_factors: &str, alpha: f64) -> Method {
    method(
        label,
        "jacobi",
        [
            choice("scheme", scheme),
            choice("r_factors", r_factors),
            ("alpha", Value::Number(alpha)),
        ],
    )
}

/// Jacobi as the thesis has it: factorized, R = 1/A_ii.
pub fn jacobi_factorized() -> Method {
    jacobi("jacobi", "factorized", "local", 1.0)
}

/// The same with T stored.
pub fn jacobi_t() -> Method {
    jacobi("jacobi T", "t", "local", 1.0)
}

/// The same with A stored.
pub fn jacobi_delassus() -> Method {
    jacobi("jacobi A", "delassus", "local", 1.0)
}

/// Factorized Jacobi, relaxed by 1/degree.
pub fn jacobi_degree() -> Method {
    jacobi("jacobi 1/degree", "factorized", "degree", 1.0)
}

/// Factorized Jacobi with one R for all rows, from the eigenvalues of A.
pub fn jacobi_global() -> Method {
    jacobi("jacobi global R", "factorized", "global", 1.0)
}

/// Nützi's JOR: α = 0.35.
pub fn jor() -> Method {
    jacobi("jacobi α = 0.35 (JOR)", "factorized", "local", 0.35)
}

/// Gauss–Seidel in so many parts without regard for dependencies.
pub fn naive(label: &'static str, parts: i64) -> Method {
    method(label, "naive-gs", [("parts", Value::Integer(parts))])
}

/// Gauss–Seidel by colours, every colour as it is.
fn colored(label: &'static str, precision: &str, coloring: &str) -> Method {
    method(
        label,
        "colored-gs",
        [
            choice("precision", precision),
            choice("coloring", coloring),
            choice("treatment", "rigid"),
        ],
    )
}

/// Gauss–Seidel by colours in f64, small colours merged and handled by `unsafe_by`.
fn relaxed(label: &'static str, unsafe_by: &str) -> Method {
    method(
        label,
        "colored-gs",
        [
            choice("precision", "f64"),
            choice("coloring", "greedy"),
            choice("treatment", "relaxed"),
            choice("unsafe", unsafe_by),
        ],
    )
}

/// The unsafe colour by Jacobi, as in both OpenMP versions and the T versions.
pub fn relaxed_jacobi() -> Method {
    relaxed("colored-gs f64 relaxed (jacobi)", "jacobi")
}

/// The unsafe colour by naive parts, as in the factorized CSP version.
pub fn relaxed_naive() -> Method {
    relaxed("colored-gs f64 relaxed (naive)", "naive")
}

/// The fastest coloured sweep.
pub fn colored_f32() -> Method {
    colored("colored-gs f32", "f32", "greedy")
}

/// The same in double precision.
pub fn colored_f64() -> Method {
    colored("colored-gs f64", "f64", "greedy")
}

/// Colours of equal size.
pub fn balanced() -> Method {
    colored("colored-gs f64 balanced", "f64", "balanced")
}

/// Nützi's full SOR in diagonal blocks of so many contacts.
pub fn block_sor(label: &'static str, size: i64) -> Method {
    method(label, "block-sor", [("size", Value::Integer(size))])
}

/// Nützi's relaxed SOR: so many contacts projected together.
pub fn relaxed_sor(label: &'static str, size: i64) -> Method {
    method(label, "relaxed-sor", [("size", Value::Integer(size))])
}

/// Nonsmooth nonlinear conjugate gradients.
pub fn nncg() -> Method {
    method("nncg", "nncg", [])
}

/// Block principal pivoting with a factorisation, from all rows free or from the last step's sets.
/// `always`: tight rows are removed from the factor of A at every pivot, however many there are.
pub fn bpp(label: &'static str, factorization: &str, warm: bool, always: bool) -> Method {
    let mut method = method(
        label,
        "bpp",
        [
            choice("factorization", factorization),
            ("warm_start", Value::Flag(warm)),
        ],
    );
    if always {
        method
            .parameters
            .push(("refactor_share", Value::Number(1.0)));
    }
    method
}

/// The same from all rows free, for one problem with friction bounds held at those of the last step's
/// normal impulses, as in the thesis; nothing makes the bounds consistent.
pub fn bpp_held(label: &'static str, factorization: &str, always: bool) -> Method {
    let mut method = bpp(label, factorization, false, always);
    method.parameters.extend([
        ("outer_iterations", Value::Integer(1)),
        ("refinements", Value::Integer(0)),
        ("coupled_steps", Value::Integer(0)),
    ]);
    method
}

impl Method {
    /// Whether both make the same iterates, up to rounding: all but the scheme is the same.
    pub fn iterates_as(&self, other: &Method) -> bool {
        let all_but_scheme = |m: &Method| {
            let rest = m.parameters.iter().filter(|p| p.0 != "scheme");
            rest.cloned().collect::<Vec<_>>()
        };
        self.solver == other.solver && all_but_scheme(self) == all_but_scheme(other)
    }

    /// The solver's configuration.
    ///
    /// # Errors
    /// What this build lacks: the solver, or one of its parameters or values.
    pub fn config(&self, budget: Budget) -> Result<SolverConfig, String> {
        let info = solve::find(self.solver).ok_or_else(|| self.solver.to_owned())?;
        let mut config = SolverConfig {
            name: self.solver.to_owned(),
            budget,
            ..SolverConfig::default()
        };
        for (name, value) in &self.parameters {
            if declares(info, name) {
                config.parameters.insert((*name).to_owned(), value.clone());
            } else {
                return Err(format!("{} {name}={value}", self.solver));
            }
        }
        match config.check() {
            Ok(_) => Ok(config),
            Err(_) => Err(format!("{} ({})", self.solver, self.label)),
        }
    }
}

fn declares(info: &SolverInfo, name: &str) -> bool {
    info.parameters.iter().any(|p| p.name == name)
}
