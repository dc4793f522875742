//! A part of the problem with its solver.

use std::time::Instant;

use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::bpp::{Bpp, Tuning};
use crate::solve::subproblem::Subproblem;
use crate::solve::sweeps::gauss_seidel;
use crate::solve::{Budget, Parameters, Request, Solver, Status, Value, bpp, newton, work};

/// Where sweeps of segments end: after so many, or where the largest change of an impulse is so small (m/s).
const SWEEPS: u32 = 20;
const SWEPT: f64 = 1e-3;
/// The budget of direct solvers: iterations that end by themselves, and a tolerance that asks for all they can.
const ITERATIONS: u32 = 50_000;
const FINEST: f64 = 1e-12;

/// What parts are solved by.
#[derive(Clone, Debug)]
pub struct Solvers {
    /// The direct solver's name, and its parameters.
    name: String,
    factorization: String,
    /// What each solve may take (1e6 multiplications).
    work: f64,
    /// Whether segments of chains are swept.
    pub sweeps_segments: bool,
}

impl Solvers {
    /// Those that the parameters of `hybrid` name.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            name: parameters.choice("primary").to_owned(),
            factorization: parameters.choice("factorization").to_owned(),
            work: parameters.number(work::NAME),
            sweeps_segments: parameters.choice("segments") != "direct",
        }
    }

    /// Whether friction is solved as a box, whatever a contact's own law is.
    pub fn have_boxes(&self) -> bool {
        self.name == "bpp"
    }

    /// A part that is solved directly, or swept.
    pub fn slot(&self, is_swept: bool) -> Slot {
        match is_swept {
            true => {
                let sweeps = gauss_seidel::INFO.with_defaults();
                Slot::new(Own::Other(sweeps), SWEEPS, SWEPT)
            }
            false => Slot::new(self.direct(), ITERATIONS, FINEST),
        }
    }

    fn direct(&self) -> Own {
        let info = match self.have_boxes() {
            true => &bpp::INFO,
            false => &newton::INFO,
        };
        let mut own = Parameters::defaults(info.parameters);
        own.0.insert(work::NAME, Value::Number(self.work));
        if !self.have_boxes() {
            return Own::Other((info.make)(&own));
        }
        let factorization = Value::Choice(self.factorization.clone());
        own.0.insert("factorization", factorization);
        Own::Pivoting(Box::new(Bpp::new(&own)))
    }
}

/// A part's solver.
enum Own {
    /// That may be told to be less exact.
    Pivoting(Box<Bpp>),
    Other(Box<dyn Solver>),
}

impl Own {
    fn solver(&mut self) -> &mut dyn Solver {
        match self {
            Self::Pivoting(bpp) => bpp.as_mut(),
            Self::Other(solver) => solver.as_mut(),
        }
    }
}

/// Some of a problem's contacts and rows, and their solver. Keeps its memory.
pub struct Slot {
    /// The contacts and rows.
    pub part: Subproblem,
    solver: Own,
    budget: Budget,
    /// When the time of the budget has begun.
    begun: Instant,
    /// Scratch.
    pub velocity: Vec<Twist>,
    /// Jᵀ Λ (N s, N m s).
    pub momenta: Vec<Twist>,
    /// Impulses to go back to.
    pub kept: Vec<f64>,
    /// Whether the solver has solved this matrix before.
    pub is_known: bool,
    /// Solve time (s), and multiplications.
    pub time: f64,
    pub work: f64,
    /// How the last solve ended.
    pub status: Status,
}

impl Slot {
    fn new(solver: Own, iterations: u32, tolerance: f64) -> Self {
        Self {
            part: Subproblem::default(),
            solver,
            budget: Budget {
                iterations,
                tolerance,
                ..Budget::default()
            },
            begun: Instant::now(),
            velocity: Vec::new(),
            momenta: Vec::new(),
            kept: Vec::new(),
            is_known: false,
            time: 0.0,
            work: 0.0,
            status: Status::Converged,
        }
    }

    /// Solves only until its error is at most `error` (m/s), where its solver may; as well as it can for 0, or for what is
    /// no bound.
    pub fn aim_at(&mut self, error: f64) {
        if let Own::Pivoting(bpp) = &mut self.solver {
            let error = if error.is_finite() { error } else { 0.0 };
            let finest = Tuning::default().accurate;
            bpp.tune(|tuning| tuning.accurate = error.max(finest));
        }
    }

    /// Solves where bodies have these velocities without it. Says why where that fails.
    pub fn solve(&mut self, velocity: impl Fn(usize) -> Twist) -> Result<(), String> {
        self.status = Status::Converged;
        if self.part.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let free = &mut self.part.problem.bodies.free_velocity;
        for (body, free) in free.iter_mut().enumerate() {
            *free = velocity(body);
        }
        let request = Request {
            budget: self.budget.after(self.begun.elapsed().as_secs_f64()),
            history: false,
            ..Request::default()
        };
        let Subproblem {
            problem, lambda, ..
        } = &mut self.part;
        let (solver, u) = (self.solver.solver(), &mut self.velocity);
        let report = match self.is_known {
            true => solver.solve_again(problem, &request, lambda, u),
            false => solver.solve(problem, &request, lambda, u),
        };
        self.is_known = true;
        problem.momenta(lambda, &mut self.momenta);
        self.time += start.elapsed().as_secs_f64();
        self.work += 1e6 * report.statistic(work::NAME).unwrap_or(0.0);
        self.status = report.status;
        match &self.status {
            Status::Failed(why) => Err(why.clone()),
            _ => Ok(()),
        }
    }

    /// Takes the impulses of the whole, whose time begins here.
    pub fn load(&mut self, whole: &Problem, lambda: &[f64], budget: &Budget) {
        self.budget.time = budget.time;
        self.begun = Instant::now();
        self.part.load(whole, lambda);
        self.time = 0.0;
        self.work = 0.0;
    }

    /// Finds Jᵀ Λ.
    pub fn find_momenta(&mut self) {
        let Subproblem {
            problem, lambda, ..
        } = &self.part;
        problem.momenta(lambda, &mut self.momenta);
    }
}
