//! The house rules as a test that ratchets: what is in order stays in order, and lists of exemptions may
//! only get shorter. Each check is a file of its own, and gives what it found as lines of text.
//! They run over the repository as `xtask tidy`, a step of CI, and not among the tests again.

use std::process::ExitCode;

mod command_line;
mod contents_pages;
mod dependencies;
mod imports;
mod islands;
mod length;
mod library;
mod printing;
mod prose;
mod ratchet;
mod safety;
mod silence;
mod skips;
mod source;
mod words;

use crate::sources::{Tree, root};
use ratchet::Ratchet;

/// A check: what is wrong, a line each.
type Check = fn(&Tree) -> Vec<String>;

const CHECKS: &[(&str, Check)] = &[
    ("first lines and names of source files", source::check),
    ("lengths of functions and files", length::check),
    ("islands of unsafe code", islands::check),
    ("no standard library in the target, no files in most crates", silence::check),
    ("only the program prints", printing::check),
    ("imports that run back up, circles of files", imports::check),
    ("names: words of the table in CONTRIBUTING.md", words::check),
    ("reasons of unsafe code", safety::check),
    ("only commands/ knows the command line", command_line::check),
    ("contents pages (lib.rs)", contents_pages::check),
    ("tests that are skipped are listed", skips::check),
    ("text: titles, sizes, foreign places", prose::check),
    ("dependencies", dependencies::check),
    ("the shared library", library::check),
];

/// Lists that `--bless` writes.
const RATCHETS: &[Ratchet] = &[words::RATCHET, safety::RATCHET];

/// `cargo run -p xtask -- tidy [--bless [--anew]]`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let tree = Tree::load();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => check_all(&tree),
        ["--bless"] => bless(&tree, false),
        ["--bless", "--anew"] => bless(&tree, true),
        _ => {
            eprintln!("usage: tidy [--bless [--anew]]");
            ExitCode::from(2)
        }
    }
}

fn check_all(tree: &Tree) -> ExitCode {
    let mut found = 0;
    for (name, check) in CHECKS {
        let lines = check(tree);
        println!("{} {name}", if lines.is_empty() { "ok  " } else { "FAIL" });
        lines.iter().for_each(|line| println!("       {line}"));
        found += lines.len();
    }
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the lists that only get shorter as they may be now.
fn bless(tree: &Tree, anew: bool) -> ExitCode {
    for ratchet in RATCHETS {
        let text = ratchet.blessed(tree, anew);
        let path = root().join(ratchet.list);
        if let Err(e) = std::fs::write(&path, &text) {
            eprintln!("error: {}: {e}", path.display());
            return ExitCode::FAILURE;
        }
        let left: usize = text.lines().filter_map(|line| line.split(' ').next()?.parse::<usize>().ok()).sum();
        println!("{}: {left} left in {} files", ratchet.list, text.lines().count());
    }
    ExitCode::SUCCESS
}
