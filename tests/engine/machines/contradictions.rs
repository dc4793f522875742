//! Machines that contradict themselves: drives without a limit of force against the ground, against stops and against each other, by
//! seed. They stay in one place, what they move is of the order of what drives and gravity give, and the step says who fights.

use moreau::math::random::Random;
use moreau::measure::energy::Flow;
use moreau::scene::Scene;
use std::f64::consts::PI;
use std::fmt::Write;

/// Earth's gravity (m/s²).
const GRAVITY: f64 = 9.81;
/// How long a machine runs (s), in steps of 1/60 s.
const SECONDS: f64 = 2.0;

/// A machine in the making, and what its drives and gravity may give it.
#[derive(Default)]
struct Machine {
    bodies: String,
    joints: String,
    /// The bodies' mass (kg), and how fast the drives' target speeds move them at most, added up (m/s).
    mass: f64,
    speed: f64,
    /// What servos, drives with a limit of force and gravity may give (J).
    energy: f64,
    /// How far drives lead (m).
    travel: f64,
}

impl Machine {
    fn body(&mut self, name: &str, shape: &str, place: [f64; 3], mass: f64, more: &str) {
        let [x, y, z] = place;
        writeln!(
            self.bodies,
            r#"(name: "{name}", shape: {shape}, position: ({x}, {y}, {z}), mass: {mass}{more}),"#
        )
        .expect("a string");
        self.mass += mass;
        self.energy += mass * GRAVITY * y;
    }

    fn ground(&mut self) {
        self.bodies += r#"(name: "ground", shape: HalfSpace(), kind: Fixed),"#;
    }

    fn joint(&mut self, name: &str, kind: &str, bodies: [&str; 2], at: [f64; 3], axis: [f64; 3]) {
        let ([a, b], [x, y, z], [i, j, k]) = (bodies, at, axis);
        writeln!(
            self.joints,
            r#"(name: "{name}", kind: {kind}, bodies: ("{a}", "{b}"), at: ({x}, {y}, {z}), axis: ({i}, {j}, {k})),"#
        )
        .expect("a string");
    }

    /// A motor for a speed of up to `most` (m/s, or rad/s at a lever of so many metres).
    fn motor(&mut self, random: &mut Random, most: f64, lever: f64, limit: f64) -> String {
        let speed = random.range(-most, most);
        self.speed += speed.abs() * lever;
        self.travel = self.travel.max(speed.abs() * lever * SECONDS);
        if limit < f64::INFINITY {
            self.energy += limit * speed.abs() * SECONDS;
        }
        format!("motor: Velocity(speed: {speed}, max_force: {limit})")
    }

    /// A servo for a turn of up to 120° either way, which other drives of the machine may wind up by `wound` (rad).
    fn servo(&mut self, random: &mut Random, stiffness: f64, limit: f64, wound: f64) -> String {
        let target = random.range(-120.0, 120.0);
        let turn = f64::to_radians(target).abs() + wound;
        self.energy += (0.5 * stiffness * turn * turn).min(limit * turn);
        let damping = pick(random, &[10.0, 1500.0]);
        format!(
            "motor: Position(position: {target}, stiffness: {stiffness}, damping: {damping}, max_force: {limit})"
        )
    }

    fn text(&self) -> String {
        let Self { bodies, joints, .. } = self;
        let friction = r#"materials: {"default": (friction: 0.6)}"#;
        format!("({friction}, bodies: [\n{bodies}], joints: [\n{joints}])")
    }
}

fn pick(random: &mut Random, from: &[f64]) -> f64 {
    from[random.below(from.len())]
}

fn axis(random: &mut Random) -> [f64; 3] {
    let k = random.below(3);
    std::array::from_fn(|i| f64::from(u8::from(i == k)))
}

