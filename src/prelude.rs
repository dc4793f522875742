//! What most programs that use the library need.

pub use crate::math::{Pose, Quat, Twist, Vec3};
pub use crate::scene::Scene;
pub use crate::solve::{Budget, Solver, SolverConfig};
pub use crate::step::{Simulation, StepReport};
pub use crate::world::{
    BodyId, BodyKind, BodySpec, Geometry, JointSpec, Material, Settings, Shape, World,
};

#[cfg(feature = "viewer")]
pub use crate::viewer::{Moreau, MoreauBody, MoreauPlugin};
