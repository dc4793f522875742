//! The ends of A's spectrum by Lanczos' method, from products with A, which go through J and M⁻¹ where there are bodies.

use nalgebra::{DMatrix, SymmetricEigen};

use super::pack::Packed;
use crate::math::Twist;

/// Most Lanczos steps. The largest eigenvalue is known to a few per cent long before.
const STEPS: usize = 40;
/// Most numbers that the kept vectors of one island may hold together; large islands take fewer steps.
const MEMORY: usize = 8_000_000;
/// Ritz values below this share of the largest belong to the null space of a hyperstatic A.
const NULL: f64 = 1e-10;

/// The smallest non-zero and the largest eigenvalue of an island's A (1/kg).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectrum {
    pub smallest: f64,
    pub largest: f64,
}

/// Estimates the spectrum of an island's A of `n` rows, whose products with x `multiply` writes to y; `None` where A
/// is zero.
///
/// Every vector is orthogonalised against all before it, twice, so that no Ritz value comes again. The
/// first is A times a fixed pseudo-random vector: it has no share in the null space, so that the
/// smallest Ritz value approaches the smallest eigenvalue that is not zero. The largest is rounded up by
/// its own error bound.
pub fn spectrum(n: usize, mut multiply: impl FnMut(&[f64], &mut [f64])) -> Option<Spectrum> {
    let steps = STEPS.min(n).min((MEMORY / n.max(1)).max(8));
    let mut next = vec![0.0; n];
    let start: Vec<f64> = (0..n).map(pseudo_random).collect();
    multiply(&start, &mut next);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(steps);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut beta = norm(&next);
    let whole = beta;
    while basis.len() < steps && beta > NULL * whole {
        basis.push(next.iter().map(|x| x / beta).collect());
        let q = &basis[basis.len() - 1];
        multiply(q, &mut next);
        diagonal.push(dot(q, &next));
        for _ in 0..2 {
            for q in &basis {
                let share = dot(q, &next);
                for (x, q) in next.iter_mut().zip(q) {
                    *x -= share * q;
                }
            }
        }
        beta = norm(&next);
        beside.push(beta);
    }
    let m = diagonal.len();
    if m == 0 {
        return None;
    }
    let tridiagonal = DMatrix::from_fn(m, m, |r, c| match r.abs_diff(c) {
        0 => diagonal[r],
        1 => beside[r.min(c)],
        _ => 0.0,
    });
    let ritz = SymmetricEigen::new(tridiagonal);
    let top = ritz.eigenvalues.imax();
    let largest = ritz.eigenvalues[top];
    let error = (beta * ritz.eigenvectors[(m - 1, top)]).abs();
    let smallest = ritz
        .eigenvalues
        .iter()
        .copied()
        .filter(|value| *value > NULL * largest)
        .fold(largest, f64::min);
    Some(Spectrum {
        smallest,
        largest: largest + error,
    })
}

/// y = A x of one island, without A.
pub fn island_operator(packed: &Packed, island: usize) -> impl FnMut(&[f64], &mut [f64]) {
    let mut bodies = packed.template[packed.bodies_of(island)].to_vec();
    // w at Λ = 0 and u = 0.
    let mut bias = vec![0.0; packed.impulses(island).len()];
    packed.constraint_velocities(island, &bias.clone(), &bodies, &mut bias);
    move |x, y| {
        for body in &mut bodies {
            body.velocity = Twist::ZERO;
        }
        packed.accumulate(island, x, &mut bodies);
        packed.constraint_velocities(island, x, &bodies, y);
        for (y, bias) in y.iter_mut().zip(&bias) {
            *y -= bias;
        }
        if packed.frictionless {
            let contacts = packed.first_row(island);
            for block in y[..contacts].chunks_exact_mut(3) {
                block[1..].fill(0.0);
            }
        }
    }
}

/// A fixed sequence in [−1, 1), from a hash of the index (splitmix64).
fn pseudo_random(k: usize) -> f64 {
    let mut z = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 * (2.0 / (1u64 << 53) as f64) - 1.0
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;
    use crate::problem::delassus::{Delassus, tests::tangle};

    fn dense(problem: &Problem) -> DMatrix<f64> {
        let a = Delassus::assemble(problem);
        let n = problem.row_count();
        let mut out = DMatrix::zeros(n, n);
        for k in 0..n {
            let (mut e, mut column) = (vec![0.0; n], vec![0.0; n]);
            e[k] = 1.0;
            a.multiply(&e, &mut column);
            out.set_column(k, &nalgebra::DVector::from_vec(column));
        }
        out
    }

    #[test]
    fn the_ends_of_a_small_spectrum_are_exact() {
        let mut problem = tangle();
        for compliance in [true, false] {
            if !compliance {
                // Six rows act on one pyramid's two directions: without compliance A is singular.
                let count = problem.contacts.len();
                problem.contacts.compliance.fill(count, [0.0; 2]);
            }
            let mut packed = Packed::default();
            packed.pack(&problem, 1.0);
            assert_eq!(packed.islands(), 1);
            let found = spectrum(packed.impulses(0).len(), island_operator(&packed, 0)).unwrap();
            let values = SymmetricEigen::new(dense(&problem)).eigenvalues;
            let largest = values.max();
            let smallest = values
                .iter()
                .copied()
                .filter(|v| *v > 1e-9 * largest)
                .fold(f64::INFINITY, f64::min);
            assert!(
                (found.largest / largest - 1.0).abs() < 1e-6,
                "{found:?}, {largest}"
            );
            assert!(
                (found.smallest / smallest - 1.0).abs() < 1e-3,
                "{found:?}, {smallest}"
            );
        }
    }
}
