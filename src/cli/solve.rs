//! `moreau solve`: solvers on a problem file.

use std::path::{Path, PathBuf};

use clap::Args;
use moreau::compare::{Contest, Task};
use moreau::file::Content;
use moreau::problem::StoredProblem;
use moreau::problem::fclib::{self, FclibProblem};

use super::contestants::{ContestantArgs, Results, Stated, default_config};
use super::{Failure, load};

/// Arguments of `solve`.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("solvers", |arg| arg.alias("solver")))]
pub struct SolveArgs {
    /// A problem that `moreau export` or the viewer wrote, or one of FCLIB (HDF5)
    problem: PathBuf,
    #[command(flatten)]
    contestants: ContestantArgs,
}

/// The problem of a file.
enum Loaded {
    Own(Box<StoredProblem>),
    Fclib(Box<FclibProblem>),
}

impl Loaded {
    fn read(path: &Path) -> Result<Self, Failure> {
        load(path, Content::Problem, |bytes| {
            match fclib::is_hdf5(&bytes) {
                true => fclib::from_bytes(bytes)
                    .map(|stored| Self::Fclib(Box::new(stored)))
                    .map_err(|e| e.to_string()),
                false => StoredProblem::from_bytes(&bytes)
                    .map(|stored| Self::Own(Box::new(stored)))
                    .map_err(|e| e.to_string()),
            }
        })
    }

    fn task(&self) -> Task<'_> {
        match self {
            Self::Own(stored) => Task {
                problem: (&stored.problem).into(),
                start: Some(&stored.start),
                reach: &stored.reach,
            },
            Self::Fclib(stored) => Task {
                problem: (&stored.problem).into(),
                start: stored.guess.as_deref(),
                reach: &[],
            },
        }
    }

    /// Where it comes from.
    fn origin(&self, path: &Path) -> String {
        let file = path.file_name().unwrap_or_default().display();
        match self {
            Self::Own(stored) => stored.origin.clone(),
            Self::Fclib(stored) if stored.title.is_empty() => file.to_string(),
            Self::Fclib(stored) => format!("{file}: {}", stored.title),
        }
    }
}

/// Solves the problem of a file.
pub fn run(args: &SolveArgs) -> Result<(), Failure> {
    args.contestants
        .check_files(std::slice::from_ref(&args.problem))?;
    let loaded = Loaded::read(&args.problem)?;
    let mut contest: Contest = args.contestants.contest(&default_config())?;
    if matches!(loaded, Loaded::Fclib(_)) && args.contestants.are_all() {
        contest
            .contestants
            .retain_mut(|contestant| !contestant.needs_bodies());
    }
    let mut results = Results::default();
    let mut solve = || {
        let stated = Stated {
            scene: loaded.origin(&args.problem),
            step: None,
            task: loaded.task(),
        };
        args.contestants.run(&mut contest, stated, &mut results);
    };
    let threads = args.contestants.threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool =
        pool.map_err(|e| Failure::Work(format!("{threads} threads cannot be started: {e}")))?;
    pool.install(&mut solve);
    args.contestants.finish(&results)
}
