//! The solvers: one trait, one list, one report.
//!
//! A solver gets the assembled problem, a starting Λ and a budget, and returns Λ, u and a report.
//! To add one: a folder (or file) here, and one line in [`SOLVERS`].

pub mod bpp;
pub mod prox;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::Under;
use bpp::{MatrixView, PivotReport};

/// When a solver stops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Most iterations.
    pub iterations: u32,
    /// Stop when the largest ‖ΔΛ‖/R of an iteration is at most this (m/s); 0 switches it off. It is
    /// what the residual sees, and does not depend on the masses.
    pub tolerance: f64,
    /// T_abs of Nützi 4.49 and 4.50 (N s); with `relative`, 0 and 0 switch the test off.
    pub absolute: f64,
    /// T_rel of Nützi 4.49 and 4.50 (-).
    pub relative: f64,
    /// How `absolute` and `relative` are applied; to each island by itself.
    pub norm: ToleranceNorm,
    /// Wall-clock limit (s); 0 switches it off. Results then depend on the machine's speed, so that
    /// it is refused where a state hash is asked for.
    pub time: f64,
}

/// Which of Nützi's two stopping tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToleranceNorm {
    /// |ΔΛ_i| ≤ |Λ_i| T_rel + T_abs for every component (4.49).
    #[default]
    Component,
    /// ‖ΔΛ‖₂ ≤ ‖Λ‖₂ T_rel + T_abs (4.50).
    Euclidean,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            iterations: 50,
            tolerance: 1e-6,
            absolute: 0.0,
            relative: 0.0,
            norm: ToleranceNorm::Component,
            time: 0.0,
        }
    }
}

impl Budget {
    /// The wall-clock limit, if there is one.
    pub fn time_limit(&self) -> Option<Duration> {
        (self.time > 0.0).then(|| Duration::from_secs_f64(self.time))
    }

    /// The first value that is out of range, in words.
    pub fn problem(&self) -> Option<String> {
        if self.iterations == 0 {
            return Some("budget.iterations must be at least 1".into());
        }
        [
            ("tolerance", self.tolerance),
            ("absolute", self.absolute),
            ("relative", self.relative),
            ("time", self.time),
        ]
        .into_iter()
        .find(|(_, v)| !(v.is_finite() && *v >= 0.0 && *v < 1e9))
        .map(|(name, v)| format!("budget.{name} must be 0 or more and finite, not {v}"))
    }
}

/// Why a solver stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// A tolerance was met.
    #[default]
    Converged,
    /// Iterations or time ran out.
    Budget,
    /// It stopped above the tolerance because it could not get nearer; why, in words.
    Stalled(String),
    /// It diverged, met a NaN or broke down; the result must not be used.
    Failed(String),
}

/// One point of a convergence history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// Iterations done.
    pub iteration: u32,
    /// Solver time so far, what recording costs left out (s).
    pub time: f64,
    /// The residual of section 3 at this Λ (m/s).
    pub residual: f64,
    /// ‖ΔΛ‖∞ of the iteration (N s).
    pub delta: f64,
}

/// What a solve did.
#[derive(Clone, Debug, Default)]
pub struct SolveReport {
    /// Why it stopped.
    pub status: Status,
    /// Iterations done.
    pub iterations: u32,
    /// Time before the first iteration (packing, colouring, factorisation) (s).
    pub prepare_time: f64,
    /// Time of the iterations (s).
    pub solve_time: f64,
    /// ‖Λ^{k+1} − Λ^k‖∞ of the last iteration (N s).
    pub delta: f64,
    /// Times the step length R was halved after divergence.
    pub halvings: u32,
    /// Bytes that one iteration reads, data gathered from bodies included; 0 where not counted.
    pub bytes_read: u64,
    /// Bytes that one iteration writes; 0 where not counted.
    pub bytes_written: u64,
    /// Contacts and general rows of each colour, in the order of the sweep; empty for solvers
    /// without colours.
    pub colors: Vec<u32>,
    /// One point per iteration, when asked for. The last one is the result, unless the budget ran out
    /// on the way to divergence: then the result is an earlier, better point.
    pub history: Vec<HistoryPoint>,
    /// What a pivoting solver did.
    pub pivoting: Option<PivotReport>,
}

/// What to solve for and how to report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// When to stop.
    pub budget: Budget,
    /// Whether to record a history. Its cost is in none of the times.
    pub history: bool,
}

/// A solver of [`Problem`]s. It keeps its memory between solves.
pub trait Solver: Send {
    /// Its entry in the list.
    fn info(&self) -> &'static SolverInfo;

    /// Under which law its results are exact.
    fn under(&self) -> Under {
        Under::OwnLaw
    }

