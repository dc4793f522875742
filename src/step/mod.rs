//! The simulation: a world, its solver, and Moreau's midpoint rule that takes it from step to step.
//!
//! [`Simulation::step`] is the whole pipeline on one screen.

mod assemble;
mod ccd;
mod contact_law;
mod context;
mod contradiction;
mod energy;
mod error;
mod integrate;
mod joints;
mod matching;
pub mod motion;
mod pace;
mod project;
mod repeat;
mod report;
mod rest;
mod snapshot;
mod solvers;

use std::sync::Arc;

use crate::collide::Ahead;
use crate::math::Vec3;
use crate::measure::Stage;
use crate::measure::clock::{Clock, Stopwatch, system_clock};
use crate::problem::Problem;
use crate::problem::residual::JudgedLaw;
use crate::solve::advice::Shortfall;
use crate::solve::reference::velocity_estimate;
use crate::solve::{Budget, ConfigError, Solver, SolverConfig, SolverView, Status};
use crate::world::{Detection, JointGeometry, Stabilisation, World};
use context::Context;
use energy::EnergyAccount;
use joints::{Mend, Mending};
use pace::{Pace, Substep};
use solvers::Solvers;

pub use contradiction::Contradiction;
pub use error::StepError;
pub use report::{ResidualSchedule, StepReport};
pub use snapshot::Snapshot;

/// A step that does not resolve how its joints turn is taken in 2, 4, … substeps, halved so often at most.
const MOST_HALVINGS: u32 = 4;

/// A contact of the last step, for drawing and inspection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactView {
    /// Slots of the two bodies.
    pub bodies: [u32; 2],
    /// World position at the midpoint (m), but for what the correction of positions has moved the body since.
    pub point: Vec3,
    /// Unit normal from the first body to the second.
    pub normal: Vec3,
    /// Gap at the midpoint (m).
    pub gap: f64,
    /// Normal impulse (N s).
    pub normal_impulse: f64,
    /// Friction impulse on the second body (N s).
    pub friction_impulse: Vec3,
}

/// A simulation: everything that is needed to take steps.
pub struct Simulation {
    world: World,
    solvers: Solvers,
    context: Context,
    positions: project::Workspace,
    mending: Mending,
    before: integrate::Saved,
    pool: Option<Arc<rayon::ThreadPool>>,
    threads: usize,
    clock: Clock,
    residuals: ResidualSchedule,
    /// Who keeps the energies, if somebody does.
    energy: Option<Box<EnergyAccount>>,
    repeats: repeat::Repeats,
    report: StepReport,
}

impl Simulation {
    /// One step of Moreau's midpoint rule (Nützi 2011, table 4.2), substep by substep.
    ///
    /// # Errors
    /// A body that would go out of bounds, or a solver that failed together with its fallback. The
    /// world is then as it was before the step.
    pub fn step(&mut self) -> Result<&StepReport, StepError> {
        if self.is_asleep() {
            self.repeat();
            return Ok(&self.report);
        }
        let clock = Arc::clone(&self.clock);
        let mut watch = Stopwatch::start(&clock);
        // The step as a whole goes to the pool, or each of its loops would have to wake it up.
        let result = self.on_threads(|simulation| {
            watch.lap(Stage::Wait);
            let result = simulation.all_substeps(&mut watch);
            watch.lap(Stage::Integrate);
            result
        });
        watch.lap(Stage::Wait);
        self.report.timings = watch.timings;
        result.map(|()| &self.report)
    }

    fn all_substeps(&mut self, watch: &mut Stopwatch<'_>) -> Result<(), StepError> {
        let step = self.world.step_index.saturating_add(1);
        let invalid = |invalid| StepError::BadWorld { step, invalid };
        self.world.check().map_err(invalid)?;
        integrate::check_bounds(&self.world)?;
        self.before.save(&self.world);
        if let Some(energy) = &mut self.energy {
            energy.begin(&self.world);
            watch.lap(Stage::Measure);
        }
        self.report = StepReport {
            step,
            ..StepReport::default()
        };
        self.solvers.begin_step();
        let substeps = self.world.settings.substeps.max(1);
        let result = self.finely_enough(substeps, watch);
        if let Err(error) = result {
            self.before.restore(&mut self.world);
            self.repeats.end();
            return Err(error);
        }
        self.world.step_index += 1;
        self.world.time += self.world.settings.step;
        self.report.time = self.world.time;
        self.report.energy = self.energy.as_mut().map(|energy| energy.end());
        self.note_repeats();
        Ok(())
    }

