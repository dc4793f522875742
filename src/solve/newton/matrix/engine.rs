//! One island without bodies: its residual, and the steps of Newton's method on the laws themselves, as
//! [`local`](super::super::local) has them.

use std::time::Instant;

use super::super::cone;
use super::super::engine::{BILATERAL, Limits, Tally};
use super::super::local::{Contact, Steps, semismooth_newton};
use super::ACCEPTED;
use super::blocks::{Block, Blocks, ROWS};
use super::system::System;
use crate::problem::FrictionLaw;
use crate::problem::law::Law;
use crate::solve::admm::{self, rows::Rows};
use crate::solve::linalg::sparse::Breakdown;

const N: usize = FrictionLaw::MAX_ROWS;
/// The radius in which the kink of σ at rest is rounded, as a share of the residual (-). local_problem_test takes 27
/// million multiplications with it and more than 30 without; islands with bodies take fewer without.
const ROUND: f64 = 0.03;

/// Where a step or a round of sweeps led, for histories.
pub struct Point {
    /// Λ (N s).
    pub impulses: Vec<f64>,
    /// Steps so far.
    pub steps: usize,
    /// Time so far (s).
    pub time: f64,
}

/// One island's solver.
pub struct Engine<'a> {
    pub blocks: Blocks<'a>,
    system: Option<System>,
    /// Alternating directions, which go on where they were left.
    directions: Option<admm::engine::Engine<Rows<'a>>>,
    pub tally: Tally,
    /// Most multiplications.
    pub work: f64,
    /// Λ, and w = A Λ + b.
    x: Vec<f64>,
    w: Vec<f64>,
    /// Where a step begins, and the step.
    before: Vec<f64>,
    step: Vec<f64>,
    /// The Λ to go back to.
    base: Vec<f64>,
    /// The best Λ, and its residual (m/s).
    pub best: Vec<f64>,
    pub least: f64,
    pub points: Vec<Point>,
    /// When the solve began.
    pub start: Instant,
}

impl<'a> Engine<'a> {
    /// Takes an island and its impulses from those of the problem.
    pub fn new(blocks: Blocks<'a>, lambda: &[f64]) -> Self {
        let [x, w, before, step, base, best] = [(); 6].map(|()| vec![0.0; blocks.rows]);
        let mut out = Self {
            blocks,
            system: None,
            directions: None,
            tally: Tally::default(),
            work: f64::INFINITY,
            x,
            w,
            before,
            step,
            base,
            best,
            least: f64::INFINITY,
            points: Vec::new(),
            start: Instant::now(),
        };
        out.blocks.load(lambda, &mut out.x);
        out.least = out.measure();
        out.base.clone_from(&out.x);
        out.best.clone_from(&out.x);
        out
    }

    /// Newton's method from where it is, as long as that leads nearer. A matrix that cannot be factored leads nowhere.
    pub fn semismooth_newton(&mut self, limits: &Limits) {
        let error = self.go_back();
        let _ = semismooth_newton(self, error, limits);
    }

    /// Takes what so many sweeps have made of the best impulses as those to go on from.
    pub fn follow(&mut self, lambda: &[f64], sweeps: u32, limits: &Limits) {
        self.tally.steps += 1;
        self.tally.work += 2.0 * f64::from(sweeps) * self.blocks.entries();
        self.blocks.load(lambda, &mut self.x);
        self.end_step(limits);
        let error = self.measure();
        self.keep(error);
    }

    /// So many alternating directions at most, which begin at the best impulses and later go on where they were left;
    /// what becomes of them is to go on from.
    pub fn alternate(&mut self, most: u32, limits: &Limits) {
        let tolerance = ACCEPTED * limits.tolerance;
        let mut directions = self.directions.take().unwrap_or_else(|| {
            let rows = Rows::new(self.blocks.clone());
            let mut out = admm::engine::Engine::new(rows, self.best.clone());
            out.begin(admm::engine::Options::default(), tolerance);
            out
        });
        self.tally.steps += 1;
        for _ in 0..most {
            if !directions.is_running || self.is_out_of_time(limits) {
                break;
            }
            let factors = directions.factors;
            directions.iterate(tolerance);
            let factored = f64::from(directions.factors - factors);
            let [entries, work] = directions.form.cost();
            self.tally.factors += (directions.factors - factors) as usize;
            self.tally.solves += 1;
            self.tally.work += factored * work + 2.0 * (entries + self.blocks.entries());
        }
        if directions.least < self.least {
            self.least = directions.least;
            self.best.clone_from(&directions.best);
        }
        let next = if directions.is_running {
            &directions.y
        } else {
            &directions.best
        };
        self.x.clone_from(next);
        self.directions = Some(directions);
        self.end_step(limits);
        let error = self.measure();
        self.keep(error);
    }

    /// Whether work or time are used up.
    fn is_out_of_time(&self, limits: &Limits) -> bool {
        let is_late = |deadline| Instant::now() >= deadline;
        self.tally.work >= self.work || limits.deadline.is_some_and(is_late)
    }

    /// What a step takes, about (multiplications).
    pub fn work_of_a_step(&mut self) -> f64 {
        let blocks = &self.blocks;
        let system = self.system.get_or_insert_with(|| System::new(blocks));
        system.work_of_a_step(blocks)
    }

    /// Entries of the factor, and multiplications of a factorisation; zero where there was none.
    pub fn cost(&self) -> [f64; 2] {
        self.system.as_ref().map_or([0.0; 2], |system| system.cost)
    }

