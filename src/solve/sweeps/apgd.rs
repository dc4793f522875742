//! `apgd`: Nesterov's accelerated projected gradient descent (Mazhar, Heyn, Negrut & Tasora 2015, "Using
//! Nesterov's method to accelerate multibody dynamics with friction and contact", algorithm 2).
//!
//! It minimises ½ Λᵀ A Λ + bᵀ Λ over the product of the contacts' cones: cone complementarity, the convex
//! relaxation of Coulomb friction (Anitescu 2006). What slides parts from its support at μ‖w_T‖; the
//! residual under the exact law stands beside that of the relaxation.

use super::block::{Change, PackedBody, Sweep};
use super::by_island::{IslandView, Method, Prepare, by_island};
use super::pack::Packed;
use crate::problem::Problem;
use crate::problem::law::Law;
use crate::problem::residual::JudgedLaw;
use crate::solve::{SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "apgd",
    summary: "accelerated projected gradient descent on the relaxation to cone complementarity: what slides \
              parts from its support at μ times its speed",
    source: "Mazhar, Heyn, Negrut & Tasora 2015, algorithm 2",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[],
    make: |_| by_island(&INFO, Apgd),
};

/// Most times that one iteration doubles its estimate of the Lipschitz constant: from far too small a one
/// to the largest eigenvalue of any A.
const DOUBLINGS: u32 = 60;

/// What the solver does to an island.
struct Apgd;

/// An island's descent; γ is its Λ, and w(x) = A x + b is the gradient at x.
#[derive(Default)]
struct Descent {
    /// γ_k and w(γ_k), and w(γ_{k+1}).
    before: Vec<f64>,
    w_before: Vec<f64>,
    w: Vec<f64>,
    /// y_k and g = w(y_k).
    y: Vec<f64>,
    g: Vec<f64>,
    theta: f64,
    /// L_k (1/kg).
    lipschitz: f64,
}

impl Prepare for Apgd {
    fn prepare(&mut self, problem: &Problem, packed: &mut Packed) {
        packed.pack(problem, 1.0);
    }
}

impl Method for Apgd {
    type State = Descent;

    fn judged_law(&self) -> JudgedLaw {
        JudgedLaw::Relaxed
    }

    fn rebuild(&self, _packed: &Packed, _island: usize, _view: &mut IslandView<Descent>) {
        // w is computed from γ in every iteration: nothing gathers rounding errors.
    }

    fn start(&self, packed: &Packed, island: usize, view: &mut IslandView<Descent>) {
        let d = &mut *view.state;
        let n = view.lambda.len();
        for v in [&mut d.before, &mut d.w_before, &mut d.w, &mut d.y, &mut d.g] {
            v.clear();
            v.resize(n, 0.0);
        }
        // L_0 = ‖A(γ_0 − 1)‖/‖γ_0 − 1‖ (algorithm 2, line 2), or any number where γ_0 is 1: it is doubled
        // until it is large enough, and must not be zero for that.
        gradient(packed, island, view.lambda, view.bodies, &mut d.w);
        d.y.fill(1.0);
        gradient(packed, island, &d.y, view.bodies, &mut d.w_before);
        let image = distance(&d.w, &d.w_before);
        let length = distance(view.lambda, &d.y);
        d.lipschitz = if length > 0.0 {
            (image / length).clamp(1e-12, 1e12)
        } else {
            1.0
        };
        d.theta = 1.0;
        d.y.copy_from_slice(view.lambda);
        d.g.copy_from_slice(&d.w);
    }

    fn iterate(
        &self,
        packed: &Packed,
        island: usize,
        view: &mut IslandView<Descent>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let d = &mut *view.state;
        d.before.copy_from_slice(view.lambda);
        std::mem::swap(&mut d.w, &mut d.w_before);
        for _ in 0..DOUBLINGS {
            // γ_{k+1} = Π_K(y_k − g/L_k)
            let t = sweep.scale / d.lipschitz;
            for ((x, y), g) in view.lambda.iter_mut().zip(&d.y).zip(&d.g) {
                *x = y - t * g;
            }
            packed.project(island, view.lambda, |law, mu, block| {
                law.project_cone(block, mu);
            });
            gradient(packed, island, view.lambda, view.bodies, &mut d.w);
            // f(γ) ≤ f(y) + gᵀ(γ − y) + ½ L ‖γ − y‖², which for a quadratic is dᵀ A d ≤ L ‖d‖².
            let (mut curvature, mut square) = (0.0, 0.0);
            for (k, x) in view.lambda.iter().enumerate() {
                let step = x - d.y[k];
                curvature += step * (d.w[k] - d.g[k]);
                square += step * step;
            }
            if curvature <= d.lipschitz * square {
                break;
            }
            d.lipschitz *= 2.0;
        }
        note(packed, island, view.lambda, d, sweep, change);
    }

