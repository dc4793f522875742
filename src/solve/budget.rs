//! When a solver stops.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
