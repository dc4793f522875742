//! What is common to Poulsen's ball grids and ball piles: every method to equal quality, raced on
//! every number of threads, and his tables made of that one race.

use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};
use moreau::problem::delassus::{BlockCounter, Coupling};
use moreau::solve::Status;

use super::measure::{Bench, Case, Job, Timing, fixed};
use super::methods::{self, Method};
use super::paper::{Colors, Demo, Scheme, Speedup};
use super::{Failure, Findings};

/// Iterations of the thesis's Gauss–Seidel.
pub const ITERATIONS: u32 = 50;
/// Most iterations tried to reach the same γ.
const MOST_ITERATIONS: u32 = 400;

/// The γ that every method is run to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// What 50 Gauss–Seidel iterations reach, as in the thesis.
    FiftySweeps,
    /// What they reach in the thesis: where ours end in rounding errors, comparing is no use.
    Thesis,
}

impl Quality {
    fn name(self) -> &'static str {
        match self {
            Self::FiftySweeps => "the γ of 50 Gauss–Seidel iterations",
            Self::Thesis => "the γ that the thesis reaches with 50 Gauss–Seidel iterations",
        }
    }
}

/// Which problems, and on which of them the thesis compares its parallel Gauss–Seidel schemes.
pub struct Plan {
    pub tables: &'static str,
    pub quality: Quality,
    pub demos: &'static [Demo],
    pub compared: &'static str,
    pub schemes: &'static [Scheme],
    pub colors: &'static [Colors],
}

/// A method on a problem: iterations to equal quality.
pub struct Contender {
    pub method: Method,
    /// `None` where it did not get there, or nobody looked.
    pub iterations: Option<u32>,
    remark: String,
}

/// All that was found on one problem.
pub struct Result {
    pub demo: &'static Demo,
    bodies: usize,
    contacts: usize,
    /// Non-zero blocks of T: with the ground coupling its contacts, and without.
    blocks: [u64; 2],
    pub contenders: Vec<Contender>,
    /// As many iterations of each.
    sweeps: Vec<Timing>,
    /// To equal quality.
    runs: Vec<Timing>,
    /// γ and ‖ΔΛ‖∞ of each contender after its iterations.
    quality: Vec<Option<[f64; 2]>>,
}

/// The timing of a method on so many threads, unless it failed.
fn of<'a>(timings: &'a [Timing], method: &Method, threads: usize) -> Option<&'a Timing> {
    let same = |t: &&Timing| t.job.method == *method && t.job.threads == threads;
    timings.iter().find(same).filter(|t| t.failure.is_empty())
}

impl Result {
    /// Time of one iteration (s).
    pub fn sweep(&self, method: &Method, threads: usize) -> Option<f64> {
        of(&self.sweeps, method, threads).map(Timing::per_iteration)
    }

    /// The run to equal quality.
    fn run(&self, method: &Method, threads: usize) -> Option<&Timing> {
        of(&self.runs, method, threads)
    }

