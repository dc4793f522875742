//! A trajectory as a NumPy array: steps × bodies × 13 (x y z, qx qy qz qw, v, ω), and the times beside it.
//!
//! `cargo run --release --example trajectory --no-default-features -- swing.npy`, then in Python
//! `numpy.load("swing.npy")[:, 1, 0:3]` are the positions of the second body.

use std::path::PathBuf;

use moreau::measure::trajectory::Trajectory;
use moreau::scene::library;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(
        std::env::args()
            .nth(1)
            .unwrap_or("double_pendulum.npy".into()),
    );
    let mut simulation = library::open("double_pendulum")?.simulation(0)?;
    let mut trajectory = Trajectory::create(&path, simulation.world())?;
    for _ in 0..600 {
        simulation.step()?;
        trajectory.add(simulation.world(), None)?;
    }
    trajectory.finish()?;
    println!(
        "{}: 600 steps of {} bodies",
        path.display(),
        simulation.world().bodies.len()
    );
    Ok(())
}
