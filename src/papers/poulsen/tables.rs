//! The thesis's tables and figures, made of what was found on each problem.

use super::figures::{Colors, Demo, Speedup, sweep};
use super::{COLORED_T, Contender, HIS_GAUSS_SEIDEL, HIS_JACOBI, Outcome, Plan, is_his};
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::method::{GAUSS_SEIDEL, GAUSS_SEIDEL_T, JACOBI, JACOBI_T, Method};
use crate::papers::measure::race::{self, Timing};
use crate::papers::measure::table::Columns;
use crate::papers::measure::{Bench, Case};
use crate::papers::{Findings, Result};
use crate::solve::sweeps::colored_gs::COLORS;

/// Adds everything that all plans have in common.
pub fn report(bench: &Bench, findings: &mut Findings, plan: &Plan, outcomes: &[Outcome]) {
    sizes(findings, plan, outcomes);
    sequential(findings, plan, outcomes);
    speedups(findings, outcomes);
    sweeps(bench, findings, outcomes);
    let scene = plan.compared(bench);
    let compared = outcomes.iter().find(|o| o.demo.scene == scene);
    if let Some(outcome) = compared {
        equal_quality(bench, findings, plan, outcome);
        all_methods(bench, findings, plan, outcome);
        colored_t(bench, findings, outcome);
        colors(findings, plan, outcome);
        let time = |method, n| outcome.run(method, n).map(|t| t.solve);
        let plot = by_threads(bench, outcome, "Time to equal quality", time);
        findings.plot(format!("{scene}-equal-quality"), plot);
    }
    for outcome in outcomes {
        let plot = threads_plot(bench, outcome);
        findings.plot(format!("{}-threads", outcome.demo.scene), plot);
    }
}

/// The beginning of one of the thesis's tables.
fn table<'a, R>(number: &str, title: &str, from: &'a [R]) -> Columns<'a, R> {
    let source = format!("Poulsen 2010, table {number}");
    Columns::new(format!("poulsen-{number}"), title, source, from)
}

fn sizes(findings: &mut Findings, plan: &Plan, outcomes: &[Outcome]) {
    findings.table(
        table(plan.tables[0], "The problems", outcomes)
            .key("problem", |o| o.demo.name)
            .column("bodies", |o| (o.demo.bodies, o.bodies as f64))
            .column("contacts", |o| (o.demo.contacts, o.contacts as f64))
            .column("blocks of T, ground coupling", |o| {
                (o.demo.blocks, o.blocks[0])
            })
            .column("blocks of T", |o| o.blocks[1])
            .notes(plan.notes[0]),
    );
}

fn sequential(findings: &mut Findings, plan: &Plan, outcomes: &[Outcome]) {
    let each = [HIS_JACOBI, HIS_GAUSS_SEIDEL, JACOBI, GAUSS_SEIDEL].into_iter();
    let rows = each.flat_map(|m| {
        outcomes
            .iter()
            .filter_map(move |o| Some((o, o.contender(m)?)))
    });
    let rows: Vec<(&Outcome, &Contender)> = rows.collect();
    let names = [
        "iterations",
        "quality γ [N² s²]",
        "residual ‖ΔΛ‖∞ [N s]",
        "duration [s]",
        "σ [s]",
    ];
    let pairs = |(o, c): &(&Outcome, &Contender)| {
        let [iterations, quality, residual, duration, sigma] = match c.method.solver() {
            "jacobi" => o.demo.jacobi,
            _ => o.demo.gauss_seidel,
        };
        let run = o.run(c.method, 1);
        [
            (iterations, c.iterations.map(f64::from)),
            (quality, c.quality.map(|[gamma, _]| gamma)),
            (residual, c.quality.map(|[_, delta]| delta)),
            (duration, run.map(|t| t.solve)),
            (sigma, run.map(|t| t.sigma)),
        ]
    };
    let rounding = "50 Gauss–Seidel iterations with local R end in rounding errors, so that their equal quality is the \
                    thesis's own γ.";
    let title = format!("One thread, factorized: to {}", plan.quality);
    findings.table(
        table(plan.tables[1], &title, &rows)
            .key("method", |(_, c)| c.method)
            .key("problem", |(o, _)| o.demo.name)
            .columns(names, pairs)
            .remark(|(_, c)| &c.remark)
            .notes((!plan.is_grid).then_some(rounding)),
    );
}

