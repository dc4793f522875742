//! `moreau run`: a scene without a window, and a report on it.

use std::io;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use moreau::measure::report;
use moreau::measure::trajectory::Trajectory;
use moreau::scene::Scene;
use moreau::session::Recording;
use moreau::step::{ResidualSchedule, Simulation};

use super::limits::{self, Limit};
use super::record::Record;
use super::rows::Rows;
use super::worst::Diagnosis;
use super::{
    Failure, ReportFormat, SceneArgs, interrupt, outputs, print, save, seconds, unwritable,
};

/// Arguments of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    scene: SceneArgs,
    /// Number of steps [default: what fits into 10 s]
    #[arg(long, conflicts_with = "seconds", value_parser = whole)]
    steps: Option<u64>,
    /// Simulated time (s)
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
    /// Threads; 0 means all. Results do not depend on it
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    threads: u32,
    /// Write the state after every step as a NumPy array, steps x bodies x 13 (position, quaternion
    /// x y z w, velocity, angular velocity), and beside it the times (F.times.npy) and the energies
    /// (F.energy.npy, with the columns of --report csv from kinetic to remainder)
    #[arg(long, value_name = "F.npy")]
    trajectory: Option<PathBuf>,
    /// Write a recording that `moreau replay` takes again: the state at the start, and a hash of every step
    #[arg(long, value_name = "F")]
    record: Option<PathBuf>,
    /// When to evaluate the residual: in every substep, in the last one of each step, or never
    #[arg(long, default_value = "every", value_parser = schedules())]
    residual: ResidualSchedule,
    /// How to report: a table, one JSON object, or one line per step
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
    /// End with exit code 1 when a step did not reach its tolerance within its budget
    #[arg(long)]
    require_convergence: bool,
    /// End with exit code 1 when a limit was exceeded in any step: residual>1e-3, residual_coulomb>1e-3 (m/s; under
    /// exact Coulomb friction), penetration>0.01, joint_error>1e-4 (m), or failed (a solve failed, which ends
    /// every run so). Several are separated by commas; a shell wants quotes around them
    #[arg(long, value_name = "LIMITS", value_delimiter = ',', value_parser = limits::parse)]
    fail_on: Vec<Limit>,
}

fn whole(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "a whole number of steps is expected, 0 or more".to_owned())
}

/// Why a run takes no more steps.
enum End {
    /// All of them were taken.
    Done,
    /// One was refused, or what it did cannot be written.
    Stopped(Failure),
    /// Somebody has pressed Ctrl-C, or the system wants the program to end.
    Interrupted,
}

/// The values of `--residual`.
fn schedules() -> impl TypedValueParser<Value = ResidualSchedule> {
    PossibleValuesParser::new(["every", "last", "off"]).map(|name| match name.as_str() {
        "every" => ResidualSchedule::Every,
        "last" => ResidualSchedule::Last,
        _ => ResidualSchedule::Never,
    })
}

/// Simulated time of a run that names none (s).
const DEFAULT_SECONDS: f64 = 10.0;

/// Simulates a scene and reports on it.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let scene = args.scene.open()?;
    // What is asynchronous has no hash to begin with.
    if scene.solver.budget.time > 0.0 && !scene.solver.is_asynchronous() {
        return Err(Failure::Input(format!(
            "{}: solver.budget.time is {} s, but a wall-time budget makes the result depend on the speed of \
             the machine, and the report holds a hash of the state; expected 0 (--set solver.budget.time=0)",
            scene.origin(),
            scene.solver.budget.time
        )));
    }
    if args.residual == ResidualSchedule::Never && args.fail_on.iter().any(|l| l.needs_residuals())
    {
        return Err(Failure::Input(
            "--fail-on limits a residual, which --residual off does not evaluate; expected --residual every or last"
                .into(),
        ));
    }
    let steps = args.steps.unwrap_or_else(|| {
        let time = args.seconds.unwrap_or(DEFAULT_SECONDS);
        // A hair less, so that 10 s of steps of 1/60 are 600 and not 601.
        (time / scene.settings.step - 1e-9).ceil().max(0.0) as u64
    });
    check_files(args, &scene, steps)?;
    let mut simulation = scene.simulation(args.threads as usize)?;
    let mut record = Record::new(&args.fail_on);
    let recording = args.record.as_ref().map(|_| {
        let recording = Recording::new(scene.id().to_owned(), &simulation);
        recording.map_err(|e| Failure::Input(e.to_string()))
    });
    record.recording = recording.transpose()?;
    simulation.set_residuals(args.residual);
    simulation.set_energy(true);
    interrupt::catch()?;
    let end = simulation.on_threads(|simulation| simulate(args, simulation, steps, &mut record))?;
    // What fails now keeps nothing else from being written.
    let recorded = match (&args.record, &record.recording) {
        (Some(path), Some(recording)) => save("recording", path, &recording.to_bytes()),
        _ => Ok(()),
    };
    if args.report != ReportFormat::Csv {
        print(&report(args, &scene, &mut simulation, &mut record, &end))?;
    }
    recorded?;
    match end {
        End::Done => match record.verdict(args.require_convergence) {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(Failure::Work(wrong.join("\nmoreau: "))),
        },
        End::Stopped(error) => Err(error),
        End::Interrupted => Err(Failure::Interrupted(record.steps, steps)),
    }
}

