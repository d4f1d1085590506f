//! The entries of a trace, one at a time: what every form of a dump prints.

use std::collections::BTreeMap;
use std::io;

use heapscribe_formats::{
    HeapInfo, LiveBlock, LiveTable, MemorySample, Process, ResidentSample, SessionEnd, SessionInfo,
};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::heap::HeapCounts;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::record::Event;

/// An event with its process, thread and time.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// When it was, ns since the trace's start.
    pub time_ns: u64,
    /// Index of the process in the trace.
    pub process: u32,
    /// Number of the thread in its process, from 1.
    pub thread: u32,
    /// The event.
    pub event: &'a Event,
    /// Age of the freed block, for events that free one.
    pub age_ns: u64,
    /// How long its call took in the heap, where that was recorded.
    pub took_ns: Option<u64>,
}

/// A live block with its process and age.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Index of the process in the trace.
    pub process: u32,
    /// When it was allocated, ns since the trace's start.
    pub time_ns: u64,
    /// Its age when the snapshot was taken.
    pub age_ns: u64,
    /// The block.
    pub block: &'a LiveBlock,
}

/// The sampling rates that processes defined.
#[derive(Debug, Default)]
pub struct Rates(BTreeMap<(u32, RateId), u64>);

impl Rates {
    /// Remembers the rate, if that is what is defined.
    pub fn note(&mut self, process: u32, definition: &Definition<'_>) {
        if let Definition::Rate { id, mean_bytes } = definition {
            self.0.insert((process, *id), *mean_bytes);
        }
    }

    /// Mean bytes of a rate; none for every block.
    pub fn mean_bytes(&self, process: u32, rate: RateId) -> Option<u64> {
        self.0.get(&(process, rate)).copied()
    }
}

/// Writes the entries of a trace, one at a time.
pub trait Printer {
    /// The recording as a whole.
    fn session(&mut self, info: &SessionInfo) -> io::Result<()>;
    /// A process.
    fn process(&mut self, process: &Process) -> io::Result<()>;
    /// A definition of a process; `node` is its number when it is a node.
    fn definition(&mut self, process: u32, node: StackId, definition: &Definition<'_>) -> io::Result<()>;
    /// An event.
    fn event(&mut self, moment: &Moment<'_>) -> io::Result<()>;
    /// A table of what was live in a process, at ns since the trace's start.
    fn live(&mut self, process: u32, time_ns: u64, table: &LiveTable) -> io::Result<()>;
    /// A block of it.
    fn live_block(&mut self, block: &Standing<'_>) -> io::Result<()>;
    /// A memory sample, at ns since the trace's start.
    fn memory(&mut self, process: u32, time_ns: u64, sample: &MemorySample) -> io::Result<()>;
    /// Of what resident memory was made, at ns since the trace's start.
    fn resident(&mut self, process: u32, time_ns: u64, sample: &ResidentSample) -> io::Result<()>;
    /// Statistics of the heap under a process, at ns since the trace's start.
    fn heap(&mut self, process: u32, time_ns: u64, info: &HeapInfo, counts: &HeapCounts) -> io::Result<()>;
    /// What was recorded of a process from a moment on, at ns since the trace's start.
    fn mode(&mut self, process: u32, time_ns: u64, mode: Mode) -> io::Result<()>;
    /// How a process ended.
    fn process_end(&mut self, process: &Process) -> io::Result<()>;
    /// How the recording ended.
    fn session_end(&mut self, end: &SessionEnd) -> io::Result<()>;
}
