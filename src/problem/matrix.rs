//! Problems without bodies: A itself, or M and J that make it.

use std::ops::Range;

use super::delassus::Delassus;
use super::masses::Masses;
use crate::check::{Invalid, demand, finite, not_negative};
use crate::linalg::csr::Sparse;

/// Find Λ in its laws' sets with w = A Λ + b, where A is all that is known, or M and J.
///
/// Every contact is a disc of Coulomb friction with the rows N, T1, T2; general rows have an interval each and stand
/// behind them. A need not be symmetric. What is made is checked: all numbers are finite, all lengths fit.
#[derive(Clone, Debug, Default)]
pub struct MatrixProblem {
    mu: Vec<f64>,
    bounds: Vec<[f64; 2]>,
    a: Delassus,
    /// The block row in `a` of each contact, and then of each general row.
    place: Vec<u32>,
    b: Vec<f64>,
    masses: Option<Masses>,
}

/// The laws of a [`MatrixProblem`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Laws {
    /// Coefficient of friction of each contact (-).
    pub mu: Vec<f64>,
    /// Interval of the impulses of each general row (N s), (−∞, ∞) where it is bilateral.
    pub bounds: Vec<[f64; 2]>,
}

impl Laws {
    /// Contacts with these coefficients, and so many bilateral rows.
    pub fn new(mu: Vec<f64>, bilateral: usize) -> Self {
        Self {
            mu,
            bounds: vec![[f64::NEG_INFINITY, f64::INFINITY]; bilateral],
        }
    }

    fn rows(&self) -> usize {
        3 * self.mu.len() + self.bounds.len()
    }

    fn check(&self) -> Result<(), Invalid> {
        self.mu.iter().try_for_each(|mu| not_negative("mu", *mu))?;
        self.bounds.iter().try_for_each(|[lo, hi]| {
            let is_range = lo <= hi && *lo < f64::INFINITY && *hi > f64::NEG_INFINITY;
            let range = format!("({lo}, {hi})");
            demand(is_range, "bounds", "an interval with a number in it", range)
        })
    }
}

impl MatrixProblem {
    /// A problem of which A and b are known.
    ///
    /// # Errors
    /// Sizes that do not fit, numbers that are not finite, or a negative diagonal.
    pub fn from_matrix(laws: Laws, a: &Sparse, b: Vec<f64>) -> Result<Self, Invalid> {
        laws.check()?;
        let rows = laws.rows();
        let size = format!("{rows} × {rows}: three rows per contact, and one per general row");
        let found = format_args!("{} × {}", a.rows(), a.columns);
        demand(a.rows() == rows && a.columns == rows, "A", &size, found)?;
        demand(b.len() == rows, "b", &format!("as long as {rows}"), b.len())?;
        a.check().map_err(|e| e.inside("A"))?;
        finite("b", &b)?;
        for k in 0..rows {
            not_negative(&format!("A ({k}, {k})"), a.at(k, k))?;
        }
        let a = Delassus::from_sparse(a, laws.mu.len());
        Ok(Self {
            mu: laws.mu,
            bounds: laws.bounds,
            place: places(&a),
            a,
            b,
            masses: None,
        })
    }

    /// The same problem, whose A has its blocks in another order, within islands and contacts before general rows;
    /// Λ keeps its own.
    pub(crate) fn reordered(&self, order: &[u32]) -> Self {
        let a = self.a.reordered(order);
        Self {
            mu: self.mu.clone(),
            bounds: self.bounds.clone(),
            place: places(&a),
            a,
            b: self.b.clone(),
            masses: None,
        }
    }

    /// A problem of which M and J are known; A and b follow.
    ///
    /// # Errors
    /// As [`MatrixProblem::from_matrix`]; also a mass matrix that is not symmetric and positive definite.
    pub fn from_masses(laws: Laws, masses: Masses) -> Result<Self, Invalid> {
        masses.check()?;
        let (a, b) = masses.delassus()?;
        Ok(Self {
            masses: Some(masses),
            ..Self::from_matrix(laws, &a, b)?
        })
    }

    /// Coefficient of friction of each contact.
    pub fn mu(&self) -> &[f64] {
        &self.mu
    }

    /// Interval of each general row.
    pub fn bounds(&self) -> &[[f64; 2]] {
        &self.bounds
    }

    /// A.
    pub fn a(&self) -> &Delassus {
        &self.a
    }

    /// b (m/s).
    pub fn offset(&self) -> &[f64] {
        &self.b
    }

    /// M and J, where they are known.
    pub fn known_masses(&self) -> Option<&Masses> {
        self.masses.as_ref()
    }

    /// The block row of A of a contact, or behind all contacts of a general row.
    pub(crate) fn place(&self, block: usize) -> usize {
        self.place[block] as usize
    }

    /// The rows in Λ of a contact, or behind all contacts of a general row.
    pub(crate) fn rows_of_block(&self, block: usize) -> Range<usize> {
        match block.checked_sub(self.mu.len()) {
            None => 3 * block..3 * block + 3,
            Some(r) => 3 * self.mu.len() + r..3 * self.mu.len() + r + 1,
        }
    }

    /// y = A x.
    ///
    /// # Panics
    /// If x or y has not one number per row.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        assert!(
            x.len() == self.b.len() && y.len() == x.len(),
            "one number per row"
        );
        let mut by_blocks = Vec::with_capacity(x.len());
        for source in &self.a.source {
            by_blocks.extend_from_slice(&x[self.rows_of_block(*source as usize)]);
        }
        for (b, source) in self.a.source.iter().enumerate() {
            let y = &mut y[self.rows_of_block(*source as usize)];
            self.a.multiply_row(b, &by_blocks, 0, y);
        }
    }
}

/// The block row of each contact, and then of each general row.
fn places(a: &Delassus) -> Vec<u32> {
    let mut place = vec![0; a.blocks()];
    for (k, source) in (0..).zip(&a.source) {
        place[*source as usize] = k;
    }
    place
}
