//! Heaps that fall and come to rest, from many seeds: an experiment of our own, for which no paper gives figures.
//!
//! Where each body of a heap goes is chaos: how many of them roll away, and what energy is left, differ from seed to
//! seed, and with the last digits of any sum. A single run says nothing about them, and a test must not judge by them;
//! here they are counted over many. What is at rest, rolls or is in the air, [`motion`](crate::step::motion)
//! defines.

use super::measure::table::Columns;
use super::measure::{Bench, step};
use super::{Findings, Result};
use crate::measure::Summary;
use crate::problem::FrictionLaw;
use crate::scene::library;
use crate::solve::{SolverConfig, Status};
use crate::step::motion::Census;

/// A scene that makes a heap.
struct Heap {
    scene: &'static str,
    /// What says how large it is, and its values for a quick run and for a full one.
    size: (&'static str, [&'static str; 2]),
    /// What else is set.
    values: &'static [(&'static str, &'static str)],
}

/// A tower of three logs a layer that falls, and shapes that rain onto uneven ground. The turnstile stands still:
/// turning, it throws for ever what lies on it.
const HEAPS: [Heap; 2] = [
    Heap {
        scene: "log_tower",
        size: ("generators.0.layers", ["11", "33"]),
        values: &[],
    },
    Heap {
        scene: "mixed_shapes",
        size: ("generators.0.count", ["150", "1000"]),
        values: &[("bodies.3.angular_velocity", "(0, 0, 0)")],
    },
];

/// What a run from one seed has shown.
struct Run {
    scene: &'static str,
    seed: u64,
    /// At the end.
    census: Census,
    /// The largest kinetic energy of all bodies at any time (J).
    peak: f64,
    /// Deepest overlap (m).
    penetration: f64,
    steps: u32,
    /// Steps whose residual is at most the tolerance.
    solved: u32,
    /// Steps whose residual is not, and whose status says that it is.
    mistaken: u32,
    /// Largest residual (m/s).
    residual: f64,
}

/// A quantity of a run, with its unit.
type Quantity = (&'static str, fn(&Run) -> f64);

const QUANTITIES: [Quantity; 10] = [
    ("rolling", |r| r.census.rolling as f64),
    ("moving otherwise", |r| r.census.moving as f64),
    ("in the air", |r| r.census.airborne as f64),
    ("at rest", |r| r.census.rest as f64),
    ("left in the heap [J]", |r| r.census.left),
    ("left of the peak [%]", |r| 100.0 * r.census.left / r.peak),
    ("deepest overlap [mm]", |r| 1e3 * r.penetration),
    ("steps solved [%]", |r| {
        100.0 * f64::from(r.solved) / f64::from(r.steps)
    }),
    ("steps solved by their word alone", |r| {
        f64::from(r.mistaken)
    }),
    ("largest residual [m/s]", |r| r.residual),
];

/// A quantity over the seeds.
struct Spread {
    scene: &'static str,
    quantity: &'static str,
    over: Summary,
    min: f64,
}

/// Heaps from many seeds, by default solver and law of friction: what moves at the end, and how well steps were solved.
///
/// # Errors
/// A scene that cannot be used, or a step that was not taken.
pub fn heaps(bench: &Bench, findings: &mut Findings) -> Result<()> {
    bench.check_only(HEAPS.iter().map(|heap| heap.scene))?;
    let heaps = || HEAPS.iter().filter(|heap| bench.wants(heap.scene));
    let seeds = bench.either(3, 20);
    let mut runs = Vec::new();
    for heap in heaps() {
        for seed in 1..=seeds {
            bench.say(format!("{}, seed {seed} of {seeds}", heap.scene));
            runs.push(run(bench, heap, seed)?);
        }
    }
    let mut spreads = Vec::new();
    for heap in heaps() {
        for (quantity, of) in QUANTITIES {
            let own = runs.iter().filter(|r| r.scene == heap.scene);
            let values: Vec<f64> = own.map(of).collect();
            spreads.push(Spread {
                scene: heap.scene,
                quantity,
                over: Summary::of(&values),
                min: values.iter().copied().fold(f64::INFINITY, f64::min),
            });
        }
    }
    let seconds = seconds(bench);
    let title = format!("Heaps after {seconds} s, over {seeds} seeds");
    findings.table(
        Columns::new("heaps", title, "", &spreads)
            .key("scene", |s| s.scene)
            .key("", |s| s.quantity)
            .column("mean", |s| s.over.mean)
            .column("median", |s| s.over.median)
            .column("least", |s| s.min)
            .column("most", |s| s.over.max)
            .notes([
                "At rest is what has at most the energy of a fall from 1e-5 of its bounding radius; rolling is what \
                 moves and is carried by fixed bodies alone. What is left in the heap is the kinetic energy of all \
                 that neither rolls nor is in the air; the peak is the largest kinetic energy of all bodies.",
                "A step is solved whose residual is at most the tolerance of 1e-6 m/s; by its word alone, whose \
                 residual is above it though the solver's status says that it has converged.",
            ]),
    );
    let mut each = Columns::new("heaps-seeds", "The same, seed by seed", "", &runs)
        .key("scene", |r| r.scene)
        .key("seed", |r| r.seed);
    for (quantity, of) in QUANTITIES {
        each = each.column(quantity, of);
    }
    findings.table(each);
    Ok(())
}

/// How long heaps fall and rest (s).
fn seconds(bench: &Bench) -> u32 {
    bench.either(10, 30)
}

/// A heap from one seed.
fn run(bench: &Bench, heap: &Heap, seed: u64) -> Result<Run> {
    let (path, [quick, full]) = heap.size;
    let mut scene = library::shipped(heap.scene)?;
    scene.set_all(heap.values)?;
    scene.set(path, bench.either(quick, full))?;
    scene.set("generators.0.seed", &seed.to_string())?;
    scene.solver = SolverConfig::default();
    scene.settings.friction_law = FrictionLaw::default();
    let tolerance = scene.solver.budget.tolerance;
    let mut simulation = scene.simulation(bench.most_threads())?;
    let mut run = Run {
        scene: heap.scene,
        seed,
        census: Census::default(),
        peak: 0.0,
        penetration: 0.0,
        steps: (f64::from(seconds(bench)) / scene.settings.step).round() as u32,
        solved: 0,
        mistaken: 0,
        residual: 0.0,
    };
    for _ in 0..run.steps {
        let report = step(&mut simulation, heap.scene)?;
        let residual = report.residual.map_or(f64::INFINITY, |r| r.residual);
        if residual <= tolerance {
            run.solved += 1;
        } else if report.solve.status == Status::Converged {
            run.mistaken += 1;
        }
        run.residual = run.residual.max(residual);
        run.penetration = run.penetration.max(report.penetration);
        let kinetic = simulation.world().bodies.kinetic_energy();
        run.peak = run.peak.max(kinetic);
    }
    run.census = Census::of(&simulation);
    Ok(run)
}
