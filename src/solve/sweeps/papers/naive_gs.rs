//! `naive-gs`: the blocks of an island are split evenly into parts without regard for what they share.
//! Each part is swept by Gauss–Seidel on its own copies of the bodies that it touches, all parts in
//! parallel; between iterations u = u_free + M⁻¹ Jᵀ Λ is put together again, in a fixed order.
//!
//! Parts that push the same body answer the same velocity, each as if it were alone. Two of them
//! overshoot by up to a factor of two, and stacks diverge. By default a block is therefore relaxed by
//! the number of parts that share one of its bodies, ω = 1/parts: what several parts do to a body is
//! then a mean, and inner blocks keep ω = 1. With `local` R-factors divergence is left to the roll back.

use rayon::prelude::*;

use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::islands::Grouped;
use crate::solve::sweeps::block::{Change, PackedBody, Sweep};
use crate::solve::sweeps::by_island::{Slices, split};
use crate::solve::sweeps::monitor::{Monitor, State, make_room, relative};
use crate::solve::sweeps::pack::{Block, NO_BODY, Packed, append_set};
use crate::solve::sweeps::parameters::{ALPHA, BLOCK, Packing, RFactors, r_factors};
use crate::solve::sweeps::sweep;
use crate::solve::sweeps::{ProxIteration, solver};
use crate::solve::{Budget, Parameter, ParameterKind, Parameters, SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "naive-gs",
    summary: "Gauss–Seidel in parts that ignore each other within an iteration; parallel",
    source: "Poulsen 2010, 3.7 and 6",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[
        Parameter {
            name: "parts",
            unit: "-",
            summary: "parts of an island; those of small islands are fewer",
            source: "Poulsen 2010, 6",
            kind: ParameterKind::Integer {
                default: 4,
                range: [1, 1024],
            },
        },
        r_factors(
            "degree",
            "local: R = α/A_ii, and divergence left to the roll back, as in the thesis. uniform: that of the largest A_ii of \
             each part. global: R = 2α/(λ_min + λ_max) of each part's own block of A. degree: local, and Λ ← (1 − ω)Λ + ω Λ_local with ω = 1/(parts that share a body of the block)",
        ),
        BLOCK,
        ALPHA,
    ],
    make: |parameters| solver(&INFO, NaiveGs::new(parameters)),
};

/// Fewest blocks of a part: islands of less than two such parts are swept as one.
const SMALLEST: usize = 16;
/// Bodies per unit of parallel work.
const BODIES: usize = 512;

/// The solver.
#[derive(Default)]
pub struct NaiveGs {
    packing: Packing,
    parts: usize,
    split: Split,
    /// Packed by parts: a part is what an island is elsewhere.
    packed: Packed,
    bodies: Vec<PackedBody>,
    lambda: Vec<f64>,
    checkpoint: Vec<f64>,
    mark: Vec<f64>,
    /// One per island.
    monitors: Vec<Monitor>,
    /// Its copy for every part.
    watched: Vec<Monitor>,
    changes: Vec<Change>,
    /// u of every body of the problem.
    velocity: Vec<Twist>,
}

/// Which part has what.
#[derive(Default)]
struct Split {
    bodies: Grouped,
    contacts: Grouped,
    rows: Grouped,
    /// First part of each island, and one past the last.
    island_start: Vec<usize>,
    /// Where the copies of every body of the problem are packed, in the order of parts.
    copies: Grouped,
}

impl Split {
    fn find(&mut self, problem: &Problem, parts: usize) {
        for grouped in [&mut self.bodies, &mut self.contacts, &mut self.rows] {
            grouped.start.clear();
            grouped.start.push(0);
            grouped.items.clear();
        }
        self.island_start.clear();
        self.island_start.push(0);
        let mut count = 0;
        for island in 0..problem.islands.len() {
            let contacts = problem.islands.contacts.of(island);
            let rows = problem.islands.rows.of(island);
            let parts = parts.min((contacts.len() + rows.len()) / SMALLEST).max(1);
            for part in 0..parts {
                self.add_part(
                    problem,
                    share(contacts, part, parts),
                    share(rows, part, parts),
                );
            }
            count += parts;
            self.island_start.push(count);
        }
    }

    fn add_part(&mut self, problem: &Problem, contacts: &[u32], rows: &[u32]) {
        let of_contacts = contacts
            .iter()
            .map(|c| &problem.contacts.bodies[*c as usize][..]);
        let of_rows = rows.iter().map(|r| problem.rows.bodies(*r as usize));
        let bodies = of_contacts.chain(of_rows).flatten().copied();
        let dynamic = bodies.filter(|b| problem.bodies.is_dynamic(*b as usize));
        append_set(&mut self.bodies.items, dynamic);
        self.contacts.items.extend_from_slice(contacts);
        self.rows.items.extend_from_slice(rows);
        for grouped in [&mut self.bodies, &mut self.contacts, &mut self.rows] {
            grouped.start.push(grouped.items.len() as u32);
        }
    }
}

/// Part `part` of `parts` equal ones.
fn share(of: &[u32], part: usize, parts: usize) -> &[u32] {
    &of[of.len() * part / parts..of.len() * (part + 1) / parts]
}

