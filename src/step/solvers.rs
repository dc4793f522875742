//! Which solver takes the step, how often, and what happens when it fails.

use super::ccd::MOST_STRIKES;
use super::context::Context;
use super::error::StepError;
use super::joints::{Attempt, Closing, Rounds, tolerance};
use super::pace::Substep;
use crate::measure::Stage;
use crate::measure::clock::Stopwatch;
use crate::problem::residual::JudgedLaw;
use crate::solve::sweeps::colored_gs::{self, ColoredGs};
use crate::solve::{
    Budget, ConfigError, Parameters, Request, SolveReport, Solver, SolverConfig, Status,
};
use crate::world::World;

/// What of a (sub)step's work is left, at least, for a plain step where rounds do not close the joints (-).
const RESERVED: f64 = 0.25;
/// What of the rest a try may take, so that as much is left for what follows it (-).
const TRIED: f64 = 0.5;

/// The solvers of a simulation: the chosen one, the fallback, and that of the position pass.
pub struct Solvers {
    config: SolverConfig,
    chosen: Box<dyn Solver>,
    /// Takes over where the chosen one fails.
    fallback: Box<dyn Solver>,
    /// Corrects positions; it starts from nothing in every step, and carries nothing to the next.
    pub positions: ColoredGs,
    /// Whether the chosen one records its convergence history.
    pub record_history: bool,
    grant: Grant,
}

/// What a step may take, over all its solves; infinite where nothing is counted (multiplications).
struct Grant {
    granted: f64,
    taken: f64,
}

impl Grant {
    fn new(work: f64) -> Self {
        Self {
            granted: work,
            taken: 0.0,
        }
    }

    fn left(&self) -> f64 {
        (self.granted - self.taken).max(0.0)
    }
}

/// How a (sub)step was solved.
pub struct Solved {
    /// The reports of all solves together.
    pub report: SolveReport,
    /// The law that the result is to be judged by.
    pub law: JudgedLaw,
    /// Whether the fallback took over.
    pub failed: bool,
    /// Whether the joints turn so little in the (sub)step that the rounds close them.
    pub is_resolved: bool,
    /// Whether the (sub)step is taken as it was solved: else the step is halved.
    pub stands: bool,
    /// Whether what is open of the joints stays so, since it is the plain step.
    pub is_open: bool,
}

/// What rounds have come to.
struct Begun {
    report: SolveReport,
    closing: Closing,
    /// What the last ones have taken (multiplications).
    last: f64,
}

impl Begun {
    /// How the last problem was solved is how all were.
    fn followed_by(self, next: Self) -> Self {
        let status = next.report.status.clone();
        let mut report = self.report.followed_by(next.report);
        report.status = status;
        Self { report, ..next }
    }
}

impl Solvers {
    /// Builds the chosen solver.
    ///
    /// # Errors
    /// An unknown solver, or parameters out of range.
    pub fn new(config: SolverConfig) -> Result<Self, ConfigError> {
        // It ends no worse than it starts, whatever the mass ratios are, and fails only at what is no number.
        let fallback = SolverConfig {
            name: "newton".into(),
            ..SolverConfig::default()
        };
        Ok(Self {
            chosen: config.build()?,
            config,
            fallback: fallback.build()?,
            positions: ColoredGs::without_memory(&Parameters::defaults(
                colored_gs::INFO.parameters,
            )),
            record_history: false,
            grant: Grant::new(f64::INFINITY),
        })
    }

    /// The configuration of the chosen solver.
    pub fn config(&self) -> &SolverConfig {
        &self.config
    }

    /// Chooses another solver, or other parameters. A change of budget alone keeps what the solver carries
    /// from step to step.
    ///
    /// # Errors
    /// An unknown solver, or parameters out of range; the old one stays.
    pub fn choose(&mut self, config: SolverConfig) -> Result<(), ConfigError> {
        if config.name != self.config.name || config.parameters != self.config.parameters {
            self.chosen = config.build()?;
        } else {
            config.check()?;
        }
        self.config = config;
        Ok(())
    }

    /// Takes a solver that is in no list.
    pub fn plug_in(&mut self, solver: Box<dyn Solver>, budget: Budget) {
        self.config = SolverConfig {
            name: solver.info().name.into(),
            budget,
            ..SolverConfig::default()
        };
        self.chosen = solver;
    }

    /// The chosen solver.
    pub fn chosen(&self) -> &dyn Solver {
        self.chosen.as_ref()
    }

    /// The chosen solver.
    pub fn chosen_mut(&mut self) -> &mut dyn Solver {
        self.chosen.as_mut()
    }

    /// The chosen solver, if it solved the problem, and that of the position pass.
    pub fn for_positions(&mut self, failed: bool) -> (Option<&mut dyn Solver>, &mut dyn Solver) {
        let chosen = self.chosen.as_mut();
        ((!failed).then_some(chosen), &mut self.positions)
    }

