//! Problems without bodies, and FCLIB's files: what is written is read, what is damaged is refused, and five published
//! problems are solved where `MOREAU_FCLIB_DIR` names their folder.

use std::path::PathBuf;
use std::process::Command;

use hdf5_pure::{FileBuilder, GroupBuilder};
use moreau::math::random::Random;
use moreau::problem::fclib::{self, FclibError, FclibProblem, Group};
use moreau::problem::residual::{JudgedLaw, Residual, ResidualWorkspace};
use moreau::problem::{Form, Laws, Masses, MatrixProblem, Problem, Sparse};
use moreau::scene::library;
use moreau::solve::{Budget, Request, SOLVERS, SolverConfig, Status, Value};

use crate::program::{scratch, text};

/// The problem of a shipped scene's step, with changes made, and its warm start.
fn stepped(scene: &str, step: u64, changes: &[(&str, &str)]) -> (Problem, Vec<f64>) {
    let mut scene = library::shipped(scene).expect("a shipped scene");
    scene.set_all(changes).expect("values that fit");
    let mut simulation = scene.simulation(1).expect("a good scene");
    for _ in 0..step {
        simulation.step().expect("a good step");
    }
    let start = simulation.warm_start().to_vec();
    (simulation.problem().clone(), start)
}

/// Impulses that solve nothing.
fn wave(rows: usize, size: f64) -> Vec<f64> {
    (0..rows)
        .map(|k| size * (1.7 * k as f64 + 0.3).sin())
        .collect()
}

