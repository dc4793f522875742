//! From contacts to the assembled problem: the frame, the friction law and the biases of each, and the
//! impulses to start from; and the memory that carries impulses to the next step.

use rayon::prelude::*;

use super::contact_law::{self, Approach, Restitution};
use super::integrate::NEGLIGIBLE_TURN;
use super::matching::PairMemory;
use crate::math::{Quat, Vec3, rotate_by, tangent};
use crate::problem::law::COUPLES;
use crate::problem::law::{FrictionRow, Law};
use crate::problem::{BIASES, ContactFrame, Contacts, Friction, Problem};
use crate::world::snapshot::is_memorable;
use crate::world::{ContactMaterial, ContactMemory, World};

/// Contacts per unit of parallel work.
const CHUNK: usize = 1024;

/// Assembles the problem's contacts, which were found, and fills `lambda` with the impulses of those that continue one of the
/// last step, as far as they are asked for. The bodies are there already, and the frames of contacts that are not new.
pub fn contacts(world: &World, are_new: bool, problem: &mut Problem, lambda: &mut Vec<f64>) {
    let h = problem.h;
    find_surfaces(world, h, &mut problem.contacts);
    let has_couples = problem.contacts.have_couples();
    let Contacts {
        bodies,
        feature,
        gap,
        frame,
        friction,
        bias,
        couple_bias,
        compliance,
        row_start,
        ..
    } = &mut problem.contacts;
    let (bodies, features, gap, row_start) = (&*bodies, &*feature, &*gap, row_start.as_slice());
    let (friction, compliance) = (&*friction, &*compliance);
    let count = bodies.len();
    bias.resize(count, [0.0; 3]);
    couple_bias.clear();
    if has_couples {
        couple_bias.resize(count, [0.0; COUPLES]);
    }
    lambda.clear();
    lambda.resize(row_start[count] as usize, 0.0);
    let frames = frame.par_chunks_mut(CHUNK);
    frames
        .zip(bias.par_chunks_mut(CHUNK))
        .zip(impulses_by_chunk(row_start, lambda))
        .zip(chunks_or_none(couple_bias, count))
        .enumerate()
        .for_each(|(chunk, (((frame, bias), lambda), couples))| {
            let first = chunk * CHUNK;
            let mut memory = PairMemory::from(world, bodies[first]);
            for run in runs(&bodies[first..first + bias.len()]) {
                let pair = bodies[first + run.start];
                let laws = PairLaws::of(world, pair, h);
                let now = &features[of_pair(bodies, first + run.start)];
                let matching = laws.remembers.then(|| memory.matching(pair, now)).flatten();
                if are_new {
                    laws.set_tangents(&mut frame[run.clone()]);
                }
                for k in run {
                    let own = &friction[first + k];
                    let (axes, arms) = (frame[k].axes(), &frame[k].arms);
                    let last = matching.as_ref();
                    let feature = features[first + k];
                    let last = last.and_then(|m| m.find(world, laws.bodies, feature, arms));
                    let couple = |m| {
                        matching
                            .as_ref()
                            .map_or_else(Vec3::zeros, |of| of.couple(m))
                    };
                    let last = last.map(|m| laws.remembered(m, couple(m), &axes));
                    let held = last.unwrap_or_default();
                    let [compliance, _] = compliance[first + k];
                    let gap = gap[first + k];
                    let all = laws.biases(arms, &axes, own, compliance, gap, &held);
                    let [normal, t1, t2, of_couples @ ..] = all;
                    bias[k] = [normal, t1, t2];
                    if let Some(couple) = couples.get_mut(k) {
                        *couple = of_couples;
                    }
                    if let (Some(last), true) = (last, world.settings.warm_start) {
                        let [start, end] =
                            [k, k + 1].map(|k| row_start[first + k] - row_start[first]);
                        let block = &mut lambda[start as usize..end as usize];
                        block[0] = last.normal;
                        own.rows_for(last.force, last.couple, &mut block[1..]);
                    }
                }
            }
        });
}

/// A list in chunks for so many contacts; empty ones where there is no list.
fn chunks_or_none<T>(list: &mut [T], count: usize) -> Vec<&mut [T]> {
    let mut chunks = list.chunks_mut(CHUNK);
    (0..count.div_ceil(CHUNK))
        .map(|_| chunks.next().unwrap_or_default())
        .collect()
}

