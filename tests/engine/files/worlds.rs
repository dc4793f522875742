//! Whatever joints and drives a world has, a step is taken or refused, with the world as it was: never a
//! panic, and never a number that is none.

use std::fmt::Write as _;

use moreau::math::random::Random;
use moreau::scene::{Scene, SceneError};
use moreau::solve::SOLVERS;
use moreau::step::{Simulation, Snapshot};
use moreau::world::World;

use crate::common::fuzz::as_long_as_wanted;
use proptest::prelude::*;

/// Draws the text of a scene: a few bodies, of masses over twelve orders of magnitude, under joints of every
/// kind that fit or do not, with motors, gears and drives.
struct Draw {
    random: Random,
    text: String,
    /// Which joints have a motor, and on which coordinate.
    motors: Vec<(usize, &'static str)>,
    /// What bodies are made of, and the ground.
    shapes: &'static [&'static str],
    grounds: &'static [&'static str],
}

/// The shapes of few corners.
const PLAIN: &[&str] = &[
    "Ball(radius: 0.3)",
    "Cuboid(half_extents: (0.3, 0.2, 0.1))",
    "Cuboid(half_extents: (0.5, 1e-3, 1e-3))",
    "Capsule(half_height: 0.2, radius: 0.1)",
];
const FLAT: &[&str] = &["HalfSpace()"];

/// All that there are.
const ALL: &[&str] = &[
    "Ball(radius: 0.3)",
    "Ball(radius: 1e-3)",
    "Cuboid(half_extents: (0.3, 0.2, 0.1))",
    "Cuboid(half_extents: (0.5, 1e-3, 1e-3))",
    "Capsule(half_height: 0.2, radius: 0.1)",
    "Cylinder(half_height: 0.2, radius: 0.3)",
    "Cone(half_height: 0.3, radius: 0.2)",
    "ConvexHull(points: [(0.3, 0, 0), (-0.3, 0, 0.1), (0, 0.3, 0), (0, -0.2, 0), (0, 0, 0.3), (0, 0.1, -0.3)])",
    "Compound(parts: [(shape: Ball(radius: 0.2)), (shape: Cuboid(half_extents: (0.1, 0.1, 0.4)), position: (0, 0, 0.5)), \
     (shape: Cone(half_height: 0.1, radius: 0.1), position: (0.2, 0, 0))])",
];
const GROUNDS: &[&str] = &[
    "HalfSpace()",
    "Cuboid(half_extents: (5, 0.1, 5))",
    "TriMesh(vertices: [(-5, 0, -5), (5, 0.3, -5), (-5, 0, 5), (5, 0, 5)], triangles: [(0, 2, 1), (1, 2, 3)])",
    "HeightField(size: (10, 10), heights: [[0, 0.1, 0], [0.1, 0, 0.2], [0, 0, 0]])",
];

impl Draw {
    fn scene(seed: u64) -> String {
        Self::of(seed, PLAIN, FLAT)
    }

    /// The same of bodies and grounds of every shape.
    fn wide(seed: u64) -> String {
        Self::of(seed, ALL, GROUNDS)
    }

