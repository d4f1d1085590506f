//! What a ring counts of events that are in none of its files of events any more, as a row of blocks of its own.
//!
//! A block of evicted sums for each process, and one for those of which nothing is left. The drainer evicts events of
//! chunks that it has not freed yet when much comes at a time; killed then, it leaves them in their session, too. So an
//! events block without events says that the chunks of its thread up to its number were evicted.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use heapscribe_formats::model::{ChunkInfo, Evicted, ProcessIndex, SessionInfo};
use heapscribe_formats::native::block::NO_PROCESS;
use heapscribe_formats::native::splice::{Piece, Pieces};
use heapscribe_formats::{ChunkSums, Writer};
use heapscribe_session::monotonic_ns;

use super::layout::{PAST, file, numbers};
use crate::file_source::source;

/// What was evicted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Past {
    /// Of processes of which nothing is left.
    pub of_none: Evicted,
    /// Of others, by their numbers in the ring.
    pub of_processes: BTreeMap<u32, Evicted>,
    /// Of threads of which sessions may have chunks that were evicted, the last of these, by process and thread.
    pub last_chunks: BTreeMap<(u32, u32), u64>,
}

impl Past {
    /// What a ring has evicted.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn read(ring: &Path) -> Result<Past> {
        let mut past = Past::default();
        if let Some(last) = numbers(ring, PAST)?.pop() {
            let mut pieces = Pieces::new(source(&file(ring, PAST, last))?, 0);
            while let Ok(Some(piece)) = pieces.next_piece() {
                past.take(&piece);
            }
        }
        Ok(past)
    }

    /// Whether it was any event.
    pub fn is_any(&self) -> bool {
        std::iter::once(&self.of_none).chain(self.of_processes.values()).any(|evicted| !evicted.is_empty())
    }

    /// Takes a block of its row, or one of a file of events that is to be removed.
    pub(super) fn take(&mut self, piece: &Piece<'_>) {
        match (&piece.evicted, &piece.chunk) {
            (Some(evicted), _) if piece.process == NO_PROCESS => self.of_none.merge(evicted),
            (Some(evicted), _) => self.of_processes.entry(piece.process).or_default().merge(evicted),
            (None, Some((info, sums))) => self.chunk(piece.process, info, sums),
            (None, None) => {}
        }
    }

    /// Notes that a chunk of a thread was evicted.
    pub fn evict(&mut self, thread: (u32, u32), sequence: u64) {
        let last = self.last_chunks.entry(thread).or_default();
        *last = sequence.max(*last);
    }

    /// Counts a chunk, of which a row of sums has but the number.
    fn chunk(&mut self, process: u32, info: &ChunkInfo, sums: &ChunkSums) {
        if sums.events > 0 {
            let ended_ns = if info.end_mono_ns == 0 { monotonic_ns() } else { info.end_mono_ns };
            self.of_processes.entry(process).or_default().chunk(sums, ended_ns);
        }
        self.evict((process, info.thread), info.sequence);
    }

    /// Writes it as that of files of events below `first`, in a new file that replaces the last one at once; its bytes.
    ///
    /// # Errors
    /// When it cannot be written; the last one is still there.
    pub fn write(&self, dir: &Path, first: u64) -> io::Result<u64> {
        let (mut writer, mut out) = (Writer::new(), Vec::new());
        writer.start(&SessionInfo::default(), &mut out);
        out.clear();
        if !self.of_none.is_empty() {
            writer.evicted(None, &self.of_none, &mut out);
        }
        for (process, evicted) in self.of_processes.iter().filter(|(_, evicted)| !evicted.is_empty()) {
            writer.evicted(Some(ProcessIndex(*process)), evicted, &mut out);
        }
        for ((process, thread), sequence) in &self.last_chunks {
            let info = ChunkInfo { thread: *thread, sequence: *sequence, ..ChunkInfo::default() };
            writer.events(ProcessIndex(*process), &info, &[], &mut out);
        }
        let (new, path) = (dir.join("past.new"), file(dir, PAST, first));
        fs::write(&new, &out)?;
        fs::rename(&new, &path)?;
        for older in numbers(dir, PAST)?.into_iter().filter(|number| *number < first) {
            let _ = fs::remove_file(file(dir, PAST, older));
        }
        Ok(out.len() as u64)
    }
}
