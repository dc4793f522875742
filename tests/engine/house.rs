//! The order of the house, read from the sources: functions that fit on a screen, and no circle of files
//! across folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most lines of a function outside tests.
const MOST_LINES: usize = 80;

/// Every source file by its path from `src`, without its tests.
fn sources() -> BTreeMap<String, String> {
    fn visit(folder: &Path, root: &Path, out: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                visit(&path, root, out);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                let end = text.find("\n#[cfg(test)]\n").unwrap_or(text.len());
                let name = path.strip_prefix(root).expect("inside").display();
                out.insert(name.to_string().replace('\\', "/"), text[..end].to_owned());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut out = BTreeMap::new();
    visit(&root, &root, &mut out);
    out
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[test]
fn functions_fit_on_a_screen() {
    let mut long = Vec::new();
    for (file, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (first, line) in lines.iter().enumerate() {
            let words = line.trim_start();
            let is_function = words.starts_with("fn ")
                || words
                    .split_once(" fn ")
                    .is_some_and(|(before, _)| before.starts_with("pub") || before == "unsafe");
            if !is_function {
                continue;
            }
            let opens = |l: &&&str| l.ends_with(['{', ';', '}']);
            if lines[first..]
                .iter()
                .find(opens)
                .is_none_or(|l| !l.ends_with('{'))
            {
                continue;
            }
            // Formatted code closes a body at the indent of its head.
            let close = |l: &&str| indent(l) == indent(line) && l.trim_end().ends_with('}');
            let length = lines[first..].iter().skip(1).position(close).unwrap_or(0) + 2;
            if length > MOST_LINES {
                long.push(format!("{file}:{}: {length} lines", first + 1));
            }
        }
    }
    assert!(
        long.is_empty(),
        "functions that are too long:\n{}",
        long.join("\n")
    );
}

/// The paths that a file names: of `use` trees, and in the code.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code: String = text
        .lines()
        .filter(|l| !l.trim_start().starts_with("//"))
        .flat_map(|l| [l, "\n"])
        .collect();
    let mut out = Vec::new();
    for piece in code.split("use ").skip(1) {
        if let Some((tree, _)) = piece.split_once(';') {
            expand(&[], tree, &mut out);
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let path: String = code[at..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':')
                .collect();
            out.push(path.split("::").map(str::to_owned).collect());
        }
    }
    out
}

/// All paths of a `use` tree.
fn expand(prefix: &[String], tree: &str, out: &mut Vec<Vec<String>>) {
    let (path, inner) = match tree.split_once('{') {
        Some((path, rest)) => (path, rest.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let own = path.split("::").map(str::trim).filter(|s| !s.is_empty());
    let mut whole = prefix.to_vec();
    whole.extend(own.map(str::to_owned));
    let Some(inner) = inner else {
        out.push(whole);
        return;
    };
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[begin..at].trim().is_empty() {
                    expand(&whole, &inner[begin..at], out);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// The module that a file is.
fn module(file: &str) -> Vec<String> {
    let parts = file.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut parts: Vec<String> = parts.collect();
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    parts
}

fn folder(file: &str) -> PathBuf {
    Path::new(file)
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

/// Finds the files that paths lead to, through what modules re-export.
struct Finder<'a> {
    modules: BTreeMap<Vec<String>, &'a str>,
    /// What a module calls a name of another one.
    exports: BTreeMap<(&'a str, String), Vec<String>>,
}

impl<'a> Finder<'a> {
    fn new(sources: &'a BTreeMap<String, String>) -> Self {
        let modules = sources.keys().map(|f| (module(f), f.as_str())).collect();
        let mut finder = Self {
            modules,
            exports: BTreeMap::new(),
        };
        for (file, text) in sources {
            for piece in text.split("\npub use ").skip(1) {
                let mut trees = Vec::new();
                expand(
                    &[],
                    piece.split_once(';').map_or("", |(tree, _)| tree),
                    &mut trees,
                );
                for path in trees {
                    if let (Some(name), Some(full)) = (path.last(), finder.absolute(file, &path)) {
                        finder.exports.insert((file, name.clone()), full);
                    }
                }
            }
        }
        finder
    }

    /// A path from the crate's root; none where it leads out of the crate.
    fn absolute(&self, file: &str, path: &[String]) -> Option<Vec<String>> {
        let here = module(file);
        let up = path.iter().take_while(|p| *p == "super").count();
        match path.first()?.as_str() {
            "crate" | "moreau" => Some(path[1..].to_vec()),
            "super" => Some([&here[..here.len().checked_sub(up)?], &path[up..]].concat()),
            "self" => Some([&here[..], &path[1..]].concat()),
            _ => {
                let inner = [&here[..], path].concat();
                let is_module = self.modules.contains_key(&inner[..=here.len()]);
                is_module.then_some(inner)
            }
        }
    }

    fn find(&self, path: &[String]) -> Option<&'a str> {
        let n = (1..=path.len())
            .rev()
            .find(|n| self.modules.contains_key(&path[..*n]))?;
        let file = self.modules[&path[..n]];
        let name = path.get(n)?;
        match self.exports.get(&(file, name.clone())) {
            Some(export) => self.find(export).or(Some(file)),
            None => Some(file),
        }
    }
}

/// Which files every file needs.
fn needs(sources: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let finder = Finder::new(sources);
    let needed = |(file, text): (&'_ String, &'_ String)| {
        let paths = paths(text).into_iter();
        let absolute = paths.filter_map(|path| finder.absolute(file, &path));
        let files = absolute.filter_map(|path| finder.find(&path));
        files.filter(|f| f != file).collect()
    };
    sources.iter().map(|s| (s.0.as_str(), needed(s))).collect()
}

#[test]
fn no_circle_of_files_crosses_folders() {
    let sources = sources();
    let needs = needs(&sources);
    // What can be reached from each file.
    let reach = |from: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = open.pop() {
            for next in &needs[file.as_str()] {
                if seen.insert(*next) {
                    open.push((*next).to_owned());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        needs.keys().map(|file| (*file, reach(file))).collect();
    let mut circles = BTreeSet::new();
    for (a, from_a) in &reached {
        for b in from_a.iter().filter(|b| reached[**b].contains(a)) {
            if folder(a) != folder(b) && a < b {
                circles.insert(format!("{a} <-> {b}"));
            }
        }
    }
    let circles: Vec<String> = circles.into_iter().collect();
    assert!(
        circles.is_empty(),
        "circles across folders:\n{}",
        circles.join("\n")
    );
}
