//! The inner loops on panels: factorisation, substitutions, and the rank-one modification that removes a
//! row (Lefebvre 2020, algorithms 2.3 to 2.6, corrected).
//!
//! They run along contiguous memory in the processor's widest registers, each entry by itself in a fixed
//! order, sums in eight lanes, and no multiply-add is fused: every processor computes the same to the
//! last bit. There are no closures in here: they would be compiled for the plain processor, and only
//! called.

use pulp::{Arch, Simd, WithSimd};

use super::factor::{BREAKDOWN, Envelope, Panels, RAISED, TILE};

/// Partial sums of a scalar product.
const LANES: usize = 8;

/// Runs a kernel in registers of four numbers at most. Panels begin four rows apart, so that what one
/// stores in wider ones the next could only load once it has reached the cache.
pub fn narrow<Op: WithSimd>(op: Op) -> Op::Output {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => Simd::vectorize(*simd, op),
        arch => arch.dispatch(op),
    }
}

/// [`Panels::factor`].
pub struct Factor<'a> {
    /// The shape.
    pub envelope: &'a Envelope,
    /// A from panel `from` on; before it, the finished factor.
    pub panels: &'a mut Panels,
    /// Rows that are not there; those beyond its end are free.
    pub tight: &'a [bool],
    /// The first panel.
    pub from: usize,
}

impl WithSimd for Factor<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Eight rows of four columns fill half of sixteen registers of four numbers.
        match S::F64_LANES {
            4 => self.run::<S, 2, 1>(simd),
            2 => self.run::<S, 4, 2>(simd),
            _ => self.run::<S, 8, 4>(simd),
        }
    }
}

impl Factor<'_> {
    /// Strips of `R` registers, and of `T` where no more rows are left.
    #[inline(always)]
    fn run<S: Simd, const R: usize, const T: usize>(self, simd: S) {
        let Panels {
            value,
            inverse,
            raised,
        } = self.panels;
        let envelope = self.envelope;
        for panel in self.from..envelope.panels() {
            let tight = self.tight.get(panel * TILE..).unwrap_or(&[]);
            let height = envelope.height(panel);
            let (done, rest) = value.split_at_mut(envelope.start[panel]);
            let mut strip = Strip {
                envelope,
                done,
                own: &mut rest[..TILE * height],
                panel,
                row: panel * TILE,
            };
            // The first strip has the tile on the diagonal in its first rows.
            let wide = height > T * S::F64_LANES;
            let mut diagonal = [[0.0; TILE]; TILE];
            let mut d = [0.0; TILE];
            if wide {
                let x = strip.subtract_products::<S, R>(simd);
                diagonal_tile(simd, &x, tight, &mut diagonal, &mut d, raised);
                strip.divide_and_store(simd, x, &diagonal, &d);
                strip.row += R * S::F64_LANES;
            } else {
                let x = strip.subtract_products::<S, T>(simd);
                diagonal_tile(simd, &x, tight, &mut diagonal, &mut d, raised);
                strip.divide_and_store(simd, x, &diagonal, &d);
                strip.row += T * S::F64_LANES;
            }
            let end = panel * TILE + height;
            while strip.row < end {
                if end - strip.row > T * S::F64_LANES {
                    let x = strip.subtract_products::<S, R>(simd);
                    strip.divide_and_store(simd, x, &diagonal, &d);
                    strip.row += R * S::F64_LANES;
                } else {
                    let x = strip.subtract_products::<S, T>(simd);
                    strip.divide_and_store(simd, x, &diagonal, &d);
                    strip.row += T * S::F64_LANES;
                }
            }
            for (column, tile) in strip.own.chunks_exact_mut(height).zip(&diagonal) {
                column[..TILE].copy_from_slice(tile);
            }
            inverse[panel * TILE..(panel + 1) * TILE].copy_from_slice(&d);
        }
    }
}

/// Some rows of a panel.
struct Strip<'a> {
    envelope: &'a Envelope,
    /// The panels before this one.
    done: &'a [f64],
    /// This panel.
    own: &'a mut [f64],
    panel: usize,
    /// The first row.
    row: usize,
}

