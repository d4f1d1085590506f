//! `cargo run -p xtask -- imports [--crate NAME] [--dot] [--repo DIR]`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::graph::Graph;
use super::packages::{Package, packages};
use super::{dot, show};
use crate::sources::{Tree, root};

/// What the command line asks for.
struct Options {
    package: Option<String>,
    is_dot: bool,
    repository: PathBuf,
}

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = options(arguments) else {
        eprintln!("usage: imports [--crate NAME] [--dot] [--repo DIR]");
        return ExitCode::from(2);
    };
    let tree = Tree::at(&options.repository);
    let wanted = |package: &Package| options.package.as_ref().is_none_or(|name| package.is_called(name));
    let graphs: Vec<(Package, Graph)> = packages(&tree)
        .into_iter()
        .filter(wanted)
        .map(|package| {
            let graph = Graph::of(&tree, &package);
            (package, graph)
        })
        .filter(|(_, graph)| !graph.files.is_empty())
        .collect();
    if graphs.is_empty() {
        eprintln!("no such crate");
        return ExitCode::from(2);
    }
    // Who reads the first lines only ends the output.
    let _ = std::io::stdout().write_all(text(&options, &tree, &graphs).as_bytes());
    ExitCode::SUCCESS
}

fn text(options: &Options, tree: &Tree, graphs: &[(Package, Graph)]) -> String {
    let is_one = options.package.is_some();
    if options.is_dot {
        let files = || graphs.iter().map(|(_, graph)| dot::files(graph)).collect();
        return if is_one { files() } else { dot::packages(&options.repository) };
    }
    let mut text = show::table(tree, graphs);
    if !is_one {
        text.push_str(&show::packages(&options.repository));
    }
    text.extend(graphs.iter().map(|(_, graph)| show::details(graph, is_one)));
    text
}

fn options(arguments: &[String]) -> Option<Options> {
    let mut options = Options { package: None, is_dot: false, repository: root() };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--crate" => options.package = Some(arguments.next()?.clone()),
            "--dot" => options.is_dot = true,
            "--repo" => options.repository = PathBuf::from(arguments.next()?),
            _ => return None,
        }
    }
    Some(options)
}
