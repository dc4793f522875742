//! The trait of all solvers, and an entry of their list.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::choice::Choice;
use super::matrix_view::MatrixView;
use super::parameter::{Parameter, Parameters, Value};
use super::parts_view::PartsView;
use super::report::SolveReport;
use crate::math::Twist;
use crate::problem::residual::JudgedLaw;
use crate::problem::{MatrixProblem, Problem};

/// Stands for no graph colour.
pub const NO_COLOR: u32 = u32::MAX;

/// What to solve for and how to report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// When to stop.
    pub budget: Budget,
    /// Whether to record a history. Its cost is in none of the times.
    pub history: bool,
    /// Whether what ends above the tolerance is solved in another way: of islands with general rows exact solutions, which
    /// [`Solver::tries`] tells of, then end after a few steps.
    pub is_try: bool,
    /// What the solve may take of the step's work, if the step counts it, see [`Solver::step_work`] (multiplications).
    pub work: Option<f64>,
    /// Whether it is the last solve of such a step: then what starts from nothing takes no more than the rest.
    pub is_last: bool,
}

impl Request {
    /// Some work, or what is left of the step's, where that is less (multiplications).
    pub(super) fn bounded(&self, work: f64) -> f64 {
        self.work.map_or(work, |left| work.min(left))
    }
}

/// Why a solver cannot solve a problem that has no bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} needs bodies, which this problem has not")]
pub struct NeedsBodies(pub &'static str);

/// A solver of [`Problem`]s. It keeps its memory between solves.
pub trait Solver: Send {
    /// Its entry in the list.
    fn info(&self) -> &'static SolverInfo;

    /// Under which law its results are exact.
    fn judged_law(&self) -> JudgedLaw {
        JudgedLaw::Own
    }

    /// Solves `problem`. `lambda` is the start and becomes the result, one impulse per row; `u`
    /// becomes u_free + M⁻¹ Jᵀ Λ. When the status is [`Status::Failed`](super::Status::Failed) both hold nothing to use.
    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport;

    /// Solves a problem that has no bodies, as [`Solver::solve`] does one that has.
    ///
    /// # Errors
    /// The solver reads bodies, and not A alone.
    fn solve_matrices(
        &mut self,
        _problem: &MatrixProblem,
        _request: &Request,
        _lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        Err(NeedsBodies(self.info().name))
    }

    /// Solves the problem that was solved last, with other biases of its general rows and other free velocities, and nothing
    /// else changed: whoever keeps its matrix or a factor may use them again.
    fn solve_again(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        self.solve(problem, request, lambda, u)
    }

    /// Solves A Λ + bias ≥ 0 ⟂ Λ ≥ 0 over the normal rows of the contacts of the problem that was
    /// solved last, from nothing, with what is still packed of it: the pass that corrects positions.
    /// `bias` has one entry per contact (m/s). `u` becomes M⁻¹ Jᵀ Λ. False where the solver cannot.
    fn correct(
        &mut self,
        _problem: &Problem,
        _bias: &[f64],
        _budget: &Budget,
        _u: &mut Vec<Twist>,
    ) -> bool {
        false
    }

    /// Whether it knows what to leave undone of a try, see [`Request::is_try`].
    fn tries(&self) -> bool {
        false
    }

    /// What a step may take, over all its solves, which are then told what is left of it by [`Request::work`]; infinite where
    /// nothing is counted (multiplications).
    fn step_work(&self) -> f64 {
        f64::INFINITY
    }

    /// What there is to see of the last solve.
    fn view(&self) -> &dyn SolverView {
        &Nothing
    }

    /// What the solver carries from step to step, for snapshots; empty when nothing.
    fn state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes back what [`Solver::state`] gave; empty forgets everything.
    fn set_state(&mut self, _state: &[u8]) {}
}

/// What is special about a solver.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// A scene that names no solver has it.
    pub is_default: bool,
    /// It solves all islands exactly: what it leaves, none of the others does better.
    pub is_exact: bool,
    /// What others find is compared with what it finds.
    pub is_reference: bool,
    /// It takes bodies in parts, which are worth looking at.
    pub has_parts: bool,
    /// Whether it computes on a device.
    pub needs_device: bool,
    /// Why it cannot work as it should on this machine, if so; it then does what it can and says so.
    pub obstacle: fn() -> Option<String>,
    /// Why its results depend on timing where it has these parameters, if they do.
    pub timing: fn(&BTreeMap<String, Value>) -> Option<&'static str>,
}

impl Traits {
    /// Nothing.
    pub const NONE: Self = Self {
        is_default: false,
        is_exact: false,
        is_reference: false,
        has_parts: false,
        needs_device: false,
        obstacle: || None,
        timing: |_| None,
    };
}

/// What a solver shows of its last solve, for pictures and reports.
pub trait SolverView {
    /// The matrices of the largest island; none where there are none.
    fn matrix(&self) -> Option<MatrixView> {
        None
    }

    /// The graph colour of each contact, in the order of the problem: contacts of one colour share no body, and the colours
    /// are swept one after the other. [`NO_COLOR`] stands for a contact that is not swept; none where the solver has no
    /// colours.
    fn colors(&self) -> Option<Vec<u32>> {
        None
    }

    /// The parts that the bodies were taken in; none where the solver has no parts.
    fn parts(&self) -> Option<PartsView> {
        None
    }

    /// How each island was solved, and why, in the problem's order; empty where the solver does not choose.
    fn choices(&self) -> &[Choice] {
        &[]
    }
}

/// Nothing to show.
struct Nothing;

impl SolverView for Nothing {}

/// An entry of the list of solvers.
#[derive(Debug)]
pub struct SolverInfo {
    /// Name in scenes and on the command line.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The papers it comes from.
    pub source: &'static str,
    /// Iterations that it should be given at least: a direct solver's are many, short, and end by
    /// themselves; 1 for the others.
    pub least_iterations: u32,
    /// What is special about it.
    pub traits: Traits,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes one with checked parameters.
    pub make: fn(&Parameters) -> Box<dyn Solver>,
}

impl SolverInfo {
    /// Whether it is a direct solver, whose iterations end by themselves.
    pub fn is_direct(&self) -> bool {
        self.least_iterations > 1
    }

    /// The solver with the defaults of its parameters.
    pub fn with_defaults(&self) -> Box<dyn Solver> {
        (self.make)(&Parameters::defaults(self.parameters))
    }
}
