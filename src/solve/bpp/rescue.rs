//! When the friction bounds do not settle: projected Gauss–Seidel on what is left of an island once its
//! equations are solved away.
//!
//! The rows without bounds, E, are eliminated by the factor that is there: S = A_CC − A_CE A_EE⁻¹ A_EC.
//! Joints and their ill conditioning are gone from S, which is small and only as hard as the contacts
//! are. Gauss–Seidel on it follows the friction bounds by itself and comes nearer to which rows slip;
//! Newton's method, with the bounds in the matrix, goes the rest of the way.

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
/// Sweeps before the first Newton step; later ones have half as many again.
const FIRST_SWEEPS: u32 = 20;
/// Most sweeps between Newton steps.
const MOST_SWEEPS: u32 = 1000;
/// How hard the first proximal step holds on to the present impulses, as a share of A's diagonal, …
const FIRST_HOLD: f64 = 1e-3;
/// … and the last one.
const LEAST_HOLD: f64 = 1e-12;
/// Newton steps per proximal step.
const NEWTON_STEPS: u32 = 4;
/// Proximal steps that may fail one after the other.
const FAILURES: u32 = 3;
/// A proximal step must leave at most this share of the error.
const ENOUGH: f64 = 0.9;
/// Newton's method is for no more rows than this.
const MOST_UNKNOWNS: usize = 400;

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

    /// Goes on from `work.x` by sweeps over the bounded rows and Newton's method on them, until the error
    /// is below `wanted` (m/s) or so many sweeps were done; [`Rescue::condense`] comes first. Returns the
    /// number of sweeps; the best impulses are then in `work.x`.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn solve(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        most: u32,
        wanted: f64,
    ) -> Result<u32, Breakdown> {
        factor.restrict(&island.matrix, &self.tight)?;
        self.fill(island, factor, work);
        self.x.clear();
        self.x
            .extend(self.bounded.iter().map(|i| self.unit[*i as usize]));
        island.product(&self.unit, &mut self.image);
        self.w.clear();
        for i in &self.bounded {
            let i = *i as usize;
            self.w.push(self.image[i] + island.b[i]);
        }
        let mut best = (f64::INFINITY, self.x.clone());
        let (mut sweeps, mut chunk) = (0, FIRST_SWEEPS);
        while sweeps < most && best.0 > wanted {
            for _ in 0..chunk {
                self.sweep(island);
            }
            sweeps += chunk;
            chunk = (chunk + chunk / 2).min(MOST_SWEEPS);
            let error = self.newton(island, wanted);
            if !error.is_finite() {
                return Err(Breakdown::NotFinite);
            }
            if error < best.0 {
                best = (error, self.x.clone());
            }
        }
        for (i, x) in self.bounded.iter().zip(&best.1) {
            work.x[*i as usize] = *x;
        }
        self.fill(island, factor, work);
        work.x.copy_from_slice(&self.unit);
        Ok(sweeps)
    }

    /// Proximal steps, each by Newton's method, as long as they make the error smaller; the shorter the
    /// steps, the surer. Returns the error.
    fn newton(&mut self, island: &Island, wanted: f64) -> f64 {
        let mut error = self.error(island);
        let mut hold = FIRST_HOLD;
        let mut failures = 0;
        while failures < FAILURES && error > wanted {
            let center = self.x.clone();
            let mut found = false;
            for _ in 0..NEWTON_STEPS {
                if !self.newton_step(island, &center, hold) {
                    break;
                }
                let now = self.error(island);
                if now < ENOUGH * error {
                    error = now;
                    found = true;
                    break;
                }
            }
            if found {
                failures = 0;
                hold = (0.1 * hold).max(LEAST_HOLD);
            } else {
                self.move_to(&center);
                failures += 1;
                hold = (30.0 * hold).min(1.0);
            }
        }
        error
    }

    /// What a row's own bounds or its normal impulse allow.
    fn bounds(&self, island: &Island, k: usize) -> [f64; 2] {
        let i = self.bounded[k] as usize;
        if self.normal[k] == NONE {
            return island.bounds[i];
        }
        let bound = island.kappa[i] * self.x[self.normal[k] as usize].max(0.0);
        [-bound, bound]
    }

    /// Whether impulses can move row `k` at all.
    fn moves(&self, island: &Island, k: usize) -> bool {
        let m = self.bounded.len();
        self.s[k * m + k] >= HELD && island.scale[self.bounded[k] as usize] > 0.0
    }

    /// One sweep of Gauss–Seidel.
    fn sweep(&mut self, island: &Island) {
        let m = self.bounded.len();
        for k in 0..m {
            if !self.moves(island, k) {
                continue;
            }
            let [lo, hi] = self.bounds(island, k);
            let row = &self.s[k * m..(k + 1) * m];
            let x = (self.x[k] - self.w[k] / row[k]).max(lo).min(hi);
            let change = x - self.x[k];
            if change != 0.0 {
                self.x[k] = x;
                for (w, s) in self.w.iter_mut().zip(row) {
                    *w += s * change;
                }
            }
        }
    }

    /// The error of the present impulses (m/s), see [`error`].
    fn error(&self, island: &Island) -> f64 {
        let mut error: f64 = 0.0;
        for k in 0..self.bounded.len() {
            let scale = island.scale[self.bounded[k] as usize];
            if scale > 0.0 {
                let [lo, hi] = self.bounds(island, k);
                let nearest = (self.x[k] - self.w[k]).max(lo).min(hi);
                let apart = (self.x[k] - nearest).abs() / scale;
                // A maximum would lose what is not a number.
                if apart > error || apart.is_nan() {
                    error = apart;
                }
            }
        }
        error
    }

    /// Replaces the impulses, and w with them.
    fn move_to(&mut self, to: &[f64]) {
        let m = self.bounded.len();
        for (k, to) in to.iter().enumerate() {
            let change = to - self.x[k];
            if change != 0.0 {
                self.x[k] = *to;
                let row = &self.s[k * m..(k + 1) * m];
                for (w, s) in self.w.iter_mut().zip(row) {
                    *w += s * change;
                }
            }
        }
    }

    /// One step of the semismooth Newton method: rows that move freely have w = 0, slipping ones follow
    /// their normal impulse, all at once. `hold`, a share of A's diagonal, pulls towards `center`. Returns
    /// false where no step was found.
    fn newton_step(&mut self, island: &Island, center: &[f64], hold: f64) -> bool {
        let m = self.bounded.len();
        // What each row does: its unknown, or the one that it follows and how, or its value.
        let mut unknown: Vec<usize> = Vec::new();
        let mut place = vec![usize::MAX; m];
        let mut value = self.x.clone();
        let mut slope = vec![0.0; m];
        for k in 0..m {
            if !self.moves(island, k) {
                continue;
            }
            let wish = self.x[k] - self.w[k] / self.s[k * m + k];
            let [lo, hi] = self.bounds(island, k);
            if self.normal[k] != NONE {
                let normal = self.normal[k] as usize;
                value[k] = 0.0;
                if place[normal] == usize::MAX {
                    continue;
                }
                if wish < lo || wish > hi {
                    let sign = if wish > hi { 1.0 } else { -1.0 };
                    slope[k] = sign * island.kappa[self.bounded[k] as usize];
                    continue;
                }
            } else if wish <= lo || wish >= hi {
                value[k] = if wish <= lo { lo } else { hi };
                continue;
            }
            place[k] = unknown.len();
            unknown.push(k);
        }
        let n = unknown.len();
        if n == 0 || n > MOST_UNKNOWNS {
            return false;
        }
        let mut matrix = nalgebra::DMatrix::<f64>::zeros(n, n);
        let mut rhs = nalgebra::DVector::<f64>::zeros(n);
        for (r, &k) in unknown.iter().enumerate() {
            let row = &self.s[k * m..(k + 1) * m];
            // w as it would be with the known values, and none of the unknown ones.
            let mut constant = self.w[k];
            for j in 0..m {
                if place[j] != usize::MAX {
                    matrix[(r, place[j])] += row[j];
                    constant -= row[j] * self.x[j];
                } else if slope[j] != 0.0 {
                    let normal = self.normal[j] as usize;
                    matrix[(r, place[normal])] += row[j] * slope[j];
                    constant -= row[j] * self.x[j];
                } else {
                    constant += row[j] * (value[j] - self.x[j]);
                }
            }
            matrix[(r, r)] += hold;
            rhs[r] = hold * center[k] - constant;
        }
        let Some(found) = matrix.lu().solve(&rhs) else {
            return false;
        };
        if !found.iter().all(|x| x.is_finite()) {
            return false;
        }
        for k in 0..m {
            if place[k] != usize::MAX {
                value[k] = found[place[k]];
            }
        }
        for k in 0..m {
            if slope[k] != 0.0 {
                value[k] = slope[k] * value[self.normal[k] as usize].max(0.0);
            }
        }
        self.move_to(&value);
        true
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