/// A chain of links that starts upright, on the world's frame or just standing: its drives push it into the ground.
fn arm(random: &mut Random, is_mounted: bool) -> Machine {
    let mut m = Machine::default();
    m.ground();
    let links = 2 + random.below(4);
    let length = 0.55 * links as f64 + 0.5;
    m.travel = 2.0 * length;
    let shape = "Capsule(half_height: 0.2, radius: 0.05)";
    let name = |k: usize| format!("l{k}");
    for k in 0..links {
        let mass = pick(random, &[1.0, 5.0, 40.0]);
        m.body(&name(k), shape, [0.0, 0.3 + 0.55 * k as f64, 0.0], mass, "");
        if k == 0 && !is_mounted {
            continue;
        }
        let limit = pick(random, &[3e3, 1e5, f64::INFINITY]);
        let drive = match random.unit() < 0.7 {
            true => {
                let stiffness = pick(random, &[2e3, 2e4, 1e6]);
                m.servo(random, stiffness, limit, 0.0)
            }
            false => m.motor(random, 1.5, length, limit),
        };
        let below = if k == 0 { String::new() } else { name(k - 1) };
        let at = [0.0, 0.55 * k as f64 + 0.025, 0.0];
        let axis = axis(random);
        m.joint(
            &format!("j{k}"),
            &format!("Hinge({drive})"),
            [&below, &name(k)],
            at,
            axis,
        );
    }
    // What servos shoot up falls as far again.
    m.travel += if is_mounted {
        0.0
    } else {
        m.energy / (m.mass * GRAVITY)
    };
    m
}

/// A ram over a stack of boxes.
fn press(random: &mut Random) -> Machine {
    let mut m = Machine::default();
    m.ground();
    let boxes = 1 + random.below(4);
    for k in 0..boxes {
        let mut aside = || random.range(-0.1, 0.1);
        let place = [aside(), 0.2 + 0.41 * k as f64, aside()];
        let mass = pick(random, &[1.0, 10.0, 100.0]);
        m.body(
            &format!("b{k}"),
            "Cuboid(half_extents: (0.3, 0.2, 0.3))",
            place,
            mass,
            "",
        );
    }
    let high = 0.75 + 0.41 * boxes as f64;
    m.body(
        "ram",
        "Cuboid(half_extents: (0.5, 0.2, 0.5))",
        [0.0, high, 0.0],
        50.0,
        "",
    );
    let drive = match random.unit() < 0.6 {
        true => {
            let limit = pick(random, &[1e6, f64::INFINITY]);
            let drive = m.motor(random, 3.0, 1.0, limit);
            drive.replace("speed: ", "speed: -").replace("--", "-")
        }
        false => {
            let stiffness = pick(random, &[1e4, 1e6]);
            m.energy += 0.5 * stiffness * 9.0;
            format!("motor: Position(position: -3, stiffness: {stiffness}, damping: 1e3)")
        }
    };
    m.travel = m.travel.max(3.0);
    m.joint(
        "press",
        &format!("Slider({drive})"),
        ["", "ram"],
        [0.0, 2.0, 0.0],
        [0.0, 1.0, 0.0],
    );
    m
}

/// Three bars in a straight line between two fixed points: nothing can move, and drives and stops would all the same.
fn straight(random: &mut Random) -> Machine {
    let mut m = Machine {
        travel: 1.8,
        ..Machine::default()
    };
    let names = ["", "a", "b", "c", ""];
    for (k, name) in names.iter().enumerate().take(4).skip(1) {
        let place = [0.6 * k as f64 - 0.3, 2.0, 0.0];
        m.body(
            name,
            "Cuboid(half_extents: (0.3, 0.05, 0.05))",
            place,
            5.0,
            ", groups: (filter: 0)",
        );
    }
    for k in 0..4 {
        let drive = match random.below(4) {
            0 => m.motor(random, 5.0, 1.8, f64::INFINITY),
            1 => {
                let stiffness = pick(random, &[2e3, 2e4, 1e5]);
                m.servo(random, stiffness, f64::INFINITY, 0.0)
            }
            2 => "limits: (-20, 20)".to_owned(),
            _ => String::new(),
        };
        let at = [0.6 * k as f64, 2.0, 0.0];
        let kind = format!("Hinge({drive})");
        m.joint(
            &format!("h{k}"),
            &kind,
            [names[k], names[k + 1]],
            at,
            [0.0, 0.0, 1.0],
        );
    }
    m
}

