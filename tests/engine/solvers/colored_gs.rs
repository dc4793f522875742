//! What is special about `colored-gs`: large islands in parallel, hubs, lanes of several laws, and
//! three precisions.

use std::collections::BTreeMap;

use crate::common::problems::{difference, residual_of, solve};
use crate::common::*;
use moreau::math::{SymMat3, Twist, Vec3, tangent};
use moreau::problem::{ContactFrame, Friction, FrictionLaw, NewContact, Problem};
use moreau::solve::sweeps::colored_gs::COLORS;
use moreau::solve::sweeps::{BYTES_READ, BYTES_WRITTEN};
use moreau::solve::{Budget, Request, SolverConfig, Status, Value};
use moreau::world::Settings;

fn with(choices: &[(&str, &str)], numbers: &[(&str, i64)], budget: Budget) -> SolverConfig {
    let mut parameters = BTreeMap::new();
    for (name, value) in choices {
        parameters.insert((*name).into(), Value::Choice((*value).into()));
    }
    for (name, value) in numbers {
        parameters.insert((*name).into(), Value::Integer(*value));
    }
    SolverConfig {
        name: "colored-gs".into(),
        budget,
        parameters,
    }
}

/// The first step's problem of a ball grid that is thrown at the ground askew.
fn thrown_grid(n: usize) -> Problem {
    let settings = Settings {
        prediction: 1e-6,
        ..Settings::default()
    };
    let once = with(&[], &[], Budget::default());
    let mut s = simulation(ball_grid(n, settings), once);
    s.step().unwrap();
    let mut problem = s.problem().clone();
    for (k, u) in problem.bodies.free_velocity.iter_mut().enumerate().skip(1) {
        let k = k as f64;
        // Little enough that nearly all contacts stick.
        u.linear = Vec3::new(0.03 * (k * 0.7).sin(), -0.5, 0.02 * (k * 1.3).cos());
    }
    problem
}

/// 200 small balls all around a heavy one, each pressed against it.
fn hub(laws: &[FrictionLaw]) -> Problem {
    let mut p = Problem {
        h: 0.01,
        ..Problem::default()
    };
    p.push_body(0.0, SymMat3::ZERO, Twist::ZERO);
    let spin = Twist {
        linear: Vec3::new(0.1, -0.2, 0.0),
        angular: Vec3::new(0.5, 0.2, -0.3),
    };
    p.push_body(1e-2, SymMat3::diagonal(0.025, 0.025, 0.025), spin);
    for k in 0..200u32 {
        let (f, law) = (f64::from(k), laws[k as usize % laws.len()]);
        // A spiral over the sphere.
        let z = 1.0 - (f + 0.5) / 100.0;
        let around = f * 2.399_963;
        let r = (1.0 - z * z).sqrt();
        let out = Vec3::new(r * around.cos(), r * around.sin(), z);
        let free = Twist {
            linear: out * -0.3,
            angular: Vec3::new(0.0, (f * 0.1).sin(), 0.0),
        };
        let small = p.push_body(1.0, SymMat3::diagonal(2.5, 2.5, 2.5), free);
        let mut contact = |bodies: [u32; 2], normal: Vec3, arms: [Vec3; 2]| {
            p.push_contact(NewContact {
                bodies,
                frame: ContactFrame {
                    normal,
                    tangent: tangent(normal),
                    arms,
                },
                friction: Friction {
                    law,
                    mu: [0.3; 2],
                    length: 0.1,
                },
                bias: [0.0; 5],
                compliance: if k % 7 == 0 { [1e-3; 2] } else { [0.0; 2] },
                gap: 0.0,
            });
        };
        // Held from outside as well, a wedged ball would have many solutions.
        contact([1, small], out, [out, out * -0.5]);
    }
    p.finish();
    p
}

