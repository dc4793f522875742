//! Block principal pivoting (Júdice & Pires 1994; Lefebvre 2020, algorithm 2.1): for fixed bounds, the
//! mixed linear complementarity problem lo ≤ x ≤ hi ⟂ w = A_ε x + b − ε c.

use std::time::Instant;

use super::descend::Descent;
use super::factor::{Breakdown, Factorization, TILE};
use super::island::{Island, NONE};

/// Where a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Set {
    /// F: w = 0.
    #[default]
    Free,
    /// T_lo: x = lo, w ≥ 0.
    Low,
    /// T_hi: x = hi, w ≤ 0.
    High,
}

/// How long to pivot.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most block pivots of one problem with fixed bounds.
    pub pivots: u32,
    /// Most single pivots of one such problem.
    pub single_pivots: u32,
    /// Most projected Newton steps after those.
    pub descent_steps: u32,
    /// Block pivots that may pass without fewer violations than ever before.
    pub patience: u32,
    /// Most pivots in all.
    pub budget: u32,
    /// When the time is over.
    pub deadline: Option<Instant>,
}

/// How pivoting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No row violates anything.
    Solved,
    /// Pivots or time ran out.
    OutOfBudget,
}

/// What pivoting did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sets of free rows that were solved for.
    pub pivots: u32,
    /// Of these, those that came from Murty's rule: one row moved.
    pub single: u32,
    /// Of these, projected Newton steps.
    pub descents: u32,
    /// Largest number of tight rows.
    pub most_tight: u32,
    /// Time of the factorisations (s).
    pub factor_time: f64,
    /// Time of substitutions and products with A (s).
    pub solve_time: f64,
}

/// One candidate per pivot, for histories.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Time since the start of the solve, what recording costs left out (s).
    pub time: f64,
    /// Scaled impulses within their bounds.
    pub x: Vec<f64>,
}

/// Records candidates, if asked for.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Since when; none: nothing is recorded.
    pub since: Option<Instant>,
    /// What recording has cost (s).
    pub cost: f64,
    /// One per pivot.
    pub candidates: Vec<Candidate>,
}

/// The vectors of one island's solve. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Scaled impulses.
    pub x: Vec<f64>,
    /// Scaled w = A_ε x + b − ε c.
    pub w: Vec<f64>,
    /// c: the centre of the proximal step.
    pub center: Vec<f64>,
    /// Present bounds.
    pub lo: Vec<f64>,
    /// Present bounds.
    pub hi: Vec<f64>,
    /// Present sets.
    pub set: Vec<Set>,
    /// Whether each row is tight.
    pub tight: Vec<bool>,
    /// A right-hand side, padded.
    pub rhs: Vec<f64>,
    /// The candidate with the smallest largest violation.
    pub best: Vec<f64>,
    /// Its largest violation (m/s).
    pub best_error: f64,
    /// What was done.
    pub tally: Tally,
    /// Candidates, if asked for.
    pub recorder: Recorder,
}

/// What is wrong with a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Violations {
    /// Number of rows.
    pub count: usize,
    /// The largest (m/s).
    pub error: f64,
    /// The last row.
    pub last: usize,
}

/// Noise of w, as a share of the largest velocity that an impulse makes alone.
const NOISE: f64 = 2e-14;
/// Least noise (m/s).
const LEAST_NOISE: f64 = 1e-15;

impl Work {
    /// Makes room for an island.
    pub fn reset(&mut self, island: &Island) {
        let n = island.n();
        for v in [&mut self.x, &mut self.w, &mut self.center, &mut self.best] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.lo.clear();
        self.hi.clear();
        for [lo, hi] in &island.bounds {
            self.lo.push(*lo);
            self.hi.push(*hi);
        }
        self.set.clear();
        self.set.resize(n, Set::Free);
        self.tight.clear();
        self.tight.resize(n, false);
        self.rhs.clear();
        self.rhs.resize(n.next_multiple_of(TILE), 0.0);
        self.best_error = f64::INFINITY;
        self.tally = Tally::default();
        self.recorder = Recorder::default();
    }

    /// The violation that rounding alone can make (m/s).
    pub fn noise(&self, island: &Island) -> f64 {
        let mut largest: f64 = 0.0;
        for ((b, x), s) in island.b.iter().zip(&self.x).zip(&island.scale) {
            if *s > 0.0 {
                largest = largest.max(b.abs().max(x.abs()) / s);
            }
        }
        (NOISE * largest).max(LEAST_NOISE)
    }

    /// Puts tight rows on their bounds, and rows whose bounds are one on it.
    pub fn hold(&mut self) {
        for i in 0..self.x.len() {
            if self.lo[i] == self.hi[i] && self.set[i] == Set::Free {
                self.set[i] = Set::Low;
            }
            self.tight[i] = self.set[i] != Set::Free;
            match self.set[i] {
                Set::Free => {}
                Set::Low => self.x[i] = self.lo[i],
                Set::High => self.x[i] = self.hi[i],
            }
        }
    }

    /// w = A_ε x + b − ε c.
    pub fn update_w(&mut self, island: &mut Island) {
        island.product(&self.x, &mut self.w);
        for i in 0..self.x.len() {
            self.w[i] += island.b[i] + island.epsilon[i] * (self.x[i] - self.center[i]);
        }
    }

