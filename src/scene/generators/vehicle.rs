use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::Generate;
use crate::math::{Mat3, Pose, Quat, Vec3};
use crate::world::joint::{Axis, GearTerm, JointKind, Motion, Motor, Softness, Target};
use crate::world::{BodyId, BodySpec, Geometry, Groups, JointSpec};

/// Wheels, suspension, steering, brakes and power train of a vehicle that heads along x; its chassis
/// is a hand-written body.
///
/// Every wheel turns on a hub, which slides up and down on the chassis. An engine drives the wheels
/// through shafts: a differential shares its motion between two halves of the axles, and so on down to
/// the two half-shafts of every axle. Bodies and joints are called after the vehicle: "NAME hub 0 left",
/// "NAME wheel 0 left", "NAME half-shaft 0 left", "NAME shaft 0-1" for the shaft that drives axles 0 and 1,
/// and "NAME engine"; the gears are "NAME differential 0-3" and "NAME half-shaft 0 left gear".
/// Joints of wheels, shafts and engine turn forwards for positive speeds; hubs steer to the left for
/// positive angles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vehicle {
    /// What the names of its bodies and joints begin with.
    pub name: String,
    /// Name of the chassis; needed.
    pub chassis: String,
    /// The point of the ground that the axles' places count from (m).
    pub at: [f64; 3],
    /// Axles, from the front to the rear; at least one.
    pub axles: Vec<Axle>,
    /// Distance between the middles of left and right wheels (m).
    pub track: f64,
    /// Radius of a wheel (m).
    pub wheel_radius: f64,
    /// Width of a wheel (m).
    pub wheel_width: f64,
    /// Mass of a wheel (kg).
    pub wheel_mass: f64,
    /// Mass of a hub (kg).
    pub hub_mass: f64,
    /// Stiffness of a suspension spring (N/m).
    pub stiffness: f64,
    /// Damping of a suspension spring (N s/m).
    pub damping: f64,
    /// How far a hub can go up and down (m).
    pub travel: f64,
    /// Force of a spring at the start (N).
    pub load: f64,
    /// Stiffness of the steering (N m/rad).
    pub steering_stiffness: f64,
    /// Damping of the steering (N m s/rad).
    pub steering_damping: f64,
    /// Mass of a shaft per length (kg/m).
    pub shaft_density: f64,
    /// Radius of the shafts (m).
    pub shaft_radius: f64,
    /// Where the engine is, counted from `at` (m).
    pub engine_at: [f64; 3],
    /// Mass of the engine's flywheel (kg).
    pub engine_mass: f64,
    /// Radius of the engine's flywheel (m).
    pub engine_radius: f64,
    /// Largest torque of the engine (N m).
    pub torque: f64,
    /// Turns of the engine per turn of the shafts behind it.
    pub gearbox: f64,
    /// Turns of the last shaft per turn of the half-shafts.
    pub final_drive: f64,
    /// Compliance of the joints (m/N), and of their angles (rad/(N m)).
    pub compliance: f64,
    /// Look and feel; colours of wheels, wheel caps' bodies, shafts and engine. The groups are the wheels';
    /// nothing else collides.
    pub style: Style,
}

/// An axle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Axle {
    /// Its place along x (m).
    pub x: f64,
    /// Whether its hubs have steering motors.
    pub steered: bool,
}

impl Default for Vehicle {
    fn default() -> Self {
        Self {
            name: "vehicle".into(),
            chassis: String::new(),
            at: [0.0; 3],
            axles: vec![
                Axle {
                    x: 1.3,
                    steered: true,
                },
                Axle {
                    x: -1.3,
                    steered: false,
                },
            ],
            track: 1.6,
            wheel_radius: 0.35,
            wheel_width: 0.22,
            wheel_mass: 25.0,
            hub_mass: 15.0,
            stiffness: 4e4,
            damping: 3e3,
            travel: 0.15,
            load: 3e3,
            steering_stiffness: 2e5,
            steering_damping: 5e3,
            shaft_density: 2.0,
            shaft_radius: 0.03,
            engine_at: [0.9, 0.8, 0.0],
            engine_mass: 30.0,
            engine_radius: 0.2,
            torque: 400.0,
            gearbox: 2.0,
            final_drive: 3.0,
            compliance: 1e-9,
            style: Style::default(),
        }
    }
}

