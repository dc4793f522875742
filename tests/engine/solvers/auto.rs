//! What somebody gets who names no solver: stacks that stand at any ratio of masses, slides that end where they must,
//! exact solutions for what is small, and sweeps for what is not.

use crate::common::{add, ball_grid, cuboid, simulation, world};
use moreau::math::{Pose, Quat, Vec3};
use moreau::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use moreau::scene::library;
use moreau::solve::{Choice, Method, Reason, SolverConfig, Status};
use moreau::step::Simulation;
use moreau::world::{BodySpec, Settings};

/// A shipped scene with nothing set but these values.
fn scene(name: &str, values: &[(&str, &str)]) -> Simulation {
    let mut scene = library::shipped(name).expect("a shipped scene");
    scene.set_all(values).expect("values of the scene");
    let world = scene.build().expect("it builds");
    simulation(world, scene.solver.clone())
}

/// Ten cubes, the top one up to a million times as heavy: in a minute none moves by a tenth of a millimetre.
#[test]
fn stacks_stand_at_any_ratio_of_masses() {
    for ratio in ["1", "100", "1000", "1e6"] {
        let mut s = scene("box_stack", &[("generators.0.top_mass_ratio", ratio)]);
        assert_eq!(s.solver_config().name, "auto");
        let begin = s.world().bodies.position.clone();
        let mut farthest: f64 = 0.0;
        for _ in 0..3600 {
            s.step().expect("a step");
            let moved = s.world().bodies.position.iter().zip(&begin);
            let moved = moved.map(|(a, b)| (a - b).norm());
            farthest = moved.fold(farthest, f64::max);
        }
        assert!(farthest < 1e-4, "ratio {ratio}: {farthest:e} m");
    }
}

/// What stands starts from impulses that hold it, so that most steps find nothing to do.
#[test]
fn what_stands_is_solved_now_and_then() {
    let mut s = scene("pyramid", &[]);
    let mut idle = 0;
    for _ in 0..600 {
        let report = s.step().expect("a step");
        assert_eq!(report.solve.status, Status::Converged);
        idle += u32::from(report.solve.iterations == 0);
    }
    println!("{idle} of 600 steps found nothing to do");
    assert!(idle >= 450, "{idle} of 600 steps");
}

/// A machine whose cable slides on its drum, on discs of friction, in a few rounds of pivots each time that its joints
/// are solved for.
#[test]
fn machines_on_discs_are_solved_by_pivoting() {
    for (name, most) in [("winch", 10.0), ("crane", 4.0), ("offshore", 4.0)] {
        let mut s = scene(name, &[("settings.friction_law", "Disc")]);
        let config = SolverConfig {
            name: "auto".into(),
            ..SolverConfig::default()
        };
        s.set_solver(config).expect("a solver");
        let (mut iterations, mut rounds) = (0.0, 0.0);
        for step in 0..120 {
            let report = s.step().expect("a step");
            assert_eq!(
                report.solve.status,
                Status::Converged,
                "{name}, step {step}"
            );
            iterations += f64::from(report.solve.iterations);
            rounds += report.solve.statistic("joint rounds").expect("joints");
        }
        let each = iterations / rounds;
        println!("{name}: {each:.1} iterations a round");
        assert!(each < most, "{name}: {each} iterations a round");
    }
}

/// A cube at 3 m/s on μ = 0.5 stops after v²/(2 μ g), whatever the direction, and goes straight. The last step, that
/// stops it, is cut short: μ g h²/2 at most, which is 0.07 % of the way.
#[test]
fn a_slide_ends_where_coulomb_says_in_every_direction() {
    for solver in ["auto", "newton"] {
        for degrees in [0.0_f64, 10.0, 22.5, 45.0] {
            let mut w = world(Settings::default(), 0.5, 0.0);
            crate::common::ground(&mut w);
            let (sin, cos) = degrees.to_radians().sin_cos();
            let along = Vec3::new(cos, 0.0, sin);
            let id = add(
                &mut w,
                BodySpec {
                    pose: Pose::translation(0.0, 0.05, 0.0),
                    shape: cuboid(0.05, 0.05, 0.05),
                    mass: Some(1.0),
                    linear_velocity: along * 3.0,
                    ..BodySpec::default()
                },
            );
            let mut config = SolverConfig::default();
            config.switch(solver);
            let mut s = simulation(w, config);
            for _ in 0..90 {
                s.step().expect("a step");
            }
            let at = s.world().bodies.position[id.index()];
            let way = at.dot(&along);
            let expected = 9.0 / (2.0 * 0.5 * crate::common::G);
            let error = (way - expected).abs() / expected;
            assert!(error < 1e-3, "{solver}, {degrees}°: {way} m of {expected}");
            let aside = at.x * -sin + at.z * cos;
            assert!(
                aside.abs() < 1e-5,
                "{solver}, {degrees}°: {aside:e} m aside"
            );
        }
    }
}

