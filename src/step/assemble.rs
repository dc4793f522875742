//! From contacts to the assembled problem: first their frames and laws, from which the rows follow, then
//! their biases and the impulses to start from; and the memory that carries impulses to the next step.

use rayon::prelude::*;

use super::contact_law::{self, Approach, Restitution};
use super::matching::PairMemory;
use crate::collide::FoundContacts;
use crate::math::{Quat, Vec3, tangent};
use crate::problem::law::{FrictionRow, Law};
use crate::problem::{BIASES, ContactFrame, Contacts, Friction, Problem};
use crate::world::{ContactMaterial, ContactMemory, World};

/// Contacts per unit of parallel work.
const CHUNK: usize = 1024;

const NO_FRAME: ContactFrame = ContactFrame {
    normal: Vec3::new(0.0, 0.0, 0.0),
    tangent: Vec3::new(0.0, 0.0, 0.0),
    arms: [Vec3::new(0.0, 0.0, 0.0); 2],
};

/// The frames and friction laws of all contacts; the bodies are there already.
pub fn frames(world: &World, found: &FoundContacts, problem: &mut Problem) {
    problem.h = world.settings.substep();
    let contacts = &mut problem.contacts;
    contacts.bodies.clone_from(&found.bodies);
    contacts.gap.clone_from(&found.gap);
    contacts.frame.resize(found.len(), NO_FRAME);
    contacts.friction.resize(found.len(), Friction::NONE);
    let chunks = contacts.frame.par_chunks_mut(CHUNK);
    chunks
        .zip(contacts.friction.par_chunks_mut(CHUNK))
        .enumerate()
        .for_each(|(chunk, (frames, frictions))| {
            let first = chunk * CHUNK;
            for pair in runs(&found.bodies[first..first + frames.len()]) {
                let material = material(world, found.bodies[first + pair.start]);
                for k in pair {
                    frames[k] = frame(world, found, first + k);
                    let law = world.settings.friction_law;
                    frictions[k] = Friction::of(&material, law, &frames[k].arms);
                }
            }
        });
}

/// Runs of contacts between the same two bodies.
fn runs(bodies: &[[u32; 2]]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut end = 0;
    bodies.chunk_by(|a, b| a == b).map(move |run| {
        let start = end;
        end += run.len();
        start..end
    })
}

/// The surface parameters of two bodies' contacts.
fn material(world: &World, pair: [u32; 2]) -> ContactMaterial {
    let [a, b] = pair.map(|b| &world.materials[world.bodies.material[b as usize] as usize]);
    a.combine(b)
}

/// Where contact `k` is, and how its tangents lie.
fn frame(world: &World, found: &FoundContacts, k: usize) -> ContactFrame {
    let bodies = &world.bodies;
    let (point, normal) = (found.point[k], found.normal[k]);
    let pair = found.bodies[k].map(|b| b as usize);
    // An anisotropic surface takes its first tangent along.
    let along = pair.iter().find_map(|slot| {
        let material = &world.materials[bodies.material[*slot] as usize];
        let anisotropy = material.anisotropy?;
        Some(bodies.rotation[*slot] * anisotropy.direction)
    });
    let tangent = along
        .and_then(|along| (along - normal * normal.dot(&along)).try_normalize(1e-9))
        .unwrap_or_else(|| tangent(normal));
    ContactFrame {
        normal,
        tangent,
        arms: pair.map(|slot| point - bodies.position[slot]),
    }
}

