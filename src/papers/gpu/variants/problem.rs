//! Random problems, and the numbers they are made of.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Method;
use crate::solve::gpu::real::Real;

/// How far an iteration goes: 1 would take the diagonal of T away.
const RELAXATION: f64 = 0.8;

/// A random problem Λ = prox(T Λ + d) of a symmetric G with a dominant diagonal.
pub struct Problem {
    /// T row by row, as wide as it is high, without padding.
    pub matrix: Vec<f64>,
    /// The vector d.
    pub offset: Vec<f64>,
    /// The friction coefficient μ of each contact.
    pub friction: Vec<f64>,
    /// Where the iterations start: zero, unless it is changed.
    pub start: Vec<f64>,
}

/// The next step of splitmix64 from a state, as a number in [0, 1).
fn random(state: u64) -> f64 {
    let mut z = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

impl Problem {
    /// The same seed gives the same problem.
    pub fn random(contacts: usize, seed: u64) -> Self {
        let rows = 3 * contacts;
        let seed = seed.wrapping_mul(0xd134_2543_de82_ef95);
        let state = |k: usize| seed.wrapping_add(k as u64 + 1);
        let mut matrix = vec![0.0; rows * rows];
        let lines = matrix.par_chunks_exact_mut(rows.max(1)).enumerate();
        lines.for_each(|(i, line)| {
            // G is symmetric: an entry follows from its place, the smaller index first.
            for (j, value) in line.iter_mut().enumerate() {
                *value = 2.0 * random(state(i.min(j) * rows + i.max(j))) - 1.0;
            }
            line[i] = 0.0;
            let diagonal = 1.1 * line.iter().map(|g| g.abs()).sum::<f64>();
            let scale = -RELAXATION / diagonal.max(f64::MIN_POSITIVE);
            line.iter_mut().for_each(|value| *value *= scale);
            line[i] = 1.0 - RELAXATION;
        });
        let behind = rows * rows;
        let offset = |row: usize| {
            let x = random(state(behind + row));
            if row.is_multiple_of(3) {
                1.5 * x - 0.5
            } else {
                2.0 * x - 1.0
            }
        };
        let friction = |contact| 0.2 + 0.6 * random(state(behind + rows + contact));
        Self {
            matrix,
            offset: (0..rows).map(offset).collect(),
            friction: (0..contacts).map(friction).collect(),
            start: vec![0.0; rows],
        }
    }

    /// Rows of T, three for each contact.
    pub fn rows(&self) -> usize {
        self.offset.len()
    }

    /// Contacts.
    pub fn contacts(&self) -> usize {
        self.friction.len()
    }

    /// Whether all its parts are of one size.
    pub(super) fn is_whole(&self) -> bool {
        let rows = self.rows();
        let vectors = rows == 3 * self.contacts() && rows == self.start.len();
        vectors && self.matrix.len() == rows * rows
    }

    /// The vector t that SOR starts with: what each row sees of the start in the columns that are updated no sooner than
    /// the row itself (Nützi 2011, 5.15).
    pub(super) fn start_sums(&self, method: Method) -> Vec<f64> {
        let rows = self.rows();
        if method == Method::Jor || self.start.iter().all(|x| *x == 0.0) {
            return vec![0.0; rows];
        }
        let sum = |row: usize| {
            let first = match method {
                Method::Jor => rows,
                // The friction rows are updated together, after the normal row.
                Method::Sor => row - row % 3 + usize::from(!row.is_multiple_of(3)),
                Method::Relaxed(contacts) => row - row % (3 * contacts),
            };
            let line = &self.matrix[row * rows..(row + 1) * rows];
            let pairs = line[first..].iter().zip(&self.start[first..]);
            pairs.map(|(value, x)| value * x).sum()
        };
        (0..rows).into_par_iter().map(sum).collect()
    }
}

/// T in one precision.
pub(super) fn matrix_in<R: Real>(problem: &Problem) -> Cow<'_, [R]> {
    match bytemuck::try_cast_slice(&problem.matrix) {
        // A number of 32 bits is half of one of 64: only the own kind has as many.
        Ok(same) if R::BITS == 64 => Cow::Borrowed(same),
        _ => Cow::Owned(problem.matrix.par_iter().map(|x| R::of(*x)).collect()),
    }
}
