//! Tables of measured numbers, beside a paper's where it gives some: text for people, JSON and CSV for programs.

use indicatif::HumanCount;
use serde::Serialize;
use serde_json::{Value, json};

use crate::measure::report;

/// A number of a paper and the one measured here; either may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// What the paper gives.
    pub paper: Option<f64>,
    /// What was measured.
    pub here: Option<f64>,
}

impl Pair {
    /// Here over paper; `None` unless both are finite and the paper's is not 0.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.here? / self.paper?;
        ratio.is_finite().then_some(ratio)
    }
}

/// A number that the paper does not give.
impl From<f64> for Pair {
    fn from(here: f64) -> Self {
        (None, here).into()
    }
}

/// The same, which may be missing here too.
impl From<Option<f64>> for Pair {
    fn from(here: Option<f64>) -> Self {
        (None, here).into()
    }
}

/// The paper's number and ours.
impl<P: Into<Option<f64>>, H: Into<Option<f64>>> From<(P, H)> for Pair {
    fn from((paper, here): (P, H)) -> Self {
        Self {
            paper: paper.into(),
            here: here.into(),
        }
    }
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
    id: String,
    title: String,
    source: String,
    notes: Vec<String>,
    keys: Vec<&'static str>,
    /// Names of the columns of numbers, the unit in brackets.
    quantities: Vec<String>,
    rows: Vec<Row>,
}

/// A table that is being made of one value of type `R` per row: every column says how its cells follow
/// from that value.
pub struct Columns<'a, R> {
    from: &'a [R],
    table: Table,
}

impl<'a, R> Columns<'a, R> {
    /// Begins the table: a short name for programs such as `poulsen-3.3`, what the table shows, and where
    /// the paper's numbers come from; empty for measurements of our own.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        source: impl Into<String>,
        from: &'a [R],
    ) -> Self {
        let table = Table {
            id: id.into(),
            title: title.into(),
            source: source.into(),
            rows: vec![Row::default(); from.len()],
            ..Table::default()
        };
        Self { from, table }
    }

    /// A column of names.
    #[must_use]
    pub fn key<K: ToString>(mut self, name: &'static str, of: impl Fn(&'a R) -> K) -> Self {
        self.table.keys.push(name);
        for (row, from) in self.table.rows.iter_mut().zip(self.from) {
            row.keys.push(of(from).to_string());
        }
        self
    }

    /// A column of numbers, `name [unit]`.
    #[must_use]
    pub fn column<P: Into<Pair>>(self, name: impl ToString, of: impl Fn(&'a R) -> P) -> Self {
        self.columns([name], |from| [of(from)])
    }

    /// Several of these at once.
    #[must_use]
    pub fn columns<P: Into<Pair>, const N: usize>(
        mut self,
        names: [impl ToString; N],
        of: impl Fn(&'a R) -> [P; N],
    ) -> Self {
        let names = names.map(|name| name.to_string());
        self.table.quantities.extend(names);
        for (row, from) in self.table.rows.iter_mut().zip(self.from) {
            row.pairs.extend(of(from).map(Into::into));
        }
        self
    }

    /// A remark beside each row, which may be empty.
    #[must_use]
    pub fn remark<T: Into<String>>(mut self, of: impl Fn(&'a R) -> T) -> Self {
        for (row, from) in self.table.rows.iter_mut().zip(self.from) {
            row.remark = of(from).into();
        }
        self
    }

    /// What a reader must know, printed below.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.notes([text])
    }

    /// The same, as many as there are.
    #[must_use]
    pub fn notes<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.table.notes.extend(texts.into_iter().map(Into::into));
        self
    }
}

impl<R> From<Columns<'_, R>> for Table {
    fn from(columns: Columns<'_, R>) -> Self {
        columns.table
    }
}