#[test]
fn a_large_island_is_solved_as_well_as_by_gauss_seidel_and_alike_on_every_number_of_threads() {
    let problem = thrown_grid(12);
    assert_eq!(problem.islands.len(), 1);
    let some = Budget {
        iterations: 300,
        tolerance: 1e-10,
        ..Budget::default()
    };
    let reference = SolverConfig {
        name: "gauss-seidel".into(),
        ..with(&[], &[], some)
    };
    let start = residual_of(&problem, &vec![0.0; problem.row_count()]);
    let (lambda, ..) = solve(&reference, &problem, false);
    let sequential = residual_of(&problem, &lambda);
    let (lambda, _, report) = solve(&with(&[], &[], some), &problem, false);
    let colored = residual_of(&problem, &lambda);
    assert!(
        colored < 3.0 * sequential && colored < 0.02 * start,
        "{colored} {sequential} {start}"
    );
    let contacts: u32 = report.distribution(COLORS).unwrap().iter().sum();
    assert_eq!(contacts as usize, problem.contacts.len());

    let few = Budget {
        iterations: 20,
        tolerance: 0.0,
        relative: 1e-9,
        ..Budget::default()
    };
    let relaxed = [("threshold", 1000), ("parts", 3)];
    for (choices, numbers) in [
        (vec![("precision", "f32")], vec![]),
        (vec![("precision", "f64"), ("coloring", "balanced")], vec![]),
        (vec![("treatment", "relaxed")], relaxed.to_vec()),
        (
            vec![("treatment", "relaxed"), ("unsafe", "jacobi")],
            relaxed.to_vec(),
        ),
    ] {
        let config = with(&choices, &numbers, few);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| solve(&config, &problem, false).0)
        };
        let one = on(1);
        assert!(one.iter().any(|x| *x > 0.0));
        for threads in [2, 3, 5] {
            assert!(on(threads) == one, "{choices:?} on {threads} threads");
        }
    }
}

#[test]
fn a_hub_of_hundreds_of_contacts_is_solved_in_every_treatment() {
    let budget = Budget {
        iterations: 100_000,
        tolerance: 1e-11,
        ..Budget::default()
    };
    // A hub of pyramids, whose rows are redundant, is beyond a Jacobi sweep of ω = 1/200.
    let is_simple = |law: &FrictionLaw| !matches!(law, FrictionLaw::Pyramid(_));
    let mixed: Vec<_> = FrictionLaw::all().filter(is_simple).collect();
    for laws in [&[FrictionLaw::Disc][..], &mixed] {
        let problem = hub(laws);
        let (_, expected, _) = solve(&with(&[("precision", "f64")], &[], budget), &problem, false);
        for (choices, numbers) in [
            (vec![("precision", "mixed")], vec![]),
            (vec![("coloring", "balanced")], vec![]),
            (vec![("treatment", "relaxed")], vec![("threshold", 64)]),
            (
                vec![("treatment", "relaxed"), ("unsafe", "jacobi")],
                vec![("threshold", 64)],
            ),
        ] {
            // With ω = 1/200 an iteration is a two-hundredth of one.
            let slow = choices.contains(&("unsafe", "jacobi"));
            let loosely = if slow { 1e4 } else { 1.0 };
            let budget = Budget {
                tolerance: budget.tolerance * loosely,
                ..budget
            };
            let config = with(&choices, &numbers, budget);
            let (lambda, u, report) = solve(&config, &problem, false);
            assert_eq!(report.status, Status::Converged, "{choices:?}: {report:?}");
            let residual = residual_of(&problem, &lambda);
            assert!(residual < 1e-9 * loosely, "{choices:?}: {residual:e} m/s");
            let apart = difference(&u, &expected);
            assert!(apart < 1e-7 * loosely, "{choices:?}: {apart:e} m/s apart");
        }
    }
}

/// Nothing of one solve is left in the next, whatever the two problems are.
#[test]
fn a_solver_that_solved_something_else_before_solves_as_a_new_one() {
    let budget = Budget {
        iterations: 5,
        tolerance: 0.0,
        ..Budget::default()
    };
    let config = with(&[], &[], budget);
    let mut problems = vec![thrown_grid(5), hub(&[FrictionLaw::Disc])];
    // The same edges with another law, without friction, and with a body that does not move.
    let mut other = problems[0].clone();
    for c in 0..40 {
        let law = FrictionLaw::Box;
        let friction = other.contacts.friction[c];
        other.contacts.friction.set(c, Friction { law, ..friction });
    }
    problems.push(other);
    let mut other = problems[0].clone();
    for f in other.contacts.friction.values_mut() {
        f.mu = [0.0; 2];
    }
    problems.push(other);
    let mut other = problems[0].clone();
    other.bodies.inverse_mass[30] = 0.0;
    other.bodies.inverse_inertia[30] = SymMat3::ZERO;
    other.finish();
    problems.push(other);
    for before in &problems {
        for problem in &problems {
            let mut solver = config.build().unwrap();
            let request = Request {
                budget,
                history: false,
                ..Request::default()
            };
            let mut u = Vec::new();
            let mut first = vec![0.0; before.row_count()];
            solver.solve(before, &request, &mut first, &mut u);
            // Kept colours are the one thing that may differ.
            solver.set_state(&[]);
            let mut lambda = vec![0.0; problem.row_count()];
            solver.solve(problem, &request, &mut lambda, &mut u);
            assert!(lambda == solve(&config, problem, false).0);
        }
    }
}

