//! What most programs that use the library need.

pub use crate::math::{Pose, Quat, Twist, Vec3};
pub use crate::scene::Scene;
pub use crate::solve::{Budget, ConfigError, Solver, SolverConfig, Status};
pub use crate::step::{Simulation, StepError, StepReport};
pub use crate::world::joint::{JointKind, Motion};
pub use crate::world::{
    BodyError, BodyId, BodyKind, BodySpec, Geometry, JointError, JointSpec, Material, Settings,
    Shape, World,
};

#[cfg(feature = "plugin")]
pub use crate::plugin::{Moreau, MoreauBody, MoreauPlugin};