/// A scheme of tables 6.1 to 6.3: ours, and where the thesis's stands.
type Parallel = (Method, fn(&Demo) -> Speedup);

fn speedups(findings: &mut Findings, outcomes: &[Outcome]) {
    let tables: [(&str, &str, &[Parallel]); 3] = [
        ("6.1", "CSP", &[(JACOBI, |d| d.csp)]),
        ("6.2", "CSP", &[(JACOBI_T, |d| d.csp_t)]),
        (
            "6.3",
            "OpenMP, 8 cores",
            &[(JACOBI, |d| d.openmp), (JACOBI_T, |d| d.openmp_t)],
        ),
    ];
    let names = [
        "speed-up on one thread",
        "speed-up on sequential",
        "threads",
    ];
    let row = |o: &Outcome, (method, there): &Parallel| {
        let (one, base) = (o.sweep(*method, 1)?, o.sweep(JACOBI, 1)?);
        let (threads, best) = o.fastest(*method)?;
        let [self_there, base_there, threads_there] = there(o.demo);
        let pairs = [
            (self_there, one / best),
            (base_there, base / best),
            (threads_there, threads as f64),
        ];
        Some((*method, o.demo.name, pairs))
    };
    let sequential = "Sequential is the factorized scheme on one thread; both speed-ups are of the fastest \
                      number of threads.";
    for (number, how, schemes) in tables {
        let each = schemes.iter();
        let rows = each.flat_map(|scheme| outcomes.iter().filter_map(move |o| row(o, scheme)));
        let title = format!("Parallel Jacobi, preparation left out; there with {how}");
        findings.table(
            table(number, &title, &rows.collect::<Vec<_>>())
                .key("method", |(method, ..)| method)
                .key("problem", |(_, problem, _)| problem)
                .columns(names, |(.., pairs)| *pairs)
                .notes((number == "6.3").then_some(sequential)),
        );
    }
}

/// The machine's limits beside every sweep.
fn sweeps(bench: &Bench, findings: &mut Findings, outcomes: &[Outcome]) {
    let each = outcomes.iter();
    let rows = each.flat_map(|o| o.sweeps.iter().map(move |t| (o, t)));
    let rows: Vec<(&Outcome, &Timing)> = rows.collect();
    let names = [
        "iteration [ms]",
        "prepare [ms]",
        "speed-up",
        "read per contact [B]",
        "written [B]",
        "moved [GB/s]",
        "× least time",
    ];
    let numbers = |(o, t): &(&Outcome, &Timing)| {
        let sweep = t.per_iteration();
        let one = o.sweep(t.method, 1);
        let bytes = t.bytes();
        let per_contact = |k: usize| bytes.map(|b| (b[k] / o.contacts.max(1) as f64).round());
        let moved = bytes.map(|[read, written]| read + written);
        let least = moved.map(|b| b / bench.triad(t.threads));
        [
            Some(1e3 * sweep),
            Some(1e3 * t.prepare),
            one.map(|one| one / sweep),
            per_contact(0),
            per_contact(1),
            moved.map(|b| 1e-9 * b / sweep),
            least.map(|least| sweep / least),
        ]
        .map(|number| number.filter(|_| t.failure().is_none()))
    };
    let title = "Every sweep, with the bytes that it must move";
    findings.table(
        Columns::new("sweeps", title, "", &rows)
            .key("problem", |(o, _)| o.demo.name)
            .key("method", |(_, t)| t.method)
            .key("threads", |(_, t)| t.threads)
            .columns(names, numbers)
            .remark(|(_, t)| t.failure().unwrap_or_default())
            .note(
                "× least time: the iteration over the time that its bytes need at the triad bandwidth of as many \
                 threads; below 1 where a problem stays in the caches.",
            ),
    );
}

