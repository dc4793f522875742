//! Sliders: those of every scene at both ends and in the middle, an experiment of our own. Joints have to stay whole and
//! steps in time wherever somebody leaves them.

use std::time::Instant;

use super::hands::solvers;
use super::measure::Bench;
use super::measure::table::Columns;
use super::{Findings, Result};
use crate::measure::{Stage, Summary};
use crate::scene::{Parameter, Scene, library};
use crate::session::{Input, Session};
use crate::solve::{SolverConfig, Status};
use crate::world::Drive;

/// How long a machine runs with a parameter, and all else (s).
const SECONDS: [f64; 2] = [20.0, 5.0];
/// The clock time after which a run is over (s).
const PATIENCE: f64 = 60.0;
/// What joints may be apart (m).
const APART: f64 = 5e-3;
/// What a step of a machine may take at the 95th percentile (ms).
const LATE: f64 = 16.0;

/// What is moved.
enum Slider {
    /// A value that the scene is built with.
    Parameter(Parameter),
    /// A drive of the running machine, by its index.
    Drive(u32, Drive),
}

impl Slider {
    /// All of a scene: its own, and those of its drives.
    fn all(scene: &Scene) -> Result<Vec<Self>> {
        let world = scene.build()?;
        let parameters = scene.parameters.iter().cloned().map(Self::Parameter);
        let drives = world.drives.iter().cloned().enumerate();
        let drives = drives.map(|(k, drive)| Self::Drive(k as u32, drive));
        Ok(parameters.chain(drives).collect())
    }

    fn name(&self) -> &str {
        match self {
            Self::Parameter(parameter) => &parameter.label,
            Self::Drive(_, drive) => &drive.name,
        }
    }

    /// Both ends and the middle.
    fn values(&self) -> [f64; 3] {
        let (min, max, middle) = match self {
            Self::Parameter(p) if p.logarithmic => (p.min, p.max, (p.min * p.max).sqrt()),
            Self::Parameter(p) => (p.min, p.max, 0.5 * (p.min + p.max)),
            Self::Drive(_, drive) => {
                let [min, max] = drive.range;
                (min, max, 0.5 * (min + max))
            }
        };
        let is_whole = matches!(self, Self::Parameter(p) if p.integer);
        [min, if is_whole { middle.round() } else { middle }, max]
    }

    /// The scene with the slider at a value, and what is moved once it runs.
    fn at(&self, scene: &Scene, value: f64) -> Result<(Scene, Option<Input>)> {
        let mut scene = scene.clone();
        match self {
            Self::Parameter(parameter) => {
                scene.set(&parameter.path, &value.to_string())?;
                Ok((scene, None))
            }
            Self::Drive(index, _) => {
                let (index, value) = (*index, Some(value));
                Ok((scene, Some(Input::Drive { index, value })))
            }
        }
    }
}

/// What a slider at one value has shown.
struct Run {
    scene: String,
    solver: String,
    slider: String,
    value: f64,
    is_machine: bool,
    /// The time simulated (s).
    seconds: f64,
    /// The largest joint error (m).
    error: f64,
    /// Steps that a solver failed in, or that were not taken.
    failed: usize,
    /// Time of all steps (ms).
    times: Summary,
}

impl Run {
    /// What is not as it has to be.
    fn misses(&self) -> String {
        let apart = (self.error > APART).then(|| format!("{:.3} m apart", self.error));
        let late = (self.is_machine && self.times.p95 > LATE).then_some("late".to_owned());
        let failed = (self.failed > 0).then_some("failed".to_owned());
        let misses: Vec<String> = [apart, late, failed].into_iter().flatten().collect();
        misses.join(", ")
    }
}

/// Every slider of every scene, at both ends and in the middle, the others as they are.
///
/// # Errors
/// A scene that cannot be used.
pub fn sliders(bench: &Bench, findings: &mut Findings) -> Result<()> {
    bench.check_only(library::shipped_names())?;
    let mut runs = Vec::new();
    for name in library::shipped_names().filter(|name| bench.wants(name)) {
        let scene = library::shipped(name)?;
        for solver in solvers(&scene) {
            let of_scene = move_all(bench, &scene, &solver)?;
            runs.extend(of_scene);
        }
    }
    let missed: Vec<&Run> = runs.iter().filter(|r| !r.misses().is_empty()).collect();
    let title = format!(
        "Sliders: {} of {} runs have joints more than {APART} m apart, steps of a machine of more than {LATE} ms, or failures",
        missed.len(),
        runs.len(),
    );
    findings.table(
        Columns::new("sliders", title, "", &runs)
            .key("scene", |r| &r.scene)
            .key("solver", |r| &r.solver)
            .key("slider", |r| &r.slider)
            .column("value", |r| r.value)
            .column("time [s]", |r| r.seconds)
            .column("worst joint [mm]", |r| 1e3 * r.error)
            .column("steps failed", |r| r.failed as f64)
            .column("mean step [ms]", |r| r.times.mean)
            .column("p95 step [ms]", |r| r.times.p95)
            .column("worst step [ms]", |r| r.times.max)
            .remark(Run::misses)
            .note(format!(
                "A joint error is that of StepReport::joint_error. A scene is built with a parameter; a drive is moved from the \
                 start on. A run ends after {PATIENCE} s of clock time."
            )),
    );
    Ok(())
}

/// All sliders of a scene.
fn move_all(bench: &Bench, scene: &Scene, solver: &SolverConfig) -> Result<Vec<Run>> {
    let mut scene = scene.clone();
    scene.solver = solver.clone();
    let mut runs = Vec::new();
    for slider in Slider::all(&scene)? {
        for value in slider.values() {
            bench.say(format!("{}: {} {value}", scene.id(), slider.name()));
            runs.push(watch(bench, &scene, &slider, value)?);
        }
    }
    Ok(runs)
}

/// A slider at a value.
fn watch(bench: &Bench, scene: &Scene, slider: &Slider, value: f64) -> Result<Run> {
    let (set, input) = slider.at(scene, value)?;
    let mut session = Session::new(set.simulation(bench.most_threads())?);
    if let Some(input) = input {
        // Drives of the scene are never refused.
        _ = session.apply(input);
    }
    let is_machine = !session.simulation().world().joints.is_empty();
    let [machine, other] = SECONDS;
    let seconds = bench.either(1.0, if is_machine { machine } else { other });
    let mut run = Run {
        scene: scene.id().to_owned(),
        solver: scene.solver.name.clone(),
        slider: slider.name().to_owned(),
        value,
        is_machine,
        seconds: 0.0,
        error: 0.0,
        failed: 0,
        times: Summary::default(),
    };
    let mut times = Vec::new();
    let start = Instant::now();
    while run.seconds < seconds && start.elapsed().as_secs_f64() < PATIENCE {
        let Ok(report) = session.step() else {
            run.failed += 1;
            break;
        };
        run.failed += usize::from(matches!(report.solve.status, Status::Failed(_)));
        run.error = run.error.max(report.joint_error);
        times.push(1e3 * report.timings.get(Stage::Step));
        run.seconds += scene.settings.step;
    }
    run.times = Summary::of(&times);
    Ok(run)
}
