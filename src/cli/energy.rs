//! Where the energy of a run went.

use moreau::measure::energy::{Account, Balance, Flow};
use moreau::measure::report;
use moreau::world::Energy;
use serde_json::{Value, json};

/// What is stored at first and at last, what flowed, and what of it nothing explains (J).
pub fn as_json(account: &Account) -> Value {
    let whole = &account.whole;
    let stored = |energy: &Energy| Value::from_iter(Energy::NAMES.into_iter().zip(energy.values()));
    json!({
        "before": stored(&whole.before),
        "after": stored(&whole.after),
        "flows": Value::from_iter(Flow::ALL.map(|flow| (flow.name(), whole[flow]))),
        "remainder": whole.remainder(),
        "unexplained": account.unexplained,
        "throughput": account.throughput,
    })
}

/// A table of what is stored, and one of what flowed; what is zero is left out.
pub fn as_text(account: &Account) -> String {
    let whole = &account.whole;
    let named = |name: &str, values: &[f64]| {
        let values = values.iter().map(|v| format!("{v:.6e}"));
        let cells = [name.to_owned()].into_iter().chain(values);
        cells.collect::<Vec<String>>()
    };
    let (before, after) = (whole.before.values(), whole.after.values());
    let mut stored = Vec::new();
    for (k, name) in Energy::NAMES.into_iter().enumerate() {
        if before[k] != 0.0 || after[k] != 0.0 {
            let name = name.replace('_', " ");
            stored.push(named(&name, &[before[k], after[k], after[k] - before[k]]));
        }
    }
    let [first, last] = [whole.before.total(), whole.after.total()];
    stored.push(named("all of it", &[first, last, last - first]));
    let header = ["stored energy [J]", "at first", "at last", "change"].map(String::from);
    let stored = report::table(&header, &stored, 1..4);

    let flows = Flow::ALL.map(|flow| (flow.summary(), whole[flow]));
    let flows = flows.into_iter().filter(|(_, flow)| *flow != 0.0);
    let remainder = ("nothing explains", whole.remainder());
    let flows = flows.chain([remainder]);
    let flows: Vec<_> = flows.map(|(name, flow)| named(name, &[flow])).collect();
    let header = ["energy that came and went [J]", "sum"].map(String::from);
    let flows = report::table(&header, &flows, 1..2);
    let moved = account.throughput;
    format!("\n{stored}\n{flows}{moved:.3e} J were moved.\n")
}

/// The cells of a step, in the order of [`Balance::names`], each to its last digit; empty where account was not kept.
pub fn cells(step: Option<&Balance>) -> Vec<String> {
    match step {
        Some(step) => step.row().map(|value| format!("{value:e}")).collect(),
        None => vec![String::new(); Balance::COLUMNS],
    }
}
