//! Lefebvre 2020: machines by block principal pivoting, with every factorisation, and random matrices.
//!
//! Each machine runs its script once; the problems of its steps are kept, so that all factorisations solve
//! exactly the same ones.

pub mod ablation;
mod caching;
mod errors;
pub mod figures;
mod machines;
mod models;
mod pattern;
mod random;
mod record;
mod solvers;
mod speed;
mod tree;

use super::measure::Bench;
use super::{Findings, Result};
use figures::{CACHING, MACHINES};
use record::Recording;

/// Machines: tables 2.2 to 2.4, 3.1, figures 2.3 to 2.7, 3.1, 3.2, 4.1, and the crane by every solver; on all
/// scenes or on those named.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn machines(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let mut recordings: Vec<Recording> = Vec::new();
    let (mut speeds, mut errors, mut caches) = (Vec::new(), Vec::new(), Vec::new());
    let mut orders = Vec::new();
    let mut hardest = None;
    for scene in scenes(bench)? {
        let mut recording = record::record(bench, scene)?;
        if recording.machine().is_some() {
            recording.condition = machines::condition(bench, &recording)?;
            speeds.push(speed::replay(bench, &recording)?);
            errors.push(errors::replay(bench, &recording)?);
            pattern::add(bench, findings, &recording, &mut orders)?;
        }
        if CACHING.iter().any(|c| c.0 == scene) {
            caches.push(caching::replay(bench, &recording)?);
        }
        if scene == solvers::SCENE {
            hardest = solvers::hardest(&mut recording);
        }
        // Hundreds of problems are large.
        recording.kept.clear();
        recordings.push(recording);
    }
    machines::report(findings, &recordings);
    speed::report(findings, &speeds);
    errors::report(findings, &errors);
    caching::report(findings, &caches, &recordings);
    pattern::report(findings, &orders);
    random::report(bench, findings)?;
    match hardest {
        Some(problem) => solvers::report(bench, findings, &problem),
        None => Ok(()),
    }
}

/// The machines and the scenes of table 3.1 that are asked for.
fn scenes(bench: &Bench) -> Result<Vec<&'static str>> {
    let mut all: Vec<&str> = MACHINES.iter().map(|m| m.scene).collect();
    let others = CACHING.iter().map(|c| c.0);
    all.extend(others.filter(|scene| MACHINES.iter().all(|m| m.scene != *scene)));
    bench.check_only(all.iter().copied())?;
    all.retain(|scene| bench.wants(scene));
    Ok(all)
}
