//! A chunk of events: the thread that wrote it and the time it covers.

/// The thread that wrote a chunk of events, and the time that it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkInfo {
    /// The thread, by its number in the process.
    pub thread: u32,
    /// Number of the chunk among the thread's.
    pub sequence: u64,
    /// The first event's dt counts from here.
    pub begin_ticks: u64,
    /// CLOCK_MONOTONIC ns at `begin_ticks`.
    pub begin_mono_ns: u64,
    /// When the thread sealed it; 0 when it never did.
    pub end_ticks: u64,
    /// CLOCK_MONOTONIC ns at `end_ticks`; 0 when it never was sealed.
    pub end_mono_ns: u64,
    /// Birth ticks of the thread's last allocation before this chunk; 0 for none.
    pub last_alloc_ticks: u64,
}
