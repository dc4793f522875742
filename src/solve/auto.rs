//! `auto`, the default: exact where the work that is granted to a step allows it, sweeps for the rest.
//!
//! Per island and step, by counted multiplications and never by time, so that every machine chooses alike:
//! 1. What the last step's impulses still solve is left as it is.
//! 2. Islands of which a few factorisations, or one where contacts are redundant, fit into the work, or into that of the
//!    sweeps in their place, the cheapest first, are solved by `newton`, each with its share of the work, whatever number of
//!    iterations the budget has: that is the sweeps'.
//! 3. Islands whose exact solutions have ended early of late rest from them for some steps (`attempts`), and are swept up to
//!    four times as often as the budget says, as far as the work goes.
//! 4. The others are swept by `colored-gs`, and so is what an exact solution leaves above the tolerance, as often as what is
//!    left of the grants pays for.
//!
//! A problem without bodies is handed to `newton` as a whole where a few factorisations fit into the work, and swept
//! where that leaves something.

use std::time::Instant;

use rayon::prelude::*;

use crate::math::Twist;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::problem::{Form, MatrixProblem, Problem};
use crate::solve::attempts::Attempts;
use crate::solve::conclude::copy_island;
use crate::solve::newton::stages::{WITHOUT, left_out};
use crate::solve::newton::{self, Grants, Newton, Refusal};
use crate::solve::part::Part;
use crate::solve::sweeps::colored_gs;
use crate::solve::{
    Budget, Choice, Choices, HistoryPoint, NeedsBodies, Over, Parameter, ParameterKind, Parameters,
    Reason, Request, SolveReport, Solver, SolverInfo, Status,
};

/// What a step may take for exact solutions where nobody says (1e6 multiplications).
pub const DEFAULT_WORK: f64 = 30.0;

