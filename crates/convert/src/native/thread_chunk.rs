//! A thread's events on their way into a trace of ours: full chunks are sealed.

use heapscribe_formats::{Chunk, ChunkInfo, TraceError};
use heapscribe_wire::head::MONOTONIC_SHIFT;
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, EVENT_BYTES_MAX};
use heapscribe_wire::record::Event;

/// Nanoseconds of a tick.
const TICK_NS: u64 = 1 << MONOTONIC_SHIFT;

/// The first tick that is not before a moment.
pub fn ticks_at(ns: u64) -> u64 {
    ns.div_ceil(TICK_NS)
}

/// When a tick is.
pub fn ns_at(ticks: u64) -> u64 {
    ticks.saturating_mul(TICK_NS)
}

/// Puts the events of a chunk in place of what is in `into`, as threads encode them.
///
/// # Errors
/// When some of them cannot be read; those before them are there.
pub fn encode(chunk: Chunk<'_>, into: &mut Vec<u8>) -> Result<(), TraceError> {
    into.clear();
    let (mut last, mut at) = (chunk.info.begin_ticks, [0; EVENT_BYTES_MAX]);
    chunk.for_each(|ticks, event| {
        let n = event.encode(ticks.wrapping_sub(last), &mut at);
        into.extend_from_slice(&at[..n]);
        last = ticks;
    })
}

/// The open chunk of a thread.
#[derive(Debug)]
pub struct ThreadChunk {
    tick_ns: u64,
    /// Number of the thread in its process, from 1.
    pub number: u32,
    sequence: u64,
    begin_ticks: u64,
    /// Ticks of the last event.
    pub last_ticks: u64,
    /// BlockIdentity of the thread's last allocation, now and when the chunk began.
    last_alloc_ticks: u64,
    alloc_before_ticks: u64,
    /// Encoded events of the open chunk.
    pub payload: Vec<u8>,
}

impl ThreadChunk {
    /// The first chunk of a thread, whose ticks are time.
    pub fn new(number: u32, begin_ticks: u64) -> ThreadChunk {
        ThreadChunk {
            tick_ns: TICK_NS,
            number,
            sequence: 0,
            begin_ticks,
            last_ticks: begin_ticks,
            last_alloc_ticks: 0,
            alloc_before_ticks: 0,
            payload: Vec::new(),
        }
    }

    /// One whose ticks count calls.
    pub fn of_calls(number: u32, begin_ticks: u64) -> ThreadChunk {
        ThreadChunk { tick_ns: 1, ..ThreadChunk::new(number, begin_ticks) }
    }

    /// Whether the next event may have no room.
    pub fn is_full(&self) -> bool {
        self.payload.len() + 2 * EVENT_BYTES_MAX > CHUNK_PAYLOAD_BYTES
    }

    /// The ticks of an event at a moment: later than the one before it.
    pub fn ticks(&self, ns: u64) -> u64 {
        ticks_at(ns).max(self.last_ticks + 1)
    }

    /// Adds an event at its ticks.
    pub fn put(&mut self, ticks: u64, event: &Event) {
        let mut at = [0; EVENT_BYTES_MAX];
        let n = event.encode(ticks.saturating_sub(self.last_ticks), &mut at);
        self.payload.extend_from_slice(&at[..n]);
        if !matches!(event, Event::Rate { .. } | Event::Took { .. }) {
            self.last_ticks = ticks;
        }
        if matches!(event, Event::Alloc { .. }) {
            self.last_alloc_ticks = ticks;
        }
    }

    /// Ends the chunk: what it was, and begins the next one.
    pub fn seal(&mut self) -> (ChunkInfo, Vec<u8>) {
        let info = ChunkInfo {
            thread: self.number,
            sequence: self.sequence,
            begin_ticks: self.begin_ticks,
            begin_mono_ns: self.begin_ticks.saturating_mul(self.tick_ns),
            end_ticks: self.last_ticks,
            end_mono_ns: self.last_ticks.saturating_mul(self.tick_ns),
            last_alloc_ticks: self.alloc_before_ticks,
        };
        self.sequence += 1;
        self.begin_ticks = self.last_ticks;
        self.alloc_before_ticks = self.last_alloc_ticks;
        (info, std::mem::take(&mut self.payload))
    }
}
