//! What `compare` and `solve` have in common: who takes part, with what, and how it is reported.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use moreau::compare::{
    Compared, Contest, Contestant, FIELDS, Outcome, Rounds, Task, convergence, csv, equal_quality,
    equal_time, histories, quality_sentence, status_word, time_sentence,
};
use moreau::measure::{Summary, plot, report};
use moreau::solve::{Budget, SOLVERS, SolverConfig, Status, Value};
use serde_json::{Map, json};

use super::{Failure, ReportFormat, choices, outputs, print, save};

/// Which solvers, and what is asked of them.
#[derive(Args, Clone, Debug)]
pub struct ContestantArgs {
    /// Solvers, each with parameters if they are not to be the defaults: colored-gs:precision=f64,nncg,bpp
    /// [default: all of them, on a problem without bodies all that need none]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    solvers: Vec<String>,
    /// Stop at this residual estimate (m/s), instead of the budget's
    #[arg(long, value_name = "M/S", value_parser = positive)]
    tolerance: Option<f64>,
    /// Most iterations, instead of the budget's; a direct solver's are never fewer than it needs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// Where all of them begin
    #[arg(long, value_enum, default_value_t)]
    start: Start,
    /// Solves by each, in turns, of which the median time counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Threads; 0 means all
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    threads: u32,
    /// The residual whose time is compared (m/s)
    #[arg(long, default_value_t = 1e-6, value_name = "M/S", value_parser = positive)]
    quality: f64,
    /// Draw the residual by iteration and by time, as SVG or PNG
    #[arg(long, value_name = "F.svg|F.png", value_parser = plot_file)]
    plot: Option<PathBuf>,
    /// Write the residual after every iteration as comma-separated values
    #[arg(long, value_name = "F.csv")]
    history: Option<PathBuf>,
    /// How to report: tables, a JSON list, or one line per solver and problem
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
}

/// Where solvers begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Start {
    /// At the impulses that the step began with, or at the file's first guess
    #[default]
    Warm,
    /// At Λ = 0
    Cold,
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(v) if v > 0.0 && v.is_finite() => Ok(v),
        _ => Err("expected a number above 0, such as 1e-6".into()),
    }
}

/// A problem to be compared on.
pub struct Stated<'a> {
    /// The scene or file that it comes from.
    pub scene: String,
    /// Its step; none where it is not known.
    pub step: Option<u64>,
    /// The problem.
    pub task: Task<'a>,
}

/// What all solvers made of all problems.
#[derive(Default)]
pub struct Results(Vec<(String, Option<u64>, Vec<Outcome>)>);

impl ContestantArgs {
    /// The solvers, with budgets that come from `base`.
    ///
    /// # Errors
    /// An unknown solver, or parameters that it does not have.
    pub fn contest(&self, base: &SolverConfig) -> Result<Contest, Failure> {
        let named = self.solvers.iter().map(String::as_str);
        let all = SOLVERS.iter().map(|s| s.name);
        let labels: Vec<&str> = if self.solvers.is_empty() {
            all.collect()
        } else {
            named.collect()
        };
        let contestants = labels.iter().map(|label| self.contestant(label, base));
        let contestants = contestants.collect::<Result<_, Failure>>()?;
        Ok(Contest::new(contestants))
    }

