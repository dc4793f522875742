//! Where energy goes: what a step's account does not explain is rounding.

use moreau::measure::energy::Flow;
use moreau::scene::{Scene, library};
use moreau::step::Simulation;

/// Machines with springs, servos, limits, gears and friction, and piles.
const SCENES: [&str; 9] = [
    "crane",
    "winch",
    "vehicle_parkour",
    "offshore",
    "forklift",
    "forwarder",
    "slider_crank",
    "mixed_shapes",
    "house_of_cards",
];

#[test]
fn nothing_is_left_unexplained() {
    for name in SCENES {
        let scene = library::shipped(name).unwrap_or_else(|e| panic!("{e}"));
        let mut s = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
        s.set_energy(true);
        let (mut throughput, mut remainder, mut edits) = (0.0, 0.0, 0.0);
        for _ in 0..60 {
            let report = s.step().unwrap_or_else(|e| panic!("{name}: {e}"));
            let balance = report
                .energy
                .unwrap_or_else(|| panic!("{name}: no account"));
            throughput += balance.throughput();
            remainder += balance.remainder().abs();
            edits += balance[Flow::Edits].abs();
        }
        // Of what lies still only rounding is left, of all that is stored.
        let stored = s.world().energy().total().abs();
        let share = remainder / (throughput + 1e-6 * stored);
        println!("{name}: {remainder:.1e} of {throughput:.3e} J left over");
        assert!(share < 1e-9, "{name}: {share:e}");
        assert_eq!(edits, 0.0, "{name}: nobody has changed the world");
    }
}

/// What a hand does between steps counts as put in from outside.
#[test]
fn edits_are_put_in() {
    let scene = library::shipped("pendulum").unwrap_or_else(|e| panic!("{e}"));
    let mut s = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
    s.set_energy(true);
    s.step().unwrap_or_else(|e| panic!("{e}"));
    let before = s.world().energy().total();
    for slot in 0..s.world().bodies.slots() {
        s.world_mut().bodies.velocity[slot].linear *= 2.0;
    }
    let put_in = s.world().energy().total() - before;
    let report = s.step().unwrap_or_else(|e| panic!("{e}"));
    let balance = report.energy.expect("an account");
    assert_eq!(balance[Flow::Edits], put_in);
}

/// A servo on bodies that do not move has no row, and stores nothing; its script is nobody else's, not the compliant
/// pin's before it.
#[test]
fn a_servo_of_fixed_bodies_drives_nothing() {
    let text = r#"(bodies: [
            (name: "rod", shape: Cuboid(half_extents: (0.02, 0.02, 0.5)), mass: 1, position: (0, 0, 0.5)),
            (name: "post", kind: Fixed, shape: Ball(radius: 0.1), position: (5, 0, 0)),
        ], joints: [
            (name: "pin", bodies: ("", "rod"), kind: Spherical(), at: (0, 0, 0), compliance: 1e-4, collide: false),
            (name: "servo", bodies: ("", "post"), kind: Slider(motor: Position(stiffness: 1e4, damping: 1e3)),
             at: (5, 0, 0), axis: (1, 0, 0)),
        ], drives: [
            (name: "out", motors: [(joint: "servo")], script: [(0, 0), (1, 1)], interpolation: Linear, range: (0, 1)),
        ])"#;
    let scene = Scene::parse(text, "fixed").unwrap_or_else(|e| panic!("{e}"));
    let mut s = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
    s.set_energy(true);
    for _ in 0..30 {
        let report = s.step().unwrap_or_else(|e| panic!("{e}"));
        let balance = report.energy.expect("an account");
        let drives = balance[Flow::Drives].abs();
        assert!(drives < 1e-12, "{drives:e} J in step {}", report.step);
    }
}

/// A crank of 0.3 m that turns (rad/s), a rod of 1 m and a slider, without gravity, on joints of such a stiffness (N/m,
/// N m/rad).
fn crank(omega: f64, stiffness: f64) -> Simulation {
    let soft = format!(
        "collide: false, compliance: {0:?}, angular_compliance: {0:?}",
        1.0 / stiffness
    );
    let text = format!(
        r#"(settings: (gravity: (0, 0, 0)), bodies: [
            (name: "crank", shape: Cuboid(half_extents: (0.15, 0.03, 0.03)), mass: 2, position: (0.15, 0, 0),
             velocity: (0, {half}, 0), angular_velocity: (0, 0, {omega})),
            (name: "rod", shape: Cuboid(half_extents: (0.5, 0.02, 0.02)), mass: 1, position: (0.8, 0, 0),
             velocity: (0, {half}, 0), angular_velocity: (0, 0, {})),
            (name: "slider", shape: Cuboid(half_extents: (0.1, 0.1, 0.1)), mass: 2, position: (1.3, 0, 0)),
        ], joints: [
            (bodies: ("", "crank"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1), {soft}),
            (bodies: ("crank", "rod"), kind: Hinge(), at: (0.3, 0, 0), axis: (0, 0, 1), {soft}),
            (bodies: ("rod", "slider"), kind: Spherical(), at: (1.3, 0, 0), {soft}),
            (bodies: ("", "slider"), kind: Slider(), at: (1.3, 0, 0), axis: (1, 0, 0), {soft}),
        ])"#,
        -0.3 * omega,
        half = 0.15 * omega,
    );
    let scene = Scene::parse(&text, "crank").unwrap_or_else(|e| panic!("{e}"));
    scene.simulation(1).unwrap_or_else(|e| panic!("{e}"))
}

/// What undamped springs do not keep is what the account says that their rule loses, and nothing is gained.
#[test]
fn springs_that_turn_lose_what_the_account_says() {
    for omega in [10.0, 20.0] {
        let left = (3..=8).map(|decade| {
            let mut s = crank(omega, 10.0_f64.powi(decade));
            s.set_energy(true);
            let start = s.world().energy().total();
            let (mut lost, mut means, mut throughput) = (0.0, Vec::new(), 0.0);
            for _ in 0..20 {
                let mut mean = 0.0;
                for _ in 0..60 {
                    let report = s.step().unwrap_or_else(|e| panic!("{e}"));
                    let balance = report.energy.expect("an account");
                    let rule = [Flow::SpringRule, Flow::Rotation, Flow::Rounds];
                    lost -= rule.iter().map(|flow| balance[*flow]).sum::<f64>();
                    throughput += balance.throughput();
                    mean += balance.after.total() / 60.0;
                }
                means.push(mean);
            }
            let gone = start - s.world().energy().total();
            assert!((gone - lost).abs() < 1e-9 * throughput, "{gone} of {lost}");
            let most = means.iter().copied().fold(0.0, f64::max);
            assert!(most <= 1.005 * means[0], "{most} after {}", means[0]);
            format!("{:.0} %", 100.0 * means[19] / means[0])
        });
        println!("{omega} rad/s: {}", left.collect::<Vec<_>>().join(" | "));
    }
}
