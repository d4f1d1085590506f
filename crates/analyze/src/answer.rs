//! Answers: all that a view is told. Plain data, no events, no names of functions: a view that wants
//! names looks up `Frame`s in the modules' files itself.
//!
//! Units: `_bytes` are requested bytes, `_ns` are nanoseconds; a moment is counted from the begin of the
//! recording ([`Answer::begin_mono_ns`]). A *block* that `realloc` makes counts as a new block and the
//! one it replaces as freed, so `allocations - frees` is always what is live.

mod heap;
mod latency;
mod said;
mod timeline;

pub use self::heap::Heap;
pub use self::latency::{BrokenRule, CallKind, CallLatency, WorstCall};
pub use self::said::{Mark, PoolStack, Pools, Section};
pub use self::timeline::{Step, Timeline};
use crate::estimate::Sampling;
pub use crate::tree::{CallTree, Frame, Module, Node, NodeId};
use heapscribe_formats::{Drainer, LetGo, RealTimeRules};

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
    /// How the one who wrote the trace kept up; all 0 when that is not known.
    pub drainer: Drainer,
    /// From moment 0 to the last thing that was recorded, ns.
    pub duration_ns: u64,
    /// Whether all ns here are calls, the first at 1, as nothing is known of times.
    pub counts_calls: bool,
    /// What a ring did not keep of it, over all processes; all 0 when all was kept. Only the level of the
    /// heap counts it in.
    pub let_go: LetGo,
    /// What all processes did together.
    pub totals: Totals,
    /// The moment when all processes together held the most bytes.
    pub peak: Peak,
    /// What was never freed.
    pub leaked: Amount,
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
    /// Points that programs came to, as they said, by their first time.
    pub marks: Vec<Mark>,
    /// Sections that threads went through, as programs said, the one with most bytes allocated first.
    pub sections: Vec<Section>,
    /// Blocks that programs handed out themselves, inside blocks of the heap: they are in no other figure.
    pub pools: Pools,
    /// How long calls took, by kind; empty unless that was recorded.
    pub latency: Vec<CallLatency>,
    /// Where programs must not call the heap, as the recording was told.
    pub rules: RealTimeRules,
    /// Calls that broke these rules and stopped their process.
    pub broken: Vec<BrokenRule>,
    /// What is missing, by reason; only reasons that occurred, in the order of their numbers.
    pub dropped: Vec<Dropped>,
    /// Allocations whose stack is not known at all.
    pub unknown_stacks: u64,
    /// Stacks that were taken twice, in two ways, to compare them; none unless that was asked for.
    pub stack_check: StackCheck,
    /// Frames of used stacks that lie in no module.
    pub unresolved_frames: u64,
    /// When blocks were sampled: how sure the figures are, all of which are then estimates.
    pub sampling: Option<Sampling>,
    /// What is wrong with the trace or has to be known to read the answer, for people.
    pub problems: Vec<String>,
}

/// Stacks that the recorder took a second time, from scratch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCheck {
    /// How many.
    pub verified: u64,
    /// How many of them came out different: each is a fault of the recorder.
    pub different: u64,
}

/// A number of blocks and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// Blocks.
    pub blocks: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Calls as the program made them, failed ones too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    /// `malloc`.
    pub malloc: u64,
    /// `calloc`.
    pub calloc: u64,
    /// `realloc` and `reallocarray`, also those that freed.
    pub realloc: u64,
    /// `posix_memalign`, `aligned_alloc`, `memalign`, `valloc`, `pvalloc`.
    pub aligned: u64,
    /// `free`, `cfree`, `free_sized`, `free_aligned_sized`; `free(NULL)` is never recorded.
    pub free: u64,
    /// Blocks that the program handed out itself, as it said.
    pub pool_alloc: u64,
    /// Blocks that were given back to its own pools.
    pub pool_free: u64,
}

impl Calls {
    /// All calls of the heap.
    pub fn all(&self) -> u64 {
        self.malloc + self.calloc + self.realloc + self.aligned + self.free
    }
}

/// What happened, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Calls as the program made them.
    pub calls: Calls,
    /// Blocks handed out, by `realloc` too.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Known blocks given back, by `realloc` too.
    pub frees: u64,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Calls that gave NULL for want of memory.
    pub failed: u64,
    /// Calls of `realloc` that made a block larger.
    pub reallocs_grown: u64,
    /// Calls of `realloc` that made a block smaller.
    pub reallocs_shrunk: u64,
    /// Calls of `realloc` that left the size as it was.
    pub reallocs_same: u64,
    /// Frees and reallocs of blocks that were not known: born before the recording or in a parent.
    pub unknown_blocks: u64,
    /// Blocks given back by another thread than their own.
    pub frees_by_others: u64,
    /// Events that are missing.
    pub lost_events: u64,
}

impl Answer {
    /// Calls per second over the whole recording.
    pub fn calls_per_second(&self) -> f64 {
        self.per_second(self.totals.calls.all())
    }

