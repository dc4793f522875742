//! Block principal pivoting on machines: chains with large mass ratios, dragged and jammed, and scenes with
//! redundant contacts.

use moreau::math::random::Random;
use moreau::math::{SymMat3, Twist, Vec3, tangent};
use moreau::problem::residual::{self, JudgedLaw, Residual, ResidualWorkspace};
use moreau::problem::{ContactFrame, Friction, FrictionLaw, NewContact, Problem};
use moreau::scene::library;
use moreau::solve::bpp::FACTORIZATIONS;
use moreau::solve::{Budget, Request, SolveReport, SolverConfig, Status, Value};

fn config(choices: &[(&str, Value)]) -> SolverConfig {
    SolverConfig {
        name: "bpp".into(),
        budget: Budget {
            iterations: 10_000,
            ..Budget::default()
        },
        parameters: choices
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    }
}

fn solve(config: &SolverConfig, problem: &Problem, lambda: &mut [f64]) -> SolveReport {
    let mut solver = config.build().expect("a valid configuration");
    let request = Request {
        budget: config.budget,
        history: false,
        ..Request::default()
    };
    solver.solve(problem, &request, lambda, &mut Vec::new())
}

fn residual_of(problem: &Problem, lambda: &[f64]) -> Residual {
    residual::evaluate(
        problem,
        lambda,
        JudgedLaw::Intervals,
        &mut ResidualWorkspace::default(),
    )
}

/// A chain of `links` bodies of `mass` on ball joints with a load at its end, hanging from the world at
/// an angle, falling for one step of 1/60 s. With `dragged`, every link touches the ground in `contacts`
/// points of friction 1 and slides.
struct Chain {
    links: u32,
    mass: f64,
    load: f64,
    contacts: u32,
    dragged: bool,
}

impl Chain {
    fn problem(&self) -> Problem {
        let h = 1.0 / 60.0;
        let mut p = Problem {
            h,
            ..Problem::default()
        };
        p.push_body(0.0, SymMat3::ZERO, Twist::ZERO);
        let half = 0.1;
        let along = if self.dragged {
            Vec3::x()
        } else {
            Vec3::new(0.17, -0.985, 0.0)
        };
        let mut random = Random::new(11);
        for k in 0..=self.links {
            let mass = if k == self.links {
                self.load
            } else {
                self.mass
            };
            let i = mass * 0.2 * 0.2 / 12.0;
            let j = if k == self.links { mass * 0.1 } else { i };
            let speed = if self.dragged {
                Vec3::new(1.0, 0.0, 0.2 * random.signed())
            } else {
                Vec3::zeros()
            };
            p.push_body(
                1.0 / mass,
                SymMat3::diagonal(1.0 / j, 1.0 / j, 1.0 / j),
                Twist {
                    linear: speed - Vec3::y() * (9.81 * h),
                    angular: Vec3::zeros(),
                },
            );
        }
        let axes = [Vec3::x(), Vec3::y(), Vec3::z()];
        let inf = f64::INFINITY;
        for k in 0..=self.links {
            let first = if self.dragged { 1 } else { 0 };
            if k < first {
                continue;
            }
            for e in axes {
                let arms = [along * half, along * -half];
                let entry = |body: u32, arm: Vec3, sign: f64| {
                    let linear = e * sign;
                    let angular = arm.cross(&e) * sign;
                    (body, Twist { linear, angular })
                };
                let before = if k == 0 { Vec3::zeros() } else { arms[0] };
                let entries = [entry(k, before, -1.0), entry(k + 1, arms[1], 1.0)];
                p.push_row(entries, [-inf, inf], 0.0, 1e-9, 0.0);
            }
        }
        for k in 1..=self.links + 1 {
            for c in 0..self.contacts {
                let side = f64::from(c % 2) * 2.0 - 1.0;
                let arm = Vec3::new(half * side, -0.05, 0.02 * f64::from(c / 2));
                p.push_contact(NewContact {
                    bodies: [0, k],
                    frame: ContactFrame {
                        normal: Vec3::y(),
                        tangent: tangent(Vec3::y()),
                        arms: [Vec3::zeros(), arm],
                    },
                    friction: Friction {
                        law: FrictionLaw::Disc,
                        mu: [1.0; 2],
                        length: 0.0,
                    },
                    bias: [0.0; 5],
                    compliance: [0.0; 2],
                    gap: 0.0,
                });
            }
        }
        p.finish();
        p
    }
}

/// A load a million times as heavy as a link.
#[test]
fn a_chain_with_a_mass_ratio_of_a_million() {
    let chain = Chain {
        links: 40,
        mass: 1.0,
        load: 1e6,
        contacts: 0,
        dragged: false,
    };
    let problem = chain.problem();
    for factorization in FACTORIZATIONS {
        let c = config(&[("factorization", Value::Choice((*factorization).into()))]);
        let mut lambda = vec![0.0; problem.row_count()];
        let report = solve(&c, &problem, &mut lambda);
        assert_eq!(
            report.status,
            Status::Converged,
            "{factorization}: {report:?}"
        );
        let residual = residual_of(&problem, &lambda).residual;
        assert!(
            residual <= 1e-9,
            "{factorization}: {residual:e}, {report:?}"
        );
    }
}

