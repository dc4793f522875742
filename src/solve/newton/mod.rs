//! `newton`: exact laws, directly, for every friction law, at any ratio of masses and with redundant contacts.
//!
//! Per island (`engine`) the methods of a table come one after the other (`stages`): alternating directions where contacts
//! are redundant, elsewhere a few sweeps and pivoting, and then Newton's method on the laws themselves, proximal points,
//! and sweeps in turn. The result is judged by the exact law, and is never worse than its start. Islands that the impulses
//! solve already are left alone (`standing`). `without_bodies` does without bodies.

mod engine;
mod more_work;
mod shares;
pub(in crate::solve) mod stages;
mod standing;
pub(in crate::solve) mod without_bodies;

use std::time::Instant;

use rayon::prelude::*;

use self::engine::Engine;
pub(crate) use self::shares::accepted;
use self::shares::{AIM, FINEST, KEPT_FOR_SWEEPS, count, need, share, work_of_a_sweep};
pub(super) use self::shares::{Grants, Refusal, sweeps_for};
use self::stages::WITHOUT;
pub(crate) use self::standing::residual_within;
use crate::math::Twist;
use crate::problem::{MatrixProblem, Problem};
use crate::solve::conclude::{clear_idle, conclude};
use crate::solve::island::Operator;
use crate::solve::method::{Limits, Site, State, write_history};
use crate::solve::{NeedsBodies, Reason, Request, SolveReport, Solver, SolverInfo, Status, work};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "newton",
    summary: "exact laws, directly: Newton's method, proximal points and sweeps in turn, for every friction law and redundant contacts",
    source: "Rockafellar 1976; De Saxcé & Feng 1998; Yamashita & Fukushima 2001; Hintermüller, Ito & Kunisch 2002",
    least_iterations: 500,
    obstacle: || None,
    parameters: &[WITHOUT, work::parameter(work::DIRECT)],
    make: |parameters| {
        Box::new(Newton {
            most: Some(work::limit(parameters)),
            ..Newton::without(stages::left_out(parameters))
        })
    },
};

/// The solver. It carries no state from step to step, only memory.
#[derive(Default)]
pub(super) struct Newton {
    /// The name of the stage that is left out.
    without: Option<&'static str>,
    /// What a solve may take, if there is a limit (multiplications).
    most: Option<f64>,
    /// The engine of each island that is a candidate: one takes kilobytes before it holds anything, and most of very many
    /// islands are none.
    islands: Vec<Option<Box<Engine>>>,
    /// Engines with memory, of which fewer candidates had no need.
    spare: Vec<Option<Box<Engine>>>,
    /// Number of each body within its island.
    local: Vec<u32>,
    /// The residual of each island, and of what was offered (m/s).
    errors: Vec<f64>,
    offered: Vec<f64>,
    /// The work that each island is granted; below zero where it is none of this solver's.
    granted: Vec<f64>,
    /// What of it is kept for sweeps, and what they took (multiplications).
    kept: Vec<f64>,
    swept: Vec<f64>,
    /// Islands that are granted more.
    again: Vec<bool>,
    /// What a step may take, but for first grants (multiplications).
    work: f64,
    needs: Vec<Need>,
    /// The same by island; 0 where it needs nothing, and where nobody asked.
    counted: Vec<f64>,
    /// Why the solution of each island has ended.
    ends: Vec<Reason>,
    /// The residual of each candidate that the impulses solve already (m/s).
    standing: Vec<Option<f64>>,
}

/// What an island needs.
#[derive(Clone, Copy)]
struct Need {
    island: u32,
    /// At least (multiplications).
    work: f64,
    /// How many times its share it is granted (-).
    share: f64,
}

impl Newton {
    /// One that leaves a stage out.
    pub(super) fn without(without: Option<&'static str>) -> Self {
        Self {
            without,
            ..Self::default()
        }
    }

