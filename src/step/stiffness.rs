//! Geometric stiffness: M̃ = M + ¼ h² ΣK (section 2, taut light cables).
//!
//! A constraint force f that acts on a body at an offset r turns with the body. Its torque r × f then
//! resists turning with the stiffness K = (f·r) 1₃ − ½(r fᵀ + f rᵀ). Taken implicitly, with Newmark's
//! β = ¼, it makes taut cables stable at every step length and dampens nothing (Tournier et al. 2015;
//! Andrews, Teichmann and Kry 2017).

use crate::math::{Mat3, SymMat3, Vec3};
use crate::problem::Problem;
use crate::world::joint::{JointKind, WORLD};
use crate::world::{GeometricStiffness, World};

/// Forces are out of date where what they lack of the stiffness is this share of a body's inertia.
const OUTDATED: f64 = 0.1;

/// Reusable memory: ΣK per body (N m/rad), which bodies have one, and the joints' forces that it was taken
/// from (N).
#[derive(Default)]
pub struct Workspace {
    stiffness: Vec<SymMat3>,
    touched: Vec<u32>,
    forces: Vec<Vec3>,
}

impl Workspace {
    /// Replaces M by M̃ in the problem's bodies, whose free velocities are there already, with the forces
    /// of the last (sub)step. The poses are those of the midpoint.
    pub fn apply(&mut self, world: &World, problem: &mut Problem, h: f64) {
        let factor = world.settings.geometric_stiffness.factor;
        if factor == 0.0 {
            return;
        }
        self.gather(world);
        self.forces.clear();
        self.forces.extend(world.joints.iter().map(|j| j.force));
        let b = &world.bodies;
        let out = &mut problem.bodies;
        for &slot in &self.touched {
            let slot = slot as usize;
            let added = positive_part(std::mem::take(&mut self.stiffness[slot]));
            if !b.is_dynamic(slot) || added == SymMat3::ZERO {
                continue;
            }
            let inertia = b.inertia[slot].rotated(&b.rotation[slot]);
            let Some(inverse) = sum(&inertia, &added, factor * h * h).inverse() else {
                continue;
            };
            // M̃(u_E − u_S) = h f + JᵀΛ as a whole: the free change of ω shrinks too.
            let before = b.velocity[slot].angular;
            let change = out.free_velocity[slot].angular - before;
            out.inverse_inertia[slot] = inverse;
            out.free_velocity[slot].angular = before + inverse.mul_vec(inertia.mul_vec(change));
        }
        self.touched.clear();
    }

    /// Whether the joints' forces have grown so much since [`Workspace::apply`] that a body turns too easily:
    /// in the first step, and when a slack cable becomes taut.
    pub fn is_outdated(&self, world: &World, h: f64) -> bool {
        let factor = world.settings.geometric_stiffness.factor;
        let b = &world.bodies;
        factor > 0.0
            && world
                .joints
                .iter()
                .zip(&self.forces)
                .any(|(joint, before)| {
                    let grown = joint.force.norm() - before.norm();
                    if grown <= 0.0 || matches!(joint.kind, JointKind::Gear(_)) {
                        return false;
                    }
                    joint.bodies.iter().zip(&joint.frames).any(|(slot, frame)| {
                        *slot != WORLD && b.is_dynamic(*slot as usize) && {
                            // The frame's place is seen from the centre of mass.
                            let lacking = factor * h * h * grown * frame.position.norm();
                            let i = &b.inertia[*slot as usize];
                            lacking > OUTDATED * i.xx.max(i.yy).max(i.zz)
                        }
                    })
                })
    }

    fn gather(&mut self, world: &World) {
        let b = &world.bodies;
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
        for (slot, stiffness) in &world.contact_stiffness {
            let slot = *slot as usize;
            if self.stiffness[slot] == SymMat3::ZERO {
                self.touched.push(slot as u32);
            }
            self.stiffness[slot] = sum(&self.stiffness[slot], stiffness, 1.0);
        }
    }

    /// Stores ΣK of this (sub)step's contacts for the next one, where the scene asks for it.
    pub fn remember_contacts(&mut self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        world.contact_stiffness.clear();
        let GeometricStiffness { factor, contacts } = world.settings.geometric_stiffness;
        if factor == 0.0 || !contacts {
            return;
        }
        self.stiffness.resize(world.bodies.slots(), SymMat3::ZERO);
        let of = &problem.contacts;
        for c in 0..of.len() {
            let (impulse, _) = problem.contact_impulse(c, &lambda[of.rows(c)]);
            let force = impulse / problem.h;
            for (side, sign) in [(0, -1.0), (1, 1.0)] {
                let slot = of.bodies[c][side] as usize;
                if problem.bodies.is_dynamic(slot) && impulse != Vec3::zeros() {
                    self.add(slot, of.frame[c].arms[side], force * sign);
                }
            }
        }
        for slot in self.touched.drain(..) {
            let stiffness = std::mem::take(&mut self.stiffness[slot as usize]);
            world.contact_stiffness.push((slot, stiffness));
        }
        world
            .contact_stiffness
            .sort_unstable_by_key(|(slot, _)| *slot);
    }

    fn add(&mut self, slot: usize, arm: Vec3, force: Vec3) {
        let along = force.dot(&arm);
        let k = &mut self.stiffness[slot];
        if *k == SymMat3::ZERO {
            self.touched.push(slot as u32);
        }
        k.xx += along - arm.x * force.x;
        k.yy += along - arm.y * force.y;
        k.zz += along - arm.z * force.z;
        k.xy -= 0.5 * (arm.x * force.y + force.x * arm.y);
        k.xz -= 0.5 * (arm.x * force.z + force.x * arm.z);
        k.yz -= 0.5 * (arm.y * force.z + force.y * arm.z);
    }
}

/// `a + factor · b`.
fn sum(a: &SymMat3, b: &SymMat3, factor: f64) -> SymMat3 {
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
