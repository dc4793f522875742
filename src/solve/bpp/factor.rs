//! Cholesky factors in panels of four columns, dense or within an envelope, and what a pivoting
//! solver asks of a factorisation.
//!
//! A panel holds four columns from its own first row down to the envelope's last row of any of them,
//! column after column. Rows are padded to a multiple of four with rows of the unit matrix. Every inner
//! loop runs along contiguous memory, in a fixed order and without fused multiply-adds, so that every
//! processor computes the same to the last bit.

use pulp::Arch;

use super::island::IslandMatrix;

/// Columns of a panel, and rows of a tile.
pub const TILE: usize = 4;

/// Share of the diagonal (1, after scaling) below which a pivot counts as broken down: what is left of
/// it is rounding noise.
pub const BREAKDOWN: f64 = 1e-13;
/// What a broken pivot is raised to, as a share of the diagonal.
pub const RAISED: f64 = 1e-9;

/// A factorisation that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breakdown {
    /// The matrix holds a number that is not finite.
    #[error("the matrix of an island holds a number that is not finite")]
    NotFinite,
}

/// What a factorisation has done since [`Factorization::prepare`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Rows removed from a factor by a rank-one modification.
    pub downdates: u64,
    /// Factorisations of A_FF, whole or from some column on.
    pub refactorizations: u64,
    /// Factors found in the cache.
    pub cache_hits: u64,
    /// Factors in the cache.
    pub cache_entries: u64,
    /// Bytes of the factors in the cache.
    pub cache_bytes: u64,
    /// Largest number that was added to a diagonal because its pivot broke down (-, of the scaled
    /// diagonal).
    pub raised: f64,
}

impl Counters {
    /// Adds what was done before the present matrix was prepared.
    pub fn add(&mut self, earlier: &Self) {
        self.downdates += earlier.downdates;
        self.refactorizations += earlier.refactorizations;
        self.cache_hits += earlier.cache_hits;
        self.raised = self.raised.max(earlier.raised);
    }
}

/// A factorisation of A_FF for changing sets F of free rows.
pub trait Factorization: Send {
    /// A new matrix; memory is kept.
    fn prepare(&mut self, a: &IslandMatrix);

    /// Makes the factor that of A_FF, where F is what is not tight. The rows of the last set may be
    /// used.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown>;

    /// Solves A_FF x_F = r_F in place; the tight entries of `x` become zero.
    fn solve(&mut self, x: &mut [f64]);

    /// What has been done.
    fn counters(&self) -> Counters;

    /// Smallest and largest diagonal entry of L over the free rows.
    fn extremes(&self, tight: &[bool]) -> [f64; 2];

    /// The island's row at each place of the factor's own order; `None` where it is the island's.
    fn order(&self) -> Option<&[u32]> {
        None
    }

    /// The entries of L, for whoever wants to see them; calls `visit(row, column, value)` with rows and
    /// columns in the island's order.
    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64));
}

/// The shape of a lower triangle in panels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Last tile row of each panel; never falls.
    pub last: Vec<u32>,
    /// First panel that reaches each tile row.
    pub first: Vec<u32>,
    /// First value of each panel, and one past the last.
    pub start: Vec<usize>,
}

impl Envelope {
    /// The shape for the last row of each column; `n` columns.
    pub fn set(&mut self, n: usize, last_row: impl Fn(usize) -> usize) {
        let panels = n.div_ceil(TILE);
        self.last.clear();
        self.start.clear();
        self.start.push(0);
        self.first.clear();
        let mut reach = 0;
        let mut at = 0;
        for panel in 0..panels {
            for column in panel * TILE..((panel + 1) * TILE).min(n) {
                reach = reach.max(last_row(column) / TILE).max(panel);
            }
            self.last.push(reach as u32);
            at += (reach - panel + 1) * TILE * TILE;
            self.start.push(at);
            while self.first.len() <= reach {
                self.first.push(panel as u32);
            }
        }
    }

