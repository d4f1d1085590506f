//! The import graph for Graphviz: `imports --dot | dot -Tsvg > imports.svg`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::graph::Graph;
use super::workspace::members;

/// The packages of the workspace.
pub(crate) fn packages(repository: &Path) -> String {
    let members = members(repository).unwrap_or_default();
    let mut out = "digraph crates {\n  node [shape=box];\n".to_owned();
    for member in &members {
        let _ = writeln!(out, "  \"{}\";", member.name);
        for used in member.uses.iter().filter(|used| members.iter().any(|other| other.name == **used)) {
            let _ = writeln!(out, "  \"{}\" -> \"{used}\";", member.name);
        }
    }
    out + "}\n"
}

/// The files of a package, a cluster for each folder.
pub(crate) fn files(graph: &Graph) -> String {
    let mut out = "digraph files {\n  node [shape=box];\n".to_owned();
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in &graph.files {
        folders.entry(file.rsplit_once('/').map_or("", |(folder, _)| folder)).or_default().push(file);
    }
    for (folder, files) in folders {
        let _ = writeln!(out, "  subgraph \"cluster_{folder}\" {{\n    label=\"{folder}\";");
        for file in files {
            let name = file.rsplit('/').next().unwrap_or(file);
            let _ = writeln!(out, "    \"{file}\" [label=\"{name}\"];");
        }
        out.push_str("  }\n");
    }
    for edge in &graph.edges {
        let _ = writeln!(out, "  \"{}\" -> \"{}\";", graph.files[edge.from], graph.files[edge.to]);
    }
    out + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::packages::packages as of_tree;
    use crate::sources::Tree;

    #[test]
    fn folders_are_clusters_and_imports_arrows() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/src/lib.rs", "mod x;\nfn f() { x::g() }"),
            ("a/src/x.rs", "pub fn g() {}"),
        ]);
        assert_eq!(
            files(&Graph::of(&tree, &of_tree(&tree)[0])),
            "digraph files {\n  node [shape=box];\n  subgraph \"cluster_a/src\" {\n    label=\"a/src\";\n    \
             \"a/src/lib.rs\" [label=\"lib.rs\"];\n    \"a/src/x.rs\" [label=\"x.rs\"];\n  }\n  \
             \"a/src/lib.rs\" -> \"a/src/x.rs\";\n}\n"
        );
    }
}
