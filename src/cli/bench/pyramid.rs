//! `moreau bench pyramid`: Munksgaard & Kaiser's disc pyramids, with and without relaxation by 1/degree.

use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};
use moreau::problem::{FrictionLaw, Problem};
use moreau::solve::{Budget, HistoryPoint, Status};

use super::measure::{Bench, Case};
use super::methods::{self, Method};
use super::{Failure, Findings, paper};

/// The residual to reach (m/s); it begins at about 0.1.
const TOLERANCE: f64 = 1e-6;
/// The pyramid whose convergence is drawn.
const DRAWN: u32 = 8;
/// Most iterations of the bare scheme, whose impulses' growth is measured over the second half.
const BARE: usize = 2000;
/// A sum of impulses (N s) that has grown for ever.
const FOR_EVER: f64 = 1e100;

/// The paper's problem, and the same under gravity with friction.
const SCENES: [(&str, &str); 2] = [
    ("disc_pyramid_loaded", "top pushed down, no friction"),
    ("disc_pyramid", "gravity, friction"),
];

/// Runs the suite.
pub fn run(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    let heights: &[u32] = bench.either(&[2, 4, 8], &[2, 4, 8, 12, 16, 20, 24, 28, 32]);
    let list = bench.offer([
        methods::jacobi("jacobi, no relaxation", "factorized", "local", 1.0),
        methods::jacobi_degree(),
        methods::jor(),
        methods::jacobi_global(),
        methods::gauss_seidel(),
        methods::colored_f64(),
        methods::nncg(),
    ]);
    let mut sizes = Table::new(
        "munksgaard-kaiser-problems",
        Layout::Beside,
        &["layers"],
        &[
            ("contacts between discs", "-"),
            ("most neighbours of a contact", "-"),
        ],
    )
    .titled("The problems", "Munksgaard & Kaiser, section 2");
    let mut bare = Table::new(
        "munksgaard-kaiser-bare",
        Layout::Columns,
        &["problem", "layers"],
        &[("growth, none", "-"), ("growth, 1/degree", "-")],
    )
    .titled(
        "Bare Jacobi without any safeguard: factor by which the sum of impulses grows per iteration",
        "",
    );
    for (scene, name) in SCENES {
        let quantities = [
            ("iterations", "-"),
            ("residual at the end", "m/s"),
            ("R halved", "-"),
            ("time", "ms"),
        ];
        let mut table = Table::new(
            &format!("munksgaard-kaiser-{}", scene.replace('_', "-")),
            Layout::Columns,
            &["layers", "method"],
            &quantities,
        )
        .titled(
            format!("Iterations to a residual of {TOLERANCE:e} m/s: {name}"),
            "",
        );
        let mut by_height: Vec<Vec<[f64; 2]>> = vec![Vec::new(); list.len()];
        for &layers in heights {
            let value = layers.to_string();
            let case = bench.case(scene, &[("generators.0.layers", &value)])?;
            if scene == SCENES[0].0 {
                sizes.row(
                    [value.clone()],
                    [
                        Pair::both(
                            paper::pyramid_contacts(layers),
                            case.problem.contacts.len() as f64,
                        ),
                        Pair {
                            // The paper's ten are reached only where a pyramid has an inside.
                            paper: (layers >= 8).then_some(paper::PYRAMID_NEIGHBOURS),
                            here: Some(f64::from(most_neighbours(&case.problem))),
                        },
                    ],
                    "",
                );
            }
            bare.row(
                [name.to_owned(), value.clone()],
                [
                    growth(&case.problem, false).into(),
                    growth(&case.problem, true).into(),
                ],
                "",
            );
            let mut plot = Plot {
                title: format!("Convergence: disc pyramid of {layers} layers, {name}"),
                x: Axis::log("iterations", "-"),
                y: Axis::log("residual", "m/s"),
                ..Plot::default()
            };
            for (method, line) in list.iter().zip(&mut by_height) {
                let run = converge(bench, &case, method)?;
                table.row(
                    [value.clone(), method.label.to_owned()],
                    [
                        run.iterations.map(f64::from).into(),
                        run.last.into(),
                        f64::from(run.halvings).into(),
                        run.iterations.map(|_| 1e3 * run.time).into(),
                    ],
                    run.remark,
                );
                let iterations = run.iterations.map_or(f64::NAN, f64::from);
                line.push([f64::from(layers), iterations]);
                if layers == DRAWN {
                    plot.add(method.label, thinned(&run.history), Mark::Line);
                }
            }
            if layers == DRAWN {
                findings.plot(format!("{scene}-convergence"), plot);
            }
        }
        let mut plot = Plot {
            title: format!("Iterations to {TOLERANCE:e} m/s by height: {name}"),
            x: Axis::whole("layers"),
            y: Axis::log("iterations", "-"),
            ..Plot::default()
        };
        for (method, line) in list.iter().zip(by_height) {
            plot.add(method.label, line, Mark::Line);
        }
        findings.table(table);
        findings.plot(format!("{scene}-height"), plot);
    }
    sizes.notes.push(
        "The paper gives no times and no iterations; it says that without relaxation the sum of impulses grows for ever."
            .to_owned(),
    );
    bare.notes.push(
        "Above 1 the scheme diverges; the solvers below are meant to detect that, to roll back and to halve R."
            .to_owned(),
    );
    findings.tables.insert(1, sizes);
    findings.tables.insert(2, bare);
    Ok(())
}