    /// The number of threads on which a method is fastest, and its time per iteration there (s).
    fn fastest(&self, method: &Method) -> Option<(usize, f64)> {
        let own = self.sweeps.iter().filter(|t| t.job.method == *method);
        own.filter(|t| t.failure.is_empty())
            .map(|t| (t.job.threads, t.per_iteration()))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Measures all problems of a plan and adds the thesis's tables.
pub fn run(
    bench: &mut Bench,
    findings: &mut Findings,
    plan: &Plan,
) -> std::result::Result<Vec<Result>, Failure> {
    let mut results = Vec::new();
    let mut colors = Table::default();
    for demo in plan.demos {
        let case = bench.case(demo.scene, &[])?;
        let compared = demo.scene == plan.compared;
        // A quick run looks closely at one problem only.
        let thorough = compared || !bench.quick;
        let result = measure(bench, plan, demo, &case, thorough)?;
        if compared {
            colors = colors_found(plan, &result);
            if !bench.quick {
                let plot = convergence(bench, &case, &result)?;
                findings.plot(format!("{}-convergence", demo.scene), plot);
            }
        }
        results.push(result);
    }
    findings.table(sizes(plan, &results));
    let mut table = sequential(plan, &results);
    if plan.quality == Quality::Thesis {
        table.notes.push(
            "50 Gauss–Seidel iterations end in rounding errors here, so that equal quality is the thesis's own γ."
                .to_owned(),
        );
    }
    findings.table(table);
    for table in speedups(&results) {
        findings.table(table);
    }
    findings.table(sweeps(bench, &results));
    for result in &results {
        if result.demo.scene == plan.compared {
            findings.table(equal_quality(bench, plan, result));
            findings.table(all_methods(bench, plan, result));
            findings.plot(
                format!("{}-equal-quality", result.demo.scene),
                quality_plot(bench, result),
            );
        }
        findings.plot(
            format!("{}-threads", result.demo.scene),
            threads_plot(bench, result),
        );
    }
    findings.table(colors);
    Ok(results)
}

/// The methods that chapters 6 and 7 compare, and ours. A quick run takes the most telling ones.
fn contenders(bench: &mut Bench, thorough: bool) -> Vec<Method> {
    let mut all = vec![
        methods::gauss_seidel(),
        methods::jacobi_factorized(),
        methods::jacobi_t(),
        methods::colored_f32(),
        methods::colored_f64(),
    ];
    if thorough {
        all.extend([
            methods::balanced(),
            methods::relaxed_jacobi(),
            methods::jacobi_degree(),
        ]);
    }
    if !bench.quick {
        all.extend([
            methods::relaxed_naive(),
            methods::naive("naive-gs, 8 parts", 8),
            methods::jor(),
            methods::jacobi_global(),
            methods::jacobi_delassus(),
            methods::gauss_seidel_t(),
            methods::gauss_seidel_block(),
        ]);
    }
    bench.offer(all)
}

fn measure(
    bench: &mut Bench,
    plan: &Plan,
    demo: &'static Demo,
    case: &Case,
    thorough: bool,
) -> std::result::Result<Result, Failure> {
    let methods = contenders(bench, thorough);
    bench.say(format!("{}: the quality to reach", demo.name));
    let reference = methods::gauss_seidel();
    let target = match plan.quality {
        Quality::FiftySweeps => bench.gamma(case, &reference, ITERATIONS)?,
        Quality::Thesis => Some(demo.gauss_seidel.quality),
    };
    let target =
        target.ok_or_else(|| Failure::Work(format!("{}: gauss-seidel failed on it", demo.name)))?;
    let mut contenders: Vec<Contender> = Vec::new();
    let mut quality = Vec::new();
    for method in methods {
        bench.say(format!("{}: iterations of {}", demo.name, method.label));
        // The same iterates through another matrix.
        let twin = contenders.iter().find(|c| c.method.iterates_as(&method));
        let (iterations, remark) = if method == reference && plan.quality == Quality::FiftySweeps {
            (Some(ITERATIONS), String::new())
        } else if let Some(twin) = twin {
            (twin.iterations, twin.remark.clone())
        } else if thorough || demo.contacts < 1e4 {
            match bench.iterations_to(case, &method, target, MOST_ITERATIONS)? {
                Some(n) => (Some(n), String::new()),
                None => (None, format!("not within {MOST_ITERATIONS} iterations")),
            }
        } else {
            let remark = "iterations not looked for in a quick run";
            (None, remark.to_owned())
        };
        let mut contender = Contender {
            method,
            iterations,
            remark,
        };
        quality.push(match iterations {
            Some(n) => {
                let solved = bench.solve(&case.problem, &contender.method, fixed(n), false)?;
                if solved.report.halvings > 0 {
                    contender.remark = format!("R halved, times: {}", solved.report.halvings);
                }
                let residual = bench.residual(&case.problem, &solved.lambda);
                Some([residual.gamma, solved.report.delta])
            }
            None => None,
        });
        contenders.push(contender);
    }
    let on_all_threads = |list: Vec<(&Method, u32)>, threads: &[usize]| -> Vec<Job> {
        let job = |(method, iterations): (&Method, u32), threads: usize| Job {
            method: method.clone(),
            threads,
            iterations,
        };
        let each = list.into_iter();
        each.flat_map(|entry| threads.iter().map(move |n| job(entry, *n)))
            .collect()
    };
    let iterations = bench.either(ITERATIONS / 2, ITERATIONS);
    let sweeps = contenders.iter().map(|c| (&c.method, iterations)).collect();
    let sweeps = on_all_threads(sweeps, &bench.threads);
    let runs = contenders.iter();
    let runs = runs.filter_map(|c| Some((&c.method, c.iterations?)));
    let runs = on_all_threads(runs.collect(), &bench.threads);
    let (rounds, seconds) = bench.either((3, 0.5), (7, 8.0));
    Ok(Result {
        demo,
        bodies: case.bodies,
        contacts: case.problem.contacts.len(),
        blocks: [Coupling::EveryBody, Coupling::Dynamic]
            .map(|coupling| BlockCounter::default().count(&case.problem, coupling)),
        sweeps: bench.race(&case.problem, &sweeps, rounds, seconds)?,
        runs: bench.race(&case.problem, &runs, rounds, seconds)?,
        contenders,
        quality,
    })
}

fn sizes(plan: &Plan, results: &[Result]) -> Table {
    let quantities = [
        ("bodies", "-"),
        ("contacts", "-"),
        ("blocks of T, ground coupling", "-"),
        ("blocks of T", "-"),
    ];
    let table = if plan.tables == "grids" { "3.2" } else { "3.4" };
    let id = format!("poulsen-{table}");
    let mut out = Table::new(&id, Layout::Beside, &["problem"], &quantities)
        .titled("The problems", format!("Poulsen 2010, table {table}"));
    for r in results {
        out.row(
            [r.demo.name],
            [
                Pair::both(r.demo.bodies, r.bodies as f64),
                Pair::both(r.demo.contacts, r.contacts as f64),
                Pair::both(r.demo.blocks, r.blocks[0] as f64),
                (r.blocks[1] as f64).into(),
            ],
            "",
        );
    }
    if plan.tables == "piles" {
        out.notes.push(
            "Our piles come from other random numbers than the thesis's; bodies include the ground."
                .to_owned(),
        );
    }
    out
}

fn sequential(plan: &Plan, results: &[Result]) -> Table {
    let quantities = [
        ("iterations", "-"),
        ("quality γ", "N² s²"),
        ("residual ‖ΔΛ‖∞", "N s"),
        ("duration", "s"),
        ("σ", "s"),
    ];
    let table = if plan.tables == "grids" { "3.3" } else { "3.5" };
    let id = format!("poulsen-{table}");
    let mut out = Table::new(&id, Layout::Beside, &["method", "problem"], &quantities).titled(
        format!("One thread, factorized: to {}", plan.quality.name()),
        format!("Poulsen 2010, table {table}"),
    );
    for method in [methods::jacobi_factorized(), methods::gauss_seidel()] {
        for r in results {
            let Some(k) = r.contenders.iter().position(|c| c.method == method) else {
                continue;
            };
            let contender = &r.contenders[k];
            let there = if method.solver == "jacobi" {
                &r.demo.jacobi
            } else {
                &r.demo.gauss_seidel
            };
            let pair = |paper: f64, here: Option<f64>| Pair {
                paper: Some(paper),
                here,
            };
            let timing = r.run(&method, 1);
            out.row(
                [method.label, r.demo.name],
                [
                    pair(there.iterations, contender.iterations.map(f64::from)),
                    pair(there.quality, r.quality[k].map(|q| q[0])),
                    pair(there.residual, r.quality[k].map(|q| q[1])),
                    pair(there.seconds, timing.map(|t| t.solve)),
                    pair(there.sigma, timing.map(|t| t.sigma)),
                ],
                contender.remark.clone(),
            );
        }
    }
    out
}

fn speedups(results: &[Result]) -> Vec<Table> {
    type Schemes<'a> = &'a [(&'a Method, fn(&Demo) -> &Speedup)];
    let factorized = methods::jacobi_factorized();
    let t = methods::jacobi_t();
    let tables: [(&str, &str, Schemes); 3] = [
        ("6.1", "CSP", &[(&factorized, |d| &d.csp_factorized)]),
        ("6.2", "CSP", &[(&t, |d| &d.csp_t)]),
        (
            "6.3",
            "OpenMP, 8 cores",
            &[
                (&factorized, |d| &d.openmp_factorized),
                (&t, |d| &d.openmp_t),
            ],
        ),
    ];
    let quantities = [
        ("speed-up on one thread", "-"),
        ("speed-up on sequential", "-"),
        ("threads", "-"),
    ];
    let mut out = Vec::new();
    for (number, how, schemes) in tables {
        let id = format!("poulsen-{number}");
        let mut table = Table::new(&id, Layout::Beside, &["method", "problem"], &quantities)
            .titled(
                format!("Parallel Jacobi, preparation left out; there with {how}"),
                format!("Poulsen 2010, table {number}"),
            );
        for (method, take) in schemes {
            for r in results {
                let (Some(one), Some(base), Some((threads, best))) = (
                    r.sweep(method, 1),
                    r.sweep(&factorized, 1),
                    r.fastest(method),
                ) else {
                    continue;
                };
                let there = take(r.demo);
                table.row(
                    [method.label, r.demo.name],
                    [
                        Pair::both(there.one, one / best),
                        Pair::both(there.sequential, base / best),
                        Pair::both(there.cores, threads as f64),
                    ],
                    "",
                );
            }
        }
        if number == "6.3" {
            table.notes.push(
                "Sequential is the factorized scheme on one thread; both speed-ups are of the fastest number of threads."
                    .to_owned(),
            );
        }
        out.push(table);
    }
    out
}

/// The machine's limits beside every sweep.
fn sweeps(bench: &Bench, results: &[Result]) -> Table {
    let quantities = [
        ("iteration", "ms"),
        ("prepare", "ms"),
        ("speed-up", "-"),
        ("read per contact", "B"),
        ("written", "B"),
        ("moved", "GB/s"),
        ("× least time", "-"),
    ];
    let keys = ["problem", "method", "threads"];
    let mut out = Table::new("sweeps", Layout::Columns, &keys, &quantities)
        .titled("Every sweep, with the bytes that it must move", "");
    for r in results {
        for t in &r.sweeps {
            let sweep = t.per_iteration();
            let one = r.sweep(&t.job.method, 1);
            let per_contact = |k: usize| Some((t.bytes?[k] / r.contacts.max(1) as f64).round());
            let bytes = t.bytes.map(|[read, written]| read + written);
            let least = bytes.map(|b| b / bench.triad(t.job.threads));
            let failed = !t.failure.is_empty();
            let when_done = |v: Option<f64>| -> Pair { v.filter(|_| !failed).into() };
            out.row(
                [
                    r.demo.name.to_owned(),
                    t.job.method.label.to_owned(),
                    t.job.threads.to_string(),
                ],
                [
                    when_done(Some(1e3 * sweep)),
                    when_done(Some(1e3 * t.prepare)),
                    when_done(one.map(|one| one / sweep)),
                    when_done(per_contact(0)),
                    when_done(per_contact(1)),
                    when_done(bytes.map(|b| b / sweep / 1e9)),
                    when_done(least.map(|least| sweep / least)),
                ],
                t.failure.clone(),
            );
        }
    }
    out.notes.push(
        "× least time: the iteration over the time that its bytes need at the triad bandwidth of as many threads; \
         below 1 where a problem stays in the caches."
            .to_owned(),
    );
    out
}

fn equal_quality(bench: &Bench, plan: &Plan, r: &Result) -> Table {
    let quantities = [
        ("iterations", "-"),
        ("largest speed-up on one thread", "-"),
        ("largest speed-up on sequential Gauss–Seidel", "-"),
    ];
    let id = format!("poulsen-7-{}", r.demo.scene.replace('_', "-"));
    let figures = if plan.tables == "grids" {
        "figures 7.5, 7.7 and 7.10"
    } else {
        "figures 7.6, 7.8 and 7.9"
    };
    let mut out = Table::new(
        &id,
        Layout::Beside,
        &["figure", "there", "here"],
        &quantities,
    )
    .titled(
        format!("To {}: {}", plan.quality.name(), r.demo.name),
        format!("Poulsen 2010, {figures}"),
    );
    let base = r.run(&methods::gauss_seidel(), 1).map(|t| t.solve);
    for scheme in plan.schemes {
        let method = (scheme.here)();
        let Some(contender) = r.contenders.iter().find(|c| c.method == method) else {
            continue;
        };
        let reached = contender.iterations;
        let times = |threads: usize| r.run(&method, threads).map(|t| t.solve);
        let best = bench
            .threads
            .iter()
            .filter_map(|n| times(*n))
            .reduce(f64::min);
        let over = |a: Option<f64>| Some(a? / best?);
        out.row(
            [scheme.figure, scheme.name, method.label],
            [
                Pair {
                    paper: scheme.iterations,
                    here: reached.map(f64::from),
                },
                Pair {
                    paper: scheme.one,
                    here: over(times(1)),
                },
                Pair {
                    paper: scheme.sequential,
                    here: over(base),
                },
            ],
            contender.remark.clone(),
        );
    }
    out.notes.push(format!(
        "Up to 8 cores there, up to {} threads here; preparation left out. Coloured sweeps are factorized here.",
        bench.most_threads()
    ));
    out
}

/// Every method to equal quality, ours too: does parallel Gauss–Seidel beat parallel Jacobi?
fn all_methods(bench: &Bench, plan: &Plan, r: &Result) -> Table {
    let quantities = [
        ("iterations", "-"),
        ("time", "ms"),
        ("prepare", "ms"),
        ("time with prepare", "ms"),
        ("speed-up on gauss-seidel", "-"),
    ];
    let id = format!("equal-quality-{}", r.demo.scene.replace('_', "-"));
    let mut out = Table::new(&id, Layout::Columns, &["method", "threads"], &quantities).titled(
        format!("Time to {}: {}", plan.quality.name(), r.demo.name),
        "",
    );
    let base = r.run(&methods::gauss_seidel(), 1).map(|t| t.solve);
    for c in &r.contenders {
        for &threads in &bench.threads {
            let timing = r.run(&c.method, threads);
            out.row(
                [c.method.label.to_owned(), threads.to_string()],
                [
                    c.iterations.map(f64::from).into(),
                    timing.map(|t| 1e3 * t.solve).into(),
                    timing.map(|t| 1e3 * t.prepare).into(),
                    timing.map(|t| 1e3 * (t.solve + t.prepare)).into(),
                    timing.and_then(|t| Some(base? / t.solve)).into(),
                ],
                c.remark.clone(),
            );
        }
    }
    out
}

fn colors_found(plan: &Plan, r: &Result) -> Table {
    let quantities = [("colours", "-"), ("largest", "-"), ("smallest", "-")];
    let id = format!("poulsen-7-colours-{}", r.demo.scene.replace('_', "-"));
    let mut out = Table::new(&id, Layout::Beside, &["colouring"], &quantities).titled(
        format!("Colours found: {}", r.demo.name),
        "Poulsen 2010, 7.3",
    );
    for colors in plan.colors {
        let method = (colors.here)();
        let Some(timing) = of(&r.sweeps, &method, 1) else {
            continue;
        };
        let found: Vec<u32> = timing.colors.iter().copied().filter(|n| *n > 0).collect();
        let here = [
            Some(found.len()),
            found.iter().max().map(|n| *n as usize),
            found.iter().min().map(|n| *n as usize),
        ];
        let pairs = here.into_iter().enumerate().map(|(k, here)| Pair {
            paper: colors.found.map(|f| f[k]),
            here: here.filter(|_| !found.is_empty()).map(|n| n as f64),
        });
        let list: Vec<String> = found.iter().take(9).map(u32::to_string).collect();
        let more = if found.len() > 9 { ", …" } else { "" };
        out.row([colors.name], pairs, format!("{}{more}", list.join(", ")));
    }
    if plan.tables == "grids" {
        out.notes.push(
            "There the fixed ground couples its contacts, so that each needs a colour of its own; here it does not."
                .to_owned(),
        );
    }
    out
}

/// γ against iterations for every method.
fn convergence(bench: &mut Bench, case: &Case, r: &Result) -> std::result::Result<Plot, Failure> {
    let mut plot = Plot {
        title: format!("Quality by iterations: {}", r.demo.name),
        x: Axis::linear("iterations", "-"),
        y: Axis::log("γ", "N² s²"),
        ..Plot::default()
    };
    let points = [2, 5, 10, 20, 30, 40, 50, 60, 70, 85, 100];
    for c in &r.contenders {
        bench.say(format!(
            "{}: convergence of {}",
            r.demo.name, c.method.label
        ));
        let mut line = Vec::new();
        for n in points {
            let solved = bench.solve(&case.problem, &c.method, fixed(n), false)?;
            if matches!(solved.report.status, Status::Failed(_)) {
                continue;
            }
            let gamma = bench.residual(&case.problem, &solved.lambda).gamma;
            line.push([f64::from(n), gamma]);
        }
        plot.add(c.method.label, line, Mark::Line);
    }
    Ok(plot)
}

fn quality_plot(bench: &Bench, r: &Result) -> Plot {
    let mut plot = Plot {
        title: format!("Time to equal quality: {}", r.demo.name),
        x: Axis::whole("threads"),
        y: Axis::log("time to equal quality", "ms"),
        ..Plot::default()
    };
    for c in &r.contenders {
        let times = bench
            .threads
            .iter()
            .filter_map(|n| Some([*n as f64, 1e3 * r.run(&c.method, *n)?.solve]));
        plot.add(c.method.label, times.collect(), Mark::Line);
    }
    plot
}

fn threads_plot(bench: &Bench, r: &Result) -> Plot {
    let mut plot = Plot {
        title: format!("Time of one iteration: {}", r.demo.name),
        x: Axis::whole("threads"),
        y: Axis::log("time of one iteration", "ms"),
        ..Plot::default()
    };
    for c in &r.contenders {
        let times = bench
            .threads
            .iter()
            .filter_map(|n| Some([*n as f64, 1e3 * r.sweep(&c.method, *n)?]));
        plot.add(c.method.label, times.collect(), Mark::Line);
    }
    // The two ends of the thesis's curves that its tables give.
    let sequential = 1e3 * r.demo.jacobi_sweep();
    for (name, s) in [
        ("thesis: OpenMP Jacobi", &r.demo.openmp_factorized),
        ("thesis: OpenMP Jacobi T", &r.demo.openmp_t),
    ] {
        let eight = sequential / s.sequential;
        plot.add(
            name,
            vec![[1.0, eight * s.one], [8.0, eight]],
            Mark::Reference,
        );
    }
    plot
}