    /// Allocations per second over the whole recording.
    pub fn allocations_per_second(&self) -> f64 {
        self.per_second(self.totals.allocations)
    }

    /// Bytes allocated per second over the whole recording.
    pub fn allocated_bytes_per_second(&self) -> f64 {
        self.per_second(self.totals.allocated_bytes)
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { count as f64 * 1e9 / self.duration_ns as f64 }
    }
}

/// The moment of most bytes; of several equal ones the first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// Bytes live at that moment.
    pub bytes: u64,
    /// Blocks live at that moment.
    pub blocks: u64,
    /// When, ns.
    pub time_ns: u64,
    /// Who held them, in the order of the nodes; only those that held something.
    pub stacks: Vec<Holder>,
}

/// What one stack held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The stack.
    pub node: NodeId,
    /// What it held.
    pub held: Amount,
}

/// What the calls from exactly one stack did; inclusive figures are sums over a subtree.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stack {
    /// Its innermost frame.
    pub node: NodeId,
    /// Blocks handed out and their bytes.
    pub allocated: Amount,
    /// Blocks given back and their bytes.
    pub freed: Amount,
    /// Live at the peak of the whole trace.
    pub at_peak: Amount,
    /// Live at the end.
    pub leaked: Amount,
    /// Freed by the same thread before its next allocation.
    pub temporary: Amount,
    /// Freed by another thread than the one that allocated them.
    pub freed_by_others: u64,
    /// Calls that gave NULL.
    pub failed: u64,
    /// How long freed blocks lived.
    pub lifetime: Lifetime,
    /// Smallest request in bytes; 0 without allocations.
    pub size_min_bytes: u64,
    /// Largest request in bytes.
    pub size_max_bytes: u64,
}

/// How long the blocks lived that were freed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Lifetime {
    /// Shortest, ns; 0 when none was freed.
    pub min_ns: u64,
    /// Mean, ns; 0 when none was freed.
    pub mean_ns: f64,
    /// Longest, ns.
    pub max_ns: u64,
}

/// Allocations of similar size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeClass {
    /// Smallest size, bytes: a power of two, or 0.
    pub from_bytes: u64,
    /// Largest size, bytes.
    pub to_bytes: u64,
    /// Allocations.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Freed blocks that lived about as long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifetimeClass {
    /// Shortest, ns: a power of two, or 0.
    pub from_ns: u64,
    /// Longest, ns.
    pub to_ns: u64,
    /// Blocks.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How a process ended, as far as the recording knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ended {
    /// The trace does not say.
    #[default]
    Unknown,
    /// It is gone.
    Exited,
    /// It became another program, which is another process here.
    Execed,
    /// The recording ended before it.
    Abandoned,
}

impl Ended {
    /// Whether it was seen to its end, so that what was live then is leaked.
    pub fn is_end(self) -> bool {
        !matches!(self, Ended::Unknown | Ended::Abandoned)
    }
}

/// How the recorded command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// One process: a program's image, or a forked child.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Process {
    /// The kernel's number.
    pub pid: u32,
    /// The parent's.
    pub parent_pid: u32,
    /// Index of the recorded process that was its parent when it began.
    pub parent: Option<usize>,
    /// Whether it is a forked child that exec'd nothing: it holds its parent's blocks unseen.
    pub is_fork: bool,
    /// Path of the program.
    pub exe: Vec<u8>,
    /// Command line.
    pub command: Vec<Vec<u8>>,
    /// First moment, ns.
    pub begin_ns: u64,
    /// Last moment, ns.
    pub end_ns: u64,
    /// What it did.
    pub totals: Totals,
    /// When it held the most bytes, and who held them.
    pub peak: Peak,
    /// Never freed; live at the end of the recording when that came first.
    pub leaked: Amount,
    /// Who holds `leaked`, in the order of the nodes.
    pub leaked_stacks: Vec<Holder>,
    /// Blocks freed by their own thread before it allocated again.
    pub temporary: Amount,
    /// Highest resident set, bytes; 0 when none was sampled.
    pub rss_peak_bytes: u64,
    /// The heap under it, when that tells of itself.
    pub heap: Option<Heap>,
    /// How it ended.
    pub ended: Ended,
    /// What a ring did not keep of it.
    pub let_go: LetGo,
    /// What is missing, by reason; only reasons that occurred.
    pub dropped: Vec<Dropped>,
    /// Peak memory of the recorder inside this process, bytes.
    pub recorder_bytes: u64,
}

/// A thread of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Index into [`Answer::processes`].
    pub process: usize,
    /// Its number in the events of that process.
    pub id: u32,
    /// The kernel's number; 0 when it is not known.
    pub tid: u32,
    /// Its name when it was first seen.
    pub name: Vec<u8>,
    /// What it did; `frees_by_others` counts the blocks of other threads that it freed.
    pub totals: Totals,
    /// Blocks that it freed before it allocated again.
    pub temporary: Amount,
}

/// Something that is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// A number of `heapscribe_wire::head::Drop`.
    pub reason: u8,
    /// How often.
    pub count: u64,
}
