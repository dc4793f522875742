//! The parts that a solver takes a problem's bodies in, for tables and pictures.

/// Marks a body that is in no part.
pub const NO_PART: u32 = u32::MAX;

/// The parts of the last solve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartsView {
    /// The part of each of the problem's bodies, or [`NO_PART`].
    pub of_body: Vec<u32>,
    /// The parts.
    pub parts: Vec<PartView>,
    /// All that couples them.
    pub couplings: PartView,
    /// How many of these there are that are solved one by one.
    pub coupling_units: u32,
}

/// A part, and what its solution took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartView {
    /// The number that somebody has given its group; none where nobody has.
    pub group: Option<u32>,
    /// Its bodies.
    pub bodies: u32,
    /// The rows of its contacts and joints.
    pub rows: u32,
    /// How often it was solved.
    pub iterations: u32,
    /// What that took (s); none where parts are solved together and nobody has measured each.
    pub time: Option<f64>,
}

impl PartsView {
    /// The part of a body, if it is in one.
    pub fn part(&self, body: u32) -> Option<u32> {
        let part = self.of_body.get(body as usize).copied();
        part.filter(|part| *part != NO_PART)
    }

    /// Whether something that acts on both bodies couples two parts.
    pub fn couples(&self, bodies: [u32; 2]) -> bool {
        matches!(bodies.map(|body| self.part(body)), [Some(a), Some(b)] if a != b)
    }
}
