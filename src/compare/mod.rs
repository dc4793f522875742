//! Unlike solvers on the same problem, under one residual.
//!
//! A [`Contest`] holds the solvers that take part, each with parameters and a budget of its own. It gives every one
//! of them the same problem and the same start, measures what each returns with [`crate::problem::residual`], and
//! says how far its velocities are from those of the most accurate one.

mod arena;
mod fields;
mod plots;
mod presets;
#[cfg(feature = "cli")]
mod tables;

use crate::math::Twist;
use crate::measure::Summary;
use crate::problem::residual::{JudgedLaw, Residual, ResidualWorkspace, velocity_distance};
use crate::problem::{Form, MatrixProblem, Problem};
use crate::solve::reference::Refiner;
use crate::solve::{
    ConfigError, NeedsBodies, Request, SolveReport, Solver, SolverConfig, Status, find,
};
pub use arena::{Arena, ArenaError, Posed, Standing, Terms, outcomes};
pub use fields::{FIELDS, Field, status_word};
pub use plots::convergence;
pub use presets::{
    EqualQuality, EqualTime, equal_quality, equal_time, quality_sentence, time_sentence,
};
#[cfg(feature = "cli")]
pub use tables::{Compared, csv, histories};

/// A solver that takes part, with its memory.
pub struct Contestant {
    /// How it is called in tables and plots.
    pub label: String,
    /// What it is.
    pub config: SolverConfig,
    solver: Box<dyn Solver>,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
}

impl Contestant {
    /// Makes the solver.
    ///
    /// # Errors
    /// An unknown solver, or parameters out of range.
    pub fn new(label: impl Into<String>, config: SolverConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            label: label.into(),
            solver: config.build()?,
            config,
            lambda: Vec::new(),
            velocity: Vec::new(),
        })
    }

    fn solve(&mut self, task: &Task<'_>, history: bool) -> SolveReport {
        self.lambda.clear();
        match task.start {
            Some(start) => self.lambda.extend_from_slice(start),
            None => self.lambda.resize(task.problem.row_count(), 0.0),
        }
        let request = Request {
            budget: self.config.budget,
            history,
            ..Request::default()
        };
        let (lambda, velocity) = (&mut self.lambda, &mut self.velocity);
        velocity.clear();
        match task.problem {
            Given::Bodies(problem) => self.solver.solve(problem, &request, lambda, velocity),
            Given::Matrices(problem) => self
                .solver
                .solve_matrices(problem, &request, lambda)
                .unwrap_or_else(|needs: NeedsBodies| SolveReport {
                    status: Status::Failed(needs.to_string()),
                    ..SolveReport::default()
                }),
        }
    }

    /// Whether the solver reads bodies, and not A alone.
    pub fn needs_bodies(&mut self) -> bool {
        let nothing = MatrixProblem::default();
        let solved = self
            .solver
            .solve_matrices(&nothing, &Request::default(), &mut []);
        solved.is_err()
    }
}

/// A problem in the form that it has.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// With bodies.
    Bodies(&'a Problem),
    /// Without.
    Matrices(&'a MatrixProblem),
}

impl<'a> From<&'a Problem> for Given<'a> {
    fn from(problem: &'a Problem) -> Self {
        Self::Bodies(problem)
    }
}

impl<'a> From<&'a MatrixProblem> for Given<'a> {
    fn from(problem: &'a MatrixProblem) -> Self {
        Self::Matrices(problem)
    }
}

impl Given<'_> {
    /// Length of Λ.
    pub fn row_count(self) -> usize {
        match self {
            Self::Bodies(problem) => problem.row_count(),
            Self::Matrices(problem) => problem.row_count(),
        }
    }

    fn residual(
        self,
        lambda: &[f64],
        law: JudgedLaw,
        workspace: &mut ResidualWorkspace,
    ) -> Residual {
        match self {
            Self::Bodies(problem) => problem.residual(lambda, law, workspace),
            Self::Matrices(problem) => problem.residual(lambda, law, workspace),
        }
    }
}

/// What all of them solve.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The problem.
    pub problem: Given<'a>,
    /// The impulses that they begin with (N s); none for Λ = 0.
    pub start: Option<&'a [f64]>,
    /// The bodies' bounding radii (m); empty where there are no bodies.
    pub reach: &'a [f64],
}

