//! The order of sources and docs.

mod docs;
mod sources;
