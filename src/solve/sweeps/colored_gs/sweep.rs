//! The sweep over manifolds of lanes: Λ_k ← prox(Λ_k − R_k (A Λ + b)_k) for sixteen edges of one colour
//! at a time, point after point, while their bodies stay in registers.

use pulp::{Arch, Simd, WithSimd};

use super::LANES;
use super::bodies::{Pair, RowOrder};
use super::lanes::{Real, Wide, WideVec3};
use super::layout::WideManifold;
use super::noted::Noted;
use super::shared::Shared;
use super::wide::{Body, field, sizes};
use crate::solve::sweeps::block::{Change, Sweep};

/// How many points ahead of the next manifold lanes are asked for.
const AHEAD: usize = 2;

/// Asks for `count` lanes from `first` on to be brought near. The processor sees by itself that the
/// sweep goes straight through them, but begins anew at every page.
#[inline(always)]
fn prefetch<R>(lanes: &[Wide<R>], first: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..count * size_of::<Wide<R>>() / 64 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = lanes.as_ptr().wrapping_add(first).cast::<i8>();
        // SAFETY: a prefetch reads nothing that could be seen, and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (lanes, first, count);
}

/// Wide manifolds to sweep; `fields` and `impulses` are those of their points.
pub struct WideSweep<'a, R: Real> {
    pub bodies: Shared<Body<R>>,
    pub order: &'a RowOrder,
    pub manifolds: &'a [WideManifold],
    pub fields: &'a [Wide<R>],
    pub impulses: &'a mut [Wide<R>],
    /// Numbers per point in `fields` and `impulses`.
    pub sizes: (usize, usize),
    /// Sweep the normal rows alone; then the bias and the impulse of a point are one number each.
    pub frictionless: bool,
    pub sweep: Sweep,
}

impl<R: Real> WideSweep<'_, R> {
    /// One sweep over the manifolds.
    ///
    /// # Safety
    /// Every body that the manifolds name is there, no two lanes of a manifold share one that moves, and
    /// nobody else reads or writes these bodies meanwhile.
    pub unsafe fn run(self, arch: Arch) -> Change {
        // A sweep without the sums that only Nützi's tests need is the common case.
        match (self.frictionless, self.sweep.relative >= 0.0) {
            (false, false) => arch.dispatch(Kernel::<R, true, false>(self)),
            (false, true) => arch.dispatch(Kernel::<R, true, true>(self)),
            (true, false) => arch.dispatch(Kernel::<R, false, false>(self)),
            (true, true) => arch.dispatch(Kernel::<R, false, true>(self)),
        }
    }
}

struct Kernel<'a, R: Real, const FRICTION: bool, const RELATIVE: bool>(WideSweep<'a, R>);

impl<R: Real, const FRICTION: bool, const RELATIVE: bool> WithSimd
    for Kernel<'_, R, FRICTION, RELATIVE>
{
    type Output = Change;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> Change {
        let run = self.0;
        let width = R::width::<S>();
        let (fixed, changing) = run.sizes;
        let scale = R::from_f64(run.sweep.scale);
        let mut noted = Noted::<R, S>::new(s, run.sweep.relative);
        let (mut fields, mut impulses) = (run.fields, run.impulses);
        for manifold in run.manifolds {
            let points = manifold.points.range().len();
            let (own_fields, other_fields) = fields.split_at(points * fixed);
            let (own_impulses, other_impulses) = impulses.split_at_mut(points * changing);
            (fields, impulses) = (other_fields, other_impulses);
            prefetch(fields, AHEAD * fixed, points * fixed);
            prefetch(impulses, AHEAD * changing, points * changing);
            for at in (0..LANES).step_by(width) {
                let index = manifold.bodies.each_ref().map(|side| &side[at..at + width]);
                // SAFETY: the promise of `WideSweep::run`; dummies are this work block's own.
                let mut pair = unsafe { Pair::gather(s, run.bodies, index, run.order) };
                let points = own_fields.chunks_exact(fixed);
                for (fields, p) in points.zip(own_impulses.chunks_exact_mut(changing)) {
                    let point = Point { fields, at, scale };
                    if FRICTION {
                        point.disc::<S, RELATIVE>(s, p, &mut pair, &mut noted);
                    } else {
                        point.normal::<S, RELATIVE>(s, p, &mut pair, &mut noted);
                    }
                }
                // SAFETY: as above; lanes of the dummy all write zero velocities.
                unsafe { pair.scatter(s, run.bodies, index, run.order) };
            }
        }
        noted.finish::<RELATIVE>(s)
    }
}

