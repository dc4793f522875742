//! `hybrid`: direct solvers on parts of islands, whose couplings are iterated (Lacoursière 2007).
//!
//! - `partition` and `graph`: which bodies are solved together;
//! - `parts`: the problems of the parts and of what couples them, and their solvers;
//! - `turns`: all parts, then all that couples them, and so on;
//! - `asynchronous`, `units` and `schedule`: each of these as soon as a thread comes to it;
//! - `slot`: some of a problem's contacts and rows, and their solver;
//! - `exact`: what the parts answer to the impulses that couple them, and `small`: the problem that this makes of these.
//!
//! The primary parts are what hangs together within the parts of bodies: they share no body, and are solved side by side.
//! What couples bodies of different parts is the secondary, and what of it hangs together is solved as one. Each sees of
//! the other what its impulses have made of the bodies' velocities, and nothing else. Iterations alternate between both
//! (algorithm 1).

mod asynchronous;
mod exact;
mod graph;
mod partition;
mod parts;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod slot;
mod small;
#[cfg(test)]
mod tests;
mod turns;
mod units;

use std::collections::BTreeMap;
use std::time::Instant;

use self::asynchronous::Asynchronous;
use self::graph::Order;
use self::partition::{Cuts, Imports, Method, Partition};
use self::turns::Turns;
use super::bpp::FACTORIZATIONS;
use super::sweeps::shorten;
use super::{
    Over, Parameter, ParameterKind, Parameters, PartsView, Request, SolveReport, Solver,
    SolverInfo, SolverView, Status, Traits, Value, work,
};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::JudgedLaw;

/// How the work is spread.
const DETERMINISTIC: &str = "deterministic";
const ASYNC: &str = "async";

/// Why the results with these parameters depend on timing, if they do.
fn timing(parameters: &BTreeMap<String, Value>) -> Option<&'static str> {
    let execution = parameters.get("execution")?;
    (*execution == Value::Choice(ASYNC.into())).then_some(
        "execution: async takes parts in the order in which threads come to them, so that the result depends on timing",
    )
}

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "hybrid",
    summary: "direct solvers on parts of a machine, whose couplings are iterated: for machines of hundreds of bodies; an \
              iteration solves every part and every coupling once",
    source: "Lacoursière 2007",
    least_iterations: 1,
    traits: Traits {
        has_parts: true,
        timing,
        ..Traits::NONE
    },
    parameters: &[
        Parameter {
            name: "partition",
            unit: "-",
            summary: "where islands are cut in which nobody has named groups. chains: at chains of joints. strength: into \
                      parts of about as many bodies, where constraints depend least on each other, by growing and \
                      refining. spectral: the same in the order of the Fiedler vector",
            source: "Lacoursière 2007, section 4; Fiduccia & Mattheyses 1982; Pothen, Simon & Liou 1990",
            kind: ParameterKind::Choice {
                default: "chains",
                options: &["chains", "strength", "spectral"],
            },
        },
        Parameter {
            name: "bodies",
            unit: "-",
            summary: "most bodies of a part that is cut by strength",
            source: "-",
            kind: ParameterKind::Integer {
                default: 50,
                range: [1, 1_000_000],
            },
        },
        Parameter {
            name: "depth",
            unit: "-",
            summary: "how many bodies deep a part takes in what it is coupled with of higher groups",
            source: "Lacoursière 2007, section 4, k",
            kind: ParameterKind::Integer {
                default: 2,
                range: [0, 1000],
            },
        },
        Parameter {
            name: "imports",
            unit: "-",
            summary: "what a part takes in. links: links of chains, but of chains that would be taken whole. all: bodies with \
                      any number of joints, so that machines of higher groups are cut within",
            source: "Lacoursière 2007, section 4",
            kind: ParameterKind::Choice {
                default: "links",
                options: &["links", "all"],
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
        Parameter {
            name: "execution",
            unit: "-",
            summary: "deterministic: parts side by side, then couplings. async: every part and every coupling as soon as what \
                      it depends on is news, with plain couplings; results depend on timing, so that they have no hash and \
                      cannot be recorded",
            source: "Lacoursière 2007, section 5",
            kind: ParameterKind::Choice {
                default: DETERMINISTIC,
                options: &[DETERMINISTIC, ASYNC],
            },
        },
        work::parameter(work::DIRECT),
    ],
    make: |parameters| Box::new(Hybrid::new(parameters)),
};

/// One solve.
struct Run<'a> {
    problem: &'a Problem,
    request: &'a Request,
    start: Instant,
}

impl<'a> Run<'a> {
    /// Begins to iterate on parts that have been prepared since `start`.
    fn begin(problem: &'a Problem, request: &'a Request, start: Instant) -> (Self, SolveReport) {
        let report = SolveReport {
            prepare_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        };
        let run = Self {
            problem,
            request,
            start: Instant::now(),
        };
        (run, report)
    }
}

