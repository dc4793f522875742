//! `bpp`: block principal pivoting, a direct solver (Lefebvre 2020; Júdice & Pires 1994).
//!
//! Per island the mixed linear complementarity problem lo ≤ Λ ≤ hi ⟂ w = A Λ + b is solved exactly by
//! guessing which rows are free, solving for them, and moving every row that the result contradicts
//! (`pivot`). Friction bounds ±μ Λ_N follow the normal impulses in an outer loop (`friction`).
//!
//! Contacts with redundant points make A singular, so contact rows get a declared compliance, and
//! proximal steps, one substitution each, take what it does to w back out.

mod branched;
mod cache;
mod coupled;
mod descend;
pub mod factor;
mod friction;
mod island;
mod kernels;
mod mlcp;
mod order;
mod pivot;
mod report;
mod skyline;
pub mod sparse;

use std::time::Instant;

use rayon::prelude::*;

use self::coupled::{Coupled, Parts};
use self::factor::{Factorization, Full};
use self::friction::{Ending, Friction, Outer, OuterTally};
use self::island::{Island, Layout, NONE, Refusal};
pub use self::mlcp::{FACTORIZATIONS, MlcpOptions, MlcpStats, solve_mlcp};
use self::pivot::{Limits, Work, project};
pub use self::report::PivotReport;
use self::skyline::Skyline;
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::solve::prox::shorten;
use crate::solve::{
    HistoryPoint, MatrixView, Parameter, ParameterKind, Parameters, Request, SolveReport, Solver,
    SolverInfo, Status,
};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "bpp",
    summary: "block principal pivoting: a direct solver, exact for friction boxes that follow the normal \
              impulses; an iteration is a set of free rows that was solved for",
    source: "Lefebvre 2020, chapters 2 and 3; Júdice & Pires 1994",
    least_iterations: 50_000,
    parameters: &[
        Parameter {
            name: "factorization",
            unit: "-",
            summary: "full: dense Cholesky of A_FF at every pivot. downdate: one dense factor of A, tight rows \
                      removed. skyline: the same within the envelope after reverse Cuthill–McKee. cached: \
                      skyline, with the intermediate factors of a step kept. sparse: LDLᵀ by approximate \
                      minimum degree, for islands that branch",
            source: "Lefebvre 2020, 2.2 and 3.2",
            kind: ParameterKind::Choice {
                default: "skyline",
                options: FACTORIZATIONS,
            },
        },
        Parameter {
            name: "pivots",
            unit: "-",
            summary: "most block pivots of a problem with fixed friction bounds; then single ones",
            source: "Lefebvre 2020, table 2.1",
            kind: ParameterKind::Integer {
                default: 35,
                range: [1, 100_000],
            },
        },
        Parameter {
            name: "single_pivots",
            unit: "-",
            summary: "most pivots of one row alone in such a problem",
            source: "Murty 1974",
            kind: ParameterKind::Integer {
                default: 30,
                range: [0, 1_000_000],
            },
        },
        Parameter {
            name: "descent_steps",
            unit: "-",
            summary: "most projected Newton steps after those, down the energy of such a problem",
            source: "Bertsekas 1982",
            kind: ParameterKind::Integer {
                default: 1000,
                range: [0, 1_000_000],
            },
        },
        Parameter {
            name: "patience",
            unit: "-",
            summary: "block pivots without fewer violations than before, until single pivots take over",
            source: "Júdice & Pires 1994, p",
            kind: ParameterKind::Integer {
                default: 3,
                range: [1, 1000],
            },
        },
        Parameter {
            name: "outer_iterations",
            unit: "-",
            summary: "most problems with fixed friction bounds",
            source: "-",
            kind: ParameterKind::Integer {
                default: 60,
                range: [1, 100_000],
            },
        },
        Parameter {
            name: "newton",
            unit: "-",
            summary: "whether friction bounds follow by Newton's method; else from solve to solve",
            source: "-",
            kind: ParameterKind::Flag { default: true },
        },
        Parameter {
            name: "warm_start",
            unit: "-",
            summary: "whether the sets of rows start from the last step's impulses; else all rows are free, and only the \
                      first friction bounds come from there, as the thesis's do",
            source: "-",
            kind: ParameterKind::Flag { default: true },
        },
        Parameter {
            name: "contact_compliance",
            unit: "-",
            summary: "compliance added to the contacts' rows, as a share of the diagonal of A",
            source: "Lefebvre 2020, 1.4",
            kind: ParameterKind::Number {
                default: 1e-9,
                range: [0.0, 1.0],
            },
        },
        Parameter {
            name: "refinements",
            unit: "-",
            summary: "most proximal steps that take the added compliance back out of w",
            source: "Rockafellar 1976",
            kind: ParameterKind::Integer {
                default: 6,
                range: [0, 1000],
            },
        },
        Parameter {
            name: "coupled_steps",
            unit: "-",
            summary: "where sets and friction bounds do not settle one after the other: most Newton steps on both \
                      at once, in proximal problems that hold less and less; 0 does without",
            source: "Hintermüller, Ito & Kunisch 2002; Rockafellar 1976",
            kind: ParameterKind::Integer {
                default: 400,
                range: [0, 1_000_000],
            },
        },
        Parameter {
            name: "refactor_share",
            unit: "-",
            summary: "share of tight rows above which A_FF is factored instead of downdated; 1: never, all tight rows \
                      are removed from the factor of A at every pivot, as in the thesis's measurements",
            source: "Lefebvre 2020, 2.2.2",
            kind: ParameterKind::Number {
                default: 0.15,
                range: [0.0, 1.0],
            },
        },
        Parameter {
            name: "memory",
            unit: "MB",
            summary: "most memory of an island's matrix, and of its cached factors; a larger one is refused",
            source: "-",
            kind: ParameterKind::Number {
                default: 512.0,
                range: [1.0, 1e6],
            },
        },
        Parameter {
            name: "condition_bound",
            unit: "-",
            summary: "estimated condition number of A_FF above which the report says so",
            source: "-",
            kind: ParameterKind::Number {
                default: 1e14,
                range: [1.0, 1e30],
            },
        },
        Parameter {
            name: "verify",
            unit: "-",
            summary: "whether the last factor is compared with A_FF and with a fresh one; not timed",
            source: "Lefebvre 2020, table 2.4",
            kind: ParameterKind::Flag { default: false },
        },
    ],
    make: |parameters| Box::new(Bpp::new(parameters)),
};

