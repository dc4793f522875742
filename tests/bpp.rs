//! Block principal pivoting: against enumeration, against the other factorisations, on the problems
//! that are known to be hard for it, and on machines.

mod common;

use moreau::math::{SymMat3, Twist, Vec3, tangent};
use moreau::problem::residual::{self, JudgedLaw, Residual, ResidualWorkspace};
use moreau::problem::{ContactFrame, Friction, FrictionLaw, NewContact, Problem};
use moreau::scene::library;
use moreau::solve::bpp::{FACTORIZATIONS, MlcpOptions, MlcpStats, solve_mlcp};
use moreau::solve::{Budget, Request, SolveReport, SolverConfig, Status, Value};

/// Numbers from −1 to 1 in a fixed sequence, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1)
    }

    fn next(&mut self) -> f64 {
        for shift in [13, -7, 17] {
            self.0 ^= if shift > 0 {
                self.0 << shift
            } else {
                self.0 >> -shift
            };
        }
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() * 0.5 + 0.5) * n as f64) as usize % n
    }
}

/// A dense problem.
struct Mlcp {
    a: Vec<f64>,
    b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

impl Mlcp {
    fn n(&self) -> usize {
        self.b.len()
    }

    /// A = G Gᵀ of the given rank with rows scaled over some orders of magnitude, and bounds of every
    /// kind: none, one-sided, two-sided, equal ones.
    fn random(n: usize, rank: usize, spread: f64, random: &mut Random) -> Self {
        let scale: Vec<f64> = (0..n).map(|_| 10f64.powf(spread * random.next())).collect();
        let g: Vec<f64> = (0..n * rank).map(|_| random.next()).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for k in 0..n {
                let product = (0..rank).map(|c| g[i * rank + c] * g[k * rank + c]);
                a[i * n + k] = product.sum::<f64>() * scale[i] * scale[k];
            }
        }
        // b in the range of A, so that there is a solution where A is singular, plus what bounds take.
        let v: Vec<f64> = (0..rank).map(|_| 2.0 * random.next()).collect();
        let b = (0..n)
            .map(|i| (0..rank).map(|c| g[i * rank + c] * v[c]).sum::<f64>() * scale[i])
            .collect();
        let mut lo = vec![f64::NEG_INFINITY; n];
        let mut hi = vec![f64::INFINITY; n];
        for i in 0..n {
            let size = (random.next().abs() + 0.01) / scale[i];
            match random.below(8) {
                0 => {}
                1..=3 => lo[i] = 0.0,
                4..=5 => [lo[i], hi[i]] = [-size, size],
                6 => [lo[i], hi[i]] = [-size, 0.3 * size],
                _ => [lo[i], hi[i]] = [0.5 * size, 0.5 * size],
            }
        }
        Self { a, b, lo, hi }
    }

    fn solve(&self, options: &MlcpOptions) -> (Vec<f64>, Vec<f64>, MlcpStats) {
        solve_mlcp(&self.a, &self.b, &self.lo, &self.hi, options).expect("finite numbers")
    }

    /// Largest natural residual |x − clamp(x − w/A_ii)| A_ii, as a share of the largest |b_i| or
    /// A_ii |x_i|, row by row in the rows' own scale.
    fn error(&self, x: &[f64]) -> f64 {
        let n = self.n();
        let (mut error, mut size) = (0.0f64, 0.0f64);
        for i in 0..n {
            let d = self.a[i * n + i];
            let w: f64 = (0..n).map(|k| self.a[i * n + k] * x[k]).sum::<f64>() + self.b[i];
            let moved = (x[i] - w / d).max(self.lo[i]).min(self.hi[i]);
            error = error.max((x[i] - moved).abs() * d.sqrt());
            size = size
                .max(self.b[i].abs() / d.sqrt())
                .max(x[i].abs() * d.sqrt());
        }
        error / size.max(1e-300)
    }

