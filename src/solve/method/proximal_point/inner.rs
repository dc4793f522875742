//! One proximal point: M v = Jᵀ (Λ(v) − Λ̂), by Newton's method, whose matrix is that of [`System`](crate::solve::island::system).
//!
//! v is what velocities are from those of Λ̂, where w is known in twice the digits: so rounding of w, which the penalty
//! multiplies, is that of a small difference.
//!
//! With σ held the left side minus the right is the gradient of a convex function of v with a continuous gradient, so
//! that a line search makes every step safe. With σ inside it is no gradient, and a step must make it smaller.

use super::super::{Limits, State};
use super::ProximalPoint;
use crate::linalg::supernodal::Breakdown;
use crate::problem::FrictionLaw;
use crate::problem::law::Slope;
use crate::solve::island::bodies::{Bodies, WORK_PER_SYSTEM_ROW};
use crate::solve::island::packed::NONE;
use crate::solve::island::{Tally, cone};

/// Steps that do not halve the rest before it gives up, with σ inside and with σ held. Held, the rest may grow on
/// the way down.
const PATIENCE: [u32; 2] = [3, 40];
/// A step is shortened as long as the rest does not fall to this share (-), but not below the least length.
const FALL: f64 = 0.9;
const LEAST: f64 = 0.1;
/// The slope along a step that a line search ends at, as a share of the slope where it begins (-); the full step is
/// taken where it is no steeper than the second one.
const FLAT: [f64; 2] = [0.1, 0.5];
/// Multiplications of a line search, per row of a contact (-).
const SEARCH_PER_ROW: f64 = 60.0;
/// Most slopes of a line search.
const SLOPES: usize = 20;

