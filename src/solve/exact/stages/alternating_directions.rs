//! Alternating directions on islands with redundant contacts.

use super::super::engine::{Engine, Stage};
use crate::solve::island::bodies::{Bodies, WORK_PER_SYSTEM_ROW};
use crate::solve::method::alternating_directions::{self, Options};
use crate::solve::method::{Limits, Site};

/// They go on while the residual falls to this share (-) in so many iterations. From nothing it may rest for 20 of them,
/// until the penalty is right: the pyramid of 20 layers takes 57 to 3e-9 m/s, the wall 40, and from the last step's
/// impulses, where these do not do, up to five.
const FALL: f64 = 0.5;
const ROUND: usize = 30;
/// The residual that they go on to, as a share of what other methods go on to while it is cheap (-).
const AIM: f64 = 0.3;

/// First where contacts are redundant.
pub const STAGE: Stage = Stage {
    name: "alternating-directions",
    applies: Engine::alternates,
    run,
};

/// As long as they lead on. Leaves the best impulses.
fn run(engine: &mut Engine, _site: &Site<'_>, error: f64, limits: &Limits) -> f64 {
    let (bodies, state) = (&mut engine.bodies, &mut engine.state);
    let directions = &mut engine.directions;
    directions.begin_at(bodies, Options::default(), state, error);
    let mut before = error;
    for k in 1.. {
        state.tally.work += work_of_an_iteration(bodies);
        if !directions.is_running || state.is_over(limits) {
            break;
        }
        directions.iterate(bodies, AIM * limits.aim, &mut state.tally);
        state.tally.steps += 1;
        state.tally.solves += 1;
        if limits.history {
            state.x.clone_from(&directions.best);
            state.record(limits);
        }
        if k % ROUND == 0 {
            if directions.least > FALL * before {
                break;
            }
            before = directions.least;
        }
    }
    if directions.least < error {
        state.x.clone_from(&directions.best);
        state.keep(directions.least);
    }
    state.go_back(bodies)
}

/// Multiplications of a factor and so many iterations, about.
pub fn work(bodies: &Bodies, iterations: f64) -> f64 {
    let rows = bodies.island.contact_rows() as f64;
    let factor = bodies.system.work() + WORK_PER_SYSTEM_ROW * rows;
    factor + iterations * work_of_an_iteration(bodies)
}

fn work_of_an_iteration(bodies: &Bodies) -> f64 {
    alternating_directions::work_of_an_iteration(bodies, bodies.island.contact_rows())
}
