//! The prox solvers: Λ ← prox(Λ − R(A Λ + b)), swept as Jacobi or Gauss–Seidel (Poulsen 2010,
//! chapter 3; Nützi 2011, section 4.4).
//!
//! Both keep w factorized: never A, but the velocities u = u_free + M⁻¹ Jᵀ Λ, through which every
//! block reads and writes.

mod block;
pub mod gauss_seidel;
pub mod jacobi;
mod monitor;
mod pack;

use std::time::{Duration, Instant};

use monitor::{Monitor, State};

use crate::solve::{HistoryPoint, Parameter, ParameterKind, Request, SolveReport, Status};

/// Most times that R is halved before a solve counts as failed.
pub const MAX_HALVINGS: u32 = 5;
/// ν: what R is multiplied by on divergence (Nützi 2011, 4.4.3).
pub const NU: f64 = 0.5;

const fn alpha(default: f64, summary: &'static str) -> Parameter {
    Parameter {
        name: "alpha",
        unit: "-",
        summary,
        source: "Nützi 2011, 4.46 and 4.47",
        kind: ParameterKind::Number {
            default,
            range: [0.001, 1.999],
        },
    }
}

/// The clock of an iteration: stops while a history is recorded, and knows the time limit.
struct IterationClock {
    start: Instant,
    limit: Option<Duration>,
    history: bool,
    recording: Duration,
}

impl IterationClock {
    fn start(request: &Request) -> Self {
        Self {
            start: Instant::now(),
            limit: request.budget.time_limit(),
            history: request.history,
            recording: Duration::ZERO,
        }
    }

    /// Time of the iterations so far (s), what recording cost left out.
    fn elapsed(&self) -> f64 {
        (self.start.elapsed() - self.recording).as_secs_f64()
    }

    fn is_over(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.start.elapsed() - self.recording >= limit)
    }

    /// Adds a point to the history, if one is asked for.
    fn record(&mut self, report: &mut SolveReport, delta: f64, residual: impl FnOnce() -> f64) {
        if !self.history {
            return;
        }
        let pause = Instant::now();
        let time = self.elapsed();
        report.history.push(HistoryPoint {
            iteration: report.iterations,
            time,
            residual: residual(),
            delta,
        });
        self.recording += pause.elapsed();
    }
}

/// The outcome for a problem that cannot be solved.
fn not_finite() -> Status {
    Status::Failed("the problem holds a number that is not finite".into())
}

/// The outcome of all islands together.
fn status(monitors: &[Monitor]) -> Status {
    let failed = monitors.iter().filter(|m| m.state == State::Failed).count();
    if failed > 0 {
        return Status::Failed(format!(
            "{failed} of {} islands still diverged after R was halved {MAX_HALVINGS} times",
            monitors.len()
        ));
    }
    if monitors.iter().all(|m| m.state == State::Converged) {
        Status::Converged
    } else {
        Status::Budget
    }
}

fn halvings(monitors: &[Monitor]) -> u32 {
    monitors.iter().map(|m| m.halvings).max().unwrap_or(0)
}
