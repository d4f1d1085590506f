//! Names are the field's terms: CONTRIBUTING.md has a table of words that names do not use and of those to
//! use instead, and this reads it. Prose may use them all.
//!
//! A word in small letters is looked for in all names, as a part or several: `told` is in `told_of`. One that
//! begins with a capital is looked for in names of types and variants: `Pen` is in `PenOfFields`, not in `pen`.
//! One that ends in `.rs` is the name of a file or a module.

use syn::visit::{self, Visit};
use syn::{Attribute, Ident};

use super::ratchet::{Finding, Ratchet};
use crate::sources::{File, Tree};

const TABLE: &str = "CONTRIBUTING.md";
/// What is left of the words, by file.
pub(crate) const RATCHET: Ratchet = Ratchet { list: "xtask/ratchets/words.txt", find };

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    if terms(tree.file(TABLE).map_or("", File::text)).is_empty() {
        return vec![format!("{TABLE}: has no table of words")];
    }
    RATCHET.check(tree)
}

fn find(tree: &Tree) -> Vec<Finding> {
    let terms = terms(tree.file(TABLE).map_or("", File::text));
    tree.ending(".rs").flat_map(|file| of_file(file, &terms)).collect()
}

/// A word that names do not use, and what they use instead.
#[derive(Debug)]
struct Term {
    word: String,
    parts: Vec<String>,
    instead: String,
}

/// What a name is the name of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    File,
    Other,
}

impl Term {
    fn is_in(&self, kind: Kind, name: &str, parts: &[String]) -> bool {
        if let Some(file) = self.word.strip_suffix(".rs") {
            return kind == Kind::File && name == file;
        }
        let is_for_kind = !self.word.starts_with(char::is_uppercase) || kind == Kind::Type;
        is_for_kind && parts.windows(self.parts.len()).any(|window| window == self.parts)
    }
}

/// The rows of the table: words in backticks in the first cell, what to say instead in the second.
fn terms(text: &str) -> Vec<Term> {
    let section = text.lines().skip_while(|line| *line != "## Words").skip(1);
    let rows = section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| `"));
    let mut terms = Vec::new();
    for row in rows {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (words, instead) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        for word in words.split('`').skip(1).step_by(2) {
            let (word, parts) = (word.to_owned(), parts(word));
            terms.push(Term { word, parts, instead: instead.replace('`', "") });
        }
    }
    terms
}

/// The parts of a name, small: `kept_walk`, `KeptWalk` and `KEPT_WALK` have the same.
fn parts(name: &str) -> Vec<String> {
    name.split('_').flat_map(humps).map(|part| part.to_lowercase()).collect()
}

/// `KeptWalk` as `Kept` and `Walk`.
fn humps(name: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut last_is_small = false;
    for (at, c) in name.char_indices() {
        if last_is_small && c.is_uppercase() {
            starts.push(at);
        }
        last_is_small = !c.is_uppercase();
    }
    let ends = starts.iter().copied().skip(1).chain([name.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &name[start..end]).filter(|part| !part.is_empty()).collect()
}

fn of_file(file: &File, terms: &[Term]) -> Vec<Finding> {
    let mut names = Names { all: vec![(Kind::File, 1, file.name().trim_end_matches(".rs").to_owned())] };
    if let Some(syntax) = file.syntax() {
        names.visit_file(syntax);
    }
    let mut found = Vec::new();
    for (kind, line, name) in names.all {
        let parts = parts(&name);
        let term = terms.iter().find(|term| term.is_in(kind, &name, &parts));
        if let Some(Term { word, instead, .. }) = term {
            let what = format!("`{name}` has `{word}`: {instead}");
            found.push(Finding { path: file.path.clone(), line, what });
        }
    }
    found
}

/// Names that a file gives to items and fields. What a test is called is a sentence and may use any words.
struct Names {
    all: Vec<(Kind, usize, String)>,
}

impl Names {
    fn add(&mut self, kind: Kind, ident: &Ident) {
        self.all.push((kind, ident.span().start().line, ident.to_string()));
    }

    fn add_function(&mut self, attributes: &[Attribute], ident: &Ident) {
        if !attributes.iter().any(|attribute| attribute.path().is_ident("test")) {
            self.add(Kind::Other, ident);
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add_function(&item.attrs, &item.sig.ident);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add_function(&item.attrs, &item.sig.ident);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add_function(&item.attrs, &item.sig.ident);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(Kind::Type, &item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(Kind::Type, &item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.add(Kind::Type, &item.ident);
        visit::visit_item_union(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(Kind::Type, &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(Kind::Type, &item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.add(Kind::Type, &variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // The file has the name of a module that is in one.
        if item.content.is_some() {
            self.add(Kind::File, &item.ident);
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(Kind::Other, &item.ident);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.add(Kind::Other, &item.ident);
        visit::visit_item_static(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(ident) = &field.ident {
            self.add(Kind::Other, ident);
        }
        visit::visit_field(self, field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE_TEXT: &str = "# C\n\n## Words\n\n| not | but |\n|---|---|\n\
        | `told`, `kept_walk` | say `annotations` |\n| `Pen` | `FieldWriter` |\n| `left.rs` | `deferred_free` |\n\
        \n## Next\n| `other` | x |\n";

    fn check_parts(name: &str, expected: &[&str]) {
        assert_eq!(parts(name), expected, "{name}");
    }

    #[test]
    fn parts_of_names() {
        check_parts("kept_walk", &["kept", "walk"]);
        check_parts("KeptWalk", &["kept", "walk"]);
        check_parts("KEPT_WALK", &["kept", "walk"]);
        check_parts("_x86Row", &["x86", "row"]);
    }

    #[test]
    fn what_is_found() {
        let source = "mod told { }\nmod left;\nstruct ToldOf { pub pen: u8, kept_walks: u8 }\nfn kept_walk(told: u8) {}\n\
            enum E { PenX, Open }\n#[test]\nfn it_told() {}\nfn f() { let told = 1; }\n";
        let tree = Tree::of(&[("CONTRIBUTING.md", TABLE_TEXT), ("a/left.rs", ""), ("a/x.rs", source)]);
        assert_eq!(
            check(&tree),
            [
                "a/left.rs:1: `left` has `left.rs`: deferred_free",
                "a/x.rs:1: `told` has `told`: say annotations",
                "a/x.rs:3: `ToldOf` has `told`: say annotations",
                "a/x.rs:4: `kept_walk` has `kept_walk`: say annotations",
                "a/x.rs:5: `PenX` has `Pen`: FieldWriter",
            ]
        );
        assert_eq!(check(&Tree::of(&[])), ["CONTRIBUTING.md: has no table of words"]);
    }
}
