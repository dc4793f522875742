//! The sweep over groups of lanes: Λ_k ← prox(Λ_k − R_k (A Λ + b)_k) for sixteen edges of one colour
//! at a time, point after point, while their bodies stay in registers.

use pulp::{Arch, Simd, WithSimd};

use super::LANES;
use super::lanes::{Lane, Real, Vec3Lanes};
use super::layout::Group;
use super::tiles::{Body, sizes, word};
use crate::solve::prox::block::{Change, Sweep};

/// A pointer that units of one colour share: no two of them touch the same element.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T>(*mut T);

// SAFETY: whoever reads or writes through the pointer promises that nobody else does so for the same
// element at the same time; see the methods.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A pointer to all elements of a slice, which must outlive it.
    pub fn new(slice: &mut [T]) -> Self {
        Self(slice.as_mut_ptr())
    }

    /// One element.
    ///
    /// # Safety
    /// `index` is within the slice, and nobody else uses this element meanwhile.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    pub unsafe fn get(&self, index: usize) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.add(index) }
    }

    /// A copy of one element.
    ///
    /// # Safety
    /// `index` is within the slice, and nobody writes this element meanwhile.
    pub unsafe fn read(&self, index: usize) -> T
    where
        T: Copy,
    {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index).read() }
    }

    /// A run of elements.
    ///
    /// # Safety
    /// The range is within the slice, and nobody else uses these elements meanwhile.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    pub unsafe fn slice(&self, range: std::ops::Range<usize>) -> &mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

/// How many layers ahead of the next group lanes are asked for.
const AHEAD: usize = 2;

/// Asks for `count` lanes from `first` on to be brought near. The processor sees by itself that the
/// sweep goes straight through them, but begins anew at every page.
#[inline(always)]
fn prefetch<R>(lanes: &[Lane<R>], first: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..count * size_of::<Lane<R>>() / 64 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = lanes.as_ptr().wrapping_add(first).cast::<i8>();
        // SAFETY: a prefetch reads nothing that could be seen, and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (lanes, first, count);
}

/// The lane that each quad of a register comes out in.
pub type QuadOrder = [u8; LANES];

/// Finds the [`QuadOrder`] of this processor.
pub fn quad_order<R: Real>(arch: Arch) -> QuadOrder {
    struct Probe<R>(std::marker::PhantomData<R>);
    impl<R: Real> WithSimd for Probe<R> {
        type Output = QuadOrder;
        #[inline(always)]
        fn with_simd<S: Simd>(self, s: S) -> QuadOrder {
            let width = R::width::<S>();
            let mut bodies = [Body::<R>::default(); LANES];
            for (k, body) in bodies.iter_mut().enumerate() {
                body.0[0] = [R::from_f64(k as f64); 4];
            }
            let index: [u32; LANES] = std::array::from_fn(|k| k as u32);
            let straight: QuadOrder = std::array::from_fn(|k| k as u8);
            // SAFETY: sixteen bodies, sixteen indices, all in range, and they are ours alone.
            let first = unsafe {
                quads::<R, S>(s, Shared::new(&mut bodies), &index[..width], &straight, 0)[0]
            };
            let mut came_out = Lane([R::default(); LANES]);
            R::store::<S>(&mut came_out, 0, first);
            let mut order = straight;
            for (lane, quad) in came_out.0[..width].iter().enumerate() {
                order[quad.to_f64() as usize] = lane as u8;
            }
            order
        }
    }
    arch.dispatch(Probe::<R>(std::marker::PhantomData))
}

/// Reads quad `q` of one body per lane.
///
/// # Safety
/// Every index is within the bodies, `index` has as many as a register has lanes, `order` names
/// each of them once, and nobody writes these bodies meanwhile.
#[inline(always)]
unsafe fn quads<R: Real, S: Simd>(
    s: S,
    bodies: Shared<Body<R>>,
    index: &[u32],
    order: &QuadOrder,
    q: usize,
) -> [R::Lanes<S>; 4] {
    let mut registers = [R::splat(s, R::default()); 4];
    let numbers = registers.as_mut_ptr().cast::<[R; 4]>();
    for (k, lane) in order[..R::width::<S>()].iter().enumerate() {
        // SAFETY: four registers of `width` lanes hold `width` quads; for the rest the caller's
        // promises.
        unsafe {
            let body = *index.get_unchecked(*lane as usize) as usize;
            *numbers.add(k) = (*bodies.0.add(body)).0[q];
        }
    }
    R::from_quads(s, registers)
}

