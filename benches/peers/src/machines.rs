//! Machines and heavy stacks: what stays together, in which time.
//!
//! Both engines are built from the shipped scene's world. Rapier runs with its default number of
//! iterations, with more of them, and with as many as make it take as long as Moreau does. Gaps and
//! losses come from the poses, in `f64`; overlaps from parry's contact query on them; the crane's load
//! is compared with a planar chain in reduced coordinates at 6 kHz.

use std::time::Instant;

use moreau::math::{Pose, Quat, Vec3};
use moreau::measure::{Stage, Summary, report};
use moreau::scene::{Scene, library};
use moreau::step::{ResidualSchedule, Simulation};
use moreau::world::joint::{JointKind, Target, WORLD};
use moreau::world::{Bodies, BodyKind, Geometry, World};
use nalgebra::Quaternion;
use parry3d_f64::query;
use rapier3d::prelude::{
    ColliderBuilder, Group, InteractionGroups, InteractionTestMode, PhysicsWorld,
    RevoluteJointBuilder, RigidBodyBuilder, RigidBodyHandle, SphericalJointBuilder, Vector,
};

use crate::reference::{chain::PlanarChain, crane};

/// A scene by name: what to load, what to set, and for how long to run it (s).
type Task = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    f64,
);

const MACHINES: [Task; 9] = [
    ("crane", "simple_crane", &[], 10.0),
    ("winch", "simple_winch", &[], 6.0),
    (
        "stack x1",
        "heavy_stack",
        &[("generators.0.top_mass_ratio", "1")],
        10.0,
    ),
    (
        "stack x10",
        "heavy_stack",
        &[("generators.0.top_mass_ratio", "10")],
        10.0,
    ),
    (
        "stack x100",
        "heavy_stack",
        &[("generators.0.top_mass_ratio", "100")],
        10.0,
    ),
    (
        "stack x1000",
        "heavy_stack",
        &[("generators.0.top_mass_ratio", "1000")],
        10.0,
    ),
    (
        "stack x1e6",
        "heavy_stack",
        &[("generators.0.top_mass_ratio", "1e6")],
        10.0,
    ),
    ("pyramid", "pyramid", DIRECT, 4.0),
    ("wall", "wall", DIRECT, 2.0),
];

/// Pivoting for scenes that are shipped without.
const PIVOTING: &[(&str, &str)] = &[
    ("solver.name", "bpp"),
    ("solver.budget.iterations", "1000"),
    ("settings.friction_law", "Box"),
];

/// Pivoting on many contacts.
const DIRECT: &[(&str, &str)] = &[
    ("solver.budget.iterations", "50000"),
    ("solver.parameters.factorization", "sparse"),
];

/// Rapier's numbers of iterations, beside those that take as long as Moreau.
const ITERATIONS: [usize; 4] = [4, 8, 16, 64];
/// More iterations than this are not tried.
const MOST_ITERATIONS: usize = 4096;
/// Farther than this is not a machine any more (m).
const EXPLODED: f64 = 1e3;

/// An engine on one of the scenes.
trait Machine {
    /// Takes a step and says how long it took (s).
    fn step(&mut self) -> Result<f64, String>;

    /// Poses of the bodies' centres of mass, slot by slot.
    fn poses(&self) -> Vec<Pose>;
}

struct Ours(Simulation);

impl Machine for Ours {
    fn step(&mut self) -> Result<f64, String> {
        let report = self.0.step().map_err(|e| e.to_string())?;
        Ok(report.timings.get(Stage::Step))
    }

    fn poses(&self) -> Vec<Pose> {
        let bodies = &self.0.world().bodies;
        (0..bodies.slots()).map(|slot| bodies.pose(slot)).collect()
    }
}

struct Rapier {
    world: PhysicsWorld,
    handles: Vec<RigidBodyHandle>,
    offset: Vec<Pose>,
}