/// How often and with what a contest measures.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Times are medians over so many solves by each, in turns, so that a disturbance hits all.
    pub count: usize,
    /// Whether one more solve by each records its convergence.
    pub history: bool,
    /// Whether the errors of their velocities are estimated, with one more solve for each.
    pub estimate: bool,
}

/// What one solver made of the problem.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it is called.
    pub label: String,
    /// The solver's name.
    pub solver: &'static str,
    /// What it says itself; times are medians.
    pub report: SolveReport,
    /// The impulses that it found (N s); empty if it failed.
    pub lambda: Vec<f64>,
    /// The velocities that follow from them.
    pub velocity: Vec<Twist>,
    /// Under the law that the solver solves; none if it failed.
    pub residual: Option<Residual>,
    /// That law.
    pub law: JudgedLaw,
    /// Under exact Coulomb friction.
    pub residual_coulomb: Option<Residual>,
    /// Under the contacts' own laws, which is what the most accurate one is chosen by (m/s).
    pub error: f64,
    /// max |v − v*| + r|ω − ω*| over the bodies, v* and ω* of the most accurate one (m/s).
    pub distance: Option<f64>,
    /// The same from a `reference` that reached its goal; none where there is no such (m/s).
    pub velocity_error: Option<f64>,
    /// What that is about, found without a reference; none where it was not asked for, or cannot be said (m/s).
    pub velocity_estimate: Option<f64>,
}

impl Outcome {
    /// What is left to report of a solver that has no solution.
    fn without_solution(label: &str, solver: &'static str, report: SolveReport) -> Self {
        Self {
            label: label.to_owned(),
            solver,
            report,
            lambda: Vec::new(),
            velocity: Vec::new(),
            residual: None,
            law: JudgedLaw::Own,
            residual_coulomb: None,
            error: f64::INFINITY,
            distance: None,
            velocity_error: None,
            velocity_estimate: None,
        }
    }

    /// Preparation and iterations together (s).
    pub fn time(&self) -> f64 {
        self.report.prepare_time + self.report.solve_time
    }

    /// Whether the solver's law is another one than the contacts', and that makes a difference here: more than
    /// ten times the residual.
    pub fn solves_another_law(&self) -> bool {
        self.residual
            .is_some_and(|r| self.error > 10.0 * r.residual)
    }

    /// How its residuals are called where others stand beside them: with the law that they are under, if that is another
    /// one than the contacts'.
    pub fn name_with_law(&self) -> String {
        match self.solves_another_law() {
            true => format!("{} ({})", self.label, self.law.words()),
            false => self.label.clone(),
        }
    }
}

/// Solvers that are compared.
#[derive(Default)]
pub struct Contest {
    /// Those that take part.
    pub contestants: Vec<Contestant>,
    workspace: ResidualWorkspace,
    refiner: Refiner,
}

impl Contest {
    /// A contest between these.
    pub fn new(contestants: Vec<Contestant>) -> Self {
        Self {
            contestants,
            ..Self::default()
        }
    }

    /// Lets every solver solve the problem, and judges what they return.
    pub fn run(&mut self, task: &Task<'_>, rounds: Rounds) -> Vec<Outcome> {
        let states: Vec<Vec<u8>> = self.contestants.iter().map(|e| e.solver.state()).collect();
        let mut reports: Vec<Vec<SolveReport>> = vec![Vec::new(); self.contestants.len()];
        for _ in 0..rounds.count.max(1) {
            // What a solver carries from step to step is that of the step before in every round.
            for ((contestant, reports), state) in
                self.contestants.iter_mut().zip(&mut reports).zip(&states)
            {
                contestant.solver.set_state(state);
                reports.push(contestant.solve(task, false));
            }
        }
        let mut outcomes: Vec<Outcome> = Vec::new();
        for ((contestant, reports), state) in self.contestants.iter_mut().zip(&reports).zip(&states)
        {
            let mut report = median(reports);
            if rounds.history {
                contestant.solver.set_state(state);
                report.history = contestant.solve(task, true).history;
            }
            outcomes.push(judge(contestant, report, task.problem, &mut self.workspace));
        }
        if rounds.estimate {
            self.estimate(&mut outcomes, task);
        }
        measure_distances(&mut outcomes, task);
        outcomes
    }

