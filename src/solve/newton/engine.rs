//! The outer loop on one island: proximal points (Rockafellar 1976) with a penalty that follows the progress.
//!
//! The problem is Λ ∈ K ⟂ w + σ e_N ∈ K* per contact (De Saxcé & Feng 1998), K being the law's cone and σ the
//! support function of its friction set at −w_T, μ‖w_T‖ for the disc; and an interval per general row. From impulses
//! Λ̂ the next ones are those of Λ = P_K(Λ̂ − ρ (w + σ e_N)), which [`super::inner`] finds. The penalty is ρ = α/A_cc:
//! the larger α, the nearer is a point to the solution, and the harder to find.

use std::time::Instant;

use super::island::Island;
use super::system::System;
use crate::problem::FrictionLaw;
use crate::problem::law::Law;
use crate::solve::gmres::Gmres;
use crate::solve::sparse::Breakdown;

/// By how much α grows from point to point, and after points that led nowhere at the least (-).
const GROWTH: f64 = 10.0;
const SLOWEST: f64 = 1.5;
/// What rounding may add to the residual, as a share of the tolerance; it limits α (-). The rounding of w, times the
/// penalty, is in the impulses.
const ROUNDING_SHARE: f64 = 0.02;
/// Rounding of a velocity, as a share of the largest (-).
const ROUNDING: f64 = 2e-16;
/// 1/ρ of a bilateral row over its A_rr (-): it only keeps redundant rows apart, and is taken back out step by step.
const BILATERAL: f64 = 1e-10;
/// By how much ρ of a bounded row is larger than that of contacts (-): motors carry what hangs on them.
const BOUNDED: f64 = 100.0;
/// The balance that a point is found to, as a share of the residual before it (-).
const ACCURACY: f64 = 1e-3;
/// A residual that has not fallen to this share counts as no progress (-).
const PROGRESS: f64 = 0.7;
/// Points without progress before it gives up, and points with σ inside that lead nowhere before one with σ held.
const PATIENCE: u32 = 24;
const FAILURES: u32 = 3;
/// How far α is raised beyond its limit for single points at most: impulses that differ by prestress alone need a
/// long way at no accuracy, and get back to it afterwards (-).
const MOST_BOOST: f64 = 1e6;
/// A residual this many times the best one is turned back from (-).
const WORSE: f64 = 3.0;
/// Starts with a residual below this share of the largest free velocity are trusted to slide as they say (-).
const WARM: f64 = 0.1;
/// The radius in which the kink of σ at rest is rounded, as a share of the residual (-).
const ROUND: f64 = 0.03;
/// Most steps of a point with σ inside, and with σ held; most of a point altogether for α to grow after it.
const STEPS: [usize; 2] = [12, 60];
const EASY: usize = 20;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The residual that is asked for (m/s).
    pub tolerance: f64,
    /// Most Newton steps.
    pub steps: usize,
    /// When time is over.
    pub deadline: Option<Instant>,
    /// Whether to keep every point.
    pub history: bool,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Proximal points.
    pub points: usize,
    /// Newton steps.
    pub steps: usize,
    /// Factorisations.
    pub factors: usize,
    /// Solves with a factor.
    pub solves: usize,
}

/// A point on the way, for histories.
#[derive(Clone, Debug)]
pub struct Point {
    /// Impulses of contacts and of general rows (N s).
    pub impulses: [Vec<f64>; 2],
    /// Newton steps so far.
    pub steps: usize,
    /// Time so far (s).
    pub time: f64,
}

/// One island's solver. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    pub island: Island,
    pub system: System,
    pub tally: Tally,
    pub points: Vec<Point>,
    /// What recording took (s).
    pub recording: f64,
    /// Impulses of the contacts' rows and of the general rows.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// u − u_free.
    pub(super) v: Vec<f64>,
    /// Λ̂.
    pub(super) center: [Vec<f64>; 2],
    /// σ of each contact, where it is held.
    pub(super) shift: Vec<f64>,
    /// Whether σ follows the velocities.
    pub(super) is_coupled: bool,
    /// The radius in which σ is rounded (m/s).
    pub(super) rounding: f64,
    /// 1/ρ of each contact and each general row (1/kg).
    pub(super) inverse_rho: [Vec<f64>; 2],
    /// J u + bias of contacts and general rows.
    pub(super) w: [Vec<f64>; 2],
    /// A step of v and of y, and what it does to w.
    pub(super) dv: Vec<f64>,
    pub(super) dy: Vec<f64>,
    pub(super) dw: [Vec<f64>; 2],
    pub(super) momentum: Vec<f64>,
    pub(super) image: Vec<f64>,
    /// v and y to go back to.
    pub(super) before: [Vec<f64>; 2],
    /// The step as it was made.
    pub(super) made: [Vec<f64>; 2],
    pub(super) rest: Vec<f64>,
    /// What the matrix was factored for, and what it is now.
    pub(super) factored: Vec<f64>,
    pub(super) slopes: Vec<f64>,
    pub(super) sliding: super::sliding::Sliding,
    pub(super) gmres: Gmres,
    best: [Vec<f64>; 2],
}

