//! Joints: what holds two bodies together, or couples the motions of other joints.
//!
//! A joint has a frame on each of its two bodies. Its six coordinates are the position of the second
//! frame's origin along the axes of the first frame (m), and three angles (rad); each may be free,
//! locked or limited, and may have a motor and dry friction. Gears couple the coordinates of other
//! joints.

use serde::{Deserialize, Serialize};

use super::{Bodies, BodyId};
use crate::check::{Invalid, LARGEST, demand, finite, not_negative};
use crate::math::{Pose, Twist, Vec3};

/// Stands for the world in [`Joint::bodies`].
pub const WORLD: u32 = u32::MAX;

/// What a coordinate may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Motion {
    /// Anything.
    #[default]
    Free,
    /// Nothing: it is held at zero.
    Locked,
    /// Stay between two values (m or rad); equal ones hold it there.
    Limited([f64; 2]),
}

impl Motion {
    /// The value that the coordinate is held at, if it is.
    pub fn held(self) -> Option<f64> {
        match self {
            Self::Locked => Some(0.0),
            Self::Limited([lo, hi]) if lo == hi => Some(lo),
            _ => None,
        }
    }
}

/// What a motor aims at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// A speed (m/s or rad/s).
    Velocity(f64),
    /// A position, through a spring and a damper that are integrated implicitly.
    Position {
        /// The position (m or rad).
        position: f64,
        /// How fast the position moves, up to now and from now on (m/s or rad/s); the damper acts on the difference to it.
        rates: [f64; 2],
        /// Stiffness (N/m or N m/rad).
        stiffness: f64,
        /// Damping (N s/m or N m s/rad).
        damping: f64,
    },
}

/// A motor on a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Motor {
    /// What it aims at.
    pub target: Target,
    /// Largest force or torque (N or N m).
    pub max_force: f64,
}

/// One of the six coordinates of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Free, locked or limited.
    pub motion: Motion,
    /// A motor.
    pub motor: Option<Motor>,
    /// Largest force or torque of dry friction (N or N m).
    pub friction: f64,
}

/// A share of a gear: a coordinate of another joint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GearTerm {
    /// The joint, by its index.
    pub joint: u32,
    /// Which of its coordinates: 0 to 2 are positions, 3 to 5 angles.
    pub axis: u8,
    /// What it is multiplied with.
    pub coefficient: f64,
}

/// What a joint leaves free. The first frame's x axis is the axis of those that have one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JointKind {
    /// Nothing.
    #[default]
    Fixed,
    /// All rotations. Coordinates 3 and 4 are the twist about x and the swing of x away from its
    /// place; a limit of the swing is a cone.
    Spherical,
    /// The rotation about x.
    Hinge,
    /// The translation along x.
    Slider,
    /// Translation along x and rotation about it.
    Cylindrical,
    /// The rotation about x, with so long a translation along it per turn (m): a positive lead is a
    /// right-handed thread. Coordinate 0 is what the translation lacks of it.
    Screw(f64),
    /// Rotations about the first frame's x axis and the second frame's y axis.
    Universal,
    /// What its axes say. The angles are those of rotations about x, then y, then z: y must stay
    /// within ±80° unless it is the only one that is free.
    SixDof,
    /// Everything but the distance of the two frames' origins, which is coordinate 0.
    Distance,
    /// Everything, but Σ coefficient · coordinate stays what it was when the joint was made.
    Gear(Vec<GearTerm>),
}

impl JointKind {
    /// The axes of this kind, without limits, motors or friction. Those of a distance are held at
    /// zero until somebody says how long it is.
    pub fn axes(&self) -> [Axis; 6] {
        use Motion::{Free, Locked};
        let motions = match self {
            Self::Fixed | Self::SixDof => [Locked; 6],
            Self::Spherical => [Locked, Locked, Locked, Free, Free, Free],
            Self::Hinge | Self::Screw(_) => [Locked, Locked, Locked, Free, Locked, Locked],
            Self::Slider => [Free, Locked, Locked, Locked, Locked, Locked],
            Self::Cylindrical => [Free, Locked, Locked, Free, Locked, Locked],
            Self::Universal => [Locked, Locked, Locked, Free, Free, Locked],
            Self::Distance => [Locked, Free, Free, Free, Free, Free],
            Self::Gear(_) => [Free; 6],
        };
        motions.map(|motion| Axis {
            motion,
            ..Axis::default()
        })
    }

    /// Its name in scene files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fixed => "Fixed",
            Self::Spherical => "Spherical",
            Self::Hinge => "Hinge",
            Self::Slider => "Slider",
            Self::Cylindrical => "Cylindrical",
            Self::Screw(_) => "Screw",
            Self::Universal => "Universal",
            Self::SixDof => "SixDof",
            Self::Distance => "Distance",
            Self::Gear(_) => "Gear",
        }
    }
}

