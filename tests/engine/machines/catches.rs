//! What ropes, stops and chains catch: families by seed, with default settings at one step of 1/60 s. What is caught bounces from
//! nothing, and nothing is longer, or farther, than it may be.

use moreau::math::random::Random;
use moreau::measure::energy::Flow;
use moreau::scene::Scene;
use moreau::step::Simulation;
use std::fmt::Write;

/// What a run has shown.
struct Shown {
    /// The most that a step has added to the energy, beyond what moves things by themselves (J).
    rise: f64,
    /// The most kinetic energy (J).
    moving: f64,
    /// The largest joint error after the first step, whose midpoint the given velocities lead to (m).
    open: f64,
    /// At the end.
    simulation: Simulation,
}

fn run(name: &str, text: &str, steps: usize) -> Shown {
    let scene = Scene::parse(text, name).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    let mut s = scene
        .simulation(1)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    s.set_energy(true);
    let (mut rise, mut moving, mut open): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for step in 0..steps {
        let report = s
            .step()
            .unwrap_or_else(|e| panic!("{name}, step {step}: {e}"));
        let balance = report.energy.expect("an account");
        // What the correction of positions lifts is no motion.
        let given = balance[Flow::Drives] + balance[Flow::Forces] + balance[Flow::Projection];
        let change = balance.after.total() - balance.before.total();
        if step > 0 {
            open = open.max(report.joint_error);
        }
        rise = rise.max(change - given);
        moving = moving.max(s.world().bodies.kinetic_energy());
    }
    println!("{name}: rises by {rise:.2e} of {moving:.3e} J, open by {open:.1e} m");
    Shown {
        rise,
        moving,
        open,
        simulation: s,
    }
}

/// Ropes between two walls 2 m apart, each `slack` longer than its part of the way, with a knot in the middle.
fn ropes(count: usize, [knot, light]: [f64; 2], slack: f64, speed: f64, seed: u64) -> String {
    let mut random = Random::new(seed);
    let length = 2.0 / count as f64;
    let place: Vec<[f64; 2]> = (0..=count)
        .map(|k| {
            let is_end = k == 0 || k == count;
            let aside = if is_end {
                0.0
            } else {
                random.range(-0.01, 0.01)
            };
            [k as f64 * length - 1.0, aside]
        })
        .collect();
    let mut text = String::from("(bodies: [");
    for (k, [x, z]) in place.iter().enumerate().take(count).skip(1) {
        let is_knot = k == count / 2;
        let (mass, speed) = if is_knot { (knot, speed) } else { (light, 0.0) };
        writeln!(
            text,
            r#"(name: "k{k}", shape: Ball(radius: 0.02), mass: {mass}, position: ({x}, 0, {z}), velocity: (0, {speed}, 0)),"#
        )
        .expect("a string");
    }
    text += "], joints: [";
    for k in 0..count {
        let name = |k: usize| match k == 0 || k == count {
            true => String::new(),
            false => format!("k{k}"),
        };
        let ([x, z], [x2, z2]) = (place[k], place[k + 1]);
        writeln!(
            text,
            r#"(kind: Distance(max: {}), bodies: ("{}", "{}"), at: ({x}, 0, {z}), at_second: ({x2}, 0, {z2})),"#,
            length * (1.0 + slack),
            name(k),
            name(k + 1)
        )
        .expect("a string");
    }
    text + "])"
}

/// A knot of 20 kg on light ropes falls into a V, or flies up into a Λ: it is caught.
#[test]
fn ropes_catch_a_knot_and_throw_it_nowhere() {
    for (seed, count) in [(1, 2), (2, 4), (3, 6), (4, 8), (5, 10), (6, 14), (7, 20)] {
        for (speed, slack) in [(0.0, 0.05), (3.0, 0.05), (0.0, 0.01)] {
            let text = ropes(count, [20.0, 0.1], slack, speed, seed);
            let name = format!("{count} ropes, {slack} longer, at {speed} m/s");
            let shown = run(&name, &text, 180);
            let length = 2.0 / count as f64;
            // Rounds are closed to 1e-6 m/s, which impulses make energy of.
            assert!(
                shown.rise <= 1e-5 * shown.moving,
                "{name}: {} J",
                shown.rise
            );
            assert!(shown.open <= 1e-3 * length, "{name}: {} m", shown.open);
        }
    }
}

/// The same ten thousand times as heavy as what carries it: some steps are not closed, and what is open of them is closed by
/// positions.
#[test]
fn ropes_catch_a_ton() {
    let shown = run("a ton", &ropes(10, [1000.0, 0.1], 0.05, 0.0, 8), 180);
    assert!(shown.rise <= 2e-3 * shown.moving, "{} J", shown.rise);
    assert!(shown.open <= 0.1 * 0.2, "{} m", shown.open);
}

/// Two links in a row, and a ball that strikes the first near their joint.
fn elbow(kind: &str, speed: f64) -> String {
    format!(
        r#"(settings: (gravity: (0, 0, 0)), bodies: [
            (name: "a", shape: Cuboid(half_extents: (0.25, 0.03, 0.03)), mass: 1, position: (-0.25, 0, 0)),
            (name: "b", shape: Cuboid(half_extents: (0.25, 0.03, 0.03)), mass: 1, position: (0.25, 0, 0)),
            (shape: Ball(radius: 0.1), mass: 5, position: (-0.1, -0.5, 0), velocity: (0, {speed}, 0)),
        ], joints: [(kind: {kind}, bodies: ("a", "b"), at: (0, 0, 0), axis: (0, 0, 1))])"#
    )
}

