//! The engine as a library: needs no feature, neither a program nor a window.
//!
//! One program, so that an edit of the library is followed by one link. A module of it alone:
//! `cargo test --no-default-features --test engine solvers::newton::`.

mod common;
mod contacts;
mod files;
mod house;
mod laws;
mod machines;
mod reference;
mod session;
mod solvers;