const SIDES: [(&str, f64); 2] = [("left", -1.0), ("right", 1.0)];

/// A rotation with these three columns.
fn rotation(x: Vec3, y: Vec3) -> Quat {
    let columns = Mat3::from_columns(&[x, y, x.cross(&y)]);
    if columns == Mat3::identity() {
        return Quat::identity();
    }
    Quat::from_matrix_eps(&columns, 1e-15, 100, Quat::identity())
}

/// A driving joint and what its angle counts in the differential behind it.
#[derive(Clone, Copy)]
struct Input {
    joint: u32,
    coefficient: f64,
}

impl Vehicle {
    fn center(&self, axle: usize, side: f64) -> Vec3 {
        let z = 0.5 * side * self.track;
        Vec3::from(self.at) + Vec3::new(self.axles[axle].x, self.wheel_radius, z)
    }

    fn softness(&self, length: f64) -> Softness {
        Softness {
            compliance: self.compliance,
            angular_compliance: self.compliance,
            length,
            ..Softness::default()
        }
    }

    /// What the k-th colour's bodies share; without a mass of their own, and colliding with nothing.
    fn part(&self, build: &Builder<'_>, color: usize, mass: f64) -> BodySpec {
        BodySpec {
            groups: Groups {
                memberships: 0,
                filter: 0,
            },
            color: self.style.color(color),
            ..build.template(&self.style, Some(mass))
        }
    }

    /// A hinge, whose joint bears the second body's name.
    fn hinge(
        &self,
        build: &mut Builder<'_>,
        name: &str,
        bodies: [BodyId; 2],
        frame: Pose,
        length: f64,
        motor: Option<Motor>,
    ) -> Result<u32, FieldError> {
        let mut spec = JointSpec::new(JointKind::Hinge, bodies.map(Some), frame);
        spec.name = name.to_owned();
        spec.axes[3].motor = motor;
        spec.softness = self.softness(length);
        build.add_joint(spec)?;
        Ok(build.joint_names[name])
    }

    /// A shaft from place to place on the chassis; the joint turns about `axis`.
    fn shaft(
        &self,
        build: &mut Builder<'_>,
        chassis: BodyId,
        name: &str,
        ends: [Vec3; 2],
        axis: Vec3,
    ) -> Result<u32, FieldError> {
        let along = ends[1] - ends[0];
        let length = along.norm();
        let y = along / length;
        let middle = (ends[0] + ends[1]) * 0.5;
        let body = build.add(BodySpec {
            name: name.to_owned(),
            pose: Pose::new(middle, rotation(crate::math::tangent(y), y)),
            shape: Some(build.solid(Geometry::Cylinder {
                half_height: 0.5 * length,
                radius: self.shaft_radius,
            })?),
            ..self.part(build, 2, self.shaft_density * length)
        })?;
        let frame = Pose::new(middle, rotation(axis, crate::math::tangent(axis)));
        self.hinge(build, name, [chassis, body], frame, self.shaft_radius, None)
    }

    /// Σ coefficient · angle stays what it is.
    fn gear(
        &self,
        build: &mut Builder<'_>,
        name: String,
        terms: &[(u32, f64)],
    ) -> Result<(), FieldError> {
        let terms = terms
            .iter()
            .map(|(joint, coefficient)| GearTerm {
                joint: *joint,
                axis: 3,
                coefficient: *coefficient,
            })
            .collect();
        let mut spec = JointSpec::new(JointKind::Gear(terms), [None, None], Pose::IDENTITY);
        spec.name = name;
        spec.softness = self.softness(self.shaft_radius);
        build.add_joint(spec)
    }

