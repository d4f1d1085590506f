//! A native trace on its way to a file: encoded into memory first, so that many small blocks are few writes.

use std::io::{self, Write};

use heapscribe_formats::Writer;

/// What an error of the output says.
pub(crate) const CANNOT_WRITE: &str = "cannot write the trace";
/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// The trace, as far as it is made.
pub(crate) struct TraceOutput<W> {
    /// Encodes blocks into `bytes`.
    pub(crate) writer: Writer,
    /// What was encoded and not written yet.
    pub(crate) bytes: Vec<u8>,
    out: W,
}

impl<W: Write> TraceOutput<W> {
    pub(crate) fn new(out: W) -> TraceOutput<W> {
        TraceOutput { writer: Writer::new(), bytes: Vec::new(), out }
    }

    /// Writes what was encoded.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Writes what was encoded if it is much.
    pub(crate) fn flush_when_full(&mut self) -> io::Result<()> {
        if self.bytes.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends the trace; its length in bytes.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.writer.finish(&mut self.bytes);
        self.flush()?;
        self.out.flush()?;
        Ok(self.writer.bytes())
    }
}
