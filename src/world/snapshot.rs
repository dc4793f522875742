//! Snapshots: all that the next step reads, in memory and as a checked file; and the state hash.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::Xxh3;

use super::{Bodies, Geometry, Shape, WORLD_LIMIT, World, is_speed_usable};
use crate::check::{Invalid, LARGEST, demand, finite};
use crate::file::{FileError, FileKind};
use crate::math::Vec3;

/// A world as a file.
const KIND: FileKind = FileKind {
    name: "snapshot",
    magic: b"MOREAUSN",
    version: SNAPSHOT_VERSION,
};
/// Version of the snapshot format; another one is refused.
pub const SNAPSHOT_VERSION: u32 = 14;

/// How shapes are stored: every geometry once, however many bodies share it, and which one each body has.
pub(super) mod shapes {
    use super::*;

    pub fn serialize<S: Serializer>(
        shapes: &[Option<Shape>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut table: HashMap<*const Geometry, u32> = HashMap::new();
        let mut geometries: Vec<&Geometry> = Vec::new();
        let mut of_body = Vec::with_capacity(shapes.len());
        for shape in shapes {
            of_body.push(shape.as_ref().map(|shape| {
                let pointer = Arc::as_ptr(shape.shared_geometry());
                *table.entry(pointer).or_insert_with(|| {
                    geometries.push(shape.geometry());
                    geometries.len() as u32 - 1
                })
            }));
        }
        (geometries, of_body).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Option<Shape>>, D::Error> {
        let (geometries, of_body): (Vec<Geometry>, Vec<Option<u32>>) =
            Deserialize::deserialize(deserializer)?;
        let shapes: Result<Vec<_>, _> = geometries.into_iter().map(Shape::new).collect();
        let shapes = shapes.map_err(de::Error::custom)?;
        let missing = || de::Error::custom("a body names a shape that is not there");
        let shape = |k: u32| shapes.get(k as usize).cloned().ok_or_else(missing);
        of_body
            .into_iter()
            .map(|k| k.map(shape).transpose())
            .collect()
    }
}

impl World {
    /// A hash of the state: time, poses, velocities, remembered impulses and manifolds, bit for bit. External
    /// forces are input, not state, and not in it.
    pub fn state_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&self.step_index.to_le_bytes());
        let mut add = |v: &[f64]| {
            for x in v {
                hash.update(&x.to_bits().to_le_bytes());
            }
        };
        add(&[self.time, self.memory_step]);
        let b = &self.bodies;
        for slot in b.iter() {
            add(b.position[slot].as_slice());
            add(b.rotation[slot].coords.as_slice());
            add(b.velocity[slot].linear.as_slice());
            add(b.velocity[slot].angular.as_slice());
        }
        for (k, m) in self.memory.iter().enumerate() {
            // Couples count by their size: most contacts have none.
            add(&[m.normal, self.couples.get(k).map_or(0.0, Vec3::norm)]);
            add(m.friction.as_slice());
        }
        for joint in &self.joints {
            add(&joint.angles);
            add(joint.force.as_slice());
        }
        for m in &self.joint_memory {
            add(&[m.impulse, m.force, m.aim, m.damper]);
        }
        for m in &self.manifolds.of_pair {
            add(m.relative.position.as_slice());
            add(m.relative.rotation.coords.as_slice());
            add(m.normal.as_slice());
            add(&[m.reach]);
            for p in self.manifolds.points(m) {
                add(p.local[0].as_slice());
                add(p.local[1].as_slice());
            }
        }
        hash.digest()
    }

    /// Memory that a copy of the world takes (bytes). Geometries are shared, and names are short: neither counts.
    pub fn memory(&self) -> usize {
        fn list<T>(list: &[T]) -> usize {
            size_of_val(list)
        }
        let m = &self.manifolds;
        self.bodies.slots() * Bodies::BYTES_PER_SLOT
            + list(&self.memory)
            + list(&self.couples)
            + list(&m.of_pair)
            + list(&m.point)
            + list(&self.joints)
            + list(&self.joint_memory)
            + list(&self.joined)
            + list(&self.drives)
            + size_of::<Self>()
    }

    /// Writes the world as bytes: magic, version, length, checksum, data. What a solver carries from
    /// step to step is not the world's: see [`Snapshot::to_bytes`](crate::step::Snapshot::to_bytes).
    pub fn to_bytes(&self) -> Vec<u8> {
        KIND.write(self)
    }