    /// Number of panels.
    pub fn panels(&self) -> usize {
        self.last.len()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.start.last().copied().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of a panel.
    #[inline(always)]
    pub fn height(&self, panel: usize) -> usize {
        (self.last[panel] as usize - panel + 1) * TILE
    }

    /// The values of column `k` from the first row of its panel on.
    #[inline(always)]
    pub fn column(&self, k: usize) -> std::ops::Range<usize> {
        let panel = k / TILE;
        let height = self.height(panel);
        let at = self.start[panel] + (k % TILE) * height;
        at..at + height
    }

    /// Where the value of row `i` and column `k` ≤ i is; the row must be within the envelope.
    #[inline(always)]
    pub fn at(&self, i: usize, k: usize) -> usize {
        let panel = k / TILE;
        self.start[panel] + (k % TILE) * self.height(panel) + i - panel * TILE
    }

    /// Multiplications of a factorisation from a panel on.
    pub fn factor_cost(&self, from: usize) -> u64 {
        (from..self.panels())
            .map(|panel| {
                let height = self.height(panel) as u64;
                TILE as u64 * height * height / 2
            })
            .sum()
    }

    /// Multiplications of removing row `i` by a rank-one modification, counted in the time that one of
    /// a factorisation takes.
    pub fn removal_cost(&self, i: usize) -> u64 {
        const SLOWER: u64 = 2;
        (i / TILE..self.panels())
            .map(|panel| SLOWER * TILE as u64 * (2 * self.height(panel) as u64 + 24))
            .sum()
    }
}

/// A factor L of A_FF. The column of a tight row is that of the unit matrix, and 1/L_kk is kept as 0: a
/// substitution then leaves zero there, and carries nothing on. The rows of L go on as if all were
/// free, since a row says nothing to the columns before its own; so that columns behind the first
/// change of the set are all that must be factored again.
#[derive(Clone, Debug, Default)]
pub struct Panels {
    /// The lower triangle.
    pub value: Vec<f64>,
    /// 1/L_kk; 0 for tight rows.
    pub inverse: Vec<f64>,
    /// Largest number that was added to a diagonal.
    pub raised: f64,
}

impl Panels {
    /// Factors A_FF from panel `from` on: the panels before must be those of the same A, with the same
    /// of their columns tight. Rows beyond the end of `tight` are free.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn factor(
        &mut self,
        envelope: &Envelope,
        a: &[f64],
        tight: &[bool],
        from: usize,
    ) -> Result<(), Breakdown> {
        let begin = envelope.start[from.min(envelope.panels())];
        self.value.resize(envelope.len(), 0.0);
        self.inverse.resize(envelope.panels() * TILE, 1.0);
        self.value[begin..].copy_from_slice(&a[begin..envelope.len()]);
        if from == 0 {
            self.raised = 0.0;
        }
        let (value, inverse) = (&mut self.value, &mut self.inverse);
        let mut raised = self.raised;
        Arch::new().dispatch(|| {
            for panel in from..envelope.panels() {
                let tight = tight.get(panel * TILE..).unwrap_or(&[]);
                factor_panel(envelope, value, inverse, panel, tight, &mut raised);
            }
        });
        self.raised = raised;
        let pivots = &self.inverse[from * TILE..];
        if pivots.iter().all(|p| p.is_finite()) {
            Ok(())
        } else {
            Err(Breakdown::NotFinite)
        }
    }

    /// Takes over another factor of the same shape.
    pub fn copy_from(&mut self, other: &Self) {
        self.value.clone_from(&other.value);
        self.inverse.clone_from(&other.inverse);
        self.raised = other.raised;
    }

    /// L_kk.
    #[inline]
    pub fn diagonal(&self, envelope: &Envelope, k: usize) -> f64 {
        self.value[envelope.at(k, k)]
    }

    /// Solves L Lᵀ x = r in place (algorithms 2.4 and 2.6; the back substitution from the last row to
    /// the first).
    pub fn solve(&self, envelope: &Envelope, x: &mut [f64]) {
        Arch::new().dispatch(|| {
            forward(envelope, &self.value, &self.inverse, x);
            backward(envelope, &self.value, &self.inverse, x);
        });
    }

    /// Removes row `i`: algorithms 2.3 and 2.5 with the factor √z/y, a *positive* rank-one
    /// modification σ σᵀ of the trailing block. `sigma` is scratch, zero before and after.
    pub fn remove(&mut self, envelope: &Envelope, i: usize, sigma: &mut [f64]) {
        Arch::new().dispatch(|| {
            let column = envelope.column(i);
            let below = column.start + i % TILE + 1..column.end;
            sigma[i + 1..i + 1 + below.len()].copy_from_slice(&self.value[below]);
            super::downdate::trailing(envelope, &mut self.value, &mut self.inverse, i, sigma);
        });
        let column = envelope.column(i);
        self.value[column.start + i % TILE..column.end].fill(0.0);
        self.value[column.start + i % TILE] = 1.0;
        self.inverse[i] = 0.0;
    }

