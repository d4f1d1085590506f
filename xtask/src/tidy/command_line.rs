//! Only `commands/` knows the command line: what a flag says reaches all else as a value of its own.

use crate::imports::{Graph, packages};
use crate::sources::Tree;

/// The command line's own folder, and those who may import from it, below the program's sources.
const COMMAND_LINE: &[&str] = &["cli.rs", "cli/"];
const MAY_KNOW_IT: &[&str] = &["main.rs", "commands.rs", "commands/"];
const PROGRAM: &str = "crates/heapscribe";

/// Files below the program's sources that know it still. The list only gets shorter.
const NOT_YET: &[&str] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, NOT_YET)
}

fn judge(tree: &Tree, not_yet: &[&str]) -> Vec<String> {
    let Some(program) = packages(tree).into_iter().find(|package| package.folder == PROGRAM) else {
        return vec![format!("{PROGRAM}: is not there")];
    };
    let graph = Graph::of(tree, &program);
    let inside = |file: usize| below_sources(&graph.files[file]);
    let of = |file: &str, folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
    let mut found = Vec::new();
    let mut needed = Vec::new();
    for edge in &graph.edges {
        let (from, to) = (inside(edge.from), inside(edge.to));
        if !of(to, COMMAND_LINE) || of(from, COMMAND_LINE) || of(from, MAY_KNOW_IT) {
            continue;
        }
        if not_yet.contains(&from) {
            needed.push(from);
        } else {
            let names: Vec<&str> = edge.names.iter().map(String::as_str).collect();
            found.push(format!("{PROGRAM}/src/{from}: imports {} from {to}", names.join(", ")));
        }
    }
    let stale = not_yet.iter().filter(|file| !needed.contains(file));
    found.extend(stale.map(|file| format!("{file}: knows no command line any more, take it off the list")));
    found
}

fn below_sources(path: &str) -> &str {
    path.strip_prefix(PROGRAM).and_then(|path| path.strip_prefix("/src/")).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let tree = Tree::of(&[
            ("crates/heapscribe/Cargo.toml", "[package]\nname = \"heapscribe\"\n"),
            ("crates/heapscribe/src/cli/mod.rs", "mod units;\npub use units::Size;\npub struct Cli;"),
            ("crates/heapscribe/src/cli/units.rs", "pub struct Size;\nfn f() -> super::Cli {}"),
            ("crates/heapscribe/src/commands/mod.rs", "use crate::cli::Cli;"),
            ("crates/heapscribe/src/launch.rs", "use crate::cli::Size;"),
            (
                "crates/heapscribe/src/main.rs",
                "mod cli;\nmod commands;\nmod launch;\nmod tui;\nuse cli::Cli;",
            ),
            ("crates/heapscribe/src/tui.rs", "use crate::cli::Cli;"),
        ]);
        assert_eq!(
            judge(&tree, &["tui.rs", "main.rs"]),
            [
                "crates/heapscribe/src/launch.rs: imports Size from cli/units.rs",
                "main.rs: knows no command line any more, take it off the list",
            ]
        );
    }
}
