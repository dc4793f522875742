//! What kernels read of contacts, rows and bodies, byte for byte. `shaders/solve/common.wgsl` declares the same records.

#![expect(
    clippy::multiple_bound_locations,
    reason = "the derived implementations name the bounds of the records again"
)]

use bytemuck::{Pod, Zeroable};

use super::real::Real;

/// What a contact's projection needs.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Prox<R: Real> {
    /// Coefficients of friction along t₁ and t₂.
    pub mu: [R; 2],
    /// R of the normal row and of the friction rows.
    pub r: [R; 2],
    /// A_T1N and A_T2N.
    pub coupling: [R; 2],
    /// Λ ← (1 − ω)Λ + ω Λ_local.
    pub omega: R,
    /// Bias of T2 (m/s); the others are in [`Frame`].
    pub bias: R,
    /// C of the normal and of the friction rows.
    pub compliance: [R; 2],
    /// Its first impulse.
    pub at: u32,
    /// Its block of A, and its law in the two highest bits: disc, box, ellipse.
    pub block: u32,
    pub pads: [R::Pad; 2],
}

/// Where a contact is and what it joins.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Frame<R: Real> {
    pub normal: [R; 3],
    pub first: u32,
    pub pad: R::Pad,
    pub tangent: [R; 3],
    pub second: u32,
    pub pad_too: R::Pad,
    pub first_arm: [R; 3],
    /// Bias of N (m/s).
    pub normal_bias: R,
    pub second_arm: [R; 3],
    /// Bias of T1 (m/s).
    pub tangent_bias: R,
}

/// A general row.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Row<R: Real> {
    pub bounds: [R; 2],
    pub bias: R,
    pub compliance: R,
    pub r: R,
    pub omega: R,
    /// Its impulse.
    pub at: u32,
    /// Its block of A.
    pub block: u32,
    /// Its entries, from the first up to the second.
    pub entries: [u32; 2],
    pub spare: [R; 2],
}

/// A body of a general row.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Entry<R: Real> {
    pub linear: [R; 3],
    pub body: u32,
    pub pad: R::Pad,
    pub angular: [R; 3],
    pub spare: u32,
    pub pad_too: R::Pad,
}

/// A body: velocity and M⁻¹ side by side.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Body<R: Real> {
    pub linear: [R; 3],
    pub inverse_mass: R,
    pub angular: [R; 3],
    /// 1 where impulses move it; 0 for the one body of each island that stands for all others.
    pub moves: R,
    /// Ixx⁻¹, Iyy⁻¹, Izz⁻¹.
    pub diagonal: [R; 3],
    pub spare: R,
    /// Ixy⁻¹, Ixz⁻¹, Iyz⁻¹.
    pub across: [R; 3],
    pub spare_too: R,
}

impl<R: Real> Body<R> {
    /// Whether impulses move it.
    pub fn moves(&self) -> bool {
        let moves = self.moves;
        moves != R::ZERO
    }
}
