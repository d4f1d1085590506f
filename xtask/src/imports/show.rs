//! The import graph in words: a table of all packages, and for each what runs back up and what circles.

use std::fmt::Write as _;
use std::path::Path;

use super::graph::Graph;
use super::order::{Arrow, order};
use super::packages::Package;
use super::rooms::{Level, Link, file_circles, levels};
use super::workspace::members;
use crate::sources::Tree;

/// One row for each package. Floors and imports are those of the folder of its sources; what runs back up is
/// counted in all folders.
pub(crate) fn table(tree: &Tree, graphs: &[(Package, Graph)]) -> String {
    let mut out = format!(
        "{:<26} {:>5} {:>7} {:>6} {:>7} {:>8} {:>8}\n",
        "crate", "files", "lines", "floors", "imports", "back up", "circles"
    );
    for (package, graph) in graphs {
        let levels = levels(graph);
        let top = levels.iter().find(|level| level.folder == format!("{}/src", package.folder));
        let _ = writeln!(
            out,
            "{:<26} {:>5} {:>7} {:>6} {:>7} {:>8} {:>8}",
            package.name,
            graph.files.len(),
            graph.files.iter().map(|file| lines(tree, file)).sum::<usize>(),
            top.map_or(1, Level::floors),
            top.map_or(0, |level| level.links.len()),
            levels.iter().map(|level| level.back().count()).sum::<usize>(),
            file_circles(graph).len(),
        );
    }
    out
}

fn lines(tree: &Tree, path: &str) -> usize {
    tree.file(path).map_or(0, |file| file.text().lines().count())
}

/// The packages of the workspace on their floors, the top one first.
pub(crate) fn packages(repository: &Path) -> String {
    let Some(members) = members(repository) else { return "`cargo metadata` gave no answer\n".to_owned() };
    let place = |name: &String| members.iter().position(|member| member.name == *name);
    let mut arrows = Vec::new();
    for (from, member) in members.iter().enumerate() {
        arrows.extend(member.uses.iter().filter_map(place).map(|to| Arrow { from, to, weight: 1 }));
    }
    let floors = order(members.len(), &arrows).floors;
    let mut out = "\ncrates, by what they are built on:\n".to_owned();
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    write_floors(&mut out, &floors, &names);
    out
}

fn write_floors(out: &mut String, floors: &[usize], names: &[&str]) {
    for floor in (1..=floors.iter().copied().max().unwrap_or(0)).rev() {
        let of_floor = (0..names.len()).filter(|&i| floors[i] == floor).map(|i| names[i]);
        let _ = writeln!(out, "  floor {floor:>2}  {}", of_floor.collect::<Vec<_>>().join("  "));
    }
}

/// What is wrong in a package; `all` asks for the floors of each folder too.
pub(crate) fn details(graph: &Graph, all: bool) -> String {
    let mut out = String::new();
    for level in levels(graph) {
        let back = level.back().count();
        if !all && back == 0 {
            continue;
        }
        let (rooms, imports) = (level.rooms.len(), level.links.len());
        let _ = writeln!(out, "\n{}/: {rooms} rooms, {imports} imports, {back} back up", level.folder);
        let names: Vec<&str> = level.rooms.iter().map(|room| room.name.as_str()).collect();
        write_floors(&mut out, &level.order.floors, &names);
        for link in level.back() {
            let _ = writeln!(out, "  back up: {} -> {}", names[link.from], names[link.to]);
            ties(graph, link).iter().for_each(|tie| out.push_str(&format!("    {tie}\n")));
        }
    }
    for circle in file_circles(graph) {
        let files: Vec<&str> = circle.iter().map(|&file| graph.files[file].as_str()).collect();
        let _ = writeln!(out, "\ncircle of {} files: {}", files.len(), files.join(", "));
    }
    out
}

/// Which files tie two rooms, and by what names.
pub(crate) fn ties(graph: &Graph, link: &Link) -> Vec<String> {
    let tie = |&edge: &usize| {
        let edge = &graph.edges[edge];
        let names: Vec<&str> = edge.names.iter().map(String::as_str).collect();
        format!("{} -> {}: {}", graph.files[edge.from], graph.files[edge.to], names.join(", "))
    };
    link.edges.iter().map(tie).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::packages::packages as of_tree;

    #[test]
    fn what_runs_back_up_is_shown_with_the_names_that_tie() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/src/lib.rs", "mod x;\nmod y;\nmod z;"),
            ("a/src/x.rs", "use crate::y::{Y, Z};\npub struct X;"),
            ("a/src/y.rs", "pub struct Y;\npub struct Z;\nfn f() -> super::x::X {}"),
            ("a/src/z.rs", "use crate::x::X;"),
        ]);
        let package = of_tree(&tree).remove(0);
        let graph = Graph::of(&tree, &package);
        assert_eq!(
            details(&graph, false),
            "\na/src/: 4 rooms, 3 imports, 1 back up\n  floor  3  z\n  floor  2  x\n  floor  1  lib  y\n  \
             back up: y -> x\n    a/src/y.rs -> a/src/x.rs: X\n\n\
             circle of 2 files: a/src/x.rs, a/src/y.rs\n"
        );
        let table = table(&tree, &[(package, graph)]);
        let row: Vec<_> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        assert_eq!(row, ["a", "4", "9", "3", "3", "1", "1"]);
    }
}
