//! Alternating directions ([`admm`](crate::solve::admm)) on islands with redundant contacts.

use std::mem::{swap, take};

use super::engine::{Engine, Limits};
use super::inner;
use super::system::System;
use crate::solve::admm::bodies::Bodies;
use crate::solve::admm::engine::{Engine as Alternating, Options};

/// They go on while the residual falls to this share (-) in so many iterations. From nothing it may rest for 20 of them,
/// until the penalty is right: the pyramid of 20 layers takes 57 to 3e-9 m/s, the wall 40, and from the last step's
/// impulses, where these do not do, up to five.
const FALL: f64 = 0.5;
const ROUND: usize = 30;
/// The residual that they go on to, as a share of what other methods go on to while it is cheap (-).
const AIM: f64 = 0.3;
/// Multiplications of a row in an iteration: J and its transpose twice each, and the projection.
const PER_ROW: f64 = 60.0;

impl Engine {
    /// Alternating directions from the impulses in `x` and `y`, of residual `error`, as long as they lead on. Keeps the
    /// best, to whose w [`Engine::go_back`] leads, and returns its residual (m/s).
    pub(super) fn alternate(&mut self, error: f64, limits: &Limits) -> f64 {
        let mut other = take(&mut self.alternating);
        self.lend(&mut other);
        other.form.prepare();
        self.give(&mut other);
        other.resume(Options::default(), error);
        let mut before = error;
        let mut factors = 0;
        for k in 1.. {
            self.count(&other, &mut factors);
            if !other.is_running || self.is_over(limits) {
                break;
            }
            other.iterate(AIM * limits.aim);
            self.tally.steps += 1;
            self.tally.solves += 1;
            if limits.history {
                self.take(&other.best);
                self.record();
            }
            if k % ROUND == 0 {
                if other.least > FALL * before {
                    break;
                }
                before = other.least;
            }
        }
        if other.least < error {
            self.take(&other.best);
            self.keep(other.least);
        }
        self.lend(&mut other);
        self.alternating = other;
        self.least
    }

    /// Lends the island and its matrix, or takes them back.
    fn lend(&mut self, other: &mut Alternating<Bodies>) {
        swap(&mut self.island, &mut other.form.island);
        swap(&mut self.system, &mut other.form.system);
        swap(&mut self.is_ready, &mut other.form.is_ready);
    }

    /// Copies the impulses and their w.
    fn give(&self, other: &mut Alternating<Bodies>) {
        other.y.clear();
        other.w.clear();
        for (impulses, w) in [&self.x, &self.y].into_iter().zip(&self.w) {
            other.y.extend_from_slice(impulses);
            other.w.extend_from_slice(w);
        }
        let softness = other.form.compliance.iter().zip(&other.y);
        for (w, (compliance, impulse)) in other.w.iter_mut().zip(softness) {
            *w += compliance * impulse;
        }
    }

    fn take(&mut self, impulses: &[f64]) {
        let (x, y) = impulses.split_at(self.x.len());
        self.x.copy_from_slice(x);
        self.y.copy_from_slice(y);
    }

    /// Counts new factors, and an iteration.
    fn count(&mut self, other: &Alternating<Bodies>, factors: &mut u32) {
        let new = other.factors - *factors;
        *factors = other.factors;
        self.tally.factors += new as usize;
        let rows = self.w[0].len() as f64;
        self.tally.work += work(&other.form.system, rows, f64::from(new), 1.0);
    }

    /// Multiplications of a factor and so many iterations, about.
    pub(super) fn work_of_alternating(&self, iterations: f64) -> f64 {
        work(&self.system, self.w[0].len() as f64, 1.0, iterations)
    }
}

fn work(system: &System, rows: f64, factors: f64, iterations: f64) -> f64 {
    let factor = system.work() + inner::PER_ROW[0] * rows;
    let iteration = 2.0 * system.entries() + PER_ROW * rows;
    factors * factor + iterations * iteration
}