    /// A hub and its wheel; returns the wheel's joint.
    fn wheel(
        &self,
        build: &mut Builder<'_>,
        chassis: BodyId,
        axle: usize,
        side: (&str, f64),
    ) -> Result<u32, FieldError> {
        let (side, sign) = side;
        let center = self.center(axle, sign);
        let half_width = 0.5 * self.wheel_width;
        let name = |what: &str| format!("{} {what} {axle} {side}", self.name);
        let hub = build.add(BodySpec {
            name: name("hub"),
            pose: Pose::new(center, Quat::identity()),
            shape: Some(build.solid(Geometry::Cuboid {
                half_extents: Vec3::new(0.2, 0.3, 0.5) * self.wheel_radius,
            })?),
            ..self.part(build, 1, self.hub_mass)
        })?;
        let mut spec = JointSpec::new(
            JointKind::SixDof,
            [Some(chassis), Some(hub)],
            Pose::new(center, rotation(Vec3::y(), -Vec3::x())),
        );
        spec.name = name("hub");
        spec.axes[0] = Axis {
            motion: Motion::Limited([-self.travel, self.travel]),
            motor: Some(Motor {
                target: Target::Position {
                    position: -self.load / self.stiffness,
                    rate: 0.0,
                    stiffness: self.stiffness,
                    damping: self.damping,
                },
                max_force: f64::INFINITY,
            }),
            friction: 0.0,
        };
        if self.axles[axle].steered {
            spec.axes[3] = Axis {
                motion: Motion::Free,
                motor: Some(Motor {
                    target: Target::Position {
                        position: 0.0,
                        rate: 0.0,
                        stiffness: self.steering_stiffness,
                        damping: self.steering_damping,
                    },
                    max_force: f64::INFINITY,
                }),
                friction: 0.0,
            };
        }
        spec.softness = self.softness(self.wheel_radius);
        build.add_joint(spec)?;

        let tyre = Geometry::Cylinder {
            half_height: half_width,
            radius: self.wheel_radius,
        };
        // A cap that shows how the wheel turns.
        let cap = Geometry::Cuboid {
            half_extents: Vec3::new(
                0.6 * self.wheel_radius,
                half_width + 0.03 * self.wheel_radius,
                0.12 * self.wheel_radius,
            ),
        };
        let across = Quat::from_axis_angle(&Vec3::y_axis(), std::f64::consts::FRAC_PI_2);
        let parts = vec![
            (Pose::IDENTITY, tyre),
            (Pose::IDENTITY, cap.clone()),
            (Pose::new(Vec3::zeros(), across), cap),
        ];
        let wheel = build.add(BodySpec {
            name: name("wheel"),
            pose: Pose::new(
                center,
                Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::FRAC_PI_2),
            ),
            shape: Some(build.solid(Geometry::Compound { parts })?),
            groups: self.style.groups,
            ..self.part(build, 0, self.wheel_mass)
        })?;
        let frame = Pose::new(center, rotation(-Vec3::z(), Vec3::y()));
        let brake = Motor {
            target: Target::Velocity(0.0),
            max_force: 0.0,
        };
        self.hinge(
            build,
            &name("wheel"),
            [hub, wheel],
            frame,
            self.wheel_radius,
            Some(brake),
        )
    }

    /// Shares a motion between axles `first` to `last`, by differentials.
    fn share(
        &self,
        build: &mut Builder<'_>,
        chassis: BodyId,
        input: Input,
        [first, last]: [usize; 2],
        wheels: &[[u32; 2]],
    ) -> Result<(), FieldError> {
        let name = |first: usize, last: usize| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        };
        let gear = format!("{} differential {}", self.name, name(first, last));
        let height = Vec3::y() * (0.2 * self.wheel_radius);
        if first == last {
            let mut outputs = [0; 2];
            for (k, (side, sign)) in SIDES.into_iter().enumerate() {
                let shaft = format!("{} half-shaft {first} {side}", self.name);
                let hub = self.center(first, sign);
                let middle = Vec3::new(hub.x, hub.y, self.at[2]);
                let end = middle + (hub - middle) * (1.0 - self.wheel_width / self.track);
                outputs[k] = self.shaft(build, chassis, &shaft, [middle, end], -Vec3::z())?;
                let terms = [(outputs[k], 1.0), (wheels[first][k], -1.0)];
                self.gear(build, format!("{shaft} gear"), &terms)?;
            }
            let whole = (input.joint, input.coefficient / self.final_drive);
            return self.gear(
                build,
                gear,
                &[whole, (outputs[0], -0.5), (outputs[1], -0.5)],
            );
        }
        let middle = (first + last) / 2;
        let place = |[first, last]: [usize; 2]| {
            let x = 0.5 * (self.axles[first].x + self.axles[last].x);
            Vec3::from(self.at) + Vec3::new(x, self.wheel_radius, 0.0) + height
        };
        let halves = [[first, middle], [middle + 1, last]];
        let mut outputs = [0; 2];
        for (output, half) in outputs.iter_mut().zip(halves) {
            let shaft = format!("{} shaft {}", self.name, name(half[0], half[1]));
            let ends = [place([first, last]), place(half)];
            *output = self.shaft(build, chassis, &shaft, ends, Vec3::x())?;
        }
        let terms = [
            (input.joint, input.coefficient),
            (outputs[0], -0.5),
            (outputs[1], -0.5),
        ];
        self.gear(build, gear, &terms)?;
        for (joint, half) in outputs.into_iter().zip(halves) {
            let input = Input {
                joint,
                coefficient: 1.0,
            };
            self.share(build, chassis, input, half, wheels)?;
        }
        Ok(())
    }
}

