//! Moreau: rigid bodies in contact, solved by many solvers under one residual.
//!
//! The pipeline on one screen is [`step::Simulation::step`]:
//!
//! 1. half step of the positions;
//! 2. [`collide`]: broad and narrow phase at the midpoint;
//! 3. [`problem`]: the assembled problem, w = A Λ + b with every block's law;
//! 4. [`solve`]: a solver by name finds Λ; [`problem::residual`] says how well;
//! 5. second half step of the positions, and stabilisation.
//!
//! A [`world::World`] holds the state.

pub mod collide;
pub mod math;
pub mod measure;
pub mod problem;
pub mod scene;
pub mod solve;
pub mod step;
#[cfg(feature = "viewer")]
pub mod viewer;
pub mod world;
