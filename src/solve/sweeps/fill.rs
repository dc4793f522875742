//! Fills a packing from a problem: by islands, by other groups, or in the order of A.

use rayon::prelude::*;

use super::block::{Extra, PackedBody, PackedContact, Span};
use super::pack::{CHUNK, NO_BODY, Packed};
use super::row::{PackedEntry, PackedRow};
use crate::math::{Twist, Vec3};
use crate::problem::delassus::Delassus;
use crate::problem::islands::{Grouped, span};
use crate::problem::{FrictionLaw, Problem};

/// Where a body of the problem is packed, within its island.
fn local(packed: &Packed, island: usize, body: u32) -> u32 {
    let first = packed.body_start[island] as usize;
    let dummy = packed.body_start[island + 1] as usize - 1;
    let place = packed.body_index[first..dummy].binary_search(&body);
    place.unwrap_or(dummy - first) as u32
}

impl Packed {
    /// Packs a problem by islands. R = α/diagonal (the local R-factors of Nützi 4.6.1), ω = 1.
    pub fn pack(&mut self, problem: &Problem, alpha: f64) {
        let islands = &problem.islands;
        let groups = [&islands.bodies, &islands.contacts, &islands.rows];
        self.pack_groups(problem, groups, alpha);
    }

    /// Packs a problem by any groups of bodies, which ascend, contacts and rows: the islands, or parts of
    /// them that each have their own copies of the bodies they touch. They then take the place of the
    /// islands everywhere here.
    pub fn pack_groups(
        &mut self,
        problem: &Problem,
        [of_bodies, of_contacts, of_rows]: [&Grouped; 3],
        alpha: f64,
    ) {
        let count = of_bodies.start.len().saturating_sub(1);
        let contacts = &problem.contacts;
        let uniform = contacts.are_plain();
        self.frictionless = contacts.are_frictionless();
        self.omega.iter_mut().for_each(Vec::clear);
        self.contact_blocks.clear();
        self.contact_index.clone_from(&of_contacts.items);
        self.row_index.clone_from(&of_rows.items);

        // Bodies, with a dummy behind each group.
        self.free.clear();
        self.template.clear();
        self.body_index.clear();
        self.body_start.clear();
        self.body_start.push(0);
        for group in 0..count {
            for &b in of_bodies.of(group) {
                self.body_index.push(b);
                let b = b as usize;
                self.free.push(problem.bodies.free_velocity[b]);
                self.template.push(PackedBody {
                    velocity: Twist::ZERO,
                    inverse_inertia: problem.bodies.inverse_inertia[b],
                    inverse_mass: problem.bodies.inverse_mass[b],
                });
            }
            self.body_index.push(NO_BODY);
            self.free.push(Twist::ZERO);
            self.template.push(PackedBody::default());
            self.body_start.push(self.free.len() as u32);
        }

        // Rows of Λ.
        self.contact_start.clone_from(&of_contacts.start);
        self.row_start.clone_from(&of_rows.start);
        self.lambda_start.clear();
        self.lambda_start.push(0);
        let mut length = 0;
        for group in 0..count {
            let of = of_contacts.of(group);
            length += if uniform {
                3 * of.len()
            } else {
                of.iter().map(|c| contacts.rows(*c as usize).len()).sum()
            };
            length += of_rows.of(group).len();
            self.lambda_start.push(length as u32);
        }

        self.pack_contacts(problem, alpha, uniform);
        self.pack_rows(problem, alpha);
    }

    /// Empties the packing and numbers islands, contacts and rows as `a` has them, whose first sources are
    /// `contacts` contacts of three rows: contacts and rows are to be pushed in that order. There are no bodies.
    pub fn begin_matrix(&mut self, a: &Delassus, contacts: usize) {
        *self = Self::default();
        let islands = a.islands();
        self.body_start.resize(islands + 1, 0);
        let starts = [
            &mut self.contact_start,
            &mut self.row_start,
            &mut self.lambda_start,
        ];
        starts.into_iter().for_each(|start| start.push(0));
        for island in 0..islands {
            for source in &a.source[span(&a.island_start, island)] {
                match (*source as usize).checked_sub(contacts) {
                    None => self.contact_index.push(*source),
                    Some(r) => self.row_index.push(r as u32),
                }
            }
            let [of_contacts, of_rows] = [self.contact_index.len(), self.row_index.len()];
            self.contact_start.push(of_contacts as u32);
            self.row_start.push(of_rows as u32);
            self.lambda_start.push((3 * of_contacts + of_rows) as u32);
        }
    }

    fn pack_contacts(&mut self, problem: &Problem, alpha: f64, uniform: bool) {
        let mut packed = std::mem::take(&mut self.contacts);
        packed.clear();
        self.contact_index
            .par_iter()
            .with_min_len(CHUNK)
            .enumerate()
            .map(|(k, c)| self.contact(problem, k, *c as usize, alpha))
            .collect_into_vec(&mut packed);
        self.contacts = packed;
        self.extra.clear();
        if uniform {
            return;
        }
        for island in 0..self.islands() {
            let mut offset = 0;
            for &c in &self.contact_index[self.contacts_of(island)] {
                let c = c as usize;
                let (_, turning) = immovable_velocity(problem, c);
                let extra = packed_extra(problem, c, offset, turning);
                self.extra.push(extra);
                offset += extra.friction.law.row_count() as u32;
            }
        }
    }

