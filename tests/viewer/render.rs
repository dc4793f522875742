//! A scene drawn off screen: the picture shows the bodies where they are, and in their colours.
//!
//! Without a graphics adapter (a software one will do) there is nothing to test; where
//! `MOREAU_REQUIRE_RENDER=1` is set, that is a failure.

use image::RgbImage;
use moreau::math::{Pose, Vec3 as Metres};
use moreau::scene::{Camera, library};
use moreau::solve::SolverConfig;
use moreau::step::Simulation;
use moreau::viewer::{Drawing, Offscreen, RenderError};
use moreau::world::joint::JointKind;
use moreau::world::{BodyKind, BodySpec, Geometry, JointSpec, Settings, Shape, World};

const SIZE: (u32, u32) = (320, 200);
const RED: [f32; 3] = [0.7, 0.02, 0.02];
const GREEN: [f32; 3] = [0.02, 0.6, 0.05];
const BLUE: [f32; 3] = [0.03, 0.08, 0.8];

fn body(geometry: Geometry, kind: BodyKind, x: f64, color: [f32; 3]) -> BodySpec {
    BodySpec {
        kind,
        pose: Pose::translation(x, 0.5, 0.0),
        shape: Some(Shape::new(geometry).expect("a usable shape")),
        color: Some(color),
        ..BodySpec::default()
    }
}

/// From left to right: a red ball, a green box, a blue capsule, on grey ground.
fn three_bodies() -> Simulation {
    let mut world = World::new(Settings::default());
    let ground = Geometry::HalfSpace {
        normal: Metres::y(),
    };
    let specs = [
        BodySpec {
            pose: Pose::IDENTITY,
            ..body(ground, BodyKind::Fixed, 0.0, [0.3; 3])
        },
        body(Geometry::Ball { radius: 0.5 }, BodyKind::Dynamic, -2.0, RED),
        body(
            Geometry::Cuboid {
                half_extents: Metres::repeat(0.5),
            },
            BodyKind::Dynamic,
            0.0,
            GREEN,
        ),
        body(
            Geometry::Capsule {
                half_height: 0.25,
                radius: 0.25,
            },
            BodyKind::Dynamic,
            2.0,
            BLUE,
        ),
    ];
    for spec in specs {
        world.add_body(spec).expect("a usable body");
    }
    // Its colours are one of the layers.
    let mut solver = SolverConfig::default();
    solver.switch("colored-gs");
    Simulation::new(world, solver, 1).expect("a solver of the list")
}

/// A blue ball on the right, held by a ball joint to a point on the left that it misses by `error` (m).
fn held_ball(error: f64) -> Simulation {
    let mut world = World::new(Settings {
        gravity: Metres::zeros(),
        ..Settings::default()
    });
    let ball = body(Geometry::Ball { radius: 0.3 }, BodyKind::Dynamic, 2.0, BLUE);
    let ball = world.add_body(ball).expect("a usable body");
    let point = Pose::translation(-2.0, 0.5, 0.0);
    let mut joint = JointSpec::new(JointKind::Spherical, [None, Some(ball)], point);
    joint.frames[1].position.x += error;
    world.add_joint(joint).expect("a usable joint");
    let mut simulation =
        Simulation::new(world, SolverConfig::default(), 1).expect("the default solver");
    simulation.step().expect("a step");
    simulation
}

/// A red rod of 2 mm, 3 m long and a little tilted: less than a third of a pixel thick where it is seen from.
fn thin_rod() -> Simulation {
    let mut world = World::new(Settings::default());
    let cylinder = Geometry::Cylinder {
        half_height: 1.5,
        radius: 0.001,
    };
    let rod = body(cylinder, BodyKind::Fixed, 0.0, RED);
    let turn = moreau::math::Quat::from_axis_angle(&Metres::z_axis(), 1.4);
    let pose = Pose::new(Metres::new(0.0, 0.5, 0.0), turn);
    world.add_body(BodySpec { pose, ..rod }).expect("a body");
    Simulation::new(world, SolverConfig::default(), 1).expect("the default solver")
}

/// Whether every column of the middle of a picture has a pixel that is red.
fn is_unbroken(picture: &RgbImage) -> bool {
    let middle = SIZE.0 / 2 - 30..SIZE.0 / 2 + 30;
    let is_red = |x, y| {
        let [r, g, b] = picture.get_pixel(x, y).0.map(i32::from);
        r > g.max(b) + 40
    };
    middle
        .into_iter()
        .all(|x| (0..SIZE.1).any(|y| is_red(x, y)))
}

