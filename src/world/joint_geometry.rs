//! The coordinates of a joint and how fast the bodies' velocities change them.

use super::Bodies;
use super::joint::{Axis, Joint, JointKind, Motion, WORLD};
use crate::math::{Pose, Twist, Vec3};

/// Below this |cos| of the middle angle the three angles of a joint are not told apart.
const GIMBAL: f64 = 0.05;

/// A joint where its bodies are.
#[derive(Clone, Copy, Debug, Default)]
pub struct JointGeometry {
    /// Its frames in the world.
    pub frames: [Pose; 2],
    /// The coordinates (m, rad).
    pub value: [f64; 6],
    /// The share of each body in each coordinate's velocity.
    pub jacobian: [[Twist; 2]; 6],
}

/// The coordinates of a joint and their Jacobians at the bodies' present poses, so long after the last midpoint (s).
pub fn joint_geometry(joint: &Joint, bodies: &Bodies, time: f64) -> JointGeometry {
    let mut out = JointGeometry::default();
    out.find(
        joint,
        |slot| bodies.pose(slot),
        |slot| bodies.velocity[slot],
        time,
    );
    out
}

impl JointGeometry {
    /// The length of a joint that is a distance (m).
    pub(crate) fn length(&self, joint: &Joint) -> Option<f64> {
        (joint.kind == JointKind::Distance).then_some(self.value[0])
    }

    /// Becomes that of a joint where the bodies have the poses that `pose` says, after they have turned at such velocities for
    /// such a time (s) since [`Joint::angles`]: which of the angles that are the same but for whole turns it is follows from
    /// that.
    pub(crate) fn find(
        &mut self,
        joint: &Joint,
        pose: impl Fn(usize) -> Pose,
        velocity: impl Fn(usize) -> Twist,
        time: f64,
    ) {
        let out = self;
        let frames = joint.frames_at(&pose);
        out.frames = frames;
        out.value = [0.0; 6];
        out.jacobian = [[Twist::ZERO; 2]; 6];
        if let JointKind::Gear(_) = joint.kind {
            return;
        }
        let [a, b] = frames;
        let center = joint.bodies.map(|slot| match slot {
            WORLD => Vec3::zeros(),
            slot => pose(slot as usize).position,
        });
        let apart = b.position - a.position;
        let arm_b = b.position - center[1];
        let mut lengthwise = |k: usize, e: Vec3, value: f64, arm_a: Vec3| {
            out.value[k] = value;
            out.jacobian[k] = [
                Twist::new(-e, -arm_a.cross(&e)),
                Twist::new(e, arm_b.cross(&e)),
            ];
        };
        if let JointKind::Distance = joint.kind {
            let distance = apart.norm();
            let e = apart.try_normalize(1e-12).unwrap_or_else(Vec3::y);
            lengthwise(0, e, distance, a.position - center[0]);
            return;
        }
        let screws = matches!(joint.kind, JointKind::Screw(_));
        let all_held = !screws && joint.axes[..3].iter().all(|x| x.motion == Motion::Locked);
        let axes_a = axes(&a);
        for k in 0..3 {
            if all_held {
                // The frames' origins coincide: any axes will do, and the world's never turn. Where they do not quite,
                // the force acts on both bodies at one point, so that it has no moment.
                let e = Vec3::ith(k, 1.0);
                lengthwise(k, e, apart[k], b.position - center[0]);
            } else {
                // Along an axis that turns with the first body, the force acts on it at the second's place.
                let e = axes_a[k];
                lengthwise(k, e, e.dot(&apart), b.position - center[0]);
            }
        }
        if joint.kind == JointKind::Spherical && joint.axes[3..] == [Axis::default(); 3] {
            return;
        }
        let (angles, turns) = angles(joint, &a, &b);
        let [first, second] = joint.bodies.map(|slot| match slot {
            WORLD => Vec3::zeros(),
            slot => velocity(slot as usize).angular,
        });
        let turned = (second - first) * time;
        for k in 0..3 {
            out.value[3 + k] = match joint.kind {
                JointKind::Spherical => angles[k],
                _ => unwrap(angles[k], joint.angles[k] + turns[k].dot(&turned)),
            };
            out.jacobian[3 + k] =
                [-turns[k], turns[k]].map(|angular| Twist::new(Vec3::zeros(), angular));
        }
        if let JointKind::Screw(lead) = joint.kind {
            let per_radian = lead / std::f64::consts::TAU;
            out.value[0] -= per_radian * out.value[3];
            for side in 0..2 {
                let turn = out.jacobian[3][side].angular;
                out.jacobian[0][side].angular -= turn * per_radian;
            }
        }
    }
}

