//! Joints and drives of a scene file, and how they become the world's.

use serde::{Deserialize, Serialize};

use super::build::{Builder, frame_rotation};
use super::check::{
    Check, Fields, direction, fields, finite, in_world, not_negative, positive, within,
};
use super::error::FieldError;
use crate::check::demand;
use crate::math::{Pose, Quat, Vec3, tangent};
use crate::world::drive::{DrivenMotor, Interpolation, Moves};
use crate::world::joint::{self, GearTerm, JointSpec, Motion, Softness, Target};
use crate::world::{self, BodyId};

fields! {
    /// A joint between two bodies, as they stand at the start.
    pub struct Joint {
        /// Name for messages, drives, gears and the viewer; unique unless empty.
        pub name: String = String::new(),
        /// Names of the two bodies; an empty one is the world. A gear has none.
        pub bodies: [String; 2] = Default::default(),
        /// What it leaves free.
        pub kind: JointKind = JointKind::Fixed,
        /// Where it is (m).
        pub at: [f64; 3] = [0.0; 3] => in_world,
        /// Where it is on the second body (m), for a distance; without it the same place.
        pub at_second: Option<[f64; 3]> = None => in_world,
        /// Its axis x; need not be of unit length.
        pub axis: [f64; 3] = [1.0, 0.0, 0.0] => direction,
        /// A direction in the plane of its axes x and y; without it the engine chooses.
        pub across: Option<[f64; 3]> = None => finite,
        /// Compliance of what it holds (m/N); 0 is rigid.
        pub compliance: f64 = 0.0,
        /// Damping of the same (N s/m); needs a compliance.
        pub damping: f64 = 0.0,
        /// Compliance of the angles that it holds (rad/(N m)); 0 is rigid.
        pub angular_compliance: f64 = 0.0,
        /// Damping of the same (N m s/rad); needs a compliance.
        pub angular_damping: f64 = 0.0,
        /// The length by which its angles become lengths in errors and residuals (m).
        pub length: f64 = 1.0 => positive,
        /// Whether the two bodies may still collide.
        pub collide: bool = false,
    }
}

/// What a joint leaves free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum JointKind {
    /// Nothing.
    Fixed,
    /// All rotations.
    Spherical(Ball),
    /// The rotation about the axis.
    Hinge(Coordinate),
    /// The translation along the axis.
    Slider(Coordinate),
    /// Translation along the axis and rotation about it.
    Cylindrical {
        /// The translation.
        #[serde(default)]
        slide: Coordinate,
        /// The rotation.
        #[serde(default)]
        turn: Coordinate,
    },
    /// Rotation about the axis, and with every turn a translation along it.
    Screw {
        /// Translation per turn (m); positive is a right-handed thread.
        lead: f64,
        /// The rotation.
        #[serde(default)]
        turn: Coordinate,
    },
    /// Rotations about the first body's axis x and the second body's axis y.
    Universal {
        /// The rotation about x.
        #[serde(default)]
        first: Coordinate,
        /// The rotation about y.
        #[serde(default)]
        second: Coordinate,
    },
    /// Each of three translations and three rotations as it says; the rotations are about x, then y,
    /// then z, and y must stay within ±80° unless it is the only one that is free.
    SixDof(Box<SixDof>),
    /// All but the distance between `at` and `at_second`.
    Distance(Distance),
    /// Σ coefficient · coordinate of other joints stays what it is at the start.
    Gear {
        /// What it adds up; at most four bodies in all.
        terms: Vec<Term>,
    },
}

fields! {
    /// The rotations of a ball joint.
    pub struct Ball {
        /// Largest angle that the second body's axis makes with the first one's (degrees).
        pub swing: Option<f64> = None => within(0.0, 180.0),
        /// Least and largest twist about the axis (degrees).
        pub twist: Option<[f64; 2]> = None,
        /// Largest torque of dry friction about each axis (N m).
        pub friction: f64 = 0.0 => not_negative,
    }
}

fields! {
    /// A coordinate that may change: a length (m, N) or an angle (degrees, N m).
    pub struct Coordinate {
        /// Least and largest value (m or degrees), counted from the start.
        pub limits: Option<[f64; 2]> = None,
        /// A motor.
        pub motor: Option<Motor> = None,
        /// Largest force or torque of dry friction (N or N m).
        pub friction: f64 = 0.0 => not_negative,
    }
}