/// How many times the budget's sweeps islands have that rest from exact solutions, where the work allows it (-). Of 200
/// falling boxes they leave less than the budget's sweeps by `nncg` do (docs/choosing.md).
const MORE_SWEEPS: u32 = 4;

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "auto",
    summary: "the default: exact (newton) for every island that the granted work allows, sweeps (colored-gs) for the rest",
    source: "-",
    least_iterations: 1,
    obstacle: || None,
    parameters: &[
        Parameter {
            name: "work",
            unit: "1e6 multiplications",
            summary: "what a step may take for exact solutions, sweeps after those that end early included, and up to 20 times \
                  as much where no impulse has held an island yet; counted, not timed, so that every machine chooses alike",
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
    newton: Newton,
    /// The impulses that the step starts from.
    start: Vec<f64>,
    /// What sweeps begin with, and what they have found in the end.
    offered: Vec<f64>,
    sweeps: Box<dyn Solver>,
    part: Part,
    swept: Vec<bool>,
    /// Islands that are not tried at all.
    refused: Vec<Option<Refusal>>,
    /// Islands whose exact solution has ended early.
    left: Part,
    unfinished: Vec<bool>,
    attempts: Attempts,
    /// Whether the last problem went to the sweeps as it was.
    sweeps_all: bool,
    /// How each island was solved, and why.
    choices: Vec<Choice>,
}

/// The work that is asked for (1e6 multiplications). Builds with debug assertions, as tests are, take `MOREAU_TEST_WORK` for
/// the default, so that the tests can be run with a solver that differs in its last digits.
fn work(parameters: &Parameters) -> f64 {
    let asked = parameters.number("work");
    if cfg!(debug_assertions) && asked == DEFAULT_WORK {
        let other = std::env::var("MOREAU_TEST_WORK").ok();
        return other.and_then(|w| w.parse().ok()).unwrap_or(asked);
    }
    asked
}

impl Auto {
    fn new(parameters: &Parameters) -> Self {
        Self {
            work: 1e6 * work(parameters),
            newton: Newton::without(left_out(parameters)),
            start: Vec::new(),
            offered: Vec::new(),
            sweeps: colored_gs::INFO.with_defaults(),
            part: Part::default(),
            swept: Vec::new(),
            refused: Vec::new(),
            left: Part::default(),
            unfinished: Vec::new(),
            attempts: Attempts::default(),
            sweeps_all: false,
            choices: Vec::new(),
        }
    }

    /// Chooses between `newton` and sweeps for every island. Returns how many are swept.
    fn choose(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        u: &mut Vec<Twist>,
        budget: &Budget,
    ) -> usize {
        let grants = Grants {
            work: self.work,
            tolerance: budget.tolerance,
            sweeps: budget.iterations,
            admits_all: false,
        };
        let islands = (0..problem.islands.len()).into_par_iter();
        let refused = islands.map(|island| grants.refuse(problem, island, lambda));
        refused.collect_into_vec(&mut self.refused);
        let (attempts, refused) = (&self.attempts, &self.refused);
        let may_stand =
            |island: usize| (refused[island].as_ref()).is_none_or(|r| r.reason != Reason::Many);
        let may_try = |island: usize| refused[island].is_none() && !attempts.rests(problem, island);
        let which = (may_stand, may_try);
        self.newton.choose(problem, lambda, u, &grants, which);
        self.swept.clear();
        let islands = 0..problem.islands.len();
        self.swept.extend(islands.map(|k| !self.newton.takes(k)));
        self.swept.iter().filter(|swept| **swept).count()
    }

    /// Sweeps on islands whose exact solution has ended above the tolerance, which stand where they lead nearer: a wall for
    /// which four alternating directions a step are granted, and six are needed, else keeps its impulses, and what is wrong
    /// with them doubles from step to step until it falls.
    fn sweep_unfinished(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
        report: &mut SolveReport,
    ) {
        let start = Instant::now();
        let tolerance = request.budget.tolerance;
        let islands = 0..problem.islands.len();
        self.unfinished.clear();
        let unfinished = islands.map(|k| self.newton.is_unfinished(k, tolerance));
        self.unfinished.extend(unfinished);
        if !self.unfinished.contains(&true) || !report.status.is_usable() {
            return;
        }
        let mut each = Request {
            history: false,
            ..*request
        };
        let iterations = self.newton.affordable_sweeps(&self.unfinished);
        each.budget.iterations = each.budget.iterations.min(iterations);
        if iterations == 0 {
            return;
        }
        let left = &mut self.left;
        self.offered.clear();
        self.offered.extend_from_slice(lambda);
        for island in (0..self.unfinished.len()).filter(|k| self.unfinished[*k]) {
            if self.attempts.ends_burst(problem, island) {
                copy_island(problem, island, &self.start, &mut self.offered);
            }
        }
        left.take(problem, &self.unfinished, &self.offered);
        let swept = self.sweeps.solve(&left.problem, &each, &mut left.lambda, u);
        let work = (self.newton).book_sweeps(&self.unfinished, swept.iterations);
        report.add_to("work", 1e-6 * work);
        if swept.status.is_usable() {
            self.offered.clear();
            self.offered.extend_from_slice(lambda);
            left.store(problem, &mut self.offered);
            let spent = (swept.iterations, 0.0);
            let spent: Vec<_> = self.unfinished.iter().map(|k| k.then_some(spent)).collect();
            self.newton.offer(problem, request, &self.offered, &spent);
            report.status = self.newton.conclude_offer(problem, tolerance, lambda);
        }
        report.solve_time += start.elapsed().as_secs_f64();
    }

    /// The sweeps over so many rows of what is swept: more than the budget's where islands among it rest from exact solutions.
    fn budget_of_sweeps(&self, problem: &Problem, rows: usize, budget: &Budget) -> Budget {
        let mut islands = self.swept.iter().zip(&self.refused).enumerate();
        let rests = islands.any(|(island, (swept, refused))| {
            *swept && refused.is_none() && self.attempts.rests(problem, island)
        });
        let mut budget = *budget;
        if rests {
            let most = MORE_SWEEPS.saturating_mul(budget.iterations);
            let affordable = newton::sweeps_for(self.work, rows).min(most);
            budget.iterations = budget.iterations.max(affordable);
        }
        budget
    }

    /// Looks at what sweeps call solved: they judge each contact when it is its turn, and later ones move it again.
    fn check_swept(
        &self,
        problem: &Problem,
        tolerance: f64,
        at: (&[f64], &[Twist]),
        report: &mut SolveReport,
    ) {
        let holds = |island| newton::residual_within(problem, island, at, tolerance).is_some();
        let mut islands = self.swept.iter().enumerate().filter(|(_, swept)| **swept);
        if report.status == Status::Converged && !islands.all(|(island, _)| holds(island)) {
            let why = "sweeps have settled above the tolerance";
            report.status = Status::Stalled(why.into());
        }
    }

    /// How each island was solved, once it is.
    fn account(&mut self, problem: &Problem, report: &mut SolveReport) {
        self.choices.clear();
        for (island, swept) in self.swept.iter().enumerate() {
            let mut choice = Choice::of(problem, island, Reason::Grant);
            choice.need = self.newton.need(island);
            choice.granted = self.work;
            if !swept {
                let (reason, [granted, spent], residual) = self.newton.outcome(island);
                (choice.reason, choice.residual) = (reason, Some(residual));
                (choice.granted, choice.spent) = (granted, spent);
            } else if let Some(refusal) = &self.refused[island] {
                (choice.reason, choice.need) = (refusal.reason, refusal.need);
                choice.granted = refusal.granted;
            } else if self.attempts.rests(problem, island) {
                choice.reason = Reason::Rests;
            }
            self.choices.push(choice);
        }
        report.choices = Choices::of(&self.choices);
    }

    /// Remembers which islands were solved, and which were not, for the next steps.
    fn remember(&mut self, problem: &Problem, tolerance: f64) {
        for (island, swept) in self.swept.iter().enumerate() {
            if *swept {
                self.attempts.rested(problem, island);
            } else if !self.newton.is_unfinished(island, tolerance) {
                self.attempts.solved(problem, island);
            } else if self.newton.outcome(island).0 != Reason::Time {
                let left = [self.newton.error(island), self.newton.offered(island)];
                self.attempts.failed(problem, island, left);
            }
        }
    }

    fn note(&self, swept: usize, report: &mut SolveReport) {
        let numbers = [
            (
                "islands solved exactly",
                "By newton: a few factorisations fit into the granted work, or the last impulses still do.",
                (self.swept.len() - swept) as f64,
            ),
            (
                "islands swept",
                "By colored-gs: exact solutions are beyond the granted work.",
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
        let swept = self.choose(problem, lambda, u, &request.budget);
        let mut choosing = start.elapsed().as_secs_f64();
        self.sweeps_all = swept > 0 && swept == problem.islands.len();
        if self.sweeps_all {
            let mut each = *request;
            each.budget = self.budget_of_sweeps(problem, lambda.len(), &request.budget);
            let mut report = self.sweeps.solve(problem, &each, lambda, u);
            report.prepare_time += choosing;
            let tolerance = request.budget.tolerance;
            self.check_swept(problem, tolerance, (lambda, u), &mut report);
            self.note(swept, &mut report);
            self.account(problem, &mut report);
            self.remember(problem, request.budget.tolerance);
            return report;
        }
        if swept > 0 {
            self.part.take(problem, &self.swept, lambda);
            choosing = start.elapsed().as_secs_f64();
        }
        // Two solvers' histories are not one.
        let each = Request {
            history: request.history && swept == 0,
            ..*request
        };
        // The rungs share the wall-clock limit; where there is none, this changes nothing.
        let left = |spent: f64| Request {
            budget: each.budget.after(spent),
            ..each
        };
        self.start.clear();
        self.start.extend_from_slice(lambda);
        let mut report = (self.newton).run(problem, &exactly(&each), lambda);
        report.prepare_time += choosing;
        let then = left(report.solve_time);
        self.sweep_unfinished(problem, &then, lambda, u, &mut report);
        if swept > 0 {
            let mut then = left(report.solve_time);
            let rows = self.part.lambda.len();
            then.budget = self.budget_of_sweeps(problem, rows, &then.budget);
            let part = &mut self.part;
            let rest = self.sweeps.solve(&part.problem, &then, &mut part.lambda, u);
            part.store(problem, lambda);
            report = report.beside(rest);
        }
        self.note(swept, &mut report);
        self.account(problem, &mut report);
        self.remember(problem, request.budget.tolerance);
        self.newton.conclude(problem, lambda, u, &mut report);
        let tolerance = request.budget.tolerance;
        self.check_swept(problem, tolerance, (lambda, u), &mut report);
        if request.history && report.status.is_usable() {
            if swept == 0 {
                self.newton.write_history(problem, lambda, &mut report);
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
        let grants = Grants {
            work: self.work,
            tolerance: request.budget.tolerance,
            sweeps: 0,
            admits_all: false,
        };
        let Some(report) = newton::without_bodies::solve(problem, request, &grants, lambda) else {
            return self.sweeps.solve_matrices(problem, request, lambda);
        };
        if !matches!(report.status, Status::Budget | Status::Stalled(_)) {
            return Ok(report);
        }
        let before = lambda.to_vec();
        let each = Request {
            history: false,
            budget: request.budget.after(report.solve_time),
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

    fn correct(
        &mut self,
        problem: &Problem,
        bias: &[f64],
        budget: &Budget,
        u: &mut Vec<Twist>,
    ) -> bool {
        self.sweeps_all && self.sweeps.correct(problem, bias, budget, u)
    }

    fn contact_colors(&self) -> Option<Vec<u32>> {
        self.sweeps_all
            .then(|| self.sweeps.contact_colors())
            .flatten()
    }

    fn choices(&self) -> &[Choice] {
        &self.choices
    }

    fn state(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.attempts, self.sweeps.state())).unwrap_or_default()
    }

    fn set_state(&mut self, state: &[u8]) {
        let read = postcard::from_bytes(state).ok();
        let sound = read.filter(|(attempts, _): &(Attempts, Vec<u8>)| attempts.are_sound());
        let (attempts, sweeps) = sound.unwrap_or_default();
        self.attempts = attempts;
        self.sweeps.set_state(&sweeps);
    }
}

/// The request with as many iterations as exact solutions need: the granted work is their limit. With the 50 that suffice
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