fn residual(problem: &impl Form, lambda: &[f64]) -> Residual {
    problem.residual(lambda, JudgedLaw::Own, &mut ResidualWorkspace::default())
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Whether two residuals of the same impulses are the same to rounding.
fn same(a: &Residual, b: &Residual) -> bool {
    let parts = |r: &Residual| {
        [
            r.residual,
            r.residual_rms,
            r.penetration_velocity,
            r.complementarity,
            r.bilateral,
            r.gamma,
        ]
    };
    parts(a)
        .iter()
        .zip(parts(b))
        .all(|(a, b)| close(*a, b, 1e-9))
        && a.cone == b.cone
}

/// Solves a problem without bodies from nothing.
fn solved(problem: &MatrixProblem, name: &str, exact: bool, iterations: u32) -> Vec<f64> {
    let mut config = SolverConfig::default();
    config.switch(name);
    if exact {
        config
            .parameters
            .insert("block".into(), Value::read("contact"));
    }
    config.budget.iterations = iterations;
    config.budget.tolerance = 1e-13;
    let request = Request {
        budget: config.budget,
        history: false,
        ..Request::default()
    };
    let mut lambda = vec![0.0; problem.row_count()];
    let report = config
        .build()
        .expect("a solver")
        .solve_matrices(problem, &request, &mut lambda);
    let report = report.expect("a solver that needs no bodies");
    assert!(report.status.is_usable(), "{name}: {:?}", report.status);
    lambda
}

/// Solves a problem of bodies to 1e-10 m/s.
fn solved_exactly(problem: &Problem, start: &[f64]) -> Vec<f64> {
    let mut config = SolverConfig::default();
    config.switch("newton");
    config.budget.iterations = 500;
    config.budget.tolerance = 1e-10;
    let request = Request {
        budget: config.budget,
        history: false,
        ..Request::default()
    };
    let (mut lambda, mut u) = (start.to_vec(), Vec::new());
    let mut solver = config.build().expect("a solver");
    let report = solver.solve(problem, &request, &mut lambda, &mut u);
    assert!(report.status.is_usable(), "newton: {:?}", report.status);
    lambda
}

/// Problems of bodies that FCLIB can hold: contacts alone, and contacts with rigid joints.
fn exportable() -> Vec<(&'static str, Problem, Vec<f64>)> {
    let scenes = [("box_stack", 60), ("mixed_shapes", 60), ("arch", 30)];
    let mut out: Vec<_> = scenes
        .map(|(scene, step)| {
            let (problem, start) = stepped(scene, step, &[]);
            assert!(!problem.contacts.is_empty(), "{scene}");
            (scene, problem, start)
        })
        .into();
    let (mut crane, start) = stepped("simple_crane", 10, &[]);
    // Its joints without the springs in them.
    crane.rows.compliance.fill(0.0);
    let bilateral = (0..crane.rows.len()).all(|r| crane.rows.is_bilateral(r));
    assert!(!crane.rows.is_empty() && bilateral, "joints without limits");
    out.push(("simple_crane", crane, start));
    out
}

#[test]
fn every_form_of_a_problem_has_the_same_product_blocks_and_residual() {
    let mut problems = exportable();
    // Compliance, motors and limits have a place in these types, if not in the files.
    let (crane, start) = stepped("crane", 20, &[]);
    problems.push(("crane", crane, start));
    for (scene, problem, _) in problems {
        let rows = problem.general_rows();
        let laws = Laws {
            mu: (0..problem.contact_count())
                .map(|c| problem.friction_of(c).mu[0])
                .collect(),
            bounds: problem.rows.bounds.clone(),
        };
        let is_disc = problem
            .contacts
            .friction
            .iter()
            .all(|f| f.law.to_string() == "disc");
        if !is_disc {
            continue;
        }
        let masses = Masses::of(&problem).expect("bodies that turn");
        let of_masses = MatrixProblem::from_masses(laws.clone(), masses).expect("a problem");
        let lambda = wave(problem.row_count(), 0.01);
        let mut w = [vec![0.0; lambda.len()], vec![0.0; lambda.len()]];
        problem.product(&lambda, &mut w[0]);
        of_masses.product(&lambda, &mut w[1]);
        let largest = w[0].iter().fold(0.0, |a: f64, w| a.max(w.abs()));
        for (a, b) in w[0].iter().zip(&w[1]) {
            assert!((a - b).abs() < 1e-11 * largest, "{scene}: {a} {b}");
        }
        for block in 0..problem.contact_count() + rows.len() {
            let size = if block < problem.contact_count() {
                9
            } else {
                1
            };
            let mut own = [[0.0; 9]; 2];
            problem.own_block(block, &mut own[0][..size]);
            of_masses.own_block(block, &mut own[1][..size]);
            let largest = own[0].iter().fold(0.0, |a: f64, v| a.max(v.abs()));
            for (a, b) in own[0].iter().zip(&own[1]) {
                assert!((a - b).abs() < 1e-10 * largest, "{scene}, block {block}");
            }
        }
        let (a, b) = (residual(&problem, &lambda), residual(&of_masses, &lambda));
        assert!(same(&a, &b), "{scene}: {a:?} {b:?}");
        assert!(a.natural_map.is_none() && b.natural_map.is_some());
        assert_eq!(
            problem.delassus().block_count(),
            of_masses.a().block_count(),
            "{scene}"
        );
        assert_eq!(
            problem.islands.len(),
            of_masses.a().island_start.len() - 1,
            "{scene}"
        );
    }
}

#[test]
fn what_is_exported_and_read_back_is_the_same_problem() {
    for (scene, problem, start) in exportable() {
        let exact = solved_exactly(&problem, &start);
        for group in [Group::Local, Group::Global] {
            let bytes = fclib::to_bytes(&problem, group, scene, "a step", Some(&start));
            let read = fclib::from_bytes(bytes.expect("a problem that FCLIB has"))
                .expect("what was written");
            assert_eq!(
                (read.title.as_str(), read.description.as_str()),
                (scene, "a step")
            );
            assert_eq!(read.guess.as_deref(), Some(&start[..]), "{scene}");
            let lambda = wave(problem.row_count(), 0.02);
            let (a, b) = (
                residual(&problem, &lambda),
                residual(&read.problem, &lambda),
            );
            assert!(same(&a, &b), "{scene}, {group:?}: {a:?} {b:?}");
            // What solves the step solves the file.
            let (a, b) = (residual(&problem, &exact), residual(&read.problem, &exact));
            assert!(a.residual < 1e-9, "{scene}, {group:?}: {a:?}");
            assert!(
                (a.residual - b.residual).abs() < 1e-12,
                "{scene}: {a:?} {b:?}"
            );
            // And once more, from the other form.
            let again =
                fclib::to_bytes(&read.problem, Group::Local, scene, "", None).expect("a file");
            let again = fclib::from_bytes(again).expect("what was written");
            assert!(same(
                &residual(&read.problem, &start),
                &residual(&again.problem, &start)
            ));
        }
    }
}

#[test]
fn what_fclib_cannot_hold_is_named() {
    let refusal = |problem: &Problem, group| {
        let error = fclib::to_bytes(problem, group, "", "", None).expect_err("a refusal");
        assert!(matches!(error, FclibError::Unsupported(_)), "{error}");
        error.to_string()
    };
    let (boxes, _) = stepped("box_stack", 5, &[("settings.friction_law", "Box")]);
    let error = refusal(&boxes, Group::Local);
    assert!(error.contains("friction law \"box\""), "{error}");
    let (mut crane, _) = stepped("simple_crane", 5, &[]);
    crane.rows.compliance.fill(1e-6);
    let error = refusal(&crane, Group::Global);
    assert!(error.contains("of a joint, has a compliance"), "{error}");
    let local = fclib::to_bytes(&crane, Group::Local, "", "", None).expect("W has a diagonal");
    let local = fclib::from_bytes(local).expect("what was written");
    let lambda = wave(crane.row_count(), 1.0);
    assert!(same(
        &residual(&crane, &lambda),
        &residual(&local.problem, &lambda)
    ));
    crane.rows.bounds[0] = [-1.0, 1.0];
    let error = refusal(&crane, Group::Local);
    assert!(error.contains("from -1 to 1 N s"), "{error}");
    let wall = MatrixProblem::from_matrix(Laws::new(vec![0.3], 0), &small().1, vec![0.0; 3]);
    let error = fclib::to_bytes(&wall.expect("a problem"), Group::Global, "", "", None);
    assert!(
        error
            .expect_err("a refusal")
            .to_string()
            .contains("its masses are not known")
    );
}

/// A matrix of one contact that is not symmetric, as a dense one and as it is.
fn small() -> ([[f64; 3]; 3], Sparse) {
    let dense = [[2.0, 0.3, 0.0], [0.1, 3.0, 0.0], [0.0, -0.5, 4.0]];
    let places = (0..9u32).map(|k| (k / 3, k % 3, dense[k as usize / 3][k as usize % 3]));
    let entries: Vec<_> = places.filter(|(_, _, v)| *v != 0.0).collect();
    (dense, Sparse::from_triplets(3, 3, &entries))
}

/// Vectors of a file with their names.
type Vectors<'a> = &'a [(&'a str, &'a [f64])];

/// A matrix of a file: m, n, nz, p, i, x.
type Stored<'a> = ([i32; 3], &'a [i32], &'a [i32], &'a [f64]);

