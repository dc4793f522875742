use clap::Args;
use moreau::measure::report;
use moreau::solve::{Parameter, ParameterKind, SOLVERS, SolverInfo};
use serde_json::{Value, json};

use super::{Failure, ReportFormat, print};

/// Arguments of `solvers`.
#[derive(Args, Clone, Debug)]
pub struct SolversArgs {
    /// How to write the list
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
}

/// Lists the solvers with their parameters, units and sources.
pub fn run(args: &SolversArgs) -> Result<(), Failure> {
    let text = match args.report {
        ReportFormat::Text => as_text(),
        ReportFormat::Json => {
            let list: Vec<_> = SOLVERS
                .iter()
                .map(|s| {
                    json!({
                        "name": s.name,
                        "summary": s.summary,
                        "source": s.source,
                        "parameters": s.parameters.iter().map(as_json).collect::<Vec<_>>(),
                    })
                })
                .collect();
            format!("{:#}\n", json!(list))
        }
        ReportFormat::Csv => as_csv()?,
    };
    print(&text)
}

fn as_text() -> String {
    let mut text = String::new();
    for solver in SOLVERS {
        text += &format!("{}\n", solver.name);
        text += &report::paragraph(solver.summary, 2, 94);
        text += &format!("  Source: {}\n", solver.source);
        for p in solver.parameters {
            let unit = if p.unit == "-" {
                String::new()
            } else {
                format!(" [{}]", p.unit)
            };
            text += &format!(
                "\n    {}{unit} = {}, {}\n",
                p.name,
                p.default_value(),
                p.expected()
            );
            text += &report::paragraph(&format!("{} ({})", p.summary, p.source), 6, 94);
        }
        text.push('\n');
    }
    text += "Set one with --set solver.parameters.NAME=VALUE; budgets with --set solver.budget.iterations=200.\n";
    text
}

fn as_json(p: &Parameter) -> Value {
    let range = match p.kind {
        ParameterKind::Number { range, .. } => json!(range),
        ParameterKind::Integer { range, .. } => json!(range),
        ParameterKind::Flag { .. } => json!([false, true]),
        ParameterKind::Choice { options, .. } => json!(options),
    };
    json!({
        "name": p.name,
        "unit": p.unit,
        "default": p.default_value(),
        "range": range,
        "summary": p.summary,
        "source": p.source,
    })
}

fn as_csv() -> Result<String, csv::Error> {
    let header = [
        "solver",
        "parameter",
        "unit",
        "default",
        "expected",
        "summary",
        "source",
    ];
    let parameters = |s: &'static SolverInfo| s.parameters.iter().map(move |p| (s.name, p));
    let rows = SOLVERS.iter().copied().flat_map(parameters);
    let row = |(solver, p): (&'static str, &'static Parameter)| {
        let default = p.default_value().to_string();
        (
            solver,
            p.name,
            p.unit,
            default,
            p.expected(),
            p.summary,
            p.source,
        )
    };
    report::csv(&header, rows.map(row))
}
