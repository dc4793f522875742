//! Nothing passes: bodies of every shape, fast from the first step on or struck by others, against plates, thin ones too.

use crate::common::*;
use moreau::math::random::Random;
use moreau::math::{Pose, Quat, Rotation, Vec3};
use moreau::solve::SolverConfig;
use moreau::step::Simulation;
use moreau::world::{BodyId, BodyKind, BodySpec, Geometry, Part, Settings, World};

fn box_of(x: f64, y: f64, z: f64) -> Geometry {
    Geometry::Cuboid {
        half_extents: Vec3::new(x, y, z),
    }
}

/// Half a metre large at most.
fn shapes() -> Vec<Geometry> {
    let (half_height, radius) = (0.1, 0.1);
    let corners = [
        [0.1, -0.06, 0.0],
        [-0.1, -0.06, 0.06],
        [-0.1, -0.06, -0.06],
        [0.0, 0.12, 0.0],
        [0.04, 0.02, 0.09],
    ];
    let part = |shape, x| Part {
        shape,
        position: Vec3::new(x, 0.0, 0.0),
        rotation: Rotation::default(),
    };
    let parts = vec![
        part(box_of(0.1, 0.03, 0.03), 0.0),
        part(Geometry::Ball { radius: 0.05 }, 0.1),
    ];
    vec![
        Geometry::Ball { radius },
        box_of(0.1, 0.1, 0.1),
        box_of(0.1, 0.01, 0.1),
        Geometry::Capsule {
            half_height,
            radius: 0.05,
        },
        Geometry::Cylinder {
            half_height: 0.05,
            radius,
        },
        Geometry::Cone {
            half_height,
            radius,
        },
        Geometry::ConvexHull {
            points: corners.map(Vec3::from).to_vec(),
        },
        Geometry::Compound { parts },
    ]
}

/// What stands in the plane x = 0, with its front towards −x.
fn wall(world: &mut World, geometry: Geometry, x: f64) {
    let spec = BodySpec {
        kind: BodyKind::Fixed,
        shape: shape(geometry),
        pose: Pose::translation(x, 0.0, 0.0),
        ..BodySpec::default()
    };
    add(world, spec);
}

fn walls() -> Vec<(Geometry, f64)> {
    let plate = |thickness: f64| (box_of(0.5 * thickness, 3.0, 3.0), 0.5 * thickness);
    let corner = |y, z| Vec3::new(0.0, y, z);
    let mesh = Geometry::TriMesh {
        vertices: vec![
            corner(-3.0, -3.0),
            corner(-3.0, 3.0),
            corner(3.0, 3.0),
            corner(3.0, -3.0),
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    };
    let normal = Vec3::new(-1.0, 0.0, 0.0);
    let mut walls: Vec<_> = [0.001, 0.01, 0.1, 0.5].map(plate).to_vec();
    walls.extend([(mesh, 0.0), (Geometry::HalfSpace { normal }, 0.0)]);
    walls
}

/// How far the body's centre came (m), while it was before the wall.
fn farthest(world: World, id: BodyId) -> f64 {
    let slot = world.bodies.slot(id).expect("a body");
    let mut simulation = Simulation::new(world, SolverConfig::default(), 1).expect("the default");
    let mut farthest = f64::NEG_INFINITY;
    for _ in 0..30 {
        simulation.step().expect("a step");
        let at = simulation.world().bodies.position[slot];
        if at.y.abs().max(at.z.abs()) < 2.5 {
            farthest = farthest.max(at.x);
        }
    }
    farthest
}

fn empty(restitution: f64) -> World {
    let settings = Settings {
        gravity: Vec3::zeros(),
        ..Settings::default()
    };
    world(settings, 0.3, restitution)
}

fn any(random: &mut Random) -> Vec3 {
    let mut next = || random.range(-1.0, 1.0);
    Vec3::new(next(), next(), next())
}

/// At 1 to 1,000 m/s, turned and spinning.
#[test]
fn no_body_passes_a_wall() {
    let mut random = Random::new(1);
    for (geometry, x) in walls() {
        for body in shapes() {
            for speed in [1.0, 10.0, 100.0, 1000.0] {
                let mut world = empty(0.0);
                wall(&mut world, geometry.clone(), x);
                let before = 0.26 + random.range(0.0, 0.05 * speed);
                let spec = BodySpec {
                    shape: shape(body.clone()),
                    pose: Pose::new(
                        Vec3::new(-before, 0.0, 0.0) + any(&mut random) * 1e-3,
                        Quat::from_scaled_axis(any(&mut random) * 3.0),
                    ),
                    linear_velocity: Vec3::new(speed, 0.0, 0.0) + any(&mut random) * (0.2 * speed),
                    angular_velocity: any(&mut random) * speed.min(20.0),
                    ..BodySpec::default()
                };
                let id = add(&mut world, spec);
                let far = farthest(world, id);
                assert!(
                    far < 0.0,
                    "{body:?} at {speed} m/s came to {far} m in {geometry:?}"
                );
            }
        }
    }
}

/// A ball strikes a body that lies 5 to 15 mm before the wall.
#[test]
fn no_struck_body_passes_a_wall() {
    let mut random = Random::new(2);
    for (geometry, x) in walls() {
        for body in shapes() {
            for speed in [3.0, 30.0, 300.0] {
                let mut world = empty(0.0);
                wall(&mut world, geometry.clone(), x);
                let turn = Quat::from_scaled_axis(any(&mut random) * 3.0);
                let body = shape(body.clone()).expect("a shape");
                let at = Pose::new(Vec3::zeros(), turn).to_parry();
                let ahead = body.parry().compute_aabb(&at).maxs.x;
                let before = ahead + random.range(0.005, 0.015);
                let struck = BodySpec {
                    shape: Some(body.clone()),
                    pose: Pose::new(Vec3::new(-before, 0.0, 0.0), turn),
                    ..BodySpec::default()
                };
                let id = add(&mut world, struck);
                let striker = BodySpec {
                    shape: ball(0.15),
                    pose: Pose::translation(
                        -before - 0.4 - random.range(0.0, 0.02 * speed),
                        0.0,
                        0.01,
                    ),
                    linear_velocity: Vec3::new(speed, 0.0, 0.0),
                    ..BodySpec::default()
                };
                add(&mut world, striker);
                let far = farthest(world, id);
                assert!(
                    far < 0.0,
                    "{body:?} at {speed} m/s came to {far} m in {geometry:?}"
                );
            }
        }
    }
}
