//! Every shipped scene reaches the same state on one thread and on two, and on every machine the one of
//! `scene_hashes.txt`.
//!
//! The quick run takes the scenes of up to 600 bodies for 60 steps. The rest, for 300, takes minutes:
//! `cargo test --release --no-default-features --test engine scene_hashes:: -- --ignored`
//!
//! After a change that is meant to change states, which CHANGELOG then says, the file is written anew by
//! `MOREAU_RENEW_HASHES=1 cargo test --no-default-features --test engine scene_hashes:: -- --include-ignored`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use moreau::scene::library;

/// The steps after which states are kept in the file: few, so that all can be compared with everywhere.
const SHORT: usize = 20;

/// The hashes after [`SHORT`] and after all steps, or the error that stopped the scene.
fn hashes(id: &str, threads: usize, steps: usize) -> Result<[u64; 2], String> {
    let scene = library::shipped(id).map_err(|e| e.to_string())?;
    let mut simulation = scene.simulation(threads).map_err(|e| e.to_string())?;
    let mut short = 0;
    for step in 1..=steps {
        simulation.step().map_err(|e| format!("{id}: {e}"))?;
        if step == SHORT {
            short = simulation.world().state_hash();
        }
    }
    Ok([short, simulation.world().state_hash()])
}

fn file() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/engine/files/scene_hashes.txt"
    ))
}

/// The scenes of the file with their hashes.
fn kept() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let line = |line: &str| {
        let (id, hash) = line.split_once(' ')?;
        Some((id.to_owned(), u64::from_str_radix(hash, 16).ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Compares with the file, or writes it where that is asked for.
fn compare(found: &BTreeMap<String, u64>) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut kept = kept();
    if is_renewing() {
        kept.extend(found.clone());
        kept.retain(|id, _| library::shipped_names().any(|name| name == id));
        let mut text = String::new();
        for (id, hash) in &kept {
            writeln!(text, "{id} {hash:016x}").expect("a string");
        }
        std::fs::write(file(), text).expect("the file of hashes");
        return;
    }
    let others = found
        .iter()
        .filter(|(id, hash)| kept.get(*id) != Some(hash));
    let others: Vec<String> = others
        .map(|(id, hash)| format!("{id} {hash:016x}"))
        .collect();
    assert!(
        others.is_empty(),
        "after {SHORT} steps other states than those of tests/engine/files/scene_hashes.txt; the first comment here has the \
         command that renews them:\n{}",
        others.join("\n")
    );
}

fn is_renewing() -> bool {
    std::env::var_os("MOREAU_RENEW_HASHES").is_some()
}

fn check(bodies: std::ops::RangeInclusive<u64>, steps: usize) {
    let steps = if is_renewing() { SHORT } else { steps };
    let mut found = BTreeMap::new();
    for id in library::shipped_names() {
        let count = library::shipped(id).expect("a valid scene").body_count();
        if !bodies.contains(&count) {
            continue;
        }
        let one = hashes(id, 1, steps).unwrap_or_else(|e| panic!("{e}"));
        let two = hashes(id, 2, steps).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(one, two, "{id} after {steps} steps on 1 and 2 threads");
        println!("{id}: {:016x}", one[1]);
        found.insert(id.to_owned(), one[0]);
    }
    assert!(!found.is_empty(), "no scene of that size");
    compare(&found);
}

#[test]
fn small_scenes_are_the_same_on_one_and_two_threads() {
    check(0..=600, 3 * SHORT);
}

#[test]
#[ignore = "takes minutes"]
fn scenes_up_to_14000_bodies_are_the_same_on_one_and_two_threads() {
    check(0..=14_000, 300);
}

#[test]
#[ignore = "takes minutes"]
fn the_largest_scenes_are_the_same_on_one_and_two_threads() {
    check(14_001..=u64::MAX, SHORT);
}

/// Every shipped scene has a state in the file, and nothing else has.
#[test]
fn the_file_has_all_scenes() {
    let mut names: Vec<&str> = library::shipped_names().collect();
    names.sort_unstable();
    if is_renewing() {
        return;
    }
    let kept = kept();
    assert_eq!(kept.keys().map(String::as_str).collect::<Vec<_>>(), names);
}
