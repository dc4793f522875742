//! `moreau run`: a scene without a window, and a report on it.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use moreau::measure::energy::{Account, Balance};
use moreau::measure::trajectory::Trajectory;
use moreau::measure::{Stage, Summary, report};
use moreau::scene::Scene;
use moreau::session::Recording;
use moreau::solve::{Method, Statistic, Status, device_remark};
use moreau::step::{ResidualSchedule, Simulation, StepError, StepReport};
use serde_json::{Value, json};

use super::limits::{self, Limit};
use super::worst::{Told, Worst};
use super::{
    Failure, ReportFormat, SceneArgs, energy, interrupt, print, save, seconds, unwritable,
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
    /// One was refused.
    Stopped(StepError),
    /// Somebody has pressed Ctrl-C.
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

/// The hash of the state; none where it depends on timing.
fn hash(simulation: &Simulation) -> Option<String> {
    let has_one = simulation.solver_config().timing().is_none();
    has_one.then(|| format!("{:016x}", simulation.world().state_hash()))
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
    let mut simulation = scene.simulation(args.threads as usize)?;
    let mut record = Record::default();
    let recording = args.record.as_ref().map(|_| {
        let recording = Recording::new(scene.id().to_owned(), &simulation);
        recording.map_err(|e| Failure::Input(e.to_string()))
    });
    record.recording = recording.transpose()?;
    simulation.set_residuals(args.residual);
    simulation.set_energy(true);
    interrupt::catch()?;
    let end = simulation.on_threads(|simulation| simulate(args, simulation, steps, &mut record))?;
    if let (Some(path), Some(recording)) = (&args.record, &record.recording) {
        save("recording", path, &recording.to_bytes())?;
    }
    // Whoever wants to leave does not wait for what would help.
    let is_wanted = args.report != ReportFormat::Csv && !matches!(end, End::Interrupted);
    let told = is_wanted.then(|| record.worst.tell(&mut simulation));
    let told = told.flatten();
    let is_whole = matches!(end, End::Done) && !record.steps.is_empty();
    if is_wanted && is_whole && args.residual != ResidualSchedule::Never {
        let of_worst = told.as_ref().and_then(Told::velocity_estimate);
        record.velocity_estimate = of_worst
            .filter(|_| record.worst.is_of(simulation.report().step))
            .unwrap_or_else(|| simulation.on_threads(|s| s.velocity_estimate()));
    }
    print(&match args.report {
        ReportFormat::Text => record.as_text(&scene, &simulation, told.as_ref()),
        ReportFormat::Json => {
            format!("{:#}\n", record.as_json(&scene, &simulation, told.as_ref()))
        }
        ReportFormat::Csv => record.as_csv()?,
    })?;
    match end {
        End::Done => record.verdict(args),
        End::Stopped(error) => Err(error.into()),
        End::Interrupted => Err(Failure::Interrupted(record.steps.len() as u64, steps)),
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
    let unwritable = |e: std::io::Error| unwritable("trajectory", &path, &e);
    let mut trajectory = match &args.trajectory {
        Some(path) => {
            let created = Trajectory::create(path, simulation.world());
            Some(created.map_err(&unwritable).map_err(Failure::Input)?)
        }
        None => None,
    };
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
        match simulation.step() {
            Ok(report) => {
                let mut report = report.clone();
                // Nobody asks for these, which are large.
                report.solve.distributions = Vec::new();
                report.solve.choices.largest = Vec::new();
                record.steps.push(report);
                if args.report != ReportFormat::Csv {
                    record.worst.follow(simulation);
                }
                if let Some(recording) = &mut record.recording {
                    recording.add(Vec::new(), simulation);
                }
            }
            Err(error) => {
                end = End::Stopped(error);
                break;
            }
        }
        if let Some(trajectory) = &mut trajectory {
            // The disk may fill up on the way.
            let energy = simulation.report().energy.as_ref();
            let added = trajectory.add(simulation.world(), energy);
            added.map_err(&unwritable).map_err(Failure::Work)?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some(trajectory) = trajectory {
        let finished = trajectory.finish();
        finished.map_err(&unwritable).map_err(Failure::Work)?;
    }
    Ok(end)
}

/// The reports on all steps.
#[derive(Default)]
struct Record {
    steps: Vec<StepReport>,
    worst: Worst,
    /// How far the last step's velocities are off, where that is known (m/s).
    velocity_estimate: Option<f64>,
    /// What can be taken again, if that was asked for.
    recording: Option<Recording>,
}

/// What becomes of a step's solves.
const OUTCOMES: [&str; 3] = ["converged", "budget", "failed"];

fn outcome(step: &StepReport) -> &'static str {
    let [converged, budget, failed] = OUTCOMES;
    match step.solve.status {
        Status::Converged => converged,
        Status::Budget | Status::Stalled(_) => budget,
        Status::Failed(_) => failed,
    }
}

impl Record {
    /// The numbers of steps that ended so.
    fn outcomes(&self) -> [usize; 3] {
        OUTCOMES.map(|wanted| self.steps.iter().filter(|s| outcome(s) == wanted).count())
    }

    /// Whether the work was done as asked.
    fn verdict(&self, args: &RunArgs) -> Result<(), Failure> {
        let steps = self.steps.len();
        let [_, budget, failed] = self.outcomes();
        let failure = |s: &StepReport| match &s.solve.status {
            Status::Failed(reason) => Some(format!("step {}: {reason}", s.step)),
            _ => None,
        };
        let mut wrong = Vec::new();
        if let Some(first) = self.steps.iter().find_map(failure) {
            wrong.push(format!(
                "{failed} of {steps} solves failed; the first: {first}"
            ));
        } else if args.require_convergence && budget > 0 {
            wrong.push(format!(
                "{budget} of {steps} steps ran out of budget before they converged"
            ));
        }
        wrong.extend(
            args.fail_on
                .iter()
                .filter_map(|limit| limit.broken_by(&self.steps)),
        );
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Failure::Work(wrong.join("\nmoreau: "))),
        }
    }

    fn summary(&self, value: impl Fn(&StepReport) -> f64) -> Summary {
        self.of_some(|s| Some(value(s))).unwrap_or_default()
    }

    /// Of a number that steps may lack; none where all of them do.
    fn of_some(&self, value: impl Fn(&StepReport) -> Option<f64>) -> Option<Summary> {
        Summary::some(self.steps.iter().filter_map(value))
    }

    fn residual(&self) -> Option<Summary> {
        self.of_some(|s| s.residual.map(|r| r.residual))
    }

    /// The residual under exact Coulomb friction, where a step has one of its own.
    fn coulomb(&self) -> Option<Summary> {
        self.of_some(|s| s.residual_coulomb.map(|r| r.residual))
    }

    /// The solver's own numbers over all steps that have them, in the order in which they first come.
    fn statistics(&self) -> Vec<(&Statistic, Summary)> {
        let mut all: Vec<&Statistic> = Vec::new();
        for statistic in self.steps.iter().flat_map(|s| &s.solve.statistics) {
            if all.iter().all(|known| known.name != statistic.name) {
                all.push(statistic);
            }
        }
        let of = |name: &str| self.of_some(|s| s.solve.statistic(name));
        let described = |s: &'_ Statistic| of(s.name).unwrap_or_default();
        all.into_iter().map(|s| (s, described(s))).collect()
    }

    /// Islands by method, over the steps whose solver chooses; null where none does.
    fn islands_by_method(&self) -> Value {
        let chosen = |s: &StepReport, m| {
            let choices = &s.solve.choices;
            (!choices.is_empty()).then(|| f64::from(choices.count(m)))
        };
        let all = Method::ALL.map(|m| {
            let of = self.of_some(|s| chosen(s, m))?;
            Some((m.name(), json!({"mean": of.mean, "max": of.max})))
        });
        let all: Option<Vec<_>> = all.into_iter().collect();
        all.map_or(Value::Null, Value::from_iter)
    }

    fn energy(&self) -> Option<Account> {
        Account::of(self.steps.iter().filter_map(|s| s.energy.as_ref()))
    }

    /// In milliseconds.
    fn timing(&self, stage: Stage) -> Summary {
        self.summary(|s| 1e3 * s.timings.get(stage))
    }

    /// The object of `--report json`; its names stay.
    fn as_json(&self, scene: &Scene, simulation: &Simulation, told: Option<&Told>) -> Value {
        let world = simulation.world();
        let mean_max = |s: Summary| json!({"mean": s.mean, "max": s.max});
        let first = self.steps.first();
        let mut contacts = mean_max(self.summary(|s| s.contacts as f64));
        contacts["first"] = json!(first.map_or(0, |s| s.contacts));
        contacts["first_dynamic"] = json!(first.map_or(0, |s| s.dynamic_contacts));
        let timings = Stage::ALL.map(|stage| (stage.name(), json!(self.timing(stage))));
        let statistics = self.statistics().into_iter().map(|(s, of)| {
            let value = json!({"unit": s.unit, "mean": of.mean, "max": of.max});
            (s.name, value)
        });
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
            "timings_ms": Value::from_iter(timings),
            "iterations": mean_max(self.summary(|s| f64::from(s.solve.iterations))),
            "residual": self.residual().map(mean_max),
            "residual_coulomb": self.coulomb().map(mean_max),
            "velocity_estimate": self.velocity_estimate,
            "status": OUTCOMES.into_iter().zip(self.outcomes()).collect::<Value>(),
            "statistics": Value::from_iter(statistics),
            "remarks": self.remarks(simulation),
            "islands_by_method": self.islands_by_method(),
            "worst_step": self.worst.as_json(told),
            "penetration": mean_max(self.summary(|s| s.penetration)),
            "joint_error": mean_max(self.summary(|s| s.joint_error)),
            "energy": self.energy().as_ref().map(energy::as_json),
            "kinetic_energy": world.bodies.kinetic_energy(),
            "potential_energy": world.potential_energy(),
            "state_hash": hash(simulation),
        })
    }

    /// One line per step, every number to its last digit; what a step lacks is an empty cell. The solver's own
    /// numbers are called as in the JSON report, which also has their units.
    fn as_csv(&self) -> Result<String, csv::Error> {
        let names = "step,time,contacts,dynamic_contacts,islands,iterations,residual,residual_coulomb,status,\
                     penetration,joint_error";
        let names = names.split(',').chain(Balance::names()).map(String::from);
        let stages = Stage::ALL.map(|stage| format!("{}_ms", stage.name()));
        let statistics: Vec<&str> = self.statistics().iter().map(|(s, _)| s.name).collect();
        let own = statistics.iter().map(|name| (*name).to_owned());
        let header: Vec<String> = names.chain(stages).chain(own).collect();
        let some = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:e}"));
        let row = |s: &StepReport| {
            let cells = [
                s.step.to_string(),
                s.time.to_string(),
                s.contacts.to_string(),
                s.dynamic_contacts.to_string(),
                s.islands.to_string(),
                s.solve.iterations.to_string(),
                some(s.residual.map(|r| r.residual)),
                some(s.residual_coulomb.map(|r| r.residual)),
                outcome(s).to_owned(),
                format!("{:e}", s.penetration),
                format!("{:e}", s.joint_error),
            ];
            let stages = Stage::ALL.map(|stage| (1e3 * s.timings.get(stage)).to_string());
            let own = statistics.iter().map(|name| {
                let value = s.solve.statistic(name);
                value.map_or(String::new(), |v| v.to_string())
            });
            let energy = energy::cells(s.energy.as_ref());
            let cells = cells.into_iter().chain(energy);
            let cells = cells.chain(stages).chain(own);
            cells.collect::<Vec<String>>()
        };
        report::csv(&header, self.steps.iter().map(row))
    }

    fn as_text(&self, scene: &Scene, simulation: &Simulation, told: Option<&Told>) -> String {
        let facts = report::columns(&self.facts(scene, simulation));
        let header = ["per step", "mean", "median", "p95", "max"].map(String::from);
        let per_step = report::table(&header, &self.per_step(), 1..5);
        let energy = self.energy();
        let energy = energy.map_or(String::new(), |account| energy::as_text(&account));
        let islands = self.worst.islands();
        let told = told.map_or(String::new(), |told| told.as_text(&self.worst));
        format!("{facts}\n{per_step}{energy}{islands}{told}")
    }

    fn facts(&self, scene: &Scene, simulation: &Simulation) -> Vec<Vec<String>> {
        let world = simulation.world();
        let [contacts, dynamic] = match self.steps.first() {
            Some(first) => [first.contacts, first.dynamic_contacts],
            None => [0; 2],
        };
        let (steps, settings) = (self.steps.len(), &world.settings);
        let (step, substeps, time) = (settings.step, settings.substeps, world.time);
        let [converged, budget, failed] = self.outcomes();
        let (kinetic, potential) = (world.bodies.kinetic_energy(), world.potential_energy());
        let (solver, threads) = (&simulation.solver_config().name, threads(simulation));
        let off = match self.velocity_estimate {
            Some(off) => format!("{off:.1e} m/s off in the last step, estimated"),
            None => "nothing says how far they are off".into(),
        };
        let facts = [
            ("scene", format!("{} ({})", scene.id(), scene.name)),
            ("solver", format!("{solver}, threads: {threads}")),
            (
                "steps",
                format!("{steps} of {step:.6} s, substeps: {substeps}, to {time:.4} s"),
            ),
            ("bodies", world.bodies.len().to_string()),
            (
                "solves",
                format!("{converged} converged, {budget} out of budget, {failed} failed"),
            ),
            (
                "contacts",
                format!("{contacts} on the first step, {dynamic} of them between dynamic bodies"),
            ),
            (
                "energy",
                format!("{kinetic:.6e} J kinetic, {potential:.6e} J potential"),
            ),
            ("velocities", off),
            (
                "state hash",
                hash(simulation).unwrap_or_else(|| "none: the result depends on timing".into()),
            ),
        ];
        let remarks = self
            .remarks(simulation)
            .into_iter()
            .map(|remark| ("remark", remark));
        let facts = facts.into_iter().chain(remarks);
        facts
            .map(|(name, value)| vec![name.to_owned(), value])
            .collect()
    }

    /// What the solver remarked in any step, each once, and what a recording should be known to depend on.
    fn remarks(&self, simulation: &Simulation) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for remark in self.steps.iter().flat_map(|s| &s.solve.remarks) {
            if !all.contains(remark) {
                all.push(remark.clone());
            }
        }
        if self.recording.is_some() {
            all.extend(device_remark(&simulation.solver_config().name));
        }
        all
    }

    fn per_step(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut row = |name: &str, s: Summary, show: fn(f64) -> String| {
            let cells = [s.mean, s.median, s.p95, s.max].map(show);
            rows.push([name.to_owned()].into_iter().chain(cells).collect());
        };
        let count = |v: f64| format!("{v:.1}");
        let small = |v: f64| match v {
            0.0 => "0".to_owned(),
            v => format!("{v:.3e}"),
        };
        row("contacts", self.summary(|s| s.contacts as f64), count);
        row("islands", self.summary(|s| s.islands as f64), count);
        let iterations = self.summary(|s| f64::from(s.solve.iterations));
        row("iterations, most of any island", iterations, count);
        if let Some(residual) = self.residual() {
            row("residual [m/s]", residual, small);
        }
        if let Some(coulomb) = self.coulomb() {
            row("residual, exact Coulomb [m/s]", coulomb, small);
        }
        row("penetration [m]", self.summary(|s| s.penetration), small);
        if self.steps.iter().any(|s| s.joint_error > 0.0) {
            row("joint error [m]", self.summary(|s| s.joint_error), small);
        }
        for (statistic, of) in self.statistics() {
            let name = match statistic.unit {
                "-" => statistic.name.to_owned(),
                unit => format!("{} [{unit}]", statistic.name),
            };
            let round = |v: f64| match v.fract() {
                0.0 => format!("{v}"),
                _ => format!("{v:.4e}"),
            };
            row(&name, of, round);
        }
        for stage in Stage::ALL {
            let name = format!("{} [ms]", stage.name());
            row(&name, self.timing(stage), |v| format!("{v:.4}"));
        }
        rows
    }
}

/// Threads that the simulation runs on.
fn threads(simulation: &Simulation) -> usize {
    match simulation.threads() {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        n => n,
    }
}

#[cfg(test)]
mod tests {
    use moreau::solve::Over;

    use super::*;

    /// A solver may count on one step what it does not on the next.
    #[test]
    fn every_statistic_is_a_column_and_a_step_without_it_has_an_empty_cell() {
        let mut record = Record::default();
        for (name, value) in [("pivots", 3.0), ("fallbacks", 0.1 + 0.2)] {
            let mut step = StepReport::default();
            step.solve.note(name, "", "-", Over::Sum, value);
            record.steps.push(step);
        }
        let csv = record.as_csv().expect("plain values");
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].ends_with(",measure_ms,pivots,fallbacks"), "{csv}");
        assert!(
            lines[0].contains(",residual,residual_coulomb,status,"),
            "{csv}"
        );
        assert!(lines[1].contains(",,,converged,"), "{csv}");
        assert!(
            lines[1].ends_with(",3,") && lines[2].ends_with(",,0.30000000000000004"),
            "{csv}"
        );
        let names: Vec<_> = record.statistics().iter().map(|(s, _)| s.name).collect();
        assert_eq!(names, ["pivots", "fallbacks"]);
    }
}
