//! The graph of a package's files: which imports which, and the names that tie them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::modules::{FileId, Module, ModuleId, Modules, of_package};
use super::packages::Package;
use super::resolve::Target;
use super::tokens::PathParts;
use crate::sources::Tree;

/// An import of one file from another: places in [`Graph::files`], and what is taken.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: FileId,
    pub(crate) to: FileId,
    pub(crate) names: BTreeSet<String>,
}

/// A package's files, each with its path in the repository, and their imports of each other.
pub(crate) struct Graph {
    pub(crate) files: Vec<String>,
    pub(crate) edges: Vec<Edge>,
}

impl Graph {
    /// The graph of the files that the package's targets are made of; files for tests are not in it.
    pub(crate) fn of(tree: &Tree, package: &Package) -> Graph {
        let modules = of_package(tree, package);
        let mut edges = BTreeMap::new();
        for module in 0..modules.all.len() {
            add_edges(&modules, module, &mut edges);
        }
        let edge = |((from, to), names)| Edge { from, to, names };
        Graph { edges: edges.into_iter().map(edge).collect(), files: modules.files }
    }
}

type Edges = BTreeMap<(FileId, FileId), BTreeSet<String>>;

fn add_edges(modules: &Modules, id: ModuleId, edges: &mut Edges) {
    let module = &modules.all[id];
    let in_code = module.paths.iter().filter(|path| may_be_item(path, &module.bound));
    let imported = module.imports.iter().map(|path| (path, true));
    for (path, is_import) in imported.chain(in_code.map(|path| (path, false))) {
        let targets = targets(modules, id, path, is_import);
        for target in targets.into_iter().filter(|&target| target != module.file) {
            let name = path.last().cloned().unwrap_or_default();
            edges.entry((module.file, target)).or_default().insert(name);
        }
    }
}

/// Whether a path is more than a variable's name.
fn may_be_item(path: &PathParts, bound: &HashSet<String>) -> bool {
    path.len() > 1 || path.first().is_some_and(|name| !bound.contains(name))
}

/// The files that define what the path names. A module that is only named is none: what is used in it counts.
fn targets(modules: &Modules, id: ModuleId, path: &PathParts, is_import: bool) -> Vec<FileId> {
    let targets = modules.resolve(id, path);
    if targets.is_empty() && path.len() == 1 {
        return modules.macro_above(id, &path[0]).into_iter().collect();
    }
    let names_module = targets.iter().any(|target| matches!(target, Target::Module(_)));
    if is_import && names_module && !is_used_bare(&modules.all[id], path) {
        return Vec::new();
    }
    let file = |target| match target {
        Target::Item(file) => Some(file),
        Target::Module(_) | Target::Outside => None,
    };
    targets.into_iter().filter_map(file).collect()
}

/// Whether the last part stands alone somewhere in the code: where a module and an item have one name, it then
/// is the item.
fn is_used_bare(module: &Module, path: &PathParts) -> bool {
    path.last().is_some_and(|last| module.paths.iter().any(|path| path.len() == 1 && path[0] == *last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::packages::packages;

    /// The edges of a package `a` made of these files below `a/src/`.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let paths: Vec<_> = files.iter().map(|(path, _)| format!("a/src/{path}")).collect();
        let manifest = ("a/Cargo.toml", "[package]\nname = \"a\"\n");
        let sources = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text));
        let tree = Tree::of(&std::iter::once(manifest).chain(sources).collect::<Vec<_>>());
        let graph = Graph::of(&tree, &packages(&tree)[0]);
        let short = |file: FileId| graph.files[file].trim_start_matches("a/src/").to_owned();
        let mut found: Vec<_> = graph
            .edges
            .iter()
            .map(|e| {
                let names: Vec<_> = e.names.iter().map(String::as_str).collect();
                format!("{} -> {}: {}", short(e.from), short(e.to), names.join(" "))
            })
            .collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn uses_and_paths_in_code_are_edges_and_reexports_are_none() {
        check(
            &[
                ("lib.rs", "mod x;\nmod y;\npub use x::X;"),
                ("x.rs", "pub struct X;"),
                ("y.rs", "use crate::X;\nfn f() { super::x::g(); println!(\"{}\", crate::x::h()); }"),
            ],
            &["y.rs -> x.rs: X g h"],
        );
    }

    #[test]
    fn a_reexport_that_the_file_uses_itself_is_an_edge() {
        check(
            &[("lib.rs", "mod x;\npub use x::X;\npub fn f() -> X {}"), ("x.rs", "pub struct X;")],
            &["lib.rs -> x.rs: X"],
        );
    }

    #[test]
    fn code_for_tests_and_variables_are_none() {
        check(
            &[
                ("lib.rs", "mod x;\nmod y;"),
                ("x.rs", "pub fn size() {}\npub fn other() {}"),
                (
                    "y.rs",
                    "use crate::x::*;\nfn f(size: u8) { size + other() }\n#[cfg(test)]\nmod tests { use crate::x::size; }",
                ),
            ],
            &["y.rs -> x.rs: other"],
        );
    }

    #[test]
    fn of_a_module_and_a_function_of_one_name_the_one_that_is_used() {
        let lib = ("lib.rs", "mod x;\nmod y;\nmod z;\nfn x() {}");
        let x = ("x.rs", "pub fn g() {}");
        check(
            &[
                lib,
                x,
                ("y.rs", "use crate::x;\nfn f() { x::g() }"),
                ("z.rs", "use crate::x;\nfn f() { x() }"),
            ],
            &["y.rs -> x.rs: g", "z.rs -> lib.rs: x"],
        );
        check(
            &[
                ("lib.rs", "mod x;\nmod y;"),
                ("x/mod.rs", "mod run;\npub use run::run;"),
                ("x/run.rs", "pub fn run() {}"),
                ("y.rs", "use crate::x;\nfn f() { x::run() }"),
            ],
            &["y.rs -> x/run.rs: run"],
        );
    }

    #[test]
    fn macros_of_a_module_above_and_modules_of_another_path() {
        check(
            &[
                ("lib.rs", "macro_rules! m { () => {} }\nmod x;"),
                ("x.rs", "#[path = \"z.rs\"]\nmod y;\nfn f() { m!(); y::g() }"),
                ("z.rs", "pub fn g() {}"),
            ],
            &["x.rs -> lib.rs: m", "x.rs -> z.rs: g"],
        );
    }
}
