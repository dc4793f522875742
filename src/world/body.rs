//! The bodies, as a struct of arrays addressed by slot; slots are reused, ids are not.

use serde::{Deserialize, Serialize};

use super::shape::{Shape, ShapeError};
use crate::check::{Invalid, demand, finite};
use crate::math::{Pose, Quat, SymMat3, Twist, Vec3};

/// What moves a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyKind {
    /// Forces and contacts.
    #[default]
    Dynamic,
    /// Its own prescribed velocity; nothing pushes it.
    Kinematic,
    /// Nothing.
    Fixed,
}

/// A stable name of a body: its slot and how often the slot had been used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyId {
    /// Index into every array of [`Bodies`].
    pub slot: u32,
    /// Which use of the slot this is.
    #[serde(default)]
    pub generation: u32,
}

impl BodyId {
    /// The slot as an index.
    pub fn index(self) -> usize {
        self.slot as usize
    }
}

/// Which bodies collide: two do when each one's `filter` holds a bit of the other's `memberships`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Groups {
    /// The groups the body is in.
    pub memberships: u32,
    /// The groups it collides with.
    pub filter: u32,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            memberships: u32::MAX,
            filter: u32::MAX,
        }
    }
}

impl Groups {
    /// Whether two bodies of these groups may touch.
    pub fn collide(self, other: Groups) -> bool {
        self.memberships & other.filter != 0 && other.memberships & self.filter != 0
    }
}

/// Everything needed to add a body.
#[derive(Clone, Debug, Default)]
pub struct BodySpec {
    /// Name for messages and the viewer; may be empty.
    pub name: String,
    /// Fixed, kinematic or dynamic.
    pub kind: BodyKind,
    /// Pose of the shape's frame (not of the centre of mass).
    pub pose: Pose,
    /// Velocity of the centre of mass (m/s).
    pub linear_velocity: Vec3,
    /// Angular velocity, world frame (rad/s).
    pub angular_velocity: Vec3,
    /// The collision shape; a body without one only takes part in joints.
    pub shape: Option<Shape>,
    /// Mass (kg); `None` takes it from the shape and the density.
    pub mass: Option<f64>,
    /// Density (kg/m³), where `mass` is `None`; `None` takes that of the material.
    pub density: Option<f64>,
    /// Inertia about the centre of mass, shape axes (kg m²); `None` takes it from the shape.
    pub inertia: Option<SymMat3>,
    /// Index into [`super::World::materials`].
    pub material: u16,
    /// Collision groups.
    pub groups: Groups,
    /// Number of the part of a machine that it belongs to, which the solver "hybrid" keeps together, lower ones first; 0
    /// lets it choose.
    pub part: u32,
    /// Colour for drawing, linear RGB; `None` lets the viewer choose.
    pub color: Option<[f32; 3]>,
}

/// Why a body cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// A number that cannot be used, or a material that is not there.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A geometry that makes no shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The inertia of a dynamic body.
    #[error(
        "the inertia of a dynamic body must be positive definite and obey the triangle inequality"
    )]
    BadInertia,
    /// A mesh, height field or half-space cannot be dynamic.
    #[error("a dynamic body needs a solid shape: a mesh, height field or half-space is not")]
    NotSolid,
    /// A dynamic body needs mass and inertia from somewhere.
    #[error("a dynamic body without a shape needs both a mass and an inertia")]
    NoShape,
    /// The body was removed.
    #[error("the body was removed")]
    Removed,
}

/// All bodies, one array per quantity. A slot without a body is `Fixed`, has no shape and is not
/// `alive`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bodies {
    /// Position of the centre of mass (m).
    pub position: Vec<Vec3>,
    /// Orientation, body to world.
    pub rotation: Vec<Quat>,
    /// Velocity of the centre of mass and angular velocity (m/s, rad/s).
    pub velocity: Vec<Twist>,
    /// External forces; empty where there never was one.
    pub(crate) force: Vec<Twist>,
    /// 1/m of what the body weighs whenever it is dynamic (1/kg); zero where it has no mass.
    pub inverse_mass: Vec<f64>,
    /// Its inertia in its own frame (kg m²); zero where it has no mass.
    pub inertia: Vec<SymMat3>,
    /// What moves the body.
    pub kind: Vec<BodyKind>,
    /// The collision shape.
    #[serde(with = "super::snapshot::shapes")]
    pub shape: Vec<Option<Shape>>,
    /// Origin of the shape's frame, whose axes are the body's, seen from the centre of mass (m).
    pub shape_offset: Vec<Vec3>,
    /// Index into the materials.
    pub material: Vec<u16>,
    /// Collision groups.
    pub groups: Vec<Groups>,
    /// Numbers of parts, or 0.
    pub part: Vec<u32>,
    /// Names, may be empty.
    pub name: Vec<String>,
    /// Drawing colours.
    pub color: Vec<Option<[f32; 3]>>,
    pub(crate) generation: Vec<u32>,
    pub(crate) alive: Vec<bool>,
    pub(crate) free: Vec<u32>,
}

