//! What comes after the first solution of all islands: more work for those that need it, and sweeps that are offered.

use std::time::Instant;

use rayon::prelude::*;

use super::shares::{FINEST, work_of_a_sweep};
use super::{Newton, stages};
use crate::problem::Problem;
use crate::solve::method::{Limits, Site};
use crate::solve::{Method, Reason, Request, Status};

impl Newton {
    /// How many sweeps of some islands what is left of all grants pays for.
    pub(in crate::solve) fn affordable_sweeps(&self, islands: &[bool]) -> u32 {
        let (mut left, mut each) = (0.0, 0.0);
        for (island, engine) in self.taken() {
            left += self.granted[island] - engine.state.tally.work;
            if islands[island] {
                each += work_of_a_sweep(engine);
            }
        }
        if each > 0.0 { (left / each) as u32 } else { 0 }
    }

    /// Books sweeps over some islands, and grants them what others have not spent. Returns their work (multiplications).
    pub(in crate::solve) fn book_sweeps(&mut self, islands: &[bool], sweeps: u32) -> f64 {
        for (island, _) in islands.iter().enumerate().filter(|(_, k)| **k) {
            let engine = self.engine(island);
            let work = f64::from(sweeps) * work_of_a_sweep(engine);
            let left = (self.granted[island] - engine.state.tally.work).max(0.0);
            self.swept[island] = work;
            self.granted[island] += (work - left).max(0.0);
        }
        self.swept.iter().sum()
    }

    /// Takes other impulses, where they are better; `spent` has the pivots and the work that they took, of islands that are
    /// meant.
    pub(in crate::solve) fn offer(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &[f64],
        spent: &[Option<(u32, f64)>],
    ) {
        let limits = self.limits(request, Instant::now());
        let engines = self.islands.par_iter_mut();
        self.offered.clear();
        self.offered.resize(self.errors.len(), f64::INFINITY);
        let errors = self.errors.par_iter_mut().zip(&mut self.offered);
        let all = engines.zip(errors).zip(spent);
        all.for_each(|((engine, (error, offered)), spent)| {
            if let (Some(engine), Some(spent)) = (engine, spent) {
                *offered = engine.offer(problem, lambda, *spent, &limits);
                *error = engine.state.least;
            }
        });
    }

    /// Writes the impulses once more, after sweeps that were offered after [`Newton::run`]. Returns how the islands stand.
    pub(in crate::solve) fn conclude_offer(
        &mut self,
        problem: &Problem,
        tolerance: f64,
        lambda: &mut [f64],
    ) -> Status {
        let tolerance = tolerance.max(FINEST);
        for (end, error) in self.ends.iter_mut().zip(&self.errors) {
            if *error <= tolerance && end.method() == Method::Unfinished {
                *end = Reason::Sweeps;
            }
        }
        self.store(problem, lambda, |state| &state.x);
        self.status(tolerance)
    }

    /// Grants what is left of the step's work to islands that have spent theirs, each as much again as it had, the cheapest
    /// first, as far as it goes: with twice as much each time, all that was in vain before takes no more than the last.
    /// Returns whether any got more.
    pub(super) fn grant_again(&mut self) -> bool {
        let spent: f64 = self.taken().map(|(_, e)| e.state.tally.work).sum();
        let is_open = |island: usize| self.ends[island] == Reason::Work;
        let mut open: Vec<(f64, usize)> = (self.taken())
            .filter(|(island, _)| is_open(*island))
            .map(|(island, _)| (self.granted[island], island))
            .collect();
        open.sort_by(|a, b| a.0.total_cmp(&b.0));
        let reserved: f64 = open.iter().map(|(_, island)| self.kept[*island]).sum();
        let mut left = self.work - spent - reserved;
        if left == f64::INFINITY {
            return false;
        }
        self.again.clear();
        self.again.resize(self.granted.len(), false);
        for (granted, island) in open {
            let more = granted.min(left);
            if more <= 0.0 {
                break;
            }
            left -= more;
            self.granted[island] += more;
            self.again[island] = true;
        }
        self.again.contains(&true)
    }

    /// Goes on with the islands that were granted more.
    pub(super) fn go_on(&mut self, problem: &Problem, limits: &Limits, start: &[f64]) {
        let engines = self.islands.par_iter_mut().zip(&mut self.errors);
        let work = self.granted.par_iter().zip(&self.kept);
        let all = engines.zip(work).zip(&mut self.ends).zip(&self.again);
        let open = all.enumerate().filter(|(_, (_, again))| **again);
        open.for_each(|(island, ((((engine, error), (granted, kept)), end), _))| {
            let Some(engine) = engine else {
                return;
            };
            engine.granted = *granted;
            engine.bodies.system.set_most(*granted);
            let limits = limits.with(granted - kept);
            let site = Site {
                problem,
                island,
                start,
            };
            *error = stages::go_on(engine, &site, &limits);
            *end = engine.end(*error, &limits);
        });
    }
}
