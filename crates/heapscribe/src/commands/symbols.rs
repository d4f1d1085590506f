//! `heapscribe symbols`: the names of a trace's code addresses, to be read where the program's files are not.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_convert::symbols::{self, Collected};
use heapscribe_convert::{Input, Kind, Opened, Salvage};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_formats::{ModuleSymbols, SymbolSource};
use heapscribe_symbols::Resolver;
use heapscribe_units::{bytes, counted};

use super::resolver::resolver;
use super::{output, partial, symbols_store};
use crate::cli::SymbolsArgs;
use crate::message;

/// Modules without names that are listed.
const LISTED: usize = 5;

/// Runs the command.
pub(crate) fn run(args: &SymbolsArgs) -> Result<ExitCode> {
    match (&args.trace, &args.output, &args.store) {
        (Some(trace), Some(output), _) => bundle(args, trace, output),
        (_, _, Some(directory)) => symbols_store::run(args, directory),
        _ => Err(Problem::new("no trace is given", "heapscribe symbols TRACE -o BUNDLE").into()),
    }
}

/// Writes the names of a trace.
fn bundle(args: &SymbolsArgs, trace: &Path, to: &Path) -> Result<ExitCode> {
    if output::is_same(trace, to) {
        let what = format!("{} is both input and output", to.display());
        return Err(Problem::new(what, "choose another name with -o").into());
    }
    output::reject_existing(to, args.force)?;
    let path = trace;
    let trace = open(path)?;
    let resolver = resolver(&args.symbols, &[&trace])?;
    let Collected { modules, problems } = symbols::collect(&trace, &resolver)?;
    let length = symbols::write_bundle(trace.session(), &modules, output::create(to)?)?;
    print_summary(to, &modules, length);
    Ok(partial::exit_code(path, &problems, trace.is_complete()))
}

/// A trace whose addresses are to be named.
fn open(path: &Path) -> Result<Opened> {
    let input = Input::open(path)?;
    if !matches!(input.kind(), Kind::File(Format::Native | Format::Unknown) | Kind::Ring | Kind::Session) {
        let what = format!("{} has its names itself", path.display());
        return Err(Problem::new(what, "read it as it is, on any machine").into());
    }
    input.into_trace(Salvage::default())
}

fn print_summary(output: &Path, modules: &[ModuleSymbols], length: u64) {
    let addresses = modules.iter().map(|module| module.addresses.len() as u64).sum();
    message::note(&format!(
        "{}: names of {} in {}, {}",
        output.display(),
        counted(addresses, "address"),
        counted(modules.len() as u64, "file"),
        bytes(length)
    ));
    let is_nameless =
        |module: &&ModuleSymbols| !matches!(module.source, SymbolSource::DebugInfo | SymbolSource::NoFile);
    let nameless: Vec<_> = modules.iter().filter(is_nameless).collect();
    for module in nameless.iter().take(LISTED) {
        message::warning(&format!("{} {}", String::from_utf8_lossy(&module.path), lack(&module.source)));
    }
    if let Some(more) = nameless.len().checked_sub(LISTED).filter(|more| *more > 0) {
        message::warning(&format!("{} more like these", counted(more as u64, "file")));
    }
}

/// What a file lacks, and so the bundle.
fn lack(source: &SymbolSource) -> String {
    match source {
        SymbolSource::DebugInfo | SymbolSource::NoFile => "lacks nothing".to_owned(),
        SymbolSource::SymbolTable => {
            "has no debug information: functions have names, but no lines".to_owned()
        }
        SymbolSource::Missing => "no longer exists: it has no names".to_owned(),
        SymbolSource::Changed => "has changed since the recording: it has no names".to_owned(),
        SymbolSource::Unreadable(why) => format!("cannot be read: {why}"),
    }
}

/// Writes names into a trace that was just recorded; its length then.
///
/// # Errors
/// When the trace is not whole, or cannot be written.
pub(super) fn embed(path: &Path, resolver: &Resolver) -> Result<u64> {
    let trace = Input::open(path)?.into_trace(Salvage::default())?;
    if !trace.is_complete() {
        let what = format!("no names are in {}, which is not whole", path.display());
        return Err(Problem::new(what, "collect them beside it: heapscribe symbols TRACE -o BUNDLE").into());
    }
    let Collected { modules, .. } = symbols::collect(&trace, resolver)?;
    drop(trace);
    symbols::embed(path, &modules)
}
