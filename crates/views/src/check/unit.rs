//! What figures of rules are measured in, and how they are shown.

use heapscribe_units::{bytes, count, counted, duration, exact_bytes, short_bytes};

/// What figures are measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Blocks.
    Blocks,
    /// Calls of the heap.
    Calls,
    /// Allocated blocks a second.
    BlocksPerSecond,
    /// Nanoseconds.
    Ns,
    /// A part of 1.
    Part,
    /// Findings.
    Findings,
}

impl Unit {
    /// In JSON.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Blocks => "blocks",
            Unit::Calls => "calls",
            Unit::BlocksPerSecond => "blocks_per_second",
            Unit::Ns => "ns",
            Unit::Part => "part",
            Unit::Findings => "findings",
        }
    }

    /// A figure for people.
    pub fn shown(self, value: f64) -> String {
        let whole = value.round().max(0.0) as u64;
        match self {
            Unit::Bytes => bytes(whole),
            Unit::Blocks => counted(whole, "block"),
            Unit::Calls => counted(whole, "call"),
            Unit::BlocksPerSecond => format!("{} a second", counted(whole, "block")),
            Unit::Ns => duration(whole),
            Unit::Part => format!("{:.1} %", value * 100.0),
            Unit::Findings => counted(whole, "finding"),
        }
    }

    /// A limit: in few characters where these are all of it, so that a figure beside it shows why it is above.
    pub fn limit(self, value: f64) -> String {
        let whole = value.round().max(0.0) as u64;
        match self {
            Unit::Bytes => exact_bytes(whole),
            _ => self.short(value),
        }
    }

    /// A figure in few characters.
    pub fn short(self, value: f64) -> String {
        let whole = value.round().max(0.0) as u64;
        match self {
            Unit::Bytes => short_bytes(whole),
            Unit::Blocks | Unit::Calls | Unit::Findings => count(whole),
            Unit::BlocksPerSecond => format!("{}/s", count(whole)),
            Unit::Ns => duration(whole),
            Unit::Part => format!("{:.1} %", value * 100.0),
        }
    }
}
