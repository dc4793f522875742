//! Orders by the Fiedler vector.

use super::Local;

/// The most rounds of inverse iteration towards the Fiedler vector.
const ROUNDS: usize = 8;
/// The most conjugate gradient steps in one round of inverse iteration.
const STEPS: usize = 100;

/// Orders a connected graph by its two smoothest vectors, their sum and their difference: where
/// the graph is symmetric, the two are any pair out of a plane.
pub fn spectral(graph: &Local) -> Vec<Vec<u32>> {
    let laplacian = Laplacian::new(graph);
    let [x, y] = laplacian.smoothest();
    let keys = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -1.0)].map(|(a, b)| {
        let key = x.iter().zip(&y).map(|(x, y)| a * x + b * y);
        key.collect::<Vec<f64>>()
    });
    let sorted = keys.map(|key| {
        let mut order: Vec<u32> = (0..graph.len() as u32).collect();
        order.sort_by(|&a, &b| key[a as usize].total_cmp(&key[b as usize]));
        order
    });
    sorted.into()
}

/// The weighted Laplacian of a connected graph, scaled to a mean weight of 1.
struct Laplacian<'a> {
    graph: &'a Local,
    scale: f64,
    diagonal: Vec<f64>,
}

impl<'a> Laplacian<'a> {
    fn new(graph: &'a Local) -> Self {
        let total: i64 = graph.edges.iter().map(|edge| edge.1).sum();
        let scale = graph.edges.len() as f64 / total.max(1) as f64;
        let degree = |v: u32| graph.row(v).iter().map(|edge| edge.1).sum::<i64>() as f64 * scale;
        let diagonal = (0..graph.len() as u32).map(degree).collect();
        Self {
            graph,
            scale,
            diagonal,
        }
    }

    /// Returns the product with `x`.
    fn times(&self, x: &[f64]) -> Vec<f64> {
        let row = |v: usize| {
            let row = self.graph.row(v as u32).iter();
            let pull: f64 = row.map(|&(u, w)| w as f64 * x[u as usize]).sum();
            self.diagonal[v] * x[v] - self.scale * pull
        };
        (0..x.len()).map(row).collect()
    }

    /// Approximates the eigenvectors of the second and third least eigenvalues by inverse iteration, from the distances to
    /// two far vertices on.
    fn smoothest(&self) -> [Vec<f64>; 2] {
        let (a, b) = self.graph.ends();
        let (from_a, from_b) = (self.graph.distances(a).0, self.graph.distances(b).0);
        let middle = |v: &u32| from_a[*v as usize].min(from_b[*v as usize]);
        let third = (0..self.graph.len() as u32)
            .rev()
            .max_by_key(middle)
            .unwrap_or(a);
        let from_third = self.graph.distances(third).0;
        let mut pair = [from_a, from_third].map(|d| d.into_iter().map(f64::from).collect());
        let mut last = f64::INFINITY;
        for _ in 0..ROUNDS {
            orthonormalise(&mut pair);
            let values = self.rotate(&mut pair);
            let sum = values[0] + values[1];
            if last - sum <= 1e-3 * sum {
                break;
            }
            last = sum;
            for (x, value) in pair.iter_mut().zip(values) {
                *x = self.solve(x, value);
            }
        }
        pair
    }

    /// Rotates an orthonormal pair within its plane to the least Rayleigh quotient first, and
    /// returns the two quotients.
    fn rotate(&self, pair: &mut [Vec<f64>; 2]) -> [f64; 2] {
        let product = [self.times(&pair[0]), self.times(&pair[1])];
        let (a, c) = (dot(&pair[0], &product[0]), dot(&pair[1], &product[1]));
        let b = dot(&pair[0], &product[1]);
        // Half the angle of (a − c)/2 and b, by roots alone, which all machines round alike.
        let spread = (0.25 * (a - c) * (a - c) + b * b).sqrt();
        let double = if spread > 0.0 {
            0.5 * (a - c) / spread
        } else {
            1.0
        };
        let cos = (0.5 * (1.0 + double)).max(0.0).sqrt();
        let sin = (0.5 * (1.0 - double)).max(0.0).sqrt().copysign(b);
        let [x, y] = pair;
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (cos * *y - sin * *x, cos * *x + sin * *y);
        }
        [0.5 * (a + c) - spread, 0.5 * (a + c) + spread]
    }

    /// Approximates the solution for right-hand side `x` from `x / value` on, by conjugate
    /// gradients with the diagonal as preconditioner.
    fn solve(&self, x: &[f64], value: f64) -> Vec<f64> {
        let mut y: Vec<f64> = x.iter().map(|x| x / value.max(1e-12)).collect();
        let mut rest: Vec<f64> = self.times(&y).iter().zip(x).map(|(l, x)| x - l).collect();
        let scaled = |rest: &[f64]| -> Vec<f64> {
            rest.iter()
                .zip(&self.diagonal)
                .map(|(r, d)| r / d)
                .collect()
        };
        let mut ahead = scaled(&rest);
        let mut size = dot(&rest, &ahead);
        let enough = 1e-2 * size;
        for _ in 0..STEPS {
            let product = self.times(&ahead);
            let curve = dot(&ahead, &product);
            if size <= enough || curve <= f64::MIN_POSITIVE {
                break;
            }
            axpy(&mut y, size / curve, &ahead);
            axpy(&mut rest, -size / curve, &product);
            let next = scaled(&rest);
            let grown = dot(&rest, &next);
            ahead = next
                .iter()
                .zip(&ahead)
                .map(|(n, p)| n + grown / size * p)
                .collect();
            size = grown;
        }
        y
    }
}

/// Makes two vectors orthogonal to the constant one and to each other and of length 1; one that
/// vanishes stays 0.
fn orthonormalise(pair: &mut [Vec<f64>; 2]) {
    let [x, y] = pair;
    for x in [&mut *x, &mut *y] {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter_mut().for_each(|x| *x -= mean);
        normalise(x);
    }
    let along = dot(x, y);
    axpy(y, -along, x);
    normalise(y);
}

fn normalise(x: &mut [f64]) {
    let length = dot(x, x).sqrt();
    let factor = if length > 1e-9 { 1.0 / length } else { 0.0 };
    x.iter_mut().for_each(|x| *x *= factor);
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn axpy(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}
