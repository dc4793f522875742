//! Nützi's table 6.1 and figures 6.1 to 6.4: dense variants on random problems.

use super::Card;
use super::variants::{
    self, Clock, Method, Precision, Problem, Run, STEP_A, VARIANTS, Variant, cpu_seconds,
    trade_off, twin,
};
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::Bench;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};

/// Iterations of a batch, as his listing 6.1 has it.
const ITERATIONS: usize = 10;
/// Most contacts that a program that stands for a card is given.
const MOST_IN_SOFTWARE: usize = 500;
/// Most dispatches of one submission.
const MOST_DISPATCHES: usize = 20_000;
const SEED: u64 = 5;

/// What his text gives (6.1): his bandwidth (bytes/s), and the speed-up of his JOR over one core.
const BANDWIDTH: f64 = 170e9;
const SPEEDUP: f64 = 16.0;

/// A variant on a problem of so many contacts.
struct Row {
    variant: Variant,
    precision: Precision,
    contacts: usize,
    run: std::result::Result<Run, String>,
    /// The largest |x − y| against the twin, and the largest |x| (N s).
    off: [f64; 2],
    /// An iteration on one core, and on many for JOR (s).
    cpu: f64,
    threads: Option<f64>,
}

impl Row {
    fn seconds(&self) -> Option<f64> {
        Some(self.run.as_ref().ok()?.seconds)
    }

    fn transfers(&self) -> Option<f64> {
        let run = self.run.as_ref().ok()?;
        Some(run.upload_matrix + run.upload_vectors + run.download)
    }

    fn bandwidth(&self) -> Option<f64> {
        let run = self.run.as_ref().ok()?;
        Some(run.matrix_bytes as f64 / run.seconds)
    }
}

fn bits(precision: Precision) -> &'static str {
    match precision {
        Precision::Single => "f32",
        Precision::Double => "f64",
    }
}

/// The variants by the number of contacts.
pub fn dense(bench: &Bench, card: &Card, findings: &mut Findings) -> Result<()> {
    let sizes: &[usize] = bench.either(&[50, 200], &[50, 100, 200, 500, 1000, 2000, 3000, 4000]);
    let mut rows = Vec::new();
    for contacts in sizes.iter().copied() {
        if card.is_software && contacts > MOST_IN_SOFTWARE {
            continue;
        }
        measure(bench, card, contacts, &mut rows);
    }
    times(card, findings, &rows);
    prose(bench, card, findings, &rows);
    step_a(bench, card, findings);
    Ok(())
}

fn measure(bench: &Bench, card: &Card, contacts: usize, rows: &mut Vec<Row>) {
    let problem = Problem::random(contacts, SEED);
    for precision in [Precision::Single, Precision::Double] {
        let mut of_method: Vec<(Method, f64)> = Vec::new();
        bench.say(format!("{contacts} contacts in {}", bits(precision)));
        let threads = bench.pool(bench.most_threads()).current_num_threads();
        let many = cpu_seconds(&problem, Method::Jor, precision, threads).ok();
        for variant in VARIANTS {
            let method = variant.method();
            let known = of_method.iter().find(|(m, _)| *m == method).map(|m| m.1);
            let cpu = known.unwrap_or_else(|| {
                let cpu = cpu_seconds(&problem, method, precision, 1).unwrap_or(f64::NAN);
                of_method.push((method, cpu));
                cpu
            });
            let iterations = iterations(&variant, contacts);
            let run = variants::run(&problem, &variant, precision, iterations, card.warm_up());
            let off = match &run {
                // The twin of a large problem takes longer than all the rest; kernels do not know how large it is.
                Ok(run) if contacts <= MOST_IN_SOFTWARE => {
                    distance(&run.lambda, &twin(&problem, method, precision, iterations))
                }
                _ => [f64::NAN; 2],
            };
            rows.push(Row {
                variant,
                precision,
                contacts,
                run,
                off,
                cpu,
                threads: many.filter(|_| method == Method::Jor),
            });
        }
    }
}

/// As many as one submission should have.
fn iterations(variant: &Variant, contacts: usize) -> usize {
    match variant.method() {
        Method::Relaxed(group) => (MOST_DISPATCHES * group / (2 * contacts)).clamp(1, ITERATIONS),
        _ => ITERATIONS,
    }
}

