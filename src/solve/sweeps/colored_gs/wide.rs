//! What a sweep over lanes reads and writes: contacts in the order of the sweep, bodies for gather
//! and scatter.
//!
//! Why a packing of its own: sixteen contacts of a colour are solved at a time, so that each number of a
//! contact is one value per lane, in the precision of the sweep; a body is one cache line of f32, and sweeps
//! go straight through memory.
//!
//! All velocities here are changes against u⁰ = u_free + M⁻¹ Jᵀ Λ⁰ of the start, and w⁰ of each
//! contact, evaluated in f64, is its bias. So an f32 sweep rounds what changes, not what is there.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::LANES;
use super::bodies::{RowOrder, row_order};
use super::lanes::{Real, Wide};
use super::layout::{EMPTY, Layout};
use super::shared::Shared;
use super::sweep::StepLengths;
use crate::math::{Twist, Vec3};
use crate::problem::Problem;
use crate::solve::sweeps::r_factors::smaller_r;

/// Wide points, and bodies, per work block of parallel work.
const CHUNK: usize = 64;

/// A body as four rows: the velocity and 1/m; the spin and I⁻¹ xx; xy, xz, yy, yz; zz.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Body<R>(pub [[R; 4]; 4]);

/// Lanes of one point, in this order.
pub mod field {
    pub const NORMAL: usize = 0;
    pub const ARM_A: usize = 3;
    pub const ARM_B: usize = 6;
    /// R_N (kg).
    pub const R_NORMAL: usize = 9;
    /// w⁰: of the normal row alone without friction, else a vector in the world frame (m/s).
    pub const BIAS: usize = 10;
    /// R_T (kg).
    pub const R_FRICTION: usize = 13;
    pub const MU: usize = 14;
}

/// Lanes of a point that do not change, and lanes of impulses: the normal impulse alone, or the whole
/// impulse in the world frame. With an isotropic cone no tangents are needed.
pub const fn sizes(frictionless: bool) -> (usize, usize) {
    if frictionless { (11, 1) } else { (15, 3) }
}

/// Where a sweep starts.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Λ⁰ in the problem's order.
    pub lambda: &'a [f64],
    /// u⁰ = u_free + M⁻¹ Jᵀ Λ⁰.
    pub u: &'a [Twist],
    /// Whether the impulses to return to stay those that they are, else they become Λ⁰.
    pub keeps_checkpoint: bool,
}

/// Bytes that the processor loads and stores at a time.
const CACHE_LINE: usize = 64;

/// Bodies and points in one precision. Keeps its memory.
pub struct WideContacts<R> {
    pub arch: Arch,
    /// In which lane each body of a register comes out.
    pub order: RowOrder,
    pub bodies: Vec<Body<R>>,
    pub fields: Vec<Wide<R>>,
    pub impulses: Vec<Wide<R>>,
    /// The impulses that u⁰ belongs to.
    start: Vec<Wide<R>>,
    checkpoint: Vec<Wide<R>>,
    /// Where Λ was when it was marked; as long as the impulses once it was.
    mark: Vec<Wide<R>>,
    pub frictionless: bool,
}

impl<R: Real> Default for WideContacts<R> {
    /// For this processor.
    fn default() -> Self {
        let arch = Arch::new();
        Self {
            arch,
            order: row_order::<R>(arch),
            bodies: Vec::new(),
            fields: Vec::new(),
            impulses: Vec::new(),
            start: Vec::new(),
            checkpoint: Vec::new(),
            mark: Vec::new(),
            frictionless: false,
        }
    }
}

impl<R: Real> WideContacts<R> {
    /// The velocities of the problem's bodies, as a sweep left them.
    pub fn velocities(&self, bodies: usize, u: &mut Vec<Twist>) {
        self.bodies[..bodies]
            .par_iter()
            .with_min_len(16 * CHUNK)
            .map(|body| body.unpack().velocity)
            .collect_into_vec(u);
    }

    /// Bytes that one sweep over the lanes loads and stores, in whole cache lines, with a body counted each
    /// time it is gathered; and bytes of a body as it is loaded.
    pub fn traffic(&self, layout: &Layout) -> [usize; 3] {
        let (fixed, changing) = sizes(self.frictionless);
        let number = size_of::<R>();
        let of_points = layout.points.len() * LANES * number;
        let gathered = 2 * layout.manifolds.len() * LANES;
        let indices = gathered * size_of::<u32>();
        let body = size_of::<Body<R>>();
        let read = of_points * (fixed + changing) + indices + gathered * body;
        // The velocities are a body's first eight numbers.
        let velocities = (8 * number).next_multiple_of(CACHE_LINE);
        let written = of_points * changing + gathered * velocities;
        [read, written, body]
    }

