//! A shipped scene file, driven from code: the crane's winch is taken over and the load is lowered.
//!
//! `cargo run --release --example drive_a_scene --no-default-features`

use moreau::prelude::*;
use moreau::scene::library;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `Scene::load` reads a file of one's own; fields are public and can be changed before it is built.
    let mut scene: Scene = library::open("crane")?;
    scene.settings.substeps = 2;
    let mut simulation = scene.simulation(0)?;

    for (k, drive) in simulation.world().drives().iter().enumerate() {
        println!(
            "drive {k}: {}, from {} to {} {}",
            drive.name, drive.range[0], drive.range[1], drive.unit
        );
    }
    for second in 1..=5 {
        // From the third second on the first drive goes to the middle of its range instead of its script.
        if second == 3 {
            let [low, high] = simulation.world().drives()[0].range;
            simulation
                .world_mut()
                .set_drive(0, Some(0.5 * (low + high)));
        }
        let mut worst: f64 = 0.0;
        for _ in 0..60 {
            worst = worst.max(simulation.step()?.joint_error);
        }
        let report = simulation.report();
        println!(
            "{second} s: {} contacts, {} iterations, joints at most {:.3} mm apart, step {:.3} ms",
            report.contacts,
            report.solve.iterations,
            1e3 * worst,
            1e3 * report.timings.get(moreau::measure::Stage::Step),
        );
    }
    Ok(())
}
