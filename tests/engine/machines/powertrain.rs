//! Closed forms of the power train: gears, differentials, motors, brakes, friction and limits.

use moreau::scene::Scene;
use moreau::solve::Status;
use moreau::step::Simulation;
use moreau::world::joint::JointKind;

const H: f64 = 1.0 / 60.0;

/// Flywheels of given moments of inertia (kg m²) on the x axis, without gravity. Each has the hinge of
/// its own name.
fn machine(wheels: &[(&str, f64, &str, &str)], rest: &str) -> Simulation {
    let (mut bodies, mut joints) = (String::new(), String::new());
    for (name, inertia, torque, turn) in wheels {
        bodies += &format!(
            "(name: \"{name}\", mass: 10, inertia: (diagonal: ({inertia}, {inertia}, {inertia})), torque: ({torque}, 0, 0)),"
        );
        joints += &format!("(name: \"{name}\", bodies: (\"\", \"{name}\"), kind: Hinge({turn})),");
    }
    let text = format!(
        "(name: \"machine\", settings: (gravity: (0, 0, 0), friction_law: Box, stabilisation: Baumgarte(beta: 0.2, slop: 0, max_speed: 1)), solver: (name: \"bpp\"), bodies: [{bodies}], joints: [{joints} {}]{})",
        rest.split(';').next().unwrap_or(""),
        rest.split(';').nth(1).unwrap_or(""),
    );
    let scene = Scene::parse(&text, "machine").unwrap_or_else(|e| panic!("{e}"));
    scene.simulation(1).unwrap_or_else(|e| panic!("{e}"))
}

fn run(simulation: &mut Simulation, steps: usize, mut each: impl FnMut(&Simulation)) {
    for _ in 0..steps {
        simulation.step().unwrap_or_else(|e| panic!("{e}"));
        each(simulation);
    }
}

/// The angle of a hinge after the last step: half a step beyond its midpoint (rad).
fn angle(simulation: &Simulation, wheel: usize) -> f64 {
    simulation.world().joints()[wheel].angles()[0] + 0.5 * H * speed(simulation, wheel)
}

fn speed(simulation: &Simulation, wheel: usize) -> f64 {
    simulation.world().bodies.velocity[wheel].angular.x
}

/// Σ coefficient · angle of a gear, less what it began with (rad).
fn gear_error(simulation: &Simulation, gear: usize) -> f64 {
    let joints = simulation.world().joints();
    let JointKind::Gear(terms) = &joints[gear].kind else {
        panic!("joint {gear} is no gear")
    };
    let sum: f64 = terms
        .iter()
        .map(|t| t.coefficient * joints[t.joint as usize].angles()[usize::from(t.axis) - 3])
        .sum();
    sum - joints[gear].gear_offset
}

/// ω₁ = 3 ω₂ at all times, whatever drives it; and T t = (I₁ + I₂/9) ω₁.
#[test]
fn a_gear_keeps_its_ratio() {
    let mut s = machine(
        &[
            (
                "motor",
                0.5,
                "0",
                "motor: Velocity(speed: 400, max_force: 20)",
            ),
            ("load", 6.0, "0", ""),
        ],
        "(name: \"gear\", kind: Gear(terms: [(joint: \"motor\", coefficient: 1), (joint: \"load\", coefficient: -3)]))",
    );
    run(&mut s, 600, |s| {
        let error = gear_error(s, 2);
        assert!(error.abs() < 1e-6, "{error} rad");
    });
    let expected = 20.0 * 10.0 / (0.5 + 6.0 / 9.0);
    assert!((speed(&s, 0) - expected).abs() < 1e-6 * expected);
    assert!((angle(&s, 0) - 3.0 * angle(&s, 1)).abs() < 1e-6);
    assert!(angle(&s, 0) > 800.0);
}

