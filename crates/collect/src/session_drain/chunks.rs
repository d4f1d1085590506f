//! The chunks of a session: which are sealed, what they hold, and freeing them.

use heapscribe_formats::model::ProcessIndex;
use heapscribe_session::{SessionKey, monotonic_ns, read_head};
use heapscribe_wire::chunk::{Header, State};

use super::SessionDrain;
use crate::log::chunk_info;
use crate::output::Output;

/// A sealed chunk of a session, to be written.
pub(crate) struct SealedChunk {
    pub(crate) session: SessionKey,
    /// CLOCK_MONOTONIC ns; of a thread's chunks none has less than one before it.
    pub(crate) sealed_mono_ns: u64,
    /// What its events are to be compressed at.
    level: i32,
    index: usize,
    header: Header,
}

impl SealedChunk {
    /// Bytes of its events, as its header has them.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.header.payload_bytes().unwrap_or(0)
    }
}

impl SessionDrain {
    /// Adds what is sealed, but for what was sealed after `until_mono_ns`, while sessions were looked at: the next pass has
    /// it. Whether anything was.
    pub(crate) fn add_sealed(
        &mut self,
        until_mono_ns: u64,
        output: &mut Output,
        to: &mut Vec<SealedChunk>,
    ) -> bool {
        if self.is_ignored {
            return self.discard();
        }
        let process = self.process(output);
        self.take_mark(process, output);
        if output.spilled(process).is_some() {
            self.take_spilled(process, output);
        }
        let sealed = self.sealed();
        if sealed.is_empty() {
            return false;
        }
        let level = output.level_for(&sealed, self.head.chunks_in_use());
        // Looked for after the chunks were seen sealed: all that their events need is committed.
        self.take_definitions(process, output);
        // A process in a time namespace of its own may count from elsewhere: what is later than now is taken.
        let now = monotonic_ns();
        let (mut thread, mut sealed_mono_ns) = (None, 0);
        for (index, header) in sealed {
            if thread.replace(header.thread) != Some(header.thread) {
                sealed_mono_ns = 0;
            }
            sealed_mono_ns = header.end_mono_ns.max(sealed_mono_ns);
            if sealed_mono_ns <= until_mono_ns || sealed_mono_ns > now {
                to.push(SealedChunk { session: self.key, sealed_mono_ns, level, index, header });
            }
        }
        true
    }

    /// Frees what is sealed. Whether anything was.
    fn discard(&self) -> bool {
        let sealed = self.sealed();
        for (index, header) in &sealed {
            self.log.free(*index, header);
        }
        !sealed.is_empty()
    }

    fn sealed(&self) -> Vec<(usize, Header)> {
        self.log.chunks(self.head.chunks_in_use(), |header| header.state == State::Sealed as u32)
    }

    /// Writes a sealed chunk.
    pub(crate) fn take_sealed(&mut self, chunk: &SealedChunk, output: &mut Output) {
        let process = self.process(output);
        output.set_level(chunk.level);
        self.take_chunk(process, chunk.index, &chunk.header, output);
    }

    /// Frees chunks that were written.
    pub(crate) fn free<'a>(&mut self, chunks: impl Iterator<Item = &'a SealedChunk>, output: &mut Output) {
        let process = self.process(output);
        let freed = chunks.filter(|chunk| self.log.free(chunk.index, &chunk.header));
        let freed: Vec<_> = freed.map(|chunk| (chunk.header.thread, chunk.header.sequence)).collect();
        output.freed(process, &freed);
    }

    pub(super) fn take_chunk(
        &mut self,
        process: ProcessIndex,
        index: usize,
        header: &Header,
        output: &mut Output,
    ) {
        let Some(len) = header.payload_bytes() else {
            return self.note(format!("chunk {index} claims {} bytes", header.committed));
        };
        let mut payload = std::mem::take(&mut output.chunk);
        let n = self.log.payload(index, &mut payload[..len]);
        self.write_chunk(process, header, &payload[..n], output);
        output.chunk = payload;
        output.heartbeats.progress();
    }

    /// Writes what open chunks hold so far, and leaves them open.
    pub(crate) fn look_into_open(&mut self, output: &mut Output) {
        if self.is_ignored {
            return;
        }
        let process = self.process(output);
        let open = self.open_chunks();
        self.take_definitions(process, output);
        let mut payload = std::mem::take(&mut output.chunk);
        for (index, header) in &open {
            let Some(len) = header.payload_bytes() else { continue };
            let n = self.log.payload(*index, &mut payload[..len]);
            if self.log.is_still(*index, header) {
                output.open_events(process, &chunk_info(header), &payload[..n]);
            }
        }
        output.chunk = payload;
    }

    /// Open chunks with events, but for those of threads with a sealed one that waits to be written: it is older.
    fn open_chunks(&self) -> Vec<(usize, Header)> {
        let is_wanted = |header: &Header| match header.state {
            state if state == State::Sealed as u32 => true,
            state => state == State::Open as u32 && header.committed > 0,
        };
        let chunks = self.log.chunks(self.head.chunks_in_use(), is_wanted);
        let first_of_threads = chunks.chunk_by(|a, b| a.1.thread == b.1.thread).map(|of_thread| of_thread[0]);
        first_of_threads.filter(|(_, header)| header.state == State::Open as u32).collect()
    }

    fn write_chunk(&mut self, process: ProcessIndex, header: &Header, payload: &[u8], output: &mut Output) {
        let info = chunk_info(header);
        if self.rest.as_mut().is_some_and(|rest| !rest.takes(self.key, &info, payload)) {
            return;
        }
        self.jit.chunk(&info, payload);
        let sums = output.events(process, &info, payload);
        self.has_calls |= sums.calls.iter().any(|&n| n > 0);
        self.newest_mono_ns = self.newest_mono_ns.max(info.begin_mono_ns).max(info.end_mono_ns);
        output.summary.add(process, &info, &sums);
        if sums.cut_bytes > 0 {
            output.summary.damaged_bytes += u64::from(sums.cut_bytes);
            self.note(format!("{} bytes of a chunk of thread {} are damaged", sums.cut_bytes, info.thread));
        }
    }

    /// Takes chunks that threads spilled themselves while no collector drained them, and that were not taken before.
    pub(super) fn take_spilled(&mut self, process: ProcessIndex, output: &mut Output) {
        let whole_bytes = read_head(self.head.file(), |head| head.spilled_bytes).unwrap_or_default();
        if whole_bytes <= self.spill.bytes {
            return;
        }
        self.take_definitions(process, output);
        let (mut spill, directory) = (std::mem::take(&mut self.spill), self.directory.clone());
        let before = spill.take(&directory, whole_bytes, |chunk| match chunk {
            Ok((header, payload)) => self.write_chunk(process, header, payload, output),
            Err(problem) => self.note(problem.to_owned()),
        });
        self.spill = spill;
        output.has_spilled(process, self.spill.bytes, &before);
    }
}
