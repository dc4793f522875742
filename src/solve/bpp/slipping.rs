//! Slipping rows, whose impulses follow those of their normal rows, with the sets as they are.

use std::time::Instant;

use super::lcp::{Lcp, Set};
use super::tuning::Tuning;
use crate::linalg::gmres::Gmres;

/// The slipping rows of an island, and the memory to solve for them.
#[derive(Clone, Debug, Default)]
pub struct Slipping {
    rows: Vec<u32>,
    gmres: Gmres,
    direction: Vec<f64>,
    image: Vec<f64>,
    /// What x_F does in each of the present directions.
    responses: Vec<f64>,
}

impl Slipping {
    /// Says which friction rows slip.
    pub fn set(&mut self, lcp: &Lcp, slips: impl Fn(usize) -> bool) {
        self.rows.clear();
        let rows = lcp.island.friction_rows().filter(|i| slips(*i));
        self.rows.extend(rows.map(|i| i as u32));
    }

    /// The rows that slip.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The impulses y of the slipping rows satisfy y = S x_F(y), which is linear:
    /// (1 + S A_FF⁻¹ A_FT) y = S A_FF⁻¹ (−b_F − …). GMRES solves it with the factor that is there, one
    /// substitution per iteration. x is then the coupled solution; w is not renewed.
    pub fn solve(&mut self, lcp: &mut Lcp, tuning: &Tuning, tolerance: f64) {
        if self.rows.is_empty() {
            return;
        }
        let start = Instant::now();
        for v in [&mut self.direction, &mut self.image] {
            v.clear();
            v.resize(lcp.n(), 0.0);
        }
        for _ in 0..tuning.gmres_cycles {
            // z = y/s, in m/s: the residual S x_F(y) − y.
            self.gmres.reset(self.rows.len(), tuning.gmres_directions);
            for (r, i) in self.gmres.residual.iter_mut().zip(&self.rows) {
                let i = *i as usize;
                let normal = lcp.x[lcp.island.normal_row[i] as usize];
                *r = (follow(lcp, i, normal) - lcp.x[i]) / lcp.island.scale[i];
            }
            if !self.gmres.begin(tolerance) {
                break;
            }
            self.responses.clear();
            let mut more = true;
            while more {
                self.respond(lcp);
                lcp.tally.krylov += 1;
                more = self.gmres.extend(tolerance);
            }
            if !self.gmres.finish() {
                break;
            }
            for (y, i) in self.gmres.step.iter().zip(&self.rows) {
                lcp.x[*i as usize] += y * lcp.island.scale[*i as usize];
            }
            let responses = self.responses.chunks_exact(lcp.n());
            for (share, response) in self.gmres.shares().iter().zip(responses) {
                for (x, r) in lcp.x.iter_mut().zip(response) {
                    *x += share * r;
                }
            }
        }
        for i in &self.rows {
            let i = *i as usize;
            lcp.x[i] = follow(lcp, i, lcp.x[lcp.island.normal_row[i] as usize]);
        }
        lcp.tally.solve_time += start.elapsed().as_secs_f64();
    }

    /// What x_F does when the slipping rows change by the last direction y, −A_FF⁻¹ A_FT y, is appended to
    /// the responses, and y − S x_F becomes the direction's image.
    fn respond(&mut self, lcp: &mut Lcp) {
        let n = lcp.n();
        for (y, i) in self.gmres.direction_and_image().0.iter().zip(&self.rows) {
            self.direction[*i as usize] = y * lcp.island.scale[*i as usize];
        }
        lcp.island.product(&self.direction, &mut self.image);
        for ((rhs, image), tight) in lcp.rhs.iter_mut().zip(&self.image).zip(&lcp.tight) {
            *rhs = if *tight { 0.0 } else { -image };
        }
        lcp.factor.solve(&mut lcp.rhs);
        self.responses.extend_from_slice(&lcp.rhs[..n]);
        let (y, out) = self.gmres.direction_and_image();
        for ((out, y), i) in out.iter_mut().zip(y).zip(&self.rows) {
            let i = *i as usize;
            let normal = lcp.rhs[lcp.island.normal_row[i] as usize];
            *out = y - follow(lcp, i, normal) / lcp.island.scale[i];
        }
    }
}

/// The impulse of slipping row `i` where that of its normal row is `normal`.
pub fn follow(lcp: &Lcp, i: usize, normal: f64) -> f64 {
    let sign = if lcp.set[i] == Set::High { 1.0 } else { -1.0 };
    sign * lcp.island.friction_coefficient[i] * normal
}
