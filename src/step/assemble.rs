//! From contacts to the assembled problem, and the memory that carries impulses to the next step.

use rayon::prelude::*;

use super::friction_law;
use crate::collide::FoundContacts;
use crate::math::{Quat, Vec3, tangent};
use crate::problem::{ContactFrame, Friction, FrictionLaw, Problem, tangential};
use crate::world::{ContactMemory, Settings, Stabilisation, World};

/// Contacts per unit of parallel work.
const CHUNK: usize = 1024;
/// A contact without a namesake takes the impulse of one that was this near to it, as a share of
/// the smaller body's bounding radius.
const NEAR: f64 = 0.1;

const NO_CONTACT: Contact = Contact {
    frame: ContactFrame {
        normal: Vec3::new(0.0, 0.0, 0.0),
        tangent: Vec3::new(0.0, 0.0, 0.0),
        arms: [Vec3::new(0.0, 0.0, 0.0); 2],
    },
    friction: Friction {
        law: FrictionLaw::Disc,
        mu: [0.0; 2],
        spin_radius: 0.0,
    },
    bias: [0.0; 4],
    compliance: 0.0,
};

struct Contact {
    frame: ContactFrame,
    friction: Friction,
    bias: [f64; 4],
    /// C of all rows (1/kg).
    compliance: f64,
}

/// Fills the problem's contacts. The bodies are there already.
pub fn contacts(world: &World, found: &FoundContacts, problem: &mut Problem) {
    problem.h = world.settings.substep();
    let c = &mut problem.contacts;
    let n = found.len();
    c.bodies.clone_from(&found.bodies);
    c.gap.clone_from(&found.gap);
    c.compliance.resize(n, [0.0; 2]);
    c.frame.resize(n, NO_CONTACT.frame);
    c.friction.resize(n, NO_CONTACT.friction);
    c.bias.resize(n, NO_CONTACT.bias);
    c.frame
        .par_chunks_mut(CHUNK)
        .zip(c.friction.par_chunks_mut(CHUNK))
        .zip(c.bias.par_chunks_mut(CHUNK))
        .zip(c.compliance.par_chunks_mut(CHUNK))
        .enumerate()
        .for_each(|(chunk, (((frame, friction), bias), compliance))| {
            for k in 0..frame.len() {
                let contact = contact(world, found, chunk * CHUNK + k);
                frame[k] = contact.frame;
                friction[k] = contact.friction;
                bias[k] = contact.bias;
                compliance[k] = [contact.compliance; 2];
            }
        });
}

/// Last step's impulses into Λ, where the contact is the same; zero elsewhere. Left out where nobody
/// asks for them: without warm start, the springs of compliant contacts alone remember.
pub fn recall(world: &World, found: &FoundContacts, problem: &Problem, lambda: &mut Vec<f64>) {
    lambda.clear();
    lambda.resize(problem.row_count(), 0.0);
    let is_compliant = || problem.contacts.compliance.iter().any(|[_, ct]| *ct > 0.0);
    if world.settings.warm_start || is_compliant() {
        last_impulses(world, found, problem, lambda);
    }
}

/// Λ to start from: as recalled, with `rows` for the general rows; or zero.
pub fn start(world: &World, problem: &Problem, rows: &[f64], lambda: &mut [f64]) {
    if world.settings.warm_start {
        lambda[problem.contact_rows()..].copy_from_slice(rows);
    } else {
        lambda.fill(0.0);
    }
}

/// The biases of compliant contacts, from last step's impulses. Where bodies overlap,
/// w_N = min(γ_N, max(g/h, −C Λ_N of the last step)) + C Λ_N: g/h is where the spring of the last force
/// would be, and it never pushes faster out than that force lets it. w_T = γ_T + C (Λ_T − Λ_T of the last
/// step): a spring in the tangential plane that slides along where friction does not hold it. The drift of
/// bodies that turn as one, and Baumgarte's push for what no spring holds, are added to w_N.
pub fn hold_springs(world: &World, problem: &mut Problem, lambda: &[f64]) {
    let h = problem.h;
    let contacts = &mut problem.contacts;
    for c in 0..contacts.len() {
        let [cn, ct] = contacts.compliance[c];
        if ct == 0.0 {
            continue;
        }
        let block = &lambda[contacts.rows(c)];
        let gap = contacts.gap[c];
        if gap <= 0.0 {
            let held = cn * block[0];
            let parting = contacts.frame[c]
                .normal
                .dot(&drift(world, contacts.bodies[c]));
            let bias = &mut contacts.bias[c][0];
            *bias = bias.min((gap / h).max(-held))
                + baumgarte(&world.settings, gap + h * held)
                + parting;
        }
        let law = contacts.friction[c].law;
        let share = match law {
            FrictionLaw::Pyramid { sides } => 4.0 / f64::from(sides),
            _ => 1.0,
        };
        let [f1, f2] = tangential(law, &block[1..]);
        let bias = &mut contacts.bias[c];
        bias[1] -= ct * share * f1;
        bias[2] -= ct * share * f2;
        if law == FrictionLaw::Contensou {
            bias[3] -= ct * block[3];
        }
    }
}