/// A result whose error is below this is the solution (m/s).
const ACCURATE: f64 = 1e-9;
/// Sweeps of Gauss–Seidel before each attempt of the coupled method.
const SWEEPS: [u32; 3] = [10, 100, 1000];
/// Problems with fixed friction bounds before the coupled method takes over.
const QUICK_OUTER: u32 = 8;

/// Bytes of a megabyte.
const MEGABYTE: f64 = 1e6;

/// The solver. It carries no state from step to step, only memory.
pub struct Bpp {
    settings: Settings,
    islands: Vec<Own>,
    local: Vec<u32>,
    largest: Option<usize>,
}

/// The parameters.
#[derive(Clone, Debug)]
struct Settings {
    factorization: String,
    limits: Limits,
    outer: Outer,
    coupled_steps: u32,
    warm_start: bool,
    contact_compliance: f64,
    refactor_share: f64,
    memory: usize,
    condition_bound: f64,
    verify: bool,
}

impl Settings {
    /// What pivoting may do before the coupled method takes over.
    fn quick(&self, limits: &Limits) -> (Limits, Outer) {
        let limits = Limits {
            single_pivots: 0,
            descent_steps: 0,
            ..*limits
        };
        let outer = Outer {
            iterations: self.outer.iterations.min(QUICK_OUTER),
            ..self.outer
        };
        (limits, outer)
    }

    fn layout(&self) -> Layout {
        match self.factorization.as_str() {
            "full" | "downdate" => Layout::Dense,
            "sparse" => Layout::Sparse,
            _ => Layout::Skyline,
        }
    }
}

/// A factorisation by name.
fn make_factorization(name: &str, share: f64, memory: usize) -> Box<dyn Factorization> {
    match name {
        "full" => Box::new(Full::default()),
        "cached" => Box::new(cache::Cached::new(memory, share)),
        "sparse" => Box::new(branched::Branched::default()),
        _ => Box::new(Skyline::new(share)),
    }
}