impl NaiveGs {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            packing: Packing::new(parameters),
            parts: parameters.integer("parts") as usize,
            ..Self::default()
        }
    }

    /// ω = 1/(parts that share a body of the block).
    fn use_shares(&mut self) {
        let (packed, split) = (&self.packed, &self.split);
        let [mut contacts, mut rows] = [Vec::new(), Vec::new()];
        for part in 0..packed.islands() {
            let first = packed.body_start[part];
            let parts_on = |body: u32| match packed.body_index[(first + body) as usize] {
                NO_BODY => 1,
                body => split.copies.of(body as usize).len(),
            };
            for block in packed.sequence(part) {
                let most = packed.bodies(block).map(parts_on).max();
                let omega = 1.0 / most.unwrap_or(1).max(1) as f64;
                match block {
                    Block::Contact(_) => contacts.push(omega),
                    Block::Row(_) => rows.push(omega),
                }
            }
        }
        self.packed.omega = [contacts, rows];
    }

    /// Runs `work` on every part whose island still runs, in parallel.
    fn each_part(&mut self, work: &(impl Fn(&Packed, usize, Slices<Change>) + Sync)) {
        let slices = Slices {
            bodies: &mut self.bodies,
            lambda: &mut self.lambda,
            checkpoint: &mut self.checkpoint,
            mark: &mut self.mark,
            monitors: &mut self.watched,
            states: &mut self.changes,
        };
        split(
            &self.packed,
            0..self.packed.islands(),
            slices,
            &|packed, part, s| {
                if s.monitors[0].state == State::Running {
                    work(packed, part, s);
                }
            },
        );
    }

    fn watch(&mut self) {
        self.watched.clear();
        for (island, monitor) in self.monitors.iter().enumerate() {
            let parts = self.split.island_start[island + 1] - self.split.island_start[island];
            self.watched.extend(std::iter::repeat_n(*monitor, parts));
        }
    }

    /// The impulses of an island: its parts stand side by side.
    fn impulses(&self, island: usize) -> std::ops::Range<usize> {
        let [first, end] = [island, island + 1].map(|i| self.split.island_start[i]);
        self.packed.lambda_start[first] as usize..self.packed.lambda_start[end] as usize
    }

    /// u = u_free + M⁻¹ Jᵀ Λ: every part adds up its own impulses, every body its parts.
    fn exchange(&mut self) {
        self.each_part(&|packed, part, s| {
            for body in s.bodies.iter_mut() {
                body.velocity = Twist::ZERO;
            }
            packed.accumulate(part, s.lambda, s.bodies);
        });
        let (packed, split, bodies) = (&self.packed, &self.split, &self.bodies);
        self.velocity
            .par_iter_mut()
            .with_min_len(BODIES)
            .enumerate()
            .for_each(|(body, velocity)| {
                let copies = split.copies.of(body);
                *velocity = copies
                    .first()
                    .map_or(Twist::ZERO, |copy| packed.free[*copy as usize]);
                for copy in copies {
                    let push = &bodies[*copy as usize].velocity;
                    velocity.linear += push.linear;
                    velocity.angular += push.angular;
                }
            });
        let velocity = std::mem::take(&mut self.velocity);
        self.each_part(&|packed, part, s| {
            for (k, body) in s.bodies.iter_mut().enumerate() {
                let at = packed.body_start[part] as usize + k;
                if packed.body_index[at] != NO_BODY {
                    body.velocity = velocity[packed.body_index[at] as usize];
                }
            }
        });
        self.velocity = velocity;
    }

    /// Decides for every island, and rolls back those that diverge.
    fn observe(&mut self, budget: &Budget) {
        for island in 0..self.monitors.len() {
            if self.monitors[island].state != State::Running {
                continue;
            }
            let mut change = Change::default();
            for part in self.split.island_start[island]..self.split.island_start[island + 1] {
                change.merge(&self.changes[part]);
            }
            let span = self.impulses(island);
            let (lambda, checkpoint) = (&mut self.lambda, &mut self.checkpoint);
            self.monitors[island].decide(
                change,
                budget,
                &mut lambda[span.clone()],
                &mut checkpoint[span.clone()],
                &mut self.mark[span],
            );
        }
    }
}

impl ProxIteration for NaiveGs {
    fn prepare(&mut self, problem: &Problem, lambda: &[f64], _: &mut Vec<Twist>) {
        self.split.find(problem, self.parts);
        let Split {
            bodies,
            contacts,
            rows,
            ..
        } = &self.split;
        self.packed
            .pack_groups(problem, [bodies, contacts, rows], self.packing.alpha);
        self.packing.apply(problem, &mut self.packed);
        let (copies, index) = (&mut self.split.copies, &self.packed.body_index);
        copies.fill_by_key(problem.bodies.len(), index);
        if self.packing.r_factors == RFactors::Degree {
            self.use_shares();
        }
        self.packed.load(problem, lambda, &mut self.lambda);
        self.checkpoint.clone_from(&self.lambda);
        make_room(&mut self.mark, self.lambda.len());
        self.bodies.clone_from(&self.packed.template);
        self.velocity.resize(problem.bodies.len(), Twist::ZERO);
        self.monitors.clear();
        self.monitors
            .resize(problem.islands.len(), Monitor::default());
        self.changes
            .resize(self.packed.islands(), Change::default());
        self.watch();
        self.exchange();
    }

    fn iterate(&mut self, _problem: &Problem, budget: &Budget) {
        let relative = relative(budget);
        self.each_part(&|packed, part, s| {
            let sweep = Sweep {
                scale: s.monitors[0].scale,
                relative,
                omega: 1.0,
                coupled: true,
            };
            s.states[0] = Change::default();
            sweep::factorized(packed, part, s.bodies, s.lambda, &sweep, &mut s.states[0]);
        });
        self.observe(budget);
        self.watch();
        self.exchange();
    }

    fn is_finite(&self) -> bool {
        self.packed.is_finite()
    }

    fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    fn return_to_checkpoints(&mut self) {
        for island in 0..self.monitors.len() {
            if self.monitors[island].is_worse_than_checkpoint() {
                let span = self.impulses(island);
                self.lambda[span.clone()].copy_from_slice(&self.checkpoint[span]);
            }
        }
    }

    fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        self.packed.store(problem, &self.lambda, lambda);
    }
}
