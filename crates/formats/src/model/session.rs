//! The recording as a whole: its command, its rules, its end, and how the drainer kept up.

use super::unrecorded::Unrecorded;

/// The recording as a whole, as it is known when it starts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionInfo {
    /// The command that was recorded.
    pub command: Vec<Vec<u8>>,
    /// Name of the machine.
    pub host: String,
    /// Version of heapscribe that wrote the trace.
    pub version: String,
    /// When it started, ns since 1970.
    pub started_real_ns: u64,
    /// The same moment on CLOCK_MONOTONIC, ns.
    pub started_mono_ns: u64,
    /// Where the programs must not call the heap.
    pub rules: RealTimeRules,
}

/// Rules of real time: where programs must not call the heap. None unless the recording was given some.
///
/// A call breaks them when its thread is one that they are for, and it is made inside one of the sections or
/// after the mark; without sections and a mark, whenever its thread is one that they are for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RealTimeRules {
    /// Names of sections.
    pub sections: Vec<Vec<u8>>,
    /// Name of the mark after whose first time in a process all calls of it break the rules.
    pub after_mark: Option<Vec<u8>>,
    /// Patterns of the names of threads that the rules are for, see [`heapscribe_wire::real_time_rules::fits`]; empty
    /// for all threads.
    pub threads: Vec<Vec<u8>>,
}

impl RealTimeRules {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty() && self.after_mark.is_none() && self.threads.is_empty()
    }
}

/// How the recorded command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// What is known only when the recording stops.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionEnd {
    /// When it stopped, CLOCK_MONOTONIC ns.
    pub ended_mono_ns: u64,
    /// How the command ended; `None` when it was still running.
    pub exit: Option<ExitStatus>,
    /// How the drainer kept up.
    pub drainer: Drainer,
    /// Programs that were started and are not in the trace.
    pub unrecorded: Unrecorded,
}

/// How the drainer, which empties the logs and writes the trace, kept up with the programs. All 0: not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drainer {
    /// The most events that waited in full chunks of all logs at a time, bytes.
    pub waiting_bytes: u64,
    /// The longest that a full chunk waited, ns.
    pub waiting_ns: u64,
    /// How often a log was found with so many full chunks that threads had to wait or to drop events.
    pub full_logs: u64,
    /// Chunks of events that were written without compression, because there was no time.
    pub hurried_chunks: u64,
    /// CPU time that it took, ns.
    pub cpu_ns: u64,
    /// The most memory that it had, bytes.
    pub peak_rss_bytes: u64,
}
