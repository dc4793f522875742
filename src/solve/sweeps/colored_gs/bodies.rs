//! One body per lane: gathered into registers, moved by impulses, and scattered back.

use pulp::{Arch, Simd, WithSimd};

use super::LANES;
use super::lanes::{Real, Wide, WideVec3};
use super::shared::Shared;
use super::wide::Body;

/// The lane that each row of a register comes out in.
pub type RowOrder = [u8; LANES];

/// Finds the [`RowOrder`] of this processor.
pub fn row_order<R: Real>(arch: Arch) -> RowOrder {
    struct Probe<R>(std::marker::PhantomData<R>);
    impl<R: Real> WithSimd for Probe<R> {
        type Output = RowOrder;
        #[inline(always)]
        fn with_simd<S: Simd>(self, s: S) -> RowOrder {
            let width = R::width::<S>();
            let mut bodies = [Body::<R>::default(); LANES];
            for (k, body) in bodies.iter_mut().enumerate() {
                body.0[0] = [R::from_f64(k as f64); 4];
            }
            let index: [u32; LANES] = std::array::from_fn(|k| k as u32);
            let straight: RowOrder = std::array::from_fn(|k| k as u8);
            // SAFETY: sixteen bodies, sixteen indices, all in range, and they are ours alone.
            let first = unsafe {
                gather_rows::<R, S>(s, Shared::new(&mut bodies), &index[..width], &straight, 0)[0]
            };
            let mut came_out = Wide([R::default(); LANES]);
            R::store::<S>(&mut came_out, 0, first);
            let mut order = straight;
            for (lane, row) in came_out.0[..width].iter().enumerate() {
                order[row.to_f64() as usize] = lane as u8;
            }
            order
        }
    }
    arch.dispatch(Probe::<R>(std::marker::PhantomData))
}

/// Reads row `q` of one body per lane.
///
/// # Safety
/// Every index is within the bodies, `index` has as many as a register has lanes, `order` names
/// each of them once, and nobody writes these bodies meanwhile.
#[inline(always)]
unsafe fn gather_rows<R: Real, S: Simd>(
    s: S,
    bodies: Shared<Body<R>>,
    index: &[u32],
    order: &RowOrder,
    q: usize,
) -> [R::Register<S>; 4] {
    let mut registers = [R::splat(s, R::default()); 4];
    let numbers = registers.as_mut_ptr().cast::<[R; 4]>();
    for (k, lane) in order[..R::width::<S>()].iter().enumerate() {
        // SAFETY: four registers of `width` lanes hold `width` rows; for the rest the caller's
        // promises.
        unsafe {
            let body = *index.get_unchecked(*lane as usize) as usize;
            *numbers.add(k) = (*bodies.0.add(body)).0[q];
        }
    }
    R::from_rows(s, registers)
}

/// Writes row `q` of one body per lane.
///
/// # Safety
/// As [`gather_rows`], and nobody else reads or writes these bodies meanwhile. Of several lanes with the
/// same body one wins; they must write the same.
#[inline(always)]
unsafe fn scatter_rows<R: Real, S: Simd>(
    s: S,
    bodies: Shared<Body<R>>,
    index: &[u32],
    order: &RowOrder,
    q: usize,
    lanes: [R::Register<S>; 4],
) {
    let registers = R::to_rows(s, lanes);
    let numbers = registers.as_ptr().cast::<[R; 4]>();
    for (k, lane) in order[..R::width::<S>()].iter().enumerate() {
        // SAFETY: as in `gather_rows`.
        unsafe {
            let body = *index.get_unchecked(*lane as usize) as usize;
            (*bodies.0.add(body)).0[q] = *numbers.add(k);
        }
    }
}

/// One body per lane.
#[derive(Clone, Copy)]
struct WideBody<R: Real, S: Simd> {
    linear: WideVec3<R, S>,
    angular: WideVec3<R, S>,
    inverse_mass: R::Register<S>,
    /// xx, xy, xz, yy, yz, zz.
    inverse_inertia: [R::Register<S>; 6],
}

