//! A test that finds nothing to work with is listed at the end of CI: a file of tests that prints `skipped:`
//! itself, and not by a helper that appends to the log too, hides that from everyone but its own reader.

use crate::sources::{File, Tree};

/// The log that `xtask skipped` lists.
const LOG: &str = "HEAPSCRIBE_SKIPPED_LOG";
/// How a line of a skipped test begins.
const MARK: &str = "\"skipped: ";

/// Files whose tests print only. The list only gets shorter.
const NOT_YET: &[&str] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, NOT_YET)
}

fn judge(tree: &Tree, not_yet: &[&str]) -> Vec<String> {
    let of_tests = |file: &&File| file.path.starts_with("crates/") && file.is_test();
    let mut found = Vec::new();
    for file in tree.ending(".rs").filter(of_tests) {
        let lines = prints_only(file);
        if !not_yet.contains(&file.path.as_str()) {
            found.extend(lines);
        } else if lines.is_empty() {
            found.push(format!("{}: only prints no more, take it off the list", file.path));
        }
    }
    let stale = not_yet.iter().filter(|path| tree.file(path).is_none());
    found.extend(stale.map(|path| format!("{path}: is not there, take it off the list")));
    found
}

/// The lines that print that a test is skipped, where the file does not know the log.
fn prints_only(file: &File) -> Vec<String> {
    if file.text().contains(LOG) {
        return Vec::new();
    }
    let prints = |line: &str| line.to_lowercase().contains(MARK);
    let lines = file.text().lines().enumerate().filter(|(_, line)| prints(line));
    lines.map(|(i, _)| format!("{}:{}: prints `skipped:`, but not to {LOG}", file.path, i + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/x.rs", "println!(\"skipped: 1\")"),
            ("crates/a/tests/listed.rs", "println!(\"skipped: 1\")"),
            ("crates/a/tests/mended.rs", "support::skip(\"no perl\")"),
            ("crates/a/tests/prints.rs", "\n\neprintln!(\"SKIPPED: no perl\")"),
            (
                "crates/a/tests/support/mod.rs",
                "println!(\"skipped: {why}\");\nvar(\"HEAPSCRIBE_SKIPPED_LOG\")",
            ),
        ]);
        let not_yet = ["crates/a/tests/listed.rs", "crates/a/tests/mended.rs", "crates/a/tests/not_there.rs"];
        assert_eq!(
            judge(&tree, &not_yet),
            [
                "crates/a/tests/mended.rs: only prints no more, take it off the list",
                "crates/a/tests/prints.rs:3: prints `skipped:`, but not to HEAPSCRIBE_SKIPPED_LOG",
                "crates/a/tests/not_there.rs: is not there, take it off the list",
            ]
        );
    }
}
