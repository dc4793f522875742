//! Residual against iteration, and against time.

use super::Outcome;
use crate::measure::plot::{Axis, Mark, Plot};
use crate::solve::HistoryPoint;

/// The two plots of a comparison; `what` is the problem, for the titles.
pub fn convergence(outcomes: &[Outcome], what: &str) -> [Plot; 2] {
    let residual = Axis::Log("residual [m/s]");
    let mut by_iteration = Plot::new(
        format!("Residual by iteration: {what}"),
        Axis::Log("iteration"),
        residual,
    );
    let mut by_time = Plot::new(
        format!("Residual by time, preparation included: {what}"),
        Axis::Log("time [ms]"),
        residual,
    );
    for outcome in outcomes {
        let history = &outcome.report.history;
        let prepare = outcome.report.prepare_time;
        let at = |x: fn(&HistoryPoint, f64) -> f64| {
            history.iter().map(move |p| [x(p, prepare), p.residual])
        };
        let name = outcome.name_with_law();
        by_iteration.add(&name, at(|p, _| f64::from(p.iteration)), Mark::Line);
        by_time.add(&name, at(|p, t| 1e3 * (t + p.time)), Mark::Line);
    }
    [by_iteration, by_time]
}