impl Bodies {
    /// Memory per slot, over all arrays (bytes).
    pub(super) const BYTES_PER_SLOT: usize = {
        let moving = size_of::<Vec3>() + size_of::<Quat>() + size_of::<Twist>();
        let masses = size_of::<f64>() + size_of::<SymMat3>();
        let shape =
            size_of::<Option<Shape>>() + size_of::<Vec3>() + size_of::<Groups>() + size_of::<u32>();
        let looks = size_of::<String>() + size_of::<Option<[f32; 3]>>() + size_of::<BodyKind>();
        let kept = size_of::<u16>() + size_of::<u32>() + size_of::<bool>();
        moving + masses + shape + looks + kept
    };

    /// Number of slots, empty ones included: the length of every array.
    pub fn slots(&self) -> usize {
        self.position.len()
    }

    /// The bounding radius of each slot's shape (m); 0 where there is none, or no shape.
    pub fn reach(&self) -> Vec<f64> {
        let radius = |shape: &Option<Shape>| shape.as_ref().map(Shape::bounding_radius);
        let finite = |radius: Option<f64>| radius.filter(|r| r.is_finite()).unwrap_or(0.0);
        self.shape
            .iter()
            .map(|shape| finite(radius(shape)))
            .collect()
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.slots() - self.free.len()
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a slot holds a body.
    pub fn is_alive(&self, slot: usize) -> bool {
        self.alive.get(slot).copied().unwrap_or(false)
    }

    /// Whether forces move the body.
    pub fn is_dynamic(&self, slot: usize) -> bool {
        self.kind[slot] == BodyKind::Dynamic && self.alive[slot]
    }

    /// The id of the body in a slot.
    pub fn id(&self, slot: usize) -> Option<BodyId> {
        self.is_alive(slot).then(|| BodyId {
            slot: slot as u32,
            generation: self.generation[slot],
        })
    }

    /// The slot of a body, unless it was removed.
    pub fn slot(&self, id: BodyId) -> Option<usize> {
        let slot = id.index();
        (self.is_alive(slot) && self.generation[slot] == id.generation).then_some(slot)
    }

    /// The occupied slots in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots()).filter(|slot| self.alive[*slot])
    }

    /// Pose of the centre of mass.
    pub fn pose(&self, slot: usize) -> Pose {
        Pose::new(self.position[slot], self.rotation[slot])
    }

    /// Pose of the shape's frame.
    pub fn shape_pose(&self, slot: usize) -> Pose {
        let (pose, offset) = (self.pose(slot), &self.shape_offset[slot]);
        match *offset == Vec3::zeros() {
            true => pose,
            false => Pose::new(pose.transform_point(*offset), pose.rotation),
        }
    }

    /// External force and torque on a body, which act until changed (N, N m); gravity is not among them.
    pub fn force(&self, slot: usize) -> Twist {
        self.force.get(slot).copied().unwrap_or(Twist::ZERO)
    }

    /// Changes them.
    pub fn set_force(&mut self, slot: usize, force: Twist) {
        if self.force.is_empty() && force != Twist::ZERO {
            self.force.resize(self.slots(), Twist::ZERO);
        }
        if let Some(own) = self.force.get_mut(slot) {
            *own = force;
        }
    }

    /// How to call a body in a message.
    pub fn label(&self, slot: usize) -> String {
        match self.name.get(slot).map(String::as_str) {
            None | Some("") => format!("body {slot}"),
            Some(name) => format!("body {slot} \"{name}\""),
        }
    }

    /// Kinetic energy of all dynamic bodies (J).
    pub fn kinetic_energy(&self) -> f64 {
        self.iter()
            .filter(|slot| self.is_dynamic(*slot))
            .map(|slot| self.kinetic_energy_of(slot))
            .sum()
    }

    /// Kinetic energy of the dynamic body in a slot (J).
    pub fn kinetic_energy_of(&self, slot: usize) -> f64 {
        self.kinetic_energy_at(slot, &self.velocity[slot])
    }

    /// What it would be with another velocity (J).
    pub fn kinetic_energy_at(&self, slot: usize, v: &Twist) -> f64 {
        let omega = self.rotation[slot].inverse() * v.angular;
        0.5 * (v.linear.norm_squared() / self.inverse_mass[slot]
            + omega.dot(&self.inertia[slot].mul_vec(omega)))
    }

