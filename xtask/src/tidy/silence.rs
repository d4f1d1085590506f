//! What crates must not do, as far as words tell: formats and analysis open no file and print nothing,
//! what runs in the target has no standard library.

use super::code;
use super::tree::{File, Tree};

/// A crate and the words that its code must not have.
const UNSAID: &[(&str, &[&str])] = &[
    ("formats", IO),
    ("analyze", IO),
    ("wire", HEAP),
    ("alloc", HEAP),
    ("recorder", HEAP),
    ("preload", HEAP),
];

const IO: &[&str] = &["std::fs", "std::net", "std::process", "println!", "eprintln!", "print!", "eprint!"];
const HEAP: &[&str] = &["extern crate alloc", "extern crate std", "thread_local!", "std::"];

/// Crates that run in the target: they say that they have no standard library.
const IN_TARGET: &[&str] = &["wire", "alloc", "recorder", "preload"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (name, words) in UNSAID {
        let prefix = format!("crates/{name}/src/");
        let files = tree.ending(".rs").filter(|f| f.path.starts_with(&prefix) && !is_test(f));
        found.extend(files.flat_map(|file| said(file, words)));
    }
    for name in IN_TARGET {
        let path = format!("crates/{name}/src/lib.rs");
        let lib = tree.files.iter().find(|f| f.path == path);
        if !lib.is_some_and(|f| f.text().lines().any(|l| l.starts_with("#![") && l.contains("no_std"))) {
            found.push(format!("{path}: is not no_std"));
        }
    }
    found
}

fn is_test(file: &File) -> bool {
    file.is_below("tests") || file.name() == "tests.rs"
}

/// Words of the list in the code before the file's own tests.
fn said(file: &File, words: &[&str]) -> Vec<String> {
    let code = code::only(file.text());
    let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    for (i, line) in code.lines().enumerate() {
        if let Some(word) = words.iter().find(|word| line.contains(*word)) {
            found.push(format!("{}:{}: `{word}` has no place in this crate", file.path, i + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let tree = Tree::of(&[
            ("crates/formats/src/a.rs", "use std::io;\nfn f() { println!(\"x\") }\n"),
            (
                "crates/formats/src/b.rs",
                "// std::fs\nstatic S: &str = \"std::fs\";\n#[cfg(test)]\nmod tests { use std::fs; }\n",
            ),
            ("crates/formats/src/native/tests/c.rs", "use std::fs;"),
            ("crates/wire/src/lib.rs", "#![cfg_attr(not(test), no_std)]\nuse std::vec;"),
            ("crates/alloc/src/lib.rs", "#![no_std]"),
            ("crates/recorder/src/lib.rs", "//! no_std"),
            ("crates/preload/src/lib.rs", "#![no_std]"),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/formats/src/a.rs:2: `println!`"));
        assert!(found[1].starts_with("crates/wire/src/lib.rs:2: `std::`"));
        assert!(found[2].starts_with("crates/recorder/src/lib.rs: is not no_std"));
    }

    #[test]
    fn the_repository_keeps_it() {
        crate::tidy::assert_clean(check);
    }
}
