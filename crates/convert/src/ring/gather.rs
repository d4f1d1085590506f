//! Makes one trace of the files of a ring: blocks are copied as they are stored, and each file of events is
//! removed when it is in the trace, so that all together never take more room than the ring may.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_formats::model::ProcessIndex;
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::splice::Pieces;
use heapscribe_formats::{Trace, Writer};

use super::{EVENTS, PAST, PROCESS, SESSION, file, numbers};
use crate::file_source::source;

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// The trace that was made.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Bytes of the trace.
    pub bytes: u64,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// Makes the trace at `path` and removes the ring.
pub fn gather_into(dir: &Path, path: &Path) -> Result<Gathered> {
    let shown = path.display();
    let out = File::create(path).with_context(|| format!("cannot write the trace {shown}"))?;
    let gathered = gather(dir, out, true).with_context(|| format!("the rest stays: it is not in {shown}"))?;
    fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    Ok(gathered)
}

/// Writes the trace to `out`; with `remove`, removes each file of events that is in it.
pub fn gather(dir: &Path, out: impl Write, remove: bool) -> Result<Gathered> {
    let session = Trace::open(source(&dir.join(SESSION))?)
        .with_context(|| format!("{} is not the ring of a recording", dir.display()))?;
    let mut gatherer = Gatherer {
        dir,
        out,
        writer: Writer::new(),
        buffer: Vec::new(),
        numbers: BTreeMap::new(),
        gathered: Gathered::default(),
    };
    gatherer.writer.start(&session.session().cloned().unwrap_or_default(), &mut gatherer.buffer);
    let processes = numbers(dir, PROCESS)?;
    for &process in &processes {
        gatherer.process(process, |kind| matches!(kind, Kind::Process | Kind::Definitions))?;
    }
    gatherer.rows(remove)?;
    for &process in &processes {
        gatherer.process(process, |kind| !matches!(kind, Kind::Process | Kind::Definitions))?;
    }
    if let Some(end) = session.session_end() {
        gatherer.writer.session_end(end, &mut gatherer.buffer);
    }
    gatherer.finish()
}

struct Gatherer<'a, W> {
    dir: &'a Path,
    out: W,
    writer: Writer,
    buffer: Vec<u8>,
    /// The numbers of processes in the trace by those in the ring.
    numbers: BTreeMap<u32, ProcessIndex>,
    gathered: Gathered,
}

impl<W: Write> Gatherer<'_, W> {
    /// Copies the blocks of some kinds of a process's file.
    fn process(&mut self, process: u64, wanted: impl Fn(Kind) -> bool) -> Result<()> {
        let path = file(self.dir, PROCESS, process);
        self.row(&path, wanted)
    }

    /// Copies what was let go, and the events that were not. A file whose events are counted already was to
    /// be removed when the one who did it was killed.
    fn rows(&mut self, remove: bool) -> Result<()> {
        let past = numbers(self.dir, PAST)?.pop();
        if let Some(past) = past {
            self.row(&file(self.dir, PAST, past), |_| true)?;
        }
        for number in numbers(self.dir, EVENTS)? {
            let path = file(self.dir, EVENTS, number);
            if past.is_none_or(|first| first <= number) {
                self.row(&path, |_| true)?;
                self.flush()?;
            }
            if remove {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    fn row(&mut self, path: &Path, wanted: impl Fn(Kind) -> bool) -> Result<()> {
        let mut pieces = Pieces::new(source(path)?, 0);
        loop {
            let piece = match pieces.next_piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(()),
                Err(e) => {
                    let problem = format!("{}: {e}; the rest of this file is lost", path.display());
                    self.gathered.problems.push(problem);
                    return Ok(());
                }
            };
            if !wanted(piece.kind) {
                continue;
            }
            let of_none = piece.kind == Kind::Evicted && piece.process == u32::MAX;
            let known = self.numbers.get(&piece.process).copied();
            match (known, piece.kind) {
                (None, Kind::Evicted) if of_none => {
                    let evicted = piece.evicted.unwrap_or_default();
                    self.writer.evicted(None, &evicted, &mut self.buffer);
                }
                (None, Kind::Process) => {
                    let process = ProcessIndex::default();
                    let number = self.writer.splice(process, &piece, &mut self.buffer);
                    self.numbers.insert(piece.process, number);
                }
                (Some(process), kind) if kind != Kind::Process => {
                    self.writer.splice(process, &piece, &mut self.buffer);
                }
                _ => self.gathered.problems.push(format!(
                    "{}: a block of process image {}, which is not in the ring",
                    path.display(),
                    piece.process
                )),
            }
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer).context("cannot write the trace")?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Gathered> {
        self.writer.finish(&mut self.buffer);
        self.flush()?;
        self.out.flush().context("cannot write the trace")?;
        self.gathered.bytes = self.writer.bytes();
        Ok(self.gathered)
    }
}
