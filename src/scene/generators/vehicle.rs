use std::f64::consts::FRAC_PI_2;

use super::*;

fields! {
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
    pub struct Vehicle {
        /// What the names of its bodies and joints begin with.
        pub name: String = "vehicle".into(),
        /// Name of the chassis; needed.
        pub chassis: String = String::new(),
        /// The point of the ground that the axles' places count from (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Axles, from the front to the rear; at least one.
        pub axles: Vec<Axle> = [(1.3, true), (-1.3, false)].map(|(x, steered)| Axle { x, steered }).into(),
        /// Distance between the middles of left and right wheels (m).
        pub track: f64 = 1.6 => positive,
        /// Radius of a wheel (m).
        pub wheel_radius: f64 = 0.35 => positive,
        /// Width of a wheel (m).
        pub wheel_width: f64 = 0.22 => positive,
        /// Mass of a wheel (kg).
        pub wheel_mass: f64 = 25.0 => positive,
        /// Mass of a hub (kg).
        pub hub_mass: f64 = 15.0 => positive,
        /// Stiffness of a suspension spring (N/m).
        pub stiffness: f64 = 4e4 => positive,
        /// Damping of a suspension spring (N s/m).
        pub damping: f64 = 3e3 => not_negative,
        /// How far a hub can go up and down (m).
        pub travel: f64 = 0.15 => positive,
        /// Force of a spring at the start (N).
        pub load: f64 = 3e3 => not_negative,
        /// Stiffness of the steering (N m/rad).
        pub steering_stiffness: f64 = 2e5 => positive,
        /// Damping of the steering (N m s/rad).
        pub steering_damping: f64 = 5e3 => not_negative,
        /// Mass of a shaft per length (kg/m).
        pub shaft_density: f64 = 2.0 => positive,
        /// Radius of the shafts (m).
        pub shaft_radius: f64 = 0.03 => positive,
        /// Where the engine is, counted from `at` (m).
        pub engine_at: [f64; 3] = [0.9, 0.8, 0.0] => finite,
        /// Mass of the engine's flywheel (kg).
        pub engine_mass: f64 = 30.0 => positive,
        /// Radius of the engine's flywheel (m).
        pub engine_radius: f64 = 0.2 => positive,
        /// Largest torque of the engine (N m).
        pub torque: f64 = 400.0 => not_negative,
        /// Turns of the engine per turn of the shafts behind it.
        pub gearbox: f64 = 2.0 => positive,
        /// Turns of the last shaft per turn of the half-shafts.
        pub final_drive: f64 = 3.0 => positive,
        /// Compliance of the joints (m/N), and of their angles (rad/(N m)).
        pub compliance: f64 = 1e-9 => not_negative,
        /// Look and feel; colours of wheels, wheel caps' bodies, shafts and engine. The groups are the wheels';
        /// nothing else collides.
        pub style: Style = Style::default(),
    }
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

const SIDES: [(&str, f64); 2] = [("left", -1.0), ("right", 1.0)];

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
}

/// A vehicle in the making.
struct Assembly<'a, 'b> {
    vehicle: &'a Vehicle,
    build: &'a mut Builder<'b>,
    chassis: BodyId,
    /// The joints of the left and right wheels, by axle.
    wheels: Vec<[u32; 2]>,
}

impl Assembly<'_, '_> {
    /// A body of the k-th colour.
    fn body(
        &mut self,
        name: &str,
        (color, mass, groups): (usize, f64, Groups),
        geometry: Geometry,
        pose: Pose,
    ) -> Result<BodyId, FieldError> {
        let style = &self.vehicle.style;
        let template = self.build.template(style, Some(mass), geometry)?;
        self.build.add(BodySpec {
            name: name.to_owned(),
            pose,
            groups,
            color: style.color(color),
            ..template
        })
    }

    /// A hinge, whose joint bears the second body's name.
    fn hinge(
        &mut self,
        name: &str,
        bodies: [BodyId; 2],
        frame: Pose,
        length: f64,
        motor: Option<Motor>,
    ) -> Result<u32, FieldError> {
        let mut spec = JointSpec::new(JointKind::Hinge, bodies.map(Some), frame);
        spec.name = name.to_owned();
        spec.axes[3].motor = motor;
        spec.softness = self.vehicle.softness(length);
        self.build.add_joint(spec)
    }

