//! Whatever a program sets through public fields, a step is taken or refused with a reason, and one that is refused leaves
//! every bit of the world.

use std::panic::{AssertUnwindSafe, catch_unwind};

use moreau::math::random::Random;
use moreau::math::{Pose, Quat, SymMat3, Twist, Vec3};
use moreau::scene::Scene;
use moreau::solve::{SOLVERS, SolverConfig};
use moreau::step::Simulation;
use moreau::world::drive::{DrivenMotor, Interpolation, Moves};
use moreau::world::joint::{Axis, GearTerm, JointKind, Motion, Motor, Target};
use moreau::world::{Bodies, BodyKind, Drive, Joint, Stabilisation, World};

use crate::common::fuzz::{as_long_as_wanted, attempts};
use crate::files::bad_input::everything;

/// Numbers that are seldom thought of.
const ODD: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    -1e308,
    1e-308,
    5e-324,
    1e200,
    -1e155,
    1e39,
    1e20,
    -1e9,
    1e8,
    -1.0,
    0.0,
    -0.0,
    0.5,
    1e-12,
    1e-160,
];

fn odd(random: &mut Random) -> f64 {
    ODD[random.below(ODD.len())]
}

fn odd_vector(random: &mut Random) -> Vec3 {
    let mut vector = Vec3::new(0.3, -0.2, 0.1);
    vector[random.below(3)] = odd(random);
    vector
}

fn odd_rotation(random: &mut Random) -> Quat {
    let numbers = [odd(random), 0.5, odd(random), 1.0];
    Quat::new_unchecked(nalgebra::Quaternion::from(nalgebra::Vector4::from(numbers)))
}

fn odd_index(random: &mut Random) -> u32 {
    [0, 1, 4, 5, 13, 14, 99, u32::MAX - 1, u32::MAX][random.below(9)]
}

/// Changes the world somewhere; says where.
fn edit(world: &mut World, random: &mut Random) -> String {
    match random.below(10) {
        0..=3 => edit_bodies(&mut world.bodies, random),
        4..=6 => {
            let index = random.below(world.joints().len()) as u32;
            let joint = world.joint_mut(index).expect("a joint");
            format!("joint {index}: {}", edit_joint(joint, random))
        }
        7 => edit_drives(world, random),
        8 => edit_settings(world, random),
        _ => edit_materials(world, random),
    }
}

fn edit_bodies(b: &mut Bodies, random: &mut Random) -> String {
    let lengths = [
        b.position.len(),
        b.velocity.len(),
        b.shape.len(),
        b.name.len(),
    ];
    let slots = lengths.into_iter().min().unwrap_or(0);
    if slots == 0 {
        return "nothing".into();
    }
    let slot = random.below(slots);
    let number = odd(random);
    let what = match random.below(20) {
        0 => {
            b.position[slot] = odd_vector(random);
            "position"
        }
        1 => {
            b.rotation[slot] = odd_rotation(random);
            "rotation"
        }
        2 => {
            b.velocity[slot].linear = odd_vector(random);
            "velocity"
        }
        3 => {
            b.velocity[slot].angular = odd_vector(random);
            "angular velocity"
        }
        4 => {
            b.inverse_mass[slot] = number;
            "inverse_mass"
        }
        5 => {
            b.inertia[slot].xx = number;
            "inertia.xx"
        }
        6 => {
            b.inertia[slot].yz = number;
            "inertia.yz"
        }
        7 => {
            b.inertia[slot] = SymMat3::diagonal(number, number, odd(random));
            "inertia"
        }
        8 => {
            b.kind[slot] =
                [BodyKind::Fixed, BodyKind::Kinematic, BodyKind::Dynamic][random.below(3)];
            "kind"
        }
        9 => {
            b.shape_offset[slot] = odd_vector(random);
            "shape_offset"
        }
        10 => {
            b.material[slot] = [1, 77, u16::MAX][random.below(3)];
            "material"
        }
        11 => {
            b.shape[slot] = b.shape[random.below(slots)].clone();
            "shape"
        }
        12 => {
            b.shape[slot] = None;
            "no shape"
        }
        13 => {
            b.set_force(slot, Twist::new(odd_vector(random), odd_vector(random)));
            "force"
        }
        14 => {
            b.position.pop();
            "fewer positions"
        }
        15 => {
            b.velocity.push(Twist::ZERO);
            "more velocities"
        }
        16 => {
            b.shape.truncate(slot);
            "fewer shapes"
        }
        17 => {
            b.part[slot] = u32::MAX;
            "part"
        }
        18 => {
            b.color[slot] = Some([f32::NAN; 3]);
            "color"
        }
        _ => {
            b.name.clear();
            "no names"
        }
    };
    format!("body {slot}: {what} {number}")
}

