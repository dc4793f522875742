//! Numbers by the lane: f32 or f64, as wide as the processor has them.
//!
//! No multiply-add is fused and nothing is approximated, so that every processor computes the same.

use bytemuck::Pod;
use pulp::Simd;

use super::LANES;

/// One number per lane.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Wide<R>(pub [R; LANES]);

/// The type of number that a sweep computes with.
pub trait Real: Pod + Send + Sync + PartialOrd + Default + std::fmt::Debug {
    /// As many of them as fit into a register.
    type Register<S: Simd>: Copy;
    /// Half the distance from 1 to the next number: the relative error of one rounding.
    const ROUNDING: f64;
    /// How many that are; divides [`LANES`].
    fn width<S: Simd>() -> usize;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn splat<S: Simd>(s: S, x: Self) -> Self::Register<S>;
    fn load<S: Simd>(from: &Wide<Self>, at: usize) -> Self::Register<S>;
    fn store<S: Simd>(to: &mut Wide<Self>, at: usize, v: Self::Register<S>);
    fn add<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn sub<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn mul<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn div<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn sqrt<S: Simd>(s: S, a: Self::Register<S>) -> Self::Register<S>;
    fn max<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn min<S: Simd>(s: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn abs<S: Simd>(s: S, a: Self::Register<S>) -> Self::Register<S>;
    /// −1 where negative, else 1.
    fn sign<S: Simd>(s: S, a: Self::Register<S>) -> Self::Register<S>;
    /// Four registers that hold one row after the other become four that hold the first, second,
    /// third and fourth number of every row. The rows come out in an order of their own, see
    /// [`super::bodies::row_order`].
    fn from_rows<S: Simd>(s: S, rows: [Self::Register<S>; 4]) -> [Self::Register<S>; 4];
    /// And back.
    fn to_rows<S: Simd>(s: S, lanes: [Self::Register<S>; 4]) -> [Self::Register<S>; 4];
    fn largest<S: Simd>(s: S, v: Self::Register<S>) -> f64;
    fn total<S: Simd>(s: S, v: Self::Register<S>) -> f64;
}

macro_rules! real {
    ($real:ident as $lanes:ident, $width:ident, $splat:ident, $at_least:ident, $select:ident;
     unary: $($unary:ident = $by_one:ident),*;
     binary: $($binary:ident = $by_two:ident),*;
     rows: $($rows:ident = $by_four:ident),*;
     reduce: $($reduce:ident = $by_all:ident),*;) => {
        impl Real for $real {
            type Register<S: Simd> = S::$lanes;
            const ROUNDING: f64 = $real::EPSILON as f64 * 0.5;
            #[inline(always)]
            fn width<S: Simd>() -> usize {
                S::$width
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $real
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn splat<S: Simd>(s: S, x: Self) -> S::$lanes {
                s.$splat(x)
            }
            #[inline(always)]
            fn load<S: Simd>(from: &Wide<Self>, at: usize) -> S::$lanes {
                *bytemuck::from_bytes(bytemuck::cast_slice(&from.0[at..at + S::$width]))
            }
            #[inline(always)]
            fn store<S: Simd>(to: &mut Wide<Self>, at: usize, v: S::$lanes) {
                let to = bytemuck::cast_slice_mut(&mut to.0[at..at + S::$width]);
                *bytemuck::from_bytes_mut(to) = v;
            }
            #[inline(always)]
            fn sign<S: Simd>(s: S, a: S::$lanes) -> S::$lanes {
                let mask = s.$at_least(a, s.$splat(0.0));
                s.$select(mask, s.$splat(1.0), s.$splat(-1.0))
            }
            $(#[inline(always)]
            fn $unary<S: Simd>(s: S, a: S::$lanes) -> S::$lanes {
                s.$by_one(a)
            })*
            $(#[inline(always)]
            fn $binary<S: Simd>(s: S, a: S::$lanes, b: S::$lanes) -> S::$lanes {
                s.$by_two(a, b)
            })*
            $(#[inline(always)]
            fn $rows<S: Simd>(s: S, four: [S::$lanes; 4]) -> [S::$lanes; 4] {
                s.$by_four(four)
            })*
            $(#[inline(always)]
            fn $reduce<S: Simd>(s: S, v: S::$lanes) -> f64 {
                f64::from(s.$by_all(v))
            })*
        }
    };
}

real! {
    f32 as f32s, F32_LANES, splat_f32s, greater_than_or_equal_f32s, select_f32s;
    unary: sqrt = sqrt_f32s, abs = abs_f32s;
    binary: add = add_f32s, sub = sub_f32s, mul = mul_f32s, div = div_f32s, max = max_f32s, min = min_f32s;
    rows: from_rows = deinterleave_shfl_f32s, to_rows = interleave_shfl_f32s;
    reduce: largest = reduce_max_f32s, total = reduce_sum_f32s;
}

real! {
    f64 as f64s, F64_LANES, splat_f64s, greater_than_or_equal_f64s, select_f64s;
    unary: sqrt = sqrt_f64s, abs = abs_f64s;
    binary: add = add_f64s, sub = sub_f64s, mul = mul_f64s, div = div_f64s, max = max_f64s, min = min_f64s;
    rows: from_rows = deinterleave_shfl_f64s, to_rows = interleave_shfl_f64s;
    reduce: largest = reduce_max_f64s, total = reduce_sum_f64s;
}

/// Three lanes as a vector.
#[derive(Clone, Copy)]
pub struct WideVec3<R: Real, S: Simd>(pub [R::Register<S>; 3]);

impl<R: Real, S: Simd> WideVec3<R, S> {
    #[inline(always)]
    pub fn add(self, s: S, o: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, o.0);
        Self([R::add(s, a, x), R::add(s, b, y), R::add(s, c, z)])
    }

    #[inline(always)]
    pub fn sub(self, s: S, o: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, o.0);
        Self([R::sub(s, a, x), R::sub(s, b, y), R::sub(s, c, z)])
    }

    #[inline(always)]
    pub fn scale(self, s: S, k: R::Register<S>) -> Self {
        let [a, b, c] = self.0;
        Self([R::mul(s, a, k), R::mul(s, b, k), R::mul(s, c, k)])
    }

    #[inline(always)]
    pub fn dot(self, s: S, o: Self) -> R::Register<S> {
        let ([a, b, c], [x, y, z]) = (self.0, o.0);
        let ab = R::add(s, R::mul(s, a, x), R::mul(s, b, y));
        R::add(s, ab, R::mul(s, c, z))
    }

    #[inline(always)]
    pub fn cross(self, s: S, o: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, o.0);
        Self([
            R::sub(s, R::mul(s, b, z), R::mul(s, c, y)),
            R::sub(s, R::mul(s, c, x), R::mul(s, a, z)),
            R::sub(s, R::mul(s, a, y), R::mul(s, b, x)),
        ])
    }
}
