//! Rapier, with its default integration parameters and without sleeping.

use std::time::Instant;

use cpu_time::ProcessTime;
use moreau::math::{Quat, Vec3};
use nalgebra::Quaternion;
use rapier3d::prelude::{
    ColliderBuilder, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, Rotation, Vector,
};

use crate::engine::{Engine, Sample, State, Times};
use crate::scene::{FRICTION, GRAVITY, STEP, Scene, Shape};

/// A scene in Rapier.
pub struct Rapier {
    world: PhysicsWorld,
    handles: Vec<RigidBodyHandle>,
}

impl Rapier {
    /// Builds the scene, to run in the pool that it is stepped in.
    pub fn new(scene: &Scene) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = vector(Vec3::new(0.0, -GRAVITY, 0.0));
        world.integration_parameters.dt = STEP as f32;
        world.physics_pipeline.counters.enable();
        let handles = scene
            .bodies
            .iter()
            .map(|body| {
                let rigid = match body.mass {
                    Some(_) => RigidBodyBuilder::dynamic(),
                    None => RigidBodyBuilder::fixed(),
                };
                let collider = match body.shape {
                    Shape::Ball(radius) => ColliderBuilder::ball(radius as f32),
                    Shape::Cuboid(h) => ColliderBuilder::cuboid(h.x as f32, h.y as f32, h.z as f32),
                };
                let collider = match body.mass {
                    Some(mass) => collider.mass(mass as f32),
                    None => collider,
                };
                let (handle, _) = world.insert(
                    rigid
                        .translation(vector(body.position))
                        .linvel(vector(body.velocity))
                        .can_sleep(false),
                    collider.friction(FRICTION as f32).restitution(0.0),
                );
                handle
            })
            .collect();
        Self { world, handles }
    }
}

fn vector(v: Vec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

fn widen(v: Vector) -> Vec3 {
    Vec3::new(v.x.into(), v.y.into(), v.z.into())
}

fn widen_rotation(q: Rotation) -> Quat {
    let [x, y, z, w] = [q.x, q.y, q.z, q.w].map(f64::from);
    Quat::from_quaternion(Quaternion::new(w, x, y, z))
}

impl Engine for Rapier {
    fn step(&mut self) -> Result<Sample, String> {
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        self.world.step();
        let (step, cpu) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        let c = &self.world.physics_pipeline.counters;
        let seconds = |timer: rapier3d::counters::Timer| timer.time().as_secs_f64();
        Ok(Sample {
            times: Times {
                step,
                // The tree is brought up to date at the end of the step before.
                broad: seconds(c.cd.broad_phase_time) + seconds(c.cd.final_broad_phase_time),
                narrow: seconds(c.cd.narrow_phase_time),
                prepare: seconds(c.stages.island_construction_time),
                solve: seconds(c.stages.solver_time),
                integrate: seconds(c.stages.update_time),
            },
            cpu,
            contacts: c.solver.ncontacts,
            iterations: 0,
        })
    }

    fn states(&self) -> Vec<State> {
        self.handles
            .iter()
            .map(|handle| {
                let body = &self.world.bodies[*handle];
                State {
                    position: widen(body.translation()),
                    rotation: widen_rotation(*body.rotation()),
                    velocity: widen(body.linvel()),
                }
            })
            .collect()
    }
}
