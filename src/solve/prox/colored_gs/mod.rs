//! `colored-gs`: SOR Prox, factorized, parallel by the colours of the body graph, sixteen edges at a
//! time.
//!
//! The order of the sweep is `layout`'s, what it reads and writes are `tiles`, the sweep itself is
//! `sweep`; what fills no lane is `loose`.

mod lanes;
mod layout;
mod loose;
mod sweep;
mod tiles;

use pulp::Arch;
use rayon::prelude::*;

use lanes::Real;
use layout::{Batch, EMPTY, Layout, Treatment};
use loose::{LooseEdges, SharedLambda, Unsafe};
use sweep::{Groups, QuadOrder, Shared, quad_order};
use tiles::{BODY_NUMBERS, Body, Start, Tiles, sizes};

use super::block::{Change, Sweep};
use super::color::{Coloring, Strategy};
use super::monitor::{Monitor, State, Verdict, relative};
use super::parameters::ALPHA;
use super::{ProxIteration, REBUILD, iterate};
use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::{
    Budget, Parameter, ParameterKind, Parameters, Request, SolveReport, Solver, SolverInfo,
};

/// Edges that are solved at the same time: one per lane. As many f32 as the widest registers have.
pub const LANES: usize = 16;

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "colored-gs",
    summary: "SOR Prox, factorized, parallel by graph colours: contacts of one colour share no body, \
              and are solved sixteen at a time on all threads",
    source: "Poulsen 2010, 4.3 and 7.2; Nützi 2011, 4.47 and 8.1",
    least_iterations: 1,
    parameters: &[
        Parameter {
            name: "precision",
            unit: "-",
            summary: "f32: sweeps in single precision, against velocities known in double. f64: all in double. \
                      mixed: f32 until its rounding is reached, then f64",
            source: "Nützi 2011, 6.1 (single and double precision)",
            kind: ParameterKind::Choice {
                default: "mixed",
                options: &["mixed", "f32", "f64"],
            },
        },
        Parameter {
            name: "coloring",
            unit: "-",
            summary: "greedy: the lowest free colour, few colours. balanced: the one in least use, even colours",
            source: "Poulsen 2010, 4.3",
            kind: ParameterKind::Choice {
                default: "greedy",
                options: &["greedy", "balanced"],
            },
        },
        Parameter {
            name: "treatment",
            unit: "-",
            summary: "rigid: every colour as it is. relaxed: colours with fewer contacts than the threshold \
                      are merged into one unsafe colour, solved last",
            source: "Poulsen 2010, 4.3 and 7.2",
            kind: ParameterKind::Choice {
                default: "rigid",
                options: &["rigid", "relaxed"],
            },
        },
        Parameter {
            name: "threshold",
            unit: "contacts",
            summary: "relaxed: colours with fewer contacts than this are unsafe",
            source: "Poulsen 2010, 4.3",
            kind: ParameterKind::Integer {
                default: 64,
                range: [1, 1_000_000],
            },
        },
        Parameter {
            name: "unsafe",
            unit: "-",
            summary: "how the unsafe colour is solved: jacobi, on copies of the velocities, or naive, as \
                      Gauss–Seidel in parts that do not see each other",
            source: "Poulsen 2010, 7.2",
            kind: ParameterKind::Choice {
                default: "naive",
                options: &["naive", "jacobi"],
            },
        },
        Parameter {
            name: "parts",
            unit: "-",
            summary: "naive: number of parts, whatever the number of threads",
            source: "Poulsen 2010, 7.2",
            kind: ParameterKind::Integer {
                default: 4,
                range: [1, 1024],
            },
        },
        ALPHA,
    ],
    make: |parameters| Box::new(ColoredGs::new(parameters)),
};

/// Contacts per unit of parallel work where Λ is copied or applied.
const CHUNK: usize = 1024;
/// Sweeps in f32 end when their changes are within so many roundings of the impulses …
const NEAR_ROUNDING: f64 = 4.0;
/// … or of the velocities, which are about as large as the largest change was (2⁻¹⁹).
const NEAR_LARGEST: f64 = 1.9e-6;

