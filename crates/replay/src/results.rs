//! What was measured of a heap, as plain data. Bytes are bytes, `_ns` are nanoseconds.

use serde::{Deserialize, Serialize};

/// A heap at a moment of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Moment {
    /// Since the trace's start.
    pub ns: u64,
    /// Bytes of the blocks that are live, as they were asked for.
    pub live_bytes: u64,
    /// Memory of the heap.
    pub footprint_bytes: u64,
    /// Free bytes of the heap; 0 when not known.
    pub free_bytes: u64,
    /// The largest request that it would serve from these; 0 when not known.
    pub largest_free_bytes: u64,
}

impl Moment {
    /// Free bytes that one request cannot have: external fragmentation.
    pub fn torn_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.largest_free_bytes)
    }
}

/// The memory of a heap.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Footprint {
    /// Memory of the process before the first call: no part of the other figures.
    pub before_bytes: u64,
    /// The most memory of the heap.
    pub peak_bytes: u64,
    /// What was live then.
    pub peak_live_bytes: u64,
    /// How often memory was measured.
    pub looks: u64,
    /// Over time.
    pub moments: Vec<Moment>,
}

/// How long calls of a kind took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the share of calls that took at most so long")]
pub struct Timed {
    pub calls: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    pub max_ns: u64,
}

/// How long calls took, by kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// A kind and its calls; kinds without a call are not there.
    pub kinds: Vec<(String, Timed)>,
    /// Calls during which the kernel took the core away: in no other figure.
    pub left_out: u64,
    /// What timing itself takes, ns, which was subtracted.
    pub clock_ns: u64,
    /// Which clock it was.
    pub clock: String,
}