/// All contacts of the pair that contact `k` belongs to.
fn of_pair(bodies: &[[u32; 2]], k: usize) -> std::ops::Range<usize> {
    let is_same = |pair: &&[u32; 2]| **pair == bodies[k];
    let before = bodies[..k].iter().rev().take_while(is_same).count();
    let after = bodies[k..].iter().take_while(is_same).count();
    k - before..k + after
}

/// Friction and compliance of every contact, which follow from the two materials, but for friction that depends on where it
/// is, and its first row: how many there are follows from the materials alone.
fn find_surfaces(world: &World, h: f64, contacts: &mut Contacts) {
    let law = world.settings.friction_law;
    let is_slide = |row: &FrictionRow| matches!(row, FrictionRow::Slide { .. });
    // The materials of the last contact, and whether its friction is that of all between these.
    let mut last = None;
    let (mut row, mut rows) = (0, 0);
    contacts.friction.clear();
    contacts.compliance.clear();
    contacts.row_start.clear();
    contacts.row_start.push(row);
    for (pair, frame) in contacts.bodies.iter().zip(&contacts.frame) {
        let materials = pair.map(|b| world.bodies.material[b as usize]);
        if last == Some((materials, true)) {
            contacts.friction.push_again();
            contacts.compliance.push_again();
        } else {
            let surface = material(world, *pair);
            let friction = Friction::of(&surface, law, &frame.arms);
            rows = friction.law.row_count() as u32;
            last = Some((materials, friction.law.rows().iter().all(is_slide)));
            contacts.friction.push(friction);
            contacts.compliance.push([surface.compliance / (h * h); 2]);
        }
        row += rows;
        contacts.row_start.push(row);
    }
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

/// Disjoint spans of Λ for chunks of contacts.
fn impulses_by_chunk<'a>(row_start: &[u32], lambda: &'a mut [f64]) -> Vec<&'a mut [f64]> {
    let mut rest = lambda;
    let count = row_start.len() - 1;
    let mut spans = Vec::with_capacity(count.div_ceil(CHUNK));
    for first in (0..count).step_by(CHUNK) {
        let length = row_start[(first + CHUNK).min(count)] - row_start[first];
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
    /// The two bodies.
    bodies: [usize; 2],
    material: ContactMaterial,
    restitution: Restitution,
    /// How both turn as one (rad/s), and how fast they part because of it (m/s).
    common: Vec3,
    drift: Vec3,
    h: f64,
    /// By what remembered impulses are multiplied to become those of this length of step (-).
    scale: f64,
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
        let spin = [first.angular, second.angular];
        // Rigid contacts ask only for the drift, which is of the second order.
        let least = spin[0].norm_squared().min(spin[1].norm_squared());
        let common =
            if material.compliance == 0.0 && least * (h * h) < NEGLIGIBLE_TURN * NEGLIGIBLE_TURN {
                Vec3::zeros()
            } else {
                contact_law::common_rotation(spin, apart, second.linear - first.linear, h)
            };
        Self {
            world,
            bodies: [i, j],
            material,
            restitution: Restitution {
                normal: material.restitution,
                tangential: material.tangential_restitution,
                threshold: world.settings.restitution_threshold,
            },
            common,
            drift: contact_law::drift(common, apart, h),
            h,
            scale: world.memory_scale(h),
            remembers: world.settings.warm_start || material.compliance > 0.0,
        }
    }

    /// Finds the first tangents of a pair's contacts. Most are of one manifold, with one normal.
    fn set_tangents(&self, frames: &mut [ContactFrame]) {
        let mut last = None;
        for frame in frames {
            let tangent = match last {
                Some((normal, tangent)) if normal == frame.normal => tangent,
                _ => self.tangent(frame.normal),
            };
            frame.tangent = tangent;
            last = Some((frame.normal, tangent));
        }
    }

    /// The first tangent.
    fn tangent(&self, normal: Vec3) -> Vec3 {
        let bodies = &self.world.bodies;
        // An anisotropic surface takes its first tangent along.
        let along = if self.material.is_anisotropic {
            self.bodies.iter().find_map(|slot| {
                let material = &self.world.materials[bodies.material[*slot] as usize];
                let anisotropy = material.anisotropy?;
                Some(bodies.rotation[*slot] * anisotropy.direction)
            })
        } else {
            None
        };
        along
            .and_then(|along| (along - normal * normal.dot(&along)).try_normalize(1e-9))
            .unwrap_or_else(|| tangent(normal))
    }

    /// A remembered impulse in the frame of a contact. The springs of a compliant contact have turned
    /// with the two bodies since.
    fn remembered(&self, m: &ContactMemory, couple: Vec3, axes: &[Vec3; 3]) -> Remembered {
        let scale = self.scale;
        let (mut force, mut couple) = (m.friction * scale, couple * scale);
        if self.material.compliance > 0.0 {
            let turn = Quat::from_scaled_axis(self.common * self.h);
            (force, couple) = (turn * force, turn * couple);
        }
        Remembered {
            normal: m.normal * scale,
            force: [axes[1].dot(&force), axes[2].dot(&force)],
            couple: axes.map(|e| e.dot(&couple)),
        }
    }

    /// Biases of a contact of such friction and compliance (docs/method.md, section 4).
    fn biases(
        &self,
        arms: &[Vec3; 2],
        axes: &[Vec3; 3],
        friction: &Friction,
        compliance: f64,
        gap: f64,
        last: &Remembered,
    ) -> [f64; BIASES] {
        let [i, j] = self.bodies;
        let velocity = &self.world.bodies.velocity;
        let relative = velocity[j].at(arms[1]) - velocity[i].at(arms[0]);
        let stabilisation = &self.world.settings.stabilisation;
        let touches = compliance == 0.0 && gap <= stabilisation.gap_accuracy();
        let at = Approach {
            gap: if touches { gap.min(0.0) } else { gap },
            velocity: axes.map(|e| e.dot(&relative)),
            h: self.h,
        };
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
            self.friction_springs(friction, compliance, last, &mut bias);
        }
        bias
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

