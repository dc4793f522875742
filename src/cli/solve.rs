//! `moreau solve`: solvers on a problem file.

use std::path::PathBuf;

use clap::Args;
use moreau::compare::Task;
use moreau::problem::StoredProblem;

use super::entrants::{EntrantArgs, Results, Stated, default_config};
use super::{Failure, load};

/// Arguments of `solve`.
#[derive(Args, Clone, Debug)]
pub struct SolveArgs {
    /// A problem that `moreau export` or the viewer wrote
    problem: PathBuf,
    #[command(flatten)]
    entrants: EntrantArgs,
}

/// Solves the problem of a file.
pub fn run(args: &SolveArgs) -> Result<(), Failure> {
    let stored = load(&args.problem, StoredProblem::from_bytes)?;
    let mut contest = args.entrants.contest(&default_config())?;
    let mut results = Results::default();
    let mut solve = || {
        let task = Task {
            problem: &stored.problem,
            start: Some(&stored.start),
            reach: &stored.reach,
        };
        let stated = Stated {
            scene: stored.origin.clone(),
            step: None,
            task,
        };
        args.entrants.run(&mut contest, stated, &mut results);
    };
    let threads = args.entrants.threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool =
        pool.map_err(|e| Failure::Work(format!("{threads} threads cannot be started: {e}")))?;
    pool.install(&mut solve);
    args.entrants.finish(&results)
}
