//! Text: one title a page, no large files, no mention of places outside of the repository, no half of a merge.

use crate::sources::{File, Tree};

const BYTES_MAX: usize = 100 << 10;

/// Places that only the machine has on which this is written; in two parts, so that they are not here.
const FOREIGN: [&str; 2] = [concat!("/wo", "rk/"), concat!("sha", "red/")];
/// Where they may be named.
const MAY_NAME_THEM: &str = ".ci/run";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.files
        .iter()
        .flat_map(|file| [titles(file), size(file), foreign(file), unmerged(file)])
        .flatten()
        .collect()
}

fn titles(file: &File) -> Option<String> {
    let mut fenced = false;
    let mut titles = 0;
    for line in file.text().lines() {
        fenced ^= line.trim_start().starts_with("```");
        titles += usize::from(!fenced && line.starts_with("# "));
    }
    let is_first = file.text().lines().next().is_some_and(|line| line.starts_with("# "));
    let wrong = file.path.ends_with(".md") && (titles != 1 || !is_first);
    wrong.then(|| format!("{}: {titles} titles; a page has one, in its first line", file.path))
}

fn size(file: &File) -> Option<String> {
    let is_exempt = file.is_below("fixtures") || file.name() == "Cargo.lock";
    let wrong = file.bytes.len() > BYTES_MAX && !is_exempt;
    wrong.then(|| format!("{}: {} bytes; at most {BYTES_MAX} outside fixtures/", file.path, file.bytes.len()))
}

/// A page once went in with both sides of a conflict.
fn unmerged(file: &File) -> Option<String> {
    let is_marker = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|marker| line.starts_with(marker));
    let line = file.text().lines().position(is_marker)?;
    Some(format!("{}:{}: a conflict that was not resolved", file.path, line + 1))
}

fn foreign(file: &File) -> Option<String> {
    if file.path == MAY_NAME_THEM {
        return None;
    }
    let (line, place) = file.text().lines().enumerate().find_map(|(i, line)| {
        let place = FOREIGN.iter().find(|place| line.contains(*place))?;
        Some((i + 1, place))
    })?;
    Some(format!("{}:{line}: names {place}, which others do not have", file.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let big = "x".repeat(BYTES_MAX + 1);
        let place = format!("see {}x", FOREIGN[0]);
        let tree = Tree::of(&[
            ("good.md", "# One\n```\n# no title\n```\n## Two\n"),
            ("two.md", "# One\n# Two\n"),
            ("late.md", "\n# One\n"),
            ("big.txt", &big),
            ("fixtures/big.txt", &big),
            ("Cargo.lock", &big),
            ("place.rs", &place),
            (MAY_NAME_THEM, &place),
        ]);
        let found = check(&tree);
        let files: Vec<_> = found.iter().map(|line| line.split(':').next().unwrap_or_default()).collect();
        assert_eq!(files, ["two.md", "late.md", "big.txt", "place.rs"]);
    }
}
