//! The last resort for fixed bounds: projected Newton steps (Bertsekas 1982) on the strictly convex
//! energy ½ xᵀ A_ε x + (b − ε c)ᵀ x within lo ≤ x ≤ hi, whose minimum is the problem's solution.
//!
//! Murty's rule ends too, but may take 2ⁿ pivots; here the energy falls with every step.

use super::factor::Breakdown;
use super::lcp::{Lcp, Set};
use super::pivot::Outcome;
use super::tuning::Tuning;

/// Memory of the descent.
#[derive(Clone, Debug, Default)]
pub struct Descent {
    x: Vec<f64>,
    gradient: Vec<f64>,
    step: Vec<f64>,
    image: Vec<f64>,
}

/// Which rows a step leaves on their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Those that are pushed against them.
    Projected,
    /// All; at the minimum with these, one is released, or all that pull.
    AtBounds {
        /// Whether only one.
        one: bool,
    },
    /// All but this one.
    Released(usize),
}

impl Descent {
    /// Goes down from `lcp.x`, brought within its bounds, until no row violates anything.
    ///
    /// Projected steps change many rows at once, as long as they go down. Where one does not, feasible
    /// steps lead to the minimum on the active bounds, from which a single row is released: the plain
    /// active-set method, which goes down always.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn run(&mut self, lcp: &mut Lcp, tuning: &Tuning) -> Result<Outcome, Breakdown> {
        self.x.clone_from(&lcp.x);
        for ((x, lo), hi) in self.x.iter_mut().zip(&lcp.lo).zip(&lcp.hi) {
            *x = x.max(*lo).min(*hi);
        }
        self.take_gradient(lcp);
        let mut mode = Mode::Projected;
        for _ in 0..tuning.descent_steps {
            self.choose_sets(lcp, mode);
            if lcp.is_over() {
                return Ok(Outcome::OutOfBudget);
            }
            lcp.solve_free()?;
            lcp.tally.descents += 1;
            let violations = lcp.violations()?;
            lcp.note(violations.error);
            if violations.count == 0 {
                return Ok(Outcome::Solved);
            }
            mode = match mode {
                Mode::Projected if self.step_along_the_path(lcp, tuning) => Mode::Projected,
                Mode::Projected => Mode::AtBounds { one: true },
                Mode::Released(_) if self.step_to_a_bound(lcp) => Mode::Projected,
                Mode::Released(_) => Mode::AtBounds { one: false },
                Mode::AtBounds { one } => match (self.step_to_a_bound(lcp), one) {
                    (false, _) => mode,
                    (true, false) => Mode::Projected,
                    (true, true) => match self.worst(lcp) {
                        Some(row) => Mode::Released(row),
                        None => return Ok(Outcome::OutOfBudget),
                    },
                },
            };
        }
        Ok(Outcome::OutOfBudget)
    }

    fn choose_sets(&self, lcp: &mut Lcp, mode: Mode) {
        for i in 0..self.x.len() {
            let [low, high] = [self.x[i] <= lcp.lo[i], self.x[i] >= lcp.hi[i]];
            let g = self.gradient[i];
            let stays = |pushed: bool| match mode {
                Mode::Projected => pushed,
                Mode::AtBounds { .. } => true,
                Mode::Released(row) => row != i,
            };
            lcp.set[i] = match (low, high) {
                (true, _) if stays(g > 0.0) => Set::Low,
                (_, true) if stays(g < 0.0) => Set::High,
                _ => Set::Free,
            };
        }
    }

    /// The row on a bound that pulls from it most (m/s).
    fn worst(&self, lcp: &Lcp) -> Option<usize> {
        let mut worst = (0.0, None);
        for i in (0..self.x.len()).filter(|i| lcp.lo[*i] < lcp.hi[*i]) {
            let pull = match lcp.set[i] {
                Set::Low => -self.gradient[i] / lcp.island.scale[i],
                Set::High => self.gradient[i] / lcp.island.scale[i],
                Set::Free => 0.0,
            };
            if pull > worst.0 {
                worst = (pull, Some(i));
            }
        }
        worst.1
    }

    /// Moves along the projected path to `lcp.x`, as far as the energy falls enough. False where it
    /// does not.
    fn step_along_the_path(&mut self, lcp: &mut Lcp, tuning: &Tuning) -> bool {
        let mut length = 1.0;
        for _ in 0..tuning.descent_halvings {
            self.set_step(lcp, length);
            let slope: f64 = self
                .step
                .iter()
                .zip(&self.gradient)
                .map(|(s, g)| s * g)
                .sum();
            if slope < 0.0 && self.change(lcp, slope) <= tuning.armijo * slope {
                self.advance(lcp);
                return true;
            }
            length *= 0.5;
        }
        false
    }

    /// Moves towards `lcp.x` as far as the first bound. Whether it got there.
    fn step_to_a_bound(&mut self, lcp: &mut Lcp) -> bool {
        let mut first = (1.0, None);
        for i in (0..self.x.len()).filter(|i| !lcp.tight[*i]) {
            let [at, to] = [self.x[i], lcp.x[i]];
            let bound = if to < at { lcp.lo[i] } else { lcp.hi[i] };
            if (to < at && to < bound) || (to > at && to > bound) {
                let length = (bound - at) / (to - at);
                if length < first.0 {
                    first = (length, Some((i, bound)));
                }
            }
        }
        self.set_step(lcp, first.0);
        if let Some((i, bound)) = first.1 {
            // On the bound to the last bit.
            self.x[i] = bound;
            self.step[i] = 0.0;
        }
        self.advance(lcp);
        first.1.is_none()
    }

    /// The step from x to a point on the way to `lcp.x`, within the bounds.
    fn set_step(&mut self, lcp: &Lcp, length: f64) {
        self.step.clear();
        for i in 0..self.x.len() {
            let to = self.x[i] + length * (lcp.x[i] - self.x[i]);
            self.step.push(to.max(lcp.lo[i]).min(lcp.hi[i]) - self.x[i]);
        }
    }

    /// Change of the energy by the step, whose first order is `slope`.
    fn change(&mut self, lcp: &mut Lcp, slope: f64) -> f64 {
        self.image.clear();
        self.image.resize(self.step.len(), 0.0);
        lcp.island.product(&self.step, &mut self.image);
        let curvature: f64 = (self.step.iter().zip(&self.image).zip(&lcp.island.epsilon))
            .map(|((s, a), e)| s * (a + e * s))
            .sum();
        slope + 0.5 * curvature
    }

    fn advance(&mut self, lcp: &mut Lcp) {
        for (i, step) in self.step.iter().enumerate() {
            let to = self.x[i] + step;
            self.x[i] = to.max(lcp.lo[i]).min(lcp.hi[i]);
        }
        self.take_gradient(lcp);
    }

    fn take_gradient(&mut self, lcp: &mut Lcp) {
        lcp.x.copy_from_slice(&self.x);
        lcp.update_w();
        self.gradient.clone_from(&lcp.w);
    }
}
