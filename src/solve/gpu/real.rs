//! The numbers that kernels and their twins compute with.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// A number of one of both precisions.
pub trait Real:
    bytemuck::Pod
    + Send
    + Sync
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + Sum
{
    /// Its bits.
    #[cfg(feature = "gpu")]
    const BITS: u32;
    const ZERO: Self;
    const ONE: Self;
    /// As far away as numbers go.
    const MAX: Self;
    /// From 1 to the next one.
    const EPSILON: f64;
    /// What stands behind one word in a record of whole vectors, so that the next number is aligned.
    type Pad: bytemuck::Pod + Send + Sync + Debug + Default + PartialEq;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn hypot(self, other: Self) -> Self;
}

macro_rules! real {
    ($real:ident, $bits:literal, $pad:ty) => {
        impl Real for $real {
            #[cfg(feature = "gpu")]
            const BITS: u32 = $bits;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MAX: Self = Self::MAX;
            const EPSILON: f64 = Self::EPSILON as f64;
            type Pad = $pad;
            fn of(x: f64) -> Self {
                x as Self
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn max(self, other: Self) -> Self {
                self.max(other)
            }
            fn min(self, other: Self) -> Self {
                self.min(other)
            }
            fn hypot(self, other: Self) -> Self {
                self.hypot(other)
            }
        }
    };
}

real!(f32, 32, [u32; 0]);
real!(f64, 64, [u32; 1]);
