//! The world: bodies, materials, settings, and the contacts of the last step.

pub mod body;
mod check;
pub mod drive;
mod edit;
mod energy;
pub mod hull;
pub mod joint;
mod joint_geometry;
pub mod manifolds;
pub mod shape;
pub mod snapshot;
mod usual;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::{Invalid, demand, finite, not_negative};
pub use crate::material::{self, Anisotropy, CombineRule, ContactMaterial, Material};
use crate::math::{Twist, Vec3};
use crate::problem::FrictionLaw;
use crate::problem::law::Law;
pub use body::{Bodies, BodyError, BodyId, BodyKind, BodySpec, Groups};
pub use drive::Drive;
pub use edit::{Edit, EditError};
pub use energy::Energy;
pub use joint::{Joint, JointError, JointSpec};
pub use joint_geometry::{JointGeometry, joint_geometry};
pub use shape::{Geometry, MassProperties, Part, Shape, ShapeError};

/// What keeps penetration from building up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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

impl Stabilisation {
    /// The parameters with their names: share of the error removed per step (-), slop (m), fastest push (m/s).
    pub fn numbers_mut(&mut self) -> Option<[(&'static str, &mut f64); 3]> {
        let (name, share, slop, max_speed) = match self {
            Self::None => return None,
            Self::Baumgarte {
                beta,
                slop,
                max_speed,
            } => ("beta", beta, slop, max_speed),
            Self::Projection {
                fraction,
                slop,
                max_speed,
            } => ("fraction", fraction, slop, max_speed),
        };
        Some([(name, share), ("slop", slop), ("max_speed", max_speed)])
    }
}

/// The accuracy that gaps are corrected to, as a share of the slop (-).
pub(crate) const GAP_ACCURACY: f64 = 0.01;

impl Stabilisation {
    /// The accuracy of gaps (m): bodies that are apart by no more touch. Without it the corners of a face that rests would
    /// open and close by turns with the last digits of the solution, and no two steps' problems would be the same. None
    /// where nothing is corrected.
    pub fn gap_accuracy(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Baumgarte { slop, .. } | Self::Projection { slop, .. } => GAP_ACCURACY * slop,
        }
    }
}

impl Stabilisation {
    /// How deep overlaps are left (m).
    pub(crate) fn slop(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Baumgarte { slop, .. } | Self::Projection { slop, .. } => slop,
        }
    }

    /// How fast errors are closed at most (m/s).
    pub(crate) fn most_speed(&self) -> f64 {
        match *self {
            Self::None => f64::INFINITY,
            Self::Baumgarte { max_speed, .. } | Self::Projection { max_speed, .. } => max_speed,
        }
    }
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

/// When contacts are searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Detection {
    /// In every substep.
    #[default]
    Substep,
    /// In the first substep of a step alone; later ones move the contacts along, to first order, normals and arms
    /// as they were found. Substeps then cost a solve and little more; bodies that are knocked onto others within the
    /// step meet them in the next one.
    Step,
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
    /// When contacts are searched for.
    pub detection: Detection,
    /// Gaps up to this one are contacts (m). Above zero it grows with the approach speed, so that
    /// nothing tunnels; zero is pure Moreau: only what touches at the midpoint is a contact.
    pub prediction: f64,
    /// What keeps penetration from building up.
    pub stabilisation: Stabilisation,
    /// Friction law of contacts whose materials ask for none. Materials that are anisotropic, resist
    /// rolling or have a spin radius take their own law.
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
            detection: Detection::Substep,
            prediction: 1e-3,
            stabilisation: Stabilisation::default(),
            friction_law: FrictionLaw::Disc,
            warm_start: true,
            restitution_threshold: 0.0,
        }
    }
}

/// The shortest step (s): the square of a shorter one is lost beside 1 in 16 digits.
const SHORTEST_STEP: f64 = 1e-9;

impl Settings {
    /// Length of one substep h (s).
    pub fn substep(&self) -> f64 {
        self.substep_of(self.substeps)
    }

    /// Length of one of so many substeps (s).
    pub(crate) fn substep_of(&self, substeps: u32) -> f64 {
        self.step / f64::from(substeps.max(1))
    }

