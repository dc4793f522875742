use clap::Args;
use moreau::measure::report;
use moreau::solve::{self, Parameter, ParameterKind, SOLVERS, SolverInfo};
use serde_json::{Value, json};

use super::{Failure, ReportFormat, print};

/// Arguments of `solvers`.
#[derive(Args, Clone, Debug)]
pub struct SolversArgs {
    /// Only these solvers; all where none is named
    #[arg(value_name = "NAMES")]
    names: Vec<String>,
    /// How to write the list
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
}

/// Lists the solvers with their parameters, units and sources.
pub fn run(args: &SolversArgs) -> Result<(), Failure> {
    let mut chosen: Vec<&SolverInfo> = Vec::new();
    for name in &args.names {
        chosen.push(solve::named(name)?);
    }
    if chosen.is_empty() {
        chosen.extend(SOLVERS);
    }
    let text = match args.report {
        ReportFormat::Text => as_text(&chosen),
        ReportFormat::Json => {
            let solver = |s: &SolverInfo| {
                json!({
                    "name": s.name,
                    "summary": s.summary,
                    "source": s.source,
                    "obstacle": (s.traits.obstacle)(),
                    "parameters": s.parameters.iter().map(as_json).collect::<Value>(),
                })
            };
            format!(
                "{:#}\n",
                chosen.iter().copied().map(solver).collect::<Value>()
            )
        }
        ReportFormat::Csv => as_csv(&chosen)?,
    };
    print(&text)
}

fn as_text(solvers: &[&SolverInfo]) -> String {
    let mut text = String::new();
    for solver in solvers {
        text += &format!("{}\n", solver.name);
        text += &report::paragraph(solver.summary, 2, 94);
        text += &format!("  Source: {}\n", solver.source);
        if let Some(obstacle) = (solver.traits.obstacle)() {
            text += &report::paragraph(&format!("Here on the CPU: {obstacle}."), 2, 94);
        }
        for p in solver.parameters {
            let unit = match p.unit {
                "-" => String::new(),
                unit => format!(" [{unit}]"),
            };
            let (default, expected) = (p.default_value(), p.expected());
            text += &format!("\n    {}{unit} = {default}, {expected}\n", p.name);
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
        _ => json!(p.expected()),
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

fn as_csv(solvers: &[&SolverInfo]) -> Result<String, csv::Error> {
    let header = "solver,parameter,unit,default,expected,summary,source".split(',');
    let rows = solvers.iter().flat_map(|solver| {
        solver.parameters.iter().map(|p| {
            let default = p.default_value().to_string();
            let described = (default, p.expected(), p.summary, p.source);
            (solver.name, p.name, p.unit, described)
        })
    });
    report::csv(&header.collect::<Vec<_>>(), rows)
}
