//! Hands: bodies of every scene are pulled at in six directions, into whatever is there, and let go of: an experiment of
//! our own. Joints have to be whole afterwards, and nothing may have been won.

use super::measure::Bench;
use super::measure::table::Columns;
use super::{Findings, Result};
use crate::math::Vec3;
use crate::measure::Summary;
use crate::measure::energy::{Account, Balance, Flow};
use crate::scene::{Scene, library};
use crate::session::{Drag, Input, Session};
use crate::solve::{SolverConfig, Status};
use crate::step::{Simulation, Snapshot};
use crate::world::World;

/// Scenes of more bodies are left out: what a hand does there is what it does in their smaller ones.
const MOST_BODIES: usize = 20_000;
/// Bodies that are pulled at where none is jointed.
const OTHERS: usize = 20;
/// What no hand can turn over (kg).
const HEAVY: f64 = 10_000.0;

const DIRECTIONS: [[f64; 3]; 6] = [
    [1.0, 0.0, 0.0],
    [-1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, -1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, -1.0],
];

/// What all drags of a scene have shown.
#[derive(Default)]
struct Run {
    scene: String,
    solver: String,
    drags: usize,
    /// The largest joint error in any step, and in the last quarter of the time after letting go (m).
    error: [f64; 2],
    /// Largest share by which energy rose after letting go, beyond what drives put in (-), of all that was moved.
    rise: f64,
    /// Fastest body in any step (m/s).
    speed: f64,
    /// Most that a heavy body's own vertical leaned (°).
    lean: f64,
    /// Steps that a solver failed in, or that were not taken.
    failed: usize,
    /// Time of all steps (ms).
    times: Vec<f64>,
    /// The drags with the largest joint error at the end, and the largest rise of energy.
    worst: String,
    winner: String,
}

/// Every jointed body of every scene (else 20 of them), pulled at in six directions and let go of: under the scene's own
/// solver and, where that is another one, by default.
///
/// # Errors
/// A scene that cannot be used.
pub fn hands(bench: &Bench, findings: &mut Findings) -> Result<()> {
    bench.check_only(library::shipped_names())?;
    let mut runs = Vec::new();
    for scene in library::shipped_names().filter(|name| bench.wants(name)) {
        for solver in solvers(&library::shipped(scene)?) {
            runs.extend(pull_all(bench, scene, solver)?);
        }
    }
    let seconds = seconds(bench);
    let title = format!("Hands: pulled for {seconds} s, and {seconds} s after letting go");
    findings.table(
        Columns::new("hands", title, "", &runs)
            .key("scene", |r| &r.scene)
            .key("solver", |r| &r.solver)
            .column("drags", |r| r.drags as f64)
            .column("worst joint [mm]", |r| 1e3 * r.error[0])
            .column("at the end [mm]", |r| 1e3 * r.error[1])
            .column("energy won [%]", |r| 100.0 * r.rise)
            .column("fastest [m/s]", |r| r.speed)
            .column("lean of 10 t [°]", |r| r.lean)
            .column("steps failed", |r| r.failed as f64)
            .column("p95 step [ms]", |r| Summary::of(&r.times).p95)
            .column("worst step [ms]", |r| Summary::of(&r.times).max)
            .remark(|r| format!("{}; {}", r.worst, r.winner))
            .notes([
                "A joint error is that of StepReport::joint_error; at the end is the last quarter of the time after letting go. \
                 Energy won is what the world has more after letting go than then, beyond what its drives and a sea put in and what \
                 errors of the tolerance move (its weight at that speed), as a share of all that was moved.",
            ]),
    );
    Ok(())
}

/// The scene's own solver and, where that is another one, the default.
pub(super) fn solvers(scene: &Scene) -> impl Iterator<Item = SolverConfig> {
    let default = SolverConfig::default();
    let is_other = scene.solver.name != default.name;
    std::iter::once(scene.solver.clone()).chain(is_other.then_some(default))
}

/// How long a body is pulled at, and watched after that (s).
fn seconds(bench: &Bench) -> f64 {
    bench.either(1.0, 2.0)
}

/// Pulls at the bodies of a scene; none where it is too large.
fn pull_all(bench: &Bench, name: &str, solver: SolverConfig) -> Result<Option<Run>> {
    let mut scene = library::shipped(name)?;
    scene.solver = solver;
    let mut simulation = scene.simulation(bench.most_threads())?;
    if simulation.world().bodies.len() > MOST_BODIES {
        return Ok(None);
    }
    for _ in 0..30 {
        super::measure::step(&mut simulation, name)?;
    }
    let start = simulation.snapshot();
    let bodies = chosen(bench, simulation.world());
    let reach = reach(simulation.world());
    let mut session = Session::new(simulation);
    let mut run = Run {
        scene: name.to_owned(),
        solver: scene.solver.name.clone(),
        ..Run::default()
    };
    for (k, slot) in bodies.iter().enumerate() {
        bench.say(format!("{name}: body {} of {}", k + 1, bodies.len()));
        for direction in DIRECTIONS {
            pull(
                bench,
                &mut session,
                &start,
                *slot,
                direction,
                reach,
                &mut run,
            );
        }
    }
    Ok(Some(run))
}

