//! One island: which strategy is tried, and after which.

use std::time::Instant;

use super::coupled::Coupled;
use super::factor::{self, Counters, Factorization};
use super::friction::{Ending, Friction};
use super::island::{Refusal, Setup};
use super::lcp::{Lcp, Limits};
use super::parameters::Settings;
use super::report::PivotReport;
use super::tuning::Tuning;
use super::verify;
use crate::problem::Problem;

/// What follows where pivoting by whole blocks, with bounds that follow, does not solve the island.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Sets and bounds at once, from the start after so many sweeps of Gauss–Seidel.
    Coupled { sweeps: u32 },
    /// Pivoting with all that it may do, from the best impulses so far.
    Pivoting,
}

/// An island, its strategies and their result.
pub struct IslandSolver {
    /// The problem and the impulses.
    pub lcp: Lcp,
    friction: Friction,
    coupled: Coupled,
    start: Vec<f64>,
    best: Vec<f64>,
    /// What the factorisation has done in earlier solves of the same matrix.
    counted: Counters,
    /// Whether there was one.
    is_again: bool,
    /// What was done.
    pub report: PivotReport,
    /// How it ended.
    pub outcome: Result<Ending, Refusal>,
}

impl IslandSolver {
    /// One without an island.
    pub fn new(factor: Box<dyn Factorization>) -> Self {
        Self {
            lcp: Lcp::new(factor),
            friction: Friction::default(),
            coupled: Coupled::default(),
            start: Vec::new(),
            best: Vec::new(),
            counted: Counters::default(),
            is_again: false,
            report: PivotReport::default(),
            outcome: Ok(Ending::Settled),
        }
    }

    /// Orders, packs and assembles; `transverse_compliance` is [`Setup::transverse_compliance`].
    pub fn assemble(
        &mut self,
        problem: &Problem,
        island: usize,
        local: &[u32],
        settings: &Settings,
        transverse_compliance: &[f64],
    ) {
        let start = Instant::now();
        self.report = PivotReport::default();
        self.counted = Counters::default();
        self.is_again = false;
        let setup = Setup {
            layout: factor::layout(&settings.factorization),
            compliance: settings.tuning.contact_compliance,
            transverse_compliance,
            most: settings.memory,
        };
        let island_of = &mut self.lcp.island;
        let assembled = island_of.assemble(problem, island, local, &setup);
        if assembled.is_ok() {
            self.lcp.factor.prepare(&self.lcp.island.matrix);
        }
        self.outcome = assembled.map(|()| Ending::Settled);
        self.report.assemble_time = start.elapsed().as_secs_f64();
    }

    /// Takes what [`Solver::solve_again`](crate::solve::Solver::solve_again) says may have changed.
    pub fn assemble_again(&mut self, problem: &Problem) {
        let start = Instant::now();
        self.report = PivotReport::default();
        self.counted = self.lcp.factor.counters();
        self.is_again = true;
        let renewed = self.lcp.island.renew(problem);
        self.outcome = renewed.map(|()| Ending::Settled);
        self.report.assemble_time = start.elapsed().as_secs_f64();
    }

    /// Solves the assembled island from the problem's impulses.
    pub fn solve(&mut self, lambda: &[f64], settings: &Settings, limits: Limits, history: bool) {
        if self.lcp.n() == 0 {
            return;
        }
        let lcp = &mut self.lcp;
        lcp.reset(limits);
        lcp.recorder.since = history.then(Instant::now);
        let starts = lcp.island.problem_row.iter().zip(&lcp.island.scale);
        for (x, (row, scale)) in lcp.x.iter_mut().zip(starts) {
            let start = lambda[*row as usize] / scale;
            *x = if start.is_finite() { start } else { 0.0 };
        }
        lcp.guess_sets(settings.warm_start);
        // The compliance pulls towards what this matrix was solved by before, and is not seen there.
        if self.is_again {
            lcp.center.copy_from_slice(&lcp.x);
        }
        self.start.clone_from(&lcp.x);
        if !settings.warm_start {
            self.start.fill(0.0);
        }
        self.outcome = self.solve_by_stages(&settings.tuning);
        self.fill_report(settings);
    }

    /// Copies the impulses to those of the problem.
    pub fn store(&self, lambda: &mut [f64]) {
        let island = &self.lcp.island;
        let scaled = self.lcp.x.iter().zip(&island.scale);
        for ((x, scale), row) in scaled.zip(&island.problem_row) {
            lambda[*row as usize] = x * scale;
        }
    }