/// … or when for so many iterations no change was smaller than all before, at this share of the
/// largest one.
const IDLE: u32 = 64;
const IDLE_LARGEST: f64 = 1e-3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Single,
    Double,
    Mixed,
}

/// The solver.
pub struct ColoredGs {
    alpha: f64,
    precision: Precision,
    strategy: Strategy,
    treatment: Treatment,
    merged: Unsafe,
    arch: Arch,
    order: [QuadOrder; 2],
    coloring: Coloring,
    /// Whether colours outlive a solve.
    keeps_colors: bool,
    layout: Layout,
    single: Tiles<f32>,
    double: Tiles<f64>,
    in_double: bool,
    finite: bool,
    /// Iterations since the velocities were computed from the impulses.
    since_pack: u32,
    loose: LooseEdges,
    monitors: Vec<Monitor>,
    /// Of each unit, and of each batch.
    changes: Vec<Change>,
    sums: Vec<Change>,
    /// Λ⁰ in the problem's order, and u⁰ = u_free + M⁻¹ Jᵀ Λ⁰.
    lambda: Vec<f64>,
    velocity: Vec<Twist>,
}

impl ColoredGs {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let arch = Arch::new();
        let relaxed = parameters.choice("treatment") == "relaxed";
        Self {
            alpha: parameters.number("alpha"),
            precision: match parameters.choice("precision") {
                "f32" => Precision::Single,
                "f64" => Precision::Double,
                _ => Precision::Mixed,
            },
            strategy: match parameters.choice("coloring") {
                "balanced" => Strategy::Balanced,
                _ => Strategy::Greedy,
            },
            treatment: Treatment {
                threshold: if relaxed {
                    parameters.integer("threshold") as u32
                } else {
                    0
                },
            },
            merged: match parameters.choice("unsafe") {
                "jacobi" => Unsafe::Jacobi,
                _ => Unsafe::Naive {
                    parts: parameters.integer("parts") as usize,
                },
            },
            arch,
            order: [quad_order::<f32>(arch), quad_order::<f64>(arch)],
            coloring: Coloring::default(),
            keeps_colors: true,
            layout: Layout::default(),
            single: Tiles::default(),
            double: Tiles::default(),
            in_double: false,
            finite: true,
            since_pack: 0,
            loose: LooseEdges::default(),
            monitors: Vec::new(),
            changes: Vec::new(),
            sums: Vec::new(),
            lambda: Vec::new(),
            velocity: Vec::new(),
        }
    }

    /// One that colours every problem from nothing, so that it carries nothing from solve to solve.
    pub fn forgetful(parameters: &Parameters) -> Self {
        Self {
            keeps_colors: false,
            ..Self::new(parameters)
        }
    }

    /// Packs the problem at the current Λ⁰. The impulses to return to may be kept: they are in the
    /// same lanes.
    fn pack(&mut self, problem: &Problem, keeps_checkpoint: bool) {
        self.since_pack = 0;
        let frictionless = problem.contacts.are_frictionless();
        if frictionless {
            // Friction left over from a step that had some would never be projected away.
            for block in self.lambda[..problem.contact_rows()].chunks_exact_mut(3) {
                block[1..].fill(0.0);
            }
        }
        velocities(problem, &self.layout, &self.lambda, &mut self.velocity);
        let (layout, alpha) = (&self.layout, self.alpha);
        let start = Start {
            lambda: &self.lambda,
            u: &self.velocity,
            keeps_checkpoint,
        };
        let [single, double] = &self.order;
        let arch = self.arch;
        self.finite = if self.in_double {
            self.double.pack(problem, layout, frictionless, start)
                & self.double.pack_steps(layout, alpha, arch, double)
        } else {
            self.single.pack(problem, layout, frictionless, start)
                & self.single.pack_steps(layout, alpha, arch, single)
        } & self.loose.pack(problem, layout, alpha, start, self.merged);
    }

    /// Sweeps and observes every batch that runs.
    fn sweep(&mut self, budget: &Budget) {
        let run = Run {
            arch: self.arch,
            layout: &self.layout,
            merged: self.merged,
            relative: relative(budget),
            budget,
        };
        if self.in_double {
            run.all(
                &self.order[1],
                &mut self.double,
                &mut self.loose,
                &mut self.monitors,
                &mut self.changes,
                &mut self.sums,
            );
        } else {
            run.all(
                &self.order[0],
                &mut self.single,
                &mut self.loose,
                &mut self.monitors,
                &mut self.changes,
                &mut self.sums,
            );
        }
    }

    /// Batches that f32 brings no further stop, or make all go on in f64.
    fn watch_rounding(&mut self, problem: &Problem, budget: &Budget) {
        if self.in_double {
            return;
        }
        let is_done = |m: &Monitor| {
            let size = m.change.speed_squared.sqrt();
            let near = (NEAR_ROUNDING * m.change.rounding).max(NEAR_LARGEST * m.largest);
            let idle = m.idle() >= IDLE && size <= IDLE_LARGEST * m.largest;
            (size <= near || idle) && size > budget.tolerance
        };
        let is_running = self.monitors.iter().any(|m| m.state == State::Running);
        let mut running = self
            .monitors
            .iter_mut()
            .filter(|m| m.state == State::Running);
        if self.precision == Precision::Single {
            for monitor in running {
                if is_done(monitor) {
                    monitor.state = State::Stalled;
                }
            }
        } else if is_running && running.all(|m| is_done(m)) {
            self.restart(problem, true);
            for monitor in &mut self.monitors {
                monitor.keep();
            }
        }
    }

    /// Goes on from the impulses as they are, with what follows from them computed afresh.
    fn restart(&mut self, problem: &Problem, in_double: bool) {
        let mut lambda = std::mem::take(&mut self.lambda);
        self.store(problem, &mut lambda);
        self.lambda = lambda;
        let same = self.in_double == in_double;
        self.in_double = in_double;
        self.pack(problem, same);
    }
}

