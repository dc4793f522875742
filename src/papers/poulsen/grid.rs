//! What is asked of the ball grids alone: our sweeps beside the thesis's, naive Gauss–Seidel, weak scaling.

use super::figures::{BALL_GRIDS, NAIVE_QUALITY, NAIVE_SECONDS, sweep};
use super::{
    COLORED_T, GRID_SETTINGS, HIS_GAUSS_SEIDEL, HIS_JACOBI, HIS_NAIVE, ITERATIONS, NAIVE, Outcome,
};
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::Bench;
use crate::papers::measure::method::{
    COLORED_F32, COLORED_F64, GAUSS_SEIDEL_T, JACOBI, JACOBI_T, Method,
};
use crate::papers::measure::race::{self, Timing};
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::problem::Problem;

/// Adds it all.
pub fn report(bench: &Bench, findings: &mut Findings, outcomes: &[Outcome]) -> Result<()> {
    if let Some(large) = outcomes.last() {
        against_the_thesis(bench, findings, large);
        ratios(bench, findings, large);
        findings.plot("ball_grid-contacts", by_size(bench, outcomes, large));
    }
    naive(bench, findings)?;
    spin(bench, findings)?;
    weak(bench, findings)
}

/// Our sweeps beside the thesis's sequential Gauss–Seidel and its best parallel Jacobi.
fn against_the_thesis(bench: &Bench, findings: &mut Findings, large: &Outcome) {
    let contenders = large.contenders.iter();
    let each = contenders.flat_map(|c| bench.threads.iter().map(move |n| (c.method, *n)));
    let rows: Vec<_> = each
        .filter_map(|(method, n)| Some((method, n, 1e3 * large.sweep(method, n)?)))
        .collect();
    let title = format!("One sweep: {}", large.demo.name);
    findings.table(
        Columns::new(
            "poulsen-sweep",
            title,
            "Poulsen 2010, tables 3.3 and 6.3",
            &rows,
        )
        .key("method", |(method, ..)| method)
        .key("threads", |(_, threads, _)| threads)
        .column("sweep, beside sequential Gauss–Seidel [ms]", |row| {
            (1e3 * sweep(large.demo.gauss_seidel), row.2)
        })
        .column(
            "sweep, beside the best parallel Jacobi (8 cores) [ms]",
            |row| (1e3 * large.demo.parallel_sweep(), row.2),
        ),
    );
}

/// Ratios within this run, which do not depend on the machine's mood.
fn ratios(bench: &Bench, findings: &mut Findings, large: &Outcome) {
    let most = bench.most_threads();
    let triad = bench.triad(most) / bench.triad(1);
    let mut rows = vec![(format!("triad, {most} threads over 1"), Some(triad))];
    let over = |a: Option<f64>, b: Option<f64>| Some(a? / b?);
    rows.extend(large.contenders.iter().map(|c| {
        let sweep = |threads| large.sweep(c.method, threads);
        let name = format!("speed of {}, {most} threads over 1", c.method);
        (name, over(sweep(1), sweep(most)))
    }));
    rows.extend([1, most].map(|threads| {
        let [single, double] = [COLORED_F32, COLORED_F64].map(|m| large.sweep(m, threads));
        let name = format!("speed of colored-gs, f64 over f32, threads: {threads}");
        (name, over(single, double))
    }));
    rows.retain(|(_, ratio)| ratio.is_some());
    let title = format!("Within this run: {}", large.demo.name);
    findings.table(
        Columns::new("ratios", title, "", &rows)
            .key("ratio", |(name, _)| name)
            .column("here", |(_, ratio)| *ratio),
    );
}

