//! Nützi 2011: sampled contact problems of 3,000 spheres that fall into a box.
//!
//! His solvers multiply with a dense T on a GPU; ours sweep factorized on the processor. What can be
//! compared are iterations, and how the time of an iteration grows with the contacts.

use super::measure::method::{
    COLORED_F32, COLORED_F64, GAUSS_SEIDEL, GAUSS_SEIDEL_BLOCK, JACOBI_DEGREE, JOR, Method, NNCG,
};
use super::measure::race::{self, Timing};
use super::measure::table::Columns;
use super::measure::{Bench, step};
use super::{Findings, Result};
use crate::measure::Summary;
use crate::measure::plot::{Axis, Mark, Plot};
use crate::problem::Problem;
use crate::scene::library;
use crate::solve::{Budget, Status, ToleranceNorm};

const SCENE: &str = "sphere_box_3000";
/// When samples are taken (s): from the first contacts to the end of figure 6.5.
const SAMPLED: [f64; 2] = [0.2, 0.6];
/// Iterations in the timings.
const ITERATIONS: u32 = 50;

/// Both tolerances of 4.50 (the absolute one in N s) (6.2).
const TOLERANCE: f64 = 1e-7;
/// Iterations after which his reference simulation gives up (6.2).
const MOST_ITERATIONS: u32 = 5000;
/// JOR iterations over full SOR iterations (6.2): "twice and more".
const JOR_ITERATIONS: f64 = 2.0;
/// Time of a full SOR iteration over a JOR iteration on the GPU (6.1.2): "twice as slow".
const SOR_COST: f64 = 2.0;
/// Bandwidth that his matrix–vector product reaches on a GTX 580 (bytes/s) (6.1.1).
const BANDWIDTH: f64 = 170e9;
/// Largest speed-up of his JOR over one sequential core (6.1.1): "10–16".
const SPEEDUP: [f64; 2] = [10.0, 16.0];
/// Speed-up that six threads gave the sequential product (6.1.1).
const THREADS: f64 = 1.5;
/// Contacts from which fewer than 50 JOR iterations pay for going to the GPU (6.1.1).
const TRADE_OFF: f64 = 200.0;
/// Double over single precision, time of a JOR iteration (6.1.1).
const PRECISION: f64 = 2.0;

/// Nützi's full SOR in diagonal blocks of so many contacts.
const BLOCK_SOR: [Method; 2] = [
    Method::new("block-sor, 32 contacts: block-sor size=32"),
    Method::new("block-sor, 64 contacts: block-sor size=64"),
];
/// His relaxed SOR: so many contacts projected together.
const RELAXED_SOR: [Method; 5] = [
    Method::new("relaxed-sor, 2 contacts: relaxed-sor size=2"),
    Method::new("relaxed-sor, 4 contacts: relaxed-sor size=4"),
    Method::new("relaxed-sor, 16 contacts: relaxed-sor size=16"),
    Method::new("relaxed-sor, 32 contacts: relaxed-sor size=32"),
    Method::new("relaxed-sor, 128 contacts: relaxed-sor size=128"),
];

/// Figures 6.1 to 6.3.
const TIMED: [Method; 6] = [
    JOR,
    GAUSS_SEIDEL,
    BLOCK_SOR[0],
    RELAXED_SOR[4],
    COLORED_F64,
    COLORED_F32,
];
/// Figure 6.6, full SOR first.
const SOLVED: [Method; 8] = [
    GAUSS_SEIDEL,
    JOR,
    BLOCK_SOR[0],
    RELAXED_SOR[3],
    JACOBI_DEGREE,
    GAUSS_SEIDEL_BLOCK,
    COLORED_F64,
    NNCG,
];
/// Table 6.1.
const GROUPED: [Method; 8] = [
    GAUSS_SEIDEL,
    BLOCK_SOR[0],
    BLOCK_SOR[1],
    RELAXED_SOR[0],
    RELAXED_SOR[1],
    RELAXED_SOR[2],
    RELAXED_SOR[4],
    JOR,
];

/// Spheres in a box: figures 6.1 to 6.6.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn spheres(bench: &Bench, findings: &mut Findings) -> Result<()> {
    bench.check_only([SCENE])?;
    let samples = sample(bench)?;
    iteration_times(bench, findings, &samples)?;
    to_tolerance(bench, findings, &samples)?;
    group_sizes(bench, findings, &samples)
}

