//! One island's mixed linear complementarity problem lo ≤ x ≤ hi ⟂ w = A_ε x + b − ε c, its factor, and
//! the impulses that the strategies work on.

use std::time::Instant;

use super::factor::{Breakdown, Counters, Factorization};
use super::island::{Island, NONE};
use super::panels::TILE;

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

/// When to stop, whatever there is.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most pivots in all.
    pub budget: u32,
    /// When the time is over.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// Never.
    pub const NONE: Self = Self {
        budget: u32::MAX,
        deadline: None,
    };
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sets of free rows that were solved for.
    pub pivots: u32,
    /// Of these, those that came from Murty's rule: one row moved.
    pub single: u32,
    /// Of these, Newton steps of the coupled method.
    pub coupled_steps: u32,
    /// Largest number of tight rows.
    pub most_tight: u32,
    /// Problems with fixed friction bounds.
    pub outer_iterations: u32,
    /// Iterations of GMRES.
    pub krylov: u32,
    /// Proximal steps that take the contacts' compliance out.
    pub refinements: u32,
    /// Largest |A_ε Λ + b − ε c| over the free rows, and the violations of the others (m/s).
    pub with_compliance: f64,
    /// Time of the factorisations (s).
    pub factor_time: f64,
    /// Time of substitutions and products with A (s).
    pub solve_time: f64,
    /// What was done with factors of earlier matrices.
    pub earlier: Counters,
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

/// One island's problem with the present impulses. Keeps its memory.
pub struct Lcp {
    /// A, b and the rows' own bounds.
    pub island: Island,
    /// The factor of A_ε,FF.
    pub factor: Box<dyn Factorization>,
    /// When to stop.
    pub limits: Limits,
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

impl Lcp {
    /// An island of no rows.
    pub fn new(factor: Box<dyn Factorization>) -> Self {
        Self {
            island: Island::default(),
            factor,
            limits: Limits::NONE,
            x: Vec::new(),
            w: Vec::new(),
            center: Vec::new(),
            lo: Vec::new(),
            hi: Vec::new(),
            set: Vec::new(),
            tight: Vec::new(),
            rhs: Vec::new(),
            best: Vec::new(),
            best_error: f64::INFINITY,
            tally: Tally::default(),
            recorder: Recorder::default(),
        }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.island.n()
    }

