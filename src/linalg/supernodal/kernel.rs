//! Dense kernels on octets of numbers: a multiple taken off, a scalar product, and tiles of a matrix product.

use bytemuck::{Pod, Zeroable};
use pulp::Simd;

use super::symbolic::LANES;

/// Eight numbers, aligned for the widest registers.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Octet(pub [f64; LANES]);

/// Their sum, in pairs.
fn total(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// Columns that the dense kernel computes at once at most.
pub(super) const TILE: usize = 6;

/// A slice of octets as registers.
#[inline(always)]
pub(super) fn registers<S: Simd>(x: &[Octet]) -> &[S::f64s] {
    S::as_simd_f64s(numbers(x)).0
}

/// A slice of octets as registers.
#[inline(always)]
pub(super) fn registers_mut<S: Simd>(x: &mut [Octet]) -> &mut [S::f64s] {
    S::as_mut_simd_f64s(numbers_mut(x)).0
}

/// A slice of octets as numbers.
#[inline(always)]
pub fn numbers(x: &[Octet]) -> &[f64] {
    bytemuck::cast_slice(x)
}

/// A slice of octets as numbers.
#[inline(always)]
pub fn numbers_mut(x: &mut [Octet]) -> &mut [f64] {
    bytemuck::cast_slice_mut(x)
}

/// y −= a x.
#[inline(always)]
pub(super) fn subtract_scaled<S: Simd>(simd: S, a: f64, x: &[Octet], y: &mut [Octet]) {
    let a = simd.splat_f64s(a);
    for (y, x) in registers_mut::<S>(y).iter_mut().zip(registers::<S>(x)) {
        *y = simd.sub_f64s(*y, simd.mul_f64s(a, *x));
    }
}

/// x·y in eight partial sums.
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, x: &[Octet], y: &[Octet]) -> f64 {
    let per_octet = LANES / S::F64_LANES;
    // Registers of one octet; no more than the first `per_octet` are used.
    let mut sums = [simd.splat_f64s(0.0); LANES];
    let x = registers::<S>(x).chunks_exact(per_octet);
    let y = registers::<S>(y).chunks_exact(per_octet);
    for (x, y) in x.zip(y) {
        for k in 0..per_octet {
            sums[k] = simd.add_f64s(sums[k], simd.mul_f64s(x[k], y[k]));
        }
    }
    let mut parts = Octet::default();
    registers_mut::<S>(std::slice::from_mut(&mut parts)).copy_from_slice(&sums[..per_octet]);
    total(parts.0)
}

/// One tile of [`product`]: `R` registers of `C` columns, from register `from` of the source.
#[inline(always)]
fn tile<S: Simd, const R: usize, const C: usize, const SUBTRACT: bool>(
    simd: S,
    (source, stride): (&[Octet], usize),
    (from, to): (usize, usize),
    coefficient: &[f64],
    out: &mut [Octet],
    out_stride: usize,
) {
    let mut sum = [[simd.splat_f64s(0.0); R]; C];
    let columns = source.chunks_exact(stride);
    for (column, f) in columns.zip(coefficient.as_chunks::<C>().0) {
        let x = &registers::<S>(column)[from..from + R];
        for c in 0..C {
            let f = simd.splat_f64s(f[c]);
            for r in 0..R {
                sum[c][r] = simd.add_f64s(sum[c][r], simd.mul_f64s(f, x[r]));
            }
        }
    }
    for (column, sum) in out.chunks_exact_mut(out_stride).zip(&sum) {
        let y = &mut registers_mut::<S>(column)[to..to + R];
        for r in 0..R {
            y[r] = if SUBTRACT {
                simd.sub_f64s(y[r], sum[r])
            } else {
                sum[r]
            };
        }
    }
}

/// `C` columns of out (−)= source · coefficient, from octet `skip` of the source on. Columns come with their
/// stride; those of the result may be shorter, and end with the source's.
#[inline(always)]
pub(super) fn product<S: Simd, const C: usize, const SUBTRACT: bool>(
    simd: S,
    source: (&[Octet], usize),
    skip: usize,
    coefficient: &[f64],
    (out, stride): (&mut [Octet], usize),
) {
    let per_octet = LANES / S::F64_LANES;
    let end = source.1 * per_octet;
    let before = (source.1 - stride) * per_octet;
    let mut from = skip * per_octet;
    while from + 2 <= end {
        let at = (from, from - before);
        tile::<S, 2, C, SUBTRACT>(simd, source, at, coefficient, out, stride);
        from += 2;
    }
    if from < end {
        let at = (from, from - before);
        tile::<S, 1, C, SUBTRACT>(simd, source, at, coefficient, out, stride);
    }
}

/// [`product`] of so many columns, [`TILE`] at most.
#[inline(always)]
pub(super) fn product_of<S: Simd, const SUBTRACT: bool>(
    simd: S,
    columns: usize,
    source: (&[Octet], usize),
    skip: usize,
    coefficient: &[f64],
    out: (&mut [Octet], usize),
) {
    match columns {
        1 => product::<S, 1, SUBTRACT>(simd, source, skip, coefficient, out),
        2 => product::<S, 2, SUBTRACT>(simd, source, skip, coefficient, out),
        3 => product::<S, 3, SUBTRACT>(simd, source, skip, coefficient, out),
        4 => product::<S, 4, SUBTRACT>(simd, source, skip, coefficient, out),
        5 => product::<S, 5, SUBTRACT>(simd, source, skip, coefficient, out),
        _ => product::<S, 6, SUBTRACT>(simd, source, skip, coefficient, out),
    }
}