fn distance(x: &[f64], y: &[f64]) -> [f64; 2] {
    let pairs = x.iter().zip(y);
    pairs.fold([0.0; 2], |[off, most]: [f64; 2], (x, y)| {
        [off.max((x - y).abs()), most.max(x.abs())]
    })
}

fn times(card: &Card, findings: &mut Findings, rows: &[Row]) {
    let title = card.title("Dense variants by contacts");
    findings.table(
        Columns::new("gpu-dense", title, "", rows)
            .key("variant", |r| r.variant.name)
            .key("precision", |r| bits(r.precision))
            .key("contacts", |r| r.contacts)
            .column("iteration [ms]", |r| r.seconds().map(|s| 1e3 * s))
            .column("T [GB/s]", |r| r.bandwidth().map(|b| 1e-9 * b))
            .column("of its copy [%]", |r| r.bandwidth().map(|b| 100.0 * b / card.copy))
            .column("[GFLOP/s]", |r| {
                let run = r.run.as_ref().ok()?;
                Some(1e-9 * run.flops as f64 / run.seconds)
            })
            .column("transfers [ms]", |r| r.transfers().map(|s| 1e3 * s))
            .column("faster than one core", |r| r.seconds().map(|s| r.cpu / s))
            .column("than all cores", |r| Some(r.threads? / r.seconds()?))
            .column("pays from [iterations]", |r| {
                trade_off(r.transfers()?, r.cpu, r.seconds()?).map(f64::ceil)
            })
            .column("off its twin [-]", |r| {
                Some(r.off[0] / r.off[1]).filter(|off| off.is_finite())
            })
            .remark(|r| match &r.run {
                Ok(run) if run.clock == Clock::Host => "by the host's clock".into(),
                run => run.as_ref().err().cloned().unwrap_or_default(),
            })
            .notes([
                "Random problems with a dominant diagonal. A core does the same method in the same precision, and all cores \
                 do JOR only. Bytes are those of T, once for each iteration; 2 N² operations for its product (table 3.6) \
                 and the addition of d.",
                "Transfers are T, d, μ and Λ to the device and Λ back; creating buffers and compiling is left out, as in \
                 formula 6.1.",
            ]),
    );
    for precision in [Precision::Single, Precision::Double] {
        let mut plot = Plot::new(
            format!("Time of one iteration by contacts, {}", bits(precision)),
            Axis::Log("contacts"),
            Axis::Log("time of one iteration [ms]"),
        );
        for variant in VARIANTS {
            let own = |r: &&Row| r.variant.name == variant.name && r.precision == precision;
            let line = rows.iter().filter(own);
            let line = line.filter_map(|r| Some([r.contacts as f64, 1e3 * r.seconds()?]));
            plot.add(variant.name, line, Mark::Line);
        }
        let core = rows.iter();
        let core = core.filter(|r| r.variant.name == "JOR 5" && r.precision == precision);
        let core = core.map(|r| [r.contacts as f64, 1e3 * r.cpu]);
        plot.add("JOR on one core", core, Mark::Reference);
        findings.plot(format!("gpu-dense-{}", bits(precision)), plot);
    }
}

/// The contacts from which fewer than 50 iterations of JOR 5 pay, and go on doing so.
fn pays_from(rows: &[Row]) -> Option<f64> {
    let pays = |r: &Row| {
        let from = trade_off(r.transfers()?, r.cpu, r.seconds()?)?;
        Some(from < 50.0)
    };
    let of_jor = |r: &&Row| r.variant.name == "JOR 5" && r.precision == Precision::Double;
    // Sizes ascend.
    let of_jor: Vec<&Row> = rows.iter().filter(of_jor).collect();
    let losing = of_jor.iter().rposition(|r| pays(r) != Some(true));
    let first = of_jor.get(losing.map_or(0, |k| k + 1))?;
    Some(first.contacts as f64)
}

