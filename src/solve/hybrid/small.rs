//! The small problem of the couplings' impulses alone: S Λ + b under their laws.

use nalgebra::{DMatrix, DVector};

use crate::problem::law::Law;
use crate::problem::{FrictionLaw, Laws, MatrixProblem, Problem, Sparse};
use crate::solve::exact::{WorkBudget, matrices};
use crate::solve::{Budget, Request, Status};

/// What it is solved to, as a share of the largest velocity that is left at a coupling (-), and its most steps, where it
/// is not of intervals alone.
const ACCURACY: f64 = 1e-9;
const STEPS: u32 = 500;
/// Most pivots where it is.
const PIVOTS: usize = 35;
/// What is added to the diagonal, whose rows may be redundant (-), and how often the result is refined.
const RAISED: f64 = 1e-12;
const REFINEMENTS: usize = 3;

/// The problem. Discs of friction are solved as such, and stand first; of other laws the bounds are held that the present
/// normal impulses allow.
pub struct Small {
    /// The secondary's row of each.
    order: Vec<usize>,
    mu: Vec<f64>,
    bounds: Vec<[f64; 2]>,
    s: DMatrix<f64>,
    b: DVector<f64>,
    x: DVector<f64>,
    /// The largest velocity that is left (m/s).
    speed: f64,
}

impl Small {
    /// Of the secondary with S row by row, where its impulses leave the velocities `w` at its rows.
    pub fn new(secondary: &Problem, s: &[f64], lambda: &[f64], w: &[f64], has_boxes: bool) -> Self {
        let n = lambda.len();
        let contacts = &secondary.contacts;
        let is_disc = |c: &usize| !has_boxes && contacts.friction[*c].law == FrictionLaw::Disc;
        let mut order: Vec<usize> = Vec::with_capacity(n);
        let (mut mu, mut bounds) = (Vec::new(), Vec::new());
        for c in (0..contacts.len()).filter(is_disc) {
            mu.push(contacts.friction[c].mu[0]);
            order.extend(contacts.rows(c));
        }
        for c in (0..contacts.len()).filter(|c| !is_disc(c)) {
            let friction = &contacts.friction[c];
            let rows = contacts.rows(c);
            let normal = lambda[rows.start].max(0.0);
            bounds.push([0.0, f64::INFINITY]);
            bounds.extend((1..rows.len()).map(|k| {
                let most = friction.law.row_bound(k - 1, friction.mu) * normal;
                [-most, most]
            }));
            order.extend(rows);
        }
        bounds.extend_from_slice(&secondary.rows.bounds);
        order.extend(secondary.contact_rows()..n);
        let s = DMatrix::from_fn(n, n, |i, j| s[order[i] * n + order[j]]);
        let x = DVector::from_iterator(n, order.iter().map(|r| lambda[*r]));
        let b = DVector::from_iterator(n, order.iter().map(|r| w[*r])) - &s * &x;
        Self {
            speed: w.iter().fold(0.0, |most: f64, w| most.max(w.abs())),
            order,
            mu,
            bounds,
            s,
            b,
            x,
        }
    }

    /// Solves it, within about so many multiplications. False where that is not possible.
    pub fn solve(&mut self, lambda: &mut [f64], work: f64) -> bool {
        let has_intervals = self.mu.is_empty();
        if !(has_intervals && self.pivot() || self.by_newton(work)) {
            return false;
        }
        for (r, x) in self.order.iter().zip(self.x.iter()) {
            lambda[*r] = *x;
        }
        self.x.iter().all(|x| x.is_finite())
    }

    /// By block principal pivoting from what is free now. False where the sets do not settle, or S is singular.
    fn pivot(&mut self) -> bool {
        let n = self.order.len();
        let pairs = self.bounds.iter().zip(self.x.iter());
        let mut free: Vec<bool> = pairs
            .map(|([lo, hi], x)| (x > lo && x < hi) || *lo == f64::NEG_INFINITY)
            .collect();
        for _ in 0..PIVOTS {
            for i in (0..n).filter(|i| !free[*i]) {
                let [lo, hi] = self.bounds[i];
                let is_lower = self.x[i] - lo <= hi - self.x[i];
                self.x[i] = if is_lower { lo } else { hi };
            }
            if !self.solve_free(&free) {
                return false;
            }
            let w = &self.s * &self.x + &self.b;
            let mut is_settled = true;
            for i in 0..n {
                let ([lo, hi], x) = (self.bounds[i], self.x[i]);
                let is_free = match free[i] {
                    true => x >= lo && x <= hi,
                    false => lo < hi && ((x == lo && w[i] < 0.0) || (x == hi && w[i] > 0.0)),
                };
                is_settled &= is_free == free[i];
                free[i] = is_free;
            }
            if is_settled {
                return true;
            }
        }
        false
    }

    /// Solves for the free rows, the others given. False where S is singular.
    fn solve_free(&mut self, free: &[bool]) -> bool {
        let own: Vec<usize> = (0..free.len()).filter(|i| free[*i]).collect();
        if own.is_empty() {
            return true;
        }
        let scale = |i: usize| self.s[(i, i)].max(f64::MIN_POSITIVE).sqrt().recip();
        let scale: Vec<f64> = own.iter().map(|i| scale(*i)).collect();
        let a = DMatrix::from_fn(own.len(), own.len(), |i, j| {
            let raised = if i == j { 1.0 + RAISED } else { 1.0 };
            raised * self.s[(own[i], own[j])] * scale[i] * scale[j]
        });
        let factor = a.lu();
        // What is raised is taken out again by refinement.
        for _ in 0..REFINEMENTS {
            let w = &self.s * &self.x + &self.b;
            let rest = own.iter().zip(&scale).map(|(i, scale)| -w[*i] * scale);
            let rest = DVector::from_iterator(own.len(), rest);
            let Some(step) = factor.solve(&rest) else {
                return false;
            };
            for ((i, scale), step) in own.iter().zip(&scale).zip(step.iter()) {
                self.x[*i] += step * scale;
            }
        }
        true
    }

    /// By `newton`, as a problem without bodies.
    fn by_newton(&mut self, work: f64) -> bool {
        let n = self.order.len();
        let entries = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let triplets: Vec<(u32, u32, f64)> = entries
            .map(|(i, j)| (i as u32, j as u32, self.s[(i, j)]))
            .filter(|(_, _, value)| *value != 0.0)
            .collect();
        let a = Sparse::from_triplets(n, n, &triplets);
        let laws = Laws {
            mu: self.mu.clone(),
            bounds: self.bounds.clone(),
        };
        let Ok(problem) = MatrixProblem::from_matrix(laws, &a, self.b.as_slice().to_vec()) else {
            return false;
        };
        let tolerance = ACCURACY * self.speed;
        let request = Request {
            budget: Budget {
                iterations: STEPS,
                tolerance,
                ..Budget::default()
            },
            ..Request::default()
        };
        let budget = WorkBudget::to_all(work, tolerance);
        let report = matrices::solve(&problem, &request, &budget, self.x.as_mut_slice());
        report.is_some_and(|r| !matches!(r.status, Status::Failed(_)))
    }
}
