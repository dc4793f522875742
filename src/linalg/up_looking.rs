//! Sparse LDLᵀ of a mass matrix, row by row ("up-looking": Davis 2005, "Algorithm 849: a concise sparse
//! Cholesky factorization package"), in an order of little fill by the crate `amd`.

use amd::Control;

use super::csr::Sparse;

/// Stands for no parent in the elimination tree.
const NONE: u32 = u32::MAX;

/// P M Pᵀ = L D Lᵀ.
#[derive(Clone, Debug, Default)]
pub struct Ldl {
    /// The unknown at each place of the order, and the place of each unknown.
    order: Vec<u32>,
    place: Vec<u32>,
    /// The first place below the diagonal in each column of L: the elimination tree.
    parent: Vec<u32>,
    /// L without its diagonal, column by column, places ascending.
    start: Vec<usize>,
    row: Vec<u32>,
    value: Vec<f64>,
    d: Vec<f64>,
}

/// A pivot that is not positive.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("it is not positive definite: the pivot of unknown {unknown} is {pivot:e}")]
pub struct NotPositive {
    /// The unknown.
    pub unknown: usize,
    /// Its pivot.
    pub pivot: f64,
}

/// Reusable memory of [`Ldl::half_solve`].
#[derive(Clone, Debug, Default)]
pub struct HalfSolve {
    x: Vec<f64>,
    reach: Reach,
}

impl Ldl {
    /// Factors a symmetric matrix; of entries and their mirror images one is read.
    ///
    /// # Errors
    /// It is not positive definite.
    ///
    /// # Panics
    /// If it is not square.
    pub fn factor(m: &Sparse) -> Result<Self, NotPositive> {
        assert_eq!(m.rows(), m.columns, "a square matrix");
        let n = m.columns;
        // `amd` wants the diagonal, too.
        if let Some(unknown) = (0..n).find(|k| m.at(*k, *k) <= 0.0) {
            let pivot = m.at(unknown, unknown);
            return Err(NotPositive { unknown, pivot });
        }
        let mut ldl = Self {
            order: minimum_degree(m),
            place: vec![0; n],
            parent: vec![NONE; n],
            ..Self::default()
        };
        for (place, unknown) in ldl.order.iter().enumerate() {
            ldl.place[*unknown as usize] = place as u32;
        }
        ldl.analyse(m);
        ldl.find_numbers(m)?;
        Ok(ldl)
    }

    /// The entries of row `k` of P M Pᵀ up to the diagonal, in no order.
    fn lower(&self, m: &Sparse, k: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = m.row(self.order[k] as usize);
        let placed = row.map(|(c, v)| (self.place[c] as usize, v));
        placed.filter(move |(i, _)| *i <= k)
    }

    /// The elimination tree, and how many entries each column of L has.
    fn analyse(&mut self, m: &Sparse) {
        let n = self.order.len();
        let mut count = vec![0; n];
        let mut seen = vec![NONE; n];
        for k in 0..n {
            seen[k] = k as u32;
            let below: Vec<usize> = self.lower(m, k).map(|(i, _)| i).collect();
            for mut i in below {
                // L_ki is not zero for every i on the way up the tree to k.
                while seen[i] != k as u32 {
                    if self.parent[i] == NONE {
                        self.parent[i] = k as u32;
                    }
                    count[i] += 1;
                    seen[i] = k as u32;
                    i = self.parent[i] as usize;
                }
            }
        }
        let mut end = 0;
        self.start = vec![0];
        for count in count {
            end += count;
            self.start.push(end);
        }
        self.row = vec![0; self.start[n]];
        self.value = vec![0.0; self.start[n]];
    }

    /// Row k of L solves L_{<k} D l = (P M Pᵀ)_{<k,k}; d_k = M_kk − lᵀ D l.
    fn find_numbers(&mut self, m: &Sparse) -> Result<(), NotPositive> {
        let n = self.order.len();
        let mut end = self.start[..n].to_vec();
        let mut y = vec![0.0; n];
        let mut reach = Reach::default();
        for k in 0..n {
            reach.clear(n);
            reach.add(k);
            for (i, v) in self.lower(m, k) {
                reach.climb(i, &self.parent);
                y[i] += v;
            }
            reach.places.sort_unstable();
            for &i in &reach.places {
                let i = i as usize;
                if i == k {
                    continue;
                }
                let yi = std::mem::take(&mut y[i]);
                let own = self.start[i]..end[i];
                for (r, l) in self.row[own.clone()].iter().zip(&self.value[own]) {
                    y[*r as usize] -= l * yi;
                }
                let l = yi / self.d[i];
                y[k] -= l * yi;
                self.row[end[i]] = k as u32;
                self.value[end[i]] = l;
                end[i] += 1;
            }
            let pivot = std::mem::take(&mut y[k]);
            if !(pivot > 0.0 && pivot.is_finite()) {
                let unknown = self.order[k] as usize;
                return Err(NotPositive { unknown, pivot });
            }
            self.d.push(pivot);
        }
        Ok(())
    }

