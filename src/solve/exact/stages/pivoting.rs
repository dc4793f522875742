//! Pivoting from the last step's sets ([`Pivoting`]).

use super::super::engine::{Engine, Stage};
use crate::solve::method::pivoting::Pivoting;
use crate::solve::method::{Limits, Site};

/// The share of the work budget that pivoting may take (-): it takes next to nothing, or leads nowhere.
const SHARE: f64 = 0.3;
/// On discs it may take as much as so many Newton steps, and is not worth its while where a pivot takes more work than
/// one (-). The longest of the winch took 15, and those of dominoes that led nowhere 10 in the mean with 50. Pivots on
/// machines in motion and falling dominoes take 0.3 to 0.8 of a step, on cards 1.5, and five on a vehicle of six wheels,
/// where they lead nowhere half of the time and Newton's steps go on as quickly. Over the steps of docs/exact.md more work
/// is taken without either bound: 1.02 and 1.04 times as much.
const STEPS: f64 = 20.0;
const STEPS_PER_PIVOT: f64 = 1.0;

/// Where contacts are not redundant, from the impulses that the step began with: the sets of a few sweeps are not as good.
pub const STAGE: Stage = Stage {
    name: "pivoting",
    applies: |engine| !engine.alternates() && Pivoting::solves(&engine.bodies),
    run,
};

fn run(engine: &mut Engine, site: &Site<'_>, error: f64, limits: &Limits) -> f64 {
    engine.bodies.make_ready();
    let all = SHARE * engine.budget - engine.state.tally.work;
    let most = if Pivoting::solves_exactly(&engine.bodies) {
        [all, f64::INFINITY]
    } else {
        let step = engine.work_of_a_step();
        [all.min(STEPS * step), STEPS_PER_PIVOT * step]
    };
    let pivoting = engine.pivoting.get_or_insert_default();
    let (bodies, state) = (&engine.bodies, &mut engine.state);
    match pivoting.run(site, bodies, state, most, limits.deadline) {
        // It is an iteration, as a round of sweeps is.
        Some(work) => engine.judge((1, work), limits),
        None => error,
    }
}
