//! One proximal point: M v = Jᵀ (Λ(v) − Λ̂), by Newton's method, whose matrix is that of [`super::system`].
//!
//! v is what velocities are from those of Λ̂, where w is known in twice the digits: so rounding of w, which the penalty
//! multiplies, is that of a small difference.
//!
//! With σ held the left side minus the right is the gradient of a convex function of v with a continuous gradient, so
//! that a line search makes every step safe. With σ inside it is no gradient, and a step must make it smaller.

use super::cone;
use super::engine::{Engine, Limits};
use super::island::NONE;
use crate::problem::FrictionLaw;
use crate::problem::law::Slope;
use crate::solve::linalg::sparse::Breakdown;

/// Steps that do not halve the rest before it gives up, with σ inside and with σ held. Held, the rest may grow on
/// the way down.
const PATIENCE: [u32; 2] = [3, 40];
/// A step is shortened as long as the rest does not fall to this share (-), but not below the least length.
const FALL: f64 = 0.9;
const LEAST: f64 = 0.1;
/// The slope along a step that a line search ends at, as a share of the slope where it begins (-); the full step is
/// taken where it is no steeper than the second one.
const FLAT: [f64; 2] = [0.1, 0.5];
/// Multiplications per row of a contact: of what is left over and the matrix, and of a line search (-).
pub(super) const PER_ROW: [f64; 2] = [120.0, 60.0];
/// Most slopes of a line search.
const SLOPES: usize = 20;

impl Engine {
    /// Newton's method from `v` and `y`, until what is left of the balance is at most `target` (m/s), or at most `enough`
    /// and a step does not halve it. Returns that.
    pub(super) fn newton(
        &mut self,
        [target, enough]: [f64; 2],
        most: usize,
        limits: &Limits,
    ) -> Result<f64, Breakdown> {
        let patience = PATIENCE[usize::from(!self.is_coupled)];
        let mut left = patience;
        let mut rest = self.balance();
        let mut least = rest;
        for _ in 0..most {
            if rest <= target || !rest.is_finite() || left == 0 || self.is_over(limits) {
                break;
            }
            self.tally.steps += 1;
            let gap = self.gap();
            self.rest.clone_from(&self.dv);
            self.find_step()?;
            let mut t = 1.0;
            if !self.is_coupled && gap <= target {
                let slope = -dot(&self.rest, &self.dv);
                if slope >= 0.0 {
                    break;
                }
                t = self.line_search(slope);
            }
            let before = rest;
            self.made[0].clone_from(&self.dv);
            self.made[1].clone_from(&self.dy);
            self.advance(t);
            rest = self.balance();
            let hardly_falls = |rest: f64| rest >= FALL * before || rest.is_nan();
            while self.is_coupled && gap <= target && hardly_falls(rest) && t > LEAST {
                self.advance(-0.5 * t);
                t *= 0.5;
                rest = self.balance();
            }
            if limits.history {
                self.record();
            }
            left -= 1;
            if rest < 0.5 * least {
                least = rest;
                left = patience;
            } else if rest <= enough {
                break;
            }
        }
        Ok(rest)
    }

    /// v and y by `t` of the step that was made.
    fn advance(&mut self, t: f64) {
        for (x, d) in [&mut self.v, &mut self.y].into_iter().zip(&self.made) {
            for (x, d) in x.iter_mut().zip(d) {
                *x += t * d;
            }
        }
    }

    /// The largest velocity that a bilateral row is left with (m/s).
    fn gap(&self) -> f64 {
        self.dy.iter().fold(0.0, |a: f64, b| a.max(b.abs()))
    }

