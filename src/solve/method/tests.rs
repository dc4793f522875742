//! Every method on seeded problems, with bodies and, where it goes without, on their matrix alone.

use super::alternating_directions::{AlternatingDirections, Options};
use super::conjugate_sweeps::ConjugateSweeps;
use super::pivoting::Pivoting;
use super::proximal_point::ProximalPoint;
use super::semismooth_newton::SemismoothNewton;
use super::{Limits, Site, State};
use crate::math::random::Random;
use crate::math::{SymMat3, Twist, Vec3};
use crate::problem::law::Law;
use crate::problem::residual::{JudgedLaw, ResidualWorkspace};
use crate::problem::{
    ContactFrame, Form, Friction, FrictionLaw, Laws, MatrixProblem, NewContact, Problem, Sparse,
};
use crate::solve::island::bodies::Bodies;
use crate::solve::island::rows::Rows;
use crate::solve::island::{Operator, Set};

const SEEDS: std::ops::Range<u64> = 0..12;
const LIMITS: Limits = Limits {
    tolerance: 1e-9,
    aim: 1e-10,
    steps: 500,
    patience: usize::MAX,
    work: f64::INFINITY,
    deadline: None,
    history: false,
};

/// What the general rows of a problem are.
#[derive(Clone, Copy, PartialEq)]
enum General {
    None,
    Bounded,
    Bilateral,
}

fn vector(random: &mut Random) -> Vec3 {
    Vec3::new(random.signed(), random.signed(), random.signed())
}

/// A chain of bodies with masses from 1 to 1000 kg that are thrown at each other and at the ground, with up to four
/// contacts between neighbours, and some rows. At rest nothing is owed, so that there is a solution.
fn problem(seed: u64, law: FrictionLaw, general: General) -> Problem {
    let mut random = Random::new(seed);
    let mut out = Problem {
        h: 0.01,
        ..Problem::default()
    };
    let ground = out.push_body(0.0, SymMat3::default(), Twist::ZERO);
    let mut last = ground;
    for _ in 0..3 + seed % 5 {
        let mass = 10f64.powf(1.5 + 1.5 * random.signed());
        let inertia = |random: &mut Random| 1.0 / (mass * random.range(0.05, 0.2));
        let [xx, yy, zz] = [(); 3].map(|()| inertia(&mut random));
        let inverse = SymMat3 {
            xx,
            yy,
            zz,
            ..SymMat3::default()
        };
        let free = Twist::new(vector(&mut random), vector(&mut random));
        let body = out.push_body(1.0 / mass, inverse, free);
        for _ in 0..1 + random.below(4) {
            let normal = vector(&mut random).normalize();
            let tangent = normal.cross(&vector(&mut random)).normalize();
            let mu = random.range(0.1, 0.8);
            let friction = Friction {
                law,
                mu: [mu, mu],
                length: 0.1,
            };
            out.push_contact(NewContact {
                bodies: [last, body],
                frame: ContactFrame {
                    normal,
                    tangent,
                    arms: [(); 2].map(|()| 0.5 * vector(&mut random)),
                },
                friction,
                bias: [0.0; 5],
                compliance: [0.0; 2],
                gap: 0.0,
            });
        }
        if general != General::None && last != ground {
            let jacobian = [(); 2].map(|()| Twist::new(vector(&mut random), vector(&mut random)));
            let bounds = if general == General::Bilateral {
                [f64::NEG_INFINITY, f64::INFINITY]
            } else {
                [-0.1 * mass, 0.2 * mass]
            };
            out.push_row(
                [(last, jacobian[0]), (body, jacobian[1])],
                bounds,
                0.0,
                0.0,
                0.0,
            );
        }
        last = body;
    }
    out.finish();
    assert_eq!(out.islands.len(), 1);
    out
}

fn bodies(problem: &Problem) -> Bodies {
    let mut local = Vec::new();
    problem.islands.number_within(&mut local);
    let mut out = Bodies::default();
    out.refill(problem, 0, &local);
    out
}

/// A and b alone, which is known of discs.
fn matrix(problem: &Problem) -> MatrixProblem {
    let mut bodies = bodies(problem);
    let n = problem.row_count();
    let b = bodies.offset().to_vec();
    let (mut x, mut w) = (vec![0.0; n], vec![0.0; n]);
    let mut triplets = Vec::new();
    for column in 0..n {
        x[column] = 1.0;
        bodies.product(&x, &mut w);
        let entries = w.iter().zip(&b).enumerate();
        let entries = entries.map(|(row, (w, b))| (row as u32, column as u32, w - b));
        triplets.extend(entries.filter(|(.., value)| value.abs() > 1e-13));
        x[column] = 0.0;
    }
    let laws = Laws {
        mu: problem.contacts.friction.iter().map(|f| f.mu[0]).collect(),
        bounds: problem.rows.bounds.clone(),
    };
    MatrixProblem::from_matrix(laws, &Sparse::from_triplets(n, n, &triplets), b).expect("a problem")
}

