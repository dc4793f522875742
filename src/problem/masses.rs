//! A problem as its masses: M v = f + Jᵀ Λ and w = J v + C Λ + bias, whatever v is.

use super::{FrictionLaw, Problem, delassus};
use crate::check::{Invalid, demand, finite, not_negative};
use crate::linalg::csr::Sparse;
use crate::linalg::up_looking::{HalfSolve, Ldl};
use crate::math::{SymMat3, Twist, Vec3};

/// Most numbers of A that are ever computed (2 GiB of them).
const MOST: usize = 1 << 28;
/// How far M may be from symmetric, as a share of its diagonal (-): rounding of whoever assembled it.
const SKEW: f64 = 1e-9;

/// M, J and what else makes w = A Λ + b of them, with A = J M⁻¹ Jᵀ + C and b = J M⁻¹ f + bias.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Masses {
    /// M, symmetric and positive definite, with both triangles.
    pub mass: Sparse,
    /// J, one row per row of Λ: the transposed of FCLIB's H, with G's below.
    pub jacobian: Sparse,
    /// f: what the momenta M v are without impulses of constraints.
    pub momentum: Vec<f64>,
    /// What is added to J v + C Λ (m/s).
    pub bias: Vec<f64>,
    /// C of each row (1/kg).
    pub compliance: Vec<f64>,
}

