//! Collision detection: nothing is missed, nothing depends on history, every shape rests on every
//! ground.

use crate::common::*;
use moreau::collide::{Ahead, Collider};
use moreau::math::random::Random;
use moreau::math::{Pose, Quat, Rotation, SymMat3, Twist, Vec3};
use moreau::problem::{Contacts, ProblemBodies};
use moreau::world::{BodyKind, BodySpec, Geometry, Part, Settings, World};

/// The solid shapes, all about half a metre large.
fn solids() -> Vec<(&'static str, Geometry)> {
    let corners = (0..8)
        .map(|k| {
            let sign = |bit: i32| if k & bit == 0 { -0.3 } else { 0.3 };
            Vec3::new(sign(1), sign(2) * 0.7, sign(4) * 1.2)
        })
        .collect();
    vec![
        ("ball", Geometry::Ball { radius: 0.3 }),
        (
            "cuboid",
            Geometry::Cuboid {
                half_extents: Vec3::new(0.3, 0.2, 0.25),
            },
        ),
        (
            "capsule",
            Geometry::Capsule {
                half_height: 0.25,
                radius: 0.2,
            },
        ),
        (
            "cylinder",
            Geometry::Cylinder {
                half_height: 0.25,
                radius: 0.25,
            },
        ),
        (
            "cone",
            Geometry::Cone {
                half_height: 0.25,
                radius: 0.25,
            },
        ),
        ("hull", Geometry::ConvexHull { points: corners }),
        (
            "compound",
            Geometry::Compound {
                parts: vec![
                    Part {
                        shape: Geometry::Ball { radius: 0.2 },
                        position: Vec3::new(-0.2, 0.0, 0.0),
                        rotation: Rotation::Identity,
                    },
                    Part {
                        shape: Geometry::Cuboid {
                            half_extents: Vec3::new(0.2, 0.2, 0.2),
                        },
                        position: Vec3::new(0.2, 0.0, 0.0),
                        rotation: Rotation::Identity,
                    },
                ],
            },
        ),
    ]
}

/// The grounds with the surface y = 0 around the origin.
fn grounds() -> Vec<(&'static str, Geometry, Pose)> {
    let flat: Vec<Vec3> = (0..25)
        .map(|k| Vec3::new(f64::from(k % 5 - 2) * 3.0, 0.0, f64::from(k / 5 - 2) * 3.0))
        .collect();
    let mut triangles = Vec::new();
    for z in 0..4u32 {
        for x in 0..4u32 {
            let a = z * 5 + x;
            triangles.push([a, a + 5, a + 1]);
            triangles.push([a + 1, a + 5, a + 6]);
        }
    }
    vec![
        (
            "half-space",
            Geometry::HalfSpace { normal: Vec3::y() },
            Pose::IDENTITY,
        ),
        (
            "box",
            Geometry::Cuboid {
                half_extents: Vec3::new(6.0, 1.0, 6.0),
            },
            Pose::translation(0.0, -1.0, 0.0),
        ),
        (
            "mesh",
            Geometry::TriMesh {
                vertices: flat,
                triangles,
            },
            Pose::IDENTITY,
        ),
        (
            "height field",
            Geometry::HeightField {
                size: [12.0, 12.0],
                heights: vec![vec![0.0; 7]; 9],
            },
            Pose::IDENTITY,
        ),
    ]
}