    /// Turns what is left over in `dv` and `dy` into a step, and finds what it does to w.
    pub(super) fn find_step(&mut self) -> Result<(), Breakdown> {
        if self.slopes != self.factored {
            self.factored.clone_from(&self.slopes);
            self.tally.factors += 1;
            self.tally.work += self.system.work();
            if let Err(breakdown) = self.system.factor(&self.island) {
                self.factored.clear();
                return Err(breakdown);
            }
        }
        self.count_solve();
        self.system.solve(&mut self.dv, &mut self.dy);
        if self.is_coupled {
            self.follow_sliding();
        }
        let rows = &self.island.rows;
        for dy in &mut self.dy {
            // The matrix has −dy.
            *dy = -*dy;
        }
        self.island.contacts.product(&self.dv, &mut self.dw[0]);
        rows.product(&self.dv, &mut self.dw[1]);
        Ok(())
    }

    /// Counts a solve with the factor.
    pub(super) fn count_solve(&mut self) {
        self.tally.solves += 1;
        self.tally.work += 2.0 * self.system.entries();
    }

    /// Everything at v: w, the impulses, the matrix, and what is left over: momenta in `dv`, velocities of bilateral rows
    /// in `dy`. Returns the largest velocity that is left over (m/s).
    fn balance(&mut self) -> f64 {
        self.tally.work += PER_ROW[0] * self.w[0].len() as f64;
        let [contacts, rows] = &self.at_center;
        self.island.gaps(&self.v, [contacts, rows], &mut self.w);
        for dw in &mut self.dw {
            dw.fill(0.0);
        }
        self.take_contacts();
        self.take_rows();
        let island = &self.island;
        self.momentum.fill(0.0);
        for (change, (now, center)) in self
            .change
            .iter_mut()
            .zip([&self.x, &self.y].into_iter().zip(&self.center))
        {
            change.clear();
            change.extend(now.iter().zip(center).map(|(now, center)| now - center));
        }
        island
            .contacts
            .add_transposed(&self.change[0], &mut self.momentum);
        island
            .rows
            .add_transposed(&self.change[1], &mut self.momentum);
        island.mass_product(&self.v, &mut self.dv);
        for (dv, p) in self.dv.iter_mut().zip(&self.momentum) {
            *dv = p - *dv;
        }
        island.inverse_product(&self.dv, &mut self.image);
        let mut worst = self.gap();
        for v in &self.image {
            if v.abs() > worst || v.is_nan() {
                worst = v.abs();
            }
        }
        worst
    }

    /// The contacts' impulses, and their part of the matrix.
    fn take_contacts(&mut self) {
        self.system.begin();
        self.slopes.clear();
        self.sliding.clear();
        let mut slope: Slope = [[0.0; FrictionLaw::MAX_ROWS]; FrictionLaw::MAX_ROWS];
        for c in 0..self.island.contacts.len() {
            let rows = self.island.contacts.rows(c);
            let n = rows.len();
            let mut block = [0.0; FrictionLaw::MAX_ROWS];
            self.impulse(c, 0.0, &mut block[..n], Some(&mut slope));
            let presses = slope[0][0] > 0.0;
            self.slopes.push(f64::from(u8::from(presses)));
            if presses {
                let rho = 1.0 / self.inverse_rho[0][c];
                for row in &mut slope[..n] {
                    for s in &mut row[..n] {
                        *s *= rho;
                    }
                    self.slopes.extend_from_slice(&row[..n]);
                }
                self.system.add_contact(&self.island, c, &slope);
                if self.is_coupled {
                    self.note_sliding(c, &slope);
                }
            }
            self.x[rows].copy_from_slice(&block[..n]);
        }
    }

    /// The general rows' impulses and gaps, and their part of the matrix.
    fn take_rows(&mut self) {
        for r in 0..self.island.rows.len() {
            let rows = &self.island.rows;
            let e = self.inverse_rho[1][r];
            let is_in = if rows.is_bilateral(r) {
                self.dy[r] = -(self.w[1][r] + rows.compliance[r] * self.y[r]);
                true
            } else {
                let (y, is_inside) = self.bounded(r, 0.0);
                self.y[r] = y;
                self.dy[r] = 0.0;
                is_inside
            };
            self.system.set_row(&self.island, r, is_in.then_some(e));
            self.slopes.push(if is_in { e } else { 0.0 });
        }
    }

