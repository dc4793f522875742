//! `auto`, the default: exact where a step's work budget allows it, sweeps for the rest.
//!
//! Per island and step, by counted multiplications and never by time, so that every machine chooses alike:
//! 1. What the last step's impulses still solve is left as it is.
//! 2. Islands of which a few factorisations, or one where contacts are redundant, fit into the work, or into that of the
//!    sweeps in their place, the cheapest first, are solved by `newton`, each with its share of the work, whatever number of
//!    iterations the budget has: that is the sweeps'.
//! 3. Islands whose exact solutions have ended early of late rest from them for some steps (`exact::backoff`).
//! 4. The others are swept by `colored-gs`, and where one of them rests, all up to four times as often as the budget says, as
//!    far as the whole work pays for. What an exact solution leaves above the tolerance is swept as often as what is left of
//!    the work pays for.
//!
//! A problem without bodies is handed to `newton` as a whole where a few factorisations fit into the work, and swept
//! where that leaves something.

use std::time::Instant;

use crate::math::Twist;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::problem::{Form, MatrixProblem, Problem};
use crate::solve::exact::backoff::Backoff;
use crate::solve::exact::stages::{WITHOUT, left_out};
use crate::solve::exact::{
    Ask, ExactPass, IslandRun, Refusal, Sweeper, WorkBudget, matrices, residual_within, sweeps_for,
};
use crate::solve::newton;
use crate::solve::subproblem::Subproblem;
use crate::solve::sweeps::colored_gs;
use crate::solve::{
    Budget, Choice, Choices, HistoryPoint, NeedsBodies, Over, Parameter, ParameterKind, Parameters,
    Reason, Request, SolveReport, Solver, SolverInfo, SolverView, Status, Traits,
};

/// What a step may take for exact solutions where nobody says (1e6 multiplications).
pub const DEFAULT_WORK: f64 = 30.0;

/// How many times as much as a solve a step may take, over all its rounds, beginnings, substeps and halvings (-): with 5 a cable on
/// a drum ends above the tolerance in 1 % of its first 180 steps, with 10 in none of them, and a step in front of contacts and
/// joints that contradict each other takes a third of a second.
const STEP: f64 = 10.0;

/// How many times the budget's sweeps islands have that rest from exact solutions, where the work allows it (-). Of 200
/// falling boxes they leave less than the budget's sweeps by `nncg` do (docs/choosing.md).
const MORE_SWEEPS: u32 = 4;

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "auto",
    summary: "the default: exact (newton) for every island that the work budget allows, sweeps (colored-gs) for the rest",
    source: "-",
    least_iterations: 1,
    traits: Traits {
        is_default: true,
        ..Traits::NONE
    },
    parameters: &[
        Parameter {
            name: "work",
            unit: "1e6 multiplications",
            summary: "what a solve may take for exact solutions, sweeps after those that end early included, and up to 20 times \
                  as much where no impulse has held an island yet; a step ten times as much over all its rounds and \
                  substeps; counted, not timed, so that every machine chooses alike",
            source: "-",
            kind: ParameterKind::Number {
                default: DEFAULT_WORK,
                range: [0.0, 1e6],
            },
        },
        WITHOUT,
    ],
    make: |parameters| Box::new(Auto::new(parameters)),
};

/// The solver.
struct Auto {
    work: f64,
    pass: ExactPass,
    backoff: Backoff,
    /// The impulses that the step starts from.
    start: Vec<f64>,
    sweeps: Box<dyn Solver>,
    /// The islands that are swept.
    part: Subproblem,
    /// Whether the last problem went to the sweeps as it was.
    sweeps_all: bool,
    /// How each island was solved, and why.
    choices: Vec<Choice>,
}

impl Auto {
    fn new(parameters: &Parameters) -> Self {
        Self {
            work: 1e6 * parameters.number("work"),
            pass: ExactPass::without(left_out(parameters)),
            backoff: Backoff::default(),
            start: Vec::new(),
            sweeps: colored_gs::INFO.with_defaults(),
            part: Subproblem::default(),
            sweeps_all: false,
            choices: Vec::new(),
        }
    }

    /// Decides about every island. Returns how many are swept.
    fn plan(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        u: &mut Vec<Twist>,
        request: &Request,
    ) -> usize {
        let budget = &request.budget;
        let work_budget = WorkBudget {
            work: self.work,
            left: request.bounded(self.work),
            step: request.bounded(f64::INFINITY),
            tolerance: budget.tolerance,
            sweeps: budget.iterations,
            admits_all: false,
            multiplies: !request.is_last,
        };
        let backoff = &self.backoff;
        let ask = |island: usize| match work_budget.refuse(problem, island, lambda) {
            Some(refusal) => Ask::Sweep(refusal),
            None if backoff.is_resting(problem, island) => Ask::Sweep(Refusal {
                reason: Reason::Rests,
                need: 0.0,
                work_budget: self.work,
            }),
            None => Ask::Solve,
        };
        self.pass.plan(problem, lambda, u, &work_budget, ask);
        let runs = self.pass.runs().iter();
        runs.filter(|run| run.is_swept()).count()
    }

