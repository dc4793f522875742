//! Lacoursière 2007: a vehicle that tows a cable, in one piece and split. With the figures of his tables 1 and 2, and with
//! what he left for later: how exact the split solutions are.

mod couplings;
mod large;

use std::time::Instant;

use crate::compare::{Contest, Contestant, Rounds, Task};
use crate::measure::Summary;
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::scene::library;
use crate::solve::Budget;
use crate::step::{Simulation, StepReport};

const SCENE: &str = "tethered_vehicle";
/// Most steps of a run; his were 10,000.
const STEPS: usize = 500;
/// A run ends after the step in which it has taken so long (s), of a quick bench and of a whole one: the dense factor of
/// one piece takes up to seconds for a step, and all of his table is to take ten minutes.
const SECONDS: [f64; 2] = [4.0, 9.0];
/// Steps whose velocities are compared with the whole solution's.
const SAMPLES: usize = 10;
const ONCE: Rounds = Rounds {
    count: 1,
    history: false,
    estimate: false,
};

/// His tables 1 and 2: bodies of the cable, and solver times (ms): in one piece, in two groups, in segments, and these on
/// four threads; then two groups whose cable is swept, and segments on four threads.
const PAPER: [(u32, [Option<f64>; 6]); 5] = [
    (
        60,
        [
            Some(98.3),
            Some(7.8),
            Some(6.7),
            Some(2.1),
            Some(5.6),
            Some(3.5),
        ],
    ),
    (
        80,
        [
            Some(67.7),
            Some(6.8),
            Some(5.7),
            Some(2.9),
            Some(7.8),
            Some(5.2),
        ],
    ),
    (
        100,
        [
            Some(186.9),
            Some(7.6),
            Some(8.7),
            Some(6.9),
            Some(7.9),
            Some(5.7),
        ],
    ),
    (
        120,
        [
            Some(393.2),
            Some(11.7),
            Some(11.7),
            Some(3.2),
            Some(9.3),
            Some(5.2),
        ],
    ),
    (
        140,
        [
            Some(513.9),
            None,
            Some(11.2),
            Some(3.8),
            Some(10.6),
            Some(8.7),
        ],
    ),
];

const WHOLE: Method = Method::new("one piece, full: bpp factorization=full");
const PLAIN: Method = Method::new(": hybrid coupling=plain factorization=full");
const TWO: Method = PLAIN.with("two groups: segment=1000000");
const SEGMENTS: Method = PLAIN.with("segments of 10: segment=10");
const TWO_SWEPT: Method =
    PLAIN.with("two groups, cable swept: segment=1000000 segments=gauss-seidel");
const SWEPT: Method = PLAIN.with("segments of 10, swept: segment=10 segments=gauss-seidel");
const EXACT: Method = Method::new("segments of 10, exact couplings: hybrid coupling=exact");
const ASYNC: Method = PLAIN.with("segments of 10, async: segment=10 execution=async");
const SPARSE: Method = Method::new("one piece, sparse: bpp factorization=sparse");
const AUTO: Method = Method::new("one piece, auto: auto");

/// One run of the vehicle.
struct Run {
    links: u32,
    method: Method,
    threads: usize,
    paper: Option<f64>,
    /// Preparation and solution of each step (ms).
    times: Vec<f64>,
    residuals: Vec<f64>,
    /// How far velocities are from the whole solution's, in some steps (m/s).
    distances: Vec<f64>,
    parts: f64,
    /// The largest joint error (m), and the fastest body (m/s).
    joint: f64,
    speed: f64,
    /// Steps that were not taken, or in which the solver failed.
    failed: usize,
}

/// His couplings: five, without a test.
fn five(method: Method) -> Budget {
    match method.solver() {
        "hybrid" if method != EXACT => Budget {
            iterations: 5,
            tolerance: 0.0,
            ..Budget::default()
        },
        "bpp" => Budget {
            iterations: 50_000,
            ..Budget::default()
        },
        _ => Budget::default(),
    }
}

/// A vehicle with so many links, before its first step.
fn vehicle(links: u32, threads: usize) -> Result<Simulation> {
    let mut scene = library::shipped(SCENE)?;
    scene.set("generators.0.links", &links.to_string())?;
    Ok(scene.simulation(threads)?)
}