/// Time per contact by size: where the caches end.
fn by_size(bench: &Bench, outcomes: &[Outcome], large: &Outcome) -> Plot {
    let mut plot = Plot::new(
        "Time of one iteration per contact: ball grids",
        Axis::Log("contacts"),
        Axis::Log("time per contact and iteration [ns]"),
    );
    let point = |o: &Outcome, sweep: f64| [o.demo.contacts, 1e9 * sweep / o.demo.contacts];
    for c in large.drawn() {
        let line = outcomes.iter();
        let line = line.filter_map(|o| Some(point(o, o.sweep(c.method, bench.most_threads())?)));
        plot.add(c.method, line, Mark::Line);
    }
    let thesis = outcomes.iter().map(|o| point(o, o.demo.parallel_sweep()));
    plot.add("thesis: best Jacobi", thesis, Mark::Reference);
    plot
}

/// Quality of Gauss–Seidel in parts that do not see each other: with the thesis's R, with ours, and with ours relaxed.
fn naive(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let families = [
        ("his R, undamped", [HIS_NAIVE[0], HIS_NAIVE[1]]),
        ("local R, undamped", [NAIVE[2], NAIVE[3]]),
        ("local R, damped", [NAIVE[0], NAIVE[1]]),
    ];
    let mut rows = Vec::new();
    let wanted = bench.either(&NAIVE_QUALITY[..1], &NAIVE_QUALITY[..]).iter();
    for (scene, there) in wanted.filter(|(scene, _)| bench.wants(scene)) {
        let case = bench.case(scene, &GRID_SETTINGS)?;
        for (family, methods) in families {
            for (k, method) in methods.into_iter().enumerate() {
                let gamma = bench.gamma(&case, method, ITERATIONS)?;
                let job = [(method, ITERATIONS)];
                let timing = bench.race(&case.problem, &job, &[bench.most_threads()], (3, 5.0))?;
                let is_his = family.starts_with("his");
                // The thesis gives the time of 8 parts on the large grid.
                let seconds =
                    (*scene == "ball_grid_40" && k == 1 && is_his).then_some(NAIVE_SECONDS);
                let timed = (seconds, timing.first().map(|t| t.solve));
                let quality = (is_his.then_some(there[k]), gamma);
                rows.push((scene, family, [1, 8][k], quality, timed));
            }
        }
    }
    findings.table(
        Columns::new(
            "poulsen-7.1",
            "Naive parallel Gauss–Seidel",
            "Poulsen 2010, 7.1",
            &rows,
        )
        .key("problem", |(scene, ..)| scene)
        .key("R", |(_, family, ..)| family)
        .key("parts", |(_, _, parts, ..)| parts)
        .column("γ after 50 iterations [N² s²]", |(.., gamma, _)| *gamma)
        .column("time, 8 cores there [s]", |(.., time)| *time),
    );
    Ok(())
}

/// The effective radius of the contacts' spin friction (m); the thesis does not say which it took.
const SPIN_RADIUS: (&str, &str) = ("materials.default.spin_radius", "0.01");

/// Contacts of four rows, with Coulomb–Contensou friction, as all of the thesis's have.
fn spin(bench: &Bench, findings: &mut Findings) -> Result<()> {
    const METHODS: [Method; 6] = [
        HIS_GAUSS_SEIDEL,
        HIS_JACOBI,
        GAUSS_SEIDEL_T,
        JACOBI_T,
        COLORED_F64,
        COLORED_T,
    ];
    let mut rows = Vec::new();
    let demos = bench.either(&BALL_GRIDS[..2], &BALL_GRIDS[..]).iter();
    for demo in demos.filter(|demo| bench.wants(demo.scene)) {
        let with = [GRID_SETTINGS[0], GRID_SETTINGS[1], SPIN_RADIUS];
        let [three, four] = [&GRID_SETTINGS[..], &with].map(|set| bench.case(demo.scene, set));
        let (three, four) = (three?, four?);
        let per_contact = |problem: &Problem| problem.row_count() / problem.contacts.len().max(1);
        let methods = METHODS.map(|method| (method, ITERATIONS));
        let rounds = bench.either((3, 0.5), (7, 8.0));
        let [of_three, of_four] =
            [&three, &four].map(|case| bench.race(&case.problem, &methods, &[1], rounds));
        let (of_three, of_four) = (of_three?, of_four?);
        for method in METHODS {
            let gamma = bench.gamma(&four, method, ITERATIONS)?;
            let there = (method == HIS_GAUSS_SEIDEL).then_some(demo.gauss_seidel[1]);
            let sweep = race::sweep(&of_four, method, 1);
            let over = sweep.zip(race::sweep(&of_three, method, 1));
            let numbers = [
                (None, Some(per_contact(&four.problem) as f64)),
                (there, gamma),
                (None, sweep.map(|t| 1e3 * t)),
                (None, over.map(|(four, three)| four / three)),
            ];
            rows.push((demo.name, method, numbers));
        }
    }
    let names = [
        "rows of a contact",
        "γ after 50 iterations [N² s²]",
        "iteration [ms]",
        "over that with three rows",
    ];
    let title = "Contacts with spin friction: blocks of 4 × 4, one thread";
    findings.table(
        Columns::new(
            "poulsen-spin",
            title,
            "Poulsen 2010, 2.1.3 and table 3.3",
            &rows,
        )
        .key("problem", |(problem, ..)| problem)
        .key("method", |(_, method, _)| method)
        .columns(names, |(.., numbers)| *numbers),
    );
    Ok(())
}

