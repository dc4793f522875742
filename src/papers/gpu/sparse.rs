//! Our solvers on the device beside those on the processor: times by contacts, iterations during a simulation, and pyramids.

use std::time::Instant;

use super::Card;
use crate::measure::Summary;
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::method::{
    COLORED_F32, GAUSS_SEIDEL, JACOBI, JACOBI_DEGREE, JOR, Method,
};
use crate::papers::measure::race::Racer;
use crate::papers::measure::table::Columns;
use crate::papers::measure::{Bench, fixed, step};
use crate::papers::{Findings, Result};
use crate::problem::Problem;
use crate::scene::library;
use crate::solve::{Budget, SolveReport, Status, ToleranceNorm};

/// Iterations of the timings: those after which Nützi asks whether it pays.
const ITERATIONS: u32 = 50;
/// Those of a timing of kernels alone.
const LONG: u32 = 1000;

const GPU_JOR: Method = Method::new("gpu-jor: gpu-jor every=1000");
const GPU_SOR: Method = Method::new("gpu-sor: gpu-sor every=1000");
/// Those that are timed, the processor's first.
const TIMED: [Method; 9] = [
    JACOBI,
    COLORED_F32,
    AUTO,
    GPU_JOR,
    GPU_SOR,
    GPU_JOR.with(", sparse: scheme=sparse"),
    GPU_SOR.with(", sparse: scheme=sparse"),
    GPU_JOR.with(", dense: scheme=dense"),
    GPU_SOR.with(", dense: scheme=dense"),
];
const AUTO: Method = Method::new("auto: auto");

/// A method on a problem.
struct Timed {
    method: Method,
    contacts: usize,
    /// Preparation, iterations, and both (s): medians.
    times: [f64; 3],
    /// On the device's clock, upload, reading back (s).
    device: [Option<f64>; 3],
    /// An iteration on the device, of a thousand that follow each other (s).
    long: Option<f64>,
    iterations: u32,
    residual: f64,
    remark: String,
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    Summary::some(of).map_or(f64::NAN, |s| s.median)
}

/// Grids of spheres: the time of an iteration, and of fifty with all that goes with them.
pub fn by_contacts(bench: &Bench, card: &Card, findings: &mut Findings) -> Result<()> {
    let sizes: &[u32] = bench.either(&[2, 4, 8], &[2, 3, 4, 5, 6, 8, 11, 16, 24, 40]);
    let mut all = Vec::new();
    for size in sizes {
        let case = bench.case("ball_grid_40", &[("generators.0.size", &size.to_string())])?;
        time_all(bench, card, &case.problem, &mut all)?;
    }
    let title = format!("The first step of grids of spheres, {ITERATIONS} iterations");
    table(card, findings, "gpu-contacts", &title, &all);
    pays(card, findings, &all);
    let mut plot = Plot::new(
        card.title(format!(
            "{ITERATIONS} iterations with all that goes with them"
        )),
        Axis::Log("contacts"),
        Axis::Log("time [ms]"),
    );
    for method in TIMED {
        let own = all.iter().filter(|t| t.method == method);
        plot.add(
            method,
            own.filter(|t| t.remark.is_empty())
                .map(|t| [t.contacts as f64, 1e3 * t.times[2]]),
            Mark::Line,
        );
    }
    findings.plot("gpu-contacts", plot);
    Ok(())
}

/// Spheres that lie in a box: twenty thousand of them, dropped into one of 8 m.
pub fn in_a_box(bench: &Bench, card: &Card, findings: &mut Findings) -> Result<()> {
    let (count, steps) = bench.either(("300", 300), ("20000", 700));
    let width = bench.either("1.6", "8");
    let mut scene = library::shipped("sphere_box_3000")?;
    scene.set_all(&[("generators.0.count", count), ("generators.0.width", width)])?;
    let mut simulation = scene.simulation(bench.most_threads())?;
    for k in 1..=steps {
        bench.say(format!(
            "{count} spheres fall into a box: step {k} of {steps}"
        ));
        step(&mut simulation, "sphere_box_3000")?;
    }
    let mut all = Vec::new();
    time_all(bench, card, simulation.problem(), &mut all)?;
    let title = format!("{count} spheres in a box after {steps} steps, {ITERATIONS} iterations");
    table(card, findings, "gpu-box", &title, &all);
    Ok(())
}

