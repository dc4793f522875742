//! Generators: many bodies from a few numbers.
//!
//! To add one: a file here, and a line in the list below, which makes the variant of [`Generator`] and
//! declares the file.

use serde::{Deserialize, Serialize};

use super::build::{Builder, frame_rotation};
use super::check::{
    Check, Fields, Numbers, at_least, fields, finite, not_negative, positive, within,
};
use super::error::FieldError;
use super::schema::{Color, Style};
use crate::math::random::Random;
use crate::math::{Pose, Quat, Rotation, SymMat3, Twist, Vec3, tangent};
use crate::world::joint::{GearTerm, JointKind, Motion, Motor, Softness, Target};
use crate::world::{BodyId, BodyKind, BodySpec, Geometry, Groups, JointSpec, Part};

macro_rules! generators {
    ($($(#[$about:meta])* $file:ident::$Name:ident,)*) => {
        $(
            mod $file;
            pub use $file::*;
        )*

        /// A generator with its numbers.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Generator {
            $($(#[$about])* $Name($Name),)*
        }

        impl Generator {
            /// Its name in scene files.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$Name(_) => stringify!($Name),)*
                }
            }

            /// Checks its numbers.
            pub(super) fn check(&self) -> Check {
                match self {
                    $(Self::$Name(g) => g.check_fields().and_then(|()| g.check()),)*
                }
            }

            /// Its bodies' look and feel.
            pub(super) fn style(&self) -> &Style {
                match self {
                    $(Self::$Name(g) => &g.style,)*
                }
            }

            fn inner(&self) -> &dyn Generate {
                match self {
                    $(Self::$Name(g) => g,)*
                }
            }
        }
    };
}

generators! {
    /// Spheres in a regular grid.
    ball_grid::BallGrid,
    /// Rows of spheres at random distances.
    ball_pile::BallPile,
    /// Spheres that fall into an open box.
    sphere_box::SphereBox,
    /// Planar discs in a triangle.
    disc_pyramid::DiscPyramid,
    /// A tower of cubes.
    box_stack::BoxStack,
    /// A wall of bricks.
    wall::Wall,
    /// Boxes in a triangle.
    box_pyramid::BoxPyramid,
    /// Dominoes along a spiral.
    domino_spiral::DominoSpiral,
    /// A house of cards.
    card_house::CardHouse,
    /// Any shapes, turned at random, in a loose lattice.
    scatter::Scatter,
    /// A chain or cable of links.
    chain::Chain,
    /// Wheels, suspension, steering, brakes and power train of a vehicle.
    vehicle::Vehicle,
    /// A tower of logs.
    log_tower::LogTower,
    /// A heap of logs between stakes.
    logs::Logs,
    /// A bridge of planks, hung on two chains.
    plank_bridge::PlankBridge,
    /// A net of ropes.
    rope_net::RopeNet,
    /// A masonry arch of wedge-shaped stones.
    arch::Arch,
}

/// What a generator can do; its file makes the struct with `fields!`, which must have a `style`.
trait Generate {
    /// Number of bodies that it makes; huge rather than wrong when it overflows.
    fn count(&self) -> u64;
    /// Checks what the rules of single fields leave open.
    fn check(&self) -> Check {
        Ok(())
    }
    /// Adds its bodies. Called after `check`, and only when the count is within the limit.
    fn generate(&self, build: &mut Builder<'_>) -> Check;
}

impl Generator {
    /// Number of bodies that it makes.
    pub fn count(&self) -> u64 {
        self.inner().count()
    }

    /// Adds its bodies.
    pub(super) fn generate(&self, build: &mut Builder<'_>) -> Check {
        self.inner().generate(build)
    }
}

/// n (n + 1) / 2, at most `u64::MAX`.
fn triangular(n: u64) -> u64 {
    n.saturating_mul(n.saturating_add(1)) / 2
}

/// Half of the edges of a box.
fn cuboid(edges: [f64; 3]) -> Geometry {
    Geometry::Cuboid {
        half_extents: 0.5 * Vec3::from(edges),
    }
}

/// A body's pose from that of the generator and its place within.
fn at(origin: [f64; 3], place: Vec3) -> Pose {
    Pose::new(Vec3::from(origin) + place, Quat::identity())
}

/// A rotation whose first two columns are `x` and `y`.
fn axes(x: Vec3, y: Vec3) -> Quat {
    frame_rotation([x, y, x.cross(&y)])
}

/// Colliding with nothing.
const NO_GROUPS: Groups = Groups {
    memberships: 0,
    filter: 0,
};
