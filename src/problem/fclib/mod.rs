//! Problems as files of FCLIB, the frictional contact library (Acary, Brémond, Koziara & Pérignon 2014, "FCLIB: a
//! collection of discrete 3D frictional contact problems"): HDF5, in two forms.
//!
//! | group | what is solved |
//! |---|---|
//! | `fclib_local` | u = W r + V λ + q, 0 = Vᵀ r + R λ + s |
//! | `fclib_global` | M v = H r + G λ + f, u = Hᵀ v + w, 0 = Gᵀ v + b |
//!
//! r are the contacts' impulses in the order N, T1, T2, λ those of bilateral rows. So Λ = (r, λ), and A and b are
//! [W V; Vᵀ R] and (q, s), or J M⁻¹ Jᵀ and J M⁻¹ f + (w, b) with J = (H G)ᵀ. Solutions that a file holds are never
//! read: those seen were zero, or wrong.

mod read;
mod write;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::matrix::MatrixProblem;
use crate::check::Invalid;
pub use write::{Group, to_bytes};

/// What an HDF5 file begins with, unless there is a block of somebody else's data in front.
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// A problem of FCLIB.
#[derive(Clone, Debug, Default)]
pub struct FclibProblem {
    /// Its title, for people.
    pub title: String,
    /// Where it comes from, for people.
    pub description: String,
    /// The problem. In two dimensions a contact's second tangent is a row without anything in it.
    pub problem: MatrixProblem,
    /// The first of the impulses that a solver may begin with, if the file has any (N s).
    pub guess: Option<Vec<f64>>,
}

/// Why a file cannot be used, or a problem not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FclibError {
    /// It is not one.
    #[error("this is not an HDF5 file")]
    Foreign,
    /// HDF5 of another kind, or damaged.
    #[error("the HDF5 file cannot be read: {0}")]
    Hdf5(String),
    /// It lacks something.
    #[error("the file has no {0}")]
    Missing(String),
    /// It says what cannot be.
    #[error("the FCLIB problem is damaged: {0}")]
    Invalid(#[from] Invalid),
    /// FCLIB knows no such thing.
    #[error("FCLIB cannot hold this problem: {0}")]
    Unsupported(String),
}

impl From<hdf5_pure::Error> for FclibError {
    fn from(error: hdf5_pure::Error) -> Self {
        Self::Hdf5(error.to_string())
    }
}

/// Whether this is an HDF5 file, as all of FCLIB are.
pub fn is_hdf5(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// Reads a problem, local or global; checks everything.
///
/// # Errors
/// Bytes that are no HDF5 or no FCLIB problem, or one that cannot be.
pub fn from_bytes(bytes: Vec<u8>) -> Result<FclibProblem, FclibError> {
    if !is_hdf5(&bytes) {
        return Err(FclibError::Foreign);
    }
    // Whatever a damaged file makes of the HDF5 library must not end the program.
    let read = catch_unwind(AssertUnwindSafe(|| read::problem(bytes)));
    read.unwrap_or_else(|_| Err(FclibError::Hdf5("it breaks the reader".into())))
}
