//! The order of the house, read from the parsed sources: functions that fit on a screen, and no circle of files
//! across folders nor of folders beside each other. Tests are left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Ident, ImplItemFn, Item, Meta, Signature, Token, TraitItemFn, UseTree,
};

/// Most lines of a function outside tests.
const MOST_LINES: usize = 80;

/// Needs of a file that close a circle and are let pass.
const FILE_EXCEPTIONS: &[(&str, &str)] = &[];

/// Needs of a folder that close a circle and are let pass.
const FOLDER_EXCEPTIONS: &[(&str, &str)] = &[];

/// The segments of a path.
type Names = Vec<String>;

/// What a module, a file or one inside it, knows by name.
#[derive(Default)]
struct Module {
    file: String,
    items: BTreeSet<String>,
    /// The paths behind the names that `use` brings in, public or not.
    imports: BTreeMap<String, Vec<Names>>,
    /// The paths before `::*`.
    globs: Vec<Names>,
}

/// What the sources say.
#[derive(Default)]
struct House {
    /// The file and the module that are being read.
    file: String,
    here: Names,
    modules: BTreeMap<Names, Module>,
    /// Every file, module in it, and path that stands there.
    paths: BTreeSet<(String, Names, Names)>,
    /// Module, place and number of lines of every function.
    functions: Vec<(Names, String, usize)>,
    /// Modules of tests alone, inside a file or files of their own.
    tests: Vec<Names>,
}

/// Which files, or folders, each of them needs.
type Needs<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The sources of this crate.
static HOUSE: LazyLock<House> = LazyLock::new(|| {
    fn visit(folder: &Path, root: &Path, out: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                visit(&path, root, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                let name = path.strip_prefix(root).expect("inside").display();
                out.push((name.to_string().replace('\\', "/"), text));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    visit(&root, &root, &mut sources);
    House::new(sources)
});

impl House {
    fn new(mut sources: Vec<(String, String)>) -> Self {
        let mut house = Self::default();
        sources.sort();
        for (file, text) in sources {
            let names = file.trim_end_matches(".rs").split('/');
            house.here = names.map(str::to_owned).collect();
            house
                .here
                .pop_if(|n| matches!(n.as_str(), "mod" | "lib" | "main"));
            let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
            house.file = file;
            house.module();
            house.visit_file(&parsed);
        }
        let is_seen = |m: &Names| !house.tests.iter().any(|test| m.starts_with(test));
        house.modules.retain(|module, _| is_seen(module));
        house.paths.retain(|(_, module, _)| is_seen(module));
        house.functions.retain(|(module, ..)| is_seen(module));
        house
    }

    /// The module that is being read.
    fn module(&mut self) -> &mut Module {
        let module = self.modules.entry(self.here.clone()).or_default();
        // The library and the program share the root; it is the library's.
        if module.file.is_empty() {
            module.file.clone_from(&self.file);
        }
        module
    }

    fn mention(&mut self, path: Names) {
        let (file, here) = (self.file.clone(), self.here.clone());
        self.paths.insert((file, here, path));
    }

    fn measure(&mut self, name: &str, first: Span, last: Span) {
        let (first, last) = (first.start().line, last.end().line);
        let place = format!("{}:{first}: {name}", self.file);
        self.functions
            .push((self.here.clone(), place, last - first + 1));
    }

    fn function(&mut self, head: &Signature, block: &Block) {
        let last = block.brace_token.span.close();
        self.measure(&head.ident.to_string(), head.fn_token.span, last);
    }

    fn import(&mut self, prefix: &[String], tree: &UseTree) {
        let (last, alias) = match tree {
            UseTree::Path(path) => {
                return self.import(&[prefix, &[path.ident.to_string()]].concat(), &path.tree);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|t| self.import(prefix, t));
            }
            UseTree::Glob(_) => {
                self.module().globs.push(prefix.to_vec());
                return self.mention([prefix, &["*".to_owned()]].concat());
            }
            UseTree::Name(name) => (&name.ident, None),
            UseTree::Rename(name) => (&name.ident, Some(name.rename.to_string())),
        };
        let mut path = prefix.to_vec();
        path.extend((last != "self").then(|| last.to_string()));
        let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        let imports = &mut self.module().imports;
        imports.entry(name).or_default().push(path.clone());
        self.mention(path);
    }

    /// The words of what is not parsed; functions in it are measured.
    fn words(&mut self, tokens: &TokenStream, out: &mut String) {
        let mut head = None;
        for token in tokens.clone() {
            match token {
                TokenTree::Group(group) => {
                    // A type, as in `fn(f64) -> f64`, has no name and no body.
                    head = head.filter(|_| !out.ends_with("fn "));
                    if group.delimiter() == Delimiter::Brace
                        && let Some(first) = head.take()
                    {
                        self.measure("in a macro", first, group.span_close());
                    }
                    *out += "{ ";
                    self.words(&group.stream(), out);
                    *out += "} ";
                }
                TokenTree::Ident(name) => {
                    if name == "fn" {
                        head = Some(name.span());
                    }
                    *out += &format!("{name} ");
                }
                TokenTree::Punct(sign) => {
                    head = head.filter(|_| sign.as_char() != ';');
                    *out += &format!("{sign} ");
                }
                TokenTree::Literal(_) => *out += "0 ",
            }
        }
    }

    /// Adds the files that a path leads to, through what modules bring in by `use`. With `guess`, a name that nothing
    /// declares was made by a macro in the file where it is looked up. A module's name alone leads nowhere.
    fn find<'a>(
        &'a self,
        from: &[String],
        path: &[String],
        guess: bool,
        seen: &mut BTreeSet<(Names, String)>,
        out: &mut BTreeSet<&'a str>,
    ) {
        let mut at = from.to_vec();
        let mut path = path;
        while let Some((first, rest)) = path.split_first() {
            match first.as_str() {
                "crate" | "moreau" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                _ => break,
            }
            path = rest;
        }
        let (Some(module), Some((name, rest))) = (self.modules.get(&at), path.split_first()) else {
            return;
        };
        // Names may be declared in circles.
        if !seen.insert((at.clone(), name.clone())) {
            return;
        }
        let imports = module.imports.get(name);
        for import in imports.into_iter().flatten() {
            self.find(&at, &[import, rest].concat(), guess, seen, out);
        }
        let inner = [at.as_slice(), std::slice::from_ref(name)].concat();
        self.find(&inner, rest, guess, seen, out);
        if module.items.contains(name) {
            out.insert(&module.file);
        } else if imports.is_none() && !self.modules.contains_key(&inner) {
            let before = out.len();
            for glob in &module.globs {
                self.find(&at, &[glob, path].concat(), false, seen, out);
            }
            if guess && out.len() == before {
                out.insert(&module.file);
            }
        }
    }

    fn needs(&self) -> Needs<'_> {
        let mut needs = Needs::new();
        for (file, from, path) in &self.paths {
            let mut found = BTreeSet::new();
            self.find(from, path, true, &mut BTreeSet::new(), &mut found);
            found.remove(file.as_str());
            needs.entry(file).or_default().extend(found);
        }
        needs
    }

    fn long_functions(&self) -> Vec<String> {
        let is_long = |(.., lines): &&(_, _, usize)| *lines > MOST_LINES;
        let long = self.functions.iter().filter(is_long);
        long.map(|(_, at, lines)| format!("{at}: {lines} lines"))
            .collect()
    }
}

