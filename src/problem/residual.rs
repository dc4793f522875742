//! The one residual: how far any Λ is from solving the problem, independent of every solver.
//!
//! Everything is recomputed from scratch in `f64`: u from Λ, w = A Λ + b from u, and then each
//! block's Λ − prox(Λ − ρ w).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::form::Form;
use super::law::{Law, projection};
use super::matrix::MatrixProblem;
use super::{Friction, FrictionLaw, Problem};
use crate::math::Twist;

/// Blocks per unit of parallel work.
const CHUNK: usize = 1024;
/// Poulsen's R in the quality measure γ.
const POULSEN_R: f64 = 100.0;

/// All measures of one solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// Largest ‖Λ − prox(Λ − ρ w)‖/ρ over rows and friction blocks, ρ = 1/A_ii (m/s).
    pub residual: f64,
    /// Root mean square of the same (m/s).
    pub residual_rms: f64,
    /// Largest approach velocity left, max(−w_N, 0) over contacts and limits (m/s).
    pub penetration_velocity: f64,
    /// Largest |Λ w| of a normal or limit row whose w is positive (J).
    pub complementarity: f64,
    /// Largest distance of an impulse from its set (N s).
    pub cone: f64,
    /// Largest ‖Λ_T/‖Λ_T‖ + w_T/‖w_T‖‖ over the sliding contacts (-).
    pub sliding_direction: f64,
    /// Largest |w| of a bilateral row, w including C Λ (m/s).
    pub bilateral: f64,
    /// Poulsen's quality ½ ‖prox(Λ − R w) − Λ‖² with R = 100 (N² s²).
    pub gamma: f64,
    /// FCLIB's ‖r − P_K(r − û)‖/‖q‖ over the contacts, û = u + (μ‖u_T‖, 0, 0) (-); only of problems without bodies,
    /// since its ρ = 1 depends on units.
    pub natural_map: Option<f64>,
}

/// The friction law that a solution is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JudgedLaw {
    /// Each contact's own.
    Own,
    /// Each contact's own, with discs, ellipses and ellipsoids replaced by the boxes around them: every
    /// friction row by itself within ± its share of μ Λ_N.
    Intervals,
    /// Exact Coulomb friction, whatever polyhedron it was solved with.
    Coulomb,
    /// Cone complementarity, the convex relaxation of each contact's own law: Λ ∈ K ⟂ w ∈ K* over the
    /// whole contact (Anitescu 2006; Mazhar et al. 2015). Sliding contacts part at μ‖w_T‖.
    Relaxed,
}

impl JudgedLaw {
    /// What it makes of friction, in words that go after "under".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Own => "the contacts' own law",
            Self::Intervals => "friction in boxes",
            Self::Coulomb => "exact Coulomb friction",
            Self::Relaxed => "the convex relaxation",
        }
    }
}

/// Reusable memory of the evaluation.
#[derive(Clone, Debug, Default)]
pub struct ResidualWorkspace {
    velocity: Vec<Twist>,
    /// w of problems without bodies.
    rows: Vec<f64>,
    parts: Vec<Part>,
}

impl ResidualWorkspace {
    /// The velocities of the impulses that were evaluated last, of all bodies.
    pub(crate) fn velocities(&self) -> &[Twist] {
        &self.velocity
    }

    /// Their memory, for other numbers until the next evaluation.
    pub(crate) fn velocities_mut(&mut self) -> &mut Vec<Twist> {
        &mut self.velocity
    }
}

/// A tangential velocity up to this one (m/s) counts as rest, and its direction as undefined.
const REST: f64 = 1e-9;

