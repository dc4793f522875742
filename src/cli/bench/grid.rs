//! `moreau bench grid`: Poulsen's ball grids.

use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};

use super::measure::{Bench, Job};
use super::poulsen::{self, ITERATIONS, Plan, Quality, Result as OnDemo};
use super::{Failure, Findings, methods, paper};

const PLAN: Plan = Plan {
    tables: "grids",
    quality: Quality::FiftySweeps,
    demos: &paper::BALL_GRIDS,
    compared: "ball_grid_24",
    schemes: &paper::MEDIUM_GRID,
    colors: &paper::MEDIUM_GRID_COLORS,
};

/// Runs the suite.
pub fn run(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    let results = poulsen::run(bench, findings, &PLAN)?;
    if let Some(large) = results.last() {
        findings.table(against_the_thesis(bench, large));
        findings.table(ratios(bench, large));
    }
    findings.plot("ball_grid-contacts", by_size(bench, &results));
    naive(bench, findings)?;
    weak(bench, findings)
}

/// Our sweeps beside the thesis's sequential Gauss–Seidel and its best parallel Jacobi.
fn against_the_thesis(bench: &Bench, large: &OnDemo) -> Table {
    let quantities = [
        ("sweep, beside sequential Gauss–Seidel", "ms"),
        ("sweep, beside the best parallel Jacobi (8 cores)", "ms"),
    ];
    let keys = ["method", "threads"];
    let mut table = Table::new("poulsen-sweep", Layout::Beside, &keys, &quantities).titled(
        format!("One sweep: {}", large.demo.name),
        "Poulsen 2010, tables 3.3 and 6.3",
    );
    let (sequential, parallel) = (
        1e3 * large.demo.gauss_seidel_sweep(),
        1e3 * large.demo.parallel_sweep(),
    );
    for c in &large.contenders {
        for &threads in &bench.threads {
            if let Some(sweep) = large.sweep(&c.method, threads) {
                table.row(
                    [c.method.label.to_owned(), threads.to_string()],
                    [
                        Pair::both(sequential, 1e3 * sweep),
                        Pair::both(parallel, 1e3 * sweep),
                    ],
                    "",
                );
            }
        }
    }
    table
}

/// Ratios within this run, which do not depend on the machine's mood.
fn ratios(bench: &Bench, large: &OnDemo) -> Table {
    let mut table = Table::new("ratios", Layout::Columns, &["ratio"], &[("here", "-")])
        .titled(format!("Within this run: {}", large.demo.name), "");
    let most = bench.most_threads();
    let mut add = |name: String, above: Option<f64>, below: Option<f64>| {
        if let (Some(above), Some(below)) = (above, below) {
            table.row([name], [(above / below).into()], "");
        }
    };
    let (single, double) = (methods::colored_f32(), methods::colored_f64());
    add(
        format!("triad, {most} threads over 1"),
        Some(bench.triad(most)),
        Some(bench.triad(1)),
    );
    for c in &large.contenders {
        add(
            format!("speed of {}, {most} threads over 1", c.method.label),
            large.sweep(&c.method, 1),
            large.sweep(&c.method, most),
        );
    }
    for threads in [1, most] {
        add(
            format!("speed of colored-gs, f64 over f32, threads: {threads}"),
            large.sweep(&single, threads),
            large.sweep(&double, threads),
        );
    }
    table
}

/// Time per contact by size: where the caches end.
fn by_size(bench: &Bench, results: &[OnDemo]) -> Plot {
    let mut plot = Plot {
        title: "Time of one iteration per contact: ball grids".into(),
        x: Axis::log("contacts", "-"),
        y: Axis::log("time per contact and iteration", "ns"),
        ..Plot::default()
    };
    let most = bench.most_threads();
    let Some(last) = results.last() else {
        return plot;
    };
    for c in &last.contenders {
        let line = results.iter().filter_map(|r| {
            let sweep = r.sweep(&c.method, most)?;
            Some([r.demo.contacts, 1e9 * sweep / r.demo.contacts])
        });
        plot.add(c.method.label, line.collect(), Mark::Line);
    }
    let thesis = results.iter().map(|r| {
        let d = r.demo;
        [d.contacts, 1e9 * d.parallel_sweep() / d.contacts]
    });
    plot.add("thesis: best Jacobi", thesis.collect(), Mark::Reference);
    plot
}

