//! `moreau replay`: a recording, taken again.

use std::path::PathBuf;

use clap::Args;
use moreau::file::Content;
use moreau::measure::report;
use moreau::session::{Recording, Replay};
use moreau::solve::device_remark;

use super::{Failure, load, print};

/// Arguments of `replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// What `moreau run --record` or the viewer wrote
    recording: PathBuf,
    /// End with exit code 1 at the first step whose state is not the recorded one
    #[arg(long)]
    check: bool,
    /// Threads; 0 means all. Results do not depend on it
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    threads: u32,
}

/// Takes the steps of a recording again.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let recording = load(&args.recording, Content::Recording, |bytes| {
        Recording::from_bytes(&bytes)
    })?;
    let mut replay = Replay::new(&recording, args.threads as usize)?;
    let progress = report::progress(
        Some(recording.len() as u64),
        "{bar:40} {pos}/{len} steps, {per_sec}, {eta} left",
    );
    while let Some(step) = replay.step() {
        step?;
        progress.inc(1);
        if args.check && replay.divergence().is_some() {
            break;
        }
    }
    progress.finish_and_clear();
    let simulation = replay.session().simulation();
    let hash = simulation.world().state_hash();
    let remark = device_remark(&simulation.solver_config().name);
    let remark = remark.map_or(String::new(), |remark| format!("; {remark}"));
    let (origin, steps) = (&recording.origin, recording.len());
    match replay.divergence() {
        Some(divergence) if args.check => {
            let path = args.recording.display();
            Err(Failure::Work(format!("{path}: {divergence}{remark}")))
        }
        Some(divergence) => print(&format!(
            "{origin}: {steps} steps, {divergence}; state hash at the end {hash:016x}{remark}\n"
        )),
        None => print(&format!(
            "{origin}: {steps} steps, the same as recorded; state hash {hash:016x}{remark}\n"
        )),
    }
}
