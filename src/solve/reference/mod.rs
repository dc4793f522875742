//! `reference`: `newton` with all it can do, for what is true where solvers are compared.
//!
//! It starts from the given impulses, from none, and from what `admm` and `nncg` make of the best so far, until every
//! island is at the goal: max(1e-10 m/s, 4ε‖|A||Λ| + |b|‖∞), the second being what rounding leaves of w = A Λ + b. What
//! it returns is the best of all by the residual that all solvers share. Then it solves once more from elsewhere: two
//! solutions whose velocities differ are both exact, and the problem has more than one.

mod refine;

use std::time::Instant;

pub use self::refine::{Refiner, velocity_estimate};
use crate::math::Twist;
use crate::problem::residual::{JudgedLaw, ResidualWorkspace};
use crate::problem::{Form, FrictionLaw, MatrixProblem, Problem};
use crate::solve::conclude::{conclude, copy_island};
use crate::solve::exact::{Ask, ExactPass, WorkBudget, matrices};
use crate::solve::sweeps::nncg;
use crate::solve::{
    Budget, NeedsBodies, Over, Parameter, ParameterKind, Parameters, Request, SolveReport, Solver,
    SolverInfo, Status, Traits, admm, work,
};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "reference",
    summary: "the most accurate answer there is here: newton from several starts, judged by the residual; says whether another one is as good",
    source: "as newton",
    least_iterations: 4000,
    traits: Traits {
        is_reference: true,
        ..Traits::NONE
    },
    parameters: &[
        Parameter {
            name: "twice",
            unit: "-",
            summary: "solve once more from another start, and say how far the velocities are from the first ones",
            source: "-",
            kind: ParameterKind::Flag { default: true },
        },
        work::parameter(PATIENCE * work::DIRECT),
    ],
    make: |parameters| Box::new(Reference::new(parameters)),
};

/// The residual that is asked for at least, whatever the budget says (m/s).
const GOAL: f64 = 1e-10;
/// How much more work it may take than a direct solver (-).
const PATIENCE: f64 = 10.0;
/// What rounding may leave of w, over ε‖|A||Λ| + |b|‖∞ (-).
const ROUNDING: f64 = 4.0;
/// Iterations of `admm` and of sweeps that make another start: redundant contacts that push apart by a rounded gap need
/// some hundred of the first, which move all impulses at once.
const OTHERS: [(&SolverInfo, u32); 2] = [(&admm::INFO, 3000), (&nncg::INFO, 1000)];
/// Turns of these and `newton` after the first two starts.
const TURNS: usize = 4;
/// Newton steps of one start at most: what 500 do not find, another start finds sooner.
const STEPS: u32 = 500;

/// What rounding leaves of w = A Λ + b (m/s).
pub fn rounding(problem: &impl Form, lambda: &[f64]) -> f64 {
    let mut a = problem.delassus().into_owned();
    a.value.iter_mut().for_each(|a| *a = a.abs());
    let first = problem.general_rows().start;
    let rows_of = |block: usize| match block.checked_sub(problem.contact_count()) {
        None => problem.rows_of(block),
        Some(r) => first + r..first + r + 1,
    };
    let mut by_blocks = Vec::with_capacity(lambda.len());
    for source in &a.source {
        let rows = rows_of(*source as usize);
        by_blocks.extend(lambda[rows].iter().map(|x| x.abs()));
    }
    let mut offset = vec![0.0; lambda.len()];
    problem.product(&vec![0.0; lambda.len()], &mut offset);
    let mut worst: f64 = 0.0;
    let mut image = [0.0; FrictionLaw::MAX_ROWS];
    for (b, source) in a.source.iter().enumerate() {
        let offset = &offset[rows_of(*source as usize)];
        let image = &mut image[..offset.len()];
        a.multiply_row(b, &by_blocks, 0, image);
        let sums = image.iter().zip(offset).map(|(a, b)| a + b.abs());
        worst = sums.fold(worst, f64::max);
    }
    ROUNDING * f64::EPSILON * worst
}

/// The solver.
struct Reference {
    twice: bool,
    /// Most multiplications of a solve.
    work: f64,
    pass: ExactPass,
    others: [Box<dyn Solver>; 2],
    /// The best impulses, and the residual of each island (m/s).
    best: Vec<f64>,
    errors: Vec<f64>,
    trial: Vec<f64>,
    velocity: Vec<Twist>,
}

impl Reference {
    fn new(parameters: &Parameters) -> Self {
        Self {
            twice: parameters.flag("twice"),
            work: work::limit(parameters),
            pass: ExactPass::default(),
            others: OTHERS.map(|(info, _)| info.with_defaults()),
            best: Vec::new(),
            errors: Vec::new(),
            trial: Vec::new(),
            velocity: Vec::new(),
        }
    }