/// Dropped from 5 cm, tilted a little, every solid comes to rest on every ground within 6 s, not
/// deeper in it than the slop and a tenth of a millimetre. Lying on a round side it may roll on,
/// slowly: Coulomb friction does not stop rolling.
#[test]
fn every_solid_rests_on_every_ground() {
    for (ground, geometry, pose) in grounds() {
        for (solid, shape_of) in solids() {
            let mut w = world(Settings::default(), 0.6, 0.0);
            add(
                &mut w,
                BodySpec {
                    kind: BodyKind::Fixed,
                    shape: shape(geometry.clone()),
                    pose,
                    ..BodySpec::default()
                },
            );
            let id = add(
                &mut w,
                BodySpec {
                    shape: shape(shape_of),
                    pose: Pose::new(
                        Vec3::new(0.37, 0.5, 0.41),
                        Quat::from_scaled_axis(Vec3::new(0.1, 0.3, 0.05)),
                    ),
                    ..BodySpec::default()
                },
            );
            let mut config = exact("gauss-seidel");
            config.budget.iterations = 2000;
            let mut s = simulation(w, config);
            let case = format!("{solid} on {ground}");
            for _ in 0..360 {
                s.step().unwrap_or_else(|e| panic!("{case}: {e}"));
            }
            let b = &s.world().bodies;
            let u = b.velocity[id.index()];
            assert!(s.report().contacts > 0, "{case}: no contact");
            assert!(u.linear.y.abs() < 1e-3, "{case}: still moves, {u:?}");
            assert!(
                u.linear.norm() < 0.3 && u.angular.norm() < 1.0,
                "{case}: {u:?}"
            );
            assert!(
                s.report().penetration < 3e-4,
                "{case}: {} m deep",
                s.report().penetration
            );
            assert!(b.position[id.index()].y > 0.1, "{case}: fell through");
        }
    }
}

/// Every pair of solids that overlap is found, with a normal that points from the first to the
/// second, and a sensible point.
#[test]
fn every_pair_of_solids_collides() {
    let all = solids();
    for (a, first) in &all {
        for (b, second) in &all {
            let mut w = world(
                Settings {
                    gravity: Vec3::zeros(),
                    ..Settings::default()
                },
                0.5,
                0.0,
            );
            for (geometry, x) in [(first, 0.0), (second, 0.38)] {
                add(
                    &mut w,
                    BodySpec {
                        shape: shape(geometry.clone()),
                        pose: Pose::translation(x, 0.01 * x, 0.0),
                        ..BodySpec::default()
                    },
                );
            }
            let mut s = simulation(w, exact("gauss-seidel"));
            s.step().unwrap();
            let contacts: Vec<_> = s.contacts().collect();
            assert!(!contacts.is_empty(), "{a} and {b} overlap");
            assert!(
                contacts.iter().any(|c| c.gap < 0.0),
                "{a} and {b}: {contacts:?}"
            );
            for c in contacts {
                assert!((c.normal.norm() - 1.0).abs() < 1e-12, "{a}, {b}: {c:?}");
                // Convex bodies are pushed apart along x; parts of compounds may stand the other way round.
                let convex = ![*a, *b].contains(&"compound");
                assert!(!convex || c.normal.x > 0.0, "{a}, {b}: {c:?}");
                assert!(c.point.x > -0.6 && c.point.x < 1.0, "{a}, {b}: {c:?}");
            }
        }
    }
}

/// A face on a face: at most four points, at its corners, so that the support polygon stays.
#[test]
fn a_box_on_a_box_has_four_corner_contacts() {
    let mut s = simulation(stack(&[1.0], Settings::default()), exact("gauss-seidel"));
    s.step().unwrap();
    let mut corners: Vec<_> = s.contacts().map(|c| (c.point.x, c.point.z)).collect();
    corners.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(
        corners,
        [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]
    );
}

