//! What can be wrong with a scene, said so that the place in the file is found at once.

use std::fmt;

use crate::check::Invalid;

/// A place in a scene file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named, or the name of a shipped scene.
    pub file: String,
    /// Line and column, both from 1, where they are known.
    pub line_column: Option<(usize, usize)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line_column {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.file),
            None => self.file.fmt(f),
        }
    }
}

/// Why a scene cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The file cannot be read, or there is no such scene.
    #[error("{file}: {message}")]
    Read {
        /// The file, as it was named.
        file: String,
        /// Why.
        message: String,
    },
    /// The text is not RON, or does not fit the schema.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What was found and what was expected.
        message: String,
    },
    /// It reads well and makes no sense: a negative mass, two bodies of one name, a missing mesh.
    #[error("{place}: {subject}: {message}")]
    Invalid {
        /// Where the value is written, or, where it is not, what should hold it.
        place: Place,
        /// The body, generator, material or section.
        subject: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// A value given for a path (`--set`) does not fit.
    #[error("--set {assignment}: {message}")]
    Set {
        /// `path=value`, as it was given.
        assignment: String,
        /// What is wrong and what was expected.
        message: String,
    },
}

/// Something wrong with one field of one element; the scene adds which element, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field within the element; empty for the element as a whole.
    pub field: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl FieldError {
    pub(super) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }

    /// The same error seen from the element that holds `parent`.
    pub(super) fn inside(mut self, parent: &str) -> Self {
        self.field = if self.field.is_empty() {
            parent.to_owned()
        } else {
            format!("{parent}.{}", self.field)
        };
        self
    }
}

impl From<Invalid> for FieldError {
    fn from(invalid: Invalid) -> Self {
        let message = invalid.to_string();
        Self {
            field: invalid.field,
            message,
        }
    }
}
