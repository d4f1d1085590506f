//! The definitions of a recording that goes on: a trace that has no events and no end, which is opened whenever stacks are
//! to be placed, and lies in a file for another process to place what was counted by one that was killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_formats::model::{ProcessIndex, ProcessInfo, SessionInfo};
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::header::HEADER_BYTES;
use heapscribe_formats::native::splice::Pieces;
use heapscribe_formats::{Trace, Writer};
use heapscribe_wire::definitions::Position;

use crate::file_source::{FileSource, source};
use crate::opened_trace::Opened;

/// The trace, as far as it goes.
pub struct DefinitionsTrace {
    writer: Writer,
    file: File,
    blocks: Vec<u8>,
}

impl DefinitionsTrace {
    /// Of a recording that begins.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path, info: &SessionInfo) -> Result<DefinitionsTrace> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        let mut trace = DefinitionsTrace { writer: Writer::new(), file, blocks: Vec::new() };
        trace.writer.set_level(1);
        trace.writer.start(info, &mut trace.blocks);
        Ok(trace)
    }

    /// A process image; its number.
    pub fn process(&mut self, info: &ProcessInfo) -> ProcessIndex {
        self.writer.process(info, &mut self.blocks)
    }

    /// Definitions of it, which begin at this position.
    pub fn definitions(&mut self, process: ProcessIndex, position: Position, bytes: &[u8]) {
        self.writer.definitions(process, position, bytes, &mut self.blocks);
    }

    /// The trace as it is now.
    ///
    /// # Errors
    /// When it cannot be written or read.
    pub fn open(&mut self) -> Result<Opened> {
        self.flush().context("cannot write the definitions")?;
        let file = self.file.try_clone().and_then(FileSource::of).context("cannot read the definitions")?;
        Ok(Opened::new(Trace::open(file)?, Vec::new()))
    }

    /// The same of some of its processes alone, in another file, in the order that they have here. Without this, each
    /// process that was ever recorded would be read again for every window.
    ///
    /// # Errors
    /// When one of the files cannot be read or written.
    pub fn with_only(
        &mut self,
        processes: &[ProcessIndex],
        path: &Path,
        info: &SessionInfo,
    ) -> Result<DefinitionsTrace> {
        self.flush().context("cannot write the definitions")?;
        let mut to = DefinitionsTrace::create(path, info)?;
        let numbers: BTreeMap<u32, ProcessIndex> =
            processes.iter().enumerate().map(|(new, old)| (old.0, ProcessIndex(new as u32))).collect();
        let file = self.file.try_clone().and_then(FileSource::of).context("cannot read the definitions")?;
        let mut pieces = Pieces::new(file, HEADER_BYTES as u64);
        while let Some(piece) = pieces.next_piece()? {
            let is_copied = matches!(piece.kind, Kind::Process | Kind::Definitions);
            if let Some(process) = numbers.get(&piece.process).filter(|_| is_copied) {
                to.writer.splice(*process, &piece, &mut to.blocks);
            }
        }
        to.flush().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(to)
    }

    /// The trace that another process left in this file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn left(path: &Path) -> Result<Opened> {
        Ok(Opened::new(Trace::open(source(path)?)?, Vec::new()))
    }

    /// Brings what there is into the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        let at = self.file.metadata()?.len();
        if let Err(e) = self.file.write_all_at(&self.blocks, at) {
            let _ = self.file.set_len(at); // nothing was taken, so that the next try writes all of it
            return Err(e);
        }
        self.blocks.clear();
        Ok(())
    }
}
