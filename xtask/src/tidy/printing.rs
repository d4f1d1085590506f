//! Only the program prints: all other crates return what there is to say. Who prints in a library decides for
//! everyone who uses it, and a report that is written in many places reaches no file and no pager.

use crate::sources::{File, Tree, code_only};

/// Where the program prints, below `crates/`: commands, the terminal, what starts the program that is recorded,
/// errors and hints.
const MAY_PRINT: &[&str] = &[
    "heapscribe/src/main.rs",
    "heapscribe/src/commands/",
    "heapscribe/src/tui/",
    "heapscribe/src/launch/",
    "heapscribe/src/message.rs",
    // A bar on a terminal.
    "heapscribe/src/progress.rs",
    // A process of its own, whose parent reads what it prints.
    "heapscribe/src/replay/child.rs",
];

/// Files that print still, below `crates/`. The list only gets shorter.
const NOT_YET: &[&str] = &[];

/// Macros that print.
const MACROS: &[&str] = &["print!", "println!", "eprint!", "eprintln!"];
/// Functions that give the streams, from whatever crate they are; as methods they set those of a child.
const STREAMS: &[&str] = &["stdout()", "stderr()"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, NOT_YET)
}

fn judge(tree: &Tree, not_yet: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, path) in tree.ending(".rs").filter_map(|file| Some((file, source(file)?))) {
        let prints = prints(file);
        if !not_yet.contains(&path) {
            found.extend(prints);
        } else if prints.is_empty() {
            found.push(format!("{}: prints no more, take it off the list", file.path));
        }
    }
    let is_there = |path: &str| tree.file(&format!("crates/{path}")).is_some();
    let stale = not_yet.iter().filter(|path| !is_there(path));
    found.extend(stale.map(|path| format!("crates/{path}: is not there, take it off the list")));
    found
}

/// The path below `crates/` of a file that must not print.
fn source(file: &File) -> Option<&str> {
    let path = file.path.strip_prefix("crates/")?;
    let (_, inside) = path.split_once('/')?;
    let may_print = MAY_PRINT.iter().any(|place| path.starts_with(place));
    (inside.starts_with("src/") && !file.is_test() && !may_print).then_some(path)
}

fn prints(file: &File) -> Vec<String> {
    let code = code_only(file.text());
    let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    for (i, line) in code.lines().enumerate() {
        if let Some(word) = MACROS.iter().chain(STREAMS).find(|word| has_word(line, word)) {
            found.push(format!("{}:{}: `{word}`: only the program prints", file.path, i + 1));
        }
    }
    found
}

/// Whether the line has this word, not as a part of another and not as a method.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let tree = Tree::of(&[
            ("crates/heapscribe/build.rs", "fn f() { println!() }"),
            ("crates/heapscribe/src/commands/check.rs", "fn f() { println!() }"),
            ("crates/heapscribe/src/old.rs", "fn f() { println!() }"),
            ("crates/heapscribe/src/text.rs", "// println!\nfn f() { eprintln!() }"),
            ("crates/new/examples/e.rs", "fn f() { println!() }"),
            (
                "crates/new/src/a.rs",
                "use std::io;\nfn f() { io::stdout().lock() }\nfn g(c: C) { c.stdout(x).stderr() }",
            ),
            ("crates/new/src/b.rs", "fn f() {}\n#[cfg(test)]\nmod tests { fn f() { println!() } }"),
            ("xtask/src/main.rs", "fn f() { println!() }"),
        ]);
        let found = judge(&tree, &["heapscribe/src/old.rs", "new/src/b.rs", "new/src/c.rs"]);
        assert_eq!(
            found,
            [
                "crates/heapscribe/src/text.rs:2: `eprintln!`: only the program prints",
                "crates/new/src/a.rs:2: `stdout()`: only the program prints",
                "crates/new/src/b.rs: prints no more, take it off the list",
                "crates/new/src/c.rs: is not there, take it off the list",
            ]
        );
    }
}
