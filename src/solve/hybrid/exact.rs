//! Exact couplings: what the parts answer to the impulses that couple them makes these a small problem of their own,
//! S = A_cc − A_cF A_FF⁻¹ A_Fc, F being what is free of the parts' rows.
//!
//! The parts are linearised about their solutions, by the slopes of their contacts' laws; friction that slides follows
//! normal impulses, so that S is not symmetric. So this is a Newton method on the impulses of the couplings, with the
//! parts' exact solutions in between.

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::partition::NO_PART;
use super::small::Small;
use crate::math::{Twist, Vec3};
use crate::problem::delassus::{block_bodies, block_jacobian};
use crate::problem::islands::NO_ISLAND;
use crate::problem::law::{Law, Slope};
use crate::problem::{FrictionLaw, Problem};
use crate::solve::island::packed::{Island, NONE, Row, add, dot, of};
use crate::solve::island::system::System;
use crate::solve::island::{BILATERAL, SIDE_BY_SIDE, cone};

const N: usize = FrictionLaw::MAX_ROWS;
/// 1/ρ of the slopes, as a share of A_cc (-): the compliance that rows get which are rigid.
const SOFT: f64 = 1e-8;
/// How often what a part answers is refined.
const REFINEMENTS: usize = 3;

/// A row that couples parts: its bodies and J.
#[derive(Clone, Debug, Default)]
struct Coupling {
    sides: Vec<(u32, Row)>,
}

/// A part and what it answers.
#[derive(Default)]
struct Response {
    island: Island,
    system: System,
    /// What the matrix was factored for.
    slopes: Vec<f64>,
    now: Vec<f64>,
    sliding: Vec<(usize, Slides)>,
    /// The coupling rows that touch it, ascending, and its share of S over them, row by row.
    rows: Vec<u32>,
    share: Vec<f64>,
    failed: bool,
}

/// The couplings of a problem. Keeps its memory.
#[derive(Default)]
pub struct Exact {
    couplings: Vec<Coupling>,
    responses: Vec<Response>,
    local: Vec<u32>,
    s: Vec<f64>,
    /// The bodies that no part's row touches.
    loose: Vec<u32>,
}

impl Exact {
    /// Takes the couplings and parts of a new problem.
    pub fn take(&mut self, secondary: &Problem, primaries: &[&Problem]) {
        self.find_couplings(secondary);
        let parts = primaries.iter().map(|p| p.islands.len()).sum();
        self.responses.resize_with(parts, Response::default);
        let mut responses = self.responses.iter_mut();
        for problem in primaries {
            problem.islands.number_within(&mut self.local);
            for island in 0..problem.islands.len() {
                let response = responses.next().expect("one of each part");
                response.island.refill(problem, island, &self.local);
                response.system.refill(&response.island);
                response.slopes.clear();
                response.rows.clear();
                let touches = |c: &&Coupling| {
                    let mut sides = c.sides.iter();
                    sides.any(|(b, _)| problem.islands.of_body[*b as usize] == island as u32)
                };
                let rows = (0_u32..).zip(&self.couplings);
                let rows = rows.filter(|(_, c)| touches(c)).map(|(r, _)| r);
                response.rows.extend(rows);
            }
        }
        let sides = self.couplings.iter().flat_map(|c| &c.sides);
        let bodies = sides.map(|(body, _)| *body);
        let is_loose = |b: &u32| {
            let mut islands = primaries.iter().map(|p| p.islands.of_body[*b as usize]);
            islands.all(|i| i == NO_ISLAND)
        };
        self.loose.clear();
        self.loose.extend(bodies.filter(is_loose));
        self.loose.sort_unstable();
        self.loose.dedup();
    }

