//! `jacobi`: JOR Prox, parallel over blocks and, where A is not stored, then over bodies.
//!
//! Every block sees the impulses of the last iteration. The bodies then sum their impulses in a
//! fixed order, so that the result is the same for every number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::block::{Change, PackedBody, PackedContact, Span, Sweep};
use super::form::Packs;
use super::matrix::Matrix;
use super::monitor::{Monitor, State, Verdict, make_room, relative};
use super::pack::Packed;
use super::parameters::{BLOCK, Packing, SCHEME, Scheme, SchemeChoice, r_factors_by_degree};
use super::{ProxIteration, alpha, return_to_checkpoints, solver_of_any_form};
use crate::math::Twist;
use crate::problem::islands::Grouped;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::{Budget, Parameters, SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "jacobi",
    summary: "JOR Prox: every contact sees the impulses of the last iteration; parallel",
    source: "Poulsen 2010, 3.4 and 6.1; Nützi 2011, 4.40 and 6.2",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[
        SCHEME,
        r_factors_by_degree("degree"),
        BLOCK,
        alpha(
            1.0,
            "factor on the R-factors; with local ones, contacts of many neighbours need about 0.35",
        ),
    ],
    make: |parameters| solver_of_any_form(&INFO, Jacobi::new(parameters)),
};

/// Blocks per work block.
const BLOCKS: usize = 512;
/// Bodies per work block.
const BODIES: usize = 256;

/// A run of blocks of one island.
#[derive(Clone, Copy, Debug, Default)]
struct WorkBlock {
    island: u32,
    color: u32,
    /// Contacts, or rows, from here to there.
    span: Span,
    rows: bool,
    /// Its impulses in Λ.
    impulses: Span,
}

/// A block that acts on a body.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    /// Contact `k`, or general row `k` with the top bit set.
    block: u32,
    /// Which body of the contact; which entry of the row.
    side: u32,
}

const ROW: u32 = 1 << 31;

/// The solver.
#[derive(Default)]
pub struct Jacobi {
    packing: Packing,
    choice: SchemeChoice,
    scheme: Scheme,
    matrix: Matrix,
    packed: Packed,
    bodies: Vec<PackedBody>,
    lambda: Vec<f64>,
    /// Λ of the last iteration, where w = A Λ + b is read while Λ is written.
    before: Vec<f64>,
    /// The colour that reads Λ as it was before all colours of an iteration, where there is one.
    late: Option<u32>,
    /// That Λ.
    last: Vec<f64>,
    checkpoint: Vec<f64>,
    mark: Vec<f64>,
    monitors: Vec<Monitor>,
    work: Vec<WorkBlock>,
    changes: Vec<Change>,
    /// The change of each island.
    sums: Vec<Change>,
    /// Runs of work blocks that do not see each other's impulses of an iteration, one after the other: all of them
    /// are one run, unless they are coloured.
    colors: Vec<Range<usize>>,
    /// Whether friction rows see the change of their normal row at once.
    coupled: bool,
    /// What touches each packed body, in the order of blocks. Dummies gather nothing.
    touches: Grouped<Touch>,
    island_of_body: Vec<u32>,
}