fn equal_quality(bench: &Bench, findings: &mut Findings, plan: &Plan, outcome: &Outcome) {
    let rows = plan.schemes.iter().filter_map(|scheme| {
        let (_, _, method, _) = *scheme;
        let reference = match is_his(&method) {
            true => HIS_GAUSS_SEIDEL,
            false => GAUSS_SEIDEL,
        };
        let base = outcome.run(reference, 1).map(|t| t.solve);
        let contender = outcome.contender(method)?;
        let time = |threads: &usize| outcome.run(method, *threads).map(|t| t.solve);
        let best = bench.threads.iter().filter_map(time).reduce(f64::min);
        let over = |a: Option<f64>| Some(a? / best?);
        let iterations = contender.iterations.map(f64::from);
        Some((scheme, contender, [iterations, over(time(&1)), over(base)]))
    });
    let names = [
        "iterations",
        "largest speed-up on one thread",
        "largest speed-up on sequential Gauss–Seidel",
    ];
    // The thesis's figures are those of one problem.
    let is_theirs = outcome.demo.scene == plan.compared;
    let scene = outcome.demo.scene.replace('_', "-");
    let title = format!("To {}: {}", plan.quality, outcome.demo.name);
    let source = format!("Poulsen 2010, {}", plan.figures);
    findings.table(
        Columns::new(
            format!("poulsen-7-{scene}"),
            title,
            source,
            &rows.collect::<Vec<_>>(),
        )
        .key("figure", |((figure, ..), ..)| figure)
        .key("there", |((_, name, ..), ..)| name)
        .key("here", |((_, _, method, _), ..)| method)
        .columns(names, |((.., there), _, here)| {
            [0, 1, 2].map(|k| (there[k].filter(|_| is_theirs), here[k]))
        })
        .remark(|(_, c, _)| &c.remark)
        .note(format!(
            "Up to 8 cores there, up to {} threads here; preparation left out.",
            bench.most_threads()
        )),
    );
}

/// Coloured Gauss–Seidel with T against sequential Gauss–Seidel with T and without.
fn colored_t(bench: &Bench, findings: &mut Findings, outcome: &Outcome) {
    let rows = bench.threads.iter().filter_map(|threads| {
        let colored = outcome.sweep(COLORED_T, *threads)?;
        let over = [GAUSS_SEIDEL_T, GAUSS_SEIDEL].map(|method| outcome.sweep(method, 1));
        Some((*threads, colored, over))
    });
    let rows: Vec<_> = rows.collect();
    let scene = outcome.demo.scene.replace('_', "-");
    let title = format!("Coloured Gauss–Seidel with T stored: {}", outcome.demo.name);
    findings.table(
        Columns::new(
            format!("colored-t-{scene}"),
            title,
            "Poulsen 2010, 7.3 and 7.5",
            &rows,
        )
        .key("threads", |(threads, ..)| threads)
        .column("iteration [ms]", |(_, colored, _)| 1e3 * colored)
        .column(
            "speed-up on its own sequential, with T",
            |(_, colored, [with_t, _])| with_t.map(|t| t / colored),
        )
        .column(
            "speed-up on sequential, factorized",
            |(_, colored, [_, factorized])| factorized.map(|t| t / colored),
        ),
    );
}

/// Every method to equal quality, ours too: does parallel Gauss–Seidel beat parallel Jacobi?
fn all_methods(bench: &Bench, findings: &mut Findings, plan: &Plan, outcome: &Outcome) {
    let base = outcome.run(GAUSS_SEIDEL, 1).map(|t| t.solve);
    let contenders = outcome.contenders.iter().filter(|c| !is_his(&c.method));
    let rows = contenders.flat_map(|c| bench.threads.iter().map(move |n| (c, *n)));
    let rows: Vec<(&Contender, usize)> = rows.collect();
    let run = |(c, threads): &(&Contender, usize)| outcome.run(c.method, *threads);
    let scene = outcome.demo.scene.replace('_', "-");
    let title = format!("Time to {}: {}", plan.quality, outcome.demo.name);
    findings.table(
        Columns::new(format!("equal-quality-{scene}"), title, "", &rows)
            .key("method", |(c, _)| c.method)
            .key("threads", |(_, threads)| threads)
            .column("iterations", |(c, _)| c.iterations.map(f64::from))
            .column("time [ms]", |row| run(row).map(|t| 1e3 * t.solve))
            .column("prepare [ms]", |row| run(row).map(|t| 1e3 * t.prepare))
            .column("time with prepare [ms]", |row| {
                run(row).map(|t| 1e3 * (t.solve + t.prepare))
            })
            .column("speed-up on gauss-seidel", |row| {
                Some(base? / run(row)?.solve)
            })
            .remark(|(c, _)| &c.remark),
    );
}

