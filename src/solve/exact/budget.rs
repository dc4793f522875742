//! What islands may take of a step's work budget, and what they are likely to take.

use super::engine::{Engine, alternates, size};
use super::stages;
use crate::math::Mat3;
use crate::problem::Problem;
use crate::solve::island::{SIDE_BY_SIDE, Tally};
use crate::solve::method::conjugate_sweeps::WORK_PER_SWEPT_ROW;
use crate::solve::{Over, Reason, SolveReport, work};

/// The finest residual that is asked of an island, whatever the budget says (m/s).
pub const FINEST: f64 = 1e-13;

/// The residual that it goes on to while every point gets nearer, as a share of the tolerance (-): the last steps are
/// the cheapest.
pub const AIM: f64 = 0.01;

/// Newton steps that should fit into the work of an island at least.
pub const NEED: f64 = 3.0;
/// The same of iterations of alternating directions, where these come first. One that stands takes up to five.
const ITERATIONS: f64 = 3.0;

/// An island that no impulse has held yet may take so many times its share of the work (-), and where contacts are
/// redundant so many: it is solved from nothing once, and goes on from there. A house of cards takes as much as the
/// default then, a wall of 915 bricks that touch on all sides up to twelve times as much, and a tenth of it in the
/// steps that follow; left unsolved they sag, and shake for a minute. What needs no more than that from nothing is
/// begun, too: most of it stands afterwards, and costs nothing.
const FIRST_MULTIPLE: [f64; 2] = [10.0, 20.0];

/// What of an island's work is reserved for sweeps after an exact solution that ends early, at most (-), so that both together
/// take no more than that. The rest suffices for a wall of 915 bricks that touch on all sides, whose exact solution ends early
/// in some steps: it moves by less than 0.1 mm in a second.
pub const RESERVED_FOR_SWEEPS: f64 = 0.25;

/// Multiplications of a row in a sweep by graph colours, which are made side by side, as [`SIDE_BY_SIDE`] has it: one of
/// the three passes that [`WORK_PER_SWEPT_ROW`] counts.
const SWEPT_ROW: f64 = SIDE_BY_SIDE * WORK_PER_SWEPT_ROW / 3.0;

/// What may be spent on a problem.
#[derive(Clone, Copy, Debug)]
pub struct WorkBudget {
    /// Multiplications by which it is decided what is solved exactly; infinite where there is no limit.
    pub work: f64,
    /// Of these, what is left of the step's; whoever is admitted may take what it needs at least.
    pub left: f64,
    /// What is left of the step's work, of which machines take no more, even if no impulse holds them yet.
    pub step: f64,
    /// The residual that is asked for (m/s).
    pub tolerance: f64,
    /// Sweeps that are to follow an exact solution that ends early.
    pub sweeps: u32,
    /// Whether every island is admitted, with a share by its rows.
    pub admits_all: bool,
    /// Whether islands that no impulse holds yet may take more.
    pub multiplies: bool,
}

/// Multiplications that a solution takes at least, about; infinite where its factor is too large.
pub fn need(engine: &mut Engine) -> f64 {
    engine.bodies.make_ready();
    if engine.bodies.system.is_too_large() {
        f64::INFINITY
    } else if engine.alternates() {
        stages::work_of_alternating(&engine.bodies, ITERATIONS)
    } else {
        NEED * engine.work_of_a_step()
    }
}

/// Multiplications of a sweep by graph colours over an island, about.
pub fn work_of_a_sweep(engine: &Engine) -> f64 {
    SWEPT_ROW * engine.state.x.len() as f64
}

/// How many sweeps by graph colours over so many rows some work pays for (multiplications).
pub fn sweeps_for(work: f64, rows: usize) -> u32 {
    (work / (SWEPT_ROW * rows as f64)) as u32
}

/// Why an island is swept, unless its impulses solve it.
pub struct Refusal {
    pub reason: Reason,
    /// What a solution needs, likely or as counted, where that is the reason, and what it may take (multiplications).
    pub need: f64,
    pub work_budget: f64,
}

impl WorkBudget {
    /// So much work, of which every island gets its share.
    pub fn to_all(work: f64, tolerance: f64) -> Self {
        Self {
            work,
            left: work,
            step: work,
            tolerance,
            sweeps: 0,
            admits_all: true,
            multiplies: false,
        }
    }

    /// Some work in place of sweeps over so many rows (multiplications): it, or what those would take, where that is more: 150
    /// sweeps over the 43,000 rows of a wall of 1800 bricks take 43 ms.
    pub fn in_place_of_sweeps(&self, work: f64, rows: usize) -> f64 {
        let sweeps = f64::from(self.sweeps) * SWEPT_ROW * rows as f64;
        work.max(sweeps)
    }

    /// How many times its share of the work an island may take (-), by whether its directions alternate, and whether any
    /// impulse holds it.
    pub fn multiple(&self, alternates: bool, is_held: bool) -> f64 {
        match is_held || !self.multiplies {
            true => 1.0,
            false => FIRST_MULTIPLE[usize::from(alternates)],
        }
    }

