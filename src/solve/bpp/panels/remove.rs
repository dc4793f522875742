//! The rank-one modification that removes a row (Lefebvre 2020, algorithms 2.3 and 2.5).

use pulp::{Simd, WithSimd};

use super::{Envelope, Panels, TILE};

/// The block of L behind row `i` becomes the factor of L Lᵀ + σ σᵀ: algorithms 2.3 and 2.5, but with
/// the new column as y/√z l + x/(β √z) σ of the old σ. In the thesis's order, √z/y l + x/(β √z) σ of
/// the new one (whose line 16 lacks the factor √z/y), the two cancel where a pivot y is small.
pub struct Remove<'a> {
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

impl WithSimd for Remove<'_> {
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
    let (a, _) = S::as_mut_simd_f64s(&mut a[TILE..]);
    let (b, _) = S::as_mut_simd_f64s(&mut b[TILE..]);
    let (c, _) = S::as_mut_simd_f64s(&mut c[TILE..]);
    let (d, _) = S::as_mut_simd_f64s(&mut d[TILE..]);
    let (sigma, _) = S::as_mut_simd_f64s(sigma);
    for ((((s, a), b), c), d) in sigma.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        let mut l = [*a, *b, *c, *d];
        *s = turn_all(simd, *s, &mut l, &wide);
        [*a, *b, *c, *d] = l;
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
