//! Removing a row from a Cholesky factor by a rank-one modification of the trailing block (Lefebvre
//! 2020, algorithms 2.3 and 2.5, corrected).

use super::factor::{Envelope, TILE};

/// The block of L behind row `i` becomes the factor of L Lᵀ + σ σᵀ. `sigma` holds σ from `i` + 1 on,
/// is as long as the padded matrix, and is left zero.
///
/// The thesis's line 16 lacks the factor √z/y on the old column.
#[inline(always)]
pub fn trailing(
    envelope: &Envelope,
    value: &mut [f64],
    inverse: &mut [f64],
    i: usize,
    sigma: &mut [f64],
) {
    let mut beta = 1.0;
    // σ reaches to the end of the panel of `i`, and then as far as the panels that it has passed.
    let mut reach = envelope.last[i / TILE] as usize;
    let mut k = i + 1;
    while k / TILE <= reach {
        let x = std::mem::take(&mut sigma[k]);
        if x == 0.0 || inverse[k] == 0.0 {
            // Nothing to add, or a tight row, whose column is not there.
            k += 1;
            continue;
        }
        let panel = k / TILE;
        reach = envelope.last[panel] as usize;
        let column = &mut value[envelope.column(k)];
        let (own, below) = column[k % TILE..].split_at_mut(1);
        let y = own[0];
        let z = y * y + x * x / beta;
        let gamma = beta * y * y + x * x;
        beta += (x / y) * (x / y);
        let root = z.sqrt();
        own[0] = root;
        inverse[k] = 1.0 / root;
        let (x_by_y, old, new) = (x / y, root / y, root * x / gamma);
        for (l, s) in below.iter_mut().zip(&mut sigma[k + 1..]) {
            *s -= x_by_y * *l;
            *l = old * *l + new * *s;
        }
        k += 1;
    }
}
