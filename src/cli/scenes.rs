use clap::Args;
use moreau::scene::library;
use serde_json::json;

use super::{Failure, ReportFormat, print, table};

/// Arguments of `scenes`.
#[derive(Args, Clone, Debug)]
pub struct ScenesArgs {
    /// How to write the list
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
}

/// Lists the scenes.
pub fn run(args: &ScenesArgs) -> Result<(), Failure> {
    let entries = library::list();
    let text = match args.report {
        ReportFormat::Text => {
            let rows: Vec<_> = entries
                .iter()
                .map(|e| vec![e.group.clone(), e.id.clone(), e.summary.clone()])
                .collect();
            table(&rows, &[])
        }
        ReportFormat::Json => {
            let list: Vec<_> = entries
                .iter()
                .map(|e| {
                    json!({
                        "id": e.id,
                        "name": e.name,
                        "group": e.group,
                        "summary": e.summary,
                        "path": e.path,
                    })
                })
                .collect();
            format!("{:#}\n", json!(list))
        }
        ReportFormat::Csv => {
            let mut text = String::from("id,group,summary\n");
            for e in &entries {
                let quoted = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
                text += &format!(
                    "{},{},{}\n",
                    quoted(&e.id),
                    quoted(&e.group),
                    quoted(&e.summary)
                );
            }
            text
        }
    };
    print(&text)
}
