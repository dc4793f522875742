//! Joints and drives of a scene file, and how they become the world's.

use serde::{Deserialize, Serialize};

use super::build::Builder;
use super::check::{self, Check};
use super::error::FieldError;
use crate::math::{Mat3, Pose, Quat, Vec3};
use crate::world::drive::{DrivenMotor, Interpolation, Moves};
use crate::world::joint::{self, GearTerm, JointSpec, Motion, Softness, Target};
use crate::world::{self, BodyId};

/// A joint between two bodies, as they stand at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Joint {
    /// Name for messages, drives, gears and the viewer; unique unless empty.
    pub name: String,
    /// Names of the two bodies; an empty one is the world. A gear has none.
    pub bodies: [String; 2],
    /// What it leaves free.
    pub kind: JointKind,
    /// Where it is (m).
    pub at: [f64; 3],
    /// Where it is on the second body (m), for a distance; without it the same place.
    pub at_second: Option<[f64; 3]>,
    /// Its axis x; need not be of unit length.
    pub axis: [f64; 3],
    /// A direction in the plane of its axes x and y; without it the engine chooses.
    pub across: Option<[f64; 3]>,
    /// Compliance of what it holds (m/N); 0 is rigid.
    pub compliance: f64,
    /// Damping of the same (N s/m); needs a compliance.
    pub damping: f64,
    /// Compliance of the angles that it holds (rad/(N m)); 0 is rigid.
    pub angular_compliance: f64,
    /// Damping of the same (N m s/rad); needs a compliance.
    pub angular_damping: f64,
    /// Share of an error of a rigid joint that a step removes through the velocities (-), from 0 to 1;
    /// without it the scene's stabilisation decides.
    pub stabilisation: Option<f64>,
    /// The length by which its angles become lengths in errors and residuals (m).
    pub length: f64,
    /// Whether the two bodies may still collide.
    pub collide: bool,
}

impl Default for Joint {
    fn default() -> Self {
        Self {
            name: String::new(),
            bodies: Default::default(),
            kind: JointKind::Fixed,
            at: [0.0; 3],
            at_second: None,
            axis: [1.0, 0.0, 0.0],
            across: None,
            compliance: 0.0,
            damping: 0.0,
            angular_compliance: 0.0,
            angular_damping: 0.0,
            stabilisation: None,
            length: 1.0,
            collide: false,
        }
    }
}

/// What a joint leaves free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

/// The rotations of a ball joint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ball {
    /// Largest angle that the second body's axis makes with the first one's (degrees).
    pub swing: Option<f64>,
    /// Least and largest twist about the axis (degrees).
    pub twist: Option<[f64; 2]>,
    /// Largest torque of dry friction about each axis (N m).
    pub friction: f64,
}

/// A coordinate that may change: a length (m, N) or an angle (degrees, N m).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Coordinate {
    /// Least and largest value (m or degrees), counted from the start.
    pub limits: Option<[f64; 2]>,
    /// A motor.
    pub motor: Option<Motor>,
    /// Largest force or torque of dry friction (N or N m).
    pub friction: f64,
}

/// A motor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
pub enum Freedom {
    /// It stays where it is.
    #[default]
    Locked,
    /// It may change.
    Free(Coordinate),
}

/// All six coordinates; those left out are locked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SixDof {
    /// Translation along x.
    pub x: Freedom,
    /// Translation along y.
    pub y: Freedom,
    /// Translation along z.
    pub z: Freedom,
    /// Rotation about x.
    pub rx: Freedom,
    /// Rotation about y.
    pub ry: Freedom,
    /// Rotation about z.
    pub rz: Freedom,
}

/// What a distance may be; with neither end it stays what it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Distance {
    /// Least distance (m).
    pub min: Option<f64>,
    /// Largest distance (m): a rope.
    pub max: Option<f64>,
    /// A motor; its position is the distance (m).
    pub motor: Option<Motor>,
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