fn put(out: &mut GroupBuilder, name: &str, ([m, n, nz], p, i, x): Stored<'_>) {
    let mut group = out.create_group(name);
    for (name, value) in [("m", m), ("n", n), ("nz", nz), ("nzmax", x.len() as i32)] {
        group.create_dataset(name).with_i32_data(&[value]);
    }
    group.create_dataset("p").with_i32_data(p);
    group.create_dataset("i").with_i32_data(i);
    group.create_dataset("x").with_f64_data(x);
    out.add_group(group.finish());
}

/// A local problem with the vectors that are given.
fn local(dimension: i32, w: Stored<'_>, vectors: Vectors<'_>) -> Vec<u8> {
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_local");
    group.create_dataset("spacedim").with_i32_data(&[dimension]);
    put(&mut group, "W", w);
    let mut out = group.create_group("vectors");
    for (name, numbers) in vectors {
        out.create_dataset(name).with_f64_data(numbers);
    }
    group.add_group(out.finish());
    file.add_group(group.finish());
    file.finish().expect("a file")
}

const Q: [f64; 3] = [-1.0, 0.5, 0.25];

#[test]
fn all_storages_of_a_matrix_are_read_and_it_need_not_be_symmetric() {
    let (dense, _) = small();
    let rows: Stored<'_> = (
        [3, 3, -2],
        &[0, 2, 4, 6],
        &[0, 1, 0, 1, 1, 2],
        &[2.0, 0.3, 0.1, 3.0, -0.5, 4.0],
    );
    let columns: Stored<'_> = (
        [3, 3, -1],
        &[0, 2, 5, 6],
        &[0, 1, 0, 1, 2, 2],
        &[2.0, 0.1, 0.3, 3.0, -0.5, 4.0],
    );
    // In no order, one of them in two parts, and with memory behind them that is not used.
    let triplets: Stored<'_> = (
        [3, 3, 7],
        &[1, 0, 1, 0, 2, 1, 1, 9],
        &[2, 1, 1, 0, 2, 0, 1, 9],
        &[-0.5, 0.1, 1.0, 2.0, 4.0, 0.3, 2.0, 9.0],
    );
    for stored in [rows, columns, triplets] {
        let kind = stored.0[2];
        let bytes = local(3, stored, &[("q", &Q), ("mu", &[0.4])]);
        let FclibProblem { problem, guess, .. } = fclib::from_bytes(bytes).expect("a problem");
        assert!(guess.is_none());
        for (r, line) in dense.iter().enumerate() {
            let own = &problem.a().own(0)[3 * r..3 * r + 3];
            assert_eq!(own, line, "nz = {kind}");
        }
        let lambda = solved(&problem, "gauss-seidel", true, 1000);
        let found = residual(&problem, &lambda);
        assert!(
            found.residual < 1e-12 && found.natural_map.unwrap() < 1e-12,
            "{found:?}"
        );
    }
}

#[test]
fn a_contact_in_the_plane_has_no_second_tangent() {
    // Two contacts of rows N and T, coupled through their normals.
    let w: Stored<'_> = (
        [4, 4, 6],
        &[0, 1, 2, 3, 2, 0],
        &[0, 1, 2, 3, 0, 2],
        &[2.0, 1.0, 2.0, 1.0, 0.5, 0.5],
    );
    let bytes = local(
        2,
        w,
        &[("q", &[-1.0, 3.0, -1.0, -0.1]), ("mu", &[0.5, 0.5])],
    );
    let problem = fclib::from_bytes(bytes).expect("a problem").problem;
    assert_eq!((problem.row_count(), problem.mu().len()), (6, 2));
    for name in ["gauss-seidel", "nncg", "colored-gs", "jacobi"] {
        let lambda = solved(&problem, name, false, 1000);
        // Both carry 1/2.5; the first slides, the second sticks.
        let expected = [0.4, -0.2, 0.0, 0.4, 0.1, 0.0];
        for (a, b) in lambda.iter().zip(expected) {
            assert!((a - b).abs() < 1e-12, "{name}: {lambda:?}");
        }
        assert!(
            residual(&problem, &lambda).natural_map.unwrap() < 1e-12,
            "{name}"
        );
    }
}