impl Strip<'_> {
    /// The rows of A without the products of the columns before. Rows beyond the panel's end are zero.
    #[inline(always)]
    fn subtract_products<S: Simd, const R: usize>(&self, simd: S) -> [[S::f64s; R]; TILE] {
        let envelope = self.envelope;
        let height = envelope.height(self.panel);
        let mut c = [[simd.splat_f64s(0.0); R]; TILE];
        for (c, column) in c.iter_mut().zip(self.own.chunks_exact(height)) {
            *c = load(simd, &column[self.row - self.panel * TILE..]);
        }
        for k in envelope.first[self.row / TILE] as usize..self.panel {
            let height = envelope.height(k);
            let base = &self.done[envelope.start[k]..envelope.start[k] + TILE * height];
            let (p_at, q_at) = (self.row - k * TILE, (self.panel - k) * TILE);
            for column in base.chunks_exact(height) {
                let p: [S::f64s; R] = load(simd, &column[p_at..]);
                let q: &[f64; TILE] = column[q_at..]
                    .first_chunk()
                    .expect("the panel's own rows are within the envelope");
                for (c, q) in c.iter_mut().zip(q) {
                    let q = simd.splat_f64s(*q);
                    for (c, p) in c.iter_mut().zip(&p) {
                        *c = simd.sub_f64s(*c, simd.mul_f64s(*p, q));
                    }
                }
            }
        }
        c
    }

    /// X ← X L⁻ᵀ for the tile L on the diagonal, whose inverse diagonal is `d`; stores it.
    #[inline(always)]
    fn divide_and_store<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        mut x: [[S::f64s; R]; TILE],
        l: &[[f64; TILE]; TILE],
        d: &[f64; TILE],
    ) {
        for k in 0..TILE {
            let (before, own) = x.split_at_mut(k);
            for (before, l) in before.iter().zip(l) {
                let factor = simd.splat_f64s(l[k]);
                for (x, b) in own[0].iter_mut().zip(before) {
                    *x = simd.sub_f64s(*x, simd.mul_f64s(*b, factor));
                }
            }
            let d = simd.splat_f64s(d[k]);
            for x in &mut own[0] {
                *x = simd.mul_f64s(*x, d);
            }
        }
        let height = self.own.len() / TILE;
        for (x, column) in x.iter().zip(self.own.chunks_exact_mut(height)) {
            store(simd, &mut column[self.row - self.panel * TILE..], x);
        }
    }
}

/// `R` registers from the beginning of a slice, zero beyond its end.
#[inline(always)]
fn load<S: Simd, const R: usize>(simd: S, from: &[f64]) -> [S::f64s; R] {
    let mut out = [simd.splat_f64s(0.0); R];
    if from.len() >= R * S::F64_LANES {
        let (full, _) = S::as_simd_f64s(&from[..R * S::F64_LANES]);
        for (out, full) in out.iter_mut().zip(full) {
            *out = *full;
        }
    } else {
        for (out, part) in out.iter_mut().zip(from.chunks(S::F64_LANES)) {
            *out = load_part(simd, part);
        }
    }
    out
}

/// A register, zero beyond the slice's end.
#[inline(always)]
fn load_part<S: Simd>(simd: S, from: &[f64]) -> S::f64s {
    match S::as_simd_f64s(from) {
        ([all], []) => *all,
        _ => simd.partial_load_f64s(from),
    }
}

/// Registers to the beginning of a slice, as far as it goes.
#[inline(always)]
fn store<S: Simd, const R: usize>(simd: S, to: &mut [f64], x: &[S::f64s; R]) {
    if to.len() >= R * S::F64_LANES {
        let (full, _) = S::as_mut_simd_f64s(&mut to[..R * S::F64_LANES]);
        for (full, x) in full.iter_mut().zip(x) {
            *full = *x;
        }
    } else {
        for (part, x) in to.chunks_mut(S::F64_LANES).zip(x) {
            simd.partial_store_f64s(part, *x);
        }
    }
}