/// Three fields of a wide point as a vector, some lanes of them.
#[inline(always)]
fn vector<R: Real, S: Simd>(fields: &[Wide<R>], k: usize, at: usize) -> WideVec3<R, S> {
    WideVec3([k, k + 1, k + 2].map(|k| R::load::<S>(&fields[k], at)))
}

#[inline(always)]
fn arms<R: Real, S: Simd>(fields: &[Wide<R>], at: usize) -> [WideVec3<R, S>; 2] {
    [
        vector(fields, field::ARM_A, at),
        vector(fields, field::ARM_B, at),
    ]
}

/// Some lanes of a wide point.
struct Point<'a, R> {
    fields: &'a [Wide<R>],
    /// The first lane.
    at: usize,
    /// What R is multiplied by.
    scale: R,
}

impl<R: Real> Point<'_, R> {
    #[inline(always)]
    fn number<S: Simd>(&self, k: usize) -> R::Register<S> {
        R::load::<S>(&self.fields[k], self.at)
    }

    #[inline(always)]
    fn vector<S: Simd>(&self, k: usize) -> WideVec3<R, S> {
        vector(self.fields, k, self.at)
    }

    /// Λ_N ← max(0, Λ_N − R_N w_N): the new impulse, and its change.
    #[inline(always)]
    fn prox_normal<S: Simd>(
        &self,
        s: S,
        old: R::Register<S>,
        w: R::Register<S>,
    ) -> [R::Register<S>; 2] {
        let scale = R::splat(s, self.scale);
        let r = R::mul(s, self.number::<S>(field::R_NORMAL), scale);
        let moved = R::sub(s, old, R::mul(s, r, w));
        let new = R::max(s, moved, R::splat(s, R::default()));
        [new, R::sub(s, new, old)]
    }

    /// A contact without friction; its impulse and its bias are one number each.
    #[inline(always)]
    fn normal<S: Simd, const RELATIVE: bool>(
        &self,
        s: S,
        p: &mut [Wide<R>],
        pair: &mut Pair<R, S>,
        noted: &mut Noted<R, S>,
    ) {
        let (n, arms) = (self.vector(field::NORMAL), arms(self.fields, self.at));
        let w = R::add(
            s,
            n.dot(s, pair.relative(s, arms)),
            self.number::<S>(field::BIAS),
        );
        let old = R::load::<S>(&p[0], self.at);
        let [new, dn] = self.prox_normal::<S>(s, old, w);
        pair.push(s, n.scale(s, dn), arms);
        R::store::<S>(&mut p[0], self.at, new);
        noted.normal(s, dn, new, self.inverse_r_normal::<S>(s));
        if RELATIVE {
            noted.relative(s, self.at, old, dn);
        }
    }

    /// A contact with a disc of friction; its impulse and its bias are vectors in the world frame.
    #[inline(always)]
    fn disc<S: Simd, const RELATIVE: bool>(
        &self,
        s: S,
        p: &mut [Wide<R>],
        pair: &mut Pair<R, S>,
        noted: &mut Noted<R, S>,
    ) {
        let (n, arms) = (self.vector(field::NORMAL), arms(self.fields, self.at));
        let bias = self.vector(field::BIAS);
        let w = n.dot(s, pair.relative(s, arms).add(s, bias));
        let p_old = vector::<R, S>(p, 0, self.at);
        let old = n.dot(s, p_old);
        let [new, dn] = self.prox_normal::<S>(s, old, w);
        pair.push(s, n.scale(s, dn), arms);
        // Λ_T ← the nearest point of the disc of radius μ Λ_N to Λ_T − R_T w_T.
        let rt = self.number::<S>(field::R_FRICTION);
        let relative = pair.relative(s, arms).add(s, bias);
        let wt = relative.sub(s, n.scale(s, n.dot(s, relative)));
        let f_old = p_old.sub(s, n.scale(s, old));
        let z = f_old.sub(s, wt.scale(s, R::mul(s, rt, R::splat(s, self.scale))));
        let length = R::sqrt(s, z.dot(s, z));
        let bound = R::mul(s, self.number::<S>(field::MU), new);
        let inside = R::min(s, length, bound);
        let tiny = R::splat(s, R::from_f64(1e-30));
        let f = z.scale(s, R::div(s, inside, R::max(s, length, tiny)));
        let df = f.sub(s, f_old);
        pair.push(s, df, arms);
        let p_new = f.add(s, n.scale(s, new));
        for (p, x) in p.iter_mut().zip(p_new.0) {
            R::store::<S>(p, self.at, x);
        }
        noted.normal(s, dn, new, self.inverse_r_normal::<S>(s));
        let size = R::sqrt(s, df.dot(s, df));
        noted.friction(s, size, R::div(s, size, rt));
        if RELATIVE {
            noted.relative(s, self.at, old, dn);
            let before = R::sqrt(s, f_old.dot(s, f_old));
            noted.relative(s, self.at, before, size);
        }
    }

    #[inline(always)]
    fn inverse_r_normal<S: Simd>(&self, s: S) -> R::Register<S> {
        let one = R::splat(s, R::from_f64(1.0));
        R::div(s, one, self.number::<S>(field::R_NORMAL))
    }
}