impl Rapier {
    /// The same bodies, shapes, masses, groups and joints as `from` has.
    fn new(from: &World, iterations: usize) -> Result<Self, String> {
        let mut world = PhysicsWorld::new();
        world.gravity = vector(from.settings.gravity);
        world.integration_parameters.dt = from.settings.step as f32;
        world.integration_parameters.num_solver_iterations = iterations;
        let bodies = &from.bodies;
        let mut handles = Vec::new();
        for slot in 0..bodies.slots() {
            let pose = bodies.shape_pose(slot);
            let mass =
                (bodies.kind[slot] == BodyKind::Dynamic).then(|| 1.0 / bodies.inverse_mass[slot]);
            let rigid = match mass {
                Some(_) => RigidBodyBuilder::dynamic(),
                None => RigidBodyBuilder::fixed(),
            };
            let axis = pose.rotation.scaled_axis();
            let rigid = rigid
                .translation(vector(pose.position))
                .rotation(vector(axis))
                .can_sleep(false);
            let collider = match collider(bodies, slot)? {
                Some(collider) => collider,
                None => {
                    handles.push(world.insert_body(rigid));
                    continue;
                }
            };
            let collider = match mass {
                Some(mass) => collider.mass(mass as f32),
                None => collider,
            };
            let groups = bodies.groups[slot];
            let groups = InteractionGroups::new(
                Group::from_bits_retain(groups.memberships),
                Group::from_bits_retain(groups.filter),
                InteractionTestMode::And,
            );
            let friction = from.materials[bodies.material[slot] as usize].friction;
            let collider = collider
                .friction(friction as f32)
                .restitution(0.0)
                .collision_groups(groups);
            handles.push(world.insert(rigid, collider).0);
        }
        add_joints(from, &mut world, &handles)?;
        let offset = bodies.shape_offset.iter();
        let offset = offset.map(|x| Pose::new(-x, Quat::identity())).collect();
        Ok(Self {
            world,
            handles,
            offset,
        })
    }
}

/// The shape of a body, if it has one that takes part.
fn collider(bodies: &Bodies, slot: usize) -> Result<Option<ColliderBuilder>, String> {
    let collider = match bodies.shape[slot].as_ref().map(|s| s.geometry()) {
        Some(Geometry::Ball { radius }) => ColliderBuilder::ball(*radius as f32),
        Some(Geometry::Cuboid { half_extents: h }) => {
            ColliderBuilder::cuboid(h.x as f32, h.y as f32, h.z as f32)
        }
        Some(Geometry::Capsule {
            half_height,
            radius,
        }) => ColliderBuilder::capsule_y(*half_height as f32, *radius as f32),
        Some(Geometry::Cylinder {
            half_height,
            radius,
        }) => ColliderBuilder::cylinder(*half_height as f32, *radius as f32),
        _ if bodies.kind[slot] != BodyKind::Dynamic && bodies.groups[slot].memberships == 0 => {
            return Ok(None);
        }
        _ => {
            let label = bodies.label(slot);
            return Err(format!("{label} has a shape that is not translated"));
        }
    };
    Ok(Some(collider))
}

fn add_joints(
    from: &World,
    world: &mut PhysicsWorld,
    handles: &[RigidBodyHandle],
) -> Result<(), String> {
    let ground = world.insert_body(RigidBodyBuilder::fixed());
    for (k, joint) in from.joints().iter().enumerate() {
        let ends = joint.bodies.map(|b| match b {
            WORLD => ground,
            slot => handles[slot as usize],
        });
        // The shapes of all these bodies are centred on their masses.
        let anchors = joint.frames.map(|f| vector(f.position));
        match joint.kind {
            JointKind::Spherical => {
                let made = SphericalJointBuilder::new()
                    .local_anchor1(anchors[0])
                    .local_anchor2(anchors[1])
                    .contacts_enabled(joint.collide);
                world.insert_impulse_joint(ends[0], ends[1], made);
            }
            JointKind::Hinge => {
                let axis = joint.frames.map(|f| f.rotation * Vec3::x());
                let mut made = RevoluteJointBuilder::new(vector(axis[0]))
                    .local_anchor1(anchors[0])
                    .local_anchor2(anchors[1])
                    .contacts_enabled(joint.collide);
                if let Some(Target::Velocity(speed)) = joint.axes[3].motor.map(|m| m.target) {
                    made = made
                        .motor_velocity(speed as f32, 1e3)
                        .motor_max_force(f32::MAX);
                }
                let mut data: rapier3d::prelude::GenericJoint = made.build().into();
                data.set_local_axis2(vector(axis[1]));
                world.insert_impulse_joint(ends[0], ends[1], data);
            }
            _ => {
                return Err(format!(
                    "{} is of a kind that is not translated",
                    joint.label(k)
                ));
            }
        }
    }
    Ok(())
}

