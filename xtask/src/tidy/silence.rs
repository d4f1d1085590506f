//! What crates must not do, as far as words tell: what runs in the target has no standard library, and of
//! the user's side only some crates open files and start processes. A new crate may do neither until it is
//! listed here.

use crate::sources::{File, Tree, code_only};

/// Crates that run in the target, by their folders: they say that they have no standard library, and use none.
const IN_TARGET: &[&str] =
    &["alloc", "api", "heap-libs", "interpose", "nolibc", "preload", "recorder", "wire"];
/// Crates of the user's side that open files or sockets, start processes or replay in threads.
const DO_IO: &[&str] = &[
    "aos-log",
    "collect",
    "conformance",
    "convert",
    "heapscribe",
    "replay",
    "session",
    "spawn",
    "symbols",
    // It listens on 127.0.0.1, and reads a token from the kernel.
    "viewer",
];

const IO: &[&str] = &["std::fs", "std::net", "std::process"];
const STANDARD: &[&str] = &["extern crate alloc", "extern crate std", "thread_local!", "std::"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut found: Vec<String> = tree.ending(".rs").flat_map(of_file).collect();
    let pages = tree.ending("/src/lib.rs").filter(|file| file.crate_folder().is_some_and(is_in_target));
    let is_no_std =
        |file: &File| file.text().lines().any(|line| line.starts_with("#![") && line.contains("no_std"));
    found.extend(pages.filter(|file| !is_no_std(file)).map(|file| format!("{}: is not no_std", file.path)));
    found
}

fn is_in_target(folder: &str) -> bool {
    IN_TARGET.contains(&folder)
}

/// What a source file must not have.
fn of_file(file: &File) -> Vec<String> {
    let Some(folder) = file.crate_folder() else { return Vec::new() };
    if !file.path.starts_with(&format!("crates/{folder}/src/")) || file.is_test() {
        return Vec::new();
    }
    match folder {
        folder if is_in_target(folder) => words(file, STANDARD),
        folder if DO_IO.contains(&folder) => Vec::new(),
        _ => words(file, IO),
    }
}

/// Words of the list in the code before the file's own tests.
fn words(file: &File, words: &[&str]) -> Vec<String> {
    let code = code_only(file.text());
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
            ("crates/formats/src/a.rs", "use std::io;\nuse std::fs;\n"),
            (
                "crates/formats/src/b.rs",
                "// std::fs\nstatic S: &str = \"std::fs\";\n#[cfg(test)]\nmod tests { use std::fs; }\n",
            ),
            ("crates/formats/src/native/tests/c.rs", "use std::fs;"),
            ("crates/new/src/lib.rs", "use std::process;"),
            ("crates/recorder/src/lib.rs", "//! no_std"),
            ("crates/replay/src/lib.rs", "use std::process;"),
            ("crates/wire/src/lib.rs", "#![cfg_attr(not(test), no_std)]\nuse std::vec;"),
        ]);
        assert_eq!(
            check(&tree),
            [
                "crates/formats/src/a.rs:2: `std::fs` has no place in this crate",
                "crates/new/src/lib.rs:1: `std::process` has no place in this crate",
                "crates/wire/src/lib.rs:2: `std::` has no place in this crate",
                "crates/recorder/src/lib.rs: is not no_std",
            ]
        );
    }
}
