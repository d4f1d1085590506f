//! Lists of what is left to do, a number for each file, that only get shorter: more in a file than its number
//! is refused, and less asks for a lower number. `tidy --bless` lowers them; with `--anew` it writes them as
//! the files are now, for when files got other names.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::sources::Tree;

/// Something that is found in a file.
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// A check that goes by such a list.
pub(crate) struct Ratchet {
    /// The list's path in the repository.
    pub(crate) list: &'static str,
    pub(crate) find: fn(&Tree) -> Vec<Finding>,
}

impl Ratchet {
    /// What is found that the list does not have, and what the list has too much.
    pub(crate) fn check(&self, tree: &Tree) -> Vec<String> {
        let listed = self.listed(tree);
        let found = by_file((self.find)(tree));
        let mut wrong = Vec::new();
        for (path, findings) in &found {
            let (is, may) = (findings.len(), listed.get(path).copied().unwrap_or(0));
            if is > may {
                let lines = findings.iter().map(|found| format!("{path}:{}: {}", found.line, found.what));
                wrong.extend(lines);
            }
        }
        for (path, may) in &listed {
            let is = found.get(path).map_or(0, Vec::len);
            if is < *may {
                wrong.push(format!("{path}: is down from {may} to {is} in {}: run tidy --bless", self.list));
            }
        }
        wrong
    }

    /// The list as it should be now: no number higher than it was, unless it is written anew.
    pub(crate) fn blessed(&self, tree: &Tree, anew: bool) -> String {
        let listed = self.listed(tree);
        let mut out = String::new();
        for (path, findings) in by_file((self.find)(tree)) {
            let may = if anew { usize::MAX } else { listed.get(&path).copied().unwrap_or(0) };
            let n = findings.len().min(may);
            if n > 0 {
                let _ = writeln!(out, "{n} {path}");
            }
        }
        out
    }

    /// The list's lines: a number and a path.
    fn listed(&self, tree: &Tree) -> BTreeMap<String, usize> {
        let text = tree.file(self.list).map_or("", |file| file.text());
        let entry = |line: &str| {
            let (n, path) = line.split_once(' ')?;
            Some((path.to_owned(), n.parse().ok()?))
        };
        text.lines().filter_map(entry).collect()
    }
}

fn by_file(findings: Vec<Finding>) -> BTreeMap<String, Vec<Finding>> {
    let mut files: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        files.entry(finding.path.clone()).or_default().push(finding);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds each line of `x` in source files.
    const RATCHET: Ratchet = Ratchet { list: "list.txt", find };

    fn find(tree: &Tree) -> Vec<Finding> {
        let of_file = |path: &str, text: &str| -> Vec<Finding> {
            let lines = text.lines().enumerate().filter(|(_, line)| *line == "x");
            lines.map(|(i, _)| Finding { path: path.to_owned(), line: i + 1, what: "x".to_owned() }).collect()
        };
        tree.ending(".rs").flat_map(|file| of_file(&file.path, file.text())).collect()
    }

    #[test]
    fn more_than_listed_is_refused_and_less_asks_for_a_lower_number() {
        let tree = Tree::of(&[
            ("as_listed.rs", "x\nx\n"),
            ("less.rs", "x\n"),
            ("list.txt", "2 as_listed.rs\n3 less.rs\n1 more.rs\n1 removed.rs\n"),
            ("more.rs", "x\n\nx\n"),
            ("new.rs", "\nx\n"),
        ]);
        assert_eq!(
            RATCHET.check(&tree),
            [
                "more.rs:1: x",
                "more.rs:3: x",
                "new.rs:2: x",
                "less.rs: is down from 3 to 1 in list.txt: run tidy --bless",
                "removed.rs: is down from 1 to 0 in list.txt: run tidy --bless",
            ]
        );
        assert_eq!(RATCHET.blessed(&tree, false), "2 as_listed.rs\n1 less.rs\n1 more.rs\n");
        assert_eq!(RATCHET.blessed(&tree, true), "2 as_listed.rs\n1 less.rs\n2 more.rs\n1 new.rs\n");
    }
}