/// Whether attributes leave an item to tests.
fn is_test(attributes: &[Attribute]) -> bool {
    fn needs_test(meta: &Meta) -> bool {
        let all = |all: Punctuated<Meta, Token![,]>| all.iter().any(needs_test);
        match meta {
            Meta::List(list) if list.path.is_ident("all") => list
                .parse_args_with(Punctuated::parse_terminated)
                .is_ok_and(all),
            _ => meta.path().is_ident("test"),
        }
    }
    let mut conditions = attributes.iter().filter(|a| a.path().is_ident("cfg"));
    conditions.any(|cfg| cfg.parse_args().is_ok_and(|meta| needs_test(&meta)))
}

/// An item's attributes, and the name that it declares.
fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(i) => (&i.attrs, Some(&i.ident)),
        Item::Enum(i) => (&i.attrs, Some(&i.ident)),
        Item::Fn(i) => (&i.attrs, Some(&i.sig.ident)),
        Item::Impl(i) => (&i.attrs, None),
        Item::Macro(i) => (&i.attrs, i.ident.as_ref()),
        Item::Mod(i) => (&i.attrs, None),
        Item::Static(i) => (&i.attrs, Some(&i.ident)),
        Item::Struct(i) => (&i.attrs, Some(&i.ident)),
        Item::Trait(i) => (&i.attrs, Some(&i.ident)),
        Item::Type(i) => (&i.attrs, Some(&i.ident)),
        Item::Union(i) => (&i.attrs, Some(&i.ident)),
        Item::Use(i) => (&i.attrs, None),
        _ => (&[], None),
    }
}

