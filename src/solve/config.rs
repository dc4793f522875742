//! Which solver, with which parameters and budget.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::list::{SOLVERS, default_solver, find};
use super::parameter::{Parameters, Value};
use super::solver::{Solver, SolverInfo};
use crate::check::{Invalid, did_you_mean};

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
            name: default_solver().name.into(),
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

/// The names there are, and the one among them that `wrong` was meant to be.
fn list(wrong: &str, names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<_> = names.collect();
    let question = did_you_mean(wrong, names.iter().copied());
    names.join(", ") + &question
}

/// What is wrong with a [`SolverConfig`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl ConfigError {
    /// The path of what is wrong within a [`SolverConfig`].
    pub fn field(&self) -> String {
        match self {
            Self::UnknownSolver { .. } => "name".to_owned(),
            Self::UnknownParameter { name, .. } => format!("parameters.{name}"),
            Self::BadValue { name, .. } => format!("parameters.{name}"),
            Self::Invalid(invalid) => invalid.field.clone(),
        }
    }
}

/// The entry of a solver.
///
/// # Errors
/// There is none of this name; those that there are.
pub fn named(name: &str) -> Result<&'static SolverInfo, ConfigError> {
    find(name).ok_or_else(|| ConfigError::UnknownSolver {
        name: name.to_owned(),
        known: list(name, SOLVERS.iter().map(|s| s.name)),
    })
}

impl SolverConfig {
    /// Checks name, parameters and budget.
    ///
    /// # Errors
    /// The first thing wrong, with what was expected.
    pub fn check(&self) -> Result<(&'static SolverInfo, Parameters), ConfigError> {
        let info = named(&self.name)?;
        self.budget.check().map_err(|e| e.inside("budget"))?;
        let Parameters(mut checked) = Parameters::defaults(info.parameters);
        for (name, value) in &self.parameters {
            let mut declared = info.parameters.iter();
            let parameter =
                declared
                    .find(|p| p.name == name)
                    .ok_or_else(|| ConfigError::UnknownParameter {
                        solver: info.name,
                        name: name.clone(),
                        known: list(name, info.parameters.iter().map(|p| p.name)),
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

    /// Why the results depend on the speed of the machine or on timing, so that they have no hash to compare and cannot be
    /// recorded; none where they do not.
    pub fn timing(&self) -> Option<String> {
        let time = self.budget.time;
        if time > 0.0 {
            return Some(format!(
                "solver.budget.time is {time} s, and a wall-time budget makes the result depend on the speed of the \
                 machine; expected 0"
            ));
        }
        let depends = self.order()?;
        Some(format!(
            "solver.parameters.{depends}; expected deterministic"
        ))
    }

    /// Whether results depend on timing even without a wall-time budget.
    pub fn is_asynchronous(&self) -> bool {
        self.order().is_some()
    }

    /// What makes results depend on the order in which threads come to their work, if anything does.
    fn order(&self) -> Option<&'static str> {
        let info = find(&self.name)?;
        (info.traits.timing)(&self.parameters)
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
