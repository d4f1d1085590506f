//! How long calls took, where that was recorded.

use heapscribe_wire::record::Call;
use heapscribe_wire::rule_violation::Why;

use super::tree::NodeId;

/// A kind of call: functions that do the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CallKind {
    /// `malloc`.
    Malloc,
    /// `calloc`.
    Calloc,
    /// `realloc` and `reallocarray`.
    Realloc,
    /// `posix_memalign`, `aligned_alloc`, `memalign`, `valloc`, `pvalloc`.
    Aligned,
    /// `free`, `cfree`, `free_sized`, `free_aligned_sized`.
    Free,
}

impl CallKind {
    /// The kind of a function of the heap.
    pub fn of(call: Call) -> Option<CallKind> {
        match call {
            Call::Malloc => Some(CallKind::Malloc),
            Call::Calloc => Some(CallKind::Calloc),
            Call::Realloc | Call::Reallocarray => Some(CallKind::Realloc),
            Call::PosixMemalign | Call::AlignedAlloc | Call::Memalign | Call::Valloc | Call::Pvalloc => {
                Some(CallKind::Aligned)
            }
            Call::Free | Call::Cfree | Call::FreeSized | Call::FreeAlignedSized => Some(CallKind::Free),
            Call::PoolAlloc | Call::PoolFree => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            CallKind::Malloc => "malloc",
            CallKind::Calloc => "calloc",
            CallKind::Realloc => "realloc",
            CallKind::Aligned => "aligned",
            CallKind::Free => "free",
        }
    }
}

/// How long the heap took for calls of one kind, ns. Percentiles are up to a 32nd too large, never too
/// small; all else is exact.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "each is the percentile that it is named for")]
pub struct CallLatency {
    /// The kind.
    pub kind: CallKind,
    /// Calls whose time is known; where blocks are sampled these are calls of sampled blocks.
    pub count: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub p99_99_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// The longest of them, the longest first.
    pub worst: Vec<WorstCall>,
}

/// A call that took long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorstCall {
    /// How long, ns.
    pub took_ns: u64,
    /// When it was recorded, ns: after the call, but for frees.
    pub time_ns: u64,
    /// The function.
    pub call: Call,
    /// Asked for, or of the block that was freed; 0 when that is not known.
    pub size_bytes: u64,
    /// Index into [`super::Answer::processes`].
    pub process: usize,
    /// Number of the thread in the events of that process.
    pub thread: u32,
    /// Who called; of a free, who had asked for the block.
    pub node: NodeId,
}

/// A call that broke a rule of real time, for which its process was stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenRule {
    /// Which rule.
    pub why: Why,
    /// Name of the section or of the mark; empty for neither.
    pub name: Vec<u8>,
    /// The function.
    pub call: Call,
    /// Asked for, or of the block that was to be freed.
    pub size_bytes: u64,
    /// When, ns.
    pub time_ns: u64,
    /// Index into [`super::Answer::processes`].
    pub process: usize,
    /// Number of the thread in the events of that process.
    pub thread: u32,
    /// Who called.
    pub node: NodeId,
}