/// Writes quad `q` of one body per lane.
///
/// # Safety
/// As [`quads`], and nobody else reads or writes these bodies meanwhile. Of several lanes with the
/// same body one wins; they must write the same.
#[inline(always)]
unsafe fn set_quads<R: Real, S: Simd>(
    s: S,
    bodies: Shared<Body<R>>,
    index: &[u32],
    order: &QuadOrder,
    q: usize,
    lanes: [R::Lanes<S>; 4],
) {
    let registers = R::to_quads(s, lanes);
    let numbers = registers.as_ptr().cast::<[R; 4]>();
    for (k, lane) in order[..R::width::<S>()].iter().enumerate() {
        // SAFETY: as in `quads`.
        unsafe {
            let body = *index.get_unchecked(*lane as usize) as usize;
            (*bodies.0.add(body)).0[q] = *numbers.add(k);
        }
    }
}

/// One body per lane.
#[derive(Clone, Copy)]
struct BodyLanes<R: Real, S: Simd> {
    linear: Vec3Lanes<R, S>,
    angular: Vec3Lanes<R, S>,
    inverse_mass: R::Lanes<S>,
    /// xx, xy, xz, yy, yz, zz.
    inverse_inertia: [R::Lanes<S>; 6],
}

impl<R: Real, S: Simd> BodyLanes<R, S> {
    /// # Safety
    /// As [`quads`].
    #[inline(always)]
    unsafe fn gather(s: S, bodies: Shared<Body<R>>, index: &[u32], order: &QuadOrder) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let [vx, vy, vz, inverse_mass] = quads::<R, S>(s, bodies, index, order, 0);
            let [wx, wy, wz, xx] = quads::<R, S>(s, bodies, index, order, 1);
            let [xy, xz, yy, yz] = quads::<R, S>(s, bodies, index, order, 2);
            let [zz, _, _, _] = quads::<R, S>(s, bodies, index, order, 3);
            Self {
                linear: Vec3Lanes([vx, vy, vz]),
                angular: Vec3Lanes([wx, wy, wz]),
                inverse_mass,
                inverse_inertia: [xx, xy, xz, yy, yz, zz],
            }
        }
    }

    /// Writes the velocity back.
    ///
    /// # Safety
    /// As [`set_quads`].
    #[inline(always)]
    unsafe fn scatter(&self, s: S, bodies: Shared<Body<R>>, index: &[u32], order: &QuadOrder) {
        let [vx, vy, vz] = self.linear.0;
        let [wx, wy, wz] = self.angular.0;
        // SAFETY: the caller's promise.
        unsafe {
            let first = [vx, vy, vz, self.inverse_mass];
            set_quads::<R, S>(s, bodies, index, order, 0, first);
            let second = [wx, wy, wz, self.inverse_inertia[0]];
            set_quads::<R, S>(s, bodies, index, order, 1, second);
        }
    }

    /// The velocity at an offset from the centre of mass.
    #[inline(always)]
    fn at(&self, s: S, arm: Vec3Lanes<R, S>) -> Vec3Lanes<R, S> {
        self.linear.add(s, self.angular.cross(s, arm))
    }

    /// M⁻¹ times an impulse at an offset.
    #[inline(always)]
    fn response(
        &self,
        s: S,
        p: Vec3Lanes<R, S>,
        arm: Vec3Lanes<R, S>,
    ) -> (Vec3Lanes<R, S>, Vec3Lanes<R, S>) {
        let t = arm.cross(s, p);
        let [xx, xy, xz, yy, yz, zz] = self.inverse_inertia;
        (
            p.scale(s, self.inverse_mass),
            Vec3Lanes([
                Vec3Lanes::<R, S>([xx, xy, xz]).dot(s, t),
                Vec3Lanes::<R, S>([xy, yy, yz]).dot(s, t),
                Vec3Lanes::<R, S>([xz, yz, zz]).dot(s, t),
            ]),
        )
    }

    #[inline(always)]
    fn push(&mut self, s: S, p: Vec3Lanes<R, S>, arm: Vec3Lanes<R, S>) {
        let (v, w) = self.response(s, p, arm);
        self.linear = self.linear.add(s, v);
        self.angular = self.angular.add(s, w);
    }

    #[inline(always)]
    fn pull(&mut self, s: S, p: Vec3Lanes<R, S>, arm: Vec3Lanes<R, S>) {
        let (v, w) = self.response(s, p, arm);
        self.linear = self.linear.sub(s, v);
        self.angular = self.angular.sub(s, w);
    }
}

