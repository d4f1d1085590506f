//! The messages from the drainer to the worker.

use heapscribe_formats::model::{ChunkInfo, ProcessIndex, ProcessInfo};
use heapscribe_wire::definitions::Position;

/// A message to the worker.
pub(super) enum Message {
    Watch(u32),
    Process(ProcessIndex, ProcessInfo),
    Definitions(ProcessIndex, Position, Vec<u8>),
    Events(ProcessIndex, Piece),
    Ended(ProcessIndex),
}

/// Events of a chunk: all of it, or those after the last look into it.
pub(super) struct Piece {
    pub(super) info: ChunkInfo,
    /// Bytes of the chunk that were sent before.
    pub(super) from: usize,
    pub(super) payload: Vec<u8>,
    /// When it was copied, CLOCK_MONOTONIC ns: its events are older.
    pub(super) copied_mono_ns: u64,
}