/// Single precision stops where it resolves nothing any more, and says so; mixed goes on.
/// The colours are those that the histogram counts, and no two contacts of one share a body but within a manifold.
#[test]
fn every_contact_has_the_colour_that_it_is_swept_in() {
    let problem = thrown_grid(5);
    let relaxed = with(
        &[("treatment", "relaxed")],
        &[("threshold", 60)],
        Budget::default(),
    );
    for (config, is_relaxed) in [(with(&[], &[], Budget::default()), false), (relaxed, true)] {
        let mut solver = config.build().unwrap();
        assert_eq!(solver.view().colors(), None, "nothing has been solved");
        let mut lambda = vec![0.0; problem.row_count()];
        let report = solver.solve(&problem, &Request::default(), &mut lambda, &mut Vec::new());
        let colors = solver.view().colors().expect("colours");
        let counts = report.distribution(COLORS).expect("a histogram");
        let mut found = vec![0; counts.len()];
        colors.iter().for_each(|color| found[*color as usize] += 1);
        assert_eq!(found, counts);
        let last = counts.len() as u32 - 1;
        let mut users = BTreeMap::new();
        for (bodies, color) in problem.contacts.bodies.iter().zip(&colors) {
            let dynamic = bodies
                .iter()
                .filter(|b| problem.bodies.is_dynamic(**b as usize));
            for body in dynamic.filter(|_| !is_relaxed || *color < last) {
                let by = users.entry((*body, *color)).or_insert(*bodies);
                assert_eq!(by, bodies, "colour {color} of body {body}");
            }
        }
    }
}

#[test]
fn precisions_end_where_they_say() {
    let problem = thrown_grid(6);
    let budget = Budget {
        iterations: 20_000,
        tolerance: 1e-11,
        ..Budget::default()
    };
    let (lambda, _, report) = solve(&with(&[("precision", "f32")], &[], budget), &problem, false);
    assert!(
        matches!(&report.status, Status::Stalled(why) if why.contains("single precision")),
        "{report:?}"
    );
    let single = residual_of(&problem, &lambda);
    assert!(single < 1e-4, "{single:e} m/s");
    let (lambda, _, report) = solve(
        &with(&[("precision", "mixed")], &[], budget),
        &problem,
        false,
    );
    assert_eq!(report.status, Status::Converged);
    let mixed = residual_of(&problem, &lambda);
    assert!(mixed < 1e-10 && mixed < single, "{mixed:e} m/s");
    // A mass that single precision cannot hold is an error, not an infinity.
    let mut heavy = problem.clone();
    heavy.bodies.inverse_mass[1] = 1e39;
    let (_, _, report) = solve(&with(&[("precision", "f32")], &[], budget), &heavy, false);
    assert!(matches!(report.status, Status::Failed(_)), "{report:?}");
}

/// What a sweep in f32 moves, in whole cache lines: 15 numbers and three impulses of every contact, two
/// indices and two bodies, of 64 bytes each; it stores the impulses and the bodies' velocities, a line each.
#[test]
fn a_sweep_counts_the_cache_lines_that_it_moves() {
    let problem = thrown_grid(12);
    let budget = Budget {
        iterations: 1,
        ..Budget::default()
    };
    let (_, _, report) = solve(&with(&[("precision", "f32")], &[], budget), &problem, false);
    let per_contact = |name: &str| {
        let bytes = report.statistic(name).expect("a statistic");
        bytes / problem.contacts.len() as f64
    };
    // A few lanes are empty, and a few contacts fill none.
    let [read, written] = [BYTES_READ, BYTES_WRITTEN].map(per_contact);
    assert!((208.0..1.05 * 208.0).contains(&read), "{read} bytes read");
    assert!((140.0..1.05 * 140.0).contains(&written), "{written} bytes");
}
