//! Finds a value in RON text by its path, such as `bodies.3.shape.radius`.
//!
//! Two things need it: messages about a value that parsed but makes no sense, which want its line
//! and column, and `--set`, which replaces the text of one value and lets the schema read the
//! result. It follows RON's syntax only as far as needed to step over values; text that is not RON
//! gives `None`, never a panic.

use std::ops::Range;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes of the deepest value that was found.
    pub span: Range<usize>,
    /// How many segments of the path lead there.
    pub matched: usize,
    /// The keys that could have come next, where a segment matched none.
    pub keys: Vec<String>,
    /// Whether the deepest value is a map, to which keys can be added.
    pub is_map: bool,
}

/// Follows `path` from the top of `text` as far as it goes.
pub(super) fn locate(text: &str, path: &[&str]) -> Option<Found> {
    let mut scanner = Scanner::new(text);
    scanner.attributes();
    let mut span = scanner.value()?;
    for (depth, segment) in path.iter().enumerate() {
        let children = Children::of(text, &span)?;
        match children.find(segment) {
            Some(child) => span = child,
            None => {
                return Some(Found {
                    span,
                    matched: depth,
                    keys: children.keys(),
                    is_map: children.is_map,
                });
            }
        }
    }
    let is_map = text[span.clone()].starts_with('{');
    Some(Found {
        span,
        matched: path.len(),
        keys: Vec::new(),
        is_map,
    })
}

/// Line and column of a byte, both from 1, columns in characters.
pub(super) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
    (line, column)
}

/// Whether `text` is one RON value and nothing more.
pub(super) fn is_one_value(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value().is_some() && scanner.at_end()
}

/// The values inside one value.
struct Children {
    items: Vec<(Option<String>, Range<usize>)>,
    is_map: bool,
}

impl Children {
    fn of(text: &str, span: &Range<usize>) -> Option<Self> {
        let mut span = span.clone();
        loop {
            let children = Self::direct(text, &span)?;
            // `Some((…))` and `Variant((…))` hold one value without a name: look through them.
            match children.items.as_slice() {
                [(None, inner)]
                    if !children.is_map
                        && text[span.clone()].ends_with(')')
                        && text[inner.clone()].ends_with(')') =>
                {
                    span = inner.clone();
                }
                _ => return Some(children),
            }
        }
    }

    fn direct(text: &str, span: &Range<usize>) -> Option<Self> {
        let inside = &text[..span.end];
        let mut scanner = Scanner {
            text: inside,
            at: span.start,
        };
        scanner.word();
        scanner.space();
        let open = scanner.peek();
        let close = match open {
            Some(b'(') => b')',
            Some(b'[') => b']',
            Some(b'{') => b'}',
            _ => {
                return Some(Self {
                    items: Vec::new(),
                    is_map: false,
                });
            }
        };
        scanner.at += 1;
        let mut items = Vec::new();
        loop {
            scanner.space();
            if scanner.peek()? == close {
                break;
            }
            let mut item = scanner.value()?;
            let mut key = None;
            scanner.space();
            if scanner.peek()? == b':' {
                scanner.at += 1;
                key = Some(inside[item.clone()].trim_matches('"').to_owned());
                scanner.space();
                item = scanner.value()?;
                scanner.space();
            }
            items.push((key, item));
            match scanner.peek()? {
                b',' => scanner.at += 1,
                other if other == close => break,
                _ => return None,
            }
        }
        Some(Self {
            items,
            is_map: open == Some(b'{'),
        })
    }

    fn find(&self, segment: &str) -> Option<Range<usize>> {
        let named = self
            .items
            .iter()
            .find(|(key, _)| key.as_deref() == Some(segment));
        if let Some((_, span)) = named {
            return Some(span.clone());
        }
        // The components of a vector go by number and by letter.
        let index = match segment {
            "x" if self.is_vector() => 0,
            "y" if self.is_vector() => 1,
            "z" if self.is_vector() => 2,
            _ => segment.parse().ok()?,
        };
        match self.items.get(index)? {
            (None, span) => Some(span.clone()),
            _ => None,
        }
    }

    fn is_vector(&self) -> bool {
        self.items.len() == 3 && self.items.iter().all(|(key, _)| key.is_none())
    }

