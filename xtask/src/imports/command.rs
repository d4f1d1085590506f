//! `cargo run -p xtask -- imports [--crate NAME] [--dot] [--repo DIR]`.

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
    match (graphs.as_slice(), options.is_dot, options.package) {
        ([], ..) => {
            eprintln!("no such crate");
            return ExitCode::from(2);
        }
        (graphs, true, Some(_)) => graphs.iter().for_each(|(_, graph)| print!("{}", dot::files(graph))),
        (_, true, None) => print!("{}", dot::packages(&options.repository)),
        (graphs, false, package) => {
            print!("{}", show::table(&tree, graphs));
            if package.is_none() {
                print!("{}", show::packages(&options.repository));
            }
            graphs.iter().for_each(|(_, graph)| print!("{}", show::details(graph, package.is_some())));
        }
    }
    ExitCode::SUCCESS
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
