use clap::Args;
use moreau::measure::report;
use moreau::scene::library::{self, Entry};
use serde_json::json;

use super::{Failure, ReportFormat, print};

/// Arguments of `scenes`.
#[derive(Args, Clone, Debug)]
pub struct ScenesArgs {
    /// How to write the list
    #[arg(long, value_enum, default_value_t)]
    report: ReportFormat,
    /// Instead, draw the first pictures of all of them on one sheet, into this PNG file
    #[cfg(feature = "viewer")]
    #[arg(long, value_name = "PNG")]
    sheet: Option<std::path::PathBuf>,
}

/// Lists the scenes.
pub fn run(args: &ScenesArgs) -> Result<(), Failure> {
    #[cfg(feature = "viewer")]
    if let Some(path) = &args.sheet {
        return super::sheet::draw(path);
    }
    let entries = library::list();
    let text = match args.report {
        ReportFormat::Text => {
            let row = |e: Entry| vec![e.group, e.id, e.summary];
            report::columns(&entries.into_iter().map(row).collect::<Vec<_>>())
        }
        ReportFormat::Json => format!("{:#}\n", json!(entries)),
        ReportFormat::Csv => {
            let rows = entries.iter().map(|e| (&e.id, &e.group, &e.summary));
            report::csv(&["id", "group", "summary"], rows)?
        }
    };
    print(&text)
}