/// His tables.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn splitting(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let seconds = bench.either(SECONDS[0], SECONDS[1]);
    let mut runs = Vec::new();
    let most = bench.most_threads().min(2);
    let names: Vec<String> = PAPER.iter().map(|(links, _)| links.to_string()).collect();
    bench.check_only(names.iter().map(String::as_str))?;
    // A quick run takes the shortest cable, unless others are asked for.
    let few = bench.either(1, PAPER.len());
    let count = if bench.only.is_empty() {
        few
    } else {
        PAPER.len()
    };
    let lengths = PAPER[..count].iter();
    let lengths = lengths.filter(|(links, _)| bench.wants(&links.to_string()));
    for (links, [whole, two, segments, four, two_swept, swept]) in lengths {
        let settings = [
            (WHOLE, 1, *whole),
            (TWO, 1, *two),
            (SEGMENTS, 1, *segments),
            (SEGMENTS, most, *four),
            (TWO_SWEPT, 1, *two_swept),
            (SWEPT, most, *swept),
            (ASYNC, 1, *segments),
            (ASYNC, most, *four),
            (EXACT, 1, None),
            (EXACT, most, None),
            (SPARSE, 1, None),
            (AUTO, 1, None),
        ];
        for (method, threads, paper) in settings {
            bench.say(format!("{links} links, {threads} threads, {method}"));
            let mut run = Run::new(*links, method, threads, paper);
            run.drive(seconds)?;
            runs.push(run);
        }
    }
    // Over the steps that both have taken.
    let baseline = |run: &Run, method: Method| {
        let is_it = |r: &&Run| r.links == run.links && r.method == method && r.threads == 1;
        let base = runs.iter().find(is_it)?;
        let steps = base.times.len().min(run.times.len());
        let median = |run: &Run| Summary::of(&run.times[..steps]).median;
        Some(median(base) / median(run))
    };
    findings.table(
        Columns::new("splitting", format!("The tethered vehicle, {STEPS} steps or {seconds} s each"), "", &runs)
            .key("links", |r| r.links)
            .key("solver", |r| r.method)
            .key("threads", |r| r.threads)
            .column("steps", |r| r.times.len() as f64)
            .column("parts", |r| r.parts)
            .column("median solve [ms]", |r| (r.paper, Summary::of(&r.times).median))
            .column("mean [ms]", |r| Summary::of(&r.times).mean)
            .column("worst [ms]", |r| Summary::of(&r.times).max)
            .column("faster than one piece, full", |r| baseline(r, WHOLE))
            .column("than two groups, swept", |r| baseline(r, TWO_SWEPT))
            .column("than by one thread", |r| baseline(r, r.method))
            .column("than one piece, sparse", |r| baseline(r, SPARSE))
            .column("median residual [m/s]", |r| Summary::of(&r.residuals).median)
            .column("worst residual [m/s]", |r| Summary::of(&r.residuals).max)
            .column("mean distance [m/s]", |r| Summary::of(&r.distances).mean)
            .column("worst joint [mm]", |r| 1e3 * r.joint)
            .column("fastest [m/s]", |r| r.speed)
            .column("steps failed", |r| r.failed as f64)
            .notes([
                "Preparation and solution. His processor was an Athlon 64 X2 of 2.0 GHz, and his four threads ran on two \
                 cores. Couplings are five, but where they are exact, which go on to 1e-6 m/s.",
                "The distance is that of the velocities from those of the whole solution of the same step, from the same start, \
                 in every fiftieth step.",
            ]),
    );
    Ok(())
}

/// What he left for later: how many couplings lead how near to the whole solution.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn couplings(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let names = couplings::scenes().chain(large::scenes());
    bench.check_only(names)?;
    couplings::couplings(bench, findings)?;
    large::large(bench, findings)
}

impl Run {
    fn new(links: u32, method: Method, threads: usize, paper: Option<f64>) -> Self {
        Self {
            links,
            method,
            threads,
            paper,
            times: Vec::new(),
            residuals: Vec::new(),
            distances: Vec::new(),
            parts: 1.0,
            joint: 0.0,
            speed: 0.0,
            failed: 0,
        }
    }

    fn drive(&mut self, seconds: f64) -> Result<()> {
        let begin = Instant::now();
        let config = self.method.config(Budget {
            time: seconds,
            ..five(self.method)
        });
        let mut simulation = vehicle(self.links, self.threads)?;
        simulation.set_solver(config.clone())?;
        let whole = SPARSE.config(Budget {
            tolerance: 1e-12,
            ..five(SPARSE)
        });
        let contestants = [("split", config), ("whole", whole)];
        let contestants = contestants.map(|(label, config)| Contestant::new(label, config));
        let contestants: std::result::Result<Vec<Contestant>, _> =
            contestants.into_iter().collect();
        let mut contest = Contest::new(contestants?);
        for step in 1..=STEPS {
            if begin.elapsed().as_secs_f64() > seconds {
                break;
            }
            match simulation.step() {
                Ok(report) => self.take(report),
                // Another way through the same table may hold where this one does not.
                Err(_) => {
                    self.failed += 1;
                    break;
                }
            }
            let world = simulation.world();
            let speeds = world.bodies.velocity.iter().map(|v| v.linear.norm());
            self.speed = speeds.fold(self.speed, f64::max);
            if step % (STEPS / SAMPLES) == 0 {
                let reach = world.bodies.reach();
                let task = Task {
                    problem: simulation.problem().into(),
                    start: Some(simulation.warm_start()),
                    reach: &reach,
                };
                let outcomes = contest.run(&task, ONCE);
                self.distances.extend(outcomes[0].distance);
            }
        }
        Ok(())
    }

    fn take(&mut self, report: &StepReport) {
        let solve = &report.solve;
        self.times
            .push(1e3 * (solve.prepare_time + solve.solve_time));
        let residual = report.residual.as_ref().map(|r| r.residual);
        self.residuals.extend(residual);
        self.joint = self.joint.max(report.joint_error);
        self.parts = solve.statistic("parts").unwrap_or(1.0);
        self.failed += usize::from(!solve.status.is_usable());
    }
}
