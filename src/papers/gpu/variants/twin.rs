//! The iterations of all variants on the CPU, to check theirs against, and to compare their times with.

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;

use super::problem::matrix_in;
use super::{Method, Precision, Problem};
use crate::solve::gpu::real::Real;

/// Partial sums of a product of two vectors: with one sum each addition would wait for the one before.
const SUMS: usize = 16;
/// Iterations that are timed.
const TIMED: usize = 5;

/// A problem in one precision.
struct Data<'a, R: Real> {
    rows: usize,
    matrix: Cow<'a, [R]>,
    offset: Vec<R>,
    friction: Vec<R>,
}

/// a · b, in parts that the compiler turns into vector instructions, where it optimises as for a release.
fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let mut sums = [R::ZERO; SUMS];
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..SUMS {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: R = last_a.iter().zip(last_b).map(|(a, b)| *a * *b).sum();
    total(&sums) + rest
}

/// The sum of all; apart, so that the sums above are stored side by side, for which the compiler takes whole vectors.
#[inline(never)]
fn total<R: Real>(sums: &[R; SUMS]) -> R {
    sums.iter().copied().sum()
}

/// The disc of a contact's friction.
fn to_disc<R: Real>(tangents: [R; 2], radius: R) -> [R; 2] {
    let square = tangents[0] * tangents[0] + tangents[1] * tangents[1];
    if square > radius * radius {
        let scale = radius / square.sqrt();
        return tangents.map(|x| x * scale);
    }
    tangents
}

impl<'a, R: Real> Data<'a, R> {
    fn new(problem: &'a Problem) -> Self {
        let convert = |values: &[f64]| values.iter().map(|x| R::of(*x)).collect();
        Self {
            rows: problem.rows(),
            matrix: matrix_in(problem),
            offset: convert(&problem.offset),
            friction: convert(&problem.friction),
        }
    }

    /// (T Λ + d) of a row.
    fn argument(&self, row: usize, lambda: &[R]) -> R {
        let line = &self.matrix[row * self.rows..(row + 1) * self.rows];
        dot(line, lambda) + self.offset[row]
    }

    /// The new impulses of a contact, all three from the same old ones.
    fn contact(&self, contact: usize, lambda: &[R]) -> [R; 3] {
        let [n, a, b] = [0, 1, 2].map(|k| self.argument(3 * contact + k, lambda));
        let normal = n.max(R::ZERO);
        let [a, b] = to_disc([a, b], self.friction[contact] * normal);
        [normal, a, b]
    }

    /// Some contacts at once, from the first on.
    fn at_once(&self, first: usize, lambda: &[R], new: &mut [R]) {
        for (k, new) in new.chunks_exact_mut(3).enumerate() {
            new.copy_from_slice(&self.contact(first + k, lambda));
        }
    }

    /// All contacts one after the other, the normal impulse before those of friction.
    fn in_turn(&self, lambda: &mut [R]) {
        for contact in 0..self.friction.len() {
            let at = 3 * contact;
            lambda[at] = self.argument(at, lambda).max(R::ZERO);
            let tangents = [at + 1, at + 2].map(|row| self.argument(row, lambda));
            let tangents = to_disc(tangents, self.friction[contact] * lambda[at]);
            lambda[at + 1..at + 3].copy_from_slice(&tangents);
        }
    }

    /// One iteration on one thread.
    fn iterate(&self, method: Method, lambda: &mut Vec<R>, new: &mut Vec<R>) {
        match method {
            Method::Jor => {
                self.at_once(0, lambda, new);
                std::mem::swap(lambda, new);
            }
            Method::Sor => self.in_turn(lambda),
            Method::Relaxed(contacts) => {
                let step = 3 * contacts.max(1);
                for first in (0..self.rows).step_by(step) {
                    let end = (first + step).min(self.rows);
                    self.at_once(first / 3, lambda, &mut new[first..end]);
                    lambda[first..end].copy_from_slice(&new[first..end]);
                }
            }
        }
    }

    /// One iteration of JOR on the threads of the pool that it is called in.
    fn iterate_in_parallel(&self, lambda: &mut Vec<R>, new: &mut Vec<R>) {
        let contacts = self.friction.len();
        // A few pieces for each thread even out what the threads get done.
        let piece = contacts.div_ceil(4 * rayon::current_num_threads()).max(1);
        let pieces = new.par_chunks_mut(3 * piece).enumerate();
        pieces.for_each(|(k, new)| self.at_once(k * piece, lambda, new));
        std::mem::swap(lambda, new);
    }

    fn solve(&self, start: &[f64], method: Method, iterations: usize) -> Vec<f64> {
        let mut lambda: Vec<R> = start.iter().map(|x| R::of(*x)).collect();
        let mut new = lambda.clone();
        for _ in 0..iterations {
            self.iterate(method, &mut lambda, &mut new);
        }
        lambda.into_iter().map(R::wide).collect()
    }

    /// The median time of an iteration (s), after one that warms up.
    fn seconds(&self, start: &[f64], mut iterate: impl FnMut(&mut Vec<R>, &mut Vec<R>)) -> f64 {
        let mut lambda: Vec<R> = start.iter().map(|x| R::of(*x)).collect();
        let mut new = lambda.clone();
        let mut times: Vec<f64> = (0..=TIMED)
            .map(|_| {
                let begin = Instant::now();
                iterate(&mut lambda, &mut new);
                begin.elapsed().as_secs_f64()
            })
            .collect();
        std::hint::black_box(&lambda);
        median(&mut times[1..])
    }

    fn seconds_of(&self, start: &[f64], method: Method, threads: usize) -> Result<f64, String> {
        if threads <= 1 {
            return Ok(self.seconds(start, |lambda, new| self.iterate(method, lambda, new)));
        }
        if method != Method::Jor {
            return Err("only JOR runs on several threads".into());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().map_err(|error| error.to_string())?;
        Ok(pool
            .install(|| self.seconds(start, |lambda, new| self.iterate_in_parallel(lambda, new))))
    }
}

/// The middle of some times, or 0 where there are none.
pub(super) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// The impulses after some iterations on the CPU, in the order in which the variants of the method update them.
pub fn twin(
    problem: &Problem,
    method: Method,
    precision: Precision,
    iterations: usize,
) -> Vec<f64> {
    let start = &problem.start;
    match precision {
        Precision::Single => Data::<f32>::new(problem).solve(start, method, iterations),
        Precision::Double => Data::<f64>::new(problem).solve(start, method, iterations),
    }
}

/// The time of one iteration on the CPU (s), by one thread, or for JOR by several. It counts in a release build only.
pub fn cpu_seconds(
    problem: &Problem,
    method: Method,
    precision: Precision,
    threads: usize,
) -> Result<f64, String> {
    let start = &problem.start;
    match precision {
        Precision::Single => Data::<f32>::new(problem).seconds_of(start, method, threads),
        Precision::Double => Data::<f64>::new(problem).seconds_of(start, method, threads),
    }
}