/// What moves motors, by a script and by the user's keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Drive {
    /// What the panel calls it; needed.
    pub name: String,
    /// Unit of its value, for the panel.
    pub unit: String,
    /// The motors that it moves.
    pub motors: Vec<Driven>,
    /// Times (s) and values; a value is what its motors aim at: m, m/s, degrees or rad/s.
    pub script: Vec<[f64; 2]>,
    /// What lies between them.
    pub interpolation: Interpolation,
    /// Smallest and largest value of its slider.
    pub range: [f64; 2],
    /// How fast hands change the value (1/s); 0: at once, and a key acts only as long as it is held.
    pub rate: f64,
    /// Keys that lower and raise the value: ("Q", "E"); letters, digits, Left, Right, Up, Down, PageUp,
    /// PageDown.
    pub keys: [String; 2],
}

impl Default for Drive {
    fn default() -> Self {
        Self {
            name: String::new(),
            unit: String::new(),
            motors: Vec::new(),
            script: Vec::new(),
            interpolation: Interpolation::default(),
            range: [-1.0, 1.0],
            rate: 0.0,
            keys: Default::default(),
        }
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

/// A motor as the engine has it; `unit` is what one degree or metre is.
fn motor(motor: Motor, unit: f64) -> joint::Motor {
    match motor {
        Motor::Velocity { speed, max_force } => joint::Motor {
            target: Target::Velocity(speed),
            max_force,
        },
        Motor::Position {
            position,
            stiffness,
            damping,
            max_force,
        } => joint::Motor {
            target: Target::Position {
                position: position * unit,
                rate: 0.0,
                stiffness,
                damping,
            },
            max_force,
        },
    }
}

const DEGREE: f64 = std::f64::consts::PI / 180.0;

const fn unit(axis: usize) -> f64 {
    if joint::Joint::is_length(axis) {
        1.0
    } else {
        DEGREE
    }
}

impl Motor {
    fn check(&self) -> Check {
        let max_force = match *self {
            Self::Velocity { speed, max_force } => {
                check::finite("speed", &[speed])?;
                max_force
            }
            Self::Position {
                position,
                stiffness,
                damping,
                max_force,
            } => {
                check::finite("position", &[position])?;
                for (name, value) in [("stiffness", stiffness), ("damping", damping)] {
                    // Springs of machines are stiffer than anything else is large.
                    if !(0.0..=STIFFEST).contains(&value) {
                        let message = format!("{name} must be from 0 to {STIFFEST:e}, not {value}");
                        return Err(FieldError::new(name, message));
                    }
                }
                if stiffness + damping <= 0.0 {
                    let message = "a motor needs a stiffness or a damping";
                    return Err(FieldError::new("stiffness", message));
                }
                max_force
            }
        };
        if max_force.is_nan() || max_force < 0.0 {
            let message = format!("max_force must be 0 or more, not {max_force}");
            return Err(FieldError::new("max_force", message));
        }
        Ok(())
    }
}

/// Stiffest spring of a motor (N/m, N m/rad).
const STIFFEST: f64 = 1e15;

/// Checks two limits that may be infinite.
fn check_limits(field: &str, limits: Option<[f64; 2]>) -> Check {
    match limits {
        Some([lo, hi]) if !(lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY) => {
            let message = format!("{field} must ascend, not be {lo} and {hi}");
            Err(FieldError::new(field, message))
        }
        _ => Ok(()),
    }
}

impl Coordinate {
    fn check(&self) -> Check {
        check_limits("limits", self.limits)?;
        check::not_negative("friction", self.friction)?;
        match &self.motor {
            Some(motor) => motor.check().map_err(|e| e.inside("motor")),
            None => Ok(()),
        }
    }

    fn axis(&self, unit: f64) -> joint::Axis {
        joint::Axis {
            motion: match self.limits {
                None => Motion::Free,
                Some(limits) => Motion::Limited(limits.map(|v| v * unit)),
            },
            motor: self.motor.map(|m| motor(m, unit)),
            friction: self.friction,
        }
    }
}

impl JointKind {
    /// The coordinates that may change, by the name of the field that holds them.
    fn coordinates(&self) -> Vec<(&'static str, &Coordinate)> {
        match self {
            Self::Hinge(c) | Self::Slider(c) => vec![("", c)],
            Self::Cylindrical { slide, turn } => vec![("slide", slide), ("turn", turn)],
            Self::Universal { first, second } => vec![("first", first), ("second", second)],
            Self::SixDof(s) => {
                let all = [&s.x, &s.y, &s.z, &s.rx, &s.ry, &s.rz];
                let names = ["x", "y", "z", "rx", "ry", "rz"];
                let free = names.into_iter().zip(all);
                free.filter_map(|(name, freedom)| match freedom {
                    Freedom::Locked => None,
                    Freedom::Free(c) => Some((name, c)),
                })
                .collect()
            }
            Self::Fixed | Self::Spherical(_) | Self::Distance(_) | Self::Gear { .. } => Vec::new(),
        }
    }
}

impl Joint {
    /// Checks what the engine would not.
    pub(super) fn check(&self) -> Check {
        check::finite("at", &self.at)?;
        check::finite("at_second", &self.at_second.unwrap_or_default())?;
        check::finite("axis", &self.axis)?;
        check::positive("the length of axis", Vec3::from(self.axis).norm())
            .map_err(|e| FieldError::new("axis", e.message))?;
        if let Some(across) = self.across {
            check::finite("across", &across)?;
            let (x, y) = (Vec3::from(self.axis).normalize(), Vec3::from(across));
            if x.cross(&y).norm() < 1e-6 * y.norm().max(1e-6) {
                let message = "across must not be along the axis";
                return Err(FieldError::new("across", message));
            }
        }
        check::positive("length", self.length)?;
        match &self.kind {
            JointKind::Gear { terms } => {
                if self.bodies != ["", ""] {
                    let message = "a gear has no bodies of its own, but terms with joints";
                    return Err(FieldError::new("bodies", message));
                }
                if terms.is_empty() {
                    return Err(FieldError::new("kind", "a gear needs terms"));
                }
            }
            JointKind::Distance(d) => {
                check::finite("kind", &[d.min.unwrap_or(0.0), d.max.unwrap_or(0.0)])?;
                let (least, most) = (d.min.unwrap_or(0.0), d.max.unwrap_or(f64::INFINITY));
                if least < 0.0 || least > most {
                    let message = format!("min must be from 0 to max, not {least}");
                    return Err(FieldError::new("kind.min", message));
                }
                if let Some(motor) = &d.motor {
                    motor
                        .check()
                        .map_err(|e| e.inside("motor").inside("kind"))?;
                }
            }
            JointKind::Spherical(ball) => {
                check_limits("twist", ball.twist)
                    .and_then(|()| check::not_negative("friction", ball.friction))
                    .and_then(|()| check::in_range("swing", ball.swing.unwrap_or(0.0), 0.0, 180.0))
                    .map_err(|e| e.inside("kind"))?;
            }
            _ => {}
        }
        for (field, coordinate) in self.kind.coordinates() {
            coordinate.check().map_err(|e| match field {
                "" => e.inside("kind"),
                field => e.inside(field).inside("kind"),
            })?;
        }
        if !matches!(self.kind, JointKind::Gear { .. }) && self.bodies[0] == self.bodies[1] {
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
        let with = |kind: Kind, free: &[(usize, &Coordinate)]| {
            let mut axes = kind.axes();
            for (k, coordinate) in free {
                axes[*k] = coordinate.axis(unit(*k));
            }
            (kind, axes)
        };
        Ok(match &self.kind {
            JointKind::Fixed => with(Kind::Fixed, &[]),
            JointKind::Spherical(ball) => {
                let (kind, mut axes) = with(Kind::Spherical, &[]);
                if let Some(twist) = ball.twist {
                    axes[3].motion = Motion::Limited(twist.map(|v| v * DEGREE));
                }
                if let Some(swing) = ball.swing {
                    axes[4].motion = Motion::Limited([f64::NEG_INFINITY, swing * DEGREE]);
                }
                axes[3].friction = ball.friction;
                (kind, axes)
            }
            JointKind::Hinge(turn) => with(Kind::Hinge, &[(3, turn)]),
            JointKind::Slider(slide) => with(Kind::Slider, &[(0, slide)]),
            JointKind::Cylindrical { slide, turn } => {
                with(Kind::Cylindrical, &[(0, slide), (3, turn)])
            }
            JointKind::Universal { first, second } => {
                with(Kind::Universal, &[(3, first), (4, second)])
            }
            JointKind::SixDof(six) => {
                let all = [&six.x, &six.y, &six.z, &six.rx, &six.ry, &six.rz];
                let free: Vec<_> = all
                    .into_iter()
                    .enumerate()
                    .filter_map(|(k, freedom)| match freedom {
                        Freedom::Locked => None,
                        Freedom::Free(coordinate) => Some((k, coordinate)),
                    })
                    .collect();
                with(Kind::SixDof, &free)
            }
            JointKind::Distance(distance) => {
                let (kind, mut axes) = with(Kind::Distance, &[]);
                let between = Vec3::from(self.at_second.unwrap_or(self.at)) - Vec3::from(self.at);
                axes[0].motion = match (distance.min, distance.max, distance.motor) {
                    (None, None, None) => Motion::Limited([between.norm(); 2]),
                    (None, None, Some(_)) => Motion::Free,
                    (min, max, _) => {
                        Motion::Limited([min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY)])
                    }
                };
                axes[0].motor = distance.motor.map(|m| motor(m, 1.0));
                (kind, axes)
            }
            JointKind::Gear { terms } => {
                let mut made = Vec::with_capacity(terms.len());
                for (k, term) in terms.iter().enumerate() {
                    let inside = |e: FieldError| e.inside(&format!("kind.terms.{k}"));
                    let of = build.joint_index(&term.joint).map_err(inside)?;
                    let axis = match term.axis {
                        Some(axis) => axis as usize,
                        None => only(&build.world.joints()[of as usize], |a| {
                            a.motion.held().is_none()
                        })
                        .ok_or_else(|| inside(FieldError::new("joint", NOT_ONE_FREE)))?,
                    };
                    made.push(GearTerm {
                        joint: of,
                        axis: axis as u8,
                        coefficient: term.coefficient,
                    });
                }
                with(Kind::Gear(made), &[])
            }
        })
    }

    /// The joint's frame: x along the axis.
    fn rotation(&self) -> Quat {
        let x = Vec3::from(self.axis).normalize();
        let across = self
            .across
            .map_or_else(|| crate::math::tangent(x), Vec3::from);
        let z = x.cross(&across).normalize();
        let columns = Mat3::from_columns(&[x, z.cross(&x), z]);
        if columns == Mat3::identity() {
            return Quat::identity();
        }
        Quat::from_matrix_eps(&columns, 1e-15, 100, Quat::identity())
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
    /// The body of a name; an empty one is the world.
    pub(super) fn body_named(&self, name: &str) -> Result<Option<BodyId>, FieldError> {
        if name.is_empty() {
            return Ok(None);
        }
        let found = self.body_names.get(name).copied();
        found
            .map(Some)
            .ok_or_else(|| FieldError::new("bodies", format!("there is no body \"{name}\"")))
    }

    fn joint_index(&self, name: &str) -> Result<u32, FieldError> {
        self.joint_names.get(name).copied().ok_or_else(|| {
            let message = format!("there is no joint \"{name}\" before this");
            FieldError::new("joint", message)
        })
    }

    /// Adds a hand-written joint.
    pub(super) fn joint(&mut self, joint: &Joint) -> Result<(), FieldError> {
        let mut bodies = [None; 2];
        for (side, name) in joint.bodies.iter().enumerate() {
            bodies[side] = self
                .body_named(name)
                .map_err(|e| FieldError::new(format!("bodies.{side}"), e.message))?;
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
                stabilisation: joint.stabilisation,
                length: joint.length,
            },
            collide: joint.collide,
        })
    }

    /// Adds a joint.
    pub(super) fn add_joint(&mut self, spec: JointSpec) -> Result<(), FieldError> {
        let name = spec.name.clone();
        let index = self.world.add_joint(spec).map_err(|e| {
            // Messages about numbers begin with the field's name.
            let message = e.to_string();
            let field = match e {
                world::JointError::BadNumber(_) => message.split(' ').next().unwrap_or_default(),
                _ => "",
            };
            FieldError::new(field, message.clone())
        })?;
        if !name.is_empty() && self.joint_names.insert(name.clone(), index).is_some() {
            let message = format!("there are two joints of the name \"{name}\"");
            return Err(FieldError::new("name", message));
        }
        Ok(())
    }

    /// Adds a drive.
    pub(super) fn drive(&mut self, drive: &Drive) -> Result<(), FieldError> {
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
        added
            .map(|_| ())
            .map_err(|message| FieldError::new("", message))
    }
}