fn edit_joint(joint: &mut Joint, random: &mut Random) -> String {
    let (axis, number) = (random.below(6), odd(random));
    let what = match random.below(18) {
        0 => {
            joint.bodies[random.below(2)] = odd_index(random);
            "bodies"
        }
        1 => {
            joint.frames[random.below(2)].position = odd_vector(random);
            "frame"
        }
        2 => {
            joint.frames[0] = Pose::new(Vec3::zeros(), odd_rotation(random));
            "turned frame"
        }
        3 => {
            let term = |random: &mut Random| GearTerm {
                joint: odd_index(random),
                axis: [0, 3, 5, 6, 255][random.below(5)],
                coefficient: odd(random),
            };
            joint.kind = JointKind::Gear(vec![term(random), term(random)]);
            "gear"
        }
        4 => {
            joint.kind = JointKind::Gear(Vec::new());
            "empty gear"
        }
        5 => {
            joint.kind = JointKind::Screw(number);
            "screw"
        }
        6 => {
            joint.kind = [
                JointKind::Fixed,
                JointKind::Spherical,
                JointKind::SixDof,
                JointKind::Universal,
                JointKind::Distance,
            ][random.below(5)]
            .clone();
            "kind"
        }
        7 => {
            joint.gear_offset = number;
            "gear_offset"
        }
        8 => {
            joint.axes[axis].motion = Motion::Limited([number, odd(random)]);
            "limits"
        }
        9 => {
            joint.axes[axis].friction = number;
            "friction"
        }
        10 => {
            joint.axes[axis].motor = Some(Motor {
                target: Target::Velocity(number),
                max_force: odd(random),
            });
            "motor"
        }
        11 => {
            joint.axes[axis].motor = Some(Motor {
                target: Target::Position {
                    position: number,
                    rates: [odd(random); 2],
                    stiffness: odd(random),
                    damping: odd(random),
                },
                max_force: odd(random),
            });
            "servo"
        }
        12 => {
            joint.softness.compliance = number;
            "compliance"
        }
        13 => {
            joint.softness.damping = number;
            "damping"
        }
        14 => {
            (
                joint.softness.angular_compliance,
                joint.softness.angular_damping,
            ) = (number, odd(random));
            "angular softness"
        }
        15 => {
            joint.softness.length = number;
            "length"
        }
        16 => {
            joint.collide = !joint.collide;
            "collide"
        }
        _ => {
            joint.axes = [Axis::default(); 6];
            joint.axes[axis].motion = Motion::Free;
            "axes"
        }
    };
    let motor = joint.axes[axis].motor;
    format!("{what} {number:e} {motor:?}")
}

fn edit_drives(world: &mut World, random: &mut Random) -> String {
    let mut drive: Drive = world.drives()[0].clone();
    drive.motors = vec![DrivenMotor {
        joint: [0, odd_index(random)][random.below(2)],
        axis: [3, 0, 200][random.below(3)],
        factor: [1.0, odd(random)][random.below(2)],
        moves: [Moves::Target, Moves::MaxForce][random.below(2)],
    }];
    drive.keys = vec![[0.0, odd(random)], [1.0, odd(random)]];
    drive.interpolation = [
        Interpolation::Step,
        Interpolation::Linear,
        Interpolation::Smooth,
    ][random.below(3)];
    drive.range = [-1.0, [2.0, odd(random)][random.below(2)]];
    drive.rate = [0.0, odd(random)][random.below(2)];
    drive.live = [None, Some(odd(random))][random.below(2)];
    // Half of them with plain numbers but for one.
    let mut plain = world.drives()[0].clone();
    plain.keys = vec![[0.0, -1e308], [1.0, 1e308]];
    let drive = [drive, plain][random.below(2)].clone();
    world.set_drive(0, Some(odd(random)));
    let keys = drive.keys.clone();
    format!("drive {keys:?}: {}", world.add_drive(drive).is_ok())
}

