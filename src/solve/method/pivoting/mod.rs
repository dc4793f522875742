//! Pivoting ([`bpp`](crate::solve::bpp)) on an island whose friction is bounded row by row, which it solves exactly, or is
//! on discs that are linearised ([`Linear`]), after which Newton's steps have little to do.

mod linear;

use std::time::Instant;

use self::linear::Linear;
use super::{Site, State};
use crate::problem::FrictionLaw;
use crate::problem::law::Law;
use crate::solve::bpp::IslandPivoting;
use crate::solve::island::Operator;
use crate::solve::island::bodies::Bodies;

/// The memory of it.
#[derive(Default)]
pub(in crate::solve) struct Pivoting {
    pivots: IslandPivoting,
    linear: Linear,
}

impl Pivoting {
    /// Whether pivoting solves the laws of an island, or their linearisation.
    pub fn solves(bodies: &Bodies) -> bool {
        let mut friction = bodies.blocks().iter().filter_map(|b| b.friction());
        friction.all(|f| f.law.is_polyhedral() || f.law == FrictionLaw::Disc)
    }

    /// Whether friction is bounded row by row at every contact, which pivoting solves exactly.
    pub fn solves_exactly(bodies: &Bodies) -> bool {
        let mut friction = bodies.blocks().iter().filter_map(|b| b.friction());
        friction.all(|friction| friction.law.is_polyhedral() || friction.mu == [0.0; 2])
    }

    /// Pivots with at most so many multiplications in all and for a pivot. Where it makes any, the state's impulses are
    /// what they led to, and it returns what they took (multiplications).
    pub fn run(
        &mut self,
        site: &Site<'_>,
        bodies: &Bodies,
        state: &mut State,
        most: [f64; 2],
        deadline: Option<Instant>,
    ) -> Option<f64> {
        let linear = &mut self.linear;
        linear.take(site.problem, site.island, site.start);
        linear.linearise();
        let part = &mut linear.part;
        let compliance = &linear.transverse_compliance;
        let work = (self.pivots).solve(&part.problem, &mut part.lambda, compliance, most, deadline);
        work?;
        linear.restore(site.problem);
        let part = &linear.part;
        let first = bodies.island.contact_rows();
        let (contacts, rows) = state.x.split_at_mut(first);
        contacts.copy_from_slice(&part.lambda[..first]);
        // What moves nothing is not among the island's rows.
        let mut all = part.rows().iter().zip(&part.lambda[first..]);
        for (x, source) in rows.iter_mut().zip(&bodies.island.rows.source) {
            let own = all.find(|(row, _)| *row == source);
            *x = own.map_or(0.0, |(_, impulse)| *impulse);
        }
        work
    }
}