    /// Takes the step in so many substeps; in twice as many, and so on, where they do not resolve how joints turn, as when
    /// a whip cracks.
    fn finely_enough(&mut self, substeps: u32, watch: &mut Stopwatch<'_>) -> Result<(), StepError> {
        for halvings in 0..MOST_HALVINGS {
            let pace = Pace::new(&self.world.settings, substeps << halvings);
            let mut is_resolved = true;
            for index in 0..pace.substeps {
                let substep = Substep {
                    pace,
                    index,
                    is_last_try: false,
                };
                // A (sub)step that does not resolve them may also lead out of all bounds.
                is_resolved = match self.substep(&substep, watch) {
                    Err(StepError::OutOfBounds { .. }) if self.context.joints.have_positions() => {
                        false
                    }
                    other => other?,
                };
                if !is_resolved {
                    break;
                }
            }
            if is_resolved {
                self.report.halvings = halvings;
                return Ok(());
            }
            self.report.give_up();
            self.before.restore(&mut self.world);
            if let Some(energy) = &mut self.energy {
                energy.begin_again(&self.world);
            }
            watch.lap(Stage::Integrate);
        }
        self.report.halvings = MOST_HALVINGS;
        let pace = Pace::new(&self.world.settings, substeps << MOST_HALVINGS);
        for index in 0..pace.substeps {
            let substep = Substep {
                pace,
                index,
                is_last_try: true,
            };
            self.substep(&substep, watch)?;
        }
        Ok(())
    }

    /// The rule of docs/method.md, section 2, from S over the midpoint M to E; every stage starts where the last one ended.
    /// False where the rounds did not close the joints, and finer ones are paid for.
    fn substep(&mut self, substep: &Substep, watch: &mut Stopwatch<'_>) -> Result<bool, StepError> {
        let Pace { h, horizon, .. } = substep.pace;

        // What is open of the joints after a change of h.
        if self.world.memory_scale(h) != 1.0 && !self.world.joints.is_empty() {
            self.mend(h, false, watch);
        }
        let (world, c) = (&mut self.world, &mut self.context);

        // 1. Half step of the positions to M, and u_free = u_S + M⁻¹ h f there.
        world.advance_drives(world.time + h * (f64::from(substep.index) + 0.5), h);
        account(&mut self.energy, watch, |energy| energy.add_drives(world));
        (c.ccd).half_step(world, &mut c.collider, &substep.pace);
        c.apply_forces(world, h);
        integrate::check_free(world, &c.problem)?;
        watch.lap(Stage::Integrate);

        // 2. Collision detection at M: which pairs may touch, and where they do.
        let finds = substep.is_first() || world.settings.detection == Detection::Substep;
        if finds {
            let free = &c.problem.bodies;
            (c.collider).update_pairs(world, Ahead { free, horizon });
            c.check_crowd(world)?;
        }
        watch.lap(Stage::Broadphase);
        if finds {
            let problem = &mut c.problem;
            let (free, contacts) = (&problem.bodies, &mut problem.contacts);
            (c.collider).find_contacts(world, Ahead { free, horizon }, contacts);
            c.check_crowd(world)?;
            (c.ccd).note_seen(world, &c.problem.bodies.free_velocity);
        } else {
            c.collider.carry(world, &mut c.problem.contacts);
        }
        watch.lap(Stage::Narrowphase);

        // 3. The problem w = A Λ + b: rows, islands, biases, and the Λ to start from.
        c.joints.begin();
        c.struck = 0.0;
        c.assemble(world, &substep.pace, finds);
        watch.lap(Stage::Assemble);

        // 4. Λ = prox(Λ − ρ w), and u_E = u_S + M⁻¹(h f + Jᵀ Λ), in rounds with J towards where u_E leads.
        // What is open of the joints is closed by the end of the step.
        let mut solved = self.solvers.solve(world, c, substep, finds, watch)?;

        let is_solved = solved.report.status == Status::Converged;
        c.come_to_rest(world, self.solvers.config().budget.tolerance, is_solved);
        watch.lap(Stage::Solve);

        // How well it was solved: measuring, not a part of the step.
        if self.residuals.asks_for(substep.is_last()) {
            self.report.add_residuals(c, solved.law);
            let choices = &mut solved.report.choices;
            choices.measure(&c.problem, &c.lambda, solved.law, &c.residual_workspace);
        }
        self.report.add_substep(world, c, solved.report);
        watch.lap(Stage::Measure);
        account(&mut self.energy, watch, |energy| energy.add_work(world, c));

        if solved.stands {
            self.end_substep(substep, finds, solved.failed, watch)?;
            // What is corrected at contacts may have led over stops.
            let corrects = matches!(
                self.world.settings.stabilisation,
                Stabilisation::Projection { .. }
            );
            if solved.is_open || corrects && self.context.joints.have_stops() {
                self.mend(h, !solved.is_open, watch);
                integrate::check_bounds(&self.world)?;
            }
        }
        Ok(solved.stands)
    }