/// Evaluates the residual of `lambda` for `problem`.
///
/// # Panics
/// If `lambda` is not as long as the problem has rows.
pub fn evaluate(
    problem: &Problem,
    lambda: &[f64],
    law: JudgedLaw,
    workspace: &mut ResidualWorkspace,
) -> Residual {
    assert_eq!(lambda.len(), problem.row_count(), "one impulse per row");
    problem.velocities(lambda, &mut workspace.velocity);
    let u = &workspace.velocity;
    let contact = |part: &mut Part, c: usize| {
        part.add_contact(problem, c, u, &lambda[problem.contacts.rows(c)], law);
    };
    let row = |part: &mut Part, r: usize| {
        let x = lambda[problem.contact_rows() + r];
        let w = problem.row_velocity(r, u, x);
        part.add_row(problem.rows.bounds[r], x, w, problem.row_diagonal(r));
    };
    let counts = [problem.contacts.len(), problem.rows.len()];
    sum_parts(counts, contact, row, &mut workspace.parts)
}

/// Evaluates the residual of `lambda` for a problem without bodies, with the natural map.
///
/// # Panics
/// If `lambda` is not as long as the problem has rows.
pub fn of_matrices(
    problem: &MatrixProblem,
    lambda: &[f64],
    law: JudgedLaw,
    workspace: &mut ResidualWorkspace,
) -> Residual {
    assert_eq!(lambda.len(), problem.row_count(), "one impulse per row");
    workspace.rows.resize(lambda.len(), 0.0);
    problem.product(lambda, &mut workspace.rows);
    let w = &workspace.rows;
    let contact = |part: &mut Part, c: usize| {
        let rows = problem.rows_of(c);
        let own = problem.a().own(problem.place(c));
        let diagonal = [own[0], own[4], own[8]];
        let friction = problem.friction_of(c);
        part.judge(
            Judged { friction, by: law },
            &lambda[rows.clone()],
            &w[rows],
            &diagonal,
        );
    };
    let (contacts, general) = (problem.contact_count(), problem.general_rows());
    let row = |part: &mut Part, r: usize| {
        let at = general.start + r;
        let diagonal = problem.a().own(problem.place(contacts + r))[0];
        part.add_row(problem.bounds_of(r), lambda[at], w[at], diagonal);
    };
    let counts = [contacts, general.len()];
    let mut out = sum_parts(counts, contact, row, &mut workspace.parts);
    out.natural_map = Some(natural_map(problem, lambda, w, problem.offset()));
    out
}

/// ‖r − P_K(r − û)‖/‖q‖ over the contacts, û = u + (μ‖u_T‖, 0, 0), K the cones ‖r_T‖ ≤ μ r_N (Acary & Brémond
/// 2018, "On solving contact problems with Coulomb friction", 3.1). ‖q‖ is left out where it is 0.
///
/// `w` is A Λ + b and `offset` is b (m/s), both of all rows. ρ = 1 depends on units: of problems with bodies it says
/// something where their masses are near 1 kg. The contacts are discs, of three rows each.
pub fn natural_map(problem: &impl Form, lambda: &[f64], w: &[f64], offset: &[f64]) -> f64 {
    let (mut squares, mut scale) = (0.0, 0.0);
    for c in 0..problem.contact_count() {
        let friction = problem.friction_of(c);
        let rows = problem.rows_of(c);
        let (x, w) = (&lambda[rows.clone()], &w[rows.clone()]);
        let shifted = w[0] + friction.mu[0] * w[1].hypot(w[2]);
        let mut to = [x[0] - shifted, x[1] - w[1], x[2] - w[2]];
        friction.law.project_cone(&mut to, friction.mu);
        squares += x
            .iter()
            .zip(&to)
            .map(|(x, to)| (x - to) * (x - to))
            .sum::<f64>();
        scale += offset[rows].iter().map(|q| q * q).sum::<f64>();
    }
    if scale > 0.0 {
        (squares / scale).sqrt()
    } else {
        squares.sqrt()
    }
}

