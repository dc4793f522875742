//! All that is known of one contact or one joint.

use bevy::prelude::Resource;

use super::frame::ContactState;
use super::observe::coordinate_names;
use crate::math::Vec3;
use crate::problem::{FrictionLaw, Problem};
use crate::step::{ContactView, Simulation};
use crate::world::joint::{Axis, Joint, Motion, Target, WORLD};
use crate::world::{Bodies, joint_geometry};

/// A contact or a joint that can be picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thing {
    /// The contact of two bodies, by their slots, that is nearest to a place (m).
    Contact { bodies: [u32; 2], near: Vec3 },
    /// A joint, by its index.
    Joint(u32),
}

/// The contact or joint whose numbers are shown.
#[derive(Resource, Default)]
pub struct Picked {
    pub thing: Option<Thing>,
    pub(super) hit: bool,
}

impl Picked {
    /// Whether the mouse button that went down in this frame picked a contact or a joint, and so no body.
    pub fn hit(&self) -> bool {
        self.hit
    }
}

#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    Number(f64),
    Vector(Vec3),
}

/// A quantity: its name with the unit, its value, and what more there is to know.
pub type Line = (&'static str, Value, &'static str);

#[derive(Clone, Debug)]
pub struct PickedNumbers {
    pub thing: Thing,
    pub title: String,
    /// Where it is now (m).
    pub point: Vec3,
    pub lines: Vec<Line>,
    pub rows: Vec<RowNumbers>,
}

/// One row of the problem w = A Λ + b.
#[derive(Clone, Debug)]
pub struct RowNumbers {
    pub name: String,
    /// Λ, and what the solver started from (N s).
    pub impulse: f64,
    pub start: f64,
    /// w: J u + C Λ + bias (m/s).
    pub velocity: f64,
    /// Position error φ (m); none where the row holds no position.
    pub error: Option<f64>,
    /// Whether Λ is at one of its bounds.
    pub is_bounded: bool,
}

/// The numbers of a thing over the last (sub)step; none where it is gone.
pub fn inspect(simulation: &Simulation, thing: Thing) -> Option<PickedNumbers> {
    match thing {
        Thing::Contact { bodies, near } => contact(simulation, bodies, near),
        Thing::Joint(index) => joint(simulation, index),
    }
}

fn label(bodies: &Bodies, slot: u32) -> String {
    match slot {
        WORLD => "the world".into(),
        slot => bodies.label(slot as usize),
    }
}

fn contact(simulation: &Simulation, bodies: [u32; 2], near: Vec3) -> Option<PickedNumbers> {
    let all = simulation.contacts().enumerate();
    let of_pair = all.filter(|(_, c)| c.bodies == bodies);
    let distance = |c: &ContactView| (c.point - near).norm_squared();
    let (k, view) = of_pair.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))?;
    let names = bodies.map(|b| label(&simulation.world().bodies, b));
    let state = contact_state(simulation, k);
    Some(PickedNumbers {
        thing: Thing::Contact {
            bodies,
            near: view.point,
        },
        title: format!("contact of {} and {}", names[0], names[1]),
        point: view.point,
        lines: contact_lines(simulation, k, &view, names, state),
        rows: contact_rows(simulation, k, state),
    })
}

fn contact_state(simulation: &Simulation, k: usize) -> ContactState {
    let of = &simulation.problem().contacts;
    let block = &simulation.impulses()[of.rows(k)];
    ContactState::of(&of.friction[k], of.gap[k], block)
}