impl Table {
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in Markdown, its title above and its notes below. Where the paper gives numbers, ours stand
    /// beside them, one line per row and quantity; elsewhere there is one column per quantity.
    pub fn text(&self) -> String {
        let mut out = self.title.clone();
        if !self.source.is_empty() {
            out += &format!(" ({})", self.source);
        }
        let mut pairs = self.rows.iter().flat_map(|row| &row.pairs);
        let beside = pairs.any(|pair| pair.paper.is_some());
        let (names, mut lines) = if beside {
            self.beside()
        } else {
            self.columns()
        };
        let keys = self.keys.iter().map(|key| (*key).to_owned());
        let mut header: Vec<String> = keys.chain(names).collect();
        let numbers = self.keys.len() + usize::from(beside)..header.len();
        // Remarks stand last.
        header.push(String::new());
        if lines
            .iter()
            .all(|line| line.last().is_some_and(String::is_empty))
        {
            header.pop();
            lines
                .iter_mut()
                .for_each(|line| line.truncate(header.len()));
        }
        out += &format!("\n\n{}", report::table(&header, &lines, numbers));
        out.extend(self.notes.iter().map(|note| format!("\n{note}\n")));
        out
    }

    fn beside(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut lines = Vec::new();
        let mut last: Option<&Row> = None;
        for (row, quantity, pair) in self.shown() {
            let mut line = row.keys.clone();
            // What repeats the line above says nothing new.
            let above = last.map_or(&[][..], |last| &last.keys);
            let same = line.iter().zip(above).take_while(|(a, b)| a == b);
            let repeated = same.count();
            line[..repeated].fill(String::new());
            let first = last.is_none_or(|last| !std::ptr::eq(last, row));
            let remark = if first { row.remark.as_str() } else { "" };
            last = Some(row);
            line.extend([
                quantity.to_owned(),
                pair.paper.map(number).unwrap_or_default(),
                cell(&pair),
                pair.ratio().map(fraction).unwrap_or_default(),
                remark.to_owned(),
            ]);
            lines.push(line);
        }
        let names = ["", "paper", "here", "ratio"].map(String::from);
        (names.to_vec(), lines)
    }

    fn columns(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let used = |q: &usize| self.rows.iter().any(|row| row.pairs[*q].here.is_some());
        let used: Vec<usize> = (0..self.quantities.len()).filter(used).collect();
        let line = |row: &Row| {
            let cells = used.iter().map(|q| cell(&row.pairs[*q]));
            let keys = row.keys.iter().cloned();
            keys.chain(cells).chain([row.remark.clone()]).collect()
        };
        let names = used.iter().map(|q| self.quantities[*q].clone());
        (names.collect(), self.rows.iter().map(line).collect())
    }

    /// The quantities of every row that have a number, or one without where there is only a remark.
    fn shown(&self) -> impl Iterator<Item = (&Row, &str, Pair)> {
        self.rows.iter().flat_map(|row| {
            let bare = row.pairs.iter().all(|p| *p == Pair::default()) && !row.remark.is_empty();
            let all = self.quantities.iter().zip(&row.pairs).enumerate();
            all.filter(move |(k, (_, pair))| **pair != Pair::default() || (bare && *k == 0))
                .map(move |(_, (name, pair))| (row, name.as_str(), *pair))
        })
    }

    /// The same for programs.
    fn entries(&self) -> impl Iterator<Item = (&Row, Entry<'_>)> {
        self.shown().map(|(row, name, pair)| {
            let unit = name.strip_suffix(']').and_then(|n| n.rsplit_once(" ["));
            let (quantity, unit) = unit.unwrap_or((name, "-"));
            let entry = Entry {
                quantity,
                unit,
                paper: pair.paper,
                here: pair.here,
                ratio: pair.ratio(),
                remark: &row.remark,
            };
            (row, entry)
        })
    }

    /// The table as a JSON object: `id`, `title`, `source`, `notes`, and `rows` with one object per
    /// row and quantity (`case`, `quantity`, `unit`, `paper`, `here`, `ratio`, `remark`); what is
    /// missing is null.
    pub fn json(&self) -> Value {
        let rows = self.entries().map(|(row, entry)| {
            let mut value = json!(entry);
            let keys = row.keys.iter().cloned();
            value["case"] = self.keys.iter().copied().zip(keys).collect();
            value
        });
        json!({
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "notes": self.notes,
            "rows": rows.collect::<Vec<Value>>(),
        })
    }
}

/// A number of a table for programs.
#[derive(Serialize)]
struct Entry<'a> {
    quantity: &'a str,
    unit: &'a str,
    paper: Option<f64>,
    here: Option<f64>,
    ratio: Option<f64>,
    remark: &'a str,
}

