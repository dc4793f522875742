//! What a terminal and a spreadsheet are shown: tables, CSV and progress.

use std::ops::Range;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// A table in Markdown, which can be read on a terminal too: all rows as long as the header, the columns
/// `numbers` aligned to the right.
pub fn table(header: &[String], rows: &[Vec<String>], numbers: Range<usize>) -> String {
    let mut style = presets::ASCII_MARKDOWN;
    // comfy-table's own separator knows no alignment.
    style.header_separator = LineStyle::none();
    let mut table = Table::new();
    table.load_style(style).set_header(header).add_rows(rows);
    let widths = table.column_max_content_widths();
    let header = header.iter().zip(&widths).enumerate();
    let header: Vec<String> = header
        .map(|(column, (name, width))| {
            let dashes = "-".repeat(usize::from(*width).max(3) - 1);
            match numbers.contains(&column) {
                true => format!("{name}\n{dashes}:"),
                false => format!("{name}\n{dashes}-"),
            }
        })
        .collect();
    table.set_header(header);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

/// Rows without a header, in columns two spaces apart.
pub fn columns(rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt() + "\n"
}

/// Text in lines of at most `width` characters, the first `indent` of them empty.
pub fn paragraph(text: &str, indent: u16, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .add_row([text]);
    for column in table.column_iter_mut() {
        column.set_padding((indent, 0));
    }
    table.trim_fmt() + "\n"
}

/// Comma-separated values: a header, and each row as its values in the order of the header.
///
/// # Errors
/// Rows of another length, or values that are no plain numbers or text.
pub fn csv<R: Serialize>(
    header: &[impl AsRef<[u8]>],
    rows: impl IntoIterator<Item = R>,
) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().map_err(|e| e.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Progress on a terminal, nothing elsewhere: a bar of so many steps, or a spinner.
pub fn progress(steps: Option<u64>, template: &str) -> ProgressBar {
    let bar = steps.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[[&str; 2]]) -> Vec<Vec<String>> {
        let row = |cells: &[&str; 2]| cells.map(String::from).to_vec();
        cells.iter().map(row).collect()
    }

    #[test]
    fn tables_are_markdown_and_aligned() {
        let header = ["name", "time [ms]"].map(String::from);
        let text = table(&header, &rows(&[["a", "1"], ["Nützi", "22.5"]]), 1..2);
        let expected = "\
| name  | time [ms] |
| ----- | --------: |
| a     |         1 |
| Nützi |      22.5 |
";
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn lists_are_aligned_without_trailing_spaces() {
        let text = columns(&rows(&[["a", "first"], ["bcd", ""]]));
        assert_eq!(text, "a    first\nbcd\n");
        let text = paragraph("one two three four", 2, 12);
        assert_eq!(text, "  one two\n  three four\n");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let rows = [("a, b", 1.5, None), ("c", 2e-9, Some("\"x\""))];
        let text = csv(&["name", "value", "remark"], rows).expect("plain values");
        assert_eq!(
            text,
            "name,value,remark\n\"a, b\",1.5,\nc,2e-9,\"\"\"x\"\"\"\n"
        );
    }
}