/// Groups to sweep; `words` and `impulses` are those of their layers.
pub struct Groups<'a, R: Real> {
    pub bodies: Shared<Body<R>>,
    pub order: &'a QuadOrder,
    pub groups: &'a [Group],
    pub words: &'a [Lane<R>],
    pub impulses: &'a mut [Lane<R>],
    /// Numbers per layer in `words` and `impulses`.
    pub sizes: (usize, usize),
    /// Sweep the normal rows alone; then the bias and the impulse of a layer are one number each.
    pub frictionless: bool,
    pub sweep: Sweep,
}

impl<R: Real> Groups<'_, R> {
    /// One sweep over the groups.
    ///
    /// # Safety
    /// Every body that the groups name is there, no two lanes of a group share one that moves, and
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

struct Kernel<'a, R: Real, const FRICTION: bool, const RELATIVE: bool>(Groups<'a, R>);

impl<R: Real, const FRICTION: bool, const RELATIVE: bool> WithSimd
    for Kernel<'_, R, FRICTION, RELATIVE>
{
    type Output = Change;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> Change {
        let run = self.0;
        let width = R::width::<S>();
        let (fixed, changing) = run.sizes;
        let zero = R::splat(s, R::default());
        let one = R::splat(s, R::from_f64(1.0));
        let tiny = R::splat(s, R::from_f64(1e-30));
        let scale = R::splat(s, R::from_f64(run.sweep.scale));
        let mut noted = Noted::<R, S>::new(s, run.sweep.relative);
        let (mut words, mut impulses) = (run.words, run.impulses);
        for group in run.groups {
            let points = group.layers().len();
            let (own_words, other_words) = words.split_at(points * fixed);
            let (own_impulses, other_impulses) = impulses.split_at_mut(points * changing);
            (words, impulses) = (other_words, other_impulses);
            prefetch(words, AHEAD * fixed, points * fixed);
            prefetch(impulses, AHEAD * changing, points * changing);
            for at in (0..LANES).step_by(width) {
                let ia = &group.bodies[0][at..at + width];
                let ib = &group.bodies[1][at..at + width];
                // SAFETY: the promise of `Groups::run`; dummies are this unit's own.
                let (mut a, mut b) = unsafe {
                    (
                        BodyLanes::<R, S>::gather(s, run.bodies, ia, run.order),
                        BodyLanes::<R, S>::gather(s, run.bodies, ib, run.order),
                    )
                };
                let layers = own_words.chunks_exact(fixed);
                for (t, p) in layers.zip(own_impulses.chunks_exact_mut(changing)) {
                    let one_word = |k: usize| R::load::<S>(&t[k], at);
                    let vector = |k: usize| {
                        Vec3Lanes::<R, S>([one_word(k), one_word(k + 1), one_word(k + 2)])
                    };
                    let n = vector(word::NORMAL);
                    let (ra, rb) = (vector(word::ARM_A), vector(word::ARM_B));
                    let rn = one_word(word::R_NORMAL);
                    let inverse_rn = R::div(s, one, rn);
                    let relative = b.at(s, rb).sub(s, a.at(s, ra));
                    if !FRICTION {
                        let w = R::add(s, n.dot(s, relative), one_word(word::BIAS));
                        let old = R::load::<S>(&p[0], at);
                        let step = R::mul(s, R::mul(s, rn, scale), w);
                        let new = R::max(s, R::sub(s, old, step), zero);
                        let dn = R::sub(s, new, old);
                        let push = n.scale(s, dn);
                        a.pull(s, push, ra);
                        b.push(s, push, rb);
                        R::store::<S>(&mut p[0], at, new);
                        noted.normal(s, dn, new, inverse_rn);
                        if RELATIVE {
                            noted.relative(s, at, old, dn);
                        }
                        continue;
                    }
                    // Normal: Λ_N ← max(0, Λ_N − R_N w_N).
                    let bias = vector(word::BIAS);
                    let w = n.dot(s, relative.add(s, bias));
                    let p_old = Vec3Lanes::<R, S>([
                        R::load::<S>(&p[0], at),
                        R::load::<S>(&p[1], at),
                        R::load::<S>(&p[2], at),
                    ]);
                    let old = n.dot(s, p_old);
                    let step = R::mul(s, R::mul(s, rn, scale), w);
                    let new = R::max(s, R::sub(s, old, step), zero);
                    let dn = R::sub(s, new, old);
                    let push = n.scale(s, dn);
                    a.pull(s, push, ra);
                    b.push(s, push, rb);
                    // Friction: Λ_T ← the nearest point of the disc of radius μ Λ_N to Λ_T − R_T w_T.
                    let rt = one_word(word::R_FRICTION);
                    let relative = b.at(s, rb).sub(s, a.at(s, ra)).add(s, bias);
                    let wt = relative.sub(s, n.scale(s, n.dot(s, relative)));
                    let f_old = p_old.sub(s, n.scale(s, old));
                    let z = f_old.sub(s, wt.scale(s, R::mul(s, rt, scale)));
                    let length = R::sqrt(s, z.dot(s, z));
                    let bound = R::mul(s, one_word(word::MU), new);
                    let inside = R::min(s, length, bound);
                    let f = z.scale(s, R::div(s, inside, R::max(s, length, tiny)));
                    let df = f.sub(s, f_old);
                    a.pull(s, df, ra);
                    b.push(s, df, rb);
                    let p_new = f.add(s, n.scale(s, new));
                    for (lane, x) in p.iter_mut().zip(p_new.0) {
                        R::store::<S>(lane, at, x);
                    }
                    noted.normal(s, dn, new, inverse_rn);
                    let size = R::sqrt(s, df.dot(s, df));
                    noted.friction(s, size, R::div(s, size, rt));
                    if RELATIVE {
                        noted.relative(s, at, old, dn);
                        let before = R::sqrt(s, f_old.dot(s, f_old));
                        noted.relative(s, at, before, size);
                    }
                }
                // SAFETY: as above; lanes of the dummy all write zero velocities.
                unsafe {
                    a.scatter(s, run.bodies, ia, run.order);
                    b.scatter(s, run.bodies, ib, run.order);
                }
            }
        }
        noted.finish::<RELATIVE>(s)
    }
}