/// A gear whose terms somebody has made cancel is left out: what it coupled turns by itself.
#[test]
fn a_gear_without_effect_is_left_out() {
    let mut s = machine(
        &[("motor", 0.5, "1", ""), ("load", 6.0, "0", "")],
        "(name: \"gear\", kind: Gear(terms: [(joint: \"motor\", coefficient: 1), (joint: \"load\", coefficient: -3)]))",
    );
    let gear = s.world_mut().joint_mut(2).expect("a gear");
    let JointKind::Gear(terms) = &mut gear.kind else {
        panic!("joint 2 is no gear")
    };
    terms[1] = terms[0];
    terms[1].coefficient = -terms[0].coefficient;
    run(&mut s, 60, |s| {
        assert_eq!(s.report().solve.status, Status::Converged);
    });
    assert!((speed(&s, 0) - 2.0).abs() < 1e-9);
    assert_eq!(speed(&s, 1), 0.0);
}

/// Input = mean of the outputs. An output that friction holds leaves the other to turn twice as fast; the
/// torque at both is the same, so that a load of 1 N m on either side lets both turn by their inertias.
#[test]
fn a_differential_keeps_its_sum() {
    let gear = "(name: \"differential\", kind: Gear(terms: [(joint: \"input\", coefficient: 1), (joint: \"left\", coefficient: -0.5), (joint: \"right\", coefficient: -0.5)]))";
    let input = (
        "input",
        0.1,
        "0",
        "motor: Velocity(speed: 5, max_force: 50)",
    );
    let mut s = machine(
        &[
            input,
            ("left", 2.0, "0", ""),
            ("right", 2.0, "0", "friction: 1000"),
        ],
        gear,
    );
    run(&mut s, 600, |s| {
        let error = gear_error(s, 3);
        assert!(error.abs() < 1e-6, "{error} rad");
    });
    assert!(angle(&s, 2).abs() < 1e-9);
    assert!((speed(&s, 1) - 10.0).abs() < 1e-9);
    let mut s = machine(
        &[input, ("left", 2.0, "0", ""), ("right", 6.0, "0", "")],
        gear,
    );
    run(&mut s, 600, |s| {
        let error = gear_error(s, 3);
        assert!(error.abs() < 1e-6, "{error} rad");
        // Equal torques on both outputs: speeds are as the inverse inertias.
        assert!((speed(s, 1) - 3.0 * speed(s, 2)).abs() < 1e-9);
    });
    assert!((speed(&s, 0) - 5.0).abs() < 1e-9);
}

/// The motor's work T θ is the kinetic energy, to rounding: the midpoint rule is exact here.
#[test]
fn a_motor_at_its_limit_delivers_torque_times_speed() {
    let mut s = machine(
        &[
            (
                "motor",
                0.5,
                "0",
                "motor: Velocity(speed: 1000, max_force: 12)",
            ),
            ("load", 3.0, "0", ""),
        ],
        "(name: \"gear\", kind: Gear(terms: [(joint: \"motor\", coefficient: 1), (joint: \"load\", coefficient: -2)]))",
    );
    let mut work = 0.0;
    let mut before = 0.0;
    run(&mut s, 300, |s| {
        // Power over the step: torque times the mean of the speeds.
        let now = speed(s, 0);
        work += 12.0 * 0.5 * (before + now) * H;
        before = now;
        let energy = s.world().bodies.kinetic_energy();
        assert!(
            (energy - work).abs() < 1e-9 * (1.0 + work),
            "{energy} J of {work} J"
        );
        assert!((12.0 * angle(s, 0) - work).abs() < 1e-9 * (1.0 + work));
    });
    assert!(work > 1000.0, "{work} J");
    // Once it is fast enough, the motor does just what is needed to stay so.
    let mut s = machine(
        &[(
            "motor",
            0.5,
            "-3",
            "motor: Velocity(speed: 20, max_force: 12)",
        )],
        "",
    );
    run(&mut s, 300, |_| {});
    assert!((speed(&s, 0) - 20.0).abs() < 1e-9);
    let impulse: f64 = s.impulses().iter().map(|x| x.abs()).fold(0.0, f64::max);
    assert!((impulse / H - 3.0).abs() < 1e-6, "{} N m", impulse / H);
}