impl<R: Real, S: Simd> WideBody<R, S> {
    /// # Safety
    /// As [`gather_rows`].
    #[inline(always)]
    unsafe fn gather(s: S, bodies: Shared<Body<R>>, index: &[u32], order: &RowOrder) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let [vx, vy, vz, inverse_mass] = gather_rows::<R, S>(s, bodies, index, order, 0);
            let [wx, wy, wz, xx] = gather_rows::<R, S>(s, bodies, index, order, 1);
            let [xy, xz, yy, yz] = gather_rows::<R, S>(s, bodies, index, order, 2);
            let [zz, _, _, _] = gather_rows::<R, S>(s, bodies, index, order, 3);
            Self {
                linear: WideVec3([vx, vy, vz]),
                angular: WideVec3([wx, wy, wz]),
                inverse_mass,
                inverse_inertia: [xx, xy, xz, yy, yz, zz],
            }
        }
    }

    /// Writes the velocity back.
    ///
    /// # Safety
    /// As [`scatter_rows`].
    #[inline(always)]
    unsafe fn scatter(&self, s: S, bodies: Shared<Body<R>>, index: &[u32], order: &RowOrder) {
        let [vx, vy, vz] = self.linear.0;
        let [wx, wy, wz] = self.angular.0;
        // SAFETY: the caller's promise.
        unsafe {
            let first = [vx, vy, vz, self.inverse_mass];
            scatter_rows::<R, S>(s, bodies, index, order, 0, first);
            let second = [wx, wy, wz, self.inverse_inertia[0]];
            scatter_rows::<R, S>(s, bodies, index, order, 1, second);
        }
    }

    /// The velocity at an offset from the centre of mass.
    #[inline(always)]
    fn at(&self, s: S, arm: WideVec3<R, S>) -> WideVec3<R, S> {
        self.linear.add(s, self.angular.cross(s, arm))
    }

    /// M⁻¹ times an impulse at an offset.
    #[inline(always)]
    fn response(
        &self,
        s: S,
        p: WideVec3<R, S>,
        arm: WideVec3<R, S>,
    ) -> (WideVec3<R, S>, WideVec3<R, S>) {
        let t = arm.cross(s, p);
        let [xx, xy, xz, yy, yz, zz] = self.inverse_inertia;
        (
            p.scale(s, self.inverse_mass),
            WideVec3([
                WideVec3::<R, S>([xx, xy, xz]).dot(s, t),
                WideVec3::<R, S>([xy, yy, yz]).dot(s, t),
                WideVec3::<R, S>([xz, yz, zz]).dot(s, t),
            ]),
        )
    }

    #[inline(always)]
    fn push(&mut self, s: S, p: WideVec3<R, S>, arm: WideVec3<R, S>) {
        let (v, w) = self.response(s, p, arm);
        self.linear = self.linear.add(s, v);
        self.angular = self.angular.add(s, w);
    }

    #[inline(always)]
    fn pull(&mut self, s: S, p: WideVec3<R, S>, arm: WideVec3<R, S>) {
        let (v, w) = self.response(s, p, arm);
        self.linear = self.linear.sub(s, v);
        self.angular = self.angular.sub(s, w);
    }
}

/// First and second body of some lanes.
pub(super) struct Pair<R: Real, S: Simd> {
    a: WideBody<R, S>,
    b: WideBody<R, S>,
}

impl<R: Real, S: Simd> Pair<R, S> {
    /// # Safety
    /// As [`gather_rows`].
    #[inline(always)]
    pub(super) unsafe fn gather(
        s: S,
        bodies: Shared<Body<R>>,
        index: [&[u32]; 2],
        order: &RowOrder,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                a: WideBody::gather(s, bodies, index[0], order),
                b: WideBody::gather(s, bodies, index[1], order),
            }
        }
    }

    /// # Safety
    /// As [`scatter_rows`].
    #[inline(always)]
    pub(super) unsafe fn scatter(
        &self,
        s: S,
        bodies: Shared<Body<R>>,
        index: [&[u32]; 2],
        order: &RowOrder,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            self.a.scatter(s, bodies, index[0], order);
            self.b.scatter(s, bodies, index[1], order);
        }
    }

    /// The velocity of the second body against the first at a contact.
    #[inline(always)]
    pub(super) fn relative(&self, s: S, arms: [WideVec3<R, S>; 2]) -> WideVec3<R, S> {
        self.b.at(s, arms[1]).sub(s, self.a.at(s, arms[0]))
    }

    /// An impulse on the second body, and its opposite on the first.
    #[inline(always)]
    pub(super) fn push(&mut self, s: S, p: WideVec3<R, S>, arms: [WideVec3<R, S>; 2]) {
        self.a.pull(s, p, arms[0]);
        self.b.push(s, p, arms[1]);
    }

    /// A_ee for a direction e; never zero: lanes without a contact have bodies without mass.
    #[inline(always)]
    pub(super) fn coupling(
        &self,
        s: S,
        e: WideVec3<R, S>,
        arms: [WideVec3<R, S>; 2],
    ) -> R::Register<S> {
        let (va, wa) = self.a.response(s, e, arms[0]);
        let (vb, wb) = self.b.response(s, e, arms[1]);
        let linear = va.add(s, vb).dot(s, e);
        let turn = wa.dot(s, arms[0].cross(s, e));
        let turn = R::add(s, turn, wb.dot(s, arms[1].cross(s, e)));
        let tiny = R::splat(s, R::from_f64(1e-30));
        R::max(s, R::add(s, linear, turn), tiny)
    }
}