    /// Smallest and largest L_kk over the free rows.
    pub fn extremes(&self, envelope: &Envelope, tight: &[bool]) -> [f64; 2] {
        let mut out = [f64::INFINITY, 0.0];
        if self.value.len() < envelope.len() {
            // Time was over before there was a factor.
            return out;
        }
        for (k, _) in tight.iter().enumerate().filter(|(_, t)| !**t) {
            let d = self.diagonal(envelope, k);
            out = [out[0].min(d), out[1].max(d)];
        }
        out
    }
}

/// C −= P Qᵀ over some panels before `panel`: N rows from tile row `row` on, four columns.
#[inline(always)]
fn subtract_products<const N: usize>(
    envelope: &Envelope,
    done: &[f64],
    panels: std::ops::Range<usize>,
    panel: usize,
    row: usize,
    c: &mut [[f64; N]; TILE],
) {
    for k in panels {
        let height = envelope.height(k);
        let base = &done[envelope.start[k]..envelope.start[k] + TILE * height];
        let (p_at, q_at) = ((row - k) * TILE, (panel - k) * TILE);
        for column in base.chunks_exact(height) {
            let p: &[f64; N] = column[p_at..]
                .first_chunk()
                .expect("the tile is within the envelope");
            let q: &[f64; TILE] = column[q_at..]
                .first_chunk()
                .expect("the tile is within the envelope");
            for (c, q) in c.iter_mut().zip(q) {
                for (c, p) in c.iter_mut().zip(p) {
                    *c -= p * q;
                }
            }
        }
    }
}

/// One panel of a left-looking Cholesky factorisation, tile by tile.
#[inline(always)]
fn factor_panel(
    envelope: &Envelope,
    value: &mut [f64],
    inverse: &mut [f64],
    panel: usize,
    tight: &[bool],
    raised: &mut f64,
) {
    let height = envelope.height(panel);
    let (done, rest) = value.split_at_mut(envelope.start[panel]);
    let own = &mut rest[..TILE * height];
    let first = envelope.first[panel] as usize;

    // The tile on the diagonal.
    let mut c = load::<TILE>(own, height, 0);
    subtract_products(envelope, done, first..panel, panel, panel, &mut c);
    let mut d = [0.0; TILE];
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
    inverse[panel * TILE..(panel + 1) * TILE].copy_from_slice(&d);
    store(own, height, 0, &c);

    // The rows below, two tiles at a time where both see the same panels.
    let last = envelope.last[panel] as usize;
    let mut row = panel + 1;
    while row <= last {
        let begin = (envelope.first[row] as usize).min(panel);
        if row < last {
            let both = (envelope.first[row + 1] as usize).min(panel);
            let mut x = load::<{ 2 * TILE }>(own, height, (row - panel) * TILE);
            if begin < both {
                let mut upper = load::<TILE>(own, height, (row - panel) * TILE);
                subtract_products(envelope, done, begin..both, panel, row, &mut upper);
                for (x, upper) in x.iter_mut().zip(&upper) {
                    x[..TILE].copy_from_slice(upper);
                }
            }
            subtract_products(envelope, done, both..panel, panel, row, &mut x);
            divide(&mut x, &c, &d);
            store(own, height, (row - panel) * TILE, &x);
            row += 2;
        } else {
            let mut x = load::<TILE>(own, height, (row - panel) * TILE);
            subtract_products(envelope, done, begin..panel, panel, row, &mut x);
            divide(&mut x, &c, &d);
            store(own, height, (row - panel) * TILE, &x);
            row += 1;
        }
    }
}

/// X ← X L⁻ᵀ for the tile L on the diagonal, whose inverse diagonal is `d`.
#[inline(always)]
fn divide<const N: usize>(x: &mut [[f64; N]; TILE], l: &[[f64; TILE]; TILE], d: &[f64; TILE]) {
    for k in 0..TILE {
        let (before, own) = x.split_at_mut(k);
        for (j, before) in before.iter().enumerate() {
            let factor = l[j][k];
            for (x, b) in own[0].iter_mut().zip(before) {
                *x -= b * factor;
            }
        }
        for x in &mut own[0] {
            *x *= d[k];
        }
    }
}

