//! `newton`: exact laws, directly, for every friction law, at any ratio of masses and with redundant contacts.
//!
//! Per island (`engine`) the methods of a table come one after the other (`stages`): alternating directions where contacts
//! are redundant, elsewhere a few sweeps and pivoting, and then Newton's method on the laws themselves, proximal points,
//! and sweeps in turn. The result is judged by the exact law, and is never worse than its start. Islands that the impulses
//! solve already are left alone (`standing`). `without_bodies` does without bodies.

mod engine;
pub(in crate::solve) mod stages;
mod standing;
pub(in crate::solve) mod without_bodies;

use std::time::Instant;

use rayon::prelude::*;

use self::engine::Engine;
use self::stages::WITHOUT;
use crate::math::{Mat3, Twist};
use crate::problem::islands::NO_ISLAND;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::problem::{MatrixProblem, Problem};
use crate::solve::island::packed::DOF;
use crate::solve::island::{Operator, SIDE_BY_SIDE, Tally};
use crate::solve::method::conjugate_sweeps::PER_ROW;
use crate::solve::method::pivoting::Site;
use crate::solve::method::{Limits, State};
use crate::solve::sweeps::shorten;
use crate::solve::{
    HistoryPoint, Method, NeedsBodies, Over, Reason, Request, SolveReport, Solver, SolverInfo,
    Status,
};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "newton",
    summary: "exact laws, directly: Newton's method, proximal points and sweeps in turn, for every friction law and redundant contacts",
    source: "Rockafellar 1976; De Saxcé & Feng 1998; Yamashita & Fukushima 2001; Hintermüller, Ito & Kunisch 2002",
    least_iterations: 500,
    obstacle: || None,
    parameters: &[WITHOUT],
    make: |parameters| Box::new(Newton::without(stages::left_out(parameters))),
};

/// The finest residual that is asked of an island, whatever the budget says (m/s).
const FINEST: f64 = 1e-13;

/// The residual that it goes on to while every point gets nearer, as a share of the tolerance (-): the last steps are
/// the cheapest.
const AIM: f64 = 0.01;

/// Newton steps that an island should be granted at least, or else alternating directions, of which one that stands takes
/// up to five.
const NEED: f64 = 3.0;
const ITERATIONS: f64 = 3.0;

/// An island that no impulse has held yet is granted so many times its share (-), and where contacts are redundant so many:
/// it is solved from nothing once, and goes on from there. A house of cards takes as much as the default then, a wall of
/// 915 bricks that touch on all sides up to twelve times as much, and a tenth of it in the steps that follow; left unsolved
/// they sag, and shake for a minute.
const FIRST_GRANT: [f64; 2] = [10.0, 20.0];

/// What is kept of an island's grant for sweeps after an exact solution that ends early, at most (-), so that both together
/// take what was granted. The rest suffices for a wall of 915 bricks that touch on all sides, whose exact solution ends early
/// in some steps: it moves by less than 0.1 mm in a second.
const KEPT_FOR_SWEEPS: f64 = 0.25;

/// Multiplications of a row in a sweep by graph colours, which are made side by side, as [`SIDE_BY_SIDE`] has it: one of
/// the three passes that [`PER_ROW`] counts.
const SWEPT_ROW: f64 = SIDE_BY_SIDE * PER_ROW / 3.0;

/// What may be spent on a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grants {
    /// Multiplications; infinite where there is no limit.
    pub work: f64,
    /// The residual that is asked for (m/s).
    pub tolerance: f64,
    /// Sweeps that are to follow an exact solution that ends early.
    pub sweeps: u32,
}

/// The solver. It carries no state from step to step, only memory.
#[derive(Default)]
pub(super) struct Newton {
    /// The name of the stage that is left out.
    without: Option<&'static str>,
    /// The engine of each island that is a candidate: one takes kilobytes before it holds anything, and most of very many
    /// islands are none.
    islands: Vec<Option<Box<Engine>>>,
    /// Engines with memory, of which fewer candidates had no need.
    spare: Vec<Option<Box<Engine>>>,
    /// Number of each body within its island.
    local: Vec<u32>,
    /// The residual of each island (m/s).
    errors: Vec<f64>,
    /// The work that each island is granted; below zero where it is none of this solver's.
    granted: Vec<f64>,
    /// What of it is kept for sweeps, and what they took (multiplications).
    kept: Vec<f64>,
    swept: Vec<f64>,
    /// What an island needs at least, and its number.
    needs: Vec<(f64, u32)>,
    /// The same by island; 0 where it needs nothing, and where nobody asked.
    counted: Vec<f64>,
    /// Why the solution of each island has ended.
    ends: Vec<Reason>,
    /// The residual of each candidate that the impulses solve already (m/s).
    standing: Vec<Option<f64>>,
}