    /// Closes the joints, or their stops alone, by positions, such that they are closed at the next midpoint of a step of length
    /// `h` (s).
    fn mend(&mut self, h: f64, only_stops: bool, watch: &mut Stopwatch<'_>) {
        let world = &mut self.world;
        let settings = &world.settings.stabilisation;
        let accuracy = h * joints::tolerance(&self.solvers.config().budget);
        let mend = Mend {
            h,
            ahead: [0.5 * h, world.time_since_midpoint() + 0.5 * h],
            accuracy: match only_stops {
                true => accuracy.max(settings.gap_accuracy()),
                false => accuracy,
            },
            most: h * settings.most_speed(),
            only_stops,
        };
        self.mending.close(world, &mend, self.solvers.for_joints());
        watch.lap(Stage::Project);
        account(&mut self.energy, watch, |energy| {
            energy.add_projection(world)
        });
    }

    /// 5. Second half step of the positions with u_E, and their correction at E. `failed`: the fallback solved it.
    fn end_substep(
        &mut self,
        substep: &Substep,
        finds: bool,
        failed: bool,
        watch: &mut Stopwatch<'_>,
    ) -> Result<(), StepError> {
        let (world, c) = (&mut self.world, &mut self.context);
        let h = substep.pace.h;
        c.end(world);
        integrate::check_bounds(world)?;
        // Impulses replace those of before when nothing can fail any more, unless somebody counts their energy earlier.
        let is_early = !substep.is_last() || world.has_soft_contacts();
        if is_early {
            self.before.take_memory(world);
            c.remember(world, finds, 0.0);
        }
        (c.ccd).half_step(world, &mut c.collider, &substep.pace);
        c.check_crowd(world)?;
        watch.lap(Stage::Integrate);
        account(&mut self.energy, watch, |energy| energy.add_end(world));
        let (packed, solver) = self.solvers.for_positions(failed);
        self.positions.project(world, c, packed, solver);
        integrate::check_bounds(world)?;
        if !is_early {
            c.remember(world, finds, 0.5 * h);
        }
        watch.lap(Stage::Project);
        account(&mut self.energy, watch, |energy| {
            energy.add_projection(world)
        });
        Ok(())
    }

    /// Makes a simulation that runs on `threads` threads; 0 means rayon's global pool, with all that there
    /// are. Simulations that are stepped at the same time should have threads of their own: in one pool a
    /// step may run within another's, whose timings and time budget then count it.
    ///
    /// # Errors
    /// An unknown solver, or parameters out of range.
    pub fn new(world: World, config: SolverConfig, threads: usize) -> Result<Self, ConfigError> {
        Ok(Self {
            world,
            solvers: Solvers::new(config)?,
            context: Context::default(),
            positions: project::Workspace::default(),
            mending: Mending::default(),
            before: integrate::Saved::default(),
            pool: pool(threads),
            threads,
            clock: system_clock(),
            residuals: ResidualSchedule::Every,
            energy: None,
            repeats: repeat::Repeats::default(),
            report: StepReport::default(),
        })
    }

