//! Process images: exec'd programs and forked children, how each began and how it ended.

use heapscribe_wire::head::{ClockKind, DROP_COUNTERS, MONOTONIC_SHIFT};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::rule_violation::RuleViolation;

use super::evicted::Evicted;
use super::live_table::LiveTable;
use super::memory_map::MemoryMap;

/// A process image of a trace: an exec'd program or a forked child. Numbers count from 0 in the order in
/// which the images were written; they are not dense when part of a trace is damaged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProcessIndex(pub u32);

/// How a process image began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// By exec.
    #[default]
    Execed,
    /// By fork from a recorded process.
    Forked,
}

/// A process image as it is known when it begins, from its session's head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    /// The kernel's number of it.
    pub pid: u32,
    /// The kernel's number of its parent.
    pub parent_pid: u32,
    /// How it began.
    pub stage: Stage,
    /// When its recording began, CLOCK_MONOTONIC ns. With the pid it names the image.
    pub created_mono_ns: u64,
    /// The same moment, ns since 1970.
    pub created_real_ns: u64,
    /// `created_mono_ns` of the parent's image; 0 when the parent was not recorded.
    pub parent_created_mono_ns: u64,
    /// The same moment as `created_mono_ns` in ticks of its clock.
    pub created_ticks: u64,
    /// The clock that its ticks are of.
    pub clock_kind: ClockKind,
    /// Right shift that made ticks of the clock's raw values.
    pub clock_shift: u32,
    /// By how much the times of its events may be early, ns: where the clock is read seldom (`record --clock coarse`), up
    /// to [`ProcessEnd::exact_from_ticks`]; 0 where each event reads it. The order of its events is exact all the same.
    pub early_ns: u32,
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
            early_ns: 0,
            counts_calls: false,
            exe: Vec::new(),
            command: Vec::new(),
        }
    }
}

/// How a process image ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HowEnded {
    /// The process exited by itself.
    Exited,
    /// This signal killed it.
    Killed(u8),
    /// It has ended, and nobody saw how: it did not begin to exit by itself, or its parent was faster.
    Unseen,
    /// It exec'd; the same pid continues as another image.
    Execed,
    /// The recording stopped while it lived.
    Abandoned,
    /// It could not be found out.
    #[default]
    Unknown,
}

/// The most that was live in a process at a time, by all of its events, which the trace need not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnPeak {
    /// Live bytes.
    pub bytes: u64,
    /// The ticks at which they were first live.
    pub ticks: u64,
}

/// What is recorded of a process from a moment on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModeChange {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// What is recorded.
    pub mode: Mode,
}

/// What is known of a process image when it has ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessEnd {
    /// When it was seen to have ended, CLOCK_MONOTONIC ns.
    pub ended_mono_ns: u64,
    /// How it ended.
    pub how: HowEnded,
    /// Events that its recorder lost, by the number of a [`heapscribe_wire::head::LossReason`].
    pub drops: [u64; DROP_COUNTERS],
    /// Threads that had events.
    pub threads: u32,
    /// Private memory that the recorder has in use, bytes.
    pub own_bytes: u64,
    /// What its threads wrote out themselves because nobody drained them, bytes.
    pub spilled_bytes: u64,
    /// Stacks that the recorder took a second time, in another way (HEAPSCRIBE_VERIFY_STACKS).
    pub stacks_verified: u64,
    /// How many of them differed.
    pub stacks_different: u64,
    /// The most that was live in it at a time; `None` where that is known from its events alone, if at all.
    pub peak: Option<OwnPeak>,
    /// The call that broke a rule of real time and stopped the process.
    pub broke: Option<RuleViolation>,
    /// What was recorded of it, from its beginning on; empty unless recording was off for a time. Then there is
    /// no `peak`.
    pub modes: Vec<ModeChange>,
    /// From when on its times are exact where they were early before, ticks: a second thread or process began; 0 where that
    /// has not been.
    pub exact_from_ticks: u64,
    /// What `record` could not save of it, in words; empty when it saved all.
    pub lost_note: String,
}

impl ProcessEnd {
    /// When nothing was recorded: from and to, CLOCK_MONOTONIC ns.
    pub fn off_periods(&self) -> impl Iterator<Item = (u64, u64)> {
        let next = self.modes.iter().skip(1).map(|change| change.mono_ns).chain([self.ended_mono_ns]);
        let off = self.modes.iter().zip(next).filter(|(change, _)| change.mode == Mode::Off);
        off.map(|(change, to)| (change.mono_ns, to)).filter(|(from, to)| from < to)
    }
}

/// All that a trace has of a process image, but for its events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Process {
    /// Its number in the trace.
    pub index: ProcessIndex,
    /// How it began; `None` when that block is damaged.
    pub info: Option<ProcessInfo>,
    /// How it ended; `None` when the trace was cut before.
    pub end: Option<ProcessEnd>,
    /// Tables of its live blocks.
    pub live: Vec<LiveTable>,
    /// What it had mapped beside some of them.
    pub memory_maps: Vec<MemoryMap>,
    /// Sums over those of its events that a ring has evicted.
    pub evicted: Evicted,
}