/// Bodies that wander about: contacts of a collider with a long history are those of a fresh one,
/// and both have every pair of balls that really touches.
#[test]
fn contacts_depend_on_the_poses_alone_and_none_is_missed() {
    let settings = Settings {
        gravity: Vec3::zeros(),
        prediction: 0.01,
        ..Settings::default()
    };
    let mut w: World = world(settings, 0.5, 0.0);
    let mut random = Random::new(7);
    let mut random = || random.signed();
    add(
        &mut w,
        BodySpec {
            kind: BodyKind::Fixed,
            shape: shape(Geometry::HalfSpace { normal: Vec3::y() }),
            pose: Pose::translation(0.0, -3.5, 0.0),
            ..BodySpec::default()
        },
    );
    for k in 0..300 {
        let at = Vec3::new(random(), random(), random()) * 4.0;
        let radius = 0.2 + 0.15 * (random() + 1.0);
        add(
            &mut w,
            BodySpec {
                shape: if k % 4 == 0 {
                    cuboid(radius, 0.3, 0.2)
                } else {
                    ball(radius)
                },
                pose: Pose::new(at, Quat::from_scaled_axis(at)),
                linear_velocity: Vec3::new(random(), random(), random()) * 3.0,
                ..BodySpec::default()
            },
        );
    }
    let n = w.bodies.slots();
    let mut old = Collider::default();
    let mut touching = 0;
    for step in 0..80 {
        let free = ProblemBodies {
            inverse_mass: vec![1.0; n],
            inverse_inertia: vec![SymMat3::ZERO; n],
            free_velocity: w.bodies.velocity.clone(),
            part: Vec::new(),
            name: Vec::new(),
        };
        let mut fresh = Collider::default();
        let [found, afresh] = [&mut old, &mut fresh].map(|collider| {
            let mut contacts = Contacts::default();
            let ahead = Ahead {
                free: &free,
                horizon: w.settings.horizon(w.settings.substeps),
            };
            collider.update_pairs(&w, ahead);
            collider.find_contacts(&w, ahead, &mut contacts);
            contacts
        });
        assert_eq!(found, afresh, "step {step}");
        let in_order = found.bodies.is_sorted();
        assert!(in_order, "in the order of the bodies");
        for i in 1..n {
            for j in i + 1..n {
                let radius = |k: usize| match w.bodies.shape[k].as_ref().unwrap().geometry() {
                    Geometry::Ball { radius } => Some(*radius),
                    _ => None,
                };
                let (Some(a), Some(b)) = (radius(i), radius(j)) else {
                    continue;
                };
                let gap = (w.bodies.position[j] - w.bodies.position[i]).norm() - a - b;
                if gap <= 0.01 {
                    touching += 1;
                    let pair = [i as u32, j as u32];
                    let found = found.bodies.binary_search(&pair);
                    assert!(found.is_ok(), "step {step}: {pair:?}");
                }
            }
        }
        for k in 1..n {
            let u: Twist = w.bodies.velocity[k];
            w.bodies.position[k] += u.linear / 60.0;
            if w.bodies.position[k].norm() > 4.0 {
                w.bodies.velocity[k].linear = -u.linear;
            }
        }
    }
    assert!(
        touching > 1000,
        "the test must see contacts, not {touching}"
    );
}

/// Prediction grows with the approach speed only: bodies that separate make no early contact.
#[test]
fn speculative_contacts_need_approach() {
    for (speed, expected) in [(6.0, 1), (-6.0, 0)] {
        let mut w = world(
            Settings {
                gravity: Vec3::zeros(),
                ..Settings::default()
            },
            0.5,
            0.0,
        );
        for (x, v) in [(0.0, speed), (1.05, 0.0)] {
            add(
                &mut w,
                BodySpec {
                    shape: ball(0.5),
                    pose: Pose::translation(x, 0.0, 0.0),
                    linear_velocity: Vec3::new(v, 0.0, 0.0),
                    ..BodySpec::default()
                },
            );
        }
        let mut s = simulation(w, exact("gauss-seidel"));
        // At M the first ball has moved 5 cm of the 5 cm gap at speed 6, and away at −6.
        s.step().unwrap();
        assert_eq!(s.report().contacts, expected, "at {speed} m/s");
    }
}