impl Engine {
    /// Makes room for the island, with no impulses.
    pub fn prepare(&mut self) {
        self.system.refill(&self.island);
        let (contacts, rows) = (&self.island.contacts, &self.island.rows);
        let room = |n: usize, vectors: &mut [&mut Vec<f64>]| {
            for v in vectors {
                v.clear();
                v.resize(n, 0.0);
            }
        };
        room(
            self.island.velocities(),
            &mut [
                &mut self.v,
                &mut self.dv,
                &mut self.momentum,
                &mut self.image,
            ],
        );
        let [x, y] = &mut self.center;
        let [wx, wy] = &mut self.w;
        let [dx, dy] = &mut self.dw;
        room(contacts.free.len(), &mut [&mut self.x, x, wx, dx]);
        room(rows.len(), &mut [&mut self.y, y, wy, dy, &mut self.dy]);
        let [rho_x, rho_y] = &mut self.inverse_rho;
        room(contacts.len(), &mut [&mut self.shift, rho_x]);
        room(rows.len(), &mut [rho_y]);
        self.tally = Tally::default();
        self.points.clear();
        self.recording = 0.0;
        self.factored.clear();
    }

    /// Goes on from `x` and `y` until the residual is at most the tolerance, or the limits are reached. Leaves the best
    /// impulses there and returns their residual (m/s).
    pub fn solve(&mut self, limits: &Limits) -> f64 {
        let begin = Instant::now();
        let mut error = self.measure();
        let start = error;
        let mut best = error;
        self.best[0].clone_from(&self.x);
        self.best[1].clone_from(&self.y);
        self.v.clone_from(&self.image);
        let speed = self.island.speed();
        let most = (ROUNDING_SHARE * limits.tolerance / (ROUNDING * speed)).max(1.0);
        let is_warm = start < WARM * speed;
        let mut alpha = if is_warm {
            (speed / start).min(most)
        } else {
            1.0
        };
        let mut boost = 1.0;
        let mut growth = GROWTH;
        let [mut stalled, mut failures] = [0, 0];
        while best > limits.tolerance && stalled < PATIENCE && !self.is_over(limits) {
            self.tally.points += 1;
            let before = self.tally.steps;
            self.begin_point(alpha, error);
            // Where σ inside leads nowhere with any penalty, σ held may.
            let follows = failures < FAILURES && (is_warm || self.tally.points > 1);
            let noise = 10.0 * ROUNDING * speed * alpha;
            let target = (ACCURACY * error).max(0.1 * limits.tolerance).max(noise);
            let Ok(rest) = self.find_point(target, follows, limits) else {
                break;
            };
            error = self.measure();
            let falls = error < PROGRESS * best;
            stalled = if falls { 0 } else { stalled + 1 };
            if error < best {
                best = error;
                self.best[0].clone_from(&self.x);
                self.best[1].clone_from(&self.y);
            }
            if limits.history {
                self.record(begin);
            }
            let fails = follows && !self.is_coupled;
            failures = if fails { failures + 1 } else { 0 };
            if alpha > most {
                alpha = most;
            } else if !fails && stalled > 0 && alpha == most && error < 10.0 * best {
                boost = (boost * GROWTH).min(MOST_BOOST);
                alpha = most * boost;
            } else if fails || error > WORSE * best || !error.is_finite() {
                self.x.clone_from(&self.best[0]);
                self.y.clone_from(&self.best[1]);
                error = self.measure();
                self.v.clone_from(&self.image);
                alpha = (alpha / (growth * growth)).max(1.0);
                growth = growth.sqrt().max(SLOWEST);
            } else if rest <= target && self.tally.steps - before < EASY {
                if self.is_coupled {
                    growth = (growth * growth).min(GROWTH);
                }
                alpha = (alpha * growth).min(most);
            }
        }
        self.x.clone_from(&self.best[0]);
        self.y.clone_from(&self.best[1]);
        best
    }

    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.tally.steps >= limits.steps || limits.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Sets Λ̂, ρ and what σ is held at.
    fn begin_point(&mut self, alpha: f64, error: f64) {
        self.rounding = ROUND * error;
        self.center[0].clone_from(&self.x);
        self.center[1].clone_from(&self.y);
        let contacts = &self.island.contacts;
        for c in 0..contacts.len() {
            let rows = contacts.rows(c);
            self.shift[c] = self.support(c, &self.w[0][rows.start + 1..rows.end]);
            let compliance = contacts.compliance[rows].iter().copied();
            self.inverse_rho[0][c] = compliance.fold(0.0, f64::max) + contacts.scale[c] / alpha;
        }
        let rows = &self.island.rows;
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
    /// impulses. Returns what is left of the balance (m/s).
    fn find_point(
        &mut self,
        target: f64,
        follows: bool,
        limits: &Limits,
    ) -> Result<f64, Breakdown> {
        let mut rest = f64::INFINITY;
        self.is_coupled = follows;
        if follows {
            self.before[0].clone_from(&self.v);
            self.before[1].clone_from(&self.y);
            rest = self.newton(target, STEPS[0], limits)?;
            if rest > target || rest.is_nan() {
                self.v.clone_from(&self.before[0]);
                self.y.clone_from(&self.before[1]);
            }
        }
        if rest > target || rest.is_nan() {
            self.is_coupled = false;
            rest = self.newton(target, STEPS[1], limits)?;
        }
        for c in 0..self.island.contacts.len() {
            let mut block = [0.0; FrictionLaw::MAX_ROWS];
            let rows = self.island.contacts.rows(c);
            self.impulse(c, 0.0, &mut block[..rows.len()], None);
            self.x[rows.clone()].copy_from_slice(&block[..rows.len()]);
        }
        Ok(rest)
    }

    fn record(&mut self, begin: Instant) {
        let now = Instant::now();
        self.points.push(Point {
            impulses: self.best.clone(),
            steps: self.tally.steps,
            time: (now - begin).as_secs_f64() - self.recording,
        });
        self.recording += now.elapsed().as_secs_f64();
    }

    /// v = M⁻¹ Jᵀ Λ into `image`, and w from it. Returns the residual of the problem, as
    /// [`crate::problem::residual`] defines it (m/s).
    fn measure(&mut self) -> f64 {
        self.momentum.fill(0.0);
        let island = &self.island;
        island.contacts.add_transposed(&self.x, &mut self.momentum);
        island.rows.add_transposed(&self.y, &mut self.momentum);
        island.inverse_product(&self.momentum, &mut self.image);
        self.find_w();
        let mut worst: f64 = 0.0;
        let mut note = |error: f64| {
            if error > worst || error.is_nan() {
                worst = error;
            }
        };
        for c in 0..self.island.contacts.len() {
            self.contact_errors(c).into_iter().for_each(&mut note);
        }
        let rows = &self.island.rows;
        for r in 0..rows.len() {
            let w = self.w[1][r] + rows.compliance[r] * self.y[r];
            let rho = 1.0 / rows.diagonal[r];
            let [lo, hi] = rows.bounds[r];
            let next = (self.y[r] - rho * w).max(lo).min(hi);
            note((next - self.y[r]).abs() / rho);
        }
        worst
    }

    /// The errors of a contact's normal row and friction block (m/s).
    fn contact_errors(&self, c: usize) -> [f64; 2] {
        let contacts = &self.island.contacts;
        let rows = contacts.rows(c);
        let diagonal = &contacts.diagonal[rows.clone()];
        let x = &self.x[rows.clone()];
        let rho_t = 1.0 / diagonal[1..].iter().copied().fold(0.0, f64::max);
        let rho_n = 1.0 / diagonal[0];
        let mut next = [0.0; FrictionLaw::MAX_ROWS];
        let next = &mut next[..rows.len()];
        for (k, row) in rows.enumerate() {
            let w = self.w[0][row] + contacts.compliance[row] * x[k];
            next[k] = x[k] - if k == 0 { rho_n } else { rho_t } * w;
        }
        next[0] = next[0].max(0.0);
        let normal = next[0];
        contacts.friction[c].project(&mut next[1..], normal);
        let pairs = next[1..].iter().zip(&x[1..]);
        let square: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
        [(next[0] - x[0]).abs() / rho_n, square.sqrt() / rho_t]
    }

    /// J u + bias for the velocities in `image`.
    pub(super) fn find_w(&mut self) {
        let (contacts, rows) = (&self.island.contacts, &self.island.rows);
        contacts.product(&self.image, &mut self.w[0]);
        rows.product(&self.image, &mut self.w[1]);
        for (w, free) in self.w.iter_mut().zip([&contacts.free, &rows.free]) {
            for (w, free) in w.iter_mut().zip(free) {
                *w += free;
            }
        }
    }

    /// σ of a sliding velocity without compliance (m/s), rounded at rest: √(σ² + r²) − r.
    pub(super) fn support(&self, c: usize, w: &[f64]) -> f64 {
        let contacts = &self.island.contacts;
        let friction = &contacts.friction[c];
        let first = contacts.rows(c).start + 1;
        let mut sliding = [0.0; FrictionLaw::MAX_ROWS];
        for (k, w) in w.iter().enumerate() {
            sliding[k] = w + contacts.compliance[first + k] * self.x[first + k];
        }
        let sigma = friction.law.support(&sliding[..w.len()], friction.mu);
        sigma.hypot(self.rounding) - self.rounding
    }
}
