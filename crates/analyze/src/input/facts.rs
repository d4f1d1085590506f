//! What is known of a recording before any event is read: the session, its processes and their chunks.

use heapscribe_formats::{
    Drainer, Evicted, HeapInfo, HeapSample, OwnPeak, RealTimeRules, ResidentSample, RuleViolation, Unrecorded,
};
use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::real_time_rules::fits;

use super::clock::Clock;
use crate::answer::{EarlyTimes, Ended, Exit, StackCheck};

/// The recording as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionFacts {
    /// Moment 0: when its first program was started, or else first called the heap, CLOCK_MONOTONIC ns; 0 when that is
    /// not known.
    pub begin_mono_ns: u64,
    /// The same moment, ns since 1970; 0 when that is not known.
    pub begin_real_ns: u64,
    /// When it ended, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub end_mono_ns: u64,
    /// The command that was recorded.
    pub command: Vec<Vec<u8>>,
    /// Name of the machine.
    pub host: String,
    /// Version of heapscribe that recorded.
    pub version: String,
    /// How the command ended.
    pub exit: Option<Exit>,
    /// How the drainer kept up; all 0 when that is not known.
    pub drainer: Drainer,
    /// Programs that were started and are not in it.
    pub unrecorded: Unrecorded,
    /// What a ring evicted of processes of which nothing else is left.
    pub evicted: Evicted,
    /// From when on all events of all processes are there, CLOCK_MONOTONIC ns; 0 when none were evicted. A ring
    /// evicts those of each thread by themselves, so that some are there that are older.
    pub window_mono_ns: u64,
    /// Where programs must not call the heap.
    pub rules: RealTimeRules,
    /// Whether its trace was not finished.
    pub is_unfinished: bool,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessFacts {
    /// The kernel's number.
    pub pid: u32,
    /// The parent's.
    pub parent_pid: u32,
    /// Index of its recorded parent.
    pub parent: Option<usize>,
    /// Whether it is a forked child.
    pub is_fork: bool,
    /// Path of its program.
    pub exe: Vec<u8>,
    /// Command line.
    pub command: Vec<Vec<u8>>,
    /// When its recording began, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub begin_mono_ns: u64,
    /// When it ended, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub end_mono_ns: u64,
    /// How it ended.
    pub ended: Ended,
    /// Whether its end is not in the recording, nor what else there was up to it, and nobody counted that.
    pub is_unfinished: bool,
    /// Where the recording is damaged so that nobody knows which events of it were there: the first such byte of the file.
    pub gap_at: Option<u64>,
    /// How its ticks become ns.
    pub clock: Clock,
    /// Whether its ns are calls, as nothing is known of times.
    pub counts_calls: bool,
    /// Where its times are early, on CLOCK_MONOTONIC.
    pub early_times: Option<EarlyTimes>,
    /// What its recorder dropped, by the number of a `heapscribe_wire::head::LossReason`.
    pub drops: [u64; DROP_COUNTERS],
    /// Peak memory of its recorder, bytes.
    pub recorder_bytes: u64,
    /// Stacks that its recorder took twice.
    pub stack_check: StackCheck,
    /// Resident set at moments, by time.
    pub rss: Vec<RssSample>,
    /// How much of the anonymous memory of its first sample it has from its parent, bytes; 0 of what no fork made.
    pub inherited_bytes: u64,
    /// What the heap under it is, when that has statistics, and these at moments, by time.
    pub heap: Option<(HeapInfo, Vec<HeapSample>)>,
    /// Of what its resident memory was made at moments, by time.
    pub resident: Vec<ResidentSample>,
    /// The most that was live in it at a time by all of its events, those too that a ring evicted; `None` where
    /// that is not known.
    pub peak: Option<OwnPeak>,
    /// What a ring evicted of its events: the heap begins where they ended.
    pub evicted: Evicted,
    /// When nothing was recorded of it: from and to, CLOCK_MONOTONIC ns.
    pub off: Vec<(u64, u64)>,
    /// The call that broke a rule of real time and stopped it.
    pub broke: Option<RuleViolation>,
}

impl ProcessFacts {
    /// When it ended, ns: after its last event. None of one that was not seen to its end, or whose end has no time.
    pub fn end_ns(&self, last_event_ns: Option<u64>) -> Option<u64> {
        let after_events = last_event_ns.map_or(0, |last| last.saturating_add(1));
        (self.ended.is_end() && self.end_mono_ns != 0).then_some(self.end_mono_ns.max(after_events))
    }

    /// Whether its program has a name like this (`*` is any run of characters and `?` any one): that of its file, or
    /// the one that was typed, which may be a link's (`awk` of `gawk`).
    pub fn is_program(&self, pattern: &str) -> bool {
        let typed = self.command.first().map(Vec::as_slice).unwrap_or_default();
        let file_name =
            |path: &[u8]| fits(pattern.as_bytes(), path.rsplit(|b| *b == b'/').next().unwrap_or(path));
        file_name(&self.exe) || (!typed.is_empty() && file_name(typed))
    }
}

/// Resident memory of a process at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RssSample {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Resident, bytes.
    pub rss_bytes: u64,
    /// Of it what belongs to no file and is shared with nobody, bytes.
    pub anonymous_bytes: u64,
}

/// When a table of live blocks was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableMoment {
    /// In ticks of the process; where its clock is a counter of unknown rate, about.
    pub ticks: u64,
    /// Whether the process had ended, so that it agrees with the events.
    pub is_after_all: bool,
}

/// A chunk: events of one thread, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkFacts {
    /// Index of its process.
    pub process: usize,
    /// Its thread, as a number.
    pub thread: u32,
    /// The first event's dt counts from here.
    pub begin_ticks: u64,
    /// Ticks of its last event.
    pub last_ticks: u64,
    /// Birth ticks of the thread's last allocation before this chunk; 0 for none.
    pub last_alloc_ticks: u64,
    /// How many events it has.
    pub events: u64,
    /// Whether its allocations stand for blocks whose own events are not there: then they are no calls.
    pub is_made_up: bool,
}

/// A chunk and its number in the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberedChunk {
    pub(crate) number: usize,
    pub(crate) facts: ChunkFacts,
}