/// The layers over and instead of the bodies, of three bodies after some steps.
fn layers_show_and_hide(screen: &mut Offscreen, simulation: &Simulation) {
    let mut draw = |drawing: Drawing| {
        screen.show(drawing);
        screen.draw(simulation).expect("a picture")
    };
    let plain = draw(Drawing::default());
    let edges = draw(Drawing {
        wireframe: true,
        ..Drawing::default()
    });
    let [solid, thin] = [&plain, &edges].map(|picture| share(picture, 1, 1));
    assert!(
        thin > 1e-3 && thin < 0.5 * solid,
        "edges cover {thin:.4}, surfaces {solid:.4}"
    );

    let forces = |xray| Drawing {
        normal_forces: true,
        xray,
        ..Drawing::default()
    };
    let [seen, hidden] = [true, false].map(|xray| share(&draw(forces(xray)), 1, 0));
    assert!(
        hidden < seen,
        "arrows within the box: {seen:.4} with X-ray, {hidden:.4} without"
    );

    let drowned = draw(Drawing {
        sea: Some(1.2),
        ..Drawing::default()
    });
    let [dry, wet] = [&plain, &drowned].map(|picture| share(picture, 1, 1));
    assert!(wet < 0.25 * dry, "{dry:.4} dry, {wet:.4} under water");

    for layer in [
        Drawing {
            boxes: true,
            ..Drawing::default()
        },
        Drawing {
            centers: true,
            ..Drawing::default()
        },
        Drawing {
            colors: true,
            ..Drawing::default()
        },
    ] {
        assert!(draw(layer) != plain, "{layer:?} shows nothing");
    }
}

/// Bodies in the colour of how their islands were solved: no exact one is green.
fn islands_show_how_they_were_solved(screen: &mut Offscreen, simulation: &mut Simulation) {
    let auto = SolverConfig::default();
    simulation.set_solver(auto).expect("the default solver");
    simulation.step().expect("a step");
    let [own, solved] = [false, true].map(|methods| {
        screen.show(Drawing {
            methods,
            ..Drawing::default()
        });
        share(&screen.draw(simulation).expect("a picture"), 1, 1)
    });
    assert!(own > 0.01 && solved < 0.1 * own, "{own:.4} and {solved:.4}");
}

/// The train in the colours of its parts, with its nine couplings in white; nothing of that with a solver without parts.
fn parts_and_what_couples_them_show(screen: &mut Offscreen) {
    let scene = library::shipped("train").expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    screen.look(scene.camera);
    let parts = Drawing {
        parts: true,
        ..Drawing::default()
    };
    let couplings = Drawing {
        couplings: true,
        ..Drawing::default()
    };
    let mut draw = |simulation: &mut Simulation, name: &str| {
        let config = SolverConfig {
            name: name.into(),
            ..SolverConfig::default()
        };
        simulation.set_solver(config).expect("a solver");
        simulation.step().expect("a step");
        [Drawing::default(), parts, couplings].map(|drawing| {
            screen.show(drawing);
            screen.draw(simulation).expect("a picture")
        })
    };
    let [plain, by_part, by_coupling] = draw(&mut simulation, "auto");
    assert!(
        plain == by_part && plain == by_coupling,
        "auto has no parts"
    );
    let [plain, by_part, by_coupling] = draw(&mut simulation, "hybrid");
    assert!(plain != by_part, "parts have no colours");
    let white = |picture: &RgbImage| {
        let pixels = picture.pixels();
        pixels.filter(|p| p.0.iter().all(|c| *c > 245)).count()
    };
    let found = [&plain, &by_coupling].map(white);
    assert!(found[1] > found[0] + 20, "{found:?} white pixels");
}

