//! A chunk of events as the index of a trace lists it: identity, sums and place in the file.

use super::chunk::ChunkInfo;
use super::process::ProcessIndex;
use super::sums::ChunkSums;

/// A chunk of events that lies in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkEntry {
    /// The process that it belongs to.
    pub process: ProcessIndex,
    /// The thread that wrote it, and when.
    pub info: ChunkInfo,
    /// Sums over its events.
    pub sums: ChunkSums,
    /// Its begin, ns since the trace's start.
    pub begin_ns: u64,
    /// Its end or its last event if it was never sealed, ns since the trace's start.
    pub end_ns: u64,
    /// Offset of its block in the file.
    pub offset: u64,
    /// Number of its block among all of the file.
    pub number: u32,
}