    fn of(seed: u64, shapes: &'static [&str], grounds: &'static [&str]) -> String {
        let mut draw = Self {
            random: Random::new(seed),
            text: String::from("(\n"),
            motors: Vec::new(),
            shapes,
            grounds,
        };
        draw.settings();
        let bodies = 2 + draw.random.below(6);
        draw.bodies(bodies);
        let joints = 1 + draw.random.below(8);
        draw.joints(bodies, joints);
        draw.drives();
        draw.text.push_str(")\n");
        draw.text
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len())]
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.unit() < share
    }

    /// From 10^least to 10^most, each order of magnitude as likely.
    fn size(&mut self, least: f64, most: f64) -> f64 {
        10f64.powf(self.random.range(least, most))
    }

    fn vector(&mut self, size: f64) -> String {
        let [x, y, z] = std::array::from_fn(|_| size * self.random.signed());
        format!("({x:?}, {y:?}, {z:?})")
    }

    fn settings(&mut self) {
        let step = self.size(-4.0, -1.0);
        let stabilisation = self.one_of(&[
            "None",
            "Baumgarte(beta: 0.5, slop: 0, max_speed: 1e3)",
            "Projection(fraction: 1, slop: 0, max_speed: 1e3)",
        ]);
        let law = self.one_of(&["Disc", "Box", "Pyramid(sides: 6)"]);
        let substeps = 1 + self.random.below(2);
        let solver = self.one_of(SOLVERS).name;
        let iterations = 1 + self.random.below(40);
        let _ = writeln!(
            self.text,
            "settings: (step: {step:?}, substeps: {substeps}, stabilisation: {stabilisation}, friction_law: {law}),\n\
             solver: (name: \"{solver}\", budget: (iterations: {iterations})),"
        );
        let [mu, restitution] = [self.one_of(&[0.0, 0.5, 10.0]), self.one_of(&[0.0, 1.0])];
        let compliance = self.one_of(&[0.0, 1e-9, 1e-3]);
        let _ = writeln!(
            self.text,
            "materials: {{\"default\": (friction: {mu:?}, restitution: {restitution:?}, compliance: {compliance:?})}},"
        );
    }

    fn bodies(&mut self, count: usize) {
        let ground = match self.grounds {
            [one] => one,
            several => self.one_of(several),
        };
        let _ = writeln!(
            self.text,
            "bodies: [(name: \"ground\", kind: Fixed, shape: {ground}, position: (0, -1, 0)),"
        );
        for k in 0..count {
            let shape = self.one_of(self.shapes);
            let kind = self.one_of(&["Dynamic", "Dynamic", "Dynamic", "Dynamic", "Kinematic"]);
            let (mass, speed) = (self.size(-6.0, 6.0), self.size(-3.0, 4.0));
            let (position, velocity) = (self.vector(1.0), self.vector(speed));
            let spin = self.vector(speed);
            let _ = writeln!(
                self.text,
                "(name: \"b{k}\", kind: {kind}, shape: {shape}, mass: {mass:?}, position: {position}, \
                 velocity: {velocity}, angular_velocity: {spin}),"
            );
        }
        self.add("],\n");
    }

    /// A motor, a limit and friction, or some of them; whether there is a motor.
    fn coordinate(&mut self) -> (String, bool) {
        let mut text = String::from("(");
        if self.chance(0.4) {
            let limits = self.one_of(&["(0, 0)", "(-1, 1)", "(20, 30)", "(-1e6, 1e-9)"]);
            let _ = write!(text, "limits: {limits}, ");
        }
        let has_motor = self.chance(0.6);
        if has_motor {
            let force = self.size(-3.0, 9.0);
            let (target, stiffness) = (1e3 * self.random.signed(), self.size(-6.0, 9.0));
            let motor = self.one_of(&["Velocity", "Position", "unlimited"]);
            let _ = match motor {
                "Velocity" => write!(
                    text,
                    "motor: Velocity(speed: {target:?}, max_force: {force:?}), "
                ),
                "Position" => write!(
                    text,
                    "motor: Position(position: {target:?}, stiffness: {stiffness:?}, max_force: {force:?}), "
                ),
                _ => write!(
                    text,
                    "motor: Position(position: 0, stiffness: {stiffness:?}, damping: 1), "
                ),
            };
        }
        if self.chance(0.3) {
            let friction = self.size(-3.0, 6.0);
            let _ = write!(text, "friction: {friction:?}");
        }
        text.push(')');
        (text, has_motor)
    }

    /// A kind of joint, and on which of its coordinates there is a motor.
    fn kind(&mut self) -> (String, Option<&'static str>) {
        let (coordinate, has_motor) = self.coordinate();
        let inner = &coordinate[1..coordinate.len() - 1];
        let (kind, axis) = match self.random.below(8) {
            0 => return ("Fixed".into(), None),
            1 => {
                return (
                    "Spherical(swing: 30, twist: (-20, 20), friction: 0.5)".into(),
                    None,
                );
            }
            2 => (format!("Hinge({inner})"), "Rx"),
            3 => (format!("Slider({inner})"), "X"),
            4 => (format!("Cylindrical(slide: {coordinate})"), "X"),
            5 => (format!("Universal(second: {coordinate})"), "Ry"),
            6 => (format!("SixDof(y: Free{coordinate}, rz: Free())"), "Y"),
            _ => return ("Distance(min: 0.5, max: 2)".into(), None),
        };
        (kind, has_motor.then_some(axis))
    }

    fn joints(&mut self, bodies: usize, count: usize) {
        self.add("joints: [\n");
        for k in 0..count {
            let second = self.random.below(bodies);
            let first = match self.random.below(bodies + 1) {
                same if same == second => String::new(),
                world if world == bodies => "ground".into(),
                other => format!("b{other}"),
            };
            let (kind, motor) = self.kind();
            self.motors.extend(motor.map(|axis| (k, axis)));
            let [at, axis] = [self.vector(2.0), self.vector(1.0)];
            let softness = self.one_of(&[
                "",
                "compliance: 1e-12, angular_compliance: 1e-12,",
                "compliance: 1e-3, damping: 1e3, angular_compliance: 10,",
                "length: 1e-3,",
                "collide: true,",
            ]);
            let apart = if kind.starts_with("Distance") {
                format!("at_second: {},", self.vector(2.0))
            } else {
                String::new()
            };
            let _ = writeln!(
                self.text,
                "(name: \"j{k}\", bodies: (\"{first}\", \"b{second}\"), kind: {kind}, at: {at}, {apart} axis: {axis}, {softness}),"
            );
        }
        if self.motors.len() > 1 && self.chance(0.5) {
            let terms = [self.motors[0], self.motors[1]].map(|(joint, axis)| {
                let coefficient = self.size(-3.0, 3.0);
                format!("(joint: \"j{joint}\", axis: {axis}, coefficient: {coefficient:?})")
            });
            let _ = writeln!(
                self.text,
                "(name: \"gear\", kind: Gear(terms: [{}])),",
                terms.join(", ")
            );
        }
        self.add("],\n");
    }

    fn drives(&mut self) {
        self.add("drives: [\n");
        for (k, (joint, axis)) in self.motors.clone().into_iter().enumerate() {
            let interpolation = self.one_of(&["Step", "Linear", "Smooth"]);
            let moves = self.one_of(&["Target", "MaxForce"]);
            let (value, rate) = (self.size(-3.0, 9.0), self.one_of(&[0.0, 1.0, 1e9]));
            let factor = self.random.signed();
            let _ = writeln!(
                self.text,
                "(name: \"d{k}\", motors: [(joint: \"j{joint}\", axis: {axis}, factor: {factor:?}, moves: {moves})], \
                 script: [(0, 0), (0.001, {value:?}), (0.1, -1)], interpolation: {interpolation}, range: (-5, 5), rate: {rate:?}),"
            );
        }
        self.add("],\n");
    }
}