/// A motor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Motor {
    /// Keeps a speed.
    Velocity {
        /// The speed (m/s or rad/s); a drive changes it.
        #[serde(default)]
        speed: f64,
        /// Largest force or torque (N or N m).
        #[serde(default = "unlimited")]
        max_force: f64,
    },
    /// Goes to a position, through a spring and a damper.
    Position {
        /// The position (m or degrees); a drive changes it.
        #[serde(default)]
        position: f64,
        /// Stiffness (N/m or N m/rad); needed.
        stiffness: f64,
        /// Damping (N s/m or N m s/rad).
        #[serde(default)]
        damping: f64,
        /// Largest force or torque (N or N m).
        #[serde(default = "unlimited")]
        max_force: f64,
    },
}

fn unlimited() -> f64 {
    f64::INFINITY
}

/// One of the six coordinates of a [`SixDof`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Freedom {
    /// It stays where it is.
    #[default]
    Locked,
    /// It may change.
    Free(Coordinate),
}

fields! {
    /// All six coordinates; those left out are locked.
    pub struct SixDof {
        /// Translation along x.
        pub x: Freedom = Freedom::default(),
        /// Translation along y.
        pub y: Freedom = Freedom::default(),
        /// Translation along z.
        pub z: Freedom = Freedom::default(),
        /// Rotation about x.
        pub rx: Freedom = Freedom::default(),
        /// Rotation about y.
        pub ry: Freedom = Freedom::default(),
        /// Rotation about z.
        pub rz: Freedom = Freedom::default(),
    }
}

fields! {
    /// What a distance may be; with neither end it stays what it is.
    pub struct Distance {
        /// Least distance (m).
        pub min: Option<f64> = None => not_negative,
        /// Largest distance (m): a rope.
        pub max: Option<f64> = None => finite,
        /// A motor; its position is the distance (m).
        pub motor: Option<Motor> = None,
    }
}

/// A coordinate of a joint, as gears and drives name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AxisName {
    /// Translation along x, or a distance.
    X,
    /// Translation along y.
    Y,
    /// Translation along z.
    Z,
    /// Rotation about x.
    Rx,
    /// Rotation about y.
    Ry,
    /// Rotation about z.
    Rz,
}

/// A share of a gear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Name of the joint; needed.
    pub joint: String,
    /// Which of its coordinates; without it the one that its kind leaves free.
    #[serde(default)]
    pub axis: Option<AxisName>,
    /// What it is multiplied with; needed. Angles count in radians.
    pub coefficient: f64,
}

fields! {
    /// What moves motors, by a script and by the user's keys.
    pub struct Drive {
        /// What the panel calls it; needed.
        pub name: String = String::new(),
        /// Unit of its value, for the panel.
        pub unit: String = String::new(),
        /// The motors that it moves.
        pub motors: Vec<Driven> = Vec::new(),
        /// Times (s) and values; a value is what its motors aim at: m, m/s, degrees or rad/s.
        pub script: Vec<[f64; 2]> = Vec::new() => finite,
        /// What lies between them.
        pub interpolation: Interpolation = Interpolation::default(),
        /// Smallest and largest value of its slider.
        pub range: [f64; 2] = [-1.0, 1.0] => finite,
        /// How fast hands change the value (1/s); 0: at once, and a key acts only as long as it is held.
        pub rate: f64 = 0.0 => finite,
        /// Keys that lower and raise the value: ("Q", "E"); letters, digits, Left, Right, Up, Down, PageUp,
        /// PageDown.
        pub keys: [String; 2] = Default::default(),
    }
}

impl Drive {
    /// Checks what the engine would not.
    pub(super) fn check(&self) -> Check {
        if self.name.is_empty() {
            return Err(FieldError::new("name", "a drive needs a name"));
        }
        for (side, key) in self.keys.iter().enumerate() {
            let named = ["", "Left", "Right", "Up", "Down", "PageUp", "PageDown"];
            let single = matches!(key.as_bytes(), [c] if c.is_ascii_alphanumeric());
            if !single && !named.contains(&key.as_str()) {
                let message = format!(
                    "a key is a letter, a digit, Left, Right, Up, Down, PageUp or PageDown, not \"{key}\""
                );
                return Err(FieldError::new(format!("keys.{side}"), message));
            }
        }
        for (k, driven) in self.motors.iter().enumerate() {
            finite(&format!("motors.{k}.factor"), &driven.factor)?;
        }
        self.check_fields()
    }
}

