//! The energies of a state.

use super::joint::{Axis, Joint, JointKind, Motion, Motor, Target, WORLD};
use super::{JointGeometry, World};
use crate::math::{Pose, rotate_by};

/// Where the energy of a world is (J).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Motion of the dynamic bodies, linear and angular.
    pub kinetic: f64,
    /// Height of the dynamic bodies in gravity; zero at the origin.
    pub gravity: f64,
    /// Springs of compliant joints, limits and gears, and of motors that aim at a position, where they are on a body that
    /// impulses move: ½ k φ² with the mean φ of the last and of the next midpoint, since rigid joints are closed at those,
    /// and apart by ⅛ h² a here. Beyond its bound a motor's grows with φ alone.
    pub springs: f64,
    /// Springs of compliant contacts by their last forces, ½ α F².
    pub contacts: f64,
}

impl Energy {
    /// The names of what is stored, in the order of [`Energy::values`].
    pub const NAMES: [&'static str; 4] = ["kinetic", "gravity", "springs", "contact_springs"];

    /// What is stored (J).
    pub fn values(&self) -> [f64; 4] {
        [self.kinetic, self.gravity, self.springs, self.contacts]
    }

    /// All of it (J).
    pub fn total(&self) -> f64 {
        self.kinetic + self.gravity + self.springs + self.contacts
    }
}

/// At which midpoint motors have the targets that they have.
#[derive(Clone, Copy)]
enum Targets {
    /// Half a (sub)step ago.
    OfLast,
    /// Half a (sub)step ahead.
    OfNext,
}

impl World {
    /// The energies as the world is now, by sums over bodies, joints and remembered contacts.
    pub fn energy(&self) -> Energy {
        Energy {
            kinetic: self.bodies.kinetic_energy(),
            gravity: self.potential_energy(),
            springs: self.spring_energy(),
            contacts: self.contact_energies().iter().sum(),
        }
    }

    /// What the joints' springs store when drives have moved to the next midpoint, and bodies have not (J).
    pub(crate) fn spring_energy_with_new_targets(&self) -> f64 {
        self.spring_energy_with(Targets::OfNext)
    }

    /// Of the joints' springs (J).
    pub(crate) fn spring_energy(&self) -> f64 {
        self.spring_energy_with(Targets::OfLast)
    }

    fn spring_energy_with(&self, targets: Targets) -> f64 {
        let acts = |joint: &&Joint| joint.enabled && self.acts(joint);
        let joints = self.joints.iter().filter(acts);
        let energy = |joint| self.spring_energy_of(joint, targets);
        joints.map(energy).sum()
    }

    /// Whether a joint, or one that a gear couples, is on a body that impulses move: else it has no force.
    fn acts(&self, joint: &Joint) -> bool {
        let moves = |body: &u32| *body != WORLD && self.bodies.is_dynamic(*body as usize);
        match &joint.kind {
            JointKind::Gear(terms) => terms
                .iter()
                .any(|term| self.joints[term.joint as usize].bodies.iter().any(moves)),
            _ => joint.bodies.iter().any(moves),
        }
    }

    fn spring_energy_of(&self, joint: &Joint, targets: Targets) -> f64 {
        let s = &joint.softness;
        let stiffness =
            [s.compliance, s.angular_compliance].map(|c| if c > 0.0 { 1.0 / c } else { 0.0 });
        if let JointKind::Gear(terms) = &joint.kind {
            if stiffness[1] == 0.0 {
                return 0.0;
            }
            let share = |term: &super::joint::GearTerm| {
                let of = self.mean_coordinates(&self.joints[term.joint as usize]);
                term.coefficient * of[term.axis as usize]
            };
            let stretch = terms.iter().map(share).sum::<f64>() - joint.gear_offset;
            return 0.5 * stiffness[1] * stretch * stretch;
        }
        let has_motor = |axis: &Axis| axis.motor.is_some();
        if stiffness == [0.0; 2] && !joint.axes.iter().any(has_motor) {
            return 0.0;
        }
        let value = self.mean_coordinates(joint);
        let energy = |(k, axis): (usize, &Axis)| {
            let own = stiffness[usize::from(!Joint::is_length(k))];
            let stretch = match axis.motion {
                Motion::Free => 0.0,
                Motion::Locked => value[k],
                Motion::Limited([low, high]) => value[k] - value[k].clamp(low, high.max(low)),
            };
            let motor = axis
                .motor
                .map_or(0.0, |motor| self.motor_energy(&motor, value[k], targets));
            0.5 * own * stretch * stretch + motor
        };
        joint.axes.iter().enumerate().map(energy).sum()
    }

