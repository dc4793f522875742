//! The rows of positions where the bodies are elsewhere than in the world.

use super::entry::{Entry, number, row_scale, scaled};
use crate::math::{Pose, Twist, rotate_by};
use crate::world::joint::{Joint, JointKind, Motion, Target, WORLD};
use crate::world::{JointGeometry, World};

/// Joints at another midpoint. Keeps its memory.
#[derive(Default)]
pub struct Positions {
    /// By slot, of the bodies that joints are on.
    pose: Vec<Pose>,
    /// Which of them are found.
    is_found: Vec<bool>,
    geometry: Vec<JointGeometry>,
    /// How far from now it is (s).
    time: f64,
}

impl Positions {
    /// Finds every joint where its bodies are after such a time at such velocities.
    pub fn find(&mut self, world: &World, velocity: &[Twist], time: f64) {
        self.find_at(world, velocity, [time; 2]);
    }

    /// The same such a time from now, and so long after the joints' angles were noted (s).
    pub fn find_at(&mut self, world: &World, velocity: &[Twist], [time, since]: [f64; 2]) {
        self.time = time;
        let b = &world.bodies;
        self.pose.resize(b.slots(), Pose::IDENTITY);
        self.is_found.clear();
        self.is_found.resize(b.slots(), false);
        for body in world.joints.iter().flat_map(|joint| joint.bodies) {
            let slot = body as usize;
            if body == WORLD || std::mem::replace(&mut self.is_found[slot], true) {
                continue;
            }
            let u = &velocity[slot];
            self.pose[slot] = Pose::new(
                b.position[slot] + u.linear * time,
                rotate_by(&b.rotation[slot], u.angular, time),
            );
        }
        self.geometry
            .resize(world.joints.len(), JointGeometry::default());
        for (geometry, joint) in self.geometry.iter_mut().zip(&world.joints) {
            geometry.find(joint, |slot| self.pose[slot], |slot| velocity[slot], since);
        }
    }

    /// The length of a joint that is a distance (m).
    pub fn length(&self, joints: &[Joint], index: usize) -> Option<f64> {
        self.geometry[index].length(&joints[index])
    }

    /// The value of row `number` of a joint (m); none if it is no row of positions. Calls `visit` with the entries of its
    /// Jacobian, in the order of the problem's.
    #[inline]
    pub fn visit_row(
        &self,
        joints: &[Joint],
        index: usize,
        number: u8,
        mut visit: impl FnMut(u32, &Twist),
    ) -> Option<f64> {
        let joint = &joints[index];
        if let JointKind::Gear(_) = joint.kind {
            let row = position_row(joints, &self.geometry, index, number)?;
            for (body, j) in row.entries() {
                visit(*body, j);
            }
            return Some(row.value);
        }
        let (k, factor, at) = position_of(joint, number, self.time)?;
        let geometry = &self.geometry[index];
        for (body, j) in joint.bodies.into_iter().zip(&geometry.jacobian[k]) {
            if body != WORLD {
                visit(body, &scaled(j, factor));
            }
        }
        Some(factor * (geometry.value[k] - at))
    }
}

/// A row of positions where its bodies are: its error, or the distance left of a limit (m), and its Jacobian.
pub struct PositionRow {
    pub value: f64,
    entries: [Entry; 4],
    count: usize,
}

impl PositionRow {
    pub fn entries(&self) -> &[Entry] {
        &self.entries[..self.count]
    }

    /// Adds a share of a coordinate of a joint.
    fn add(&mut self, joint: &Joint, geometry: &JointGeometry, k: usize, factor: f64) {
        self.value += factor * geometry.value[k];
        for (body, j) in joint.bodies.into_iter().zip(&geometry.jacobian[k]) {
            let share = scaled(j, factor);
            let known = self.entries().iter().position(|(b, _)| *b == body);
            if let Some(at) = known {
                let (_, sum) = &mut self.entries[at];
                sum.linear += share.linear;
                sum.angular += share.angular;
            } else if body != WORLD && self.count < self.entries.len() {
                self.entries[self.count] = (body, share);
                self.count += 1;
            }
        }
    }
}

/// Row `number` of a joint where the joints have such a geometry; none if it is no row of positions.
pub fn position_row(
    joints: &[Joint],
    geometry: &[JointGeometry],
    index: usize,
    number: u8,
) -> Option<PositionRow> {
    let joint = &joints[index];
    let mut row = PositionRow {
        value: 0.0,
        entries: [(WORLD, Twist::ZERO); 4],
        count: 0,
    };
    if let JointKind::Gear(terms) = &joint.kind {
        let scale = joint.softness.length;
        row.value = -scale * joint.gear_offset;
        for term in terms {
            let of = term.joint as usize;
            row.add(
                &joints[of],
                &geometry[of],
                term.axis as usize,
                term.coefficient * scale,
            );
        }
        return Some(row);
    }
    let (k, factor, at) = position_of(joint, number, 0.0)?;
    row.value = -factor * at;
    row.add(joint, &geometry[index], k, factor);
    Some(row)
}

/// Of a row of positions that is no gear's: the coordinate, what it is multiplied with to become a length (m), and where
/// it is held, or aimed at in so much time from now (s).
fn position_of(joint: &Joint, number: u8, time: f64) -> Option<(usize, f64, f64)> {
    let k = number as usize % 6;
    let motion = joint.axes[k].motion;
    let (sign, at) = match (number - k as u8, motion) {
        (number::LOCK, _) => (1.0, motion.held()?),
        (number::LOWER, Motion::Limited([lo, _])) => (1.0, lo),
        (number::UPPER, Motion::Limited([_, hi])) => (-1.0, hi),
        (number::MOTOR, _) => match joint.axes[k].motor?.target {
            Target::Position {
                position, rates, ..
            } => (1.0, position + rates[usize::from(time > 0.0)] * time),
            Target::Velocity(_) => return None,
        },
        _ => return None,
    };
    Some((k, sign * row_scale(joint, k), at))
}