impl Generate for Vehicle {
    fn count(&self) -> u64 {
        // Hub, wheel and half-shaft on either side; shafts in front of all differentials but the first.
        let axles = self.axles.len() as u64;
        6 * axles + 2 * axles.saturating_sub(1) + 1
    }

    fn check(&self) -> Check {
        check::finite("at", &self.at)?;
        check::finite("engine_at", &self.engine_at)?;
        for (name, value) in [
            ("track", self.track),
            ("wheel_radius", self.wheel_radius),
            ("wheel_width", self.wheel_width),
            ("wheel_mass", self.wheel_mass),
            ("hub_mass", self.hub_mass),
            ("stiffness", self.stiffness),
            ("travel", self.travel),
            ("steering_stiffness", self.steering_stiffness),
            ("shaft_density", self.shaft_density),
            ("shaft_radius", self.shaft_radius),
            ("engine_mass", self.engine_mass),
            ("engine_radius", self.engine_radius),
            ("gearbox", self.gearbox),
            ("final_drive", self.final_drive),
        ] {
            check::positive(name, value)?;
        }
        for (name, value) in [
            ("damping", self.damping),
            ("load", self.load),
            ("steering_damping", self.steering_damping),
            ("torque", self.torque),
            ("compliance", self.compliance),
        ] {
            check::not_negative(name, value)?;
        }
        if self.axles.is_empty() || self.axles.len() > 1000 {
            let message = "a vehicle has from 1 to 1000 axles";
            return Err(FieldError::new("axles", message));
        }
        for (k, axle) in self.axles.iter().enumerate() {
            check::finite("x", &[axle.x]).map_err(|e| e.inside(&format!("axles.{k}")))?;
        }
        if self.axles.windows(2).any(|pair| pair[1].x >= pair[0].x) {
            let message = "axles go from the front to the rear";
            return Err(FieldError::new("axles", message));
        }
        if self.wheel_width >= self.track {
            let message = "wheel_width must be below the track";
            return Err(FieldError::new("wheel_width", message));
        }
        if self.chassis.is_empty() {
            return Err(FieldError::new("chassis", "a vehicle needs a chassis"));
        }
        Ok(())
    }

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let chassis = build
            .body_named(&self.chassis)
            .map_err(|e| FieldError::new("chassis", e.message))?;
        let chassis = chassis.ok_or_else(|| FieldError::new("chassis", "a chassis is a body"))?;
        let mut wheels = Vec::with_capacity(self.axles.len());
        for axle in 0..self.axles.len() {
            let mut pair = [0; 2];
            for (joint, side) in pair.iter_mut().zip(SIDES) {
                *joint = self.wheel(build, chassis, axle, side)?;
            }
            wheels.push(pair);
        }
        let place = Vec3::from(self.at) + Vec3::from(self.engine_at);
        let name = format!("{} engine", self.name);
        let engine = build.add(BodySpec {
            name: name.clone(),
            pose: Pose::new(
                place,
                Quat::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_2),
            ),
            shape: Some(build.solid(Geometry::Cylinder {
                half_height: 0.4 * self.engine_radius,
                radius: self.engine_radius,
            })?),
            ..self.part(build, 3, self.engine_mass)
        })?;
        let motor = Motor {
            target: Target::Velocity(0.0),
            max_force: self.torque,
        };
        let frame = Pose::new(place, Quat::identity());
        let engine = self.hinge(
            build,
            &name,
            [chassis, engine],
            frame,
            self.shaft_radius,
            Some(motor),
        )?;
        let input = Input {
            joint: engine,
            coefficient: 1.0 / self.gearbox,
        };
        self.share(build, chassis, input, [0, self.axles.len() - 1], &wheels)
    }
}
