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

/// Runs the suite, on all its scenes or on some.
pub fn run(bench: &mut Bench, findings: &mut Findings, only: &[String]) -> Result<(), Failure> {
    let scenes = scenes(bench, only)?;
    let mut problems = problems::Problems::default();
    let mut speed = speed::Speed::default();
    let mut errors = errors::Errors::default();
    let mut caching = caching::Caching::default();
    let mut patterns = patterns::Patterns::default();
    let mut crane = None;
    for scene in scenes {
        let recording = record::record(bench, scene)?;
        problems.add(bench, &recording)?;
        if recording.machine().is_some() {
            speed.add(bench, findings, &recording)?;
            errors.add(bench, &recording)?;
            patterns.add(bench, findings, &recording)?;
        }
        caching.add(bench, &recording)?;
        if scene == solvers::SCENE {
            crane = Some(recording);
        }
    }
    problems.finish(findings);
    speed.finish(findings);
    errors.finish(findings);
    caching.finish(findings);
    patterns.finish(bench, findings);
    random::run(bench, findings)?;
    match crane {
        Some(recording) => solvers::run(bench, findings, &recording),
        None => Ok(()),
    }
}

/// The machines and the scenes of table 3.1 that are asked for and that this build has; those that it lacks
/// are noted as missing.
fn scenes(bench: &mut Bench, only: &[String]) -> Result<Vec<&'static str>, Failure> {
    let mut all: Vec<&str> = paper::MACHINES.iter().map(|m| m.scene).collect();
    for scene in paper::CACHING.iter().map(|c| c.scene) {
        if !all.contains(&scene) {
            all.push(scene);
        }
    }
    if let Some(unknown) = only.iter().find(|s| !all.contains(&s.as_str())) {
        let all = all.join(", ");
        return Err(Failure::Input(format!(
            "the suite has no scene \"{unknown}\"; it has: {all}"
        )));
    }
    all.retain(|s| only.is_empty() || only.iter().any(|o| o == s));
    let (here, lacking): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|s| library::shipped_text(s).is_some());
    for scene in lacking {
        bench.lack(format!("scene {scene}"));
    }
    Ok(here)
}
