//! The solvers on the graphics processor lead to the velocities that Gauss–Seidel leads to on the CPU. Without an adapter
//! they are skipped with a message; with `MOREAU_REQUIRE_RENDER=1`, as in CI, they fail.

use std::sync::Mutex;

use moreau::math::{SymMat3, Twist};
use moreau::problem::{FrictionLaw, Problem};
use moreau::scene::library;
use moreau::solve::{self, Budget, SolveReport, SolverConfig, Status, Value};

use crate::common::problems;

/// The problem of a shipped scene in its `step`-th step.
fn problem_of(scene: &str, step: usize) -> Problem {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(0).expect("a simulation");
    for _ in 0..step {
        simulation.step().expect("a step");
    }
    simulation.problem().clone()
}

fn budget(iterations: u32, tolerance: f64) -> Budget {
    Budget {
        iterations,
        tolerance,
        ..Budget::default()
    }
}

/// The velocities after 20,000 iterations at most, and the report. α = 1, T_rel = T_abs = 0: it stops where the changes
/// are below 1e-6 m/s, or where f32 resolves no smaller ones.
fn solved(problem: &Problem, solver: &str, scheme: &str) -> (Vec<Twist>, SolveReport) {
    let mut config = problems::config(solver, budget(20_000, 1e-6));
    let scheme = Value::Choice(scheme.into());
    config.parameters.insert("scheme".into(), scheme);
    let (_, u, report) = problems::solve(&config, problem, false);
    assert!(report.status.is_usable(), "{:?}", report.status);
    (u, report)
}

/// Keeps what the graphics library and its layers warn of.
struct Warnings(Mutex<Vec<String>>);

static WARNINGS: Warnings = Warnings(Mutex::new(Vec::new()));

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let said = format!("{} {}: {}", record.level(), record.target(), record.args());
            self.0.lock().expect("nobody panics").push(said);
        }
    }

    fn flush(&self) {}
}

/// Everything that the solvers do, with the validation that debug builds ask for (and the layers of Vulkan, where they are
/// installed), is done without an error or a warning.
#[test]
fn validation_has_nothing_to_say() {
    log::set_logger(&WARNINGS).expect("the first logger");
    log::set_max_level(log::LevelFilter::Warn);
    if !is_there() {
        return;
    }
    for scene in ["ball_grid_8", "crane"] {
        let problem = problem_of(scene, 1);
        for solver in ["gpu-jor", "gpu-sor"] {
            for scheme in ["matrix-free", "sparse", "dense"] {
                let mut config = problems::config(solver, budget(30, 0.0));
                let value = Value::Choice(scheme.into());
                config.parameters.insert("scheme".into(), value);
                let (.., report) = problems::solve(&config, &problem, false);
                let remark = report.remarks.first().expect("where it was solved");
                assert!(
                    !remark.contains("CPU:"),
                    "{scene}, {solver}, {scheme}: {remark}"
                );
            }
        }
    }
    // In double precision, in groups, and in other blocks.
    let problem = problem_of("crane", 1);
    for (parameters, has_remark) in [
        ("precision=double", true),
        ("precision=double scheme=sparse group=8", true),
        ("precision=double scheme=dense group=8", true),
        ("scheme=dense block=32", true),
        ("scheme=dense block=192", true),
        ("device=cpu", false),
    ] {
        let config = with("gpu-sor", budget(30, 0.0), parameters);
        let (.., report) = problems::solve(&config, &problem, false);
        let remark = report.remarks.first().expect("where it was solved");
        let is_on_device = !remark.contains("CPU");
        assert_eq!(is_on_device, has_remark, "{parameters}: {remark}");
    }
    let warnings = WARNINGS.0.lock().expect("nobody panics");
    // A machine without the layers is told so.
    let of_validation = |said: &&String| !said.contains("unable to find layer");
    let said: Vec<&String> = warnings.iter().filter(of_validation).collect();
    assert!(said.is_empty(), "{said:#?}");
}

/// Whether there is a device; one must be there where that is required.
fn is_there() -> bool {
    let info = solve::find("gpu-sor").expect("it is in the list");
    let Some(reason) = (info.traits.obstacle)() else {
        return true;
    };
    let required = std::env::var("MOREAU_REQUIRE_RENDER").is_ok_and(|v| v == "1");
    assert!(!required, "MOREAU_REQUIRE_RENDER=1, but {reason}");
    eprintln!("skipped: {reason}");
    false
}

