//! What the stages of a step read and write besides the world.

use super::error::StepError;
use super::joints::{Iterate, Joints};
use super::pace::Pace;
use super::{assemble, ccd, integrate};
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
    /// The joints' rows, and the rounds that close them.
    pub joints: Joints,
    /// Λ that the solver starts from (N s).
    pub start: Vec<f64>,
    /// Λ (N s).
    pub lambda: Vec<f64>,
    /// u_E.
    pub velocity: Vec<Twist>,
    /// Energy that impacts before the (sub)step's solution have given (J).
    pub struck: f64,
    /// What keeps bodies from passing others.
    pub ccd: ccd::Ccd,
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
    pub fn apply_forces(&mut self, world: &World, h: f64) {
        self.problem.h = h;
        integrate::free_velocities(world, h, &mut self.problem);
    }

    /// The problem of the contacts and joints that were found: rows, islands, biases, and Λ to start from. Contacts that
    /// are not new keep their frames.
    pub fn assemble(&mut self, world: &mut World, pace: &Pace, are_new: bool) {
        assemble::contacts(world, are_new, &mut self.problem, &mut self.lambda);
        let settings = &world.settings;
        if are_new && pace.substeps > 1 && settings.detection == Detection::Step {
            self.collider.note(world, &self.problem.contacts);
        }
        let is_warm = world.settings.warm_start;
        let start = self.joints.assemble(world, &mut self.problem);
        if is_warm {
            self.lambda.extend_from_slice(start);
        }
        self.problem.find_islands(self.collider.are_same_pairs);
        self.lambda.resize(self.problem.row_count(), 0.0);
        self.start.clone_from(&self.lambda);
    }

    /// The joints, and the problem with what its last solution was.
    pub fn joints_at(&mut self) -> (&mut Joints, Iterate<'_>) {
        let at = Iterate {
            problem: &mut self.problem,
            lambda: &mut self.lambda,
            velocity: &mut self.velocity,
        };
        (&mut self.joints, at)
    }

    /// u ← u_E, and what the next step starts from of the joints: impulses and forces.
    pub fn end(&mut self, world: &mut World) {
        let (problem, lambda) = (&self.problem, &self.lambda);
        integrate::apply_velocities(world, &self.velocity);
        world.memory_step = problem.h;
        self.joints.remember(world, problem, lambda);
    }

    /// The same of the contacts, such a time after the midpoint (s): their impulses and manifolds.
    pub fn remember(&mut self, world: &mut World, are_new: bool, time: f64) {
        assemble::remember(world, &self.problem, &self.lambda, time);
        if are_new {
            std::mem::swap(&mut world.manifolds, &mut self.collider.manifolds);
        }
    }
}
