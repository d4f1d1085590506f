//! The answer as a whole: totals, peak, leaks, stacks, processes, and what is to be known to trust them.

use heapscribe_formats::{Drainer, Evicted, RealTimeRules, Unrecorded};
use heapscribe_wire::definitions::Interpreter;

use super::amounts::{Amount, LifetimeClass, Peak, SizeClass, WholePeak};
use super::annotations::{Mark, Section};
use super::bounds::FigureBounds;
use super::early_times::EarlyTimes;
use super::estimate::Sampling;
use super::latency::{BrokenRule, CallLatency};
use super::patterns::{Ascent, Resident};
use super::pools::Pools;
use super::process::{Exit, Process, StackCheck, Thread};
use super::stack::Stack;
use super::timeline::Timeline;
use super::totals::{Dropped, Totals};
use super::tree::CallTree;

/// What all processes did together in the window of a ring: totals count older events of threads, too, that were seldom
/// at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    /// How long it is, ns.
    pub length_ns: u64,
    /// Calls of the heap.
    pub calls: u64,
    /// Blocks allocated.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
}

/// The answer to "what did the heap do", for a whole trace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answer {
    /// CLOCK_MONOTONIC ns of moment 0.
    pub begin_mono_ns: u64,
    /// Wall clock at moment 0, ns since 1970; 0 when it is not known.
    pub begin_real_ns: u64,
    /// The command that was recorded.
    pub command: Vec<Vec<u8>>,
    /// Name of the machine.
    pub host: String,
    /// Version of heapscribe that recorded.
    pub version: String,
    /// How the command ended; none when it was still running or the trace does not say.
    pub exit: Option<Exit>,
    /// How the drainer kept up; all 0 when that is not known.
    pub drainer: Drainer,
    /// Programs that were started and of which nothing is in any figure.
    pub unrecorded: Unrecorded,
    /// From moment 0 to the end of the last process, ns; to that of the recording where the end of one is not known.
    pub duration_ns: u64,
    /// Whether all ns here are calls, the first at 1, as nothing is known of times.
    pub counts_calls: bool,
    /// Where times are early.
    pub early_times: Option<EarlyTimes>,
    /// What a ring evicted of it, over all processes; all 0 when that is nothing. Only what is live at a
    /// moment counts it in, and what is known of that begins where all events are there: [`Timeline::begin_ns`].
    pub evicted: Evicted,
    /// What was done in the window of a ring, in which all events are there; none where nothing was evicted.
    pub window: Option<Window>,
    /// What all processes did together.
    pub totals: Totals,
    /// The moment when all processes together held the most bytes.
    pub peak: Peak,
    /// Where the heap rose steeply to its peak, and fell again: when that began.
    pub ascent: Option<Ascent>,
    /// When resident memory was most above the heap for a while; none where it was not sampled for so long.
    pub resident: Option<Resident>,
    /// Of a ring, where it was higher before the window, and that is known.
    pub whole_peak: Option<WholePeak>,
    /// What was never freed.
    pub leaked: Amount,
    /// That part of it of which the processes were evicted: it is in no process of these here.
    pub leaked_by_evicted: Amount,
    /// Whether every process was seen to its end. If not, part of `leaked` was merely live when the
    /// recording ended: see [`Process::ended`].
    pub complete: bool,
    /// Blocks freed by their own thread before it allocated again.
    pub temporary: Amount,
    /// Stacks that did something themselves, in the order of their nodes.
    pub stacks: Vec<Stack>,
    /// The calls that lead to them.
    pub tree: CallTree,
    /// Allocations by size.
    pub sizes: Vec<SizeClass>,
    /// Freed blocks by how long they lived.
    pub lifetimes: Vec<LifetimeClass>,
    /// Processes in the order of the trace.
    pub processes: Vec<Process>,
    /// Threads, by process and number.
    pub threads: Vec<Thread>,
    /// The heap over time, in equal steps.
    pub timeline: Timeline,
    /// Marks that programs set, by their first time.
    pub marks: Vec<Mark>,
    /// Sections that threads went through, the one with most bytes allocated first.
    pub sections: Vec<Section>,
    /// Blocks of pools that programs manage themselves, inside blocks of the heap: they are in no other figure.
    pub pools: Pools,
    /// How long calls took, by kind; empty unless that was recorded.
    pub latency: Vec<CallLatency>,
    /// Where programs must not call the heap, as the recording was made with.
    pub rules: RealTimeRules,
    /// Calls that broke these rules and stopped their process.
    pub broken: Vec<BrokenRule>,
    /// What is missing, by reason; only reasons that occurred, in the order of their numbers.
    pub dropped: Vec<Dropped>,
    /// What that leaves of the figures; none when it touches none of them.
    pub bounds: Option<FigureBounds>,
    /// Allocations whose stack is not known at all.
    pub unknown_stacks: u64,
    /// Stacks that were taken twice, in two ways, to compare them; none unless that was asked for.
    pub stack_check: StackCheck,
    /// Frames of used stacks that lie in no module.
    pub unresolved_frames: u64,
    /// Interpreters that processes had, and whether their frames are in stacks.
    pub interpreters: Vec<Interpreter>,
    /// When blocks were sampled: how sure the figures are, all of which are then estimates.
    pub sampling: Option<Sampling>,
    /// What is wrong with the trace or has to be known to read the answer, for people.
    pub problems: Vec<String>,
}

impl Answer {
    /// Calls per second over the whole recording, or the window of a ring.
    pub fn calls_per_second(&self) -> f64 {
        self.per_second(self.totals.calls.all(), |window| window.calls)
    }

    /// Allocations per second, the same way.
    pub fn allocations_per_second(&self) -> f64 {
        self.per_second(self.totals.allocations, |window| window.allocations)
    }

    /// Bytes allocated per second, the same way.
    pub fn allocated_bytes_per_second(&self) -> f64 {
        self.per_second(self.totals.allocated_bytes, |window| window.allocated_bytes)
    }

    fn per_second(&self, of_all: u64, of_window: fn(&Window) -> u64) -> f64 {
        let whole = (of_all, self.duration_ns);
        let (count, ns) = self.window.as_ref().map_or(whole, |window| (of_window(window), window.length_ns));
        if ns == 0 { 0.0 } else { count as f64 * 1e9 / ns as f64 }
    }
}