/// Last step's impulses of the contacts that are still there.
fn last_impulses(world: &World, found: &FoundContacts, problem: &Problem, lambda: &mut [f64]) {
    if world.memory.is_empty() {
        return;
    }
    let contacts = &problem.contacts;
    let memory = &world.memory;
    // Disjoint spans of Λ for chunks of contacts.
    let mut rest = &mut lambda[..problem.contact_rows()];
    let mut spans = Vec::with_capacity(contacts.len().div_ceil(CHUNK));
    for first in (0..contacts.len()).step_by(CHUNK) {
        let last = (first + CHUNK).min(contacts.len());
        let length = (contacts.row_start[last] - contacts.row_start[first]) as usize;
        let (span, tail) = rest.split_at_mut(length);
        spans.push((first, last, span));
        rest = tail;
    }
    spans.into_par_iter().for_each(|(first, last, span)| {
        let mut at = memory.partition_point(|m| m.bodies < contacts.bodies[first]);
        let offset = contacts.row_start[first] as usize;
        let mut begin = first;
        while begin < last {
            let pair = contacts.bodies[begin];
            // A pair's contacts may straddle two chunks: look at all of them for the matching.
            let end = begin
                + found.bodies[begin..last]
                    .iter()
                    .take_while(|p| **p == pair)
                    .count();
            while at < memory.len() && memory[at].bodies < pair {
                at += 1;
            }
            let old = memory[at..].iter().take_while(|m| m.bodies == pair).count();
            let old = &memory[at..at + old];
            if let [only] = old
                && end == begin + 1
                && only.feature == found.feature[begin]
            {
                // By far the most frequent case: one contact then, one now.
                let rows = contacts.rows(begin);
                let block = &mut span[rows.start - offset..rows.end - offset];
                start_from(only, world, problem, begin, block);
            } else if !old.is_empty() {
                let matching = Matching::new(old, pair_features(found, begin, pair));
                for k in begin..end {
                    if let Some(m) = matching.find(world, found, k) {
                        let rows = contacts.rows(k);
                        let block = &mut span[rows.start - offset..rows.end - offset];
                        start_from(m, world, problem, k, block);
                    }
                }
            }
            begin = end;
        }
    });
}

/// Stores the impulses for the next step.
pub fn remember(world: &mut World, found: &FoundContacts, problem: &Problem, lambda: &[f64]) {
    let World { bodies, memory, .. } = world;
    memory.clear();
    (0..found.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|k| {
            let first = found.bodies[k][0] as usize;
            let block = &lambda[problem.contacts.rows(k)];
            let law = problem.contacts.friction[k].law;
            let [_, t1, t2] = problem.contacts.frame[k].axes();
            let [f1, f2] = tangential(law, &block[1..]);
            ContactMemory {
                bodies: found.bodies[k],
                feature: found.feature[k],
                local_point: bodies.rotation[first].inverse() * problem.contacts.frame[k].arms[0],
                normal: block[0],
                friction: t1 * f1 + t2 * f2,
                spin: if law == FrictionLaw::Contensou {
                    block[3]
                } else {
                    0.0
                },
            }
        })
        .collect_into_vec(memory);
}