/// What the text says about figures 6.1 to 6.3.
fn prose(bench: &Bench, card: &Card, findings: &mut Findings, rows: &[Row]) {
    let find = |name: &str, precision, contacts| {
        let same =
            |r: &&Row| r.variant.name == name && r.precision == precision && r.contacts == contacts;
        rows.iter().find(same)
    };
    let seconds = |name: &str, precision, contacts| find(name, precision, contacts)?.seconds();
    let sizes = rows.iter().map(|r| r.contacts);
    let Some(largest) = sizes.max() else {
        return;
    };
    let double = Precision::Double;
    let ratio =
        |a: &str, b: &str| Some(seconds(a, double, largest)? / seconds(b, double, largest)?);
    let jor = find("JOR 5", double, largest);
    let table = [
        (
            "JOR 5: bandwidth of T [GB/s]",
            1e-9 * BANDWIDTH,
            jor.and_then(Row::bandwidth).map(|b| 1e-9 * b),
        ),
        (
            "JOR 5: share of the peak there, of its copy here [%]",
            100.0 * 170.0 / 192.0,
            jor.and_then(Row::bandwidth).map(|b| 100.0 * b / card.copy),
        ),
        (
            "JOR 5 over one core: faster by",
            SPEEDUP,
            jor.and_then(|r| Some(r.cpu / r.seconds()?)),
        ),
        (
            "JOR on many cores over one: faster by",
            1.5,
            jor.and_then(|r| Some(r.cpu / r.threads?)),
        ),
        (
            "JOR 5: f64 over f32",
            2.0,
            seconds("JOR 5", double, largest)
                .zip(seconds("JOR 5", Precision::Single, largest))
                .map(|(d, s)| d / s),
        ),
        ("Full SOR 1 over JOR 5", 2.0, ratio("Full SOR 1", "JOR 5")),
        (
            "Relaxed SOR 4 over JOR 5",
            1.0,
            ratio("Relaxed SOR 4", "JOR 5"),
        ),
        (
            "Relaxed SOR 2 over Full SOR 1",
            1.0,
            ratio("Relaxed SOR 2", "Full SOR 1"),
        ),
        (
            "Contacts from which 50 iterations of JOR 5 pay",
            200.0,
            pays_from(rows),
        ),
    ];
    let title = card.title(format!(
        "What the text says of figures 6.1 to 6.3, {largest} contacts, f64"
    ));
    findings.table(
        Columns::new("gpu-dense-text", title, "Nützi 2011, 6.1", &table)
            .key("observation", |(name, ..)| name)
            .column("value", |(_, there, here)| (*there, *here))
            .note(format!(
                "His card is a GTX 580, his processor has six threads; {} here. His speed-up over one core is 10 to 16.",
                bench.most_threads()
            )),
    );
}

/// Figure 6.4.
fn step_a(bench: &Bench, card: &Card, findings: &mut Findings) {
    let contacts = if card.is_software {
        333
    } else {
        bench.either(333, 3000)
    };
    let problem = Problem::random(contacts, SEED);
    let runs = STEP_A.map(|variant| {
        bench.say(format!("step A: {}", variant.name));
        variants::run(
            &problem,
            &variant,
            Precision::Double,
            ITERATIONS,
            card.warm_up(),
        )
        .ok()
    });
    let time = |name: &str| {
        let place = STEP_A.iter().position(|v| v.name == name)?;
        Some(runs[place].as_ref()?.seconds)
    };
    let whole = time("whole");
    let without = |more: &str, less: &str| Some(time(more)? - time(less)?);
    let parts = [
        (
            "propagation in step A",
            Some(25.0),
            without("whole", "without 1"),
        ),
        (
            "projection of normal impulses",
            Some(0.0),
            without("without 1", "without 1-2"),
        ),
        (
            "projection of friction impulses",
            Some(15.0),
            without("without 1-2", "without 1-3"),
        ),
        (
            "writes on the diagonal",
            None,
            without("without 1-3", "without 1-4"),
        ),
        ("barriers", Some(20.0), without("whole", "without barriers")),
        ("step A by itself", None, time("A alone")),
        ("step B by itself", None, time("B alone")),
    ];
    let title = card.title(format!("Full SOR 1 in parts, {contacts} contacts, f64"));
    findings.table(
        Columns::new("gpu-dense-step-a", title, "Nützi 2011, figure 6.4 and its text", &parts)
            .key("part", |(name, ..)| name)
            .column("of the iteration [%]", |(_, there, here)| {
                (*there, here.zip(whole).map(|(part, whole)| 100.0 * part / whole))
            })
            .note(
                "Parts are left out one after the other, as he did; what a part takes is the difference. Of propagation he \
                 says \"over 25 %\", of friction \"10–20 %\", and that normal impulses have almost no influence.",
            ),
    );
}
