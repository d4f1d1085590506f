//! The heap over time, processes and threads, as columns.

use heapscribe_analyze::answer::{Answer, Thread, Timeline};
use serde::Serialize;

/// Equal steps; what is 0 in all of them is not there.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(super) struct TimelineColumns {
    begin_ns: u64,
    step_ns: u64,
    heap_max_bytes: Vec<u64>,
    heap_end_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rss_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    anonymous_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pool_bytes: Vec<u64>,
    allocations: Vec<u64>,
    allocated_bytes: Vec<u64>,
    frees: Vec<u64>,
    freed_bytes: Vec<u64>,
}

impl TimelineColumns {
    pub(super) fn of(timeline: &Timeline) -> TimelineColumns {
        let column =
            |of: fn(&heapscribe_analyze::answer::Step) -> u64| timeline.steps.iter().map(of).collect();
        let measured =
            |of| Some(column(of)).filter(|all: &Vec<u64>| all.iter().any(|n| *n != 0)).unwrap_or_default();
        TimelineColumns {
            begin_ns: timeline.begin_ns,
            step_ns: timeline.step_ns,
            heap_max_bytes: column(|step| step.heap_max_bytes),
            heap_end_bytes: column(|step| step.heap_end_bytes),
            rss_bytes: measured(|step| step.rss_bytes),
            anonymous_bytes: measured(|step| step.anonymous_bytes),
            pool_bytes: measured(|step| step.pool_bytes),
            allocations: column(|step| step.allocations),
            allocated_bytes: column(|step| step.allocated_bytes),
            frees: column(|step| step.frees),
            freed_bytes: column(|step| step.freed_bytes),
        }
    }
}

/// Processes, by their index.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(super) struct ProcessColumns {
    pid: Vec<u32>,
    name: Vec<String>,
    begin_ns: Vec<u64>,
    end_ns: Vec<u64>,
    peak_bytes: Vec<u64>,
    left_bytes: Vec<u64>,
}

/// Threads, by process.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(super) struct ThreadColumns {
    process: Vec<usize>,
    /// Its number in questions.
    thread: Vec<u32>,
    tid: Vec<u32>,
    name: Vec<String>,
    allocations: Vec<u64>,
    allocated_bytes: Vec<u64>,
}

impl ThreadColumns {
    pub(super) fn of(threads: &[Thread]) -> ThreadColumns {
        ThreadColumns {
            process: threads.iter().map(|thread| thread.process).collect(),
            thread: threads.iter().map(|thread| thread.id).collect(),
            tid: threads.iter().map(|thread| thread.tid).collect(),
            name: threads.iter().map(|thread| String::from_utf8_lossy(&thread.name).into_owned()).collect(),
            allocations: threads.iter().map(|thread| thread.totals.allocations).collect(),
            allocated_bytes: threads.iter().map(|thread| thread.totals.allocated_bytes).collect(),
        }
    }
}

impl ProcessColumns {
    pub(super) fn of(answer: &Answer) -> ProcessColumns {
        let all = &answer.processes;
        ProcessColumns {
            pid: all.iter().map(|process| process.pid).collect(),
            name: all.iter().map(heapscribe_views::text::tables::program).collect(),
            begin_ns: all.iter().map(|process| process.begin_ns).collect(),
            end_ns: all.iter().map(|process| process.end_ns).collect(),
            peak_bytes: all.iter().map(|process| process.peak.bytes).collect(),
            left_bytes: all.iter().map(|process| process.leaked.bytes).collect(),
        }
    }
}
