//! The two substitutions (Lefebvre 2020, algorithms 2.4 and 2.6).

use pulp::{Simd, WithSimd};

use super::{Envelope, Panels, TILE, store};

/// Partial sums of a scalar product.
const LANES: usize = 8;

/// [`Panels::solve`].
pub struct Solve<'a> {
    /// The shape.
    pub envelope: &'a Envelope,
    /// The factor.
    pub panels: &'a Panels,
    /// The right-hand side, then the solution.
    pub x: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let envelope = self.envelope;
        let Panels { value, inverse, .. } = self.panels;
        // L y = r.
        for panel in 0..envelope.panels() {
            let height = envelope.height(panel);
            let own = &value[envelope.start[panel]..envelope.start[panel] + TILE * height];
            let at = panel * TILE;
            let (head, below) = self.x[at..at + height].split_at_mut(TILE);
            let (tile, d) = diagonal(own, height, inverse, at);
            let mut y = [head[0], head[1], head[2], head[3]];
            for k in 0..TILE {
                y[k] *= d[k];
                for i in k + 1..TILE {
                    y[i] -= tile[k][i] * y[k];
                }
            }
            head.copy_from_slice(&y);
            if y == [0.0; TILE] {
                continue;
            }
            subtract_columns(simd, columns(own, height), &y, below);
        }
        // Lᵀ x = y.
        for panel in (0..envelope.panels()).rev() {
            let height = envelope.height(panel);
            let own = &value[envelope.start[panel]..envelope.start[panel] + TILE * height];
            let at = panel * TILE;
            let (head, below) = self.x[at..at + height].split_at_mut(TILE);
            let sums = dots(simd, columns(own, height), below);
            let (tile, d) = diagonal(own, height, inverse, at);
            let mut x = [0.0; TILE];
            for k in (0..TILE).rev() {
                let mut y = head[k] - sums[k];
                for i in (k + 1..TILE).rev() {
                    y -= tile[k][i] * x[i];
                }
                x[k] = y * d[k];
            }
            head.copy_from_slice(&x);
        }
    }
}

/// A panel's tile on the diagonal, and its inverse diagonal.
#[inline(always)]
fn diagonal(
    panel: &[f64],
    height: usize,
    inverse: &[f64],
    at: usize,
) -> ([[f64; TILE]; TILE], [f64; TILE]) {
    let mut tile = [[0.0; TILE]; TILE];
    for (tile, column) in tile.iter_mut().zip(panel.chunks_exact(height)) {
        tile.copy_from_slice(&column[..TILE]);
    }
    let mut d = [0.0; TILE];
    d.copy_from_slice(&inverse[at..at + TILE]);
    (tile, d)
}

/// The four columns of a panel below its tile on the diagonal.
#[inline(always)]
fn columns(panel: &[f64], height: usize) -> [&[f64]; TILE] {
    let (a, rest) = panel.split_at(height);
    let (b, rest) = rest.split_at(height);
    let (c, d) = rest.split_at(height);
    [&a[TILE..], &b[TILE..], &c[TILE..], &d[TILE..height]]
}

/// x ← x − L y over four columns of L.
#[inline(always)]
fn subtract_columns<S: Simd>(simd: S, l: [&[f64]; TILE], y: &[f64; TILE], x: &mut [f64]) {
    let [a, b, c, d] = l;
    let y = [
        simd.splat_f64s(y[0]),
        simd.splat_f64s(y[1]),
        simd.splat_f64s(y[2]),
        simd.splat_f64s(y[3]),
    ];
    let (x, _) = S::as_mut_simd_f64s(x);
    let (a, _) = S::as_simd_f64s(a);
    let (b, _) = S::as_simd_f64s(b);
    let (c, _) = S::as_simd_f64s(c);
    let (d, _) = S::as_simd_f64s(d);
    for ((((x, a), b), c), d) in x.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *x = simd.sub_f64s(*x, combined(simd, [*a, *b, *c, *d], y));
    }
}

/// The columns' sum with these weights.
#[inline(always)]
fn combined<S: Simd>(simd: S, l: [S::f64s; TILE], y: [S::f64s; TILE]) -> S::f64s {
    let [a, b, c, d] = l;
    simd.add_f64s(
        simd.add_f64s(simd.mul_f64s(a, y[0]), simd.mul_f64s(b, y[1])),
        simd.add_f64s(simd.mul_f64s(c, y[2]), simd.mul_f64s(d, y[3])),
    )
}

/// The products of four columns with x, each in eight partial sums.
#[inline(always)]
fn dots<S: Simd>(simd: S, columns: [&[f64]; TILE], x: &[f64]) -> [f64; TILE] {
    // Registers of eight lanes; no more than the first `registers` are used.
    let registers = LANES / S::F64_LANES;
    let mut sums = [[simd.splat_f64s(0.0); LANES]; TILE];
    let (x, _) = S::as_simd_f64s(x);
    let l = [
        S::as_simd_f64s(columns[0]).0,
        S::as_simd_f64s(columns[1]).0,
        S::as_simd_f64s(columns[2]).0,
        S::as_simd_f64s(columns[3]).0,
    ];
    let whole = x.len() / registers * registers;
    for at in (0..whole).step_by(registers) {
        for r in 0..registers {
            for k in 0..TILE {
                sums[k][r] = simd.add_f64s(sums[k][r], simd.mul_f64s(l[k][at + r], x[at + r]));
            }
        }
    }
    // One more tile may be left.
    for at in whole..x.len() {
        for k in 0..TILE {
            let r = at - whole;
            sums[k][r] = simd.add_f64s(sums[k][r], simd.mul_f64s(l[k][at], x[at]));
        }
    }
    let mut out = [0.0; TILE];
    for (out, sums) in out.iter_mut().zip(&sums) {
        let mut s = [0.0; LANES];
        store::<S, LANES>(&mut s, sums);
        *out = total(s);
    }
    out
}

/// The sum of eight partial sums, in one order for every processor.
#[inline(always)]
pub fn total(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