/// How a joint's rows give way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Softness {
    /// Compliance α of held positions and their limits (m/N); 0 is rigid.
    pub compliance: f64,
    /// Damping of the same (N s/m); needs a compliance.
    pub damping: f64,
    /// Compliance of held angles and their limits (rad/(N m)); 0 is rigid.
    pub angular_compliance: f64,
    /// Damping of the same (N m s/rad); needs a compliance.
    pub angular_damping: f64,
    /// The length by which angles become lengths (m), so that every row is in m/s and N s.
    pub length: f64,
}

impl Default for Softness {
    fn default() -> Self {
        Self {
            compliance: 0.0,
            damping: 0.0,
            angular_compliance: 0.0,
            angular_damping: 0.0,
            length: 1.0,
        }
    }
}

/// Everything needed to add a joint.
#[derive(Clone, Debug)]
pub struct JointSpec {
    /// Name for messages, drives, gears and the viewer; may be empty.
    pub name: String,
    /// The two bodies; `None` is the world. A gear has none of its own.
    pub bodies: [Option<BodyId>; 2],
    /// The joint's frame on each body, in the world as it is now. Where they differ the joint begins
    /// with an error.
    pub frames: [Pose; 2],
    /// What it leaves free.
    pub kind: JointKind,
    /// Limits, motors and friction; start from [`JointKind::axes`].
    pub axes: [Axis; 6],
    /// Compliance.
    pub softness: Softness,
    /// Whether its two bodies may still collide.
    pub collide: bool,
}

impl JointSpec {
    /// A joint of a kind between two bodies, with one frame for both.
    pub fn new(kind: JointKind, bodies: [Option<BodyId>; 2], frame: Pose) -> Self {
        Self {
            name: String::new(),
            bodies,
            frames: [frame; 2],
            axes: kind.axes(),
            kind,
            softness: Softness::default(),
            collide: false,
        }
    }
}

/// A joint of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// Name; may be empty.
    pub name: String,
    /// Slots of the two bodies, or [`WORLD`].
    pub bodies: [u32; 2],
    /// Its frames, seen from the two centres of mass.
    pub frames: [Pose; 2],
    /// What it leaves free.
    pub kind: JointKind,
    /// Its coordinates.
    pub axes: [Axis; 6],
    /// How it gives way.
    pub softness: Softness,
    /// Whether its two bodies may still collide.
    pub collide: bool,
    /// Whether it acts.
    pub enabled: bool,
    /// What a gear's sum was when it was made (m or rad).
    pub gear_offset: f64,
    /// Its angles at the last midpoint, whole turns included (rad).
    pub(crate) angles: [f64; 3],
    /// The force on its second body over the last (sub)step, world frame (N).
    pub(crate) force: Vec3,
}

impl Joint {
    /// How to call a joint in a message.
    pub fn label(&self, index: usize) -> String {
        if self.name.is_empty() {
            format!("joint {index}")
        } else {
            format!("joint {index} \"{}\"", self.name)
        }
    }

    /// The angles at the last midpoint, whole turns included (rad).
    pub fn angles(&self) -> [f64; 3] {
        self.angles
    }

    /// The force on its second body over the last (sub)step, world frame (N).
    pub fn force(&self) -> Vec3 {
        self.force
    }

    /// The two frames in the world.
    pub fn world_frames(&self, bodies: &Bodies) -> [Pose; 2] {
        self.frames_at(|slot| bodies.pose(slot))
    }

    /// The two frames in the world where the bodies have the poses that `pose` says.
    pub(crate) fn frames_at(&self, pose: impl Fn(usize) -> Pose) -> [Pose; 2] {
        [0, 1].map(|side| match self.bodies[side] {
            WORLD => self.frames[side],
            slot => pose(slot as usize).compose(&self.frames[side]),
        })
    }

    /// Whether coordinate `axis` is a length (or else an angle).
    pub const fn is_length(axis: usize) -> bool {
        axis < 3
    }
}

/// Why a joint cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JointError {
    /// A body was removed.
    #[error("one of its bodies was removed")]
    NoBody,
    /// Both ends on one body, or both on the world.
    #[error("a joint needs two different bodies, one of which may be the world")]
    SameBody,
    /// A number is infinite, not a number or out of range.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A gear names a joint that is not there, or is a gear itself.
    #[error(
        "a gear couples coordinates 0 to 5 of joints that were added before it and are not gears"
    )]
    BadGear,
    /// The terms of a gear cancel, or are coordinates that their joints do not measure.
    #[error(
        "a gear without effect: its terms cancel, or name coordinates that their joints do not have"
    )]
    NoEffect,
    /// A gear couples more than four bodies.
    #[error("a gear couples at most four bodies, not {0}")]
    TooManyBodies(usize),
}

