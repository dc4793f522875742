//! The dense variants of JOR Prox and SOR Prox that Nützi (2011) measures in table 6.1, on random problems, with the
//! same iterations on the CPU.

mod kernels;
mod measure;
mod problem;
mod session;
#[cfg(test)]
mod tests;
mod twin;

pub use measure::{Clock, Run, run};
pub use problem::Problem;
pub use twin::{cpu_seconds, twin};

/// The number type of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Numbers of 32 bits.
    Single,
    /// Numbers of 64 bits, where the device has them.
    Double,
}

impl Precision {
    /// Bytes of a number.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// How T lies in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row by row, each padded to whole multiples of 64 numbers.
    Rows,
    /// Column by column, each padded to whole multiples of 64 numbers.
    Columns,
    /// Column by column, without padding.
    ColumnsUnaligned,
}

/// In which order an iteration updates the impulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All at once.
    Jor,
    /// Contact by contact, the normal impulse before both of friction.
    Sor,
    /// So many contacts at once, group by group.
    Relaxed(usize),
}

/// Which parts of Full SOR Prox run. What is computed is wrong unless all do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Step A as a whole.
    pub step_a: bool,
    /// Step B as a whole.
    pub step_b: bool,
    /// The propagation of new values in step A.
    pub propagate: bool,
    /// The projection of the normal impulse in step A.
    pub normal: bool,
    /// The projection of the friction impulses in step A.
    pub tangential: bool,
    /// The writes of new values on the diagonal in step A, and the reset of their sums.
    pub writes: bool,
    /// The barriers between the invocations of step A.
    pub barriers: bool,
}

impl Parts {
    /// The whole iteration.
    pub const ALL: Self = Self {
        step_a: true,
        step_b: true,
        propagate: true,
        normal: true,
        tangential: true,
        writes: true,
        barriers: true,
    };

    /// Step A without the first parts of the sequence in which Nützi leaves them out for figure 6.4.
    const fn without(parts: usize) -> Self {
        Self {
            propagate: parts < 1,
            normal: parts < 2,
            tangential: parts < 3,
            writes: parts < 4,
            ..Self::ALL
        }
    }
}

/// The kernels of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// JOR with a product of our own in the place of CUBLAS, and a projection with so many invocations in a workgroup.
    Library {
        /// Invocations of a workgroup that adds d; without it the projection adds d.
        add: Option<u32>,
        /// Invocations of a workgroup that projects.
        prox: u32,
    },
    /// JOR with one kernel.
    Combined {
        /// Invocations of a workgroup.
        threads: u32,
        /// Rows of a workgroup.
        rows: u32,
    },
    /// JOR with one kernel for the product and one for the projection.
    Split {
        /// Whether the columns of T are padded.
        is_aligned: bool,
    },
    /// Full SOR.
    Full {
        /// Contacts in a diagonal block.
        contacts: u32,
        /// Impulses that an invocation of step B loads at a time.
        x_elements: u32,
        /// What of it runs.
        parts: Parts,
    },
    /// Relaxed SOR.
    Relaxed {
        /// Contacts that are projected at once.
        contacts: u32,
    },
}

/// A variant that can be run.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in table 6.1.
    pub name: &'static str,
    /// Its settings in the words of table 6.1.
    pub settings: &'static str,
    /// Its kernels.
    pub kind: Kind,
}

impl Variant {
    /// How it wants T.
    pub const fn order(&self) -> Order {
        match self.kind {
            Kind::Library { .. } => Order::Rows,
            Kind::Split { is_aligned: false } => Order::ColumnsUnaligned,
            _ => Order::Columns,
        }
    }

    /// In which order it updates the impulses.
    pub const fn method(&self) -> Method {
        match self.kind {
            Kind::Full { .. } => Method::Sor,
            Kind::Relaxed { contacts } => Method::Relaxed(contacts as usize),
            _ => Method::Jor,
        }
    }

    /// Whether it treats no contacts at a time.
    fn is_empty(&self) -> bool {
        match self.kind {
            Kind::Library { add, prox } => add == Some(0) || prox == 0,
            Kind::Combined { threads, rows } => threads == 0 || rows < 3,
            Kind::Split { .. } => false,
            Kind::Full {
                contacts,
                x_elements,
                ..
            } => contacts == 0 || x_elements == 0,
            Kind::Relaxed { contacts } => contacts == 0,
        }
    }

    /// Whether it computes what its twin on the CPU computes.
    pub fn is_whole(&self) -> bool {
        match self.kind {
            Kind::Full { parts, .. } => parts == Parts::ALL,
            _ => true,
        }
    }

    /// How many values of T an iteration reads, without padding.
    pub fn matrix_values(&self, rows: u64) -> u64 {
        let Kind::Full {
            contacts, parts, ..
        } = self.kind
        else {
            return rows * rows;
        };
        let block = 3 * u64::from(contacts);
        let rest = rows % block;
        let diagonal = rows / block * block * block + rest * rest;
        let of_a = u64::from(parts.step_a && parts.propagate) * diagonal;
        let of_b = u64::from(parts.step_b) * (rows * rows - diagonal);
        of_a + of_b
    }
}

