//! The last resort for fixed bounds: projected Newton steps (Bertsekas 1982) on the strictly convex
//! energy ½ xᵀ A_ε x + (b − ε c)ᵀ x within lo ≤ x ≤ hi, whose minimum is the problem's solution.
//!
//! Murty's rule ends too, but may take 2ⁿ pivots; here the energy falls with every step.

use super::factor::{Breakdown, Factorization};
use super::island::Island;
use super::pivot::{Limits, Outcome, Set, Work};

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
    /// All; at the minimum with these, one is let go, or whatever pulls.
    Held {
        /// Whether only one.
        one: bool,
    },
    /// All but this one.
    Released(usize),
}

/// Share of the first-order decrease of the energy that a projected step must reach.
const ARMIJO: f64 = 1e-4;
/// Halvings of a projected step before feasible ones are taken.
const HALVINGS: u32 = 8;

impl Descent {
    /// Goes down from `work.x`, brought within its bounds, until no row violates anything.
    ///
    /// Projected steps change many rows at once, as long as they go down. Where one does not, feasible
    /// steps lead to the minimum on the bounds that hold, from which a single row is let go: the plain
    /// active-set method, which goes down always.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn run(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        limits: &Limits,
    ) -> Result<Outcome, Breakdown> {
        self.x.clone_from(&work.x);
        for ((x, lo), hi) in self.x.iter_mut().zip(&work.lo).zip(&work.hi) {
            *x = x.max(*lo).min(*hi);
        }
        self.take_gradient(island, work);
        let mut mode = Mode::Projected;
        for _ in 0..limits.descent_steps {
            self.choose_sets(work, mode);
            if work.is_over(limits) {
                return Ok(Outcome::OutOfBudget);
            }
            work.solve_free(island, factor)?;
            work.tally.pivots += 1;
            work.tally.descents += 1;
            let violations = work.violations(island);
            if !work.x.iter().all(|x| x.is_finite()) {
                return Err(Breakdown::NotFinite);
            }
            work.note(island, violations.error);
            if violations.count == 0 {
                return Ok(Outcome::Solved);
            }
            mode = match mode {
                Mode::Projected if self.step_along_the_path(island, work) => Mode::Projected,
                Mode::Projected => Mode::Held { one: true },
                Mode::Released(_) if self.step_to_a_bound(island, work) => Mode::Projected,
                Mode::Released(_) => Mode::Held { one: false },
                Mode::Held { one } => match (self.step_to_a_bound(island, work), one) {
                    (false, _) => mode,
                    (true, false) => Mode::Projected,
                    (true, true) => match self.worst(island, work) {
                        Some(row) => Mode::Released(row),
                        None => return Ok(Outcome::OutOfBudget),
                    },
                },
            };
        }
        Ok(Outcome::OutOfBudget)
    }

    fn choose_sets(&self, work: &mut Work, mode: Mode) {
        for i in 0..self.x.len() {
            let [low, high] = [self.x[i] <= work.lo[i], self.x[i] >= work.hi[i]];
            let g = self.gradient[i];
            let stays = |pushed: bool| match mode {
                Mode::Projected => pushed,
                Mode::Held { .. } => true,
                Mode::Released(row) => row != i,
            };
            work.set[i] = match (low, high) {
                (true, _) if stays(g > 0.0) => Set::Low,
                (_, true) if stays(g < 0.0) => Set::High,
                _ => Set::Free,
            };
        }
    }

    /// The row on a bound that pulls from it most (m/s).
    fn worst(&self, island: &Island, work: &Work) -> Option<usize> {
        let mut worst = (0.0, None);
        for i in (0..self.x.len()).filter(|i| work.lo[*i] < work.hi[*i]) {
            let pull = match work.set[i] {
                Set::Low => -self.gradient[i] / island.scale[i],
                Set::High => self.gradient[i] / island.scale[i],
                Set::Free => 0.0,
            };
            if pull > worst.0 {
                worst = (pull, Some(i));
            }
        }
        worst.1
    }

    /// Moves along the projected path to `work.x`, as far as the energy falls enough. False where it
    /// does not.
    fn step_along_the_path(&mut self, island: &mut Island, work: &mut Work) -> bool {
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            self.set_step(work, length);
            let slope: f64 = self
                .step
                .iter()
                .zip(&self.gradient)
                .map(|(s, g)| s * g)
                .sum();
            if slope < 0.0 && self.change(island, slope) <= ARMIJO * slope {
                self.advance(island, work);
                return true;
            }
            length *= 0.5;
        }
        false
    }

    /// Moves towards `work.x` as far as the first bound. Whether it got there.
    fn step_to_a_bound(&mut self, island: &mut Island, work: &mut Work) -> bool {
        let mut first = (1.0, None);
        for i in (0..self.x.len()).filter(|i| !work.tight[*i]) {
            let [at, to] = [self.x[i], work.x[i]];
            let bound = if to < at { work.lo[i] } else { work.hi[i] };
            if (to < at && to < bound) || (to > at && to > bound) {
                let length = (bound - at) / (to - at);
                if length < first.0 {
                    first = (length, Some((i, bound)));
                }
            }
        }
        self.set_step(work, first.0);
        if let Some((i, bound)) = first.1 {
            // On the bound to the last bit.
            self.x[i] = bound;
            self.step[i] = 0.0;
        }
        self.advance(island, work);
        first.1.is_none()
    }

    /// The step from x to a point on the way to `work.x`, within the bounds.
    fn set_step(&mut self, work: &Work, length: f64) {
        self.step.clear();
        for i in 0..self.x.len() {
            let to = self.x[i] + length * (work.x[i] - self.x[i]);
            self.step
                .push(to.max(work.lo[i]).min(work.hi[i]) - self.x[i]);
        }
    }

    /// Change of the energy by the step, whose first order is `slope`.
    fn change(&mut self, island: &mut Island, slope: f64) -> f64 {
        self.image.clear();
        self.image.resize(self.step.len(), 0.0);
        island.product(&self.step, &mut self.image);
        let curvature: f64 = (self.step.iter().zip(&self.image).zip(&island.epsilon))
            .map(|((s, a), e)| s * (a + e * s))
            .sum();
        slope + 0.5 * curvature
    }

    fn advance(&mut self, island: &mut Island, work: &mut Work) {
        for (i, step) in self.step.iter().enumerate() {
            let to = self.x[i] + step;
            self.x[i] = to.max(work.lo[i]).min(work.hi[i]);
        }
        self.take_gradient(island, work);
    }

    fn take_gradient(&mut self, island: &mut Island, work: &mut Work) {
        work.x.copy_from_slice(&self.x);
        work.update_w(island);
        self.gradient.clone_from(&work.w);
    }
}
