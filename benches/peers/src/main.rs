//! Moreau and Rapier on the same scenes, in one run, with one ruler.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml -- [SCENE]... [--quick]`, or
//! `-- --machines [crane|winch|stack|pyramid]...` for joints and heavy loads ([`machines`]), or
//! `-- --factors [SCENE]...` for pivoting's factorisations beside those of faer ([`factors`]).
//!
//! All engines are built from the same list of bodies ([`scene`]) and step in turn, a few steps
//! each, so that whatever else the machine does falls on all. A step's time is the wall time of the
//! engine's own `step` call (Moreau's evaluation of the residual, which is measuring, left out).
//! Overlaps and speeds come from the poses, in `f64`, by code of neither engine ([`ruler`]).

mod engine;
mod factors;
mod machines;
mod ours;
mod peer;
#[path = "../../../tests/engine/reference/mod.rs"]
mod reference;
mod ruler;
mod run;
mod scene;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use moreau::solve::SolverConfig;
use run::{Party, Which};

/// Compares Moreau with Rapier: time per step, stages, overlap, speed at rest.
#[derive(Parser)]
#[command(name = "peers", version)]
struct Args {
    /// Scenes, by name or by the beginning of it; all of them if none is given.
    scenes: Vec<String>,
    /// Compares machines and heavy stacks instead: joints apart, stretch, overlap, loss of height.
    #[arg(long)]
    machines: bool,
    /// Compares the factorisations that pivoting may use with those of faer, on recorded tight sets.
    #[arg(long, conflicts_with = "machines")]
    factors: bool,
    /// One round and a quarter of the steps; without names, only the small scenes.
    #[arg(long)]
    quick: bool,
    /// Numbers of threads to measure.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Also writes everything measured to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Moreau's solvers, each a party of its own: first the default one.
    #[arg(long, value_delimiter = ',', default_value = "auto,colored-gs")]
    solver: Vec<String>,
    /// The sweeps' most iterations per step, instead of the scene's (`auto` keeps its own).
    #[arg(long)]
    iterations: Option<u32>,
    /// Which engines take part; with one alone, a profiler sees nothing else.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ours,rapier")]
    engines: Vec<run::Which>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match compare(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("peers: {message}");
            ExitCode::FAILURE
        }
    }
}

fn compare(args: &Args) -> Result<(), String> {
    if args.machines {
        println!("{}", machines::compare(&args.scenes)?);
        return Ok(());
    }
    if args.factors {
        println!("{}", factors::compare(&args.scenes)?);
        return Ok(());
    }
    let scenes = scene::select(&args.scenes, args.quick)?;
    let mut results = Vec::new();
    for scene in &scenes {
        for &threads in &args.threads {
            let parties = args.parties(scene)?;
            eprintln!(
                "{}, {threads} thread{}, {} bodies",
                scene.name,
                if threads == 1 { "" } else { "s" },
                scene.bodies.len()
            );
            results.extend(run::scene(scene, threads, &parties)?);
        }
    }
    println!("{}", table::introduction());
    println!("{}", table::summary(&results));
    println!("{}", table::steps(&results));
    println!("{}", table::stages(&results));
    println!("{}", table::state(&results));
    println!("{}", table::grids(&results));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&results).map_err(|e| e.to_string())?;
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

impl Args {
    /// Who takes part.
    fn parties(&self, scene: &scene::Scene) -> Result<Vec<Party>, String> {
        let mut parties = Vec::new();
        for which in &self.engines {
            match which {
                Which::Rapier => parties.push(Party::Rapier),
                Which::Ours => {
                    for name in &self.solver {
                        parties.push(Party::Ours(self.solver_for(name, scene)?));
                    }
                }
            }
        }
        Ok(parties)
    }

    /// Moreau's defaults but for the sweeps' number of iterations, which belongs to the scene.
    fn solver_for(&self, name: &str, scene: &scene::Scene) -> Result<SolverConfig, String> {
        let mut config = SolverConfig {
            name: name.to_owned(),
            ..SolverConfig::default()
        };
        // Iterations that suit the sweeps would limit `auto`, which counts operations instead.
        let given = self.iterations.or(scene.iterations);
        if let Some(iterations) = given.filter(|_| name != "auto") {
            config.budget.iterations = iterations;
        }
        config.check().map_err(|e| e.to_string())?;
        Ok(config)
    }
}
