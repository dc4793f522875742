//! Newton's method on the laws themselves, Λ = P_K(Λ − ρ (w + σ e_N)) with ρ = 1/A_cc, for starts that are near.
//!
//! With F = Λ − P, D the derivative of P, and a small ε where contacts are redundant, a step is that of
//! (1 + ε − D + ρ D C) ΔΛ = −F − ρ D ΔJu. So ΔΛ = −G − K ΔJu with K = (1 + ε − D + ρ D C)⁻¹ ρ D, which is symmetric, and
//! which [`Operator::newton_step`] takes. Nothing makes such steps safe: they go on while the residual falls.

use super::{Limits, State};
use crate::linalg::small::eliminate;
use crate::linalg::supernodal::Breakdown;
use crate::problem::law::Slope;
use crate::problem::{Friction, FrictionLaw};
use crate::solve::island::{BILATERAL, Block, Linear, Linearisation, Operator, Set, cone};

const N: usize = FrictionLaw::MAX_ROWS;
/// ε of the first step, as a share of the residual over the largest velocity (-): impulses that only lock each other
/// move by the residual over ε.
const START: f64 = 1e-2;
/// ε is multiplied by these after a step that led nearer, and after one that did not, within these limits (-).
const DOWN: f64 = 0.1;
const UP: f64 = 100.0;
const LEAST: f64 = 1e-9;
const MOST: f64 = 1e3;
/// A step is shortened until the residual falls by this share of its length, each time to this share, and down to
/// that length (-).
const FALL: f64 = 0.2;
const SHORTER: f64 = 0.35;
const SHORTEST: f64 = 0.01;
/// A residual that does not fall to this share of the best one counts as no progress (-); so many in turn end it.
const PROGRESS: f64 = 0.5;
const FAILURES: u32 = 4;

/// The memory of it.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct SemismoothNewton {
    linear: Linearisation,
    /// Where a step begins, and the step (N s).
    before: Vec<f64>,
    step: Vec<f64>,
}

impl SemismoothNewton {
    /// Steps from `x` and `w`, whose residual is `start`, as long as they lead nearer. Leaves and keeps the best one, and
    /// returns its residual (m/s).
    pub fn run(
        &mut self,
        island: &mut impl Operator,
        state: &mut State,
        start: f64,
        limits: &Limits,
    ) -> Result<f64, Breakdown> {
        let [mut best, mut now] = [start; 2];
        let mut failures = 0;
        let mut epsilon = (START * start / island.speed()).clamp(LEAST, 1.0);
        let is_contact = |block: &Block| matches!(block.set, Set::Cone(_));
        if !island.blocks().iter().any(is_contact) {
            // Of steps that follow each other the matrix is then often the same, and so is its factor.
            epsilon = 10_f64.powf(epsilon.log10().round());
        }
        while best > limits.aim && failures < FAILURES && !state.is_over(limits) {
            state.tally.steps += 1;
            self.linearise(island, state, epsilon, now);
            self.step.resize(state.x.len(), 0.0);
            island.newton_step(&self.linear, &mut self.step, &mut state.tally)?;
            self.before.clone_from(&state.x);
            let mut t = 1.0;
            let error = loop {
                self.advance(island.blocks(), t, &mut state.x);
                let error = state.measure(island);
                if error < (1.0 - FALL * t) * best || t < SHORTEST {
                    break error;
                }
                t *= SHORTER;
            };
            state.record(limits);
            if error < PROGRESS * best {
                failures = 0;
                epsilon = (DOWN * epsilon).max(LEAST);
            } else {
                failures += 1;
            }
            if error < best {
                [best, now] = [error; 2];
                state.keep(error);
            } else {
                now = state.go_back(island);
                epsilon = (UP * epsilon).min(MOST);
            }
        }
        Ok(best)
    }

