//! No import runs back up: at every folder of a crate the graph of its files and folders has no circle, and
//! so no files import each other in a circle either. `cargo run -p xtask -- imports` shows the whole.

use crate::imports::{Graph, Package, file_circles, levels, packages, ties};
use crate::sources::Tree;

/// Crates that do not keep it yet, by their folders. The list only gets shorter.
const NOT_YET: &[&str] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, NOT_YET)
}

fn judge(tree: &Tree, not_yet: &[&str]) -> Vec<String> {
    let packages = packages(tree);
    let mut found = Vec::new();
    for folder in not_yet.iter().filter(|folder| !packages.iter().any(|p| p.folder == **folder)) {
        found.push(format!("{folder}: is not there, take it off the list"));
    }
    for package in packages {
        let wrong = wrong(tree, &package);
        match (not_yet.contains(&package.folder.as_str()), wrong.is_empty()) {
            (true, true) => {
                found.push(format!("{}: has no circle any more, take it off the list", package.folder));
            }
            (true, false) => {}
            (false, _) => found.extend(wrong),
        }
    }
    found
}

fn wrong(tree: &Tree, package: &Package) -> Vec<String> {
    let graph = Graph::of(tree, package);
    let mut found = Vec::new();
    for level in levels(&graph) {
        for link in level.back() {
            let (from, to) = (&level.rooms[link.from].name, &level.rooms[link.to].name);
            let ties = ties(&graph, link).join("; ");
            found.push(format!("{}: {from} -> {to} runs back up: {ties}", level.folder));
        }
    }
    for circle in file_circles(&graph) {
        let files: Vec<&str> = circle.iter().map(|&file| graph.files[file].as_str()).collect();
        found.push(format!("{}: import each other in a circle", files.join(", ")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ("a/src/lib.rs", "mod x;\nmod y;"),
        ("a/src/x.rs", "use crate::y::{Y, Z};\npub struct X;"),
        ("a/src/y/mod.rs", "mod z;\npub use z::Z;\npub struct Y;"),
        ("a/src/y/z.rs", "pub struct Z;\nfn f() -> crate::x::X {}"),
        ("b/Cargo.toml", "[package]\nname = \"b\"\n"),
        ("b/src/lib.rs", "mod x;\npub use x::X;"),
        ("b/src/x.rs", "pub struct X;\n#[cfg(test)]\nmod tests { use super::X; }"),
    ];

    #[test]
    fn what_is_found() {
        assert_eq!(
            judge(&Tree::of(FILES), &[]),
            [
                "a/src: y -> x runs back up: a/src/y/z.rs -> a/src/x.rs: X",
                "a/src/x.rs, a/src/y/z.rs: import each other in a circle",
            ]
        );
    }

    #[test]
    fn lists_of_exemptions_only_shrink() {
        assert_eq!(judge(&Tree::of(FILES), &["a", "b"]), ["b: has no circle any more, take it off the list"]);
    }
}
