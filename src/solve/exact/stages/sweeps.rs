//! Many sweeps, for where Newton's steps lead in circles.

use super::super::engine::{Engine, Stage};
use crate::solve::method::conjugate_sweeps::ConjugateSweeps;
use crate::solve::method::{Limits, Site};

/// The least and the most sweeps of a round, which ends when they have taken as much work as everything before. On machines
/// in motion the hardest problems need some hundred sweeps.
const SWEEPS: [usize; 2] = [50, 10_000];

/// Where all others have ended above the tolerance.
pub const STAGE: Stage = Stage {
    name: "sweeps",
    applies: |engine| {
        ConjugateSweeps::can_sweep(&engine.bodies) && engine.state.least > engine.state.wanted
    },
    run,
};

/// From the best impulses; what they lead to is to go on from.
fn run(engine: &mut Engine, _site: &Site<'_>, _error: f64, limits: &Limits) -> f64 {
    let (bodies, state) = (&mut engine.bodies, &mut engine.state);
    state.return_to_best(bodies);
    engine.sweeps.prepare(bodies, state);
    let error = engine.sweeps.run(bodies, state, SWEEPS, limits);
    state.keep(error);
    error
}
