//! What a sweep over lanes reads and writes: contacts in the order of the sweep, bodies for gather
//! and scatter.
//!
//! All velocities here are changes against u⁰ = u_free + M⁻¹ Jᵀ Λ⁰ of the start, and w⁰ of each
//! contact, evaluated in f64, is its bias. So an f32 sweep rounds what changes, not what is there.

use pulp::Arch;
use rayon::prelude::*;

use super::LANES;
use super::lanes::{Lane, Real};
use super::layout::{EMPTY, Layout};
use super::sweep::{QuadOrder, Shared, Steps};
use crate::math::{Twist, Vec3};
use crate::problem::Problem;

/// Layers, and bodies, per unit of parallel work.
const CHUNK: usize = 64;

/// A body as four quads: the velocity and 1/m; the spin and I⁻¹ xx; xy, xz, yy, yz; zz.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Body<R>(pub [[R; 4]; 4]);

/// What of a body is read: all but the last three numbers.
pub const BODY_NUMBERS: usize = 13;

/// Lanes of one layer, in this order.
pub mod word {
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

/// Lanes of a layer that do not change, and lanes of impulses: the normal impulse alone, or the whole
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

/// Bodies and layers in one precision. Keeps its memory.
#[derive(Default)]
pub struct Tiles<R> {
    pub bodies: Vec<Body<R>>,
    pub words: Vec<Lane<R>>,
    pub impulses: Vec<Lane<R>>,
    /// The impulses that u⁰ belongs to.
    start: Vec<Lane<R>>,
    checkpoint: Vec<Lane<R>>,
    pub frictionless: bool,
}

impl<R: Real> Tiles<R> {
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
        let zero = Lane([R::default(); LANES]);
        self.words.resize(layout.layers.len() * fixed, zero);
        self.impulses.resize(layout.layers.len() * changing, zero);
        let pack = Pack {
            problem,
            lambda: start.lambda,
            u: start.u,
        };
        let finite = self
            .words
            .par_chunks_mut(fixed * CHUNK)
            .zip(self.impulses.par_chunks_mut(changing * CHUNK))
            .zip(layout.layers.par_chunks(CHUNK))
            .map(|((words, impulses), layers)| {
                let mut finite = true;
                for ((words, impulses), contacts) in words
                    .chunks_exact_mut(fixed)
                    .zip(impulses.chunks_exact_mut(changing))
                    .zip(layers)
                {
                    for (lane, c) in contacts.iter().enumerate() {
                        finite &= if frictionless {
                            pack.normal(*c, lane, words, impulses)
                        } else {
                            pack.disc(*c, lane, words, impulses)
                        };
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

    /// Computes the local R-factors R = α/A_ii of all lanes (Nützi 2011, 4.4.2), with tangents of its
    /// own: any R makes the same fixed point. Returns whether every one is finite.
    pub fn pack_steps(
        &mut self,
        layout: &Layout,
        alpha: f64,
        arch: Arch,
        order: &QuadOrder,
    ) -> bool {
        let (fixed, _) = sizes(self.frictionless);
        let bodies = Shared::new(&mut self.bodies);
        let words = Shared::new(&mut self.words);
        let frictionless = self.frictionless;
        layout
            .groups
            .par_chunks(CHUNK)
            .map(|groups| {
                let first = groups[0].layers().start;
                let last = groups[groups.len() - 1].layers().end;
                // SAFETY: each chunk of groups has layers of its own, and bodies are only read.
                unsafe {
                    Steps {
                        bodies,
                        order,
                        groups,
                        words: words.slice(first * fixed..last * fixed),
                        frictionless,
                        alpha,
                    }
                    .run(arch)
                }
            })
            .reduce(|| true, |a, b| a & b)
    }

    fn pack_bodies(&mut self, problem: &Problem, layout: &Layout) {
        let bodies = &problem.bodies;
        let n = bodies.len();
        self.bodies.resize(n + layout.dummies, Body::default());
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
        self.words
            .par_chunks_mut(fixed)
            .zip(self.impulses.par_chunks_mut(changing))
            .zip(&layout.layers)
            .with_min_len(CHUNK)
            .for_each(|((words, impulses), contacts)| {
                impulses[0] = Lane([zero; LANES]);
                for (x, c) in words[word::BIAS].0.iter_mut().zip(contacts) {
                    *x = bias.get(*c as usize).map_or(zero, |b| R::from_f64(*b));
                }
            });
    }

    /// Keeps the impulses of a range of layers as those to return to.
    pub fn keep(&mut self, layers: std::ops::Range<usize>) {
        let (_, n) = sizes(self.frictionless);
        let span = layers.start * n..layers.end * n;
        self.checkpoint[span.clone()].copy_from_slice(&self.impulses[span]);
    }

    /// Returns to the impulses kept last.
    pub fn return_to_kept(&mut self, layers: std::ops::Range<usize>) {
        let (_, n) = sizes(self.frictionless);
        let span = layers.start * n..layers.end * n;
        self.impulses[span.clone()].copy_from_slice(&self.checkpoint[span]);
    }

    /// What the impulse in a lane has changed since the start, in the world frame (N s).
    pub fn change(&self, layer: usize, lane: usize) -> Vec3 {
        self.impulse(&self.impulses, layer, lane) - self.impulse(&self.start, layer, lane)
    }

    /// The impulse in a lane, in the world frame (N s).
    pub fn total(&self, layer: usize, lane: usize) -> Vec3 {
        self.impulse(&self.impulses, layer, lane)
    }

    fn impulse(&self, impulses: &[Lane<R>], layer: usize, lane: usize) -> Vec3 {
        let number = |k: usize| impulses[k].0[lane].to_f64();
        if self.frictionless {
            self.vector(layer, word::NORMAL, lane) * number(layer)
        } else {
            Vec3::new(
                number(3 * layer),
                number(3 * layer + 1),
                number(3 * layer + 2),
            )
        }
    }

    fn vector(&self, layer: usize, at: usize, lane: usize) -> Vec3 {
        let (fixed, _) = sizes(self.frictionless);
        let number = |k: usize| self.words[layer * fixed + at + k].0[lane].to_f64();
        Vec3::new(number(0), number(1), number(2))
    }

    /// Adds M⁻¹ Jᵀ times the change of impulse in a lane to the velocities of two bodies.
    pub fn push(&mut self, layer: usize, lane: usize, bodies: [u32; 2]) {
        let p = self.change(layer, lane);
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let arm = self.vector(layer, [word::ARM_A, word::ARM_B][side], lane);
            let body = &mut self.bodies[bodies[side] as usize];
            let mut packed = body.unpack();
            packed.push(p * sign, arm);
            body.set_velocity(&packed.velocity);
        }
    }
}

impl<R: Real> Body<R> {
    /// The body in f64.
    pub fn unpack(&self) -> crate::solve::prox::block::PackedBody {
        let q = |k: usize, n: usize| self.0[k][n].to_f64();
        crate::solve::prox::block::PackedBody {
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
}

impl Pack<'_> {
    /// Fills one lane of a layer with friction.
    fn disc<R: Real>(
        &self,
        c: u32,
        lane: usize,
        words: &mut [Lane<R>],
        impulses: &mut [Lane<R>],
    ) -> bool {
        if c == EMPTY {
            return empty(lane, words, impulses);
        }
        let c = c as usize;
        let contacts = &self.problem.contacts;
        let frame = &contacts.frame[c];
        let axes = frame.axes();
        let bias = &contacts.bias[c];
        let w = self.relative(c) + axes[0] * bias[0] + axes[1] * bias[1] + axes[2] * bias[2];
        let block = &self.lambda[contacts.rows(c)];
        let p = axes[0] * block[0] + axes[1] * block[1] + axes[2] * block[2];
        self.common(c, lane, words)
            & put(words, word::BIAS, lane, w.as_slice())
            & put(words, word::MU, lane, &[contacts.friction[c].mu[0]])
            & put(impulses, 0, lane, p.as_slice())
    }

    /// Fills one lane of a layer without friction.
    fn normal<R: Real>(
        &self,
        c: u32,
        lane: usize,
        words: &mut [Lane<R>],
        impulses: &mut [Lane<R>],
    ) -> bool {
        if c == EMPTY {
            return empty(lane, words, impulses);
        }
        let c = c as usize;
        let contacts = &self.problem.contacts;
        let n = contacts.frame[c].normal;
        let w = n.dot(&self.relative(c)) + contacts.bias[c][0];
        self.common(c, lane, words)
            & put(words, word::BIAS, lane, &[w])
            & put(impulses, 0, lane, &[self.lambda[contacts.rows(c).start]])
    }

    fn common<R: Real>(&self, c: usize, lane: usize, words: &mut [Lane<R>]) -> bool {
        let frame = &self.problem.contacts.frame[c];
        put(words, word::NORMAL, lane, frame.normal.as_slice())
            & put(words, word::ARM_A, lane, frame.arms[0].as_slice())
            & put(words, word::ARM_B, lane, frame.arms[1].as_slice())
    }

    /// The relative velocity at a contact that belongs to u⁰.
    fn relative(&self, c: usize) -> Vec3 {
        let contacts = &self.problem.contacts;
        let [i, j] = contacts.bodies[c].map(|b| b as usize);
        let [a, b] = contacts.frame[c].arms;
        self.u[j].at(b) - self.u[i].at(a)
    }
}

/// Writes numbers to one lane of successive words; false if one is not finite.
fn put<R: Real>(words: &mut [Lane<R>], at: usize, lane: usize, numbers: &[f64]) -> bool {
    let mut finite = true;
    for (word, x) in words[at..].iter_mut().zip(numbers) {
        let x = R::from_f64(*x);
        finite &= x.to_f64().is_finite();
        word.0[lane] = x;
    }
    finite
}

/// A lane without a contact: nothing comes of it.
fn empty<R: Real>(lane: usize, words: &mut [Lane<R>], impulses: &mut [Lane<R>]) -> bool {
    for word in words.iter_mut().chain(impulses) {
        word.0[lane] = R::default();
    }
    true
}
