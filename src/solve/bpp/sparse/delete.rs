//! Rows out of and back into the factor by rank-one updates along a path of the elimination tree
//! (Davis & Hager 2005, sparse row modifications; the update is the composite t-method of Gill,
//! Golub, Murray & Saunders 1974).
//!
//! With row i split off, A = [A11 a12 ·; a12ᵀ a22 a32ᵀ; · a32 A33]. Taking row i out adds
//! d_i l_32 l_32ᵀ to L33 D33 L33ᵀ, which is always stable; putting it back takes that product away,
//! which is refused where it would cancel.

use pulp::{Simd, WithSimd};

use super::PIVOT_FLOOR;
use super::factor::{
    Numeric, Octet, holders, numbers, numbers_mut, parent, registers_mut, subtract_scaled,
};
use super::symbolic::{LANES, Symbolic};

/// Smallest part of 1/β that may be left when L D Lᵀ + β w wᵀ takes a row back. Below it the digits that cancel
/// are worth a fresh factor of what the row affects.
const CANCELLATION: f64 = 1e-3;

/// Takes row `row` out of the factor.
pub struct Delete<'a> {
    /// The pattern.
    pub symbolic: &'a Symbolic,
    /// The numbers.
    pub numeric: &'a mut Numeric,
    /// By position; free until now.
    pub row: usize,
}

impl WithSimd for Delete<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (symbolic, numeric, i) = (self.symbolic, self.numeric, self.row);
        numeric.tight[i] = true;
        for (d, at) in holders(symbolic, i) {
            let stride = symbolic.stride[d] as usize * LANES;
            let panel = numbers_mut(&mut numeric.l[symbolic.octets(d)]);
            for column in panel.chunks_exact_mut(stride) {
                column[at] = 0.0;
            }
        }
        let s = symbolic.node[i] as usize;
        let k = i - symbolic.columns(s).start;
        let stride = symbolic.stride[s] as usize;
        let panel = &mut numeric.l[symbolic.octets(s)];
        for column in numbers_mut(&mut panel[..k * stride]).chunks_exact_mut(stride * LANES) {
            column[k] = 0.0;
        }
        let column = &mut panel[k * stride..(k + 1) * stride];
        numeric.local[..stride].copy_from_slice(column);
        column.fill(Octet::default());
        let t = numeric.inverse[i];
        numeric.d[i] = 1.0;
        numeric.inverse[i] = 1.0;
        let done = update_path(simd, symbolic, numeric, s, k + 1, t);
        debug_assert!(done, "adding a positive square cannot fail");
    }
}

/// Puts row `row` back into the factor. Returns false where that would cost digits; the factor is
/// then unfinished, and the supernodes that it left so are marked as updated.
pub struct Add<'a> {
    /// The pattern.
    pub symbolic: &'a Symbolic,
    /// The numbers.
    pub numeric: &'a mut Numeric,
    /// By position; tight until now.
    pub row: usize,
}

impl WithSimd for Add<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let (symbolic, numeric, i) = (self.symbolic, self.numeric, self.row);
        numeric.tight[i] = false;
        let mut pivot = 0.0;
        // Row i of L11 D11 l12 = a12 over the row's subtree; `dense` gathers −L31 D11 l12.
        for (d, at) in holders(symbolic, i) {
            numeric.updated[d] = true;
            pivot -= solve_row(simd, symbolic, numeric, d, at, symbolic.columns(d).len());
        }
        let s = symbolic.node[i] as usize;
        numeric.updated[s] = true;
        let columns = symbolic.columns(s);
        let k = i - columns.start;
        pivot -= solve_row(simd, symbolic, numeric, s, k, k);
        let stride = symbolic.stride[s] as usize;
        let place = symbolic.octets(s).start + k * stride;
        let a = numbers(&numeric.a[place..place + stride]);
        let diagonal = a[k];
        pivot += diagonal;
        // The row was tight, so that nothing but `pivot` has gathered at its own place.
        let rows = symbolic.rows(s);
        let good = pivot > PIVOT_FLOOR * diagonal;
        let inverse = 1.0 / pivot;
        let column = numbers_mut(&mut numeric.l[place..place + stride]);
        for (r, row) in rows.iter().enumerate().skip(k + 1) {
            let gathered = std::mem::take(&mut numeric.dense[*row as usize]);
            if good && !numeric.tight[*row as usize] {
                column[r] = (a[r] + gathered) * inverse;
            }
        }
        numeric.dense[i] = 0.0;
        if !good {
            return false;
        }
        numeric.d[i] = pivot;
        numeric.inverse[i] = inverse;
        numeric.local[..stride].copy_from_slice(&numeric.l[place..place + stride]);
        update_path(simd, symbolic, numeric, s, k + 1, -inverse)
    }
}