    /// Solves `problem`. `lambda` is the start and becomes the result, one impulse per row; `u`
    /// becomes u_free + M⁻¹ Jᵀ Λ. When the status is [`Status::Failed`] both hold nothing to use.
    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport;

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

    /// The matrices of the largest island of the last solve, for pictures; none where there are none.
    fn matrix_view(&self) -> Option<MatrixView> {
        None
    }

    /// What the solver carries from step to step, for snapshots; empty when nothing.
    fn state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes back what [`Solver::state`] gave; empty forgets everything.
    fn set_state(&mut self, _state: &[u8]) {}
}

/// The kind and range of a solver parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterKind {
    /// A real number in a range, both ends allowed.
    Number {
        /// Default value.
        default: f64,
        /// Smallest and largest value.
        range: [f64; 2],
    },
    /// A whole number in a range, both ends allowed.
    Integer {
        /// Default value.
        default: i64,
        /// Smallest and largest value.
        range: [i64; 2],
    },
    /// Yes or no.
    Flag {
        /// Default value.
        default: bool,
    },
    /// One of several names.
    Choice {
        /// Default value.
        default: &'static str,
        /// All values.
        options: &'static [&'static str],
    },
}

/// A documented parameter of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in scenes, on the command line and in the panel.
    pub name: &'static str,
    /// Unit, "-" for none.
    pub unit: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Kind, default and range.
    pub kind: ParameterKind,
}

/// A value given for a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// For flags.
    Flag(bool),
    /// For whole numbers.
    Integer(i64),
    /// For numbers.
    Number(f64),
    /// For choices.
    Choice(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(v) => v.fmt(f),
            Self::Integer(v) => v.fmt(f),
            Self::Number(v) => v.fmt(f),
            Self::Choice(v) => v.fmt(f),
        }
    }
}

/// An entry of the list of solvers.
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
}

impl std::fmt::Debug for SolverInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SolverInfo")
            .field("name", &self.name)
            .finish()
    }
}

/// Every solver there is.
pub static SOLVERS: &[&SolverInfo] = &[
    &prox::colored_gs::INFO,
    &prox::gauss_seidel::INFO,
    &prox::jacobi::INFO,
    &prox::naive_gs::INFO,
    &prox::block_sor::INFO,
    &prox::relaxed_sor::INFO,
    &prox::nncg::INFO,
    &bpp::INFO,
];

/// The entry of a solver by name.
pub fn find(name: &str) -> Option<&'static SolverInfo> {
    SOLVERS.iter().copied().find(|s| s.name == name)
}

/// Which solver, with which parameters and budget: a part of every scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverConfig {
    /// Its name.
    pub name: String,
    /// When it stops.
    pub budget: Budget,
    /// Its parameters; those left out take their defaults.
    pub parameters: BTreeMap<String, Value>,
}

impl Default for SolverConfig {
    fn default() -> Self {
        Self {
            name: "colored-gs".into(),
            budget: Budget::default(),
            parameters: BTreeMap::new(),
        }
    }
}

impl SolverConfig {
    /// Another solver, with its default parameters. A direct one gets the iterations that it needs; one
    /// that follows a direct one gets those of the default budget. Nothing happens if it is the same.
    pub fn switch(&mut self, name: &str) {
        if self.name == name {
            return;
        }
        let iterations = &mut self.budget.iterations;
        match (find(&self.name), find(name)) {
            (_, Some(to)) if to.is_direct() => *iterations = (*iterations).max(to.least_iterations),
            (Some(from), _) if from.is_direct() => *iterations = Budget::default().iterations,
            _ => {}
        }
        name.clone_into(&mut self.name);
        self.parameters.clear();
    }
}

