//! Table 2.3 and figure 2.7: what each factorisation costs on the same problems.

use super::figures::{MACHINES, MOST_PIVOTS, Machine};
use super::record::{self, Recording, Replay, thinned};
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::race::Timing;
use crate::papers::measure::table::{Columns, Pair};
use crate::papers::{Findings, Result};

/// What is compared, from all rows free. "Always": tight rows are removed from the factor of A at every
/// pivot, however many there are. The others factor A_FF above 15 % tight rows; they also go on from the
/// last pivot's factor where that is cheaper.
const FROM_FREE: [Method; 7] = [
    Method::new("full", "bpp factorization=full warm_start=false"),
    Method::new(
        "downdate, always",
        "bpp factorization=downdate warm_start=false refactor_share=1",
    ),
    Method::new(
        "skyline, always",
        "bpp factorization=skyline warm_start=false refactor_share=1",
    ),
    Method::new("downdate", "bpp factorization=downdate warm_start=false"),
    Method::new("skyline", "bpp factorization=skyline warm_start=false"),
    Method::new("cached", "bpp factorization=cached warm_start=false"),
    Method::new("sparse", "bpp factorization=sparse warm_start=false"),
];
/// The same from the last step's sets.
const FROM_LAST: [Method; 7] = [
    Method::new("full, warm", "bpp factorization=full"),
    Method::new(
        "downdate, always, warm",
        "bpp factorization=downdate refactor_share=1",
    ),
    Method::new(
        "skyline, always, warm",
        "bpp factorization=skyline refactor_share=1",
    ),
    Method::new("downdate, warm", "bpp factorization=downdate"),
    Method::new("skyline, warm", "bpp factorization=skyline"),
    Method::new("cached, warm", "bpp factorization=cached"),
    Method::new("sparse, warm", "bpp factorization=sparse"),
];

/// What stands beside a column of the thesis's. In its three, every pivot downdates the factor of A; in
/// our last one A_FF is factored anew above 15 % of tight rows.
type Beside = [(Method, usize); 4];
const THESIS: Beside = [
    (FROM_FREE[0], 0),
    (FROM_FREE[1], 1),
    (FROM_FREE[2], 2),
    (FROM_FREE[4], 2),
];
/// The same for the thesis's own problem, with friction bounds held at those of the last step's normal
/// impulses: nothing makes the bounds consistent.
#[rustfmt::skip]
const HELD: Beside = [
    (Method::new("full, held", "bpp factorization=full warm_start=false \
        outer_iterations=1 refinements=0 coupled_steps=0"), 0),
    (Method::new("downdate, always, held", "bpp factorization=downdate warm_start=false refactor_share=1 \
        outer_iterations=1 refinements=0 coupled_steps=0"), 1),
    (Method::new("skyline, always, held", "bpp factorization=skyline warm_start=false refactor_share=1 \
        outer_iterations=1 refinements=0 coupled_steps=0"), 2),
    (Method::new("skyline, held", "bpp factorization=skyline warm_start=false \
        outer_iterations=1 refinements=0 coupled_steps=0"), 2),
];

/// Solves a machine's problems by every factorisation.
pub fn replay(bench: &Bench, recording: &Recording) -> Result<Replay> {
    let methods = FROM_FREE.into_iter().chain(FROM_LAST);
    let methods: Vec<Method> = methods.chain(HELD.map(|(method, _)| method)).collect();
    let rounds = bench.either((1, 1.5), (3, 60.0));
    record::replay(bench, recording, &methods, rounds)
}

/// Adds tables and plots of all machines.
pub fn report(findings: &mut Findings, replays: &[Replay]) {
    beside(
        findings,
        "lefebvre-2.3",
        "Solves of problems with a tight row, all rows free at the start, always downdating",
        &rows(replays, THESIS),
        &[
            "Times: one thread, ordering and assembling A included; the thesis does not say whether its own are.",
            "rows³ holds for dense factors with the same share of tight rows; within an envelope it would flatter \
             ours, and is left out.",
        ],
    );
    beside(
        findings,
        "lefebvre-2.3-held",
        "The same with friction bounds held at those of the last step, as the thesis has them",
        &rows(replays, HELD),
        &[
            "One problem with fixed bounds is all that is solved; above, the bounds follow the normal impulses.",
        ],
    );
    compare(findings, replays);
    for replay in replays {
        let title = format!("Time of a solve: {}", replay.scene);
        let mut plot = Plot::new(title, Axis::linear("time [s]"), Axis::log("solve [ms]"));
        for method in FROM_FREE.iter().chain([&FROM_LAST[4], &FROM_LAST[6]]) {
            let solves = replay.with_tight_rows(method).into_iter();
            let line = solves.map(|(time, t)| [time, 1e3 * t.whole]);
            plot.add(method.label, thinned(line), Mark::Line);
        }
        findings.plot(format!("machines-{}", replay.scene), plot);
    }
}

/// A machine's problems by one method, beside a column of the thesis's.
struct Row<'a> {
    machine: &'static Machine,
    replay: &'a Replay,
    method: Method,
    column: usize,
    /// Full factorisation of the same problems.
    full: Method,
}

