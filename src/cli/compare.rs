//! `moreau compare`: unlike solvers on the same steps of a scene, under one residual.

use clap::Args;
use moreau::compare::Task;
use moreau::measure::report;
use moreau::scene::library;
use moreau::step::{ResidualSchedule, Simulation};

use super::contestants::{ContestantArgs, Results, Stated};
use super::{Changes, Failure, interrupt};

/// Arguments of `compare`. `--solver` drives the scenes where `--solvers` says who is compared, and is taken as that
/// where it stands alone.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// Scene files, or names of shipped scenes; each is driven by its own solver
    #[arg(required = true)]
    scenes: Vec<String>,
    #[command(flatten)]
    changes: Changes,
    /// The steps whose problems are solved; of substeps, the last one's
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    at_step: Vec<u64>,
    /// Instead: all steps up to this one
    #[arg(long, value_name = "N", conflicts_with = "at_step",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    steps: Option<u64>,
    /// With --steps: only every so many
    #[arg(long, value_name = "K", default_value_t = 1, requires = "steps",
          value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    #[command(flatten)]
    contestants: ContestantArgs,
}

impl CompareArgs {
    fn last_step(&self) -> u64 {
        let at = self.at_step.iter().copied().max().unwrap_or(1);
        self.steps.unwrap_or(at)
    }

    fn wants(&self, step: u64) -> bool {
        match self.steps {
            Some(_) => step.is_multiple_of(self.every),
            None => self.at_step.contains(&step),
        }
    }
}

/// Compares solvers on steps of scenes.
pub fn run(args: &CompareArgs) -> Result<(), Failure> {
    let mut args = args.clone();
    if args.contestants.are_all()
        && let Some(solver) = args.changes.solver.take()
    {
        args.contestants.name(solver);
    }
    interrupt::catch()?;
    let mut results = Results::default();
    for name in &args.scenes {
        let mut scene = library::open(name)?;
        args.changes.apply(&mut scene)?;
        args.contestants.check_files(&scene.files())?;
        let mut contest = args.contestants.contest(&scene.solver)?;
        let mut simulation = scene.simulation(args.contestants.threads())?;
        simulation.set_residuals(ResidualSchedule::Never);
        let reach = simulation.world().bodies.reach();
        let progress = report::progress(
            Some(args.last_step()),
            "{bar:40} {pos}/{len} steps, {eta} left",
        );
        for step in 1..=args.last_step() {
            let ended = match interrupt::is_asked() {
                true => Err(Failure::Interrupted(step - 1, args.last_step())),
                false => simulation.step().map(drop).map_err(Failure::from),
            };
            if let Err(ended) = ended {
                // What was found until then is not lost.
                progress.finish_and_clear();
                args.contestants.finish(&results)?;
                return Err(ended);
            }
            progress.inc(1);
            if args.wants(step) {
                let solve = |simulation: &mut Simulation| {
                    let task = Task {
                        problem: simulation.problem().into(),
                        start: Some(simulation.warm_start()),
                        reach: &reach,
                    };
                    let stated = Stated {
                        scene: scene.id().to_owned(),
                        step: Some(step),
                        task,
                    };
                    args.contestants.run(&mut contest, stated, &mut results);
                };
                simulation.on_threads(solve);
            }
        }
        progress.finish_and_clear();
    }
    args.contestants.finish(&results)
}
