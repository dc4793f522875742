//! The world: bodies, materials, settings, and the contacts of the last step.

pub mod body;
pub mod manifolds;
pub mod material;
pub mod shape;
pub mod snapshot;

use serde::{Deserialize, Serialize};

use crate::math::{Twist, Vec3};
use crate::problem::FrictionLaw;
pub use body::{Bodies, BodyError, BodyId, BodyKind, BodySpec, Groups};
pub use material::{Anisotropy, CombineRule, ContactMaterial, Material};
pub use shape::{Geometry, MassProperties, Shape, ShapeError};

/// What keeps penetration from building up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Stabilisation {
    /// Nothing: pure Moreau.
    None,
    /// A bias velocity max(β(g + slop)/h, −max_speed) in the contact law.
    Baumgarte {
        /// Share of the error removed per step (-).
        beta: f64,
        /// Penetration that is left alone (m).
        slop: f64,
        /// Fastest push (m/s).
        max_speed: f64,
    },
    /// A separate position-level pass after the step, so that no energy enters the velocities.
    Projection {
        /// Share of the error removed per step (-).
        fraction: f64,
        /// Penetration that is left alone (m).
        slop: f64,
        /// Fastest push (m/s).
        max_speed: f64,
    },
}

impl Default for Stabilisation {
    fn default() -> Self {
        // A fifth per step hides the push; a tenth of a millimetre cannot be seen, and keeps resting
        // contacts closed so that friction and warm starts persist.
        Self::Projection {
            fraction: 0.2,
            slop: 1e-4,
            max_speed: 3.0,
        }
    }
}

/// The parameters of the time step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Acceleration of gravity (m/s²).
    pub gravity: Vec3,
    /// Length of one step (s); each substep is `step / substeps` long.
    pub step: f64,
    /// Substeps per step.
    pub substeps: u32,
    /// Gaps up to this one are contacts (m). Above zero it grows with the approach speed, so that
    /// nothing tunnels; zero is pure Moreau: only what touches at the midpoint is a contact.
    pub prediction: f64,
    /// What keeps penetration from building up.
    pub stabilisation: Stabilisation,
    /// Friction law of isotropic contacts without spin friction. Anisotropic materials always take
    /// the ellipse, and those with a spin radius Coulomb–Contensou.
    pub friction_law: FrictionLaw,
    /// Whether a step starts from the impulses of the last one.
    pub warm_start: bool,
    /// Approach speed below which restitution is ignored (m/s); zero needs no threshold, since
    /// γ_N^S is taken before gravity acts.
    pub restitution_threshold: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gravity: Vec3::new(0.0, -9.81, 0.0),
            step: 1.0 / 60.0,
            substeps: 1,
            prediction: 1e-3,
            stabilisation: Stabilisation::default(),
            friction_law: FrictionLaw::Disc,
            warm_start: true,
            restitution_threshold: 0.0,
        }
    }
}

impl Settings {
    /// Length of one substep h (s).
    pub fn substep(&self) -> f64 {
        self.step / f64::from(self.substeps.max(1))
    }

    /// The first setting that is out of range, in words.
    pub fn problem(&self) -> Option<String> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        let not_negative = |v: f64| v.is_finite() && v >= 0.0;
        if !self.gravity.iter().all(|c| c.is_finite()) {
            return Some("gravity must be finite".into());
        }
        if !positive(self.step) || self.step > 1.0 {
            return Some(format!("step must be in (0, 1] s, not {}", self.step));
        }
        if self.substeps == 0 || self.substeps > 1000 {
            return Some(format!("substeps must be 1 to 1000, not {}", self.substeps));
        }
        if !not_negative(self.prediction) {
            return Some(format!(
                "prediction must be 0 m or more, not {}",
                self.prediction
            ));
        }
        if !not_negative(self.restitution_threshold) {
            return Some("restitution_threshold must be 0 m/s or more".into());
        }
        if !self.friction_law.is_valid() {
            return Some("a pyramid needs an even number of sides from 4 to 16".into());
        }
        let (share, slop, speed) = match self.stabilisation {
            Stabilisation::None => return None,
            Stabilisation::Baumgarte {
                beta,
                slop,
                max_speed,
            } => (beta, slop, max_speed),
            Stabilisation::Projection {
                fraction,
                slop,
                max_speed,
            } => (fraction, slop, max_speed),
        };
        if !(positive(share) && share <= 1.0 && not_negative(slop) && positive(speed)) {
            return Some(
                "stabilisation needs a share in (0, 1], a slop of 0 m or more and a positive max_speed".into(),
            );
        }
        None
    }
}

/// A contact of the last step, as the next one remembers it for its warm start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactMemory {
    /// The two bodies' slots, lower first.
    pub bodies: [u32; 2],
    /// Which features touch.
    pub feature: u64,
    /// Contact point in the frame of the first body (m).
    pub local_point: Vec3,
    /// Normal impulse (N s).
    pub normal: f64,
    /// Friction impulse on the second body, world frame (N s).
    pub friction: Vec3,
    /// Spin impulse (N s).
    pub spin: f64,
}