    /// The laws at Λ and w, whose residual is `error`.
    fn linearise<I: Operator>(&mut self, island: &I, state: &State, epsilon: f64, error: f64) {
        let out = &mut self.linear;
        out.k.clear();
        out.gradient.clear();
        out.g.clear();
        out.general.clear();
        let rounding = I::ROUNDING * error;
        for block in island.blocks() {
            let rows = block.span();
            let (x, w) = (&state.x[rows.clone()], &state.w[rows.clone()]);
            let Set::Cone(friction) = &block.set else {
                out.general.push(linear_row(block, x[0], w[0], epsilon));
                continue;
            };
            if block.scale == 0.0 {
                // Nothing moves it.
                out.k.push([[0.0; N]; N]);
                out.gradient.push(None);
                out.g.resize(rows.end, 0.0);
                continue;
            }
            let sigma = block.support(w);
            let length = sigma.hypot(rounding);
            let mut shifted = [0.0; N];
            shifted[..w.len()].copy_from_slice(w);
            shifted[0] += length - rounding;
            let contact = Contact {
                friction,
                x,
                w: shifted,
                compliance: island.compliance(rows),
                rho: 1.0 / block.scale,
                epsilon,
            };
            let (k, g) = contact.respond();
            let share = sigma / length;
            let gradient = block.support_gradient(w);
            out.gradient
                .push(gradient.map(|gradient| gradient.map(|g| g * share)));
            out.k.push(k);
            out.g.extend_from_slice(&g[..x.len()]);
        }
    }

    /// Λ by `t` of the step, back in its sets.
    fn advance(&self, blocks: &[Block], t: f64, x: &mut [f64]) {
        for block in blocks {
            let mut next = [0.0; N];
            let next = &mut next[..block.rows];
            for (next, row) in next.iter_mut().zip(block.span()) {
                *next = self.before[row] + t * self.step[row];
            }
            block.project(next);
            x[block.span()].copy_from_slice(next);
        }
    }
}

fn linear_row(block: &Block, x: f64, w: f64, epsilon: f64) -> Linear {
    if block.scale == 0.0 {
        return Linear::AtBound(0.0);
    }
    let [lo, hi] = block.bounds();
    if block.is_bilateral() {
        return Linear::Inside([BILATERAL * block.scale, w]);
    }
    let z = x - w / block.scale;
    if z > lo && z < hi {
        Linear::Inside([epsilon * block.scale, w])
    } else {
        Linear::AtBound(x - z.max(lo).min(hi))
    }
}

/// A contact at which its law is linearised.
struct Contact<'a> {
    friction: &'a Friction,
    /// Λ, w with σ in its first row, and C, row by row.
    x: &'a [f64],
    w: [f64; N],
    compliance: &'a [f64],
    rho: f64,
    epsilon: f64,
}

impl Contact<'_> {
    /// K and G.
    fn respond(&self) -> (Slope, [f64; N]) {
        let n = self.x.len();
        let mut z = [0.0; N];
        for ((z, x), w) in z.iter_mut().zip(self.x).zip(&self.w) {
            *z = x - self.rho * w;
        }
        let mut d: Slope = [[0.0; N]; N];
        cone::project(self.friction, &mut z[..n], Some(&mut d));
        // [1 + ε − D + ρ D C | ρ D, F]
        let mut left = [[0.0; N]; N];
        let mut right = [[0.0; N + 1]; N];
        for i in 0..n {
            for j in 0..n {
                let compliance = self.rho * self.compliance.get(j).unwrap_or(&0.0);
                left[i][j] = d[i][j] * (compliance - 1.0);
                right[i][j] = self.rho * d[i][j];
            }
            left[i][i] += 1.0 + self.epsilon;
            right[i][n] = self.x[i] - z[i];
        }
        eliminate(&mut left, &mut right, n, n + 1);
        let mut k: Slope = [[0.0; N]; N];
        let mut g = [0.0; N];
        for i in 0..n {
            for j in 0..n {
                k[i][j] = 0.5 * (right[i][j] + right[j][i]);
            }
            g[i] = right[i][n];
        }
        (k, g)
    }
}
