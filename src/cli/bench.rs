//! `moreau bench`: the papers' tables with their figures beside ours, and heaps and a survey of our own, measured on this machine.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use moreau::papers::measure::Bench;
use moreau::papers::measure::table::{self, Table};
use moreau::papers::{
    Findings, hands, heaps, lacoursiere, lefebvre, munksgaard_kaiser, nuetzi, poulsen, sliders,
    survey,
};
use serde_json::{Value, json};

use super::{Failure, ReportFormat, print, save, unwritable};

/// Arguments of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Whose problems to solve
    #[arg(value_enum)]
    suite: Suite,
    /// Smaller problems and fewer repetitions: seconds, at most about a minute, instead of many
    #[arg(long)]
    quick: bool,
    /// Write the plots as SVG files into this folder, which is made if there is none
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Most threads to measure with; 0 means all
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    threads: u32,
    /// Only these of the suite's scenes, separated by commas; a wrong name is answered with the list of them. splitting: only these numbers of links. gpu: only these parts: dense, contacts, box, simulation, pyramid, million. machines without crane goes without the comparison of solvers on it
    #[arg(long, value_name = "SCENES", value_delimiter = ',')]
    only: Vec<String>,
    /// machines: instead of all that, the pivoting solver with one number of its tuning changed at a time
    #[arg(long, hide = true)]
    ablation: bool,
    /// How to report: tables, one JSON object, or one line per number
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
}

/// A suite of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Ball grids: Poulsen 2010, tables 3.2, 3.3, 6.1 to 6.3, figures 6.4, 6.7, 7.5, 7.7, 7.10
    Grid,
    /// Ball piles: Poulsen 2010, tables 3.4, 3.5, 6.1 to 6.3, figures 6.5, 6.8, 7.6, 7.8, 7.9
    Pile,
    /// Spheres in a box: Nützi 2011, figures 6.1 to 6.3 and 6.6
    Spheres,
    /// Disc pyramids: Munksgaard & Kaiser, relaxation by 1/degree
    Pyramid,
    /// Machines by block principal pivoting: Lefebvre 2020, tables 2.2 to 2.4, 3.1, figures 2.3 to 2.7, 3.1, 3.2, 4.1
    Machines,
    /// Heaps of logs and of all shapes, of no paper: what rolls, moves and rests at the end, over 20 seeds
    Heaps,
    /// Bodies of every scene dragged in six directions and let go of, and its sliders moved, of no paper: whether joints stay
    /// whole
    Hands,
    /// Of these, the sliders alone, at both ends and in the middle
    Sliders,
    /// A vehicle with a cable in one piece and split: Lacoursière 2007, tables 1 and 2
    Splitting,
    /// Couplings of machines, nets and heaps that are cut: how many lead how near, by how they are made
    Couplings,
    /// What the graphics processor is good for: Nützi 2011, table 6.1 and figures 6.1 to 6.4, 6.6, and a million spheres
    #[cfg(feature = "gpu")]
    Gpu,
    /// Problems of every scene under four laws of friction, of no paper: what exact solvers and sweeps reach
    Survey,
}

/// Runs a suite and reports on it.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    // Before minutes are spent.
    if let Some(folder) = &args.plot {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|e| Failure::Input(unwritable("plots", folder, &e)))?;
    }
    let mut bench = Bench::new(args.quick, args.threads as usize)?;
    bench.only.clone_from(&args.only);
    let mut findings = Findings::default();
    bench.machine(&mut findings);
    match args.suite {
        Suite::Grid => poulsen::grid(&bench, &mut findings)?,
        Suite::Pile => poulsen::pile(&bench, &mut findings)?,
        Suite::Spheres => nuetzi::spheres(&bench, &mut findings)?,
        Suite::Pyramid => munksgaard_kaiser::pyramid(&bench, &mut findings)?,
        Suite::Machines if args.ablation => lefebvre::ablation::report(&bench, &mut findings)?,
        Suite::Machines => lefebvre::machines(&bench, &mut findings)?,
        Suite::Hands => {
            hands::hands(&bench, &mut findings)?;
            sliders::sliders(&bench, &mut findings)?;
        }
        Suite::Sliders => sliders::sliders(&bench, &mut findings)?,
        Suite::Splitting => lacoursiere::splitting(&bench, &mut findings)?,
        Suite::Couplings => lacoursiere::couplings(&bench, &mut findings)?,
        Suite::Heaps => heaps::heaps(&bench, &mut findings)?,
        #[cfg(feature = "gpu")]
        Suite::Gpu => moreau::papers::gpu::gpu(&bench, &mut findings)?,
        Suite::Survey => survey::survey(&bench, &mut findings)?,
    }
    bench.finish();

    let mut written = Vec::new();
    if let Some(folder) = &args.plot {
        for (name, svg) in &findings.pictures {
            let path = folder.join(format!("{name}.svg"));
            save("plot", &path, svg.as_bytes())?;
            written.push(path.display().to_string());
        }
    }
    print(&match args.report {
        ReportFormat::Text => as_text(args, &bench, &findings, &written),
        ReportFormat::Json => format!("{:#}\n", as_json(args, &bench, &findings, &written)),
        ReportFormat::Csv => table::csv(&findings.tables)?,
    })
}

fn suite_name(suite: Suite) -> String {
    let value = suite.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}

fn as_text(args: &BenchArgs, bench: &Bench, findings: &Findings, written: &[String]) -> String {
    let mut out = format!(
        "moreau bench {}{}: {}, threads: {}\n\
         ratio: here over paper (1/x where that is less than a half); times are medians\n",
        suite_name(args.suite),
        if args.quick { " --quick" } else { "" },
        bench.processor(),
        bench.most_threads(),
    );
    for table in &findings.tables {
        let _ = write!(out, "\n{}", table.text());
    }
    if !written.is_empty() {
        let _ = write!(out, "\nplots: {}\n", written.join(", "));
    }
    out
}

fn as_json(args: &BenchArgs, bench: &Bench, findings: &Findings, written: &[String]) -> Value {
    json!({
        "suite": suite_name(args.suite),
        "quick": args.quick,
        "version": env!("CARGO_PKG_VERSION"),
        "processor": bench.processor(),
        "threads": bench.most_threads(),
        "tables": findings.tables.iter().map(Table::json).collect::<Vec<_>>(),
        "plots": written,
    })
}
