//! Joints, and what is made of them.

mod by_default;
mod cables;
mod catches;
mod contradictions;
mod granted;
mod hands;
mod joints;
mod powertrain;
mod rigid_joints;
mod vehicles;
