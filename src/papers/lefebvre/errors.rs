//! Table 2.4: what downdating does to the factor.

use super::figures::{DOWNDATE_ERRORS, SKYLINE_ERRORS};
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
    let mut rows = Vec::new();
    for replay in replays {
        for (method, errors) in METHODS.into_iter().zip([DOWNDATE_ERRORS, SKYLINE_ERRORS]) {
            let there = errors.iter().find(|(scene, _)| *scene == replay.scene);
            let there = there.map(|(_, error)| *error);
            let solves = replay.with_tight_rows(&method);
            let of =
                |error: &str| brief(solves.iter().filter_map(|(_, t)| t.report.statistic(error)));
            let here = of("downdate error");
            let remark = match here {
                Some(_) => format!("{} problems", solves.len()),
                None => "no step had a tight row".to_owned(),
            };
            let keys = (replay.scene, method);
            rows.push((keys, "‖L − L_fresh‖/‖L_fresh‖", there, here, remark));
            if let Some(error) = of("factor error") {
                let name = "‖L L^T − A_FF‖/‖A_FF‖";
                rows.push((keys, name, None, Some(error), String::new()));
            }
        }
    }
    let title = "Error of the last factor of problems with a tight row, always downdating";
    findings.table(
        Columns::new("lefebvre-2.4", title, "Lefebvre 2020, table 2.4", &rows)
            .key("scene", |((scene, _), ..)| scene)
            .key("factorisation", |((_, method), ..)| method)
            .key("error", |(_, error, ..)| error)
            .columns(["min", "max", "mean", "median"], |(.., there, here, _)| {
                [0, 1, 2, 3].map(|k| (there.map(|p| p[k]), here.map(|h| h[k])))
            })
            .remark(|(.., remark)| remark)
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
