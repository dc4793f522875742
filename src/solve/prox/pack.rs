//! The problem, packed for sweeps: islands one after the other, each with its own bodies, contacts
//! and rows side by side, so that islands can be swept in parallel without sharing anything.

use rayon::prelude::*;

use super::block::{Extra, PackedBody, PackedContact, PackedEntry, PackedRow};
use crate::math::{Twist, Vec3};
use crate::problem::islands::NO_ISLAND;
use crate::problem::{FrictionLaw, Problem};

/// Contacts per unit of parallel work.
const CHUNK: usize = 512;

const NO_BODY: u32 = u32::MAX;

/// A packed problem: what does not change while it is solved. Keeps its memory.
#[derive(Default)]
pub struct Packed {
    pub contacts: Vec<PackedContact>,
    /// Empty where every contact is a disc without compliance.
    pub extra: Vec<Extra>,
    pub rows: Vec<PackedRow>,
    pub entries: Vec<PackedEntry>,
    /// Whether no contact has friction; then friction rows and their R are zero and not swept.
    pub frictionless: bool,
    /// u_free of every packed body.
    pub free: Vec<Twist>,
    /// M⁻¹ of every packed body, with the velocity zero.
    pub template: Vec<PackedBody>,
    /// First packed body, contact, row and impulse of each island, and one past the last. The last
    /// body of an island is a dummy without mass: it stands for all bodies that impulses do not move.
    pub body_start: Vec<u32>,
    pub contact_start: Vec<u32>,
    pub row_start: Vec<u32>,
    pub lambda_start: Vec<u32>,
    /// Packed place of each of the problem's bodies.
    place: Vec<u32>,
}

/// Where a body of the problem is packed, within its island.
fn local(packed: &Packed, island: usize, body: u32) -> u32 {
    match packed.place[body as usize] {
        NO_BODY => packed.body_start[island + 1] - 1 - packed.body_start[island],
        place => place - packed.body_start[island],
    }
}

impl Packed {
    /// Number of islands.
    pub fn islands(&self) -> usize {
        self.body_start.len().saturating_sub(1)
    }

    /// Number of impulses.
    pub fn lambda_len(&self) -> usize {
        self.lambda_start.last().map_or(0, |n| *n as usize)
    }

    /// The impulses of an island.
    pub fn impulses(&self, island: usize) -> std::ops::Range<usize> {
        self.lambda_start[island] as usize..self.lambda_start[island + 1] as usize
    }

    /// Whether every contact is a disc without compliance.
    pub fn is_uniform(&self) -> bool {
        self.extra.is_empty()
    }

    /// The rows of packed contact `c` of `island` within the island's Λ.
    #[inline]
    pub fn block(&self, island: usize, c: usize) -> std::ops::Range<usize> {
        if self.is_uniform() {
            let k = c - self.contact_start[island] as usize;
            3 * k..3 * k + 3
        } else {
            let first = self.extra[c].offset as usize;
            first..first + self.extra[c].law.rows()
        }
    }

    /// Where an island's general rows begin within its Λ.
    #[inline]
    pub fn first_row(&self, island: usize) -> usize {
        let all = (self.lambda_start[island + 1] - self.lambda_start[island]) as usize;
        all - (self.row_start[island + 1] - self.row_start[island]) as usize
    }

    /// Packs a problem. R = α/diagonal (the local R-factors of Nützi 4.4.2).
    pub fn pack(&mut self, problem: &Problem, alpha: f64) {
        let islands = problem.islands.len();
        let contacts = &problem.contacts;
        let uniform = contacts.friction.iter().all(|f| f.law == FrictionLaw::Disc)
            && contacts.compliance.iter().all(|c| *c == [0.0; 2]);

        self.frictionless = uniform && contacts.friction.iter().all(|f| f.mu == [0.0; 2]);

        // Bodies, with a dummy behind each island.
        self.place.clear();
        self.place.resize(problem.bodies.len(), NO_BODY);
        self.free.clear();
        self.template.clear();
        self.body_start.clear();
        self.body_start.push(0);
        for island in 0..islands {
            for &b in problem.islands.bodies.of(island) {
                let b = b as usize;
                self.place[b] = self.free.len() as u32;
                self.free.push(problem.bodies.free_velocity[b]);
                self.template.push(PackedBody {
                    velocity: Twist::ZERO,
                    inverse_inertia: problem.bodies.inverse_inertia[b],
                    inverse_mass: problem.bodies.inverse_mass[b],
                });
            }
            self.free.push(Twist::ZERO);
            self.template.push(PackedBody::default());
            self.body_start.push(self.free.len() as u32);
        }

        // Rows of Λ.
        self.contact_start
            .clone_from(&problem.islands.contacts.start);
        self.row_start.clone_from(&problem.islands.rows.start);
        self.lambda_start.clear();
        self.lambda_start.push(0);
        let mut length = 0;
        for island in 0..islands {
            let of = problem.islands.contacts.of(island);
            length += if uniform {
                3 * of.len()
            } else {
                of.iter().map(|c| contacts.rows(*c as usize).len()).sum()
            };
            length += problem.islands.rows.of(island).len();
            self.lambda_start.push(length as u32);
        }

        self.pack_contacts(problem, alpha, uniform);
        self.pack_rows(problem, alpha);
    }