/// All contacts and rows, in parallel, summed in a fixed order, so that the result is the same for every number of
/// threads.
fn sum_parts(
    [contacts, rows]: [usize; 2],
    contact: impl Fn(&mut Part, usize) + Sync,
    row: impl Fn(&mut Part, usize) + Sync,
    parts: &mut Vec<Part>,
) -> Residual {
    let first_rows = contacts.div_ceil(CHUNK);
    (0..first_rows + rows.div_ceil(CHUNK))
        .into_par_iter()
        .map(|unit| {
            let mut part = Part::default();
            if unit < first_rows {
                let all = unit * CHUNK..((unit + 1) * CHUNK).min(contacts);
                all.for_each(|c| contact(&mut part, c));
            } else {
                let begin = (unit - first_rows) * CHUNK;
                (begin..(begin + CHUNK).min(rows)).for_each(|r| row(&mut part, r));
            }
            part
        })
        .collect_into_vec(parts);
    let mut whole = Part::default();
    for part in parts {
        whole.merge(part);
    }
    let mut out = whole.residual;
    out.residual_rms = (whole.square_sum / whole.count.max(1) as f64).sqrt();
    out
}

/// The residual of every contact by itself: the larger one of its normal row's and its friction block's (m/s).
///
/// # Panics
/// If `lambda` is not as long as the problem has rows.
pub fn of_contacts(
    problem: &Problem,
    lambda: &[f64],
    law: JudgedLaw,
    workspace: &mut ResidualWorkspace,
) -> Vec<f32> {
    assert_eq!(lambda.len(), problem.row_count(), "one impulse per row");
    problem.velocities(lambda, &mut workspace.velocity);
    let u = &workspace.velocity;
    let of = |c: usize| {
        let mut part = Part::default();
        part.add_contact(problem, c, u, &lambda[problem.contacts.rows(c)], law);
        part.residual.residual as f32
    };
    let contacts = (0..problem.contacts.len()).into_par_iter();
    contacts.with_min_len(CHUNK).map(of).collect()
}

/// Rows that are judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// A contact.
    Contact(u32),
    /// A general row.
    Row(u32),
}

/// The residual of a block by itself, of the impulses that the workspace has evaluated last (m/s).
///
/// # Panics
/// If the workspace has evaluated another problem.
pub fn of_block(
    problem: &Problem,
    lambda: &[f64],
    block: Block,
    law: JudgedLaw,
    workspace: &ResidualWorkspace,
) -> f64 {
    let u = &workspace.velocity;
    let mut part = Part::default();
    match block {
        Block::Contact(c) => {
            let rows = problem.contacts.rows(c as usize);
            part.add_contact(problem, c as usize, u, &lambda[rows], law);
        }
        Block::Row(r) => {
            let r = r as usize;
            let x = lambda[problem.contact_rows() + r];
            let w = problem.row_velocity(r, u, x);
            part.add_row(problem.rows.bounds[r], x, w, problem.row_diagonal(r));
        }
    }
    part.residual.residual
}

/// The block with the largest residual, of equal ones the first, and that residual (m/s); none where there are no rows.
///
/// # Panics
/// If `lambda` is not as long as the problem has rows.
pub fn worst_block(
    problem: &Problem,
    lambda: &[f64],
    law: JudgedLaw,
    workspace: &mut ResidualWorkspace,
) -> Option<(Block, f64)> {
    assert_eq!(lambda.len(), problem.row_count(), "one impulse per row");
    problem.velocities(lambda, &mut workspace.velocity);
    let contacts = (0..problem.contacts.len() as u32)
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(Block::Contact);
    let rows = (0..problem.rows.len() as u32)
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(Block::Row);
    let workspace = &*workspace;
    let all = contacts.chain(rows);
    all.map(|block| (block, of_block(problem, lambda, block, law, workspace)))
        .reduce_with(|a, b| if b.1.total_cmp(&a.1).is_gt() { b } else { a })
}

/// The measures of some of the blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    residual: Residual,
    square_sum: f64,
    count: usize,
}

impl Part {
    fn merge(&mut self, other: &Part) {
        let (a, b) = (&mut self.residual, &other.residual);
        a.residual = max(a.residual, b.residual);
        a.penetration_velocity = max(a.penetration_velocity, b.penetration_velocity);
        a.complementarity = max(a.complementarity, b.complementarity);
        a.cone = max(a.cone, b.cone);
        a.sliding_direction = max(a.sliding_direction, b.sliding_direction);
        a.bilateral = max(a.bilateral, b.bilateral);
        a.gamma += b.gamma;
        self.square_sum += other.square_sum;
        self.count += other.count;
    }

