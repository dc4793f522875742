//! Rigid joints, closed at the next midpoint, at 1/60 s and by default; beside the rows of `moreau verify`.

use moreau::scene::{Scene, library};
use moreau::solve::Status;
use moreau::step::Simulation;

const STEPS_PER_SECOND: usize = 60;

fn simulation(text: &str) -> Simulation {
    let scene = Scene::parse(text, "test").unwrap_or_else(|e| panic!("{e}"));
    scene.simulation(1).unwrap_or_else(|e| panic!("{e}"))
}

fn slot_of(s: &Simulation, name: &str) -> usize {
    let names = &s.world().bodies.name;
    names
        .iter()
        .position(|n| n == name)
        .expect("a body of this name")
}

fn energy(s: &Simulation) -> f64 {
    s.world().bodies.kinetic_energy() + s.world().potential_energy()
}

/// Takes steps for some seconds, every one of which must be solved with the joints closed at its midpoint.
fn run(s: &mut Simulation, seconds: usize, mut seen: impl FnMut(&Simulation, usize)) {
    for step in 0..STEPS_PER_SECOND * seconds {
        let report = s.step().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(report.solve.status, Status::Converged, "step {step}");
        assert_eq!(report.halvings, 0, "step {step}");
        seen(s, step);
    }
}

/// A chain of five links with a load of a thousand of them, let go far out, is never longer than it is.
#[test]
fn chains_with_heavy_loads_never_stretch() {
    for (links, degrees) in [(5, 63.0_f64), (20, 63.0), (20, 80.0)] {
        let length = 0.3 * f64::from(links);
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let (x, y) = (length * sine, -length * cosine);
        let mut s = simulation(&format!(
            r#"(
                bodies: [(name: "load", shape: Ball(radius: 0.5), mass: 1000, position: ({x}, {y}, 0))],
                generators: [Chain(links: {links}, path: [(0, 0, 0), ({x}, {y}, 0)], from: "world", to: "load",
                                   mass: 1, radius: 0.02, shape: Cylinder, collide: false)],
            )"#
        ));
        let load = slot_of(&s, "load");
        let start = energy(&s);
        run(&mut s, 10, |s, step| {
            let report = s.report();
            let apart = report.joint_error;
            assert!(apart < 1e-6, "{links} links, step {step}: {apart:e} m");
            let far = s.world().bodies.position[load].norm() / length;
            assert!(far < 1.0 + 1e-9, "{links} links, step {step}: {far}");
            let gained = energy(s) - start;
            let scale = 1000.0 * 9.81 * length * (1.0 - cosine);
            assert!(gained.abs() < 2e-3 * scale, "{gained} J of {scale} J");
        });
    }
}

/// Three parallel cranks on one rod: one of them is too many, and they turn as two would.
#[test]
fn parallel_cranks_turn() {
    let (mut bodies, mut joints) = (String::new(), String::new());
    for (k, x) in [-1.0, 0.0, 1.0].into_iter().enumerate() {
        bodies += &format!(
            r#"(name: "c{k}", shape: Cuboid(half_extents: (0.15, 0.03, 0.03)), mass: 1, position: ({}, 0, 0),
                velocity: (0, 0.75, 0), angular_velocity: (0, 0, 5)),"#,
            x + 0.15
        );
        joints += &format!(
            r#"(bodies: ("", "c{k}"), kind: Hinge(), at: ({x}, 0, 0), axis: (0, 0, 1), collide: false),
               (bodies: ("c{k}", "rod"), kind: Hinge(), at: ({}, 0, 0), axis: (0, 0, 1), collide: false),"#,
            x + 0.3
        );
    }
    let mut s = simulation(&format!(
        r#"(
            settings: (gravity: (0, 0, 0)),
            bodies: [{bodies} (name: "rod", shape: Cuboid(half_extents: (1, 0.03, 0.03)), mass: 2,
                               position: (0.3, 0, 0), velocity: (0, 1.5, 0))],
            joints: [{joints}],
        )"#
    ));
    let start = energy(&s);
    let mut turned = 0.0;
    run(&mut s, 20, |s, _| {
        turned += s.world().bodies.velocity[0].angular.z / STEPS_PER_SECOND as f64;
        let gained = energy(s) - start;
        assert!(gained.abs() < 1e-2 * start, "{gained} J of {start} J");
    });
    assert!(
        (turned - 100.0).abs() < 1.0,
        "{turned} rad in 20 s at 5 rad/s"
    );
}

