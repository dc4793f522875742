//! How a solver that chooses has solved the islands, and why: as tables and JSON.

use moreau::measure::report;
use moreau::solve::{Choices, Method};
use serde_json::{Value, json};

/// The largest islands as a table.
pub fn table(choices: &Choices) -> String {
    let header = [
        "largest islands",
        "reason",
        "rows",
        "contacts",
        "bodies",
        "work needed [1e6]",
        "spent [1e6]",
        "residual [m/s]",
    ];
    let header = header.map(String::from);
    let millions = |work: f64| match work {
        0.0 => String::new(),
        work => format!("{:.2}", 1e-6 * work),
    };
    let rows = choices.largest.iter().map(|c| {
        vec![
            c.method().name().to_owned(),
            c.reason.name().to_owned(),
            c.rows.to_string(),
            c.contacts.to_string(),
            c.bodies.to_string(),
            millions(c.need),
            millions(c.spent),
            c.residual.map_or(String::new(), |r| format!("{r:.2e}")),
        ]
    });
    report::table(&header, &rows.collect::<Vec<_>>(), 2..header.len())
}

/// Islands by method; null where the solver does not choose.
pub fn counts(choices: &Choices) -> Value {
    if choices.is_empty() {
        return Value::Null;
    }
    let of = |m: Method| (m.name(), json!(choices.count(m)));
    Value::from_iter(Method::ALL.map(of))
}

/// The largest islands one by one; null where the solver does not choose. Work is in multiplications.
pub fn largest(choices: &Choices) -> Value {
    if choices.is_empty() {
        return Value::Null;
    }
    let islands = choices.largest.iter().map(|c| {
        json!({
            "method": c.method().name(),
            "reason": c.reason.name(),
            "because": c.because(),
            "bodies": c.bodies,
            "contacts": c.contacts,
            "rows": c.rows,
            "work_needed": c.need,
            "work_budget": c.work_budget,
            "work_spent": c.spent,
            "residual": c.residual,
        })
    });
    islands.collect()
}
