//! `--report csv` of `moreau run`: a line per step, written when the step is taken.

use std::io::{self, Write};

use moreau::measure::Stage;
use moreau::measure::energy::Balance;
use moreau::step::StepReport;

use super::record::outcome;
use super::{Failure, energy};

/// Writes one line per step, every number to its last digit; what a step lacks is an empty cell. The solver's own
/// numbers are called as in the JSON report, which also has their units: those of the first step have columns, and those
/// that come later stand as name=value in the last one.
pub struct Rows<W: Write> {
    /// None once the reader has gone away.
    out: Option<csv::Writer<W>>,
    /// Columns of the solver's own; none before the first step.
    own: Option<Vec<&'static str>>,
}

impl<W: Write> Rows<W> {
    pub fn new(out: W) -> Self {
        Self {
            out: Some(csv::Writer::from_writer(out)),
            own: None,
        }
    }

    /// Writes a step. A reader that has gone away (`| head`) is no failure.
    pub fn add(&mut self, step: &StepReport) -> Result<(), Failure> {
        let own = match self.own.take() {
            Some(own) => own,
            None => {
                let own = step.solve.statistics.iter().map(|s| s.name).collect();
                self.write(header(&own))?;
                own
            }
        };
        let row = row(step, &own);
        self.own = Some(own);
        self.write(row)
    }

    /// Writes the header of a run without a step.
    pub fn finish(mut self) -> Result<(), Failure> {
        match self.own {
            None => self.write(header(&Vec::new())),
            Some(_) => Ok(()),
        }
    }

    fn write(&mut self, cells: Vec<String>) -> Result<(), Failure> {
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        let written = out
            .write_record(cells)
            .map_err(|error| match error.into_kind() {
                csv::ErrorKind::Io(error) => error,
                other => io::Error::other(format!("{other:?}")),
            });
        match written.and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.out = None;
                Ok(())
            }
            done => Ok(done?),
        }
    }
}

fn header(own: &Vec<&'static str>) -> Vec<String> {
    let names = "step,time,contacts,dynamic_contacts,islands,iterations,residual,residual_coulomb,status,\
                 penetration,joint_error";
    let names = names.split(',').chain(Balance::names()).map(String::from);
    let stages = Stage::ALL.map(|stage| format!("{}_ms", stage.name()));
    let own = own.iter().copied().chain(["other"]).map(String::from);
    names.chain(stages).chain(own).collect()
}

fn row(s: &StepReport, own: &[&'static str]) -> Vec<String> {
    let some = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:e}"));
    let cells = [
        s.step.to_string(),
        s.time.to_string(),
        s.contacts.to_string(),
        s.dynamic_contacts.to_string(),
        s.islands.to_string(),
        s.solve.iterations.to_string(),
        some(s.residual.map(|r| r.residual)),
        some(s.residual_coulomb.map(|r| r.residual)),
        outcome(s).to_owned(),
        format!("{:e}", s.penetration),
        format!("{:e}", s.joint_error),
    ];
    let stages = Stage::ALL.map(|stage| (1e3 * s.timings.get(stage)).to_string());
    let values = own.iter().map(|name| {
        let value = s.solve.statistic(name);
        value.map_or(String::new(), |v| v.to_string())
    });
    let later = s.solve.statistics.iter().filter(|s| !own.contains(&s.name));
    let later: Vec<String> = later.map(|s| format!("{}={}", s.name, s.value)).collect();
    let cells = cells.into_iter().chain(energy::cells(s.energy.as_ref()));
    let cells = cells.chain(stages).chain(values);
    cells.chain([later.join("; ")]).collect()
}

#[cfg(test)]
mod tests {
    use moreau::solve::Over;

    use super::*;

    /// A solver may count on one step what it does not on the next.
    #[test]
    fn every_statistic_is_written_and_a_step_without_it_has_an_empty_cell() {
        let mut text = Vec::new();
        let mut rows = Rows::new(&mut text);
        for numbers in [
            &[("pivots", 3.0)][..],
            &[("fallbacks", 0.1 + 0.2), ("more", 1.0)],
        ] {
            let mut step = StepReport::default();
            for (name, value) in numbers {
                step.solve.note(name, "", "-", Over::Sum, *value);
            }
            rows.add(&step).expect("memory");
        }
        rows.finish().expect("memory");
        let csv = String::from_utf8(text).expect("text");
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].ends_with(",measure_ms,pivots,other"), "{csv}");
        let own = ",residual,residual_coulomb,status,";
        assert!(
            lines[0].contains(own) && lines[1].contains(",,,converged,"),
            "{csv}"
        );
        let last = ",,fallbacks=0.30000000000000004; more=1";
        assert!(
            lines[1].ends_with(",3,") && lines[2].ends_with(last),
            "{csv}"
        );
        assert!(lines.len() == 3);
    }

    #[test]
    fn a_run_without_steps_has_a_header() {
        let mut text = Vec::new();
        Rows::new(&mut text).finish().expect("memory");
        let csv = String::from_utf8(text).expect("text");
        assert!(
            csv.starts_with("step,time,") && csv.lines().count() == 1,
            "{csv}"
        );
    }
}
