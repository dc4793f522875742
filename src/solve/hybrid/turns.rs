//! Parts side by side, then what couples them, in turn: the same for every number of threads.

use std::time::Instant;

use super::partition::Partition;
use super::parts::Parts;
use super::{Numbers, Run, conclude};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::solve::{HistoryPoint, Over, Parameters, PartsView, Request, SolveReport, Status};

/// Damping of exact couplings, as a share of what their impulses do to their own bodies (-): the least one, and what it
/// falls to after one that led nearer, and rises from after one that did not.
const LEAST_DAMPING: f64 = 1e-4;
const RELEASE: f64 = 0.1;

/// What exact couplings ask of their parts: errors of at most this share (-) of what the last coupling left, as in an inexact
/// Newton method (Dembo, Eisenstat & Steihaug 1982). Parts that are solved as well as they can spend nearly all work on
/// impulses that the next coupling changes. 99 logs in three parts at steps 120 and 200 take, in millions of multiplications
/// to 1e-6 m/s, 5,496 and 4,012 without it, 776 and 886 with 0.001, 758 and 763 with 0.003, 562 and 619 with 0.01, 760 and
/// 1,599 with 0.03; with 0.1 it takes 25 couplings, with 0.3 more than 40. Machines and nets take the same with 0.01 as without.
const FORCING: f64 = 0.01;

/// How couplings are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coupling {
    Exact,
    Plain,
    Conjugate,
}

/// Couplings in turn. Keeps its memory.
pub struct Turns {
    coupling: Coupling,
    law: JudgedLaw,
    /// The parts.
    pub parts: Parts,
    workspace: ResidualWorkspace,
    best: Vec<f64>,
    /// The least residual (m/s).
    least: f64,
    /// Exact couplings that led no nearer.
    undone: u32,
    damping: f64,
    /// How many couplings there were in the last solve.
    couplings: u32,
}

impl Turns {
    /// As the parameters have it.
    pub fn new(parameters: &Parameters, law: JudgedLaw) -> Self {
        Self {
            coupling: match parameters.choice("coupling") {
                "plain" => Coupling::Plain,
                "conjugate" => Coupling::Conjugate,
                _ => Coupling::Exact,
            },
            law,
            parts: Parts::new(parameters),
            workspace: ResidualWorkspace::default(),
            best: Vec::new(),
            least: f64::INFINITY,
            undone: 0,
            damping: 0.0,
            couplings: 0,
        }
    }

    /// Iterates on the parts that are there, since `start`.
    pub fn solve(
        &mut self,
        problem: &Problem,
        partition: &Partition,
        request: &Request,
        start: Instant,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let (run, mut report) = Run::begin(problem, request, start);
        self.parts.load(problem, lambda, &request.budget);
        self.best.clear();
        self.best.extend_from_slice(lambda);
        lambda.fill(0.0);
        self.parts.begin();
        self.least = f64::INFINITY;
        self.undone = 0;
        self.damping = 0.0;
        let failure = self.couple(&run, lambda, &mut report).err();
        report.delta = self.parts.change();
        lambda.copy_from_slice(&self.best);
        report.status = match failure {
            Some(why) => Status::Failed(why),
            None if self.parts.are_coupled() => Status::Budget,
            None => self.parts.status(),
        };
        // The result is the best of them.
        if let Some(last) = report.history.last_mut() {
            last.residual = self.least;
        }
        conclude(&run, self.least, lambda, u, &mut report);
        self.couplings = report.iterations;
        report.solve_time = run.start.elapsed().as_secs_f64();
        let numbers = Numbers {
            couplings: f64::from(report.iterations),
            times: self.parts.times(),
            work: self.parts.work(),
        };
        numbers.note(partition, &mut report);
        self.note(partition, &mut report);
        report
    }

    /// The parts of the last solve.
    pub fn view(&self, partition: &Partition) -> PartsView {
        let mut view = partition.view(self.couplings);
        view.couplings.time = Some(self.parts.times()[1]);
        view
    }

    /// Couples until the residual is at most the tolerance, or the budget is spent.
    fn couple(
        &mut self,
        run: &Run<'_>,
        lambda: &mut [f64],
        report: &mut SolveReport,
    ) -> Result<(), String> {
        let budget = &run.request.budget;
        let is_exact = self.coupling == Coupling::Exact;
        let is_coupled = self.parts.are_coupled();
        let mut error = f64::INFINITY;
        // Plain couplings need parts that are solved as well as they can be; this also forgets the last solve's aim.
        let mut aim = 0.0;
        self.parts.aim_at(aim);
        if is_exact && is_coupled {
            aim = FORCING * self.measure(run, lambda);
            self.parts.aim_at(aim);
            // The start is no result.
            self.least = f64::INFINITY;
        }
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
            && !self.parts.are_out_of_work()
        {
            let is_first = report.iterations == 0;
            report.iterations += 1;
            error = match self.coupling {
                Coupling::Exact => {
                    aim = aim.min(FORCING * error);
                    self.parts.aim_at(aim);
                    self.couple_exactly(run, lambda, error)?
                }
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
        run: &Run<'_>,
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
    fn measure(&mut self, run: &Run<'_>, lambda: &mut [f64]) -> f64 {
        self.parts.store(run.problem, lambda);
        let judged = residual::evaluate(run.problem, lambda, self.law, &mut self.workspace);
        let error = judged.residual;
        if error < self.least {
            self.least = error;
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

    fn note(&self, partition: &Partition, report: &mut SolveReport) {
        report.note(
            "couplings undone",
            "Exact ones that led no nearer, however damped, in whose place a plain one was made.",
            "-",
            Over::Sum,
            f64::from(self.undone),
        );
        if let Some([most, least]) = self.parts.norms(partition) {
            let summary = "‖S_ij‖ of what two parts answer to the impulses that couple them.";
            report.note("strongest coupling", summary, "1/kg", Over::Last, most);
            report.note("weakest coupling", summary, "1/kg", Over::Last, least);
        }
    }
}
