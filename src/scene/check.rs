//! Range checks of single fields. Whatever passes them is a number the engine can work with.

use super::error::FieldError;

/// Result of a check.
pub(super) type Check = Result<(), FieldError>;

/// Largest magnitude of anything: beyond it a double no longer resolves a tenth of a micrometre,
/// and squares and cubes of it stay far from overflow.
pub(super) const LARGEST: f64 = 1e9;
/// Smallest length, mass or density above zero.
pub(super) const SMALLEST: f64 = 1e-9;

pub(super) fn finite(field: &str, values: &[f64]) -> Check {
    for value in values {
        if !value.is_finite() {
            return Err(FieldError::new(
                field,
                format!("{field} must be finite, not {value}"),
            ));
        }
        if value.abs() > LARGEST {
            let message = format!("{field} must be within ±{LARGEST:e}, not {value:e}");
            return Err(FieldError::new(field, message));
        }
    }
    Ok(())
}

pub(super) fn positive(field: &str, value: f64) -> Check {
    if !(value.is_finite() && value > 0.0) {
        let message = format!("{field} must be positive and finite, not {value}");
        return Err(FieldError::new(field, message));
    }
    if !(SMALLEST..=LARGEST).contains(&value) {
        let message = format!("{field} must be from {SMALLEST:e} to {LARGEST:e}, not {value:e}");
        return Err(FieldError::new(field, message));
    }
    Ok(())
}

pub(super) fn not_negative(field: &str, value: f64) -> Check {
    finite(field, &[value])?;
    if value < 0.0 {
        return Err(FieldError::new(
            field,
            format!("{field} must be 0 or more, not {value}"),
        ));
    }
    Ok(())
}

pub(super) fn in_range(field: &str, value: f64, lo: f64, hi: f64) -> Check {
    if !(lo..=hi).contains(&value) {
        let message = format!("{field} must be from {lo} to {hi}, not {value}");
        return Err(FieldError::new(field, message));
    }
    Ok(())
}

pub(super) fn at_least(field: &str, value: u32, least: u32) -> Check {
    if value < least {
        return Err(FieldError::new(
            field,
            format!("{field} must be at least {least}, not {value}"),
        ));
    }
    Ok(())
}