/// Looks at the files that a run reads and writes, before its first step.
fn check_files(args: &RunArgs, scene: &Scene, steps: u64) -> Result<(), Failure> {
    let trajectory = args.trajectory.as_deref().map(Trajectory::files);
    let names = ["trajectory", "trajectory's times", "trajectory's energies"];
    let trajectory = trajectory.iter().flatten();
    let written = names.into_iter().zip(trajectory.map(PathBuf::as_path));
    let recording = args.record.as_deref().map(|path| ("recording", path));
    let written: Vec<_> = written.chain(recording).collect();
    outputs::check(&scene.files(), &written)?;
    let most = Recording::MOST_STEPS;
    if args.record.is_some() && steps > most {
        return Err(Failure::Input(format!(
            "{steps} steps; a recording, which is kept in memory, has at most {most}"
        )));
    }
    Ok(())
}

/// The report on a run, as a table or as an object.
fn report(
    args: &RunArgs,
    scene: &Scene,
    simulation: &mut Simulation,
    record: &mut Record,
    end: &End,
) -> String {
    // Whoever wants to leave does not wait for what would help.
    let is_wanted = !matches!(end, End::Interrupted);
    let diagnosis = is_wanted
        .then(|| record.worst.diagnose(simulation))
        .flatten();
    let is_whole = matches!(end, End::Done) && record.steps > 0;
    if is_whole && args.residual != ResidualSchedule::Never {
        let of_worst = diagnosis.as_ref().and_then(Diagnosis::velocity_estimate);
        record.velocity_estimate = of_worst
            .filter(|_| record.worst.is_of(simulation.report().step))
            .unwrap_or_else(|| simulation.on_threads(|s| s.velocity_estimate()));
    }
    match args.report {
        ReportFormat::Json => {
            format!(
                "{:#}\n",
                record.as_json(scene, simulation, diagnosis.as_ref())
            )
        }
        _ => record.as_text(scene, simulation, diagnosis.as_ref()),
    }
}

/// Takes the steps, and returns why it took no more.
fn simulate(
    args: &RunArgs,
    simulation: &mut Simulation,
    steps: u64,
    record: &mut Record,
) -> Result<End, Failure> {
    let path = args.trajectory.clone().unwrap_or_default();
    let unwritable = |e: &io::Error| unwritable("trajectory", &path, e);
    let mut trajectory = match &args.trajectory {
        Some(path) => {
            let created = Trajectory::create(path, simulation.world());
            Some(created.map_err(|e| Failure::Input(unwritable(&e)))?)
        }
        None => None,
    };
    let mut rows = (args.report == ReportFormat::Csv).then(|| Rows::new(io::stdout()));
    let progress = report::progress(
        Some(steps),
        "{bar:40} {pos}/{len} steps, {per_sec}, {eta} left",
    );
    let mut end = End::Done;
    for _ in 0..steps {
        if interrupt::is_asked() {
            end = End::Interrupted;
            break;
        }
        if let Err(error) = simulation.step() {
            end = End::Stopped(error.into());
            break;
        }
        record.add(simulation.report());
        let written = match &mut rows {
            Some(rows) => rows.add(simulation.report()),
            None => {
                record.worst.follow(simulation);
                Ok(())
            }
        };
        if let Some(recording) = &mut record.recording {
            recording.add(Vec::new(), simulation);
        }
        if let Some(mut written) = trajectory.take() {
            // The disk may fill up on the way.
            let energy = simulation.report().energy.as_ref();
            match written.add(simulation.world(), energy) {
                Ok(()) => trajectory = Some(written),
                Err(error) => {
                    let (left, steps) = written.leave();
                    let left = left.display();
                    let said = format!(
                        "{}; its first {steps} steps are in {left}",
                        unwritable(&error)
                    );
                    end = End::Stopped(Failure::Work(said));
                    break;
                }
            }
        }
        if let Err(error) = written {
            end = End::Stopped(error);
            break;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if record.steps == 0
        && let Some(Err(error)) = rows.map(Rows::finish)
    {
        end = End::Stopped(error);
    }
    if let Some(trajectory) = trajectory
        && let Err(error) = trajectory.finish()
    {
        end = End::Stopped(Failure::Work(unwritable(&error)));
    }
    Ok(end)
}
