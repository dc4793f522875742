//! The methods of an exact solution, one of which may be left out to see what it is worth.

use crate::solve::{Parameter, ParameterKind, Parameters};

/// A method, in the order in which they take their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Alternating directions, first where contacts are redundant.
    AlternatingDirections,
    /// A few sweeps, first elsewhere.
    FirstSweeps,
    /// Pivoting on boxes, and on discs that are linearised.
    Pivoting,
    /// Newton's method on the laws themselves.
    SemismoothNewton,
    /// Proximal points, by Newton's method.
    ProximalPoints,
    /// Many sweeps, where all others ended above the tolerance.
    Sweeps,
}

impl Stage {
    /// All, with their names.
    pub const ALL: [(Stage, &'static str); 6] = [
        (Stage::AlternatingDirections, "alternating-directions"),
        (Stage::FirstSweeps, "first-sweeps"),
        (Stage::Pivoting, "pivoting"),
        (Stage::SemismoothNewton, "semismooth-newton"),
        (Stage::ProximalPoints, "proximal-points"),
        (Stage::Sweeps, "sweeps"),
    ];

    /// The one that is to be left out.
    pub fn without(parameters: &Parameters) -> Option<Self> {
        let name = parameters.choice(WITHOUT.name);
        let stages = Self::ALL.iter();
        stages
            .filter(|(_, of)| *of == name)
            .map(|(stage, _)| *stage)
            .next()
    }
}

/// The parameter that leaves a method out.
pub const WITHOUT: Parameter = Parameter {
    name: "without",
    unit: "-",
    summary: "a method of exact solutions that is left out, to see what it is worth",
    source: "-",
    kind: ParameterKind::Choice {
        default: "nothing",
        options: &[
            "nothing",
            "alternating-directions",
            "first-sweeps",
            "pivoting",
            "semismooth-newton",
            "proximal-points",
            "sweeps",
        ],
    },
};
