//! Newton's method on the laws themselves, Λ = P_K(Λ − ρ (w + σ e_N)) with ρ = 1/A_cc, for starts that are near.
//!
//! With F = Λ − P, D the derivative of P, and a small ε where contacts are redundant, a step is that of
//! (1 + ε − D + ρ D C) ΔΛ = −F − ρ D ΔJu. So ΔΛ = −G − K ΔJu with K = (1 + ε − D + ρ D C)⁻¹ ρ D, which is symmetric, and
//! K takes the place of ρ D in the matrix of [`super::system`]. Nothing makes such steps safe: they go on while
//! the residual falls.

use super::cone;
use super::engine::{BILATERAL, Engine, Limits};
use super::inner::PER_ROW;
use super::island::add;
use crate::problem::law::Slope;
use crate::problem::{Friction, FrictionLaw};
use crate::solve::linalg::small::eliminate;
use crate::solve::linalg::sparse::Breakdown;

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

/// What a contact's impulse follows the velocities by.
#[derive(Clone, Debug, Default)]
pub struct Responses {
    /// K of each contact.
    k: Vec<Slope>,
    /// G, row by row.
    g: Vec<f64>,
}

/// A problem, with or without bodies, as Newton's method steps through it.
pub trait Steps {
    /// The largest velocity without impulses (m/s).
    fn speed(&self) -> f64;
    /// Finds the step from Λ and w, whose residual is `error` (m/s), with ε.
    fn find(&mut self, epsilon: f64, error: f64) -> Result<(), Breakdown>;
    /// Λ by `t` of the step, back in its sets.
    fn move_on(&mut self, t: f64);
    /// w at Λ, and the residual (m/s).
    fn measure(&mut self) -> f64;
    /// Keeps Λ as that to go back to.
    fn keep(&mut self, error: f64);
    /// Goes back to what was kept last, and to its w; returns its residual (m/s).
    fn go_back(&mut self) -> f64;
    /// Counts a step, for histories too.
    fn end_step(&mut self, limits: &Limits);
    /// Whether a limit is reached.
    fn is_over(&self, limits: &Limits) -> bool;
}

/// Steps from Λ, whose residual is `start`, as long as they lead nearer. Leaves and keeps the best one, and returns
/// its residual (m/s).
pub fn semismooth_newton(
    problem: &mut impl Steps,
    start: f64,
    limits: &Limits,
) -> Result<f64, Breakdown> {
    let [mut best, mut now] = [start; 2];
    let mut failures = 0;
    let mut epsilon = (START * start / problem.speed()).clamp(LEAST, 1.0);
    while best > limits.aim && failures < FAILURES && !problem.is_over(limits) {
        problem.find(epsilon, now)?;
        let mut t = 1.0;
        let error = loop {
            problem.move_on(t);
            let error = problem.measure();
            if error < (1.0 - FALL * t) * best || t < SHORTEST {
                break error;
            }
            t *= SHORTER;
        };
        problem.end_step(limits);
        if error < PROGRESS * best {
            failures = 0;
            epsilon = (DOWN * epsilon).max(LEAST);
        } else {
            failures += 1;
        }
        if error < best {
            [best, now] = [error; 2];
            problem.keep(error);
        } else {
            now = problem.go_back();
            epsilon = (UP * epsilon).min(MOST);
        }
    }
    Ok(best)
}

/// A contact at which its law is linearised.
pub(super) struct Contact<'a> {
    pub friction: &'a Friction,
    /// Λ, w with σ in its first row, and C, row by row.
    pub x: &'a [f64],
    pub w: [f64; N],
    pub compliance: &'a [f64],
    pub rho: f64,
    pub epsilon: f64,
}

