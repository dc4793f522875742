//! The numbers of the factor: left-looking supernodal LDLᵀ and the two triangular solves.
//!
//! A panel is a supernode's columns of L, dense, in the order of its rows; the diagonal and what is
//! above it are kept at zero, and D apart. The kernels read whole octets: at the rows above those
//! meant they compute what nobody uses. No multiply-add is fused, and sums run in eight lanes
//! whatever the processor, so that every processor computes the same.

use std::time::Instant;

use pulp::{Simd, WithSimd};

use super::kernel::{
    Octet, TILE, dot, numbers, numbers_mut, product, product_of, registers_mut, subtract_scaled,
};
use super::symbolic::{LANES, Symbolic};
use super::{Breakdown, PIVOT_FLOOR};

/// Room for more octets than that is given back where most of it is unused: 64 MB.
const LARGE: usize = 1 << 20;

/// Columns of a panel that are factored one by one before the later columns take part.
const BLOCK: usize = 4;

/// The numbers of A and of its factor under the present tight set.
#[derive(Clone, Debug, Default)]
pub struct Numeric {
    /// A in the layout of the panels, its diagonal included.
    pub a: Vec<Octet>,
    /// L without its unit diagonal.
    pub l: Vec<Octet>,
    /// D.
    pub d: Vec<f64>,
    /// 1 / D.
    pub inverse: Vec<f64>,
    /// The tight set, by position.
    pub tight: Vec<bool>,
    /// The rows whose pivots are negative, by position.
    pub negative: Vec<bool>,
    /// A vector by position; zero between uses.
    pub dense: Vec<f64>,
    /// A vector of a panel's rows.
    local: Vec<Octet>,
    product: Vec<Octet>,
    coefficient: Vec<f64>,
    map: Vec<u32>,
    relative: Vec<u32>,
}

impl Numeric {
    /// Makes room for a new pattern and forgets every number.
    pub fn resize(&mut self, symbolic: &Symbolic) {
        let n = symbolic.order.len();
        let nodes = symbolic.nodes();
        let octets = symbolic.panel[nodes];
        self.a.clear();
        for room in [&mut self.a, &mut self.l] {
            if room.capacity() > LARGE.max(4 * octets) {
                *room = Vec::new();
            }
        }
        self.a.resize(octets, Octet::default());
        self.l.resize(octets, Octet::default());
        self.d.resize(n, 1.0);
        self.inverse.resize(n, 1.0);
        self.tight.clear();
        self.tight.resize(n, false);
        self.negative.clear();
        self.negative.resize(n, false);
        self.dense.clear();
        self.dense.resize(n, 0.0);
        self.map.resize(n, 0);
        let tallest = symbolic.stride.iter().max().map_or(0, |s| *s as usize);
        self.local.resize(tallest, Octet::default());
    }

    /// Factors supernode `s` of A under the tight set from finished supernodes.
    #[inline(always)]
    fn factor_node<S: Simd>(
        &mut self,
        simd: S,
        symbolic: &Symbolic,
        s: usize,
    ) -> Result<(), Breakdown> {
        let rows = symbolic.rows(s);
        let columns = symbolic.columns(s);
        let octets = symbolic.octets(s);
        let stride = symbolic.stride[s] as usize;
        self.l[octets.clone()].copy_from_slice(&self.a[octets.clone()]);
        let tight = &self.tight[columns.clone()];
        if tight.iter().all(|t| *t) {
            self.l[octets].fill(Octet::default());
            self.d[columns.clone()].fill(1.0);
            self.inverse[columns].fill(1.0);
            return Ok(());
        }
        for (k, row) in rows.iter().enumerate() {
            self.map[*row as usize] = k as u32;
        }
        let (before, panel) = self.l[..octets.end].split_at_mut(octets.start);
        mask(panel, stride, rows, &self.tight, columns.len());
        for source in symbolic.sources(s) {
            let d = source.node as usize;
            let from = &before[symbolic.octets(d)];
            let stride_d = symbolic.stride[d] as usize;
            let begin = source.begin as usize;
            let skip = begin / LANES;
            let out_stride = stride_d - skip;
            let width = source.end as usize - begin;
            let pivots = &self.d[symbolic.columns(d)];
            self.product.resize(width * out_stride, Octet::default());
            multiply(
                simd,
                (from, stride_d, pivots),
                (begin, width),
                &mut self.coefficient,
                &mut self.product,
            );
            self.relative.clear();
            let map = &self.map;
            self.relative
                .extend(symbolic.rows(d)[begin..].iter().map(|r| map[*r as usize]));
            subtract_rows(
                &self.product,
                out_stride,
                begin - skip * LANES,
                width,
                &self.relative,
                panel,
                stride,
            );
        }
        self.factor_panel(simd, symbolic, s)
    }

