//! `moreau export`: the problem of a step as a file, which `moreau solve` reads.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use moreau::problem::StoredProblem;
use moreau::problem::fclib::{self, Group};
use moreau::step::ResidualSchedule;

use super::{Failure, SceneArgs, outputs, print, save};

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
    /// The file's format [default: fclib where it ends in .hdf5 or .h5, else own]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// With fclib: which of its forms
    #[arg(long, value_enum, default_value_t)]
    form: FclibForm,
}

/// A format of problem files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Moreau's own, which loses nothing
    Own,
    /// FCLIB's HDF5: contacts with Coulomb friction and bilateral rows, without the bodies
    Fclib,
}

/// A form of FCLIB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FclibForm {
    /// fclib_global: M, H, f, w, and G, b of joints; without compliance
    #[default]
    Global,
    /// fclib_local: W, q, and V, R, s of joints; compliance is on the diagonals
    Local,
}

impl Format {
    /// What the end of a file's name says.
    fn of(path: &Path) -> Self {
        let ends = |end: &str| {
            path.extension()
                .is_some_and(|e| e.eq_ignore_ascii_case(end))
        };
        if ends("hdf5") || ends("h5") {
            Self::Fclib
        } else {
            Self::Own
        }
    }
}

/// Writes the problem of a step.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let scene = args.scene.open()?;
    outputs::check(&scene.files(), &[("problem", &args.out)])?;
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
    let bytes = match args.format.unwrap_or_else(|| Format::of(&args.out)) {
        Format::Own => stored.to_bytes(),
        Format::Fclib => fclib_bytes(&stored, args.form)?,
    };
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

fn fclib_bytes(stored: &StoredProblem, form: FclibForm) -> Result<Vec<u8>, Failure> {
    let group = match form {
        FclibForm::Global => Group::Global,
        FclibForm::Local => Group::Local,
    };
    let description = format!(
        "{}: impulses over a step of {} s, SI units; written by Moreau {}",
        stored.origin,
        stored.problem.h,
        env!("CARGO_PKG_VERSION")
    );
    let (problem, start) = (&stored.problem, Some(&stored.start[..]));
    let bytes = fclib::to_bytes(problem, group, &stored.origin, &description, start);
    bytes.map_err(|e| {
        let origin = &stored.origin;
        Failure::Input(format!("{origin}: {e}; --format own writes it as it is"))
    })
}