fn edit_settings(world: &mut World, random: &mut Random) -> String {
    let number = odd(random);
    let s = &mut world.settings;
    let what = match random.below(9) {
        0 => {
            s.gravity = odd_vector(random);
            "gravity"
        }
        1 => {
            s.step = number;
            "step"
        }
        2 => {
            s.prediction = number;
            "prediction"
        }
        3 => {
            s.restitution_threshold = number;
            "restitution_threshold"
        }
        4 => {
            s.stabilisation = Stabilisation::Baumgarte {
                beta: 0.2,
                slop: number,
                max_speed: odd(random),
            };
            "Baumgarte"
        }
        5 => {
            s.stabilisation = Stabilisation::Projection {
                fraction: 0.2,
                slop: number,
                max_speed: odd(random),
            };
            "projection"
        }
        6 => {
            s.substeps = [0, 2, u32::MAX][random.below(3)];
            "substeps"
        }
        7 => {
            world.time = number;
            "time"
        }
        _ => {
            world.step_index = [u64::MAX, u64::MAX - 1, 0][random.below(3)];
            "step_index"
        }
    };
    format!("{what} {number}")
}

fn edit_materials(world: &mut World, random: &mut Random) -> String {
    let number = odd(random);
    if random.below(8) == 0 {
        world.materials.truncate(random.below(3));
        return "fewer materials".into();
    }
    if world.materials.is_empty() {
        return "nothing".into();
    }
    let index = random.below(world.materials.len());
    let m = &mut world.materials[index];
    let fields = [
        &mut m.density,
        &mut m.friction,
        &mut m.restitution,
        &mut m.tangential_restitution,
        &mut m.spin_radius,
        &mut m.rolling,
        &mut m.compliance,
    ];
    let field = random.below(fields.len());
    *fields.into_iter().nth(field).expect("a field") = number;
    format!("material {index}, field {field}: {number}")
}

/// Whether all that a step writes of bodies is made of numbers.
fn is_finite(world: &World) -> bool {
    let b = &world.bodies;
    b.iter().all(|slot| {
        let u = &b.velocity[slot];
        let numbers = b.position[slot]
            .iter()
            .chain(b.rotation[slot].coords.iter());
        let mut numbers = numbers.chain(u.linear.iter()).chain(u.angular.iter());
        numbers.all(|x| x.is_finite())
    })
}

/// Edits a world once to three times and goes on; the reason where it must not be so.
fn attempt(start: &World, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let mut world = start.clone();
    let edits = 1 + random.below(3);
    let edits: Vec<String> = (0..edits).map(|_| edit(&mut world, &mut random)).collect();
    let names = [
        "auto",
        "colored-gs",
        "newton",
        "bpp",
        "nncg",
        "jacobi",
        "admm",
        "hybrid",
    ];
    let name = names[random.below(names.len())];
    let context = format!("seed {seed}, {name}: {}", edits.join("; "));
    let mut config = SolverConfig::default();
    config.switch(name);
    config.budget.iterations = config.budget.iterations.min(30);
    let mut simulation = Simulation::new(world, config, 1).expect("a good solver");
    simulation.set_energy(random.below(2) == 0);
    let mut are_taken = true;
    for _ in 0..3 {
        let before = simulation.world().to_bytes();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            simulation.step().map(|_| ()).map_err(|e| e.to_string())
        }));
        match outcome {
            Err(_) => return Err(format!("{context}: it panics")),
            Ok(Ok(())) if !is_finite(simulation.world()) => {
                return Err(format!("{context}: the state is no number"));
            }
            Ok(Ok(())) => {}
            Ok(Err(said)) => {
                are_taken = false;
                if simulation.world().to_bytes() != before {
                    return Err(format!("{context}: refused ({said}), and changed"));
                }
                if said.contains("failed (") {
                    return Err(format!("{context}: {said}"));
                }
            }
        }
    }
    Ok(are_taken)
}

