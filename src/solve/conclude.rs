//! What becomes of a result.

use std::time::Instant;

use super::sweeps::shorten;
use super::{SolveReport, Status};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::islands::NO_ISLAND;

/// Clears the impulses of what belongs to no island, which moves nothing.
pub(super) fn clear_idle(problem: &Problem, lambda: &mut [f64]) {
    let islands = &problem.islands;
    let in_islands = islands.contacts.items.len() + islands.rows.items.len();
    if in_islands == problem.contacts.len() + problem.rows.len() {
        return;
    }
    let is_idle = |bodies: &[u32]| {
        let mut islands = bodies.iter().map(|b| islands.of_body[*b as usize]);
        islands.all(|island| island == NO_ISLAND)
    };
    for (c, bodies) in problem.contacts.bodies.iter().enumerate() {
        if is_idle(bodies) {
            lambda[problem.contacts.rows(c)].fill(0.0);
        }
    }
    let first = problem.contact_rows();
    for r in (0..problem.rows.len()).filter(|r| is_idle(problem.rows.bodies(*r))) {
        lambda[first + r] = 0.0;
    }
}

/// Copies the impulses of an island.
pub(super) fn copy_island(problem: &Problem, island: usize, from: &[f64], to: &mut [f64]) {
    for c in problem.islands.contacts.of(island) {
        let rows = problem.contacts.rows(*c as usize);
        to[rows.clone()].copy_from_slice(&from[rows]);
    }
    let first = problem.contact_rows();
    for r in problem.islands.rows.of(island) {
        let row = first + *r as usize;
        to[row] = from[row];
    }
}

/// The velocities of a result, which is shortened where it did not get to its end: it may then hold more energy than no
/// impulses at all.
pub(super) fn conclude(
    problem: &Problem,
    lambda: &mut [f64],
    u: &mut Vec<Twist>,
    report: &mut SolveReport,
) {
    if !report.status.is_usable() {
        return;
    }
    let start = Instant::now();
    problem.velocities(lambda, u);
    if report.status != Status::Converged && shorten(problem, lambda, u) {
        problem.velocities(lambda, u);
    }
    report.solve_time += start.elapsed().as_secs_f64();
}
