//! Fills an island with the masses, Jacobians and laws of a problem.

use super::frame;
use super::packed::{DOF, Island, NONE, Row};
use super::{Block, Set};
use crate::math::{SymMat3, Twist};
use crate::problem::delassus::{block_bodies, block_jacobian};
use crate::problem::{FrictionLaw, Problem};

/// An axis whose inverse inertia is below this share of the largest does not turn (-).
const FREE: f64 = 1e-14;

/// The moment of inertia of a body that does not turn, in units of its mass times m².
const STUCK: f64 = 1e12;

fn flat(t: &Twist) -> Row {
    let (v, w) = (&t.linear, &t.angular);
    [v.x, v.y, v.z, w.x, w.y, w.z]
}

impl Island {
    /// Takes an island of a problem; `local` has the number of every body within its island.
    pub fn refill(&mut self, problem: &Problem, island: usize, local: &[u32]) {
        self.bodies.clear();
        let bodies = problem.islands.bodies.of(island);
        self.bodies.extend_from_slice(bodies);
        self.mass.clear();
        self.inverse_mass.clear();
        for body in bodies {
            let body = *body as usize;
            let m = problem.bodies.inverse_mass[body];
            let i = problem.bodies.inverse_inertia[body];
            self.inverse_mass
                .push([m, i.xx, i.xy, i.yy, i.xz, i.yz, i.zz]);
            self.mass.push(mass(m, &i));
        }
        self.blocks.clear();
        for v in [&mut self.free, &mut self.compliance, &mut self.diagonal] {
            v.clear();
        }
        self.take_contacts(problem, island, local);
        self.take_rows(problem, island, local);
    }

    fn take_contacts(&mut self, problem: &Problem, island: usize, local: &[u32]) {
        let out = &mut self.contacts;
        out.source.clear();
        out.source
            .extend_from_slice(problem.islands.contacts.of(island));
        out.start.clear();
        out.start.push(0);
        out.bodies.clear();
        out.jacobian.clear();
        out.frames.clear();
        let own = |c: &u32| problem.contacts.friction[*c as usize];
        let has_frames = |c: &u32| own(c).law.row_count() == frame::ROWS;
        let has_frames = out.source.iter().all(has_frames);
        let free = &problem.bodies.free_velocity;
        let mut jacobian = [Twist::ZERO; FrictionLaw::MAX_ROWS];
        for c in &out.source {
            let c = *c as usize;
            let friction = problem.contacts.friction[c];
            let n = friction.law.row_count();
            let first = self.free.len();
            let mut pair = [NONE; 2];
            if has_frames {
                out.frames.push((&problem.contacts.frame[c]).into());
            } else {
                out.jacobian.resize(first + n, [[0.0; DOF]; 2]);
            }
            for body in block_bodies(problem, c) {
                let side = usize::from(problem.contacts.bodies[c][1] == body);
                pair[side] = local[body as usize];
                if !has_frames {
                    block_jacobian(problem, c, body, &mut jacobian);
                    for (out, j) in out.jacobian[first..].iter_mut().zip(&jacobian) {
                        out[side] = flat(j);
                    }
                }
            }
            out.bodies.push(pair);
            out.start.push((first + n) as u32);
            let mut w = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_velocity(c, free, &[0.0; FrictionLaw::MAX_ROWS][..n], &mut w);
            self.free.extend_from_slice(&w[..n]);
            let [normal, other] = problem.contacts.compliance[c];
            self.compliance.push(normal);
            self.compliance.resize(first + n, other);
            let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_diagonal(c, &mut diagonal);
            let diagonal = &diagonal[..n];
            self.diagonal.extend_from_slice(diagonal);
            self.blocks.push(Block {
                set: Set::Cone(friction),
                first,
                rows: n,
                scale: diagonal.iter().copied().fold(0.0, f64::max),
            });
        }
    }

    fn take_rows(&mut self, problem: &Problem, island: usize, local: &[u32]) {
        let out = &mut self.rows;
        out.source.clear();
        // What moves nothing and gives way to nothing, as a gear at a dead point, is owed nothing.
        let own = problem.islands.rows.of(island).iter();
        let acting = own.filter(|r| problem.row_diagonal(**r as usize) != 0.0);
        out.source.extend(acting);
        out.start.clear();
        out.start.push(0);
        out.body.clear();
        out.jacobian.clear();
        let free = &problem.bodies.free_velocity;
        let contacts = problem.contacts.len();
        let mut jacobian = [Twist::ZERO; FrictionLaw::MAX_ROWS];
        for r in &out.source {
            let r = *r as usize;
            for body in block_bodies(problem, contacts + r) {
                block_jacobian(problem, contacts + r, body, &mut jacobian);
                out.body.push(local[body as usize]);
                out.jacobian.push(flat(&jacobian[0]));
            }
            out.start.push(out.body.len() as u32);
            let diagonal = problem.row_diagonal(r);
            self.blocks.push(Block {
                set: Set::Interval(problem.rows.bounds[r]),
                first: self.free.len(),
                rows: 1,
                scale: diagonal,
            });
            self.free.push(problem.row_velocity(r, free, 0.0));
            self.compliance.push(problem.rows.compliance[r]);
            self.diagonal.push(diagonal);
        }
    }
}

/// m and the inertia's lower triangle; what does not turn has an inertia that nothing turns.
fn mass(inverse_mass: f64, inverse: &SymMat3) -> [f64; 7] {
    let inertia = inverse.inverse().unwrap_or_else(|| {
        let eigen = inverse.to_matrix().symmetric_eigen();
        let most = eigen.eigenvalues.max();
        let mut out = SymMat3::default();
        for k in 0..3 {
            let (value, axis) = (eigen.eigenvalues[k], eigen.eigenvectors.column(k));
            let inertia = if value > FREE * most {
                1.0 / value
            } else {
                STUCK / inverse_mass
            };
            out.xx += inertia * axis[0] * axis[0];
            out.xy += inertia * axis[0] * axis[1];
            out.yy += inertia * axis[1] * axis[1];
            out.xz += inertia * axis[0] * axis[2];
            out.yz += inertia * axis[1] * axis[2];
            out.zz += inertia * axis[2] * axis[2];
        }
        out
    });
    let i = &inertia;
    [1.0 / inverse_mass, i.xx, i.xy, i.yy, i.xz, i.yz, i.zz]
}