/// What is wrong with a [`SolverConfig`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such solver.
    #[error("there is no solver \"{name}\"; there are: {known}")]
    UnknownSolver {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No such parameter.
    #[error("solver \"{solver}\" has no parameter \"{name}\"; it has: {known}")]
    UnknownParameter {
        /// The solver.
        solver: &'static str,
        /// What was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A value of the wrong kind or out of range.
    #[error("parameter \"{name}\" of solver \"{solver}\" must be {expected}, not {value}")]
    BadValue {
        /// The solver.
        solver: &'static str,
        /// The parameter.
        name: &'static str,
        /// What it must be.
        expected: String,
        /// What it was.
        value: String,
    },
    /// A budget out of range.
    #[error("{0}")]
    Budget(String),
}

/// Checked parameters, complete with defaults.
#[derive(Clone, Debug, Default)]
pub struct Parameters(BTreeMap<&'static str, Value>);

impl Parameters {
    /// A number; whole numbers count too.
    ///
    /// # Panics
    /// If the solver declares no such number.
    pub fn number(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(Value::Number(v)) => *v,
            Some(Value::Integer(v)) => *v as f64,
            other => panic!("parameter {name} is not a declared number: {other:?}"),
        }
    }

    /// A whole number.
    ///
    /// # Panics
    /// If the solver declares no such whole number.
    pub fn integer(&self, name: &str) -> i64 {
        match self.0.get(name) {
            Some(Value::Integer(v)) => *v,
            other => panic!("parameter {name} is not a declared integer: {other:?}"),
        }
    }

    /// A flag.
    ///
    /// # Panics
    /// If the solver declares no such flag.
    pub fn flag(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Flag(v)) => *v,
            other => panic!("parameter {name} is not a declared flag: {other:?}"),
        }
    }

    /// A choice.
    ///
    /// # Panics
    /// If the solver declares no such choice.
    pub fn choice(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Choice(v)) => v,
            other => panic!("parameter {name} is not a declared choice: {other:?}"),
        }
    }
}

impl Parameter {
    /// Its default.
    pub fn default_value(&self) -> Value {
        match self.kind {
            ParameterKind::Number { default, .. } => Value::Number(default),
            ParameterKind::Integer { default, .. } => Value::Integer(default),
            ParameterKind::Flag { default } => Value::Flag(default),
            ParameterKind::Choice { default, .. } => Value::Choice(default.into()),
        }
    }

    /// What values it takes, in words.
    pub fn expected(&self) -> String {
        match self.kind {
            ParameterKind::Number {
                range: [lo, hi], ..
            } => format!("a number from {lo} to {hi}"),
            ParameterKind::Integer {
                range: [lo, hi], ..
            } => {
                format!("a whole number from {lo} to {hi}")
            }
            ParameterKind::Flag { .. } => "true or false".into(),
            ParameterKind::Choice { options, .. } => format!("one of {}", options.join(", ")),
        }
    }

    fn accept(&self, value: &Value) -> Option<Value> {
        match (self.kind, value) {
            (
                ParameterKind::Number {
                    range: [lo, hi], ..
                },
                Value::Number(v),
            ) => (*v >= lo && *v <= hi).then_some(Value::Number(*v)),
            (
                ParameterKind::Number {
                    range: [lo, hi], ..
                },
                Value::Integer(v),
            ) => {
                let v = *v as f64;
                (v >= lo && v <= hi).then_some(Value::Number(v))
            }
            (
                ParameterKind::Integer {
                    range: [lo, hi], ..
                },
                Value::Integer(v),
            ) => (*v >= lo && *v <= hi).then_some(Value::Integer(*v)),
            (ParameterKind::Flag { .. }, Value::Flag(v)) => Some(Value::Flag(*v)),
            (ParameterKind::Choice { options, .. }, Value::Choice(v)) => options
                .contains(&v.as_str())
                .then(|| Value::Choice(v.clone())),
            _ => None,
        }
    }
}

impl SolverConfig {
    /// Checks name, parameters and budget.
    ///
    /// # Errors
    /// The first thing wrong, with what was expected.
    pub fn check(&self) -> Result<(&'static SolverInfo, Parameters), ConfigError> {
        let info = find(&self.name).ok_or_else(|| ConfigError::UnknownSolver {
            name: self.name.clone(),
            known: SOLVERS
                .iter()
                .map(|s| s.name)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        if let Some(message) = self.budget.problem() {
            return Err(ConfigError::Budget(message));
        }
        let mut checked: BTreeMap<&'static str, Value> = info
            .parameters
            .iter()
            .map(|p| (p.name, p.default_value()))
            .collect();
        for (name, value) in &self.parameters {
            let parameter = info
                .parameters
                .iter()
                .find(|p| p.name == name)
                .ok_or_else(|| ConfigError::UnknownParameter {
                    solver: info.name,
                    name: name.clone(),
                    known: info
                        .parameters
                        .iter()
                        .map(|p| p.name)
                        .collect::<Vec<_>>()
                        .join(", "),
                })?;
            let value = parameter
                .accept(value)
                .ok_or_else(|| ConfigError::BadValue {
                    solver: info.name,
                    name: parameter.name,
                    expected: parameter.expected(),
                    value: value.to_string(),
                })?;
            checked.insert(parameter.name, value);
        }
        Ok((info, Parameters(checked)))
    }

    /// Makes the solver.
    ///
    /// # Errors
    /// As [`SolverConfig::check`].
    pub fn build(&self) -> Result<Box<dyn Solver>, ConfigError> {
        let (info, parameters) = self.check()?;
        Ok((info.make)(&parameters))
    }
}
