//! `skipped LOG`: tests that passed without a look at anything, since what they need is not there, listed and
//! counted. A test that finds nothing to work with appends a line `test: reason` to the file that
//! `HEAPSCRIBE_SKIPPED_LOG` names; CI prints them at its end. Tests that are `#[ignore]`d are listed with the
//! reason that their attribute gives.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit, Meta};

use crate::sources::{File, Tree};

/// The environment variable that names the log.
const LOG: &str = "HEAPSCRIBE_SKIPPED_LOG";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let [log] = arguments else {
        eprintln!("usage: skipped LOG");
        return ExitCode::from(2);
    };
    let text = match fs::read_to_string(log) {
        Ok(text) => text,
        // Nobody appended to it.
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        Err(e) => {
            eprintln!("error: {log}: {e}");
            return ExitCode::FAILURE;
        }
    };
    print!("{}", list("skipped", &skipped(&text)));
    print!("{}", list("ignored", &ignored(&Tree::load())));
    ExitCode::SUCCESS
}

/// Prints that something is skipped and why, and appends it to the log.
pub(crate) fn note(what: &str, reason: &str) {
    eprintln!("skipped: {what}: {reason}");
    let Some(log) = std::env::var_os(LOG) else { return };
    let file = OpenOptions::new().append(true).create(true).open(&log);
    if let Err(e) = file.and_then(|mut file| writeln!(file, "{what}: {reason}")) {
        eprintln!("warning: {}: {e}", log.display());
    }
}

/// Reasons, each with the tests that give it.
type Reasons = BTreeMap<String, Vec<String>>;

/// The lines `test: reason` of a log.
fn skipped(log: &str) -> Reasons {
    let mut reasons = Reasons::new();
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let (test, reason) = line.split_once(": ").unwrap_or(("", line));
        let tests = reasons.entry(reason.to_owned()).or_default();
        if !tests.iter().any(|known| known == test) {
            tests.push(test.to_owned());
        }
    }
    reasons.values_mut().for_each(|tests| tests.sort());
    reasons
}

/// The tests that run only when one asks for them.
fn ignored(tree: &Tree) -> Reasons {
    let mut ignored = Ignored::default();
    for file in tree.ending(".rs") {
        ignored.read(file);
    }
    ignored.reasons
}

#[derive(Default)]
struct Ignored {
    path: String,
    reasons: Reasons,
}

impl Ignored {
    fn read(&mut self, file: &File) {
        if let Some(syntax) = file.syntax() {
            self.path.clone_from(&file.path);
            self.visit_file(syntax);
        }
    }
}

impl<'ast> Visit<'ast> for Ignored {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if let Some(reason) = function.attrs.iter().find_map(ignore_reason) {
            let test = format!("{} {}", self.path, function.sig.ident);
            self.reasons.entry(reason).or_default().push(test);
        }
        visit::visit_item_fn(self, function);
    }
}

/// The reason of an `#[ignore]`, empty when it has none.
fn ignore_reason(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("ignore") {
        return None;
    }
    match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(reason), .. }) => Some(reason.value()),
            _ => Some(String::new()),
        },
        _ => Some(String::new()),
    }
}

fn list(what: &str, reasons: &Reasons) -> String {
    let count: usize = reasons.values().map(Vec::len).sum();
    let mut out = format!("{what}: {count} tests\n");
    for (reason, tests) in reasons {
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        out.push_str(&format!("  {reason}\n"));
        tests.iter().for_each(|test| out.push_str(&format!("    {test}\n")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_by_their_reasons() {
        let log = "life::musl: musl-gcc is not there\nstacks::a: no perl\nlife::b: musl-gcc is not there\n\n\
                   life::b: musl-gcc is not there\n";
        assert_eq!(
            list("skipped", &skipped(log)),
            "skipped: 3 tests\n  musl-gcc is not there\n    life::b\n    life::musl\n  no perl\n    stacks::a\n"
        );
        assert_eq!(list("skipped", &skipped("")), "skipped: 0 tests\n");
    }

    #[test]
    fn ignored_tests_by_their_reasons() {
        let tree = Tree::of(&[(
            "a/tests/t.rs",
            "#[test]\n#[ignore = \"is slow\"]\nfn f() {}\n#[test]\n#[ignore]\nfn g() {}\n#[test]\nfn h() {}\n",
        )]);
        assert_eq!(
            list("ignored", &ignored(&tree)),
            "ignored: 2 tests\n  no reason given\n    a/tests/t.rs g\n  is slow\n    a/tests/t.rs f\n"
        );
    }
}