    fn estimate(&mut self, outcomes: &mut [Outcome], task: &Task<'_>) {
        let Given::Bodies(problem) = task.problem else {
            return;
        };
        for o in outcomes.iter_mut().filter(|o| !o.velocity.is_empty()) {
            let found = self
                .refiner
                .estimate(problem, &o.lambda, Some(&o.velocity), task.reach);
            o.velocity_estimate = found;
        }
    }
}

/// The last report, with the median times of all.
fn median(reports: &[SolveReport]) -> SolveReport {
    let of = |time: fn(&SolveReport) -> f64| {
        let times: Vec<f64> = reports.iter().map(time).collect();
        Summary::of(&times).median
    };
    SolveReport {
        prepare_time: of(|r| r.prepare_time),
        solve_time: of(|r| r.solve_time),
        ..reports.last().cloned().unwrap_or_default()
    }
}

fn judge(
    contestant: &Contestant,
    mut report: SolveReport,
    problem: Given<'_>,
    workspace: &mut ResidualWorkspace,
) -> Outcome {
    let is_usable = report.status.is_usable();
    let (lambda, velocity) = match is_usable {
        true => (contestant.lambda.clone(), contestant.velocity.clone()),
        false => Default::default(),
    };
    let mut by = |law| is_usable.then(|| problem.residual(&contestant.lambda, law, workspace));
    let own = by(JudgedLaw::Own);
    let judged = contestant.solver.judged_law();
    let residual = if judged == JudgedLaw::Own {
        own
    } else {
        by(judged)
    };
    let residual_coulomb = by(JudgedLaw::Coulomb);
    if let Given::Bodies(problem) = problem
        && is_usable
    {
        let choices = &mut report.choices;
        choices.measure(problem, &contestant.lambda, judged, workspace);
    }
    let error = own.map_or(f64::INFINITY, |r| r.residual);
    Outcome {
        label: contestant.label.clone(),
        solver: contestant.solver.info().name,
        residual,
        law: judged,
        residual_coulomb,
        error: if error.is_nan() { f64::INFINITY } else { error },
        distance: None,
        velocity_error: None,
        velocity_estimate: None,
        lambda,
        velocity,
        report,
    }
}

fn measure_distances(outcomes: &mut [Outcome], task: &Task<'_>) {
    let answers: Vec<Answer<'_>> = outcomes.iter().map(|o| o.answer(&o.velocity)).collect();
    let found = distances(&answers, task);
    for (outcome, found) in outcomes.iter_mut().zip(found) {
        [outcome.distance, outcome.velocity_error] = found;
    }
}

/// What distances are measured from and to.
struct Answer<'a> {
    error: f64,
    /// Whether it is a reference that reached its goal.
    is_truth: bool,
    velocity: &'a [Twist],
}

impl Outcome {
    fn answer<'a>(&self, velocity: &'a [Twist]) -> Answer<'a> {
        let is_reference = find(self.solver).is_some_and(|s| s.traits.is_reference);
        Answer {
            error: self.error,
            is_truth: is_reference && self.report.status == Status::Converged,
            velocity,
        }
    }
}

/// The distance of each solver's velocities from those of the one with the smallest error, and from those of a
/// reference; none for a solver that has no velocities, and where there is nothing to measure from (m/s).
fn distances(answers: &[Answer<'_>], task: &Task<'_>) -> Vec<[Option<f64>; 2]> {
    let Given::Bodies(problem) = task.problem else {
        // Without bodies nobody has velocities.
        return vec![[None; 2]; answers.len()];
    };
    let best = answers.iter().min_by(|a, b| a.error.total_cmp(&b.error));
    let best = best.filter(|best| best.error.is_finite());
    let truth = answers.iter().find(|a| a.is_truth);
    let of = |answer: &Answer<'_>| {
        [best, truth].map(|from| {
            let from = from.filter(|_| !answer.velocity.is_empty())?;
            Some(velocity_distance(
                problem,
                answer.velocity,
                from.velocity,
                task.reach,
            ))
        })
    };
    answers.iter().map(of).collect()
}
