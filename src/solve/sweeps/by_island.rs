//! Solvers that treat every island by itself, one block after the other, islands in parallel.
//!
//! [`by_island`] packs, starts, watches and rolls back; a [`Method`] says what one iteration of one
//! island is.

use super::block::{Change, PackedBody, Sweep};
use super::form::Packs;
use super::monitor::{Monitor, State, Verdict, make_room, relative};
use super::pack::Packed;
use super::{ProxIteration, REBUILD, return_to_checkpoints, solver, solver_of_any_form};
use crate::math::Twist;
use crate::problem::residual::JudgedLaw;
use crate::problem::{MatrixProblem, Problem};
use crate::solve::{Budget, Solver, SolverInfo};

/// Islands together smaller than this are one unit of parallel work (impulses).
const GRAIN: usize = 1536;

/// What a solver does to one island.
pub trait Method: Send + Sync {
    /// What it remembers of an island from one iteration to the next.
    type State: Default + Send;

    /// Computes afresh from `view.lambda` what follows Λ from step to step, and gathers rounding errors.
    fn rebuild(&self, packed: &Packed, island: usize, view: &mut IslandView<Self::State>);

    /// Begins at `view.lambda`, for the first time or after a roll back.
    fn start(&self, packed: &Packed, island: usize, view: &mut IslandView<Self::State>) {
        self.rebuild(packed, island, view);
    }

    /// One iteration.
    fn iterate(
        &self,
        packed: &Packed,
        island: usize,
        view: &mut IslandView<Self::State>,
        sweep: &Sweep,
        change: &mut Change,
    );

    /// Bytes that one iteration reads and writes; 0 where not counted.
    fn traffic(&self, _packed: &Packed) -> [u64; 2] {
        [0; 2]
    }

    /// The law that the iteration solves.
    fn judged_law(&self) -> JudgedLaw {
        JudgedLaw::Own
    }

    /// What leads from an iteration that was not rolled back to the next one.
    fn go_on(&self, _packed: &Packed, _island: usize, _on: &mut IslandView<Self::State>) {}
}

/// What a method does before its first iteration with a problem of form `P`.
pub trait Prepare<P = Problem>: Method {
    /// Packs a problem by islands, and stores whatever does not change while it is solved.
    fn prepare(&mut self, problem: &P, packed: &mut Packed);
}

/// What an iteration of one island writes to.
pub struct IslandView<'a, State> {
    /// Velocities, for those that keep them.
    pub bodies: &'a mut [PackedBody],
    /// Impulses.
    pub lambda: &'a mut [f64],
    /// What the method remembers of the island.
    pub state: &'a mut State,
}

struct ByIsland<M: Method> {
    method: M,
    packed: Packed,
    bodies: Vec<PackedBody>,
    lambda: Vec<f64>,
    checkpoint: Vec<f64>,
    mark: Vec<f64>,
    monitors: Vec<Monitor>,
    states: Vec<M::State>,
}

/// A solver made of a method.
pub fn by_island<M: Prepare + 'static>(info: &'static SolverInfo, method: M) -> Box<dyn Solver> {
    solver(info, ByIsland::new(method))
}

