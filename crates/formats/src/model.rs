//! What a trace tells, as plain data without a format: sessions, processes, chunks and samples.
//!
//! Names and command lines are bytes, because the system does not promise more. Times ending in
//! `mono_ns` are CLOCK_MONOTONIC of the recorded machine, `real_ns` are nanoseconds since 1970.

mod let_go;
mod live;

use heapscribe_wire::broke::Broke;
use heapscribe_wire::head::{ClockKind, DROP_COUNTERS, MONOTONIC_SHIFT};
use heapscribe_wire::heap::HeapCounts;

use crate::sums::ChunkSums;

pub use self::let_go::LetGo;
pub use self::live::{LiveBlock, LiveRole, LiveTable};

/// A process image of a trace: an exec'd program or a forked child. Numbers count from 0 in the order in
/// which the images were written; they are not dense when part of a trace is damaged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProcessIndex(pub u32);

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
/// A call breaks them when its thread is one that they are for, and it comes inside one of the sections or
/// after the mark; without sections and a mark, when its thread is one that they are for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RealTimeRules {
    /// Names of sections.
    pub sections: Vec<Vec<u8>>,
    /// Name of the mark after whose first time in a process all calls of it break the rules.
    pub after_mark: Option<Vec<u8>>,
    /// Patterns of the names of threads that the rules are for, see [`heapscribe_wire::rules::fits`]; empty
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionEnd {
    /// When it stopped, CLOCK_MONOTONIC ns.
    pub ended_mono_ns: u64,
    /// How the command ended; `None` when it was still running.
    pub exit: Option<ExitStatus>,
    /// How the drainer kept up.
    pub drainer: Drainer,
}

/// How the one who emptied the logs and wrote the trace kept up with the programs. All 0 is not known.
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

/// How a process image came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// By exec.
    #[default]
    Execed,
    /// By fork from a recorded process.
    Forked,
}

/// A process image, as its session's head told it when it began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    /// The kernel's number of it.
    pub pid: u32,
    /// The kernel's number of its parent.
    pub parent_pid: u32,
    /// How it came to be.
    pub stage: Stage,
    /// When its recording began, CLOCK_MONOTONIC ns. With the pid it names the image.
    pub created_mono_ns: u64,
    /// The same moment, ns since 1970.
    pub created_real_ns: u64,
    /// `created_mono_ns` of the parent's image; 0 when the parent was not recorded.
    pub parent_created_mono_ns: u64,
    /// The same moment as `created_mono_ns` in ticks of its clock.
    pub created_ticks: u64,
    /// Where its ticks come from.
    pub clock_kind: ClockKind,
    /// Right shift that made ticks of the clock's raw values.
    pub clock_shift: u32,
    /// Whether nothing is known of times: then what is ns everywhere else counts calls, the first of which is
    /// at 1.
    pub counts_calls: bool,
    /// Path of its executable.
    pub exe: Vec<u8>,
    /// Its command line.
    pub command: Vec<Vec<u8>>,
}

impl Default for ProcessInfo {
    fn default() -> Self {
        ProcessInfo {
            pid: 0,
            parent_pid: 0,
            stage: Stage::Execed,
            created_mono_ns: 0,
            created_real_ns: 0,
            parent_created_mono_ns: 0,
            created_ticks: 0,
            clock_kind: ClockKind::Monotonic,
            clock_shift: MONOTONIC_SHIFT,
            counts_calls: false,
            exe: Vec::new(),
            command: Vec::new(),
        }
    }
}

/// How a process image ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HowEnded {
    /// The process is gone.
    Exited,
    /// It exec'd; the same pid goes on as another image.
    Execed,
    /// The recording stopped while it lived.
    Abandoned,
    /// It could not be found out.
    #[default]
    Unknown,
}

/// What is known of a process image when it has ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessEnd {
    /// When it was seen to have ended, CLOCK_MONOTONIC ns.
    pub ended_mono_ns: u64,
    /// How it ended.
    pub how: HowEnded,
    /// What its recorder dropped, by the number of a [`heapscribe_wire::head::Drop`].
    pub drops: [u64; DROP_COUNTERS],
    /// Threads that had events.
    pub threads: u32,
    /// Peak memory of the recorder itself, bytes.
    pub own_bytes: u64,
    /// What its threads wrote out themselves because nobody drained them, bytes.
    pub spilled_bytes: u64,
    /// Stacks that the recorder took a second time, in another way (HEAPSCRIBE_VERIFY_STACKS).
    pub stacks_verified: u64,
    /// How many of them came out different.
    pub stacks_different: u64,
    /// The call that broke a rule of real time and stopped the process.
    pub broke: Option<Broke>,
    /// What `record` could not save of it, in words; empty when it saved all.
    pub lost_note: String,
}

/// A process image as a reader found it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Process {
    /// Its number in the trace.
    pub index: ProcessIndex,
    /// How it began; `None` when that block is damaged.
    pub info: Option<ProcessInfo>,
    /// How it ended; `None` when the trace was cut before.
    pub end: Option<ProcessEnd>,
    /// What was live in it, at moments.
    pub live: Vec<LiveTable>,
    /// What a ring let go of its events.
    pub let_go: LetGo,
}

/// Whose a chunk of events is, and from when to when.
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

/// A chunk of events that lies in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkEntry {
    /// The process whose it is.
    pub process: ProcessIndex,
    /// Whose and when.
    pub info: ChunkInfo,
    /// What its events add up to.
    pub sums: ChunkSums,
    /// Its begin, ns since the trace's start.
    pub begin_ns: u64,
    /// Its end or its last event if it was never sealed, ns since the trace's start.
    pub end_ns: u64,
    /// Where its block starts in the file.
    pub offset: u64,
    /// Number of its block among all of the file.
    pub number: u32,
}

/// How much memory a process had at a moment, as the kernel counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemorySample {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Resident, bytes.
    pub rss_bytes: u64,
    /// The part of it that belongs to files and shared mappings (the recorder's own too), bytes.
    pub shared_bytes: u64,
    /// Address space in use, bytes.
    pub virtual_bytes: u64,
}

/// What the heap under a process is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapInfo {
    /// What it is called.
    pub name: String,
    /// What it was told to be: words such as `pool=1048576`.
    pub configuration: String,
}

/// How the heap under a process did at a moment, as it says itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapSample {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// What it counts.
    pub counts: HeapCounts,
}