/// A motor that a drive moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driven {
    /// Name of the joint; needed.
    pub joint: String,
    /// The coordinate with the motor; without it the joint's only one.
    #[serde(default)]
    pub axis: Option<AxisName>,
    /// What the drive's value is multiplied with.
    #[serde(default = "one")]
    pub factor: f64,
    /// What of the motor it moves: `Target` (the default), or `MaxForce` (N or N m), as a brake pedal
    /// does.
    #[serde(default)]
    pub moves: Moves,
}

fn one() -> f64 {
    1.0
}

const DEGREE: f64 = std::f64::consts::PI / 180.0;

const fn unit(axis: usize) -> f64 {
    if joint::Joint::is_length(axis) {
        1.0
    } else {
        DEGREE
    }
}

/// Stiffest spring of a motor (N/m, N m/rad); springs of machines are stiffer than anything else is large.
const STIFFEST: f64 = 1e15;

impl Motor {
    fn check(&self) -> Check {
        let (Self::Velocity { max_force, .. } | Self::Position { max_force, .. }) = self;
        match self {
            Self::Velocity { speed, .. } => finite("speed", speed)?,
            Self::Position {
                position,
                stiffness,
                damping,
                ..
            } => {
                finite("position", position)?;
                within(0.0, STIFFEST)("stiffness", stiffness)?;
                within(0.0, STIFFEST)("damping", damping)?;
                if stiffness + damping <= 0.0 {
                    let message = "a motor needs a stiffness or a damping";
                    return Err(FieldError::new("stiffness", message));
                }
            }
        }
        demand(*max_force >= 0.0, "max_force", "0 or more", max_force)?;
        Ok(())
    }

    /// As the engine has it; `unit` is what one degree or metre is.
    fn made(self, unit: f64) -> joint::Motor {
        let (target, max_force) = match self {
            Self::Velocity { speed, max_force } => (Target::Velocity(speed), max_force),
            Self::Position {
                position,
                stiffness,
                damping,
                max_force,
            } => {
                let target = Target::Position {
                    position: position * unit,
                    rates: [0.0; 2],
                    stiffness,
                    damping,
                };
                (target, max_force)
            }
        };
        joint::Motor { target, max_force }
    }
}

/// Checks two limits that may be infinite.
fn check_limits(field: &str, limits: Option<[f64; 2]>) -> Check {
    let [lo, hi] = limits.unwrap_or_default();
    let is_fine = lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY;
    demand(is_fine, field, "ascending", format_args!("{lo} and {hi}"))?;
    Ok(())
}

impl Coordinate {
    fn check(&self) -> Check {
        check_limits("limits", self.limits)?;
        self.check_fields()?;
        let motor = self.motor.as_ref().map_or(Ok(()), Motor::check);
        motor.map_err(|e| e.inside("motor"))
    }

    fn axis(&self, unit: f64) -> joint::Axis {
        let limited = |limits: [f64; 2]| Motion::Limited(limits.map(|v| v * unit));
        joint::Axis {
            motion: self.limits.map_or(Motion::Free, limited),
            motor: self.motor.map(|m| m.made(unit)),
            friction: self.friction,
        }
    }
}

impl JointKind {
    /// The coordinates that may change, by the name of the field that holds them and their number.
    fn coordinates(&self) -> Vec<(&'static str, usize, &Coordinate)> {
        match self {
            Self::Hinge(c) => vec![("", 3, c)],
            Self::Slider(c) => vec![("", 0, c)],
            Self::Cylindrical { slide, turn } => vec![("slide", 0, slide), ("turn", 3, turn)],
            Self::Screw { turn, .. } => vec![("turn", 3, turn)],
            Self::Universal { first, second } => vec![("first", 3, first), ("second", 4, second)],
            Self::SixDof(s) => {
                let all = [&s.x, &s.y, &s.z, &s.rx, &s.ry, &s.rz];
                let names = ["x", "y", "z", "rx", "ry", "rz"];
                let free = (0..6).filter_map(|k| match all[k] {
                    Freedom::Locked => None,
                    Freedom::Free(c) => Some((names[k], k, c)),
                });
                free.collect()
            }
            Self::Fixed | Self::Spherical(_) | Self::Distance(_) | Self::Gear { .. } => Vec::new(),
        }
    }