/// The world that is edited.
fn stepped() -> World {
    let mut simulation = everything();
    for _ in 0..3 {
        simulation.step().expect("a step");
    }
    simulation.world().clone()
}

#[test]
fn edits_through_public_fields_are_stepped_or_refused_and_never_panic() {
    let start = stepped();
    attempts(0..2500, |seed| attempt(&start, seed));
    // Inertias of 5e-324 and of 1e20 beside 1e-12 kg m², a servo of 0 N/m and 1e-308 N s/m.
    for seed in [1_052_285, 1_423_230, 1_421_744] {
        attempt(&start, seed).unwrap();
    }
}

/// `MOREAU_FUZZ_SECONDS` of other seeds.
#[test]
#[ignore = "takes as long as it is told to"]
fn measure_edits_for_as_long_as_wanted() {
    let start = stepped();
    as_long_as_wanted(2000, |seeds| attempts(seeds, |seed| attempt(&start, seed)));
}

/// A gear between joints that nothing can move, and beside it a pendulum.
const IDLE_GEAR: &str = r#"(
    bodies: [
        (name: "turntable", kind: Kinematic, shape: Ball(radius: 0.5), angular_velocity: (0, 1, 0)),
        (name: "wall", kind: Fixed, shape: Ball(radius: 0.5), position: (3, 0, 0)),
        (name: "bob", shape: Ball(radius: 0.2), position: (6, 1, 0)),
    ],
    joints: [
        (name: "axle", bodies: ("", "turntable"), kind: Hinge(), at: (0, 0, 0), axis: (0, 1, 0)),
        (name: "bolt", bodies: ("", "wall"), kind: Hinge(), at: (3, 0, 0), axis: (0, 1, 0)),
        (name: "string", bodies: ("", "bob"), kind: Hinge(), at: (6, 2, 0), axis: (0, 0, 1)),
        (name: "idle", kind: Gear(terms: [(joint: "axle", coefficient: 1), (joint: "bolt", coefficient: 2)])),
    ],
)"#;

#[test]
fn gears_without_effect_stop_no_world_under_any_solver() {
    let scene = Scene::parse(IDLE_GEAR, "idle.ron").expect("a good scene");
    for info in SOLVERS
        .iter()
        .filter(|info| (info.traits.obstacle)().is_none())
    {
        let mut config = SolverConfig::default();
        config.switch(info.name);
        let world = scene.build().expect("a good scene");
        let mut simulation = Simulation::new(world, config, 1).expect("a good solver");
        let hangs = |simulation: &mut Simulation| {
            for _ in 0..30 {
                let step = simulation.step();
                step.unwrap_or_else(|error| panic!("{}: {error}", info.name));
            }
            let bob = simulation.world().bodies.velocity[2];
            assert!(bob.linear.norm() < 1e-3, "{}: {bob:?}", info.name);
        };
        hangs(&mut simulation);
        // What a program makes of it later: terms that cancel, and terms of which rounding leaves 5e-17.
        for coefficients in [&[1.0, -1.0][..], &[0.1, 0.2, -0.3]] {
            let gear = simulation.world_mut().joint_mut(3).expect("the gear");
            if let JointKind::Gear(terms) = &mut gear.kind {
                let of = GearTerm {
                    joint: 2,
                    ..terms[0]
                };
                let of = |coefficient: &f64| GearTerm {
                    coefficient: *coefficient,
                    ..of
                };
                *terms = coefficients.iter().map(of).collect();
            }
            hangs(&mut simulation);
        }
    }
}