    /// The errors of a contact's normal row and friction block, or of a general row, as
    /// [`crate::problem::residual`] defines them (m/s).
    fn errors(&self, k: usize) -> [f64; 2] {
        let rows = self.blocks.rows(k);
        let (x, w) = (&self.x[rows.clone()], &self.w[rows.clone()]);
        if k < self.blocks.contacts() {
            cone::errors(&self.blocks.friction(k), x, w, &self.blocks.diagonal[rows])
        } else {
            [
                cone::row_error(self.blocks.bounds(k), x[0], w[0], self.blocks.scale[k]),
                0.0,
            ]
        }
    }

    /// σ of contact `k`, rounded at rest in this radius (m/s), and its gradient where the contact slides.
    fn support(&self, k: usize, rounding: f64) -> (f64, Option<Block>) {
        let friction = self.blocks.friction(k);
        let rows = self.blocks.rows(k);
        let sliding = &self.w[rows.start + 1..rows.end];
        let sigma = friction.law.support(sliding, friction.mu);
        if sigma == 0.0 {
            return (0.0, None);
        }
        let length = sigma.hypot(rounding);
        let mut gradient = [0.0; ROWS];
        let law = friction.law;
        law.support_gradient(sliding, friction.mu, &mut gradient[1..]);
        let gradient = gradient.map(|g| g * sigma / length);
        (length - rounding, Some(gradient))
    }

    fn linearise_contact(&self, k: usize, epsilon: f64, rounding: f64, system: &mut System) {
        let blocks = &self.blocks;
        let rows = blocks.rows(k);
        if blocks.scale[k] == 0.0 {
            // Nothing moves it.
            system.push_contact(&[[0.0; N]; N], &[0.0; N], None);
            return;
        }
        let (sigma, gradient) = self.support(k, rounding);
        let mut w = [0.0; N];
        w[..ROWS].copy_from_slice(&self.w[rows.clone()]);
        w[0] += sigma;
        let contact = Contact {
            friction: &blocks.friction(k),
            x: &self.x[rows],
            w,
            compliance: &[0.0; ROWS],
            rho: 1.0 / blocks.scale[k],
            epsilon,
        };
        let (slope, g) = contact.respond();
        system.push_contact(&slope, &g, gradient);
    }

    fn linearise_row(&self, k: usize, epsilon: f64, system: &mut System) {
        let row = self.blocks.rows(k).start;
        let scale = self.blocks.scale[k];
        if scale == 0.0 {
            system.push_row(Err(0.0));
            return;
        }
        let [lo, hi] = self.blocks.bounds(k);
        let (x, w) = (self.x[row], self.w[row]);
        let z = x - w / scale;
        let share = if lo == f64::NEG_INFINITY && hi == f64::INFINITY {
            BILATERAL
        } else {
            epsilon
        };
        system.push_row(if z > lo && z < hi {
            Ok([share * scale, w])
        } else {
            Err(x - z.max(lo).min(hi))
        });
    }
}

impl Steps for Engine<'_> {
    fn speed(&self) -> f64 {
        self.blocks.speed()
    }

    fn find(&mut self, epsilon: f64, error: f64) -> Result<(), Breakdown> {
        self.tally.steps += 1;
        let blocks = &self.blocks;
        let mut system = (self.system.take()).unwrap_or_else(|| System::new(blocks));
        system.begin();
        for k in 0..blocks.contacts() {
            self.linearise_contact(k, epsilon, ROUND * error, &mut system);
        }
        for k in blocks.contacts()..blocks.len() {
            self.linearise_row(k, epsilon, &mut system);
        }
        let result = system.factor(blocks);
        self.tally.factors += 1;
        if result.is_ok() {
            self.before.clone_from(&self.x);
            system.solve(blocks, &mut self.step);
        }
        self.tally.solves += std::mem::take(&mut system.solves);
        self.tally.work += std::mem::take(&mut system.work);
        self.system = Some(system);
        result
    }

    fn move_on(&mut self, t: f64) {
        for k in 0..self.blocks.len() {
            let rows = self.blocks.rows(k);
            let mut next = [0.0; ROWS];
            let next = &mut next[..rows.len()];
            for (next, row) in next.iter_mut().zip(rows.clone()) {
                *next = self.before[row] + t * self.step[row];
            }
            if k < self.blocks.contacts() {
                cone::project(&self.blocks.friction(k), next, None);
            } else {
                let [lo, hi] = self.blocks.bounds(k);
                next[0] = next[0].max(lo).min(hi);
            }
            self.x[rows].copy_from_slice(next);
        }
    }

    fn measure(&mut self) -> f64 {
        self.blocks.product(&self.x, &mut self.w);
        self.tally.work += self.blocks.entries();
        let mut worst: f64 = 0.0;
        for (w, b) in self.w.iter_mut().zip(&self.blocks.b) {
            *w += b;
            if !w.is_finite() {
                // Projections may hide what is no number.
                return f64::NAN;
            }
        }
        for k in 0..self.blocks.len() {
            for error in self.errors(k) {
                if error > worst || error.is_nan() {
                    worst = error;
                }
            }
        }
        worst
    }

    fn keep(&mut self, error: f64) {
        self.base.clone_from(&self.x);
        if error < self.least {
            self.least = error;
            self.best.clone_from(&self.x);
        }
    }

    fn go_back(&mut self) -> f64 {
        self.x.clone_from(&self.base);
        self.measure()
    }

    fn end_step(&mut self, limits: &Limits) {
        if limits.history {
            self.points.push(Point {
                impulses: self.x.clone(),
                steps: self.tally.steps,
                time: self.start.elapsed().as_secs_f64(),
            });
        }
    }

    fn is_over(&self, limits: &Limits) -> bool {
        self.tally.steps >= limits.steps || self.is_out_of_time(limits)
    }
}