    fn check(&self) -> Check {
        match self {
            Self::Gear { terms } if terms.is_empty() => {
                return Err(FieldError::new("", "a gear needs terms"));
            }
            Self::Screw { lead, .. } => finite("lead", lead)?,
            Self::Distance(d) => {
                d.check_fields()?;
                let (least, most) = (d.min.unwrap_or(0.0), d.max.unwrap_or(f64::INFINITY));
                demand(least <= most, "min", "from 0 to max", least)?;
                let motor = d.motor.as_ref().map_or(Ok(()), Motor::check);
                motor.map_err(|e| e.inside("motor"))?;
            }
            Self::Spherical(ball) => {
                check_limits("twist", ball.twist)?;
                ball.check_fields()?;
            }
            _ => {}
        }
        for (field, _, coordinate) in self.coordinates() {
            coordinate.check().map_err(|e| match field {
                "" => e,
                field => e.inside(field),
            })?;
        }
        Ok(())
    }
}

impl Joint {
    /// Checks what the engine would not.
    pub(super) fn check(&self) -> Check {
        self.check_fields()?;
        let (x, y) = (Vec3::from(self.axis), self.across.map(Vec3::from));
        if y.is_some_and(|y| x.normalize().cross(&y).norm() < 1e-6 * y.norm().max(1e-6)) {
            let message = "across must not be along the axis";
            return Err(FieldError::new("across", message));
        }
        let is_gear = matches!(self.kind, JointKind::Gear { .. });
        if is_gear && self.bodies != ["", ""] {
            let message = "a gear has no bodies of its own, but terms with joints";
            return Err(FieldError::new("bodies", message));
        }
        self.kind.check().map_err(|e| e.inside("kind"))?;
        if !is_gear && self.bodies[0] == self.bodies[1] {
            let message = "a joint needs two different bodies, one of which may be \"\", the world";
            return Err(FieldError::new("bodies", message));
        }
        Ok(())
    }

    /// The kind and the coordinates as the engine has them.
    fn kind(
        &self,
        build: &Builder<'_>,
    ) -> Result<(joint::JointKind, [joint::Axis; 6]), FieldError> {
        use joint::JointKind as Kind;
        let kind = match &self.kind {
            JointKind::Fixed => Kind::Fixed,
            JointKind::Spherical(_) => Kind::Spherical,
            JointKind::Hinge(_) => Kind::Hinge,
            JointKind::Slider(_) => Kind::Slider,
            JointKind::Cylindrical { .. } => Kind::Cylindrical,
            JointKind::Screw { lead, .. } => Kind::Screw(*lead),
            JointKind::Universal { .. } => Kind::Universal,
            JointKind::SixDof(_) => Kind::SixDof,
            JointKind::Distance(_) => Kind::Distance,
            JointKind::Gear { terms } => {
                let made = (0..terms.len()).map(|k| {
                    let term = build.gear_term(&terms[k]);
                    term.map_err(|e| e.inside(&format!("kind.terms.{k}")))
                });
                Kind::Gear(made.collect::<Result<_, _>>()?)
            }
        };
        let mut axes = kind.axes();
        for (_, k, coordinate) in self.kind.coordinates() {
            axes[k] = coordinate.axis(unit(k));
        }
        match &self.kind {
            JointKind::Spherical(ball) => {
                if let Some(twist) = ball.twist {
                    axes[3].motion = Motion::Limited(twist.map(|v| v * DEGREE));
                }
                if let Some(swing) = ball.swing {
                    axes[4].motion = Motion::Limited([f64::NEG_INFINITY, swing * DEGREE]);
                }
                axes[3].friction = ball.friction;
            }
            JointKind::Distance(Distance { min, max, motor }) => {
                let between = Vec3::from(self.at_second.unwrap_or(self.at)) - Vec3::from(self.at);
                axes[0].motion = match (min, max, motor) {
                    (None, None, None) => Motion::Limited([between.norm(); 2]),
                    (None, None, Some(_)) => Motion::Free,
                    _ => Motion::Limited([min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY)]),
                };
                axes[0].motor = motor.map(|m| m.made(1.0));
            }
            _ => {}
        }
        Ok((kind, axes))
    }

    /// The joint's frame: x along the axis.
    fn rotation(&self) -> Quat {
        let x = Vec3::from(self.axis).normalize();
        let across = self.across.map_or_else(|| tangent(x), Vec3::from);
        let z = x.cross(&across).normalize();
        frame_rotation([x, z.cross(&x), z])
    }
}

const NOT_ONE_FREE: &str = "this joint does not leave just one coordinate free: name the axis";
const NOT_ONE_MOTOR: &str = "this joint does not have just one motor: name the axis";

/// The only coordinate that is as asked for.
fn only(joint: &world::Joint, is: impl Fn(&joint::Axis) -> bool) -> Option<usize> {
    let mut found = (0..6).filter(|k| is(&joint.axes[*k]));
    let first = found.next();
    if found.next().is_some() { None } else { first }
}