    /// Runs `work` on the simulation's own threads. Steps within it need not wake them up, which takes about
    /// 0.1 ms where steps are far apart.
    pub fn on_threads<R: Send>(&mut self, work: impl FnOnce(&mut Self) -> R + Send) -> R {
        match self.pool.clone() {
            None => rayon::scope(|_| work(self)),
            Some(pool) => pool.install(|| work(self)),
        }
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to change between steps.
    pub fn world_mut(&mut self) -> &mut World {
        self.repeats.end();
        &mut self.world
    }

    /// The solver's configuration.
    pub fn solver_config(&self) -> &SolverConfig {
        self.solvers.config()
    }

    /// Changes solver, parameters or budget from the next step on.
    ///
    /// # Errors
    /// An unknown solver or a bad parameter; the old one stays.
    pub fn set_solver(&mut self, config: SolverConfig) -> Result<(), ConfigError> {
        self.repeats.end();
        self.solvers.choose(config)
    }

    /// Puts a solver of one's own in, that is in no list, from the next step on.
    pub fn plug_in(&mut self, solver: Box<dyn Solver>, budget: Budget) {
        self.repeats.end();
        self.solvers.plug_in(solver, budget);
    }

    /// Number of threads asked for; 0 means all.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Changes the number of threads; results do not depend on it.
    pub fn set_threads(&mut self, threads: usize) {
        if threads != self.threads {
            self.pool = pool(threads);
            self.threads = threads;
        }
    }

    /// Whether steps record the solver's convergence history.
    pub fn set_record_history(&mut self, record: bool) {
        self.solvers.record_history = record;
    }

    /// In which substeps the residual is evaluated; results do not depend on it.
    pub fn set_residuals(&mut self, schedule: ResidualSchedule) {
        self.residuals = schedule;
    }

    /// Whether steps keep account of energy, see [`StepReport::energy`]; results do not depend on it.
    pub fn set_energy(&mut self, keeps: bool) {
        if keeps != self.energy.is_some() {
            self.energy = keeps.then(Box::default);
        }
    }

    /// Measures time by another clock.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The last step's report.
    pub fn report(&self) -> &StepReport {
        &self.report
    }

    /// The last (sub)step's problem, as it was solved.
    pub fn problem(&self) -> &Problem {
        &self.context.problem
    }

    /// The last (sub)step's impulses, one per row of [`Simulation::problem`] (N s).
    pub fn impulses(&self) -> &[f64] {
        &self.context.lambda
    }

    /// The impulses that the last (sub)step's solver started from, one per row (N s).
    pub fn warm_start(&self) -> &[f64] {
        &self.context.start
    }

    /// What the solver shows of the last (sub)step's solve.
    pub fn view(&self) -> &dyn SolverView {
        self.solvers.chosen().view()
    }

    /// About how far the last (sub)step's velocities are from the exact ones, max |v − v*| + r|ω − ω*| over the bodies
    /// with bounding radius r, by another solve from its impulses; none where that leads no nearer (m/s). Of a step that
    /// was refused it says nothing.
    pub fn velocity_estimate(&mut self) -> Option<f64> {
        let (reach, c) = (self.world.bodies.reach(), &mut self.context);
        velocity_estimate(&c.problem, &c.lambda, &reach, &mut c.residual_workspace)
    }

    /// Where the last (sub)step's impulses miss the solver's tolerance, if they do: which bodies, by how much, and why.
    pub fn shortfall(&mut self) -> Option<Shortfall> {
        let c = &mut self.context;
        let report = &self.report.solve;
        let law = match report.status.is_usable() {
            true => self.solvers.chosen().judged_law(),
            // The fallback's.
            false => JudgedLaw::Own,
        };
        Shortfall::find(
            &c.problem,
            &c.lambda,
            law,
            self.solvers.config(),
            report,
            self.solvers.chosen().view().choices(),
            &mut c.residual_workspace,
        )
    }

    /// The last (sub)step's contacts.
    pub fn contacts(&self) -> impl Iterator<Item = ContactView> + '_ {
        let problem = &self.context.problem;
        let c = &problem.contacts;
        (0..c.len()).map(move |k| {
            let block = &self.context.lambda[c.rows(k)];
            let (impulse, _) = problem.contact_impulse(k, block);
            let normal = c.frame[k].normal;
            ContactView {
                bodies: c.bodies[k],
                point: self.midpoint_of(k),
                normal,
                gap: c.gap[k],
                normal_impulse: block[0],
                friction_impulse: impulse - normal * block[0],
            }
        })
    }

    /// Where a contact of the last (sub)step was at the midpoint: on the body that moves less since. The world may be
    /// another one by now, and have no such bodies.
    fn midpoint_of(&self, contact: usize) -> Vec3 {
        let (problem, b) = (&self.context.problem, &self.world.bodies);
        let c = &problem.contacts;
        let pair = c.bodies[contact].map(|slot| slot as usize);
        let [moves, other_moves] = pair.map(|slot| problem.bodies.is_dynamic(slot));
        let side = usize::from(moves && !other_moves);
        let place = b.position.get(pair[side]).zip(b.velocity.get(pair[side]));
        let center = place.map_or_else(Vec3::zeros, |(x, u)| x - u.linear * (0.5 * problem.h));
        center + c.frame[contact].arms[side]
    }

    /// The joints at the midpoint of the last (sub)step, in the world's order, each with how far it is from where the
    /// (sub)step before aimed (m); fewer than the world has before the first step.
    pub fn joints(&self) -> impl Iterator<Item = (&JointGeometry, f64)> {
        let joints = &self.context.joints;
        joints
            .geometry()
            .iter()
            .zip(joints.errors().iter().copied())
    }
}

/// Counts energy, if account is kept of it.
fn account(
    energy: &mut Option<Box<EnergyAccount>>,
    watch: &mut Stopwatch<'_>,
    count: impl FnOnce(&mut EnergyAccount),
) {
    if let Some(energy) = energy {
        count(energy);
        watch.lap(Stage::Measure);
    }
}

fn pool(threads: usize) -> Option<Arc<rayon::ThreadPool>> {
    if threads == 0 {
        return None;
    }
    // Without a pool of its own a simulation runs on rayon's global one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.ok().map(Arc::new)
}
