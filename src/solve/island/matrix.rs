//! The matrix of a Newton step in the rows.
//!
//! With ΔΛ = −G − K N A ΔΛ per contact, K = L Lᵀ symmetric and positive semidefinite, N = 1 + e_N ∇σᵀ, the step is
//! ΔΛ = −G − L z with (1 + Lᵀ N A L) z = −Lᵀ N A G. Open contacts have K = 0 and drop out. A general row has
//! ΔΛ = −z with (e + A) z = w in place of that. Without what is not symmetric in A and N the matrix is symmetric and
//! positive definite, and is factored by blocks; GMRES, preconditioned with that factor, takes in the rest.

use super::blocks::{Blocks, ROWS};
use crate::linalg::gmres::Gmres;
use crate::linalg::supernodal::{Breakdown, SparseLdl};
use crate::problem::delassus::Delassus;
use crate::problem::law::Slope;

/// Most directions of GMRES, and its accuracy (-).
const DIRECTIONS: usize = 60;
const ACCURACY: f64 = 1e-4;
/// Solves of a step, about, each two substitutions and a product with A.
const SOLVES: f64 = 12.0;
/// Multiplications of a pair of blocks: two products of 3×3 matrices.
const PER_PAIR: f64 = 54.0;
/// As many numbers as the rows of a block at most.
type Vector = [f64; ROWS];
/// Marks a place where A has no block.
const NONE: usize = usize::MAX;
/// A pivot of K at or below this share of its largest entry is rounding (-).
const FLOOR: f64 = 1e-12;

/// A block of the lower triangle: where A has it, and where its mirror image, and at which entry of the columns it
/// begins.
#[derive(Clone, Debug)]
struct Pair {
    blocks: [usize; 2],
    at: [usize; 2],
    offset: usize,
}

/// Pattern, numbers and factor.
#[derive(Default)]
pub struct System {
    start: Vec<u32>,
    row: Vec<u32>,
    value: Vec<f64>,
    pairs: Vec<Pair>,
    ldl: SparseLdl,
    /// Entries of the factor, and multiplications of a factorisation.
    pub cost: [f64; 2],
    /// Whether A is symmetric to the last bit.
    is_symmetric: bool,
    /// Per row: whether z is 0 there, E, G, and the right side without A G.
    tight: Vec<bool>,
    e: Vec<f64>,
    g: Vec<f64>,
    c: Vec<f64>,
    /// Per block: L, and ∇σ where it slides.
    l: Vec<[Vector; ROWS]>,
    gradient: Vec<Option<Vector>>,
    gmres: Gmres,
    z: Vec<f64>,
    spread: Vec<f64>,
    product: Vec<f64>,
    /// Multiplications and solves since the last factorisation.
    pub work: f64,
    pub solves: usize,
}

impl System {
    /// Finds the pattern.
    pub fn new(blocks: &Blocks) -> Self {
        let mut out = Self {
            is_symmetric: true,
            ..Self::default()
        };
        let (a, first) = blocks.matrix();
        // The blocks below the diagonal of each column, whichever side A has them on.
        let mut below: Vec<Vec<usize>> = (0..blocks.len()).map(|j| vec![j]).collect();
        for i in 0..blocks.len() {
            for c in &a.column[a.start[first + i]..a.start[first + i + 1]] {
                let j = *c as usize - first;
                below[i.min(j)].push(i.max(j));
            }
        }
        out.start.push(0);
        for (j, below) in below.iter_mut().enumerate() {
            below.sort_unstable();
            below.dedup();
            for column in blocks.rows(j) {
                for i in &*below {
                    let rows = blocks.rows(*i).filter(|r| *r >= column);
                    out.row.extend(rows.map(|r| r as u32));
                }
                out.start.push(out.row.len() as u32);
            }
            let mut offset = 0;
            for &i in &*below {
                let at = [(i, j), (j, i)].map(|(i, j)| place(a, first + i, first + j));
                out.pairs.push(Pair {
                    blocks: [i, j],
                    at,
                    offset,
                });
                offset += blocks.rows(i).len();
                out.is_symmetric &= is_mirrored(a, at, blocks.rows(i).len(), blocks.rows(j).len());
            }
        }
        let n = blocks.rows;
        out.value.resize(out.row.len(), 0.0);
        out.ldl.analyse(n, n, &out.start, &out.row);
        out.cost = out.ldl.cost();
        for v in [&mut out.spread, &mut out.product, &mut out.z] {
            v.resize(n, 0.0);
        }
        out
    }

