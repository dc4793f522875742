//! What the machines ask of a solver: table 2.2, figure 2.3, and whether whole steps keep real time.

use nalgebra::{DMatrix, DVector};

use super::record::{Recording, count, milliseconds, residual, share, thinned};
use super::{models, pattern};
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
                (there.condition, r.condition.as_ref().map(|c| c.whole))
            })
            .column("condition number of A, diagonal scaled to 1", |(r, _)| {
                r.condition.as_ref().map(|c| c.scaled)
            })
            .column("condition number of A, compliant contacts", |(r, there)| {
                (there.condition, r.condition.as_ref().map(|c| c.compliant))
            })
            .column("directions without resistance", |(r, _)| {
                r.condition.as_ref().map(|c| c.singular)
            })
            .column("of them in rows of contacts [%]", |(r, _)| {
                r.condition.as_ref().and_then(|c| c.in_contacts)
            })
            .remark(|(r, _)| models::with_size(r.scene, r.remark.clone()))
            .notes([
                "Condition: eigenvalues of the largest island of the kept problem with the most rows; f64 sees no more \
                 than about 1e16.",
                "Compliant: contacts that are rigid here give way by 1e-10 m/N, the least compliance of table 2.1.",
            ]),
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

/// Least compliance of a constraint in the thesis (m/N) (table 2.1).
const LEAST_COMPLIANCE: f64 = 1e-10;

/// Of the largest island's A of the largest problem.
pub struct Condition {
    /// Condition number: as it is, and scaled to a unit diagonal.
    whole: f64,
    scaled: f64,
    /// That of A with contacts that give way by [`LEAST_COMPLIANCE`] where they are rigid.
    compliant: f64,
    /// Eigenvalues that rounding does not tell from zero, and the share of their eigenvectors in rows of contacts (%); none
    /// where there are none.
    singular: f64,
    in_contacts: Option<f64>,
}

/// How near to singular the problem with the most rows is, and in which rows.
pub fn condition(bench: &Bench, recording: &Recording) -> Result<Option<Condition>> {
    let Some(kept) = recording.largest() else {
        return Ok(None);
    };
    let Some(view) = pattern::view(bench, kept, pattern::SKYLINE)? else {
        return Ok(None);
    };
    let (problem, n) = (&kept.problem, view.row.len());
    let a = dense(problem, &view.row);
    let scale = a.diagonal().map(|d| 1.0 / d.sqrt());
    let scaled = DMatrix::from_fn(n, n, |i, k| a[(i, k)] * scale[i] * scale[k]);
    let is_contact = |i: usize| (view.row[i] as usize) < problem.contact_rows();
    let gives_way = LEAST_COMPLIANCE / recording.step.powi(2);
    let compliant = DMatrix::from_fn(n, n, |i, k| {
        let rigid = i == k && is_contact(i) && stiff(problem, view.row[i]);
        a[(i, k)] + if rigid { gives_way } else { 0.0 }
    });
    let eigen = a.symmetric_eigen();
    let largest = eigen.eigenvalues.amax();
    let (mut singular, mut share) = (0.0, 0.0);
    for (value, vector) in eigen
        .eigenvalues
        .iter()
        .zip(eigen.eigenvectors.column_iter())
    {
        if value.abs() <= n as f64 * f64::EPSILON * largest {
            let own = vector.iter().enumerate().filter(|(i, _)| is_contact(*i));
            singular += 1.0;
            share += own.map(|(_, x)| x * x).sum::<f64>();
        }
    }
    Ok(Some(Condition {
        whole: ratio(&eigen.eigenvalues),
        scaled: ratio(&scaled.symmetric_eigenvalues()),
        compliant: ratio(&compliant.symmetric_eigenvalues()),
        singular,
        in_contacts: (singular > 0.0).then(|| 100.0 * share / singular),
    }))
}

/// Largest eigenvalue over the smallest, by size.
fn ratio(values: &DVector<f64>) -> f64 {
    let values = values.map(f64::abs);
    values.max() / values.min()
}

/// Whether a row of a contact has no compliance.
fn stiff(problem: &Problem, row: u32) -> bool {
    let contacts = &problem.contacts;
    let c = (0..contacts.len()).find(|c| contacts.rows(*c).contains(&(row as usize)));
    c.is_some_and(|c| contacts.compliance[c] == [0.0; 2])
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