#[inline(always)]
fn load<const N: usize>(panel: &[f64], height: usize, row: usize) -> [[f64; N]; TILE] {
    let mut c = [[0.0; N]; TILE];
    for (c, column) in c.iter_mut().zip(panel.chunks_exact(height)) {
        c.copy_from_slice(&column[row..row + N]);
    }
    c
}

#[inline(always)]
fn store<const N: usize>(panel: &mut [f64], height: usize, row: usize, c: &[[f64; N]; TILE]) {
    for (c, column) in c.iter().zip(panel.chunks_exact_mut(height)) {
        column[row..row + N].copy_from_slice(c);
    }
}

/// L y = r.
#[inline(always)]
fn forward(envelope: &Envelope, value: &[f64], inverse: &[f64], x: &mut [f64]) {
    for panel in 0..envelope.panels() {
        let height = envelope.height(panel);
        let own = &value[envelope.start[panel]..envelope.start[panel] + TILE * height];
        let at = panel * TILE;
        let (head, below) = x[at..at + height].split_at_mut(TILE);
        for k in 0..TILE {
            head[k] *= inverse[at + k];
            for i in k + 1..TILE {
                head[i] -= own[k * height + i] * head[k];
            }
        }
        if head.iter().all(|y| *y == 0.0) {
            continue;
        }
        let [l0, l1, l2, l3] = columns(own, height);
        for ((((x, l0), l1), l2), l3) in below.iter_mut().zip(l0).zip(l1).zip(l2).zip(l3) {
            *x -= (l0 * head[0] + l1 * head[1]) + (l2 * head[2] + l3 * head[3]);
        }
    }
}

/// Lᵀ x = y.
#[inline(always)]
fn backward(envelope: &Envelope, value: &[f64], inverse: &[f64], x: &mut [f64]) {
    for panel in (0..envelope.panels()).rev() {
        let height = envelope.height(panel);
        let own = &value[envelope.start[panel]..envelope.start[panel] + TILE * height];
        let at = panel * TILE;
        let (head, below) = x[at..at + height].split_at_mut(TILE);
        let mut sum = [[0.0; TILE]; TILE];
        let (below, _) = below.as_chunks::<TILE>();
        for (sum, column) in sum.iter_mut().zip(columns(own, height)) {
            let (column, _) = column.as_chunks::<TILE>();
            for (l, x) in column.iter().zip(below) {
                for k in 0..TILE {
                    sum[k] += l[k] * x[k];
                }
            }
        }
        for k in (0..TILE).rev() {
            let [a, b, c, d] = sum[k];
            let mut y = head[k] - ((a + b) + (c + d));
            for i in k + 1..TILE {
                y -= own[k * height + i] * head[i];
            }
            head[k] = y * inverse[at + k];
        }
    }
}

/// The four columns of a panel below its tile on the diagonal.
#[inline(always)]
fn columns(panel: &[f64], height: usize) -> [&[f64]; TILE] {
    [0, 1, 2, 3].map(|k| &panel[k * height + TILE..(k + 1) * height])
}

/// The entries of the free rows of L.
pub fn each_entry(
    envelope: &Envelope,
    value: &[f64],
    tight: &[bool],
    visit: &mut dyn FnMut(usize, usize, f64),
) {
    let n = tight.len();
    for k in (0..n).filter(|k| !tight[*k]) {
        let column = &value[envelope.column(k)];
        let first = k - k % TILE;
        for i in (k..(first + column.len()).min(n)).filter(|i| !tight[*i]) {
            visit(i, k, column[i - first]);
        }
    }
}

/// `full`: a dense factorisation of A_FF, gathered without gaps, at every pivot.
#[derive(Clone, Debug, Default)]
pub struct Full {
    envelope: Envelope,
    a: Vec<f64>,
    free: Vec<u32>,
    rhs: Vec<f64>,
    factor: Panels,
    counters: Counters,
}