    fn find_couplings(&mut self, secondary: &Problem) {
        self.couplings.clear();
        let contacts = secondary.contacts.len();
        for source in 0..contacts + secondary.rows.len() {
            let rows = match source < contacts {
                true => secondary.contacts.rows(source).len(),
                false => 1,
            };
            let first = self.couplings.len();
            self.couplings.resize_with(first + rows, Coupling::default);
            let mut jacobian = [Twist::ZERO; N];
            for body in block_bodies(secondary, source) {
                block_jacobian(secondary, source, body, &mut jacobian);
                for (c, j) in self.couplings[first..].iter_mut().zip(&jacobian) {
                    let (v, w) = (&j.linear, &j.angular);
                    c.sides.push((body, [v.x, v.y, v.z, w.x, w.y, w.z]));
                }
            }
        }
    }

    /// Solves for the secondary's impulses, where the parts, each kind of them with its impulses, are solved under those that
    /// are there, near these with a damping above 0, with at most so many multiplications for the small problem; `u` are the
    /// velocities with all impulses. False where some part's matrix has no factor, or the small problem no solution.
    pub fn solve(
        &mut self,
        secondary: &Problem,
        lambda: &mut [f64],
        u: &[Twist],
        primaries: [(&Problem, &[f64]); 2],
        (has_boxes, damping, work): (bool, f64, f64),
    ) -> bool {
        let mut responses = self.responses.as_mut_slice();
        let couplings = &self.couplings;
        for (problem, impulses) in primaries {
            let (own, others) = responses.split_at_mut(problem.islands.len());
            responses = others;
            own.par_iter_mut().for_each(|response| {
                response.linearise(problem, impulses, u, has_boxes);
                response.answer(problem, couplings);
            });
        }
        if self.responses.iter().any(|r| r.failed) {
            return false;
        }
        self.sum(secondary);
        self.damp(secondary, damping);
        let mut w = Vec::new();
        gaps(secondary, lambda, u, &mut w);
        Small::new(secondary, &self.s, lambda, &w, has_boxes).solve(lambda, work)
    }

    /// Multiplications of an exact coupling, about: the parts' factors and what they answer, and a few factorisations of S.
    pub fn work_of_a_coupling(&self) -> f64 {
        let answer = |response: &Response| {
            let solves = (response.rows.len() * (1 + REFINEMENTS)) as f64;
            response.system.work() + 2.0 * solves * response.system.entries()
        };
        let n = self.couplings.len() as f64;
        self.responses.iter().map(answer).sum::<f64>() + SIDE_BY_SIDE * n * n * n
    }

    /// ‖S_ij‖ of parts i and j: the last S between the rows that couple them (Frobenius, 1/kg). The largest and the least.
    pub fn norms(&self, part_of: &[u32]) -> Option<[f64; 2]> {
        let n = self.couplings.len();
        let mut pairs: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
        for (row, coupling) in self.couplings.iter().enumerate() {
            let parts = coupling.sides.iter().map(|(b, _)| part_of[*b as usize]);
            let parts = parts.filter(|part| *part != NO_PART);
            let ends = [parts.clone().min()?, parts.max()?];
            pairs.entry(ends).or_default().push(row);
        }
        let norms = pairs.values().map(|rows| {
            let entries = rows
                .iter()
                .flat_map(|i| rows.iter().map(move |j| i * n + j));
            entries
                .map(|at| self.s[at] * self.s[at])
                .sum::<f64>()
                .sqrt()
        });
        let is_made = n > 0 && self.s.len() == n * n;
        is_made.then(|| {
            norms.fold([0.0, f64::INFINITY], |[most, least], x| {
                [f64::max(most, x), f64::min(least, x)]
            })
        })
    }

    /// Adds a share of what each row's impulse does to its own bodies.
    fn damp(&mut self, secondary: &Problem, damping: f64) {
        let n = self.couplings.len();
        let mut diagonal = [0.0; N];
        for c in 0..secondary.contacts.len() {
            let rows = secondary.contacts.rows(c);
            secondary.contact_diagonal(c, &mut diagonal);
            for (row, own) in rows.zip(diagonal) {
                self.s[row * (n + 1)] += damping * own;
            }
        }
        let first = secondary.contact_rows();
        for r in 0..secondary.rows.len() {
            self.s[(first + r) * (n + 1)] += damping * secondary.row_diagonal(r);
        }
    }

