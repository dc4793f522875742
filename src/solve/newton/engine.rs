//! One island: its memory, its residual, and the methods one after the other.
//!
//! The problem is Λ ∈ K ⟂ w + σ e_N ∈ K* per contact (De Saxcé & Feng 1998), K being the law's cone and σ the
//! support function of its friction set at −w_T, μ‖w_T‖ for the disc; and an interval per general row.

use std::time::Instant;

use super::cone;
use super::island::Island;
use super::stage::Stage;
use super::system::System;
use super::{ITERATIONS, NEED};
use crate::problem::law::Law;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::Reason;
use crate::solve::admm::bodies::Bodies;
use crate::solve::admm::engine::Engine as Alternating;
use crate::solve::linalg::gmres::Gmres;

/// A start whose residual is at most this share of the tolerance is a solution (-), and where directions alternate this
/// one. Impulses that are held set bodies in motion, and those that stop them are the next step's start, so that residuals
/// at rest double from step to step. With 0.1 and 1e-2 of the tolerance to iterate to, the walls of 250 and 410 bricks and
/// the pyramid take 1.3, 3.7 and 1.0 ms a step; with 0.015 and 3e-3 they take 0.9, 2.3 and 0.8 ms, and p95 falls as much.
const ACCEPTED: f64 = 0.1;
const ACCEPTED_ALTERNATING: f64 = 0.015;
/// Sweeps that a solve begins with where they need no factor, and how far so many of them must bring the residual
/// down for more to follow (-): four find the walls and pyramids that stand and save most factors.
const FIRST: usize = 4;
const QUICK: f64 = 0.2;
/// Contacts with so many rows per velocity are redundant (-), and alternating directions come first. The wall has 3.7.
/// Spheres in a box, 1.5, took 1.5 times the work where they came first.
const REDUNDANT: f64 = 2.0;
/// Rows from which on redundant contacts are solved by alternating directions at first (-): with fewer, sweeps and Newton's
/// steps cost next to nothing, and need less work than 30 iterations that lead nowhere.
const WORTHWHILE: usize = 100;
/// Rounds of all methods, and the least and the most sweeps of a round, which ends when they have taken as much work as
/// everything before. On machines in motion the hardest problems need some hundred sweeps.
const ROUNDS: usize = 5;
const SWEEPS: [usize; 2] = [50, 10_000];
/// Proximal points in turn that bring nothing before it gives up, where sweeps cannot follow and where they can.
const PATIENCE: [u32; 2] = [24, 4];
/// Entries of the factor that the solves of a step read, over those that there are (-): GMRES makes a few of them.
const SOLVES: f64 = 12.0;
/// 1/ρ of a bilateral row over its A_rr (-): it only keeps redundant rows apart, and is taken back out step by step.
pub(in crate::solve) const BILATERAL: f64 = 1e-10;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The residual that is asked for (m/s).
    pub tolerance: f64,
    /// The residual that it goes on to as long as every point gets nearer (m/s).
    pub aim: f64,
    /// Most Newton steps and rounds of sweeps.
    pub steps: usize,
    /// Most multiplications.
    pub work: f64,
    /// When time is over.
    pub deadline: Option<Instant>,
    /// Whether to keep every point.
    pub history: bool,
    /// The method that is left out.
    pub without: Option<Stage>,
}

impl Limits {
    /// Whether a method takes its turn.
    pub fn has(&self, stage: Stage) -> bool {
        self.without != Some(stage)
    }

    /// The same with other work.
    pub fn with(self, work: f64) -> Self {
        Self { work, ..self }
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Proximal points.
    pub points: usize,
    /// Newton steps and rounds of sweeps.
    pub steps: usize,
    /// Factorisations.
    pub factors: usize,
    /// Solves with a factor.
    pub solves: usize,
    /// Multiplications, about.
    pub work: f64,
}

/// Where a Newton step or a round of sweeps led, for histories.
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
    /// Whether the system is that of the island.
    pub(super) is_ready: bool,
    pub tally: Tally,
    pub points: Vec<Point>,
    /// When the solve began, and what recording has taken since (s).
    clock: Option<Instant>,
    pub recording: f64,
    /// Impulses of the contacts' rows and of the general rows.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// What velocities are from those of Λ̂, and w there.
    pub(super) v: Vec<f64>,
    pub(super) at_center: [Vec<f64>; 2],
    /// Λ − Λ̂.
    pub(super) change: [Vec<f64>; 2],
    /// Λ̂.
    pub(super) center: [Vec<f64>; 2],
    /// σ of each contact, where it is held.
    pub(super) shift: Vec<f64>,
    /// Whether σ follows the velocities.
    pub(super) is_coupled: bool,
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
    /// ε.
    pub(super) epsilon: f64,
    pub(super) swept: super::sweeps::Swept,
    pub(super) responses: super::local::Responses,
    pub(super) alternating: Alternating<Bodies>,
    /// The impulses to go back to, and the best of all with their residual (m/s).
    base: [Vec<f64>; 2],
    best: [Vec<f64>; 2],
    pub(super) least: f64,
    /// The largest of the best impulses (N s), and the residual that is worth any (m/s).
    largest: f64,
    wanted: f64,
}

