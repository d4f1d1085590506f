//! The log: a table of chunk headers, then the chunks' payloads. A chunk belongs to one thread until it
//! is sealed, then to the drainer until it is free again.
//!
//! ```text
//!   log file    0            header of chunk 0 .. CHUNKS_MAX-1, 64 bytes each
//!               HEADERS      payload of chunk 0, CHUNK_PAYLOAD_BYTES
//!               ...
//!   header  0   state        0 free, 1 open, 2 sealed            stored last by whoever passes it on
//!           4   thread       whose events these are
//!           8   committed    bytes of payload that hold whole events; release-stored after each event
//!          12   -
//!          16   sequence     number of this chunk among the thread's, from 0
//!          24   begin_ticks  the first event's dt counts from here
//!          32   begin_mono   CLOCK_MONOTONIC ns at begin_ticks
//!          40   end_ticks    at sealing, 0 before
//!          48   end_mono     CLOCK_MONOTONIC ns at end_ticks
//!          56   last_alloc   birth ticks of the thread's last allocation before this chunk, 0 for none
//! ```
//!
//! `committed` is the commit: a reader after SIGKILL trusts the bytes below it and no others. Hand-over:
//!
//! 1. thread: compare-and-swap free -> open, fill the header, events, ..., end fields, store sealed;
//! 2. drainer: reads sealed, then the rest of the header, copies the payload, stores committed = 0, then
//!    stores free. A copy of a whole header is of no one moment: what it says beside sealed may be from
//!    before, so a drainer that saw sealed in a copy looks again.
//!
//! `committed` is zeroed while the chunk is still the drainer's, so that a thread killed between its
//! swap and its first event does not leave the old events to be read a second time.

use core::mem::offset_of;

use crate::limits::{CHUNK_PAYLOAD_BYTES, CHUNKS_MAX};
use crate::sync::{AtomicU32, AtomicU64, IS_MODEL, Ordering};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;
/// Offset of chunk 0's payload in the log file.
pub const PAYLOADS_OFFSET: usize = CHUNKS_MAX * HEADER_BYTES;
/// Bytes of the whole log file, most of them never allocated.
pub const LOG_FILE_BYTES: usize = PAYLOADS_OFFSET + CHUNKS_MAX * CHUNK_PAYLOAD_BYTES;

/// Whose a chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// Nobody's.
    Free = 0,
    /// A thread's, which writes it.
    Open = 1,
    /// The drainer's.
    Sealed = 2,
}

/// Offset of a chunk's header in the log file.
pub const fn header_offset(chunk: usize) -> usize {
    chunk * HEADER_BYTES
}

/// Offset of a chunk's payload in the log file.
pub const fn payload_offset(chunk: usize) -> usize {
    PAYLOADS_OFFSET + chunk * CHUNK_PAYLOAD_BYTES
}

/// A header as it lies in the shared file, for the thread that writes it.
#[repr(C, align(64))]
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct SharedHeader {
    pub state: AtomicU32,
    pub thread: AtomicU32,
    pub committed: AtomicU32,
    pub reserved: AtomicU32,
    pub sequence: AtomicU64,
    pub begin_ticks: AtomicU64,
    pub begin_mono_ns: AtomicU64,
    pub end_ticks: AtomicU64,
    pub end_mono_ns: AtomicU64,
    pub last_alloc_ticks: AtomicU64,
}

const _: () = assert!(IS_MODEL || size_of::<SharedHeader>() == HEADER_BYTES);
const _: () = assert!(IS_MODEL || STATE_OFFSET == 0 && COMMITTED_OFFSET == 8);
const _: () = assert!(IS_MODEL || offset_of!(SharedHeader, sequence) == 16);
const _: () = assert!(PAYLOADS_OFFSET.is_multiple_of(CHUNK_PAYLOAD_BYTES));

/// Offset of `state` in a header.
pub const STATE_OFFSET: usize = offset_of!(SharedHeader, state);
/// Offset of `committed` in a header.
pub const COMMITTED_OFFSET: usize = offset_of!(SharedHeader, committed);

/// What a thread knows of a chunk when it opens it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    /// The thread, as a number.
    pub thread: u32,
    /// Number of the chunk among the thread's.
    pub sequence: u64,
    /// Where the first event's dt counts from.
    pub begin_ticks: u64,
    /// CLOCK_MONOTONIC at that moment, ns.
    pub begin_mono_ns: u64,
    /// Birth ticks of the thread's last allocation so far.
    pub last_alloc_ticks: u64,
}

