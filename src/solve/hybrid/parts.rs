//! The problems of the parts and of what couples them, each kind as one problem whose islands are the parts, so that one
//! call of a solver solves them side by side.

use std::time::Instant;

use super::exact::{self, Exact};
use super::partition::Partition;
use crate::math::Twist;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::part::Part;
use crate::solve::prox::gauss_seidel;
use crate::solve::{Budget, Parameters, Request, Solver, Status, Value, bpp, newton};

/// Where sweeps of segments end: after so many, or where the largest change of an impulse is so small (m/s).
const SWEEPS: u32 = 20;
const SWEPT: f64 = 1e-3;
/// What direct solvers are granted: iterations that end by themselves, and a tolerance that asks for all they can.
const ITERATIONS: u32 = 50_000;
const FINEST: f64 = 1e-12;

/// The kinds of parts, in the order in which they are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Islands that are not cut.
    Alone,
    /// Parts of the lowest group, and all where one solver solves all.
    Main,
    /// Parts of other groups, where another solver solves these.
    Segments,
    /// What couples parts.
    Secondary,
}

const KINDS: [Kind; 4] = [Kind::Alone, Kind::Main, Kind::Segments, Kind::Secondary];

/// All parts of one kind and their solver.
struct Slot {
    part: Part,
    solver: Box<dyn Solver>,
    budget: Budget,
    velocity: Vec<Twist>,
    /// Jᵀ Λ of this kind (N s, N m s).
    momenta: Vec<Twist>,
    /// Impulses to go back to.
    kept: Vec<f64>,
    /// Whether the solver has solved this matrix before.
    is_known: bool,
    time: f64,
    /// How the last solve ended.
    status: Status,
}

impl Slot {
    fn new(solver: Box<dyn Solver>, iterations: u32, tolerance: f64) -> Self {
        Self {
            part: Part::default(),
            solver,
            budget: Budget {
                iterations,
                tolerance,
                ..Budget::default()
            },
            velocity: Vec::new(),
            momenta: Vec::new(),
            kept: Vec::new(),
            is_known: false,
            time: 0.0,
            status: Status::Converged,
        }
    }

    /// Solves under the momenta of others. Says why where that fails.
    fn solve(&mut self, whole: &Problem, others: [&[Twist]; 2]) -> Result<(), String> {
        self.status = Status::Converged;
        if self.part.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let free = &mut self.part.problem.bodies.free_velocity;
        for (body, free) in free.iter_mut().enumerate() {
            let mut momentum = Twist::ZERO;
            for other in others.iter().filter_map(|o| o.get(body)) {
                momentum.linear += other.linear;
                momentum.angular += other.angular;
            }
            *free = whole.velocity_after(body, &momentum);
        }
        let request = Request {
            budget: self.budget,
            history: false,
        };
        let Part {
            problem, lambda, ..
        } = &mut self.part;
        let (solver, u) = (&mut self.solver, &mut self.velocity);
        let report = match self.is_known {
            true => solver.solve_again(problem, &request, lambda, u),
            false => solver.solve(problem, &request, lambda, u),
        };
        self.is_known = true;
        problem.momenta(lambda, &mut self.momenta);
        self.time += start.elapsed().as_secs_f64();
        self.status = report.status;
        match &self.status {
            Status::Failed(why) => Err(why.clone()),
            _ => Ok(()),
        }
    }
}

