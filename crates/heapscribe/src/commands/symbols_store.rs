//! `heapscribe symbols --store`: names for the stacks of many hosts, which send build ids and offsets, looked up once where
//! the files of all builds are.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_convert::tables::store::{Added, Store, Unnamed};
use heapscribe_symbols::{Folders, Module, Names, Resolver};
use heapscribe_units::counted;

use super::partial;
use super::resolver::resolver;
use crate::cli::SymbolsArgs;
use crate::message;

/// Files without names that are listed.
const LISTED: usize = 5;

/// Runs the command.
pub(super) fn run(args: &SymbolsArgs, directory: &Path) -> Result<ExitCode> {
    let folders = Folders::read(&args.files).context("cannot read a directory of --files")?;
    let resolver = resolver(&args.symbols, &[])?;
    let mut store = Store::open(directory)?;
    let added = store.read_tables();
    // First the files that the user gives; then those that are where the hosts had them.
    let given = |id: &[u8], _: &Unnamed| folders.file(id).map(|path| path.to_string_lossy().into_owned());
    let mut named = look_up(&mut store, &resolver, given);
    let most = store.unnamed().values().map(|unnamed| unnamed.paths.len()).max().unwrap_or(0);
    for n in 0..most {
        named += look_up(&mut store, &resolver, |_, unnamed| unnamed.paths.iter().nth(n).cloned());
    }
    store.write()?;
    print_summary(&store, &added, named);
    let problems: Vec<_> =
        added.problems.iter().map(|(path, problem)| (path.as_path(), vec![problem.clone()])).collect();
    Ok(partial::exit_code_of_files(&problems))
}

/// Looks up what has no names, each build id in the file that is chosen for it; of how many frames more is known now.
fn look_up(
    store: &mut Store,
    resolver: &Resolver,
    choose: impl Fn(&[u8], &Unnamed) -> Option<String>,
) -> usize {
    let chosen: Vec<(Module, Vec<u64>)> = store
        .unnamed()
        .into_iter()
        .filter_map(|(build_id, unnamed)| {
            let path = choose(&build_id, &unnamed)?;
            Some((Module { path, build_id }, unnamed.addresses.into_iter().collect()))
        })
        .collect();
    let names = resolver.resolve(&chosen);
    let found: BTreeMap<Vec<u8>, Names> =
        chosen.into_iter().map(|(module, _)| module.build_id).zip(names).collect();
    store.name(&found)
}

fn print_summary(store: &Store, added: &Added, named: usize) {
    let (stacks, frames) = store.counts();
    let counted = |n: usize, what: &str| counted(n as u64, what);
    message::note(&format!(
        "{}: {} of {}; read {} with {}, named {}",
        store.own().display(),
        counted(stacks, "stack"),
        counted(frames, "frame"),
        counted(added.tables, "table"),
        counted(added.stacks, "new stack"),
        counted(named, "frame"),
    ));
    let unnamed = store.unnamed();
    let mut nameless: Vec<_> = unnamed.iter().filter(|(_, unnamed)| !unnamed.nameless.is_empty()).collect();
    nameless.sort_by_key(|(_, unnamed)| std::cmp::Reverse(unnamed.nameless.len()));
    for (build_id, unnamed) in nameless.iter().take(LISTED) {
        let id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = unnamed.paths.first().map_or("a file without a path", String::as_str);
        let frames = counted(unnamed.nameless.len(), "frame");
        message::warning(&format!("{frames} of {path} (build id {id}) have no names"));
    }
    if let Some(more) = nameless.len().checked_sub(LISTED).filter(|more| *more > 0) {
        message::warning(&format!("{} more like these", counted(more, "file")));
    }
    if !nameless.is_empty() {
        message::hint("give a directory with these files, or their debug files: --files DIR");
    }
}
