//! Tables of docs/ that take minutes: `cargo bench --no-default-features --bench measure -- NAME`.
//!
//! - `ablation`: what each method of an exact solution is worth (docs/exact.md);
//! - `unseen`: scenes that no solver was made for (docs/choosing.md);
//! - `past`: what keeping the past costs;
//! - `machines`: thirteen machines that touch things.

mod ablation;
#[path = "../../tests/engine/common/mod.rs"]
#[allow(dead_code, reason = "the benches use a part of what tests share")]
mod common;
mod machines;
mod past;
mod unseen;

fn main() {
    let names = ["ablation", "unseen", "past", "machines"];
    let tables: [fn(); 4] = [
        ablation::measure,
        unseen::measure,
        past::measure,
        machines::measure,
    ];
    // Cargo says `--bench` before anything else.
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if let Some(unknown) = asked.iter().find(|a| !names.contains(&a.as_str())) {
        eprintln!(
            "there is no table {unknown}; there are {}",
            names.join(", ")
        );
        std::process::exit(2);
    }
    for (name, table) in names.into_iter().zip(tables) {
        if asked.iter().any(|a| a == name) {
            table();
        }
    }
    if asked.is_empty() {
        println!("tables: {}; name those that you want", names.join(", "));
    }
}