/// Two or three motors of different speeds on one axle.
fn axle(random: &mut Random) -> Machine {
    let mut m = Machine {
        travel: 1.0,
        ..Machine::default()
    };
    let mass = pick(random, &[1.0, 20.0, 500.0]);
    m.body(
        "a",
        "Cuboid(half_extents: (0.5, 0.1, 0.1))",
        [0.0, 2.0, 0.0],
        mass,
        "",
    );
    for k in 0..2 + random.below(2) {
        let drive = match random.unit() < 0.7 {
            true => {
                let limit = pick(random, &[1e4, f64::INFINITY]);
                m.motor(random, 7.0, 0.5, limit)
            }
            false => {
                let stiffness = pick(random, &[2e3, 2e4]);
                m.servo(random, stiffness, f64::INFINITY, 7.0 * SECONDS)
            }
        };
        let kind = format!("Hinge({drive})");
        m.joint(
            &format!("h{k}"),
            &kind,
            ["", "a"],
            [0.0, 2.0, 0.1 * k as f64],
            [0.0, 0.0, 1.0],
        );
    }
    m
}

/// Two to four jaws about a box.
fn vice(random: &mut Random) -> Machine {
    let mut m = Machine {
        travel: 1.0,
        ..Machine::default()
    };
    m.ground();
    let mass = pick(random, &[0.1, 1.0, 100.0]);
    m.body(
        "work",
        "Cuboid(half_extents: (0.2, 0.2, 0.2))",
        [0.0, 0.2, 0.0],
        mass,
        "",
    );
    for k in 0..2 + random.below(3) {
        let angle = [0.0, PI, 0.5 * PI, -0.5 * PI][k] + random.range(-0.05, 0.05);
        let (x, z) = (angle.cos(), angle.sin());
        let mass = pick(random, &[2.0, 50.0]);
        let place = [0.6 * x, 0.2, 0.6 * z];
        let name = format!("jaw{k}");
        m.body(
            &name,
            "Cuboid(half_extents: (0.1, 0.15, 0.1))",
            place,
            mass,
            "",
        );
        let drive = match random.unit() < 0.7 {
            true => {
                let limit = pick(random, &[1e5, f64::INFINITY, f64::INFINITY]);
                m.motor(random, 2.0, 1.0, limit)
            }
            false => {
                let stiffness = pick(random, &[1e3, 1e4]);
                m.energy += 0.5 * stiffness * (0.6_f64 + 2.0 * SECONDS).powi(2);
                format!("motor: Position(position: -0.6, stiffness: {stiffness}, damping: 100)")
            }
        };
        m.joint(
            &format!("s{k}"),
            &format!("Slider({drive})"),
            ["", &name],
            place,
            [x, 0.0, z],
        );
    }
    m
}