    fn pack_contacts(&mut self, problem: &Problem, alpha: f64, uniform: bool) {
        let index = &problem.islands.contacts.index;
        let mut packed = std::mem::take(&mut self.contacts);
        packed.clear();
        index
            .par_iter()
            .with_min_len(CHUNK)
            .map(|c| self.contact(problem, *c as usize, alpha))
            .collect_into_vec(&mut packed);
        self.contacts = packed;
        self.extra.clear();
        if uniform {
            return;
        }
        for island in 0..self.islands() {
            let mut offset = 0;
            for &c in problem.islands.contacts.of(island) {
                let c = c as usize;
                let mut extra = packed_extra(problem, c, offset);
                extra.spin_bias += extra.spin_radius * immovable_spin(problem, c);
                self.extra.push(extra);
                offset += extra.law.rows() as u32;
            }
        }
    }

    fn contact(&self, problem: &Problem, c: usize, alpha: f64) -> PackedContact {
        let contacts = &problem.contacts;
        let pair = contacts.bodies[c];
        let of = &problem.islands.of_body;
        let island = of[pair[0] as usize].min(of[pair[1] as usize]);
        debug_assert_ne!(
            island, NO_ISLAND,
            "grouped contacts touch a body that moves"
        );
        let axes = contacts.frame[c].axes();
        let outside = immovable_velocity(problem, c);
        let mut packed = if self.frictionless {
            let frame = &contacts.frame[c];
            let diagonal = problem.contact_coupling(c, axes[0], axes[0]);
            PackedContact {
                bodies: pair,
                normal: frame.normal,
                tangent: frame.tangent,
                arms: frame.arms,
                bias: [contacts.bias[c][0], 0.0, 0.0],
                r: [alpha / diagonal, 0.0],
                inverse_r: [diagonal / alpha, 0.0],
                coupling: [0.0; 2],
                mu: 0.0,
            }
        } else {
            packed_contact(problem, c, alpha)
        };
        packed.bodies = pair.map(|b| local(self, island as usize, b));
        let rows = if self.frictionless { 1 } else { 3 };
        for (b, e) in packed.bias[..rows].iter_mut().zip(axes) {
            *b += e.dot(&outside);
        }
        packed
    }

    fn pack_rows(&mut self, problem: &Problem, alpha: f64) {
        self.rows.clear();
        self.entries.clear();
        for island in 0..self.islands() {
            for &r in problem.islands.rows.of(island) {
                let r = r as usize;
                let first = self.entries.len() as u32;
                let mut bias = problem.rows.bias[r];
                for (body, jacobian) in problem.rows.entries(r) {
                    if problem.bodies.is_dynamic(body) {
                        let body = local(self, island, body as u32);
                        self.entries.push(PackedEntry {
                            body,
                            jacobian: *jacobian,
                        });
                    } else {
                        let u = &problem.bodies.free_velocity[body];
                        bias += jacobian.linear.dot(&u.linear) + jacobian.angular.dot(&u.angular);
                    }
                }
                let diagonal = problem.row_diagonal(r);
                self.rows.push(PackedRow {
                    entries: [first, self.entries.len() as u32],
                    bounds: problem.rows.bounds[r],
                    bias,
                    compliance: problem.rows.compliance[r],
                    r: alpha / diagonal,
                    inverse_r: diagonal / alpha,
                });
            }
        }
    }

    /// Whether every number that a sweep reads is finite. A projection would hide a NaN.
    pub fn is_finite(&self) -> bool {
        // A sum is finite only if every term is.
        let contact = |c: &PackedContact| {
            c.normal.sum()
                + c.tangent.sum()
                + c.arms[0].sum()
                + c.arms[1].sum()
                + c.bias.iter().sum::<f64>()
                + c.r[0]
                + c.r[1]
                + c.coupling[0]
                + c.coupling[1]
                + c.mu
        };
        let extra =
            |e: &Extra| e.mu[1] + e.compliance[0] + e.compliance[1] + e.spin_radius + e.spin_bias;
        let row = |r: &PackedRow| r.bias + r.compliance + r.r;
        let body = |u: &Twist| u.linear.sum() + u.angular.sum();
        self.contacts.iter().all(|c| contact(c).is_finite())
            && self.extra.iter().all(|e| extra(e).is_finite())
            && self
                .rows
                .iter()
                .all(|r| row(r).is_finite() && !r.bounds[0].is_nan() && !r.bounds[1].is_nan())
            && self.free.iter().all(|u| body(u).is_finite())
    }

    /// Copies Λ from the problem's order.
    pub fn load(&self, problem: &Problem, lambda: &[f64], packed: &mut Vec<f64>) {
        packed.clear();
        packed.reserve(self.lambda_len());
        let first = problem.contact_rows();
        for island in 0..self.islands() {
            for &c in problem.islands.contacts.of(island) {
                let block = &lambda[problem.contacts.rows(c as usize)];
                if self.frictionless {
                    // Friction left over from a step that had some would never be projected away.
                    packed.extend_from_slice(&[block[0], 0.0, 0.0]);
                } else {
                    packed.extend_from_slice(block);
                }
            }
            for &r in problem.islands.rows.of(island) {
                packed.push(lambda[first + r as usize]);
            }
        }
    }

