//! The machines on wheels and the forwarder run their whole scripts with the pivoting solver, do what
//! they are said to do, and keep their joints and laws.

use moreau::math::Vec3;
use moreau::scene::library;
use moreau::step::{Simulation, StepReport};
use moreau::world::joint::JointKind;

const SECONDS: usize = 20;

/// A machine that runs, and what has been seen so far.
struct Machine {
    id: &'static str,
    simulation: Simulation,
    /// Residuals above 1e-8 m/s: step, residual, what the solver says.
    missed: Vec<(usize, f64, String)>,
    worst: f64,
    joint_error: (f64, String),
    steps: usize,
}

impl Machine {
    fn open(id: &'static str) -> Self {
        let scene = library::shipped(id).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scene.solver.name, "bpp", "{id}");
        assert!((scene.settings.step - 1.0 / 60.0).abs() < 1e-15 && scene.settings.substeps == 1);
        Self {
            id,
            simulation: scene.simulation(1).unwrap_or_else(|e| panic!("{e}")),
            missed: Vec::new(),
            worst: 0.0,
            joint_error: (0.0, String::new()),
            steps: 0,
        }
    }

    fn time(&self) -> f64 {
        self.simulation.world().time
    }

    fn step(&mut self) -> StepReport {
        let id = self.id;
        let report = self
            .simulation
            .step()
            .unwrap_or_else(|e| panic!("{id}: {e}"));
        let report = report.clone();
        let residual = report.residual.unwrap_or_default().residual;
        if residual > 1e-8 {
            let status = format!("{:?} {:?}", report.solve.status, report.solve.statistics);
            self.missed.push((self.steps, residual, status));
        }
        self.worst = self.worst.max(residual);
        if report.joint_error > self.joint_error.0 {
            let errors = self.simulation.joints().map(|(_, error)| error);
            let worst = errors.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            let joints = self.simulation.world().joints();
            let name = worst.map(|(k, _)| joints[k].label(k)).unwrap_or_default();
            self.joint_error = (report.joint_error, format!("{name} in step {}", self.steps));
        }
        self.steps += 1;
        report
    }

    /// To a time (s), or to the end of the script.
    fn run_to(&mut self, time: f64, mut each: impl FnMut(&Simulation)) {
        while self.time() < time - 1e-9 {
            self.step();
            each(&self.simulation);
        }
    }

    /// Joints keep together, laws hold.
    fn check(&self) {
        let id = self.id;
        assert_eq!(self.steps, SECONDS * 60);
        let (error, joint) = &self.joint_error;
        assert!(*error < 1e-3, "{id}: {joint} is off by {error} m");
        let most = self.steps / 100;
        assert!(
            self.missed.len() <= most && self.worst <= 1e-4,
            "{id}: residual up to {:e} m/s, above 1e-8 in {} steps: {:#?}",
            self.worst,
            self.missed.len(),
            &self.missed[..self.missed.len().min(5)]
        );
    }

    fn slot(&self, name: &str) -> usize {
        let names = &self.simulation.world().bodies.name;
        names
            .iter()
            .position(|n| n == name)
            .unwrap_or_else(|| panic!("there is no body {name}"))
    }

    fn at(&self, slot: usize) -> Vec3 {
        self.simulation.world().bodies.position[slot]
    }

    /// A body's axis y.
    fn up(&self, slot: usize) -> Vec3 {
        self.simulation.world().bodies.rotation[slot] * Vec3::y()
    }

    /// A point of one body in the frame of another.
    fn seen_from(&self, frame: usize, slot: usize) -> Vec3 {
        let pose = self.simulation.world().bodies.pose(frame);
        pose.inverse_transform_point(self.at(slot))
    }
}

/// Largest |Σ coefficient · coordinate − what it began with| of the gears (rad or m).
fn gear_error(simulation: &Simulation) -> f64 {
    let joints = simulation.world().joints();
    let geometry: Vec<_> = simulation.joints().map(|(g, _)| g).collect();
    let mut error: f64 = 0.0;
    for joint in joints {
        if let JointKind::Gear(terms) = &joint.kind {
            let sum: f64 = terms
                .iter()
                .map(|t| t.coefficient * geometry[t.joint as usize].value[usize::from(t.axis)])
                .sum();
            error = error.max((sum - joint.gear_offset).abs());
        }
    }
    error
}

/// Whether some contact of a body of this name's beginning slips: a friction impulse on its bound.
fn slips(simulation: &Simulation, name: &str) -> bool {
    let names = &simulation.world().bodies.name;
    let problem = simulation.problem();
    (0..problem.contacts.len()).any(|k| {
        let rows = &simulation.impulses()[problem.contacts.rows(k)];
        let bound = problem.contacts.friction[k].mu[0] * rows[0];
        let bodies = problem.contacts.bodies[k];
        bound > 0.1
            && rows[1..].iter().any(|t| t.abs() > bound * (1.0 - 1e-9))
            && bodies.iter().any(|b| names[*b as usize].starts_with(name))
    })
}

fn heading(simulation: &Simulation, slot: usize) -> f64 {
    let ahead = simulation.world().bodies.rotation[slot] * Vec3::x();
    (-ahead.z).atan2(ahead.x)
}

