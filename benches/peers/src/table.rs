//! Results as aligned Markdown tables.

use std::fmt::Write as _;

use moreau::measure::report;

use crate::engine::Times;
use crate::run::{Measured, Outcome};

/// What the tables show, in words.
pub fn introduction() -> String {
    format!(
        "Moreau (default settings; most iterations per step as the table says) and \
         Rapier {RAPIER}\n(f32, parallel, SIMD, default integration parameters, no sleeping). \
         h = 1/60 s, g = 9.81 m/s², μ = 0.5, ε = 0. Times in ms;\nCPU is the \
         processor time of all threads (median), which other work on the machine does not touch. \
         Ratios are ours/Rapier's:\nbelow 1 ours is better.\n"
    )
}

/// The release in this package's manifest.
const RAPIER: &str = "0.36.1";

/// What a user sees: a line per scene, solver and number of threads, for the README.
pub fn summary(results: &[Outcome]) -> String {
    let header = [
        "scene",
        "threads",
        "solver, most",
        "ours median",
        "mean",
        "p95",
        "Rapier median",
        "mean",
        "p95",
        "deepest overlap ours [mm]",
        "Rapier [mm]",
    ];
    let rows = results.iter().map(|r| {
        let mut row = r.head();
        for m in [&r.ours, &r.rapier] {
            row.extend([
                ms(m.as_ref().map(|m| m.step.median)),
                ms(m.as_ref().map(|m| m.step.mean)),
                ms(m.as_ref().map(|m| m.step.p95)),
            ]);
        }
        row.extend([&r.ours, &r.rapier].map(|m| {
            let deepest = m.as_ref().map(|m| m.overlaps.deepest);
            text(deepest, |v| format!("{:.3}", 1e3 * v))
        }));
        row
    });
    let title = "Step, median, mean and 95th percentile, and deepest overlap at the end";
    table(title, &header, rows.collect())
}

/// Time per step, of collision detection and of the solver.
pub fn steps(results: &[Outcome]) -> String {
    let header = [
        "scene",
        "threads",
        "solver, most",
        "ours median",
        "p95",
        "Rapier median",
        "p95",
        "ratio",
        "CPU ours",
        "Rapier",
        "ratio",
        "collision ours",
        "Rapier",
        "ratio",
        "solve ours",
        "Rapier",
        "ratio",
        "prepare + solve ours",
        "of Rapier's step",
        "contacts ours",
        "Rapier",
        "iterations",
    ];
    let rows = results.iter().map(|r| {
        let ours = |f: &dyn Fn(&Measured) -> f64| r.ours.as_ref().map(f);
        let rapier = |f: &dyn Fn(&Measured) -> f64| r.rapier.as_ref().map(f);
        let mut row = r.head();
        row.extend([
            ms(ours(&|m| m.step.median)),
            ms(ours(&|m| m.step.p95)),
            ms(rapier(&|m| m.step.median)),
            ms(rapier(&|m| m.step.p95)),
            r.ratio(&|m| m.step.median),
        ]);
        for f in [
            &(|m: &Measured| m.cpu.median) as &dyn Fn(&Measured) -> f64,
            &|m| m.collision.median,
            &|m| m.solve.median,
        ] {
            row.extend([ms(ours(f)), ms(rapier(f)), r.ratio(f)]);
        }
        row.extend([
            ms(ours(&|m| m.prepare_solve.median)),
            r.of_the_other(&|m| m.prepare_solve.median, &|m| m.step.median),
            text(ours(&|m| m.contacts), |v| format!("{v:.0}")),
            text(rapier(&|m| m.contacts), |v| format!("{v:.0}")),
            text(ours(&|m| m.iterations), |v| format!("{v:.1}")),
        ]);
        row
    });
    table("Time per step", &header, rows.collect())
}

/// Mean time of every stage of both engines.
pub fn stages(results: &[Outcome]) -> String {
    type Share = fn(&Times) -> f64;
    const STAGES: [(&str, Share); 6] = [
        ("broad", |t| t.broad),
        ("narrow", |t| t.narrow),
        ("prepare", |t| t.prepare),
        ("solve", |t| t.solve),
        ("integrate", |t| t.integrate),
        ("other", Times::other),
    ];
    let mut header = vec!["scene", "threads", "solver, most", "engine"];
    header.extend(STAGES.map(|(name, _)| name));
    header.push("step");
    let mut rows = Vec::new();
    for r in results {
        for (name, measured) in [("ours", &r.ours), ("Rapier", &r.rapier)] {
            let Some(measured) = measured else { continue };
            let mut row = r.head();
            row.push(name.into());
            row.extend(STAGES.map(|(_, time)| ms(Some(time(&measured.stages)))));
            row.push(ms(Some(measured.stages.step)));
            rows.push(row);
        }
    }
    let title = "Mean time of the stages (prepare: ours assembly and packing, Rapier's islands; integrate: \
                 ours with stabilisation, Rapier's inside solve)";
    table(title, &header, rows)
}

