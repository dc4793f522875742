//! The list of solvers.

use super::solver::SolverInfo;
use super::{admm, auto, bpp, gpu, hybrid, newton, prox, reference};

/// Every solver there is.
pub static SOLVERS: &[&SolverInfo] = &[
    &auto::INFO,
    &prox::colored_gs::INFO,
    &prox::gauss_seidel::INFO,
    &prox::jacobi::INFO,
    &prox::naive_gs::INFO,
    &prox::block_sor::INFO,
    &prox::relaxed_sor::INFO,
    &prox::nncg::INFO,
    &gpu::JOR,
    &gpu::SOR,
    &prox::apgd::INFO,
    &newton::INFO,
    &admm::INFO,
    &bpp::INFO,
    &hybrid::INFO,
    &reference::INFO,
];

/// The entry of a solver by name.
pub fn find(name: &str) -> Option<&'static SolverInfo> {
    SOLVERS.iter().copied().find(|s| s.name == name)
}