/// Stores the impulses for the next step. Bodies have moved for such a time since the midpoint, where the contacts are (s).
pub fn remember(world: &mut World, problem: &Problem, lambda: &[f64], time: f64) {
    let World {
        bodies,
        memory,
        couples,
        ..
    } = world;
    let contacts = &problem.contacts;
    memory.resize(contacts.len(), ContactMemory::default());
    let chunks = memory.par_chunks_mut(CHUNK).enumerate();
    chunks.for_each(|(chunk, memory)| {
        let mut turn = (usize::MAX, Quat::identity());
        for (k, memory) in (chunk * CHUNK..).zip(memory) {
            let pair = contacts.bodies[k];
            let first = pair[0] as usize;
            if turn.0 != first {
                // What the correction of positions has turned since is left out: contacts are told apart by far more.
                let (now, spin) = (&bodies.rotation[first], bodies.velocity[first].angular);
                turn = (first, rotate_by(now, spin, -time).inverse());
            }
            let old = [memory.friction, Vec3::zeros()];
            let (normal, friction, _) = impulses(problem, k, lambda, old);
            *memory = ContactMemory {
                bodies: pair,
                feature: contacts.feature[k],
                local_point: turn.1 * contacts.frame[k].arms[0],
                normal,
                friction,
            };
        }
    });
    let count = if contacts.have_couples() {
        contacts.len()
    } else {
        0
    };
    couples.resize(count, Vec3::zeros());
    let couples = couples.par_iter_mut().with_min_len(CHUNK).enumerate();
    couples.for_each(|(k, couple)| {
        *couple = impulses(problem, k, lambda, [Vec3::zeros(), *couple]).2;
    });
}

/// The normal impulse and the friction of a contact (N s), and its couple (N m s), in the world frame; zero where nothing
/// can be calculated with them. Those that were remembered (`old`) stay as they are where they are the same in the contact's
/// frame: what is kept from step to step else wanders by rounding.
fn impulses(problem: &Problem, k: usize, lambda: &[f64], old: [Vec3; 2]) -> (f64, Vec3, Vec3) {
    let contacts = &problem.contacts;
    let block = &lambda[contacts.rows(k)];
    let ([f1, f2], [m0, m1, m2]) = contacts.friction[k].impulse(&block[1..]);
    let [n, t1, t2] = contacts.frame[k].axes();
    let (mut friction, mut couple) = (t1 * f1 + t2 * f2, n * m0 + t1 * m1 + t2 * m2);
    if [t1, t2].map(|e| e.dot(&old[0])) == [f1, f2] {
        friction = old[0];
    }
    if [n, t1, t2].map(|e| e.dot(&old[1])) == [m0, m1, m2] {
        couple = old[1];
    }
    let [f, m] = [friction, couple].map(<[f64; 3]>::from);
    match is_memorable(&[block[0], f[0], f[1], f[2], m[0], m[1], m[2]]) {
        true => (block[0], friction, couple),
        false => (0.0, Vec3::zeros(), Vec3::zeros()),
    }
}
