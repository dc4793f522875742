//! `gauss-seidel`: SOR Prox, factorized, sequential within an island, islands in parallel.

use super::block::{Change, PackedBody, Push, Sweep};
use super::monitor::{Monitor, State, Verdict, relative};
use super::pack::Packed;
use super::{MAX_HALVINGS, ProxIteration, alpha, iterate, return_to_checkpoints};
use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::{Budget, Parameters, Request, SolveReport, Solver, SolverInfo};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "gauss-seidel",
    summary: "SOR Prox, factorized: every contact sees the newest velocities; sequential within an island",
    source: "Poulsen 2010, 3.5; Nützi 2011, 4.47",
    parameters: &[alpha(1.0, "relaxation of the local R-factors, R = α/A_ii")],
    make: |parameters| Box::new(GaussSeidel::new(parameters)),
};

/// Islands together smaller than this are one unit of parallel work (contacts and rows).
const GRAIN: usize = 512;

/// The solver.
pub struct GaussSeidel {
    alpha: f64,
    packed: Packed,
    bodies: Vec<PackedBody>,
    lambda: Vec<f64>,
    checkpoint: Vec<f64>,
    monitors: Vec<Monitor>,
}

impl GaussSeidel {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            alpha: parameters.number("alpha"),
            packed: Packed::default(),
            bodies: Vec::new(),
            lambda: Vec::new(),
            checkpoint: Vec::new(),
            monitors: Vec::new(),
        }
    }

    /// Runs `work` on every island, in parallel.
    fn each_island(&mut self, work: &(impl Fn(&Packed, usize, Slices) + Sync)) {
        let slices = Slices {
            bodies: &mut self.bodies,
            lambda: &mut self.lambda,
            checkpoint: &mut self.checkpoint,
            monitors: &mut self.monitors,
        };
        split(&self.packed, 0..self.packed.islands(), slices, work);
    }
}

impl Solver for GaussSeidel {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        iterate(self, problem, request, lambda, u)
    }
}

impl ProxIteration for GaussSeidel {
    fn prepare(&mut self, problem: &Problem, lambda: &[f64]) {
        self.packed.pack(problem, self.alpha);
        self.packed.load(problem, lambda, &mut self.lambda);
        self.checkpoint.clone_from(&self.lambda);
        self.bodies.clear();
        self.bodies
            .resize(self.packed.template.len(), PackedBody::default());
        self.monitors.clear();
        self.monitors
            .resize(self.packed.islands(), Monitor::default());
        self.each_island(&|packed, island, s| packed.velocities(island, s.lambda, s.bodies));
    }

    fn iterate(&mut self, _problem: &Problem, budget: &Budget) {
        self.each_island(&|packed, island, s| {
            if s.monitors[0].state == State::Running {
                sweep_island(packed, island, s, budget);
            }
        });
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

    fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        self.packed.store(problem, &self.lambda, lambda);
    }
}

/// What islands write to, for a range of islands.
struct Slices<'a> {
    bodies: &'a mut [PackedBody],
    lambda: &'a mut [f64],
    checkpoint: &'a mut [f64],
    monitors: &'a mut [Monitor],
}

impl<'a> Slices<'a> {
    /// Splits off the first `islands` ones, given what they hold.
    fn split(self, bodies: usize, impulses: usize, islands: usize) -> (Slices<'a>, Slices<'a>) {
        let (b0, b1) = self.bodies.split_at_mut(bodies);
        let (l0, l1) = self.lambda.split_at_mut(impulses);
        let (c0, c1) = self.checkpoint.split_at_mut(impulses);
        let (m0, m1) = self.monitors.split_at_mut(islands);
        (
            Slices {
                bodies: b0,
                lambda: l0,
                checkpoint: c0,
                monitors: m0,
            },
            Slices {
                bodies: b1,
                lambda: l1,
                checkpoint: c1,
                monitors: m1,
            },
        )
    }
}

