//! Trace formats: bytes to events and back.
//!
//! A trace is what is left of a recording: who was recorded, what the numbers in the events mean, and the
//! events, in the chunks in which the threads wrote them.
//!
//! *You bring* the bytes: a [`Source`] to read from, a `Vec<u8>` to append to; nothing here opens a file
//! or prints. *It guarantees* that no bytes, however damaged or hostile, make it panic, loop or take
//! memory beyond a small multiple of the file; whatever was skipped is a [`Problem`] with its place in
//! the file. *It refuses* a format of a later major version, by name.
#![forbid(unsafe_code)]

pub mod clock;
pub mod detect;
pub mod error;
pub mod gotrace;
pub mod heaplog;
pub mod memtrace;
pub mod model;
pub mod native;
pub mod source;

pub use clock::Clock;
pub use error::{Problem, TraceError};
pub use heapscribe_wire::broke::{Broke, Why};
pub use model::{
    ChunkEntry, ChunkInfo, ChunkSums, Drainer, Evicted, ExitStatus, HeapInfo, HeapSample, HowEnded,
    LiveBlock, LiveRole, LiveTable, MemorySample, Process, ProcessEnd, ProcessIndex, ProcessInfo,
    RealTimeRules, SessionEnd, SessionInfo, Stage,
};
pub use native::read::{Chunk, Scratch, Trace};
pub use native::write::{DefinitionsTaken, Writer};
pub use source::Source;
