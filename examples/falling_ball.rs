//! A ball falls onto the ground: `cargo run --example falling_ball --no-default-features`.

use moreau::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings::default());
    let ground = Shape::new(Geometry::HalfSpace { normal: Vec3::y() })?;
    world.add_body(BodySpec {
        kind: BodyKind::Fixed,
        shape: Some(ground),
        ..BodySpec::default()
    })?;
    let shape = Some(Shape::new(Geometry::Ball { radius: 0.5 })?);
    let pose = Pose::translation(0.0, 5.0, 0.0);
    world.add_body(BodySpec {
        shape,
        pose,
        mass: Some(1.0),
        ..BodySpec::default()
    })?;
    let mut simulation = Simulation::new(world, SolverConfig::default(), 0)?;
    for _ in 0..120 {
        let time = simulation.step()?.time;
        println!(
            "{time:.3} s: {:.4} m",
            simulation.world().bodies.position[1].y
        );
    }
    Ok(())
}
