use std::fmt::Write as _;

use clap::Args;
use moreau::check::did_you_mean;
use moreau::measure::report;
use moreau::verify::{self, Outcome};
use serde_json::json;

use super::{Failure, ReportFormat, print};

/// Arguments of `verify`.
#[derive(Args, Clone, Debug)]
pub struct VerifyArgs {
    /// Only this row
    row: Option<String>,
    /// How to report: a table in Markdown, one JSON list, or one line per row
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
}

/// Tries laws of mechanics whose answer is known, and says where one does not hold.
pub fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let is_meant = |name: &str| args.row.as_deref().is_none_or(|row| row == name);
    let rows: Vec<_> = verify::rows().filter(|row| is_meant(row.name)).collect();
    if let (Some(wrong), true) = (&args.row, rows.is_empty()) {
        let names: Vec<_> = verify::rows().map(|row| row.name).collect();
        let question = did_you_mean(wrong, names.iter().copied());
        return Err(Failure::Input(format!(
            "there is no row \"{wrong}\"; there are: {}{question}",
            names.join(", ")
        )));
    }
    let outcomes: Vec<Outcome> = rows.iter().map(|row| row.run()).collect();
    print(&match args.report {
        ReportFormat::Text => as_text(&outcomes),
        ReportFormat::Json => format!("{:#}\n", json!(outcomes)),
        ReportFormat::Csv => as_csv(&outcomes)?,
    })?;
    let missed = outcomes.iter().filter(|outcome| !outcome.holds);
    let missed: Vec<_> = missed.map(|outcome| outcome.row).collect();
    match missed.as_slice() {
        [] => Ok(()),
        missed => Err(Failure::Work(format!(
            "{} of {} rows missed: {}",
            missed.len(),
            outcomes.len(),
            missed.join(", ")
        ))),
    }
}

fn as_text(outcomes: &[Outcome]) -> String {
    let header = [
        "row",
        "got",
        "expected",
        "tolerance",
        "unit",
        "order in h",
        "holds",
    ];
    let lines: Vec<Vec<String>> = outcomes
        .iter()
        .map(|o| {
            vec![
                o.row.into(),
                o.got.map_or("-".into(), |got| match got.abs() {
                    // Of what is expected to be nothing, or is near it, the size says all.
                    size if o.expected == 0.0 && size < 1e-3 => format!("{got:.1e}"),
                    _ => format!("{got:.4}"),
                }),
                o.expected.to_string(),
                match o.tolerance {
                    small if small < 1e-3 => format!("{small:e}"),
                    tolerance => tolerance.to_string(),
                },
                o.unit.into(),
                orders(o),
                if o.holds { "yes" } else { "no" }.into(),
            ]
        })
        .collect();
    let mut out = String::from(
        "# Verification\n\n\
         What `moreau verify` prints: laws of mechanics whose answer is known apart, by default settings at 1/60 s. An\n\
         order in h is that of the error with steps of 1/60, 1/120, 1/240 and 1/480 s; the last is to be 2 within 0.2.\n\n",
    );
    out += &report::table(&header.map(String::from), &lines, 1..4);
    out.push('\n');
    for o in outcomes {
        let _ = write!(out, "- **{}**: {}.", o.row, o.law);
        let text = format!("{}.", o.setting);
        let _ = write!(out, "\n{}", report::paragraph(&text, 2, 118));
        if let Some(failure) = &o.failure {
            let _ = writeln!(out, "  Not measured: {failure}.");
        }
    }
    out
}

fn orders(outcome: &Outcome) -> String {
    let orders: Vec<_> = outcome.orders.iter().map(|o| format!("{o:.2}")).collect();
    orders.join(", ")
}

fn as_csv(outcomes: &[Outcome]) -> Result<String, csv::Error> {
    let header = "row,law,setting,expected,got,tolerance,unit,orders,holds,failure".split(',');
    let rows = outcomes.iter().map(|o| {
        let numbers = (o.expected, o.got, o.tolerance, o.unit);
        let failure = o.failure.as_deref().unwrap_or_default();
        (
            o.row,
            o.law,
            o.setting,
            numbers,
            orders(o),
            o.holds,
            failure,
        )
    });
    report::csv(&header.collect::<Vec<_>>(), rows)
}
