//! Which parts of two compounds may touch.

use parry3d_f64::bounding_volume::BoundingVolume;

use crate::math::Pose;
use crate::world::Shape;

/// Pairs of parts, sorted. Keeps its memory.
#[derive(Default)]
pub struct PartPairs {
    /// An index for each of the two shapes; 0 for one that is no compound.
    pub pairs: Vec<[u32; 2]>,
    near: Vec<u32>,
    others: Vec<u32>,
}

impl PartPairs {
    /// Finds the pairs of parts whose boxes are no farther apart than `reach`. False where that is left to parry: a shape is
    /// a mesh or a height field, or none is a compound.
    pub fn find(&mut self, shapes: [&Shape; 2], poses: &[Pose; 2], reach: f64) -> bool {
        let is_solid = |shape: &Shape| {
            let parry = shape.parry();
            parry.as_trimesh().is_none() && parry.as_heightfield().is_none()
        };
        let is_compound = |shape: &Shape| shape.parry().as_compound().is_some();
        if !shapes.into_iter().all(is_solid) || !shapes.into_iter().any(is_compound) {
            return false;
        }
        let [a, b] = shapes;
        self.pairs.clear();
        let whole = b.parry();
        let mut near = std::mem::take(&mut self.near);
        find_near(a, &poses[0], whole.as_ref(), &poses[1], reach, &mut near);
        let mut others = std::mem::take(&mut self.others);
        for &i in &near {
            let place = poses[0].compose(&a.part_pose(i as usize));
            let part = a.part(i as usize);
            find_near(b, &poses[1], part, &place, reach, &mut others);
            self.pairs.extend(others.iter().map(|j| [i, *j]));
        }
        (self.near, self.others) = (near, others);
        self.pairs.sort_unstable();
        true
    }
}

/// The parts of a shape near another one.
fn find_near(
    shape: &Shape,
    pose: &Pose,
    other: &dyn parry3d_f64::shape::Shape,
    place: &Pose,
    reach: f64,
    out: &mut Vec<u32>,
) {
    out.clear();
    match shape.parry().as_compound() {
        None => out.push(0),
        Some(compound) => {
            let relative = pose.inverse().compose(place).to_parry();
            let bounds = other.compute_aabb(&relative).loosened(reach);
            out.extend(compound.bvh().intersect_aabb(&bounds));
        }
    }
}
