//! The heap over time, in equal steps.

use heapscribe_analyze::answer::Answer;
use serde::Serialize;

/// The steps.
#[derive(Serialize)]
pub(super) struct TimelineJson {
    step_ns: u64,
    steps: Vec<StepJson>,
}

#[derive(Serialize)]
struct StepJson {
    time_ns: u64,
    heap_max_bytes: u64,
    heap_end_bytes: u64,
    rss_bytes: u64,
    rss_processes: u64,
    anonymous_bytes: u64,
    pool_bytes: u64,
    pool_used_bytes: u64,
    pool_largest_free_bytes: u64,
    allocations: u64,
    bytes_allocated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed: Option<TimedJson>,
}

/// Calls of a step that were timed.
#[derive(Serialize)]
struct TimedJson {
    calls: u64,
    took_ns: u64,
    max_ns: u64,
}

/// Those of an answer.
pub(super) fn timeline(a: &Answer) -> TimelineJson {
    let steps = a.timeline.steps.iter().enumerate().map(|(i, s)| StepJson {
        time_ns: a.timeline.begin_ns + a.timeline.step_ns.saturating_mul(i as u64),
        heap_max_bytes: s.heap_max_bytes,
        heap_end_bytes: s.heap_end_bytes,
        rss_bytes: s.rss_bytes,
        rss_processes: s.rss_processes,
        anonymous_bytes: s.anonymous_bytes,
        pool_bytes: s.pool_bytes,
        pool_used_bytes: s.pool_used_bytes,
        pool_largest_free_bytes: s.pool_largest_free_bytes,
        allocations: s.allocations,
        bytes_allocated: s.allocated_bytes,
        timed: (s.timed_calls > 0).then_some(TimedJson {
            calls: s.timed_calls,
            took_ns: s.took_ns,
            max_ns: s.took_max_ns,
        }),
    });
    TimelineJson { step_ns: a.timeline.step_ns, steps: steps.collect() }
}
