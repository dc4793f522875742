//! Munksgaard & Kaiser: disc pyramids, with and without relaxation by 1/degree.

use super::measure::method::{
    COLORED_F64, GAUSS_SEIDEL, JACOBI, JACOBI_DEGREE, JACOBI_GLOBAL, JOR, Method, NNCG,
};
use super::measure::table::Columns;
use super::measure::{Bench, Case};
use super::{Findings, Result};
use crate::measure::plot::{Axis, Mark, Plot};
use crate::problem::{FrictionLaw, Problem};
use crate::solve::sweeps::HALVINGS;
use crate::solve::{Budget, HistoryPoint, SolveReport, Status};

/// The residual to reach (m/s); it begins at about 0.15, what a step of gravity or of the load makes.
const TOLERANCE: f64 = 1e-6;
/// The pyramid whose convergence is drawn.
const DRAWN: u32 = 8;
/// Most iterations of the bare scheme, whose impulses' growth is measured over the second half.
const BARE: usize = 2000;
/// A sum of impulses (N s) that has grown for ever.
const FOR_EVER: f64 = 1e100;
/// Most contacts that touch one contact's discs besides it (section 2).
const NEIGHBOURS: f64 = 10.0;

/// The paper's problem, and the same under gravity with friction.
const SCENES: [(&str, &str); 2] = [
    ("disc_pyramid_loaded", "top pushed down, no friction"),
    ("disc_pyramid", "gravity, friction"),
];

const METHODS: [Method; 7] = [
    JACOBI.with(", no relaxation: "),
    JACOBI_DEGREE,
    JOR,
    JACOBI_GLOBAL,
    GAUSS_SEIDEL,
    COLORED_F64,
    NNCG,
];

/// Contacts between the discs of a pyramid of n layers (section 2).
fn contacts(layers: u32) -> f64 {
    1.5 * f64::from(layers) * (f64::from(layers) - 1.0)
}

/// A pyramid of one of the scenes.
struct Pyramid {
    /// What is special about it.
    name: &'static str,
    layers: u32,
    contacts: usize,
    neighbours: u32,
    /// Growth of the impulses per iteration of the bare scheme: as it is, and relaxed by 1/degree.
    growth: [f64; 2],
}

/// A method's way to the tolerance.
struct Run {
    layers: u32,
    method: Method,
    report: SolveReport,
    /// From where on the residual stays below the tolerance.
    reached: Option<HistoryPoint>,
    remark: String,
}

/// Disc pyramids: growth of the bare scheme, and iterations and time of every method to a residual.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn pyramid(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let heights: &[u32] = bench.either(&[2, 4, 8], &[2, 4, 8, 12, 16, 20, 24, 28, 32]);
    bench.check_only(SCENES.map(|(scene, _)| scene))?;
    let mut pyramids = Vec::new();
    let mut by_scene = Vec::new();
    let scenes = || SCENES.into_iter().filter(|(scene, _)| bench.wants(scene));
    for (scene, name) in scenes() {
        let mut runs = Vec::new();
        for &layers in heights {
            let case = bench.case(scene, &[("generators.0.layers", &layers.to_string())])?;
            let degrees = neighbours(&case.problem);
            pyramids.push(Pyramid {
                name,
                layers,
                contacts: case.problem.contacts.len(),
                neighbours: degrees.iter().copied().max().unwrap_or(0),
                growth: [
                    growth(&case.problem, |_| 1.0),
                    growth(&case.problem, |c| 1.0 / f64::from(degrees[c].max(1))),
                ],
            });
            for method in METHODS {
                runs.push(converge(bench, &case, layers, method)?);
            }
        }
        by_scene.push(runs);
    }
    problems(findings, &pyramids);
    for ((scene, name), runs) in scenes().zip(&by_scene) {
        convergence(findings, scene, name, runs);
    }
    Ok(())
}

fn problems(findings: &mut Findings, pyramids: &[Pyramid]) {
    // The contacts between discs are those of the scene that has no others.
    let loaded = pyramids.iter().filter(|p| p.name == SCENES[0].1);
    let loaded: Vec<&Pyramid> = loaded.collect();
    let id = "munksgaard-kaiser-problems";
    let source = "Munksgaard & Kaiser, section 2";
    findings.table(
        Columns::new(id, "The problems", source, &loaded)
            .key("layers", |p| p.layers)
            .column("contacts between discs", |p| {
                (contacts(p.layers), p.contacts as f64)
            })
            .column("most neighbours of a contact", |p| {
                // The paper's ten are reached only where a pyramid has an inside.
                let paper = (p.layers >= 8).then_some(NEIGHBOURS);
                (paper, f64::from(p.neighbours))
            })
            .note(
                "The paper gives no times and no iterations; it says that without relaxation the sum of impulses \
                 grows for ever.",
            ),
    );
    let title = "Bare Jacobi without any safeguard: factor by which the sum of impulses grows per iteration";
    findings.table(
        Columns::new("munksgaard-kaiser-bare", title, "", pyramids)
            .key("problem", |p| p.name)
            .key("layers", |p| p.layers)
            .column("growth, none", |p| p.growth[0])
            .column("growth, 1/degree", |p| p.growth[1])
            .note(
                "Above 1 the scheme diverges; the solvers below are meant to detect that, to roll back and to halve R.",
            ),
    );
}