    fn note(&mut self, error: f64) {
        self.residual.residual = max(self.residual.residual, error);
        self.square_sum += error * error;
        self.count += 1;
    }

    fn add_contact(
        &mut self,
        problem: &Problem,
        c: usize,
        u: &[Twist],
        block: &[f64],
        law: JudgedLaw,
    ) {
        let mut w = [0.0; FrictionLaw::MAX_ROWS];
        let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
        problem.contact_velocity(c, u, block, &mut w);
        problem.contact_diagonal(c, &mut diagonal);
        let friction = problem.contacts.friction[c];
        let rows = block.len();
        if law == JudgedLaw::Coulomb && friction.law.is_polyhedral() {
            // The same impulse, seen as a disc contact: tangential components only.
            let ([f1, f2], _) = friction.impulse(&block[1..]);
            let as_disc = [block[0], f1, f2];
            let (w, diagonal) = as_disc_contact(problem, c, u, &as_disc);
            let disc = Judged {
                friction: Friction {
                    law: FrictionLaw::Disc,
                    ..friction
                },
                by: JudgedLaw::Coulomb,
            };
            self.judge(disc, &as_disc, &w, &diagonal);
        } else {
            let own = Judged { friction, by: law };
            self.judge(own, block, &w[..rows], &diagonal[..rows]);
        }
    }

    fn judge(&mut self, judged: Judged, x: &[f64], w: &[f64], diagonal: &[f64]) {
        for error in add_contact(&mut self.residual, judged, x, w, diagonal) {
            self.note(error);
        }
    }

    /// A general row with the impulse x, the velocity w and its entry on the diagonal of A.
    fn add_row(&mut self, bounds: [f64; 2], x: f64, w: f64, diagonal: f64) {
        let [lo, hi] = bounds;
        // `max` and `min` would hide a NaN, `clamp` would panic on one in the bounds.
        let error = |rho: f64| {
            let moved = x - rho * w;
            if moved.is_nan() || lo.is_nan() || hi.is_nan() {
                f64::NAN
            } else {
                x - moved.max(lo).min(hi)
            }
        };
        let rho = 1.0 / diagonal;
        // Between immovable bodies nothing can be solved, and nothing is owed.
        self.note(if rho.is_infinite() {
            0.0
        } else {
            error(rho).abs() / rho
        });
        let out = &mut self.residual;
        out.cone = max(out.cone, max(lo - x, x - hi).max(0.0));
        out.gamma += 0.5 * error(POULSEN_R).powi(2);
        if bounds == [f64::NEG_INFINITY, f64::INFINITY] {
            out.bilateral = max(out.bilateral, w.abs());
        } else if lo == 0.0 && hi == f64::INFINITY {
            out.penetration_velocity = max(out.penetration_velocity, -w);
            out.complementarity = max(out.complementarity, (x * w.max(0.0)).abs());
        }
    }
}

/// `max` that keeps a NaN instead of hiding it.
fn max(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// max(x, 0), but NaN stays NaN.
fn positive_part(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x }
}

fn as_disc_contact(problem: &Problem, c: usize, u: &[Twist], x: &[f64; 3]) -> ([f64; 3], [f64; 3]) {
    let frame = &problem.contacts.frame[c];
    let [cn, ct] = problem.contacts.compliance[c];
    let bias = &problem.contacts.bias[c];
    let [i, j] = problem.contacts.bodies[c].map(|b| b as usize);
    let relative = u[j].at(frame.arms[1]) - u[i].at(frame.arms[0]);
    let axes = frame.axes();
    let compliance = [cn, ct, ct];
    let mut w = [0.0; 3];
    let mut diagonal = [0.0; 3];
    for k in 0..3 {
        w[k] = axes[k].dot(&relative) + compliance[k] * x[k] + bias[k];
        diagonal[k] = problem.contact_coupling(c, axes[k], axes[k]) + compliance[k];
    }
    (w, diagonal)
}

/// The set that a contact's friction is judged by.
#[derive(Clone, Copy)]
struct Judged {
    friction: Friction,
    by: JudgedLaw,
}

