//! Usual bodies in a call each; [`World::add_body`] adds any other.

use super::{BodyError, BodyId, BodyKind, BodySpec, Geometry, Shape, World};
use crate::math::{Pose, Twist, Vec3};

impl World {
    /// Adds the ground: everything below y = 0, fixed.
    ///
    /// # Errors
    /// See [`BodyError`].
    pub fn add_ground(&mut self) -> Result<BodyId, BodyError> {
        self.add_fixed(Geometry::HalfSpace { normal: Vec3::y() }, Vec3::zeros())
    }

    /// Adds a shape that stays where it is, with the origin of its frame at `position` (m).
    ///
    /// # Errors
    /// See [`BodyError`]; nothing is added then.
    pub fn add_fixed(
        &mut self,
        geometry: Geometry,
        position: impl Into<Vec3>,
    ) -> Result<BodyId, BodyError> {
        self.add_usual(BodyKind::Fixed, geometry, position.into())
    }

    /// Adds a ball of a radius (m) that falls, with its centre at `position` (m). Its mass follows from the density of
    /// the first material.
    ///
    /// # Errors
    /// See [`BodyError`]; nothing is added then.
    pub fn add_ball(
        &mut self,
        radius: f64,
        position: impl Into<Vec3>,
    ) -> Result<BodyId, BodyError> {
        let geometry = Geometry::Ball { radius };
        self.add_usual(BodyKind::Dynamic, geometry, position.into())
    }

    /// Adds a box of half the lengths of its edges (m) that falls, with its centre at `position` (m). Its mass follows
    /// from the density of the first material.
    ///
    /// # Errors
    /// See [`BodyError`]; nothing is added then.
    pub fn add_box(
        &mut self,
        half_extents: impl Into<Vec3>,
        position: impl Into<Vec3>,
    ) -> Result<BodyId, BodyError> {
        let half_extents = half_extents.into();
        let geometry = Geometry::Cuboid { half_extents };
        self.add_usual(BodyKind::Dynamic, geometry, position.into())
    }

    fn add_usual(
        &mut self,
        kind: BodyKind,
        geometry: Geometry,
        position: Vec3,
    ) -> Result<BodyId, BodyError> {
        self.add_body(BodySpec {
            kind,
            pose: Pose {
                position,
                ..Pose::default()
            },
            shape: Some(Shape::new(geometry)?),
            ..BodySpec::default()
        })
    }

    /// Where the frame of a body's shape is, as [`BodySpec::pose`] has it; none of a body that was removed.
    pub fn pose(&self, id: BodyId) -> Option<Pose> {
        let slot = self.bodies.slot(id)?;
        Some(self.bodies.shape_pose(slot))
    }

    /// The velocity of a body's centre of mass, and its angular velocity, world frame (m/s, rad/s); none of a body that
    /// was removed.
    pub fn velocity(&self, id: BodyId) -> Option<Twist> {
        let slot = self.bodies.slot(id)?;
        Some(self.bodies.velocity[slot])
    }
}