impl Jacobi {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            packing: Packing::new(parameters),
            choice: SchemeChoice::new(parameters),
            ..Self::default()
        }
    }

    /// One whose blocks have colours, and see the impulses of the colours before theirs: no longer Jacobi, but
    /// Gauss–Seidel.
    pub fn colored(packing: Packing, choice: SchemeChoice) -> Self {
        Self {
            packing,
            choice,
            coupled: true,
            ..Self::default()
        }
    }

    /// Work blocks of contacts, and of rows, that follow each other in an island and have the same colour.
    fn find_work(&mut self, [of_contacts, of_rows]: [&[u32]; 2]) {
        self.work.clear();
        self.island_of_body.clear();
        let packed = &self.packed;
        for island in 0..packed.islands() {
            let bodies = packed.body_start[island + 1] - packed.body_start[island];
            self.island_of_body
                .extend(std::iter::repeat_n(island as u32, bodies as usize));
            let parts = [
                (false, packed.contacts_of(island), of_contacts),
                (true, packed.rows_of(island), of_rows),
            ];
            for (rows, all, colors) in parts {
                let first = all.start;
                let color_of = |k: usize| colors.get(k).copied().unwrap_or(0);
                let mut begin = first;
                while begin < all.end {
                    let color = color_of(begin);
                    let mut run = (begin..all.end).take(BLOCKS);
                    let end = run.find(|k| color_of(*k) != color);
                    let end = end.unwrap_or((begin + BLOCKS).min(all.end));
                    let within = if rows {
                        let offset = packed.first_row(island);
                        offset + begin - first..offset + end - first
                    } else {
                        packed.block(island, begin).start..packed.block(island, end - 1).end
                    };
                    let base = packed.lambda_start[island] as usize;
                    self.work.push(WorkBlock {
                        island: island as u32,
                        color,
                        span: Span::new(begin, end),
                        rows,
                        impulses: Span::new(base + within.start, base + within.end),
                    });
                    begin = end;
                }
            }
        }
        self.work.sort_by_key(|work| work.color);
        self.colors.clear();
        let mut at = 0;
        for run in self.work.chunk_by(|a, b| a.color == b.color) {
            self.colors.push(at..at + run.len());
            at += run.len();
        }
        self.changes.resize(self.work.len(), Change::default());
        self.sums.resize(packed.islands(), Change::default());
    }

    /// Begins with A, or T, stored, in the order of `groups` of bodies, contacts and rows, each with its colour and its ω.
    pub fn prepare_in_order(
        &mut self,
        problem: &Problem,
        scheme: Scheme,
        groups: [&Grouped; 3],
        sources: [&[u32]; 2],
        lambda: &[f64],
    ) {
        self.packed.pack_groups(problem, groups, self.packing.alpha);
        self.packing.apply(problem, &mut self.packed);
        self.scheme = scheme;
        self.matrix
            .refill_in_order(problem, &self.packed, scheme, sources);
        self.start(problem, lambda);
    }

    /// What every start from Λ⁰ needs.
    fn start(&mut self, problem: &impl Packs, lambda: &[f64]) {
        self.packed.load(problem, lambda, &mut self.lambda);
        self.before.clone_from(&self.lambda);
        self.checkpoint.clone_from(&self.lambda);
        make_room(&mut self.mark, self.lambda.len());
        self.monitors.clear();
        self.monitors
            .resize(self.packed.islands(), Monitor::default());
    }

    /// Relaxes packed contacts and rows, each with its ω; 1 where nothing is given.
    pub fn use_omega(&mut self, omega: [Vec<f64>; 2]) {
        self.packed.omega = omega;
    }

    /// Cuts the work anew, by the colours of packed contacts and rows; the blocks of `late` read Λ as it was before the
    /// iteration.
    pub fn use_colors(&mut self, colors: [&[u32]; 2], late: Option<u32>) {
        self.find_work(colors);
        self.late = late;
    }

    /// Λ_k ← prox(Λ_k − R_k (A Λ + b)_k) for all blocks at once, from the old impulses (Poulsen 2010,
    /// 3.6; Nützi 2011, 4.40).
    fn project(&mut self, relative: f64) {
        let is_stored = self.scheme != Scheme::Factorized;
        // Colours write back what they change.
        if is_stored && self.colors.len() == 1 {
            self.before.clone_from(&self.lambda);
        }
        if self.late.is_some() {
            self.last.clone_from(&self.lambda);
        }
        for color in &self.colors {
            let work = &self.work[color.clone()];
            let source = match is_stored {
                true if self.late == Some(work[0].color) => {
                    Source::Matrix(&self.matrix, &self.last)
                }
                true => Source::Matrix(&self.matrix, &self.before),
                false => Source::Bodies(&self.bodies),
            };
            let projection = Projection {
                packed: &self.packed,
                monitors: &self.monitors,
                source,
                relative,
                coupled: self.coupled,
            };
            let first = work[0].impulses.range().start;
            let changes = &mut self.changes[color.clone()];
            projection.run(work, &mut self.lambda[first..], changes);
            if is_stored && self.colors.len() > 1 {
                for rows in work.iter().map(|work| work.impulses.range()) {
                    self.before[rows.clone()].copy_from_slice(&self.lambda[rows]);
                }
            }
        }
    }

    /// u = u_free + M⁻¹ Jᵀ Λ, body by body, each summing its blocks in order.
    fn gather(&mut self) {
        let packed = &self.packed;
        let lambda = &self.lambda;
        let island_of_body = &self.island_of_body;
        let (touches, monitors) = (&self.touches, &self.monitors);
        self.bodies
            .par_chunks_mut(BODIES)
            .enumerate()
            .for_each(|(chunk, bodies)| {
                for (k, body) in bodies.iter_mut().enumerate() {
                    let b = chunk * BODIES + k;
                    let island = island_of_body[b] as usize;
                    if monitors[island].state != State::Running {
                        continue;
                    }
                    let first = packed.lambda_start[island] as usize;
                    body.velocity = packed.free[b];
                    for t in touches.of(b) {
                        if t.block & ROW == 0 {
                            let c = t.block as usize;
                            let rows = packed.block(island, c);
                            let block = &lambda[first + rows.start..first + rows.end];
                            let contact = &packed.contacts[c];
                            let push = contact.impulse(packed.extra.get(c), block);
                            contact.apply(t.side as usize, &push, body);
                        } else {
                            let k = (t.block & !ROW) - packed.row_start[island];
                            let impulse = lambda[first + packed.first_row(island) + k as usize];
                            packed.entries[t.side as usize].push(impulse, body);
                        }
                    }
                }
            });
    }

    /// Decides for every island, and rolls back those that diverge.
    fn observe(&mut self, budget: &Budget) {
        self.sums.fill(Change::default());
        for (work, change) in self.work.iter().zip(&self.changes) {
            self.sums[work.island as usize].merge(change);
        }
        for island in 0..self.packed.islands() {
            if self.monitors[island].state != State::Running {
                continue;
            }
            let span = self.packed.impulses(island);
            let (lambda, checkpoint) = (&mut self.lambda, &mut self.checkpoint);
            let verdict = self.monitors[island].decide(
                self.sums[island],
                budget,
                &mut lambda[span.clone()],
                &mut checkpoint[span.clone()],
                &mut self.mark[span.clone()],
            );
            if verdict == Verdict::RollBack {
                self.before[span.clone()].copy_from_slice(&lambda[span]);
            }
        }
    }
}