fn axes(frame: &Pose) -> [Vec3; 3] {
    [Vec3::x(), Vec3::y(), Vec3::z()].map(|e| frame.rotation * e)
}

/// The angle nearest to an expected one that is the same but for whole turns.
fn unwrap(angle: f64, expected: f64) -> f64 {
    use std::f64::consts::TAU;
    angle + ((expected - angle) / TAU).round() * TAU
}

/// The three angles of a joint, and the axes that the relative angular velocity is taken along to get
/// their rates.
fn angles(joint: &Joint, a: &Pose, b: &Pose) -> ([f64; 3], [Vec3; 3]) {
    let [ax, ay, az] = axes(a);
    let [bx, by, bz] = axes(b);
    let held = |k: usize| joint.axes[3 + k].motion == Motion::Locked;
    match joint.kind {
        JointKind::Spherical => {
            let swing = ax.dot(&bx).clamp(-1.0, 1.0).acos();
            let across = ax.cross(&bx).try_normalize(1e-9).unwrap_or(ay);
            // The shortest turn that takes x to its place, taken back, leaves the twist.
            let relative = a.rotation.inverse() * b.rotation;
            let twist = 2.0 * relative.i.atan2(relative.w);
            let middle = (ax + bx).try_normalize(1e-6).unwrap_or(ax);
            let slope = middle.dot(&ax).max(GIMBAL);
            (
                [half_turn(twist), swing, 0.0],
                [middle / slope, across, Vec3::zeros()],
            )
        }
        JointKind::Universal => {
            // The two axes are held at a right angle: coordinate 2 is their scalar product.
            let first = by.dot(&az).atan2(by.dot(&ay));
            let second = bz.dot(&ax).atan2(bx.dot(&ax));
            ([first, second, -ax.dot(&by)], [ax, by, ax.cross(&by)])
        }
        _ if held(0) && held(1) && held(2) => {
            let error = (a.rotation.inverse() * b.rotation).scaled_axis();
            ([error.x, error.y, error.z], [ax, ay, az])
        }
        _ if (0..3).filter(|k| held(*k)).count() == 2 => {
            // A hinge about the one axis i that is free; j and k follow it.
            let i = (0..3).find(|i| !held(*i)).unwrap_or(0);
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let (a, b) = ([ax, ay, az], [bx, by, bz]);
            let mut angles = [0.0; 3];
            let mut turns = [Vec3::zeros(); 3];
            (angles[i], turns[i]) = (b[j].dot(&a[k]).atan2(b[j].dot(&a[j])), a[i]);
            (angles[j], turns[j]) = (-b[i].dot(&a[k]), a[k].cross(&b[i]));
            (angles[k], turns[k]) = (b[i].dot(&a[j]), b[i].cross(&a[j]));
            (angles, turns)
        }
        _ => {
            // R = Rx(α) Ry(β) Rz(γ); the axes of the three rates are x_a, n and z_b.
            let first = (-bz.dot(&ay)).atan2(bz.dot(&az));
            let sine = bz.dot(&ax).clamp(-1.0, 1.0);
            let third = (-by.dot(&ax)).atan2(bx.dot(&ax));
            let middle = ay * first.cos() + az * first.sin();
            let cos_squared = (1.0 - sine * sine).max(GIMBAL * GIMBAL);
            (
                [first, sine.asin(), third],
                [
                    (ax - bz * sine) / cos_squared,
                    middle,
                    (bz - ax * sine) / cos_squared,
                ],
            )
        }
    }
}