/// Tables as comma-separated values, one line per row and quantity.
///
/// # Errors
/// None that these values could cause.
pub fn csv(tables: &[Table]) -> Result<String, csv::Error> {
    let header = "table,case,quantity,unit,paper,here,ratio,remark".split(',');
    let lines = tables.iter().flat_map(|table| {
        let entries = table.entries();
        entries.map(|(row, entry)| (&table.id, row.keys.join(" / "), entry))
    });
    report::csv(&header.collect::<Vec<_>>(), lines)
}

/// Our number for people, "-" for none.
fn cell(pair: &Pair) -> String {
    pair.here.map_or_else(|| "-".to_owned(), number)
}

/// A number for people: whole numbers in full, others with three significant digits.
pub fn number(v: f64) -> String {
    let size = v.abs();
    let decimals = match size {
        _ if !v.is_finite() => return v.to_string(),
        _ if v.fract() == 0.0 && size < 1e12 => 0,
        1e-3..1e6 => (2 - size.log10().floor() as i32).max(0) as usize,
        _ => return format!("{v:.2e}"),
    };
    match (decimals, size.round_ties_even() as u64) {
        // Commas between thousands, from five digits on.
        (0, whole @ 10_000..) => {
            let sign = if v < 0.0 { "-" } else { "" };
            format!("{sign}{}", HumanCount(whole))
        }
        _ => format!("{v:.decimals$}"),
    }
}

/// A ratio for people: `1/134` says more than `0.00746`.
fn fraction(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.5 {
        format!("1/{}", number(1.0 / ratio))
    } else {
        number(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (&'static str, u32, Pair, Pair, &'static str);

    fn table(paper: bool) -> Table {
        let rows: [Case; 3] = [
            ("a", 8, (262.0, 1.96).into(), 188_800.0.into(), ""),
            ("a", 24, Pair::default(), (2.0, 3.0).into(), "\"x\", y"),
            ("b", 24, Pair::default(), Pair::default(), "not reached"),
        ];
        let kept = |pair: Pair| (pair.paper.filter(|_| paper), pair.here);
        Columns::new("t-1", "Sweeps", "Someone 2010, table 1", &rows)
            .key("method", |r| r.0)
            .key("size", |r| r.1)
            .column("time [ms]", |r| kept(r.2))
            .column("contacts", |r| kept(r.3))
            .remark(|r| r.4)
            .note("A note.")
            .into()
    }

    #[test]
    fn text_stands_beside_the_paper() {
        let expected = "\
Sweeps (Someone 2010, table 1)

| method | size |           | paper |    here | ratio |             |
| ------ | ---- | --------- | ----: | ------: | ----: | ----------- |
| a      | 8    | time [ms] |   262 |    1.96 | 1/134 |             |
|        |      | contacts  |       | 188,800 |       |             |
|        | 24   | contacts  |     2 |       3 |  1.50 | \"x\", y      |
| b      | 24   | time [ms] |       |       - |       | not reached |

A note.
";
        let text = table(true).text();
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn text_in_columns_has_our_numbers() {
        let expected = "\
Sweeps (Someone 2010, table 1)

| method | size | time [ms] | contacts |             |
| ------ | ---- | --------: | -------: | ----------- |
| a      | 8    |      1.96 |  188,800 |             |
| a      | 24   |         - |        3 | \"x\", y      |
| b      | 24   |         - |        - | not reached |

A note.
";
        let text = table(false).text();
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn json_and_csv_hold_every_number() {
        let json = table(true).json();
        let rows = json["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0]["case"], json!({"method": "a", "size": "8"}));
        assert_eq!(rows[0]["paper"], json!(262.0));
        assert_eq!(rows[2]["ratio"], json!(1.5));
        assert_eq!(rows[3]["here"], Value::Null);
        let csv = csv(&[table(true)]).expect("plain values");
        assert_eq!(csv.lines().count(), 5);
        assert!(
            csv.contains("\nt-1,a / 24,contacts,-,2.0,3.0,1.5,\"\"\"x\"\", y\"\n"),
            "{csv}"
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [
            0.0, 7.0, 1234.0, 188_800.0, 0.0933, 14.34, 262.4, 12_345.6, 2.35e-4, -12_345.0,
        ];
        let text = [
            "0", "7", "1234", "188,800", "0.0933", "14.3", "262", "12,346", "2.35e-4", "-12,345",
        ];
        assert_eq!(shown.map(number), text);
        assert_eq!(
            (fraction(0.62), fraction(0.01)),
            ("0.620".into(), "1/100".into())
        );
    }
}