/// Factors the tile in the first rows of a strip.
#[inline(always)]
fn diagonal_tile<S: Simd, const R: usize>(
    simd: S,
    strip: &[[S::f64s; R]; TILE],
    tight: &[bool],
    c: &mut [[f64; TILE]; TILE],
    d: &mut [f64; TILE],
    raised: &mut f64,
) {
    for (c, x) in c.iter_mut().zip(strip) {
        store(simd, c.as_mut_slice(), x);
    }
    for k in 0..TILE {
        if tight.get(k) == Some(&true) {
            // d stays zero.
            c[k] = [0.0; TILE];
            c[k][k] = 1.0;
            continue;
        }
        let mut pivot = c[k][k];
        for before in &c[..k] {
            pivot -= before[k] * before[k];
        }
        if pivot < BREAKDOWN {
            *raised = raised.max(RAISED - pivot);
            pivot = RAISED;
        }
        let root = pivot.sqrt();
        d[k] = 1.0 / root;
        c[k][k] = root;
        for i in k + 1..TILE {
            let mut x = c[k][i];
            for before in &c[..k] {
                x -= before[i] * before[k];
            }
            c[k][i] = x * d[k];
        }
        for above in &mut c[k][..k] {
            *above = 0.0;
        }
    }
}

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
            if y.iter().all(|y| *y == 0.0) {
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
    let (full, rest) = S::as_mut_simd_f64s(x);
    let (a, a_rest) = S::as_simd_f64s(a);
    let (b, b_rest) = S::as_simd_f64s(b);
    let (c, c_rest) = S::as_simd_f64s(c);
    let (d, d_rest) = S::as_simd_f64s(d);
    for ((((x, a), b), c), d) in full.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *x = simd.sub_f64s(*x, combined(simd, [*a, *b, *c, *d], y));
    }
    if !rest.is_empty() {
        let l = [
            simd.partial_load_f64s(a_rest),
            simd.partial_load_f64s(b_rest),
            simd.partial_load_f64s(c_rest),
            simd.partial_load_f64s(d_rest),
        ];
        let x = simd.sub_f64s(simd.partial_load_f64s(rest), combined(simd, l, y));
        simd.partial_store_f64s(rest, x);
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
    let whole = x.len() / LANES * LANES;
    let (full, _) = S::as_simd_f64s(&x[..whole]);
    let l = [
        S::as_simd_f64s(&columns[0][..whole]).0,
        S::as_simd_f64s(&columns[1][..whole]).0,
        S::as_simd_f64s(&columns[2][..whole]).0,
        S::as_simd_f64s(&columns[3][..whole]).0,
    ];
    for at in (0..full.len()).step_by(registers) {
        for r in 0..registers {
            for k in 0..TILE {
                sums[k][r] = simd.add_f64s(sums[k][r], simd.mul_f64s(l[k][at + r], full[at + r]));
            }
        }
    }
    for (r, part) in x[whole..].chunks(S::F64_LANES).enumerate() {
        let part = load_part(simd, part);
        let at = whole + r * S::F64_LANES;
        for k in 0..TILE {
            let end = (at + S::F64_LANES).min(x.len());
            let l = load_part(simd, &columns[k][at..end]);
            sums[k][r] = simd.add_f64s(sums[k][r], simd.mul_f64s(l, part));
        }
    }
    let mut out = [0.0; TILE];
    for (out, sums) in out.iter_mut().zip(&sums) {
        let mut s = [0.0; LANES];
        let (parts, _) = S::as_mut_simd_f64s(&mut s);
        for (part, sum) in parts.iter_mut().zip(sums) {
            *part = *sum;
        }
        *out = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
    out
}

/// The block of L behind row `i` becomes the factor of L Lᵀ + σ σᵀ: algorithms 2.3 and 2.5, but with
/// the new column as y/√z l + x/(β √z) σ of the old σ. In the thesis's order, √z/y l + x/(β √z) σ of
/// the new one (whose line 16 lacks the factor √z/y), the two cancel where a pivot y is small.
pub struct Trailing<'a> {
    /// The shape.
    pub envelope: &'a Envelope,
    /// The factor.
    pub panels: &'a mut Panels,
    /// The row.
    pub i: usize,
    /// σ from `i` + 1 on, as long as the padded matrix. It is left zero.
    pub sigma: &'a mut [f64],
}

/// What a column of the modification does: σ ← σ − `of` l and l ← `keep` l + `take` σ at once.
#[derive(Clone, Copy)]
struct Turn {
    of: f64,
    keep: f64,
    take: f64,
}

