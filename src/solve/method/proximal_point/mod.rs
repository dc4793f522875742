//! The proximal point method on one island of bodies (Rockafellar 1976), with a penalty that follows the progress.
//!
//! From impulses Λ̂ the next ones are those of Λ = P_K(Λ̂ − ρ (w + σ e_N)), which `inner` finds. The penalty
//! is ρ = α/A_cc: the larger α, the nearer is a point to the solution, and the harder to find.

mod inner;

use super::{Limits, State};
use crate::linalg::supernodal::Breakdown;
use crate::problem::FrictionLaw;
use crate::solve::island::bodies::Bodies;
use crate::solve::island::{BILATERAL, Operator};

/// By how much α grows from point to point, and twice that falls after one that led nowhere (-).
const GROWTH: f64 = 10.0;
/// The largest α, of contacts alone and beside general rows (-): corners of a face whose gaps differ hold each other by
/// impulses that move by α times the residual, and with 1e8 arches and stacks end at 1e-9 m/s instead of 1e-13. Beside
/// rows of [`BILATERAL`] a factor has no right digits left from 1e9 on.
const MOST: [f64; 2] = [1e10, 1e8];
/// The largest α that a warm start begins with (-): with more a first point takes 40 steps where contacts are redundant.
const TRUST: f64 = 1e4;
/// By how much ρ of a bounded row is larger than that of contacts (-): motors carry what hangs on them.
const BOUNDED: f64 = 100.0;
/// The balance that a point is found to, as a share of the residual before it (-).
const ACCURACY: f64 = 1e-3;
/// The finest balance that is asked for, and with what α adds to it the one that is put up with where steps do not lead
/// below it, as a share of the largest velocity (-): some ten roundings.
const NOISE: f64 = 2e-15;
/// A residual that has not fallen to this share counts as no progress (-).
const PROGRESS: f64 = 0.7;
/// Points with σ inside that lead nowhere before one with σ held.
const FAILURES: u32 = 3;
/// A residual this many times the best one is turned back from (-).
const WORSE: f64 = 3.0;
/// Starts with a residual below this share of the largest free velocity are trusted to slide as they say (-).
const WARM: f64 = 0.1;
/// Most steps of a point with σ inside, and with σ held; most of a point altogether for α to grow after it.
const STEPS: [usize; 2] = [12, 60];
const EASY: usize = 20;

/// The variables of a point. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct ProximalPoint {
    /// Λ̂, and J u + b there, without compliance.
    center: Vec<f64>,
    at_center: Vec<f64>,
    /// Λ − Λ̂.
    change: Vec<f64>,
    /// What velocities are from those of Λ̂, and J u + b.
    v: Vec<f64>,
    w: Vec<f64>,
    /// 1/ρ of each block (1/kg), and σ of each contact, where it is held.
    inverse_rho: Vec<f64>,
    shift: Vec<f64>,
    /// Whether σ follows the velocities.
    follows: bool,
    /// What was left over, a step as it was made, and where a point with σ inside begins: velocities and general rows.
    rest: Vec<f64>,
    made: [Vec<f64>; 2],
    before: [Vec<f64>; 2],
    image: Vec<f64>,
}

