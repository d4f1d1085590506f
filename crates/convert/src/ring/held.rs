//! Which chunks a trace or a ring has, or has counted: the rest of a recording leaves them out. A killed drainer leaves in
//! sessions what it had written and not freed yet.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use heapscribe_formats::native::splice::Pieces;
use heapscribe_formats::{ChunkInfo, Source, Trace};

use super::layout::{EVENTS, PROCESS, file, numbers};
use super::past::Past;
use crate::file_source::source;

/// Bytes of a row, see [`Held::to_bytes`].
const ROW_BYTES: usize = 28;
/// Stands for the events of a chunk in a row that is of all chunks up to its own.
const UP_TO: u32 = u32::MAX;

/// A thread of a process: its pid, when that began, and the number of the thread.
type Thread = (u32, u64, u32);

/// Chunks that are in a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// How many events each has there.
    chunks: BTreeMap<(Thread, u64), u32>,
    /// Threads of which all chunks are, up to this one.
    up_to: BTreeMap<Thread, u64>,
}

impl Held {
    /// Those of a trace.
    pub fn of_trace<S: Source>(trace: &Trace<S>) -> Held {
        let mut held = Held::default();
        for chunk in trace.chunks() {
            let info = trace.process(chunk.process).and_then(|process| process.info.as_ref());
            if let Some(process) = info {
                held.add((process.pid, process.created_mono_ns), &chunk.info, chunk.sums.events);
            }
        }
        held
    }

    /// Those of a ring, and what it has evicted.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn of_ring(dir: &Path) -> Result<Held> {
        let (mut held, mut processes) = (Held::default(), BTreeMap::new());
        for number in numbers(dir, PROCESS)? {
            let mut pieces = Pieces::new(source(&file(dir, PROCESS, number))?, 0);
            while let Ok(Some(piece)) = pieces.next_piece() {
                let of = piece.info.as_ref().map(|info| (info.pid, info.created_mono_ns));
                processes.extend(of.map(|of| (piece.process, of)));
            }
        }
        for number in numbers(dir, EVENTS)? {
            let mut pieces = Pieces::new(source(&file(dir, EVENTS, number))?, 0);
            while let Ok(Some(piece)) = pieces.next_piece() {
                if let (Some((info, sums)), Some(of)) = (&piece.chunk, processes.get(&piece.process)) {
                    held.add(*of, info, sums.events);
                }
            }
        }
        for ((process, thread), sequence) in Past::read(dir)?.last_chunks {
            if let Some((pid, created_ns)) = processes.get(&process) {
                held.up_to.insert((*pid, *created_ns, thread), sequence);
            }
        }
        Ok(held)
    }

    fn add(&mut self, (pid, created_ns): (u32, u64), info: &ChunkInfo, events: u32) {
        let most = self.chunks.entry(((pid, created_ns, info.thread), info.sequence)).or_default();
        *most = events.max(*most);
    }

    /// Adds others.
    pub fn merge(&mut self, other: Held) {
        for (chunk, events) in other.chunks {
            let most = self.chunks.entry(chunk).or_default();
            *most = events.max(*most);
        }
        for (thread, sequence) in other.up_to {
            let last = self.up_to.entry(thread).or_default();
            *last = sequence.max(*last);
        }
    }

    /// Whether a chunk is there, with all of its events, of which there are so many.
    pub fn has(&self, (pid, created_ns): (u32, u64), info: &ChunkInfo, events: impl FnOnce() -> u32) -> bool {
        let thread = (pid, created_ns, info.thread);
        let is_before = self.up_to.get(&thread).is_some_and(|last| info.sequence <= *last);
        is_before || self.chunks.get(&(thread, info.sequence)).is_some_and(|of| *of >= events())
    }

    /// As rows of pid, begin of the process, thread, number of the chunk, and how many events it has.
    pub fn to_bytes(&self) -> Vec<u8> {
        let chunks = self.chunks.iter().map(|((thread, sequence), events)| (thread, sequence, *events));
        let up_to = self.up_to.iter().map(|(thread, sequence)| (thread, sequence, UP_TO));
        let row = |((pid, created_ns, thread), sequence, events): (&Thread, &u64, u32)| {
            let mut row = [0; ROW_BYTES];
            row[..4].copy_from_slice(&pid.to_le_bytes());
            row[4..12].copy_from_slice(&created_ns.to_le_bytes());
            row[12..16].copy_from_slice(&thread.to_le_bytes());
            row[16..24].copy_from_slice(&sequence.to_le_bytes());
            row[24..].copy_from_slice(&events.to_le_bytes());
            row
        };
        chunks.chain(up_to).flat_map(row).collect()
    }

    /// The rows that are whole.
    pub fn from_bytes(bytes: &[u8]) -> Held {
        let mut held = Held::default();
        for row in bytes.chunks_exact(ROW_BYTES) {
            let number = |from: usize, len: usize| {
                row[from..from + len].iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte))
            };
            let thread = (number(0, 4) as u32, number(4, 8), number(12, 4) as u32);
            match (number(16, 8), number(24, 4) as u32) {
                (sequence, UP_TO) => drop(held.up_to.insert(thread, sequence)),
                (sequence, events) => drop(held.chunks.insert((thread, sequence), events)),
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut held = Held::default();
        let info = |thread, sequence| ChunkInfo { thread, sequence, ..ChunkInfo::default() };
        held.add((7, 8), &info(1, 3), 100);
        held.up_to.insert((7, 8, 2), 5);
        let mut bytes = held.to_bytes();
        assert_eq!(Held::from_bytes(&bytes), held);
        bytes.pop();
        assert_ne!(Held::from_bytes(&bytes), held);
        let has = |process, thread, sequence, events| held.has(process, &info(thread, sequence), || events);
        assert!(has((7, 8), 1, 3, 100) && !has((7, 8), 1, 3, 101) && !has((7, 9), 1, 3, 100));
        assert!(has((7, 8), 2, 0, 9) && has((7, 8), 2, 5, 9) && !has((7, 8), 2, 6, 9));
    }
}
