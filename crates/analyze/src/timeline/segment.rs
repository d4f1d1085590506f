//! Segments: what one chunk did to the heap's size within one step of a grid over time.
//!
//! A segment is one thread's run of events, so besides its net effect it knows *exactly* how high above
//! its begin it ever was. That makes the search for the peak cheap: a step in which one thread was at
//! work needs no second look, one with several threads has an upper bound, and only the steps whose
//! bound beats the best known level are decoded again (see `peak`).
//!
//! The end of a process is a segment, too: what was live in it goes at that moment.

use super::grid::Grid;
use crate::input::{Clock, NumberedChunk};
use crate::sampling::Weight;

/// What one chunk did within one step.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) chunk: u32,
    pub(crate) step: u32,
    pub(crate) events: u32,
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) frees: u64,
    /// Bytes allocated less bytes freed.
    pub(crate) net_bytes: i64,
    /// The most that `net_bytes` ever was, at least 0.
    pub(crate) rise_bytes: i64,
    /// When it first was that.
    pub(crate) rise_ns: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// The chunk of the end of a process, which has none.
const NO_CHUNK: u32 = u32::MAX;

impl Segment {
    /// The end of a process in which so many bytes were live.
    pub(crate) fn end_of_process(process: usize, ns: u64, live_bytes: i64, grid: &Grid) -> Segment {
        Segment {
            process: process as u32,
            thread: u32::MAX,
            chunk: NO_CHUNK,
            step: grid.step_of(ns),
            events: 0,
            allocations: 0,
            allocated_bytes: 0,
            frees: 0,
            net_bytes: live_bytes.saturating_neg(),
            // A process whose allocations are missing from the recording is below 0 up to its end.
            rise_bytes: live_bytes.saturating_neg().max(0),
            rise_ns: ns,
            first_ns: ns,
            last_ns: ns,
        }
    }

    /// Whether it is the end of a process.
    pub(crate) fn is_end(&self) -> bool {
        self.chunk == NO_CHUNK
    }

    /// Its place among others: by step, process and thread.
    pub(crate) fn place(&self) -> (u32, u32, u32, u64, u32) {
        (self.step, self.process, self.thread, self.first_ns, self.chunk)
    }

    /// Bytes that were freed in it; what ends with a process is not.
    pub(crate) fn freed_bytes(&self) -> u64 {
        if self.is_end() { 0 } else { self.allocated_bytes.wrapping_sub(self.net_bytes as u64) }
    }
}

/// Cuts a chunk into segments while its events pass by.
pub struct Cutter<'a> {
    grid: &'a Grid,
    clock: &'a Clock,
    out: &'a mut Vec<Segment>,
    /// Where the next segment starts.
    next_ticks: u64,
    ticks: u64,
    rise_ticks: u64,
    /// Whether the open segment is before the grid.
    is_before: bool,
    open: Segment,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(
        chunk: &NumberedChunk,
        clock: &'a Clock,
        grid: &'a Grid,
        out: &'a mut Vec<Segment>,
    ) -> Self {
        let open = Segment {
            process: chunk.facts.process as u32,
            thread: chunk.facts.thread,
            chunk: chunk.number as u32,
            step: 0,
            events: 0,
            allocations: 0,
            allocated_bytes: 0,
            frees: 0,
            net_bytes: 0,
            rise_bytes: 0,
            rise_ns: 0,
            first_ns: 0,
            last_ns: 0,
        };
        Cutter { grid, clock, out, next_ticks: 0, ticks: 0, rise_ticks: 0, is_before: false, open }
    }

    /// An event is next, at this time.
    #[inline(always)]
    pub fn at(&mut self, ticks: u64) {
        if ticks >= self.next_ticks {
            self.cut(ticks);
        }
        self.ticks = ticks;
        self.open.events += 1;
    }

    /// The step of the last event; none when that was before the grid.
    pub(crate) fn step(&self) -> Option<u32> {
        (!self.is_before).then_some(self.open.step)
    }

    /// A block is allocated.
    #[inline(always)]
    pub fn alloc(&mut self, weight: Weight) {
        self.open.allocations += weight.blocks;
        self.open.allocated_bytes = self.open.allocated_bytes.wrapping_add(weight.bytes);
        self.open.net_bytes = self.open.net_bytes.wrapping_add(weight.bytes as i64);
        if self.open.net_bytes > self.open.rise_bytes {
            self.open.rise_bytes = self.open.net_bytes;
            self.rise_ticks = self.ticks;
        }
    }

    /// A block is freed.
    #[inline(always)]
    pub fn free(&mut self, weight: Weight) {
        self.open.frees += weight.blocks;
        self.open.net_bytes = self.open.net_bytes.wrapping_sub(weight.bytes as i64);
    }

    #[cold]
    fn cut(&mut self, ticks: u64) {
        self.close();
        let ns = self.clock.ns(ticks);
        let step = self.grid.step_of(ns);
        self.is_before = self.grid.is_before(ns);
        self.next_ticks = if self.is_before {
            self.clock.first_tick_at(self.grid.begin_ns)
        } else if step + 1 < self.grid.steps {
            self.clock.first_tick_at(self.grid.begin_of(step + 1))
        } else {
            u64::MAX
        };
        self.rise_ticks = ticks;
        self.open = Segment {
            step,
            first_ns: ns,
            events: 0,
            allocations: 0,
            allocated_bytes: 0,
            frees: 0,
            net_bytes: 0,
            rise_bytes: 0,
            ..self.open
        };
    }

    /// No more events.
    pub fn close(&mut self) {
        if self.open.events != 0 && !self.is_before {
            self.open.rise_ns = self.clock.ns(self.rise_ticks);
            self.open.last_ns = self.clock.ns(self.ticks);
            self.out.push(self.open);
        }
    }
}
