//! `moreau bench spheres`: Nützi's sampled contact problems of 3,000 spheres that fall into a box.
//!
//! His solvers multiply with a dense T on a GPU; ours sweep factorized on the processor. What can be
//! compared are iterations, and how the time of an iteration grows with the contacts.

use moreau::measure::Summary;
use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};
use moreau::problem::Problem;
use moreau::scene::library;
use moreau::solve::{Budget, Status, ToleranceNorm};

use super::measure::{Bench, Job, Timing};
use super::methods::{self, Method};
use super::{Failure, Findings, paper};

const SCENE: &str = "sphere_box_3000";
/// When samples are taken (s): from the first contacts to the end of Nützi's figure 6.5.
const SAMPLED: [f64; 2] = [0.2, 0.6];
/// Iterations in the timings.
const ITERATIONS: u32 = 50;

/// Runs the suite.
pub fn run(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    let samples = sample(bench)?;
    iteration_times(bench, findings, &samples)?;
    to_tolerance(bench, findings, &samples)?;
    group_sizes(bench, findings, &samples)
}

/// Contact problems of a simulation, in the order of their contacts.
fn sample(bench: &Bench) -> Result<Vec<Problem>, Failure> {
    let scene = library::shipped(SCENE)?;
    let step = scene.settings.step;
    let count = bench.either(6, 40);
    let mut simulation = scene.simulation(bench.most_threads())?;
    let mut samples: Vec<Problem> = Vec::new();
    while samples.len() < count {
        let share = (samples.len() + 1) as f64 / count as f64;
        let due = SAMPLED[0] + share * (SAMPLED[1] - SAMPLED[0]);
        while simulation.world().time < due - 0.5 * step {
            let time = simulation.world().time;
            bench.say(format!("{SCENE}: simulating, {time:.3} s"));
            let failed = simulation.step().err();
            if let Some(error) = failed {
                return Err(Failure::Work(format!("{SCENE}: {error}")));
            }
        }
        samples.push(simulation.problem().clone());
    }
    samples.sort_by_key(|p| p.contacts.len());
    Ok(samples)
}

/// Figures 6.1 to 6.3: the time of one iteration by the number of contacts.
fn iteration_times(
    bench: &mut Bench,
    findings: &mut Findings,
    samples: &[Problem],
) -> Result<(), Failure> {
    let list = bench.offer([
        methods::jor(),
        methods::gauss_seidel(),
        methods::block_sor("block-sor, 32 contacts", 32),
        methods::relaxed_sor("relaxed-sor, 128 contacts", 128),
        methods::colored_f64(),
        methods::colored_f32(),
    ]);
    let most = bench.most_threads();
    let mut threads = vec![1, most];
    threads.dedup();
    // From the fewest contacts to the most.
    let count = bench.either(3, 10).min(samples.len());
    let chosen = (0..count).map(|k| &samples[k * (samples.len() - 1) / (count - 1).max(1)]);
    let mut found: Vec<(usize, Vec<Timing>)> = Vec::new();
    let (rounds, seconds) = bench.either((5, 0.5), (9, 3.0));
    for problem in chosen {
        let jobs: Vec<Job> = list
            .iter()
            .flat_map(|method| {
                threads.iter().map(|threads| Job {
                    method: method.clone(),
                    threads: *threads,
                    iterations: ITERATIONS,
                })
            })
            .collect();
        let timings = bench.race(problem, &jobs, rounds, seconds)?;
        found.push((problem.contacts.len(), timings));
    }
    findings.table(times_beside(&list, &found, most));
    findings.table(observations(&list, &found, most));

    let mut plot = Plot {
        title: "Time of one iteration by contacts: spheres in a box".into(),
        x: Axis::log("contacts", "-"),
        y: Axis::log("time of one iteration", "ms"),
        ..Plot::default()
    };
    for method in &list {
        let line = found.iter().filter_map(|(contacts, timings)| {
            let sweep = sweep(timings, method, most)?;
            Some([*contacts as f64, 1e3 * sweep])
        });
        plot.add(method.label, line.collect(), Mark::Line);
    }
    for (name, cost) in [
        ("dense T at 170 GB/s, JOR", 1.0),
        ("dense T at 170 GB/s, full SOR", paper::NUETZI_SOR_COST),
    ] {
        let line = found
            .iter()
            .map(|(n, _)| [*n as f64, 1e3 * cost * dense_iteration(*n)]);
        plot.add(name, line.collect(), Mark::Reference);
    }
    findings.plot("sphere_box-iteration", plot);
    Ok(())
}

