//! A left-looking Cholesky factorisation, panel by panel.

use pulp::{Simd, WithSimd};

use super::{BREAKDOWN, Envelope, Panels, RAISED, TILE, load, store};

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
                diagonal: [[0.0; TILE]; TILE],
                inverse: [0.0; TILE],
            };
            let end = panel * TILE + height;
            while strip.row < end {
                if end - strip.row > T * S::F64_LANES {
                    strip.finish::<S, R>(simd, tight, raised);
                } else {
                    strip.finish::<S, T>(simd, tight, raised);
                }
            }
            for (column, tile) in strip.own.chunks_exact_mut(height).zip(&strip.diagonal) {
                column[..TILE].copy_from_slice(tile);
            }
            inverse[panel * TILE..(panel + 1) * TILE].copy_from_slice(&strip.inverse);
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
    /// The tile of L on the diagonal, once it is known.
    diagonal: [[f64; TILE]; TILE],
    /// Its inverse diagonal; 0 for tight rows.
    inverse: [f64; TILE],
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

    /// X ← X L⁻ᵀ for the tile L on the diagonal; stores it.
    #[inline(always)]
    fn divide_and_store<S: Simd, const R: usize>(&mut self, simd: S, mut x: [[S::f64s; R]; TILE]) {
        for k in 0..TILE {
            let (before, own) = x.split_at_mut(k);
            for (before, l) in before.iter().zip(&self.diagonal) {
                let factor = simd.splat_f64s(l[k]);
                for (x, b) in own[0].iter_mut().zip(before) {
                    *x = simd.sub_f64s(*x, simd.mul_f64s(*b, factor));
                }
            }
            let d = simd.splat_f64s(self.inverse[k]);
            for x in &mut own[0] {
                *x = simd.mul_f64s(*x, d);
            }
        }
        let height = self.own.len() / TILE;
        for (x, column) in x.iter().zip(self.own.chunks_exact_mut(height)) {
            store::<S, R>(&mut column[self.row - self.panel * TILE..], x);
        }
    }

    /// Finishes the next `R` registers of rows.
    #[inline(always)]
    fn finish<S: Simd, const R: usize>(&mut self, simd: S, tight: &[bool], raised: &mut f64) {
        let x = self.subtract_products::<S, R>(simd);
        if self.row == self.panel * TILE {
            // The first strip has the tile on the diagonal in its first rows.
            for (c, x) in self.diagonal.iter_mut().zip(&x) {
                store::<S, R>(c, x);
            }
            factor_tile(&mut self.diagonal, &mut self.inverse, tight, raised);
        }
        self.divide_and_store(simd, x);
        self.row += R * S::F64_LANES;
    }
}

/// Factors a tile on the diagonal, by columns; `d` becomes its inverse diagonal.
#[inline(always)]
fn factor_tile(c: &mut [[f64; TILE]; TILE], d: &mut [f64; TILE], tight: &[bool], raised: &mut f64) {
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
