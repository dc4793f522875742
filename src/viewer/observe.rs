//! What of a simulation goes into a frame.

use super::frame::{BodyNumbers, ContactState, Frame, JointMark, JointNumbers, isometry};
use super::inspect::{Thing, inspect};
use crate::problem::islands::NO_ISLAND;
use crate::solve::{Choice, Method};
use crate::step::Simulation;
use crate::world::joint::{Axis, Joint, JointKind, Motion, WORLD};
use crate::world::{BodyId, BodyKind, World, joint_geometry};

/// How often the residual is evaluated, which the frame rate pays for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualRate {
    EveryStep,
    /// Some twenty times per second, and in every step that is taken singly.
    #[default]
    Sometimes,
    Never,
}

/// What the frames hold besides poses and counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observe {
    pub contacts: bool,
    pub joints: bool,
    pub matrix: bool,
    pub islands: bool,
    /// How the island of each body was solved.
    pub methods: bool,
    /// The solver's parts.
    pub parts: bool,
    /// The graph colours of the contacts.
    pub colors: bool,
    pub history: bool,
    /// Where energy goes.
    pub energy: bool,
    pub residual: ResidualRate,
    pub body: Option<BodyId>,
    /// A contact or joint.
    pub thing: Option<Thing>,
}

/// Most contacts that a frame holds; of more, every second, third, … is taken.
const MOST_CONTACTS: usize = 20_000;

/// Writes the present state of a simulation into a frame.
pub fn fill(frame: &mut Frame, simulation: &Simulation, observe: &Observe) {
    let world = simulation.world();
    let bodies = &world.bodies;
    frame.time = world.time;
    frame.step = world.step_index;
    frame.substep = world.settings.substep();
    frame.bodies = bodies.len();
    frame.dynamic_bodies = bodies.iter().filter(|b| bodies.is_dynamic(*b)).count();
    frame.momentum = bodies.momentum();
    frame.energy = world.energy();
    frame.poses.clear();
    let poses = (0..bodies.slots()).map(|slot| isometry(&bodies.pose(slot)));
    frame.poses.extend(poses);

    let solved = is_solved(simulation);
    let problem = simulation.problem();
    frame.islands.clear();
    frame.methods.clear();
    if solved && observe.methods {
        frame.methods.extend(methods(simulation));
    }
    let parts = (solved && observe.parts).then(|| simulation.view().parts());
    frame.parts = parts
        .flatten()
        .filter(|p| p.of_body.len() == problem.bodies.len());
    frame.contacts.clear();
    frame.states.clear();
    frame.colors.clear();
    frame.contact_stride = problem.contacts.len().div_ceil(MOST_CONTACTS).max(1);
    if solved && observe.islands {
        frame.islands.extend_from_slice(&problem.islands.of_body);
    }
    if solved && observe.contacts {
        let contacts = simulation.contacts().step_by(frame.contact_stride);
        frame.contacts.extend(contacts);
        let of = &problem.contacts;
        let states = (0..of.len()).step_by(frame.contact_stride).map(|k| {
            let block = &simulation.impulses()[of.rows(k)];
            ContactState::of(&of.friction[k], of.gap[k], block)
        });
        frame.states.extend(states);
        let colors = observe.colors.then(|| simulation.view().colors());
        let colors = colors.flatten().filter(|all| all.len() == of.len());
        let colors = colors.into_iter().flatten();
        frame.colors.extend(colors.step_by(frame.contact_stride));
    }
    frame.joints.clear();
    let errors = joint_errors(simulation, solved && observe.joints);
    let marks = world.joints().iter().enumerate();
    let marks = marks.filter_map(|(k, joint)| JointMark::of(k, joint, errors.get(k).copied()));
    let marks = marks.filter(|mark| observe.joints || mark.is_rope);
    frame.joints.extend(marks);
    world.drives().clone_into(&mut frame.drives);
    for drive in frame.drives.iter_mut().filter(|d| d.live.is_none()) {
        drive.value = drive.scripted(world.time)[0];
    }
    frame.matrix = None;
    let thing = observe.thing.filter(|_| solved);
    frame.picked = thing.and_then(|thing| inspect(simulation, thing));
    frame.selected = observe.body.and_then(|id| numbers(simulation, id, solved));
}