/// All methods on a problem, but for T as a whole where that is large: it is slow by diagonal blocks.
fn time_all(bench: &Bench, card: &Card, problem: &Problem, all: &mut Vec<Timed>) -> Result<()> {
    for method in TIMED {
        let most = match (method.to_string().as_str(), card.is_software) {
            ("gpu-jor, dense", false) => 5_000,
            (name, _) if name.ends_with("dense") => 1_500,
            _ => usize::MAX,
        };
        if problem.contacts.len() <= most {
            all.push(time(bench, card, problem, method)?);
        }
    }
    Ok(())
}

fn table(card: &Card, findings: &mut Findings, id: &str, title: &str, all: &[Timed]) {
    findings.table(
        Columns::new(id, card.title(title), "", all)
            .key("contacts", |t| t.contacts)
            .key("solver", |t| t.method)
            .column("iterations", |t| f64::from(t.iterations))
            .column("iteration [ms]", |t| {
                1e3 * t.times[1] / f64::from(t.iterations.max(1))
            })
            .column("on the device's clock [ms]", |t| {
                t.device[0].map(|s| 1e3 * s / f64::from(t.iterations.max(1)))
            })
            .column("of 1,000 [ms]", |t| t.long.map(|s| 1e3 * s))
            .column("upload [ms]", |t| t.device[1].map(|s| 1e3 * s))
            .column("read back [ms]", |t| t.device[2].map(|s| 1e3 * s))
            .column("prepare [ms]", |t| 1e3 * t.times[0])
            .column("all [ms]", |t| 1e3 * t.times[2])
            .column("residual [m/s]", |t| t.residual)
            .remark(|t| &t.remark)
            .note(
                "From Λ = 0; medians. All is preparation, with the upload, and iterations, with \
                 reading back. auto stops where its tolerance is reached, or its time is over.",
            ),
    );
}

/// From how many contacts on a solver on the device is faster than one on the processor.
fn pays(card: &Card, findings: &mut Findings, all: &[Timed]) {
    let whole = |method: Method, contacts| {
        let found = all
            .iter()
            .find(|t| t.method == method && t.contacts == contacts && t.remark.is_empty());
        found.map(|t| t.times[2])
    };
    let from = |here: Method, there: Method| {
        let sizes = all.iter().filter(|t| t.method == here).map(|t| t.contacts);
        let sizes: Vec<usize> = sizes.collect();
        let wins = |n: &usize| whole(here, *n) < whole(there, *n);
        let losing = sizes.iter().rposition(|n| !wins(n));
        sizes.get(losing.map_or(0, |k| k + 1)).map(|n| *n as f64)
    };
    let rows: Vec<Method> = TIMED[3..].to_vec();
    let title = card.title(format!(
        "Contacts from which {ITERATIONS} iterations pay on the device, and go on doing so"
    ));
    findings.table(
        Columns::new("gpu-pays", title, "Nützi 2011, 6.1", &rows)
            .key("solver", |m| m)
            .column("against jacobi", |m| {
                let there = m.to_string().ends_with("jor, dense").then_some(200.0);
                (there, from(*m, JACOBI))
            })
            .column("against colored-gs", |m| from(*m, COLORED_F32))
            .column("against auto", |m| from(*m, AUTO))
            .note("Of the sizes that were measured; nothing stands where it never does. All threads on the processor."),
    );
}

fn time(bench: &Bench, card: &Card, problem: &Problem, method: Method) -> Result<Timed> {
    let contacts = problem.contacts.len();
    bench.say(format!("{method} on {contacts} contacts"));
    let budget = match method.solver() {
        "auto" => Budget::default(),
        _ => fixed(ITERATIONS),
    };
    let mut racer = Racer::new(method, bench.most_threads(), budget)?;
    // The first one compiles kernels and makes room.
    let begin = Instant::now();
    racer.solve(bench, problem, None, false);
    while begin.elapsed().as_secs_f64() < card.warm_up() {
        racer.solve(bench, problem, None, false);
    }
    let mut reports = Vec::new();
    for _ in 0..bench.either(3, 5) {
        racer.solve(bench, problem, None, false);
        reports.push(racer.report.clone());
    }
    let of = |name: &str| {
        let values = reports.iter().filter_map(|r| r.statistic(name));
        Summary::some(values).map(|s| 1e-3 * s.median)
    };
    // A card that has rested begins slowly, so that the time of fifty iterations is not that of the kernels.
    let mut long = None;
    if method.solver().starts_with("gpu") && !card.is_software {
        let mut racer = Racer::new(method, bench.most_threads(), fixed(LONG))?;
        racer.solve(bench, problem, None, false);
        let time = racer.report.statistic("on the device");
        long = time.map(|time| 1e-3 * time / f64::from(racer.report.iterations.max(1)));
    }
    Ok(Timed {
        method,
        contacts,
        long,
        times: [
            median(reports.iter().map(|r| r.prepare_time)),
            median(reports.iter().map(|r| r.solve_time)),
            median(reports.iter().map(|r| r.prepare_time + r.solve_time)),
        ],
        device: ["on the device", "upload", "read back"].map(of),
        iterations: racer.report.iterations,
        residual: bench.residual(problem, &racer.lambda).residual,
        remark: remark(&racer.report),
    })
}