/// The slots of the bodies that are pulled at: those in joints, else some of all; in a quick run few of either.
fn chosen(bench: &Bench, world: &World) -> Vec<usize> {
    let bodies = &world.bodies;
    let mut is_jointed = vec![false; bodies.slots()];
    for slot in world.joints.iter().flat_map(|joint| joint.bodies) {
        if let Some(jointed) = is_jointed.get_mut(slot as usize) {
            *jointed = true;
        }
    }
    let moves = |slot: &usize| bodies.is_dynamic(*slot);
    let jointed: Vec<usize> = (0..bodies.slots()).filter(moves).collect();
    let (all, most) = match jointed.iter().any(|slot| is_jointed[*slot]) {
        true => {
            let those = jointed.into_iter().filter(|slot| is_jointed[*slot]);
            (those.collect(), bench.either(2, usize::MAX))
        }
        false => (jointed, bench.either(1, OTHERS)),
    };
    let count = all.len().min(most);
    // From the middles of as many equal parts.
    (0..count)
        .map(|k| all[(2 * k + 1) * all.len() / (2 * count)])
        .collect()
}

/// As far as a hand would pull: from one end of what moves to the other (m).
fn reach(world: &World) -> f64 {
    let bodies = &world.bodies;
    let moved = (0..bodies.slots()).filter(|slot| bodies.is_dynamic(*slot));
    let places = moved.map(|slot| bodies.position[slot]);
    let ends = places.fold(
        [Vec3::repeat(f64::MAX), Vec3::repeat(f64::MIN)],
        |[low, high], p| [low.inf(&p), high.sup(&p)],
    );
    (ends[1] - ends[0]).norm().clamp(1.0, 1e3)
}

/// Pulls at a body, lets go of it, and watches.
fn pull(
    bench: &Bench,
    session: &mut Session,
    start: &Snapshot,
    slot: usize,
    direction: [f64; 3],
    reach: f64,
    run: &mut Run,
) {
    session.restore(start);
    session.simulation_mut().set_energy(true);
    let world = session.simulation().world();
    let bodies = &world.bodies;
    let uprights: Vec<(usize, Vec3)> = (0..bodies.slots())
        .filter(|slot| bodies.is_dynamic(*slot) && bodies.inverse_mass[*slot] * HEAVY <= 1.0)
        .map(|slot| (slot, bodies.rotation[slot].inverse() * Vec3::y()))
        .collect();
    let Some(body) = bodies.id(slot) else {
        return;
    };
    let target = bodies.position[slot] + Vec3::from(direction) * reach;
    let named = named(&bodies.name[slot], slot, direction);
    let steps = (seconds(bench) / world.settings.step).round() as u32;
    let drag = Drag {
        body,
        anchor: Vec3::zeros(),
        target,
    };
    // Hands are never refused.
    let act = |session: &mut Session, drag| _ = session.apply(Input::Drag(drag));
    act(session, Some(drag));
    let mut balances: Vec<Balance> = Vec::new();
    let (mut worst, mut last) = (0.0_f64, 0.0_f64);
    for step in 0..2 * steps {
        if step == steps {
            act(session, None);
        }
        let Ok(report) = session.step() else {
            run.failed += 1;
            break;
        };
        run.failed += usize::from(matches!(report.solve.status, Status::Failed(_)));
        run.times
            .push(1e3 * report.timings.get(crate::measure::Stage::Step));
        worst = worst.max(report.joint_error);
        if step >= 2 * steps - steps / 4 {
            last = last.max(report.joint_error);
        }
        balances.extend(report.energy);
        let bodies = &session.simulation().world().bodies;
        let speeds = bodies.velocity.iter().map(|v| v.linear.norm());
        run.speed = speeds.fold(run.speed, f64::max);
        for (slot, up) in &uprights {
            let lean = (bodies.rotation[*slot] * up).angle(&Vec3::y()).to_degrees();
            run.lean = run.lean.max(lean);
        }
    }
    let rise = won(&balances, steps as usize, leak(session.simulation(), steps));
    if rise > run.rise {
        run.rise = rise;
        run.winner.clone_from(&named);
    }
    run.drags += 1;
    run.error[0] = run.error[0].max(worst);
    if last > run.error[1] || run.worst.is_empty() {
        run.error[1] = run.error[1].max(last);
        run.worst = named;
    }
}

/// What is said of a drag.
fn named(name: &str, slot: usize, [x, y, z]: [f64; 3]) -> String {
    match name {
        "" => format!("body {slot} by ({x}, {y}, {z})"),
        name => format!("{name} by ({x}, {y}, {z})"),
    }
}

/// What errors of the tolerance in velocities may move in so many steps: the weight of everything at that speed (J).
fn leak(simulation: &Simulation, steps: u32) -> f64 {
    let (world, tolerance) = (
        simulation.world(),
        simulation.solver_config().budget.tolerance,
    );
    let (bodies, settings) = (&world.bodies, &world.settings);
    let moves = (0..bodies.slots()).filter(|slot| bodies.is_dynamic(*slot));
    let mass: f64 = moves.map(|slot| 1.0 / bodies.inverse_mass[slot]).sum();
    mass * settings.gravity.norm() * tolerance * f64::from(steps) * settings.step
}

/// The most by which energy rose after a step, beyond what drives put in and this leak, as a share of all that was
/// moved (-).
fn won(balances: &[Balance], from: usize, leak: f64) -> f64 {
    let moved = Account::of(balances).map_or(0.0, |account| account.throughput);
    let (mut won, mut most) = (0.0, 0.0_f64);
    for balance in balances.get(from..).unwrap_or_default() {
        let before = won;
        // The sea is a force.
        let given = (balance[Flow::Drives] + balance[Flow::Forces]).max(0.0);
        won += balance.after.total() - balance.before.total() - given;
        // After a step of another length springs show a stretch that is gone with the next step.
        most = most.max(before.min(won));
    }
    (most - leak).max(0.0) / moved.max(1e-9)
}