    /// The solution by trying every index set.
    fn enumerate(&self) -> Vec<f64> {
        let n = self.n();
        let mut best = (f64::INFINITY, Vec::new());
        for code in 0..3usize.pow(n as u32) {
            let set: Vec<usize> = (0..n).map(|i| code / 3usize.pow(i as u32) % 3).collect();
            let mut x = vec![0.0; n];
            let mut usable = true;
            for i in 0..n {
                x[i] = match set[i] {
                    1 => self.lo[i],
                    2 => self.hi[i],
                    _ => 0.0,
                };
                usable &= x[i].is_finite();
            }
            if !usable {
                continue;
            }
            let free: Vec<usize> = (0..n).filter(|i| set[*i] == 0).collect();
            let m = free.len();
            let a = nalgebra::DMatrix::from_fn(m, m, |r, c| self.a[free[r] * n + free[c]]);
            let b = nalgebra::DVector::from_fn(m, |r, _| {
                let i = free[r];
                -self.b[i] - (0..n).map(|k| self.a[i * n + k] * x[k]).sum::<f64>()
            });
            if m > 0 {
                let Some(solution) = a.lu().solve(&b) else {
                    continue;
                };
                for (i, value) in free.iter().zip(solution.iter()) {
                    x[*i] = *value;
                }
            }
            if (0..n).any(|i| x[i] < self.lo[i] - 1e-300 || x[i] > self.hi[i] + 1e-300) {
                continue;
            }
            let error = self.error(&x);
            if error < best.0 {
                best = (error, x);
            }
        }
        best.1
    }
}

/// The solution is that of the index set that fits, found by trying all of them.
#[test]
fn pivoting_finds_what_enumeration_finds() {
    let mut random = Random::new(1);
    for case in 0..1500 {
        let n = 1 + random.below(6);
        let p = Mlcp::random(n, n + 1, 1.0, &mut random);
        let truth = p.enumerate();
        for factorization in FACTORIZATIONS {
            let options = MlcpOptions {
                factorization,
                ..MlcpOptions::default()
            };
            let (x, _, stats) = p.solve(&options);
            assert!(stats.solved, "case {case}, {factorization}: {stats:?}");
            for i in 0..n {
                let d = p.a[i * n + i].sqrt();
                let size: f64 = truth
                    .iter()
                    .enumerate()
                    .map(|(k, x)| x.abs() * p.a[k * n + k].sqrt())
                    .fold(0.0, f64::max);
                assert!(
                    (x[i] - truth[i]).abs() * d <= 1e-6 * size,
                    "case {case}, {factorization}: {x:?} against {truth:?}"
                );
            }
        }
    }
}

/// Bounds that are met exactly: b such that solutions lie on their bounds with w = 0.
#[test]
fn degenerate_problems_are_solved() {
    let mut random = Random::new(2);
    for case in 0..2000 {
        let n = 2 + random.below(11);
        let mut p = Mlcp::random(n, n + 2, 1.0, &mut random);
        let x: Vec<f64> = (0..n)
            .map(|i| {
                let at = [p.lo[i], p.hi[i], 0.5 * (p.lo[i] + p.hi[i])][random.below(3)];
                if at.is_finite() {
                    at
                } else {
                    p.lo[i].max(-1.0).min(p.hi[i])
                }
            })
            .collect();
        for i in 0..n {
            p.b[i] = -(0..n).map(|k| p.a[i * n + k] * x[k]).sum::<f64>();
        }
        let (found, _, stats) = p.solve(&MlcpOptions::default());
        assert!(stats.solved, "case {case}: {stats:?}");
        assert!(
            p.error(&found) < 1e-11,
            "case {case}: {:e}",
            p.error(&found)
        );
    }
}

