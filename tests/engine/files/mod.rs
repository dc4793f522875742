//! Scenes and snapshots, shipped ones and bad ones.

pub mod bad_input;
mod fuzz;
mod overflow;
mod scene_format;
mod scene_hashes;
mod scenes;
mod worlds;