impl Judged {
    #[inline]
    fn project(self, friction: &mut [f64], normal: f64) {
        if self.by == JudgedLaw::Intervals {
            self.friction.project_rows(friction, normal);
        } else {
            self.friction.project(friction, normal);
        }
    }

    /// Λ ← prox(Λ), the whole contact.
    #[inline]
    fn prox(self, impulse: &mut [f64]) {
        if self.by == JudgedLaw::Relaxed {
            self.friction.law.project_cone(impulse, self.friction.mu);
        } else {
            impulse[0] = positive_part(impulse[0]);
            let normal = impulse[0];
            self.project(&mut impulse[1..], normal);
        }
    }

    /// How far a friction impulse is outside of its set (N s); 0 inside.
    fn violation(self, friction: &[f64], normal: f64) -> f64 {
        projection::distance(friction, |inside| self.project(inside, normal.max(0.0)))
    }
}

/// Adds one contact's shares and returns the errors of its normal row and its friction block.
fn add_contact(
    out: &mut Residual,
    judged: Judged,
    x: &[f64],
    w: &[f64],
    diagonal: &[f64],
) -> [f64; 2] {
    let moved = |rho_n: f64, rho_t: f64| {
        let mut next = [0.0; FrictionLaw::MAX_ROWS];
        let next = &mut next[..x.len()];
        next[0] = x[0] - rho_n * w[0];
        for (k, f) in next.iter_mut().enumerate().skip(1) {
            *f = x[k] - rho_t * w[k];
        }
        judged.prox(next);
        let squares = next[1..].iter().zip(&x[1..]);
        let difference: f64 = squares.map(|(a, b)| (a - b) * (a - b)).sum();
        ((x[0] - next[0]).abs(), difference)
    };
    let mut largest = diagonal[1..].iter().copied().fold(0.0, f64::max);
    let mut normal = diagonal[0];
    if judged.by == JudgedLaw::Relaxed {
        // The rows of a contact are one block.
        largest = largest.max(normal);
        normal = largest;
    }
    // Where no impulse moves anything, as between immovable bodies, nothing can be solved, and nothing is owed.
    let step = |diagonal: f64| if diagonal == 0.0 { 0.0 } else { 1.0 / diagonal };
    let owed = |change: f64, diagonal: f64| {
        if diagonal == 0.0 {
            0.0
        } else {
            change / (1.0 / diagonal)
        }
    };
    let (of_normal, of_friction) = moved(step(normal), step(largest));
    let errors = if judged.by == JudgedLaw::Relaxed {
        [
            owed((of_normal * of_normal + of_friction).sqrt(), normal),
            0.0,
        ]
    } else {
        [owed(of_normal, normal), owed(of_friction.sqrt(), largest)]
    };
    let (normal, friction) = moved(POULSEN_R, POULSEN_R);
    out.gamma += 0.5 * (normal * normal + friction);
    out.penetration_velocity = max(out.penetration_velocity, -w[0]);
    let power = if judged.by == JudgedLaw::Relaxed {
        x.iter().zip(w).map(|(x, w)| x * w).sum()
    } else {
        x[0] * w[0].max(0.0)
    };
    out.complementarity = max(out.complementarity, f64::abs(power));
    let outside = judged.violation(&x[1..], x[0]);
    out.cone = max(max(out.cone, outside), -x[0]);

    // Only a law with one disc has a direction to compare.
    if judged.friction.law.has_direction() && judged.by != JudgedLaw::Intervals {
        let slip = w[1].hypot(w[2]);
        let force = x[1].hypot(x[2]);
        let bound = judged.friction.mu[0] * x[0];
        if force > 0.0 && force >= bound * (1.0 - 1e-9) && slip > REST {
            let misfit = (x[1] / force + w[1] / slip).hypot(x[2] / force + w[2] / slip);
            out.sliding_direction = max(out.sliding_direction, misfit);
        }
    }
    errors
}

