//! Up to a million spheres: what each stage of a step takes, by their number, and how near a sweep comes to what its bytes
//! must take.

use std::time::Instant;

use super::{Card, sparse};
use crate::measure::Stage;
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::method::Method;
use crate::papers::measure::race::Racer;
use crate::papers::measure::table::Columns;
use crate::papers::measure::{Bench, fixed, step};
use crate::papers::{Findings, Result};
use crate::problem::Problem;
use crate::scene::library;
use crate::step::StepReport;

/// Spheres along an edge of the grid: 10³ to 10⁶ of them.
const SIZES: [u32; 6] = [10, 16, 25, 40, 63, 100];
const METHODS: [Method; 3] = [
    Method::new("colored-gs: colored-gs"),
    Method::new("gpu-sor: gpu-sor every=50"),
    Method::new("gpu-jor: gpu-jor every=50"),
];
const ITERATIONS: u32 = 50;
/// Steps whose last one is told.
const STEPS: usize = 3;

/// Bytes that a sweep cannot do without: a contact's data, its impulses read and written (`layout.rs`), and velocities of a
/// body, linear and angular, read and written.
const BYTES_OF_CONTACT: f64 = 48.0 + 64.0 + 2.0 * 12.0;
const BYTES_OF_BODY: f64 = 2.0 * 24.0;

/// Methods and iterations of the timing of sweeps alone: so many that the card does not rest between them.
const SWEPT: [Method; 2] = [
    Method::new("gpu-sor: gpu-sor every=1000"),
    Method::new("gpu-jor: gpu-jor every=1000"),
];
const SWEEPS: u32 = 1000;
/// How long they go on before those whose time is taken (s): with 0.15 s a sweep of 64,000 spheres took 0.13 ms on an H100
/// that had rested, with this 0.034 ms.
const WARM: f64 = 1.0;
const SWEEPS_IN_SOFTWARE: u32 = 10;

struct Row {
    method: Method,
    spheres: u32,
    report: StepReport,
    /// A sweep on the device, of many that follow each other (s).
    sweep: Option<f64>,
    /// Its bytes (bytes).
    bytes: f64,
}

impl Row {
    fn note(&self, name: &str) -> Option<f64> {
        self.report.solve.statistic(name)
    }