/// Wheels that gears couple, each with a drive of its own.
fn gears(random: &mut Random) -> Machine {
    let mut m = Machine {
        travel: 1.0,
        ..Machine::default()
    };
    let count = 2 + random.below(3);
    let mass = pick(random, &[1.0, 30.0]);
    for k in 0..count {
        let name = format!("g{k}");
        let place = [0.5 * k as f64, 2.0, 0.0];
        m.body(
            &name,
            "Cylinder(half_height: 0.05, radius: 0.2)",
            place,
            mass,
            "",
        );
        // Gears of 1 : 3 make much of a speed, at the other end.
        let lever = 0.2 * 27.0;
        let drive = match random.below(4) {
            0 | 1 => m.motor(random, 7.0, lever, f64::INFINITY),
            2 => {
                let stiffness = pick(random, &[2e3, 2e4]);
                m.servo(random, stiffness, f64::INFINITY, 27.0 * 7.0 * SECONDS)
            }
            _ => String::new(),
        };
        m.joint(
            &format!("h{k}"),
            &format!("Hinge({drive})"),
            ["", &name],
            place,
            [0.0, 1.0, 0.0],
        );
    }
    for k in 1..count {
        let (a, b) = (pick(random, &[1.0, 2.0, -1.0]), pick(random, &[1.0, 3.0]));
        let before = k - 1;
        writeln!(
            m.joints,
            r#"(kind: Gear(terms: [(joint: "h{before}", coefficient: {a}), (joint: "h{k}", coefficient: {b})])),"#
        )
        .expect("a string");
    }
    m
}

/// A crank with an arm between four walls.
fn cage(random: &mut Random) -> Machine {
    let mut m = Machine {
        travel: 1.0,
        ..Machine::default()
    };
    m.ground();
    for (k, [x, z]) in [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
        .iter()
        .enumerate()
    {
        let far = random.range(0.6, 1.2);
        let (x, z, turn) = (far * x, far * z, 90.0 * k as f64);
        writeln!(
            m.bodies,
            r#"(name: "wall{k}", shape: Cuboid(half_extents: (0.1, 2, 2)), position: ({x}, 1, {z}),
                rotation: AxisAngle(axis: (0, 1, 0), degrees: -{turn}), kind: Fixed),"#
        )
        .expect("a string");
    }
    m.body(
        "post",
        "Cuboid(half_extents: (0.1, 0.3, 0.1))",
        [0.0, 0.4, 0.0],
        5.0,
        "",
    );
    let limit = pick(random, &[1e4, f64::INFINITY]);
    let drive = m.motor(random, 3.5, 0.7, limit);
    m.joint(
        "crank",
        &format!("Hinge({drive})"),
        ["", "post"],
        [0.0, 0.4, 0.0],
        [0.0, 1.0, 0.0],
    );
    let mass = pick(random, &[1.0, 10.0]);
    let turned = ", rotation: AxisAngle(axis: (0, 0, 1), degrees: 90)";
    m.body(
        "arm",
        "Capsule(half_height: 0.2, radius: 0.05)",
        [0.3, 0.6, 0.0],
        mass,
        turned,
    );
    let limit = pick(random, &[1e4, f64::INFINITY]);
    let drive = match random.unit() < 0.5 {
        true => m.motor(random, 3.5, 0.4, limit),
        false => {
            let stiffness = pick(random, &[2e3, 2e4]);
            m.servo(random, stiffness, limit, 0.0)
        }
    };
    let axis = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]][random.below(2)];
    m.joint(
        "elbow",
        &format!("Hinge({drive})"),
        ["post", "arm"],
        [0.1, 0.6, 0.0],
        axis,
    );
    m
}

/// What a run has shown.
struct Shown {
    /// Steps that named somebody.
    fights: usize,
    /// What was named last.
    said: String,
}