/// How the work is spread.
enum Execution {
    Turns(Box<Turns>),
    Async(Box<Asynchronous>),
}

/// The solver. It carries no state from step to step, only memory.
struct Hybrid {
    cuts: Cuts,
    law: JudgedLaw,
    partition: Partition,
    execution: Execution,
}

impl Hybrid {
    fn new(parameters: &Parameters) -> Self {
        let law = match parameters.choice("primary") {
            "newton" => JudgedLaw::Own,
            _ => JudgedLaw::Intervals,
        };
        Self {
            cuts: Cuts {
                depth: parameters.integer("depth") as usize,
                imports: match parameters.choice("imports") {
                    "all" => Imports::All,
                    _ => Imports::Links,
                },
                segment: parameters.integer("segment") as usize,
                method: match parameters.choice("partition") {
                    "strength" => Method::Strength(Order::Grown),
                    "spectral" => Method::Strength(Order::Spectral),
                    _ => Method::Chains,
                },
                bodies: parameters.integer("bodies") as usize,
            },
            law,
            partition: Partition::default(),
            execution: match parameters.choice("execution") {
                ASYNC => Execution::Async(Box::new(Asynchronous::new(parameters, law))),
                _ => Execution::Turns(Box::new(Turns::new(parameters, law))),
            },
        }
    }

    /// Solves the parts that are there, since `start`.
    fn run(
        &mut self,
        problem: &Problem,
        request: &Request,
        start: Instant,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let partition = &self.partition;
        match &mut self.execution {
            Execution::Turns(turns) => turns.solve(problem, partition, request, start, lambda, u),
            Execution::Async(units) => units.solve(problem, partition, request, start, lambda, u),
        }
    }
}

/// Finds the velocities and the status of a solve that has not failed by itself, and what is to be done about a result
/// that leaves this residual (m/s).
fn conclude(
    run: &Run<'_>,
    residual: f64,
    lambda: &mut [f64],
    u: &mut Vec<Twist>,
    report: &mut SolveReport,
) {
    run.problem.velocities(lambda, u);
    if !report.status.is_usable() {
        return;
    }
    if !residual.is_finite() {
        report.status = Status::Failed("a number that is not finite".into());
    } else if residual <= run.request.budget.tolerance {
        report.status = Status::Converged;
    } else if shorten(run.problem, lambda, u) {
        run.problem.velocities(lambda, u);
    }
}

/// What is reported, however the work is spread.
struct Numbers {
    couplings: f64,
    /// Of parts and of couplings (s).
    times: [f64; 2],
    /// Of all of them (multiplications).
    work: f64,
}

impl Numbers {
    fn note(&self, partition: &Partition, report: &mut SolveReport) {
        let [parts, couplings] = self.times;
        let numbers = [
            (
                "parts",
                "Of bodies, those of whole islands included.",
                "-",
                Over::Last,
                partition.len() as f64,
            ),
            (
                "bodies of the largest part",
                "Of all parts.",
                "-",
                Over::Last,
                f64::from(partition.largest()),
            ),
            (
                "coupling rows",
                "Of contacts and joints between bodies of different parts.",
                "-",
                Over::Last,
                f64::from(partition.coupling_rows()),
            ),
            (
                "couplings",
                "Times that every part and every coupling was solved, or in the mean where these are not the same.",
                "-",
                Over::Sum,
                self.couplings,
            ),
            (
                work::NAME,
                work::SUMMARY,
                "1e6",
                Over::Sum,
                1e-6 * self.work,
            ),
            (
                "time of parts",
                "Of all of them, as if one after the other.",
                "ms",
                Over::Sum,
                1e3 * parts,
            ),
            (
                "time of couplings",
                "What the parts answered included.",
                "ms",
                Over::Sum,
                1e3 * couplings,
            ),
        ];
        for (name, summary, unit, over, value) in numbers {
            report.note(name, summary, unit, over, value);
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

    fn view(&self) -> &dyn SolverView {
        self
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
        match &mut self.execution {
            Execution::Turns(turns) => turns.parts.take(problem, &self.partition),
            Execution::Async(own) => own.units.take(problem, &self.partition),
        }
        self.run(problem, request, start, lambda, u)
    }

    fn solve_again(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = Instant::now();
        match &mut self.execution {
            Execution::Turns(turns) => turns.parts.renew(problem),
            Execution::Async(own) if own.units.are_forgotten() => {
                return self.solve(problem, request, lambda, u);
            }
            Execution::Async(own) => own.units.renew(problem),
        }
        self.run(problem, request, start, lambda, u)
    }
}

impl SolverView for Hybrid {
    fn parts(&self) -> Option<PartsView> {
        Some(match &self.execution {
            Execution::Turns(turns) => turns.view(&self.partition),
            Execution::Async(own) => own.view(&self.partition),
        })
    }
}