    /// A shaft from place to place on the chassis; the joint turns about `axis`.
    fn shaft(&mut self, name: &str, ends: [Vec3; 2], axis: Vec3) -> Result<u32, FieldError> {
        let along = ends[1] - ends[0];
        let length = along.norm();
        let y = along / length;
        let (half_height, radius) = (0.5 * length, self.vehicle.shaft_radius);
        let middle = (ends[0] + ends[1]) * 0.5;
        let rod = Geometry::Cylinder {
            half_height,
            radius,
        };
        let look = (2, self.vehicle.shaft_density * length, NO_GROUPS);
        let pose = Pose::new(middle, axes(tangent(y), y));
        let body = self.body(name, look, rod, pose)?;
        let frame = Pose::new(middle, axes(axis, tangent(axis)));
        self.hinge(name, [self.chassis, body], frame, radius, None)
    }

    /// Σ coefficient · angle stays what it is.
    fn gear(&mut self, name: String, terms: &[(u32, f64)]) -> Check {
        let term = |&(joint, coefficient): &(u32, f64)| GearTerm {
            joint,
            axis: 3,
            coefficient,
        };
        let terms = terms.iter().map(term).collect();
        let mut spec = JointSpec::new(JointKind::Gear(terms), [None, None], Pose::IDENTITY);
        spec.name = name;
        spec.softness = self.vehicle.softness(self.vehicle.shaft_radius);
        self.build.add_joint(spec).map(|_| ())
    }

    /// A hub that slides up and down on the chassis, and steers if it may.
    fn hub(&mut self, axle: usize, (side, sign): (&str, f64)) -> Result<BodyId, FieldError> {
        let v = self.vehicle;
        let center = v.center(axle, sign);
        let name = format!("{} hub {axle} {side}", v.name);
        let half_extents = Vec3::new(0.2, 0.3, 0.5) * v.wheel_radius;
        let block = Geometry::Cuboid { half_extents };
        let pose = Pose::new(center, Quat::identity());
        let hub = self.body(&name, (1, v.hub_mass, NO_GROUPS), block, pose)?;
        let spring = |position: f64, stiffness: f64, damping: f64| Motor {
            target: Target::Position {
                position,
                rates: [0.0; 2],
                stiffness,
                damping,
            },
            max_force: f64::INFINITY,
        };
        let frame = Pose::new(center, axes(Vec3::y(), -Vec3::x()));
        let bodies = [Some(self.chassis), Some(hub)];
        let mut spec = JointSpec::new(JointKind::SixDof, bodies, frame);
        spec.name = name;
        spec.axes[0].motion = Motion::Limited([-v.travel, v.travel]);
        let sunk = -v.load / v.stiffness;
        spec.axes[0].motor = Some(spring(sunk, v.stiffness, v.damping));
        if v.axles[axle].steered {
            spec.axes[3].motion = Motion::Free;
            spec.axes[3].motor = Some(spring(0.0, v.steering_stiffness, v.steering_damping));
        }
        spec.softness = v.softness(v.wheel_radius);
        self.build.add_joint(spec)?;
        Ok(hub)
    }

    /// A hub and its wheel; returns the wheel's joint.
    fn wheel(&mut self, axle: usize, side: (&str, f64)) -> Result<u32, FieldError> {
        let v = self.vehicle;
        let hub = self.hub(axle, side)?;
        let (radius, half_height) = (v.wheel_radius, 0.5 * v.wheel_width);
        // A cap that shows how the wheel turns.
        let half_extents = Vec3::new(0.6 * radius, half_height + 0.03 * radius, 0.12 * radius);
        let cap = Geometry::Cuboid { half_extents };
        let across = Rotation::AxisAngle {
            axis: [0.0, 1.0, 0.0],
            degrees: 90.0,
        };
        let cylinder = Geometry::Cylinder {
            half_height,
            radius,
        };
        let part = |shape, rotation| Part {
            shape,
            position: Vec3::zeros(),
            rotation,
        };
        let parts = vec![
            part(cylinder, Rotation::Identity),
            part(cap.clone(), Rotation::Identity),
            part(cap, across),
        ];
        let center = v.center(axle, side.1);
        let name = format!("{} wheel {axle} {}", v.name, side.0);
        let pose = Pose::new(center, Quat::from_axis_angle(&Vec3::x_axis(), FRAC_PI_2));
        let tyre = Geometry::Compound { parts };
        let wheel = self.body(&name, (0, v.wheel_mass, v.style.groups), tyre, pose)?;
        let frame = Pose::new(center, axes(-Vec3::z(), Vec3::y()));
        let brake = Motor {
            target: Target::Velocity(0.0),
            max_force: 0.0,
        };
        self.hinge(&name, [hub, wheel], frame, radius, Some(brake))
    }

