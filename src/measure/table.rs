//! Tables of measured numbers, beside a paper's where there are some: text for people, JSON and CSV
//! for programs.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// A number of a paper and the one measured here; either may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// What the paper gives.
    pub paper: Option<f64>,
    /// What was measured.
    pub here: Option<f64>,
}

impl Pair {
    /// A number that the paper gives, and ours.
    pub fn both(paper: f64, here: f64) -> Self {
        Self {
            paper: Some(paper),
            here: Some(here),
        }
    }

    /// A number that the paper does not give.
    pub fn here(here: f64) -> Self {
        Self {
            paper: None,
            here: Some(here),
        }
    }

    /// Here over paper; `None` unless both are finite and the paper's is not 0.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.here? / self.paper?;
        ratio.is_finite().then_some(ratio)
    }
}

impl From<f64> for Pair {
    fn from(here: f64) -> Self {
        Self::here(here)
    }
}

impl From<Option<f64>> for Pair {
    fn from(here: Option<f64>) -> Self {
        Self { paper: None, here }
    }
}

/// How a table is printed as text; JSON and CSV are the same for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One line per row and quantity, with the columns paper, here and ratio.
    #[default]
    Beside,
    /// One line per row and one column per quantity, our numbers only.
    Columns,
}

/// A row: names in the key columns, a pair per quantity, and a remark.
#[derive(Clone, Debug, Default)]
struct Row {
    keys: Vec<String>,
    pairs: Vec<Pair>,
    remark: String,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// A short name for programs: `poulsen-3.3`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Where the paper's numbers come from; empty for measurements of our own.
    pub source: String,
    /// How it is printed.
    pub layout: Layout,
    /// What a reader must know, printed below.
    pub notes: Vec<String>,
    keys: Vec<&'static str>,
    quantities: Vec<(&'static str, &'static str)>,
    rows: Vec<Row>,
}

impl Table {
    /// An empty table with the names of its key columns, and of its quantities with their units
    /// ("-" for none).
    pub fn new(
        id: &str,
        layout: Layout,
        keys: &[&'static str],
        quantities: &[(&'static str, &'static str)],
    ) -> Self {
        Self {
            id: id.to_owned(),
            title: String::new(),
            source: String::new(),
            layout,
            notes: Vec::new(),
            keys: keys.to_vec(),
            quantities: quantities.to_vec(),
            rows: Vec::new(),
        }
    }

    /// With a title and a source.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>, source: impl Into<String>) -> Self {
        self.title = title.into();
        self.source = source.into();
        self
    }

