//! Snapshots: all that the next step reads, in memory and as a checked file; and the state hash.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::Xxh3;

use super::joint::{JointKind, WORLD};
use super::{Bodies, Geometry, Shape, World};
use crate::file::{FileError, FileKind};

/// A world as a file.
const KIND: FileKind = FileKind {
    name: "snapshot",
    magic: b"MOREAUSN",
    version: SNAPSHOT_VERSION,
};
/// Version of the snapshot format; another one is refused.
pub const SNAPSHOT_VERSION: u32 = 8;

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
        add(&[self.time]);
        let b = &self.bodies;
        for slot in b.iter() {
            add(b.position[slot].as_slice());
            add(b.rotation[slot].coords.as_slice());
            add(b.velocity[slot].linear.as_slice());
            add(b.velocity[slot].angular.as_slice());
        }
        for m in &self.memory {
            // Couples count by their size: most contacts have none.
            add(&[m.normal, m.couple.norm()]);
            add(m.friction.as_slice());
        }
        for joint in &self.joints {
            add(&joint.angles);
            add(joint.force.as_slice());
        }
        for m in &self.joint_memory {
            add(&[m.impulse]);
        }
        for (_, k) in &self.contact_stiffness {
            add(&[k.xx, k.xy, k.xz, k.yy, k.yz, k.zz]);
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
            + list(&m.of_pair)
            + list(&m.point)
            + list(&self.joints)
            + list(&self.joint_memory)
            + list(&self.contact_stiffness)
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
    /// Bytes of another kind or version, or damaged ones.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let mut world: Self = KIND.read(bytes)?;
        world.check_references()?;
        world.bodies.restore_masses();
        world.check().map_err(|e| KIND.damaged(e))?;
        world.find_joined();
        Ok(world)
    }

    /// Whether everything that the world names is there.
    fn check_references(&self) -> Result<(), FileError> {
        let there = |is_there: bool, what: &str| {
            let error = || KIND.damaged(format!("it names a {what} that is not there"));
            is_there.then_some(()).ok_or_else(error)
        };
        there(self.bodies.is_sound(), "body")?;
        let slots = self.bodies.slots();
        let named = self.memory.iter().flat_map(|m| &m.bodies);
        let joined = self.joints.iter().flat_map(|j| &j.bodies);
        let stiff = self.contact_stiffness.iter().map(|(slot, _)| slot);
        let named = named.chain(joined.filter(|b| **b != WORLD)).chain(stiff);
        let mut named = named.chain(&self.bodies.free);
        there(named.all(|slot| (*slot as usize) < slots), "body")?;

        let joints = self.joints.len();
        let geared = self.joints.iter().enumerate().all(|(k, j)| match &j.kind {
            JointKind::Gear(terms) => terms.iter().all(|t| (t.joint as usize) < k && t.axis < 6),
            _ => true,
        });
        let driven = self.drives.iter().flat_map(|d| &d.motors);
        let driven = driven.map(|m| m.joint);
        let mut named = self.joint_memory.iter().map(|m| m.joint).chain(driven);
        there(geared && named.all(|k| (k as usize) < joints), "joint")?;
        there(self.manifolds.is_sound(), "contact point")
    }
}