impl Engine {
    /// Takes an island of a problem and its impulses; `local` has the number of every body within its island.
    pub fn load(&mut self, problem: &Problem, island: usize, local: &[u32], lambda: &[f64]) {
        self.island.refill(problem, island, local);
        self.is_ready = false;
        self.make_room();
        self.take_impulses(problem, lambda);
    }

    fn take_impulses(&mut self, problem: &Problem, lambda: &[f64]) {
        let (contacts, rows) = (&self.island.contacts, &self.island.rows);
        for (k, c) in contacts.source.iter().enumerate() {
            let block = &lambda[problem.contacts.rows(*c as usize)];
            self.x[contacts.rows(k)].copy_from_slice(block);
        }
        let first = problem.contact_rows();
        for (y, r) in self.y.iter_mut().zip(&rows.source) {
            *y = lambda[first + *r as usize];
        }
    }

    /// Takes other impulses of the problem, which took so many iterations and so much work, where they are better than those
    /// that there are. Returns the residual of the best (m/s).
    pub fn offer(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        (iterations, work): (u32, f64),
        limits: &Limits,
    ) -> f64 {
        self.take_impulses(problem, lambda);
        self.wanted = limits.tolerance;
        self.tally.steps += iterations as usize;
        self.tally.work += work;
        let error = self.measure();
        if limits.history {
            self.record();
        }
        if error < self.least {
            self.keep(error);
        }
        if self.x != self.best[0] || self.y != self.best[1] {
            self.return_to_best();
        }
        self.least
    }

    /// Whether friction is bounded row by row at every contact, which is what pivoting solves exactly.
    pub fn is_of_boxes(&self) -> bool {
        let mut friction = self.island.contacts.friction.iter();
        friction.all(|friction| friction.law.is_polyhedral() || friction.mu == [0.0; 2])
    }

    /// Whether any impulse acts.
    pub fn is_held(&self) -> bool {
        self.x.iter().chain(&self.y).any(|impulse| *impulse != 0.0)
    }

    /// Whether alternating directions come first.
    pub fn alternates(&self) -> bool {
        alternates(self.w[0].len(), self.v.len())
    }

    /// Multiplications that a solution takes at least, about; infinite where its factor is too large.
    pub fn need(&mut self) -> f64 {
        self.make_ready();
        if self.system.is_too_large() {
            return f64::INFINITY;
        }
        if self.alternates() {
            return self.work_of_alternating(ITERATIONS);
        }
        NEED * self.work_of_a_step()
    }

    /// Multiplications of a Newton step, about, once the system is ready.
    pub fn work_of_a_step(&self) -> f64 {
        let rows = self.w[0].len() as f64;
        let solves = SOLVES * self.system.entries();
        self.system.work() + solves + super::inner::PER_ROW[0] * rows
    }

    /// Makes the system that of the island.
    pub fn make_ready(&mut self) {
        if !self.is_ready {
            self.system.refill(&self.island);
            self.is_ready = true;
        }
    }

    fn make_room(&mut self) {
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
        let [ax, ay] = &mut self.at_center;
        let [wx, wy] = &mut self.w;
        let [dx, dy] = &mut self.dw;
        room(contacts.free.len(), &mut [&mut self.x, x, ax, wx, dx]);
        room(rows.len(), &mut [&mut self.y, y, ay, wy, dy, &mut self.dy]);
        let [rho_x, rho_y] = &mut self.inverse_rho;
        room(contacts.len(), &mut [&mut self.shift, rho_x]);
        room(rows.len(), &mut [rho_y]);
        self.tally = Tally::default();
        self.points.clear();
        self.recording = 0.0;
        self.clock = None;
        self.factored.clear();
    }

