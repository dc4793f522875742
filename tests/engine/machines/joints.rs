//! Joints against the laws of mechanics, each with its closed form and the reason for its tolerance.

use crate::reference::chain::{Link, PlanarChain};
use crate::reference::linkage::{Branch, FourBar, SliderCrank};
use moreau::math::{Pose, Quat, SymMat3, Twist, Vec3};
use moreau::scene::{Scene, library};
use moreau::solve::{Budget, SOLVERS, SolverConfig, SolverInfo, Status};
use moreau::step::{Simulation, Snapshot};
use moreau::world::joint::{JointKind, Motion};
use moreau::world::{BodySpec, JointSpec, Settings, World};

const G: f64 = 9.81;

fn simulation(text: &str) -> Simulation {
    let scene = Scene::parse(text, "test").unwrap_or_else(|e| panic!("{e}"));
    scene.simulation(1).unwrap_or_else(|e| panic!("{e}"))
}

fn slot(simulation: &Simulation, name: &str) -> usize {
    let names = &simulation.world().bodies.name;
    names
        .iter()
        .position(|n| n == name)
        .expect("a body of this name")
}

fn energy(simulation: &Simulation) -> f64 {
    simulation.world().bodies.kinetic_energy() + simulation.world().potential_energy()
}

/// Distance of a joint's two anchors (m).
fn gap(simulation: &Simulation, joint: usize) -> f64 {
    let world = simulation.world();
    let [a, b] = world.joints()[joint].world_frames(&world.bodies);
    (b.position - a.position).norm()
}

/// T = (M + Σm) g at the top of a hanging chain, M = 10⁶ links. With α T = 10⁻¹¹ · 4.9e6 = 4.9e-5 m,
/// 1e-4 of a link, its length stays within 0.1 %; it is let go with the joints unloaded, and rings.
#[test]
fn a_chain_with_a_load_of_a_million_links_keeps_its_length_and_carries_the_weight() {
    let mut s = simulation(
        r#"(
            settings: (friction_law: Box, stabilisation: None),
            solver: (name: "bpp", budget: (tolerance: 1e-9)),
            bodies: [(name: "load", shape: Ball(radius: 0.5), mass: 500000, position: (0, -5.5, 0))],
            generators: [Chain(links: 10, path: [(0, 0, 0), (0, -5, 0)], from: "world", to: "load",
                               mass: 0.5, radius: 0.02, compliance: 1e-11)],
        )"#,
    );
    let weight = (500_000.0 + 10.0 * 0.5) * G;
    let load = slot(&s, "load");
    let mut pull = 0.0;
    for _ in 0..600 {
        s.step().unwrap();
        assert_eq!(s.report().solve.status, Status::Converged);
        let length = -s.world().bodies.position[load].y - 0.5;
        assert!((length / 5.0 - 1.0).abs() < 1e-3, "{length} m");
        let force = s.world().joints()[0].force();
        assert!(force.x.abs() + force.z.abs() < 1e-6 * weight);
        pull += force.y / 600.0;
    }
    assert!(
        (pull / weight - 1.0).abs() < 1e-3,
        "mean {pull} N for {weight} N"
    );
    let last = s.world().joints()[0].force().y;
    assert!(
        (last / weight - 1.0).abs() < 1e-3,
        "{last} N for {weight} N"
    );
}

/// Two rods on hinges, let go from the horizontal: nothing takes energy away, and what the midpoint
/// rule makes of it falls with h².
#[test]
fn the_energy_of_a_double_pendulum_drifts_with_the_square_of_the_step() {
    let drift = |substeps: u32| {
        let mut s = simulation(&format!(
            r#"(
                settings: (substeps: {substeps}, stabilisation: None),
                solver: (name: "bpp"),
                bodies: [
                    (name: "a", shape: Cuboid(half_extents: (0.5, 0.05, 0.05)), mass: 1, position: (0.5, 0, 0)),
                    (name: "b", shape: Cuboid(half_extents: (0.5, 0.05, 0.05)), mass: 1, position: (1.5, 0, 0)),
                ],
                joints: [
                    (bodies: ("", "a"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1), compliance: 1e-12, angular_compliance: 1e-12),
                    (bodies: ("a", "b"), kind: Hinge(), at: (1, 0, 0), axis: (0, 0, 1), compliance: 1e-12, angular_compliance: 1e-12),
                ],
            )"#
        ));
        let start = energy(&s);
        let mut most: f64 = 0.0;
        for _ in 0..120 {
            s.step().unwrap();
            most = most.max((energy(&s) - start).abs());
        }
        most
    };
    let [coarse, middle, fine] = [4, 8, 16].map(drift);
    // 9.81 J are under way; the ratio of a second-order method is 4.
    assert!(coarse < 0.2, "{coarse} J");
    for ratio in [coarse / middle, middle / fine] {
        assert!((3.0..5.5).contains(&ratio), "{coarse} {middle} {fine} J");
    }
}

