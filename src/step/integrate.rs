//! Moving the bodies: half steps of the positions, free velocities, and undoing a step.

use rayon::prelude::*;

use super::error::StepError;
use crate::math::{Quat, SymMat3, Twist, Vec3, rotate_by};
use crate::problem::Problem;
use crate::world::joint::{Motor, RowMemory};
use crate::world::manifolds::Manifolds;
use crate::world::{BodyKind, ContactMemory, World, is_speed_usable};

/// Bodies per unit of parallel work.
const CHUNK: usize = 1024;

/// Of turns of a (sub)step up to this one (rad) the square, 1e-16, is lost in rounding: what is of the second order in them
/// need not be computed.
pub const NEGLIGIBLE_TURN: f64 = 1e-8;

/// x ← x + h/2 v, q ← exp(h/2 ω) q for every body that moves (steps 1 and 5 of the midpoint rule).
pub fn half_step(world: &mut World, h: f64) {
    half_step_of(world, h, |_| true);
}

/// The same for those that are selected.
pub fn half_step_of(world: &mut World, h: f64, is_meant: impl Fn(usize) -> bool + Sync) {
    let b = &mut world.bodies;
    let kind = &b.kind;
    b.position
        .par_chunks_mut(CHUNK)
        .zip(b.rotation.par_chunks_mut(CHUNK))
        .zip(b.velocity.par_chunks(CHUNK))
        .zip(kind.par_chunks(CHUNK))
        .enumerate()
        .for_each(|(chunk, (((x, q), u), kind))| {
            for k in 0..x.len() {
                if kind[k] != BodyKind::Fixed && is_meant(chunk * CHUNK + k) {
                    x[k] += u[k].linear * (0.5 * h);
                    q[k] = rotate_by(&q[k], u[k].angular, 0.5 * h);
                }
            }
        });
}

/// Fills the problem's bodies: M⁻¹ at the midpoint and u_free = u_S + M⁻¹ h f.
pub fn free_velocities(world: &World, h: f64, problem: &mut Problem) {
    let b = &world.bodies;
    let n = b.slots();
    let out = &mut problem.bodies;
    out.inverse_mass.resize(n, 0.0);
    for (slot, m) in out.inverse_mass.iter_mut().enumerate() {
        *m = if b.is_dynamic(slot) {
            b.inverse_mass[slot]
        } else {
            0.0
        };
    }
    out.part.clear();
    if b.part.iter().any(|part| *part > 0) {
        out.part.extend_from_slice(&b.part);
    }
    out.inverse_inertia.resize(n, SymMat3::ZERO);
    out.free_velocity.resize(n, Twist::ZERO);
    let gravity = world.settings.gravity;
    out.inverse_inertia
        .par_chunks_mut(CHUNK)
        .zip(out.free_velocity.par_chunks_mut(CHUNK))
        .enumerate()
        .for_each(|(chunk, (inverse_inertia, free))| {
            for k in 0..free.len() {
                let slot = chunk * CHUNK + k;
                let u = b.velocity[slot];
                if b.kind[slot] != BodyKind::Dynamic {
                    inverse_inertia[k] = SymMat3::ZERO;
                    free[k] = u;
                    continue;
                }
                let q = &b.rotation[slot];
                let inverse = b.inverse_inertia(slot).rotated(q);
                inverse_inertia[k] = inverse;
                let force = b.force(slot);
                free[k].linear = u.linear + (gravity + force.linear * b.inverse_mass[slot]) * h;
                free[k].angular =
                    free_spin(&b.inertia[slot], &inverse, q, u.angular, force.angular, h);
            }
        });
}

/// Collision detection and solvers must never see a NaN or an infinity: checks the bodies at M and their
/// free velocities.
///
/// # Errors
/// The first body that is out of bounds.
pub fn check_free(world: &World, problem: &Problem) -> Result<(), StepError> {
    check_bounds(world)?;
    let mut free = problem.bodies.free_velocity.iter();
    match free.position(|u| !is_speed_usable(u)) {
        Some(slot) => Err(out_of_bounds(world, slot)),
        None => Ok(()),
    }
}

/// Checks the bodies' poses and velocities.
///
/// # Errors
/// The first body that is out of bounds.
pub fn check_bounds(world: &World) -> Result<(), StepError> {
    match world.first_out_of_bounds() {
        Some(slot) => Err(out_of_bounds(world, slot)),
        None => Ok(()),
    }
}

fn out_of_bounds(world: &World, slot: usize) -> StepError {
    StepError::OutOfBounds {
        step: world.step_index + 1,
        body: world.bodies.label(slot),
    }
}

/// ω_E of a free body with torque τ, such that its angular momentum is exactly L_S + h τ.
///
/// With q_S = exp(−h/2 ω_S) q_M and q_E = exp(h/2 ω_E) q_M, and because exp(±h/2 ω) leaves ω itself
/// alone, the momenta at the two ends are L_S = exp(−h/2 ω_S) I_M ω_S and L_E = exp(h/2 ω_E) I_M ω_E.
/// So ω_E solves I_M ω = exp(−h/2 ω)(L_S + h τ): the discrete gyroscopic torque. The rule is
/// symmetric in time, which keeps the energy to second order without drift.
fn free_spin(
    inertia: &SymMat3,
    inverse: &SymMat3,
    q: &Quat,
    omega: Vec3,
    torque: Vec3,
    h: f64,
) -> Vec3 {
    if inertia.is_isotropic() {
        return omega + inverse.mul_vec(torque) * h;
    }
    let inertia = inertia.rotated(q);
    let explicit = omega + inverse.mul_vec(torque) * h;
    if h * omega.norm().max(explicit.norm()) < NEGLIGIBLE_TURN {
        // The equation to the first order.
        let own = inertia.mul_vec(omega);
        let turned = omega.cross(&own) + explicit.cross(&(own + torque * h));
        return explicit - inverse.mul_vec(turned) * (0.5 * h);
    }
    let momentum = Quat::from_scaled_axis(omega * (-0.5 * h)) * inertia.mul_vec(omega) + torque * h;
    // More than about half a turn per step: nothing to resolve, keep the explicit velocity.
    spin_of(&inertia, momentum, explicit, h).unwrap_or(explicit)
}

