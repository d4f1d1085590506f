//! The heap over time.

/// The heap over time: equal steps up to the end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// Begin of the first step, ns: 0, or where the window of a ring begins.
    pub begin_ns: u64,
    /// Length of a step, ns.
    pub step_ns: u64,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step of a timeline, all processes together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Most heap bytes in this step. Exact where one thread was at work and in the step of the peak; else
    /// the most that was seen at a few moments of the step.
    pub heap_max_bytes: u64,
    /// Heap bytes at the end of the step.
    pub heap_end_bytes: u64,
    /// Resident set of the running processes at the end of the step, bytes; 0 before the first sample.
    pub rss_bytes: u64,
    /// Of how many processes that is: pages that they share are in it once for each of them.
    pub rss_processes: u64,
    /// The part of it that belongs to no file and is shared with nobody, bytes.
    pub anonymous_bytes: u64,
    /// Pools of the heaps under the processes, bytes; 0 when these have no statistics.
    pub pool_bytes: u64,
    /// Of them in allocated blocks.
    pub pool_used_bytes: u64,
    /// The largest requests that would be served without growing.
    pub pool_largest_free_bytes: u64,
    /// Allocations in the step.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Frees in the step.
    pub frees: u64,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Calls whose time is known.
    pub timed_calls: u64,
    /// All of them together, ns.
    pub took_ns: u64,
    /// The longest, ns.
    pub took_max_ns: u64,
}
