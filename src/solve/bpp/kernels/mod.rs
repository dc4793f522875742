//! The inner loops on panels: factorisation, substitutions, and the removal of a row (Lefebvre 2020,
//! algorithms 2.3 to 2.6, corrected).
//!
//! They run along contiguous memory in SIMD registers, each entry by itself in a fixed order, sums in
//! eight lanes, and no multiply-add is fused: every processor computes the same to the last bit. There
//! are no closures in here: they would be compiled for the plain processor, and only called.

mod factor;
mod remove;
mod solve;

use pulp::{Arch, Simd, WithSimd};

pub use self::factor::Factor;
pub use self::remove::Remove;
pub use self::solve::Solve;

/// Runs a kernel in registers of four numbers at most. Panels begin four rows apart, so that what one
/// stores in wider ones the next could only load once it has reached the cache.
#[cfg(target_arch = "x86_64")]
pub fn narrow<Op: WithSimd>(op: Op) -> Op::Output {
    match Arch::new() {
        Arch::V4(simd) => Simd::vectorize(*simd, op),
        Arch::V3(simd) => Simd::vectorize(simd, op),
        _ => Simd::vectorize(pulp::Scalar, op),
    }
}

/// Runs a kernel; registers have no more than four numbers anyhow.
#[cfg(not(target_arch = "x86_64"))]
pub fn narrow<Op: WithSimd>(op: Op) -> Op::Output {
    Arch::new().dispatch(op)
}

/// `R` registers from the beginning of a slice, zero beyond its end. Slices end with a tile.
#[inline(always)]
fn load<S: Simd, const R: usize>(simd: S, from: &[f64]) -> [S::f64s; R] {
    let mut out = [simd.splat_f64s(0.0); R];
    let all = R * S::F64_LANES;
    // With a length that the compiler knows.
    let (full, _) = S::as_simd_f64s(if from.len() >= all {
        &from[..all]
    } else {
        from
    });
    for (out, full) in out.iter_mut().zip(full) {
        *out = *full;
    }
    out
}

/// Registers to the beginning of a slice, as far as it goes.
#[inline(always)]
fn store<S: Simd, const R: usize>(to: &mut [f64], x: &[S::f64s; R]) {
    let all = (R * S::F64_LANES).min(to.len());
    let (full, _) = S::as_mut_simd_f64s(&mut to[..all]);
    for (full, x) in full.iter_mut().zip(x) {
        *full = *x;
    }
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::super::factor::{
        Panels, TILE,
        tests::{banded, random},
    };
    use super::super::island::IslandMatrix;
    use super::*;

    /// What the kernels make of a matrix, by any way of running them.
    fn everything<S: Simd>(simd: S, matrix: &IslandMatrix) -> (Panels, Vec<f64>) {
        let envelope = &matrix.envelope;
        let mut panels = Panels {
            value: matrix.value.clone(),
            inverse: vec![1.0; envelope.panels() * TILE],
            raised: 0.0,
        };
        let tight: Vec<bool> = (0..matrix.n).map(|i| i % 5 == 2).collect();
        simd.vectorize(Factor {
            envelope,
            panels: &mut panels,
            tight: &tight,
            from: 0,
        });
        let mut next = random(3);
        let mut sigma = vec![0.0; envelope.panels() * TILE];
        let end = envelope.last[0] as usize * TILE + TILE;
        sigma[2..end].fill_with(&mut next);
        simd.vectorize(Remove {
            envelope,
            panels: &mut panels,
            i: 1,
            sigma: &mut sigma,
        });
        assert!(sigma.iter().all(|s| *s == 0.0), "it is left zero");
        let mut x: Vec<f64> = (0..envelope.panels() * TILE).map(|_| next()).collect();
        simd.vectorize(Solve {
            envelope,
            panels: &panels,
            x: &mut x,
        });
        (panels, x)
    }

    #[test]
    fn every_width_of_registers_computes_the_same() {
        for (n, width) in [(3, 2), (17, 5), (61, 20), (64, 63), (90, 33)] {
            let matrix = banded(n, n as u64, |k| (k + width - k % 3).min(n - 1));
            let (plain, x) = everything(Scalar, &matrix);
            assert!(x.iter().any(|x| *x != 0.0));
            struct All<'a>(&'a IslandMatrix);
            impl WithSimd for All<'_> {
                type Output = (Panels, Vec<f64>);
                fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
                    everything(simd, self.0)
                }
            }
            let mut others = vec![narrow(All(&matrix))];
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                others.push(everything(pulp::x86::V3_128b(simd), &matrix));
            }
            for (panels, y) in others {
                assert_eq!(panels.value, plain.value, "n {n}, width {width}");
                assert_eq!(panels.inverse, plain.inverse);
                assert_eq!(x, y);
            }
        }
    }

    /// Two rows that are nearly the same leave a pivot of 2e-11. With rows removed, what is left must be the
    /// factor of the rest to rounding.
    #[test]
    fn small_pivots_cost_no_digits() {
        let n = 40;
        let mut matrix = banded(n, 5, |_| n - 1);
        let mut next = random(9);
        let (a, b) = (4, 5);
        for i in (0..n).filter(|i| ![a, b].contains(i)) {
            let at = |r: usize| matrix.envelope.at(r.max(i), r.min(i));
            let (from, to) = (at(a), at(b));
            matrix.value[to] = matrix.value[from] + 3e-7 * next();
        }
        let at = matrix.envelope.at(b, a);
        matrix.value[at] = 1.0 - 1e-11;
        let mut panels = Panels::default();
        panels
            .factor(&matrix.envelope, &matrix.value, &[], 0)
            .unwrap();
        assert!(panels.raised == 0.0 && panels.diagonal(&matrix.envelope, b) < 1e-5);
        let mut sigma = vec![0.0; n];
        let removed = [0, a, 13, 20];
        for i in removed {
            panels.remove(&matrix.envelope, i, &mut sigma);
        }
        let l = |i: usize, k: usize| panels.value[matrix.envelope.at(i, k)];
        for i in (0..n).filter(|i| !removed.contains(i)) {
            for j in (0..=i).filter(|j| !removed.contains(j)) {
                let product: f64 = (0..=j).map(|k| l(i, k) * l(j, k)).sum();
                let error = product - matrix.value[matrix.envelope.at(i, j)];
                assert!(error.abs() < 2e-15, "({i}, {j}): {error:e}");
            }
        }
    }
}
