//! `moreau bench machines`: Lefebvre's machines by block principal pivoting, with every factorisation.
//!
//! Each machine runs its script once; the problems of its steps are kept, so that all factorisations solve
//! exactly the same ones.

mod caching;
mod errors;
mod patterns;
mod problems;
mod random;
mod record;
mod replay;
mod solvers;
mod speed;

use moreau::scene::library;

use super::measure::Bench;
use super::{Failure, Findings, paper};

/// Runs the suite.
pub fn run(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    let mut problems = problems::Problems::default();
    let mut speed = speed::Speed::default();
    let mut errors = errors::Errors::default();
    let mut caching = caching::Caching::default();
    let mut patterns = patterns::Patterns::default();
    for scene in scenes(bench) {
        let recording = record::record(bench, scene)?;
        problems.add(bench, &recording)?;
        if recording.machine().is_some() {
            speed.add(bench, findings, &recording)?;
            errors.add(bench, &recording)?;
            patterns.add(bench, findings, &recording)?;
        }
        caching.add(bench, &recording)?;
    }
    problems.finish(findings);
    speed.finish(findings);
    errors.finish(findings);
    caching.finish(findings);
    patterns.finish(bench, findings);
    random::run(bench, findings)?;
    solvers::run(bench, findings)
}

/// The machines and the scenes of table 3.1 that this build has; the others are noted as missing.
fn scenes(bench: &mut Bench) -> Vec<&'static str> {
    let machines = paper::MACHINES.iter().map(|m| m.scene);
    let others = paper::CACHING.iter().map(|c| c.scene);
    let others = others.filter(|s| paper::MACHINES.iter().all(|m| m.scene != *s));
    let (here, lacking): (Vec<_>, Vec<_>) = machines
        .chain(others)
        .partition(|s| library::shipped_text(s).is_some());
    for scene in lacking {
        bench.lack(format!("scene {scene}"));
    }
    here
}