/// A variant with its name and settings.
const fn variant(name: &'static str, settings: &'static str, kind: Kind) -> Variant {
    Variant {
        name,
        settings,
        kind,
    }
}

/// Full SOR 1, or some of its parts.
const fn split(name: &'static str, settings: &'static str, parts: Parts) -> Variant {
    let kind = Kind::Full {
        contacts: 32,
        x_elements: 1,
        parts,
    };
    variant(name, settings, kind)
}

/// Full SOR with all its parts.
const fn full(contacts: u32, x_elements: u32) -> Kind {
    Kind::Full {
        contacts,
        x_elements,
        parts: Parts::ALL,
    }
}

/// The eleven variants of table 6.1, and JOR 5 with an unaligned matrix.
pub const VARIANTS: [Variant; 12] = [
    variant(
        "JOR 1",
        "[row product, 128 threads a row][add 192][prox 128], T aligned, row by row",
        Kind::Library {
            add: Some(192),
            prox: 128,
        },
    ),
    variant(
        "JOR 2",
        "[row product, 128 threads a row][add and prox 256], T aligned, row by row",
        Kind::Library {
            add: None,
            prox: 256,
        },
    ),
    variant(
        "JOR 3",
        "[combined: 128 threads, 126 rows, 4 x-elements, 42 contacts, unroll 6], T aligned",
        Kind::Combined {
            threads: 128,
            rows: 126,
        },
    ),
    variant(
        "JOR 4",
        "[combined: 192 threads, 192 rows, 4 x-elements, 64 contacts, unroll 6], T aligned",
        Kind::Combined {
            threads: 192,
            rows: 192,
        },
    ),
    variant(
        "JOR 5",
        "[product: 128 threads, 128 rows, 4 x-elements, unroll 6][prox 128], T aligned",
        Kind::Split { is_aligned: true },
    ),
    variant(
        "JOR 5 (not aligned)",
        "[product: 128 threads, 128 rows, 4 x-elements, unroll 6][prox 128], T not aligned",
        Kind::Split { is_aligned: false },
    ),
    variant(
        "Full SOR 1",
        "[A: 96 threads, 32 contacts][B: 128 threads, 1 x-element, unroll 6], T aligned",
        full(32, 1),
    ),
    variant(
        "Full SOR 2",
        "[A: 192 threads, 64 contacts][B: 128 threads, 2 x-elements, unroll 6], T aligned",
        full(64, 2),
    ),
    variant(
        "Relaxed SOR 1",
        "[A: 128 threads, 2 contacts][B: 128 threads, 4 x-elements, unroll 6], T aligned",
        Kind::Relaxed { contacts: 2 },
    ),
    variant(
        "Relaxed SOR 2",
        "[A: 128 threads, 4 contacts][B: 128 threads, 4 x-elements, unroll 6], T aligned",
        Kind::Relaxed { contacts: 4 },
    ),
    variant(
        "Relaxed SOR 3",
        "[A: 128 threads, 16 contacts][B: 128 threads, 4 x-elements, unroll 6], T aligned",
        Kind::Relaxed { contacts: 16 },
    ),
    variant(
        "Relaxed SOR 4",
        "[A: 128 threads, 128 contacts][B: 128 threads, 4 x-elements, unroll 6], T aligned",
        Kind::Relaxed { contacts: 128 },
    ),
];

/// Full SOR 1 in parts, for figure 6.4: what a part takes is the difference between two of them.
pub const STEP_A: [Variant; 8] = [
    split("whole", "steps A and B", Parts::ALL),
    split("without 1", "no propagation in step A", Parts::without(1)),
    split(
        "without 1-2",
        "no propagation and no normal projection",
        Parts::without(2),
    ),
    split(
        "without 1-3",
        "no propagation and no projection",
        Parts::without(3),
    ),
    split(
        "without 1-4",
        "no propagation, no projection and no write on the diagonal",
        Parts::without(4),
    ),
    split(
        "without barriers",
        "all but the barriers in step A",
        Parts {
            barriers: false,
            ..Parts::ALL
        },
    ),
    split(
        "A alone",
        "no step B",
        Parts {
            step_b: false,
            ..Parts::ALL
        },
    ),
    split(
        "B alone",
        "no step A",
        Parts {
            step_a: false,
            ..Parts::ALL
        },
    ),
];

/// From how many iterations on the device takes less time than the CPU, with the transfers (Nützi 2011, formula 6.1);
/// none where it never does.
pub fn trade_off(transfers: f64, cpu_iteration: f64, device_iteration: f64) -> Option<f64> {
    let gain = cpu_iteration - device_iteration;
    (gain > 0.0).then(|| transfers / gain)
}
