//! What `moreau verify` prints holds, and docs/verification.md says the same.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use moreau::verify;

#[test]
fn laws_hold() {
    let outcomes: Vec<_> = verify::rows().map(verify::Row::run).collect();
    let missed: Vec<_> = outcomes.iter().filter(|outcome| !outcome.holds).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn rows_have_names_of_their_own_and_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verification.md");
    let text = fs::read_to_string(path).expect("docs/verification.md");
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let mut names = HashSet::new();
    for row in verify::rows() {
        assert!(names.insert(row.name), "{} twice", row.name);
        let said = format!("**{}**: {}. {}.", row.name, row.law, row.setting);
        assert!(
            text.contains(&said),
            "docs/verification.md has not: {said}\nmoreau verify > docs/verification.md"
        );
    }
}
