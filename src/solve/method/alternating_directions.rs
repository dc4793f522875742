//! Alternating directions of multipliers (Boyd et al. 2010), with one factor for many iterations.
//!
//! With K the cones and intervals, R = ρ A_cc per block, η a small share of A_cc, and q the estimate of w + s e_N:
//!
//! - s = σ(q_T): De Saxcé's shift, renewed in every iteration;
//! - (A + R + η) x = q + R y + η x⁻ − b − s e_N, with one factor as long as ρ stays;
//! - y = P_K(x̂ − R⁻¹ q) with x̂ = α x + (1 − α) y⁻, and q becomes q + R (y − x̂).
//!
//! y is the iterate: it is in its sets. A bilateral row's set is everything, so that its R only keeps redundant rows
//! apart; it has no η.

use super::State;
use crate::problem::FrictionLaw;
use crate::solve::island::{BILATERAL, Block, Operator, Tally};

/// The first penalty, and α, unless they are given (-). Between 0.03 and 1 the published problems take about as many
/// iterations; α is Boyd's and Stellato's.
pub(in crate::solve) const PENALTY: f64 = 0.1;
pub(in crate::solve) const RELAXATION: f64 = 1.6;
/// η over A_cc (-).
const PROXIMAL: f64 = 1e-6;
/// The penalty's range (-): with less the solution of the linear system rounds to more than 1e-11 m/s on stacks.
const PENALTIES: [f64; 2] = [1e-3, 1e3];
/// The penalty is renewed where it is wrong by more than this factor (-), after so many iterations at first, and each
/// time after that many times more than before: few factors in the end.
const WRONG: f64 = 5.0;
const FIRST: u32 = 10;
const LATER: f64 = 1.5;
/// A start whose residual is at most this share of the tolerance is a solution (-).
const ACCEPTED: f64 = 0.1;

/// Multiplications of an iteration on an island of so many rows, about: two substitutions, and per row J and its transpose
/// twice each, and the projection.
pub(in crate::solve) fn work_of_an_iteration(island: &impl Operator, rows: usize) -> f64 {
    const PER_ROW: f64 = 60.0;
    island.work_of_a_solve() + PER_ROW * rows as f64
}

/// Choices of the iteration.
#[derive(Clone, Copy, Debug)]
pub(in crate::solve) struct Options {
    /// The first penalty, and whether it is adapted.
    pub penalty: f64,
    pub adapts: bool,
    /// α.
    pub relaxation: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            penalty: PENALTY,
            adapts: true,
            relaxation: RELAXATION,
        }
    }
}

/// The iteration's variables on an island. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct AlternatingDirections {
    options: Options,
    /// ρ.
    pub penalty: f64,
    /// R + η, row by row.
    shift: Vec<f64>,
    x: Vec<f64>,
    pub y: Vec<f64>,
    q: Vec<f64>,
    /// A y + b.
    w: Vec<f64>,
    r: Vec<f64>,
    /// The best y and its residual (m/s).
    pub best: Vec<f64>,
    pub least: f64,
    /// ‖Δy‖∞ of the last iteration (N s).
    pub delta: f64,
    pub is_running: bool,
    /// Whether A + R + η could not be factored.
    pub is_broken: bool,
    gaps: Gaps,
    iteration: u32,
    next: u32,
    wait: f64,
}

/// Sums of squares of an iteration, but for bilateral rows: how far x and y are apart, how far y has moved, and what both
/// are measured by, all as velocities.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    primal: f64,
    dual: f64,
    impulses: f64,
    velocities: f64,
}

impl Gaps {
    /// By how much the penalty is too small (-). The gaps themselves are compared by Boyd et al. 2010, 3.4.1, and as
    /// shares of what they are gaps of by Stellato et al. 2020, 5.2. Impulses that lock each other make the two differ
    /// by orders of magnitude; neither is right then, and their geometric mean is taken. On the published problems of
    /// `docs/exact.md` that are hyperstatic it takes 730 and 1415 iterations, where the first takes more than 5000 and
    /// 990, and the second more than 5000 and 3740.
    fn ratio(&self) -> f64 {
        let plain = self.primal / self.dual;
        let relative = plain * self.velocities / self.impulses;
        // These are squares.
        (plain * relative).powf(0.125)
    }
}

impl AlternatingDirections {
    /// Begins at the impulses in `y`, whatever they are.
    pub fn begin(
        &mut self,
        island: &mut impl Operator,
        options: Options,
        tolerance: f64,
        tally: &mut Tally,
    ) {
        self.make_room(options);
        self.w.resize(self.y.len(), 0.0);
        self.least = self.measure(island);
        if self.least > ACCEPTED * tolerance {
            self.start(island, tally);
        } else {
            self.best.clone_from(&self.y);
        }
    }

    /// Begins at the impulses of a state, and their w, of residual `error` (m/s).
    pub fn begin_at(
        &mut self,
        island: &mut impl Operator,
        options: Options,
        state: &mut State,
        error: f64,
    ) {
        self.y.clone_from(&state.x);
        self.w.clone_from(&state.w);
        self.make_room(options);
        self.least = error;
        self.start(island, &mut state.tally);
    }