    /// Contact `c` of the problem, which is packed as number `k`.
    fn contact(&self, problem: &Problem, k: usize, c: usize, alpha: f64) -> PackedContact {
        let contacts = &problem.contacts;
        let pair = contacts.bodies[c];
        let island = self
            .contact_start
            .partition_point(|start| *start as usize <= k)
            - 1;
        let axes = contacts.frame[c].axes();
        let (outside, _) = immovable_velocity(problem, c);
        let mut packed = if self.frictionless {
            let diagonal = problem.contact_coupling(c, axes[0], axes[0]);
            PackedContact {
                bodies: pair,
                frame: contacts.frame[c],
                bias: [contacts.bias[c][0], 0.0, 0.0],
                r: [alpha / diagonal, 0.0],
                inverse_r: [diagonal / alpha, 0.0],
                coupling: [0.0; 2],
                mu: 0.0,
            }
        } else {
            packed_contact(problem, c, alpha)
        };
        packed.bodies = pair.map(|b| local(self, island, b));
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
            for k in self.rows_of(island) {
                let r = self.row_index[k] as usize;
                let first = self.entries.len();
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
                let entries = Span::new(first, self.entries.len());
                self.rows.push(packed_row(problem, r, alpha, bias, entries));
            }
        }
    }
}

/// Contact `c` with its bodies as the problem numbers them and the bias that the problem has.
pub fn packed_contact(problem: &Problem, c: usize, alpha: f64) -> PackedContact {
    let contacts = &problem.contacts;
    let friction = &contacts.friction[c];
    let [nn, t1t1, t2t2, t1n, t2n] = problem.contact_block(c);
    let [cn, ct] = contacts.compliance[c];
    let normal = nn + cn;
    let largest = match friction.law.row_count() {
        3 => t1t1.max(t2t2) + ct,
        rows => {
            let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_diagonal(c, &mut diagonal);
            diagonal[1..rows].iter().copied().fold(0.0, f64::max)
        }
    };
    PackedContact {
        bodies: contacts.bodies[c],
        frame: contacts.frame[c],
        bias: contacts.bias[c],
        r: [alpha / normal, alpha / largest],
        inverse_r: [normal / alpha, largest / alpha],
        coupling: [t1n, t2n],
        mu: friction.mu[0],
    }
}

/// General row `r` with a bias and the span of its entries.
pub fn packed_row(problem: &Problem, r: usize, alpha: f64, bias: f64, entries: Span) -> PackedRow {
    let diagonal = problem.row_diagonal(r);
    PackedRow {
        entries,
        bounds: problem.rows.bounds[r],
        bias,
        compliance: problem.rows.compliance[r],
        r: alpha / diagonal,
        inverse_r: diagonal / alpha,
    }
}

/// What contact `c` has besides; its impulses begin at `offset`. `turning` is the relative angular
/// velocity that its biases include (world frame, rad/s).
pub fn packed_extra(problem: &Problem, c: usize, offset: u32, turning: Vec3) -> Extra {
    let contacts = &problem.contacts;
    let axes = contacts.frame[c].axes();
    let [n, t1, t2] = axes;
    let turned = turning_of_push(problem, c, n);
    Extra {
        friction: contacts.friction[c],
        compliance: contacts.compliance[c],
        offset,
        turning: axes.map(|e| e.dot(&turning)),
        couple_bias: contacts.couple_bias(c),
        tangential: [
            problem.contact_coupling(c, t1, t1),
            problem.contact_coupling(c, t1, t2),
            problem.contact_coupling(c, t2, t2),
        ],
        turning_coupling: axes.map(|e| e.dot(&turned)),
    }
}

/// The relative angular velocity that a unit impulse along `direction` makes at contact `c`.
fn turning_of_push(problem: &Problem, c: usize, direction: Vec3) -> Vec3 {
    let contacts = &problem.contacts;
    let pair = contacts.bodies[c].iter().zip(&contacts.frame[c].arms);
    pair.map(|(body, arm)| {
        problem.bodies.inverse_inertia[*body as usize].mul_vec(arm.cross(&direction))
    })
    .sum()
}

/// The share of the relative velocity at contact `c`, and of the relative angular velocity, that comes
/// from bodies that impulses do not move.
fn immovable_velocity(problem: &Problem, c: usize) -> (Vec3, Vec3) {
    let (mut velocity, mut turning) = (Vec3::zeros(), Vec3::zeros());
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let body = problem.contacts.bodies[c][side] as usize;
        if !problem.bodies.is_dynamic(body) {
            let u = &problem.bodies.free_velocity[body];
            velocity += u.at(problem.contacts.frame[c].arms[side]) * sign;
            turning += u.angular * sign;
        }
    }
    (velocity, turning)
}