/// A solver without a tolerance closes joints as well as by default, and one that asks for more than digits hold is
/// given what they hold: neither is taken for a step that does not resolve its joints.
#[test]
fn tolerances_that_cannot_be_reached_do_not_shorten_steps() {
    for tolerance in ["0", "1e-15"] {
        let mut s = simulation(&format!(
            r#"(
                solver: (name: "bpp", budget: (iterations: 1000, tolerance: {tolerance})),
                bodies: [(name: "rod", shape: Cuboid(half_extents: (0.5, 0.02, 0.02)), mass: 1, position: (0.5, 0, 0))],
                joints: [(bodies: ("", "rod"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1))],
            )"#
        ));
        run(&mut s, 5, |_, _| {});
    }
}

/// A net of 8 × 8 knots on springy ropes, taut from the beginning, catches a ball of 400 knots' mass: what holds it is how
/// ropes turn, which a rope's own row does not know of.
#[test]
fn a_net_catches_a_ball() {
    const KNOTS: usize = 8;
    const APART: f64 = 0.25;
    let (mut bodies, mut joints) = (String::new(), String::new());
    let place = |i: usize| (i as f64 - 0.5 * (KNOTS - 1) as f64) * APART;
    for i in 0..KNOTS {
        for k in 0..KNOTS {
            let at = format!("({}, 2, {})", place(i), place(k));
            let edge = [i, k].iter().any(|at| *at == 0 || *at == KNOTS - 1);
            let kind = if edge { "Fixed" } else { "Dynamic" };
            bodies += &format!(
                r#"(name: "{i} {k}", kind: {kind}, shape: Ball(radius: 0.06), mass: 0.05, position: {at}), "#
            );
            for (a, b) in [(i + 1, k), (i, k + 1)] {
                if a < KNOTS && b < KNOTS {
                    let other = format!("({}, 2, {})", place(a), place(b));
                    joints += &format!(
                        r#"(bodies: ("{i} {k}", "{a} {b}"), kind: Distance(max: {APART}), at: {at}, at_second: {other},
                            compliance: 1e-5), "#
                    );
                }
            }
        }
    }
    let mut s = simulation(&format!(
        r#"(bodies: [{bodies} (name: "ball", shape: Ball(radius: 0.4), mass: 20, position: (0.03, 3, 0.02))], joints: [{joints}])"#
    ));
    let ball = slot_of(&s, "ball");
    for step in 0..2 * STEPS_PER_SECOND {
        let report = s.step().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(report.solve.status, Status::Converged, "step {step}");
        let height = s.world().bodies.position[ball].y;
        assert!(height > 1.8, "step {step}: the ball is at {height} m");
    }
}

/// Rounds that leave the matrix as it is use its factor again, as long as no rope goes slack or taut.
#[test]
fn chords_use_the_factor_of_the_round_before() {
    let scene = library::shipped("rope_net_flat").expect("a shipped scene");
    let mut s = scene.simulation(1).expect("a simulation");
    for _ in 0..3 {
        let report = s.step().expect("a step");
        assert_eq!(report.solve.status, Status::Converged);
        let number = |name| report.solve.statistic(name).expect("it is counted");
        let [rounds, factors] = ["joint rounds", "factorisations"].map(number);
        assert!(
            factors < rounds,
            "{factors} factorisations, {rounds} rounds"
        );
    }
}
