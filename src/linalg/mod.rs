//! Linear algebra on the ground floor: nothing in it knows of bodies or contacts.
//!
//! - `csr`: sparse matrices in compressed rows;
//! - `up_looking`: LDLᵀ of one of them, row by row, for solves whose right-hand sides are sparse;
//! - `supernodal`: LDLᵀ in panels, with rows taken out and put back, for many solves in real time;
//! - `gmres`, and `small`: elimination of small dense blocks.

pub mod csr;
pub mod gmres;
pub mod small;
pub mod supernodal;
pub mod up_looking;