impl Joint {
    /// Makes a joint; gears still lack their offset.
    pub(super) fn new(
        spec: JointSpec,
        bodies: &Bodies,
        joints: &[Joint],
    ) -> Result<Self, JointError> {
        let mut slots = [WORLD; 2];
        for (slot, id) in slots.iter_mut().zip(spec.bodies) {
            if let Some(id) = id {
                *slot = bodies.slot(id).ok_or(JointError::NoBody)? as u32;
            }
        }
        if let JointKind::Gear(terms) = &spec.kind {
            check_gear(terms, joints)?;
        } else if slots[0] == slots[1] {
            return Err(JointError::SameBody);
        }
        let joint = Self {
            name: spec.name,
            bodies: slots,
            frames: [0, 1].map(|side| {
                let frame = spec.frames[side];
                match slots[side] {
                    WORLD => frame,
                    slot => bodies.pose(slot as usize).inverse().compose(&frame),
                }
            }),
            kind: spec.kind,
            axes: spec.axes,
            softness: spec.softness,
            collide: spec.collide,
            enabled: true,
            gear_offset: 0.0,
            angles: [0.0; 3],
            force: Vec3::zeros(),
        };
        joint.check()?;
        Ok(joint)
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first one that cannot be used.
    pub fn check(&self) -> Result<(), Invalid> {
        for pose in &self.frames {
            finite(
                "frames",
                pose.position.iter().chain(pose.rotation.coords.iter()),
            )?;
        }
        let s = &self.softness;
        for ([held, damped], compliance, damping) in [
            (["compliance", "damping"], s.compliance, s.damping),
            (
                ["angular_compliance", "angular_damping"],
                s.angular_compliance,
                s.angular_damping,
            ),
        ] {
            not_negative(held, compliance)?;
            not_negative(damped, damping)?;
            let is_fine = damping == 0.0 || compliance > 0.0;
            demand(is_fine, damped, "0 without a compliance", damping)?;
        }
        let is_length = LENGTHS.contains(&s.length);
        demand(is_length, "length", "positive, from 1e-9 to 1e9", s.length)?;
        if let JointKind::Screw(lead) = &self.kind {
            let is_fine = lead.abs() <= *LENGTHS.end();
            demand(is_fine, "lead", "within ±1e9", lead)?;
        }
        self.axes.iter().try_for_each(Axis::check)
    }
}

impl Axis {
    fn check(&self) -> Result<(), Invalid> {
        if let Motion::Limited([lo, hi]) = self.motion {
            let within = |end: f64| end.is_infinite() || end.abs() <= LARGEST;
            let is_fine = lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY;
            let is_fine = is_fine && within(lo) && within(hi);
            demand(is_fine, "limits", "ascending", format_args!("{lo} to {hi}"))?;
        }
        not_negative("friction", self.friction)?;
        let Some(motor) = &self.motor else {
            return Ok(());
        };
        let most = motor.max_force;
        demand(most >= 0.0, "max_force", "0 or more", most)?;
        match &motor.target {
            Target::Velocity(speed) => finite("speed", [speed]),
            Target::Position {
                position,
                rates,
                stiffness,
                damping,
            } => {
                finite("position", [position])?;
                finite("rates", rates)?;
                not_negative("stiffness", *stiffness)?;
                not_negative("damping", *damping)?;
                // A step divides by them.
                let is_held = stiffness + damping >= 1.0 / LARGEST;
                let expected = "with the damping at least 1e-40";
                demand(is_held, "stiffness", expected, stiffness)
            }
        }
    }
}

/// Lengths that a joint can have (m).
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// Sizes of a gear's coefficients (-).
const COEFFICIENTS: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// Share of a gear's coefficients that is taken for rounding where they are to cancel (-): some thousand last digits.
const CANCELS: f64 = 1e-12;

/// Whether a gear acts on anything: what its terms add up to per body, in velocities of its sum by the body's.
pub(crate) fn have_effect(terms: &[GearTerm], mut rates: impl Iterator<Item = Twist>) -> bool {
    let size: f64 = terms.iter().map(|term| term.coefficient.abs()).sum();
    rates.any(|rate| rate.linear.norm() + rate.angular.norm() > CANCELS * size)
}

pub(super) fn check_gear(terms: &[GearTerm], joints: &[Joint]) -> Result<(), JointError> {
    let mut bodies: Vec<u32> = Vec::new();
    for term in terms {
        let joint = joints.get(term.joint as usize).ok_or(JointError::BadGear)?;
        if term.axis > 5 || matches!(joint.kind, JointKind::Gear(_)) {
            return Err(JointError::BadGear);
        }
        let c = term.coefficient;
        let is_fine = COEFFICIENTS.contains(&c.abs());
        let expected = "finite and not 0, of a size from 1e-12 to 1e12";
        demand(is_fine, "coefficient", expected, c)?;
        bodies.extend(joint.bodies.iter().filter(|b| **b != WORLD));
    }
    bodies.sort_unstable();
    bodies.dedup();
    match bodies.len() {
        0 => Err(JointError::BadGear),
        1..=4 => Ok(()),
        n => Err(JointError::TooManyBodies(n)),
    }
}

/// What one row of a joint did over the last (sub)step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowMemory {
    /// The joint.
    pub joint: u32,
    /// Which of its rows: the same from step to step.
    pub row: u8,
    /// The impulse to start from (N s).
    pub impulse: f64,
    /// The force, for springs (N).
    pub force: f64,
    /// Where a spring's error is to be at the next midpoint (m).
    pub aim: f64,
    /// The damper's share of the force (N).
    pub damper: f64,
}
