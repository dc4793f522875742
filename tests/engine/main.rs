//! The engine as a library: needs no feature, neither a program nor a window.
//!
//! One program, so that an edit of the library is followed by one link. A module of it alone:
//! `cargo test --no-default-features --test engine newton::`.

mod ablation;
mod accuracy;
mod advice;
mod api_edits;
mod auto;
mod bad_input;
mod bpp;
mod clock;
mod collision;
mod colored_gs;
mod common;
mod compare;
mod compliant_contacts;
mod contacts_exact;
mod crowds;
mod delassus;
mod determinism;
mod docs;
mod energy;
mod friction_axes;
mod fuzz;
mod gpu;
mod hands;
mod house;
mod hulls;
mod inner_edges;
mod joints;
mod joints_powertrain;
mod keeping;
mod machines_cables;
mod machines_default;
mod machines_vehicles;
mod never_worse;
mod newton;
mod overflow;
mod papers_sweeps;
mod passing;
mod physics;
mod recordings;
mod reference;
mod rigid_joints;
mod round_shapes;
mod scene_format;
mod scene_hashes;
mod scenes;
mod solvers;
mod stands;
mod substeps;
mod verify;
mod worlds;
