//! Generators: many bodies from a few numbers.
//!
//! To add one: a file here, a variant below, and a line in `Generator::inner`.

mod ball_grid;
mod ball_pile;
mod box_pyramid;
mod box_stack;
mod card_house;
mod chain;
mod disc_pyramid;
mod domino_spiral;
mod log_tower;
mod plank_bridge;
mod scatter;
mod sphere_box;
mod vehicle;
mod wall;

use serde::{Deserialize, Serialize};

use super::build::Builder;
use super::check::Check;
use super::error::FieldError;
use super::schema::Style;
pub use ball_grid::{BallGrid, Layout, Size};
pub use ball_pile::BallPile;
pub use box_pyramid::BoxPyramid;
pub use box_stack::BoxStack;
pub use card_house::CardHouse;
pub use chain::{Chain, LinkJoint, LinkShape};
pub use disc_pyramid::DiscPyramid;
pub use domino_spiral::DominoSpiral;
pub use log_tower::LogTower;
pub use plank_bridge::PlankBridge;
pub use scatter::Scatter;
pub use sphere_box::SphereBox;
pub use vehicle::{Axle, Vehicle};
pub use wall::Wall;

/// A generator with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Generator {
    /// Spheres in a regular grid.
    BallGrid(BallGrid),
    /// Rows of spheres at random distances.
    BallPile(BallPile),
    /// Spheres that fall into an open box.
    SphereBox(SphereBox),
    /// Planar discs in a triangle.
    DiscPyramid(DiscPyramid),
    /// A tower of cubes.
    BoxStack(BoxStack),
    /// A wall of bricks.
    Wall(Wall),
    /// Boxes in a triangle.
    BoxPyramid(BoxPyramid),
    /// Dominoes along a spiral.
    DominoSpiral(DominoSpiral),
    /// A house of cards.
    CardHouse(CardHouse),
    /// Any shapes, turned at random, in a loose lattice.
    Scatter(Scatter),
    /// A chain or cable of links.
    Chain(Chain),
    /// A bridge of planks, hung on two chains.
    PlankBridge(PlankBridge),
    /// Wheels, suspension, steering, brakes and power train of a vehicle.
    Vehicle(Vehicle),
    /// A tower of logs.
    LogTower(LogTower),
}

/// What a generator can do.
pub(super) trait Generate {
    /// Number of bodies that it makes; huge rather than wrong when it overflows.
    fn count(&self) -> u64;
    /// Checks its numbers.
    fn check(&self) -> Check;
    /// Its bodies' look and feel.
    fn style(&self) -> &Style;
    /// Adds its bodies. Called after `check`, and only when the count is within the limit.
    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError>;
}

impl Generator {
    /// Its name in scene files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BallGrid(_) => "BallGrid",
            Self::BallPile(_) => "BallPile",
            Self::SphereBox(_) => "SphereBox",
            Self::DiscPyramid(_) => "DiscPyramid",
            Self::BoxStack(_) => "BoxStack",
            Self::Wall(_) => "Wall",
            Self::BoxPyramid(_) => "BoxPyramid",
            Self::DominoSpiral(_) => "DominoSpiral",
            Self::CardHouse(_) => "CardHouse",
            Self::Scatter(_) => "Scatter",
            Self::Chain(_) => "Chain",
            Self::PlankBridge(_) => "PlankBridge",
            Self::Vehicle(_) => "Vehicle",
            Self::LogTower(_) => "LogTower",
        }
    }

    /// Number of bodies that it makes.
    pub fn count(&self) -> u64 {
        self.inner().count()
    }

    pub(super) fn inner(&self) -> &dyn Generate {
        match self {
            Self::BallGrid(g) => g,
            Self::BallPile(g) => g,
            Self::SphereBox(g) => g,
            Self::DiscPyramid(g) => g,
            Self::BoxStack(g) => g,
            Self::Wall(g) => g,
            Self::BoxPyramid(g) => g,
            Self::DominoSpiral(g) => g,
            Self::CardHouse(g) => g,
            Self::Scatter(g) => g,
            Self::Chain(g) => g,
            Self::PlankBridge(g) => g,
            Self::Vehicle(g) => g,
            Self::LogTower(g) => g,
        }
    }
}

/// n (n + 1) / 2, at most `u64::MAX`.
fn triangular(n: u64) -> u64 {
    n.saturating_mul(n.saturating_add(1)) / 2
}
