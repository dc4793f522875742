//! Solvers on the same problem, and problems as files.

use moreau::compare::{
    Contest, Contestant, FIELDS, Outcome, Rounds, Task, convergence, equal_quality, equal_time,
};
use moreau::math::Vec3;
use moreau::problem::StoredProblem;
use moreau::scene::library;
use moreau::solve::{SolverConfig, Status};
use proptest::prelude::*;

/// The problem of a shipped scene's step.
fn stored(scene: &str, step: u64) -> StoredProblem {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a good scene");
    for _ in 0..step {
        simulation.step().expect("a good step");
    }
    StoredProblem {
        origin: format!("{}, step {step}", scene.id()),
        problem: simulation.problem().clone(),
        start: simulation.warm_start().to_vec(),
        reach: simulation.world().bodies.reach(),
    }
}

fn contestant(name: &str, iterations: u32, tolerance: f64) -> Contestant {
    let mut config = SolverConfig::default();
    config.switch(name);
    config.budget.iterations = config.budget.iterations.max(iterations);
    config.budget.tolerance = tolerance;
    Contestant::new(name, config).expect("a known solver")
}

fn run(stored: &StoredProblem, contestants: Vec<Contestant>, start: bool) -> Vec<Outcome> {
    let task = Task {
        problem: (&stored.problem).into(),
        start: start.then_some(&stored.start[..]),
        reach: &stored.reach,
    };
    let rounds = Rounds {
        count: 1,
        history: true,
        estimate: true,
    };
    Contest::new(contestants).run(&task, rounds)
}

#[test]
fn a_problem_is_the_same_after_a_file_to_the_last_bit() {
    for (scene, step) in [
        ("crane", 20),
        ("winch", 5),
        ("vehicle_parkour", 30),
        ("box_stack", 60),
        ("mixed_shapes", 40),
        ("rolling_ball", 10),
    ] {
        let before = stored(scene, step);
        let bytes = before.to_bytes();
        let after = StoredProblem::from_bytes(&bytes).expect("what was written");
        assert_eq!(after.to_bytes(), bytes, "{scene}");
        let (a, b) = (&before.problem, &after.problem);
        // A file does not say which features touch: that is for the next step.
        let mut solved = a.contacts.clone();
        solved.parts.clear();
        solved.feature.clear();
        assert!(solved == b.contacts, "{scene}");
        assert_eq!(
            (&a.bodies, &a.rows, a.h),
            (&b.bodies, &b.rows, b.h),
            "{scene}"
        );
        assert_eq!(
            (a.islands.len(), a.row_count()),
            (b.islands.len(), b.row_count())
        );
        let solve = |stored| {
            let contestants = vec![contestant("nncg", 40, 0.0), contestant("bpp", 1, 1e-6)];
            let outcomes = run(stored, contestants, true);
            outcomes.into_iter().map(|o| o.lambda).collect::<Vec<_>>()
        };
        assert_eq!(solve(&before), solve(&after), "{scene}");
    }
}

