//! When a solver stops.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::check::{Invalid, demand};

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

    /// The budget of what follows after so many seconds: only the wall-clock limit is less, and never switched off.
    pub fn after(&self, spent: f64) -> Self {
        /// What a solver reads as over already (s).
        const OVER: f64 = 1e-9;
        let left = (self.time - spent).max(OVER);
        Self {
            time: if self.time > 0.0 { left } else { self.time },
            ..*self
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        let iterations = self.iterations;
        demand(iterations > 0, "iterations", "at least 1", iterations)?;
        [
            ("tolerance", self.tolerance),
            ("absolute", self.absolute),
            ("relative", self.relative),
            ("time", self.time),
        ]
        .into_iter()
        .try_for_each(|(field, v)| demand((0.0..1e9).contains(&v), field, "from 0 to 1e9", v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_has_the_rest_of_the_time_and_none_where_it_is_over() {
        let budget = Budget {
            time: 0.01,
            ..Budget::default()
        };
        assert_eq!(budget.after(0.004).time, 0.006);
        let over = budget.after(0.02);
        assert!(
            over.time_limit()
                .is_some_and(|limit| limit < Duration::from_micros(1))
        );
        let unlimited = Budget {
            time: 0.0,
            ..budget
        };
        assert_eq!(unlimited.after(1.0), unlimited);
    }
}