/// What one island needs.
struct Own {
    island: Island,
    factor: Box<dyn Factorization>,
    work: Work,
    friction: Friction,
    coupled: Coupled,
    start: Vec<f64>,
    best: Vec<f64>,
    image: Vec<f64>,
    report: PivotReport,
    outcome: Result<Ending, Failure>,
}

/// Why an island has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    NotFinite,
    TooLarge { rows: usize, bytes: usize },
}

impl Bpp {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let count = |name: &str| parameters.integer(name) as u32;
        Self {
            settings: Settings {
                factorization: parameters.choice("factorization").into(),
                limits: Limits {
                    pivots: count("pivots"),
                    single_pivots: count("single_pivots"),
                    descent_steps: count("descent_steps"),
                    patience: count("patience"),
                    budget: u32::MAX,
                    deadline: None,
                },
                outer: Outer {
                    iterations: count("outer_iterations"),
                    refinements: count("refinements"),
                    newton: parameters.flag("newton"),
                },
                coupled_steps: count("coupled_steps"),
                warm_start: parameters.flag("warm_start"),
                contact_compliance: parameters.number("contact_compliance"),
                refactor_share: parameters.number("refactor_share"),
                memory: (parameters.number("memory") * MEGABYTE) as usize,
                condition_bound: parameters.number("condition_bound"),
                verify: parameters.flag("verify"),
            },
            islands: Vec::new(),
            local: Vec::new(),
            largest: None,
        }
    }

    /// Numbers the bodies within their islands and makes room.
    fn prepare(&mut self, problem: &Problem) {
        self.local.clear();
        self.local.resize(problem.bodies.len(), 0);
        for island in 0..problem.islands.len() {
            for (k, body) in problem.islands.bodies.of(island).iter().enumerate() {
                self.local[*body as usize] = k as u32;
            }
        }
        let settings = &self.settings;
        if self.islands.len() < problem.islands.len() {
            self.islands.resize_with(problem.islands.len(), || Own {
                island: Island::default(),
                factor: make_factorization(
                    &settings.factorization,
                    settings.refactor_share,
                    settings.memory,
                ),
                work: Work::default(),
                friction: Friction::default(),
                coupled: Coupled::default(),
                start: Vec::new(),
                best: Vec::new(),
                image: Vec::new(),
                report: PivotReport::default(),
                outcome: Ok(Ending::Settled),
            });
        }
    }

    /// Λ of every island, within its bounds, and zero where no impulse moves anything.
    fn store(&self, islands: usize, lambda: &mut [f64], x: impl Fn(&Own) -> &[f64]) {
        lambda.fill(0.0);
        for own in &self.islands[..islands] {
            let scaled = x(own).iter().zip(&own.island.scale);
            for ((x, s), global) in scaled.zip(&own.island.global) {
                lambda[*global as usize] = x * s;
            }
        }
    }
}

impl Own {
    /// Orders, packs and assembles.
    fn assemble(&mut self, problem: &Problem, island: usize, local: &[u32], settings: &Settings) {
        let start = Instant::now();
        self.report = PivotReport::default();
        let assembled = self.island.assemble(
            problem,
            island,
            local,
            settings.layout(),
            settings.contact_compliance,
            settings.memory,
        );
        self.outcome = match assembled {
            Ok(()) => Ok(Ending::Settled),
            Err(Refusal::NotFinite) => Err(Failure::NotFinite),
            Err(Refusal::TooLarge(bytes)) => Err(Failure::TooLarge {
                rows: self.island.n(),
                bytes,
            }),
        };
        if self.outcome.is_ok() {
            self.factor.prepare(&self.island.matrix);
        }
        self.report.assemble_time = start.elapsed().as_secs_f64();
    }