fn contact_lines(
    simulation: &Simulation,
    k: usize,
    view: &ContactView,
    [first, second]: [String; 2],
    state: ContactState,
) -> Vec<Line> {
    use Value::{Number, Text, Vector};
    let of = &simulation.problem().contacts;
    let h = simulation.world().settings.substep();
    let [mu, mu_across] = of.friction[k].mu;
    let mut law = format!("{}, μ = {mu}", of.friction[k].law);
    if mu != mu_across {
        law += &format!(" and {mu_across}");
    }
    let [normal, friction] = [view.normal_impulse, view.friction_impulse.norm()];
    let force = "impulse over the length of the (sub)step";
    let mut lines = vec![
        ("first body", Text(first), ""),
        ("second body", Text(second), ""),
        ("state", Text(state.name().into()), ""),
        ("point [m]", Vector(view.point), "at the step's midpoint"),
        (
            "normal",
            Vector(view.normal),
            "from the first to the second",
        ),
        ("gap [m]", Number(view.gap), "negative where they overlap"),
        ("normal impulse [N s]", Number(normal), ""),
        ("normal force [N]", Number(normal / h), force),
        (
            "friction impulse [N s]",
            Vector(view.friction_impulse),
            "on the second body",
        ),
        ("friction force [N]", Number(friction / h), force),
        ("law", Text(law), ""),
    ];
    let velocity = &simulation.world().bodies.velocity;
    let [i, j] = view.bodies.map(|b| velocity.get(b as usize));
    if let (Some(i), Some(j)) = (i, j) {
        let arms = &of.frame[k].arms;
        let relative = j.at(arms[1]) - i.at(arms[0]);
        let sliding = relative - view.normal * view.normal.dot(&relative);
        let hint = "of the second body against the first, at the end of the step";
        lines.push(("sliding [m/s]", Vector(sliding), hint));
        lines.push(("sliding speed [m/s]", Number(sliding.norm()), hint));
    }
    let [compliance, _] = of.compliance[k];
    if compliance != 0.0 {
        lines.push((
            "compliance [1/kg]",
            Number(compliance),
            "C of the normal row",
        ));
    }
    lines
}

fn contact_rows(simulation: &Simulation, k: usize, state: ContactState) -> Vec<RowNumbers> {
    let problem = simulation.problem();
    let span = problem.contacts.rows(k);
    let (block, start) = (
        &simulation.impulses()[span.clone()],
        &simulation.warm_start()[span],
    );
    let u = &simulation.world().bodies.velocity;
    // Bodies that have come since have no place in the problem.
    if u.len() != problem.bodies.len() {
        return Vec::new();
    }
    let mut w = [0.0; FrictionLaw::MAX_ROWS];
    problem.contact_velocity(k, u, block, &mut w[..block.len()]);
    let rows = block.iter().zip(start).zip(w).enumerate();
    rows.map(|(r, ((impulse, start), velocity))| RowNumbers {
        name: match r {
            0 => "normal".into(),
            r => format!("friction {r}"),
        },
        impulse: *impulse,
        start: *start,
        velocity,
        error: (r == 0).then_some(problem.contacts.gap[k]),
        is_bounded: match r {
            0 => *impulse <= 0.0,
            _ => state == ContactState::Sliding,
        },
    })
    .collect()
}

fn joint(simulation: &Simulation, index: u32) -> Option<PickedNumbers> {
    let world = simulation.world();
    let joint = world.joints().get(index as usize)?;
    let solved = simulation.joints().nth(index as usize);
    let [first, second] = joint.bodies.map(|b| label(&world.bodies, b));
    let frames = joint.world_frames(&world.bodies);
    let mut lines = vec![
        ("kind", Value::Text(joint.kind.name().into()), ""),
        ("first body", Value::Text(first), ""),
        ("second body", Value::Text(second), ""),
        (
            "anchor [m]",
            Value::Vector(frames[0].position),
            "of the first body\'s frame",
        ),
        (
            "force [N]",
            Value::Vector(joint.force()),
            "on the second body",
        ),
        ("force, size [N]", Value::Number(joint.force().norm()), ""),
    ];
    if let Some((_, error)) = solved {
        lines.push((
            "error [m]",
            Value::Number(error),
            "how far its worst held coordinate is from where the last step aimed",
        ));
    }
    let softness = &joint.softness;
    for (name, value) in [
        ("compliance [m/N]", softness.compliance),
        ("angular compl. [rad/(N m)]", softness.angular_compliance),
    ] {
        if value > 0.0 {
            lines.push((name, Value::Number(value), ""));
        }
    }
    let names = coordinate_names(&joint.kind);
    let value = joint_geometry(joint, &world.bodies, world.time_since_midpoint()).value;
    for (k, axis) in joint.axes.iter().enumerate() {
        if axis.motion != Motion::Locked && !names[k].is_empty() {
            let hint = if Joint::is_length(k) { "m" } else { "rad" };
            lines.push((names[k], Value::Text(coordinate(axis, value[k])), hint));
        }
    }
    Some(PickedNumbers {
        thing: Thing::Joint(index),
        title: joint.label(index as usize),
        point: frames[0].position,
        lines,
        rows: joint_rows(simulation, index, &names),
    })
}