/// Divides a range of islands among the threads; every piece gets its own slices.
fn split(
    packed: &Packed,
    islands: std::ops::Range<usize>,
    slices: Slices,
    work: &(impl Fn(&Packed, usize, Slices) + Sync),
) {
    let at = |starts: &[u32], island: usize| starts[island] as usize;
    if islands.is_empty() {
        return;
    }
    if islands.len() == 1 {
        work(packed, islands.start, slices);
        return;
    }
    let impulses = at(&packed.lambda_start, islands.end) - at(&packed.lambda_start, islands.start);
    // In half by impulses, but never an empty half.
    let half = (at(&packed.lambda_start, islands.start) + impulses / 2) as u32;
    let middle = packed.lambda_start[islands.clone()]
        .partition_point(|start| *start < half)
        .clamp(1, islands.len() - 1)
        + islands.start;
    let (left, right) = slices.split(
        at(&packed.body_start, middle) - at(&packed.body_start, islands.start),
        at(&packed.lambda_start, middle) - at(&packed.lambda_start, islands.start),
        middle - islands.start,
    );
    let (first, second) = (islands.start..middle, middle..islands.end);
    if impulses < 3 * GRAIN {
        split(packed, first, left, work);
        split(packed, second, right, work);
    } else {
        rayon::join(
            || split(packed, first, left, work),
            || split(packed, second, right, work),
        );
    }
}

/// One iteration of one island, with roll back where it diverges.
fn sweep_island(packed: &Packed, island: usize, s: Slices, budget: &Budget) {
    let monitor = &mut s.monitors[0];
    let sweep = Sweep {
        scale: monitor.scale,
        relative: relative(budget),
        omega: 1.0,
        coupled: true,
    };
    let mut change = Change::default();
    sweep_rows(packed, island, s.bodies, s.lambda, &sweep, &mut change);
    sweep_contacts(packed, island, s.bodies, s.lambda, &sweep, &mut change);
    match monitor.observe(change, budget) {
        Verdict::Continue | Verdict::Stop => {}
        Verdict::Checkpoint => s.checkpoint.copy_from_slice(s.lambda),
        Verdict::RollBack => {
            debug_assert!(monitor.halvings <= MAX_HALVINGS);
            s.lambda.copy_from_slice(s.checkpoint);
            packed.velocities(island, s.lambda, s.bodies);
        }
    }
}

/// Λ_k ← prox(Λ_k − R_k (A Λ + b)_k) for every contact in turn; u follows at once.
fn sweep_contacts(
    packed: &Packed,
    island: usize,
    bodies: &mut [PackedBody],
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    let span = packed.contact_start[island] as usize..packed.contact_start[island + 1] as usize;
    if packed.is_uniform() {
        let (blocks, _) = lambda.as_chunks_mut::<3>();
        if packed.frictionless {
            for (contact, [normal, _, _]) in packed.contacts[span].iter().zip(blocks) {
                let [i, j] = contact.bodies.map(|b| b as usize);
                let p = contact.normal_step([&bodies[i], &bodies[j]], normal, sweep, change);
                bodies[i].push(-p, contact.arms[0]);
                bodies[j].push(p, contact.arms[1]);
            }
            return;
        }
        for (contact, block) in packed.contacts[span].iter().zip(blocks) {
            let [i, j] = contact.bodies.map(|b| b as usize);
            let p = contact.disc_step([&bodies[i], &bodies[j]], block, sweep, change);
            bodies[i].push(-p, contact.arms[0]);
            bodies[j].push(p, contact.arms[1]);
        }
        return;
    }
    for c in span {
        let (contact, extra) = (&packed.contacts[c], &packed.extra[c]);
        let [i, j] = contact.bodies.map(|b| b as usize);
        let block = &mut lambda[packed.block(island, c)];
        let push: Push =
            contact.general_step(extra, [&bodies[i], &bodies[j]], block, sweep, change);
        contact.apply(0, &push, &mut bodies[i]);
        contact.apply(1, &push, &mut bodies[j]);
    }
}

fn sweep_rows(
    packed: &Packed,
    island: usize,
    bodies: &mut [PackedBody],
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    let first = packed.first_row(island);
    let span = packed.row_start[island] as usize..packed.row_start[island + 1] as usize;
    for (row, lambda) in packed.rows[span].iter().zip(&mut lambda[first..]) {
        let entries = &packed.entries[row.entries[0] as usize..row.entries[1] as usize];
        let w = row.velocity(entries, bodies, *lambda);
        let delta = row.step(w, lambda, sweep, change);
        for entry in entries {
            entry.push(delta, &mut bodies[entry.body as usize]);
        }
    }
}