/// A wall in running bond whose bricks touch on all sides, in any direction that it may run: every step is solved, and
/// nothing moves. Swept fifty times a step it shakes with 0.1 m/s. The larger one needs more than the work budget
/// in some steps, and is swept in these; left as it is it falls within a second.
#[test]
fn walls_of_touching_bricks_are_solved() {
    for (courses, bricks, degrees) in [(20, 20, 0.0_f64), (20, 20, 30.0), (30, 30, 30.0)] {
        let is_small = courses < 30;
        let mut w = world(Settings::default(), 0.5, 0.0);
        crate::common::ground(&mut w);
        let turned = Quat::from_axis_angle(&Vec3::y_axis(), degrees.to_radians());
        for course in 0..courses {
            let mut lay = |x: f64, length: f64| {
                let at = Vec3::new(x, 0.25 + 0.5 * f64::from(course), 0.0);
                add(
                    &mut w,
                    BodySpec {
                        pose: Pose::new(turned * at, turned),
                        shape: cuboid(0.5 * length, 0.25, 0.25),
                        mass: Some(length),
                        ..BodySpec::default()
                    },
                );
            };
            let shift = 0.5 * f64::from(course % 2);
            for k in 0..bricks - course % 2 {
                lay(0.5 + shift + f64::from(k), 1.0);
            }
            if course % 2 == 1 {
                lay(0.25, 0.5);
                lay(f64::from(bricks) - 0.25, 0.5);
            }
        }
        let mut s = simulation(w, SolverConfig::default());
        let begin = s.world().bodies.position.clone();
        for step in 1..=60 {
            let status = s.step().expect("a step").solve.status.clone();
            let is_solved = status == Status::Converged || !is_small;
            assert!(is_solved, "{courses} courses, step {step}: {status:?}");
        }
        let moved = s.world().bodies.position.iter().zip(&begin);
        let moved = moved.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        let most = if is_small { 1e-6 } else { 1e-4 };
        assert!(moved < most, "{courses} courses: {moved:e} m");
    }
}

/// A stack beside a grid of balls that is beyond the work budget: each gets what it is worth, and the stack is
/// solved to the tolerance.
#[test]
fn small_islands_are_exact_beside_large_ones() {
    let mut w = ball_grid(13, Settings::default());
    let mut stack = Vec::new();
    for k in 0..5 {
        stack.push(add(
            &mut w,
            BodySpec {
                pose: Pose::translation(50.0, 0.5 + f64::from(k), 0.0),
                shape: cuboid(0.5, 0.5, 0.5),
                mass: Some(10_f64.powi(k)),
                ..BodySpec::default()
            },
        ));
    }
    let mut s = simulation(w, SolverConfig::default());
    for _ in 0..10 {
        let report = s.step().expect("a step").solve.clone();
        assert_eq!(report.statistic("islands solved exactly"), Some(1.0));
        assert_eq!(report.statistic("islands swept"), Some(1.0));
        let mut workspace = ResidualWorkspace::default();
        let (problem, impulses) = (s.problem(), s.impulses());
        let errors = residual::of_contacts(problem, impulses, JudgedLaw::Own, &mut workspace);
        let mut seen = 0;
        for (bodies, error) in s.problem().contacts.bodies.iter().zip(&errors) {
            if stack.iter().any(|id| bodies.contains(&(id.index() as u32))) {
                seen += 1;
                assert!(*error <= 1.01e-6, "{error:e} m/s in the stack");
            }
        }
        assert_eq!(seen, 20);
        let [grid, small] = report.choices.largest[..] else {
            panic!("two islands, not {:?}", report.choices);
        };
        let of = |choice: &Choice| (choice.method(), choice.reason, choice.bodies);
        assert_eq!(of(&grid), (Method::Swept, Reason::Estimate, 2197));
        // The default work is 30e6, or nearly so in runs that look for what depends on its last digit, and ten times as much
        // from nothing.
        let share = if report.choices.largest[0].work_budget > 100e6 {
            10.0
        } else {
            1.0
        };
        let is_whole = (29e6..=31e6).contains(&(grid.work_budget / share));
        assert!(is_whole && grid.need > 2.0 * grid.work_budget);
        // The residual is that of the island, and the grid's is the larger one.
        assert_eq!(grid.residual, s.report().residual.map(|r| r.residual));
        assert!(small.residual.is_some_and(|r| r <= 1e-6) && small.bodies == 5);
        assert!(matches!(small.method(), Method::Exact | Method::Kept));
        assert!(small.spent <= small.work_budget);
        let all = s.view().choices().iter().map(|c| (c.island, c.method()));
        let expected = [(grid.island, Method::Swept), (small.island, small.method())];
        assert!(all.eq(expected), "{:?}", s.view().choices());
    }
}