    /// Packs the contacts of all lanes but for R. Returns whether every number is finite.
    pub fn pack(
        &mut self,
        problem: &Problem,
        layout: &Layout,
        frictionless: bool,
        start: Start,
    ) -> bool {
        self.frictionless = frictionless;
        self.pack_bodies(problem, layout);
        let (fixed, changing) = sizes(frictionless);
        let zero = Wide([R::default(); LANES]);
        self.fields.resize(layout.points.len() * fixed, zero);
        self.impulses.resize(layout.points.len() * changing, zero);
        let pack = Pack {
            problem,
            lambda: start.lambda,
            u: start.u,
            frictionless,
        };
        let finite = self
            .fields
            .par_chunks_mut(fixed * CHUNK)
            .zip(self.impulses.par_chunks_mut(changing * CHUNK))
            .zip(layout.points.par_chunks(CHUNK))
            .map(|((fields, impulses), points)| {
                let mut finite = true;
                for ((fields, impulses), contacts) in fields
                    .chunks_exact_mut(fixed)
                    .zip(impulses.chunks_exact_mut(changing))
                    .zip(points)
                {
                    for (lane, c) in contacts.iter().enumerate() {
                        finite &= pack.lane(*c, lane, fields, impulses);
                    }
                }
                finite
            })
            .reduce(|| true, |a, b| a & b);
        self.start.clone_from(&self.impulses);
        if !start.keeps_checkpoint {
            self.checkpoint.clone_from(&self.impulses);
        }
        finite
    }

    /// Computes the local R-factors R = α/A_ii of all lanes (Nützi 2011, 4.6.1), with tangents of its
    /// own: any R makes the same fixed point. Returns whether every one is finite.
    pub fn pack_step_lengths(&mut self, layout: &Layout, alpha: f64) -> bool {
        let (arch, order) = (self.arch, &self.order);
        let (fixed, _) = sizes(self.frictionless);
        let bodies = Shared::new(&mut self.bodies);
        let fields = Shared::new(&mut self.fields);
        let frictionless = self.frictionless;
        layout
            .manifolds
            .par_chunks(CHUNK)
            .map(|manifolds| {
                let first = manifolds[0].points.range().start;
                let last = manifolds[manifolds.len() - 1].points.range().end;
                // SAFETY: each chunk of manifolds has points of its own, and bodies are only read.
                unsafe {
                    StepLengths {
                        bodies,
                        order,
                        manifolds,
                        fields: fields.slice(first * fixed..last * fixed),
                        frictionless,
                        alpha,
                    }
                    .run(arch)
                }
            })
            .reduce(|| true, |a, b| a & b)
    }

    /// The smallest R_N and R_T of a range of points and of `others` (kg).
    pub fn smallest_r(
        &self,
        contacts: &[[u32; LANES]],
        points: Range<usize>,
        others: [f64; 2],
    ) -> [f64; 2] {
        let (fixed, _) = sizes(self.frictionless);
        let of_point = |point: usize| {
            let fields = &self.fields[point * fixed..(point + 1) * fixed];
            let lanes = (0..LANES).filter(move |lane| contacts[point][*lane] != EMPTY);
            lanes.map(move |lane| {
                let of = |field: usize| fields.get(field).map_or(0.0, |x| x.0[lane].to_f64());
                [of(field::R_NORMAL), of(field::R_FRICTION)]
            })
        };
        points.flat_map(of_point).fold(others, smaller_r)
    }

    /// Gives all contacts of a range of points the same R_N and R_T (kg).
    pub fn use_r(&mut self, contacts: &[[u32; LANES]], points: Range<usize>, r: [f64; 2]) {
        let (fixed, _) = sizes(self.frictionless);
        for point in points {
            let fields = &mut self.fields[point * fixed..(point + 1) * fixed];
            for (field, r) in [field::R_NORMAL, field::R_FRICTION].into_iter().zip(r) {
                let Some(lanes) = fields.get_mut(field) else {
                    continue;
                };
                let lanes = lanes.0.iter_mut().zip(&contacts[point]);
                let taken = lanes.filter(|(_, c)| **c != EMPTY);
                taken.for_each(|(x, _)| *x = R::from_f64(r));
            }
        }
    }