/// What is changed between steps counts in the next one: a fixed body moved away, groups, a larger
/// prediction distance, another world of the same make.
#[test]
fn changes_by_hand_are_noticed() {
    let drop = || {
        let mut w = world(Settings::default(), 0.5, 0.0);
        ground(&mut w);
        add(
            &mut w,
            BodySpec {
                pose: Pose::translation(0.0, 0.5, 0.0),
                shape: ball(0.5),
                ..BodySpec::default()
            },
        );
        let mut s = simulation(w, exact("gauss-seidel"));
        for _ in 0..10 {
            s.step().unwrap();
        }
        assert_eq!(s.report().contacts, 1);
        s
    };
    // The ground goes down by half a metre: the ball falls, and lands there.
    let mut s = drop();
    s.world_mut().bodies.position[0].y -= 0.5;
    for _ in 0..60 {
        s.step().unwrap();
    }
    assert!((s.world().bodies.position[1].y - 0.0).abs() < 1e-3);
    // No common group any more.
    let mut s = drop();
    s.world_mut().bodies.groups[1].filter = 0;
    s.step().unwrap();
    assert_eq!(s.report().contacts, 0);
    // A ball 0.1 m above the ground is a contact as soon as the prediction distance says so.
    let mut s = drop();
    s.world_mut().bodies.position[1].y = 0.6;
    s.step().unwrap();
    assert_eq!(s.report().contacts, 0);
    s.world_mut().settings.prediction = 0.2;
    s.step().unwrap();
    assert_eq!(s.report().contacts, 1);
    // Another world in the same simulation: the ball now lies on a ground that is two metres higher.
    let mut s = drop();
    let mut other = s.world().clone();
    other.bodies.position[0].y += 2.0;
    other.bodies.position[1].y += 2.0;
    *s.world_mut() = other;
    for _ in 0..30 {
        s.step().unwrap();
    }
    assert!((s.world().bodies.position[1].y - 2.5).abs() < 1e-3);
}

/// A half-space that moves carries what lies on it.
#[test]
fn a_rising_half_space_lifts_bodies() {
    let mut w = world(Settings::default(), 0.5, 0.0);
    let plane = add(
        &mut w,
        BodySpec {
            kind: BodyKind::Kinematic,
            shape: shape(Geometry::HalfSpace { normal: Vec3::y() }),
            linear_velocity: Vec3::new(0.0, 2.0, 0.0),
            ..BodySpec::default()
        },
    );
    let id = add(
        &mut w,
        BodySpec {
            pose: Pose::translation(0.0, 3.0, 0.0),
            shape: ball(0.5),
            ..BodySpec::default()
        },
    );
    let mut s = simulation(w, exact("gauss-seidel"));
    for _ in 0..300 {
        s.step().unwrap();
    }
    let b = &s.world().bodies;
    let height = b.position[id.index()].y - b.position[plane.index()].y;
    assert!((height - 0.5).abs() < 1e-3, "{height} m above the plane");
    assert!((b.position[plane.index()].y - 10.0).abs() < 1e-9);
}

/// Parry gives two points at the same place for edges that cross; two rows of contacts on one point would
/// only make A singular.
#[test]
fn crossed_edges_touch_once() {
    let lying = Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::FRAC_PI_2);
    let across = Quat::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_2);
    let capsule = Geometry::Capsule {
        half_height: 0.1,
        radius: 0.02,
    };
    let cylinder = Geometry::Cylinder {
        half_height: 0.4,
        radius: 0.4,
    };
    for (name, upper, radius) in [
        ("capsule", capsule, 0.02),
        (
            "cylinder",
            Geometry::Cylinder {
                half_height: 0.3,
                radius: 0.1,
            },
            0.1,
        ),
    ] {
        for offset in [0.0, 0.01, 0.03] {
            let mut w = world(Settings::default(), 0.5, 0.0);
            add(
                &mut w,
                BodySpec {
                    kind: BodyKind::Fixed,
                    shape: shape(cylinder.clone()),
                    pose: Pose::new(Vec3::zeros(), lying),
                    ..BodySpec::default()
                },
            );
            add(
                &mut w,
                BodySpec {
                    shape: shape(upper.clone()),
                    pose: Pose::new(Vec3::new(offset, 0.4 + radius, 0.1), across),
                    ..BodySpec::default()
                },
            );
            let mut s = simulation(w, exact("gauss-seidel"));
            s.step().unwrap();
            let points: Vec<_> = s.contacts().map(|c| c.point).collect();
            assert_eq!(points.len(), 1, "{name} at {offset}: {points:?}");
        }
    }
}

