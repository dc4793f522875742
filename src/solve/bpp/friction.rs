//! The outer loop: friction bounds ±μ Λ_N that follow the normal impulses, and proximal steps that take
//! the added compliance back out.

use super::descend::Descent;
use super::factor::{Breakdown, Counters, Factorization};
use super::island::{Island, NONE};
use super::pivot::{Limits, Outcome, Set, Work, project};

/// How the outer loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Sets, bounds and centre have settled.
    Settled,
    /// Pivots or time ran out.
    OutOfBudget,
    /// The friction bounds still changed after so many outer iterations.
    Unsettled,
}

/// What the outer loop may do.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    /// Most outer iterations.
    pub iterations: u32,
    /// Most proximal steps.
    pub refinements: u32,
    /// Whether Newton's method is used at all.
    pub newton: bool,
}

/// What it did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OuterTally {
    /// Problems with fixed bounds.
    pub iterations: u32,
    /// Iterations of GMRES, here and in the coupled method.
    pub krylov: u32,
    /// Proximal steps.
    pub refinements: u32,
    /// Largest |A_ε Λ + b − ε c| over the free rows, and the violations of the others (m/s).
    pub with_compliance: f64,
    /// Newton steps of the coupled method.
    pub coupled_steps: u32,
    /// What was done with factors of earlier matrices.
    pub earlier: Counters,
}

/// Memory of the outer loop.
#[derive(Clone, Debug, Default)]
pub struct Friction {
    /// Slipping rows: friction rows on a bound whose normal row is free.
    slipping: Vec<u32>,
    /// β at the best iterate so far, what Newton's method made of it, and what the normals said.
    best: [Vec<f64>; 3],
    beta: Vec<f64>,
    /// x at the best iterate so far.
    best_x: Vec<f64>,
    descent: Descent,
    gmres: Gmres,
    direction: Vec<f64>,
    image: Vec<f64>,
    /// What x_F does in each of the present directions.
    responses: Vec<f64>,
}

/// Bounds have settled when what they change is less than this times the noise of w.
const SETTLED: f64 = 4.0;
/// Before the last proximal step: less than this times what the compliance does to w.
const LOOSE: f64 = 0.1;
/// A step is worth taking if it leaves this share of the change.
const PROGRESS: f64 = 0.9;
/// Halvings of a Newton step before plain steps take over, and of those before the loop gives up.
const HALVINGS: [u32; 2] = [4, 12];

