//! The bound of solvers whose iterations are none: the work of a solve, counted, so that every machine ends at the same point.

use super::{Parameter, ParameterKind, Parameters};

/// What a direct solver may take by default (1e6 multiplications): seconds. Of the shipped scenes the wall takes 24
/// by `newton` and 1,640 by `bpp`, the grid of 8³ takes 70 and the pyramid 26; the logs take 3,000, and half a minute by
/// `reference`.
pub(super) const DIRECT: f64 = 2000.0;

/// The number that is held against it.
pub(super) const NAME: &str = "work";
pub(super) const SUMMARY: &str = "Multiplications, about, in millions; a quarter of those that factorisations make side by \
                                  side. All islands together.";

/// The parameter `work` with a default (1e6 multiplications).
pub(super) const fn parameter(default: f64) -> Parameter {
    Parameter {
        name: NAME,
        unit: "1e6 multiplications",
        summary: "most of a solve, all islands together, a quarter of those that factorisations make side by side; what has \
                  not got to its end by then is out of budget; 0 is no limit, and problems without bodies have none",
        source: "-",
        kind: ParameterKind::Number {
            default,
            range: [0.0, 1e9],
        },
    }
}

/// What the parameter says (multiplications); infinite where there is no limit.
pub(super) fn limit(parameters: &Parameters) -> f64 {
    match parameters.number(NAME) {
        0.0 => f64::INFINITY,
        work => 1e6 * work,
    }
}
