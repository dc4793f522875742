//! What cannot be: who fights whom in a step.

use std::fmt;

/// A drive that could not have its way in a step, or a loop of joints that could not be closed, and gave way.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// Index of the joint.
    pub joint: u32,
    /// The coordinate of its drive (0 to 5); none where the joint itself gave way.
    pub drive: Option<u8>,
    /// What gave way, by name.
    pub what: String,
    /// What bears most of what it was pushed against, by name; empty where that is nothing but joints.
    pub against: String,
    /// Its force (N), or the torque of a drive that turns (N m), positive along its row: what raises the drive's coordinate. Of a
    /// joint that gives way itself, that of its row that bears most.
    pub force: f64,
}

impl Contradiction {
    /// Whether it is of the same, whatever the force is.
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |c: &Self| (c.joint, c.drive);
        key(self) == key(other) && self.against == other.against
    }

    /// Unit of the force.
    pub fn unit(&self) -> &'static str {
        match self.drive {
            Some(3..) => "N m",
            _ => "N",
        }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, against, .. } = self;
        match (against.as_str(), self.drive) {
            ("", None) => write!(f, "{what}, of a loop that cannot be closed")?,
            ("", _) => write!(f, "{what}")?,
            _ => write!(f, "{what} against {against}")?,
        }
        let (force, unit) = (self.force.abs(), self.unit());
        match force {
            size if size < 1e3 => write!(f, ", {force:.0} {unit}"),
            size if size < 1e6 => write!(f, ", {:.3} k{unit}", force / 1e3),
            _ => write!(f, ", {:.3e} {unit}", force),
        }
    }
}