impl Builder<'_> {
    /// The body of a name in `field`; an empty one is the world.
    pub(super) fn body_named(&self, name: &str, field: &str) -> Result<Option<BodyId>, FieldError> {
        match self.body_names.get(name) {
            _ if name.is_empty() => Ok(None),
            Some(id) => Ok(Some(*id)),
            None => {
                let message = format!("there is no body \"{name}\"");
                Err(FieldError::new(field, message))
            }
        }
    }

    fn joint_index(&self, name: &str) -> Result<u32, FieldError> {
        self.joint_names.get(name).copied().ok_or_else(|| {
            let message = format!("there is no joint \"{name}\" before this");
            FieldError::new("joint", message)
        })
    }

    fn gear_term(&self, term: &Term) -> Result<GearTerm, FieldError> {
        let joint = self.joint_index(&term.joint)?;
        let is_free = |a: &joint::Axis| a.motion.held().is_none();
        let free = || only(&self.world.joints()[joint as usize], is_free);
        let axis = term.axis.map(|axis| axis as usize).or_else(free);
        Ok(GearTerm {
            joint,
            axis: axis.ok_or_else(|| FieldError::new("joint", NOT_ONE_FREE))? as u8,
            coefficient: term.coefficient,
        })
    }

    /// Adds a hand-written joint.
    pub(super) fn joint(&mut self, joint: &Joint) -> Check {
        let mut bodies = [None; 2];
        for (side, name) in joint.bodies.iter().enumerate() {
            bodies[side] = self.body_named(name, &format!("bodies.{side}"))?;
        }
        let (kind, axes) = joint.kind(self)?;
        let frame = |at: [f64; 3]| Pose::new(Vec3::from(at), joint.rotation());
        self.add_joint(JointSpec {
            name: joint.name.clone(),
            bodies,
            frames: [frame(joint.at), frame(joint.at_second.unwrap_or(joint.at))],
            kind,
            axes,
            softness: Softness {
                compliance: joint.compliance,
                damping: joint.damping,
                angular_compliance: joint.angular_compliance,
                angular_damping: joint.angular_damping,
                length: joint.length,
            },
            collide: joint.collide,
        })?;
        Ok(())
    }

    /// Adds a joint and returns its index.
    pub(super) fn add_joint(&mut self, spec: JointSpec) -> Result<u32, FieldError> {
        let name = spec.name.clone();
        let index = self.world.add_joint(spec).map_err(|e| match e {
            world::JointError::Invalid(invalid) => invalid.into(),
            e => FieldError::new("", e.to_string()),
        })?;
        if !name.is_empty() && self.joint_names.insert(name.clone(), index).is_some() {
            let message = format!("there are two joints of the name \"{name}\"");
            return Err(FieldError::new("name", message));
        }
        Ok(index)
    }

    /// Adds a drive.
    pub(super) fn drive(&mut self, drive: &Drive) -> Check {
        let mut motors = Vec::with_capacity(drive.motors.len());
        for (k, driven) in drive.motors.iter().enumerate() {
            let inside = |e: FieldError| e.inside(&format!("motors.{k}"));
            let index = self.joint_index(&driven.joint).map_err(inside)?;
            let joint = &self.world.joints()[index as usize];
            let axis = match driven.axis {
                Some(axis) => Some(axis as usize),
                None => only(joint, |a| a.motor.is_some()),
            };
            let motor = axis.and_then(|k| joint.axes[k].motor.map(|m| (k, m)));
            let Some((axis, motor)) = motor else {
                return Err(inside(FieldError::new("joint", NOT_ONE_MOTOR)));
            };
            let unit = match motor.target {
                Target::Position { .. } if driven.moves == Moves::Target => unit(axis),
                _ => 1.0,
            };
            motors.push(DrivenMotor {
                joint: index,
                axis: axis as u8,
                factor: driven.factor * unit,
                moves: driven.moves,
            });
        }
        let made = world::Drive {
            name: drive.name.clone(),
            unit: drive.unit.clone(),
            motors,
            keys: drive.script.clone(),
            interpolation: drive.interpolation,
            range: drive.range,
            rate: drive.rate,
            hands: drive.keys.clone(),
            live: None,
            value: 0.0,
        };
        let added = self.world.add_drive(made);
        added.map_err(|e| FieldError::new("", e.to_string()))?;
        Ok(())
    }
}