/// The off-screen renderer, or nothing where there is no adapter and none is required.
fn screen() -> Option<Offscreen> {
    match Offscreen::new(SIZE) {
        Ok(mut screen) => {
            screen.look(Camera {
                position: [0.0, 1.5, 6.0],
                target: [0.0, 0.5, 0.0],
                ..Camera::default()
            });
            Some(screen)
        }
        Err(RenderError::NoAdapter(error)) => {
            let required = std::env::var("MOREAU_REQUIRE_RENDER").is_ok_and(|v| v == "1");
            assert!(!required, "MOREAU_REQUIRE_RENDER=1, but {error}");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Share of the pixels of the k-th of three columns in which one channel outshines both others.
fn share(picture: &RgbImage, column: u32, channel: usize) -> f64 {
    let width = SIZE.0 / 3;
    let mut count = 0;
    for x in column * width..(column + 1) * width {
        for y in 0..SIZE.1 {
            let p = picture.get_pixel(x, y).0.map(i32::from);
            let others = (0..3).filter(|c| *c != channel).map(|c| p[c]);
            count += i32::from(others.max().is_some_and(|other| p[channel] > other + 60));
        }
    }
    f64::from(count) / f64::from(width * SIZE.1)
}

// One test, since each application sets up process-wide thread pools and logging.
#[test]
fn pictures_show_the_bodies_and_follow_them() {
    let Some(mut screen) = screen() else {
        return;
    };
    let mut simulation = three_bodies();
    let first = screen.draw(&simulation).expect("a picture");
    assert_eq!(first.dimensions(), SIZE);
    for (column, name) in ["ball", "box", "capsule"].iter().enumerate() {
        // Each covers a good part of its column, and nothing of the others'.
        let own = share(&first, column as u32, column);
        assert!(
            (0.01..0.7).contains(&own),
            "the {name} covers {own:.3} of its column"
        );
        for other in (0..3).filter(|c| *c as usize != column) {
            let stray = share(&first, other, column);
            assert!(
                stray < 0.01,
                "the {name} covers {stray:.3} of column {other}"
            );
        }
    }

    // The same state gives the same picture.
    let again = screen.draw(&simulation).expect("a picture");
    assert!(first == again, "two pictures of one state differ");

    // A body that is lifted leaves its place.
    simulation.world_mut().bodies.position[1] += Metres::new(0.0, 50.0, 0.0);
    let lifted = screen.draw(&simulation).expect("a picture");
    assert!(share(&lifted, 0, 0) < 0.01, "the ball is still there");

    // Forces are drawn in front of everything.
    for _ in 0..5 {
        simulation.step().expect("a step");
    }
    let plain = share(&screen.draw(&simulation).expect("a picture"), 1, 0);
    let forces = Drawing {
        normal_forces: true,
        ..Drawing::default()
    };
    screen.show(forces);
    let arrows = share(&screen.draw(&simulation).expect("a picture"), 1, 0);
    assert!(
        arrows > plain,
        "red arrows on the green box: {arrows:.4} against {plain:.4}"
    );

    layers_show_and_hide(&mut screen, &simulation);
    islands_show_how_they_were_solved(&mut screen, &mut simulation);
    screen.show(Drawing::default());
    let rod = screen.draw(&thin_rod()).expect("a picture");
    assert!(is_unbroken(&rod), "a thin rod is dashed");

    // Joints are drawn from the centre of mass to the anchor, in the colour of their error.
    let left = |screen: &mut Offscreen, error: f64| {
        let picture = screen.draw(&held_ball(error)).expect("a picture");
        blue_and_yellow(&picture)
    };
    screen.show(Drawing::default());
    assert_eq!(left(&mut screen, 0.0), [0; 2], "there is nothing there");
    let joints = Drawing {
        joints: true,
        ..Drawing::default()
    };
    screen.show(joints);
    let [whole, apart] = [0.0, 0.05].map(|error| left(&mut screen, error));
    assert!(whole[0] > 20 && whole[1] == 0, "{whole:?}");
    assert!(apart[0] == 0 && apart[1] > 20, "{apart:?}");

    parts_and_what_couples_them_show(&mut screen);
}

/// Pixels of the left third that are blue, as joints are that hold, and yellow, as those are that do not.
fn blue_and_yellow(picture: &RgbImage) -> [usize; 2] {
    let places = (0..SIZE.0 / 3).flat_map(|x| (0..SIZE.1).map(move |y| (x, y)));
    let pixels = places.map(|(x, y)| picture.get_pixel(x, y).0.map(i32::from));
    pixels.fold([0; 2], |[blue, yellow], [r, g, b]| {
        let is_blue = b > r.max(g) + 60;
        let is_yellow = r.min(g) > b + 40;
        [blue + usize::from(is_blue), yellow + usize::from(is_yellow)]
    })
}