    /// The residual of the impulses in `x` and `y` (m/s), where [`Engine::solve_first`] begins.
    pub fn begin(&mut self) -> f64 {
        self.least = f64::INFINITY;
        self.wanted = 0.0;
        let error = self.measure();
        self.keep(error);
        error
    }

    /// Whether a start of that residual is a solution, or no start at all.
    pub fn accepts(&self, error: f64, tolerance: f64) -> bool {
        error <= accepted(self.alternates(), tolerance) || !error.is_finite()
    }

    /// Begins at `x` and `y`, whose residual is `error`, with what is quick, unless that is accepted. Leaves the best
    /// impulses there and returns their residual (m/s).
    pub fn solve_first(&mut self, error: f64, limits: &Limits) -> f64 {
        if self.accepts(error, limits.tolerance) {
            return error;
        }
        self.clock.get_or_insert_with(Instant::now);
        self.system.set_deadline(limits.deadline);
        self.wanted = limits.tolerance;
        if self.alternates() && limits.has(Stage::AlternatingDirections) {
            let least = self.alternate(error, limits);
            if least <= ACCEPTED * limits.tolerance {
                return least;
            }
            self.go_back()
        } else {
            self.sweep_first(error, limits)
        }
    }

    /// Goes on after [`Engine::solve_first`] until the residual is at most the tolerance, or the limits are reached. Leaves
    /// the best impulses there and returns their residual (m/s).
    pub fn solve_on(&mut self, error: f64, limits: &Limits) -> f64 {
        if self.accepts(error, limits.tolerance) {
            return error;
        }
        // What is hardly brought down are waves through many bodies, which the next step has again, twice as high.
        let mut limits = *limits;
        if self.tally.steps > 0 {
            limits.tolerance *= ACCEPTED;
        }
        if error > limits.tolerance && !self.is_over(&limits) {
            self.make_ready();
            self.take_turns(error, &limits);
        }
        self.x.clone_from(&self.best[0]);
        self.y.clone_from(&self.best[1]);
        if let Some(last) = self.points.last_mut() {
            last.impulses.clone_from(&self.best);
        }
        self.least
    }

    /// Sweeps, where they need no factor, as long as they lead on quickly. Returns the residual of the best (m/s).
    fn sweep_first(&mut self, start: f64, limits: &Limits) -> f64 {
        if self.alternates() || !self.can_sweep() || !limits.has(Stage::FirstSweeps) {
            return start;
        }
        self.prepare_sweeps();
        while !self.is_over(limits) {
            let before = self.least;
            let error = self.sweep([FIRST; 2], limits);
            if error < self.least {
                self.keep(error);
            }
            let is_enough = self.least <= ACCEPTED * limits.tolerance;
            if is_enough || error.is_nan() || error > QUICK * before {
                break;
            }
        }
        self.go_back()
    }

    /// The methods one after the other until one gets there. One whose matrix cannot be factored has led nowhere.
    fn take_turns(&mut self, mut error: f64, limits: &Limits) {
        let can_sweep = self.can_sweep() && limits.has(Stage::Sweeps);
        let patience = PATIENCE[usize::from(can_sweep)];
        for _ in 0..ROUNDS {
            if limits.has(Stage::SemismoothNewton) {
                error = match self.semismooth_newton(error, limits) {
                    Ok(error) => error,
                    Err(_) => self.go_back(),
                };
            }
            if self.is_done(limits) {
                break;
            }
            if limits.has(Stage::ProximalPoints) {
                let _ = self.proximal_points(error, patience, limits);
            }
            if self.least <= self.wanted || self.is_over(limits) || !can_sweep {
                break;
            }
            self.return_to_best();
            self.prepare_sweeps();
            error = self.sweep(SWEEPS, limits);
            self.keep(error);
        }
    }

    /// Keeps the impulses as those to go back to, and as the best of all if they are: where they are not there yet,
    /// impulses n times as large must leave an n-th of the residual. Where a body that is moved by nobody crushes others
    /// none fit, and each push that is twice as large comes a last digit nearer: those of 1,000 shapes below the turnstile
    /// went to 1e12 N s in 30 steps, and threw the next step's bodies with 50 m/s.
    pub(super) fn keep(&mut self, error: f64) {
        self.base[0].clone_from(&self.x);
        self.base[1].clone_from(&self.y);
        let impulses = self.x.iter().chain(&self.y);
        let largest = impulses.fold(0.0, |a: f64, b| a.max(b.abs()));
        let is_worth_it = error * largest <= self.least * self.largest;
        let is_start = self.least == f64::INFINITY || self.largest == 0.0;
        if error < self.least && (is_start || error <= self.wanted || is_worth_it) {
            self.least = error;
            self.largest = largest;
            self.best[0].clone_from(&self.x);
            self.best[1].clone_from(&self.y);
        }
    }

