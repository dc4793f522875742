//! Snapshots: all that the next step reads, in memory and as a checked file; and the state hash.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::body::OwnMass;
use super::joint::{JointKind, RowMemory, WORLD};
use super::manifolds::Manifolds;
use super::{
    Bodies, BodyKind, ContactMemory, Drive, Geometry, Groups, Joint, Material, Settings, Shape,
    World,
};
use crate::math::{Pose, Quat, SymMat3, Twist, Vec3};

const MAGIC: &[u8; 8] = b"MOREAUSN";
/// Version of the snapshot format; another one is refused.
pub const SNAPSHOT_VERSION: u32 = 6;
const HEADER: usize = 8 + 4 + 8 + 8;

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It does not begin like a snapshot.
    #[error("this is not a Moreau snapshot")]
    NotASnapshot,
    /// Another version wrote it.
    #[error("the snapshot has version {found}, this program reads version {SNAPSHOT_VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The checksum does not fit, or the data ends early.
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
}

/// The serialised form of a world. Shapes are stored once, however many bodies share them.
#[derive(Serialize, Deserialize)]
struct Stored {
    settings: Settings,
    materials: Vec<Material>,
    time: f64,
    step_index: u64,
    memory: Vec<ContactMemory>,
    manifolds: Manifolds,
    joints: Vec<Joint>,
    drives: Vec<Drive>,
    joint_memory: Vec<RowMemory>,
    contact_stiffness: Vec<(u32, SymMat3)>,
    geometries: Vec<Geometry>,
    bodies: Vec<StoredBody>,
    free: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct StoredBody {
    position: Vec3,
    rotation: Quat,
    velocity: Twist,
    force: Twist,
    own_mass: OwnMass,
    kind: BodyKind,
    shape: Option<u32>,
    shape_offset: Pose,
    material: u16,
    groups: Groups,
    name: String,
    color: Option<[f32; 3]>,
    generation: u32,
    alive: bool,
}

/// Puts a header in front of data: magic, version, length, checksum.
pub(crate) fn to_file(magic: &[u8; 8], data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + data.len());
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&SNAPSHOT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(data).to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// Checks the header that [`to_file`] wrote, and returns the data behind it.
pub(crate) fn from_file<'a>(magic: &[u8; 8], bytes: &'a [u8]) -> Result<&'a [u8], SnapshotError> {
    if bytes.len() < HEADER || &bytes[..8] != magic {
        return Err(SnapshotError::NotASnapshot);
    }
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let found = u32::from_le_bytes(bytes[8..12].try_into().expect("4 bytes"));
    if found != SNAPSHOT_VERSION {
        return Err(SnapshotError::Version { found });
    }
    let data = &bytes[HEADER..];
    if data.len() as u64 != word(12) {
        return Err(SnapshotError::Damaged(format!(
            "{} bytes of data where {} were written",
            data.len(),
            word(12)
        )));
    }
    if xxh3_64(data) != word(20) {
        return Err(SnapshotError::Damaged("the checksum differs".into()));
    }
    Ok(data)
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

    /// Writes the world as bytes: magic, version, length, checksum, data. What a solver carries from
    /// step to step is not the world's: see [`Snapshot::to_bytes`](crate::step::Snapshot::to_bytes).
    pub fn to_bytes(&self) -> Vec<u8> {
        let b = &self.bodies;
        let mut table: HashMap<*const Geometry, u32> = HashMap::new();
        let mut geometries = Vec::new();
        let bodies = (0..b.slots())
            .map(|slot| StoredBody {
                position: b.position[slot],
                rotation: b.rotation[slot],
                velocity: b.velocity[slot],
                force: b.force[slot],
                own_mass: b.own_mass[slot],
                kind: b.kind[slot],
                shape: b.shape[slot].as_ref().map(|shape| {
                    *table
                        .entry(Arc::as_ptr(shape.shared_geometry()))
                        .or_insert_with(|| {
                            geometries.push(shape.geometry().clone());
                            geometries.len() as u32 - 1
                        })
                }),
                shape_offset: b.shape_offset[slot],
                material: b.material[slot],
                groups: b.groups[slot],
                name: b.name[slot].clone(),
                color: b.color[slot],
                generation: b.generation[slot],
                alive: b.alive[slot],
            })
            .collect();
        let stored = Stored {
            settings: self.settings,
            materials: self.materials.clone(),
            time: self.time,
            step_index: self.step_index,
            memory: self.memory.clone(),
            manifolds: self.manifolds.clone(),
            joints: self.joints.clone(),
            drives: self.drives.clone(),
            joint_memory: self.joint_memory.clone(),
            contact_stiffness: self.contact_stiffness.clone(),
            geometries,
            bodies,
            free: b.free.clone(),
        };
        let data = postcard::to_allocvec(&stored).expect("plain data always serialises");
        to_file(MAGIC, &data)
    }

    /// Reads a world written by [`World::to_bytes`].
    ///
    /// # Errors
    /// Bytes of another kind or version, or damaged ones.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let data = from_file(MAGIC, bytes)?;
        let damaged = |e: &dyn std::fmt::Display| SnapshotError::Damaged(e.to_string());
        let stored: Stored = postcard::from_bytes(data).map_err(|e| damaged(&e))?;
        let shapes = stored
            .geometries
            .into_iter()
            .map(Shape::new)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| damaged(&e))?;
        let mut bodies = Bodies {
            free: stored.free,
            ..Bodies::default()
        };
        for body in stored.bodies {
            let shape = match body.shape {
                None => None,
                Some(k) => Some(
                    shapes
                        .get(k as usize)
                        .ok_or_else(|| damaged(&"a body names a shape that is not there"))?
                        .clone(),
                ),
            };
            bodies.position.push(body.position);
            bodies.rotation.push(body.rotation);
            bodies.velocity.push(body.velocity);
            bodies.force.push(body.force);
            bodies.own_mass.push(body.own_mass);
            bodies.inverse_mass.push(0.0);
            bodies.inertia.push(SymMat3::ZERO);
            bodies.inverse_inertia.push(SymMat3::ZERO);
            bodies.kind.push(body.kind);
            bodies.shape.push(shape);
            bodies.shape_offset.push(body.shape_offset);
            bodies.material.push(body.material);
            bodies.groups.push(body.groups);
            bodies.name.push(body.name);
            bodies.color.push(body.color);
            bodies.generation.push(body.generation);
            bodies.alive.push(body.alive);
            bodies.set_kind(bodies.slots() - 1, body.kind);
        }
        let mut world = Self {
            bodies,
            materials: stored.materials,
            settings: stored.settings,
            time: stored.time,
            step_index: stored.step_index,
            memory: stored.memory,
            manifolds: stored.manifolds,
            joints: stored.joints,
            drives: stored.drives,
            joint_memory: stored.joint_memory,
            contact_stiffness: stored.contact_stiffness,
            joined: Vec::new(),
            revision: 0,
        };
        world.find_joined();
        let slots = world.bodies.slots();
        let in_range = |slot: &u32| (*slot as usize) < slots;
        let named = world.memory.iter().flat_map(|m| &m.bodies);
        let joined = world.joints.iter().flat_map(|j| &j.bodies);
        let stiff = world.contact_stiffness.iter().map(|(slot, _)| slot);
        let named = named.chain(joined.filter(|b| **b != WORLD)).chain(stiff);
        if !world.bodies.free.iter().chain(named).all(in_range) {
            return Err(damaged(&"it names a body that is not there"));
        }
        let joints = world.joints.len();
        let geared = world.joints.iter().enumerate().all(|(k, j)| match &j.kind {
            JointKind::Gear(terms) => terms.iter().all(|t| (t.joint as usize) < k && t.axis < 6),
            _ => true,
        });
        let driven = world.drives.iter().flat_map(|d| &d.motors);
        let remembered = world.joint_memory.iter().map(|m| m.joint);
        if !geared
            || !remembered
                .chain(driven.map(|m| m.joint))
                .all(|k| (k as usize) < joints)
        {
            return Err(damaged(&"it names a joint that is not there"));
        }
        if !world.manifolds.is_sound() {
            return Err(damaged(&"it names a contact point that is not there"));
        }
        match world.problem() {
            Some(problem) => Err(damaged(&problem)),
            None => Ok(world),
        }
    }
}
