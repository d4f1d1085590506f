//! The trace file being written. When the disk is full the trace ends with its last whole block, that is
//! told once, and the drainer goes on emptying the sessions, so that no program waits for a disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use heapscribe_trace::Writer;
use heapscribe_trace::model::{SessionEnd, SessionInfo};

use crate::message;

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// The trace: what is to be written goes through its [`Writer`].
pub(crate) struct Sink {
    file: File,
    path: String,
    writer: Writer,
    buffer: Vec<u8>,
    /// Where blocks end in the buffer.
    ends: Vec<usize>,
    /// Bytes that are in the file.
    written: u64,
    failure: Option<String>,
}

impl Sink {
    /// A new trace. An existing file of that name is replaced.
    pub(crate) fn create(path: &Path, level: i32, info: &SessionInfo) -> anyhow::Result<Sink> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file =
            options.open(path).with_context(|| format!("the trace {} can not be written", path.display()))?;
        let mut writer = Writer::new();
        writer.set_level(level);
        let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
        writer.start(info, &mut buffer);
        let path = path.display().to_string();
        let mut sink =
            Sink { file, path, writer, ends: vec![buffer.len()], buffer, written: 0, failure: None };
        sink.flush();
        Ok(sink)
    }

    /// Compresses what follows at this level; 0 does not.
    pub(crate) fn set_level(&mut self, level: i32) {
        self.writer.set_level(level);
    }

    /// Writes blocks.
    pub(crate) fn write<T>(&mut self, blocks: impl FnOnce(&mut Writer, &mut Vec<u8>) -> T) -> T {
        let result = blocks(&mut self.writer, &mut self.buffer);
        self.ends.push(self.buffer.len());
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
        result
    }

    /// Brings what was gathered into the file.
    pub(crate) fn flush(&mut self) {
        if self.failure.is_none()
            && let Err((n, e)) = write_counted(&mut self.file, &self.buffer)
        {
            // What follows the last whole block would only be named as damage by a reader.
            let whole = self.ends.iter().rev().find(|&&end| end <= n).map_or(0, |&end| end);
            self.written += whole as u64;
            let _ = self.file.set_len(self.written);
            let what = format!("the trace {} ends at byte {}: {e}", self.path, self.written);
            message::trouble(&what);
            message::hint("the program goes on; what was written so far can be read");
            self.failure = Some(what);
        } else if self.failure.is_none() {
            self.written += self.buffer.len() as u64;
        }
        self.buffer.clear();
        self.ends.clear();
    }

    /// Ends the trace; what went wrong, if anything.
    pub(crate) fn finish(&mut self, end: &SessionEnd) -> Option<String> {
        self.writer.session_end(end, &mut self.buffer);
        self.writer.finish(&mut self.buffer);
        self.flush();
        self.failure.take()
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.written
    }
}

/// Writes all of `bytes`; when that fails, how many got there.
fn write_counted(file: &mut File, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut n = 0;
    while n < bytes.len() {
        match file.write(&bytes[n..]) {
            Ok(0) => return Err((n, io::ErrorKind::WriteZero.into())),
            Ok(k) => n += k,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err((n, e)),
        }
    }
    Ok(())
}