/// Contact problems of a simulation, in the order of their contacts.
fn sample(bench: &Bench) -> Result<Vec<Problem>> {
    let scene = library::shipped(SCENE)?;
    let length = scene.settings.step;
    let count = bench.either(6, 40);
    let mut simulation = scene.simulation(bench.most_threads())?;
    let mut samples: Vec<Problem> = Vec::new();
    while samples.len() < count {
        let share = (samples.len() + 1) as f64 / count as f64;
        let due = SAMPLED[0] + share * (SAMPLED[1] - SAMPLED[0]);
        while simulation.world().time < due - 0.5 * length {
            let time = simulation.world().time;
            bench.say(format!("{SCENE}: simulating, {time:.3} s"));
            step(&mut simulation, SCENE)?;
        }
        samples.push(simulation.problem().clone());
    }
    samples.sort_by_key(|p| p.contacts.len());
    Ok(samples)
}

/// The contacts of a sample, and what all methods took on it.
type Raced = (usize, Vec<Timing>);

/// Figures 6.1 to 6.3: the time of one iteration by the number of contacts.
fn iteration_times(bench: &Bench, findings: &mut Findings, samples: &[Problem]) -> Result<()> {
    let most = bench.most_threads();
    let mut threads = vec![1, most];
    threads.dedup();
    // From the fewest contacts to the most.
    let count = bench.either(3, 10).min(samples.len());
    let chosen = (0..count).map(|k| &samples[k * (samples.len() - 1) / (count - 1).max(1)]);
    let mut raced: Vec<Raced> = Vec::new();
    for problem in chosen {
        let methods = TIMED.map(|m| (m, ITERATIONS));
        let rounds = bench.either((5, 0.5), (9, 3.0));
        let timings = bench.race(problem, &methods, &threads, rounds)?;
        raced.push((problem.contacts.len(), timings));
    }
    times_beside(findings, &raced, most);
    observations(findings, &raced, most);

    let mut plot = Plot::new(
        "Time of one iteration by contacts: spheres in a box",
        Axis::Log("contacts"),
        Axis::Log("time of one iteration [ms]"),
    );
    for method in TIMED {
        let line = raced.iter().filter_map(|(contacts, timings)| {
            Some([*contacts as f64, 1e3 * race::sweep(timings, method, most)?])
        });
        plot.add(method, line, Mark::Line);
    }
    for (name, cost) in [
        ("dense T at 170 GB/s, JOR", 1.0),
        ("dense T at 170 GB/s, full SOR", SOR_COST),
    ] {
        let contacts = raced.iter().map(|r| r.0);
        let line = contacts.map(|n| [n as f64, 1e3 * cost * dense_iteration(n)]);
        plot.add(name, line, Mark::Reference);
    }
    findings.plot("sphere_box-iteration", plot);
    Ok(())
}

/// What one iteration with a dense T in f64 takes at the bandwidth that Nützi reaches (s).
fn dense_iteration(contacts: usize) -> f64 {
    let rows = 3.0 * contacts as f64;
    8.0 * rows * rows / BANDWIDTH
}

fn times_beside(findings: &mut Findings, raced: &[Raced], threads: usize) {
    let each = TIMED
        .into_iter()
        .flat_map(|m| raced.iter().map(move |r| (m, r)));
    let rows: Vec<_> = each
        .filter_map(|(method, r)| {
            // Only the methods that are his have a number of his.
            let cost = match method.solver() {
                "jacobi" => Some(1.0),
                "gauss-seidel" | "block-sor" => Some(SOR_COST),
                _ => None,
            };
            let there = cost.map(|c| 1e3 * c * dense_iteration(r.0));
            let here = 1e3 * race::sweep(&r.1, method, threads)?;
            Some((method, r.0, (there, here)))
        })
        .collect();
    let title = format!("Time of one iteration by contacts, threads: {threads}");
    findings.table(
        Columns::new("nuetzi-6.1", title, "Nützi 2011, figure 6.1", &rows)
            .key("method", |(method, ..)| method)
            .key("contacts", |(_, contacts, _)| contacts)
            .column("iteration [ms]", |(.., time)| *time)
            .note(
                "The text gives no times: there stands what a dense T in f64 takes at the 170 GB/s that it gives for a \
                 GTX 580, and twice that for full SOR, as it says. His memory ends at 4,300 to 4,500 contacts.",
            ),
    );
}