    /// Sweeps what an exact solution has left above the tolerance.
    fn improve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
        report: &mut SolveReport,
    ) {
        let backoff = &self.backoff;
        let sweeper = Sweeper {
            solver: &mut *self.sweeps,
            start: &self.start,
            begins_there: |island| backoff.ends_burst(problem, island),
        };
        (self.pass).improve(problem, request, sweeper, lambda, u, report);
    }

    /// The sweeps over so many rows of what is swept: more than the budget's where islands among it rest from exact solutions.
    fn budget_of_sweeps(&self, rows: usize, budget: &Budget) -> Budget {
        let rests = |run: &IslandRun| matches!(run, IslandRun::Swept(refusal) if refusal.reason == Reason::Rests);
        let mut budget = *budget;
        if self.pass.runs().iter().any(rests) {
            let most = MORE_SWEEPS.saturating_mul(budget.iterations);
            let affordable = sweeps_for(self.work, rows).min(most);
            budget.iterations = budget.iterations.max(affordable);
        }
        budget
    }

    /// Sweeps the problem as it is, where nothing of it is solved exactly.
    fn sweep_all(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let mut each = *request;
        each.budget = self.budget_of_sweeps(lambda.len(), &request.budget);
        let mut report = self.sweeps.solve(problem, &each, lambda, u);
        let tolerance = request.budget.tolerance;
        self.check_swept(problem, tolerance, lambda, u, &mut report);
        report
    }

    /// Sweeps the islands that are not solved exactly.
    fn sweep_the_rest(
        &mut self,
        mut request: Request,
        problem: &Problem,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        request.budget = self.budget_of_sweeps(self.part.lambda.len(), &request.budget);
        let part = &mut self.part;
        let rest = (self.sweeps).solve(&part.problem, &request, &mut part.lambda, u);
        part.store(problem, lambda);
        rest
    }

    /// Looks at what sweeps call solved: they judge each contact when it is its turn, and later ones move it again.
    fn check_swept(
        &self,
        problem: &Problem,
        tolerance: f64,
        lambda: &[f64],
        u: &[Twist],
        report: &mut SolveReport,
    ) {
        let holds = |island| residual_within(problem, island, lambda, u, tolerance).is_some();
        let runs = self.pass.runs().iter().enumerate();
        let mut islands = runs.filter(|(_, run)| run.is_swept());
        if report.status == Status::Converged && !islands.all(|(island, _)| holds(island)) {
            let why = "sweeps have settled above the tolerance";
            report.status = Status::Stalled(why.into());
        }
    }

    /// Remembers which islands were solved, and which were not, for the next steps, and how and why for reports.
    fn learn(&mut self, problem: &Problem, tolerance: f64, report: &mut SolveReport) {
        self.choices.clear();
        for (island, run) in self.pass.runs().iter().enumerate() {
            self.choices.push(run.choice(problem, island));
            match run {
                IslandRun::Swept(_) => self.backoff.note_sweeps(problem, island),
                IslandRun::Exact(run) if run.is_unfinished(tolerance) => {
                    if run.end != Reason::Time {
                        let left = [run.residual, run.offered];
                        self.backoff.failed(problem, island, left);
                    }
                }
                _ => self.backoff.solved(problem, island),
            }
        }
        report.choices = Choices::of(&self.choices);
        self.note(report);
    }

    fn note(&self, report: &mut SolveReport) {
        let runs = self.pass.runs();
        let swept = runs.iter().filter(|run| run.is_swept()).count();
        let numbers = [
            (
                "islands solved exactly",
                "By newton: a few factorisations fit into the work budget, or the last impulses still do.",
                (runs.len() - swept) as f64,
            ),
            (
                "islands swept",
                "By colored-gs: exact solutions are beyond the work budget.",
                swept as f64,
            ),
        ];
        for (name, summary, value) in numbers {
            report.note(name, summary, "-", Over::Last, value);
        }
    }
}