    /// D^(−½) L⁻¹ P h for a sparse h, as (place, value) with places ascending: its products with itself are
    /// those of h through M⁻¹.
    pub fn half_solve(
        &self,
        h: impl Iterator<Item = (usize, f64)>,
        work: &mut HalfSolve,
        mut out: impl FnMut(u32, f64),
    ) {
        let HalfSolve { x, reach } = work;
        x.resize(self.d.len(), 0.0);
        reach.clear(self.d.len());
        for (unknown, v) in h {
            let place = self.place[unknown] as usize;
            x[place] += v;
            reach.climb(place, &self.parent);
        }
        reach.places.sort_unstable();
        for &i in &reach.places {
            let i = i as usize;
            let xi = std::mem::take(&mut x[i]);
            let own = self.start[i]..self.start[i + 1];
            for (r, l) in self.row[own.clone()].iter().zip(&self.value[own]) {
                x[*r as usize] -= l * xi;
            }
            out(i as u32, xi / self.d[i].sqrt());
        }
    }

    /// x ← M⁻¹ x.
    pub fn solve(&self, x: &mut [f64]) {
        let mut y: Vec<f64> = self.order.iter().map(|i| x[*i as usize]).collect();
        let below = |k: usize| {
            let own = self.start[k]..self.start[k + 1];
            self.row[own.clone()].iter().zip(&self.value[own])
        };
        for k in 0..y.len() {
            let yk = y[k];
            below(k).for_each(|(r, l)| y[*r as usize] -= l * yk);
        }
        for k in (0..y.len()).rev() {
            let sum: f64 = below(k).map(|(r, l)| l * y[*r as usize]).sum();
            y[k] = y[k] / self.d[k] - sum;
        }
        for (k, i) in self.order.iter().enumerate() {
            x[*i as usize] = y[k];
        }
    }
}

/// The places that are not zero where a triangular system with a sparse right-hand side is solved: its entries, and
/// all above them in the elimination tree.
#[derive(Clone, Debug, Default)]
struct Reach {
    seen: Vec<bool>,
    places: Vec<u32>,
}

impl Reach {
    fn clear(&mut self, n: usize) {
        for i in self.places.drain(..) {
            self.seen[i as usize] = false;
        }
        self.seen.resize(n, false);
    }

    fn add(&mut self, i: usize) {
        self.seen[i] = true;
        self.places.push(i as u32);
    }

    /// Adds the way up from `i` to a place that is known already, or to a root.
    fn climb(&mut self, i: usize, parent: &[u32]) {
        let mut i = i as u32;
        while i != NONE && !self.seen[i as usize] {
            self.add(i as usize);
            i = parent[i as usize];
        }
    }
}

/// An order of little fill: approximate minimum degree.
fn minimum_degree(m: &Sparse) -> Vec<u32> {
    let start: Vec<u32> = m.start.iter().map(|s| *s as u32).collect();
    let ordered = amd::order(m.columns as u32, &start, &m.column, &Control::default());
    // Any order will do where this one is not to be had.
    ordered.map_or_else(|_| (0..m.columns as u32).collect(), |(order, ..)| order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// G Gᵀ + 1 of a sparse G.
    fn definite(n: usize, random: &mut Random) -> Sparse {
        let mut triplets = Vec::new();
        for i in 0..n {
            triplets.push((i as u32, i as u32, 1.0));
            let columns =
                [0; 3].map(|_| ((random.signed() + 1.0) * 0.5 * n as f64) as u32 % n as u32);
            for a in columns {
                for b in columns {
                    triplets.push((a, b, 1.0));
                }
            }
        }
        Sparse::from_triplets(n, n, &triplets)
    }

    #[test]
    fn solutions_and_half_solutions_agree_with_the_matrix() {
        let mut random = Random::new(3);
        for n in [1, 2, 7, 60] {
            let m = definite(n, &mut random);
            let ldl = Ldl::factor(&m).unwrap();
            let x: Vec<f64> = (0..n).map(|_| random.signed()).collect();
            let mut y: Vec<f64> = (0..n).map(|r| m.times(r, &x)).collect();
            ldl.solve(&mut y);
            for (a, b) in x.iter().zip(&y) {
                assert!((a - b).abs() < 1e-12, "{n}: {a} {b}");
            }
            // hᵀ M⁻¹ g both ways.
            let h = [(0, 1.5), (n / 2, -0.5)];
            let g = [(n - 1, 2.0)];
            let half = |entries: &[(usize, f64)]| {
                let mut dense = vec![0.0; n];
                let mut work = HalfSolve::default();
                ldl.half_solve(entries.iter().copied(), &mut work, |k, v| {
                    dense[k as usize] = v
                });
                assert!(work.x.iter().all(|x| *x == 0.0));
                dense
            };
            let product: f64 = half(&h).iter().zip(half(&g)).map(|(a, b)| a * b).sum();
            let mut solved = vec![0.0; n];
            g.iter().for_each(|(k, v)| solved[*k] += v);
            ldl.solve(&mut solved);
            let expected: f64 = h.iter().map(|(k, v)| v * solved[*k]).sum();
            assert!((product - expected).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_named() {
        let m = Sparse::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 1.0)]);
        let error = Ldl::factor(&m).unwrap_err();
        assert!(error.pivot < 0.0, "{error}");
        // A row without a diagonal.
        let m = Sparse::from_triplets(2, 2, &[(0, 0, 1.0)]);
        assert_eq!(Ldl::factor(&m).unwrap_err().unknown, 1);
    }
}