impl ProximalPoint {
    /// Points from `x` and `w`, just measured, whose residual is `error`, as long as fewer than `patience` in turn bring
    /// nothing. Keeps the best ones (m/s).
    pub fn run(
        &mut self,
        bodies: &mut Bodies,
        state: &mut State,
        mut error: f64,
        patience: u32,
        limits: &Limits,
    ) -> Result<(), Breakdown> {
        let mut best = error;
        let start = error;
        let speed = bodies.speed();
        let most = MOST[usize::from(bodies.island.rows.len() > 0)];
        let is_warm = start < WARM * speed;
        let mut alpha = if is_warm {
            (speed / start).min(TRUST).min(most)
        } else {
            1.0
        };
        let [mut stalled, mut failures] = [0, 0];
        let mut falls = true;
        loop {
            let is_done = best <= limits.aim || (best <= limits.tolerance && !falls);
            if is_done || stalled >= patience || state.is_over(limits) {
                break;
            }
            state.tally.points += 1;
            let before = state.tally.steps;
            self.begin_point(bodies, state, alpha);
            // Where σ inside leads nowhere with any penalty, σ held may.
            let follows = failures < FAILURES && (is_warm || state.tally.points > 1);
            let noise = NOISE * speed;
            let target = (ACCURACY * error).max(0.1 * limits.aim).max(noise);
            let enough = target.max(alpha * noise);
            let rest = self.find_point(bodies, state, [target, enough], follows, limits)?;
            let is_found = rest <= enough;
            error = state.measure(bodies);
            falls = error < PROGRESS * best;
            let penalty = alpha;
            let fails = follows && !self.follows;
            // Points that lead through impulses that only lock each other need not come nearer.
            if error < best || (!fails && is_found && error <= WORSE * best) {
                best = best.min(error);
                state.keep(error);
            }
            failures = if fails { failures + 1 } else { 0 };
            if fails || error > WORSE * best || !error.is_finite() {
                error = state.go_back(bodies);
                alpha = (alpha / (GROWTH * GROWTH)).max(1.0);
            } else if is_found && state.tally.steps - before < EASY {
                alpha = (alpha * GROWTH).min(most);
            }
            // On the way to a larger penalty points need not bring anything yet.
            if falls {
                stalled = 0;
            } else if alpha <= penalty {
                stalled += 1;
            }
        }
        Ok(())
    }

    /// Sets Λ̂, ρ and what σ is held at.
    fn begin_point(&mut self, bodies: &Bodies, state: &State, alpha: f64) {
        let island = &bodies.island;
        self.center.clone_from(&state.x);
        for (vector, n) in [
            (&mut self.v, island.velocities()),
            (&mut self.image, island.velocities()),
            (&mut self.w, state.x.len()),
            (&mut self.at_center, state.x.len()),
        ] {
            vector.clear();
            vector.resize(n, 0.0);
        }
        island.add_product(&bodies.velocity, &mut self.at_center);
        self.shift.clear();
        self.inverse_rho.clear();
        for block in &island.blocks {
            let rows = block.span();
            let compliance = island.compliance[rows.clone()].iter().copied();
            let compliance = compliance.fold(0.0, f64::max);
            self.inverse_rho.push(if block.is_bilateral() {
                compliance + BILATERAL * block.scale
            } else if block.friction().is_some() {
                self.shift.push(block.support(&state.w[rows]));
                compliance + block.scale / alpha
            } else {
                compliance + 1.0 / (BOUNDED * alpha) * block.scale
            });
        }
    }

    /// Finds the point, with σ inside if it `follows` and that leads there, else with σ held; `x` becomes its impulses.
    /// Returns what is left of the balance (m/s), which Newton's method brings to one of the targets.
    fn find_point(
        &mut self,
        bodies: &mut Bodies,
        state: &mut State,
        targets: [f64; 2],
        follows: bool,
        limits: &Limits,
    ) -> Result<f64, Breakdown> {
        let mut rest = f64::INFINITY;
        let first = bodies.island.contact_rows();
        self.follows = follows;
        if follows {
            self.before[0].clone_from(&self.v);
            self.before[1].clear();
            self.before[1].extend_from_slice(&state.x[first..]);
            rest = self.newton(bodies, state, targets, STEPS[0], limits)?;
            if rest > targets[1] || rest.is_nan() {
                self.v.clone_from(&self.before[0]);
                state.x[first..].copy_from_slice(&self.before[1]);
            }
        }
        if rest > targets[1] || rest.is_nan() {
            self.follows = false;
            rest = self.newton(bodies, state, targets, STEPS[1], limits)?;
        }
        for c in 0..bodies.contacts() {
            let mut block = [0.0; FrictionLaw::MAX_ROWS];
            let rows = bodies.island.contacts.rows(c);
            let out = &mut block[..rows.len()];
            self.impulse(bodies, &state.x, c, 0.0, out, None);
            state.x[rows].copy_from_slice(out);
        }
        Ok(rest)
    }
}