    /// Reads a world written by [`World::to_bytes`].
    ///
    /// # Errors
    /// Bytes of another kind or version, damaged ones, or ones that no world was written to: whatever a file
    /// says, it is refused, or the next step is taken or refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let mut world: Self = KIND.read(bytes)?;
        world.check_references()?;
        world.check_free_list().map_err(|e| KIND.damaged(e))?;
        world.check().map_err(|e| KIND.damaged(e))?;
        world.check_state().map_err(|e| KIND.damaged(e))?;
        world.find_joined();
        Ok(world)
    }

    /// Whether everything is there that is named by what only a file can break.
    fn check_references(&self) -> Result<(), FileError> {
        let there = |is_there: bool, what: &str| {
            let error = || KIND.damaged(format!("it names a {what} that is not there"));
            is_there.then_some(()).ok_or_else(error)
        };
        there(self.bodies.is_sound(), "body")?;
        let slots = self.bodies.slots();
        let named = self.memory.iter().flat_map(|m| &m.bodies);
        let boxes = self.manifolds.of_pair.iter().flat_map(|m| &m.bodies);
        let mut named = named.chain(boxes);
        there(named.all(|slot| (*slot as usize) < slots), "body")?;

        let joints = self.joints.len();
        let mut named = self.joint_memory.iter().map(|m| m.joint);
        there(named.all(|k| (k as usize) < joints), "joint")?;
        let couples = self.couples.len();
        there([0, self.memory.len()].contains(&couples), "contact")?;
        there(self.manifolds.is_sound(), "contact point")
    }

    fn check_free_list(&self) -> Result<(), Invalid> {
        let b = &self.bodies;
        let expected = "all empty slots, each of them once";
        demand(
            b.is_free_list_sound(),
            "free",
            expected,
            format_args!("{:?}", b.free),
        )
    }

    /// Whether the state is one that the engine can have written: what [`World::check`] leaves out because nothing
    /// but a file can break it, or a step looks at it by itself.
    fn check_state(&self) -> Result<(), Invalid> {
        let b = &self.bodies;
        for slot in 0..b.slots() {
            check_moving(b, slot).map_err(|e| e.inside(b.label(slot)))?;
        }
        for (k, joint) in self.joints.iter().enumerate() {
            let checked = finite("angles", &joint.angles);
            let checked = checked.and_then(|()| finite("force", joint.force.iter()));
            checked.map_err(|e| e.inside(joint.label(k)))?;
        }
        finite("drives.value", self.drives.iter().map(|d| &d.value))?;
        self.check_memory()
    }

    /// Whether what the last step left is in order, and made of numbers that can be calculated with.
    fn check_memory(&self) -> Result<(), Invalid> {
        let contacts = &self.memory;
        let numbers = contacts.iter().flat_map(|m| {
            let vectors = m.local_point.iter().chain(m.friction.iter());
            vectors.chain([&m.normal])
        });
        let couples = self.couples.iter().flat_map(|couple| couple.iter());
        finite("contacts", numbers.chain(couples))?;
        let rows = &self.joint_memory;
        finite(
            "joint_memory",
            rows.iter()
                .flat_map(|m| [&m.impulse, &m.force, &m.aim, &m.damper]),
        )?;
        finite("manifolds", self.manifolds.numbers())?;
        let h = self.memory_step;
        demand((0.0..=LARGEST).contains(&h), "memory_step", "0 or more", h)?;
        let are_sorted =
            contacts.is_sorted_by_key(|m| m.bodies) && rows.is_sorted_by_key(|m| m.joint);
        demand(are_sorted, "what is remembered", "in order", "out of order")
    }
}

/// Whether what a step has found can be calculated with by the next one, which else starts from nothing.
pub(crate) fn is_memorable<'a>(values: impl IntoIterator<Item = &'a f64>) -> bool {
    // All of them, without a branch for each.
    let is_fine = |all, v: &f64| all & (v.abs() <= LARGEST);
    values.into_iter().fold(true, is_fine)
}

fn check_moving(b: &Bodies, slot: usize) -> Result<(), Invalid> {
    let (x, u) = (&b.position[slot], &b.velocity[slot]);
    let is_placed = x.iter().all(|x| x.abs() <= WORLD_LIMIT);
    demand(is_placed, "position", "within ±1e8 m", x)?;
    let expected = "within ±1e8 m/s and rad/s";
    let found = format_args!("{} and {}", u.linear, u.angular);
    demand(is_speed_usable(u), "velocity", expected, found)?;
    let expected = "positive, with an inertia that some body has, or nothing at all";
    let found = b.inverse_mass[slot];
    demand(b.is_mass_usable(slot), "inverse mass", expected, found)
}