/// Below its bound friction holds; above it, what is left accelerates.
#[test]
fn joint_friction_holds_up_to_its_bound() {
    let mut s = machine(
        &[
            ("held", 0.5, "4.999", "friction: 5"),
            ("turned", 0.5, "6", "friction: 5"),
        ],
        "",
    );
    run(&mut s, 300, |_| {});
    assert!(angle(&s, 0).abs() < 1e-9);
    assert!((speed(&s, 1) - 5.0 / 0.5).abs() < 1e-9, "{}", speed(&s, 1));
}

/// A limit stops what runs into it at its angle and not behind it, and carries what pushes on.
#[test]
fn limits_hold() {
    let mut s = machine(&[("door", 0.5, "2", "limits: (-30, 30)")], "");
    let limit = 30.0_f64.to_radians();
    let mut most: f64 = 0.0;
    run(&mut s, 300, |s| {
        let joint = s.world().joints()[0].angles()[0];
        most = most.max(joint);
        assert!(joint < limit + 1e-9, "{joint}");
    });
    assert!((most - limit).abs() < 1e-9, "{most}");
    assert!(speed(&s, 0).abs() < 1e-9);
    let impulse: f64 = s.impulses().iter().map(|x| x.abs()).fold(0.0, f64::max);
    assert!((impulse / H - 2.0).abs() < 1e-9);
}

/// A drive that moves a motor's largest torque is a brake: none before it acts, then T/I.
#[test]
fn a_drive_can_be_a_brake() {
    let mut s = machine(
        &[("wheel", 0.5, "0", "motor: Velocity(speed: 0, max_force: 7)")],
        "; , drives: [(name: \"Brake\", motors: [(joint: \"wheel\", moves: MaxForce)], script: [(0, 0), (1, 0), (1.0001, 2)], range: (0, 10))]",
    );
    s.world_mut().bodies.velocity[0].angular.x = 10.0;
    run(&mut s, 60, |s| {
        assert_eq!(s.impulses().len(), 5);
        assert!((speed(s, 0) - 10.0).abs() < 1e-12);
    });
    run(&mut s, 60, |_| {});
    assert!((speed(&s, 0) - (10.0 - 2.0 / 0.5)).abs() < 1e-9);
    run(&mut s, 120, |_| {});
    assert!(speed(&s, 0).abs() < 1e-9);
}

/// A nut that slides down an upright screw of lead l turns 2π/l times as fast as it falls, so that its turning
/// inertia falls along: a = m g/(m + I (2π/l)²). The midpoint rule is exact for a constant force.
#[test]
fn a_nut_falls_along_its_screw() {
    let (mass, inertia, lead, seconds) = (2.0, 0.05, -0.4, 1.0);
    for solver in ["bpp", "gauss-seidel"] {
        let text = format!(
            r#"(
                name: "nut",
                solver: (name: "{solver}", budget: (iterations: 20000, tolerance: 1e-12)),
                bodies: [(name: "nut", mass: {mass}, inertia: (diagonal: (1, {inertia}, 1)))],
                joints: [(bodies: ("", "nut"), kind: Screw(lead: {lead}), axis: (0, 1, 0))],
            )"#
        );
        let scene = Scene::parse(&text, "nut").unwrap_or_else(|e| panic!("{e}"));
        let mut simulation = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
        let mut worst = 0.0f64;
        run(&mut simulation, (seconds / H).round() as usize, |s| {
            worst = s.joints().map(|(_, error)| error).fold(worst, f64::max);
        });
        let ratio = std::f64::consts::TAU / lead;
        let fall = -9.81 * mass / (mass + inertia * ratio * ratio) * seconds;
        let u = simulation.world().bodies.velocity[0];
        assert!(
            (u.linear.y / fall - 1.0).abs() < 1e-6,
            "{solver}: {} m/s, not {fall}",
            u.linear.y
        );
        assert!(
            (u.angular.y / (fall * ratio) - 1.0).abs() < 1e-6,
            "{solver}: {} rad/s",
            u.angular.y
        );
        assert!(worst < 1e-6, "{solver}: the thread slips by {worst} m");
    }
}