impl Solver for ColoredGs {
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
        let mut report = iterate(self, problem, request, lambda, u);
        report.colors.clone_from(&self.layout.counts);
        report
    }

    fn correct(
        &mut self,
        problem: &Problem,
        bias: &[f64],
        budget: &Budget,
        u: &mut Vec<Twist>,
    ) -> bool {
        if !self.layout.loose.is_empty() || bias.len() != self.layout.place.len() {
            return false;
        }
        let run = Run {
            arch: self.arch,
            layout: &self.layout,
            merged: self.merged,
            relative: -1.0,
            budget,
        };
        if self.in_double {
            run.correct(&self.order[1], &mut self.double, &self.loose, bias);
            unpack_velocities(&self.double, problem.bodies.len(), u);
        } else {
            run.correct(&self.order[0], &mut self.single, &self.loose, bias);
            unpack_velocities(&self.single, problem.bodies.len(), u);
        }
        true
    }

    fn state(&self) -> Vec<u8> {
        self.coloring.state()
    }

    fn set_state(&mut self, state: &[u8]) {
        self.coloring.set_state(state);
        self.layout.forget();
    }
}

impl ProxIteration for ColoredGs {
    fn prepare(&mut self, problem: &Problem, lambda: &[f64]) {
        self.layout.update(
            problem,
            &mut self.coloring,
            self.keeps_colors,
            self.strategy,
            self.treatment,
        );
        self.lambda.clear();
        self.lambda.extend_from_slice(lambda);
        let in_range = is_in_range_of_f32(problem);
        self.in_double = match self.precision {
            Precision::Double => true,
            // The many small steps of an unsafe colour would be lost in a hub's velocity.
            Precision::Mixed => {
                !in_range
                    || self
                        .layout
                        .batches
                        .iter()
                        .any(|b| !b.unsafe_loose().is_empty())
            }
            Precision::Single => false,
        };
        self.pack(problem, false);
        self.finite &= in_range || self.in_double;
        self.monitors.clear();
        self.monitors
            .resize(self.layout.batches.len(), Monitor::default());
        let units = self.layout.units.len();
        self.changes.clear();
        self.changes.resize(units, Change::default());
        self.sums
            .resize(self.layout.batches.len(), Change::default());
    }