/// A chain that swings freely keeps its energy and its period: directions of three midpoints take nothing
/// away. Against the planar chain in reduced coordinates.
#[test]
fn nothing_dampens_a_free_chain() {
    let (count, length, mass) = (10, 0.3, 2.0);
    let angle: f64 = 5.0;
    let end = Vec3::new(angle.to_radians().sin(), -angle.to_radians().cos(), 0.0)
        * (length * f64::from(count));
    let mut s = simulation(&format!(
        r#"(
            settings: (stabilisation: None),
            solver: (name: "bpp"),
            generators: [Chain(links: {count}, path: [(0, 0, 0), ({}, {}, 0)], from: "world", mass: {mass},
                               radius: 0.02, shape: Cylinder, compliance: 1e-12, collide: false)],
        )"#,
        end.x, end.y
    ));
    let mut reference =
        PlanarChain::new(&vec![Link::cylinder(mass, length, 0.02); count as usize], G);
    reference.set_state(
        &vec![angle.to_radians(); count as usize],
        &vec![0.0; count as usize],
    );
    let at_rest = {
        // The potential energy of the chain when it hangs still.
        let weight = mass * G * length;
        -(0..count)
            .map(|k| (f64::from(k) + 0.5) * weight)
            .sum::<f64>()
    };
    let swing = energy(&s) - at_rest;
    let mut means = [0.0; 2];
    let mut off: f64 = 0.0;
    for k in 0..1200 {
        s.step().unwrap();
        reference.advance(1.0 / 60.0);
        means[k / 600] += (energy(&s) - at_rest) / 600.0;
        if k < 300 {
            let tip = s.world().bodies.position[count as usize - 1];
            let [x, y] = reference.center(count as usize - 1);
            off = off.max((tip.x - x).hypot(tip.y - y));
        }
    }
    // Energy under way is wave after wave of a whip that h = 1/60 does not resolve; none of it is lost.
    let change = (means[1] - means[0]) / swing;
    assert!(
        change.abs() < 0.01,
        "mean energy changed by {change} of {swing} J"
    );
    // 0.26 m of swing: half a percent of it over five seconds.
    assert!(off < 2e-3, "{off} m from the reference");
}