    /// Takes the islands that may be tried and fit into the granted work, the cheapest first. Those of the islands that may
    /// stand which the impulses solve already need none, and get no engine; the others that may be tried get one. `u` is
    /// overwritten; where all islands stand, with their velocities.
    pub(super) fn choose(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        u: &mut Vec<Twist>,
        grants: &Grants,
        (may_stand, may_try): (impl Fn(usize) -> bool + Sync, impl Fn(usize) -> bool),
    ) {
        let islands = problem.islands.len();
        let mut open = self.find_standing(problem, (lambda, u), grants.tolerance, may_stand);
        for (island, is_open) in open.iter_mut().enumerate() {
            *is_open = *is_open && may_try(island);
        }
        self.hand_out_engines(&open);
        if open.contains(&true) {
            problem.islands.number_within(&mut self.local);
        }
        let (local, standing, without) = (&self.local, &self.standing, self.without);
        let engines = self.islands.par_iter_mut().enumerate();
        let begun = engines.map(|(island, engine)| {
            let Some(engine) = engine else {
                return match standing[island] {
                    Some(error) => (error, 0.0),
                    None => (f64::INFINITY, -1.0),
                };
            };
            engine.without = without;
            let error = engine.begin(problem, island, local, lambda);
            let is_solved = engine.accepts(error, grants.tolerance);
            let need = match () {
                () if is_solved || grants.work == f64::INFINITY => 0.0,
                () if grants.admits_all => engine.state.x.len() as f64,
                () => need(engine),
            };
            (error, need)
        });
        let begun: Vec<(f64, f64)> = begun.collect();
        self.offered.clear();
        self.errors.clear();
        self.errors.extend(begun.iter().map(|(error, _)| *error));
        self.granted.clear();
        self.granted.resize(islands, -1.0);
        for swept in [&mut self.kept, &mut self.swept] {
            swept.clear();
            swept.resize(islands, 0.0);
        }
        self.needs.clear();
        self.counted.clear();
        self.counted
            .extend(begun.iter().map(|(_, need)| need.max(0.0)));
        for (island, (_, work)) in begun.iter().enumerate() {
            let engine = self.islands[island].as_deref();
            let share = match engine {
                Some(engine) if !grants.admits_all => share(engine.alternates(), engine.is_held()),
                _ => 1.0,
            };
            if *work >= 0.0 {
                self.needs.push(Need {
                    island: island as u32,
                    work: *work,
                    share,
                });
            }
        }
        self.admit(grants);
    }

    /// Admits islands, the cheapest first, as far as the work goes, and grants each its share: those that impulses hold, and
    /// apart from them those that are solved from nothing, once.
    fn admit(&mut self, grants: &Grants) {
        self.needs.sort_by(|a, b| a.work.total_cmp(&b.work));
        let engine = |island| self.islands[island as usize].as_deref();
        let rows = self.needs.iter().filter_map(|need| engine(need.island));
        self.work = grants.in_place_of_sweeps(rows.map(|engine| engine.state.x.len()).sum());
        let (new, held): (Vec<Need>, Vec<Need>) = self.needs.iter().partition(|n| n.share > 1.0);
        for needs in [new, held] {
            let mut sum = 0.0;
            let fits = |need: &&Need| {
                sum += need.work / need.share;
                grants.admits_all || sum <= self.work
            };
            let admitted = needs.iter().take_while(fits).count();
            let admitted = &needs[..admitted];
            let all: f64 = admitted.iter().map(|need| need.work / need.share).sum();
            for need in admitted {
                let island = need.island as usize;
                let mut granted = self.work;
                if all > 0.0 && self.work < f64::INFINITY {
                    granted *= need.work / all;
                }
                self.granted[island] = granted;
                if let Some(engine) = self.islands[island].as_deref_mut() {
                    engine.granted = granted;
                    let sweeps = f64::from(grants.sweeps) * work_of_a_sweep(engine);
                    self.kept[island] = sweeps.min(KEPT_FOR_SWEEPS * granted);
                }
            }
        }
    }

    /// Finds the islands that the impulses solve already, of those that may be. Returns which they do not.
    fn find_standing(
        &mut self,
        problem: &Problem,
        (lambda, u): (&[f64], &mut Vec<Twist>),
        tolerance: f64,
        may_stand: impl Fn(usize) -> bool + Sync,
    ) -> Vec<bool> {
        let islands = 0..problem.islands.len();
        let mut open: Vec<bool> = islands.clone().into_par_iter().map(&may_stand).collect();
        if open.contains(&true) {
            problem.velocities(lambda, u);
        }
        let at = (lambda, u.as_slice());
        let standing = islands.into_par_iter().map(|island| {
            if !open[island] {
                return None;
            }
            let limit = accepted(problem, island, tolerance);
            residual_within(problem, island, at, limit)
        });
        standing.collect_into_vec(&mut self.standing);
        for (is_open, standing) in open.iter_mut().zip(&self.standing) {
            *is_open &= standing.is_none();
        }
        open
    }