/// The solution of I ω = exp(−h/2 ω) L, all in world axes, by Newton's method from `start`; none where that finds none.
pub fn spin_of(inertia: &SymMat3, momentum: Vec3, start: Vec3, h: f64) -> Option<Vec3> {
    let mut next = start;
    let mut last = f64::INFINITY;
    for _ in 0..20 {
        let turned = Quat::from_scaled_axis(next * (-0.5 * h)) * momentum;
        let error = inertia.mul_vec(next) - turned;
        // d/dω of exp(−h/2 ω) L is h/2 [L]× to leading order: a Newton step with that slope.
        let slope = inertia.to_matrix() - turned.cross_matrix() * (0.5 * h);
        let step = slope.try_inverse()? * error;
        next -= step;
        // Newton's steps shrink until rounding stops them.
        let size = step.norm();
        if size <= 1e-14 * next.norm() || size >= last {
            break;
        }
        last = size;
    }
    let turned = Quat::from_scaled_axis(next * (-0.5 * h)) * momentum;
    let is_found = (inertia.mul_vec(next) - turned).norm() <= 1e-9 * momentum.norm();
    is_found.then_some(next)
}

/// u ← u_E for the dynamic bodies.
pub fn apply_velocities(world: &mut World, velocity: &[Twist]) {
    let b = &mut world.bodies;
    for (slot, u) in velocity.iter().enumerate() {
        if b.kind[slot] == BodyKind::Dynamic {
            b.velocity[slot] = *u;
        }
    }
}

/// The state before a step, to return to if it fails. Keeps its memory.
#[derive(Default)]
pub struct Saved {
    position: Vec<Vec3>,
    rotation: Vec<Quat>,
    velocity: Vec<Twist>,
    /// The world's own, once the step has made others.
    memory: Vec<ContactMemory>,
    couples: Vec<Vec3>,
    manifolds: Manifolds,
    is_replaced: bool,
    joints: Vec<([f64; 3], Vec3)>,
    drives: Vec<f64>,
    /// The motors that drives move, in their order.
    motors: Vec<Option<Motor>>,
    joint_memory: Vec<RowMemory>,
    memory_step: f64,
}

impl Saved {
    /// Copies what a step changes in place.
    pub fn save(&mut self, world: &World) {
        self.position.clone_from(&world.bodies.position);
        self.rotation.clone_from(&world.bodies.rotation);
        self.velocity.clone_from(&world.bodies.velocity);
        self.is_replaced = false;
        self.joints.clear();
        self.joints
            .extend(world.joints.iter().map(|j| (j.angles, j.force)));
        self.drives.clear();
        self.drives.extend(world.drives.iter().map(|d| d.value));
        self.motors.clear();
        let driven = world.drives.iter().flat_map(|drive| &drive.motors);
        self.motors.extend(driven.map(|driven| {
            let joint = world.joints.get(driven.joint as usize)?;
            joint.axes.get(driven.axis as usize)?.motor
        }));
        self.joint_memory.clone_from(&world.joint_memory);
        self.memory_step = world.memory_step;
    }

    /// Whether bodies stand and move as when it was saved, to the last bit.
    pub fn is_same(&self, world: &World) -> bool {
        let b = &world.bodies;
        (&self.position, &self.rotation, &self.velocity) == (&b.position, &b.rotation, &b.velocity)
    }

    /// Takes the remembered impulses and manifolds, which are about to be replaced by a substep's own; those of the
    /// substeps after the first are nothing to return to. Impulses stay there as well: those that are kept go on from them.
    pub fn take_memory(&mut self, world: &mut World) {
        if !std::mem::replace(&mut self.is_replaced, true) {
            self.swap_memory(world);
            world.memory.clone_from(&self.memory);
            world.couples.clone_from(&self.couples);
        }
    }

    fn swap_memory(&mut self, world: &mut World) {
        std::mem::swap(&mut self.memory, &mut world.memory);
        std::mem::swap(&mut self.couples, &mut world.couples);
        std::mem::swap(&mut self.manifolds, &mut world.manifolds);
    }

    /// Puts it back.
    pub fn restore(&mut self, world: &mut World) {
        world.bodies.position.clone_from(&self.position);
        world.bodies.rotation.clone_from(&self.rotation);
        world.bodies.velocity.clone_from(&self.velocity);
        if std::mem::take(&mut self.is_replaced) {
            self.swap_memory(world);
        }
        for (joint, (angles, force)) in world.joints.iter_mut().zip(&self.joints) {
            (joint.angles, joint.force) = (*angles, *force);
        }
        for (drive, value) in world.drives.iter_mut().zip(&self.drives) {
            drive.value = *value;
        }
        let driven = world.drives.iter().flat_map(|drive| &drive.motors);
        for (driven, motor) in driven.zip(&self.motors) {
            let joint = world.joints.get_mut(driven.joint as usize);
            if let Some(axis) = joint.and_then(|j| j.axes.get_mut(driven.axis as usize)) {
                axis.motor = *motor;
            }
        }
        world.joint_memory.clone_from(&self.joint_memory);
        world.memory_step = self.memory_step;
    }
}