    /// Linear momentum (kg m/s) and angular momentum about the origin (kg m²/s) of all dynamic bodies.
    pub fn momentum(&self) -> Twist {
        let mut sum = Twist::ZERO;
        for slot in self.iter().filter(|slot| self.is_dynamic(*slot)) {
            let v = self.velocity[slot];
            let p = v.linear / self.inverse_mass[slot];
            let spin = self.inertia[slot]
                .rotated(&self.rotation[slot])
                .mul_vec(v.angular);
            sum.linear += p;
            sum.angular += self.position[slot].cross(&p) + spin;
        }
        sum
    }

    /// The inverse of a body's inertia in its own frame (1/(kg m²)); zero where it has no mass.
    #[inline]
    pub fn inverse_inertia(&self, slot: usize) -> SymMat3 {
        self.inertia[slot].inverse().unwrap_or(SymMat3::ZERO)
    }

    /// Adds a body; `density` is that of its material (kg/m³).
    pub(super) fn add(&mut self, spec: BodySpec, density: f64) -> Result<BodyId, BodyError> {
        finite("position", &spec.pose.position)?;
        finite("rotation", &spec.pose.rotation.coords)?;
        finite("velocity", &spec.linear_velocity)?;
        finite("angular_velocity", &spec.angular_velocity)?;
        let (mass, center, inertia) = match mass_and_inertia(&spec, spec.density.unwrap_or(density))
        {
            Ok(usable) => usable,
            Err(error) if spec.kind == BodyKind::Dynamic => return Err(error),
            // Nothing pushes it, so that it needs no mass.
            Err(_) => (0.0, Vec3::zeros(), SymMat3::ZERO),
        };
        let rotation = Quat::new_normalize(spec.pose.rotation.into_inner());
        let pose = Pose::new(spec.pose.position, rotation);
        let velocity = Twist::new(spec.linear_velocity, spec.angular_velocity);

        let slot = self.claim_slot();
        self.position[slot] = pose.transform_point(center);
        self.rotation[slot] = rotation;
        self.velocity[slot] = velocity;
        self.set_mass(slot, mass, inertia);
        self.set_kind(slot, spec.kind);
        self.shape[slot] = spec.shape;
        self.shape_offset[slot] = -center;
        self.material[slot] = spec.material;
        self.groups[slot] = spec.groups;
        self.part[slot] = spec.part;
        self.name[slot] = spec.name;
        self.color[slot] = spec.color;
        self.alive[slot] = true;
        Ok(BodyId {
            slot: slot as u32,
            generation: self.generation[slot],
        })
    }

    /// Changes what moves the body in a slot.
    pub(super) fn set_kind(&mut self, slot: usize, kind: BodyKind) {
        self.kind[slot] = kind;
        if kind == BodyKind::Fixed {
            self.velocity[slot] = Twist::ZERO;
        }
    }

    /// Changes what the body in a slot weighs.
    ///
    /// # Errors
    /// A mass or an inertia that no body has; the old ones stay.
    pub(super) fn set_own_mass(
        &mut self,
        slot: usize,
        mass: f64,
        inertia: SymMat3,
    ) -> Result<(), BodyError> {
        let inertia = usable_inertia(mass, inertia)?;
        self.set_mass(slot, mass, inertia);
        Ok(())
    }

    fn set_mass(&mut self, slot: usize, mass: f64, inertia: SymMat3) {
        self.inverse_mass[slot] = if mass > 0.0 { 1.0 / mass } else { 0.0 };
        self.inertia[slot] = inertia;
    }

    /// Whether what a body weighs is nothing at all, or that of a body that can be dynamic.
    pub(super) fn is_mass_usable(&self, slot: usize) -> bool {
        let m = self.inverse_mass[slot];
        let i = &self.inertia[slot];
        if m == 0.0 {
            return *i == SymMat3::ZERO;
        }
        let numbers = [i.xx, i.xy, i.xz, i.yy, i.yz, i.zz];
        m > 0.0
            && m.is_finite()
            && (1.0 / m).is_finite()
            && numbers.iter().all(|x| x.is_finite())
            && is_inertia(i)
    }

    /// Whether every array has one entry per slot.
    pub(super) fn is_sound(&self) -> bool {
        let n = self.slots();
        let moving = [self.rotation.len(), self.velocity.len(), self.kind.len()];
        let masses = [self.inertia.len(), self.inverse_mass.len()];
        let shaped = [self.shape.len(), self.shape_offset.len(), self.groups.len()];
        let looks = [self.material.len(), self.color.len(), self.name.len()];
        let kept = [self.alive.len(), self.part.len(), self.generation.len()];
        [moving, shaped, looks, kept] == [[n; 3]; 4]
            && masses == [n; 2]
            && [0, n].contains(&self.force.len())
    }