/// The four-bar's rocker pin is where the closed form puts it, and so is the slider, to 1e-4 m at the end
/// of a step and to 3e-6 m at the midpoints, where joints are held: between the two a link of length l that
/// turns at ω leaves its circle by l (hω)²/8, 1e-5 m here. All hinges keep their five rows, although a
/// planar loop makes three of them redundant.
#[test]
fn closed_loops_follow_their_closed_forms() {
    let bar = |name: &str, from: [f64; 2], to: [f64; 2]| {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        format!(
            "(name: \"{name}\", shape: Cuboid(half_extents: ({}, 0.03, 0.03)), mass: 1, position: ({}, {}, 0), \
             rotation: AxisAngle(axis: (0, 0, 1), degrees: {}), groups: (memberships: 0, filter: 0)),",
            0.5 * dx.hypot(dy),
            from[0] + 0.5 * dx,
            from[1] + 0.5 * dy,
            dy.atan2(dx).to_degrees()
        )
    };
    let hinge = |a: &str, b: &str, at: [f64; 2], rest: &str| {
        format!(
            "(name: \"{a} {b}\", bodies: (\"{a}\", \"{b}\"), kind: {}, at: ({}, {}, 0), axis: (0, 0, 1), \
             compliance: 1e-10, angular_compliance: 1e-10),",
            if rest.is_empty() { "Hinge()" } else { rest },
            at[0],
            at[1]
        )
    };
    let speed = 1.5;
    let motor = format!("Hinge(motor: Velocity(speed: {speed}))");
    let settings = "settings: (stabilisation: None), solver: (name: \"bpp\"),";

    let bars = FourBar {
        ground: 1.2,
        crank: 0.4,
        coupler: 1.0,
        rocker: 0.8,
        branch: Branch::Open,
    };
    let start = bars.pose(0.3).expect("it closes");
    let scene = [
        "(",
        settings,
        "bodies: [",
        &bar("crank", [0.0, 0.0], start.crank_pin),
        &bar("coupler", start.crank_pin, start.rocker_pin),
        &bar("rocker", [1.2, 0.0], start.rocker_pin),
        "], joints: [",
        &hinge("", "crank", [0.0, 0.0], &motor),
        &hinge("crank", "coupler", start.crank_pin, ""),
        &hinge("rocker", "coupler", start.rocker_pin, ""),
        &hinge("", "rocker", [1.2, 0.0], ""),
        "])",
    ];
    let mut s = simulation(&scene.concat());
    for _ in 0..300 {
        s.step().unwrap();
        let world = s.world();
        let crank = world.bodies.rotation[slot(&s, "crank")];
        let along = crank * Vec3::x();
        let expected = bars.pose(along.y.atan2(along.x)).expect("it closes");
        let found = world.joints()[2].world_frames(&world.bodies)[0].position;
        let off = (found.x - expected.rocker_pin[0]).hypot(found.y - expected.rocker_pin[1]);
        assert!(off < 1e-4 && found.z.abs() < 1e-6, "rocker pin {off} m off");
        // At the midpoint the crank's own pin says how far it has turned.
        let pin = |joint: usize| s.joints().nth(joint).expect("a joint").0.frames[0].position;
        let expected = bars.pose(pin(1).y.atan2(pin(1).x)).expect("it closes");
        let off = (pin(2).x - expected.rocker_pin[0]).hypot(pin(2).y - expected.rocker_pin[1]);
        assert!(off < 3e-6, "rocker pin {off} m off at the midpoint");
        assert!(s.report().joint_error < 1e-5);
    }
    let turned = s.world().joints()[0].angles()[0];
    assert!(
        (turned - speed * (5.0 - 1.0 / 60.0)).abs() < 1e-3,
        "{turned} rad"
    );

    let machine = SliderCrank {
        crank: 0.3,
        rod: 1.0,
        offset: 0.1,
    };
    let at = machine.position(0.3).expect("in reach");
    let pin = [0.3 * 0.3f64.cos(), 0.3 * 0.3f64.sin()];
    let scene = [
        "(",
        settings,
        "bodies: [",
        &bar("crank", [0.0, 0.0], pin),
        &bar("rod", pin, [at, 0.1]),
        "(name: \"slider\", shape: Cuboid(half_extents: (0.1, 0.05, 0.05)), mass: 2, position: (",
        &format!("{at}, 0.1, 0), groups: (memberships: 0, filter: 0)),"),
        "], joints: [",
        &hinge("", "crank", [0.0, 0.0], &motor),
        &hinge("crank", "rod", pin, ""),
        &hinge("rod", "slider", [at, 0.1], ""),
        "(bodies: (\"\", \"slider\"), kind: Slider(), at: (0, 0.1, 0), axis: (1, 0, 0), compliance: 1e-10, angular_compliance: 1e-10),",
        "])",
    ];
    let mut s = simulation(&scene.concat());
    for _ in 0..300 {
        s.step().unwrap();
        let world = s.world();
        let along = world.bodies.rotation[slot(&s, "crank")] * Vec3::x();
        let expected = machine.position(along.y.atan2(along.x)).expect("in reach");
        let found = world.bodies.position[slot(&s, "slider")];
        let off = (found.x - expected).hypot(found.y - 0.1);
        assert!(off < 1e-4, "slider {off} m off");
    }
}

#[test]
fn every_solver_holds_every_kind_of_joint() {
    hold_every_kind(|info| !info.traits.needs_device);
}

#[test]
#[ignore = "takes a minute by a software adapter"]
fn every_solver_on_a_device_holds_every_kind_of_joint() {
    hold_every_kind(|info| info.traits.needs_device);
}