    /// What each stage takes (ms).
    fn stages(&self) -> [(&'static str, f64); 8] {
        [
            ("broad phase", Stage::Broadphase),
            ("narrow phase", Stage::Narrowphase),
            ("assembly", Stage::Assemble),
            ("preparation", Stage::Prepare),
            ("iterations", Stage::Solve),
            ("integration", Stage::Integrate),
            ("positions", Stage::Project),
            ("measuring", Stage::Measure),
        ]
        .map(|(name, stage)| (name, 1e3 * self.report.timings.get(stage)))
    }
}

/// The growth of each stage by the number of spheres.
pub fn growth(bench: &Bench, card: &Card, findings: &mut Findings) -> Result<()> {
    let sizes = bench.either(&SIZES[..3], &SIZES[..]);
    let mut rows = Vec::new();
    for method in METHODS {
        for size in sizes {
            bench.say(format!("{method}: a grid of {size}³"));
            let mut scene = library::shipped("ball_grid_40")?;
            scene.set("generators.0.size", &size.to_string())?;
            let mut simulation = scene.simulation(bench.most_threads())?;
            simulation.set_solver(method.config(fixed(ITERATIONS)))?;
            let mut report = StepReport::default();
            for _ in 0..STEPS {
                report = step(&mut simulation, "ball_grid_40")?.clone();
            }
            let spheres = size.pow(3);
            rows.push(Row {
                method,
                spheres,
                sweep: sweep(bench, card, simulation.problem(), method)?,
                bytes: BYTES_OF_CONTACT * report.contacts as f64
                    + BYTES_OF_BODY * f64::from(spheres),
                report,
            });
        }
    }
    stages(bench, card, findings, &rows);
    sweeps(card, findings, &rows);
    for method in METHODS {
        let mut plot = Plot::new(
            card.title(format!(
                "A step of a grid by its spheres, {method}: {ITERATIONS} iterations"
            )),
            Axis::Log("spheres"),
            Axis::Log("time [ms]"),
        );
        let own = || rows.iter().filter(|r| r.method == method);
        for (k, (name, _)) in rows[0].stages().iter().enumerate() {
            plot.add(
                name,
                own().map(|r| [f64::from(r.spheres), r.stages()[k].1]),
                Mark::Line,
            );
        }
        findings.plot(format!("gpu-million-{}", method.solver()), plot);
    }
    Ok(())
}

/// The time of a sweep by the device's clock, where the method runs on it (s).
fn sweep(bench: &Bench, card: &Card, problem: &Problem, method: Method) -> Result<Option<f64>> {
    let Some(method) = SWEPT.into_iter().find(|m| m.solver() == method.solver()) else {
        return Ok(None);
    };
    let iterations = if card.is_software {
        SWEEPS_IN_SOFTWARE
    } else {
        SWEEPS
    };
    let mut racer = Racer::new(method, bench.most_threads(), fixed(iterations))?;
    let begin = Instant::now();
    racer.solve(bench, problem, None, false);
    while !card.is_software && begin.elapsed().as_secs_f64() < WARM {
        racer.solve(bench, problem, None, false);
    }
    let time = racer.report.statistic("on the device");
    Ok(time.map(|time| 1e-3 * time / f64::from(racer.report.iterations.max(1))))
}

fn stages(bench: &Bench, card: &Card, findings: &mut Findings, rows: &[Row]) {
    let title = card.title(format!(
        "Step {STEPS} of grids of spheres, {ITERATIONS} iterations, threads: {}",
        bench.most_threads()
    ));
    let names = rows
        .first()
        .map(|r| r.stages().map(|(name, _)| format!("{name} [ms]")));
    let Some(names) = names else {
        return;
    };
    findings.table(
        Columns::new("gpu-million", title, "", rows)
            .key("solver", |r| r.method)
            .key("spheres", |r| r.spheres)
            .column("contacts", |r| r.report.contacts as f64)
            .columns(names, |r| r.stages().map(|(_, time)| time))
            .column("step per sphere [µs]", |r| 1e6 * r.report.timings.get(Stage::Step) / f64::from(r.spheres))
            .column("upload [ms]", |r| r.note("upload"))
            .column("read back [ms]", |r| r.note("read back"))
            .column("device memory [MB]", |r| r.note("device memory").map(|b| 1e-6 * b))
            .remark(|r| sparse::remark(&r.report.solve))
            .note("Preparation has the upload, iterations have reading back; all but the sweeps stays on the processor."),
    );
}

fn sweeps(card: &Card, findings: &mut Findings, rows: &[Row]) {
    let on_device: Vec<&Row> = rows.iter().filter(|r| r.sweep.is_some()).collect();
    let title = card
        .title("A sweep without a matrix, against what its bytes take at the bandwidth of a copy");
    findings.table(
        Columns::new("gpu-million-sweep", title, "", &on_device)
            .key("solver", |r| r.method)
            .key("spheres", |r| r.spheres)
            .column("bytes [MB]", |r| 1e-6 * r.bytes)
            .column("sweep [ms]", |r| r.sweep.map(|s| 1e3 * s))
            .column("its bytes [ms]", |r| 1e3 * r.bytes / card.copy)
            .column("times its bytes", |r| r.sweep.map(|s| s * card.copy / r.bytes))
            .column("bandwidth [GB/s]", |r| r.sweep.map(|s| 1e-9 * r.bytes / s))
            .note(
                "A thousand sweeps, one after the other, by the device's clock (ten in software). Bytes: 112 of a \
                 contact once, impulses and velocities read and written once each; what caches cannot keep is read more often.",
            ),
    );
}
