//! A Bevy app of one's own, with a wall of bricks and a ball that is thrown at it.
//!
//! The app owns its window and draws as it likes, here the edges of boxes with egui's painter; one that has
//! Bevy's `bevy_pbr` gives its entities a `Mesh3d` and a material instead. The plugin steps the simulation
//! and moves the entities, and nothing else.
//!
//! `cargo run --release --example bevy_app`

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPlugin, EguiPrimaryContextPass, egui};
use moreau::math;
// Both preludes have a `Vec3` and a `World`.
use moreau::prelude::{
    BodyKind, BodySpec, Geometry, Moreau, MoreauBody, MoreauPlugin, Pose, Settings, Shape,
    Simulation, SolverConfig, World,
};

/// Half the lengths of the box that an entity is drawn as (m).
#[derive(Component)]
struct Edges(Vec3);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut app = App::new();
    app.add_plugins((DefaultPlugins, EguiPlugin::default(), MoreauPlugin))
        .add_systems(Startup, |mut commands: Commands| {
            let eye = Transform::from_xyz(5.0, 3.0, 7.0).looking_at(Vec3::Y, Vec3::Y);
            commands.spawn((Camera3d::default(), eye));
        })
        .add_systems(Update, throw_again)
        .add_systems(EguiPrimaryContextPass, draw);
    let mut world = World::new(Settings::default());
    let ground = Geometry::HalfSpace {
        normal: math::Vec3::y(),
    };
    world.add_body(BodySpec {
        kind: BodyKind::Fixed,
        shape: Some(Shape::new(ground)?),
        ..BodySpec::default()
    })?;
    let brick = math::Vec3::new(0.4, 0.2, 0.2);
    let shape = Shape::new(Geometry::Cuboid {
        half_extents: brick,
    })?;
    for (row, column) in (0..8).flat_map(|row| (0..6).map(move |column| (row, column))) {
        let x = 0.8 * f64::from(column) + 0.4 * f64::from(row % 2) - 2.4;
        let body = world.add_body(BodySpec {
            pose: Pose::translation(x, 0.2 + 0.4 * f64::from(row), 0.0),
            shape: Some(shape.clone()),
            ..BodySpec::default()
        })?;
        app.world_mut()
            .spawn((MoreauBody(body), Edges(Vec3::new(0.4, 0.2, 0.2))));
    }
    let ball = world.add_body(BodySpec {
        shape: Some(Shape::new(Geometry::Ball { radius: 0.3 })?),
        density: Some(8000.0),
        ..thrown()
    })?;
    app.world_mut()
        .spawn((MoreauBody(ball), Edges(Vec3::splat(0.3))));
    let simulation = Simulation::new(world, SolverConfig::default(), 0)?;
    app.insert_resource(Moreau::new(simulation)).run();
    Ok(())
}

/// Where the ball begins.
fn thrown() -> BodySpec {
    BodySpec {
        pose: Pose::translation(0.0, 1.5, 6.0),
        linear_velocity: math::Vec3::new(0.0, 2.0, -15.0),
        ..BodySpec::default()
    }
}

/// The space bar throws the ball once more.
fn throw_again(keys: Res<ButtonInput<KeyCode>>, mut moreau: ResMut<Moreau>) {
    if keys.just_pressed(KeyCode::Space) {
        let bodies = &mut moreau.simulation().world_mut().bodies;
        let ball = bodies.slots() - 1;
        bodies.position[ball] = thrown().pose.position;
        bodies.velocity[ball].linear = thrown().linear_velocity;
    }
}

fn draw(
    mut contexts: EguiContexts,
    camera: Single<(&Camera, &GlobalTransform)>,
    boxes: Query<(&Transform, &Edges)>,
) -> Result {
    let (camera, eye) = *camera;
    let layer = egui::LayerId::background();
    let painter = contexts.ctx_mut()?.layer_painter(layer);
    for (transform, Edges(half)) in &boxes {
        for (axis, sign) in (0..3).flat_map(|axis| (0..4).map(move |k| (axis, k))) {
            // The four edges along an axis, by the signs of the other two coordinates.
            let mut from = *half;
            from[(axis + 1) % 3] *= if sign % 2 == 0 { 1.0 } else { -1.0 };
            from[(axis + 2) % 3] *= if sign / 2 == 0 { 1.0 } else { -1.0 };
            let mut to = from;
            to[axis] = -to[axis];
            let ends =
                [from, to].map(|p| camera.world_to_viewport(eye, transform.transform_point(p)));
            if let [Ok(a), Ok(b)] = ends {
                let ends = [a, b].map(|p| egui::pos2(p.x, p.y));
                painter.line_segment(ends, (1.5, egui::Color32::LIGHT_BLUE));
            }
        }
    }
    Ok(())
}
