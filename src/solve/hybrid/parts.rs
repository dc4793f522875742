//! The problems of the parts and of what couples them, each kind as one problem whose islands are the parts, so that one
//! call of a solver solves them side by side.

use std::time::Instant;

use super::exact::{self, Exact};
use super::partition::Partition;
use super::slot::{Slot, Solvers};
use crate::math::Twist;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::subproblem::Subproblem;
use crate::solve::{Budget, Parameters, Status, work};

/// The kinds of parts, in the order in which they are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Islands that are not cut.
    Alone,
    /// Parts that are no chains, and all where one solver solves all.
    Main,
    /// Parts of chains, where another solver solves these.
    Segments,
    /// What couples parts.
    Secondary,
}

const KINDS: [Kind; 4] = [Kind::Alone, Kind::Main, Kind::Segments, Kind::Secondary];

/// The parts of a problem. Keeps its memory.
pub struct Parts {
    slots: [Slot; 4],
    solvers: Solvers,
    exact: Exact,
    /// Most multiplications of a solve, and those of exact couplings.
    most: f64,
    coupling_work: f64,
    /// Whether `exact` is of the present parts.
    is_taken: bool,
    /// The secondary's impulses before an iteration, and the direction that it went along.
    before: Vec<f64>,
    direction: Vec<f64>,
    /// What the iteration has changed of them, and twice the energy of that (J).
    step: Vec<f64>,
    square: f64,
    change: f64,
    /// w of the couplings before an exact one (m/s).
    gaps: Vec<f64>,
}

impl Parts {
    /// With the solvers that the parameters name.
    pub fn new(parameters: &Parameters) -> Self {
        let solvers = Solvers::new(parameters);
        let is_swept = |kind| solvers.sweeps_segments && kind == Kind::Segments;
        Self {
            slots: KINDS.map(|kind| solvers.slot(is_swept(kind))),
            solvers,
            exact: Exact::default(),
            most: work::limit(parameters),
            coupling_work: 0.0,
            is_taken: false,
            before: Vec::new(),
            direction: Vec::new(),
            step: Vec::new(),
            square: 0.0,
            change: 0.0,
            gaps: Vec::new(),
        }
    }

    /// Takes the parts of a problem.
    pub fn take(&mut self, problem: &Problem, partition: &Partition) {
        self.is_taken = false;
        let sweeps_segments = self.solvers.sweeps_segments;
        let kind = |bodies: &[u32]| {
            let island = bodies.iter().map(|b| problem.islands.of_body[*b as usize]);
            let island = island
                .filter(|i| (*i as usize) < partition.is_cut.len())
                .min()?;
            if !partition.is_cut[island as usize] {
                return Some(Kind::Alone);
            }
            let Some(part) = partition.of(bodies) else {
                return Some(Kind::Secondary);
            };
            let is_swept = sweeps_segments && partition.is_chain(part as usize);
            Some(if is_swept { Kind::Segments } else { Kind::Main })
        };
        for (slot, own) in self.slots.iter_mut().zip(KINDS) {
            slot.part
                .take_those(problem, |bodies| kind(bodies) == Some(own));
            slot.is_known = false;
            if self.solvers.have_boxes() && own == Kind::Segments {
                // What pivoting solves, sweeps are to solve too.
                let friction = slot.part.problem.contacts.friction.values_mut();
                let discs = friction.iter_mut().filter(|f| f.law == FrictionLaw::Disc);
                discs.for_each(|f| f.law = FrictionLaw::Box);
            }
        }
    }

    /// Takes what may have changed of the problem that was taken last: biases of general rows, and free velocities.
    pub fn renew(&mut self, problem: &Problem) {
        for slot in &mut self.slots {
            slot.part.renew(problem);
        }
    }

    /// Takes the impulses of the whole, whose time begins here.
    pub fn load(&mut self, problem: &Problem, lambda: &[f64], budget: &Budget) {
        self.change = 0.0;
        self.coupling_work = 0.0;
        for slot in &mut self.slots {
            slot.load(problem, lambda, budget);
            slot.momenta.clear();
        }
        self.slots[Kind::Secondary as usize].find_momenta();
    }

    /// Forgets the direction of earlier iterations.
    pub fn begin(&mut self) {
        self.square = 0.0;
        self.direction.clear();
        let rows = self.slots[Kind::Secondary as usize].part.lambda.len();
        self.direction.resize(rows, 0.0);
    }

