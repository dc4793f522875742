//! Solutions that owe nothing to the engine's step, to judge its joints by.
//!
//! [`chain`] integrates an open planar chain in reduced coordinates, where no joint can come apart;
//! [`crane`] holds the numbers of the simple crane, the chain that a scene and the benches share;
//! [`linkage`] has the closed forms of the four-bar linkage and the slider-crank.
#![allow(dead_code, reason = "tests and benches each use their own part")]

pub mod chain;
pub mod crane;
pub mod linkage;
