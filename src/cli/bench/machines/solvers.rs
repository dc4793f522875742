//! What each solver makes of the crane: in a world of its own, and on one and the same problem.

use std::time::Instant;

use moreau::measure::table::{Layout, Pair, Table};
use moreau::measure::{Stage, Summary};
use moreau::problem::residual::{self, ResidualWorkspace};
use moreau::scene::library;
use moreau::solve::{Budget, Request, Status};

use super::super::measure::Bench;
use super::super::methods::{self, Method};
use super::super::{Failure, Findings};
use super::record::{BUDGET, Kept, Recording};

/// The scene.
pub const SCENE: &str = "crane";

/// Makes both tables, given a recording of the crane.
pub fn run(
    bench: &mut Bench,
    findings: &mut Findings,
    recording: &Recording,
) -> Result<(), Failure> {
    let contenders = contenders(bench);
    findings.table(own_worlds(bench, &contenders)?);
    if let Some(kept) = hardest(recording) {
        findings.table(same_problem(bench, &contenders, kept)?);
    }
    Ok(())
}

/// Solvers with their budgets.
fn contenders(bench: &mut Bench) -> Vec<(Method, Budget)> {
    let iterative = bench.offer([
        methods::colored_f64(),
        methods::gauss_seidel(),
        methods::jacobi_degree(),
        methods::nncg(),
    ]);
    let mut list = Vec::new();
    for method in iterative {
        for iterations in [50, 500, 5000] {
            let budget = Budget {
                iterations,
                tolerance: 1e-9,
                ..Budget::default()
            };
            list.push((method.clone(), budget));
        }
    }
    let direct = [
        methods::bpp("bpp", "skyline", true, false),
        methods::bpp("bpp sparse", "sparse", true, false),
    ];
    list.extend(bench.offer(direct).into_iter().map(|m| (m, BUDGET)));
    list
}

fn keys(method: &Method, budget: &Budget) -> [String; 2] {
    let iterations = match method.solver {
        "bpp" => "pivots".to_owned(),
        _ => budget.iterations.to_string(),
    };
    [method.label.to_owned(), iterations]
}

/// The crane's first seconds with each solver.
fn own_worlds(bench: &Bench, contenders: &[(Method, Budget)]) -> Result<Table, Failure> {
    let seconds = bench.either(0.25, 5.0);
    let quantities = [
        ("largest joint error", "mm"),
        ("joint error at the end", "mm"),
        ("median residual", "m/s"),
        ("largest residual", "m/s"),
        ("median step", "ms"),
        ("p95 step", "ms"),
    ];
    let keys_of = ["solver", "iterations"];
    let mut table = Table::new("crane-solvers", Layout::Columns, &keys_of, &quantities).titled(
        format!("What each solver makes of the crane: its first {seconds} s, each in its own world, one thread"),
        "",
    );
    table.notes.push(
        "Iterations are the most of each solve; solvers stop early at 1e-9 m/s. Residuals under the law that each solves."
            .to_owned(),
    );
    for (method, budget) in contenders {
        bench.say(format!("crane by {}", method.label));
        if bench.quick && method.solver != "bpp" && budget.iterations > 500 {
            table.row(keys(method, budget), [], "not in a quick run");
            continue;
        }
        let run = own_world(bench, method, *budget, seconds)?;
        table.row(keys(method, budget), run.0, run.1);
    }
    Ok(table)
}

/// One run: its numbers and how it ended.
fn own_world(
    bench: &Bench,
    method: &Method,
    budget: Budget,
    seconds: f64,
) -> Result<([Pair; 6], String), Failure> {
    let mut simulation = library::shipped(SCENE)?.simulation(1)?;
    let config = method.config(budget);
    let config = config.map_err(|lacking| Failure::Work(format!("{lacking} is missing")))?;
    simulation.set_solver(config)?;
    let steps = (seconds / simulation.world().settings.step).round() as usize;
    let limit = bench.either(1.0, 60.0);
    let start = Instant::now();
    let (mut errors, mut residuals, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let mut remark = String::new();
    let mut failed = 0;
    for step in 1..=steps {
        if start.elapsed().as_secs_f64() > limit {
            remark = format!("{} of {steps} steps: time was over", step - 1);
            break;
        }
        let report = match simulation.step() {
            Ok(report) => report,
            Err(error) => {
                remark = error.to_string();
                break;
            }
        };
        failed += usize::from(matches!(report.solve.status, Status::Failed(_)));
        errors.push(1e3 * report.joint_error);
        residuals.push(report.residual.residual);
        times.push(1e3 * report.timings.get(Stage::Step));
    }
    if failed > 0 && remark.is_empty() {
        remark = format!("failed in {failed} steps, where the fallback took over");
    }
    let (error, residual, time) = (
        Summary::of(&errors),
        Summary::of(&residuals),
        Summary::of(&times),
    );
    let last = errors.last().copied().unwrap_or(f64::NAN);
    let numbers = [
        error.max,
        last,
        residual.median,
        residual.max,
        time.median,
        time.p95,
    ];
    Ok((numbers.map(Pair::here), remark))
}

/// The kept problem with the most contact rows, of those with as many the last.
fn hardest(recording: &Recording) -> Option<&Kept> {
    let kept = recording.kept.iter();
    kept.max_by_key(|k| k.problem.contact_rows())
}

/// Each solver on the same problem from the step's own start.
fn same_problem(
    bench: &Bench,
    contenders: &[(Method, Budget)],
    kept: &Kept,
) -> Result<Table, Failure> {
    let quantities = [
        ("iterations done", "-"),
        ("residual at the start", "m/s"),
        ("residual", "m/s"),
        ("joints' part", "m/s"),
        ("time", "ms"),
    ];
    let title = format!(
        "The same problem for all: the crane at {:.2} s, {} contacts, {} rows",
        kept.time,
        kept.problem.contacts.len(),
        kept.problem.row_count()
    );
    let mut table = Table::new(
        "crane-problem",
        Layout::Columns,
        &["solver", "iterations"],
        &quantities,
    )
    .titled(title, "");
    let mut workspace = ResidualWorkspace::default();
    let rounds = bench.either(1, 5);
    for (method, budget) in contenders {
        let mut solver = Bench::build(method, *budget)?;
        let request = Request {
            budget: *budget,
            history: false,
        };
        let under = solver.under();
        let before = residual::evaluate(&kept.problem, &kept.start, under, &mut workspace);
        let mut times = Vec::new();
        let mut lambda = Vec::new();
        let mut report = Default::default();
        for _ in 0..=rounds {
            lambda.clone_from(&kept.start);
            let mut velocity = Vec::new();
            report = bench
                .pool(1)
                .install(|| solver.solve(&kept.problem, &request, &mut lambda, &mut velocity));
            times.push(1e3 * (report.prepare_time + report.solve_time));
        }
        let remark = match report.status {
            Status::Failed(reason) | Status::Stalled(reason) => reason,
            _ => String::new(),
        };
        let after = residual::evaluate(&kept.problem, &lambda, under, &mut workspace);
        table.row(
            keys(method, budget),
            [
                f64::from(report.iterations),
                before.residual,
                after.residual,
                after.bilateral,
                Summary::of(&times[1..]).median,
            ]
            .map(Pair::here),
            remark,
        );
    }
    Ok(table)
}
