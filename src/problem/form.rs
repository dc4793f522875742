//! What a solver may ask of a problem in any of its forms: bodies ([`Problem`]), M and H, or W alone (both of them
//! [`MatrixProblem`]).
//!
//! All of them number Λ alike: contacts first, each with its rows N, T1, T2 …, then general rows.

use std::borrow::Cow;
use std::ops::Range;

use super::delassus::{self, Delassus};
use super::law::Friction;
use super::masses::Masses;
use super::matrix::MatrixProblem;
use super::residual::{self, JudgedLaw, Residual, ResidualWorkspace};
use super::{Problem, law::FrictionLaw};

/// A problem in one of its forms.
pub trait Form: Sync {
    /// Number of contacts.
    fn contact_count(&self) -> usize;

    /// Length of Λ.
    fn row_count(&self) -> usize;

    /// The rows of contact `c` in Λ.
    fn rows_of(&self, c: usize) -> Range<usize>;

    /// The friction of contact `c`.
    fn friction_of(&self, c: usize) -> Friction;

    /// The interval of general row `r` (N s): infinite on both sides where it is bilateral.
    fn bounds_of(&self, r: usize) -> [f64; 2];

    /// w = A Λ + b (m/s), which at Λ = 0 is b.
    fn product(&self, lambda: &[f64], w: &mut [f64]);

    /// The own block of A of a contact, or behind all of them of a general row, row-major (1/kg).
    fn own_block(&self, block: usize, out: &mut [f64]);

    /// For a factorisation in the rows: A in block rows, island by island.
    fn delassus(&self) -> Cow<'_, Delassus>;

    /// For a factorisation in the velocities, M + Jᵀ D J: M and J, where they are known.
    fn masses(&self) -> Option<Cow<'_, Masses>>;

    /// How far Λ is from a solution, whatever solver it comes from.
    fn residual(
        &self,
        lambda: &[f64],
        law: JudgedLaw,
        workspace: &mut ResidualWorkspace,
    ) -> Residual;

    /// The general rows in Λ, which stand behind those of the last contact.
    fn general_rows(&self) -> Range<usize> {
        let last = self.contact_count().checked_sub(1);
        last.map_or(0, |c| self.rows_of(c).end)..self.row_count()
    }
}

impl Form for Problem {
    fn contact_count(&self) -> usize {
        self.contacts.len()
    }

    fn row_count(&self) -> usize {
        Self::row_count(self)
    }

    #[inline]
    fn rows_of(&self, c: usize) -> Range<usize> {
        self.contacts.rows(c)
    }

    fn friction_of(&self, c: usize) -> Friction {
        self.contacts.friction[c]
    }

    fn bounds_of(&self, r: usize) -> [f64; 2] {
        self.rows.bounds[r]
    }

    fn product(&self, lambda: &[f64], w: &mut [f64]) {
        let mut u = Vec::new();
        self.velocities(lambda, &mut u);
        for c in 0..self.contacts.len() {
            let rows = self.contacts.rows(c);
            self.contact_velocity(c, &u, &lambda[rows.clone()], &mut w[rows]);
        }
        let first = self.contact_rows();
        for r in 0..self.rows.len() {
            w[first + r] = self.row_velocity(r, &u, lambda[first + r]);
        }
    }

    fn own_block(&self, block: usize, out: &mut [f64]) {
        delassus::own_block(self, block, out);
    }

    fn delassus(&self) -> Cow<'_, Delassus> {
        Cow::Owned(Delassus::assemble(self))
    }

    fn masses(&self) -> Option<Cow<'_, Masses>> {
        Masses::of(self).map(Cow::Owned)
    }

    fn residual(
        &self,
        lambda: &[f64],
        law: JudgedLaw,
        workspace: &mut ResidualWorkspace,
    ) -> Residual {
        residual::evaluate(self, lambda, law, workspace)
    }
}

impl Form for MatrixProblem {
    fn contact_count(&self) -> usize {
        self.mu().len()
    }

    fn row_count(&self) -> usize {
        self.offset().len()
    }

    #[inline]
    fn rows_of(&self, c: usize) -> Range<usize> {
        3 * c..3 * c + 3
    }

    fn friction_of(&self, c: usize) -> Friction {
        Friction {
            law: FrictionLaw::Disc,
            mu: [self.mu()[c]; 2],
            length: 0.0,
        }
    }

    fn bounds_of(&self, r: usize) -> [f64; 2] {
        self.bounds()[r]
    }

    fn product(&self, lambda: &[f64], w: &mut [f64]) {
        self.multiply(lambda, w);
        w.iter_mut().zip(self.offset()).for_each(|(w, b)| *w += b);
    }

    fn own_block(&self, block: usize, out: &mut [f64]) {
        out.copy_from_slice(self.a().own(self.place(block)));
    }

    fn delassus(&self) -> Cow<'_, Delassus> {
        Cow::Borrowed(self.a())
    }

    fn masses(&self) -> Option<Cow<'_, Masses>> {
        self.known_masses().map(Cow::Borrowed)
    }

    fn residual(
        &self,
        lambda: &[f64],
        law: JudgedLaw,
        workspace: &mut ResidualWorkspace,
    ) -> Residual {
        residual::of_matrices(self, lambda, law, workspace)
    }
}
