//! The simulation: a world, its solver, and Moreau's midpoint rule that takes it from step to step.
//!
//! [`Simulation::step`] is the whole pipeline on one screen.

mod assemble;
mod integrate;
mod joints;
mod stabilise;
mod stiffness;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::collide::Collider;
use crate::math::{Twist, Vec3};
use crate::measure::{Stage, Timings};
use crate::problem::residual::{self, Residual, ResidualWorkspace, Under};
use crate::problem::{FrictionLaw, Problem};
use crate::solve::bpp::MatrixView;
use crate::solve::prox::colored_gs::ColoredGs;
use crate::solve::{ConfigError, Request, SolveReport, Solver, SolverConfig, Status, Value, find};
use crate::world::snapshot::{SnapshotError, from_file, to_file};
use crate::world::{SPEED_LIMIT, WORLD_LIMIT, World};

pub use joints::{Geometry as JointGeometry, geometry as joint_geometry};

/// What one step did.
#[derive(Clone, Debug, Default)]
pub struct StepReport {
    /// Index of the step, from 1.
    pub step: u64,
    /// Simulated time after it (s).
    pub time: f64,
    /// Time spent per stage.
    pub timings: Timings,
    /// Contacts of the last substep, speculative ones included.
    pub contacts: usize,
    /// Of these, contacts between two dynamic bodies.
    pub dynamic_contacts: usize,
    /// General rows of the last substep.
    pub rows: usize,
    /// Islands of the last substep.
    pub islands: usize,
    /// The solver's report on the last substep; iterations are summed over the substeps, and a
    /// failure of any substep is kept.
    pub solve: SolveReport,
    /// The residual, the worst over the substeps, under the law that the solver solves exactly: the
    /// contacts' own, or a friction box in its place.
    pub residual: Residual,
    /// The same under exact Coulomb friction, where that is another law.
    pub residual_coulomb: Option<Residual>,
    /// Deepest overlap found at the midpoints (m).
    pub penetration: f64,
    /// Largest |φ + αΛ/h| of a held coordinate of a joint (m): φ as it was found at the midpoints, Λ from
    /// the (sub)step before, which aimed at it. Angles count by their joint's length.
    pub joint_error: f64,
}

/// Why a step was not taken. The world is as it was before; colours that a solver carries from step to
/// step may be those of the step that failed, which changes the order of its sweeps and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A setting, material or reference that cannot be used, see [`World::problem`].
    #[error("step {step}: {problem}; the step was not taken")]
    BadWorld {
        /// Index of the step.
        step: u64,
        /// What is wrong.
        problem: String,
    },
    /// A body would leave the bounds that [`World::first_out_of_bounds`] checks.
    #[error(
        "step {step}: {body} would move out of bounds ({WORLD_LIMIT:e} m, {SPEED_LIMIT:e} m/s) or to no number at all; the step was not taken"
    )]
    OutOfBounds {
        /// Index of the step.
        step: u64,
        /// The body.
        body: String,
    },
    /// The solver failed, and so did the fallback.
    #[error(
        "step {step}: {solver} failed ({reason}), and so did the fallback; the step was not taken"
    )]
    SolverFailed {
        /// Index of the step.
        step: u64,
        /// The solver's name.
        solver: &'static str,
        /// Its own words.
        reason: String,
    },
}

/// A contact of the last step, for drawing and inspection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactView {
    /// Slots of the two bodies.
    pub bodies: [u32; 2],
    /// World position at the midpoint (m).
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
    config: SolverConfig,
    solver: Box<dyn Solver>,
    fallback: Box<dyn Solver>,
    stabiliser: Box<dyn Solver>,
    pool: Option<rayon::ThreadPool>,
    threads: usize,
    record_history: bool,
    collider: Collider,
    problem: Problem,
    joints: joints::Workspace,
    stiffness: stiffness::Workspace,
    stabilisation: stabilise::Workspace,
    start: Vec<f64>,
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
    residual: ResidualWorkspace,
    before: integrate::Saved,
    report: StepReport,
}