fn convergence(findings: &mut Findings, scene: &str, name: &str, runs: &[Run]) {
    let id = format!("munksgaard-kaiser-{}", scene.replace('_', "-"));
    let title = format!("Iterations to a residual of {TOLERANCE:e} m/s: {name}");
    findings.table(
        Columns::new(id, title, "", runs)
            .key("layers", |r| r.layers)
            .key("method", |r| r.method)
            .column("iterations", |r| r.reached.map(|p| f64::from(p.iteration)))
            .column("residual at the end [m/s]", |r| {
                r.report.history.last().map(|p| p.residual)
            })
            .column("R halved", |r| r.report.statistic(HALVINGS).unwrap_or(0.0))
            .column("time [ms]", |r| r.reached.map(|p| 1e3 * p.time))
            .remark(|r| &r.remark),
    );
    let mut way = Plot::new(
        format!("Convergence: disc pyramid of {DRAWN} layers, {name}"),
        Axis::Log("iterations"),
        Axis::Log("residual [m/s]"),
    );
    let mut heights = Plot::new(
        format!("Iterations to {TOLERANCE:e} m/s by height: {name}"),
        Axis::Whole("layers"),
        Axis::Log("iterations"),
    );
    for method in METHODS {
        let own = || runs.iter().filter(|r| r.method == method);
        if let Some(run) = own().find(|r| r.layers == DRAWN) {
            way.add(method, thinned(&run.report.history), Mark::Line);
        }
        let iterations = |r: &Run| r.reached.map_or(f64::NAN, |p| f64::from(p.iteration));
        let line = own().map(|r| [f64::from(r.layers), iterations(r)]);
        heights.add(method, line, Mark::Line);
    }
    findings.plot(format!("{scene}-convergence"), way);
    findings.plot(format!("{scene}-height"), heights);
}

fn converge(bench: &Bench, case: &Case, layers: u32, method: Method) -> Result<Run> {
    let most = bench.either(1000, 5000);
    let contacts = case.problem.contacts.len();
    bench.say(format!("{method} on {contacts} contacts"));
    // Solvers stop by what they see of an iteration: with this they go on until the residual is reached.
    let budget = Budget {
        iterations: most,
        tolerance: 0.03 * TOLERANCE,
        ..Budget::default()
    };
    let report = bench.solve(&case.problem, method, budget, true)?.report;
    let history = &report.history;
    let above = |p: &HistoryPoint| p.residual.is_nan() || p.residual > TOLERANCE;
    let first = history.iter().rposition(above).map_or(0, |k| k + 1);
    let reached = history.get(first).filter(|_| report.status.is_usable());
    let remark = match (&report.status, reached) {
        (Status::Failed(reason), _) => reason.clone(),
        (_, None) => format!("not within {most} iterations"),
        _ => String::new(),
    };
    Ok(Run {
        layers,
        method,
        reached: reached.copied(),
        remark,
        report,
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
    for b in problem.contacts.bodies.iter().flatten() {
        if problem.bodies.is_dynamic(*b as usize) {
            degree[*b as usize] += 1;
        }
    }
    let of = |pair: &[u32; 2]| {
        let others = pair.map(|b| degree[b as usize].saturating_sub(1));
        others[0] + others[1]
    };
    problem.contacts.bodies.iter().map(of).collect()
}

/// Factor per iteration by which Σ|Λ| of plain Jacobi, R = 1/A_ii, relaxed by a factor per contact, grows
/// over the second half of its iterations. The solvers themselves do not show this: they notice and roll back.
fn growth(problem: &Problem, relaxation: impl Fn(usize) -> f64) -> f64 {
    let mut lambda = vec![0.0; problem.row_count()];
    let mut u = Vec::new();
    let mut sums: Vec<f64> = Vec::new();
    while sums.len() < BARE && sums.last().is_none_or(|s| *s < FOR_EVER) {
        problem.velocities(&lambda, &mut u);
        for c in 0..problem.contacts.len() {
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
            friction.project(&mut next[rows], normal);
            for (x, next) in block.iter_mut().zip(next) {
                *x += relaxation(c) * (next - *x);
            }
        }
        sums.push(lambda.iter().map(|x| x.abs()).sum());
    }
    let (half, last) = (sums.len() / 2, sums.len() - 1);
    (sums[last] / sums[half]).powf(1.0 / (last - half).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::contacts;

    #[test]
    fn a_pyramid_of_two_layers_has_three_contacts() {
        assert_eq!(contacts(2), 3.0);
    }
}
