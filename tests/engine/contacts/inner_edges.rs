//! Bodies that slide, roll and bounce over floors made of many pieces, which are to them what one plate is.

use crate::common::*;
use moreau::math::{Pose, Quat, Rotation, Vec3};
use moreau::solve::SolverConfig;
use moreau::step::Simulation;
use moreau::world::{BodyId, BodyKind, BodySpec, Geometry, Part, Settings, World};

/// A floor whose top is the plane y = 0, from x = −1 m to 30 m.
#[derive(Clone, Copy, Debug)]
enum Floor {
    Plate,
    /// Boxes side by side.
    Tiles,
    Compound,
    Mesh,
    Field,
}

const FLOORS: [Floor; 4] = [Floor::Tiles, Floor::Compound, Floor::Mesh, Floor::Field];

fn box_of(x: f64, y: f64, z: f64) -> Geometry {
    Geometry::Cuboid {
        half_extents: Vec3::new(x, y, z),
    }
}

/// The pieces of a floor in its own frame.
fn pieces(floor: Floor) -> Vec<(Geometry, Vec3)> {
    let tiles = || {
        let columns = (0..62).flat_map(|k| (0..8).map(move |l| (f64::from(k), f64::from(l))));
        columns.map(|(k, l)| Vec3::new(0.5 * k - 0.75, -0.5, 0.5 * l - 1.75))
    };
    let tile = box_of(0.25, 0.5, 0.25);
    match floor {
        Floor::Plate => vec![(box_of(30.0, 0.5, 2.0), Vec3::new(14.0, -0.5, 0.0))],
        Floor::Tiles => tiles().map(|at| (tile.clone(), at)).collect(),
        Floor::Compound => {
            let part = |position| Part {
                shape: tile.clone(),
                position,
                rotation: Rotation::default(),
            };
            let parts = tiles().map(part).collect();
            vec![(Geometry::Compound { parts }, Vec3::zeros())]
        }
        Floor::Mesh => {
            let corner = |k: u32| {
                let z = if k.is_multiple_of(2) { -2.0 } else { 2.0 };
                Vec3::new(0.5 * f64::from(k / 2) - 1.0, 0.0, z)
            };
            let cell = |k: u32| {
                [
                    [2 * k, 2 * k + 1, 2 * k + 2],
                    [2 * k + 1, 2 * k + 3, 2 * k + 2],
                ]
            };
            let mesh = Geometry::TriMesh {
                vertices: (0..126).map(corner).collect(),
                triangles: (0..62).flat_map(cell).collect(),
            };
            vec![(mesh, Vec3::zeros())]
        }
        Floor::Field => {
            let field = Geometry::HeightField {
                size: [62.0, 4.0],
                heights: vec![vec![0.0; 125]; 9],
            };
            vec![(field, Vec3::zeros())]
        }
    }
}

/// What moves over the floor.
struct Mover {
    geometry: Geometry,
    turn: Quat,
    height: f64,
    rolls: bool,
}

/// Where a body that starts with a speed along x, somewhat askew, and `above` the floor is after a second, and how high it was.
fn run(
    floor: Floor,
    mover: &Mover,
    [speed, above, restitution]: [f64; 3],
    tilt: Quat,
) -> (Vec3, f64) {
    let settings = Settings {
        gravity: tilt * Vec3::new(0.0, -G, 0.0),
        ..Settings::default()
    };
    let mut world = world(settings, 0.3, restitution);
    for (geometry, at) in pieces(floor) {
        let spec = BodySpec {
            kind: BodyKind::Fixed,
            shape: shape(geometry),
            pose: Pose::new(tilt * at, tilt),
            ..BodySpec::default()
        };
        add(&mut world, spec);
    }
    let id = thrown(&mut world, mover, [speed, above], tilt);
    let slot = world.bodies.slot(id).expect("a body");
    let mut simulation = Simulation::new(world, SolverConfig::default(), 1).expect("the default");
    let mut highest = f64::NEG_INFINITY;
    for _ in 0..60 {
        simulation.step().expect("a step");
        let at = tilt.inverse() * simulation.world().bodies.position[slot];
        highest = highest.max(at.y);
    }
    (
        tilt.inverse() * simulation.world().bodies.position[slot],
        highest,
    )
}