    /// The flywheel of the engine; returns its joint.
    fn engine(&mut self) -> Result<u32, FieldError> {
        let v = self.vehicle;
        let place = Vec3::from(v.at) + Vec3::from(v.engine_at);
        let name = format!("{} engine", v.name);
        let radius = v.engine_radius;
        let flywheel = Geometry::Cylinder {
            half_height: 0.4 * radius,
            radius,
        };
        let pose = Pose::new(place, Quat::from_axis_angle(&Vec3::z_axis(), FRAC_PI_2));
        let engine = self.body(&name, (3, v.engine_mass, NO_GROUPS), flywheel, pose)?;
        let motor = Motor {
            target: Target::Velocity(0.0),
            max_force: v.torque,
        };
        let frame = Pose::new(place, Quat::identity());
        let bodies = [self.chassis, engine];
        self.hinge(&name, bodies, frame, v.shaft_radius, Some(motor))
    }

    /// Shares a motion between axles `first` to `last`, by differentials: that of a driving joint whose
    /// angle counts so much.
    fn share(&mut self, (driver, turns): (u32, f64), [first, last]: [usize; 2]) -> Check {
        let v = self.vehicle;
        let name = |[first, last]: [usize; 2]| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let gear = format!("{} differential {}", v.name, name([first, last]));
        let height = Vec3::y() * (0.2 * v.wheel_radius);
        let half = |output| (output, -0.5);
        let mut outputs = [0; 2];
        if first == last {
            for (k, (side, sign)) in SIDES.into_iter().enumerate() {
                let shaft = format!("{} half-shaft {first} {side}", v.name);
                let hub = v.center(first, sign);
                let middle = Vec3::new(hub.x, hub.y, v.at[2]);
                let end = middle + (hub - middle) * (1.0 - v.wheel_width / v.track);
                outputs[k] = self.shaft(&shaft, [middle, end], -Vec3::z())?;
                let terms = [(outputs[k], 1.0), (self.wheels[first][k], -1.0)];
                self.gear(format!("{shaft} gear"), &terms)?;
            }
            let whole = (driver, turns / v.final_drive);
            return self.gear(gear, &[whole, half(outputs[0]), half(outputs[1])]);
        }
        let middle = (first + last) / 2;
        let place = |[first, last]: [usize; 2]| {
            let x = 0.5 * (v.axles[first].x + v.axles[last].x);
            Vec3::from(v.at) + Vec3::new(x, v.wheel_radius, 0.0) + height
        };
        let halves = [[first, middle], [middle + 1, last]];
        for (output, axles) in outputs.iter_mut().zip(halves) {
            let shaft = format!("{} shaft {}", v.name, name(axles));
            let ends = [place([first, last]), place(axles)];
            *output = self.shaft(&shaft, ends, Vec3::x())?;
        }
        let terms = [(driver, turns), half(outputs[0]), half(outputs[1])];
        self.gear(gear, &terms)?;
        for (joint, axles) in outputs.into_iter().zip(halves) {
            self.share((joint, 1.0), axles)?;
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
        if self.axles.is_empty() || self.axles.len() > 1000 {
            let message = "a vehicle has from 1 to 1000 axles";
            return Err(FieldError::new("axles", message));
        }
        for (k, axle) in self.axles.iter().enumerate() {
            finite("x", &axle.x).map_err(|e| e.inside(&format!("axles.{k}")))?;
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

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let chassis = build.body_named(&self.chassis, "chassis")?;
        let chassis = chassis.ok_or_else(|| FieldError::new("chassis", "a chassis is a body"))?;
        let mut assembly = Assembly {
            vehicle: self,
            build,
            chassis,
            wheels: Vec::with_capacity(self.axles.len()),
        };
        for axle in 0..self.axles.len() {
            let [left, right] = SIDES.map(|side| assembly.wheel(axle, side));
            assembly.wheels.push([left?, right?]);
        }
        let engine = assembly.engine()?;
        let input = (engine, 1.0 / self.gearbox);
        assembly.share(input, [0, self.axles.len() - 1])
    }
}