const MAGIC: &[u8; 8] = b"MOREAUSS";

/// A state to return to: the world and what the solver carries.
#[derive(Clone, Debug)]
pub struct Snapshot {
    world: World,
    solver_name: &'static str,
    solver_state: Vec<u8>,
}

impl Snapshot {
    /// The world as it was.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Writes the snapshot as bytes: magic, version, length, checksum, data.
    pub fn to_bytes(&self) -> Vec<u8> {
        let data = (&self.world.to_bytes(), self.solver_name, &self.solver_state);
        let data = postcard::to_allocvec(&data).expect("plain data always serialises");
        to_file(MAGIC, &data)
    }

    /// Reads a snapshot written by [`Snapshot::to_bytes`].
    ///
    /// # Errors
    /// Bytes of another kind or version, damaged ones, or a solver that is not there.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let data = from_file(MAGIC, bytes)?;
        let (world, name, solver_state): (Vec<u8>, String, Vec<u8>) =
            postcard::from_bytes(data).map_err(|e| SnapshotError::Damaged(e.to_string()))?;
        let solver = find(&name).ok_or_else(|| {
            SnapshotError::Damaged(format!("it names a solver \"{name}\", which is not there"))
        })?;
        Ok(Self {
            world: World::from_bytes(&world)?,
            solver_name: solver.name,
            solver_state,
        })
    }
}

impl Simulation {
    /// Makes a simulation that runs on `threads` threads; 0 means rayon's global pool, with all that there
    /// are. Simulations that are stepped at the same time should have threads of their own: in one pool a
    /// step may run within another's, whose timings and time budget then count it.
    ///
    /// # Errors
    /// An unknown solver, or parameters out of range.
    pub fn new(world: World, config: SolverConfig, threads: usize) -> Result<Self, ConfigError> {
        let solver = config.build()?;
        let careful = SolverConfig {
            name: "gauss-seidel".into(),
            parameters: BTreeMap::from([("alpha".into(), Value::Number(0.5))]),
            ..SolverConfig::default()
        };
        // The pass starts from nothing in every step, and carries nothing to the next.
        let (_, defaults) = SolverConfig::default().check()?;
        let stabiliser = ColoredGs::forgetful(&defaults);
        Ok(Self {
            world,
            config,
            solver,
            fallback: careful.build()?,
            stabiliser: Box::new(stabiliser),
            pool: pool(threads),
            threads,
            record_history: false,
            collider: Collider::default(),
            problem: Problem::default(),
            joints: joints::Workspace::default(),
            stiffness: stiffness::Workspace::default(),
            stabilisation: stabilise::Workspace::default(),
            start: Vec::new(),
            lambda: Vec::new(),
            velocity: Vec::new(),
            residual: ResidualWorkspace::default(),
            before: integrate::Saved::default(),
            report: StepReport::default(),
        })
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to change between steps.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// The solver's configuration.
    pub fn solver_config(&self) -> &SolverConfig {
        &self.config
    }

    /// Changes solver, parameters or budget from the next step on.
    ///
    /// # Errors
    /// An unknown solver or a bad parameter; the old one stays.
    pub fn set_solver(&mut self, config: SolverConfig) -> Result<(), ConfigError> {
        // A change of budget alone keeps what the solver carries.
        if config.name != self.config.name || config.parameters != self.config.parameters {
            self.solver = config.build()?;
        } else {
            config.check()?;
        }
        self.config = config;
        Ok(())
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
        self.record_history = record;
    }

    /// The last step's report.
    pub fn report(&self) -> &StepReport {
        &self.report
    }

    /// The last (sub)step's problem, as it was solved.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The last (sub)step's impulses, one per row of [`Simulation::problem`] (N s).
    pub fn impulses(&self) -> &[f64] {
        &self.lambda
    }

    /// The impulses that the last (sub)step's solver started from, one per row (N s).
    pub fn warm_start(&self) -> &[f64] {
        &self.start
    }

    /// The last (sub)step's contacts.
    pub fn contacts(&self) -> impl Iterator<Item = ContactView> + '_ {
        let c = &self.problem.contacts;
        (0..c.len()).map(move |k| {
            let block = &self.lambda[c.rows(k)];
            let (impulse, _) = self.problem.contact_impulse(k, block);
            let normal = c.frame[k].normal;
            ContactView {
                bodies: c.bodies[k],
                point: self.collider.contacts.point[k],
                normal,
                gap: c.gap[k],
                normal_impulse: block[0],
                friction_impulse: impulse - normal * block[0],
            }
        })
    }

