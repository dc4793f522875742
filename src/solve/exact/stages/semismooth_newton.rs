//! Newton's method on the laws themselves
//! ([`SemismoothNewton`](crate::solve::method::semismooth_newton::SemismoothNewton)).

use super::super::engine::{Engine, Stage};
use crate::solve::method::{Limits, Site};

/// First in every round: from a near start it is there in a few steps.
pub const STAGE: Stage = Stage {
    name: "semismooth-newton",
    applies: |_| true,
    run,
};

/// A matrix that cannot be factored leads nowhere.
fn run(engine: &mut Engine, _site: &Site<'_>, error: f64, limits: &Limits) -> f64 {
    let (bodies, state) = (&mut engine.bodies, &mut engine.state);
    let result = engine.newton.run(bodies, state, error, limits);
    result.unwrap_or_else(|_| state.go_back(bodies))
}