impl Contact<'_> {
    /// K and G.
    pub fn respond(&self) -> (Slope, [f64; N]) {
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
                let compliance = self.rho * self.compliance[j];
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

impl Steps for Engine {
    fn speed(&self) -> f64 {
        self.island.speed()
    }

    fn find(&mut self, epsilon: f64, _: f64) -> Result<(), Breakdown> {
        self.tally.steps += 1;
        self.epsilon = epsilon;
        self.linearise();
        self.find_step()?;
        self.find_direction();
        Ok(())
    }

    fn move_on(&mut self, t: f64) {
        for c in 0..self.island.contacts.len() {
            let contacts = &self.island.contacts;
            let rows = contacts.rows(c);
            let n = rows.len();
            let mut next = [0.0; N];
            for (next, row) in next.iter_mut().zip(rows.clone()) {
                *next = self.before[0][row] + t * self.made[0][row];
            }
            cone::project(&contacts.friction[c], &mut next[..n], None);
            self.x[rows].copy_from_slice(&next[..n]);
        }
        for r in 0..self.island.rows.len() {
            let [lo, hi] = self.island.rows.bounds[r];
            self.y[r] = (self.before[1][r] + t * self.dy[r]).max(lo).min(hi);
        }
    }

    fn measure(&mut self) -> f64 {
        Self::measure(self)
    }

    fn keep(&mut self, error: f64) {
        Self::keep(self, error);
    }

    fn go_back(&mut self) -> f64 {
        Self::go_back(self)
    }

    fn end_step(&mut self, limits: &Limits) {
        if limits.history {
            self.record();
        }
    }

    fn is_over(&self, limits: &Limits) -> bool {
        Self::is_over(self, limits)
    }
}

impl Engine {
    /// [`semismooth_newton`] on the island.
    pub fn semismooth_newton(&mut self, error: f64, limits: &Limits) -> Result<f64, Breakdown> {
        self.is_coupled = true;
        semismooth_newton(self, error, limits)
    }

    /// The matrix at Λ and w, and what is left over in `dv` and `dy`.
    fn linearise(&mut self) {
        self.tally.work += PER_ROW[0] * self.w[0].len() as f64;
        self.system.begin();
        self.slopes.clear();
        self.sliding.clear();
        let mut responses = std::mem::take(&mut self.responses);
        responses.k.clear();
        responses.g.clear();
        self.momentum.fill(0.0);
        for c in 0..self.island.contacts.len() {
            let rows = self.island.contacts.rows(c);
            let n = rows.len();
            let (k, g) = self.respond_to(c);
            self.slopes.extend(k[..n].iter().flat_map(|row| &row[..n]));
            if k[0][0] > 0.0 {
                self.system.add_contact(&self.island, c, &k);
                self.note_sliding(c, &k);
            }
            responses.k.push(k);
            responses.g.extend_from_slice(&g[..n]);
        }
        self.made[1].resize(self.island.rows.len(), 0.0);
        for r in 0..self.island.rows.len() {
            self.linearise_row(r);
        }
        self.island
            .contacts
            .add_transposed(&responses.g, &mut self.momentum);
        for (dv, p) in self.dv.iter_mut().zip(&self.momentum) {
            *dv = -p;
        }
        self.responses = responses;
    }

    /// K and G of contact `c`.
    fn respond_to(&self, c: usize) -> (Slope, [f64; N]) {
        let contacts = &self.island.contacts;
        let rows = contacts.rows(c);
        let mut w = [0.0; N];
        for (w, row) in w.iter_mut().zip(rows.clone()) {
            *w = self.w[0][row] + contacts.compliance[row] * self.x[row];
        }
        let sigma = self.support(c, &self.w[0][rows.start + 1..rows.end]);
        w[0] += sigma;
        Contact {
            friction: &contacts.friction[c],
            x: &self.x[rows.clone()],
            w,
            compliance: &contacts.compliance[rows],
            rho: 1.0 / contacts.scale[c],
            epsilon: self.epsilon,
        }
        .respond()
    }

    /// Takes row `r` into the matrix, or notes in `made` by how much its impulse goes to its bound.
    fn linearise_row(&mut self, r: usize) {
        let rows = &self.island.rows;
        let w = self.w[1][r] + rows.compliance[r] * self.y[r];
        let mut e = Some(rows.compliance[r] + BILATERAL * rows.diagonal[r]);
        let mut jump = 0.0;
        self.dy[r] = -w;
        if !rows.is_bilateral(r) {
            let [lo, hi] = rows.bounds[r];
            let z = self.y[r] - w / rows.diagonal[r];
            if z > lo && z < hi {
                e = Some(rows.compliance[r] + self.epsilon * rows.diagonal[r]);
            } else {
                e = None;
                self.dy[r] = 0.0;
                jump = z.max(lo).min(hi) - self.y[r];
                for (body, j) in rows.entries(r) {
                    add(body, &mut self.momentum, j, -jump);
                }
            }
        }
        self.system.set_row(&self.island, r, e);
        self.slopes.push(e.unwrap_or(0.0));
        self.made[1][r] = jump;
    }

    /// The step of Λ that goes with that in `dv` and `dy`.
    fn find_direction(&mut self) {
        let responses = std::mem::take(&mut self.responses);
        self.before[0].clone_from(&self.x);
        self.before[1].clone_from(&self.y);
        self.made[0].resize(self.x.len(), 0.0);
        for (dy, jump) in self.dy.iter_mut().zip(&self.made[1]) {
            *dy += jump;
        }
        for c in 0..self.island.contacts.len() {
            let rows = self.island.contacts.rows(c);
            let n = rows.len();
            let mut dw = [0.0; N];
            dw[..n].copy_from_slice(&self.dw[0][rows.clone()]);
            dw[0] += self.support_step(c);
            for (i, row) in rows.clone().enumerate() {
                let pull: f64 = responses.k[c][i].iter().zip(&dw).map(|(k, w)| k * w).sum();
                self.made[0][row] = -responses.g[row] - pull;
            }
        }
        self.responses = responses;
    }

    /// ∇σᵀ ΔJu of contact `c`.
    fn support_step(&self, c: usize) -> f64 {
        let Some(gradient) = self.support_gradient(c) else {
            return 0.0;
        };
        let dw = &self.dw[0][self.island.contacts.rows(c)];
        gradient.iter().zip(dw).map(|(g, w)| g * w).sum()
    }
}