/// Everything that the next step starts from.
#[derive(Clone, Debug)]
pub struct World {
    /// The bodies.
    pub bodies: Bodies,
    /// Surface materials; index 0 always exists.
    pub materials: Vec<Material>,
    /// Parameters of the time step.
    pub settings: Settings,
    /// Simulated time (s).
    pub time: f64,
    /// Steps taken.
    pub step_index: u64,
    /// The last step's contacts in the engine's order: by bodies, then as the narrow phase finds them.
    pub(crate) memory: Vec<ContactMemory>,
    /// The last step's manifolds of boxes.
    pub(crate) manifolds: manifolds::Manifolds,
    /// Counts changes of the set of bodies, for those who keep tables of it.
    pub(crate) revision: u64,
}

impl Default for World {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl World {
    /// An empty world with one default material.
    pub fn new(settings: Settings) -> Self {
        Self {
            bodies: Bodies::default(),
            materials: vec![Material::default()],
            settings,
            time: 0.0,
            step_index: 0,
            memory: Vec::new(),
            manifolds: manifolds::Manifolds::default(),
            revision: 0,
        }
    }

    /// Adds a body.
    ///
    /// # Errors
    /// See [`BodyError`]; nothing is added then.
    pub fn add_body(&mut self, spec: BodySpec) -> Result<BodyId, BodyError> {
        if spec.material as usize >= self.materials.len() {
            return Err(BodyError::NoMaterial(spec.material));
        }
        let id = self.bodies.add(spec)?;
        self.revision += 1;
        Ok(id)
    }

    /// Removes a body and forgets its contacts; false when it was removed before.
    pub fn remove_body(&mut self, id: BodyId) -> bool {
        if !self.bodies.remove(id) {
            return false;
        }
        self.memory.retain(|m| !m.bodies.contains(&id.slot));
        self.manifolds.forget(id.slot);
        self.revision += 1;
        true
    }

    /// Changes what moves a body. A body that becomes fixed stops.
    ///
    /// # Errors
    /// The body was removed, or it is to be dynamic and has no mass.
    pub fn set_kind(&mut self, id: BodyId, kind: BodyKind) -> Result<(), BodyError> {
        let slot = self.bodies.slot(id).ok_or(BodyError::Removed)?;
        if kind == BodyKind::Dynamic && self.bodies.own_mass[slot].inverse_mass <= 0.0 {
            return Err(BodyError::BadMass("0".into()));
        }
        self.bodies.set_kind(slot, kind);
        self.revision += 1;
        Ok(())
    }

    /// The first setting, material or reference that cannot be used, in words. A step checks it, so
    /// that a world that was changed by hand cannot break the engine.
    pub fn problem(&self) -> Option<String> {
        if let Some(problem) = self.settings.problem() {
            return Some(problem);
        }
        if let Some((k, problem)) = self
            .materials
            .iter()
            .enumerate()
            .find_map(|(k, m)| m.problem().map(|p| (k, p)))
        {
            return Some(format!("material {k}: {problem}"));
        }
        let b = &self.bodies;
        b.iter().find_map(|slot| {
            let material = b.material[slot];
            if material as usize >= self.materials.len() {
                let label = b.label(slot);
                Some(format!(
                    "{label} names material {material}, which does not exist"
                ))
            } else if b.is_dynamic(slot) && b.inverse_mass[slot] <= 0.0 {
                Some(format!("{} is dynamic but has no mass", b.label(slot)))
            } else {
                None
            }
        })
    }

    /// Potential energy of all dynamic bodies in gravity, zero at the origin (J).
    pub fn potential_energy(&self) -> f64 {
        self.bodies
            .iter()
            .filter(|slot| self.bodies.is_dynamic(*slot))
            .map(|slot| {
                -self.settings.gravity.dot(&self.bodies.position[slot])
                    / self.bodies.inverse_mass[slot]
            })
            .sum()
    }

    /// The first body that is out of bounds: farther than [`WORLD_LIMIT`] from the origin, faster
    /// than [`SPEED_LIMIT`], or not a number at all.
    pub fn first_out_of_bounds(&self) -> Option<usize> {
        let b = &self.bodies;
        b.iter().find(|slot| {
            let u = &b.velocity[*slot];
            let turned = b.rotation[*slot].coords.sum().is_finite();
            // Written so that a NaN counts as out of bounds.
            let placed = b.position[*slot].iter().all(|x| x.abs() <= WORLD_LIMIT);
            !(placed && turned && is_speed_usable(u))
        })
    }
}

/// Farthest place from the origin, along each axis (m): beyond it `f64` no longer resolves contacts.
pub const WORLD_LIMIT: f64 = 1e8;
/// Largest component of a velocity (m/s, rad/s); faster is not mechanics any more.
pub const SPEED_LIMIT: f64 = 1e8;

/// Whether a velocity is a number within [`SPEED_LIMIT`].
pub fn is_speed_usable(u: &Twist) -> bool {
    u.linear
        .iter()
        .chain(u.angular.iter())
        .all(|x| x.abs() <= SPEED_LIMIT)
}
