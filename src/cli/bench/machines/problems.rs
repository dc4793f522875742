//! What the machines ask of a solver: table 2.2, figure 2.3, and whether whole steps keep real time.

use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};
use moreau::problem::Problem;
use nalgebra::DMatrix;

use super::super::measure::Bench;
use super::super::{Failure, Findings, methods, paper};
use super::patterns;
use super::record::{Kept, Recording, Step};
use super::speed::thinned;

/// Length of a frame (ms).
const FRAME: f64 = 1e3 / 60.0;

/// What is found, machine by machine.
pub struct Problems {
    sizes: Table,
    steps: Table,
    shares: Table,
    plot: Plot,
}

impl Default for Problems {
    fn default() -> Self {
        let quantities = [
            ("mass ratio", "-"),
            ("most rows", "-"),
            ("condition number of A", "-"),
            ("condition number of A, diagonal scaled to 1", "-"),
        ];
        let mut sizes = Table::new("lefebvre-2.2", Layout::Beside, &["scene"], &quantities)
            .titled("The machines", "Lefebvre 2020, table 2.2");
        sizes.notes.push(
            "Condition: eigenvalues of the largest island of the kept problem with the most rows; f64 sees no more than about 1e16."
                .to_owned(),
        );
        let quantities = [
            ("mean", "ms"),
            ("median", "ms"),
            ("p95", "ms"),
            ("max", "ms"),
            ("frame over p95", "-"),
            ("largest residual", "m/s"),
            ("median residual", "m/s"),
            ("largest joint error", "mm"),
            ("steps not settled", "-"),
        ];
        let mut steps = Table::new("real-time", Layout::Columns, &["scene"], &quantities)
            .titled("Whole steps on one thread: bpp, skyline, warm", "");
        steps.notes.push(format!(
            "A frame of 1/60 s has {FRAME:.1} ms: above 1, 95 % of the steps keep real time."
        ));
        let quantities = [
            ("mean, in the end", "%"),
            ("max, in the end", "%"),
            ("mean, on the way", "%"),
            ("max, on the way", "%"),
            ("steps above 15 %", "%"),
        ];
        let shares = Table::new("lefebvre-figure-2.3", Layout::Columns, &["scene"], &quantities)
            .titled(
                "Share of rows that are tight",
                "Lefebvre 2020, figure 2.3, of which the text says: mostly below 15 %, forklift up to 5 %",
            );
        Self {
            sizes,
            steps,
            shares,
            plot: Plot {
                title: "Share of rows that are tight".into(),
                x: Axis::linear("time", "s"),
                y: Axis::linear("tight rows", "%"),
                ..Plot::default()
            },
        }
    }
}

impl Problems {
    /// Adds a recording.
    pub fn add(&mut self, bench: &Bench, recording: &Recording) -> Result<(), Failure> {
        if let Some(machine) = recording.machine() {
            self.size(bench, recording, machine)?;
        }
        self.step(recording);
        self.share(recording);
        Ok(())
    }

    fn size(
        &mut self,
        bench: &Bench,
        recording: &Recording,
        machine: &paper::Machine,
    ) -> Result<(), Failure> {
        let condition = match recording.largest() {
            Some(kept) => condition(bench, kept)?,
            None => [None; 2],
        };
        let most = recording.summary(|s| s.rows).max;
        let pairs = [
            Pair::both(machine.mass_ratio, recording.mass_ratio),
            Pair::both(machine.rows, most),
            Pair {
                paper: Some(machine.condition),
                here: condition[0],
            },
            condition[1].into(),
        ];
        self.sizes
            .row([recording.scene], pairs, recording.remark.clone());
        Ok(())
    }

    fn step(&mut self, recording: &Recording) {
        let time = recording.summary(|s| 1e3 * s.seconds);
        let residual = recording.summary(|s| s.residual);
        let unsettled = recording.steps.iter().filter(|s| !s.settled).count();
        self.steps.row(
            [recording.scene],
            [
                time.mean,
                time.median,
                time.p95,
                time.max,
                FRAME / time.p95,
                residual.max,
                residual.median,
                recording.summary(|s| 1e3 * s.joint_error).max,
                unsettled as f64,
            ]
            .map(Pair::here),
            format!("of {} steps", recording.steps.len()),
        );
    }

    fn share(&mut self, recording: &Recording) {
        let scene = recording.scene;
        let (end, way) = (
            recording.summary(|s| s.tight),
            recording.summary(|s| s.most_tight),
        );
        let above = recording.summary(|s| if s.tight > 15.0 { 100.0 } else { 0.0 });
        self.shares.row(
            [scene],
            [end.mean, end.max, way.mean, way.max, above.mean].map(Pair::here),
            "",
        );
        if recording.machine().is_some() {
            let point = |s: &Step| [s.time, s.tight];
            let line = recording.steps.iter().map(point).collect();
            self.plot.add(scene, thinned(line), Mark::Line);
        }
    }

    /// Hands everything over.
    pub fn finish(mut self, findings: &mut Findings) {
        if let Some(last) = self
            .plot
            .series
            .iter()
            .filter_map(|s| s.points.last())
            .next()
        {
            let limit = vec![[0.0, 15.0], [last[0], 15.0]];
            self.plot
                .add("downdating pays below", limit, Mark::Reference);
        }
        findings.table(self.sizes);
        findings.table(self.steps);
        findings.table(self.shares);
        findings.plot("machines-tight", self.plot);
    }
}

/// Condition number of the largest island's A: as it is, and scaled to a unit diagonal.
fn condition(bench: &Bench, kept: &Kept) -> Result<[Option<f64>; 2], Failure> {
    let method = methods::bpp("skyline", "skyline", true, false);
    let Some(view) = patterns::view(bench, kept, &method)? else {
        return Ok([None; 2]);
    };
    let a = dense(&kept.problem, &view.row);
    let scale = a.diagonal().map(|d| 1.0 / d.sqrt());
    let scaled = DMatrix::from_fn(a.nrows(), a.ncols(), |i, k| a[(i, k)] * scale[i] * scale[k]);
    Ok([Some(spread(a)), Some(spread(scaled))])
}

/// Largest eigenvalue over the smallest, by size.
fn spread(a: DMatrix<f64>) -> f64 {
    let values = a.symmetric_eigenvalues().map(f64::abs);
    values.max() / values.min()
}

/// A over some rows.
fn dense(problem: &Problem, rows: &[u32]) -> DMatrix<f64> {
    let mut problem = problem.clone();
    problem.bodies.free_velocity.fill(Default::default());
    problem.contacts.bias.fill([0.0; 4]);
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