    fn keys(&self) -> Vec<String> {
        if self.is_vector() {
            return ["x", "y", "z"].map(String::from).to_vec();
        }
        self.items
            .iter()
            .enumerate()
            .map(|(k, (key, _))| key.clone().unwrap_or_else(|| k.to_string()))
            .collect()
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn at_end(&mut self) -> bool {
        self.space();
        self.at >= self.text.len()
    }

    /// Steps over white space and comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let mut depth = 0_usize;
                let mut skipped = 0;
                let bytes = rest.as_bytes();
                while skipped < bytes.len() {
                    match &bytes[skipped..] {
                        [b'/', b'*', ..] => {
                            depth += 1;
                            skipped += 2;
                        }
                        [b'*', b'/', ..] => {
                            depth -= 1;
                            skipped += 2;
                        }
                        _ => skipped += 1,
                    }
                    if depth == 0 {
                        break;
                    }
                }
                self.at += skipped;
            } else if blank == 0 {
                return;
            }
        }
    }

    /// Steps over `#![enable(…)]` lines.
    fn attributes(&mut self) {
        self.space();
        while self.rest().starts_with("#!") {
            self.at += 2;
            self.space();
            if self.peek() != Some(b'[') || self.balanced().is_none() {
                return;
            }
            self.space();
        }
    }

    /// Steps over a name or number.
    fn word(&mut self) {
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-' | '#');
        let rest = self.rest();
        self.at += rest.find(|c| !part(c)).unwrap_or(rest.len());
    }

    /// Steps over one value and returns where it was.
    fn value(&mut self) -> Option<Range<usize>> {
        self.space();
        let start = self.at;
        match self.peek()? {
            b'(' | b'[' | b'{' => self.balanced()?,
            _ if self.quoted()? => {}
            _ => {
                self.word();
                if self.at == start {
                    return None;
                }
                let end = self.at;
                let named = self.text[start..].starts_with(|c: char| c.is_alphabetic() || c == '_');
                self.space();
                if named && self.peek() == Some(b'(') {
                    self.balanced()?;
                } else {
                    self.at = end;
                }
            }
        }
        Some(start..self.at)
    }

    /// Steps over a bracketed group, strings and comments inside it included.
    fn balanced(&mut self) -> Option<()> {
        let mut open = Vec::new();
        loop {
            self.space();
            match self.peek()? {
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                close @ (b')' | b']' | b'}') => {
                    if open.pop() != Some(close) {
                        return None;
                    }
                }
                _ => {
                    if !self.quoted()? {
                        let before = self.at;
                        self.word();
                        if self.at == before {
                            self.at += self.rest().chars().next()?.len_utf8();
                        }
                    }
                    continue;
                }
            }
            self.at += 1;
            if open.is_empty() {
                return Some(());
            }
        }
    }

    /// Steps over a string or character, if there is one; `None` when it does not end.
    fn quoted(&mut self) -> Option<bool> {
        let rest = self.rest();
        let body = rest.strip_prefix('b').unwrap_or(rest);
        let prefix = rest.len() - body.len();
        if let Some(raw) = body.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if raw[hashes..].starts_with('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let inside = &raw[hashes + 1..];
                self.at += prefix + 1 + hashes + 1 + inside.find(&end)? + end.len();
                return Some(true);
            }
            return Some(false);
        }
        let mark = match body.chars().next() {
            Some(mark @ ('"' | '\'')) => mark,
            _ => return Some(false),
        };
        let mut escaped = false;
        for (k, c) in body.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == mark {
                self.at += prefix + k + mark.len_utf8();
                return Some(true);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r##"#![enable(implicit_some)]
// a comment (with a bracket
(
    name: "a \"b\", (c", /* another ) one */
    gravity: (0, -9.81, 0),
    bodies: [
        (name: "x", shape: Ball(radius: 1.5)),
        (name: r#"raw " ("#, shape: Some(Ball((radius: 2)))),
    ],
    map: {"one": 1, "two": (k: 3)},
)"##;

    fn at(path: &str) -> Option<&'static str> {
        let path: Vec<_> = path.split('.').collect();
        let found = locate(TEXT, &path)?;
        (found.matched == path.len()).then(|| &TEXT[found.span])
    }

    #[test]
    fn paths_lead_into_lists_maps_variants_and_vectors() {
        assert_eq!(at("gravity.1"), Some("-9.81"));
        assert_eq!(at("gravity.y"), Some("-9.81"));
        assert_eq!(at("bodies.0.shape.radius"), Some("1.5"));
        assert_eq!(at("bodies.1.shape.radius"), Some("2"));
        assert_eq!(at("map.two.k"), Some("3"));
        assert_eq!(at("name"), Some(r#""a \"b\", (c""#));
    }

    #[test]
    fn a_path_that_leads_nowhere_tells_the_keys() {
        let found = locate(TEXT, &["bodies", "0", "mass"]).unwrap();
        assert_eq!(
            (found.matched, found.keys.as_slice()),
            (2, &["name".into(), "shape".into()][..])
        );
        assert_eq!(locate(TEXT, &["bodies", "2"]).unwrap().keys, ["0", "1"]);
        assert!(locate(TEXT, &["map", "three"]).unwrap().is_map);
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let found = locate(TEXT, &["bodies", "1"]).unwrap();
        assert_eq!(line_column(TEXT, found.span.start), (8, 9));
    }

    #[test]
    fn one_value_is_one_value() {
        for good in [
            "1",
            "-2.5e3",
            "\"a, b\"",
            "(1, 2)",
            "Ball(radius: 1)",
            "[ (a: 1), ]",
        ] {
            assert!(is_one_value(good), "{good}");
        }
        for bad in ["", "1, 2", "1) , (", "\"open", "(1", "a: b"] {
            assert!(!is_one_value(bad), "{bad}");
        }
    }
}
