//! A ball falls onto the ground: `cargo run --example falling_ball --no-default-features`.

use moreau::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::default();
    world.add_ground()?;
    let ball = world.add_ball(0.5, [0.0, 5.0, 0.0])?;
    let mut simulation = Simulation::new(world, SolverConfig::default(), 0)?;
    for _ in 0..120 {
        let time = simulation.step()?.time;
        if let Some(pose) = simulation.world().pose(ball) {
            println!("{time:.3} s: {:.4} m", pose.position.y);
        }
    }
    Ok(())
}
