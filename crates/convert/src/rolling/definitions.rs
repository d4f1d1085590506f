//! The definitions of a recording that goes on: a trace that has no events and no end, which is opened whenever stacks are
//! to be placed, and lies in a file for another process to place what was counted by one that was killed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_formats::model::{ProcessIndex, ProcessInfo, SessionInfo};
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