/// What one iteration with a dense T in f64 takes at the bandwidth that Nützi reaches (s).
fn dense_iteration(contacts: usize) -> f64 {
    let rows = 3.0 * contacts as f64;
    8.0 * rows * rows / paper::NUETZI_BANDWIDTH
}

fn sweep(timings: &[Timing], method: &Method, threads: usize) -> Option<f64> {
    let same = |t: &&Timing| t.job.method == *method && t.job.threads == threads;
    let timing = timings.iter().find(same)?;
    timing.failure.is_empty().then(|| timing.per_iteration())
}

fn times_beside(list: &[Method], found: &[(usize, Vec<Timing>)], threads: usize) -> Table {
    let keys = ["method", "contacts"];
    let mut table = Table::new("nuetzi-6.1", Layout::Beside, &keys, &[("iteration", "ms")]).titled(
        format!("Time of one iteration by contacts, threads: {threads}"),
        "Nützi 2011, figure 6.1",
    );
    for method in list {
        // Only the methods that are his have a number of his.
        let cost = match method.solver {
            "jacobi" => Some(1.0),
            "gauss-seidel" | "block-sor" => Some(paper::NUETZI_SOR_COST),
            _ => None,
        };
        for (contacts, timings) in found {
            if let Some(here) = sweep(timings, method, threads) {
                let paper = cost.map(|c| 1e3 * c * dense_iteration(*contacts));
                let pair = Pair {
                    paper,
                    here: Some(1e3 * here),
                };
                table.row([method.label, &contacts.to_string()], [pair], "");
            }
        }
    }
    table.notes.push(
        "The text gives no times: there stands what a dense T in f64 takes at the 170 GB/s that it gives for a GTX 580, \
         and twice that for full SOR, as it says. His memory ends at 4,300 to 4,500 contacts."
            .to_owned(),
    );
    table
}

/// What the text says about figures 6.1 to 6.3 in numbers.
fn observations(list: &[Method], found: &[(usize, Vec<Timing>)], threads: usize) -> Table {
    let id = "nuetzi-6.1-6.3";
    let mut table = Table::new(id, Layout::Beside, &["observation"], &[("value", "-")]).titled(
        "What the text says of figures 6.1 to 6.3",
        "Nützi 2011, 6.1",
    );
    let Some((contacts, last)) = found.last() else {
        return table;
    };
    let ratio = |above: &Method, at: usize, below: &Method, of: usize| {
        Some(sweep(last, above, at)? / sweep(last, below, of)?)
    };
    let has = |m: Method| list.contains(&m).then_some(m);
    let (jor, sor) = (methods::jor(), methods::gauss_seidel());
    let mut add = |name: &str, paper: f64, here: Option<f64>, remark: String| {
        if let Some(here) = here {
            table.row([name], [Pair::both(paper, here)], remark);
        }
    };
    add(
        "full SOR iteration over JOR iteration",
        paper::NUETZI_SOR_COST,
        ratio(&sor, threads, &jor, threads),
        format!("{contacts} contacts, threads: {threads}; GPU there"),
    );
    add(
        "JOR iteration, 1 thread over many",
        paper::NUETZI_THREADS,
        ratio(&jor, 1, &jor, threads),
        format!("6 threads there, {threads} here"),
    );
    if let (Some(double), Some(single)) = (has(methods::colored_f64()), has(methods::colored_f32()))
    {
        add(
            "iteration in f64 over f32",
            paper::NUETZI_PRECISION,
            ratio(&double, threads, &single, threads),
            "JOR on a GPU there, colored-gs here".to_owned(),
        );
    }
    // The first size from which many threads are faster, and stay so.
    let wins = |timings: &[Timing]| {
        let (one, many) = (sweep(timings, &jor, 1), sweep(timings, &jor, threads));
        matches!((one, many), (Some(one), Some(many)) if many < one)
    };
    let losing = found.iter().rposition(|(_, timings)| !wins(timings));
    let from = losing.map_or(0, |k| k + 1);
    if let Some((contacts, _)) = found.get(from).filter(|_| threads > 1) {
        add(
            "contacts from which JOR pays in parallel",
            paper::NUETZI_TRADE_OFF,
            Some(*contacts as f64),
            "50 iterations; GPU with its transfers there, threads here".to_owned(),
        );
    }
    let [low, high] = paper::NUETZI_SPEEDUP;
    table.notes.push(format!(
        "His GPU is {low} to {high} times as fast as one core with a dense T; there is no GPU in this suite."
    ));
    table
}