    /// Parts and couplings are solved only until their errors are at most `error` (m/s), where their solvers may; whole islands
    /// as well as they can, for they are solved once.
    pub fn aim_at(&mut self, error: f64) {
        let [_, main, segments, secondary] = &mut self.slots;
        for slot in [main, segments, secondary] {
            slot.aim_at(error);
        }
    }

    /// Solves every part under the couplings' impulses; whole islands the first time alone. Says why where that fails.
    pub fn solve_parts(&mut self, problem: &Problem, is_first: bool) -> Result<(), String> {
        let [alone, main, segments, secondary] = &mut self.slots;
        let coupling = &*secondary.momenta;
        let ((first, second), third) = rayon::join(
            || {
                rayon::join(
                    || main.solve(|body| after(problem, body, [coupling])),
                    || segments.solve(|body| after(problem, body, [coupling])),
                )
            },
            || match is_first {
                true => alone.solve(|body| problem.bodies.free_velocity[body]),
                false => Ok(()),
            },
        );
        first.and(second).and(third)
    }

    /// Solves what couples the parts under their impulses, and goes on along a conjugate direction if it `accelerates`.
    /// Says why where that fails.
    pub fn solve_couplings(&mut self, problem: &Problem, accelerates: bool) -> Result<(), String> {
        let [_, main, segments, secondary] = &mut self.slots;
        self.before.clone_from(&secondary.part.lambda);
        let primaries = [&main.momenta, &segments.momenta].map(Vec::as_slice);
        let solved = secondary.solve(|body| after(problem, body, primaries));
        self.note_change();
        let secondary = &mut self.slots[Kind::Secondary as usize];
        if accelerates && !secondary.part.is_empty() {
            let Subproblem {
                problem, lambda, ..
            } = &mut secondary.part;
            let square = energy(problem, &self.step, &mut secondary.velocity);
            let direction = &mut self.direction;
            accelerate(&self.step, lambda, direction, [self.square, square]);
            self.square = square;
            problem.momenta(lambda, &mut secondary.momenta);
        }
        solved
    }

    /// Finds the impulses of the couplings from what the parts answer to them, near the present ones with a `damping` above
    /// 0. False where that is not possible, or takes more work than there is.
    pub fn couple_exactly(&mut self, problem: &Problem, damping: f64) -> bool {
        let left = self.most - self.work();
        let [_, main, segments, secondary] = &mut self.slots;
        if !self.is_taken {
            let primaries = [&main.part.problem, &segments.part.problem];
            self.exact.take(&secondary.part.problem, &primaries);
            self.is_taken = true;
        }
        let work = self.exact.work_of_a_coupling();
        if work > left {
            return false;
        }
        self.coupling_work += work;
        self.before.clone_from(&secondary.part.lambda);
        let start = Instant::now();
        let u = &mut secondary.velocity;
        find_velocities(
            problem,
            [&main.momenta, &segments.momenta, &secondary.momenta],
            u,
        );
        let primaries = [&main.part, &segments.part];
        let primaries = primaries.map(|part| (&part.problem, &*part.lambda));
        let Subproblem {
            problem, lambda, ..
        } = &mut secondary.part;
        let is_solved = {
            let how = (self.solvers.have_boxes(), damping, left);
            (self.exact).solve(problem, lambda, u, primaries, how)
        };
        exact::gaps(problem, &self.before, u, &mut self.gaps);
        if is_solved {
            problem.momenta(lambda, &mut secondary.momenta);
        } else {
            lambda.clone_from(&self.before);
        }
        secondary.time += start.elapsed().as_secs_f64();
        self.note_change();
        is_solved
    }

    /// How fast the energy that is to be least falls along the last change of the couplings' impulses, before it and now:
    /// the change times w, below zero where it falls (J).
    pub fn slopes(&mut self, problem: &Problem) -> [f64; 2] {
        let [_, main, segments, secondary] = &mut self.slots;
        let u = &mut secondary.velocity;
        find_velocities(
            problem,
            [&main.momenta, &segments.momenta, &secondary.momenta],
            u,
        );
        let along = |w: &[f64]| w.iter().zip(&self.step).map(|(w, d)| w * d).sum();
        let before = along(&self.gaps);
        let Subproblem {
            problem, lambda, ..
        } = &secondary.part;
        let mut now = Vec::new();
        exact::gaps(problem, lambda, u, &mut now);
        [before, along(&now)]
    }

