//! `moreau export`: the problem of a step as a file, which `moreau solve` reads.

use std::path::PathBuf;

use clap::Args;
use moreau::problem::StoredProblem;
use moreau::step::ResidualSchedule;

use super::{Failure, SceneArgs, print, save};

/// Arguments of `export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    #[command(flatten)]
    scene: SceneArgs,
    /// The step whose problem is written; of substeps, the last one's
    #[arg(long, value_name = "N", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    at_step: u64,
    /// The file to write
    #[arg(long, value_name = "PROBLEM")]
    out: PathBuf,
}

/// Writes the problem of a step.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let scene = args.scene.open()?;
    let mut simulation = scene.simulation(0)?;
    simulation.set_residuals(ResidualSchedule::Never);
    for _ in 0..args.at_step {
        simulation.step()?;
    }
    let stored = StoredProblem {
        origin: format!("{}, step {}", scene.id(), args.at_step),
        problem: simulation.problem().clone(),
        start: simulation.warm_start().to_vec(),
        reach: simulation.world().bodies.reach(),
    };
    let bytes = stored.to_bytes();
    save("problem", &args.out, &bytes)?;
    let problem = &stored.problem;
    let [contacts, joints] = [problem.contacts.len(), problem.rows.len()];
    print(&format!(
        "{}: {}, {contacts} contacts, {joints} other rows, {} bytes\n",
        args.out.display(),
        stored.origin,
        bytes.len()
    ))
}