/// What the text says about figures 6.1 to 6.3 in numbers.
fn observations(findings: &mut Findings, raced: &[Raced], threads: usize) {
    let Some(last) = raced.last() else {
        return;
    };
    let ratio = |above, at, below, of| {
        Some(race::sweep(&last.1, above, at)? / race::sweep(&last.1, below, of)?)
    };
    // The first size from which many threads are faster, and stay so.
    let wins = |(_, timings): &Raced| {
        let [one, many] = [1, threads].map(|n| race::sweep(timings, JOR, n));
        one.zip(many).is_some_and(|(one, many)| many < one)
    };
    let losing = raced.iter().rposition(|r| !wins(r));
    let pays = raced
        .get(losing.map_or(0, |k| k + 1))
        .filter(|_| threads > 1);
    let mut rows = vec![
        (
            "full SOR iteration over JOR iteration",
            SOR_COST,
            ratio(GAUSS_SEIDEL, threads, JOR, threads),
            format!("{} contacts, threads: {threads}; GPU there", last.0),
        ),
        (
            "JOR iteration, 1 thread over many",
            THREADS,
            ratio(JOR, 1, JOR, threads),
            format!("6 threads there, {threads} here"),
        ),
        (
            "iteration in f64 over f32",
            PRECISION,
            ratio(COLORED_F64, threads, COLORED_F32, threads),
            "JOR on a GPU there, colored-gs here".to_owned(),
        ),
        (
            "contacts from which JOR pays in parallel",
            TRADE_OFF,
            pays.map(|r| r.0 as f64),
            "50 iterations; GPU with its transfers there, threads here".to_owned(),
        ),
    ];
    rows.retain(|(_, _, here, _)| here.is_some());
    let [low, high] = SPEEDUP;
    let title = "What the text says of figures 6.1 to 6.3";
    findings.table(
        Columns::new("nuetzi-6.1-6.3", title, "Nützi 2011, 6.1", &rows)
            .key("observation", |(name, ..)| name)
            .column("value", |(_, there, here, _)| (*there, *here))
            .remark(|(.., remark)| remark)
            .note(format!(
                "His GPU is {low} to {high} times as fast as one core with a dense T; there is no GPU in this suite."
            )),
    );
}

/// One method on all samples: their contacts, and iterations and time (ms) where it converged.
struct Course {
    method: Method,
    points: Vec<(f64, Option<[f64; 2]>)>,
    failed: usize,
}

const ITERATIONS_TAKEN: usize = 0;
const TIME: usize = 1;

impl Course {
    /// Of the samples that were solved.
    fn values(&self, k: usize) -> impl Iterator<Item = [f64; 2]> {
        let points = self.points.iter();
        points.filter_map(move |(contacts, solved)| Some([*contacts, (*solved)?[k]]))
    }

    fn summary(&self, k: usize) -> Option<Summary> {
        Summary::some(self.values(k).map(|[_, value]| value))
    }

    /// Median of the ratios to another method, over the samples that both solved.
    fn over(&self, other: &Course, k: usize) -> Option<f64> {
        let both = self.points.iter().zip(&other.points);
        let ratios = both.filter_map(|(a, b)| Some(a.1?[k] / b.1?[k]));
        Summary::some(ratios.filter(|r| r.is_finite())).map(|s| s.median)
    }
}