    /// S from the parts' shares.
    fn sum(&mut self, secondary: &Problem) {
        let n = self.couplings.len();
        self.s.clear();
        self.s.resize(n * n, 0.0);
        for response in &self.responses {
            let size = response.rows.len();
            for (k, i) in response.rows.iter().enumerate() {
                for (l, j) in response.rows.iter().enumerate() {
                    self.s[*i as usize * n + *j as usize] += response.share[k * size + l];
                }
            }
        }
        let bodies = &secondary.bodies;
        for body in &self.loose {
            let own = |c: &Coupling| c.sides.iter().find(|(b, _)| b == body).map(|(_, j)| *j);
            for (i, a) in self.couplings.iter().enumerate() {
                let Some(a) = own(a) else { continue };
                for (j, b) in self.couplings.iter().enumerate() {
                    let Some([x, y, z, p, q, r]) = own(b) else {
                        continue;
                    };
                    let turned = bodies.inverse_inertia[*body as usize].mul_vec(Vec3::new(p, q, r));
                    let m = bodies.inverse_mass[*body as usize];
                    let du = [m * x, m * y, m * z, turned.x, turned.y, turned.z];
                    self.s[i * n + j] += dot(&a, &du);
                }
            }
        }
        let contacts = &secondary.contacts;
        for c in 0..contacts.len() {
            let [normal, other] = contacts.compliance[c];
            for (k, row) in contacts.rows(c).enumerate() {
                self.s[row * (n + 1)] += if k == 0 { normal } else { other };
            }
        }
        let first = secondary.contact_rows();
        for (r, compliance) in secondary.rows.compliance.iter().enumerate() {
            self.s[(first + r) * (n + 1)] += compliance;
        }
    }
}

/// w of every row of the secondary (m/s).
pub fn gaps(secondary: &Problem, lambda: &[f64], u: &[Twist], w: &mut Vec<f64>) {
    w.clear();
    w.resize(lambda.len(), 0.0);
    for c in 0..secondary.contacts.len() {
        let rows = secondary.contacts.rows(c);
        secondary.contact_velocity(c, u, &lambda[rows.clone()], &mut w[rows]);
    }
    let first = secondary.contact_rows();
    for r in 0..secondary.rows.len() {
        w[first + r] = secondary.row_velocity(r, u, lambda[first + r]);
    }
}

impl Response {
    /// The slopes of the part's laws at its impulses, and the matrix that they make.
    fn linearise(&mut self, problem: &Problem, lambda: &[f64], u: &[Twist], has_boxes: bool) {
        self.system.begin();
        self.now.clear();
        self.sliding.clear();
        for (c, source) in self.island.contacts.source.iter().enumerate() {
            let source = *source as usize;
            let block = &lambda[problem.contacts.rows(source)];
            let n = block.len();
            let mut w = [0.0; N];
            problem.contact_velocity(source, u, block, &mut w[..n]);
            let mut slope: Slope = [[0.0; N]; N];
            let slides = match has_boxes {
                true => of_box(&self.island, c, block, &w, &mut slope),
                false => of_law(&self.island, c, block, &w, &mut slope),
            };
            let rows = slope[..n].iter().flat_map(|row| &row[..n]);
            self.now.extend(rows);
            if let Some([pull, along]) = slides {
                self.now.extend(pull.iter().chain(&along));
                self.sliding.push((c, [pull, along]));
            }
            self.system.add_contact(&self.island, c, &slope);
        }
        let first = problem.contact_rows();
        let island = &self.island;
        for (r, source) in island.rows.source.iter().enumerate() {
            let source = *source as usize;
            let x = lambda[first + source];
            let block = island.row(r);
            let diagonal = block.scale;
            let z = x - problem.row_velocity(source, u, x) / diagonal;
            let [lo, hi] = block.bounds();
            let share = if block.is_bilateral() {
                BILATERAL
            } else {
                SOFT
            };
            let e = island.compliance[block.first] + share * diagonal;
            let e = (z > lo && z < hi).then_some(e);
            self.now.push(e.unwrap_or(-1.0));
            self.system.set_row(island, r, e);
        }
    }

