//! What each solver makes of the crane: in a world of its own, and on one and the same problem.

use super::record::{self, BUDGET, Kept, Recording, milliseconds};
use crate::measure::Summary;
use crate::papers::measure::Bench;
use crate::papers::measure::method::{COLORED_F64, GAUSS_SEIDEL, JACOBI_DEGREE, Method, NNCG};
use crate::papers::measure::race::{self, Racer};
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::problem::residual::{self, ResidualWorkspace};
use crate::scene::library;
use crate::solve::{Budget, Status};
use crate::step::StepReport;

/// The scene.
pub const SCENE: &str = "crane";

const ITERATIVE: [Method; 4] = [COLORED_F64, GAUSS_SEIDEL, JACOBI_DEGREE, NNCG];
const DIRECT: [Method; 2] = [
    Method::new("bpp: bpp factorization=skyline"),
    Method::new("bpp sparse: bpp factorization=sparse"),
];

/// Takes the kept problem with the most contact rows out of a recording, of those with as many the last.
pub fn hardest(recording: &mut Recording) -> Option<Kept> {
    let kept = recording.kept.drain(..);
    kept.max_by_key(|k| k.problem.contact_rows())
}

/// Adds both tables.
pub fn report(bench: &Bench, findings: &mut Findings, hardest: &Kept) -> Result<()> {
    own_worlds(bench, findings)?;
    same_problem(bench, findings, hardest)
}

/// All solvers with their budgets.
fn contenders() -> impl Iterator<Item = (Method, Budget)> {
    let limited = ITERATIVE.into_iter().flat_map(|method| {
        [50, 500, 5000].map(|iterations| {
            let budget = Budget {
                iterations,
                tolerance: 1e-9,
                ..Budget::default()
            };
            (method, budget)
        })
    });
    limited.chain(DIRECT.map(|method| (method, BUDGET)))
}

fn iterations(method: Method, budget: Budget) -> String {
    match method.solver() {
        "bpp" => "pivots".to_owned(),
        _ => budget.iterations.to_string(),
    }
}

/// A number of a run's steps, if it took any.
fn of(
    steps: &[StepReport],
    value: fn(&StepReport) -> f64,
    number: fn(Summary) -> f64,
) -> Option<f64> {
    Summary::some(steps.iter().map(value)).map(number)
}

/// The crane's first seconds with each solver.
fn own_worlds(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let seconds = bench.either(0.25, 5.0);
    let mut worlds = Vec::new();
    for (method, budget) in contenders() {
        bench.say(format!("crane by {method}"));
        let (steps, remark) = own_world(bench, method, budget, seconds)?;
        worlds.push((method, budget, steps, remark));
    }
    let title = format!(
        "What each solver makes of the crane: its first {seconds} s, each in its own world, one thread"
    );
    let error = |s: &StepReport| 1e3 * s.joint_error;
    findings.table(
        Columns::new("crane-solvers", title, "", &worlds)
            .key("solver", |(method, ..)| method)
            .key("iterations", |(method, budget, ..)| iterations(*method, *budget))
            .column("largest joint error [mm]", |(_, _, steps, _)| of(steps, error, |s| s.max))
            .column("joint error at the end [mm]", |(_, _, steps, _)| steps.last().map(error))
            .column("median residual [m/s]", |(_, _, steps, _)| of(steps, record::residual, |s| s.median))
            .column("largest residual [m/s]", |(_, _, steps, _)| of(steps, record::residual, |s| s.max))
            .column("median step [ms]", |(_, _, steps, _)| of(steps, milliseconds, |s| s.median))
            .column("p95 step [ms]", |(_, _, steps, _)| of(steps, milliseconds, |s| s.p95))
            .remark(|(.., remark)| remark)
            .note(
                "Iterations are the most of each solve; solvers stop early at 1e-9 m/s. Residuals under the law that \
                 each solves.",
            ),
    );
    Ok(())
}

fn own_world(
    bench: &Bench,
    method: Method,
    budget: Budget,
    seconds: f64,
) -> Result<(Vec<StepReport>, String)> {
    if bench.quick && method.solver() != "bpp" && budget.iterations > 500 {
        return Ok((Vec::new(), "not in a quick run".to_owned()));
    }
    let mut simulation = library::shipped(SCENE)?.simulation(1)?;
    simulation.set_solver(method.config(budget))?;
    let count = (seconds / simulation.world().settings.step).round() as usize;
    let limit = bench.either(1.0, 60.0);
    let (steps, mut remark) = record::run(&mut simulation, count, limit, |_, _| ());
    let failed = steps.iter().filter(|s| !s.solve.status.is_usable()).count();
    if failed > 0 && remark.is_empty() {
        remark = format!("failed in {failed} steps, where the fallback took over");
    }
    Ok((steps, remark))
}

/// Each solver on the same problem from the step's own start.
fn same_problem(bench: &Bench, findings: &mut Findings, kept: &Kept) -> Result<()> {
    let problem = &kept.problem;
    let racers = contenders().map(|(method, budget)| Racer::new(method, 1, budget));
    let mut racers = racers.collect::<Result<Vec<Racer>>>()?;
    let mut race = |most| {
        race::in_turns(
            bench,
            &mut racers,
            problem,
            Some(&kept.start),
            (most, f64::INFINITY),
        )
    };
    race(1);
    let timings = race(bench.either(1, 5));
    let mut workspace = ResidualWorkspace::default();
    let rows = timings.iter().zip(&racers).map(|(timing, racer)| {
        let law = racer.solver().judged_law();
        let [before, after] = [&kept.start, &racer.lambda]
            .map(|lambda| residual::evaluate(problem, lambda, law, &mut workspace));
        (racer, timing.whole, before, after)
    });
    let rows: Vec<_> = rows.collect();
    let title = format!(
        "The same problem for all: the crane at {:.2} s, {} contacts, {} rows",
        kept.time,
        problem.contacts.len(),
        problem.row_count()
    );
    findings.table(
        Columns::new("crane-problem", title, "", &rows)
            .key("solver", |(r, ..)| r.method)
            .key("iterations", |(r, ..)| iterations(r.method, r.budget))
            .column("iterations done", |(r, ..)| f64::from(r.report.iterations))
            .column("residual at the start [m/s]", |(.., before, _)| {
                before.residual
            })
            .column("residual [m/s]", |(.., after)| after.residual)
            .column("joints' part [m/s]", |(.., after)| after.bilateral)
            .column("time [ms]", |(_, time, ..)| 1e3 * time)
            .remark(|(r, ..)| match &r.report.status {
                Status::Failed(reason) | Status::Stalled(reason) => reason,
                _ => "",
            }),
    );
    Ok(())
}
