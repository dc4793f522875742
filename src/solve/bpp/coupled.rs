//! Where sets and friction bounds do not settle one after the other: both at once, by Newton's method on
//! proximal problems.
//!
//! A proximal problem holds on to the impulses c that it starts from: w = A x + b + hold (x − c) over the
//! rows with bounds (Rockafellar 1976). The harder it holds, the surer Newton's method finds its
//! solution, in which a slipping row follows its normal impulse, ±κ x_N, and each step is one set of
//! free rows: the semismooth Newton method of Hintermüller, Ito & Kunisch (2002). Each solution is the
//! start of the next problem, which holds less, until what holding does to w is below what is wanted.

use super::factor::{Breakdown, Factorization};
use super::friction::{Friction, OuterTally};
use super::island::{Island, NONE};
use super::pivot::{Limits, Set, Work, project};

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// w = 0.
    Free,
    /// On its own bound.
    On(Set),
    /// A friction row on the bound that its normal impulse gives.
    Slips(Set),
    /// A friction row without a normal impulse.
    Open,
}

/// Memory of the coupled method.
#[derive(Clone, Debug, Default)]
pub struct Coupled {
    way: Vec<Way>,
    before: Vec<Way>,
    /// ε as it was.
    declared: Vec<f64>,
    best: Vec<f64>,
    image: Vec<f64>,
}

/// How hard the first proximal problem holds, as a share of the diagonal, …
const FIRST_HOLD: f64 = 0.1;
/// … the last, …
const LEAST_HOLD: f64 = 1e-11;
/// … and how hard is of no more use.
const MOST_HOLD: f64 = 10.0;
/// What becomes of it at most after a problem that was solved, …
const FASTEST: f64 = 0.03;
/// … after one that took more than so many steps, …
const QUICK: u32 = 4;
const SLOW: f64 = 0.2;
/// … after one that was solved after one that was not, …
const CAREFUL: f64 = 0.5;
/// … and after one that was not.
const FAILED: f64 = 3.0;
/// Newton steps per problem.
const STEPS: u32 = 15;
/// Steps that may pass without fewer changes of the sets than ever before.
const PATIENCE: u32 = 1;
/// Where no more rows than this change, and not fewer either, one contact changes at a time.
const FEW: usize = 12;
/// What a problem that was not solved must leave of the error to count nevertheless.
const ENOUGH: f64 = 0.5;
/// Accuracy of the linear problems, as a share of the error.
const LINEAR: f64 = 1e-3;

/// Largest |x − P(x − w)| over the rows, without the added compliance and with the bounds that the
/// normal impulses give (m/s). `image` is overwritten.
pub fn error(island: &mut Island, x: &[f64], image: &mut Vec<f64>) -> f64 {
    image.clear();
    image.resize(x.len(), 0.0);
    island.product(x, image);
    let mut error: f64 = 0.0;
    for i in (0..x.len()).filter(|i| island.scale[*i] > 0.0) {
        let moved = x[i] - image[i] - island.b[i];
        let [lo, hi] = island.allowed(i, x);
        let nearest = moved.max(lo).min(hi);
        error = error.max((x[i] - nearest).abs() / island.scale[i]);
    }
    error
}

/// Where row `i` goes within its bounds; it stays where it `was` unless it is wrong there by more than
/// `slack`.
fn side(work: &Work, i: usize, [lo, hi]: [f64; 2], was: Option<Way>, slack: f64) -> Set {
    let (x, w) = (work.x[i], work.w[i]);
    let wish = x - w;
    match was {
        Some(Way::Free) if wish >= lo - slack && wish <= hi + slack => Set::Free,
        Some(Way::On(Set::Low) | Way::Slips(Set::Low)) if w >= -slack => Set::Low,
        Some(Way::On(Set::High) | Way::Slips(Set::High)) if w <= slack => Set::High,
        _ if wish <= lo => Set::Low,
        _ if wish >= hi => Set::High,
        _ => Set::Free,
    }
}

/// What the method works on.
pub struct Parts<'a> {
    /// The island.
    pub island: &'a mut Island,
    /// Its factor.
    pub factor: &'a mut dyn Factorization,
    /// Solves for slipping rows.
    pub friction: &'a mut Friction,
    /// The impulses, within their bounds, and more.
    pub work: &'a mut Work,
}

impl Parts<'_> {
    /// The matrix has changed.
    fn renew(&mut self, tally: &mut OuterTally) {
        tally.earlier.add(&self.factor.counters());
        self.factor.prepare(&self.island.matrix);
    }
}