impl<P: Packs> ProxIteration<P> for Jacobi {
    fn prepare(&mut self, problem: &P, lambda: &[f64], _: &mut Vec<Twist>) {
        self.packing.pack(problem, &mut self.packed, usize::MAX);
        self.scheme = problem.scheme(&mut self.choice);
        self.start(problem, lambda);
        self.bodies.clone_from(&self.packed.template);
        self.find_work([&[]; 2]);
        if self.scheme == Scheme::Factorized {
            let bodies = self.packed.template.len();
            self.touches.fill(bodies, touches(&self.packed));
            self.gather();
        } else {
            problem.refill(&mut self.matrix, &self.packed, self.scheme);
        }
    }

    fn iterate(&mut self, _problem: &P, budget: &Budget) {
        self.project(relative(budget));
        self.observe(budget);
        if self.scheme == Scheme::Factorized {
            self.gather();
        }
    }

    fn is_finite(&self) -> bool {
        self.packed.is_finite()
    }

    fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    fn return_to_checkpoints(&mut self) {
        return_to_checkpoints(
            &self.packed,
            &self.monitors,
            &self.checkpoint,
            &mut self.lambda,
        );
    }

    fn store(&self, problem: &P, lambda: &mut [f64]) {
        self.packed.store(problem, &self.lambda, lambda);
    }

    /// The projection reads blocks and bodies and writes Λ; the gathering reads every block once
    /// more for each body that it touches, and writes all velocities.
    fn traffic(&self) -> [u64; 2] {
        if self.scheme != Scheme::Factorized {
            return [0; 2];
        }
        let packed = &self.packed;
        let [project, _] = packed.sweep_traffic();
        let touch = size_of::<Touch>() + size_of::<PackedContact>() + 3 * size_of::<f64>();
        let gather = self.touches.items.len() * touch
            + self.bodies.len() * (size_of::<PackedBody>() + size_of::<Twist>());
        let written = size_of_val(self.lambda.as_slice()) + self.bodies.len() * size_of::<Twist>();
        [project + gather as u64, written as u64]
    }
}

/// What a projection reads.
struct Projection<'a> {
    packed: &'a Packed,
    monitors: &'a [Monitor],
    source: Source<'a>,
    relative: f64,
    coupled: bool,
}

/// Where velocities come from.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// From bodies, and so from J.
    Bodies(&'a [PackedBody]),
    /// From A, or T, and the Λ of the last iteration.
    Matrix(&'a Matrix, &'a [f64]),
}

