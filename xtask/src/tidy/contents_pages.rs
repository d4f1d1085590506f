//! A crate's `lib.rs` is its contents page: what the crate is for, its modules, what it exports, and at most
//! assertions that hold when it is compiled. Code stands in a file that is named for it.

use proc_macro2::Span;
use syn::{Ident, Item};

use crate::sources::{File, Tree, attributes, is_for_tests};

/// Pages that have code still, and how many items of it. The list only gets shorter.
const NOT_YET: &[(&str, usize)] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, NOT_YET)
}

fn judge(tree: &Tree, not_yet: &[(&str, usize)]) -> Vec<String> {
    let is_page = |file: &&File| file.path.starts_with("crates/") && file.path.ends_with("/src/lib.rs");
    let mut found = Vec::new();
    for file in tree.ending(".rs").filter(is_page) {
        let code = code(file);
        let allowed = not_yet.iter().find(|(path, _)| *path == file.path).map_or(0, |(_, n)| *n);
        if code.len() > allowed {
            found.extend(code);
        } else if code.len() < allowed {
            found.push(format!("{}: is down to {} items, lower its exemption", file.path, code.len()));
        }
    }
    let is_there = |path: &str| tree.file(path).is_some();
    let stale = not_yet.iter().filter(|(path, _)| !is_there(path));
    found.extend(stale.map(|(path, _)| format!("{path}: is not there, take it off the list")));
    found
}

/// The items of a page that are code.
fn code(file: &File) -> Vec<String> {
    let Some(syntax) = file.syntax() else { return vec![format!("{}: does not parse", file.path)] };
    let code = syntax.items.iter().filter_map(what);
    code.map(|(span, what)| format!("{}:{}: {what}, in a contents page", file.path, span.start().line))
        .collect()
}

/// Where an item that is code stands and what it is called; `None` for those of a contents page.
fn what(item: &Item) -> Option<(Span, String)> {
    if attributes(item).is_some_and(is_for_tests) {
        return None;
    }
    let named = |kind: &str, ident: &Ident| Some((ident.span(), format!("{kind} {ident}")));
    match item {
        Item::Use(_) | Item::ExternCrate(_) => None,
        Item::Mod(item) if item.content.is_none() => None,
        Item::Mod(item) => named("the body of mod", &item.ident),
        // `const _: () = assert!(..)`.
        Item::Const(item) if item.ident == "_" => None,
        Item::Const(item) => named("const", &item.ident),
        Item::Static(item) => named("static", &item.ident),
        Item::Fn(item) => named("fn", &item.sig.ident),
        Item::Struct(item) => named("struct", &item.ident),
        Item::Enum(item) => named("enum", &item.ident),
        Item::Trait(item) => named("trait", &item.ident),
        Item::Type(item) => named("type", &item.ident),
        Item::Union(item) => named("union", &item.ident),
        Item::Impl(item) => Some((item.impl_token.span, "an impl".to_owned())),
        // `other_crate::end_on_panic!();`.
        Item::Macro(item) if item.mac.tokens.is_empty() => None,
        Item::Macro(item) => Some((item.mac.bang_token.span, "a macro".to_owned())),
        _ => Some((Span::call_site(), "code".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let tree = Tree::of(&[
            (
                "crates/a/src/lib.rs",
                "//! A.\n#![no_std]\nmod x;\npub use x::X;\nconst _: () = assert!(X == 1);\n\
                 #[cfg(test)]\nmod tests { fn f() {} }\n",
            ),
            (
                "crates/b/src/lib.rs",
                "//! B.\npub fn f() {}\nstruct S;\nimpl S {}\nmod x { }\nmacro_rules! m { () => {} }\nheap::end!();\n",
            ),
            ("crates/c/src/lib.rs", "//! C.\nstruct S;\nimpl S {}\n"),
            ("crates/c/src/x.rs", "pub fn f() {}\n"),
        ]);
        assert_eq!(
            judge(
                &tree,
                &[("crates/c/src/lib.rs", 2), ("crates/a/src/lib.rs", 1), ("crates/d/src/lib.rs", 1)]
            ),
            [
                "crates/a/src/lib.rs: is down to 0 items, lower its exemption",
                "crates/b/src/lib.rs:2: fn f, in a contents page",
                "crates/b/src/lib.rs:3: struct S, in a contents page",
                "crates/b/src/lib.rs:4: an impl, in a contents page",
                "crates/b/src/lib.rs:5: the body of mod x, in a contents page",
                "crates/b/src/lib.rs:6: a macro, in a contents page",
                "crates/d/src/lib.rs: is not there, take it off the list",
            ]
        );
    }
}