    fn is_finite(&self) -> bool {
        self.finite
    }

    fn iterate(&mut self, problem: &Problem, budget: &Budget) {
        self.sweep(budget);
        self.since_pack += 1;
        if self.since_pack == REBUILD {
            self.restart(problem, self.in_double);
        }
        self.watch_rounding(problem, budget);
    }

    fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    fn return_to_checkpoints(&mut self) {
        for (batch, monitor) in self.layout.batches.iter().zip(&self.monitors) {
            if monitor.is_worse_than_checkpoint() {
                let layers = layers(&self.layout, batch);
                if self.in_double {
                    self.double.return_to_kept(layers);
                } else {
                    self.single.return_to_kept(layers);
                }
                self.loose.return_to_kept(loose(&self.layout, batch));
            }
        }
    }

    fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        if self.in_double {
            store(problem, &self.layout, &self.double, lambda);
        } else {
            store(problem, &self.layout, &self.single, lambda);
        }
        self.loose.store(lambda);
    }

    fn velocities(&self, problem: &Problem, lambda: &[f64], u: &mut Vec<Twist>) {
        velocities(problem, &self.layout, lambda, u);
    }

    fn traffic(&self) -> [u64; 2] {
        let [real, frictionless] = if self.in_double {
            [size_of::<f64>(), usize::from(self.double.frictionless)]
        } else {
            [size_of::<f32>(), usize::from(self.single.frictionless)]
        };
        let (fixed, changing) = sizes(frictionless == 1);
        let (layers, groups) = (self.layout.layers.len(), self.layout.groups.len());
        let of_layers = layers * LANES * real;
        let body_lanes = 2 * groups * LANES;
        let indices = body_lanes * size_of::<u32>();
        let [read, written] = self.loose.bytes(BODY_NUMBERS * real);
        [
            read + (of_layers * (fixed + changing) + indices + body_lanes * BODY_NUMBERS * real)
                as u64,
            written + (of_layers * changing + body_lanes * 8 * real) as u64,
        ]
    }
}

/// The layers of a batch.
fn layers(layout: &Layout, batch: &Batch) -> std::ops::Range<usize> {
    let groups = groups(layout, batch);
    let first = |g: usize| {
        layout
            .groups
            .get(g)
            .map_or(layout.layers.len(), |group| group.layers().start)
    };
    first(groups.start)..first(groups.end)
}

/// The groups of a batch.
fn groups(layout: &Layout, batch: &Batch) -> std::ops::Range<usize> {
    let units = units(layout, batch);
    let first = |u: usize| {
        layout
            .units
            .get(u)
            .map_or(layout.groups.len(), |unit| unit.groups().start)
    };
    first(units.start)..first(units.end)
}

/// The units of a batch.
fn units(layout: &Layout, batch: &Batch) -> std::ops::Range<usize> {
    let first = |s: usize| {
        layout
            .spans
            .get(s)
            .map_or(layout.units.len(), |span| span.units().start)
    };
    first(batch.spans().start)..first(batch.spans().end)
}

/// The loose edges of a batch, those of its unsafe colour behind the others.
fn loose(layout: &Layout, batch: &Batch) -> std::ops::Range<usize> {
    let units = units(layout, batch);
    let first = layout.units[units]
        .first()
        .map_or(batch.unsafe_loose().start, |unit| unit.loose().start);
    first..batch.unsafe_loose().end
}

