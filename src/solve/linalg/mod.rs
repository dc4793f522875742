//! Linear algebra that the solvers share: sparse LDLᵀ with rows taken out and put back, GMRES, and elimination of small
//! dense blocks.

pub mod gmres;
pub mod small;
pub mod sparse;