/// What must be known of a solve: why it failed, or who did it instead.
pub fn remark(report: &SolveReport) -> String {
    if let Status::Failed(reason) = &report.status {
        return reason.clone();
    }
    let mut remarks = report.remarks.iter();
    let fell_back =
        |r: &&String| r.starts_with("solved on the CPU") || r.starts_with("solved with T");
    remarks.find(fell_back).cloned().unwrap_or_default()
}

/// Where both tolerances of 4.50 are in single precision; his are 1e-7 in double precision.
const TOLERANCE: f64 = 1e-5;
/// Those of figure 6.6 on the device, with the processor's in double precision.
const SOLVED: [Method; 5] = [
    GAUSS_SEIDEL,
    JOR,
    Method::new("gpu-sor: gpu-sor"),
    Method::new("gpu-jor, α = 0.35: gpu-jor alpha=0.35 r_factors=local"),
    Method::new("gpu-jor, 1/degree: gpu-jor"),
];

/// Figure 6.6: iterations and time on problems of a simulation.
pub fn in_a_simulation(bench: &Bench, card: &Card, findings: &mut Findings) -> Result<()> {
    let samples = sample(bench)?;
    let budget = Budget {
        iterations: bench.either(500, 5000),
        tolerance: 0.0,
        absolute: TOLERANCE,
        relative: TOLERANCE,
        norm: ToleranceNorm::Euclidean,
        time: 0.0,
    };
    let mut rows = Vec::new();
    for method in SOLVED {
        let mut racer = Racer::new(method, bench.most_threads(), budget)?;
        let mut courses = Vec::new();
        for problem in &samples {
            bench.say(format!("{method} on {} contacts", problem.contacts.len()));
            racer.solve(bench, problem, None, false);
            let report = &racer.report;
            let done = report.status == Status::Converged;
            courses.push((
                problem.contacts.len(),
                done,
                f64::from(report.iterations),
                1e3 * (report.prepare_time + report.solve_time),
            ));
        }
        rows.push((method, courses, remark(&racer.report)));
    }
    let title = card.title(format!(
        "To a tolerance of {TOLERANCE:e} (4.50): {} problems of {scene}",
        samples.len(),
        scene = scene_of(bench)
    ));
    findings.table(
        Columns::new("gpu-simulation", title, "Nützi 2011, figure 6.6", &rows)
            .key("solver", |(m, ..)| m)
            .column("iterations, median", |(_, c, _)| median(c.iter().map(|c| c.2)))
            .column("iterations, most", |(_, c, _)| c.iter().map(|c| c.2).fold(0.0, f64::max))
            .column("time, median [ms]", |(_, c, _)| median(c.iter().map(|c| c.3)))
            .column("converged [%]", |(_, c, _)| 100.0 * c.iter().filter(|c| c.1).count() as f64 / c.len().max(1) as f64)
            .remark(|(.., remark)| remark)
            .note(format!(
                "From Λ = 0, {} iterations at most; time with preparation and transfers. He has 1e-7 in double precision, \
                 single precision ends before. His JOR takes \"twice and more\" the iterations of full SOR.",
                budget.iterations
            )),
    );
    for (name, axis, value) in [
        ("gpu-simulation-iterations", "iterations", 0),
        ("gpu-simulation-time", "time [ms]", 1),
    ] {
        let mut plot = Plot::new(
            card.title(format!("To {TOLERANCE:e}: spheres in a box")),
            Axis::Linear("contacts"),
            Axis::Log(axis),
        );
        for (method, courses, _) in &rows {
            plot.add(
                *method,
                courses.iter().map(|c| [c.0 as f64, [c.2, c.3][value]]),
                Mark::Points,
            );
        }
        findings.plot(name, plot);
    }
    Ok(())
}

