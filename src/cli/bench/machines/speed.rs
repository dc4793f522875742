//! Table 2.3 and figure 2.7: what each factorisation costs on the same problems.

use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};

use super::super::measure::Bench;
use super::super::methods::{self, Method};
use super::super::{Failure, Findings, paper};
use super::record::Recording;
use super::replay::{Replay, replay};

/// The thesis's limit (table 2.1).
const MOST_PIVOTS: u32 = 35;
/// What stands beside a column of the thesis's: in its three, every pivot downdates the factor of A; in
/// the last one A_FF is factored anew above 15 % of tight rows.
type Beside = [(&'static str, usize); 4];
const THESIS: Beside = [
    ("full", 0),
    ("downdate, always", 1),
    ("skyline, always", 2),
    ("skyline", 2),
];
/// The same for the thesis's own problem, whose friction bounds are held.
const HELD: Beside = [
    ("full, held", 0),
    ("downdate, always, held", 1),
    ("skyline, always, held", 2),
    ("skyline, held", 2),
];
/// What is compared, from all rows free and from the last step's sets. Above 15 % tight rows, those
/// without "always" factor A_FF; they also go on from the last pivot's factor where that is cheaper.
const COLD: [&str; 7] = [
    "full",
    "downdate, always",
    "skyline, always",
    "downdate",
    "skyline",
    "cached",
    "sparse",
];
const WARM: [&str; 7] = [
    "full, warm",
    "downdate, always, warm",
    "skyline, always, warm",
    "downdate, warm",
    "skyline, warm",
    "cached, warm",
    "sparse, warm",
];

/// All of them, as methods.
fn variants() -> impl Iterator<Item = Method> {
    let held = HELD.into_iter().map(|(label, _)| {
        let name = label.split(',').next().unwrap_or(label);
        methods::bpp_held(label, name, label.contains("always"))
    });
    let each = [(false, COLD), (true, WARM)];
    let exact = each.into_iter().flat_map(|(warm, labels)| {
        labels.into_iter().zip(COLD).map(move |(label, kind)| {
            let (name, always) = match kind.split_once(',') {
                Some((name, _)) => (name, true),
                None => (kind, false),
            };
            methods::bpp(label, name, warm, always)
        })
    });
    exact.chain(held)
}

/// What is found, machine by machine.
pub struct Speed {
    thesis: Table,
    held: Table,
    times: Table,
    speedups: Table,
}

impl Default for Speed {
    fn default() -> Self {
        let keys = ["scene", "factorisation"];
        let quantities = [
            ("mean time", "ms"),
            ("the same, if the thesis's grew with rows³", "ms"),
            ("speed-up over full", "-"),
            ("speed-up, assembling A left out", "-"),
            ("mean rows (the thesis: most)", "-"),
            ("mean pivots (the thesis: at most 35)", "-"),
        ];
        let beside = |id: &str, title: &str| {
            Table::new(id, Layout::Beside, &keys, &quantities)
                .titled(title, "Lefebvre 2020, table 2.3")
        };
        let mut thesis = beside(
            "lefebvre-2.3",
            "Solves of problems with a tight row, all rows free at the start, always downdating",
        );
        let mut held = beside(
            "lefebvre-2.3-held",
            "The same with friction bounds held at those of the last step, as the thesis has them",
        );
        held.notes.push(
            "One problem with fixed bounds is all that is solved; above, the bounds follow the normal impulses."
                .to_owned(),
        );
        thesis.notes.extend([
            "Times: one thread, ordering and assembling A included; the thesis does not say whether its own are."
                .to_owned(),
            "rows³ holds for dense factors with the same share of tight rows; within an envelope it would flatter ours, and is left out."
                .to_owned(),
        ]);
        let keys = ["scene", "start"];
        let quantities = COLD.map(|label| (label, "ms"));
        let times = Table::new("factorisations", Layout::Columns, &keys, &quantities)
            .titled("Mean time of the same problems by every factorisation", "");
        let quantities = COLD.map(|label| (label, "-"));
        let speedups = Table::new(
            "factorisation-speedups",
            Layout::Columns,
            &keys,
            &quantities,
        )
        .titled("The same as speed-up over full from all rows free", "");
        Self {
            thesis,
            held,
            times,
            speedups,
        }
    }
}

impl Speed {
    /// Solves a machine's problems by every factorisation.
    pub fn add(
        &mut self,
        bench: &mut Bench,
        findings: &mut Findings,
        recording: &Recording,
    ) -> Result<(), Failure> {
        let methods = bench.offer(variants());
        let (rounds, seconds) = bench.either((1, 1.5), (3, 60.0));
        let replay = replay(bench, recording, methods, rounds, seconds)?;
        if let Some(machine) = recording.machine() {
            beside(machine, &replay, THESIS, &mut self.thesis);
            beside(machine, &replay, HELD, &mut self.held);
        }
        self.compare(recording, &replay);
        findings.plot(
            format!("machines-{}", recording.scene),
            over_time(recording, &replay),
        );
        Ok(())
    }

    fn compare(&mut self, recording: &Recording, replay: &Replay) {
        let mean = |label| replay.mean(label, |s| s.whole);
        let count = replay.with_tight_rows("full").len();
        let full = mean("full");
        for (start, labels) in [("all free", COLD), ("last step", WARM)] {
            let keys = [recording.scene, start];
            let times = labels.map(|label| Pair::from(mean(label).map(|t| 1e3 * t)));
            self.times.row(keys, times, format!("{count} problems"));
            let faster = labels.map(|label| {
                let ratio = full.zip(mean(label)).map(|(full, t)| full / t);
                Pair::from(ratio)
            });
            self.speedups.row(keys, faster, "");
        }
    }

    /// Hands everything over.
    pub fn finish(self, findings: &mut Findings) {
        findings.table(self.thesis);
        findings.table(self.held);
        findings.table(self.times);
        findings.table(self.speedups);
    }
}

/// One machine beside the paper, by full factorisation, downdating, and that within an envelope.
fn beside(machine: &paper::Machine, replay: &Replay, labels: Beside, table: &mut Table) {
    let whole = |label: &str| replay.mean(label, |s| s.whole);
    let solve = |label: &str| replay.mean(label, |s| s.whole - s.assemble);
    let rows = replay.mean(labels[0].0, |s| s.report.rows as f64);
    let growth = rows.map(|rows| (rows / machine.rows).powi(3));
    for (label, column) in labels {
        let paper = machine.times[column];
        let here = whole(label).map(|t| 1e3 * t);
        let over = |of: &dyn Fn(&str) -> Option<f64>| Some(of(labels[0].0)? / of(label)?);
        let faster = |here: Option<f64>| Pair {
            paper: Some(machine.times[0] / paper),
            here,
        };
        let remark = match (here, replay.unsettled(label)) {
            (None, _) => "no step had a tight row".to_owned(),
            (_, 0) => String::new(),
            _ if labels == HELD => String::new(),
            (_, n) => format!("{n} of {} not settled", replay.problems.len()),
        };
        let dense = growth.filter(|_| column < 2 && here.is_some());
        let mut pairs = vec![
            Pair {
                paper: Some(paper),
                here,
            },
            Pair {
                paper: dense.map(|growth| paper * growth),
                here: dense.and(here),
            },
        ];
        if column == 0 {
            pairs.extend([Pair::default(); 2]);
            pairs.push(Pair {
                paper: Some(machine.rows),
                here: rows,
            });
            pairs.push(Pair {
                paper: Some(f64::from(MOST_PIVOTS)),
                here: replay.mean(label, |s| s.report.pivots as f64),
            });
        } else {
            pairs.push(faster(over(&whole)));
            pairs.push(faster(over(&solve)));
        }
        table.row([machine.scene, label], pairs, remark);
    }
}

/// Figure 2.7.
fn over_time(recording: &Recording, replay: &Replay) -> Plot {
    let mut plot = Plot {
        title: format!("Time of a solve: {}", recording.scene),
        x: Axis::linear("time", "s"),
        y: Axis::log("solve", "ms"),
        ..Plot::default()
    };
    for label in COLD.into_iter().chain(["skyline, warm", "sparse, warm"]) {
        let solves = replay.with_tight_rows(label);
        let point =
            |(k, s): (usize, &super::replay::Solve)| [recording.kept[k].time, 1e3 * s.whole];
        let line = solves.into_iter().map(point).collect();
        plot.add(label, thinned(line), Mark::Line);
    }
    plot
}

/// At most a few hundred points of a line, the highest of each stretch.
pub fn thinned(line: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    const MOST: usize = 300;
    let stretch = line.len().div_ceil(MOST).max(1);
    let highest = |points: &[[f64; 2]]| points.iter().copied().max_by(|a, b| a[1].total_cmp(&b[1]));
    line.chunks(stretch).filter_map(highest).collect()
}
