//! What tests share: small worlds here, problems and solves, running machines.

pub mod ablation;
pub mod fuzz;
pub mod machine;
pub mod problems;

use moreau::collide::{Ahead, Collider, FoundContact};
use moreau::math::{Pose, Quat, SymMat3, Vec3};
use moreau::problem::{Contacts, ProblemBodies};
use moreau::solve::{Budget, SolverConfig};
use moreau::step::Simulation;
use moreau::world::{BodyId, BodyKind, BodySpec, Geometry, Material, Settings, Shape, World};

pub const G: f64 = 9.81;

/// An empty world with one material of friction `mu` and restitution `epsilon`.
pub fn world(settings: Settings, mu: f64, epsilon: f64) -> World {
    let mut world = World::new(settings);
    world.materials[0] = Material {
        friction: mu,
        restitution: epsilon,
        ..Material::default()
    };
    world
}

pub fn shape(geometry: Geometry) -> Option<Shape> {
    Some(Shape::new(geometry).expect("a valid shape"))
}

pub fn ball(radius: f64) -> Option<Shape> {
    shape(Geometry::Ball { radius })
}

pub fn cuboid(x: f64, y: f64, z: f64) -> Option<Shape> {
    shape(Geometry::Cuboid {
        half_extents: Vec3::new(x, y, z),
    })
}

/// A fixed box whose top face is the plane y = 0.
pub fn ground(world: &mut World) -> BodyId {
    add(
        world,
        BodySpec {
            kind: BodyKind::Fixed,
            shape: cuboid(500.0, 1.0, 500.0),
            pose: Pose::translation(0.0, -1.0, 0.0),
            ..BodySpec::default()
        },
    )
}

pub fn add(world: &mut World, spec: BodySpec) -> BodyId {
    world.add_body(spec).expect("a valid body")
}

/// A body of mass 1 kg and unit inertia without a shape.
pub fn point_mass(position: Vec3, velocity: Vec3) -> BodySpec {
    BodySpec {
        pose: Pose::new(position, Quat::identity()),
        linear_velocity: velocity,
        mass: Some(1.0),
        inertia: Some(SymMat3::diagonal(1.0, 1.0, 1.0)),
        ..BodySpec::default()
    }
}

/// A solver that iterates until nothing moves any more.
pub fn exact(name: &str) -> SolverConfig {
    SolverConfig {
        name: name.into(),
        budget: Budget {
            iterations: 100_000,
            tolerance: 1e-12,
            ..Budget::default()
        },
        ..SolverConfig::default()
    }
}

pub fn simulation(world: World, solver: SolverConfig) -> Simulation {
    Simulation::new(world, solver, 1).expect("a valid solver")
}

/// Poulsen's ball grid: n³ touching balls of radius 0.5 m and 1 kg on a fixed box.
pub fn ball_grid(n: usize, settings: Settings) -> World {
    let mut world = world(settings, 0.5, 0.0);
    ground(&mut world);
    let shape = ball(0.5);
    for y in 0..n {
        for z in 0..n {
            for x in 0..n {
                let at = |k: usize| k as f64 - 0.5 * (n - 1) as f64;
                add(
                    &mut world,
                    BodySpec {
                        pose: Pose::translation(at(x), 0.5 + y as f64, at(z)),
                        shape: shape.clone(),
                        mass: Some(1.0),
                        ..BodySpec::default()
                    },
                );
            }
        }
    }
    world
}

/// A column of cubes with edge 1 m and the given masses, on the ground.
pub fn stack(masses: &[f64], settings: Settings) -> World {
    let mut world = world(settings, 0.5, 0.0);
    ground(&mut world);
    let shape = cuboid(0.5, 0.5, 0.5);
    for (k, mass) in masses.iter().enumerate() {
        add(
            &mut world,
            BodySpec {
                pose: Pose::translation(0.0, 0.5 + k as f64, 0.0),
                shape: shape.clone(),
                mass: Some(*mass),
                ..BodySpec::default()
            },
        );
    }
    world
}

/// What collision detection finds between two bodies, up to `prediction` (m) apart.
pub fn contacts(bodies: [(&Geometry, Pose); 2], prediction: f64) -> Vec<FoundContact> {
    let settings = Settings {
        prediction,
        ..Settings::default()
    };
    let mut w = world(settings, 0.5, 0.0);
    for (k, (geometry, pose)) in bodies.into_iter().enumerate() {
        let is_ground = matches!(geometry, Geometry::HalfSpace { .. });
        add(
            &mut w,
            BodySpec {
                kind: if is_ground {
                    BodyKind::Fixed
                } else {
                    BodyKind::Dynamic
                },
                shape: shape(geometry.clone()),
                pose,
                mass: (!is_ground).then_some(1.0 + k as f64),
                ..BodySpec::default()
            },
        );
    }
    let n = w.bodies.slots();
    let free = ProblemBodies {
        inverse_mass: vec![1.0; n],
        inverse_inertia: vec![SymMat3::ZERO; n],
        free_velocity: w.bodies.velocity.clone(),
        part: Vec::new(),
        name: Vec::new(),
    };
    let mut collider = Collider::default();
    let mut found = Contacts::default();
    let ahead = Ahead {
        free: &free,
        horizon: w.settings.horizon(w.settings.substeps),
    };
    collider.update_pairs(&w, ahead);
    collider.find_contacts(&w, ahead, &mut found);
    let contact = |k: usize| FoundContact {
        bodies: found.bodies[k],
        parts: found.parts[k],
        feature: found.feature[k],
        point: w.bodies.position[found.bodies[k][0] as usize] + found.frame[k].arms[0],
        normal: found.frame[k].normal,
        gap: found.gap[k],
    };
    (0..found.len()).map(contact).collect()
}
