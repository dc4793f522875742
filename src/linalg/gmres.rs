//! GMRES (Saad & Schultz 1986), one cycle at a time; the caller applies the matrix.

/// One cycle. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Gmres {
    /// The residual at the cycle's start.
    pub residual: Vec<f64>,
    /// The cycle's correction, after [`Gmres::finish`].
    pub step: Vec<f64>,
    /// Most directions.
    most: usize,
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
    /// Makes room for a residual of `n` entries and at most `most` directions.
    pub fn reset(&mut self, n: usize, most: usize) {
        self.most = most;
        for v in [&mut self.residual, &mut self.image] {
            v.clear();
            v.resize(n, 0.0);
        }
    }

    /// Returns whether there is anything to do.
    pub fn begin(&mut self, tolerance: f64) -> bool {
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

    /// The direction whose image is wanted, and where that belongs.
    pub fn direction_and_image(&mut self) -> (&[f64], &mut [f64]) {
        let n = self.residual.len();
        (&self.basis[self.size * n..], &mut self.image)
    }

    /// Takes the direction's image in. Returns whether there is another direction.
    pub fn extend(&mut self, tolerance: f64) -> bool {
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
        if exact || self.size == self.most.min(n) {
            return false;
        }
        self.basis.extend(self.image.iter().map(|x| x / next));
        true
    }

    /// Makes the step. Returns whether there is one, of numbers that are finite.
    pub fn finish(&mut self) -> bool {
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
    pub fn shares(&self) -> &[f64] {
        &self.rhs[..self.size]
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
