//! `hybrid`: direct solvers on parts of islands, whose couplings are iterated (Lacoursière 2007).
//!
//! - `partition`: which bodies are solved together;
//! - `parts`: the problems of the parts and of what couples them, and their solvers;
//! - `exact`: what the parts answer to the impulses that couple them, and `small`: the problem that this makes of these.
//!
//! The primary parts are what hangs together within the parts of bodies: they share no body, and are solved side by side.
//! What couples bodies of different parts is the secondary, and what of it hangs together is solved as one. Each sees of
//! the other what its impulses have made of the bodies' velocities, and nothing else. Iterations alternate between both
//! (algorithm 1).

mod exact;
mod partition;
mod parts;
mod small;
#[cfg(test)]
mod tests;

use std::time::Instant;

use self::partition::{Cuts, Partition};
use self::parts::Parts;
use super::bpp::FACTORIZATIONS;
use super::prox::shorten;
use super::{
    HistoryPoint, Over, Parameter, ParameterKind, Parameters, Request, SolveReport, Solver,
    SolverInfo, Status,
};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "hybrid",
    summary: "direct solvers on parts of a machine, whose couplings are iterated: for machines of hundreds of bodies; an \
              iteration solves every part and every coupling once",
    source: "Lacoursière 2007",
    least_iterations: 1,
    obstacle: || None,
    parameters: &[
        Parameter {
            name: "depth",
            unit: "-",
            summary: "how many bodies deep a part takes in chains of a higher group that it is coupled with",
            source: "Lacoursière 2007, section 4, k",
            kind: ParameterKind::Integer {
                default: 2,
                range: [0, 1000],
            },
        },
        Parameter {
            name: "segment",
            unit: "-",
            summary: "most bodies of a segment of a chain",
            source: "Lacoursière 2007, section 6",
            kind: ParameterKind::Integer {
                default: 10,
                range: [1, 1_000_000],
            },
        },
        Parameter {
            name: "primary",
            unit: "-",
            summary: "what solves parts and couplings. bpp: block principal pivoting, for friction boxes. newton: every \
                      contact's own law",
            source: "Lacoursière 2007, section 6",
            kind: ParameterKind::Choice {
                default: "bpp",
                options: &["bpp", "newton"],
            },
        },
        Parameter {
            name: "segments",
            unit: "-",
            summary: "what solves the parts of chains. direct: as all others. gauss-seidel: at most 20 sweeps, or until an \
                      impulse changes by less than 1e-3 m/s of its row",
            source: "Lacoursière 2007, section 6, table 2",
            kind: ParameterKind::Choice {
                default: "direct",
                options: &["direct", "gauss-seidel"],
            },
        },
        Parameter {
            name: "factorization",
            unit: "-",
            summary: "that of bpp",
            source: "Lefebvre 2020, 2.2 and 3.2",
            kind: ParameterKind::Choice {
                default: "skyline",
                options: FACTORIZATIONS,
            },
        },
        Parameter {
            name: "coupling",
            unit: "-",
            summary: "exact: from what the parts answer to the impulses that couple them. plain: block Gauss–Seidel. \
                      conjugate: that along conjugate directions",
            source: "Lacoursière 2007, algorithm 1; Silcowitz, Niebe & Erleben 2010",
            kind: ParameterKind::Choice {
                default: "exact",
                options: &["exact", "plain", "conjugate"],
            },
        },
    ],
    make: |parameters| Box::new(Hybrid::new(parameters)),
};

/// Damping of exact couplings, as a share of what their impulses do to their own bodies (-): the least one, and what it
/// falls to after one that led nearer, and rises from after one that did not.
const LEAST_DAMPING: f64 = 1e-4;
const RELEASE: f64 = 0.1;

/// How couplings are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coupling {
    Exact,
    Plain,
    Conjugate,
}

/// One solve.
struct Run<'a> {
    problem: &'a Problem,
    request: &'a Request,
    start: Instant,
    /// The least residual (m/s).
    least: f64,
}

