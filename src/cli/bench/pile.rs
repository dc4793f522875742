//! `moreau bench pile`: Poulsen's ball piles.

use super::measure::Bench;
use super::poulsen::{self, Plan, Quality};
use super::{Failure, Findings, paper};

const PLAN: Plan = Plan {
    tables: "piles",
    quality: Quality::Thesis,
    demos: &paper::BALL_PILES,
    compared: "ball_pile_80",
    schemes: &paper::LARGE_PILE,
    colors: &paper::LARGE_PILE_COLORS,
};

/// Runs the suite.
pub fn run(bench: &mut Bench, findings: &mut Findings) -> Result<(), Failure> {
    poulsen::run(bench, findings, &PLAN)?;
    Ok(())
}