    /// Λ of contact `c` at w + t dw, and its derivative by −w/(1/ρ) where it is asked for. With compliance C the point is
    /// that of Λ = P(ρ ((1/ρ − C) Λ̂ − w − σ e_N)), where 1/ρ contains C.
    pub(super) fn impulse(&self, c: usize, t: f64, out: &mut [f64], slope: Option<&mut Slope>) {
        let contacts = &self.island.contacts;
        let e = self.inverse_rho[0][c];
        let rows = contacts.rows(c);
        let mut w = [0.0; FrictionLaw::MAX_ROWS];
        let w = &mut w[..rows.len()];
        for (w, row) in w.iter_mut().zip(rows.clone()) {
            *w = self.w[0][row] + t * self.dw[0][row];
        }
        w[0] += if self.is_coupled {
            self.support(c, &w[1..])
        } else {
            self.shift[c]
        };
        for ((out, w), row) in out.iter_mut().zip(w).zip(rows) {
            *out = ((e - contacts.compliance[row]) * self.center[0][row] - *w) / e;
        }
        cone::project(&contacts.friction[c], out, slope);
    }

    /// Impulse of bounded row `r` at w + t dw, and whether it is within its bounds.
    fn bounded(&self, r: usize, t: f64) -> (f64, bool) {
        let rows = &self.island.rows;
        let e = self.inverse_rho[1][r];
        let w = self.w[1][r] + t * self.dw[1][r];
        let z = ((e - rows.compliance[r]) * self.center[1][r] - w) / e;
        let [lo, hi] = rows.bounds[r];
        (z.max(lo).min(hi), z > lo && z < hi)
    }

    /// How long a step is at whose end the convex function's slope is next to zero, by false position (Illinois): the
    /// slope grows along the step from the negative `first`.
    fn line_search(&mut self, first: f64) -> f64 {
        self.tally.work += PER_ROW[1] * self.w[0].len() as f64;
        self.island.mass_product(&self.v, &mut self.momentum);
        self.island.mass_product(&self.dv, &mut self.image);
        let mut at_zero = dot(&self.dv, &self.momentum);
        let mut growth = dot(&self.dv, &self.image);
        let dw = &self.dw[1];
        for r in (0..dw.len()).filter(|r| self.island.rows.is_bilateral(*r)) {
            at_zero -= dw[r] * (self.y[r] - self.center[1][r]);
            growth -= dw[r] * self.dy[r];
        }
        let slope = |t: f64| at_zero + t * growth - self.power(t);
        let mut ends = [(0.0, first), (1.0, slope(1.0))];
        if ends[1].1 <= FLAT[1] * first.abs() {
            return 1.0;
        }
        let mut t = 1.0;
        let mut last = None;
        for _ in 0..SLOPES {
            let [(low, g_low), (high, g_high)] = ends;
            t = low - (high - low) * g_low / (g_high - g_low);
            if !(t > low && t < high) {
                break;
            }
            let g = slope(t);
            if g.abs() <= FLAT[0] * first.abs() {
                break;
            }
            let end = usize::from(g > 0.0);
            ends[end] = (t, g);
            if last == Some(end) {
                ends[1 - end].1 *= 0.5;
            }
            last = Some(end);
        }
        t
    }

    /// (Λ − Λ̂)·dw of contacts and bounded rows at w + t dw.
    fn power(&self, t: f64) -> f64 {
        let contacts = &self.island.contacts;
        let mut sum = 0.0;
        for c in (0..contacts.len()).filter(|c| contacts.bodies[*c] != [NONE; 2]) {
            let rows = contacts.rows(c);
            let mut block = [0.0; FrictionLaw::MAX_ROWS];
            self.impulse(c, t, &mut block[..rows.len()], None);
            for (row, x) in rows.zip(block) {
                sum += (x - self.center[0][row]) * self.dw[0][row];
            }
        }
        for r in 0..self.island.rows.len() {
            if !self.island.rows.is_bilateral(r) {
                sum += (self.bounded(r, t).0 - self.center[1][r]) * self.dw[1][r];
            }
        }
        sum
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
