//! What the machines ask of a solver: table 2.2, figure 2.3, and whether whole steps keep real time.

use nalgebra::DMatrix;

use super::pattern;
use super::record::{Recording, count, milliseconds, residual, share, thinned};
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::Bench;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::problem::Problem;
use crate::solve::Status;
use crate::step::StepReport;

/// Length of a frame (ms).
const FRAME: f64 = 1e3 / 60.0;

/// Adds tables and plot of all scenes.
pub fn report(findings: &mut Findings, recordings: &[Recording]) {
    sizes(findings, recordings);
    steps(findings, recordings);
    shares(findings, recordings);
}

fn sizes(findings: &mut Findings, recordings: &[Recording]) {
    let machines = recordings.iter().filter_map(|r| Some((r, r.machine()?)));
    let machines: Vec<_> = machines.collect();
    findings.table(
        Columns::new("lefebvre-2.2", "The machines", "Lefebvre 2020, table 2.2", &machines)
            .key("scene", |(r, _)| r.scene)
            .column("mass ratio", |(r, there)| (there.mass_ratio, r.mass_ratio))
            .column("most rows", |(r, there)| (there.rows, r.summary(|s| count(s, "rows")).max))
            .column("condition number of A", |(r, there)| {
                (there.condition, r.condition.map(|c| c[0]))
            })
            .column("condition number of A, diagonal scaled to 1", |(r, _)| {
                r.condition.map(|c| c[1])
            })
            .remark(|(r, _)| &r.remark)
            .note(
                "Condition: eigenvalues of the largest island of the kept problem with the most rows; f64 sees no more \
                 than about 1e16.",
            ),
    );
}

fn steps(findings: &mut Findings, recordings: &[Recording]) {
    let names = [
        "mean [ms]",
        "median [ms]",
        "p95 [ms]",
        "max [ms]",
        "frame over p95",
    ];
    let unsettled = |s: &&StepReport| s.solve.status != Status::Converged;
    let title = "Whole steps on one thread: bpp, skyline, warm";
    findings.table(
        Columns::new("real-time", title, "", recordings)
            .key("scene", |r| r.scene)
            .column("mass ratio", |r| r.mass_ratio)
            .column("most rows", |r| r.summary(|s| count(s, "rows")).max)
            .columns(names, |r| {
                let time = r.summary(milliseconds);
                [time.mean, time.median, time.p95, time.max, FRAME / time.p95]
            })
            .column("largest residual [m/s]", |r| r.summary(residual).max)
            .column("median residual [m/s]", |r| r.summary(residual).median)
            .column("largest joint error [mm]", |r| {
                1e3 * r.summary(|s| s.joint_error).max
            })
            .column("steps not settled", |r| {
                r.steps.iter().filter(unsettled).count() as f64
            })
            .remark(|r| format!("of {} steps", r.steps.len()))
            .note(format!(
                "A frame of 1/60 s has {FRAME:.1} ms: above 1, 95 % of the steps keep real time."
            )),
    );
}

fn shares(findings: &mut Findings, recordings: &[Recording]) {
    let tight = |step: &StepReport| share(step, "tight rows");
    let most = |step: &StepReport| share(step, "most tight rows");
    let title = "Share of rows that are tight";
    let source =
        "Lefebvre 2020, figure 2.3, of which the text says: mostly below 15 %, forklift up to 5 %";
    findings.table(
        Columns::new("lefebvre-figure-2.3", title, source, recordings)
            .key("scene", |r| r.scene)
            .column("mean, in the end [%]", |r| r.summary(tight).mean)
            .column("max, in the end [%]", |r| r.summary(tight).max)
            .column("mean, on the way [%]", |r| r.summary(most).mean)
            .column("max, on the way [%]", |r| r.summary(most).max)
            .column("steps above 15 % [%]", |r| {
                r.summary(|s| if tight(s) > 15.0 { 100.0 } else { 0.0 })
                    .mean
            }),
    );
    let mut plot = Plot::new(
        title,
        Axis::Linear("time [s]"),
        Axis::Linear("tight rows [%]"),
    );
    for recording in recordings.iter().filter(|r| r.machine().is_some()) {
        let line = recording.steps.iter().map(|s| [s.time, tight(s)]);
        plot.add(recording.scene, thinned(line), Mark::Line);
    }
    if let Some(last) = plot.series.first().and_then(|s| s.points.last()) {
        let limit = vec![[0.0, 15.0], [last[0], 15.0]];
        plot.add("downdating pays below", limit, Mark::Reference);
    }
    findings.plot("machines-tight", plot);
}

/// Condition number of the largest island's A of the largest problem: as it is, and scaled to a unit diagonal.
pub fn condition(bench: &Bench, recording: &Recording) -> Result<Option<[f64; 2]>> {
    let Some(kept) = recording.largest() else {
        return Ok(None);
    };
    let Some(view) = pattern::view(bench, kept, pattern::SKYLINE)? else {
        return Ok(None);
    };
    let a = dense(&kept.problem, &view.row);
    let scale = a.diagonal().map(|d| 1.0 / d.sqrt());
    let scaled = DMatrix::from_fn(a.nrows(), a.ncols(), |i, k| a[(i, k)] * scale[i] * scale[k]);
    Ok(Some([a, scaled].map(|a| {
        // Largest eigenvalue over the smallest, by size.
        let values = a.symmetric_eigenvalues().map(f64::abs);
        values.max() / values.min()
    })))
}

/// A over some rows.
fn dense(problem: &Problem, rows: &[u32]) -> DMatrix<f64> {
    let mut problem = problem.clone();
    problem.bodies.free_velocity.fill(Default::default());
    problem.contacts.bias.fill([0.0; 3]);
    problem.contacts.couple_bias.clear();
    problem.rows.bias.fill(0.0);
    let n = rows.len();
    let mut a = DMatrix::zeros(n, n);
    let mut unit = vec![0.0; problem.row_count()];
    let mut u = Vec::new();
    let mut w = vec![0.0; problem.row_count()];
    for (column, row) in rows.iter().enumerate() {
        unit[*row as usize] = 1.0;
        problem.velocities(&unit, &mut u);
        for c in 0..problem.contacts.len() {
            let own = problem.contacts.rows(c);
            problem.contact_velocity(c, &u, &unit[own.clone()], &mut w[own]);
        }
        let first = problem.contact_rows();
        for r in 0..problem.rows.len() {
            w[first + r] = problem.row_velocity(r, &u, unit[first + r]);
        }
        for (k, other) in rows.iter().enumerate() {
            a[(k, column)] = w[*other as usize];
        }
        unit[*row as usize] = 0.0;
    }
    0.5 * (&a + a.transpose())
}
