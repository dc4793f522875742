//! A simulation in a Bevy app of one's own: a wall of bricks, and a ball that is thrown at it.
//!
//! It needs Bevy's own crates for apps, entities and time, and opens no window, so that it runs anywhere: the plugin steps
//! the simulation, and moves the entities to where their bodies are. An app that has `DefaultPlugins` adds the plugin in
//! the same way, and gives its entities a `Mesh3d` and a material beside the `MoreauBody`.
//!
//! `cargo run --release --example bevy_app --no-default-features --features plugin`

use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
// Both preludes have a `World`, and Bevy's is not needed here.
use moreau::prelude::{
    BodyId, BodySpec, Geometry, Moreau, MoreauBody, MoreauPlugin, Pose, Shape, Simulation,
    SolverConfig, World,
};

/// Where a brick stood at first.
#[derive(Component)]
struct Brick(Vec3);

/// How long the app runs (s).
const LENGTH: f32 = 2.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::default();
    world.add_ground()?;
    let mut bricks = Vec::new();
    for (row, column) in (0..8).flat_map(|row| (0..6).map(move |column| (row, column))) {
        let x = 0.8 * f64::from(column) + 0.4 * f64::from(row % 2) - 2.4;
        let place = [x, 0.2 + 0.4 * f64::from(row), 0.0];
        bricks.push((world.add_box([0.4, 0.2, 0.2], place)?, place));
    }
    let ball = throw(&mut world)?;
    let simulation = Simulation::new(world, SolverConfig::default(), 0)?;

    let mut app = App::new();
    let frames = ScheduleRunnerPlugin::run_loop(Duration::from_secs_f64(1.0 / 60.0));
    app.add_plugins((MinimalPlugins.set(frames), MoreauPlugin))
        .insert_resource(Moreau::new(simulation))
        .add_systems(Update, report);
    for (body, place) in bricks {
        let brick = Brick(Vec3::from_array(place.map(|x| x as f32)));
        app.world_mut().spawn((MoreauBody(body), brick));
    }
    app.world_mut().spawn(MoreauBody(ball));
    match app.run() {
        AppExit::Success => Ok(()),
        AppExit::Error(_) => Err("no brick has moved".into()),
    }
}

/// A heavy ball that flies towards the wall.
fn throw(world: &mut World) -> Result<BodyId, Box<dyn std::error::Error>> {
    let ball = BodySpec {
        shape: Some(Shape::new(Geometry::Ball { radius: 0.3 })?),
        density: Some(8000.0),
        pose: Pose::translation(0.0, 1.5, 6.0),
        linear_velocity: [0.0, 2.0, -15.0].into(),
        ..BodySpec::default()
    };
    Ok(world.add_body(ball)?)
}

/// Says every half second how many bricks are not where they were, and ends the app.
fn report(
    time: Res<Time>,
    mut moreau: ResMut<Moreau>,
    bricks: Query<(&Transform, &Brick)>,
    mut said: Local<f32>,
    mut exit: MessageWriter<AppExit>,
) {
    if let Some(error) = moreau.error() {
        println!("{error}");
        exit.write(AppExit::error());
    }
    if time.elapsed_secs() < *said {
        return;
    }
    let is_moved = |(now, first): &(&Transform, &Brick)| now.translation.distance(first.0) > 0.01;
    let moved = bricks.iter().filter(is_moved).count();
    let step = moreau.simulation().world().step_index;
    println!(
        "{said:.1} s, step {step}: {moved} of {} bricks have moved",
        bricks.iter().len(),
        said = *said
    );
    if *said >= LENGTH {
        exit.write(if moved > 0 {
            AppExit::Success
        } else {
            AppExit::error()
        });
    }
    *said += 0.5;
}