/// Over the stairs, bumps and hills, upright, and to a stop behind them.
#[test]
fn the_vehicle_passes_the_parkour() {
    let mut m = Machine::open("vehicle_parkour");
    let hull = m.slot("hull");
    let ride = m.at(hull).y;
    let mut highest = [0.0_f64; 2];
    let mut least_up: f64 = 1.0;
    let mut gears: f64 = 0.0;
    m.run_to(SECONDS as f64, |s| {
        let bodies = &s.world().bodies;
        let x = bodies.position[hull];
        least_up = least_up.min((bodies.rotation[hull] * Vec3::y()).y);
        gears = gears.max(gear_error(s));
        // On top of the stairs, and of the last hill.
        for (highest, (from, to)) in highest.iter_mut().zip([(7.0, 11.0), (51.0, 55.0)]) {
            if (from..to).contains(&x.x) {
                *highest = highest.max(x.y - ride);
            }
        }
    });
    assert!(highest[0] > 0.35, "{highest:?}");
    assert!(highest[1] > 0.4, "{highest:?}");
    assert!(least_up > 0.9, "{least_up}");
    assert!(gears < 1e-3, "differentials are off by {gears} rad");
    // The rear wheels have left the last hill.
    let rear = m.slot("lav wheel 3 left");
    assert!(m.at(rear).x > 57.5, "{}", m.at(rear));
    assert!(m.at(hull).z.abs() < 2.0, "{}", m.at(hull));
    assert!(m.up(hull).y > 0.99);
    let speed = m.simulation.world().bodies.velocity[hull].linear.norm();
    assert!(speed < 0.1, "{speed} m/s");
    m.check();
}

/// Lifts the crate, turns once round the cone without touching it, and keeps the crate on the fork
/// while the wheels skid.
#[test]
fn the_forklift_carries_the_crate_round_the_cone() {
    let mut m = Machine::open("forklift");
    let [chassis, crate_, cone, tine] =
        ["chassis", "crate", "cone", "tine left"].map(|n| m.slot(n));
    let ground = m.at(crate_).y;
    m.run_to(7.0, |_| {});
    let lifted = m.at(crate_).y - ground;
    assert!(lifted > 0.3, "{lifted} m");
    let (on_fork, cone_at) = (m.seen_from(tine, crate_), m.at(cone));
    let mut turned = 0.0;
    let mut round = 0.0;
    let mut last = heading(&m.simulation, chassis);
    let direction = |m: &Simulation| {
        let d = m.world().bodies.position[chassis] - m.world().bodies.position[cone];
        (-d.z).atan2(d.x)
    };
    let mut last_direction = direction(&m.simulation);
    let (mut skids, mut gears, mut nearest) = (0, 0.0_f64, f64::INFINITY);
    let whole = |angle: f64| {
        use std::f64::consts::TAU;
        angle - (angle / TAU).round() * TAU
    };
    m.run_to(SECONDS as f64, |s| {
        let now = heading(s, chassis);
        turned += whole(now - last);
        last = now;
        let now = direction(s);
        if s.world().time < 16.0 {
            round += whole(now - last_direction);
        }
        last_direction = now;
        gears = gears.max(gear_error(s));
        let apart = s.world().bodies.position[chassis] - s.world().bodies.position[cone];
        nearest = nearest.min(apart.xz().norm());
        let turning = (9.0..14.0).contains(&s.world().time);
        skids += usize::from(turning && (slips(s, "front wheel") || slips(s, "rear wheel")));
    });
    let turned = turned.to_degrees();
    assert!((turned - 360.0).abs() < 15.0, "{turned}°");
    assert!(
        round.to_degrees() > 300.0,
        "{}° round the cone",
        round.to_degrees()
    );
    assert!((m.at(cone) - cone_at).norm() < 1e-3, "the cone was touched");
    assert!(nearest > 1.5, "{nearest}");
    assert!(skids > 200, "wheels skidded in {skids} of 300 steps");
    let moved = (m.seen_from(tine, crate_) - on_fork).norm();
    assert!(moved < 0.02, "the crate moved by {moved} m on the fork");
    assert!(m.at(crate_).y - ground > 0.3);
    assert!(gears < 1e-3, "{gears}");
    m.check();
}

/// Closes its claws, lifts the log by more than a metre and swings it round; the log does not slip.
#[test]
fn the_forwarder_lifts_the_log_without_slip() {
    let mut m = Machine::open("forwarder");
    let [log, left, right] = ["log", "claw left", "claw right"].map(|n| m.slot(n));
    let ground = m.at(log);
    m.run_to(8.4, |_| {});
    let held = [m.seen_from(left, log), m.seen_from(right, log)];
    let mut slip: f64 = 0.0;
    while m.time() < SECONDS as f64 - 1e-9 {
        m.step();
        for (claw, before) in [left, right].into_iter().zip(held) {
            slip = slip.max((m.seen_from(claw, log) - before).norm());
        }
    }
    let at = m.at(log);
    assert!(at.y - ground.y > 1.0, "{at}");
    assert!((at - ground).xz().norm() > 2.0, "{at}");
    assert!(slip < 5e-3, "the log slipped by {slip} m");
    m.check();
}

/// What falls comes to rest, and most of the tower stands.
#[test]
fn the_log_tower_settles() {
    let mut m = Machine::open("log_tower");
    let mut rows = 0;
    while m.time() < 5.0 {
        m.step();
        rows = rows.max(m.simulation.impulses().len());
    }
    assert!(rows > 100, "{rows} rows");
    assert!(m.worst <= 1e-4, "{:e}: {:#?}", m.worst, m.missed.first());
}
