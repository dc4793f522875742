//! What stands: islands that impulses solve already, seen on the problem itself, before anything is packed.

use rayon::prelude::*;

use super::engine;
use crate::math::Twist;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::island::cone;

/// Contacts per unit of parallel work.
const CHUNK: usize = 512;

/// The residual up to which the impulses of an island count as a solution (m/s).
pub fn accepted(problem: &Problem, island: usize, tolerance: f64) -> f64 {
    let [rows, velocities] = engine::size(problem, island);
    engine::accepted(engine::alternates(rows, velocities), tolerance)
}

/// The residual of an island, for impulses and the velocities that they lead to; none where a block is left above `limit`
/// (m/s), or an impulse acts that moves nothing.
pub fn residual_within(
    problem: &Problem,
    island: usize,
    lambda: &[f64],
    u: &[Twist],
    limit: f64,
) -> Option<f64> {
    let within = |error: f64| (error <= limit).then_some(error);
    let largest = |a: f64, b: f64| Some(a.max(b));
    let contacts = problem.islands.contacts.of(island).par_chunks(CHUNK);
    let of_contacts = contacts.map(|contacts| {
        contacts.iter().try_fold(0.0, |worst: f64, c| {
            let [normal, friction] = contact_errors(problem, *c as usize, lambda, u);
            Some(worst.max(within(normal)?).max(within(friction)?))
        })
    });
    let of_contacts = of_contacts.try_reduce(|| 0.0, largest)?;
    let first = problem.contact_rows();
    let mut rows = problem.islands.rows.of(island).iter();
    rows.try_fold(of_contacts, |worst: f64, r| {
        let r = *r as usize;
        let x = lambda[first + r];
        let diagonal = problem.row_diagonal(r);
        if diagonal == 0.0 {
            return (x == 0.0).then_some(worst);
        }
        let w = problem.row_velocity(r, u, x);
        let error = cone::row_error(problem.rows.bounds[r], x, w, diagonal);
        Some(worst.max(within(error)?))
    })
}

/// The errors of a contact's normal row and friction block (m/s), as [`cone::errors`] has them. Where Λ − ρ w lies in the
/// law's set for a ρ that is larger than 1/A_ii, the set being convex, it does so for 1/A_ii, and the error is ‖w‖ itself:
/// A is then not asked for.
fn contact_errors(problem: &Problem, c: usize, lambda: &[f64], u: &[Twist]) -> [f64; 2] {
    let x = &lambda[problem.contacts.rows(c)];
    let friction = &problem.contacts.friction[c];
    let mut w = [0.0; FrictionLaw::MAX_ROWS];
    problem.contact_velocity(c, u, x, &mut w);
    let w = &w[..x.len()];
    // Projections may hide what is no number.
    if w.iter().any(|w| !w.is_finite()) {
        return [f64::NAN; 2];
    }
    if let (FrictionLaw::Disc, [n, a, b], [v, s, t]) = (friction.law, x, w) {
        if *v >= 0.0 && x == [0.0; 3] {
            return [0.0; 2];
        }
        // 1/A_ii is largest where nothing turns.
        let inverse_mass = |b: u32| problem.bodies.inverse_mass[b as usize];
        let [i, j] = problem.contacts.bodies[c].map(inverse_mass);
        let largest = 1.0 / (i + j);
        let [force, sliding] = [a * a + b * b, s * s + t * t].map(f64::sqrt);
        let room = friction.mu[0] * (n - largest * v.max(0.0));
        if *n >= 0.0 && room >= 0.0 && force + largest * sliding <= room {
            return [v.abs(), sliding];
        }
    }
    let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
    problem.contact_diagonal(c, &mut diagonal);
    cone::errors(friction, x, w, &diagonal[..x.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::residual::{JudgedLaw, ResidualWorkspace, evaluate};
    use crate::scene::library;

    #[test]
    fn the_residual_is_the_one_of_all() {
        for (scene, steps) in [
            ("pyramid", 20),
            ("train", 30),
            ("sphere_box_300", 40),
            ("arch", 20),
        ] {
            let scene = library::shipped(scene).expect("a shipped scene");
            let mut simulation = scene.simulation(1).expect("a simulation");
            for _ in 0..steps {
                simulation.step().expect("a step");
            }
            let problem = simulation.problem();
            let found = simulation.impulses();
            for share in [1.0, 0.999, 0.5, 0.0] {
                let lambda: Vec<f64> = found.iter().map(|x| share * x).collect();
                let mut u = Vec::new();
                problem.velocities(&lambda, &mut u);
                let mut workspace = ResidualWorkspace::default();
                let whole = evaluate(problem, &lambda, JudgedLaw::Own, &mut workspace).residual;
                let within = |limit: f64| {
                    let islands = 0..problem.islands.len();
                    let of = |island| residual_within(problem, island, &lambda, &u, limit);
                    islands.map(of).try_fold(0.0, |a: f64, b| Some(a.max(b?)))
                };
                let worst = within(f64::INFINITY).expect("no limit");
                let difference = (worst - whole).abs();
                assert!(
                    difference <= 1e-13 + 1e-9 * whole,
                    "{scene:?}, {share} of the impulses: {worst} in place of {whole}"
                );
                let stops = within(0.999 * worst - 1e-13).is_none();
                assert!(stops || problem.islands.is_empty(), "goes by its limit");
            }
        }
    }

    #[test]
    fn what_is_no_number_does_not_stand() {
        let scene = library::shipped("pyramid").expect("a shipped scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        simulation.step().expect("a step");
        let problem = simulation.problem();
        for row in 0..3 {
            let mut lambda = simulation.impulses().to_vec();
            lambda[row] = f64::NAN;
            let mut u = Vec::new();
            problem.velocities(&lambda, &mut u);
            let stands = residual_within(problem, 0, &lambda, &u, f64::INFINITY);
            assert_eq!(stands, None);
        }
    }
}