    /// The strategies in turn. Where no friction bound follows anything, pivoting is all there is. Elsewhere it may move
    /// only whole blocks at first; what that does not solve goes from stage to stage until one solves it,
    /// and the best impulses of all count.
    fn solve_by_stages(&mut self, tuning: &Tuning) -> Result<Ending, Refusal> {
        let has_friction = self.lcp.island.friction_rows().next().is_some();
        if tuning.coupled_steps == 0 || !has_friction {
            return self.pivot(tuning);
        }
        let ending = self.pivot(&tuning.quick())?;
        let noise = self.lcp.noise();
        let [wanted, enough] = [10.0, 100.0].map(|times| tuning.accurate.max(times * noise));
        let mut least = self.lcp.error();
        if self.lcp.is_over() {
            return Ok(ending);
        }
        if least <= enough {
            return Ok(Ending::Settled);
        }
        self.best.clone_from(&self.lcp.x);
        let coupled = tuning.sweeps.map(|sweeps| Stage::Coupled { sweeps });
        for stage in coupled.into_iter().chain([Stage::Pivoting]) {
            if let Some(error) = self.try_stage(stage, tuning, wanted)
                && error < least
            {
                least = error;
                self.best.clone_from(&self.lcp.x);
            }
            if least <= enough || self.lcp.is_over() {
                break;
            }
        }
        self.take_best(least)?;
        Ok(if least <= enough {
            Ending::Settled
        } else if self.lcp.is_over() {
            Ending::OutOfBudget
        } else {
            Ending::Unsettled
        })
    }

    /// Pivots with friction bounds that follow, from the sets that there are. The impulses are then within
    /// their bounds.
    fn pivot(&mut self, tuning: &Tuning) -> Result<Ending, Refusal> {
        let ending = self.friction.solve(&mut self.lcp, tuning);
        let ending = ending.map_err(|_| Refusal::NotFinite)?;
        self.lcp.project();
        Ok(ending)
    }

    /// The error of the impulses to which a stage leads (m/s), if to any.
    fn try_stage(&mut self, stage: Stage, tuning: &Tuning, wanted: f64) -> Option<f64> {
        let lcp = &mut self.lcp;
        match stage {
            Stage::Coupled { sweeps } => {
                lcp.x.copy_from_slice(&self.start);
                lcp.island.sweep(&mut lcp.x, sweeps);
                let slipping = &mut self.friction.slipping;
                self.coupled.solve(lcp, slipping, tuning, wanted).ok()
            }
            Stage::Pivoting => {
                // The compliance pulls towards the best impulses, not towards none.
                lcp.x.copy_from_slice(&self.best);
                lcp.center.copy_from_slice(&self.best);
                lcp.guess_sets(true);
                self.pivot(tuning).ok()?;
                Some(self.lcp.error())
            }
        }
    }

    /// Returns to the best impulses, with their sets and factor for whoever looks at them.
    fn take_best(&mut self, error: f64) -> Result<(), Refusal> {
        let lcp = &mut self.lcp;
        lcp.x.copy_from_slice(&self.best);
        lcp.center.fill(0.0);
        lcp.guess_sets(true);
        lcp.apply_sets();
        let restricted = lcp.factor.restrict(&lcp.island.matrix, &lcp.tight);
        lcp.x.copy_from_slice(&self.best);
        lcp.tally.with_compliance = error;
        restricted.map_err(|_| Refusal::NotFinite)
    }

    fn fill_report(&mut self, settings: &Settings) {
        let Lcp {
            island,
            factor,
            tally,
            ..
        } = &self.lcp;
        let n = self.lcp.n();
        let mut counters = factor.counters();
        counters.add(&tally.earlier);
        counters.remove(&self.counted);
        let tight = self.lcp.tight.iter().filter(|t| **t).count();
        let [low, high] = factor.extremes(&self.lcp.tight);
        let condition = if low > 0.0 && low.is_finite() {
            (high / low) * (high / low)
        } else {
            1.0
        };
        let added = island.epsilon.iter().zip(&island.scale);
        let added = added
            .filter(|(_, s)| **s > 0.0)
            .fold(0.0, |m: f64, (e, s)| m.max(e / (s * s)));
        let [n, tight, pivots, outer] = [
            n as f64,
            tight as f64,
            tally.pivots.into(),
            tally.outer_iterations.into(),
        ];
        self.report = PivotReport {
            rows: n,
            largest_island: n,
            free: n - tight,
            tight,
            most_tight: tally.most_tight.into(),
            pivots,
            most_pivots: pivots,
            work: 1e-6 * pivots * island.work_of_a_pivot(),
            single_pivots: tally.single.into(),
            outer_iterations: outer,
            most_outer_iterations: outer,
            krylov_iterations: tally.krylov.into(),
            refinements: tally.refinements.into(),
            coupled_steps: tally.coupled_steps.into(),
            downdates: counters.downdates as f64,
            refactorizations: counters.refactorizations as f64,
            stored: island.matrix.envelope.len() as f64,
            cache_hits: counters.cache_hits as f64,
            cache_entries: counters.cache_entries as f64,
            cache_bytes: counters.cache_bytes as f64,
            factor_time: tally.factor_time,
            solve_time: tally.solve_time,
            condition,
            ill_conditioned: f64::from(u8::from(condition > settings.condition_bound)),
            added_compliance: added,
            raised: counters.raised,
            residual_with_compliance: tally.with_compliance,
            factor_errors: None,
            ..self.report
        };
    }

    /// Compares the last factor with A_FF and with a fresh one.
    pub fn verify(&mut self) {
        let lcp = &self.lcp;
        if lcp.n() == 0 || lcp.tally.pivots == 0 {
            return;
        }
        let errors = verify::compare(&lcp.island.matrix, lcp.factor.as_ref(), &lcp.tight);
        self.report.factor_errors = Some(errors);
    }
}