    /// The means of a joint's coordinates at the last midpoint and at the next one.
    fn mean_coordinates(&self, joint: &Joint) -> [f64; 6] {
        let b = &self.bodies;
        let half = 0.5 * self.last_substep();
        let mut geometry = JointGeometry::default();
        let [past, next] = [-half, half].map(|time| {
            let pose = |slot: usize| {
                let u = &b.velocity[slot];
                Pose::new(
                    b.position[slot] + u.linear * time,
                    rotate_by(&b.rotation[slot], u.angular, time),
                )
            };
            geometry.find(joint, pose, |slot| b.velocity[slot], half + time);
            geometry.value
        });
        std::array::from_fn(|k| 0.5 * (past[k] + next[k]))
    }

    /// Of the spring by which a motor aims at a position (J).
    fn motor_energy(&self, motor: &Motor, value: f64, targets: Targets) -> f64 {
        let Target::Position {
            position,
            rates,
            stiffness,
            ..
        } = motor.target
        else {
            return 0.0;
        };
        let half = 0.5 * self.last_substep();
        let moved = match targets {
            Targets::OfLast => rates[1] * half,
            Targets::OfNext => -rates[0] * half,
        };
        bounded_spring(stiffness, motor.max_force, value - position - moved)
    }

    /// Length of the last (sub)step (s), or of the first one that will be taken.
    fn last_substep(&self) -> f64 {
        match self.memory_step > 0.0 {
            true => self.memory_step,
            false => self.settings.substep(),
        }
    }

    /// Whether contacts may be compliant.
    pub(crate) fn has_soft_contacts(&self) -> bool {
        self.materials.iter().any(|m| m.compliance > 0.0)
    }

    /// Of compliant contacts, along normals and across, by what is remembered of them (J).
    pub(crate) fn contact_energies(&self) -> [f64; 2] {
        let mut sum = [0.0; 2];
        if !self.has_soft_contacts() || self.memory_step <= 0.0 {
            return sum;
        }
        let square = self.memory_step * self.memory_step;
        for m in &self.memory {
            let [a, b] = m
                .bodies
                .map(|slot| self.bodies.material[slot as usize] as usize);
            let compliance = self.materials[a].compliance + self.materials[b].compliance;
            let half = 0.5 * compliance / square;
            sum[0] += half * m.normal * m.normal;
            sum[1] += half * m.friction.norm_squared();
        }
        sum
    }
}

/// The energy of a spring whose force ends at a bound (J): ½ k φ², and beyond the bound what its force there does.
fn bounded_spring(stiffness: f64, most: f64, stretch: f64) -> f64 {
    let force = (stiffness * stretch).abs();
    if force <= most {
        0.5 * force * stretch.abs()
    } else {
        most * (stretch.abs() - 0.5 * most / stiffness)
    }
}

#[cfg(test)]
mod tests {
    use super::bounded_spring;
    use crate::math::{Pose, Vec3};
    use crate::world::joint::{JointKind, Motion};
    use crate::world::{BodySpec, Geometry, JointSpec, Settings, Shape, World};

    /// A ball of 2 kg 1.5 m above the origin at 3 m/s upwards, on a rope of 1 m with 1/500 m/N: ½mv², mgy, ½x²/α.
    #[test]
    fn energies_are_those_of_the_closed_forms() {
        let mut world = World::new(Settings::default());
        let ball = Shape::new(Geometry::Ball { radius: 0.1 }).expect("a shape");
        let body = world.add_body(BodySpec {
            pose: Pose::translation(0.0, 1.5, 0.0),
            linear_velocity: Vec3::y() * 3.0,
            shape: Some(ball),
            mass: Some(2.0),
            ..BodySpec::default()
        });
        let body = body.expect("a body");
        let mut rope = JointSpec::new(JointKind::Distance, [None, Some(body)], Pose::IDENTITY);
        rope.frames[1] = Pose::translation(0.0, 1.5, 0.0);
        rope.axes[0].motion = Motion::Limited([0.0, 1.0]);
        rope.softness.compliance = 1.0 / 500.0;
        world.add_joint(rope).expect("a joint");
        let energy = world.energy();
        let g = -world.settings.gravity.y;
        for (found, exact) in [
            (energy.kinetic, 9.0),
            (energy.gravity, 2.0 * g * 1.5),
            (energy.springs, 0.5 * 500.0 * 0.25),
            (energy.total(), 9.0 + 3.0 * g + 62.5),
        ] {
            assert!((found - exact).abs() < 1e-9, "{found} instead of {exact}");
        }
    }

    #[test]
    fn a_bounded_springs_force_is_its_energys_slope() {
        for x in [-3.0, -0.4, 0.2, 0.7, 5.0] {
            let slope =
                (bounded_spring(10.0, 5.0, x + 1e-6) - bounded_spring(10.0, 5.0, x - 1e-6)) / 2e-6;
            let force = (10.0_f64 * x).clamp(-5.0, 5.0);
            assert!((slope - force).abs() < 1e-6, "{x}: {slope}");
        }
    }
}
