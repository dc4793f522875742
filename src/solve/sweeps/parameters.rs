//! The parameters that the prox solvers share, and what they do to a packed problem.

use super::alpha;
use super::form::Packs;
use super::pack::Packed;
use super::r_factors::{use_global_r, use_uniform_r};
use crate::problem::Problem;
use crate::problem::delassus::{BlockCounter, Coupling};
use crate::solve::{Parameter, ParameterKind, Parameters};

/// α = 1.
pub const ALPHA: Parameter = alpha(1.0, "factor on the R-factors");

/// How A is kept.
pub const SCHEME: Parameter = Parameter {
    name: "scheme",
    unit: "-",
    summary: "factorized: w through velocities, without A. delassus: A stored, w = A Λ + b. t: T = 1 − R A \
              stored, Λ ← prox(T Λ − R b). auto: t where A has few blocks, else factorized. Problems without \
              bodies: t, else delassus",
    source: "Poulsen 2010, 3.4 to 3.6",
    kind: ParameterKind::Choice {
        default: "factorized",
        options: &["factorized", "delassus", "t", "auto"],
    },
};

/// The R-factors; solvers differ in the default.
pub const fn r_factors(default: &'static str, degree: &'static str) -> Parameter {
    Parameter {
        name: "r_factors",
        unit: "-",
        summary: degree,
        source: "Nützi 2011, 4.6.1; Munksgaard & Kaiser, section 4 (degree)",
        kind: ParameterKind::Choice {
            default,
            options: &["local", "uniform", "global", "degree"],
        },
    }
}

/// The R-factors of a solver whose degree counts all adjacent blocks.
pub const fn r_factors_by_degree(default: &'static str) -> Parameter {
    r_factors(
        default,
        "local: R = α/A_ii. uniform: that of the largest A_ii of each island, for normal rows and for friction rows. \
         global: R = 2α/(λ_min + λ_max) of each island's A. degree: local, and Λ ← (1 − ω)Λ + ω Λ_local with ω = 1/max(1, adjacent blocks)",
    )
}

/// Whether fixed bodies take colours.
pub const FIXED_BODIES: Parameter = Parameter {
    name: "fixed_bodies",
    unit: "-",
    summary: "none: bodies that impulses do not move couple nothing and take no colour. as-poulsen: every one of them \
              takes a colour for each of its contacts (on the graphics processor all of an island as one), as in the thesis, \
              whose ground makes hundreds",
    source: "Poulsen 2010, 4.3.1 and 7.3",
    kind: ParameterKind::Choice {
        default: "none",
        options: &["none", "as-poulsen"],
    },
};

/// What a contact's step is.
pub const BLOCK: Parameter = Parameter {
    name: "block",
    unit: "-",
    summary: "rows: prox of the normal row, then of the friction rows. contact: the own 3×3 problem of each \
              disc contact solved exactly (separate, stick, slide); other laws keep rows",
    source: "-",
    kind: ParameterKind::Choice {
        default: "rows",
        options: &["rows", "contact"],
    },
};

/// The R-factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RFactors {
    /// R_k = α/diagonal.
    #[default]
    Local,
    /// The smallest R of an island, one for its normal rows and one for its friction rows.
    Uniform,
    /// R = 2α/(λ_min + λ_max), one for an island.
    Global,
    /// Local, averaged with the old Λ by what else touches the same bodies.
    Degree,
}

impl RFactors {
    /// From checked parameters that have [`r_factors`].
    pub fn from_parameters(parameters: &Parameters) -> Self {
        match parameters.choice("r_factors") {
            "uniform" => Self::Uniform,
            "global" => Self::Global,
            "degree" => Self::Degree,
            _ => Self::Local,
        }
    }
}

/// How a solver wants its problem packed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packing {
    /// Factor on R.
    pub alpha: f64,
    /// The R-factors.
    pub r_factors: RFactors,
    /// Whether disc contacts solve their own problem exactly.
    pub exact: bool,
}

impl Packing {
    /// From checked parameters that have [`ALPHA`], [`r_factors`] and [`BLOCK`].
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            alpha: parameters.number("alpha"),
            r_factors: RFactors::from_parameters(parameters),
            exact: parameters.choice("block") == "contact",
        }
    }

    /// Packs a problem by islands as asked for; degrees count blocks within groups of `size`.
    pub fn pack(&self, problem: &impl Packs, packed: &mut Packed, size: usize) {
        problem.pack(packed, self.alpha);
        self.apply(problem, packed);
        if self.r_factors == RFactors::Degree {
            problem.use_degree(packed, size);
        }
    }

    /// Does to a packed problem what is asked for, but for the ω of [`RFactors::Degree`], which every
    /// solver counts its own way.
    pub fn apply(&self, problem: &impl Packs, packed: &mut Packed) {
        match self.r_factors {
            RFactors::Global => use_global_r(problem, packed, self.alpha),
            RFactors::Uniform => use_uniform_r(packed),
            RFactors::Local | RFactors::Degree => {}
        }
        if self.exact {
            problem.find_contact_blocks(packed);
        }
    }
}

/// How A is kept; [`SCHEME`] after `auto` is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all.
    #[default]
    Factorized,
    /// As it is.
    Delassus,
    /// As T = 1 − R A.
    T,
}

/// `auto` takes T below this many numbers of A per row of Λ: six blocks of four rows, or eight of
/// three (Poulsen 2010, 3.4.1).
const AUTO: f64 = 24.0;

/// The scheme asked for, and the memory to decide.
#[derive(Default)]
pub struct SchemeChoice {
    scheme: Option<Scheme>,
    counter: BlockCounter,
}

impl SchemeChoice {
    /// From checked parameters that have [`SCHEME`].
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            scheme: match parameters.choice("scheme") {
                "delassus" => Some(Scheme::Delassus),
                "t" => Some(Scheme::T),
                "auto" => None,
                _ => Some(Scheme::Factorized),
            },
            counter: BlockCounter::default(),
        }
    }

    /// Without A wherever there are bodies.
    pub fn factorized() -> Self {
        Self::of(Scheme::Factorized)
    }

    /// Always this one.
    pub fn of(scheme: Scheme) -> Self {
        Self {
            scheme: Some(scheme),
            ..Self::default()
        }
    }

    /// The scheme for a problem that is given by A: T where that is asked for, else A itself.
    pub fn stored(&self) -> Scheme {
        match self.scheme {
            Some(Scheme::T) => Scheme::T,
            _ => Scheme::Delassus,
        }
    }

    /// The scheme for a problem. `auto` counts blocks in linear time, without A.
    pub fn decide(&mut self, problem: &Problem) -> Scheme {
        self.scheme.unwrap_or_else(|| {
            let blocks = (problem.contacts.len() + problem.rows.len()).max(1) as f64;
            let per_block = self.counter.count(problem, Coupling::Dynamic) as f64 / blocks;
            let rows = problem.row_count() as f64 / blocks;
            if per_block * rows < AUTO {
                Scheme::T
            } else {
                Scheme::Factorized
            }
        })
    }
}
