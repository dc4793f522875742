pub mod math;
pub mod problem;
pub mod world;
