//! Who touches whom, where, and that nothing passes.

mod collision;
mod crowds;
mod hulls;
mod inner_edges;
mod passing;