/// A state of an island without impulses, and its residual (m/s).
fn at_rest(island: &mut impl Operator) -> (State, f64) {
    let mut state = State::default();
    state.x.resize(island.offset().len(), 0.0);
    let error = state.begin(island);
    assert!(error > 1e-3, "there is nothing to solve: {error}");
    (state, error)
}

/// Proximal points from nothing, which lead there; the state is at the solution.
fn solved(bodies: &mut Bodies) -> State {
    let (mut state, error) = at_rest(bodies);
    let result = ProximalPoint::default().run(bodies, &mut state, error, 24, &LIMITS);
    result.expect("a factor");
    state.return_to_best(bodies);
    state
}

#[test]
fn operators_have_the_residual_of_their_problems() {
    for seed in SEEDS {
        let problem = problem(seed, FrictionLaw::Disc, General::Bounded);
        let alone = matrix(&problem);
        let mut random = Random::new(100 + seed);
        let lambda: Vec<f64> = (0..problem.row_count()).map(|_| random.signed()).collect();
        let judge =
            |form: &dyn Fn(&mut ResidualWorkspace) -> f64| form(&mut ResidualWorkspace::default());
        let expected = judge(&|w| problem.residual(&lambda, JudgedLaw::Own, w).residual);
        let of_matrix = judge(&|w| alone.residual(&lambda, JudgedLaw::Own, w).residual);
        let mut bodies = bodies(&problem);
        let mut state = State::default();
        bodies.island.load(&problem, &lambda, &mut state.x);
        let mut rows = Rows::new(&alone, 0);
        let mut of_rows = State::default();
        of_rows.x.resize(lambda.len(), 0.0);
        rows.of.load(&lambda, &mut of_rows.x);
        for (name, found) in [
            ("bodies", state.begin(&mut bodies)),
            ("rows", of_rows.begin(&mut rows)),
            ("the matrix", of_matrix),
        ] {
            let difference = (found - expected).abs();
            assert!(
                difference <= 1e-9 * expected,
                "{seed}, {name}: {found}, {expected}"
            );
        }
    }
}

#[test]
fn proximal_points_lead_there_from_nothing() {
    for law in FrictionLaw::all() {
        for seed in SEEDS {
            // At the corners of a box they may circle beside bilateral rows, which is what pivoting is for.
            let general = [General::None, General::Bounded, General::Bilateral];
            let few = if law.is_polyhedral() { 2 } else { 3 };
            for general in &general[..few] {
                let state = solved(&mut bodies(&problem(seed, law, *general)));
                assert!(
                    state.least <= LIMITS.tolerance,
                    "{law:?}, {seed}: {}",
                    state.least
                );
            }
        }
    }
}

/// Whether a few steps suffice from impulses that are off by 1e-5 of themselves, as they do from half of such starts at
/// least: redundant contacts let impulses move far. From none it need not get there, and is
/// never worse.
fn newton_is_quick(island: &mut impl Operator, solution: &[f64], seed: u64) -> bool {
    let mut newton = SemismoothNewton::default();
    let (mut state, error) = at_rest(island);
    let reached = newton.run(island, &mut state, error, &LIMITS);
    assert!(reached.is_ok_and(|reached| reached <= error), "{seed}");
    let mut random = Random::new(200 + seed);
    let near = solution.iter().map(|x| x * (1.0 + 1e-5 * random.signed()));
    state.x = near.collect();
    let error = state.begin(island);
    let reached = newton.run(island, &mut state, error, &LIMITS);
    let reached = reached.expect("a factor");
    assert!(reached <= error, "{seed}: {reached} after {error}");
    reached <= LIMITS.aim && state.tally.steps <= 10
}

#[test]
fn newtons_method_is_quick_when_near_with_bodies_and_without() {
    let mut quick = [0, 0];
    for seed in SEEDS {
        let problem = problem(seed, FrictionLaw::Disc, General::Bilateral);
        let mut bodies = bodies(&problem);
        let solution = solved(&mut bodies);
        quick[0] += u32::from(newton_is_quick(&mut bodies, &solution.x, seed));
        let alone = matrix(&problem);
        let mut rows = Rows::new(&alone, 0);
        let mut x = vec![0.0; solution.x.len()];
        let mut lambda = x.clone();
        bodies.island.store(&problem, &solution.x, &mut lambda);
        rows.of.load(&lambda, &mut x);
        quick[1] += u32::from(newton_is_quick(&mut rows, &x, seed));
    }
    assert!(quick.iter().all(|n| *n >= 6), "{quick:?}");
}

