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

/// What may be left out: nothing, or one of [`IN_ORDER`].
const NAMES: [&str; 7] = [
    "nothing",
    "alternating-directions",
    "first-sweeps",
    "pivoting",
    "semismooth-newton",
    "proximal-points",
    "sweeps",
];
const IN_ORDER: [Stage; 6] = [
    Stage::AlternatingDirections,
    Stage::FirstSweeps,
    Stage::Pivoting,
    Stage::SemismoothNewton,
    Stage::ProximalPoints,
    Stage::Sweeps,
];

impl Stage {
    /// The one that is to be left out.
    pub fn without(parameters: &Parameters) -> Option<Self> {
        let name = parameters.choice(WITHOUT.name);
        let mut stages = NAMES[1..].iter().zip(IN_ORDER);
        stages.find_map(|(of, stage)| (*of == name).then_some(stage))
    }
}

/// The parameter that leaves a method out.
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