/// One contact's frame, law and biases (the table of laws in section 2).
fn contact(world: &World, found: &FoundContacts, k: usize) -> Contact {
    let bodies = &world.bodies;
    let settings = &world.settings;
    let [i, j] = found.bodies[k].map(|b| b as usize);
    let (point, normal, gap) = (found.point[k], found.normal[k], found.gap[k]);
    let [a, b] = [i, j].map(|slot| &world.materials[bodies.material[slot] as usize]);
    let material = a.combine(b);
    let anisotropy = a
        .anisotropy
        .map(|x| (i, x))
        .or(b.anisotropy.map(|x| (j, x)));
    let tangent = anisotropy
        .and_then(|(slot, x)| {
            let along = bodies.rotation[slot] * x.direction;
            (along - normal * normal.dot(&along)).try_normalize(1e-9)
        })
        .unwrap_or_else(|| tangent(normal));
    let frame = ContactFrame {
        normal,
        tangent,
        arms: [point - bodies.position[i], point - bodies.position[j]],
    };

    let relative = bodies.velocity[j].at(frame.arms[1]) - bodies.velocity[i].at(frame.arms[0]);
    let start = frame.axes().map(|e| e.dot(&relative));
    let h = settings.substep();
    let fast = start[0] < -settings.restitution_threshold;
    let bounces = material.restitution > 0.0 && fast && gap + h * start[0] < 0.0;
    let unilateral = gap <= 0.0 || bounces;
    let mut bias = [0.0; 4];
    if unilateral {
        if fast || settings.restitution_threshold == 0.0 {
            bias[0] = material.restitution * start[0];
        }
        if material.compliance == 0.0 {
            bias[0] += baumgarte(settings, gap);
        }
        bias[1] = material.tangential_restitution * start[1];
        bias[2] = material.tangential_restitution * start[2];
    } else {
        bias[0] = gap / h;
    }
    let drift = drift(world, found.bodies[k]);
    if drift != Vec3::zeros() {
        // `hold_springs` adds the normal's part where there is a spring.
        let skip = usize::from(material.compliance > 0.0 && gap <= 0.0);
        for (bias, e) in bias.iter_mut().zip(frame.axes()).skip(skip) {
            *bias += e.dot(&drift);
        }
    }
    Contact {
        frame,
        friction: Friction {
            law: friction_law(
                settings.friction_law,
                anisotropy.is_some(),
                material.spin_radius,
            ),
            mu: material.friction,
            spin_radius: material.spin_radius,
        },
        bias,
        compliance: material.compliance / (h * h),
    }
}

/// How two bodies turn as one (rad/s): the rotation that both of them share with the line between their
/// centres. A body that rolls on one at rest has none of it, and neither have two that roll side by side.
fn common_rotation(world: &World, [i, j]: [u32; 2]) -> Vec3 {
    let bodies = &world.bodies;
    let [i, j] = [i as usize, j as usize];
    let [first, second] = [bodies.velocity[i], bodies.velocity[j]];
    let both = shared(first.angular, second.angular);
    if both == Vec3::zeros() {
        return both;
    }
    // The line half a step ago: there the last step's motion along a circle was at right angles to it.
    let speed = second.linear - first.linear;
    let line = bodies.position[j] - bodies.position[i] - speed * (0.5 * world.settings.substep());
    let square = line.norm_squared();
    if square == 0.0 {
        return both;
    }
    // A rotation about the line does not turn it.
    let about = line * (line.dot(&both) / square);
    about + shared(both - about, line.cross(&speed) / square)
}

/// The slower one of two rotations, as far as the faster one has it, too.
fn shared(first: Vec3, second: Vec3) -> Vec3 {
    let (slow, fast) = if first.norm_squared() <= second.norm_squared() {
        (first, second)
    } else {
        (second, first)
    };
    let square = slow.norm_squared();
    if square == 0.0 {
        return Vec3::zeros();
    }
    slow * (slow.dot(&fast) / square).clamp(0.0, 1.0)
}

/// How fast two bodies that turn as one part within a step (m/s), because their centres move along
/// tangents and they themselves along circles. Without this term friction would hold on to what is not
/// there, and a chain wound on a drum would tighten from step to step.
fn drift(world: &World, pair: [u32; 2]) -> Vec3 {
    let common = common_rotation(world, pair);
    if common == Vec3::zeros() {
        return common;
    }
    let h = world.settings.substep();
    let [i, j] = pair.map(|b| world.bodies.position[b as usize]);
    parting(common * h, j - i) / h
}

/// R with apart + turn × apart = exp(turn) apart + R.
fn parting(turn: Vec3, apart: Vec3) -> Vec3 {
    let square = turn.norm_squared();
    let angle = square.sqrt();
    // 1 − sin θ/θ and (1 − cos θ)/θ².
    let (along, across) = if angle < 1e-2 {
        (
            square / 6.0 * (1.0 - square / 20.0),
            0.5 * (1.0 - square / 12.0),
        )
    } else {
        (1.0 - angle.sin() / angle, (1.0 - angle.cos()) / square)
    };
    let once = turn.cross(&apart);
    once * along - turn.cross(&once) * across
}

fn baumgarte(settings: &Settings, gap: f64) -> f64 {
    match settings.stabilisation {
        Stabilisation::Baumgarte {
            beta,
            slop,
            max_speed,
        } if gap < -slop => (beta * (gap + slop) / settings.substep()).max(-max_speed),
        _ => 0.0,
    }
}

/// All features of the pair that contact `k` belongs to.
fn pair_features(found: &FoundContacts, k: usize, pair: [u32; 2]) -> &[u64] {
    let before = found.bodies[..k]
        .iter()
        .rev()
        .take_while(|p| **p == pair)
        .count();
    let after = found.bodies[k..].iter().take_while(|p| **p == pair).count();
    &found.feature[k - before..k + after]
}