    /// `newton` from the impulses in `trial`, on the islands that are not at the goal yet; what is better is kept.
    fn attempt(
        &mut self,
        problem: &Problem,
        request: &Request,
        work: f64,
        goal: f64,
    ) -> SolveReport {
        let errors = &self.errors;
        let budget = WorkBudget::to_all(work, goal);
        let ask = |island: usize| match errors[island] <= goal {
            true => Ask::Leave,
            false => Ask::Solve,
        };
        let u = &mut self.velocity;
        self.pass.plan(problem, &self.trial, u, &budget, ask);
        let mut report = self.pass.solve(problem, request, &mut self.trial);
        for (island, run) in self.pass.runs().iter().enumerate() {
            if let Some(residual) = run.residual()
                && residual < self.errors[island]
            {
                self.errors[island] = residual;
                copy_island(problem, island, &self.trial, &mut self.best);
            }
        }
        if request.history {
            self.pass.write_history(problem, &self.best, &mut report);
        }
        report
    }

    /// The impulses that another solver makes of the best.
    fn start_elsewhere(&mut self, other: usize, problem: &Problem, time: f64) {
        let request = Request {
            budget: Budget {
                iterations: OTHERS[other].1,
                tolerance: 0.1 * GOAL,
                time,
                ..Budget::default()
            },
            ..Request::default()
        };
        self.trial.clone_from(&self.best);
        let (trial, mut u) = (&mut self.trial, Vec::new());
        let report = self.others[other].solve(problem, &request, trial, &mut u);
        if !report.status.is_usable() {
            self.trial.clone_from(&self.best);
        }
    }

    fn worst(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }
}

/// What is left of a budget.
struct Left {
    begin: Instant,
    budget: Budget,
    history: bool,
    /// Multiplications in all.
    work: f64,
}

impl Left {
    /// The request of the start after those that are reported, and its work; none if iterations, work or time are used up.
    fn next(&self, used: &SolveReport, goal: f64) -> Option<(Request, f64)> {
        let iterations = self.budget.iterations.saturating_sub(used.iterations);
        let iterations = iterations.min(STEPS);
        let work = self.work - 1e6 * used.statistic(work::NAME).unwrap_or(0.0);
        let time = self.time()?;
        let request = Request {
            budget: Budget {
                iterations,
                tolerance: goal,
                time,
                ..self.budget
            },
            history: self.history,
            ..Request::default()
        };
        (iterations > 0 && work > 0.0).then_some((request, work))
    }

    /// The status of a residual after so many iterations.
    fn status(&self, residual: f64, used: &SolveReport, goal: f64) -> Status {
        if residual <= goal {
            Status::Converged
        } else if !residual.is_finite() {
            Status::Failed("a number that is not finite".into())
        } else if self.next(used, goal).is_none() {
            Status::Budget
        } else {
            Status::Stalled(format!("no start gets below {residual:.1e} m/s"))
        }
    }

    /// Seconds that are left, 0 without a limit; none if time is over.
    fn time(&self) -> Option<f64> {
        if self.budget.time <= 0.0 {
            return Some(0.0);
        }
        let left = self.budget.time - self.begin.elapsed().as_secs_f64();
        (left > 0.0).then_some(left)
    }
}

