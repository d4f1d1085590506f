//! Named snapshots in a trace: tables of live blocks that the program took of itself, each of which can be written as a
//! snapshot of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_formats::model::{LiveRole, LiveTable, Process, ProcessEnd, ProcessIndex, SessionEnd};
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::header::{HEADER_BYTES, is_begin};
use heapscribe_formats::native::splice::Pieces;
use heapscribe_formats::{HowEnded, Scratch, SessionInfo, Source, Trace, Writer};
use heapscribe_session::inspect::Saved;

/// Whether a name is that of a trace, and not of a process whose program lies in this directory.
pub fn is_trace(name: &str) -> bool {
    let path = Path::new(name);
    let mut first = Vec::new();
    let read = |file: File| file.take(HEADER_BYTES as u64).read_to_end(&mut first);
    path.is_file() && File::open(path).and_then(read).is_ok() && is_begin(&first)
}

/// All that a trace has, with their processes.
pub fn named<S: Source>(trace: &Trace<S>) -> impl Iterator<Item = (&Process, &LiveTable)> {
    let tables = trace.processes().iter().flat_map(|of| of.live.iter().map(move |table| (of, table)));
    tables.filter(|(_, table)| table.role == LiveRole::Snapshot && !table.name.is_empty())
}

/// Writes one as a snapshot, as `snapshot` writes one of a running process; what could not be read.
///
/// # Errors
/// When it cannot be written.
pub fn write<S: Source + Copy>(
    source: S,
    trace: &Trace<S>,
    (process, table): (&Process, &LiveTable),
    mut out: impl Write,
) -> Result<Saved> {
    let (mut writer, mut bytes) = (Writer::new(), Vec::new());
    let info = process.info.clone().unwrap_or_default();
    let session = SessionInfo {
        command: info.command.clone(),
        started_real_ns: table.real_ns,
        started_mono_ns: table.mono_ns,
        ..trace.session().cloned().unwrap_or_default()
    };
    writer.start(&session, &mut bytes);
    let number = writer.process(&info, &mut bytes);
    definitions(source, process.index, number, &mut writer, &mut bytes);
    writer.live(number, &LiveTable { number: 0, ..table.clone() }, &mut bytes);
    let mut blocks = Vec::new();
    let skipped = trace.blocks(process.index, table, &mut Scratch::default(), |block| blocks.push(*block))?;
    writer.blocks(number, 0, &blocks, &mut bytes);
    let ended_mono_ns = table.mono_ns;
    let of_process = process.end.clone().unwrap_or_default();
    let end = ProcessEnd { how: HowEnded::Abandoned, ended_mono_ns, peak: None, ..of_process };
    writer.process_end(number, &end, &mut bytes);
    writer.session_end(&SessionEnd { ended_mono_ns, ..SessionEnd::default() }, &mut bytes);
    writer.finish(&mut bytes);
    out.write_all(&bytes).and_then(|()| out.flush()).context("cannot write the snapshot")?;
    let mut saved = Saved { problems: skipped.iter().map(ToString::to_string).collect(), ..Saved::default() };
    saved.count(&blocks);
    Ok(saved)
}

/// Copies what the numbers of a process mean.
fn definitions<S: Source>(
    source: S,
    process: ProcessIndex,
    number: ProcessIndex,
    writer: &mut Writer,
    bytes: &mut Vec<u8>,
) {
    let mut pieces = Pieces::new(source, HEADER_BYTES as u64);
    while let Ok(Some(piece)) = pieces.next_piece() {
        if piece.kind == Kind::Definitions && piece.process == process.0 {
            writer.splice(number, &piece, bytes);
        }
    }
}