/// Work is counted, and its budget is kept to within a step of Newton's method, ten times as much where nothing held
/// before and no more afterwards, and more of it leaves less behind.
#[test]
fn work_budgets_are_kept() {
    // A factorisation and what goes with it, for the house of cards (multiplications).
    const A_STEP: f64 = 5e5;
    let run = |work: f64| {
        let parameters = format!("{{\"work\": {work}}}");
        let changes = [
            ("generators.0.storeys", "7"),
            ("solver.parameters", parameters.as_str()),
        ];
        let mut s = scene("house_of_cards", &changes);
        let mut residual: f64 = 0.0;
        for step in 1..=20 {
            s.step().expect("a step");
            let (islands, report) = (s.problem().islands.len(), s.report());
            let choice = report.solve.choices.largest[0];
            let budget = if step == 1 { 1e7 * work } else { 1e6 * work };
            // The only island has all of it.
            let is_whole = choice.work_budget == budget;
            let is_one_of_many = islands > 1 && choice.work_budget < budget;
            assert!(
                is_whole || is_one_of_many || choice.reason == Reason::Solved,
                "step {step}: {choice:?}"
            );
            assert!(choice.spent <= budget + A_STEP, "step {step}: {choice:?}");
            let all = report.solve.statistic("work").unwrap_or(0.0);
            assert!(1e6 * all <= budget + A_STEP, "step {step}: {all}");
            if choice.reason == Reason::Work {
                // Up to a quarter is reserved for sweeps, which may stop early.
                assert!(
                    choice.spent >= 0.75 * choice.work_budget,
                    "step {step}: {choice:?}"
                );
                assert_eq!(report.solve.status, Status::Budget);
            }
            let reached = report.residual.as_ref().expect("it is measured").residual;
            residual = residual.max(reached);
        }
        residual
    };
    let [before, after] = [1.0, 60.0].map(run);
    assert!(after < 0.3 * before, "{after:e} after {before:e}");
}

/// Where the exact solution of an island ends early, sweeps are paid for with what is left of all islands' work, and what they
/// have led to the tolerance is called by a name of its own: neither exact nor unfinished.
#[test]
fn sweeps_after_exact_solutions_are_counted_and_named() {
    let work = 1.0;
    let parameters = format!("{{\"work\": {work}}}");
    let mut s = scene("mixed_shapes", &[("solver.parameters", &parameters)]);
    let tolerance = s.solver_config().budget.tolerance;
    let mut counts = [0; Method::ALL.len()];
    for step in 1..=100 {
        let choices = s.step().expect("a step").solve.choices.clone();
        // What nothing holds yet may take ten times its share, and each island a Newton step more: of those here none takes
        // more than half a million.
        let all = s.report().solve.statistic("work").unwrap_or(0.0);
        assert!(all <= 10.0 * work, "step {step}: {all} million");
        for (sum, count) in counts.iter_mut().zip(choices.counts) {
            *sum += count;
        }
        for choice in choices.largest {
            match choice.method() {
                Method::Rescued => {
                    assert!(
                        choice.residual.is_some_and(|r| r <= tolerance),
                        "{choice:?}"
                    );
                    assert_eq!(choice.reason, Reason::Sweeps);
                    assert!(choice.spent <= choice.work_budget + 5e5, "{choice:?}");
                }
                Method::Unfinished => {
                    assert!(choice.residual.is_some_and(|r| r > tolerance), "{choice:?}");
                }
                _ => {}
            }
        }
    }
    println!("{counts:?} islands, in the order of the methods");
    assert!(counts[Method::Rescued as usize] > 10, "{counts:?}");
}

/// What islands do not spend of their share goes to those that have spent theirs: none ends for want of work while any is
/// left, but for what is kept for sweeps.
#[test]
fn work_that_is_left_goes_to_who_needs_it() {
    let mut s = scene("mixed_shapes", &[]);
    let (mut steps, mut islands) = (0, 0);
    for step in 1..=110 {
        s.step().expect("a step");
        let open = |c: &&Choice| c.reason == Reason::Work;
        let count = s.view().choices().iter().filter(open).count();
        if count == 0 {
            continue;
        }
        steps += 1;
        islands += count;
        let spent: f64 = s.view().choices().iter().map(|c| c.spent).sum();
        assert!(
            spent >= 0.7 * 30e6,
            "step {step}: {count} islands end with {spent:e} spent"
        );
    }
    println!("{islands} islands in {steps} steps");
    assert!(steps > 0, "nothing was seen");
}

/// A heap that exact solutions do not finish is left to sweeps between bursts of attempts, and a state that is stored
/// within such a rest goes on as it would have.
#[test]
fn heaps_rest_from_exact_solutions() {
    let parameters = ("solver.parameters", "{\"work\": 0.3}");
    let count = ("generators.0.count", "60");
    let mut s = scene("mixed_shapes", &[parameters, count]);
    let mut rests = 0;
    while rests < 5 {
        s.step().expect("a step");
        let resting = s
            .view()
            .choices()
            .iter()
            .filter(|c| c.reason == Reason::Rests);
        for choice in resting {
            assert_eq!(choice.method(), Method::Swept);
            rests += 1;
        }
        assert!(s.world().step_index < 600, "no island ever rests");
    }
    let snapshot = s.snapshot();
    let mut other = scene("mixed_shapes", &[parameters, count]);
    other.restore(&snapshot);
    for _ in 0..40 {
        s.step().expect("a step");
        other.step().expect("a step");
        assert_eq!(s.view().choices(), other.view().choices());
    }
    assert_eq!(s.world().state_hash(), other.world().state_hash());
}
