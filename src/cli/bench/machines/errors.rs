//! Table 2.4: what downdating does to the factor.

use moreau::measure::Summary;
use moreau::measure::table::{Layout, Pair, Table};
use moreau::solve::Value;

use super::super::measure::Bench;
use super::super::methods::{self, Method};
use super::super::{Failure, Findings};
use super::record::Recording;
use super::replay::replay;

/// What is found, machine by machine.
pub struct Errors(Table);

impl Default for Errors {
    fn default() -> Self {
        let keys = ["scene", "factorisation", "error"];
        let quantities = [("min", "-"), ("max", "-"), ("mean", "-"), ("median", "-")];
        let mut table = Table::new("lefebvre-2.4", Layout::Beside, &keys, &quantities).titled(
            "Error of the last factor of problems with a tight row, always downdating",
            "Lefebvre 2020, table 2.4",
        );
        table.notes.push(
            "Frobenius norms, A scaled to a unit diagonal; the thesis names no norm. Worst island of each problem."
                .to_owned(),
        );
        Self(table)
    }
}

fn verifying(label: &'static str, factorization: &str) -> Method {
    let mut method = methods::bpp(label, factorization, false, true);
    method.parameters.push(("verify", Value::Flag(true)));
    method
}

impl Errors {
    /// Compares factors of a machine's problems.
    pub fn add(&mut self, bench: &Bench, recording: &Recording) -> Result<(), Failure> {
        let names = ["downdate", "skyline"];
        let methods = names.map(|name| verifying(name, name));
        let seconds = bench.either(0.4, 20.0);
        let replay = replay(bench, recording, methods.to_vec(), 1, seconds)?;
        for (k, label) in names.into_iter().enumerate() {
            let solves = replay.with_tight_rows(label);
            let of = |error: fn(&moreau::solve::bpp::PivotReport) -> Option<f64>| {
                let values = solves.iter().filter_map(|s| error(&s.1.report));
                brief(values.filter(|v| v.is_finite()).collect())
            };
            let paper = recording.machine().map(|m| m.errors[k]);
            let fresh = of(|r| r.downdate_error);
            let pair = |i: usize| Pair {
                paper: paper.map(|p| p[i]),
                here: fresh.map(|f| f[i]),
            };
            let remark = match fresh {
                Some(_) => format!("{} problems", solves.len()),
                None => "no step had a tight row".to_owned(),
            };
            self.0.row(
                [recording.scene, label, "‖L − L_fresh‖/‖L_fresh‖"],
                [0, 1, 2, 3].map(pair),
                remark,
            );
            if let Some(error) = of(|r| r.factor_error) {
                self.0.row(
                    [recording.scene, label, "‖LLᵀ − A_FF‖/‖A_FF‖"],
                    error.map(Pair::here),
                    "",
                );
            }
        }
        Ok(())
    }

    /// Hands everything over.
    pub fn finish(self, findings: &mut Findings) {
        findings.table(self.0);
    }
}

/// Least, largest, mean, median.
fn brief(values: Vec<f64>) -> Option<[f64; 4]> {
    let least = values.iter().copied().reduce(f64::min)?;
    let s = Summary::of(&values);
    Some([least, s.max, s.mean, s.median])
}
