//! Whatever a scene file, a snapshot, a recording or a problem holds, the answer is what it says or a clear message,
//! never a panic: also where the checksum is right.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use crate::common::problems;
use moreau::file::FileError;
use moreau::math::Vec3;
use moreau::math::random::Random;
use moreau::problem::StoredProblem;
use moreau::scene::{Scene, SceneError, library};
use moreau::session::{Drag, Input, Recording, Replay, Session, Throw};
use moreau::solve::{Budget, SolverConfig};
use moreau::step::{Simulation, Snapshot};
use moreau::world::{Geometry, Settings, World};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

/// The message about a text that must not be good.
fn message(text: &str) -> String {
    match Scene::parse(text, "x.ron").and_then(|scene| scene.build()) {
        Ok(_) => panic!("this should be refused: {text}"),
        Err(error) => error.to_string(),
    }
}

/// Asserts file, line and column, and that the rest of the message holds all of `parts`.
#[track_caller]
fn refused(text: &str, place: &str, parts: &[&str]) {
    let message = message(text);
    assert!(
        message.starts_with(&format!("x.ron:{place}: ")),
        "{message}"
    );
    for part in parts {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

#[test]
fn text_that_does_not_fit_the_schema() {
    refused(
        "(\n  name: \"a\",\n  bodis: [],\n)",
        "3:3",
        &[
            "unexpected field named `bodis`",
            "expected one of",
            "`bodies`",
        ],
    );
    refused(
        "(settings: (step: \"fast\"))",
        "1:18",
        &["expected float", "\"fast\""],
    );
    refused(
        "(bodies: [(mass: heavy)])",
        "1:17",
        &["expected float", "`heavy`"],
    );
    refused(
        "(bodies: [(shape: Bal(radius: 1))])",
        "1:19",
        &["unexpected variant named `Bal`", "`Ball`"],
    );
    refused(
        "(bodies: [(shape: Ball(radus: 1))])",
        "1:24",
        &["unexpected field named `radus`", "`radius`"],
    );
    refused(
        "(bodies: [(shape: Ball())])",
        "1:24",
        &["missing field named `radius`"],
    );
    refused(
        "(bodies: [(mass: 1, mass: 2)])",
        "1:21",
        &["duplicate field named `mass`"],
    );
    refused("(bodies: [(color: \"red\")])", "1:20", &["#rrggbb"]);
    refused(
        "(materials: {\n\"a\": (),\n\"a\": (),\n})",
        "3:2",
        &["material \"a\" is there twice"],
    );
    refused(
        "(generators: [BallGrid(size: -1)])",
        "1:31",
        &["expected a whole number", "three as (x, y, z)"],
    );
    refused("(joints: [Hinge()])", "1:11", &["expected"]);
    refused("(bodies: [", "1:10", &["expected opening `(`"]);
    refused("", "1:1", &["expected"]);
}

#[test]
fn joints_that_make_no_sense_are_named_and_stand_at_their_place() {
    let joint = |fields: &str| {
        format!(
            "(bodies: [(name: \"a\", shape: Ball(radius: 1), mass: 1), (name: \"b\", shape: Ball(radius: 1), mass: 1)], joints: [\n\
             (name: \"pin\", bodies: (\"\", \"a\"), kind: Hinge()),\n(name: \"j\", {fields})])"
        )
    };
    let between = |fields: &str| joint(&format!("bodies: (\"a\", \"b\"), {fields}"));
    for (text, place, parts) in [
        (
            joint("bodies: (\"a\", \"c\")"),
            "3:27",
            &["joint \"j\": there is no body \"c\""][..],
        ),
        (
            joint("bodies: (\"a\", \"a\")"),
            "3:21",
            &["two different bodies"],
        ),
        (joint("kind: Fixed"), "3:1", &["two different bodies"]),
        (
            between("name: \"x\""),
            "3:33",
            &["duplicate field named `name`"],
        ),
        (
            between("kind: Hinge(limits: (5, -5))"),
            "3:53",
            &["limits must be ascending, not 5 and -5"],
        ),
        (
            between("kind: Hinge(limit: (5, 6))"),
            "3:45",
            &["unexpected field named `limit`"],
        ),
        (
            between("axis: (0, 0, 0)"),
            "3:39",
            &["the length of axis must be positive"],
        ),
        (
            between("across: (2, 0, 0)"),
            "3:41",
            &["across must not be along the axis"],
        ),
        (between("at: (NaN, 0, 0)"), "3:37", &["at must be finite"]),
        (
            between("compliance: -1"),
            "3:45",
            &["compliance must be 0 or more"],
        ),
        (
            between("damping: 1"),
            "3:42",
            &["damping must be 0 without a compliance, not 1"],
        ),
        (between("length: 0"), "3:41", &["length must be positive"]),
        (
            between("kind: Slider(motor: Position(stiffness: 0))"),
            "3:73",
            &["a motor needs a stiffness or a damping"],
        ),
        (
            between("kind: Slider(motor: Velocity(max_force: -1))"),
            "3:73",
            &["max_force must be 0 or more"],
        ),
        (
            between("kind: Distance(min: 2, max: 1)"),
            "3:53",
            &["min must be from 0 to max"],
        ),
        (
            joint("kind: Gear(terms: [])"),
            "3:19",
            &["a gear needs terms"],
        ),
        (
            joint("kind: Gear(terms: [(joint: \"nail\", coefficient: 1)])"),
            "3:40",
            &["there is no joint \"nail\" before this"],
        ),
        (
            joint("kind: Gear(terms: [(joint: \"pin\", coefficient: 0)])"),
            "3:1",
            &["coefficient must be finite and not 0"],
        ),
        (
            joint(
                "kind: Gear(terms: [(joint: \"pin\", coefficient: 0.1), (joint: \"pin\", coefficient: 0.2), (joint: \"pin\", coefficient: -0.3)])",
            ),
            "3:1",
            &["a gear without effect: its terms cancel"],
        ),
        (
            between("kind: Gear(terms: [(joint: \"pin\", coefficient: 1)])"),
            "3:21",
            &["no bodies of its own"],
        ),
        (
            joint(
                "bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", motors: [(joint: \"j\")]",
            ),
            "3:87",
            &["drive \"d\": this joint does not have just one motor"],
        ),
        (
            joint(
                "bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", script: [(1, 0), (1, 1)]",
            ),
            "3:58",
            &["script must be ascending in time, not 1 after 1"],
        ),
        (
            joint("bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", range: (1, 1)"),
            "3:58",
            &["range must be ascending, not 1 to 1"],
        ),
        (
            joint("bodies: (\"\", \"b\"), kind: Hinge())], drives: [(motors: []"),
            "3:58",
            &["a drive needs a name"],
        ),
        (
            joint(
                "bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", keys: (\"A\", \"PgUp\")",
            ),
            "3:82",
            &["a key is a letter, a digit, Left", "not \"PgUp\""],
        ),
        (
            joint(
                "bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", script: [(0, 0), (1, 1e39)]",
            ),
            "3:78",
            &["script must be within ±1e9, not 1e39"],
        ),
        (
            joint(
                "bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", range: (-1, 1e10)",
            ),
            "3:77",
            &["range must be within ±1e9, not 1e10"],
        ),
        (
            joint("bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", rate: 1e10"),
            "3:76",
            &["rate must be within ±1e9, not 1e10"],
        ),
        (
            joint(
                "bodies: (\"\", \"b\"), kind: Hinge())], drives: [(name: \"d\", motors: [(joint: \"j\", factor: 1e39)]",
            ),
            "3:100",
            &["factor must be within ±1e9, not 1e39"],
        ),
    ] {
        let message = message(&text);
        assert!(
            message.starts_with(&format!("x.ron:{place}: ")),
            "{text}\n{message}"
        );
        for part in parts {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

#[test]
fn numbers_that_make_no_sense_name_the_body_and_stand_at_their_place() {
    let ball = |fields: &str| {
        format!("(bodies: [\n  (name: \"crate\", shape: Ball(radius: 1), {fields})])")
    };
    refused(
        &ball("mass: -1"),
        "2:49",
        &["body \"crate\": mass must be positive and finite, not -1"],
    );
    refused(&ball("mass: 0"), "2:49", &["mass must be positive"]);
    refused(&ball("mass: NaN"), "2:49", &["not NaN"]);
    refused(
        &ball("mass: 1e-300"),
        "2:49",
        &["mass must be from 1e-9 to 1e9"],
    );
    refused(&ball("density: -5"), "2:52", &["density must be positive"]);
    refused(
        &ball("position: (0, inf, 0)"),
        "2:53",
        &["position must be finite, not inf"],
    );
    refused(
        &ball("position: (0, 1e300, 0)"),
        "2:53",
        &["position must be within"],
    );
    refused(
        &ball("position: (0, 2e8, 0)"),
        "2:53",
        &["position must be within ±1e8, not 2e8"],
    );
    refused(
        &ball("velocity: (2e8, 0, 0)"),
        "2:53",
        &["velocity must be within ±1e8"],
    );
    refused(
        &ball("velocity: (NaN, 0, 0)"),
        "2:53",
        &["velocity must be finite"],
    );
    refused(
        &ball("rotation: AxisAngle(axis: (0, 0, 0), degrees: 1)"),
        "2:53",
        &["the length of axis must be positive"],
    );
    refused(
        &ball("rotation: Quaternion(x: 0, y: 0, z: 0, w: 0)"),
        "2:53",
        &["the norm of the quaternion must be positive"],
    );
    refused(
        &ball("mass: 1, inertia: (diagonal: (1, 1, 5))"),
        "2:61",
        &["triangle inequality"],
    );
    refused(
        &ball("mass: 1, density: 1"),
        "2:61",
        &["mass and density cannot both be given"],
    );
    refused(
        &ball("material: \"ice\""),
        "2:53",
        &["there is no material \"ice\"; there are: default"],
    );
}

#[test]
fn shapes_that_enclose_nothing() {
    let body = |shape: &str| format!("(bodies: [(shape: {shape})])");
    refused(
        &body("Ball(radius: 0)"),
        "1:32",
        &["body 0: radius must be positive and finite, not 0"],
    );
    refused(&body("Ball(radius: 1e9)"), "1:19", &["beyond 1e±40"]);
    refused(
        &body("Capsule(radius: 1e-8, half_height: 10)"),
        "1:19",
        &["1e14 times smaller about one axis than about another"],
    );
    refused(
        &body("Cuboid(half_extents: (1, 0, 1))"),
        "1:44",
        &["half_extents.y must be positive"],
    );
    refused(
        &body("Capsule(half_height: 1, radius: -1)"),
        "1:51",
        &["radius must be positive"],
    );
    refused(
        &body("Cone(half_height: NaN, radius: 1)"),
        "1:37",
        &["half_height must be positive"],
    );
    refused(
        &body("ConvexHull(points: [(0,0,0),(1,0,0),(0,1,0),(1,1,0)])"),
        "1:19",
        &["span no volume"],
    );
    refused(&body("ConvexHull(points: [])"), "1:19", &["span no volume"]);
    refused(
        &body("HalfSpace(normal: (0, 0, 0))"),
        "1:37",
        &["the length of normal must be positive"],
    );
    refused(
        &body("HalfSpace()"),
        "1:19",
        &["a dynamic body needs a solid shape"],
    );
    refused(
        &body("HeightField(size: (1, 1), heights: [[0, 0], [0]])"),
        "1:63",
        &["the 2 samples of the first one, not 1"],
    );
    refused(
        &body("Compound(parts: [])"),
        "1:19",
        &["a compound needs a part"],
    );
    refused(
        &body("Compound(parts: [(shape: Ball(radius: -2))])"),
        "1:57",
        &["radius must be positive"],
    );
    let fixed = |shape: &str| format!("(bodies: [(kind: Fixed, shape: {shape})])");
    refused(
        &fixed("TriMesh(vertices: [(0,0,0)], triangles: [(0,1,2)])"),
        "1:32",
        &["triangle 0 names vertex 1"],
    );
    refused(
        &fixed("TriMesh(vertices: [(0,0,0)], triangles: [])"),
        "1:32",
        &["the mesh has no triangle"],
    );
    refused(
        "(bodies: [(mass: 1)])",
        "1:11",
        &["needs both a mass and an inertia"],
    );
}

#[test]
fn names_that_are_there_twice() {
    refused(
        "(bodies: [\n(name: \"a\", shape: Ball(radius: 1)),\n(name: \"a\", shape: Ball(radius: 1)),\n])",
        "3:8",
        &["body \"a\": bodies 0 and 1 have the same name"],
    );
}

#[test]
fn settings_solvers_and_sliders() {
    refused(
        "(settings: (substeps: 0))",
        "1:23",
        &["settings: substeps must be 1 to 1000, not 0"],
    );
    refused(
        "(settings: (step: -1))",
        "1:19",
        &["step must be in (0, 1] s"],
    );
    refused(
        "(settings: (gravity: (0, NaN, 0)))",
        "1:22",
        &["gravity must be finite"],
    );
    refused(
        "(settings: (prediction: -1))",
        "1:25",
        &["prediction must be 0 or more"],
    );
    refused(
        "(settings: (friction_law: Pyramid(sides: 5)))",
        "1:27",
        &["even number of sides"],
    );
    refused(
        "(settings: (friction_law: Rolling))",
        "1:27",
        &["friction_law must be Disc, Box or Pyramid", "rolling"],
    );
    refused(
        "(solver: (name: \"magic\"))",
        "1:17",
        &["there is no solver \"magic\"; there are: auto, colored-gs, gauss-seidel"],
    );
    refused(
        "(solver: (parameters: {\"magic\": 1}))",
        "1:33",
        &["has no parameter \"magic\"; it has:"],
    );
    refused(
        "(solver: (parameters: {\"work\": -5}))",
        "1:32",
        &["must be a number from"],
    );
    refused(
        "(solver: (budget: (iterations: 0)))",
        "1:32",
        &["iterations must be at least 1"],
    );
    refused(
        "(materials: {\"a\": (friction: -1)})",
        "1:30",
        &["material \"a\": friction must be from 0 to 1000000, not -1"],
    );
    refused(
        "(materials: {\"a\": (restitution: 2)})",
        "1:33",
        &["restitution must be from 0 to 1, not 2"],
    );
    refused(
        "(camera: (position: (0, 1, 0)))",
        "1:21",
        &["must not be the same point"],
    );
    refused(
        "(parameters: [(label: \"a\", path: \"no.where\", min: 0, max: 1)])",
        "1:34",
        &["a scene has no \"no\""],
    );
    refused(
        "(parameters: [(label: \"a\", path: \"name\", min: 0, max: 1)])",
        "1:34",
        &["does not lead to a number"],
    );
    refused(
        "(parameters: [(label: \"a\", path: \"settings.step\", min: 1, max: 0)])",
        "1:56",
        &["min must be below max"],
    );
}

/// Refused by counting, before anything is allocated.
#[test]
fn generators_without_measure() {
    for (generator, count) in [
        ("BallGrid(size: 1000)", "1000000000 bodies"),
        (
            "BallGrid(size: (4294967295, 4294967295, 4294967295))",
            "far too many bodies",
        ),
        (
            "BallGrid(size: 4294967295, layout: Cannonball)",
            "far too many bodies",
        ),
        ("BallPile(size: 4294967295)", "far too many bodies"),
        ("SphereBox(count: 1000000000)", "1000000005 bodies"),
        ("DiscPyramid(layers: 4294967295)", "bodies"),
        ("BoxStack(count: 1000000000)", "1000000000 bodies"),
        (
            "Wall(courses: 100000, bricks: 100000)",
            "10000050000 bodies",
        ),
        ("BoxPyramid(layers: 100000)", "5000050000 bodies"),
        ("DominoSpiral(count: 1000000000)", "1000000000 bodies"),
        ("CardHouse(storeys: 100000)", "bodies"),
        (
            "Scatter(count: 1000000000, shapes: [Ball(radius: 1)])",
            "1000000000 bodies",
        ),
    ] {
        let text = format!("(generators: [{generator}])");
        let name = &generator[..generator.find('(').expect("an argument")];
        let subject = format!("generator 0 ({name}): ");
        refused(
            &text,
            "1:15",
            &[&subject, count, "a scene has at most 2000000"],
        );
    }
    refused(
        "(generators: [BallGrid(size: 4294967296)])",
        "1:30",
        &["a size of 4294967296 is too large"],
    );
    refused(
        "(generators: [BallGrid(size: 0)])",
        "1:30",
        &["size must be at least 1"],
    );
    refused(
        "(generators: [BallGrid(size: 2, radius: -1)])",
        "1:41",
        &["generator 0 (BallGrid): radius"],
    );
    refused(
        "(generators: [Scatter(shapes: [])])",
        "1:31",
        &["at least one shape"],
    );
    refused(
        "(generators: [BoxStack(style: (material: \"x\"))])",
        "1:42",
        &["there is no material \"x\""],
    );
    // Two generators that only together are too large.
    let half = "BoxStack(count: 1100000)";
    refused(
        &format!("(generators: [{half}, {half}])"),
        "1:41",
        &["generator 1 (BoxStack): 2200000 bodies"],
    );
}

#[test]
fn meshes_that_are_missing_or_malformed() {
    let folder = std::env::temp_dir().join(format!("moreau-bad-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    write("bad.obj", "v 0 0 0\nv 0 one 0\n");
    write("empty.obj", "v 0 0 0\n");
    write("range.obj", "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 2 7\n");
    write("inf.obj", "v 0 0 0\nv inf 0 0\nv 0 0 1\nf 1 2 3\n");
    for (file, expected) in [
        ("missing.obj", "missing.obj cannot be read"),
        ("bad.obj", "bad.obj:2: it is not a good OBJ file"),
        ("empty.obj", "empty.obj has no face"),
        ("range.obj", "range.obj:4: it is not a good OBJ file"),
        ("inf.obj", "vertices must be finite, not inf"),
        (".", "cannot be read"),
    ] {
        let text = format!(
            "(bodies: [\n(name: \"hill\", kind: Fixed, shape: TriMeshFile(file: \"{file}\"))])"
        );
        let path = write("mesh.ron", &text);
        let error = Scene::load(&path)
            .and_then(|s| s.build())
            .expect_err(file)
            .to_string();
        assert!(
            error.starts_with(&format!("{}:2:", path.display())),
            "{error}"
        );
        assert!(
            error.contains("body \"hill\"") && error.contains(expected),
            "{error}"
        );
    }
    let error = library::open("no_such_scene")
        .expect_err("missing")
        .to_string();
    assert!(error.contains("there are: ball_grid_loose"), "{error}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_deeply_nested_file_is_refused_and_does_not_overflow_the_stack() {
    for open in [
        "(",
        "[",
        "{",
        "Some(",
        "(bodies: [(shape: Compound(parts: [(shape: ",
    ] {
        let error = Scene::parse(&open.repeat(100_000), "deep.ron").expect_err("nested");
        assert!(matches!(error, SceneError::Syntax { .. }), "{error}");
    }
    let parts = "Compound(parts: [(shape: ".repeat(30);
    let text = format!(
        "(bodies: [(shape: {parts}Ball(radius: 1){})])",
        ")])".repeat(30)
    );
    let _ = Scene::parse(&text, "deep.ron").and_then(|s| s.build());
}

/// Cuts a text into words, numbers, strings, white space and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '#') => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let this = kind(c);
        if at > start && (last != Some(this) || this == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = Some(this);
    }
    tokens.push(&text[start..]);
    tokens
}

/// What numbers are replaced by.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "NaN",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e-308",
    "4294967296",
    "4294967295",
    "18446744073709551616",
    "99999999999999999999999999",
    "0.5",
    "1e9",
    "1e-9",
    "-0.0",
    "1000000",
    "()",
    "\"1\"",
];

#[derive(Clone, Debug)]
pub enum Mutation {
    Delete(usize),
    Duplicate(usize),
    Replace(usize, usize),
    Number(usize, usize),
    SwapLines(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let any = any::<usize>;
    prop_oneof![
        1 => any().prop_map(Mutation::Delete),
        1 => any().prop_map(Mutation::Duplicate),
        2 => (any(), any()).prop_map(|(a, b)| Mutation::Replace(a, b)),
        12 => (any(), any()).prop_map(|(a, b)| Mutation::Number(a, b)),
        1 => (any(), any()).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
    ]
}

impl Mutation {
    /// Another way to draw one.
    pub fn draw(random: &mut Random) -> Self {
        let mut any = || random.below(usize::MAX);
        let [kind, a, b] = [any(), any(), any()];
        match kind % 17 {
            0 => Self::Delete(a),
            1 => Self::Duplicate(a),
            2 | 3 => Self::Replace(a, b),
            4 => Self::SwapLines(a, b),
            _ => Self::Number(a, b),
        }
    }
}

pub fn mutate(text: &str, mutation: &Mutation) -> String {
    let all = tokens(text);
    let is_word = |t: &str| !t.trim().is_empty();
    let words: Vec<usize> = (0..all.len()).filter(|k| is_word(all[*k])).collect();
    let numbers: Vec<usize> = (0..all.len())
        .filter(|k| all[*k].parse::<f64>().is_ok())
        .collect();
    let mut changed: Vec<&str> = all.clone();
    match *mutation {
        Mutation::Delete(k) if !words.is_empty() => changed[words[k % words.len()]] = "",
        Mutation::Duplicate(k) if !words.is_empty() => {
            let at = words[k % words.len()];
            changed.insert(at, all[at]);
        }
        Mutation::Replace(k, by) if !words.is_empty() => {
            changed[words[k % words.len()]] = all[words[by % words.len()]];
        }
        Mutation::Number(k, by) if !numbers.is_empty() => {
            changed[numbers[k % numbers.len()]] = NUMBERS[by % NUMBERS.len()];
        }
        Mutation::SwapLines(a, b) => {
            let mut lines: Vec<&str> = text.lines().collect();
            if !lines.is_empty() {
                let (a, b) = (a % lines.len(), b % lines.len());
                lines.swap(a, b);
            }
            return lines.join("\n");
        }
        _ => {}
    }
    changed.concat()
}

/// Scenes small enough to be built thousands of times.
const SMALL: &[&str] = &[
    "ball_grid_8",
    "ball_grid_cannonball",
    "box_stack",
    "wall",
    "house_of_cards",
    "domino_spiral",
    "newtons_cradle",
    "mixed_shapes",
    "incline",
    "rolling_ball",
    "disc_pyramid_loaded",
    "sphere_box_300",
];

/// Reads a scene, builds it within bounds, and takes a few steps.
fn live(text: &str) -> Result<(), SceneError> {
    let scene = Scene::parse(text, "mutated.ron")?;
    let mut world = scene.build_within(1000)?;
    assert!(world.bodies.len() <= 1000);
    // Steps of a monstrous budget say nothing about panics.
    let mut solver = scene.solver.clone();
    solver.budget.iterations = solver.budget.iterations.min(50);
    world.settings.substeps = world.settings.substeps.min(4);
    if world.bodies.len() < 200 {
        let mut simulation = Simulation::new(world, solver, 1).expect("checked");
        for _ in 0..3 {
            if simulation.step().is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Scenes with one to three mutations.
pub fn scenes(seeds: Range<u64>) {
    spoiled(seeds, |random| {
        let name = SMALL[random.below(SMALL.len())];
        let mut text = library::shipped_text(name).expect("shipped").to_owned();
        for _ in 0..=random.below(3) {
            text = mutate(&text, &Mutation::draw(random));
        }
        live(&text)
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Mutated scenes are parsed, built and stepped without a panic, within bounds.
    #[test]
    fn mutated_scenes_never_panic(
        which in 0..SMALL.len(),
        mutations in prop::collection::vec(mutation(), 1..3),
    ) {
        let mut text = library::shipped_text(SMALL[which]).expect("shipped").to_owned();
        for m in &mutations {
            text = mutate(&text, m);
        }
        let _ = live(&text);
    }

    /// Values given by paths are as harmless as those in files.
    #[test]
    fn set_never_panics(which in 0..SMALL.len(), path in "[a-z0-9_.]{0,12}", slot in 0..6_usize, value in 0..NUMBERS.len(), junk in ".{0,20}") {
        let mut scene = library::shipped(SMALL[which]).expect("good");
        let known = ["settings.step", "settings.gravity.y", "bodies.0.position.x", "generators.0.style", "solver.budget.tolerance"];
        let path = known.get(slot).copied().unwrap_or(&path);
        let _ = scene.set(path, NUMBERS[value]);
        let _ = scene.set(path, &junk);
        let harmless = scene.build_within(1000).is_ok() || scene.check().is_ok();
        prop_assert!(harmless);
    }
}

/// Magic, version, length and checksum.
const HEADER: usize = 28;

/// Fields that scenes once had are refused with what to write instead.
#[test]
fn fields_that_are_gone_are_named() {
    let joint = |field: &str| {
        format!(
            r#"(bodies: [(name: "a", shape: Ball(radius: 1))], joints: [(bodies: ("", "a"), kind: Hinge(), {field})])"#
        )
    };
    for (text, said) in [
        (
            "(settings: (joint_iterations: 3))".to_owned(),
            "`joint_iterations` is no more: each step solves",
        ),
        (
            "(settings: (geometric_stiffness: (factor: 0.5)))".to_owned(),
            "`geometric_stiffness` is no more: cables are stable",
        ),
        (
            joint("stabilisation: 0.2"),
            "`stabilisation` is no more: joints are closed within each step",
        ),
    ] {
        let error = Scene::parse(&text, "old").unwrap_err().to_string();
        assert!(error.starts_with("old:1:"), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

/// A file of the same kind as another one with other data, whose checksum is right.
fn sealed(like: &[u8], data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&like[..12], &length, &xxh3_64(data).to_le_bytes(), data].concat()
}

/// A simulation of few bodies, in which there is everything that a file can hold.
pub fn everything() -> Simulation {
    let text = r##"(
        settings: (friction_law: Pyramid(sides: 6)),
        solver: (budget: (iterations: 20)),
        materials: {"ice": (friction: 0.1, rolling: 0.01), "felt": (spin_radius: 0.1, compliance: 1e-6),
            "wood": (anisotropy: (direction: (1, 0, 0), across: 0.2))},
        bodies: [
            (name: "floor", kind: Fixed, shape: HalfSpace()),
            (name: "hill", kind: Fixed, position: (4, 0, 0), shape:
                TriMesh(vertices: [(0, 0, 0), (1, 0.1, 0), (0, 0, 1), (1, 0, 1)], triangles: [(0, 2, 1), (1, 2, 3)])),
            (name: "field", kind: Fixed, position: (8, 0, 0), shape:
                HeightField(size: (3, 3), heights: [[0, 0.1, 0], [0.1, 0, 0.2], [0, 0, 0]])),
            (name: "belt", kind: Kinematic, position: (12, 0, 0), velocity: (1, 0, 0), shape:
                Cuboid(half_extents: (1, 0.1, 1))),
            (name: "low", shape: Cuboid(half_extents: (0.5, 0.5, 0.5)), position: (0, 0.5, 0), material: "ice"),
            (name: "high", shape: Cuboid(half_extents: (0.5, 0.5, 0.5)), position: (0, 1.5, 0), color: "#ff8000"),
            (name: "ball", shape: Ball(radius: 0.2), position: (4.3, 0.25, 0.3), material: "felt"),
            (name: "pill", shape: Capsule(half_height: 0.2, radius: 0.1), position: (8, 0.4, 0), material: "wood"),
            (name: "cone", shape: Cone(half_height: 0.2, radius: 0.2), position: (12, 0.3, 0)),
            (name: "tin", shape: Cylinder(half_height: 0.2, radius: 0.2), position: (-3, 0.2, 0)),
            (name: "stone", position: (-5, 0.3, 0), shape:
                ConvexHull(points: [(0.3, 0, 0), (-0.3, 0, 0), (0, 0.3, 0), (0, -0.3, 0), (0, 0, 0.3), (0, 0, -0.3)])),
            (name: "hammer", position: (-8, 0.5, 0), shape: Compound(parts: [
                (shape: Ball(radius: 0.3)), (shape: Cuboid(half_extents: (0.1, 0.1, 0.5)), position: (0, 0, 0.6))])),
            (name: "arm", shape: Ball(radius: 0.3), position: (0, 5, 5)),
            (name: "sled", shape: Ball(radius: 0.3), position: (2, 5, 5)),
        ],
        joints: [
            (name: "pin", bodies: ("", "arm"), at: (0, 5, 4), axis: (1, 0, 0),
                kind: Hinge(limits: (-90, 90), motor: Position(stiffness: 100, damping: 10))),
            (name: "rail", bodies: ("", "sled"), at: (2, 5, 5), kind: Slider(), compliance: 1e-6, damping: 1),
            (name: "gear", kind: Gear(terms: [(joint: "pin", coefficient: 1), (joint: "rail", coefficient: 2)])),
            (name: "rope", bodies: ("arm", "sled"), kind: Distance(min: 0, max: 3)),
        ],
        drives: [(name: "turn", motors: [(joint: "pin")], script: [(0, 0), (1, 45)], range: (-90, 90), rate: 10)],
    )"##;
    let scene = Scene::parse(text, "everything").expect("a good scene");
    scene.simulation(1).expect("a good scene")
}

/// Somebody plays with it for a few steps.
fn played() -> Recording {
    let mut session = Session::new(everything());
    for _ in 0..3 {
        session.step().expect("a step");
    }
    session.record("everything").expect("a recording");
    let bodies = &session.simulation().world().bodies;
    let body = bodies.id(5).expect("a body");
    let settings = Box::new(session.simulation().world().settings);
    let inputs = [
        Input::Drag(Some(Drag {
            body,
            anchor: Vec3::new(0.1, 0.0, 0.0),
            target: Vec3::new(0.0, 4.0, 0.0),
        })),
        Input::Throw(Throw {
            start: Vec3::new(-3.0, 1.0, 0.0),
            velocity: Vec3::new(5.0, 0.0, 0.0),
            radius: 0.2,
        }),
        Input::Drive {
            index: 0,
            value: Some(0.5),
        },
        Input::Solver(session.simulation().solver_config().clone()),
        Input::Settings(settings),
        Input::Drag(None),
    ];
    for input in inputs {
        session.apply(input).expect("a good input");
        session.step().expect("a step");
    }
    session.stop_recording().expect("a recording")
}

/// Numbers that are seldom thought of.
const ODD: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    -1e308,
    1e-308,
    1e39,
    1e8,
    -1.0,
    0.0,
    -0.0,
    1e-12,
];

/// Changes bytes of `data` within a range in one of several ways.
pub fn spoil(data: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(2) {
        let at = random.below(data.len());
        let put = |data: &mut Vec<u8>, bytes: &[u8]| {
            for (to, byte) in data[at..].iter_mut().zip(bytes) {
                *to = *byte;
            }
        };
        match random.below(8) {
            0 => data[at] = random.below(256) as u8,
            1 => data[at] ^= 1 << random.below(8),
            2 | 3 => put(data, &ODD[random.below(ODD.len())].to_le_bytes()),
            // Lengths and indices: the largest ones of 32 and of 64 bits, and 0.
            4 => put(data, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
            5 => put(
                data,
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
            6 => data.insert(at, random.below(256) as u8),
            _ => {
                data.remove(at);
            }
        }
    }
}

/// Spoils files so often, reads and uses each, and fails where that panics. Both what is good all the same and
/// what is refused must be among them.
pub fn spoiled<E: std::fmt::Display>(
    seeds: Range<u64>,
    spoil_and_use: impl Fn(&mut Random) -> Result<(), E>,
) {
    let count = seeds.end - seeds.start;
    let mut good = 0;
    for seed in seeds {
        let mut random = Random::new(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| spoil_and_use(&mut random)));
        match outcome.unwrap_or_else(|_| panic!("seed {seed}")) {
            Ok(()) => good += 1,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    println!("{good} of {count} were read");
    assert!(
        good * 20 > count && good * 20 < count * 19,
        "{good} of {count} were read"
    );
}

/// Takes a few steps from a snapshot, or finds that they cannot be taken.
fn go_on(snapshot: &Snapshot, solver: &str) {
    let mut world = snapshot.world().clone();
    // A monstrous number of solves says nothing about panics.
    let monstrous = |s: &Settings| s.substeps > 4;
    if monstrous(&world.settings) {
        return;
    }
    world.time += 1.0;
    let mut config = SolverConfig::default();
    config.switch(solver);
    config.budget.iterations = 20;
    let mut simulation = Simulation::new(world, config, 1).expect("a good solver");
    simulation.restore(snapshot);
    for _ in 0..3 {
        if simulation.step().is_err() {
            break;
        }
    }
    simulation.world().state_hash();
}

#[test]
fn spoiled_snapshots_with_right_checksums_never_panic() {
    snapshots(0..6000);
}

pub fn snapshots(seeds: Range<u64>) {
    let mut simulation = everything();
    for _ in 0..3 {
        simulation.step().expect("a step");
    }
    let bytes = simulation.snapshot().to_bytes();
    let (world, solver, state): (Vec<u8>, String, Vec<u8>) =
        postcard::from_bytes(&bytes[HEADER..]).expect("three parts");
    spoiled(seeds, |random| {
        let (mut world, mut state) = (world.clone(), state.clone());
        if random.below(8) == 0 {
            spoil(&mut state, random);
        } else {
            let mut data = world.split_off(HEADER);
            spoil(&mut data, random);
            world = sealed(&world, &data);
        }
        let data = postcard::to_allocvec(&(world, &solver, state)).expect("plain data");
        let snapshot = Snapshot::from_bytes(&sealed(&bytes, &data))?;
        go_on(&snapshot, ["colored-gs", "bpp", "nncg"][random.below(3)]);
        Ok::<_, FileError>(())
    });
}

#[test]
fn spoiled_recordings_with_right_checksums_never_panic() {
    recordings(0..3000);
}

pub fn recordings(seeds: Range<u64>) {
    let bytes = played().to_bytes();
    let data = &bytes[HEADER..];
    // The state within was spoiled above: here all around it is.
    let begin = data
        .windows(8)
        .position(|w| w == b"MOREAUSS")
        .expect("a snapshot");
    let length = u64::from_le_bytes(data[begin + 12..begin + 20].try_into().expect("8 bytes"));
    let end = begin + HEADER + length as usize;
    spoiled(seeds, |random| {
        let (mut before, mut behind) = (data[..begin].to_vec(), data[end..].to_vec());
        spoil(
            if random.below(3) == 0 {
                &mut before
            } else {
                &mut behind
            },
            random,
        );
        let changed = [&before, &data[begin..end], &behind].concat();
        let mut recording = Recording::from_bytes(&sealed(&bytes, &changed))?;
        recording.solver.budget.iterations = recording.solver.budget.iterations.min(20);
        let mut replay = Replay::new(&recording, 1).expect("a good solver");
        while let Some(Ok(_)) = replay.step() {}
        Ok::<_, FileError>(())
    });
}

#[test]
fn spoiled_problems_with_right_checksums_never_panic() {
    problems_as_stored(0..3000);
}

pub fn problems_as_stored(seeds: Range<u64>) {
    let mut simulation = everything();
    for _ in 0..3 {
        simulation.step().expect("a step");
    }
    let stored = StoredProblem {
        origin: "everything".into(),
        problem: simulation.problem().clone(),
        start: simulation.warm_start().to_vec(),
        reach: simulation.world().bodies.reach(),
    };
    let bytes = stored.to_bytes();
    let budget = Budget {
        iterations: 20,
        ..Budget::default()
    };
    spoiled(seeds, |random| {
        let mut data = bytes[HEADER..].to_vec();
        spoil(&mut data, random);
        let read = StoredProblem::from_bytes(&sealed(&bytes, &data))?;
        let solver = ["colored-gs", "bpp", "nncg", "jacobi"][random.below(4)];
        let config = problems::config(solver, budget);
        let (lambda, ..) = problems::solve(&config, &read.problem, false);
        problems::residual_of(&read.problem, &lambda);
        Ok::<_, FileError>(())
    });
}

/// A compound is read by a function that calls itself: a file must not say how often.
#[test]
fn shapes_nested_without_end_are_refused_and_do_not_overflow_the_stack() {
    let compound: Geometry =
        postcard::from_bytes(&postcard::to_allocvec(&hammer()).expect("plain data"))
            .expect("one level is fine");
    assert_eq!(compound, hammer());
    let once = postcard::to_allocvec(&hammer()).expect("plain data");
    let bytes = everything().world().to_bytes();
    let at = bytes
        .windows(once.len())
        .position(|w| w == once)
        .expect("a compound");
    let nested = once[..2].repeat(1_000_000);
    let data = [&bytes[HEADER..at], &nested, &bytes[at..]].concat();
    let error = World::from_bytes(&sealed(&bytes, &data)).expect_err("nested shapes");
    assert!(
        error.to_string().starts_with("the snapshot is damaged: "),
        "{error}"
    );
    // One more is already too much, and what follows is read as ever.
    let twice = [&once[..2], &once, &[0; 64]].concat();
    postcard::take_from_bytes::<Geometry>(&twice).expect_err("a compound in a compound");
    postcard::from_bytes::<Geometry>(&once).expect("one level is still fine");
}

/// The compound of [`everything`].
fn hammer() -> Geometry {
    let world = everything().world().clone();
    let named = world
        .bodies
        .name
        .iter()
        .position(|n| n == "hammer")
        .expect("a body");
    world.bodies.shape[named]
        .as_ref()
        .expect("a shape")
        .geometry()
        .clone()
}

/// A length that no file is long enough for is refused before memory is asked for.
#[test]
fn lengths_of_gigabytes_are_refused() {
    let bytes = everything().world().to_bytes();
    let data = &bytes[HEADER..];
    for length in [u64::from(u32::MAX), 1 << 40, u64::MAX] {
        let claimed = postcard::to_allocvec(&length).expect("a number");
        // The world's first field is the list of positions.
        let first = [&claimed, &data[1..]].concat();
        let error = World::from_bytes(&sealed(&bytes, &first)).expect_err("too long");
        assert!(error.to_string().contains("damaged"), "{error}");
        for kind in [
            Snapshot::from_bytes(&sealed(&everything().snapshot().to_bytes(), &claimed)).err(),
            Recording::from_bytes(&sealed(&played().to_bytes(), &claimed)).err(),
        ] {
            assert!(matches!(kind, Some(FileError::Damaged(..))), "{kind:?}");
        }
    }
}

#[test]
fn recorded_inputs_that_cannot_be_are_refused_or_harmless() {
    let bytes = played().to_bytes();
    type Parts = (
        String,
        String,
        Vec<u8>,
        Option<Drag>,
        Vec<(Vec<Input>, u64)>,
    );
    let with = |input: Input| {
        let mut parts: Parts = postcard::from_bytes(&bytes[HEADER..]).expect("five parts");
        parts.4[1].0.push(input);
        let data = postcard::to_allocvec(&parts).expect("plain data");
        Recording::from_bytes(&sealed(&bytes, &data))
    };
    let throw = |radius: f64, x: f64, speed: f64| {
        Input::Throw(Throw {
            start: Vec3::new(x, 9.0, 0.0),
            velocity: Vec3::new(speed, 0.0, 0.0),
            radius,
        })
    };
    let settings = |change: fn(&mut Settings)| {
        let mut settings = Box::new(Settings::default());
        change(&mut settings);
        Input::Settings(settings)
    };
    let solver = |change: fn(&mut SolverConfig)| {
        let mut config = SolverConfig::default();
        change(&mut config);
        Input::Solver(config)
    };
    for (input, expected) in [
        (throw(f64::NAN, 0.0, 0.0), "radius must be above 0"),
        (throw(-1.0, 0.0, 0.0), "radius must be above 0"),
        (throw(1.0, f64::INFINITY, 0.0), "start must be finite"),
        (throw(1.0, 1e300, 0.0), "start must be within ±1e40"),
        (throw(1.0, 0.0, f64::NAN), "velocity must be finite"),
        (settings(|s| s.step = f64::NAN), "step must be in (0, 1] s"),
        (
            settings(|s| s.gravity.x = f64::INFINITY),
            "gravity must be finite",
        ),
        (
            solver(|c| c.name = "magic".into()),
            "there is no solver \"magic\"",
        ),
        (solver(|c| c.budget.time = 1.0), "speed of the machine"),
        (solver(|c| c.budget.tolerance = f64::NAN), "tolerance"),
    ] {
        let message = with(input).expect_err(expected).to_string();
        let begin = "the recording is damaged: before its step 2: ";
        assert!(
            message.starts_with(begin) && message.contains(expected),
            "{message}"
        );
    }
    let body = everything().world().bodies.id(5).expect("a body");
    let drag = |slot: u32, x: f64| {
        Input::Drag(Some(Drag {
            body: moreau::world::BodyId { slot, ..body },
            anchor: Vec3::new(x, 0.0, 0.0),
            target: Vec3::zeros(),
        }))
    };
    let drive = |index: u32, value: f64| Input::Drive {
        index,
        value: Some(value),
    };
    for input in [
        drag(5, f64::NAN),
        drag(u32::MAX, 0.0),
        drag(0, 0.0),
        drive(u32::MAX, 0.0),
        drive(0, f64::NAN),
        drive(0, f64::INFINITY),
        throw(1e30, 1e39, -1e39),
    ] {
        let recording = with(input).expect("what it asks for can be ignored");
        let mut replay = Replay::new(&recording, 1).expect("a good solver");
        while let Some(Ok(_)) = replay.step() {}
    }
}