fn directions_lead_there(island: &mut impl Operator, seed: u64) {
    let (mut state, error) = at_rest(island);
    let mut directions = AlternatingDirections::default();
    directions.begin_at(island, Options::default(), &mut state, error);
    let mut count = 0;
    while directions.is_running && count < 3000 {
        directions.iterate(island, 1e-7, &mut state.tally);
        count += 1;
    }
    assert!(
        directions.least <= 1e-7,
        "{seed}: {} after {count}",
        directions.least
    );
    // What they call the best has that residual.
    state.x.clone_from(&directions.best);
    let measured = state.measure(island);
    assert!(
        (measured - directions.least).abs() < 1e-12,
        "{seed}: {measured}"
    );
}

#[test]
fn alternating_directions_lead_there_with_bodies_and_without() {
    for seed in SEEDS {
        let problem = problem(seed, FrictionLaw::Disc, General::Bilateral);
        directions_lead_there(&mut bodies(&problem), seed);
        directions_lead_there(&mut Rows::new(&matrix(&problem), 0), seed);
    }
}

#[test]
fn sweeps_lead_nearer_on_every_law() {
    for law in FrictionLaw::all() {
        for seed in SEEDS {
            let mut bodies = bodies(&problem(seed, law, General::Bounded));
            assert!(ConjugateSweeps::can_sweep(&bodies));
            let (mut state, error) = at_rest(&mut bodies);
            let mut sweeps = ConjugateSweeps::default();
            sweeps.prepare(&bodies, &state);
            let reached = sweeps.run(&mut bodies, &mut state, [300; 2], &LIMITS);
            assert!(
                reached <= 1e-3 * error,
                "{law:?}, {seed}: {reached} after {error}"
            );
            for block in bodies.blocks() {
                let x = &state.x[block.span()];
                let mut inside = x.to_vec();
                block.project(&mut inside);
                let off = x.iter().zip(&inside).map(|(a, b)| (a - b).abs());
                let largest = x.iter().fold(1.0, |a: f64, x| a.max(x.abs()));
                assert!(
                    off.fold(0.0, f64::max) < 1e-9 * largest,
                    "outside {:?}",
                    block.set
                );
            }
        }
    }
    let with_joints = bodies(&problem(0, FrictionLaw::Disc, General::Bilateral));
    assert!(!ConjugateSweeps::can_sweep(&with_joints));
}

#[test]
fn pivoting_solves_boxes_and_leads_discs_nearer() {
    for seed in SEEDS {
        for law in [FrictionLaw::Box, FrictionLaw::Disc] {
            let problem = problem(seed, law, General::Bilateral);
            let mut bodies = bodies(&problem);
            assert!(Pivoting::solves(&bodies));
            let solution = solved(&mut bodies);
            // The last step's impulses are those of about the same problem.
            let mut start = vec![0.0; problem.row_count()];
            bodies.island.store(&problem, &solution.x, &mut start);
            let mut random = Random::new(300 + seed);
            start
                .iter_mut()
                .for_each(|x| *x *= 1.0 + 0.01 * random.signed());
            let mut state = State::default();
            bodies.island.load(&problem, &start, &mut state.x);
            let error = state.begin(&mut bodies);
            let site = Site {
                problem: &problem,
                island: 0,
                start: &start,
            };
            let most = [f64::INFINITY; 2];
            let work = Pivoting::default().run(&site, &bodies, &mut state, most, None);
            assert!(work.is_some_and(|work| work > 0.0), "{law:?}, {seed}");
            let reached = state.measure(&mut bodies);
            let enough = if law == FrictionLaw::Box { 1e-8 } else { error };
            assert!(
                reached <= enough,
                "{law:?}, {seed}: {reached} after {error}"
            );
        }
    }
}

#[test]
fn blocks_tell_their_laws() {
    let bodies = bodies(&problem(4, FrictionLaw::Disc, General::Bounded));
    let (contacts, rows) = bodies.blocks().split_at(bodies.contacts());
    assert!(
        contacts
            .iter()
            .all(|b| matches!(b.set, Set::Cone(_)) && b.friction().is_some())
    );
    assert!(
        rows.iter()
            .all(|b| b.friction().is_none() && !b.is_bilateral())
    );
    let all = bodies.blocks().iter();
    let end = all.fold(0, |end, block| {
        assert_eq!(block.first, end);
        block.span().end
    });
    assert_eq!(end, bodies.offset().len());
}
