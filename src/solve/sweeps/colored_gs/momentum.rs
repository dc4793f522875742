//! u = u_free + M⁻¹ Jᵀ Λ in the order of the colours.

use rayon::prelude::*;

use super::CHUNK;
use super::layout::{EMPTY, Layout, WorkBlock};
use super::shared::Shared;
use crate::math::Twist;
use crate::problem::{Problem, make_room};

/// u = u_free + M⁻¹ Jᵀ Λ, colour by colour, so that it is the same for every number of threads.
pub fn velocities(problem: &Problem, layout: &Layout, lambda: &[f64], u: &mut Vec<Twist>) {
    u.clear();
    make_room(u, problem.bodies.len());
    if lambda.iter().all(|x| *x == 0.0) {
        u.extend_from_slice(&problem.bodies.free_velocity);
        return;
    }
    u.resize(problem.bodies.len(), Twist::ZERO);
    let momentum = Momentum {
        problem,
        layout,
        lambda,
        target: Shared::new(u),
    };
    let work = |_, block| {
        // SAFETY: work blocks that run at the same time share no body that moves.
        unsafe { momentum.add_block(&layout.work[block]) };
    };
    layout.each_block(|_| true, work);
    for batch in &layout.batches {
        // SAFETY: nothing else runs.
        unsafe { momentum.add_scalar(batch.unsafe_edges.range()) };
    }
    u.par_iter_mut()
        .with_min_len(CHUNK)
        .enumerate()
        .for_each(|(b, u)| *u = problem.velocity_after(b, u));
}

/// Jᵀ Λ, summed into the bodies' momenta.
struct Momentum<'a> {
    problem: &'a Problem,
    layout: &'a Layout,
    lambda: &'a [f64],
    target: Shared<Twist>,
}

impl Momentum<'_> {
    /// # Safety
    /// Nobody else adds to the same bodies that move meanwhile.
    unsafe fn add_block(&self, block: &WorkBlock) {
        for manifold in &self.layout.manifolds[block.manifolds.range()] {
            for point in &self.layout.points[manifold.points.range()] {
                for c in point.iter().filter(|c| **c != EMPTY) {
                    // SAFETY: the caller's promise.
                    unsafe { self.add_contact(*c as usize) };
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.add_scalar(block.scalar.range()) };
    }

    /// # Safety
    /// As [`Momentum::add_block`].
    unsafe fn add_scalar(&self, edges: std::ops::Range<usize>) {
        let rows = &self.problem.rows;
        let first = self.problem.contact_rows();
        for edge in &self.layout.scalar[edges] {
            let edge = &self.layout.edges.members[*edge as usize];
            for k in edge.span.range() {
                if !edge.are_rows {
                    // SAFETY: the caller's promise.
                    unsafe { self.add_contact(k) };
                    continue;
                }
                for (b, jacobian) in rows.entries(k) {
                    if self.problem.bodies.is_dynamic(b) {
                        // SAFETY: the caller's promise.
                        let momentum = unsafe { self.target.get(b) };
                        momentum.linear += jacobian.linear * self.lambda[first + k];
                        momentum.angular += jacobian.angular * self.lambda[first + k];
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`Momentum::add_block`].
    #[inline]
    unsafe fn add_contact(&self, c: usize) {
        let problem = self.problem;
        let block = &self.lambda[problem.contacts.rows(c)];
        if block.iter().all(|x| *x == 0.0) {
            return;
        }
        let impulse = problem.contact_impulse(c, block);
        for side in 0..2 {
            let b = problem.contacts.bodies[c][side] as usize;
            if problem.bodies.is_dynamic(b) {
                // SAFETY: the caller's promise.
                let momentum = unsafe { self.target.get(b) };
                problem.add_contact_momentum(c, side, &impulse, momentum);
            }
        }
    }
}