/// Every joint kind holds a swinging box at what it leaves free, under all such solvers that can be named.
fn hold_every_kind(is_wanted: impl Fn(&SolverInfo) -> bool) {
    let kinds = [
        ("Fixed", &[0, 1, 2, 3, 4, 5][..]),
        ("Spherical(swing: 30, twist: (-20, 20))", &[0, 1, 2]),
        ("Hinge(limits: (-20, 20))", &[0, 1, 2, 4, 5]),
        ("Slider(limits: (-0.1, 0.1))", &[1, 2, 3, 4, 5]),
        ("Cylindrical(slide: (limits: (-0.1, 0.1)))", &[1, 2, 4, 5]),
        ("Screw(lead: 0.2)", &[0, 1, 2, 4, 5]),
        ("Universal(first: (limits: (-20, 20)))", &[0, 1, 2, 5]),
        (
            "SixDof(y: Free(limits: (-0.1, 0.1)), ry: Free(friction: 0.5))",
            &[0, 2, 3, 5],
        ),
        ("Distance()", &[]),
    ];
    for info in SOLVERS.iter().filter(|info| is_wanted(info)) {
        for (kind, held) in &kinds {
            for compliance in ["", "compliance: 1e-7, angular_compliance: 1e-7,"] {
                let second = if *kind == "Distance()" {
                    "at_second: (0.3, 0.4, 0),"
                } else {
                    ""
                };
                let mut s = simulation(&format!(
                    r#"(
                        settings: (gravity: (2, -9.81, 3)),
                        solver: (name: "{}", budget: (iterations: 3000, tolerance: 1e-9)),
                        bodies: [(shape: Cuboid(half_extents: (0.3, 0.2, 0.1)), mass: 3, position: (0.3, 0.4, 0), name: "a")],
                        joints: [(bodies: ("", "a"), kind: {kind}, {second} at: (0, 0.5, 0), axis: (1, 1, 0), {compliance})],
                    )"#,
                    info.name
                ));
                for _ in 0..90 {
                    s.step().unwrap();
                    assert!(
                        !matches!(s.report().solve.status, Status::Failed(_)),
                        "{} fails on {kind}: {:?}",
                        info.name,
                        s.report().solve.status
                    );
                }
                let (geometry, error) = s.joints().next().expect("a joint");
                let case = format!("{} with {kind}, {compliance:?}", info.name);
                for k in *held {
                    let off = geometry.value[*k].abs();
                    assert!(off < 3e-3, "{case}: coordinate {k} is {off} off");
                }
                assert!(error < 3e-3, "{case}: error {error} m");
                let joint = &s.world().joints()[0];
                for (k, axis) in joint.axes.iter().enumerate() {
                    if let Motion::Limited([lo, hi]) = axis.motion
                        && lo < hi
                    {
                        let value = geometry.value[k];
                        assert!(
                            value > lo - 6e-3 && value < hi + 6e-3,
                            "{case}: {k} at {value}"
                        );
                    }
                }
                if *kind == "Distance()" {
                    let length = geometry.value[0];
                    assert!(
                        (length - 0.1f64.hypot(0.3)).abs() < 3e-3,
                        "{case}: {length} m"
                    );
                }
            }
        }
    }
}

/// What a step reads of joints and drives is in a snapshot: going on from its bytes is going on.
#[test]
fn snapshots_hold_joints_and_drives() {
    let text = r#"(
        settings: (friction_law: Box),
        solver: (name: "bpp"),
        bodies: [
            (name: "ground", kind: Fixed, shape: Cuboid(half_extents: (5, 1, 5)), position: (0, -1, 0)),
            (name: "arm", shape: Cuboid(half_extents: (0.5, 0.05, 0.05)), mass: 2, position: (0.5, 1, 0)),
            (name: "fist", shape: Ball(radius: 0.2), mass: 5, position: (1.2, 1, 0)),
        ],
        joints: [
            (name: "shoulder", bodies: ("", "arm"), kind: Hinge(motor: Position(stiffness: 500, damping: 50)), at: (0, 1, 0), axis: (0, 0, 1), compliance: 1e-8, angular_compliance: 1e-8),
            (name: "wrist", bodies: ("arm", "fist"), kind: Spherical(friction: 0.1), at: (1, 1, 0), compliance: 1e-8),
            (name: "mimic", kind: Gear(terms: [(joint: "shoulder", coefficient: 1), (joint: "wrist", axis: Rx, coefficient: 0.5)]), angular_compliance: 1e-2),
        ],
        drives: [(name: "shoulder", unit: "deg", motors: [(joint: "shoulder")], range: (-90, 90), rate: 40,
                  script: [(0, 0), (1, 40), (2, -70)], interpolation: Smooth)],
    )"#;
    let mut one = simulation(text);
    for _ in 0..50 {
        one.step().unwrap();
    }
    let before = one.world().drives()[0].value();
    one.world_mut().set_drive(0, Some(-80.0));
    for _ in 0..10 {
        one.step().unwrap();
    }
    let snapshot = Snapshot::from_bytes(&one.snapshot().to_bytes()).unwrap();
    let mut two = simulation(text);
    two.restore(&snapshot);
    assert_eq!(one.world().state_hash(), two.world().state_hash());
    for _ in 0..60 {
        one.step().unwrap();
        two.step().unwrap();
    }
    assert_eq!(one.world().state_hash(), two.world().state_hash());
    // A hand moves the drive at its rate: 70 steps of 1/60 s at 40 °/s.
    let moved = before - one.world().drives()[0].value();
    assert!((moved - 70.0 * 40.0 / 60.0).abs() < 1e-9, "{moved}°");
}