/// How the island of each slot was solved; nothing where the solver does not choose.
fn methods(simulation: &Simulation) -> impl Iterator<Item = Option<Method>> {
    let (choices, islands) = (simulation.view().choices(), &simulation.problem().islands);
    let is_known = choices.len() == islands.len() && !choices.is_empty();
    let of_body = if is_known { &islands.of_body[..] } else { &[] };
    let method = |island: &u32| choices.get(*island as usize).map(Choice::method);
    of_body.iter().map(method)
}

/// Whether the last problem is of the present state; not so before the first step and after a restart.
pub(super) fn is_solved(simulation: &Simulation) -> bool {
    let step = simulation.world().step_index;
    simulation.report().step == step && step > 0
}

/// The errors of all joints (m); empty where they are not wanted, or not of the present state.
fn joint_errors(simulation: &Simulation, wanted: bool) -> Vec<f64> {
    if !wanted {
        return Vec::new();
    }
    let mut errors: Vec<f64> = simulation.joints().map(|(_, error)| error).collect();
    if errors.len() != simulation.world().joints().len() {
        errors.clear();
    }
    errors
}

fn numbers(simulation: &Simulation, id: BodyId, solved: bool) -> Option<BodyNumbers> {
    let world = simulation.world();
    let bodies = &world.bodies;
    let slot = bodies.slot(id)?;
    let velocity = bodies.velocity[slot];
    let spin = bodies.rotation[slot].inverse() * velocity.angular;
    let moving = bodies.kind[slot] == BodyKind::Dynamic;
    let mass = match moving {
        true => 1.0 / bodies.inverse_mass[slot],
        false => f64::INFINITY,
    };
    let mut numbers = BodyNumbers {
        label: bodies.label(slot),
        kind: bodies.kind[slot],
        mass,
        position: bodies.position[slot],
        rotation: bodies.rotation[slot].scaled_axis(),
        velocity,
        kinetic_energy: if moving {
            0.5 * (mass * velocity.linear.norm_squared()
                + spin.dot(&bodies.inertia[slot].mul_vec(spin)))
        } else {
            0.0
        },
        friction: world.materials[usize::from(bodies.material[slot])].friction,
        joints: joints_of(simulation, slot, solved),
        ..BodyNumbers::default()
    };
    if solved {
        let h = world.settings.substep();
        for contact in simulation.contacts() {
            let sign = match contact.bodies.map(|b| b as usize == slot) {
                [true, _] => -1.0,
                [_, true] => 1.0,
                _ => continue,
            };
            let impulse = contact.normal * contact.normal_impulse + contact.friction_impulse;
            numbers.contacts += 1;
            numbers.contact_force += impulse * (sign / h);
            numbers.largest_normal_force =
                numbers.largest_normal_force.max(contact.normal_impulse / h);
        }
        let island = simulation.problem().islands.of_body.get(slot).copied();
        numbers.island = island.filter(|i| *i != NO_ISLAND);
    }
    Some(numbers)
}

fn joints_of(simulation: &Simulation, slot: usize, solved: bool) -> Vec<JointNumbers> {
    let world = simulation.world();
    let errors = joint_errors(simulation, solved);
    let at_body = |joint: &Joint| joint.bodies.iter().position(|b| *b as usize == slot);
    let joints = world.joints().iter().enumerate();
    joints
        .filter_map(|(k, joint)| {
            let other = joint.bodies[1 - at_body(joint)?];
            Some(JointNumbers {
                label: joint.label(k),
                kind: joint.kind.name(),
                other: match other {
                    WORLD => "the world".into(),
                    slot => world.bodies.label(slot as usize),
                },
                coordinates: coordinates(joint, world),
                error: errors.get(k).copied(),
                force: joint.force().norm(),
            })
        })
        .collect()
}

