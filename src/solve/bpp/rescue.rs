//! When the friction bounds do not settle: projected Gauss–Seidel on what is left of an island once its
//! equations are solved away.
//!
//! The rows without bounds, E, are eliminated by the factor that is there: S = A_CC − A_CE A_EE⁻¹ A_EC.
//! Joints and their ill conditioning are gone from S, which is small and only as hard as the contacts
//! are. Gauss–Seidel on it follows the friction bounds by itself and always comes nearer to which rows
//! slip; pivoting then goes on from there.

use super::factor::{Breakdown, Factorization};
use super::island::{Island, NONE};
use super::pivot::Work;

/// Memory of the rescue.
#[derive(Clone, Debug, Default)]
pub struct Rescue {
    /// Rows with bounds, in the island's order.
    bounded: Vec<u32>,
    /// Which of them is the normal row of each.
    normal: Vec<u32>,
    tight: Vec<bool>,
    /// S, row by row.
    s: Vec<f64>,
    /// S x + d of the bounded rows.
    w: Vec<f64>,
    x: Vec<f64>,
    unit: Vec<f64>,
    image: Vec<f64>,
}

/// Below this a row of S cannot be moved by its own impulse: what the equations leave of it is rounding.
const HELD: f64 = 1e-12;

/// Largest |x − P(x − w)| over the rows, without the added compliance and with the bounds that the
/// normal impulses give (m/s). `image` is overwritten.
pub fn error(island: &mut Island, x: &[f64], image: &mut Vec<f64>) -> f64 {
    image.clear();
    image.resize(x.len(), 0.0);
    island.product(x, image);
    let mut error: f64 = 0.0;
    for i in (0..x.len()).filter(|i| island.scale[*i] > 0.0) {
        let moved = x[i] - image[i] - island.b[i];
        let nearest = if island.normal[i] == NONE {
            moved.max(island.bounds[i][0]).min(island.bounds[i][1])
        } else {
            let bound = island.kappa[i] * x[island.normal[i] as usize].max(0.0);
            moved.clamp(-bound, bound)
        };
        error = error.max((x[i] - nearest).abs() / island.scale[i]);
    }
    error
}

impl Rescue {
    /// Finds S for an island. The factor is then that of A_EE.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn condense(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
    ) -> Result<(), Breakdown> {
        let n = island.n();
        self.bounded.clear();
        self.tight.clear();
        for i in 0..n {
            let [lo, hi] = island.bounds[i];
            let bounded = island.normal[i] != NONE || lo.is_finite() || hi.is_finite();
            self.tight.push(bounded);
            if bounded {
                self.bounded.push(i as u32);
            }
        }
        self.normal.clear();
        for i in &self.bounded {
            let normal = island.normal[*i as usize];
            let place = self.bounded.binary_search(&normal);
            self.normal.push(place.map_or(NONE, |k| k as u32));
        }
        factor.restrict(&island.matrix, &self.tight)?;
        self.image.clear();
        self.image.resize(n, 0.0);
        self.unit.clear();
        self.unit.resize(n, 0.0);
        self.s.clear();
        for k in 0..self.bounded.len() {
            self.unit.fill(0.0);
            self.unit[self.bounded[k] as usize] = 1.0;
            self.respond(island, factor, work, false);
            island.product(&self.unit, &mut self.image);
            let column = self.bounded.iter().map(|i| self.image[*i as usize]);
            self.s.extend(column);
        }
        Ok(())
    }

    /// Adds to `unit` what the equations answer to it: x_E −= A_EE⁻¹ (A x + b)_E, with b or without.
    fn respond(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        with_b: bool,
    ) {
        island.product(&self.unit, &mut self.image);
        for i in 0..self.unit.len() {
            let b = if with_b { island.b[i] } else { 0.0 };
            work.rhs[i] = if self.tight[i] {
                0.0
            } else {
                -(self.image[i] + b)
            };
        }
        factor.solve(&mut work.rhs);
        for i in 0..self.unit.len() {
            if !self.tight[i] {
                self.unit[i] += work.rhs[i];
            }
        }
    }

    /// Sweeps over the bounded rows from `work.x`, at most so many times or until nothing moves by
    /// more than `tolerance` (m/s). Returns the number of sweeps.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn sweep(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        most: u32,
        tolerance: f64,
    ) -> Result<u32, Breakdown> {
        factor.restrict(&island.matrix, &self.tight)?;
        self.fill(island, factor, work);
        let m = self.bounded.len();
        self.w.clear();
        self.x.clear();
        for i in &self.bounded {
            self.x.push(self.unit[*i as usize]);
        }
        island.product(&self.unit, &mut self.image);
        for i in &self.bounded {
            let i = *i as usize;
            self.w.push(self.image[i] + island.b[i]);
        }
        let mut sweeps = 0;
        while sweeps < most {
            sweeps += 1;
            let mut moved: f64 = 0.0;
            for k in 0..m {
                let i = self.bounded[k] as usize;
                let row = &self.s[k * m..(k + 1) * m];
                if row[k] < HELD || island.scale[i] == 0.0 {
                    continue;
                }
                let [lo, hi] = if self.normal[k] == NONE {
                    island.bounds[i]
                } else {
                    let bound = island.kappa[i] * self.x[self.normal[k] as usize].max(0.0);
                    [-bound, bound]
                };
                let x = (self.x[k] - self.w[k] / row[k]).max(lo).min(hi);
                let change = x - self.x[k];
                if change != 0.0 {
                    self.x[k] = x;
                    for (w, s) in self.w.iter_mut().zip(row) {
                        *w += s * change;
                    }
                    moved = moved.max(change.abs() * row[k] / island.scale[i]);
                }
            }
            if moved <= tolerance {
                break;
            }
        }
        for (i, x) in self.bounded.iter().zip(&self.x) {
            work.x[*i as usize] = *x;
        }
        self.fill(island, factor, work);
        work.x.copy_from_slice(&self.unit);
        Ok(sweeps)
    }

    /// Makes `unit` the impulses `work.x`, with the equations solved for.
    fn fill(&mut self, island: &mut Island, factor: &mut dyn Factorization, work: &mut Work) {
        self.unit.clone_from(&work.x);
        for i in 0..self.unit.len() {
            if !self.tight[i] {
                self.unit[i] = 0.0;
            }
        }
        for _ in 0..2 {
            self.respond(island, factor, work, true);
        }
    }
}
