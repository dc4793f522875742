//! Discs of friction as boxes that touch them: Newton's method with every complementarity kept (Josephy 1979).
//!
//! Where Coulomb's law slides, Λ_T = μ Λ_N z/|z| with z = Λ_T − ρ w_T and |z| > μ Λ_N. To first order in what changes,
//! with t = z/|z|, the impulse along t is at its bound μ Λ_N, or w is 0 there; and the one across gives way as
//! Λ⊥ (|z| − μ Λ_N) = −μ Λ_N ρ w⊥, with the compliance C = (|z| − μ Λ_N)/(μ Λ_N ρ). Where it sticks, the box lies along
//! its impulse, and is rigid. Of such contacts pivoting finds the exact solution, and one after the other they lead to the
//! discs quadratically, since in the end Λ⊥ = w⊥ = 0.

use crate::math::Twist;
use crate::problem::{DictionaryColumn, Friction, FrictionLaw, Problem};
use crate::solve::subproblem::Subproblem;

/// An island of a problem, linearised. Keeps its memory.
#[derive(Debug, Default)]
pub(in crate::solve) struct Linear {
    /// The island, with the impulses in the frames of its contacts.
    pub part: Subproblem,
    /// The friction of each contact as it is.
    friction: DictionaryColumn<Friction>,
    /// C across the sliding direction, on the second tangent of each contact (1/kg).
    pub transverse_compliance: Vec<f64>,
    velocity: Vec<Twist>,
}

impl Linear {
    /// Takes an island and its impulses, in the order of the whole.
    pub fn take(&mut self, whole: &Problem, island: usize, lambda: &[f64]) {
        self.part.take_island(whole, island, lambda);
        let contacts = &self.part.problem.contacts;
        self.friction.clone_from(&contacts.friction);
        self.transverse_compliance.clear();
        self.transverse_compliance.resize(contacts.len(), 0.0);
    }

    /// Linearises the laws about the impulses that there are.
    pub fn linearise(&mut self) {
        let Subproblem {
            problem, lambda, ..
        } = &mut self.part;
        problem.velocities(lambda, &mut self.velocity);
        for (c, friction) in self.friction.iter().enumerate() {
            if friction.law != FrictionLaw::Disc {
                continue;
            }
            let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_diagonal(c, &mut diagonal);
            let largest = diagonal[1].max(diagonal[2]);
            let block = &mut lambda[problem.contacts.rows(c)];
            let mut w = [0.0; FrictionLaw::MAX_ROWS];
            problem.contact_velocity(c, &self.velocity, block, &mut w);
            let contacts = &mut problem.contacts;
            let law = FrictionLaw::Box;
            contacts.friction.set(c, Friction { law, ..*friction });
            self.transverse_compliance[c] = 0.0;
            // z/ρ with 1/ρ = `largest` (m/s).
            let z = [1, 2].map(|k| largest * block[k] - w[k]);
            let length = z[0].hypot(z[1]);
            if length == 0.0 {
                continue;
            }
            let [cos, sin] = z.map(|z| z / length);
            let turn = |[a, b]: [f64; 2]| [cos * a + sin * b, cos * b - sin * a];
            [block[1], block[2]] = turn([block[1], block[2]]);
            let bias = &mut contacts.bias[c];
            [bias[1], bias[2]] = turn([bias[1], bias[2]]);
            let frame = &mut contacts.frame[c];
            let [_, t1, t2] = frame.axes();
            frame.tangent = t1 * cos + t2 * sin;
            let bound = friction.mu[0] * block[0];
            if bound > 0.0 {
                self.transverse_compliance[c] = (length / bound - largest).max(0.0);
            }
        }
    }

    /// Turns the impulses into the frames of the whole, and into the discs.
    pub fn restore(&mut self, whole: &Problem) {
        for (k, friction) in self.friction.iter().enumerate() {
            if friction.law != FrictionLaw::Disc {
                continue;
            }
            let source = self.part.contacts()[k] as usize;
            let axes = whole.contacts.frame[source].axes();
            let contacts = &self.part.problem.contacts;
            let [_, t1, t2] = contacts.frame[k].axes();
            let block = &mut self.part.lambda[contacts.rows(k)];
            let force = t1 * block[1] + t2 * block[2];
            [block[1], block[2]] = [axes[1].dot(&force), axes[2].dot(&force)];
            let normal = block[0];
            friction.project(&mut block[1..], normal);
        }
    }
}