    /// The joints at the midpoint of the last (sub)step, in the world's order, each with its error
    /// |φ + αΛ/h| (m); fewer than the world has before the first step.
    pub fn joints(&self) -> impl Iterator<Item = (&JointGeometry, f64)> {
        let errors = self.joints.errors().iter().copied();
        self.joints.geometry().iter().zip(errors)
    }

    /// The matrices of the largest island of the last solve, for pictures; none where the solver has
    /// none to show.
    pub fn matrix_view(&self) -> Option<MatrixView> {
        self.solver.matrix_view()
    }

    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            world: self.world.clone(),
            solver_name: self.solver.info().name,
            solver_state: self.solver.state(),
        }
    }

    /// Returns to a snapshot. What a solver carried is restored if it is still the same solver.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let revision = self.world.revision.max(snapshot.world.revision);
        self.world.clone_from(&snapshot.world);
        self.world.revision = revision + 1;
        if self.solver.info().name == snapshot.solver_name {
            self.solver.set_state(&snapshot.solver_state);
        } else {
            self.solver.set_state(&[]);
        }
    }

    /// One step of Moreau's midpoint rule (Nützi 2011, table 4.2), substep by substep.
    ///
    /// # Errors
    /// A body that would go out of bounds, or a solver that failed together with its fallback. The
    /// world is then as it was before the step.
    pub fn step(&mut self) -> Result<&StepReport, StepError> {
        match self.pool.take() {
            // The step as a whole goes to the pool, or each of its loops would have to wake it up.
            None => rayon::scope(|_| self.step_here())?,
            Some(pool) => {
                let result = pool.install(|| self.step_here());
                self.pool = Some(pool);
                result?;
            }
        }
        Ok(&self.report)
    }

    fn step_here(&mut self) -> Result<(), StepError> {
        if let Some(problem) = self.world.problem() {
            let step = self.world.step_index + 1;
            return Err(StepError::BadWorld { step, problem });
        }
        let saving = Instant::now();
        self.before.save(&self.world);
        let saving = saving.elapsed().as_secs_f64();
        self.report = StepReport {
            step: self.world.step_index + 1,
            ..StepReport::default()
        };
        self.report.timings.add(Stage::Integrate, saving);
        self.report.timings.add(Stage::Step, saving);
        for substep in 0..self.world.settings.substeps.max(1) {
            if let Err(error) = self.substep(substep) {
                self.before.restore(&mut self.world);
                return Err(error);
            }
        }
        self.world.step_index += 1;
        self.world.time += self.world.settings.step;
        self.report.time = self.world.time;
        Ok(())
    }

    fn substep(&mut self, substep: u32) -> Result<(), StepError> {
        let world = &mut self.world;
        let timings = &mut self.report.timings;
        let h = world.settings.substep();
        let whole = Instant::now();
        world.advance_drives(world.time + h * (f64::from(substep) + 0.5), h);

        // 1. Half step of the positions, and the forces at M that give u_free.
        let mut stage = Instant::now();
        integrate::half_step(world, h);
        integrate::free_velocities(world, h, &mut self.problem);
        self.stiffness.apply(world, &mut self.problem, h);
        let step = self.report.step;
        let out_of_bounds = |world: &World, slot: usize| StepError::OutOfBounds {
            step,
            body: world.bodies.label(slot),
        };
        if let Some(slot) = world
            .first_out_of_bounds()
            .or_else(|| integrate::first_unusable(&self.problem))
        {
            return Err(out_of_bounds(world, slot));
        }
        lap(timings, Stage::Integrate, &mut stage);

        // 2. Collision detection at M.
        self.collider.update_pairs(world, &self.problem.bodies);
        lap(timings, Stage::Broadphase, &mut stage);
        self.collider.find_contacts(world, &self.problem.bodies);
        lap(timings, Stage::Narrowphase, &mut stage);

        // 3. The problem: rows, biases, warm start, islands.
        assemble::contacts(world, &self.collider.contacts, &mut self.problem);
        self.joints.assemble(world, &mut self.problem);
        self.problem.finish();
        let contacts = &self.collider.contacts;
        assemble::recall(world, contacts, &self.problem, &mut self.lambda);
        assemble::hold_springs(world, &mut self.problem, &self.lambda);
        let rows = self.joints.start();
        assemble::start(world, &self.problem, rows, &mut self.lambda);
        self.start.clone_from(&self.lambda);
        lap(timings, Stage::Assemble, &mut stage);

        // 4. Solve for Λ; u_E = u_S + M⁻¹(h f + Jᵀ Λ).
        let request = Request {
            budget: self.config.budget,
            history: self.record_history,
        };
        let (lambda, velocity) = (&mut self.lambda, &mut self.velocity);
        let mut solve = self.solver.solve(&self.problem, &request, lambda, velocity);
        if !matches!(solve.status, Status::Failed(_)) {
            // Once more with the stiffness of this step's own forces, where the last step's are too small.
            self.joints.remember_forces(world, &self.problem, lambda);
            if self.stiffness.is_outdated(world, h) {
                integrate::free_velocities(world, h, &mut self.problem);
                self.stiffness.apply(world, &mut self.problem, h);
                let again = self.solver.solve(&self.problem, &request, lambda, velocity);
                solve = after(solve, again);
            }
        }
        for _ in 1..world.settings.joint_iterations {
            let usable = !matches!(solve.status, Status::Failed(_));
            if !(usable && self.joints.refine(world, &mut self.problem, velocity)) {
                break;
            }
            let again = self.solver.solve(&self.problem, &request, lambda, velocity);
            solve = after(solve, again);
        }
        let failed = matches!(solve.status, Status::Failed(_));
        let under = if failed {
            self.fallback.under()
        } else {
            self.solver.under()
        };
        if let Status::Failed(reason) = &solve.status {
            // Never applied to the world: the plain sequential solver takes the step instead, from
            // nothing and with shorter steps, in case it is the one that failed.
            let reason = reason.clone();
            lambda.fill(0.0);
            let request = Request {
                history: false,
                ..request
            };
            let second = self
                .fallback
                .solve(&self.problem, &request, lambda, velocity);
            solve.solve_time += second.prepare_time + second.solve_time;
            if let Status::Failed(_) = second.status {
                return Err(StepError::SolverFailed {
                    step: self.report.step,
                    solver: self.solver.info().name,
                    reason,
                });
            }
        }
        timings.add(Stage::Prepare, solve.prepare_time);
        timings.add(Stage::Solve, solve.solve_time);

        // How well it was solved: measuring, not a part of the step.
        let mut measuring = Instant::now();
        let residual = residual::evaluate(&self.problem, &self.lambda, under, &mut self.residual);
        let residual_coulomb = (under != Under::OwnLaw || self.problem.contacts.have_polyhedra())
            .then(|| {
                residual::evaluate(
                    &self.problem,
                    &self.lambda,
                    Under::Coulomb,
                    &mut self.residual,
                )
            });
        // History recording and the residual are measuring; take both out of the step's own time.
        let overhead = (stage.elapsed().as_secs_f64()
            - measuring.elapsed().as_secs_f64()
            - solve.prepare_time
            - solve.solve_time)
            .max(0.0)
            + measuring.elapsed().as_secs_f64();
        lap(timings, Stage::Residual, &mut measuring);

        // 5. Second half step of the positions with u_E, then stabilisation at E.
        stage = Instant::now();
        integrate::apply_velocities(world, &self.velocity);
        assemble::remember(world, &self.collider.contacts, &self.problem, &self.lambda);
        self.joints.remember(world, &self.problem, &self.lambda);
        self.stiffness
            .remember_contacts(world, &self.problem, &self.lambda);
        std::mem::swap(&mut world.manifolds, &mut self.collider.manifolds);
        integrate::half_step(world, h);
        self.stabilisation.project(
            world,
            &self.joints,
            stabilise::Solved {
                problem: &self.problem,
                lambda: &self.lambda,
                velocity: &self.velocity,
            },
            (!failed).then_some(self.solver.as_mut()),
            self.stabiliser.as_mut(),
        );
        if let Some(slot) = world.first_out_of_bounds() {
            return Err(out_of_bounds(world, slot));
        }
        lap(timings, Stage::Integrate, &mut stage);
        timings.add(Stage::Step, whole.elapsed().as_secs_f64() - overhead);

        self.note(substep, solve, residual, residual_coulomb);
        Ok(())
    }

    /// Adds one substep to the report.
    fn note(
        &mut self,
        substep: u32,
        solve: SolveReport,
        residual: Residual,
        residual_coulomb: Option<Residual>,
    ) {
        let problem = &self.problem;
        let report = &mut self.report;
        let contacts = &problem.contacts;
        report.contacts = contacts.len();
        report.dynamic_contacts = contacts
            .bodies
            .iter()
            .filter(|pair| pair.iter().all(|b| problem.bodies.is_dynamic(*b as usize)))
            .count();
        report.rows = problem.rows.len();
        report.islands = problem.islands.len();
        report.penetration = contacts
            .gap
            .iter()
            .fold(report.penetration, |deepest, gap| deepest.max(-gap));
        let errors = self.joints.errors().iter();
        report.joint_error = errors.fold(report.joint_error, |most, e| most.max(*e));
        report.solve = if substep > 0 {
            after(std::mem::take(&mut report.solve), solve)
        } else {
            solve
        };
        if substep == 0 || residual.residual >= report.residual.residual {
            report.residual = residual;
        }
        report.residual_coulomb = [report.residual_coulomb, residual_coulomb]
            .into_iter()
            .flatten()
            .max_by(|a, b| a.residual.total_cmp(&b.residual));
    }
}

