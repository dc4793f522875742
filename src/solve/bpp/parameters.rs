//! The solver's entry in the list, and its parameters.

use super::Bpp;
use super::factor::FACTORIZATIONS;
use super::island::MEGABYTE;
use super::tuning::Tuning;
use crate::solve::{Parameter, ParameterKind, Parameters, SolverInfo, Traits, work};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "bpp",
    summary: "block principal pivoting: a direct solver, exact for friction boxes that follow the normal \
              impulses; an iteration is a set of free rows that was solved for",
    source: "Lefebvre 2020, chapters 2 and 3; Júdice & Pires 1994",
    least_iterations: 50_000,
    traits: Traits::NONE,
    parameters: &[
        Parameter {
            name: "factorization",
            unit: "-",
            summary: "full: dense Cholesky of A_FF at every pivot. downdate: one dense factor of A, tight rows \
                      removed. skyline: the same within the envelope after reverse Cuthill–McKee. cached: \
                      skyline, with the intermediate factors of a step kept. sparse: LDL^T by approximate \
                      minimum degree, for islands that branch",
            source: "Lefebvre 2020, 2.2 and 3.2",
            kind: ParameterKind::Choice {
                default: "skyline",
                options: FACTORIZATIONS,
            },
        },
        Parameter {
            name: "pivots",
            unit: "-",
            summary: "most block pivots of a problem with fixed friction bounds; then single ones",
            source: "Lefebvre 2020, table 2.1",
            kind: ParameterKind::Integer {
                default: 35,
                range: [1, 100_000],
            },
        },
        Parameter {
            name: "single_pivots",
            unit: "-",
            summary: "most pivots of one row alone in such a problem",
            source: "Murty 1974",
            kind: ParameterKind::Integer {
                default: 1000,
                range: [0, 1_000_000],
            },
        },
        Parameter {
            name: "patience",
            unit: "-",
            summary: "block pivots without fewer violations than before, until single pivots take over",
            source: "Júdice & Pires 1994, p",
            kind: ParameterKind::Integer {
                default: 3,
                range: [1, 1000],
            },
        },
        Parameter {
            name: "outer_iterations",
            unit: "-",
            summary: "most problems with fixed friction bounds",
            source: "-",
            kind: ParameterKind::Integer {
                default: 60,
                range: [1, 100_000],
            },
        },
        Parameter {
            name: "newton",
            unit: "-",
            summary: "whether friction bounds follow by Newton's method; else from solve to solve",
            source: "-",
            kind: ParameterKind::Flag { default: true },
        },
        Parameter {
            name: "warm_start",
            unit: "-",
            summary: "whether the sets of rows start from the last step's impulses; else all rows are free, and only the \
                      first friction bounds come from there, as the thesis's do",
            source: "-",
            kind: ParameterKind::Flag { default: true },
        },
        Parameter {
            name: "contact_compliance",
            unit: "-",
            summary: "compliance added to the contacts' rows, as a share of the diagonal of A",
            source: "Lefebvre 2020, 1.2.1",
            kind: ParameterKind::Number {
                default: 1e-9,
                range: [0.0, 1.0],
            },
        },
        Parameter {
            name: "refinements",
            unit: "-",
            summary: "most proximal steps that take the added compliance back out of w",
            source: "Rockafellar 1976",
            kind: ParameterKind::Integer {
                default: 6,
                range: [0, 1000],
            },
        },
        Parameter {
            name: "coupled_steps",
            unit: "-",
            summary: "where sets and friction bounds do not settle one after the other: most Newton steps on both \
                      at once, in proximal problems of smaller and smaller weight; 0 does without",
            source: "Hintermüller, Ito & Kunisch 2002; Rockafellar 1976",
            kind: ParameterKind::Integer {
                default: 400,
                range: [0, 1_000_000],
            },
        },
        Parameter {
            name: "refactor_share",
            unit: "-",
            summary: "share of tight rows above which A_FF is factored instead of downdated; 1: never, all tight rows \
                      are removed from the factor of A at every pivot, as in the thesis's measurements",
            source: "Lefebvre 2020, 2.2.2",
            kind: ParameterKind::Number {
                default: 0.15,
                range: [0.0, 1.0],
            },
        },
        work::parameter(work::DIRECT),
        Parameter {
            name: "memory",
            unit: "MB",
            summary: "most memory of an island's matrix, and of its cached factors; a larger one is refused",
            source: "-",
            kind: ParameterKind::Number {
                default: 512.0,
                range: [1.0, 1e6],
            },
        },
        Parameter {
            name: "condition_bound",
            unit: "-",
            summary: "estimated condition number of A_FF above which the report says so",
            source: "-",
            kind: ParameterKind::Number {
                default: 1e14,
                range: [1.0, 1e30],
            },
        },
        Parameter {
            name: "verify",
            unit: "-",
            summary: "whether the last factor is compared with A_FF and with a fresh one; not timed",
            source: "Lefebvre 2020, table 2.4",
            kind: ParameterKind::Flag { default: false },
        },
    ],
    make: |parameters| Box::new(Bpp::new(parameters)),
};

/// Everything but the problem.
#[derive(Clone, Debug)]
pub struct Settings {
    pub factorization: String,
    pub tuning: Tuning,
    /// Whether sets start from the last step's impulses.
    pub warm_start: bool,
    /// Share of tight rows above which A_FF is factored instead of downdated.
    pub refactor_share: f64,
    /// Most multiplications of a solve; infinite where there is no limit.
    pub work: f64,
    /// Most bytes of an island's matrix, and of its cached factors.
    pub memory: usize,
    pub condition_bound: f64,
    pub verify: bool,
}

impl Settings {
    /// From checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let count = |name: &str| parameters.integer(name) as u32;
        Self {
            factorization: parameters.choice("factorization").into(),
            tuning: Tuning {
                pivots: count("pivots"),
                single_pivots: count("single_pivots"),
                patience: count("patience"),
                outer_iterations: count("outer_iterations"),
                refinements: count("refinements"),
                newton: parameters.flag("newton"),
                coupled_steps: count("coupled_steps"),
                contact_compliance: parameters.number("contact_compliance"),
                ..Tuning::default()
            },
            warm_start: parameters.flag("warm_start"),
            refactor_share: parameters.number("refactor_share"),
            work: work::limit(parameters),
            memory: (parameters.number("memory") * MEGABYTE) as usize,
            condition_bound: parameters.number("condition_bound"),
            verify: parameters.flag("verify"),
        }
    }
}
