//! Problems as files: what `moreau export` writes and `moreau solve` reads, to the last bit.

use serde::{Deserialize, Serialize};

use super::Problem;
use super::check::as_long;
use crate::check::{Invalid, finite, not_negative};
use crate::file::{FileError, FileKind};

/// A problem as a file.
const KIND: FileKind = FileKind {
    name: "problem",
    magic: b"MOREAUPB",
    version: 3,
};

/// A problem, and what else it takes to solve it somewhere else and to compare the results.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StoredProblem {
    /// Where it comes from, for people: the scene and its step.
    pub origin: String,
    /// The problem.
    pub problem: Problem,
    /// The impulses that its step started from, one per row (N s).
    pub start: Vec<f64>,
    /// The bodies' bounding radii, by which velocities are compared (m).
    pub reach: Vec<f64>,
}

impl StoredProblem {
    /// Writes it as bytes: magic, version, length, checksum, data.
    pub fn to_bytes(&self) -> Vec<u8> {
        KIND.write(self)
    }

    /// Reads what [`StoredProblem::to_bytes`] wrote.
    ///
    /// # Errors
    /// Bytes of another kind or version, damaged ones, or a problem that cannot be.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let mut stored: Self = KIND.read(bytes)?;
        stored.problem.check().map_err(|e| KIND.damaged(e))?;
        stored.problem.finish();
        stored.check().map_err(|e| KIND.damaged(e))?;
        Ok(stored)
    }

    /// What goes with the problem, once it is finished.
    fn check(&self) -> Result<(), Invalid> {
        as_long("start", self.start.len(), self.problem.row_count())?;
        finite("start", &self.start)?;
        as_long("reach", self.reach.len(), self.problem.bodies.len())?;
        let mut reach = self.reach.iter();
        reach.try_for_each(|r| not_negative("reach", *r))
    }
}
