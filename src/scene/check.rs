//! The rules of single fields, and structs whose fields carry them. Whatever passes is a number the
//! engine can work with.

use super::error::FieldError;
use crate::check::{Invalid, demand};
use crate::math::{SHORTEST, Vec3};
use crate::world::{SPEED_LIMIT, WORLD_LIMIT};

/// Result of a check.
pub(super) type Check = Result<(), FieldError>;

/// Largest magnitude of anything: beyond it a double no longer resolves a tenth of a micrometre,
/// and squares and cubes of it stay far from overflow.
pub(super) const LARGEST: f64 = 1e9;
/// Smallest length, mass or density above zero.
pub(super) const SMALLEST: f64 = SHORTEST;

/// Declares a struct of scene files: every field with its default and, behind `=>`, its rule.
macro_rules! fields {
    ($(#[$about:meta])* pub struct $Name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $default:expr $(=> $rule:expr)?,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::scene::check::Fields for $Name {
            fn check_fields(&self) -> $crate::scene::check::Check {
                $($(($rule)(stringify!($field), &self.$field)?;)?)*
                Ok(())
            }
        }
    };
}
pub(super) use fields;

/// What `fields!` makes of the rules.
pub(super) trait Fields {
    /// Checks every field by its own rule.
    fn check_fields(&self) -> Check;
}

/// What holds numbers that rules apply to.
pub(super) trait Numbers {
    fn numbers(&self) -> Vec<f64>;
}

impl Numbers for f64 {
    fn numbers(&self) -> Vec<f64> {
        vec![*self]
    }
}

impl Numbers for u32 {
    fn numbers(&self) -> Vec<f64> {
        vec![f64::from(*self)]
    }
}

impl Numbers for Vec3 {
    fn numbers(&self) -> Vec<f64> {
        self.as_slice().to_vec()
    }
}

impl<T: Numbers> Numbers for [T] {
    fn numbers(&self) -> Vec<f64> {
        self.iter().flat_map(T::numbers).collect()
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn numbers(&self) -> Vec<f64> {
        self.as_slice().numbers()
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    fn numbers(&self) -> Vec<f64> {
        self.as_slice().numbers()
    }
}

impl<T: Numbers> Numbers for Option<T> {
    fn numbers(&self) -> Vec<f64> {
        self.as_slice().numbers()
    }
}

/// Finite, and no larger than anything is.
pub(super) fn finite(field: &str, values: &(impl Numbers + ?Sized)) -> Check {
    for v in values.numbers() {
        demand(v.is_finite(), field, "finite", v)?;
        if v.abs() > LARGEST {
            let expected = format!("within ±{LARGEST:e}");
            return Err(Invalid::new(field, expected, format_args!("{v:e}")).into());
        }
    }
    Ok(())
}

/// A place (m) or a speed (m/s, rad/s) that a step accepts.
pub(super) fn in_world(field: &str, values: &(impl Numbers + ?Sized)) -> Check {
    const { assert!(WORLD_LIMIT == SPEED_LIMIT) };
    finite(field, values)?;
    match values.numbers().into_iter().find(|v| v.abs() > WORLD_LIMIT) {
        Some(v) => {
            let expected = format!("within ±{WORLD_LIMIT:e}");
            Err(Invalid::new(field, expected, format_args!("{v:e}")).into())
        }
        None => Ok(()),
    }
}

/// Above zero.
pub(super) fn positive(field: &str, values: &impl Numbers) -> Check {
    for v in values.numbers() {
        demand(v.is_finite() && v > 0.0, field, "positive and finite", v)?;
        if !(SMALLEST..=LARGEST).contains(&v) {
            let expected = format!("from {SMALLEST:e} to {LARGEST:e}");
            return Err(Invalid::new(field, expected, format_args!("{v:e}")).into());
        }
    }
    Ok(())
}

/// Zero or more.
pub(super) fn not_negative(field: &str, values: &impl Numbers) -> Check {
    finite(field, values)?;
    for v in values.numbers() {
        demand(v >= 0.0, field, "0 or more", v)?;
    }
    Ok(())
}

/// From `lo` to `hi`.
pub(super) fn within<V: Numbers>(lo: f64, hi: f64) -> impl Fn(&str, &V) -> Check {
    move |field, values| {
        let wrong = |v: &f64| !(lo..=hi).contains(v);
        match values.numbers().into_iter().find(wrong) {
            Some(v) => Err(Invalid::new(field, format!("from {lo} to {hi}"), v).into()),
            None => Ok(()),
        }
    }
}

/// As many as `least`, or more.
pub(super) fn at_least<V: Numbers>(least: u32) -> impl Fn(&str, &V) -> Check {
    move |field, values| {
        let wrong = |v: &f64| *v < f64::from(least);
        match values.numbers().into_iter().find(wrong) {
            Some(v) => Err(Invalid::new(field, format!("at least {least}"), v).into()),
            None => Ok(()),
        }
    }
}

/// A direction: finite, and not of no length.
pub(super) fn direction(field: &str, values: &[f64; 3]) -> Check {
    finite(field, values)?;
    let length = Vec3::from(*values).norm();
    positive(&format!("the length of {field}"), &length)
        .map_err(|e| FieldError::new(field, e.message))
}