/// A slider and a rope that a ball drives to their ends.
fn struck(kind: &str, speed: f64) -> String {
    format!(
        r#"(settings: (gravity: (0, 0, 0)), bodies: [
            (name: "a", shape: Cuboid(half_extents: (0.1, 0.1, 0.1)), mass: 1, position: (0, -1, 0)),
            (shape: Ball(radius: 0.1), mass: 5, position: (-0.7, -1, 0), velocity: ({speed}, 0, 0)),
        ], joints: [(kind: {kind}, bodies: ("", "a"), at: (0, 0, 0), at_second: (0, -1, 0), axis: (1, 0, 0))])"#
    )
}

/// However fast a stop is struck, and however far away it was when the step began, nothing goes over it.
#[test]
fn stops_stop_what_is_struck() {
    for speed in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0] {
        for (text, link) in [
            (elbow("Hinge(limits: (-5, 130))", speed), 0.5),
            (elbow("Spherical(swing: 10)", speed), 0.5),
            (struck("Distance(max: 1.2)", speed), 1.0),
        ] {
            let name = format!("struck at {speed} m/s: {}", &text[text.len() - 90..]);
            let shown = run(&name, &text, 120);
            assert!(shown.open <= 2e-3 * link, "{name}: {} m", shown.open);
            assert!(
                shown.rise <= 1e-3 * shown.moving,
                "{name}: {} J",
                shown.rise
            );
        }
    }
}

/// A screw of 20 mm lead at up to three turns a step: it goes on as it turns.
#[test]
fn screws_count_every_turn() {
    for turns in [0.3, 0.6, 1.2, 2.0, 3.0] {
        let speed = turns * 60.0 * std::f64::consts::TAU;
        let along = turns * 60.0 * 0.02;
        let text = format!(
            r#"(settings: (gravity: (0, 0, 0)), bodies: [
                (name: "n", shape: Cylinder(half_height: 0.05, radius: 0.05), mass: 10, velocity: (0, {along}, 0),
                 angular_velocity: (0, {speed}, 0)),
            ], joints: [(bodies: ("", "n"), kind: Screw(lead: 0.02), at: (0, 0, 0), axis: (0, 1, 0))])"#
        );
        let shown = run(&format!("{turns} turns a step"), &text, 60);
        let bodies = &shown.simulation.world().bodies;
        let gone = bodies.position[0].y;
        assert!((gone - along).abs() <= 1e-9 * along, "{turns}: {gone} m");
        // What joints count is where the last midpoint was.
        let angle = shown.simulation.world().joints()[0].angles()[0];
        let expected = speed * (1.0 - 0.5 / 60.0);
        assert!((angle - expected).abs() < 1e-6, "{turns}: {angle} rad");
    }
}

/// A chain of eight links, of which the last weighs up to a thousand times as much, lies folded, falls, and cracks open.
#[test]
fn chains_crack_open_and_stay_together() {
    for (seed, ratio) in [(1, 1.0), (2, 10.0), (3, 100.0), (4, 1000.0)] {
        let mut random = Random::new(seed);
        let (mut x, mut y) = (0.0, 0.0);
        let (mut bodies, mut joints) = (String::new(), String::new());
        for k in 0..8 {
            let fold = if k % 2 == 0 {
                0.0
            } else {
                0.8 * std::f64::consts::PI
            };
            let angle: f64 = random.range(-0.5, 0.5) + fold;
            let (x2, y2) = (x + 0.2 * angle.cos(), y + 0.2 * angle.sin());
            let mass = if k == 7 { 0.1 * ratio } else { 0.1 };
            let before = if k == 0 {
                String::new()
            } else {
                format!("l{}", k - 1)
            };
            writeln!(
                bodies,
                r#"(name: "l{k}", shape: Capsule(half_height: 0.08, radius: 0.01), mass: {mass}, position: ({}, {}, 0),
                    rotation: AxisAngle(axis: (0, 0, 1), degrees: {}), groups: (filter: 0)),"#,
                0.5 * (x + x2),
                0.5 * (y + y2),
                angle.to_degrees() - 90.0
            )
            .expect("a string");
            writeln!(
                joints,
                r#"(kind: Spherical(), bodies: ("{before}", "l{k}"), at: ({x}, {y}, 0)),"#
            )
            .expect("a string");
            (x, y) = (x2, y2);
        }
        let name = format!("chain 1 : {ratio}");
        let shown = run(
            &name,
            &format!("(bodies: [{bodies}], joints: [{joints}])"),
            240,
        );
        assert!(shown.open <= 1e-3 * 0.2, "{name}: {} m", shown.open);
        // A rule of second order gives and takes by turns.
        assert!(
            shown.rise <= 0.03 * shown.moving,
            "{name}: {} J",
            shown.rise
        );
    }
}

/// A load of a ton that swings on a rope of at most 5 m is never farther away, at midpoints, and keeps its energy.
#[test]
fn a_rope_is_as_long_as_it_may_be() {
    let text = r#"(bodies: [(name: "load", shape: Ball(radius: 0.4), position: (4, -3, 0), mass: 1000)],
        joints: [(bodies: ("", "load"), kind: Distance(max: 5), at: (0, 0, 0), at_second: (4, -3, 0))])"#;
    let shown = run("a rope", text, 600);
    assert!(shown.open <= 1e-6, "{} m", shown.open);
    assert!(shown.rise <= 1e-9 * shown.moving, "{} J", shown.rise);
}