    /// Gives the islands that are open an engine each, the first of those that there are to the first, so that most get
    /// the one that they had.
    fn hand_out_engines(&mut self, open: &[bool]) {
        let used = std::mem::take(&mut self.islands);
        let spare = std::mem::take(&mut self.spare);
        let mut engines = used.into_iter().chain(spare).flatten();
        let mut next = || engines.next().unwrap_or_default();
        let handed_out = open.iter().map(|is_open| is_open.then(&mut next));
        self.islands.extend(handed_out);
        self.spare.extend(engines.map(Some));
    }

    /// The engine of an island that was a candidate, and does not stand.
    fn engine(&self, island: usize) -> &Engine {
        self.islands[island].as_deref().expect("a candidate")
    }

    /// Whether all islands stand.
    fn all_stand(&self) -> bool {
        !self.standing.is_empty() && self.standing.iter().all(Option::is_some)
    }

    /// Whether [`Newton::choose`] has taken an island.
    pub(super) fn takes(&self, island: usize) -> bool {
        self.granted[island] >= 0.0
    }

    /// The residual that an island of the last problem was left with (m/s).
    pub(super) fn error(&self, island: usize) -> f64 {
        self.errors[island]
    }

    /// The residual of impulses that were last offered to an island (m/s); infinite where none were.
    pub(super) fn offered(&self, island: usize) -> f64 {
        self.offered.get(island).copied().unwrap_or(f64::INFINITY)
    }

    /// Whether the solution of an island has ended above the tolerance.
    pub(super) fn is_unfinished(&self, island: usize, tolerance: f64) -> bool {
        self.takes(island) && self.errors[island] > tolerance.max(FINEST)
    }

    /// Solves the islands that were taken, from the impulses in `lambda`, with at most as many Newton steps as the budget
    /// has iterations. Those of other islands stay, and what belongs to none becomes zero. [`conclude`] comes next.
    pub(super) fn run(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
    ) -> SolveReport {
        let start = Instant::now();
        let limits = self.limits(request, start);
        let engines = self.islands.par_iter_mut();
        let work = self.granted.par_iter().zip(&self.kept);
        let chosen = engines.zip(work).zip(&mut self.errors);
        let start_impulses = &*lambda;
        let ends = chosen.enumerate();
        let ends = ends.map(|(island, ((engine, (granted, kept)), error))| {
            let Some(engine) = engine.as_mut().filter(|_| *granted >= 0.0) else {
                return Reason::Solved;
            };
            let limits = limits.with(granted - kept);
            let site = Site {
                problem,
                island,
                start: start_impulses,
            };
            *error = stages::solve(engine, &site, *error, &limits);
            engine.end(*error, &limits)
        });
        ends.collect_into_vec(&mut self.ends);
        while self.grant_again() {
            self.go_on(problem, &limits, start_impulses);
        }
        clear_idle(problem, lambda);
        self.store(problem, lambda, |state| &state.x);
        let mut report = SolveReport {
            solve_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        if request.history {
            let recording = self.taken().map(|(_, engine)| engine.state.recording);
            report.record_time = recording.sum();
            report.solve_time = (report.solve_time - report.record_time).max(0.0);
        }
        let engines = self.taken().map(|(_, engine)| engine);
        count(
            engines.map(|e| (e.state.tally, e.bodies.cost())),
            &mut report,
        );
        report.status = self.status(limits.tolerance);
        report
    }

    /// The islands that were taken.
    fn taken(&self) -> impl Iterator<Item = (usize, &Engine)> + Clone {
        let engines = self.islands.iter().enumerate();
        let engines = engines.filter_map(|(island, engine)| Some((island, engine.as_deref()?)));
        engines.filter(|(island, _)| self.granted[*island] >= 0.0)
    }

    fn store<'a>(
        &'a self,
        problem: &Problem,
        lambda: &mut [f64],
        impulses: impl Fn(&'a State) -> &'a [f64],
    ) {
        let first = problem.contact_rows();
        for (island, engine) in self.taken() {
            // What moves nothing is not among the engine's rows.
            for r in problem.islands.rows.of(island) {
                lambda[first + *r as usize] = 0.0;
            }
            let of = &engine.bodies.island;
            of.store(problem, impulses(&engine.state), lambda);
        }
    }

    /// The history of the last solution, whose result is `lambda`.
    pub(super) fn write_history(
        &self,
        problem: &Problem,
        lambda: &[f64],
        report: &mut SolveReport,
    ) {
        let states = self.taken().map(|(_, engine)| &engine.state);
        let store = |k: usize, lambda: &mut [f64]| {
            self.store(problem, lambda, |state| state.at_point(k));
        };
        write_history(problem, states, store, lambda, report);
    }
}

impl Solver for Newton {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        let grants = Grants {
            work: self.most.unwrap_or(f64::INFINITY),
            tolerance: request.budget.tolerance,
            sweeps: 0,
            admits_all: true,
        };
        self.choose(problem, lambda, u, &grants, (|_| true, |_| true));
        let choosing = start.elapsed().as_secs_f64();
        let mut report = self.run(problem, request, lambda);
        report.prepare_time = choosing;
        self.conclude(problem, lambda, u, &mut report);
        if request.history && report.status.is_usable() {
            self.write_history(problem, lambda, &mut report);
        }
        report
    }

    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let grants = Grants {
            work: f64::INFINITY,
            tolerance: request.budget.tolerance,
            sweeps: 0,
            admits_all: true,
        };
        let report = without_bodies::solve(problem, request, &grants, lambda);
        Ok(report.expect("work without limit"))
    }
}

