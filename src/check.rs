//! Values that cannot be used: which one, what it must be, and what it is; and names that are nearly right.

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

/// The name that somebody meant who wrote `word`: of those of which at most every third letter, rounded up, is added,
/// missing, wrong, or swapped with the next, the most similar one by Jaro and Winkler, to whom beginnings count more.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let letters = word.chars().count().min(name.chars().count());
        let is_near = strsim::damerau_levenshtein(&word, &name) <= letters.div_ceil(3);
        is_near.then(|| strsim::jaro_winkler(&word, &name))
    };
    let named = names.into_iter();
    let named = named.filter_map(|name| Some((similarity(name)?, name)));
    let best = named.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map(|(_, name)| name)
}

/// The same as the end of a message: a question where there is such a name, and nothing where there is none.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let question = |name| format!("; did you mean \"{name}\"?");
    nearest(word, names).map_or_else(String::new, question)
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

/// Largest number where no other bound is known: a step multiplies several of them, and nothing overflows.
pub(crate) const LARGEST: f64 = 1e40;

/// Refuses what is not a number, infinite, or so large that a step would overflow.
pub(crate) fn finite<'a>(
    field: &str,
    values: impl IntoIterator<Item = &'a f64>,
) -> Result<(), Invalid> {
    // Written so that a NaN is found.
    let is_fine = |v: &f64| v.abs() <= LARGEST;
    match values.into_iter().find(|v| !is_fine(v)) {
        Some(v) if v.is_finite() => Err(Invalid::new(field, "within ±1e40", format!("{v:e}"))),
        Some(v) => Err(Invalid::new(field, "finite", v)),
        None => Ok(()),
    }
}

/// Refuses what is negative, not a number, infinite, or so large that a step would overflow.
pub(crate) fn not_negative(field: &str, value: f64) -> Result<(), Invalid> {
    let is_fine = value.is_finite() && value >= 0.0;
    demand(is_fine, field, "0 or more and finite", value)?;
    finite(field, [&value])
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_of_the_pen_are_understood_and_other_words_are_not() {
        let names = ["crane", "simple_crane", "run", "bpp", "wall", "ball_grid_8"];
        for (word, meant) in [
            ("crnae", Some("crane")),
            ("Crane", Some("crane")),
            ("simplecrane", Some("simple_crane")),
            ("rnu", Some("run")),
            ("bbp", Some("bpp")),
            ("ball_grid", Some("ball_grid_8")),
            ("fly", None),
            ("w", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
        assert_eq!(nearest("crane", []), None);
    }
}