impl Factorization for Full {
    fn prepare(&mut self, _a: &IslandMatrix) {
        self.counters = Counters::default();
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        self.free.clear();
        let free = (0..a.n).filter(|i| !tight[*i]).map(|i| i as u32);
        self.free.extend(free);
        let n = self.free.len();
        self.envelope.set(n, |_| n.saturating_sub(1));
        self.a.clear();
        self.a.resize(self.envelope.len(), 0.0);
        for (to, k) in self.free.iter().enumerate() {
            let k = *k as usize;
            let from = &a.value[a.envelope.column(k)];
            let first = k - k % TILE;
            let column = &mut self.a[self.envelope.column(to)];
            let skip = to - to % TILE;
            for (to, i) in self.free.iter().enumerate().skip(to) {
                let Some(value) = from.get(*i as usize - first) else {
                    break;
                };
                column[to - skip] = *value;
            }
        }
        for i in n..self.envelope.panels() * TILE {
            let at = self.envelope.at(i, i);
            self.a[at] = 1.0;
        }
        self.counters.refactorizations += 1;
        self.factor.factor(&self.envelope, &self.a, &[], 0)?;
        self.counters.raised = self.counters.raised.max(self.factor.raised);
        Ok(())
    }

    fn solve(&mut self, x: &mut [f64]) {
        self.rhs.clear();
        self.rhs.resize(self.envelope.panels() * TILE, 0.0);
        for (to, i) in self.rhs.iter_mut().zip(&self.free) {
            *to = x[*i as usize];
        }
        self.factor.solve(&self.envelope, &mut self.rhs);
        for (from, i) in self.rhs.iter().zip(&self.free) {
            x[*i as usize] = *from;
        }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn extremes(&self, _tight: &[bool]) -> [f64; 2] {
        let all = vec![false; self.free.len()];
        self.factor.extremes(&self.envelope, &all)
    }

    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        for (k, column) in self.free.iter().enumerate() {
            for (i, row) in self.free.iter().enumerate().skip(k) {
                let value = self.factor.value[self.envelope.at(i, k)];
                visit(*row as usize, *column as usize, value);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers from −1 to 1 in a fixed sequence.
    pub(crate) fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(0x1234_5678_9ABC_DEF1);
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// A random positive definite matrix with unit diagonal in an envelope: column `k` reaches as far as
    /// `last(k)`.
    pub(crate) fn banded(n: usize, seed: u64, last: impl Fn(usize) -> usize) -> IslandMatrix {
        let mut random = random(seed);
        let mut matrix = IslandMatrix {
            n,
            ..IslandMatrix::default()
        };
        matrix.envelope.set(n, &last);
        matrix.value.resize(matrix.envelope.len(), 0.0);
        let width = (0..n).map(|k| last(k) - k).max().unwrap_or(0);
        for k in 0..n {
            let at = matrix.envelope.at(k, k);
            matrix.value[at] = 1.0;
            for i in k + 1..=last(k).max(k) {
                let at = matrix.envelope.at(i, k);
                matrix.value[at] = 0.4 * random() / (width as f64).sqrt();
            }
        }
        for i in n..matrix.envelope.panels() * TILE {
            let at = matrix.envelope.at(i, i);
            matrix.value[at] = 1.0;
        }
        matrix
    }

    #[test]
    fn factors_of_any_envelope_are_those_of_the_dense_matrix() {
        for n in [1, 3, 4, 5, 17, 36, 61] {
            for width in [0, 1, 3, 6, 11, 60] {
                let matrix = banded(n, (n * 100 + width) as u64, |k| {
                    (k + (width * (3 + k % 5)) / 7).min(n - 1)
                });
                let tight: Vec<bool> = (0..n).map(|i| i % 7 == 3).collect();
                let mut panels = Panels::default();
                panels
                    .factor(&matrix.envelope, &matrix.value, &tight, 0)
                    .unwrap();
                assert_eq!(panels.raised, 0.0);
                let mut x = vec![0.0; matrix.envelope.panels() * TILE];
                let mut next = random(7);
                for x in &mut x[..n] {
                    *x = next();
                }
                let rhs = x.clone();
                panels.solve(&matrix.envelope, &mut x);
                for i in 0..n {
                    if tight[i] {
                        assert_eq!(x[i], 0.0);
                        continue;
                    }
                    let mut sum = -rhs[i];
                    for (k, x) in x[..n].iter().enumerate() {
                        let (row, column) = (i.max(k), i.min(k));
                        let inside = row / TILE <= matrix.envelope.last[column / TILE] as usize;
                        if inside {
                            sum += matrix.value[matrix.envelope.at(row, column)] * x;
                        }
                    }
                    assert!(sum.abs() < 1e-13, "n {n}, width {width}, row {i}: {sum:e}");
                }
            }
        }
    }
}