#[test]
fn they_lead_to_the_velocities_of_gauss_seidel() {
    if !is_there() {
        return;
    }
    for (scene, step) in [
        ("ball_grid_8", 1),
        ("disc_pyramid", 1),
        ("box_stack", 1),
        ("sphere_box_300", 400),
    ] {
        let problem = problem_of(scene, step);
        let whole = problems::config("gauss-seidel", budget(200_000, 1e-9));
        let (_, exact, report) = problems::solve(&whole, &problem, false);
        assert_eq!(report.status, Status::Converged, "{scene}");
        for solver in ["gpu-jor", "gpu-sor"] {
            let schemes: &[&str] = match scene {
                // T as a whole, with its two dispatches for each 64 rows, where it is small.
                "box_stack" => &["matrix-free", "sparse", "dense"],
                _ => &["matrix-free", "sparse"],
            };
            for scheme in schemes {
                let (u, report) = solved(&problem, solver, scheme);
                let off = problems::difference(&exact, &u);
                let (count, status) = (report.iterations, report.status);
                let what = format!("{scene}, {solver}, {scheme}: {off:.1e} m/s after {count}");
                println!("{what}, {status:?}");
                assert!(off < 1e-4, "{what}, {status:?}");
            }
        }
    }
}

/// A solver with parameters, `name=value` one after the other.
fn with(solver: &str, budget: Budget, parameters: &str) -> SolverConfig {
    let mut config = problems::config(solver, budget);
    for (name, value) in parameters.split(' ').filter_map(|p| p.split_once('=')) {
        let value = match value.parse::<f64>() {
            Ok(number) if name == "alpha" => Value::Number(number),
            Ok(number) => Value::Integer(number as i64),
            Err(_) => Value::Choice(value.into()),
        };
        config.parameters.insert(name.into(), value);
    }
    config
}

/// Nützi's T_rel = T_abs = 1e-7, which single precision does not reach.
#[test]
fn double_precision_goes_on_where_single_stalls() {
    if !is_there() {
        return;
    }
    let problem = problem_of("ball_grid_8", 1);
    let tight = Budget {
        absolute: 1e-7,
        relative: 1e-7,
        ..budget(2000, 0.0)
    };
    let (exact, _, report) = problems::solve(&with("colored-gs", tight, ""), &problem, false);
    assert_eq!(report.status, Status::Converged);
    for (precision, converges) in [("single", false), ("double", true)] {
        let parameters = format!("precision={precision}");
        let config = with("gpu-sor", tight, &parameters);
        let (lambda, _, report) = problems::solve(&config, &problem, false);
        let status = &report.status;
        let is_as_expected = match converges {
            true => *status == Status::Converged,
            false => matches!(status, Status::Stalled(_)),
        };
        assert!(
            is_as_expected,
            "{precision}: {status:?}, {:?}",
            report.remarks
        );
        let off = exact.iter().zip(&lambda);
        let off = off.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        let remark = report.remarks.first().map_or("", String::as_str);
        let count = report.iterations;
        println!("{precision}: {status:?} after {count}, {off:.1e} N s off, {remark}");
        assert!(
            off < 1e-3 && !remark.contains("CPU"),
            "{precision}: {off:e}"
        );
    }
}

/// Relaxed dependencies make the iterates of the CPU's `relaxed-sor`, whatever way the product is formed.
#[test]
fn groups_are_those_of_the_relaxed_solver() {
    if !is_there() {
        return;
    }
    let few = budget(15, 0.0);
    for scene in ["ball_grid_8", "box_stack"] {
        let problem = problem_of(scene, 1);
        for group in [3, 1_000_000] {
            let own = format!("size={group} r_factors=local alpha=0.4");
            let (expected, ..) = problems::solve(&with("relaxed-sor", few, &own), &problem, false);
            let size = expected.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
            for scheme in ["matrix-free", "sparse", "dense"] {
                let parameters =
                    format!("precision=double scheme={scheme} group={group} alpha=0.4");
                let config = with("gpu-sor", few, &parameters);
                let (lambda, ..) = problems::solve(&config, &problem, false);
                let pairs = expected.iter().zip(&lambda);
                let off = pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
                assert!(
                    size > 0.0 && off <= 1e-11 * size,
                    "{scene}, {parameters}: {off:e} of {size:e}"
                );
            }
        }
    }
}

/// The size of a diagonal block changes no iterate, only how it is formed.
#[test]
fn diagonal_blocks_of_any_size_make_the_same_iterates() {
    if !is_there() {
        return;
    }
    let few = budget(15, 0.0);
    let problem = problem_of("box_stack", 1);
    let solve = |block: u32| {
        let parameters = format!("precision=double scheme=dense block={block}");
        problems::solve(&with("gpu-sor", few, &parameters), &problem, false).0
    };
    let expected = solve(64);
    let size = expected.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    for block in [3, 32, 96, 192, 256] {
        let pairs = expected.iter().zip(solve(block));
        let off = pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert!(
            size > 0.0 && off <= 1e-11 * size,
            "{block}: {off:e} of {size:e}"
        );
    }
}

