//! The Delassus matrix A = J M⁻¹ Jᵀ + C as block compressed rows, for whoever asks for it.
//!
//! A block is a contact or a general row; two blocks couple when they share a body that impulses
//! move. Fixed bodies couple nothing.

use super::{FrictionLaw, Problem};
use crate::math::Twist;

/// A in block-CSR form. Block sizes differ from row to row where friction laws do.
#[derive(Clone, Debug, Default)]
pub struct Delassus {
    /// First row in Λ of each block, and one past the last.
    pub block_row: Vec<u32>,
    /// First entry of each block row in `column`, and one past the last.
    pub start: Vec<u32>,
    /// Block column of each entry, ascending within a block row.
    pub column: Vec<u32>,
    /// Where each entry's values begin in `value`, row-major; one past the last at the end.
    pub value_start: Vec<usize>,
    /// The values (1/kg).
    pub value: Vec<f64>,
}

/// The Jacobian of one block: per body, one row of J per row of the block.
struct BlockJacobian {
    rows: usize,
    bodies: Vec<(usize, [Twist; FrictionLaw::MAX_ROWS])>,
}

impl Delassus {
    /// Assembles A for a finished problem.
    pub fn assemble(problem: &Problem) -> Self {
        let contacts = problem.contacts.len();
        let blocks = contacts + problem.rows.len();
        let jacobian: Vec<BlockJacobian> =
            (0..blocks).map(|b| block_jacobian(problem, b)).collect();
        let mut touching: Vec<Vec<u32>> = vec![Vec::new(); problem.bodies.len()];
        for (b, j) in jacobian.iter().enumerate() {
            for (body, _) in &j.bodies {
                touching[*body].push(b as u32);
            }
        }

        let mut out = Self::default();
        out.block_row.push(0);
        for j in &jacobian {
            let last = *out.block_row.last().expect("starts with one entry");
            out.block_row.push(last + j.rows as u32);
        }
        out.start.push(0);
        out.value_start.push(0);
        let mut columns: Vec<u32> = Vec::new();
        for b in 0..blocks {
            columns.clear();
            columns.push(b as u32);
            for (body, _) in &jacobian[b].bodies {
                columns.extend_from_slice(&touching[*body]);
            }
            columns.sort_unstable();
            columns.dedup();
            for &c in &columns {
                out.push_block(problem, b, c as usize, &jacobian);
            }
            out.start.push(out.column.len() as u32);
        }
        out
    }

    fn push_block(&mut self, problem: &Problem, b: usize, c: usize, jacobian: &[BlockJacobian]) {
        let (left, right) = (&jacobian[b], &jacobian[c]);
        let offset = self.value.len();
        self.value.resize(offset + left.rows * right.rows, 0.0);
        let value = &mut self.value[offset..];
        for (body, rows) in &left.bodies {
            let Some((_, others)) = right.bodies.iter().find(|(other, _)| other == body) else {
                continue;
            };
            let inverse_mass = problem.bodies.inverse_mass[*body];
            let inverse_inertia = problem.bodies.inverse_inertia[*body];
            for (l, a) in others[..right.rows].iter().enumerate() {
                let turned = inverse_inertia.mul_vec(a.angular);
                for (k, e) in rows[..left.rows].iter().enumerate() {
                    value[k * right.rows + l] +=
                        inverse_mass * e.linear.dot(&a.linear) + e.angular.dot(&turned);
                }
            }
        }
        if b == c {
            for k in 0..left.rows {
                value[k * left.rows + k] += block_compliance(problem, b, k);
            }
        }
        self.column.push(c as u32);
        self.value_start.push(self.value.len());
    }

    /// Number of non-zero blocks.
    pub fn block_count(&self) -> usize {
        self.column.len()
    }

