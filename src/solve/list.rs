//! The list of solvers.

use super::solver::SolverInfo;
use super::{admm, auto, bpp, gpu, hybrid, newton, reference, sweeps};

/// Every solver there is.
pub static SOLVERS: &[&SolverInfo] = &[
    &auto::INFO,
    &sweeps::colored_gs::INFO,
    &sweeps::gauss_seidel::INFO,
    &sweeps::jacobi::INFO,
    &sweeps::papers::naive_gs::INFO,
    &sweeps::papers::block_sor::INFO,
    &sweeps::papers::relaxed_sor::INFO,
    &sweeps::nncg::INFO,
    &sweeps::apgd::INFO,
    &newton::INFO,
    &admm::INFO,
    &bpp::INFO,
    &hybrid::INFO,
    &reference::INFO,
    &gpu::JOR,
    &gpu::SOR,
];

/// What whoever keeps hashes of a solver's states should know, if it computes on a device.
pub fn device_remark(name: &str) -> Option<String> {
    let needs_device = find(name).is_some_and(|solver| solver.traits.needs_device);
    needs_device.then(|| {
        let device = gpu::device_name().unwrap_or_else(|| "the CPU".into());
        format!("{name}'s hashes are those of {device}; another device rounds otherwise")
    })
}

/// The solver of scenes that name none.
///
/// # Panics
/// Never: one of the list is.
pub fn default_solver() -> &'static SolverInfo {
    let mut solvers = SOLVERS.iter().copied();
    solvers
        .find(|s| s.traits.is_default)
        .expect("one is the default")
}

/// The entry of a solver by name.
pub fn find(name: &str) -> Option<&'static SolverInfo> {
    SOLVERS.iter().copied().find(|s| s.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_solver_is_the_default_and_one_the_reference() {
        let count = |of: fn(&SolverInfo) -> bool| SOLVERS.iter().filter(|s| of(s)).count();
        assert_eq!(count(|s| s.traits.is_default), 1);
        assert_eq!(count(|s| s.traits.is_reference), 1);
    }
}
