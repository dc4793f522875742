//! The documented parameters of solvers, and their checked values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kind and range of a solver parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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
#[non_exhaustive]
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

impl Value {
    /// The value that a word stands for: a flag, a whole number, a number, or else a choice.
    pub fn read(text: &str) -> Self {
        let flag = text.parse().map(Self::Flag);
        let whole = flag.or_else(|_| text.parse().map(Self::Integer));
        let number = whole.or_else(|_| text.parse().map(Self::Number));
        number.unwrap_or_else(|_| Self::Choice(text.to_owned()))
    }
}

/// Checked parameters, complete with defaults.
#[derive(Clone, Debug, Default)]
pub struct Parameters(pub(super) BTreeMap<&'static str, Value>);

impl Parameters {
    /// The defaults of what is declared.
    pub fn defaults(declared: &[Parameter]) -> Self {
        Self(
            declared
                .iter()
                .map(|p| (p.name, p.default_value()))
                .collect(),
        )
    }

    /// The same with another value of a parameter that is declared.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.0.insert(name, value);
        self
    }

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
            } => format!("a whole number from {lo} to {hi}"),
            ParameterKind::Flag { .. } => "true or false".into(),
            ParameterKind::Choice { options, .. } => format!("one of {}", options.join(", ")),
        }
    }

    /// The value as the parameter holds it; none if it is of the wrong kind or out of range.
    pub(super) fn accept(&self, value: &Value) -> Option<Value> {
        let value = match (self.kind, value) {
            (ParameterKind::Number { .. }, Value::Integer(v)) => Value::Number(*v as f64),
            _ => value.clone(),
        };
        let fits = match (self.kind, &value) {
            (ParameterKind::Number { range, .. }, Value::Number(v)) => {
                let [lo, hi] = range;
                (lo..=hi).contains(v)
            }
            (ParameterKind::Integer { range, .. }, Value::Integer(v)) => {
                let [lo, hi] = range;
                (lo..=hi).contains(v)
            }
            (ParameterKind::Flag { .. }, Value::Flag(_)) => true,
            (ParameterKind::Choice { options, .. }, Value::Choice(v)) => {
                options.contains(&v.as_str())
            }
            _ => false,
        };
        fits.then_some(value)
    }
}
