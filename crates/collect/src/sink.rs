//! The trace file being written. When the disk is full that is reported once, and the collector continues emptying the
//! sessions, so that no program waits for a disk. The trace has what was written until then, and says what it lacks.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use heapscribe_formats::model::{ChunkInfo, Evicted, ProcessEnd, ProcessIndex, SessionEnd, SessionInfo};
use heapscribe_formats::native::splice::{self, Pieces};
use heapscribe_formats::{ChunkSums, EndedImages, Writer};

use crate::ring::{CrowdedRing, Ring};
use crate::unwritten::{Unwritten, UnwrittenSums};
use heapscribe_convert::file_source::source;
use heapscribe_convert::ring::{self, Cutoff, Limits};
use heapscribe_diagnostics as diagnostics;
use heapscribe_session::jit::TickLine;

/// Bytes that are given back at a time beyond those that are needed: file systems count in pages.
const PAGE_BYTES: u64 = 4096;
/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// The trace, written through its [`Writer`].
pub(crate) struct Sink {
    path: PathBuf,
    writer: Writer,
    buffer: Vec<u8>,
    /// Where blocks end in the buffer.
    ends: Vec<usize>,
    /// Bytes that may gather in the buffer.
    buffer_bytes: usize,
    target: Target,
    /// Bytes that are in the file.
    written: u64,
    failure: Option<String>,
    pub(crate) is_quiet: bool,
    /// What is not in it since then.
    unwritten: Unwritten,
    /// What was cut off of the ring when it became a trace.
    cut: Evicted,
    /// The clock of the process whose open chunks are written.
    pub(crate) clock: Option<TickLine>,
}

/// Where blocks go.
enum Target {
    File(File),
    Ring(Box<Ring>),
}

impl Sink {
    /// A new trace. An existing file of that name is replaced. With `ring`, it is made at the end only, of
    /// the newest part, which until then lies beside it.
    pub(crate) fn create(
        path: &Path,
        level: i32,
        info: &SessionInfo,
        ring: Option<Limits>,
    ) -> anyhow::Result<Sink> {
        let mut writer = Writer::new();
        writer.set_level(level);
        let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
        writer.start(info, &mut buffer);
        let target = match ring {
            None => Target::File(create_file(path)?),
            Some(limits) => {
                Target::Ring(Box::new(Ring::create_for(path, limits, &std::mem::take(&mut buffer))?))
            }
        };
        let buffer_bytes = match &target {
            Target::File(_) => BUFFER_BYTES,
            Target::Ring(ring) => ring.buffer_bytes(),
        };
        let ends = vec![buffer.len()];
        let path = path.to_owned();
        let mut sink = Sink {
            path,
            writer,
            buffer,
            ends,
            buffer_bytes,
            target,
            written: 0,
            failure: None,
            is_quiet: false,
            unwritten: Unwritten::default(),
            cut: Evicted::default(),
            clock: None,
        };
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
        self.gathered();
        result
    }

