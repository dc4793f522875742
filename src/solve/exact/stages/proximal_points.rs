//! Proximal points ([`ProximalPoint`](crate::solve::method::proximal_point::ProximalPoint)).

use super::super::engine::{Engine, Stage};
use crate::solve::method::{Limits, Site};

/// Points in turn that bring nothing before it gives up, where sweeps cannot follow and where they can.
const PATIENCE: [u32; 2] = [24, 4];

/// Where Newton's steps end: every point is nearer, whatever it began at.
pub const STAGE: Stage = Stage {
    name: "proximal-points",
    applies: |_| true,
    run,
};

/// A matrix that cannot be factored leads nowhere.
fn run(engine: &mut Engine, _site: &Site<'_>, error: f64, limits: &Limits) -> f64 {
    let can_sweep = engine.has(&super::sweeps::STAGE) && (super::sweeps::STAGE.applies)(engine);
    let patience = PATIENCE[usize::from(can_sweep)];
    let (bodies, state) = (&mut engine.bodies, &mut engine.state);
    let _ = (engine.points).run(bodies, state, error, patience, limits);
    state.least
}