/// Who is asked for solves: the CPU's solver, to the bit, or what pays, which a program that stands for a device never does.
#[test]
fn the_device_can_be_chosen() {
    let problem = problem_of("ball_grid_8", 1);
    let few = budget(40, 0.0);
    for (solver, own, twin, of_twin) in [
        ("gpu-jor", "device=cpu", "jacobi", "r_factors=degree"),
        ("gpu-sor", "device=cpu", "colored-gs", ""),
        ("gpu-sor", "device=best", "colored-gs", ""),
        (
            "gpu-sor",
            "device=cpu group=8",
            "relaxed-sor",
            "size=8 r_factors=local",
        ),
    ] {
        let (lambda, _, report) = problems::solve(&with(solver, few, own), &problem, false);
        let (expected, ..) = problems::solve(&with(twin, few, of_twin), &problem, false);
        assert_eq!(lambda, expected, "{solver} {own}");
        let remark = report.remarks.first().expect("who solved");
        let says = format!("solved on the CPU by {twin}: ");
        assert!(remark.starts_with(&says), "{solver} {own}: {remark}");
    }
}

/// What no kernel has is solved on the CPU, and the report says by whom and why.
#[test]
fn laws_without_a_kernel_are_handed_over() {
    let mut scene = library::shipped("ball_grid_8").expect("a shipped scene");
    scene.settings.friction_law = FrictionLaw::pyramid(8);
    let mut simulation = scene.simulation(0).expect("a simulation");
    simulation.step().expect("a step");
    let problem = simulation.problem();
    for (solver, twin) in [("gpu-jor", "jacobi"), ("gpu-sor", "colored-gs")] {
        let own = problems::config(solver, budget(60, 0.0));
        let (lambda, _, report) = problems::solve(&own, problem, false);
        let [remark] = &report.remarks[..] else {
            panic!("{:?}", report.remarks)
        };
        assert!(
            remark.contains(twin) && remark.contains("pyramid"),
            "{remark}"
        );
        let other = problems::config(twin, budget(60, 0.0));
        let (expected, ..) = problems::solve(&other, problem, false);
        assert_eq!(lambda, expected, "{solver}");
    }
}

/// A step without contacts, whatever is asked for.
#[test]
fn nothing_to_solve_is_solved() {
    let mut problem = problem_of("rolling_ball", 1);
    problem.clear();
    problem.push_body(1.0, SymMat3::diagonal(1.0, 1.0, 1.0), Twist::ZERO);
    problem.finish();
    for solver in ["gpu-jor", "gpu-sor"] {
        for scheme in ["matrix-free", "sparse", "dense"] {
            let (u, report) = solved(&problem, solver, scheme);
            assert_eq!(report.status, Status::Converged, "{solver}, {scheme}");
            assert_eq!(u.len(), 1);
        }
    }
}

/// Who watches a solve does not change it.
#[test]
fn a_history_changes_nothing() {
    let problem = problem_of("disc_pyramid", 1);
    for solver in ["gpu-jor", "gpu-sor"] {
        let config = problems::config(solver, budget(75, 1e-6));
        let (plain, _, report) = problems::solve(&config, &problem, false);
        let (watched, _, with) = problems::solve(&config, &problem, true);
        assert_eq!(plain, watched, "{solver}");
        assert_eq!(report.iterations, with.iterations, "{solver}");
        let last = with.history.last().expect("points");
        assert_eq!(with.history.len(), with.iterations as usize, "{solver}");
        assert_eq!(last.iteration, with.iterations, "{solver}");
    }
}

/// Jacobi as it is diverges, as Munksgaard & Kaiser say; with 1/degree it converges.
#[test]
fn jacobi_without_relaxation_diverges_and_is_rolled_back() {
    let problem = problem_of("disc_pyramid", 1);
    for (r_factors, every, diverges) in [
        ("local", 10, true),
        ("local", 100, true),
        ("degree", 10, false),
        ("degree", 100, false),
    ] {
        let mut config = problems::config("gpu-jor", budget(4_000, 0.0));
        let value = Value::Integer(every);
        config.parameters.insert("every".into(), value);
        let value = Value::Choice(r_factors.into());
        config.parameters.insert("r_factors".into(), value);
        let (lambda, _, report) = problems::solve(&config, &problem, false);
        let residual = problems::residual_of(&problem, &lambda);
        assert!(
            residual < 1e-4,
            "{r_factors}, {every}: {residual:e}, {report:?}"
        );
        let halvings = report.statistic("halvings of R").expect("a number");
        assert_eq!(halvings > 0.0, diverges, "{r_factors}: {halvings}");
        assert!(report.status.is_usable(), "{:?}", report.status);
    }
}