impl Solver for Auto {
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
        let tolerance = request.budget.tolerance;
        let swept = self.plan(problem, lambda, u, request);
        self.sweeps_all = swept > 0 && swept == problem.islands.len();
        if self.sweeps_all {
            let planning = start.elapsed().as_secs_f64();
            let mut report = self.sweep_all(problem, request, lambda, u);
            report.prepare_time += planning;
            self.learn(problem, tolerance, &mut report);
            return report;
        }
        if swept > 0 {
            let runs = self.pass.runs();
            let is_swept = |island: usize| runs[island].is_swept();
            self.part.take(problem, is_swept, lambda);
        }
        let planning = start.elapsed().as_secs_f64();
        // Two solvers' histories are not one.
        let each = Request {
            history: request.history && swept == 0,
            ..*request
        };
        // Both share the wall-clock limit; where there is none, this changes nothing.
        let left = |spent: f64| Request {
            budget: each.budget.after(spent),
            ..each
        };
        self.start.clear();
        self.start.extend_from_slice(lambda);
        let mut report = self.pass.solve(problem, &exactly(&each), lambda);
        report.prepare_time += planning;
        let then = left(report.solve_time);
        self.improve(problem, &then, lambda, u, &mut report);
        if swept > 0 {
            let then = left(report.solve_time);
            let rest = self.sweep_the_rest(then, problem, lambda, u);
            report = report.beside(rest);
        }
        self.pass.conclude(problem, lambda, u, &mut report);
        self.check_swept(problem, tolerance, lambda, u, &mut report);
        self.learn(problem, tolerance, &mut report);
        report.charge = Some(self.pass.charge());
        report.need = self.pass.need_of_machines();
        if request.history && report.status.is_usable() {
            if swept == 0 {
                self.pass.write_history(problem, lambda, &mut report);
            } else {
                write_result(problem, lambda, &mut report);
            }
        }
        report
    }

    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let work_budget = WorkBudget {
            work: self.work,
            left: self.work,
            step: f64::INFINITY,
            tolerance: request.budget.tolerance,
            sweeps: 0,
            admits_all: false,
            multiplies: !request.is_last,
        };
        let Some(report) = matrices::solve(problem, request, &work_budget, lambda) else {
            return self.sweeps.solve_matrices(problem, request, lambda);
        };
        if !matches!(report.status, Status::Budget | Status::Stalled(_)) {
            return Ok(report);
        }
        let before = lambda.to_vec();
        let each = Request {
            history: false,
            budget: request.budget.after(report.solve_time),
            ..*request
        };
        let mut history = report.history.clone();
        let mut report = report.followed_by(self.sweeps.solve_matrices(problem, &each, lambda)?);
        let mut workspace = ResidualWorkspace::default();
        let mut judge = |lambda: &[f64]| {
            problem
                .residual(lambda, JudgedLaw::Own, &mut workspace)
                .residual
        };
        let [reached, earlier] = [judge(lambda), judge(&before)];
        if !report.status.is_usable() || reached.is_nan() || reached > earlier {
            lambda.copy_from_slice(&before);
            report.status = Status::Stalled("sweeps lead no nearer than newton has".into());
        }
        if request.history {
            history.push(HistoryPoint {
                iteration: report.iterations,
                time: report.solve_time,
                residual: reached.min(earlier),
                delta: report.delta,
            });
        }
        Ok(SolveReport { history, ..report })
    }

    fn tries(&self) -> bool {
        true
    }

    fn step_work(&self) -> f64 {
        STEP * self.work
    }

    fn correct(
        &mut self,
        problem: &Problem,
        bias: &[f64],
        budget: &Budget,
        u: &mut Vec<Twist>,
    ) -> bool {
        self.sweeps_all && self.sweeps.correct(problem, bias, budget, u)
    }

    fn view(&self) -> &dyn SolverView {
        self
    }

    fn state(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.backoff, self.sweeps.state())).unwrap_or_default()
    }

    fn set_state(&mut self, state: &[u8]) {
        let read = postcard::from_bytes(state).ok();
        let sound = read.filter(|(backoff, _): &(Backoff, Vec<u8>)| backoff.are_sound());
        let (backoff, sweeps) = sound.unwrap_or_default();
        self.backoff = backoff;
        self.sweeps.set_state(&sweeps);
    }
}

impl SolverView for Auto {
    fn colors(&self) -> Option<Vec<u32>> {
        let all = self.sweeps_all.then(|| self.sweeps.view());
        all.and_then(SolverView::colors)
    }

    fn choices(&self) -> &[Choice] {
        &self.choices
    }
}

/// The request with as many iterations as exact solutions need: the work budget is their limit. With the 50 that suffice
/// for sweeps, of the first 240 steps of falling shapes 173 missed their tolerance, of a tower of logs 128, of dominoes 57
/// and of a house of cards 20, with 3 to 7 of 30 million multiplications spent.
fn exactly(request: &Request) -> Request {
    let mut out = *request;
    out.budget.iterations = out.budget.iterations.max(newton::INFO.least_iterations);
    out
}

/// A history of the result alone.
fn write_result(problem: &Problem, lambda: &[f64], report: &mut SolveReport) {
    let begin = Instant::now();
    let mut workspace = ResidualWorkspace::default();
    let residual = residual::evaluate(problem, lambda, JudgedLaw::Own, &mut workspace).residual;
    report.history = vec![HistoryPoint {
        iteration: report.iterations,
        time: report.solve_time,
        residual,
        delta: report.delta,
    }];
    report.record_time += begin.elapsed().as_secs_f64();
}
