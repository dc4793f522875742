//! How far velocities are from the exact ones, where nobody knows these: from a solution with a small part of the
//! residual.
//!
//! The residual says how well the laws are obeyed, and not how far the velocities are off. With impulses Λ′ whose residual
//! r′ is a small part q = r′/r of that of Λ, ‖u − u*‖ ≤ ‖u − u′‖ + ‖u′ − u*‖, and errors shrink about as residuals do: so
//! ‖u − u*‖ is about ‖u − u′‖/(1 − q).

use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{JudgedLaw, ResidualWorkspace, evaluate, velocity_distance};
use crate::solve::exact::{Ask, ExactPass, IslandRun, WorkBudget};
use crate::solve::method::conjugate_sweeps::WORK_PER_SWEPT_ROW;
use crate::solve::sweeps::nncg;
use crate::solve::{Budget, Request, Solver};

/// The share of the residual that is asked for (-), and Newton steps and sweeps for it at most.
const SHARE: f64 = 1e-3;
const STEPS: u32 = 60;
const SWEEPS: u32 = 200;
/// Fewer sweeps are not begun: 27 say how far 50 coloured sweeps have left the grid of 24³ spheres, 5 say nothing of 40³,
/// and packing it takes a quarter of all memory.
const LEAST_SWEEPS: u32 = 20;
/// A residual that has not fallen to this share says nothing (-).
const ENOUGH: f64 = 0.5;
/// What Newton's method may take, and sweeps may (multiplications): ten times what `auto` has for a step.
const WORK: f64 = 3e8;

/// Refines solutions. Keeps its memory.
pub struct Refiner {
    pass: ExactPass,
    sweeps: Box<dyn Solver>,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
    workspace: ResidualWorkspace,
}

impl Default for Refiner {
    fn default() -> Self {
        Self {
            pass: ExactPass::default(),
            sweeps: nncg::INFO.with_defaults(),
            lambda: Vec::new(),
            velocity: Vec::new(),
            workspace: ResidualWorkspace::default(),
        }
    }
}

/// The estimate of [`Refiner`] for the velocities that impulses lead to (m/s), in the memory of a workspace.
pub fn velocity_estimate(
    problem: &Problem,
    lambda: &[f64],
    reach: &[f64],
    workspace: &mut ResidualWorkspace,
) -> Option<f64> {
    let mut refiner = Refiner {
        workspace: std::mem::take(workspace),
        ..Refiner::default()
    };
    let estimate = refiner.estimate(problem, lambda, None, reach);
    *workspace = refiner.workspace;
    estimate
}

impl Refiner {
    /// Estimates max |v − v*| + r|ω − ω*| over the bodies, v* and ω* being the exact velocities under the contacts' own
    /// laws, and r the bounding radii in `reach` (m); none where no better solution is found (m/s). Velocities that are not
    /// given are those that the impulses lead to.
    pub fn estimate(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        velocity: Option<&[Twist]>,
        reach: &[f64],
    ) -> Option<f64> {
        let before = evaluate(problem, lambda, JudgedLaw::Own, &mut self.workspace).residual;
        if before == 0.0 || !before.is_finite() {
            return before.is_finite().then_some(0.0);
        }
        let tolerance = SHARE * before;
        let budget = |iterations| Budget {
            iterations,
            tolerance,
            ..Budget::default()
        };
        let request = |iterations| Request {
            budget: budget(iterations),
            history: false,
            ..Request::default()
        };
        let work_budget = WorkBudget {
            work: WORK,
            left: WORK,
            step: WORK,
            tolerance,
            sweeps: 0,
            admits_all: false,
            multiplies: true,
        };
        let ask = |island| match work_budget.refuse(problem, island, lambda) {
            Some(_) => Ask::Leave,
            None => Ask::Solve,
        };
        let u = self.workspace.velocities_mut();
        self.pass.plan(problem, lambda, u, &work_budget, ask);
        let runs = self.pass.runs();
        let is_taken = |run: &IslandRun| run.residual().is_some();
        let (takes_all, takes_one) = (runs.iter().all(is_taken), runs.iter().any(is_taken));
        let most = (WORK / (WORK_PER_SWEPT_ROW * lambda.len() as f64)) as u32;
        if !takes_one && most < LEAST_SWEEPS && !runs.is_empty() {
            return None;
        }
        self.lambda.clear();
        self.lambda.extend_from_slice(lambda);
        if !takes_all && most >= LEAST_SWEEPS {
            let (trial, u) = (&mut self.lambda, self.workspace.velocities_mut());
            let request = request(SWEEPS.min(most));
            let swept = self.sweeps.solve(problem, &request, trial, u);
            if !swept.status.is_usable() {
                self.lambda.copy_from_slice(lambda);
            }
        }
        self.pass.solve(problem, &request(STEPS), &mut self.lambda);
        let after = evaluate(problem, &self.lambda, JudgedLaw::Own, &mut self.workspace).residual;
        let share = after / before;
        (share <= ENOUGH).then(|| {
            let velocity = velocity.unwrap_or_else(|| {
                problem.velocities(lambda, &mut self.velocity);
                &self.velocity
            });
            let found = self.workspace.velocities();
            let distance = velocity_distance(problem, velocity, found, reach);
            distance / (1.0 - share)
        })
    }
}
