//! The numbers of an outcome, by the names that every table, panel and file has them by.

use super::Outcome;
use crate::problem::residual::Residual;
use crate::solve::Status;

/// A number of an outcome.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in reports.
    pub name: &'static str,
    /// Its unit, "-" for none.
    pub unit: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// The number; none where there is none.
    pub value: fn(&Outcome) -> Option<f64>,
}

macro_rules! residual {
    ($name:ident, $unit:literal, $summary:literal) => {
        Field {
            name: stringify!($name),
            unit: $unit,
            summary: $summary,
            value: |o| o.residual.map(|r: Residual| r.$name),
        }
    };
}

/// All of them, in the order of the columns.
pub static FIELDS: [Field; 16] = [
    Field {
        name: "iterations",
        unit: "-",
        summary: "Of the island that took most; what one is, each solver says itself.",
        value: |o| Some(f64::from(o.report.iterations)),
    },
    Field {
        name: "time_ms",
        unit: "ms",
        summary: "Preparation and iterations, what recording costs left out.",
        value: |o| Some(1e3 * o.time()),
    },
    Field {
        name: "prepare_ms",
        unit: "ms",
        summary: "What the solver does before its first iteration.",
        value: |o| Some(1e3 * o.report.prepare_time),
    },
    residual!(
        residual,
        "m/s",
        "Largest ‖Λ − prox(Λ − ρw)‖/ρ, under the law that the solver solves."
    ),
    residual!(residual_rms, "m/s", "The same, root mean square."),
    residual!(
        penetration_velocity,
        "m/s",
        "Largest approach velocity that is left at a contact or limit."
    ),
    residual!(
        complementarity,
        "J",
        "Largest |Λ w| where an impulse acts although the gap opens."
    ),
    residual!(cone, "N s", "Largest distance of an impulse from its set."),
    residual!(
        sliding_direction,
        "-",
        "Largest misfit of a sliding contact's friction and velocity."
    ),
    residual!(bilateral, "m/s", "Largest |w| of a row that may not move."),
    Field {
        name: "natural_map",
        unit: "-",
        summary: "FCLIB's own residual, which depends on units; only for problems without bodies.",
        value: |o| o.residual.and_then(|r| r.natural_map),
    },
    residual!(
        gamma,
        "N² s²",
        "Poulsen's quality ½‖prox(Λ − Rw) − Λ‖², R = 100."
    ),
    Field {
        name: "residual_coulomb",
        unit: "m/s",
        summary: "The residual under exact Coulomb friction, whatever was solved.",
        value: |o| o.residual_coulomb.map(|r| r.residual),
    },
    Field {
        name: "velocity_distance",
        unit: "m/s",
        summary: "max |v − v*| + r|ω − ω*| over the bodies; v* and ω* of the most accurate solver here.",
        value: |o| o.distance,
    },
    Field {
        name: "velocity_error",
        unit: "m/s",
        summary: "The same from the `reference`; none where it takes no part, or did not reach its goal.",
        value: |o| o.velocity_error,
    },
    Field {
        name: "velocity_estimate",
        unit: "m/s",
        summary: "About what velocity_error is, found without a reference: from a solution with a thousandth of the residual.",
        value: |o| o.velocity_estimate,
    },
];

/// How a solve ended, in one word.
pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::Budget => "budget",
        Status::Stalled(_) => "stalled",
        Status::Failed(_) => "failed",
    }
}