    /// Whether every slot without a body is free, once, and holds nothing.
    pub(super) fn is_free_list_sound(&self) -> bool {
        let mut empty: Vec<bool> = self.alive.iter().map(|alive| !alive).collect();
        // Takes each one off the list of those that must be there.
        let mut listed = self.free.iter().map(|slot| *slot as usize);
        listed.all(|slot| empty.get_mut(slot).is_some_and(std::mem::take))
            && empty.iter().all(|missing| !missing)
            && self.free.iter().all(|slot| {
                let slot = *slot as usize;
                self.kind[slot] == BodyKind::Fixed && self.shape[slot].is_none()
            })
    }

    /// Makes room for so many bodies at once.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.position.reserve_exact(more);
        self.rotation.reserve_exact(more);
        self.velocity.reserve_exact(more);
        self.inverse_mass.reserve_exact(more);
        self.inertia.reserve_exact(more);
        self.kind.reserve_exact(more);
        self.shape.reserve_exact(more);
        self.shape_offset.reserve_exact(more);
        self.material.reserve_exact(more);
        self.groups.reserve_exact(more);
        self.part.reserve_exact(more);
        self.name.reserve_exact(more);
        self.color.reserve_exact(more);
        self.generation.reserve_exact(more);
        self.alive.reserve_exact(more);
    }

    fn claim_slot(&mut self) -> usize {
        if let Some(slot) = self.free.pop() {
            return slot as usize;
        }
        self.position.push(Vec3::zeros());
        self.rotation.push(Quat::identity());
        self.velocity.push(Twist::ZERO);
        if !self.force.is_empty() {
            self.force.push(Twist::ZERO);
        }
        self.inverse_mass.push(0.0);
        self.inertia.push(SymMat3::ZERO);
        self.kind.push(BodyKind::Fixed);
        self.shape.push(None);
        self.shape_offset.push(Vec3::zeros());
        self.material.push(0);
        self.groups.push(Groups::default());
        self.part.push(0);
        self.name.push(String::new());
        self.color.push(None);
        self.generation.push(0);
        self.alive.push(false);
        self.slots() - 1
    }

    pub(super) fn remove(&mut self, id: BodyId) -> bool {
        let Some(slot) = self.slot(id) else {
            return false;
        };
        self.velocity[slot] = Twist::ZERO;
        self.set_force(slot, Twist::ZERO);
        self.set_mass(slot, 0.0, SymMat3::ZERO);
        self.set_kind(slot, BodyKind::Fixed);
        self.shape[slot] = None;
        self.name[slot].clear();
        self.alive[slot] = false;
        self.generation[slot] = self.generation[slot].wrapping_add(1);
        self.free.push(slot as u32);
        true
    }
}

/// Mass, centre of mass in the shape's frame, and inertia of a body to be.
fn mass_and_inertia(spec: &BodySpec, density: f64) -> Result<(f64, Vec3, SymMat3), BodyError> {
    let (mass, center, inertia) = match &spec.shape {
        Some(shape) => {
            if !shape.is_solid() {
                return Err(BodyError::NotSolid);
            }
            let unit = shape.mass_properties(1.0);
            let mass = spec.mass.unwrap_or(unit.mass * density);
            let filled = unit.inertia.scaled(mass / unit.mass);
            let inertia = spec.inertia.unwrap_or(filled);
            (mass, unit.center, inertia)
        }
        None => {
            let (Some(mass), Some(inertia)) = (spec.mass, spec.inertia) else {
                return Err(BodyError::NoShape);
            };
            (mass, Vec3::zeros(), inertia)
        }
    };
    Ok((mass, center, usable_inertia(mass, inertia)?))
}

/// The inertia of a body of some mass, if there can be such a body.
fn usable_inertia(mass: f64, inertia: SymMat3) -> Result<SymMat3, BodyError> {
    // The inverse must be finite too: a mass of 1e-320 kg is a mistake, not a body.
    let is_mass = mass.is_finite() && mass > 0.0 && (1.0 / mass).is_finite();
    demand(is_mass, "mass", "positive and finite", mass)?;
    if !is_inertia(&inertia) {
        return Err(BodyError::BadInertia);
    }
    Ok(inertia)
}

/// Whether some body has this inertia, and the engine can use it.
fn is_inertia(inertia: &SymMat3) -> bool {
    let moments = inertia.to_matrix().symmetric_eigenvalues();
    let (low, high) = (moments.min(), moments.max());
    let middle = moments.sum() - low - high;
    // I₁ + I₂ ≥ I₃ for every real body; a little slack for rounding and for planar ones.
    low > 0.0
        && high.is_finite()
        && low + middle >= high * (1.0 - 1e-9)
        && inertia.inverse().is_some_and(|i| is_diagonal_usable(&i))
}

fn is_diagonal_usable(m: &SymMat3) -> bool {
    [m.xx, m.yy, m.zz].iter().all(|d| d.is_finite() && *d > 0.0)
}
