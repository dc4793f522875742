//! The clock of a step: what was measured when, and to which stage it goes.

use std::sync::Arc;
use std::time::Instant;

use super::{Stage, Timings};

/// A source of time (s). Tests have one of their own.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

/// The time since it was made, by the system's monotonic clock.
pub fn system_clock() -> Clock {
    let origin = Instant::now();
    Arc::new(move || origin.elapsed().as_secs_f64())
}

/// Laps of one clock: every stage starts where the last one ended, so that nothing is lost between
/// them and nothing is counted twice.
pub struct Stopwatch<'a> {
    clock: &'a Clock,
    since: f64,
    /// What the stages took so far.
    pub timings: Timings,
}

impl<'a> Stopwatch<'a> {
    /// Starts the first lap.
    pub fn start(clock: &'a Clock) -> Self {
        Self {
            clock,
            since: clock(),
            timings: Timings::default(),
        }
    }

    /// Ends a lap: all of it was `stage`.
    pub fn lap(&mut self, stage: Stage) {
        self.split(stage, &[]);
    }

    /// Ends a lap of `stage`, of which some seconds belong to other stages. They cannot be more than the
    /// lap was long.
    pub fn split(&mut self, stage: Stage, others: &[(Stage, f64)]) {
        let now = (self.clock)();
        let mut left = now - self.since;
        self.since = now;
        for (other, seconds) in others {
            let share = seconds.clamp(0.0, left);
            self.timings.add(*other, share);
            left -= share;
        }
        self.timings.add(stage, left);
    }
}