fn thrown(world: &mut World, mover: &Mover, [speed, above]: [f64; 2], tilt: Quat) -> BodyId {
    let askew = Quat::from_scaled_axis(Vec3::y() * 0.05);
    let spin = if mover.rolls {
        -speed / mover.height
    } else {
        0.0
    };
    let spec = BodySpec {
        shape: shape(mover.geometry.clone()),
        pose: Pose::new(
            tilt * Vec3::new(0.3, mover.height + above, 0.1),
            tilt * askew * mover.turn,
        ),
        linear_velocity: tilt * askew * Vec3::new(speed, 0.0, 0.0),
        angular_velocity: tilt * askew * Vec3::new(0.0, 0.0, spin),
        mass: Some(1.0),
        ..BodySpec::default()
    };
    add(world, spec)
}

fn movers() -> Vec<Mover> {
    let lying = Quat::from_scaled_axis(Vec3::x() * std::f64::consts::FRAC_PI_2);
    let mover = |geometry, turn, height, rolls| Mover {
        geometry,
        turn,
        height,
        rolls,
    };
    let cylinder = |half_height, radius| Geometry::Cylinder {
        half_height,
        radius,
    };
    let (half_height, radius) = (0.1, 0.1);
    vec![
        mover(Geometry::Ball { radius }, Quat::identity(), 0.1, true),
        mover(
            box_of(0.2, 0.1, 0.15),
            Quat::from_scaled_axis(Vec3::y() * 0.4),
            0.1,
            false,
        ),
        mover(box_of(0.6, 0.1, 0.55), Quat::identity(), 0.1, false),
        mover(cylinder(0.1, 0.2), Quat::identity(), 0.1, false),
        mover(cylinder(0.1, 0.1), lying, 0.1, true),
        mover(
            Geometry::Capsule {
                half_height,
                radius,
            },
            lying,
            0.1,
            true,
        ),
    ]
}

/// A second at 5 m/s: without a hop, and as far as on one plate.
#[test]
fn pieces_of_a_floor_are_one_floor() {
    let tilted = Quat::from_scaled_axis(Vec3::new(0.3, -0.7, 0.2));
    for floor in FLOORS {
        for (k, mover) in movers().iter().enumerate() {
            for tilt in [Quat::identity(), tilted] {
                let (expected, _) = run(Floor::Plate, mover, [5.0, 0.0, 0.0], tilt);
                let (end, highest) = run(floor, mover, [5.0, 0.0, 0.0], tilt);
                let off = (end - expected).norm();
                assert!(off < 1e-3, "body {k} on {floor:?}: {off} m off");
                let hop = highest - mover.height;
                assert!(hop < 1e-4, "body {k} on {floor:?}: {hop} m high");
            }
        }
    }
}

/// What bounces passes the edges that it flies over.
#[test]
fn bodies_bounce_off_pieces_as_off_one_floor() {
    for floor in [Floor::Tiles, Floor::Compound] {
        for (k, mover) in movers().iter().enumerate() {
            let start = [5.0, 0.3, 0.7];
            let (expected, _) = run(Floor::Plate, mover, start, Quat::identity());
            let (end, _) = run(floor, mover, start, Quat::identity());
            let off = (end - expected).norm();
            assert!(off < 1e-3, "body {k} on {floor:?}: {off} m off");
        }
    }
}

/// A ledge that is higher than a hair is in the way.
#[test]
fn ledges_are_there() {
    for (k, mover) in movers().iter().enumerate() {
        let mut world = world(Settings::default(), 0.3, 0.0);
        for (x, y) in [(0.0, -0.5), (3.0, -0.45)] {
            let spec = BodySpec {
                kind: BodyKind::Fixed,
                shape: cuboid(1.5, 0.5, 2.0),
                pose: Pose::translation(x, y, 0.0),
                ..BodySpec::default()
            };
            add(&mut world, spec);
        }
        thrown(&mut world, mover, [3.0, 0.0], Quat::identity());
        let mut simulation =
            Simulation::new(world, SolverConfig::default(), 1).expect("the default");
        let struck = (0..40).any(|_| {
            simulation.step().expect("a step");
            let mut contacts = simulation.contacts();
            contacts.any(|c| c.normal.x.abs() > 0.3 && c.normal_impulse > 0.1)
        });
        assert!(struck, "body {k} noticed nothing");
    }
}