    fn solve(&mut self, lambda: &[f64], settings: &Settings, limits: &Limits, history: bool) {
        let n = self.island.n();
        if n == 0 {
            return;
        }
        self.work.reset(&self.island);
        self.work.recorder.since = history.then(Instant::now);
        let starts = self.island.global.iter().zip(&self.island.scale);
        for (x, (global, scale)) in self.work.x.iter_mut().zip(starts) {
            let start = lambda[*global as usize] / scale;
            *x = if start.is_finite() { start } else { 0.0 };
        }
        friction::guess_sets(&mut self.island, &mut self.work, settings.warm_start);
        let mut tally = OuterTally::default();
        let has_friction = self.island.normal.iter().any(|normal| *normal != NONE);
        let coupled = settings.coupled_steps > 0 && has_friction;
        if coupled {
            self.start.clone_from(&self.work.x);
            if !settings.warm_start {
                self.start.fill(0.0);
            }
        }
        // Where the coupled method may follow, only as long as whole blocks move.
        let (quick, outer) = if coupled {
            settings.quick(limits)
        } else {
            (*limits, settings.outer)
        };
        self.outcome = self.pivot(&quick, &outer, &mut tally);
        if coupled && self.outcome.is_ok() {
            self.couple(settings, limits, &mut tally);
        }
        self.fill_report(&tally, settings);
    }

    /// Pivots with friction bounds that follow, from `work.x` and its sets. `work.x` is then within its
    /// bounds.
    fn pivot(
        &mut self,
        limits: &Limits,
        outer: &Outer,
        tally: &mut OuterTally,
    ) -> Result<Ending, Failure> {
        let Self {
            island,
            factor,
            work,
            friction,
            ..
        } = self;
        let ending = friction.solve(island, factor.as_mut(), work, limits, outer, tally);
        let ending = ending.map_err(|_| Failure::NotFinite)?;
        if ending == Ending::OutOfBudget && work.best_error.is_finite() {
            work.x.copy_from_slice(&work.best);
        }
        project(island, &mut work.x);
        Ok(ending)
    }

    /// Where the result is not the solution: sets and friction bounds at once, from the start,
    /// after some sweeps of Gauss–Seidel, then after more; and where that does not get there either,
    /// pivoting with all that it may do, from the best impulses so far.
    fn couple(&mut self, settings: &Settings, limits: &Limits, tally: &mut OuterTally) {
        let noise = self.work.noise(&self.island);
        let [wanted, enough] = [10.0, 100.0].map(|times| ACCURATE.max(times * noise));
        let mut least = coupled::error(&mut self.island, &self.work.x, &mut self.image);
        if self.work.is_over(limits) {
            return;
        }
        if least <= enough {
            self.outcome = Ok(Ending::Settled);
            return;
        }
        self.best.clone_from(&self.work.x);
        for sweeps in SWEEPS {
            self.work.x.copy_from_slice(&self.start);
            self.island.sweep(&mut self.work.x, sweeps);
            let tried = self.coupled.solve(
                &mut Parts {
                    island: &mut self.island,
                    factor: self.factor.as_mut(),
                    friction: &mut self.friction,
                    work: &mut self.work,
                },
                limits,
                settings.coupled_steps,
                wanted,
                tally,
            );
            if let Ok(error) = tried
                && error < least
            {
                least = error;
                self.best.clone_from(&self.work.x);
            }
            if least <= enough || self.work.is_over(limits) {
                break;
            }
        }
        if least > enough && !self.work.is_over(limits) {
            // The compliance pulls towards the best impulses, not towards none.
            self.work.x.copy_from_slice(&self.best);
            self.work.center.copy_from_slice(&self.best);
            friction::guess_sets(&mut self.island, &mut self.work, true);
            if self.pivot(limits, &settings.outer, tally).is_ok() {
                let error = coupled::error(&mut self.island, &self.work.x, &mut self.image);
                if error < least {
                    least = error;
                    self.best.clone_from(&self.work.x);
                }
            }
        }
        // The sets and the factor of what is returned, for whoever looks at them.
        self.work.x.copy_from_slice(&self.best);
        self.work.center.fill(0.0);
        friction::guess_sets(&mut self.island, &mut self.work, true);
        self.work.hold();
        let restricted = self.factor.restrict(&self.island.matrix, &self.work.tight);
        self.work.x.copy_from_slice(&self.best);
        tally.with_compliance = least;
        self.outcome = if restricted.is_err() {
            Err(Failure::NotFinite)
        } else if least <= enough {
            Ok(Ending::Settled)
        } else if self.work.is_over(limits) {
            Ok(Ending::OutOfBudget)
        } else {
            Ok(Ending::Unsettled)
        };
    }

