//! The program as its users call it, the papers' experiments, and FCLIB's files: `cargo test --test program`.

mod bench;
mod cli;
mod fclib;
mod files;
mod program;