/// Figure 6.6: iterations and time to the tolerance.
fn to_tolerance(bench: &Bench, findings: &mut Findings, samples: &[Problem]) -> Result<()> {
    let mut courses = Vec::new();
    for method in SOLVED {
        let mut course = Course {
            method,
            points: Vec::new(),
            failed: 0,
        };
        for problem in samples {
            let contacts = problem.contacts.len();
            bench.say(format!("{method} on {contacts} contacts"));
            let report = bench.solve(problem, method, budget(bench), false)?.report;
            course.failed += usize::from(!report.status.is_usable());
            let taken = [f64::from(report.iterations), 1e3 * report.solve_time];
            let done = report.status == Status::Converged;
            course.points.push((contacts as f64, done.then_some(taken)));
        }
        courses.push(course);
    }
    let title = format!(
        "To a tolerance of 1e-7 (4.50): {} sampled problems, threads: {}",
        samples.len(),
        bench.most_threads()
    );
    findings.table(
        Columns::new("nuetzi-6.6", title, "Nützi 2011, figure 6.6", &courses)
            .key("method", |c| c.method)
            .column("iterations, median", |c| c.summary(ITERATIONS_TAKEN).map(|s| s.median))
            .column("iterations, most", |c| c.summary(ITERATIONS_TAKEN).map(|s| s.max))
            .column("iterations over full SOR", |c| {
                let there = (c.method == JOR).then_some(JOR_ITERATIONS);
                (there, c.over(&courses[0], ITERATIONS_TAKEN))
            })
            .column("time, median [ms]", |c| c.summary(TIME).map(|s| s.median))
            .column("time over full SOR", |c| c.over(&courses[0], TIME))
            .column("converged [%]", |c| 100.0 * c.values(TIME).count() as f64 / samples.len() as f64)
            .remark(|c| match c.failed {
                0 => String::new(),
                n => format!("diverged: {n}"),
            })
            .note(format!(
                "Full SOR is gauss-seidel with α = 1, JOR has α = 0.35; {} iterations at most, from Λ = 0, every \
                 island by itself. His JOR needs \"much more (twice and more) iterations\", and his full SOR was always the \
                 faster one.",
                budget(bench).iterations
            )),
    );
    for (k, name, what, axis) in [
        (ITERATIONS_TAKEN, "iterations", "Iterations", "iterations"),
        (TIME, "time", "Time", "time [ms]"),
    ] {
        let title = format!("{what} to 1e-7: spheres in a box");
        let mut plot = Plot::new(title, Axis::Linear("contacts"), Axis::Log(axis));
        for course in &courses {
            plot.add(course.method, course.values(k), Mark::Points);
        }
        findings.plot(format!("sphere_box-{name}"), plot);
    }
    Ok(())
}

/// Table 6.1's groups: what the number of contacts that are treated together costs.
fn group_sizes(bench: &Bench, findings: &mut Findings, samples: &[Problem]) -> Result<()> {
    let Some(problem) = samples.last() else {
        return Ok(());
    };
    let threads = bench.most_threads();
    let methods = GROUPED.map(|m| (m, ITERATIONS));
    let rounds = bench.either((3, 0.5), (9, 5.0));
    let mut rows = Vec::new();
    for timing in bench.race(problem, &methods, &[threads], rounds)? {
        let report = bench
            .solve(problem, timing.method, budget(bench), false)?
            .report;
        let done = report.status == Status::Converged;
        rows.push((timing, done.then_some(f64::from(report.iterations))));
    }
    let timed = |t: &Timing, time: f64| t.failure().is_none().then_some(1e3 * time);
    let contacts = problem.contacts.len();
    let title = format!("Groups as in Nützi's table 6.1: {contacts} contacts, threads: {threads}");
    findings.table(
        Columns::new("nuetzi-groups", title, "", &rows)
            .key("method", |(t, _)| t.method)
            .column("iteration [ms]", |(t, _)| timed(t, t.per_iteration()))
            .column("prepare [ms]", |(t, _)| timed(t, t.prepare))
            .column("iterations to 1e-7", |(_, iterations)| *iterations)
            .remark(|(t, _)| t.failure().unwrap_or_default())
            .note(
                "Figure 6.4 splits the steps A and B within a GPU kernel; that has no counterpart here.",
            ),
    );
    Ok(())
}

/// Nützi's termination, 4.50; a quick run gives up sooner than his reference simulation.
fn budget(bench: &Bench) -> Budget {
    Budget {
        iterations: bench.either(2000, MOST_ITERATIONS),
        tolerance: 0.0,
        absolute: TOLERANCE,
        relative: TOLERANCE,
        norm: ToleranceNorm::Euclidean,
        time: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_can_be_made() {
        for method in TIMED.into_iter().chain(SOLVED).chain(GROUPED) {
            let built = method.config(Budget::default()).build();
            assert!(built.is_ok(), "{}: {:?}", method, built.err());
        }
    }
}