/// One method on one sample.
struct Point {
    contacts: f64,
    /// `None` when it did not converge.
    iterations: Option<f64>,
    /// Time of the iterations (ms); `None` as well.
    time: Option<f64>,
}

/// What a plot or a ratio is made of.
type Take = fn(&Point) -> Option<f64>;

/// One method on all samples.
struct Course {
    method: Method,
    points: Vec<Point>,
    failed: usize,
}

impl Course {
    /// A value over all samples that have one.
    fn summary(&self, take: Take) -> Option<Summary> {
        let values: Vec<f64> = self.points.iter().filter_map(take).collect();
        (!values.is_empty()).then(|| Summary::of(&values))
    }

    /// Median of the ratios to another method, over the samples that both solved.
    fn over(&self, other: &Course, take: Take) -> Option<f64> {
        let both = self.points.iter().zip(&other.points);
        let ratios: Vec<f64> = both
            .filter_map(|(a, b)| Some(take(a)? / take(b)?))
            .filter(|r| r.is_finite())
            .collect();
        (!ratios.is_empty()).then(|| Summary::of(&ratios).median)
    }
}

/// Figure 6.6: iterations and time to the tolerance.
fn to_tolerance(
    bench: &mut Bench,
    findings: &mut Findings,
    samples: &[Problem],
) -> Result<(), Failure> {
    let list = bench.offer([
        methods::gauss_seidel(),
        methods::jor(),
        methods::block_sor("block-sor, 32 contacts", 32),
        methods::relaxed_sor("relaxed-sor, 32 contacts", 32),
        methods::jacobi_degree(),
        methods::gauss_seidel_block(),
        methods::colored_f64(),
        methods::nncg(),
    ]);
    let mut courses = Vec::new();
    for method in list {
        let mut course = Course {
            method,
            points: Vec::new(),
            failed: 0,
        };
        for problem in samples {
            let contacts = problem.contacts.len();
            bench.say(format!("{} on {contacts} contacts", course.method.label));
            let solved = bench.solve(problem, &course.method, tolerance(bench), false)?;
            let report = solved.report;
            let done = report.status == Status::Converged;
            if matches!(report.status, Status::Failed(_)) {
                course.failed += 1;
            }
            course.points.push(Point {
                contacts: contacts as f64,
                iterations: done.then_some(f64::from(report.iterations)),
                time: done.then_some(1e3 * report.solve_time),
            });
        }
        courses.push(course);
    }

    let quantities = [
        ("iterations, median", "-"),
        ("iterations, most", "-"),
        ("iterations over full SOR", "-"),
        ("time, median", "ms"),
        ("time over full SOR", "-"),
        ("converged", "%"),
    ];
    let mut table = Table::new("nuetzi-6.6", Layout::Beside, &["method"], &quantities).titled(
        format!(
            "To a tolerance of 1e-7 (4.50): {} sampled problems, threads: {}",
            samples.len(),
            bench.most_threads()
        ),
        "Nützi 2011, figure 6.6",
    );
    for course in &courses {
        let iterations = course.summary(|p| p.iterations);
        let solved = course.points.iter().filter(|p| p.time.is_some()).count();
        let there = (course.method == methods::jor()).then_some(paper::NUETZI_JOR_ITERATIONS);
        let remark = match course.failed {
            0 => String::new(),
            n => format!("diverged: {n}"),
        };
        table.row(
            [course.method.label],
            [
                iterations.map(|s| s.median).into(),
                iterations.map(|s| s.max).into(),
                Pair {
                    paper: there,
                    here: course.over(&courses[0], |p| p.iterations),
                },
                course.summary(|p| p.time).map(|s| s.median).into(),
                course.over(&courses[0], |p| p.time).into(),
                (100.0 * solved as f64 / samples.len().max(1) as f64).into(),
            ],
            remark,
        );
    }
    table.notes.push(format!(
        "Full SOR is gauss-seidel with α = 1, JOR has α = 0.35; {} iterations at most, from Λ = 0, every island by itself. \
         His JOR needs \"much more (twice and more) iterations\", and his full SOR was always the faster one.",
        most_iterations(bench)
    ));
    findings.table(table);

    let plots: [(&str, &str, Axis, Take); 2] = [
        (
            "iterations",
            "Iterations to 1e-7: spheres in a box",
            Axis::log("iterations", "-"),
            |p| p.iterations,
        ),
        (
            "time",
            "Time to 1e-7: spheres in a box",
            Axis::log("time", "ms"),
            |p| p.time,
        ),
    ];
    for (name, title, y, value) in plots {
        let mut plot = Plot {
            title: title.into(),
            x: Axis::linear("contacts", "-"),
            y,
            ..Plot::default()
        };
        for course in &courses {
            let points = course.points.iter();
            let points = points.filter_map(|p| Some([p.contacts, value(p)?]));
            plot.add(course.method.label, points.collect(), Mark::Points);
        }
        findings.plot(format!("sphere_box-{name}"), plot);
    }
    Ok(())
}