/// Singular matrices with compliance: complementarity holds for A itself after the proximal steps.
#[test]
fn singular_problems_are_solved_without_their_compliance() {
    let mut random = Random::new(3);
    let mut worst: f64 = 0.0;
    for case in 0..2000 {
        let n = 3 + random.below(10);
        let rank = 1 + random.below(n - 1);
        let mut p = Mlcp::random(n, rank, 1.0, &mut random);
        // Equal bounds and short intervals could leave the range of A.
        for i in 0..n {
            if p.lo[i].is_finite() {
                [p.lo[i], p.hi[i]] = [0.0, f64::INFINITY];
            }
        }
        let options = MlcpOptions {
            compliance: 1e-9,
            ..MlcpOptions::default()
        };
        let (x, _, stats) = p.solve(&options);
        assert!(stats.solved, "case {case}: {stats:?}");
        worst = worst.max(p.error(&x));
        assert!(
            p.error(&x) < 1e-10,
            "case {case}, rank {rank} of {n}: {:e}",
            p.error(&x)
        );
    }
    assert!(worst > 0.0);
}

/// Fathi's matrices, on which Murty's rule takes 2ⁿ pivots: blocks do not.
#[test]
fn murty_s_worst_case_is_easy_for_blocks() {
    for n in 2..13 {
        // M: ones on the diagonal, twos below; A = M Mᵀ, b = −1 (Fathi 1979).
        let m = |i: usize, k: usize| match i.cmp(&k) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => 2.0,
        };
        let a: Vec<f64> = (0..n * n)
            .map(|at| (0..n).map(|c| m(at / n, c) * m(at % n, c)).sum())
            .collect();
        let p = Mlcp {
            a,
            b: vec![-1.0; n],
            lo: vec![0.0; n],
            hi: vec![f64::INFINITY; n],
        };
        let (x, _, stats) = p.solve(&MlcpOptions::default());
        assert!(stats.solved && p.error(&x) < 1e-12, "{n}: {stats:?}");
        assert!(stats.pivots < 40, "{n}: {stats:?}");
    }
}

/// Blocks alone go round in circles on some positive definite matrices; with Murty's rule to fall back
/// on, never.
#[test]
fn the_safeguard_ends_cycles() {
    let mut random = Random::new(4);
    let mut cycles = 0;
    for case in 0..30_000 {
        let n = 3 + random.below(10);
        let mut p = Mlcp::random(n, n, 0.0, &mut random);
        for i in 0..n {
            [p.lo[i], p.hi[i]] = [0.0, f64::INFINITY];
        }
        let blocks_only = MlcpOptions {
            pivots: 500,
            patience: u32::MAX,
            single_pivots: 0,
            descent_steps: 0,
            ..MlcpOptions::default()
        };
        let (_, _, stats) = p.solve(&blocks_only);
        if stats.solved {
            continue;
        }
        cycles += 1;
        let (x, _, stats) = p.solve(&MlcpOptions::default());
        assert!(
            stats.solved && stats.single_pivots > 0,
            "case {case}: {stats:?}"
        );
        assert!(p.error(&x) < 1e-7, "case {case}: {:e}", p.error(&x));
    }
    assert!(cycles > 5, "only {cycles} cycles: the test shows nothing");
}

/// No cycles, no NaN, every row complementary, over many random problems of every kind.
fn many(count: u64, seed: u64) {
    let mut random = Random::new(seed);
    for case in 0..count {
        let n = 1 + random.below(12);
        let p = Mlcp::random(n, n + 1 + random.below(4), 1.5, &mut random);
        let factorization = FACTORIZATIONS[case as usize % FACTORIZATIONS.len()];
        let options = MlcpOptions {
            factorization,
            ..MlcpOptions::default()
        };
        let (x, _, stats) = p.solve(&options);
        assert!(
            stats.solved,
            "case {case}, {factorization}, {n} rows: {stats:?}"
        );
        let error = p.error(&x);
        assert!(
            error < 1e-10,
            "case {case}, {factorization}, {n} rows: {error:e}"
        );
        assert!(
            stats.factor_error < 1e-13,
            "case {case}, {factorization}: {stats:?}"
        );
    }
}

#[test]
fn twenty_thousand_random_problems() {
    many(20_000, 5);
}