/// The parts of a problem. Keeps its memory.
pub struct Parts {
    slots: [Slot; 4],
    sweeps_segments: bool,
    has_boxes: bool,
    exact: Exact,
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
        let name = parameters.choice("primary");
        let sweeps_segments = parameters.choice("segments") != "direct";
        let direct = || Slot::new(direct(name, parameters), ITERATIONS, FINEST);
        let swept = match sweeps_segments {
            true => Slot::new(gauss_seidel::INFO.with_defaults(), SWEEPS, SWEPT),
            false => direct(),
        };
        Self {
            slots: [direct(), direct(), swept, direct()],
            sweeps_segments,
            has_boxes: name == "bpp",
            exact: Exact::default(),
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
        let lowest = partition.group.iter().min().copied();
        let sweeps_segments = self.sweeps_segments;
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
            let is_main = Some(partition.group[part as usize]) == lowest || !sweeps_segments;
            Some(if is_main { Kind::Main } else { Kind::Segments })
        };
        for (slot, own) in self.slots.iter_mut().zip(KINDS) {
            slot.part
                .take_those(problem, |bodies| kind(bodies) == Some(own));
            slot.is_known = false;
            if self.has_boxes && own == Kind::Segments {
                // What pivoting solves, sweeps are to solve too.
                let friction = slot.part.problem.contacts.friction.iter_mut();
                let discs = friction.filter(|f| f.law == FrictionLaw::Disc);
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

    /// Takes the impulses of the whole.
    pub fn load(&mut self, problem: &Problem, lambda: &[f64]) {
        self.change = 0.0;
        for slot in &mut self.slots {
            slot.part.load(problem, lambda);
            slot.time = 0.0;
            slot.momenta.clear();
        }
        let Part {
            problem, lambda, ..
        } = &self.slots[Kind::Secondary as usize].part;
        let mut momenta = Vec::new();
        problem.momenta(lambda, &mut momenta);
        self.slots[Kind::Secondary as usize].momenta = momenta;
    }

    /// Forgets the direction of earlier iterations.
    pub fn begin(&mut self) {
        self.square = 0.0;
        self.direction.clear();
        let rows = self.slots[Kind::Secondary as usize].part.lambda.len();
        self.direction.resize(rows, 0.0);
    }

    /// Solves every part under the couplings' impulses; whole islands the first time alone. Says why where that fails.
    pub fn solve_parts(&mut self, problem: &Problem, is_first: bool) -> Result<(), String> {
        let [alone, main, segments, secondary] = &mut self.slots;
        let coupling = &*secondary.momenta;
        let ((first, second), third) = rayon::join(
            || {
                rayon::join(
                    || main.solve(problem, [coupling, &[]]),
                    || segments.solve(problem, [coupling, &[]]),
                )
            },
            || match is_first {
                true => alone.solve(problem, [&[], &[]]),
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
        let solved = secondary.solve(problem, [&main.momenta, &segments.momenta]);
        self.note_change();
        let secondary = &mut self.slots[Kind::Secondary as usize];
        if accelerates && !secondary.part.is_empty() {
            let Part {
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
    /// 0. False where that is not possible.
    pub fn couple_exactly(&mut self, problem: &Problem, damping: f64) -> bool {
        let [_, main, segments, secondary] = &mut self.slots;
        if !self.is_taken {
            let primaries = [&main.part.problem, &segments.part.problem];
            self.exact.take(&secondary.part.problem, &primaries);
            self.is_taken = true;
        }
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
        let Part {
            problem, lambda, ..
        } = &mut secondary.part;
        let is_solved = {
            let how = (self.has_boxes, damping);
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
        let Part {
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
            let Part {
                problem, lambda, ..
            } = &mut slot.part;
            lambda.clone_from(&slot.kept);
            problem.momenta(lambda, &mut slot.momenta);
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

    /// Bodies of the largest part, and rows that couple parts.
    pub fn largest(&self, partition: &Partition) -> [f64; 2] {
        let mut bodies = vec![0_u32; partition.len()];
        for part in &partition.of_body {
            if let Some(count) = bodies.get_mut(*part as usize) {
                *count += 1;
            }
        }
        let largest = bodies.iter().max().copied().unwrap_or(0);
        let rows = self.slots[Kind::Secondary as usize]
            .part
            .problem
            .row_count();
        [f64::from(largest), rows as f64]
    }

    /// The largest and the least ‖S_ij‖ of parts that are coupled (1/kg); none where couplings were not exact.
    pub fn norms(&self, partition: &Partition) -> Option<[f64; 2]> {
        (self.is_taken.then(|| self.exact.norms(&partition.of_body))).flatten()
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

/// u_free + M⁻¹ times momenta that add up.
fn find_velocities(problem: &Problem, momenta: [&Vec<Twist>; 3], u: &mut Vec<Twist>) {
    u.clear();
    u.extend((0..problem.bodies.len()).map(|body| {
        let mut sum = Twist::ZERO;
        for own in momenta.iter().filter_map(|m| m.get(body)) {
            sum.linear += own.linear;
            sum.angular += own.angular;
        }
        problem.velocity_after(body, &sum)
    }));
}

/// A direct solver for parts.
fn direct(name: &str, parameters: &Parameters) -> Box<dyn Solver> {
    match name {
        "bpp" => {
            let mut own = Parameters::defaults(bpp::INFO.parameters);
            let factorization = parameters.choice("factorization").to_owned();
            own.0.insert("factorization", Value::Choice(factorization));
            (bpp::INFO.make)(&own)
        }
        _ => newton::INFO.with_defaults(),
    }
}