    fn fill_report(&mut self, tally: &OuterTally, settings: &Settings) {
        let work = &self.work;
        let n = self.island.n() as u64;
        let mut counters = self.factor.counters();
        counters.add(&tally.earlier);
        let tight = work.tight.iter().filter(|t| **t).count() as u64;
        let [low, high] = self.factor.extremes(&work.tight);
        let condition = if low > 0.0 && low.is_finite() {
            (high / low) * (high / low)
        } else {
            1.0
        };
        let added = self.island.epsilon.iter().zip(&self.island.scale);
        let added = added
            .filter(|(_, s)| **s > 0.0)
            .fold(0.0, |m: f64, (e, s)| m.max(e / (s * s)));
        self.report = PivotReport {
            islands: 1,
            rows: n,
            largest_island: n,
            free: n - tight,
            tight,
            most_tight: work.tally.most_tight.into(),
            pivots: work.tally.pivots.into(),
            most_pivots: work.tally.pivots.into(),
            single_pivots: work.tally.single.into(),
            descents: work.tally.descents.into(),
            outer_iterations: tally.iterations.into(),
            most_outer_iterations: tally.iterations.into(),
            krylov_iterations: tally.krylov.into(),
            refinements: tally.refinements.into(),
            coupled_steps: tally.coupled_steps.into(),
            downdates: counters.downdates,
            refactorizations: counters.refactorizations,
            stored: self.island.matrix.envelope.len() as u64,
            cache_hits: counters.cache_hits,
            cache_entries: counters.cache_entries,
            cache_bytes: counters.cache_bytes,
            factor_time: work.tally.factor_time,
            solve_time: work.tally.solve_time,
            condition,
            ill_conditioned: condition > settings.condition_bound,
            added_compliance: added,
            raised: counters.raised,
            residual_with_compliance: tally.with_compliance,
            factor_error: None,
            downdate_error: None,
            ..self.report
        };
    }

    /// Compares the last factor with A_FF and with a fresh one.
    fn verify(&mut self) {
        let n = self.island.n();
        if n == 0 || self.work.tally.pivots == 0 {
            return;
        }
        let matrix = &self.island.matrix;
        let tight = &self.work.tight;
        let [error, apart] = mlcp::compare(matrix, self.factor.as_ref(), tight);
        self.report.factor_error = Some(error);
        self.report.downdate_error = Some(apart);
    }
}

impl Solver for Bpp {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn judged_law(&self) -> JudgedLaw {
        JudgedLaw::Intervals
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        let islands = problem.islands.len();
        self.prepare(problem);
        let (settings, local) = (&self.settings, &self.local);
        self.islands[..islands]
            .par_iter_mut()
            .enumerate()
            .for_each(|(island, own)| own.assemble(problem, island, local, settings));
        let mut report = SolveReport {
            prepare_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        let solving = Instant::now();
        let limits = Limits {
            budget: request.budget.iterations,
            deadline: request.budget.time_limit().map(|limit| solving + limit),
            ..settings.limits
        };
        if self.islands[..islands]
            .iter()
            .all(|own| own.outcome.is_ok())
        {
            let from = &*lambda;
            self.islands[..islands]
                .par_iter_mut()
                .for_each(|own| own.solve(from, settings, &limits, request.history));
            self.store(islands, lambda, |own| &own.work.x);
            problem.velocities(lambda, u);
        }
        report.solve_time = solving.elapsed().as_secs_f64();
        if request.history {
            let cost = self.islands[..islands].iter();
            let cost: f64 = cost.map(|own| own.work.recorder.cost).sum();
            report.solve_time = (report.solve_time - cost).max(0.0);
            report.record_time += cost;
        }
        report.status = status(&self.islands[..islands], settings);
        if matches!(report.status, Status::Failed(_)) {
            return report;
        }
        // What did not get to its end may hold more energy than no impulses at all.
        if report.status != Status::Converged && shorten(problem, lambda, u) {
            problem.velocities(lambda, u);
        }
        let measuring = Instant::now();
        if settings.verify {
            self.islands[..islands].par_iter_mut().for_each(Own::verify);
        }
        let mut pivoting = PivotReport::default();
        for own in &self.islands[..islands] {
            pivoting.add(&own.report);
        }
        report.iterations = pivoting.most_pivots as u32;
        report.statistics = pivoting.statistics();
        self.largest = (0..islands).max_by_key(|i| (self.islands[*i].island.n(), islands - i));
        if request.history {
            self.write_history(problem, lambda, &mut report);
        }
        report.record_time += measuring.elapsed().as_secs_f64();
        report
    }