    /// What a step takes, about (multiplications).
    pub fn work_of_a_step(&self, blocks: &Blocks) -> f64 {
        if self.ldl.is_too_large() {
            return f64::INFINITY;
        }
        self.cost[1] + SOLVES * (self.cost[0] + blocks.entries())
    }

    /// Begins a linearisation without any block.
    pub fn begin(&mut self) {
        self.tight.clear();
        for v in [&mut self.e, &mut self.g, &mut self.c] {
            v.clear();
        }
        self.l.clear();
        self.gradient.clear();
    }

    /// Adds the next contact: K, G, and ∇σ where it slides.
    pub fn push_contact(&mut self, k: &Slope, g: &[f64], gradient: Option<Vector>) {
        let (l, is_in) = cholesky(k);
        self.l.push(l);
        self.gradient.push(gradient.filter(|_| is_in[0]));
        self.tight.extend(is_in.map(|is_in| !is_in));
        self.e.extend([1.0; ROWS]);
        self.c.extend([0.0; ROWS]);
        self.g.extend_from_slice(&g[..ROWS]);
    }

    /// Adds the next general row: e and w, or G where it goes to its bound.
    pub fn push_row(&mut self, row: Result<[f64; 2], f64>) {
        let [e, w] = row.unwrap_or([1.0, 0.0]);
        self.l.push([[1.0, 0.0, 0.0], [0.0; 3], [0.0; 3]]);
        self.gradient.push(None);
        self.tight.push(row.is_err());
        self.e.push(e);
        self.c.push(w);
        self.g.push(row.err().unwrap_or(0.0));
    }