/// Minutes; run with `cargo test --release --no-default-features --test bpp -- --ignored a_million`.
#[test]
#[ignore = "minutes"]
fn a_million_random_problems() {
    many(1_000_000, 6);
}

/// Every factorisation gives the same impulses, and downdated factors are as good as fresh ones.
#[test]
fn factorizations_agree() {
    let mut random = Random::new(7);
    for case in 0..60 {
        let n = 20 + random.below(60);
        let p = Mlcp::random(n, n + 10, 1.0, &mut random);
        let (truth, ..) = p.solve(&MlcpOptions {
            factorization: "full",
            ..MlcpOptions::default()
        });
        let size = truth
            .iter()
            .enumerate()
            .map(|(i, x)| x.abs() * p.a[i * n + i].sqrt())
            .fold(0.0, f64::max);
        for factorization in FACTORIZATIONS {
            let (x, _, stats) = p.solve(&MlcpOptions {
                factorization,
                ..MlcpOptions::default()
            });
            assert!(
                stats.factor_error <= 1e-13,
                "case {case}, {factorization}: {stats:?}"
            );
            for i in 0..n {
                let apart = (x[i] - truth[i]).abs() * p.a[i * n + i].sqrt();
                assert!(
                    apart <= 1e-9 * size,
                    "case {case}, {factorization}, row {i}: {apart:e}"
                );
            }
        }
    }
}

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
                Vec3::new(1.0, 0.0, 0.2 * random.next())
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
                p.push_row(&entries, [-inf, inf], 0.0, 1e-9, 0.0);
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
            count("coupled Newton steps") <= count("pivots"),
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
    // Without friction there is nothing to settle.
    for friction in &mut problem.contacts.friction {
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

/// Timings of a crane and a winch by factorisation, cold and warm; prints, asserts nothing about time.
#[test]
#[ignore = "a measurement"]
fn timings() {
    let cases = [
        (
            "crane",
            Chain {
                links: 120,
                mass: 3.5,
                load: 2000.0,
                contacts: 0,
                dragged: false,
            },
        ),
        (
            "crane on the ground",
            Chain {
                links: 60,
                mass: 3.5,
                load: 2000.0,
                contacts: 1,
                dragged: false,
            },
        ),
        (
            "winch",
            Chain {
                links: 40,
                mass: 1.0,
                load: 400.0,
                contacts: 2,
                dragged: true,
            },
        ),
    ];
    for (name, chain) in cases {
        let problem = chain.problem();
        for factorization in FACTORIZATIONS {
            let c = config(&[("factorization", Value::Choice((*factorization).into()))]);
            let mut solver = c.build().unwrap();
            let request = Request {
                budget: c.budget,
                history: false,
            };
            let mut times = [f64::INFINITY; 4];
            let mut said = [SolveReport::default(), SolveReport::default()];
            let mut solved = vec![0.0; problem.row_count()];
            for _ in 0..15 {
                let mut lambda = vec![0.0; problem.row_count()];
                let cold = solver.solve(&problem, &request, &mut lambda, &mut Vec::new());
                solved.copy_from_slice(&lambda);
                let warm = solver.solve(&problem, &request, &mut lambda, &mut Vec::new());
                for (slot, value) in times.iter_mut().zip([
                    cold.prepare_time,
                    cold.solve_time,
                    warm.prepare_time,
                    warm.solve_time,
                ]) {
                    *slot = slot.min(1e3 * value);
                }
                said = [cold, warm];
            }
            let [cold, warm] = &said;
            println!(
                "{name}, {factorization}: {} rows, {} stored, prepare {:.3} ms, cold {:.3} ms, warm {:.3} ms, residual {:.1e}\n  cold {:?}\n  warm {:?}",
                problem.row_count(),
                cold.statistic("values stored").unwrap(),
                times[0],
                times[1],
                times[3],
                residual_of(&problem, &solved).residual,
                cold.statistics,
                warm.statistics,
            );
        }
    }
}