impl SharedHeader {
    /// Takes the chunk if it is free.
    pub fn try_open(&self) -> bool {
        let (free, open) = (State::Free as u32, State::Open as u32);
        self.state.load(Ordering::Relaxed) == free
            && self.state.compare_exchange(free, open, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Says whose it is and from when. Only the thread that opened it may.
    pub fn begin(&self, o: &Opening) {
        self.thread.store(o.thread, Ordering::Relaxed);
        self.sequence.store(o.sequence, Ordering::Relaxed);
        self.begin_ticks.store(o.begin_ticks, Ordering::Relaxed);
        self.begin_mono_ns.store(o.begin_mono_ns, Ordering::Relaxed);
        self.end_ticks.store(0, Ordering::Relaxed);
        self.end_mono_ns.store(0, Ordering::Relaxed);
        self.last_alloc_ticks.store(o.last_alloc_ticks, Ordering::Relaxed);
        self.committed.store(0, Ordering::Release);
    }

    /// Makes the payload's first `bytes` bytes readable for ever.
    #[inline(always)]
    pub fn commit(&self, bytes: u32) {
        self.committed.store(bytes, Ordering::Release);
    }

    /// Hands the chunk to the drainer.
    pub fn seal(&self, end_ticks: u64, end_mono_ns: u64) {
        self.end_ticks.store(end_ticks, Ordering::Relaxed);
        self.end_mono_ns.store(end_mono_ns, Ordering::Relaxed);
        self.state.store(State::Sealed as u32, Ordering::Release);
    }

    /// Hands the chunk back, its events being safe elsewhere.
    pub fn release(&self) {
        self.committed.store(0, Ordering::Relaxed);
        self.state.store(State::Free as u32, Ordering::Release);
    }
}

/// A header as another process copied it. Nothing in it can be trusted but that it is 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct Header {
    pub state: u32,
    pub thread: u32,
    pub committed: u32,
    pub sequence: u64,
    pub begin_ticks: u64,
    pub begin_mono_ns: u64,
    pub end_ticks: u64,
    pub end_mono_ns: u64,
    pub last_alloc_ticks: u64,
}

impl Header {
    /// Takes a header apart.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Header {
        let u32_at = |o: usize| u32::from_le_bytes([bytes[o], bytes[o + 1], bytes[o + 2], bytes[o + 3]]);
        let u64_at = |o: usize| u64::from(u32_at(o)) | u64::from(u32_at(o + 4)) << 32;
        Header {
            state: u32_at(0),
            thread: u32_at(4),
            committed: u32_at(8),
            sequence: u64_at(16),
            begin_ticks: u64_at(24),
            begin_mono_ns: u64_at(32),
            end_ticks: u64_at(40),
            end_mono_ns: u64_at(48),
            last_alloc_ticks: u64_at(56),
        }
    }

    /// The header's bytes, as [`Self::parse`] takes them.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.state.to_le_bytes());
        put(4, &self.thread.to_le_bytes());
        put(8, &self.committed.to_le_bytes());
        put(16, &self.sequence.to_le_bytes());
        put(24, &self.begin_ticks.to_le_bytes());
        put(32, &self.begin_mono_ns.to_le_bytes());
        put(40, &self.end_ticks.to_le_bytes());
        put(48, &self.end_mono_ns.to_le_bytes());
        put(56, &self.last_alloc_ticks.to_le_bytes());
        out
    }

    /// The committed length, if it can be one.
    pub fn payload_bytes(&self) -> Option<usize> {
        let n = self.committed as usize;
        (n <= CHUNK_PAYLOAD_BYTES).then_some(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_and_to_bytes_are_inverse() {
        let bytes: [u8; 64] = core::array::from_fn(|i| if (12..16).contains(&i) { 0 } else { i as u8 + 1 });
        assert_eq!(Header::parse(&bytes).to_bytes(), bytes);
    }

    #[test]
    fn a_committed_length_over_the_payload_is_none() {
        let mut h = Header { committed: CHUNK_PAYLOAD_BYTES as u32, ..Header::default() };
        assert_eq!(h.payload_bytes(), Some(CHUNK_PAYLOAD_BYTES));
        h.committed += 1;
        assert_eq!(h.payload_bytes(), None);
    }

    #[test]
    fn hand_over_goes_round() {
        crate::sync::check(|| {
            let h = SharedHeader::default();
            assert!(h.try_open());
            assert!(!h.try_open(), "an open chunk is taken");
            h.begin(&Opening { thread: 7, ..Opening::default() });
            h.commit(10);
            h.seal(5, 6);
            assert!(!h.try_open(), "a sealed chunk is the drainer's");
            h.release();
            assert!(h.try_open());
            assert_eq!(h.committed.load(Ordering::Relaxed), 0, "old events are not read twice");
        });
    }
}
