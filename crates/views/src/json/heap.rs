//! A heap as JSON has it.

use heapscribe_wire::heap::HeapCounts;
use serde::Serialize;

use heapscribe_session::heap_statistics::{EndedHeaps, HeapStatistics};

/// Counts of a heap.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counts {
    pool_bytes: u64,
    used_bytes: u64,
    peak_bytes: u64,
    free_bytes: u64,
    largest_free_bytes: u64,
    fragmentation: f64,
    blocks: u64,
    free_blocks: u64,
    pools: u64,
    growths: u64,
    failures: u64,
    misuses: u64,
    locked_bytes: u64,
}

impl From<&HeapCounts> for Counts {
    fn from(c: &HeapCounts) -> Counts {
        Counts {
            pool_bytes: c.pool_bytes,
            used_bytes: c.used_bytes,
            peak_bytes: c.peak_bytes,
            free_bytes: c.free_bytes,
            largest_free_bytes: c.largest_free_bytes,
            fragmentation: f64::from(c.fragmentation_per_mille()) / 1000.0,
            blocks: c.blocks,
            free_blocks: c.free_blocks,
            pools: c.pools,
            growths: c.growths,
            failures: c.failures,
            misuses: c.misuses,
            locked_bytes: c.locked_bytes,
        }
    }
}

/// A heap of a process.
#[derive(Debug, Serialize)]
pub struct Heap {
    name: String,
    configuration: String,
    /// When it wrote its counts; `null`: never.
    updated_mono_ns: Option<u64>,
    /// Whether its process was at its end.
    is_last: bool,
    /// `null`: it has no statistics.
    counts: Option<Counts>,
}

impl From<&HeapStatistics> for Heap {
    fn from(statistics: &HeapStatistics) -> Heap {
        let has_counts = statistics.update.mono_ns > 0;
        Heap {
            name: statistics.name.clone(),
            configuration: statistics.configuration.clone(),
            updated_mono_ns: has_counts.then_some(statistics.update.mono_ns),
            is_last: statistics.update.is_last,
            counts: has_counts.then(|| Counts::from(&statistics.update.counts)),
        }
    }
}

/// A heap in a trace.
#[derive(Debug, Serialize)]
pub struct HeapJson {
    name: String,
    configuration: String,
    samples: u64,
    fragmentation_peak: f64,
    /// Its last statistics.
    last: Counts,
}

impl From<&heapscribe_analyze::answer::Heap> for HeapJson {
    fn from(heap: &heapscribe_analyze::answer::Heap) -> HeapJson {
        HeapJson {
            name: heap.info.name.clone(),
            configuration: heap.info.configuration.clone(),
            samples: heap.samples,
            fragmentation_peak: f64::from(heap.fragmentation_peak_per_mille) / 1000.0,
            last: Counts::from(&heap.last),
        }
    }
}

/// A process of a run.
#[derive(Debug, Serialize)]
struct Process {
    pid: u32,
    parent_pid: u32,
    exe: String,
    created_mono_ns: u64,
    heap: Heap,
}

/// What `run --stats-json` writes.
#[derive(Debug, Serialize)]
pub struct Run {
    processes: Vec<Process>,
    others: u64,
    others_failures: u64,
    others_misuses: u64,
}

impl From<&EndedHeaps> for Run {
    fn from(ended: &EndedHeaps) -> Run {
        let process = |statistics: &HeapStatistics| Process {
            pid: statistics.pid,
            parent_pid: statistics.parent_pid,
            exe: statistics.exe.clone(),
            created_mono_ns: statistics.created_mono_ns,
            heap: Heap::from(statistics),
        };
        Run {
            processes: ended.largest.iter().map(process).collect(),
            others: ended.others,
            others_failures: ended.others_failures,
            others_misuses: ended.others_misuses,
        }
    }
}