    /// Why an island is swept before anything is counted, unless its impulses solve it; none where it is to be counted.
    pub fn refuse(&self, problem: &Problem, island: usize, lambda: &[f64]) -> Option<Refusal> {
        if is_small_among_many(problem, island) {
            return Some(Refusal {
                reason: Reason::Many,
                need: 0.0,
                work_budget: self.work,
            });
        }
        let need = likely_need(problem, island);
        let [rows, velocities] = size(problem, island);
        let contacts = problem.islands.contacts.of(island).iter();
        let mut contacts = contacts.map(|c| problem.contacts.rows(*c as usize));
        let first = problem.contact_rows();
        let mut others = problem.islands.rows.of(island).iter();
        let is_held = contacts.any(|rows| lambda[rows].iter().any(|x| *x != 0.0))
            || others.any(|r| lambda[first + *r as usize] != 0.0);
        let work_budget = self.in_place_of_sweeps(self.work, rows)
            * self.multiple(alternates(rows, velocities), is_held);
        (need > work_budget).then_some(Refusal {
            reason: Reason::Estimate,
            need,
            work_budget,
        })
    }
}

/// Of more islands than that, those of fewer contacts are swept: an engine for each takes memory, and sweeps solve
/// them in a few iterations.
const MANY: usize = 1000;
const WORTHWHILE: usize = 4;

/// Whether an island is too small for an engine of its own, there being so many.
fn is_small_among_many(problem: &Problem, island: usize) -> bool {
    problem.islands.len() > MANY && problem.islands.contacts.of(island).len() < WORTHWHILE
}

/// What a solution of an island takes at least, about, before its pattern is looked at (multiplications): its
/// factorisations, of blocks of 6 per body, cubed, times the bodies to the power of nested dissection (George 1973;
/// Lipton, Rose & Tarjan 1979), 1.5 where they lie in a plane, and 2 in space, where a body has more neighbours, and the
/// contacts' normals lie in no plane. Measured, for one: 2.5e6 for the wall (250 bodies, 1.9 pairs for each), 1.1e7 for one
/// of 410 bricks that touch on all sides (2.8 pairs), 62e6 for the grid of 8³ (512 bodies, 2.6 pairs).
fn likely_need(problem: &Problem, island: usize) -> f64 {
    const PER_BODY: f64 = 216.0;
    const IN_PLANE: f64 = 3.0;
    const FLAT: f64 = 2.3;
    let bodies = problem.islands.bodies.of(island).len() as f64;
    let contacts = problem.islands.contacts.of(island);
    let of = |c: u32| problem.contacts.bodies[c as usize];
    // Points of one manifold stand together.
    let pairs = contacts.chunk_by(|a, b| of(*a) == of(*b)).count() as f64;
    let factor = if pairs > FLAT * bodies && !lies_in_plane(problem, contacts) {
        PER_BODY * bodies * bodies
    } else {
        IN_PLANE * PER_BODY * bodies.powf(1.5)
    };
    let [rows, velocities] = size(problem, island);
    let factors = if alternates(rows, velocities) {
        1.0
    } else {
        NEED
    };
    factors * SIDE_BY_SIDE * factor
}

/// Whether the normals of contacts lie in a plane, or on a line: the determinant of the mean of n nᵀ, which is 1/27 for
/// normals in all directions.
fn lies_in_plane(problem: &Problem, contacts: &[u32]) -> bool {
    const FLAT: f64 = 1e-3;
    let normals = contacts
        .iter()
        .map(|c| problem.contacts.frame[*c as usize].axes()[0]);
    let sum: Mat3 = normals.map(|n| n * n.transpose()).sum();
    (sum / contacts.len() as f64).determinant() < FLAT / 27.0
}

/// Notes what was done on islands, each with the entries of its factor and the multiplications of a factorisation.
pub fn count(islands: impl Iterator<Item = (Tally, [f64; 2])> + Clone, report: &mut SolveReport) {
    let tallies = islands.clone().map(|(tally, _)| tally);
    let most = |of: fn(&Tally) -> usize| tallies.clone().map(|t| of(&t)).max();
    let sum = |of: fn(&Tally) -> usize| tallies.clone().map(|t| of(&t)).sum::<usize>();
    report.iterations = most(|t| t.steps).unwrap_or(0) as u32;
    let factored = islands.filter(|(tally, _)| tally.factors > 0);
    let entries: f64 = factored.clone().map(|(_, cost)| cost[0]).sum();
    let one: f64 = factored.map(|(_, cost)| cost[1]).sum();
    let numbers = [
        (
            "proximal points",
            "Problems with a penalty of their own, where plain steps led nowhere. The most of any island.",
            "-",
            Over::Max,
            most(|t| t.points).unwrap_or(0) as f64,
        ),
        (
            "factorisations",
            "Of Newton's matrix. All islands together.",
            "-",
            Over::Sum,
            sum(|t| t.factors) as f64,
        ),
        (
            "solves with a factor",
            "Two substitutions each. All islands together.",
            "-",
            Over::Sum,
            sum(|t| t.solves) as f64,
        ),
        (
            "entries of the factors",
            "Below the diagonal, stored zeros included. All islands together.",
            "-",
            Over::Max,
            entries,
        ),
        (
            "work of a factorisation",
            "Multiplications, in millions. All islands together.",
            "1e6",
            Over::Max,
            1e-6 * one,
        ),
        (
            work::NAME,
            work::SUMMARY,
            "1e6",
            Over::Sum,
            1e-6 * tallies.clone().map(|t| t.work).sum::<f64>(),
        ),
    ];
    for (name, summary, unit, over, value) in numbers {
        report.note(name, summary, unit, over, value);
    }
}