impl Masses {
    /// Refuses lengths and indices that do not fit, numbers that are not finite, and a mass matrix that is not
    /// symmetric.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let (n, rows) = (self.mass.columns, self.jacobian.rows());
        let same = |field: &str, length: usize, expected: usize| {
            demand(
                length == expected,
                field,
                &format!("as long as {expected}"),
                length,
            )
        };
        same("mass.rows", self.mass.rows(), n)?;
        same("jacobian.columns", self.jacobian.columns, n)?;
        same("momentum", self.momentum.len(), n)?;
        same("bias", self.bias.len(), rows)?;
        same("compliance", self.compliance.len(), rows)?;
        self.mass.check().map_err(|e| e.inside("mass"))?;
        self.jacobian.check().map_err(|e| e.inside("jacobian"))?;
        finite("momentum", &self.momentum)?;
        finite("bias", &self.bias)?;
        let mut compliance = self.compliance.iter();
        compliance.try_for_each(|c| not_negative("compliance", *c))?;
        self.check_symmetry()
    }

    fn check_symmetry(&self) -> Result<(), Invalid> {
        let m = &self.mass;
        for (r, c, v) in m.triplets() {
            let (r, c) = (r as usize, c as usize);
            let mirrored = m.at(c, r);
            let size = (m.at(r, r).abs() * m.at(c, c).abs()).sqrt();
            let is_same = (v - mirrored).abs() <= SKEW * size.max(v.abs());
            let place = format!("mass ({r}, {c})");
            demand(is_same, &place, &format!("{mirrored}, as ({c}, {r}) is"), v)?;
        }
        Ok(())
    }

    /// A = J M⁻¹ Jᵀ + C and b = J M⁻¹ f + bias.
    ///
    /// With P M Pᵀ = L D Lᵀ and Z = D^(−½) L⁻¹ P Jᵀ it is A = Zᵀ Z + C: no inverse is formed, and A is symmetric to
    /// the last bit.
    ///
    /// # Errors
    /// M is not positive definite, or A would have more numbers than anybody could use.
    pub(super) fn delassus(&self) -> Result<(Sparse, Vec<f64>), Invalid> {
        let factor = self.factor()?;
        let mut velocity = self.momentum.clone();
        factor.solve(&mut velocity);
        let rows = self.jacobian.rows();
        let offset = (0..rows).map(|r| self.jacobian.times(r, &velocity) + self.bias[r]);
        let offset = offset.collect();

        let mut half = Sparse::empty(self.mass.columns);
        let mut work = HalfSolve::default();
        for r in 0..rows {
            let push = |place, v| {
                half.column.push(place);
                half.value.push(v);
            };
            factor.half_solve(self.jacobian.row(r), &mut work, push);
            half.start.push(half.column.len());
        }
        Ok((self.product(&half)?, offset))
    }

    /// v = M⁻¹(f + Jᵀ Λ).
    ///
    /// # Errors
    /// M is not positive definite.
    pub fn velocities(&self, lambda: &[f64]) -> Result<Vec<f64>, Invalid> {
        let mut velocity = self.momentum.clone();
        for (r, x) in lambda.iter().enumerate() {
            self.jacobian.row(r).for_each(|(v, j)| velocity[v] += j * x);
        }
        self.factor()?.solve(&mut velocity);
        Ok(velocity)
    }

    fn factor(&self) -> Result<Ldl, Invalid> {
        Ldl::factor(&self.mass).map_err(|e| Invalid::new("mass", "positive definite", e))
    }

    /// Zᵀ Z + C, where Z is given by its columns, which are rows of `half`.
    fn product(&self, half: &Sparse) -> Result<Sparse, Invalid> {
        let rows = half.rows();
        let by_place = half.transposed();
        let mut a = Sparse::empty(rows);
        let mut sum = vec![0.0; rows];
        let mut is_there = vec![false; rows];
        let mut columns: Vec<u32> = Vec::new();
        for r in 0..rows {
            for (place, v) in half.row(r) {
                for (c, other) in by_place.row(place) {
                    if !std::mem::replace(&mut is_there[c], true) {
                        columns.push(c as u32);
                    }
                    sum[c] += v * other;
                }
            }
            if self.compliance[r] > 0.0 {
                if !std::mem::replace(&mut is_there[r], true) {
                    columns.push(r as u32);
                }
                sum[r] += self.compliance[r];
            }
            columns.sort_unstable();
            for c in columns.drain(..) {
                is_there[c as usize] = false;
                a.column.push(c);
                a.value.push(std::mem::take(&mut sum[c as usize]));
            }
            a.start.push(a.column.len());
            let is_small = a.column.len() <= MOST;
            demand(is_small, "A", &format!("of at most {MOST} numbers"), "more")?;
        }
        Ok(a)
    }

    /// The masses of a problem with bodies: v are the velocities of those that impulses move, linear and then
    /// angular; a body without rotation has none. None where an inverse inertia has no inverse.
    pub fn of(problem: &Problem) -> Option<Self> {
        let bodies = &problem.bodies;
        let mut out = Self::default();
        let mut unknown = vec![[None; 2]; bodies.len()];
        let mut mass = Vec::new();
        for b in (0..bodies.len()).filter(|b| bodies.is_dynamic(*b)) {
            let first = out.momentum.len() as u32;
            let turns = bodies.inverse_inertia[b] != SymMat3::ZERO;
            unknown[b] = [Some(first), turns.then_some(first + 3)];
            let free = &bodies.free_velocity[b];
            let m = 1.0 / bodies.inverse_mass[b];
            mass.extend((first..first + 3).map(|k| (k, k, m)));
            out.momentum.extend((free.linear * m).iter());
            if turns {
                let inertia = bodies.inverse_inertia[b].inverse()?;
                let dense = inertia.to_matrix();
                for (k, l) in (0..9).map(|k| (k / 3, k % 3)) {
                    let v = dense[(k, l)];
                    if v != 0.0 || k == l {
                        mass.push((first + 3 + k as u32, first + 3 + l as u32, v));
                    }
                }
                out.momentum.extend(inertia.mul_vec(free.angular).iter());
            }
        }
        let n = out.momentum.len();
        out.mass = Sparse::from_triplets(n, n, &mass);
        out.take_constraints(problem, &unknown);
        Some(out)
    }

    /// J, the biases and the compliances. Bodies that impulses do not move add their velocities to the bias.
    fn take_constraints(&mut self, problem: &Problem, unknown: &[[Option<u32>; 2]]) {
        let mut entries = Vec::new();
        let rest = vec![Twist::ZERO; problem.bodies.len()];
        let sources = problem.contacts.len() + problem.rows.len();
        for source in 0..sources {
            let first = self.bias.len();
            let rows = delassus::block_rows(problem, source);
            self.bias.extend(block_bias(problem, source, &rest));
            let compliance = (0..rows).map(|k| delassus::block_compliance(problem, source, k));
            self.compliance.extend(compliance);
            for body in delassus::all_bodies(problem, source) {
                let mut jacobian = [Twist::ZERO; FrictionLaw::MAX_ROWS];
                delassus::block_jacobian(problem, source, body, &mut jacobian);
                for (row, j) in (first..).zip(&jacobian[..rows]) {
                    let free = &problem.bodies.free_velocity[body as usize];
                    let mut push = |at: Option<u32>, j: &Vec3, free: &Vec3| match at {
                        Some(at) => {
                            let places = (at..).zip(j.iter()).filter(|(_, v)| **v != 0.0);
                            entries.extend(places.map(|(at, v)| (row as u32, at, *v)));
                        }
                        // What no impulse changes.
                        None => self.bias[row] += j.dot(free),
                    };
                    let [linear, angular] = unknown[body as usize];
                    push(linear, &j.linear, &free.linear);
                    push(angular, &j.angular, &free.angular);
                }
            }
        }
        self.jacobian = Sparse::from_triplets(self.bias.len(), self.momentum.len(), &entries);
    }
}

/// The biases of a block's rows: its velocities where all bodies `rest`.
fn block_bias(problem: &Problem, source: usize, rest: &[Twist]) -> Vec<f64> {
    let contacts = problem.contacts.len();
    if source >= contacts {
        return vec![problem.rows.bias[source - contacts]];
    }
    let zero = [0.0; FrictionLaw::MAX_ROWS];
    let mut w = vec![0.0; delassus::block_rows(problem, source)];
    let block = &zero[..w.len()];
    problem.contact_velocity(source, rest, block, &mut w);
    w
}