    /// The part's share of S; nothing where its matrix is as it was.
    fn answer(&mut self, problem: &Problem, couplings: &[Coupling]) {
        if self.slopes == self.now && !self.failed {
            return;
        }
        self.failed = self.system.factor(&self.island).is_err();
        if self.failed {
            return;
        }
        self.slopes.clone_from(&self.now);
        let own = problem.islands.of_body[self.island.bodies[0] as usize];
        let is_own = |body: &u32| problem.islands.of_body[*body as usize] == own;
        let place = |body: u32| {
            let place = self.island.bodies.binary_search(&body);
            place.expect("a body of this part") as u32
        };
        let sides = |row: &u32| {
            let sides = couplings[*row as usize].sides.iter();
            let own = sides.filter(|(b, _)| is_own(b));
            own.map(|(b, j)| (place(*b), *j)).collect::<Vec<_>>()
        };
        let sides: Vec<Vec<(u32, Row)>> = self.rows.iter().map(sides).collect();
        let size = self.rows.len();
        self.share.clear();
        self.share.resize(size * size, 0.0);
        let mut v = vec![0.0; self.island.velocities()];
        let slides = self.sliding.len();
        // What impulses of the couplings leave along the gradients of sliding contacts.
        let mut left = DMatrix::zeros(slides, size);
        for l in 0..size {
            v.fill(0.0);
            for (body, j) in &sides[l] {
                add(*body, &mut v, j, 1.0);
            }
            self.solve(&mut v);
            for (k, sides) in sides.iter().enumerate() {
                self.share[k * size + l] = across(sides, &v);
            }
            for s in 0..slides {
                left[(s, l)] = self.follow(s, &v);
            }
        }
        self.add_sliding(&sides, &left);
    }

    /// What sliding adds to the part's share of S, where impulses of the couplings leave velocities along its gradients.
    fn add_sliding(&mut self, sides: &[Vec<(u32, Row)>], left: &DMatrix<f64>) {
        let (size, slides) = (self.rows.len(), self.sliding.len());
        if slides == 0 {
            return;
        }
        let mut v = vec![0.0; self.island.velocities()];
        // K is symmetric; with p and g of the sliding contacts the matrix is K − Jᵀ p gᵀ J (Sherman, Morrison & Woodbury).
        let mut inner = DMatrix::identity(slides, slides);
        let mut pulled = DMatrix::zeros(size, slides);
        for t in 0..slides {
            self.pull(t, &mut v);
            self.solve(&mut v);
            for s in 0..slides {
                inner[(s, t)] -= self.follow(s, &v);
            }
            for k in 0..size {
                pulled[(k, t)] = across(&sides[k], &v);
            }
        }
        match inner.lu().solve(left) {
            Some(q) => {
                let added = pulled * q;
                for k in 0..size {
                    for l in 0..size {
                        self.share[k * size + l] += added[(k, l)];
                    }
                }
            }
            None => self.failed = true,
        }
    }

    /// K⁻¹ v. What keeps redundant rows apart is taken out again by refinement.
    fn solve(&mut self, v: &mut [f64]) {
        let rows = &self.island.rows;
        let mut y = vec![0.0; rows.len()];
        self.system.solve(v, &mut y);
        if rows.len() == 0 {
            return;
        }
        let mut left = vec![0.0; rows.len()];
        let mut dv = vec![0.0; v.len()];
        for _ in 0..REFINEMENTS {
            self.island.rows.product(v, &mut left);
            for (r, left) in left.iter_mut().enumerate() {
                let is_bilateral = self.island.row(r).is_bilateral();
                *left = match is_bilateral {
                    true => self.island.compliance[self.island.row(r).first] * y[r] - *left,
                    false => 0.0,
                };
            }
            dv.fill(0.0);
            self.system.solve(&mut dv, &mut left);
            v.iter_mut().zip(&dv).for_each(|(v, d)| *v += d);
            y.iter_mut().zip(&left).for_each(|(y, d)| *y += d);
        }
    }

