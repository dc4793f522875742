//! Table 3.1, figures 3.1 and 3.2: what keeping intermediate factors costs and brings.

use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};

use super::super::measure::Bench;
use super::super::{Failure, Findings, methods, paper};
use super::record::Recording;
use super::replay::{Replay, Solve, replay};
use super::speed::thinned;

/// What is found, scene by scene.
pub struct Caching {
    table: Table,
    speed: Plot,
    memory: Plot,
}

impl Default for Caching {
    fn default() -> Self {
        let quantities = [
            ("mean rows", "-"),
            ("mean factors in the cache", "-"),
            ("mean size of the cache", "MB"),
            ("largest cache", "MB"),
            ("mean factors found in it", "-"),
            ("mean rows removed, cached", "-"),
            ("mean rows removed, downdating", "-"),
            ("time over that of downdating", "-"),
        ];
        let mut table = Table::new("lefebvre-3.1", Layout::Beside, &["scene"], &quantities).titled(
            "Caching of factors, all rows free at the start, always downdating, within the envelope",
            "Lefebvre 2020, table 3.1: \"several times slower\"",
        );
        table.notes.push(
            "The cache lives for a step and is bounded by the parameter memory (512 MB); the thesis's was not, and ran out of memory on the log tower."
                .to_owned(),
        );
        let plot = |title: &str, y| Plot {
            title: title.into(),
            x: Axis::linear("time", "s"),
            y,
            ..Plot::default()
        };
        Self {
            table,
            speed: plot(
                "Speed-up of caching over downdating",
                Axis::log("speed-up", "-"),
            ),
            memory: plot("Size of the cache", Axis::log("size", "MB")),
        }
    }
}

impl Caching {
    /// Races caching and downdating, where the thesis does.
    pub fn add(&mut self, bench: &Bench, recording: &Recording) -> Result<(), Failure> {
        let paper = paper::CACHING.iter().find(|c| c.scene == recording.scene);
        let Some(paper) = paper else {
            return Ok(());
        };
        let methods = vec![
            methods::bpp("downdating", "skyline", false, true),
            methods::bpp("cached", "cached", false, true),
        ];
        let (rounds, seconds) = bench.either((1, 0.5), (3, 40.0));
        let replay = replay(bench, recording, methods, rounds, seconds)?;
        self.row(paper, &replay);
        let cached = replay.with_tight_rows("cached");
        let both = cached.iter().zip(replay.with_tight_rows("downdating"));
        let time = |problem: usize| recording.kept[problem].time;
        let faster = both.map(|(c, d)| [time(c.0), d.1.whole / c.1.whole]);
        self.speed
            .add(recording.scene, thinned(faster.collect()), Mark::Line);
        let size = cached.iter().map(|(k, s)| [time(*k), megabytes(s)]);
        self.memory
            .add(recording.scene, thinned(size.collect()), Mark::Line);
        Ok(())
    }

    fn row(&mut self, paper: &paper::Caching, replay: &Replay) {
        let mean = |of: fn(&Solve) -> f64| replay.mean("cached", of);
        let largest = replay.with_tight_rows("cached").into_iter();
        let largest = largest.map(|(_, s)| megabytes(s)).reduce(f64::max);
        let downdating = replay.mean("downdating", |s| s.whole);
        let slower = mean(|s| s.whole).zip(downdating).map(|(c, d)| c / d);
        let remark = match (slower, replay.unsettled("cached")) {
            (None, _) => "no step had a tight row".to_owned(),
            (_, 0) => format!("{} problems", replay.problems.len()),
            (_, n) => format!("{} problems, {n} not settled", replay.problems.len()),
        };
        self.table.row(
            [paper.scene],
            [
                Pair {
                    paper: Some(paper.rows),
                    here: mean(|s| s.report.rows as f64),
                },
                Pair {
                    paper: Some(paper.entries),
                    here: mean(|s| s.report.cache_entries as f64),
                },
                mean(megabytes).into(),
                largest.into(),
                mean(|s| s.report.cache_hits as f64).into(),
                mean(|s| s.report.downdates as f64).into(),
                replay
                    .mean("downdating", |s| s.report.downdates as f64)
                    .into(),
                slower.into(),
            ],
            remark,
        );
    }

    /// Hands everything over.
    pub fn finish(self, findings: &mut Findings) {
        findings.table(self.table);
        findings.plot("caching-speed", self.speed);
        findings.plot("caching-memory", self.memory);
    }
}

fn megabytes(solve: &Solve) -> f64 {
    1e-6 * solve.report.cache_bytes as f64
}
