//! Finds a value in RON text by its path, such as `bodies.3.shape.radius`.
//!
//! Two things need it: messages about a value that parsed but makes no sense, which want its line
//! and column, and `--set`, which replaces the text of one value and lets the schema read the
//! result. Text that is not RON has no values inside.

use std::fmt;
use std::ops::Range;

use ron::value::RawValue;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::options;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes of the deepest value that was found.
    pub span: Range<usize>,
    /// How many segments of the path lead there.
    pub matched: usize,
    /// The keys of the values inside it.
    pub keys: Vec<String>,
    /// Whether it is a map, to which keys can be added.
    pub is_map: bool,
}

/// Follows `path` from the top of `text` as far as it goes.
pub(super) fn locate(text: &str, path: &[&str]) -> Found {
    let (mut value, mut matched) = (text, 0);
    let mut children = Children::of(value);
    while let Some(child) = path.get(matched).and_then(|name| children.find(name)) {
        value = child;
        matched += 1;
        children = Children::of(value);
    }
    let start = value.as_ptr().addr() - text.as_ptr().addr();
    Found {
        span: start..start + value.len(),
        matched,
        keys: children.keys(),
        is_map: value.starts_with('{'),
    }
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
    RawValue::from_ron(text).is_ok()
}

/// The values inside one value: their keys, where they have any, and their text without the white space and
/// comments around it.
#[derive(Default)]
struct Children<'a>(Vec<(Option<String>, &'a str)>);

impl<'a> Children<'a> {
    fn of(value: &'a str) -> Self {
        let children: Self = options().from_str(value).unwrap_or_default();
        match children.0.as_slice() {
            // `Variant((…))` holds one value without a name: look through it.
            [(None, inner)] if value.ends_with(')') && inner.ends_with(')') => Self::of(inner),
            _ => children,
        }
    }

    fn find(&self, segment: &str) -> Option<&'a str> {
        let mut named = self.0.iter();
        let found = named.find(|(key, _)| key.as_deref() == Some(segment));
        if let Some((_, value)) = found {
            return Some(value);
        }
        // The components of a vector go by number and by letter.
        let letter = ["x", "y", "z"].iter().position(|name| *name == segment);
        let letter = letter.filter(|_| self.is_vector());
        match self.0.get(letter.or_else(|| segment.parse().ok())?)? {
            (None, value) => Some(value),
            _ => None,
        }
    }

    fn is_vector(&self) -> bool {
        self.0.len() == 3 && self.0.iter().all(|(key, _)| key.is_none())
    }

    fn keys(&self) -> Vec<String> {
        if self.is_vector() {
            return ["x", "y", "z"].map(String::from).to_vec();
        }
        let numbered = self.0.iter().enumerate();
        numbered
            .map(|(k, (key, _))| key.clone().unwrap_or_else(|| k.to_string()))
            .collect()
    }
}

impl<'de> Deserialize<'de> for Children<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChildrenVisitor)
    }
}

struct ChildrenVisitor;

impl<'de> Visitor<'de> for ChildrenVisitor {
    type Value = Children<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with others inside")
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(value) = seq.next_element::<&RawValue>()? {
            items.push((None, value.trim().get_ron()));
        }
        Ok(Children(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            items.push((Some(key), value.trim().get_ron()));
        }
        Ok(Children(items))
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
    last: Ball((radius: -1 /* inner */) /* outer */) // note
)"##;

    fn at(path: &str) -> Option<&'static str> {
        let path: Vec<_> = path.split('.').collect();
        let found = locate(TEXT, &path);
        (found.matched == path.len()).then(|| &TEXT[found.span])
    }

    #[test]
    fn paths_lead_into_lists_maps_variants_and_vectors() {
        assert_eq!(at("gravity.1"), Some("-9.81"));
        assert_eq!(at("gravity.y"), Some("-9.81"));
        assert_eq!(at("bodies.0.shape.radius"), Some("1.5"));
        assert_eq!(at("bodies.1.shape.radius"), Some("2"));
        assert_eq!(at("last.radius"), Some("-1"));
        assert_eq!(at("map.two.k"), Some("3"));
        assert_eq!(at("name"), Some(r#""a \"b\", (c""#));
    }

    #[test]
    fn a_path_that_leads_nowhere_tells_the_keys() {
        let found = locate(TEXT, &["bodies", "0", "mass"]);
        assert_eq!(
            (found.matched, found.keys.as_slice()),
            (2, &["name".into(), "shape".into()][..])
        );
        assert_eq!(locate(TEXT, &["bodies", "2"]).keys, ["0", "1"]);
        assert!(locate(TEXT, &["map", "three"]).is_map);
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let found = locate(TEXT, &["bodies", "1"]);
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