/// The biases and compliances of all contacts, and in `lambda` the impulses of those that continue one
/// of the last step, as far as they are asked for. The problem's rows are numbered already.
pub fn laws(world: &World, found: &FoundContacts, problem: &mut Problem, lambda: &mut Vec<f64>) {
    lambda.clear();
    lambda.resize(problem.row_count(), 0.0);
    let mut contacts = std::mem::take(&mut problem.contacts);
    let mut bias = std::mem::take(&mut contacts.bias);
    let mut compliance = std::mem::take(&mut contacts.compliance);
    bias.resize(found.len(), [0.0; BIASES]);
    compliance.resize(found.len(), [0.0; 2]);
    let starts = impulses_by_chunk(&contacts, lambda);
    bias.par_chunks_mut(CHUNK)
        .zip(compliance.par_chunks_mut(CHUNK))
        .zip(starts)
        .enumerate()
        .for_each(|(chunk, ((bias, compliance), lambda))| {
            let first = chunk * CHUNK;
            let offset = contacts.row_start[first] as usize;
            let mut memory = PairMemory::from(world, contacts.bodies[first]);
            for pair in runs(&contacts.bodies[first..first + bias.len()]) {
                let (begin, end) = (first + pair.start, first + pair.end);
                let laws = PairLaws::of(world, contacts.bodies[begin], problem.h);
                let matching = match laws.remembers {
                    true => memory.matching(found, begin),
                    false => None,
                };
                for k in begin..end {
                    let last = matching.as_ref().and_then(|m| m.find(world, found, k));
                    let last = last.map(|m| laws.remembered(m, &contacts, k));
                    (bias[k - first], compliance[k - first]) =
                        laws.rows(&contacts, k, &last.unwrap_or_default());
                    if let (Some(last), true) = (last, world.settings.warm_start) {
                        let rows = contacts.rows(k);
                        let block = &mut lambda[rows.start - offset..rows.end - offset];
                        block[0] = last.normal;
                        let friction = &contacts.friction[k];
                        friction.rows_for(last.force, last.couple, &mut block[1..]);
                    }
                }
            }
        });
    contacts.bias = bias;
    contacts.compliance = compliance;
    problem.contacts = contacts;
}

/// Disjoint spans of Λ for chunks of contacts.
fn impulses_by_chunk<'a>(contacts: &Contacts, lambda: &'a mut [f64]) -> Vec<&'a mut [f64]> {
    let mut rest = lambda;
    let mut spans = Vec::with_capacity(contacts.len().div_ceil(CHUNK));
    for first in (0..contacts.len()).step_by(CHUNK) {
        let last = (first + CHUNK).min(contacts.len());
        let length = contacts.row_start[last] - contacts.row_start[first];
        let (span, tail) = rest.split_at_mut(length as usize);
        spans.push(span);
        rest = tail;
    }
    spans
}

/// The last step's impulse in the frame of a contact that continues it (N s, N m s).
#[derive(Clone, Copy, Default)]
struct Remembered {
    normal: f64,
    /// Along t₁ and t₂.
    force: [f64; 2],
    /// About n, t₁ and t₂.
    couple: [f64; 3],
}

/// What the laws of all contacts of two bodies share.
struct PairLaws<'a> {
    world: &'a World,
    material: ContactMaterial,
    restitution: Restitution,
    /// How both turn as one (rad/s), and how fast they part because of it (m/s).
    common: Vec3,
    drift: Vec3,
    h: f64,
    /// Whether somebody asks for the last step's impulses: a warm start, or springs.
    remembers: bool,
}

impl<'a> PairLaws<'a> {
    fn of(world: &'a World, pair: [u32; 2], h: f64) -> Self {
        let [i, j] = pair.map(|b| b as usize);
        let bodies = &world.bodies;
        let material = material(world, pair);
        let [first, second] = [bodies.velocity[i], bodies.velocity[j]];
        let apart = bodies.position[j] - bodies.position[i];
        let common = contact_law::common_rotation(
            [first.angular, second.angular],
            apart,
            second.linear - first.linear,
            h,
        );
        Self {
            world,
            material,
            restitution: Restitution {
                normal: material.restitution,
                tangential: material.tangential_restitution,
                threshold: world.settings.restitution_threshold,
            },
            common,
            drift: contact_law::drift(common, apart, h),
            h,
            remembers: world.settings.warm_start || material.compliance > 0.0,
        }
    }

