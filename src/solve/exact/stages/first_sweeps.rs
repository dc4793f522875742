//! A few sweeps, where they need no factor.

use super::super::engine::{ACCEPTED, Engine, Stage};
use crate::solve::method::conjugate_sweeps::ConjugateSweeps;
use crate::solve::method::{Limits, Site};

/// Sweeps at a time, and how far so many of them must bring the residual down for more to follow (-): four find the walls
/// and pyramids that stand and save most factors.
const FIRST: usize = 4;
const QUICK: f64 = 0.2;

/// First where contacts are not redundant.
pub const STAGE: Stage = Stage {
    name: "first-sweeps",
    applies: |engine| !engine.alternates() && ConjugateSweeps::can_sweep(&engine.bodies),
    run,
};

/// As long as they lead on quickly. Leaves the best impulses.
fn run(engine: &mut Engine, _site: &Site<'_>, _error: f64, limits: &Limits) -> f64 {
    let (bodies, state) = (&mut engine.bodies, &mut engine.state);
    engine.sweeps.prepare(bodies, state);
    while !state.is_over(limits) {
        let before = state.least;
        let error = engine.sweeps.run(bodies, state, [FIRST; 2], limits);
        if error < state.least {
            state.keep(error);
        }
        let is_enough = state.least <= ACCEPTED * limits.tolerance;
        if is_enough || error.is_nan() || error > QUICK * before {
            break;
        }
    }
    state.go_back(bodies)
}