#[test]
fn joints_of_a_local_problem_have_their_rows() {
    // The contact of `small`, and one bilateral row: V, R, s.
    let (dense, _) = small();
    let mut file = FileBuilder::new();
    let mut group = file.create_group("fclib_local");
    group.create_dataset("spacedim").with_i32_data(&[3]);
    let flat: Vec<f64> = dense.concat();
    put(
        &mut group,
        "W",
        (
            [3, 3, -2],
            &[0, 3, 6, 9],
            &[0, 1, 2, 0, 1, 2, 0, 1, 2],
            &flat,
        ),
    );
    put(
        &mut group,
        "V",
        ([3, 1, -1], &[0, 2], &[0, 1], &[0.2, -0.1]),
    );
    let without_r = |group: GroupBuilder| {
        let mut file = FileBuilder::new();
        file.add_group(group.finish());
        fclib::from_bytes(file.finish().expect("a file"))
            .expect_err("no R")
            .to_string()
    };
    let mut half = file.create_group("fclib_local");
    half.create_dataset("spacedim").with_i32_data(&[3]);
    put(&mut half, "V", ([3, 1, -1], &[0, 2], &[0, 1], &[0.2, -0.1]));
    let mut vectors = half.create_group("vectors");
    vectors.create_dataset("q").with_f64_data(&Q);
    vectors.create_dataset("mu").with_f64_data(&[0.4]);
    half.add_group(vectors.finish());
    let error = without_r(half);
    assert!(
        error.contains("no fclib_local/R, which V asks for"),
        "{error}"
    );

    put(&mut group, "R", ([1, 1, 1], &[0], &[0], &[1.5]));
    let mut vectors = group.create_group("vectors");
    vectors.create_dataset("q").with_f64_data(&Q);
    vectors.create_dataset("s").with_f64_data(&[0.7]);
    vectors.create_dataset("mu").with_f64_data(&[0.4]);
    group.add_group(vectors.finish());
    file.add_group(group.finish());
    let problem = fclib::from_bytes(file.finish().expect("a file"))
        .expect("a problem")
        .problem;
    let lambda = [1.0, 2.0, -1.0, 3.0];
    let mut w = [0.0; 4];
    problem.product(&lambda, &mut w);
    let expected = [
        2.6 + 0.6 - 1.0,
        6.1 - 0.3 + 0.5,
        -5.0 + 0.25,
        0.2 - 0.2 + 4.5 + 0.7,
    ];
    for (a, b) in w.iter().zip(expected) {
        assert!((a - b).abs() < 1e-14, "{w:?}");
    }
    let lambda = solved(&problem, "nncg", false, 1000);
    let found = residual(&problem, &lambda);
    assert!(
        found.residual < 1e-12 && found.bilateral < 1e-12,
        "{found:?}"
    );
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let fine: Stored<'_> = ([3, 3, 3], &[0, 1, 2], &[0, 1, 2], &[1.0; 3]);
    let vectors: [(&str, &[f64]); 2] = [("q", &Q), ("mu", &[0.4])];
    let error = |bytes: Vec<u8>| fclib::from_bytes(bytes).expect_err("a refusal").to_string();
    assert!(fclib::from_bytes(local(3, fine, &vectors)).is_ok());
    let cases: [(Stored<'_>, &str); 9] = [
        (
            ([3, 3, 3], &[0, 1, 3], &[0, 1, 2], &[1.0; 3]),
            "fclib_local/W/p must be from 0 to below 3, not 3",
        ),
        (
            ([3, 3, 3], &[0, 1, 2], &[0, -1, 2], &[1.0; 3]),
            "fclib_local/W/i must be from 0 to below 3, not -1",
        ),
        (
            ([3, 3, 3], &[0, 1, 2], &[0, 1, 2], &[1.0, f64::NAN, 1.0]),
            "fclib_local/W/x must be finite",
        ),
        (
            ([3, 3, 4], &[0, 1, 2], &[0, 1, 2], &[1.0; 3]),
            "must be at least 4 numbers, not 3",
        ),
        (
            ([3, 4, 3], &[0, 1, 2], &[0, 1, 2], &[1.0; 3]),
            "fclib_local/W/n must be 3, not 4",
        ),
        (
            ([3, 3, -3], &[0, 1, 2], &[0, 1, 2], &[1.0; 3]),
            "fclib_local/W/nz must be",
        ),
        (
            ([3, 3, -2], &[0, 2, 1, 3], &[0, 1, 2], &[1.0; 3]),
            "fclib_local/W/p must be ascending, not [2, 1]",
        ),
        (
            ([3, 3, -1], &[0, 1, 2], &[0, 1, 2], &[1.0; 3]),
            "fclib_local/W/p must be 4 numbers, not 3",
        ),
        (
            ([3, 3, 3], &[0, 1, 2], &[0, 1, 2], &[1.0, -1.0, 1.0]),
            "A (1, 1) must be 0 or more and finite",
        ),
    ];
    for (w, expected) in cases {
        let found = error(local(3, w, &vectors));
        assert!(
            found.contains(expected),
            "{found}\nwhere expected: {expected}"
        );
    }
    let of_vectors: [(Vectors<'_>, &str); 5] = [
        (&[("q", &Q)], "the file has no fclib_local/vectors/mu"),
        (
            &[("q", &Q), ("mu", &[0.4, 0.4])],
            "fclib_local/vectors/mu must be 1 numbers, not 2",
        ),
        (
            &[("q", &Q), ("mu", &[-0.1])],
            "mu must be 0 or more and finite, not -0.1",
        ),
        (
            &[("q", &Q[..2]), ("mu", &[0.4])],
            "as long as 3 times the contacts",
        ),
        (
            &[("q", &[0.0, f64::INFINITY, 0.0]), ("mu", &[0.4])],
            "q must be finite, not inf",
        ),
    ];
    for (vectors, expected) in of_vectors {
        let found = error(local(3, fine, vectors));
        assert!(
            found.contains(expected),
            "{found}\nwhere expected: {expected}"
        );
    }
    let found = error(local(4, fine, &vectors));
    assert!(
        found.contains("fclib_local/spacedim must be 2 or 3, not 4"),
        "{found}"
    );
    assert_eq!(error(b"MOREAUPB".to_vec()), "this is not an HDF5 file");
    let empty = FileBuilder::new().finish().expect("a file");
    assert!(error(empty).contains("no group fclib_local or fclib_global"));
}

#[test]
fn masses_must_be_symmetric_and_positive() {
    let masses = |mass: &[(u32, u32, f64)]| Masses {
        mass: Sparse::from_triplets(3, 3, mass),
        jacobian: Sparse::from_triplets(3, 3, &[(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)]),
        momentum: vec![-1.0, 0.2, 0.0],
        bias: vec![0.0; 3],
        compliance: vec![0.0; 3],
    };
    let made = |mass| MatrixProblem::from_masses(Laws::new(vec![0.5], 0), masses(mass));
    let diagonal = [(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0)];
    let problem = made(&diagonal).expect("a body");
    assert!(close(problem.a().own(0)[0], 0.5, 1e-15));
    assert_eq!(problem.offset(), [-0.5, 0.1, 0.0]);
    let skew = [&diagonal[..], &[(0, 1, 0.5)]].concat();
    let error = made(&skew).expect_err("not symmetric").to_string();
    assert!(
        error.contains("mass (0, 1) must be 0, as (1, 0) is, not 0.5"),
        "{error}"
    );
    let error = made(&diagonal[..2]).expect_err("singular").to_string();
    assert!(error.contains("positive definite"), "{error}");
}

#[test]
fn solvers_that_need_bodies_say_so() {
    let problem = MatrixProblem::from_matrix(Laws::new(vec![0.3], 0), &small().1, Q.to_vec());
    let problem = problem.expect("a problem");
    let mut able = Vec::new();
    for info in SOLVERS {
        let mut config = SolverConfig::default();
        config.switch(info.name);
        let mut solver = config.build().expect("a solver");
        // A problem of nothing is no reason to stumble.
        let nothing = MatrixProblem::default();
        let _ = solver.solve_matrices(&nothing, &Request::default(), &mut []);
        match solver.solve_matrices(&problem, &Request::default(), &mut [0.0; 3]) {
            Ok(_) => able.push(info.name),
            Err(needs) => {
                let expected = format!("{} needs bodies, which this problem has not", info.name);
                assert_eq!(needs.to_string(), expected);
            }
        }
    }
    for name in [
        "gauss-seidel",
        "jacobi",
        "nncg",
        "colored-gs",
        "newton",
        "admm",
        "auto",
        "reference",
    ] {
        assert!(able.contains(&name), "{able:?}");
    }
}

/// Every solver that can, with every scheme and both kinds of blocks, finds the same velocities.
#[test]
fn solvers_agree_without_bodies() {
    let (problem, _) = stepped("incline", 30, &[]);
    let masses = Masses::of(&problem).expect("boxes");
    let mu = problem.contacts.friction.iter().map(|f| f.mu[0]).collect();
    let problem = MatrixProblem::from_masses(Laws::new(mu, 0), masses).expect("a problem");
    let velocity = |lambda: &[f64]| {
        let mut w = vec![0.0; lambda.len()];
        problem.product(lambda, &mut w);
        w
    };
    let truth = velocity(&solved(&problem, "nncg", false, 50_000));
    for label in [
        "gauss-seidel",
        "gauss-seidel:scheme=t",
        "gauss-seidel:block=contact",
        "gauss-seidel:r_factors=degree",
        "nncg:block=contact",
        "jacobi",
        "jacobi:scheme=t",
        "jacobi:r_factors=global",
        "colored-gs",
        "newton",
        "admm",
        "auto",
    ] {
        let mut words = label.split(':');
        let mut config = SolverConfig::default();
        config.switch(words.next().expect("a name"));
        for (name, value) in words.filter_map(|w| w.split_once('=')) {
            config.parameters.insert(name.into(), Value::read(value));
        }
        config.budget.iterations = 200_000;
        config.budget.tolerance = 1e-12;
        let request = Request {
            budget: config.budget,
            history: false,
            ..Request::default()
        };
        let mut lambda = vec![0.0; truth.len()];
        let mut solver = config.build().expect("a solver");
        let report = solver.solve_matrices(&problem, &request, &mut lambda);
        report.expect("no need of bodies");
        let found = velocity(&lambda);
        let apart = found.iter().zip(&truth).map(|(a, b)| (a - b).abs());
        let largest = apart.fold(0.0, f64::max);
        assert!(largest < 1e-6, "{label}: {largest:e} m/s apart");
    }
}

/// What `newton` makes of a file is what it makes of the step that the file holds, bodies and all.
#[test]
fn exported_problems_are_solved_exactly_without_their_bodies() {
    for (scene, problem, start) in exportable() {
        let mut w = [(); 2].map(|()| vec![0.0; problem.row_count()]);
        problem.product(&solved_exactly(&problem, &start), &mut w[0]);
        for group in [Group::Local, Group::Global] {
            let bytes = fclib::to_bytes(&problem, group, scene, "", None).expect("a file");
            let alone = fclib::from_bytes(bytes).expect("what was written").problem;
            let lambda = solved(&alone, "newton", false, 500);
            let r = residual(&alone, &lambda);
            println!("{scene}, {group:?}: {r:?}");
            // The corners of the arch lock each other; what frees them with bodies, proximal points, is not there without.
            let most = if scene == "arch" { 1e-7 } else { 1e-9 };
            assert!(r.residual < most, "{scene}, {group:?}: {r:?}");
            if scene == "mixed_shapes" {
                // It has many solutions, among them some that differ by 0.1 m/s; a start further on finds another one.
                continue;
            }
            alone.product(&lambda, &mut w[1]);
            let apart = w[0].iter().zip(&w[1]).map(|(a, b)| (a - b).abs());
            let apart = apart.fold(0.0, f64::max);
            assert!(
                apart < 100.0 * most,
                "{scene}, {group:?}: {apart:e} m/s apart"
            );
        }
    }
}

/// Contacts, and a bilateral, a limited and a bounded row, whose A is J M⁻¹ Jᵀ with fewer velocities than rows, and
/// `skew` of its size from symmetric. Velocities that satisfy every law exist: b is in the range of J.
fn random_problem(seed: u64, contacts: usize, velocities: usize, skew: f64) -> MatrixProblem {
    let mut random = Random::new(seed);
    let rows = 3 * contacts + 3;
    let [j, turned, f] = [rows, velocities, 1].map(|n| {
        let all = (0..n * velocities).map(|_| random.signed());
        all.collect::<Vec<_>>()
    });
    let turn = |a: usize, b: usize| turned[a * velocities + b] - turned[b * velocities + a];
    let entry = |r: usize, c: usize| {
        let mut sum = 0.0;
        for a in 0..velocities {
            let own = j[c * velocities + a];
            let other: f64 = (0..velocities)
                .map(|b| turn(a, b) * j[c * velocities + b])
                .sum();
            sum += j[r * velocities + a] * (own + skew * other);
        }
        sum
    };
    let places = (0..rows).flat_map(|r| (0..rows).map(move |c| (r, c)));
    let a: Vec<_> = places
        .map(|(r, c)| (r as u32, c as u32, entry(r, c)))
        .collect();
    let b = (0..rows).map(|r| (0..velocities).map(|a| j[r * velocities + a] * f[a]).sum());
    let mut laws = Laws::new(vec![0.5; contacts], 3);
    laws.bounds[1] = [0.0, f64::INFINITY];
    laws.bounds[2] = [-0.1, 0.2];
    let a = Sparse::from_triplets(rows, rows, &a);
    MatrixProblem::from_matrix(laws, &a, b.collect()).expect("a problem")
}

#[test]
fn random_matrices_are_solved_exactly_singular_and_unsymmetric_ones_too() {
    for seed in 1..=20 {
        for (velocities, skew) in [(24, 0.0), (24, 1e-3), (9, 0.0), (9, 1e-3)] {
            let case = format!("seed {seed}, {velocities} velocities, skew {skew}");
            for contacts in [5, 12] {
                let problem = random_problem(seed, contacts, velocities, skew);
                let exact = solved(&problem, "newton", false, 500);
                let r = residual(&problem, &exact);
                assert!(r.residual < 1e-12, "{case}, {contacts} contacts: {r:?}");
            }
            // Of these and no more, alternating directions by themselves solve all.
            let problem = random_problem(seed, 5, velocities, skew);
            let other = solved(&problem, "admm", false, 20_000);
            let by_admm = residual(&problem, &other);
            assert!(by_admm.residual < 1e-7, "{case}, admm: {by_admm:?}");
        }
    }
}

/// Budgets are kept, the last point of a history is the result, and nothing gets worse than it was.
#[test]
fn exact_solvers_keep_their_promises_without_bodies() {
    let problem = random_problem(3, 8, 20, 1e-3);
    let exact = solved(&problem, "newton", false, 500);
    let whole = residual(&problem, &vec![0.0; exact.len()]).residual;
    for name in ["newton", "admm", "auto"] {
        for (iterations, start) in [(1, 0.0), (2, 0.0), (4, 0.0), (50, 0.0), (1, 0.99)] {
            let mut config = SolverConfig::default();
            config.switch(name);
            let budget = Budget {
                iterations,
                tolerance: 1e-11,
                ..Budget::default()
            };
            let request = Request {
                budget,
                history: true,
                ..Request::default()
            };
            let mut lambda: Vec<f64> = exact.iter().map(|x| start * x).collect();
            let before = residual(&problem, &lambda).residual;
            let mut solver = config.build().expect("a solver");
            let report = solver.solve_matrices(&problem, &request, &mut lambda);
            let report = report.expect("no need of bodies");
            let after = residual(&problem, &lambda).residual;
            let case = format!("{name}, {iterations} iterations from {start}: {report:?}");
            assert!(after <= before && before <= whole, "{case}");
            assert_eq!(
                report.history.last().map(|p| p.residual),
                Some(after),
                "{case}"
            );
            let exact_part = report.history.len() - usize::from(name == "auto");
            assert!(exact_part <= iterations as usize, "{case}");
            let times = report.history.windows(2);
            assert!(times.into_iter().all(|p| p[0].time <= p[1].time), "{case}");
        }
        // A solution is left as it is.
        let mut config = SolverConfig::default();
        config.switch(name);
        config.budget.tolerance = 1e-6;
        let request = Request {
            budget: config.budget,
            history: false,
            ..Request::default()
        };
        let mut lambda = exact.clone();
        let mut solver = config.build().expect("a solver");
        let report = solver.solve_matrices(&problem, &request, &mut lambda);
        let report = report.expect("no need of bodies");
        assert_eq!((report.status, report.iterations), (Status::Converged, 0));
        assert_eq!(lambda, exact, "{name}");
    }
}

#[test]
fn damaged_files_are_refused_and_never_panic() {
    let (problem, start) = stepped("box_stack", 5, &[]);
    let own = fclib::to_bytes(&problem, Group::Global, "", "", Some(&start)).expect("a file");
    assert!(fclib::from_bytes(own.clone()).is_ok());
    break_everywhere("own", &own, 7);
    for (name, bytes) in published() {
        break_everywhere(name, &bytes, bytes.len() / 1500);
    }
}

/// Changes single bytes all over a file, and cuts it. Nothing may panic but inside the guard, and that must not
/// happen either; what is read is a problem.
fn break_everywhere(name: &str, bytes: &[u8], stride: usize) {
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(stride.max(1)) {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
        match fclib::from_bytes(damaged) {
            Ok(read) => assert_eq!(read.problem.row_count(), read.problem.offset().len()),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    !text.contains("breaks the reader"),
                    "{name}, byte {at}: {text}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "{name}: no damage noticed");
    for part in 1..16 {
        let cut = bytes[..bytes.len() * part / 16].to_vec();
        assert!(fclib::from_bytes(cut).is_err(), "{name}, cut at {part}/16");
    }
}

/// The published problems, where they are to be had.
const PUBLISHED: [&str; 5] = [
    "CubeH8",
    "LMGC_GlobalFrictionContactProblem00046",
    "local_problem_test",
    "Capsules-i125-1213",
    "Spheres-i099-356-679",
];

fn published() -> Vec<(&'static str, Vec<u8>)> {
    let Some(folder) = std::env::var_os("MOREAU_FCLIB_DIR").map(PathBuf::from) else {
        eprintln!("MOREAU_FCLIB_DIR is not set: the published problems of FCLIB are left out");
        return Vec::new();
    };
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let count = files.filter(|path| path.extension().is_some_and(|e| e == "hdf5"));
    assert_eq!(count.count(), PUBLISHED.len(), "{}", folder.display());
    let read = |name| {
        let path = folder.join(format!("{name}.hdf5"));
        let bytes = std::fs::read(&path);
        (
            name,
            bytes.unwrap_or_else(|e| panic!("{}: {e}", path.display())),
        )
    };
    PUBLISHED.map(read).into()
}

/// Residual, its root mean square, penetration velocity, complementarity and natural map at `wave`, from dense
/// matrices in NumPy (M by Cholesky, the laws written down anew), with what `wave` is multiplied by.
const BY_NUMPY: [(f64, [f64; 5]); 5] = [
    (
        0.1,
        [
            2.0346914764710774e-3,
            1.4923908894741017e-3,
            0.0,
            1.6572643807980624e-5,
            1976.961031823172,
        ],
    ),
    (
        0.1,
        [
            5.355512053297011e-2,
            3.382013530062248e-2,
            5.355512053297012e-2,
            0.0,
            2.4292396272134127,
        ],
    ),
    (
        1e-3,
        [
            9.680944131805718e-1,
            5.487951506478478e-1,
            9.137953933114573e-1,
            8.889678743458488e-4,
            215.8865655552345,
        ],
    ),
    (
        1e-3,
        [
            5.766433881949986e-2,
            6.371167103549579e-3,
            5.766433881949986e-2,
            2.2434514547376052e-3,
            1.5212903188465172e-2,
        ],
    ),
    (
        1e-3,
        [
            11.331804259112449,
            9.234587601264443e-1,
            11.331804259112449,
            6.534798380767199e-5,
            9.138325019656685e-1,
        ],
    ),
];

#[test]
fn published_problems_are_what_numpy_makes_of_them() {
    for ((name, bytes), (size, expected)) in published().into_iter().zip(BY_NUMPY) {
        let read = fclib::from_bytes(bytes).expect("a published problem");
        let contacts = [1, 9, 48, 286, 356][PUBLISHED.iter().position(|n| *n == name).unwrap()];
        assert_eq!(read.problem.mu().len(), contacts, "{name}");
        let r = residual(&read.problem, &wave(3 * contacts, size));
        let found = [
            r.residual,
            r.residual_rms,
            r.penetration_velocity.max(0.0),
            r.complementarity,
            r.natural_map.expect("a problem without bodies"),
        ];
        for (k, (a, b)) in found.iter().zip(expected).enumerate() {
            println!("{name}, {k}: {:e}", (a - b).abs() / b.abs().max(1e-300));
            assert!(
                close(*a, b, 1e-12),
                "{name}, measure {k}: {a:e} against {b:e}"
            );
        }
        // And after a file of our own, in both forms where it has both.
        for group in [Group::Local, Group::Global] {
            if group == Group::Global && read.problem.known_masses().is_none() {
                continue;
            }
            let again = fclib::to_bytes(&read.problem, group, name, "", None).expect("a file");
            let again = fclib::from_bytes(again).expect("what was written").problem;
            let lambda = wave(3 * contacts, size);
            // FCLIB's form says that W is what it is, symmetric or not.
            assert!(same(&residual(&again, &lambda), &r), "{name}, {group:?}");
        }
    }
}

#[test]
fn published_problems_are_solved() {
    for (name, bytes) in published() {
        let problem = fclib::from_bytes(bytes)
            .expect("a published problem")
            .problem;
        // The stack of boxes is hyperstatic: sweeps crawl, and conjugate directions do not.
        let [direct, by_sweeps, by_admm] = match name {
            "local_problem_test" => [1e-10, 1e-5, 1e-6],
            "Capsules-i125-1213" => [1e-11, 1e-8, 1e-9],
            _ => [1e-11, 1e-11, 1e-12],
        };
        for (solver, exact, bound) in [
            ("nncg", false, direct),
            ("nncg", true, direct),
            ("gauss-seidel", true, by_sweeps),
            ("colored-gs", false, by_sweeps),
            ("admm", false, by_admm),
            ("newton", false, 1e-12),
            ("auto", false, 1e-12),
        ] {
            let lambda = solved(&problem, solver, exact, 5000);
            let r = residual(&problem, &lambda);
            println!("{name}, {solver}, exact {exact}: {r:?}");
            assert!(r.residual < bound, "{name}, {solver}, exact {exact}: {r:?}");
            if ["newton", "auto"].contains(&solver) {
                let natural = r.natural_map.expect("a problem without bodies");
                assert!(natural < 1e-10, "{name}, {solver}: {natural:e}");
            }
        }
    }
}

/// The contacts' and then the joints' velocities at the impulses of a file, from another file's matrices as h5py reads
/// them and as FCLIB defines them.
const BY_H5PY: &str = r#"
import sys, h5py, numpy
impulses = numpy.array([float(v) for v in open(sys.argv[2]).read().split()])
with h5py.File(sys.argv[1], "r") as file:
    def matrix(path):
        group = file[path]
        m, n, nz = (int(numpy.ravel(group[key][()])[0]) for key in ("m", "n", "nz"))
        p, i, x = (numpy.ravel(group[key][()]) for key in ("p", "i", "x"))
        out = numpy.zeros((m, n))
        if nz >= 0:
            numpy.add.at(out, (i, p), x)
            return out
        lines = numpy.repeat(numpy.arange(len(p) - 1), numpy.diff(p))
        numpy.add.at(out, (lines, i) if nz == -2 else (i, lines), x)
        return out
    def vector(path):
        return numpy.ravel(file[path][()])
    if "fclib_local" in file:
        at = "fclib_local/"
        a, b = matrix(at + "W"), vector(at + "vectors/q")
        if "V" in file[at]:
            v, r = matrix(at + "V"), matrix(at + "R")
            a, b = numpy.block([[a, v], [v.T, r]]), numpy.append(b, vector(at + "vectors/s"))
        velocities = a @ impulses + b
    else:
        at = "fclib_global/"
        mass, h, b = matrix(at + "M"), matrix(at + "H"), vector(at + "vectors/w")
        if "G" in file[at]:
            h, b = numpy.hstack([h, matrix(at + "G")]), numpy.append(b, vector(at + "vectors/b"))
        velocities = h.T @ numpy.linalg.solve(mass, h @ impulses + vector(at + "vectors/f")) + b
print(*(repr(float(v)) for v in velocities))
"#;

/// Whether there is a Python with h5py; without it there is nothing to compare with, which is said.
fn python_reads_hdf5() -> bool {
    let found = Command::new("python3").args(["-c", "import h5py"]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("SKIPPED: no python3 with h5py is here, so no other library reads our files");
    }
    is_there
}

/// Files that we write are read by h5py, the library that everybody else reads them with: the same impulses have the
/// same velocities. NumPy's own products and solutions are rounded in another order.
#[test]
fn what_is_written_is_read_by_h5py() {
    if !python_reads_hdf5() {
        return;
    }
    for (name, problem, start) in exportable() {
        let lambda = wave(problem.row_count(), 0.01);
        let mut w = vec![0.0; lambda.len()];
        problem.product(&lambda, &mut w);
        let impulses = scratch("h5py-impulses.txt");
        let words: Vec<String> = lambda.iter().map(f64::to_string).collect();
        std::fs::write(&impulses, words.join(" ")).expect("a scratch file");
        let largest = w.iter().fold(0.0, |a: f64, w| a.max(w.abs()));
        for group in [Group::Local, Group::Global] {
            let bytes = fclib::to_bytes(&problem, group, name, "", Some(&start)).expect("a file");
            let path = scratch("h5py.hdf5");
            std::fs::write(&path, bytes).expect("a scratch file");
            let mut python = Command::new("python3");
            let output = python.args(["-c", BY_H5PY]).args([&path, &impulses]);
            let output = output.output().expect("Python");
            let said = text(&output.stderr);
            assert!(output.status.success(), "{name}, {group:?}: {said}");
            let found = text(&output.stdout);
            let found = found
                .split_whitespace()
                .map(|v| v.parse().expect("a number"));
            let found: Vec<f64> = found.collect();
            assert_eq!(found.len(), w.len(), "{name}, {group:?}");
            let off = found.iter().zip(&w).map(|(a, b)| (a - b).abs());
            let off = off.fold(0.0, f64::max);
            println!(
                "{name}, {group:?}: {} rows, {off:e} of {largest:e} m/s",
                w.len()
            );
            assert!(
                off < 1e-9 * largest,
                "{name}, {group:?}: {off:e} of {largest:e} m/s"
            );
        }
    }
}