/// Table 6.1's groups: what the number of contacts that are treated together costs.
fn group_sizes(
    bench: &mut Bench,
    findings: &mut Findings,
    samples: &[Problem],
) -> Result<(), Failure> {
    let list = bench.offer([
        methods::gauss_seidel(),
        methods::block_sor("block-sor, 32 contacts", 32),
        methods::block_sor("block-sor, 64 contacts", 64),
        methods::relaxed_sor("relaxed-sor, 2 contacts", 2),
        methods::relaxed_sor("relaxed-sor, 4 contacts", 4),
        methods::relaxed_sor("relaxed-sor, 16 contacts", 16),
        methods::relaxed_sor("relaxed-sor, 128 contacts", 128),
        methods::jor(),
    ]);
    let Some(problem) = samples.last() else {
        return Ok(());
    };
    let threads = bench.most_threads();
    let job = |method: &Method| Job {
        method: method.clone(),
        threads,
        iterations: ITERATIONS,
    };
    let jobs: Vec<Job> = list.iter().map(job).collect();
    let (rounds, seconds) = bench.either((3, 0.5), (9, 5.0));
    let timings = bench.race(problem, &jobs, rounds, seconds)?;
    let quantities = [
        ("iteration", "ms"),
        ("prepare", "ms"),
        ("iterations to 1e-7", "-"),
    ];
    let mut table = Table::new("nuetzi-groups", Layout::Columns, &["method"], &quantities).titled(
        format!(
            "Groups as in Nützi's table 6.1: {} contacts, threads: {threads}",
            problem.contacts.len()
        ),
        "",
    );
    for (method, timing) in list.iter().zip(timings) {
        let report = bench
            .solve(problem, method, tolerance(bench), false)?
            .report;
        let iterations = (report.status == Status::Converged).then(|| f64::from(report.iterations));
        let failed = !timing.failure.is_empty();
        let timed = |v: f64| -> Pair { (!failed).then_some(v).into() };
        table.row(
            [method.label],
            [
                timed(1e3 * timing.per_iteration()),
                timed(1e3 * timing.prepare),
                iterations.into(),
            ],
            timing.failure,
        );
    }
    table.notes.push(
        "Figure 6.4 splits the steps A and B within a GPU kernel; that has no counterpart here."
            .to_owned(),
    );
    findings.table(table);
    Ok(())
}

/// Nützi's termination, 4.50; a quick run gives up sooner than his 5,000 iterations.
fn tolerance(bench: &Bench) -> Budget {
    Budget {
        iterations: most_iterations(bench),
        tolerance: 0.0,
        absolute: paper::NUETZI_TOLERANCE,
        relative: paper::NUETZI_TOLERANCE,
        norm: ToleranceNorm::Euclidean,
        time: 0.0,
    }
}

fn most_iterations(bench: &Bench) -> u32 {
    bench.either(2000, paper::NUETZI_MOST)
}