    /// Copies Λ back. Contacts that belong to no island carry nothing.
    pub fn store(&self, problem: &Problem, packed: &[f64], lambda: &mut [f64]) {
        lambda.fill(0.0);
        let first = problem.contact_rows();
        let mut at = 0;
        for island in 0..self.islands() {
            for &c in problem.islands.contacts.of(island) {
                let rows = problem.contacts.rows(c as usize);
                let n = rows.len();
                lambda[rows].copy_from_slice(&packed[at..at + n]);
                at += n;
            }
            for &r in problem.islands.rows.of(island) {
                lambda[first + r as usize] = packed[at];
                at += 1;
            }
        }
    }

    /// u = u_free + M⁻¹ Jᵀ Λ for the bodies of one island, in the order of its blocks.
    pub fn velocities(&self, island: usize, lambda: &[f64], bodies: &mut [PackedBody]) {
        let first = self.body_start[island] as usize;
        for (b, body) in bodies.iter_mut().enumerate() {
            *body = self.template[first + b];
            body.velocity = self.free[first + b];
        }
        for c in self.contact_start[island] as usize..self.contact_start[island + 1] as usize {
            let contact = &self.contacts[c];
            let push = contact.impulse(self.extra.get(c), &lambda[self.block(island, c)]);
            for side in 0..2 {
                contact.apply(side, &push, &mut bodies[contact.bodies[side] as usize]);
            }
        }
        let offset = self.first_row(island);
        for (k, row) in self.rows
            [self.row_start[island] as usize..self.row_start[island + 1] as usize]
            .iter()
            .enumerate()
        {
            for entry in &self.entries[row.entries[0] as usize..row.entries[1] as usize] {
                entry.push(lambda[offset + k], &mut bodies[entry.body as usize]);
            }
        }
    }
}

/// Contact `c` with its bodies as the problem numbers them and the bias that the problem has.
pub fn packed_contact(problem: &Problem, c: usize, alpha: f64) -> PackedContact {
    let contacts = &problem.contacts;
    let frame = &contacts.frame[c];
    let friction = &contacts.friction[c];
    let [nn, t1t1, t2t2, t1n, t2n] = problem.contact_block(c);
    let [cn, ct] = contacts.compliance[c];
    let normal = nn + cn;
    let largest = match friction.law {
        FrictionLaw::Disc | FrictionLaw::Box | FrictionLaw::Ellipse => t1t1.max(t2t2) + ct,
        FrictionLaw::Pyramid { .. } | FrictionLaw::Contensou => {
            let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_diagonal(c, &mut diagonal);
            let friction = &diagonal[1..friction.law.rows()];
            friction.iter().copied().fold(0.0, f64::max)
        }
    };
    let [b0, b1, b2, _] = contacts.bias[c];
    PackedContact {
        bodies: contacts.bodies[c],
        normal: frame.normal,
        tangent: frame.tangent,
        arms: frame.arms,
        bias: [b0, b1, b2],
        r: [alpha / normal, alpha / largest],
        inverse_r: [normal / alpha, largest / alpha],
        coupling: [t1n, t2n],
        mu: friction.mu[0],
    }
}

/// What contact `c` has besides; its impulses begin at `offset`.
pub fn packed_extra(problem: &Problem, c: usize, offset: u32) -> Extra {
    let contacts = &problem.contacts;
    let friction = &contacts.friction[c];
    let [_, t1, t2] = contacts.frame[c].axes();
    Extra {
        law: friction.law,
        mu: friction.mu,
        compliance: contacts.compliance[c],
        offset,
        spin_radius: friction.spin_radius,
        spin_bias: contacts.bias[c][3],
        tangential: [
            problem.contact_coupling(c, t1, t1),
            problem.contact_coupling(c, t1, t2),
            problem.contact_coupling(c, t2, t2),
        ],
    }
}

/// The share of the relative velocity at contact `c` that comes from bodies impulses do not move.
fn immovable_velocity(problem: &Problem, c: usize) -> Vec3 {
    let mut sum = Vec3::zeros();
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let body = problem.contacts.bodies[c][side] as usize;
        if !problem.bodies.is_dynamic(body) {
            let arm = problem.contacts.frame[c].arms[side];
            sum += problem.bodies.free_velocity[body].at(arm) * sign;
        }
    }
    sum
}

/// The same for the relative spin about the normal.
fn immovable_spin(problem: &Problem, c: usize) -> f64 {
    let normal = problem.contacts.frame[c].normal;
    let mut sum = 0.0;
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let body = problem.contacts.bodies[c][side] as usize;
        if !problem.bodies.is_dynamic(body) {
            sum += normal.dot(&problem.bodies.free_velocity[body].angular) * sign;
        }
    }
    sum
}
