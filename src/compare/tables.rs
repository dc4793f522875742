//! Comparisons as comma-separated values.

use super::{FIELDS, Outcome, status_word};
use crate::measure::report;

/// What solvers made of a problem.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The scene or file that the problem comes from.
    pub scene: &'a str,
    /// Its step; none where it is not known.
    pub step: Option<u64>,
    /// What they made of it.
    pub outcomes: &'a [Outcome],
}

/// One line per solver and problem: all of [`FIELDS`].
///
/// # Errors
/// None that come from numbers and names.
pub fn csv<'a>(all: impl IntoIterator<Item = Compared<'a>>) -> Result<String, csv::Error> {
    let header = ["scene", "step", "solver", "status"].into_iter();
    let header: Vec<&str> = header.chain(FIELDS.iter().map(|f| f.name)).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for Compared {
        scene,
        step,
        outcomes,
    } in all
    {
        for o in outcomes {
            let step = step.map_or(String::new(), |step| step.to_string());
            let status = status_word(&o.report.status);
            let mut row = vec![scene.to_owned(), step, o.label.clone(), status.into()];
            let values = FIELDS.iter().map(|field| (field.value)(o));
            row.extend(values.map(|v| v.map_or(String::new(), |v| v.to_string())));
            rows.push(row);
        }
    }
    report::csv(&header, rows)
}

/// One line per iteration of each solver that recorded them.
///
/// # Errors
/// None that come from numbers and names.
pub fn histories<'a>(all: impl IntoIterator<Item = Compared<'a>>) -> Result<String, csv::Error> {
    let header = [
        "scene",
        "step",
        "solver",
        "iteration",
        "time_ms",
        "residual",
        "delta",
    ];
    let mut rows = Vec::new();
    for c in all {
        for o in c.outcomes {
            for p in &o.report.history {
                let time = 1e3 * (o.report.prepare_time + p.time);
                let values = (time, p.residual, p.delta);
                rows.push((c.scene, c.step, &o.label, p.iteration, values));
            }
        }
    }
    report::csv(&header, rows)
}
