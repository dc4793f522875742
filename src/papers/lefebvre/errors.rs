//! Table 2.4: what downdating does to the factor.

use super::figures::MACHINES;
use super::record::{self, Recording, Replay};
use crate::measure::Summary;
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};

const METHODS: [Method; 2] = [
    Method::new(
        "downdate: bpp factorization=downdate warm_start=false refactor_share=1 verify=true",
    ),
    Method::new("skyline: bpp factorization=skyline warm_start=false refactor_share=1 verify=true"),
];

/// Solves a machine's problems with both.
pub fn replay(bench: &Bench, recording: &Recording) -> Result<Replay> {
    record::replay(bench, recording, &METHODS, (1, bench.either(0.4, 20.0)))
}

/// Compares the factors of all machines.
pub fn report(findings: &mut Findings, replays: &[Replay]) {
    struct Row {
        keys: [String; 3],
        there: Option<[f64; 4]>,
        here: Option<[f64; 4]>,
        remark: String,
    }
    let mut rows = Vec::new();
    for replay in replays {
        let machine = MACHINES.iter().find(|m| m.scene == replay.scene);
        for (k, method) in METHODS.into_iter().enumerate() {
            let solves = replay.with_tight_rows(&method);
            let of =
                |error: &str| brief(solves.iter().filter_map(|(_, t)| t.report.statistic(error)));
            let keys = |error: &str| {
                [
                    replay.scene.to_owned(),
                    method.to_string(),
                    error.to_owned(),
                ]
            };
            let here = of("downdate error");
            rows.push(Row {
                keys: keys("‖L − L_fresh‖/‖L_fresh‖"),
                there: machine.map(|m| m.errors[k]),
                here,
                remark: match here {
                    Some(_) => format!("{} problems", solves.len()),
                    None => "no step had a tight row".to_owned(),
                },
            });
            if let Some(error) = of("factor error") {
                rows.push(Row {
                    keys: keys("‖LLᵀ − A_FF‖/‖A_FF‖"),
                    there: None,
                    here: Some(error),
                    remark: String::new(),
                });
            }
        }
    }
    let title = "Error of the last factor of problems with a tight row, always downdating";
    findings.table(
        Columns::new("lefebvre-2.4", title, "Lefebvre 2020, table 2.4", &rows)
            .key("scene", |r| &r.keys[0])
            .key("factorisation", |r| &r.keys[1])
            .key("error", |r| &r.keys[2])
            .columns(["min", "max", "mean", "median"], |r| {
                [0, 1, 2, 3].map(|k| (r.there.map(|p| p[k]), r.here.map(|h| h[k])))
            })
            .remark(|r| &r.remark)
            .note(
                "Frobenius norms, A scaled to a unit diagonal; the thesis names no norm. Worst island of each problem.",
            ),
    );
}

/// Least, largest, mean, median of those that are finite.
fn brief(values: impl Iterator<Item = f64>) -> Option<[f64; 4]> {
    let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let s = Summary::some(values)?;
    Some([least, s.max, s.mean, s.median])
}