    /// Solves for the free rows: x_F = c_F − A_ε,FF⁻¹ (A (c_F, x_T) + b)_F, which is
    /// A_ε,FF x_F = −b_F − A_FT x_T + ε c_F without its rounding errors; then w.
    pub fn solve_free(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
    ) -> Result<(), Breakdown> {
        let start = Instant::now();
        self.hold();
        for i in 0..self.x.len() {
            if !self.tight[i] {
                self.x[i] = self.center[i];
            }
        }
        island.product(&self.x, &mut self.w);
        for i in 0..self.x.len() {
            self.rhs[i] = if self.tight[i] {
                0.0
            } else {
                -(self.w[i] + island.b[i])
            };
        }
        let factoring = Instant::now();
        let prepared = (factoring - start).as_secs_f64();
        factor.restrict(&island.matrix, &self.tight)?;
        let solving = Instant::now();
        self.tally.factor_time += (solving - factoring).as_secs_f64();
        factor.solve(&mut self.rhs);
        for i in 0..self.x.len() {
            if !self.tight[i] {
                self.x[i] += self.rhs[i];
            }
        }
        self.update_w(island);
        let tight = self.tight.iter().filter(|t| **t).count() as u32;
        self.tally.most_tight = self.tally.most_tight.max(tight);
        self.tally.solve_time += prepared + solving.elapsed().as_secs_f64();
        Ok(())
    }

    /// How far row `i` is from where its set says (m/s); 0 where rounding could have done it.
    fn violation(&self, island: &Island, i: usize, noise: f64) -> f64 {
        let size = match self.set[i] {
            Set::Free => (self.lo[i] - self.x[i]).max(self.x[i] - self.hi[i]),
            _ if self.lo[i] == self.hi[i] => return 0.0,
            Set::Low => -self.w[i],
            Set::High => self.w[i],
        };
        let scale = island.scale[i];
        if size > noise * scale {
            size / scale
        } else {
            0.0
        }
    }

    /// All rows that must move.
    pub fn violations(&self, island: &Island) -> Violations {
        let noise = self.noise(island);
        let mut all = Violations::default();
        for i in 0..self.x.len() {
            let error = self.violation(island, i, noise);
            if error > 0.0 {
                all.count += 1;
                all.last = i;
                all.error = all.error.max(error);
            }
        }
        all
    }

    /// Moves one row that violates something to its other set.
    pub fn exchange(&mut self, i: usize) {
        self.set[i] = match self.set[i] {
            Set::Low | Set::High => Set::Free,
            Set::Free if self.x[i] < self.lo[i] => Set::Low,
            Set::Free => Set::High,
        };
    }

    /// Moves every row that violates something.
    pub fn exchange_all(&mut self, island: &Island) {
        let noise = self.noise(island);
        for i in 0..self.x.len() {
            if self.violation(island, i, noise) > 0.0 {
                self.exchange(i);
            }
        }
    }

    /// Keeps the candidate if it is the best so far.
    pub fn note(&mut self, island: &Island, error: f64) {
        if error < self.best_error {
            self.best_error = error;
            self.best.copy_from_slice(&self.x);
        }
        if let Some(since) = self.recorder.since {
            let pause = Instant::now();
            let mut x = self.x.clone();
            project(island, &mut x);
            let time = (pause - since).as_secs_f64() - self.recorder.cost;
            self.recorder.candidates.push(Candidate { time, x });
            self.recorder.cost += pause.elapsed().as_secs_f64();
        }
    }

    /// Whether pivots or time have run out.
    pub fn is_over(&self, limits: &Limits) -> bool {
        self.tally.pivots >= limits.budget
            || limits.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// Pivots until no row violates anything. `solved`: x and w are already those of the present sets.
    ///
    /// All violating rows move at once. When their number has not fallen below the least so far for
    /// `patience` pivots, Murty's rule takes over, the largest violating row alone, which ends for every
    /// P-matrix; once the number has fallen, blocks move again, so that no cycle is possible. Where that
    /// takes too long, the energy decides ([`Descent`]).
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn pivot(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        descent: &mut Descent,
        limits: &Limits,
        mut solved: bool,
    ) -> Result<Outcome, Breakdown> {
        let mut least = usize::MAX;
        let mut patience = limits.patience;
        let (mut blocks, mut singles) = (0, 0);
        loop {
            if !solved {
                if self.is_over(limits) {
                    return Ok(Outcome::OutOfBudget);
                }
                self.solve_free(island, factor)?;
                self.tally.pivots += 1;
            }
            let violations = self.violations(island);
            if !self.x.iter().all(|x| x.is_finite()) {
                return Err(Breakdown::NotFinite);
            }
            if !solved {
                self.note(island, violations.error);
            }
            solved = false;
            if violations.count == 0 {
                return Ok(Outcome::Solved);
            }
            if violations.count < least {
                least = violations.count;
                patience = limits.patience;
            } else {
                patience = patience.saturating_sub(1);
            }
            if patience > 0 && blocks < limits.pivots {
                blocks += 1;
                self.exchange_all(island);
            } else if singles < limits.single_pivots {
                singles += 1;
                self.tally.single += 1;
                self.exchange(violations.last);
            } else {
                return descent.run(island, factor, self, limits);
            }
        }
    }
}

/// The nearest impulses within the rows' own bounds and those that the normal impulses give.
pub fn project(island: &Island, x: &mut [f64]) {
    for ((x, [lo, hi]), normal) in x.iter_mut().zip(&island.bounds).zip(&island.normal) {
        if *normal == NONE {
            *x = x.max(*lo).min(*hi);
        }
    }
    for i in 0..x.len() {
        if island.normal[i] != NONE {
            let bound = island.kappa[i] * x[island.normal[i] as usize];
            x[i] = x[i].clamp(-bound, bound);
        }
    }
}