/// One pair with more than a thousand contacts, sliding: finding and matching them must stay near linear.
/// The 2,592 triangles below the box give thousands of points, most of them several times; a quadratic
/// search would compare tens of millions in every step.
#[test]
fn a_large_box_slides_over_a_fine_mesh() {
    let n = 65u32;
    let vertices = (0..n * n)
        .map(|k| Vec3::new(f64::from(k % n) * 0.05, 0.0, f64::from(k / n) * 0.05))
        .collect();
    let mut triangles = Vec::new();
    for z in 0..n - 1 {
        for x in 0..n - 1 {
            let a = z * n + x;
            triangles.push([a, a + n, a + 1]);
            triangles.push([a + 1, a + n, a + n + 1]);
        }
    }
    let mut w = world(Settings::default(), 0.2, 0.0);
    let mesh = Geometry::TriMesh {
        vertices,
        triangles,
    };
    add(
        &mut w,
        BodySpec {
            kind: BodyKind::Fixed,
            shape: shape(mesh),
            ..BodySpec::default()
        },
    );
    add(
        &mut w,
        BodySpec {
            pose: Pose::translation(1.2, 0.2, 1.6),
            shape: cuboid(0.9, 0.2, 0.9),
            linear_velocity: Vec3::new(2.0, 0.0, 0.0),
            ..BodySpec::default()
        },
    );
    let mut s = simulation(w, moreau::solve::SolverConfig::default());
    for _ in 0..20 {
        s.step().unwrap();
    }
    assert!(
        s.report().contacts > 1000,
        "{} contacts",
        s.report().contacts
    );
    assert!(s.world().bodies.position[1].x > 1.5);
    assert!((s.world().bodies.position[1].y - 0.2).abs() < 2e-3);
}

/// Hulls too thin for a reliable mass, and meshes without area, are refused.
#[test]
fn degenerate_shapes_are_refused() {
    let wedge = |thickness: f64| {
        let p = |x: f64, y: f64, z: f64| Vec3::new(x, y * thickness, z);
        Geometry::ConvexHull {
            points: vec![
                p(0.0, 0.0, 0.0),
                p(1.0, 0.0, 0.0),
                p(0.0, 0.0, 1.0),
                p(0.3, 1.0, 0.3),
            ],
        }
    };
    let tetrahedron = moreau::world::Shape::new(wedge(1.0)).unwrap();
    assert!((tetrahedron.mass_properties(1.0).mass - 1.0 / 6.0).abs() < 1e-12);
    assert!(moreau::world::Shape::new(wedge(1e-3)).is_err());
    assert!(moreau::world::Shape::new(wedge(0.0)).is_err());
    let flat = Geometry::TriMesh {
        vertices: vec![Vec3::zeros(), Vec3::x()],
        triangles: vec![[0, 0, 1]],
    };
    assert!(moreau::world::Shape::new(flat).is_err());
}

/// Where the contacts of a step are is told from where its bodies have gone since: on the ground to the last digit, on the
/// ball that rolls but for what its overlap was corrected by, and of bodies that are gone without them.
#[test]
fn contacts_are_told_where_they_were_at_the_midpoint() {
    let mut w = world(Settings::default(), 0.5, 0.0);
    ground(&mut w);
    let below = BodySpec {
        pose: Pose::translation(0.0, 0.5, 0.0),
        linear_velocity: Vec3::new(3.0, 0.0, 0.0),
        shape: ball(0.5),
        ..BodySpec::default()
    };
    let above = BodySpec {
        pose: Pose::translation(0.0, 1.5, 0.0),
        ..below.clone()
    };
    add(&mut w, below);
    add(&mut w, above);
    let mut s = simulation(w, exact("newton"));
    let nothing = simulation(World::new(Settings::default()), exact("newton"));
    let half = 0.5 * Settings::default().step;
    s.step().expect("a step");
    let points: Vec<Vec3> = s.contacts().map(|c| c.point).collect();
    assert_eq!(points.len(), 2);
    for (point, height) in points.iter().zip([0.0, 1.0]) {
        let expected = Vec3::new(3.0 * half, height, 0.0);
        let apart = (point - expected).norm();
        assert!(apart < 2e-4, "{point} for {expected}");
    }
    s.restore(&nothing.snapshot());
    assert_eq!(s.contacts().count(), 2);
}