/// The entries of one row of L in the first `width` columns of supernode `d`, where the row has place
/// `at`. Adds what these columns give to later rows to `dense`; returns their part of the pivot.
#[inline(always)]
fn solve_row<S: Simd>(
    simd: S,
    symbolic: &Symbolic,
    numeric: &mut Numeric,
    d: usize,
    at: usize,
    width: usize,
) -> f64 {
    let columns = symbolic.columns(d);
    let stride = symbolic.stride[d] as usize;
    let rows = symbolic.rows(d);
    let a = numbers(&numeric.a[symbolic.octets(d)]);
    let panel = &mut numeric.l[symbolic.octets(d)];
    let local = &mut numeric.local[..stride];
    local.fill(Octet::default());
    for k in 0..width {
        let position = columns.start + k;
        let gathered = std::mem::take(&mut numeric.dense[position]);
        if !numeric.tight[position] {
            numbers_mut(local)[k] = gathered + a[k * stride * LANES + at];
        }
    }
    let mut sum = 0.0;
    for (k, column) in panel.chunks_exact_mut(stride).take(width).enumerate() {
        let y = numbers(local)[k];
        let skip = k / LANES;
        subtract_scaled(simd, y, &column[skip..], &mut local[skip..]);
        let l = y * numeric.inverse[columns.start + k];
        numbers_mut(column)[at] = l;
        sum += y * l;
    }
    for (row, x) in rows.iter().zip(numbers(local)).skip(width) {
        numeric.dense[*row as usize] += x;
    }
    sum
}

/// L D Lᵀ + (1/t) w wᵀ from column `from` of supernode `s` to the root of its tree, with w in `local`.
#[inline(always)]
fn update_path<S: Simd>(
    simd: S,
    symbolic: &Symbolic,
    numeric: &mut Numeric,
    mut s: usize,
    mut from: usize,
    mut t: f64,
) -> bool {
    let mut good = true;
    let least = CANCELLATION * t.abs();
    let mut inverse_t = 1.0 / t;
    loop {
        let columns = symbolic.columns(s);
        let width = columns.len();
        let rows = symbolic.rows(s);
        let stride = symbolic.stride[s] as usize;
        numeric.updated[s] = true;
        let panel = &mut numeric.l[symbolic.octets(s)];
        let local = &mut numeric.local[..stride];
        for k in from..width {
            let p = std::mem::take(&mut numbers_mut(local)[k]);
            if p == 0.0 {
                continue;
            }
            let (d, inverse) = (
                numeric.d[columns.start + k],
                numeric.inverse[columns.start + k],
            );
            let pd = p * inverse;
            let next = t + p * pd;
            let inverse_next = 1.0 / next;
            let ratio = next * inverse_t;
            // Written so that NaN does not pass.
            if !(ratio > 0.0 && next.abs() > least) {
                good = false;
                break;
            }
            let new = d * ratio;
            numeric.d[columns.start + k] = new;
            numeric.inverse[columns.start + k] = 1.0 / new;
            let skip = k / LANES;
            let column = &mut panel[k * stride + skip..(k + 1) * stride];
            let (p, gain) = (simd.splat_f64s(p), simd.splat_f64s(pd * inverse_next));
            let w = registers_mut::<S>(&mut local[skip..]);
            for (w, l) in w.iter_mut().zip(registers_mut::<S>(column)) {
                *w = simd.sub_f64s(*w, simd.mul_f64s(p, *l));
                *l = simd.add_f64s(*l, simd.mul_f64s(gain, *w));
            }
            t = next;
            inverse_t = inverse_next;
        }
        let Some(above) = parent(symbolic, s) else {
            return good;
        };
        if !good {
            // What is above counts as unfinished too.
            numeric.updated[above] = true;
            s = above;
            from = symbolic.columns(s).len();
            continue;
        }
        let below = &numbers(local)[width..];
        for (row, w) in rows[width..].iter().zip(below) {
            numeric.dense[*row as usize] = *w;
        }
        s = above;
        from = 0;
        let stride = symbolic.stride[s] as usize;
        let local = numbers_mut(&mut numeric.local[..stride]);
        let rows = symbolic.rows(s);
        for (w, row) in local.iter_mut().zip(rows) {
            *w = std::mem::take(&mut numeric.dense[*row as usize]);
        }
        local[rows.len()..].fill(0.0);
    }
}
