//! Contacts of convex hulls: the normal, the depth and the points are right where faces lie on each other exactly,
//! at any size, and wherever else hulls touch.

use crate::common::{contacts, shape};
use moreau::collide::FoundContact;
use moreau::math::random::Random;
use moreau::math::{Pose, Quat, Vec3};
use moreau::world::Geometry;

fn vector(random: &mut Random) -> Vec3 {
    Vec3::new(random.signed(), random.signed(), random.signed())
}

fn pose(random: &mut Random, size: f64) -> Pose {
    Pose::new(
        vector(random) * (3.0 * size),
        Quat::from_scaled_axis(vector(random) * 3.0),
    )
}

/// A stone of an arch of 25 with its right face in the plane x = 0, from y = −½ to ½ and z = −½ to ½, and its
/// mirror image, which shares that face.
fn stones(size: f64) -> [Geometry; 2] {
    let slope = (std::f64::consts::PI / 25.0).tan();
    [-1.0, 1.0].map(|side| {
        let mut points = Vec::new();
        for (y, z) in [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)] {
            points.push(Vec3::new(0.0, y, z) * size);
            points.push(Vec3::new(side * (1.0 + slope * (y + 10.0)), y, z) * size);
        }
        Geometry::ConvexHull { points }
    })
}

fn corners(half: Vec3) -> Vec<Vec3> {
    let sign = |k: usize, bit: usize| if k & bit == 0 { -1.0 } else { 1.0 };
    (0..8)
        .map(|k| half.component_mul(&Vec3::new(sign(k, 1), sign(k, 2), sign(k, 4))))
        .collect()
}

/// Gaps between faces: none, of rounding, small and large ones, and as large overlaps, in shares of the size.
const GAPS: [f64; 11] = [
    0.0, 1e-16, -1e-16, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3,
];