/// A run to the tolerance.
struct Run {
    /// First iteration from which on the residual stays below the tolerance.
    iterations: Option<u32>,
    time: f64,
    last: Option<f64>,
    halvings: u32,
    history: Vec<HistoryPoint>,
    remark: String,
}

fn converge(bench: &mut Bench, case: &Case, method: &Method) -> Result<Run, Failure> {
    let most = bench.either(1000, 5000);
    bench.say(format!(
        "{} on {} contacts",
        method.label,
        case.problem.contacts.len()
    ));
    // A solver stops by what it sees, so a little later than the residual says.
    let budget = Budget {
        iterations: most,
        tolerance: 0.03 * TOLERANCE,
        ..Budget::default()
    };
    let report = bench.solve(&case.problem, method, budget, true)?.report;
    let failed = matches!(report.status, Status::Failed(_));
    let history = report.history;
    let above = history
        .iter()
        .rposition(|p| p.residual.is_nan() || p.residual > TOLERANCE);
    let reached = history.get(above.map_or(0, |k| k + 1)).filter(|_| !failed);
    Ok(Run {
        iterations: reached.map(|p| p.iteration),
        time: reached.map_or(0.0, |p| p.time),
        last: history.last().map(|p| p.residual),
        halvings: report.halvings,
        remark: match (reached, report.status) {
            (_, Status::Failed(reason)) => reason,
            (None, _) => format!("not within {most} iterations"),
            _ => String::new(),
        },
        history,
    })
}

/// At most a few hundred points of a history, evenly on a logarithmic axis.
fn thinned(history: &[HistoryPoint]) -> Vec<[f64; 2]> {
    let mut next = 1.0;
    let mut points = Vec::new();
    for p in history {
        let n = f64::from(p.iteration);
        if n >= next || p.iteration as usize == history.len() {
            points.push([n, p.residual]);
            next = n * 1.02;
        }
    }
    points
}

/// Other contacts on each contact's bodies.
fn neighbours(problem: &Problem) -> Vec<u32> {
    let mut degree = vec![0u32; problem.bodies.len()];
    for pair in &problem.contacts.bodies {
        for b in pair {
            if problem.bodies.is_dynamic(*b as usize) {
                degree[*b as usize] += 1;
            }
        }
    }
    let of = |pair: &[u32; 2]| {
        let others = pair.map(|b| degree[b as usize].saturating_sub(1));
        others[0] + others[1]
    };
    problem.contacts.bodies.iter().map(of).collect()
}

fn most_neighbours(problem: &Problem) -> u32 {
    neighbours(problem).into_iter().max().unwrap_or(0)
}

/// Factor per iteration by which Σ|Λ| of plain Jacobi, R = 1/A_ii, grows over the second half of its
/// iterations. The solvers themselves do not show this: they notice and roll back.
fn growth(problem: &Problem, by_degree: bool) -> f64 {
    let omega: Vec<f64> = neighbours(problem)
        .into_iter()
        .map(|n| match by_degree {
            true => 1.0 / f64::from(n.max(1)),
            false => 1.0,
        })
        .collect();
    let mut lambda = vec![0.0; problem.row_count()];
    let mut u = Vec::new();
    let mut sums: Vec<f64> = Vec::new();
    while sums.len() < BARE && sums.last().is_none_or(|s| *s < FOR_EVER) {
        problem.velocities(&lambda, &mut u);
        for (c, omega) in omega.iter().enumerate() {
            let block = &mut lambda[problem.contacts.rows(c)];
            let friction = &problem.contacts.friction[c];
            let mut w = [0.0; FrictionLaw::MAX_ROWS];
            let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_velocity(c, &u, block, &mut w);
            problem.contact_diagonal(c, &mut diagonal);
            let rows = 1..block.len();
            let largest = diagonal[rows.clone()].iter().copied().fold(0.0, f64::max);
            let normal = (block[0] - w[0] / diagonal[0]).max(0.0);
            let mut next = [normal; FrictionLaw::MAX_ROWS];
            for k in rows.clone() {
                next[k] = block[k] - w[k] / largest;
            }
            friction.law.project(&mut next[rows], friction.mu, normal);
            for (x, next) in block.iter_mut().zip(next) {
                *x += omega * (next - *x);
            }
        }
        sums.push(lambda.iter().map(|x| x.abs()).sum());
    }
    let (half, last) = (sums.len() / 2, sums.len() - 1);
    (sums[last] / sums[half]).powf(1.0 / (last - half).max(1) as f64)
}