    fn make_room(&mut self, options: Options) {
        self.q.clear();
        self.q.resize(self.y.len(), 0.0);
        self.r.resize(self.y.len(), 0.0);
        self.is_running = false;
        self.options = options;
        self.penalty = options.penalty;
        self.iteration = 0;
        self.next = FIRST;
        self.wait = f64::from(FIRST);
        self.delta = 0.0;
        self.is_broken = false;
    }

    fn start(&mut self, island: &mut impl Operator, tally: &mut Tally) {
        self.x.clone_from(&self.y);
        self.best.clone_from(&self.y);
        self.is_running = true;
        self.find_first_q(island.blocks());
        self.factor(island, tally);
    }

    /// One iteration; where the best residual is at most the tolerance it is the last one.
    pub fn iterate(&mut self, island: &mut impl Operator, tolerance: f64, tally: &mut Tally) {
        self.iteration += 1;
        for block in island.blocks() {
            let rows = block.span();
            let [r, eta] = shares(block, self.penalty);
            for k in rows.clone() {
                self.r[k] = self.q[k] + block.scale * (r * self.y[k] + eta * self.x[k]);
            }
            self.r[block.first] -= block.support(&self.q[rows]);
        }
        island.solve(&self.shift, &self.r, &mut self.x);
        self.project(island.blocks());
        let error = self.measure(island);
        if error < self.least {
            self.least = error;
            self.best.clone_from(&self.y);
        }
        self.is_running = self.least > tolerance && error.is_finite();
        if self.is_running && self.options.adapts && self.iteration >= self.next {
            self.wait *= LATER;
            self.next = self.iteration + self.wait as u32;
            self.adapt(island, tally);
        }
    }

    /// y ← P_K(x̂ − R⁻¹ q), and q with it.
    fn project(&mut self, blocks: &[Block]) {
        let alpha = self.options.relaxation;
        self.delta = 0.0;
        let mut gaps = Gaps::default();
        for block in blocks {
            if block.scale == 0.0 {
                // Nothing moves it.
                continue;
            }
            let rows = block.span();
            let is_bilateral = block.is_bilateral();
            let r = self.penalty * block.scale;
            let mut z = [0.0; FrictionLaw::MAX_ROWS];
            for (z, k) in z.iter_mut().zip(rows.clone()) {
                *z = alpha * self.x[k] + (1.0 - alpha) * self.y[k] - self.q[k] / r;
            }
            let mut next = z;
            block.project(&mut next[..block.rows]);
            for ((next, z), k) in next.iter().zip(&z).zip(rows) {
                let moved = next - self.y[k];
                self.delta = self.delta.max(moved.abs());
                self.q[k] = r * (next - z);
                let square = |x: f64| x * x;
                if !is_bilateral {
                    gaps.primal += square(block.scale * (self.x[k] - next));
                    gaps.dual += square(r * moved);
                    gaps.impulses += square(block.scale * next);
                    gaps.velocities += square(self.q[k]);
                }
                self.y[k] = *next;
            }
        }
        self.gaps = gaps;
    }

    /// q of a start: the part of w + s e_N that lies in the cones' duals.
    fn find_first_q(&mut self, blocks: &[Block]) {
        for block in blocks.iter().filter(|b| b.scale > 0.0) {
            let rows = block.span();
            let r = self.penalty * block.scale;
            let mut z = [0.0; FrictionLaw::MAX_ROWS];
            for (z, k) in z.iter_mut().zip(rows.clone()) {
                *z = self.y[k] - self.w[k] / r;
            }
            z[0] -= block.support(&self.w[rows.clone()]) / r;
            let mut next = z;
            block.project(&mut next[..block.rows]);
            for ((next, z), k) in next.iter().zip(&z).zip(rows) {
                self.q[k] = r * (next - z);
            }
        }
    }

    /// w at y, and the residual (m/s).
    fn measure(&mut self, island: &mut impl Operator) -> f64 {
        island.product(&self.y, &mut self.w);
        island.residual(&self.y, &self.w)
    }

    fn adapt(&mut self, island: &mut impl Operator, tally: &mut Tally) {
        let by = self.gaps.ratio();
        if !by.is_finite() || (1.0 / WRONG..WRONG).contains(&by) {
            return;
        }
        let [least, most] = PENALTIES;
        self.penalty = (self.penalty * by).clamp(least, most);
        self.factor(island, tally);
    }

    fn factor(&mut self, island: &mut impl Operator, tally: &mut Tally) {
        self.shift.clear();
        for block in island.blocks() {
            let [r, eta] = shares(block, self.penalty);
            let shift = if block.scale == 0.0 {
                1.0
            } else {
                (r + eta) * block.scale
            };
            self.shift.resize(self.shift.len() + block.rows, shift);
        }
        if island.factor(&self.shift, tally).is_err() {
            self.is_broken = true;
            self.is_running = false;
        }
    }
}

/// R and η over a block's scale: a bilateral row needs no η beside its R.
fn shares(block: &Block, penalty: f64) -> [f64; 2] {
    if block.is_bilateral() {
        [BILATERAL, 0.0]
    } else {
        [penalty, PROXIMAL]
    }
}
