//! Substeps whose contacts are searched for once a step, and moved along in between.

use moreau::scene::{Scene, library};
use moreau::step::Simulation;

fn run(s: &mut Simulation, seconds: usize) {
    for _ in 0..60 * seconds {
        s.step().unwrap_or_else(|e| panic!("{e}"));
    }
}

/// How far the cubes of a stack of ten move in a minute (m).
fn wandered(substeps: &str, iterations: &str, detection: &str) -> f64 {
    let mut scene = library::shipped("box_stack").unwrap();
    scene
        .set_all(&[
            ("solver.name", "colored-gs"),
            ("solver.budget.iterations", iterations),
            ("settings.substeps", substeps),
            ("settings.detection", detection),
        ])
        .unwrap();
    let mut s = scene.simulation(1).unwrap();
    let begin = s.world().bodies.position.clone();
    run(&mut s, 60);
    let now = &s.world().bodies.position;
    let moved = now.iter().zip(&begin).map(|(a, b)| (a - b).norm());
    moved.fold(0.0, f64::max)
}

/// Four substeps of 12 sweeps hold ten cubes that one step of 48 sweeps loses, wherever contacts are searched for.
#[test]
fn small_steps_hold_a_stack() {
    let [large, small, once] = [
        ("1", "48", "Substep"),
        ("4", "12", "Substep"),
        ("4", "12", "Step"),
    ]
    .map(|(substeps, iterations, detection)| wandered(substeps, iterations, detection));
    println!("1 x 48: {large:.1e} m, 4 x 12: {small:.1e} m, with one detection {once:.1e} m");
    assert!(once < 2e-3 && once < 1.2 * small, "{once} m");
    assert!(large > 10.0 * once, "{large} m in one step");
}

/// A shape on a plane, 0.5 m high, with these velocities.
fn on_a_plane(shape: &str, velocities: &str, settings: &str) -> Simulation {
    let text = format!(
        "(name: \"rolls\", settings: ({settings}), materials: {{\"default\": (friction: 0.5)}}, bodies: [\
         (kind: Fixed, shape: HalfSpace(normal: (0, 1, 0))),\
         (shape: {shape}, position: (0, 0.5, 0), {velocities})])"
    );
    let scene = Scene::parse(&text, "rolls.ron").unwrap_or_else(|e| panic!("{e}"));
    scene.simulation(1).unwrap()
}

/// What rolls goes on as it is: normals and arms that stay are those of a rolling body.
#[test]
fn what_rolls_goes_on_rolling() {
    let settings = "substeps: 8, detection: Step";
    let turned = "rotation: Euler(degrees: (90, 0, 0)),";
    let rolls = "velocity: (10, 0, 0), angular_velocity: (0, 0, -20)";
    for (shape, turned) in [
        ("Ball(radius: 0.5)", ""),
        ("Cylinder(half_height: 0.4, radius: 0.5)", turned),
    ] {
        let mut s = on_a_plane(shape, &format!("{turned} {rolls}"), settings);
        let mut highest: f64 = 0.0;
        for _ in 0..600 {
            run_one(&mut s);
            highest = highest.max((s.world().bodies.position[1].y - 0.5).abs());
        }
        let v = s.world().bodies.velocity[1].linear;
        println!("{shape}: {highest:.1e} m off, {v:?}");
        assert!(highest < 1e-4, "{shape}: {highest} m off the plane");
        assert!((v.x - 10.0).abs() < 1e-3, "{shape}: {v:?}");
    }
}

fn run_one(s: &mut Simulation) {
    s.step().unwrap_or_else(|e| panic!("{e}"));
}

/// A box that slides stops after v²/(2 μ g), and one that is thrown at the plane does not go through it.
#[test]
fn boxes_slide_and_land_as_they_should() {
    for detection in ["Substep", "Step"] {
        let settings = format!("substeps: 4, detection: {detection}");
        let cube = "Cuboid(half_extents: (0.5, 0.5, 0.5))";
        let mut s = on_a_plane(cube, "velocity: (3, 0, 0)", &settings);
        run(&mut s, 2);
        let x = s.world().bodies.position[1].x;
        let wanted = 9.0 / (2.0 * 0.5 * 9.81);
        assert!(
            (x - wanted).abs() < 0.01 * wanted,
            "{detection}: {x}, not {wanted} m"
        );

        let thrown = "velocity: (3, -200, 1), angular_velocity: (9, 3, 7)";
        let mut s = on_a_plane(cube, thrown, &settings);
        s.world_mut().bodies.position[1].y = 20.0;
        let mut lowest = f64::INFINITY;
        for _ in 0..600 {
            run_one(&mut s);
            lowest = lowest.min(s.world().bodies.position[1].y);
        }
        println!("{detection}: lowest {lowest} m");
        assert!(lowest > 0.4, "{detection}: {lowest} m");
        let energy = s.world().bodies.kinetic_energy();
        assert!(energy < 1e-6, "{detection}: {energy} J");
    }
}