/// The solver. It carries no state from step to step, only memory.
struct Hybrid {
    cuts: Cuts,
    coupling: Coupling,
    law: JudgedLaw,
    partition: Partition,
    parts: Parts,
    workspace: ResidualWorkspace,
    best: Vec<f64>,
    /// Exact couplings that led no nearer.
    undone: u32,
    damping: f64,
}

impl Hybrid {
    fn new(parameters: &Parameters) -> Self {
        let is_exact = parameters.choice("primary") == "newton";
        Self {
            cuts: Cuts {
                depth: parameters.integer("depth") as usize,
                segment: parameters.integer("segment") as usize,
            },
            coupling: match parameters.choice("coupling") {
                "plain" => Coupling::Plain,
                "conjugate" => Coupling::Conjugate,
                _ => Coupling::Exact,
            },
            law: match is_exact {
                true => JudgedLaw::Own,
                false => JudgedLaw::Intervals,
            },
            partition: Partition::default(),
            parts: Parts::new(parameters),
            workspace: ResidualWorkspace::default(),
            best: Vec::new(),
            undone: 0,
            damping: 0.0,
        }
    }

    /// Iterates on the parts that are there, since `start`.
    fn iterate(
        &mut self,
        problem: &Problem,
        request: &Request,
        start: Instant,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let mut report = SolveReport {
            prepare_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        let mut run = Run {
            problem,
            request,
            start: Instant::now(),
            least: f64::INFINITY,
        };
        self.best.clear();
        self.best.extend_from_slice(lambda);
        lambda.fill(0.0);
        self.parts.begin();
        self.undone = 0;
        self.damping = 0.0;
        let failure = self.couple(&mut run, lambda, &mut report).err();
        report.delta = self.parts.change();
        lambda.copy_from_slice(&self.best);
        problem.velocities(lambda, u);
        let (least, tolerance) = (run.least, request.budget.tolerance);
        report.status = match failure {
            Some(why) => Status::Failed(why),
            None if !least.is_finite() => Status::Failed("a number that is not finite".into()),
            None if least <= tolerance => Status::Converged,
            None if self.parts.are_coupled() => Status::Budget,
            None => self.parts.status(),
        };
        // The result is the best of them.
        if let Some(last) = report.history.last_mut() {
            last.residual = least;
        }
        let is_whole = report.status == Status::Converged || !report.status.is_usable();
        if !is_whole && shorten(problem, lambda, u) {
            problem.velocities(lambda, u);
        }
        report.solve_time = run.start.elapsed().as_secs_f64() - report.record_time;
        self.note(&mut report);
        report
    }

    /// Couples until the residual is at most the tolerance, or the budget is spent.
    fn couple(
        &mut self,
        run: &mut Run<'_>,
        lambda: &mut [f64],
        report: &mut SolveReport,
    ) -> Result<(), String> {
        let budget = &run.request.budget;
        let is_exact = self.coupling == Coupling::Exact;
        let is_coupled = self.parts.are_coupled();
        let mut error = f64::INFINITY;
        if is_exact || !is_coupled {
            self.parts.solve_parts(run.problem, true)?;
            error = self.measure(run, lambda);
            if error <= budget.tolerance || !is_coupled {
                report.iterations = 1;
                self.record(run, error, report);
                return Ok(());
            }
        }
        let limit = budget.time_limit();
        while report.iterations < budget.iterations
            && limit.is_none_or(|limit| run.start.elapsed() < limit)
        {
            let is_first = report.iterations == 0;
            report.iterations += 1;
            error = match self.coupling {
                Coupling::Exact => self.couple_exactly(run, lambda, error)?,
                accelerated => {
                    let accelerates = accelerated == Coupling::Conjugate;
                    self.parts.solve_parts(run.problem, is_first)?;
                    self.parts.solve_couplings(run.problem, accelerates)?;
                    self.measure(run, lambda)
                }
            };
            self.record(run, error, report);
            if error <= budget.tolerance {
                break;
            }
        }
        Ok(())
    }

    /// One exact coupling, and the parts under it. Where the parts' sets change on the way, so that it leads no nearer, one
    /// that is damped more and more; where none leads nearer, a plain one in its place.
    fn couple_exactly(
        &mut self,
        run: &mut Run<'_>,
        lambda: &mut [f64],
        before: f64,
    ) -> Result<f64, String> {
        let problem = run.problem;
        self.parts.keep();
        loop {
            if self.parts.couple_exactly(problem, self.damping) {
                self.parts.solve_parts(problem, false)?;
                let error = self.measure(run, lambda);
                let [begin, end] = self.parts.slopes(problem);
                if error < before || (begin < 0.0 && end <= 0.0) {
                    self.damping *= RELEASE;
                    if self.damping < LEAST_DAMPING {
                        self.damping = 0.0;
                    }
                    return Ok(error);
                }
            }
            self.parts.go_back();
            if self.damping >= 1.0 {
                break;
            }
            self.damping = (self.damping / RELEASE).max(LEAST_DAMPING);
        }
        self.undone += 1;
        self.parts.solve_couplings(problem, false)?;
        self.parts.solve_parts(problem, false)?;
        Ok(self.measure(run, lambda))
    }

    /// The residual of what the parts have come to (m/s), which is kept if it is the best.
    fn measure(&mut self, run: &mut Run<'_>, lambda: &mut [f64]) -> f64 {
        self.parts.store(run.problem, lambda);
        let judged = residual::evaluate(run.problem, lambda, self.law, &mut self.workspace);
        let error = judged.residual;
        if error < run.least {
            run.least = error;
            self.best.copy_from_slice(lambda);
        }
        error
    }

    fn record(&self, run: &Run<'_>, residual: f64, report: &mut SolveReport) {
        if run.request.history {
            report.history.push(HistoryPoint {
                iteration: report.iterations,
                time: run.start.elapsed().as_secs_f64(),
                residual,
                delta: self.parts.change(),
            });
        }
    }

    fn note(&self, report: &mut SolveReport) {
        let [bodies, rows] = self.parts.largest(&self.partition);
        let [primaries, secondaries] = self.parts.times();
        let numbers = [
            (
                "parts",
                "Of bodies, those of whole islands included.",
                "-",
                Over::Last,
                self.partition.len() as f64,
            ),
            (
                "bodies of the largest part",
                "Of all parts.",
                "-",
                Over::Last,
                bodies,
            ),
            (
                "couplings undone",
                "Exact ones that led no nearer, however damped, in whose place a plain one was made.",
                "-",
                Over::Sum,
                f64::from(self.undone),
            ),
            (
                "coupling rows",
                "Of contacts and joints between bodies of different parts.",
                "-",
                Over::Last,
                rows,
            ),
            (
                "couplings",
                "Times that every part and every coupling was solved.",
                "-",
                Over::Sum,
                f64::from(report.iterations),
            ),
            (
                "time of parts",
                "Of all kinds of them, one after the other.",
                "ms",
                Over::Sum,
                1e3 * primaries,
            ),
            (
                "time of couplings",
                "What the parts answer included.",
                "ms",
                Over::Sum,
                1e3 * secondaries,
            ),
        ];
        for (name, summary, unit, over, value) in numbers {
            report.note(name, summary, unit, over, value);
        }
        if let Some([most, least]) = self.parts.norms(&self.partition) {
            let summary = "‖S_ij‖ of what two parts answer to the impulses that couple them.";
            report.note("strongest coupling", summary, "1/kg", Over::Last, most);
            report.note("weakest coupling", summary, "1/kg", Over::Last, least);
        }
    }
}

impl Solver for Hybrid {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn judged_law(&self) -> JudgedLaw {
        self.law
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        self.partition.find(problem, self.cuts);
        self.parts.take(problem, &self.partition);
        self.parts.load(problem, lambda);
        self.iterate(problem, request, start, lambda, u)
    }

    fn solve_again(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        self.parts.renew(problem);
        self.parts.load(problem, lambda);
        self.iterate(problem, request, start, lambda, u)
    }
}
