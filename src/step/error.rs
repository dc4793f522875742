//! Why a step was not taken.

use crate::check::Invalid;
use crate::world::{SPEED_LIMIT, WORLD_LIMIT};

/// Why a step was not taken. The world is as it was before; colours that a solver carries from step to
/// step may be those of the step that failed, which changes the order of its sweeps and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// A setting, material or reference that cannot be used, see [`World::check`](crate::world::World::check).
    #[error("step {step}: {invalid}; the step was not taken")]
    BadWorld {
        /// Index of the step.
        step: u64,
        /// What is wrong.
        invalid: Invalid,
    },
    /// A body would leave the bounds that
    /// [`World::first_out_of_bounds`](crate::world::World::first_out_of_bounds) checks.
    #[error(
        "step {step}: {body} would move out of bounds ({WORLD_LIMIT:e} m, {SPEED_LIMIT:e} m/s) or to no number at all; the step was not taken"
    )]
    OutOfBounds {
        /// Index of the step.
        step: u64,
        /// The body.
        body: String,
    },
    /// More bodies are in one place than a step can hold.
    #[error(
        "step {step}: {count} {what} or more; at most {most} fit into a step, which was not taken"
    )]
    TooMany {
        /// Index of the step.
        step: u64,
        /// How many there are, at least or about.
        count: u64,
        /// Pairs of bodies, or contacts.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// The solver failed, and so did the fallback.
    #[error(
        "step {step}: {solver} failed ({reason}), and so did the fallback ({fallback}); the step was not taken"
    )]
    SolverFailed {
        /// Index of the step.
        step: u64,
        /// The solver's name.
        solver: &'static str,
        /// Its own words.
        reason: String,
        /// The fallback's.
        fallback: String,
    },
}