/// Λ from the lanes, in the problem's order, and exactly within the cone.
fn store<R: Real>(problem: &Problem, layout: &Layout, tiles: &Tiles<R>, lambda: &mut [f64]) {
    lambda.fill(0.0);
    let contacts = &problem.contacts;
    if contacts.is_empty() {
        return;
    }
    let target = Shared::new(lambda);
    layout
        .place
        .par_iter()
        .with_min_len(CHUNK)
        .enumerate()
        .filter(|(_, place)| **place != EMPTY)
        .for_each(|(c, place)| {
            // SAFETY: every contact has rows of its own.
            let block = unsafe { target.slice(contacts.rows(c)) };
            let (layer, lane) = (*place as usize / LANES, *place as usize % LANES);
            let p = tiles.total(layer, lane);
            for (x, e) in block.iter_mut().zip(contacts.frame[c].axes()) {
                *x = e.dot(&p);
            }
            let normal = block[0].max(0.0);
            block[0] = normal;
            let friction = &contacts.friction[c];
            friction.law.project(&mut block[1..], friction.mu, normal);
        });
}

/// u = u_free + M⁻¹ Jᵀ Λ, colour by colour, so that it is the same for every number of threads.
fn velocities(problem: &Problem, layout: &Layout, lambda: &[f64], u: &mut Vec<Twist>) {
    u.clear();
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
    for batch in layout.batches.iter().filter(|b| b.is_large) {
        for span in &layout.spans[batch.spans()] {
            layout.units[span.units()]
                .par_iter()
                // SAFETY: units of one colour share no body that moves.
                .for_each(|unit| unsafe { momentum.add_unit(unit) });
        }
        // SAFETY: the unsafe colour runs alone.
        unsafe { momentum.add_loose(batch.unsafe_loose()) };
    }
    let small = |batch: &Batch| {
        for unit in &layout.units[units(layout, batch)] {
            // SAFETY: batches share no body that moves, and each runs on one thread.
            unsafe { momentum.add_unit(unit) };
        }
        // SAFETY: as above.
        unsafe { momentum.add_loose(batch.unsafe_loose()) };
    };
    match layout.batches.as_slice() {
        [batch] if !batch.is_large => small(batch),
        batches => batches
            .par_iter()
            .filter(|batch| !batch.is_large)
            .for_each(small),
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
    unsafe fn add_unit(&self, unit: &layout::Unit) {
        for group in &self.layout.groups[unit.groups()] {
            for layer in &self.layout.layers[group.layers()] {
                for c in layer.iter().filter(|c| **c != EMPTY) {
                    // SAFETY: the caller's promise.
                    unsafe { self.add_contact(*c as usize) };
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.add_loose(unit.loose()) };
    }

    /// # Safety
    /// As [`Momentum::add_unit`].
    unsafe fn add_loose(&self, edges: std::ops::Range<usize>) {
        let rows = &self.problem.rows;
        let first = self.problem.contact_rows();
        for edge in &self.layout.loose[edges] {
            for k in edge.span() {
                if !edge.rows {
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
    /// As [`Momentum::add_unit`].
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

/// Whether single precision holds the masses, and squares of the impulses that they make.
fn is_in_range_of_f32(problem: &Problem) -> bool {
    let bodies = &problem.bodies;
    bodies
        .inverse_mass
        .iter()
        .zip(&bodies.inverse_inertia)
        .all(|(m, i)| {
            let turn = i.xx.max(i.yy).max(i.zz);
            *m == 0.0 || ((1e-10..=1e10).contains(m) && turn <= 1e20)
        })
}

/// What a sweep over all batches needs.
struct Run<'a> {
    arch: Arch,
    layout: &'a Layout,
    merged: Unsafe,
    relative: f64,
    budget: &'a Budget,
}

/// What units of one colour share.
struct Target<'a, R: Real> {
    order: &'a QuadOrder,
    bodies: Shared<Body<R>>,
    words: &'a [lanes::Lane<R>],
    impulses: Shared<lanes::Lane<R>>,
    sizes: (usize, usize),
    frictionless: bool,
    loose: &'a LooseEdges,
    lambda: SharedLambda,
}

impl Run<'_> {
    /// One iteration of every batch that runs.
    fn all<R: Real>(
        &self,
        order: &QuadOrder,
        tiles: &mut Tiles<R>,
        loose_edges: &mut LooseEdges,
        monitors: &mut [Monitor],
        changes: &mut [Change],
        sums: &mut [Change],
    ) {
        let layout = self.layout;
        let lambda = loose_edges.share();
        let target = Target {
            order,
            bodies: Shared::new(&mut tiles.bodies),
            words: &tiles.words,
            impulses: Shared::new(&mut tiles.impulses),
            sizes: sizes(tiles.frictionless),
            frictionless: tiles.frictionless,
            loose: loose_edges,
            lambda,
        };
        let sweep_of = |batch: usize| {
            let monitor: &Monitor = &monitors[batch];
            (monitor.state == State::Running).then_some(Sweep {
                scale: monitor.scale,
                relative: self.relative,
                omega: 1.0,
                coupled: true,
            })
        };
        self.sweep(&target, &sweep_of, changes);
        let bodies = target.bodies;
        // Unsafe colours last; then what came of it all.
        for (b, batch) in layout.batches.iter().enumerate() {
            let Some(sweep) = sweep_of(b) else {
                continue;
            };
            let mut change = Change::default();
            for part in &changes[units(layout, batch)] {
                change.merge(part);
            }
            if !batch.unsafe_loose().is_empty() {
                loose_edges.sweep_unsafe(
                    b,
                    batch.unsafe_loose(),
                    bodies,
                    self.merged,
                    &sweep,
                    &mut change,
                );
            }
            sums[b] = change;
        }
        for (b, batch) in layout.batches.iter().enumerate() {
            if monitors[b].state != State::Running {
                continue;
            }
            match monitors[b].observe(sums[b], self.budget) {
                Verdict::Continue | Verdict::Stop => {}
                Verdict::Checkpoint => {
                    tiles.keep(layers(layout, batch));
                    loose_edges.keep(loose(layout, batch));
                }
                Verdict::RollBack => {
                    tiles.return_to_kept(layers(layout, batch));
                    loose_edges.return_to_kept(loose(layout, batch));
                    restart(layout, batch, tiles, loose_edges);
                }
            }
        }
    }

    /// Sweeps the units of every batch that `sweep_of` wants swept, and notes their changes.
    fn sweep<R: Real>(
        &self,
        target: &Target<R>,
        sweep_of: &(impl Fn(usize) -> Option<Sweep> + Sync),
        changes: &mut [Change],
    ) {
        let layout = self.layout;
        let shared_changes = Shared::new(changes);
        let step = |unit: usize, sweep: &Sweep| {
            // SAFETY: each unit has a place of its own for its change, and is swept by one thread;
            // units that run at the same time are of one colour, or of different small batches.
            unsafe {
                *shared_changes.get(unit) = self.unit(&layout.units[unit], sweep, target);
            }
        };
        // Large batches colour by colour, each colour on all threads.
        for (b, batch) in layout.batches.iter().enumerate().filter(|b| b.1.is_large) {
            let Some(sweep) = sweep_of(b) else {
                continue;
            };
            for span in &layout.spans[batch.spans()] {
                let units = span.units();
                if units.len() == 1 {
                    step(units.start, &sweep);
                } else {
                    units.into_par_iter().for_each(|unit| step(unit, &sweep));
                }
            }
        }
        // Small batches beside each other, each on one thread.
        let small = |b: usize| {
            let batch = &layout.batches[b];
            if !batch.is_large
                && let Some(sweep) = sweep_of(b)
            {
                for unit in units(layout, batch) {
                    step(unit, &sweep);
                }
            }
        };
        match layout.batches.len() {
            1 => small(0),
            n => (0..n).into_par_iter().for_each(small),
        }
    }

    /// Sweeps over the normal rows alone, from nothing and with another bias, until the tolerance is
    /// met or the iterations are spent.
    fn correct<R: Real>(
        &self,
        order: &QuadOrder,
        tiles: &mut Tiles<R>,
        loose_edges: &LooseEdges,
        bias: &[f64],
    ) {
        let layout = self.layout;
        tiles.pack_normals(layout, bias);
        let target = Target {
            order,
            bodies: Shared::new(&mut tiles.bodies),
            words: &tiles.words,
            impulses: Shared::new(&mut tiles.impulses),
            sizes: sizes(tiles.frictionless),
            frictionless: true,
            loose: loose_edges,
            lambda: SharedLambda::none(),
        };
        let mut changes = vec![Change::default(); layout.units.len()];
        let mut running = vec![true; layout.batches.len()];
        let sweep = Sweep {
            scale: 1.0,
            relative: -1.0,
            omega: 1.0,
            coupled: true,
        };
        for _ in 0..self.budget.iterations {
            self.sweep(&target, &|b| running[b].then_some(sweep), &mut changes);
            for (b, batch) in layout.batches.iter().enumerate() {
                let changed = changes[units(layout, batch)]
                    .iter()
                    .map(|c| c.speed_squared)
                    .fold(0.0, f64::max);
                running[b] &= changed > self.budget.tolerance * self.budget.tolerance;
            }
            if !running.contains(&true) {
                break;
            }
        }
    }

    /// Sweeps one unit.
    ///
    /// # Safety
    /// Units that are swept at the same time share no body, and no unit is swept twice at a time.
    unsafe fn unit<R: Real>(
        &self,
        unit: &layout::Unit,
        sweep: &Sweep,
        target: &Target<R>,
    ) -> Change {
        let mut change = Change::default();
        let groups = &self.layout.groups[unit.groups()];
        if let (Some(first), Some(last)) = (groups.first(), groups.last()) {
            let layers = first.layers().start..last.layers().end;
            let (fixed, changing) = target.sizes;
            // SAFETY: a unit's layers are its own; bodies by the caller's promise.
            change = unsafe {
                Groups {
                    bodies: target.bodies,
                    order: target.order,
                    groups,
                    words: &target.words[layers.start * fixed..layers.end * fixed],
                    impulses: target
                        .impulses
                        .slice(layers.start * changing..layers.end * changing),
                    sizes: target.sizes,
                    frictionless: target.frictionless,
                    sweep: *sweep,
                }
                .run(self.arch)
            };
        }
        if unit.loose().is_empty() {
            return change;
        }
        // SAFETY: the caller's promise.
        unsafe {
            target.loose.sweep(
                unit.loose(),
                target.bodies,
                target.lambda,
                sweep,
                &mut change,
            );
        }
        change
    }
}

/// The velocities of the problem's bodies, as a sweep left them.
fn unpack_velocities<R: Real>(tiles: &Tiles<R>, bodies: usize, u: &mut Vec<Twist>) {
    tiles.bodies[..bodies]
        .par_iter()
        .with_min_len(CHUNK)
        .map(|body| body.unpack().velocity)
        .collect_into_vec(u);
}

/// Velocities of a batch's bodies from its impulses, after these were set back.
fn restart<R: Real>(
    layout: &Layout,
    batch: &Batch,
    tiles: &mut Tiles<R>,
    loose_edges: &LooseEdges,
) {
    let groups = &layout.groups[groups(layout, batch)];
    for body in groups.iter().flat_map(|g| g.bodies.iter().flatten()) {
        tiles.bodies[*body as usize].set_velocity(&Twist::ZERO);
    }
    let edges = loose(layout, batch);
    loose_edges.each_body(edges.clone(), |b| {
        tiles.bodies[b as usize].set_velocity(&Twist::ZERO);
    });
    for group in groups {
        for layer in group.layers() {
            for lane in 0..LANES {
                let bodies = group.bodies.map(|side| side[lane]);
                tiles.push(layer, lane, bodies);
            }
        }
    }
    loose_edges.push_changes(edges, &mut tiles.bodies);
}