    /// Adds a row: as many keys and pairs as there are columns (missing ones are empty), and a
    /// remark, which may be empty.
    pub fn row<K: Into<String>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        pairs: impl IntoIterator<Item = Pair>,
        remark: impl Into<String>,
    ) {
        let mut keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        let mut pairs: Vec<Pair> = pairs.into_iter().collect();
        keys.resize(self.keys.len(), String::new());
        pairs.resize(self.quantities.len(), Pair::default());
        self.rows.push(Row {
            keys,
            pairs,
            remark: remark.into(),
        });
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text, its title above and its notes below.
    pub fn text(&self) -> String {
        let mut out = self.title.clone();
        if !self.source.is_empty() {
            let _ = write!(out, " ({})", self.source);
        }
        out.push('\n');
        let (lines, right) = match self.layout {
            Layout::Beside => self.beside(),
            Layout::Columns => self.columns(),
        };
        out += &aligned(&lines, &right);
        for note in &self.notes {
            let _ = writeln!(out, "{note}");
        }
        out
    }

    fn beside(&self) -> (Vec<Vec<String>>, Vec<usize>) {
        let mut head: Vec<String> = self.keys.iter().map(|k| (*k).to_owned()).collect();
        head.extend(["", "paper", "here", "ratio", ""].map(String::from));
        let first = self.keys.len() + 1;
        let mut lines = vec![head];
        let mut last: &[String] = &[];
        for row in &self.rows {
            // A name that repeats the line above says nothing new.
            let same = row.keys.iter().zip(last).take_while(|(a, b)| a == b);
            let mut keep = same.count();
            last = &row.keys;
            let mut remark = row.remark.as_str();
            let shown = row.pairs.iter().zip(&self.quantities);
            let mut shown: Vec<_> = shown.filter(|(p, _)| **p != Pair::default()).collect();
            if shown.is_empty() && !remark.is_empty() {
                shown.extend(row.pairs.iter().zip(&self.quantities).take(1));
            }
            for (pair, quantity) in shown {
                let mut line: Vec<String> = row.keys.clone();
                line[..keep].fill(String::new());
                line.push(named(quantity));
                line.push(pair.paper.map(number).unwrap_or_default());
                line.push(pair.here.map_or_else(|| "-".to_owned(), number));
                line.push(pair.ratio().map(fraction).unwrap_or_default());
                line.push(std::mem::take(&mut remark).to_owned());
                lines.push(line);
                keep = row.keys.len();
            }
        }
        (lines, (first..first + 3).collect())
    }

    fn columns(&self) -> (Vec<Vec<String>>, Vec<usize>) {
        let used: Vec<usize> = (0..self.quantities.len())
            .filter(|q| self.rows.iter().any(|r| r.pairs[*q].here.is_some()))
            .collect();
        let mut head: Vec<String> = self.keys.iter().map(|k| (*k).to_owned()).collect();
        head.extend(used.iter().map(|q| named(&self.quantities[*q])));
        head.push(String::new());
        let mut lines = vec![head];
        for row in &self.rows {
            let mut line = row.keys.clone();
            let cell = |q: &usize| row.pairs[*q].here.map_or_else(|| "-".to_owned(), number);
            line.extend(used.iter().map(cell));
            line.push(row.remark.clone());
            lines.push(line);
        }
        let first = self.keys.len();
        (lines, (first..first + used.len()).collect())
    }

    /// The table as a JSON object: `id`, `title`, `source`, `notes`, and `rows` with one object per
    /// row and quantity (`case`, `quantity`, `unit`, `paper`, `here`, `ratio`, `remark`); what is
    /// missing is null.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .entries()
            .map(|(row, (quantity, unit), pair)| {
                let keys = self.keys.iter().zip(&row.keys);
                let case: Map<String, Value> =
                    keys.map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
                json!({
                    "case": case,
                    "quantity": quantity,
                    "unit": unit,
                    "paper": pair.paper,
                    "here": pair.here,
                    "ratio": pair.ratio(),
                    "remark": row.remark,
                })
            })
            .collect();
        json!({
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "notes": self.notes,
            "rows": rows,
        })
    }

    /// The header line of [`Table::csv`].
    pub const CSV_HEADER: &'static str = "table,case,quantity,unit,paper,here,ratio,remark\n";

    /// The table as CSV lines without their header, one per row and quantity.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let value = |v: Option<f64>| v.map(|v| format!("{v:?}")).unwrap_or_default();
        for (row, (quantity, unit), pair) in self.entries() {
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{}",
                quoted(&self.id),
                quoted(&row.keys.join(" / ")),
                quoted(quantity),
                quoted(unit),
                value(pair.paper),
                value(pair.here),
                value(pair.ratio()),
                quoted(&row.remark),
            );
        }
        out
    }

    /// Every number, and one empty entry for a row that has only a remark.
    fn entries(&self) -> impl Iterator<Item = (&Row, (&'static str, &'static str), Pair)> {
        self.rows.iter().flat_map(|row| {
            let bare = row.pairs.iter().all(|p| *p == Pair::default());
            let all = row.pairs.iter().zip(&self.quantities).enumerate();
            all.filter(move |(k, (p, _))| **p != Pair::default() || (bare && *k == 0))
                .map(move |(_, (pair, quantity))| (row, *quantity, *pair))
        })
    }
}