    fn contestant(&self, label: &str, base: &SolverConfig) -> Result<Contestant, Failure> {
        let mut words = label.split(':');
        let mut config = base.clone();
        config.switch(words.next().unwrap_or_default());
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                return Err(Failure::Input(format!(
                    "--solvers {label}: \"{word}\" is no parameter; expected NAME=VALUE, such as \
                     colored-gs:precision=f64"
                )));
            };
            config.parameters.insert(name.into(), Value::read(value));
        }
        let (info, _) = config.check()?;
        let budget = &mut config.budget;
        if let Some(iterations) = self.iterations {
            budget.iterations = iterations.max(info.least_iterations);
        }
        budget.tolerance = self.tolerance.unwrap_or(budget.tolerance);
        Ok(Contestant::new(label, config)?)
    }

    /// Lets the solvers solve a problem.
    pub fn run(&self, contest: &mut Contest, stated: Stated<'_>, results: &mut Results) {
        let task = Task {
            start: stated.task.start.filter(|_| self.start == Start::Warm),
            ..stated.task
        };
        let shows_history = self.plot.is_some() || self.history.is_some();
        let rounds = Rounds {
            count: self.rounds.into(),
            // The text's sentences come from it too. It costs a residual per iteration.
            history: shows_history || self.report == ReportFormat::Text,
            estimate: true,
        };
        let mut outcomes = contest.run(&task, rounds);
        // Of whole runs these would be gigabytes, and nothing is reported of them.
        for outcome in &mut outcomes {
            outcome.lambda = Vec::new();
            outcome.velocity = Vec::new();
        }
        results.0.push((stated.scene, stated.step, outcomes));
    }

    /// Whether no solver is named, so that all of them take part.
    pub fn are_all(&self) -> bool {
        self.solvers.is_empty()
    }

    /// Names one solver to take part.
    pub fn name(&mut self, solver: String) {
        self.solvers.push(solver);
    }

    /// Number of threads; 0 means all.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }

    /// Looks at the files that will be written, before any work.
    ///
    /// # Errors
    /// One that cannot be written, or is also read, or is both of them.
    pub fn check_files(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let written = [("plot", &self.plot), ("history", &self.history)];
        let written = written
            .into_iter()
            .filter_map(|(what, path)| Some((what, path.as_deref()?)));
        outputs::check(inputs, &written.collect::<Vec<_>>())
    }

    /// Writes what was found, and says whether a solver failed.
    ///
    /// # Errors
    /// Files that cannot be written, or a solver that failed.
    pub fn finish(&self, results: &Results) -> Result<(), Failure> {
        let plot = self.plot.as_ref();
        let plot = plot.map(|path| save("plot", path, &drawn(results.svg(), path)?));
        let history = self.history.as_ref();
        let history =
            history.map(|path| save("history", path, histories(results.all())?.as_bytes()));
        print(&match self.report {
            ReportFormat::Text => results.text(self.quality),
            ReportFormat::Json => format!("{:#}\n", results.json()),
            ReportFormat::Csv => csv(results.all())?,
        })?;
        // What could not be written has kept nothing else from being written.
        plot.unwrap_or(Ok(()))?;
        history.unwrap_or(Ok(()))?;
        results.verdict()
    }
}

fn is_png(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|e| e.eq_ignore_ascii_case("png"))
}

/// A plot's file, refused before any work where it cannot be drawn.
fn plot_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if is_png(&path) && cfg!(not(feature = "viewer")) {
        return Err("this build draws no PNG (it lacks the feature `viewer`); name it .svg".into());
    }
    Ok(path)
}

/// A plot as the ending of its file asks for.
fn drawn(svg: String, path: &Path) -> Result<Vec<u8>, Failure> {
    #[cfg(feature = "viewer")]
    if is_png(path) {
        let png = moreau::measure::picture::png(&svg);
        return png.map_err(|why| Failure::Input(format!("{}: {why}", path.display())));
    }
    _ = path;
    Ok(svg.into_bytes())
}

/// The solver's default settings for problems that come without a scene, but for the iterations: whoever solves a
/// file wants its solution, and has no frame to wait for. Solvers stop at the tolerance earlier.
pub fn default_config() -> SolverConfig {
    SolverConfig {
        budget: Budget {
            iterations: 1000,
            ..Budget::default()
        },
        ..SolverConfig::default()
    }
}

/// A number as people read it: few digits, and none where there is none.
fn shown(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(0.0) => "0".into(),
        Some(v) if v.fract() == 0.0 && v.abs() < 1e7 => format!("{v}"),
        Some(v) if (1e-2..1e5).contains(&v.abs()) => format!("{v:.3}"),
        Some(v) => format!("{v:.2e}"),
    }
}

