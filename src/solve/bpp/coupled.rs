//! Where sets and friction bounds do not settle one after the other: both at once, by Newton's method on
//! proximal problems.
//!
//! A proximal problem is drawn to the impulses c that it starts from: w = A x + b + σ (x − c) over the
//! rows with bounds (Rockafellar 1976). The larger the weight σ, the surer Newton's method finds its
//! solution, in which a slipping row follows its normal impulse, ±κ x_N, and each step is one set of
//! free rows: the semismooth Newton method of Hintermüller, Ito & Kunisch (2002). Each solution is the
//! start of the next problem, of a smaller weight, until what that does to w is below what is wanted.

use super::factor::Breakdown;
use super::island::NONE;
use super::lcp::{Lcp, Set};
use super::slipping::Slipping;
use super::tuning::Tuning;

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// w = 0.
    Free,
    /// On its own bound.
    AtBound(Set),
    /// A friction row on the bound that its normal impulse gives.
    Slips(Set),
    /// A friction row without a normal impulse.
    Open,
}

/// Memory of the coupled method.
#[derive(Clone, Debug, Default)]
pub struct Coupled {
    state: Vec<State>,
    before: Vec<State>,
    /// ε as it was.
    declared: Vec<f64>,
    best: Vec<f64>,
}

impl Coupled {
    /// Goes on from `lcp.x` until the error is below `wanted` (m/s) or the steps are used up. The
    /// best impulses are then in `lcp.x`. Returns their error. The island and its ε are as before.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn solve(
        &mut self,
        lcp: &mut Lcp,
        slipping: &mut Slipping,
        tuning: &Tuning,
        wanted: f64,
    ) -> Result<f64, Breakdown> {
        self.declared.clone_from(&lcp.island.epsilon);
        self.best.clone_from(&lcp.x);
        let result = self.proximal_points(lcp, slipping, tuning, wanted);
        lcp.x.copy_from_slice(&self.best);
        lcp.set_epsilon(&self.declared);
        result
    }

    /// From one proximal problem to the next.
    fn proximal_points(
        &mut self,
        lcp: &mut Lcp,
        slipping: &mut Slipping,
        tuning: &Tuning,
        wanted: f64,
    ) -> Result<f64, Breakdown> {
        let mut least = lcp.error();
        let mut weight = tuning.first_weight;
        let mut pace = tuning.fast;
        let end = lcp.tally.coupled_steps + tuning.coupled_steps;
        while least > wanted
            && weight <= tuning.most_weight
            && lcp.tally.coupled_steps < end
            && !lcp.is_over()
        {
            lcp.set_proximal_weight(weight);
            lcp.center.copy_from_slice(&self.best);
            lcp.x.copy_from_slice(&self.best);
            let tolerance = (tuning.linear_accuracy * least).max(lcp.noise());
            let before = lcp.tally.coupled_steps;
            let solved = self.newton(lcp, slipping, tuning, tolerance)?;
            lcp.project();
            let error = lcp.error();
            if solved && weight == tuning.least_weight && error >= tuning.useful * least {
                break;
            }
            if solved || error < tuning.useful * least {
                least = error;
                self.best.clone_from(&lcp.x);
                let quick = solved && lcp.tally.coupled_steps - before <= tuning.fast_steps;
                weight *= if quick { pace } else { pace.max(tuning.slow) };
                weight = weight.max(tuning.least_weight);
                if solved {
                    pace = (pace * pace).max(tuning.fast);
                }
            } else {
                weight *= tuning.failed;
                pace = tuning.after_failure;
            }
        }
        Ok(least)
    }

    /// Newton steps on the present proximal problem. Returns whether its sets have come to stay.
    fn newton(
        &mut self,
        lcp: &mut Lcp,
        slipping: &mut Slipping,
        tuning: &Tuning,
        tolerance: f64,
    ) -> Result<bool, Breakdown> {
        lcp.update_w();
        let mut fewest = usize::MAX;
        let mut patience = tuning.newton_patience;
        for step in 0..tuning.newton_steps {
            self.find_states(lcp, step > 0, 2.0 * tolerance);
            let pairs = self.state.iter().zip(&self.before);
            let changes = match step {
                0 => usize::MAX,
                _ => pairs.filter(|(now, before)| now != before).count(),
            };
            if changes == 0 {
                return Ok(true);
            }
            if changes < fewest {
                fewest = changes;
                patience = tuning.newton_patience;
            } else if patience > 0 {
                patience -= 1;
            } else {
                return Ok(false);
            }
            if lcp.is_over() {
                return Ok(false);
            }
            self.write_sets(lcp);
            lcp.solve_free()?;
            lcp.tally.coupled_steps += 1;
            slipping.set(lcp, |i| matches!(self.state[i], State::Slips(_)));
            slipping.solve(lcp, tuning, tolerance);
            lcp.update_w();
            lcp.check_finite()?;
            // Its error is not known; it is recorded if histories are asked for.
            lcp.note(f64::INFINITY);
            std::mem::swap(&mut self.state, &mut self.before);
        }
        Ok(false)
    }

    /// Where every row goes from here. A row stays where it was (`later`) as long as it is wrong there
    /// by no more than `slack` (m/s): the impulses are not more accurate than that.
    fn find_states(&mut self, lcp: &Lcp, later: bool, slack: f64) {
        let island = &lcp.island;
        self.state.clear();
        self.state.resize(island.n(), State::Free);
        let side = |i: usize| {
            let was = later.then(|| self.before[i]);
            side(lcp, i, was, slack * island.scale[i])
        };
        for i in (0..island.n()).filter(|i| island.normal_row[*i] == NONE) {
            self.state[i] = match side(i) {
                Set::Free => State::Free,
                set => State::AtBound(set),
            };
        }
        for i in island.friction_rows() {
            let normal = self.state[island.normal_row[i] as usize];
            self.state[i] = match side(i) {
                _ if normal != State::Free || island.friction_coefficient[i] == 0.0 => State::Open,
                Set::Free => State::Free,
                set => State::Slips(set),
            };
        }
    }

    /// The sets and bounds that go with the states.
    fn write_sets(&self, lcp: &mut Lcp) {
        for (i, state) in self.state.iter().enumerate() {
            let bounds;
            (lcp.set[i], bounds) = match *state {
                State::Free if lcp.island.normal_row[i] != NONE => {
                    (Set::Free, [f64::NEG_INFINITY, f64::INFINITY])
                }
                State::Free => (Set::Free, lcp.island.bounds[i]),
                State::Open => (Set::Low, [0.0; 2]),
                State::AtBound(set) | State::Slips(set) => (set, lcp.island.bounds_at(i, &lcp.x)),
            };
            [lcp.lo[i], lcp.hi[i]] = bounds;
        }
    }
}

/// Where row `i` goes within its bounds; it stays where it `was` unless it is wrong there by more than
/// `slack`.
fn side(lcp: &Lcp, i: usize, was: Option<State>, slack: f64) -> Set {
    let [lo, hi] = lcp.island.bounds_at(i, &lcp.x);
    let w = lcp.w[i];
    let wish = lcp.x[i] - w;
    match was {
        Some(State::Free) if wish >= lo - slack && wish <= hi + slack => Set::Free,
        Some(State::AtBound(Set::Low) | State::Slips(Set::Low)) if w >= -slack => Set::Low,
        Some(State::AtBound(Set::High) | State::Slips(Set::High)) if w <= slack => Set::High,
        _ if wish <= lo => Set::Low,
        _ if wish >= hi => Set::High,
        _ => Set::Free,
    }
}