    fn matrix_view(&self) -> Option<MatrixView> {
        let own = self.islands.get(self.largest?)?;
        let n = own.island.n();
        let mut view = MatrixView {
            n,
            row: own.island.global.clone(),
            tight: own.work.tight.clone(),
            ..MatrixView::default()
        };
        let mut by_row: Vec<u32> = (0..n as u32).collect();
        by_row.sort_unstable_by_key(|i| view.row[*i as usize]);
        view.natural = vec![0; n];
        for (place, i) in by_row.iter().enumerate() {
            view.natural[*i as usize] = place as u32;
        }
        let envelope = &own.island.matrix.envelope;
        for k in 0..n {
            let last = (k - k % factor::TILE + envelope.height(k / factor::TILE)).min(n) - 1;
            view.envelope.push(last as u32);
            let rows = (k..=last).filter(|i| own.island.couples(*i, k));
            view.a.extend(rows.map(|i| [i as u32, k as u32]));
        }
        own.factor.each_entry(&mut |i, k, value| {
            if value != 0.0 {
                view.l.push([i as u32, k as u32]);
            }
        });
        if let Some(order) = own.factor.order() {
            view.reorder(order);
        }
        Some(view)
    }
}

impl Bpp {
    /// One point per pivot: every island at its own pivot of that number, or at its last.
    fn write_history(&self, problem: &Problem, lambda: &[f64], report: &mut SolveReport) {
        let islands = problem.islands.len();
        let mut workspace = ResidualWorkspace::default();
        let mut before = vec![0.0; lambda.len()];
        let mut now = vec![0.0; lambda.len()];
        let mut time: f64 = 0.0;
        for pivot in 0..report.iterations as usize {
            let done = pivot + 1 == report.iterations as usize;
            if done {
                now.copy_from_slice(lambda);
                time = time.max(report.solve_time);
            } else {
                self.store(islands, &mut now, |own| {
                    match own.work.recorder.candidates.get(pivot) {
                        Some(candidate) => &candidate.x,
                        None => &own.work.x,
                    }
                });
                for own in &self.islands[..islands] {
                    if let Some(candidate) = own.work.recorder.candidates.get(pivot) {
                        time = time.max(candidate.time);
                    }
                }
            }
            let difference = now.iter().zip(&before).map(|(a, b)| (a - b).abs());
            let delta = difference.fold(0.0, f64::max);
            report.delta = delta;
            report.history.push(HistoryPoint {
                iteration: pivot as u32 + 1,
                time,
                residual: residual::evaluate(problem, &now, JudgedLaw::Intervals, &mut workspace)
                    .residual,
                delta,
            });
            std::mem::swap(&mut now, &mut before);
        }
    }
}

/// The outcome of all islands together.
fn status(islands: &[Own], settings: &Settings) -> Status {
    for own in islands {
        match &own.outcome {
            Err(Failure::NotFinite) => {
                return Status::Failed("the problem holds a number that is not finite".into());
            }
            Err(Failure::TooLarge { rows, bytes }) => {
                return Status::Failed(format!(
                    "the matrix of an island of {rows} rows takes {:.0} MB, more than the {:.0} MB that \
                     the parameter memory allows",
                    *bytes as f64 / MEGABYTE,
                    settings.memory as f64 / MEGABYTE
                ));
            }
            Ok(_) => {}
        }
    }
    if islands
        .iter()
        .any(|own| own.outcome == Ok(Ending::OutOfBudget))
    {
        return Status::Budget;
    }
    let unsettled = islands
        .iter()
        .filter(|own| own.outcome == Ok(Ending::Unsettled))
        .count();
    if unsettled > 0 {
        return Status::Stalled(format!(
            "the friction bounds of {unsettled} of {} islands did not settle",
            islands.len()
        ));
    }
    Status::Converged
}
