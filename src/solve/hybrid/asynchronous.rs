//! Every part and every coupling as soon as a thread comes to it: what comes out depends on timing.

use std::time::Instant;

use super::partition::Partition;
use super::slot::Solvers;
use super::units::{Moment, Units};
use super::{ASYNC, Numbers, Run, conclude};
use crate::math::Twist;
use crate::problem::Problem;
use crate::problem::residual::{self, JudgedLaw, ResidualWorkspace};
use crate::solve::{HistoryPoint, Over, Parameters, PartsView, Request, SolveReport, Status, work};

/// Units that are solved side by side. Keeps its memory.
pub struct Asynchronous {
    law: JudgedLaw,
    /// The units.
    pub units: Units,
    workspace: ResidualWorkspace,
    /// The units in the order in which they have finished.
    pub order: Vec<u32>,
    /// How often each was solved.
    iterations: Vec<u32>,
}

impl Asynchronous {
    /// As the parameters have it.
    pub fn new(parameters: &Parameters, law: JudgedLaw) -> Self {
        Self {
            law,
            units: Units::new(Solvers::new(parameters), work::limit(parameters)),
            workspace: ResidualWorkspace::default(),
            order: Vec::new(),
            iterations: Vec::new(),
        }
    }

    /// Solves the units that are there, since `start`.
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
        let begun = request.history.then(|| lambda.to_vec());
        let (ended, moments) = self.units.solve(problem, request, lambda);
        let mut residual = f64::NAN;
        match ended.failure {
            Some(why) => {
                report.status = Status::Failed(why);
                self.iterations.clear();
                self.units.forget();
            }
            None => {
                report.status = self.units.status();
                residual = self.judge(problem, lambda);
            }
        }
        conclude(&run, residual, lambda, u, &mut report);
        report.solve_time = run.start.elapsed().as_secs_f64();
        report.iterations = ended.iterations.iter().copied().max().unwrap_or(0);
        self.order = ended.order;
        if report.status.is_usable() {
            self.iterations = ended.iterations;
        }
        if let Some(mut past) = begun.filter(|_| report.status.is_usable()) {
            self.write_history(problem, &moments, &mut past, residual, &mut report);
            report.record_time = run.start.elapsed().as_secs_f64() - report.solve_time;
        }
        let [parts, couplings] = self.units.counts();
        let solved = self.order.len() as f64;
        let numbers = Numbers {
            couplings: solved / (parts + couplings).max(1) as f64,
            times: self.units.times(),
            work: self.units.work(),
        };
        numbers.note(partition, &mut report);
        let (summary, resting) = (
            "Parts and couplings for which nothing was new in the end, as a share of all of them.",
            ended.resting as f64 / (parts + couplings).max(1) as f64,
        );
        report.note("units at rest", summary, "-", Over::Last, resting);
        report.remarks.push(format!(
            "{ASYNC} execution: the result depends on timing, and has no hash to compare"
        ));
        report
    }

    /// The parts of the last solve. The first unit is all that is not cut, and stands with each of its parts.
    pub fn view(&self, partition: &Partition) -> PartsView {
        let mut view = partition.view(1);
        let units = self.iterations.iter().zip(self.units.unit_times());
        let couplings = &mut view.couplings;
        couplings.iterations = 0;
        view.coupling_units = 0;
        let mut time = 0.0;
        for (unit, (iterations, spent)) in units.enumerate().skip(1) {
            match self.units.parts_of(unit) {
                [part] => {
                    let part = &mut view.parts[*part as usize];
                    (part.iterations, part.time) = (*iterations, Some(spent));
                }
                _ => {
                    view.coupling_units += 1;
                    couplings.iterations = couplings.iterations.max(*iterations);
                    time += spent;
                }
            }
        }
        couplings.time = Some(time);
        view
    }

    fn judge(&mut self, problem: &Problem, lambda: &[f64]) -> f64 {
        residual::evaluate(problem, lambda, self.law, &mut self.workspace).residual
    }

    /// One point whenever as many units have finished as there are, from the impulses at the start.
    fn write_history(
        &mut self,
        problem: &Problem,
        moments: &[Moment],
        lambda: &mut [f64],
        residual: f64,
        report: &mut SolveReport,
    ) {
        let [parts, couplings] = self.units.counts();
        for (of, iteration) in moments.chunks(parts + couplings).zip(1..) {
            for moment in of {
                self.units.store_moment(moment, problem, lambda);
            }
            report.history.push(HistoryPoint {
                iteration,
                time: of.last().map_or(0.0, |moment| moment.time),
                residual: self.judge(problem, lambda),
                delta: of.iter().fold(0.0, |most, moment| moment.delta.max(most)),
            });
        }
        if let Some(last) = report.history.last_mut() {
            (last.iteration, last.residual) = (report.iterations.max(last.iteration), residual);
            report.delta = last.delta;
        }
    }
}