    /// A remembered impulse in the frame of contact `k`. The springs of a compliant contact have turned
    /// with the two bodies since.
    fn remembered(&self, m: &ContactMemory, contacts: &Contacts, k: usize) -> Remembered {
        let axes = contacts.frame[k].axes();
        let (mut force, mut couple) = (m.friction, m.couple);
        if self.material.compliance > 0.0 {
            let turn = Quat::from_scaled_axis(self.common * self.h);
            (force, couple) = (turn * force, turn * couple);
        }
        Remembered {
            normal: m.normal,
            force: [axes[1].dot(&force), axes[2].dot(&force)],
            couple: axes.map(|e| e.dot(&couple)),
        }
    }

    /// Biases and compliances of contact `k` (the table of laws in section 2).
    fn rows(&self, contacts: &Contacts, k: usize, last: &Remembered) -> ([f64; BIASES], [f64; 2]) {
        let frame = &contacts.frame[k];
        let [i, j] = contacts.bodies[k].map(|b| b as usize);
        let velocity = &self.world.bodies.velocity;
        let relative = velocity[j].at(frame.arms[1]) - velocity[i].at(frame.arms[0]);
        let axes = frame.axes();
        let at = Approach {
            gap: contacts.gap[k],
            velocity: axes.map(|e| e.dot(&relative)),
            h: self.h,
        };
        let stabilisation = &self.world.settings.stabilisation;
        let compliance = self.material.compliance / (self.h * self.h);
        let springs = compliance > 0.0 && at.gap <= 0.0;
        let mut bias = [0.0; BIASES];
        if contact_law::is_closed(&at, &self.restitution) {
            bias[..3].copy_from_slice(&contact_law::impact(&at, &self.restitution));
            if springs {
                let held = compliance * last.normal;
                bias[0] = contact_law::spring(&at, compliance, last.normal, bias[0]);
                bias[0] += contact_law::baumgarte(stabilisation, at.gap + self.h * held, self.h);
            } else if compliance == 0.0 {
                bias[0] += contact_law::baumgarte(stabilisation, at.gap, self.h);
            }
        } else {
            bias[0] = contact_law::speculative(&at);
        }
        if self.drift != Vec3::zeros() {
            for (bias, e) in bias.iter_mut().zip(axes) {
                *bias += e.dot(&self.drift);
            }
        }
        if compliance > 0.0 {
            self.friction_springs(&contacts.friction[k], compliance, last, &mut bias);
        }
        (bias, [compliance; 2])
    }

    fn friction_springs(
        &self,
        friction: &Friction,
        compliance: f64,
        last: &Remembered,
        bias: &mut [f64; BIASES],
    ) {
        let [_, t1, t2, couples @ ..] = bias;
        let share = friction.share();
        *t1 += contact_law::friction_spring(compliance, share * last.force[0]);
        *t2 += contact_law::friction_spring(compliance, share * last.force[1]);
        let turns = friction.law.rows().iter().filter_map(|row| match row {
            FrictionRow::Turn { axis } => Some(*axis),
            FrictionRow::Slide { .. } => None,
        });
        for (bias, axis) in couples.iter_mut().zip(turns) {
            let impulse = last.couple[axis] / friction.length;
            *bias += contact_law::friction_spring(compliance, impulse);
        }
    }
}

/// Stores the impulses for the next step.
pub fn remember(world: &mut World, found: &FoundContacts, problem: &Problem, lambda: &[f64]) {
    let World { bodies, memory, .. } = world;
    memory.clear();
    let contacts = &problem.contacts;
    (0..found.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|k| {
            let first = found.bodies[k][0] as usize;
            let frame = &contacts.frame[k];
            let block = &lambda[contacts.rows(k)];
            let ([f1, f2], [m0, m1, m2]) = contacts.friction[k].impulse(&block[1..]);
            let [n, t1, t2] = frame.axes();
            ContactMemory {
                bodies: found.bodies[k],
                feature: found.feature[k],
                local_point: bodies.rotation[first].inverse() * frame.arms[0],
                normal: block[0],
                friction: t1 * f1 + t2 * f2,
                couple: n * m0 + t1 * m1 + t2 * m2,
            }
        })
        .collect_into_vec(memory);
}
