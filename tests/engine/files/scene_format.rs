//! `docs/scenes.md` against the schema: the same fields of the same types, and examples that build.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use moreau::scene::Scene;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// Names by type: fields of a struct; variants of an enum, and their fields as `Variant.field`.
type Schema = BTreeMap<String, BTreeSet<String>>;

#[derive(Default)]
struct Seen {
    schema: Schema,
    /// How often an enum was met: every time another variant is looked into.
    met: BTreeMap<&'static str, usize>,
    /// The enums around the present value, in which no second variant opens another one of the kind.
    around: Vec<&'static str>,
}

/// Answers whatever a type asks for, and notes what it asked.
#[derive(Clone, Copy)]
struct Recorder<'a>(&'a RefCell<Seen>);

impl Recorder<'_> {
    fn note(self, of: &str, names: &[&str], prefix: &str) {
        let mut seen = self.0.borrow_mut();
        let known = seen.schema.entry(of.to_owned()).or_default();
        known.extend(names.iter().map(|name| format!("{prefix}{name}")));
    }
}

/// Values for the fields of a struct, for the entries of a list or for one entry of a map.
struct Items<'a> {
    recorder: Recorder<'a>,
    names: &'static [&'static str],
    next: usize,
    count: usize,
}

impl<'de> MapAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        key: K,
    ) -> Result<Option<K::Value>, Error> {
        self.next += 1;
        let name = self.names.get(self.next - 1);
        name.map(|name| key.deserialize((*name).into_deserializer()))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, value: V) -> Result<V::Value, Error> {
        value.deserialize(self.recorder)
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        item: T,
    ) -> Result<Option<T::Value>, Error> {
        self.next += 1;
        let is_there = self.next <= self.count;
        is_there
            .then(|| item.deserialize(self.recorder))
            .transpose()
    }
}

impl<'a> Recorder<'a> {
    fn items(self, names: &'static [&'static str], count: usize) -> Items<'a> {
        Items {
            recorder: self,
            names,
            next: 0,
            count,
        }
    }
}

/// One variant of an enum.
struct Variant<'a> {
    recorder: Recorder<'a>,
    of: &'static str,
    name: &'static str,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'_, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.recorder)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.recorder.items(&[], len))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.recorder
            .note(self.of, fields, &format!("{}.", self.name));
        visitor.visit_map(self.recorder.items(fields, 0))
    }
}

macro_rules! numbers {
    ($($ask:ident $give:ident $value:expr;)*) => {
        $(fn $ask<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$give($value)
        })*
    };
}

impl<'de> Deserializer<'de> for Recorder<'_> {
    type Error = Error;

    numbers! {
        deserialize_any visit_u64 1;
        deserialize_ignored_any visit_u64 1;
        deserialize_bool visit_bool true;
        deserialize_i8 visit_i8 1;
        deserialize_i16 visit_i16 1;
        deserialize_i32 visit_i32 1;
        deserialize_i64 visit_i64 1;
        deserialize_u8 visit_u8 1;
        deserialize_u16 visit_u16 1;
        deserialize_u32 visit_u32 1;
        deserialize_u64 visit_u64 1;
        deserialize_f32 visit_f32 1.0;
        deserialize_f64 visit_f64 1.0;
        deserialize_char visit_char 'a';
        deserialize_bytes visit_bytes b"";
        deserialize_byte_buf visit_bytes b"";
        // A colour among other things.
        deserialize_str visit_str "#000000";
        deserialize_string visit_str "#000000";
        deserialize_identifier visit_str "";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.items(&[], 1))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.items(&[], len))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(self.items(&[], len))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.items(&["key"], 0))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(name, fields, "");
        visitor.visit_map(self.items(fields, 0))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        of: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(of, variants, "");
        let mut seen = self.0.borrow_mut();
        let met = seen.met.entry(of).or_default();
        *met += 1;
        // Inside itself an enum takes its first variant, which holds no other of its kind.
        let turn = *met % variants.len();
        let name = variants[if seen.around.contains(&of) { 0 } else { turn }];
        seen.around.push(of);
        drop(seen);
        let recorder = self;
        let value = visitor.visit_enum(Variant { recorder, of, name });
        self.0.borrow_mut().around.pop();
        value
    }
}

/// What scene files may hold.
fn schema() -> Schema {
    let seen = RefCell::default();
    // Every round looks into the next variant of each enum.
    for _ in 0..100 {
        Scene::deserialize(Recorder(&seen)).unwrap_or_else(|e| panic!("{e}"));
    }
    seen.into_inner().schema
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scenes.md");
    std::fs::read_to_string(path).expect("the page")
}

#[test]
fn the_page_lists_every_field_and_no_other() {
    let mut listed = Schema::new();
    let mut of = String::new();
    for line in page().lines() {
        let name = |start: &str| {
            line.strip_prefix(start)?
                .split('`')
                .next()
                .map(str::to_owned)
        };
        if let Some(name) = name("### `") {
            of = name;
            listed.entry(of.clone()).or_default();
        } else if let Some(field) = name("- `") {
            listed.entry(of.clone()).or_default().insert(field);
        }
    }
    let schema = schema();
    assert!(schema.len() > 40, "{:?}", schema.keys());
    for (name, fields) in &schema {
        assert_eq!(
            listed.get(name),
            Some(fields),
            "{name} on the page, and in the schema"
        );
    }
    let known = |name: &&String| !schema.contains_key(*name);
    assert_eq!(listed.keys().find(known), None, "only on the page");
}

#[test]
fn every_example_builds() {
    let page = page();
    let mut count = 0;
    for block in page.split("```ron\n").skip(1) {
        let example = block.split("```").next().expect("an end");
        let text = match example.starts_with('(') {
            true => example.to_owned(),
            false => format!("({example})"),
        };
        let scene =
            Scene::parse(&text, "docs/scenes.md").and_then(|scene| scene.build().map(|_| scene));
        scene.unwrap_or_else(|e| panic!("{e}\n{example}"));
        count += 1;
    }
    assert!(count > 25, "{count} examples");
}