impl Solver for Reference {
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
        let left = Left {
            begin: Instant::now(),
            budget: request.budget,
            history: request.history,
            work: self.work,
        };
        let finest = GOAL.min(request.budget.tolerance);
        let islands = problem.islands.len();
        self.errors.clear();
        self.errors.resize(islands, f64::INFINITY);
        self.best.clear();
        self.best.resize(lambda.len(), 0.0);
        self.trial.clear();
        self.trial.extend_from_slice(lambda);
        let is_cold = lambda.iter().all(|x| *x == 0.0);
        let mut report = SolveReport::default();
        let mut goal = finest;
        let mut starts = 0;
        for turn in usize::from(is_cold)..2 + TURNS {
            let Some((next, _)) = left.next(&report, goal) else {
                break;
            };
            match turn {
                0 => {}
                1 => self.trial.fill(0.0),
                _ => self.start_elsewhere(turn % 2, problem, next.budget.time),
            }
            let Some((next, work)) = left.next(&report, goal) else {
                break;
            };
            starts += 1;
            report = joined(report, self.attempt(problem, &next, work, goal));
            if !report.status.is_usable() || self.worst() <= finest {
                break;
            }
            goal = finest.max(rounding(problem, &self.best));
            if self.worst() <= goal {
                break;
            }
        }
        if starts == 0 {
            self.best.copy_from_slice(lambda);
        }
        lambda.copy_from_slice(&self.best);
        self.judge(problem, goal, &left, &mut report);
        let other = (self.twice && report.status == Status::Converged)
            .then(|| self.another(problem, is_cold || starts > 1, &left, goal, &mut report))
            .flatten();
        note(&mut report, starts, goal, other);
        conclude(problem, lambda, u, &mut report);
        if let Some(last) = report.history.last_mut() {
            // What did not get there may have been shortened.
            let mut workspace = ResidualWorkspace::default();
            last.residual = problem
                .residual(lambda, JudgedLaw::Own, &mut workspace)
                .residual;
        }
        report
    }

    /// `newton` from the given impulses and from none.
    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let left = Left {
            begin: Instant::now(),
            budget: request.budget,
            history: request.history,
            work: f64::INFINITY,
        };
        let finest = GOAL.min(request.budget.tolerance);
        let mut workspace = ResidualWorkspace::default();
        let mut judge = |lambda: &[f64]| {
            problem
                .residual(lambda, JudgedLaw::Own, &mut workspace)
                .residual
        };
        let mut least = judge(lambda);
        let mut report = SolveReport::default();
        let (mut goal, mut starts) = (finest, 0);
        self.trial.clear();
        self.trial.extend_from_slice(lambda);
        for _ in 0..2 {
            let Some((next, _)) = left.next(&report, goal) else {
                break;
            };
            starts += 1;
            let budget = WorkBudget::to_all(f64::INFINITY, goal);
            let found = matrices::solve(problem, &next, &budget, &mut self.trial);
            let found = found.expect("work without limit");
            let is_usable = found.status.is_usable();
            report = joined(report, found);
            let reached = judge(&self.trial);
            if is_usable && (reached < least || least.is_nan()) {
                least = reached;
                lambda.copy_from_slice(&self.trial);
            }
            if least <= finest || !is_usable {
                break;
            }
            goal = finest.max(rounding(problem, lambda));
            if least <= goal {
                break;
            }
            self.trial.fill(0.0);
        }
        if report.status.is_usable() {
            report.status = left.status(least, &report, goal);
        }
        note(&mut report, starts, goal, None);
        if let Some(last) = report.history.last_mut() {
            last.residual = least;
        }
        Ok(report)
    }
}

impl Reference {
    /// The status of the best impulses, by the residual that all solvers share.
    fn judge(&self, problem: &Problem, goal: f64, left: &Left, report: &mut SolveReport) {
        if !report.status.is_usable() {
            return;
        }
        let mut workspace = ResidualWorkspace::default();
        let found = problem.residual(&self.best, JudgedLaw::Own, &mut workspace);
        report.status = left.status(found.residual, report, goal);
    }

    /// Solves from another start, and returns how far w is from that of the best; none where that start leads nowhere.
    fn another(
        &mut self,
        problem: &Problem,
        from_others: bool,
        left: &Left,
        goal: f64,
        report: &mut SolveReport,
    ) -> Option<f64> {
        let (mut next, mut work) = left.next(report, goal)?;
        next.history = false;
        let first = self.best.clone();
        let errors = self.errors.clone();
        self.best.fill(0.0);
        if from_others {
            self.start_elsewhere(0, problem, next.budget.time);
            (next, work) = left.next(report, goal)?;
            next.history = false;
        } else {
            self.trial.fill(0.0);
        }
        self.errors.fill(f64::INFINITY);
        let second = self.attempt(problem, &next, work, goal);
        let is_exact = second.status.is_usable() && self.worst() <= goal;
        let distance = is_exact.then(|| {
            let mut w = [vec![0.0; first.len()], vec![0.0; first.len()]];
            problem.product(&first, &mut w[0]);
            problem.product(&self.best, &mut w[1]);
            let pairs = w[0].iter().zip(&w[1]);
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        });
        self.best = first;
        self.errors = errors;
        report.prepare_time += second.prepare_time;
        report.solve_time += second.solve_time;
        distance
    }
}

fn note(report: &mut SolveReport, starts: usize, goal: f64, other: Option<f64>) {
    report.note(
        "starts",
        "Impulses that newton began with, until one led to the goal.",
        "-",
        Over::Last,
        starts as f64,
    );
    report.note(
        "goal",
        "1e-10, or what rounding leaves of w where that is more and was needed.",
        "m/s",
        Over::Last,
        goal,
    );
    if let Some(other) = other {
        report.note(
            "distance of another solution",
            "Between the velocities of two exact solutions, at contacts and joints: of more than 1e-6 m/s, the problem has several.",
            "m/s",
            Over::Last,
            other,
        );
    }
}

/// The report on two starts of one problem, one after the other.
fn joined(mut first: SolveReport, mut second: SolveReport) -> SolveReport {
    let mut history = std::mem::take(&mut first.history);
    for mut point in std::mem::take(&mut second.history) {
        point.iteration += first.iterations;
        point.time += first.solve_time;
        history.push(point);
    }
    SolveReport {
        history,
        ..first.followed_by(second)
    }
}
