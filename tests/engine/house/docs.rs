//! What the documents name exists, and their lines can be read beside code.

use std::path::{Path, PathBuf};

/// Most characters of a line; tables and links may be longer.
const WIDTH: usize = 120;

/// Folders whose files the documents name by their path from the root.
const FOLDERS: [&str; 6] = [
    "src/",
    "tests/",
    "examples/",
    "benches/",
    "scenes/",
    "docs/",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README, changelog, CONTRIBUTING and everything in `docs`, with the text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("docs")];
    let mut files = vec![
        root().join("README.md"),
        root().join("CHANGELOG.md"),
        root().join("CONTRIBUTING.md"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                files.push(path);
            }
        }
    }
    let text = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        (path, text)
    };
    files.into_iter().map(text).collect()
}

/// All that `find` finds in the lines of all documents, each with its place.
fn all_lines(mut find: impl FnMut(&Path, &str, &mut Vec<String>)) {
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        let name = path.strip_prefix(root()).expect("inside").display();
        for (k, line) in text.lines().enumerate() {
            let mut found = Vec::new();
            find(&path, line, &mut found);
            let place = |what: String| format!("{name}:{}: {what}", k + 1);
            wrong.extend(found.into_iter().map(place));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// GitHub's name of a heading.
fn anchor(heading: &str) -> String {
    let lower = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn lines_are_short_enough() {
    all_lines(|_, line, wrong| {
        let length = line.chars().count();
        if length > WIDTH && !line.starts_with('|') && !line.contains("](") {
            wrong.push(format!("{length} characters"));
        }
    });
}

#[test]
fn links_lead_somewhere() {
    all_lines(|path, line, wrong| {
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or("");
            if target.contains("://") {
                continue;
            }
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            let linked = match file {
                "" => path.to_owned(),
                file => path.parent().expect("a folder").join(file),
            };
            let is_there = linked.exists()
                && (place.is_empty()
                    || std::fs::read_to_string(&linked).is_ok_and(|text| {
                        let mut headings = text.lines().filter(|l| l.starts_with('#'));
                        headings.any(|heading| anchor(heading) == place)
                    }));
            if !is_there {
                wrong.push(format!("{target} is not there"));
            }
        }
    });
}

#[test]
fn files_that_are_named_exist() {
    let mut named = 0;
    all_lines(|_, line, wrong| {
        for quoted in line.split('`').skip(1).step_by(2) {
            for word in quoted.split_whitespace() {
                if FOLDERS.iter().any(|folder| word.starts_with(folder)) {
                    named += 1;
                    if !word.contains(['*', '{']) && !root().join(word).exists() {
                        wrong.push(format!("{word} is not there"));
                    }
                }
            }
        }
    });
    assert!(named > 10, "only {named} files are named");
}
