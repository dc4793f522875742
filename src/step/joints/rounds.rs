//! What solves the problem of a round, and what it may take.

use crate::math::Twist;
use crate::measure::Stage;
use crate::measure::clock::Stopwatch;
use crate::problem::Problem;
use crate::solve::exact::residual_within;
use crate::solve::{Method, Request, SolveReport, Solver, Status};

/// A (sub)step's problem, and what its last round has found.
pub struct Iterate<'a> {
    pub problem: &'a mut Problem,
    /// Λ (N s).
    pub lambda: &'a mut Vec<f64>,
    /// u_E.
    pub velocity: &'a mut Vec<Twist>,
}

impl Iterate<'_> {
    /// Whether a solver has left an island above the tolerance (m/s), by the report on its last solve.
    pub fn is_rough(&self, report: &SolveReport, island: usize, tolerance: f64) -> bool {
        let (problem, lambda, velocity) = (&*self.problem, &*self.lambda, &*self.velocity);
        report.status != Status::Converged
            && residual_within(problem, island, lambda, velocity, tolerance).is_none()
    }
}

/// The solver of a (sub)step's rounds, with what is asked of it.
pub struct Rounds<'a> {
    pub solver: &'a mut dyn Solver,
    pub request: Request,
    /// What they may take, and where they are extended; what they have taken, and what the next takes at least
    /// (multiplications).
    may: [f64; 2],
    pub taken: f64,
    next: f64,
}

impl<'a> Rounds<'a> {
    /// Those that may take so much, and so much where they are extended (multiplications).
    pub fn new(solver: &'a mut dyn Solver, request: Request, may: [f64; 2]) -> Self {
        Self {
            solver,
            request,
            may,
            taken: 0.0,
            next: 0.0,
        }
    }

    /// Solves the problem; `again`: it is the last one but for its right-hand side.
    pub fn solve(
        &mut self,
        at: &mut Iterate<'_>,
        again: bool,
        watch: &mut Stopwatch<'_>,
    ) -> SolveReport {
        self.solve_to(0.0, at, again, watch)
    }

    /// The same where no smaller residual is asked for (m/s).
    pub fn solve_to(
        &mut self,
        residual: f64,
        at: &mut Iterate<'_>,
        again: bool,
        watch: &mut Stopwatch<'_>,
    ) -> SolveReport {
        let mut request = Request {
            work: (self.may[0] < f64::INFINITY).then_some(self.left()),
            ..self.request
        };
        let tolerance = &mut request.budget.tolerance;
        *tolerance = tolerance.max(residual);
        let (problem, lambda, velocity) = (&*at.problem, &mut *at.lambda, &mut *at.velocity);
        let report = match again {
            true => (self.solver).solve_again(problem, &request, lambda, velocity),
            false => (self.solver).solve(problem, &request, lambda, velocity),
        };
        let prepare = (Stage::Prepare, report.prepare_time);
        let record = (Stage::Measure, report.record_time);
        watch.split(Stage::Solve, &[prepare, record]);
        let taken = report.charged();
        self.taken += taken;
        self.next = if report.need > 0.0 {
            taken.min(report.need)
        } else {
            taken
        };
        report
    }

    /// What they may take still (multiplications).
    fn left(&self) -> f64 {
        (self.may[0] - self.taken).max(0.0)
    }

    /// Lets them take all; false where another round is not paid for by that either.
    pub fn extend(&mut self) -> bool {
        self.may[0] = self.may[1];
        self.can_go_on()
    }

    /// Whether another round is paid for.
    pub fn can_go_on(&self) -> bool {
        self.next <= self.left()
    }

    /// Whether it has left an island to sweeps.
    pub fn is_swept(&self, island: usize) -> bool {
        let choice = self.solver.view().choices().get(island);
        choice.is_some_and(|choice| choice.method() == Method::Swept)
    }
}
