//! What the next step starts from.
//!
//! A step finds Λ = Λ⁰ + δ from the impulses Λ⁰ that it starts from. Both hold the bodies against their forces, and δ
//! also stops what was left of their motion, which the next step need not do again. Bodies at rest that Λ⁰ left to move by
//! a = u⁰ − u_S, for n steps, have u_S = n a, so that δ brings about −(n + 1) a, of which the next step wants −a. It starts
//! from Λ⁰ + θ δ, which would lead it from u_E to u_E + a + θ d, d = M⁻¹ Jᵀ δ, with the θ of [0, 1] for which that is
//! least: the least ½ ‖u_E + a + θ d‖²_M. (Without u_E, sweeps that end above zero let a stack of ten cubes creep.)
//!
//! This holds where the step was solved and d is less than the tolerance (m/s, root of the mean square by mass), so that
//! nothing else has happened, and is for islands of redundant contacts, where solutions take time: `auto` then solves the
//! pyramid of 20 layers with 0.5 iterations a step in the place of 1.7, and a wall of 410 bricks with 0.8 in the place of
//! 1.6. A house of cards, whose contacts are not redundant, would shake above 1e-6 J after ten seconds; and sweeps that are
//! far from a solution let a stack of ten cubes move by 20 mm in a minute of four substeps of 12, in the place of 2.5 mm.

use rayon::prelude::*;

use crate::math::Twist;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::newton;

/// Finds it. Keeps its memory.
#[derive(Default)]
pub struct Ahead {
    /// Number of each body within its island.
    local: Vec<u32>,
    /// Λ⁰ + θ δ (N s), and whether it was looked for and differs from Λ.
    start: Vec<f64>,
    is_other: bool,
}

/// How a step went.
#[derive(Clone, Copy)]
pub struct Passed<'a, 'u> {
    /// Λ⁰ and Λ (N s).
    pub impulses: [&'a [f64]; 2],
    /// u_S and u_E.
    pub velocities: [&'u [Twist]; 2],
    /// The solver's (m/s).
    pub tolerance: f64,
}

impl Ahead {
    /// Looks for the impulses to start from after a step that was solved; after another one they are its own.
    pub fn find(&mut self, problem: &Problem, passed: Option<Passed<'_, '_>>) {
        let passed = passed.filter(|passed| passed.impulses[0] != passed.impulses[1]);
        self.is_other = passed.is_some();
        let Some(passed) = &passed else { return };
        let [before, lambda] = passed.impulses;
        problem.islands.number_within(&mut self.local);
        let (islands, local) = (&problem.islands, &self.local);
        let shares: Vec<f64> = (0..islands.len())
            .into_par_iter()
            .map_init(Vec::new, |momentum, island| {
                share(problem, island, passed, local, momentum)
            })
            .collect();
        self.start.clear();
        self.start.extend_from_slice(lambda);
        let first = problem.contact_rows();
        for (island, theta) in shares.iter().enumerate().filter(|(_, theta)| **theta < 1.0) {
            let mut mix = |row: usize| {
                self.start[row] = before[row] + theta * (lambda[row] - before[row]);
            };
            let contacts = islands.contacts.of(island).iter();
            contacts.for_each(|c| problem.contacts.rows(*c as usize).for_each(&mut mix));
            let rows = islands.rows.of(island).iter();
            rows.for_each(|r| mix(first + *r as usize));
        }
    }

    /// The impulses that were found, after a step that has found `lambda` (N s).
    pub fn start<'a>(&'a self, lambda: &'a [f64]) -> &'a [f64] {
        if self.is_other { &self.start } else { lambda }
    }
}

/// θ of an island; 1 where its impulses are to stay as they are.
fn share(
    problem: &Problem,
    island: usize,
    passed: &Passed,
    local: &[u32],
    momentum: &mut Vec<Twist>,
) -> f64 {
    let islands = &problem.islands;
    let contacts = || islands.contacts.of(island).iter().map(|c| *c as usize);
    let rows = || islands.rows.of(island).iter().map(|r| *r as usize);
    let first = problem.contact_rows();
    let [before, lambda] = passed.impulses;
    if !newton::is_redundant(problem, island) {
        return 1.0;
    }
    // The impulses of springs say how far these are bent.
    let is_soft = contacts().any(|c| problem.contacts.compliance[c] != [0.0; 2])
        || rows().any(|r| problem.rows.compliance[r] != 0.0);
    let is_as_before = |rows: std::ops::Range<usize>| before[rows.clone()] == lambda[rows];
    if is_soft
        || contacts().all(|c| is_as_before(problem.contacts.rows(c)))
            && rows().all(|r| is_as_before(first + r..first + r + 1))
    {
        return 1.0;
    }
    // Jᵀ δ.
    momentum.clear();
    momentum.resize(islands.bodies.of(island).len(), Twist::ZERO);
    let moves = |b: &usize| problem.bodies.is_dynamic(*b);
    for c in contacts() {
        let mut delta = [0.0; FrictionLaw::MAX_ROWS];
        let range = problem.contacts.rows(c);
        let size = range.len();
        for (delta, row) in delta.iter_mut().zip(range) {
            *delta = lambda[row] - before[row];
        }
        let impulse = problem.contact_impulse(c, &delta[..size]);
        let pair = problem.contacts.bodies[c].map(|b| b as usize);
        for (side, b) in pair.into_iter().enumerate().filter(|(_, b)| moves(b)) {
            let momentum = &mut momentum[local[b] as usize];
            problem.add_contact_momentum(c, side, &impulse, momentum);
        }
    }
    for r in rows() {
        let delta = lambda[first + r] - before[first + r];
        for (b, jacobian) in problem.rows.entries(r).filter(|(b, _)| moves(b)) {
            let momentum = &mut momentum[local[b] as usize];
            momentum.linear += jacobian.linear * delta;
            momentum.angular += jacobian.angular * delta;
        }
    }
    let (mut square, mut along, mut mass) = (0.0, 0.0, 0.0);
    let [from, to] = passed.velocities;
    for (b, p) in islands.bodies.of(island).iter().zip(momentum) {
        let b = *b as usize;
        let d = problem.velocity_after(b, p) - problem.bodies.free_velocity[b];
        let start = to[b] - d;
        let next = to[b] + (start - from[b]);
        square += d.linear.dot(&p.linear) + d.angular.dot(&p.angular);
        along += next.linear.dot(&p.linear) + next.angular.dot(&p.angular);
        mass += 1.0 / problem.bodies.inverse_mass[b];
    }
    if square > 0.0 && square <= passed.tolerance.powi(2) * mass {
        (-along / square).clamp(0.0, 1.0)
    } else {
        1.0
    }
}
