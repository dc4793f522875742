//! The honest clock: a step's time is the wall time of what it does, stage by stage without a gap, and
//! measuring is counted apart.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::*;
use moreau::measure::Stage;
use moreau::scene::library::shipped;
use moreau::solve::SolverConfig;
use moreau::step::{ResidualSchedule, Simulation};

/// A clock that shows one second more every time it is read.
fn with_counting_clock(simulation: &mut Simulation) -> Arc<AtomicU64> {
    let reads = Arc::new(AtomicU64::new(0));
    let counter = reads.clone();
    simulation.set_clock(Arc::new(move || {
        counter.fetch_add(1, Ordering::Relaxed) as f64
    }));
    reads
}

/// Every lap between two readings belongs to one stage: their sum is what the clock says from the first
/// reading to the last.
#[test]
fn stages_add_up_to_the_clock() {
    for scene in ["crane", "box_stack", "newtons_cradle"] {
        let scene = shipped(scene).unwrap();
        let mut simulation = scene.simulation(1).unwrap();
        simulation.world_mut().settings.substeps = 3;
        let reads = with_counting_clock(&mut simulation);
        for _ in 0..5 {
            let first = reads.load(Ordering::Relaxed);
            let timings = simulation.step().unwrap().timings;
            let laps = (reads.load(Ordering::Relaxed) - first - 1) as f64;
            let parts: f64 = Stage::PARTS.iter().map(|s| timings.get(*s)).sum();
            let whole = timings.get(Stage::Step);
            assert!((parts - whole).abs() < 1e-9, "{timings:?}");
            let measuring = timings.get(Stage::Measure);
            assert!((whole + measuring - laps).abs() < 1e-9, "{timings:?}");
            // The solver's own time before its first iteration is a part of a lap of one second.
            // Once before the substeps, and once after them.
            assert!((timings.get(Stage::Wait) - 2.0).abs() < 1e-9, "{timings:?}");
            let in_substeps = |stage: &Stage| ![Stage::Prepare, Stage::Wait].contains(stage);
            for stage in Stage::PARTS.into_iter().filter(in_substeps) {
                assert!(timings.get(stage) > 2.5, "{stage:?}: {timings:?}");
            }
        }
    }
}

/// Whoever catches a panic of a step may go on: clock, threads and settings are those of before.
#[test]
fn clock_threads_and_settings_outlive_a_panic() {
    let mut simulation = shipped("crane").unwrap().simulation(3).unwrap();
    simulation.world_mut().settings.substeps = 3;
    let reads = AtomicU64::new(0);
    simulation.set_clock(Arc::new(move || {
        let read = reads.fetch_add(1, Ordering::Relaxed);
        assert_ne!(read, 10, "this clock stops once");
        read as f64
    }));
    let step = |simulation: &mut Simulation| simulation.step().map(|report| report.timings);
    let caught = catch_unwind(AssertUnwindSafe(|| step(&mut simulation)));
    assert!(caught.is_err(), "the clock was not read so often");
    assert_eq!(simulation.world().settings.substeps, 3);
    let threads = simulation.on_threads(|_| rayon::current_num_threads());
    assert_eq!(threads, 3);
    let timings = step(&mut simulation).unwrap();
    assert!(timings.get(Stage::Step) > 10.0, "{timings:?}");
}

/// Every round that closes the joints is part of the step.
#[test]
fn every_solve_of_a_step_is_counted() {
    let scene = shipped("crane").unwrap();
    let mut fine = scene.simulation(1).unwrap();
    let mut coarse = scene.simulation(1).unwrap();
    fine.world_mut().settings.step = 1e-3;
    let [first, second] = [&mut fine, &mut coarse].map(|s| {
        let reads = with_counting_clock(s);
        let solve = s.step().unwrap().solve.clone();
        let rounds = solve.statistic("joint rounds").unwrap();
        (reads.load(Ordering::Relaxed), rounds, s.report().timings)
    });
    let more = second.1 - first.1;
    assert!(more >= 1.0, "{more} rounds more");
    // Each more has a lap for solving, one for looking at the joints and one for the next round's problem.
    assert_eq!(second.0 as f64, first.0 as f64 + 3.0 * more);
    let assemble = |t: &moreau::measure::Timings| t.get(Stage::Assemble);
    assert_eq!(assemble(&second.2), assemble(&first.2) + 2.0 * more);
}

#[test]
fn the_residual_is_evaluated_when_asked_for() {
    let mut world = world(Default::default(), 0.5, 0.0);
    ground(&mut world);
    add(
        &mut world,
        moreau::world::BodySpec {
            shape: ball(0.5),
            pose: moreau::math::Pose::translation(0.0, 0.5, 0.0),
            mass: Some(1.0),
            ..Default::default()
        },
    );
    let mut hashes = Vec::new();
    for schedule in [
        ResidualSchedule::Every,
        ResidualSchedule::Last,
        ResidualSchedule::Never,
    ] {
        let config = SolverConfig::default();
        let mut simulation = Simulation::new(world.clone(), config, 1).unwrap();
        simulation.set_residuals(schedule);
        for _ in 0..10 {
            let asked = schedule != ResidualSchedule::Never;
            assert_eq!(simulation.step().unwrap().residual.is_some(), asked);
        }
        hashes.push(simulation.world().state_hash());
    }
    assert!(hashes.iter().all(|h| *h == hashes[0]), "{hashes:?}");
}