    /// Dense LDLᵀ of a panel whose updates are done.
    #[inline(always)]
    fn factor_panel<S: Simd>(
        &mut self,
        simd: S,
        symbolic: &Symbolic,
        s: usize,
    ) -> Result<(), Breakdown> {
        let columns = symbolic.columns(s);
        let first = columns.start;
        let width = columns.len();
        let stride = symbolic.stride[s] as usize;
        let panel = &mut self.l[symbolic.octets(s)];
        let diagonal = &numbers(&self.a[symbolic.octets(s)]);
        let mut begin = 0;
        while begin < width {
            let end = (begin + BLOCK).min(width);
            let (done, open) = panel.split_at_mut(begin * stride);
            if begin > 0 {
                self.coefficient.clear();
                for (column, d) in numbers(done)
                    .chunks_exact(stride * LANES)
                    .zip(&self.d[columns.clone()])
                {
                    self.coefficient
                        .extend(column[begin..end].iter().map(|l| l * d));
                }
                let skip = begin / LANES;
                let out = &mut open[..(end - begin) * stride];
                let (done, out) = ((&*done, stride), (out, stride));
                product_of::<S, true>(simd, end - begin, done, skip, &self.coefficient, out);
            }
            for j in begin..end {
                let (head, tail) = open[(j - begin) * stride..].split_at_mut(stride);
                let pivot = numbers(head)[j];
                let scale = if self.tight[first + j] {
                    1.0
                } else {
                    diagonal[j * stride * LANES + j]
                };
                let is_negative = self.negative[first + j] && !self.tight[first + j];
                let size = if is_negative { -pivot } else { pivot };
                // Written so that NaN does not pass.
                if !(size > PIVOT_FLOOR * scale.abs() && size < f64::INFINITY) {
                    return Err(Breakdown::Pivot {
                        row: symbolic.order[first + j] as usize,
                        pivot,
                    });
                }
                let inverse = 1.0 / pivot;
                self.d[first + j] = pivot;
                self.inverse[first + j] = inverse;
                let skip = j / LANES;
                for (c, column) in (j + 1..end).zip(tail.chunks_exact_mut(stride)) {
                    let f = numbers(head)[c] * inverse;
                    subtract_scaled(simd, f, &head[skip..], &mut column[skip..]);
                }
                let by = simd.splat_f64s(inverse);
                for x in registers_mut::<S>(&mut head[skip..]) {
                    *x = simd.mul_f64s(*x, by);
                }
                numbers_mut(head)[..=j].fill(0.0);
            }
            begin = end;
        }
        Ok(())
    }

    /// x ← L⁻ᵀ D⁻¹ L⁻¹ x on `dense`.
    #[inline(always)]
    fn solve<S: Simd>(&mut self, simd: S, symbolic: &Symbolic) {
        for s in 0..symbolic.nodes() {
            let columns = symbolic.columns(s);
            let width = columns.len();
            let stride = symbolic.stride[s] as usize;
            let panel = &self.l[symbolic.octets(s)];
            let x = &mut self.dense[columns.clone()];
            for (k, column) in panel.chunks_exact(stride).enumerate() {
                let value = x[k];
                for (x, l) in x[k + 1..].iter_mut().zip(&numbers(column)[k + 1..]) {
                    *x -= l * value;
                }
            }
            let rows = &symbolic.rows(s)[width..];
            let skip = width / LANES;
            let local = &mut self.local[..stride];
            product::<S, 1, false>(simd, (panel, stride), skip, x, (local, stride));
            for (x, inverse) in x.iter_mut().zip(&self.inverse[columns]) {
                *x *= inverse;
            }
            for (row, x) in rows.iter().zip(&numbers(local)[width..]) {
                self.dense[*row as usize] -= x;
            }
        }
        for s in (0..symbolic.nodes()).rev() {
            let columns = symbolic.columns(s);
            let width = columns.len();
            let stride = symbolic.stride[s] as usize;
            let skip = width / LANES;
            let panel = &self.l[symbolic.octets(s)];
            let rows = &symbolic.rows(s)[width..];
            // The own columns take part with zeros, and so does the padding.
            let local = &mut self.local[..stride];
            local[skip..].fill(Octet::default());
            for (row, x) in rows.iter().zip(&mut numbers_mut(local)[width..]) {
                *x = self.dense[*row as usize];
            }
            let x = &mut self.dense[columns];
            for (x, column) in x.iter_mut().zip(panel.chunks_exact(stride)) {
                *x -= dot(simd, &column[skip..], &local[skip..]);
            }
            for k in (0..width).rev() {
                let value = x[k];
                let lines = numbers(panel)[k..].iter().step_by(stride * LANES);
                for (x, l) in x[..k].iter_mut().zip(lines) {
                    *x -= l * value;
                }
            }
        }
    }
}