    /// y = A x.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        for b in 0..self.start.len() - 1 {
            let rows = self.block_row[b] as usize..self.block_row[b + 1] as usize;
            for e in self.start[b] as usize..self.start[b + 1] as usize {
                let c = self.column[e] as usize;
                let columns = self.block_row[c] as usize..self.block_row[c + 1] as usize;
                let value = &self.value[self.value_start[e]..self.value_start[e + 1]];
                for (k, row) in rows.clone().enumerate() {
                    let line = &value[k * columns.len()..(k + 1) * columns.len()];
                    y[row] += line
                        .iter()
                        .zip(&x[columns.clone()])
                        .map(|(a, b)| a * b)
                        .sum::<f64>();
                }
            }
        }
    }
}

fn block_compliance(problem: &Problem, block: usize, row: usize) -> f64 {
    let contacts = problem.contacts.len();
    if block < contacts {
        problem.contacts.compliance[block][row.min(1)]
    } else {
        problem.rows.compliance[block - contacts]
    }
}

fn block_jacobian(problem: &Problem, block: usize) -> BlockJacobian {
    let contacts = problem.contacts.len();
    if block >= contacts {
        // A body may stand twice in a row; its entries add up.
        let mut bodies: Vec<(usize, [Twist; FrictionLaw::MAX_ROWS])> = Vec::with_capacity(4);
        for (body, j) in problem.rows.entries(block - contacts) {
            if !problem.bodies.is_dynamic(body) {
                continue;
            }
            match bodies.iter_mut().find(|(b, _)| *b == body) {
                Some((_, rows)) => {
                    rows[0].linear += j.linear;
                    rows[0].angular += j.angular;
                }
                None => {
                    let mut rows = [Twist::ZERO; FrictionLaw::MAX_ROWS];
                    rows[0] = *j;
                    bodies.push((body, rows));
                }
            }
        }
        return BlockJacobian { rows: 1, bodies };
    }
    let frame = &problem.contacts.frame[block];
    let friction = &problem.contacts.friction[block];
    let [n, t1, t2] = frame.axes();
    let mut directions = [n, t1, t2, n, n, n, n, n, n];
    if let FrictionLaw::Pyramid { sides } = friction.law {
        for k in 0..sides as usize / 2 {
            let d = FrictionLaw::pyramid_direction(sides, k);
            directions[1 + k] = t1 * d[0] + t2 * d[1];
        }
    }
    let rows = friction.law.rows();
    let bodies = problem.contacts.bodies[block]
        .iter()
        .zip(frame.arms)
        .zip([-1.0, 1.0])
        .filter(|((body, _), _)| problem.bodies.is_dynamic(**body as usize))
        .map(|((body, arm), sign)| {
            let mut own = [Twist::ZERO; FrictionLaw::MAX_ROWS];
            for (row, e) in own[..rows].iter_mut().zip(directions) {
                row.linear = e * sign;
                row.angular = arm.cross(&e) * sign;
            }
            if friction.law == FrictionLaw::Contensou {
                own[3].linear = crate::math::Vec3::zeros();
                own[3].angular = n * (sign * friction.spin_radius);
            }
            (*body as usize, own)
        })
        .collect();
    BlockJacobian { rows, bodies }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{SymMat3, Vec3, tangent};
    use crate::problem::{ContactFrame, Friction, NewContact};

    /// A small tangle: three bodies, contacts of every law, a row over three bodies.
    pub(crate) fn tangle() -> Problem {
        let mut p = Problem {
            h: 0.01,
            ..Problem::default()
        };
        p.push_body(0.0, SymMat3::ZERO, Twist::ZERO);
        for k in 1..4 {
            let k = f64::from(k);
            let free = Twist {
                linear: Vec3::new(0.1 * k, -0.2, 0.3),
                angular: Vec3::new(0.5, -k, 0.2),
            };
            let i = SymMat3 {
                xx: 1.0,
                xy: 0.1,
                xz: 0.05,
                yy: 2.0,
                yz: -0.1,
                zz: 1.5,
            };
            p.push_body(1.0 / k, i, free);
        }
        let laws = [
            FrictionLaw::Disc,
            FrictionLaw::Box,
            FrictionLaw::Pyramid { sides: 6 },
            FrictionLaw::Contensou,
            FrictionLaw::Ellipse,
        ];
        for (k, law) in laws.into_iter().enumerate() {
            let normal = Vec3::new(0.2 * k as f64 - 0.3, 1.0, 0.1).normalize();
            p.push_contact(NewContact {
                bodies: [k as u32 % 3, 3 - (k as u32 % 2)],
                frame: ContactFrame {
                    normal,
                    tangent: tangent(normal),
                    arms: [Vec3::new(0.1, 0.5, 0.0), Vec3::new(0.0, -0.4, 0.2)],
                },
                friction: Friction {
                    law,
                    mu: [0.5, 0.3],
                    spin_radius: 0.2,
                },
                bias: [0.1, 0.2, -0.1, 0.3],
                compliance: [0.01, 0.02],
                gap: 0.0,
            });
        }
        let j = |x: f64| Twist {
            linear: Vec3::new(x, 0.2, 0.0),
            angular: Vec3::new(0.0, x, 1.0),
        };
        p.push_row(
            &[(1, j(1.0)), (2, j(-2.0)), (3, j(0.5))],
            [-1.0, 1.0],
            0.3,
            0.05,
            0.0,
        );
        p.finish();
        p
    }

    #[test]
    fn the_matrix_is_what_velocities_do() {
        // w(Λ) − w(0) through J and M⁻¹ must be A Λ through the assembled blocks.
        let p = tangle();
        let a = Delassus::assemble(&p);
        let n = p.row_count();
        let x: Vec<f64> = (0..n).map(|k| (k as f64 * 0.7).sin()).collect();
        let w = |lambda: &[f64]| {
            let mut u = Vec::new();
            p.velocities(lambda, &mut u);
            let mut w = vec![0.0; n];
            for c in 0..p.contacts.len() {
                let rows = p.contacts.rows(c);
                p.contact_velocity(c, &u, &lambda[rows.clone()], &mut w[rows]);
            }
            let first = p.contact_rows();
            for r in 0..p.rows.len() {
                w[first + r] = p.row_velocity(r, &u, lambda[first + r]);
            }
            w
        };
        let (with, without) = (w(&x), w(&vec![0.0; n]));
        let mut y = vec![0.0; n];
        a.multiply(&x, &mut y);
        for k in 0..n {
            assert!((with[k] - without[k] - y[k]).abs() < 1e-12, "row {k}");
        }
    }

    #[test]
    fn its_diagonal_is_the_one_the_solvers_use() {
        let p = tangle();
        let a = Delassus::assemble(&p);
        let n = p.row_count();
        for k in 0..n {
            let mut e = vec![0.0; n];
            e[k] = 1.0;
            let mut column = vec![0.0; n];
            a.multiply(&e, &mut column);
            let first = p.contact_rows();
            let expected = if k >= first {
                p.row_diagonal(k - first)
            } else {
                let c = (0..p.contacts.len())
                    .find(|c| p.contacts.rows(*c).contains(&k))
                    .unwrap();
                let mut d = [0.0; FrictionLaw::MAX_ROWS];
                p.contact_diagonal(c, &mut d);
                d[k - p.contacts.rows(c).start]
            };
            assert!((column[k] - expected).abs() < 1e-13, "row {k}");
        }
    }

    #[test]
    fn fixed_bodies_couple_nothing() {
        let p = tangle();
        let a = Delassus::assemble(&p);
        // Contacts 0 ([0, 3]) and 3 ([0, 2]) share the fixed body 0 and nothing else.
        assert_eq!(p.contacts.bodies[0], [0, 3]);
        assert_eq!(p.contacts.bodies[3], [0, 2]);
        let columns = &a.column[a.start[0] as usize..a.start[1] as usize];
        assert!(!columns.contains(&3), "{columns:?}");
        assert!(columns.contains(&2), "contact 2 is [2, 3]: {columns:?}");
    }
}