fn is_finite(world: &World) -> bool {
    let bodies = &world.bodies;
    let places = bodies.position.iter().flat_map(|x| x.iter());
    let turns = bodies.rotation.iter().flat_map(|q| q.coords.iter());
    let speeds = bodies.velocity.iter();
    let speeds = speeds.flat_map(|u| u.linear.iter().chain(u.angular.iter()));
    places.chain(turns).chain(speeds).all(|x| x.is_finite())
}

/// More than any solver may take by default for a step of few bodies, of several solves, and the iteration that ends it
/// (1e6 multiplications).
const MOST_WORK: f64 = 5000.0;

/// Takes a step; whether it was taken.
fn step(simulation: &mut Simulation, text: &str) -> bool {
    let before = simulation.world().state_hash();
    let result = simulation.step().map_err(|e| e.to_string());
    let result = result.map(|report| {
        let work = report.solve.statistic("work").unwrap_or(0.0);
        assert!(work <= MOST_WORK, "{work} million multiplications: {text}");
    });
    assert!(is_finite(simulation.world()), "{result:?} of\n{text}");
    if let Err(message) = &result {
        assert_eq!(simulation.world().state_hash(), before, "{message}: {text}");
    }
    result.is_ok()
}

/// Builds the world and takes steps, with hands on a drive, a snapshot and a body that goes; how many steps
/// were taken.
fn live(text: &str) -> Result<usize, SceneError> {
    let scene = Scene::parse(text, "drawn.ron")?;
    scene.build()?;
    let mut simulation = scene.simulation(1)?;
    let mut taken = 0;
    for _ in 0..4 {
        taken += usize::from(step(&mut simulation, text));
    }
    simulation.world_mut().set_drive(0, Some(4.0));
    taken += usize::from(step(&mut simulation, text));
    let snapshot = Snapshot::from_bytes(&simulation.snapshot().to_bytes()).expect("sound");
    simulation.restore(&snapshot);
    let last = simulation.world().bodies.iter().last();
    if let Some(id) = last.and_then(|slot| simulation.world().bodies.id(slot)) {
        simulation.world_mut().remove_body(id);
    }
    simulation.world_mut().set_drive(0, None);
    for _ in 0..3 {
        taken += usize::from(step(&mut simulation, text));
    }
    Ok(taken)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn worlds_with_joints_and_drives_never_panic(seed in any::<u64>()) {
        let _ = live(&Draw::scene(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn worlds_of_every_shape_never_panic(seed in any::<u64>()) {
        let _ = live(&Draw::wide(seed));
    }
}

/// Worlds of bodies of every shape, for as long as wanted.
#[test]
#[ignore = "takes as long as it is told to"]
fn measure_worlds() {
    let (mut worlds, mut taken, mut longest) = (0_u64, 0, (0.0, 0));
    as_long_as_wanted(1000, |seeds| {
        for seed in seeds {
            let begin = std::time::Instant::now();
            let text = Draw::wide(seed);
            let live = std::panic::catch_unwind(|| live(&text));
            let steps = live.unwrap_or_else(|_| panic!("seed {seed}"));
            worlds += u64::from(steps.is_ok());
            taken += steps.unwrap_or(0);
            let time = begin.elapsed().as_secs_f64();
            if time > longest.0 {
                longest = (time, seed);
            }
        }
    });
    let (time, seed) = longest;
    println!("{worlds} worlds, {taken} steps; the longest world took {time:.3} s, of seed {seed}");
}

/// A world whose joints are pulled with 6e88 N s: the next step starts without them, and the state remains one that can be
/// kept.
#[test]
fn impulses_beyond_all_bounds_are_not_remembered() {
    let _ = live(&Draw::scene(1848793841774892523));
}

/// A world whose bodies a step would throw out of bounds: it is refused before they look for what is on that way.
#[test]
fn nobody_looks_along_a_way_without_end() {
    let _ = live(&Draw::wide(4022447));
}

/// The worlds above are worth stepping: nearly all are built, and most steps are taken, by every solver.
#[test]
fn drawn_worlds_are_built_and_stepped() {
    let (mut built, mut driven, mut taken) = (0, 0, 0);
    for seed in 0..200 {
        let text = Draw::scene(seed);
        match live(&text) {
            Ok(steps) => {
                built += 1;
                taken += steps;
                driven += usize::from(text.contains("script"));
            }
            Err(error) => println!("{error}"),
        }
    }
    println!(
        "{built} of 200 worlds, {driven} of them driven; {taken} of {} steps",
        8 * built
    );
    assert!(built > 190 && driven > 100 && taken > 6 * built);
}