    fn go_on(&self, _packed: &Packed, _island: usize, view: &mut IslandView<Descent>) {
        let d = &mut *view.state;
        // gᵀ(γ_{k+1} − γ_k) > 0: the momentum leads uphill, so it is dropped.
        let changes = view.lambda.iter().zip(&d.before);
        let uphill: f64 = changes
            .zip(&d.g)
            .map(|((new, old), g)| g * (new - old))
            .sum();
        let theta = d.theta;
        let next = 0.5 * theta * ((theta * theta + 4.0).sqrt() - theta);
        let mut beta = theta * (1.0 - theta) / (theta * theta + next);
        d.theta = next;
        if uphill > 0.0 {
            (beta, d.theta) = (0.0, 1.0);
        }
        // y_{k+1} = γ_{k+1} + β(γ_{k+1} − γ_k), and w is affine.
        for (k, x) in view.lambda.iter().enumerate() {
            d.y[k] = x + beta * (x - d.before[k]);
            d.g[k] = d.w[k] + beta * (d.w[k] - d.w_before[k]);
        }
        // Algorithm 2's own factor: L may be smaller where the descent is now.
        d.lipschitz *= 0.9;
    }
}

/// w = A x + b.
fn gradient(packed: &Packed, island: usize, x: &[f64], bodies: &mut [PackedBody], w: &mut [f64]) {
    packed.velocities(island, x, bodies);
    packed.constraint_velocities(island, x, bodies, w);
}

/// Notes what changed: impulses against γ_k, speeds as L ‖γ_{k+1} − y_k‖ of each contact and row.
fn note(
    packed: &Packed,
    island: usize,
    lambda: &[f64],
    d: &Descent,
    sweep: &Sweep,
    change: &mut Change,
) {
    for (new, old) in lambda.iter().zip(&d.before) {
        change.note(*old, new - old, sweep.relative);
    }
    let square = d.lipschitz * d.lipschitz;
    let mut of_rows = |rows: std::ops::Range<usize>| {
        let pairs = lambda[rows.clone()].iter().zip(&d.y[rows]);
        let moved: f64 = pairs.map(|(x, y)| (x - y) * (x - y)).sum();
        change.note_speed(square * moved);
    };
    for c in packed.contacts_of(island) {
        of_rows(packed.block(island, c));
    }
    (packed.first_row(island)..lambda.len()).for_each(|r| of_rows(r..r + 1));
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{SymMat3, Twist, Vec3};
    use crate::problem::residual::{self, ResidualWorkspace};
    use crate::problem::{ContactFrame, Friction, NewContact};
    use crate::solve::{Request, SolverConfig, Status};

    /// A ball of 2 kg and radius 1 that slides at 3 m/s parts from the ground at μ‖w_T‖, the relaxation's own
    /// answer, and the exact law says so.
    #[test]
    fn what_slides_is_lifted() {
        let (h, mu) = (0.01, 0.5);
        let mut problem = Problem {
            h,
            ..Problem::default()
        };
        problem.push_body(0.0, SymMat3::ZERO, Twist::ZERO);
        let free = Twist {
            linear: Vec3::new(3.0, -9.81 * h, 0.0),
            angular: Vec3::zeros(),
        };
        problem.push_body(0.5, SymMat3::diagonal(1.25, 1.25, 1.25), free);
        problem.push_contact(NewContact {
            bodies: [0, 1],
            frame: ContactFrame {
                normal: Vec3::y(),
                tangent: Vec3::x(),
                arms: [Vec3::zeros(), -Vec3::y()],
            },
            friction: Friction {
                mu: [mu; 2],
                ..Friction::NONE
            },
            bias: [0.0; 5],
            compliance: [0.0; 2],
            gap: 0.0,
        });
        problem.finish();
        let config = SolverConfig {
            name: INFO.name.into(),
            ..SolverConfig::default()
        };
        let (mut lambda, mut u) = (vec![0.0; 3], Vec::new());
        let mut request = Request::default();
        request.budget.tolerance = 1e-12;
        let mut solver = config.build().unwrap();
        let report = solver.solve(&problem, &request, &mut lambda, &mut u);
        assert_eq!(report.status, Status::Converged);
        let mut w = [0.0; 3];
        problem.contact_velocity(0, &u, &lambda, &mut w);
        let slip = w[1].hypot(w[2]);
        assert!(slip > 1.0 && (w[0] - mu * slip).abs() < 1e-9, "{w:?}");
        let mut workspace = ResidualWorkspace::default();
        let mut under = |law| residual::evaluate(&problem, &lambda, law, &mut workspace).residual;
        assert!(under(JudgedLaw::Relaxed) < 1e-11);
        assert!(under(JudgedLaw::Own) > 0.1);
    }
}
