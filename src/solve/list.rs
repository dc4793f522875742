//! The list of solvers.

use super::solver::SolverInfo;
use super::{bpp, prox};

/// Every solver there is.
pub static SOLVERS: &[&SolverInfo] = &[
    &prox::colored_gs::INFO,
    &prox::gauss_seidel::INFO,
    &prox::jacobi::INFO,
    &prox::naive_gs::INFO,
    &prox::block_sor::INFO,
    &prox::relaxed_sor::INFO,
    &prox::nncg::INFO,
    &prox::apgd::INFO,
    &bpp::INFO,
];

/// The entry of a solver by name.
pub fn find(name: &str) -> Option<&'static SolverInfo> {
    SOLVERS.iter().copied().find(|s| s.name == name)
}