/// The product L D Lᵀ of a finished panel, of its rows from `begin` on with the first `width` of them.
#[inline(always)]
fn multiply<S: Simd>(
    simd: S,
    (from, stride, pivots): (&[Octet], usize, &[f64]),
    (begin, width): (usize, usize),
    coefficient: &mut Vec<f64>,
    out: &mut [Octet],
) {
    let skip = begin / LANES;
    let out_stride = stride - skip;
    let mut c = 0;
    while c < width {
        // Even shares, so that no narrow tile is left over.
        let left = width - c;
        let take = left.div_ceil(left.div_ceil(TILE));
        coefficient.clear();
        for (column, d) in numbers(from).chunks_exact(stride * LANES).zip(pivots) {
            let lines = &column[begin + c..begin + c + take];
            coefficient.extend(lines.iter().map(|l| l * d));
        }
        let out = &mut out[c * out_stride..(c + take) * out_stride];
        let out = (out, out_stride);
        product_of::<S, false>(simd, take, (from, stride), skip, coefficient, out);
        c += take;
    }
}

/// Sets the rows and columns of the tight set to those of the identity.
fn mask(panel: &mut [Octet], stride: usize, rows: &[u32], tight: &[bool], width: usize) {
    for (k, row) in rows.iter().enumerate() {
        if tight[*row as usize] {
            for c in 0..width {
                numbers_mut(panel)[c * stride * LANES + k] = 0.0;
            }
            if k < width {
                panel[k * stride..(k + 1) * stride].fill(Octet::default());
                numbers_mut(panel)[k * stride * LANES + k] = 1.0;
            }
        }
    }
}

/// Takes the lower trapezoid of a product from the rows of a panel that it belongs to.
#[inline(always)]
fn subtract_rows(
    product: &[Octet],
    product_stride: usize,
    offset: usize,
    width: usize,
    relative: &[u32],
    panel: &mut [Octet],
    stride: usize,
) {
    let first = relative[0] as usize;
    let together = relative[relative.len() - 1] as usize - first + 1 == relative.len();
    for c in 0..width {
        let from = &numbers(product)[c * product_stride * LANES + offset..][c..relative.len()];
        let to = &mut numbers_mut(panel)[relative[c] as usize * stride * LANES..][..stride * LANES];
        if together {
            for (to, x) in to[first + c..].iter_mut().zip(from) {
                *to -= x;
            }
        } else {
            for (at, x) in relative[c..].iter().zip(from) {
                to[*at as usize] -= x;
            }
        }
    }
}

/// Factors the supernodes that are asked for, in order.
pub struct Factor<'a> {
    /// The pattern.
    pub symbolic: &'a Symbolic,
    /// The numbers.
    pub numeric: &'a mut Numeric,
    /// Which supernodes.
    pub wanted: &'a [bool],
    /// When it is given up.
    pub deadline: Option<Instant>,
}

impl WithSimd for Factor<'_> {
    type Output = Result<(), Breakdown>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        for s in 0..self.symbolic.nodes() {
            if self.wanted[s] {
                if self
                    .deadline
                    .is_some_and(|deadline| Instant::now() >= deadline)
                {
                    return Err(Breakdown::Late);
                }
                self.numeric.factor_node(simd, self.symbolic, s)?;
            }
        }
        Ok(())
    }
}

/// Solves for `numeric.dense`, by position.
pub struct Solve<'a> {
    /// The pattern.
    pub symbolic: &'a Symbolic,
    /// The numbers.
    pub numeric: &'a mut Numeric,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.numeric.solve(simd, self.symbolic);
    }
}
