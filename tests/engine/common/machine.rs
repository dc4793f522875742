//! A shipped machine that runs with block principal pivoting, or as it is shipped, at one step of 1/60 s, and the worst of what it
//! has shown.

use moreau::math::Vec3;
use moreau::problem::FrictionLaw;
use moreau::scene::{Scene, library};
use moreau::solve::Status;
use moreau::step::{Simulation, StepReport};

pub const H: f64 = 1.0 / 60.0;

pub fn open(id: &str) -> Scene {
    library::shipped(id).unwrap_or_else(|e| panic!("{e}"))
}

pub struct Machine {
    pub simulation: Simulation,
    pub id: String,
    pub steps: usize,
    /// Largest joint error (m), and where it was.
    joint_error: (f64, String),
    /// Deepest overlap (m).
    pub penetration: f64,
    /// Largest residual under the contacts' own laws (m/s).
    residual: f64,
    /// Residuals above 1e-8 m/s: step, residual, what the solver says.
    missed: Vec<(u64, f64, String)>,
    /// Most rows of a step.
    pub rows: usize,
}

impl Machine {
    pub fn new(id: &str) -> Self {
        Self::of(&open(id))
    }

    pub fn of(scene: &Scene) -> Self {
        let mut scene = scene.clone();
        if scene.solver.name != "bpp" {
            scene.solver.switch("bpp");
            scene.solver.budget.iterations = 1000;
            scene.settings.friction_law = FrictionLaw::Box;
        }
        Self::as_shipped(&scene)
    }

    /// With whatever solver the scene has.
    pub fn as_shipped(scene: &Scene) -> Self {
        let simulation = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
        let settings = simulation.world().settings;
        assert_eq!((settings.step, settings.substeps), (H, 1));
        Self {
            simulation,
            id: scene.id().to_owned(),
            steps: 0,
            joint_error: (0.0, String::new()),
            penetration: 0.0,
            residual: 0.0,
            missed: Vec::new(),
            rows: 0,
        }
    }

    pub fn step(&mut self) -> StepReport {
        let id = &self.id;
        let result = self.simulation.step();
        let report = result.unwrap_or_else(|e| panic!("{id}: {e}")).clone();
        let solve = &report.solve;
        assert!(
            !matches!(solve.status, Status::Failed(_)),
            "{id}: {:?}",
            solve.status
        );
        self.steps += 1;
        if report.joint_error > self.joint_error.0 {
            let errors = self.simulation.joints().map(|(_, error)| error);
            let worst = errors.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            let joints = self.simulation.world().joints();
            let name = worst.map(|(k, _)| joints[k].label(k)).unwrap_or_default();
            self.joint_error = (report.joint_error, format!("{name} in step {}", self.steps));
        }
        self.penetration = self.penetration.max(report.penetration);
        self.rows = self.rows.max(self.simulation.problem().row_count());
        let residual = report.residual.unwrap_or_default().residual;
        self.residual = self.residual.max(residual);
        if residual > 1e-8 {
            let said = format!("{:?} {:?}", solve.status, solve.statistics);
            self.missed.push((report.step, residual, said));
        }
        report
    }

    /// Steps up to a time (s); `each` sees every step.
    pub fn run_to(&mut self, time: f64, mut each: impl FnMut(&Self)) {
        while (self.steps as f64) < (time / H).round() {
            self.step();
            each(self);
        }
    }

    pub fn slot(&self, name: &str) -> usize {
        let names = &self.simulation.world().bodies.name;
        let found = names.iter().position(|n| n == name);
        found.unwrap_or_else(|| panic!("{}: no body \"{name}\"", self.id))
    }

    pub fn at(&self, name: &str) -> Vec3 {
        self.simulation.world().bodies.position[self.slot(name)]
    }

    /// A point of a body, given in the body's frame about its centre of mass, in the world.
    pub fn point(&self, name: &str, local: Vec3) -> Vec3 {
        let bodies = &self.simulation.world().bodies;
        bodies.pose(self.slot(name)).transform_point(local)
    }

    /// Where one body is in the frame of another.
    pub fn seen_from(&self, frame: &str, name: &str) -> Vec3 {
        let pose = self.simulation.world().bodies.pose(self.slot(frame));
        pose.inverse_transform_point(self.at(name))
    }

    pub fn speed(&self, name: &str) -> f64 {
        let bodies = &self.simulation.world().bodies;
        bodies.velocity[self.slot(name)].linear.norm()
    }

    /// What every machine must keep: its joints together, its residual below 1e-4 m/s, and below 1e-8 m/s in
    /// all but a hundredth of the steps, or at most the tolerance in all where the solver goes by that.
    pub fn assert_exact(&self, most_apart: f64) {
        let Self { id, missed, .. } = self;
        let (apart, joint) = &self.joint_error;
        println!(
            "{id}: joints {apart:.1e} m, overlap {:.1e} m, residual {:.1e} m/s, {} of {} steps above 1e-8, at most {} rows",
            self.penetration,
            self.residual,
            missed.len(),
            self.steps,
            self.rows
        );
        assert!(*apart < most_apart, "{id}: {joint} is off by {apart} m");
        let config = self.simulation.solver_config();
        if config.name == "auto" {
            let tolerance = config.budget.tolerance;
            assert!(self.residual <= tolerance, "{id}: {:e} m/s", self.residual);
            return;
        }
        assert!(
            self.residual <= 1e-4 && missed.len() * 100 <= self.steps,
            "{id}: residual up to {:e} m/s, above 1e-8 in {} of {} steps: {:#?}",
            self.residual,
            missed.len(),
            self.steps,
            &missed[..missed.len().min(5)]
        );
    }
}