/// Weak scaling: as many contacts per thread on every number of threads.
fn weak(bench: &Bench, findings: &mut Findings) -> Result<()> {
    struct Point {
        size: f64,
        contacts: usize,
        timing: Timing,
    }
    impl Point {
        /// Time per contact and thread (s).
        fn share(&self) -> f64 {
            self.timing.per_iteration() * self.timing.threads as f64 / self.contacts as f64
        }
    }
    const METHODS: [Method; 4] = [JACOBI, JACOBI_T, COLORED_F32, COLORED_F64];
    let mut by_method = METHODS.map(|_| Vec::new());
    // Its grids have sizes of their own.
    let threads = bench.threads.iter().filter(|_| bench.only.is_empty());
    for threads in threads {
        let size = (bench.either(16.0, 32.0f64) * (*threads as f64).cbrt()).round();
        let case = bench.case("ball_grid_24", &[("generators.0.size", &size.to_string())])?;
        let methods = METHODS.map(|m| (m, ITERATIONS));
        let rounds = bench.either((3, 0.5), (7, 5.0));
        let timings = bench.race(&case.problem, &methods, &[*threads], rounds)?;
        for (points, timing) in by_method.iter_mut().zip(timings) {
            points.push(Point {
                size,
                contacts: case.problem.contacts.len(),
                timing,
            });
        }
    }
    let mut points = by_method.into_iter().flatten().collect::<Vec<Point>>();
    points.retain(|p| p.timing.failure().is_none());
    let label = |p: &Point| p.timing.method;
    let efficiency = |p: &Point| {
        let one = points
            .iter()
            .find(|q| label(q) == label(p) && q.timing.threads == 1);
        one.map_or(f64::NAN, Point::share) / p.share()
    };
    let mut plot = Plot::new(
        "Weak scaling: ball grids that grow with the threads",
        Axis::Whole("threads"),
        Axis::Linear("efficiency"),
    );
    for own in points.chunk_by(|a, b| label(a) == label(b)) {
        let line = own.iter().map(|p| [p.timing.threads as f64, efficiency(p)]);
        plot.add(label(&own[0]), line, Mark::Line);
    }
    let title = "Weak scaling: the grid grows with the threads, as many contacts for each";
    findings.table(
        Columns::new("weak-scaling", title, "", &points)
            .key("method", label)
            .key("threads", |p| p.timing.threads)
            .key("grid", |p| format!("{}³", p.size))
            .column("contacts", |p| p.contacts as f64)
            .column("iteration [ms]", |p| 1e3 * p.timing.per_iteration())
            .column("time per contact and thread [ns]", |p| 1e9 * p.share())
            .column("efficiency", efficiency),
    );
    findings.plot("ball_grid-weak", plot);
    Ok(())
}
