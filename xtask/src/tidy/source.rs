//! Every source file says first what it is for, and has a name that says something.

use crate::sources::Tree;

/// Names for what has no place: the file then has no subject either.
const NO_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "misc", "stuff", "tools"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        if !file.text().starts_with("//!") {
            found.push(format!("{}:1: does not begin with `//!` and what the file is for", file.path));
        }
        let parts = file.path.split('/').map(|part| part.trim_end_matches(".rs"));
        if let Some(name) = parts.into_iter().find(|part| NO_NAMES.contains(part)) {
            found.push(format!("{}: `{name}` says nothing: name the subject", file.path));
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
            ("a/good.rs", "//! Good.\nfn f() {}\n"),
            ("a/bare.rs", "use x;\n//! Late.\n"),
            ("a/utils.rs", "//! Said.\n"),
            ("helpers/b.rs", "//! Said.\n"),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].starts_with("a/bare.rs:1:")
                && found[1].contains("`utils`")
                && found[2].contains("`helpers`")
        );
    }
}