fn run(name: &str, machine: &Machine) -> Shown {
    let text = machine.text();
    let scene = Scene::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    let mut s = scene
        .simulation(1)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    s.set_energy(true);
    let places = |s: &moreau::step::Simulation| s.world().bodies.position.clone();
    let begin = places(&s);
    let (mut moving, mut far, mut given, mut deep): (f64, f64, f64, f64) = (0.0, 0.0, 0.0, 0.0);
    let mut shown = Shown {
        fights: 0,
        said: String::new(),
    };
    for step in 0..(SECONDS * 60.0) as usize {
        let report = s
            .step()
            .unwrap_or_else(|e| panic!("{name}, step {step}: {e}\n{text}"));
        given += report.energy.expect("an account")[Flow::Drives];
        deep = deep.max(report.penetration);
        if let Some(fight) = report.contradictions.first() {
            shown.fights += 1;
            shown.said = fight.to_string();
        }
        moving = moving.max(s.world().bodies.kinetic_energy());
        let now = places(&s);
        let ways = begin.iter().zip(&now).map(|(a, b)| (a - b).norm());
        far = far.max(ways.fold(0.0, f64::max));
    }
    let may = machine.energy + 0.5 * machine.mass * machine.speed * machine.speed;
    println!(
        "{name}: {moving:.2e} J move and {given:.2e} J are given of {may:.2e} J, {far:.2} m of {:.1} m, {deep:.1e} m deep; \
         {} steps: {}",
        machine.travel, shown.fights, shown.said
    );
    assert!(
        moving <= 10.0 * may,
        "{name}: {moving} J of {may} J\n{text}"
    );
    assert!(
        given <= 10.0 * may,
        "{name}: {given} J given, of {may} J\n{text}"
    );
    assert!(far <= 10.0 * machine.travel, "{name}: {far} m\n{text}");
    assert!(deep <= 0.05, "{name}: {deep} m deep\n{text}");
    shown
}

fn family(name: &str, count: u64, make: impl Fn(&mut Random) -> Machine) -> Vec<Shown> {
    let each = (0..count).map(|seed| {
        let machine = make(&mut Random::new(seed));
        run(&format!("{name} {seed}"), &machine)
    });
    each.collect()
}

#[test]
fn arms_that_push_into_the_ground_stay_bounded() {
    family("mounted arm", 13, |random| arm(random, true));
    family("standing arm", 12, |random| arm(random, false));
}

#[test]
fn presses_stop_at_what_they_press() {
    family("press", 13, press);
}

#[test]
fn straight_bars_stay_straight() {
    family("straight bars", 12, straight);
}

#[test]
fn motors_that_fight_stay_bounded() {
    family("axle", 12, axle);
    family("gears", 13, gears);
}

#[test]
fn jaws_and_cranks_stop_at_what_they_meet() {
    family("vice", 13, vice);
    family("cage", 12, cage);
}

/// A press without a limit of force stops on a box, says so, and goes up again when it is told to.
#[test]
fn a_press_says_what_it_presses_and_recovers() {
    let text = r#"(bodies: [
        (name: "ground", shape: HalfSpace(), kind: Fixed),
        (name: "box", shape: Cuboid(half_extents: (0.2, 0.2, 0.2)), position: (0, 0.2, 0), mass: 2),
        (name: "ram", shape: Cuboid(half_extents: (0.3, 0.1, 0.3)), position: (0, 1, 0), mass: 50),
    ], joints: [
        (name: "press", kind: Slider(motor: Velocity(speed: -1)), bodies: ("", "ram"), at: (0, 2, 0), axis: (0, 1, 0)),
    ], drives: [
        (name: "lever", motors: [(joint: "press")], script: [(0, -1), (1, -1), (1.1, 1), (9, 1)], range: (-3, 3)),
    ])"#;
    let scene = Scene::parse(text, "press").expect("a scene");
    let mut s = scene.simulation(1).expect("a world");
    for _ in 0..54 {
        s.step().expect("a step");
    }
    let report = s.report();
    let [fight] = report.contradictions.as_slice() else {
        panic!("{:?}", report.contradictions);
    };
    let said = fight.to_string();
    println!("{said}");
    assert!(
        said.starts_with("the motor of joint 0 \"press\" against the contact of"),
        "{said}"
    );
    assert!(report.penetration < 1e-3, "{} m", report.penetration);
    assert!(s.world().bodies.velocity[2].linear.y.abs() < 1e-3);
    for _ in 0..20 {
        s.step().expect("a step");
    }
    assert!(s.report().contradictions.is_empty());
    assert!((s.world().bodies.velocity[2].linear.y - 1.0).abs() < 1e-5);
}
