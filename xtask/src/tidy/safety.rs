//! Unsafe code says why it is sound: an `unsafe fn` has a `# Safety` section that lists what its caller owes,
//! and a `// SAFETY:` note names which of these hold here. A note that only points to the caller or to another
//! note says nothing that can be checked.

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Lit, Meta, Signature};

use super::ratchet::{Finding, Ratchet};
use crate::sources::{File, Tree, is_for_tests};

/// What is left without a section or a reason, by file.
pub(crate) const RATCHET: Ratchet = Ratchet { list: "xtask/ratchets/safety.txt", find };

/// A note that has no other words than these names no reason.
const HOLLOW: &[&str] = &[
    "a",
    "above",
    "and",
    "are",
    "as",
    "before",
    "by",
    "caller",
    "caller's",
    "callers",
    "contract",
    "ensures",
    "for",
    "function",
    "function's",
    "guarantees",
    "here",
    "holds",
    "in",
    "is",
    "it",
    "kept",
    "of",
    "our",
    "ours",
    "promise",
    "promised",
    "promises",
    "same",
    "section",
    "see",
    "so",
    "the",
    "this",
    "to",
    "too",
    "upheld",
    "vouches",
];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    RATCHET.check(tree)
}

fn find(tree: &Tree) -> Vec<Finding> {
    let sources = tree.ending(".rs").filter(|file| file.is_below("src") && !file.is_test());
    sources.flat_map(|file| functions(file).into_iter().chain(notes(file))).collect()
}

/// Unsafe functions without a `# Safety` section.
fn functions(file: &File) -> Vec<Finding> {
    let mut functions = Functions { file, found: Vec::new() };
    if let Some(syntax) = file.syntax() {
        functions.visit_file(syntax);
    }
    functions.found
}

struct Functions<'a> {
    file: &'a File,
    found: Vec<Finding>,
}

impl Functions<'_> {
    fn judge(&mut self, attributes: &[Attribute], signature: &Signature) {
        if matches!(signature.safety, syn::Safety::Unsafe(_)) && !has_section(attributes) {
            self.add(&signature.ident);
        }
    }

    fn add(&mut self, ident: &Ident) {
        let (line, what) = (ident.span().start().line, format!("unsafe fn {ident} has no `# Safety`"));
        self.found.push(Finding { path: self.file.path.clone(), line, what });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.judge(&item.attrs, &item.sig);
        visit::visit_item_fn(self, item);
    }

    /// What a trait's function demands stands in the trait.
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.trait_.is_none() {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.judge(&item.attrs, &item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.judge(&item.attrs, &item.sig);
        visit::visit_trait_item_fn(self, item);
    }
}

fn has_section(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => text.value().trim() == "# Safety",
            _ => false,
        },
        _ => false,
    })
}

/// Notes that name no reason.
fn notes(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text().lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some((_, first)) = line.split_once("// SAFETY:") else { continue };
        let more = lines[i + 1..].iter().map_while(|line| line.trim_start().strip_prefix("//"));
        let note: Vec<&str> = std::iter::once(first).chain(more).collect();
        if is_hollow(&note.join(" ")) {
            let what = format!("`SAFETY:{first}` names no reason");
            found.push(Finding { path: file.path.clone(), line: i + 1, what });
        }
    }
    found
}

fn is_hollow(note: &str) -> bool {
    let words = note.split(|c: char| c.is_whitespace() || ".,;:".contains(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).all(|word| HOLLOW.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let source = "\
            /// # Safety\n/// * x is valid.\nunsafe fn good() {\n\
            // SAFETY: the caller's contract.\n}\n\
            unsafe fn bare() {\n// SAFETY: the caller's contract: x is valid.\n}\n\
            trait T { unsafe fn t(); }\nimpl T for S { unsafe fn t() {} }\nimpl S { unsafe fn u() {} }\n\
            fn f() {\n// SAFETY: as the caller\n// promised.\n}\n\
            #[cfg(test)]\nmod tests { unsafe fn t() {} }\n";
        let tree = Tree::of(&[("a/src/x.rs", source), ("a/tests/x.rs", source)]);
        assert_eq!(
            check(&tree),
            [
                "a/src/x.rs:6: unsafe fn bare has no `# Safety`",
                "a/src/x.rs:9: unsafe fn t has no `# Safety`",
                "a/src/x.rs:11: unsafe fn u has no `# Safety`",
                "a/src/x.rs:4: `SAFETY: the caller's contract.` names no reason",
                "a/src/x.rs:13: `SAFETY: as the caller` names no reason",
            ]
        );
    }

    #[test]
    fn a_note_needs_a_word_of_its_own() {
        assert!(is_hollow(" as above."));
        assert!(is_hollow(" the caller's contract, and the same for it."));
        assert!(!is_hollow(" the caller's contract: the block is live."));
        assert!(!is_hollow(" as for `free`."));
    }
}
