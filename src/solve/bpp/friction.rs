//! Friction bounds ±κ x_N that follow the normal impulses, one problem with fixed bounds after the other,
//! and proximal steps that take the contacts' compliance back out.
//!
//! Newton's method on y = |S x_F(y)| gives the next bounds: with the sets as they are, the slipping rows
//! satisfy a linear system ([`Slipping`]). A step that leaves too much of the error is halved.

use super::factor::Breakdown;
use super::island::NONE;
use super::lcp::{Lcp, Set};
use super::pivot::pivot;
use super::slipping::{Slipping, follow};
use super::tuning::Tuning;

/// How a strategy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Sets, bounds and centre have settled.
    Settled,
    /// The pivots or the time that were asked for ran out.
    OutOfBudget,
    /// The friction bounds still changed after so many outer iterations, or the sets did after so many single
    /// pivots.
    Unsettled,
}

/// What became of bounds that have not settled.
enum Step {
    /// They moved; a problem with other bounds is to be solved.
    Moved,
    /// Newton's method solved that problem too, with the same sets.
    Solved,
    /// No step makes them better.
    Failed,
}

/// Memory of the outer loop.
#[derive(Clone, Debug, Default)]
pub struct Friction {
    /// For the coupled method too.
    pub slipping: Slipping,
    /// Bounds at the best iterate so far, what Newton's method made of them, and what the normals say.
    best: Vec<f64>,
    newton: Vec<f64>,
    normal: Vec<f64>,
    beta: Vec<f64>,
    /// x with the least error of the bounds, that error, and the halvings since.
    best_x: Vec<f64>,
    least: f64,
    halvings: u32,
    /// Whether x and w are already those of the present sets and bounds.
    solved: bool,
}

impl Friction {
    /// Solves the island from the sets and bounds that there are.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn solve(&mut self, lcp: &mut Lcp, tuning: &Tuning) -> Result<Ending, Breakdown> {
        let mut error_before = f64::INFINITY;
        self.begin();
        loop {
            lcp.tally.outer_iterations += 1;
            // Candidates for other bounds are of no use.
            lcp.best_error = f64::INFINITY;
            if !pivot(lcp, tuning, self.solved)? {
                if lcp.best_error.is_finite() {
                    lcp.x.copy_from_slice(&lcp.best);
                }
                return Ok(match lcp.is_over() {
                    true => Ending::OutOfBudget,
                    false => Ending::Unsettled,
                });
            }
            self.solved = false;
            let noise = lcp.noise();
            let change = bound_error(lcp);
            let tolerance = self.tolerance(lcp, tuning, noise);
            if change > tolerance {
                match self.step(lcp, tuning, change, tolerance)? {
                    Step::Moved => continue,
                    Step::Solved => {}
                    Step::Failed => {
                        lcp.x.copy_from_slice(&self.best_x);
                        return Ok(Ending::Unsettled);
                    }
                }
            }
            // The compliance's share of w, which the next proximal step takes out (Rockafellar 1976).
            let error = compliance_error(lcp);
            lcp.tally.with_compliance = lcp.violations()?.error;
            let enough = error <= noise || error >= 0.5 * error_before;
            if enough || lcp.tally.refinements >= tuning.refinements || lcp.is_over() {
                return Ok(Ending::Settled);
            }
            lcp.tally.refinements += 1;
            error_before = error;
            self.begin();
            lcp.center.copy_from_slice(&lcp.x);
        }
    }

    fn begin(&mut self) {
        self.least = f64::INFINITY;
        self.halvings = 0;
        self.solved = false;
    }

    /// While the compliance still shows, bounds need not be better than that (m/s).
    fn tolerance(&self, lcp: &Lcp, tuning: &Tuning, noise: f64) -> f64 {
        let least = tuning.settled_noise * noise;
        if lcp.tally.refinements < tuning.refinements {
            least.max(tuning.settled_compliance * compliance_error(lcp))
        } else {
            least
        }
    }

    /// Other bounds, from an iterate whose bounds are wrong by `change` (m/s).
    fn step(
        &mut self,
        lcp: &mut Lcp,
        tuning: &Tuning,
        change: f64,
        tolerance: f64,
    ) -> Result<Step, Breakdown> {
        if change <= self.least {
            self.best_x.clone_from(&lcp.x);
        }
        if lcp.tally.outer_iterations >= tuning.outer_iterations {
            return Ok(Step::Failed);
        }
        if change > tuning.progress * self.least {
            return Ok(self.halve(lcp, tuning));
        }
        self.least = if has_closed_friction(lcp) {
            f64::INFINITY
        } else {
            change
        };
        self.halvings = 0;
        self.best.clear();
        let normals = lcp.island.normal_row.iter().zip(&lcp.hi);
        self.best
            .extend(normals.map(|(normal, hi)| if *normal == NONE { 0.0 } else { *hi }));
        normal_bounds(lcp, &mut self.normal);
        if tuning.newton {
            self.newton_step(lcp, tuning, tolerance);
        }
        normal_bounds(lcp, &mut self.newton);
        let opened = write_bounds(lcp, &self.newton);
        self.solved = tuning.newton && !opened;
        if self.solved && lcp.violations()?.count == 0 {
            Ok(Step::Solved)
        } else {
            Ok(Step::Moved)
        }
    }

    /// Half the last step from the best iterate: first of Newton's, then of the one to the normals' bounds.
    fn halve(&mut self, lcp: &mut Lcp, tuning: &Tuning) -> Step {
        self.halvings += 1;
        let [newton, all] = tuning.halvings;
        if self.halvings > all {
            return Step::Failed;
        }
        let (to, halvings) = if self.halvings <= newton {
            (&self.newton, self.halvings)
        } else {
            (&self.normal, self.halvings - newton)
        };
        let length = 0.5f64.powi(halvings as i32);
        self.beta.clear();
        let between = self.best.iter().zip(to);
        self.beta
            .extend(between.map(|(from, to)| from + length * (to - from)));
        write_bounds(lcp, &self.beta);
        Step::Moved
    }

    /// One step of Newton's method on the bounds; x and w are then those of the coupled solution.
    fn newton_step(&mut self, lcp: &mut Lcp, tuning: &Tuning, tolerance: f64) {
        self.slipping.set(lcp, |i| {
            let normal = lcp.island.normal_row[i] as usize;
            lcp.tight[i] && lcp.lo[i] < lcp.hi[i] && !lcp.tight[normal]
        });
        self.slipping.solve(lcp, tuning, tolerance);
        for i in self.slipping.rows() {
            let i = *i as usize;
            let normal = lcp.x[lcp.island.normal_row[i] as usize].max(0.0);
            lcp.x[i] = follow(lcp, i, normal);
        }
        if !self.slipping.rows().is_empty() {
            lcp.update_w();
        }
    }
}

