//! Pivoting ([`bpp`](crate::solve::bpp)) on islands whose friction is bounded row by row, which it solves exactly, or is
//! on discs that are linearised ([`Linear`]), after which Newton's steps have little to do.

use rayon::prelude::*;

use super::Newton;
use super::linear::Linear;
use super::stage::Stage;
use crate::problem::Problem;
use crate::solve::bpp::{self, Bpp, PivotRequest};
use crate::solve::island::Operator;
use crate::solve::method::Limits;
use crate::solve::{Parameters, Request};

/// The share of the granted work that pivoting may take (-): it takes next to nothing, or leads nowhere.
const SHARE: f64 = 0.3;
/// On discs it may take as much as so many Newton steps, and is not worth its while where a pivot takes more work than
/// one (-). The longest of the winch took 15, and those of dominoes that led nowhere 10 in the mean with 50. Pivots on
/// machines in motion and falling dominoes take 0.3 to 0.8 of a step, on cards 1.5, and five on a vehicle of six wheels,
/// where they lead nowhere half of the time and Newton's steps go on as quickly. Over the steps of docs/exact.md more work
/// is taken without either bound: 1.02 and 1.04 times as much.
const STEPS: f64 = 20.0;
const STEPS_PER_PIVOT: f64 = 1.0;

/// The memory of it.
pub struct Pivoting {
    bpp: Bpp,
    linear: Linear,
    /// Impulses to offer.
    offered: Vec<f64>,
    /// By island of the part: what it may take, as [`PivotRequest`] has it.
    most: Vec<Option<[f64; 2]>>,
    spent: Vec<Option<(u32, f64)>>,
    wanted: Vec<bool>,
}

impl Default for Pivoting {
    fn default() -> Self {
        Self {
            bpp: Bpp::new(&Parameters::defaults(bpp::INFO.parameters)),
            linear: Linear::default(),
            offered: Vec::new(),
            most: Vec::new(),
            spent: Vec::new(),
            wanted: Vec::new(),
        }
    }
}

impl Newton {
    /// Pivots on the islands that were taken, that are not solved, and whose contacts are not redundant, from the impulses
    /// `start`, whose sets are those of the last step: those of a few sweeps are not.
    pub(super) fn pivot(
        &mut self,
        problem: &Problem,
        request: &Request,
        limits: &Limits,
        start: &[f64],
    ) {
        let mut p = self.pivoting.take().unwrap_or_default();
        p.wanted.clear();
        p.wanted
            .extend((0..problem.islands.len()).map(|k| self.may_pivot(k, limits)));
        if p.wanted.contains(&true) {
            // What a Newton step would take is asked for.
            let engines = self.islands.par_iter_mut().zip(&p.wanted);
            let wanted = engines.filter(|(_, wanted)| **wanted);
            wanted.for_each(|(engine, _)| engine.iter_mut().for_each(|e| e.bodies.make_ready()));
            p.offered.clear();
            p.offered.extend_from_slice(start);
            self.pivot_wanted(&mut p, problem, request, limits);
        }
        self.pivoting = Some(p);
    }

    fn pivot_wanted(
        &mut self,
        p: &mut Pivoting,
        problem: &Problem,
        request: &Request,
        limits: &Limits,
    ) {
        let wanted = || p.wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
        p.most.clear();
        p.most
            .extend(wanted().map(|(island, _)| Some(self.allowance(island))));
        p.linear.take(problem, &p.wanted, &p.offered);
        p.linear.linearise();
        let asked = PivotRequest {
            transverse_compliance: &p.linear.transverse_compliance,
            deadline: limits.deadline,
            most: &p.most,
        };
        let part = &mut p.linear.part;
        p.bpp.solve_islands(&part.problem, &mut part.lambda, &asked);
        p.linear.store(problem, &mut p.offered);
        p.spent.clear();
        p.spent.resize(problem.islands.len(), None);
        for (k, (island, _)) in wanted().enumerate() {
            // It is an iteration, as a round of sweeps is.
            p.spent[island] = p.bpp.spent(k).map(|work| (1, work));
        }
        self.offer(problem, request, &p.offered, &p.spent);
    }

    /// Whether an island is not solved, and pivoting may solve it.
    fn may_pivot(&self, island: usize, limits: &Limits) -> bool {
        let Some(engine) = self.islands[island].as_deref() else {
            return false;
        };
        let mut friction = engine.bodies.blocks().iter().filter_map(|b| b.friction());
        engine.has(Stage::Pivoting)
            && self.takes(island)
            && !engine.accepts(self.errors[island], limits.tolerance)
            && !engine.state.is_over(&limits.with(self.granted[island]))
            && !engine.alternates()
            && friction.all(Linear::has)
    }

    /// What may be spent on an island (multiplications): in all, and on a pivot.
    fn allowance(&self, island: usize) -> [f64; 2] {
        let engine = self.engine(island);
        let all = SHARE * self.granted[island] - engine.state.tally.work;
        if engine.is_of_boxes() {
            return [all, f64::INFINITY];
        }
        let step = engine.work_of_a_step();
        [all.min(STEPS * step), STEPS_PER_PIVOT * step]
    }
}