impl<'a> Visit<'a> for House {
    fn visit_item(&mut self, item: &'a Item) {
        let (attributes, name) = head(item);
        let is_test = is_test(attributes);
        if let Item::Mod(module) = item {
            self.here.push(module.ident.to_string());
            if is_test {
                self.tests.push(self.here.clone());
            } else if module.content.is_some() {
                self.module();
                visit::visit_item(self, item);
            }
            self.here.pop();
        } else if !is_test {
            self.module().items.extend(name.map(Ident::to_string));
            match item {
                Item::Fn(function) => self.function(&function.sig, &function.block),
                Item::Use(tree) => self.import(&[], &tree.tree),
                _ => {}
            }
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        if !is_test(&item.attrs) {
            let body = item.default.iter();
            body.for_each(|block| self.function(&item.sig, block));
            visit::visit_trait_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() {
            self.mention(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    /// What stands in macros and attributes.
    fn visit_token_stream(&mut self, tokens: &'a TokenStream) {
        let mut words = String::new();
        self.words(tokens, &mut words);
        let words = words.replace(" : : ", "::").replace("$ crate", "crate");
        let mut before = "";
        for word in words.split(' ') {
            // A name behind `$` is the macro's own.
            if before != "$" && word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                self.mention(word.split("::").map(str::to_owned).collect());
            }
            before = word;
        }
    }
}

/// What folders need of folders beside them, themselves or in folders inside.
fn folder_needs<'a>(files: &Needs<'a>) -> Needs<'a> {
    let mut needs = Needs::new();
    for (file, needed) in files {
        for other in needed {
            let same = file
                .bytes()
                .zip(other.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let common = file[..same].rfind('/').map_or(0, |slash| slash + 1);
            let folder = |file: &'a str| Some(&file[..common + file[common..].find('/')?]);
            if let (Some(folder), Some(other)) = (folder(file), folder(other)) {
                needs.entry(folder).or_default().insert(other);
            }
        }
    }
    needs
}

/// The shortest chain of needs.
fn chain<'a>(needs: &Needs<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let (mut seen, mut open) = (BTreeSet::new(), VecDeque::from([vec![from]]));
    while let Some(chain) = open.pop_front() {
        let last = chain[chain.len() - 1];
        if last == to {
            return Some(chain);
        }
        let next = needs.get(last).into_iter().flatten();
        let next = next.filter(|other| seen.insert(**other));
        open.extend(next.map(|other| [chain.as_slice(), &[*other]].concat()));
    }
    None
}

/// Every need that counts and closes a circle, with the circle. An exception is part of no circle but its own; it is
/// here where it closes none.
fn circles(
    needs: &Needs<'_>,
    exceptions: &[(&str, &str)],
    counts: fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut allowed = needs.clone();
    for (a, needed) in &mut allowed {
        needed.retain(|b| !exceptions.contains(&(a, b)));
    }
    let mut out = Vec::new();
    for (a, needed) in &allowed {
        for b in needed.iter().filter(|b| counts(a, b)) {
            let circle = chain(&allowed, b, a);
            out.extend(circle.map(|c| format!("{a} -> {}", c.join(" -> "))));
        }
    }
    for (a, b) in exceptions {
        let is_needed = needs.get(a).is_some_and(|needed| needed.contains(b));
        if !is_needed || chain(&allowed, b, a).is_none() {
            out.push(format!("no circle any more, so no exception: {a} -> {b}"));
        }
    }
    out
}

/// Whether files lie in different folders.
fn crosses(a: &str, b: &str) -> bool {
    Path::new(a).parent() != Path::new(b).parent()
}

#[test]
fn functions_fit_on_a_screen() {
    let long = HOUSE.long_functions().join("\n");
    assert!(long.is_empty(), "functions that are too long:\n{long}");
}

#[test]
fn no_circle_of_files_crosses_folders() {
    let found = circles(&HOUSE.needs(), FILE_EXCEPTIONS, crosses).join("\n");
    assert!(found.is_empty(), "circles across folders:\n{found}");
}

/// Where much depends on the order in which things are done, files do not need each other in circles, either.
#[test]
fn no_circle_of_files_within_stepping_and_exact_solutions() {
    let within = |a: &str, b: &str| {
        let folders = ["step/", "solve/exact/"];
        folders.iter().any(|f| a.starts_with(f) && b.starts_with(f))
    };
    let needs = HOUSE.needs();
    let found = circles(&needs, &[], within).into_iter();
    // A folder's own file declares what the others implement.
    let found: Vec<String> = found.filter(|c| !c.contains("mod.rs")).collect();
    assert!(found.is_empty(), "circles of files:\n{}", found.join("\n"));
}

#[test]
fn no_circle_of_folders_beside_each_other() {
    let needs = folder_needs(&HOUSE.needs());
    let found = circles(&needs, FOLDER_EXCEPTIONS, |_, _| true).join("\n");
    assert!(found.is_empty(), "circles of folders:\n{found}");
}

fn house(sources: &[(&str, &str)]) -> House {
    let sources = sources
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    House::new(sources.collect())
}

/// Circles of files where `a/mod.rs` is this text, and `b/mod.rs` needs it.
fn circles_with(text: &str, exceptions: &[(&str, &str)]) -> Vec<String> {
    let house = house(&[
        ("lib.rs", "mod a; mod b; mod c; use c::Second as Third;"),
        ("a/mod.rs", text),
        (
            "b/mod.rs",
            "use crate::a::First; pub struct Second; pub fn act() {}",
        ),
        ("c.rs", "pub use crate::b::{self as hidden, Second};"),
    ]);
    circles(&house.needs(), exceptions, crosses)
}

#[test]
fn circles_are_seen_however_a_path_is_written() {
    for text in [
        "#[cfg(test)] mod tests; use crate::b::Second;",
        "use crate::{b as other}; fn f() { other::act(); }",
        "use crate::b::{self}; type T = Vec<b::Second>;",
        "use crate::c::Second as Mine;",
        "fn f() { crate::c::hidden::act(); }",
        "use super::*; fn f(_: Third) {}",
        "mod inner { fn f() { super::super::b::act(); } }",
        "fn f() { use crate::b::act as g; g(); }",
        "fn f() { assert!(true, \"{:?}\", [crate::b::act()]); }",
        "use crate::c; fn f() { println!(\"{:?}\", c::hidden::act()); }",
        "macro_rules! m { ($x:ident) => { $crate::b::act($x::y) }; }",
    ] {
        assert!(!circles_with(text, &[]).is_empty(), "{text}");
    }
}

#[test]
fn names_alone_comments_and_tests_close_no_circle() {
    for text in [
        "mod child; use crate::b;",
        "/// [`crate::b::act`]\nfn f() {} // crate::b::act()",
        "fn f() { println!(\"crate::b::act\"); }",
        "#[cfg(test)] mod tests { use crate::b::Second; }",
        "#[cfg(all(test, unix))] use crate::b::Second;",
        "impl S { #[cfg(test)] fn f() { crate::b::act(); } }",
        "fn f() { #[cfg(test)] use crate::b::act; }",
        "macro_rules! m { ($b:ident) => { $b::act() }; }",
    ] {
        assert_eq!(circles_with(text, &[]), [""; 0], "{text}");
    }
}

#[test]
fn circles_of_folders_are_seen_and_exceptions_run_out() {
    let exception = &[("a/mod.rs", "b/mod.rs")];
    assert_eq!(circles_with("use crate::b::act;", exception), [""; 0]);
    assert_eq!(circles_with("", exception).len(), 1);
    let house = house(&[
        ("lib.rs", ""),
        ("a/mod.rs", ""),
        ("a/one.rs", "use crate::b::one;\nfn f() { one::f(); }"),
        ("b/mod.rs", ""),
        ("b/one.rs", ""),
        ("b/inner/mod.rs", "use crate::a::f;"),
    ]);
    assert_eq!(circles(&house.needs(), &[], crosses), [""; 0]);
    let folders = folder_needs(&house.needs());
    assert_eq!(circles(&folders, &[], |_, _| true).len(), 2);
}

#[test]
fn long_functions_are_seen_wherever_they_stand() {
    let body = format!("fn f() {{{}}}\n", "\n".repeat(MOST_LINES));
    let text = format!(
        "#[cfg(test)]\nmod tests;\n{body} impl S {{ {body} }} trait T {{ {body} fn g(); }}
        m! {{ {body} }} mod inner {{ {body} }}
        #[cfg(test)] mod more {{ {body} }} #[test] #[cfg(test)] {body}"
    );
    let seen = house(&[("a/mod.rs", &text), ("a/tests.rs", &body)]);
    assert_eq!(seen.long_functions().len(), 5);
    let fits = house(&[("a.rs", &body.replacen('\n', "", 1))]);
    assert_eq!((fits.functions.len(), fits.long_functions().len()), (1, 0));
}