/// What the coordinates of a joint are called; those that mean nothing have no name.
pub(super) fn coordinate_names(kind: &JointKind) -> [&'static str; 6] {
    match kind {
        JointKind::Spherical => ["x", "y", "z", "twist", "swing", ""],
        JointKind::Distance => ["distance", "", "", "", "", ""],
        JointKind::Universal => ["x", "y", "z", "first", "second", ""],
        _ => ["x", "y", "z", "rx", "ry", "rz"],
    }
}

/// The coordinates that a joint leaves free, with their units.
fn coordinates(joint: &Joint, world: &World) -> Vec<(&'static str, f64, &'static str)> {
    let names = coordinate_names(&joint.kind);
    let value = joint_geometry(joint, &world.bodies, world.time_since_midpoint()).value;
    // A distance is of interest though it is held.
    let shown = |k: usize| match joint.kind {
        JointKind::Distance => k == 0,
        // A plain ball joint's angles are of no use to anybody, and not worked out.
        JointKind::Spherical if joint.axes[3..] == [Axis::default(); 3] => false,
        _ => joint.axes[k].motion != Motion::Locked && !names[k].is_empty(),
    };
    (0..6)
        .filter(|k| shown(*k))
        .map(|k| {
            if Joint::is_length(k) {
                (names[k], value[k], "m")
            } else {
                (names[k], value[k].to_degrees(), "°")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    const MACHINE: &str = r#"(
        solver: (name: "bpp"),
        bodies: [
            (name: "post", kind: Fixed, shape: Ball(radius: 0.1)),
            (name: "arm", shape: Ball(radius: 0.1), position: (1, 0, 0)),
            (name: "cog", shape: Ball(radius: 0.1), position: (0, 1, 0)),
        ],
        joints: [
            (name: "pin", kind: Hinge(motor: Velocity(max_force: 50)), bodies: ("post", "arm"), axis: (0, 1, 0)),
            (name: "cog", kind: Hinge(), bodies: ("post", "cog"), axis: (0, 1, 0)),
            (name: "rope", kind: Distance(max: 3), bodies: ("arm", "cog"), at: (1, 0, 0), at_second: (0, 1, 0)),
            (name: "gear", kind: Gear(terms: [(joint: "pin", coefficient: 2), (joint: "cog", coefficient: 1)])),
        ],
        drives: [(name: "turn", unit: "rad/s", motors: [(joint: "pin")], keys: ("A", "D"), script: [(0, 0), (1, 1)])],
    )"#;

    #[test]
    fn frames_hold_joints_drives_and_matrices_where_asked_for() {
        let scene = Scene::parse(MACHINE, "test").expect("a scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        let arm = simulation.world().bodies.id(1);
        let mut frame = Frame::default();
        fill(&mut frame, &simulation, &Observe::default());
        assert_eq!(frame.drives.len(), 1);
        assert_eq!(frame.joints.len(), 1, "a rope is seen always");
        assert!(frame.joints[0].is_rope && frame.joints[0].error.is_none());

        let observe = Observe {
            joints: true,
            body: arm,
            ..Observe::default()
        };
        fill(&mut frame, &simulation, &observe);
        assert_eq!(frame.joints.len(), 3, "nothing is drawn of a gear");
        assert_eq!(frame.joints[0].error, None, "no step, no error");
        let y = frame.joints[0].axes[0].expect("a hinge has an axis");
        assert!((y.y - 1.0).abs() < 1e-6);

        simulation.world_mut().set_drive(0, Some(0.5));
        simulation.step().expect("a step");
        fill(&mut frame, &simulation, &observe);
        assert!(frame.joints[0].error.is_some());
        let drive = &frame.drives[0];
        assert_eq!((drive.live, drive.value), (Some(0.5), 0.5));
        assert!(!drive.keys.is_empty() && drive.hands == ["A", "D"]);
        let joints = &frame.selected.as_ref().expect("the arm").joints;
        let [pin, _] = joints.as_slice() else {
            panic!("the arm has a pin and a rope, not {joints:?}");
        };
        let [(name, angle, unit)] = pin.coordinates[..] else {
            panic!("a hinge has one coordinate, not {:?}", pin.coordinates);
        };
        assert_eq!((name, unit), ("rx", "°"));
        assert!(angle > 0.0, "{angle} after a step of 0.5 rad/s");
    }
}