/// What is changed in a problem, and what the error must say.
type Change = (&'static str, fn(&mut StoredProblem));

#[test]
fn a_crafted_problem_is_refused_by_name() {
    let good = stored("crane", 5);
    assert!(good.problem.contacts.len() > 3 && good.problem.rows.len() > 3);
    let changes: &[Change] = &[
        ("h must be above 0", |s| s.problem.h = -0.1),
        ("h must be above 0", |s| s.problem.h = f64::NAN),
        ("bodies.inverse_inertia must be", |s| {
            s.problem.bodies.inverse_inertia.pop();
        }),
        ("bodies.2.inverse_mass must be", |s| {
            s.problem.bodies.inverse_mass[2] = -1.0
        }),
        ("bodies.2.inverse_inertia must be", |s| {
            s.problem.bodies.inverse_inertia[2].xy = 1e9
        }),
        ("bodies.1.free_velocity.angular must be finite", |s| {
            s.problem.bodies.free_velocity[1].angular.x = f64::INFINITY;
        }),
        ("contacts.0.body must be one of", |s| {
            s.problem.contacts.bodies[0][1] = u32::MAX
        }),
        ("contacts.1.bodies must be two bodies", |s| {
            s.problem.contacts.bodies[1] = [1, 1]
        }),
        ("contacts.0.normal must be a unit vector", |s| {
            s.problem.contacts.frame[0].normal *= 1.1;
        }),
        ("contacts.0.tangent must be", |s| {
            let frame = &mut s.problem.contacts.frame[0];
            frame.tangent = frame.normal;
        }),
        ("contacts.3.arms must be finite", |s| {
            s.problem.contacts.frame[3].arms[1] = Vec3::new(0.0, f64::NAN, 0.0);
        }),
        ("contacts.0.friction.mu must be", |s| {
            let mut friction = s.problem.contacts.friction[0];
            friction.mu[1] = f64::INFINITY;
            s.problem.contacts.friction.set(0, friction);
        }),
        ("contacts.0.compliance must be", |s| {
            s.problem.contacts.compliance.set(0, [0.0, -1.0])
        }),
        ("contacts.2.gap must be finite", |s| {
            s.problem.contacts.gap[2] = f64::NAN
        }),
        ("contacts.bias must be", |s| s.problem.contacts.bias.clear()),
        ("rows.start must be", |s| s.problem.rows.start[0] = 1),
        ("rows.0.start must be ascending", |s| {
            s.problem.rows.start[1] = u32::MAX
        }),
        ("rows.1.start must be ascending", |s| {
            s.problem.rows.start.swap(1, 2)
        }),
        ("rows.body must be", |s| s.problem.rows.body[0] = 1 << 30),
        ("rows.0.bounds must be an interval", |s| {
            s.problem.rows.bounds[0] = [1.0, -1.0]
        }),
        ("rows.0.bounds must be an interval", |s| {
            s.problem.rows.bounds[0] = [f64::NAN, 0.0]
        }),
        ("rows.0.bounds must be an interval", |s| {
            s.problem.rows.bounds[0] = [f64::INFINITY; 2];
        }),
        ("rows.3.jacobian must be finite", |s| {
            let first = s.problem.rows.start[3] as usize;
            s.problem.rows.jacobian[first].linear.z = f64::NAN;
        }),
        ("rows.0.compliance must be", |s| {
            s.problem.rows.compliance[0] = f64::NAN
        }),
        ("start must be", |s| {
            s.start.pop();
        }),
        ("start must be finite", |s| s.start[0] = f64::NEG_INFINITY),
        ("reach must be", |s| s.reach.push(1.0)),
        ("reach must be", |s| s.reach[0] = -1.0),
    ];
    for (expected, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        // The checksum is right: it is made of what is wrong.
        let error = StoredProblem::from_bytes(&bad.to_bytes()).expect_err(expected);
        let error = error.to_string();
        assert!(error.contains("the problem is damaged"), "{error}");
        let expected = expected.replace("rows.body must be", "rows.body must be one of");
        assert!(error.contains(&expected), "{expected}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Bytes that anybody may have made, with a right checksum, are refused or give a problem that can be solved.
    #[test]
    fn crafted_bytes_never_panic(at in 0..20_000_usize, to in any::<u8>(), cut in 0..4_usize) {
        let mut bytes = stored("box_stack", 1).to_bytes();
        let end = bytes.len();
        let place = 28 + at % (end - 28);
        bytes[place] = to;
        bytes.truncate(end - cut);
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[28..]);
        let length = (bytes.len() - 28) as u64;
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        bytes[20..28].copy_from_slice(&sum.to_le_bytes());
        if let Ok(read) = StoredProblem::from_bytes(&bytes) {
            run(&read, vec![contestant("gauss-seidel", 3, 0.0), contestant("bpp", 1, 0.0)], true);
        }
    }
}

#[test]
fn the_most_accurate_one_is_what_velocities_are_compared_with() {
    let stored = stored("ball_grid_8", 3);
    let contestants = vec![
        contestant("jacobi", 20, 0.0),
        contestant("gauss-seidel", 50, 0.0),
        contestant("nncg", 3000, 1e-12),
    ];
    let outcomes = run(&stored, contestants, false);
    let [jacobi, gauss_seidel, nncg] = &outcomes[..] else {
        panic!("three outcomes");
    };
    assert!(
        nncg.error < 1e-9 && nncg.error < gauss_seidel.error,
        "{}",
        nncg.error
    );
    assert_eq!(nncg.distance, Some(0.0));
    assert!(gauss_seidel.distance > Some(1e-6) && jacobi.distance > gauss_seidel.distance);
    for outcome in &outcomes {
        let last = outcome.report.history.last().expect("a history");
        let residual = outcome.residual.expect("a residual").residual;
        // The history ends with what was returned.
        assert!(
            (last.residual - residual).abs() <= 1e-12 * residual,
            "{}",
            outcome.label
        );
    }
    let ranking = equal_quality(&outcomes, 1e-9);
    assert_eq!(ranking[0].label, "nncg");
    assert!(ranking[0].time.is_some() && ranking[2].time.is_none());
    let whole = equal_time(&outcomes, 1e9);
    assert_eq!(whole[0].label, "nncg");
    for plot in convergence(&outcomes, "a stack") {
        assert_eq!(plot.series.len(), 3);
    }
}

/// Whoever takes part, and in which order: nobody sees anything of the others.
#[test]
fn nobody_changes_what_another_finds() {
    let stored = stored("mixed_shapes", 30);
    let names = ["colored-gs", "jacobi", "nncg", "apgd", "bpp"];
    let all = |names: &[&str]| {
        let contestants = names
            .iter()
            .map(|name| contestant(name, 30, 1e-6))
            .collect();
        let mut found = run(&stored, contestants, true);
        found.sort_by(|a, b| a.label.cmp(&b.label));
        found
    };
    let together = all(&names);
    let backwards = all(&["bpp", "apgd", "nncg", "jacobi", "colored-gs"]);
    for (a, b) in together.iter().zip(&backwards) {
        assert_eq!(a.lambda, b.lambda, "{}", a.label);
        assert_eq!(
            (&a.report.status, a.distance),
            (&b.report.status, b.distance)
        );
        let alone = &all(&[&a.label])[0];
        assert_eq!(a.lambda, alone.lambda, "{}", a.label);
    }
}

#[test]
fn the_fields_are_those_of_every_report() {
    let names: Vec<&str> = FIELDS.iter().map(|f| f.name).collect();
    for name in [
        "iterations",
        "time_ms",
        "residual",
        "residual_rms",
        "penetration_velocity",
        "complementarity",
        "cone",
        "sliding_direction",
        "bilateral",
        "natural_map",
        "gamma",
        "residual_coulomb",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let outcomes = run(
        &stored("ball_grid_8", 1),
        vec![contestant("gauss-seidel", 50, 1e-6)],
        false,
    );
    let value = |name: &str| {
        let field = FIELDS.iter().find(|f| f.name == name).expect("a field");
        (field.value)(&outcomes[0])
    };
    assert_eq!(
        value("iterations"),
        Some(f64::from(outcomes[0].report.iterations))
    );
    assert_eq!(value("natural_map"), None);
    assert!(value("time_ms") > Some(0.0) && value("residual") >= value("residual_rms"));
    assert!(!matches!(outcomes[0].report.status, Status::Failed(_)));
}
