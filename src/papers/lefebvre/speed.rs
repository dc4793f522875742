//! Table 2.3 and figure 2.7: what each factorisation costs on the same problems.

use super::figures::{MACHINES, MOST_PIVOTS, Machine};
use super::record::{self, Recording, Replay, thinned};
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::race::Timing;
use crate::papers::measure::table::{Columns, Pair};
use crate::papers::{Findings, Result};

/// What is compared. "Always": tight rows are removed from the factor of A at every pivot, however many there
/// are. The others factor A_FF above 15 % tight rows; they also go on from the last pivot's factor where that
/// is cheaper.
const FACTORISATIONS: [Method; 7] = [
    Method::new("full: bpp factorization=full"),
    Method::new("downdate, always: bpp factorization=downdate refactor_share=1"),
    Method::new("skyline, always: bpp factorization=skyline refactor_share=1"),
    Method::new("downdate: bpp factorization=downdate"),
    Method::new("skyline: bpp factorization=skyline"),
    Method::new("cached: bpp factorization=cached"),
    Method::new("sparse: bpp factorization=sparse"),
];

/// From all rows free.
const FREE: &str = ": warm_start=false";
/// From the last step's sets.
const WARM: &str = ", warm: warm_start=true";
/// One problem with fixed friction bounds, as in the thesis, which does not say whose normal impulses they have; here those
/// of the last step. Nothing makes the bounds consistent.
const HELD: &str = ", held: warm_start=false outer_iterations=1 refinements=0 coupled_steps=0";

/// What stands beside a column of the thesis's. In its three, every pivot downdates the factor of A; in
/// our last one A_FF is factored anew above 15 % of tight rows.
const BESIDE: [(Method, usize); 4] = [
    (FACTORISATIONS[0], 0),
    (FACTORISATIONS[1], 1),
    (FACTORISATIONS[2], 2),
    (FACTORISATIONS[4], 2),
];

/// All that is raced.
fn methods() -> Vec<Method> {
    let starts = [FREE, WARM].map(|start| FACTORISATIONS.map(|m| m.with(start)));
    let held = BESIDE.map(|(method, _)| method.with(HELD));
    starts.into_iter().flatten().chain(held).collect()
}

/// Solves a machine's problems by every factorisation.
pub fn replay(bench: &Bench, recording: &Recording) -> Result<Replay> {
    let rounds = bench.either((1, 1.5), (3, 60.0));
    record::replay(bench, recording, &methods(), rounds)
}

/// Adds tables and plots of all machines.
pub fn report(findings: &mut Findings, replays: &[Replay]) {
    beside(
        findings,
        "lefebvre-2.3",
        "Solves of problems with a tight row, all rows free at the start, always downdating",
        &rows(replays, FREE),
        &[
            "Times: one thread, ordering and assembling A included; the thesis does not say whether its own are.",
            "rows³ holds for dense factors with the same share of tight rows; within an envelope it would flatter \
             ours, and is left out.",
        ],
    );
    beside(
        findings,
        "lefebvre-2.3-held",
        "The same with friction bounds held at those of the last step: one problem, as in the thesis",
        &rows(replays, HELD),
        &[
            "One problem with fixed bounds is all that is solved; above, the bounds follow the normal impulses.",
        ],
    );
    compare(findings, replays);
    for replay in replays {
        let title = format!("Time of a solve: {}", replay.scene);
        let mut plot = Plot::new(title, Axis::Linear("time [s]"), Axis::Log("solve [ms]"));
        let warm = [4, 6].map(|k| FACTORISATIONS[k].with(WARM));
        for method in FACTORISATIONS.map(|m| m.with(FREE)).into_iter().chain(warm) {
            let solves = replay.with_tight_rows(&method).into_iter();
            let line = solves.map(|(time, t)| [time, 1e3 * t.whole]);
            plot.add(method, thinned(line), Mark::Line);
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

fn rows<'a>(replays: &'a [Replay], variant: &'static str) -> Vec<Row<'a>> {
    let machine = |r: &Replay| MACHINES.iter().find(|m| m.scene == r.scene);
    let known = replays.iter().filter_map(|r| Some((machine(r)?, r)));
    let row = |(machine, replay)| {
        BESIDE.map(|(method, column)| Row {
            machine,
            replay,
            method: method.with(variant),
            column,
            full: BESIDE[0].0.with(variant),
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
        let rows = self.replay.count(&self.full, "rows")?;
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
    fn once(&self, there: f64, name: &str) -> Pair {
        match self.column {
            0 => (there, self.replay.count(&self.method, name)).into(),
            _ => Pair::default(),
        }
    }

    fn remark(&self) -> String {
        let held = self.full == BESIDE[0].0.with(HELD);
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
        .key("factorisation", |r| r.method)
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
            r.once(r.machine.rows, "rows")
        })
        .column("mean pivots (the thesis: at most 35)", |r| {
            r.once(MOST_PIVOTS, "pivots of all islands")
        })
        .remark(Row::remark);
    findings.table(table.notes(notes.iter().copied()));
}

/// Every factorisation on the same problems, in time and as a speed-up.
fn compare(findings: &mut Findings, replays: &[Replay]) {
    let starts = [("all free", FREE), ("last step", WARM)];
    let each = replays.iter();
    let rows: Vec<_> = each
        .flat_map(|r| starts.map(|(name, start)| (r, name, start)))
        .collect();
    let mean = |replay: &Replay, k: usize, start| {
        replay.mean(&FACTORISATIONS[k].with(start), |t| 1e3 * t.whole)
    };
    let problems = |r: &Replay| r.with_tight_rows(&FACTORISATIONS[0].with(FREE)).len();
    let title = "Mean time of the same problems by every factorisation";
    let mut times = Columns::new("factorisations", title, "", &rows)
        .key("scene", |(r, ..)| r.scene)
        .key("start", |(_, name, _)| name)
        .remark(|(r, ..)| format!("{} problems", problems(r)));
    let title = "The same as speed-up over full from all rows free";
    let mut faster = Columns::new("factorisation-speedups", title, "", &rows)
        .key("scene", |(r, ..)| r.scene)
        .key("start", |(_, name, _)| name);
    for (k, method) in FACTORISATIONS.iter().enumerate() {
        times = times.column(format!("{method} [ms]"), |(r, _, start)| mean(r, k, start));
        faster = faster.column(method, |(r, _, start)| {
            Some(mean(r, 0, FREE)? / mean(r, k, start)?)
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
        if let Err(error) = racers(&methods()) {
            panic!("{error}");
        }
    }
}
