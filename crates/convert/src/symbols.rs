//! Names of a trace's addresses, looked up where its files are, to be read where they are not: in the trace itself, or
//! in a bundle beside it, which is a trace of ours that has nothing but them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_analyze::Recording;
use heapscribe_analyze::placed::place;
use heapscribe_diagnostics::Problem;
use heapscribe_formats::native::header::FOOTER_BYTES;
use heapscribe_formats::{ModuleSymbols, Scratch, SessionInfo, Source, Trace, Writer};
use heapscribe_symbols::{Resolver, SymbolTables, symbols_of};
use heapscribe_wire::definitions::Definition;

use crate::file_source::{FileSource, source};
use crate::native::trace_output::TraceOutput;

/// What was looked up.
#[derive(Debug, Default)]
pub struct Collected {
    /// The names, by module.
    pub modules: Vec<ModuleSymbols>,
    /// What of the trace could not be read, in words.
    pub problems: Vec<String>,
}

/// Looks up all code addresses of a trace.
///
/// # Errors
/// When it cannot be read.
pub fn collect<S: Source + Sync>(trace: &Trace<S>, resolver: &Resolver) -> Result<Collected> {
    let (mut ids, mut scratch) = (Vec::new(), Scratch::default());
    for (number, process) in trace.processes().iter().enumerate() {
        // What is skipped is told by the pass that places the stacks.
        trace.definitions(process.index, &mut scratch, |id, definition| {
            if matches!(definition, Definition::Node(_)) {
                ids.push((number, id));
            }
        })?;
    }
    let placed = place(&Recording::new(trace), &ids, false);
    Ok(Collected { modules: symbols_of(&placed.tree, resolver), problems: placed.problems })
}

/// Writes a bundle for the trace of this session.
///
/// # Errors
/// When it cannot be written.
pub fn write_bundle(
    session: Option<&SessionInfo>,
    modules: &[ModuleSymbols],
    out: impl Write,
) -> Result<u64> {
    let mut to = TraceOutput::new(out);
    let session = session.cloned().unwrap_or_default();
    to.writer.start(&SessionInfo { command: Vec::new(), ..session }, &mut to.bytes);
    to.writer.symbols(modules, &mut to.bytes);
    Ok(to.finish()?)
}

/// Writes names into a trace that is whole, in place of its footer; its length then. On any failure it is as it was.
///
/// # Errors
/// When the trace is not whole, or cannot be written.
pub fn embed(path: &Path, modules: &[ModuleSymbols]) -> Result<u64> {
    let shown = path.display();
    let trace = source(path)?;
    let end = trace.len().checked_sub(FOOTER_BYTES as u64).context("the trace has no end")?;
    let mut footer = [0; FOOTER_BYTES];
    trace.file.read_exact_at(&mut footer, end).with_context(|| format!("cannot read {shown}"))?;
    let (mut writer, mut bytes) = (Writer::resume(&Begin { of: trace, len: end })?, Vec::new());
    writer.symbols(modules, &mut bytes);
    writer.finish(&mut bytes);
    let file = OpenOptions::new().write(true).open(path).with_context(|| format!("cannot write {shown}"))?;
    if let Err(e) = file.write_all_at(&bytes, end) {
        restore(&file, end, &footer);
        return Err(e).with_context(|| format!("cannot write the names into {shown}"));
    }
    Ok(end + bytes.len() as u64)
}

/// Puts the footer back.
fn restore(file: &File, end: u64, footer: &[u8]) {
    let _ = file.set_len(end + footer.len() as u64).and_then(|()| file.write_all_at(footer, end));
}

/// The beginning of a file.
struct Begin {
    of: FileSource,
    len: u64,
}

impl Source for Begin {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> std::io::Result<usize> {
        let room = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(at.len());
        self.of.read_at(offset, &mut at[..room])
    }
}

/// Adds the names that a trace has itself. What could not be read, in words.
///
/// # Errors
/// When it cannot be read.
pub fn embedded<S: Source>(trace: &Trace<S>, tables: &mut SymbolTables) -> Result<Vec<String>> {
    let problems = trace.symbols(&mut Scratch::default(), |module| tables.add(module))?;
    Ok(problems.iter().map(ToString::to_string).collect())
}

/// Adds the names of a bundle. Modules without a build id are taken only from the bundle of one of these traces: their
/// paths alone do not say which file it was. What could not be read, in words.
///
/// # Errors
/// When it is no bundle.
pub fn from_bundle(
    path: &Path,
    sessions: &[Option<&SessionInfo>],
    tables: &mut SymbolTables,
) -> Result<Vec<String>> {
    let what = || format!("{} is no symbol bundle", path.display());
    let hint = "make one where the program's files are: heapscribe symbols TRACE -o BUNDLE";
    let bundle = Trace::open(source(path)?).map_err(|e| Problem::new(format!("{}: {e}", what()), hint))?;
    if !bundle.has_symbols() && bundle.problems().is_empty() {
        return Err(Problem::new(what(), hint).into());
    }
    let identity = |session: &SessionInfo| (session.started_real_ns, session.started_mono_ns);
    let own = bundle.session().map(identity).filter(|identity| *identity != (0, 0));
    let is_own = own.is_some() && sessions.iter().flatten().any(|session| Some(identity(session)) == own);
    let skipped = bundle.symbols(&mut Scratch::default(), |module| {
        if is_own || !module.build_id.is_empty() {
            tables.add(module);
        }
    })?;
    let problems = bundle.problems().iter().chain(&skipped);
    Ok(problems.map(|problem| format!("{}: {problem}", path.display())).collect())
}