impl Friction {
    /// Solves the island from `work.x`, whose sets are guessed from it.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn solve(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        limits: &Limits,
        outer: &Outer,
        tally: &mut OuterTally,
    ) -> Result<Ending, Breakdown> {
        let mut least = f64::INFINITY;
        let mut halvings = 0;
        let mut solved = false;
        let mut error_before = f64::INFINITY;
        read_bounds(island, work, &mut self.beta);
        for v in &mut self.best {
            v.clone_from(&self.beta);
        }
        self.best_x.clone_from(&work.x);
        loop {
            tally.iterations += 1;
            // Candidates for other bounds are of no use.
            work.best_error = f64::INFINITY;
            match work.pivot(island, factor, &mut self.descent, limits, solved)? {
                Outcome::Solved => {}
                Outcome::OutOfBudget => return Ok(Ending::OutOfBudget),
            }
            solved = false;
            read_bounds(island, work, &mut self.beta);
            let noise = work.noise(island);
            let change = bound_change(island, work);
            // While the compliance still shows, bounds need not be better than that.
            let tolerance = if tally.refinements < outer.refinements {
                (SETTLED * noise).max(LOOSE * compliance_error(island, work))
            } else {
                SETTLED * noise
            };
            let mut settled = change <= tolerance;
            if !settled {
                if change <= least {
                    self.best_x.clone_from(&work.x);
                }
                if tally.iterations >= outer.iterations {
                    work.x.copy_from_slice(&self.best_x);
                    return Ok(Ending::Unsettled);
                }
                if change <= PROGRESS * least {
                    // Newton's step from here.
                    let opened = has_closed_friction(island, work);
                    least = if opened { f64::INFINITY } else { change };
                    halvings = 0;
                    self.best[0].clone_from(&self.beta);
                    normal_bounds(island, work, &mut self.best[2]);
                    if outer.newton {
                        self.newton(island, factor, work, tolerance, tally);
                    }
                    normal_bounds(island, work, &mut self.beta);
                    self.best[1].clone_from(&self.beta);
                    let moved = write_bounds(island, work, &self.beta);
                    if outer.newton && !moved {
                        let violations = work.violations(island);
                        settled = violations.count == 0;
                        solved = true;
                    }
                } else {
                    halvings += 1;
                    if halvings > HALVINGS[1] {
                        work.x.copy_from_slice(&self.best_x);
                        return Ok(Ending::Unsettled);
                    }
                    let newton = halvings <= HALVINGS[0];
                    let length = 0.5f64.powi(if newton {
                        halvings as i32
                    } else {
                        (halvings - HALVINGS[0]) as i32
                    });
                    let to = &self.best[if newton { 1 } else { 2 }];
                    for ((beta, from), to) in self.beta.iter_mut().zip(&self.best[0]).zip(to) {
                        *beta = from + length * (to - from);
                    }
                    write_bounds(island, work, &self.beta);
                }
            }
            if !settled {
                continue;
            }
            // The compliance's share of w, which the next proximal step takes out.
            let error = compliance_error(island, work);
            tally.with_compliance = work.violations(island).error;
            let enough = error <= noise || error >= 0.5 * error_before;
            if enough || tally.refinements >= outer.refinements || work.is_over(limits) {
                return Ok(Ending::Settled);
            }
            tally.refinements += 1;
            error_before = error;
            least = f64::INFINITY;
            halvings = 0;
            solved = false;
            work.center.copy_from_slice(&work.x);
        }
    }

    /// One step of Newton's method on the bounds; x and w are then those of the coupled solution.
    fn newton(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        tolerance: f64,
        tally: &mut OuterTally,
    ) {
        self.set_slipping(island, |i| {
            work.tight[i] && work.lo[i] < work.hi[i] && !work.tight[island.normal[i] as usize]
        });
        self.couple(island, factor, work, tolerance, tally);
        for i in &self.slipping {
            let i = *i as usize;
            let normal = work.x[island.normal[i] as usize].max(0.0);
            work.x[i] = follow(island, work, i, normal);
        }
        if !self.slipping.is_empty() {
            work.update_w(island);
        }
    }

    /// Says which friction rows slip.
    pub fn set_slipping(&mut self, island: &Island, slips: impl Fn(usize) -> bool) {
        self.slipping.clear();
        let rows = (0..island.n()).filter(|i| island.normal[*i] != NONE && slips(*i));
        self.slipping.extend(rows.map(|i| i as u32));
    }

    /// With the sets as they are, the impulses y of the slipping rows satisfy y = S x_F(y), which is
    /// linear: (1 + S A_FF⁻¹ A_FT) y = S A_FF⁻¹ (−b_F − …). GMRES solves it with the factor that is
    /// there, one substitution per iteration. x is then the coupled solution; w is not renewed.
    pub fn couple(
        &mut self,
        island: &mut Island,
        factor: &mut dyn Factorization,
        work: &mut Work,
        tolerance: f64,
        tally: &mut OuterTally,
    ) {
        if self.slipping.is_empty() {
            return;
        }
        let start = std::time::Instant::now();
        self.direction.clear();
        self.direction.resize(island.n(), 0.0);
        self.image.clear();
        self.image.resize(island.n(), 0.0);
        for _ in 0..Gmres::CYCLES {
            // z = y/s, in m/s: the residual S x_F(y) − y.
            self.gmres.reset(self.slipping.len());
            for (r, i) in self.gmres.residual.iter_mut().zip(&self.slipping) {
                let i = *i as usize;
                let normal = work.x[island.normal[i] as usize];
                *r = (follow(island, work, i, normal) - work.x[i]) / island.scale[i];
            }
            if !self.gmres.begin(tolerance) {
                break;
            }
            self.responses.clear();
            let mut more = true;
            while more {
                self.respond(island, factor, work);
                tally.krylov += 1;
                more = self.gmres.extend(tolerance);
            }
            if !self.gmres.finish() {
                break;
            }
            for (y, i) in self.gmres.step.iter().zip(&self.slipping) {
                work.x[*i as usize] += y * island.scale[*i as usize];
            }
            let responses = self.responses.chunks_exact(island.n());
            for (share, response) in self.gmres.shares().iter().zip(responses) {
                for (x, r) in work.x.iter_mut().zip(response) {
                    *x += share * r;
                }
            }
        }
        for i in &self.slipping {
            let i = *i as usize;
            work.x[i] = follow(island, work, i, work.x[island.normal[i] as usize]);
        }
        work.tally.solve_time += start.elapsed().as_secs_f64();
    }

    /// What x_F does when the slipping rows change by the last direction y, −A_FF⁻¹ A_FT y, is appended to
    /// the responses, and y − S x_F becomes the direction's image.
    fn respond(&mut self, island: &mut Island, factor: &mut dyn Factorization, work: &mut Work) {
        let n = island.n();
        for (y, i) in self.gmres.direction().iter().zip(&self.slipping) {
            self.direction[*i as usize] = y * island.scale[*i as usize];
        }
        island.product(&self.direction, &mut self.image);
        for ((rhs, image), tight) in work.rhs.iter_mut().zip(&self.image).zip(&work.tight) {
            *rhs = if *tight { 0.0 } else { -image };
        }
        factor.solve(&mut work.rhs);
        self.responses.extend_from_slice(&work.rhs[..n]);
        let (y, out) = self.gmres.direction_and_image();
        for ((out, y), i) in out.iter_mut().zip(y).zip(&self.slipping) {
            let i = *i as usize;
            let normal = work.rhs[island.normal[i] as usize];
            *out = y - follow(island, work, i, normal) / island.scale[i];
        }
    }
}

