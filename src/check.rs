//! Values that cannot be used: which one, what it must be, and what it is.

use std::fmt::Display;

/// A value out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {expected}, not {found}")]
pub struct Invalid {
    /// Its path within what was checked: `stabilisation.slop`.
    pub field: String,
    /// What it must be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl Invalid {
    pub(crate) fn new(field: &str, expected: impl Into<String>, found: impl Display) -> Self {
        Self {
            field: field.to_owned(),
            expected: expected.into(),
            found: found.to_string(),
        }
    }

    /// The same error seen from what holds `parent`.
    #[must_use]
    pub fn inside(mut self, parent: impl Display) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

/// Refuses a value unless it is fine.
pub(crate) fn demand(
    is_fine: bool,
    field: &str,
    expected: &str,
    found: impl Display,
) -> Result<(), Invalid> {
    if is_fine {
        Ok(())
    } else {
        Err(Invalid::new(field, expected, found))
    }
}

/// Refuses what is infinite or not a number.
pub(crate) fn finite<'a>(
    field: &str,
    values: impl IntoIterator<Item = &'a f64>,
) -> Result<(), Invalid> {
    let mut values = values.into_iter();
    match values.find(|v| !v.is_finite()) {
        Some(v) => Err(Invalid::new(field, "finite", v)),
        None => Ok(()),
    }
}

/// Refuses what is negative, infinite or not a number.
pub(crate) fn not_negative(field: &str, value: f64) -> Result<(), Invalid> {
    let is_fine = value.is_finite() && value >= 0.0;
    demand(is_fine, field, "0 or more and finite", value)
}
