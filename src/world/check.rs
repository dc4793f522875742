//! Whether a world can be stepped: its fields are public, and a step must not break whatever they were set to.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::joint::{Joint, JointKind, WORLD, check_gear};
use super::{Bodies, BodyKind, Geometry, WORLD_LIMIT, World};
use crate::check::{Invalid, LARGEST, demand, finite};
use crate::math::{Pose, Quat, Vec3};

/// Most steps that a world has taken: a run that goes on cannot count beyond `u64`.
const MOST_STEPS: u64 = u64::MAX / 2;
/// How far the square of a quaternion's length may be from 1 (-): a step keeps it within a few last digits, and a file
/// rounds nothing.
const SKEW: f64 = 1e-6;
/// How far a joint may be from the centre of its body (m): both are within the world, whose corners are so far apart.
const FARTHEST: f64 = 4.0 * WORLD_LIMIT;
/// Bodies that are looked at in one go.
const CHUNK: usize = 4096;

impl World {
    /// Checks settings, materials, joints, drives, bodies and what they refer to. A step does so first, so that a
    /// world that was changed by hand cannot break the engine. Where bodies are and how fast they move is looked at apart:
    /// a step says of those that they are out of bounds.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn check(&self) -> Result<(), Invalid> {
        self.settings.check().map_err(|e| e.inside("settings"))?;
        finite("time", [&self.time])?;
        let steps = self.step_index;
        let expected = "far from overflowing";
        demand(steps <= MOST_STEPS, "step_index", expected, steps)?;
        let materials = self.materials.len();
        demand(materials > 0, "materials", "one or more", materials)?;
        for (k, material) in self.materials.iter().enumerate() {
            material
                .check()
                .map_err(|e| e.inside(k).inside("materials"))?;
        }
        self.check_bodies()?;
        for (k, joint) in self.joints.iter().enumerate() {
            joint
                .check()
                .and_then(|()| self.check_joint(k))
                .map_err(|e| e.inside(joint.label(k)))?;
        }
        for drive in &self.drives {
            let label = format_args!("drive \"{}\"", drive.name);
            drive
                .check()
                .and_then(|()| drive.check_motors(self.joints.len()))
                .map_err(|e| e.inside(label))?;
        }
        Ok(())
    }

    fn check_bodies(&self) -> Result<(), Invalid> {
        let b = &self.bodies;
        let expected = "arrays with one entry for each slot";
        let found = format_args!("{} positions beside arrays of another length", b.slots());
        demand(b.is_sound(), "bodies", expected, found)?;
        let wrong = |slot: usize| {
            let checked = self.check_body(slot);
            checked.map_err(|e| e.inside(b.label(slot))).err()
        };
        let slots = (0..b.slots()).into_par_iter().with_min_len(CHUNK);
        match slots.filter_map(wrong).find_first(|_| true) {
            Some(invalid) => Err(invalid),
            None => Ok(()),
        }
    }

    fn check_body(&self, slot: usize) -> Result<(), Invalid> {
        let b = &self.bodies;
        if !b.is_alive(slot) {
            let is_empty = b.kind[slot] == BodyKind::Fixed && b.shape[slot].is_none();
            return demand(
                is_empty,
                "slot",
                "without a body",
                "one with a shape or kind",
            );
        }
        check_turn("rotation", &b.rotation[slot])?;
        near("shape_offset", &b.shape_offset[slot])?;
        let force = b.force(slot);
        finite("force", force.linear.iter().chain(force.angular.iter()))?;
        let is_color = b.color[slot].iter().flatten().all(|c| c.is_finite());
        demand(is_color, "color", "finite", "what is no number")?;
        self.check_material(b.material[slot])?;
        let m = b.inverse_mass[slot];
        let is_fine = b.is_mass_calculable(slot);
        let expected = "positive and finite, with an inertia that is positive definite and not 1e14 times \
                        smaller about one axis than about another, or nothing at all";
        demand(is_fine, "inverse mass", expected, m)?;
        let has_mass = !b.is_dynamic(slot) || m > 0.0;
        demand(has_mass, "mass", "positive for a dynamic body", 0)?;
        let Some(shape) = &b.shape[slot] else {
            return Ok(());
        };
        let is_solid = shape.is_solid() || b.kind[slot] != BodyKind::Dynamic;
        let what = "a mesh, a height field or a half-space";
        demand(is_solid, "shape", "solid where the body is dynamic", what)?;
        let radius = shape.bounding_radius();
        let is_infinite = matches!(shape.geometry(), Geometry::HalfSpace { .. });
        let expected = "within 1e40 m of its origin";
        demand(is_infinite || radius <= LARGEST, "shape", expected, radius)
    }

    pub(super) fn check_material(&self, material: u16) -> Result<(), Invalid> {
        let exists = usize::from(material) < self.materials.len();
        demand(exists, "material", "the index of a material", material)
    }

    /// Whether what a joint refers to is there.
    fn check_joint(&self, index: usize) -> Result<(), Invalid> {
        let joint: &Joint = &self.joints[index];
        let bodies = joint.bodies;
        let mut named = bodies.iter().filter(|b| **b != WORLD);
        let missing = named.find(|b| !self.bodies.is_alive(**b as usize));
        let found = missing.copied().unwrap_or_default();
        demand(missing.is_none(), "bodies", "slots of bodies", found)?;
        match &joint.kind {
            JointKind::Gear(terms) => {
                let checked = check_gear(terms, &self.joints[..index]);
                checked.map_err(|e| Invalid::new("terms", "those of a gear", e))?;
            }
            _ => demand(bodies[0] != bodies[1], "bodies", "two bodies", "one twice")?,
        }
        let mut frames = joint.frames.iter();
        frames.try_for_each(|pose| check_pose("frames", pose))?;
        finite("gear_offset", [&joint.gear_offset])
    }
}

