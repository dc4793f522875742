//! Changes of a world that somebody makes by hand: bodies that come and go, and what they are.

use serde::{Deserialize, Serialize};

use super::{
    BodyError, BodyId, BodyKind, BodySpec, Geometry, Shape, ShapeError, WORLD_LIMIT, World,
};
use crate::check::{Invalid, demand, finite};
use crate::math::{Pose, Quat, SHORTEST, Vec3};

/// Largest mass (kg), length (m) and coefficient of friction (-) that an edit can ask for, as in scene files.
const LARGEST: f64 = 1e9;

/// One change. Bodies are named by their slot, which is their place in the scene unless bodies were removed,
/// and by how often it had been used before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Edit {
    /// Adds a body of the default material, at rest.
    Add {
        /// Its shape, a solid one.
        shape: Geometry,
        /// Where the shape's origin is (m).
        position: Vec3,
    },
    /// Removes a body, and the joints that hold it.
    Remove {
        /// The body.
        body: BodyId,
    },
    /// Gives a body another mass; its inertia grows with it.
    Mass {
        /// The body.
        body: BodyId,
        /// Its mass (kg).
        mass: f64,
    },
    /// Gives a body, and no other one of its material, another coefficient of friction.
    Friction {
        /// The body.
        body: BodyId,
        /// The coefficient (-).
        friction: f64,
    },
    /// Gives a body another shape. It stays where it is and keeps its mass, which then fills the new shape
    /// evenly.
    Shape {
        /// The body.
        body: BodyId,
        /// The shape.
        shape: Geometry,
    },
    /// Makes a body a part of a group that the solver "hybrid" keeps together, or of none.
    Part {
        /// The body.
        body: BodyId,
        /// The group's number; 0 leaves the choice to the solver.
        part: u32,
    },
}

/// Why a world cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A number that cannot be used.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The body, which may be gone.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There is no room for another material.
    #[error("a world has at most {} materials", u16::MAX)]
    TooManyMaterials,
}

impl World {
    /// Changes the world.
    ///
    /// # Errors
    /// A body that is gone, or what it cannot be. Nothing has changed then.
    pub fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        match edit {
            Edit::Add { shape, position } => {
                let placed = position.iter().all(|x| x.abs() <= WORLD_LIMIT);
                let expected = format!("within ±{WORLD_LIMIT:e} m");
                demand(
                    placed,
                    "position",
                    &expected,
                    format!("{:?}", position.as_slice()),
                )?;
                self.add_body(BodySpec {
                    pose: Pose::new(*position, Quat::identity()),
                    shape: Some(sized(shape)?),
                    ..BodySpec::default()
                })?;
            }
            Edit::Remove { body } => {
                self.slot_of(*body)?;
                self.remove_body(*body);
            }
            Edit::Mass { body, mass } => self.set_mass(*body, *mass)?,
            Edit::Friction { body, friction } => self.set_friction(*body, *friction)?,
            Edit::Shape { body, shape } => self.set_shape(*body, shape)?,
            Edit::Part { body, part } => {
                let slot = self.slot_of(*body)?;
                self.bodies.part[slot] = *part;
            }
        }
        self.revision += 1;
        Ok(())
    }

    fn slot_of(&self, body: BodyId) -> Result<usize, BodyError> {
        self.bodies.slot(body).ok_or(BodyError::Removed)
    }

    fn set_mass(&mut self, body: BodyId, mass: f64) -> Result<(), EditError> {
        let slot = self.slot_of(body)?;
        let kind = self.bodies.kind[slot];
        let is_dynamic = kind == BodyKind::Dynamic;
        demand(
            is_dynamic,
            "mass",
            "that of a body that forces move",
            format!("a {kind:?} body"),
        )?;
        in_range("mass", mass)?;
        let own = mass * self.bodies.inverse_mass[slot];
        let inertia = self.bodies.inertia[slot].scaled(own);
        self.bodies.set_own_mass(slot, mass, inertia)?;
        Ok(())
    }

    fn set_friction(&mut self, body: BodyId, friction: f64) -> Result<(), EditError> {
        let slot = self.slot_of(body)?;
        finite("friction", [&friction])?;
        let is_fine = (0.0..=LARGEST).contains(&friction);
        demand(is_fine, "friction", "from 0 to 1e9", friction)?;
        let mut material = self.materials[usize::from(self.bodies.material[slot])];
        material.friction = friction;
        let there = self.materials.iter().position(|m| *m == material);
        let index = there.unwrap_or(self.materials.len());
        let index = u16::try_from(index).map_err(|_| EditError::TooManyMaterials)?;
        if there.is_none() {
            self.materials.push(material);
        }
        self.bodies.material[slot] = index;
        Ok(())
    }

    fn set_shape(&mut self, body: BodyId, geometry: &Geometry) -> Result<(), EditError> {
        let slot = self.slot_of(body)?;
        let shape = sized(geometry)?;
        let b = &mut self.bodies;
        let pose = b.shape_pose(slot);
        let mut center = Vec3::zeros();
        if b.inverse_mass[slot] > 0.0 {
            if !shape.is_solid() {
                return Err(BodyError::NotSolid.into());
            }
            let unit = shape.mass_properties(1.0);
            let mass = 1.0 / b.inverse_mass[slot];
            let inertia = unit.inertia.scaled(mass / unit.mass);
            b.set_own_mass(slot, mass, inertia)?;
            center = unit.center;
        }
        b.position[slot] = pose.transform_point(center);
        b.shape_offset[slot] = -center;
        b.shape[slot] = Some(shape);
        // What its old surface touched says nothing about the new one.
        self.forget_contacts(body.slot);
        Ok(())
    }
}

/// A shape whose size the engine can work with.
fn sized(geometry: &Geometry) -> Result<Shape, EditError> {
    let shape = Shape::new(geometry.clone())?;
    if shape.is_solid() {
        let half = shape.parry().compute_local_aabb().half_extents();
        in_range("the size of the shape", half.min_element())?;
        in_range("the size of the shape", half.max_element())?;
    }
    Ok(shape)
}

fn in_range(field: &str, value: f64) -> Result<(), Invalid> {
    let is_fine = (SHORTEST..=LARGEST).contains(&value);
    demand(is_fine, field, "from 1e-9 to 1e9", value)
}
