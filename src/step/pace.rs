//! How finely a step is taken.

use crate::world::Settings;

/// A number of substeps, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Substeps of the step.
    pub substeps: u32,
    /// Length of each (s).
    pub h: f64,
    /// How long what collision detection finds is good for (s).
    pub horizon: f64,
}

impl Pace {
    /// A step in so many substeps.
    pub fn new(settings: &Settings, substeps: u32) -> Self {
        Self {
            substeps,
            h: settings.substep_of(substeps),
            horizon: settings.horizon(substeps),
        }
    }
}

/// One of the substeps of a step.
#[derive(Clone, Copy, Debug)]
pub struct Substep {
    pub pace: Pace,
    /// Its number, from 0.
    pub index: u32,
    /// Whether nothing finer is tried after it.
    pub is_last_try: bool,
}

impl Substep {
    /// Whether it is the step's first one.
    pub fn is_first(&self) -> bool {
        self.index == 0
    }

    /// Whether it is the step's last one.
    pub fn is_last(&self) -> bool {
        self.index + 1 >= self.pace.substeps
    }

    /// The share of what is open of the joints that it closes, so that all is closed at the step's end (-).
    pub fn share(&self) -> f64 {
        1.0 / f64::from(self.to_go())
    }

    /// How many substeps of the step are left, itself among them.
    pub fn to_go(self) -> u32 {
        self.pace.substeps.saturating_sub(self.index).max(1)
    }
}