/// Most remembered contacts of one pair whose own features are gone, among which a contact without a
/// namesake looks for one to continue. A body that slides over a fine mesh leaves too many to compare.
const MOST_ORPHANS: usize = 32;

/// Pairs of up to this many contacts are matched by looking at all of them, without allocating.
const FEW: usize = 16;

/// How to find one of many remembered contacts.
struct Index {
    /// Indices of the remembered contacts by feature.
    by_feature: Vec<(u64, usize)>,
    /// Indices of those whose feature is gone.
    orphans: Vec<usize>,
}

/// One pair's remembered contacts, ready for matching.
struct Matching<'a> {
    old: &'a [ContactMemory],
    /// The features that the pair has now.
    new: &'a [u64],
    /// Only where there are many.
    index: Option<Index>,
}

impl<'a> Matching<'a> {
    fn new(old: &'a [ContactMemory], new: &'a [u64]) -> Self {
        let index = (old.len().max(new.len()) > FEW).then(|| {
            let mut by_feature: Vec<(u64, usize)> = old
                .iter()
                .enumerate()
                .map(|(k, m)| (m.feature, k))
                .collect();
            by_feature.sort_unstable();
            let mut now = new.to_vec();
            now.sort_unstable();
            let mut orphans: Vec<usize> = (0..old.len())
                .filter(|k| now.binary_search(&old[*k].feature).is_err())
                .collect();
            if orphans.len() > MOST_ORPHANS {
                orphans.clear();
            }
            Index {
                by_feature,
                orphans,
            }
        });
        Self { old, new, index }
    }

    /// The remembered contact that `k` continues: the nearest one of the same feature, else a near
    /// one whose own feature is gone.
    fn find(&self, world: &World, found: &FoundContacts, k: usize) -> Option<&'a ContactMemory> {
        let [i, j] = found.bodies[k].map(|b| b as usize);
        let bodies = &world.bodies;
        let local = bodies.rotation[i].inverse() * (found.point[k] - bodies.position[i]);
        let distance = |m: &ContactMemory| (m.local_point - local).norm_squared();
        let nearest = |candidates: &mut dyn Iterator<Item = &'a ContactMemory>| {
            candidates.min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let feature = found.feature[k];
        let (old, new) = (self.old, self.new);
        let same = match &self.index {
            None => nearest(&mut old.iter().filter(|m| m.feature == feature)),
            Some(Index { by_feature, .. }) => {
                let first = by_feature.partition_point(|(f, _)| *f < feature);
                let mut same = by_feature[first..]
                    .iter()
                    .take_while(|(f, _)| *f == feature)
                    .map(|(_, k)| &old[*k]);
                nearest(&mut same)
            }
        };
        if same.is_some() {
            return same;
        }
        let orphan = match &self.index {
            None => nearest(&mut old.iter().filter(|m| !new.contains(&m.feature))),
            Some(Index { orphans, .. }) => nearest(&mut orphans.iter().map(|k| &old[*k])),
        };
        let size = [i, j]
            .iter()
            .filter_map(|slot| bodies.shape[*slot].as_ref())
            .map(|s| s.bounding_radius())
            .fold(f64::INFINITY, f64::min);
        orphan.filter(|m| distance(m) < (NEAR * size).powi(2))
    }
}

/// Writes a remembered impulse in the new frame of contact `k`. The spring of a compliant contact has
/// turned with the two bodies since.
fn start_from(m: &ContactMemory, world: &World, problem: &Problem, k: usize, block: &mut [f64]) {
    let contacts = &problem.contacts;
    let law = contacts.friction[k].law;
    let [_, t1, t2] = contacts.frame[k].axes();
    let mut friction = m.friction;
    if contacts.compliance[k][1] > 0.0 {
        let turn = common_rotation(world, contacts.bodies[k]) * problem.h;
        friction = Quat::from_scaled_axis(turn) * friction;
    }
    let f = [t1.dot(&friction), t2.dot(&friction)];
    block[0] = m.normal;
    match law {
        FrictionLaw::Pyramid { sides } => {
            // Σ d dᵀ over the k/2 directions is k/4 times the identity.
            let share = 4.0 / f64::from(sides);
            for (k, b) in block[1..].iter_mut().enumerate() {
                let d = FrictionLaw::pyramid_direction(sides, k);
                *b = share * (d[0] * f[0] + d[1] * f[1]);
            }
        }
        _ => {
            block[1] = f[0];
            block[2] = f[1];
            if law == FrictionLaw::Contensou {
                block[3] = m.spin;
            }
        }
    }
}