/// The impulse of slipping row `i` where that of its normal row is `normal`.
fn follow(island: &Island, work: &Work, i: usize, normal: f64) -> f64 {
    let sign = if work.set[i] == Set::High { 1.0 } else { -1.0 };
    sign * island.kappa[i] * normal
}

/// Guesses the sets from the impulses that `work.x` starts with: what is on a bound and pushed against
/// it is tight. Without `warm`, everything is free.
pub fn guess_sets(island: &mut Island, work: &mut Work, warm: bool) {
    project(island, &mut work.x);
    for i in 0..island.n() {
        if island.normal[i] != NONE {
            let beta = island.kappa[i] * work.x[island.normal[i] as usize];
            work.lo[i] = -beta;
            work.hi[i] = beta;
        }
    }
    if !warm {
        return;
    }
    // The centre is zero, and the compliance's share of w is of no interest here.
    work.update_w(island);
    for i in 0..island.n() {
        let span = work.hi[i] - work.lo[i];
        let near = if span.is_finite() { 1e-9 * span } else { 0.0 };
        let closed = work.lo[i] == work.hi[i];
        work.set[i] = if closed || work.x[i] <= work.lo[i] + near && work.w[i] >= 0.0 {
            Set::Low
        } else if work.x[i] >= work.hi[i] - near && work.w[i] <= 0.0 {
            Set::High
        } else {
            Set::Free
        };
    }
}

/// β of every friction row, from its present bounds.
fn read_bounds(island: &Island, work: &Work, beta: &mut Vec<f64>) {
    beta.clear();
    let all = island.normal.iter().zip(&work.hi);
    beta.extend(all.map(|(normal, hi)| if *normal == NONE { 0.0 } else { *hi }));
}

/// β of every friction row, from its normal impulse.
fn normal_bounds(island: &Island, work: &Work, beta: &mut Vec<f64>) {
    beta.clear();
    let all = island.normal.iter().zip(&island.kappa);
    beta.extend(all.map(|(normal, kappa)| match *normal {
        NONE => 0.0,
        normal => kappa * work.x[normal as usize].max(0.0),
    }));
}

/// Sets the bounds of the friction rows. Returns whether rows were opened that had no room before:
/// those begin as free.
fn write_bounds(island: &Island, work: &mut Work, beta: &[f64]) -> bool {
    let mut opened = false;
    for (i, beta) in beta.iter().enumerate() {
        if island.normal[i] == NONE {
            continue;
        }
        if work.lo[i] == work.hi[i] && *beta > 0.0 {
            work.set[i] = Set::Free;
            opened = true;
        }
        work.lo[i] = -beta;
        work.hi[i] = *beta;
    }
    opened
}

/// Whether a friction row has no room although its contact presses.
fn has_closed_friction(island: &Island, work: &Work) -> bool {
    (0..island.n()).any(|i| {
        island.normal[i] != NONE
            && work.lo[i] == work.hi[i]
            && island.kappa[i] * work.x[island.normal[i] as usize] > 0.0
    })
}

/// By how much a friction row's impulse is not what its normal impulse says (m/s).
fn bound_change(island: &Island, work: &Work) -> f64 {
    let mut change: f64 = 0.0;
    for i in 0..island.n() {
        if island.normal[i] == NONE || island.scale[i] == 0.0 {
            continue;
        }
        let beta = island.kappa[i] * work.x[island.normal[i] as usize].max(0.0);
        let wrong = if work.tight[i] {
            (work.hi[i] - beta).abs()
        } else {
            (work.x[i].abs() - beta).max(0.0)
        };
        change = change.max(wrong / island.scale[i]);
    }
    change
}