    /// Writes a chunk's events.
    pub(crate) fn events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) -> ChunkSums {
        let before = self.buffer.len();
        let sums = self.writer.events(process, info, payload, &mut self.buffer);
        if self.failure.is_some() {
            self.buffer.truncate(before);
            self.unwritten.chunk(process, &sums);
            return sums;
        }
        if let Target::Ring(ring) = &mut self.target {
            ring.chunk(process, info, &sums, self.clock);
        }
        self.gathered();
        sums
    }

    /// Writes how a process image ended; a ring counts these figures should it evict all of it.
    pub(crate) fn process_end(
        &mut self,
        process: ProcessIndex,
        end: &ProcessEnd,
        is_killed: bool,
        figures: &EndedImages,
    ) {
        if let Target::Ring(ring) = &mut self.target {
            ring.image_ended(process, end.ended_mono_ns, is_killed, figures);
        }
        self.write(|writer, out| writer.process_end(process, end, out));
    }

    fn gathered(&mut self) {
        self.ends.push(self.buffer.len());
        if self.buffer.len() >= self.buffer_bytes {
            self.flush();
        }
    }

    /// The chunks of a process that were taken so far are in its session no more.
    pub(crate) fn freed(&mut self, process: ProcessIndex) {
        if let Target::Ring(ring) = &mut self.target {
            ring.freed(process);
        }
    }

    /// A pass of the drainer is over.
    pub(crate) fn passed(&mut self) {
        if let Target::Ring(ring) = &mut self.target
            && self.failure.is_none()
            && let Err(e) = ring.forget_old()
        {
            self.failed_in_ring(&e);
        }
    }

    /// Brings what was gathered into the file.
    pub(crate) fn flush(&mut self) {
        match &mut self.target {
            _ if self.failure.is_some() => self.unwritten.take(&self.buffer),
            Target::File(_) => self.flush_to_file(),
            Target::Ring(ring) => {
                if let Err(e) = ring.take(&self.buffer) {
                    self.unwritten.take(&self.buffer);
                    self.failed_in_ring(&e);
                }
            }
        }
        self.buffer.clear();
        self.ends.clear();
    }

    fn flush_to_file(&mut self) {
        let Target::File(file) = &mut self.target else { return };
        match write_counted(file, &self.buffer) {
            Ok(()) => self.written += self.buffer.len() as u64,
            Err((n, e)) => {
                // What follows the last whole block would only be named as damage by a reader.
                let whole = self.ends.iter().rev().find(|&&end| end <= n).map_or(0, |&end| end);
                self.written += whole as u64;
                let _ = file.set_len(self.written);
                self.unwritten.take(&self.buffer[whole..]);
                self.failed(format!(
                    "cannot write {} beyond byte {}: {e}",
                    self.path.display(),
                    self.written
                ));
            }
        }
    }

    fn failed_in_ring(&mut self, e: &io::Error) {
        self.failed(format!("cannot write the ring of {} any further: {e}", self.path.display()));
    }

    fn failed(&mut self, what: String) {
        if !self.is_quiet {
            diagnostics::error(&what);
            diagnostics::hint("the program keeps running; what the trace lacks from here on is counted");
        }
        self.failure = Some(what);
    }

    /// Ends the trace; what went wrong, if anything.
    pub(crate) fn finish(&mut self, end: &SessionEnd) -> Option<String> {
        self.flush();
        if let Target::Ring(ring) = &mut self.target {
            let (dir, cutoff) = (ring.dir().to_owned(), ring.cutoff(end.ended_mono_ns));
            self.buffer.extend_from_slice(self.unwritten.blocks());
            self.unwritten.ends(&mut self.writer, end, &mut self.buffer);
            let ready = ring.take(&self.buffer).and(ring.close());
            ready.err().filter(|_| self.failure.is_none()).iter().for_each(|e| self.failed_in_ring(e));
            self.gather(&dir, cutoff);
            return self.failure.take();
        }
        if self.failure.is_none() {
            self.writer.session_end(end, &mut self.buffer);
            self.writer.finish(&mut self.buffer);
            self.flush();
        }
        // What cannot be ended is read as a trace that was not finished.
        if self.failure.is_some() && self.path.is_file() {
            let _ = self.end_with_losses(end);
        }
        self.failure.take()
    }

    /// Ends a trace that could not be written any further; where there is no room for that, in place of the last events.
    fn end_with_losses(&mut self, end: &SessionEnd) -> anyhow::Result<()> {
        let offsets = splice::offsets(&source(&self.path)?)?;
        let mut blocks = offsets.len();
        loop {
            let bytes = self.ending(end)?;
            let Target::File(file) = &mut self.target else { return Ok(()) };
            file.seek(SeekFrom::Start(self.written))?;
            match write_counted(file, &bytes) {
                Ok(()) => {
                    self.written += bytes.len() as u64;
                    return Ok(());
                }
                Err(_) => file.set_len(self.written)?,
            }
            let room = bytes.len() as u64 + PAGE_BYTES;
            blocks = blocks_to_leave(&offsets[..blocks], self.written, room);
            let Some(&at) = offsets.get(blocks).filter(|&&at| at < self.written) else { return Ok(()) };
            self.remove_from(at)?;
        }
    }

    /// The end of the trace, with what is known of processes that is not in it.
    fn ending(&self, end: &SessionEnd) -> anyhow::Result<Vec<u8>> {
        let (mut writer, mut bytes) = (Writer::resume(&source(&self.path)?)?, Vec::new());
        let mut pieces = Pieces::new(self.unwritten.blocks(), 0);
        while let Some(piece) = pieces.next_piece()? {
            writer.splice(ProcessIndex(piece.process), &piece, &mut bytes);
        }
        self.unwritten.ends(&mut writer, end, &mut bytes);
        writer.finish(&mut bytes);
        Ok(bytes)
    }

    /// Removes the blocks from this offset on.
    fn remove_from(&mut self, at: u64) -> anyhow::Result<()> {
        let mut row = vec![0; usize::try_from(self.written - at)?];
        File::open(&self.path)?.read_exact_at(&mut row, at)?;
        self.unwritten.take_back(&row);
        if let Target::File(file) = &self.target {
            file.set_len(at)?;
        }
        self.written = at;
        Ok(())
    }

    /// Makes the trace of what the ring retains.
    fn gather(&mut self, dir: &Path, cutoff: Option<Cutoff>) {
        match ring::gather_into(dir, &self.path, cutoff) {
            Ok(gathered) => {
                self.cut = gathered.cut;
                self.written = gathered.bytes;
                let problems = gathered.problems.join("; ");
                if !problems.is_empty() {
                    diagnostics::warning(&format!("the ring of {}: {problems}", self.path.display()));
                    self.failure.get_or_insert(problems);
                }
            }
            Err(e) => {
                diagnostics::failure(&e);
                let rest = dir.display();
                diagnostics::hint(&format!(
                    "recover what is in {rest}: heapscribe recover {rest} -o REST.hst"
                ));
                self.failure = Some(format!("{e:#}"));
                self.written = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
            }
        }
    }

    /// Events of a process that could not be written.
    pub(crate) fn unwritten_events(&self, process: ProcessIndex) -> u64 {
        self.unwritten.events(process)
    }

    /// All that could not be written.
    pub(crate) fn unwritten(&self) -> UnwrittenSums {
        self.unwritten.sums()
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.written
    }

    /// Whether only the newest events are retained.
    pub(crate) fn is_ring(&self) -> bool {
        self.ring().is_some()
    }

    fn ring(&self) -> Option<&Ring> {
        match &self.target {
            Target::File(_) => None,
            Target::Ring(ring) => Some(ring),
        }
    }

    /// A ring with little room for events.
    pub(crate) fn crowded_ring(&self) -> Option<CrowdedRing> {
        self.ring()?.crowded()
    }

    /// What the ring did not keep; `None` without one.
    pub(crate) fn evicted(&self) -> Option<Evicted> {
        let mut evicted = self.ring()?.evicted_of_all();
        evicted.merge(&self.cut);
        Some(evicted)
    }
}

fn create_file(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.open(path).with_context(|| format!("cannot write the trace {}", path.display()))
}

/// How many blocks of those at these offsets stay where the last ones are to make so much room: all but the fewest that
/// are as large together, and in any case the first one, which is the session's.
fn blocks_to_leave(offsets: &[u64], end: u64, room: u64) -> usize {
    offsets.partition_point(|&at| at.saturating_add(room) <= end).saturating_sub(1).max(1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(offsets: &[u64], room: u64, expected: usize) {
        assert_eq!(blocks_to_leave(offsets, 1000, room), expected);
    }

    #[test]
    fn the_last_blocks_make_room() {
        check(&[0, 100, 800, 900], 200, 2);
        check(&[0, 100, 800, 900], 201, 1);
        check(&[0, 100, 800, 900], 100, 3);
    }

    /// It alone is larger than the room: on a disk of 1 MiB, 2 of 14 traces had no end and said that nothing was missing.
    #[test]
    fn a_large_last_block_makes_room() {
        check(&[0, 100, 500], 200, 2);
    }

    #[test]
    fn the_first_block_stays() {
        check(&[0, 100], 950, 1);
        check(&[0], 10, 1);
    }
}