/// Wide manifolds to find the R-factors of.
pub struct StepLengths<'a, R: Real> {
    pub bodies: Shared<Body<R>>,
    pub order: &'a RowOrder,
    pub manifolds: &'a [WideManifold],
    pub fields: &'a mut [Wide<R>],
    pub frictionless: bool,
    pub alpha: f64,
}

impl<R: Real> StepLengths<'_, R> {
    /// Writes R_N and R_T; false if one is not finite.
    ///
    /// # Safety
    /// Every body that the manifolds name is there, and nobody writes these bodies meanwhile.
    pub unsafe fn run(self, arch: Arch) -> bool {
        arch.dispatch(self)
    }
}

impl<R: Real> WithSimd for StepLengths<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> bool {
        let width = R::width::<S>();
        let (fixed, _) = sizes(self.frictionless);
        let alpha = R::splat(s, R::from_f64(self.alpha));
        let one = R::splat(s, R::from_f64(1.0));
        let mut total = R::splat(s, R::default());
        let mut fields = self.fields;
        for manifold in self.manifolds {
            let (own, others) = fields.split_at_mut(manifold.points.range().len() * fixed);
            fields = others;
            for at in (0..LANES).step_by(width) {
                let index = manifold.bodies.each_ref().map(|side| &side[at..at + width]);
                // SAFETY: the promise of `StepLengths::run`.
                let pair = unsafe { Pair::<R, S>::gather(s, self.bodies, index, self.order) };
                for fields in own.chunks_exact_mut(fixed) {
                    let n = vector::<R, S>(fields, field::NORMAL, at);
                    let arms = arms(fields, at);
                    let rn = R::div(s, alpha, pair.coupling(s, n, arms));
                    R::store::<S>(&mut fields[field::R_NORMAL], at, rn);
                    total = R::add(s, total, rn);
                    if self.frictionless {
                        continue;
                    }
                    // Tangents without a branch (Duff et al. 2017).
                    let [x, y, z] = n.0;
                    let sign = R::sign(s, z);
                    let k = R::div(s, one, R::add(s, sign, z));
                    let zero = R::splat(s, R::default());
                    let xy = R::sub(s, zero, R::mul(s, R::mul(s, x, y), k));
                    let xx = R::mul(s, sign, R::mul(s, R::mul(s, x, x), k));
                    let yy = R::mul(s, R::mul(s, y, y), k);
                    let t1 = WideVec3([
                        R::sub(s, one, xx),
                        R::mul(s, sign, xy),
                        R::sub(s, zero, R::mul(s, sign, x)),
                    ]);
                    let t2 = WideVec3([xy, R::sub(s, sign, yy), R::sub(s, zero, y)]);
                    // Not by `map`: its closure would be compiled for the plain processor.
                    let first = pair.coupling(s, t1, arms);
                    let second = pair.coupling(s, t2, arms);
                    let rt = R::div(s, alpha, R::max(s, first, second));
                    R::store::<S>(&mut fields[field::R_FRICTION], at, rt);
                    total = R::add(s, total, rt);
                }
            }
        }
        R::total(s, total).is_finite()
    }
}