/// A_ee for a direction e; never zero: lanes without a contact have bodies without mass.
#[inline(always)]
fn coupling<R: Real, S: Simd>(
    s: S,
    (a, ra): (&BodyLanes<R, S>, Vec3Lanes<R, S>),
    (b, rb): (&BodyLanes<R, S>, Vec3Lanes<R, S>),
    e: Vec3Lanes<R, S>,
) -> R::Lanes<S> {
    let (va, wa) = a.response(s, e, ra);
    let (vb, wb) = b.response(s, e, rb);
    let linear = va.add(s, vb).dot(s, e);
    let turn = wa.dot(s, ra.cross(s, e));
    let turn = R::add(s, turn, wb.dot(s, rb.cross(s, e)));
    let tiny = R::splat(s, R::from_f64(1e-30));
    R::max(s, R::add(s, linear, turn), tiny)
}

/// Groups to find the R-factors of.
pub struct Steps<'a, R: Real> {
    pub bodies: Shared<Body<R>>,
    pub order: &'a QuadOrder,
    pub groups: &'a [Group],
    pub words: &'a mut [Lane<R>],
    pub frictionless: bool,
    pub alpha: f64,
}

impl<R: Real> Steps<'_, R> {
    /// Writes R_N and R_T; false if one is not finite.
    ///
    /// # Safety
    /// Every body that the groups name is there, and nobody writes these bodies meanwhile.
    pub unsafe fn run(self, arch: Arch) -> bool {
        arch.dispatch(StepsKernel(self))
    }
}

struct StepsKernel<'a, R: Real>(Steps<'a, R>);