    fn pack_bodies(&mut self, problem: &Problem, layout: &Layout) {
        let bodies = &problem.bodies;
        let n = bodies.len();
        let count = n + layout.dummies;
        if self.bodies.capacity() < count {
            // All of them are written below: the old ones go before the new ones come, with a little room for dummies.
            self.bodies = Vec::new();
            self.bodies.reserve_exact(count + layout.dummies);
        }
        self.bodies.resize(count, Body::default());
        self.bodies
            .par_iter_mut()
            .with_min_len(16 * CHUNK)
            .enumerate()
            .for_each(|(b, body)| {
                *body = Body::default();
                if b < n {
                    let i = &bodies.inverse_inertia[b];
                    let Body([v, w, row, rest]) = body;
                    v[3] = R::from_f64(bodies.inverse_mass[b]);
                    w[3] = R::from_f64(i.xx);
                    *row = [i.xy, i.xz, i.yy, i.yz].map(R::from_f64);
                    rest[0] = R::from_f64(i.zz);
                }
            });
    }

    /// Starts over from zero velocities and impulses, with another bias of the normal rows alone, one
    /// per contact. Impulses and biases of before are lost.
    pub fn pack_normals(&mut self, layout: &Layout, bias: &[f64]) {
        let zero = R::default();
        self.bodies
            .par_iter_mut()
            .with_min_len(16 * CHUNK)
            .for_each(|Body([v, w, _, _])| {
                v[..3].fill(zero);
                w[..3].fill(zero);
            });
        let (fixed, changing) = sizes(self.frictionless);
        self.fields
            .par_chunks_mut(fixed)
            .zip(self.impulses.par_chunks_mut(changing))
            .zip(&layout.points)
            .with_min_len(CHUNK)
            .for_each(|((fields, impulses), contacts)| {
                impulses[0] = Wide([zero; LANES]);
                for (x, c) in fields[field::BIAS].0.iter_mut().zip(contacts) {
                    *x = bias.get(*c as usize).map_or(zero, |b| R::from_f64(*b));
                }
            });
    }

    /// Keeps the impulses of a range of points as those to return to.
    pub fn keep(&mut self, points: Range<usize>) {
        let span = self.impulses_of(points);
        self.checkpoint[span.clone()].copy_from_slice(&self.impulses[span]);
    }

    /// Marks the impulses of a range of points.
    pub fn mark(&mut self, points: Range<usize>) {
        let span = self.impulses_of(points);
        let zero = Wide([R::default(); LANES]);
        self.mark.resize(self.impulses.len(), zero);
        self.mark[span.clone()].copy_from_slice(&self.impulses[span]);
    }

    /// The largest component of what has changed in a range of points since it was marked (N s).
    pub fn distance(&self, points: Range<usize>) -> f64 {
        let span = self.impulses_of(points);
        let pairs = self.impulses[span.clone()].iter().zip(&self.mark[span]);
        let apart = |(now, then): (&Wide<R>, &Wide<R>)| {
            let lanes = now.0.iter().zip(&then.0);
            let apart = lanes.map(|(x, y)| (x.to_f64() - y.to_f64()).abs());
            apart.fold(0.0, f64::max)
        };
        pairs.map(apart).fold(0.0, f64::max)
    }

    /// Returns to the impulses kept last.
    pub fn return_to_kept(&mut self, points: Range<usize>) {
        let span = self.impulses_of(points);
        self.impulses[span.clone()].copy_from_slice(&self.checkpoint[span]);
    }

    fn impulses_of(&self, points: Range<usize>) -> Range<usize> {
        let (_, changing) = sizes(self.frictionless);
        points.start * changing..points.end * changing
    }

    /// What the impulse in a lane has changed since the start, in the world frame (N s).
    pub fn change(&self, point: usize, lane: usize) -> Vec3 {
        self.impulse(&self.impulses, point, lane) - self.impulse(&self.start, point, lane)
    }

    /// The impulse in a lane, in the world frame (N s).
    pub fn total(&self, point: usize, lane: usize) -> Vec3 {
        self.impulse(&self.impulses, point, lane)
    }