/// Bodies take their joints with them, joints their gears; the others keep working.
#[test]
fn joints_go_with_their_bodies() {
    let mut world = World::new(Settings::default());
    let body = |world: &mut World, x: f64| {
        let spec = BodySpec {
            pose: Pose::translation(x, 0.0, 0.0),
            mass: Some(1.0),
            inertia: Some(SymMat3::diagonal(1.0, 1.0, 1.0)),
            ..BodySpec::default()
        };
        world.add_body(spec).unwrap()
    };
    let ids: Vec<_> = (0..4).map(|k| body(&mut world, f64::from(k))).collect();
    let pin = |x: f64| Pose::new(Vec3::new(x, 0.0, 0.0), Quat::identity());
    for k in 0..3 {
        let spec = JointSpec::new(
            JointKind::Hinge,
            [Some(ids[k]), Some(ids[k + 1])],
            pin(k as f64 + 0.5),
        );
        world.add_joint(spec).unwrap();
    }
    let term = |joint| moreau::world::joint::GearTerm {
        joint,
        axis: 3,
        coefficient: 1.0,
    };
    for pair in [[0, 1], [1, 2]] {
        let kind = JointKind::Gear(pair.map(term).to_vec());
        world
            .add_joint(JointSpec::new(kind, [None, None], Pose::IDENTITY))
            .unwrap();
    }
    assert_eq!(world.joints().len(), 5);
    assert!(world.remove_body(ids[0]));
    // Hinge 0 and the gear that coupled it are gone; the other gear now names hinges 0 and 1.
    assert_eq!(world.joints().len(), 3);
    let JointKind::Gear(terms) = &world.joints()[2].kind else {
        panic!("a gear is left");
    };
    assert_eq!(terms.iter().map(|t| t.joint).collect::<Vec<_>>(), [0, 1]);
    let mut s = Simulation::new(world, Default::default(), 1).unwrap();
    s.world_mut().bodies.velocity[3] = Twist {
        linear: Vec3::zeros(),
        angular: Vec3::x(),
    };
    for _ in 0..30 {
        s.step().unwrap();
    }
    assert!(gap(&s, 0) < 1e-3 && gap(&s, 1) < 1e-3);
    assert!(!s.world_mut().remove_joint(3) && s.world_mut().remove_joint(0));
    assert_eq!(s.world().joints().len(), 1, "the gear went with its hinge");
    s.step().unwrap();
}

/// Two bodies on a joint do not collide unless it says so.
#[test]
fn joined_bodies_pass_through_each_other_unless_asked() {
    let contacts = |collide: bool| {
        let mut s = simulation(&format!(
            r#"(bodies: [(name: "a", kind: Fixed, shape: Ball(radius: 0.5)), (name: "b", shape: Ball(radius: 0.5), mass: 1, position: (0.9, 0, 0))],
                joints: [(bodies: ("a", "b"), kind: Hinge(), at: (0.45, 0, 0), collide: {collide})])"#
        ));
        s.step().unwrap().contacts
    };
    assert_eq!([contacts(false), contacts(true)], [0, 1]);
}

/// What a step closes of a gap becomes motion, which sweeps that lag behind do not take back in time: these machines were
/// 19 mm, 24 m and 10⁸ m apart before a step that misses its tolerance closed a fifth of it.
#[test]
fn machines_on_cables_hold_under_sweeps_that_miss_their_tolerance() {
    let mut apart = Vec::new();
    for (scene, solver) in [
        ("simple_crane", "nncg"),
        ("winch", "gauss-seidel"),
        ("bridge", "gauss-seidel"),
    ] {
        let scene = library::shipped(scene).expect("a shipped scene");
        let mut s = scene.simulation(1).expect("a simulation");
        let config = SolverConfig {
            name: solver.into(),
            budget: Budget {
                iterations: 50,
                ..Budget::default()
            },
            ..SolverConfig::default()
        };
        s.set_solver(config).expect("a solver");
        let (mut worst, mut missed): (f64, u32) = (0.0, 0);
        for _ in 0..400 {
            let report = s.step().expect("a step");
            worst = worst.max(report.joint_error);
            missed += u32::from(report.solve.status != Status::Converged);
        }
        println!("{solver}: {worst:.1e} m, {missed} steps missed the tolerance");
        if worst > 0.01 || missed == 0 {
            apart.push(format!("{}: {worst} m", scene.name));
        }
    }
    assert!(apart.is_empty(), "{apart:?}");
}