fn vector(v: Vec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

impl Machine for Rapier {
    fn step(&mut self) -> Result<f64, String> {
        let start = Instant::now();
        self.world.step();
        Ok(start.elapsed().as_secs_f64())
    }

    fn poses(&self) -> Vec<Pose> {
        let of = |(handle, offset): (&RigidBodyHandle, &Pose)| {
            let body = &self.world.bodies[*handle];
            let (t, q) = (body.translation(), body.rotation());
            let [x, y, z, w] = [q.x, q.y, q.z, q.w].map(f64::from);
            let rotation = Quat::from_quaternion(Quaternion::new(w, x, y, z));
            let position = Vec3::new(t.x.into(), t.y.into(), t.z.into());
            Pose::new(position, rotation).compose(offset)
        };
        self.handles.iter().zip(&self.offset).map(of).collect()
    }
}

/// What one engine made of one scene.
struct Outcome {
    engine: String,
    step: Summary,
    /// Largest distance of a joint's anchors (m).
    gap: f64,
    /// Largest sum of these over the whole chain, as a share of its length (-).
    stretch: Option<f64>,
    /// Largest distance of the load from the reference (m).
    load: Option<f64>,
    /// Deepest overlap (m).
    overlap: f64,
    /// Loss of height of the highest body at the end (m).
    lost: Option<f64>,
    remark: String,
}

/// Compares the engines on the machines whose names begin as asked for; all of them if nothing is.
///
/// # Errors
/// No such scene, or one that cannot be built.
pub fn compare(names: &[String]) -> Result<String, String> {
    let header =
        "scene,engine,median ms,p95 ms,joints apart mm,stretch %,load off mm,overlap mm,lost mm,";
    let header: Vec<String> = header.split(',').map(String::from).collect();
    let mut rows = Vec::new();
    let wanted =
        |name: &str| names.is_empty() || names.iter().any(|n| name.starts_with(n.as_str()));
    // One thread, and no other that has to wake up for every step: Rapier runs on this one, too.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .map_err(|e| e.to_string())?;
    for (name, id, set, seconds) in MACHINES.iter().filter(|m| wanted(m.0)) {
        eprintln!("{name}");
        let mut scene = library::shipped(id).map_err(|e| e.to_string())?;
        if scene.solver.name != "bpp" {
            scene.set_all(PIVOTING).map_err(|e| e.to_string())?;
        }
        scene.set_all(set).map_err(|e| e.to_string())?;
        let mut outcomes = vec![ours(&scene, name, "Moreau", *seconds)?];
        if *name == "crane" {
            let mut fine = scene.clone();
            fine.set("settings.substeps", "4")
                .map_err(|e| e.to_string())?;
            outcomes.push(ours(&fine, name, "Moreau, 4 substeps", *seconds)?);
        }
        let ours = outcomes[0].step.median;
        for iterations in ITERATIONS {
            outcomes.push(rapier(&scene, name, iterations, "", *seconds)?);
        }
        // More iterations until it takes as long, from the last measured time.
        let mut iterations = ITERATIONS[ITERATIONS.len() - 1];
        loop {
            let last = outcomes.last().map_or(ours, |o| o.step.median);
            if last >= ours || iterations >= MOST_ITERATIONS {
                break;
            }
            iterations *= 2;
            outcomes.push(rapier(&scene, name, iterations, "as long", *seconds)?);
        }
        rows.extend(outcomes.iter().map(|outcome| outcome.row(name)));
    }
    Ok(report::table(&header, &rows, 2..9))
}

fn ours(scene: &Scene, name: &str, engine: &str, seconds: f64) -> Result<Outcome, String> {
    // On rayon's own pool, which is this thread alone.
    let mut simulation = scene.simulation(0).map_err(|e| e.to_string())?;
    simulation.set_residuals(ResidualSchedule::Never);
    let world = simulation.world().clone();
    Ok(run(
        &mut Ours(simulation),
        &world,
        name,
        engine.into(),
        seconds,
    ))
}

fn rapier(
    scene: &Scene,
    name: &str,
    iterations: usize,
    what: &str,
    seconds: f64,
) -> Result<Outcome, String> {
    let mut world = scene.build().map_err(|e| e.to_string())?;
    // Rapier follows no script: its motors turn as the script does from the start.
    let probe = scene.simulation(1).map_err(|e| e.to_string());
    if let Ok(mut probe) = probe
        && probe.step().is_ok()
    {
        for k in 0..world.joints().len() as u32 {
            let axes = probe.world().joints()[k as usize].axes;
            if let Some(joint) = world.joint_mut(k) {
                joint.axes = axes;
            }
        }
    }
    let mut engine = Rapier::new(&world, iterations)?;
    let label = match what {
        "" => format!("Rapier, {iterations} iterations"),
        what => format!("Rapier, {iterations} iterations ({what})"),
    };
    Ok(run(&mut engine, &world, name, label, seconds))
}

fn run(
    machine: &mut dyn Machine,
    world: &World,
    name: &str,
    engine: String,
    seconds: f64,
) -> Outcome {
    let steps = (seconds / world.settings.step).round() as usize;
    let mut times = Vec::with_capacity(steps);
    let mut outcome = Outcome {
        engine,
        step: Summary::default(),
        gap: 0.0,
        stretch: None,
        load: None,
        overlap: 0.0,
        lost: None,
        remark: String::new(),
    };
    let is_crane = name == "crane";
    let mut reference = is_crane.then(PlanarChain::simple_crane);
    let length: f64 = crane::CABLE_LENGTH;
    let load = world.bodies.name.iter().position(|n| n == "load");
    let top = highest(&world.bodies);
    let start = top.map(|slot| world.bodies.position[slot].y);
    let mut bodies = world.bodies.clone();
    for step in 0..steps {
        match machine.step() {
            Ok(time) => times.push(time),
            Err(error) => {
                outcome.remark = error;
                break;
            }
        }
        for (slot, pose) in machine.poses().into_iter().enumerate() {
            (bodies.position[slot], bodies.rotation[slot]) = (pose.position, pose.rotation);
        }
        let gaps = world.joints().iter().map(|joint| {
            let [a, b] = joint.world_frames(&bodies);
            (b.position - a.position).norm()
        });
        let (sum, most) = gaps.fold((0.0, 0.0f64), |(sum, most), g| (sum + g, most.max(g)));
        // The largest gap does not see a NaN, their sum does.
        if most >= EXPLODED || sum.is_nan() {
            outcome.remark = format!("exploded after {:.1} s", step as f64 * world.settings.step);
            outcome.gap = f64::INFINITY;
            break;
        }
        outcome.gap = outcome.gap.max(most);
        if let Some(reference) = &mut reference {
            reference.advance(world.settings.step);
            let stretch = outcome.stretch.get_or_insert(0.0);
            *stretch = stretch.max(sum / length);
            if let Some(slot) = load {
                let [x, y] = reference.center(crane::LOAD);
                let at = bodies.position[slot];
                let off = Vec3::new(at.x - x, at.y - y, at.z).norm();
                outcome.load = Some(outcome.load.unwrap_or(0.0).max(off));
            }
        } else if step % 5 == 0 || step + 1 == steps {
            outcome.overlap = outcome.overlap.max(deepest(world, &bodies));
        }
    }
    if world.joints().is_empty()
        && let (Some(slot), Some(start)) = (top, start)
    {
        outcome.lost = Some(start - bodies.position[slot].y);
    }
    outcome.step = Summary::of(&times);
    outcome
}

/// The dynamic body that starts highest.
fn highest(bodies: &Bodies) -> Option<usize> {
    let dynamic = bodies.iter().filter(|slot| bodies.is_dynamic(*slot));
    dynamic.max_by(|a, b| bodies.position[*a].y.total_cmp(&bodies.position[*b].y))
}

/// The deepest overlap of two bodies that may collide (m).
fn deepest(world: &World, bodies: &Bodies) -> f64 {
    let mut deepest: f64 = 0.0;
    let slots: Vec<usize> = bodies.iter().collect();
    for (k, &i) in slots.iter().enumerate() {
        for &j in &slots[k + 1..] {
            let joined = world.joints().iter().any(|joint| {
                let pair = joint.bodies.map(|b| b as usize);
                !joint.collide && (pair == [i, j] || pair == [j, i])
            });
            let moves = bodies.is_dynamic(i) || bodies.is_dynamic(j);
            if joined || !moves || !bodies.groups[i].collide(bodies.groups[j]) {
                continue;
            }
            let (Some(a), Some(b)) = (&bodies.shape[i], &bodies.shape[j]) else {
                continue;
            };
            let [pa, pb] = [i, j].map(|slot| bodies.shape_pose(slot).to_parry());
            let reach = a.bounding_radius() + b.bounding_radius();
            if (bodies.position[i] - bodies.position[j]).norm() > reach {
                continue;
            }
            let contact = query::contact(&pa, a.parry().as_ref(), &pb, b.parry().as_ref(), 0.0);
            if let Ok(Some(contact)) = contact {
                deepest = deepest.max(-contact.dist);
            }
        }
    }
    deepest
}

impl Outcome {
    fn row(&self, scene: &str) -> Vec<String> {
        let scaled = |value: Option<f64>, scale: f64| match value {
            Some(v) if v.is_finite() => format!("{:.3e}", v * scale),
            Some(_) => "∞".into(),
            None => String::new(),
        };
        vec![
            scene.to_owned(),
            self.engine.clone(),
            format!("{:.4}", 1e3 * self.step.median),
            format!("{:.4}", 1e3 * self.step.p95),
            scaled((self.gap > 0.0).then_some(self.gap), 1e3),
            scaled(self.stretch, 100.0),
            scaled(self.load, 1e3),
            scaled((self.load.is_none()).then_some(self.overlap), 1e3),
            scaled(self.lost, 1e3),
            self.remark.clone(),
        ]
    }
}