/// A solver made of a method, for problems of any form.
pub fn by_island_of_any_form<M>(info: &'static SolverInfo, method: M) -> Box<dyn Solver>
where
    M: Prepare + Prepare<MatrixProblem> + 'static,
{
    solver_of_any_form(info, ByIsland::new(method))
}

impl<M: Method> ByIsland<M> {
    fn new(method: M) -> Self {
        Self {
            method,
            packed: Packed::default(),
            bodies: Vec::new(),
            lambda: Vec::new(),
            checkpoint: Vec::new(),
            mark: Vec::new(),
            monitors: Vec::new(),
            states: Vec::new(),
        }
    }

    /// Runs `work` on every island, in parallel.
    fn each_island(&mut self, work: &(impl Fn(&M, &Packed, usize, Slices<M::State>) + Sync)) {
        let islands = self.packed.islands();
        let rows = self.lambda.len();
        let slices = Slices {
            bodies: &mut self.bodies,
            lambda: &mut self.lambda,
            checkpoint: &mut self.checkpoint,
            mark: &mut self.mark[..rows],
            monitors: &mut self.monitors,
            // Memory of islands that there are no more is kept for those to come.
            states: &mut self.states[..islands],
        };
        let method = &self.method;
        split(&self.packed, 0..islands, slices, &|packed, island, s| {
            work(method, packed, island, s);
        });
    }
}

impl<P: Packs, M: Prepare<P>> ProxIteration<P> for ByIsland<M> {
    fn prepare(&mut self, problem: &P, lambda: &[f64], _: &mut Vec<Twist>) {
        self.method.prepare(problem, &mut self.packed);
        self.packed.load(problem, lambda, &mut self.lambda);
        self.checkpoint.clone_from(&self.lambda);
        make_room(&mut self.mark, self.lambda.len());
        self.bodies.clear();
        self.bodies
            .resize(self.packed.template.len(), PackedBody::default());
        let islands = self.packed.islands();
        self.monitors.clear();
        self.monitors.resize(islands, Monitor::default());
        if self.states.len() < islands {
            self.states.resize_with(islands, M::State::default);
        }
        self.each_island(&|method, packed, island, s| method.start(packed, island, &mut s.view()));
    }

    fn iterate(&mut self, _problem: &P, budget: &Budget) {
        self.each_island(&|method, packed, island, s| {
            if s.monitors[0].state == State::Running {
                iterate_island(method, packed, island, s, budget);
            }
        });
    }

    fn is_finite(&self) -> bool {
        self.packed.is_finite()
    }

    fn judged_law(&self) -> JudgedLaw {
        self.method.judged_law()
    }

    fn traffic(&self) -> [u64; 2] {
        self.method.traffic(&self.packed)
    }

    fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    fn return_to_checkpoints(&mut self) {
        let (packed, monitors) = (&self.packed, &self.monitors);
        return_to_checkpoints(packed, monitors, &self.checkpoint, &mut self.lambda);
    }

    fn store(&self, problem: &P, lambda: &mut [f64]) {
        self.packed.store(problem, &self.lambda, lambda);
    }
}

/// One iteration of one island, with roll back where it diverges.
fn iterate_island<M: Method>(
    method: &M,
    packed: &Packed,
    island: usize,
    s: Slices<M::State>,
    budget: &Budget,
) {
    let sweep = Sweep {
        scale: s.monitors[0].scale,
        relative: relative(budget),
        omega: 1.0,
        coupled: true,
    };
    let mut change = Change::default();
    let mut view = IslandView {
        bodies: s.bodies,
        lambda: s.lambda,
        state: &mut s.states[0],
    };
    if s.monitors[0].goes_on() {
        method.go_on(packed, island, &mut view);
    }
    method.iterate(packed, island, &mut view, &sweep, &mut change);
    match s.monitors[0].decide(change, budget, view.lambda, s.checkpoint, s.mark) {
        Verdict::Stop => {}
        Verdict::RollBack => method.start(packed, island, &mut view),
        Verdict::Continue | Verdict::Checkpoint => {
            if s.monitors[0].iterations.is_multiple_of(REBUILD) {
                method.rebuild(packed, island, &mut view);
            }
        }
    }
}

/// What a range of islands writes to.
pub struct Slices<'a, State> {
    pub bodies: &'a mut [PackedBody],
    pub lambda: &'a mut [f64],
    pub checkpoint: &'a mut [f64],
    pub mark: &'a mut [f64],
    pub monitors: &'a mut [Monitor],
    pub states: &'a mut [State],
}

impl<'a, State> Slices<'a, State> {
    /// A single island's, without what watches over it.
    fn view(self) -> IslandView<'a, State> {
        IslandView {
            bodies: self.bodies,
            lambda: self.lambda,
            state: &mut self.states[0],
        }
    }

    /// Splits off the first `islands` ones, given what they hold.
    fn split(self, bodies: usize, impulses: usize, islands: usize) -> [Self; 2] {
        let (b0, b1) = self.bodies.split_at_mut(bodies);
        let (l0, l1) = self.lambda.split_at_mut(impulses);
        let (c0, c1) = self.checkpoint.split_at_mut(impulses);
        let (k0, k1) = self.mark.split_at_mut(impulses);
        let (m0, m1) = self.monitors.split_at_mut(islands);
        let (s0, s1) = self.states.split_at_mut(islands);
        [(b0, l0, c0, k0, m0, s0), (b1, l1, c1, k1, m1, s1)].map(
            |(bodies, lambda, checkpoint, mark, monitors, states)| Self {
                bodies,
                lambda,
                checkpoint,
                mark,
                monitors,
                states,
            },
        )
    }
}

/// Divides a range of islands among the threads; every piece gets its own slices.
pub fn split<State: Send>(
    packed: &Packed,
    islands: std::ops::Range<usize>,
    slices: Slices<State>,
    work: &(impl Fn(&Packed, usize, Slices<State>) + Sync),
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
    let [left, right] = slices.split(
        at(&packed.body_start, middle) - at(&packed.body_start, islands.start),
        at(&packed.lambda_start, middle) - at(&packed.lambda_start, islands.start),
        middle - islands.start,
    );
    let (first, second) = (islands.start..middle, middle..islands.end);
    if impulses < GRAIN {
        split(packed, first, left, work);
        split(packed, second, right, work);
    } else {
        rayon::join(
            || split(packed, first, left, work),
            || split(packed, second, right, work),
        );
    }
}
