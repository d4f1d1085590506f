//! A trace of ours with one process, on its way out of a conversion: what every foreign format ends in.

use std::io::{self, Write};

use heapscribe_formats::{ProcessEnd, ProcessIndex, ProcessInfo, SessionEnd, SessionInfo};
use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Position};

use super::thread_chunk::ThreadChunk;
use super::trace_output::TraceOutput;

/// The trace, as far as it is made.
pub struct NativeWriter<W> {
    to: TraceOutput<W>,
    process: ProcessIndex,
}

impl<W: Write> NativeWriter<W> {
    /// Begins one.
    pub fn begin(session: &SessionInfo, process: &ProcessInfo, out: W) -> io::Result<NativeWriter<W>> {
        let mut to = TraceOutput::new(out);
        to.writer.start(session, &mut to.bytes);
        let process = to.writer.process(process, &mut to.bytes);
        to.flush()?;
        Ok(NativeWriter { to, process })
    }

    /// Ends the chunk of a thread, and writes it behind the definitions that it needs.
    pub fn seal(&mut self, thread: &mut ThreadChunk, definitions: &mut Definitions) -> io::Result<()> {
        let (info, payload) = thread.seal();
        let (position, definitions) = definitions.take();
        self.to.writer.definitions(self.process, position, &definitions, &mut self.to.bytes);
        self.to.writer.events(self.process, &info, &payload, &mut self.to.bytes);
        self.to.flush()
    }

    /// Ends process and session at the same moment.
    pub fn finish(mut self, end: &ProcessEnd) -> io::Result<()> {
        self.to.writer.process_end(self.process, end, &mut self.to.bytes);
        self.finish_open(end.ended_mono_ns)
    }

    /// Ends the session, but not the process: nobody knows what else it did.
    pub fn finish_open(mut self, ended_mono_ns: u64) -> io::Result<()> {
        let end = SessionEnd { ended_mono_ns, ..SessionEnd::default() };
        self.to.writer.session_end(&end, &mut self.to.bytes);
        self.to.finish().map(drop)
    }
}

/// Definitions that are still to be written.
#[derive(Default)]
pub struct Definitions {
    position: Position,
    written: Position,
    bytes: Vec<u8>,
}

impl Definitions {
    /// Adds one.
    pub fn define(&mut self, definition: &Definition<'_>) {
        let mut at = [0; DEFINITION_BYTES_MAX];
        let n = definition.encode(&mut self.position, &mut at).unwrap_or(0);
        self.bytes.extend_from_slice(&at[..n]);
    }

    /// The number of the node that is defined next.
    pub fn next_node(&self) -> u32 {
        self.position.next_node
    }

    /// Those since the last call, and where their numbering begins.
    fn take(&mut self) -> (Position, Vec<u8>) {
        let begin = std::mem::replace(&mut self.written, self.position);
        (begin, std::mem::take(&mut self.bytes))
    }
}
