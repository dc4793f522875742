//! What a step did.

use super::context::Context;
use super::contradiction::Contradiction;
use crate::measure::Timings;
use crate::measure::energy::Balance;
use crate::problem::residual::{self, JudgedLaw, Residual};
use crate::solve::{SolveReport, Status};
use crate::world::World;

/// What one step did.
#[derive(Clone, Debug, Default)]
pub struct StepReport {
    /// Index of the step, from 1.
    pub step: u64,
    /// Simulated time after it (s).
    pub time: f64,
    /// Wall time spent per stage.
    pub timings: Timings,
    /// Contacts of the last substep, speculative ones included.
    pub contacts: usize,
    /// Of these, contacts between two dynamic bodies.
    pub dynamic_contacts: usize,
    /// Whether it is the step before, to the last bit, and was not taken again, see
    /// [`Simulation::set_sleeping`](super::Simulation::set_sleeping); what is measured is then that step's, but for times.
    pub is_repeated: bool,
    /// How often the step was halved until it resolved how its joints turn (-).
    pub halvings: u32,
    /// General rows of the last substep.
    pub rows: usize,
    /// Islands of the last substep.
    pub islands: usize,
    /// The solver's report on all solves of the step: what was done is summed, a failure of any of them is
    /// kept, and the rest is the last one's.
    pub solve: SolveReport,
    /// The residual, the worst over the substeps that it was evaluated in, under the law that the solver
    /// solves exactly; none where it was evaluated in none.
    pub residual: Option<Residual>,
    /// That law; none where it was evaluated in none.
    pub law: Option<JudgedLaw>,
    /// The same under exact Coulomb friction, where that is another law.
    pub residual_coulomb: Option<Residual>,
    /// Deepest overlap found at the midpoints (m).
    pub penetration: f64,
    /// How far the worst held coordinate of a joint was found at a midpoint from where the (sub)step before it aimed (m): |φ|
    /// where it is rigid, what a rigid limit is overrun by, and |φ + (2Λ − Λ₋)/(hk)| where it is a stiff spring. Angles count
    /// by their joint's length.
    pub joint_error: f64,
    /// What could not have its way, and gave way: the largest force of each over the substeps.
    pub contradictions: Vec<Contradiction>,
    /// Where energy went, if [`Simulation::set_energy`](super::Simulation::set_energy) asks for it.
    pub energy: Option<Balance>,
}

/// In which substeps the residual is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResidualSchedule {
    /// In every one.
    #[default]
    Every,
    /// In the last one of every step.
    Last,
    /// In none.
    Never,
}

impl ResidualSchedule {
    pub(super) fn asks_for(self, is_last: bool) -> bool {
        match self {
            Self::Every => true,
            Self::Last => is_last,
            Self::Never => false,
        }
    }
}

impl StepReport {
    /// Adds the residuals of one solved substep.
    pub(super) fn add_residuals(&mut self, c: &mut Context, law: JudgedLaw) {
        let mut evaluate =
            |law| residual::evaluate(&c.problem, &c.lambda, law, &mut c.residual_workspace);
        keep_worse(&mut self.residual, evaluate(law));
        self.law = Some(law);
        if law != JudgedLaw::Own || c.problem.contacts.have_polyhedra() {
            keep_worse(&mut self.residual_coulomb, evaluate(JudgedLaw::Coulomb));
        }
    }

    /// Forgets how well substeps were solved that are not taken; what they took is kept.
    pub(super) fn give_up(&mut self) {
        [self.residual, self.residual_coulomb] = [None; 2];
        [self.penetration, self.joint_error] = [0.0; 2];
        self.contradictions.clear();
        self.solve.status = Status::Converged;
    }

    /// Adds what else one substep did.
    pub(super) fn add_substep(&mut self, world: &World, c: &Context, solve: SolveReport) {
        let problem = &c.problem;
        let contacts = &problem.contacts;
        let is_dynamic = |b: &u32| problem.bodies.is_dynamic(*b as usize);
        let both_move = |pair: &&[u32; 2]| pair.iter().all(is_dynamic);
        self.contacts = contacts.len();
        self.dynamic_contacts = contacts.bodies.iter().filter(both_move).count();
        self.rows = problem.rows.len();
        self.islands = problem.islands.len();
        let overlaps = contacts.gap.iter().map(|gap| -gap);
        self.penetration = overlaps.fold(self.penetration, f64::max);
        let errors = c.joints.errors().iter().copied();
        self.joint_error = errors.fold(self.joint_error, f64::max);
        self.solve = std::mem::take(&mut self.solve).followed_by(solve);
        for found in c.joints.contradictions(world, problem, &c.lambda) {
            match self
                .contradictions
                .iter_mut()
                .find(|known| known.is_same(&found))
            {
                Some(known) if known.force.abs() >= found.force.abs() => {}
                Some(known) => *known = found,
                None => self.contradictions.push(found),
            }
        }
    }
}

/// Keeps the worse of two residuals; of equal ones the later.
fn keep_worse(kept: &mut Option<Residual>, found: Residual) {
    if kept.is_none_or(|k| k.residual.total_cmp(&found.residual).is_le()) {
        *kept = Some(found);
    }
}