    /// Jᵀ p of a sliding contact.
    fn pull(&self, slides: usize, v: &mut [f64]) {
        let (c, [pull, _]) = &self.sliding[slides];
        let contacts = &self.island.contacts;
        v.fill(0.0);
        for (k, row) in contacts.rows(*c).enumerate() {
            let sides = contacts.bodies[*c].iter().zip(contacts.jacobian(*c, row));
            for (body, j) in sides.filter(|(b, _)| **b != NONE) {
                add(*body, v, &j, pull[k]);
            }
        }
    }

    /// gᵀ J v of a sliding contact.
    fn follow(&self, slides: usize, v: &[f64]) -> f64 {
        let (c, [_, along]) = &self.sliding[slides];
        let contacts = &self.island.contacts;
        let rows = contacts.rows(*c).enumerate();
        rows.map(|(k, row)| along[k] * contacts.row_product(*c, row, v))
            .sum()
    }
}

/// J v of a row on a part's bodies.
fn across(sides: &[(u32, Row)], v: &[f64]) -> f64 {
    sides.iter().map(|(b, j)| dot(j, of(*b, v))).sum()
}

/// What makes the matrix of a sliding contact unsymmetric: its impulse is pulled along p by gᵀ w.
type Slides = [[f64; N]; 2];

/// The slope of a contact's impulse by −w, where friction is bounded row by row.
fn of_box(
    island: &Island,
    c: usize,
    block: &[f64],
    w: &[f64],
    slope: &mut Slope,
) -> Option<Slides> {
    let contacts = &island.contacts;
    let own = contacts.rows(c);
    let friction = island.blocks[c].friction()?;
    let mut slides = [[0.0; N]; 2];
    let mut is_sliding = false;
    for (k, row) in own.enumerate() {
        let diagonal = island.diagonal[row];
        let e = island.compliance[row] + SOFT * diagonal;
        let z = block[k] - w[k] / diagonal;
        if k == 0 {
            if z <= 0.0 {
                return None;
            }
            slope[0][0] = 1.0 / e;
            slides[1][0] = 1.0;
            continue;
        }
        let share = friction.law.row_bound(k - 1, friction.mu);
        let bound = share * block[0];
        if z.abs() < bound {
            slope[k][k] = 1.0 / e;
        } else {
            slides[0][k] = -share * z.signum() * slope[0][0];
            is_sliding = true;
        }
    }
    is_sliding.then_some(slides)
}

/// The slope of a contact's impulse by −w under its own law.
fn of_law(
    island: &Island,
    c: usize,
    block: &[f64],
    w: &[f64],
    slope: &mut Slope,
) -> Option<Slides> {
    let own = &island.blocks[c];
    let n = block.len();
    let compliance = &island.compliance[own.span()];
    let friction = own.friction()?;
    let e = compliance.iter().copied().fold(0.0, f64::max) + SOFT * own.scale;
    let sigma = friction.law.support(&w[1..n], friction.mu);
    let mut z = [0.0; N];
    for k in 0..n {
        // w holds compliance already.
        z[k] = block[k] - w[k] / e;
    }
    z[0] -= sigma / e;
    cone::project(friction, &mut z[..n], Some(slope));
    slope.iter_mut().flatten().for_each(|s| *s /= e);
    if sigma == 0.0 || slope[0][0] == 0.0 {
        return None;
    }
    let mut along = [0.0; N];
    let gradient = &mut along[1..n];
    friction
        .law
        .support_gradient(&w[1..n], friction.mu, gradient);
    let mut pull = [0.0; N];
    for (pull, row) in pull.iter_mut().zip(&*slope) {
        *pull = -row[0];
    }
    Some([pull, along])
}