/// The fields of the first table; all others are in the second.
const FIRST: [&str; 6] = [
    "iterations",
    "time_ms",
    "prepare_ms",
    "residual",
    "residual_coulomb",
    "velocity_distance",
];

impl Results {
    fn text(&self, quality: f64) -> String {
        let mut out = String::new();
        for (k, (scene, step, outcomes)) in self.0.iter().enumerate() {
            if k > 0 {
                out.push('\n');
            }
            out += &match step {
                Some(step) => format!("{scene}, step {step}\n\n"),
                None => format!("{scene}\n\n"),
            };
            out += &table(outcomes, |name| FIRST.contains(&name), true);
            out.push('\n');
            out += &table(outcomes, |name| !FIRST.contains(&name), false);
            out += &sentences(outcomes, quality);
        }
        if self.0.len() > 1 {
            out += &self.summary();
        }
        out
    }

    /// Over all problems, solver by solver.
    fn summary(&self) -> String {
        let header = [
            "solver",
            "converged",
            "median time [ms]",
            "most time [ms]",
            "largest residual [m/s]",
        ];
        let header = header.map(String::from);
        let first = self.0.first().map_or(&[][..], |(_, _, outcomes)| outcomes);
        let row = |k: usize| {
            let of = |value: fn(&Outcome) -> f64| {
                Summary::of(&self.0.iter().map(|r| value(&r.2[k])).collect::<Vec<_>>())
            };
            let solved = self
                .0
                .iter()
                .filter(|r| r.2[k].report.status == Status::Converged);
            let time = of(|o| 1e3 * o.time());
            let residual = of(|o| o.residual.map_or(f64::INFINITY, |r| r.residual));
            vec![
                first[k].label.clone(),
                format!("{} of {}", solved.count(), self.0.len()),
                shown(Some(time.median)),
                shown(Some(time.max)),
                shown(Some(residual.max)),
            ]
        };
        let rows: Vec<Vec<String>> = (0..first.len()).map(row).collect();
        format!("\nAll problems\n\n{}", report::table(&header, &rows, 1..5))
    }

