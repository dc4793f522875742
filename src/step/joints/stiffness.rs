//! Geometric stiffness: M̃ = M + ¼ h² ΣK (section 7 of docs/method.md, taut light cables).
//!
//! A constraint force f that acts on a body at an offset r turns with the body. Its torque r × f then
//! resists turning with the stiffness K = (f·r) 1₃ − ½(r fᵀ + f rᵀ) (Tournier et al. 2015; Andrews, Teichmann and Kry
//! 2017). Joints' forces are along directions that contain those of the next midpoint, and have this stiffness by
//! themselves; the rounds that find it have K in their matrix, so that they approach each other.

use crate::math::{Mat3, SymMat3, Vec3};
use crate::world::World;
use crate::world::joint::{JointKind, WORLD};

/// Reusable memory: ΣK per body (N m/rad).
#[derive(Default)]
pub struct Workspace {
    stiffness: Vec<SymMat3>,
}

impl Workspace {
    /// Gathers ΣK of the joints' present forces.
    pub fn gather_joints(&mut self, world: &World) {
        let b = &world.bodies;
        self.stiffness.clear();
        self.stiffness.resize(b.slots(), SymMat3::ZERO);
        for joint in &world.joints {
            if joint.force == Vec3::zeros() || matches!(joint.kind, JointKind::Gear(_)) {
                continue;
            }
            let frames = joint.world_frames(b);
            for (side, sign) in [(0, -1.0), (1, 1.0)] {
                if joint.bodies[side] != WORLD {
                    let slot = joint.bodies[side] as usize;
                    let arm = frames[side].position - b.position[slot];
                    self.add(slot, arm, joint.force * sign);
                }
            }
        }
    }

    /// What was gathered for a body, without what would make it less stiff.
    pub fn take(&mut self, slot: usize) -> SymMat3 {
        positive_part(std::mem::take(&mut self.stiffness[slot]))
    }

    fn add(&mut self, slot: usize, arm: Vec3, force: Vec3) {
        let along = force.dot(&arm);
        let k = &mut self.stiffness[slot];
        k.xx += along - arm.x * force.x;
        k.yy += along - arm.y * force.y;
        k.zz += along - arm.z * force.z;
        k.xy -= 0.5 * (arm.x * force.y + force.x * arm.y);
        k.xz -= 0.5 * (arm.x * force.z + force.x * arm.z);
        k.yz -= 0.5 * (arm.y * force.z + force.y * arm.z);
    }
}

/// `a + factor · b`.
pub fn sum(a: &SymMat3, b: &SymMat3, factor: f64) -> SymMat3 {
    SymMat3 {
        xx: a.xx + factor * b.xx,
        xy: a.xy + factor * b.xy,
        xz: a.xz + factor * b.xz,
        yy: a.yy + factor * b.yy,
        yz: a.yz + factor * b.yz,
        zz: a.zz + factor * b.zz,
    }
}

/// The matrix with its negative eigenvalues removed.
fn positive_part(m: SymMat3) -> SymMat3 {
    // Nothing to remove where all principal minors are positive, up to rounding.
    let size = m.xx.abs().max(m.yy.abs()).max(m.zz.abs());
    let minors = [
        m.xx * m.yy - m.xy * m.xy,
        m.xx * m.zz - m.xz * m.xz,
        m.yy * m.zz - m.yz * m.yz,
    ];
    let determinant =
        m.xx * minors[2] - m.xy * (m.xy * m.zz - m.yz * m.xz) + m.xz * (m.xy * m.yz - m.yy * m.xz);
    let is_positive = [m.xx, m.yy, m.zz].iter().all(|d| *d >= -1e-12 * size)
        && minors.iter().all(|d| *d >= -1e-12 * size * size)
        && determinant >= -1e-12 * size * size * size;
    if is_positive {
        return m;
    }
    let eigen = m.to_matrix().symmetric_eigen();
    let mut out = Mat3::zeros();
    for k in 0..3 {
        let v = eigen.eigenvectors.column(k).into_owned();
        out += v * v.transpose() * eigen.eigenvalues[k].max(0.0);
    }
    SymMat3::from_matrix(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulled_link_is_stiff_across_and_a_pushed_one_is_not() {
        let mut w = Workspace::default();
        w.stiffness.resize(1, SymMat3::ZERO);
        // Tension T at both ends of a link along y of length l: K = T l (1 − y yᵀ).
        let (tension, half) = (100.0, 0.25);
        for sign in [1.0, -1.0] {
            w.add(0, Vec3::y() * (sign * half), Vec3::y() * (sign * tension));
        }
        let k = positive_part(std::mem::take(&mut w.stiffness[0]));
        assert_eq!(k, SymMat3::diagonal(50.0, 0.0, 50.0));
        for sign in [1.0, -1.0] {
            w.add(0, Vec3::y() * (sign * half), Vec3::y() * (-sign * tension));
        }
        assert_eq!(positive_part(w.stiffness[0]).to_matrix().norm(), 0.0);
    }

    #[test]
    fn the_positive_part_keeps_positive_directions_only() {
        let m = SymMat3 {
            xx: 1.0,
            xy: 3.0,
            xz: 0.5,
            yy: -2.0,
            yz: 0.25,
            zz: 0.75,
        };
        let p = positive_part(m);
        let low = p.to_matrix().symmetric_eigenvalues().min();
        assert!(low > -1e-12, "{low}");
        // What was taken away is negative and across what was kept.
        let rest = m.to_matrix() - p.to_matrix();
        assert!(rest.symmetric_eigenvalues().max() < 1e-12);
        assert!((rest * p.to_matrix()).norm() < 1e-12);
    }
}
