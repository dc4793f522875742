//! Moreau, with its default settings.

use cpu_time::ProcessTime;
use moreau::math::{Pose, Quat, Vec3};
use moreau::measure::Stage;
use moreau::solve::SolverConfig;
use moreau::step::{ResidualSchedule, Simulation};
use moreau::world::{BodyKind, BodySpec, Geometry, Material, Settings, World};

use crate::engine::{Engine, Sample, State, Times};
use crate::scene::{FRICTION, GRAVITY, STEP, Scene, Shape};

/// A scene in Moreau.
pub struct Ours(Simulation);

impl Ours {
    /// Builds the scene, to run in the pool that it is stepped in.
    pub fn new(scene: &Scene, solver: &SolverConfig) -> Result<Self, String> {
        let mut world = World::new(Settings {
            gravity: Vec3::new(0.0, -GRAVITY, 0.0),
            step: STEP,
            ..Settings::default()
        });
        world.materials[0] = Material {
            friction: FRICTION,
            restitution: 0.0,
            ..Material::default()
        };
        // Bodies of one shape share it, as they would in a scene file.
        let mut last: Option<(Shape, moreau::world::Shape)> = None;
        for body in &scene.bodies {
            let shape = match &last {
                Some((shape, made)) if *shape == body.shape => made.clone(),
                _ => moreau::world::Shape::new(geometry(body.shape)).map_err(|e| e.to_string())?,
            };
            last = Some((body.shape, shape.clone()));
            world
                .add_body(BodySpec {
                    kind: match body.mass {
                        Some(_) => BodyKind::Dynamic,
                        None => BodyKind::Fixed,
                    },
                    pose: Pose::new(body.position, Quat::identity()),
                    linear_velocity: body.velocity,
                    shape: Some(shape),
                    mass: body.mass,
                    ..BodySpec::default()
                })
                .map_err(|e| e.to_string())?;
        }
        // No threads of its own, and nothing is measured within a step.
        let simulation = Simulation::new(world, solver.clone(), 0);
        let mut simulation = simulation.map_err(|e| e.to_string())?;
        simulation.set_residuals(ResidualSchedule::Never);
        Ok(Self(simulation))
    }
}

fn geometry(shape: Shape) -> Geometry {
    match shape {
        Shape::Ball(radius) => Geometry::Ball { radius },
        Shape::Cuboid(half_extents) => Geometry::Cuboid { half_extents },
    }
}

impl Engine for Ours {
    fn step(&mut self) -> Result<Sample, String> {
        let cpu = ProcessTime::now();
        let report = self.0.step().map_err(|e| e.to_string())?;
        let cpu = cpu.elapsed().as_secs_f64();
        let time = |stage| report.timings.get(stage);
        Ok(Sample {
            times: Times {
                step: time(Stage::Step),
                broad: time(Stage::Broadphase),
                narrow: time(Stage::Narrowphase),
                prepare: time(Stage::Assemble) + time(Stage::Prepare),
                solve: time(Stage::Solve),
                integrate: time(Stage::Integrate) + time(Stage::Project),
            },
            cpu,
            contacts: report.contacts,
            iterations: report.solve.iterations,
        })
    }

    fn states(&self) -> Vec<State> {
        let bodies = &self.0.world().bodies;
        bodies
            .iter()
            .map(|slot| {
                let pose = bodies.shape_pose(slot);
                State {
                    position: pose.position,
                    rotation: pose.rotation,
                    velocity: bodies.velocity[slot].linear,
                }
            })
            .collect()
    }
}