/// A dragged chain: most friction rows slip. All factorisations, cold and warm, give the same.
#[test]
fn a_dragged_chain_slips() {
    let chain = Chain {
        links: 30,
        mass: 1.0,
        load: 400.0,
        contacts: 2,
        dragged: true,
    };
    let problem = chain.problem();
    let mut truth = vec![0.0; problem.row_count()];
    let report = solve(&config(&[]), &problem, &mut truth);
    assert_eq!(report.status, Status::Converged, "{report:?}");
    assert!(residual_of(&problem, &truth).residual < 1e-9);
    assert!(report.statistic("tight rows").unwrap() > 20.0, "{report:?}");
    for factorization in FACTORIZATIONS {
        for warm in [true, false] {
            let c = config(&[
                ("factorization", Value::Choice((*factorization).into())),
                ("warm_start", Value::Flag(warm)),
                ("verify", Value::Flag(true)),
            ]);
            let mut lambda = vec![0.0; problem.row_count()];
            let report = solve(&c, &problem, &mut lambda);
            assert_eq!(
                report.status,
                Status::Converged,
                "{factorization}: {report:?}"
            );
            let residual = residual_of(&problem, &lambda).residual;
            assert!(residual < 1e-9, "{factorization}: {residual:e}, {report:?}");
            let error = report.statistic("factor error").unwrap();
            assert!(error < 1e-13, "{report:?}");
            // From its own result there is little to do.
            let again = solve(&c, &problem, &mut lambda);
            assert!(!warm || again.iterations < report.iterations, "{again:?}");
        }
    }
}

/// A hanging chain jammed on the ground is as hard as it gets for pivots: 570 times the weight of a link
/// on every contact, with friction 1.
#[test]
fn a_jammed_chain_is_solved() {
    let chain = Chain {
        links: 60,
        mass: 3.5,
        load: 2000.0,
        contacts: 1,
        dragged: false,
    };
    let mut problem = chain.problem();
    for factorization in FACTORIZATIONS {
        let mut lambda = vec![0.0; problem.row_count()];
        let choice = Value::Choice((*factorization).into());
        let report = solve(&config(&[("factorization", choice)]), &problem, &mut lambda);
        assert_eq!(report.status, Status::Converged, "{report:?}");
        let residual = residual_of(&problem, &lambda);
        assert!(residual.residual <= 1e-8, "{factorization}: {residual:?}");
        assert!(residual.cone <= 1e-9, "{factorization}: {residual:?}");
        let count = |name: &str| report.statistic(name).unwrap();
        assert!(
            count("coupled Newton steps") <= count("pivots of all islands"),
            "{report:?}"
        );
    }
    let mut lambda = vec![0.0; problem.row_count()];
    let alone = config(&[("coupled_steps", Value::Integer(0))]);
    let report = solve(&alone, &problem, &mut lambda);
    assert!(
        matches!(report.status, Status::Converged | Status::Stalled(_)),
        "{report:?}"
    );
    // One pivot is not enough, and no single ones may follow.
    let mut lambda = vec![0.0; problem.row_count()];
    let choices = [("pivots", 1), ("single_pivots", 0), ("coupled_steps", 0)];
    let choices = choices.map(|(name, count)| (name, Value::Integer(count)));
    let report = solve(&config(&choices), &problem, &mut lambda);
    let expected = "the sets or friction bounds of 1 of 1 islands did not settle";
    assert_eq!(
        report.status,
        Status::Stalled(expected.into()),
        "{report:?}"
    );
    // Without friction there is nothing to settle.
    for friction in problem.contacts.friction.values_mut() {
        friction.mu = [0.0; 2];
    }
    let mut lambda = vec![0.0; problem.row_count()];
    let report = solve(&config(&[]), &problem, &mut lambda);
    assert_eq!(report.status, Status::Converged, "{report:?}");
    let residual = residual_of(&problem, &lambda);
    assert!(residual.residual <= 1e-8, "{residual:?}");
}

/// Walls, pyramids and cards have many more contacts than their bodies can tell apart; they are solved
/// nevertheless, and stand. Dominoes fall.
#[test]
fn redundant_contacts_are_solved() {
    let scenes = [
        ("wall", 10, 1e-4),
        ("pyramid", 30, 1e-4),
        ("house_of_cards", 120, 2e-3),
        ("domino_spiral", 120, f64::INFINITY),
    ];
    for (name, steps, most) in scenes {
        let mut scene = library::shipped(name).expect("a scene");
        scene.settings.friction_law = FrictionLaw::Box;
        scene.solver = config(&[("factorization", Value::Choice("sparse".into()))]);
        scene.solver.budget.iterations = 100_000;
        let mut simulation = scene.simulation(1).expect("a simulation");
        let start = simulation.world().bodies.position.clone();
        for step in 0..steps {
            let report = simulation.step().expect("a step");
            let residual = report.residual.unwrap_or_default().residual;
            assert!(residual <= 1e-8, "{name}, step {step}: {residual} m/s");
        }
        let now = &simulation.world().bodies.position;
        let moved = now.iter().zip(&start).map(|(a, b)| (a - b).norm());
        let moved = moved.fold(0.0, f64::max);
        assert!(moved < most, "{name} moved by {moved} m");
    }
}