    /// Makes room for the island; all impulses are zero, all rows free.
    pub fn reset(&mut self, limits: Limits) {
        let n = self.n();
        self.limits = limits;
        for v in [&mut self.x, &mut self.w, &mut self.center, &mut self.best] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.lo.clear();
        self.hi.clear();
        for [lo, hi] in &self.island.bounds {
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
    pub fn noise(&self) -> f64 {
        let mut largest: f64 = 0.0;
        for ((b, x), s) in self.island.b.iter().zip(&self.x).zip(&self.island.scale) {
            if *s > 0.0 {
                largest = largest.max(b.abs().max(x.abs()) / s);
            }
        }
        (NOISE * largest).max(LEAST_NOISE)
    }

    /// Puts tight rows on their bounds, and rows whose bounds are one on it.
    pub fn apply_sets(&mut self) {
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
    pub fn update_w(&mut self) {
        let island = &mut self.island;
        island.product(&self.x, &mut self.w);
        for i in 0..self.x.len() {
            self.w[i] += island.b[i] + island.epsilon[i] * (self.x[i] - self.center[i]);
        }
    }

    /// Solves for the free rows: x_F = c_F − A_ε,FF⁻¹ (A (c_F, x_T) + b)_F, which is
    /// A_ε,FF x_F = −b_F − A_FT x_T + ε c_F without its rounding errors; then w.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn solve_free(&mut self) -> Result<(), Breakdown> {
        let start = Instant::now();
        self.apply_sets();
        for i in 0..self.x.len() {
            if !self.tight[i] {
                self.x[i] = self.center[i];
            }
        }
        self.island.product(&self.x, &mut self.w);
        for i in 0..self.x.len() {
            self.rhs[i] = if self.tight[i] {
                0.0
            } else {
                -(self.w[i] + self.island.b[i])
            };
        }
        let factoring = Instant::now();
        let prepared = (factoring - start).as_secs_f64();
        self.factor.restrict(&self.island.matrix, &self.tight)?;
        let solving = Instant::now();
        self.tally.factor_time += (solving - factoring).as_secs_f64();
        self.factor.solve(&mut self.rhs);
        for i in 0..self.x.len() {
            if !self.tight[i] {
                self.x[i] += self.rhs[i];
            }
        }
        self.update_w();
        let tight = self.tight.iter().filter(|t| **t).count() as u32;
        self.tally.most_tight = self.tally.most_tight.max(tight);
        self.tally.solve_time += prepared + solving.elapsed().as_secs_f64();
        self.tally.pivots += 1;
        Ok(())
    }

    /// Whether the impulses are numbers.
    ///
    /// # Errors
    /// If they are not.
    pub fn check_finite(&self) -> Result<(), Breakdown> {
        let finite = self.x.iter().all(|x| x.is_finite());
        finite.then_some(()).ok_or(Breakdown::NotFinite)
    }

    /// How far row `i` is from where its set says (m/s); 0 where rounding could have done it.
    fn violation(&self, i: usize, noise: f64) -> f64 {
        let size = match self.set[i] {
            Set::Free => (self.lo[i] - self.x[i]).max(self.x[i] - self.hi[i]),
            _ if self.lo[i] == self.hi[i] => return 0.0,
            Set::Low => -self.w[i],
            Set::High => self.w[i],
        };
        let scale = self.island.scale[i];
        if size > noise * scale {
            size / scale
        } else {
            0.0
        }
    }

    /// All rows that must move.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn violations(&self) -> Result<Violations, Breakdown> {
        self.check_finite()?;
        let noise = self.noise();
        let mut all = Violations::default();
        for i in 0..self.x.len() {
            let error = self.violation(i, noise);
            if error > 0.0 {
                all.count += 1;
                all.last = i;
                all.error = all.error.max(error);
            }
        }
        Ok(all)
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
    pub fn exchange_all(&mut self) {
        let noise = self.noise();
        for i in 0..self.x.len() {
            if self.violation(i, noise) > 0.0 {
                self.exchange(i);
            }
        }
    }

    /// Keeps the candidate if it is the best so far.
    pub fn note(&mut self, error: f64) {
        if error < self.best_error {
            self.best_error = error;
            self.best.copy_from_slice(&self.x);
        }
        if let Some(since) = self.recorder.since {
            let pause = Instant::now();
            let mut x = self.x.clone();
            project(&self.island, &mut x);
            let time = (pause - since).as_secs_f64() - self.recorder.cost;
            self.recorder.candidates.push(Candidate { time, x });
            self.recorder.cost += pause.elapsed().as_secs_f64();
        }
    }

    /// Whether pivots or time have run out.
    pub fn is_over(&self) -> bool {
        self.tally.pivots >= self.limits.budget
            || self
                .limits
                .deadline
                .is_some_and(|end| Instant::now() >= end)
    }

    /// Brings the impulses within their bounds.
    pub fn project(&mut self) {
        project(&self.island, &mut self.x);
    }

    /// Largest |x − P(x − w)| over the rows, without the added compliance and with the bounds that the
    /// normal impulses give (m/s). w is overwritten.
    pub fn error(&mut self) -> f64 {
        let (island, x) = (&mut self.island, &self.x);
        island.product(x, &mut self.w);
        let mut error: f64 = 0.0;
        for i in (0..x.len()).filter(|i| island.scale[*i] > 0.0) {
            let moved = x[i] - self.w[i] - island.b[i];
            let [lo, hi] = island.bounds_at(i, x);
            let nearest = moved.max(lo).min(hi);
            error = error.max((x[i] - nearest).abs() / island.scale[i]);
        }
        error
    }

    /// Guesses the sets from x, brought within its bounds: what is on a bound and pushed against it is tight.
    /// Without `warm`, everything is free.
    pub fn guess_sets(&mut self, warm: bool) {
        self.project();
        for i in self.island.friction_rows() {
            [self.lo[i], self.hi[i]] = self.island.bounds_at(i, &self.x);
        }
        if !warm {
            return;
        }
        self.update_w();
        for i in 0..self.n() {
            let span = self.hi[i] - self.lo[i];
            let near = if span.is_finite() { 1e-9 * span } else { 0.0 };
            let closed = self.lo[i] == self.hi[i];
            self.set[i] = if closed || self.x[i] <= self.lo[i] + near && self.w[i] >= 0.0 {
                Set::Low
            } else if self.x[i] >= self.hi[i] - near && self.w[i] <= 0.0 {
                Set::High
            } else {
                Set::Free
            };
        }
    }

    /// Another weight of the proximal term on the rows with bounds, a share of the diagonal.
    pub fn set_proximal_weight(&mut self, weight: f64) {
        self.island.set_proximal_weight(weight);
        self.factor_anew();
    }

    /// Takes ε back to what it was.
    pub fn set_epsilon(&mut self, epsilon: &[f64]) {
        self.island.set_epsilon(epsilon);
        self.factor_anew();
    }

    fn factor_anew(&mut self) {
        self.tally.earlier.add(&self.factor.counters());
        self.factor.prepare(&self.island.matrix);
    }
}

/// The nearest impulses within the rows' own bounds and those that the normal impulses give.
pub fn project(island: &Island, x: &mut [f64]) {
    for ((x, [lo, hi]), normal) in x.iter_mut().zip(&island.bounds).zip(&island.normal_row) {
        if *normal == NONE {
            *x = x.max(*lo).min(*hi);
        }
    }
    for i in island.friction_rows() {
        let bound = island.friction_coefficient[i] * x[island.normal_row[i] as usize];
        // `clamp` panics where the impulse that gives the bound has overflowed.
        x[i] = x[i].max(-bound).min(bound);
    }
}