fn scene_of(bench: &Bench) -> &'static str {
    bench.either("sphere_box_300", "sphere_box_3000")
}

fn sample(bench: &Bench) -> Result<Vec<Problem>> {
    let name = scene_of(bench);
    let scene = library::shipped(name)?;
    let mut simulation = scene.simulation(bench.most_threads())?;
    let mut samples = Vec::new();
    for k in 1..=600 {
        bench.say(format!("{name}: step {k}"));
        step(&mut simulation, name)?;
        if k > 200 && k % bench.either(100, 25) == 0 {
            samples.push(simulation.problem().clone());
        }
    }
    samples.sort_by_key(|p: &Problem| p.contacts.len());
    Ok(samples)
}

/// Changes of an iteration at which pyramids are solved (m/s): single precision has no much smaller ones.
const RESIDUAL: f64 = 1e-6;
const OF_PYRAMIDS: [Method; 6] = [
    GAUSS_SEIDEL,
    JACOBI_DEGREE,
    JACOBI,
    Method::new("gpu-jor, 1/degree: gpu-jor"),
    Method::new("gpu-jor, no relaxation: gpu-jor r_factors=local"),
    Method::new("gpu-sor: gpu-sor"),
];

/// Munksgaard & Kaiser: Jacobi on the device against Jacobi and Gauss–Seidel on one core, by a pyramid's height.
pub fn pyramid(bench: &Bench, card: &Card, findings: &mut Findings) -> Result<()> {
    let heights: &[u32] = bench.either(&[4, 8], &[4, 8, 16, 24, 32, 48]);
    let most = bench.either(2_000, 20_000);
    let mut rows = Vec::new();
    for layers in heights {
        let case = bench.case(
            "disc_pyramid",
            &[("generators.0.layers", &layers.to_string())],
        )?;
        for method in OF_PYRAMIDS {
            let contacts = case.problem.contacts.len();
            bench.say(format!("{method} on {contacts} contacts"));
            let budget = Budget {
                iterations: most,
                tolerance: RESIDUAL,
                ..Budget::default()
            };
            // The first one compiles kernels and makes room.
            let mut racer = Racer::new(method, 1, fixed(1))?;
            racer.solve(bench, &case.problem, None, false);
            racer.budget = budget;
            racer.solve(bench, &case.problem, None, false);
            let residual = bench.residual(&case.problem, &racer.lambda).residual;
            rows.push((*layers, contacts, method, racer.report.clone(), residual));
        }
    }
    let title = card.title(format!(
        "Disc pyramids, until changes are below {:e} m/s",
        RESIDUAL
    ));
    findings.table(
        Columns::new("gpu-pyramid", title, "", &rows)
            .key("layers", |r| r.0)
            .key("contacts", |r| r.1)
            .key("solver", |r| r.2)
            .column("iterations", |r| f64::from(r.3.iterations))
            .column("prepare [ms]", |r| 1e3 * r.3.prepare_time)
            .column("solve [ms]", |r| 1e3 * r.3.solve_time)
            .column("iteration [µs]", |r| 1e6 * r.3.solve_time / f64::from(r.3.iterations.max(1)))
            .column("residual [m/s]", |r| r.4)
            .remark(|r| match (&r.3.status, remark(&r.3)) {
                (Status::Converged, remark) => remark,
                (status, remark) if remark.is_empty() => format!("{status:?}"),
                (_, remark) => remark,
            })
            .note(format!(
                "Munksgaard & Kaiser leave their sections of results empty. Solvers on the processor have one thread, and \
                 double precision; {most} iterations at most. Each was solved once, after one that \
                 made room."
            )),
    );
    let mut plot = Plot::new(
        card.title("Disc pyramids: time to the end by height"),
        Axis::Log("layers"),
        Axis::Log("time [ms]"),
    );
    for method in OF_PYRAMIDS {
        let own = rows.iter().filter(|r| r.2 == method);
        plot.add(
            method,
            own.map(|r| [f64::from(r.0), 1e3 * (r.3.prepare_time + r.3.solve_time)]),
            Mark::Line,
        );
    }
    findings.plot("gpu-pyramid", plot);
    Ok(())
}
