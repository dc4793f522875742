//! The exact solution as a table: which method comes when, where it applies, and until what progress it goes on.
//!
//! To add one: a file here, and one line in the table.

mod alternating_directions;
mod first_sweeps;
mod pivoting;
mod proximal_points;
mod semismooth_newton;
mod sweeps;

pub use self::alternating_directions::work as work_of_alternating;
use super::engine::{ACCEPTED, Engine, Stage};
use crate::solve::method::{Limits, Site};
use crate::solve::{Parameter, ParameterKind, Parameters};

/// The stages in their order: those that come once, and those that take turns, as long as the last of them applies and is not left out.
const ONCE: usize = 3;
const TABLE: [Stage; 6] = [
    alternating_directions::STAGE,
    first_sweeps::STAGE,
    pivoting::STAGE,
    semismooth_newton::STAGE,
    proximal_points::STAGE,
    sweeps::STAGE,
];

/// Most rounds of those that take turns.
const ROUNDS: usize = 5;

/// Solves from the impulses of the state, whose residual is `error`, unless that is accepted, until the residual is at most
/// the tolerance, or a tenth of it once a step was made, or the limits are reached. Leaves the best impulses there and returns their residual (m/s).
pub fn solve(engine: &mut Engine, site: &Site<'_>, mut error: f64, limits: &Limits) -> f64 {
    engine.start(limits);
    for stage in &TABLE[..ONCE] {
        if engine.accepts(error, limits.tolerance) {
            return error;
        }
        if engine.has(stage) && !engine.state.is_over(limits) && (stage.applies)(engine) {
            error = (stage.run)(engine, site, error, limits);
        }
    }
    if engine.accepts(error, limits.tolerance) {
        return error;
    }
    finish(engine, site, error, limits)
}

/// Goes on from the best impulses with more work. Leaves the best there and returns their residual (m/s).
pub fn go_on(engine: &mut Engine, site: &Site<'_>, limits: &Limits) -> f64 {
    let mut error = engine.state.return_to_best(&mut engine.bodies);
    let directions = &TABLE[0];
    if engine.has(directions) && (directions.applies)(engine) {
        error = (directions.run)(engine, site, error, limits);
    }
    finish(engine, site, error, limits)
}

/// The stages that take turns.
fn finish(engine: &mut Engine, site: &Site<'_>, error: f64, limits: &Limits) -> f64 {
    // What is hardly brought down are waves through many bodies, which the next step has again, twice as high.
    let mut limits = *limits;
    if engine.state.tally.steps > 0 {
        limits.tolerance *= ACCEPTED;
    }
    if error > limits.tolerance && !engine.state.is_over(&limits) {
        take_turns(engine, &TABLE[ONCE..], site, error, &limits);
    }
    engine.state.take_best();
    engine.state.least
}

/// The stages one after the other, until one gets there.
fn take_turns(
    engine: &mut Engine,
    stages: &[Stage],
    site: &Site<'_>,
    mut error: f64,
    limits: &Limits,
) {
    for _ in 0..ROUNDS {
        let mut leads_on = false;
        for (k, stage) in stages.iter().enumerate() {
            if k > 0 && (engine.state.least <= limits.tolerance || engine.state.is_over(limits)) {
                return;
            }
            leads_on = engine.has(stage) && (stage.applies)(engine);
            if leads_on {
                error = (stage.run)(engine, site, error, limits);
            }
        }
        if !leads_on {
            return;
        }
    }
}

/// The names of what may be left out.
const NAMES: [&str; TABLE.len() + 1] = {
    let mut names = ["nothing"; TABLE.len() + 1];
    let mut k = 0;
    while k < TABLE.len() {
        names[k + 1] = TABLE[k].name;
        k += 1;
    }
    names
};

/// The name of the stage that is to be left out, if any is.
pub fn left_out(parameters: &Parameters) -> Option<&'static str> {
    let name = parameters.choice(WITHOUT.name);
    NAMES[1..].iter().copied().find(|of| *of == name)
}

/// The parameter that leaves a stage out.
pub const WITHOUT: Parameter = Parameter {
    name: "without",
    unit: "-",
    summary: "a method of exact solutions that is left out, to see what it is worth; problems without bodies have \
              all of theirs",
    source: "-",
    kind: ParameterKind::Choice {
        default: "nothing",
        options: &NAMES,
    },
};
