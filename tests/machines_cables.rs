//! The machines and mechanisms with cables, chains and linkages: each runs its whole script with block
//! principal pivoting at one step of 1/60 s, and does what its description says.

use moreau::math::Vec3;
use moreau::scene::{Scene, library};
use moreau::solve::Status;
use moreau::step::{Simulation, StepReport};

const H: f64 = 1.0 / 60.0;

fn open(id: &str) -> Scene {
    library::shipped(id).unwrap_or_else(|e| panic!("{e}"))
}

/// A running machine, and the worst of what it has shown.
struct Machine {
    sim: Simulation,
    id: String,
    steps: usize,
    joint_error: f64,
    /// Deepest overlap (m).
    penetration: f64,
    /// Largest residual under the contacts' own laws (m/s).
    residual: f64,
    /// Steps with a residual above 1e-8 m/s.
    rough: Vec<(u64, f64, Status)>,
    rows: usize,
}

impl Machine {
    fn new(id: &str) -> Self {
        Self::of(&open(id))
    }

    fn of(scene: &Scene) -> Self {
        let sim = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(sim.solver_config().name, "bpp");
        let settings = sim.world().settings;
        assert_eq!((settings.step, settings.substeps), (H, 1));
        Self {
            sim,
            id: scene.id().to_owned(),
            steps: 0,
            joint_error: 0.0,
            penetration: 0.0,
            residual: 0.0,
            rough: Vec::new(),
            rows: 0,
        }
    }

    fn step(&mut self) -> StepReport {
        let id = &self.id;
        let report = self
            .sim
            .step()
            .unwrap_or_else(|e| panic!("{id}: {e}"))
            .clone();
        let status = report.solve.status.clone();
        assert!(!matches!(status, Status::Failed(_)), "{id}: {status:?}");
        self.steps += 1;
        self.joint_error = self.joint_error.max(report.joint_error);
        self.penetration = self.penetration.max(report.penetration);
        self.residual = self.residual.max(report.residual.residual);
        self.rows = self.rows.max(self.sim.problem().row_count());
        if report.residual.residual > 1e-8 {
            self.rough
                .push((report.step, report.residual.residual, status));
        }
        report
    }

    /// Steps up to a time (s); `each` sees every step.
    fn run_to(&mut self, time: f64, mut each: impl FnMut(&Self)) {
        while (self.steps as f64) < (time / H).round() {
            self.step();
            each(self);
        }
    }

    fn slot(&self, name: &str) -> usize {
        let bodies = &self.sim.world().bodies;
        (0..bodies.slots())
            .find(|s| bodies.name[*s] == name)
            .unwrap_or_else(|| panic!("{}: no body \"{name}\"", self.id))
    }

    fn at(&self, name: &str) -> Vec3 {
        self.sim.world().bodies.position[self.slot(name)]
    }

    /// A point of a body, given in the body's frame about its centre of mass, in the world.
    fn point(&self, name: &str, local: Vec3) -> Vec3 {
        let bodies = &self.sim.world().bodies;
        bodies.pose(self.slot(name)).transform_point(local)
    }

    fn speed(&self, name: &str) -> f64 {
        self.sim.world().bodies.velocity[self.slot(name)]
            .linear
            .norm()
    }

    /// Sum of the normal forces between two bodies (N).
    fn pushes(&self, a: &str, b: &str) -> f64 {
        let pair = [self.slot(a) as u32, self.slot(b) as u32];
        self.sim
            .contacts()
            .filter(|c| c.bodies == pair || c.bodies == [pair[1], pair[0]])
            .map(|c| c.normal_impulse / H)
            .sum()
    }

    /// Length of a chain at the last midpoint: its links between their joints, and the gaps in these (m).
    fn length(&self, chain: &str, links: usize) -> f64 {
        let joints = self.sim.world().joints();
        let frames: Vec<_> = self.sim.joints().map(|(g, _)| g.frames).collect();
        let of = |k: usize| {
            let name = format!("{chain} {k}");
            let found = joints.iter().position(|j| j.name == name);
            found.map(|j| frames[j])
        };
        let mut sum = 0.0;
        for k in 0..=links {
            let Some([first, second]) = of(k) else {
                continue;
            };
            sum += (second.position - first.position).norm();
            if let Some([next, _]) = of(k + 1) {
                sum += (next.position - second.position).norm();
            }
        }
        sum
    }

    /// What every machine must keep.
    fn assert_exact(&self, joint_error: f64) {
        let Self { id, rough, .. } = self;
        println!(
            "{id}: joints {:.1e} m, overlap {:.1e} m, residual {:.1e} m/s, {} of {} steps above 1e-8, at most {} rows",
            self.joint_error,
            self.penetration,
            self.residual,
            rough.len(),
            self.steps,
            self.rows
        );
        let few = &rough[..rough.len().min(10)];
        assert!(
            self.joint_error < joint_error,
            "{id}: {} m",
            self.joint_error
        );
        assert!(
            self.residual <= 1e-4,
            "{id}: {} m/s, {few:?}",
            self.residual
        );
        assert!(
            rough.len() * 100 <= self.steps,
            "{id}: {} rough steps, {few:?}",
            rough.len()
        );
    }
}