    /// How long what collision detection finds is good for, of so many substeps (s).
    pub fn horizon(&self, substeps: u32) -> f64 {
        match self.detection {
            Detection::Substep => self.substep_of(substeps),
            Detection::Step => self.step,
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        finite("gravity", &self.gravity)?;
        let (step, substeps) = (self.step, self.substeps);
        let is_fine = (SHORTEST_STEP..=1.0).contains(&step);
        demand(is_fine, "step", "in (0, 1] s, 1e-9 s or more", step)?;
        let is_fine = (1..=1000).contains(&substeps);
        demand(is_fine, "substeps", "1 to 1000", substeps)?;
        not_negative("prediction", self.prediction)?;
        not_negative("restitution_threshold", self.restitution_threshold)?;
        let law = self.friction_law;
        law.check()?;
        let expected = "Disc, Box or Pyramid: the other laws need what materials say";
        demand(!law.is_of_materials(), "friction_law", expected, law)?;
        let mut stabilisation = self.stabilisation;
        let Some([(name, share), (_, slop), (_, speed)]) = stabilisation.numbers_mut() else {
            return Ok(());
        };
        let (share, slop, speed) = (*share, *slop, *speed);
        demand(share > 0.0 && share <= 1.0, name, "in (0, 1]", share)
            .and_then(|()| not_negative("slop", slop))
            .and_then(|()| finite("max_speed", [&speed]))
            .and_then(|()| demand(speed > 0.0, "max_speed", "positive", speed))
            .map_err(|e| e.inside("stabilisation"))
    }
}

/// A contact of the last step, as the next one remembers it for its warm start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

/// Everything that the next step starts from. Its serialised form is that of a snapshot, which
/// [`World::from_bytes`] reads and checks.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Their couples on the second body, world frame (N m s); empty where no law has any.
    pub(crate) couples: Vec<Vec3>,
    /// The last step's manifolds of boxes.
    pub(crate) manifolds: manifolds::Manifolds,
    /// The joints, gears after those that they couple. A step reads and writes them in this order.
    pub(crate) joints: Vec<Joint>,
    /// What moves the motors.
    pub(crate) drives: Vec<Drive>,
    /// Impulses of the joints' rows over the last (sub)step, by joint.
    pub(crate) joint_memory: Vec<joint::RowMemory>,
    /// Length of the (sub)step that the remembered impulses are of (s).
    pub(crate) memory_step: f64,
    /// Pairs of bodies that do not collide because a joint holds them, sorted; the lower slot first.
    #[serde(skip)]
    pub(crate) joined: Vec<[u32; 2]>,
    /// Counts changes of the set of bodies or joints, for those who keep tables of it.
    #[serde(skip)]
    pub(crate) revision: u64,
}

