//! Block principal pivoting (Júdice & Pires 1994; Lefebvre 2020, algorithm 2.1) for fixed bounds.

use super::factor::Breakdown;
use super::lcp::Lcp;
use super::tuning::Tuning;

/// Pivots until no row violates anything; returns false where pivots or time run out before that. `solved`: x
/// and w are already those of the present sets.
///
/// All violating rows move at once. When their number has not fallen below the least so far for
/// `patience` pivots, Murty's rule takes over, the last violating row alone, which ends for every
/// P-matrix; once the number has fallen, blocks move again, so that no cycle is possible.
///
/// # Errors
/// Numbers that are not finite.
pub fn pivot(lcp: &mut Lcp, tuning: &Tuning, mut solved: bool) -> Result<bool, Breakdown> {
    let mut least = usize::MAX;
    let mut patience = tuning.patience;
    let (mut blocks, mut singles) = (0, 0);
    loop {
        if !solved {
            if lcp.is_over() {
                return Ok(false);
            }
            // Lines 4 to 8.
            lcp.solve_free()?;
        }
        // Line 9: eq. 2.1 says which rows move.
        let violations = lcp.violations()?;
        if !solved {
            lcp.note(violations.error);
        }
        solved = false;
        if violations.count == 0 {
            return Ok(true);
        }
        if violations.count < least {
            least = violations.count;
            patience = tuning.patience;
        } else {
            patience = patience.saturating_sub(1);
        }
        if patience > 0 && blocks < tuning.pivots {
            blocks += 1;
            lcp.exchange_all();
        } else if singles < tuning.single_pivots {
            singles += 1;
            lcp.tally.single += 1;
            lcp.exchange(violations.last);
        } else {
            return Ok(false);
        }
    }
}