impl<R: Real> WithSimd for StepsKernel<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> bool {
        let run = self.0;
        let width = R::width::<S>();
        let (fixed, _) = sizes(run.frictionless);
        let alpha = R::splat(s, R::from_f64(run.alpha));
        let one = R::splat(s, R::from_f64(1.0));
        let mut total = R::splat(s, R::default());
        let mut words = run.words;
        for group in run.groups {
            let (own, others) = words.split_at_mut(group.layers().len() * fixed);
            words = others;
            for at in (0..LANES).step_by(width) {
                let ia = &group.bodies[0][at..at + width];
                let ib = &group.bodies[1][at..at + width];
                // SAFETY: the promise of `Steps::run`.
                let (a, b) = unsafe {
                    (
                        BodyLanes::<R, S>::gather(s, run.bodies, ia, run.order),
                        BodyLanes::<R, S>::gather(s, run.bodies, ib, run.order),
                    )
                };
                for t in own.chunks_exact_mut(fixed) {
                    let vector = |k: usize| {
                        Vec3Lanes::<R, S>([k, k + 1, k + 2].map(|k| R::load::<S>(&t[k], at)))
                    };
                    let n = vector(word::NORMAL);
                    let (ra, rb) = (vector(word::ARM_A), vector(word::ARM_B));
                    let rn = R::div(s, alpha, coupling(s, (&a, ra), (&b, rb), n));
                    R::store::<S>(&mut t[word::R_NORMAL], at, rn);
                    total = R::add(s, total, rn);
                    if run.frictionless {
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
                    let t1 = Vec3Lanes([
                        R::sub(s, one, xx),
                        R::mul(s, sign, xy),
                        R::sub(s, zero, R::mul(s, sign, x)),
                    ]);
                    let t2 = Vec3Lanes([xy, R::sub(s, sign, yy), R::sub(s, zero, y)]);
                    let first = coupling(s, (&a, ra), (&b, rb), t1);
                    let second = coupling(s, (&a, ra), (&b, rb), t2);
                    let largest = R::max(s, first, second);
                    let rt = R::div(s, alpha, largest);
                    R::store::<S>(&mut t[word::R_FRICTION], at, rt);
                    total = R::add(s, total, rt);
                }
            }
        }
        R::total(s, total).is_finite()
    }
}

/// What the lanes changed.
struct Noted<R: Real, S: Simd> {
    delta: R::Lanes<S>,
    speed: R::Lanes<S>,
    /// Largest Λ_N/R_N: what impulses amount to as velocities.
    level: R::Lanes<S>,
    sum: R::Lanes<S>,
    t_rel: f64,
    beyond: R::Lanes<S>,
    squares: [Lane<R>; 2],
}

impl<R: Real, S: Simd> Noted<R, S> {
    #[inline(always)]
    fn new(s: S, t_rel: f64) -> Self {
        let zero = R::splat(s, R::default());
        Self {
            delta: zero,
            speed: zero,
            level: zero,
            sum: zero,
            t_rel,
            beyond: R::splat(s, R::from_f64(-1e30)),
            squares: [Lane([R::default(); LANES]); 2],
        }
    }

    #[inline(always)]
    fn normal(&mut self, s: S, dn: R::Lanes<S>, new: R::Lanes<S>, inverse_r: R::Lanes<S>) {
        let size = R::abs(s, dn);
        self.delta = R::max(s, self.delta, size);
        self.speed = R::max(s, self.speed, R::mul(s, size, inverse_r));
        self.level = R::max(s, self.level, R::mul(s, new, inverse_r));
        self.sum = R::add(s, self.sum, size);
    }

    #[inline(always)]
    fn friction(&mut self, s: S, size: R::Lanes<S>, speed: R::Lanes<S>) {
        self.delta = R::max(s, self.delta, size);
        self.speed = R::max(s, self.speed, speed);
        self.sum = R::add(s, self.sum, size);
    }

    /// For Nützi 4.49 and 4.50: an old value and its change.
    #[inline(always)]
    fn relative(&mut self, s: S, at: usize, old: R::Lanes<S>, change: R::Lanes<S>) {
        let t_rel = R::splat(s, R::from_f64(self.t_rel));
        let allowed = R::mul(s, R::abs(s, old), t_rel);
        let beyond = R::sub(s, R::abs(s, change), allowed);
        self.beyond = R::max(s, self.beyond, beyond);
        // One sum per lane, so that it does not depend on the width of the registers.
        for (sum, x) in self.squares.iter_mut().zip([change, old]) {
            let total = R::add(s, R::load::<S>(sum, at), R::mul(s, x, x));
            R::store::<S>(sum, at, total);
        }
    }

    #[inline(always)]
    fn finish<const RELATIVE: bool>(self, s: S) -> Change {
        let speed = R::largest(s, self.speed);
        let level = R::largest(s, self.level);
        let sum = R::total(s, self.sum);
        // Smaller changes are lost in the rounding of the impulses themselves.
        let resolved = speed.max(R::ROUNDING * level);
        let mut change = Change {
            delta: R::largest(s, self.delta),
            speed_squared: resolved * resolved,
            sum,
            rounding: R::ROUNDING * level,
            ..Change::default()
        };
        if RELATIVE {
            change.beyond = R::largest(s, self.beyond);
            for (total, lanes) in change.squares.iter_mut().zip(&self.squares) {
                *total = lanes.0.iter().map(|x| x.to_f64()).sum();
            }
        }
        change
    }
}