#[cfg(test)]
mod tests {
    use super::super::joint::{Axis, GearTerm, JointKind, Motion, WORLD};
    use super::*;
    use crate::math::{Quat, SymMat3, Twist};
    use crate::scene::Scene;
    use crate::step::Simulation;
    use crate::world::{BodyKind, ContactMemory, Settings};

    /// A machine with a gear, a drive and a hole where a body was, in the middle of its run.
    fn machine() -> World {
        let text = r#"(
            bodies: [
                (name: "floor", kind: Fixed, shape: HalfSpace()),
                (name: "hill", kind: Fixed, shape: TriMesh(vertices: [(0, -5, 0), (1, -5, 0), (0, -5, 1)], triangles: [(0, 1, 2)])),
                (name: "a", shape: Cuboid(half_extents: (0.5, 0.5, 0.5)), position: (0, 0.5, 0)),
                (name: "b", shape: Cuboid(half_extents: (0.5, 0.5, 0.5)), position: (0, 1.5, 0)),
                (name: "c", shape: Cuboid(half_extents: (0.5, 0.5, 0.5)), position: (0, 2.5, 0)),
                (name: "gone", shape: Ball(radius: 0.5), position: (9, 9, 0)),
                (name: "p", shape: Ball(radius: 0.5), position: (5, 9, 0)),
                (name: "q", shape: Ball(radius: 0.5), position: (7, 9, 0)),
            ],
            joints: [
                (name: "pin", bodies: ("", "p"), at: (5, 9, 0), kind: Hinge(limits: (-90, 90), motor: Velocity(max_force: 5))),
                (name: "rail", bodies: ("", "q"), at: (7, 9, 0), kind: Slider()),
                (name: "gear", kind: Gear(terms: [(joint: "pin", coefficient: 2), (joint: "rail", coefficient: 1)])),
            ],
            drives: [(name: "turn", motors: [(joint: "pin")], script: [(0, 0), (1, 1)], range: (-2, 2))],
        )"#;
        let scene = Scene::parse(text, "machine").unwrap();
        let mut simulation = scene.simulation(1).unwrap();
        for _ in 0..3 {
            simulation.step().unwrap();
        }
        let world = simulation.world_mut();
        let gone = world.bodies.name.iter().position(|n| n == "gone").unwrap();
        let id = world.bodies.id(gone).unwrap();
        assert!(world.remove_body(id));
        simulation.step().unwrap();
        let world = simulation.world().clone();
        assert_eq!((world.bodies.free.len(), world.joints.len()), (1, 3));
        assert!(world.manifolds.of_pair.len() > 1);
        world
    }

    /// Asserts that no world is read from the file of this one, and that the message says why.
    #[track_caller]
    fn refused(expected: &str, change: impl FnOnce(&mut World)) {
        let mut world = machine();
        change(&mut world);
        match World::from_bytes(&world.to_bytes()) {
            Ok(_) => panic!("this should be refused: {expected}"),
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.starts_with("the snapshot is damaged: "),
                    "{message}"
                );
                assert!(message.contains(expected), "{message:?} lacks {expected:?}");
            }
        }
    }

    #[test]
    fn a_good_world_is_read_and_goes_on_alike() {
        let world = machine();
        let read = World::from_bytes(&world.to_bytes()).unwrap();
        let next = |world: World| {
            let mut simulation = Simulation::new(world, Default::default(), 1).unwrap();
            simulation.step().unwrap();
            simulation.world().state_hash()
        };
        assert_eq!(next(read), next(world));
    }

    #[test]
    fn bodies_that_cannot_be_are_refused() {
        let nan = f64::NAN;
        refused("body 2 \"a\".position must be within", |w| {
            w.bodies.position[2].x = nan
        });
        refused("position must be within", |w| w.bodies.position[2].y = 1e9);
        refused("velocity must be within", |w| {
            w.bodies.velocity[3].angular.z = f64::INFINITY
        });
        refused("force must be", |w| {
            w.bodies
                .set_force(3, Twist::new(Vec3::x() * nan, Vec3::zeros()))
        });
        refused("rotation must be a quaternion", |w| {
            w.bodies.rotation[2] = Quat::new_unchecked(w.bodies.rotation[2].into_inner() * 2.0);
        });
        refused("shape_offset must be", |w| w.bodies.shape_offset[2].x = nan);
        refused("color must be", |w| {
            w.bodies.color[2] = Some([0.0, f32::NAN, 0.0])
        });
        refused("inverse mass must be", |w| w.bodies.inverse_mass[2] = -1.0);
        refused("inverse mass must be", |w| w.bodies.inverse_mass[2] = nan);
        refused("inverse mass must be", |w| w.bodies.inertia[2].xx = nan);
        refused("inverse mass must be", |w| w.bodies.inertia[2].yy *= -1.0);
        refused("inverse mass must be", |w| w.bodies.inertia[2].zz *= 100.0);
        refused("mass must be positive", |w| {
            w.bodies.inverse_mass[2] = 0.0;
            w.bodies.inertia[2] = SymMat3::ZERO;
        });
        refused("shape must be solid", |w| {
            w.bodies.shape[2] = w.bodies.shape[1].clone()
        });
        refused("material must be", |w| w.bodies.material[2] = 99);
        refused("materials must be one or more", |w| w.materials.clear());
        refused("names a body that is not there", |w| {
            drop(w.bodies.name.pop())
        });
    }

    #[test]
    fn free_lists_that_lie_are_refused() {
        let expected = "free must be all empty slots, each of them once";
        refused(expected, |w| w.bodies.free.push(2));
        refused(expected, |w| w.bodies.free[0] = 3);
        refused(expected, |w| w.bodies.free.push(w.bodies.free[0]));
        refused(expected, |w| w.bodies.free.clear());
        refused(expected, |w| w.bodies.free[0] = u32::MAX);
        refused(expected, |w| {
            let empty = w.bodies.free[0] as usize;
            w.bodies.shape[empty] = w.bodies.shape[2].clone();
        });
        refused(expected, |w| {
            let empty = w.bodies.free[0] as usize;
            w.bodies.kind[empty] = BodyKind::Dynamic;
        });
        // A body that is there and yet is not.
        refused(expected, |w| {
            let pinned = w.joints[0].bodies[1];
            w.bodies.alive[pinned as usize] = false;
        });
    }

    #[test]
    fn joints_that_cannot_be_are_refused() {
        let nan = f64::NAN;
        let limits =
            |lo, hi| move |w: &mut World| w.joints[0].axes[3].motion = Motion::Limited([lo, hi]);
        refused("limits must be ascending", limits(1.0, -1.0));
        refused("limits must be ascending", limits(nan, 1.0));
        refused(
            "limits must be ascending",
            limits(f64::INFINITY, f64::INFINITY),
        );
        refused("joint 0 \"pin\".frames must be", |w| {
            w.joints[0].frames[1].position.z = nan
        });
        refused("frames must be a quaternion", |w| {
            w.joints[1].frames[0].rotation = Quat::new_unchecked(Default::default());
        });
        refused("compliance must be", |w| {
            w.joints[0].softness.compliance = -1.0
        });
        refused("length must be", |w| w.joints[0].softness.length = 0.0);
        refused("friction must be", |w| {
            w.joints[0].axes[3] = Axis {
                friction: nan,
                ..Axis::default()
            }
        });
        refused("angles must be", |w| w.joints[0].angles[1] = f64::INFINITY);
        refused("force must be", |w| w.joints[1].force.x = nan);
        refused("gear_offset must be", |w| w.joints[2].gear_offset = nan);
        refused("bodies must be slots of bodies", |w| {
            w.joints[0].bodies[1] = 1000
        });
        refused("bodies must be two bodies", |w| {
            w.joints[0].bodies = [WORLD; 2]
        });
        refused("bodies must be two bodies", |w| w.joints[0].bodies = [3; 2]);
        let gear = |joint: u32, axis: u8, coefficient: f64| {
            let term = GearTerm {
                joint,
                axis,
                coefficient,
            };
            move |w: &mut World| w.joints[2].kind = JointKind::Gear(vec![term])
        };
        for (joint, axis, coefficient) in [
            (2, 0, 1.0),
            (7, 0, 1.0),
            (0, 6, 1.0),
            (0, 3, nan),
            (0, 3, 0.0),
        ] {
            refused(
                "terms must be those of a gear",
                gear(joint, axis, coefficient),
            );
        }
        refused("names a joint", |w| w.joint_memory[0].joint = 3);
        refused("joint_memory must be", |w| w.joint_memory[0].impulse = nan);
    }

    #[test]
    fn drives_and_settings_that_cannot_be_are_refused() {
        refused("drive \"turn\".range must be ascending", |w| {
            w.drives[0].range = [2.0, -2.0]
        });
        refused("range must be", |w| w.drives[0].range[0] = f64::NAN);
        refused("script must be", |w| w.drives[0].keys.reverse());
        refused("script must be", |w| w.drives[0].keys[1][1] = f64::NAN);
        refused("rate must be", |w| w.drives[0].rate = -1.0);
        refused("value must be", |w| w.drives[0].live = Some(f64::INFINITY));
        refused("drives.value must be", |w| w.drives[0].value = f64::NAN);
        refused("motors must be those of joints", |w| {
            w.drives[0].motors[0].joint = 3
        });
        refused("settings.step must be", |w| w.settings.step = f64::NAN);
        refused("settings.substeps must be", |w| {
            w.settings = Settings {
                substeps: 0,
                ..w.settings
            }
        });
        refused("time must be", |w| w.time = f64::NAN);
        refused("step_index must be", |w| w.step_index = u64::MAX);
    }

    #[test]
    fn memories_that_cannot_be_are_refused() {
        let far = |w: &World| w.bodies.slots() as u32;
        refused("names a body", |w| w.memory[0].bodies[1] = far(w));
        refused("names a body", |w| {
            w.manifolds.of_pair[0].bodies[1] = far(w)
        });
        refused("contacts must be", |w| w.memory[0].normal = f64::NAN);
        refused("contacts must be", |w| {
            w.memory[0].local_point.x = f64::INFINITY
        });
        refused("contacts must be", |w| {
            w.couples = vec![Vec3::x() * 1e300; w.memory.len()]
        });
        refused("names a contact that is not there", |w| {
            w.couples.push(Vec3::zeros())
        });
        refused("manifolds must be", |w| {
            w.manifolds.of_pair[0].normal = Vec3::repeat(f64::NAN)
        });
        refused("manifolds must be", |w| {
            w.manifolds.point[0].local[1].x = f64::INFINITY
        });
        refused("what is remembered must be in order", |w| {
            w.memory.reverse()
        });
        let points = "names a contact point";
        refused(points, |w| w.manifolds.point.truncate(1));
        refused(points, |w| w.manifolds.of_pair[0].points = [1, 0]);
        refused(points, |w| w.manifolds.of_pair[1].points[0] = 0);
        refused(points, |w| w.manifolds.of_pair.reverse());
        refused(points, |w| {
            let all = [0, w.manifolds.point.len() as u32];
            w.manifolds.of_pair.iter_mut().for_each(|m| m.points = all);
        });
        let named = |m: &ContactMemory| m.bodies[0] < m.bodies[1];
        assert!(machine().memory.iter().all(named));
    }

    /// However many bodies have it, a mesh is there once.
    #[test]
    fn a_shared_mesh_is_stored_and_read_once() {
        let side = 60_u32;
        let vertices: Vec<Vec3> = (0..side * side)
            .map(|k| Vec3::new(f64::from(k % side), 0.0, f64::from(k / side)))
            .collect();
        let cell = |k: u32| [[k, k + side, k + 1], [k + 1, k + side, k + side + 1]];
        let cells = (0..side * (side - 1)).filter(|k| k % side + 1 < side);
        let triangles = cells.flat_map(cell).collect();
        let mesh = Shape::new(Geometry::TriMesh {
            vertices,
            triangles,
        })
        .unwrap();
        let mut world = World::default();
        for _ in 0..2000 {
            let spec = crate::world::BodySpec {
                kind: BodyKind::Fixed,
                shape: Some(mesh.clone()),
                ..Default::default()
            };
            world.add_body(spec).unwrap();
        }
        let bytes = world.to_bytes();
        assert!(bytes.len() < 1_500_000, "{} bytes", bytes.len());
        let read = World::from_bytes(&bytes).unwrap();
        let of =
            |slot: usize| Arc::as_ptr(read.bodies.shape[slot].as_ref().unwrap().shared_geometry());
        assert!((1..2000).all(|slot| of(slot) == of(0)));
    }
}