    fn json(&self) -> serde_json::Value {
        let of = |(scene, step, outcomes): &(String, Option<u64>, Vec<Outcome>)| {
            let row = |o: &Outcome| {
                let mut row = Map::new();
                row.insert("scene".into(), json!(scene));
                row.insert("step".into(), json!(step));
                row.insert("solver".into(), json!(o.label));
                row.insert("status".into(), json!(status_word(&o.report.status)));
                for field in &FIELDS {
                    let value = (field.value)(o).filter(|v| v.is_finite());
                    let whole = value.filter(|_| field.name == "iterations");
                    let value = whole.map_or(json!(value), |v| json!(v as u64));
                    row.insert(field.name.into(), value);
                }
                let choices = &o.report.choices;
                row.insert("remarks".into(), json!(o.report.remarks));
                row.insert("islands_by_method".into(), choices::counts(choices));
                row.insert("largest_islands".into(), choices::largest(choices));
                serde_json::Value::Object(row)
            };
            outcomes.iter().map(row).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    fn all(&self) -> impl Iterator<Item = Compared<'_>> {
        let all = self.0.iter();
        all.map(|(scene, step, outcomes)| Compared {
            scene,
            step: *step,
            outcomes,
        })
    }

    fn svg(&self) -> String {
        let plots = self.0.iter().flat_map(|(scene, step, outcomes)| {
            let what = step.map_or(scene.clone(), |step| format!("{scene}, step {step}"));
            convergence(outcomes, &what)
        });
        plot::column(&plots.collect::<Vec<_>>())
    }

    /// Fails if a solver did.
    fn verdict(&self) -> Result<(), Failure> {
        let all = self
            .0
            .iter()
            .flat_map(|(scene, _, outcomes)| outcomes.iter().map(move |outcome| (scene, outcome)));
        let mut failures = all.filter_map(|(scene, o)| match &o.report.status {
            Status::Failed(why) => Some(format!("{}: {} failed: {why}", scene, o.label)),
            _ => None,
        });
        failures
            .next()
            .map_or(Ok(()), |first| Err(Failure::Work(first)))
    }
}

fn table(outcomes: &[Outcome], wanted: impl Fn(&str) -> bool, with_status: bool) -> String {
    let fields: Vec<_> = FIELDS
        .iter()
        .filter(|f| wanted(f.name) && outcomes.iter().any(|o| (f.value)(o).is_some()))
        .collect();
    let name = |name: &str| name.trim_end_matches("_ms").replace('_', " ");
    // As columns: a title and a text for each solver.
    let column = |title: &str, of: &dyn Fn(&Outcome) -> String| {
        let texts = outcomes.iter().map(of);
        std::iter::once(title.to_owned()).chain(texts).collect()
    };
    let solvers: Column = column("solver", &|o| o.label.clone());
    let mut columns = Vec::new();
    if with_status {
        let status = |o: &Outcome| status_word(&o.report.status).to_owned();
        columns.push(column("status", &status));
    }
    let texts = columns.len();
    columns.extend(fields.iter().map(|f| {
        let title = match f.unit {
            "-" => name(f.name),
            unit => format!("{} [{unit}]", name(f.name)),
        };
        column(&title, &|o| shown((f.value)(o)))
    }));
    let mut out = String::new();
    let mut rest = &columns[..];
    let mut left = texts;
    while !rest.is_empty() {
        // As many as there is room for, one at least.
        let mut room = WIDTH.saturating_sub(1 + width(&solvers));
        let fits = |column: &&Column| {
            let fits = width(column) <= room;
            room = room.saturating_sub(width(column));
            fits
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (now, later) = rest.split_at(count);
        let line = |k: usize| {
            std::iter::once(&solvers)
                .chain(now)
                .map(move |c| c[k].clone())
        };
        let rows: Vec<Vec<String>> = (1..=outcomes.len()).map(|k| line(k).collect()).collect();
        if !out.is_empty() {
            out.push('\n');
        }
        let header: Vec<String> = line(0).collect();
        out += &report::table(&header, &rows, 1 + left.min(count)..header.len());
        left = left.saturating_sub(count);
        rest = later;
    }
    out
}

/// The title of a column and what stands in it.
type Column = Vec<String>;

/// Columns of text that a table takes at most; it is continued below itself.
const WIDTH: usize = 100;

/// What a column takes of that, with its border.
fn width(column: &Column) -> usize {
    let longest = column.iter().map(|text| text.chars().count()).max();
    longest.unwrap_or(0) + 3
}

/// Equal quality, and equal time: that of the fastest solver that got there.
fn sentences(outcomes: &[Outcome], quality: f64) -> String {
    let ranking = equal_quality(outcomes, quality);
    let mut lines = format!("\n{}\n", quality_sentence(&ranking, quality));
    if let Some(time) = ranking.first().and_then(|first| first.time) {
        lines += &format!("{}\n", time_sentence(&equal_time(outcomes, time), time));
    }
    for o in outcomes {
        if let Some(largest) = o.report.choices.largest.first() {
            let (label, by_method) = (&o.label, o.report.choices.in_words());
            let (contacts, because) = (largest.contacts, largest.because());
            lines += &format!(
                "{label}'s islands: {by_method}; of {contacts} contacts in the largest: {because}.\n"
            );
        }
    }
    for o in outcomes {
        for remark in &o.report.remarks {
            lines += &format!("{}: {remark}.\n", o.label);
        }
    }
    for o in outcomes.iter().filter(|o| o.solves_another_law()) {
        let (label, error) = (&o.label, o.error);
        lines += &format!(
            "{label} solves another law than the contacts': under theirs its residual is {error:.1e} m/s.\n"
        );
    }
    lines
}