impl Projection<'_> {
    /// Runs over work blocks, in parallel; `lambda` holds just their impulses.
    fn run(&self, work: &[WorkBlock], lambda: &mut [f64], changes: &mut [Change]) {
        if work.len() > 1 {
            let middle = work.len() / 2;
            let (first, second) = work.split_at(middle);
            let start = |work: &[WorkBlock]| work[0].impulses.range().start;
            let (l0, l1) = lambda.split_at_mut(start(second) - start(first));
            let (c0, c1) = changes.split_at_mut(middle);
            rayon::join(|| self.run(first, l0, c0), || self.run(second, l1, c1));
        } else if let ([work], [change]) = (work, changes) {
            self.block(work, lambda, change);
        }
    }

    fn block(&self, work: &WorkBlock, lambda: &mut [f64], change: &mut Change) {
        *change = Change::default();
        let island = work.island as usize;
        let monitor = &self.monitors[island];
        if monitor.state != State::Running {
            return;
        }
        let packed = self.packed;
        let sweep = Sweep {
            scale: monitor.scale,
            relative: self.relative,
            omega: 1.0,
            coupled: self.coupled,
        };
        let span = work.span.range();
        let of_island = packed.bodies_of(island);
        let source = match self.source {
            Source::Bodies(bodies) => Source::Bodies(&bodies[of_island]),
            Source::Matrix(matrix, before) => {
                Source::Matrix(matrix, &before[packed.impulses(island)])
            }
        };
        if work.rows {
            for (r, lambda) in span.zip(lambda) {
                let row = &packed.rows[r];
                let w = match source {
                    Source::Bodies(bodies) => row.velocity(packed.entries(row), bodies, *lambda),
                    Source::Matrix(matrix, before) => {
                        matrix.row_velocity(packed, island, r, before)
                    }
                };
                row.step(w, lambda, &packed.row_sweep(r, &sweep), change);
            }
            return;
        }
        if let Source::Bodies(bodies) = source
            && packed.is_uniform()
            && packed.contact_blocks.is_empty()
        {
            let (blocks, _) = lambda.as_chunks_mut::<3>();
            for (c, block) in span.zip(blocks) {
                let contact = &packed.contacts[c];
                let [i, j] = contact.bodies.map(|b| &bodies[b as usize]);
                contact.disc_step([i, j], block, &packed.contact_sweep(c, &sweep), change);
            }
            return;
        }
        let offset = packed.block(island, span.start).start;
        let (mut w, mut step) = ([0.0; FrictionLaw::MAX_ROWS], [0.0; FrictionLaw::MAX_ROWS]);
        for c in span {
            let rows = packed.block(island, c);
            let (w, step) = (&mut w[..rows.len()], &mut step[..rows.len()]);
            let block = &mut lambda[rows.start - offset..rows.end - offset];
            match source {
                Source::Bodies(bodies) => {
                    let contact = &packed.contacts[c];
                    let [i, j] = contact.bodies.map(|b| &bodies[b as usize]);
                    contact.rows_velocity(packed.extra.get(c), [i, j], block, w);
                }
                Source::Matrix(matrix, before) => {
                    matrix.contact_velocity(packed, island, c, before, w);
                }
            }
            packed.prox(c, w, block, step, &packed.contact_sweep(c, &sweep), change);
        }
    }
}

/// Each packed body that impulses move with each block that touches it, in the order of blocks.
fn touches(packed: &Packed) -> impl Iterator<Item = (u32, Touch)> + Clone {
    (0..packed.islands()).flat_map(move |island| {
        let base = packed.body_start[island];
        let dummy = packed.body_start[island + 1] - 1 - base;
        let contacts = packed.contact_start[island]..packed.contact_start[island + 1];
        let contacts = contacts.flat_map(move |block| {
            let sides = packed.contacts[block as usize].bodies.into_iter().zip(0..);
            sides.map(move |(body, side)| (body, Touch { block, side }))
        });
        let rows = packed.row_start[island]..packed.row_start[island + 1];
        let rows = rows.flat_map(move |r| {
            let entries = packed.rows[r as usize].entries.range();
            let block = r | ROW;
            entries.map(move |entry| {
                let side = entry as u32;
                (packed.entries[entry].body, Touch { block, side })
            })
        });
        let touches = contacts.chain(rows);
        let touches = touches.filter(move |(body, _)| *body != dummy);
        touches.map(move |(body, touch)| (base + body, touch))
    })
}