/// Overlaps, speeds and loss of height at the end.
pub fn state(results: &[Outcome]) -> String {
    let header = [
        "scene",
        "threads",
        "solver, most",
        "deepest ours",
        "Rapier",
        "ratio",
        "over the phase ours",
        "Rapier",
        "body's mean ours",
        "Rapier",
        "speed mean ours",
        "Rapier",
        "max ours",
        "Rapier",
        "top sank ours",
        "Rapier",
    ];
    let rows = results.iter().map(|r| {
        let mut row = r.head();
        let both = |f: &dyn Fn(&Measured) -> f64, show: &dyn Fn(f64) -> String| {
            [&r.ours, &r.rapier].map(|m| text(m.as_ref().map(f), show))
        };
        let mm = |v: f64| format!("{:.3}", 1e3 * v);
        let speed = |v: f64| format!("{v:.1e}");
        row.extend(both(&|m| m.overlaps.deepest, &mm));
        row.push(r.ratio(&|m| m.overlaps.deepest));
        row.extend(both(&|m| m.deepest_mean, &mm));
        row.extend(both(&|m| m.overlaps.mean, &mm));
        row.extend(both(&|m| m.speeds.mean, &speed));
        row.extend(both(&|m| m.speeds.max, &speed));
        row.extend([&r.ours, &r.rapier].map(|m| text(m.as_ref().and_then(|m| m.sunk), mm)));
        row
    });
    let title = "At the end of the phase: overlaps [mm] (deepest of all; the deepest, mean over the phase; \
                 each body's deepest, mean), speeds [m/s], loss of height [mm]";
    table(title, &header, rows.collect())
}

/// One line per grid: the share of collision detection.
pub fn grids(results: &[Outcome]) -> String {
    let mut out = String::new();
    for r in results.iter().filter(|r| r.grid) {
        let (Some(ours), Some(rapier)) = (&r.ours, &r.rapier) else {
            continue;
        };
        let _ = writeln!(
            out,
            "{}, {}, {} thread{}: broad + narrow phase ours/Rapier's {} ({} / {} ms)",
            r.scene,
            r.solver,
            r.threads,
            if r.threads == 1 { "" } else { "s" },
            r.ratio(&|m| m.collision.median),
            ms(Some(ours.collision.median)),
            ms(Some(rapier.collision.median)),
        );
    }
    out
}

impl Outcome {
    fn head(&self) -> Vec<String> {
        vec![
            format!("{} {}", self.scene, self.phase),
            self.threads.to_string(),
            self.solver.clone(),
        ]
    }

    /// The ratio of one value measured on both engines, ours to Rapier's.
    fn ratio(&self, value: &dyn Fn(&Measured) -> f64) -> String {
        self.of_the_other(value, value)
    }

    /// The ratio of a value measured on our engine to another measured on Rapier.
    fn of_the_other(
        &self,
        ours: &dyn Fn(&Measured) -> f64,
        rapier: &dyn Fn(&Measured) -> f64,
    ) -> String {
        match (&self.ours, &self.rapier) {
            (Some(a), Some(b)) if rapier(b) > 0.0 => {
                format!("{:.2}", ours(a) / rapier(b))
            }
            _ => "-".into(),
        }
    }
}

fn table(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> String {
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    format!(
        "**{title}**\n\n{}",
        report::table(&header, &rows, 1..header.len())
    )
}

fn text(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or("-".into(), show)
}

/// Milliseconds with three digits or so.
fn ms(seconds: Option<f64>) -> String {
    text(seconds, |s| {
        let ms = 1e3 * s;
        let digits = match ms.abs() {
            100.0.. => 0,
            10.0.. => 1,
            1.0.. => 2,
            _ => 3,
        };
        format!("{ms:.digits$}")
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_release_named_is_the_one_built() {
        let package = format!("name = \"rapier3d\"\nversion = \"{}\"", super::RAPIER);
        assert!(include_str!("../Cargo.lock").contains(&package));
    }
}
