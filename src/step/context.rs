//! What the stages of a step read and write besides the world.

use super::report::StepError;
use super::{assemble, integrate, joints, rounds, stiffness, sweep};
use crate::collide::{Collider, Crowd};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::ResidualWorkspace;
use crate::world::{Detection, World};

/// The memory of all stages, reused from step to step.
#[derive(Default)]
pub struct Context {
    /// Pairs, contacts and manifolds at the midpoint.
    pub collider: Collider,
    /// The problem w = A Λ + b.
    pub problem: Problem,
    /// The joints' rows.
    pub joints: joints::Workspace,
    /// The rounds that close the joints.
    pub rounds: rounds::Rounds,
    /// The stiffness of turning forces.
    pub stiffness: stiffness::Workspace,
    /// Λ that the solver starts from (N s).
    pub start: Vec<f64>,
    /// Λ (N s).
    pub lambda: Vec<f64>,
    /// u_E.
    pub velocity: Vec<Twist>,
    /// What keeps bodies from passing others.
    pub sweep: sweep::Sweep,
    /// For the residual.
    pub residual_workspace: ResidualWorkspace,
}

impl Context {
    /// Refuses a step in which more bodies meet than it can hold.
    pub fn check_crowd(&self, world: &World) -> Result<(), StepError> {
        match self.collider.crowd() {
            Some(Crowd { count, what, most }) => Err(StepError::TooMany {
                step: world.step_index + 1,
                count,
                what,
                most,
            }),
            None => Ok(()),
        }
    }

    /// Forces at M: M̃⁻¹ and u_free = u_S + M̃⁻¹ h f.
    pub fn apply_forces(&mut self, world: &World) {
        let h = world.settings.substep();
        integrate::free_velocities(world, h, &mut self.problem);
    }

    /// The problem of the contacts and joints that were found: rows, islands, biases, and Λ to start from. Contacts that
    /// are not new keep their frames.
    pub fn assemble(&mut self, world: &mut World, are_new: bool) {
        assemble::contacts(world, are_new, &mut self.problem, &mut self.lambda);
        let settings = &world.settings;
        if are_new && settings.substeps > 1 && settings.detection == Detection::Step {
            self.collider.note(world, &self.problem.contacts);
        }
        self.joints.assemble(world, &mut self.problem);
        self.problem.find_islands(self.collider.are_same_pairs);
        if world.settings.warm_start {
            self.lambda.extend_from_slice(self.joints.start());
        }
        self.lambda.resize(self.problem.row_count(), 0.0);
        self.start.clone_from(&self.lambda);
    }

    /// Begins the rounds of a (sub)step, which is to close so much of the joints' errors; false where no joint needs them.
    pub fn begin_rounds(&mut self, world: &World, share: f64) -> bool {
        if !self.joints.have_positions() {
            self.rounds.clear();
            return false;
        }
        self.rounds.begin(world, &self.problem, &self.joints);
        self.joints.begin(world, &mut self.problem, share);
        self.joints
            .linearise(world, &self.problem, self.rounds.about());
        self.joints.relinearise(&mut self.problem);
        self.joints.soften_loops(world, &mut self.problem);
        self.rounds
            .set_bodies(world, &mut self.problem, &mut self.stiffness);
        let first = self.problem.contact_rows();
        self.joints
            .stiffen_ropes(&mut self.problem, &self.start[first..]);
        self.joints
            .aim_ropes(&mut self.problem, self.rounds.about());
        true
    }

    /// From the next linearisation on only a share of what is open of the joints is closed.
    pub fn relax_joints(&mut self, share: f64) {
        self.joints.relax(&mut self.problem, share);
    }

    /// Linearises the joints about the velocities that a round has found, and says how far they are from their laws there
    /// (m/s): by what gapes, and by what the velocities lack of the impulses' momentum.
    pub fn look_at_joints(&mut self, world: &World) -> f64 {
        self.joints.linearise(world, &self.problem, &self.velocity);
        let (problem, lambda) = (&mut self.problem, &self.lambda);
        let gap = self.joints.gap_ahead(problem, lambda);
        self.joints.exchange_directions(problem);
        let left = self.rounds.momentum_left(problem, lambda, &self.velocity);
        self.joints.exchange_directions(problem);
        gap.max(left)
    }

    /// Whether a step of this length resolves how the joints turn in it.
    pub fn are_joints_resolved(&self) -> bool {
        self.rounds.are_resolved(self.problem.h, &self.velocity)
    }

    /// Ends the rounds with velocities of exactly the impulses' momentum, as far as `tolerance` allows (m/s).
    pub fn end_rounds(&mut self, tolerance: f64) {
        let (problem, velocity) = (&mut self.problem, &mut self.velocity);
        // Along the directions that these velocities lead to, and not those that the round began with.
        self.joints.exchange_directions(problem);
        self.rounds
            .balance(problem, &self.lambda, tolerance, velocity);
        self.joints.exchange_directions(problem);
    }

    /// Sets the next round's problem up: a chord leaves it but for its right-hand side.
    pub fn next_round(&mut self, world: &mut World, is_chord: bool) {
        let problem = &mut self.problem;
        if self.rounds.mix(problem, &self.lambda, &self.velocity) {
            self.joints.linearise(world, problem, self.rounds.about());
        }
        if is_chord {
            self.rounds.keep_bodies(problem, &self.joints);
        } else {
            self.joints.remember_forces(world, problem, &self.lambda);
            self.joints.relinearise(problem);
            self.rounds.set_bodies(world, problem, &mut self.stiffness);
            self.joints.stiffen_ropes(problem, self.rounds.impulses());
        }
        self.joints.hold_on(problem, self.rounds.impulses());
        self.joints.aim_ropes(problem, self.rounds.about());
    }

    /// The problem as it is where nothing is known of where the velocities lead.
    pub fn plain_round(&mut self, world: &World) {
        let problem = &mut self.problem;
        self.joints.restore_rows(problem);
        self.rounds.restore_free(problem);
        self.joints.aim_ropes(problem, &world.bodies.velocity);
    }

    /// u ← u_E, and what the next step starts from of the joints: impulses and forces.
    pub fn end(&mut self, world: &mut World) {
        let (problem, lambda) = (&self.problem, &self.lambda);
        integrate::apply_velocities(world, &self.velocity);
        world.memory_step = problem.h;
        self.joints.remember(world, problem, lambda);
        self.joints.remember_forces(world, problem, lambda);
    }

    /// The same of the contacts, such a time after the midpoint (s): their impulses and manifolds.
    pub fn remember(&mut self, world: &mut World, are_new: bool, time: f64) {
        assemble::remember(world, &self.problem, &self.lambda, time);
        if are_new {
            std::mem::swap(&mut world.manifolds, &mut self.collider.manifolds);
        }
    }
}