/// Quality of Gauss–Seidel in parts that do not see each other.
fn naive(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    let parts = [
        methods::naive("naive-gs, 1 part", 1),
        methods::naive("naive-gs, 8 parts", 8),
    ];
    if bench.offer(parts.clone()).len() < parts.len() {
        return Ok(());
    }
    let quantities = [
        ("γ after 50 iterations", "N² s²"),
        ("time, 8 cores there", "s"),
    ];
    let keys = ["problem", "parts"];
    let mut table = Table::new("poulsen-7.1", Layout::Beside, &keys, &quantities)
        .titled("Naive parallel Gauss–Seidel", "Poulsen 2010, 7.1");
    let scenes = bench.either(&paper::NAIVE_QUALITY[..1], &paper::NAIVE_QUALITY[..]);
    for (scene, there) in scenes {
        let case = bench.case(scene, &[])?;
        for (k, method) in parts.iter().enumerate() {
            let here = bench.gamma(&case, method, ITERATIONS)?;
            let job = Job {
                method: method.clone(),
                threads: bench.most_threads(),
                iterations: ITERATIONS,
            };
            let timing = bench.race(&case.problem, &[job], 3, 5.0)?;
            let large = *scene == "ball_grid_40" && k == 1;
            table.row(
                [(*scene).to_owned(), [1, 8][k].to_string()],
                [
                    Pair {
                        paper: Some(there[k]),
                        here,
                    },
                    Pair {
                        paper: large.then_some(paper::NAIVE_SECONDS),
                        here: timing.first().map(|t| t.solve),
                    },
                ],
                "",
            );
        }
    }
    findings.table(table);
    Ok(())
}

/// Weak scaling: as many contacts per thread on every number of threads.
fn weak(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    let base = bench.either(16.0, 32.0f64);
    let list = bench.offer([
        methods::jacobi_factorized(),
        methods::jacobi_t(),
        methods::colored_f32(),
        methods::colored_f64(),
    ]);
    let quantities = [
        ("contacts", "-"),
        ("iteration", "ms"),
        ("time per contact and thread", "ns"),
        ("efficiency", "-"),
    ];
    let keys = ["method", "threads", "grid"];
    let mut table = Table::new("weak-scaling", Layout::Columns, &keys, &quantities).titled(
        "Weak scaling: the grid grows with the threads, as many contacts for each",
        "",
    );
    let mut found = Vec::new();
    for threads in bench.threads.clone() {
        let size = (base * (threads as f64).cbrt()).round();
        let set = [("generators.0.size", size.to_string())];
        let set = set.each_ref().map(|(k, v)| (*k, v.as_str()));
        let case = bench.case("ball_grid_24", &set)?;
        let job = |method: &methods::Method| Job {
            method: method.clone(),
            threads,
            iterations: ITERATIONS,
        };
        let jobs: Vec<Job> = list.iter().map(job).collect();
        let (rounds, seconds) = bench.either((3, 0.5), (7, 5.0));
        let timings = bench.race(&case.problem, &jobs, rounds, seconds)?;
        found.push((threads, size, case.problem.contacts.len() as f64, timings));
    }
    let mut plot = Plot {
        title: "Weak scaling: ball grids that grow with the threads".into(),
        x: Axis::whole("threads"),
        y: Axis::linear("efficiency", "-"),
        ..Plot::default()
    };
    for (k, method) in list.iter().enumerate() {
        let mut line = Vec::new();
        let mut one = f64::NAN;
        for (threads, size, contacts, timings) in &found {
            let timing = &timings[k];
            if !timing.failure.is_empty() {
                continue;
            }
            let share = timing.per_iteration() * *threads as f64 / contacts;
            if *threads == 1 {
                one = share;
            }
            line.push([*threads as f64, one / share]);
            table.row(
                [
                    method.label.to_owned(),
                    threads.to_string(),
                    format!("{size}³"),
                ],
                [
                    (*contacts).into(),
                    (1e3 * timing.per_iteration()).into(),
                    (1e9 * share).into(),
                    (one / share).into(),
                ],
                "",
            );
        }
        plot.add(method.label, line, Mark::Line);
    }
    findings.table(table);
    findings.plot("ball_grid-weak", plot);
    Ok(())
}
