//! Table 3.1, figures 3.1 and 3.2: what keeping intermediate factors costs and brings.

use super::figures::CACHING;
use super::models;
use super::record::{self, Recording, Replay, count, thinned};
use crate::measure::Summary;
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::race::Timing;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};

const DOWNDATING: Method =
    Method::new("downdating: bpp factorization=skyline warm_start=false refactor_share=1");
const CACHED: Method =
    Method::new("cached: bpp factorization=cached warm_start=false refactor_share=1");

/// Races caching and downdating.
pub fn replay(bench: &Bench, recording: &Recording) -> Result<Replay> {
    let rounds = bench.either((1, 0.5), (3, 40.0));
    record::replay(bench, recording, &[DOWNDATING, CACHED], rounds)
}

/// Adds table and plots of all scenes.
pub fn report(findings: &mut Findings, replays: &[Replay], recordings: &[Recording]) {
    let rows = replays.iter().filter_map(|r| {
        let (_, rows, entries) = CACHING.iter().find(|c| c.0 == r.scene)?;
        Some((r, *rows, *entries))
    });
    let rows: Vec<(&Replay, f64, f64)> = rows.collect();
    let mean_rows = |scene: &str| {
        let recording = recordings.iter().find(|r| r.scene == scene)?;
        let counts = recording.steps.iter().map(|s| count(s, "rows"));
        Some(Summary::some(counts.filter(|rows| *rows > 0.0))?.mean)
    };
    let slower = |replay: &Replay| {
        let [downdating, cached] = [DOWNDATING, CACHED].map(|m| replay.mean(&m, |t| t.whole));
        Some(cached? / downdating?)
    };
    let title =
        "Caching of factors, all rows free at the start, always downdating, within the envelope";
    let source = "Lefebvre 2020, table 3.1: \"several times slower\"";
    findings.table(
        Columns::new("lefebvre-3.1", title, source, &rows)
            .key("scene", |(r, ..)| r.scene)
            .column("mean rows", |(r, rows, _)| (*rows, mean_rows(r.scene)))
            .column("mean rows of the problems", |(r, ..)| r.count(&CACHED, "rows"))
            .column("mean factors in the cache", |(r, _, entries)| {
                (*entries, r.count(&CACHED, "cache entries"))
            })
            .column("mean size of the cache [MB]", |(r, ..)| r.mean(&CACHED, megabytes))
            .column("largest cache [MB]", |(r, ..)| {
                let solves = r.with_tight_rows(&CACHED).into_iter();
                solves.map(|(_, t)| megabytes(t)).reduce(f64::max)
            })
            .column("mean factors found in it", |(r, ..)| r.count(&CACHED, "cache hits"))
            .column("mean rows removed, cached", |(r, ..)| r.count(&CACHED, "downdates"))
            .column("mean rows removed, downdating", |(r, ..)| r.count(&DOWNDATING, "downdates"))
            .column("time over that of downdating", |(r, ..)| slower(r))
            .remark(|(r, ..)| match (slower(r), r.unsettled(&CACHED)) {
                (None, _) => "no step had a tight row".to_owned(),
                (_, 0) => models::with_size(r.scene, format!("{} problems", r.len())),
                (_, n) => {
                    let remark = format!("{} problems, {n} not settled", r.len());
                    models::with_size(r.scene, remark)
                }
            })
            .notes([
                "The cache lives for a step and is bounded by the parameter memory (512 MB); the thesis's was not, and \
                 ran out of memory on the log tower.",
                "Mean rows are those of all steps that have any; everything else is of as many problems with a tight row as there \
                 was time for.",
            ]),
    );
    let plot = |title: &str, y| Plot::new(title, Axis::Linear("time [s]"), y);
    let speed = "Speed-up of caching over downdating";
    let mut speed = plot(speed, Axis::Log("speed-up"));
    let mut memory = plot("Size of the cache", Axis::Log("size [MB]"));
    for replay in replays {
        let cached = replay.with_tight_rows(&CACHED);
        let both = cached.iter().zip(replay.with_tight_rows(&DOWNDATING));
        let faster = both.map(|((time, c), (_, d))| [*time, d.whole / c.whole]);
        speed.add(replay.scene, thinned(faster), Mark::Line);
        let size = cached.iter().map(|(time, c)| [*time, megabytes(c)]);
        memory.add(replay.scene, thinned(size), Mark::Line);
    }
    findings.plot("caching-speed", speed);
    findings.plot("caching-memory", memory);
}

fn megabytes(timing: &Timing) -> f64 {
    1e-6 * timing.count("cache size")
}
