//! A simulation in a Bevy app of one's own.

use bevy::platform::cell::SyncCell;
use bevy::prelude::*;

use crate::math::Pose;
use crate::step::{Simulation, StepError};
use crate::world::BodyId;

/// Steps the simulation of the resource [`Moreau`] as the app's [`Time`] goes on, and moves the entities
/// that have a [`MoreauBody`] to where their bodies are.
///
/// Both happen in [`PreUpdate`], in the set [`MoreauSystems`], so that everything in [`Update`] sees the
/// new state. The plugin opens no window, draws nothing and asks for no other plugin than those that
/// keep the time; where there is no [`Moreau`] it does nothing. Lengths are metres, y is up, and rotations
/// and scales are Bevy's own. `examples/bevy_app.rs` is a whole app.
pub struct MoreauPlugin;

impl Plugin for MoreauPlugin {
    fn build(&self, app: &mut App) {
        let systems = (step, follow).chain().in_set(MoreauSystems);
        app.add_systems(PreUpdate, systems.run_if(resource_exists::<Moreau>));
    }
}

/// A pose in single precision.
pub(crate) fn isometry(pose: &Pose) -> Isometry3d {
    let [p, q] = [pose.position.push(0.0), pose.rotation.coords].map(|v| v.cast::<f32>());
    let rotation = bevy::math::Quat::from_xyzw(q.x, q.y, q.z, q.w);
    Isometry3d::new(bevy::math::Vec3::new(p.x, p.y, p.z), rotation)
}

/// The systems of [`MoreauPlugin`].
#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
pub struct MoreauSystems;

/// A simulation, and how it follows the app's time.
#[derive(Resource)]
pub struct Moreau {
    simulation: SyncCell<Simulation>,
    /// Simulated seconds per second of the app's [`Time`]; 0 stands still (-).
    pub speed: f64,
    /// Most steps per frame: what a slow machine does not get done is not made up for later.
    pub most_steps: u32,
    /// Whether entities glide between the last two steps. It costs one step of delay.
    pub smooth: bool,
    /// Time that has passed since the last step (s).
    due: f64,
    /// The poses one step ago, by slot.
    before: Vec<Isometry3d>,
    error: Option<StepError>,
}

impl Moreau {
    /// A simulation that runs in real time, at most four steps per frame.
    pub fn new(simulation: Simulation) -> Self {
        Self {
            simulation: SyncCell::new(simulation),
            speed: 1.0,
            most_steps: 4,
            smooth: true,
            due: 0.0,
            before: Vec::new(),
            error: None,
        }
    }

    /// The simulation, to look at and to change between two frames.
    pub fn simulation(&mut self) -> &mut Simulation {
        self.simulation.get()
    }

    /// Why no step is taken any more: the last one failed, and the world is as it was before it. Nothing
    /// is taken until [`Moreau::clear_error`].
    pub fn error(&self) -> Option<&StepError> {
        self.error.as_ref()
    }

    /// Goes on after an error whose cause is gone.
    pub fn clear_error(&mut self) {
        self.error = None;
    }

    /// Takes the steps that are due after so many seconds of the app's time.
    fn advance(&mut self, seconds: f64) {
        let simulation = self.simulation.get();
        let h = simulation.world().settings.step;
        self.due += self.speed.max(0.0) * seconds;
        for _ in 0..self.most_steps {
            if self.due < h || self.error.is_some() {
                break;
            }
            self.due -= h;
            self.before.clear();
            let bodies = &simulation.world().bodies;
            self.before
                .extend((0..bodies.slots()).map(|slot| isometry(&bodies.shape_pose(slot))));
            self.error = simulation.step().err();
        }
        self.due = self.due.min(h);
    }
}

/// An entity that is where a body is: its [`Transform`] becomes the pose of the body's shape (as in
/// [`BodySpec::pose`](crate::world::BodySpec::pose)), in single precision; its scale stays. It should have
/// no parent, or one that stays at the origin. Once the body is removed the entity stays where it is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[require(Transform)]
pub struct MoreauBody(pub BodyId);

