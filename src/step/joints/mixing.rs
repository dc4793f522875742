//! What the next round is linear about: what the last rounds have found, mixed (Anderson 1965).

use nalgebra::{DMatrix, DVector};

use super::bodies::{Held, HeldBodies};
use crate::math::{Twist, Vec3};
use crate::problem::Problem;

/// A round that is past.
struct Past {
    /// What it was linear about, and how far it led from it, by √mass.
    from: Vec<f64>,
    led: Vec<f64>,
    /// The impulses of the island's general rows that it found.
    impulses: Vec<f64>,
}

/// Earlier rounds that the last one is mixed with. Mixing more has not made fewer rounds.
const MEMORY: usize = 5;

/// The velocities and impulses that a round is linear about. Keeps its memory.
#[derive(Default)]
pub struct Mixing {
    /// u of all bodies, and Λ of the general rows.
    pub about: Vec<Twist>,
    pub impulses: Vec<f64>,
    /// By island.
    past: Vec<Vec<Past>>,
}

impl Mixing {
    /// Forgets the rounds of the last (sub)step.
    pub fn begin(&mut self) {
        self.past.clear();
    }

    /// Forgets the rounds of an island, which are to lead elsewhere.
    pub fn forget(&mut self, island: usize) {
        if let Some(past) = self.past.get_mut(island) {
            past.clear();
        }
    }

    /// Mixes what the last rounds have found such that what is left of their changes is least (Anderson 1965): a secant
    /// method that makes up for what the matrix leaves out. Rounds of an earlier matrix count as well, since what they end at
    /// is the same. The next one is linear about it. False where that is what the last round has found.
    pub fn mix(
        &mut self,
        problem: &Problem,
        bodies: &HeldBodies,
        lambda: &[f64],
        velocity: &[Twist],
    ) -> bool {
        let found = &lambda[problem.contact_rows()..];
        let mut is_mixed = false;
        self.impulses.clear();
        self.impulses.extend_from_slice(found);
        self.past.resize_with(bodies.islands.len(), Vec::new);
        for ((island, held), past) in bodies.islands.iter().zip(&mut self.past) {
            let held = bodies.of(held);
            let rows = problem.islands.rows.of(*island);
            let round = Past {
                impulses: rows.iter().map(|row| found[*row as usize]).collect(),
                ..Past::of(problem, held, &self.about, velocity)
            };
            if past.len() > MEMORY {
                past.remove(0);
            }
            match round.mixed_with(past) {
                None => {
                    let of = held.iter().map(|body| body.slot);
                    of.for_each(|slot| self.about[slot] = velocity[slot]);
                }
                Some((next, shares)) => {
                    is_mixed = true;
                    for (share, past) in shares.iter().zip(past.iter()) {
                        for (row, past) in rows.iter().zip(&past.impulses) {
                            self.impulses[*row as usize] -= share * (found[*row as usize] - past);
                        }
                    }
                    for (body, next) in held.iter().zip(next.chunks(6)) {
                        let [mass, inertia] = body.weights(problem);
                        self.about[body.slot] = Twist::new(
                            Vec3::new(next[0], next[1], next[2]) / mass,
                            Vec3::new(next[3], next[4], next[5]) / inertia,
                        );
                    }
                }
            }
            past.push(round);
        }
        is_mixed
    }
}

impl Past {
    /// What a round that was linear about `about` has led to, but for its impulses.
    fn of(problem: &Problem, held: &[Held], about: &[Twist], velocity: &[Twist]) -> Self {
        let mut from = Vec::with_capacity(6 * held.len());
        let mut led = Vec::with_capacity(6 * held.len());
        for body in held {
            let [mass, inertia] = body.weights(problem);
            let (x, g) = (&about[body.slot], &velocity[body.slot]);
            for (weight, x, g) in [
                (mass, &x.linear, &g.linear),
                (inertia, &x.angular, &g.angular),
            ] {
                for k in 0..3 {
                    from.push(weight * x[k]);
                    led.push(weight * (g[k] - x[k]));
                }
            }
        }
        Self {
            from,
            led,
            impulses: Vec::new(),
        }
    }

    /// What to go on from, by √mass, and the share that each earlier round takes of it; none where there are none, or none
    /// is told from the others.
    fn mixed_with(&self, past: &[Self]) -> Option<(Vec<f64>, DVector<f64>)> {
        let n = past.len();
        if n == 0 {
            return None;
        }
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let minus =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        let differences = past
            .iter()
            .map(|past| [minus(&self.from, &past.from), minus(&self.led, &past.led)]);
        let differences: Vec<[Vec<f64>; 2]> = differences.collect();
        let mut matrix = DMatrix::from_fn(n, n, |i, j| dot(&differences[i][1], &differences[j][1]));
        let right = DVector::from_fn(n, |i, _| dot(&differences[i][1], &self.led));
        for i in 0..n {
            matrix[(i, i)] *= 1.0 + 1e-12;
        }
        let shares = matrix.cholesky()?.solve(&right);
        let all = self.from.iter().zip(&self.led);
        let mut next: Vec<f64> = all.map(|(x, f)| x + f).collect();
        for (share, [dx, df]) in shares.iter().zip(&differences) {
            for ((next, dx), df) in next.iter_mut().zip(dx).zip(df) {
                *next -= share * (dx + df);
            }
        }
        Some((next, shares))
    }
}