fn colors(findings: &mut Findings, plan: &Plan, outcome: &Outcome) {
    let rows = plan.colors.iter().filter_map(|colors| {
        let (_, method, _) = *colors;
        let timing = race::of(&outcome.sweeps, method, 1)?;
        let sizes = timing.report.distribution(COLORS)?.iter().copied();
        let sizes = sizes.filter(|n| *n > 0);
        Some((colors, sizes.collect()))
    });
    let rows: Vec<(&Colors, Vec<u32>)> = rows.collect();
    let pairs = |((_, _, there), found): &(&Colors, Vec<u32>)| {
        let there = there.filter(|_| outcome.demo.scene == plan.compared);
        let [colors, largest, smallest] = there.map_or([None; 3], |there| there.map(Some));
        let count = Some(found.len() as f64).filter(|n| *n > 0.0);
        [
            (colors, count),
            (largest, found.iter().max().map(|n| f64::from(*n))),
            (smallest, found.iter().min().map(|n| f64::from(*n))),
        ]
    };
    let scene = outcome.demo.scene.replace('_', "-");
    let title = format!("Colours found: {}", outcome.demo.name);
    let id = format!("poulsen-7-colours-{scene}");
    findings.table(
        Columns::new(id, title, "Poulsen 2010, 7.3", &rows)
            .key("colouring", |((name, ..), _)| name)
            .columns(["colours", "largest", "smallest"], pairs)
            .remark(|(_, found)| {
                let list: Vec<String> = found.iter().take(9).map(u32::to_string).collect();
                list.join(", ") + if found.len() > 9 { ", …" } else { "" }
            })
            .notes(plan.notes[1]),
    );
}

/// γ against iterations for every method.
pub fn convergence(bench: &Bench, case: &Case, outcome: &Outcome) -> Result<Plot> {
    let name = outcome.demo.name;
    let mut plot = Plot::new(
        format!("Quality by iterations: {name}"),
        Axis::Linear("iterations"),
        Axis::Log("γ [N² s²]"),
    );
    for c in outcome.drawn() {
        bench.say(format!("{name}: convergence of {}", c.method));
        let mut line = Vec::new();
        for n in [2, 5, 10, 20, 30, 40, 50, 60, 70, 85, 100] {
            if let Some(gamma) = bench.gamma(case, c.method, n)? {
                line.push([f64::from(n), gamma]);
            }
        }
        plot.add(c.method, line, Mark::Line);
    }
    Ok(plot)
}

/// A time of every method (s) against the number of threads.
fn by_threads(
    bench: &Bench,
    outcome: &Outcome,
    what: &str,
    time: impl Fn(Method, usize) -> Option<f64>,
) -> Plot {
    let mut plot = Plot::new(
        format!("{what}: {}", outcome.demo.name),
        Axis::Whole("threads"),
        Axis::Log("time [ms]"),
    );
    for c in outcome.drawn() {
        let threads = bench.threads.iter();
        let line = threads.filter_map(|n| Some([*n as f64, 1e3 * time(c.method, *n)?]));
        plot.add(c.method, line, Mark::Line);
    }
    plot
}

fn threads_plot(bench: &Bench, outcome: &Outcome) -> Plot {
    let time = |method, n| outcome.sweep(method, n);
    let mut plot = by_threads(bench, outcome, "Time of one iteration", time);
    // The two ends of the thesis's curves that its tables give.
    let demo = outcome.demo;
    let names = ["thesis: OpenMP Jacobi", "thesis: OpenMP Jacobi T"];
    for (name, [one, sequential, _]) in names.into_iter().zip([demo.openmp, demo.openmp_t]) {
        let eight = 1e3 * sweep(demo.jacobi) / sequential;
        let ends = [[1.0, eight * one], [8.0, eight]];
        plot.add(name, ends, Mark::Reference);
    }
    plot
}