impl WithSimd for Trailing<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Panels { value, inverse, .. } = self.panels;
        let envelope = self.envelope;
        let mut beta = 1.0;
        let mut panel = self.i / TILE;
        // σ reaches to the end of the panel of `i`, and then as far as the panels that it has passed.
        let mut reach = envelope.last[panel] as usize;
        let mut first = self.i % TILE + 1;
        while panel <= reach {
            let height = envelope.height(panel);
            let own = &mut value[envelope.start[panel]..envelope.start[panel] + TILE * height];
            let at = panel * TILE;
            let (head, below) = self.sigma[at..at + height].split_at_mut(TILE);
            let mut turns = [Turn {
                of: 0.0,
                keep: 1.0,
                take: 0.0,
            }; TILE];
            let mut any = false;
            for k in first..TILE {
                let x = std::mem::take(&mut head[k]);
                if x == 0.0 || inverse[at + k] == 0.0 {
                    // Nothing to add, or a tight row, whose column is not there.
                    continue;
                }
                any = true;
                let column = &mut own[k * height + k..k * height + TILE];
                let y = column[0];
                let (x_by_y, x_by_beta) = (x / y, x / beta);
                let root = (y * y + x * x_by_beta).sqrt();
                beta += x_by_y * x_by_y;
                column[0] = root;
                inverse[at + k] = 1.0 / root;
                turns[k] = Turn {
                    of: x_by_y,
                    keep: y * inverse[at + k],
                    take: x_by_beta * inverse[at + k],
                };
                for (l, s) in column[1..].iter_mut().zip(&mut head[k + 1..]) {
                    let before = *l;
                    *l = turns[k].keep * before + turns[k].take * *s;
                    *s -= turns[k].of * before;
                }
            }
            if any {
                reach = envelope.last[panel] as usize;
                turn_below(simd, own, height, below, &turns);
            }
            panel += 1;
            first = 0;
        }
    }
}

/// All four columns' turns, one after the other, on the rows below their tile.
#[inline(always)]
fn turn_below<S: Simd>(
    simd: S,
    panel: &mut [f64],
    height: usize,
    sigma: &mut [f64],
    turns: &[Turn; TILE],
) {
    let none = [simd.splat_f64s(0.0); 3];
    let mut wide = [none; TILE];
    for (wide, turn) in wide.iter_mut().zip(turns) {
        *wide = [
            simd.splat_f64s(turn.of),
            simd.splat_f64s(turn.keep),
            simd.splat_f64s(turn.take),
        ];
    }
    let (a, rest) = panel.split_at_mut(height);
    let (b, rest) = rest.split_at_mut(height);
    let (c, d) = rest.split_at_mut(height);
    let (a, a_rest) = S::as_mut_simd_f64s(&mut a[TILE..]);
    let (b, b_rest) = S::as_mut_simd_f64s(&mut b[TILE..]);
    let (c, c_rest) = S::as_mut_simd_f64s(&mut c[TILE..]);
    let (d, d_rest) = S::as_mut_simd_f64s(&mut d[TILE..]);
    let (full, rest) = S::as_mut_simd_f64s(sigma);
    for ((((s, a), b), c), d) in full.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        let mut l = [*a, *b, *c, *d];
        *s = turn_all(simd, *s, &mut l, &wide);
        [*a, *b, *c, *d] = l;
    }
    if !rest.is_empty() {
        let mut l = [
            simd.partial_load_f64s(a_rest),
            simd.partial_load_f64s(b_rest),
            simd.partial_load_f64s(c_rest),
            simd.partial_load_f64s(d_rest),
        ];
        let s = turn_all(simd, simd.partial_load_f64s(rest), &mut l, &wide);
        simd.partial_store_f64s(rest, s);
        simd.partial_store_f64s(a_rest, l[0]);
        simd.partial_store_f64s(b_rest, l[1]);
        simd.partial_store_f64s(c_rest, l[2]);
        simd.partial_store_f64s(d_rest, l[3]);
    }
}

/// Four turns on some rows; returns their σ.
#[inline(always)]
fn turn_all<S: Simd>(
    simd: S,
    mut s: S::f64s,
    l: &mut [S::f64s; TILE],
    turns: &[[S::f64s; 3]; TILE],
) -> S::f64s {
    for (l, [of, keep, take]) in l.iter_mut().zip(turns) {
        let before = *l;
        *l = simd.add_f64s(simd.mul_f64s(*keep, before), simd.mul_f64s(*take, s));
        s = simd.sub_f64s(s, simd.mul_f64s(*of, before));
    }
    s
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::super::factor::tests::{banded, random};
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
        simd.vectorize(Trailing {
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
            struct Wide<'a>(&'a IslandMatrix);
            impl WithSimd for Wide<'_> {
                type Output = (Panels, Vec<f64>);
                fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
                    everything(simd, self.0)
                }
            }
            let others = [narrow(Wide(&matrix)), Arch::new().dispatch(Wide(&matrix))];
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