    /// Adds the next block with L = 1 and E = `shift`, for [`System::substitute`] alone.
    pub fn push_plain(&mut self, shift: &[f64]) {
        self.l
            .push([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        self.e.extend_from_slice(shift);
        self.tight.resize(self.e.len(), false);
    }

    /// E + Lᵀ ½(A + Aᵀ) L, factored.
    ///
    /// # Errors
    /// It is not positive definite, or too large.
    pub fn factor(&mut self, blocks: &Blocks) -> Result<(), Breakdown> {
        let (a, _) = blocks.matrix();
        for pair in &self.pairs {
            let [i, j] = pair.blocks;
            let (rows, columns) = (blocks.rows(i), blocks.rows(j));
            let (height, width) = (rows.len(), columns.len());
            let mut own = [[0.0; ROWS]; ROWS];
            let [at, mirrored] = pair.at;
            let entry = |at: usize, k: usize| if at == NONE { 0.0 } else { a.value[at + k] };
            for (r, row) in own.iter_mut().enumerate().take(height) {
                for (c, out) in row.iter_mut().enumerate().take(width) {
                    *out = 0.5 * (entry(at, r * width + c) + entry(mirrored, c * height + r));
                }
            }
            let between = both_sides(&self.l[i], &own, &self.l[j]);
            for (c, column) in columns.clone().enumerate() {
                let begin = self.start[column] as usize + pair.offset - c;
                let from = if i == j { c } else { 0 };
                let entries = &mut self.value[begin + from..begin + height];
                for (out, row) in entries.iter_mut().zip(&between[from..]) {
                    *out = row[c];
                }
                if i == j {
                    self.value[begin + c] += self.e[column];
                }
            }
        }
        self.work += self.cost[1] + PER_PAIR * self.pairs.len() as f64;
        let n = blocks.rows;
        self.ldl
            .factor(n, &self.start, &self.row, &self.value, &self.tight)
    }

    /// ΔΛ, written to `step`.
    pub fn solve(&mut self, blocks: &Blocks, step: &mut [f64]) {
        blocks.product(&self.g, &mut self.product);
        let mut z = std::mem::take(&mut self.z);
        self.pull(blocks, &mut z);
        for ((z, c), tight) in z.iter_mut().zip(&self.c).zip(&self.tight) {
            *z = if *tight { 0.0 } else { c - *z };
        }
        self.substitute(&mut z);
        if !self.is_symmetric || self.gradient.iter().any(Option::is_some) {
            self.refine(blocks, &mut z);
        }
        self.spread(blocks, &z);
        self.z = z;
        for ((step, g), lz) in step.iter_mut().zip(&self.g).zip(&self.spread) {
            *step = -g - lz;
        }
        self.work += blocks.entries();
    }

    /// Turns the preconditioned right side into the solution.
    fn refine(&mut self, blocks: &Blocks, z: &mut [f64]) {
        let mut gmres = std::mem::take(&mut self.gmres);
        let n = z.len();
        gmres.reset(n, DIRECTIONS);
        gmres.residual.copy_from_slice(z);
        let square: f64 = z.iter().map(|z| z * z).sum();
        let tolerance = ACCURACY * square.sqrt();
        if gmres.begin(tolerance) {
            loop {
                let (direction, image) = gmres.direction_and_image();
                self.spread(blocks, &direction[..n]);
                blocks.product(&self.spread, &mut self.product);
                self.pull(blocks, image);
                for (k, image) in image.iter_mut().enumerate() {
                    *image = if self.tight[k] {
                        0.0
                    } else {
                        *image + self.e[k] * direction[k]
                    };
                }
                self.work += blocks.entries();
                self.substitute(image);
                if !gmres.extend(tolerance) {
                    break;
                }
            }
            if gmres.finish() {
                z.copy_from_slice(&gmres.step);
            }
        }
        self.gmres = gmres;
    }

    /// Solves with the factor.
    pub fn substitute(&mut self, x: &mut [f64]) {
        self.ldl.solve(x);
        self.solves += 1;
        self.work += 2.0 * self.cost[0];
    }

    /// L z, in `spread`.
    fn spread(&mut self, blocks: &Blocks, z: &[f64]) {
        for (k, l) in self.l.iter().enumerate() {
            let rows = blocks.rows(k);
            for (l, row) in l.iter().zip(rows.clone()) {
                self.spread[row] = l.iter().zip(&z[rows.clone()]).map(|(l, z)| l * z).sum();
            }
        }
    }

    /// Lᵀ N `product`.
    fn pull(&self, blocks: &Blocks, out: &mut [f64]) {
        for (k, l) in self.l.iter().enumerate() {
            let rows = blocks.rows(k);
            let mut y = [0.0; ROWS];
            y[..rows.len()].copy_from_slice(&self.product[rows.clone()]);
            if let Some(gradient) = &self.gradient[k] {
                y[0] += gradient.iter().zip(y).map(|(g, y)| g * y).sum::<f64>();
            }
            for (c, out) in out[rows].iter_mut().enumerate() {
                *out = l.iter().zip(y).map(|(l, y)| l[c] * y).sum();
            }
        }
    }
}

/// Where block (i, j) of A begins.
fn place(a: &Delassus, i: usize, j: usize) -> usize {
    let mut at = a.value_start[i];
    for c in &a.column[a.start[i]..a.start[i + 1]] {
        if *c as usize == j {
            return at;
        }
        at += a.rows(i).len() * a.rows(*c as usize).len();
    }
    NONE
}

/// Whether two blocks of A are each other's mirror images.
fn is_mirrored(a: &Delassus, [at, mirrored]: [usize; 2], height: usize, width: usize) -> bool {
    at != NONE
        && mirrored != NONE
        && (0..height * width).all(|k| {
            let (r, c) = (k / width, k % width);
            a.value[at + k] == a.value[mirrored + c * height + r]
        })
}

/// Lᵢᵀ A Lⱼ.
fn both_sides(left: &[Vector; ROWS], a: &[Vector; ROWS], right: &[Vector; ROWS]) -> [Vector; ROWS] {
    let half = a.map(|row| {
        let times = |c: usize| row.iter().zip(right).map(|(a, r)| a * r[c]).sum();
        std::array::from_fn::<f64, ROWS, _>(times)
    });
    std::array::from_fn(|r| {
        let times = |c: usize| left.iter().zip(&half).map(|(l, h)| l[r] * h[c]).sum();
        std::array::from_fn(times)
    })
}

/// K = L Lᵀ, and the columns of L that are not zero.
fn cholesky(k: &Slope) -> ([Vector; ROWS], [bool; ROWS]) {
    let mut l = [[0.0; ROWS]; ROWS];
    let mut is_in = [false; ROWS];
    let floor = FLOOR * (0..ROWS).map(|i| k[i][i]).fold(0.0, f64::max);
    for j in 0..ROWS {
        let pivot = k[j][j] - l[j].iter().map(|x| x * x).sum::<f64>();
        if pivot <= floor {
            continue;
        }
        is_in[j] = true;
        let root = pivot.sqrt();
        for i in j..ROWS {
            let before: f64 = (0..j).map(|c| l[i][c] * l[j][c]).sum();
            l[i][j] = (k[i][j] - before) / root;
        }
    }
    (l, is_in)
}
