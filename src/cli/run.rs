use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use moreau::measure::{Stage, Summary};
use moreau::scene::Scene;
use moreau::solve::Status;
use moreau::step::{Simulation, StepReport};
use serde_json::{Map, Value, json};

use super::trajectory::Trajectory;
use super::{Failure, ReportFormat, SceneArgs, print, seconds, table};

/// Arguments of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    scene: SceneArgs,
    /// Number of steps [default: what fits into 10 s]
    #[arg(long, conflicts_with = "seconds")]
    steps: Option<u64>,
    /// Simulated time (s)
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
    /// Threads; 0 means all. Results do not depend on it
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    threads: u32,
    /// Write the state after every step as a NumPy array, steps x bodies x 13 (position, quaternion
    /// x y z w, velocity, angular velocity), and the times beside it (F.times.npy)
    #[arg(long, value_name = "F.npy")]
    trajectory: Option<PathBuf>,
    /// How to report: a table, one JSON object, or one line per step
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
    /// End with exit code 1 when a step did not reach its tolerance within its budget
    #[arg(long)]
    require_convergence: bool,
}

/// Simulated time of a run that names none (s).
const DEFAULT_SECONDS: f64 = 10.0;

/// Simulates a scene and reports on it.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let scene = args.scene.open()?;
    if scene.solver.budget.time > 0.0 {
        return Err(Failure::Input(format!(
            "{}: solver.budget.time is {} s, but a wall-time budget makes the result depend on the speed of \
             the machine, and the report holds a hash of the state; expected 0 (--set solver.budget.time=0)",
            scene.origin(),
            scene.solver.budget.time
        )));
    }
    let steps = args.steps.unwrap_or_else(|| {
        let time = args.seconds.unwrap_or(DEFAULT_SECONDS);
        // A hair less, so that 10 s of steps of 1/60 are 600 and not 601.
        (time / scene.settings.step - 1e-9).ceil().max(0.0) as u64
    });
    let mut simulation = scene.simulation(args.threads as usize)?;
    let mut trajectory = match &args.trajectory {
        Some(path) => Some(Trajectory::create(path, simulation.world()).map_err(|e| {
            Failure::Input(format!(
                "{}: the trajectory cannot be written: {e}",
                path.display()
            ))
        })?),
        None => None,
    };

    let mut record = Record::default();
    let progress = progress_bar(steps);
    // The disk may fill up on the way.
    let broken = |e: std::io::Error| {
        let path = args.trajectory.as_deref().unwrap_or(Path::new(""));
        Failure::Work(unwritable(path, &e))
    };
    let mut error = None;
    for _ in 0..steps {
        match simulation.step() {
            Ok(report) => record.add(report),
            Err(e) => {
                error = Some(e.to_string());
                break;
            }
        }
        if let Some(trajectory) = &mut trajectory {
            trajectory.add(simulation.world()).map_err(broken)?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some(trajectory) = trajectory {
        trajectory.finish().map_err(broken)?;
    }

    print(&match args.report {
        ReportFormat::Text => record.as_text(&scene, &simulation),
        ReportFormat::Json => format!("{:#}\n", record.as_json(&scene, &simulation)),
        ReportFormat::Csv => record.as_csv(),
    })?;
    if let Some(error) = error {
        return Err(Failure::Work(error));
    }
    if let Some(first) = &record.first_failure {
        return Err(Failure::Work(format!(
            "{} of {} solves failed; the first: {first}",
            record.failed,
            record.steps.len()
        )));
    }
    if args.require_convergence && record.budget > 0 {
        return Err(Failure::Work(format!(
            "{} of {} steps ran out of budget before they converged",
            record.budget,
            record.steps.len()
        )));
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!(
        "{}: the trajectory cannot be written: {error}",
        path.display()
    )
}

/// Shown on a terminal only.
fn progress_bar(steps: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {per_sec}, {eta} left");
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// What is kept of one step.
struct StepLine {
    step: u64,
    time: f64,
    contacts: usize,
    dynamic_contacts: usize,
    islands: usize,
    iterations: u32,
    residual: f64,
    residual_coulomb: Option<f64>,
    status: &'static str,
    penetration: f64,
    joint_error: f64,
    milliseconds: [f64; Stage::ALL.len()],
}

#[derive(Default)]
struct Record {
    steps: Vec<StepLine>,
    converged: u64,
    budget: u64,
    failed: u64,
    first_failure: Option<String>,
}

impl Record {
    fn add(&mut self, report: &StepReport) {
        let status = match &report.solve.status {
            Status::Converged => {
                self.converged += 1;
                "converged"
            }
            Status::Budget | Status::Stalled(_) => {
                self.budget += 1;
                "budget"
            }
            Status::Failed(reason) => {
                self.failed += 1;
                self.first_failure
                    .get_or_insert_with(|| format!("step {}: {reason}", report.step));
                "failed"
            }
        };
        self.steps.push(StepLine {
            step: report.step,
            time: report.time,
            contacts: report.contacts,
            dynamic_contacts: report.dynamic_contacts,
            islands: report.islands,
            iterations: report.solve.iterations,
            residual: report.residual.residual,
            residual_coulomb: report.residual_coulomb.map(|r| r.residual),
            status,
            penetration: report.penetration,
            joint_error: report.joint_error,
            milliseconds: Stage::ALL.map(|stage| 1e3 * report.timings.get(stage)),
        });
    }

    fn summary(&self, value: impl Fn(&StepLine) -> f64) -> Summary {
        Summary::of(&self.steps.iter().map(value).collect::<Vec<_>>())
    }

    /// The residual under exact Coulomb friction, where a step has one of its own.
    fn coulomb(&self) -> Option<Summary> {
        let values: Vec<f64> = self
            .steps
            .iter()
            .filter_map(|s| s.residual_coulomb)
            .collect();
        (!values.is_empty()).then(|| Summary::of(&values))
    }

    fn timing(&self, stage: Stage) -> Summary {
        self.summary(|s| s.milliseconds[stage as usize])
    }

    /// The object of `--report json`; its names stay.
    fn as_json(&self, scene: &Scene, simulation: &Simulation) -> Value {
        let world = simulation.world();
        let mean_max = |s: Summary| json!({"mean": s.mean, "max": s.max});
        let first = self.steps.first();
        let mut contacts = mean_max(self.summary(|s| s.contacts as f64));
        contacts["first"] = json!(first.map_or(0, |s| s.contacts));
        contacts["first_dynamic"] = json!(first.map_or(0, |s| s.dynamic_contacts));
        let timings: Map<String, Value> = Stage::ALL
            .into_iter()
            .map(|stage| (stage.name().to_owned(), json!(self.timing(stage))))
            .collect();
        json!({
            "scene": scene.id(),
            "solver": simulation.solver_config().name,
            "threads": threads(simulation),
            "dt": world.settings.step,
            "substeps": world.settings.substeps,
            "steps": self.steps.len(),
            "time": world.time,
            "bodies": world.bodies.len(),
            "contacts": contacts,
            "islands": mean_max(self.summary(|s| s.islands as f64)),
            "timings_ms": timings,
            "iterations": mean_max(self.summary(|s| f64::from(s.iterations))),
            "residual": mean_max(self.summary(|s| s.residual)),
            "residual_coulomb": self.coulomb().map(mean_max),
            "status": {"converged": self.converged, "budget": self.budget, "failed": self.failed},
            "penetration": mean_max(self.summary(|s| s.penetration)),
            "joint_error": mean_max(self.summary(|s| s.joint_error)),
            "kinetic_energy": world.bodies.kinetic_energy(),
            "potential_energy": world.potential_energy(),
            "state_hash": format!("{:016x}", world.state_hash()),
        })
    }

    fn as_csv(&self) -> String {
        let mut text = String::from(
            "step,time,contacts,dynamic_contacts,islands,iterations,residual,status,penetration,joint_error",
        );
        for stage in Stage::ALL {
            let _ = write!(text, ",{}_ms", stage.name());
        }
        text.push('\n');
        for s in &self.steps {
            let _ = write!(
                text,
                "{},{},{},{},{},{},{:e},{},{:e},{:e}",
                s.step,
                s.time,
                s.contacts,
                s.dynamic_contacts,
                s.islands,
                s.iterations,
                s.residual,
                s.status,
                s.penetration,
                s.joint_error
            );
            for ms in s.milliseconds {
                let _ = write!(text, ",{ms:.6}");
            }
            text.push('\n');
        }
        text
    }

    fn as_text(&self, scene: &Scene, simulation: &Simulation) -> String {
        let world = simulation.world();
        let first = self.steps.first();
        let pair = |name: &str, value: String| vec![name.to_owned(), value];
        let facts = [
            pair("scene", format!("{} ({})", scene.id(), scene.name)),
            pair(
                "solver",
                format!(
                    "{}, threads: {}",
                    simulation.solver_config().name,
                    threads(simulation)
                ),
            ),
            pair(
                "steps",
                format!(
                    "{} of {:.6} s, substeps: {}, to {:.4} s",
                    self.steps.len(),
                    world.settings.step,
                    world.settings.substeps,
                    world.time
                ),
            ),
            pair("bodies", world.bodies.len().to_string()),
            pair(
                "solves",
                format!(
                    "{} converged, {} out of budget, {} failed",
                    self.converged, self.budget, self.failed
                ),
            ),
            pair(
                "contacts",
                format!(
                    "{} on the first step, {} of them between dynamic bodies",
                    first.map_or(0, |s| s.contacts),
                    first.map_or(0, |s| s.dynamic_contacts)
                ),
            ),
            pair(
                "energy",
                format!(
                    "{:.6e} J kinetic, {:.6e} J potential",
                    world.bodies.kinetic_energy(),
                    world.potential_energy()
                ),
            ),
            pair("state hash", format!("{:016x}", world.state_hash())),
        ];

        let mut rows = vec![
            ["per step", "mean", "median", "p95", "max"]
                .map(String::from)
                .to_vec(),
        ];
        let mut row = |name: &str, s: Summary, show: fn(f64) -> String| {
            let mut cells = vec![name.to_owned()];
            cells.extend([s.mean, s.median, s.p95, s.max].map(show));
            rows.push(cells);
        };
        let count: fn(f64) -> String = |v| format!("{v:.1}");
        let small: fn(f64) -> String = |v| {
            if v == 0.0 {
                "0".into()
            } else {
                format!("{v:.3e}")
            }
        };
        let time: fn(f64) -> String = |v| format!("{v:.4}");
        row("contacts", self.summary(|s| s.contacts as f64), count);
        row("islands", self.summary(|s| s.islands as f64), count);
        row(
            "iterations",
            self.summary(|s| f64::from(s.iterations)),
            count,
        );
        row("residual [m/s]", self.summary(|s| s.residual), small);
        if let Some(coulomb) = self.coulomb() {
            row("residual, exact Coulomb [m/s]", coulomb, small);
        }
        row("penetration [m]", self.summary(|s| s.penetration), small);
        if self.steps.iter().any(|s| s.joint_error > 0.0) {
            row("joint error [m]", self.summary(|s| s.joint_error), small);
        }
        for stage in Stage::ALL {
            row(&format!("{} [ms]", stage.name()), self.timing(stage), time);
        }
        format!("{}\n{}", table(&facts, &[]), table(&rows, &[1, 2, 3, 4]))
    }
}

/// Threads that the simulation runs on.
fn threads(simulation: &Simulation) -> usize {
    match simulation.threads() {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        n => n,
    }
}