    /// The solver of what joints lack of being closed.
    pub fn for_joints(&mut self) -> &mut dyn Solver {
        self.fallback.as_mut()
    }

    /// A step begins, which may take what the chosen solver says.
    pub fn begin_step(&mut self) {
        self.grant = Grant::new(self.chosen.step_work());
    }

    /// Solves the assembled problem, and with what contacts those have whom it strikes, if contacts are looked for in this
    /// substep, and with the limits that it leads over; see [`Self::solve_found`].
    ///
    /// # Errors
    /// The fallback failed, too.
    pub fn solve(
        &mut self,
        world: &mut World,
        c: &mut Context,
        substep: &Substep,
        finds: bool,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Solved, StepError> {
        let pace = &substep.pace;
        let mut solved = self.solve_found(world, c, substep, finds, watch)?;
        for _ in 0..MOST_STRIKES {
            let (problem, velocity) = (&mut c.problem, c.velocity.as_slice());
            let is_struck = finds
                && solved.is_resolved
                && (c.ccd).find_struck(world, pace.horizon, &mut c.collider, problem, velocity);
            watch.lap(Stage::Narrowphase);
            let is_reached = solved.is_resolved && c.joints.find_reached(world, pace.h, velocity);
            if !is_struck && !is_reached {
                break;
            }
            c.apply_forces(world, pace.h);
            c.assemble(world, pace, finds);
            let mut next = self.solve_found(world, c, substep, finds, watch)?;
            // How the last problem was solved is how the step was.
            let status = next.report.status.clone();
            next.report = solved.report.followed_by(next.report);
            next.report.status = status;
            solved = next;
        }
        Ok(solved)
    }

    /// Solves the assembled problem, in rounds until its joints are closed at the next midpoint, and by the fallback where
    /// the chosen solver fails. Where the rounds do not close them, and nothing finer is tried, the step is the plain one,
    /// along the directions of the midpoint: without an error's energy.
    ///
    /// # Errors
    /// The fallback failed, too.
    fn solve_found(
        &mut self,
        world: &mut World,
        c: &mut Context,
        substep: &Substep,
        finds: bool,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Solved, StepError> {
        let mut may = self.grant.left() / f64::from(substep.to_go());
        let mut begun = self.begin(world, c, substep, finds, &mut may, watch);
        if begun.closing == Closing::Unresolved
            && begun.report.status.is_usable()
            && (c.joints.has_caught || substep.is_last_try)
            && self.pays(begun.last)
        {
            let report = self.strike(world, c, substep, finds, may, watch);
            begun.report = begun.report.followed_by(report);
            c.apply_forces(world, substep.pace.h);
            c.assemble(world, &substep.pace, finds);
            let next = self.begin(world, c, substep, finds, &mut may, watch);
            begun = begun.followed_by(next);
        }
        let Begun {
            mut report,
            closing,
            last,
        } = begun;
        // Halves of the step are likely to take as much together as the whole has.
        let pays = self.pays(last);
        let is_last = substep.is_last_try || !pays;
        let is_resolved = match closing {
            Closing::Closed | Closing::Rough => true,
            Closing::Gaining => is_last,
            Closing::Unresolved => false,
        };
        let stands = is_resolved || is_last;
        let is_wild = matches!(closing, Closing::Gaining | Closing::Unresolved);
        let is_open = stands && is_wild && report.status.is_usable();
        if is_open && closing == Closing::Unresolved {
            let (joints, mut at) = c.joints_at();
            joints.restore(at.problem, !pays);
            if !pays {
                // What rounds have found that lead nowhere may be anything, and so may what such steps leave to the next.
                at.lambda.fill(0.0);
            }
            let request = Request {
                is_last: !pays,
                ..self.request(false)
            };
            let mut rounds = Rounds::new(self.chosen.as_mut(), request, [may; 2]);
            let next = rounds.solve(&mut at, false, watch);
            self.grant.taken += rounds.taken;
            report = report.followed_by(next);
            report.status = report.status.or_worse(Status::Budget);
        }
        let failed = !report.status.is_usable();
        if stands && closing != Closing::Closed && (is_open || self.chosen.tries()) && !failed {
            let (joints, mut at) = c.joints_at();
            joints.keep_passive(world, &mut at, &self.config.budget, closing, &mut report);
        }
        if failed {
            self.fall_back(world, c, &report.status)?;
            watch.lap(Stage::Solve);
        }
        let last = if failed { &self.fallback } else { &self.chosen };
        let law = last.judged_law();
        Ok(Solved {
            report,
            law,
            failed,
            is_resolved,
            stands,
            is_open,
        })
    }

    /// Whether as much work again is paid for.
    fn pays(&self, work: f64) -> bool {
        work <= (1.0 - RESERVED) * self.grant.left()
    }

    /// Rounds, and those with contacts held that they want.
    fn begin(
        &mut self,
        world: &mut World,
        c: &mut Context,
        substep: &Substep,
        finds: bool,
        may: &mut f64,
        watch: &mut Stopwatch<'_>,
    ) -> Begun {
        let mut begun = self.close(world, c, substep, Attempt::First, may, watch);
        let mut again =
            |solvers: &mut Self, world: &mut World, c: &mut Context, begun: Begun, attempt| {
                c.apply_forces(world, substep.pace.h);
                c.assemble(world, &substep.pace, finds);
                begun.followed_by(solvers.close(world, c, substep, attempt, may, watch))
            };
        if c.joints.wants_held() && begun.report.status.is_usable() {
            begun = again(self, world, c, begun, Attempt::Held);
        }
        if begun.report.status.is_usable() && self.fight(world, c, substep, &begun) {
            begun = again(self, world, c, begun, Attempt::Yielding);
            let lacks_held = c.joints.lacks_held(begun.closing) && self.pays(begun.last);
            if lacks_held && begun.report.status.is_usable() {
                begun = again(self, world, c, begun, Attempt::YieldingHeld);
            }
        }
        begun
    }

    /// Whether drives without a limit of force contradict what stands against them, which finer steps do not mend.
    fn fight(&self, world: &World, c: &mut Context, substep: &Substep, begun: &Begun) -> bool {
        if !self.chosen.tries() || !self.pays(begun.last) {
            return false;
        }
        let counts = substep.is_last_try && begun.closing == Closing::Unresolved;
        let tolerance = tolerance(&self.config.budget);
        let (joints, at) = c.joints_at();
        joints.find_fights(world, &at, &begun.report, tolerance, counts)
    }

    /// An impact at the midpoint of what the rounds have left open: rigid joints that a rope, a stop or a contact catches take
    /// away at once what of the velocities does not agree with them, and then the step goes on from there.
    fn strike(
        &mut self,
        world: &mut World,
        c: &mut Context,
        substep: &Substep,
        finds: bool,
        may: f64,
        watch: &mut Stopwatch<'_>,
    ) -> SolveReport {
        c.apply_forces(world, substep.pace.h);
        c.assemble(world, &substep.pace, finds);
        watch.lap(Stage::Assemble);
        let request = self.request(false);
        let mut rounds = Rounds::new(self.chosen.as_mut(), request, [may; 2]);
        let (joints, mut at) = c.joints_at();
        joints.strike(world, at.problem);
        let report = rounds.solve(&mut at, false, watch);
        self.grant.taken += rounds.taken;
        if report.status.is_usable() {
            let gained = joints.struck(world, substep.pace.h, at.velocity);
            c.struck += gained;
        }
        report
    }

    /// Rounds: where contacts of machines could be held, and are not, the first ones are a try. `may` is what is left of what the
    /// (sub)step may take (multiplications).
    fn close(
        &mut self,
        world: &mut World,
        c: &mut Context,
        substep: &Substep,
        attempt: Attempt,
        may: &mut f64,
        watch: &mut Stopwatch<'_>,
    ) -> Begun {
        let share = substep.share();
        let (problem, start) = (&mut c.problem, c.start.as_slice());
        let has_rounds = (c.joints).begin_rounds(world, problem, start, share, attempt);
        watch.lap(Stage::Assemble);
        let is_try = attempt == Attempt::First && c.joints.could_hold() && self.chosen.tries();
        let all = if has_rounds { 1.0 - RESERVED } else { 1.0 };
        let first = if is_try { TRIED * all } else { all };
        let request = self.request(is_try);
        let of_these = [first * *may, all * *may];
        let mut rounds = Rounds::new(self.chosen.as_mut(), request, of_these);
        let (joints, mut at) = c.joints_at();
        let mut report = rounds.solve(&mut at, false, watch);
        let closing = match has_rounds {
            true => joints.close(world, &mut at, &mut rounds, &mut report, watch),
            false => Closing::Closed,
        };
        let last = rounds.taken;
        *may -= last;
        self.grant.taken += last;
        Begun {
            report,
            closing,
            last,
        }
    }

    fn request(&self, is_try: bool) -> Request {
        Request {
            budget: self.config.budget,
            history: self.record_history,
            is_try,
            ..Request::default()
        }
    }

    /// What failed is never applied to the world: `newton` takes the step instead, from nothing.
    fn fall_back(
        &mut self,
        world: &World,
        c: &mut Context,
        failure: &Status,
    ) -> Result<(), StepError> {
        c.lambda.fill(0.0);
        let mut budget = self.config.budget;
        let least = self.fallback.info().least_iterations;
        budget.iterations = budget.iterations.max(least);
        let request = Request {
            budget,
            ..Request::default()
        };
        let second = self
            .fallback
            .solve(&c.problem, &request, &mut c.lambda, &mut c.velocity);
        match (second.status, failure) {
            (Status::Failed(fallback), Status::Failed(reason)) => Err(StepError::SolverFailed {
                step: world.step_index + 1,
                solver: self.chosen.info().name,
                reason: reason.clone(),
                fallback,
            }),
            _ => Ok(()),
        }
    }
}