    /// Goes back to the impulses that were kept last, and to their w.
    pub(super) fn go_back(&mut self) -> f64 {
        self.x.clone_from(&self.base[0]);
        self.y.clone_from(&self.base[1]);
        self.measure()
    }

    fn return_to_best(&mut self) {
        self.base.clone_from(&self.best);
        self.go_back();
    }

    fn is_done(&self, limits: &Limits) -> bool {
        self.least <= limits.tolerance || self.is_over(limits)
    }

    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.tally.steps >= limits.steps || self.is_out_of_time(limits)
    }

    /// Whether work or time are used up.
    pub(super) fn is_out_of_time(&self, limits: &Limits) -> bool {
        self.tally.work >= limits.work || limits.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Why a solve has ended with this residual.
    pub fn end(&self, error: f64, limits: &Limits) -> Reason {
        match () {
            () if self.tally.steps == 0 && self.accepts(error, limits.tolerance) => Reason::Solved,
            () if error <= limits.tolerance => Reason::Fits,
            () if self.tally.work >= limits.work => Reason::Work,
            () if self.tally.steps >= limits.steps => Reason::Iterations,
            () if self.is_out_of_time(limits) => Reason::Time,
            () => Reason::NoNearer,
        }
    }

    /// Keeps the impulses of a Newton step.
    pub(super) fn record(&mut self) {
        let now = Instant::now();
        let begin = self.clock.unwrap_or(now);
        self.points.push(Point {
            impulses: [self.x.clone(), self.y.clone()],
            steps: self.tally.steps,
            time: (now - begin).as_secs_f64() - self.recording,
        });
        self.recording += now.elapsed().as_secs_f64();
    }

    /// v = M⁻¹ Jᵀ Λ into `image`, and w from it. Returns the residual of the problem, as
    /// [`crate::problem::residual`] defines it (m/s).
    pub(super) fn measure(&mut self) -> f64 {
        self.momentum.fill(0.0);
        let island = &self.island;
        island.contacts.add_transposed(&self.x, &mut self.momentum);
        island.rows.add_transposed(&self.y, &mut self.momentum);
        island.inverse_product(&self.momentum, &mut self.image);
        let free = [&island.contacts.free, &island.rows.free];
        island.gaps(&self.image, free, &mut self.w);
        // Projections may hide what is no number.
        if self.w.iter().flatten().any(|w| !w.is_finite()) {
            return f64::NAN;
        }
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
            note(cone::row_error(
                rows.bounds[r],
                self.y[r],
                w,
                rows.diagonal[r],
            ));
        }
        worst
    }

    /// The errors of a contact's normal row and friction block (m/s).
    pub(super) fn contact_errors(&self, c: usize) -> [f64; 2] {
        let contacts = &self.island.contacts;
        let rows = contacts.rows(c);
        let x = &self.x[rows.clone()];
        let mut w = [0.0; FrictionLaw::MAX_ROWS];
        for ((w, row), x) in w.iter_mut().zip(rows.clone()).zip(x) {
            *w = self.w[0][row] + contacts.compliance[row] * x;
        }
        cone::errors(
            &contacts.friction[c],
            x,
            &w[..x.len()],
            &contacts.diagonal[rows],
        )
    }

    /// σ of a sliding velocity without compliance (m/s).
    pub(super) fn support(&self, c: usize, w: &[f64]) -> f64 {
        let contacts = &self.island.contacts;
        let friction = &contacts.friction[c];
        let first = contacts.rows(c).start + 1;
        let mut sliding = [0.0; FrictionLaw::MAX_ROWS];
        for (k, w) in w.iter().enumerate() {
            sliding[k] = w + contacts.compliance[first + k] * self.x[first + k];
        }
        friction.law.support(&sliding[..w.len()], friction.mu)
    }
}

/// The residual up to which a start is a solution, where directions alternate or not (m/s).
pub fn accepted(alternates: bool, tolerance: f64) -> f64 {
    let share = if alternates {
        ACCEPTED_ALTERNATING
    } else {
        ACCEPTED
    };
    share * tolerance
}

/// Whether an island is one for alternating directions, by the rows of its contacts and its unknown velocities.
pub fn alternates(rows: usize, velocities: usize) -> bool {
    rows >= WORTHWHILE && rows as f64 > REDUNDANT * velocities as f64
}