impl Coupled {
    /// Goes on from `work.x` until the error is below `wanted` (m/s) or so many steps were taken. The
    /// best impulses are then in `work.x`. Returns their error. The island and its ε are as before.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn solve(
        &mut self,
        parts: &mut Parts<'_>,
        limits: &Limits,
        most: u32,
        wanted: f64,
        tally: &mut OuterTally,
    ) -> Result<f64, Breakdown> {
        self.declared.clone_from(&parts.island.epsilon);
        self.best.clone_from(&parts.work.x);
        let result = self.follow(parts, limits, most, wanted, tally);
        parts.work.x.copy_from_slice(&self.best);
        parts.island.set_epsilon(&self.declared);
        parts.renew(tally);
        result
    }

    /// From one proximal problem to the next.
    fn follow(
        &mut self,
        parts: &mut Parts<'_>,
        limits: &Limits,
        most: u32,
        wanted: f64,
        tally: &mut OuterTally,
    ) -> Result<f64, Breakdown> {
        let mut least = error(parts.island, &parts.work.x, &mut self.image);
        let mut hold = FIRST_HOLD;
        let mut pace = FASTEST;
        let end = tally.coupled_steps + most;
        while least > wanted
            && hold <= MOST_HOLD
            && tally.coupled_steps < end
            && !parts.work.is_over(limits)
        {
            parts.island.hold(hold);
            parts.renew(tally);
            parts.work.center.copy_from_slice(&self.best);
            parts.work.x.copy_from_slice(&self.best);
            let tolerance = (LINEAR * least).max(parts.work.noise(parts.island));
            let before = tally.coupled_steps;
            let solved = self.settle(parts, limits, tolerance, tally)?;
            project(parts.island, &mut parts.work.x);
            let error = error(parts.island, &parts.work.x, &mut self.image);
            if solved && hold == LEAST_HOLD && error >= ENOUGH * least {
                break;
            }
            if solved || error < ENOUGH * least {
                least = error;
                self.best.clone_from(&parts.work.x);
                let quick = solved && tally.coupled_steps - before <= QUICK;
                hold *= if quick { pace } else { pace.max(SLOW) };
                hold = hold.max(LEAST_HOLD);
                if solved {
                    pace = (pace * pace).max(FASTEST);
                }
            } else {
                hold *= FAILED;
                pace = CAREFUL;
            }
        }
        Ok(least)
    }

    /// Newton steps on the present proximal problem. Returns whether its sets have come to stay.
    fn settle(
        &mut self,
        parts: &mut Parts<'_>,
        limits: &Limits,
        tolerance: f64,
        tally: &mut OuterTally,
    ) -> Result<bool, Breakdown> {
        let Parts {
            island,
            factor,
            friction,
            work,
        } = parts;
        work.update_w(island);
        let mut fewest = usize::MAX;
        let mut patience = PATIENCE;
        for step in 0..STEPS {
            self.choose(island, work, step > 0, 2.0 * tolerance);
            let pairs = self.way.iter().zip(&self.before);
            let changes = match step {
                0 => usize::MAX,
                _ => pairs.filter(|(now, before)| now != before).count(),
            };
            if changes == 0 {
                return Ok(true);
            }
            if changes < fewest {
                fewest = changes;
                patience = PATIENCE;
            } else if patience > 0 {
                patience -= 1;
            } else if changes > FEW {
                return Ok(false);
            } else {
                self.change_one(island);
            }
            if work.is_over(limits) {
                return Ok(false);
            }
            self.write(island, work);
            work.solve_free(island, *factor)?;
            work.tally.pivots += 1;
            tally.coupled_steps += 1;
            friction.set_slipping(island, |i| matches!(self.way[i], Way::Slips(_)));
            friction.couple(island, *factor, work, tolerance, tally);
            work.update_w(island);
            if !work.x.iter().all(|x| x.is_finite()) {
                return Err(Breakdown::NotFinite);
            }
            // Its error is not known; it is recorded if histories are asked for.
            work.note(island, f64::INFINITY);
            std::mem::swap(&mut self.way, &mut self.before);
        }
        Ok(false)
    }

    /// Where every row goes from here. A row stays where it was (`later`) as long as it is wrong there
    /// by no more than `slack` (m/s): the impulses are not more accurate than that.
    fn choose(&mut self, island: &Island, work: &Work, later: bool, slack: f64) {
        self.way.clear();
        self.way.resize(island.n(), Way::Free);
        let go = |i: usize| {
            let was = later.then(|| self.before[i]);
            let slack = slack * island.scale[i];
            side(work, i, island.allowed(i, &work.x), was, slack)
        };
        for i in (0..island.n()).filter(|i| island.normal[*i] == NONE) {
            self.way[i] = match go(i) {
                Set::Free => Way::Free,
                set => Way::On(set),
            };
        }
        for i in (0..island.n()).filter(|i| island.normal[*i] != NONE) {
            let normal = self.way[island.normal[i] as usize];
            self.way[i] = match go(i) {
                _ if normal != Way::Free || island.kappa[i] == 0.0 => Way::Open,
                Set::Free => Way::Free,
                set => Way::Slips(set),
            };
        }
    }

    /// Lets only the last contact or row that changes do so.
    fn change_one(&mut self, island: &Island) {
        let owner = |i: usize| match island.normal[i] {
            NONE => i,
            normal => normal as usize,
        };
        let mut pairs = self.way.iter().zip(&self.before);
        let Some(last) = pairs.rposition(|(now, before)| now != before) else {
            return;
        };
        let last = owner(last);
        for i in (0..island.n()).filter(|i| owner(*i) != last) {
            self.way[i] = self.before[i];
        }
    }

    /// Tells `work` about it.
    fn write(&self, island: &Island, work: &mut Work) {
        for (i, way) in self.way.iter().enumerate() {
            let bounds;
            (work.set[i], bounds) = match *way {
                Way::Free if island.normal[i] != NONE => {
                    (Set::Free, [f64::NEG_INFINITY, f64::INFINITY])
                }
                Way::Free => (Set::Free, island.bounds[i]),
                Way::Open => (Set::Low, [0.0; 2]),
                Way::On(set) | Way::Slips(set) => (set, island.allowed(i, &work.x)),
            };
            [work.lo[i], work.hi[i]] = bounds;
        }
    }
}
