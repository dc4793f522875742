//! Whatever a scene file holds, the answer is a scene or a clear message, never a panic.

use std::path::PathBuf;

use moreau::scene::{Scene, SceneError, library};
use proptest::prelude::*;

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
        (
            between("stabilisation: 2"),
            "3:48",
            &["stabilisation must be from 0 to 1"],
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
        &["friction_law must be Disc, Square or Pyramid", "rolling"],
    );
    refused(
        "(solver: (name: \"magic\"))",
        "1:17",
        &["there is no solver \"magic\"; there are: colored-gs, gauss-seidel"],
    );
    refused(
        "(solver: (parameters: {\"magic\": 1}))",
        "1:33",
        &["has no parameter \"magic\"; it has:"],
    );
    refused(
        "(solver: (parameters: {\"alpha\": 5}))",
        "1:33",
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
enum Mutation {
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

fn mutate(text: &str, mutation: &Mutation) -> String {
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
        if let Ok(scene) = Scene::parse(&text, "mutated.ron")
            && let Ok(world) = scene.build_within(1000)
        {
            prop_assert!(world.bodies.len() <= 1000);
            // Steps of a monstrous budget say nothing about panics.
            let mut solver = scene.solver.clone();
            solver.budget.iterations = solver.budget.iterations.min(50);
            let mut settings = world.settings;
            settings.substeps = settings.substeps.min(4);
            if world.bodies.len() < 200 {
                let mut world = world;
                world.settings = settings;
                let mut simulation =
                    moreau::step::Simulation::new(world, solver, 1).expect("checked");
                for _ in 0..3 {
                    if simulation.step().is_err() {
                        break;
                    }
                }
            }
        }
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