fn quoted(s: &str) -> String {
    format!("\"{}\"", s.replace('"', "\"\""))
}

fn named((name, unit): &(&str, &str)) -> String {
    match *unit {
        "-" => (*name).to_owned(),
        unit => format!("{name} [{unit}]"),
    }
}

/// A number for people: whole numbers in full, others with three significant digits.
pub fn number(v: f64) -> String {
    let size = v.abs();
    if !v.is_finite() {
        return v.to_string();
    }
    if v.fract() == 0.0 && size < 1e12 {
        return grouped(&format!("{v:.0}"));
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{v:.2e}");
    }
    let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
    grouped(&format!("{v:.decimals$}"))
}

/// Commas between thousands, from five digits on.
fn grouped(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    if digits.len() < 5 || digits.contains('.') {
        return text.to_owned();
    }
    let mut out = sign.to_owned();
    for (k, c) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A ratio for people: `1/134` says more than `0.00746`.
fn fraction(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.5 {
        format!("1/{}", number(1.0 / ratio))
    } else {
        number(ratio)
    }
}

/// Columns of equal width, two spaces apart; those in `right` aligned to the right.
fn aligned(lines: &[Vec<String>], right: &[usize]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        let cells = lines.iter().filter_map(|line| line.get(c));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::from(" ");
        for (c, cell) in line.iter().enumerate() {
            let pad = " ".repeat(widths[c] - cell.chars().count());
            text.push(' ');
            if right.contains(&c) {
                text = text + &pad + cell;
            } else {
                text = text + cell + &pad;
            }
            text.push(' ');
        }
        out += text.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(layout: Layout) -> Table {
        let quantities = [("time", "ms"), ("contacts", "-")];
        let mut t = Table::new("t-1", layout, &["method", "size"], &quantities)
            .titled("Sweeps", "Someone 2010, table 1");
        t.row(["a", "8"], [Pair::both(262.0, 1.96), 188_800.0.into()], "");
        t.row(
            ["a", "24"],
            [Pair::default(), Pair::both(2.0, 3.0)],
            "\"x\", y",
        );
        t.row(["b", "24"], [], "not reached");
        t
    }

    #[test]
    fn text_stands_beside_the_paper() {
        let expected = "\
Sweeps (Someone 2010, table 1)
  method  size             paper     here  ratio
  a       8     time [ms]    262     1.96  1/134
                contacts          188,800
          24    contacts       2        3   1.50  \"x\", y
  b       24    time [ms]               -         not reached
";
        let text = table(Layout::Beside).text();
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn text_in_columns_has_our_numbers() {
        let expected = "\
Sweeps (Someone 2010, table 1)
  method  size  time [ms]  contacts
  a       8          1.96   188,800
  a       24            -         3  \"x\", y
  b       24            -         -  not reached
";
        let text = table(Layout::Columns).text();
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn json_and_csv_hold_every_number() {
        let json = table(Layout::Columns).json();
        let rows = json["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0]["case"], json!({"method": "a", "size": "8"}));
        assert_eq!(rows[0]["paper"], json!(262.0));
        assert_eq!(rows[2]["ratio"], json!(1.5));
        assert_eq!(rows[3]["here"], Value::Null);
        let csv = table(Layout::Beside).csv();
        assert_eq!(csv.lines().count(), 4);
        assert!(
            csv.contains("\"t-1\",\"a / 24\",\"contacts\",\"-\",2.0,3.0,1.5,\"\"\"x\"\", y\"\n")
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [
            0.0, 7.0, 1234.0, 188_800.0, 0.0933, 14.34, 262.4, 12_345.6, 2.35e-4,
        ];
        let text = [
            "0", "7", "1234", "188,800", "0.0933", "14.3", "262", "12,346", "2.35e-4",
        ];
        assert_eq!(shown.map(number), text);
        assert_eq!(
            (fraction(0.62), fraction(0.01)),
            ("0.620".into(), "1/100".into())
        );
    }
}