    fn note_change(&mut self) {
        let now = &self.slots[Kind::Secondary as usize].part.lambda;
        self.step.clear();
        let pairs = self.before.iter().zip(now);
        self.step.extend(pairs.map(|(before, now)| now - before));
        let step = self.step.iter();
        self.change = step.fold(0.0, |most: f64, d| most.max(d.abs()));
    }

    /// Keeps all impulses as those to go back to.
    pub fn keep(&mut self) {
        for slot in &mut self.slots {
            slot.kept.clone_from(&slot.part.lambda);
        }
    }

    /// Goes back to the impulses that were kept.
    pub fn go_back(&mut self) {
        for slot in &mut self.slots {
            slot.part.lambda.clone_from(&slot.kept);
            slot.find_momenta();
        }
    }

    /// How the parts' last solves ended.
    pub fn status(&self) -> Status {
        let of = self.slots.iter().map(|slot| slot.status.clone());
        of.fold(Status::Converged, Status::or_worse)
    }

    /// The largest change of a coupling impulse in the last iteration (N s).
    pub fn change(&self) -> f64 {
        self.change
    }

    /// Whether anything couples parts.
    pub fn are_coupled(&self) -> bool {
        !self.slots[Kind::Secondary as usize].part.is_empty()
    }

    /// Writes the impulses to their places in the whole.
    pub fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        for slot in &self.slots {
            slot.part.store(problem, lambda);
        }
    }

    /// The largest and the least ‖S_ij‖ of parts that are coupled (1/kg); none where couplings were not exact.
    pub fn norms(&self, partition: &Partition) -> Option<[f64; 2]> {
        (self.is_taken.then(|| self.exact.norms(&partition.of_body))).flatten()
    }

    /// What solving the parts, and what couples them, took in all (multiplications).
    pub fn work(&self) -> f64 {
        self.slots.iter().map(|slot| slot.work).sum::<f64>() + self.coupling_work
    }

    /// Whether it is as much as it may be.
    pub fn are_out_of_work(&self) -> bool {
        self.work() >= self.most
    }

    /// What solving the parts, and what couples them, took in all (s).
    pub fn times(&self) -> [f64; 2] {
        let [alone, main, segments, secondary] = &self.slots;
        [alone.time + main.time + segments.time, secondary.time]
    }
}

/// Fletcher and Reeves' conjugate directions: a change of the secondary's impulses stands for the gradient, preconditioned
/// by the secondary's own A, so that its square is Δᵀ A Δ.
fn accelerate(change: &[f64], lambda: &mut [f64], direction: &mut [f64], squares: [f64; 2]) {
    let [earlier, now] = squares;
    let beta = if earlier > 0.0 { now / earlier } else { 0.0 };
    let beta = if beta < 1.0 { beta } else { 0.0 };
    for ((lambda, change), p) in lambda.iter_mut().zip(change).zip(direction) {
        *lambda += beta * *p;
        *p = change + beta * *p;
    }
}

/// Λᵀ J M⁻¹ Jᵀ Λ (J).
fn energy(problem: &Problem, lambda: &[f64], momenta: &mut Vec<Twist>) -> f64 {
    problem.momenta(lambda, momenta);
    let of = |(body, p): (usize, &Twist)| {
        let turned = problem.bodies.inverse_inertia[body].mul_vec(p.angular);
        problem.bodies.inverse_mass[body] * p.linear.norm_squared() + p.angular.dot(&turned)
    };
    momenta.iter().enumerate().map(of).sum()
}

/// u_free + M⁻¹ times momenta that add up, of one body.
fn after<const N: usize>(problem: &Problem, body: usize, momenta: [&[Twist]; N]) -> Twist {
    let mut sum = Twist::ZERO;
    for own in momenta.iter().filter_map(|m| m.get(body)) {
        sum.linear += own.linear;
        sum.angular += own.angular;
    }
    problem.velocity_after(body, &sum)
}

/// The same of all bodies.
fn find_velocities(problem: &Problem, momenta: [&Vec<Twist>; 3], u: &mut Vec<Twist>) {
    let momenta = momenta.map(Vec::as_slice);
    u.clear();
    u.extend((0..problem.bodies.len()).map(|body| after(problem, body, momenta)));
}
