//! The proximal method on one island (Rockafellar 1976), with a penalty that follows the progress.
//!
//! From impulses Λ̂ the next ones are those of Λ = P_K(Λ̂ − ρ (w + σ e_N)), which [`super::inner`] finds. The penalty
//! is ρ = α/A_cc: the larger α, the nearer is a point to the solution, and the harder to find.

use super::engine::{BILATERAL, Engine, Limits};
use crate::problem::FrictionLaw;
use crate::solve::linalg::sparse::Breakdown;

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

impl Engine {
    /// Points from `x` and `y`, whose residual is `error`, as long as fewer than `patience` in turn bring nothing. Keeps
    /// the best ones (m/s).
    pub(super) fn proximal_points(
        &mut self,
        mut error: f64,
        patience: u32,
        limits: &Limits,
    ) -> Result<(), Breakdown> {
        let mut best = error;
        let start = error;
        let speed = self.island.speed();
        let most = MOST[usize::from(self.island.rows.len() > 0)];
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
            if is_done || stalled >= patience || self.is_over(limits) {
                break;
            }
            self.tally.points += 1;
            let before = self.tally.steps;
            self.begin_point(alpha);
            // Where σ inside leads nowhere with any penalty, σ held may.
            let follows = failures < FAILURES && (is_warm || self.tally.points > 1);
            let noise = NOISE * speed;
            let target = (ACCURACY * error).max(0.1 * limits.aim).max(noise);
            let enough = target.max(alpha * noise);
            let is_found = self.find_point([target, enough], follows, limits)? <= enough;
            error = self.measure();
            falls = error < PROGRESS * best;
            let penalty = alpha;
            let fails = follows && !self.is_coupled;
            // Points that lead through impulses that only lock each other need not come nearer.
            if error < best || (!fails && is_found && error <= WORSE * best) {
                best = best.min(error);
                self.keep(error);
            }
            failures = if fails { failures + 1 } else { 0 };
            if fails || error > WORSE * best || !error.is_finite() {
                error = self.go_back();
                alpha = (alpha / (GROWTH * GROWTH)).max(1.0);
            } else if is_found && self.tally.steps - before < EASY {
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
    fn begin_point(&mut self, alpha: f64) {
        self.center[0].clone_from(&self.x);
        self.center[1].clone_from(&self.y);
        self.v.fill(0.0);
        let (contacts, rows) = (&self.island.contacts, &self.island.rows);
        let [w, w_of_rows] = &mut self.at_center;
        contacts.add_product(&self.image, &contacts.free, w);
        rows.add_product(&self.image, &rows.free, w_of_rows);
        for c in 0..contacts.len() {
            let rows = contacts.rows(c);
            self.shift[c] = self.support(c, &self.w[0][rows.start + 1..rows.end]);
            let compliance = contacts.compliance[rows].iter().copied();
            self.inverse_rho[0][c] = compliance.fold(0.0, f64::max) + contacts.scale[c] / alpha;
        }
        for r in 0..rows.len() {
            let share = if rows.is_bilateral(r) {
                BILATERAL
            } else {
                1.0 / (BOUNDED * alpha)
            };
            self.inverse_rho[1][r] = rows.compliance[r] + share * rows.diagonal[r];
        }
    }

    /// Finds the point, with σ inside if it `follows` and that leads there, else with σ held; `x` and `y` become its
    /// impulses. Returns what is left of the balance (m/s), which [`Engine::newton`] brings to one of the targets.
    fn find_point(
        &mut self,
        targets: [f64; 2],
        follows: bool,
        limits: &Limits,
    ) -> Result<f64, Breakdown> {
        let mut rest = f64::INFINITY;
        self.is_coupled = follows;
        if follows {
            self.before[0].clone_from(&self.v);
            self.before[1].clone_from(&self.y);
            rest = self.newton(targets, STEPS[0], limits)?;
            if rest > targets[1] || rest.is_nan() {
                self.v.clone_from(&self.before[0]);
                self.y.clone_from(&self.before[1]);
            }
        }
        if rest > targets[1] || rest.is_nan() {
            self.is_coupled = false;
            rest = self.newton(targets, STEPS[1], limits)?;
        }
        for c in 0..self.island.contacts.len() {
            let mut block = [0.0; FrictionLaw::MAX_ROWS];
            let rows = self.island.contacts.rows(c);
            self.impulse(c, 0.0, &mut block[..rows.len()], None);
            self.x[rows.clone()].copy_from_slice(&block[..rows.len()]);
        }
        Ok(rest)
    }
}