fn step(time: Res<Time>, mut moreau: ResMut<Moreau>) {
    moreau.advance(time.delta_secs_f64());
}

fn follow(mut moreau: ResMut<Moreau>, mut entities: Query<(&MoreauBody, &mut Transform)>) {
    let moreau = &mut *moreau;
    let world = moreau.simulation.get().world();
    let share = match moreau.smooth {
        true => (moreau.due / world.settings.step) as f32,
        false => 1.0,
    };
    for (body, mut transform) in &mut entities {
        let Some(slot) = world.bodies.slot(body.0) else {
            continue;
        };
        let now = isometry(&world.bodies.shape_pose(slot));
        let then = moreau.before.get(slot).unwrap_or(&now);
        transform.translation = then.translation.lerp(now.translation, share).into();
        transform.rotation = then.rotation.slerp(now.rotation, share);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bevy::time::TimeUpdateStrategy;

    use super::*;
    use crate::math::{self, SymMat3};
    use crate::solve::SolverConfig;
    use crate::world::{BodySpec, Geometry, Settings, Shape, World};

    /// After frames of 40 ms less than one step is left to take. The midpoint rule is exact for a free fall,
    /// ½gt², and the entity is where its body is.
    #[test]
    fn entities_follow_their_bodies_at_the_pace_of_the_app() {
        let mut world = World::new(Settings::default());
        let ball = Shape::new(Geometry::Ball { radius: 0.5 }).expect("a shape");
        let spec = BodySpec {
            shape: Some(ball),
            ..BodySpec::default()
        };
        let body = world.add_body(spec).expect("a body");
        let simulation = Simulation::new(world, SolverConfig::default(), 1).expect("a solver");
        let mut moreau = Moreau::new(simulation);
        moreau.smooth = false;
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, MoreauPlugin))
            .insert_resource(moreau)
            .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(
                40,
            )));
        let entity = app.world_mut().spawn(MoreauBody(body)).id();
        for _ in 0..25 {
            app.update();
        }
        let elapsed = app.world().resource::<Time>().elapsed_secs_f64();
        assert!(elapsed > 0.9);
        let mut moreau = app.world_mut().resource_mut::<Moreau>();
        assert_eq!(moreau.error(), None);
        let world = moreau.simulation().world();
        let left = elapsed - world.time;
        let step = world.settings.step;
        assert!((-1e-9..step + 1e-9).contains(&left), "{left} s are left");
        let fallen = 0.5 * world.settings.gravity.y * world.time.powi(2);
        let y = app
            .world()
            .get::<Transform>(entity)
            .expect("required")
            .translation
            .y;
        assert!(
            (f64::from(y) - fallen).abs() < 1e-5,
            "{y} instead of {fallen}"
        );
    }

    /// Half a step after the first one an entity is half way between the two poses.
    #[test]
    fn entities_glide_between_steps() {
        let mut world = World::new(Settings {
            gravity: math::Vec3::zeros(),
            ..Settings::default()
        });
        let step = world.settings.step;
        let spec = BodySpec {
            mass: Some(1.0),
            inertia: Some(SymMat3::diagonal(1.0, 1.0, 1.0)),
            linear_velocity: math::Vec3::x() / step,
            ..BodySpec::default()
        };
        let body = world.add_body(spec).expect("a body");
        let simulation = Simulation::new(world, SolverConfig::default(), 1).expect("a solver");
        let mut moreau = Moreau::new(simulation);
        moreau.advance(1.5 * step);
        let mut app = App::new();
        app.insert_resource(moreau).add_systems(Update, follow);
        let entity = app.world_mut().spawn(MoreauBody(body)).id();
        app.update();
        let x = app
            .world()
            .get::<Transform>(entity)
            .expect("required")
            .translation
            .x;
        assert!((x - 0.5).abs() < 1e-6, "{x}");
    }
}