fn rows(replays: &[Replay], beside: Beside) -> Vec<Row<'_>> {
    let machine = |r: &Replay| MACHINES.iter().find(|m| m.scene == r.scene);
    let known = replays.iter().filter_map(|r| Some((machine(r)?, r)));
    let row = |(machine, replay)| {
        beside.map(|(method, column)| Row {
            machine,
            replay,
            method,
            column,
            full: beside[0].0,
        })
    };
    known.flat_map(row).collect()
}

impl Row<'_> {
    /// Mean time (ms).
    fn time(&self) -> Option<f64> {
        self.replay.mean(&self.method, |t| 1e3 * t.whole)
    }

    /// What the thesis's time would be if it grew with rows³; of dense factors.
    fn grown(&self) -> Option<f64> {
        let rows = self.replay.mean(&self.full, |t| t.count("rows"))?;
        let growth = (rows / self.machine.rows).powi(3);
        let dense = self.column < 2 && self.time().is_some();
        dense.then_some(self.machine.times[self.column] * growth)
    }

    /// Speed-up over full factorisation by some time; of all others.
    fn faster(&self, of: fn(&Timing) -> f64) -> Pair {
        if self.column == 0 {
            return Pair::default();
        }
        let [full, own] = [&self.full, &self.method].map(|m| self.replay.mean(m, of));
        let times = &self.machine.times;
        let here = full.zip(own).map(|(full, own)| full / own);
        (times[0] / times[self.column], here).into()
    }

    /// A number that only full factorisation is asked for.
    fn once(&self, there: f64, of: fn(&Timing) -> f64) -> Pair {
        match self.column {
            0 => (there, self.replay.mean(&self.method, of)).into(),
            _ => Pair::default(),
        }
    }

    fn remark(&self) -> String {
        let held = HELD[0].0 == self.full;
        match (self.time(), self.replay.unsettled(&self.method)) {
            (None, _) => "no step had a tight row".to_owned(),
            (_, n) if n > 0 && !held => format!("{n} of {} not settled", self.replay.len()),
            _ => String::new(),
        }
    }
}

/// All machines beside the thesis, by full factorisation, downdating, and that within an envelope.
fn beside(findings: &mut Findings, id: &str, title: &str, rows: &[Row], notes: &[&str]) {
    let table = Columns::new(id, title, "Lefebvre 2020, table 2.3", rows)
        .key("scene", |r| r.machine.scene)
        .key("factorisation", |r| r.method.label)
        .column("mean time [ms]", |r| (r.machine.times[r.column], r.time()))
        .column("the same, if the thesis's grew with rows³ [ms]", |r| {
            let there = r.grown();
            (there, there.and(r.time()))
        })
        .column("speed-up over full", |r| r.faster(|t| t.whole))
        .column("speed-up, assembling A left out", |r| {
            r.faster(|t| t.whole - t.prepare)
        })
        .column("mean rows (the thesis: most)", |r| {
            r.once(r.machine.rows, |t| t.count("rows"))
        })
        .column("mean pivots (the thesis: at most 35)", |r| {
            r.once(MOST_PIVOTS, |t| t.count("pivots"))
        })
        .remark(Row::remark);
    findings.table(table.notes(notes.iter().copied()));
}

/// Every factorisation on the same problems, in time and as a speed-up.
fn compare(findings: &mut Findings, replays: &[Replay]) {
    let starts = [("all free", FROM_FREE), ("last step", FROM_LAST)];
    let each = replays
        .iter()
        .flat_map(|r| starts.map(|(start, methods)| (r, start, methods)));
    let rows: Vec<_> = each.collect();
    let mean = |replay: &Replay, method: &Method| replay.mean(method, |t| 1e3 * t.whole);
    let title = "Mean time of the same problems by every factorisation";
    let mut times = Columns::new("factorisations", title, "", &rows)
        .key("scene", |(r, ..)| r.scene)
        .key("start", |(_, start, _)| start)
        .remark(|(r, ..)| format!("{} problems", r.with_tight_rows(&FROM_FREE[0]).len()));
    let title = "The same as speed-up over full from all rows free";
    let mut faster = Columns::new("factorisation-speedups", title, "", &rows)
        .key("scene", |(r, ..)| r.scene)
        .key("start", |(_, start, _)| start);
    for (k, method) in FROM_FREE.iter().enumerate() {
        let name = format!("{} [ms]", method.label);
        times = times.column(name, |(r, _, methods)| mean(r, &methods[k]));
        faster = faster.column(method.label, |(r, _, methods)| {
            Some(mean(r, &FROM_FREE[0])? / mean(r, &methods[k])?)
        });
    }
    findings.table(times);
    findings.table(faster);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::lefebvre::record::racers;

    #[test]
    fn every_factorisation_can_be_made() {
        let methods = FROM_FREE.into_iter().chain(FROM_LAST);
        let methods: Vec<Method> = methods.chain(HELD.map(|(method, _)| method)).collect();
        if let Err(error) = racers(&methods) {
            panic!("{error}");
        }
    }
}