/// A face on a face, flush, apart or overlapping, shifted and turned in its plane, from a centimetre to a hundred
/// metres, anywhere: the normal is the faces', every gap is the faces', and the points are the corners of what the
/// faces share.
#[test]
fn faces_on_faces_are_exact() {
    let mut random = Random::new(13);
    let mut seen = 0;
    for size in [0.01, 1.0, 100.0] {
        let [left, right] = stones(size);
        let half = Vec3::new(0.3, 0.5, 0.5) * size;
        let cuboid = Geometry::Cuboid { half_extents: half };
        let hull = Geometry::ConvexHull {
            points: corners(half),
        };
        // The second body's shape and where its face x = 0 is in its own frame.
        let others = [(right, 0.0), (cuboid, -half.x), (hull, -half.x)];
        for (other, face) in &others {
            for gap in GAPS.map(|g| g * size) {
                for (y, z, angle) in [
                    (0.0, 0.0, 0.0),
                    (0.3, 0.0, 0.0),
                    (1e-9, -1e-9, 0.0),
                    (0.25, 0.4, 0.0),
                    (0.0, 0.0, 0.5),
                    (0.1, -0.2, 1e-9),
                    (-0.1, 0.3, 1e-5),
                    (0.2, 0.2, 0.8),
                ] {
                    for swapped in [false, true] {
                        let at = pose(&mut random, size);
                        let turn = Quat::from_scaled_axis(Vec3::x() * angle);
                        let shift = Vec3::new(gap - face, y * size, z * size);
                        let beside = at.compose(&Pose::new(shift, turn));
                        let mut bodies = [(&left, at), (other, beside)];
                        if swapped {
                            bodies.reverse();
                        }
                        let case = format!("{size} m, gap {gap:e}, {y} {z} {angle}, {swapped}");
                        let found = contacts(bodies, 0.01 * size);
                        check_faces(&case, &found, &at, swapped, gap, size, angle);
                        seen += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seen, 3 * 3 * 11 * 8 * 2);
}

fn check_faces(
    case: &str,
    found: &[FoundContact],
    at: &Pose,
    swapped: bool,
    gap: f64,
    size: f64,
    angle: f64,
) {
    let normal = at.rotation * Vec3::x() * if swapped { -1.0 } else { 1.0 };
    assert_eq!(found.len(), 4, "{case}: {found:?}");
    for c in found {
        assert!((c.normal - normal).norm() < 1e-6, "{case}: {:?}", c.normal);
        assert!((c.gap - gap).abs() < 1e-6 * size, "{case}: gap {:e}", c.gap);
        let local = at.inverse_transform_point(c.point) / size;
        assert!((local.x - 0.5 * gap / size).abs() < 1e-6, "{case}: {local}");
        assert!(local.yz().amax() < 0.5 + 1e-6, "{case}: {local}");
        if angle < 1e-3 {
            // Every corner of the shared rectangle lies on a border of the first face or of the second.
            assert!(local.yz().abs().max() > 0.04, "{case}: {local}");
        }
    }
    let local: Vec<Vec3> = found
        .iter()
        .map(|c| at.inverse_transform_point(c.point) / size)
        .collect();
    let spread = |axis: usize| {
        let along = local.iter().map(|p| p[axis]);
        along.clone().fold(f64::MIN, f64::max) - along.fold(f64::MAX, f64::min)
    };
    assert!(spread(1) > 0.49 && spread(2) > 0.49, "{case}: {local:?}");
}

/// Some polyhedra of unit size, all with triangles, needles and many corners among them.
fn polyhedra(random: &mut Random) -> Vec<Vec<Vec3>> {
    let cloud = |random: &mut Random, n: usize, scale: Vec3| -> Vec<Vec3> {
        (0..n)
            .map(|_| vector(random).normalize().component_mul(&scale))
            .collect()
    };
    vec![
        corners(Vec3::new(0.5, 0.4, 0.3)),
        cloud(random, 4, Vec3::new(1.0, 1.0, 1.0)),
        cloud(random, 12, Vec3::new(1.0, 0.7, 0.5)),
        cloud(random, 40, Vec3::new(0.6, 0.6, 0.6)),
        cloud(random, 10, Vec3::new(1.0, 0.1, 0.1)),
        // A prism with a face of twelve corners.
        (0..24)
            .map(|k| {
                let t = f64::from(k / 2) * std::f64::consts::PI / 6.0;
                Vec3::new(t.cos(), f64::from(k % 2) * 0.1 - 0.05, t.sin())
            })
            .collect(),
    ]
}

/// The farthest that two sets of points are apart along any axis which can be the best one of two overlapping
/// hulls: normals of any three corners of one, and cross products of any two differences, one of each. What this
/// names is found without faces, edges or Gauss maps.
fn best_axis(a: &[Vec3], b: &[Vec3]) -> f64 {
    let apart = |n: Vec3| {
        let along =
            |points: &[Vec3], n: Vec3| points.iter().map(|p| n.dot(p)).fold(f64::MAX, f64::min);
        along(b, n) + along(a, -n)
    };
    let mut best = f64::MIN;
    let mut offer = |n: Vec3| {
        if let Some(n) = n.try_normalize(1e-9) {
            best = best.max(apart(n)).max(apart(-n));
        }
    };
    let differences = |points: &[Vec3]| {
        let mut all = Vec::new();
        for (k, p) in points.iter().enumerate() {
            all.extend(points[..k].iter().map(|q| p - q));
        }
        all
    };
    for points in [a, b] {
        for (k, p) in points.iter().enumerate() {
            for (l, q) in points[..k].iter().enumerate() {
                for r in &points[..l] {
                    offer((q - p).cross(&(r - p)));
                }
            }
        }
    }
    let (of_a, of_b) = (differences(a), differences(b));
    for x in &of_a {
        for y in &of_b {
            offer(x.cross(y));
        }
    }
    best
}

/// Hulls that overlap anyhow: the deepest point is as deep as the best of all axes says, and no axis parts them
/// sooner.
#[test]
fn depths_are_those_of_the_best_axis() {
    let mut random = Random::new(5);
    let mut all = polyhedra(&mut random);
    // Few enough corners for the search through all axes.
    all.retain(|points| points.len() <= 12);
    let mut touching = 0;
    for round in 0..200 {
        let pick =
            |random: &mut Random| (random.signed().abs() * 0.999 * all.len() as f64) as usize;
        let (a, b) = (&all[pick(&mut random)], &all[pick(&mut random)]);
        let at = [pose(&mut random, 0.2), pose(&mut random, 0.2)];
        let placed = |points: &[Vec3], at: &Pose| -> Vec<Vec3> {
            points.iter().map(|p| at.transform_point(*p)).collect()
        };
        let expected = best_axis(&placed(a, &at[0]), &placed(b, &at[1]));
        let [a, b] = [a, b].map(|points| Geometry::ConvexHull {
            points: points.clone(),
        });
        let found = contacts([(&a, at[0]), (&b, at[1])], 0.0);
        if expected > 0.0 {
            assert!(found.is_empty(), "round {round}: {expected} m apart");
            continue;
        }
        touching += 1;
        let deepest = found.iter().map(|c| c.gap).fold(f64::MAX, f64::min);
        assert!(
            (deepest - expected).abs() < 1e-6,
            "round {round}: {deepest:e} m, not {expected:e} m"
        );
    }
    assert!(touching > 60, "{touching} overlap");
}

/// Hulls a little apart, nearest in corners, edges or faces: the nearest point is as far as parry's search by
/// simplices says, which is exact there.
#[test]
fn distances_are_right() {
    let mut random = Random::new(6);
    let all = polyhedra(&mut random);
    let mut near = 0;
    for round in 0..600 {
        let pick =
            |random: &mut Random| (random.signed().abs() * 0.999 * all.len() as f64) as usize;
        let picked = [pick(&mut random), pick(&mut random)];
        let [a, b] = picked.map(|k| Geometry::ConvexHull {
            points: all[k].clone(),
        });
        let mut at = [pose(&mut random, 0.3), pose(&mut random, 0.3)];
        let [p, q] = [&a, &b].map(|g| shape(g.clone()).expect("a hull"));
        // Pulled apart along a line until they are somewhere between 0 and 0.1 m from each other.
        let away = vector(&mut random).normalize();
        let distance = |at: &[Pose; 2]| {
            let [x, y] = at.map(|pose| pose.to_parry());
            let (p, q) = (p.parry().as_ref(), q.parry().as_ref());
            let found = parry3d_f64::query::distance(&x, p, &y, q);
            found.expect("two hulls").distance
        };
        while distance(&at) < 1e-3 {
            at[1].position += away * 0.01;
        }
        let expected = distance(&at);
        if !(1e-3..0.09).contains(&expected) {
            continue;
        }
        near += 1;
        let found = contacts([(&a, at[0]), (&b, at[1])], 0.1);
        let nearest = found.iter().map(|c| c.gap).fold(f64::MAX, f64::min);
        assert!(
            (nearest - expected).abs() < 1e-6,
            "round {round}: {picked:?}: {nearest:e} m, not {expected:e} m; {found:?}"
        );
    }
    assert!(near > 200, "{near} are near");
}

/// A flat prism whose bottom has twelve corners: its four contacts with the ground span it, so that it stands, though
/// the corners of its top are within reach, too.
#[test]
fn faces_of_many_corners_stand() {
    let mut random = Random::new(5);
    let prism = Geometry::ConvexHull {
        points: polyhedra(&mut random).pop().expect("the prism"),
    };
    let half_space = Geometry::HalfSpace { normal: Vec3::y() };
    let cuboid = Geometry::Cuboid {
        half_extents: Vec3::new(3.0, 1.0, 3.0),
    };
    for (ground, height) in [(&half_space, 0.05), (&cuboid, 1.05)] {
        let found = contacts(
            [
                (ground, Pose::IDENTITY),
                (&prism, Pose::translation(0.0, height, 0.0)),
            ],
            0.2,
        );
        assert_eq!(found.len(), 4);
        for c in &found {
            assert!((c.normal - Vec3::y()).norm() < 1e-12 && c.gap.abs() < 1e-12);
            let opposite = found.iter().any(|d| {
                let (x, z) = (c.point.x + d.point.x, c.point.z + d.point.z);
                x.hypot(z) < 0.6
            });
            assert!(opposite, "{found:?}");
        }
    }
}