/// A coordinate with its limits, its motor and its friction (m or rad, N or N m).
fn coordinate(axis: &Axis, value: f64) -> String {
    let mut text = format!("{value:.4}");
    if let Motion::Limited([low, high]) = axis.motion {
        text += &format!(" from {low:.4} to {high:.4}");
    }
    if let Some(motor) = &axis.motor {
        text += &match motor.target {
            Target::Velocity(speed) => format!("\nmotor to {speed:.4} per s"),
            Target::Position { position, .. } => format!("\nmotor to {position:.4}"),
        };
        text += &format!(", at most {:.3e}", motor.max_force);
    }
    if axis.friction > 0.0 {
        text += &format!("\nfriction up to {:.3e}", axis.friction);
    }
    text
}

/// What the rows of a joint are for, by their numbers divided by six; the rest is the coordinate.
const ROLES: [&str; 5] = ["", " lower limit", " upper limit", " motor", " friction"];

fn joint_rows(simulation: &Simulation, index: u32, names: &[&str; 6]) -> Vec<RowNumbers> {
    let world = simulation.world();
    let problem: &Problem = simulation.problem();
    let u = &world.bodies.velocity;
    // What is remembered of the rows is in their order.
    let memory = &world.joint_memory;
    if memory.len() != problem.rows.len() || u.len() != problem.bodies.len() {
        return Vec::new();
    }
    let first = problem.contact_rows();
    let own = memory.iter().enumerate().filter(|(_, m)| m.joint == index);
    own.map(|(r, memory)| {
        let impulse = simulation.impulses()[first + r];
        let [low, high] = problem.rows.bounds[r];
        let (role, k) = (usize::from(memory.row) / 6, usize::from(memory.row) % 6);
        let name = match names[k] {
            "" => format!("row {k}"),
            name => name.to_owned(),
        };
        RowNumbers {
            name: name + ROLES.get(role).copied().unwrap_or_default(),
            impulse,
            start: simulation.warm_start()[first + r],
            velocity: problem.row_velocity(r, u, impulse),
            error: (role < 3).then_some(problem.rows.position_error[r]),
            is_bounded: impulse <= low || impulse >= high,
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    const SCENE: &str = r#"(
        solver: (name: "bpp"),
        bodies: [
            (name: "ground", kind: Fixed, shape: HalfSpace(normal: (0, 1, 0))),
            (name: "crate", mass: 3, shape: Cuboid(half_extents: (0.5, 0.5, 0.5)), position: (0, 0.5, 0)),
            (name: "arm", mass: 2, shape: Ball(radius: 0.1), position: (5, 3, 0)),
        ],
        joints: [(name: "pin", kind: Hinge(motor: Velocity(speed: 1, max_force: 50)), bodies: ("", "arm"), at: (5, 3, 0), axis: (0, 0, 1))],
    )"#;

    /// A crate of 3 kg at rest stands on four corners: each carries mg/4, and they are told apart by place. A
    /// hinge through a body's centre carries its weight, and its motor reaches its speed.
    #[test]
    fn a_contact_and_a_joint_show_what_they_carry() {
        let scene = Scene::parse(SCENE, "test").expect("a scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        for _ in 0..5 {
            simulation.step().expect("a step");
        }
        let corners: Vec<_> = simulation.contacts().collect();
        assert_eq!(corners.len(), 4);
        let mut sum = 0.0;
        for corner in &corners {
            let thing = Thing::Contact {
                bodies: corner.bodies,
                near: corner.point,
            };
            let numbers = inspect(&simulation, thing).expect("a contact");
            assert_eq!(numbers.point, corner.point);
            assert!(numbers.title.contains("crate") && numbers.title.contains("ground"));
            assert!(numbers.rows[0].velocity.abs() < 1e-6, "{:?}", numbers.rows);
            sum += numbers.rows[0].impulse / simulation.world().settings.substep();
        }
        let g = -simulation.world().settings.gravity.y;
        assert!((sum - 3.0 * g).abs() < 1e-6 * g, "{sum} N");

        let numbers = inspect(&simulation, Thing::Joint(0)).expect("a joint");
        let motor = numbers.rows.iter().find(|r| r.name == "rx motor");
        let motor = motor.expect("a motor");
        assert!(
            motor.velocity.abs() < 1e-9 && !motor.is_bounded,
            "{motor:?}"
        );
        let held = numbers.rows.iter().filter(|r| !r.name.contains(' '));
        assert_eq!(held.count(), 5, "{:?}", numbers.rows);
        let gone = Thing::Contact {
            bodies: [1, 2],
            near: Vec3::zeros(),
        };
        assert!(inspect(&simulation, gone).is_none());
    }
}
