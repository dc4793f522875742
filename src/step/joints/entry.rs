//! What rows are made of: their numbers, their entries, and angles as lengths.

use crate::math::Twist;
use crate::world::joint::Joint;

/// Numbers of the rows of a joint: six that lock a coordinate or couple some, then per coordinate a lower and an upper
/// limit, a motor and friction, and what only the rounds' matrix knows.
pub mod number {
    pub const LOCK: u8 = 0;
    pub const LOWER: u8 = 6;
    pub const UPPER: u8 = 12;
    pub const MOTOR: u8 = 18;
    pub const FRICTION: u8 = 24;
    /// Two that stand for how stiff a taut rope is across. They are none of its laws.
    pub const ACROSS: u8 = 30;
}

/// A body, and the row's Jacobian there.
pub type Entry = (u32, Twist);

/// What coordinate `k` of a joint is multiplied with to become a length (m).
pub fn row_scale(joint: &Joint, k: usize) -> f64 {
    if Joint::is_length(k) {
        1.0
    } else {
        joint.softness.length
    }
}

/// A Jacobian times a factor.
pub fn scaled(j: &Twist, factor: f64) -> Twist {
    Twist::new(j.linear * factor, j.angular * factor)
}