/// The same angle from −π to π.
fn half_turn(angle: f64) -> f64 {
    use std::f64::consts::TAU;
    angle - (angle / TAU).round() * TAU
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Quat, rotate_by};
    use crate::world::{BodySpec, JointSpec, Settings, World};

    fn body(world: &mut World, position: Vec3, turn: Vec3) -> crate::world::BodyId {
        world
            .add_body(BodySpec {
                pose: Pose::new(position, Quat::from_scaled_axis(turn)),
                mass: Some(1.0),
                inertia: Some(crate::math::SymMat3::diagonal(1.0, 1.0, 1.0)),
                ..BodySpec::default()
            })
            .unwrap()
    }

    /// Every coordinate's velocity is its Jacobian times the bodies' velocities.
    #[test]
    fn jacobians_are_the_derivatives_of_the_coordinates() {
        use JointKind::*;
        // The held angles are exact at zero error alone, and free ones everywhere.
        let cases: [(JointKind, &[Motion], &[usize], Vec3); 9] = [
            (Spherical, &[], &[0, 1, 2, 3, 4], Vec3::new(0.0, 0.3, -0.8)),
            (Hinge, &[], &[0, 1, 2, 3, 4, 5], Vec3::new(2.5, 0.0, 0.0)),
            (
                Cylindrical,
                &[],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(-1.2, 0.0, 0.0),
            ),
            (
                Screw(0.7),
                &[],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(2.1, 0.0, 0.0),
            ),
            (Slider, &[], &[0, 1, 2, 3, 4, 5], Vec3::zeros()),
            (Fixed, &[], &[0, 1, 2, 3, 4, 5], Vec3::zeros()),
            (
                Universal,
                &[],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(0.7, 0.0, 0.0),
            ),
            (
                SixDof,
                &[Motion::Free; 6],
                &[0, 1, 2, 3, 4, 5],
                Vec3::new(0.4, -0.9, 1.3),
            ),
            (Distance, &[], &[0], Vec3::new(0.4, -0.9, 1.3)),
        ];
        for (kind, motions, coordinates, turned) in cases {
            check_derivatives(kind, motions, coordinates, turned);
        }
    }

    /// The second frame of a joint with such motions is turned by a rotation vector (rad).
    fn check_derivatives(kind: JointKind, motions: &[Motion], coordinates: &[usize], turned: Vec3) {
        use JointKind::*;
        let mut world = World::new(Settings::default());
        let a = body(
            &mut world,
            Vec3::new(0.1, -0.2, 0.3),
            Vec3::new(0.5, 0.2, -0.4),
        );
        let b = body(
            &mut world,
            Vec3::new(1.0, 0.5, -0.3),
            Vec3::new(-0.3, 0.9, 0.1),
        );
        let at = Vec3::new(0.4, 0.3, 0.2);
        let frame = Pose::new(at, Quat::from_scaled_axis(Vec3::new(0.2, 0.4, -0.5)));
        let mut second = frame;
        second.rotation *= Quat::from_scaled_axis(turned);
        if kind == Universal {
            second.rotation *= Quat::from_scaled_axis(Vec3::new(0.0, -0.6, 0.0));
        }
        let slides = matches!(kind, Slider | Cylindrical | Screw(_) | SixDof | Distance);
        if slides {
            second.position += frame.rotation * Vec3::new(0.3, 0.0, 0.0);
        }
        if matches!(kind, SixDof | Distance) {
            second.position += Vec3::new(0.1, 0.2, -0.3);
        }
        let mut spec = JointSpec::new(kind.clone(), [Some(a), Some(b)], frame);
        spec.frames[1] = second;
        for (axis, motion) in spec.axes.iter_mut().zip(motions) {
            axis.motion = *motion;
        }
        // Somebody must want to know the angles of a ball joint.
        spec.axes[3].friction = 1.0;
        world.add_joint(spec).unwrap();
        let u = [
            Twist {
                linear: Vec3::new(0.3, -0.1, 0.7),
                angular: Vec3::new(-0.5, 0.8, 0.2),
            },
            Twist {
                linear: Vec3::new(-0.2, 0.4, 0.1),
                angular: Vec3::new(0.9, -0.3, 0.6),
            },
        ];
        let at_time = |t: f64| {
            let mut moved = world.bodies.clone();
            for (slot, u) in u.iter().enumerate() {
                moved.position[slot] += u.linear * t;
                moved.rotation[slot] = rotate_by(&moved.rotation[slot], u.angular, t);
            }
            joint_geometry(&world.joints[0], &moved, 0.0)
        };
        let (dt, now) = (1e-6, at_time(0.0));
        let (after, before) = (at_time(dt), at_time(-dt));
        for &k in coordinates {
            let slope = (after.value[k] - before.value[k]) / (2.0 * dt);
            let [first, second] = now.jacobian[k];
            let rate = first.linear.dot(&u[0].linear)
                + first.angular.dot(&u[0].angular)
                + second.linear.dot(&u[1].linear)
                + second.angular.dot(&u[1].angular);
            assert!(
                (slope - rate).abs() < 1e-7,
                "{kind:?}, coordinate {k}: {slope} and {rate}"
            );
        }
    }

    #[test]
    fn angles_count_whole_turns() {
        let mut world = World::new(Settings::default());
        let b = body(&mut world, Vec3::zeros(), Vec3::zeros());
        let spec = JointSpec::new(JointKind::Hinge, [None, Some(b)], Pose::IDENTITY);
        world.add_joint(spec).unwrap();
        for k in 1..100 {
            let angle = 0.3 * f64::from(k);
            world.bodies.rotation[0] = Quat::from_scaled_axis(Vec3::x() * angle);
            let found = joint_geometry(&world.joints[0], &world.bodies, 0.0).value[3];
            assert!((found - angle).abs() < 1e-9, "{found} for {angle}");
            world.joints[0].angles[0] = found;
        }
    }
}