/// The bound of every friction row by its normal impulse.
fn normal_bounds(lcp: &Lcp, beta: &mut Vec<f64>) {
    beta.clear();
    let rows = 0..lcp.n();
    beta.extend(rows.map(|i| match lcp.island.normal_row[i] {
        NONE => 0.0,
        _ => lcp.island.bounds_at(i, &lcp.x)[1],
    }));
}

/// Sets the bounds of the friction rows. Returns whether rows were opened that had no room before:
/// those begin as free.
fn write_bounds(lcp: &mut Lcp, beta: &[f64]) -> bool {
    let mut opened = false;
    for i in lcp.island.friction_rows() {
        if lcp.lo[i] == lcp.hi[i] && beta[i] > 0.0 {
            lcp.set[i] = Set::Free;
            opened = true;
        }
        [lcp.lo[i], lcp.hi[i]] = [-beta[i], beta[i]];
    }
    opened
}

/// Whether a friction row has no room although its contact presses.
fn has_closed_friction(lcp: &Lcp) -> bool {
    let mut rows = lcp.island.friction_rows();
    rows.any(|i| lcp.lo[i] == lcp.hi[i] && lcp.island.bounds_at(i, &lcp.x)[1] > 0.0)
}

/// By how much a friction row's impulse is not what its normal impulse says (m/s).
fn bound_error(lcp: &Lcp) -> f64 {
    let mut error: f64 = 0.0;
    let rows = lcp.island.friction_rows();
    for i in rows.filter(|i| lcp.island.scale[*i] > 0.0) {
        let beta = lcp.island.bounds_at(i, &lcp.x)[1];
        let wrong = if lcp.tight[i] {
            (lcp.hi[i] - beta).abs()
        } else {
            (lcp.x[i].abs() - beta).max(0.0)
        };
        error = error.max(wrong / lcp.island.scale[i]);
    }
    error
}

/// Largest |A x + b| of a free row, without ε (m/s).
fn compliance_error(lcp: &Lcp) -> f64 {
    let mut error: f64 = 0.0;
    for i in (0..lcp.n()).filter(|i| !lcp.tight[*i] && lcp.island.scale[*i] > 0.0) {
        let w = lcp.w[i] - lcp.island.epsilon[i] * (lcp.x[i] - lcp.center[i]);
        error = error.max(w.abs() / lcp.island.scale[i]);
    }
    error
}
