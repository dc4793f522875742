//! What a solver leaves unfinished adds no energy.

use super::closing::{Closing, Joints, tolerance};
use super::laws::RowKind;
use super::rounds::Iterate;
use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::{Budget, Over, SolveReport};
use crate::world::World;

impl Joints {
    /// Shortens the impulses of islands that a solver has left above its tolerance, or rounds as no step leaves them that resolves
    /// how they turn, and with them what they do to velocities, until these gain no more energy than motors, springs and what
    /// moves by itself give: impulses that do not hold together may give any.
    pub fn keep_passive(
        &self,
        world: &World,
        at: &mut Iterate<'_>,
        budget: &Budget,
        closing: Closing,
        report: &mut SolveReport,
    ) {
        let tolerance = tolerance(budget);
        let mut shortened = 0;
        for (k, (island, _)) in self.bodies.islands.iter().enumerate() {
            let mut bodies = at.problem.islands.bodies.of(*island).iter();
            let is_wild = match closing {
                Closing::Unresolved => true,
                Closing::Gaining => bodies.any(|slot| self.are_open[*slot as usize]),
                Closing::Closed | Closing::Rough => false,
            };
            if is_wild || at.is_rough(report, *island, tolerance) {
                let share = self.passive_share(world, at, k);
                if share < 1.0 {
                    self.shorten(at, k, share);
                    shortened += 1;
                }
            }
        }
        report.note(
            "shortened islands",
            "Machines that are left unsolved, and whose impulses would have given them energy.",
            "-",
            Over::Sum,
            f64::from(shortened),
        );
    }

    /// The largest share of the impulses of an island, as `HeldBodies` numbers it, that gives no more energy than it may.
    fn passive_share(&self, world: &World, at: &Iterate<'_>, k: usize) -> f64 {
        let given = self.given(world, at, self.bodies.islands[k].0);
        // Energy gained by a share s: s a + s² c/2.
        let (mut a, mut c) = (0.0, 0.0);
        self.visit_free(at.problem, k, |slot, free| {
            let change = at.velocity[slot] - free;
            let b = &world.bodies;
            let spin = b.inertia[slot].rotated(&b.rotation[slot]);
            let momentum = Twist::new(
                change.linear / at.problem.bodies.inverse_mass[slot],
                spin.mul_vec(change.angular),
            );
            let begin = free + b.velocity[slot];
            a += 0.5 * dot(&momentum, &begin);
            c += dot(&momentum, &change);
        });
        match a + 0.5 * c > given {
            true => (2.0 * (given - a) / c).max(0.0),
            false => 1.0,
        }
    }

    /// What motors, springs and bodies that impulses do not move give an island (J).
    fn given(&self, world: &World, at: &Iterate<'_>, island: usize) -> f64 {
        let (problem, lambda) = (&*at.problem, at.lambda.as_slice());
        let mean = |slot: usize| {
            let sum = world.bodies.velocity[slot] + at.velocity[slot];
            Twist::new(sum.linear * 0.5, sum.angular * 0.5)
        };
        let mut given = 0.0;
        for c in problem.islands.contacts.of(island) {
            let c = *c as usize;
            let impulse = problem.contact_impulse(c, &lambda[problem.contacts.rows(c)]);
            for (side, body) in problem.contacts.bodies[c].into_iter().enumerate() {
                let body = body as usize;
                if !problem.bodies.is_dynamic(body) {
                    let mut momentum = Twist::ZERO;
                    problem.add_contact_momentum(c, side, &impulse, &mut momentum);
                    given += (-dot(&momentum, &mean(body))).max(0.0);
                }
            }
        }
        let first = problem.contact_rows();
        let directions = self.directions(problem);
        for r in problem.islands.rows.of(island) {
            let r = *r as usize;
            let x = lambda[first + r];
            let is_driven = matches!(
                self.kind(problem, r, x),
                RowKind::Motor | RowKind::Spring { .. }
            );
            let mut work = 0.0;
            for (body, j) in problem.rows.entries_along(r, directions) {
                let each = x * dot(j, &mean(body));
                work += match (problem.bodies.is_dynamic(body), is_driven) {
                    (true, true) => each,
                    (false, false) => -each,
                    _ => 0.0,
                };
            }
            given += work.max(0.0);
        }
        given
    }

    fn shorten(&self, at: &mut Iterate<'_>, k: usize, share: f64) {
        let problem = &*at.problem;
        let velocity = &mut *at.velocity;
        self.visit_free(problem, k, |slot, free| {
            let change = velocity[slot] - free;
            let part = Twist::new(change.linear * share, change.angular * share);
            velocity[slot] = free + part;
        });
        let island = self.bodies.islands[k].0;
        for c in problem.islands.contacts.of(island) {
            let block = &mut at.lambda[problem.contacts.rows(*c as usize)];
            block.iter_mut().for_each(|x| *x *= share);
        }
        for r in problem.islands.rows.of(island) {
            at.lambda[problem.contact_rows() + *r as usize] *= share;
        }
    }

    /// The bodies of an island that impulses move, each with its velocity without them.
    fn visit_free(&self, problem: &Problem, k: usize, mut visit: impl FnMut(usize, Twist)) {
        let (island, held) = &self.bodies.islands[k];
        for held in self.bodies.of(held) {
            visit(held.slot, held.without_impulses());
        }
        for slot in problem.islands.bodies.of(*island) {
            let slot = *slot as usize;
            if !self.bodies.holds(slot) {
                visit(slot, problem.bodies.free_velocity[slot]);
            }
        }
    }
}

fn dot(a: &Twist, b: &Twist) -> f64 {
    a.linear.dot(&b.linear) + a.angular.dot(&b.angular)
}