    fn impulse(&self, impulses: &[Wide<R>], point: usize, lane: usize) -> Vec3 {
        let number = |k: usize| impulses[k].0[lane].to_f64();
        if self.frictionless {
            self.vector(point, field::NORMAL, lane) * number(point)
        } else {
            Vec3::new(
                number(3 * point),
                number(3 * point + 1),
                number(3 * point + 2),
            )
        }
    }

    fn vector(&self, point: usize, at: usize, lane: usize) -> Vec3 {
        let (fixed, _) = sizes(self.frictionless);
        let number = |k: usize| self.fields[point * fixed + at + k].0[lane].to_f64();
        Vec3::new(number(0), number(1), number(2))
    }

    /// Adds M⁻¹ Jᵀ times the change of impulse in a lane to the velocities of two bodies.
    pub fn push(&mut self, point: usize, lane: usize, bodies: [u32; 2]) {
        let p = self.change(point, lane);
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let arm = self.vector(point, [field::ARM_A, field::ARM_B][side], lane);
            let body = &mut self.bodies[bodies[side] as usize];
            let mut packed = body.unpack();
            packed.push(p * sign, arm);
            body.set_velocity(&packed.velocity);
        }
    }
}

impl<R: Real> Body<R> {
    /// The body in f64.
    pub fn unpack(&self) -> crate::solve::sweeps::block::PackedBody {
        let q = |k: usize, n: usize| self.0[k][n].to_f64();
        crate::solve::sweeps::block::PackedBody {
            velocity: Twist {
                linear: Vec3::new(q(0, 0), q(0, 1), q(0, 2)),
                angular: Vec3::new(q(1, 0), q(1, 1), q(1, 2)),
            },
            inverse_inertia: crate::math::SymMat3 {
                xx: q(1, 3),
                xy: q(2, 0),
                xz: q(2, 1),
                yy: q(2, 2),
                yz: q(2, 3),
                zz: q(3, 0),
            },
            inverse_mass: q(0, 3),
        }
    }

    /// Replaces the velocity.
    pub fn set_velocity(&mut self, u: &Twist) {
        for k in 0..3 {
            self.0[0][k] = R::from_f64(u.linear[k]);
            self.0[1][k] = R::from_f64(u.angular[k]);
        }
    }
}

/// What packing reads.
struct Pack<'a> {
    problem: &'a Problem,
    lambda: &'a [f64],
    u: &'a [Twist],
    frictionless: bool,
}

impl Pack<'_> {
    /// Fills one lane of a point; false if a number is not finite.
    fn lane<R: Real>(
        &self,
        c: u32,
        lane: usize,
        fields: &mut [Wide<R>],
        impulses: &mut [Wide<R>],
    ) -> bool {
        if c == EMPTY {
            // Nothing comes of zeros.
            for word in fields.iter_mut().chain(impulses) {
                word.0[lane] = R::default();
            }
            return true;
        }
        let c = c as usize;
        let contacts = &self.problem.contacts;
        let (frame, bias) = (&contacts.frame[c], &contacts.bias[c]);
        let [i, j] = contacts.bodies[c].map(|b| b as usize);
        let [a, b] = frame.arms;
        let relative = self.u[j].at(b) - self.u[i].at(a);
        let block = &self.lambda[contacts.rows(c)];
        let law = if self.frictionless {
            let w = frame.normal.dot(&relative) + bias[0];
            put(fields, field::BIAS, lane, &[w]) & put(impulses, 0, lane, &block[..1])
        } else {
            let [n, t1, t2] = frame.axes();
            let w = relative + n * bias[0] + t1 * bias[1] + t2 * bias[2];
            let p = n * block[0] + t1 * block[1] + t2 * block[2];
            put(fields, field::BIAS, lane, w.as_slice())
                & put(fields, field::MU, lane, &contacts.friction[c].mu[..1])
                & put(impulses, 0, lane, p.as_slice())
        };
        law & put(fields, field::NORMAL, lane, frame.normal.as_slice())
            & put(fields, field::ARM_A, lane, a.as_slice())
            & put(fields, field::ARM_B, lane, b.as_slice())
    }
}

/// Writes numbers to one lane of successive fields; false if one is not finite.
fn put<R: Real>(fields: &mut [Wide<R>], at: usize, lane: usize, numbers: &[f64]) -> bool {
    let mut finite = true;
    for (word, x) in fields[at..].iter_mut().zip(numbers) {
        let x = R::from_f64(*x);
        finite &= x.to_f64().is_finite();
        word.0[lane] = x;
    }
    finite
}