/// max |v − v*| + r|ω − ω*| over the bodies that impulses move, r their bounding radius in `reach`, 0 where it has none
/// (m/s).
pub fn velocity_distance(
    problem: &Problem,
    velocity: &[Twist],
    other: &[Twist],
    reach: &[f64],
) -> f64 {
    let bodies = &problem.bodies;
    let of = |k: usize| {
        let reach = reach.get(k).copied().unwrap_or(0.0);
        let linear = (velocity[k].linear - other[k].linear).norm();
        linear + reach * (velocity[k].angular - other[k].angular).norm()
    };
    let moved = (0..bodies.len()).filter(|k| bodies.is_dynamic(*k));
    moved.map(of).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{SymMat3, Vec3};
    use crate::problem::{ContactFrame, Friction, NewContact};

    const H: f64 = 0.01;
    const G: f64 = 9.81;

    /// A ball of 2 kg and radius 1 on the ground (body 0), moving with `v` before the step.
    fn ball_on_ground(law: FrictionLaw, mu: f64, v: Vec3) -> Problem {
        let mut p = Problem {
            h: H,
            ..Problem::default()
        };
        p.push_body(0.0, SymMat3::ZERO, Twist::ZERO);
        let i = 1.0 / (0.4 * 2.0);
        let free = Twist {
            linear: v - Vec3::y() * (G * H),
            angular: Vec3::zeros(),
        };
        p.push_body(0.5, SymMat3::diagonal(i, i, i), free);
        p.push_contact(NewContact {
            bodies: [0, 1],
            frame: ContactFrame {
                normal: Vec3::y(),
                tangent: Vec3::x(),
                arms: [Vec3::zeros(), -Vec3::y()],
            },
            friction: Friction {
                law,
                mu: [mu; 2],
                length: 0.1,
            },
            bias: [0.0; 5],
            compliance: [0.0; 2],
            gap: 0.0,
        });
        p.finish();
        p
    }

    fn of(p: &Problem, lambda: &[f64]) -> Residual {
        evaluate(p, lambda, JudgedLaw::Own, &mut ResidualWorkspace::default())
    }

    #[test]
    fn a_resting_ball_is_solved_by_its_weight() {
        let p = ball_on_ground(FrictionLaw::Disc, 0.5, Vec3::zeros());
        let r = of(&p, &[2.0 * G * H, 0.0, 0.0]);
        assert!(r.residual < 1e-15 && r.gamma < 1e-25, "{r:?}");
        // Without the impulse, the whole approach velocity g h is left over.
        let r = of(&p, &[0.0; 3]);
        assert!((r.residual - G * H).abs() < 1e-15);
        assert!((r.penetration_velocity - G * H).abs() < 1e-15);
        // γ = ½ (R g h)² here, since A has no part in prox(0 − R b).
        assert!((r.gamma - 0.5 * (100.0 * G * H).powi(2)).abs() < 1e-9);
        // Twice the weight leaves w = g h > 0 with Λ > 0.
        let r = of(&p, &[4.0 * G * H, 0.0, 0.0]);
        assert!((r.complementarity - 4.0 * G * H * G * H).abs() < 1e-12);
    }

    #[test]
    fn a_sliding_ball_carries_mu_times_the_weight_against_its_motion() {
        let p = ball_on_ground(FrictionLaw::Disc, 0.5, Vec3::new(3.0, 0.0, 0.0));
        // t₂ = n × t₁ = y × x = −z.
        let weight = 2.0 * G * H;
        let good = of(&p, &[weight, -0.5 * weight, 0.0]);
        assert!(
            good.residual < 1e-14 && good.sliding_direction < 1e-14,
            "{good:?}"
        );
        // The wrong direction: same cone, misfit √2.
        let turned = of(&p, &[weight, 0.0, 0.5 * weight]);
        assert!(
            (turned.sliding_direction - 2f64.sqrt()).abs() < 0.05,
            "{turned:?}"
        );
        assert!(turned.residual > 0.01);
        // Outside of the cone by half of the bound.
        let outside = of(&p, &[weight, -0.75 * weight, 0.0]);
        assert!((outside.cone - 0.25 * weight).abs() < 1e-15);
    }

    #[test]
    fn a_box_solution_is_judged_by_coulomb_too() {
        // Sliding along the diagonal, the box allows √2 times too much friction.
        let p = ball_on_ground(FrictionLaw::Box, 0.5, Vec3::new(3.0, 0.0, -3.0));
        let weight = 2.0 * G * H;
        let lambda = [weight, -0.5 * weight, -0.5 * weight];
        let mut workspace = ResidualWorkspace::default();
        let own = evaluate(&p, &lambda, JudgedLaw::Own, &mut workspace);
        let coulomb = evaluate(&p, &lambda, JudgedLaw::Coulomb, &mut workspace);
        assert!(own.residual < 1e-14);
        assert!((coulomb.cone - 0.5 * weight * (2f64.sqrt() - 1.0)).abs() < 1e-14);
    }

    #[test]
    fn bilateral_rows_with_compliance_balance() {
        // One body on an implicit spring to the world: (m + h²k) v = m v_free − h k φ.
        let (m, k, phi, v) = (2.0, 1000.0, 0.01, 0.3);
        let mut p = Problem {
            h: H,
            ..Problem::default()
        };
        let free = Twist {
            linear: Vec3::new(v, 0.0, 0.0),
            angular: Vec3::zeros(),
        };
        p.push_body(1.0 / m, SymMat3::diagonal(1.0, 1.0, 1.0), free);
        let j = Twist {
            linear: Vec3::x(),
            angular: Vec3::zeros(),
        };
        let c = 1.0 / (k * H * H);
        p.push_row(
            [(0, j)],
            [f64::NEG_INFINITY, f64::INFINITY],
            phi / H,
            c,
            phi,
        );
        p.finish();
        let after = (m * v - H * k * phi) / (m + H * H * k);
        let lambda = m * (after - v);
        let r = of(&p, &[lambda]);
        assert!(r.bilateral < 1e-14 && r.residual < 1e-14, "{r:?}");
        assert!((of(&p, &[0.0]).bilateral - (v + phi / H)).abs() < 1e-14);
    }

    #[test]
    fn bounded_rows_may_slip_at_their_bound() {
        let mut p = Problem {
            h: H,
            ..Problem::default()
        };
        let free = Twist {
            linear: Vec3::new(1.0, 0.0, 0.0),
            angular: Vec3::zeros(),
        };
        p.push_body(1.0, SymMat3::diagonal(1.0, 1.0, 1.0), free);
        let j = Twist {
            linear: Vec3::x(),
            angular: Vec3::zeros(),
        };
        p.push_row([(0, j)], [-0.2, 0.2], 0.0, 0.0, 0.0);
        p.finish();
        assert!(of(&p, &[-0.2]).residual < 1e-15);
        assert!(
            (of(&p, &[0.0]).residual - 0.2).abs() < 1e-15,
            "clamped at the bound"
        );
        assert!((of(&p, &[-0.3]).cone - 0.1).abs() < 1e-15);
    }

    #[test]
    fn nan_is_never_hidden() {
        let p = ball_on_ground(FrictionLaw::Disc, 0.5, Vec3::zeros());
        for law in FrictionLaw::all() {
            let mut p = ball_on_ground(law, 0.5, Vec3::zeros());
            for bad in [f64::NAN, f64::INFINITY] {
                let mut lambda = vec![0.0; law.row_count()];
                lambda[0] = bad;
                let residual = of(&p, &lambda).residual;
                assert!(!residual.is_finite(), "{law:?}, {bad}: {residual}");
            }
            p.contacts.bias[0][0] = f64::NAN;
            assert!(
                of(&p, &vec![0.0; law.row_count()]).residual.is_nan(),
                "{law:?}"
            );
        }
        let mut p = p;
        let j = Twist {
            linear: Vec3::x(),
            angular: Vec3::zeros(),
        };
        p.push_row([(1, j)], [f64::NAN, 1.0], 0.0, 0.0, 0.0);
        p.finish();
        assert!(of(&p, &[0.0; 4]).residual.is_nan());
    }
}
