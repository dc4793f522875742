//! The exact solution of islands, by counted work.
//!
//! - `pass`: all islands of a problem: what is asked of each, what work it may take, and what became of it;
//! - `run`: one island of that: what was decided, what it may take, and where it has ended; `engine`: its problem, its
//!   impulses and the methods' memory, if it is solved exactly;
//! - `stages`: which method comes when: alternating directions where contacts are redundant, elsewhere a few sweeps and
//!   pivoting, and then Newton's method on the laws themselves, proximal points, and sweeps in turn;
//! - `budget`: what islands may take, and what they are likely to take;
//! - `standing`: islands that the impulses solve already, seen before anything is copied;
//! - `backoff`: islands that are not worth an exact solution for some steps;
//! - `matrices`: problems without bodies.
//!
//! The result is judged by the exact law, and is never worse than its start.

pub(super) mod backoff;
mod budget;
mod engine;
pub(super) mod matrices;
mod pass;
mod run;
pub(super) mod stages;
mod standing;

pub(super) use budget::{Refusal, WorkBudget, sweeps_for};
pub(super) use pass::{Ask, ExactPass, Sweeper};
pub(super) use run::IslandRun;
pub(crate) use standing::{accepted, residual_within};