/// Largest |A x + b| of a free row, without ε (m/s).
fn compliance_error(island: &Island, work: &Work) -> f64 {
    let mut error: f64 = 0.0;
    for i in (0..island.n()).filter(|i| !work.tight[*i] && island.scale[*i] > 0.0) {
        let w = work.w[i] - island.epsilon[i] * (work.x[i] - work.center[i]);
        error = error.max(w.abs() / island.scale[i]);
    }
    error
}

/// One cycle of GMRES (Saad & Schultz 1986), whose caller applies the matrix. Keeps its memory.
#[derive(Clone, Debug, Default)]
struct Gmres {
    /// The residual at the cycle's start.
    residual: Vec<f64>,
    /// The cycle's correction, after [`Gmres::finish`].
    step: Vec<f64>,
    /// Directions so far with a column of the Hessenberg matrix.
    size: usize,
    basis: Vec<f64>,
    hessenberg: Vec<f64>,
    rotation: Vec<[f64; 2]>,
    rhs: Vec<f64>,
    /// The last direction's image.
    image: Vec<f64>,
}

impl Gmres {
    /// Most directions of a cycle.
    const DEPTH: usize = 48;
    /// Most cycles.
    const CYCLES: usize = 6;

    fn reset(&mut self, n: usize) {
        for v in [&mut self.residual, &mut self.image] {
            v.clear();
            v.resize(n, 0.0);
        }
    }

    /// Returns whether there is anything to do.
    fn begin(&mut self, tolerance: f64) -> bool {
        let norm = length(&self.residual);
        if norm <= tolerance || !norm.is_finite() {
            return false;
        }
        self.basis.clear();
        self.basis.extend(self.residual.iter().map(|r| r / norm));
        self.hessenberg.clear();
        self.rotation.clear();
        self.rhs.clear();
        self.rhs.push(norm);
        self.size = 0;
        true
    }

    /// The direction whose image is wanted.
    fn direction(&self) -> &[f64] {
        &self.basis[self.size * self.residual.len()..]
    }

    /// The direction, and where its image belongs.
    fn direction_and_image(&mut self) -> (&[f64], &mut [f64]) {
        let n = self.residual.len();
        (&self.basis[self.size * n..], &mut self.image)
    }

    /// Takes the direction's image in. Returns whether there is another direction.
    fn extend(&mut self, tolerance: f64) -> bool {
        let n = self.residual.len();
        let k = self.size;
        // Column k of the Hessenberg matrix, packed: k + 2 entries, the last one taken apart.
        let column = self.hessenberg.len();
        for v in self.basis.chunks_exact(n) {
            let h = dot(v, &self.image);
            for (x, v) in self.image.iter_mut().zip(v) {
                *x -= h * v;
            }
            self.hessenberg.push(h);
        }
        let next = length(&self.image);
        let h = &mut self.hessenberg[column..];
        for (j, [c, s]) in self.rotation.iter().enumerate() {
            let (a, b) = (h[j], h[j + 1]);
            h[j] = c * a + s * b;
            h[j + 1] = c * b - s * a;
        }
        let radius = h[k].hypot(next);
        if radius == 0.0 || !radius.is_finite() {
            self.hessenberg.truncate(column);
            return false;
        }
        let [c, s] = [h[k] / radius, next / radius];
        h[k] = radius;
        self.rotation.push([c, s]);
        let g = self.rhs[k];
        self.rhs[k] = c * g;
        self.rhs.push(-s * g);
        self.size += 1;
        let exact = (s * g).abs() <= 0.1 * tolerance || next <= 1e-14 * radius;
        if exact || self.size == Self::DEPTH.min(n) {
            return false;
        }
        self.basis.extend(self.image.iter().map(|x| x / next));
        true
    }

    /// Makes the step. Returns whether there is one, of numbers that are finite.
    fn finish(&mut self) -> bool {
        let size = self.size;
        // Back substitution in the packed triangle: column k begins at k (k + 1)/2.
        let at = |k: usize, j: usize| k * (k + 1) / 2 + j;
        for k in (0..size).rev() {
            let mut y = self.rhs[k];
            for j in k + 1..size {
                y -= self.hessenberg[at(j, k)] * self.rhs[j];
            }
            self.rhs[k] = y / self.hessenberg[at(k, k)];
        }
        let n = self.residual.len();
        self.step.clear();
        self.step.resize(n, 0.0);
        for (y, v) in self.rhs[..size].iter().zip(self.basis.chunks_exact(n)) {
            for (step, v) in self.step.iter_mut().zip(v) {
                *step += y * v;
            }
        }
        size > 0 && self.rhs[..size].iter().all(|y| y.is_finite())
    }

    /// The step's share of each direction.
    fn shares(&self) -> &[f64] {
        &self.rhs[..self.size]
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