impl ProximalPoint {
    /// Newton's method from `v` and the general rows' impulses, until what is left of the balance is at most `target`
    /// (m/s), or at most `enough` and a step does not halve it. Returns that.
    pub(super) fn newton(
        &mut self,
        bodies: &mut Bodies,
        state: &mut State,
        [target, enough]: [f64; 2],
        most: usize,
        limits: &Limits,
    ) -> Result<f64, Breakdown> {
        let patience = PATIENCE[usize::from(!self.follows)];
        let mut left = patience;
        let mut rest = self.balance(bodies, state);
        let mut least = rest;
        for _ in 0..most {
            if rest <= target || !rest.is_finite() || left == 0 || state.is_over(limits) {
                break;
            }
            state.tally.steps += 1;
            let bilateral = largest(&bodies.dy);
            self.rest.clone_from(&bodies.dv);
            bodies.find_step(self.follows, &mut state.tally)?;
            let mut t = 1.0;
            if !self.follows && bilateral <= target {
                let slope = -dot(&self.rest, &bodies.dv);
                if slope >= 0.0 {
                    break;
                }
                t = self.line_search(bodies, &state.x, slope, &mut state.tally);
            }
            let before = rest;
            self.made[0].clone_from(&bodies.dv);
            self.made[1].clone_from(&bodies.dy);
            self.advance(bodies, state, t);
            rest = self.balance(bodies, state);
            let hardly_falls = |rest: f64| rest >= FALL * before || rest.is_nan();
            while self.follows && bilateral <= target && hardly_falls(rest) && t > LEAST {
                self.advance(bodies, state, -0.5 * t);
                t *= 0.5;
                rest = self.balance(bodies, state);
            }
            state.record(limits);
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

    /// v and the general rows' impulses by `t` of the step that was made.
    fn advance(&mut self, bodies: &Bodies, state: &mut State, t: f64) {
        let rows = &mut state.x[bodies.island.contact_rows()..];
        for (x, d) in [&mut self.v[..], rows].into_iter().zip(&self.made) {
            for (x, d) in x.iter_mut().zip(d) {
                *x += t * d;
            }
        }
    }

    /// Everything at v: w, the impulses, the matrix, and what is left over: momenta in `dv`, velocities of bilateral rows
    /// in `dy`. Returns the largest velocity that is left over (m/s).
    fn balance(&mut self, bodies: &mut Bodies, state: &mut State) -> f64 {
        state.tally.work += WORK_PER_SYSTEM_ROW * bodies.island.contact_rows() as f64;
        bodies.island.product(&self.v, &mut self.w);
        for (w, at_center) in self.w.iter_mut().zip(&self.at_center) {
            *w += at_center;
        }
        bodies.dw.fill(0.0);
        bodies.begin_matrix();
        self.take_contacts(bodies, &mut state.x);
        self.take_rows(bodies, &mut state.x);
        self.change.clear();
        let pairs = state.x.iter().zip(&self.center);
        self.change.extend(pairs.map(|(now, center)| now - center));
        let island = &bodies.island;
        bodies.momentum.fill(0.0);
        island.add_transposed(&self.change, &mut bodies.momentum);
        island.mass_product(&self.v, &mut bodies.dv);
        for (dv, p) in bodies.dv.iter_mut().zip(&bodies.momentum) {
            *dv = p - *dv;
        }
        island.inverse_product(&bodies.dv, &mut self.image);
        let mut worst = largest(&bodies.dy);
        for v in &self.image {
            if v.abs() > worst || v.is_nan() {
                worst = v.abs();
            }
        }
        worst
    }

    /// The contacts' impulses, and their part of the matrix.
    fn take_contacts(&self, bodies: &mut Bodies, x: &mut [f64]) {
        let mut slope: Slope = [[0.0; FrictionLaw::MAX_ROWS]; FrictionLaw::MAX_ROWS];
        for c in 0..bodies.contacts() {
            let rows = bodies.island.contacts.rows(c);
            let n = rows.len();
            let mut impulse = [0.0; FrictionLaw::MAX_ROWS];
            self.impulse(bodies, x, c, 0.0, &mut impulse[..n], Some(&mut slope));
            if slope[0][0] > 0.0 {
                let rho = 1.0 / self.inverse_rho[c];
                for row in &mut slope[..n] {
                    for s in &mut row[..n] {
                        *s *= rho;
                    }
                }
                bodies.system.add_contact(&bodies.island, c, &slope);
                if self.follows {
                    let w = self.with_compliance(bodies, x, c);
                    let gradient = bodies.island.blocks[c].support_gradient(&w[..n]);
                    bodies.sliding.note(c, n, &slope, gradient.as_ref());
                }
            }
            x[rows].copy_from_slice(&impulse[..n]);
        }
    }

    /// J u + b + C Λ of contact `c`.
    fn with_compliance(
        &self,
        bodies: &Bodies,
        x: &[f64],
        c: usize,
    ) -> [f64; FrictionLaw::MAX_ROWS] {
        let mut w = [0.0; FrictionLaw::MAX_ROWS];
        for (w, row) in w.iter_mut().zip(bodies.island.contacts.rows(c)) {
            *w = self.w[row] + bodies.island.compliance[row] * x[row];
        }
        w
    }

    /// The general rows' impulses and what is left of them, and their part of the matrix.
    fn take_rows(&self, bodies: &mut Bodies, x: &mut [f64]) {
        let first = bodies.island.contact_rows();
        for r in 0..bodies.island.rows.len() {
            let (block, row) = (bodies.island.row(r), first + r);
            let e = self.inverse_rho[bodies.contacts() + r];
            let is_in = if block.is_bilateral() {
                let compliance = bodies.island.compliance[row];
                bodies.dy[r] = -(self.w[row] + compliance * x[row]);
                true
            } else {
                let (y, is_inside) = self.bounded(bodies, r, 0.0);
                x[row] = y;
                bodies.dy[r] = 0.0;
                is_inside
            };
            bodies.set_row(r, is_in.then_some(e));
        }
    }

    /// Λ of contact `c` at w + t dw, and its derivative by −w/(1/ρ) where it is asked for. With compliance C the point is
    /// that of Λ = P(ρ ((1/ρ − C) Λ̂ − w − σ e_N)), where 1/ρ contains C; σ is that of the compliant velocity at `x`.
    pub(super) fn impulse(
        &self,
        bodies: &Bodies,
        x: &[f64],
        c: usize,
        t: f64,
        out: &mut [f64],
        slope: Option<&mut Slope>,
    ) {
        let island = &bodies.island;
        let (block, e) = (&island.blocks[c], self.inverse_rho[c]);
        let rows = block.span();
        let mut w = [0.0; FrictionLaw::MAX_ROWS];
        let w = &mut w[..rows.len()];
        for (w, row) in w.iter_mut().zip(rows.clone()) {
            *w = self.w[row] + t * bodies.dw[row];
        }
        w[0] += if self.follows {
            let mut compliant = [0.0; FrictionLaw::MAX_ROWS];
            for ((out, w), row) in compliant.iter_mut().zip(&*w).zip(rows.clone()) {
                *out = w + island.compliance[row] * x[row];
            }
            block.support(&compliant[..rows.len()])
        } else {
            self.shift[c]
        };
        for ((out, w), row) in out.iter_mut().zip(w).zip(rows) {
            *out = ((e - island.compliance[row]) * self.center[row] - *w) / e;
        }
        if let Some(friction) = block.friction() {
            cone::project(friction, out, slope);
        }
    }

    /// Impulse of bounded row `r` at w + t dw, and whether it is within its bounds.
    fn bounded(&self, bodies: &Bodies, r: usize, t: f64) -> (f64, bool) {
        let island = &bodies.island;
        let (block, e) = (island.row(r), self.inverse_rho[bodies.contacts() + r]);
        let row = block.first;
        let w = self.w[row] + t * bodies.dw[row];
        let z = ((e - island.compliance[row]) * self.center[row] - w) / e;
        let [lo, hi] = block.bounds();
        (z.max(lo).min(hi), z > lo && z < hi)
    }

    /// How long a step is at whose end the convex function's slope is next to zero, by false position (Illinois): the
    /// slope grows along the step from the negative `first`.
    fn line_search(
        &mut self,
        bodies: &mut Bodies,
        x: &[f64],
        first: f64,
        tally: &mut Tally,
    ) -> f64 {
        let contact_rows = bodies.island.contact_rows();
        tally.work += SEARCH_PER_ROW * contact_rows as f64;
        bodies.island.mass_product(&self.v, &mut bodies.momentum);
        bodies.island.mass_product(&bodies.dv, &mut self.image);
        let mut at_zero = dot(&bodies.dv, &bodies.momentum);
        let mut growth = dot(&bodies.dv, &self.image);
        for (r, dy) in bodies.dy.iter().enumerate() {
            let row = contact_rows + r;
            if bodies.island.row(r).is_bilateral() {
                at_zero -= bodies.dw[row] * (x[row] - self.center[row]);
                growth -= bodies.dw[row] * dy;
            }
        }
        let slope = |t: f64| at_zero + t * growth - self.power(bodies, x, t);
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
    fn power(&self, bodies: &Bodies, x: &[f64], t: f64) -> f64 {
        let island = &bodies.island;
        let contacts = &island.contacts;
        let mut sum = 0.0;
        for c in (0..contacts.len()).filter(|c| contacts.bodies[*c] != [NONE; 2]) {
            let rows = contacts.rows(c);
            let mut block = [0.0; FrictionLaw::MAX_ROWS];
            self.impulse(bodies, x, c, t, &mut block[..rows.len()], None);
            for (row, x) in rows.zip(block) {
                sum += (x - self.center[row]) * bodies.dw[row];
            }
        }
        for r in (0..island.rows.len()).filter(|r| !island.row(*r).is_bilateral()) {
            let row = island.row(r).first;
            sum += (self.bounded(bodies, r, t).0 - self.center[row]) * bodies.dw[row];
        }
        sum
    }
}

/// The largest velocity that a bilateral row is left with (m/s).
fn largest(dy: &[f64]) -> f64 {
    dy.iter().fold(0.0, |a: f64, b| a.max(b.abs()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