/// The pair of bodies that do not collide because of a joint; the lower slot first.
fn joined(joint: &Joint) -> Option<[u32; 2]> {
    let [a, b] = joint.bodies;
    let pair = [a.min(b), a.max(b)];
    (!joint.collide && pair[1] != joint::WORLD).then_some(pair)
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
            couples: Vec::new(),
            manifolds: manifolds::Manifolds::default(),
            joints: Vec::new(),
            drives: Vec::new(),
            joint_memory: Vec::new(),
            memory_step: 0.0,
            joined: Vec::new(),
            revision: 0,
        }
    }

    /// Adds a body.
    ///
    /// # Errors
    /// See [`BodyError`]; nothing is added then.
    pub fn add_body(&mut self, spec: BodySpec) -> Result<BodyId, BodyError> {
        self.check_material(spec.material)?;
        let density = self.materials[usize::from(spec.material)].density;
        let id = self.bodies.add(spec, density)?;
        self.revision += 1;
        Ok(id)
    }

    /// Removes a body, its joints and its contacts; false when it was removed before.
    pub fn remove_body(&mut self, id: BodyId) -> bool {
        if !self.bodies.remove(id) {
            return false;
        }
        let held: Vec<u32> = (0u32..)
            .zip(&self.joints)
            .filter(|(_, j)| j.bodies.contains(&id.slot))
            .map(|(k, _)| k)
            .collect();
        self.remove_joints(&held);
        self.forget_contacts(id.slot);
        self.revision += 1;
        true
    }

    /// Forgets what is remembered of a body's contacts.
    fn forget_contacts(&mut self, slot: u32) {
        let stays = |m: &ContactMemory| !m.bodies.contains(&slot);
        let mut stay = self.memory.iter().map(stays);
        self.couples.retain(|_| stay.next() == Some(true));
        self.memory.retain(stays);
        self.manifolds.forget(slot);
    }

    /// Adds a joint and returns its index.
    ///
    /// # Errors
    /// See [`JointError`]; nothing is added then.
    pub fn add_joint(&mut self, spec: JointSpec) -> Result<u32, JointError> {
        let mut joint = Joint::new(spec, &self.bodies, &self.joints)?;
        joint.angles = [3, 4, 5].map(|k| joint_geometry(&joint, &self.bodies, 0.0).value[k]);
        if let joint::JointKind::Gear(terms) = &joint.kind {
            joint.gear_offset = self.gear_sum(terms)?;
        }
        if let Some(pair) = joined(&joint)
            && let Err(place) = self.joined.binary_search(&pair)
        {
            self.joined.insert(place, pair);
        }
        self.joints.push(joint);
        self.revision += 1;
        Ok(self.joints.len() as u32 - 1)
    }

    /// What the coordinates that a gear couples add up to (m or rad).
    fn gear_sum(&self, terms: &[joint::GearTerm]) -> Result<f64, JointError> {
        let mut sum = 0.0;
        // How the bodies' velocities change it.
        let mut rates: BTreeMap<u32, Twist> = BTreeMap::new();
        for term in terms {
            let of = &self.joints[term.joint as usize];
            let since = self.time_since_midpoint();
            let (geometry, axis) = (joint_geometry(of, &self.bodies, since), term.axis as usize);
            sum += term.coefficient * geometry.value[axis];
            for (body, j) in of.bodies.into_iter().zip(&geometry.jacobian[axis]) {
                let rate = rates.entry(body).or_default();
                rate.linear += j.linear * term.coefficient;
                rate.angular += j.angular * term.coefficient;
            }
        }
        rates.remove(&joint::WORLD);
        match joint::have_effect(terms, rates.into_values()) {
            true => Ok(sum),
            false => Err(JointError::NoEffect),
        }
    }

    /// Removes a joint, and the gears that couple it; false when there is no such joint. The joints
    /// behind it move up.
    pub fn remove_joint(&mut self, index: u32) -> bool {
        let exists = (index as usize) < self.joints.len();
        if exists {
            self.remove_joints(&[index]);
        }
        exists
    }

    fn remove_joints(&mut self, indices: &[u32]) {
        if indices.is_empty() {
            return;
        }
        let mut is_doomed = vec![false; self.joints.len()];
        indices.iter().for_each(|k| is_doomed[*k as usize] = true);
        for (k, joint) in self.joints.iter().enumerate() {
            if let joint::JointKind::Gear(terms) = &joint.kind
                && terms.iter().any(|t| is_doomed[t.joint as usize])
            {
                is_doomed[k] = true;
            }
        }
        // Where each joint goes.
        let mut kept = 0;
        let place: Vec<Option<u32>> = is_doomed
            .iter()
            .map(|is_doomed| {
                kept += u32::from(!is_doomed);
                (!is_doomed).then(|| kept - 1)
            })
            .collect();
        let mut stays = place.iter().map(Option::is_some);
        self.joints.retain(|_| stays.next() == Some(true));
        // Whether a joint is still there, under its new index.
        let keep = |joint: &mut u32| match place[*joint as usize] {
            Some(index) => {
                *joint = index;
                true
            }
            None => false,
        };
        for joint in &mut self.joints {
            if let joint::JointKind::Gear(terms) = &mut joint.kind {
                terms.retain_mut(|term| keep(&mut term.joint));
            }
        }
        for drive in &mut self.drives {
            drive.motors.retain_mut(|m| keep(&mut m.joint));
        }
        self.joint_memory.retain_mut(|m| keep(&mut m.joint));
        self.find_joined();
        self.revision += 1;
    }

    fn find_joined(&mut self) {
        self.joined.clear();
        self.joined.extend(self.joints.iter().filter_map(joined));
        self.joined.sort_unstable();
        self.joined.dedup();
    }

    /// The joints.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// A joint's motors, friction, limits and compliance, to change between steps; a step refuses
    /// numbers that cannot be used.
    pub fn joint_mut(&mut self, index: u32) -> Option<&mut Joint> {
        self.joints.get_mut(index as usize)
    }

    /// The index of a joint by its name.
    pub fn find_joint(&self, name: &str) -> Option<u32> {
        let found = self.joints.iter().position(|j| j.name == name);
        found.map(|k| k as u32)
    }

    /// Adds a drive and returns its index.
    ///
    /// # Errors
    /// The first value of it that cannot be used.
    pub fn add_drive(&mut self, drive: Drive) -> Result<usize, Invalid> {
        drive.check()?;
        for (k, motor) in drive.motors.iter().enumerate() {
            let joint = self.joints.get(motor.joint as usize);
            let axis = joint.and_then(|j| j.axes.get(motor.axis as usize));
            if axis.is_none_or(|a| a.motor.is_none()) {
                let found = format!("coordinate {} of joint {}", motor.axis, motor.joint);
                let field = format!("motors.{k}");
                return Err(Invalid::new(&field, "a coordinate with a motor", found));
            }
        }
        self.drives.push(drive);
        Ok(self.drives.len() - 1)
    }

    /// The drives.
    pub fn drives(&self) -> &[Drive] {
        &self.drives
    }

    /// Takes a drive over: from now on it goes to `value` instead of following its script, which it
    /// returns to with `None`. A value out of its range is brought into it; what is not a number, or no
    /// drive, is ignored.
    pub fn set_drive(&mut self, index: usize, value: Option<f64>) {
        if let Some(drive) = self.drives.get_mut(index)
            && value.is_none_or(|v| !v.is_nan())
        {
            drive.live = value.map(|v| v.clamp(drive.range[0], drive.range[1]));
        }
    }

    /// Moves the motors' targets to where the drives are at a time (s), `h` after the last one.
    pub(crate) fn advance_drives(&mut self, time: f64, h: f64) {
        for drive in &mut self.drives {
            let (value, rates) = drive.advance(time, h);
            for driven in &drive.motors {
                let joint = self.joints.get_mut(driven.joint as usize);
                let axis = joint.and_then(|j| j.axes.get_mut(driven.axis as usize));
                let Some(motor) = axis.and_then(|a| a.motor.as_mut()) else {
                    continue;
                };
                if driven.moves == drive::Moves::MaxForce {
                    motor.max_force = (driven.factor * value).abs();
                    continue;
                }
                match &mut motor.target {
                    joint::Target::Velocity(speed) => *speed = driven.factor * value,
                    joint::Target::Position {
                        position, rates: r, ..
                    } => {
                        *position = driven.factor * value;
                        *r = rates.map(|rate| driven.factor * rate);
                    }
                }
            }
        }
    }

    /// Changes what moves a body. A body that becomes fixed stops.
    ///
    /// # Errors
    /// The body was removed, or it is to be dynamic and has no mass.
    pub fn set_kind(&mut self, id: BodyId, kind: BodyKind) -> Result<(), BodyError> {
        let slot = self.bodies.slot(id).ok_or(BodyError::Removed)?;
        let has_mass = kind != BodyKind::Dynamic || self.bodies.inverse_mass[slot] > 0.0;
        demand(has_mass, "mass", "positive for a dynamic body", 0)?;
        self.bodies.set_kind(slot, kind);
        self.revision += 1;
        Ok(())
    }

    /// How long ago the last midpoint was (s).
    pub fn time_since_midpoint(&self) -> f64 {
        0.5 * self.memory_step
    }

    /// By what remembered impulses are multiplied to become those of a (sub)step of this length (-).
    pub(crate) fn memory_scale(&self, h: f64) -> f64 {
        match self.memory_step > 0.0 {
            true => h / self.memory_step,
            false => 1.0,
        }
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