impl Newton {
    /// One that leaves a stage out.
    pub(super) fn without(without: Option<&'static str>) -> Self {
        Self {
            without,
            ..Self::default()
        }
    }

    /// Takes the islands that are candidates and fit into the granted work, the cheapest first. Those that the
    /// impulses solve already need none, and get no engine. `u` is overwritten; where all islands stand, with their
    /// velocities.
    pub(super) fn choose(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        u: &mut Vec<Twist>,
        grants: &Grants,
        is_candidate: impl Fn(usize) -> bool + Sync,
    ) {
        let islands = problem.islands.len();
        let open = self.find_standing(problem, (lambda, u), grants.tolerance, is_candidate);
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
            if is_solved || grants.work == f64::INFINITY {
                return (error, 0.0);
            }
            (error, need(engine))
        });
        let begun: Vec<(f64, f64)> = begun.collect();
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
        for (island, (_, need)) in begun.iter().enumerate() {
            if *need >= 0.0 {
                self.needs.push((*need, island as u32));
            }
        }
        self.needs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let fits = |(need, _): &&(f64, u32)| {
            sum += need;
            sum <= grants.work
        };
        let admitted = self.needs.iter().take_while(fits).count();
        let all: f64 = self.needs[..admitted].iter().map(|(need, _)| need).sum();
        for (need, island) in &self.needs[..admitted] {
            let mut engine = self.islands[*island as usize].as_deref_mut();
            let share = match &engine {
                Some(engine) if !engine.is_held() => FIRST_GRANT[usize::from(engine.alternates())],
                _ => 1.0,
            };
            let granted = if all > 0.0 && grants.work < f64::INFINITY {
                share * grants.work * need / all
            } else {
                grants.work
            };
            let mut sweeps = 0.0;
            if let Some(engine) = &mut engine {
                engine.granted = granted;
                sweeps = f64::from(grants.sweeps) * work_of_a_sweep(engine);
            }
            self.granted[*island as usize] = granted;
            self.kept[*island as usize] = sweeps.min(KEPT_FOR_SWEEPS * granted);
        }
    }

    /// How many sweeps of some islands what is left of all grants pays for.
    pub(super) fn affordable_sweeps(&self, islands: &[bool]) -> u32 {
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
    pub(super) fn book_sweeps(&mut self, islands: &[bool], sweeps: u32) -> f64 {
        for (island, _) in islands.iter().enumerate().filter(|(_, k)| **k) {
            let engine = self.engine(island);
            let work = f64::from(sweeps) * work_of_a_sweep(engine);
            let left = (self.granted[island] - engine.state.tally.work).max(0.0);
            self.swept[island] = work;
            self.granted[island] += (work - left).max(0.0);
        }
        self.swept.iter().sum()
    }

    /// Finds the candidates that the impulses solve already. Returns which are those that they do not.
    fn find_standing(
        &mut self,
        problem: &Problem,
        (lambda, u): (&[f64], &mut Vec<Twist>),
        tolerance: f64,
        is_candidate: impl Fn(usize) -> bool + Sync,
    ) -> Vec<bool> {
        let islands = 0..problem.islands.len();
        let mut open: Vec<bool> = islands.clone().into_par_iter().map(&is_candidate).collect();
        if open.contains(&true) {
            problem.velocities(lambda, u);
        }
        let at = (lambda, u.as_slice());
        let standing = islands.into_par_iter().map(|island| {
            if !open[island] {
                return None;
            }
            let limit = engine::accepted(is_redundant(problem, island), tolerance);
            standing::residual_within(problem, island, at, limit)
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

    /// Takes other impulses, where they are better; `spent` has the pivots and the work that they took, of islands that are
    /// meant. [`Newton::run`] goes on from there.
    pub(super) fn offer(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &[f64],
        spent: &[Option<(u32, f64)>],
    ) {
        let limits = self.limits(request, Instant::now());
        let engines = self.islands.par_iter_mut();
        let all = engines.zip(&mut self.errors).zip(spent);
        all.for_each(|((engine, error), spent)| {
            if let (Some(engine), Some(spent)) = (engine, spent) {
                *error = engine.offer(problem, lambda, *spent, &limits);
            }
        });
    }

    /// Whether the solution of an island has ended above the tolerance.
    pub(super) fn is_unfinished(&self, island: usize, tolerance: f64) -> bool {
        self.takes(island) && self.errors[island] > tolerance.max(FINEST)
    }

    /// Writes the impulses once more, after sweeps that were offered after [`Newton::run`]. Returns how the islands stand.
    pub(super) fn conclude_offer(
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

    /// One point per Newton step or round of sweeps: every island at its impulses of that number, or at its last. The
    /// last point is the result.
    pub(super) fn write_history(
        &self,
        problem: &Problem,
        lambda: &[f64],
        report: &mut SolveReport,
    ) {
        let recording = Instant::now();
        let taken = self.taken();
        let most = taken.clone().map(|(_, e)| e.state.points.len()).max();
        let mut workspace = ResidualWorkspace::default();
        let mut before = vec![0.0; lambda.len()];
        let mut now = lambda.to_vec();
        for k in 1..=most.unwrap_or(0) {
            if k == most.unwrap_or(0) {
                now.copy_from_slice(lambda);
            } else {
                self.store(problem, &mut now, |state| match state.points.get(k - 1) {
                    Some(point) => &point.impulses,
                    None => &state.x,
                });
            }
            let points = || taken.clone().filter_map(|(_, e)| e.state.points.get(k - 1));
            let difference = now.iter().zip(&before).map(|(a, b)| (a - b).abs());
            report.delta = difference.fold(0.0, f64::max);
            report.history.push(HistoryPoint {
                iteration: points().map(|p| p.steps).max().unwrap_or(0) as u32,
                time: points().map(|p| p.time).fold(0.0, f64::max),
                residual: residual::evaluate(problem, &now, JudgedLaw::Own, &mut workspace)
                    .residual,
                delta: report.delta,
            });
            before.copy_from_slice(&now);
        }
        if report.history.is_empty() {
            // The start is the result.
            report.history.push(HistoryPoint {
                iteration: 0,
                time: 0.0,
                residual: residual::evaluate(problem, lambda, JudgedLaw::Own, &mut workspace)
                    .residual,
                delta: 0.0,
            });
        }
        report.record_time += recording.elapsed().as_secs_f64();
    }
}

/// Clears the impulses of what belongs to no island, which moves nothing.
fn clear_idle(problem: &Problem, lambda: &mut [f64]) {
    let islands = &problem.islands;
    let in_islands = islands.contacts.items.len() + islands.rows.items.len();
    if in_islands == problem.contacts.len() + problem.rows.len() {
        return;
    }
    let is_idle = |bodies: &[u32]| {
        let mut islands = bodies.iter().map(|b| islands.of_body[*b as usize]);
        islands.all(|island| island == NO_ISLAND)
    };
    for (c, bodies) in problem.contacts.bodies.iter().enumerate() {
        if is_idle(bodies) {
            lambda[problem.contacts.rows(c)].fill(0.0);
        }
    }
    let first = problem.contact_rows();
    for r in (0..problem.rows.len()).filter(|r| is_idle(problem.rows.bodies(*r))) {
        lambda[first + r] = 0.0;
    }
}

/// Multiplications that a solution takes at least, about; infinite where its factor is too large.
fn need(engine: &mut Engine) -> f64 {
    engine.bodies.make_ready();
    if engine.bodies.system.is_too_large() {
        f64::INFINITY
    } else if engine.alternates() {
        stages::work_of_alternating(&engine.bodies, ITERATIONS)
    } else {
        NEED * engine.work_of_a_step()
    }
}

/// Multiplications of a sweep by graph colours over an island, about.
fn work_of_a_sweep(engine: &Engine) -> f64 {
    SWEPT_ROW * engine.state.x.len() as f64
}

/// Notes what was done on islands, each with the entries of its factor and the multiplications of a factorisation.
fn count(islands: impl Iterator<Item = (Tally, [f64; 2])> + Clone, report: &mut SolveReport) {
    let tallies = islands.clone().map(|(tally, _)| tally);
    let most = |of: fn(&Tally) -> usize| tallies.clone().map(|t| of(&t)).max();
    let sum = |of: fn(&Tally) -> usize| tallies.clone().map(|t| of(&t)).sum::<usize>();
    report.iterations = most(|t| t.steps).unwrap_or(0) as u32;
    let factored = islands.filter(|(tally, _)| tally.factors > 0);
    let entries: f64 = factored.clone().map(|(_, cost)| cost[0]).sum();
    let one: f64 = factored.map(|(_, cost)| cost[1]).sum();
    let work: f64 = tallies.clone().map(|t| t.work).sum();
    let numbers = [
        (
            "proximal points",
            "Problems with a penalty of their own, where plain steps led nowhere. The most of any island.",
            "-",
            Over::Max,
            most(|t| t.points).unwrap_or(0) as f64,
        ),
        (
            "factorisations",
            "Of Newton's matrix. All islands together.",
            "-",
            Over::Sum,
            sum(|t| t.factors) as f64,
        ),
        (
            "solves with a factor",
            "Two substitutions each. All islands together.",
            "-",
            Over::Sum,
            sum(|t| t.solves) as f64,
        ),
        (
            "entries of the factors",
            "Below the diagonal, stored zeros included. All islands together.",
            "-",
            Over::Max,
            entries,
        ),
        (
            "work of a factorisation",
            "Multiplications, in millions. All islands together.",
            "1e6",
            Over::Max,
            1e-6 * one,
        ),
        (
            "work",
            "Multiplications, about, in millions; a quarter of those that factorisations make side by side. All islands \
             together.",
            "1e6",
            Over::Sum,
            1e-6 * work,
        ),
    ];
    for (name, summary, unit, over, value) in numbers {
        report.note(name, summary, unit, over, value);
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
            work: f64::INFINITY,
            tolerance: request.budget.tolerance,
            sweeps: 0,
        };
        self.choose(problem, lambda, u, &grants, |_| true);
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
        };
        let report = without_bodies::solve(problem, request, &grants, lambda);
        Ok(report.expect("work without limit"))
    }
}

/// Of more islands than that, those of fewer contacts are swept: an engine for each takes memory, and sweeps solve
/// them in a few iterations.
const MANY: usize = 1000;
const WORTHWHILE: usize = 4;

/// Whether an island is too small for an engine of its own, there being so many.
pub(super) fn is_small_among_many(problem: &Problem, island: usize) -> bool {
    problem.islands.len() > MANY && problem.islands.contacts.of(island).len() < WORTHWHILE
}

/// What a solution of an island takes at least, about, before its pattern is looked at (multiplications): its
/// factorisations, of blocks of 6 per body, cubed, times the bodies to the power of nested dissection (George 1973;
/// Lipton, Rose & Tarjan 1979), 1.5 where they lie in a plane, and 2 in space, where a body has more neighbours, and the
/// contacts' normals lie in no plane. Measured, for one: 2.5e6 for the wall (250 bodies, 1.9 pairs for each), 1.1e7 for one
/// of 410 bricks that touch on all sides (2.8 pairs), 62e6 for the grid of 8³ (512 bodies, 2.6 pairs).
pub(super) fn likely_need(problem: &Problem, island: usize) -> f64 {
    const PER_BODY: f64 = 216.0;
    const IN_PLANE: f64 = 3.0;
    const FLAT: f64 = 2.3;
    let bodies = problem.islands.bodies.of(island).len() as f64;
    let contacts = problem.islands.contacts.of(island);
    let of = |c: u32| problem.contacts.bodies[c as usize];
    // Points of one manifold stand together.
    let pairs = contacts.chunk_by(|a, b| of(*a) == of(*b)).count() as f64;
    let factor = if pairs > FLAT * bodies && !lies_in_plane(problem, contacts) {
        PER_BODY * bodies * bodies
    } else {
        IN_PLANE * PER_BODY * bodies.powf(1.5)
    };
    let factors = if is_redundant(problem, island) {
        1.0
    } else {
        NEED
    };
    factors * SIDE_BY_SIDE * factor
}

/// Whether the contacts of an island are redundant, so that alternating directions come first.
pub(crate) fn is_redundant(problem: &Problem, island: usize) -> bool {
    let contacts = problem.islands.contacts.of(island).iter();
    let rows = contacts.map(|c| problem.contacts.rows(*c as usize).len());
    let bodies = problem.islands.bodies.of(island).len();
    engine::alternates(rows.sum(), DOF * bodies)
}

/// Whether the normals of contacts lie in a plane, or on a line: the determinant of the mean of n nᵀ, which is 1/27 for
/// normals in all directions.
fn lies_in_plane(problem: &Problem, contacts: &[u32]) -> bool {
    const FLAT: f64 = 1e-3;
    let normals = contacts
        .iter()
        .map(|c| problem.contacts.frame[*c as usize].axes()[0]);
    let sum: Mat3 = normals.map(|n| n * n.transpose()).sum();
    (sum / contacts.len() as f64).determinant() < FLAT / 27.0
}

/// The velocities of a result, which is shortened where it did not get to its end: it may then hold more energy than no
/// impulses at all.
pub(super) fn conclude(
    problem: &Problem,
    lambda: &mut [f64],
    u: &mut Vec<Twist>,
    report: &mut SolveReport,
) {
    if !report.status.is_usable() {
        return;
    }
    let start = Instant::now();
    problem.velocities(lambda, u);
    if report.status != Status::Converged && shorten(problem, lambda, u) {
        problem.velocities(lambda, u);
    }
    report.solve_time += start.elapsed().as_secs_f64();
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
                .filter(|(_, e)| e.bodies.system.is_too_large())
                .count();
            let why = match large {
                0 => String::new(),
                n => format!(", with {n} islands whose matrices are too large to be factored"),
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