/// The report on a solve that followed another one: what was done is summed, the rest is the last's.
fn after(first: SolveReport, mut last: SolveReport) -> SolveReport {
    if let (Some(sum), Some(before)) = (&mut last.pivoting, &first.pivoting) {
        sum.follow(before);
    }
    SolveReport {
        status: worse(&first.status, &last.status).clone(),
        iterations: first.iterations + last.iterations,
        prepare_time: first.prepare_time + last.prepare_time,
        solve_time: first.solve_time + last.solve_time,
        halvings: first.halvings + last.halvings,
        ..last
    }
}

/// The worse of two outcomes.
fn worse<'a>(a: &'a Status, b: &'a Status) -> &'a Status {
    let rank = |s: &Status| match s {
        Status::Converged => 0,
        Status::Budget | Status::Stalled(_) => 1,
        Status::Failed(_) => 2,
    };
    if rank(a) > rank(b) { a } else { b }
}

fn lap(timings: &mut Timings, stage: Stage, since: &mut Instant) {
    let now = Instant::now();
    timings.add(stage, (now - *since).as_secs_f64());
    *since = now;
}

fn pool(threads: usize) -> Option<rayon::ThreadPool> {
    if threads == 0 {
        return None;
    }
    // Without a pool of its own a simulation runs on rayon's global one.
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .ok()
}

/// The friction law that a contact gets: the material's where it asks for one, else the world's.
fn friction_law(world_law: FrictionLaw, anisotropic: bool, spin_radius: f64) -> FrictionLaw {
    if spin_radius > 0.0 {
        FrictionLaw::Contensou
    } else if anisotropic {
        FrictionLaw::Ellipse
    } else if matches!(world_law, FrictionLaw::Ellipse | FrictionLaw::Contensou) {
        // Without a second coefficient or a radius both are the disc.
        FrictionLaw::Disc
    } else {
        world_law
    }
}