/// How much larger one principal moment of inertia may be than another (-), roughly: turning the inertia rounds it by some
/// 1e-16 of the largest, of which the smallest must be left. A wire of 1 mm across and 1 km long has 7e11.
const MOST_UNEQUAL: f64 = 1e14;

impl Bodies {
    /// Whether a step can calculate with what a body weighs.
    pub(crate) fn is_mass_calculable(&self, slot: usize) -> bool {
        let (m, i) = (self.inverse_mass[slot], &self.inertia[slot]);
        let within = |x: f64| x.abs() <= LARGEST;
        let numbers = [m, i.xx, i.xy, i.xz, i.yy, i.yz, i.zz];
        if !numbers.into_iter().all(within) {
            return false;
        }
        // A body without mass has no inertia either.
        let is_positive = |x: f64| x > 0.0 && within(x);
        let is_usable = || {
            i.inverse().is_some_and(|inverse| {
                let [moments, inverses] = [i, &inverse].map(|m| [m.xx, m.yy, m.zz]);
                inverses.into_iter().all(is_positive)
                    && moments.iter().sum::<f64>() * inverses.iter().sum::<f64>() <= MOST_UNEQUAL
            })
        };
        m == 0.0 || is_positive(m) && within(1.0 / m) && is_usable()
    }
}

fn near(field: &str, place: &Vec3) -> Result<(), Invalid> {
    // Written so that a NaN is found.
    let is_fine = place.iter().all(|x| x.abs() <= FARTHEST);
    let found = format_args!("{:e} {:e} {:e}", place.x, place.y, place.z);
    demand(is_fine, field, "within ±4e8 m", found)
}

fn check_turn(field: &str, rotation: &Quat) -> Result<(), Invalid> {
    let norm = rotation.coords.norm_squared();
    let is_turn = (norm - 1.0).abs() <= SKEW;
    demand(is_turn, field, "a quaternion of length 1", norm.sqrt())
}

fn check_pose(field: &str, pose: &Pose) -> Result<(), Invalid> {
    near(field, &pose.position)?;
    check_turn(field, &pose.rotation)
}