impl Newton {
    /// As the function of this name, which has nothing to do where all islands stand: `u` is what [`Newton::choose`] made it.
    pub(super) fn conclude(
        &self,
        problem: &Problem,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
        report: &mut SolveReport,
    ) {
        if !self.all_stand() {
            conclude(problem, lambda, u, report);
        }
    }

    /// The limits of a request, without one to the work.
    fn limits(&self, request: &Request, start: Instant) -> Limits {
        let tolerance = request.budget.tolerance;
        Limits {
            tolerance: tolerance.max(FINEST),
            aim: (AIM * tolerance).max(FINEST),
            work: f64::INFINITY,
            steps: request.budget.iterations as usize,
            deadline: request.budget.time_limit().map(|limit| start + limit),
            history: request.history,
        }
    }

    fn status(&self, tolerance: f64) -> Status {
        let mut worst: f64 = 0.0;
        let mut is_over = false;
        for (island, _) in self.taken() {
            let error = &self.errors[island];
            if !error.is_finite() {
                return Status::Failed("a number that is not finite".into());
            }
            worst = worst.max(*error);
            is_over |= *error > tolerance && self.ends[island] != Reason::NoNearer;
        }
        if worst <= tolerance {
            Status::Converged
        } else if is_over {
            Status::Budget
        } else {
            let large = self
                .taken()
                .filter(|(island, e)| {
                    self.errors[*island] > tolerance && e.bodies.system.is_too_large()
                })
                .count();
            let why = match large {
                0 => String::new(),
                n => format!(
                    ", with {n} islands whose matrices are too large to be factored within the work"
                ),
            };
            Status::Stalled(format!("no method gets below {worst:.1e} m/s{why}"))
        }
    }

    /// What an island that was asked about needs at least (multiplications).
    pub(super) fn need(&self, island: usize) -> f64 {
        self.counted[island]
    }

    /// What became of an island that was taken: why its solution has ended, what it was granted and has spent
    /// (multiplications), and its residual (m/s).
    pub(super) fn outcome(&self, island: usize) -> (Reason, [f64; 2], f64) {
        let engine = self.islands[island].as_deref();
        let spent = engine.map_or(0.0, |engine| engine.state.tally.work) + self.swept[island];
        let work = [self.granted[island], spent];
        (self.ends[island], work, self.errors[island])
    }
}
